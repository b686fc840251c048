//! Floating-point functions.
//!
//! | functions | what they are made of |
//! |---|---|
//! | fused multiply-add, square root, roundings, sign, absolute value | one PTX instruction each |
//! | powers, logarithms, trigonometric and hyperbolic ones of `f32` | [`single`]: FMA alone |
//! | the rest, and all of these of `f64` | the crate `libm`, with the feature of that name |
//! | short forms with `.approx` instructions, for `f32` | [`fast`] |
//!
//! docs/float-accuracy.md has the error of each function of `f32`, in units in the last place, and
//! the number of its instructions, beside what CUDA documents for its own.
//!
//! On a host the same code runs, with the same bits as results; only [`fast`] differs.

use crate::nvvm;
use core::ops::{Add, AddAssign, Div, Mul, Neg, Sub};

pub mod fast;
pub mod single;
mod trigonometry;

#[cfg(feature = "libm")]
mod ext;
#[cfg(feature = "libm")]
pub use ext::FloatExt;
#[cfg(feature = "libm")]
pub(crate) use ext::erfinv;

mod sealed {
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
}

// The macro stands before the trait, at the line where it always stood: line numbers of inlined
// functions are part of a kernel's PTX.

macro_rules! gpu_float {
    ($ty:ty: $fma:ident, $sqrt:ident, $floor:ident, $ceil:ident, $trunc:ident, $rint:ident;
        $math:ident) => {
        impl GpuFloat for $ty {
            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;

            #[inline(always)]
            fn mul_add(self, a: Self, b: Self) -> Self {
                // SAFETY: arithmetic without precondition.
                unsafe { nvvm::$fma(self, a, b) }
            }
            #[inline(always)]
            fn sqrt(self) -> Self {
                // SAFETY: arithmetic without precondition.
                unsafe { nvvm::$sqrt(self) }
            }
            #[inline(always)]
            fn floor(self) -> Self {
                // SAFETY: arithmetic without precondition.
                unsafe { nvvm::$floor(self) }
            }
            #[inline(always)]
            fn ceil(self) -> Self {
                // SAFETY: arithmetic without precondition.
                unsafe { nvvm::$ceil(self) }
            }
            #[inline(always)]
            fn trunc(self) -> Self {
                // SAFETY: arithmetic without precondition.
                unsafe { nvvm::$trunc(self) }
            }
            #[inline(always)]
            fn round_ties_even(self) -> Self {
                // SAFETY: arithmetic without precondition.
                unsafe { nvvm::$rint(self) }
            }
            #[inline]
            fn round(self) -> Self {
                let whole = GpuFloat::trunc(self);
                // The difference is exact.
                if <$ty>::abs(self - whole) < 0.5 {
                    whole
                } else {
                    whole + <$ty>::copysign(1.0, self)
                }
            }
            #[inline(always)]
            fn fract(self) -> Self {
                self - GpuFloat::trunc(self)
            }
            #[inline(always)]
            fn abs(self) -> Self {
                <$ty>::abs(self)
            }
            #[inline(always)]
            fn signum(self) -> Self {
                <$ty>::signum(self)
            }
            #[inline(always)]
            fn copysign(self, sign: Self) -> Self {
                <$ty>::copysign(self, sign)
            }
            #[inline]
            fn powi(self, n: i32) -> Self {
                let (mut base, mut left, mut power) = (self, n.unsigned_abs(), 1.0);
                while left > 0 {
                    if left & 1 == 1 {
                        power *= base;
                    }
                    base *= base;
                    left >>= 1;
                }
                if n < 0 { 1.0 / power } else { power }
            }

            #[cfg(feature = "libm")]
            libm_functions!($math);
        }
    };
}

/// The functions of one type that need `libm`, or are made for `f32` alone.
#[cfg(feature = "libm")]
macro_rules! libm_functions {
    ($math:ident) => {
        libm_functions! { $math:
            exp exp2 ln log2 log10 cbrt sin cos tan asin acos atan exp_m1 ln_1p
            sinh cosh tanh asinh acosh atanh
        }

        #[inline]
        fn div_euclid(self, rhs: Self) -> Self {
            let quotient = GpuFloat::trunc(self / rhs);
            if math::$math::fmod(self, rhs) < 0.0 {
                return if rhs > 0.0 { quotient - 1.0 } else { quotient + 1.0 };
            }
            quotient
        }
        #[inline]
        fn rem_euclid(self, rhs: Self) -> Self {
            let rest = math::$math::fmod(self, rhs);
            if rest < 0.0 { rest + rhs.abs() } else { rest }
        }
        #[inline]
        fn powf(self, n: Self) -> Self {
            math::$math::powf(self, n)
        }
        #[inline]
        fn log(self, base: Self) -> Self {
            GpuFloat::ln(self) / GpuFloat::ln(base)
        }
        #[inline]
        fn hypot(self, other: Self) -> Self {
            math::$math::hypot(self, other)
        }
        #[inline]
        fn atan2(self, other: Self) -> Self {
            math::$math::atan2(self, other)
        }
        #[inline]
        fn sin_cos(self) -> (Self, Self) {
            math::$math::sin_cos(self)
        }
    };
    ($math:ident: $($unary:ident)*) => {
        $(
            #[inline]
            fn $unary(self) -> Self {
                math::$math::$unary(self)
            }
        )*
    };
}

gpu_float!(f32: fma_f32, sqrt_f32, floor_f32, ceil_f32, trunc_f32, rint_f32; single);
gpu_float!(f64: fma_f64, sqrt_f64, floor_f64, ceil_f64, trunc_f64, rint_f64; double);

/// `f32` and `f64` on the device: what a generic kernel body needs of its element type.
///
/// Rust never contracts `a * b + c`: the plain operators give `mul.rn` and `add.rn`, two roundings.
/// Write [`mul_add`](GpuFloat::mul_add) where one instruction and one rounding are meant.
pub trait GpuFloat:
    sealed::Sealed
    + Copy
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
    /// The nearest integer, ties away from 0.
    fn round(self) -> Self;
    /// `self` less [`trunc`](Self::trunc).
    fn fract(self) -> Self;
    /// The magnitude.
    fn abs(self) -> Self;
    /// 1 with the sign of `self`, NaN for NaN.
    fn signum(self) -> Self;
    /// The magnitude of `self` with the sign of `sign`.
    fn copysign(self, sign: Self) -> Self;
    /// `self` to a whole power, by repeated squaring.
    fn powi(self, n: i32) -> Self;
    /// The whole number `n` for which `self - n * rhs` is not negative and below `rhs.abs()`.
    #[cfg(feature = "libm")]
    fn div_euclid(self, rhs: Self) -> Self;
    /// What [`div_euclid`](Self::div_euclid) leaves: not negative.
    #[cfg(feature = "libm")]
    fn rem_euclid(self, rhs: Self) -> Self;
    /// `self` to the power of `n`.
    #[cfg(feature = "libm")]
    fn powf(self, n: Self) -> Self;
    /// e to the power of `self`.
    #[cfg(feature = "libm")]
    fn exp(self) -> Self;
    /// 2 to the power of `self`.
    #[cfg(feature = "libm")]
    fn exp2(self) -> Self;
    /// The natural logarithm.
    #[cfg(feature = "libm")]
    fn ln(self) -> Self;
    /// The logarithm of base `base`: a quotient of two natural ones.
    #[cfg(feature = "libm")]
    fn log(self, base: Self) -> Self;
    /// The logarithm of base 2.
    #[cfg(feature = "libm")]
    fn log2(self) -> Self;
    /// The logarithm of base 10.
    #[cfg(feature = "libm")]
    fn log10(self) -> Self;
    /// The cube root.
    #[cfg(feature = "libm")]
    fn cbrt(self) -> Self;
    /// The square root of the sum of both squares, which may be too large for a float.
    #[cfg(feature = "libm")]
    fn hypot(self, other: Self) -> Self;
    /// The sine of an angle in radians.
    #[cfg(feature = "libm")]
    fn sin(self) -> Self;
    /// The cosine of an angle in radians.
    #[cfg(feature = "libm")]
    fn cos(self) -> Self;
    /// The tangent of an angle in radians.
    #[cfg(feature = "libm")]
    fn tan(self) -> Self;
    /// The angle of -π/2 to π/2 with this sine; NaN for numbers above 1.
    #[cfg(feature = "libm")]
    fn asin(self) -> Self;
    /// The angle of 0 to π with this cosine; NaN for numbers above 1.
    #[cfg(feature = "libm")]
    fn acos(self) -> Self;
    /// The angle of -π/2 to π/2 with this tangent.
    #[cfg(feature = "libm")]
    fn atan(self) -> Self;
    /// The angle of the point with x = `other` and y = `self`, -π to π.
    #[cfg(feature = "libm")]
    fn atan2(self, other: Self) -> Self;
    /// The sine and the cosine.
    #[cfg(feature = "libm")]
    fn sin_cos(self) -> (Self, Self);
    /// e to the power of `self`, less 1, without cancellation near 0.
    #[cfg(feature = "libm")]
    fn exp_m1(self) -> Self;
    /// The natural logarithm of `self + 1`, without cancellation near 0.
    #[cfg(feature = "libm")]
    fn ln_1p(self) -> Self;
    /// The hyperbolic sine.
    #[cfg(feature = "libm")]
    fn sinh(self) -> Self;
    /// The hyperbolic cosine.
    #[cfg(feature = "libm")]
    fn cosh(self) -> Self;
    /// The hyperbolic tangent.
    #[cfg(feature = "libm")]
    fn tanh(self) -> Self;
    /// The inverse of [`sinh`](Self::sinh).
    #[cfg(feature = "libm")]
    fn asinh(self) -> Self;
    /// The inverse of [`cosh`](Self::cosh); NaN below 1.
    #[cfg(feature = "libm")]
    fn acosh(self) -> Self;
    /// The inverse of [`tanh`](Self::tanh); NaN for numbers above 1.
    #[cfg(feature = "libm")]
    fn atanh(self) -> Self;
}

/// The functions behind the trait, under its names, one module a type.
#[cfg(feature = "libm")]
mod math {
    pub mod single {
        pub use crate::float::single::*;
        pub use libm::{
            acosf as acos, asinf as asin, asinhf as asinh, atan2f as atan2, atanf as atan,
            atanhf as atanh, cbrtf as cbrt, expm1f as exp_m1, fmodf as fmod, hypotf as hypot,
            log1pf as ln_1p,
        };

        /// `libm`'s is a number for some below -1.
        #[inline]
        pub fn acosh(x: f32) -> f32 {
            if x < 1.0 { f32::NAN } else { libm::acoshf(x) }
        }
    }

    pub mod double {
        pub use libm::{
            acos, asin, asinh, atan, atan2, atanh, cbrt, cos, cosh, exp, exp2, expm1 as exp_m1,
            fmod, hypot, log as ln, log1p as ln_1p, log2, log10, pow as powf, sin,
            sincos as sin_cos, sinh, tan, tanh,
        };

        /// `libm`'s is a number for some below -1.
        #[inline]
        pub fn acosh(x: f64) -> f64 {
            if x < 1.0 { f64::NAN } else { libm::acosh(x) }
        }
    }
}
