//! Floating-point functions that are one PTX instruction each.

use crate::intrinsics;
use core::ops::{Add, AddAssign, Div, Mul, Neg, Sub};

/// `f32` and `f64` on the device: what a generic kernel body needs of its element type.
///
/// Rust never contracts `a * b + c`: the plain operators give `mul.rn` and `add.rn`, two roundings.
/// Write [`mul_add`](GpuFloat::mul_add) where one instruction and one rounding are meant.
pub trait GpuFloat:
    Copy
    + PartialOrd
    + Add<Output = Self>
    + AddAssign
    + Div<Output = Self>
    + Mul<Output = Self>
    + Neg<Output = Self>
    + Sub<Output = Self>
{
    /// 0.
    const ZERO: Self;
    /// 1.
    const ONE: Self;

    /// `self * a + b`, rounded once (`fma.rn`).
    fn mul_add(self, a: Self, b: Self) -> Self;
    /// The square root, correctly rounded (`sqrt.rn`).
    fn sqrt(self) -> Self;
    /// The largest integer not above `self` (`cvt.rmi`).
    fn floor(self) -> Self;
    /// The smallest integer not below `self` (`cvt.rpi`).
    fn ceil(self) -> Self;
    /// `self` without its fraction (`cvt.rzi`).
    fn trunc(self) -> Self;
    /// The nearest integer, ties to even (`cvt.rni`).
    fn round_ties_even(self) -> Self;
}

macro_rules! gpu_float {
    ($ty:ty: $fma:ident, $sqrt:ident, $floor:ident, $ceil:ident, $trunc:ident, $rint:ident) => {
        impl GpuFloat for $ty {
            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;

            #[inline(always)]
            fn mul_add(self, a: Self, b: Self) -> Self {
                // SAFETY: arithmetic without precondition.
                unsafe { intrinsics::$fma(self, a, b) }
            }
            #[inline(always)]
            fn sqrt(self) -> Self {
                // SAFETY: arithmetic without precondition.
                unsafe { intrinsics::$sqrt(self) }
            }
            #[inline(always)]
            fn floor(self) -> Self {
                // SAFETY: arithmetic without precondition.
                unsafe { intrinsics::$floor(self) }
            }
            #[inline(always)]
            fn ceil(self) -> Self {
                // SAFETY: arithmetic without precondition.
                unsafe { intrinsics::$ceil(self) }
            }
            #[inline(always)]
            fn trunc(self) -> Self {
                // SAFETY: arithmetic without precondition.
                unsafe { intrinsics::$trunc(self) }
            }
            #[inline(always)]
            fn round_ties_even(self) -> Self {
                // SAFETY: arithmetic without precondition.
                unsafe { intrinsics::$rint(self) }
            }
        }
    };
}

gpu_float!(f32: fma_f32, sqrt_f32, floor_f32, ceil_f32, trunc_f32, rint_f32);
gpu_float!(f64: fma_f64, sqrt_f64, floor_f64, ceil_f64, trunc_f64, rint_f64);
