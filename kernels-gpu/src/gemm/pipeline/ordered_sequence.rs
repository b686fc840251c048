//! Ordered sequence: two warpgroups multiply in turn.
//!
//! A barrier for each warpgroup says that its turn has come. With its last MMAs in flight, a
//! warpgroup arrives at the other's.
//!
//! # Source
//! CUTLASS, `OrderedSequenceBarrier`, of its ping-pong kernels.

use cuda_std::async_copy::SharedAddress;
use cuda_std::mbarrier::Barrier;
use cuda_std::prelude::*;

/// Warps of a warpgroup.
const WARPS: u32 = 4;

/// The sequence's state in one of the warpgroups.
#[derive(Clone, Copy)]
pub struct OrderedSequence {
    own: Barrier,
    other: Barrier,
    /// The parity of the phase to wait for.
    parity: u32,
}

impl OrderedSequence {
    /// Bytes of shared memory.
    pub const BYTES: usize = 2 * Barrier::BYTES as usize;

    /// The state at the first turn, which is that of warpgroup 0, in warpgroup `index` of the two.
    #[inline(always)]
    pub fn new(base: SharedAddress, index: u32) -> Self {
        let barrier = |index: u32| Barrier::new(base.at(index * Barrier::BYTES));
        OrderedSequence {
            own: barrier(index),
            other: barrier(index ^ 1),
            // The phase before the first one counts as complete.
            parity: index ^ 1,
        }
    }

    /// Initialises the barriers.
    ///
    /// # Safety
    /// One thread of the block calls this, before any other use of the barriers, and a barrier of
    /// the block lies in between. `base` is a multiple of 8, with [`BYTES`](Self::BYTES) bytes.
    #[inline(always)]
    pub unsafe fn init(base: SharedAddress) {
        let sequence = Self::new(base, 0);
        // SAFETY: the contract is that of this function.
        unsafe {
            sequence.own.init(WARPS);
            sequence.other.init(WARPS);
        }
    }

    /// Waits for this warpgroup's turn.
    ///
    /// # Safety
    /// The barriers are initialised. All threads of the warpgroup call this, and
    /// [`arrive`](Self::arrive) after it.
    #[inline(always)]
    pub unsafe fn wait(&mut self) {
        // SAFETY: the contract says that the barrier is initialised. Its parity is unambiguous: the
        // other warpgroup arrives again only after it has had a turn, which this one's ends.
        unsafe { self.own.try_wait_loop(self.parity) };
        self.parity ^= 1;
    }

    /// Ends this warpgroup's turn.
    ///
    /// # Safety
    /// As for [`wait`](Self::wait).
    #[inline(always)]
    pub unsafe fn arrive(&self) {
        if warp::lane_id() == 0 {
            // SAFETY: the contract says that the barrier is initialised; each warp arrives once a
            // turn.
            unsafe { self.other.arrive() };
        }
    }
}
