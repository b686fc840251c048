//! Functions that `std` has not.

use super::{GpuFloat, sealed, single};

/// Further functions of `f32` and `f64`: error functions, Bessel functions, the gamma function, and
/// trigonometric functions of half turns.
pub trait FloatExt: Sized + sealed::Sealed {
    /// The cosine of `π self`.
    fn cospi(self) -> Self;
    /// The sine of `π self`.
    fn sinpi(self) -> Self;
    /// The sine and the cosine of `π self`.
    fn sincospi(self) -> (Self, Self);
    /// `erf`: 2/√π times the integral of `e^(-t²)` from 0 to `self`.
    fn error_function(self) -> Self;
    /// `erfc`: 1 less [`error_function`](Self::error_function), without cancellation.
    fn complementary_error_function(self) -> Self;
    /// The number whose [`complementary_error_function`](Self::complementary_error_function) is
    /// `self`, for 0 to 2.
    fn inv_complementary_error_function(self) -> Self;
    /// `erfcx`: `e^(self²)` times the complementary error function, which are neither too large nor
    /// too small together.
    fn scaled_complementary_error_function(self) -> Self;
    /// A fraction from 0.5 to 1 and a power of 2 whose product is `self`.
    fn frexp(self) -> (Self, i32);
    /// The exponent of `self` as a power of 2 (`ilogb`); `i32::MIN` for 0.
    fn unbiased_exp(self) -> i32;
    /// The Bessel function of the first kind of order 0.
    fn j0(self) -> Self;
    /// The Bessel function of the first kind of order 1.
    fn j1(self) -> Self;
    /// The Bessel function of the first kind of order `order`.
    fn jn(self, order: i32) -> Self;
    /// The Bessel function of the second kind of order 0.
    fn y0(self) -> Self;
    /// The Bessel function of the second kind of order 1.
    fn y1(self) -> Self;
    /// The Bessel function of the second kind of order `order`.
    fn yn(self, order: i32) -> Self;
    /// `self · 2^exp`.
    fn ldexp(self, exp: i32) -> Self;
    /// [`ldexp`](Self::ldexp) under its other name.
    fn scale_by_n(self, exp: i32) -> Self;
    /// The gamma function.
    fn gamma(self) -> Self;
    /// The natural logarithm of the gamma function's magnitude.
    fn log_gamma(self) -> Self;
    /// The natural logarithm of `self + 1`.
    fn log1p(self) -> Self;
    /// The distribution function of the standard normal distribution.
    fn norm_cdf(self) -> Self;
    /// The inverse of [`norm_cdf`](Self::norm_cdf), for 0 to 1.
    fn inv_norm_cdf(self) -> Self;
    /// 1 divided by the cube root.
    fn rcbrt(self) -> Self;
    /// `self` clamped to 0 to 1; 0 for NaN.
    fn saturate(self) -> Self;
}

macro_rules! from_libm {
    ($($name:ident = $function:ident),*) => {
        $(
            #[inline]
            fn $name(self) -> Self {
                libm::$function(self)
            }
        )*
    };
}

/// What is the same in both types but for names.
macro_rules! common {
    ($frexp:ident, $ilogb:ident, $jn:ident, $yn:ident, $ldexp:ident) => {
        #[inline]
        fn frexp(self) -> (Self, i32) {
            libm::$frexp(self)
        }
        #[inline]
        fn unbiased_exp(self) -> i32 {
            libm::$ilogb(self)
        }
        #[inline]
        fn jn(self, order: i32) -> Self {
            libm::$jn(order, self)
        }
        #[inline]
        fn yn(self, order: i32) -> Self {
            libm::$yn(order, self)
        }
        #[inline]
        fn ldexp(self, exp: i32) -> Self {
            libm::$ldexp(self, exp)
        }
        #[inline]
        fn scale_by_n(self, exp: i32) -> Self {
            libm::$ldexp(self, exp)
        }
        #[inline]
        fn saturate(self) -> Self {
            if self > 0.0 { self.min(1.0) } else { 0.0 }
        }
    };
}

impl FloatExt for f32 {
    common!(frexpf, ilogbf, jnf, ynf, ldexpf);
    from_libm! {
        error_function = erff, complementary_error_function = erfcf, j0 = j0f, j1 = j1f, y0 = y0f,
        y1 = y1f, gamma = tgammaf, log_gamma = lgammaf, log1p = log1pf
    }

    #[inline]
    fn cospi(self) -> Self {
        single::cospi(self)
    }
    #[inline]
    fn sinpi(self) -> Self {
        single::sinpi(self)
    }
    #[inline]
    fn sincospi(self) -> (Self, Self) {
        single::sincospi(self)
    }

    // In `f64`: the arguments of the functions behind these need more bits than `f32` has.
    #[inline]
    fn inv_complementary_error_function(self) -> Self {
        f64::from(self).inv_complementary_error_function() as f32
    }
    #[inline]
    fn scaled_complementary_error_function(self) -> Self {
        f64::from(self).scaled_complementary_error_function() as f32
    }
    #[inline]
    fn norm_cdf(self) -> Self {
        f64::from(self).norm_cdf() as f32
    }
    #[inline]
    fn inv_norm_cdf(self) -> Self {
        f64::from(self).inv_norm_cdf() as f32
    }
    #[inline]
    fn rcbrt(self) -> Self {
        f64::from(self).rcbrt() as f32
    }
}

impl FloatExt for f64 {
    common!(frexp, ilogb, jn, yn, ldexp);
    from_libm! {
        error_function = erf, complementary_error_function = erfc, j0 = j0, j1 = j1, y0 = y0,
        y1 = y1, gamma = tgamma, log_gamma = lgamma, log1p = log1p
    }

    #[inline]
    fn cospi(self) -> Self {
        self.sincospi().1
    }
    #[inline]
    fn sinpi(self) -> Self {
        self.sincospi().0
    }
    #[inline]
    fn sincospi(self) -> (Self, Self) {
        // Numbers from 2^53 on are even.
        let x = if self.abs() < 9_007_199_254_740_992.0 {
            self
        } else {
            0.0 * self
        };
        let doubled = GpuFloat::round_ties_even(2.0 * x);
        // Exact, and at most a quarter.
        let rest = GpuFloat::mul_add(doubled, -0.5, x);
        let (sin, cos) = libm::sincos(rest * core::f64::consts::PI);
        let (sin, cos) = match doubled as i64 & 3 {
            0 => (sin, cos),
            1 => (cos, -sin),
            2 => (-sin, -cos),
            _ => (-cos, sin),
        };
        (if sin == 0.0 { 0.0 * x } else { sin }, cos)
    }

    #[inline]
    fn inv_complementary_error_function(self) -> Self {
        erfcinv(self)
    }

    #[inline]
    fn scaled_complementary_error_function(self) -> Self {
        erfcx(self)
    }

    #[inline]
    fn norm_cdf(self) -> Self {
        // 1/√2 in two parts: for numbers far below 0 the result's relative error is the argument's,
        // many times.
        const LOW: f64 = -4.833_646_656_726_457e-17;
        let high = -self * core::f64::consts::FRAC_1_SQRT_2;
        let low = GpuFloat::mul_add(-self, core::f64::consts::FRAC_1_SQRT_2, -high) - self * LOW;
        let slope = core::f64::consts::FRAC_2_SQRT_PI * libm::exp(-high * high);
        let value = 0.5 * libm::erfc(high);
        if slope > 0.0 {
            value - 0.5 * slope * low
        } else {
            value
        }
    }

    #[inline]
    fn inv_norm_cdf(self) -> Self {
        -core::f64::consts::SQRT_2 * erfcinv(2.0 * self)
    }

    #[inline]
    fn rcbrt(self) -> Self {
        1.0 / libm::cbrt(self)
    }
}

fn erfcx(x: f64) -> f64 {
    if x < 25.0 {
        // e^(x²) with the square in two parts.
        let high = x * x;
        let low = GpuFloat::mul_add(x, x, -high);
        let growth = libm::exp(high);
        if growth == f64::INFINITY {
            return f64::INFINITY;
        }
        return GpuFloat::mul_add(growth, low, growth) * libm::erfc(x);
    }
    // The asymptotic series, whose ninth term is below the result's last bit (Abramowitz and
    // Stegun, 7.1.23).
    let s = -0.5 / (x * x);
    let mut series = 1.0;
    let mut odd = 17.0;
    while odd > 0.0 {
        series = GpuFloat::mul_add(series * odd, s, 1.0);
        odd -= 2.0;
    }
    0.5 * core::f64::consts::FRAC_2_SQRT_PI / x * series
}

fn erfcinv(y: f64) -> f64 {
    // Also NaN.
    if !(y > 0.0 && y < 2.0) {
        return match y {
            0.0 => f64::INFINITY,
            2.0 => f64::NEG_INFINITY,
            _ => f64::NAN,
        };
    }
    if y > 1.0 {
        return -erfcinv_of_half(2.0 - y);
    }
    erfcinv_of_half(y)
}

/// The inverse for 0 to 1: a rational approximation (Abramowitz and Stegun, 26.2.23), then Halley's
/// steps.
fn erfcinv_of_half(y: f64) -> f64 {
    let t = GpuFloat::sqrt(-2.0 * libm::log(0.5 * y));
    let start = (2.30753 + t * 0.27061) / (1.0 + t * (0.99229 + t * 0.04481));
    let mut x = core::f64::consts::FRAC_1_SQRT_2 * (t - start);
    let mut step = 0;
    while step < 3 {
        let error = libm::erfc(x) - y;
        let slope = core::f64::consts::FRAC_2_SQRT_PI * libm::exp(-x * x);
        x += error / (slope - x * error);
        step += 1;
    }
    x
}

/// The number whose error function is `x`, for -1 to 1 (`erfinv`).
#[inline]
pub(crate) fn erfinv(x: f64) -> f64 {
    let magnitude = x.abs();
    if magnitude > 0.5 {
        return erfcinv(1.0 - magnitude).copysign(x);
    }
    // Near 0 the complement has too few bits: Halley's steps on the error function itself.
    let mut t = x / core::f64::consts::FRAC_2_SQRT_PI;
    let mut step = 0;
    while step < 3 {
        let error = libm::erf(t) - x;
        let slope = core::f64::consts::FRAC_2_SQRT_PI * libm::exp(-t * t);
        t -= error / (slope + t * error);
        step += 1;
    }
    t
}
