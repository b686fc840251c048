//! Where the blocks of one tile fix_up, each with the accumulators of its part of k.
//!
//! # Idea
//! A GPU computes tiles in rounds of as many as it has room for, and the last round is seldom full: 512 tiles on 132
//! multiprocessors take four rounds, of which 3 % is idle. Cutting the tiles of the last round, so that the idle
//! multiprocessors compute a piece of each, takes the idle time away; but then the accumulators of several blocks must come
//! together. Nobody waits for that: each block leaves its accumulators in memory, and the one that does so last adds them all up, in
//! the order of the parts, so that the result is the same whoever comes last.
//!
//! # Source
//! Beyond the sources. Osama et al., "Stream-K: Work-centric Parallel Decomposition for Dense Matrix-Matrix Multiplication
//! on the GPU", 2023, cut the last rounds too; there the blocks of a tile wait for each other.

use crate::gemm::GemmParams;
use crate::gemm::element::{Output, Scalar};
use crate::gemm::epilogue::linear::LinearCombination;
use crate::gemm::scheduler::grid::{StreamKUnit, WorkTile};
use core::sync::atomic::AtomicU32;
use core::sync::atomic::Ordering::{AcqRel, Relaxed};
use cuda_std::hint::rolled;
use cuda_std::prelude::*;

/// Bytes before the partial accumulators that count arrivals, 4 for each tile that is cut. They hold zeros between launches.
pub const COUNTER_BYTES: usize = 1 << 15;

/// The most tiles that are cut.
pub const MAX_STREAM_K_TILES: u32 = (COUNTER_BYTES / size_of::<u32>()) as u32;

/// Elements that a thread adds up side by side.
const VECTOR: usize = 4;

/// Counts this block among the `blocks` that fix_up at `count`: whether it is the last of them. What the others have written before
/// is then visible to all of its threads, and the count is zero again. The whole block calls it, and `memory`, a word of shared
/// memory, is overwritten.
///
/// # Safety
/// `count` is a word of device memory, zero before the launch, and only for these blocks; nobody uses `memory`.
#[inline(always)]
pub unsafe fn is_last_block(count: *mut u32, blocks: u32, memory: *mut u32) -> bool {
    thread::device_fence();
    thread::sync_threads();
    if thread::thread_idx_x() == 0 {
        // SAFETY: the caller ensures both; barriers separate the word from its other uses.
        unsafe {
            let count = AtomicU32::from_ptr(count);
            let before = count.fetch_add(1, AcqRel);
            if before + 1 == blocks {
                // Nobody else comes: the count is ready for the next launch.
                count.store(0, Relaxed);
            }
            *memory = before;
        }
    }
    thread::sync_threads();
    // SAFETY: written before the barrier.
    let last = unsafe { *memory } + 1 == blocks;
    thread::device_fence();
    last
}

/// Where the block, of `THREADS` threads, has left the accumulators of a unit of a tile of `ROWS` × `COLUMNS` in memory: counts it in and,
/// as the last of its tile, computes the tile from the accumulators of all. The whole block calls it, and a word of `memory`, which is
/// shared memory, is overwritten. As the last one, a thread loads `AHEAD` times 4 elements of a part before it adds the first.
///
/// # Safety
/// The block's accumulators are where [`LinearCombination`] said. Before `partials` lie [`COUNTER_BYTES`], zero before the launch;
/// `c` is the matrix that `gemm` describes.
#[inline(always)]
pub unsafe fn fix_up<
    C: Output<Wide: Scalar>,
    const ROWS: usize,
    const COLUMNS: usize,
    const THREADS: usize,
    const AHEAD: usize,
>(
    gemm: &GemmParams<C::Wide>,
    work: &WorkTile,
    c: *mut C,
    partials: *mut C::Wide,
    memory: *mut u32,
) {
    const { assert!((ROWS * COLUMNS).is_multiple_of(AHEAD * VECTOR * THREADS)) };
    let Some(unit) = StreamKUnit::of_this_block(gemm) else {
        return;
    };
    let t = thread::thread_idx_x() as usize;
    let counts = partials.wrapping_byte_sub(COUNTER_BYTES).cast::<u32>();
    // SAFETY: the caller ensures the counts, and `memory`.
    if !unsafe { is_last_block(counts.add(unit.tile as usize), gemm.stream_k_splits, memory) } {
        return;
    }
    let first = StreamKUnit { part: 0, ..unit }.place(gemm, partials, ROWS * COLUMNS);
    let epilogue = LinearCombination::of_c(gemm, 0, c);
    let step = THREADS * VECTOR;
    let mut place = t * VECTOR;
    while place < ROWS * COLUMNS {
        let mut accumulators = [[C::Wide::ZERO; VECTOR]; AHEAD];
        let mut part = 0;
        while part < gemm.stream_k_splits as usize {
            let mut others = [[C::Wide::ZERO; VECTOR]; AHEAD];
            for (ahead, others) in others.iter_mut().enumerate() {
                // SAFETY: all parts have been left, tiles are of whole steps, and places are multiples of 16 bytes.
                *others = unsafe {
                    C::Wide::load_4(first.add(part * ROWS * COLUMNS + place + ahead * step))
                };
            }
            for ahead in 0..AHEAD {
                for q in 0..VECTOR {
                    accumulators[ahead][q] += others[ahead][q];
                }
            }
            part = rolled(part + 1);
        }
        for (ahead, accumulators) in accumulators.iter().enumerate() {
            let place = place + ahead * step;
            let row = work.row as usize + place / COLUMNS;
            let column = work.column as usize + place % COLUMNS;
            for q in 0..VECTOR {
                // SAFETY: no other thread owns the element.
                unsafe { epilogue.store(row, column + q, accumulators[q]) };
            }
        }
        place = rolled(place + AHEAD * step);
    }
}
