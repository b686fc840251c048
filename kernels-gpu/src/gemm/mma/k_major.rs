//! `k_major_8`: operands of 8-bit elements, copied to be K-major.
//!
//! # Idea
//! `ldmatrix` makes fragments of 8-bit elements from K-major tiles alone, so the
//! [kernels](super::integer) load other operands element by element. Where a product is large, a
//! transposed copy of the operand takes much less time than that.
//!
//! # Thread mapping
//! Blocks of 256 threads, for tiles of 128 rows, along k, and 64 columns. A thread loads the
//! elements of one column and packs four of neighbouring k into a word. The words go through shared
//! memory, so that a warp stores the 128 bytes of one column together. y strides over the rows by
//! the grid; z counts the matrices of a batch.
//!
//! # Preconditions
//! None.
//!
//! # What changed since the rung before
//! Against [`pack`](crate::gemm::wgmma::pack): words instead of elements, and no instructions that
//! only compute capability 9.0 has.
//!
//! # Source
//! Beyond the sources.

use cuda_std::prelude::*;
use cuda_std::shared_array;

/// Threads of a block.
pub const THREADS: usize = 256;

/// Elements of a word.
const PER_WORD: usize = 4;

/// Words of a column of a tile: one for each lane of the warp that stores it.
const WORDS: usize = 32;

/// Rows of a tile, along k.
pub const TILE_K: usize = WORDS * PER_WORD;

/// Columns of a tile.
pub const TILE_MN: usize = 64;

/// Distance of two columns of a tile, in words: one more than a column has, so that the words of a
/// row lie in different banks.
const PITCH: usize = WORDS + 1;

/// Threads along the rows of a tile.
const THREADS_Y: usize = THREADS / TILE_MN;

/// Words that a thread packs.
const PER_THREAD: usize = WORDS / THREADS_Y;

/// Warps of a block.
const WARPS: usize = THREADS / 32;

/// Copies a matrix of `rows` × `columns` bytes, transposed. Behind `rows` bytes the rows of the
/// copy are zero. Distances are in elements: of two rows of the source and of the copy, and of two
/// matrices of each.
///
/// # Safety
/// `from` and `to` are device arrays that do not overlap, with the matrices that the extents and
/// distances say. `to`, and its rows and matrices, begin at multiples of 16 bytes. The grid has a
/// block for each [`TILE_MN`] columns in x, any number in y, and the number of matrices in z.
/// Blocks have [`THREADS`] threads.
#[cuda_std::kernel(max_threads = THREADS as u32, min_blocks = 2)]
pub unsafe fn k_major_8(
    from: *const u8,
    to: *mut u8,
    rows: u32,
    columns: u32,
    from_pitch: u32,
    to_pitch: u32,
    from_stride: u64,
    to_stride: u64,
) {
    let tile = shared_array![u32; TILE_MN * PITCH];
    let thread = thread::thread_idx_x() as usize;
    let (x, y) = (thread % TILE_MN, thread / TILE_MN);
    let (warp, lane) = (thread / 32, thread % 32);
    let [rows, columns] = [rows, columns].map(|extent| extent as usize);
    let [from_pitch, to_pitch] = [from_pitch, to_pitch].map(|pitch| pitch as usize);
    let matrix = thread::block_idx_z() as usize;
    let from = from.wrapping_add(matrix * from_stride as usize);
    let to = to.wrapping_add(matrix * to_stride as usize);
    let left = thread::block_idx_x() as usize * TILE_MN;
    let mut top = thread::block_idx_y() as usize * TILE_K;
    while top < rows {
        let mut words = [0; PER_THREAD];
        for i in 0..PER_THREAD {
            for byte in 0..PER_WORD {
                let row = top + (y + THREADS_Y * i) * PER_WORD + byte;
                if row < rows && left + x < columns {
                    // SAFETY: the test says that row and column are inside of the source.
                    let element = unsafe { *from.wrapping_add(row * from_pitch + left + x) };
                    words[i] |= u32::from(element) << (8 * byte);
                }
            }
        }
        for i in 0..PER_THREAD {
            // SAFETY: x is less than TILE_MN, and y + THREADS_Y · i less than WORDS, so the word is
            // inside of the tile. It is this thread's own.
            unsafe { *tile.wrapping_add(x * PITCH + y + THREADS_Y * i) = words[i] };
        }
        thread::sync_threads();
        for i in 0..TILE_MN / WARPS {
            let column = warp + WARPS * i;
            let row = top + lane * PER_WORD;
            if left + column < columns && row < to_pitch {
                // SAFETY: the word of the tile was written before the barrier. The test says that
                // it is inside of the copy, whose rows are of whole words. Only this thread
                // writes it.
                unsafe {
                    let word = *tile.wrapping_add(column * PITCH + lane);
                    let to = to.wrapping_add((left + column) * to_pitch + row);
                    *to.cast::<u32>() = word;
                }
            }
        }
        thread::sync_threads();
        top += thread::grid_dim_y() as usize * TILE_K;
    }
}
