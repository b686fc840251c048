//! Floats of the general products.

use cuda_std::prelude::*;
use cuda_std::vector::{F32x4, F64x2, Vector};
use cuda_std::warp::WarpShuffleValue;

/// A float that is loaded and stored four at a time.
pub trait Scalar: GpuFloat + WarpShuffleValue {
    /// Loads 4 elements from a multiple of 16 bytes.
    ///
    /// # Safety
    /// They may be read, and the address is aligned.
    unsafe fn load_4(from: *const Self) -> [Self; 4];

    /// Stores 4 elements at a multiple of 16 bytes.
    ///
    /// # Safety
    /// They may be written, and the address is aligned.
    unsafe fn store_4(to: *mut Self, elements: [Self; 4]);
}

impl Scalar for f32 {
    #[inline(always)]
    unsafe fn load_4(from: *const f32) -> [f32; 4] {
        // SAFETY: passed on to the caller.
        unsafe { F32x4::load(from) }
    }

    #[inline(always)]
    unsafe fn store_4(to: *mut f32, elements: [f32; 4]) {
        // SAFETY: passed on to the caller.
        unsafe { F32x4::store(to, elements) }
    }
}

impl Scalar for f64 {
    #[inline(always)]
    unsafe fn load_4(from: *const f64) -> [f64; 4] {
        // SAFETY: passed on to the caller.
        let ([a, b], [c, d]) = unsafe { (F64x2::load(from), F64x2::load(from.add(2))) };
        [a, b, c, d]
    }

    #[inline(always)]
    unsafe fn store_4(to: *mut f64, [a, b, c, d]: [f64; 4]) {
        // SAFETY: passed on to the caller.
        unsafe {
            F64x2::store(to, [a, b]);
            F64x2::store(to.add(2), [c, d]);
        }
    }
}
