//! `softmax_registers`: a block for a row, which stays in registers.
//!
//! # Idea
//! Every rung so far reads a row twice or more, and a row of 64 KiB is in no L1 cache the second
//! time. The registers of a multiprocessor hold 256 KiB. So a block loads its row once, 32 elements
//! a thread in eight loads that are in flight together, and finds maximum, sum and results in
//! registers. With the maximum known before the first exponential there is one an element.
//!
//! As the row is read once, instructions count next. The exponential is `ex2.approx`, six
//! instructions with the scaling of subnormal results instead of some twenty; and a row has one
//! division, whose quotient its elements are multiplied by.
//!
//! A row begins where it begins: with columns that are no multiple of four, in the middle of a
//! vector. Threads take vectors from the last multiple of four before it on. Vectors that are
//! partly of other rows, at most two a row, are loaded and stored by elements.
//!
//! # Accuracy
//! For the difference d of an element and the maximum, its exponential is off by 2^-22 of itself
//! (`ex2.approx`) and 1.23 |d| 2^-24 (d log2 e in one product, by a constant of 24 bits). The
//! subtraction, which every rung has, is off by |d| 2^-24. The product with the reciprocal of the
//! sum adds two roundings.
//!
//! # Thread mapping
//! Block i has row i, with as few warps as hold it ([`threads`]). In each of eight rounds thread t
//! has the four elements from 4 (r T + t) on, where T are the threads.
//!
//! # Preconditions
//! A row has at most 32,768 elements, less three where it is no multiple of four. The rung launches
//! [`softmax_online`](super::softmax_online) for longer ones. The arrays are aligned to 16 bytes
//! (every allocation is).
//!
//! # What changed since the rung before
//! Against `softmax_vec4`: a block for a row, which is read once, and what exponential and quotient
//! are made of.
//!
//! # Source
//! Beyond the sources.

use super::LEAST;
use crate::ladder::block::{VECTOR, WARP, block_reduce_of};
use cuda_std::float::fast::exp;
use cuda_std::prelude::*;
use cuda_std::vector::{F32x4, Vector};

/// Vectors and elements of a thread.
const ROUNDS: usize = 8;
const ELEMENTS: usize = ROUNDS * VECTOR;

/// Threads of the largest block, and its warps.
const MAX_THREADS: usize = 1024;
const MAX_WARPS: usize = MAX_THREADS / WARP;

/// Threads of a block for rows of `columns` elements; `None` where no block holds one.
pub const fn threads(columns: u32) -> Option<u32> {
    let columns = columns as u64;
    // A row may begin up to three elements behind the vector that it begins in.
    let before = if columns.is_multiple_of(VECTOR as u64) {
        0
    } else {
        VECTOR as u64 - 1
    };
    let warps = (before + columns).div_ceil((WARP * ELEMENTS) as u64);
    let warps = if warps == 0 { 1 } else { warps };
    if warps > MAX_WARPS as u64 {
        return None;
    }
    Some(warps as u32 * WARP as u32)
}

// ANCHOR: row
/// A row in vectors: element 0 is that at the last multiple of four up to its begin.
#[derive(Clone, Copy)]
struct Row {
    /// The vector in which it begins.
    vectors: usize,
    /// Its elements: the first, and one behind the last.
    begin: u32,
    end: u32,
}

impl Row {
    /// Row `i` of `columns` elements.
    #[inline(always)]
    fn new(i: u32, columns: u32) -> Self {
        let first = i as usize * columns as usize;
        let begin = (first % VECTOR) as u32;
        Row {
            vectors: first - begin as usize,
            begin,
            end: begin + columns,
        }
    }

    /// The four elements from `j` on; -∞ for those of other rows.
    ///
    /// # Safety
    /// `input` has the row and is aligned to 16 bytes; `j` is a multiple of four.
    #[inline(always)]
    unsafe fn load(self, input: *const f32, j: u32) -> [f32; VECTOR] {
        let from = input.wrapping_add(self.vectors + j as usize);
        if j >= self.begin && j + VECTOR as u32 <= self.end {
            // SAFETY: all four are inside of the row.
            return unsafe { F32x4::load(from) };
        }
        let mut elements = [f32::NEG_INFINITY; VECTOR];
        for e in 0..VECTOR {
            if (self.begin..self.end).contains(&(j + e as u32)) {
                // SAFETY: the test.
                elements[e] = unsafe { *from.add(e) };
            }
        }
        elements
    }

    /// Stores four elements from `j` on, but for those of other rows.
    ///
    /// # Safety
    /// As for [`load`](Self::load), and no other thread has the vector's part of the row.
    #[inline(always)]
    unsafe fn store(self, output: *mut f32, j: u32, elements: [f32; VECTOR]) {
        let to = output.wrapping_add(self.vectors + j as usize);
        if j >= self.begin && j + VECTOR as u32 <= self.end {
            // SAFETY: all four are inside of the row.
            return unsafe { F32x4::store(to, elements) };
        }
        for e in 0..VECTOR {
            if (self.begin..self.end).contains(&(j + e as u32)) {
                // SAFETY: the test.
                unsafe { *to.add(e) = elements[e] };
            }
        }
    }
}
// ANCHOR_END: row

/// Of four elements, two and two.
#[inline(always)]
fn of_four([a, b, c, d]: [f32; VECTOR], combine: impl Fn(f32, f32) -> f32) -> f32 {
    combine(combine(a, b), combine(c, d))
}

// ANCHOR: kernel
/// The softmax of each row.
///
/// # Safety
/// `input` and `output` are row-major device arrays of rows of `columns` elements that do not
/// overlap and are aligned to 16 bytes; there is a block of [`threads`] for each row.
#[kernel(max_threads = MAX_THREADS as u32, min_blocks = 1)]
pub unsafe fn softmax_registers(input: &[f32], output: *mut f32, columns: u32) {
    let row = Row::new(thread::block_idx_x(), columns);
    let (t, threads) = (thread::thread_idx_x(), thread::block_dim_x());
    let warps = threads as usize / WARP;
    let j = |round: usize| (round as u32 * threads + t) * VECTOR as u32;
    // SAFETY: vectors are aligned, and elements of other rows left alone. All threads of the block
    // are at each reduction, and each element has one thread.
    unsafe {
        let mut elements = [[0.0; VECTOR]; ROUNDS];
        for round in 0..ROUNDS {
            elements[round] = row.load(input.as_ptr(), j(round));
        }
        let mut max = LEAST;
        for round in 0..ROUNDS {
            max = max.max(of_four(elements[round], f32::max));
        }
        let max = block_reduce_of::<f32, MAX_WARPS>(max, LEAST, f32::max, warps);

        let mut sum = 0.0;
        for round in 0..ROUNDS {
            elements[round] = elements[round].map(|x| exp(x - max));
            sum += of_four(elements[round], |a, b| a + b);
        }
        let sum = block_reduce_of::<f32, MAX_WARPS>(sum, 0.0, |a, b| a + b, warps);

        let reciprocal = 1.0 / sum;
        for round in 0..ROUNDS {
            let results = elements[round].map(|x| x * reciprocal);
            row.store(output, j(round), results);
        }
    }
}
// ANCHOR_END: kernel
