//! libdevice's functions under their names, without the prefix `__nv_` ("libdevice User's Guide").
//!
//! libdevice is LLVM bitcode of the CUDA toolkit. Nothing of it is used here: what is one PTX
//! instruction is that instruction, the rest is [`float`](crate::float)'s and the crate `libm`'s.
//! [`GpuFloat`] and [`FloatExt`] have most of these functions as methods.
//!
//! The signatures are Rust-CUDA's: unsigned integers are passed as signed ones of the same bits,
//! and a second result goes through a pointer.

use crate::float::{FloatExt, GpuFloat, fast, single};

mod integer;
mod rounded;

pub use integer::*;
pub use rounded::*;

/// Functions whose body is one expression.
macro_rules! functions {
    ($($name:ident($($arg:ident: $ty:ty),*) -> $ret:ty = $body:expr;)*) => {
        $(
            #[doc = concat!("libdevice's `__nv_", stringify!($name), "`.")]
            #[inline]
            pub fn $name($($arg: $ty),*) -> $ret {
                $body
            }
        )*
    };
}
use functions;

/// Functions of one float, for both types: the name for `f64`, the name for `f32`, and what they
/// are.
macro_rules! of_one {
    ($($double:ident, $single:ident = |$x:ident| $body:expr;)*) => {
        $(
            functions! {
                $double($x: f64) -> f64 = $body;
                $single($x: f32) -> f32 = $body;
            }
        )*
    };
}

/// Functions of two floats, for both types.
macro_rules! of_two {
    ($($double:ident = $of_double:expr, $single:ident = $of_single:expr;)*) => {
        $(
            functions! {
                $double(x: f64, y: f64) -> f64 = $of_double(x, y);
                $single(x: f32, y: f32) -> f32 = $of_single(x, y);
            }
        )*
    };
}

of_one! {
    acos, acosf = |x| GpuFloat::acos(x);
    acosh, acoshf = |x| GpuFloat::acosh(x);
    asin, asinf = |x| GpuFloat::asin(x);
    asinh, asinhf = |x| GpuFloat::asinh(x);
    atan, atanf = |x| GpuFloat::atan(x);
    atanh, atanhf = |x| GpuFloat::atanh(x);
    cbrt, cbrtf = |x| GpuFloat::cbrt(x);
    ceil, ceilf = |x| GpuFloat::ceil(x);
    cos, cosf = |x| GpuFloat::cos(x);
    cosh, coshf = |x| GpuFloat::cosh(x);
    cospi, cospif = |x| x.cospi();
    erf, erff = |x| x.error_function();
    erfc, erfcf = |x| x.complementary_error_function();
    erfcinv, erfcinvf = |x| x.inv_complementary_error_function();
    erfcx, erfcxf = |x| x.scaled_complementary_error_function();
    exp, expf = |x| GpuFloat::exp(x);
    exp2, exp2f = |x| GpuFloat::exp2(x);
    expm1, expm1f = |x| GpuFloat::exp_m1(x);
    fabs, fabsf = |x| x.abs();
    floor, floorf = |x| GpuFloat::floor(x);
    j0, j0f = |x| x.j0();
    j1, j1f = |x| x.j1();
    lgamma, lgammaf = |x| x.log_gamma();
    log, logf = |x| GpuFloat::ln(x);
    log10, log10f = |x| GpuFloat::log10(x);
    log1p, log1pf = |x| GpuFloat::ln_1p(x);
    log2, log2f = |x| GpuFloat::log2(x);
    nearbyint, nearbyintf = |x| GpuFloat::round_ties_even(x);
    normcdf, normcdff = |x| x.norm_cdf();
    normcdfinv, normcdfinvf = |x| x.inv_norm_cdf();
    rcbrt, rcbrtf = |x| x.rcbrt();
    rint, rintf = |x| GpuFloat::round_ties_even(x);
    round, roundf = |x| GpuFloat::round(x);
    sin, sinf = |x| GpuFloat::sin(x);
    sinh, sinhf = |x| GpuFloat::sinh(x);
    sinpi, sinpif = |x| x.sinpi();
    sqrt, sqrtf = |x| GpuFloat::sqrt(x);
    tan, tanf = |x| GpuFloat::tan(x);
    tanh, tanhf = |x| GpuFloat::tanh(x);
    tgamma, tgammaf = |x| FloatExt::gamma(x);
    trunc, truncf = |x| GpuFloat::trunc(x);
    y0, y0f = |x| x.y0();
    y1, y1f = |x| x.y1();
}

of_two! {
    atan2 = GpuFloat::atan2, atan2f = GpuFloat::atan2;
    copysign = f64::copysign, copysignf = f32::copysign;
    fdim = libm::fdim, fdimf = libm::fdimf;
    fmax = f64::max, fmaxf = f32::max;
    fmin = f64::min, fminf = f32::min;
    fmod = libm::fmod, fmodf = libm::fmodf;
    hypot = GpuFloat::hypot, hypotf = GpuFloat::hypot;
    nextafter = libm::nextafter, nextafterf = libm::nextafterf;
    pow = GpuFloat::powf, powf = GpuFloat::powf;
    remainder = libm::remainder, remainderf = libm::remainderf;
}

functions! {
    erfinv(x: f64) -> f64 = crate::float::erfinv(x);
    erfinvf(x: f32) -> f32 = crate::float::erfinv(f64::from(x)) as f32;
    exp10(x: f64) -> f64 = libm::exp10(x);
    exp10f(x: f32) -> f32 = single::exp10(x);
    rsqrt(x: f64) -> f64 = 1.0 / GpuFloat::sqrt(x);
    rsqrtf(x: f32) -> f32 = fast::rsqrt(x);
    saturatef(x: f32) -> f32 = x.saturate();

    fma(x: f64, y: f64, z: f64) -> f64 = GpuFloat::mul_add(x, y, z);
    fmaf(x: f32, y: f32, z: f32) -> f32 = GpuFloat::mul_add(x, y, z);
    jn(n: i32, x: f64) -> f64 = x.jn(n);
    jnf(n: i32, x: f32) -> f32 = x.jn(n);
    yn(n: i32, x: f64) -> f64 = x.yn(n);
    ynf(n: i32, x: f32) -> f32 = x.yn(n);
    powi(x: f64, y: i32) -> f64 = GpuFloat::powi(x, y);
    powif(x: f32, y: i32) -> f32 = GpuFloat::powi(x, y);
    ldexp(x: f64, y: i32) -> f64 = x.ldexp(y);
    ldexpf(x: f32, y: i32) -> f32 = x.ldexp(y);
    scalbn(x: f64, y: i32) -> f64 = x.ldexp(y);
    scalbnf(x: f32, y: i32) -> f32 = x.ldexp(y);

    ilogb(x: f64) -> i32 = x.unbiased_exp();
    ilogbf(x: f32) -> i32 = x.unbiased_exp();
    logb(x: f64) -> f64 = match x {
        0.0 => f64::NEG_INFINITY,
        x if x.is_finite() => f64::from(x.unbiased_exp()),
        x => x.abs(),
    };
    logbf(x: f32) -> f32 = match x {
        0.0 => f32::NEG_INFINITY,
        x if x.is_finite() => x.unbiased_exp() as f32,
        x => x.abs(),
    };
    llrint(x: f64) -> i64 = GpuFloat::round_ties_even(x) as i64;
    llrintf(x: f32) -> i64 = GpuFloat::round_ties_even(x) as i64;
    llround(x: f64) -> i64 = GpuFloat::round(x) as i64;
    llroundf(x: f32) -> i64 = GpuFloat::round(x) as i64;

    finitef(x: f32) -> i32 = i32::from(x.is_finite());
    isfinited(x: f64) -> i32 = i32::from(x.is_finite());
    isinfd(x: f64) -> i32 = i32::from(x.is_infinite());
    isinff(x: f32) -> i32 = i32::from(x.is_infinite());
    isnand(x: f64) -> i32 = i32::from(x.is_nan());
    isnanf(x: f32) -> i32 = i32::from(x.is_nan());
    signbitd(x: f64) -> i32 = i32::from(x.is_sign_negative());
    signbitf(x: f32) -> i32 = i32::from(x.is_sign_negative());

    double2hiint(d: f64) -> i32 = (d.to_bits() >> 32) as i32;
    double2loint(d: f64) -> i32 = d.to_bits() as i32;
    hiloint2double(x: i32, y: i32) -> f64 =
        f64::from_bits(u64::from(x as u32) << 32 | u64::from(y as u32));
    double_as_longlong(x: f64) -> i64 = x.to_bits() as i64;
    longlong_as_double(x: i64) -> f64 = f64::from_bits(x as u64);
    float_as_int(x: f32) -> i32 = x.to_bits() as i32;
    int_as_float(x: i32) -> f32 = f32::from_bits(x as u32);

    fast_cosf(x: f32) -> f32 = fast::cos(x);
    fast_exp10f(x: f32) -> f32 = fast::exp10(x);
    fast_expf(x: f32) -> f32 = fast::exp(x);
    fast_fdividef(x: f32, y: f32) -> f32 = fast::div(x, y);
    fast_log10f(x: f32) -> f32 = fast::log10(x);
    fast_log2f(x: f32) -> f32 = fast::log2(x);
    fast_logf(x: f32) -> f32 = fast::ln(x);
    fast_powf(x: f32, y: f32) -> f32 = fast::powf(x, y);
    fast_sinf(x: f32) -> f32 = fast::sin(x);
    fast_tanf(x: f32) -> f32 = fast::tan(x);
}

/// libdevice's `__nv_nan`: a quiet NaN, whatever the tag says.
#[inline]
pub fn nan(_tagp: *mut i8) -> f64 {
    f64::NAN
}

/// libdevice's `__nv_nanf`: a quiet NaN, whatever the tag says.
#[inline]
pub fn nanf(_tagp: *mut i8) -> f32 {
    f32::NAN
}

/// Functions whose second result goes through a pointer.
macro_rules! through_pointers {
    ($($name:ident($($arg:ident: $ty:ty),*; $($to:ident: $out:ty),*) -> $ret:ty = $is:expr;)*) => {
        $(
            #[doc = concat!("libdevice's `__nv_", stringify!($name), "`.")]
            ///
            /// # Safety
            /// The pointers are aligned and valid for writes.
            #[inline]
            pub unsafe fn $name($($arg: $ty,)* $($to: *mut $out),*) -> $ret {
                through_pointers!(@body $is, $($to),*)
            }
        )*
    };
    (@body $body:expr, $to:ident) => {{
        let (result, second) = $body;
        // SAFETY: the contract says that the pointer is valid.
        unsafe { $to.write(second) };
        result
    }};
    (@body $body:expr, $sin:ident, $cos:ident) => {{
        let (sin, cos) = $body;
        // SAFETY: the contract says that the pointers are valid.
        unsafe {
            $sin.write(sin);
            $cos.write(cos);
        }
    }};
}

through_pointers! {
    frexp(x: f64; b: i32) -> f64 = x.frexp();
    frexpf(x: f32; b: i32) -> f32 = x.frexp();
    modf(x: f64; b: f64) -> f64 = libm::modf(x);
    modff(x: f32; b: f32) -> f32 = libm::modff(x);
    remquo(x: f64, y: f64; c: i32) -> f64 = libm::remquo(x, y);
    remquof(x: f32, y: f32; quo: i32) -> f32 = libm::remquof(x, y);
    sincos(x: f64; sptr: f64, cptr: f64) -> () = GpuFloat::sin_cos(x);
    sincosf(x: f32; sptr: f32, cptr: f32) -> () = GpuFloat::sin_cos(x);
    sincospi(x: f64; sptr: f64, cptr: f64) -> () = x.sincospi();
    sincospif(x: f32; sptr: f32, cptr: f32) -> () = x.sincospi();
    fast_sincosf(x: f32; sptr: f32, cptr: f32) -> () = fast::sin_cos(x);
}
