//! Fused operators: bias, activation and residual behind a product, and C as a factor, beside f64.

use super::{Numbers, element, layouts, matrix};
use crate::device::ComputeCapability;
use crate::gemm::{Activation, BiasAxis, GemmInto, Precision, Source, Tf32};
use crate::gpu::{DeviceArray, GemmOptions, Gpu, Layout};
use half::{bf16, f16};

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

pub(super) fn activate(activation: Activation, x: f64) -> f64 {
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
    T: GemmInto<O, Output = f32> + Into<f64>,
    O: bytemuck::Pod + Into<f64>,
{
    let gpu = Gpu::emulated();
    // The last one has a β of 0.
    let operators = [
        (Activation::None, Source::Summand),
        (Activation::Relu, Source::Summand),
        (Activation::Gelu, Source::Summand),
        (Activation::GeluTanh, Source::Summand),
        (Activation::Silu, Source::Summand),
        (Activation::None, Source::Factor),
        (Activation::Silu, Source::Factor),
        (Activation::Gelu, Source::Factor),
    ];
    let mut numbers = Numbers(7);
    let [layout_a, layout_b] = [Layout::row_major(m, k), Layout::column_major(k, n)];
    let (a, on_device_a) = matrix(&gpu, layout_a, |_| round(numbers.signed()));
    let (b, on_device_b) = matrix(&gpu, layout_b, |_| round(numbers.signed()));
    for (turn, (activation, source)) in operators.into_iter().enumerate() {
        let layout = layouts(m, n)[turn % 2];
        let [alpha, beta] = [0.5, if [2, 7].contains(&turn) { 0.0 } else { -2.0 }];
        let (before, mut c) = matrix(&gpu, layout, |_| match beta {
            0.0 => round_c(f64::NAN),
            _ => round_c(numbers.signed()),
        });
        let (residual, on_device_r) = matrix(&gpu, layout, |_| round_c(numbers.signed()));
        let axis = [BiasAxis::Column, BiasAxis::Row][turn / 2 % 2];
        let elements = if axis == BiasAxis::Row { m } else { n };
        let bias: Vec<O> = (0..elements).map(|_| round_c(numbers.signed())).collect();
        let on_device_bias: DeviceArray<O> = gpu.upload(&bias).unwrap();
        let options = GemmOptions {
            bias: (turn != 1).then_some((axis, &on_device_bias)),
            activation,
            residual: (turn != 3).then_some(on_device_r.view()),
            source,
            ..options
        };
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
                let old = match beta {
                    0.0 => 0.0,
                    _ => f64::from(beta) * element(&before, layout, i, j).into(),
                };
                let [summand, factor] = match source {
                    Source::Summand => [old, 1.0],
                    Source::Factor => [0.0, old],
                };
                let mut x = f64::from(alpha) * sum + summand;
                if turn != 1 {
                    x += bias[if axis == BiasAxis::Row { i } else { j }].into();
                }
                let mut expected = activate(activation, x);
                if turn != 3 {
                    expected += element(&residual, layout, i, j).into();
                }
                expected *= factor;
                let found: f64 = element(&found, layout, i, j).into();
                let rounding =
                    expected.abs().max(0.1) * if size_of::<O>() == 2 { 0.004 } else { 1e-6 };
                let of_sum = 2e-5 * factor.abs().max(1.0);
                assert!(
                    (found - expected).abs() < of_sum + rounding,
                    "{} {activation:?} {source:?} at {i}, {j}: {found}, not {expected}",
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
