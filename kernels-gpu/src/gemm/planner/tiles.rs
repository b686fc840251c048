//! Plans of the SIMT, `mma.sync` and GEMV kernels.

use super::GemmProblem;
use super::cost::{self, GemvCost, Model};
use super::kernel_set::KernelSet;
use crate::gemm::copy::layout;
use crate::gemm::reduction::fix_up::MAX_STREAM_K_TILES;
use crate::gemm::simt::{gemv, promotion};
use crate::gemm::tile_config::TileConfig;

/// How to launch a GEMM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TilePlan {
    /// The PTX entry.
    pub entry: &'static str,
    /// Blocks of the grid.
    pub grid: [u64; 3],
    /// Threads of a block.
    pub threads: u32,
    /// Dynamic shared memory of a block, in bytes.
    pub shared_bytes: u32,
    /// The split-K factor. The reduction
    /// kernel follows where it is above 1, but for GEMV, whose last blocks add up.
    pub splits: u32,
    /// Elements along k of a split.
    pub k_per_split: u32,
    /// Elements along k after which accumulators are promoted.
    pub promotion_interval: u32,
    /// The stream-K tiles, where there are any.
    pub stream_k: Option<StreamK>,
    /// Elements of the workspace of a split-K GEMV.
    pub gemv_workspace: Option<u64>,
}

/// The stream-K tiles of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamK {
    /// Data-parallel tiles, which come before them.
    pub data_parallel_tiles: u32,
    /// Stream-K tiles.
    pub tiles: u32,
    /// Splits of each of them.
    pub splits: u32,
    /// k of a tile's first split.
    pub first_split_k: u32,
    /// k of each of its other splits.
    pub other_split_k: u32,
    /// Elements of the workspace: the partial sums of all splits.
    pub workspace_elements: u64,
}

impl KernelSet {
    /// The plan with the least predicted time.
    pub fn plan(&self, problem: &GemmProblem) -> TilePlan {
        let (_, best) = self
            .candidates(problem)
            .min_by(|(a, _), (b, _)| a.total_cmp(b))
            .expect("the kernels that copy single elements take any GEMM");
        best
    }

    /// All plans, each with the clocks that it should take.
    pub fn candidates(&self, problem: &GemmProblem) -> impl Iterator<Item = (f64, TilePlan)> {
        let tiles = self.tiles.iter().filter(|tile| fits(tile, problem));
        let tiles = tiles.flat_map(|tile| {
            SPLITS
                .iter()
                .filter_map(|&splits| self.split_k_plan(tile, problem, splits))
                .chain(self.stream_k_plan(tile, problem))
        });
        let gemv = SPLITS
            .iter()
            .filter_map(|&splits| self.gemv_plan(problem, splits));
        tiles.chain(gemv)
    }

    /// Data-parallel, or split-K with about `wanted` splits.
    fn split_k_plan(
        &self,
        tile: &TileConfig,
        problem: &GemmProblem,
        wanted: u32,
    ) -> Option<(f64, TilePlan)> {
        let [m, n, k] = problem.extents;
        let [bm, bn, bk] = tile.tile;
        let (splits, k_per_split) = split(k, wanted, bk)?;
        let grid = [
            u64::from(n.div_ceil(bn)),
            u64::from(m.div_ceil(bm)),
            u64::from(splits) * u64::from(problem.batch),
        ];
        let blocks = grid[0] * grid[1] * grid[2];
        let busiest = blocks.div_ceil(u64::from(problem.multiprocessors));
        let model = self.model(tile);
        let (promotion_interval, shared_bytes) = self.promotion(tile, problem, k_per_split);
        let work = model.work(tile, k_per_split) * longer(tile, promotion_interval);
        let blocks_per_sm = u64::from(tile.blocks_per_sm);
        let (full, rest) = (busiest / blocks_per_sm, busiest % blocks_per_sm);
        let waves = busiest.div_ceil(blocks_per_sm) as f64;
        let clocks = cost::START
            + (full as f64 * model.slowdown(tile, blocks_per_sm) + model.slowdown(tile, rest))
                * work
            + waves * model.fixed
            + self.reduction(problem, splits);
        let plan = TilePlan {
            entry: tile.entry,
            grid,
            threads: tile.threads,
            shared_bytes,
            splits,
            k_per_split,
            promotion_interval,
            stream_k: None,
            gemv_workspace: None,
        };
        Some((clocks, plan))
    }

    /// Stream-K: the tiles of the last, partial wave are split so that it keeps all SMs busy.
    fn stream_k_plan(&self, tile: &TileConfig, problem: &GemmProblem) -> Option<(f64, TilePlan)> {
        let [m, n, k] = problem.extents;
        let [bm, bn, bk] = tile.tile;
        let tiles = u64::from(n.div_ceil(bn)) * u64::from(m.div_ceil(bm));
        let wave = u64::from(problem.multiprocessors) * u64::from(tile.blocks_per_sm);
        let last = tiles % wave;
        if problem.batch != 1
            || last == 0
            || last > u64::from(MAX_STREAM_K_TILES)
            || tiles > i32::MAX as u64 / 8
        {
            return None;
        }
        let model = self.model(tile);
        let work = model.work(tile, k) * tile.blocks_per_sm as f64;
        let fixed = model.fixed + cost::FIX_UP;
        let splits_that_fit = (wave / last).min(MAX_STREAM_K_SPLITS);
        let (splits, rest) = if splits_that_fit >= 2 {
            (splits_that_fit as u32, 1.0 / splits_that_fit as f64)
        } else {
            // Each idle SM computes `each` second splits, one after the other, while the others
            // compute the first splits.
            let each = last.div_ceil(wave - last) as f64;
            (2, (work - each * fixed) / (work * (1.0 + each)))
        };
        let other_split_k = (f64::from(k) * rest / f64::from(bk)) as u32 * bk;
        let first_split_k = k.checked_sub((splits - 1) * other_split_k)?;
        if other_split_k == 0 || first_split_k < other_split_k {
            return None;
        }
        let waves = (tiles / wave) as f64;
        let last_wave = if splits_that_fit >= 2 {
            let busiest = (last * splits_that_fit).div_ceil(u64::from(problem.multiprocessors));
            model.slowdown(tile, busiest) * model.work(tile, first_split_k)
        } else {
            work * f64::from(first_split_k) / f64::from(k)
        };
        let partial_sums = f64::from(splits) * f64::from(bm * bn * self.element_bytes);
        let longest = if last < tiles { k } else { first_split_k };
        let (promotion_interval, shared_bytes) = self.promotion(tile, problem, longest);
        let clocks = cost::START
            + (waves * work + last_wave) * longer(tile, promotion_interval)
            + waves * model.fixed
            + fixed
            + cost::fix_up(partial_sums);
        let plan = TilePlan {
            entry: tile.entry,
            grid: [tiles - last + last * u64::from(splits), 1, 1],
            threads: tile.threads,
            shared_bytes,
            splits: 1,
            k_per_split: k,
            promotion_interval,
            stream_k: Some(StreamK {
                data_parallel_tiles: (tiles - last) as u32,
                tiles: last as u32,
                splits,
                first_split_k,
                other_split_k,
                workspace_elements: last * u64::from(splits) * u64::from(bm * bn),
            }),
            gemv_workspace: None,
        };
        Some((clocks, plan))
    }

    /// The GEMV kernels, where m or n is short.
    fn gemv_plan(&self, problem: &GemmProblem, wanted: u32) -> Option<(f64, TilePlan)> {
        let entries = self.gemv_kernels?;
        let [m, n, k] = problem.extents;
        let (short, long) = (m.min(n), m.max(n));
        if short as usize > gemv::MAX_SHORT_SIDE {
            return None;
        }
        let k_major = if n < m {
            !problem.transposed[0]
        } else {
            problem.transposed[1]
        };
        let (splits, k_per_split) = split(k, wanted, gemv::RUN as u32)?;
        let columns = if k_major {
            gemv::block_columns_t(k_per_split)
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
        let batched_splits = u64::from(splits) * u64::from(problem.batch);
        let grid = [
            u64::from(long).div_ceil(columns as u64),
            u64::from(passes),
            batched_splits,
        ];
        let blocks = grid[0] * grid[1] * grid[2];
        let gemv_workspace = (splits > 1).then_some(blocks * u64::from(height) * columns as u64);
        if gemv_workspace.is_some() && blocks / u64::from(splits) > u64::from(MAX_STREAM_K_TILES) {
            return None;
        }
        let (entry, blocks_per_sm) = entries[kind];
        let elements = f64::from(long) * f64::from(k) * f64::from(problem.batch);
        let cost = GemvCost {
            bytes: elements * f64::from(self.element_bytes),
            k_major,
            vectors: problem.vectors[usize::from(n >= m)],
            several: short > 1,
            passes,
            splits,
            blocks,
            blocks_per_sm,
            multiprocessors: problem.multiprocessors,
        };
        let plan = TilePlan {
            entry,
            grid,
            threads: gemv::THREADS as u32,
            shared_bytes: 0,
            splits,
            k_per_split,
            promotion_interval: promotion::NEVER,
            stream_k: None,
            gemv_workspace,
        };
        Some((cost.clocks(), plan))
    }

    /// The promotion interval for splits of up to `k`, and the shared memory of a block.
    /// Accumulators are promoted only where the promoted ones fit beside all blocks that an SM
    /// holds without.
    fn promotion(&self, tile: &TileConfig, problem: &GemmProblem, k: u32) -> (u32, u32) {
        let [bm, bn, _] = tile.tile;
        let bytes = tile.shared_bytes + bm * bn * self.element_bytes;
        let available = problem.shared_bytes + RESERVED_BYTES;
        let promotion_interval = tile
            .promotion_interval
            .map(|longest| promotion::interval(k, longest));
        match promotion_interval {
            Some(promotion_interval)
                if k > promotion_interval
                    && tile.blocks_per_sm * (bytes + RESERVED_BYTES) <= available =>
            {
                (promotion_interval, bytes)
            }
            _ => (promotion::NEVER, tile.shared_bytes),
        }
    }

    fn model(&self, tile: &TileConfig) -> Model {
        let of = |model: &&Model| tile.tile[..2] == model.tile;
        let known = self.models.iter().find(of).or(self.models.last());
        *known.expect("each type has a model")
    }

    /// Clocks of writing partial sums, and of the reduction kernel.
    fn reduction(&self, problem: &GemmProblem, splits: u32) -> f64 {
        let [m, n, _] = problem.extents;
        let elements = f64::from(m) * f64::from(n) * f64::from(problem.batch);
        let (_, [_, groups]) = self.reduce_launch(problem.extents, problem.batch, splits);
        cost::reduction(splits, elements * f64::from(self.element_bytes), groups)
    }
}

/// Bytes of shared memory that each block takes beside its own, and that an SM has beyond the most
/// of a single block (CUDA programming guide, "Compute Capabilities").
const RESERVED_BYTES: u32 = 1 << 10;

/// The split-K factors that are tried.
const SPLITS: [u32; 22] = [
    1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 16, 22, 24, 32, 48, 64, 96, 132, 200, 264,
];

/// The most splits of a stream-K tile: one block adds up the partial sums of all.
const MAX_STREAM_K_SPLITS: u64 = 8;

/// The most blocks of a grid in y.
const MAX_GRID_Y: u32 = 65_535;

/// The most blocks of a grid in z: batch times split-K factor.
const MAX_GRID_Z: u32 = 65_535;

/// The split-K factor nearest to `wanted`, and the k of a split, a multiple of `unit`. `None` where
/// k is too short.
fn split(k: u32, wanted: u32, unit: u32) -> Option<(u32, u32)> {
    if wanted == 1 {
        return Some((1, k.max(1)));
    }
    if k == 0 {
        return None;
    }
    let k_per_split = k.div_ceil(wanted).next_multiple_of(unit);
    let splits = k.div_ceil(k_per_split);
    (splits > 1 && splits <= wanted).then_some((splits, k_per_split))
}

/// How many times as long the FMAs take where accumulators are promoted.
fn longer(tile: &TileConfig, promotion_interval: u32) -> f64 {
    let shares_l1 = tile.blocks_per_sm > 1 && tile.layouts == [layout::K_MAJOR; 2];
    if promotion_interval != promotion::NEVER && shares_l1 {
        1.0 + cost::PROMOTION_K_MAJOR
    } else {
        1.0
    }
}

/// Whether a tile configuration can compute the GEMM.
fn fits(tile: &TileConfig, problem: &GemmProblem) -> bool {
    let takes = |layout: u32, k_major: bool, vectors: bool| match layout {
        layout::K_MAJOR => k_major,
        layout::MN_MAJOR => !k_major && vectors,
        layout::MN_MAJOR_UNALIGNED => !k_major,
        _ => true,
    };
    let [bm, bn, _] = tile.tile;
    let [m, n, _] = problem.extents;
    takes(tile.layouts[0], !problem.transposed[0], problem.vectors[0])
        && takes(tile.layouts[1], problem.transposed[1], problem.vectors[1])
        && tile.shared_bytes <= problem.shared_bytes
        && m.div_ceil(bm) <= MAX_GRID_Y
        && n.div_ceil(bn) <= i32::MAX as u32
        && problem.batch <= MAX_GRID_Z
}

#[cfg(test)]
mod tests {
    use super::super::kernel_set::{DGEMM, OF_BF16, SGEMM, SGEMM_PORTABLE};
    use super::*;

    const H200: GemmProblem = GemmProblem {
        extents: [4096, 4096, 4096],
        transposed: [false; 2],
        vectors: [true; 2],
        batch: 1,
        multiprocessors: 132,
        shared_bytes: 227 << 10,
    };

    fn planned(extents: [u32; 3]) -> TilePlan {
        SGEMM.plan(&GemmProblem { extents, ..H200 })
    }

    #[test]
    fn large_gemms_take_large_tiles_and_few_tiles_split_k() {
        let large = planned([4096; 3]);
        assert_eq!((large.entry, large.splits), ("sgemm_128x256_nn", 1));
        let splits_that_fit = planned([128, 128, 16384]);
        assert!(splits_that_fit.splits > 16, "{splits_that_fit:?}");
        // 512 tiles on 132 SMs: 116 are left for the last wave, in which 16 SMs would idle.
        let stream_k = large.stream_k.unwrap();
        assert_eq!((stream_k.data_parallel_tiles, stream_k.splits), (396, 2));
        assert!(
            8 * stream_k.other_split_k <= stream_k.first_split_k,
            "{stream_k:?}"
        );
    }

    #[test]
    fn rows_without_vectors_and_small_shared_memory_take_other_tiles() {
        let odd = SGEMM.plan(&GemmProblem {
            extents: [4095; 3],
            vectors: [false; 2],
            ..H200
        });
        assert_eq!(odd.entry, "sgemm_128x128_nn");
        let small = SGEMM.plan(&GemmProblem {
            shared_bytes: 64 << 10,
            ..H200
        });
        assert_eq!(small.entry, "sgemm_128x128_nn");
    }

    #[test]
    fn accumulators_are_promoted_where_the_promoted_ones_fit() {
        let large = planned([4096; 3]);
        assert_eq!(
            (large.promotion_interval, large.shared_bytes),
            (1024, 231_488)
        );
        // 3 splits, each of two promotion intervals.
        let splits = planned([5000, 200, 3000]);
        assert_eq!((splits.k_per_split, splits.promotion_interval), (1008, 512));
        // Splits as short as the shortest interval are not promoted.
        let short = planned([1024; 3]);
        assert_eq!(
            (short.k_per_split, short.promotion_interval),
            (256, promotion::NEVER)
        );
        // Two blocks with promoted accumulators do not fit on an SM of this device.
        let small = SGEMM.plan(&GemmProblem {
            shared_bytes: 163 << 10,
            vectors: [false; 2],
            ..H200
        });
        assert_eq!(small.entry, "sgemm_128x128_nn");
        assert_eq!(small.promotion_interval, promotion::NEVER);
    }

    #[test]
    fn a_short_side_takes_gemv() {
        assert_eq!(planned([1, 4096, 4096]).entry, "sgemv_n_1");
        assert_eq!(planned([4096, 1, 4096]).entry, "sgemv_t_1");
        let transposed = GemmProblem {
            extents: [1, 4096, 4096],
            transposed: [false, true],
            ..H200
        };
        assert_eq!(DGEMM.plan(&transposed).entry, "dgemv_t_1");
    }

    #[test]
    fn splits_cover_k_and_every_size_has_a_plan() {
        let sizes = [1, 2, 7, 8, 9, 31, 33, 64, 127, 500, 1009, 4096, 100_000];
        for m in sizes {
            for n in sizes {
                for k in [0, 1, 7, 16, 17, 333, 4096, 100_000] {
                    for transposed in [[false, false], [false, true], [true, false], [true, true]] {
                        let problem = GemmProblem {
                            extents: [m, n, k],
                            transposed,
                            vectors: [false; 2],
                            ..H200
                        };
                        for kernels in [SGEMM, DGEMM, SGEMM_PORTABLE, OF_BF16] {
                            let plan = kernels.plan(&problem);
                            if let Some(stream_k) = plan.stream_k {
                                assert_eq!(
                                    stream_k.first_split_k
                                        + (stream_k.splits - 1) * stream_k.other_split_k,
                                    k
                                );
                                assert!(stream_k.other_split_k > 0 && plan.splits == 1);
                            }
                            assert!(
                                u64::from(plan.splits) * u64::from(plan.k_per_split)
                                    >= u64::from(k)
                            );
                            assert!((plan.splits - 1) * plan.k_per_split < k.max(1));
                            assert!(plan.grid.iter().all(|&extent| extent > 0));
                        }
                    }
                }
            }
        }
    }
}
