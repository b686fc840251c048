//! Pairs of f16 by the processor's conversions.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{
    _MM_FROUND_TO_NEAREST_INT, _mm_loadu_si128, _mm_storeu_si128, _mm256_cvtph_ps, _mm256_cvtps_ph,
    _mm256_loadu_ps, _mm256_storeu_ps,
};

#[cfg(target_arch = "x86_64")]
use super::super::float::{max32, min32};
#[cfg(target_arch = "x86_64")]
use super::super::rows::half::odd_fma;
use super::super::vector::Lanes32;
use super::Level;
use crate::ir::FloatFunction;

/// An operation on pairs of f16 in all lanes, by the processor's conversions; none where it has
/// none, or for other operations.
pub(in super::super) fn halves(
    level: Level,
    function: FloatFunction,
    x: [&Lanes32; 3],
) -> Option<Lanes32> {
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (function, x);
    match level {
        Level::Portable => None,
        #[cfg(target_arch = "x86_64")]
        // SAFETY: `Level::detect` makes `Avx2` and `Avx512` only if the processor has AVX2, FMA and
        // F16C.
        _ => unsafe { halves_f16c(function, x) },
    }
}

/// Eight f16 as f32.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn widen(words: &[u32; 4]) -> [f32; 8] {
    let mut values = [0.0; 8];
    // SAFETY: `words` is readable for 16 bytes and `values` writable for 32; neither instruction
    // needs more than the alignment of its elements.
    unsafe {
        let halves = _mm_loadu_si128(words.as_ptr().cast());
        _mm256_storeu_ps(values.as_mut_ptr(), _mm256_cvtph_ps(halves));
    }
    values
}

/// The inverse of [`widen`], to nearest; NaNs become the one of f16.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn narrow(values: [f32; 8]) -> [u32; 4] {
    let mut known = values;
    for value in &mut known {
        // All of a NaN's bits but the sign: its upper ones are kept.
        *value = match value.is_nan() {
            true => f32::from_bits(0x7fff_ffff),
            false => *value,
        };
    }
    let mut words = [0; 4];
    // SAFETY: `known` is readable for 32 bytes and `words` writable for 16; neither instruction
    // needs more than the alignment of its elements.
    unsafe {
        let halves = _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(_mm256_loadu_ps(known.as_ptr()));
        _mm_storeu_si128(words.as_mut_ptr().cast(), halves);
    }
    words
}

/// The halves of four lanes at a time, so that they stay in the processor's registers.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c")]
fn halves_f16c(function: FloatFunction, x: [&Lanes32; 3]) -> Option<Lanes32> {
    let [a, b, c] = x.map(|row| row.as_chunks::<4>().0);
    let mut row = [0; 32];
    macro_rules! each {
        (|$x:ident, $y:ident, $z:ident| $value:expr) => {{
            let operands = a.iter().zip(b).zip(c);
            for (((a, b), c), to) in operands.zip(row.as_chunks_mut::<4>().0) {
                let (a, b, c) = (widen(a), widen(b), widen(c));
                let mut values = [0.0; 8];
                for (at, value) in values.iter_mut().enumerate() {
                    let ($x, $y, $z) = (a[at], b[at], c[at]);
                    *value = $value;
                }
                *to = narrow(values);
            }
            Some(row)
        }};
    }
    match function {
        FloatFunction::Add => each!(|x, y, _z| x + y),
        FloatFunction::Sub => each!(|x, y, _z| x - y),
        FloatFunction::Mul => each!(|x, y, _z| x * y),
        FloatFunction::Min => each!(|x, y, _z| f32::from_bits(min32(x.to_bits(), y.to_bits()))),
        FloatFunction::Max => each!(|x, y, _z| f32::from_bits(max32(x.to_bits(), y.to_bits()))),
        FloatFunction::Fma => each!(|x, y, z| odd_fma(x, y, z)),
        _ => None,
    }
}
