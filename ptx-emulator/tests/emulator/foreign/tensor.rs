//! The wmma interface by nvcc.

use half::f16;

use super::{Launch, noise, ptx};

/// Rows and columns of the product, by the kernels' number of the shape.
const SHAPES: [(usize, usize); 3] = [(16, 16), (8, 32), (32, 8)];

/// Elements from one row of A to the next.
const STRIDE: usize = 24;

/// Small integers: their sums are exact in every type.
fn small(count: usize, seed: u64) -> Vec<i32> {
    noise(seed)
        .take(count)
        .map(|bits| (bits % 15) as i32 - 7)
        .collect()
}

/// 2 · (A · B + C), where B is stored by columns or by rows.
fn expected(shape: usize, a: &[i32], b: &[i32], c: &[i32], by_column: bool) -> Vec<i32> {
    let (rows, columns) = SHAPES[shape];
    let element = |at: usize| {
        let (row, column) = (at / columns, at % columns);
        let product = |k: usize| {
            let of_b = if by_column {
                column * 16 + k
            } else {
                k * columns + column
            };
            a[row * STRIDE + k] * b[of_b]
        };
        2 * (c[at] + (0..16).map(product).sum::<i32>())
    };
    (0..rows * columns).map(element).collect()
}

#[test]
fn fragments_are_loaded_multiplied_and_stored() {
    for shape in 0..SHAPES.len() {
        for by_column in [false, true] {
            let a = small(32 * STRIDE, 1);
            let b = small(16 * 32, 2);
            let c = small(256, 3);
            let wanted = expected(shape, &a, &b, &c, by_column);

            let halves = |values: &[i32]| -> Vec<f16> {
                values
                    .iter()
                    .map(|&value| f16::from_f32(value as f32))
                    .collect()
            };
            let mut launch = Launch::new(ptx!("tensor"), "halves");
            launch.input(&halves(&a));
            launch.input(&halves(&b));
            let out = launch.input(&c.iter().map(|&value| value as f32).collect::<Vec<f32>>());
            launch.value(&(shape as u32).to_le_bytes());
            launch.value(&[u8::from(by_column)]);
            launch.run([1, 1, 1], [32, 1, 1]);
            let out: Vec<i32> = launch.read(&out).iter().map(|&sum| sum as i32).collect();
            assert_eq!(out, wanted, "f16, shape {shape}, {by_column}");

            let bytes =
                |values: &[i32]| -> Vec<i8> { values.iter().map(|&value| value as i8).collect() };
            let mut launch = Launch::new(ptx!("tensor"), "bytes");
            launch.input(&bytes(&a));
            launch.input(&bytes(&b));
            let out = launch.input(&c);
            launch.value(&(shape as u32).to_le_bytes());
            launch.value(&[u8::from(by_column)]);
            launch.run([1, 1, 1], [32, 1, 1]);
            assert_eq!(launch.read(&out), wanted, "s8, shape {shape}, {by_column}");
        }
    }
}
