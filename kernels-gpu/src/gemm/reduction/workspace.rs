//! Workspace layout of partial sums: one split's accumulators of each stream-K tile.
//!
//! A tile's splits lie one behind the other, and in a split those of its consumer warpgroups. A
//! warpgroup stores them as they lie in registers, in vectors of four, those of its threads side by
//! side, so that accesses coalesce.

use crate::gemm::scheduler::persistent::{Split, TileSchedulerParams};
use crate::gemm::wgmma::stage::{WARPGROUP, WM};
use cuda_std::prelude::*;
use cuda_std::vector::{F32x4, Vector};
use cuda_std::wgmma::Accumulator;

/// Partial sums of a vector.
pub const VECTOR: usize = 4;

/// Most partial sums that a thread keeps in flight.
const MAX_LIVE: usize = 64;

/// Vectors in flight to a thread that has `registers` accumulators. Of a narrow tile these are all
/// vectors; of a wide one, those that fit into registers beside the accumulators.
const fn live_vectors(registers: usize) -> usize {
    match registers {
        0..=MAX_LIVE => registers / VECTOR,
        96 => 48 / VECTOR,
        _ => 32 / VECTOR,
    }
}

/// Whether a thread keeps its own partial sums of a tile of `bn` columns in registers while it adds
/// those of the other splits. Wider tiles leave too few registers for that, and their own partial
/// sums are loaded like the others.
const fn keeps_own(bn: usize) -> bool {
    bn < 192
}

/// Elements of one warpgroup's partial sums in the workspace, for tiles of `bn` columns.
pub const fn partial_elements(bn: usize) -> usize {
    WM * bn
}

/// Vectors of one thread among them.
pub const fn vectors(bn: usize) -> usize {
    partial_elements(bn) / VECTOR / WARPGROUP
}

/// The partial sums of all splits of one warpgroup's rows of a stream-K tile.
#[derive(Clone, Copy)]
pub struct PartialSums {
    /// The partial sums of all tiles.
    start: *mut f32,
    /// One split of the tile.
    split: Split,
    /// The warpgroup, and the number of consumer warpgroups of a block.
    warpgroup: [usize; 2],
    /// Columns of a tile.
    bn: usize,
}

impl PartialSums {
    /// The partial sums of the tile that `split` belongs to. `warpgroup` is the index of a consumer
    /// warpgroup and the number of those; tiles have `bn` columns.
    #[inline(always)]
    pub fn new(
        workspace: *mut f32,
        scheduler: &TileSchedulerParams,
        split: Split,
        warpgroup: [usize; 2],
        bn: usize,
    ) -> Self {
        PartialSums {
            start: workspace.wrapping_add(scheduler.partial_sums_offset as usize),
            split,
            warpgroup,
            bn,
        }
    }

    /// The first partial sum of split `index`.
    #[inline(always)]
    fn of_split(&self, index: u32) -> *mut f32 {
        let [warpgroup, consumers] = self.warpgroup;
        let partial = self.split.in_workspace(index) as usize * consumers + warpgroup;
        self.start.wrapping_add(partial * partial_elements(self.bn))
    }

    /// This thread's vector `vector` of split `index`.
    #[inline(always)]
    pub fn vector(&self, index: u32, vector: usize) -> *mut f32 {
        let thread = thread::thread_idx_x() as usize % WARPGROUP;
        self.of_split(index)
            .wrapping_add((vector * WARPGROUP + thread) * VECTOR)
    }

    /// Stores a warpgroup's accumulators as the partial sums of this split.
    ///
    /// # Safety
    /// All 128 threads of the warpgroup execute it. The workspace is aligned to 16 bytes and has
    /// the elements of all splits. No other warpgroup stores these.
    #[inline(always)]
    pub unsafe fn store<S: Accumulator>(&self, accumulators: &S) {
        for vector in 0..vectors(S::COLUMNS) {
            let four = core::array::from_fn(|i| accumulators.get(VECTOR * vector + i));
            // SAFETY: the contract says that the workspace has this split's elements and is
            // aligned. A vector is 16 bytes, and belongs to this thread alone.
            unsafe { F32x4::store(self.vector(self.split.index, vector), four) };
        }
    }

    /// Replaces this split's accumulators by the sums over all splits. They are added in the order
    /// of the splits, so the result does not depend on the block that does it.
    ///
    /// # Safety
    /// [`store`](Self::store) has stored the partial sums of all splits, and they are visible to
    /// this thread.
    #[inline(always)]
    pub unsafe fn reduce<S: Accumulator>(&self, accumulators: &mut S) {
        let registers = S::COLUMNS / 2;
        let vectors = live_vectors(registers);
        for group in 0..registers / (vectors * VECTOR) {
            let first = group * vectors;
            let mut reduced = [[0.0; VECTOR]; MAX_LIVE / VECTOR];
            let mut index = 0;
            while index < self.split.count {
                let mut loaded = [[0.0; VECTOR]; MAX_LIVE / VECTOR];
                for vector in 0..vectors {
                    loaded[vector] = if index == self.split.index && keeps_own(S::COLUMNS) {
                        core::array::from_fn(|i| accumulators.get((first + vector) * VECTOR + i))
                    } else {
                        // SAFETY: the contract says that split `index` is stored and visible. The
                        // vector is one of those that `store` wrote.
                        unsafe { F32x4::load(self.vector(index, first + vector)) }
                    };
                }
                for vector in 0..vectors {
                    for i in 0..VECTOR {
                        reduced[vector][i] += loaded[vector][i];
                    }
                }
                index += 1;
            }
            for vector in 0..vectors {
                for i in 0..VECTOR {
                    accumulators.set((first + vector) * VECTOR + i, reduced[vector][i]);
                }
            }
        }
    }
}
