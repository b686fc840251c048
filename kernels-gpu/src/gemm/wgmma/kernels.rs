//! `wgmma_bf16`, `wgmma_f16`, `wgmma_tf32`, `wgmma_bf16_narrow`, `wgmma_f16_narrow`: the GEMM,
//! C ← α · op(A) · op(B) + β · C, as [`gemm`](crate::gemm) describes it.
//!
//! # Idea
//! The tensor cores of `wgmma_bf16_persistent` idle while its consumers store C. Here accumulators
//! go to shared memory and from there to C by TMA stores. So a warpgroup begins its next tile as
//! soon as its registers are free.
//!
//! The number of tiles is rarely a multiple of the multiprocessors. Here those of the partial wave
//! are [stream-K tiles](crate::gemm::scheduler::persistent), of which all blocks compute splits.
//! The last block to arrive at a tile reduces its partial sums; no block waits for another one.
//! Where that block would have much to load, [a reduction kernel](crate::gemm::reduction::stream_k)
//! reduces all tiles. Where all tiles are stream-K tiles of few splits, the blocks of a tile are a
//! cluster, and [reduce](crate::gemm::reduction::dsmem) through DSMEM, each some of the columns.
//! Where fewer multiprocessors are left than there are tiles, they compute the tail splits of
//! several tiles.
//!
//! GEMMs that are too small for that have tiles of 64 rows, in 2-CTA clusters that load B
//! [by multicast](crate::gemm::wgmma::multicast).
//!
//! A launch begins while the one before it computes its last tiles (see [`griddepcontrol`]).
//!
//! The tensor cores take TF32 operands from shared memory only if they are K-major, and a row-major
//! B is MN-major. An MN-major A can go [through registers](crate::gemm::wgmma::rs), and Cᵀ = Bᵀ ·
//! Aᵀ is a GEMM whose A is that B.
//!
//! C has elements of `f32`, or of the type of A and B: the names of those kernels end with `_to_`
//! and the type. Accumulators, α, β and partial sums are `f32` in both cases; a scaled accumulator
//! is rounded once, when it is stored. An epilogue tile of 16-bit elements has 64 columns instead
//! of 32, and the stores of C take half of the time.
//!
//! # Thread mapping
//! As in `wgmma_bf16_persistent`, with tiles of 256, 192, 128 or 64 columns. Kernels of 2-CTA
//! clusters have 256 threads, of which warpgroup 1 is the consumer, and tiles of 64 rows and of 192
//! or 64 columns. With a K-major B and a C of `f32`, there are tiles of 96 columns as well: the TMA
//! boxes of an MN-major B have 64 columns, and epilogue tiles 32.
//!
//! # Preconditions
//! The matrices A and B, their rows and the matrices of a batch begin at multiples of 16 bytes; k
//! is less than 2³² minus one k-tile. TF32 operands are K-major, but for a row-major B. Other
//! operands are [copied](super::pack) first. C may have any alignment.
//!
//! # What changed since the rung before
//! Against `wgmma_bf16_persistent`: layouts, leading dimensions, batches, α and β; a TMA epilogue;
//! stream-K tiles; 2-CTA clusters; launches that overlap; a 16-bit C.
//!
//! # Source
//! Beyond the sources; for stream-K tiles see [`persistent`](crate::gemm::scheduler::persistent).

use crate::gemm::GemmParams;
use crate::gemm::epilogue::tma_store::{self, OutputElements, OutputVec2, TmaEpilogue};
use crate::gemm::pipeline::tma::{Pipeline, Stages};
use crate::gemm::reduction::dsmem;
use crate::gemm::reduction::workspace::PartialSums;
use crate::gemm::scheduler::persistent::{
    ReductionMode, Split, StreamK, TileCoord, TileGrid, TileSchedulerParams,
};
use crate::gemm::wgmma::multicast;
use crate::gemm::wgmma::rs::RS;
use crate::gemm::wgmma::source::{OperandSource, SS};
use crate::gemm::wgmma::stage::{
    self, A_BYTES, ROW_BYTES, StageCoord, TensorMaps, WARPGROUP, WM, loaded_multiple,
};
use core::marker::PhantomData;
use cuda_std::atomic;
use cuda_std::cluster;
use cuda_std::float16::{bf16, f16};
use cuda_std::griddepcontrol;
use cuda_std::mma::{Bf16, F16, Tf32};
use cuda_std::prelude::*;
use cuda_std::shared;
use cuda_std::tma;
use cuda_std::wgmma::{self, Accumulator, K_MAJOR, MN_MAJOR};

/// Bytes for epilogue tiles and stages: those that a block can have, less barriers and flags.
const MAX_BYTES: usize = 226 * 1024;

/// Registers of a thread of the producer warpgroup and of one of a consumer warpgroup. The launch
/// gives each 168.
const PRODUCER_REGISTERS: u32 = 40;
/// See [`PRODUCER_REGISTERS`].
const CONSUMER_REGISTERS: u32 = 232;

/// Bytes of the epilogue tiles of `consumers` warpgroups, which come first in shared memory.
const fn boxes_bytes(consumers: usize) -> usize {
    consumers * tma_store::BYTES
}

/// As many stages as fit. With two consumer warpgroups: 4 with 256 and with 192 columns, 6 with
/// 128, 8 with 64. With one: 6 with 192, 10 with 96, 13 with 64.
struct StageCountAuto<S, const CONSUMERS: usize>(PhantomData<S>);

impl<S: Accumulator, const CONSUMERS: usize> Stages for StageCountAuto<S, CONSUMERS> {
    const COUNT: usize = (MAX_BYTES - boxes_bytes(CONSUMERS)) / Self::BYTES;
    const BYTES: usize = stage::stage_bytes(CONSUMERS, S::COLUMNS);
    const CLUSTER_SIZE: u32 = multicast::cluster_size(CONSUMERS);
}

/// Bytes of dynamic shared memory. A flag of each consumer warpgroup, 4 bytes, comes last.
const fn shared_bytes<S: Accumulator, const CONSUMERS: usize>() -> usize {
    boxes_bytes(CONSUMERS) + StageCountAuto::<S, CONSUMERS>::TOTAL_BYTES + CONSUMERS * 4
}

/// Consumer warpgroups of a block of `threads` threads: all but the producer.
const fn consumers(threads: usize) -> usize {
    threads / WARPGROUP - 1
}

/// The kernel's parameters and its work, for `CONSUMERS` consumer warpgroups in each block.
struct Params<C, const CONSUMERS: usize> {
    maps: *const TensorMaps,
    c: *mut C,
    workspace: *mut f32,
    params: GemmParams<f32>,
    scheduler: TileSchedulerParams,
    tiles: TileGrid,
    stream_k: StreamK,
    /// Rows of A and columns of B that are loaded for a tile.
    loaded: [u32; 2],
}

impl<C: OutputVec2, const CONSUMERS: usize> Params<C, CONSUMERS> {
    #[inline(always)]
    fn new<W: OperandSource, S: Accumulator>(
        maps: *const TensorMaps,
        (c, workspace): (*mut C, *mut f32),
        params: GemmParams<f32>,
        scheduler: TileSchedulerParams,
    ) -> Self {
        let tile = [(CONSUMERS * WM) as u32, S::COLUMNS as u32];
        let tiles = scheduler.tiles(
            [params.m, params.n],
            tile,
            multicast::cluster_size(CONSUMERS),
        );
        let k_tiles = stage::k_tiles(params.k, stage::block_k(W::BYTES));
        let blocks = thread::grid_dim_x();
        Params {
            maps,
            c,
            workspace,
            params,
            scheduler,
            tiles,
            stream_k: StreamK::new(tiles.count(), &scheduler, k_tiles, blocks),
            loaded: [
                stage::loaded(
                    params.m,
                    tile[0],
                    loaded_multiple(W::BYTES, W::A_K_MAJOR, 1),
                ),
                stage::loaded(
                    params.n,
                    tile[1],
                    loaded_multiple(W::BYTES, W::B_K_MAJOR, multicast::cluster_size(CONSUMERS)),
                ),
            ],
        }
    }

    /// The producer: loads the k-tiles of this block's work units.
    ///
    /// # Safety
    /// One thread of the block executes it, while the consumers execute [`mma`](Self::mma).
    #[inline(always)]
    unsafe fn load<W: OperandSource, S: Accumulator>(
        &self,
        mut pipeline: Pipeline<StageCountAuto<S, CONSUMERS>>,
    ) {
        // A matrix that the whole batch shares is the only one of its tensor map.
        let is_shared = [self.params.stride_a == 0, self.params.stride_b == 0];
        let mut work_units = self.stream_k.work_units(thread::block_idx_x());
        while let Some(unit) = work_units.advance() {
            let coord = self.tiles.coord(unit.tile);
            // Nothing is stored of a tile outside of C, which exists for its cluster only. It may
            // be computed from any rows, and TMA loads rows of A sooner than zeros from outside of
            // it.
            let top = if coord.row < self.params.m {
                coord.row
            } else {
                0
            };
            for k_tile in unit.first_k_tile..unit.first_k_tile + unit.k_tiles {
                let at = StageCoord {
                    top,
                    left: coord.column,
                    loaded: self.loaded,
                    start: stage::k_offset(self.params.k, stage::block_k(W::BYTES), k_tile),
                    matrices: is_shared.map(|is_shared| if is_shared { 0 } else { coord.matrix }),
                };
                // SAFETY: the stage is empty when all consumer warps have released it.
                unsafe {
                    pipeline.producer_acquire();
                    W::load::<S, _, CONSUMERS>(&pipeline, self.maps, at);
                }
                pipeline.advance();
            }
        }
        if StageCountAuto::<S, CONSUMERS>::CLUSTER_SIZE > 1 {
            // SAFETY: this is the producer. Until then the other block may write to this one's
            // shared memory, so this one may not exit.
            unsafe { pipeline.producer_tail() };
        }
    }

    /// Clears the rows of A that are not loaded for this warpgroup. The first warpgroup also clears
    /// the columns of B that are not loaded.
    ///
    /// # Safety
    /// All consumer warpgroups execute it before [`mma`](Self::mma). `stages` is the first stage.
    #[inline(always)]
    unsafe fn clear<S: Accumulator>(&self, stages: *mut u8, warpgroup: usize) {
        let [rows, columns] = self.loaded.map(|loaded| loaded as usize * ROW_BYTES);
        let end = (warpgroup + 1) * A_BYTES;
        let b = CONSUMERS * A_BYTES;
        let lacks_columns = columns < S::COLUMNS * ROW_BYTES;
        // SAFETY: TMA does not fill these bytes, and no MMA reads them yet by the contract. The
        // proxy fence and the barrier order the stores before the MMAs of all consumers.
        unsafe {
            if rows < end {
                stage::clear::<StageCountAuto<S, CONSUMERS>>(stages, rows.max(end - A_BYTES)..end);
            }
            if lacks_columns && warpgroup == 0 {
                let end = b + S::COLUMNS * ROW_BYTES;
                stage::clear::<StageCountAuto<S, CONSUMERS>>(stages, b + columns..end);
            }
            if rows < b || lacks_columns {
                tma::fence_proxy_async();
                wgmma::sync_several(dsmem::CONSUMERS_BARRIER, (CONSUMERS * WARPGROUP) as u32);
            }
        }
    }

    /// A consumer warpgroup: computes its rows of this block's work units, and stores them.
    ///
    /// # Safety
    /// All 128 threads of the warpgroup execute it, while the producer executes
    /// [`load`](Self::load). `boxes` and `flag` are shared memory of this warpgroup alone, and
    /// `stages` is the first stage.
    #[inline(always)]
    unsafe fn mma<W: OperandSource, S: Accumulator>(
        &self,
        mut pipeline: Pipeline<StageCountAuto<S, CONSUMERS>>,
        warpgroup: usize,
        [boxes, stages]: [*mut u8; 2],
        flag: *mut u32,
    ) {
        let barrier = 1 + warpgroup as u32;
        let epilogue = TmaEpilogue {
            elements: OutputElements {
                c: self.c,
                params: &self.params,
                transposed: W::C_TRANSPOSED,
            },
            scheduler: &self.scheduler,
            maps: self.maps,
            boxes,
            barrier,
        };
        let mut work_units = self.stream_k.work_units(thread::block_idx_x());
        while let Some(unit) = work_units.advance() {
            // SAFETY: the producer loads the k-tiles of the same work units. The whole warpgroup
            // executes each call, by the contract. A cluster has one work unit a block.
            unsafe {
                let mut accumulators: S =
                    W::mma::<S, _, CONSUMERS>(&mut pipeline, unit.k_tiles, warpgroup);
                let mut boxes = 0..dsmem::epilogue_tiles(S::COLUMNS, size_of::<C>());
                // Blocks with multicast have data-parallel tiles only.
                let may_split = StageCountAuto::<S, CONSUMERS>::CLUSTER_SIZE == 1;
                let is_clustered = may_split && self.scheduler.reduction == ReductionMode::Cluster;
                if is_clustered {
                    // The MMAs of the block are complete, so its stages are free.
                    boxes = dsmem::reduce::<S, C, CONSUMERS>(&mut accumulators, stages, warpgroup);
                } else if may_split
                    && unit.tile >= self.scheduler.data_parallel_tiles
                    && let Some(split) = self.stream_k.split(thread::block_idx_x())
                    && !self.fix_up(&mut accumulators, &split, warpgroup, flag)
                {
                    continue;
                }
                let coord = self.tiles.coord(unit.tile);
                let row = coord.row + (warpgroup * WM) as u32;
                epilogue.store(&accumulators, TileCoord { row, ..coord }, boxes);
                if is_clustered {
                    dsmem::wait_for_peers();
                }
            }
        }
        tma::wait_group::<0>();
    }

    /// Stores the partial sums of a split to the workspace. As the last block to arrive at the
    /// tile, reduces those of all splits, unless a reduction kernel does. Returns whether it has
    /// reduced them.
    ///
    /// # Safety
    /// All 128 threads of the warpgroup execute it together. The accumulators are complete, and
    /// those of `split`.
    #[inline(always)]
    unsafe fn fix_up<S: Accumulator>(
        &self,
        accumulators: &mut S,
        split: &Split,
        warpgroup: usize,
        flag: *mut u32,
    ) -> bool {
        let barrier = 1 + warpgroup as u32;
        let of_warpgroup = [warpgroup, CONSUMERS];
        let partial_sums = PartialSums::new(
            self.workspace,
            &self.scheduler,
            *split,
            of_warpgroup,
            S::COLUMNS,
        );
        let counter = split.tile as usize * CONSUMERS + warpgroup;
        // SAFETY: the counter is a word of the workspace, 0 before the first split arrives and
        // after the last one. The barriers and the atomic count order the stores of all splits
        // before the loads of the last block.
        unsafe {
            partial_sums.store(accumulators);
            if self.scheduler.reduction == ReductionMode::Kernel {
                return false;
            }
            wgmma::sync(barrier);
            if (thread::thread_idx_x() as usize).is_multiple_of(WARPGROUP) {
                let counter = self.workspace.wrapping_add(counter).cast::<u32>();
                let last = atomic::count(counter) + 1 == split.count;
                if last {
                    *counter = 0;
                }
                *flag = last as u32;
            }
            wgmma::sync(barrier);
            // All lanes load the same flag. The vote tells the compiler that they do.
            let last = warp::warp_vote_any(warp::FULL_MASK, *flag != 0);
            if last {
                partial_sums.reduce(accumulators);
            }
            last
        }
    }
}

/// The body of the kernels.
///
/// # Safety
/// As for the kernels.
#[inline(always)]
unsafe fn body<W: OperandSource, S: Accumulator, C: OutputVec2, const CONSUMERS: usize>(
    maps: *const TensorMaps,
    arrays: (*mut C, *mut f32),
    params: GemmParams<f32>,
    scheduler: TileSchedulerParams,
) {
    let memory = shared::dynamic_shared_mem::<u8>();
    let boxes_bytes = boxes_bytes(CONSUMERS);
    let base = stage::stages().at(boxes_bytes as u32);
    let this = Params::<C, CONSUMERS>::new::<W, S>(maps, arrays, params, scheduler);
    // SAFETY: `warp` is the same in a warp, and `warp < 4` in a warpgroup, so whole warps and
    // warpgroups take the same branch. Shared memory has the bytes of the `TileConfig`.
    unsafe {
        // The compiler then knows that a warp is of one role.
        let warp = warp::warp_shuffle_idx(warp::FULL_MASK, thread::thread_idx_x() / 32, 0, 32).0;
        if thread::thread_idx_x() == 0 {
            Pipeline::<StageCountAuto<S, CONSUMERS>>::init(
                base,
                (CONSUMERS * WARPGROUP / 32) as u32,
            );
            tma::fence_barrier_init();
        }
        if StageCountAuto::<S, CONSUMERS>::CLUSTER_SIZE > 1 {
            // Relaxed: `fence_barrier_init` has published the barriers.
            cluster::arrive_relaxed();
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
                tma::prefetch_tensormap(&raw const (*maps).a);
                tma::prefetch_tensormap(&raw const (*maps).b);
                griddepcontrol::wait();
                this.load::<W, S>(Pipeline::new(base));
            }
        } else {
            if CONSUMERS > 1 {
                wgmma::setmaxnreg_inc::<CONSUMER_REGISTERS>();
            }
            let warpgroup = warp as usize / 4 - 1;
            let stages = memory.wrapping_add(boxes_bytes);
            this.clear::<S>(stages, warpgroup);
            griddepcontrol::wait();
            let boxes = memory.wrapping_add(warpgroup * tma_store::BYTES);
            let flags = boxes_bytes + StageCountAuto::<S, CONSUMERS>::TOTAL_BYTES;
            let flag = memory.wrapping_add(flags + 4 * warpgroup).cast();
            this.mma::<W, S>(Pipeline::new(base), warpgroup, [boxes, stages], flag);
        }
    }
}

/// BM of the largest tiles, of two consumer warpgroups.
pub const MAX_ROWS: u32 = 2 * WM as u32;

/// The tile configuration of one kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TileConfig {
    /// The PTX entry.
    pub entry: &'static str,
    /// BM and BN.
    pub rows: u32,
    /// See `rows`.
    pub columns: u32,
    /// Blocks of a cluster, which load B by [multicast].
    pub cluster_size: u32,
    /// Threads of a block.
    pub threads: u32,
    /// Dynamic shared memory of a block, in bytes.
    pub shared_bytes: u32,
    /// Whether A and B are MN-major.
    pub mn_major: [bool; 2],
    /// Whether C lies column by column, with the m, n, A and B that the kernel is given: it
    /// computes the transpose of a row-major C.
    pub c_transposed: bool,
}

impl TileConfig {
    /// The tiles of a batch of `batch` matrices of m × n elements.
    #[inline(always)]
    pub const fn tiles(&self, extents: [u32; 2], batch: u32) -> TileGrid {
        TileGrid::new(extents, [self.rows, self.columns], batch).for_cluster(self.cluster_size)
    }
}

macro_rules! kernels {
    ($($types:literal: $instances:ident, $element:ty => $output:ty {
        $($threads:tt threads {
            $($name:ident: $source:ident<$a:ident, $b:ident>, $registers:literal;)*
        })*
    })*) => {
        $(
            $($(
                #[doc = concat!($types, ", A ", stringify!($a), ", B ", stringify!($b), ".")]
                ///
                /// # Safety
                /// `maps` are as [`TensorMaps`] says, of the matrices that `params` describe, and
                /// `c` is C. `workspace` has zeroed counters and the partial sums of the splits of
                /// `scheduler`, and no other launch uses it meanwhile. Blocks have the threads and
                /// the dynamic shared memory of their [`TileConfig`]. They form clusters of its
                /// `cluster_size`, or of the splits with [`ReductionMode::Cluster`].
                #[cuda_std::kernel(max_threads = $threads, min_blocks = 1)]
                pub unsafe fn $name(
                    maps: *const TensorMaps,
                    c: *mut $output,
                    workspace: *mut f32,
                    params: GemmParams<f32>,
                    scheduler: TileSchedulerParams,
                ) {
                    // SAFETY: this kernel has the contract of `body`.
                    unsafe {
                        body::<
                            $source<$element, $a, $b>,
                            [f32; $registers],
                            $output,
                            { consumers($threads) },
                        >(maps, (c, workspace), params, scheduler)
                    }
                }
            )*)*

            #[doc = concat!("The kernels. ", $types, ".")]
            pub const $instances: &[TileConfig] = &[$($(
                TileConfig {
                    entry: stringify!($name),
                    rows: (consumers($threads) * WM) as u32,
                    columns: 2 * $registers,
                    cluster_size: multicast::cluster_size(consumers($threads)),
                    threads: $threads,
                    shared_bytes: shared_bytes::<[f32; $registers], { consumers($threads) }>()
                        as u32,
                    mn_major: [$a == MN_MAJOR, $b == MN_MAJOR],
                    c_transposed: <$source<$element, $a, $b> as OperandSource>::C_TRANSPOSED,
                },
            )*)*];
        )*
    };
}

kernels! {
    "Inputs are bfloat16": OF_BF16, Bf16 => f32 {
        384 threads {
            wgmma_bf16_nn: SS<K_MAJOR, MN_MAJOR>, 128;
            wgmma_bf16_nt: SS<K_MAJOR, K_MAJOR>, 128;
            wgmma_bf16_tn: SS<MN_MAJOR, MN_MAJOR>, 128;
            wgmma_bf16_tt: SS<MN_MAJOR, K_MAJOR>, 128;
            wgmma_bf16_nn_192: SS<K_MAJOR, MN_MAJOR>, 96;
            wgmma_bf16_nn_128: SS<K_MAJOR, MN_MAJOR>, 64;
            wgmma_bf16_nt_192: SS<K_MAJOR, K_MAJOR>, 96;
            wgmma_bf16_nt_128: SS<K_MAJOR, K_MAJOR>, 64;
            wgmma_bf16_tn_192: SS<MN_MAJOR, MN_MAJOR>, 96;
            wgmma_bf16_tn_128: SS<MN_MAJOR, MN_MAJOR>, 64;
            wgmma_bf16_tt_192: SS<MN_MAJOR, K_MAJOR>, 96;
            wgmma_bf16_tt_128: SS<MN_MAJOR, K_MAJOR>, 64;
            wgmma_bf16_nn_64: SS<K_MAJOR, MN_MAJOR>, 32;
            wgmma_bf16_nt_64: SS<K_MAJOR, K_MAJOR>, 32;
            wgmma_bf16_tn_64: SS<MN_MAJOR, MN_MAJOR>, 32;
            wgmma_bf16_tt_64: SS<MN_MAJOR, K_MAJOR>, 32;
        }
        256 threads {
            wgmma_bf16_nn_pair_192: SS<K_MAJOR, MN_MAJOR>, 96;
            wgmma_bf16_nn_pair_64: SS<K_MAJOR, MN_MAJOR>, 32;
            wgmma_bf16_nt_pair_192: SS<K_MAJOR, K_MAJOR>, 96;
            wgmma_bf16_nt_pair_96: SS<K_MAJOR, K_MAJOR>, 48;
            wgmma_bf16_nt_pair_64: SS<K_MAJOR, K_MAJOR>, 32;
            wgmma_bf16_tn_pair_192: SS<MN_MAJOR, MN_MAJOR>, 96;
            wgmma_bf16_tn_pair_64: SS<MN_MAJOR, MN_MAJOR>, 32;
            wgmma_bf16_tt_pair_192: SS<MN_MAJOR, K_MAJOR>, 96;
            wgmma_bf16_tt_pair_96: SS<MN_MAJOR, K_MAJOR>, 48;
            wgmma_bf16_tt_pair_64: SS<MN_MAJOR, K_MAJOR>, 32;
        }
    }

    "Inputs are IEEE binary16": OF_F16, F16 => f32 {
        384 threads {
            wgmma_f16_nn: SS<K_MAJOR, MN_MAJOR>, 128;
            wgmma_f16_nt: SS<K_MAJOR, K_MAJOR>, 128;
            wgmma_f16_tn: SS<MN_MAJOR, MN_MAJOR>, 128;
            wgmma_f16_tt: SS<MN_MAJOR, K_MAJOR>, 128;
            wgmma_f16_nn_192: SS<K_MAJOR, MN_MAJOR>, 96;
            wgmma_f16_nn_128: SS<K_MAJOR, MN_MAJOR>, 64;
            wgmma_f16_nt_192: SS<K_MAJOR, K_MAJOR>, 96;
            wgmma_f16_nt_128: SS<K_MAJOR, K_MAJOR>, 64;
            wgmma_f16_tn_192: SS<MN_MAJOR, MN_MAJOR>, 96;
            wgmma_f16_tn_128: SS<MN_MAJOR, MN_MAJOR>, 64;
            wgmma_f16_tt_192: SS<MN_MAJOR, K_MAJOR>, 96;
            wgmma_f16_tt_128: SS<MN_MAJOR, K_MAJOR>, 64;
            wgmma_f16_nn_64: SS<K_MAJOR, MN_MAJOR>, 32;
            wgmma_f16_nt_64: SS<K_MAJOR, K_MAJOR>, 32;
            wgmma_f16_tn_64: SS<MN_MAJOR, MN_MAJOR>, 32;
            wgmma_f16_tt_64: SS<MN_MAJOR, K_MAJOR>, 32;
        }
        256 threads {
            wgmma_f16_nn_pair_192: SS<K_MAJOR, MN_MAJOR>, 96;
            wgmma_f16_nn_pair_64: SS<K_MAJOR, MN_MAJOR>, 32;
            wgmma_f16_nt_pair_192: SS<K_MAJOR, K_MAJOR>, 96;
            wgmma_f16_nt_pair_96: SS<K_MAJOR, K_MAJOR>, 48;
            wgmma_f16_nt_pair_64: SS<K_MAJOR, K_MAJOR>, 32;
            wgmma_f16_tn_pair_192: SS<MN_MAJOR, MN_MAJOR>, 96;
            wgmma_f16_tn_pair_64: SS<MN_MAJOR, MN_MAJOR>, 32;
            wgmma_f16_tt_pair_192: SS<MN_MAJOR, K_MAJOR>, 96;
            wgmma_f16_tt_pair_96: SS<MN_MAJOR, K_MAJOR>, 48;
            wgmma_f16_tt_pair_64: SS<MN_MAJOR, K_MAJOR>, 32;
        }
    }

    "Inputs and C are bfloat16": OF_BF16_TO_BF16, Bf16 => bf16 {
        384 threads {
            wgmma_bf16_nn_to_bf16: SS<K_MAJOR, MN_MAJOR>, 128;
            wgmma_bf16_nt_to_bf16: SS<K_MAJOR, K_MAJOR>, 128;
            wgmma_bf16_tn_to_bf16: SS<MN_MAJOR, MN_MAJOR>, 128;
            wgmma_bf16_tt_to_bf16: SS<MN_MAJOR, K_MAJOR>, 128;
            wgmma_bf16_nn_192_to_bf16: SS<K_MAJOR, MN_MAJOR>, 96;
            wgmma_bf16_nn_128_to_bf16: SS<K_MAJOR, MN_MAJOR>, 64;
            wgmma_bf16_nt_192_to_bf16: SS<K_MAJOR, K_MAJOR>, 96;
            wgmma_bf16_nt_128_to_bf16: SS<K_MAJOR, K_MAJOR>, 64;
            wgmma_bf16_tn_192_to_bf16: SS<MN_MAJOR, MN_MAJOR>, 96;
            wgmma_bf16_tn_128_to_bf16: SS<MN_MAJOR, MN_MAJOR>, 64;
            wgmma_bf16_tt_192_to_bf16: SS<MN_MAJOR, K_MAJOR>, 96;
            wgmma_bf16_tt_128_to_bf16: SS<MN_MAJOR, K_MAJOR>, 64;
            wgmma_bf16_nn_64_to_bf16: SS<K_MAJOR, MN_MAJOR>, 32;
            wgmma_bf16_nt_64_to_bf16: SS<K_MAJOR, K_MAJOR>, 32;
            wgmma_bf16_tn_64_to_bf16: SS<MN_MAJOR, MN_MAJOR>, 32;
            wgmma_bf16_tt_64_to_bf16: SS<MN_MAJOR, K_MAJOR>, 32;
        }
        256 threads {
            wgmma_bf16_nn_pair_192_to_bf16: SS<K_MAJOR, MN_MAJOR>, 96;
            wgmma_bf16_nn_pair_64_to_bf16: SS<K_MAJOR, MN_MAJOR>, 32;
            wgmma_bf16_nt_pair_192_to_bf16: SS<K_MAJOR, K_MAJOR>, 96;
            wgmma_bf16_nt_pair_64_to_bf16: SS<K_MAJOR, K_MAJOR>, 32;
            wgmma_bf16_tn_pair_192_to_bf16: SS<MN_MAJOR, MN_MAJOR>, 96;
            wgmma_bf16_tn_pair_64_to_bf16: SS<MN_MAJOR, MN_MAJOR>, 32;
            wgmma_bf16_tt_pair_192_to_bf16: SS<MN_MAJOR, K_MAJOR>, 96;
            wgmma_bf16_tt_pair_64_to_bf16: SS<MN_MAJOR, K_MAJOR>, 32;
        }
    }

    "Inputs and C are IEEE binary16": OF_F16_TO_F16, F16 => f16 {
        384 threads {
            wgmma_f16_nn_to_f16: SS<K_MAJOR, MN_MAJOR>, 128;
            wgmma_f16_nt_to_f16: SS<K_MAJOR, K_MAJOR>, 128;
            wgmma_f16_tn_to_f16: SS<MN_MAJOR, MN_MAJOR>, 128;
            wgmma_f16_tt_to_f16: SS<MN_MAJOR, K_MAJOR>, 128;
            wgmma_f16_nn_192_to_f16: SS<K_MAJOR, MN_MAJOR>, 96;
            wgmma_f16_nn_128_to_f16: SS<K_MAJOR, MN_MAJOR>, 64;
            wgmma_f16_nt_192_to_f16: SS<K_MAJOR, K_MAJOR>, 96;
            wgmma_f16_nt_128_to_f16: SS<K_MAJOR, K_MAJOR>, 64;
            wgmma_f16_tn_192_to_f16: SS<MN_MAJOR, MN_MAJOR>, 96;
            wgmma_f16_tn_128_to_f16: SS<MN_MAJOR, MN_MAJOR>, 64;
            wgmma_f16_tt_192_to_f16: SS<MN_MAJOR, K_MAJOR>, 96;
            wgmma_f16_tt_128_to_f16: SS<MN_MAJOR, K_MAJOR>, 64;
            wgmma_f16_nn_64_to_f16: SS<K_MAJOR, MN_MAJOR>, 32;
            wgmma_f16_nt_64_to_f16: SS<K_MAJOR, K_MAJOR>, 32;
            wgmma_f16_tn_64_to_f16: SS<MN_MAJOR, MN_MAJOR>, 32;
            wgmma_f16_tt_64_to_f16: SS<MN_MAJOR, K_MAJOR>, 32;
        }
        256 threads {
            wgmma_f16_nn_pair_192_to_f16: SS<K_MAJOR, MN_MAJOR>, 96;
            wgmma_f16_nn_pair_64_to_f16: SS<K_MAJOR, MN_MAJOR>, 32;
            wgmma_f16_nt_pair_192_to_f16: SS<K_MAJOR, K_MAJOR>, 96;
            wgmma_f16_nt_pair_64_to_f16: SS<K_MAJOR, K_MAJOR>, 32;
            wgmma_f16_tn_pair_192_to_f16: SS<MN_MAJOR, MN_MAJOR>, 96;
            wgmma_f16_tn_pair_64_to_f16: SS<MN_MAJOR, MN_MAJOR>, 32;
            wgmma_f16_tt_pair_192_to_f16: SS<MN_MAJOR, K_MAJOR>, 96;
            wgmma_f16_tt_pair_64_to_f16: SS<MN_MAJOR, K_MAJOR>, 32;
        }
    }

    "Inputs are TF32, the upper 19 bits of `f32`": OF_TF32, Tf32 => f32 {
        384 threads {
            wgmma_tf32_nn: RS<MN_MAJOR, K_MAJOR>, 128;
            wgmma_tf32_nn_192: RS<MN_MAJOR, K_MAJOR>, 96;
            wgmma_tf32_nn_128: RS<MN_MAJOR, K_MAJOR>, 64;
            wgmma_tf32_nn_64: RS<MN_MAJOR, K_MAJOR>, 32;
            wgmma_tf32_nt: SS<K_MAJOR, K_MAJOR>, 128;
            wgmma_tf32_nt_192: SS<K_MAJOR, K_MAJOR>, 96;
            wgmma_tf32_nt_128: SS<K_MAJOR, K_MAJOR>, 64;
            wgmma_tf32_nt_64: SS<K_MAJOR, K_MAJOR>, 32;
        }
    }
}
