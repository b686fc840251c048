//! The two ways in which a warpgroup multiplies the stages of a pipeline: with both operands in shared memory, or with A in registers.

use crate::gemm::pipeline::tma::{Pipeline, Stages};
use crate::gemm::wgmma::multicast;
use crate::gemm::wgmma::stage::{self, Operands, StageCoord, TensorMaps};
use core::marker::PhantomData;
use cuda_std::wgmma::{self, Accumulator, Input, K_MAJOR};

/// A way to mma. Parameters of the types are the elements and how A and B are stored.
pub trait OperandSource {
    /// Bytes of an element of A and B.
    const BYTES: usize;

    /// Whether A is stored along k.
    const A_K_MAJOR: bool;

    /// Whether B is.
    const B_K_MAJOR: bool;

    /// Whether what is computed is the transpose of C, with rows where [`rs::row`](crate::gemm::wgmma::rs::row) says.
    const C_TRANSPOSED: bool;

    /// See [`multicast::load`].
    ///
    /// # Safety
    /// As there.
    unsafe fn load<S: Accumulator, R: Stages, const CONSUMERS: usize>(
        pipeline: &Pipeline<R>,
        maps: *const TensorMaps,
        place: StageCoord,
    );

    /// The product of the next `steps` stages of the pipeline for one of `CONSUMERS`: its rows of A times B.
    ///
    /// # Safety
    /// A whole warpgroup does it, and the pipeline is ready. `steps` is at least 1.
    unsafe fn mma<S: Accumulator, R: Stages, const CONSUMERS: usize>(
        pipeline: &mut Pipeline<R>,
        steps: u32,
        warpgroup: usize,
    ) -> S;
}

/// Steps of a accumulate of accumulators in tiles of so many columns, at most: 4096 elements of 16 bits along k, or 2048 where there are few promoted to
/// add to. A sum rounds less in several short chains, whose results are added to promoted, than in a long one (see
/// [`slices`](crate::gemm::simt::promotion)).
const fn promotion_interval(columns: usize) -> u32 {
    if columns > 64 { 64 } else { 32 }
}

/// The widest tiles whose accumulators leave registers for as many promoted. Wider ones have all of k in one accumulate.
const MAX_PROMOTED_COLUMNS: usize = 192;

/// Both operands are multiplied where they lie in shared memory.
pub struct SS<E, const A: i32, const B: i32>(PhantomData<E>);

impl<E: Input, const A: i32, const B: i32> OperandSource for SS<E, A, B> {
    const BYTES: usize = E::BYTES;
    const A_K_MAJOR: bool = A == K_MAJOR;
    const B_K_MAJOR: bool = B == K_MAJOR;
    const C_TRANSPOSED: bool = false;

    #[inline(always)]
    unsafe fn load<S: Accumulator, R: Stages, const CONSUMERS: usize>(
        pipeline: &Pipeline<R>,
        maps: *const TensorMaps,
        place: StageCoord,
    ) {
        // An operand that is stored across k has boxes of so many columns, and no narrower ones.
        const { assert!(B == K_MAJOR || S::COLUMNS.is_multiple_of(stage::block_k(E::BYTES))) };
        // SAFETY: passed on to the caller.
        unsafe { multicast::load::<E, S, R, CONSUMERS, A, B>(pipeline, maps, place) }
    }

    #[inline(always)]
    unsafe fn mma<S: Accumulator, R: Stages, const CONSUMERS: usize>(
        pipeline: &mut Pipeline<R>,
        steps: u32,
        warpgroup: usize,
    ) -> S {
        if S::COLUMNS > MAX_PROMOTED_COLUMNS {
            // SAFETY: passed on to the caller.
            return unsafe { Self::accumulate::<S, R, CONSUMERS>(pipeline, steps, warpgroup) };
        }
        let mut promoted = S::ZERO;
        let mut left = steps;
        while left > 0 {
            let steps = left.min(promotion_interval(S::COLUMNS));
            // SAFETY: passed on to the caller.
            let accumulators: S =
                unsafe { Self::accumulate::<S, R, CONSUMERS>(pipeline, steps, warpgroup) };
            for register in 0..S::COLUMNS / 2 {
                promoted.set(
                    register,
                    promoted.get(register) + accumulators.get(register),
                );
            }
            left -= steps;
        }
        promoted
    }
}

impl<E: Input, const A: i32, const B: i32> SS<E, A, B> {
    /// The product of the next `steps` stages in one accumulate of accumulators.
    ///
    /// # Safety
    /// As for [`mma`](OperandSource::mma).
    #[inline(always)]
    unsafe fn accumulate<S: Accumulator, R: Stages, const CONSUMERS: usize>(
        pipeline: &mut Pipeline<R>,
        steps: u32,
        warpgroup: usize,
    ) -> S {
        let operands =
            |pipeline: &Pipeline<R>| Operands::<A, B>::new(pipeline.stage(), CONSUMERS, warpgroup);
        // SAFETY: a stage is full, and given back when its products are done: one step later, so that there are always
        // products to do. The accumulators are this warpgroup's alone.
        unsafe {
            pipeline.consumer_wait();
            let mut accumulators: S = operands(pipeline).mma::<E, S>();
            let mut used = pipeline.used();
            pipeline.advance();
            for _ in 1..steps {
                pipeline.consumer_wait();
                operands(pipeline).mma_add::<E, S>(&mut accumulators);
                wgmma::wait_group::<1>();
                used.release();
                used = pipeline.used();
                pipeline.advance();
            }
            accumulators.wait_all();
            used.release();
            accumulators
        }
    }
}
