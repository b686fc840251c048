//! Products with options, on the emulator, beside f64.

use super::{
    Activation, BiasAxis, Description, DeviceLimits, GemmInput, PlanError, Precision, Tf32,
};
use crate::device::ComputeCapability;
use crate::gemm::tuning::Choices;
use crate::gpu::{DeviceArray, DeviceMatrix, Error, GemmOptions, Gpu, Layout};
use crate::plan::PlannedLaunch;
use crate::ptx;
use half::{bf16, f16};
use kernels_gpu::gemm::planner::{Decomposition, KernelSet};
use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::process::Command;

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

/// Φ(x) as a sum of the error function's series, or of its continued fraction (Abramowitz and
/// Stegun, 7.1.5 and 7.1.14).
fn normal_distribution(x: f64) -> f64 {
    let z = x.abs() / std::f64::consts::SQRT_2;
    let upper = if z < 3.0 {
        let (mut term, mut sum) = (z, z);
        for n in 1..200 {
            let n = f64::from(n);
            term *= -z * z / n;
            sum += term / (2.0 * n + 1.0);
        }
        0.5 - sum / std::f64::consts::PI.sqrt()
    } else {
        let mut fraction = z;
        for n in (1..100).rev() {
            fraction = z + f64::from(n) / 2.0 / fraction;
        }
        0.5 * (-z * z).exp() / std::f64::consts::PI.sqrt() / fraction
    };
    if x < 0.0 { upper } else { 1.0 - upper }
}

fn activate(activation: Activation, x: f64) -> f64 {
    match activation {
        Activation::None => x,
        Activation::Relu => x.max(0.0),
        Activation::Gelu => x * normal_distribution(x),
        Activation::GeluTanh => {
            let y = (2.0 / std::f64::consts::PI).sqrt() * (x + 0.044_715 * x * x * x);
            0.5 * x * (1.0 + y.tanh())
        }
        Activation::Silu => x / (1.0 + (-x).exp()),
    }
}

/// The errors that [`gelu`](kernels_gpu::gemm::epilogue::fusion::gelu) states.
#[test]
fn gelu_is_as_accurate_as_it_says() {
    for step in -6000..=6000 {
        let x = step as f32 / 1000.0;
        let exact = f64::from(x) * normal_distribution(x.into());
        let found = f64::from(kernels_gpu::gemm::epilogue::fusion::gelu(x));
        let bound = if x.abs() <= 4.0 { 2e-6 } else { 5e-6 };
        assert!(
            (found - exact).abs() <= bound * exact.abs(),
            "{x}: {found}, not {exact}"
        );
    }
}

/// Infinity and numbers whose exponentials overflow meet no 0 and no infinity: only NaN gives NaN.
#[test]
fn activations_of_extreme_values() {
    use kernels_gpu::gemm::epilogue::fusion::{gelu, gelu_tanh, silu};
    for activation in [gelu, gelu_tanh, silu] {
        for x in [130.0, 1e4, 1e20, f32::MAX, f32::INFINITY] {
            assert_eq!(activation(x), x);
            let of_negative = activation(-x);
            assert!(of_negative.abs() < 1e-5, "of {}: {of_negative}", -x);
        }
        assert_eq!(activation(-f32::INFINITY), 0.0);
        assert_eq!(activation(0.0), 0.0);
        assert!(activation(f32::NAN).is_nan());
    }
}

/// Every operator, into a C of either orientation, of f32 or of the type of A and B.
fn operators_are_fused<T, O>(
    [m, n, k]: [usize; 3],
    round: fn(f64) -> T,
    round_c: fn(f64) -> O,
    options: GemmOptions<'_, O>,
) where
    T: super::GemmInto<O, Output = f32> + Into<f64>,
    O: bytemuck::Pod + Into<f64>,
{
    let gpu = Gpu::emulated();
    let activations = [
        Activation::None,
        Activation::Relu,
        Activation::Gelu,
        Activation::GeluTanh,
        Activation::Silu,
    ];
    let mut numbers = Numbers(7);
    let [layout_a, layout_b] = [Layout::row_major(m, k), Layout::column_major(k, n)];
    let (a, on_device_a) = matrix(&gpu, layout_a, |_| round(numbers.signed()));
    let (b, on_device_b) = matrix(&gpu, layout_b, |_| round(numbers.signed()));
    for (turn, activation) in activations.into_iter().enumerate() {
        let layout = layouts(m, n)[turn % 2];
        let (before, mut c) = matrix(&gpu, layout, |_| round_c(numbers.signed()));
        let (residual, on_device_r) = matrix(&gpu, layout, |_| round_c(numbers.signed()));
        let axis = [BiasAxis::Column, BiasAxis::Row][turn / 2 % 2];
        let elements = if axis == BiasAxis::Row { m } else { n };
        let bias: Vec<O> = (0..elements).map(|_| round_c(numbers.signed())).collect();
        let on_device_bias: DeviceArray<O> = gpu.upload(&bias).unwrap();
        let options = GemmOptions {
            bias: (turn != 1).then_some((axis, &on_device_bias)),
            activation,
            residual: (turn != 3).then_some(on_device_r.view()),
            ..options
        };
        let [alpha, beta] = [0.5, if turn == 2 { 0.0 } else { -2.0 }];
        gpu.gemm_with(
            &options,
            alpha,
            on_device_a.view(),
            on_device_b.view(),
            beta,
            c.view_mut(),
        )
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
                let old: f64 = element(&before, layout, i, j).into();
                let mut x = f64::from(alpha) * sum + f64::from(beta) * old;
                if turn != 1 {
                    x += bias[if axis == BiasAxis::Row { i } else { j }].into();
                }
                let mut expected = activate(activation, x);
                if turn != 3 {
                    expected += element(&residual, layout, i, j).into();
                }
                let found: f64 = element(&found, layout, i, j).into();
                let rounding =
                    expected.abs().max(0.1) * if size_of::<O>() == 2 { 0.004 } else { 1e-6 };
                assert!(
                    (found - expected).abs() < 2e-5 + rounding,
                    "{} {activation:?} at {i}, {j}: {found}, not {expected}",
                    T::NAME
                );
            }
        }
    }
}

#[test]
fn operators_are_fused_with_every_element_type() {
    let small = [37, 70, 41];
    let old = Some(ComputeCapability::V8_0);
    operators_are_fused::<f16, f32>(small, f16::from_f64, |x| x as f32, GemmOptions::default());
    operators_are_fused::<f16, f16>(small, f16::from_f64, f16::from_f64, GemmOptions::default());
    let options = GemmOptions {
        generation: old,
        ..GemmOptions::default()
    };
    operators_are_fused::<bf16, bf16>(small, bf16::from_f64, bf16::from_f64, options);
    // Several tiles, of which some are at an edge of C.
    for extents in [[129, 300, 200], [200, 31, 1025]] {
        let options = GemmOptions::default();
        operators_are_fused::<bf16, bf16>(extents, bf16::from_f64, bf16::from_f64, options);
        let options = GemmOptions::default();
        operators_are_fused::<bf16, f32>(extents, bf16::from_f64, |x| x as f32, options);
    }
    let tf32 = |x: f64| Tf32(f32::from_bits((x as f32).to_bits() & !0x1fff));
    operators_are_fused::<Tf32, f32>(small, tf32, |x| x as f32, GemmOptions::default());
    let split = GemmOptions {
        precision: Precision::F32Split,
        ..GemmOptions::default()
    };
    operators_are_fused::<f32, f32>(small, |x| x as f32, |x| x as f32, split);
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
    let gpu = Gpu::sanitized();
    let mut numbers = Numbers(5);
    for (turn, [m, n, k]) in [[136, 72, 40], [33, 31, 17], [64, 64, 1000]]
        .into_iter()
        .enumerate()
    {
        let [layout_a, layout_b] = [layouts(m, k)[turn % 2], layouts(k, n)[turn / 2]];
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

/// Plans of random problems.
fn random_plans<T: GemmInput>(device: DeviceLimits, count: usize, seed: u64) {
    let mut numbers = Numbers(seed);
    for _ in 0..count {
        let mut extent = |most: f64| (numbers.unit() * most.log2()).exp2() as u32;
        let extents @ [m, n, k] = [extent(20_000.0), extent(20_000.0), extent(100_000.0)];
        let bits = (numbers.unit() * 64.0) as u32;
        let transposed = [bits & 1 != 0, bits & 2 != 0];
        let mut product = Description::<T>::dense(extents, transposed);
        if bits & 4 != 0 {
            product.leading = product.leading.map(|leading| leading + bits % 9);
        }
        if bits & 8 != 0 {
            product.batch = 1 + bits % 5;
            let [rows_a, rows_b] = [
                if transposed[0] { k } else { m },
                if transposed[1] { n } else { k },
            ];
            let stride = |rows: u32, leading: u32| u64::from(rows) * u64::from(leading);
            product.strides = [
                stride(rows_a, product.leading[0]),
                stride(rows_b, product.leading[1]),
                stride(m, product.leading[2]),
            ];
        }
        product.aligned[0] = bits & 16 == 0;
        let kernels = product.kernels(device).unwrap();
        let problem = product.problem(device);
        let planned = super::plan(&product, device, &Choices::default()).unwrap();
        assert!(!planned.launches.is_empty());
        for (clocks, plan) in kernels.candidates(&problem) {
            assert!(clocks.is_finite() && clocks > 0.0, "{extents:?} {plan:?}");
            let Some(tile) = kernels.tiles.iter().find(|tile| tile.entry == plan.entry) else {
                continue;
            };
            let [bm, bn, bk] = tile.tile;
            let tiles = u64::from(m.div_ceil(bm)) * u64::from(n.div_ceil(bn));
            let batch = u64::from(product.batch);
            let blocks: u64 = plan.grid.iter().product();
            // The blocks are those of the tiles, and the splits of a tile cover k once.
            match plan.decomposition {
                Decomposition::DataParallel => assert_eq!(blocks, tiles * batch),
                Decomposition::SplitK { splits, split_k } => {
                    assert_eq!(blocks, tiles * batch * u64::from(splits));
                    assert!(u64::from(splits) * u64::from(split_k) >= u64::from(k));
                    assert!(u64::from(splits - 1) * u64::from(split_k) < u64::from(k));
                    assert!(!kernels.takes_fusion || split_k.is_multiple_of(bk));
                }
                Decomposition::StreamK(stream_k) => {
                    let [parallel, cut] = [stream_k.data_parallel_tiles, stream_k.tiles];
                    assert_eq!(u64::from(parallel) + u64::from(cut), tiles);
                    assert_eq!(
                        blocks,
                        u64::from(parallel) + u64::from(cut * stream_k.splits)
                    );
                    let last =
                        stream_k.first_split_k + (stream_k.splits - 2) * stream_k.other_split_k;
                    assert!(
                        last < k && last + stream_k.other_split_k >= k,
                        "{plan:?} {k}"
                    );
                    assert!(!kernels.takes_fusion || stream_k.first_split_k.is_multiple_of(bk));
                }
            }
        }
    }
}

#[test]
fn random_problems_are_planned_and_their_work_units_cover_c() {
    let seed = 20_261_125;
    let count = 250;
    for capability in [70, 75, 80, 86, 89, 90, 100, 120] {
        for multiprocessors in [1, 40, 132] {
            let device = DeviceLimits::new(multiprocessors, ComputeCapability::from(capability));
            let seed = seed + u64::from(capability + multiprocessors);
            random_plans::<f32>(device, count, seed);
            random_plans::<f64>(device, count, seed);
            random_plans::<f16>(device, count, seed);
            random_plans::<Tf32>(device, count, seed);
        }
    }
    println!("{} problems, seed {seed}", 4 * 8 * 3 * count);
}

#[test]
fn a_device_has_the_shared_memory_of_the_lesser_of_itself_and_the_generation() {
    let of = |device: u32, asked: u32| {
        let device = DeviceLimits::new(1, ComputeCapability::from(device));
        device.with_generation(Some(ComputeCapability::from(asked)))
    };
    for (device, asked, kib) in [
        (86, 80, 99),
        (89, 80, 99),
        (90, 80, 163),
        (90, 86, 99),
        (90, 90, 227),
        (100, 80, 163),
        (120, 75, 64),
    ] {
        let bytes = of(device, asked).unwrap().shared_bytes();
        assert_eq!(bytes, kib << 10, "{asked} on {device}");
    }
    // The kernels of 9.0 run on no other.
    let own = cfg!(feature = "sm_90a").then_some((100, 90));
    for (device, asked) in [(80, 90), (90, 100), (90, 50)].into_iter().chain(own) {
        let refused = of(device, asked).unwrap_err();
        assert!(matches!(refused, PlanError::Generation { .. }), "{refused}");
    }
    let own = DeviceLimits::new(1, ComputeCapability::V9_0);
    assert_eq!(own.with_generation(None), Ok(own));
}

#[test]
fn kernels_of_an_older_generation_fit_the_device() {
    for (device, asked) in [(86, 80), (89, 80), (120, 80), (75, 70)] {
        let device = DeviceLimits::new(68, ComputeCapability::from(device));
        let own = device.shared_bytes();
        let device = device.with_generation(Some(asked.into())).unwrap();
        for extents in [[4096; 3], [1000, 1001, 999], [64, 64, 100_000]] {
            let launches = [
                plan_of::<f32>(device, extents),
                plan_of::<f64>(device, extents),
                plan_of::<f16>(device, extents),
                plan_of::<Tf32>(device, extents),
            ];
            for launch in launches.into_iter().flatten() {
                assert!(launch.shared_bytes <= own, "{}", launch.entry);
            }
        }
    }
}

fn plan_of<T: GemmInput>(device: DeviceLimits, extents: [u32; 3]) -> Vec<PlannedLaunch> {
    let product = Description::<T>::dense(extents, [false, true]);
    let plan = super::plan(&product, device, &Choices::default());
    plan.unwrap().launches
}

/// `ptxas`: the one of `WARPLADDER_PTXAS`, or the first on the path.
fn ptxas() -> Option<PathBuf> {
    let named = std::env::var_os("WARPLADDER_PTXAS").map(PathBuf::from);
    named.or_else(|| {
        let path = std::env::var_os("PATH")?;
        let mut programs = std::env::split_paths(&path).map(|folder| folder.join("ptxas"));
        programs.find(|program| program.is_file())
    })
}

/// The kernels that a product of `T` may be planned with on a compute capability.
fn kernel_sets<T: GemmInput>(capability: ComputeCapability) -> Vec<&'static KernelSet> {
    let mut sets: Vec<_> = [false, true]
        .into_iter()
        .flat_map(|c_16bit| {
            let fusing = T::fusing_kernels(capability, c_16bit);
            [Some(T::kernels(capability, c_16bit)), fusing]
        })
        .flatten()
        .collect();
    sets.extend(T::split_kernels(capability));
    sets
}

/// 32-bit registers of a multiprocessor (CUDA programming guide, "Compute Capabilities").
const REGISTERS: u32 = 65_536;

#[test]
fn kernels_of_every_generation_assemble_without_spills_and_fit() {
    let Some(ptxas) = ptxas() else {
        println!("skipped: no ptxas on the path, nor in WARPLADDER_PTXAS");
        return;
    };
    let folder = std::env::temp_dir().join(format!("warpladder-ptxas-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let capabilities: &[u32] = match std::env::var("WARPLADDER_TEST").as_deref() {
        Ok("full" | "sample") => &[75, 80, 86, 89, 120],
        _ => &[75, 86],
    };
    for &number in capabilities {
        let capability = ComputeCapability::from(number);
        let device = DeviceLimits::new(1, capability);
        let sets = [
            kernel_sets::<f16>(capability),
            kernel_sets::<bf16>(capability),
            kernel_sets::<Tf32>(capability),
            kernel_sets::<f32>(capability),
            kernel_sets::<f64>(capability),
        ];
        let sets: Vec<_> = sets.into_iter().flatten().collect();
        let tiles: HashMap<_, _> = sets
            .iter()
            .flat_map(|set| set.tiles.iter())
            .map(|tile| (tile.entry, tile))
            .collect();
        let mut modules: HashMap<u32, HashSet<&str>> = HashMap::new();
        for (entry, module) in sets.iter().flat_map(|set| set.entries()) {
            modules.entry(module).or_default().insert(entry);
        }
        let of_warps: HashSet<&str> = sets
            .iter()
            .filter(|set| set.takes_fusion)
            .flat_map(|set| set.tiles.iter().map(|tile| tile.entry))
            .collect();
        let mut assembled = 0;
        for (module, entries) in modules {
            let module = ptx::find(ComputeCapability::from(module)).unwrap();
            let source = folder.join(format!("{}.ptx", module.name));
            std::fs::write(&source, module.text()).unwrap();
            let output = Command::new(&ptxas)
                .arg(format!("-arch=sm_{number}"))
                .arg("-v")
                .arg(&source)
                .arg("-o")
                .arg(folder.join("assembled"))
                .output()
                .unwrap();
            let report = String::from_utf8_lossy(&output.stderr);
            if report.contains("is not defined for option 'gpu-name'") {
                println!("skipped: this ptxas does not know sm_{number}");
                continue;
            }
            assert!(output.status.success(), "sm_{number}: {report}");
            for kernel in report.split("Compiling entry function '").skip(1) {
                let (entry, rest) = kernel.split_once('\'').unwrap();
                if !entries.contains(entry) {
                    continue;
                }
                let before = |what: &str| -> u32 {
                    let at = rest
                        .find(what)
                        .unwrap_or_else(|| panic!("{what}: {report}"));
                    let digits = rest[..at].rsplit(|c: char| !c.is_ascii_digit());
                    digits.into_iter().next().unwrap().parse().unwrap()
                };
                assert_eq!(before(" bytes spill stores"), 0, "{entry} on sm_{number}");
                if let Some(tile) = tiles.get(entry) {
                    let registers = before(" registers").next_multiple_of(8);
                    assert!(
                        tile.threads * registers <= REGISTERS,
                        "{entry} on sm_{number}"
                    );
                    // The planner leaves out what does not fit; of these kernels all do.
                    let fits = tile.shared_bytes <= device.shared_bytes();
                    assert!(fits || !of_warps.contains(entry), "{entry} on sm_{number}");
                }
                assembled += 1;
            }
        }
        println!("sm_{number}: {assembled} kernels");
        assert!(assembled > 0 || number == 120);
    }
    std::fs::remove_dir_all(&folder).unwrap();
}
