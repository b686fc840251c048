//! The two ways in which a warpgroup multiplies the stages of a ring: with both operands in shared memory, or with A in registers.

use super::pair;
use super::ring::{Ring, Stages};
use super::tiles::{self, Maps, Operands, Place};
use core::marker::PhantomData;
use cuda_std::wgmma::{self, Accumulator, Input, K_MAJOR};

/// A way to multiply. Parameters of the types are the elements and how A and B are stored.
pub trait Way {
    /// Bytes of an element of A and B.
    const BYTES: usize;

    /// Whether A is stored along k.
    const A_ALONG_K: bool;

    /// Whether B is.
    const B_ALONG_K: bool;

    /// Whether what is computed is the transpose of C, with rows where [`rows::row`](super::rows::row) says.
    const TURNED: bool;

    /// See [`pair::fetch`].
    ///
    /// # Safety
    /// As there.
    unsafe fn fetch<S: Accumulator, R: Stages, const WARPGROUPS: usize>(
        ring: &Ring<R>,
        maps: *const Maps,
        place: Place,
    );

    /// The product of the next `steps` stages of the ring for one of `WARPGROUPS`: its rows of A times B.
    ///
    /// # Safety
    /// A whole warpgroup does it, and the ring is ready. `steps` is at least 1.
    unsafe fn multiply<S: Accumulator, R: Stages, const WARPGROUPS: usize>(
        ring: &mut Ring<R>,
        steps: u32,
        warpgroup: usize,
    ) -> S;
}

/// Steps of a chain of sums in tiles of so many columns, at most: 4096 elements of 16 bits along k, or 2048 where there are few totals to
/// add to. A sum rounds less in several short chains, whose results are added to totals, than in a long one (see
/// [`slices`](crate::gemm::slices)).
const fn slice(columns: usize) -> u32 {
    if columns > 64 { 64 } else { 32 }
}

/// The widest tiles whose sums leave registers for as many totals. Wider ones have all of k in one chain.
const WIDEST_SLICED: usize = 192;

/// Both operands are multiplied where they lie in shared memory.
pub struct FromShared<E, const A: i32, const B: i32>(PhantomData<E>);

impl<E: Input, const A: i32, const B: i32> Way for FromShared<E, A, B> {
    const BYTES: usize = E::BYTES;
    const A_ALONG_K: bool = A == K_MAJOR;
    const B_ALONG_K: bool = B == K_MAJOR;
    const TURNED: bool = false;

    #[inline(always)]
    unsafe fn fetch<S: Accumulator, R: Stages, const WARPGROUPS: usize>(
        ring: &Ring<R>,
        maps: *const Maps,
        place: Place,
    ) {
        // An operand that is stored across k has boxes of so many columns, and no narrower ones.
        const { assert!(B == K_MAJOR || S::COLUMNS.is_multiple_of(tiles::depth(E::BYTES))) };
        // SAFETY: passed on to the caller.
        unsafe { pair::fetch::<E, S, R, WARPGROUPS, A, B>(ring, maps, place) }
    }

    #[inline(always)]
    unsafe fn multiply<S: Accumulator, R: Stages, const WARPGROUPS: usize>(
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
            let steps = left.min(slice(S::COLUMNS));
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
    unsafe fn chain<S: Accumulator, R: Stages, const WARPGROUPS: usize>(
        ring: &mut Ring<R>,
        steps: u32,
        warpgroup: usize,
    ) -> S {
        let operands = |ring: &Ring<R>| Operands::<A, B>::new(ring.stage(), WARPGROUPS, warpgroup);
        // SAFETY: a stage is full, and given back when its products are done: one step later, so that there are always
        // products to do. The sums are this warpgroup's alone.
        unsafe {
            ring.wait_until_full();
            let mut sums: S = operands(ring).multiply::<E, S>();
            let mut used = ring.used();
            ring.advance();
            for _ in 1..steps {
                ring.wait_until_full();
                operands(ring).multiply_add::<E, S>(&mut sums);
                wgmma::wait_group::<1>();
                used.give_back();
                used = ring.used();
                ring.advance();
            }
            sums.wait_all();
            used.give_back();
            sums
        }
    }
}
