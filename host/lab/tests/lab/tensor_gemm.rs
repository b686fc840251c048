//! GEMM on tensor cores, C ← α · op(A) · op(B) + β · C: layouts, leading dimensions,
//! batches, factors and stream-K tiles, on the emulator and, where there is one, on a GPU.

use crate::common::drawn::Drawn;
use crate::common::gemm::{LAYOUTS, RandomGemm};
use crate::common::gpu;
use half::{bf16, f16};
use warpladder::check;
use warpladder::device::ComputeCapability;
use warpladder::element::Element;
use warpladder::element::TensorInput;
use warpladder::engine::Engine;
use warpladder::engine::emulator::EmulatorEngine;
use warpladder::gemm::tuning::Choices;
use warpladder::gemm::{self, DeviceLimits, GemmInto, HOPPER, Tf32};
use warpladder::plan::{Plan, PlannedLaunch};

/// Sizes that meet edges of tiles and of stages.
const EXTENTS: [[u32; 3]; 8] = [
    [1, 1, 1],
    [1, 40, 136],
    [40, 1, 136],
    [33, 31, 17],
    [130, 72, 40],
    [5, 300, 200],
    [257, 3, 129],
    [64, 64, 0],
];

/// Multiprocessors and sizes for which k-tiles are split: tiles that are few, or a few more than a
/// multiple of the multiprocessors; and, where fewer multiprocessors are left than there are tiles,
/// as first and last work units of a tile.
const STREAM_K: [(u32, [u32; 3], bool); 3] = [
    (3, [100, 60, 6000], false),
    (5, [700, 60, 4000], false),
    (3, [200, 60, 6400], true),
];

/// The same where C is computed as its transpose.
const STREAM_K_TRANSPOSED: [(u32, [u32; 3], bool); 1] = [(3, [60, 100, 6000], false)];

/// Multiprocessors and sizes for which tiles are split among clusters, and the blocks of a cluster.
const CLUSTERED: [(u32, [u32; 3], u64); 3] = [
    (2, [100, 60, 2000], 2),
    (4, [100, 60, 2000], 3),
    (8, [130, 100, 2000], 2),
];

/// The same with a split-K reduction kernel: more splits of a tile than it reads at a time,
/// tiles of several columns, and rows of C that are stored as vec2 but for their last
/// element.
const REDUCED: [(u32, [u32; 3]); 3] = [
    (16, [70, 56, 6000]),
    (16, [100, 61, 6000]),
    (16, [130, 190, 8000]),
];

/// Multiprocessors for each matrix, and sizes, for which 2-CTA clusters load B by multicast, in
/// tiles of the columns that the name ends with. In some clusters only one block's tile lies in C.
const CLUSTERS_OF_TWO: [(u32, [u32; 3], &str); 5] = [
    (2, [127, 180, 1000], "_pair_192"),
    (4, [200, 190, 1000], "_pair_192"),
    (2, [50, 60, 300], "_pair_64"),
    (12, [300, 70, 40], "_pair_64"),
    (8, [3, 130, 0], "_pair_64"),
];

/// The same where B is K-major, and C has elements of `f32`.
const CLUSTERS_K_MAJOR: [(u32, [u32; 3], &str); 2] = [
    (2, [127, 90, 3500], "_pair_96"),
    (4, [200, 95, 3333], "_pair_96"),
];

/// An element type of A and B, and how a number is rounded to it.
type Elements<T> = (TensorInput, fn(f64) -> T);

const F16: Elements<f16> = (TensorInput::F16, f16::from_f64);
const BF16: Elements<bf16> = (TensorInput::Bf16, bf16::from_f64);
const TF32: Elements<Tf32> = (TensorInput::Tf32, |value| {
    Tf32(f32::from_bits((value as f32).to_bits() & !0x1fff))
});

/// The plan of a case by warpgroups, on `multiprocessors` multiprocessors.
fn plan<T: GemmInto<C>, C: Element>(case: &RandomGemm<T, C>, multiprocessors: u32) -> Plan {
    let (product, device) = (&case.product, DeviceLimits::new(multiprocessors, HOPPER));
    let kernels = product.kernels(device).unwrap();
    // Products of no elements are planned as such.
    let choice = kernels.plan(&product.problem(device));
    match choice.filter(|_| !product.extents.contains(&0)) {
        Some(choice) => gemm::plan_choice(product, device, &choice),
        None => gemm::plan(product, device, &Choices::new()).unwrap(),
    }
}

fn check<T, C>(case: &RandomGemm<T, C>, output: &[C]) -> Result<(), String>
where
    T: GemmInto<C, Output = f32> + Into<f64>,
    C: Element,
{
    let k = case.product.extents[2] as usize;
    case.check(output, check::tensor_tolerance(k + 2))
}

fn all<T, C>(engine: &dyn Engine, (input, round): Elements<T>)
where
    T: GemmInto<C, Output = f32> + Into<f64>,
    C: Element,
{
    let mut cases = 0;
    let mut test = |extents, transposed, padding, batch, factors| {
        let case = RandomGemm::<T, C>::new(extents, transposed, padding, batch, factors, round);
        let plan = plan(&case, engine.multiprocessors());
        if let Err(difference) = check(&case, &case.run(engine, plan, 1)[0]) {
            panic!(
                "{input:?} into {}, {extents:?}, transposed {transposed:?}, padding {padding}, \
                 {batch} in the batch, {factors:?}: {difference}",
                C::TYPE
            );
        }
        cases += 1;
    };
    for transposed in LAYOUTS {
        // Rows of odd lengths that bulk copies take all the same.
        test([41; 3], transposed, 7, 2, [1.0, 0.0]);
    }
    for extents in EXTENTS {
        for transposed in LAYOUTS {
            test(extents, transposed, 0, 1, [1.0, 0.0]);
            test(extents, transposed, 3, 2, [-0.5, 2.0]);
            test(extents, transposed, 8, 1, [2.0, 0.0]);
        }
    }
    println!(
        "{cases} cases of {input:?} into {} on {}",
        C::TYPE,
        engine.device_name()
    );
}

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
            let plan = plan(&case, multiprocessors);
            assert!(
                plan.zeroed_bytes > 0,
                "{extents:?} has no split tiles: {plan:?}"
            );
            // Such work units are the only blocks that need not all run at the same time.
            let blocks = plan.launches.last().map(|launch| launch.grid[0]);
            let has_tails = blocks > Some(multiprocessors.into());
            assert_eq!(has_tails, tails, "{extents:?}: {plan:?}");
            let types = format!("{input:?} {}", C::TYPE);
            if !drawn.takes(&format!("{types} {extents:?} {transposed:?}"), false) {
                continue;
            }
            let outputs = case.run(engine, plan, 2);
            check(&case, &outputs[0]).unwrap_or_else(|difference| {
                panic!("{input:?}, {extents:?}, transposed {transposed:?}: {difference}")
            });
            // The order of the parts does not matter, and the counters are 0 again.
            assert!(
                outputs[0] == outputs[1],
                "{extents:?} differ from run to run"
            );
        }
    }
}

/// The same where the blocks of a tile are a cluster. More of them than boxes of columns are among
/// these.
fn clusters<T, C>(engine: &dyn Engine, elements: Elements<T>, layouts: &[[bool; 2]])
where
    T: GemmInto<C, Output = f32> + Into<f64>,
    C: Element,
{
    let drawn = Drawn::new(engine, "products by clusters");
    for (multiprocessors, extents, blocks) in CLUSTERED {
        let on = (multiprocessors, extents);
        products::<T, C>((engine, &drawn), elements, on, layouts, 1, |last| {
            assert_eq!(last.cluster.count(), blocks, "{extents:?}: {last:?}");
        });
    }
}

/// The same with a split-K reduction kernel.
fn added<T, C>(
    engine: &dyn Engine,
    elements: Elements<T>,
    layouts: &[[bool; 2]],
    sizes: &[(u32, [u32; 3])],
) where
    T: GemmInto<C, Output = f32> + Into<f64>,
    C: Element,
{
    let drawn = Drawn::new(engine, "products in added parts");
    for &on @ (_, extents) in sizes {
        products::<T, C>((engine, &drawn), elements, on, layouts, 2, |last| {
            assert!(last.entry.starts_with("add_parts"), "{extents:?}: {last:?}");
        });
    }
}

/// The same where two blocks load B by multicast, at sizes for which they do in all of these
/// layouts.
fn clusters_of_two<T, C>(
    engine: &dyn Engine,
    elements: Elements<T>,
    layouts: &[[bool; 2]],
    sizes: &[(u32, [u32; 3], &str)],
) where
    T: GemmInto<C, Output = f32> + Into<f64>,
    C: Element,
{
    let drawn = Drawn::new(engine, "products by 2-CTA clusters");
    for &(multiprocessors, extents, name) in sizes {
        let on = (multiprocessors, extents);
        products::<T, C>((engine, &drawn), elements, on, layouts, 2, |last| {
            assert!(last.entry.contains(name), "{extents:?}: {last:?}");
            assert_eq!(last.cluster.count(), 2);
        });
    }
}

/// Products on `multiprocessors` multiprocessors for each matrix: of one matrix, and of `batch`
/// with padding and factors. `is_meant` looks at the last launch.
fn products<T, C>(
    (engine, drawn): (&dyn Engine, &Drawn),
    (input, round): Elements<T>,
    (multiprocessors, extents): (u32, [u32; 3]),
    layouts: &[[bool; 2]],
    batch: u32,
    is_meant: impl Fn(&PlannedLaunch),
) where
    T: GemmInto<C, Output = f32> + Into<f64>,
    C: Element,
{
    for &transposed in layouts {
        for (padding, batch, factors) in [(0, 1, [1.0, 0.0]), (3, batch, [-0.5, 2.0])] {
            let case = RandomGemm::<T, C>::new(extents, transposed, padding, batch, factors, round);
            let plan = plan(&case, multiprocessors * batch);
            is_meant(plan.launches.last().expect("a product"));
            let types = format!("{input:?} {}", C::TYPE);
            let name = format!("{types} {extents:?} {transposed:?} {padding}");
            if !drawn.takes(&name, false) {
                continue;
            }
            for output in case.run(engine, plan, 2) {
                check(&case, &output).unwrap_or_else(|difference| {
                    panic!(
                        "{input:?} into {}, {extents:?}, transposed {transposed:?}, padding \
                        {padding}: {difference}",
                        C::TYPE
                    )
                });
            }
        }
    }
}

/// One large product at the beginning of k, and ones behind it: a single accumulation would lose
/// all of them.
fn slices(engine: &dyn Engine, layouts: &[[bool; 2]]) {
    const LARGE: f32 = (1 << 15) as f32;
    let (_, round) = BF16;
    let extents @ [m, n, k] = [70, 40, 8192];
    for &transposed in layouts {
        let mut case = RandomGemm::<_, f32>::new(extents, transposed, 0, 1, [1.0, 0.0], round);
        case.a.fill(bf16::ONE);
        case.b.fill(bf16::ONE);
        for row in 0..m as usize {
            let first = if transposed[0] { row } else { row * k as usize };
            case.a[first] = bf16::from_f32(LARGE);
        }
        for column in 0..n as usize {
            let first = if transposed[1] {
                column * k as usize
            } else {
                column
            };
            case.b[first] = bf16::from_f32(LARGE);
        }
        let plan = plan(&case, 1);
        assert_eq!(plan.zeroed_bytes, 0, "{extents:?} is shared: {plan:?}");
        let output = case.run(engine, plan, 1);
        let least = LARGE * LARGE + 4096.0;
        let lost = output[0]
            .iter()
            .position(|&sum| sum.is_nan() || sum < least);
        assert_eq!(
            lost, None,
            "of {least} some are lost, transposed {transposed:?}"
        );
    }
}

#[test]
fn bf16_products_are_right_in_every_layout() {
    all::<_, f32>(&EmulatorEngine::new(), BF16);
}

#[test]
fn f16_products_are_right_in_every_layout() {
    all::<_, f32>(&EmulatorEngine::new(), F16);
}

#[test]
fn tf32_products_are_right_in_every_layout() {
    all::<_, f32>(&EmulatorEngine::new(), TF32);
}

#[test]
fn bf16_products_are_rounded_once_in_every_layout() {
    all::<_, bf16>(&EmulatorEngine::new(), BF16);
}

#[test]
fn f16_products_are_rounded_once_in_every_layout() {
    all::<_, f16>(&EmulatorEngine::new(), F16);
}

#[test]
fn shared_tiles_are_added_up_in_the_same_order() {
    let engine = EmulatorEngine::new();
    shared_tiles::<_, f32>(&engine, BF16, &STREAM_K, &LAYOUTS[..1]);
    shared_tiles::<_, bf16>(&engine, BF16, &STREAM_K, &LAYOUTS[..1]);
    shared_tiles::<_, f32>(&engine, TF32, &STREAM_K_TRANSPOSED, &LAYOUTS[..1]);
}

/// A GEMM with a C of f32 and one with a C of `T`: each element is the other's, rounded.
fn compare_16_bit<T>(
    engine: &dyn Engine,
    (_, round): Elements<T>,
    rounded: fn(f32) -> T,
    (extents, padding, factors): ([u32; 3], u32, [f64; 2]),
) -> Plan
where
    T: GemmInto<f32, Output = f32> + GemmInto<T> + Element + PartialEq + std::fmt::Debug,
{
    let layout = [false; 2];
    let wide = RandomGemm::<T, f32>::new(extents, layout, padding, 1, factors, round);
    let rounded_c = RandomGemm::<T, T>::new(extents, layout, padding, 1, factors, round);
    let plan_16_bit = plan(&rounded_c, engine.multiprocessors());
    let wide = wide.run(engine, plan(&wide, engine.multiprocessors()), 1);
    let rounded_c = rounded_c.run(engine, plan_16_bit.clone(), 1);
    let bits = |element: T| bytemuck::bytes_of(&element).to_vec();
    for (wide, rounded_c) in wide[0].iter().zip(&rounded_c[0]) {
        let is_padding = wide.is_nan() && (*rounded_c).into().is_nan();
        assert!(
            is_padding || bits(*rounded_c) == bits(rounded(*wide)),
            "{extents:?}, {factors:?}: {rounded_c:?} is not {wide}"
        );
    }
    plan_16_bit
}

/// The accumulators are the same ones: a 16-bit C is that of f32, rounded.
#[test]
fn a_narrow_c_is_the_wide_one_rounded() {
    let engine = EmulatorEngine::new().with_multiprocessors(5);
    // By TMA stores and element by element; the last one splits its tiles.
    for case in [
        ([70, 136, 90], 0, [1.0, 0.0]),
        ([70, 136, 90], 3, [1.0, 0.0]),
        ([70, 136, 90], 0, [0.75, 0.0]),
        ([100, 64, 4000], 0, [-0.5, 0.0]),
    ] {
        compare_16_bit(&engine, BF16, bf16::from_f32, case);
        compare_16_bit(&engine, F16, f16::from_f32, case);
    }
}

/// A tile of an odd number of epilogue tiles ends with the one in shared memory that the next tile
/// of the block begins with: its TMA store must have read it.
#[test]
fn the_next_tile_waits_for_the_last_tma_store_of_this_one() {
    // Blocks compute several tiles on few multiprocessors, here of 192 and of 64 columns: three
    // epilogue tiles of 64 columns, and one.
    for (multiprocessors, extents, entry) in [
        (2, [64, 768, 64], "wgmma_bf16_nn_192_to_bf16"),
        (1, [64, 128, 64], "wgmma_bf16_nn_pair_64_to_bf16"),
    ] {
        let engine = EmulatorEngine::new().with_multiprocessors(multiprocessors);
        let plan = compare_16_bit(&engine, BF16, bf16::from_f32, (extents, 0, [1.0, 0.0]));
        let launch = plan.launches.last().unwrap();
        assert_eq!((launch.entry, launch.grid), (entry, [2, 1, 1]));
    }
}

#[test]
fn blocks_of_a_cluster_share_tiles() {
    let engine = EmulatorEngine::new();
    clusters::<_, f32>(&engine, BF16, &LAYOUTS[..1]);
    clusters::<_, f16>(&engine, F16, &LAYOUTS[1..2]);
}

#[test]
fn a_launch_of_its_own_adds_up_many_parts() {
    let engine = EmulatorEngine::new();
    added::<_, f32>(&engine, BF16, &LAYOUTS[..1], &REDUCED);
    added::<_, f16>(&engine, F16, &LAYOUTS[1..2], &REDUCED[..1]);
    added::<_, bf16>(&engine, BF16, &LAYOUTS[3..], &REDUCED[..1]);
    // C is computed as its transpose.
    added::<_, f32>(&engine, TF32, &LAYOUTS[..1], &REDUCED[1..2]);
}

#[test]
fn pairs_of_blocks_fetch_b_together() {
    let engine = EmulatorEngine::new();
    clusters_of_two::<_, f32>(&engine, BF16, &LAYOUTS[1..3], &CLUSTERS_OF_TWO);
    clusters_of_two::<_, f16>(&engine, F16, &LAYOUTS[..1], &CLUSTERS_OF_TWO);
    clusters_of_two::<_, f32>(&engine, BF16, &[[false, true]], &CLUSTERS_K_MAJOR);
    clusters_of_two::<_, f32>(&engine, F16, &[[true, true]], &CLUSTERS_K_MAJOR);
}

#[test]
fn long_sums_are_cut_into_slices() {
    slices(&EmulatorEngine::new(), &LAYOUTS[..1]);
}

#[test]
fn few_rows_across_k_are_copied_along_it() {
    let engine = EmulatorEngine::new();
    let (_, round) = BF16;
    let copies = |extents, transposed| {
        let case = RandomGemm::<_, f32>::new(extents, transposed, 0, 1, [1.0, 0.0], round);
        let entries = plan(&case, engine.multiprocessors()).launches.into_iter();
        let mut entries: Vec<_> = entries.map(|launch| launch.entry).collect();
        entries.pop();
        entries
    };
    const TURNED: [&str; 1] = ["pack_transposed_16"];
    let [nn, tn] = [[false; 2], [true, false]];
    assert_eq!(copies([8, 256, 256], tn), TURNED);
    assert_eq!(copies([100, 256, 256], tn), TURNED);
    // As many rows as a box has columns, many rows, and few that are K-major.
    for (extents, transposed) in [
        ([64, 256, 256], tn),
        ([200, 256, 256], tn),
        ([8, 256, 256], nn),
    ] {
        assert_eq!(copies(extents, transposed), [""; 0]);
    }
    assert_eq!(copies([256, 8, 256], nn), TURNED);
    // What must be copied anyway, of short and of long rows.
    assert_eq!(copies([256, 100, 256], nn), TURNED);
    assert_eq!(copies([256, 300, 256], nn), ["pack_16"]);
    // Of both operands in one launch, unless they are large.
    assert_eq!(copies([256, 300, 255], nn), ["pack_both_16"]);
    assert_eq!(copies([100, 300, 255], tn), ["pack_both_16"]);
    assert_eq!(copies([15000, 300, 1001], nn), ["pack_both_16"]);
    assert_eq!(copies([17000, 300, 1001], nn), ["pack_16", "pack_16"]);
    // A column whose elements are contiguous is K-major.
    assert_eq!(copies([1, 256, 255], tn), [""; 0]);
    assert_eq!(copies([256, 1, 256], nn), [""; 0]);
}

/// By warps, on compute capability 8.0: operands whose rows begin anywhere are copied first, by one
/// launch.
fn operands_of_warps_are_copied(engine: &dyn Engine) {
    let device = DeviceLimits::new(2, ComputeCapability::V8_0);
    let (_, round) = BF16;
    for (extents, batch) in [([131, 259, 515], 1), ([129, 63, 1001], 2)] {
        for transposed in LAYOUTS {
            for padding in [0, 7] {
                let case = RandomGemm::<_, f32>::new(
                    extents,
                    transposed,
                    padding,
                    batch,
                    [0.5, 2.0],
                    round,
                );
                let plan = gemm::plan(&case.product, device, &Choices::new()).unwrap();
                let copies = plan.launches.iter();
                let copies = copies
                    .filter(|launch| launch.entry == "pack_rows_16")
                    .count();
                let expected = usize::from(case.product.aligned_rows() != [true; 2]);
                assert_eq!(copies, expected, "{extents:?} {transposed:?} {padding}");
                for output in case.run(engine, plan, 2) {
                    check(&case, &output).unwrap_or_else(|difference| {
                        panic!("{extents:?} {transposed:?} {padding}: {difference}")
                    });
                }
            }
        }
    }
}

#[test]
fn operands_of_large_products_by_warps_are_copied_first() {
    operands_of_warps_are_copied(&EmulatorEngine::new());
}

#[test]
fn a_batch_may_have_one_matrix_in_common() {
    let (_, round) = BF16;
    let mut case = RandomGemm::<_, f32>::new([40, 24, 72], [false; 2], 0, 3, [1.0, 0.0], round);
    let [of_a, _, _] = case.product.strides;
    case.product.strides[0] = 0;
    case.a.truncate(of_a as usize);
    let engine = EmulatorEngine::new();
    let plan = plan(&case, engine.multiprocessors());
    let output = case.run(&engine, plan, 1);
    check(&case, &output[0]).unwrap();
}

#[test]
fn and_on_a_gpu() {
    let Some(gpu) = gpu::open() else {
        return;
    };
    if gpu.compute_capability() >= ComputeCapability::V8_0 {
        operands_of_warps_are_copied(&*gpu);
    }
    if gpu.compute_capability() != HOPPER {
        println!("skipped: {} has no wgmma", gpu.device_name());
        return;
    }
    all::<_, f32>(&*gpu, BF16);
    all::<_, f32>(&*gpu, F16);
    all::<_, f32>(&*gpu, TF32);
    all::<_, bf16>(&*gpu, BF16);
    all::<_, f16>(&*gpu, F16);
    shared_tiles::<_, f32>(&*gpu, BF16, &STREAM_K, &LAYOUTS);
    shared_tiles::<_, bf16>(&*gpu, BF16, &STREAM_K, &LAYOUTS);
    shared_tiles::<_, f16>(&*gpu, F16, &STREAM_K, &LAYOUTS[..1]);
    shared_tiles::<_, f32>(&*gpu, TF32, &STREAM_K_TRANSPOSED, &LAYOUTS[..1]);
    clusters::<_, f32>(&*gpu, BF16, &LAYOUTS);
    clusters::<_, f16>(&*gpu, F16, &LAYOUTS);
    clusters::<_, f32>(&*gpu, TF32, &[LAYOUTS[1], LAYOUTS[3]]);
    added::<_, f32>(&*gpu, BF16, &LAYOUTS, &REDUCED);
    added::<_, f32>(&*gpu, F16, &LAYOUTS[..1], &REDUCED);
    added::<_, bf16>(&*gpu, BF16, &LAYOUTS, &REDUCED);
    added::<_, f16>(&*gpu, F16, &LAYOUTS, &REDUCED);
    added::<_, f32>(&*gpu, TF32, &LAYOUTS, &REDUCED);
    clusters_of_two::<_, f32>(&*gpu, BF16, &LAYOUTS, &CLUSTERS_OF_TWO);
    clusters_of_two::<_, f32>(&*gpu, F16, &LAYOUTS, &CLUSTERS_OF_TWO);
    clusters_of_two::<_, bf16>(&*gpu, BF16, &LAYOUTS, &CLUSTERS_OF_TWO);
    clusters_of_two::<_, f16>(&*gpu, F16, &LAYOUTS, &CLUSTERS_OF_TWO);
    let k_major = [[false, true], [true; 2]];
    clusters_of_two::<_, f32>(&*gpu, BF16, &k_major, &CLUSTERS_K_MAJOR);
    clusters_of_two::<_, f32>(&*gpu, F16, &k_major, &CLUSTERS_K_MAJOR);
    slices(&*gpu, &LAYOUTS[..2]);
}
