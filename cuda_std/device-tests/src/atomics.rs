//! Atomic types of each scope.

use super::put;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use cuda_std::atomic::{
    AtomicF32, AtomicF64, AtomicI32, AtomicI64, AtomicU32, AtomicU64, BlockAtomicF32,
    BlockAtomicU32, SystemAtomicF64, SystemAtomicI64, SystemAtomicU32,
};
use cuda_std::prelude::*;

/// Every operation of a device's atomics by every thread of the grid.
///
/// # Safety
/// Each parameter points to one element; `before` has two for each thread of the grid.
#[kernel]
pub unsafe fn device_atomics(
    count: &AtomicU32,
    signed: &AtomicI32,
    wide: &AtomicU64,
    wide_signed: &AtomicI64,
    single: &AtomicF32,
    double: &AtomicF64,
    before: *mut u32,
) {
    let i = thread::index();
    // SAFETY: two columns.
    unsafe { put(before, 2, 0, count.fetch_add(1, SeqCst)) };
    signed.fetch_min(-(i as i32), Relaxed);
    wide.fetch_or(1 << (i % 64), Release);
    wide_signed.fetch_max(i64::from(i) << 32, Acquire);
    single.fetch_sub(0.5, AcqRel);
    // A sum by compare-and-exchange.
    let mut old = double.load(Relaxed);
    while let Err(now) = double.compare_exchange(old, old + 2.0, AcqRel, Acquire) {
        old = now;
    }
    // SAFETY: two columns.
    unsafe { put(before, 2, 1, old as u32) };
}

/// Counts in shared memory with a block's atomics, and in global memory with a system's.
///
/// # Safety
/// Each parameter points to one element.
#[kernel]
pub unsafe fn scoped_atomics(
    total: &SystemAtomicU32,
    all_bits: &SystemAtomicI64,
    sum: &SystemAtomicF64,
) {
    let shared = shared_array![u32; 2];
    let i = thread::thread_idx_x();
    // SAFETY: one thread initialises both before the barrier; afterwards all accesses are atomic.
    // All threads that use them are of one block.
    unsafe {
        if i == 0 {
            shared.cast::<[u32; 2]>().write([0, 0]);
        }
        thread::sync_threads();
        let count = &*shared.cast::<BlockAtomicU32>();
        let float = &*shared.add(1).cast::<BlockAtomicF32>();
        count.fetch_add(i, AcqRel);
        float.fetch_add(1.0, Relaxed);
        thread::sync_threads();
        if i == 0 {
            total.fetch_add(count.load(Acquire), SeqCst);
            all_bits.fetch_xor(1 << thread::block_idx_x(), Release);
            sum.fetch_add(f64::from(float.swap(0.0, Relaxed)), Relaxed);
            float.store(3.0, Release);
        }
    }
}

/// A thread publishes a value, and others wait for it: release and acquire.
///
/// # Safety
/// `flag` points to one element that holds 0, `data` to one and `seen` to one for each block.
#[kernel]
pub unsafe fn message(flag: &AtomicU32, data: *mut u32, seen: *mut u32) {
    let block = thread::block_idx_x();
    // SAFETY: the first block writes before it releases; the others read after they have acquired.
    unsafe {
        if block == 0 {
            data.write(42);
            flag.store(1, Release);
        }
        while flag.load(Acquire) == 0 {}
        seen.add(block as usize).write(data.read());
    }
}
