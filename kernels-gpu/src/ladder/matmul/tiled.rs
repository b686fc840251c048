//! `tiled_16`, `tiled_32`: tiles of A and B in shared memory.
//!
//! # Idea
//! A block computes a T × T tile of C and walks along k in k-tiles of T. For each its threads
//! load one tile of A and one of B into shared memory, one element of each per thread, and every
//! element is then used T times from there. Global traffic falls by the factor T: 150 GB/s would
//! carry 600 GFLOP/s with T = 16 and 1,200 with T = 32.
//!
//! # Thread mapping
//! x → column, y → row, a block of T × T threads, one output each. Loads of both tiles are
//! coalesced: lanes run along x. In the inner loop the lanes of a warp read one element of the A
//! tile (two with T = 16: a broadcast each) and neighbouring elements of the B tile: no bank
//! conflicts. The elements of A's row are neighbours as well, along k, so the compiler loads four
//! of them with one 128-bit load.
//!
//! # Preconditions
//! m, n and k are multiples of T. Without tests in the loop the code is as short as the lesson.
//!
//! # What changed since the rung before
//! Against `naive`: the loop over k is cut into tiles, loads go through shared memory, and two
//! barriers keep the threads of a block together: tile complete before it is read, read before it
//! is overwritten.
//!
//! # Source
//! 001 ("Tiled Multiply") and 000 ("Tiled Code"): 259 GFLOP/s in f64, about 2x `naive`.

use crate::geometry::Geometry;
use cuda_std::prelude::*;

/// Geometry of `tiled_16`: 256 threads, 2 × 16 × 16 × 4 = 2,048 bytes of shared memory (4,096 in
/// f64).
pub const GEOMETRY_16: Geometry = Geometry::square(16);

/// Geometry of `tiled_32`: 1,024 threads, 2 × 32 × 32 × 4 = 8,192 bytes of shared memory (16,384 in
/// f64).
pub const GEOMETRY_32: Geometry = Geometry::square(32);

// ANCHOR: body
#[inline(always)]
unsafe fn body<T: GpuFloat, const TILE: usize>(
    a: &[T],
    b: &[T],
    c: *mut T,
    _m: usize,
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
    for tile in 0..k / TILE {
        let start = tile * TILE;
        // SAFETY: row < m and col < n because both are multiples of TILE; start + TILE <= k. Each
        // thread writes its own element of the tiles and reads those of others between the two
        // barriers only.
        unsafe {
            *tile_a.add(ty * TILE + tx) = *a.get_unchecked(row * k + start + tx);
            *tile_b.add(ty * TILE + tx) = *b.get_unchecked((start + ty) * n + col);
            thread::sync_threads();
            for i in 0..TILE {
                sum = (*tile_a.add(ty * TILE + i)).mul_add(*tile_b.add(i * TILE + tx), sum);
            }
            thread::sync_threads();
        }
    }
    // SAFETY: row < m and col < n, since both are multiples of TILE. No other thread writes this
    // element.
    unsafe { *c.add(row * n + col) = sum };
}
// ANCHOR_END: body

// ANCHOR: kernels
row_major_kernels! {
    /// Tiles of 16 × 16.
    tiled_16, f32, (max_threads = 256, min_blocks = 1) => body::<f32, 16>;
    /// Tiles of 32 × 32.
    tiled_32, f32, (max_threads = 1024, min_blocks = 1) => body::<f32, 32>;
    /// [`tiled_16`] in double precision.
    tiled_16_f64, f64, (max_threads = 256, min_blocks = 1) => body::<f64, 16>;
    /// [`tiled_32`] in double precision.
    tiled_32_f64, f64, (max_threads = 1024, min_blocks = 1) => body::<f64, 32>;
}
// ANCHOR_END: kernels
