//! Plans of the `wgmma` kernels: a tile configuration, and a decomposition of C's tiles.
//!
//! A decomposition gives k-tiles to blocks: data-parallel, stream-K with one of the
//! [reductions](crate::gemm::reduction), or split-K of all tiles. The time of a plan, in clocks of
//! an SM, adds up the k-tiles of the busiest block, the epilogues that no MMA hides, and the
//! traffic of partial sums. The constants are fitted to times on an H200.

use crate::gemm::copy::layout;
use crate::gemm::planner::GemmProblem;
use crate::gemm::reduction::stream_k;
use crate::gemm::scheduler::GROUP_M;
use crate::gemm::scheduler::persistent::{
    GROUP_M_ONE_WAVE, ReductionMode, TileGrid, TileSchedulerParams, counters,
};
use crate::gemm::tile_config::TileConfig;
use crate::gemm::wgmma::kernels::MAX_ROWS;
use crate::gemm::wgmma::stage::{ROW_BYTES, WM, k_tiles};

/// How to launch a GEMM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WgmmaPlan {
    /// The kernel.
    pub config: &'static TileConfig,
    /// Blocks of the grid.
    pub blocks: u32,
    /// The tile scheduler.
    pub scheduler: TileSchedulerParams,
    /// Blocks of the reduction kernel behind the GEMM, where there is one.
    pub reduction_blocks: Option<u32>,
    /// Bytes at the start of the workspace that are 0 before the launch and after it.
    pub zeroed_bytes: u64,
    /// Bytes of the workspace, with those.
    pub workspace_bytes: u64,
}

impl WgmmaPlan {
    /// Blocks of a cluster.
    pub const fn cluster(&self) -> u32 {
        match self.scheduler.reduction {
            ReductionMode::Cluster => self.scheduler.splits,
            _ => self.config.cluster_size,
        }
    }
}

/// The plan with the least predicted time. `configs` are those of each layout. The operands lie as
/// the problem says, in rows at multiples of 16 bytes; `tma_store` says whether TMA can store C.
///
/// # Panics
/// Where `configs` have none for the layout.
pub fn plan(
    configs: &[&'static [TileConfig]],
    problem: &GemmProblem,
    tma_store: bool,
) -> WgmmaPlan {
    let [m, n, k] = problem.extents;
    let layouts = [!problem.transposed[0], problem.transposed[1]].map(layout::of);
    let configs: &'static [TileConfig] = configs
        .iter()
        .find(|configs| configs[0].layouts == layouts)
        .expect("there are configurations for every layout");
    let [_, _, bk] = configs[0].tile;
    let k_tiles = k_tiles(k, bk as usize);
    let sms = problem.multiprocessors.max(1);
    let work = Work {
        rows: m,
        k_tiles,
        bytes: (f64::from(m) + f64::from(n)) * f64::from(k) * (ROW_BYTES as f64 / f64::from(bk)),
        sms,
    };
    let mut best: Option<(f64, WgmmaPlan)> = None;
    for config in configs {
        let tiles = tile_grid(config, [m, n], problem.batch).count();
        for decomposition in decompositions(config.cluster_size, tiles, k_tiles, sms) {
            let clocks = decomposition.clocks(config, &work);
            if best.is_none_or(|(least, _)| clocks < least) {
                best = Some((
                    clocks,
                    decomposition.launch(config, problem.batch, k_tiles, tma_store),
                ));
            }
        }
    }
    best.expect("every layout has a tile, and every tile a decomposition")
        .1
}

/// The tiles of a batch of `batch` matrices of m × n elements.
const fn tile_grid(config: &TileConfig, extents: [u32; 2], batch: u32) -> TileGrid {
    let [bm, bn, _] = config.tile;
    TileGrid::new(extents, [bm, bn], batch).for_cluster(config.cluster_size)
}

/// What is to be computed, and on which device.
struct Work {
    /// Rows of C.
    rows: u32,
    /// k-tiles of a tile.
    k_tiles: u32,
    /// Bytes of A and B, of one GEMM of a batch.
    bytes: f64,
    /// SMs.
    sms: u32,
}

/// Which blocks compute which tiles.
#[derive(Clone, Copy, Debug)]
struct Decomposition {
    /// All tiles.
    tiles: u32,
    /// Those of them that are data-parallel; the others are stream-K tiles.
    data_parallel: u32,
    /// Blocks of the grid.
    blocks: u32,
    /// Splits of each stream-K tile.
    splits: u32,
    /// Where each stream-K tile has a long head split and a short tail split: tail splits for each
    /// SM that has no head. Otherwise 0.
    tails: u32,
    /// What reduces the partial sums.
    reduction: ReductionMode,
}

/// The most blocks of a cluster that every device with clusters runs (CUDA C++ Programming Guide,
/// "Thread Block Clusters").
const MAX_CLUSTER: u32 = 8;

/// Whether `clusters` clusters surely run at the same time. The SMs of a cluster are neighbours, in
/// GPCs of different sizes: clusters of 2 always fit, and of larger ones some GPCs have a
/// remainder. On an H200, 24 clusters of 4 fit; 24 of 5 and 32 of 4 do not.
const fn clusters_fit(clusters: u32, blocks: u32, sms: u32) -> bool {
    match blocks {
        ..=2 => clusters * blocks <= sms,
        3..=MAX_CLUSTER => clusters * blocks <= sms / 4 * 3,
        _ => false,
    }
}

/// The decompositions that are tried, in this order: stream-K of the tiles of the last, partial
/// wave, with each reduction that can follow; head and tail splits; data-parallel.
///
/// A reduction kernel, clusters, and head and tail splits need that all tiles are stream-K tiles.
/// Blocks of a [multicast cluster](crate::gemm::wgmma::multicast) have data-parallel tiles only.
fn decompositions(
    cluster_size: u32,
    tiles: u32,
    k_tiles: u32,
    sms: u32,
) -> impl Iterator<Item = Decomposition> {
    let sms = (sms / cluster_size * cluster_size).max(cluster_size);
    let blocks = tiles.min(sms);
    let data_parallel = Decomposition {
        tiles,
        data_parallel: tiles,
        blocks,
        splits: 1,
        tails: 0,
        reduction: ReductionMode::LastBlock,
    };
    let in_full_waves = tiles / sms * sms;
    let in_last_wave = tiles - in_full_waves;
    let max_splits = match cluster_size {
        1 => sms.checked_div(in_last_wave).unwrap_or(0).min(k_tiles),
        _ => 1,
    };
    let stream_k = (2..=max_splits).flat_map(move |splits| {
        let by_last_block = Decomposition {
            data_parallel: in_full_waves,
            blocks: blocks.max(splits * in_last_wave),
            splits,
            ..data_parallel
        };
        let all = in_full_waves == 0;
        let fit = all && clusters_fit(in_last_wave, splits, sms);
        [
            Some(ReductionMode::LastBlock),
            all.then_some(ReductionMode::Kernel),
            fit.then_some(ReductionMode::Cluster),
        ]
        .into_iter()
        .flatten()
        .map(move |reduction| Decomposition {
            reduction,
            ..by_last_block
        })
    });
    let idle = sms - blocks;
    let has_tails = cluster_size == 1 && k_tiles > 1 && (1..tiles).contains(&idle);
    let with_tails = has_tails.then(|| Decomposition {
        data_parallel: 0,
        blocks: 2 * tiles,
        splits: 2,
        tails: tiles.div_ceil(idle),
        ..data_parallel
    });
    stream_k.chain(with_tails).chain([data_parallel])
}

/// Clocks of a launch and of filling the first stages.
const START: f64 = 4000.0;

/// Clocks of the barrier of a multicast cluster.
const CLUSTER_BARRIER: f64 = 760.0;

/// What a column of a tile takes, in clocks: of a k-tile, and of the epilogue. Narrow tiles are
/// bound by shared memory.
struct ColumnClocks {
    k_tile: f64,
    epilogue: f64,
}

/// That of tiles of BM × BN.
const fn column_clocks(bm: u32, bn: u32) -> ColumnClocks {
    let (k_tile, epilogue) = match (bm, bn) {
        (128.., 256..) => (4.43, 25.4),
        (128.., 192..) => (4.35, 30.7),
        (128.., 128..) => (4.85, 30.3),
        (128.., _) => (6.37, 37.1),
        (_, 192..) => (2.50, 24.9),
        (_, 96..) => (3.75, 21.0),
        _ => (3.94, 21.4),
    };
    ColumnClocks { k_tile, epilogue }
}

/// Clocks until the last block of a tile knows that it is the last.
const ARRIVAL: f64 = 1800.0;
/// Clocks of a column of a split's partial sums, written or read through the workspace.
const PARTIAL_COLUMN: f64 = 12.5;
/// The same where blocks of a cluster read each other's shared memory.
const PARTIAL_COLUMN_OF_CLUSTER: f64 = 10.5;
/// Clocks of a tail split besides its k-tiles: its block's prologue and its partial sums.
const TAIL: f64 = 7000.0;
/// Clocks of the reduction kernel's launch and end.
const REDUCTION_KERNEL: f64 = 6700.0;
/// The same where its blocks fit beside those of the GEMM: they have started when it ends.
const REDUCTION_KERNEL_BESIDE: f64 = 3200.0;
/// Clocks of each [round](stream_k::rounds) of partial sums that its threads have in flight.
const REDUCTION_ROUND: f64 = 1500.0;
/// Clocks of an element of partial sums, which all SMs write and read.
const REDUCTION_ELEMENT: f64 = 0.0031;

/// Bytes of A and B that come from device memory in a clock.
const BYTES_PER_CLOCK: f64 = 2100.0;

/// Clocks of a row of a TMA box that A does not have, in each k-tile. Boxes are loaded as a whole
/// where A has fewer rows than the highest tiles.
const ABSENT_ROW: f64 = 3.0;

/// What a column takes longer in a k-tile where blocks are at different k, and hit the L2 cache
/// less.
const COLUMN_AT_OTHER_K: f64 = 0.1;
/// The same where stream-K tiles come before data-parallel ones: blocks are then at any k for a
/// while.
const COLUMN_AT_ANY_K: f64 = 1.9;
/// What a column of partial sums takes longer then.
const PARTIAL_COLUMN_AT_ANY_K: f64 = 10.8;

/// Clocks of two activities at the same time: those of the longer, and an eighth more where both
/// take as long, as each waits for the other at times.
fn overlapped(one: f64, other: f64) -> f64 {
    let (longer, shorter) = (one.max(other), one.min(other));
    let ratio = shorter / longer.max(1.0);
    longer + shorter * ratio * ratio * ratio / 8.0
}

impl Decomposition {
    /// Stream-K tiles.
    const fn stream_k_tiles(&self) -> u32 {
        self.tiles - self.data_parallel
    }

    /// Columns of partial sums of a stream-K tile that its last block moves: it writes one split
    /// and reads all of them.
    fn partial_columns(&self, config: &TileConfig) -> f64 {
        f64::from(1 + self.splits) * f64::from(config.tile[1])
    }

    /// Clocks of the GEMM.
    fn clocks(&self, config: &TileConfig, work: &Work) -> f64 {
        let columns = f64::from(config.tile[1]);
        let ColumnClocks { k_tile, epilogue } = column_clocks(config.tile[0], config.tile[1]);
        let (k_tile, epilogue) = (columns * k_tile, columns * epilogue);
        let waves = f64::from(self.data_parallel.div_ceil(self.blocks));
        let mut main_loop = waves * f64::from(work.k_tiles) * k_tile;
        let mut clocks = START + waves * epilogue;
        if config.cluster_size > 1 {
            clocks += CLUSTER_BARRIER;
        }
        if self.stream_k_tiles() > 0 {
            let k_tiles = f64::from(match self.head(config, work.k_tiles) {
                0 => work.k_tiles.div_ceil(self.splits),
                head => head,
            });
            main_loop += k_tiles * (k_tile + columns * COLUMN_AT_OTHER_K);
            clocks += self.reduction_clocks(config, work.sms);
            if self.data_parallel > 0 {
                clocks += k_tiles * columns * COLUMN_AT_ANY_K
                    + self.partial_columns(config) * PARTIAL_COLUMN_AT_ANY_K;
            }
        }
        if (config.tile[0] + 1..MAX_ROWS).contains(&work.rows) {
            let absent = work.rows.next_multiple_of(config.tile[0]) - work.rows;
            main_loop += f64::from(work.k_tiles) * f64::from(absent) * ABSENT_ROW;
        }
        clocks + overlapped(main_loop, work.bytes / BYTES_PER_CLOCK)
    }

    /// Clocks of a stream-K tile behind its last k-tile: partial sums are written, added up, and C
    /// is stored. In a cluster all blocks add up and store.
    fn reduction_clocks(&self, config: &TileConfig, sms: u32) -> f64 {
        let columns = f64::from(config.tile[1]);
        let epilogue = columns * column_clocks(config.tile[0], config.tile[1]).epilogue;
        let partial_columns = self.partial_columns(config);
        match self.reduction {
            ReductionMode::LastBlock => epilogue + ARRIVAL + partial_columns * PARTIAL_COLUMN,
            ReductionMode::Cluster => {
                epilogue / f64::from(self.splits)
                    + ARRIVAL
                    + partial_columns * PARTIAL_COLUMN_OF_CLUSTER
            }
            ReductionMode::Kernel => {
                let rows = self.splits * self.stream_k_tiles() * config.tile[0];
                let elements = f64::from(rows) * columns;
                let [bm, bn, _] = config.tile;
                let blocks = stream_k::blocks(self.stream_k_tiles(), [bm, bn]);
                let idle = sms.saturating_sub(self.blocks);
                // More than half of the blocks for which there seems to be room start later.
                let kernel = match 2 * blocks <= idle * stream_k::resident(self.splits) {
                    true => REDUCTION_KERNEL_BESIDE,
                    false => REDUCTION_KERNEL,
                };
                kernel
                    + f64::from(stream_k::rounds(self.splits)) * REDUCTION_ROUND
                    + elements * REDUCTION_ELEMENT
            }
        }
    }

    /// k-tiles of a head split, which takes as long as the tail splits of an SM; 0 where splits are
    /// equal.
    fn head(&self, config: &TileConfig, k_tiles: u32) -> u32 {
        if self.tails == 0 {
            return 0;
        }
        let columns = f64::from(config.tile[1]);
        let k_tile = columns * column_clocks(config.tile[0], config.tile[1]).k_tile;
        let tails = f64::from(self.tails);
        let head = (f64::from(k_tiles) + TAIL / k_tile) * tails / (tails + 1.0);
        (head as u32).clamp(1, k_tiles - 1)
    }

    /// Rows of tiles in a group.
    fn group_m(&self) -> u32 {
        if self.data_parallel == self.tiles && self.blocks == self.tiles {
            GROUP_M_ONE_WAVE
        } else {
            GROUP_M
        }
    }

    fn launch(
        &self,
        config: &'static TileConfig,
        batch: u32,
        k_tiles: u32,
        tma_store: bool,
    ) -> WgmmaPlan {
        let [bm, bn, _] = config.tile;
        let stream_k_tiles = self.stream_k_tiles();
        let has_workspace = stream_k_tiles > 0 && self.reduction != ReductionMode::Cluster;
        let consumers = config.tile[0] as usize / WM;
        let zeroed_bytes = match self.reduction {
            ReductionMode::LastBlock => counters(stream_k_tiles, consumers) * 4,
            _ => 0,
        };
        let partial_sums = zeroed_bytes.next_multiple_of(PARTIALS_ALIGN);
        let count = u64::from(self.splits * stream_k_tiles) * consumers as u64;
        let bytes = stream_k::partial_elements(config.tile[1] as usize) as u64 * 4;
        WgmmaPlan {
            config,
            blocks: self.blocks,
            scheduler: TileSchedulerParams {
                batch,
                data_parallel_tiles: self.data_parallel,
                splits: self.splits,
                head_k_tiles: self.head(config, k_tiles),
                tma_store: tma_store.into(),
                reduction: self.reduction,
                group_m: self.group_m(),
                partial_sums_offset: (partial_sums / 4) as u32,
            },
            reduction_blocks: (self.reduction == ReductionMode::Kernel)
                .then(|| stream_k::blocks(stream_k_tiles, [bm, bn])),
            zeroed_bytes,
            workspace_bytes: if has_workspace {
                partial_sums + count * bytes
            } else {
                0
            },
        }
    }
}

/// Alignment of the partial sums, in bytes.
const PARTIALS_ALIGN: u64 = 256;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gemm::wgmma::kernels::{OF_BF16, OF_TF32};

    const H200: GemmProblem = GemmProblem {
        extents: [4096; 3],
        transposed: [false; 2],
        vectors: [true; 2],
        batch: 1,
        multiprocessors: 132,
        shared_bytes: 227 << 10,
    };

    fn planned(extents: [u32; 3]) -> WgmmaPlan {
        planned_of(extents, [false; 2])
    }

    fn planned_of(extents: [u32; 3], transposed: [bool; 2]) -> WgmmaPlan {
        let problem = GemmProblem {
            extents,
            transposed,
            ..H200
        };
        plan(OF_BF16, &problem, true)
    }

    #[test]
    fn tiles_are_as_narrow_as_it_takes_to_fill_the_gpu() {
        let columns = |extents| planned(extents).config.tile[1];
        assert_eq!(columns([8, 8, 1024]), 64);
        assert!(columns([8192, 8192, 8192]) > 128);
        assert_eq!(columns([4096, 768, 3072]), 192);
    }

    #[test]
    fn few_tiles_of_many_k_tiles_are_stream_k_tiles() {
        let plan = planned([333, 777, 12345]);
        assert_eq!(plan.scheduler.reduction, ReductionMode::LastBlock);
        assert!(plan.zeroed_bytes > 0, "{plan:?}");
        assert_eq!(planned([1024, 1024, 1024]).workspace_bytes, 0);
    }

    #[test]
    fn many_partial_sums_are_added_up_by_a_reduction_kernel() {
        let plan = planned([768, 768, 16384]);
        assert_eq!(plan.scheduler.splits, 5);
        // 24 tiles of 2 × 24 vectors of the threads of a block.
        assert_eq!(
            [plan.blocks, plan.reduction_blocks.unwrap()],
            [120, 24 * 48]
        );
        assert_eq!(plan.zeroed_bytes, 0);
        assert!(plan.workspace_bytes > 0);
        assert_eq!(planned([333, 777, 12345]).reduction_blocks, None);
    }

    #[test]
    fn few_tiles_of_few_splits_are_reduced_by_clusters() {
        let plan = planned([1024, 1024, 4096]);
        assert_eq!([plan.cluster(), plan.scheduler.splits], [2, 2]);
        assert_eq!(plan.workspace_bytes, 0);
        assert_eq!(planned([768, 768, 16384]).cluster(), 1);
        assert_eq!(planned([4096; 3]).cluster(), 1);
    }

    #[test]
    fn idle_sms_take_tail_splits() {
        let plan = planned([768, 3072, 16384]);
        assert_eq!([plan.blocks, plan.scheduler.splits], [192, 2]);
        assert!(
            (192..200).contains(&plan.scheduler.head_k_tiles),
            "{plan:?}"
        );
    }

    #[test]
    fn multicast_clusters_compute_what_nearly_fills_the_gpu_with_them() {
        for (extents, columns) in [([512, 768, 3072], 64), ([2048, 768, 3072], 192)] {
            let plan = planned(extents);
            assert_eq!([plan.cluster(), plan.scheduler.splits], [2, 1]);
            assert_eq!(plan.config.tile[1], columns);
        }
        // There are tiles of 96 columns where B is K-major.
        for (transposed, columns) in [([false, true], 96), ([true, true], 96), ([false; 2], 64)] {
            let plan = planned_of([1024, 768, 3072], transposed);
            assert_eq!(plan.config.tile[1], columns);
        }
    }

    #[test]
    fn memory_bound_gemms_are_not_split() {
        for extents in [[8, 4096, 4096], [4096, 64, 4096], [128, 4096, 4096]] {
            let plan = planned(extents);
            assert_eq!((plan.config.tile[0], plan.scheduler.splits), (64, 1));
        }
        // Half of the rows of a second tile of 64 would be absent.
        assert_eq!(planned([100, 4096, 4096]).config.tile[0], 128);
        // Blocks of the reduction kernel find idle SMs.
        let plan = planned([128, 128, 65536]);
        assert_eq!(plan.scheduler.reduction, ReductionMode::Kernel);
        assert!(plan.blocks < H200.multiprocessors * 3 / 4, "{plan:?}");
    }

    #[test]
    fn tiles_of_one_wave_are_in_lower_groups() {
        for extents in [[1024, 768, 3072], [512, 768, 3072], [8, 8, 64]] {
            assert_eq!(planned(extents).scheduler.group_m, GROUP_M_ONE_WAVE);
        }
        for extents in [[4096; 3], [1024, 1024, 4096], [768, 3072, 16384]] {
            assert_eq!(planned(extents).scheduler.group_m, GROUP_M);
        }
    }

    #[test]
    fn every_layout_and_size_has_a_plan() {
        let sizes = [1, 63, 64, 1000, 50304];
        for m in sizes {
            for n in sizes {
                for k in [0, 1, 64, 16384] {
                    for transposed in [[false, false], [false, true], [true, false], [true, true]] {
                        let plan = planned_of([m, n, k], transposed);
                        let tiles = tile_grid(plan.config, [m, n], 1);
                        assert!(plan.scheduler.data_parallel_tiles <= tiles.count());
                        // Tails come behind as many heads, of which there are fewer than SMs.
                        let waves = 1 + (plan.scheduler.head_k_tiles > 0) as u32;
                        assert!((1..=132 * waves).contains(&plan.blocks));
                        assert!(plan.blocks.is_multiple_of(plan.cluster()));
                    }
                }
            }
        }
        let k_major = GemmProblem {
            transposed: [false, true],
            ..H200
        };
        assert_eq!(plan(OF_TF32, &k_major, true).config.entry, "wgmma_tf32_nt");
    }
}
