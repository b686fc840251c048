//! A pipeline of stages in shared memory, between one warp that fills them and warps that use them.

use core::marker::PhantomData;
use cuda_std::async_copy::SharedAddress;
use cuda_std::cluster::ClusterBarrier;
use cuda_std::mbarrier::Barrier;
use cuda_std::prelude::*;

/// Number and size of the stages.
pub trait Stages {
    /// Stages.
    const COUNT: usize;

    /// Bytes of a stage.
    const BYTES: usize;

    /// Blocks of a cluster that fill each other's stages: see [`pair`](crate::gemm::wgmma::multicast).
    const CLUSTER_SIZE: u32 = 1;

    /// Bytes of all stages and of two barriers for each, which lie behind them.
    const TOTAL_BYTES: usize = Self::COUNT * (Self::BYTES + 2 * Barrier::BYTES as usize);
}

/// The pipeline, as one role goes through it.
pub struct Pipeline<S: Stages> {
    base: SharedAddress,
    index: u32,
    /// How often the role went around, modulo 2.
    parity: u32,
    stages: PhantomData<S>,
}

impl<S: Stages> Pipeline<S> {
    /// At its first stage. The pipeline begins at `base`.
    #[inline(always)]
    pub fn new(base: SharedAddress) -> Self {
        Pipeline {
            base,
            index: 0,
            parity: 0,
            stages: PhantomData,
        }
    }

    /// Prepares the barriers. A stage is empty again after `users` warps of each block have said so.
    ///
    /// # Safety
    /// Nobody uses the barriers yet; a barrier of the block lies between this and their first use, or one of the cluster where
    /// several blocks fill the stages.
    #[inline(always)]
    pub unsafe fn init(base: SharedAddress, users: u32) {
        let mut pipeline = Self::new(base);
        for _ in 0..S::COUNT {
            // SAFETY: the caller ensures it.
            unsafe {
                pipeline.full().init(1);
                pipeline.empty().init(users * S::CLUSTER_SIZE);
            }
            pipeline.advance();
        }
    }

    /// The stage.
    #[inline(always)]
    pub fn stage(&self) -> SharedAddress {
        self.base.at(self.index * S::BYTES as u32)
    }

    /// The barrier that says that the stage is full.
    #[inline(always)]
    pub fn full(&self) -> Barrier {
        Barrier::new(self.barriers().at(self.index * Barrier::BYTES))
    }

    /// The barrier that says that the stage is empty.
    #[inline(always)]
    fn empty(&self) -> Barrier {
        let index = S::COUNT as u32 + self.index;
        Barrier::new(self.barriers().at(index * Barrier::BYTES))
    }

    #[inline(always)]
    fn barriers(&self) -> SharedAddress {
        self.base.at((S::COUNT * S::BYTES) as u32)
    }

    // ANCHOR: producer_acquire
    /// Waits until the stage is empty, in the role that fills it. At first all are.
    ///
    /// # Safety
    /// The barriers are prepared; only the role that fills calls this.
    #[inline(always)]
    pub unsafe fn producer_acquire(&self) {
        // SAFETY: the phase before the first counts as over.
        unsafe { self.empty().try_wait_loop(self.parity ^ 1) }
    }
    // ANCHOR_END: producer_acquire

    /// Waits until all stages are empty, in the role that fills them: then no other block fills this one's stages any more or
    /// arrives at its barriers.
    ///
    /// # Safety
    /// As for [`producer_acquire`](Self::producer_acquire).
    #[inline(always)]
    pub unsafe fn producer_tail(&mut self) {
        for _ in 0..S::COUNT {
            // SAFETY: passed on to the caller.
            unsafe { self.producer_acquire() };
            self.advance();
        }
    }

    // ANCHOR: consumer_wait
    /// Waits until the stage is full, in a role that uses it.
    ///
    /// # Safety
    /// The barriers are prepared; only roles that use stages call this.
    #[inline(always)]
    pub unsafe fn consumer_wait(&self) {
        // SAFETY: a role is never more than once around behind.
        unsafe { self.full().try_wait_loop(self.parity) }
    }
    // ANCHOR_END: consumer_wait

    /// The stage as one that this warp uses.
    #[inline(always)]
    pub fn used(&self) -> ConsumerStage<S> {
        ConsumerStage {
            empty: self.empty(),
            stages: PhantomData,
        }
    }

    // ANCHOR: advance
    /// Goes on to the next stage.
    #[inline(always)]
    pub fn advance(&mut self) {
        self.index += 1;
        if self.index == S::COUNT as u32 {
            self.index = 0;
            self.parity ^= 1;
        }
    }
    // ANCHOR_END: advance
}

/// A stage that a warp uses.
pub struct ConsumerStage<S: Stages> {
    empty: Barrier,
    stages: PhantomData<S>,
}

impl<S: Stages> ConsumerStage<S> {
    /// Gives the stage back: one lane speaks for its warp, or one to each block that fills the stage.
    ///
    /// # Safety
    /// The whole warp is here, once for each time that the stage was full, and is done with it.
    #[inline(always)]
    pub unsafe fn release(&self) {
        // SAFETY: passed on to the caller.
        unsafe {
            if S::CLUSTER_SIZE == 1 {
                if warp::lane_id() == 0 {
                    self.empty.arrive();
                }
            } else if warp::lane_id() < S::CLUSTER_SIZE {
                ClusterBarrier::of(self.empty, warp::lane_id()).arrive_release_cta();
            }
        }
    }
}
