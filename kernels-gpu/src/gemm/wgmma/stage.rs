//! What the `wgmma` kernels share: the stages that TMA loads, and the MMAs of a stage.

use crate::gemm::pipeline::tma::Stages;
use crate::gemm::wgmma::boxes::Boxes;
use crate::gemm::wgmma::multicast::BoxSlice;
use core::ops::Range;
use cuda_std::async_copy::SharedAddress;
use cuda_std::hint::{opaque, rolled};
use cuda_std::mbarrier::Barrier;
use cuda_std::prelude::*;
use cuda_std::shared;
use cuda_std::tma::{self, TensorMap};
use cuda_std::vector::{F32x4, Vector};
use cuda_std::wgmma::{self, Accumulator, Descriptor, Input, K_MAJOR};

/// Bytes of a row of a TMA box in shared memory, within which chunks are swizzled.
pub const ROW_BYTES: usize = 128;

/// WM: rows of C that a consumer warpgroup computes.
pub const WM: usize = 64;

/// Threads of a warpgroup.
pub const WARPGROUP: usize = 128;

/// Bytes of one warpgroup's rows of a k-tile of A.
pub const A_BYTES: usize = WM * ROW_BYTES;

/// Bytes along k of one MMA, its k-block.
pub const MMA_K_BYTES: usize = 32;

/// MMAs of a stage.
pub const MMAS_PER_STAGE: usize = ROW_BYTES / MMA_K_BYTES;

/// BK, the elements along k of a stage, for elements of `element_bytes` bytes: 64 of 16 bits, 32 of
/// 32 bits. A TMA box of an MN-major operand has BK rows of BK elements.
pub const fn block_k(element_bytes: usize) -> usize {
    ROW_BYTES / element_bytes
}

/// Bytes of a TMA box of an MN-major operand.
pub const fn mn_major_box_bytes(element_bytes: usize) -> usize {
    block_k(element_bytes) * ROW_BYTES
}

/// Bytes of a stage, for `consumers` warpgroups one below the other and tiles of `bn` columns.
pub const fn stage_bytes(consumers: usize, bn: usize) -> usize {
    (consumers * WM + bn) * ROW_BYTES
}

/// The tensor maps of A, B and C, in this order, in global memory. They have three dimensions, of
/// which the last one counts the matrices of a batch, and swizzle by 128 bytes. C's is used by
/// kernels with a TMA epilogue alone.
///
/// A K-major operand has boxes of [BK](block_k) elements along k and of as many rows (of B:
/// columns) as [`OperandBoxes`](super::boxes::OperandBoxes) says. An MN-major one has boxes of BK ×
/// BK elements.
#[repr(C)]
pub struct TensorMaps {
    /// A's.
    pub a: TensorMap,
    /// B's.
    pub b: TensorMap,
    /// C's.
    pub c: TensorMap,
}

/// The tensor maps of a launch whose tiles end inside of an epilogue tile.
#[repr(C)]
pub struct WindowMaps {
    /// Those that all launches have.
    pub maps: TensorMaps,
    /// C's columns as windows that overlap: one begins at every
    /// [`COLUMN_STEP`](cuda_std::wgmma::COLUMN_STEP)th column, in the place of a matrix of a batch,
    /// and is as wide as what a tile has of its last epilogue tile. TMA stores no column outside of
    /// a window, so none of the tile to the right.
    pub c_windows: TensorMap,
}

/// A type for dynamic shared memory, with the alignment of swizzled tiles.
#[repr(C, align(1024))]
struct SwizzleAtom([u8; 1024]);

/// The address of the first stage.
#[inline(always)]
pub fn stages() -> SharedAddress {
    SharedAddress::of(shared::dynamic_shared_mem::<SwizzleAtom>())
}

/// Coordinates in the operands of the k-tiles that a stage holds.
#[derive(Clone, Copy, Debug)]
pub struct StageCoord {
    /// First row of A.
    pub top: u32,
    /// First column of B.
    pub left: u32,
    /// TMA boxes of the rows of A and of the columns of B.
    pub boxes: [Boxes; 2],
    /// First element along k.
    pub start: u32,
    /// Matrices of A and B in the batch.
    pub matrices: [u32; 2],
    /// What this block loads of each box of A and of B in a multicast cluster; without, all.
    pub slices: Option<[BoxSlice; 2]>,
}

/// Clears `bytes` of each stage, up to `count` of them. No TMA load may have filled these when the
/// MMAs read them.
///
/// # Safety
/// All `threads` threads of the block execute it, and no other code uses these bytes meanwhile.
/// `stages` is the first stage of a pipeline; `bytes` lie in a stage and begin and end at multiples
/// of 16.
#[inline(always)]
pub unsafe fn clear<R: Stages>(
    (stages, count): (*mut u8, usize),
    bytes: Range<usize>,
    threads: usize,
) {
    /// Bytes of a vector, which a thread stores at a time.
    const VECTOR: usize = size_of::<f32>() * 4;
    let mut of_stage = opaque(0);
    while of_stage < R::COUNT.min(count) {
        let stage = stages.wrapping_add(of_stage * R::BYTES);
        let mut byte = bytes.start + thread::thread_idx_x() as usize * VECTOR;
        while byte < bytes.end {
            // SAFETY: the contract says that `bytes` lie in a stage, in multiples of 16, and that
            // no other code uses them.
            unsafe { F32x4::store(stage.wrapping_add(byte).cast(), [0.0; 4]) };
            byte = rolled(byte + threads * VECTOR);
        }
        of_stage = rolled(of_stage + 1);
    }
}

// ANCHOR: load
/// Starts the TMA loads of a stage, for `CONSUMERS` warpgroups one below the other. `A` and `B` are
/// the layouts of the operands, K-major or MN-major.
///
/// # Safety
/// One thread executes it. The maps are as [`TensorMaps`] says, and the stage is empty. `full` is
/// initialised and expects one arrival.
#[inline(always)]
pub unsafe fn load<E: Input, const CONSUMERS: usize, const A: i32, const B: i32>(
    stage: SharedAddress,
    maps: *const TensorMaps,
    coord: StageCoord,
    full: Barrier,
) {
    // SAFETY: the contract says that the maps are valid, the stage is empty and the barrier is
    // initialised. `load_a` lets the barrier expect the bytes of both k-tiles.
    unsafe {
        load_a::<E, A>(stage, maps, coord, full);
        let map = &raw const (*maps).b;
        let to = tile_b(stage, CONSUMERS);
        let start = [coord.left, coord.start];
        each_box::<E, B>(to, start, coord.boxes[1], |to, [column, row]| {
            tma::load_3d(to, map, [column, row, coord.matrices[1]], full);
        });
    }
}

/// Starts the TMA loads of A's k-tile of a stage. The full barrier then expects the bytes of B's as
/// well.
///
/// # Safety
/// As for [`load`].
#[inline(always)]
pub unsafe fn load_a<E: Input, const A: i32>(
    stage: SharedAddress,
    maps: *const TensorMaps,
    coord: StageCoord,
    full: Barrier,
) {
    // SAFETY: the contract says that the maps are valid, the stage is empty and the barrier is
    // initialised.
    unsafe {
        let [a, b] = coord.boxes;
        full.arrive_expect_tx((a.rows() + b.rows()) * ROW_BYTES as u32);
        let map = &raw const (*maps).a;
        let start = [coord.top, coord.start];
        each_box::<E, A>(stage, start, a, |to, [column, row]| {
            tma::load_3d(to, map, [column, row, coord.matrices[0]], full);
        });
    }
}

/// Calls `load` for each of the TMA boxes of an operand's k-tile, with its address in shared
/// memory, from `to` on, and its column and row in the matrix. The k-tile begins at row (of B:
/// column) `first` and at `start` along k.
#[inline(always)]
pub fn each_box<E: Input, const MAJOR: i32>(
    to: SharedAddress,
    [first, start]: [u32; 2],
    boxes: Boxes,
    load: impl Fn(SharedAddress, [u32; 2]),
) {
    if MAJOR == K_MAJOR {
        load(to, [start, first]);
        // Mostly there is no second one: the loop is not worth to be unrolled.
        let mut i = 1;
        while i < boxes.count {
            let row = i * boxes.extent;
            load(to.at(row * ROW_BYTES as u32), [start, first + row]);
            i = rolled(i as usize + 1) as u32;
        }
    } else {
        // The number is known at run time only: unrolled, there are several loops.
        let mut i = 0;
        while i < boxes.count {
            let to = to.at(i * mn_major_box_bytes(E::BYTES) as u32);
            load(to, [first + i * block_k(E::BYTES) as u32, start]);
            i = rolled(i as usize + 1) as u32;
        }
    }
}
// ANCHOR_END: load

/// The address of B's k-tile in a stage, behind those rows of A that `consumers` warpgroups use.
#[inline(always)]
pub fn tile_b(stage: SharedAddress, consumers: usize) -> SharedAddress {
    stage.at((consumers * A_BYTES) as u32)
}

/// The operands of a warpgroup in a stage.
#[derive(Clone, Copy, Debug)]
pub struct Operands<const A: i32, const B: i32> {
    a: Descriptor,
    b: Descriptor,
}

impl<const A: i32, const B: i32> Operands<A, B> {
    /// The operands of one of `consumers` consumer warpgroups.
    #[inline(always)]
    pub fn new(stage: SharedAddress, consumers: usize, warpgroup: usize) -> Self {
        Operands {
            a: operand::<A>(stage.at((warpgroup * A_BYTES) as u32)),
            b: operand::<B>(tile_b(stage, consumers)),
        }
    }

    /// A of this stage, and B of another one.
    #[inline(always)]
    pub fn with_b_of(self, other: Self) -> Self {
        Operands { b: other.b, ..self }
    }

    /// The operands of a k-block.
    #[inline(always)]
    fn at<E: Input>(&self, k_block: usize) -> [Descriptor; 2] {
        [
            self.a.at(k_block_offset::<E, A>(k_block)),
            self.b.at(k_block_offset::<E, B>(k_block)),
        ]
    }

    /// Starts the MMAs of a stage, with new accumulators.
    ///
    /// # Safety
    /// All 128 threads of the warpgroup execute it together. The stage is full, and is not released
    /// before the MMAs have been waited for.
    #[inline(always)]
    pub unsafe fn mma<E: Input, S: Accumulator>(&self) -> S {
        // SAFETY: the contract says that the whole warpgroup is here and that the stage stays full.
        // `fence` comes before the first MMA, and the operands of all k-blocks lie in the stage.
        unsafe {
            wgmma::fence();
            let [a, b] = self.at::<E>(0);
            let mut accumulators = S::mma::<E, A, B>(a, b);
            for k_block in 1..MMAS_PER_STAGE {
                let [a, b] = self.at::<E>(k_block);
                accumulators.mma_add::<E, A, B>(a, b);
            }
            wgmma::commit_group();
            accumulators
        }
    }

    // ANCHOR: mma_add
    /// Starts the MMAs of a stage, which add to the accumulators.
    ///
    /// # Safety
    /// As for [`mma`](Self::mma), which has returned the accumulators.
    #[inline(always)]
    pub unsafe fn mma_add<E: Input, S: Accumulator>(&self, accumulators: &mut S) {
        // SAFETY: the contract says that the whole warpgroup is here and that the stage stays full.
        // `fence` comes before the first MMA, and the operands of all k-blocks lie in the stage.
        unsafe {
            wgmma::fence();
            for k_block in 0..MMAS_PER_STAGE {
                let [a, b] = self.at::<E>(k_block);
                accumulators.mma_add::<E, A, B>(a, b);
            }
            wgmma::commit_group();
        }
    }
    // ANCHOR_END: mma_add
}

/// k-tiles of a tile, of `bk` elements. Where k is 0 there is one, of zeros: see [`k_offset`].
#[inline(always)]
pub const fn k_tiles(k: u32, bk: usize) -> u32 {
    let k_tiles = k.div_ceil(bk as u32);
    if k_tiles == 0 { 1 } else { k_tiles }
}

/// The first element along k of a k-tile: outside of the operands where k is 0.
#[inline(always)]
pub fn k_offset(k: u32, bk: usize, k_tile: u32) -> u32 {
    (k_tile + (k == 0) as u32) * bk as u32
}

/// The descriptor of the operand at an address.
#[inline(always)]
fn operand<const MAJOR: i32>(address: SharedAddress) -> Descriptor {
    if MAJOR == K_MAJOR {
        Descriptor::k_major(address)
    } else {
        // Elements of 16 bits, as of all MN-major operands in shared memory (SS).
        Descriptor::mn_major(address, mn_major_box_bytes(2) as u32)
    }
}

/// Offset of the operand of a k-block from the first one, in bytes.
#[inline(always)]
fn k_block_offset<E: Input, const MAJOR: i32>(k_block: usize) -> u32 {
    let bytes = if MAJOR == K_MAJOR {
        k_block * MMA_K_BYTES
    } else {
        k_block * MMA_K_BYTES / E::BYTES * ROW_BYTES
    };
    bytes as u32
}
