//! General products, C ← α · op(A) · op(B) + β · C: layouts, leading dimensions, batches and factors, on the emulator and,
//! where there is one, on a GPU.

#[path = "common/gpu.rs"]
mod gpu;

use bytemuck::{Pod, bytes_of};
use kernels_gpu::ampere::choose::{DGEMM, Instances, Request, SGEMM};
use kernels_gpu::ampere::gemm::{Gemm, partials_pitch};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use warpladder::check;
use warpladder::element::Element;
use warpladder::engine::emulator::EmulatorEngine;
use warpladder::engine::{Arg, Buffer, Dim3, Engine, Launch};
use warpladder::ptx;

/// The generation whose module holds the kernels, times ten.
const COMPUTE_CAPABILITY: u32 = 80;

/// Sizes that meet edges of every tile, short sides, and parts of k.
const EXTENTS: [[u32; 3]; 7] = [
    [1, 1, 1],
    [33, 31, 17],
    [130, 70, 40],
    [5, 300, 64],
    [257, 3, 129],
    [1, 40, 700],
    [64, 64, 0],
];

/// One general product.
struct Case<T> {
    instances: &'static Instances,
    gemm: Gemm<T>,
    batch: u32,
    a: Vec<T>,
    b: Vec<T>,
    c: Vec<T>,
}

impl<T: Element + std::fmt::Debug> Case<T> {
    /// A random one, with `padding` elements between rows and between matrices. What is not to be read holds NaN.
    fn new(
        instances: &'static Instances,
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
            instances,
            gemm: Gemm {
                m,
                n,
                k,
                lda: rows_a[1] + padding,
                ldb: rows_b[1] + padding,
                ldc: n + padding,
                transpose_a: transposed[0].into(),
                transpose_b: transposed[1].into(),
                splits: 1,
                k_per_split: k,
                stride_a: stride(rows_a),
                stride_b: stride(rows_b),
                stride_c: stride([m, n]),
                alpha: T::from_f64(alpha),
                beta: T::from_f64(beta),
            },
            batch,
            a,
            b,
            c,
        }
    }

    /// Computes it on an engine.
    fn run(&self, engine: &dyn Engine) -> Vec<T> {
        let Gemm { m, n, k, .. } = self.gemm;
        let whole = |leading: u32, extent: u32, stride: u64| {
            let per_vector = 16 / self.instances.element_bytes;
            leading.is_multiple_of(per_vector)
                && extent.is_multiple_of(per_vector)
                && stride.is_multiple_of(u64::from(per_vector))
        };
        let along =
            |transposed: u32, plain: u32, other: u32| if transposed == 0 { plain } else { other };
        let extents = [m, n, k];
        let choice = self.instances.choose(&Request {
            extents,
            transposed: [self.gemm.transpose_a != 0, self.gemm.transpose_b != 0],
            vectors: [
                whole(
                    self.gemm.lda,
                    along(self.gemm.transpose_a, k, m),
                    self.gemm.stride_a,
                ),
                whole(
                    self.gemm.ldb,
                    along(self.gemm.transpose_b, n, k),
                    self.gemm.stride_b,
                ),
            ],
            batch: self.batch,
            multiprocessors: engine.multiprocessors(),
            shared_bytes: 99 << 10,
        });
        let gemm = Gemm {
            splits: choice.splits,
            k_per_split: choice.k_per_split,
            ..self.gemm
        };
        // SAFETY: a `repr(C)` struct of 64 bytes and two elements has no padding.
        let parameters = unsafe {
            std::slice::from_raw_parts(std::ptr::from_ref(&gemm).cast::<u8>(), size_of_val(&gemm))
        };
        let buffer = |elements: &[T]| {
            let buffer = Buffer::new(engine, size_of_val(elements)).unwrap();
            buffer.upload(elements).unwrap();
            buffer
        };
        let (a, b, c) = (buffer(&self.a), buffer(&self.b), buffer(&self.c));
        let parts = u64::from(self.batch) * u64::from(choice.splits) * u64::from(m);
        let partials = parts as usize * partials_pitch(n) * size_of::<T>();
        let partials = Buffer::new(engine, partials).unwrap();
        let launch =
            |entry: &str, grid: [u64; 3], threads: u32, shared_bytes: u32, args: &[Arg<'_>]| {
                let text = ptx::module(COMPUTE_CAPABILITY).only(entry);
                engine
                    .run(&Launch {
                        kernel: engine.load(&text, entry).unwrap(),
                        grid: Dim3::from(grid.map(|extent| extent as u32)),
                        block: Dim3::new(threads, 1, 1),
                        shared_bytes,
                        args,
                    })
                    .unwrap_or_else(|error| panic!("{error}"));
            };
        let args = [
            Arg::Ptr(a.ptr()),
            Arg::U64(self.a.len() as u64),
            Arg::Ptr(b.ptr()),
            Arg::U64(self.b.len() as u64),
            Arg::Ptr(c.ptr()),
            Arg::Ptr(partials.ptr()),
            Arg::Bytes(parameters),
        ];
        launch(
            choice.entry,
            choice.grid,
            choice.threads,
            choice.shared_bytes,
            &args,
        );
        if choice.splits > 1 {
            let (grid, threads) = self.instances.reduce_launch(extents, self.batch);
            let args = [
                Arg::Ptr(partials.ptr()),
                Arg::Ptr(c.ptr()),
                Arg::Bytes(parameters),
            ];
            launch(self.instances.reduce, grid, threads, 0, &args);
        }
        let mut output = self.c.clone();
        c.download(&mut output).unwrap();
        output
    }

    /// Compares every element with the same product in f64; padding must be what it was.
    fn check(&self, output: &[T]) -> Result<(), String> {
        let Gemm {
            m,
            n,
            k,
            lda,
            ldb,
            ldc,
            ..
        } = self.gemm;
        let (alpha, beta): (f64, f64) = (self.gemm.alpha.into(), self.gemm.beta.into());
        let tolerance = check::product_tolerance::<T>(k as usize + 2) * (alpha.abs() + beta.abs());
        let mut expected: Vec<f64> = self.c.iter().map(|&element| element.into()).collect();
        for matrix in 0..u64::from(self.batch) {
            for i in 0..m {
                for j in 0..n {
                    let mut sum = 0.0;
                    for l in 0..k {
                        let at =
                            |stride: u64, leading: u32, transposed: u32, row: u32, column: u32| {
                                let (row, column) = if transposed == 0 {
                                    (row, column)
                                } else {
                                    (column, row)
                                };
                                (matrix * stride
                                    + u64::from(row) * u64::from(leading)
                                    + u64::from(column)) as usize
                            };
                        let a: f64 =
                            self.a[at(self.gemm.stride_a, lda, self.gemm.transpose_a, i, l)].into();
                        let b: f64 =
                            self.b[at(self.gemm.stride_b, ldb, self.gemm.transpose_b, l, j)].into();
                        sum += a * b;
                    }
                    let place =
                        matrix * self.gemm.stride_c + u64::from(i) * u64::from(ldc) + u64::from(j);
                    let old = expected[place as usize];
                    expected[place as usize] =
                        alpha * sum + if beta == 0.0 { 0.0 } else { beta * old };
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

fn all<T: Element + Pod + std::fmt::Debug>(engine: &dyn Engine, instances: &'static Instances) {
    let mut cases = 0;
    for extents in EXTENTS {
        for transposed in [[false, false], [false, true], [true, false], [true, true]] {
            for (padding, batch, factors) in
                [(0, 1, [1.0, 0.0]), (3, 2, [-0.5, 2.0]), (4, 1, [2.0, 0.0])]
            {
                let case = Case::<T>::new(instances, extents, transposed, padding, batch, factors);
                let output = case.run(engine);
                if let Err(difference) = case.check(&output) {
                    panic!(
                        "{extents:?}, transposed {transposed:?}, padding {padding}, {batch} in the batch, {factors:?}: {difference}"
                    );
                }
                cases += 1;
            }
        }
    }
    println!(
        "{} cases of {} on {}",
        cases,
        bytes_of(&T::NAN).len(),
        engine.device_name()
    );
}

#[test]
fn f32_products_are_right_in_every_layout() {
    all::<f32>(&EmulatorEngine::new(), &SGEMM);
}

#[test]
fn f64_products_are_right_in_every_layout() {
    all::<f64>(&EmulatorEngine::new(), &DGEMM);
}

#[test]
fn and_on_a_gpu() {
    let Some(gpu) = gpu::open() else {
        return;
    };
    if gpu.compute_capability() < COMPUTE_CAPABILITY {
        println!("skipped: {} has no asynchronous copies", gpu.device_name());
        return;
    }
    all::<f32>(&*gpu, &SGEMM);
    all::<f64>(&*gpu, &DGEMM);
}
