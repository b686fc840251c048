//! `pack_16`, `pack_32`, `pack_transposed_16`, `pack_transposed_32`: operands copied into a layout
//! that TMA and `wgmma` take.
//!
//! # Idea
//! A tensor map needs rows that begin at multiples of 16 bytes, and `wgmma` needs K-major TF32
//! operands. Other operands are copied into the workspace first, with rows of multiples of 16
//! bytes. So are MN-major operands with few rows or columns. TMA takes as long for columns of a box
//! outside of a matrix as for others, and of a K-major operand only the rows that exist need be
//! loaded.
//!
//! # Thread mapping
//! Blocks of 256 threads. A copy has a thread for each column, and a block copies 8 rows of 256
//! columns. A transpose goes through tiles of 64 × 64 in shared memory, 16 elements a thread. z
//! counts the matrices of a batch; y strides over the rows by the grid.
//!
//! # Preconditions
//! None.
//!
//! # What changed since the rung before
//! It is the first half of a GEMM whose operands have other layouts.
//!
//! # Source
//! Beyond the sources.

use cuda_std::griddepcontrol;
use cuda_std::prelude::*;
use cuda_std::shared_array;

/// Threads of a block.
pub const THREADS: usize = 256;

/// Rows of a matrix that a block copies.
pub const COPIED_ROWS: usize = 8;

/// Rows and columns of a tile that a block transposes.
pub const TILE: usize = 64;

/// Threads of a block along the columns of a tile, and elements of a thread.
const THREADS_Y: usize = THREADS / TILE;
const PER_THREAD: usize = TILE / THREADS_Y;

/// The matrices to copy, passed by value. Distances are in elements.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pack {
    /// Rows and columns of a matrix as it is stored.
    pub rows: u32,
    /// See `rows`.
    pub columns: u32,
    /// Distance of two rows of the source.
    pub from_pitch: u32,
    /// Distance of two rows of the copy.
    pub to_pitch: u32,
    /// Distance of two matrices of the source.
    pub from_stride: u64,
    /// Distance of two matrices of the copy.
    pub to_stride: u64,
}

/// Launches the dependent GEMM, which waits for the copy, and waits for the launch before, a GEMM
/// that may read the destination.
#[inline(always)]
fn begin() {
    griddepcontrol::launch_dependents();
    griddepcontrol::wait();
}

#[inline(always)]
unsafe fn copy<T: Copy>(from: *const T, to: *mut T, pack: Pack) {
    let column = thread::block_idx_x() as usize * THREADS + thread::thread_idx_x() as usize;
    let matrix = thread::block_idx_z() as usize;
    let from = from.wrapping_add(matrix * pack.from_stride as usize + column);
    let to = to.wrapping_add(matrix * pack.to_stride as usize + column);
    let mut top = thread::block_idx_y() as usize * COPIED_ROWS;
    begin();
    while top < pack.rows as usize {
        for i in 0..COPIED_ROWS {
            let row = top + i;
            if row < pack.rows as usize && column < pack.columns as usize {
                // SAFETY: the test says that row and column are inside of both matrices, which the
                // kernel's contract describes. Only this thread writes the element.
                unsafe {
                    let element = *from.wrapping_add(row * pack.from_pitch as usize);
                    *to.wrapping_add(row * pack.to_pitch as usize) = element;
                }
            }
        }
        top += thread::grid_dim_y() as usize * COPIED_ROWS;
    }
}

macro_rules! copies {
    ($($(#[$doc:meta])* $name:ident: $element:ty;)*) => {
        $(
            $(#[$doc])*
            ///
            /// # Safety
            /// `from` and `to` are device arrays that do not overlap, as `pack` describes them. The
            /// grid has columns / [`THREADS`] blocks in x, rounded up, any number in y, and the
            /// number of matrices in z. Blocks have [`THREADS`] threads.
            #[cuda_std::kernel(max_threads = THREADS as u32, min_blocks = 1)]
            pub unsafe fn $name(from: *const $element, to: *mut $element, pack: Pack) {
                // SAFETY: the contract says what `copy` needs: arrays as `pack` describes them.
                unsafe { copy(from, to, pack) }
            }
        )*
    };
}

copies! {
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

/// Transposes through a tile in shared memory, of [`TILE`] rows that are [`tile_pitch`] apart.
#[inline(always)]
unsafe fn transpose<T: Copy + Default>(from: *const T, to: *mut T, pack: Pack, tile: *mut T) {
    let pitch = tile_pitch(size_of::<T>());
    let (x, y) = (
        thread::thread_idx_x() as usize % TILE,
        thread::thread_idx_x() as usize / TILE,
    );
    let (rows, columns) = (pack.rows as usize, pack.columns as usize);
    let matrix = thread::block_idx_z() as usize;
    let from = from.wrapping_add(matrix * pack.from_stride as usize);
    let to = to.wrapping_add(matrix * pack.to_stride as usize);
    let left = thread::block_idx_x() as usize * TILE;
    let mut top = thread::block_idx_y() as usize * TILE;
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
        top += thread::grid_dim_y() as usize * TILE;
    }
}

macro_rules! transposes {
    ($($(#[$doc:meta])* $name:ident: $element:ty;)*) => {
        $(
            $(#[$doc])*
            ///
            /// # Safety
            /// As for [`pack_32`], with columns / [`TILE`] blocks in x, rounded up.
            #[cuda_std::kernel(max_threads = THREADS as u32, min_blocks = 2)]
            pub unsafe fn $name(from: *const $element, to: *mut $element, pack: Pack) {
                let tile = shared_array![$element; TILE * tile_pitch(size_of::<$element>())];
                // SAFETY: the contract says that the arrays are as `pack` describes them. The tile
                // has TILE rows of `tile_pitch`.
                unsafe { transpose(from, to, pack, tile) }
            }
        )*
    };
}

transposes! {
    /// Transposes elements of 2 bytes: the copy has `columns` rows.
    pack_transposed_16: u16;
    /// Transposes elements of 4 bytes.
    pack_transposed_32: u32;
}
