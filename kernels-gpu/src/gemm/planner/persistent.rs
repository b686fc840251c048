//! Candidates of the `wgmma` kernels: persistent blocks go through the work units of the
//! [persistent tile scheduler](crate::gemm::scheduler::persistent).

use super::cost::{self, CLUSTER, KERNEL_BESIDE, L2Cost, PERSISTENT, TileCost};
use super::{ActiveClusters, Decomposition, GemmPlan, GemmProblem, KernelSet, ReductionLaunch};
use super::{ReductionMode, StreamK, TileScheduler, TileSchedulerParams};
use crate::gemm::copy::layout;
use crate::gemm::epilogue::tma_store::box_columns;
use crate::gemm::mma::split::TERMS;
use crate::gemm::reduction::stream_k;
use crate::gemm::scheduler::GROUP_M;
use crate::gemm::scheduler::cluster_shape::ClusterShape;
use crate::gemm::scheduler::fast_divmod::FastDivmod;
use crate::gemm::scheduler::persistent::{self as scheduler, GROUP_M_ONE_WAVE, TileGrid, counters};
use crate::gemm::tile_config::TileConfig;
use crate::gemm::wgmma::boxes::{OperandBoxes, SWIZZLED_ROWS};
use crate::gemm::wgmma::stage::{ROW_BYTES, WM, k_tiles};

/// What the plan of a candidate is made from: thousands are compared, and one is planned.
#[derive(Clone, Copy)]
pub(super) struct Candidate {
    tile: Tile,
    grid: PersistentGrid,
    reduce: &'static str,
}

impl Candidate {
    pub fn plan(&self) -> GemmPlan {
        self.tile.plan(&self.grid, self.reduce)
    }
}

/// The candidates of a tile configuration, of each of its widths and in each of its multicast
/// clusters, with their clocks.
pub(super) fn candidates(
    kernels: &KernelSet,
    config: &'static TileConfig,
    problem: &GemmProblem,
) -> impl Iterator<Item = (f64, Candidate)> {
    shapes(config, problem).flat_map(move |(columns, cluster)| {
        let cost = TileCost::of(kernels.persistent_costs, config, columns, cluster);
        let tile = Tile::new(kernels, config, cost, columns, cluster, problem);
        let grids = tile.into_iter().flat_map(move |tile| {
            let grids = tile.grids(kernels);
            grids.map(move |grid| (tile, grid))
        });
        let reduce = kernels.reduce.0;
        grids.map(move |(tile, grid)| {
            let candidate = Candidate { tile, grid, reduce };
            (tile.clocks(&grid), candidate)
        })
    })
}

/// The candidate of the least clocks of these tile configurations, the first one of several. Tiles
/// that could not be faster even if all SMs computed as many are left out.
pub(super) fn fastest(
    kernels: &KernelSet,
    configs: impl Iterator<Item = &'static TileConfig>,
    problem: &GemmProblem,
) -> Option<(f64, Candidate)> {
    let mut most = f64::INFINITY;
    let mut fastest = None;
    let shapes = configs.flat_map(|config| shapes(config, problem).map(move |of| (config, of)));
    for (config, (columns, cluster)) in shapes {
        let cost = TileCost::of(kernels.persistent_costs, config, columns, cluster);
        if least_clocks(config, &cost, columns, problem) >= most {
            continue;
        }
        let Some(tile) = Tile::new(kernels, config, cost, columns, cluster, problem) else {
            continue;
        };
        for grid in tile.grids(kernels) {
            let clocks = tile.clocks(&grid);
            if clocks < most {
                most = clocks;
                fastest = Some((tile, grid));
            }
        }
    }
    let reduce = kernels.reduce.0;
    fastest.map(|(tile, grid)| (most, Candidate { tile, grid, reduce }))
}

/// Clocks that tiles of `columns` columns take at least: their MMAs, shared out evenly.
fn least_clocks(config: &TileConfig, cost: &TileCost, columns: u32, problem: &GemmProblem) -> f64 {
    let [m, n, k] = problem.extents;
    let [bm, _, bk] = config.tile;
    let counts = [m.div_ceil(bm), n.div_ceil(columns), problem.batch];
    let tiles: f64 = counts.map(f64::from).iter().product();
    let k_tiles = f64::from(k_tiles(k, bk as usize));
    PERSISTENT.start + tiles * k_tiles * cost.k_tile / f64::from(problem.multiprocessors)
}

/// The widths of a configuration's tiles and the multicast clusters that a problem's candidates
/// have.
fn shapes(
    config: &'static TileConfig,
    problem: &GemmProblem,
) -> impl Iterator<Item = (u32, ClusterShape)> {
    config.clusters.iter().flat_map(move |&cluster| {
        let widths = config.widths();
        widths
            .filter(move |&columns| is_worth(config, columns, cluster, problem))
            .map(move |columns| (columns, cluster))
    })
}

/// Whether tiles of `columns` columns can be computed in these clusters, and are fewer than those
/// of the next narrower width that can be.
fn is_worth(
    config: &TileConfig,
    columns: u32,
    cluster: ClusterShape,
    problem: &GemmProblem,
) -> bool {
    let n = problem.extents[1];
    let mut narrower = config.widths().filter(|&narrower| narrower < columns);
    is_possible(config, columns, cluster, problem)
        && narrower
            .find(|&narrower| is_possible(config, narrower, cluster, problem))
            .is_none_or(|narrower| n.div_ceil(narrower) != n.div_ceil(columns))
}

/// Whether tiles of `columns` columns can be computed in these clusters.
fn is_possible(
    config: &TileConfig,
    columns: u32,
    cluster: ClusterShape,
    problem: &GemmProblem,
) -> bool {
    let [share_b, _] = cluster.extents();
    let slices_fit =
        config.layouts[1] != layout::K_MAJOR || columns.is_multiple_of(SWIZZLED_ROWS * share_b);
    // A tile that ends inside of an epilogue tile is stored by a map in which windows take the
    // place of the matrices of a batch.
    let is_whole = columns.is_multiple_of(box_columns(2) as u32);
    slices_fit && (is_whole || problem.batch == 1 || !problem.tma_store)
}

/// What a persistent grid computes: the tiles of one configuration.
#[derive(Clone, Copy)]
struct Tile {
    config: &'static TileConfig,
    /// All tiles, and the multicast clusters that compute them.
    tiles: TileGrid<FastDivmod>,
    cost: TileCost,
    problem: GemmProblem,
    /// k-tiles of a tile.
    k_tiles: u32,
    /// See [`KernelSet::splits_operands`].
    splits_operands: bool,
    /// See [`KernelSet::l2`].
    l2: L2Cost,
}

/// A persistent grid, and the work units of its blocks.
#[derive(Clone, Copy, Debug)]
struct PersistentGrid {
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

/// The grids that are tried, in this order: stream-K of the tiles of the last, partial
/// wave, with each reduction that can follow; head and tail splits; data-parallel.
///
/// A reduction kernel, clusters, and head and tail splits need that all tiles are stream-K tiles.
/// Blocks of a [multicast cluster](crate::gemm::wgmma::multicast) are in no other cluster, and have
/// neither head nor tail splits.
fn grids(
    cluster: ClusterShape,
    tiles: u32,
    k_tiles: u32,
    active: ActiveClusters,
) -> impl Iterator<Item = PersistentGrid> {
    let sms = active.of(cluster.blocks()).max(1) * cluster.blocks();
    let blocks = tiles.min(sms);
    let data_parallel = PersistentGrid {
        tiles,
        data_parallel: tiles,
        blocks,
        splits: 1,
        tails: 0,
        reduction: ReductionMode::LastBlock,
    };
    let in_full_waves = tiles / sms * sms;
    let in_last_wave = tiles - in_full_waves;
    let max_splits = sms.checked_div(in_last_wave).unwrap_or(0).min(k_tiles);
    // More splits that are no shorter would only be more to reduce.
    let is_shorter = move |splits: &u32| k_tiles.div_ceil(*splits) < k_tiles.div_ceil(splits - 1);
    let stream_k = (2..=max_splits).filter(is_shorter);
    let stream_k = stream_k.flat_map(move |splits| {
        let by_last_block = PersistentGrid {
            data_parallel: in_full_waves,
            blocks: blocks.max(splits * in_last_wave),
            splits,
            ..data_parallel
        };
        let all = in_full_waves == 0;
        let fit = all && !cluster.is_multicast() && in_last_wave <= active.of(splits);
        [
            Some(ReductionMode::LastBlock),
            all.then_some(ReductionMode::Kernel),
            fit.then_some(ReductionMode::Cluster),
        ]
        .into_iter()
        .flatten()
        .map(move |reduction| PersistentGrid {
            reduction,
            ..by_last_block
        })
    });
    let idle = sms - blocks;
    let has_tails = !cluster.is_multicast() && k_tiles > 1 && (1..tiles).contains(&idle);
    let with_tails = has_tails.then(|| PersistentGrid {
        data_parallel: 0,
        blocks: 2 * tiles,
        splits: 2,
        tails: tiles.div_ceil(idle),
        ..data_parallel
    });
    stream_k.chain(with_tails).chain([data_parallel])
}

impl PersistentGrid {
    /// Stream-K tiles.
    const fn stream_k_tiles(&self) -> u32 {
        self.tiles - self.data_parallel
    }
}

impl Tile {
    /// Tiles of `columns` columns in multicast clusters of one shape; `None` where there are more
    /// than are counted.
    fn new(
        kernels: &KernelSet,
        config: &'static TileConfig,
        cost: TileCost,
        columns: u32,
        cluster: ClusterShape,
        problem: &GemmProblem,
    ) -> Option<Self> {
        let [m, n, k] = problem.extents;
        let [bm, _, bk] = config.tile;
        let [cluster_m, cluster_n] = cluster.extents();
        let most_tiles = [
            m.div_ceil(bm) + cluster_m,
            n.div_ceil(columns) + cluster_n,
            problem.batch,
        ];
        let most_tiles: f64 = most_tiles.map(f64::from).iter().product();
        let tiles = || TileGrid::new([m, n], [bm, columns], problem.batch).for_clusters(cluster);
        (most_tiles < f64::from(i32::MAX)).then(|| Tile {
            config,
            tiles: tiles(),
            cost,
            problem: *problem,
            k_tiles: k_tiles(k, bk as usize),
            splits_operands: kernels.splits_operands,
            l2: kernels.l2,
        })
    }

    /// The grids that are tried.
    fn grids(&self, kernels: &KernelSet) -> impl Iterator<Item = PersistentGrid> + use<> {
        let active = self.problem.active_clusters;
        let grids = grids(
            self.tiles.cluster(),
            self.tiles.count(),
            self.k_tiles,
            active,
        );
        // The reduction kernel does not know whether the partial sums were computed, and no
        // operator but the linear combination.
        let takes_kernel = !kernels.splits_operands && !self.problem.fused;
        let reductions = kernels.reductions;
        grids
            .filter(move |grid| takes_kernel || grid.reduction != ReductionMode::Kernel)
            .filter(move |grid| reductions.contains(&grid.reduction))
    }

    /// Clocks of the GEMM.
    fn clocks(&self, grid: &PersistentGrid) -> f64 {
        let [.., bk] = self.config.tile;
        let [m, n, _] = self.problem.extents;
        let tiles = u64::from(grid.data_parallel.div_ceil(grid.blocks));
        let k_tile = self.k_tile_clocks(grid);
        let work = f64::from(self.k_tiles) * k_tile;
        let [mut main_loop, epilogues] =
            self.cost
                .tiles(self.config, tiles, [work, self.cost.epilogue], 0.0);
        let mut clocks = PERSISTENT.start + epilogues;
        if self.tiles.cluster().is_multicast() {
            clocks += cost::CLUSTER_BARRIER;
        }
        if grid.stream_k_tiles() > 0 {
            let k_tiles = f64::from(self.first_k_tiles(grid));
            main_loop += k_tiles * k_tile;
            clocks += self.reduction_clocks(grid);
        }
        let element_bytes = ROW_BYTES as f64 / f64::from(bk);
        let mut bytes = self.operand_bytes();
        // Kernels of TF32 take an MN-major A through registers; C lies column by column for them.
        let is_transposed = element_bytes == 4.0 && self.config.layouts[0] == layout::MN_MAJOR;
        let unaligned_c = match is_transposed {
            _ if self.problem.tma_store || self.splits_operands => 0.0,
            false => cost::UNALIGNED_C,
            true => cost::UNALIGNED_TRANSPOSED_C,
        };
        clocks += f64::from(m) * f64::from(n) * f64::from(self.problem.batch) * unaligned_c;
        if self.splits_operands {
            let moved = bytes / element_bytes * cost::SPLIT_BYTES;
            bytes *= TERMS as f64;
            let of_c = match self.problem.tma_store {
                true => cost::SPLIT_ELEMENT_OF_C,
                false => cost::SPLIT_ELEMENT_OF_UNALIGNED_C,
            };
            clocks += cost::SPLIT_LAUNCHES
                + moved / cost::BYTES_PER_CLOCK
                + f64::from(m) * f64::from(n) * of_c;
        }
        clocks + cost::overlapped(main_loop, bytes / cost::BYTES_PER_CLOCK)
    }

    /// Bytes of A and B.
    fn operand_bytes(&self) -> f64 {
        let [m, n, k] = self.problem.extents.map(f64::from);
        (m + n) * k * ROW_BYTES as f64 / f64::from(self.config.tile[2])
    }

    /// Clocks of a k-tile: of its MMAs, or of its rows where the L2 cache delivers those of all
    /// blocks more slowly.
    fn k_tile_clocks(&self, grid: &PersistentGrid) -> f64 {
        let [bm, bn] = self.tiles.tile();
        let [m, n, _] = self.problem.extents;
        let [share_b, share_a] = self.tiles.cluster().extents();
        // An MN-major operand comes in boxes of BK rows or columns, of which a tile may use a part.
        let [.., bk] = self.config.tile;
        let loaded = |side: usize, extent: u32| match self.config.layouts[side] {
            layout::K_MAJOR => extent,
            _ => extent.next_multiple_of(bk),
        };
        // Its tiles may begin inside of lines, where its rows do not.
        let element_bytes = ROW_BYTES as u64 / u64::from(bk);
        let mut alignment = self.problem.row_alignment;
        if self.config.layouts[1] != layout::K_MAJOR {
            alignment[1] = alignment[1].min(cost::row_alignment(u64::from(bn) * element_bytes));
        }
        let rows = [loaded(0, m.min(bm)), loaded(1, n.min(bn))];
        let shares = [share_a, share_b];
        let lines = |side: usize| {
            let share = cost::share_of_lines(shares[side], alignment[side]);
            f64::from(rows[side]) * cost::row_lines(alignment[side]) * share
        };
        let blocks = f64::from(grid.blocks.min(self.problem.multiprocessors));
        // Each line comes from device memory once, in some k-tile of a block.
        let tiles = grid.data_parallel.div_ceil(grid.blocks) * self.k_tiles;
        let splits = match grid.stream_k_tiles() {
            0 => 0,
            _ => self.k_tiles.div_ceil(grid.splits),
        };
        let missed = self.operand_bytes() / f64::from(cost::LINE_BYTES);
        let missed = missed / f64::from((tiles + splits).max(1));
        let clocks = self.l2.clocks(lines(0) + lines(1), blocks, missed);
        cost::overlapped(self.cost.k_tile, clocks)
    }

    /// Clocks of a stream-K tile behind its last k-tile: partial sums are written, added up, and C
    /// is stored. In a cluster all blocks add up and store.
    fn reduction_clocks(&self, grid: &PersistentGrid) -> f64 {
        let bytes = self.last_block_bytes(grid);
        match grid.reduction {
            ReductionMode::LastBlock => self.cost.epilogue + PERSISTENT.last_block.clocks(0, bytes),
            ReductionMode::Cluster => {
                let splits = f64::from(grid.splits);
                let stored = self.split_bytes() as f64 * (1.0 - 1.0 / splits);
                self.cost.epilogue / splits + CLUSTER.clocks(grid.splits, stored)
            }
            ReductionMode::Kernel => {
                let idle = self.problem.multiprocessors.saturating_sub(grid.blocks);
                // More than half of the blocks for which there seems to be room start later.
                let fit = 2 * self.reduction_blocks(grid) <= idle * stream_k::resident(grid.splits);
                let kernel = if fit {
                    KERNEL_BESIDE
                } else {
                    PERSISTENT.kernel
                };
                kernel.clocks(
                    stream_k::rounds(grid.splits),
                    self.partial_sums(grid) as f64,
                )
            }
        }
    }

    /// Blocks of the reduction kernel.
    fn reduction_blocks(&self, grid: &PersistentGrid) -> u32 {
        let [bm, bn] = self.tiles.tile();
        stream_k::blocks(grid.stream_k_tiles(), [bm, bn])
    }

    /// Bytes of the partial sums of a split.
    fn split_bytes(&self) -> u64 {
        let [bm, bn] = self.tiles.tile();
        (bm as usize / WM * stream_k::partial_elements(bn as usize) * size_of::<f32>()) as u64
    }

    /// Bytes of the partial sums of all stream-K tiles.
    fn partial_sums(&self, grid: &PersistentGrid) -> u64 {
        u64::from(grid.splits * grid.stream_k_tiles()) * self.split_bytes()
    }

    /// Bytes of partial sums of a stream-K tile that its last block moves: it writes one split
    /// and reads all of them.
    fn last_block_bytes(&self, grid: &PersistentGrid) -> f64 {
        f64::from(1 + grid.splits) * self.split_bytes() as f64
    }

    /// k-tiles of a head split, which takes as long as the tail splits of an SM; 0 where splits are
    /// equal.
    fn head(&self, grid: &PersistentGrid) -> u32 {
        if grid.tails == 0 {
            return 0;
        }
        let k_tiles = f64::from(self.k_tiles);
        let work = k_tiles * self.k_tile_clocks(grid);
        let head = k_tiles * cost::head_share(work, cost::TAIL, grid.tails.into());
        (head as u32).clamp(1, self.k_tiles - 1)
    }

    /// k-tiles of a stream-K tile's first split.
    fn first_k_tiles(&self, grid: &PersistentGrid) -> u32 {
        match self.head(grid) {
            0 => self.k_tiles.div_ceil(grid.splits),
            head => head,
        }
    }

    /// How the rows of A and the columns of B come to stages. The blocks of a row of a cluster load
    /// A for each other, those of a column B.
    fn boxes(&self) -> [OperandBoxes; 2] {
        let [m, n, _] = self.problem.extents;
        let ([bm, bn], [.., bk]) = (self.tiles.tile(), self.config.tile);
        let element_bytes = ROW_BYTES / bk as usize;
        let [of_b, of_a] = self.tiles.cluster().extents();
        let [a, b] = self.config.layouts.map(|of| of == layout::K_MAJOR);
        [
            OperandBoxes::new(m, bm, element_bytes, a, of_a),
            OperandBoxes::new(n, bn, element_bytes, b, of_b),
        ]
    }

    /// What is launched for a grid, with `reduce` as the reduction kernel.
    fn plan(&self, grid: &PersistentGrid, reduce: &'static str) -> GemmPlan {
        let ([bm, bn], [.., bk]) = (self.tiles.tile(), self.config.tile);
        let stream_k_tiles = grid.stream_k_tiles();
        let zeroed_bytes = match grid.reduction {
            ReductionMode::LastBlock => counters(stream_k_tiles, bm as usize / WM) * 4,
            _ => 0,
        };
        let partial_sums_offset = zeroed_bytes.next_multiple_of(PARTIALS_ALIGN);
        let has_workspace = stream_k_tiles > 0 && grid.reduction != ReductionMode::Cluster;
        let first_k_tiles = self.first_k_tiles(grid);
        let is_one_wave = grid.data_parallel == grid.tiles && grid.blocks == grid.tiles;
        let cluster = self.tiles.cluster();
        GemmPlan {
            cluster_size: match grid.reduction {
                ReductionMode::Cluster => grid.splits,
                _ => cluster.blocks(),
            },
            shared_bytes: self.config.shared_bytes,
            decomposition: match stream_k_tiles {
                0 => Decomposition::DataParallel,
                tiles => Decomposition::StreamK(StreamK {
                    data_parallel_tiles: grid.data_parallel,
                    tiles,
                    tiles_n: self.problem.extents[1].div_ceil(bn),
                    splits: grid.splits,
                    first_split_k: first_k_tiles.saturating_mul(bk),
                    other_split_k: (self.k_tiles - first_k_tiles) / (grid.splits - 1).max(1) * bk,
                    reduction: grid.reduction,
                }),
            },
            scheduler: TileScheduler::Persistent {
                config: self.config,
                params: TileSchedulerParams {
                    tiles: self.tiles.with_group_m(if is_one_wave {
                        GROUP_M_ONE_WAVE.max(cluster.extents()[0])
                    } else {
                        GROUP_M
                    }),
                    stream_k: scheduler::StreamK::new(
                        self.k_tiles,
                        [grid.data_parallel, stream_k_tiles],
                        grid.splits,
                        grid.blocks,
                    )
                    .with_head(self.head(grid))
                    .for_clusters(cluster),
                    tma_store: self.problem.tma_store.into(),
                    reduction: grid.reduction,
                    partial_sums_offset: (partial_sums_offset / 4) as u32,
                },
                boxes: self.boxes(),
            },
            reduction: (grid.reduction == ReductionMode::Kernel).then(|| ReductionLaunch {
                entry: reduce,
                grid: [self.reduction_blocks(grid).into(), 1, 1],
                block: [stream_k::threads(grid.splits), 1],
            }),
            zeroed_bytes,
            workspace_bytes: match has_workspace {
                true => partial_sums_offset + self.partial_sums(grid),
                false => 0,
            },
            ..GemmPlan::data_parallel(
                self.config.entry,
                [grid.blocks.into(), 1, 1],
                self.config.threads,
            )
        }
    }
}

/// Alignment of the partial sums, in bytes.
const PARTIALS_ALIGN: u64 = 256;

#[cfg(test)]
mod tests;
