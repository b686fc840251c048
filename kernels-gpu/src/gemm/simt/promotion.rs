//! Two-level accumulation: accumulators are promoted at intervals along k, which rounds less.
//!
//! # Idea
//! In a sequence of k FMAs, each rounds the accumulator, which grows as √k where signs are random:
//! the error grows as k. So after a promotion interval of s, the accumulator is added to a promoted
//! one and begins at zero again. The errors of k / s intervals add up as those of independent
//! numbers, to √(s / k) of the error without promotion: at k = 4096, intervals of 1024 halve it.
//!
//! A thread's promoted accumulators lie in shared memory, because its registers hold the others. A
//! promotion reads and writes them, which takes as long as some 5 FMAs of each accumulator: 0.5 %
//! of the time at intervals of 1024, 2 % at 256. The promoted accumulators also take their bytes
//! from the L1 cache, which slows copies of single elements (`docs/notes/fast-products.md`).
//!
//! # Source
//! Castaldo, Whaley, Chronopoulos, "Reducing Floating Point Error in Dot Product Using the
//! Superblock Family of Algorithms", SIAM J. Sci. Comput. 31 (2008).

use cuda_std::vector::{F32x4, Vector};

/// The promotion interval where accumulators are never promoted.
pub const NEVER: u32 = 1 << 31;

/// The shortest promotion interval, in elements along k: shorter ones cost more than a few percent.
pub const MIN_INTERVAL: u32 = 256;

/// The promotion interval for splits of `k` elements, at most `longest`: the largest power of two
/// of which k has at least two.
pub const fn interval(k: u32, longest: u32) -> u32 {
    let mut interval = longest;
    while interval >= k && interval > MIN_INTERVAL {
        interval /= 2;
    }
    interval
}

/// A thread's promoted accumulators, in shared memory: those of the intervals before. In memory,
/// the vec4s of all threads of a block lie side by side, then the next vec4 of each.
pub struct PromotedAccumulators<const TM: usize, const TN: usize, const THREADS: usize> {
    /// The thread's first vec4.
    first: *mut f32,
}

impl<const TM: usize, const TN: usize, const THREADS: usize> PromotedAccumulators<TM, TN, THREADS> {
    /// Bytes of a block's promoted accumulators.
    pub const BYTES: usize = TM * TN * THREADS * size_of::<f32>();

    /// Those of this thread, where `memory` is the start of the block's.
    #[inline(always)]
    pub fn new(memory: *mut f32, thread: usize) -> Self {
        const { assert!(TN.is_multiple_of(4)) };
        PromotedAccumulators {
            first: memory.wrapping_add(4 * thread),
        }
    }

    /// The vec4 of the accumulators (i, j) to (i, j + 3).
    #[inline(always)]
    fn vector(&self, i: usize, j: usize) -> *mut f32 {
        self.first.wrapping_add((i * TN + j) * THREADS)
    }

    /// Sets all promoted accumulators to zero.
    ///
    /// # Safety
    /// `memory` of [`new`](Self::new) is [`BYTES`](Self::BYTES) of shared memory, aligned to 16,
    /// and no other thread accesses the vec4s of this thread.
    #[inline(always)]
    pub unsafe fn zero(&self) {
        for i in 0..TM {
            for j in (0..TN).step_by(4) {
                // SAFETY: the vec4 is in the block's array, aligned to 16, and only this thread's.
                unsafe { F32x4::store(self.vector(i, j), [0.0; 4]) };
            }
        }
    }

    /// Adds the accumulators of an interval to the promoted ones, and sets them to zero.
    ///
    /// # Safety
    /// As for [`zero`](Self::zero), which was called before.
    #[inline(always)]
    pub unsafe fn promote(&self, accumulators: &mut [[f32; TN]; TM]) {
        for (i, row) in accumulators.iter_mut().enumerate() {
            for j in (0..TN).step_by(4) {
                // SAFETY: the vec4 is this thread's, aligned to 16, and was written by `zero`.
                let mut promoted = unsafe { F32x4::load(self.vector(i, j)) };
                for q in 0..4 {
                    promoted[q] += row[j + q];
                    row[j + q] = 0.0;
                }
                // SAFETY: the same vec4.
                unsafe { F32x4::store(self.vector(i, j), promoted) };
            }
        }
    }

    /// Adds the promoted accumulators to those of the last interval.
    ///
    /// # Safety
    /// As for [`promote`](Self::promote).
    #[inline(always)]
    pub unsafe fn add_to(&self, accumulators: &mut [[f32; TN]; TM]) {
        for (i, row) in accumulators.iter_mut().enumerate() {
            for j in (0..TN).step_by(4) {
                // SAFETY: the vec4 is this thread's, aligned to 16, and was written by `zero`.
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
    fn a_k_longer_than_the_shortest_interval_has_two_intervals_or_more() {
        assert_eq!(interval(4096, 1024), 1024);
        assert_eq!(interval(1025, 1024), 1024);
        assert_eq!(interval(1024, 1024), 512);
        assert_eq!(interval(257, 1024), 256);
        assert_eq!(interval(256, 1024), MIN_INTERVAL);
        assert_eq!(interval(4096, 256), 256);
    }
}
