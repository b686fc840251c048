//! A pipeline of stages in shared memory that asynchronous copies fill, each with a full and an
//! empty barrier.
//!
//! All threads are producers, and all warps are consumers. A producer acquires a stage when all
//! warps have released it. A consumer waits for a stage until the copies of all threads have
//! arrived. No thread waits at a barrier of the whole block.

use crate::gemm::copy::PADDING;
use cuda_std::async_copy::SharedAddress;
use cuda_std::mbarrier::Barrier;
use cuda_std::prelude::*;

/// Bytes of shared memory for `stages` stages with a tile of each operand, and their barriers.
pub const fn shared_bytes<T>([bm, bn, bk]: [usize; 3], stages: usize) -> usize {
    stages * (bk * (bm + bn + 2 * PADDING) * size_of::<T>() + 2 * Barrier::BYTES as usize)
}

/// The pipeline, with the next stage of the producer and that of the consumer.
pub struct Pipeline<const STAGES: usize> {
    full: SharedAddress,
    empty: SharedAddress,
    /// The stage that the producer fills next.
    pub producer_stage: u32,
    /// Parity of the phase in which the producer's next stage became empty. A new barrier counts as
    /// one phase behind, so the first use of each stage does not wait.
    producer_parity: u32,
    /// The stage that the consumer reads next.
    pub consumer_stage: u32,
    consumer_parity: u32,
}

impl<const STAGES: usize> Pipeline<STAGES> {
    /// A pipeline whose barriers begin at `barriers`: all threads are producers, and all warps are
    /// consumers. The whole block calls it.
    ///
    /// # Safety
    /// `barriers` is the address of 2 · `STAGES` barriers' bytes of shared memory, aligned to 8,
    /// that nothing else uses. The block has `threads` threads.
    #[inline(always)]
    pub unsafe fn new(barriers: SharedAddress, threads: u32) -> Self {
        let full = barriers;
        let empty = barriers.at(Barrier::BYTES * STAGES as u32);
        if thread::thread_idx_x() == 0 {
            for stage in 0..STAGES as u32 {
                // SAFETY: the bytes are for these barriers only, by the contract of this function.
                // The block barrier below comes before any use.
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

    /// Waits until the producer's next stage is empty.
    ///
    /// # Safety
    /// This thread called [`new`](Self::new) with its block, and commits each stage that it
    /// acquires.
    #[inline(always)]
    pub unsafe fn producer_acquire(&self) {
        // SAFETY: `new` initialised the barrier. It is at most one phase ahead of the parity: the
        // next phase needs this thread's copies first.
        unsafe {
            Barrier::new(self.empty.at(Barrier::BYTES * self.producer_stage))
                .wait(self.producer_parity)
        }
    }

    /// Arrives at the full barrier of the producer's next stage once this thread's copies are
    /// complete, without waiting for them. The producer then moves on to
    /// the next stage.
    ///
    /// # Safety
    /// The stage was empty when this thread started its copies. It calls this once for the stage,
    /// after them.
    #[inline(always)]
    pub unsafe fn producer_commit(&mut self) {
        // SAFETY: `new` initialised the barrier for one arrival of each thread in a phase, and this
        // is this thread's only one.
        unsafe {
            Barrier::new(self.full.at(Barrier::BYTES * self.producer_stage)).cp_async_arrive_noinc()
        };
        self.producer_stage += 1;
        if self.producer_stage == STAGES as u32 {
            self.producer_stage = 0;
            self.producer_parity ^= 1;
        }
    }

    /// Waits until the consumer's next stage is full.
    ///
    /// # Safety
    /// This thread called [`new`](Self::new) with its block, and its warp releases each stage that
    /// it waits for.
    #[inline(always)]
    pub unsafe fn consumer_wait(&self) {
        // SAFETY: `new` initialised the barrier. It is at most one phase ahead of the parity: the
        // next phase needs this warp's release first.
        unsafe {
            Barrier::new(self.full.at(Barrier::BYTES * self.consumer_stage))
                .wait(self.consumer_parity)
        }
    }

    /// Waits until the consumer's next stage is full and the producer's next stage is empty: in one
    /// loop, because `ptxas` lets all work in flight end before each loop.
    ///
    /// # Safety
    /// As for [`producer_acquire`](Self::producer_acquire) and
    /// [`consumer_wait`](Self::consumer_wait).
    #[inline(always)]
    pub unsafe fn wait_for_both(&self) {
        let full = Barrier::new(self.full.at(Barrier::BYTES * self.consumer_stage));
        let empty = Barrier::new(self.empty.at(Barrier::BYTES * self.producer_stage));
        // SAFETY: `new` initialised both barriers. Each is at most one phase ahead: the next phases
        // need this thread's copies and this warp's release first.
        while !unsafe {
            full.test_wait(self.consumer_parity) & empty.test_wait(self.producer_parity)
        } {}
    }

    /// Moves the consumer on to the next stage.
    #[inline(always)]
    pub fn consumer_advance(&mut self) {
        self.consumer_stage += 1;
        if self.consumer_stage == STAGES as u32 {
            self.consumer_stage = 0;
            self.consumer_parity ^= 1;
        }
    }

    /// Releases `stage`: the warp arrives at its empty barrier. The whole warp calls it.
    ///
    /// # Safety
    /// The warp waited for the stage, has read what it needs of it, and calls this once for it. No
    /// lane is missing.
    #[inline(always)]
    pub unsafe fn consumer_release(&self, stage: u32) {
        // SAFETY: all lanes of the warp call this function, by its contract.
        unsafe { warp::sync_warp(u32::MAX) };
        if warp::lane_id() == 0 {
            // SAFETY: `new` initialised the barrier for one arrival of each warp in a phase, and
            // this is this warp's only one.
            unsafe { Barrier::new(self.empty.at(Barrier::BYTES * stage)).arrive() }
        }
    }
}
