//! `transpose_fast`, `transpose_fast_f64`, `transpose_fast_f16`: any size, as fast as memory.
//!
//! # Idea
//! `transpose_padded` has no fault left in its accesses, but too few of them: a thread has one load in flight, and a
//! block of 1,024 threads with a barrier in the middle drains as one. Here a thread issues several independent loads
//! before the barrier, and more and smaller blocks share a multiprocessor, so some load while others store. Rows of 64
//! elements are read and written as whole 256-byte runs, so little of a sector is wasted even where rows start anywhere.
//! Blocks that run at the same time lie below each other: they write neighbouring parts of the same rows.
//!
//! # Thread mapping
//! T × 8 threads for a tile of T × T elements, T = 64 (32 for `f64`, whose rows are as long in bytes); thread (x, y)
//! loads column x of the rows y, y + 8, … of the input tile and stores column x of the rows y, y + 8, … of the output
//! tile. The grid's x runs down the rows. The shared tile has one element of padding in each row: no bank conflicts (for
//! 2-byte elements two, so that rows are 33 words apart).
//!
//! # Preconditions
//! None: tests at the edges of the matrix.
//!
//! # What changed since the rung before
//! Against `transpose_padded`: 8 elements per thread instead of one (4 in `f64`), half the threads, four times the tile,
//! the order of the blocks, and tests for the edges.
//!
//! # Source
//! Beyond source 003.

use super::Size;
use crate::geometry::Geometry;
use cuda_std::hint::opaque;
use cuda_std::prelude::*;

/// Rows of threads of a block.
const ROWS: usize = 8;

/// Width and height of the tile for elements of up to 4 bytes, and for those of 8.
const TILE: usize = 64;
const TILE_F64: usize = 32;

/// Most elements of a thread.
const MOST_ELEMENTS: usize = TILE / ROWS;

/// 64 × 8 threads for 64 × 64 elements of the input.
pub const GEOMETRY: Geometry = Geometry::tiles([TILE, ROWS], [TILE, TILE]).along_rows();

/// 32 × 8 threads for 32 × 32 elements of the input.
pub const GEOMETRY_F64: Geometry =
    Geometry::tiles([TILE_F64, ROWS], [TILE_F64, TILE_F64]).along_rows();

#[inline(always)]
unsafe fn body<T: Copy + Default, const TILE: usize, const PITCH: usize>(
    input: &[T],
    output: *mut T,
    size: Size,
) {
    const { assert!(PITCH > TILE && TILE.is_multiple_of(ROWS)) };
    let tile = shared_array![T; TILE * PITCH];
    let (tx, ty) = (
        thread::thread_idx_x() as usize,
        thread::thread_idx_y() as usize,
    );
    let (left, top) = (
        thread::block_idx_y() as usize * TILE,
        thread::block_idx_x() as usize * TILE,
    );
    for _ in 0..size.repetitions {
        let from = opaque((top + ty) * size.width + left + tx);
        let to = opaque((left + ty) * size.height + top + tx);
        let mut elements = [T::default(); MOST_ELEMENTS];
        for i in 0..TILE / ROWS {
            if left + tx < size.width && top + ty + i * ROWS < size.height {
                // SAFETY: inside of the input by the test.
                elements[i] = unsafe { *input.get_unchecked(from + i * ROWS * size.width) };
            }
        }
        for i in 0..TILE / ROWS {
            // SAFETY: inside of the tile; read by others after the barrier only.
            unsafe { *tile.add((ty + i * ROWS) * PITCH + tx) = elements[i] };
        }
        thread::sync_threads();
        for i in 0..TILE / ROWS {
            if top + tx < size.height && left + ty + i * ROWS < size.width {
                // SAFETY: inside of the tile and, by the test, of the output.
                unsafe {
                    *output.add(to + i * ROWS * size.height) =
                        *tile.add(tx * PITCH + ty + i * ROWS);
                }
            }
        }
        thread::sync_threads();
    }
}

transpose_kernels! {
    /// Transposes `f32` of any size.
    transpose_fast, f32, max_threads TILE * ROWS => body::<f32, TILE, { TILE + 1 }>;
    /// Transposes `f64` of any size.
    transpose_fast_f64, f64, max_threads TILE_F64 * ROWS => body::<f64, TILE_F64, { TILE_F64 + 1 }>;
    /// Transposes elements of 2 bytes of any size; nothing is computed, so their bits pass as integers.
    transpose_fast_f16, u16, max_threads TILE * ROWS => body::<u16, TILE, { TILE + 2 }>;
}
