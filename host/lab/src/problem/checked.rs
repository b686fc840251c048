//! Tests of the checks of each problem: right outputs pass, wrong ones do not.

use super::{Operation, Shape};
use nalgebra::DMatrixView;
use warpladder::check::{Method, elementwise};
use warpladder::element::{Element, TensorInput};

const SMALL: Shape = Shape { m: 7, n: 5, k: 11 };
/// Just over the limit of the full reference, and quick: 1 × 1 × 2³⁰ would not be.
const LARGE: Shape = Shape {
    m: 1031,
    n: 1033,
    k: 1021,
};

/// The product as a kernel would compute it: sums in f32. `nalgebra` is optimised here, and stores
/// columns one after the other: B^T A^T by rows is the product.
fn multiply(inputs: &[Vec<f32>], Shape { m, n, k }: Shape) -> Vec<f32> {
    let (m, n, k) = (m as usize, n as usize, k as usize);
    let a = DMatrixView::from_slice(&inputs[0], k, m);
    let b = DMatrixView::from_slice(&inputs[1], n, k);
    (b * a).data.into()
}

#[test]
fn a_right_product_passes_and_one_wrong_element_fails() {
    for (shape, method) in [(SMALL, Method::Nalgebra), (LARGE, Method::Freivalds)] {
        let problem = Operation::Product.problem::<f32>(shape, 1);
        let mut c = multiply(problem.inputs(), shape);
        let verdict = problem.check(&c);
        assert!(verdict.ok, "{verdict:?}");
        assert_eq!(verdict.method, method);
        assert!(verdict.error > 0.0 && verdict.error < verdict.tolerance);

        let middle = c.len() / 2;
        for wrong in [f32::NAN, f32::INFINITY, c[middle] + 0.5] {
            let right = std::mem::replace(&mut c[middle], wrong);
            let verdict = problem.check(&c);
            assert!(!verdict.ok, "{wrong} passed: {verdict:?}");
            assert!(verdict.complaint.is_some());
            c[middle] = right;
        }
    }
}

/// Rows are checked in blocks at the same time: the first wrong element is that of the whole.
#[test]
fn the_first_wrong_element_of_several_blocks_is_named() {
    let shape = Shape { m: 101, n: 9, k: 8 };
    for transposed in [[false, false], [true, false], [false, true], [true, true]] {
        let problem = Operation::Product.stored::<f32>(shape, transposed, 1);
        let [m, n, k] = [101, 9, 8];
        let [a, b] = [&problem.inputs()[0], &problem.inputs()[1]];
        let a = |i: usize, l: usize| a[if transposed[0] { l * m + i } else { i * k + l }];
        let b = |l: usize, j: usize| b[if transposed[1] { j * k + l } else { l * n + j }];
        let element = |index: usize| (0..k).map(|l| a(index / n, l) * b(l, index % n)).sum();
        let mut c: Vec<f32> = (0..m * n).map(element).collect();
        assert!(problem.check(&c).ok);
        for (i, j) in [(100, 8), (70, 3), (33, 1)] {
            c[i * n + j] = f32::NAN;
            let verdict = problem.check(&c);
            assert!(!verdict.ok && verdict.error.is_nan());
            let complaint = verdict.complaint.unwrap();
            let start = format!("element ({i}, {j}) is NaN");
            assert!(complaint.starts_with(&start), "{complaint}");
        }
    }
}

#[test]
fn a_lost_last_term_fails() {
    for shape in [SMALL, LARGE] {
        let problem = Operation::Product.problem::<f32>(shape, 2);
        let mut short = problem.inputs().to_vec();
        let (n, k) = (shape.n as usize, shape.k as usize);
        short[1][(k - 1) * n..].fill(0.0);
        assert!(!problem.check(&multiply(&short, shape)).ok);
    }
}

/// C rounded to 16 bits: a right product passes, one of neighbours of the right elements does not.
fn rounded_once<T: Element>(input: TensorInput, next: fn(T) -> T) {
    for (shape, method) in [(SMALL, Method::Nalgebra), (LARGE, Method::Freivalds)] {
        let problem = Operation::TensorProduct16(input).problem::<T>(shape, 1);
        let wide = |elements: &Vec<T>| elements.iter().map(|&x| x.into() as f32).collect();
        let inputs: Vec<Vec<f32>> = problem.inputs().iter().map(wide).collect();
        let sums = multiply(&inputs, shape).into_iter();
        let mut c: Vec<T> = sums.map(|sum| T::from_f64(sum.into())).collect();
        let verdict = problem.check(&c);
        assert!(verdict.ok, "{verdict:?}");
        assert_eq!(verdict.method, method);
        assert!(verdict.error > 0.0 && verdict.error < verdict.tolerance);

        let mut short = inputs.clone();
        let (n, k) = (shape.n as usize, shape.k as usize);
        short[1][(k - 1) * n..].fill(0.0);
        let sums = multiply(&short, shape).into_iter();
        let short: Vec<T> = sums.map(|sum| T::from_f64(sum.into())).collect();
        assert!(!problem.check(&short).ok, "a lost term passed");

        let middle = c.len() / 2;
        let far = c[middle].into() + 16.0 * verdict.tolerance;
        for wrong in [T::NAN, T::from_f64(far)] {
            let right = std::mem::replace(&mut c[middle], wrong);
            assert!(!problem.check(&c).ok);
            c[middle] = right;
        }
        if method == Method::Nalgebra {
            // Half of the elements were rounded up, or nearly: one step more is too far.
            let away: Vec<T> = c.iter().map(|&element| next(element)).collect();
            assert!(!problem.check(&away).ok, "a second rounding passed");
        }
    }
}

#[test]
fn elements_of_16_bits_may_be_off_by_one_rounding() {
    rounded_once(TensorInput::F16, |x: half::f16| {
        half::f16::from_bits(x.to_bits() + 1)
    });
    rounded_once(TensorInput::Bf16, |x: half::bf16| {
        half::bf16::from_bits(x.to_bits() + 1)
    });
}

#[test]
fn the_first_wrong_element_is_named() {
    let output = [1.0, 2.0, f64::NAN, 4.0];
    let verdict = elementwise(
        (2, 2),
        |i, j| output[2 * i + j],
        |i, j| (2 * i + j + 1) as f64,
        0.0,
        Method::Exact,
    );
    assert!(!verdict.ok && verdict.error.is_nan());
    assert_eq!(
        verdict.complaint.as_deref(),
        Some("element (1, 0) is NaN, not 3")
    );
}

#[test]
fn overwritten_padding_of_a_column_major_product_fails() {
    let shape = Shape { m: 2, n: 1, k: 1 };
    let problem = Operation::ColumnMajorProduct.problem::<f32>(shape, 4);
    let (a, b) = (&problem.inputs()[0], &problem.inputs()[1]);
    assert!(a[2].is_nan(), "the padding of an input is poisoned");
    let mut c = vec![f32::NAN; problem.output_len()];
    (c[0], c[1]) = (a[0] * b[0], a[1] * b[0]);
    assert!(problem.check(&c).ok);
    c[2] = 0.0;
    let verdict = problem.check(&c);
    assert!(
        !verdict.ok
            && verdict
                .complaint
                .unwrap()
                .contains("padding after column 0")
    );
}

#[test]
fn a_transpose_is_compared_exactly() {
    let shape = Shape { m: 2, n: 3, k: 1 };
    let problem = Operation::Transpose.problem::<f32>(shape, 3);
    let input = &problem.inputs()[0];
    let turned = [0, 3, 1, 4, 2, 5].map(|index| input[index]);
    assert!(problem.check(&turned).ok);
    assert!(!problem.check(input).ok);
}
