//! `calibrate_shared`, `calibrate_l1`, `calibrate_l1_apart`, `calibrate_constant`: what a
//! multiprocessor reads from its own memories.
//!
//! # Idea
//! All warps of a full block read without conflicts from a few KiB, over and over. Loads of 16
//! bytes a lane take four wavefronts of 128 bytes, so that the data path is busy and not the issue.
//! Lanes that are apart take different lines: in constant memory one after the other, in the L1
//! cache as its banks and its search for lines allow.
//!
//! # Thread mapping
//! Thread t reads 16-byte elements t, t + 32, … of 1024, further with each load and each round, or
//! the words that its lane's distance says.
//!
//! # Preconditions
//! Blocks of whole warps, of up to 1024 threads.

use super::{BLOCK, clock, report};
use cuda_std::prelude::*;

/// Loads of a thread in one round.
pub const PER_ROUND: usize = 8;

/// Elements of 16 bytes in the array that shared memory or the L1 cache holds.
pub const ELEMENTS: usize = 1024;

/// Words after a lane's first one that it reads: those of a line.
pub const LANE_WORDS: usize = 32;

/// Words of the constant table.
pub const CONSTANT_WORDS: usize = 1024;

/// A table that lies in the constant bank, as parameters do.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Table(pub [u32; CONSTANT_WORDS]);

/// Four words at `address` in one load of the PTX instruction `ld.$space.v4.b32`, which is never
/// left out.
macro_rules! load_4 {
    ($space:literal, $class:ident, $address:expr) => {{
        let mut words = [0u32; 4];
        let [w0, w1, w2, w3] = &mut words;
        #[cfg(target_arch = "nvptx64")]
        // SAFETY: the address is aligned and inside of an array.
        unsafe {
            ::core::arch::asm!(concat!("ld.", $space, ".v4.b32 {{{}, {}, {}, {}}}, [{}];"),
                out(reg32) *w0, out(reg32) *w1, out(reg32) *w2, out(reg32) *w3, in($class) $address,
                options(nostack, preserves_flags));
        }
        #[cfg(not(target_arch = "nvptx64"))]
        let _ = ($address, w0, w1, w2, w3);
        words[0] ^ words[1] ^ words[2] ^ words[3]
    }};
}

/// Reads 16 KiB of shared memory in wavefronts of 128 bytes.
///
/// # Safety
/// Blocks of whole warps; `clocks` has two elements for each warp of the grid.
#[kernel(max_threads = BLOCK as u32, min_blocks = 1)]
pub unsafe fn calibrate_shared(clocks: *mut u64, rounds: u32) {
    let words = shared_array![u32; ELEMENTS * 4];
    let t = thread::thread_idx_x();
    let mut word = t as usize;
    while word < ELEMENTS * 4 {
        // SAFETY: inside of the array.
        unsafe { words.add(word).write_volatile(0) };
        word += thread::block_dim_x() as usize;
    }
    thread::sync_threads();
    let first = super::chase::shared_address(words);
    let mut sum = 0;
    let start = clock();
    for round in 0..rounds {
        for i in 0..PER_ROUND as u32 {
            let address = first + (t + (round + i) * 32) % ELEMENTS as u32 * 16;
            sum ^= load_4!("shared", reg32, address);
        }
    }
    let stop = clock();
    // SAFETY: `clocks` is as the kernel's contract says; the sum is 0.
    unsafe {
        report(clocks, start, stop);
        if sum == u32::MAX {
            *clocks = u64::from(sum);
        }
    }
}

/// Reads 16 KiB of global memory through the L1 cache.
///
/// # Safety
/// Blocks of whole warps; `clocks` has two elements for each warp of the grid, `input` [`ELEMENTS`]
/// elements of four words of 0, 16-byte aligned.
#[kernel(max_threads = BLOCK as u32, min_blocks = 1)]
pub unsafe fn calibrate_l1(input: *const u32, clocks: *mut u64, rounds: u32) {
    let t = thread::thread_idx_x() as usize;
    let mut sum = 0;
    let start = clock();
    for round in 0..rounds as usize {
        for i in 0..PER_ROUND {
            let address = input.wrapping_add((t + (round + i) * 32) % ELEMENTS * 4);
            sum ^= load_4!("global", reg64, address);
        }
    }
    let stop = clock();
    // SAFETY: `clocks` is as the kernel's contract says; the sum is 0.
    unsafe {
        report(clocks, start, stop);
        if sum == u32::MAX {
            *clocks = u64::from(sum);
        }
    }
}

/// Reads global memory through the L1 cache: lane l reads the [`LANE_WORDS`] words from word l
/// `stride` on, one with each load.
///
/// # Safety
/// Blocks of whole warps; `clocks` has two elements for each warp of the grid, `input` 31 `stride`
/// + [`LANE_WORDS`] words of 0.
#[kernel(max_threads = BLOCK as u32, min_blocks = 1)]
pub unsafe fn calibrate_l1_apart(input: *const u32, clocks: *mut u64, rounds: u32, stride: u32) {
    let lane = thread::thread_idx_x() % 32;
    let first = input.wrapping_add((lane * stride) as usize);
    let mut sum = 0;
    let start = clock();
    for round in 0..rounds as usize {
        let part = first.wrapping_add(round * PER_ROUND % LANE_WORDS);
        for i in 0..PER_ROUND {
            sum ^= load(part.wrapping_add(i));
        }
    }
    let stop = clock();
    // SAFETY: `clocks` is as the kernel's contract says; the sum is 0.
    unsafe {
        report(clocks, start, stop);
        if sum == u32::MAX {
            *clocks = u64::from(sum);
        }
    }
}

/// Reads the constant bank: lane l reads word l `stride` of `words`, and the next one with each
/// load.
///
/// # Safety
/// Blocks of whole warps; `clocks` has two elements for each warp of the grid; `words` is a power
/// of two, at most [`CONSTANT_WORDS`].
#[kernel(max_threads = BLOCK as u32, min_blocks = 1)]
pub unsafe fn calibrate_constant(
    table: Table,
    clocks: *mut u64,
    rounds: u32,
    stride: u32,
    words: u32,
) {
    let mut word = thread::thread_idx_x() % 32 * stride % words;
    let mut sum = 0;
    let start = clock();
    for _ in 0..rounds {
        for _ in 0..PER_ROUND {
            sum ^= element(&table, word as usize);
            word = (word + 1) % words;
        }
    }
    let stop = clock();
    // SAFETY: `clocks` is as the kernel's contract says; the table holds zeros.
    unsafe {
        report(clocks, start, stop);
        if sum == u32::MAX {
            *clocks = u64::from(sum);
        }
    }
}

/// The word at an address in one load, which is never left out.
#[inline(always)]
fn load(address: *const u32) -> u32 {
    #[cfg(target_arch = "nvptx64")]
    {
        let word: u32;
        // SAFETY: the address is aligned and inside of an array.
        unsafe {
            ::core::arch::asm!("ld.global.b32 {}, [{}];", out(reg32) word, in(reg64) address,
                options(nostack, preserves_flags));
        }
        word
    }
    #[cfg(not(target_arch = "nvptx64"))]
    // SAFETY: the contract says that the word may be read.
    unsafe {
        address.read()
    }
}

/// An element of the parameter, by the address in its space: see `matrix_operand!` of the
/// matrix-vector kernels.
#[inline(always)]
fn element(_table: &Table, word: usize) -> u32 {
    #[cfg(target_arch = "nvptx64")]
    {
        let element: u32;
        // SAFETY: the word is inside of the table, which is the first parameter.
        unsafe {
            ::core::arch::asm!(
                "{{ .reg .b64 address; mov.b64 address, calibrate_constant_param_0;",
                "add.s64 address, address, {}; ld.param.b32 {}, [address]; }}",
                in(reg64) word * size_of::<u32>(), out(reg32) element,
                options(pure, readonly, nostack, preserves_flags));
        }
        element
    }
    #[cfg(not(target_arch = "nvptx64"))]
    _table.0[word]
}
