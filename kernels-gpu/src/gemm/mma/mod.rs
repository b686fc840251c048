//! GEMMs of f64 on tensor cores, by `mma.sync`.

#[cfg(any(
    not(target_arch = "nvptx64"),
    all(target_feature = "sm_80", not(target_feature = "sm_86"))
))]
pub mod dgemm;
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]
pub mod dgemm_sm_90a;
pub mod main_loop;
