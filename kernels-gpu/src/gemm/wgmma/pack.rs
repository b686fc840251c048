//! `pack_8`, `pack_16`, `pack_32`, `pack_transposed_8`, `pack_transposed_16`, `pack_transposed_32`,
//! and, of both operands, `pack_both_8`, `pack_both_16`, `pack_both_32`: operands copied into a
//! layout that TMA and `wgmma` take.
//!
//! # Idea
//! A tensor map needs rows that begin at multiples of 16 bytes, and `wgmma` needs K-major operands
//! of TF32 and of 8 bits. Other operands are copied into the workspace first, with rows of
//! multiples of 16 bytes. So are MN-major operands with few rows or columns. TMA takes as long for
//! columns of a box outside of a matrix as for others, and of a K-major operand only the rows that
//! exist need be loaded. Where both operands are copied, one launch does it: a second one takes
//! longer than most copies. [`pack_rows`](crate::gemm::pack_rows) has the copy itself.
//!
//! # Thread mapping
//! Blocks of 256 threads. A thread of a copy stores four vectors of 16 bytes, for each of which it
//! loads the one or two aligned vectors of the source that the elements lie in. A transpose goes
//! through tiles of 64 × 64 in shared memory, 16 elements a thread. z counts the matrices of a
//! batch; y of a transpose strides over the rows by the grid.
//!
//! # Preconditions
//! None.
//!
//! # What changed since the rung before
//! It is the first half of a GEMM whose operands have other layouts.
//!
//! # Source
//! Beyond the sources.

use crate::gemm::pack_rows::copy;
pub use crate::gemm::pack_rows::{Pack, PackBoth, THREADS, copy_blocks};
use cuda_std::griddepcontrol;
use cuda_std::prelude::*;
use cuda_std::shared_array;

/// Rows and columns of a tile that a block transposes.
pub const TILE: usize = 64;

/// Threads of a block along the columns of a tile, and elements of a thread.
const THREADS_Y: usize = THREADS / TILE;
const PER_THREAD: usize = TILE / THREADS_Y;

/// Blocks of a transpose of `rows` × `columns` elements that has a block for each tile.
pub const fn transpose_blocks(rows: u32, columns: u32) -> u64 {
    rows.div_ceil(TILE as u32) as u64 * columns.div_ceil(TILE as u32) as u64
}

/// Launches the dependent GEMM, which waits for the copy, and waits for the launch before, a GEMM
/// that may read the destination.
#[inline(always)]
fn begin() {
    griddepcontrol::launch_dependents();
    griddepcontrol::wait();
}

macro_rules! copies {
    ($($(#[$doc:meta])* $name:ident: $element:ty;)*) => {
        $(
            $(#[$doc])*
            ///
            /// # Safety
            /// `from` and `to` are device arrays that do not overlap, as `pack` describes them.
            /// `to` and its rows and matrices begin at multiples of 16 bytes. A matrix of
            /// the copy has fewer than 2³² − 1024 vectors. The grid has [`copy_blocks`] blocks in x
            /// and the number of matrices in z. Blocks have [`THREADS`] threads.
            #[cuda_std::kernel(max_threads = THREADS as u32, min_blocks = 1)]
            pub unsafe fn $name(from: *const $element, to: *mut $element, pack: Pack) {
                // SAFETY: the contract says what `copy` needs: arrays as `pack` describes them.
                unsafe { copy(from, to, pack, thread::block_idx_x(), begin) }
            }
        )*
    };
}

copies! {
    /// Copies elements of a byte.
    pack_8: u8;
    /// Copies elements of 2 bytes.
    pack_16: u16;
    /// Copies elements of 4 bytes.
    pack_32: u32;
}

/// Distance of two rows of a tile, in elements of `element_bytes` bytes: a word more than a row, so
/// that a column's elements lie in different banks.
const fn tile_pitch(element_bytes: usize) -> usize {
    TILE + size_of::<u32>() / element_bytes
}

/// Transposes through a tile in shared memory, of [`TILE`] rows that are [`tile_pitch`] apart. The
/// block is one of `blocks_y` that have these columns.
///
/// # Safety
/// As the kernels say.
#[inline(always)]
unsafe fn transpose<T: Copy + Default>(
    (from, to): (*const T, *mut T),
    pack: Pack,
    tile: *mut T,
    [block_x, block_y]: [u32; 2],
    blocks_y: u32,
) {
    let pitch = tile_pitch(size_of::<T>());
    let (x, y) = (
        thread::thread_idx_x() as usize % TILE,
        thread::thread_idx_x() as usize / TILE,
    );
    let (rows, columns) = (pack.rows as usize, pack.columns as usize);
    let matrix = thread::block_idx_z() as usize;
    let from = from.wrapping_add(matrix * pack.from_stride as usize);
    let to = to.wrapping_add(matrix * pack.to_stride as usize);
    let left = block_x as usize * TILE;
    let mut top = block_y as usize * TILE;
    begin();
    while top < rows {
        let mut elements = [T::default(); PER_THREAD];
        for i in 0..PER_THREAD {
            let (row, column) = (top + y + THREADS_Y * i, left + x);
            if row < rows && column < columns {
                // SAFETY: the test says that row and column are inside of the source.
                elements[i] =
                    unsafe { *from.wrapping_add(row * pack.from_pitch as usize + column) };
            }
        }
        for i in 0..PER_THREAD {
            let offset = (y + THREADS_Y * i) * pitch + x;
            // SAFETY: x and y + THREADS_Y · i are less than TILE, so the element is inside of the
            // tile. It is this thread's own.
            unsafe { *tile.wrapping_add(offset) = elements[i] };
        }
        thread::sync_threads();
        for i in 0..PER_THREAD {
            let (row, column) = (top + x, left + y + THREADS_Y * i);
            if row < rows && column < columns {
                // SAFETY: the element of the tile was written before the barrier. The test says
                // that row and column are inside of the matrix, of which the copy is the transpose.
                unsafe {
                    let element = *tile.wrapping_add(x * pitch + y + THREADS_Y * i);
                    *to.wrapping_add(column * pack.to_pitch as usize + row) = element;
                }
            }
        }
        thread::sync_threads();
        top += blocks_y as usize * TILE;
    }
}

macro_rules! transposes {
    ($($(#[$doc:meta])* $name:ident: $element:ty;)*) => {
        $(
            $(#[$doc])*
            ///
            /// # Safety
            /// `from` and `to` are device arrays that do not overlap, as `pack` describes them. The
            /// grid has columns / [`TILE`] blocks in x, rounded up, any number in y, and the number
            /// of matrices in z. Blocks have [`THREADS`] threads.
            #[cuda_std::kernel(max_threads = THREADS as u32, min_blocks = 2)]
            pub unsafe fn $name(from: *const $element, to: *mut $element, pack: Pack) {
                let tile = shared_array![$element; TILE * tile_pitch(size_of::<$element>())];
                // SAFETY: the contract says that the arrays are as `pack` describes them. The tile
                // has TILE rows of `tile_pitch`.
                unsafe {
                    let block = [thread::block_idx_x(), thread::block_idx_y()];
                    transpose((from, to), pack, tile, block, thread::grid_dim_y())
                }
            }
        )*
    };
}

transposes! {
    /// Transposes elements of a byte: the copy has `columns` rows.
    pack_transposed_8: u8;
    /// Transposes elements of 2 bytes.
    pack_transposed_16: u16;
    /// Transposes elements of 4 bytes.
    pack_transposed_32: u32;
}

macro_rules! of_both {
    ($($(#[$doc:meta])* $name:ident: $element:ty;)*) => {
        $(
            $(#[$doc])*
            ///
            /// # Safety
            /// As for the kernels that copy one matrix, of the two in `both`, which do not overlap.
            /// The grid has the sum of their blocks in x and the larger number of matrices in z.
            /// Blocks have [`THREADS`] threads.
            #[cuda_std::kernel(max_threads = THREADS as u32, min_blocks = 2)]
            pub unsafe fn $name(
                from_a: *const $element,
                to_a: *mut $element,
                from_b: *const $element,
                to_b: *mut $element,
                both: PackBoth,
            ) {
                let tile = shared_array![$element; TILE * tile_pitch(size_of::<$element>())];
                let block = thread::block_idx_x();
                let is_b = block >= both.blocks[0];
                let (arrays, block) = match is_b {
                    false => ((from_a, to_a), block),
                    true => ((from_b, to_b), block - both.blocks[0]),
                };
                let of = |[a, b]: [u32; 2]| if is_b { b } else { a };
                let pack = if is_b { both.packs[1] } else { both.packs[0] };
                if thread::block_idx_z() >= of(both.matrices) {
                    return begin();
                }
                // SAFETY: the contract says that the arrays are as `both` describes them. The tile
                // has TILE rows of `tile_pitch`.
                unsafe {
                    if of(both.transposed) != 0 {
                        let blocks_x = pack.columns.div_ceil(TILE as u32).max(1);
                        let block = [block % blocks_x, block / blocks_x];
                        let blocks_y = pack.rows.div_ceil(TILE as u32);
                        transpose(arrays, pack, tile, block, blocks_y)
                    } else {
                        copy(arrays.0, arrays.1, pack, block, begin)
                    }
                }
            }
        )*
    };
}

of_both! {
    /// Copies or transposes two matrices of elements of a byte.
    pack_both_8: u8;
    /// Copies or transposes two matrices of elements of 2 bytes.
    pack_both_16: u16;
    /// Copies or transposes two matrices of elements of 4 bytes.
    pack_both_32: u32;
}
