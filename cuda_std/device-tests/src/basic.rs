//! What every supported GPU runs.

use super::put;
use core::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering};
use cuda_std::atomic::AtomicFloat;
use cuda_std::float16::{FromWide, Widen, bf16, f16};
use cuda_std::prelude::*;
use cuda_std::vector::{F32x2, F32x4, F64x2, U32x2, U32x4, Vector};
use cuda_std::{hint, shared};

/// Every index function, 16 columns a thread.
///
/// # Safety
/// `output` has 16 elements for each thread of the grid.
#[kernel]
pub unsafe fn indices(output: *mut u32) {
    let (t, b, bd, gd) = (
        thread::thread_idx(),
        thread::block_idx(),
        thread::block_dim(),
        thread::grid_dim(),
    );
    let index = thread::index_3d();
    let values = [
        t.x,
        t.y,
        t.z,
        b.x,
        b.y,
        b.z,
        bd.x,
        bd.y,
        bd.z,
        gd.x,
        gd.y,
        gd.z,
        index.x,
        index.y,
        index.z,
        thread::first() as u32,
    ];
    for (column, value) in values.into_iter().enumerate() {
        // SAFETY: 16 columns.
        unsafe { put(output, 16, column as u32, value) };
    }
}

/// Reverses a block through shared memory: once through each of two static arrays, once through
/// dynamic shared memory. 3 columns a thread.
///
/// # Safety
/// One block of 64 threads with 256 bytes of dynamic shared memory; `output` has 192 elements.
#[kernel(max_threads = 64, min_blocks = 2, max_registers = 64)]
pub unsafe fn shared_arrays(output: *mut u32) {
    let first = shared_array![u32; 64];
    let second = shared_array![u32; 64];
    let dynamic = shared::dynamic_shared_mem::<u32>();
    let i = thread::thread_idx_x();
    // SAFETY: 64 elements in each array, each thread writes its own and reads after the barrier.
    unsafe {
        *first.add(i as usize) = i;
        *second.add(i as usize) = 100 + i;
        *dynamic.add(i as usize) = 200 + i;
        thread::sync_threads();
        put(output, 3, 0, *first.add(63 - i as usize));
        put(output, 3, 1, *second.add(63 - i as usize));
        put(output, 3, 2, *dynamic.add(63 - i as usize));
    }
}

/// Barriers that reduce a predicate, fences and sleep. 3 columns a thread.
///
/// # Safety
/// `output` has 3 elements for each thread of the grid.
#[kernel]
pub unsafe fn barriers(output: *mut u32) {
    let i = thread::thread_idx_x();
    let count = thread::sync_threads_count(u32::from(i.is_multiple_of(3)));
    let all = thread::sync_threads_and(u32::from(i < 1000));
    let any = thread::sync_threads_or(u32::from(i == 1000));
    thread::block_fence();
    thread::device_fence();
    thread::grid_fence();
    thread::system_fence();
    thread::nanosleep(10);
    // SAFETY: 3 columns.
    unsafe {
        put(output, 3, 0, count);
        put(output, 3, 1, all);
        put(output, 3, 2, any);
    }
}

/// Shuffles of every value type in sub-warps of 8 lanes and in the whole warp, with their
/// predicates. 9 columns a thread.
///
/// # Safety
/// Blocks of whole warps; `output` has 9 elements for each thread of the grid.
#[kernel]
pub unsafe fn shuffles(output: *mut u32) {
    let lane = warp::lane_id();
    let all = warp::FULL_MASK;
    // SAFETY: every lane executes this.
    unsafe {
        let (up, has_up) = warp::warp_shuffle_up(all, lane, 3, 8);
        let (down, has_down) = warp::warp_shuffle_down(all, lane as i32, 3, 8);
        let (xor, _) = warp::warp_shuffle_xor(all, f64::from(lane) + 0.5, 16, warp::WARP_SIZE);
        let (index, _) = warp::warp_shuffle_idx(all, u64::from(lane) << 33, 5, 8);
        let (float, _) = warp::warp_shuffle_idx(all, lane as f32, 31 - lane, warp::WARP_SIZE);
        let (signed, _) = warp::warp_shuffle_xor(all, -i64::from(lane), 1, warp::WARP_SIZE);
        warp::sync_warp(all);
        put(output, 9, 0, lane);
        put(output, 9, 1, up);
        put(output, 9, 2, u32::from(has_up));
        put(output, 9, 3, down as u32);
        put(output, 9, 4, u32::from(has_down));
        put(output, 9, 5, (xor * 2.0) as u32);
        put(output, 9, 6, (index >> 33) as u32);
        put(output, 9, 7, float as u32);
        put(output, 9, 8, -signed as u32);
    }
}

/// Votes and matches, also in a part of the warp. 6 columns a thread.
///
/// # Safety
/// Blocks of whole warps; `output` has 6 elements for each thread of the grid.
#[kernel]
pub unsafe fn votes(output: *mut u32) {
    let lane = warp::lane_id();
    let all = warp::FULL_MASK;
    // SAFETY: every lane executes the first four; the lanes below 16 the last two.
    unsafe {
        put(output, 6, 0, u32::from(warp::warp_vote_all(all, lane < 32)));
        put(
            output,
            6,
            1,
            u32::from(warp::warp_vote_any(all, lane == 40)),
        );
        put(output, 6, 2, u32::from(warp::warp_vote_eq(all, lane < 16)));
        put(output, 6, 3, warp::warp_match_any(all, lane % 4));
        if lane < 16 {
            put(
                output,
                6,
                4,
                warp::warp_vote_ballot(0xffff, lane.is_multiple_of(2)),
            );
            put(output, 6, 5, warp::activemask());
        } else {
            put(output, 6, 4, 0);
            put(output, 6, 5, 0);
        }
    }
}

/// `GpuFloat` in both precisions, 8 columns a thread: fused multiply-add, square root, roundings, a
/// quotient and the absolute value of `input[i]`.
///
/// # Safety
/// `input` has an element for each thread of the grid; `output` and `output_f64` have 8.
#[kernel]
pub unsafe fn floats(input: &[f32], output: *mut f32, output_f64: *mut f64) {
    #[inline(always)]
    unsafe fn functions<T: GpuFloat>(x: T, output: *mut T) {
        let values = [
            x.mul_add(x, -(x * x)),
            (x * x).sqrt(),
            x.floor(),
            x.ceil(),
            x.trunc(),
            x.round_ties_even(),
            (T::ONE - x) / x,
            if x < T::ZERO { -x } else { x },
        ];
        for (column, value) in values.into_iter().enumerate() {
            // SAFETY: 8 columns.
            unsafe { put(output, 8, column as u32, value) };
        }
    }
    // SAFETY: the arrays have the sizes that the contract states.
    unsafe {
        let x = *input.get_unchecked(thread::index() as usize);
        functions(x, output);
        functions(f64::from(x), output_f64);
    }
}

/// Reads vectors of floats and writes them with their elements reversed: 64 and 128 bits, and
/// through shared memory.
///
/// # Safety
/// One block of 32 threads; `input` and `output` have 4 × 32 elements each, `input_f64` and
/// `output_f64` 2 × 32, and all are 16-byte aligned.
#[kernel]
pub unsafe fn float_vectors(
    input: &[f32],
    output: *mut f32,
    input_f64: &[f64],
    output_f64: *mut f64,
) {
    let staged = shared_array![f32; 128];
    let i = thread::thread_idx_x() as usize;
    // SAFETY: the arrays have the sizes and the alignment that the contract states.
    unsafe {
        F32x4::store(staged.add(4 * i), F32x4::load(input.as_ptr().add(4 * i)));
        thread::sync_threads();
        let [a, b, c, d] = F32x4::load(staged.add(4 * (31 - i)));
        F32x2::store(output.add(4 * i), [d, c]);
        F32x2::store(output.add(4 * i + 2), [b, a]);
        let [low, high] = F64x2::load(input_f64.as_ptr().add(2 * i));
        F64x2::store(output_f64.add(2 * i), [high, low]);
    }
}

/// Reads vectors of integers and writes them with their elements reversed: `quads` in 128 bits,
/// `pairs` in 64.
///
/// # Safety
/// One block of 32 threads; `quads` and `quads_out` have 4 × 32 elements, `pairs` and `pairs_out` 2
/// × 32, and all are 16-byte aligned.
#[kernel]
pub unsafe fn integer_vectors(
    quads: &[u32],
    quads_out: *mut u32,
    pairs: &[u32],
    pairs_out: *mut u32,
) {
    let i = thread::thread_idx_x() as usize;
    // SAFETY: the arrays have the sizes and the alignment that the contract states.
    unsafe {
        let [a, b, c, d] = U32x4::load(quads.as_ptr().add(4 * i));
        U32x4::store(quads_out.add(4 * i), [d, c, b, a]);
        let [low, high] = U32x2::load(pairs.as_ptr().add(2 * i));
        U32x2::store(pairs_out.add(2 * i), [high, low]);
    }
}

/// Every thread of the grid adds 1 to a counter of each type and keeps what was there before, 3
/// columns a thread; and puts its number into a least and a greatest one.
///
/// # Safety
/// `count`, `sum` and `sum_f64` point to one element each, which holds 0; `before` has 3 elements
/// for each thread of the grid.
#[kernel]
pub unsafe fn atomics(
    count: &AtomicU32,
    sum: *mut f32,
    sum_f64: *mut f64,
    least: &AtomicI32,
    greatest: &AtomicU64,
    before: *mut u32,
) {
    let i = thread::index();
    least.fetch_min(-(i as i32), Ordering::Relaxed);
    greatest.fetch_max(u64::from(i) << 32, Ordering::Relaxed);
    // SAFETY: the pointers are those that the contract states; 3 columns.
    unsafe {
        put(before, 3, 0, count.fetch_add(1, Ordering::Relaxed));
        put(before, 3, 1, f32::atomic_add(sum, 1.0) as u32);
        put(before, 3, 2, f64::atomic_add(sum_f64, 1.0) as u32);
    }
}

/// The sum of the numbers of a block's threads, in shared memory.
///
/// # Safety
/// `output` has an element for each block of the grid.
#[kernel]
pub unsafe fn shared_atomics(output: *mut f32) {
    let sum = shared_array![f32; 1];
    let i = thread::thread_idx_x();
    // SAFETY: barriers separate the first thread's accesses from the additions.
    unsafe {
        if i == 0 {
            *sum = 0.0;
        }
        thread::sync_threads();
        f32::atomic_add(sum, i as f32);
        thread::sync_threads();
        if i == 0 {
            *output.add(thread::block_idx_x() as usize) = *sum;
        }
    }
}

/// An aggregate that is passed by value.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Pair {
    /// At byte 0.
    pub small: u32,
    /// At byte 8.
    pub large: f64,
}

/// Parameters of every kind: a slice that is changed, a reference, scalars, an aggregate.
///
/// # Safety
/// `output` has 4 elements.
#[kernel]
pub unsafe fn parameters(
    values: &mut [u32],
    factor: &u32,
    term: u32,
    pair: Pair,
    float: f32,
    double: f64,
    output: *mut f64,
) {
    if let Some(value) = values.get_mut(thread::index() as usize) {
        *value = *value * *factor + term;
    }
    if thread::first() {
        let scalars = [pair.small.into(), pair.large, float.into(), double];
        for (column, scalar) in scalars.into_iter().enumerate() {
            // SAFETY: 4 columns.
            unsafe { put(output, 4, column as u32, scalar) };
        }
    }
}

/// Stores `input[0]` three times, through an opaque index so that no store can be left out.
///
/// # Safety
/// `input` and `output` have one element.
#[kernel]
pub unsafe fn opaque(input: &[f32], output: *mut f32) {
    for _ in 0..3 {
        let index = hint::opaque(0);
        // SAFETY: the index is 0.
        unsafe { *output.add(index) = *input.get_unchecked(index) };
    }
}

/// Copies 8 elements in a loop that stays one.
///
/// # Safety
/// `input` and `output` have 8 elements.
#[kernel]
pub unsafe fn rolled(input: &[f32], output: *mut f32) {
    let mut i = 0;
    while i < 8 {
        // SAFETY: i is below 8.
        unsafe { *output.add(i) = *input.get_unchecked(i) };
        i = hint::rolled(i + 1);
    }
}

/// The numbers that 16 bits of each kind are.
///
/// # Safety
/// `output` has two columns for each element of `bits`.
#[kernel]
pub unsafe fn widen(bits: &[u16], output: *mut f32) {
    let i = thread::index() as usize;
    if let Some(&bits) = bits.get(i) {
        // SAFETY: two columns.
        unsafe {
            put(output, 2, 0, f16(bits).widen());
            put(output, 2, 1, bf16(bits).widen());
        }
    }
}

/// The bits of each kind that are nearest to numbers, the ones of bfloat16 in the upper half.
///
/// # Safety
/// `output` has as many elements as `wide`.
#[kernel]
pub unsafe fn from_wide(wide: &[f32], output: *mut u32) {
    let i = thread::index() as usize;
    if let Some(&wide) = wide.get(i) {
        let (half, bfloat) = (f16::from_wide(wide), bf16::from_wide(wide));
        // SAFETY: one column.
        unsafe { put(output, 1, 0, u32::from(half.0) | u32::from(bfloat.0) << 16) };
    }
}
