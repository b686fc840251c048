//! The fix-up of a stream-K tile by the last of its blocks to arrive.
//!
//! # Idea
//! A GPU computes tiles in waves, and the last wave is seldom full: 512 tiles on 132 SMs take four
//! waves, of which 3 % is idle. Stream-K splits the tiles of the last wave along k, so that the
//! idle SMs compute a work unit of each. The partial sums of several blocks must then be added up.
//! No block waits for that. Each one stores its partial sums to the workspace and counts itself,
//! and the last to arrive adds up all of them, in the order of the splits. So the result does not
//! depend on which block that is. That block alone has an epilogue.
//!
//! # Source
//! Beyond the sources. Osama et al., "Stream-K: Work-centric Parallel Decomposition for Dense
//! Matrix-Matrix Multiplication on the GPU", 2023, split the last waves too; there the blocks of a
//! tile wait for each other.

use crate::gemm::reduction::partial_sums::{Accumulators, PartialSums};
use crate::gemm::scheduler::Split;
use crate::gemm::scheduler::grid::GridSchedulerParams;
use cuda_std::atomic;
use cuda_std::prelude::*;
use cuda_std::wgmma;

/// Bytes of the arrival counters of the SIMT and `mma.sync` kernels, which lie before the partial
/// sums: 4 for each stream-K tile. They are zero between launches.
pub const COUNTER_BYTES: usize = 1 << 15;

/// The most stream-K tiles: 8,192.
pub const MAX_STREAM_K_TILES: u32 = (COUNTER_BYTES / size_of::<u32>()) as u32;

/// Threads of a block that store partial sums together.
pub trait ThreadGroup {
    /// A barrier of these threads.
    ///
    /// # Safety
    /// All threads of the group execute it together.
    unsafe fn sync(&self);

    /// Whether this thread is the first of them.
    fn is_first_thread(&self) -> bool;
}

/// All threads of the block.
pub struct Block;

impl ThreadGroup for Block {
    #[inline(always)]
    unsafe fn sync(&self) {
        thread::sync_threads();
    }

    #[inline(always)]
    fn is_first_thread(&self) -> bool {
        thread::thread_idx_x() == 0
    }
}

/// One warpgroup of the block.
pub struct Warpgroup {
    /// The number of a named barrier of this warpgroup alone.
    pub barrier: u32,
}

impl ThreadGroup for Warpgroup {
    #[inline(always)]
    unsafe fn sync(&self) {
        // SAFETY: all 128 threads of the warpgroup execute it by the contract.
        unsafe { wgmma::sync(self.barrier) };
    }

    #[inline(always)]
    fn is_first_thread(&self) -> bool {
        const WARPGROUP: u32 = 128;
        thread::thread_idx_x().is_multiple_of(WARPGROUP)
    }
}

/// Counts the group at `counter`, and returns whether it is the last of `arrivals`. What the others
/// stored before is then visible to all of its threads, and the counter is zero again. All threads
/// of the group call it. It overwrites `flag`, a word of shared memory.
///
/// The barriers order the group's stores before its count, and its loads behind it. The count has
/// acquire and release semantics among the threads of the device (PTX ISA, "Memory Consistency
/// Model", causality order).
///
/// # Safety
/// `counter` is a word of device memory that is zero before the launch and that only these groups
/// access. No thread accesses `flag` meanwhile. All threads of the group execute it together.
#[inline(always)]
pub unsafe fn is_last(
    group: &impl ThreadGroup,
    counter: *mut u32,
    arrivals: u32,
    flag: *mut u32,
) -> bool {
    // SAFETY: the contract says that both words are there and that all threads of the group are.
    // The barriers lie between the accesses of different threads to `flag`.
    unsafe {
        group.sync();
        if group.is_first_thread() {
            let last = atomic::count(counter) + 1 == arrivals;
            if last {
                // No other group arrives: the counter is ready for the next launch.
                *counter = 0;
            }
            *flag = last as u32;
        }
        group.sync();
        // All lanes load the same flag. The vote tells the compiler that they do.
        warp::warp_vote_any(warp::FULL_MASK, *flag != 0)
    }
}

/// Counts a group that has stored its partial sums. Of the last group to arrive, the accumulators
/// become the sums over all splits. Returns whether it is that group.
///
/// # Safety
/// As for [`is_last`]. The group has stored `partial_sums`, of which these are the accumulators.
#[inline(always)]
pub unsafe fn fix_up<A: Accumulators, const THREADS: usize>(
    group: &impl ThreadGroup,
    partial_sums: &PartialSums<A::Element, THREADS>,
    accumulators: &mut A,
    counter: *mut u32,
    flag: *mut u32,
) -> bool {
    // SAFETY: the contract is that of `is_last`. The last group finds what all others stored.
    unsafe {
        let is_last = is_last(group, counter, partial_sums.splits(), flag);
        if is_last {
            partial_sums.reduce(accumulators);
        }
        is_last
    }
}

/// The fix-up of a whole block of `THREADS` threads, whose tile may be a stream-K tile. Returns
/// whether the accumulators are complete: the block's tile is data-parallel, or the block is the
/// last to arrive. All threads of the block call it. It overwrites `flag`, a word of shared memory.
///
/// `one` is 1 as a number that the compiler does not know. Partial sums are stored as its multiples
/// because the accumulators, to be stored as they are, would have to lie in neighbouring registers:
/// see [`OutputOp::scale`](crate::gemm::epilogue::output_op::OutputOp::scale).
///
/// # Safety
/// The workspace has the partial sums of all stream-K tiles, and [`COUNTER_BYTES`] before them that
/// are zero before the launch. No thread accesses `flag` after the block's first barrier in here.
#[inline(always)]
pub unsafe fn fix_up_block<A: Accumulators, const THREADS: usize>(
    scheduler: &GridSchedulerParams,
    accumulators: &mut A,
    one: A::Element,
    workspace: *mut A::Element,
    flag: *mut u32,
) -> bool {
    let Some(split) = Split::of_this_block(scheduler) else {
        return true;
    };
    let partial_sums = PartialSums::<_, THREADS>::new(workspace, split, [0, 1], A::COUNT);
    let counters = workspace.wrapping_byte_sub(COUNTER_BYTES).cast::<u32>();
    let counter = counters.wrapping_add(split.tile as usize);
    // SAFETY: the contract says that the counters lie there, one for each stream-K tile, and that
    // the workspace has the partial sums.
    unsafe {
        partial_sums.store(accumulators, one);
        fix_up(&Block, &partial_sums, accumulators, counter, flag)
    }
}
