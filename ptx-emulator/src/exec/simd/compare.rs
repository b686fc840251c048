//! Comparisons of all lanes. AVX-512 leaves their results in a mask, one bit a lane, which is what
//! a predicate is; the compiler collects the bits one by one.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{
    __m512i, _CMP_EQ_OQ, _CMP_LE_OQ, _CMP_LT_OQ, _CMP_NEQ_OQ, _CMP_UNORD_Q, _mm512_castsi512_pd,
    _mm512_castsi512_ps, _mm512_cmp_pd_mask, _mm512_cmp_ps_mask, _mm512_cmpeq_epi32_mask,
    _mm512_cmpeq_epi64_mask, _mm512_cmplt_epi32_mask, _mm512_cmplt_epi64_mask,
    _mm512_cmplt_epu32_mask, _mm512_cmplt_epu64_mask, _mm512_loadu_si512,
};

use super::super::arithmetic;
use super::super::vector::{Lanes32, Lanes64};
use super::Instructions;
#[cfg(target_arch = "x86_64")]
use super::Level;
use crate::ir::Comparison;

/// One bit for each lane, in code that is compiled for the instructions `V`.
#[inline(always)]
pub(in super::super) fn compare_words<V: Instructions>(
    comparison: Comparison,
    [a, b]: [&Lanes32; 2],
) -> u32 {
    #[cfg(target_arch = "x86_64")]
    if V::LEVEL == Level::Avx512 {
        // SAFETY: code for `Level::Avx512` runs only where the processor has AVX-512F.
        return unsafe { words(comparison, a, b) };
    }
    arithmetic::compare32(comparison, a, b)
}

/// As [`compare_words`].
#[inline(always)]
pub(in super::super) fn compare_wide<V: Instructions>(
    comparison: Comparison,
    [a, b]: [&Lanes64; 2],
) -> u32 {
    #[cfg(target_arch = "x86_64")]
    if V::LEVEL == Level::Avx512 {
        // SAFETY: code for `Level::Avx512` runs only where the processor has AVX-512F.
        return unsafe { wide(comparison, a, b) };
    }
    arithmetic::compare64(comparison, a, b)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
#[inline]
fn load<T>(lanes: &[T]) -> __m512i {
    assert!(size_of_val(lanes) == 64);
    // SAFETY: the slice is readable for the 64 bytes that are loaded, and the instruction needs no
    // alignment.
    unsafe { _mm512_loadu_si512(lanes.as_ptr().cast()) }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
#[inline]
fn words(comparison: Comparison, a: &Lanes32, b: &Lanes32) -> u32 {
    let half = |at: usize| {
        let (x, y) = (load(&a[at..at + 16]), load(&b[at..at + 16]));
        let (v, w) = (_mm512_castsi512_ps(x), _mm512_castsi512_ps(y));
        u32::from(match comparison {
            Comparison::Equal => _mm512_cmpeq_epi32_mask(x, y),
            Comparison::LessSigned => _mm512_cmplt_epi32_mask(x, y),
            Comparison::LessUnsigned => _mm512_cmplt_epu32_mask(x, y),
            Comparison::FloatEqual => _mm512_cmp_ps_mask::<_CMP_EQ_OQ>(v, w),
            Comparison::FloatNotEqual => _mm512_cmp_ps_mask::<_CMP_NEQ_OQ>(v, w),
            Comparison::FloatLess => _mm512_cmp_ps_mask::<_CMP_LT_OQ>(v, w),
            Comparison::FloatLessEqual => _mm512_cmp_ps_mask::<_CMP_LE_OQ>(v, w),
            Comparison::FloatUnordered => _mm512_cmp_ps_mask::<_CMP_UNORD_Q>(v, w),
        })
    };
    half(0) | half(16) << 16
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
#[inline]
fn wide(comparison: Comparison, a: &Lanes64, b: &Lanes64) -> u32 {
    let quarter = |at: usize| {
        let (x, y) = (load(&a[at..at + 8]), load(&b[at..at + 8]));
        let (v, w) = (_mm512_castsi512_pd(x), _mm512_castsi512_pd(y));
        u32::from(match comparison {
            Comparison::Equal => _mm512_cmpeq_epi64_mask(x, y),
            Comparison::LessSigned => _mm512_cmplt_epi64_mask(x, y),
            Comparison::LessUnsigned => _mm512_cmplt_epu64_mask(x, y),
            Comparison::FloatEqual => _mm512_cmp_pd_mask::<_CMP_EQ_OQ>(v, w),
            Comparison::FloatNotEqual => _mm512_cmp_pd_mask::<_CMP_NEQ_OQ>(v, w),
            Comparison::FloatLess => _mm512_cmp_pd_mask::<_CMP_LT_OQ>(v, w),
            Comparison::FloatLessEqual => _mm512_cmp_pd_mask::<_CMP_LE_OQ>(v, w),
            Comparison::FloatUnordered => _mm512_cmp_pd_mask::<_CMP_UNORD_Q>(v, w),
        })
    };
    quarter(0) | quarter(8) << 8 | quarter(16) << 16 | quarter(24) << 24
}
