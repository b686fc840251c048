//! GEMMs whose work units are splits of tiles, or tiles of multicast clusters: of all plans, the
//! fastest of each kind, whatever the planner would choose.

use super::{BF16, Elements, F16, TF32, check};
use crate::common::drawn::Drawn;
use crate::common::gemm::{LAYOUTS, RandomGemm};
use half::{bf16, f16};
use kernels_gpu::gemm::planner::{Decomposition, GemmPlan, TileScheduler};
use kernels_gpu::gemm::scheduler::persistent::ReductionMode;
use ptx_emulator::sanitize::Tool;
use std::collections::HashSet;
use warpladder::element::Element;
use warpladder::engine::Engine;
use warpladder::engine::emulator::EmulatorEngine;
use warpladder::gemm::{self, DeviceLimits, GemmInto, HOPPER};

/// Multiprocessors and sizes, and whether stream-K tiles have a head and a tail split: tiles that
/// are few, or a few more than a multiple of the multiprocessors; and as many multiprocessors as
/// leave fewer than there are tiles.
const STREAM_K: [(u32, [u32; 3], bool); 3] = [
    (3, [100, 60, 6000], false),
    (5, [700, 60, 4000], false),
    (3, [200, 60, 6400], true),
];

/// The same where C is computed as its transpose.
const STREAM_K_TRANSPOSED: [(u32, [u32; 3], bool); 1] = [(3, [60, 100, 6000], false)];

/// Multiprocessors and sizes, and the blocks of a cluster that reduce a tile, of BM rows.
const CLUSTERED: [(u32, [u32; 3], [u32; 2]); 5] = [
    (2, [100, 60, 2000], [2, 128]),
    (4, [100, 60, 2000], [3, 128]),
    (8, [130, 100, 2000], [2, 128]),
    (4, [60, 100, 2000], [3, 64]),
    (6, [130, 190, 1000], [2, 64]),
];

/// Multiprocessors and sizes that a reduction kernel takes: more splits of a tile than it reads at
/// a time, tiles of several columns, and rows of C that are stored as vec2 but for their last
/// element.
const REDUCED: [(u32, [u32; 3]); 3] = [
    (16, [70, 56, 6000]),
    (16, [100, 61, 6000]),
    (16, [130, 190, 8000]),
];

/// Multiprocessors and sizes, and the shape of multicast clusters. In some clusters only one
/// block's tile lies in C.
const MULTICAST: [(u32, [u32; 3], [u32; 2]); 10] = [
    (2, [127, 180, 1000], [2, 1]),
    (8, [300, 70, 40], [2, 1]),
    (8, [3, 130, 0], [2, 1]),
    (2, [180, 127, 1000], [1, 2]),
    (8, [70, 300, 40], [1, 2]),
    (6, [200, 190, 500], [4, 1]),
    (12, [330, 70, 1000], [2, 2]),
    (6, [60, 270, 130], [1, 4]),
    (11, [130, 390, 200], [4, 2]),
    (11, [330, 130, 70], [2, 4]),
];

/// The same where some tiles or all are stream-K tiles, of which the blocks of a cluster compute
/// the same k-tiles.
const MULTICAST_STREAM_K: [(u32, [u32; 3], [u32; 2]); 5] = [
    (8, [127, 60, 1000], [2, 1]),
    (10, [700, 60, 700], [2, 1]),
    (18, [60, 390, 1500], [1, 2]),
    (24, [130, 190, 900], [2, 2]),
    (44, [300, 130, 1100], [4, 2]),
];

/// Columns of tiles that are narrower than their kernel's, of which the first are for a C of f32
/// alone. Some end inside of an epilogue tile.
const WIDTHS: [u32; 8] = [240, 176, 160, 144, 112, 96, 80, 64];

/// Columns that C has less than two such tiles: none; some, so that the last tile ends outside of
/// it; and three, so that TMA cannot store it.
const LESS: [u32; 3] = [0, 8, 3];

/// Multiprocessors and extents of products of which blocks compute several tiles of 64 rows, some
/// of fewer k-tiles than there are stages, and with stream-K tiles behind them.
const SEVERAL_TILES: [(u32, [u32; 3]); 4] = [
    (1, [190, 130, 70]),
    (2, [330, 450, 200]),
    (3, [250, 260, 1100]),
    (5, [700, 190, 900]),
];

/// The plan of a case, on `multiprocessors` multiprocessors, with the least clocks of those that
/// are meant.
pub fn choice<T: GemmInto<C>, C: Element>(
    case: &RandomGemm<T, C>,
    multiprocessors: u32,
    is_meant: impl Fn(&GemmPlan) -> bool,
) -> GemmPlan {
    choices(case, multiprocessors, is_meant)
        .into_iter()
        .next()
        .unwrap_or_else(|| panic!("{:?} has no such plan", case.product.extents))
}

/// All of these plans, from the least clocks on.
fn choices<T: GemmInto<C>, C: Element>(
    case: &RandomGemm<T, C>,
    multiprocessors: u32,
    is_meant: impl Fn(&GemmPlan) -> bool,
) -> Vec<GemmPlan> {
    let device = DeviceLimits::new(multiprocessors, HOPPER);
    let kernels = case.product.kernels(device).unwrap();
    let mut plans: Vec<_> = kernels
        .candidates(&case.product.problem(device))
        .filter(|(_, plan)| is_meant(plan))
        .collect();
    plans.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    plans.into_iter().map(|(_, plan)| plan).collect()
}

/// BM of a persistent plan without multicast clusters.
fn rows_of(plan: &GemmPlan) -> Option<u32> {
    match plan.scheduler {
        TileScheduler::Persistent { config, .. } if !plan.cluster_shape().is_multicast() => {
            Some(config.tile[0])
        }
        _ => None,
    }
}

/// The splits of each of a plan's stream-K tiles, where `mode` reduces them.
fn splits_of(plan: &GemmPlan, mode: ReductionMode) -> Option<u32> {
    match plan.decomposition {
        Decomposition::StreamK(tiles) if tiles.reduction == mode => Some(tiles.splits),
        _ => None,
    }
}

/// Runs a plan of a case twice, and checks the results.
fn run<T, C>(engine: &dyn Engine, case: &RandomGemm<T, C>, choice: &GemmPlan) -> [Vec<C>; 2]
where
    T: GemmInto<C, Output = f32> + Into<f64>,
    C: Element,
{
    let device = DeviceLimits::new(1, HOPPER);
    let outputs = case.run(engine, gemm::plan_choice(&case.product, device, choice), 2);
    for output in &outputs {
        check(case, output).unwrap_or_else(|difference| {
            let product = &case.product;
            panic!(
                "{} into {}, {:?}, transposed {:?}, {choice:?}: {difference}",
                T::NAME,
                C::TYPE,
                product.extents,
                product.transposed
            )
        });
    }
    outputs.try_into().ok().expect("two runs")
}

/// Stream-K tiles that the last block reduces.
fn shared_tiles<T, C>(
    engine: &dyn Engine,
    (input, round): Elements<T>,
    sizes: &[(u32, [u32; 3], bool)],
    layouts: &[[bool; 2]],
) where
    T: GemmInto<C, Output = f32> + Into<f64>,
    C: Element + PartialEq,
{
    let drawn = Drawn::new(engine, "products with split tiles");
    for &(multiprocessors, extents, tails) in sizes {
        for &transposed in layouts {
            let case = RandomGemm::<T, C>::new(extents, transposed, 0, 1, [1.0, 0.0], round);
            let choice = choice(&case, multiprocessors, |plan| {
                // Blocks of head and of tail splits are the only ones that need not run together.
                let has_tails = plan.grid[0] > u64::from(multiprocessors);
                splits_of(plan, ReductionMode::LastBlock).is_some() && has_tails == tails
            });
            let types = format!("{input:?} {}", C::TYPE);
            if !drawn.takes(&format!("{types} {extents:?} {transposed:?}"), false) {
                continue;
            }
            // The order of the parts does not matter, and the counters are 0 again.
            let [first, second] = run(engine, &case, &choice);
            assert!(first == second, "{extents:?} differ from run to run");
        }
    }
}

/// Products of one matrix, and of `batch` with padding and factors, on `multiprocessors`
/// multiprocessors for each matrix: the fastest plan of those that are meant.
fn products<T, C>(
    (engine, drawn): (&dyn Engine, &Drawn),
    (input, round): Elements<T>,
    (multiprocessors, extents): (u32, [u32; 3]),
    layouts: &[[bool; 2]],
    batch: u32,
    is_meant: impl Fn(&GemmPlan) -> bool,
) where
    T: GemmInto<C, Output = f32> + Into<f64>,
    C: Element,
{
    for &transposed in layouts {
        for (padding, batch, factors) in [(0, 1, [1.0, 0.0]), (3, batch, [-0.5, 2.0])] {
            let case = RandomGemm::<T, C>::new(extents, transposed, padding, batch, factors, round);
            let choice = choice(&case, multiprocessors * batch, &is_meant);
            let types = format!("{input:?} {}", C::TYPE);
            if drawn.takes(
                &format!("{types} {extents:?} {transposed:?} {padding}"),
                false,
            ) {
                run(engine, &case, &choice);
            }
        }
    }
}

/// Tiles that the blocks of a cluster reduce. More blocks than epilogue tiles are among these.
fn clusters<T, C>(engine: &dyn Engine, elements: Elements<T>, layouts: &[[bool; 2]])
where
    T: GemmInto<C, Output = f32> + Into<f64>,
    C: Element,
{
    let drawn = Drawn::new(engine, "products by clusters");
    for (multiprocessors, extents, [blocks, bm]) in CLUSTERED {
        // Tiles of 64 rows are for elements of 16 bits.
        if bm == 64 && size_of::<T>() != 2 {
            continue;
        }
        let on = (multiprocessors, extents);
        products::<T, C>((engine, &drawn), elements, on, layouts, 1, |plan| {
            rows_of(plan) == Some(bm) && splits_of(plan, ReductionMode::Cluster) == Some(blocks)
        });
    }
}

/// Partial sums that a reduction kernel adds.
fn reduced<T, C>(
    engine: &dyn Engine,
    elements: Elements<T>,
    layouts: &[[bool; 2]],
    sizes: &[(u32, [u32; 3])],
) where
    T: GemmInto<C, Output = f32> + Into<f64>,
    C: Element,
{
    let drawn = Drawn::new(engine, "products with a reduction kernel");
    for &on in sizes {
        products::<T, C>((engine, &drawn), elements, on, layouts, 2, |plan| {
            splits_of(plan, ReductionMode::Kernel).is_some()
        });
    }
}

/// Every kernel, in multicast clusters of these shapes: the fastest of its plans.
fn multicast<T, C>(engine: &dyn Engine, (input, round): Elements<T>, layouts: &[[bool; 2]])
where
    T: GemmInto<C, Output = f32> + Into<f64>,
    C: Element,
{
    let drawn = Drawn::new(engine, "products by multicast clusters");
    for (multiprocessors, extents, shape) in MULTICAST {
        for &transposed in layouts {
            for (padding, batch, factors) in [(0, 1, [1.0, 0.0]), (3, 2, [-0.5, 2.0])] {
                let case =
                    RandomGemm::<T, C>::new(extents, transposed, padding, batch, factors, round);
                let choices = choices(&case, multiprocessors * batch, |plan| {
                    plan.cluster_shape().extents() == shape
                });
                assert!(
                    !choices.is_empty(),
                    "{input:?} has no clusters of {shape:?}"
                );
                let mut seen = HashSet::new();
                for choice in choices {
                    let name = format!("{} {extents:?} {shape:?} {padding}", choice.entry);
                    if seen.insert(choice.entry) && drawn.takes(&name, false) {
                        run(engine, &case, &choice);
                    }
                }
            }
        }
    }
}

/// Runs the fastest of these plans of each kernel, and of each way in which partial sums are added,
/// with and without multicast: results are right, and the same from run to run.
fn each_kind<T, C>(
    (engine, drawn): (&dyn Engine, &Drawn),
    case: &RandomGemm<T, C>,
    choices: Vec<GemmPlan>,
    name: &str,
) where
    T: GemmInto<C, Output = f32> + Into<f64>,
    C: Element + PartialEq,
{
    let mut seen = HashSet::new();
    for choice in choices {
        let stream_k = choice.decomposition.stream_k();
        let mode = stream_k.map(|of| of.reduction as u32);
        let kind = (choice.entry, mode, choice.cluster_shape().is_multicast());
        let name = format!("{kind:?} {name}");
        if seen.insert(kind) && drawn.takes(&name, false) {
            let [first, second] = run(engine, case, &choice);
            assert!(first == second, "{name} differs from run to run");
        }
    }
}

/// Stream-K tiles of multicast clusters of these shapes: of each kernel and each reduction the
/// fastest plan.
fn multicast_stream_k<T, C>(
    engine: &dyn Engine,
    (input, round): Elements<T>,
    layouts: &[[bool; 2]],
    sizes: &[(u32, [u32; 3], [u32; 2])],
) where
    T: GemmInto<C, Output = f32> + Into<f64>,
    C: Element + PartialEq,
{
    let drawn = Drawn::new(engine, "products by multicast clusters with split tiles");
    for &(multiprocessors, extents, shape) in sizes {
        for &transposed in layouts {
            let case = RandomGemm::<T, C>::new(extents, transposed, 0, 1, [-0.5, 2.0], round);
            let choices = choices(&case, multiprocessors, |plan| {
                plan.cluster_shape().extents() == shape && plan.decomposition.stream_k().is_some()
            });
            assert!(
                !choices.is_empty(),
                "{input:?} {extents:?} has no split tiles in clusters of {shape:?}"
            );
            each_kind(
                (engine, &drawn),
                &case,
                choices,
                &format!("{extents:?} {shape:?}"),
            );
        }
    }
}

/// Tiles of 64 rows of which a block computes several: of each kernel, and of each way in which
/// partial sums are added, the fastest plan.
fn several_tiles<T, C>(
    engine: &dyn Engine,
    (input, round): Elements<T>,
    layouts: &[[bool; 2]],
    sizes: &[(u32, [u32; 3])],
) where
    T: GemmInto<C, Output = f32> + Into<f64>,
    C: Element + PartialEq,
{
    let drawn = Drawn::new(engine, "products of several tiles a block");
    for &(multiprocessors, extents) in sizes {
        for (&transposed, factors) in layouts.iter().zip([[1.0, 0.0], [-0.5, 2.0]].iter().cycle()) {
            let case = RandomGemm::<T, C>::new(extents, transposed, 0, 1, *factors, round);
            let [m, n, _] = extents.map(u64::from);
            let choices = choices(&case, multiprocessors, |plan| {
                let columns = plan.tile_columns().map_or(1, u64::from);
                let tiles = m.div_ceil(64) * n.div_ceil(columns);
                let is_64_rows = matches!(
                    plan.scheduler,
                    TileScheduler::Persistent { config, .. } if config.tile[0] == 64
                );
                is_64_rows && tiles > plan.grid[0]
            });
            assert!(
                !choices.is_empty(),
                "{input:?} {extents:?} has no such tiles"
            );
            let name = format!("{extents:?} {transposed:?}");
            each_kind((engine, &drawn), &case, choices, &name);
        }
    }
}

/// Tiles of each of the widths that a launch may choose: of each kernel, and of each way in which
/// partial sums are added, the fastest plan.
fn narrowed<T, C>(
    engine: &dyn Engine,
    (input, round): Elements<T>,
    layouts: &[[bool; 2]],
    widths: &[u32],
) where
    T: GemmInto<C, Output = f32> + Into<f64>,
    C: Element + PartialEq,
{
    let drawn = Drawn::new(engine, "products of narrowed tiles");
    for (&columns, &transposed) in widths
        .iter()
        .flat_map(|width| layouts.iter().map(move |of| (width, of)))
    {
        for (less, factors) in LESS.into_iter().zip([[1.0, 0.0], [-0.5, 2.0], [0.5, 0.0]]) {
            let extents = [130, 2 * columns - less, 300];
            let case = RandomGemm::<T, C>::new(extents, transposed, 0, 1, factors, round);
            let choices = choices(&case, 18, |plan| plan.tile_columns() == Some(columns));
            assert!(
                !choices.is_empty(),
                "{input:?} has no tiles of {columns} columns"
            );
            let name = format!("{extents:?} {transposed:?}");
            each_kind((engine, &drawn), &case, choices, &name);
        }
    }
}

#[test]
fn shared_tiles_are_added_up_in_the_same_order() {
    let engine = EmulatorEngine::new();
    shared_tiles::<_, f32>(&engine, BF16, &STREAM_K, &LAYOUTS[..1]);
    shared_tiles::<_, bf16>(&engine, BF16, &STREAM_K, &LAYOUTS[..1]);
    shared_tiles::<_, f32>(&engine, TF32, &STREAM_K_TRANSPOSED, &LAYOUTS[..1]);
}

#[test]
fn blocks_of_a_cluster_share_tiles() {
    let engine = EmulatorEngine::new();
    clusters::<_, f32>(&engine, BF16, &LAYOUTS[..1]);
    clusters::<_, f16>(&engine, F16, &LAYOUTS[1..2]);
}

#[test]
fn a_reduction_kernel_adds_many_splits() {
    let engine = EmulatorEngine::new();
    reduced::<_, f32>(&engine, BF16, &LAYOUTS[..1], &REDUCED);
    reduced::<_, f16>(&engine, F16, &LAYOUTS[1..2], &REDUCED[..1]);
    reduced::<_, bf16>(&engine, BF16, &LAYOUTS[3..], &REDUCED[..1]);
    // C is computed as its transpose.
    reduced::<_, f32>(&engine, TF32, &LAYOUTS[..1], &REDUCED[1..2]);
}

#[test]
fn blocks_of_a_cluster_load_operands_by_multicast() {
    let engine = EmulatorEngine::new();
    multicast::<_, f32>(&engine, BF16, &LAYOUTS[1..3]);
    multicast::<_, f16>(&engine, F16, &LAYOUTS[..1]);
    multicast::<_, f32>(&engine, TF32, &LAYOUTS[..1]);
}

#[test]
fn blocks_of_a_cluster_compute_the_same_splits() {
    let engine = EmulatorEngine::new();
    let sizes = &MULTICAST_STREAM_K;
    multicast_stream_k::<_, f32>(&engine, BF16, &LAYOUTS[1..3], sizes);
    multicast_stream_k::<_, f16>(&engine, F16, &LAYOUTS[..1], sizes);
    multicast_stream_k::<_, f32>(&engine, TF32, &LAYOUTS[..1], sizes);
}

#[test]
fn sanitizers_find_nothing_in_splits_of_clusters() {
    let engine = EmulatorEngine::new().with_sanitizers(&Tool::ALL);
    let sizes = &MULTICAST_STREAM_K[..3];
    multicast_stream_k::<_, f32>(&engine, BF16, &LAYOUTS[1..2], sizes);
    multicast_stream_k::<_, f32>(&engine, TF32, &LAYOUTS[..1], sizes);
    let findings = engine.findings();
    assert!(findings.is_empty(), "{findings:?}");
}

#[test]
fn tiles_have_the_width_that_a_launch_chooses() {
    let engine = EmulatorEngine::new();
    narrowed::<_, f32>(&engine, BF16, &LAYOUTS[..2], &WIDTHS);
    narrowed::<_, bf16>(&engine, BF16, &LAYOUTS[1..2], &WIDTHS[1..]);
    narrowed::<_, f16>(&engine, F16, &LAYOUTS[2..3], &WIDTHS[1..3]);
}

#[test]
fn a_block_computes_several_tiles_of_64_rows() {
    let engine = EmulatorEngine::new();
    several_tiles::<_, f32>(&engine, BF16, &LAYOUTS, &SEVERAL_TILES);
    several_tiles::<_, f16>(&engine, F16, &LAYOUTS[1..3], &SEVERAL_TILES);
}

#[test]
fn sanitizers_find_nothing_in_several_tiles_of_a_block() {
    let engine = EmulatorEngine::new().with_sanitizers(&Tool::ALL);
    several_tiles::<_, f32>(&engine, BF16, &LAYOUTS[..1], &SEVERAL_TILES[..2]);
    several_tiles::<_, bf16>(&engine, BF16, &LAYOUTS[1..2], &SEVERAL_TILES[2..3]);
    let findings = engine.findings();
    assert!(findings.is_empty(), "{findings:?}");
}

#[test]
fn sanitizers_find_nothing_in_narrowed_tiles() {
    let engine = EmulatorEngine::new().with_sanitizers(&Tool::ALL);
    narrowed::<_, f32>(&engine, BF16, &LAYOUTS[..1], &WIDTHS[1..2]);
    narrowed::<_, bf16>(&engine, BF16, &LAYOUTS[1..2], &WIDTHS[4..6]);
    let findings = engine.findings();
    assert!(findings.is_empty(), "{findings:?}");
}

/// All of these on a GPU that has `wgmma`.
pub fn on_a_gpu(gpu: &dyn Engine) {
    shared_tiles::<_, f32>(gpu, BF16, &STREAM_K, &LAYOUTS);
    shared_tiles::<_, bf16>(gpu, BF16, &STREAM_K, &LAYOUTS);
    shared_tiles::<_, f16>(gpu, F16, &STREAM_K, &LAYOUTS[..1]);
    shared_tiles::<_, f32>(gpu, TF32, &STREAM_K_TRANSPOSED, &LAYOUTS[..1]);
    clusters::<_, f32>(gpu, BF16, &LAYOUTS);
    clusters::<_, f16>(gpu, F16, &LAYOUTS);
    clusters::<_, f32>(gpu, TF32, &[LAYOUTS[1], LAYOUTS[3]]);
    reduced::<_, f32>(gpu, BF16, &LAYOUTS, &REDUCED);
    reduced::<_, f32>(gpu, F16, &LAYOUTS[..1], &REDUCED);
    reduced::<_, bf16>(gpu, BF16, &LAYOUTS, &REDUCED);
    reduced::<_, f16>(gpu, F16, &LAYOUTS, &REDUCED);
    reduced::<_, f32>(gpu, TF32, &LAYOUTS, &REDUCED);
    multicast::<_, f32>(gpu, BF16, &LAYOUTS);
    multicast::<_, f32>(gpu, F16, &LAYOUTS);
    multicast::<_, bf16>(gpu, BF16, &LAYOUTS);
    multicast::<_, f16>(gpu, F16, &LAYOUTS);
    multicast::<_, f32>(gpu, TF32, &LAYOUTS);
    multicast_stream_k::<_, f32>(gpu, BF16, &LAYOUTS, &MULTICAST_STREAM_K);
    multicast_stream_k::<_, f16>(gpu, F16, &LAYOUTS, &MULTICAST_STREAM_K);
    multicast_stream_k::<_, f32>(gpu, TF32, &LAYOUTS, &MULTICAST_STREAM_K);
    several_tiles::<_, f32>(gpu, BF16, &LAYOUTS, &SEVERAL_TILES);
    several_tiles::<_, f16>(gpu, F16, &LAYOUTS, &SEVERAL_TILES);
    narrowed::<_, f32>(gpu, BF16, &LAYOUTS, &WIDTHS);
    narrowed::<_, f32>(gpu, F16, &LAYOUTS, &WIDTHS);
    narrowed::<_, bf16>(gpu, BF16, &LAYOUTS, &WIDTHS[1..]);
    narrowed::<_, f16>(gpu, F16, &LAYOUTS, &WIDTHS[1..]);
}
