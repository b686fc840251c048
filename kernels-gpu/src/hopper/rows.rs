//! Products whose A lies across k, of elements that `wgmma` takes along k only: A's fragments go through registers.
//!
//! A lane may read any word of shared memory, so the tile of A stays as the bulk copies brought it: boxes of 32 elements along the
//! rows of C and 32 along k, each line of 128 bytes of one k. Which row of C a lane's fragment belongs to is ours to say, and chosen so that
//! the 32 words of a read lie in different banks, and those of a [store](super::store) of C's transpose as well:
//!
//! | bit of the row in its 64 | 0, 1 | 2 | 3 | 4 | 5 |
//! |---|---|---|---|---|---|
//! | is | bits 0 and 1 of g | bit 2 of g, unless h turns it | bit 0 of the warp | bit 2 of g | bit 1 of the warp |
//!
//! with g = lane / 4, and h = 1 in the registers that hold the second rows of the [fragment](cuda_std::wgmma).
//!
//! Fragments are loaded while the products before them run, three of which may be on their way.

use super::pair;
use super::ring::{Ring, Stages, Used};
use super::tiles::{self, A_BYTES, Maps, Place, ROW_BYTES, STEP_BYTES, STEPS};
use super::ways::Way;
use core::marker::PhantomData;
use cuda_std::async_copy::SharedAddress;
use cuda_std::matrix;
use cuda_std::mma::Tf32;
use cuda_std::prelude::*;
use cuda_std::wgmma::{self, Accumulator, Descriptor, FragmentA, Input, K_MAJOR, MN_MAJOR};

/// Bytes of a vector of four elements, which the swizzle moves as a whole.
const VECTOR_BYTES: u32 = 16;

/// Elements along k of one product.
const DEPTH: u32 = 8;

/// This thread's row in the 64 of its warpgroup, of its sums with an even row in the [fragment](cuda_std::wgmma) (`second` is false) or
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
                + of_box * tiles::across_bytes(Tf32::BYTES) as u32
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
pub struct ThroughRegisters<E, const A: i32, const B: i32>(PhantomData<E>);

impl Way for ThroughRegisters<Tf32, MN_MAJOR, K_MAJOR> {
    const BYTES: usize = Tf32::BYTES;
    const A_ALONG_K: bool = false;
    const B_ALONG_K: bool = true;
    const TURNED: bool = true;

    #[inline(always)]
    unsafe fn fetch<S: Accumulator, R: Stages, const WARPGROUPS: usize>(
        ring: &Ring<R>,
        maps: *const Maps,
        place: Place,
    ) {
        // SAFETY: passed on to the caller.
        unsafe { pair::fetch::<Tf32, S, R, WARPGROUPS, MN_MAJOR, K_MAJOR>(ring, maps, place) }
    }

    #[inline(always)]
    unsafe fn multiply<S: Accumulator, R: Stages, const WARPGROUPS: usize>(
        ring: &mut Ring<R>,
        steps: u32,
        warpgroup: usize,
    ) -> S {
        let give_back = |stage: &Used<R>| {
            // SAFETY: the whole warp is here, and all its lanes have read the stage.
            unsafe {
                warp::sync_warp(warp::FULL_MASK);
                stage.give_back();
            }
        };
        let places = Places::new(warpgroup);
        let b_of = |stage: SharedAddress, step: usize| {
            let b = Descriptor::k_major(stage.at((WARPGROUPS * A_BYTES) as u32));
            b.at((step * STEP_BYTES) as u32)
        };
        // SAFETY: a stage is read when it is full, and given back when two products of the next one have begun, since those that
        // used it are then done. A fragment's registers are loaded again when its product is done: four products later.
        unsafe {
            ring.wait_until_full();
            let mut rows: [FragmentA; STEPS] = [[0; 4]; STEPS];
            rows[0] = places.load(ring.stage(), 0);
            wgmma::fence();
            let mut sums = S::mma_rs::<Tf32, K_MAJOR>(rows[0], b_of(ring.stage(), 0));
            wgmma::commit_group();
            for step in 1..STEPS {
                rows[step] = places.load(ring.stage(), step);
                wgmma::fence();
                sums.mma_rs_add::<Tf32, K_MAJOR>(rows[step], b_of(ring.stage(), step));
                wgmma::commit_group();
            }
            wgmma::wait_group::<2>();
            let mut used = ring.used();
            ring.advance();
            for _ in 1..steps {
                ring.wait_until_full();
                for step in 0..STEPS {
                    rows[step] = places.load(ring.stage(), step);
                    wgmma::fence();
                    sums.mma_rs_add::<Tf32, K_MAJOR>(rows[step], b_of(ring.stage(), step));
                    wgmma::commit_group();
                    wgmma::wait_group::<2>();
                    if step == 1 {
                        give_back(&used);
                    }
                }
                used = ring.used();
                ring.advance();
            }
            sums.wait_all();
            give_back(&used);
            sums
        }
    }
}
