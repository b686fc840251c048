//! Loads of words from scattered addresses: AVX-512 reads those of several lanes by one
//! instruction.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{
    __m256i, __m512i, _mm256_loadu_si256, _mm256_storeu_si256, _mm512_cmpge_epu32_mask,
    _mm512_cmpgt_epu64_mask, _mm512_loadu_si512, _mm512_set1_epi32, _mm512_set1_epi64,
    _mm512_storeu_si512, _mm512_sub_epi64, _mm512_test_epi64_mask,
};
use std::marker::PhantomData;
use std::sync::atomic::AtomicU32;

use super::super::vector::{Lanes32, Lanes64};
use super::Level;

/// Words to read from, which other threads may access if they are atomic.
#[derive(Clone, Copy)]
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
pub(in super::super) struct Words<'a> {
    first: *const u32,
    count: usize,
    lifetime: PhantomData<&'a u32>,
}

impl<'a> From<&'a [u32]> for Words<'a> {
    fn from(words: &'a [u32]) -> Self {
        Words {
            first: words.as_ptr(),
            count: words.len(),
            lifetime: PhantomData,
        }
    }
}

impl<'a> From<&'a [AtomicU32]> for Words<'a> {
    fn from(words: &'a [AtomicU32]) -> Self {
        Words {
            first: words.as_ptr().cast(),
            count: words.len(),
            lifetime: PhantomData,
        }
    }
}

impl Words<'_> {
    /// How many bytes they are.
    pub(in super::super) fn bytes(self) -> u64 {
        4 * self.count as u64
    }
}

/// The addresses of an access.
#[derive(Clone, Copy)]
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
pub(in super::super) struct Places<'a> {
    pub addresses: &'a [u64; 32],
    /// The address of the first word, and the last byte behind it at which an access may start.
    pub base: u64,
    pub last: u64,
    /// Bytes of each lane's access: 1, 2, 4, or 8 for [`gather_longs`]. They are aligned.
    pub bytes: u32,
    pub mask: u32,
}

/// Whether [`gather`] can do anything: without that, its words need not be looked for.
#[inline(always)]
pub(in super::super) fn can_gather(level: Level) -> bool {
    #[cfg(target_arch = "x86_64")]
    return level == Level::Avx512;
    #[cfg(not(target_arch = "x86_64"))]
    {
        let _ = level;
        false
    }
}

/// Reads the word in which each lane's access lies, in the lanes of the mask, each as by a relaxed
/// load. False, with nothing done, where any address is out of bounds or not aligned, or where the
/// processor cannot do it.
#[inline(always)]
pub(in super::super) fn gather(
    level: Level,
    words: Words<'_>,
    places: Places<'_>,
    to: &mut Lanes32,
) -> bool {
    match level {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: `Level::detect` makes `Avx512` only if the processor has these features.
        Level::Avx512 => unsafe { gather_avx512(words, places, to) },
        _ => {
            let _ = (words, places, to);
            false
        }
    }
}

/// As [`gather`], of values of 64 bits: each is read by one access, so that it is whole.
#[inline(always)]
pub(in super::super) fn gather_longs(
    level: Level,
    words: Words<'_>,
    places: Places<'_>,
    to: &mut Lanes64,
) -> bool {
    match level {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: `Level::detect` makes `Avx512` only if the processor has these features.
        Level::Avx512 => unsafe { gather_longs_avx512(words, places, to) },
        _ => {
            let _ = (words, places, to);
            false
        }
    }
}

/// Reads word number `offsets[lane] + element` for each lane; false, with nothing done, as
/// [`gather`].
#[inline(always)]
pub(in super::super) fn gather_row(
    level: Level,
    words: Words<'_>,
    offsets: &Lanes32,
    element: usize,
    to: &mut Lanes32,
) -> bool {
    match level {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: `Level::detect` makes `Avx512` only if the processor has these features.
        Level::Avx512 => unsafe { gather_row_avx512(words, offsets, element, to) },
        _ => {
            let _ = (words, offsets, element, to);
            false
        }
    }
}

/// As [`gather_row`], of the pairs of words that begin there. Each is read by one access, so that
/// values of 64 bits are whole.
#[inline(always)]
pub(in super::super) fn gather_pairs(
    level: Level,
    words: Words<'_>,
    offsets: &Lanes32,
    element: usize,
    to: &mut Lanes64,
) -> bool {
    match level {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: `Level::detect` makes `Avx512` only if the processor has these features.
        Level::Avx512 => unsafe { gather_pairs_avx512(words, offsets, element, to) },
        _ => {
            let _ = (words, offsets, element, to);
            false
        }
    }
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
#[target_feature(enable = "avx2,avx512f,avx512vl,avx512bw,avx512dq")]
#[inline(never)]
fn gather_avx512(words: Words<'_>, places: Places<'_>, to: &mut Lanes32) -> bool {
    let (base, last) = (places.base as i64, places.last);
    // The word of the last byte must be there.
    if last / 4 >= words.count as u64 {
        return false;
    }
    let (rows, _) = places.addresses.as_chunks::<8>();
    let parts = _mm512_set1_epi64(i64::from(places.bytes) - 1);
    let mut wrong = 0;
    for (row, addresses) in rows.iter().enumerate() {
        let offsets = _mm512_sub_epi64(load(addresses), _mm512_set1_epi64(base));
        let outside = _mm512_cmpgt_epu64_mask(offsets, _mm512_set1_epi64(last as i64));
        let outside = outside | _mm512_test_epi64_mask(offsets, parts);
        wrong |= u32::from(outside) << (8 * row);
    }
    if wrong & places.mask != 0 {
        return false;
    }
    let (destinations, _) = to.as_chunks_mut::<8>();
    for (row, (addresses, to)) in rows.iter().zip(destinations).enumerate() {
        let offsets = addresses.map(|address| address.wrapping_sub(places.base) & !3);
        let (offsets, lanes) = (load(&offsets), (places.mask >> (8 * row)) as u8);
        // SAFETY: `to` is readable and writable for the 32 bytes that are moved. The lanes of the
        // mask read four bytes at offsets of up to `last`, rounded down to words, all of which lie
        // in `words`; others read nothing. `words` may be written by other threads where they are
        // atomic: the processor does not tear aligned words, so each is read as by a relaxed load.
        unsafe {
            let mut row: __m256i = _mm256_loadu_si256(to.as_ptr().cast());
            std::arch::asm!(
                "vpgatherqd {row} {{{lanes}}}, [{first} + {offsets}]",
                row = inout(ymm_reg) row,
                lanes = inout(kreg) lanes => _,
                first = in(reg) words.first,
                offsets = in(zmm_reg) offsets,
                options(nostack, preserves_flags, readonly),
            );
            _mm256_storeu_si256(to.as_mut_ptr().cast(), row);
        }
    }
    true
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,avx512f,avx512vl,avx512bw,avx512dq")]
#[inline(never)]
fn gather_longs_avx512(words: Words<'_>, places: Places<'_>, to: &mut Lanes64) -> bool {
    let (base, last) = (places.base as i64, places.last);
    // The last byte of the last value must be there.
    if last.saturating_add(8) > 4 * words.count as u64 {
        return false;
    }
    let (rows, _) = places.addresses.as_chunks::<8>();
    let mut wrong = 0;
    for (row, addresses) in rows.iter().enumerate() {
        let offsets = _mm512_sub_epi64(load(addresses), _mm512_set1_epi64(base));
        let outside = _mm512_cmpgt_epu64_mask(offsets, _mm512_set1_epi64(last as i64));
        let outside = outside | _mm512_test_epi64_mask(offsets, _mm512_set1_epi64(7));
        wrong |= u32::from(outside) << (8 * row);
    }
    if wrong & places.mask != 0 {
        return false;
    }
    let (destinations, _) = to.as_chunks_mut::<8>();
    for (row, (addresses, to)) in rows.iter().zip(destinations).enumerate() {
        let lanes = (places.mask >> (8 * row)) as u8;
        // SAFETY: `to` is readable and writable for the 64 bytes that are moved. The lanes of the
        // mask read eight bytes at aligned offsets of up to `last`, all of which lie in `words`;
        // others read nothing. `words` may be written by other threads where they are atomic: the
        // processor does not tear aligned values of 64 bits, so each is read as by a relaxed load.
        unsafe {
            let offsets = _mm512_sub_epi64(load(addresses), _mm512_set1_epi64(base));
            let mut row = _mm512_loadu_si512(to.as_ptr().cast());
            std::arch::asm!(
                "vpgatherqq {row} {{{lanes}}}, [{first} + {offsets}]",
                row = inout(zmm_reg) row,
                lanes = inout(kreg) lanes => _,
                first = in(reg) words.first,
                offsets = in(zmm_reg) offsets,
                options(nostack, preserves_flags, readonly),
            );
            _mm512_storeu_si512(to.as_mut_ptr().cast(), row);
        }
    }
    true
}

/// Whether a word lies `element` words behind each offset. Offsets are signed, in words.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,avx512f,avx512vl,avx512bw,avx512dq")]
#[inline]
fn are_inside(words: Words<'_>, offsets: &Lanes32, element: usize) -> bool {
    let Some(count) = words.count.checked_sub(element) else {
        return false;
    };
    let limit = _mm512_set1_epi32(count.min(1 << 29) as i32);
    let (rows, _) = offsets.as_chunks::<16>();
    let mut outside = 0;
    for offsets in rows {
        outside |= _mm512_cmpge_epu32_mask(load(offsets), limit);
    }
    outside == 0
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,avx512f,avx512vl,avx512bw,avx512dq")]
#[inline]
fn gather_row_avx512(
    words: Words<'_>,
    offsets: &Lanes32,
    element: usize,
    to: &mut Lanes32,
) -> bool {
    if !are_inside(words, offsets, element) {
        return false;
    }
    let (rows, _) = offsets.as_chunks::<16>();
    let (destinations, _) = to.as_chunks_mut::<16>();
    for (offsets, to) in rows.iter().zip(destinations) {
        let (mut row, lanes) = (_mm512_set1_epi32(0), u16::MAX);
        // SAFETY: `element` is at most the number of words, and every offset is below what is left
        // behind it, so all lanes read words of `words`; `to` is writable for 64 bytes. `words` may
        // be written by other threads where they are atomic: the processor does not tear aligned
        // words, so each is read as by a relaxed load.
        unsafe {
            std::arch::asm!(
                "vpgatherdd {row} {{{lanes}}}, [{first} + {offsets}*4]",
                row = inout(zmm_reg) row,
                lanes = inout(kreg) lanes => _,
                first = in(reg) words.first.wrapping_add(element),
                offsets = in(zmm_reg) load(offsets),
                options(nostack, preserves_flags, readonly),
            );
            _mm512_storeu_si512(to.as_mut_ptr().cast(), row);
        }
    }
    true
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,avx512f,avx512vl,avx512bw,avx512dq")]
#[inline]
fn gather_pairs_avx512(
    words: Words<'_>,
    offsets: &Lanes32,
    element: usize,
    to: &mut Lanes64,
) -> bool {
    // The second words lie behind the first.
    if !are_inside(words, offsets, element + 1) {
        return false;
    }
    let (rows, _) = offsets.as_chunks::<8>();
    let (destinations, _) = to.as_chunks_mut::<8>();
    for (offsets, to) in rows.iter().zip(destinations) {
        let (mut row, lanes) = (_mm512_set1_epi64(0), u8::MAX);
        // SAFETY: `element + 1` is at most the number of words, and every offset is below what is
        // left behind it, so all lanes read two words of `words`; `offsets` is readable for 32
        // bytes, and `to` writable for 64. `words` may be written by other threads where they are
        // atomic: the processor does not tear aligned words, so each is read as by a relaxed load.
        unsafe {
            let offsets: __m256i = _mm256_loadu_si256(offsets.as_ptr().cast());
            std::arch::asm!(
                "vpgatherdq {row} {{{lanes}}}, [{first} + {offsets}*4]",
                row = inout(zmm_reg) row,
                lanes = inout(kreg) lanes => _,
                first = in(reg) words.first.wrapping_add(element),
                offsets = in(ymm_reg) offsets,
                options(nostack, preserves_flags, readonly),
            );
            _mm512_storeu_si512(to.as_mut_ptr().cast(), row);
        }
    }
    true
}
