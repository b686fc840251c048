//! The sum of all elements.

use super::{Problem, Shape, random};
use rayon::prelude::*;
use warpladder::check::{self, Method, Verdict};
use warpladder::element::Element;
use warpladder::launch::Param;

/// Elements that are added one after the other in the reference; sums of these blocks are then
/// added, which rounds less.
const BLOCK: usize = 1 << 12;

/// One sum.
pub(super) struct Sum<T> {
    shape: Shape,
    input: [Vec<T>; 1],
    expected: f64,
}

impl<T: Element> Sum<T> {
    pub(super) fn new(shape: Shape, seed: u64) -> Self {
        let input: Vec<T> = random(shape.m as usize * shape.n as usize, seed, 1);
        let block = |block: &[T]| -> f64 { block.iter().map(|&x| x.into()).sum() };
        let sums: Vec<f64> = input.par_chunks(BLOCK).map(block).collect();
        Sum {
            shape,
            expected: sums.into_iter().sum(),
            input: [input],
        }
    }
}

impl<T: Element> Problem<T> for Sum<T> {
    fn shape(&self) -> Shape {
        self.shape
    }

    fn inputs(&self) -> &[Vec<T>] {
        &self.input
    }

    fn output_len(&self) -> usize {
        1
    }

    fn params(&self) -> Vec<Param> {
        vec![Param::Input(0), Param::Output]
    }

    /// The tolerance is that of a product's element: [`check::product_tolerance`] of as many terms.
    /// It holds for additions in any order, and so for atomics, which add one after the other. A
    /// single term of 1/2 is more than it up to some two million elements of `f32`; a block of
    /// terms, more than it at any size that fits into memory.
    fn check(&self, output: &[T]) -> Verdict {
        check::elementwise(
            (1, 1),
            |_, _| output[0].into(),
            |_, _| self.expected,
            check::product_tolerance::<T>(self.input[0].len()),
            Method::Reference,
        )
    }
}
