//! `wgmma_bf16_grouped`, `wgmma_f16_grouped`: a list of GEMMs in one launch, such as those of the
//! experts of a network, each with sizes, layouts and matrices of its own.
//!
//! # Idea
//! A launch for each of many small GEMMs leaves most multiprocessors idle. Here the tiles of all of
//! them are one list, and the blocks of a [persistent](crate::gemm::scheduler::persistent) grid
//! take its tiles in turn. A tile says which GEMM it is of, where it begins and how many k-tiles it
//! has, so no block searches for its next one, which it loads a tile ahead. The order of tiles is
//! the host's: those of many k-tiles come first. A GEMM has its tensor maps and extents in device
//! memory.
//!
//! The type of C and the layouts of A and B are told at run time, each by a branch outside of the
//! main loop: there is one kernel for each type of A and B. The pipeline goes on from one GEMM to
//! the next, and so do the epilogue tiles.
//!
//! # Thread mapping
//! As in `wgmma_bf16_persistent`, with tiles of 128 × 256.
//!
//! # Preconditions
//! The matrices A and B and their rows begin at multiples of 16 bytes. C may have any alignment.
//! GEMMs with m, n or k of 0 are allowed: they have no tiles, or tiles without k-tiles.
//!
//! # What changed since the rung before
//! Against [`wgmma_bf16`](super::kernels): a list of GEMMs instead of a batch of equal ones;
//! data-parallel tiles only.
//!
//! # Source
//! Beyond the sources; CUTLASS has grouped GEMMs as well.

use crate::gemm::GemmParams;
use crate::gemm::copy::layout;
use crate::gemm::element::Output;
use crate::gemm::epilogue::aligned;
use crate::gemm::epilogue::output_elements::OutputElements;
use crate::gemm::epilogue::output_op::{LinearCombination, OutputOp};
use crate::gemm::epilogue::tma_source;
use crate::gemm::epilogue::tma_store::TmaEpilogue;
use crate::gemm::pipeline::tma::{Pipeline, Stages};
use crate::gemm::reduction::dsmem;
use crate::gemm::scheduler::persistent::TileCoord;
use crate::gemm::tile_config::TileConfig;
use crate::gemm::wgmma::boxes::{Boxes, OperandBoxes};
use crate::gemm::wgmma::kernels::MAX_ROWS;
use crate::gemm::wgmma::source::SS;
use crate::gemm::wgmma::stage::{
    self, A_BYTES, ROW_BYTES, StageCoord, TensorMaps, WARPGROUP, WM, each_box,
};
use crate::gemm::wgmma::warp_specialized::{
    CONSUMER_REGISTERS, PRODUCER_REGISTERS, StageCountAuto, WgmmaTile, boxes_bytes, threads,
};
use cuda_std::float16::{bf16, f16};
use cuda_std::griddepcontrol;
use cuda_std::mma::{Bf16, F16};
use cuda_std::prelude::*;
use cuda_std::shared;
use cuda_std::tma;
use cuda_std::wgmma::{self, Input, K_MAJOR, MN_MAJOR};

/// Columns of a tile.
const BN: usize = 256;

/// Consumer warpgroups of a block.
const CONSUMERS: usize = MAX_ROWS as usize / WM;

/// Accumulators of a thread.
type TileAccumulators = [f32; BN / 2];

/// The stages of a block.
type GroupStages = StageCountAuto<TileAccumulators, CONSUMERS, false>;

/// What the kernels read of a GEMM beside its tensor maps.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupExtents {
    /// The address of C.
    pub c: u64,
    /// Rows of C.
    pub m: u32,
    /// Columns of C.
    pub n: u32,
    /// Leading dimension of C.
    pub ldc: u32,
    /// 1 where TMA can store C.
    pub tma_store: u32,
    /// How the rows of A and the columns of B come to stages.
    pub boxes: [OperandBoxes; 2],
    /// 1 where A is K-major, 0 where it is MN-major.
    pub a_k_major: u32,
    /// The same of B.
    pub b_k_major: u32,
}

/// A GEMM of the list, in device memory.
#[repr(C)]
pub struct GroupProblem {
    /// The tensor maps. Those of A and B are not read where k is 0, and C's where TMA cannot store
    /// it.
    pub maps: TensorMaps,
    /// All else.
    pub extents: GroupExtents,
}

const _: () = assert!(size_of::<GroupExtents>() == 64 && size_of::<GroupProblem>() == 448);

/// A tile of the list, in device memory.
#[repr(C, align(16))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupTile {
    /// The index of its GEMM.
    pub problem: u32,
    /// Its first row in C.
    pub row: u32,
    /// Its first column in C.
    pub column: u32,
    /// Its k-tiles: 0 where k is.
    pub k_tiles: u32,
}

/// What all GEMMs of a launch have in common, passed by value.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GroupParams {
    /// Tiles of the list.
    pub tiles: u32,
    /// 1 where C is of the 16-bit type of A and B, 0 where it is of f32.
    pub c_16bit: u32,
    /// The fewest rows of A and columns of B that are loaded for a tile of any GEMM.
    pub least: [u32; 2],
    /// α.
    pub alpha: f32,
    /// β. Where it is 0, C is not read.
    pub beta: f32,
}

/// The GEMM of a tile.
#[derive(Clone, Copy)]
struct Work {
    tile: GroupTile,
    maps: *const TensorMaps,
    extents: GroupExtents,
}

/// The kernel's parameters.
#[derive(Clone, Copy)]
struct Group {
    problems: *const GroupProblem,
    tiles: *const GroupTile,
    params: GroupParams,
}

impl Group {
    /// The tile of the list with this index; one without k-tiles where there is none.
    ///
    /// # Safety
    /// The lists are as the kernels say.
    #[inline(always)]
    unsafe fn tile(&self, index: u32) -> GroupTile {
        if index < self.params.tiles {
            // SAFETY: the list has the tile, by the contract.
            unsafe { *self.tiles.wrapping_add(index as usize) }
        } else {
            GroupTile {
                problem: 0,
                row: 0,
                column: 0,
                k_tiles: 0,
            }
        }
    }

    /// A tile with what its GEMM is.
    ///
    /// # Safety
    /// As for [`tile`](Self::tile), which has returned it.
    #[inline(always)]
    unsafe fn work(&self, tile: GroupTile) -> Work {
        let problem = self.problems.wrapping_add(tile.problem as usize);
        // SAFETY: the list has the GEMM, by the contract.
        unsafe {
            Work {
                tile,
                maps: &raw const (*problem).maps,
                extents: (*problem).extents,
            }
        }
    }

    /// The producer: loads the k-tiles of this block's tiles.
    ///
    /// # Safety
    /// One thread of the block executes it, while the consumers execute [`consume`](Self::consume).
    /// The lists are as the kernels say.
    #[inline(always)]
    unsafe fn produce<E: Input>(&self, mut pipeline: Pipeline<GroupStages>) {
        let mut index = thread::block_idx_x();
        // SAFETY: the contract is that of this function. A stage is empty when all consumer warps
        // have released it.
        unsafe {
            let mut next = self.tile(index);
            while index < self.params.tiles {
                let work = self.work(next);
                let boxes = work.boxes();
                index += thread::grid_dim_x();
                next = self.tile(index);
                if next.k_tiles != 0 {
                    let maps = self.work(next).maps;
                    tma::prefetch_tensormap(&raw const (*maps).a);
                    tma::prefetch_tensormap(&raw const (*maps).b);
                }
                for k_tile in 0..work.tile.k_tiles {
                    pipeline.producer_acquire();
                    work.load::<E>(&pipeline, boxes, k_tile);
                    pipeline.advance();
                }
            }
        }
    }

    /// Clears the rows of A and the columns of B that are not loaded for some tile: what they hold
    /// does not matter, but is read.
    ///
    /// # Safety
    /// All threads of the block execute it before a barrier of the block, and that before
    /// [`produce`](Self::produce) and [`consume`](Self::consume). `stages` is the first stage.
    #[inline(always)]
    unsafe fn clear(&self, stages: *mut u8) {
        let [rows, columns] = self.params.least.map(|least| least as usize);
        if rows == CONSUMERS * WM && columns == BN {
            return;
        }
        let b = CONSUMERS * A_BYTES;
        let threads = threads(CONSUMERS * WM);
        // SAFETY: no MMA reads the stages yet by the contract, and the producer fills none. The
        // proxy fence and the barrier of the block order the stores before both.
        unsafe {
            let stages = (stages, GroupStages::COUNT);
            stage::clear::<GroupStages>(stages, rows * ROW_BYTES..b, threads);
            let from = b + columns * ROW_BYTES;
            stage::clear::<GroupStages>(stages, from..b + BN * ROW_BYTES, threads);
            tma::fence_proxy_async();
        }
    }

    /// A consumer warpgroup: computes its rows of this block's tiles, and stores them.
    ///
    /// # Safety
    /// All 128 threads of the warpgroup execute it, while the producer executes
    /// [`produce`](Self::produce). `shared` is as for [`Work::store`]. The lists are as the kernels
    /// say.
    #[inline(always)]
    unsafe fn consume<E: Input + Copy, N: Output<Wide = f32>>(
        &self,
        mut pipeline: Pipeline<GroupStages>,
        warpgroup: usize,
        shared: [*mut u8; 2],
    ) {
        let mut index = thread::block_idx_x();
        // SAFETY: the contract is that of this function: all threads of the warpgroup are here, and
        // the producer loads the k-tiles of the same tiles.
        unsafe {
            let mut next = self.tile(index);
            while index < self.params.tiles {
                let work = self.work(next);
                index += thread::grid_dim_x();
                next = self.tile(index);
                let mut accumulators = work.accumulators::<E>(&mut pipeline, warpgroup);
                if self.params.c_16bit != 0 {
                    work.store::<N>(&self.params, &mut accumulators, warpgroup, shared);
                } else {
                    work.store::<f32>(&self.params, &mut accumulators, warpgroup, shared);
                }
            }
        }
        tma::wait_group::<0>();
    }
}

impl Work {
    /// The boxes of A and B of its k-tiles.
    #[inline(always)]
    fn boxes(&self) -> [Boxes; 2] {
        let [a, b] = &self.extents.boxes;
        [a.of_tile(self.tile.row), b.of_tile(self.tile.column)]
    }

    /// Starts the TMA loads of a k-tile into the pipeline's stage.
    ///
    /// # Safety
    /// One thread executes it. The stage is empty, the maps are those of A and B, and `boxes` are
    /// [its own](Self::boxes).
    #[inline(always)]
    unsafe fn load<E: Input>(
        &self,
        pipeline: &Pipeline<GroupStages>,
        boxes: [Boxes; 2],
        k_tile: u32,
    ) {
        let (stage, full) = (pipeline.stage(), pipeline.full());
        let GroupExtents {
            a_k_major,
            b_k_major,
            ..
        } = self.extents;
        let start = k_tile * stage::block_k(E::BYTES) as u32;
        let at = StageCoord {
            top: self.tile.row,
            left: self.tile.column,
            boxes,
            start,
            matrices: [0; 2],
            slices: None,
        };
        // SAFETY: the contract is that of `stage::load_a`, which lets the barrier expect the bytes
        // of both k-tiles.
        unsafe {
            if a_k_major != 0 {
                stage::load_a::<E, K_MAJOR>(stage, self.maps, at, full);
            } else {
                stage::load_a::<E, MN_MAJOR>(stage, self.maps, at, full);
            }
            let map = &raw const (*self.maps).b;
            let (to, from) = (stage::tile_b(stage, CONSUMERS), [at.left, at.start]);
            let load = |to, [column, row]: [u32; 2]| tma::load_3d(to, map, [column, row, 0], full);
            if b_k_major != 0 {
                each_box::<E, K_MAJOR>(to, from, boxes[1], load);
            } else {
                each_box::<E, MN_MAJOR>(to, from, boxes[1], load);
            }
        }
    }

    /// The accumulators of a warpgroup.
    ///
    /// # Safety
    /// All 128 threads of the warpgroup execute it together. The pipeline's producer loads the
    /// k-tiles.
    #[inline(always)]
    unsafe fn accumulators<E: Input + Copy>(
        &self,
        pipeline: &mut Pipeline<GroupStages>,
        warpgroup: usize,
    ) -> TileAccumulators {
        let k_tiles = self.tile.k_tiles;
        if k_tiles == 0 {
            return [0.0; _];
        }
        // SAFETY: the contract is that of `SS::mma`. The conditions are the same in all threads.
        unsafe {
            match (self.extents.a_k_major != 0, self.extents.b_k_major != 0) {
                (true, false) => SS::<E, K_MAJOR, MN_MAJOR>::mma::<TileAccumulators, _, CONSUMERS>(
                    pipeline, k_tiles, warpgroup,
                ),
                (true, true) => SS::<E, K_MAJOR, K_MAJOR>::mma::<TileAccumulators, _, CONSUMERS>(
                    pipeline, k_tiles, warpgroup,
                ),
                (false, false) => {
                    SS::<E, MN_MAJOR, MN_MAJOR>::mma::<TileAccumulators, _, CONSUMERS>(
                        pipeline, k_tiles, warpgroup,
                    )
                }
                (false, true) => SS::<E, MN_MAJOR, K_MAJOR>::mma::<TileAccumulators, _, CONSUMERS>(
                    pipeline, k_tiles, warpgroup,
                ),
            }
        }
    }

    /// Stores the results of a warpgroup's rows to a C of `C`.
    ///
    /// # Safety
    /// All 128 threads of the warpgroup execute it together, and its MMAs have been waited for. C
    /// is of `C`, and no other warpgroup stores these elements. `boxes` is the shared memory of the
    /// warpgroup's epilogue, and `source_barriers` are those of all, initialised where β is not 0.
    #[inline(always)]
    unsafe fn store<C: Output<Wide = f32>>(
        &self,
        group: &GroupParams,
        accumulators: &mut TileAccumulators,
        warpgroup: usize,
        [boxes, source_barriers]: [*mut u8; 2],
    ) {
        let barrier = 1 + warpgroup as u32;
        let GroupExtents {
            c,
            m,
            n,
            ldc,
            tma_store,
            ..
        } = self.extents;
        let params = GemmParams {
            ldc,
            alpha: group.alpha,
            beta: group.beta,
            ..GemmParams::dense([m, n, 0], [false; 2])
        };
        let epilogue = TmaEpilogue {
            op: LinearCombination::new(&params),
            elements: OutputElements {
                c: core::ptr::with_exposed_provenance_mut::<C>(c as usize),
                params: &params,
                transposed: false,
            },
            tma_store,
            maps: self.maps,
            boxes,
            columns: BN as u32,
            narrowest: BN as u32,
            barrier,
            source_barriers,
        };
        let coord = TileCoord {
            row: self.tile.row + (warpgroup * WM) as u32,
            column: self.tile.column,
            matrix: 0,
        };
        let all = 0..dsmem::epilogue_tiles(BN as u32, size_of::<C>());
        // SAFETY: the contract is that of this function. The conditions are the same in all
        // threads. Where the GEMM before was stored by TMA, its reads of shared memory end before
        // the barrier, and what follows writes there. Where it was not, the proxy fence and the
        // barrier order the warps' accesses before what TMA writes there.
        unsafe {
            if tma_store != 0 && group.beta == 0.0 {
                epilogue.store(accumulators, coord, all);
                return;
            }
            tma::wait_group_read::<0>();
            tma::fence_proxy_async();
            wgmma::sync(barrier);
            if epilogue.is_aligned() {
                epilogue.store_aligned(accumulators, coord, all);
                return;
            }
            if epilogue.loads_source() {
                epilogue.load_first(coord, all.clone());
            }
            epilogue.store_any(accumulators, coord, all);
        }
    }
}

/// Clears the epilogue's shared memory of a warpgroup, which is read as a whole where a part of it
/// has been written.
///
/// # Safety
/// All 128 threads of the warpgroup execute it before [`Group::consume`]. `boxes` is that memory.
#[inline(always)]
unsafe fn clear_boxes(boxes: *mut u8) {
    use cuda_std::vector::{F32x4, Vector};
    let mut byte = thread::thread_idx_x() as usize % WARPGROUP * 16;
    while byte < aligned::BYTES {
        // SAFETY: inside of the memory, at a multiple of 16 bytes.
        unsafe { F32x4::store(boxes.wrapping_add(byte).cast(), [0.0; 4]) };
        byte += WARPGROUP * 16;
    }
}

/// The body of the kernels.
///
/// # Safety
/// As for the kernels.
#[inline(always)]
unsafe fn body<E: Input + Copy, N: Output<Wide = f32>>(group: Group) {
    let memory = shared::dynamic_shared_mem::<u8>();
    let boxes_bytes = boxes_bytes(CONSUMERS);
    let base = stage::stages().at(boxes_bytes as u32);
    let source_barriers = memory.wrapping_add(boxes_bytes + GroupStages::TOTAL_BYTES);
    // SAFETY: `warp` is the same in a warp, and `warp < 4` in a warpgroup, so whole warps and
    // warpgroups take the same branch. Shared memory has the bytes of the `TileConfig`. The lists
    // are read when what the launches before have written may be.
    unsafe {
        // The compiler then knows that a warp is of one role.
        let warp = warp::warp_shuffle_idx(warp::FULL_MASK, thread::thread_idx_x() / 32, 0, 32).0;
        if thread::thread_idx_x() == 0 {
            Pipeline::<GroupStages>::init(base, (CONSUMERS * WARPGROUP / 32) as u32);
            if group.params.beta != 0.0 {
                tma_source::init(source_barriers, CONSUMERS);
            }
            tma::fence_barrier_init();
        }
        let warpgroup = (warp as usize / 4).wrapping_sub(1);
        let boxes = memory.wrapping_add(warpgroup.wrapping_mul(aligned::BYTES));
        group.clear(memory.wrapping_add(boxes_bytes));
        if warp >= 4 {
            clear_boxes(boxes);
        }
        thread::sync_threads();
        griddepcontrol::launch_dependents();
        if warp < 4 {
            wgmma::setmaxnreg_dec::<PRODUCER_REGISTERS>();
            if warp == 0 && tma::elect_sync() {
                griddepcontrol::wait();
                group.produce::<E>(Pipeline::new(base));
            }
        } else {
            wgmma::setmaxnreg_inc::<CONSUMER_REGISTERS>();
            griddepcontrol::wait();
            let shared = [boxes, source_barriers];
            group.consume::<E, N>(Pipeline::new(base), warpgroup, shared);
        }
    }
}

macro_rules! grouped_kernels {
    ($($types:literal: $config:ident, $name:ident, $input:ty, $output:ty;)*) => {
        $(
            #[doc = concat!($types, ", C is of that type or of `f32`, tiles of 128 × 256.")]
            ///
            /// # Safety
            /// `problems` are GEMMs as [`GroupProblem`] says, each with the matrices that its
            /// extents describe; `tiles` has the tiles of `params`, which are of these GEMMs. No
            /// two of them have elements of C in common. Blocks have the threads and the dynamic
            /// shared memory of the [`TileConfig`].
            #[cuda_std::kernel(max_threads = threads(CONSUMERS * WM) as u32, min_blocks = 1)]
            pub unsafe fn $name(
                problems: *const GroupProblem,
                tiles: *const GroupTile,
                params: GroupParams,
            ) {
                let group = Group { problems, tiles, params };
                // SAFETY: this kernel has the contract of `body`.
                unsafe { body::<$input, $output>(group) }
            }

            #[doc = concat!("The kernel of which ", $types, ". Layouts are told at run time.")]
            pub const $config: TileConfig = TileConfig::new::<
                WgmmaTile<SS<$input, K_MAJOR, K_MAJOR>, TileAccumulators, CONSUMERS>,
            >(stringify!($name), [layout::ANY; 2]);
        )*
    };
}

grouped_kernels! {
    "inputs are bfloat16": OF_BF16, wgmma_bf16_grouped, Bf16, bf16;
    "inputs are IEEE binary16": OF_F16, wgmma_f16_grouped, F16, f16;
}
