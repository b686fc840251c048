//! Elements of the GEMM kernels.

use cuda_std::float16::{FromWide, bf16, f16};
use cuda_std::prelude::*;
use cuda_std::vector::{F32x4, F64x2, U32x2, Vector};
use cuda_std::warp::WarpShuffleValue;

/// An element of C. Scaled accumulators are rounded to it once, to the nearest; four are stored at
/// a time.
pub trait Output: FromWide<Wide: GpuFloat> {
    /// Stores 4 accumulators.
    ///
    /// # Safety
    /// The 4 elements at `to` are writable, and no other thread accesses them. `to` is aligned to
    /// 16 bytes, or to 8 where an element has 2 bytes.
    unsafe fn store_4(to: *mut Self, accumulators: [Self::Wide; 4]);
}

/// A float of accumulators, loaded four at a time.
pub trait Scalar: GpuFloat + WarpShuffleValue + Output<Wide = Self> {
    /// Loads 4 elements.
    ///
    /// # Safety
    /// The 4 elements at `from` are readable, and no other thread writes them. `from` is aligned to
    /// 16 bytes.
    unsafe fn load_4(from: *const Self) -> [Self; 4];
}

impl Scalar for f32 {
    #[inline(always)]
    unsafe fn load_4(from: *const f32) -> [f32; 4] {
        // SAFETY: `from` is as the contract of this function says.
        unsafe { F32x4::load(from) }
    }
}

impl Output for f32 {
    #[inline(always)]
    unsafe fn store_4(to: *mut f32, accumulators: [f32; 4]) {
        // SAFETY: `to` is as the contract of this function says.
        unsafe { F32x4::store(to, accumulators) }
    }
}

impl Scalar for f64 {
    #[inline(always)]
    unsafe fn load_4(from: *const f64) -> [f64; 4] {
        // SAFETY: `from` is as the contract of this function says, and so is `from` + 16 bytes.
        let ([a, b], [c, d]) = unsafe { (F64x2::load(from), F64x2::load(from.add(2))) };
        [a, b, c, d]
    }
}

impl Output for f64 {
    #[inline(always)]
    unsafe fn store_4(to: *mut f64, [a, b, c, d]: [f64; 4]) {
        // SAFETY: `to` is as the contract of this function says, and so is `to` + 16 bytes.
        unsafe {
            F64x2::store(to, [a, b]);
            F64x2::store(to.add(2), [c, d]);
        }
    }
}

macro_rules! outputs_16_bit {
    ($($element:ident)*) => {
        $(
            impl Output for $element {
                #[inline(always)]
                unsafe fn store_4(to: *mut $element, accumulators: [f32; 4]) {
                    let [a, b, c, d] = accumulators
                        .map(|accumulator| u32::from($element::from_wide(accumulator).0));
                    // SAFETY: `to` is as the contract of this function says: 8 bytes, aligned to 8.
                    unsafe { U32x2::store(to.cast(), [a | b << 16, c | d << 16]) }
                }
            }
        )*
    };
}

outputs_16_bit! { f16 bf16 }
