//! GEMMs on the FP32 and FP64 units.

#[cfg(sm_70_up)]
pub mod gemv;
pub mod main_loop;
#[cfg(sm_70_up)]
pub mod portable;
pub mod promotion;
#[cfg(sm_80_up)]
pub mod sgemm;
#[cfg(sm_90a)]
pub mod sgemm_sm_90a;
