//! The transfer of regular accesses of full warps, between registers and words of memory.

use std::sync::atomic::{AtomicU32, Ordering};

use super::access_pattern::{AccessPattern, GROUP, Shape};
use super::simd;
use super::vector::{LANES, Lanes32, Lanes64};
use crate::whole::{load_pair, store_pair};

/// What the fast paths do with an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Transfer {
    /// Nothing: the deltas are no multiples of the access size, or too far apart.
    Slow,
    /// One 32-bit register, and consecutive words.
    Row,
    /// 32-bit registers, and the same words for all lanes.
    Broadcast,
    /// Anything else.
    Scattered,
}

/// Words that the fast paths read. Indices are in bounds.
pub(super) trait Source {
    fn word(&self, at: usize) -> u32;

    /// Two neighbouring words as one value, which is whole where other threads write it.
    fn pair(&self, at: usize) -> u64;

    /// Neighbouring words.
    fn copy<const N: usize>(&self, at: usize, to: &mut [u32; N]);

    /// The word number `element` behind each offset; false, with nothing done, where the processor
    /// has no instruction for that.
    fn gather(&self, offsets: &Lanes32, element: usize, to: &mut Lanes32) -> bool;

    /// As [`Source::gather`], of the pairs that begin with these words.
    fn gather_pairs(&self, offsets: &Lanes32, element: usize, to: &mut Lanes64) -> bool;
}

/// Words that the fast paths write. Indices are in bounds.
pub(super) trait Target {
    fn set_word(&mut self, at: usize, value: u32);

    /// Two neighbouring words, which are whole for other threads.
    fn set_pair(&mut self, at: usize, value: u64);

    /// Neighbouring words.
    fn set<const N: usize>(&mut self, at: usize, from: &[u32; N]);
}

/// Words of shared memory.
pub(super) struct Shared<'a> {
    pub words: &'a [u32],
    pub level: simd::Level,
}

impl Source for Shared<'_> {
    #[inline(always)]
    fn word(&self, at: usize) -> u32 {
        self.words[at]
    }

    #[inline(always)]
    fn pair(&self, at: usize) -> u64 {
        join(self.words[at], self.words[at + 1])
    }

    #[inline(always)]
    fn copy<const N: usize>(&self, at: usize, to: &mut [u32; N]) {
        to.copy_from_slice(&self.words[at..][..N]);
    }

    #[inline(always)]
    fn gather(&self, offsets: &Lanes32, element: usize, to: &mut Lanes32) -> bool {
        simd::gather_row(self.level, self.words.into(), offsets, element, to)
    }

    #[inline(always)]
    fn gather_pairs(&self, offsets: &Lanes32, element: usize, to: &mut Lanes64) -> bool {
        simd::gather_pairs(self.level, self.words.into(), offsets, element, to)
    }
}

impl Target for &mut [u32] {
    #[inline(always)]
    fn set_word(&mut self, at: usize, value: u32) {
        self[at] = value;
    }

    #[inline(always)]
    fn set_pair(&mut self, at: usize, value: u64) {
        self[at] = value as u32;
        self[at + 1] = (value >> 32) as u32;
    }

    #[inline(always)]
    fn set<const N: usize>(&mut self, at: usize, from: &[u32; N]) {
        self[at..][..N].copy_from_slice(from);
    }
}

/// Words of an allocation.
pub(super) struct Global<'a> {
    pub words: &'a [AtomicU32],
    pub level: simd::Level,
}

impl Source for Global<'_> {
    #[inline(always)]
    fn word(&self, at: usize) -> u32 {
        self.words[at].load(Ordering::Relaxed)
    }

    #[inline(always)]
    fn pair(&self, at: usize) -> u64 {
        load_pair(self.words, at)
    }

    #[inline(always)]
    fn copy<const N: usize>(&self, at: usize, to: &mut [u32; N]) {
        let from = &self.words[at..][..N];
        let (rows, rest) = from.as_chunks::<LANES>();
        let (to_rows, to_rest) = to.as_chunks_mut::<LANES>();
        for (to, row) in to_rows.iter_mut().zip(rows) {
            simd::load_row(self.level, row, to);
        }
        for (to, word) in to_rest.iter_mut().zip(rest) {
            *to = word.load(Ordering::Relaxed);
        }
    }

    #[inline(always)]
    fn gather(&self, offsets: &Lanes32, element: usize, to: &mut Lanes32) -> bool {
        simd::gather_row(self.level, self.words.into(), offsets, element, to)
    }

    #[inline(always)]
    fn gather_pairs(&self, offsets: &Lanes32, element: usize, to: &mut Lanes64) -> bool {
        simd::gather_pairs(self.level, self.words.into(), offsets, element, to)
    }
}

impl Target for Global<'_> {
    #[inline(always)]
    fn set_word(&mut self, at: usize, value: u32) {
        self.words[at].store(value, Ordering::Relaxed);
    }

    #[inline(always)]
    fn set_pair(&mut self, at: usize, value: u64) {
        store_pair(self.words, at, value);
    }

    #[inline(always)]
    fn set<const N: usize>(&mut self, at: usize, from: &[u32; N]) {
        let to = &self.words[at..][..N];
        let (to_rows, to_rest) = to.as_chunks::<LANES>();
        let (rows, rest) = from.as_chunks::<LANES>();
        for (to, row) in to_rows.iter().zip(rows) {
            simd::store_row(self.level, to, row);
        }
        for (to, value) in to_rest.iter().zip(rest) {
            to.store(*value, Ordering::Relaxed);
        }
    }
}

/// Two words as one value.
#[inline(always)]
pub(super) fn join(low: u32, high: u32) -> u64 {
    u64::from(low) | u64::from(high) << 32
}

/// Whether the access is a row or a broadcast, and was done.
#[inline(always)]
pub(super) fn read_row(
    source: &impl Source,
    at: usize,
    pattern: &AccessPattern,
    regs32: &mut [Lanes32],
) -> bool {
    match pattern.transfer {
        Transfer::Row => source.copy(at, &mut regs32[pattern.register as usize]),
        Transfer::Broadcast => {
            let registers = pattern.registers.iter().take(pattern.count as usize);
            for (element, &register) in registers.enumerate() {
                regs32[register as usize] = [source.word(at + element); LANES];
            }
        }
        Transfer::Scattered | Transfer::Slow => return false,
    }
    true
}

/// As [`read_row`], for a store without gaps.
#[inline(always)]
pub(super) fn write_row(
    target: &mut impl Target,
    at: usize,
    pattern: &AccessPattern,
    regs32: &[Lanes32],
) -> bool {
    if pattern.transfer != Transfer::Row {
        return false;
    }
    target.set(at, &regs32[pattern.register as usize]);
    true
}

/// Reads the word number `element` of each lane's access.
#[inline(always)]
pub(super) fn read32(
    source: &impl Source,
    pattern: &AccessPattern,
    element: usize,
    to: &mut Lanes32,
) {
    let adjacent = pattern.bytes == 4;
    match pattern.whole {
        Shape::Uniform => *to = [source.word(element); LANES],
        Shape::Consecutive if adjacent => source.copy(0, to),
        _ if source.gather(&pattern.word_offsets, element, to) => {}
        _ => {
            let (groups, _) = to.as_chunks_mut::<GROUP>();
            let (word_offsets, _) = pattern.word_offsets.as_chunks::<GROUP>();
            for ((to, word_offsets), shape) in
                groups.iter_mut().zip(word_offsets).zip(pattern.groups)
            {
                match shape {
                    Shape::Uniform => {
                        *to = [source.word(word_offsets[0] as usize + element); GROUP]
                    }
                    Shape::Consecutive if adjacent => source.copy(word_offsets[0] as usize, to),
                    _ => {
                        for (to, offset) in to.iter_mut().zip(word_offsets) {
                            *to = source.word(*offset as usize + element);
                        }
                    }
                }
            }
        }
    }
}

/// Reads the words `element` and `element + 1` of each lane's access as one value.
#[inline(always)]
pub(super) fn read64(
    source: &impl Source,
    pattern: &AccessPattern,
    element: usize,
    to: &mut Lanes64,
) {
    let value = |at: usize| source.pair(at);
    match pattern.whole {
        Shape::Uniform => *to = [value(element); LANES],
        Shape::Consecutive if pattern.bytes == 8 => {
            let mut row = [0; 2 * LANES];
            source.copy(0, &mut row);
            for (to, pair) in to.iter_mut().zip(row.chunks_exact(2)) {
                *to = join(pair[0], pair[1]);
            }
        }
        _ if source.gather_pairs(&pattern.word_offsets, element, to) => {}
        _ => {
            let (groups, _) = to.as_chunks_mut::<GROUP>();
            let (word_offsets, _) = pattern.word_offsets.as_chunks::<GROUP>();
            for ((to, word_offsets), shape) in
                groups.iter_mut().zip(word_offsets).zip(pattern.groups)
            {
                if shape == Shape::Uniform {
                    *to = [value(word_offsets[0] as usize + element); GROUP];
                } else {
                    for (to, offset) in to.iter_mut().zip(word_offsets) {
                        *to = value(*offset as usize + element);
                    }
                }
            }
        }
    }
}

/// Reads a vector of `N` words in each lane, which lie one after the other in memory; into the
/// registers.
#[inline(always)]
pub(super) fn read_vectors<const N: usize, const WORDS: usize>(
    source: &impl Source,
    registers: [u32; N],
    regs32: &mut [Lanes32],
) {
    let mut row = [0; WORDS];
    source.copy(0, &mut row);
    let row = std::hint::black_box(&row);
    for (element, register) in registers.into_iter().enumerate() {
        let to = &mut regs32[register as usize];
        for (lane, to) in to.iter_mut().enumerate() {
            *to = row[N * lane + element];
        }
    }
}

/// The inverse of [`read_vectors`].
#[inline(always)]
pub(super) fn write_vectors<const N: usize, const WORDS: usize>(
    target: &mut impl Target,
    registers: [u32; N],
    regs32: &[Lanes32],
) {
    let mut row = [0; WORDS];
    for (element, register) in registers.into_iter().enumerate() {
        let from = &regs32[register as usize];
        for (lane, word) in from.iter().enumerate() {
            row[N * lane + element] = *word;
        }
    }
    target.set(0, std::hint::black_box(&row));
}

/// Writes the word number `element` of each lane's access; the highest lane wins.
#[inline(always)]
pub(super) fn write32(
    target: &mut impl Target,
    pattern: &AccessPattern,
    element: usize,
    from: &Lanes32,
) {
    if pattern.whole == Shape::Consecutive && pattern.bytes == 4 {
        target.set(0, from);
        return;
    }
    for (value, offset) in from.iter().zip(pattern.word_offsets) {
        target.set_word(offset as usize + element, *value);
    }
}

/// Writes the words `element` and `element + 1` of each lane's access.
#[inline(always)]
pub(super) fn write64(
    target: &mut impl Target,
    pattern: &AccessPattern,
    element: usize,
    from: &Lanes64,
) {
    if pattern.whole == Shape::Consecutive && pattern.bytes == 8 {
        let mut row = [0; 2 * LANES];
        for (pair, value) in row.chunks_exact_mut(2).zip(from) {
            pair[0] = *value as u32;
            pair[1] = (*value >> 32) as u32;
        }
        target.set(0, &row);
        return;
    }
    for (value, offset) in from.iter().zip(pattern.word_offsets) {
        target.set_pair(offset as usize + element, *value);
    }
}
