//! GEMM on tensor cores, C ← α · op(A) · op(B) + β · C: layouts, leading dimensions,
//! batches, factors and stream-K tiles, on the emulator and, where there is one, on a GPU.

mod plans;

use crate::common::gemm::{LAYOUTS, RandomGemm};
use crate::common::gpu;
use half::{bf16, f16};
use kernels_gpu::gemm::planner::Decomposition;
use warpladder::check;
use warpladder::device::ComputeCapability;
use warpladder::element::Element;
use warpladder::element::TensorInput;
use warpladder::engine::Engine;
use warpladder::engine::emulator::EmulatorEngine;
use warpladder::gemm::tuning::Choices;
use warpladder::gemm::{self, Description, DeviceLimits, GemmInto, HOPPER, Tf32};
use warpladder::plan::Plan;

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

/// A GEMM with a C of f32 and one with a C of `T`: each element is the other's, rounded.
fn compare_16_bit<T>(
    engine: &dyn Engine,
    (_, round): Elements<T>,
    rounded: fn(f32) -> T,
    (extents, padding, factors): ([u32; 3], u32, [f64; 2]),
) where
    T: GemmInto<f32, Output = f32> + GemmInto<T> + Element + PartialEq + std::fmt::Debug,
{
    let layout = [false; 2];
    let wide = RandomGemm::<T, f32>::new(extents, layout, padding, 1, factors, round);
    let rounded_c = RandomGemm::<T, T>::new(extents, layout, padding, 1, factors, round);
    let plan_16_bit = plan(&rounded_c, engine.multiprocessors());
    let wide = wide.run(engine, plan(&wide, engine.multiprocessors()), 1);
    let rounded_c = rounded_c.run(engine, plan_16_bit, 1);
    let bits = |element: T| bytemuck::bytes_of(&element).to_vec();
    for (wide, rounded_c) in wide[0].iter().zip(&rounded_c[0]) {
        let is_padding = wide.is_nan() && (*rounded_c).into().is_nan();
        assert!(
            is_padding || bits(*rounded_c) == bits(rounded(*wide)),
            "{extents:?}, {factors:?}: {rounded_c:?} is not {wide}"
        );
    }
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
    // Tiles of 192 and of 64 columns: three epilogue tiles of 64 columns, and one.
    for (multiprocessors, extents, entry) in [
        (2, [64, 768, 64], "wgmma_bf16_nn_192_to_bf16"),
        (1, [64, 128, 64], "wgmma_bf16_nn_64x64_to_bf16"),
    ] {
        let engine = EmulatorEngine::new().with_multiprocessors(multiprocessors);
        let (_, round) = BF16;
        let factors = [1.0, 0.0];
        let case = RandomGemm::<_, bf16>::new(extents, [false; 2], 0, 1, factors, round);
        let choice = plans::choice(&case, multiprocessors, |plan| {
            let is_data_parallel = plan.decomposition == Decomposition::DataParallel;
            plan.entry == entry && plan.cluster_size == 1 && is_data_parallel
        });
        let device = DeviceLimits::new(multiprocessors, HOPPER);
        let plan = gemm::plan_choice(&case.product, device, &choice);
        let launch = plan.launches.last().unwrap();
        assert_eq!(launch.grid, [multiprocessors.into(), 1, 1]);
        check(&case, &case.run(&engine, plan, 1)[0]).unwrap();
    }
}

#[test]
fn long_sums_are_cut_into_slices() {
    slices(&EmulatorEngine::new(), &LAYOUTS[..1]);
}

#[test]
fn few_rows_across_k_are_copied_along_it() {
    let copies = |extents, transposed| {
        let product = Description::<bf16>::dense(extents, transposed);
        let device = DeviceLimits::new(132, HOPPER);
        let kernels = product.kernels(device).unwrap();
        let choice = kernels.plan(&product.problem(device)).unwrap();
        let plan = gemm::plan_choice(&product, device, &choice);
        let entries = plan.launches.into_iter().map(|launch| launch.entry);
        let is_copy = |entry: &&str| entry.starts_with("pack");
        entries.take_while(is_copy).collect::<Vec<_>>()
    };
    const TURNED: [&str; 1] = ["pack_transposed_16"];
    let [nn, tn] = [[false; 2], [true, false]];
    // Where the copy takes less than the parts of boxes that lie outside, as often as they load.
    assert_eq!(copies([72, 100_000, 8192], tn), TURNED);
    assert_eq!(copies([100_000, 8, 8192], nn), TURNED);
    for (extents, transposed) in [
        ([8, 256, 256], tn),
        ([104, 256, 256], tn),
        ([256, 8, 256], nn),
        // As many rows as a box has columns, many rows, and few that are K-major.
        ([64, 256, 256], tn),
        ([200, 256, 256], tn),
        ([8, 256, 256], nn),
    ] {
        assert_eq!(copies(extents, transposed), [""; 0], "{extents:?}");
    }
    // What must be copied anyway, of short and of long rows.
    assert_eq!(copies([100, 256, 256], tn), TURNED);
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
    plans::on_a_gpu(&*gpu);
    slices(&*gpu, &LAYOUTS[..2]);
}
