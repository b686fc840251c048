//! General products on tensor cores, C ← α · op(A) · op(B) + β · C: layouts, leading dimensions, batches, factors and shared
//! tiles, on the emulator and, where there is one, on a GPU.

#[path = "common/gemm.rs"]
mod case;
#[path = "common/gpu.rs"]
mod gpu;

use case::{Case, LAYOUTS};
use half::{bf16, f16};
use warpladder::check;
use warpladder::engine::Engine;
use warpladder::engine::emulator::EmulatorEngine;
use warpladder::gemm::GemmInput;
use warpladder::gemm::wgmma::{COMPUTE_CAPABILITY, TensorGemm};
use warpladder::plan::Plan;
use warpladder::problem::TensorInput;

/// Sizes that meet edges of tiles and of stages.
const EXTENTS: [[u32; 3]; 6] = [
    [1, 1, 1],
    [33, 31, 17],
    [130, 72, 40],
    [5, 300, 200],
    [257, 3, 129],
    [64, 64, 0],
];

/// Tiles that are few, and a few more than a multiple of the multiprocessors: their steps are shared.
const SHARED: [[u32; 3]; 2] = [[100, 60, 4000], [700, 60, 4000]];

/// An element type of A and B, and how a number is rounded to it.
type Elements<T> = (TensorInput, fn(f64) -> T);

const F16: Elements<f16> = (TensorInput::F16, f16::from_f64);
const BF16: Elements<bf16> = (TensorInput::Bf16, bf16::from_f64);
const TF32: Elements<f32> = (TensorInput::Tf32, |value| {
    f32::from_bits((value as f32).to_bits() & !0x1fff)
});

/// The plan of a case on an engine.
fn plan<T: GemmInput<Output = f32>>(
    engine: &dyn Engine,
    input: TensorInput,
    case: &Case<T>,
) -> Plan {
    TensorGemm::of(input, &case.product).plan(engine.multiprocessors())
}

fn check<T>(case: &Case<T>, output: &[f32]) -> Result<(), String>
where
    T: GemmInput<Output = f32> + Into<f64>,
{
    let k = case.product.extents[2] as usize;
    case.check(output, check::tensor_tolerance(k + 2))
}

fn all<T>(engine: &dyn Engine, (input, round): Elements<T>)
where
    T: GemmInput<Output = f32> + Into<f64>,
{
    let mut cases = 0;
    let mut test = |extents, transposed, padding, batch, factors| {
        let case = Case::new(extents, transposed, padding, batch, factors, round);
        let plan = plan(engine, input, &case);
        if let Err(difference) = check(&case, &case.run(engine, plan, 1)[0]) {
            panic!(
                "{input:?}, {extents:?}, transposed {transposed:?}, padding {padding}, {batch} in the batch, {factors:?}: {difference}"
            );
        }
        cases += 1;
    };
    for extents in EXTENTS {
        for transposed in LAYOUTS {
            test(extents, transposed, 0, 1, [1.0, 0.0]);
            test(extents, transposed, 3, 2, [-0.5, 2.0]);
            test(extents, transposed, 8, 1, [2.0, 0.0]);
        }
    }
    println!("{cases} cases of {input:?} on {}", engine.device_name());
}

fn shared_tiles<T>(engine: &dyn Engine, (input, round): Elements<T>, layouts: &[[bool; 2]])
where
    T: GemmInput<Output = f32> + Into<f64>,
{
    for extents in SHARED {
        for &transposed in layouts {
            let case = Case::new(extents, transposed, 0, 1, [1.0, 0.0], round);
            let plan = plan(engine, input, &case);
            assert!(plan.zeroed_bytes > 0, "{extents:?} is not shared: {plan:?}");
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

/// One large product at the beginning of k, and ones behind it: a single chain of sums would lose all of them.
fn slices(engine: &dyn Engine, layouts: &[[bool; 2]]) {
    const LARGE: f32 = (1 << 15) as f32;
    let (input, round) = BF16;
    let extents @ [m, n, k] = [70, 40, 8192];
    for &transposed in layouts {
        let mut case = Case::new(extents, transposed, 0, 1, [1.0, 0.0], round);
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
        let plan = TensorGemm::of(input, &case.product).plan(1);
        assert_eq!(plan.workspace_bytes, 0, "{extents:?} is shared: {plan:?}");
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
    all(&EmulatorEngine::new(), BF16);
}

#[test]
fn f16_products_are_right_in_every_layout() {
    all(&EmulatorEngine::new(), F16);
}

#[test]
fn tf32_products_are_right_in_every_layout() {
    all(&EmulatorEngine::new(), TF32);
}

#[test]
fn shared_tiles_are_added_up_in_the_same_order() {
    let engine = EmulatorEngine::new().with_multiprocessors(5);
    shared_tiles(&engine, BF16, &LAYOUTS[..1]);
}

#[test]
fn long_sums_are_cut_into_slices() {
    slices(&EmulatorEngine::new(), &LAYOUTS[..1]);
}

#[test]
fn a_batch_may_have_one_matrix_in_common() {
    let (input, round) = BF16;
    let mut case = Case::new([40, 24, 72], [false; 2], 0, 3, [1.0, 0.0], round);
    let [of_a, _, _] = case.product.strides;
    case.product.strides[0] = 0;
    case.a.truncate(of_a as usize);
    let engine = EmulatorEngine::new();
    let plan = plan(&engine, input, &case);
    let output = case.run(&engine, plan, 1);
    check(&case, &output[0]).unwrap();
}

#[test]
fn and_on_a_gpu() {
    let Some(gpu) = gpu::open() else {
        return;
    };
    if gpu.compute_capability() != COMPUTE_CAPABILITY {
        println!("skipped: {} has no wgmma", gpu.device_name());
        return;
    }
    all(&*gpu, BF16);
    all(&*gpu, F16);
    all(&*gpu, TF32);
    slices(&*gpu, &LAYOUTS);
    shared_tiles(&*gpu, BF16, &LAYOUTS);
    shared_tiles(&*gpu, TF32, &LAYOUTS[..1]);
}
