//! `wolfe_k5`: 16 × 16 tiles, column-major.
//!
//! # Idea
//! What a cache-minded programmer would do: tiles of A and B in shared memory, as in `tiled_16`.
//! Each thread keeps one element of C in a register. It is not the fastest of its series: every
//! multiply-add needs two loads from shared memory, where K4 with J = 4 needs one and a quarter of
//! a global one.
//!
//! # Thread mapping
//! A block of 16 × 16 threads; x → i (row, stride 1 in column-major matrices), y → j.
//!
//! # Preconditions
//! m, n and k are multiples of 16.
//!
//! # What changed since the rung before
//! Against `wolfe_k4`: both operands are tiled, and a thread has one output again.
//!
//! # Source
//! 004: 164 GFLOP/s.

use crate::geometry::{Along, Geometry};
use crate::history::Pitched;
use cuda_std::prelude::*;

/// Width and height of the tile.
pub const TILE: usize = 16;

/// 256 threads and 2 × 1,024 bytes of shared memory for 16 × 16 elements of C.
pub const GEOMETRY: Geometry = Geometry::Tiles {
    block: [TILE as u32, TILE as u32, 1],
    tile: [TILE as u32, TILE as u32],
    grid_x: Along::Rows,
};

// ANCHOR: body
#[inline(always)]
unsafe fn body(a: &[f32], b: &[f32], c: *mut f32, size: Pitched) {
    // Column-major like the matrices: element (i, k) of the tile of A is at i + 16 k.
    let tile_a = shared_array![f32; TILE * TILE];
    let tile_b = shared_array![f32; TILE * TILE];
    let (ti, tj) = (
        thread::thread_idx_x() as usize,
        thread::thread_idx_y() as usize,
    );
    let i = thread::block_idx_x() as usize * TILE + ti;
    let j = thread::block_idx_y() as usize * TILE + tj;

    let mut sum = 0.0f32;
    for tile in 0..size.k / TILE {
        let start = tile * TILE;
        // SAFETY: the tiles lie inside of the matrices because the sizes are multiples of TILE.
        // Each thread writes its own element of the tiles and reads those of others between the two
        // barriers only.
        unsafe {
            *tile_a.add(ti + TILE * tj) = *a.get_unchecked(i + size.lda * (start + tj));
            *tile_b.add(ti + TILE * tj) = *b.get_unchecked(start + ti + size.ldb * j);
            thread::sync_threads();
            for k in 0..TILE {
                sum = (*tile_a.add(ti + TILE * k)).mul_add(*tile_b.add(k + TILE * tj), sum);
            }
            thread::sync_threads();
        }
    }
    // SAFETY: i < m and j < n by the multiples and the grid. No other thread writes this element.
    unsafe { *c.add(i + size.ldc * j) = sum };
}
// ANCHOR_END: body

column_major_kernels! {
    /// 16 × 16 tiles, column-major.
    wolfe_k5, (max_threads = (TILE * TILE) as u32, min_blocks = 1) => body;
}
