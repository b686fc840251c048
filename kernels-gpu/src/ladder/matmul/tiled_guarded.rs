//! `tiled_guarded_16`, `tiled_guarded_32`: shared-memory tiles for any size.
//!
//! # Idea
//! Tiles at the edge reach past the matrices. What lies outside is filled with zeros, which add
//! nothing, so the inner loop needs no test. A thread outside of C still loads its part of the
//! tiles and still reaches every barrier; only its store is left out.
//!
//! # Thread mapping
//! As in `tiled`: x → column, y → row, a block of T × T threads, one output each.
//!
//! # Preconditions
//! None.
//!
//! # What changed since the rung before
//! Against `tiled`: three tests, two at the loads and one at the store; the number of tiles is
//! rounded up.
//!
//! # Source
//! 001 (boundary conditions of the tiled kernel). 004: such tests cost about 5 %.

use crate::geometry::Geometry;
use cuda_std::prelude::*;

/// Geometry of `tiled_guarded_16`: 256 threads, 2,048 bytes of shared memory.
pub const GEOMETRY_16: Geometry = Geometry::square(16);

/// Geometry of `tiled_guarded_32`: 1,024 threads, 8,192 bytes of shared memory.
pub const GEOMETRY_32: Geometry = Geometry::square(32);

// ANCHOR: body
#[inline(always)]
unsafe fn body<T: GpuFloat, const TILE: usize>(
    a: &[T],
    b: &[T],
    c: *mut T,
    m: usize,
    n: usize,
    k: usize,
) {
    const { assert!(TILE * TILE <= 1024, "one thread per element of the tile") };
    let tile_a = shared_array![T; TILE * TILE];
    let tile_b = shared_array![T; TILE * TILE];
    let (tx, ty) = (
        thread::thread_idx_x() as usize,
        thread::thread_idx_y() as usize,
    );
    let row = thread::block_idx_y() as usize * TILE + ty;
    let col = thread::block_idx_x() as usize * TILE + tx;

    let mut sum = T::ZERO;
    for tile in 0..k.div_ceil(TILE) {
        let start = tile * TILE;
        // SAFETY: each load is inside of its matrix by the test before it. Each thread writes its
        // own element of the tiles and reads those of others between the two barriers only.
        unsafe {
            *tile_a.add(ty * TILE + tx) = if row < m && start + tx < k {
                *a.get_unchecked(row * k + start + tx)
            } else {
                T::ZERO
            };
            *tile_b.add(ty * TILE + tx) = if start + ty < k && col < n {
                *b.get_unchecked((start + ty) * n + col)
            } else {
                T::ZERO
            };
            thread::sync_threads();
            for i in 0..TILE {
                sum = (*tile_a.add(ty * TILE + i)).mul_add(*tile_b.add(i * TILE + tx), sum);
            }
            thread::sync_threads();
        }
    }
    if row < m && col < n {
        // SAFETY: inside of C, and no other thread writes this element.
        unsafe { *c.add(row * n + col) = sum };
    }
}
// ANCHOR_END: body

row_major_kernels! {
    /// Tiles of 16 × 16, any size.
    tiled_guarded_16, f32, (max_threads = 256, min_blocks = 1) => body::<f32, 16>;
    /// Tiles of 32 × 32, any size.
    tiled_guarded_32, f32, (max_threads = 1024, min_blocks = 1) => body::<f32, 32>;
}
