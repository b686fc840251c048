//! Elements of the general products.

use cuda_std::float16::{FromWide, bf16, f16};
use cuda_std::prelude::*;
use cuda_std::vector::{F32x4, F64x2, U32x2, Vector};
use cuda_std::warp::WarpShuffleValue;

/// An element of C, to which scaled accumulators are rounded: once, and to the nearest. Four are stored at a time.
pub trait Output: FromWide<Wide: GpuFloat> {
    /// Stores 4 accumulators at a multiple of 16 bytes, or of 8 where an element has 2.
    ///
    /// # Safety
    /// They may be written, and the address is aligned.
    unsafe fn store_4(to: *mut Self, accumulators: [Self::Wide; 4]);
}

/// A float that accumulators are computed in, which is loaded four at a time.
pub trait Scalar: GpuFloat + WarpShuffleValue + Output<Wide = Self> {
    /// Loads 4 elements from a multiple of 16 bytes.
    ///
    /// # Safety
    /// They may be read, and the address is aligned.
    unsafe fn load_4(from: *const Self) -> [Self; 4];
}

impl Scalar for f32 {
    #[inline(always)]
    unsafe fn load_4(from: *const f32) -> [f32; 4] {
        // SAFETY: passed on to the caller.
        unsafe { F32x4::load(from) }
    }
}

impl Output for f32 {
    #[inline(always)]
    unsafe fn store_4(to: *mut f32, accumulators: [f32; 4]) {
        // SAFETY: passed on to the caller.
        unsafe { F32x4::store(to, accumulators) }
    }
}

impl Scalar for f64 {
    #[inline(always)]
    unsafe fn load_4(from: *const f64) -> [f64; 4] {
        // SAFETY: passed on to the caller.
        let ([a, b], [c, d]) = unsafe { (F64x2::load(from), F64x2::load(from.add(2))) };
        [a, b, c, d]
    }
}

impl Output for f64 {
    #[inline(always)]
    unsafe fn store_4(to: *mut f64, [a, b, c, d]: [f64; 4]) {
        // SAFETY: passed on to the caller.
        unsafe {
            F64x2::store(to, [a, b]);
            F64x2::store(to.add(2), [c, d]);
        }
    }
}

macro_rules! narrow_outputs {
    ($($element:ident)*) => {
        $(
            impl Output for $element {
                #[inline(always)]
                unsafe fn store_4(to: *mut $element, accumulators: [f32; 4]) {
                    let [a, b, c, d] = accumulators.map(|sum| u32::from($element::from_wide(sum).0));
                    // SAFETY: passed on to the caller.
                    unsafe { U32x2::store(to.cast(), [a | b << 16, c | d << 16]) }
                }
            }
        )*
    };
}

narrow_outputs! { f16 bf16 }
