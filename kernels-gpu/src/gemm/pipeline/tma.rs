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
    /// The ranks in the cluster of the blocks whose producers fill this block's stages, as bits; 0
    /// where that is this block alone.
    producers: u32,
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
            producers: 0,
            stages: PhantomData,
        }
    }

    /// The same in a cluster, where the producers of the blocks of these ranks, as bits, fill this
    /// block's stages, and its own theirs; 0 without a cluster.
    #[inline(always)]
    pub fn with_producers(self, ranks: u32) -> Self {
        const { assert!(S::MULTICAST) };
        Pipeline {
            producers: ranks,
            ..self
        }
    }

    /// Initialises the barriers. A stage is empty when `consumer_warps` warps have released it,
    /// those of all blocks whose stages this block's producer fills.
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
            producers: self.producers,
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
    /// See [`Pipeline::producers`].
    producers: u32,
    stages: PhantomData<S>,
}

impl<S: Stages> ConsumerStage<S> {
    /// Releases the stage: one lane of the warp arrives at the empty barrier. Where several blocks
    /// fill the stage, one lane for each of them arrives at that block's barrier.
    ///
    /// # Safety
    /// All lanes of the warp execute this together, once for each time that the stage was full, and
    /// have read the stage.
    #[inline(always)]
    pub unsafe fn release(&self) {
        // SAFETY: the contract says that the warp has read the stage and arrives once a phase, as
        // `init` counts. Lane `i` arrives at the barrier of the block of rank `i`, which exists
        // until its `producer_tail` has waited for this arrival.
        unsafe {
            let lane = warp::lane_id();
            if S::MULTICAST {
                // Predicates, and no branch among the MMAs.
                let is_remote = self.producers >> lane & 1 == 1;
                let rank = if is_remote { lane } else { 0 };
                self.empty.arrive_if(self.producers == 0 && lane == 0);
                ClusterBarrier::of(self.empty, rank).arrive_release_cta_if(is_remote);
            } else if lane == 0 {
                self.empty.arrive();
            }
        }
    }
}
