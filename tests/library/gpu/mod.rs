//! The library: products of nalgebra matrices, of slices, and of matrices on the device, beside
//! nalgebra's.

mod c_16bit;
mod eight_bit;
mod float8;
mod kernels;
mod streams;
mod transposes;
mod vectors;

use crate::first_gpu;
use nalgebra::{DMatrix, Matrix3x2, SMatrix};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use warpladder::check;
use warpladder::gemm::GemmElement;
use warpladder::gpu::{Error, Gpu, Layout};

/// Odd sizes among them, and such that k is split.
const SIZES: [[usize; 3]; 8] = [
    [1, 1, 1],
    [1, 31, 33],
    [31, 1, 7],
    [33, 17, 1],
    [64, 64, 64],
    [127, 65, 129],
    [16, 16, 2000],
    [2, 300, 40],
];

fn random<T: GemmElement + nalgebra::Scalar>(
    rng: &mut StdRng,
    rows: usize,
    columns: usize,
) -> DMatrix<T> {
    DMatrix::from_fn(rows, columns, |_, _| {
        T::from_f64(rng.random_range(-1.0..1.0))
    })
}

fn wide<T: GemmElement + nalgebra::Scalar>(matrix: &DMatrix<T>) -> DMatrix<f64> {
    matrix.map(Into::into)
}

#[track_caller]
fn assert_near<T: GemmElement + nalgebra::Scalar>(
    found: &DMatrix<T>,
    expected: &DMatrix<f64>,
    k: usize,
) {
    assert_eq!(found.shape(), expected.shape());
    let tolerance = check::product_tolerance::<T>(k + 2) * 3.0;
    for (found, expected) in found.iter().zip(expected) {
        let found: f64 = (*found).into();
        // Not "greater": NaN must fail.
        assert!(
            (found - expected).abs() <= tolerance,
            "{found} is not {expected}, with k = {k}"
        );
    }
}

fn products<T: GemmElement + nalgebra::Scalar>(gpu: &Gpu) {
    let mut rng = StdRng::seed_from_u64(1);
    for [m, n, k] in SIZES {
        let (a, b) = (random::<T>(&mut rng, m, k), random::<T>(&mut rng, k, n));
        let expected = wide(&a) * wide(&b);
        assert_near(&gpu.matmul(&a, &b).unwrap(), &expected, k);

        // Row-major slices, of which one lies transposed and one has gaps.
        let rows: Vec<T> = a.transpose().as_slice().to_vec();
        let c = gpu
            .matmul_slices(
                (&rows, Layout::row_major(m, k)),
                (b.as_slice(), Layout::row_major(n, k).transposed()),
            )
            .unwrap();
        assert_near(&DMatrix::from_row_slice(m, n, &c), &expected, k);

        // On the device: every way to lie, α and β, in both orders of C.
        let (at, bt) = (a.transpose(), b.transpose());
        let old = random::<T>(&mut rng, m, n);
        let [alpha, beta] = [-0.5, 2.0].map(T::from_f64);
        let expected = expected * -0.5 + wide(&old) * 2.0;
        let device = [&a, &b, &at, &bt].map(|matrix| gpu.upload_matrix(matrix).unwrap());
        let [a, b, at, bt] = &device;
        for a in [a.view(), at.t()] {
            for b in [b.view(), bt.t()] {
                let mut c = gpu.upload_matrix(&old).unwrap();
                gpu.gemm(alpha, a, b, beta, c.view_mut()).unwrap();
                assert_near(&c.download().unwrap(), &expected, k);
                let layout = Layout::row_major(m, n);
                let mut c = gpu.upload(old.transpose().as_slice()).unwrap();
                gpu.gemm(alpha, a, b, beta, c.matrix_mut(layout).unwrap())
                    .unwrap();
                let c = DMatrix::from_row_slice(m, n, &c.download().unwrap());
                assert_near(&c, &expected, k);
            }
        }
    }
}

/// Products inside of larger arrays: what is between the matrices stays as it was.
fn batches<T: GemmElement + nalgebra::Scalar>(gpu: &Gpu) {
    let mut rng = StdRng::seed_from_u64(2);
    let [m, n, k, batch] = [5, 9, 13, 3];
    let a: Vec<DMatrix<T>> = (0..batch).map(|_| random(&mut rng, m, k)).collect();
    let b: DMatrix<T> = random(&mut rng, k, n);
    let layout = Layout::column_major(m, k)
        .leading(8)
        .at(3)
        .batched(batch, 110);
    let mut values = vec![T::NAN; layout.end()];
    for (index, matrix) in a.iter().enumerate() {
        for i in 0..m {
            for j in 0..k {
                values[3 + 110 * index + i + 8 * j] = matrix[(i, j)];
            }
        }
    }
    let a_array = gpu.upload(&values).unwrap();
    let b_array = gpu.upload_matrix(&b).unwrap();
    let c_layout = Layout::row_major(m, n).leading(10).at(1).batched(batch, 60);
    let mut c_array = gpu.upload(&vec![T::NAN; c_layout.end() + 7]).unwrap();
    gpu.gemm(
        T::ONE,
        a_array.matrix(layout).unwrap(),
        b_array.view(),
        T::ZERO,
        c_array.matrix_mut(c_layout).unwrap(),
    )
    .unwrap();
    let mut c = c_array.download().unwrap();
    for (index, a) in a.iter().enumerate() {
        let place = |i, j| 1 + 60 * index + 10 * i + j;
        let found = DMatrix::from_fn(m, n, |i, j| c[place(i, j)]);
        assert_near(&found, &(wide(a) * wide(&b)), k);
        for i in 0..m {
            for j in 0..n {
                c[place(i, j)] = T::NAN;
            }
        }
    }
    assert!(c.iter().all(|&value| value.into().is_nan()));
}

fn nothing<T: GemmElement + nalgebra::Scalar>(gpu: &Gpu) {
    let product = |m, n, k| {
        let zeros = |rows, columns| DMatrix::<T>::from_element(rows, columns, T::ZERO);
        let (a, b) = (zeros(m, k), zeros(k, n));
        gpu.matmul(&a, &b).unwrap()
    };
    assert_eq!(product(0, 5, 3).shape(), (0, 5));
    assert_eq!(product(5, 0, 3).shape(), (5, 0));
    // A sum of nothing is zero, and is written.
    assert_eq!(product(5, 3, 0), DMatrix::from_element(5, 3, T::ZERO));
}

fn all(gpu: &Gpu) {
    c_16bit::all(gpu);
    products::<f32>(gpu);
    products::<f64>(gpu);
    batches::<f32>(gpu);
    batches::<f64>(gpu);
    nothing::<f32>(gpu);
    nothing::<f64>(gpu);
}

#[test]
fn products_are_nalgebras_on_the_emulator() {
    all(&Gpu::emulated());
}

#[test]
fn products_are_nalgebras_on_a_gpu() {
    if let Some(engine) = first_gpu::open() {
        all(&Gpu::on(engine));
    }
}

#[test]
fn matrices_of_fixed_size_are_matrices_too() {
    let gpu = Gpu::emulated();
    let a = Matrix3x2::new(1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0);
    let b = SMatrix::<f32, 2, 4>::repeat(0.5);
    let c = gpu.matmul(&a, &b).unwrap();
    assert_eq!(c, DMatrix::from_iterator(3, 4, (a * b).iter().copied()));
}

#[test]
fn what_does_not_fit_is_refused_in_words() {
    let gpu = Gpu::emulated();
    let message = |error: Error| error.to_string();
    let (a, b) = (DMatrix::<f32>::zeros(3, 4), DMatrix::<f32>::zeros(5, 6));
    assert_eq!(
        message(gpu.matmul(&a, &b).unwrap_err()),
        "cannot multiply 3 x 4 by 5 x 6 into 3 x 6: the first has as many columns as the second has rows"
    );
    let error = gpu.matmul_slices(
        (&[0.0f32; 11][..], Layout::row_major(3, 4)),
        (&[0.0; 4], Layout::row_major(4, 1)),
    );
    assert_eq!(
        message(error.unwrap_err()),
        "3 x 4 with distances 4 and 1 from 0 cannot be laid over 11 elements: it reaches beyond them"
    );
    let mut array = gpu.upload(&[0.0f32; 12]).unwrap();
    let twice = array.matrix_mut(Layout::row_major(3, 4).leading(3));
    assert!(matches!(twice, Err(Error::Layout { .. })));
    let a = gpu.upload_matrix(&a).unwrap();
    let other = Gpu::emulated();
    let mut c = other.zeros(3, 3).unwrap();
    let error = other.gemm(1.0, a.view(), a.t(), 0.0, c.view_mut());
    assert_eq!(
        message(error.unwrap_err()),
        "A is of another device: make it with the same `Gpu`"
    );
    let mut c = gpu.zeros(3, 3).unwrap();
    let b = gpu.upload(&[0.0f32; 24]).unwrap();
    let pair = b.matrix(Layout::row_major(4, 3).batched(2, 12)).unwrap();
    let error = gpu.gemm(1.0, a.view(), pair, 0.0, c.view_mut());
    assert!(matches!(error, Err(Error::Batch { a: 1, b: 2, c: 1 })));
    let wide = gpu.upload(&[0.0f32; 4]).unwrap();
    let far = wide
        .matrix(Layout::row_major(1, 4).leading(1 << 25))
        .unwrap();
    let mut c = gpu.zeros(1, 1).unwrap();
    let column = wide.matrix(Layout::row_major(4, 1)).unwrap();
    let error = gpu.gemm(1.0, far, column, 0.0, c.view_mut()).unwrap_err();
    assert!(message(error).contains("33554432 elements apart"));
}
