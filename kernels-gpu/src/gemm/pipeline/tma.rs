//! TMA pipeline: stages in shared memory between one producer warp and the consumer warps.
//!
//! Each stage has a full and an empty barrier (`mbarrier`). The producer acquires an empty stage
//! and starts the TMA loads, which complete the phase of the full barrier. A consumer warp waits
//! for the full barrier, reads the stage, and releases it at the empty barrier.

use core::marker::PhantomData;
use cuda_std::async_copy::SharedAddress;
use cuda_std::cluster::ClusterBarrier;
use cuda_std::mbarrier::Barrier;
use cuda_std::prelude::*;

/// Number and size of the stages.
pub trait Stages {
    /// The number of stages.
    const COUNT: usize;

    /// Bytes of a stage.
    const BYTES: usize;

    /// Whether the producers of a cluster's blocks may fill each other's stages, as a launch says:
    /// see [`multicast`](crate::gemm::wgmma::multicast).
    const MULTICAST: bool = false;

    /// Bytes of all stages and of their full and empty barriers, which lie behind them.
    const TOTAL_BYTES: usize = Self::COUNT * (Self::BYTES + 2 * Barrier::BYTES as usize);
}

/// The pipeline's state in one role: the current stage and its phase.
pub struct Pipeline<S: Stages> {
    base: SharedAddress,
    index: u32,
    /// Passes through all stages, modulo 2: the parity of the phase to wait for.
    parity: u32,
    /// Blocks whose producers fill each other's stages.
    multicast: u32,
    stages: PhantomData<S>,
}

impl<S: Stages> Pipeline<S> {
    /// The state at the first stage. The stages begin at `base`.
    #[inline(always)]
    pub fn new(base: SharedAddress) -> Self {
        Pipeline {
            base,
            index: 0,
            parity: 0,
            multicast: 1,
            stages: PhantomData,
        }
    }

    /// The same in a cluster of `blocks` blocks, 1 or a power of two, whose producers fill each
    /// other's stages.
    #[inline(always)]
    pub fn with_multicast(self, blocks: u32) -> Self {
        const { assert!(S::MULTICAST) };
        Pipeline {
            multicast: blocks,
            ..self
        }
    }

    /// Initialises the barriers. A stage is empty when `consumer_warps` warps have released it,
    /// those of all blocks whose producers fill it.
    ///
    /// # Safety
    /// One thread of the block calls this, before any other use of the barriers. A barrier of the
    /// block, or of the cluster where several blocks fill the stages, lies between this and their
    /// first use.
    #[inline(always)]
    pub unsafe fn init(base: SharedAddress, consumer_warps: u32) {
        let mut pipeline = Self::new(base);
        for _ in 0..S::COUNT {
            // SAFETY: the contract says that no thread uses the barriers before this one has
            // initialised them.
            unsafe {
                pipeline.full().init(1);
                pipeline.empty().init(consumer_warps);
            }
            pipeline.advance();
        }
    }

    /// The address of the current stage.
    #[inline(always)]
    pub fn stage(&self) -> SharedAddress {
        self.base.at(self.index * S::BYTES as u32)
    }

    /// The full barrier of the current stage.
    #[inline(always)]
    pub fn full(&self) -> Barrier {
        Barrier::new(self.barriers().at(self.index * Barrier::BYTES))
    }

    /// The empty barrier of the current stage.
    #[inline(always)]
    fn empty(&self) -> Barrier {
        let index = S::COUNT as u32 + self.index;
        Barrier::new(self.barriers().at(index * Barrier::BYTES))
    }

    /// The barriers: the full ones of all stages, then the empty ones.
    #[inline(always)]
    fn barriers(&self) -> SharedAddress {
        self.base.at((S::COUNT * S::BYTES) as u32)
    }

    // ANCHOR: producer_acquire
    /// Waits until the stage is empty, in the producer. At first all stages are empty.
    ///
    /// # Safety
    /// The barriers are initialised; only the producer calls this.
    #[inline(always)]
    pub unsafe fn producer_acquire(&self) {
        // SAFETY: the contract says that the barrier is initialised. The phase before its first one
        // counts as complete, so the first pass does not wait.
        unsafe { self.empty().try_wait_loop(self.parity ^ 1) }
    }
    // ANCHOR_END: producer_acquire

    /// Waits until all stages are empty, in the producer. Then no other block fills a stage of this
    /// one or arrives at its barriers any more, and the block may exit.
    ///
    /// # Safety
    /// As for [`producer_acquire`](Self::producer_acquire).
    #[inline(always)]
    pub unsafe fn producer_tail(&mut self) {
        for _ in 0..S::COUNT {
            // SAFETY: the contract says that the barriers are initialised and that this is the
            // producer.
            unsafe { self.producer_acquire() };
            self.advance();
        }
    }

    // ANCHOR: consumer_wait
    /// Waits until the stage is full, in a consumer.
    ///
    /// # Safety
    /// The barriers are initialised; only consumers call this.
    #[inline(always)]
    pub unsafe fn consumer_wait(&self) {
        // SAFETY: the contract says that the barrier is initialised. Its parity is unambiguous: the
        // stage is filled again only after this warp has released it.
        unsafe { self.full().try_wait_loop(self.parity) }
    }
    // ANCHOR_END: consumer_wait

    /// The current stage, to be released after its last use.
    #[inline(always)]
    pub fn current(&self) -> ConsumerStage<S> {
        ConsumerStage {
            empty: self.empty(),
            multicast: self.multicast,
            stages: PhantomData,
        }
    }

    // ANCHOR: advance
    /// Advances to the next stage.
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

/// A stage that a consumer warp reads, and releases afterwards.
pub struct ConsumerStage<S: Stages> {
    empty: Barrier,
    /// See [`Pipeline::multicast`].
    multicast: u32,
    stages: PhantomData<S>,
}

impl<S: Stages> ConsumerStage<S> {
    /// Releases the stage: one lane of the warp arrives at the empty barrier. Where several blocks
    /// fill the stage, one lane for each block arrives at that block's barrier.
    ///
    /// # Safety
    /// All lanes of the warp execute this together, once for each time that the stage was full, and
    /// have read the stage.
    #[inline(always)]
    pub unsafe fn release(&self) {
        // SAFETY: the contract says that the warp has read the stage and arrives once a phase, as
        // `init` counts. Lane `i < multicast` arrives at the barrier of the block of rank `i`,
        // which exists until its `producer_tail` has waited for this arrival.
        unsafe {
            let lane = warp::lane_id();
            if S::MULTICAST {
                // Predicates, and no branch among the MMAs.
                let rank = lane & (self.multicast - 1);
                let is_remote = self.multicast > 1 && lane < self.multicast;
                self.empty.arrive_if(self.multicast == 1 && lane == 0);
                ClusterBarrier::of(self.empty, rank).arrive_release_cta_if(is_remote);
            } else if lane == 0 {
                self.empty.arrive();
            }
        }
    }
}
