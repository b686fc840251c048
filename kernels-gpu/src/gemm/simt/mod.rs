//! GEMMs on the FP32 and FP64 units.

#[cfg(any(not(target_arch = "nvptx64"), not(target_feature = "sm_75")))]
pub mod gemv;
#[cfg(any(not(target_arch = "nvptx64"), not(target_feature = "sm_75")))]
pub mod portable;
pub mod promotion;
#[cfg(any(
    not(target_arch = "nvptx64"),
    all(target_feature = "sm_80", not(target_feature = "sm_86"))
))]
pub mod sgemm;
