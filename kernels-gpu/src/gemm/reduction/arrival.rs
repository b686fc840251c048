//! Which block is the last to arrive at a tile, and sees the partial sums of all others.

use cuda_std::atomic;
use cuda_std::prelude::*;
use cuda_std::wgmma;

/// Threads of a warpgroup.
const WARPGROUP: u32 = 128;

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
