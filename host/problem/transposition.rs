//! Transposes and copies.

use super::{Param, Problem, Shape, random};
use crate::check::{self, Verdict};
use crate::element::Element;
use nalgebra::DMatrixView;

pub(super) struct Transposition<T> {
    shape: Shape,
    input: [Vec<T>; 1],
    /// The right answer, row-major.
    expected: Vec<f64>,
}

impl<T: Element + nalgebra::RealField> Transposition<T> {
    pub(super) fn new(shape: Shape, seed: u64, transpose: bool) -> Self {
        let (rows, columns) = (shape.m as usize, shape.n as usize);
        let input: Vec<T> = random(rows * columns, seed, 1);
        let expected = if transpose {
            // nalgebra is column-major: what it sees is the transpose already, and its transpose, read column
            // by column, is the row-major answer.
            let view = DMatrixView::from_slice(&input, columns, rows);
            view.transpose().iter().map(|&x| x.into()).collect()
        } else {
            input.iter().map(|&x| x.into()).collect()
        };
        Transposition {
            shape,
            input: [input],
            expected,
        }
    }
}

impl<T: Element> Problem<T> for Transposition<T> {
    fn inputs(&self) -> &[Vec<T>] {
        &self.input
    }

    fn output_len(&self) -> usize {
        self.expected.len()
    }

    fn params(&self) -> Vec<Param> {
        vec![
            Param::Input(0),
            Param::Output,
            Param::U32(self.shape.n),
            Param::U32(self.shape.m),
            Param::U32(1),
        ]
    }

    fn check(&self, output: &[T]) -> Verdict {
        // Moving data rounds nothing: the tolerance is 0. Which rows the output has does not matter here.
        check::elementwise(
            output,
            &self.expected,
            self.shape.m.max(1) as usize,
            0.0,
            check::Method::Exact,
        )
    }
}
