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
//! 4 · k · u: over twice the worst that rounding gives (and for k up to 4, where there is no averaging, the bound
//! that holds for certain), and far below what a lost term, a swapped index or a product in reduced precision gives
//! (the roundoff of TF32 is 8,192 times that of f32). For C · x with n columns the errors of n elements add up to
//! √(n / 3) times as much; the tolerance there is 2 · k · u · √n.
//!
//! Tensor cores cut their sums off instead of rounding them, so errors do not average out: each instruction, of at
//! least 8 terms, loses up to 2⁻²³ of the partial sum. The largest of many sums are about 2 · √k, and their partial
//! sums on average two thirds of that: k / 8 of them lose up to k · √k · 2⁻²³ / 6 in all, which is added to the
//! tolerance.
//!
//! A sum that is rounded once more when it is stored, to the nearest of a type with unit roundoff r (2⁻¹¹ for binary16, 2⁻⁸
//! for bfloat16), is off by up to r times itself in addition: half of the distance of two neighbours is at most that. Each
//! element then has a tolerance of its own, r times the right answer more than others, so that those near 0 are
//! held to what their sums allow. (Numbers so small that they have fewer bits are rounded by less than a sum may be off.) For
//! C · x these errors, some 0.13 · r · √k (root mean square), are independent of each other as well; n of them
//! add up to 0.07 · r · √(k · n), the worst to six times that, and r · √(k · n) is added to the tolerance: that of
//! elements of 2 · √k.

use crate::element::Element;
use crate::problem::product::Strides;

/// How an output was checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Method {
    /// Each element against nalgebra's product in f64.
    Nalgebra,
    /// Freivalds' check: C · x against A · (B · x) for random vectors x, in f64.
    Freivalds,
    /// Each element against the same computation in f64.
    Reference,
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

impl Verdict {
    /// The verdict with something else that was wrong.
    pub fn but(self, complaint: String) -> Self {
        Verdict {
            ok: false,
            complaint: Some(self.complaint.unwrap_or(complaint)),
            ..self
        }
    }
}

/// How far from the right answer an element may be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tolerance {
    /// What its sum may be off by.
    pub sum: f64,
    /// Unit roundoff of the type that the sum is rounded to when it is stored; 0 where it is stored as it is.
    pub rounding: f64,
}

impl From<f64> for Tolerance {
    fn from(sum: f64) -> Self {
        Tolerance { sum, rounding: 0.0 }
    }
}

impl Tolerance {
    /// Of an element that should be this.
    pub fn of(self, expected: f64) -> f64 {
        self.sum + self.rounding * (expected.abs() + self.sum)
    }

    /// Of the largest of many sums of `k` terms.
    pub fn of_largest(self, k: usize) -> f64 {
        self.of(2.0 * (k as f64).sqrt())
    }
}

/// Tolerance for one element of a product over `k` terms.
pub fn product_tolerance<T: Element>(k: usize) -> f64 {
    4.0 * k as f64 * T::UNIT_ROUNDOFF
}

/// Tolerance for one element of a product over `k` terms on tensor cores with sums of f32.
pub fn tensor_tolerance(k: usize) -> f64 {
    let k = k as f64;
    let rounded = 4.0 * k * f32::UNIT_ROUNDOFF;
    rounded + k * k.sqrt() * f64::from(f32::EPSILON) / 6.0
}

/// Tolerance for one element of C · x with C of `n` columns and x from [-1, 1): the errors of n elements of C that
/// keep `of_element`, independent of each other.
pub fn projected_tolerance(of_element: f64, n: usize) -> f64 {
    of_element * (n as f64).sqrt() / 2.0
}

/// Compares a matrix of `rows` × `columns` element by element; both functions take row and column. The verdict's tolerance is the
/// largest of all elements.
pub fn elementwise(
    (rows, columns): (usize, usize),
    output: impl Fn(usize, usize) -> f64,
    expected: impl Fn(usize, usize) -> f64,
    tolerance: impl Into<Tolerance>,
    method: Method,
) -> Verdict {
    let tolerance = tolerance.into();
    let place = |index: usize| (index / columns, index % columns);
    let differences = (0..rows * columns).map(|index| {
        let (i, j) = place(index);
        let expected = expected(i, j);
        ((output(i, j) - expected).abs(), tolerance.of(expected))
    });
    judge(differences, tolerance.sum, method, |index| {
        let (i, j) = place(index);
        format!(
            "element ({i}, {j}) is {}, not {}",
            output(i, j),
            expected(i, j)
        )
    })
}

/// Compares arrays of the same length element by element.
pub fn slices<T: Copy + Into<f64>>(found: &[T], expected: &[T], tolerance: f64) -> Verdict {
    let pair = |index: usize| -> (f64, f64) { (found[index].into(), expected[index].into()) };
    let differences = (0..found.len()).map(|index| {
        let (found, expected) = pair(index);
        ((found - expected).abs(), tolerance)
    });
    judge(differences, tolerance, Method::Reference, |index| {
        let (found, expected) = pair(index);
        format!("element {index} is {found}, not {expected}")
    })
}

/// A random vector and what a product times it has to be.
#[derive(Clone, Debug)]
pub struct Projection {
    /// The vector.
    pub x: Vec<f64>,
    /// A · (B · x).
    pub expected: Vec<f64>,
}

/// A matrix of `rows` rows times the vector `x`, in f64.
pub fn project<T: Element>(matrix: &[T], strides: Strides, rows: usize, x: &[f64]) -> Vec<f64> {
    let mut product = vec![0.0; rows];
    if strides.column == 1 {
        for (i, sum) in product.iter_mut().enumerate() {
            let row = &matrix[i * strides.row..][..x.len()];
            *sum = row.iter().zip(x).map(|(&a, x)| a.into() * x).sum();
        }
    } else {
        for (j, x) in x.iter().enumerate() {
            let column = &matrix[j * strides.column..][..rows];
            for (sum, &a) in product.iter_mut().zip(column) {
                *sum += a.into() * x;
            }
        }
    }
    product
}

/// Freivalds' check of a product C of `rows` rows (Freivalds 1979, "Fast probabilistic algorithms").
///
/// With x drawn from the reals a wrong row of C goes unnoticed only where its error is orthogonal to x.
pub fn freivalds<T: Element>(
    c: &[T],
    strides: Strides,
    rows: usize,
    projections: &[Projection],
    tolerance: f64,
) -> Verdict {
    let projected: Vec<Vec<f64>> = projections
        .iter()
        .map(|projection| project(c, strides, rows, &projection.x))
        .collect();
    let pair = |index: usize| {
        let (vector, row) = (index / rows, index % rows);
        (projected[vector][row], projections[vector].expected[row])
    };
    let differences = (0..rows * projections.len()).map(|index| {
        let (got, want) = pair(index);
        ((got - want).abs(), tolerance)
    });
    judge(differences, tolerance, Method::Freivalds, |index| {
        let (got, want) = pair(index);
        let row = index % rows;
        format!("row {row} times a random vector is {got}, not {want}")
    })
}

/// Judges differences, each with its tolerance, which is never less than `least`.
fn judge(
    differences: impl Iterator<Item = (f64, f64)>,
    least: f64,
    method: Method,
    complain: impl Fn(usize) -> String,
) -> Verdict {
    let mut error = 0.0f64;
    let mut tolerance = least;
    let mut first_wrong = None;
    for (index, (difference, allowed)) in differences.enumerate() {
        tolerance = tolerance.max(allowed);
        // Written so that NaN is wrong, and stays in `error`: `f64::max` would drop it.
        let right = difference <= allowed;
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
    use crate::problem::{Operation, Shape, TensorInput};

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

    /// C rounded to 16 bits: a right product passes, one of neighbours of the right elements does not.
    fn rounded_once<T: Element>(input: TensorInput, next: fn(T) -> T) {
        for (shape, method) in [(SMALL, Method::Nalgebra), (LARGE, Method::Freivalds)] {
            let problem = Operation::NarrowProduct(input).problem::<T>(shape, 1);
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
}
