//! Which instance computes a product, and with how many splits of k.
//!
//! Each instance is given the time that it should take by `cost.rs`, and the least one is chosen.

use super::cost::{self, F32_MODELS, F64_MODELS, GemvCost, Model};
use crate::gemm::copy::layout;
use crate::gemm::mma::{dgemm, dgemm_sm_90a};
use crate::gemm::partials_pitch;
use crate::gemm::reduction::last_block::MAX_STREAM_K_TILES;
use crate::gemm::reduction::split_k;
use crate::gemm::simt::{gemv, portable, promotion, sgemm};
use crate::gemm::tile_config::TileConfig;

/// A product to compute, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GemmProblem {
    /// m, n and k; m and n at least 1.
    pub extents: [u32; 3],
    /// Whether A and B are stored transposed.
    pub transposed: [bool; 2],
    /// Whether the rows of A and B, as they are stored, start at multiples of 16 bytes and, where they run along m or n,
    /// are of data_parallel_tiles vectors of 16 bytes.
    pub vectors: [bool; 2],
    /// Number of products in the batch.
    pub batch: u32,
    /// Multiprocessors of the device.
    pub multiprocessors: u32,
    /// The most dynamic shared memory that a block may have, in bytes.
    pub shared_bytes: u32,
}

/// How to launch a product.
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
    /// Parts of k: [`GemmParams::splits`](super::GemmParams::splits). With more than 1, the reducing kernel follows, unless blocks
    /// add them up themselves.
    pub splits: u32,
    /// [`GemmParams::k_per_split`](super::GemmParams::k_per_split).
    pub k_per_split: u32,
    /// [`GemmParams::promotion_interval`](super::GemmParams::promotion_interval).
    pub promotion_interval: u32,
    /// How the tiles of the last round are stream_k, where they are.
    pub stream_k: Option<StreamK>,
    /// Where the blocks add up the splits of k themselves: the elements of all of their accumulators.
    pub gemv_workspace: Option<u64>,
}

/// How the tiles of the last round are stream_k along k: see [`GemmParams::splits`](super::GemmParams::splits).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamK {
    /// Tiles that one block computes.
    pub data_parallel_tiles: u32,
    /// The number of the others.
    pub tiles: u32,
    /// Parts of each of these.
    pub splits: u32,
    /// Extent of the first part along k.
    pub k_first: u32,
    /// Extent of the others.
    pub k_rest: u32,
    /// Elements of all splits of all stream_k tiles: memory for partial accumulators.
    pub workspace_elements: u64,
}

/// The kernels for one element type.
#[derive(Clone, Copy, Debug)]
pub struct KernelSet {
    /// By tiles.
    pub tiles: &'static [TileConfig],
    /// For a short side, if there are such kernels: `rows` of 1 and 4, `dots` of 1 and 4, each with the blocks that fit on a
    /// multiprocessor of the largest GPUs.
    pub gemv_kernels: Option<[(&'static str, u64); 4]>,
    /// The sum of partial products.
    pub reduce: &'static str,
    /// Bytes of a sum, which C has too unless it is narrower.
    pub element_bytes: u32,
    /// What the model knows of the tiles; the last entry is for sizes that are not listed.
    models: &'static [Model],
}

/// Those of f32.
pub const SGEMM: KernelSet = KernelSet {
    tiles: sgemm::INSTANCES,
    gemv_kernels: Some([
        ("sgemm_rows_1", 4),
        ("sgemm_rows_4", 2),
        ("sgemm_dots_1", 3),
        ("sgemm_dots_4", 2),
    ]),
    reduce: "sgemm_reduce",
    element_bytes: 4,
    models: F32_MODELS,
};

/// Those of f64.
pub const DGEMM: KernelSet = KernelSet {
    tiles: dgemm::INSTANCES,
    gemv_kernels: Some([
        ("dgemm_rows_1", 3),
        ("dgemm_rows_4", 1),
        ("dgemm_dots_1", 2),
        ("dgemm_dots_4", 1),
    ]),
    reduce: "dgemm_reduce",
    element_bytes: 8,
    models: F64_MODELS,
};

/// Those of f64 for compute capability 9.0, whose tensor cores have a shape of their own: its tiles are in that generation's
/// module, the rest in that of 8.0.
pub const DGEMM_90: KernelSet = KernelSet {
    tiles: dgemm_sm_90a::INSTANCES,
    ..DGEMM
};

/// Those of f32 for any generation.
pub const SGEMM_PORTABLE: KernelSet = KernelSet {
    tiles: portable::OF_F32,
    ..SGEMM
};

/// Those of f64 for any generation.
pub const DGEMM_PORTABLE: KernelSet = KernelSet {
    tiles: portable::OF_F64,
    ..DGEMM
};

/// Those of f16, with accumulators of f32.
pub const OF_F16: KernelSet = KernelSet {
    tiles: portable::OF_F16,
    gemv_kernels: None,
    ..SGEMM
};

/// Those of bf16, with accumulators of f32.
pub const OF_BF16: KernelSet = KernelSet {
    tiles: portable::OF_BF16,
    ..OF_F16
};

/// Those of f16 with a C of f16.
pub const OF_F16_TO_F16: KernelSet = KernelSet {
    tiles: portable::OF_F16_TO_F16,
    reduce: "gemm_reduce_to_f16",
    ..OF_F16
};

/// Those of bf16 with a C of bf16.
pub const OF_BF16_TO_BF16: KernelSet = KernelSet {
    tiles: portable::OF_BF16_TO_BF16,
    reduce: "gemm_reduce_to_bf16",
    ..OF_F16
};

impl KernelSet {
    /// The entries that any generation runs.
    pub fn portable_entries(&self) -> impl Iterator<Item = &'static str> {
        let gemv_kernels = self.gemv_kernels.into_iter().flatten();
        gemv_kernels.map(|(entry, _)| entry).chain([self.reduce])
    }

    /// The grid, and the threads of a block in x and y, of the kernel that adds up so many splits of C of m × n.
    pub fn reduce_launch(
        &self,
        [m, n, _]: [u32; 3],
        batch: u32,
        splits: u32,
    ) -> ([u64; 3], [u32; 2]) {
        let vectors = u64::from(m) * (partials_pitch(n) / split_k::VECTOR) as u64;
        let mut lanes = 1;
        while lanes < split_k::MAX_LANES as u32
            && 2 * lanes <= splits
            && vectors * u64::from(batch * lanes) < REDUCING_THREADS
        {
            lanes *= 2;
        }
        let width = split_k::THREADS as u32 / lanes;
        (
            [vectors.div_ceil(u64::from(width)), 1, u64::from(batch)],
            [width, lanes],
        )
    }

    /// The fastest plan by the model.
    pub fn plan(&self, problem: &GemmProblem) -> TilePlan {
        let (_, best) = self
            .candidates(problem)
            .min_by(|(a, _), (b, _)| a.total_cmp(b))
            .expect("the kernels for single elements take any product");
        best
    }

    /// All layouts to compute a product, each with the clocks that it should take.
    pub fn candidates(&self, problem: &GemmProblem) -> impl Iterator<Item = (f64, TilePlan)> {
        let tiles = self.tiles.iter().filter(|tile| fits(tile, problem));
        let tiles = tiles.flat_map(|tile| {
            SPLITS
                .iter()
                .filter_map(|&splits| self.split_k_plan(tile, problem, splits))
                .chain(self.stream_k_plan(tile, problem))
        });
        let gemv_kernels = SPLITS
            .iter()
            .filter_map(|&splits| self.gemv_plan(problem, splits));
        tiles.chain(gemv_kernels)
    }

    fn split_k_plan(
        &self,
        tile: &TileConfig,
        problem: &GemmProblem,
        wanted: u32,
    ) -> Option<(f64, TilePlan)> {
        let [m, n, k] = problem.extents;
        let [rows, columns, depth] = tile.tile;
        let (splits, k_per_split) = split(k, wanted, depth)?;
        let grid = [
            u64::from(n.div_ceil(columns)),
            u64::from(m.div_ceil(rows)),
            u64::from(splits) * u64::from(problem.batch),
        ];
        let blocks = grid[0] * grid[1] * grid[2];
        let busiest = blocks.div_ceil(u64::from(problem.multiprocessors));
        let model = self.model(tile);
        let (promotion_interval, shared_bytes) = self.promotion(tile, problem, k_per_split);
        let work = model.work(tile, k_per_split) * longer(tile, promotion_interval);
        let resident = u64::from(tile.blocks_per_sm);
        let (full, rest) = (busiest / resident, busiest % resident);
        let rounds = busiest.div_ceil(resident) as f64;
        let clocks = cost::START
            + (full as f64 * model.slowdown(tile, resident) + model.slowdown(tile, rest)) * work
            + rounds * model.fixed
            + self.reducing(problem, splits);
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

    /// With the tiles of the last round stream_k, so that it keeps all multiprocessors busy.
    fn stream_k_plan(&self, tile: &TileConfig, problem: &GemmProblem) -> Option<(f64, TilePlan)> {
        let [m, n, k] = problem.extents;
        let [rows, columns, depth] = tile.tile;
        let tiles = u64::from(n.div_ceil(columns)) * u64::from(m.div_ceil(rows));
        let room = u64::from(problem.multiprocessors) * u64::from(tile.blocks_per_sm);
        let last = tiles % room;
        if problem.batch != 1
            || last == 0
            || last > u64::from(MAX_STREAM_K_TILES)
            || tiles > i32::MAX as u64 / 8
        {
            return None;
        }
        let model = self.model(tile);
        let work = model.work(tile, k) * tile.blocks_per_sm as f64;
        let fixed = model.fixed + cost::MEETING;
        let splits_that_fit = (room / last).min(MAX_PARTS_OF_TILE);
        let (splits, rest) = if splits_that_fit >= 2 {
            (splits_that_fit as u32, 1.0 / splits_that_fit as f64)
        } else {
            // Each idle place computes so many second splits, one after the other, while the first splits are computed.
            let each = last.div_ceil(room - last) as f64;
            (2, (work - each * fixed) / (work * (1.0 + each)))
        };
        let k_rest = (f64::from(k) * rest / f64::from(depth)) as u32 * depth;
        let k_first = k.checked_sub((splits - 1) * k_rest)?;
        if k_rest == 0 || k_first < k_rest {
            return None;
        }
        let rounds = (tiles / room) as f64;
        let last_round = if splits_that_fit >= 2 {
            let busiest = (last * splits_that_fit).div_ceil(u64::from(problem.multiprocessors));
            model.slowdown(tile, busiest) * model.work(tile, k_first)
        } else {
            work * f64::from(k_first) / f64::from(k)
        };
        let accumulators = f64::from(splits) * f64::from(rows * columns * self.element_bytes);
        let deepest = if last < tiles { k } else { k_first };
        let (promotion_interval, shared_bytes) = self.promotion(tile, problem, deepest);
        let clocks = cost::START
            + (rounds * work + last_round) * longer(tile, promotion_interval)
            + rounds * model.fixed
            + fixed
            + cost::taking_up(accumulators);
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
                k_first,
                k_rest,
                workspace_elements: last * u64::from(splits) * u64::from(rows * columns),
            }),
            gemv_workspace: None,
        };
        Some((clocks, plan))
    }

    /// The kernels for a short side, if there is one.
    fn gemv_plan(&self, problem: &GemmProblem, wanted: u32) -> Option<(f64, TilePlan)> {
        let entries = self.gemv_kernels?;
        let [m, n, k] = problem.extents;
        let (short, long) = (m.min(n), m.max(n));
        if short as usize > gemv::MAX_SHORT_SIDE {
            return None;
        }
        let along_k = if n < m {
            !problem.transposed[0]
        } else {
            problem.transposed[1]
        };
        let (splits, k_per_split) = split(k, wanted, gemv::RUN as u32)?;
        let columns = if along_k {
            gemv::dots_columns(k_per_split)
        } else {
            gemv::ROWS_COLUMNS
        };
        let (kind, height) = match (along_k, short) {
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
        let (entry, resident) = entries[kind];
        let elements = f64::from(long) * f64::from(k) * f64::from(problem.batch);
        let cost = GemvCost {
            bytes: elements * f64::from(self.element_bytes),
            along_k,
            vectors: problem.vectors[usize::from(n >= m)],
            several: short > 1,
            passes,
            splits,
            blocks,
            resident,
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

    /// The slices in which blocks sum splits of k up to this extent, and the shared memory of one. There are several only where their
    /// promoted leave room for all blocks that a multiprocessor would hold without them.
    fn promotion(&self, tile: &TileConfig, problem: &GemmProblem, k: u32) -> (u32, u32) {
        let [rows, columns, _] = tile.tile;
        let bytes = tile.shared_bytes + rows * columns * self.element_bytes;
        let room = problem.shared_bytes + RESERVED_BYTES;
        let promotion_interval = tile
            .promotion_interval
            .map(|longest| promotion::interval(k, longest));
        match promotion_interval {
            Some(promotion_interval)
                if k > promotion_interval
                    && tile.blocks_per_sm * (bytes + RESERVED_BYTES) <= room =>
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

    /// Clocks of writing partial products, and of the kernel that reads them.
    fn reducing(&self, problem: &GemmProblem, splits: u32) -> f64 {
        let [m, n, _] = problem.extents;
        let elements = f64::from(m) * f64::from(n) * f64::from(problem.batch);
        let (_, [_, lanes]) = self.reduce_launch(problem.extents, problem.batch, splits);
        cost::reducing(splits, elements * f64::from(self.element_bytes), lanes)
    }
}

/// Bytes of shared memory that each block takes beside its own, and that a multiprocessor has beyond what a single one may take
/// (CUDA programming guide, "Compute Capabilities").
const RESERVED_BYTES: u32 = 1 << 10;

/// Threads that the reducing kernel has at least, if there are splits enough: half of what a large GPU holds.
const REDUCING_THREADS: u64 = 1 << 17;

/// Numbers of splits of k that are tried.
const SPLITS: [u32; 22] = [
    1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 16, 22, 24, 32, 48, 64, 96, 132, 200, 264,
];

/// The most splits of a tile that is stream_k: one block takes up the accumulators of all.
const MAX_PARTS_OF_TILE: u64 = 8;

/// The most blocks of a grid in y.
const MAX_ROWS_OF_BLOCKS: u32 = 65_535;

/// The most splits of all matrices of a batch: blocks of a grid in z.
const MAX_PARTS: u32 = 65_535;

/// The number of splits and their extent, multiples of `unit`, for about so many; `None` where k has not as many.
fn split(k: u32, wanted: u32, unit: u32) -> Option<(u32, u32)> {
    if wanted == 1 {
        return Some((1, k.max(1)));
    }
    if k == 0 {
        return None;
    }
    let extent = k.div_ceil(wanted).next_multiple_of(unit);
    let splits = k.div_ceil(extent);
    (splits > 1 && splits <= wanted).then_some((splits, extent))
}

/// How many times as long the multiply-adds take with slices of this extent.
fn longer(tile: &TileConfig, promotion_interval: u32) -> f64 {
    let shared = tile.blocks_per_sm > 1 && tile.layouts == [layout::K_MAJOR; 2];
    if promotion_interval != promotion::NEVER && shared {
        1.0 + cost::SLICES_ALONG_K
    } else {
        1.0
    }
}

/// Whether an instance can compute this.
fn fits(tile: &TileConfig, problem: &GemmProblem) -> bool {
    let lies = |way: u32, along_k: bool, vectors: bool| match way {
        layout::K_MAJOR => along_k,
        layout::MN_MAJOR => !along_k && vectors,
        layout::MN_MAJOR_UNALIGNED => !along_k,
        _ => true,
    };
    let [rows, columns, _] = tile.tile;
    let [m, n, _] = problem.extents;
    lies(tile.layouts[0], !problem.transposed[0], problem.vectors[0])
        && lies(tile.layouts[1], problem.transposed[1], problem.vectors[1])
        && tile.shared_bytes <= problem.shared_bytes
        && m.div_ceil(rows) <= MAX_ROWS_OF_BLOCKS
        && n.div_ceil(columns) <= i32::MAX as u32
        && problem.batch <= MAX_PARTS
}

#[cfg(test)]
mod tests {
    use super::*;

    const H200: GemmProblem = GemmProblem {
        extents: [4096, 4096, 4096],
        transposed: [false; 2],
        vectors: [true; 2],
        batch: 1,
        multiprocessors: 132,
        shared_bytes: 227 << 10,
    };

    fn chosen(extents: [u32; 3]) -> TilePlan {
        SGEMM.plan(&GemmProblem { extents, ..H200 })
    }

    #[test]
    fn large_products_take_large_tiles_and_few_tiles_split_k() {
        let large = chosen([4096; 3]);
        assert_eq!((large.entry, large.splits), ("sgemm_128x256_nn", 1));
        let splits_that_fit = chosen([128, 128, 16384]);
        assert!(splits_that_fit.splits > 16, "{splits_that_fit:?}");
        // 512 tiles on 132 multiprocessors: 116 are left for the last round, and 16 places are idle.
        let stream_k = large.stream_k.unwrap();
        assert_eq!((stream_k.data_parallel_tiles, stream_k.splits), (396, 2));
        assert!(8 * stream_k.k_rest <= stream_k.k_first, "{stream_k:?}");
    }

    #[test]
    fn rows_that_are_no_vectors_and_small_shared_memory_take_other_instances() {
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
    fn long_chains_are_cut_into_slices_where_their_totals_have_room() {
        let large = chosen([4096; 3]);
        assert_eq!(
            (large.promotion_interval, large.shared_bytes),
            (1024, 231_488)
        );
        // 3 splits of k, each in two slices.
        let splits = chosen([5000, 200, 3000]);
        assert_eq!((splits.k_per_split, splits.promotion_interval), (1008, 512));
        // Parts of k as short as the shortest promotion_interval are one chain.
        let short = chosen([1024; 3]);
        assert_eq!(
            (short.k_per_split, short.promotion_interval),
            (256, promotion::NEVER)
        );
        // Two blocks with their promoted are more than this device has room for.
        let small = SGEMM.plan(&GemmProblem {
            shared_bytes: 163 << 10,
            vectors: [false; 2],
            ..H200
        });
        assert_eq!(small.entry, "sgemm_128x128_nn");
        assert_eq!(small.promotion_interval, promotion::NEVER);
    }

    #[test]
    fn a_short_side_is_not_tiled() {
        assert_eq!(chosen([1, 4096, 4096]).entry, "sgemm_rows_1");
        assert_eq!(chosen([4096, 1, 4096]).entry, "sgemm_dots_1");
        let transposed = GemmProblem {
            extents: [1, 4096, 4096],
            transposed: [false, true],
            ..H200
        };
        assert_eq!(DGEMM.plan(&transposed).entry, "dgemm_dots_1");
    }

    #[test]
    fn parts_cover_k_and_every_size_has_a_choice() {
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
                                    stream_k.k_first + (stream_k.splits - 1) * stream_k.k_rest,
                                    k
                                );
                                assert!(stream_k.k_rest > 0 && plan.splits == 1);
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
