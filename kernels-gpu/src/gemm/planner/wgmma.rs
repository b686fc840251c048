//! Which config computes a product on tensor cores, and how its tiles are shared among blocks.
//!
//! Each candidate is given the time that it would take, in clocks of a multiprocessor: so many steps along k come to each
//! block, a tile takes a while to store, and the parts of shared tiles are written and read again. The constants are
//! fitted to times on an H200.

use crate::gemm::planner::tiles::GemmProblem;
use crate::gemm::reduction::stream_k;
use crate::gemm::reduction::workspace::partial_elements;
use crate::gemm::scheduler::persistent::{
    GROUP, GROUP_ONE_WAVE, ReductionMode, TileSchedulerParams, counters,
};
use crate::gemm::wgmma::kernels::{MAX_ROWS, TileConfig};
use crate::gemm::wgmma::stage::{ROW_BYTES, WM, k_tiles};

/// How to launch a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WgmmaPlan {
    /// The kernel.
    pub config: &'static TileConfig,
    /// Blocks of the grid.
    pub blocks: u32,
    /// The tiles' stream_k.
    pub scheduler: TileSchedulerParams,
    /// Blocks of the launch behind it that adds up the parts, where there is one.
    pub reduction_blocks: Option<u32>,
    /// Bytes of workspace that are 0 before the launch and after it.
    pub zeroed_bytes: u64,
    /// Bytes of workspace with those.
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

/// The fastest plan by the model, for elements of which a stage has `depth` along k. The operands lie as the problem says,
/// with rows at multiples of 16 bytes; `bulk` says whether C can be stored by bulk copies.
///
/// # Panics
/// Where `configs` have none for the layout.
pub fn plan(
    configs: &'static [TileConfig],
    problem: &GemmProblem,
    depth: u32,
    bulk: bool,
) -> WgmmaPlan {
    let [m, n, k] = problem.extents;
    let mn_major = [problem.transposed[0], !problem.transposed[1]];
    let steps = k_tiles(k, depth as usize);
    let processors = problem.multiprocessors.max(1);
    let work = Work {
        rows: m,
        steps,
        bytes: (f64::from(m) + f64::from(n)) * f64::from(k) * (ROW_BYTES as f64 / f64::from(depth)),
        processors,
    };
    let mut best: Option<(f64, WgmmaPlan)> = None;
    for config in configs.iter().filter(|one| one.mn_major == mn_major) {
        let tiles = config.tiles([m, n], problem.batch).count();
        for decomposition in decompositions(config.cluster_size, tiles, steps, processors) {
            let clocks = decomposition.clocks(config, &work);
            if best.is_none_or(|(least, _)| clocks < least) {
                best = Some((
                    clocks,
                    decomposition.launch(config, problem.batch, steps, bulk),
                ));
            }
        }
    }
    best.expect("there are configs for every layout").1
}

/// What is to be done, and by how many.
struct Work {
    /// Rows of C.
    rows: u32,
    /// Steps along k of a tile.
    steps: u32,
    /// Bytes of A and B, of one matrix of a batch.
    bytes: f64,
    /// Multiprocessors.
    processors: u32,
}

/// How tiles are dealt out.
#[derive(Clone, Copy, Debug)]
struct Decomposition {
    /// TileGrid, and those of them that are not shared.
    tiles: u32,
    whole: u32,
    /// Blocks, and how many of them share each of the other tiles.
    blocks: u32,
    parts: u32,
    /// Where the parts are a head and a tail: tails for each of the multiprocessors that have no head. Otherwise 0.
    tails: u32,
    /// Who adds up the parts.
    reduction: ReductionMode,
}

/// Most blocks of a cluster that run on every device with clusters (CUDA C++ Programming Guide, "Thread Block Clusters").
const MAX_OF_CLUSTER: u32 = 8;

/// Whether so many clusters surely run at the same time. The multiprocessors of a cluster are neighbours, in groups of different sizes: pairs
/// always find each other, of larger clusters some groups have a remainder. On an H200, 24 clusters of 4 fit, 24 of 5 and 32 of 4 do not.
const fn fit(clusters: u32, blocks: u32, processors: u32) -> bool {
    match blocks {
        ..=2 => clusters * blocks <= processors,
        3..=MAX_OF_CLUSTER => clusters * blocks <= processors / 4 * 3,
        _ => false,
    }
}

/// No shared tiles, or those of the last rounds, each by the same number of blocks; all of them also by clusters, with a launch that adds up
/// their parts, or as heads and tails. Blocks that [load together](crate::gemm::wgmma::multicast) have whole tiles.
fn decompositions(
    together: u32,
    tiles: u32,
    steps: u32,
    processors: u32,
) -> impl Iterator<Item = Decomposition> {
    let processors = (processors / together * together).max(together);
    let blocks = tiles.min(processors);
    let alone = Decomposition {
        tiles,
        whole: tiles,
        blocks,
        parts: 1,
        tails: 0,
        reduction: ReductionMode::LastBlock,
    };
    let whole = tiles / processors * processors;
    let shared = tiles - whole;
    let most = match together {
        1 => processors.checked_div(shared).unwrap_or(0).min(steps),
        _ => 1,
    };
    let cut = (2..=most).flat_map(move |parts| {
        let counted = Decomposition {
            whole,
            blocks: blocks.max(parts * shared),
            parts,
            ..alone
        };
        let all = whole == 0;
        let fit = all && fit(shared, parts, processors);
        [
            Some(ReductionMode::LastBlock),
            all.then_some(ReductionMode::Kernel),
            fit.then_some(ReductionMode::Cluster),
        ]
        .into_iter()
        .flatten()
        .map(move |reduction| Decomposition {
            reduction,
            ..counted
        })
    });
    let left = processors - blocks;
    let has_tails = together == 1 && steps > 1 && (1..tiles).contains(&left);
    let with_tails = has_tails.then(|| Decomposition {
        whole: 0,
        blocks: 2 * tiles,
        parts: 2,
        tails: tiles.div_ceil(left),
        ..alone
    });
    cut.chain(with_tails).chain([alone])
}

/// Clocks of a launch and of filling the first stages.
const START: f64 = 4000.0;

/// Clocks until the blocks of a pair have met.
const PAIR: f64 = 760.0;

/// What a column of a tile takes, in clocks: a stage of it, and to store it. Narrow tiles are held up by shared memory.
struct OfColumn {
    step: f64,
    store: f64,
}

/// That of tiles of so many rows and columns.
const fn of_column(rows: u32, columns: u32) -> OfColumn {
    let (step, store) = match (rows, columns) {
        (128.., 256..) => (4.43, 25.4),
        (128.., 192..) => (4.35, 30.7),
        (128.., 128..) => (4.85, 30.3),
        (128.., _) => (6.37, 37.1),
        (_, 192..) => (2.50, 24.9),
        (_, 96..) => (3.75, 21.0),
        _ => (3.94, 21.4),
    };
    OfColumn { step, store }
}

/// Clocks until the last part of a tile knows that it is, and of writing a column of a part, or reading one.
const MEET: f64 = 1800.0;
const PART: f64 = 12.5;
/// Clocks of a tail besides its steps: of a block that begins, and of its part.
const OF_TAIL: f64 = 7000.0;
/// [`PART`] where blocks of a cluster read each other's.
const PART_OF_CLUSTER: f64 = 10.5;
/// The same where a launch behind the product adds up the parts: until it has begun and ended, of each [round](stream_k::rounds) of parts that its
/// threads read, and of an element of a part, which all multiprocessors write and read. Blocks for which multiprocessors without a block of the
/// product have room are there when it ends.
const LAUNCH: f64 = 6700.0;
const LAUNCH_BESIDE: f64 = 3200.0;
const ROUND: f64 = 1500.0;
const ELEMENT: f64 = 0.0031;

/// Bytes of A and B that come from memory in a clock.
const BYTES_PER_CLOCK: f64 = 2100.0;

/// What a row of a box that is not in A takes in a step, where A has fewer rows than the highest tiles, and boxes are loaded as a whole.
const ABSENT_ROW: f64 = 3.0;

/// What a column's step takes in addition where blocks are at different places along k, and find less in the cache.
const APART_STEP: f64 = 0.1;
/// The same, and what its part takes in addition, where tiles are shared before others that are not: blocks are then anywhere
/// along k for a while.
const SPREAD_STEP: f64 = 1.9;
const SPREAD_PART: f64 = 10.8;

/// Clocks of two that go on at the same time: the longer, and an eighth more where they are equal, as they wait for each other at times.
fn together(one: f64, other: f64) -> f64 {
    let (longer, shorter) = (one.max(other), one.min(other));
    let ratio = shorter / longer.max(1.0);
    longer + shorter * ratio * ratio * ratio / 8.0
}

impl Decomposition {
    /// TileGrid that are shared.
    const fn shared(&self) -> u32 {
        self.tiles - self.whole
    }

    /// Columns that are moved of a shared tile: one block writes a part of it, and reads all of them.
    fn moved(&self, config: &TileConfig) -> f64 {
        f64::from(1 + self.parts) * f64::from(config.columns)
    }

    /// Clocks of the product.
    fn clocks(&self, config: &TileConfig, work: &Work) -> f64 {
        let columns = f64::from(config.columns);
        let OfColumn { step, store } = of_column(config.rows, config.columns);
        let (step, store) = (columns * step, columns * store);
        let rounds = f64::from(self.whole.div_ceil(self.blocks));
        let mut multiplying = rounds * f64::from(work.steps) * step;
        let mut clocks = START + rounds * store;
        if config.cluster_size > 1 {
            clocks += PAIR;
        }
        if self.shared() > 0 {
            let share = f64::from(match self.head(config, work.steps) {
                0 => work.steps.div_ceil(self.parts),
                head => head,
            });
            multiplying += share * (step + columns * APART_STEP);
            clocks += self.reduction_blocks(config, work.processors);
            if self.whole > 0 {
                clocks += share * columns * SPREAD_STEP + self.moved(config) * SPREAD_PART;
            }
        }
        if (config.rows + 1..MAX_ROWS).contains(&work.rows) {
            let absent = work.rows.next_multiple_of(config.rows) - work.rows;
            multiplying += f64::from(work.steps) * f64::from(absent) * ABSENT_ROW;
        }
        clocks + together(multiplying, work.bytes / BYTES_PER_CLOCK)
    }

    /// Clocks from the last steps of shared tiles on: everybody writes a part, and somebody reads all of a tile's. In a cluster all read, and
    /// store.
    fn reduction_blocks(&self, config: &TileConfig, processors: u32) -> f64 {
        let columns = f64::from(config.columns);
        let store = columns * of_column(config.rows, config.columns).store;
        let moved = self.moved(config);
        match self.reduction {
            ReductionMode::LastBlock => store + MEET + moved * PART,
            ReductionMode::Cluster => {
                store / f64::from(self.parts) + MEET + moved * PART_OF_CLUSTER
            }
            ReductionMode::Kernel => {
                let elements = f64::from(self.parts * self.shared() * config.rows) * columns;
                let blocks = stream_k::blocks(self.shared(), [config.rows, config.columns]);
                let idle = processors.saturating_sub(self.blocks);
                // More than half of what there seems to be room for comes later.
                let launch = match 2 * blocks <= idle * stream_k::resident(self.parts) {
                    true => LAUNCH_BESIDE,
                    false => LAUNCH,
                };
                launch + f64::from(stream_k::rounds(self.parts)) * ROUND + elements * ELEMENT
            }
        }
    }

    /// Steps of a head, which takes as long as the tails of a multiprocessor; 0 where there are none.
    fn head(&self, config: &TileConfig, steps: u32) -> u32 {
        if self.tails == 0 {
            return 0;
        }
        let columns = f64::from(config.columns);
        let step = columns * of_column(config.rows, config.columns).step;
        let tails = f64::from(self.tails);
        let head = (f64::from(steps) + OF_TAIL / step) * tails / (tails + 1.0);
        (head as u32).clamp(1, steps - 1)
    }

    /// Rows of tiles in a group.
    fn group(&self) -> u32 {
        if self.whole == self.tiles && self.blocks == self.tiles {
            GROUP_ONE_WAVE
        } else {
            GROUP
        }
    }

    fn launch(&self, config: &'static TileConfig, batch: u32, steps: u32, bulk: bool) -> WgmmaPlan {
        let shared = self.shared();
        let in_workspace = shared > 0 && self.reduction != ReductionMode::Cluster;
        let consumers = config.rows as usize / WM;
        let zeroed_bytes = match self.reduction {
            ReductionMode::LastBlock => counters(shared, consumers) * 4,
            _ => 0,
        };
        let partials = zeroed_bytes.next_multiple_of(PARTIALS_ALIGN);
        let parts = u64::from(self.parts * shared) * consumers as u64;
        let part_bytes = partial_elements(config.columns as usize) as u64 * 4;
        WgmmaPlan {
            config,
            blocks: self.blocks,
            scheduler: TileSchedulerParams {
                batch,
                data_parallel_tiles: self.whole,
                splits: self.parts,
                head_k_tiles: self.head(config, steps),
                tma_store: bulk.into(),
                reduction: self.reduction,
                group_m: self.group(),
                partials_offset: (partials / 4) as u32,
            },
            reduction_blocks: (self.reduction == ReductionMode::Kernel)
                .then(|| stream_k::blocks(shared, [config.rows, config.columns])),
            zeroed_bytes,
            workspace_bytes: if in_workspace {
                partials + parts * part_bytes
            } else {
                0
            },
        }
    }
}

/// Alignment of the parts, in bytes.
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

    fn chosen(extents: [u32; 3]) -> WgmmaPlan {
        chosen_of(extents, [false; 2])
    }

    fn chosen_of(extents: [u32; 3], transposed: [bool; 2]) -> WgmmaPlan {
        let problem = GemmProblem {
            extents,
            transposed,
            ..H200
        };
        plan(OF_BF16, &problem, 64, true)
    }

    #[test]
    fn tiles_are_as_narrow_as_it_takes_to_fill_the_gpu() {
        let columns = |extents| chosen(extents).config.columns;
        assert_eq!(columns([8, 8, 1024]), 64);
        assert!(columns([8192, 8192, 8192]) > 128);
        assert_eq!(columns([4096, 768, 3072]), 192);
    }

    #[test]
    fn few_tiles_of_many_steps_are_shared() {
        let plan = chosen([333, 777, 12345]);
        assert_eq!(plan.scheduler.reduction, ReductionMode::LastBlock);
        assert!(plan.zeroed_bytes > 0, "{plan:?}");
        assert_eq!(chosen([1024, 1024, 1024]).workspace_bytes, 0);
    }

    #[test]
    fn a_launch_adds_up_what_is_much_to_read() {
        let plan = chosen([768, 768, 16384]);
        assert_eq!(plan.scheduler.splits, 5);
        // 24 tiles of 2 × 24 vectors of the threads of a block.
        assert_eq!(
            [plan.blocks, plan.reduction_blocks.unwrap()],
            [120, 24 * 48]
        );
        assert_eq!(plan.zeroed_bytes, 0);
        assert!(plan.workspace_bytes > 0);
        assert_eq!(chosen([333, 777, 12345]).reduction_blocks, None);
    }

    #[test]
    fn few_tiles_of_few_parts_are_shared_by_clusters() {
        let plan = chosen([1024, 1024, 4096]);
        assert_eq!([plan.cluster(), plan.scheduler.splits], [2, 2]);
        assert_eq!(plan.workspace_bytes, 0);
        assert_eq!(chosen([768, 768, 16384]).cluster(), 1);
        assert_eq!(chosen([4096; 3]).cluster(), 1);
    }

    #[test]
    fn multiprocessors_without_a_tile_take_tails() {
        let plan = chosen([768, 3072, 16384]);
        assert_eq!([plan.blocks, plan.scheduler.splits], [192, 2]);
        assert!(
            (192..200).contains(&plan.scheduler.head_k_tiles),
            "{plan:?}"
        );
    }

    #[test]
    fn pairs_compute_what_they_nearly_fill_the_gpu_with() {
        for (extents, columns) in [([512, 768, 3072], 64), ([2048, 768, 3072], 192)] {
            let plan = chosen(extents);
            assert_eq!([plan.cluster(), plan.scheduler.splits], [2, 1]);
            assert_eq!(plan.config.columns, columns);
        }
        // Of 96 columns there are tiles where B lies along k.
        for (transposed, columns) in [([false, true], 96), ([true, true], 96), ([false; 2], 64)] {
            let plan = chosen_of([1024, 768, 3072], transposed);
            assert_eq!(plan.config.columns, columns);
        }
    }

    #[test]
    fn what_memory_bounds_is_not_cut_further() {
        for extents in [[8, 4096, 4096], [4096, 64, 4096], [128, 4096, 4096]] {
            let plan = chosen(extents);
            assert_eq!((plan.config.rows, plan.scheduler.splits), (64, 1));
        }
        // Half of the rows of the second tile would come late.
        assert_eq!(chosen([100, 4096, 4096]).config.rows, 128);
        // Blocks of the launch that adds up find idle multiprocessors.
        let plan = chosen([128, 128, 65536]);
        assert_eq!(plan.scheduler.reduction, ReductionMode::Kernel);
        assert!(plan.blocks < H200.multiprocessors * 3 / 4, "{plan:?}");
    }

    #[test]
    fn tiles_that_are_computed_at_once_are_in_lower_groups() {
        for extents in [[1024, 768, 3072], [512, 768, 3072], [8, 8, 64]] {
            assert_eq!(chosen(extents).scheduler.group_m, GROUP_ONE_WAVE);
        }
        for extents in [[4096; 3], [1024, 1024, 4096], [768, 3072, 16384]] {
            assert_eq!(chosen(extents).scheduler.group_m, GROUP);
        }
    }

    #[test]
    fn every_layout_and_size_has_a_choice() {
        let sizes = [1, 63, 64, 1000, 50304];
        for m in sizes {
            for n in sizes {
                for k in [0, 1, 64, 16384] {
                    for transposed in [[false, false], [false, true], [true, false], [true, true]] {
                        let plan = chosen_of([m, n, k], transposed);
                        let tiles = plan.config.tiles([m, n], 1);
                        assert!(plan.scheduler.data_parallel_tiles <= tiles.count());
                        // Tails come behind as many heads, of which there are fewer than multiprocessors.
                        let rounds = 1 + (plan.scheduler.head_k_tiles > 0) as u32;
                        assert!((1..=132 * rounds).contains(&plan.blocks));
                        assert!(plan.blocks.is_multiple_of(plan.cluster()));
                    }
                }
            }
        }
        let along = GemmProblem {
            transposed: [false, true],
            ..H200
        };
        assert_eq!(
            plan(OF_TF32, &along, 32, true).config.entry,
            "wgmma_tf32_nt"
        );
    }
}
