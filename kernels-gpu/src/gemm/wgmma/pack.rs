//! `pack_16`, `pack_32`, `pack_transposed_16`, `pack_transposed_32`: operands copied to where bulk copies can load them.
//!
//! # Idea
//! A tensor map wants rows that begin at multiples of 16 bytes, and `wgmma` wants TF32 operands along k. What does not lie so
//! is copied into the workspace first, with rows of whole multiples of 16 bytes. So are narrow operands across k: columns of a box that lie
//! outside of a matrix take as long as others, and of one that lies along k no more rows than there are need be loaded.
//!
//! # Thread mapping
//! Blocks of 256 threads. A copy: a thread for each column, 8 rows of 256 columns a block. A transpose: tiles of 64 × 64 through shared memory,
//! 16 elements a thread. z counts the matrices of a batch; y goes over the rows in steps of the grid.
//!
//! # Preconditions
//! None.
//!
//! # What changed since the rung before
//! It is the first half of a product whose operands lie otherwise.
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

/// Rows of threads in a tile, and elements of a thread.
const TILE_ROWS: usize = THREADS / TILE;
const EACH: usize = TILE / TILE_ROWS;

/// What to copy, passed by value. Distances are in elements.
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

/// Lets the product begin, which waits for the copy, and waits for the launch before: the product that read what is copied to.
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
                // SAFETY: inside of both matrices.
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
            /// `from` and `to` are device arrays apart from each other, as `pack` describes them. The grid has columns / [`THREADS`], rounded up,
            /// blocks in x, any number in y, and the number of matrices in z.
            #[cuda_std::kernel(max_threads = THREADS as u32, min_blocks = 1)]
            pub unsafe fn $name(from: *const $element, to: *mut $element, pack: Pack) {
                // SAFETY: passed on to the caller.
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

/// OutputElements between two rows of a tile, of elements of so many bytes: a word more than needed, so that a column's elements lie in different
/// banks.
const fn tile_pitch(element_bytes: usize) -> usize {
    TILE + size_of::<u32>() / element_bytes
}

/// Transposes through a tile in shared memory, of rows of [`tile_pitch`].
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
        let mut elements = [T::default(); EACH];
        for i in 0..EACH {
            let (row, column) = (top + y + TILE_ROWS * i, left + x);
            if row < rows && column < columns {
                // SAFETY: inside of the source.
                elements[i] =
                    unsafe { *from.wrapping_add(row * pack.from_pitch as usize + column) };
            }
        }
        for i in 0..EACH {
            let place = (y + TILE_ROWS * i) * pitch + x;
            // SAFETY: inside of the tile, this thread's own element.
            unsafe { *tile.wrapping_add(place) = elements[i] };
        }
        thread::sync_threads();
        for i in 0..EACH {
            let (row, column) = (top + x, left + y + TILE_ROWS * i);
            if row < rows && column < columns {
                // SAFETY: inside of the tile, written before the barrier, and of the copy.
                unsafe {
                    let element = *tile.wrapping_add(x * pitch + y + TILE_ROWS * i);
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
            /// As for [`pack_32`], with columns / [`TILE`], rounded up, blocks in x.
            #[cuda_std::kernel(max_threads = THREADS as u32, min_blocks = 2)]
            pub unsafe fn $name(from: *const $element, to: *mut $element, pack: Pack) {
                let tile = shared_array![$element; TILE * tile_pitch(size_of::<$element>())];
                // SAFETY: passed on to the caller.
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
