//! Weighted sums of neighbours.

use super::{Problem, Shape, check_rows, random};
use kernels_gpu::ladder::stencil::{POINTS_2D, RADIUS_1D, RADIUS_2D, WEIGHTS_1D, WEIGHTS_2D};
use warpladder::check::{Method, Verdict};
use warpladder::element::Element;
use warpladder::launch::Param;

/// Inputs that an output is a sum of.
pub(super) fn points(dimensions: u32) -> usize {
    match dimensions {
        0 | 1 => WEIGHTS_1D.len(),
        _ => POINTS_2D,
    }
}

/// A stencil of one or two dimensions.
pub(super) struct Stencil<T> {
    shape: Shape,
    dimensions: u32,
    input: [Vec<T>; 1],
}

impl<T: Element> Stencil<T> {
    pub(super) fn new(shape: Shape, dimensions: u32, seed: u64) -> Self {
        Stencil {
            shape,
            dimensions,
            input: [random(shape.m as usize * shape.n as usize, seed, 1)],
        }
    }

    /// The input at a place, which may lie outside.
    fn input(&self, [rows, columns]: [usize; 2], row: isize, column: isize) -> f64 {
        let inside = |at: isize, extent: usize| usize::try_from(at).ok().filter(|&at| at < extent);
        match (inside(row, rows), inside(column, columns)) {
            (Some(row), Some(column)) => self.input[0][row * columns + column].into(),
            _ => 0.0,
        }
    }

    fn expected(&self, size: [usize; 2], row: usize, column: usize) -> f64 {
        let offset = |at: usize, d: usize, radius: usize| (at + d) as isize - radius as isize;
        let weighted = |weights: &[f32], of: &dyn Fn(usize) -> f64| -> f64 {
            let weights = weights.iter().enumerate();
            weights.map(|(d, &weight)| f64::from(weight) * of(d)).sum()
        };
        match self.dimensions {
            0 | 1 => weighted(&WEIGHTS_1D, &|d| {
                self.input(size, row as isize, offset(column, d, RADIUS_1D))
            }),
            _ => weighted(&WEIGHTS_2D, &|dy| {
                weighted(&WEIGHTS_2D, &|dx| {
                    let [row, column] =
                        [(row, dy), (column, dx)].map(|(at, d)| offset(at, d, RADIUS_2D));
                    self.input(size, row, column)
                })
            }),
        }
    }
}

impl<T: Element> Problem<T> for Stencil<T> {
    fn shape(&self) -> Shape {
        self.shape
    }

    fn inputs(&self) -> &[Vec<T>] {
        &self.input
    }

    fn output_len(&self) -> usize {
        self.input[0].len()
    }

    fn params(&self) -> Vec<Param> {
        let mut params = vec![Param::Input(0), Param::Output];
        if self.dimensions > 1 {
            params.extend([self.shape.n, self.shape.m].map(Param::U32));
        }
        params
    }

    /// Weights are positive and add up to 1, and each of as many additions as there are points
    /// rounds a number below 1: the tolerance is their number times u.
    fn check(&self, output: &[T]) -> Verdict {
        let (rows, columns) = (self.shape.m as usize, self.shape.n as usize);
        // In one dimension rows are one behind the other.
        let size = match self.dimensions {
            0 | 1 => [1, rows * columns],
            _ => [rows, columns],
        };
        let at = |i: usize, j: usize| match self.dimensions {
            0 | 1 => [0, i * columns + j],
            _ => [i, j],
        };
        check_rows(
            (rows, columns),
            &|i, j| output[i * columns + j].into(),
            &|i, j| {
                let [row, column] = at(i, j);
                self.expected(size, row, column)
            },
            &|_| (points(self.dimensions) as f64 * T::UNIT_ROUNDOFF).into(),
            Method::Reference,
        )
    }
}
