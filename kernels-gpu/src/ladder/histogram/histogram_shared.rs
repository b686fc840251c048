//! `histogram_shared`: a histogram for each block, in shared memory.
//!
//! # Idea
//! A block counts its own elements, in shared memory, where atomics are near and queues are those
//! of one block. Then it adds its 256 counts to the output: 256 atomics in global memory for 4,096
//! elements instead of 4,096. The copy of what is shared is called *private* to the block.
//!
//! # Thread mapping
//! Block b has elements 4,096 b to 4,096 b + 4,095. In load i of four, thread t has those from
//! 4 (t + 256 i) on. Thread t clears bin t and adds it to the output.
//!
//! # Preconditions
//! At most 2³² - 1 elements; the input is aligned to 16 bytes (every allocation is). The output is
//! cleared before.
//!
//! # What changed since the rung before
//! Against `histogram_global`: counts of a block, and 16 elements a thread.
//!
//! # Source
//! Beyond the sources. Podlozhnyuk, "Histogram calculation in CUDA", 2007.

use super::{BLOCK, VECTORS, VECTORS_BLOCK, bin};
use crate::geometry::Geometry;
use crate::ladder::block::{VECTOR, load_or};
use core::sync::atomic::Ordering::Relaxed;
use cuda_std::atomic::{AtomicU32, BlockAtomicU32};
use cuda_std::prelude::*;
use cuda_std::vector::U32x4;

/// 256 threads for 4,096 elements.
pub const GEOMETRY: Geometry = Geometry::Linear {
    block: BLOCK as u32,
    elements: VECTORS_BLOCK as u32,
};

// ANCHOR: body
/// Counts the block's elements by `count`, which is told the bins, whether an element is there, and
/// its bin; then adds the bins to the output.
///
/// # Safety
/// As for [`histogram_shared`]. All threads of the block execute it together.
#[inline(always)]
pub(super) unsafe fn body(
    input: &[u32],
    output: *const AtomicU32,
    count: impl Fn(*const BlockAtomicU32, bool, usize),
) {
    let bins = shared_array![u32; super::BINS];
    let t = thread::thread_idx_x() as usize;
    let first = thread::block_idx_x() as usize * VECTORS_BLOCK;
    // SAFETY: each thread has a bin of its own before the first and after the second barrier, and
    // accesses are atomic between them. Loads begin at multiples of four.
    unsafe {
        *bins.add(t) = 0;
        thread::sync_threads();
        for i in 0..VECTORS {
            let from = first + (t + i * BLOCK) * VECTOR;
            let elements = load_or::<U32x4, u32>(input, from, 0);
            for e in 0..VECTOR {
                count(
                    bins.cast_const().cast(),
                    from + e < input.len(),
                    bin(elements[e]),
                );
            }
        }
        thread::sync_threads();
        let counted = *bins.add(t);
        if counted > 0 {
            (*output.add(t)).fetch_add(counted, Relaxed);
        }
    }
}
// ANCHOR_END: body

// ANCHOR: kernel
/// Counts all elements.
///
/// # Safety
/// As for [`histogram_global`](super::histogram_global::histogram_global), with the [`GEOMETRY`]
/// here; `input` is aligned to 16 bytes.
#[kernel(max_threads = BLOCK as u32, min_blocks = 1)]
pub unsafe fn histogram_shared(input: &[u32], output: *const AtomicU32) {
    // SAFETY: all threads of the block are here. Bins are inside of the array, which is accessed
    // atomically by this block alone.
    unsafe {
        body(input, output, |bins, is_there, bin| {
            if is_there {
                (*bins.add(bin)).fetch_add(1, Relaxed);
            }
        });
    }
}
// ANCHOR_END: kernel
