//! Transposes on the device.

use crate::first_gpu;
use half::bf16;
use nalgebra::DMatrix;
use warpladder::gpu::{Error, Gpu, Layout};

const SIZES: [[usize; 2]; 6] = [[1, 1], [1, 70], [70, 1], [64, 64], [33, 129], [200, 7]];

fn all<T: bytemuck::Pod + PartialEq + std::fmt::Debug>(gpu: &Gpu, value: fn(usize) -> T) {
    for [rows, columns] in SIZES {
        let by_rows: Vec<T> = (0..rows * columns).map(value).collect();
        let by_columns: Vec<T> = (0..rows * columns)
            .map(|at| value(at % rows * columns + at / rows))
            .collect();
        // The transpose by rows lies as the matrix by columns does, and the other way round.
        let (of_rows, of_columns) = (
            Layout::row_major(rows, columns),
            Layout::column_major(rows, columns),
        );
        for (values, layout) in [(&by_rows, of_rows), (&by_columns, of_columns)] {
            for (expected, order) in [
                (&by_columns, Layout::row_major(columns, rows)),
                (&by_rows, Layout::column_major(columns, rows)),
            ] {
                let a = gpu.upload(values).unwrap();
                let mut c = gpu.upload(&vec![value(12345); values.len()]).unwrap();
                gpu.transpose(a.matrix(layout).unwrap(), c.matrix_mut(order).unwrap())
                    .unwrap();
                assert_eq!(&c.download().unwrap(), expected, "{layout} into {order}");
            }
        }
    }
}

/// Matrices apart from each other, beginning anywhere; what is between them stays.
fn batches(gpu: &Gpu) {
    let (rows, columns, batch) = (5, 9, 3);
    let from = Layout::row_major(rows, columns).at(3).batched(batch, 50);
    let to = Layout::row_major(columns, rows).at(1).batched(batch, 47);
    let values: Vec<f32> = (0..from.end()).map(|at| at as f32).collect();
    let a = gpu.upload(&values).unwrap();
    let mut c = gpu.upload(&vec![-1.0f32; to.end() + 4]).unwrap();
    gpu.transpose(a.matrix(from).unwrap(), c.matrix_mut(to).unwrap())
        .unwrap();
    let mut expected = vec![-1.0; to.end() + 4];
    for index in 0..batch {
        for i in 0..rows {
            for j in 0..columns {
                expected[1 + 47 * index + j * rows + i] = values[3 + 50 * index + i * columns + j];
            }
        }
    }
    assert_eq!(c.download().unwrap(), expected);
}

fn on(gpu: &Gpu) {
    all(gpu, |at| at as f32);
    all(gpu, |at| at as f64);
    all(gpu, |at| bf16::from_f32((at % 200) as f32));
    // Nothing is done with bits, whatever they mean.
    all(gpu, |at| at as u32 ^ 0x7fc0_0001);
    batches(gpu);
}

#[test]
fn transposes_are_exact_on_the_emulator() {
    on(&Gpu::emulated());
}

#[test]
fn transposes_are_exact_on_a_gpu() {
    if let Some(engine) = first_gpu::open() {
        on(&Gpu::on(engine));
    }
}

#[test]
fn nalgebras_matrices_are_transposed() {
    let gpu = Gpu::emulated();
    let matrix = DMatrix::from_fn(30, 41, |i, j| (i * 100 + j) as f32);
    let a = gpu.upload_matrix(&matrix).unwrap();
    let mut c = gpu.zeros(41, 30).unwrap();
    gpu.transpose(a.view(), c.view_mut()).unwrap();
    assert_eq!(c.download().unwrap(), matrix.transpose());
    // The transpose of a transpose that was not moved is a copy.
    let mut again = gpu.zeros(30, 41).unwrap();
    gpu.transpose(a.t(), again.view_mut()).unwrap();
    assert_eq!(again.download().unwrap(), matrix);
    let mut empty = gpu.zeros(0, 5).unwrap();
    let none = gpu.zeros::<f32>(5, 0).unwrap();
    gpu.transpose(none.view(), empty.view_mut()).unwrap();
}

#[test]
fn what_cannot_be_transposed_is_refused_in_words() {
    let gpu = Gpu::emulated();
    let a = gpu.zeros::<f32>(3, 4).unwrap();
    let mut c = gpu.zeros::<f32>(3, 4).unwrap();
    let error = gpu.transpose(a.view(), c.view_mut()).unwrap_err();
    assert!(
        error.to_string().contains("the transpose of 3 x 4"),
        "{error}"
    );
    let wide = gpu.upload(&[0.0f32; 24]).unwrap();
    let gaps = wide.matrix(Layout::row_major(4, 3).leading(6)).unwrap();
    let error = gpu.transpose(gaps, c.view_mut()).unwrap_err();
    assert!(matches!(error, Error::Gaps { matrix: "A", .. }), "{error}");
    let bytes = gpu.upload(&[0u8; 12]).unwrap();
    let mut into = gpu.upload(&[0u8; 12]).unwrap();
    let error = gpu.transpose(
        bytes.matrix(Layout::row_major(3, 4)).unwrap(),
        into.matrix_mut(Layout::row_major(4, 3)).unwrap(),
    );
    assert_eq!(
        error.unwrap_err().to_string(),
        "elements of 1 bytes cannot be transposed: take ones of 2, 4 or 8 bytes"
    );
    let other = Gpu::emulated();
    let mut there = other.zeros::<f32>(4, 3).unwrap();
    let error = gpu.transpose(a.view(), there.view_mut()).unwrap_err();
    assert!(matches!(error, Error::WrongDevice { what: "C" }), "{error}");
}
