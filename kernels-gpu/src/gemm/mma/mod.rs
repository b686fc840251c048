//! GEMMs of f64 on tensor cores, by `mma.sync`.

#[cfg(sm_80_up)]
pub mod dgemm;
#[cfg(sm_90a)]
pub mod dgemm_sm_90a;
pub mod main_loop;
