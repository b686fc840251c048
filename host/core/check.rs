//! Whether an output is right.
//!
//! References are computed in f64. An element that is NaN fails, and since outputs are filled with
//! NaN before a kernel runs, so does one that the kernel did not write.
//!
//! # Tolerances
//!
//! A sum of k products of inputs from [-1, 1), rounded at each step with unit roundoff u, is off by
//! about 0.24 · k · u (root mean square: partial sums grow as √(i)/3, and independent roundings of
//! k of them add up to u · k / (3√2)). The worst of many millions of elements is off by some six
//! times that. The tolerance is 4 · k · u: over twice the worst that rounding gives (and for k up
//! to 4, where there is no averaging, the bound that holds for certain), and far below what a lost
//! term, a swapped index or a product in reduced precision gives (the roundoff of TF32 is 8,192
//! times that of f32). For C · x with n columns the errors of n elements add up to √(n / 3) times
//! as much; the tolerance there is 2 · k · u · √n.
//!
//! Tensor cores truncate what they accumulate instead of rounding it, so errors do not average out:
//! each instruction, of at least 8 terms, loses up to 2⁻²³ of the partial sum. The largest of many
//! sums are about 2 · √k, and their partial sums on average two thirds of that: k / 8 of them lose
//! up to k · √k · 2⁻²³ / 6 in all, which is added to the tolerance.
//!
//! A sum that is rounded once more when it is stored, to the nearest of a type with unit roundoff r
//! (2⁻¹¹ for binary16, 2⁻⁸ for bfloat16), is off by up to r times itself in addition: half of the
//! distance of two neighbours is at most that. Each element then has a tolerance of its own, r
//! times the right answer more than others, so that those near 0 are held to what their
//! accumulators allow. (Numbers so small that they have fewer bits are rounded by less than a sum
//! may be off.) For C · x these errors, some 0.13 · r · √k (root mean square), are independent of
//! each other as well; n of them add up to 0.07 · r · √(k · n), the worst to six times that, and
//! r · √(k · n) is added to the tolerance: that of elements of 2 · √k.

use crate::element::Element;
use std::ops::Range;

/// How an output was checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
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
    /// The verdict on what this is of and, behind that, what `next` is of.
    pub fn and(self, next: Self) -> Self {
        // Written so that NaN stays in `error`: `f64::max` would drop it.
        let is_larger = next.error.is_nan() || next.error > self.error;
        Verdict {
            ok: self.ok && next.ok,
            error: if is_larger { next.error } else { self.error },
            tolerance: self.tolerance.max(next.tolerance),
            method: self.method,
            complaint: self.complaint.or(next.complaint),
        }
    }

    /// The verdict with something else that was wrong.
    pub fn but(self, complaint: String) -> Self {
        Verdict {
            ok: false,
            complaint: Some(self.complaint.unwrap_or(complaint)),
            ..self
        }
    }
}

/// Where the elements of a matrix lie: element (i, j) at i · `row` + j · `column`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Strides {
    /// Distance of two rows.
    pub row: usize,
    /// Distance of two columns.
    pub column: usize,
}

impl Strides {
    /// Row-major with rows of `columns` elements.
    pub fn row_major(columns: usize) -> Self {
        Strides {
            row: columns,
            column: 1,
        }
    }

    /// Column-major with this leading dimension.
    pub fn column_major(leading_dimension: usize) -> Self {
        Strides {
            row: 1,
            column: leading_dimension,
        }
    }

    /// The distance that is not 1, as BLAS has it.
    pub fn leading(self) -> usize {
        self.row.max(self.column)
    }

    /// Place of element (i, j).
    pub fn index(self, i: usize, j: usize) -> usize {
        i * self.row + j * self.column
    }
}

/// How far from the right answer an element may be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tolerance {
    /// What its sum may be off by.
    pub sum: f64,
    /// Unit roundoff of the type that the sum is rounded to when it is stored; 0 where it is
    /// stored as it is.
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

/// Tolerance for one element of a product over `k` terms on tensor cores with f32 accumulators.
pub fn tensor_tolerance(k: usize) -> f64 {
    let k = k as f64;
    let rounded = 4.0 * k * f32::UNIT_ROUNDOFF;
    rounded + k * k.sqrt() * f64::from(f32::EPSILON) / 6.0
}

/// Tolerance for one element of a product over `k` terms of 8-bit floats from [-1, 1] on Hopper,
/// promoted after every 128 terms.
///
/// An instruction, of 32 terms, keeps 13 bits behind the binary point of the largest of its terms.
/// Sums of 128 products reach 8, so that each of its 33 terms loses up to 2⁻¹⁰, half of that on
/// average, in either direction: some 2⁻¹⁰ in all (root mean square), as most lose far less. The
/// worst of many sums is off by six times what k / 32 of them add up to. The sum itself is
/// truncated as well, always towards zero: by 2⁻¹² an instruction.
pub fn float8_tolerance(k: usize) -> f64 {
    let instructions = k.div_ceil(32) as f64;
    (6.0 * instructions.sqrt() + instructions / 4.0) / 1024.0 + tensor_tolerance(k)
}

/// Terms of a sum of [`project`] that are added one by one. The sums of these blocks are then
/// added.
const BLOCK: usize = 128;

/// Tolerance for one element of C · x with C of `n` columns and x from [-1, 1): the errors of n
/// elements of C that keep `of_element`, independent of each other, and those of the check.
///
/// The check rounds in f64, and so does a product of f64: where k is short, the sums over n are the
/// longer ones. They are of the size of √(n k), and are rounded once a term of a block and once a
/// block.
pub fn projected_tolerance(of_element: f64, n: usize, k: usize) -> f64 {
    let (n, block) = (n as f64, BLOCK as f64);
    let roundings = block.sqrt() + (n / block).sqrt();
    let of_check = f64::UNIT_ROUNDOFF * roundings * (n * k as f64).sqrt();
    of_element * n.sqrt() / 2.0 + of_check
}

/// Compares a matrix of `rows` × `columns` element by element; both functions take row and column.
/// The verdict's tolerance is the largest of all elements.
pub fn elementwise(
    (rows, columns): (usize, usize),
    output: impl Fn(usize, usize) -> f64,
    expected: impl Fn(usize, usize) -> f64,
    tolerance: impl Into<Tolerance>,
    method: Method,
) -> Verdict {
    elementwise_rows((0..rows, columns), output, expected, tolerance, method)
}

/// The same of some rows.
pub fn elementwise_rows(
    size: (Range<usize>, usize),
    output: impl Fn(usize, usize) -> f64,
    expected: impl Fn(usize, usize) -> f64,
    tolerance: impl Into<Tolerance>,
    method: Method,
) -> Verdict {
    compare_rows(size, &output, &expected, tolerance.into(), method)
}

/// [`elementwise_rows`] for all functions: it is compiled once, and not for each pair of them.
fn compare_rows(
    (rows, columns): (Range<usize>, usize),
    output: &dyn Fn(usize, usize) -> f64,
    expected: &dyn Fn(usize, usize) -> f64,
    tolerance: Tolerance,
    method: Method,
) -> Verdict {
    let first = rows.start;
    let places = rows.flat_map(|i| (0..columns).map(move |j| (i, j)));
    let differences = places.map(|(i, j)| {
        let expected = expected(i, j);
        ((output(i, j) - expected).abs(), tolerance.of(expected))
    });
    judge(differences, tolerance.sum, method, |index| {
        let (i, j) = (first + index / columns, index % columns);
        format!(
            "element ({i}, {j}) is {}, not {}",
            output(i, j),
            expected(i, j)
        )
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

/// A matrix of `rows` rows times the vector `x`, in f64. Sums are added in blocks, which round
/// less.
pub fn project<T: Element>(matrix: &[T], strides: Strides, rows: usize, x: &[f64]) -> Vec<f64> {
    let mut product = vec![0.0; rows];
    if strides.column == 1 {
        for (i, sum) in product.iter_mut().enumerate() {
            let row = &matrix[i * strides.row..][..x.len()];
            let blocks = row.chunks(BLOCK).zip(x.chunks(BLOCK));
            let sums = blocks.map(|(row, x)| -> f64 {
                let terms = row.iter().zip(x).map(|(&a, x)| a.into() * x);
                terms.sum()
            });
            *sum = sums.sum();
        }
    } else {
        let mut of_block = vec![0.0; rows];
        for (block, x) in x.chunks(BLOCK).enumerate() {
            of_block.fill(0.0);
            for (j, x) in x.iter().enumerate() {
                let column = &matrix[(block * BLOCK + j) * strides.column..][..rows];
                for (sum, &a) in of_block.iter_mut().zip(column) {
                    *sum += a.into() * x;
                }
            }
            for (sum, of_block) in product.iter_mut().zip(&of_block) {
                *sum += of_block;
            }
        }
    }
    product
}

/// Freivalds' check of a product C of `rows` rows (Freivalds 1979, "Fast probabilistic
/// algorithms").
///
/// With x drawn from the reals a wrong row of C goes unnoticed only where its error is orthogonal
/// to x.
pub fn freivalds<T: Element>(
    c: &[T],
    strides: Strides,
    rows: usize,
    projections: &[Projection],
    tolerance: f64,
) -> Verdict {
    let projected = projections
        .iter()
        .map(|projection| project(c, strides, rows, &projection.x));
    projected_rows(&projected.collect::<Vec<_>>(), projections, tolerance)
}

/// The same, where C times each of the vectors is known.
pub fn projected_rows(
    projected: &[Vec<f64>],
    projections: &[Projection],
    tolerance: f64,
) -> Verdict {
    let rows = projected.first().map_or(0, Vec::len);
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

/// Judges differences, each with its tolerance, which is never less than `least`.
pub fn judge(
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

    /// Numbers from [-1, 1) that look random.
    fn numbers(count: usize, seed: u64) -> Vec<f64> {
        let mut state = seed;
        let mut next = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
        };
        (0..count).map(|_| next()).collect()
    }

    #[test]
    fn a_product_of_f64_with_short_k_keeps_the_tolerance_of_its_projection() {
        let (m, n, layouts) = (31, 32_749, [true, false]);
        for (k, by_rows) in [1, 2, 7].into_iter().zip(layouts.into_iter().cycle()) {
            let (a, b) = (numbers(m * k, 1), numbers(k * n, 2));
            let [in_a, in_b] = [Strides::row_major(k), Strides::row_major(n)];
            let in_c = if by_rows {
                Strides::row_major(n)
            } else {
                Strides::column_major(m)
            };
            let mut c = vec![0.0; m * n];
            for i in 0..m {
                for j in 0..n {
                    let terms = (0..k).map(|l| a[i * k + l] * b[l * n + j]);
                    c[in_c.index(i, j)] = terms.sum();
                }
            }
            let projections: Vec<Projection> = (3..9)
                .map(|seed| {
                    let x = numbers(n, seed);
                    let expected = project(&a, in_a, m, &project(&b, in_b, k, &x));
                    Projection { x, expected }
                })
                .collect();
            let tolerance = projected_tolerance(product_tolerance::<f64>(k), n, k);
            let verdict = freivalds(&c, in_c, m, &projections, tolerance);
            assert!(verdict.ok, "k = {k}: {verdict:?}");

            c[in_c.index(m - 1, n / 2)] += 1e-9;
            let verdict = freivalds(&c, in_c, m, &projections, tolerance);
            assert!(!verdict.ok, "k = {k}: {verdict:?}");
        }
    }
}
