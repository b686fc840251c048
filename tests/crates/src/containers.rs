//! hashbrown, smallvec, arrayvec and heapless.

use arrayvec::ArrayVec;
use core::hash::{BuildHasherDefault, Hasher};
use cuda_std::kernel;
use hashbrown::HashMap;
use smallvec::SmallVec;

/// FNV-1a, as the standard library's hasher needs random numbers of the system.
#[derive(Default)]
struct Fnv(u64);

impl Hasher for Fnv {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        }
    }
}

/// hashbrown: how often the most frequent value of `input` is there, and how many values there are.
///
/// # Safety
/// `output` has 2 elements.
#[kernel]
pub unsafe fn with_hashbrown(input: &[u32], output: *mut u32) {
    let mut counts: HashMap<u32, u32, BuildHasherDefault<Fnv>> = HashMap::default();
    for &value in input {
        *counts.entry(value).or_insert(0) += 1;
    }
    let most = counts.values().copied().max().unwrap_or(0);
    // SAFETY: 2 elements.
    unsafe { output.cast::<[u32; 2]>().write([most, counts.len() as u32]) };
}

/// smallvec, arrayvec and heapless: the sum of the values of `input`, largest first, weighted by
/// their rank; the first with room for 4 elements before it needs the heap.
///
/// # Safety
/// `output` has 3 elements.
#[kernel]
pub unsafe fn with_vectors(input: &[u32], output: *mut u32) {
    fn weighted(values: &mut [u32]) -> u32 {
        values.sort_unstable_by(|a, b| b.cmp(a));
        let ranks = values.iter().zip(1..);
        ranks.map(|(value, rank)| value * rank).sum()
    }
    let mut small: SmallVec<[u32; 4]> = input.iter().copied().collect();
    let mut array: ArrayVec<u32, 16> = input.iter().copied().take(16).collect();
    let mut heapless: heapless::Vec<u32, 16> = input.iter().copied().take(16).collect();
    let sums = [weighted(&mut small), weighted(&mut array), weighted(&mut heapless)];
    // SAFETY: 3 elements.
    unsafe { output.cast::<[u32; 3]>().write(sums) };
}
