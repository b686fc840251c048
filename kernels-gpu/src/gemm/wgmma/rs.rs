//! Products whose A lies across k, of elements that `wgmma` takes along k only: A's fragments go through registers.
//!
//! A lane may read any word of shared memory, so the tile of A stays as the bulk copies brought it: boxes of 32 elements along the
//! rows of C and 32 along k, each line of 128 bytes of one k. Which row of C a lane's fragment belongs to is ours to say, and chosen so that
//! the 32 words of a read lie in different banks, and those of a [store](crate::gemm::epilogue::tma_store) of C's transpose as well:
//!
//! | bit of the row in its 64 | 0, 1 | 2 | 3 | 4 | 5 |
//! |---|---|---|---|---|---|
//! | is | bits 0 and 1 of g | bit 2 of g, unless h turns it | bit 0 of the warp | bit 2 of g | bit 1 of the warp |
//!
//! with g = lane / 4, and h = 1 in the registers that hold the second rows of the [fragment](cuda_std::wgmma).
//!
//! Fragments are loaded while the products before them run, three of which may be on their way.

use crate::gemm::pipeline::tma::{ConsumerStage, Pipeline, Stages};
use crate::gemm::wgmma::multicast;
use crate::gemm::wgmma::source::OperandSource;
use crate::gemm::wgmma::stage::{
    self, A_BYTES, MMA_K_BYTES, MMAS_PER_STAGE, ROW_BYTES, StageCoord, TensorMaps,
};
use core::marker::PhantomData;
use cuda_std::async_copy::SharedAddress;
use cuda_std::matrix;
use cuda_std::mma::Tf32;
use cuda_std::prelude::*;
use cuda_std::wgmma::{self, Accumulator, Descriptor, FragmentA, Input, K_MAJOR, MN_MAJOR};

/// Bytes of a vector of four elements, which the swizzle moves as a whole.
const VECTOR_BYTES: u32 = 16;

/// OutputElements along k of one product.
const DEPTH: u32 = 8;

/// This thread's row in the 64 of its warpgroup, of its accumulators with an even row in the [fragment](cuda_std::wgmma) (`second` is false) or
/// with one 8 further.
#[inline(always)]
pub fn row(second: bool) -> u32 {
    let g = warp::lane_id() / 4;
    let warp = thread::thread_idx_x() / 32 % 4;
    let high = g / 4;
    g % 4 + 4 * (high ^ second as u32) + 8 * (warp % 2) + 16 * high + 32 * (warp / 2)
}

/// Where this thread's fragments begin in a stage, in bytes.
#[derive(Clone, Copy, Debug)]
struct Places([u32; 4]);

impl Places {
    /// Those of one warpgroup.
    #[inline(always)]
    fn new(warpgroup: usize) -> Self {
        let t = warp::lane_id() % 4;
        Places(core::array::from_fn(|register| {
            let row = row(register % 2 != 0);
            let k = t + DEPTH / 2 * (register as u32 / 2);
            let (of_box, row) = (row / 32, row % 32);
            (warpgroup * A_BYTES) as u32
                + of_box * stage::across_bytes(Tf32::BYTES) as u32
                + k * ROW_BYTES as u32
                + ((row / 4) ^ k) * VECTOR_BYTES
                + row % 4 * Tf32::BYTES as u32
        }))
    }

    /// The fragment of a step.
    ///
    /// # Safety
    /// The stage is complete, and stays so. The whole warp is here.
    #[inline(always)]
    unsafe fn load(&self, stage: SharedAddress, step: usize) -> FragmentA {
        let further = step * DEPTH as usize * ROW_BYTES;
        // SAFETY: the caller ensures it.
        self.0
            .map(|place| unsafe { matrix::load_word(stage.at(place).at(further as u32)) })
    }
}

/// A, stored across k, is multiplied from registers.
pub struct RS<E, const A: i32, const B: i32>(PhantomData<E>);

impl OperandSource for RS<Tf32, MN_MAJOR, K_MAJOR> {
    const BYTES: usize = Tf32::BYTES;
    const A_K_MAJOR: bool = false;
    const B_K_MAJOR: bool = true;
    const C_TRANSPOSED: bool = true;

    #[inline(always)]
    unsafe fn load<S: Accumulator, R: Stages, const CONSUMERS: usize>(
        pipeline: &Pipeline<R>,
        maps: *const TensorMaps,
        place: StageCoord,
    ) {
        // SAFETY: passed on to the caller.
        unsafe {
            multicast::load::<Tf32, S, R, CONSUMERS, MN_MAJOR, K_MAJOR>(pipeline, maps, place)
        }
    }

    #[inline(always)]
    unsafe fn mma<S: Accumulator, R: Stages, const CONSUMERS: usize>(
        pipeline: &mut Pipeline<R>,
        steps: u32,
        warpgroup: usize,
    ) -> S {
        let release = |stage: &ConsumerStage<R>| {
            // SAFETY: the whole warp is here, and all its lanes have read the stage.
            unsafe {
                warp::sync_warp(warp::FULL_MASK);
                stage.release();
            }
        };
        let places = Places::new(warpgroup);
        let b_of = |stage: SharedAddress, step: usize| {
            let b = Descriptor::k_major(stage.at((CONSUMERS * A_BYTES) as u32));
            b.at((step * MMA_K_BYTES) as u32)
        };
        // SAFETY: a stage is read when it is full, and given back when two products of the next one have begun, since those that
        // used it are then done. A fragment's registers are loaded again when its product is done: four products later.
        unsafe {
            pipeline.consumer_wait();
            let mut rows: [FragmentA; MMAS_PER_STAGE] = [[0; 4]; MMAS_PER_STAGE];
            rows[0] = places.load(pipeline.stage(), 0);
            wgmma::fence();
            let mut accumulators = S::mma_rs::<Tf32, K_MAJOR>(rows[0], b_of(pipeline.stage(), 0));
            wgmma::commit_group();
            for step in 1..MMAS_PER_STAGE {
                rows[step] = places.load(pipeline.stage(), step);
                wgmma::fence();
                accumulators.mma_rs_add::<Tf32, K_MAJOR>(rows[step], b_of(pipeline.stage(), step));
                wgmma::commit_group();
            }
            wgmma::wait_group::<2>();
            let mut used = pipeline.used();
            pipeline.advance();
            for _ in 1..steps {
                pipeline.consumer_wait();
                for step in 0..MMAS_PER_STAGE {
                    rows[step] = places.load(pipeline.stage(), step);
                    wgmma::fence();
                    accumulators
                        .mma_rs_add::<Tf32, K_MAJOR>(rows[step], b_of(pipeline.stage(), step));
                    wgmma::commit_group();
                    wgmma::wait_group::<2>();
                    if step == 1 {
                        release(&used);
                    }
                }
                used = pipeline.used();
                pipeline.advance();
            }
            accumulators.wait_all();
            release(&used);
            accumulators
        }
    }
}
