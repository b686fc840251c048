//! GEMMs on the FP32 and FP64 units.

#[cfg(sm_70_up)]
pub mod gemv;
#[cfg(sm_70_up)]
pub mod portable;
pub mod promotion;
#[cfg(sm_80_up)]
pub mod sgemm;
