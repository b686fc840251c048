//! Functions of `f32`: a kernel for each, whose output is one float for each one of the input.

use super::put;
use cuda_std::float::{fast, single};
use cuda_std::prelude::*;

macro_rules! of_one {
    ($($name:ident = $function:expr;)*) => {
        $(
            /// One function of `input[i]`.
            ///
            /// # Safety
            /// `output` has as many elements as `input`.
            #[kernel]
            pub unsafe fn $name(input: &[f32], output: *mut f32) {
                let i = thread::index() as usize;
                let function = $function;
                if let Some(&x) = input.get(i) {
                    // SAFETY: one column, for as many threads as there are elements.
                    unsafe { put(output, 1, 0, function(x)) };
                }
            }
        )*
    };
}

of_one! {
    float_same = |x: f32| x;
    float_exp = single::exp;
    float_exp2 = single::exp2;
    float_exp10 = single::exp10;
    float_ln = single::ln;
    float_log2 = single::log2;
    float_log10 = single::log10;
    float_sin = single::sin;
    float_cos = single::cos;
    float_tan = single::tan;
    float_sinpi = single::sinpi;
    float_cospi = single::cospi;
    float_sinh = single::sinh;
    float_cosh = single::cosh;
    float_tanh = single::tanh;
    // A power of two arguments, the second 1.75 times the first.
    float_powf = |x: f32| single::powf(x, 1.75 * x);
    float_round = |x: f32| GpuFloat::round(x);
    float_fract = |x: f32| GpuFloat::fract(x);
    float_powi = |x: f32| GpuFloat::powi(x, -3);
    fast_exp = fast::exp;
    fast_exp10 = fast::exp10;
    fast_ln = fast::ln;
    fast_log10 = fast::log10;
    fast_sin = fast::sin;
    fast_cos = fast::cos;
    fast_tan = fast::tan;
    fast_powf = |x: f32| fast::powf(x, 1.75 * x);
    fast_sqrt = fast::sqrt;
    fast_rsqrt = fast::rsqrt;
    fast_recip = fast::recip;
}
