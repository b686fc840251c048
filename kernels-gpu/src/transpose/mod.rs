//! Matrix transposes, and the copy that bounds them.
//!
//! | file | rungs |
//! |---|---|
//! | [`copy`](mod@copy) | `copy` |
//! | [`transpose_naive`](mod@transpose_naive) | `transpose_naive` |
//! | [`transpose_coalesced`](mod@transpose_coalesced) | `transpose_coalesced` |
//! | [`transpose_padded`](mod@transpose_padded) | `transpose_padded` |
//!
//! Each kernel does its work `repetitions` times, which gives the source's "inner time". The indices are
//! [`opaque`] to the compiler, or it would do the loads and stores once.
//!
//! The input has `height` rows of `width` columns, row-major; the output of a transpose has `width` rows of
//! `height` columns.

use crate::geometry::Geometry;
use cuda_std::hint::opaque;
use cuda_std::prelude::*;

/// Width of the square tile that a block moves, and of the block that moves it: 32, a warp for a row.
pub const TILE: usize = 32;

/// One block of 32 × 32 threads for 32 × 32 elements of the *input*, one element per thread.
pub const GEOMETRY: Geometry = Geometry::square(TILE);

/// Kernels that are instances of one body, with the parameters of every transpose: `input`, `output`, width
/// and height of the input, and how often to do it.
macro_rules! transpose_kernels {
    ($($(#[$doc:meta])* $name:ident => $body:expr;)*) => {
        $(
            $(#[$doc])*
            ///
            /// # Safety
            /// `input` and `output` are device arrays of `width` · `height` elements that do not overlap; the
            /// grid and block are those of [`GEOMETRY`](super::GEOMETRY) for `height` × `width`, and both are
            /// multiples of [`TILE`](super::TILE).
            #[cuda_std::kernel(max_threads = (super::TILE * super::TILE) as u32)]
            pub unsafe fn $name(
                input: &[f32],
                output: *mut f32,
                width: u32,
                height: u32,
                repetitions: u32,
            ) {
                // SAFETY: passed on to the caller.
                unsafe { $body(input, output, width as usize, height as usize, repetitions) }
            }
        )*
    };
}

pub mod copy;
pub mod transpose_coalesced;
pub mod transpose_naive;
pub mod transpose_padded;

/// The body of the rungs that go through a shared tile: load a tile by rows, store it by rows, and turn it in
/// between by reading its columns. `PITCH` is the distance of two rows in shared memory, in elements.
///
/// # Safety
/// As for the kernels of this module.
#[inline(always)]
unsafe fn through_shared_tile<const PITCH: usize>(
    input: &[f32],
    output: *mut f32,
    width: usize,
    height: usize,
    repetitions: u32,
) {
    const { assert!(PITCH >= TILE, "rows of the tile would overlap") };
    let tile = shared_array![f32; TILE * PITCH];
    let (tx, ty) = (
        thread::thread_idx_x() as usize,
        thread::thread_idx_y() as usize,
    );
    let (left, top) = (
        thread::block_idx_x() as usize * TILE,
        thread::block_idx_y() as usize * TILE,
    );
    for _ in 0..repetitions {
        let from = opaque((top + ty) * width + left + tx);
        let to = opaque((left + ty) * height + top + tx);
        // SAFETY: the tile lies inside of both matrices because width and height are multiples of TILE.
        // Elements of other threads are read between the two barriers only.
        unsafe {
            *tile.add(ty * PITCH + tx) = *input.get_unchecked(from);
            thread::sync_threads();
            *output.add(to) = *tile.add(tx * PITCH + ty);
            thread::sync_threads();
        }
    }
}
