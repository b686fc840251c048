//! Problems in which every output element comes from one input element: copies, transposes,
//! `add_one`.

use super::{Problem, Shape, random};
use warpladder::check::{self, Method, Verdict};
use warpladder::element::Element;
use warpladder::launch::Param;

/// A matrix that is copied or transposed.
pub(super) struct Matrix<T> {
    shape: Shape,
    transpose: bool,
    input: [Vec<T>; 1],
}

impl<T: Element> Matrix<T> {
    pub(super) fn copy(shape: Shape, seed: u64) -> Self {
        Matrix {
            shape,
            transpose: false,
            input: [random(shape.m as usize * shape.n as usize, seed, 1)],
        }
    }

    pub(super) fn transpose(shape: Shape, seed: u64) -> Self {
        Matrix {
            transpose: true,
            ..Matrix::copy(shape, seed)
        }
    }
}

impl<T: Element> Problem<T> for Matrix<T> {
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
        vec![
            Param::Input(0),
            Param::Output,
            Param::U32(self.shape.n),
            Param::U32(self.shape.m),
        ]
    }

    fn check(&self, output: &[T]) -> Verdict {
        let (rows, columns) = (self.shape.m as usize, self.shape.n as usize);
        let input = |i: usize, j: usize| self.input[0][i * columns + j].into();
        // Moving data rounds nothing: the tolerance is 0.
        if self.transpose {
            check::elementwise(
                (columns, rows),
                |i, j| output[i * rows + j].into(),
                |i, j| input(j, i),
                0.0,
                Method::Exact,
            )
        } else {
            check::elementwise(
                (rows, columns),
                |i, j| output[i * columns + j].into(),
                input,
                0.0,
                Method::Exact,
            )
        }
    }
}

/// A run of elements to each of which a number is added.
pub(super) struct Stream<T> {
    shape: Shape,
    input: [Vec<T>; 1],
    added: f64,
}

impl<T: Element> Stream<T> {
    pub(super) fn new(shape: Shape, seed: u64, added: f64) -> Self {
        Stream {
            shape,
            input: [random(shape.m as usize * shape.n as usize, seed, 1)],
            added,
        }
    }
}

impl<T: Element> Problem<T> for Stream<T> {
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
        vec![Param::Input(0), Param::Output]
    }

    fn check(&self, output: &[T]) -> Verdict {
        let input = &self.input[0];
        // The sum in f64, rounded once: what the kernel's one addition gives.
        let expected = |index: usize| T::from_f64(input[index].into() + self.added).into();
        check::elementwise(
            (1, output.len()),
            |_, j| output[j].into(),
            |_, j| expected(j),
            0.0,
            Method::Exact,
        )
    }
}
