//! What the `wgmma` rungs share: tiles that bulk copies bring, and products of them.

use super::ring::Stages;
use core::ops::Range;
use cuda_std::async_copy::SharedAddress;
use cuda_std::mbarrier::Barrier;
use cuda_std::prelude::*;
use cuda_std::shared;
use cuda_std::tma::{self, TensorMap};
use cuda_std::vector::{F32x4, Vector};
use cuda_std::wgmma::{self, Accumulator, Descriptor, Input, K_MAJOR};

/// Bytes of a row of a box in shared memory: what is swizzled.
pub const ROW_BYTES: usize = 128;

/// Rows of C that a warpgroup owns.
pub const ROWS: usize = 64;

/// Threads of a warpgroup.
pub const WARPGROUP: usize = 128;

/// Bytes of the part of A's tile that one warpgroup uses.
pub const A_BYTES: usize = ROWS * ROW_BYTES;

/// Bytes along k of one product.
pub const STEP_BYTES: usize = 32;

/// Products of a stage.
pub const STEPS: usize = ROW_BYTES / STEP_BYTES;

/// Elements along k of a stage, for elements of so many bytes: 64 of 16 bits, 32 of 32 bits. An operand that is stored across k has
/// as many rows in a box, of as many elements.
pub const fn depth(element_bytes: usize) -> usize {
    ROW_BYTES / element_bytes
}

/// Bytes of a box of an operand that is stored across k.
pub const fn across_bytes(element_bytes: usize) -> usize {
    depth(element_bytes) * ROW_BYTES
}

/// Bytes of a stage for so many warpgroups, one below the other, and so many columns.
pub const fn stage_bytes(warpgroups: usize, columns: usize) -> usize {
    (warpgroups * ROWS + columns) * ROW_BYTES
}

/// The tensor maps of A, B and C, in this order, in global memory. They have three dimensions, of which the last
/// counts the matrices of a batch, and swizzle by 128 bytes. C's is only of those kernels that store by bulk copies.
///
/// An operand that is stored along k has boxes of [`depth`] elements along k and the rows (of B: columns) of a block's tile that are
/// [`fetched`]; one that is stored across k has boxes of [`depth`] × [`depth`] elements.
#[repr(C)]
pub struct Maps {
    /// A's.
    pub a: TensorMap,
    /// B's.
    pub b: TensorMap,
    /// C's.
    pub c: TensorMap,
}

/// The launch's dynamic shared memory: a type of the alignment that swizzled tiles want.
#[repr(C, align(1024))]
struct Tiles([u8; 1024]);

/// Where the stages begin.
#[inline(always)]
pub fn stages() -> SharedAddress {
    SharedAddress::of(shared::dynamic_shared_mem::<Tiles>())
}

/// The place of a tile's stage in the operands.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// First row of A.
    pub top: u32,
    /// First column of B.
    pub left: u32,
    /// Rows of A and columns of B that are fetched: all of the tile, or what is [`fetched`].
    pub fetched: [u32; 2],
    /// First element along k.
    pub start: u32,
    /// Which matrices of the batch.
    pub matrices: [u32; 2],
}

/// Rows after which the swizzle begins again.
const SWIZZLED_ROWS: u32 = 8;

/// How many rows of A, or columns of B, are fetched at least, of elements of so many bytes: a box of an operand across k; any number along
/// k, and a multiple of this where so many blocks fetch equal shares.
pub const fn fetched_together(element_bytes: usize, along_k: bool, blocks: u32) -> u32 {
    if !along_k {
        depth(element_bytes) as u32
    } else if blocks > 1 {
        SWIZZLED_ROWS * blocks
    } else {
        1
    }
}

/// Rows of A, or columns of B, to fetch for tiles of `whole`: where the matrix has fewer, those that it has, up to a multiple of
/// [`together`](fetched_together). Those outside of a matrix take longer to come than others, though they are zeros.
///
/// What C has no rows or columns for may be anything.
pub const fn fetched(extent: u32, whole: u32, together: u32) -> u32 {
    if extent == 0 || extent >= whole {
        whole
    } else {
        extent.next_multiple_of(together)
    }
}

/// Clears these bytes of all stages, which no copy fills: products read them as well.
///
/// # Safety
/// A whole warpgroup is here, and nobody else uses them. `stages` are those of a ring; the bytes are multiples of 16.
#[inline(always)]
pub unsafe fn clear<R: Stages>(stages: *mut u8, bytes: Range<usize>) {
    /// What a thread writes at once.
    const VECTOR: usize = size_of::<f32>() * 4;
    let thread = thread::thread_idx_x() as usize % WARPGROUP;
    for stage in 0..R::COUNT {
        let stage = stages.wrapping_add(stage * R::BYTES);
        let mut byte = bytes.start + thread * VECTOR;
        while byte < bytes.end {
            // SAFETY: the caller ensures it.
            unsafe { F32x4::store(stage.wrapping_add(byte).cast(), [0.0; 4]) };
            byte += WARPGROUP * VECTOR;
        }
    }
}

// ANCHOR: fetch
/// Starts to copy the tiles of a stage, for `WARPGROUPS` of them one below the other. `A` and `B` say how the operands are stored.
///
/// # Safety
/// The maps are as [`Maps`] says, nobody uses the stage any more, and the barrier is ready for bulk copies. One thread does this.
#[inline(always)]
pub unsafe fn fetch<E: Input, const WARPGROUPS: usize, const A: i32, const B: i32>(
    stage: SharedAddress,
    maps: *const Maps,
    place: Place,
    full: Barrier,
) {
    // SAFETY: the caller ensures it.
    unsafe {
        fetch_a::<E, A>(stage, maps, place, full);
        let map = &raw const (*maps).b;
        let to = place_of_b(stage, WARPGROUPS);
        let corner = [place.left, place.start];
        each_box::<E, B>(to, corner, place.fetched[1], |to, [column, row]| {
            tma::load_3d(to, map, [column, row, place.matrices[1]], full);
        });
    }
}

/// Starts to copy A's tile of a stage, and lets its barrier expect B's as well.
///
/// # Safety
/// As for [`fetch`].
#[inline(always)]
pub unsafe fn fetch_a<E: Input, const A: i32>(
    stage: SharedAddress,
    maps: *const Maps,
    place: Place,
    full: Barrier,
) {
    // SAFETY: the caller ensures it.
    unsafe {
        let [rows, columns] = place.fetched;
        full.arrive_expect_tx((rows + columns) * ROW_BYTES as u32);
        let map = &raw const (*maps).a;
        let corner = [place.top, place.start];
        each_box::<E, A>(stage, corner, rows, |to, [column, row]| {
            tma::load_3d(to, map, [column, row, place.matrices[0]], full);
        });
    }
}

/// Calls `load` with the places of each box of an operand's tile: in shared memory, from `to` on, and the column and the row in the
/// matrix. The tile begins at `first` row of A, or column of B, and at `start` along k, and has `extent` rows or columns.
/// Of an operand that is stored across k those are whole boxes.
#[inline(always)]
pub fn each_box<E: Input, const WAY: i32>(
    to: SharedAddress,
    [first, start]: [u32; 2],
    extent: u32,
    load: impl Fn(SharedAddress, [u32; 2]),
) {
    if WAY == K_MAJOR {
        load(to, [start, first]);
    } else {
        let of_box = depth(E::BYTES) as u32;
        for i in 0..extent / of_box {
            let to = to.at(i * across_bytes(E::BYTES) as u32);
            load(to, [first + i * of_box, start]);
        }
    }
}
// ANCHOR_END: fetch

/// Where B's tile lies in a stage for so many warpgroups.
#[inline(always)]
pub fn place_of_b(stage: SharedAddress, warpgroups: usize) -> SharedAddress {
    stage.at((warpgroups * A_BYTES) as u32)
}

/// The operands of a warpgroup in a stage.
#[derive(Clone, Copy, Debug)]
pub struct Operands<const A: i32, const B: i32> {
    a: Descriptor,
    b: Descriptor,
}

impl<const A: i32, const B: i32> Operands<A, B> {
    /// Those of one of so many warpgroups.
    #[inline(always)]
    pub fn new(stage: SharedAddress, warpgroups: usize, warpgroup: usize) -> Self {
        Operands {
            a: operand::<A>(stage.at((warpgroup * A_BYTES) as u32)),
            b: operand::<B>(place_of_b(stage, warpgroups)),
        }
    }

    /// Those of a step.
    #[inline(always)]
    fn at<E: Input>(&self, step: usize) -> [Descriptor; 2] {
        [
            self.a.at(further::<E, A>(step)),
            self.b.at(further::<E, B>(step)),
        ]
    }

    /// Starts the product of a stage's tiles.
    ///
    /// # Safety
    /// The stage is complete, and stays so until the products are waited for. The whole warpgroup is here.
    #[inline(always)]
    pub unsafe fn multiply<E: Input, S: Accumulator>(&self) -> S {
        // SAFETY: the caller ensures it.
        unsafe {
            wgmma::fence();
            let [a, b] = self.at::<E>(0);
            let mut sums = S::mma::<E, A, B>(a, b);
            for step in 1..STEPS {
                let [a, b] = self.at::<E>(step);
                sums.mma_add::<E, A, B>(a, b);
            }
            wgmma::commit_group();
            sums
        }
    }

    // ANCHOR: multiply_add
    /// Starts to add the product of a stage's tiles to sums.
    ///
    /// # Safety
    /// As for [`multiply`](Self::multiply), from which the sums are.
    #[inline(always)]
    pub unsafe fn multiply_add<E: Input, S: Accumulator>(&self, sums: &mut S) {
        // SAFETY: the caller ensures it.
        unsafe {
            wgmma::fence();
            for step in 0..STEPS {
                let [a, b] = self.at::<E>(step);
                sums.mma_add::<E, A, B>(a, b);
            }
            wgmma::commit_group();
        }
    }
    // ANCHOR_END: multiply_add
}

/// Steps of a tile: stages along k, for stages of so many elements. Where k is 0 there is one all the same, of zeros: see
/// [`start`].
#[inline(always)]
pub const fn steps(k: u32, depth: usize) -> u32 {
    let steps = k.div_ceil(depth as u32);
    if steps == 0 { 1 } else { steps }
}

/// Where a step begins along k: outside of the operands where k is 0.
#[inline(always)]
pub fn start(k: u32, depth: usize, step: u32) -> u32 {
    (step + (k == 0) as u32) * depth as u32
}

/// The operand at this place.
#[inline(always)]
fn operand<const WAY: i32>(place: SharedAddress) -> Descriptor {
    if WAY == K_MAJOR {
        Descriptor::k_major(place)
    } else {
        // Elements of 16 bits, as all that are stored across k and multiplied from shared memory.
        Descriptor::mn_major(place, across_bytes(2) as u32)
    }
}

/// Bytes from the first product's operand to that of `step`.
#[inline(always)]
fn further<E: Input, const WAY: i32>(step: usize) -> u32 {
    let bytes = if WAY == K_MAJOR {
        step * STEP_BYTES
    } else {
        step * STEP_BYTES / E::BYTES * ROW_BYTES
    };
    bytes as u32
}
