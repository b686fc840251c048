//! Parameters that kernels take by value.

use super::GemmElement;
use kernels_gpu::gemm::GemmParams;
use kernels_gpu::gemm::epilogue::fusion::FusionParams;
use kernels_gpu::gemm::scheduler::grid::GridSchedulerParams;
use kernels_gpu::gemm::scheduler::persistent::TileSchedulerParams;
use kernels_gpu::gemm::wgmma::boxes::OperandBoxes;
use kernels_gpu::gemm::wgmma::float8::Float8Params;
use kernels_gpu::gemm::wgmma::grouped::{GroupExtents, GroupParams, GroupTile};
use kernels_gpu::gemm::wgmma::pack::{Pack, PackBoth};

/// Parameters that a kernel takes by value.
///
/// # Safety
/// The type is `repr(C)`, and has no padding.
pub(super) unsafe trait ByValue: Copy {}

// SAFETY: it is `repr(C)`, and its size is that of its fields.
unsafe impl<T: GemmElement> ByValue for GemmParams<T> {}
const _: () = assert!(size_of::<GemmParams<f32>>() == 8 * 4 + 3 * 8 + 2 * 4);
const _: () = assert!(size_of::<GemmParams<f64>>() == 8 * 4 + 3 * 8 + 2 * 8);

// SAFETY: it is `repr(C)`, and its size is that of its fields.
unsafe impl ByValue for GridSchedulerParams {}
const _: () = assert!(size_of::<GridSchedulerParams>() == (8 + 4 * 2) * 4);

// SAFETY: it is `repr(C)`, and its size is that of its fields.
unsafe impl ByValue for FusionParams {}
const _: () = assert!(size_of::<FusionParams>() == 5 * 4);

// SAFETY: it is `repr(C)`, and its size is that of its fields.
unsafe impl ByValue for TileSchedulerParams {}
const _: () = assert!(size_of::<TileSchedulerParams>() == (15 + 4 * 2 + 9 + 2 * 2 + 3) * 4);

// SAFETY: they are `repr(C)`, and their size is that of their fields.
unsafe impl ByValue for [OperandBoxes; 2] {}
const _: () = assert!(size_of::<[OperandBoxes; 2]>() == 2 * 4 * 4);

// SAFETY: it is `repr(C)`, and its size is that of its fields.
unsafe impl ByValue for Float8Params {}
const _: () = assert!(size_of::<Float8Params>() == 10 * 4 + 2 * 8);

// SAFETY: it is `repr(C)`, and its size is that of its fields.
unsafe impl ByValue for Pack {}
const _: () = assert!(size_of::<Pack>() == 4 * 4 + 2 * 8);

// SAFETY: it is `repr(C)`, and its size is that of its fields.
unsafe impl ByValue for PackBoth {}
const _: () = assert!(size_of::<PackBoth>() == 2 * size_of::<Pack>() + 6 * 4);

// SAFETY: it is `repr(C)`, and its size is that of its fields.
unsafe impl ByValue for GroupParams {}
const _: () = assert!(size_of::<GroupParams>() == 6 * 4);

// SAFETY: it is `repr(C)`, and its size is that of its fields.
unsafe impl ByValue for GroupExtents {}
const _: () = assert!(size_of::<GroupExtents>() == 8 + 14 * 4);

// SAFETY: it is `repr(C)`, and its size is that of its fields.
unsafe impl ByValue for GroupTile {}
const _: () = assert!(size_of::<GroupTile>() == 4 * 4);

/// The parameters as the kernel reads them.
pub(super) fn bytes<P: ByValue>(params: &P) -> Vec<u8> {
    let start = std::ptr::from_ref(params).cast::<u8>();
    // SAFETY: without padding, all of its bytes are initialised.
    unsafe { std::slice::from_raw_parts(start, size_of::<P>()) }.to_vec()
}
