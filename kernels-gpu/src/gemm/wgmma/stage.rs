//! What the `wgmma` rungs share: tiles that bulk copies bring, and products of them.

use crate::gemm::pipeline::tma::Stages;
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
pub const WM: usize = 64;

/// Threads of a warpgroup.
pub const WARPGROUP: usize = 128;

/// Bytes of the part of A's tile that one warpgroup uses.
pub const A_BYTES: usize = WM * ROW_BYTES;

/// Bytes along k of one product.
pub const MMA_K_BYTES: usize = 32;

/// Products of a stage.
pub const MMAS_PER_STAGE: usize = ROW_BYTES / MMA_K_BYTES;

/// OutputElements along k of a stage, for elements of so many bytes: 64 of 16 bits, 32 of 32 bits. An operand that is stored across k has
/// as many rows in a box, of as many elements.
pub const fn block_k(element_bytes: usize) -> usize {
    ROW_BYTES / element_bytes
}

/// Bytes of a box of an operand that is stored across k.
pub const fn across_bytes(element_bytes: usize) -> usize {
    block_k(element_bytes) * ROW_BYTES
}

/// Bytes of a stage for so many consumers, one below the other, and so many columns.
pub const fn stage_bytes(consumers: usize, columns: usize) -> usize {
    (consumers * WM + columns) * ROW_BYTES
}

/// The tensor maps of A, B and C, in this order, in global memory. They have three dimensions, of which the last
/// counts the matrices of a batch, and swizzle by 128 bytes. C's is only of those kernels that store by bulk copies.
///
/// An operand that is stored along k has boxes of [`depth`] elements along k and the rows (of B: columns) of a block's tile that are
/// [`loaded`]; one that is stored across k has boxes of [`depth`] × [`depth`] elements.
#[repr(C)]
pub struct TensorMaps {
    /// A's.
    pub a: TensorMap,
    /// B's.
    pub b: TensorMap,
    /// C's.
    pub c: TensorMap,
}

/// The launch's dynamic shared memory: a type of the alignment that swizzled tiles want.
#[repr(C, align(1024))]
struct TileGrid([u8; 1024]);

/// Where the stages begin.
#[inline(always)]
pub fn stages() -> SharedAddress {
    SharedAddress::of(shared::dynamic_shared_mem::<TileGrid>())
}

/// The place of a tile's stage in the operands.
#[derive(Clone, Copy, Debug)]
pub struct StageCoord {
    /// First row of A.
    pub top: u32,
    /// First column of B.
    pub left: u32,
    /// Rows of A and columns of B that are loaded: all of the tile, or what is [`loaded`].
    pub loaded: [u32; 2],
    /// First element along k.
    pub start: u32,
    /// Which matrices of the batch.
    pub matrices: [u32; 2],
}

/// Rows after which the swizzle begins again.
const SWIZZLED_ROWS: u32 = 8;

/// How many rows of A, or columns of B, are loaded at least, of elements of so many bytes: a box of an operand across k; any number along
/// k, and a multiple of this where so many blocks load equal stream_k.
pub const fn loaded_multiple(element_bytes: usize, along_k: bool, blocks: u32) -> u32 {
    if !along_k {
        block_k(element_bytes) as u32
    } else if blocks > 1 {
        SWIZZLED_ROWS * blocks
    } else {
        1
    }
}

/// Rows of A, or columns of B, to load for tiles of `whole`: where the matrix has fewer, those that it has, up to a multiple of
/// [`together`](loaded_multiple). Those outside of a matrix take longer to come than others, though they are zeros.
///
/// What C has no rows or columns for may be anything.
pub const fn loaded(extent: u32, whole: u32, together: u32) -> u32 {
    if extent == 0 || extent >= whole {
        whole
    } else {
        extent.next_multiple_of(together)
    }
}

/// Clears these bytes of all stages, which no copy fills: products read them as well.
///
/// # Safety
/// A whole warpgroup is here, and nobody else uses them. `stages` are those of a pipeline; the bytes are multiples of 16.
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

// ANCHOR: load
/// Starts to copy the tiles of a stage, for `CONSUMERS` of them one below the other. `A` and `B` say how the operands are stored.
///
/// # Safety
/// The maps are as [`TensorMaps`] says, nobody uses the stage any more, and the barrier is ready for bulk copies. One thread does this.
#[inline(always)]
pub unsafe fn load<E: Input, const CONSUMERS: usize, const A: i32, const B: i32>(
    stage: SharedAddress,
    maps: *const TensorMaps,
    place: StageCoord,
    full: Barrier,
) {
    // SAFETY: the caller ensures it.
    unsafe {
        load_a::<E, A>(stage, maps, place, full);
        let map = &raw const (*maps).b;
        let to = place_of_b(stage, CONSUMERS);
        let coord = [place.left, place.start];
        each_box::<E, B>(to, coord, place.loaded[1], |to, [column, row]| {
            tma::load_3d(to, map, [column, row, place.matrices[1]], full);
        });
    }
}

/// Starts to copy A's tile of a stage, and lets its barrier expect B's as well.
///
/// # Safety
/// As for [`load`].
#[inline(always)]
pub unsafe fn load_a<E: Input, const A: i32>(
    stage: SharedAddress,
    maps: *const TensorMaps,
    place: StageCoord,
    full: Barrier,
) {
    // SAFETY: the caller ensures it.
    unsafe {
        let [rows, columns] = place.loaded;
        full.arrive_expect_tx((rows + columns) * ROW_BYTES as u32);
        let map = &raw const (*maps).a;
        let coord = [place.top, place.start];
        each_box::<E, A>(stage, coord, rows, |to, [column, row]| {
            tma::load_3d(to, map, [column, row, place.matrices[0]], full);
        });
    }
}

/// Calls `load` with the places of each box of an operand's tile: in shared memory, from `to` on, and the column and the row in the
/// matrix. The tile begins at `first` row of A, or column of B, and at `start` along k, and has `extent` rows or columns.
/// Of an operand that is stored across k those are whole boxes.
#[inline(always)]
pub fn each_box<E: Input, const MAJOR: i32>(
    to: SharedAddress,
    [first, start]: [u32; 2],
    extent: u32,
    load: impl Fn(SharedAddress, [u32; 2]),
) {
    if MAJOR == K_MAJOR {
        load(to, [start, first]);
    } else {
        let of_box = block_k(E::BYTES) as u32;
        for i in 0..extent / of_box {
            let to = to.at(i * across_bytes(E::BYTES) as u32);
            load(to, [first + i * of_box, start]);
        }
    }
}
// ANCHOR_END: load

/// Where B's tile lies in a stage for so many consumers.
#[inline(always)]
pub fn place_of_b(stage: SharedAddress, consumers: usize) -> SharedAddress {
    stage.at((consumers * A_BYTES) as u32)
}

/// The operands of a warpgroup in a stage.
#[derive(Clone, Copy, Debug)]
pub struct Operands<const A: i32, const B: i32> {
    a: Descriptor,
    b: Descriptor,
}

impl<const A: i32, const B: i32> Operands<A, B> {
    /// Those of one of so many consumers.
    #[inline(always)]
    pub fn new(stage: SharedAddress, consumers: usize, warpgroup: usize) -> Self {
        Operands {
            a: operand::<A>(stage.at((warpgroup * A_BYTES) as u32)),
            b: operand::<B>(place_of_b(stage, consumers)),
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
    pub unsafe fn mma<E: Input, S: Accumulator>(&self) -> S {
        // SAFETY: the caller ensures it.
        unsafe {
            wgmma::fence();
            let [a, b] = self.at::<E>(0);
            let mut accumulators = S::mma::<E, A, B>(a, b);
            for step in 1..MMAS_PER_STAGE {
                let [a, b] = self.at::<E>(step);
                accumulators.mma_add::<E, A, B>(a, b);
            }
            wgmma::commit_group();
            accumulators
        }
    }

    // ANCHOR: mma_add
    /// Starts to add the product of a stage's tiles to accumulators.
    ///
    /// # Safety
    /// As for [`mma`](Self::mma), from which the accumulators are.
    #[inline(always)]
    pub unsafe fn mma_add<E: Input, S: Accumulator>(&self, accumulators: &mut S) {
        // SAFETY: the caller ensures it.
        unsafe {
            wgmma::fence();
            for step in 0..MMAS_PER_STAGE {
                let [a, b] = self.at::<E>(step);
                accumulators.mma_add::<E, A, B>(a, b);
            }
            wgmma::commit_group();
        }
    }
    // ANCHOR_END: mma_add
}

/// Steps of a tile: stages along k, for stages of so many elements. Where k is 0 there is one all the same, of zeros: see
/// [`start`].
#[inline(always)]
pub const fn k_tiles(k: u32, depth: usize) -> u32 {
    let steps = k.div_ceil(depth as u32);
    if steps == 0 { 1 } else { steps }
}

/// Where a step begins along k: outside of the operands where k is 0.
#[inline(always)]
pub fn k_offset(k: u32, depth: usize, step: u32) -> u32 {
    (step + (k == 0) as u32) * depth as u32
}

/// The operand at this place.
#[inline(always)]
fn operand<const MAJOR: i32>(place: SharedAddress) -> Descriptor {
    if MAJOR == K_MAJOR {
        Descriptor::k_major(place)
    } else {
        // OutputElements of 16 bits, as all that are stored across k and multiplied from shared memory.
        Descriptor::mn_major(place, across_bytes(2) as u32)
    }
}

/// Bytes from the first product's operand to that of `step`.
#[inline(always)]
fn further<E: Input, const MAJOR: i32>(step: usize) -> u32 {
    let bytes = if MAJOR == K_MAJOR {
        step * MMA_K_BYTES
    } else {
        step * MMA_K_BYTES / E::BYTES * ROW_BYTES
    };
    bytes as u32
}
