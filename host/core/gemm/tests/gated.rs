//! Gated linear units, beside f64.

use super::fusion::activate;
use super::{Numbers, element, layouts, matrix};
use crate::device::ComputeCapability;
use crate::gemm::{Activation, BiasAxis, GemmInto, PlanError, Precision, Tf32};
use crate::gpu::{DeviceMatrix, Error, GemmOptions, Gpu, Layout};
use half::{bf16, f16};

/// How numbers become elements of the operands and of C.
type Rounding<T, O> = (fn(f64) -> T, fn(f64) -> O);

/// Gates of every orientation of operands and C, whose C holds NaN before.
fn is_right<T, O>(
    gpu: &Gpu,
    extents: &[[usize; 3]],
    (round, round_c): Rounding<T, O>,
    (generation, precision): (Option<ComputeCapability>, Precision),
) where
    T: GemmInto<O, Output = f32> + Into<f64>,
    O: bytemuck::Pod + Into<f64>,
{
    let mut numbers = Numbers(3);
    let activations = [Activation::Silu, Activation::Gelu, Activation::Relu];
    for (turn, &[m, n, k]) in extents.iter().enumerate() {
        let layout_a = layouts(m, k)[turn % 2];
        let [of_gate, of_up] = [layouts(k, n)[turn / 2 % 2], layouts(k, n)[turn % 2]];
        let layout = layouts(m, n)[turn / 3 % 2];
        let activation = activations[turn % 3];
        let (a, on_device_a) = matrix(gpu, layout_a, |_| round(numbers.signed()));
        let (gate, on_device_gate) = matrix(gpu, of_gate, |_| round(numbers.signed()));
        let (up, on_device_up) = matrix(gpu, of_up, |_| round(numbers.signed()));
        let (_, mut c) = matrix(gpu, layout, |_| round_c(f64::NAN));
        let bias: Vec<O> = (0..n).map(|_| round_c(numbers.signed())).collect();
        let on_device_bias = gpu.upload(&bias).unwrap();
        let options = GemmOptions {
            activation,
            bias: Some((BiasAxis::Column, &on_device_bias)),
            generation,
            precision,
            ..GemmOptions::default()
        };
        let both = [on_device_gate.view(), on_device_up.view()];
        gpu.gated_gemm_with(&options, on_device_a.view(), both, c.view_mut())
            .unwrap();
        let found = c.into_array().download().unwrap();
        for i in 0..m {
            for (j, &bias) in bias.iter().enumerate() {
                let [mut x, mut factor] = [bias.into(), 0.0];
                for l in 0..k {
                    let left: f64 = element(&a, layout_a, i, l).into();
                    x += left * element(&gate, of_gate, l, j).into();
                    factor += left * element(&up, of_up, l, j).into();
                }
                let expected = activate(activation, x) * factor;
                let found: f64 = element(&found, layout, i, j).into();
                // A · up and C are rounded, each once.
                let rounding = match size_of::<O>() {
                    2 => 0.008 * expected.abs() + 1e-4,
                    _ => 2e-5 * expected.abs().max(1.0),
                };
                assert!(
                    (found - expected).abs() <= rounding,
                    "{} {m} x {n} x {k} {activation:?} at {i}, {j}: {found}, not {expected}",
                    T::NAME
                );
            }
        }
    }
}

const SMALL: &[[usize; 3]] = &[
    [1, 1, 1],
    [37, 71, 40],
    [16, 8, 0],
    [64, 72, 96],
    [33, 31, 17],
];

#[test]
fn gated_products_are_right_on_every_generation_that_fuses() {
    let gpu = Gpu::emulated();
    // C that TMA stores and C that it cannot store, of several tiles of which some are at an edge.
    let large = [[200, 264, 136], [130, 301, 72], [136, 200, 65]];
    let native = Precision::Native;
    let [newest, ampere] = [None, Some(ComputeCapability::V8_0)].map(|of| (of, native));
    for sizes in [SMALL, &large] {
        is_right::<bf16, bf16>(&gpu, sizes, (bf16::from_f64, bf16::from_f64), newest);
    }
    is_right::<f16, f16>(&gpu, SMALL, (f16::from_f64, f16::from_f64), ampere);
    is_right::<f16, f16>(&gpu, SMALL, (f16::from_f64, f16::from_f64), newest);
    let f32 = |x: f64| x as f32;
    is_right::<bf16, f32>(&gpu, &large, (bf16::from_f64, f32), newest);
    is_right::<f16, f32>(&gpu, SMALL, (f16::from_f64, f32), newest);
    is_right::<bf16, f32>(&gpu, SMALL, (bf16::from_f64, f32), ampere);
    let tf32 = |x: f64| Tf32(f32::from_bits((x as f32).to_bits() & !0x1fff));
    is_right::<Tf32, f32>(&gpu, SMALL, (tf32, f32), newest);
    is_right::<f32, f32>(&gpu, SMALL, (f32, f32), (None, Precision::F32Split));
}

#[test]
fn sanitizers_find_nothing_in_gated_products() {
    let gpu = Gpu::sanitized();
    let sizes = [[37, 71, 40], [72, 136, 64]];
    let [newest, ampere] = [None, Some(ComputeCapability::V8_0)].map(|of| (of, Precision::Native));
    is_right::<bf16, bf16>(&gpu, &sizes, (bf16::from_f64, bf16::from_f64), newest);
    is_right::<f16, f32>(&gpu, &sizes, (f16::from_f64, |x| x as f32), newest);
    is_right::<f16, f16>(&gpu, &sizes, (f16::from_f64, f16::from_f64), ampere);
    assert_eq!(gpu.findings(), []);
}

/// Gate and up side by side in one matrix, of each matrix of a batch.
#[test]
fn gates_are_views_of_one_matrix() {
    let gpu = Gpu::emulated();
    let [m, n, k, batch] = [24, 40, 32, 3];
    let ones = vec![f16::from_f32(0.25); batch * m * k];
    let a = gpu.upload(&ones).unwrap();
    let weights: Vec<f16> = (0..k * 2 * n)
        .map(|at| f16::from_f32(if at % (2 * n) < n { -0.5 } else { 0.75 }))
        .collect();
    let weights = gpu.upload(&weights).unwrap();
    let half = |offset| Layout {
        offset,
        ..Layout::row_major(k, n).leading(2 * n)
    };
    let [gate, up] = [0, n].map(|offset| weights.matrix(half(offset)).unwrap());
    let of = |rows, columns| Layout::row_major(rows, columns).batched(batch, rows * columns);
    let mut c = DeviceMatrix::new(
        gpu.upload(&vec![f32::NAN; batch * m * n]).unwrap(),
        of(m, n),
    )
    .unwrap();
    let a = a.matrix(of(m, k)).unwrap();
    gpu.gated_gemm(Activation::Relu, a, [gate, up], c.view_mut())
        .unwrap();
    assert_eq!(c.into_array().download().unwrap(), [0.0; 3 * 24 * 40]);
    let mut c = gpu.upload(&vec![f32::NAN; batch * m * n]).unwrap();
    let c_view = c.matrix_mut(of(m, n)).unwrap();
    gpu.gated_gemm(Activation::Relu, a, [up, gate], c_view)
        .unwrap();
    assert_eq!(c.download().unwrap(), [-24.0; 3 * 24 * 40]);
}

/// What no kernel fuses is refused by name, before anything is stored.
#[test]
fn gates_that_no_kernel_fuses_leave_c_as_it_was() {
    let gpu = Gpu::emulated();
    let a = gpu.zeros::<f64>(8, 8).unwrap();
    let mut c = gpu.upload(&[3.0_f64; 64]).unwrap();
    let into = c.matrix_mut(Layout::row_major(8, 8)).unwrap();
    let refused = gpu.gated_gemm(Activation::Silu, a.view(), [a.view(), a.view()], into);
    assert!(matches!(
        refused,
        Err(Error::Plan(PlanError::Fusion { element: "f64", .. }))
    ));
    assert_eq!(c.download().unwrap(), [3.0; 64]);
    let half = gpu.zeros::<f16>(8, 8).unwrap();
    let mut c = gpu.zeros::<f16>(8, 8).unwrap();
    let options = GemmOptions {
        generation: Some(ComputeCapability::V7_0),
        activation: Activation::Silu,
        ..GemmOptions::default()
    };
    let both = [half.view(), half.view()];
    let refused = gpu.gated_gemm_with(&options, half.view(), both, c.view_mut());
    let refused = refused.unwrap_err().to_string();
    assert!(refused.contains("no kernel fuses operators"), "{refused}");
}
