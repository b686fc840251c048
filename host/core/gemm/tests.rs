//! Products with options, on the emulator, beside f64.

mod fusion;
mod gated;
mod group_planning;
mod grouped;
mod planning;

use super::{Activation, BiasAxis, PlanError, Precision, Tf32};
use crate::device::ComputeCapability;
use crate::gpu::{DeviceMatrix, Error, GemmOptions, Gpu, Layout};
use half::{bf16, f16};

/// Numbers of a linear congruential generator (Knuth, MMIX).
struct Numbers(u64);

impl Numbers {
    /// From 0 to 1.
    fn unit(&mut self) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// From -1 to 1.
    fn signed(&mut self) -> f64 {
        2.0 * self.unit() - 1.0
    }
}

fn matrix<T: bytemuck::Pod>(
    gpu: &Gpu,
    layout: Layout,
    values: impl FnMut(usize) -> T,
) -> (Vec<T>, DeviceMatrix<T>) {
    let values: Vec<T> = (0..layout.rows * layout.columns).map(values).collect();
    let array = gpu.upload(&values).unwrap();
    (values, DeviceMatrix::new(array, layout).unwrap())
}

fn element<T: Copy>(values: &[T], layout: Layout, i: usize, j: usize) -> T {
    values[i * layout.row_stride + j * layout.column_stride]
}

fn layouts(rows: usize, columns: usize) -> [Layout; 2] {
    [
        Layout::row_major(rows, columns),
        Layout::column_major(rows, columns),
    ]
}

#[test]
fn what_no_kernel_does_is_refused_by_name() {
    let gpu = Gpu::emulated();
    let a = gpu.zeros::<f32>(8, 8).unwrap();
    let mut c = gpu.zeros::<f32>(8, 8).unwrap();
    let mut refused = |options: &GemmOptions<'_, f32>| {
        let result = gpu.gemm_with(options, 1.0, a.view(), a.view(), 0.0, c.view_mut());
        result.unwrap_err()
    };
    let options = GemmOptions {
        activation: Activation::Relu,
        ..GemmOptions::default()
    };
    assert!(matches!(
        refused(&options),
        Error::Plan(PlanError::Fusion { .. })
    ));
    let split = GemmOptions {
        precision: Precision::F32Split,
        ..GemmOptions::default()
    };
    for generation in [ComputeCapability::new(12, 0), ComputeCapability::new(3, 5)] {
        let options = GemmOptions {
            generation: Some(generation),
            ..split
        };
        let error = refused(&options);
        assert!(
            matches!(error, Error::Plan(PlanError::Generation { .. })),
            "{error}"
        );
    }
    let options = GemmOptions {
        generation: Some(ComputeCapability::V7_0),
        ..split
    };
    assert!(matches!(
        refused(&options),
        Error::Plan(PlanError::Precision { .. })
    ));
    let bias = gpu.upload(&[0.0_f32; 7]).unwrap();
    let options = GemmOptions {
        bias: Some((BiasAxis::Row, &bias)),
        ..split
    };
    assert!(matches!(
        refused(&options),
        Error::Bias {
            elements: 8,
            given: 7
        }
    ));
    let residual = gpu.zeros::<f32>(8, 9).unwrap();
    let options = GemmOptions {
        residual: Some(residual.view()),
        ..split
    };
    assert!(matches!(refused(&options), Error::Residual { .. }));
}

/// Products of every layout, with rows that start at multiples of 16 bytes and at others, of sizes
/// that meet the edges of both tiles and of k-tiles, with few and with many work units.
fn every_layout_is_right<T>(round: fn(f64) -> T, options: GemmOptions<'_, f32>)
where
    T: super::GemmInto<f32, Output = f32> + Into<f64>,
{
    let gpu = Gpu::emulated();
    let sizes = [
        [1, 1, 1],
        [16, 8, 24],
        [72, 136, 40],
        [33, 31, 17],
        [130, 200, 1],
        [264, 136, 72],
        [8, 16, 1000],
        [64, 70, 0],
    ];
    let mut numbers = Numbers(11);
    for extents @ [m, n, k] in sizes {
        for (turn, [a_columns, b_columns]) in
            [[0, 0], [0, 1], [1, 0], [1, 1]].into_iter().enumerate()
        {
            let layout_a = layouts(m, k)[a_columns];
            let layout_b = layouts(k, n)[b_columns];
            let layout_c = layouts(m, n)[turn / 2];
            let (a, on_device_a) = matrix(&gpu, layout_a, |_| round(numbers.signed()));
            let (b, on_device_b) = matrix(&gpu, layout_b, |_| round(numbers.signed()));
            let (old, mut c) = matrix(&gpu, layout_c, |_| numbers.signed() as f32);
            let [alpha, beta] = [1.5, -0.5];
            let [view_a, view_b] = [on_device_a.view(), on_device_b.view()];
            gpu.gemm_with(&options, alpha, view_a, view_b, beta, c.view_mut())
                .unwrap();
            let found = c.into_array().download().unwrap();
            for i in 0..m {
                for j in 0..n {
                    let mut sum = 0.0;
                    for l in 0..k {
                        let left: f64 = element(&a, layout_a, i, l).into();
                        let right: f64 = element(&b, layout_b, l, j).into();
                        sum += left * right;
                    }
                    let old = f64::from(element(&old, layout_c, i, j));
                    let expected = f64::from(alpha) * sum + f64::from(beta) * old;
                    let found = f64::from(element(&found, layout_c, i, j));
                    let tolerance = 2.0 * crate::check::tensor_tolerance(k + 2);
                    assert!(
                        (found - expected).abs() <= tolerance,
                        "{} {extents:?} {a_columns} {b_columns} at {i}, {j}: {found}, not {expected}",
                        T::NAME
                    );
                }
            }
        }
    }
}

#[test]
fn every_layout_of_every_element_is_right() {
    let generation = Some(ComputeCapability::V8_0);
    let options = GemmOptions {
        generation,
        ..GemmOptions::default()
    };
    every_layout_is_right::<f16>(f16::from_f64, options);
    every_layout_is_right::<bf16>(bf16::from_f64, options);
    let tf32 = |x: f64| Tf32(f32::from_bits((x as f32).to_bits() & !0x1fff));
    every_layout_is_right::<Tf32>(tf32, options);
    let split = GemmOptions {
        precision: Precision::F32Split,
        ..options
    };
    every_layout_is_right::<f32>(|x| x as f32, split);
}

/// Products whose every access is watched: of vectors and of elements, by several splits of k, with
/// operators, and with the fallback of split f32.
fn nothing_is_found<T>(round: fn(f64) -> T, options: GemmOptions<'_, f32>, scale: f64)
where
    T: super::GemmInto<f32, Output = f32>,
{
    let extents = [[136, 72, 40], [33, 31, 17], [64, 64, 1000]];
    nothing_is_found_of(round, options, scale, &extents);
}

fn nothing_is_found_of<T>(
    round: fn(f64) -> T,
    options: GemmOptions<'_, f32>,
    scale: f64,
    extents: &[[usize; 3]],
) where
    T: super::GemmInto<f32, Output = f32>,
{
    let gpu = Gpu::sanitized();
    let mut numbers = Numbers(5);
    for (turn, &[m, n, k]) in extents.iter().enumerate() {
        let [layout_a, layout_b] = [layouts(m, k)[turn % 2], layouts(k, n)[turn / 2 % 2]];
        let (_, a) = matrix(&gpu, layout_a, |_| round(scale * numbers.signed()));
        let (_, b) = matrix(&gpu, layout_b, |_| round(numbers.signed()));
        let (_, residual) = matrix(&gpu, Layout::row_major(m, n), |_| 1.0_f32);
        let (_, mut c) = matrix(&gpu, Layout::row_major(m, n), |_| 1.0_f32);
        let bias = gpu.upload(&vec![1.0_f32; n]).unwrap();
        for fuses in [false, true] {
            let options = GemmOptions {
                bias: fuses.then_some((BiasAxis::Column, &bias)),
                residual: fuses.then_some(residual.view()),
                ..options
            };
            gpu.gemm_with(&options, 1.0, a.view(), b.view(), 0.5, c.view_mut())
                .unwrap();
        }
    }
    gpu.synchronize().unwrap();
    let findings = gpu.findings();
    assert!(findings.is_empty(), "{}: {findings:?}", T::NAME);
}

#[test]
fn sanitizers_find_nothing() {
    let options = GemmOptions {
        generation: Some(ComputeCapability::V8_0),
        ..GemmOptions::default()
    };
    nothing_is_found::<f16>(f16::from_f64, options, 1.0);
    nothing_is_found::<Tf32>(|x| Tf32(x as f32), options, 1.0);
    let split = GemmOptions {
        precision: Precision::F32Split,
        ..options
    };
    nothing_is_found::<f32>(|x| x as f32, split, 1.0);
    nothing_is_found::<f32>(|x| x as f32, split, 1e-38);
}

/// The same by warpgroups, with a source that TMA loads and one that it cannot, and with tiles of
/// which a part is outside of A or B. Some blocks begin with such a tile, others reach one later.
#[test]
fn sanitizers_find_nothing_in_products_by_warpgroups() {
    let options = GemmOptions {
        generation: Some(ComputeCapability::V9_0),
        ..GemmOptions::default()
    };
    let extents = [
        [192, 320, 40],
        [136, 72, 130],
        [33, 31, 17],
        [320, 200, 72],
        [64, 64, 1000],
        [1096, 1032, 24],
    ];
    nothing_is_found_of::<bf16>(bf16::from_f64, options, 1.0, &extents);
    nothing_is_found_of::<Tf32>(|x| Tf32(x as f32), options, 1.0, &extents);
}

/// Largest and mean error of a product, each over the sum of magnitudes of the terms.
fn errors(
    gpu: &Gpu,
    options: &GemmOptions<'_, f32>,
    [a, b]: [&[f32]; 2],
    [m, n, k]: [usize; 3],
) -> [f64; 2] {
    let mut c = gpu.zeros::<f32>(m, n).unwrap();
    let layouts = [Layout::row_major(m, k), Layout::column_major(k, n)];
    let [on_a, on_b] = [(a, layouts[0]), (b, layouts[1])]
        .map(|(values, layout)| DeviceMatrix::new(gpu.upload(values).unwrap(), layout).unwrap());
    gpu.gemm_with(options, 1.0, on_a.view(), on_b.view(), 0.0, c.view_mut())
        .unwrap();
    let layout = c.layout();
    let found = c.into_array().download().unwrap();
    let (mut largest, mut total) = (0.0_f64, 0.0);
    for i in 0..m {
        for j in 0..n {
            let (mut sum, mut low, mut magnitude) = (0.0_f64, 0.0, 0.0);
            for l in 0..k {
                let product = f64::from(a[i * k + l]) * f64::from(b[j * k + l]);
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
            let found = f64::from(element(&found, layout, i, j));
            let error = (found - (sum + low)).abs();
            // A difference below the least f32 is none.
            let relative = error / magnitude.max(f64::from(f32::MIN_POSITIVE));
            largest = largest.max(relative);
            total += relative;
        }
    }
    [largest, total / (m * n) as f64]
}

#[test]
fn split_f32_is_as_accurate_as_fused_multiply_adds() {
    type Draw = fn(&mut Numbers, usize) -> f64;
    let distributions: [(&str, Draw); 5] = [
        ("uniform from 0 to 1", |numbers, _| numbers.unit()),
        ("uniform from -1 to 1", |numbers, _| numbers.signed()),
        ("normal", |numbers, _| {
            let radius = (-2.0 * (1.0 - numbers.unit()).ln()).sqrt();
            radius * (std::f64::consts::TAU * numbers.unit()).cos()
        }),
        ("log-uniform over 2^±20", |numbers, _| {
            let sign = numbers.signed().signum();
            sign * (40.0 * numbers.unit() - 20.0).exp2()
        }),
        // Neighbours along k cancel but for their last bits.
        ("cancelling", |numbers, index| {
            let sign = if index % 2 == 0 { 1.0 } else { -1.0 };
            sign * (1.0 + numbers.unit() / 1024.0)
        }),
    ];
    let gpu = Gpu::emulated();
    let ks: &[usize] = match std::env::var("WARPLADDER_TEST").as_deref() {
        Ok("full") => &[64, 1000, 8192, 65536],
        _ => &[64, 1000, 8192],
    };
    for &k in ks {
        for (name, draw) in distributions {
            let extents @ [m, n, _] = [19, 21, k];
            let mut numbers = Numbers(k as u64);
            let mut operand = |rows: usize| -> Vec<f32> {
                let draw = |index| draw(&mut numbers, index) as f32;
                (0..rows * k).map(draw).collect()
            };
            let (a, b) = (operand(m), operand(n));
            let split = GemmOptions {
                precision: Precision::F32Split,
                ..GemmOptions::default()
            };
            let plain = errors(&gpu, &GemmOptions::default(), [&a, &b], extents);
            let split = errors(&gpu, &split, [&a, &b], extents);
            println!(
                "k {k:5} {name:23}: plain {:.2e} {:.2e}, split {:.2e} {:.2e}",
                plain[0], plain[1], split[0], split[1]
            );
            assert!(split[1] <= 1.25 * plain[1], "{name}, k {k}: the mean error");
            assert!(
                split[0] <= 2.0 * plain[0],
                "{name}, k {k}: the largest error"
            );
        }
    }
}

#[test]
fn split_f32_falls_back_where_terms_are_not_exact() {
    let gpu = Gpu::emulated();
    let extents @ [m, n, k] = [70, 33, 50];
    let split = GemmOptions {
        precision: Precision::F32Split,
        ..GemmOptions::default()
    };
    let mut numbers = Numbers(3);
    let mut draw = |count: usize, scale: f64| -> Vec<f32> {
        (0..count)
            .map(|_| (numbers.signed() * scale) as f32)
            .collect()
    };
    // Elements near the least f32 times large ones, and the other way round.
    for exponents in [[-140, 100], [-130, 120], [110, -135], [-105, 60]] {
        let [scale_a, scale_b] = exponents.map(|exponent| f64::from(exponent).exp2());
        let (a, b) = (draw(m * k, scale_a), draw(n * k, scale_b));
        let [largest, _] = errors(&gpu, &split, [&a, &b], extents);
        let [plain, _] = errors(&gpu, &GemmOptions::default(), [&a, &b], extents);
        println!("2^{exponents:?}: split {largest:e}, plain {plain:e}");
        assert!(
            largest < 2e-6 || largest <= plain,
            "2^{exponents:?}: {largest:e}"
        );
    }
    // The largest floats, which round up to no bfloat16, and infinities: as by multiply-adds.
    for special in [f32::MAX, f32::INFINITY, f32::NAN] {
        let (mut a, b) = (draw(m * k, 0.5), draw(n * k, 0.5));
        a[5 * k + 7] = special;
        let [layout_a, layout_b] = [Layout::row_major(m, k), Layout::column_major(k, n)];
        let product = |options: &GemmOptions<'_, f32>| {
            let a = DeviceMatrix::new(gpu.upload(&a).unwrap(), layout_a).unwrap();
            let b = DeviceMatrix::new(gpu.upload(&b).unwrap(), layout_b).unwrap();
            let mut c = gpu.zeros::<f32>(m, n).unwrap();
            gpu.gemm_with(options, 1.0, a.view(), b.view(), 0.0, c.view_mut())
                .unwrap();
            c.into_array().download().unwrap()
        };
        let (plain, split) = (product(&GemmOptions::default()), product(&split));
        for (index, (plain, split)) in plain.iter().zip(&split).enumerate() {
            let same = plain.to_bits() == split.to_bits()
                || plain.is_nan() && split.is_nan()
                || (plain - split).abs() <= 1e-5 * plain.abs().max(1.0);
            assert!(same, "{special} at {index}: {split}, not {plain}");
        }
    }
}
