//! Parts of accumulators on their way through the workspace.

use crate::gemm::scheduler::persistent::{Split, TileSchedulerParams};
use crate::gemm::wgmma::stage::{WARPGROUP, WM};
use cuda_std::prelude::*;
use cuda_std::vector::{F32x4, Vector};
use cuda_std::wgmma::Accumulator;

/// OutputElements of a vector of partial accumulators.
pub const VECTOR: usize = 4;

/// Most partial accumulators that a thread has in hand at a time.
const MAX_LIVE: usize = 64;

/// Vectors of them: all that a thread has of a narrow tile, and of a wide one as many as there are registers for beside the accumulators.
const fn live_vectors(registers: usize) -> usize {
    match registers {
        0..=MAX_LIVE => registers / VECTOR,
        96 => 48 / VECTOR,
        _ => 32 / VECTOR,
    }
}

/// Whether the accumulators of a tile of so many columns stay in registers while those of the other parts are added to them: those of
/// wide tiles leave too few for that, and are read again like the others.
const fn stay(columns: usize) -> bool {
    columns < 192
}

/// OutputElements that a warpgroup's part takes in the workspace, for tiles of so many columns.
pub const fn partial_elements(columns: usize) -> usize {
    WM * columns
}

/// Vectors that a thread has of it.
pub const fn vectors(columns: usize) -> usize {
    partial_elements(columns) / VECTOR / WARPGROUP
}

/// The parts of what one warpgroup has of a shared tile.
#[derive(Clone, Copy)]
pub struct Partials {
    /// Where those of all tiles begin.
    start: *mut f32,
    /// One of the parts.
    part: Split,
    /// Which of how many consumers.
    warpgroup: [usize; 2],
    /// Columns of a tile.
    columns: usize,
}

impl Partials {
    /// Those beside `part`, itself among them, of a warpgroup, which is one of how many, in tiles of so many columns.
    #[inline(always)]
    pub fn new(
        workspace: *mut f32,
        scheduler: &TileSchedulerParams,
        part: Split,
        warpgroup: [usize; 2],
        columns: usize,
    ) -> Self {
        Partials {
            start: workspace.wrapping_add(scheduler.partials_offset as usize),
            part,
            warpgroup,
            columns,
        }
    }

    /// Where one of them lies.
    #[inline(always)]
    fn place(&self, index: u32) -> *mut f32 {
        let [warpgroup, consumers] = self.warpgroup;
        let number = self.part.number(index) as usize * consumers + warpgroup;
        self.start
            .wrapping_add(number * partial_elements(self.columns))
    }

    /// This thread's vector in one of them.
    #[inline(always)]
    pub fn vector(&self, index: u32, vector: usize) -> *mut f32 {
        let thread = thread::thread_idx_x() as usize % WARPGROUP;
        self.place(index)
            .wrapping_add((vector * WARPGROUP + thread) * VECTOR)
    }

    /// Stores a warpgroup's accumulators, which are the part, as they lie in registers: vector by vector, those of the threads one behind the other.
    ///
    /// # Safety
    /// The workspace has room for the parts and is aligned to 16 bytes; nobody else stores this one.
    #[inline(always)]
    pub unsafe fn store<S: Accumulator>(&self, accumulators: &S) {
        for vector in 0..vectors(S::COLUMNS) {
            let four = core::array::from_fn(|i| accumulators.get(VECTOR * vector + i));
            // SAFETY: the caller ensures it.
            unsafe { F32x4::store(self.vector(self.part.index, vector), four) };
        }
    }

    /// Replaces the accumulators, which are the part, by those of all parts, added up in their order: whoever does it, the result is the same.
    ///
    /// # Safety
    /// [`keep`](Self::keep) has stored all of them, and this thread sees them.
    #[inline(always)]
    pub unsafe fn reduce<S: Accumulator>(&self, accumulators: &mut S) {
        let registers = S::COLUMNS / 2;
        let vectors = live_vectors(registers);
        for group in 0..registers / (vectors * VECTOR) {
            let first = group * vectors;
            let mut total = [[0.0; VECTOR]; MAX_LIVE / VECTOR];
            let mut index = 0;
            while index < self.part.count {
                let mut more = [[0.0; VECTOR]; MAX_LIVE / VECTOR];
                for vector in 0..vectors {
                    more[vector] = if index == self.part.index && stay(S::COLUMNS) {
                        core::array::from_fn(|i| accumulators.get((first + vector) * VECTOR + i))
                    } else {
                        // SAFETY: the caller ensures it.
                        unsafe { F32x4::load(self.vector(index, first + vector)) }
                    };
                }
                for vector in 0..vectors {
                    for i in 0..VECTOR {
                        total[vector][i] += more[vector][i];
                    }
                }
                index += 1;
            }
            for vector in 0..vectors {
                for i in 0..VECTOR {
                    accumulators.set((first + vector) * VECTOR + i, total[vector][i]);
                }
            }
        }
    }
}
