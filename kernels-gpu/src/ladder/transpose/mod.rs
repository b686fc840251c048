//! Matrix transposes, and the copy that bounds them.
//!
//! | file | rungs |
//! |---|---|
//! | [`copy`](mod@copy) | `copy` |
//! | [`transpose_naive`](mod@transpose_naive) | `transpose_naive` |
//! | [`transpose_coalesced`](mod@transpose_coalesced) | `transpose_coalesced` |
//! | [`transpose_padded`](mod@transpose_padded) | `transpose_padded` |
//! | [`transpose_swizzled`](mod@transpose_swizzled) | `transpose_swizzled` |
//! | [`transpose_fast`](mod@transpose_fast) | `transpose_fast`, `transpose_fast_f64`, `transpose_fast_f16` |
//!
//! The input has `height` rows of `width` columns, row-major; the output of a transpose has `width`
//! rows of `height` columns.

use crate::geometry::Geometry;
use cuda_std::prelude::*;

/// Width of the square tile that a block moves, and of the block that moves it: 32, a warp for a
/// row.
pub const TILE: usize = 32;

/// One block of 32 × 32 threads for 32 × 32 elements of the *input*, one element per thread.
pub const GEOMETRY: Geometry = Geometry::square(TILE);

/// Kernels that are instances of one body, with the parameters of every transpose: `input`,
/// `output`, width and height of the input.
macro_rules! transpose_kernels {
    ($($(#[$doc:meta])* $name:ident, $element:ty, max_threads $threads:expr => $body:expr;)*) => {
        $(
            $(#[$doc])*
            ///
            /// # Safety
            /// `input` and `output` are device arrays of `width` · `height` elements that do not
            /// overlap; the grid and block are those of the module's geometry for `height` ×
            /// `width`, which are multiples of what the module states.
            #[cuda_std::kernel(max_threads = ($threads) as u32, min_blocks = 1)]
            pub unsafe fn $name(
                input: &[$element],
                output: *mut $element,
                width: u32,
                height: u32,
            ) {
                let size = $crate::ladder::transpose::Size {
                    width: width as usize,
                    height: height as usize,
                };
                // SAFETY: the body's contract is this kernel's.
                unsafe { $body(input, output, size) }
            }
        )*
    };
}

pub mod copy;
pub mod transpose_coalesced;
pub mod transpose_fast;
pub mod transpose_naive;
pub mod transpose_padded;
pub mod transpose_swizzled;

// ANCHOR: tile
/// The body of the rungs that go through a shared tile: load a tile by rows, store it by rows, and
/// transpose it in between by reading its columns. `word` numbers the elements (row, column) in the
/// tile's `WORDS` words.
///
/// # Safety
/// The contract of the kernels below. `word` gives every element of the tile another number below
/// `WORDS`.
#[inline(always)]
unsafe fn through_shared_tile<const WORDS: usize>(
    input: &[f32],
    output: *mut f32,
    size: Size,
    word: impl Fn(usize, usize) -> usize,
) {
    let tile = shared_array![f32; WORDS];
    let (tx, ty) = (
        thread::thread_idx_x() as usize,
        thread::thread_idx_y() as usize,
    );
    let (left, top) = (
        thread::block_idx_x() as usize * TILE,
        thread::block_idx_y() as usize * TILE,
    );
    let from = (top + ty) * size.width + left + tx;
    let to = (left + ty) * size.height + top + tx;
    // SAFETY: the tile lies inside of both matrices because width and height are multiples of TILE.
    // Each thread writes its own element of the tile, and reads those of others after the barrier.
    unsafe {
        *tile.add(word(ty, tx)) = *input.get_unchecked(from);
        thread::sync_threads();
        *output.add(to) = *tile.add(word(tx, ty));
    }
}
// ANCHOR_END: tile

/// The size of a transpose, in elements.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    /// Columns of the input.
    pub width: usize,
    /// Rows of the input.
    pub height: usize,
}
