//! RS: MMAs with A in registers, for an MN-major A of 32-bit elements.
//!
//! `wgmma` takes 32-bit operands from shared memory only if they are K-major. A lane may load any
//! word of shared memory, so the tile of A stays as TMA loaded it. It consists of boxes of 32
//! elements along the rows of C and 32 along k, in lines of 128 bytes of one k. The kernel may
//! choose the row of C that a lane's fragment belongs to. It is chosen so that the 32 words of a
//! load lie in different banks, and so do those of a [store](crate::gemm::epilogue::tma_store) of
//! Cᵀ:
//!
//! | bit of the row in its 64 | 0, 1 | 2 | 3 | 4 | 5 |
//! |---|---|---|---|---|---|
//! | is | bits 0, 1 of g | bit 2 of g, XOR h | bit 0 of the warp | bit 2 of g | bit 1 of the warp |
//!
//! with g = lane / 4, and h = 1 in the registers that hold the second rows of the
//! [fragment](cuda_std::wgmma), otherwise 0.
//!
//! Fragments are loaded while the MMAs before them execute, of which three may be in flight.

use crate::gemm::pipeline::tma::{ConsumerStage, Pipeline, Stages};
use crate::gemm::wgmma::multicast;
use crate::gemm::wgmma::source::{OperandSource, UnitTiles};
use crate::gemm::wgmma::stage::{
    self, A_BYTES, MMA_K_BYTES, MMAS_PER_STAGE, ROW_BYTES, StageCoord, TensorMaps,
};
use core::marker::PhantomData;
use cuda_std::async_copy::SharedAddress;
use cuda_std::matrix;
use cuda_std::mma::Tf32;
use cuda_std::prelude::*;
use cuda_std::wgmma::{self, Accumulator, Descriptor, FragmentA, Input, K_MAJOR, MN_MAJOR};

/// Bytes of a chunk of four elements, which the swizzle moves as a whole.
const CHUNK_BYTES: u32 = 16;

/// Elements along k of one MMA, its k-block.
const MMA_K: u32 = 8;

/// This thread's row in the 64 of its warpgroup. With `second`, it is the row of the accumulators
/// that the [fragment](cuda_std::wgmma) has 8 rows further.
#[inline(always)]
pub fn row(second: bool) -> u32 {
    let g = warp::lane_id() / 4;
    let warp = thread::thread_idx_x() / 32 % 4;
    let high = g / 4;
    g % 4 + 4 * (high ^ second as u32) + 8 * (warp % 2) + 16 * high + 32 * (warp / 2)
}

/// Offsets of the registers of this thread's first fragment in a stage, in bytes.
#[derive(Clone, Copy, Debug)]
struct FragmentOffsets([u32; 4]);

impl FragmentOffsets {
    /// The offsets in the rows of a consumer warpgroup.
    #[inline(always)]
    fn new(warpgroup: usize) -> Self {
        let t = warp::lane_id() % 4;
        FragmentOffsets(core::array::from_fn(|register| {
            let row = row(register % 2 != 0);
            let k = t + MMA_K / 2 * (register as u32 / 2);
            let (of_box, row) = (row / 32, row % 32);
            (warpgroup * A_BYTES) as u32
                + of_box * stage::mn_major_box_bytes(Tf32::BYTES) as u32
                + k * ROW_BYTES as u32
                + ((row / 4) ^ k) * CHUNK_BYTES
                + row % 4 * Tf32::BYTES as u32
        }))
    }

    /// Loads the fragment of a k-block.
    ///
    /// # Safety
    /// The stage is full, and is not released before the loads are complete. `k_block` is less than
    /// [`MMAS_PER_STAGE`].
    #[inline(always)]
    unsafe fn load(&self, stage: SharedAddress, k_block: usize) -> FragmentA {
        let of_k_block = k_block * MMA_K as usize * ROW_BYTES;
        // SAFETY: the contract says that the stage is full. The offsets lie inside of it: below
        // the bytes of A's tile, with k-blocks below those of the stage.
        self.0
            .map(|offset| unsafe { matrix::load_word(stage.at(offset).at(of_k_block as u32)) })
    }
}

/// A, which is MN-major, goes through registers.
#[derive(Clone, Copy, Debug)]
pub struct RS<E, const A: i32, const B: i32>(pub PhantomData<E>);

impl OperandSource for RS<Tf32, MN_MAJOR, K_MAJOR> {
    const BYTES: usize = Tf32::BYTES;
    const A_K_MAJOR: bool = false;
    const B_K_MAJOR: bool = true;
    const C_TRANSPOSED: bool = true;

    #[inline(always)]
    unsafe fn load<S: Accumulator, R: Stages, const CONSUMERS: usize>(
        pipeline: &Pipeline<R>,
        maps: *const TensorMaps,
        coord: StageCoord,
    ) {
        // SAFETY: the contract is that of `multicast::load`.
        unsafe { multicast::load::<Tf32, R, CONSUMERS, MN_MAJOR, K_MAJOR>(pipeline, maps, coord) }
    }

    #[inline(always)]
    unsafe fn mma_tiles<S: Accumulator, R: Stages, C, const CONSUMERS: usize>(
        self,
        pipeline: &mut Pipeline<R>,
        tiles: UnitTiles,
        warpgroup: usize,
    ) -> S {
        let release = |stage: &ConsumerStage<R>| {
            // SAFETY: all lanes of the warp execute this, after their last load from the stage. The
            // warp's barrier orders these loads before the arrival of one lane.
            unsafe {
                warp::sync_warp(warp::FULL_MASK);
                stage.release();
            }
        };
        let offsets = FragmentOffsets::new(warpgroup);
        let b_of = |stage: SharedAddress, k_block: usize| {
            let b = Descriptor::k_major(stage.at((CONSUMERS * A_BYTES) as u32));
            b.at((k_block * MMA_K_BYTES) as u32)
        };
        // SAFETY: a stage is read when it is full. It is released when two MMAs of the next stage
        // have been issued and all but two are complete: then those of the stage are. The registers
        // of a fragment are loaded again four MMAs later, when its MMA is complete.
        unsafe {
            pipeline.consumer_wait();
            let mut fragments: [FragmentA; MMAS_PER_STAGE] = [[0; 4]; MMAS_PER_STAGE];
            fragments[0] = offsets.load(pipeline.stage(), 0);
            wgmma::fence();
            let mut accumulators =
                S::mma_rs::<Tf32, K_MAJOR>(fragments[0], b_of(pipeline.stage(), 0));
            wgmma::commit_group();
            for k_block in 1..MMAS_PER_STAGE {
                let stage = pipeline.stage();
                fragments[k_block] = offsets.load(stage, k_block);
                wgmma::fence();
                accumulators.mma_rs_add::<Tf32, K_MAJOR>(fragments[k_block], b_of(stage, k_block));
                wgmma::commit_group();
            }
            wgmma::wait_group::<2>();
            let mut reading = pipeline.current();
            pipeline.advance();
            for _ in 1..tiles.count {
                pipeline.consumer_wait();
                for k_block in 0..MMAS_PER_STAGE {
                    let stage = pipeline.stage();
                    fragments[k_block] = offsets.load(stage, k_block);
                    wgmma::fence();
                    accumulators
                        .mma_rs_add::<Tf32, K_MAJOR>(fragments[k_block], b_of(stage, k_block));
                    wgmma::commit_group();
                    wgmma::wait_group::<2>();
                    if k_block == 1 {
                        release(&reading);
                    }
                }
                reading = pipeline.current();
                pipeline.advance();
            }
            accumulators.wait_all();
            release(&reading);
            accumulators
        }
    }
}
