//! A pipeline of stages in shared memory, each with a barrier for "full" and one for "empty".
//!
//! Every thread fills and every warp reads. A thread that fills waits until all warps have left the stage, one that reads
//! waits until the copies of all threads have arrived; nobody waits for the block.

use crate::gemm::copy::PADDING;
use cuda_std::async_copy::SharedAddress;
use cuda_std::mbarrier::Barrier;
use cuda_std::prelude::*;

/// Bytes of shared memory for `stages` stages of a tile of each operand, and their barriers.
pub const fn shared_bytes<T>([rows, columns, depth]: [usize; 3], stages: usize) -> usize {
    stages * (depth * (rows + columns + 2 * PADDING) * size_of::<T>() + 2 * Barrier::BYTES as usize)
}

/// The pipeline of stages: which one is next to be producer_commit, and which one to be consumer_stage.
pub struct Pipeline<const STAGES: usize> {
    full: SharedAddress,
    empty: SharedAddress,
    /// The stage that is next to be producer_commit.
    pub producer_stage: u32,
    /// Parity of the phase in which the stage that is next to be producer_commit became empty. A new barrier counts as one phase
    /// behind, so the first round does not wait.
    producer_parity: u32,
    /// The stage that is next to be consumer_stage.
    pub consumer_stage: u32,
    consumer_parity: u32,
}

impl<const STAGES: usize> Pipeline<STAGES> {
    /// A pipeline whose barriers lie at `place`, producer_commit by all threads and consumer_release by all warps. The whole block calls it.
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
        Pipeline {
            full,
            empty,
            producer_stage: 0,
            producer_parity: 1,
            consumer_stage: 0,
            consumer_parity: 0,
        }
    }

    /// Waits until the stage that is next to be producer_commit is empty.
    ///
    /// # Safety
    /// The pipeline is of this block.
    #[inline(always)]
    pub unsafe fn producer_acquire(&self) {
        // SAFETY: initialised; a thread is at most one phase behind, because it arrives for each.
        unsafe {
            Barrier::new(self.empty.at(Barrier::BYTES * self.producer_stage))
                .wait(self.producer_parity)
        }
    }

    /// Hands the stage over once this thread's copies have arrived.
    ///
    /// # Safety
    /// The thread waited for the stage, and calls this once for it, after its copies.
    #[inline(always)]
    pub unsafe fn producer_commit(&mut self) {
        // SAFETY: each thread arrives once in each phase.
        unsafe {
            Barrier::new(self.full.at(Barrier::BYTES * self.producer_stage)).cp_async_arrive_noinc()
        };
        self.producer_stage += 1;
        if self.producer_stage == STAGES as u32 {
            self.producer_stage = 0;
            self.producer_parity ^= 1;
        }
    }

    /// Waits until the stage that is next to be consumer_stage is full.
    ///
    /// # Safety
    /// The pipeline is of this block.
    #[inline(always)]
    pub unsafe fn consumer_wait(&self) {
        // SAFETY: as for `producer_acquire`.
        unsafe {
            Barrier::new(self.full.at(Barrier::BYTES * self.consumer_stage))
                .wait(self.consumer_parity)
        }
    }

    /// Waits until the stage that is next to be consumer_stage is full, and the one that is next to be producer_commit is empty: in one loop,
    /// because `ptxas` lets all work in flight end before each.
    ///
    /// # Safety
    /// The pipeline is of this block.
    #[inline(always)]
    pub unsafe fn wait_for_both(&self) {
        let full = Barrier::new(self.full.at(Barrier::BYTES * self.consumer_stage));
        let empty = Barrier::new(self.empty.at(Barrier::BYTES * self.producer_stage));
        // SAFETY: as for `producer_acquire` and `consumer_wait`.
        while !unsafe {
            full.test_wait(self.consumer_parity) & empty.test_wait(self.producer_parity)
        } {}
    }

    /// Goes on to consumer_stage the next stage.
    #[inline(always)]
    pub fn consumer_advance(&mut self) {
        self.consumer_stage += 1;
        if self.consumer_stage == STAGES as u32 {
            self.consumer_stage = 0;
            self.consumer_parity ^= 1;
        }
    }

    /// Gives `stage` back; the whole warp calls it.
    ///
    /// # Safety
    /// The warp has consumer_stage what it needs of the stage, and calls this once for it.
    #[inline(always)]
    pub unsafe fn consumer_release(&self, stage: u32) {
        // SAFETY: the caller ensures that the whole warp is here.
        unsafe { warp::sync_warp(u32::MAX) };
        if warp::lane_id() == 0 {
            // SAFETY: each warp arrives once in each phase.
            unsafe { Barrier::new(self.empty.at(Barrier::BYTES * stage)).arrive() }
        }
    }
}
