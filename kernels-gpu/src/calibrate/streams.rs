//! `calibrate_read`, `calibrate_write`, `calibrate_write_parts`: the chip's memories at full speed.
//!
//! # Idea
//! Every multiprocessor reads or writes an array from end to end, several times. Where the array
//! fits the L2 cache, and not the L1 caches, that is the bandwidth of the L2 cache; where it is
//! much larger, that of device memory.
//!
//! # Thread mapping
//! Thread t of T takes elements t, t + T, …; in each further round another part of the array comes
//! first, so that no multiprocessor finds in its L1 cache what it read before.
//!
//! # Preconditions
//! Any grid of one-dimensional blocks.

use super::BLOCK;
use cuda_std::prelude::*;
use cuda_std::vector::{U32x4, Vector};

/// Elements of 16 bytes that a thread has in flight.
const UNROLL: usize = 4;

/// Words of a sector: a stride at which every lane stores into a sector of its own.
pub const SECTOR_WORDS: usize = 8;

/// The first element of this thread and how many there are from one to the next.
#[inline(always)]
fn grid_stride() -> (usize, usize) {
    let threads = thread::grid_dim_x() as usize * thread::block_dim_x() as usize;
    (thread::index_1d() as usize, threads)
}

/// Reads `input` `rounds` times.
///
/// # Safety
/// `input` has `vectors` elements of 16 bytes, all zero, and is aligned to them; `output` has one
/// word.
#[kernel(max_threads = BLOCK as u32, min_blocks = 1)]
pub unsafe fn calibrate_read(input: *const u32, output: *mut u32, vectors: u32, rounds: u32) {
    let (first, threads) = grid_stride();
    let vectors = vectors as usize;
    let mut sum = 0;
    for round in 0..rounds as usize {
        // Blocks change places by a half of the grid, and by one warp.
        let first = (first + round * (threads / 2 + 32)) % threads;
        let mut at = first;
        while at + (UNROLL - 1) * threads < vectors {
            let mut values = [[0u32; 4]; UNROLL];
            for i in 0..UNROLL {
                // SAFETY: inside of the array.
                values[i] = unsafe { U32x4::load(input.add((at + i * threads) * 4)) };
            }
            for i in 0..UNROLL {
                sum ^= values[i][0] ^ values[i][1] ^ values[i][2] ^ values[i][3];
            }
            at += UNROLL * threads;
        }
    }
    // SAFETY: `output` is as the kernel's contract says; the sum is 0.
    unsafe {
        if sum != 0 {
            *output = sum;
        }
    }
}

/// Writes `output` `rounds` times, whole sectors at once.
///
/// # Safety
/// `output` has `vectors` elements of 16 bytes and is aligned to them.
#[kernel(max_threads = BLOCK as u32, min_blocks = 1)]
pub unsafe fn calibrate_write(output: *mut u32, vectors: u32, rounds: u32) {
    let (first, threads) = grid_stride();
    for round in 0..rounds as usize {
        let mut at = (first + round * (threads / 2 + 32)) % threads;
        while at < vectors as usize {
            // SAFETY: inside of the array.
            unsafe { U32x4::store(output.add(at * 4), [round as u32; 4]) };
            at += threads;
        }
    }
}

/// One store of one word, which the compiler does not merge with its neighbours.
///
/// # Safety
/// `to` is a word of global memory.
#[inline(always)]
unsafe fn store(to: *mut u32, word: u32) {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the contract says that the word may be written.
    unsafe {
        ::core::arch::asm!(
            "st.global.b32 [{}], {};",
            in(reg64) to,
            in(reg32) word,
            options(nostack, preserves_flags),
        );
    }
    #[cfg(not(target_arch = "nvptx64"))]
    // SAFETY: the contract says that the word may be written.
    unsafe {
        to.write(word);
    }
}

/// Writes [`SECTOR_WORDS`] words of every `stride` of `output`, a thread one after the other,
/// `rounds` times.
///
/// # Safety
/// `output` has `count` times `stride` words, and `stride` is at least [`SECTOR_WORDS`].
#[kernel(max_threads = BLOCK as u32, min_blocks = 1)]
pub unsafe fn calibrate_write_parts(output: *mut u32, count: u32, stride: u32, rounds: u32) {
    let (first, threads) = grid_stride();
    for round in 0..rounds {
        let mut at = first;
        while at < count as usize {
            for word in 0..SECTOR_WORDS {
                // SAFETY: inside of the array.
                unsafe { store(output.add(at * stride as usize + word), round) };
            }
            at += threads;
        }
    }
}
