//! A ring of stages in shared memory, each with a barrier for "full" and one for "empty".
//!
//! Every thread fills and every warp reads. A thread that fills waits until all warps have left the stage, one that reads
//! waits until the copies of all threads have arrived; nobody waits for the block.

use super::operand::PADDING;
use cuda_std::async_copy::SharedAddress;
use cuda_std::mbarrier::Barrier;
use cuda_std::prelude::*;

/// Bytes of shared memory for `stages` stages of a tile of each operand, and their barriers.
pub const fn shared_bytes<T>([rows, columns, depth]: [usize; 3], stages: usize) -> usize {
    stages * (depth * (rows + columns + 2 * PADDING) * size_of::<T>() + 2 * Barrier::BYTES as usize)
}

/// The ring of stages: which one is next to be filled, and which one to be read.
pub struct Ring<const STAGES: usize> {
    full: SharedAddress,
    empty: SharedAddress,
    /// The stage that is next to be filled.
    pub write: u32,
    /// Parity of the phase in which the stage that is next to be filled became empty. A new barrier counts as one phase
    /// behind, so the first round does not wait.
    write_parity: u32,
    /// The stage that is next to be read.
    pub read: u32,
    read_parity: u32,
}

impl<const STAGES: usize> Ring<STAGES> {
    /// A ring whose barriers lie at `place`, filled by all threads and emptied by all warps. The whole block calls it.
    ///
    /// # Safety
    /// There are 2 · `STAGES` barriers' bytes of shared memory, aligned to 8, that nobody else uses; the block has `threads`
    /// threads.
    #[inline(always)]
    pub unsafe fn new(place: SharedAddress, threads: u32) -> Self {
        let full = place;
        let empty = place.at(Barrier::BYTES * STAGES as u32);
        if thread::thread_idx_x() == 0 {
            for stage in 0..STAGES as u32 {
                // SAFETY: the caller ensures the memory; the barrier below orders this before any use.
                unsafe {
                    Barrier::new(full.at(Barrier::BYTES * stage)).init(threads);
                    Barrier::new(empty.at(Barrier::BYTES * stage)).init(threads / 32);
                }
            }
        }
        thread::sync_threads();
        Ring {
            full,
            empty,
            write: 0,
            write_parity: 1,
            read: 0,
            read_parity: 0,
        }
    }

    /// Waits until the stage that is next to be filled is empty.
    ///
    /// # Safety
    /// The ring is of this block.
    #[inline(always)]
    pub unsafe fn wait_empty(&self) {
        // SAFETY: initialised; a thread is at most one phase behind, because it arrives for each.
        unsafe { Barrier::new(self.empty.at(Barrier::BYTES * self.write)).wait(self.write_parity) }
    }

    /// Hands the stage over once this thread's copies have arrived.
    ///
    /// # Safety
    /// The thread waited for the stage, and calls this once for it, after its copies.
    #[inline(always)]
    pub unsafe fn filled(&mut self) {
        // SAFETY: each thread arrives once in each phase.
        unsafe { Barrier::new(self.full.at(Barrier::BYTES * self.write)).cp_async_arrive_noinc() };
        self.write += 1;
        if self.write == STAGES as u32 {
            self.write = 0;
            self.write_parity ^= 1;
        }
    }

    /// Waits until the stage that is next to be read is full.
    ///
    /// # Safety
    /// The ring is of this block.
    #[inline(always)]
    pub unsafe fn wait_full(&self) {
        // SAFETY: as for `wait_empty`.
        unsafe { Barrier::new(self.full.at(Barrier::BYTES * self.read)).wait(self.read_parity) }
    }

    /// Waits until the stage that is next to be read is full, and the one that is next to be filled is empty: in one loop,
    /// because `ptxas` lets all work in flight end before each.
    ///
    /// # Safety
    /// The ring is of this block.
    #[inline(always)]
    pub unsafe fn wait_both(&self) {
        let full = Barrier::new(self.full.at(Barrier::BYTES * self.read));
        let empty = Barrier::new(self.empty.at(Barrier::BYTES * self.write));
        // SAFETY: as for `wait_empty` and `wait_full`.
        while !unsafe { full.test_wait(self.read_parity) & empty.test_wait(self.write_parity) } {}
    }

    /// Goes on to read the next stage.
    #[inline(always)]
    pub fn next(&mut self) {
        self.read += 1;
        if self.read == STAGES as u32 {
            self.read = 0;
            self.read_parity ^= 1;
        }
    }

    /// Gives `stage` back; the whole warp calls it.
    ///
    /// # Safety
    /// The warp has read what it needs of the stage, and calls this once for it.
    #[inline(always)]
    pub unsafe fn emptied(&self, stage: u32) {
        // SAFETY: the caller ensures that the whole warp is here.
        unsafe { warp::sync_warp(u32::MAX) };
        if warp::lane_id() == 0 {
            // SAFETY: each warp arrives once in each phase.
            unsafe { Barrier::new(self.empty.at(Barrier::BYTES * stage)).arrive() }
        }
    }
}
