//! `wgmma_bf16_single`: one warpgroup, fed by bulk copies.
//!
//! # Idea
//! `mma_bf16` spends instructions on copies, addresses and fragments. Here one instruction does an
//! MMA of 64 × 16 by 16 × 256 elements with both operands in shared memory, and one instruction of
//! one thread copies a whole tile there. What is left of the loop is waiting.
//!
//! Four stages are in flight at a time. A full barrier in shared memory for each counts the bytes
//! that have arrived.
//!
//! # Thread mapping
//! A block is one warpgroup, four warps, for 64 × 256 elements of C: 128 accumulators for each
//! thread.
//!
//! # Preconditions
//! Rows start at multiples of 16 bytes: k and n are multiples of 8. m is any number. What lies
//! outside of the matrices is copied as zeros.
//!
//! # What changed since the rung before
//! Against `mma_bf16`: no fragments of A and B in registers, and no addresses to compute. The block
//! tile has the same area, 64 × 256 in place of 128 × 128, and is that of one warpgroup.
//!
//! # Source
//! Beyond the sources. PTX ISA, "wgmma.mma_async", "cp.async.bulk.tensor".

use crate::gemm::epilogue::output_elements;
use crate::gemm::wgmma::boxes::Boxes;
use crate::gemm::wgmma::stage::{self, Operands, StageCoord, TensorMaps, WARPGROUP, WM};
use crate::geometry::Geometry;
use cuda_std::mbarrier::Barrier;
use cuda_std::mma::Bf16;
use cuda_std::prelude::*;
use cuda_std::tma;
use cuda_std::wgmma::{Accumulator, Input, K_MAJOR, MN_MAJOR};

/// The accumulators of a thread: 64 × 256 elements of C by 128 threads.
type Accumulators = [f32; 128];

/// Columns of the block tile: 256.
const BN: usize = Accumulators::COLUMNS;

/// Bytes of a stage.
const STAGE_BYTES: usize = stage::stage_bytes(1, BN);

/// Stages: one is used, the others are in flight.
const STAGES: usize = 4;

/// 128 threads for 64 × 256 elements of C.
pub const GEOMETRY: Geometry = Geometry::tiles([WARPGROUP, 1], [BN, WM]);

/// Elements along k of a stage, the k-tile: 64.
const BK: usize = stage::block_k(Bf16::BYTES);

/// Rows of the block tile, which are those of a box of A: 64.
pub const BM: usize = WM;

/// Dynamic shared memory: the stages and a barrier for each.
pub const SHARED_BYTES: usize = STAGES * (STAGE_BYTES + 8);

// ANCHOR: kernel
/// Inputs are bfloat16.
///
/// # Safety
/// The maps are those of row-major matrices A of m × k and B of k × n elements, as [`TensorMaps`]
/// says, with boxes of [`BM`] rows; `c` is a row-major array of m × n elements; grid and block are
/// those of [`GEOMETRY`], with [`SHARED_BYTES`] of dynamic shared memory.
#[cuda_std::kernel(max_threads = 128, min_blocks = 1)]
pub unsafe fn wgmma_bf16_single(maps: *const TensorMaps, c: *mut f32, m: u32, n: u32, k: u32) {
    let stages = stage::stages();
    let stage = |index: u32| stages.at(index % STAGES as u32 * STAGE_BYTES as u32);
    let full = |index: u32| {
        let barriers = STAGES * STAGE_BYTES;
        Barrier::new(stages.at(barriers as u32 + index % STAGES as u32 * Barrier::BYTES))
    };
    let top = thread::block_idx_y() * WM as u32;
    let left = thread::block_idx_x() * BN as u32;
    let at = |k_tile: u32| StageCoord {
        top,
        left,
        boxes: [
            Boxes::whole(WM, Bf16::BYTES, true),
            Boxes::whole(BN, Bf16::BYTES, false),
        ],
        start: stage::k_offset(k, BK, k_tile),
        matrices: [0; 2],
        slices: None,
    };
    let k_tiles = stage::k_tiles(k, BK);
    let leader = thread::thread_idx_x() == 0;
    let load = stage::load::<Bf16, 1, K_MAJOR, MN_MAJOR>;
    let operands = |k_tile: u32| Operands::<K_MAJOR, MN_MAJOR>::new(stage(k_tile), 1, 0);
    // SAFETY: a stage is copied to again only after all threads have waited for the MMAs that read
    // it.
    unsafe {
        if leader {
            for index in 0..STAGES as u32 {
                full(index).init(1);
            }
            tma::fence_barrier_init();
        }
        thread::sync_threads();
        if leader {
            for k_tile in 0..k_tiles.min(STAGES as u32) {
                load(stage(k_tile), maps, at(k_tile), full(k_tile));
            }
        }
        full(0).try_wait_loop(0);
        let mut accumulators: Accumulators = operands(0).mma::<Bf16, _>();
        for k_tile in 1..k_tiles {
            // All MMAs that read the stage before are complete: it is copied to again.
            accumulators.wait_all();
            thread::sync_threads();
            let next = k_tile - 1 + STAGES as u32;
            if leader && next < k_tiles {
                load(stage(next), maps, at(next), full(next));
            }
            full(k_tile).try_wait_loop(k_tile / STAGES as u32 % 2);
            operands(k_tile).mma_add::<Bf16, _>(&mut accumulators);
        }
        accumulators.wait_all();
        let size = [m as usize, n as usize];
        output_elements::store_vec2s(&accumulators, c, size, top as usize, left as usize);
    }
}
// ANCHOR_END: kernel
