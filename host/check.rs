//! Whether an output is right.
//!
//! References are computed in f64. An element that is NaN fails, and since outputs are filled with NaN before a
//! kernel runs, so does one that the kernel did not write.
//!
//! # Tolerances
//!
//! A sum of k products of inputs from [-1, 1), rounded at each step with unit roundoff u, is off by about
//! 0.24 · k · u (root mean square: partial sums grow as √(i)/3, and independent roundings of k of them add up
//! to u · k / (3√2)). The worst of many millions of elements is off by some six times that. The tolerance is
//! 8 · k · u: over five times the worst that rounding gives, and far below what a lost term, a swapped index or a
//! product in reduced precision gives (the roundoff of TF32 is 8,192 times that of f32).

use crate::element::Element;
use nalgebra::{DMatrixView, DVector};

/// How an output was checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Method {
    /// Each element against nalgebra's product in f64.
    Nalgebra,
    /// Freivalds' check: C · x against A · (B · x) for random vectors x, in f64.
    Freivalds,
    /// Each element must be equal.
    Exact,
}

/// The result of a check.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// Whether every element was within the tolerance.
    pub ok: bool,
    /// Largest absolute difference; NaN where an element is.
    pub error: f64,
    /// Largest difference that passes.
    pub tolerance: f64,
    /// How it was checked.
    pub method: Method,
    /// What was wrong first, as one line.
    pub complaint: Option<String>,
}

/// Tolerance for one element of a product over `k` terms.
pub fn product_tolerance<T: Element>(k: usize) -> f64 {
    8.0 * k as f64 * T::UNIT_ROUNDOFF
}

/// Tolerance for one element of C · x with C of `n` columns and x from [-1, 1): the errors of n elements of C,
/// independent of each other.
pub fn projected_tolerance<T: Element>(k: usize, n: usize) -> f64 {
    product_tolerance::<T>(k) * (n as f64).sqrt()
}

/// Compares element by element. `columns` is the width of the row-major output, for the complaint.
pub fn elementwise<T: Element>(
    output: &[T],
    expected: &[f64],
    columns: usize,
    tolerance: f64,
    method: Method,
) -> Verdict {
    assert_eq!(output.len(), expected.len(), "output and reference differ in size");
    let differences = output
        .iter()
        .zip(expected)
        .map(|(&got, &want)| (got.into() - want).abs());
    let complain = |index: usize| {
        format!(
            "element ({}, {}) is {}, not {}",
            index / columns,
            index % columns,
            output[index].into(),
            expected[index]
        )
    };
    judge(differences, tolerance, method, complain)
}

/// Freivalds' check of a product (Freivalds 1979, "Fast probabilistic algorithms"): `c_t` is C, row-major, as
/// nalgebra sees it, `projections` are pairs of x and A · (B · x).
///
/// With x drawn from the reals a wrong row of C goes unnoticed only where its error is orthogonal to x.
pub fn freivalds(
    c_t: &DMatrixView<'_, f64>,
    projections: &[(DVector<f64>, DVector<f64>)],
    tolerance: f64,
) -> Verdict {
    let projected: Vec<(DVector<f64>, &DVector<f64>)> = projections
        .iter()
        .map(|(x, expected)| (c_t.tr_mul(x), expected))
        .collect();
    let differences = projected
        .iter()
        .flat_map(|(got, want)| got.iter().zip(want.iter()))
        .map(|(got, want)| (got - want).abs());
    let rows = c_t.ncols();
    let complain = |index: usize| {
        let (got, want) = &projected[index / rows];
        let row = index % rows;
        format!(
            "row {row} times a random vector is {}, not {}",
            got[row], want[row]
        )
    };
    judge(differences, tolerance, Method::Freivalds, complain)
}

fn judge(
    differences: impl Iterator<Item = f64>,
    tolerance: f64,
    method: Method,
    complain: impl Fn(usize) -> String,
) -> Verdict {
    let mut error = 0.0f64;
    let mut first_wrong = None;
    for (index, difference) in differences.enumerate() {
        // Written so that NaN is wrong, and stays in `error`: `f64::max` would drop it.
        let right = difference <= tolerance;
        if !right && first_wrong.is_none() {
            first_wrong = Some(index);
        }
        if difference.is_nan() || difference > error {
            error = difference;
        }
    }
    Verdict {
        ok: first_wrong.is_none(),
        error,
        tolerance,
        method,
        complaint: first_wrong.map(complain),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::{Operation, Shape};

    const SMALL: Shape = Shape { m: 7, n: 5, k: 11 };
    /// Just over the limit of the full reference, and quick: 1 × 1 × 2³⁰ would not be.
    const LARGE: Shape = Shape {
        m: 1031,
        n: 1033,
        k: 1021,
    };

    /// The product as a kernel would compute it, rounded to f32 at each step.
    fn multiply(inputs: &[Vec<f32>], Shape { m, n, k }: Shape) -> Vec<f32> {
        let (m, n, k) = (m as usize, n as usize, k as usize);
        let mut c = vec![0.0f32; m * n];
        for i in 0..m {
            for l in 0..k {
                let a = inputs[0][i * k + l];
                for j in 0..n {
                    c[i * n + j] += a * inputs[1][l * n + j];
                }
            }
        }
        c
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

    #[test]
    fn the_first_wrong_element_is_named() {
        let verdict = elementwise(&[1.0f32, 2.0, f32::NAN], &[1.0, 2.0, 3.0], 2, 0.0, Method::Exact);
        assert!(!verdict.ok && verdict.error.is_nan());
        assert_eq!(
            verdict.complaint.as_deref(),
            Some("element (1, 0) is NaN, not 3")
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
}
