//! `matvec_fast`: 16 × 16, every access coalesced.
//!
//! # Idea
//! One thread per product is the right amount of work, but its vector is 64 bytes apart from its
//! neighbour's: the lanes of a warp access 32 sectors with each load. So a block copies its 256
//! vectors to shared memory together, with 128-bit loads of neighbouring lanes. Each thread reads
//! its own vector from there, and the products are stored the same way. The matrix stays an operand
//! from the constant bank. What is left to wait for is DRAM.
//!
//! # Thread mapping
//! A block of 256 threads has 256 vectors, thread t computes the product of vector t. For the
//! copies between global and shared memory thread t moves vectors of four elements number t, t +
//! 256, t + 512 and t + 768. In shared memory a vector is four such quarters, and quarter q of
//! vector v lies at offset q XOR (v / 2 mod 4): eight lanes that access the same quarter of eight
//! vectors, or all quarters of two, access all 32 banks once.
//!
//! # Preconditions
//! M = N = 16; any number of vectors; 16-byte aligned arrays (every allocation is).
//!
//! # What changed since the rung before
//! Against `matvec_lcs`: the way through shared memory, and one tile per block instead of a
//! grid-stride loop.
//!
//! # Source
//! Beyond source 002.

use super::{BLOCK, Matrix};
use crate::geometry::Geometry;
use cuda_std::prelude::*;
use cuda_std::vector::{F32x4, Vector};

/// Rows and columns of the matrix.
const SIZE: usize = 16;

/// Quarters of a vector, and vectors of four elements that a thread moves.
const QUARTERS: usize = SIZE / 4;

/// 256 threads for the 16 · 256 elements of 256 products.
pub const GEOMETRY: Geometry = Geometry::Linear {
    block: BLOCK as u32,
    elements: (BLOCK * SIZE) as u32,
};

// ANCHOR: offset
/// Offset in shared memory, in elements, of quarter `quarter` of vector `vector`.
#[inline(always)]
fn offset(vector: usize, quarter: usize) -> usize {
    (vector * QUARTERS + (quarter ^ (vector / 2 % QUARTERS))) * 4
}
// ANCHOR_END: offset

// ANCHOR: kernel
/// One product per thread, staged through shared memory.
///
/// # Safety
/// `input` and `output` are device arrays of the same number of whole vectors of 16, 16-byte
/// aligned; the grid and block are those of [`GEOMETRY`].
#[kernel(max_threads = BLOCK as u32, min_blocks = 1)]
pub unsafe fn matvec_fast(matrix: Matrix<SIZE, SIZE>, input: &[f32], output: *mut f32) {
    let staged = shared_array![f32; BLOCK * SIZE];
    let t = thread::thread_idx_x() as usize;
    let first = thread::block_idx_x() as usize * (BLOCK * SIZE);

    let mut loaded = [[0.0f32; 4]; QUARTERS];
    for i in 0..QUARTERS {
        let from = first + (t + i * BLOCK) * 4;
        if from < input.len() {
            // SAFETY: a vector of four is inside of the input where its first element is.
            loaded[i] = unsafe { F32x4::load(input.as_ptr().add(from)) };
        }
    }
    // SAFETY: offsets are inside of the array, and each vector has one writer. Reads of other
    // threads' vectors come after a barrier.
    unsafe {
        for i in 0..QUARTERS {
            let number = t + i * BLOCK;
            F32x4::store(
                staged.add(offset(number / QUARTERS, number % QUARTERS)),
                loaded[i],
            );
        }
        thread::sync_threads();
        let mut accumulators = [0.0f32; SIZE];
        for quarter in 0..QUARTERS {
            let elements = F32x4::load(staged.add(offset(t, quarter)));
            for c in 0..4 {
                for r in 0..SIZE {
                    accumulators[r] =
                        matrix.0[r][quarter * 4 + c].mul_add(elements[c], accumulators[r]);
                }
            }
        }
        // Each thread overwrites the vector that only it has read.
        for quarter in 0..QUARTERS {
            let r = quarter * 4;
            F32x4::store(
                staged.add(offset(t, quarter)),
                [
                    accumulators[r],
                    accumulators[r + 1],
                    accumulators[r + 2],
                    accumulators[r + 3],
                ],
            );
        }
        thread::sync_threads();
        for i in 0..QUARTERS {
            let number = t + i * BLOCK;
            let to = first + number * 4;
            if to < input.len() {
                let elements =
                    F32x4::load(staged.add(offset(number / QUARTERS, number % QUARTERS)));
                F32x4::store(output.add(to), elements);
            }
        }
    }
}
// ANCHOR_END: kernel
