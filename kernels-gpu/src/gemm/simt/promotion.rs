//! Accumulators in slices along k: short chains of additions, which round less than long ones.
//!
//! # Idea
//! In a chain of k multiply-adds each rounds what has been summed so far, which grows as √k where signs are random: the error
//! grows as k. So a chain ends after a slice, what it came to is added to a total, and the next one begins at zero. Of k / s
//! chains of s each the errors add up as those of independent numbers, to √(s / k) of the error of one chain: at k = 4096
//! slices of 1024 halve it.
//!
//! A thread's promoted lie in shared memory, because its registers hold the accumulators. A chain's end is a read and a write of them, which
//! take as long as some 5 multiply-adds of each sum: 0.5 % of the time at slices of 1024, 2 % at 256. Beside it the L1 cache is
//! smaller by the promoted, which copies of single elements feel (`docs/notes/fast-products.md`).
//!
//! # Source
//! Castaldo, Whaley, Chronopoulos, "Reducing Floating Point Error in Dot Product Using the Superblock Family of
//! Algorithms", SIAM J. Sci. Comput. 31 (2008).

use cuda_std::vector::{F32x4, Vector};

/// [`GemmParams::slice`](super::GemmParams::slice) where all of k is one chain.
pub const NEVER: u32 = 1 << 31;

/// Parts of k up to this extent are one chain: shorter slices cost more than a few percent.
pub const MIN_INTERVAL: u32 = 256;

/// The extent of slices for parts of k of this one, at most `longest`: the largest power of two that leaves at least two of them.
pub const fn interval(k: u32, longest: u32) -> u32 {
    let mut slice = longest;
    while slice >= k && slice > MIN_INTERVAL {
        slice /= 2;
    }
    slice
}

/// What a thread's accumulators of the slices before came to, in shared memory. Vectors of one thread lie as far apart as those of a
/// block side by side.
pub struct PromotedAccumulators<const TM: usize, const TN: usize, const THREADS: usize> {
    /// The thread's first vector.
    first: *mut f32,
}

impl<const TM: usize, const TN: usize, const THREADS: usize> PromotedAccumulators<TM, TN, THREADS> {
    /// Bytes of a block's promoted.
    pub const BYTES: usize = TM * TN * THREADS * size_of::<f32>();

    /// Those of this thread of a block's at `memory`.
    #[inline(always)]
    pub fn new(memory: *mut f32, thread: usize) -> Self {
        const { assert!(TN.is_multiple_of(4)) };
        PromotedAccumulators {
            first: memory.wrapping_add(4 * thread),
        }
    }

    /// The vector of the accumulators (i, j) to (i, j + 3).
    #[inline(always)]
    fn vector(&self, i: usize, j: usize) -> *mut f32 {
        self.first.wrapping_add((i * TN + j) * THREADS)
    }

    /// Makes all promoted zero.
    ///
    /// # Safety
    /// The promoted are [`BYTES`](Self::BYTES) of shared memory, aligned to 16, that nobody else uses.
    #[inline(always)]
    pub unsafe fn zero(&self) {
        for i in 0..TM {
            for j in (0..TN).step_by(4) {
                // SAFETY: the caller ensures it.
                unsafe { F32x4::store(self.vector(i, j), [0.0; 4]) };
            }
        }
    }

    /// Adds the accumulators of a slice, and makes them zero.
    ///
    /// # Safety
    /// As for [`clear`](Self::clear), which comes before.
    #[inline(always)]
    pub unsafe fn promote(&self, accumulators: &mut [[f32; TN]; TM]) {
        for (i, row) in accumulators.iter_mut().enumerate() {
            for j in (0..TN).step_by(4) {
                // SAFETY: the caller ensures it.
                let mut promoted = unsafe { F32x4::load(self.vector(i, j)) };
                for q in 0..4 {
                    promoted[q] += row[j + q];
                    row[j + q] = 0.0;
                }
                // SAFETY: as before.
                unsafe { F32x4::store(self.vector(i, j), promoted) };
            }
        }
    }

    /// Adds the promoted to the accumulators of the last slice.
    ///
    /// # Safety
    /// As for [`take`](Self::take).
    #[inline(always)]
    pub unsafe fn add_to(&self, accumulators: &mut [[f32; TN]; TM]) {
        for (i, row) in accumulators.iter_mut().enumerate() {
            for j in (0..TN).step_by(4) {
                // SAFETY: the caller ensures it.
                let promoted = unsafe { F32x4::load(self.vector(i, j)) };
                for q in 0..4 {
                    row[j + q] += promoted[q];
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_two_slices_or_more_of_all_that_is_longer_than_the_shortest() {
        assert_eq!(interval(4096, 1024), 1024);
        assert_eq!(interval(1025, 1024), 1024);
        assert_eq!(interval(1024, 1024), 512);
        assert_eq!(interval(257, 1024), 256);
        assert_eq!(interval(256, 1024), MIN_INTERVAL);
        assert_eq!(interval(4096, 256), 256);
    }
}
