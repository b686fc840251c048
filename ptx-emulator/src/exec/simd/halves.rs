//! Pairs of f16 by the processor's conversions.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{
    _MM_FROUND_TO_NEAREST_INT, _mm_loadu_si128, _mm_storeu_si128, _mm256_cvtph_ps, _mm256_cvtps_ph,
    _mm256_loadu_ps, _mm256_storeu_ps,
};

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

/// The halves of a row, low half first.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c")]
fn widen(words: &Lanes32) -> [f32; 64] {
    let mut values = [0.0; 64];
    let (from, to) = (words.as_chunks::<4>().0, values.as_chunks_mut::<8>().0);
    for (from, to) in from.iter().zip(to) {
        // SAFETY: `from` is readable for 16 bytes and `to` writable for 32; neither instruction
        // needs more than the alignment of its elements.
        unsafe {
            let halves = _mm_loadu_si128(from.as_ptr().cast());
            _mm256_storeu_ps(to.as_mut_ptr(), _mm256_cvtph_ps(halves));
        }
    }
    values
}

/// The inverse of [`widen`], to nearest; NaNs become the one of f16.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c")]
fn narrow(values: &[f32; 64]) -> Lanes32 {
    let mut words = [0; 32];
    let (from, to) = (values.as_chunks::<8>().0, words.as_chunks_mut::<4>().0);
    for (from, to) in from.iter().zip(to) {
        // All of a NaN's bits but the sign: its upper ones are kept.
        let known = from.map(|value| match value.is_nan() {
            true => f32::from_bits(0x7fff_ffff),
            false => value,
        });
        // SAFETY: `known` is readable for 32 bytes and `to` writable for 16; neither instruction
        // needs more than the alignment of its elements.
        unsafe {
            let values = _mm256_loadu_ps(known.as_ptr());
            let halves = _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(values);
            _mm_storeu_si128(to.as_mut_ptr().cast(), halves);
        }
    }
    words
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c")]
fn halves_f16c(function: FloatFunction, x: [&Lanes32; 3]) -> Option<Lanes32> {
    let [a, b, c] = x;
    super::super::rows::half::flat(function, || widen(a), || widen(b), || widen(c))
        .map(|row| narrow(&row))
}
