//! General products, C ← α · op(A) · op(B) + β · C: layouts, leading dimensions, batches and factors, by every instance that
//! takes them, on the emulator and, where there is one, on a GPU.

#[path = "common/gpu.rs"]
mod gpu;

use kernels_gpu::ampere::choose::Choice;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::collections::HashSet;
use warpladder::check;
use warpladder::engine::emulator::EmulatorEngine;
use warpladder::engine::{Buffer, Engine, EngineKind};
use warpladder::gemm::{self, Description, Device, GemmElement, Operands, Prepared};

/// Sizes that meet edges of every tile, short sides, and parts of k.
const EXTENTS: [[u32; 3]; 8] = [
    [1, 1, 1],
    [132, 68, 24],
    [33, 31, 17],
    [130, 70, 40],
    [5, 300, 64],
    [150, 3, 129],
    [1, 40, 700],
    [64, 64, 0],
];

/// One general product.
struct Case<T> {
    product: Description<T>,
    a: Vec<T>,
    b: Vec<T>,
    c: Vec<T>,
}

impl<T: GemmElement> Case<T> {
    /// A random one, with `padding` elements between rows and between matrices. What is not to be read holds NaN.
    fn new(
        [m, n, k]: [u32; 3],
        transposed: [bool; 2],
        padding: u32,
        batch: u32,
        [alpha, beta]: [f64; 2],
    ) -> Self {
        let mut rng = StdRng::seed_from_u64(u64::from(m * 31 + n * 7 + k));
        let rows_a = if transposed[0] { [k, m] } else { [m, k] };
        let rows_b = if transposed[1] { [n, k] } else { [k, n] };
        let stride = |[rows, columns]: [u32; 2]| {
            u64::from(rows) * u64::from(columns + padding) + u64::from(padding)
        };
        let mut matrices = |[rows, columns]: [u32; 2], known: bool| {
            let length = (stride([rows, columns]) * u64::from(batch)).max(1);
            let mut elements = vec![T::NAN; length as usize];
            for matrix in 0..u64::from(batch) {
                for row in 0..u64::from(rows) {
                    let start =
                        matrix * stride([rows, columns]) + row * u64::from(columns + padding);
                    for element in &mut elements[start as usize..][..columns as usize] {
                        if known {
                            *element = T::from_f64(rng.random_range(-1.0..1.0));
                        }
                    }
                }
            }
            elements
        };
        let (a, b) = (matrices(rows_a, true), matrices(rows_b, true));
        // With β = 0 BLAS does not read C.
        let c = matrices([m, n], beta != 0.0);
        Case {
            product: Description {
                extents: [m, n, k],
                transposed,
                leading: [rows_a[1] + padding, rows_b[1] + padding, n + padding],
                batch,
                strides: [stride(rows_a), stride(rows_b), stride([m, n])],
                alpha: T::from_f64(alpha),
                beta: T::from_f64(beta),
                aligned: [true; 2],
            },
            a,
            b,
            c,
        }
    }

    /// Ways to compute it: of every kernel that takes it, the first with k whole, in parts, and in cut tiles.
    fn choices(&self, device: Device) -> Vec<Choice> {
        let (instances, _) = T::instances(device.compute_capability);
        let mut seen = HashSet::new();
        let request = self.product.request(device);
        let candidates = instances.candidates(&request);
        candidates
            .map(|(_, choice)| choice)
            .filter(|choice| {
                let shares = (choice.splits > 1, choice.cut.map(|cut| cut.parts > 2));
                seen.insert((choice.entry, shares))
            })
            .collect()
    }

    /// Computes it on an engine; twice where tiles are cut, since the second launch finds the counts as the first left them.
    fn run(&self, engine: &dyn Engine, device: Device, choice: &Choice) -> Vec<Vec<T>> {
        let plan = gemm::plan_choice(&self.product, device, choice);
        let prepared = Prepared::new(engine, plan).unwrap();
        let buffer = |elements: &[T]| {
            let buffer = Buffer::new(engine, size_of_val(elements)).unwrap();
            buffer.upload(elements).unwrap();
            buffer
        };
        let (a, b) = (buffer(&self.a), buffer(&self.b));
        let workspace = prepared.workspace(engine).unwrap();
        let again = if choice.cut.is_some() { 2 } else { 1 };
        let outputs = (0..again).map(|_| {
            let c = buffer(&self.c);
            let operands = Operands {
                inputs: [
                    (a.ptr(), self.a.len() as u64),
                    (b.ptr(), self.b.len() as u64),
                ],
                output: c.ptr(),
                workspace: workspace.ptr(),
            };
            prepared
                .enqueue(engine, &operands, [self.product.alpha, self.product.beta])
                .unwrap();
            engine.synchronize().unwrap();
            let mut output = self.c.clone();
            c.download(&mut output).unwrap();
            output
        });
        outputs.collect()
    }

    /// Compares every element with the same product in f64; padding must be what it was.
    fn check(&self, output: &[T]) -> Result<(), String> {
        let Description {
            extents: [m, n, k],
            transposed,
            leading: [lda, ldb, ldc],
            batch,
            strides: [stride_a, stride_b, stride_c],
            ..
        } = self.product;
        let (alpha, beta): (f64, f64) = (self.product.alpha.into(), self.product.beta.into());
        let tolerance = check::product_tolerance::<T>(k as usize + 2) * (alpha.abs() + beta.abs());
        let mut expected: Vec<f64> = self.c.iter().map(|&element| element.into()).collect();
        let at = |start: u64, leading: u32, transposed: bool, row: u32, column: u32| {
            let (row, column) = if transposed {
                (column, row)
            } else {
                (row, column)
            };
            (start + u64::from(row) * u64::from(leading) + u64::from(column)) as usize
        };
        for matrix in 0..u64::from(batch) {
            for i in 0..m {
                for j in 0..n {
                    let mut sum = 0.0;
                    for l in 0..k {
                        let a = self.a[at(matrix * stride_a, lda, transposed[0], i, l)];
                        let b = self.b[at(matrix * stride_b, ldb, transposed[1], l, j)];
                        sum += a.into() * b.into();
                    }
                    let place = at(matrix * stride_c, ldc, false, i, j);
                    let old = expected[place];
                    expected[place] = alpha * sum + if beta == 0.0 { 0.0 } else { beta * old };
                }
            }
        }
        for (place, (&found, &expected)) in output.iter().zip(&expected).enumerate() {
            let found: f64 = found.into();
            let untouched = found.is_nan() && expected.is_nan();
            let right = (found - expected).abs() <= tolerance;
            if !untouched && !right {
                return Err(format!("element {place} is {found}, not {expected}"));
            }
        }
        Ok(())
    }
}

/// Gaps between rows and between matrices, products in the batch, α and β.
const VARIANTS: [(u32, u32, [f64; 2]); 4] = [
    (0, 1, [1.0, 0.0]),
    (3, 2, [-0.5, 2.0]),
    (3, 1, [-0.5, 2.0]),
    (4, 1, [2.0, 0.0]),
];

/// All sizes in all layouts: on a GPU in all variants, on the emulator in one of them each, by turns.
fn all<T: GemmElement>(engine: &dyn Engine, device: Device) {
    let (mut cases, mut entries) = (0, HashSet::new());
    let layouts = [[false, false], [false, true], [true, false], [true, true]];
    let turns = |turn: usize| match engine.kind() {
        EngineKind::Gpu => 0..VARIANTS.len(),
        _ => turn % VARIANTS.len()..turn % VARIANTS.len() + 1,
    };
    for (turn, extents) in EXTENTS.into_iter().enumerate() {
        for (other, transposed) in layouts.into_iter().enumerate() {
            for (padding, batch, factors) in VARIANTS[turns(turn + other)].iter().copied() {
                let case = Case::<T>::new(extents, transposed, padding, batch, factors);
                for choice in case.choices(device) {
                    for output in case.run(engine, device, &choice) {
                        if let Err(difference) = case.check(&output) {
                            panic!(
                                "{extents:?}, transposed {transposed:?}, padding {padding}, {batch} in the batch, {factors:?}, {choice:?}: {difference}"
                            );
                        }
                    }
                    entries.insert(choice.entry);
                    cases += 1;
                }
            }
        }
    }
    for tile in T::instances(device.compute_capability).0.tiles {
        let entry = tile.entry;
        assert!(entries.contains(entry), "{entry} was never tried");
    }
    println!("{cases} cases of {} on {}", T::TYPE, engine.device_name());
}

/// A device of few multiprocessors, so that small products have rounds that are full.
fn small(compute_capability: u32) -> Device {
    Device {
        multiprocessors: 2,
        compute_capability,
    }
}

#[test]
fn f32_products_are_right_in_every_layout() {
    all::<f32>(&EmulatorEngine::new(), small(90));
}

#[test]
fn f64_products_are_right_in_every_layout() {
    all::<f64>(&EmulatorEngine::new(), small(80));
    all::<f64>(&EmulatorEngine::new(), small(90));
}

#[test]
fn and_on_a_gpu() {
    let Some(gpu) = gpu::open() else {
        return;
    };
    let device = Device::of(&*gpu);
    if device.compute_capability < gemm::COMPUTE_CAPABILITY {
        println!("skipped: {} has no asynchronous copies", gpu.device_name());
        return;
    }
    for device in [device, small(device.compute_capability)] {
        all::<f32>(&*gpu, device);
        all::<f64>(&*gpu, device);
    }
}
