//! Kernels that are wrong on purpose, each in one way, and beside some of them the right one.
//!
//! `tests/sanitize.rs` runs them under the sanitizers. A comment `//@ name` marks the line that a
//! finding must name.

#![no_std]
#![cfg_attr(target_arch = "nvptx64", feature(abi_ptx, asm_experimental_arch))]

use core::sync::atomic::{AtomicU32, Ordering};
use cuda_std::prelude::*;
use cuda_std::vector::{F32x4, Vector};

const TILE: usize = 16;

// ANCHOR: product
/// A tiled product of n × n matrices, with or without its two barriers.
///
/// # Safety
/// n is a multiple of 16, and the pointers are to n × n elements.
#[inline(always)]
unsafe fn product<const BEFORE: bool, const AFTER: bool>(
    a: *const f32,
    b: *const f32,
    c: *mut f32,
    n: u32,
) {
    let tile_a = shared_array![f32; TILE * TILE];
    let tile_b = shared_array![f32; TILE * TILE];
    let (tx, ty) = (
        thread::thread_idx_x() as usize,
        thread::thread_idx_y() as usize,
    );
    let n = n as usize;
    let row = thread::block_idx_y() as usize * TILE + ty;
    let col = thread::block_idx_x() as usize * TILE + tx;
    let mut sum = 0.0f32;
    for start in (0..n).step_by(TILE) {
        // SAFETY: in bounds, by the caller; not free of races where a barrier is missing.
        unsafe {
            *tile_a.add(ty * TILE + tx) = *a.add(row * n + start + tx); //@ product a
            *tile_b.add(ty * TILE + tx) = *b.add((start + ty) * n + col); //@ product b
            if BEFORE {
                thread::sync_threads();
            }
            for i in 0..TILE {
                let (a, b) = (tile_a.add(ty * TILE + i), tile_b.add(i * TILE + tx));
                sum = (*a).mul_add(*b, sum); //@ product read
            }
            if AFTER {
                thread::sync_threads();
            }
        }
    }
    // SAFETY: in bounds, by the caller.
    unsafe { *c.add(row * n + col) = sum };
}
// ANCHOR_END: product

/// A tiled product as it should be.
///
/// # Safety
/// n is a multiple of 16, and the pointers are to n × n elements.
#[kernel]
pub unsafe fn sound_product(a: *const f32, b: *const f32, c: *mut f32, n: u32) {
    // SAFETY: n is a multiple of 16, and the pointers are to n × n elements.
    unsafe { product::<true, true>(a, b, c, n) };
}

/// The tiles are read before all of them is written.
///
/// # Safety
/// As [`sound_product`].
#[kernel]
pub unsafe fn missing_first_barrier(a: *const f32, b: *const f32, c: *mut f32, n: u32) {
    // SAFETY: n is a multiple of 16, and the pointers are to n × n elements.
    unsafe { product::<false, true>(a, b, c, n) };
}

/// The next tiles are written before all of the last ones is read.
///
/// # Safety
/// As [`sound_product`].
#[kernel]
pub unsafe fn missing_second_barrier(a: *const f32, b: *const f32, c: *mut f32, n: u32) {
    // SAFETY: n is a multiple of 16, and the pointers are to n × n elements.
    unsafe { product::<true, false>(a, b, c, n) };
}

// ANCHOR: off_by_one
/// `<=` instead of `<`.
///
/// # Safety
/// The pointers are to n elements.
#[kernel]
pub unsafe fn guard_off_by_one(input: *const f32, output: *mut f32, n: u32) {
    let i = thread::index_1d();
    if i <= n {
        // SAFETY: out of bounds for the last thread.
        unsafe {
            let value = *input.add(i as usize); //@ guard_off_by_one
            *output.add(i as usize) = value;
        }
    }
}
// ANCHOR_END: off_by_one

/// Stores one element too far.
///
/// # Safety
/// The pointers are to as many elements as there are threads.
#[kernel]
pub unsafe fn store_shifted(input: *const f32, output: *mut f32) {
    let i = thread::index_1d() as usize;
    // SAFETY: out of bounds for the last thread.
    unsafe {
        let value = *input.add(i);
        *output.add(i + 1) = value; //@ store_shifted
    }
}

/// Copies, as it should.
///
/// # Safety
/// The pointers are to as many elements as there are threads.
#[kernel]
pub unsafe fn sound_copy(input: *const f32, output: *mut f32) {
    let i = thread::index_1d() as usize;
    // SAFETY: i is a thread of the grid, and there is an element for each.
    unsafe { *output.add(i) = *input.add(i) }; //@ sound_copy
}

// ANCHOR: misaligned
/// Loads vectors of 16 bytes from addresses that are multiples of 4.
///
/// # Safety
/// The pointers are to 4 elements for each thread, and `input` to 1 more.
#[kernel]
pub unsafe fn misaligned_vector(input: *const f32, output: *mut f32) {
    let i = thread::index_1d() as usize;
    // SAFETY: in bounds, but not aligned.
    unsafe {
        let value = F32x4::load(input.add(4 * i + 1)); //@ misaligned_vector
        F32x4::store(output.add(4 * i), value);
    }
}
// ANCHOR_END: misaligned

// ANCHOR: uninitialised
/// Sums a tile of which the threads behind the end of the input have written nothing.
///
/// # Safety
/// The block has 64 threads, and the pointers are to n elements.
#[kernel]
pub unsafe fn uninitialised_tail(input: *const f32, output: *mut f32, n: u32) {
    let tile = shared_array![f32; 64];
    let i = thread::thread_idx_x() as usize;
    // SAFETY: in bounds.
    unsafe {
        if i < n as usize {
            *tile.add(i) = *input.add(i);
        }
        thread::sync_threads();
        let other = *tile.add(63 - i); //@ uninitialised_tail
        if i < n as usize {
            *output.add(i) = other;
        }
    }
}
// ANCHOR_END: uninitialised

/// Adds to an output that was not set to zero.
///
/// # Safety
/// The pointers are to as many elements as there are threads.
#[kernel]
pub unsafe fn uninitialised_accumulator(input: *const f32, output: *mut f32) {
    let i = thread::index_1d() as usize;
    // SAFETY: in bounds.
    unsafe {
        let sum = *output.add(i); //@ uninitialised_accumulator
        *output.add(i) = sum + *input.add(i);
    }
}

// ANCHOR: divergent
/// Half of a warp waits, the other half goes on.
///
/// # Safety
/// The block has 32 threads, and the pointer is to as many elements.
#[kernel]
pub unsafe fn barrier_in_divergent_code(output: *mut u32) {
    let i = thread::thread_idx_x();
    if i < 16 {
        thread::sync_threads();
    }
    // SAFETY: in bounds.
    unsafe { *output.add(i as usize) = i }; //@ barrier_in_divergent_code
}
// ANCHOR_END: divergent

/// Threads without work leave before the barrier, which is allowed.
///
/// # Safety
/// The pointer is to n elements.
#[kernel]
pub unsafe fn sound_early_return(output: *mut u32, n: u32) {
    let i = thread::index_1d();
    if i >= n {
        return;
    }
    thread::sync_threads();
    // SAFETY: in bounds.
    unsafe { *output.add(i as usize) = i };
}

// ANCHOR: deadlock
/// Half of a warp waits at the barrier, the other half for all lanes of the warp.
///
/// # Safety
/// The block has 32 threads, and the pointer is to as many elements.
#[kernel]
pub unsafe fn deadlock(output: *mut u32) {
    let i = thread::thread_idx_x();
    if i < 16 {
        thread::sync_threads();
    } else {
        // SAFETY: the lanes below 16 never come.
        unsafe { warp::sync_warp(warp::FULL_MASK) };
    }
    // SAFETY: in bounds.
    unsafe { *output.add(i as usize) = i };
}
// ANCHOR_END: deadlock

/// All lanes shuffle, half of them are in the mask.
///
/// # Safety
/// The block has 32 threads, and the pointer is to as many elements.
#[kernel]
pub unsafe fn shuffle_outside_of_its_mask(output: *mut u32) {
    let i = thread::thread_idx_x();
    // SAFETY: not given.
    unsafe {
        let (value, _) = warp::warp_shuffle_xor(0xffff, i, 1, 32);
        *output.add(i as usize) = value;
    }
}

// ANCHOR: inactive
/// Half of a warp shuffles, and reads from the other half.
///
/// # Safety
/// The block has 32 threads, and the pointer is to as many elements.
#[kernel]
pub unsafe fn shuffle_from_inactive_lanes(output: *mut u32) {
    let i = thread::thread_idx_x();
    if i < 16 {
        // SAFETY: not given.
        unsafe {
            let (value, _) = warp::warp_shuffle_xor(0xffff, i, 16, 32);
            *output.add(i as usize) = value;
        }
    }
}
// ANCHOR_END: inactive

// ANCHOR: exchange
/// Lanes exchange values through shared memory.
///
/// # Safety
/// The block has 32 threads, and the pointer is to as many elements.
#[inline(always)]
unsafe fn exchange<const SYNC: bool>(output: *mut u32) {
    let tile = shared_array![u32; 32];
    let i = thread::thread_idx_x() as usize;
    // SAFETY: in bounds; not free of races without the barrier.
    unsafe {
        *tile.add(i) = i as u32; //@ exchange write
        if SYNC {
            warp::sync_warp(warp::FULL_MASK);
        }
        *output.add(i) = *tile.add(i ^ 1); //@ exchange read
    }
}
// ANCHOR_END: exchange

/// The lanes of a warp exchange values without a barrier of the warp.
///
/// # Safety
/// The block has 32 threads, and the pointer is to as many elements.
#[kernel]
pub unsafe fn missing_warp_barrier(output: *mut u32) {
    // SAFETY: the block has 32 threads, and the pointer is to as many elements.
    unsafe { exchange::<false>(output) };
}

/// They exchange values as they should.
///
/// # Safety
/// The block has 32 threads, and the pointer is to as many elements.
#[kernel]
pub unsafe fn sound_warp_exchange(output: *mut u32) {
    // SAFETY: the block has 32 threads, and the pointer is to as many elements.
    unsafe { exchange::<true>(output) };
}

// ANCHOR: block_offset
/// All blocks write to the elements of the first.
///
/// # Safety
/// The pointer is to as many elements as a block has threads.
#[kernel]
pub unsafe fn missing_block_offset(output: *mut u32) {
    let i = thread::thread_idx_x() as usize;
    // SAFETY: in bounds.
    unsafe { *output.add(i) = i as u32 }; //@ missing_block_offset
}
// ANCHOR_END: block_offset

// ANCHOR: histogram
/// Counts with plain additions.
///
/// # Safety
/// `input` is to as many elements as there are threads, all below 8; `counts` to 8.
#[kernel]
pub unsafe fn plain_histogram(input: *const u32, counts: *mut u32) {
    let i = thread::index_1d() as usize;
    // SAFETY: in bounds.
    unsafe {
        let count = counts.add(*input.add(i) as usize);
        *count += 1; //@ plain_histogram
    }
}
// ANCHOR_END: histogram

// ANCHOR: sound_histogram
/// Counts with atomic additions.
///
/// # Safety
/// As [`plain_histogram`].
#[kernel]
pub unsafe fn sound_histogram(input: *const u32, counts: *mut u32) {
    let i = thread::index_1d() as usize;
    // SAFETY: in bounds and aligned.
    unsafe {
        let count = AtomicU32::from_ptr(counts.add(*input.add(i) as usize));
        count.fetch_add(1, Ordering::Relaxed);
    }
}
// ANCHOR_END: sound_histogram

/// Each block writes a partial sum; the last one to finish adds them up.
///
/// # Safety
/// `partial` is to as many elements as there are blocks, `finished` to one 0, `total` to one
/// element.
#[kernel]
pub unsafe fn sound_last_block(partial: *mut u32, finished: *mut u32, total: *mut u32) {
    let (block, blocks) = (thread::block_idx_x(), thread::grid_dim_x());
    // SAFETY: in bounds; the fences and the counter order the partial sums before their sum.
    unsafe {
        *partial.add(block as usize) = block + 1;
        thread::device_fence();
        let before = AtomicU32::from_ptr(finished).fetch_add(1, Ordering::Relaxed);
        if before == blocks - 1 {
            thread::device_fence();
            *total = (0..blocks).map(|i| *partial.add(i as usize)).sum();
        }
    }
}
