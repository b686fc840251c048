//! The two ways in which a warpgroup multiplies the stages of a ring: with both operands in shared memory, or with A in registers.

use super::ring::{Ring, Stages};
use super::tiles::{self, Maps, Operands, Place};
use core::marker::PhantomData;
use cuda_std::async_copy::SharedAddress;
use cuda_std::mbarrier::Barrier;
use cuda_std::prelude::*;
use cuda_std::wgmma::{self, Input, Sums};

/// A way to multiply. Parameters of the types are the elements and how A and B are stored.
pub trait Way {
    /// Bytes of an element of A and B.
    const BYTES: usize;

    /// Whether what is computed is the transpose of C, with rows where [`rows::row`](super::rows::row) says.
    const TURNED: bool;

    /// See [`tiles::fetch`].
    ///
    /// # Safety
    /// As there.
    unsafe fn fetch<S: Sums, const WARPGROUPS: usize>(
        stage: SharedAddress,
        maps: *const Maps,
        place: Place,
        full: Barrier,
    );

    /// The product of the next `steps` stages of the ring for one of `WARPGROUPS`: its rows of A times B.
    ///
    /// # Safety
    /// A whole warpgroup does it, and the ring is ready. `steps` is at least 1.
    unsafe fn multiply<S: Sums, R: Stages, const WARPGROUPS: usize>(
        ring: &mut Ring<R>,
        steps: u32,
        warpgroup: usize,
    ) -> S;
}

/// Steps of a chain of sums, at most: 4096 elements of 16 bits along k. A sum rounds less in several short chains, whose results are
/// added to totals, than in a long one (see [`slices`](crate::gemm::slices)).
const SLICE: u32 = 64;

/// The widest tiles whose sums leave registers for as many totals. Wider ones have all of k in one chain.
const WIDEST_SLICED: usize = 192;

/// Both operands are multiplied where they lie in shared memory.
pub struct FromShared<E, const A: i32, const B: i32>(PhantomData<E>);

impl<E: Input, const A: i32, const B: i32> Way for FromShared<E, A, B> {
    const BYTES: usize = E::BYTES;
    const TURNED: bool = false;

    #[inline(always)]
    unsafe fn fetch<S: Sums, const WARPGROUPS: usize>(
        stage: SharedAddress,
        maps: *const Maps,
        place: Place,
        full: Barrier,
    ) {
        // SAFETY: passed on to the caller.
        unsafe { tiles::fetch::<E, S, WARPGROUPS, A, B>(stage, maps, place, full) }
    }

    #[inline(always)]
    unsafe fn multiply<S: Sums, R: Stages, const WARPGROUPS: usize>(
        ring: &mut Ring<R>,
        steps: u32,
        warpgroup: usize,
    ) -> S {
        if S::COLUMNS > WIDEST_SLICED {
            // SAFETY: passed on to the caller.
            return unsafe { Self::chain::<S, R, WARPGROUPS>(ring, steps, warpgroup) };
        }
        let mut totals = S::ZERO;
        let mut left = steps;
        while left > 0 {
            let steps = left.min(SLICE);
            // SAFETY: passed on to the caller.
            let sums: S = unsafe { Self::chain::<S, R, WARPGROUPS>(ring, steps, warpgroup) };
            for register in 0..S::COLUMNS / 2 {
                totals.set(register, totals.get(register) + sums.get(register));
            }
            left -= steps;
        }
        totals
    }
}

impl<E: Input, const A: i32, const B: i32> FromShared<E, A, B> {
    /// The product of the next `steps` stages in one chain of sums.
    ///
    /// # Safety
    /// As for [`multiply`](Way::multiply).
    #[inline(always)]
    unsafe fn chain<S: Sums, R: Stages, const WARPGROUPS: usize>(
        ring: &mut Ring<R>,
        steps: u32,
        warpgroup: usize,
    ) -> S {
        // One lane speaks for its warp.
        let leader = warp::lane_id() == 0;
        let operands = |ring: &Ring<R>| Operands::<A, B>::new(ring.stage(), WARPGROUPS, warpgroup);
        // SAFETY: a stage is full, and given back when its products are done: one step later, so that there are always
        // products to do. The sums are this warpgroup's alone.
        unsafe {
            ring.wait_until_full();
            let mut sums: S = operands(ring).multiply::<E, S>();
            let mut used = ring.empty();
            ring.advance();
            for _ in 1..steps {
                ring.wait_until_full();
                operands(ring).multiply_add::<E, S>(&mut sums);
                wgmma::wait_all_but_one();
                if leader {
                    used.arrive();
                }
                used = ring.empty();
                ring.advance();
            }
            sums.wait_all();
            if leader {
                used.arrive();
            }
            sums
        }
    }
}
