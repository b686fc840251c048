//! `wgmma_bf16_single`: one warpgroup, fed by bulk copies.
//!
//! # Idea
//! `mma_bf16` keeps its warps busy with copies, addresses and fragments. Here one instruction multiplies 64 × 16 by 16 × 256
//! elements straight out of shared memory, and one instruction of one thread brings a whole tile there. What is left of the
//! loop is waiting.
//!
//! Four stages are on their way at a time. A barrier in shared memory for each counts the bytes that have come.
//!
//! # Thread mapping
//! A block is one warpgroup, four warps, for 64 × 256 elements of C: 128 sums for each thread.
//!
//! # Preconditions
//! Rows start at multiples of 16 bytes: k and n are multiples of 8. m is any number. What lies outside of the matrices is
//! copied as zeros.
//!
//! # What changed since the rung before
//! Against `mma_bf16`: no fragments of A and B in registers, no addresses to compute, three times the tile.
//!
//! # Source
//! Beyond the sources. PTX ISA, "wgmma.mma_async", "cp.async.bulk.tensor".

use crate::geometry::Geometry;
use crate::hopper::store;
use crate::hopper::tiles::{self, Maps, Operands, Place, ROWS, WARPGROUP};
use cuda_std::mbarrier::Barrier;
use cuda_std::mma::Bf16;
use cuda_std::prelude::*;
use cuda_std::tma;
use cuda_std::wgmma::{Accumulator, Input, K_MAJOR, MN_MAJOR};

/// The sums of a thread.
type Accumulators = [f32; 128];

/// Columns of C that a block owns.
const COLUMNS: usize = Accumulators::COLUMNS;

/// Bytes of a stage.
const STAGE_BYTES: usize = tiles::stage_bytes(1, COLUMNS);

/// Stages: one in use, the others on their way.
const STAGES: usize = 4;

/// 128 threads for 64 × 256 elements of C.
pub const GEOMETRY: Geometry = Geometry::tiles([WARPGROUP, 1], [COLUMNS, ROWS]);

/// Elements along k of a stage.
const DEPTH: usize = tiles::depth(Bf16::BYTES);

/// Rows of a box of A.
pub const A_ROWS: usize = ROWS;

/// Dynamic shared memory: the stages and a barrier for each.
pub const SHARED_BYTES: usize = STAGES * (STAGE_BYTES + 8);

// ANCHOR: kernel
/// Inputs are bfloat16.
///
/// # Safety
/// The maps are those of row-major matrices A of m × k and B of k × n elements, as [`Maps`] says, with boxes of
/// [`A_ROWS`] rows; `c` is a row-major array of m × n elements; grid and block are those of [`GEOMETRY`], with
/// [`SHARED_BYTES`] of dynamic shared memory.
#[cuda_std::kernel(max_threads = 128, min_blocks = 1)]
pub unsafe fn wgmma_bf16_single(maps: *const Maps, c: *mut f32, m: u32, n: u32, k: u32) {
    let stages = tiles::stages();
    let stage = |index: u32| stages.at(index % STAGES as u32 * STAGE_BYTES as u32);
    let full = |index: u32| {
        let place = STAGES * STAGE_BYTES;
        Barrier::new(stages.at(place as u32 + index % STAGES as u32 * Barrier::BYTES))
    };
    let top = thread::block_idx_y() * ROWS as u32;
    let left = thread::block_idx_x() * COLUMNS as u32;
    let place = |step: u32| Place {
        top,
        left,
        fetched: [ROWS, COLUMNS].map(|extent| extent as u32),
        start: tiles::start(k, DEPTH, step),
        matrices: [0; 2],
    };
    let steps = tiles::steps(k, DEPTH);
    let leader = thread::thread_idx_x() == 0;
    let fetch = tiles::fetch::<Bf16, 1, K_MAJOR, MN_MAJOR>;
    let operands = |step: u32| Operands::<K_MAJOR, MN_MAJOR>::new(stage(step), 1, 0);
    // SAFETY: a stage is fetched again after all threads have waited for the products that used it.
    unsafe {
        if leader {
            for index in 0..STAGES as u32 {
                full(index).init(1);
            }
            tma::fence_barrier_init();
        }
        thread::sync_threads();
        if leader {
            for step in 0..steps.min(STAGES as u32) {
                fetch(stage(step), maps, place(step), full(step));
            }
        }
        full(0).try_wait_loop(0);
        let mut sums: Accumulators = operands(0).multiply::<Bf16, _>();
        for step in 1..steps {
            // All are done with the stage before, which is filled again.
            sums.wait_all();
            thread::sync_threads();
            let next = step - 1 + STAGES as u32;
            if leader && next < steps {
                fetch(stage(next), maps, place(next), full(next));
            }
            full(step).try_wait_loop(step / STAGES as u32 % 2);
            operands(step).multiply_add::<Bf16, _>(&mut sums);
        }
        sums.wait_all();
        let size = [m as usize, n as usize];
        store::pairs(&sums, c, size, top as usize, left as usize);
    }
}
// ANCHOR_END: kernel
