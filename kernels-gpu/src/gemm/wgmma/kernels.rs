//! `wgmma_bf16`, `wgmma_f16`, `wgmma_tf32`, `wgmma_bf16_narrow`, `wgmma_f16_narrow`: the general product,
//! C ← α · op(A) · op(B) + β · C, as [`gemm`](crate::gemm) describes it.
//!
//! # Idea
//! `wgmma_bf16_persistent` stands still while its consumers store: the tensor cores wait for C. Here accumulators go to shared memory and from
//! there by bulk copies, so that a warpgroup begins its next tile as soon as its registers are free.
//!
//! Its tiles rarely come to a multiple of the multiprocessors. Here those of the last rounds are [shared](crate::gemm::scheduler::persistent) by all
//! blocks along k. Who finds that it brings the last part of a tile adds all of them up; nobody waits for
//! another block. Where that would have much to read, [a launch of its own](crate::gemm::reduction::stream_k) adds up the parts of all tiles. Where all
//! tiles are shared, by few blocks each, those are a cluster: they read each other's accumulators from shared
//! memory, and each [adds up](crate::gemm::reduction::dsmem) some columns. Where fewer multiprocessors are left than there are tiles, they take the
//! last steps of one tile after the other.
//!
//! Products that are too small for that come in tiles of 64 rows, whose blocks load B [in pairs](crate::gemm::wgmma::multicast).
//!
//! A launch behind another one begins while that is still at its last tiles (see [`griddepcontrol`]).
//!
//! The tensor cores take TF32 along k only, and a row-major B lies mn_major it. Of a product in which A does, A can go [through
//! registers](crate::gemm::wgmma::rs); and Cᵀ = Bᵀ · Aᵀ is one.
//!
//! C has elements of `f32`, or such as A and B have: the names of those kernels end with `_to_` and the element. Sums, α and β are of
//! `f32` all the same, as are parts of accumulators; a scaled sum is rounded once, when it is stored. A box of 64 rows then has 64
//! columns instead of 32, and C takes half of the time on its way.
//!
//! # Thread mapping
//! As in `wgmma_bf16_persistent`, with tiles of 256, 192, 128 or 64 columns. Kernels of pairs have 256 threads, of which warpgroup 1
//! multiplies, and tiles of 64 rows and of 192 or 64 columns; of 96 as well where B lies along k, whose other boxes come in 64 columns,
//! and C has boxes of 32.
//!
//! # Preconditions
//! The matrices A and B, their rows and the matrices of a batch begin at multiples of 16 bytes; k is fewer than 2³² elements less one
//! stage. TF32 operands are stored along k, but for a row-major B. Other operands are [copied](super::pack) first. C is as it likes.
//!
//! # What changed since the rung before
//! Against `wgmma_bf16_persistent`: layouts, leading dimensions, batches, α and β; stores by bulk copies; shared tiles; pairs of blocks;
//! launches that overlap; a C of 16 bits.
//!
//! # Source
//! Beyond the sources; for the shared tiles see [`scheduler`](crate::gemm::scheduler::persistent).

use crate::gemm::GemmParams;
use crate::gemm::epilogue::tma_store::{self, OutputElements, OutputVec2, TmaEpilogue};
use crate::gemm::pipeline::tma::{Pipeline, Stages};
use crate::gemm::reduction::dsmem;
use crate::gemm::reduction::workspace::Partials;
use crate::gemm::scheduler::persistent::{
    ReductionMode, Split, StreamK, TileCoord, TileGrid, TileSchedulerParams,
};
use crate::gemm::wgmma::multicast;
use crate::gemm::wgmma::rs::RS;
use crate::gemm::wgmma::source::{OperandSource, SS};
use crate::gemm::wgmma::stage::{
    self, A_BYTES, ROW_BYTES, StageCoord, TensorMaps, WARPGROUP, WM, loaded_multiple as together,
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

/// Bytes that boxes of C and stages may take: what a block can have, less the barriers and the words.
const MAX_BYTES: usize = 226 * 1024;

/// Registers of a thread of the producer warpgroup and of one of a consumer warpgroup. The launch gives each 168.
const PRODUCER_REGISTERS: u32 = 40;
/// See [`PRODUCER_REGISTERS`].
const CONSUMER_REGISTERS: u32 = 232;

/// Bytes of the boxes of C of so many consumers, which come first.
const fn boxes_bytes(consumers: usize) -> usize {
    consumers * tma_store::BYTES
}

/// As many stages as fit, for so many consumers that mma. Of two: 4 of 256 and of 192 columns, 6 of 128, 8 of 64; of one:
/// 6 of 192, 10 of 96, 13 of 64.
struct StageCountAuto<S, const CONSUMERS: usize>(PhantomData<S>);

impl<S: Accumulator, const CONSUMERS: usize> Stages for StageCountAuto<S, CONSUMERS> {
    const COUNT: usize = (MAX_BYTES - boxes_bytes(CONSUMERS)) / Self::BYTES;
    const BYTES: usize = stage::stage_bytes(CONSUMERS, S::COLUMNS);
    const CLUSTER_SIZE: u32 = multicast::cluster_size(CONSUMERS);
}

/// Dynamic shared memory for tiles of so many columns. A word of each warpgroup comes last.
const fn shared_bytes<S: Accumulator, const CONSUMERS: usize>() -> usize {
    boxes_bytes(CONSUMERS) + StageCountAuto::<S, CONSUMERS>::TOTAL_BYTES + CONSUMERS * 4
}

/// Warpgroups that mma, in a block of so many threads: all but the one that fetches.
const fn consumers(threads: usize) -> usize {
    threads / WARPGROUP - 1
}

/// A product of matrices, computed by `CONSUMERS` of each block.
struct Params<C, const CONSUMERS: usize> {
    maps: *const TensorMaps,
    c: *mut C,
    workspace: *mut f32,
    gemm: GemmParams<f32>,
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
        gemm: GemmParams<f32>,
        scheduler: TileSchedulerParams,
    ) -> Self {
        let size = [(CONSUMERS * WM) as u32, S::COLUMNS as u32];
        let tiles = scheduler.tiles([gemm.m, gemm.n], size, multicast::cluster_size(CONSUMERS));
        let steps = stage::k_tiles(gemm.k, stage::block_k(W::BYTES));
        let blocks = thread::grid_dim_x();
        Params {
            maps,
            c,
            workspace,
            gemm,
            scheduler,
            tiles,
            stream_k: StreamK::new(tiles.count(), &scheduler, steps, blocks),
            loaded: [
                stage::loaded(gemm.m, size[0], together(W::BYTES, W::A_K_MAJOR, 1)),
                stage::loaded(
                    gemm.n,
                    size[1],
                    together(W::BYTES, W::B_K_MAJOR, multicast::cluster_size(CONSUMERS)),
                ),
            ],
        }
    }

    /// Fetches the pieces of this block.
    ///
    /// # Safety
    /// One thread does it.
    #[inline(always)]
    unsafe fn load<W: OperandSource, S: Accumulator>(
        &self,
        mut pipeline: Pipeline<StageCountAuto<S, CONSUMERS>>,
    ) {
        // A matrix that the whole batch has in common is the only one of its map.
        let common = [self.gemm.stride_a == 0, self.gemm.stride_b == 0];
        let mut work_units = self.stream_k.work_units(thread::block_idx_x());
        while let Some(unit) = work_units.advance() {
            let coord = self.tiles.coord(unit.tile);
            // Of a tile that is there for its pair only, nothing is stored: it may be computed from any rows, which come sooner than
            // zeros for rows that are not there.
            let top = if coord.row < self.gemm.m {
                coord.row
            } else {
                0
            };
            for step in unit.first..unit.first + unit.steps {
                let place = StageCoord {
                    top,
                    left: coord.column,
                    loaded: self.loaded,
                    start: stage::k_offset(self.gemm.k, stage::block_k(W::BYTES), step),
                    matrices: common.map(|common| if common { 0 } else { coord.matrix }),
                };
                // SAFETY: the stage is empty once all warps that mma have said so.
                unsafe {
                    pipeline.producer_acquire();
                    W::load::<S, _, CONSUMERS>(&pipeline, self.maps, place);
                }
                pipeline.advance();
            }
        }
        if StageCountAuto::<S, CONSUMERS>::CLUSTER_SIZE > 1 {
            // SAFETY: as above. The other block reaches this one's shared memory until then.
            unsafe { pipeline.producer_tail() };
        }
    }

    /// Clears the rows of A that are not loaded for a warpgroup and, by the first one, such columns of B.
    ///
    /// # Safety
    /// All consumers that mma do it, before they mma. `stages` are those of the pipeline.
    #[inline(always)]
    unsafe fn clear<S: Accumulator>(&self, stages: *mut u8, warpgroup: usize) {
        let [rows, columns] = self.loaded.map(|loaded| loaded as usize * ROW_BYTES);
        let end = (warpgroup + 1) * A_BYTES;
        let b = CONSUMERS * A_BYTES;
        let lacks_columns = columns < S::COLUMNS * ROW_BYTES;
        // SAFETY: passed on to the caller. What is written is there for the products behind the barrier.
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

    /// Computes the rows of a warpgroup in the pieces of this block.
    ///
    /// # Safety
    /// A whole warpgroup does it. `boxes` and `word` are its own, `stages` those of the pipeline.
    #[inline(always)]
    unsafe fn mma<W: OperandSource, S: Accumulator>(
        &self,
        mut pipeline: Pipeline<StageCountAuto<S, CONSUMERS>>,
        warpgroup: usize,
        [boxes, stages]: [*mut u8; 2],
        word: *mut u32,
    ) {
        let barrier = 1 + warpgroup as u32;
        let target = TmaEpilogue {
            elements: OutputElements {
                c: self.c,
                gemm: &self.gemm,
                transposed: W::C_TRANSPOSED,
            },
            scheduler: &self.scheduler,
            maps: self.maps,
            boxes,
            barrier,
        };
        let mut work_units = self.stream_k.work_units(thread::block_idx_x());
        while let Some(unit) = work_units.advance() {
            // SAFETY: the pipeline has the stages of this unit, which all of the warpgroup computes.
            unsafe {
                let mut accumulators: S =
                    W::mma::<S, _, CONSUMERS>(&mut pipeline, unit.steps, warpgroup);
                let mut boxes = 0..dsmem::epilogue_tiles(S::COLUMNS, size_of::<C>());
                // Blocks that load together have whole tiles.
                let may_share = StageCountAuto::<S, CONSUMERS>::CLUSTER_SIZE == 1;
                let is_clustered = may_share && self.scheduler.reduction == ReductionMode::Cluster;
                if is_clustered {
                    // The products of the block are done: its stages are free.
                    boxes = dsmem::reduce::<S, C, CONSUMERS>(&mut accumulators, stages, warpgroup);
                } else if may_share
                    && unit.tile >= self.scheduler.data_parallel_tiles
                    && let Some(part) = self.stream_k.part(thread::block_idx_x())
                    && !self.fix_up(&mut accumulators, &part, warpgroup, word)
                {
                    continue;
                }
                let coord = self.tiles.coord(unit.tile);
                let row = coord.row + (warpgroup * WM) as u32;
                target.store(&accumulators, TileCoord { row, ..coord }, boxes);
                if is_clustered {
                    dsmem::wait_for_peers();
                }
            }
        }
        tma::wait_group::<0>();
    }

    /// Leaves a part of a tile's accumulators to the others or, where it is the last and they are added up here, adds all parts up. Returns
    /// whether it has.
    ///
    /// # Safety
    /// The accumulators are those of a unit of this block that belongs to `part`. All of the warpgroup is here.
    #[inline(always)]
    unsafe fn fix_up<S: Accumulator>(
        &self,
        accumulators: &mut S,
        part: &Split,
        warpgroup: usize,
        word: *mut u32,
    ) -> bool {
        let barrier = 1 + warpgroup as u32;
        let of_warpgroup = [warpgroup, CONSUMERS];
        let partials = Partials::new(
            self.workspace,
            &self.scheduler,
            *part,
            of_warpgroup,
            S::COLUMNS,
        );
        let counter = part.tile as usize * CONSUMERS + warpgroup;
        // SAFETY: the counter is a word of the workspace that is 0 before the first part and after the last one. A part is
        // complete before it is counted, which all that met at the barrier are ordered by, and counted before it is read.
        unsafe {
            partials.store(accumulators);
            if self.scheduler.reduction == ReductionMode::Kernel {
                return false;
            }
            wgmma::sync(barrier);
            if (thread::thread_idx_x() as usize).is_multiple_of(WARPGROUP) {
                let counter = self.workspace.wrapping_add(counter).cast::<u32>();
                let last = atomic::count(counter) + 1 == part.count;
                if last {
                    *counter = 0;
                }
                *word = last as u32;
            }
            wgmma::sync(barrier);
            // All lanes read the same; by a vote the compiler knows it.
            let last = warp::warp_vote_any(warp::FULL_MASK, *word != 0);
            if last {
                partials.reduce(accumulators);
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
    gemm: GemmParams<f32>,
    scheduler: TileSchedulerParams,
) {
    let memory = shared::dynamic_shared_mem::<u8>();
    let boxes_bytes = boxes_bytes(CONSUMERS);
    let base = stage::stages().at(boxes_bytes as u32);
    let params = Params::<C, CONSUMERS>::new::<W, S>(maps, arrays, gemm, scheduler);
    // SAFETY: the whole warp is here, and below the whole warpgroup.
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
            // The barriers are published; there is nothing else to see.
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
                params.load::<W, S>(Pipeline::new(base));
            }
        } else {
            if CONSUMERS > 1 {
                wgmma::setmaxnreg_inc::<CONSUMER_REGISTERS>();
            }
            let warpgroup = warp as usize / 4 - 1;
            let stages = memory.wrapping_add(boxes_bytes);
            params.clear::<S>(stages, warpgroup);
            griddepcontrol::wait();
            let boxes = memory.wrapping_add(warpgroup * tma_store::BYTES);
            let words = boxes_bytes + StageCountAuto::<S, CONSUMERS>::TOTAL_BYTES;
            let word = memory.wrapping_add(words + 4 * warpgroup).cast();
            params.mma::<W, S>(Pipeline::new(base), warpgroup, [boxes, stages], word);
        }
    }
}

/// Rows of the highest tiles, which two consumers mma.
pub const MAX_ROWS: u32 = 2 * WM as u32;

/// One of the kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TileConfig {
    /// The PTX entry.
    pub entry: &'static str,
    /// Rows and columns of a tile.
    pub rows: u32,
    /// See `rows`.
    pub columns: u32,
    /// Blocks that load B [together](pair), as a cluster.
    pub cluster_size: u32,
    /// Threads of a block.
    pub threads: u32,
    /// Dynamic shared memory of a block, in bytes.
    pub shared_bytes: u32,
    /// Whether A and B are stored mn_major k.
    pub mn_major: [bool; 2],
    /// Whether the result is stored as the transpose of C: with the rows and columns, A and B that the kernel knows, C lies column
    /// by column.
    pub c_transposed: bool,
}

impl TileConfig {
    /// The tiles of a batch of matrices of m × n.
    #[inline(always)]
    pub const fn tiles(&self, extents: [u32; 2], batch: u32) -> TileGrid {
        TileGrid::new(extents, [self.rows, self.columns], batch).for_cluster(self.cluster_size)
    }
}

macro_rules! kernels {
    ($($types:literal: $instances:ident, $element:ty => $output:ty {
        $($threads:tt threads { $($name:ident: $source:ident<$a:ident, $b:ident>, $registers:literal;)* })*
    })*) => {
        $(
            $($(
                #[doc = concat!($types, ", A ", stringify!($a), ", B ", stringify!($b), ".")]
                ///
                /// # Safety
                /// `maps` are as [`TensorMaps`] says and `gemm` describes; `c` is C, and `workspace` zeroed counters and room for the parts that
                /// `scheduler` has, and nobody else's; blocks have the threads and the dynamic shared memory of their [`TileConfig`], and
                /// are clusters of its blocks or of the scheduler's.
                #[cuda_std::kernel(max_threads = $threads, min_blocks = 1)]
                pub unsafe fn $name(
                    maps: *const TensorMaps,
                    c: *mut $output,
                    workspace: *mut f32,
                    gemm: GemmParams<f32>,
                    scheduler: TileSchedulerParams,
                ) {
                    // SAFETY: passed on to the caller.
                    unsafe {
                        body::<$source<$element, $a, $b>, [f32; $registers], $output, { consumers($threads) }>(
                            maps, (c, workspace), gemm, scheduler,
                        )
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
                    shared_bytes: shared_bytes::<[f32; $registers], { consumers($threads) }>() as u32,
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
