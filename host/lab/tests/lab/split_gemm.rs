//! GEMM of f32 in terms of bf16, by warpgroups and by warps: layouts, leading dimensions, batches,
//! factors, errors, and elements outside of the range of terms, on the emulator and, where there is
//! one, on a GPU.

use crate::common::drawn::Drawn;
use crate::common::gemm::{LAYOUTS, RandomGemm};
use crate::common::gpu;
use kernels_gpu::gemm::planner::{Decomposition, GemmPlan};
use ptx_emulator::sanitize::Tool;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::collections::HashSet;
use test_sample::Sample;
use warpladder::check;
use warpladder::engine::emulator::EmulatorEngine;
use warpladder::engine::{Engine, EngineKind};
use warpladder::gemm::tuning::Choices;
use warpladder::gemm::{self, DeviceLimits, HOPPER, Precision};
use warpladder::plan::Plan;

/// Sizes that meet edges of tiles, of stages and of vectors, and splits of k.
const EXTENTS: [[u32; 3]; 8] = [
    [1, 1, 1],
    [33, 31, 17],
    [130, 72, 40],
    [257, 3, 129],
    [7, 200, 67],
    [64, 64, 0],
    [100, 60, 1000],
    [136, 200, 64],
];

type Case = RandomGemm<f32, f32>;

fn case(extents: [u32; 3], transposed: [bool; 2], padding: u32, batch: u32, beta: f64) -> Case {
    let round = |value| value as f32;
    let mut case = Case::new(extents, transposed, padding, batch, [1.5, beta], round);
    case.product.precision = Precision::F32Split;
    case
}

/// The plans by warpgroups: of every kernel, and every way to split k.
fn by_warpgroups(case: &Case, multiprocessors: u32) -> Vec<GemmPlan> {
    let device = DeviceLimits::new(multiprocessors, HOPPER);
    let kernels = case.product.kernels(device).unwrap();
    let mut seen = HashSet::new();
    let problem = case.product.problem(device);
    let candidates = kernels.candidates(&problem).map(|(_, choice)| choice);
    candidates
        .filter(|choice| choice.entry.starts_with("wgmma"))
        .filter(|choice| {
            let reduction = choice
                .decomposition
                .stream_k()
                .map(|split| split.reduction as u32);
            seen.insert((choice.entry, reduction))
        })
        .collect()
}

fn planned(case: &Case, choice: &GemmPlan) -> Plan {
    gemm::plan_choice(&case.product, DeviceLimits::new(4, HOPPER), choice)
}

/// Elements of A or B by these indices, in the order in which they are multiplied.
type Draw = fn(&mut StdRng, u32) -> f64;

/// Sets the elements of A and B.
fn draw(case: &mut Case, draw: Draw) {
    let mut rng = StdRng::seed_from_u64(7);
    let k = case.product.extents[2];
    for operand in [&mut case.a, &mut case.b] {
        for (index, element) in operand.iter_mut().enumerate() {
            *element = draw(&mut rng, index as u32 % k.max(1)) as f32;
        }
    }
}

/// Largest and mean error of elements of C, each over the sum of the magnitudes of its terms.
fn errors(case: &Case, output: &[f32]) -> [f64; 2] {
    let [m, n, k] = case.product.extents.map(|extent| extent as usize);
    let (mut largest, mut total) = (0.0_f64, 0.0);
    for i in 0..m {
        for j in 0..n {
            let (mut sum, mut low, mut magnitude) = (0.0_f64, 0.0, 0.0);
            for l in 0..k {
                let product = f64::from(case.a[i * k + l]) * f64::from(case.b[j * k + l]);
                // Neumaier's compensated sum.
                let next = sum + product;
                low += if sum.abs() >= product.abs() {
                    (sum - next) + product
                } else {
                    (product - next) + sum
                };
                sum = next;
                magnitude += product.abs();
            }
            let error = (f64::from(output[i * n + j]) - (sum + low)).abs();
            let relative = error / magnitude.max(f64::from(f32::MIN_POSITIVE));
            largest = largest.max(relative);
            total += relative;
        }
    }
    [largest, total / (m * n) as f64]
}

/// The product of A and B by a chain of fused multiply-adds for each element of C, as libraries
/// have them that do not split k.
fn chains(case: &Case) -> Vec<f32> {
    let [m, n, k] = case.product.extents.map(|extent| extent as usize);
    let element = |index: usize| {
        let (a, b) = (&case.a[index / n * k..], &case.b[index % n * k..]);
        let pairs = a.iter().zip(b).take(k);
        pairs.fold(0.0_f32, |sum, (a, b)| a.mul_add(*b, sum))
    };
    (0..m * n).map(element).collect()
}

/// The product of these operands by `sgemm`.
fn plain(engine: &dyn Engine, case: &Case) -> Vec<f32> {
    let product = gemm::Description {
        precision: Precision::Native,
        ..case.product
    };
    let plan = gemm::plan(&product, DeviceLimits::new(4, HOPPER), &Choices::new()).unwrap();
    case.run(engine, plan, 1).remove(0)
}

fn all_layouts(engine: &dyn Engine) {
    let mut entries = HashSet::new();
    let mut cases = 0;
    for (turn, extents) in EXTENTS.into_iter().enumerate() {
        for (other, transposed) in LAYOUTS.into_iter().enumerate() {
            let (padding, batch, beta) =
                [(0, 1, 0.0), (3, 2, 2.0), (8, 1, -0.5)][(turn + other) % 3];
            let case = case(extents, transposed, padding, batch, beta);
            // On the emulator a quarter of them by turns, and each kernel once.
            for (index, choice) in by_warpgroups(&case, 4).into_iter().enumerate() {
                let is_new = entries.insert(choice.entry);
                let has_turn = (index + turn + other) % 4 == 0;
                if !is_new && !has_turn && engine.kind() != EngineKind::Gpu {
                    continue;
                }
                let plan = planned(&case, &choice);
                for output in case.run(engine, plan, 2) {
                    let k = extents[2] as usize + 2;
                    if let Err(difference) = case.check(&output, check::product_tolerance::<f32>(k))
                    {
                        panic!("{extents:?} {transposed:?} {padding} {choice:?}: {difference}");
                    }
                }
                cases += 1;
            }
        }
    }
    assert_eq!(entries.len(), 12, "{entries:?}");
    println!("{cases} products in terms on {}", engine.device_name());
}

#[test]
fn products_in_terms_are_right_in_every_layout() {
    all_layouts(&EmulatorEngine::new());
}

#[test]
fn products_in_terms_are_as_accurate_as_fused_multiply_adds() {
    let distributions: [(&str, Draw); 5] = [
        ("uniform from 0 to 1", |rng, _| rng.random_range(0.0..1.0)),
        ("uniform from -1 to 1", |rng, _| rng.random_range(-1.0..1.0)),
        ("normal", |rng, _| {
            let radius = (-2.0 * (1.0 - rng.random_range(0.0..1.0_f64)).ln()).sqrt();
            radius * (std::f64::consts::TAU * rng.random_range(0.0..1.0)).cos()
        }),
        ("log-uniform over 2^±20", |rng, _| {
            let sign = rng.random_range(-1.0..1.0_f64).signum();
            sign * rng.random_range(-20.0..20.0_f64).exp2()
        }),
        // Neighbours along k cancel but for their last bits.
        ("cancelling", |rng, l| {
            let sign = if l % 2 == 0 { 1.0 } else { -1.0 };
            sign * (1.0 + rng.random_range(0.0..1.0) / 1024.0)
        }),
    ];
    let engine = EmulatorEngine::new();
    let ks: &[u32] = match Sample::from_env().is_full() {
        true => &[64, 1000, 1024, 2048, 4096, 8192, 65536],
        false => &[64, 1000, 4096],
    };
    for &k in ks {
        for (name, elements) in distributions {
            let mut case = case([19, 21, k], [false, true], 0, 1, 0.0);
            case.product.alpha = 1.0;
            draw(&mut case, elements);
            let choices = by_warpgroups(&case, 1);
            let whole = |choice: &&GemmPlan| choice.decomposition == Decomposition::DataParallel;
            let choice = choices.iter().find(whole).unwrap();
            let found = case.run(&engine, planned(&case, choice), 1).remove(0);
            let plain = errors(&case, &chains(&case));
            let split = errors(&case, &found);
            println!(
                "k {k:5} {name:23}: plain {:.2e} {:.2e}, split {:.2e} {:.2e}",
                plain[0], plain[1], split[0], split[1]
            );
            // A short sum has few roundings to save.
            let factor = if k < 1000 { 1.5 } else { 1.0 };
            for (what, plain, split) in [
                ("largest", plain[0], split[0]),
                ("mean", plain[1], split[1]),
            ] {
                assert!(split <= factor * plain, "{name}, k {k}: the {what} error");
            }
        }
    }
}

/// Elements that have no three exact terms, or sums that are not finite.
fn outside(engine: &dyn Engine) {
    let changes: [(&str, f32, f32); 7] = [
        ("small elements of A", 1e-38, 1e30),
        ("small elements of B", 1e35, 1e-36),
        ("sums that are not finite", 1e25, 1e20),
        ("the largest f32", f32::MAX, 0.5),
        ("infinity", f32::INFINITY, 0.5),
        ("NaN", f32::NAN, 0.5),
        ("inside", 1e-20, 1e20),
    ];
    for (name, of_a, of_b) in changes {
        for transposed in [[false, true], [true, false]] {
            let mut case = case([70, 33, 50], transposed, 0, 1, 2.0);
            let is_special = !of_a.is_normal() || of_a == f32::MAX;
            if is_special {
                case.a[107] = of_a;
            } else {
                case.a.iter_mut().for_each(|element| *element *= of_a);
                case.b.iter_mut().for_each(|element| *element *= of_b);
            }
            let plain = plain(engine, &case);
            for choice in by_warpgroups(&case, 4) {
                for output in case.run(engine, planned(&case, &choice), 2) {
                    for (&found, &expected) in output.iter().zip(&plain) {
                        // The order of a sum decides whether it ends as an infinity or as NaN.
                        let infinite = !found.is_finite() && !expected.is_finite();
                        let same = found == expected || infinite;
                        let error = (found - expected).abs();
                        let near = error <= 1e-4 * of_a.min(1e30) * of_b.max(1.0) || error < 1e-4;
                        let is_right = same || expected.is_finite() && near;
                        assert!(is_right, "{name} {choice:?}: {found}, not {expected}");
                    }
                }
            }
        }
    }
}

#[test]
fn products_outside_of_the_range_of_terms_are_right() {
    outside(&EmulatorEngine::new());
}

#[test]
fn sanitizers_find_nothing_in_products_in_terms() {
    let engine = EmulatorEngine::new().with_sanitizers(&Tool::ALL);
    let drawn = Drawn::new(&engine, "products in terms under sanitizers");
    for (extents, transposed, scale) in [
        ([130, 72, 40], [false, false], 1.0),
        ([33, 31, 17], [true, true], 1.0),
        ([64, 60, 1000], [false, true], 1.0),
        ([33, 31, 17], [true, false], 1e-38),
    ] {
        let mut case = case(extents, transposed, 3, 1, 2.0);
        case.a.iter_mut().for_each(|element| *element *= scale);
        for choice in by_warpgroups(&case, 4) {
            if drawn.takes(&format!("{extents:?} {scale} {choice:?}"), false) {
                case.run(&engine, planned(&case, &choice), 2);
            }
        }
    }
    let findings = engine.findings();
    assert!(findings.is_empty(), "{findings:?}");
}

#[test]
fn and_on_a_gpu() {
    let Some(gpu) = gpu::open() else {
        return;
    };
    if DeviceLimits::of(&*gpu).compute_capability != HOPPER {
        println!("skipped: the GPU has no wgmma");
        return;
    }
    all_layouts(&*gpu);
    outside(&*gpu);
}
