//! Candidates of the SIMT, `mma.sync` and GEMV kernels: each block has the work unit of its index.

use super::ReductionMode;
use super::cost::{self, GRID_BK, GemvCost, TileCost};
use super::{Decomposition, GemmPlan, GemmProblem, KernelSet, ReductionLaunch, StreamK};
use crate::gemm::copy::layout;
use crate::gemm::partial_sums_pitch;
use crate::gemm::reduction::fix_up::{COUNTER_BYTES, MAX_STREAM_K_TILES};
use crate::gemm::reduction::split_k;
use crate::gemm::scheduler::cluster_shape::ClusterShape;
use crate::gemm::simt::{gemv, promotion};
use crate::gemm::tile_config::TileConfig;

impl KernelSet {
    /// The plans of a tile configuration, each with its clocks.
    pub(super) fn grid_candidates(
        &self,
        tile: &TileConfig,
        problem: &GemmProblem,
    ) -> impl Iterator<Item = (f64, GemmPlan)> {
        let [m, n, _] = problem.extents;
        let [bm, bn, _] = tile.tile;
        let is_in_grid = m.div_ceil(bm) <= MAX_GRID_YZ
            && n.div_ceil(bn) <= i32::MAX as u32
            && problem.batch <= MAX_GRID_YZ;
        let splits: &[u32] = if is_in_grid { &SPLITS } else { &[] };
        splits
            .iter()
            .filter_map(move |&splits| self.split_k_plan(tile, problem, splits))
            .chain(
                is_in_grid
                    .then(|| self.stream_k_plan(tile, problem))
                    .flatten(),
            )
    }

    /// Data-parallel, or split-K with about `wanted` splits.
    fn split_k_plan(
        &self,
        tile: &TileConfig,
        problem: &GemmProblem,
        wanted: u32,
    ) -> Option<(f64, GemmPlan)> {
        let [m, n, k] = problem.extents;
        let [bm, bn, bk] = tile.tile;
        let (splits, split_k) = split(k, wanted, bk)?;
        let grid = [
            u64::from(n.div_ceil(bn)),
            u64::from(m.div_ceil(bm)),
            u64::from(splits) * u64::from(problem.batch),
        ];
        let blocks = grid[0] * grid[1] * grid[2];
        let busiest = blocks.div_ceil(u64::from(problem.multiprocessors));
        let cost = TileCost::of(self.costs_of(tile), tile, bn, ClusterShape::ALONE);
        let plan = self.grid_plan(tile, problem, grid, split_k);
        let whole_k_tiles = u64::from(split_k).next_multiple_of(bk.into()) as f64;
        let work = main_loop(&cost, whole_k_tiles) * self.longer(tile, problem, &plan);
        // Rows of partial sums are of vectors.
        let epilogue = epilogue(&cost, problem.c_vectors || splits > 1);
        let uneven = self.launch.uneven;
        let [main_loops, epilogues] = cost.tiles(tile, busiest, [work, epilogue], uneven);
        let clocks = self.launch.start + self.beside_memory(tile, problem, main_loops + epilogues);
        if splits == 1 {
            return Some((clocks, plan));
        }
        if problem.fused || !self.reductions.contains(&ReductionMode::Kernel) {
            return None;
        }
        let bytes = [m, n, problem.batch, self.element_bytes, splits + 1];
        let bytes = bytes.into_iter().map(f64::from).product();
        let reduction = self.reduce_launch(problem, splits);
        let rounds = splits.div_ceil(reduction.block[1] * split_k::IN_FLIGHT as u32);
        let rows = u64::from(m) * grid[2];
        let row_bytes = partial_sums_pitch(n) as u64 * u64::from(self.element_bytes);
        let plan = GemmPlan {
            decomposition: Decomposition::SplitK { splits, split_k },
            reduction: Some(reduction),
            workspace_bytes: rows.saturating_mul(row_bytes),
            ..plan
        };
        Some((clocks + self.launch.kernel.clocks(rounds, bytes), plan))
    }

    /// Stream-K: the tiles of the last, partial wave are split so that it keeps all SMs busy.
    fn stream_k_plan(&self, tile: &TileConfig, problem: &GemmProblem) -> Option<(f64, GemmPlan)> {
        let [m, n, k] = problem.extents;
        let [bm, bn, bk] = tile.tile;
        let tiles = u64::from(n.div_ceil(bn)) * u64::from(m.div_ceil(bm));
        let wave = u64::from(problem.multiprocessors) * u64::from(tile.blocks_per_sm);
        let last = tiles % wave;
        if problem.batch != 1
            || k == 0
            || last == 0
            || last > u64::from(MAX_STREAM_K_TILES)
            || tiles > i32::MAX as u64 / 8
        {
            return None;
        }
        let cost = TileCost::of(self.costs_of(tile), tile, bn, ClusterShape::ALONE);
        let epilogue = epilogue(&cost, problem.c_vectors);
        let work = main_loop(&cost, k.into()) * tile.blocks_per_sm as f64;
        let splits_that_fit = (wave / last).min(MAX_STREAM_K_SPLITS);
        let alone = match tile.blocks_per_sm {
            1 => self.launch.alone,
            _ => 1.0,
        };
        let split_bytes = f64::from(bm * bn * self.element_bytes) * alone;
        // The idle SMs compute the second splits while the others compute the first ones.
        let tails = last.div_ceil((wave - last).max(1)) as f64;
        let tail = self.launch.last_block.clocks(0, split_bytes) + epilogue;
        let (splits, rest) = if splits_that_fit >= 2 {
            (splits_that_fit as u32, 1.0 / splits_that_fit as f64)
        } else {
            (2, 1.0 - cost::head_share(work, tail, tails))
        };
        let other_split_k = (f64::from(k) * rest / f64::from(bk)) as u32 * bk;
        // Where splits begin at multiples of BK, the last one has what is left of k.
        let covered = if self.whole_k_tiles {
            k.checked_next_multiple_of(bk)?
        } else {
            k
        };
        let first_split_k = covered.checked_sub((splits - 1) * other_split_k)?;
        if other_split_k == 0 || first_split_k < other_split_k {
            return None;
        }
        let waves = (tiles / wave) as f64;
        let last_wave = if splits_that_fit >= 2 {
            let busiest = (last * splits_that_fit).div_ceil(u64::from(problem.multiprocessors));
            cost.slowdown(tile, busiest) * main_loop(&cost, first_split_k.into())
        } else {
            work * f64::from(first_split_k) / f64::from(k)
        };
        let elements = u64::from(splits) * u64::from(bm * bn);
        let partial_sums = elements * u64::from(self.element_bytes);
        let grid = [tiles - last + last * u64::from(splits), 1, 1];
        let longest = if last < tiles { k } else { first_split_k };
        let plan = self.grid_plan(tile, problem, grid, longest);
        let busy = (waves * work + last_wave) * self.longer(tile, problem, &plan)
            + (waves + 1.0) * epilogue
            + (self.launch.last_block).clocks(0, f64::from(splits) * split_bytes);
        let clocks = self.launch.start + self.beside_memory(tile, problem, busy);
        let plan = GemmPlan {
            decomposition: Decomposition::StreamK(StreamK {
                data_parallel_tiles: (tiles - last) as u32,
                tiles: last as u32,
                tiles_n: n.div_ceil(bn),
                splits,
                first_split_k,
                other_split_k,
                reduction: ReductionMode::LastBlock,
            }),
            zeroed_bytes: COUNTER_BYTES as u64,
            workspace_bytes: COUNTER_BYTES as u64 + last * partial_sums,
            ..plan
        };
        Some((clocks, plan))
    }

    /// The plan of a grid of data-parallel tiles whose longest work unit has `k` elements along k.
    /// Accumulators are promoted only where the promoted ones fit beside all blocks that an SM
    /// holds without.
    fn grid_plan(
        &self,
        tile: &TileConfig,
        problem: &GemmProblem,
        grid: [u64; 3],
        k: u32,
    ) -> GemmPlan {
        let [bm, bn, _] = tile.tile;
        let bytes = tile.shared_bytes + bm * bn * self.element_bytes;
        let available = problem.shared_bytes + RESERVED_BYTES;
        let interval = tile
            .promotion_interval
            .map(|longest| promotion::interval(k, longest))
            .filter(|&interval| {
                let is_long = k >= 2 * promotion::MIN_INTERVAL && k > interval;
                is_long && tile.blocks_per_sm * (bytes + RESERVED_BYTES) <= available
            });
        GemmPlan {
            shared_bytes: interval.map_or(tile.shared_bytes, |_| bytes),
            promotion_interval: interval.unwrap_or(promotion::NEVER),
            ..GemmPlan::data_parallel(tile.entry, grid, tile.threads)
        }
    }

    /// The costs of tiles of such operands.
    fn costs_of(&self, tile: &TileConfig) -> &'static [TileCost] {
        match tile.layouts {
            [layout::ANY, layout::ANY] if self.whole_k_tiles => self.unaligned_costs,
            _ => self.costs,
        }
    }

    /// How many times as long the main loop takes where operands are loaded by elements.
    fn longer(&self, tile: &TileConfig, problem: &GemmProblem, plan: &GemmPlan) -> f64 {
        if self.whole_k_tiles {
            return 1.0;
        }
        let promotes = plan.promotion_interval != promotion::NEVER;
        let [k_major, mn_major] = if tile.blocks_per_sm == 1 {
            [self.elements_alone, 0.0]
        } else if tile.promotion_interval.is_some() && !promotes {
            [self.elements[0] * cost::NOT_PROMOTED, 0.0]
        } else {
            self.elements
        };
        let longer = [0, 1].map(|operand| match tile.layouts[operand] {
            layout::K_MAJOR => k_major,
            layout::MN_MAJOR_UNALIGNED if !problem.vectors[operand] => mn_major,
            _ => 0.0,
        });
        let in_two_sectors = [0, 1].into_iter().filter(|&operand| {
            tile.layouts[operand] == layout::K_MAJOR
                && problem.row_alignment[operand] < cost::SECTOR_BYTES
        });
        let lines = match promotes && tile.blocks_per_sm > 2 {
            true => cost::LINES_OF_SMALL_TILES * in_two_sectors.count().pow(2) as f64,
            false => 0.0,
        };
        1.0 + longer.iter().sum::<f64>() + lines
    }

    /// Clocks of tiles that take `clocks` by themselves, while A, B and C are loaded and stored.
    fn beside_memory(&self, tile: &TileConfig, problem: &GemmProblem, clocks: f64) -> f64 {
        let [m, n, k] = problem.extents.map(f64::from);
        let inputs = (m * k + k * n) * f64::from(self.input_bytes);
        let bytes = f64::from(problem.batch) * (inputs + m * n * f64::from(self.element_bytes));
        let per_clock = match tile.layouts {
            [layout::ANY, layout::ANY] => self.launch.unaligned_bytes,
            _ => self.launch.memory_bytes,
        };
        cost::overlapped(clocks, bytes / per_clock)
    }

    /// The launch of the reduction kernel for `splits` splits.
    fn reduce_launch(&self, problem: &GemmProblem, splits: u32) -> ReductionLaunch {
        let [m, n, _] = problem.extents;
        let vectors = u64::from(m) * (partial_sums_pitch(n) / split_k::VECTOR) as u64;
        let mut groups = 1;
        while groups < split_k::MAX_GROUPS as u32
            && 2 * groups <= splits
            && vectors.saturating_mul(u64::from(problem.batch * groups)) < REDUCTION_THREADS
        {
            groups *= 2;
        }
        let width = split_k::THREADS as u32 / groups;
        ReductionLaunch {
            entry: self.reduce.0,
            grid: [
                vectors.div_ceil(u64::from(width)),
                1,
                u64::from(problem.batch),
            ],
            block: [width, groups],
        }
    }

    /// The plans of the GEMV kernels, where m or n is short.
    pub(super) fn gemv_candidates(
        &self,
        problem: &GemmProblem,
    ) -> impl Iterator<Item = (f64, GemmPlan)> {
        SPLITS
            .iter()
            .filter_map(|&splits| self.gemv_plan(problem, splits))
    }

    fn gemv_plan(&self, problem: &GemmProblem, wanted: u32) -> Option<(f64, GemmPlan)> {
        let entries = self.gemv_kernels?;
        let [m, n, k] = problem.extents;
        let (short, long) = (m.min(n), m.max(n));
        if short > self.gemv_short_side {
            return None;
        }
        let stored_k_major = [!problem.transposed[0], problem.transposed[1]];
        let [short_k_major, k_major] = if n < m {
            [stored_k_major[1], stored_k_major[0]]
        } else {
            stored_k_major
        };
        let (splits, split_k) = split(k, wanted, gemv::RUN as u32)?;
        let columns = if k_major {
            gemv::block_columns_t(split_k)
        } else {
            gemv::BLOCK_COLUMNS_N
        };
        let (kind, height) = match (k_major, short) {
            (false, 1) => (0, 1),
            (false, _) => (1, 4),
            (true, 1) => (2, 1),
            (true, _) => (3, 4),
        };
        let passes = short.div_ceil(height);
        let grid = [
            u64::from(long).div_ceil(columns as u64),
            u64::from(passes),
            u64::from(splits) * u64::from(problem.batch),
        ];
        let blocks = grid[0] * grid[1] * grid[2];
        let (entry, blocks_per_sm) = entries[kind];
        let elements = f64::from(long) * f64::from(k) * f64::from(problem.batch);
        let cost = GemvCost {
            bytes: elements * f64::from(self.element_bytes),
            k_major,
            vectors: problem.vectors[usize::from(n >= m)],
            several: short > 1,
            short_row_bytes: match short_k_major {
                true => 0,
                false => short * self.element_bytes,
            },
            passes,
            splits,
            blocks,
            blocks_per_sm,
            multiprocessors: problem.multiprocessors,
        };
        let mut plan = GemmPlan::data_parallel(entry, grid, gemv::THREADS as u32);
        if splits > 1 {
            if blocks / u64::from(splits) > u64::from(MAX_STREAM_K_TILES) {
                return None;
            }
            let elements = blocks * u64::from(height) * columns as u64;
            plan.decomposition = Decomposition::SplitK { splits, split_k };
            plan.zeroed_bytes = COUNTER_BYTES as u64;
            plan.workspace_bytes = plan.zeroed_bytes + elements * u64::from(self.element_bytes);
        }
        Some((cost.clocks(), plan))
    }
}

/// The least threads of the reduction kernel, where there are splits enough: half of what a large
/// GPU holds.
const REDUCTION_THREADS: u64 = 1 << 17;

/// Bytes of shared memory that each block takes beside its own, and that an SM has beyond the most
/// of a single block (CUDA programming guide, "Compute Capabilities").
const RESERVED_BYTES: u32 = 1 << 10;

/// The split-K factors that are tried.
const SPLITS: [u32; 32] = [
    1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 16, 18, 20, 22, 24, 28, 32, 40, 48, 56, 64, 80,
    96, 112, 132, 160, 200, 264,
];

/// The most splits of a stream-K tile: one block adds up the partial sums of all.
const MAX_STREAM_K_SPLITS: u64 = 8;

/// The most blocks of a grid in y and in z.
const MAX_GRID_YZ: u32 = 65_535;

/// The split-K factor nearest to `wanted`, and the k of a split, a multiple of `unit`. `None` where
/// k is too short.
fn split(k: u32, wanted: u32, unit: u32) -> Option<(u32, u32)> {
    if wanted == 1 {
        return Some((1, k.max(1)));
    }
    if k == 0 {
        return None;
    }
    let split_k = k.div_ceil(wanted).next_multiple_of(unit);
    let splits = k.div_ceil(split_k);
    (splits > 1 && splits <= wanted).then_some((splits, split_k))
}

/// Clocks of the main loop over `k`, where its SM does nothing else.
fn main_loop(cost: &TileCost, k: f64) -> f64 {
    k / f64::from(GRID_BK) * cost.k_tile
}

/// Clocks of an epilogue that stores vectors, or elements.
fn epilogue(cost: &TileCost, vectors: bool) -> f64 {
    cost.epilogue + if vectors { 0.0 } else { cost.unaligned_c }
}

#[cfg(test)]
mod tests;
