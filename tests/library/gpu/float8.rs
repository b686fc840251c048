//! Products of 8-bit floats. Most elements are small integers, whose sums are exact, so that each
//! element of C has one right value.

use super::eight_bit::{Matrix, SIZES, layouts, sum};
use half::{bf16, f16};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use warpladder::device::ComputeCapability;
use warpladder::element::Element;
use warpladder::gemm::{Activation, E4m3, E5m2, Float8, GemmInto, PlanError};
use warpladder::gpu::{DeviceMatrix, Error, GemmOptions, Gpu, Layout, Scaling};

/// Small integers of either format.
fn small<T: Float8>(rng: &mut StdRng, new: fn(f32) -> T) -> T {
    new(rng.random_range(-4..=4) as f32)
}

/// How numbers become elements of A and of B.
type Rounded<A, B> = (fn(f32) -> A, fn(f32) -> B);

fn floats_are_multiplied<A, B, O>(gpu: &Gpu, new: Rounded<A, B>)
where
    A: Float8 + GemmInto<O> + Into<f64>,
    B: Float8 + Into<f64>,
    O: Element,
{
    let mut rng = StdRng::seed_from_u64(8);
    let scale_a = gpu.upload(&[0.5_f32]).unwrap();
    let scale_b = gpu.upload(&[-4.0_f32]).unwrap();
    for (turn, extents) in SIZES.into_iter().enumerate() {
        let [m, n, _] = extents;
        let ways = layouts(extents, turn % 3).into_iter().enumerate();
        // Each size in two of the four ways.
        for (way, [of_a, of_b]) in ways.skip(turn % 2).step_by(2) {
            let a = Matrix::new(gpu, of_a, || small(&mut rng, new.0));
            let b = Matrix::new(gpu, of_b, || small(&mut rng, new.1));
            let of_c = [Layout::row_major(m, n), Layout::column_major(m, n)][way / 2];
            let mut c = Matrix::new(gpu, of_c, || {
                O::from_f64(f64::from(rng.random_range(-8..8)))
            });
            let before = c.elements.clone();
            let is_scaled = turn % 2 == 1;
            let options = GemmOptions {
                scaling: match is_scaled {
                    true => Scaling::Tensor {
                        a: &scale_a,
                        b: &scale_b,
                    },
                    false => Scaling::None,
                },
                fast_accumulation: turn % 3 == 2,
                ..GemmOptions::default()
            };
            let [alpha, beta] = [0.125, if way % 2 == 0 { 0.0 } else { 2.0 }];
            gpu.gemm_float8(
                &options,
                alpha,
                a.view(),
                b.view(),
                beta,
                c.on_device.view_mut(),
            )
            .unwrap();
            let c = c.downloaded();
            let factor = f64::from(alpha) * if is_scaled { -2.0 } else { 1.0 };
            for (i, j) in (0..m).flat_map(|i| (0..n).map(move |j| (i, j))) {
                let exact = sum((&a, &b), [0, i, j], |a: A, b: B, _| a.into() * b.into());
                let at = of_c.row_stride * i + of_c.column_stride * j;
                let old: f64 = before[at].into();
                let expected = O::from_f64(factor * exact + f64::from(beta) * old);
                let (found, expected): (f64, f64) = (c.elements[at].into(), expected.into());
                assert_eq!(found, expected, "{extents:?} {of_a} {of_b} at {i}, {j}");
            }
        }
    }
}

#[test]
fn floats_of_all_formats_are_multiplied() {
    let gpu = Gpu::emulated();
    floats_are_multiplied::<E4m3, E4m3, f32>(&gpu, (E4m3::from_f32, E4m3::from_f32));
    floats_are_multiplied::<E4m3, E5m2, bf16>(&gpu, (E4m3::from_f32, E5m2::from_f32));
    floats_are_multiplied::<E5m2, E4m3, f16>(&gpu, (E5m2::from_f32, E4m3::from_f32));
    floats_are_multiplied::<E5m2, E5m2, f32>(&gpu, (E5m2::from_f32, E5m2::from_f32));
}

#[test]
fn sums_are_promoted_unless_fast_accumulation_is_asked_for() {
    let gpu = Gpu::emulated();
    let mut rng = StdRng::seed_from_u64(9);
    let [m, n, k] = [17, 33, 4096];
    let of_b = Layout::column_major(k, n);
    let a = Matrix::new(&gpu, Layout::row_major(m, k), || {
        E4m3::from_f32(rng.random_range(0.5..2.0))
    });
    let b = Matrix::new(&gpu, of_b, || E4m3::from_f32(rng.random_range(0.5..2.0)));
    let errors = [false, true].map(|fast_accumulation| {
        let options = GemmOptions {
            fast_accumulation,
            ..GemmOptions::default()
        };
        let mut c = gpu.zeros::<f32>(m, n).unwrap();
        gpu.gemm_with(&options, 1.0, a.view(), b.view(), 0.0, c.view_mut())
            .unwrap();
        let c = c.download().unwrap();
        let errors = (0..m)
            .flat_map(|i| (0..n).map(move |j| (i, j)))
            .map(|(i, j)| {
                let exact = sum((&a, &b), [0, i, j], |a: E4m3, b: E4m3, _| {
                    f64::from(a) * f64::from(b)
                });
                (f64::from(c[(i, j)]) - exact).abs() / exact
            });
        errors.fold(0.0, f64::max)
    });
    let [promoted, fast] = errors;
    assert!(
        promoted < 1e-3 && fast < 2e-2 && fast > 3.0 * promoted,
        "{errors:?}"
    );
}

#[test]
fn blocks_have_scales_of_their_own() {
    let gpu = Gpu::emulated();
    let mut rng = StdRng::seed_from_u64(10);
    for ([m, n, k], batch) in [
        ([1_usize, 1_usize, 1_usize], 1),
        ([37, 259, 300], 1),
        ([130, 70, 513], 2),
    ] {
        let [of_k, of_n] = [k.div_ceil(128), n.div_ceil(128)];
        let of_a = Layout::row_major(m, k).batched(batch, m * k);
        let of_b = Layout::row_major(k, n).batched(batch, k * n);
        let a = Matrix::new(&gpu, of_a, || small(&mut rng, E4m3::from_f32));
        let b = Matrix::new(&gpu, of_b, || small(&mut rng, E4m3::from_f32));
        // Powers of two leave partial products exact.
        let of_scales_a = Layout::column_major(m, of_k).batched(batch, m * of_k);
        let of_scales_b = Layout::row_major(of_k, of_n).batched(batch, of_k * of_n);
        let mut power = || f32::exp2(rng.random_range(-2..=2) as f32);
        let scales_a = Matrix::new(&gpu, of_scales_a, &mut power);
        let scales_b = Matrix::new(&gpu, of_scales_b, &mut power);
        let options = GemmOptions {
            scaling: Scaling::Block {
                a: scales_a.view(),
                b: scales_b.view(),
            },
            ..GemmOptions::default()
        };
        let of_c = Layout::row_major(m, n).batched(batch, m * n);
        let mut c = Matrix::new(&gpu, of_c, || f32::NAN);
        gpu.gemm_with(
            &options,
            1.0,
            a.view(),
            b.view(),
            0.0,
            c.on_device.view_mut(),
        )
        .unwrap();
        let c = c.downloaded();
        for (matrix, i) in (0..batch).flat_map(|matrix| (0..m).map(move |i| (matrix, i))) {
            for j in 0..n {
                let expected = sum((&a, &b), [matrix, i, j], |a: E4m3, b: E4m3, l| {
                    let scale_a = scales_a.at(matrix, i, l / 128);
                    let scale_b = scales_b.at(matrix, l / 128, j / 128);
                    f64::from(a) * f64::from(b) * f64::from(scale_a) * f64::from(scale_b)
                });
                let found = f64::from(c.at(matrix, i, j));
                assert_eq!(found, expected, "{m} {n} {k}: {matrix} {i} {j}");
            }
        }
    }
}

/// With the kernels of an older generation.
fn old<O>(capability: ComputeCapability) -> GemmOptions<'static, O> {
    GemmOptions {
        generation: Some(capability),
        ..GemmOptions::default()
    }
}

#[test]
fn factors_of_integers_and_old_devices_are_refused_by_name() {
    let gpu = Gpu::emulated();
    let a = gpu.zeros::<i8>(8, 8).unwrap();
    let mut c = gpu.zeros::<i32>(8, 8).unwrap();
    for factors in [[2.0, 0.0], [1.0, 0.5], [f32::NAN, 0.0]] {
        let refused = gpu.gemm(factors[0], a.view(), a.view(), factors[1], c.view_mut());
        assert!(
            matches!(refused, Err(Error::Plan(PlanError::Factors { .. }))),
            "{refused:?}"
        );
    }
    let options = old(ComputeCapability::V7_0);
    let refused = gpu.gemm_with(&options, 1.0, a.view(), a.view(), 0.0, c.view_mut());
    assert!(
        matches!(refused, Err(Error::Plan(PlanError::Element { .. }))),
        "{refused:?}"
    );
}

#[test]
fn scales_that_do_not_match_are_refused_by_name() {
    let gpu = Gpu::emulated();
    let a = gpu.zeros::<E4m3>(8, 200).unwrap();
    let b = gpu.zeros::<E4m3>(200, 8).unwrap();
    let lying = |layout| {
        let array = gpu.upload(&[0.0_f32; 64]).unwrap();
        DeviceMatrix::new(array, layout).unwrap()
    };
    let mut c = lying(Layout::row_major(8, 8));
    let mut refused = |options: &GemmOptions<'_, f32>| {
        let result = gpu.gemm_with(options, 1.0, a.view(), b.view(), 0.0, c.view_mut());
        result.unwrap_err().to_string()
    };
    let text = refused(&old(ComputeCapability::V8_0));
    assert!(text.contains("8-bit floats need 9.0"), "{text}");
    let activation = Activation::Relu;
    let text = refused(&GemmOptions {
        activation,
        ..GemmOptions::default()
    });
    assert!(
        text.contains("fuses operators with products of e4m3"),
        "{text}"
    );
    let two = gpu.upload(&[1.0_f32; 2]).unwrap();
    let scaling = Scaling::Tensor { a: &two, b: &two };
    let text = refused(&GemmOptions {
        scaling,
        ..GemmOptions::default()
    });
    assert!(text.contains("the scales of A are 2 x 1"), "{text}");
    let scales = gpu.zeros::<f32>(8, 1).unwrap();
    let scaling = Scaling::Block {
        a: scales.view(),
        b: scales.view(),
    };
    let text = refused(&GemmOptions {
        scaling,
        ..GemmOptions::default()
    });
    assert!(text.contains("the product needs 8 x 2"), "{text}");

    let scales = [
        gpu.zeros::<f32>(8, 2).unwrap(),
        gpu.zeros::<f32>(2, 1).unwrap(),
    ];
    let scaling = Scaling::Block {
        a: scales[0].view(),
        b: scales[1].view(),
    };
    let options = GemmOptions {
        scaling,
        ..GemmOptions::default()
    };
    let mut c = lying(Layout::column_major(8, 8));
    let result = gpu.gemm_with(&options, 1.0, a.view(), b.view(), 0.0, c.view_mut());
    assert!(matches!(result, Err(Error::ScalesOfColumns)), "{result:?}");

    let a = gpu.zeros::<f32>(8, 8).unwrap();
    let one = gpu.upload(&[1.0_f32]).unwrap();
    let scaling = Scaling::Tensor { a: &one, b: &one };
    let options = GemmOptions {
        scaling,
        ..GemmOptions::default()
    };
    let result = gpu.gemm_with(&options, 1.0, a.view(), a.view(), 0.0, c.view_mut());
    assert!(
        matches!(result, Err(Error::Plan(PlanError::Scales { .. }))),
        "{result:?}"
    );
}
