//! Matrix products in either layout.

use super::{Operation, Problem, Shape, check_rows, random};
use nalgebra::{DMatrix, Dyn, MatrixView, MatrixViewMut};
use rayon::prelude::*;
use std::cell::OnceCell;
use std::ops::Range;
use warpladder::check::Strides;
use warpladder::check::{self, Method, Tolerance, Verdict};
use warpladder::element::Element;
use warpladder::launch::Param;

/// Up to this many multiply-adds the whole product is computed by nalgebra, above it Freivalds'
/// check is used: 1024 × 1024 × 1024, a quarter of a second on one core.
const FULL_REFERENCE_LIMIT: u128 = 1 << 30;

/// Vectors of Freivalds' check. One random real vector already meets a wrong element with
/// certainty, up to rounding; the second guards against an error that happens to fall under the
/// tolerance.
const FREIVALDS_VECTORS: u64 = 2;

/// Those of A, B and C in the dense problem of an operation and a shape.
pub fn dense_strides(operation: Operation, shape: Shape) -> [Strides; 3] {
    let (_, n, k) = extents(shape);
    match operation {
        Operation::ColumnMajorProduct => {
            super::leading_dimensions(shape).map(Strides::column_major)
        }
        _ => [k, n, n].map(Strides::row_major),
    }
}

/// C = A · B.
pub struct Product<T> {
    shape: Shape,
    /// Whether A and B are stored transposed.
    transposed: [bool; 2],
    /// Layouts of A, B and C.
    strides: [Strides; 3],
    /// The leading dimension of C, where its columns may be padded.
    ldc: Option<usize>,
    inputs: Vec<Vec<T>>,
    output_len: usize,
    params: Vec<Param>,
    /// For one element of C.
    tolerance: Tolerance,
    reference: OnceCell<Reference>,
}

/// The right answer, as far as it is computed.
enum Reference {
    /// C, row-major.
    Full(Vec<f64>),
    /// Pairs of x and A · (B · x).
    Projections(Vec<check::Projection>),
}

impl<T: Element> Product<T> {
    /// Dense and row-major.
    pub fn row_major(shape: Shape, seed: u64) -> Self {
        let (m, n, k) = extents(shape);
        let inputs = [random(m * k, seed, 1), random(k * n, seed, 2)];
        let tolerance = check::product_tolerance::<T>(k);
        Product::of_inputs(shape, inputs, tolerance.into())
    }

    /// A dense and row-major one, with A stored as k × m or B as n × k where the flag of each says
    /// so.
    pub fn stored(mut self, transposed: [bool; 2]) -> Self {
        let (m, _, k) = extents(self.shape);
        self.transposed = transposed;
        if transposed[0] {
            self.strides[0] = Strides::column_major(m);
        }
        if transposed[1] {
            self.strides[1] = Strides::column_major(k);
        }
        self
    }

    /// Dense and row-major, of these inputs.
    pub(super) fn of_inputs(shape: Shape, inputs: [Vec<T>; 2], tolerance: Tolerance) -> Self {
        let (m, n, k) = extents(shape);
        Product {
            shape,
            transposed: [false; 2],
            strides: [k, n, n].map(Strides::row_major),
            ldc: None,
            inputs: inputs.into(),
            output_len: m * n,
            params: params(shape),
            tolerance,
            reference: OnceCell::new(),
        }
    }

    /// Column-major with these leading dimensions of A, B and C. Padding of the inputs holds NaN,
    /// so that a kernel that reads it fails its check.
    pub fn column_major(shape: Shape, lds: [usize; 3], seed: u64) -> Self {
        let (m, n, k) = extents(shape);
        let [lda, ldb, ldc] = lds;
        let mut params = params(shape);
        params.extend(lds.map(|ld| Param::U32(ld as u32)));
        Product {
            shape,
            transposed: [false; 2],
            strides: lds.map(Strides::column_major),
            ldc: Some(ldc),
            inputs: vec![
                padded(random(m * k, seed, 1), m, lda),
                padded(random(k * n, seed, 2), k, ldb),
            ],
            output_len: ldc * n,
            params,
            tolerance: check::product_tolerance::<T>(k).into(),
            reference: OnceCell::new(),
        }
    }

    fn reference(&self) -> &Reference {
        self.reference.get_or_init(|| {
            let (m, n, k) = extents(self.shape);
            let [a, b] = [&self.inputs[0], &self.inputs[1]];
            let [in_a, in_b, _] = self.strides;
            if m as u128 * n as u128 * k as u128 <= FULL_REFERENCE_LIMIT {
                return Reference::Full(multiply((a, in_a), (b, in_b), [m, n, k]));
            }
            let projections = (0..FREIVALDS_VECTORS)
                .map(|vector| {
                    // A seed of its own: the vectors must not depend on the inputs.
                    let x = random::<f64>(n, 0, 3 + vector);
                    let bx = project(b, in_b, k, &x);
                    let expected = project(a, in_a, m, &bx);
                    check::Projection { x, expected }
                })
                .collect();
            Reference::Projections(projections)
        })
    }
}

impl<T: Element> Problem<T> for Product<T> {
    fn shape(&self) -> Shape {
        self.shape
    }

    fn transposed(&self) -> [bool; 2] {
        self.transposed
    }

    fn inputs(&self) -> &[Vec<T>] {
        &self.inputs
    }

    fn output_len(&self) -> usize {
        self.output_len
    }

    fn padded_columns(&self) -> Option<(usize, usize)> {
        Some((self.shape.m as usize, self.ldc?))
    }

    fn params(&self) -> Vec<Param> {
        self.params.clone()
    }

    fn check(&self, output: &[T]) -> Verdict {
        let (m, n, k) = extents(self.shape);
        let (in_c, tolerance) = (self.strides[2], self.tolerance);
        let verdict = match self.reference() {
            Reference::Full(c) => check_rows(
                (m, n),
                &|i, j| output[in_c.index(i, j)].into(),
                &|i, j| c[i * n + j],
                &|_| tolerance,
                Method::Nalgebra,
            ),
            Reference::Projections(projections) => {
                let projected = projections
                    .iter()
                    .map(|projection| project(output, in_c, m, &projection.x));
                check::projected_rows(
                    &projected.collect::<Vec<_>>(),
                    projections,
                    check::projected_tolerance(tolerance.of_largest(k), n, k),
                )
            }
        };
        let overwritten = self.ldc.and_then(|ldc| {
            let padding = |j: usize| &output[j * ldc + m..(j + 1) * ldc];
            (0..n).find(|&j| padding(j).iter().any(|&x| !x.into().is_nan()))
        });
        match overwritten {
            Some(j) => verdict.but(format!("the padding after column {j} was overwritten")),
            None => verdict,
        }
    }
}

/// Least rows that are looked at together, at the same time as other blocks.
const BLOCK_ROWS: usize = 32;

/// All rows of a matrix, in blocks of that many; the last one has what is left over as well, as
/// nalgebra's fast product takes no block of few rows. One block where there are no rows.
fn row_blocks(rows: usize) -> Vec<Range<usize>> {
    let blocks = (rows / BLOCK_ROWS).max(1);
    let end = |block: usize| match block == blocks {
        true => rows,
        false => block * BLOCK_ROWS,
    };
    (0..blocks)
        .map(|block| end(block)..end(block + 1))
        .collect()
}

/// [`check::project`], by all cores.
fn project<T: Element>(matrix: &[T], strides: Strides, rows: usize, x: &[f64]) -> Vec<f64> {
    let blocks = row_blocks(rows).into_par_iter();
    blocks
        .flat_map_iter(|block| {
            let from = &matrix[strides.index(block.start, 0)..];
            check::project(from, strides, block.len(), x)
        })
        .collect()
}

/// Matrices of any size and strides, and blocks of one.
type View<'m> = MatrixView<'m, f64, Dyn, Dyn, Dyn, Dyn>;
type ViewMut<'m> = MatrixViewMut<'m, f64, Dyn, Dyn, Dyn, Dyn>;

/// A · B in f64, row-major, by nalgebra on all cores.
fn multiply<T: Element>(
    (a, in_a): (&[T], Strides),
    (b, in_b): (&[T], Strides),
    [m, n, k]: [usize; 3],
) -> Vec<f64> {
    // Below this nalgebra does not hand views to its fast product, and wants columns without gaps.
    const LEAST: usize = 6;
    if [m, n, k].into_iter().any(|extent| extent < LEAST) {
        let a = DMatrix::from_fn(m, k, |i, j| a[in_a.index(i, j)].into());
        let b = DMatrix::from_fn(k, n, |i, j| b[in_b.index(i, j)].into());
        let c: DMatrix<f64> = a * b;
        return c.transpose().data.into();
    }
    let wide = |matrix: &[T]| -> Vec<f64> { matrix.par_iter().map(|&x| x.into()).collect() };
    let (a, b) = (wide(a), wide(b));
    let mut c = vec![0.0; m * n];
    let b = View::from_slice_with_strides(&b, k, n, in_b.row, in_b.column);
    let mut blocks = Vec::new();
    let mut rest = &mut c[..];
    for rows in row_blocks(m) {
        let (block, behind) = rest.split_at_mut(rows.len() * n);
        blocks.push((rows, block));
        rest = behind;
    }
    blocks.into_par_iter().for_each(|(rows, block)| {
        let a = &a[in_a.index(rows.start, 0)..];
        let a = View::from_slice_with_strides(a, rows.len(), k, in_a.row, in_a.column);
        let mut c = ViewMut::from_slice_with_strides_mut(block, rows.len(), n, n, 1);
        c.gemm(1.0, &a, &b, 0.0);
    });
    c
}

fn extents(Shape { m, n, k }: Shape) -> (usize, usize, usize) {
    (m as usize, n as usize, k as usize)
}

fn params(Shape { m, n, k }: Shape) -> Vec<Param> {
    vec![
        Param::Input(0),
        Param::Input(1),
        Param::Output,
        Param::U32(m),
        Param::U32(n),
        Param::U32(k),
    ]
}

/// Dense columns of `rows` elements moved `leading_dimension` apart, NaN between them.
fn padded<T: Element>(dense: Vec<T>, rows: usize, leading_dimension: usize) -> Vec<T> {
    if rows == leading_dimension || rows == 0 {
        return dense;
    }
    let mut padded = vec![T::NAN; dense.len() / rows * leading_dimension];
    for (to, from) in padded
        .chunks_exact_mut(leading_dimension)
        .zip(dense.chunks_exact(rows))
    {
        to[..rows].copy_from_slice(from);
    }
    padded
}
