//! The persistent, warp-specialized body of the `wgmma` kernels: one warp produces, warpgroups
//! consume.
//!
//! The producer and the consumers walk the same work units of the
//! [tile scheduler](crate::gemm::scheduler::persistent). The producer fills stages by TMA and waits
//! for empty ones. A consumer waits for full stages, multiplies, releases them, reduces the partial
//! sums where its tile has several splits, and stores C.

use crate::gemm::GemmParams;
use crate::gemm::element::Output;
use crate::gemm::epilogue::aligned;
use crate::gemm::epilogue::output_elements::OutputElements;
use crate::gemm::epilogue::output_op::OutputOp;
use crate::gemm::epilogue::tma_source;
use crate::gemm::epilogue::tma_store::{TmaEpilogue, box_columns};
use crate::gemm::pipeline::tma::{Pipeline, Stages};
use crate::gemm::reduction::dsmem;
use crate::gemm::reduction::fix_up::{Warpgroup, fix_up};
use crate::gemm::reduction::partial_sums::{Accumulators, IntegerSums, PartialSums};
use crate::gemm::scheduler::Split;
use crate::gemm::scheduler::cluster_shape::ClusterShape;
use crate::gemm::scheduler::persistent::{ReductionMode, TileCoord, TileSchedulerParams};
use crate::gemm::tile_config::Tile;
use crate::gemm::wgmma::boxes::{Boxes, OperandBoxes};
use crate::gemm::wgmma::multicast::BlockInCluster;
use crate::gemm::wgmma::source::{OperandSource, UnitTiles, narrowest};
use crate::gemm::wgmma::stage::{
    self, A_BYTES, ROW_BYTES, StageCoord, TensorMaps, WARPGROUP, WM, WindowMaps,
};
use core::marker::PhantomData;
use core::num::Wrapping;
use cuda_std::cluster;
use cuda_std::griddepcontrol;
use cuda_std::hint::opaque;
use cuda_std::prelude::*;
use cuda_std::shared;
use cuda_std::tma;
use cuda_std::wgmma::{self, Accumulator};

/// Bytes for epilogue tiles and stages: those that a block can have, less barriers and flags.
const MAX_BYTES: usize = 226 * 1024;

/// Registers of a thread of the producer warpgroup and of one of a consumer warpgroup. The launch
/// gives each 168.
pub(super) const PRODUCER_REGISTERS: u32 = 40;
/// See [`PRODUCER_REGISTERS`].
pub(super) const CONSUMER_REGISTERS: u32 = 232;

/// Bytes of the epilogues of `consumers` warpgroups, which come first in shared memory.
pub(super) const fn boxes_bytes(consumers: usize) -> usize {
    consumers * aligned::BYTES
}

/// As many stages as fit. With two consumer warpgroups: 4 with 256 and with 192 columns, 6 with
/// 128, 8 with 64. With one: 6 with 192, 13 with 64.
pub(super) struct StageCountAuto<S, const CONSUMERS: usize, const MULTICAST: bool>(PhantomData<S>);

impl<S: Accumulator, const CONSUMERS: usize, const MULTICAST: bool> Stages
    for StageCountAuto<S, CONSUMERS, MULTICAST>
{
    const COUNT: usize = (MAX_BYTES - boxes_bytes(CONSUMERS)) / Self::BYTES;
    const BYTES: usize = stage::stage_bytes(CONSUMERS, S::COLUMNS);
    const MULTICAST: bool = MULTICAST;
}

/// The tile of `CONSUMERS` consumer warpgroups with accumulators `S`, for operands of `W`.
pub(super) struct WgmmaTile<W, S, const CONSUMERS: usize>(PhantomData<(W, S)>);

impl<W: OperandSource, S: Accumulator, const CONSUMERS: usize> Tile for WgmmaTile<W, S, CONSUMERS> {
    const BM: usize = CONSUMERS * WM;
    const BN: usize = S::COLUMNS;
    const BK: usize = stage::block_k(W::BYTES);
    const THREADS: usize = threads(Self::BM);
    const STAGES: usize = StageCountAuto::<S, CONSUMERS, true>::COUNT;
    /// The barriers of each consumer warpgroup's source, and a flag of 4 bytes, come last.
    const SHARED_BYTES: usize = boxes_bytes(CONSUMERS)
        + StageCountAuto::<S, CONSUMERS, true>::TOTAL_BYTES
        + CONSUMERS * (tma_source::BYTES + 4);
}

/// Threads of a block for tiles of `bm` rows: a producer warpgroup, and a consumer warpgroup for
/// each 64 rows.
pub(super) const fn threads(bm: usize) -> usize {
    (1 + bm / WM) * WARPGROUP
}

/// The kernel's parameters, for `CONSUMERS` consumer warpgroups in each block.
struct WarpSpecialized<C, Op, const CONSUMERS: usize> {
    maps: *const TensorMaps,
    c: *mut C,
    workspace: *mut f32,
    params: GemmParams<f32>,
    scheduler: TileSchedulerParams,
    op: Op,
    /// How the rows of A and the columns of B come to stages.
    boxes: [OperandBoxes; 2],
}

impl<C: Output<Wide = f32>, Op: OutputOp<f32>, const CONSUMERS: usize>
    WarpSpecialized<C, Op, CONSUMERS>
{
    /// The producer: loads the k-tiles of this block's work units. With `MULTICAST` the blocks of
    /// the cluster load them for each other: a loop of its own is shorter for either.
    ///
    /// # Safety
    /// One thread of the block executes it, while the consumers execute [`consume`](Self::consume).
    /// `MULTICAST` says whether the scheduler's clusters have several blocks.
    #[inline(always)]
    unsafe fn produce<W: OperandSource, S: Accumulator, const MULTICAST: bool>(
        &self,
        mut pipeline: Pipeline<StageCountAuto<S, CONSUMERS, true>>,
    ) {
        let slices = MULTICAST.then(|| {
            let rows = |boxes: &OperandBoxes, is_k_major| match is_k_major {
                true => boxes.box_rows(),
                false => stage::block_k(W::BYTES) as u32,
            };
            let [a, b] = &self.boxes;
            BlockInCluster::this(self.scheduler.tiles.cluster())
                .slices([rows(a, W::A_K_MAJOR), rows(b, W::B_K_MAJOR)])
        });
        // A matrix that the whole batch shares is the only one of its tensor map.
        let is_shared = [self.params.stride_a == 0, self.params.stride_b == 0];
        // Several are a loop that is not unrolled: the producer has few registers.
        let stages = match W::K_TILE_STAGES {
            1 => 1,
            stages => opaque(stages as usize) as u32,
        };
        let mut work_units = self.scheduler.stream_k.work_units(thread::block_idx_x());
        while let Some(unit) = work_units.advance() {
            let coord = self.scheduler.tiles.coord(unit.tile);
            let ([top, left], boxes) = self.boxes_of(coord);
            for k_tile in unit.first_k_tile..unit.first_k_tile + unit.k_tiles {
                let matrices = is_shared.map(|is_shared| if is_shared { 0 } else { coord.matrix });
                for of_k_tile in 0..stages {
                    let at = StageCoord {
                        top,
                        left,
                        boxes,
                        start: stage::k_offset(self.params.k, stage::block_k(W::BYTES), k_tile),
                        matrices: W::matrices(matrices, of_k_tile),
                        slices,
                    };
                    // SAFETY: the stage is empty when all consumer warps have released it.
                    unsafe {
                        pipeline.producer_acquire();
                        W::load::<S, _, CONSUMERS>(&pipeline, self.maps, at);
                    }
                    pipeline.advance();
                }
            }
        }
        if MULTICAST {
            // SAFETY: this is the producer. Until then the other blocks may write to this one's
            // shared memory, so this one may not exit.
            unsafe { pipeline.producer_tail() };
        }
    }

    /// Columns of the tiles. Opaque: what is computed of them would else take registers in the main
    /// loop.
    #[inline(always)]
    fn columns<W: OperandSource, S: Accumulator>(&self) -> u32 {
        if W::CHOOSES_WIDTH {
            opaque(self.scheduler.tiles.tile()[1] as usize) as u32
        } else {
            S::COLUMNS as u32
        }
    }

    /// The first row and column that are loaded for the tile at `coord`, and the boxes of both
    /// operands.
    ///
    /// Nothing is stored of a tile outside of C, which exists for its cluster only. It may be
    /// computed from any rows, and TMA loads rows of A sooner than zeros from outside of it.
    #[inline(always)]
    fn boxes_of(&self, coord: TileCoord) -> ([u32; 2], [Boxes; 2]) {
        let inside = |first, extent| if first < extent { first } else { 0 };
        let top = inside(coord.row, self.params.m);
        let left = inside(coord.column, self.params.n);
        let [a, b] = &self.boxes;
        ([top, left], [a.of_tile(top), b.of_tile(left)])
    }

    /// Prefetches the tensor maps, each of which the first TMA operation of it would wait for.
    ///
    /// # Safety
    /// The maps are those of the launch.
    #[inline(always)]
    unsafe fn prefetch_maps<W: OperandSource, S: Accumulator>(&self) {
        // SAFETY: the contract says that there are maps of A and of B, and where TMA stores C one
        // of it. Where tiles end inside of an epilogue tile, there is one of its windows.
        unsafe {
            tma::prefetch_tensormap(&raw const (*self.maps).a);
            tma::prefetch_tensormap(&raw const (*self.maps).b);
            if self.scheduler.tma_store == 0 {
                return;
            }
            tma::prefetch_tensormap(&raw const (*self.maps).c);
            let of_box = box_columns(size_of::<C>()) as u32;
            if W::CHOOSES_WIDTH && !self.columns::<W, S>().is_multiple_of(of_box) {
                let maps = self.maps.cast::<WindowMaps>();
                tma::prefetch_tensormap(&raw const (*maps).c_windows);
            }
        }
    }

    /// Clears the rows of A and the columns of B that no box brings to the stages before the MMAs
    /// first read them. Returns whether there are any.
    ///
    /// # Safety
    /// All threads of the block execute it, before the pipeline is used, and a barrier lies behind
    /// it, of all blocks that load to these stages. `stages` is the first stage.
    #[inline(always)]
    unsafe fn clear<W: OperandSource, S: Accumulator>(&self, stages: *mut u8) -> bool {
        let least = self.boxes.map(|boxes| boxes.least());
        let tile = [(CONSUMERS * WM) as u32, self.columns::<W, S>()];
        let is_filled = |rows: [u32; 2]| rows[0] >= tile[0] && rows[1] >= tile[1];
        if is_filled(least) {
            return false;
        }
        // Opaque: what is computed of it here would else take registers in the main loop.
        let block = opaque(thread::block_idx_x() as usize) as u32;
        let mut work_units = self.scheduler.stream_k.work_units(block);
        let Some(unit) = work_units.advance() else {
            return false;
        };
        let (_, boxes) = self.boxes_of(self.scheduler.tiles.coord(unit.tile));
        let of_unit = boxes.map(|boxes| boxes.rows());
        let stages_of_unit = unit.k_tiles as usize * W::K_TILE_STAGES as usize;
        // Further work units read stages that this one does not reach, and where it fills all of
        // each stage, what is left of it.
        let (loaded, count) = match work_units.advance() {
            Some(_) => (least, StageCountAuto::<S, CONSUMERS, true>::COUNT),
            None => (of_unit, stages_of_unit),
        };
        if is_filled(of_unit) && stages_of_unit >= count {
            return false;
        }
        let [rows, columns] = loaded.map(|rows| rows as usize * ROW_BYTES);
        let b = CONSUMERS * A_BYTES;
        let threads = threads(CONSUMERS * WM);
        // SAFETY: no TMA load and no MMA uses the stages yet, by the contract. The proxy fence and
        // the barrier behind it order the stores before both.
        unsafe {
            let stages = (stages, count);
            stage::clear::<StageCountAuto<S, CONSUMERS, true>>(stages, rows..b, threads);
            // Boxes of an MN-major B come as a whole, and may have more columns than the tile.
            let end = match W::B_K_MAJOR {
                true => tile[1] as usize,
                false => S::COLUMNS,
            };
            let columns = b + columns..b + end * ROW_BYTES;
            stage::clear::<StageCountAuto<S, CONSUMERS, true>>(stages, columns, threads);
            tma::fence_proxy_async();
        }
        true
    }

    /// A consumer warpgroup: computes its rows of this block's work units, and stores them.
    ///
    /// # Safety
    /// All 128 threads of the warpgroup execute it, while the producer executes
    /// [`produce`](Self::produce). `boxes` and `flag` are shared memory of this warpgroup alone,
    /// `stages` is the first stage, and `barriers` are those of the source.
    #[inline(always)]
    unsafe fn consume<W: OperandSource, S: Accumulator + Accumulators<Element = f32>>(
        &self,
        (source, op): (W, Op),
        mut pipeline: Pipeline<StageCountAuto<S, CONSUMERS, true>>,
        warpgroup: usize,
        [boxes, stages, barriers]: [*mut u8; 3],
        flag: *mut u32,
    ) {
        let barrier = 1 + warpgroup as u32;
        // Anew for each use: kept, its columns would take a register in the main loop.
        let epilogue = || TmaEpilogue {
            op,
            elements: OutputElements {
                c: self.c,
                params: &self.params,
                transposed: W::C_TRANSPOSED,
            },
            tma_store: self.scheduler.tma_store,
            maps: self.maps,
            boxes,
            columns: self.columns::<W, S>(),
            narrowest: const { narrowest::<W, C>(CONSUMERS, S::COLUMNS) as u32 },
            barrier,
            source_barriers: barriers,
        };
        if epilogue().is_aligned() {
            // SAFETY: all threads of the warpgroup are here, and it has not stored anything yet.
            unsafe { epilogue().clear() };
        }
        let mut work_units = self.scheduler.stream_k.work_units(thread::block_idx_x());
        while let Some(unit) = work_units.advance() {
            // SAFETY: the producer loads the k-tiles of the same work units. The whole warpgroup
            // executes each call, by the contract. A cluster has one work unit a block.
            unsafe {
                let tiles = UnitTiles {
                    tiles: self.scheduler.tiles,
                    tile: unit.tile,
                    first: unit.first_k_tile,
                    count: unit.k_tiles,
                };
                let all_boxes = || 0..dsmem::epilogue_tiles(self.columns::<W, S>(), size_of::<C>());
                // Opaque: what is computed of it would else take registers in the main loop.
                let tile = opaque(unit.tile as usize) as u32;
                // This block stores all of a data-parallel tile.
                if epilogue().loads_source() && tile < self.scheduler.stream_k.data_parallel_tiles {
                    epilogue().load_first(self.own_rows(tile, warpgroup), all_boxes());
                }
                let mut accumulators: S =
                    source.mma_tiles::<S, _, C, CONSUMERS>(&mut pipeline, tiles, warpgroup);
                let epilogue = epilogue();
                let mut boxes = all_boxes();
                let is_clustered =
                    !W::INTEGER && self.scheduler.reduction == ReductionMode::Cluster;
                if is_clustered {
                    // The MMAs of the block are complete, so its stages are free.
                    boxes = dsmem::reduce::<S, C, CONSUMERS>(
                        &mut accumulators,
                        boxes.end,
                        stages,
                        warpgroup,
                    );
                } else if unit.tile >= self.scheduler.stream_k.data_parallel_tiles
                    && let Some(split) = self.scheduler.stream_k.split(thread::block_idx_x())
                    && !self.fix_up_typed::<W, S>(&mut accumulators, &split, warpgroup, flag)
                {
                    continue;
                }
                let coord = self.own_rows(unit.tile, warpgroup);
                let is_stream_k = unit.tile >= self.scheduler.stream_k.data_parallel_tiles;
                if epilogue.loads_source() && is_stream_k {
                    epilogue.load_first(coord, boxes.clone());
                }
                let is_plain = !op.is_source_needed() && !op.has_finish();
                if self.scheduler.tma_store != 0 && is_plain {
                    epilogue.store(&accumulators, coord, boxes);
                } else if epilogue.is_aligned() {
                    epilogue.store_aligned(&accumulators, coord, boxes);
                } else {
                    epilogue.store_any(&mut accumulators, coord, boxes);
                }
                if is_clustered {
                    dsmem::wait_for_peers();
                }
            }
        }
        tma::wait_group::<0>();
    }

    /// Where the rows of a consumer warpgroup begin in a tile.
    #[inline(always)]
    fn own_rows(&self, tile: u32, warpgroup: usize) -> TileCoord {
        let coord = self.scheduler.tiles.coord(tile);
        let row = coord.row + (warpgroup * WM) as u32;
        TileCoord { row, ..coord }
    }

    /// [`fix_up`](Self::fix_up) of accumulators as the operand source has them.
    ///
    /// # Safety
    /// As for [`fix_up`](Self::fix_up).
    #[inline(always)]
    unsafe fn fix_up_typed<W: OperandSource, S: Accumulators<Element = f32>>(
        &self,
        accumulators: &mut S,
        split: &Split,
        warpgroup: usize,
        flag: *mut u32,
    ) -> bool {
        // SAFETY: the contract is that of `fix_up`.
        unsafe {
            if W::INTEGER {
                let integers = IntegerSums::of(accumulators);
                self.fix_up::<W, _>(integers, Wrapping(1), split, warpgroup, flag)
            } else {
                self.fix_up::<W, _>(accumulators, 1.0, split, warpgroup, flag)
            }
        }
    }

    /// Stores the partial sums of a split to the workspace. As the last block to arrive at the
    /// tile, reduces those of all splits, unless a reduction kernel does. Returns whether it has
    /// reduced them. `one` is 1; accumulators have 4 bytes.
    ///
    /// # Safety
    /// All 128 threads of the warpgroup execute it together. The accumulators are complete, and
    /// those of `split`.
    #[inline(always)]
    unsafe fn fix_up<W: OperandSource, S: Accumulators>(
        &self,
        accumulators: &mut S,
        one: S::Element,
        split: &Split,
        warpgroup: usize,
        flag: *mut u32,
    ) -> bool {
        let barrier = 1 + warpgroup as u32;
        let of_warpgroup = [warpgroup, CONSUMERS];
        let partial_sums = PartialSums::<_, WARPGROUP>::new(
            (self.workspace)
                .wrapping_add(self.scheduler.partial_sums_offset as usize)
                .cast::<S::Element>(),
            *split,
            of_warpgroup,
            if W::CHOOSES_WIDTH {
                opaque(self.scheduler.tiles.tile()[1] as usize / 2)
            } else {
                S::COUNT
            },
        );
        let counter = split.tile as usize * CONSUMERS + warpgroup;
        let counter = self.workspace.wrapping_add(counter);
        // SAFETY: the counter is a word of the workspace, 0 before the first split arrives and
        // after the last one; `flag` is this warpgroup's.
        unsafe {
            partial_sums.store(accumulators, one);
            if self.scheduler.reduction == ReductionMode::Kernel {
                return false;
            }
            let group = Warpgroup { barrier };
            fix_up(&group, &partial_sums, accumulators, counter.cast(), flag)
        }
    }
}

/// The body of the kernels. `operator` makes the output operator of that of the parameters, when
/// what the launches before have written may be read.
///
/// # Safety
/// As for the kernels.
#[inline(always)]
pub(super) unsafe fn body<
    W: OperandSource,
    S: Accumulator + Accumulators<Element = f32>,
    C: Output<Wide = f32>,
    Op: OutputOp<f32>,
    const CONSUMERS: usize,
>(
    maps: *const TensorMaps,
    arrays: (*mut C, *mut f32),
    params: GemmParams<f32>,
    (scheduler, boxes): (TileSchedulerParams, [OperandBoxes; 2]),
    (operand_source, operator): (W, impl FnOnce(Op) -> Op),
) {
    let memory = shared::dynamic_shared_mem::<u8>();
    let boxes_bytes = boxes_bytes(CONSUMERS);
    let behind_stages = boxes_bytes + StageCountAuto::<S, CONSUMERS, true>::TOTAL_BYTES;
    let source = memory.wrapping_add(behind_stages);
    let base = stage::stages().at(boxes_bytes as u32);
    let cluster = if W::MULTICAST {
        scheduler.tiles.cluster()
    } else {
        ClusterShape::ALONE
    };
    let this = WarpSpecialized::<C, Op, CONSUMERS> {
        maps,
        c: arrays.0,
        workspace: arrays.1,
        params,
        scheduler,
        op: Op::new(&params),
        boxes,
    };
    // SAFETY: `warp` is the same in a warp, and `warp < 4` in a warpgroup, so whole warps and
    // warpgroups take the same branch. Shared memory has the bytes of the `TileConfig`.
    unsafe {
        // The compiler then knows that a warp is of one role.
        let warp = warp::warp_shuffle_idx(warp::FULL_MASK, thread::thread_idx_x() / 32, 0, 32).0;
        if thread::thread_idx_x() == 0 {
            // The blocks whose stages the producer fills: those of a row and of a column.
            let [m, n] = cluster.extents();
            let blocks = m + n - 1;
            Pipeline::<StageCountAuto<S, CONSUMERS, true>>::init(
                base,
                blocks * (CONSUMERS * WARPGROUP / 32) as u32,
            );
            if this.op.is_source_needed() {
                tma_source::init(source, CONSUMERS);
            }
            tma::fence_barrier_init();
        }
        let is_cleared = this.clear::<W, S>(memory.wrapping_add(boxes_bytes));
        if cluster.is_multicast() {
            // Other blocks load to the stages as well, behind what is cleared there.
            if is_cleared {
                cluster::arrive();
            } else {
                // `fence_barrier_init` has published the barriers.
                cluster::arrive_relaxed();
            }
            cluster::wait();
        } else {
            thread::sync_threads();
        }
        griddepcontrol::launch_dependents();
        if warp < 4 {
            if CONSUMERS > 1 {
                wgmma::setmaxnreg_dec::<PRODUCER_REGISTERS>();
            }
            if warp == 0 && tma::elect_sync() {
                this.prefetch_maps::<W, S>();
                griddepcontrol::wait();
                if W::is_left_out(arrays.1, params.k) {
                    return;
                }
                if cluster.is_multicast() {
                    this.produce::<W, S, true>(Pipeline::new(base));
                } else {
                    this.produce::<W, S, false>(Pipeline::new(base));
                }
            }
        } else {
            if CONSUMERS > 1 {
                wgmma::setmaxnreg_inc::<CONSUMER_REGISTERS>();
            }
            let warpgroup = warp as usize / 4 - 1;
            let stages = memory.wrapping_add(boxes_bytes);
            griddepcontrol::wait();
            if W::is_left_out(arrays.1, params.k) {
                return;
            }
            let boxes = memory.wrapping_add(warpgroup * aligned::BYTES);
            let flags = source.wrapping_add(CONSUMERS * tma_source::BYTES);
            let flag = flags.wrapping_add(4 * warpgroup).cast();
            let producers = if cluster.is_multicast() {
                BlockInCluster::this(cluster).producers()
            } else {
                0
            };
            let pipeline = Pipeline::new(base).with_producers(producers);
            let operands = (operand_source, operator(this.op));
            let shared = [boxes, stages, source];
            this.consume::<W, S>(operands, pipeline, warpgroup, shared, flag);
        }
    }
}
