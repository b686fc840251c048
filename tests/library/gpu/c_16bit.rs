//! Products of elements of 16 bits, into a C of `f32` and into one of their type.

use super::SIZES;
use half::{bf16, f16};
use nalgebra::{DMatrix, Scalar};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use warpladder::check::{self, Tolerance};
use warpladder::element::Element;
use warpladder::gemm::GemmInto;
use warpladder::gpu::{Gpu, Layout};

fn random<T: Element + Scalar>(rng: &mut StdRng, rows: usize, columns: usize) -> DMatrix<T> {
    DMatrix::from_fn(rows, columns, |_, _| {
        T::from_f64(rng.random_range(-1.0..1.0))
    })
}

fn wide<T: Element + Scalar>(matrix: &DMatrix<T>) -> DMatrix<f64> {
    matrix.map(Into::into)
}

/// Compares a C of sums over k with what it should be, up to the rounding of its elements where it
/// is narrow.
#[track_caller]
fn assert_near<C: Element + Scalar>(found: &DMatrix<C>, expected: &DMatrix<f64>, k: usize) {
    assert_eq!(found.shape(), expected.shape());
    let tolerance = Tolerance {
        sum: check::tensor_tolerance(k + 2) * 3.0,
        rounding: if size_of::<C>() == 2 {
            C::UNIT_ROUNDOFF
        } else {
            0.0
        },
    };
    for (found, expected) in found.iter().zip(expected) {
        let found: f64 = (*found).into();
        // Not "greater": NaN must fail.
        assert!(
            (found - expected).abs() <= tolerance.of(*expected),
            "{found} is not {expected}, with k = {k}"
        );
    }
}

/// In all ways to lie; again with matrices in other places, and with what the product before has
/// left.
fn products<T, C>(gpu: &Gpu)
where
    T: GemmInto<C, Output = f32> + Element + Scalar,
    C: Element + Scalar,
{
    let mut rng = StdRng::seed_from_u64(3);
    for [m, n, k] in SIZES {
        let (a, b) = (random::<T>(&mut rng, m, k), random::<T>(&mut rng, k, n));
        let expected = wide(&a) * wide(&b);
        let c: DMatrix<C> = gpu.matmul(&a, &b).unwrap();
        assert_near(&c, &expected, k);
        let rows: Vec<T> = a.transpose().as_slice().to_vec();
        let c: Vec<C> = gpu
            .matmul_slices(
                (&rows, Layout::row_major(m, k)),
                (b.as_slice(), Layout::row_major(n, k).transposed()),
            )
            .unwrap();
        assert_near(&DMatrix::from_row_slice(m, n, &c), &expected, k);

        let (at, bt) = (a.transpose(), b.transpose());
        let device = [&a, &b, &at, &bt].map(|matrix| gpu.upload_matrix(matrix).unwrap());
        let [a, b, at, bt] = &device;
        let mut c = gpu.zeros::<C>(m, n).unwrap();
        for (a, b, beta) in [
            (a.view(), b.view(), 0.0),
            (at.t(), b.view(), 1.0),
            (a.view(), bt.t(), 0.5),
            (at.t(), bt.t(), -2.0),
        ] {
            let old = c.download().unwrap();
            gpu.gemm(-1.5, a, b, beta, c.view_mut()).unwrap();
            let expected = &expected * -1.5 + wide(&old) * f64::from(beta);
            assert_near(&c.download().unwrap(), &expected, k);
        }
    }
}

/// A batch into a part of a larger array, which begins anywhere: what lies between its rows and
/// matrices stays as it was.
fn batches<T, C>(gpu: &Gpu)
where
    T: GemmInto<C, Output = f32> + Element + Scalar,
    C: Element + Scalar,
{
    let mut rng = StdRng::seed_from_u64(5);
    let [m, n, k, batch] = [37, 41, 19, 3];
    let a: Vec<DMatrix<T>> = (0..batch).map(|_| random(&mut rng, m, k)).collect();
    let b: DMatrix<T> = random(&mut rng, k, n);
    let all: Vec<T> = a.iter().flatten().copied().collect();
    let all = gpu.upload(&all).unwrap();
    let of_a = Layout::column_major(m, k).batched(batch, m * k);
    let of_b = gpu.upload_matrix(&b).unwrap();
    // At odd elements, and at multiples of 16 bytes.
    for (start, leading) in [(1, 43), (8, 48)] {
        let stride = m * leading + 8;
        let layout = Layout::row_major(m, n)
            .leading(leading)
            .at(start)
            .batched(batch, stride);
        let mut array = gpu.upload(&vec![C::NAN; layout.end() + 7]).unwrap();
        gpu.gemm(
            1.0,
            all.matrix(of_a).unwrap(),
            of_b.view(),
            0.0,
            array.matrix_mut(layout).unwrap(),
        )
        .unwrap();
        let mut c = array.download().unwrap();
        for (index, a) in a.iter().enumerate() {
            let place = |i, j| start + stride * index + leading * i + j;
            let found = DMatrix::from_fn(m, n, |i, j| c[place(i, j)]);
            assert_near(&found, &(wide(a) * wide(&b)), k);
            for i in 0..m {
                for j in 0..n {
                    c[place(i, j)] = C::NAN;
                }
            }
        }
        let overwritten = c.iter().position(|&value| !value.into().is_nan());
        assert_eq!(overwritten, None, "from {start} on, rows {leading} apart");
    }
}

pub fn all(gpu: &Gpu) {
    products::<f16, f32>(gpu);
    products::<f16, f16>(gpu);
    products::<bf16, f32>(gpu);
    products::<bf16, bf16>(gpu);
    batches::<f16, f16>(gpu);
    batches::<bf16, bf16>(gpu);
}
