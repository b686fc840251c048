//! `outputs_1`, `outputs_2`, `outputs_4`, `outputs_8`: several outputs per thread.
//!
//! # Idea
//! With one output per thread the inner loop of `tiled_32` loads two words from shared memory for
//! every multiply-add. A thread that owns R elements of one column uses each element of B's tile R
//! times: R + 1 loads for R multiply-adds, 2 per FMA with R = 1 and 9/8 with R = 8 (words; the
//! compiler merges four neighbours of A's row into one 128-bit load, which makes 5/4 and 3/8
//! instructions of them). The R accumulators are independent of each other, so a thread also hides
//! its own arithmetic latency: fewer threads, more instruction-level parallelism.
//!
//! # Thread mapping
//! A block of 32 × (32 / R) threads for 32 × 32 elements of C; x → column, and thread (x, y) owns
//! the rows y, y + 32/R, y + 2 · 32/R, … of the tile.
//!
//! # Preconditions
//! m, n and k are multiples of 32.
//!
//! # What changed since the rung before
//! `outputs_1` is `tiled_32` in this family's terms. Each further rung halves the threads of a
//! block and doubles the outputs, loads and stores of a thread.
//!
//! # Source
//! 000 ("Incremental improvements to matrix multiply", after Volkov, GTC 2010): 137, 341, 427 and
//! 485 GFLOP/s.

use crate::geometry::Geometry;
use cuda_std::prelude::*;

/// Width and height of the tile.
pub const TILE: usize = 32;

/// Geometry for `outputs` rows per thread: 1,024, 512, 256 or 128 threads and 2 × 4,096 bytes of
/// shared memory.
pub const fn geometry(outputs: usize) -> Geometry {
    Geometry::tiles([TILE, TILE / outputs], [TILE, TILE])
}

// ANCHOR: body
#[inline(always)]
unsafe fn body<T: GpuFloat, const TM: usize>(
    a: &[T],
    b: &[T],
    c: *mut T,
    _m: usize,
    n: usize,
    k: usize,
) {
    const {
        assert!(
            TILE.is_multiple_of(TM),
            "every thread owns the same number of rows"
        )
    };
    // Distance between two rows of one thread: 32, 16, 8 or 4.
    let step = const { TILE / TM };
    let tile_a = shared_array![T; TILE * TILE];
    let tile_b = shared_array![T; TILE * TILE];
    let (tx, ty) = (
        thread::thread_idx_x() as usize,
        thread::thread_idx_y() as usize,
    );
    let top = thread::block_idx_y() as usize * TILE + ty;
    let col = thread::block_idx_x() as usize * TILE + tx;

    let mut accumulators = [T::ZERO; TM];
    for tile in 0..k / TILE {
        let start = tile * TILE;
        // SAFETY: the tiles lie inside of the matrices because all sizes are multiples of TILE.
        // Each thread writes its own elements of the tiles and reads those of others between the
        // two barriers only.
        unsafe {
            for r in 0..TM {
                let y = ty + r * step;
                *tile_a.add(y * TILE + tx) = *a.get_unchecked((top + r * step) * k + start + tx);
                *tile_b.add(y * TILE + tx) = *b.get_unchecked((start + y) * n + col);
            }
            thread::sync_threads();
            for i in 0..TILE {
                let right = *tile_b.add(i * TILE + tx);
                for r in 0..TM {
                    let left = *tile_a.add((ty + r * step) * TILE + i);
                    accumulators[r] = left.mul_add(right, accumulators[r]);
                }
            }
            thread::sync_threads();
        }
    }
    for r in 0..TM {
        // SAFETY: the tile lies inside of C because m and n are multiples of TILE, and no other
        // thread writes these elements.
        unsafe { *c.add((top + r * step) * n + col) = accumulators[r] };
    }
}
// ANCHOR_END: body

// ANCHOR: kernels
row_major_kernels! {
    /// 1 output per thread, 32 × 32 threads.
    outputs_1, f32, (max_threads = 1024, min_blocks = 1) => body::<f32, 1>;
    /// 2 outputs per thread, 32 × 16 threads.
    outputs_2, f32, (max_threads = 512, min_blocks = 1) => body::<f32, 2>;
    /// 4 outputs per thread, 32 × 8 threads.
    outputs_4, f32, (max_threads = 256, min_blocks = 1) => body::<f32, 4>;
    /// 8 outputs per thread, 32 × 4 threads.
    outputs_8, f32, (max_threads = 128, min_blocks = 1) => body::<f32, 8>;
}
// ANCHOR_END: kernels
