//! Matrix-vector products.

use super::{assert_near, random, wide};
use crate::first_gpu;
use half::f16;
use nalgebra::DMatrix;
use rand::SeedableRng;
use rand::rngs::StdRng;
use warpladder::gemm::GemmElement;
use warpladder::gpu::{Error, Gpu, Layout};

const SIZES: [[usize; 3]; 5] = [
    [1, 1, 1],
    [16, 16, 40],
    [13, 22, 7],
    [300, 5, 3],
    [4, 260, 9],
];

/// y ← 2 A x + ½ y, with one matrix for all vectors, then with one for each.
fn products<T: GemmElement + nalgebra::Scalar>(gpu: &Gpu) {
    let mut rng = StdRng::seed_from_u64(4);
    let [two, half] = [2.0, 0.5].map(T::from_f64);
    for [rows, columns, batch] in SIZES {
        let matrices: Vec<DMatrix<T>> = (0..batch)
            .map(|_| random(&mut rng, rows, columns))
            .collect();
        let x: DMatrix<T> = random(&mut rng, columns, batch);
        let old: DMatrix<T> = random(&mut rng, rows, batch);
        let all: Vec<T> = matrices.iter().flatten().copied().collect();
        let a = gpu.upload(&all).unwrap();
        let vectors = gpu.upload(x.as_slice()).unwrap();
        let vectors = vectors
            .matrix(Layout::vector(columns).batched(batch, columns))
            .unwrap();
        let to = Layout::vector(rows).batched(batch, rows);
        let one = Layout::column_major(rows, columns);
        for layout in [one, one.batched(batch, rows * columns)] {
            let mut y = gpu.upload(old.as_slice()).unwrap();
            let matrix = a.matrix(layout).unwrap();
            gpu.matvec(two, matrix, vectors, half, y.matrix_mut(to).unwrap())
                .unwrap();
            let found = DMatrix::from_column_slice(rows, batch, &y.download().unwrap());
            let mut expected = wide(&old) * 0.5;
            for index in 0..batch {
                let matrix = &matrices[if layout.batch == 1 { 0 } else { index }];
                let product = wide(matrix) * wide(&x).column(index) * 2.0;
                let mut column = expected.column_mut(index);
                column += product;
            }
            assert_near(&found, &expected, columns);
        }
    }
}

fn on(gpu: &Gpu) {
    products::<f32>(gpu);
    products::<f64>(gpu);
}

#[test]
fn products_with_vectors_are_nalgebras_on_the_emulator() {
    on(&Gpu::emulated());
}

#[test]
fn products_with_vectors_are_nalgebras_on_a_gpu() {
    if let Some(engine) = first_gpu::open() {
        on(&Gpu::on(engine));
    }
}

#[test]
fn vectors_may_lie_anywhere() {
    let gpu = Gpu::emulated();
    // Every second element, and a transposed matrix of half precision.
    let a = gpu
        .upload(&[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0].map(f16::from_f32))
        .unwrap();
    let x = gpu
        .upload(&[1.0f32, -1.0, 10.0, -1.0].map(f16::from_f32))
        .unwrap();
    let mut y = gpu.upload(&[0.0f32; 3]).unwrap();
    let every_second = Layout {
        row_stride: 2,
        ..Layout::vector(2)
    };
    gpu.matvec(
        1.0,
        a.matrix(Layout::row_major(2, 3).transposed()).unwrap(),
        x.matrix(every_second).unwrap(),
        0.0,
        y.matrix_mut(Layout::vector(3)).unwrap(),
    )
    .unwrap();
    assert!(y.check(&[41.0, 52.0, 63.0], 0.0).unwrap().ok);
}

#[test]
fn a_matrix_is_no_vector() {
    let gpu = Gpu::emulated();
    let a = gpu.zeros::<f32>(3, 3).unwrap();
    let mut y = gpu.zeros(3, 1).unwrap();
    let error = gpu.matvec(1.0, a.view(), a.view(), 0.0, y.view_mut());
    let error = error.unwrap_err();
    assert!(matches!(error, Error::NotVector { what: "x", .. }));
    assert!(error.to_string().contains("multiply matrices by `gemm`"));
}
