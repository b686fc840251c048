//! What the `wgmma` rungs share: tiles that bulk copies bring, products of them, and sums that go to C.

use cuda_std::async_copy::SharedAddress;
use cuda_std::mbarrier::Barrier;
use cuda_std::prelude::*;
use cuda_std::shared;
use cuda_std::tma::{self, TensorMap};
use cuda_std::vector::{F32x2, Vector};
use cuda_std::wgmma::{self, Descriptor, Input, Sums};

/// Elements along k of a stage: rows of 128 bytes, which is what is swizzled.
pub const DEPTH: usize = 64;

/// Rows of C that a warpgroup owns.
pub const ROWS: usize = 64;

/// Columns of a box of B.
pub const BOX_COLUMNS: usize = 64;

/// Threads of a warpgroup.
pub const WARPGROUP: usize = 128;

/// Bytes of an element of A or B.
const ELEMENT: usize = 2;

/// Bytes of the part of A's tile that one warpgroup uses.
const A_BYTES: usize = ROWS * DEPTH * ELEMENT;

/// Bytes of a box of B.
const BOX_BYTES: usize = BOX_COLUMNS * DEPTH * ELEMENT;

/// Elements along k of one product.
const STEP: usize = 16;

/// Bytes of a stage for so many warpgroups, one below the other, and so many columns.
pub const fn stage_bytes(warpgroups: usize, columns: usize) -> usize {
    warpgroups * A_BYTES + columns * DEPTH * ELEMENT
}

/// The tensor maps of A and B, in this order, in global memory.
///
/// A's boxes have [`DEPTH`] elements along k and the rows of a block, B's [`BOX_COLUMNS`] columns and [`DEPTH`] elements along k. Both are swizzled
/// by 128 bytes.
#[repr(C)]
pub struct Maps {
    a: TensorMap,
    b: TensorMap,
}

/// The launch's dynamic shared memory: a type of the alignment that swizzled tiles want.
#[repr(C, align(1024))]
struct Tiles([u8; 1024]);

/// Where the stages begin.
#[inline(always)]
pub fn stages() -> SharedAddress {
    SharedAddress::of(shared::dynamic_shared_mem::<Tiles>())
}

/// Starts to copy the tiles that begin at row `top` of A, column `left` of B and `start` along k.
///
/// # Safety
/// The maps are as [`Maps`] says, nobody uses the stage any more, and the barrier is ready for bulk copies. One thread does this.
#[inline(always)]
pub unsafe fn fetch<S: Sums, const WARPGROUPS: usize>(
    stage: SharedAddress,
    maps: *const Maps,
    [top, left, start]: [u32; 3],
    full: Barrier,
) {
    // SAFETY: the caller ensures it.
    unsafe {
        full.arrive_expecting(stage_bytes(WARPGROUPS, S::COLUMNS) as u32);
        tma::load_2d(stage, &raw const (*maps).a, [start, top], full);
        for i in 0..S::COLUMNS / BOX_COLUMNS {
            let place = stage.at((WARPGROUPS * A_BYTES + i * BOX_BYTES) as u32);
            let at = [left + (i * BOX_COLUMNS) as u32, start];
            tma::load_2d(place, &raw const (*maps).b, at, full);
        }
    }
}

/// Starts to add the product of a stage's tiles to the sums of a warpgroup, or to begin them where not `keep`.
///
/// # Safety
/// The stage is complete, and stays so until the products are waited for. The whole warpgroup is here.
#[inline(always)]
pub unsafe fn multiply_add<E: Input, S: Sums, const WARPGROUPS: usize>(
    sums: &mut S,
    stage: SharedAddress,
    warpgroup: usize,
    keep: bool,
) {
    let a = Descriptor::along_k(stage.at((warpgroup * A_BYTES) as u32));
    let b = Descriptor::across_k(stage.at((WARPGROUPS * A_BYTES) as u32), BOX_BYTES as u32);
    // SAFETY: the caller ensures it.
    unsafe {
        wgmma::fence();
        for step in 0..DEPTH / STEP {
            let along = (step * STEP * ELEMENT) as u32;
            let down = (step * STEP * BOX_COLUMNS * ELEMENT) as u32;
            sums.multiply_add::<E>(a.at(along), b.at(down), keep || step > 0);
        }
        wgmma::commit_group();
    }
}

/// Stores the sums of a warpgroup to C, from row `top` and column `left` on.
///
/// # Safety
/// C has m rows of n elements, n an even number. The products have been waited for.
#[inline(always)]
pub unsafe fn store<S: Sums>(sums: &S, c: *mut f32, [m, n]: [usize; 2], top: usize, left: usize) {
    let lane = warp::lane_id() as usize;
    let warp = thread::thread_idx_x() as usize / 32 % 4;
    for half in 0..2 {
        let y = top + 16 * warp + lane / 4 + 8 * half;
        let row = c.wrapping_add(y * n + left + 2 * (lane % 4));
        for j in 0..S::COLUMNS / 8 {
            if y < m && left + 2 * (lane % 4) + 8 * j < n {
                let register = 4 * j + 2 * half;
                let pair = [sums.get(register), sums.get(register + 1)];
                // SAFETY: inside of C, and at an even element.
                unsafe { F32x2::store(row.wrapping_add(8 * j), pair) };
            }
        }
    }
}
