//! The fix-up of a stream-K tile by the last of its blocks to arrive.
//!
//! # Idea
//! A GPU computes tiles in waves, and the last wave is seldom full: 512 tiles on 132 SMs take four
//! waves, of which 3 % is idle. Stream-K splits the tiles of the last wave along k, so that the
//! idle SMs compute a work unit of each. The partial sums of several blocks must then be added up.
//! No block waits for that. Each one stores its partial sums to the workspace and counts itself,
//! and the last to arrive adds up all of them. It does so in the order of the units, so the result
//! does not depend on which block that is.
//!
//! # Source
//! Beyond the sources. Osama et al., "Stream-K: Work-centric Parallel Decomposition for Dense
//! Matrix-Matrix Multiplication on the GPU", 2023, split the last waves too; there the blocks of a
//! tile wait for each other.

use crate::gemm::GemmParams;
use crate::gemm::element::{Output, Scalar};
use crate::gemm::epilogue::linear::LinearCombination;
use crate::gemm::reduction::arrival::{Block, is_last};
use crate::gemm::scheduler::grid::{StreamKUnit, WorkTile};
use cuda_std::hint::rolled;
use cuda_std::prelude::*;

/// Bytes of the arrival counters, which lie before the partial sums: 4 for each stream-K tile. They
/// are zero between launches.
pub const COUNTER_BYTES: usize = 1 << 15;

/// The most stream-K tiles: 8,192.
pub const MAX_STREAM_K_TILES: u32 = (COUNTER_BYTES / size_of::<u32>()) as u32;

/// Elements of a vector, which a thread loads at once.
const VECTOR: usize = 4;

/// The fix-up of a stream-K tile of `BM` × `BN`: counts this block, whose `THREADS` threads have
/// stored their partial sums, and if it is the last to arrive, computes the tile of C. A block of a
/// data-parallel tile returns at once. The whole block calls it. It overwrites a word of `memory`,
/// which is shared memory. A thread has `IN_FLIGHT` vectors of a work unit in flight.
///
/// # Safety
/// The block's partial sums are where [`LinearCombination`] stores them. Before `workspace` lie
/// [`COUNTER_BYTES`], zero before the launch. `c` is the matrix that `params` describes.
#[inline(always)]
pub unsafe fn fix_up<
    C: Output<Wide: Scalar>,
    const BM: usize,
    const BN: usize,
    const THREADS: usize,
    const IN_FLIGHT: usize,
>(
    params: &GemmParams<C::Wide>,
    work: &WorkTile,
    c: *mut C,
    workspace: *mut C::Wide,
    memory: *mut u32,
) {
    const { assert!((BM * BN).is_multiple_of(IN_FLIGHT * VECTOR * THREADS)) };
    let Some(unit) = StreamKUnit::of_this_block(params) else {
        return;
    };
    let t = thread::thread_idx_x() as usize;
    let counters = workspace.wrapping_byte_sub(COUNTER_BYTES).cast::<u32>();
    // SAFETY: the contract says that the counters lie there, one for each stream-K tile, and that
    // `memory` has a word.
    let is_last = unsafe {
        let counter = counters.add(unit.tile as usize);
        is_last(&Block, counter, params.stream_k_splits, memory)
    };
    if !is_last {
        return;
    }
    let first = StreamKUnit { index: 0, ..unit }.partial_sums(params, workspace, BM * BN);
    let epilogue = LinearCombination::of_c(params, 0, c);
    let step = THREADS * VECTOR;
    let mut element = t * VECTOR;
    while element < BM * BN {
        let mut accumulators = [[C::Wide::ZERO; VECTOR]; IN_FLIGHT];
        let mut unit = 0;
        while unit < params.stream_k_splits as usize {
            let mut loaded = [[C::Wide::ZERO; VECTOR]; IN_FLIGHT];
            for (i, loaded) in loaded.iter_mut().enumerate() {
                // SAFETY: the blocks of all units have stored their partial sums. Tiles are of
                // whole steps, and offsets are multiples of 16 bytes.
                *loaded =
                    unsafe { C::Wide::load_4(first.add(unit * BM * BN + element + i * step)) };
            }
            for i in 0..IN_FLIGHT {
                for q in 0..VECTOR {
                    accumulators[i][q] += loaded[i][q];
                }
            }
            unit = rolled(unit + 1);
        }
        for (i, accumulators) in accumulators.iter().enumerate() {
            let element = element + i * step;
            let row = work.row as usize + element / BN;
            let column = work.column as usize + element % BN;
            for q in 0..VECTOR {
                // SAFETY: `c` is the matrix that the epilogue describes; each element of the tile
                // has one thread.
                unsafe { epilogue.store(row, column + q, accumulators[q]) };
            }
        }
        element = rolled(element + IN_FLIGHT * step);
    }
}
