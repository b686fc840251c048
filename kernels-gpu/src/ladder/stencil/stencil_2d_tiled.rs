//! `stencil_2d_tiled`: a tile with a halo in shared memory, and four outputs a thread.
//!
//! # Idea
//! A tile of 32 × 32 outputs needs 36 × 36 inputs, each loaded once. 36² is 1.27 times 32²; for a
//! tile of 32 × 8 it would be 1.69 times. A thread computes four outputs, eight rows apart, so that
//! a block of 256 threads has such a large tile.
//!
//! # Thread mapping
//! Thread (x, y) of a block of 32 × 8 computes column x of rows y, y + 8, y + 16 and y + 24 of the
//! tile. It loads column x, and where x < 4 column 32 + x, of rows y, y + 8, … of the 36.
//!
//! # Preconditions
//! None.
//!
//! # What changed since the rung before
//! Against `stencil_2d`: inputs come from shared memory, and four outputs a thread.
//!
//! # Source
//! Beyond the sources. Micikevicius, "3D finite difference computation on GPUs using CUDA", 2009
//! (tiles with halos).

use super::{RADIUS_2D, WEIGHTS_2D};
use crate::geometry::Geometry;
use cuda_std::prelude::*;

/// Threads of a block in each direction.
const THREADS: [usize; 2] = [32, 8];

/// Rows and columns of outputs of a block.
const OUTPUTS: usize = 32;

/// Rows and columns of its inputs.
const INPUTS: usize = OUTPUTS + 2 * RADIUS_2D;

// A thread has whole outputs.
const _: () = assert!(OUTPUTS == THREADS[0] && OUTPUTS.is_multiple_of(THREADS[1]));

/// 32 × 8 threads for 32 × 32 outputs.
pub const GEOMETRY: Geometry = Geometry::tiles(THREADS, [OUTPUTS, OUTPUTS]).along_rows();

// ANCHOR: kernel
/// The weighted sum around each element.
///
/// # Safety
/// As for [`stencil_2d`](super::stencil_2d::stencil_2d), with the [`GEOMETRY`] here.
#[kernel(max_threads = 256, min_blocks = 1)]
pub unsafe fn stencil_2d_tiled(input: &[f32], output: *mut f32, width: u32, height: u32) {
    let tile = shared_array![f32; INPUTS * INPUTS];
    let (width, height) = (width as usize, height as usize);
    let top = thread::block_idx_x() as usize * OUTPUTS;
    let left = thread::block_idx_y() as usize * OUTPUTS;
    let (tx, ty) = (
        thread::thread_idx_x() as usize,
        thread::thread_idx_y() as usize,
    );
    // SAFETY: inputs are inside of the array by the test, and offsets inside of the tile. Each
    // has one thread before the barrier. No other thread has the outputs, which are inside of the
    // array by the test.
    unsafe {
        let mut y = ty;
        while y < INPUTS {
            let mut x = tx;
            while x < INPUTS {
                // Before the first row or column these wrap around, to more than there are.
                let row = (top + y).wrapping_sub(RADIUS_2D);
                let column = (left + x).wrapping_sub(RADIUS_2D);
                *tile.add(y * INPUTS + x) = if row < height && column < width {
                    *input.get_unchecked(row * width + column)
                } else {
                    0.0
                };
                x += THREADS[0];
            }
            y += THREADS[1];
        }
        thread::sync_threads();
        for i in 0..OUTPUTS / THREADS[1] {
            let y = ty + i * THREADS[1];
            let mut sum = 0.0;
            for dy in 0..WEIGHTS_2D.len() {
                for dx in 0..WEIGHTS_2D.len() {
                    let element = *tile.add((y + dy) * INPUTS + tx + dx);
                    let weight = WEIGHTS_2D[dy] * WEIGHTS_2D[dx];
                    sum = GpuFloat::mul_add(element, weight, sum);
                }
            }
            if top + y < height && left + tx < width {
                *output.add((top + y) * width + left + tx) = sum;
            }
        }
    }
}
// ANCHOR_END: kernel
