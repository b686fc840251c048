//! Chains of multiply-adds.

use super::{Problem, Shape, random, rounds};
use kernels_gpu::ladder::stream::{BLOCK, fma_ilp};
use warpladder::check::{self, Method, Verdict};
use warpladder::element::Element;
use warpladder::launch::Param;

pub(super) struct Chains<T> {
    shape: Shape,
    input: [Vec<T>; 1],
    output_len: usize,
    rounds: u32,
    /// What the thread of each number in its block computes.
    expected: Vec<f64>,
    tolerance: f64,
}

impl<T: Element> Chains<T> {
    pub(super) fn new(shape: Shape, chains: u32, seed: u64) -> Self {
        let input: Vec<T> = random(BLOCK, seed, 1);
        let rounds = rounds(shape);
        let links = rounds as usize * fma_ilp::FMAS_PER_ROUND / chains as usize;
        let (factor, term) = (f64::from(fma_ilp::FACTOR), f64::from(fma_ilp::TERM));
        let chain = |start: f64| (0..links).fold(start, |x, _| x.mul_add(factor, term));
        let expected = input
            .iter()
            .map(|&start| {
                (0..chains)
                    .map(|r| chain(start.into() + f64::from(r)))
                    .sum()
            })
            .collect();
        // Values lie between -1 and 4. Each link adds a rounding of at most 4 u and passes on the
        // error before it times FACTOR, so the error of a chain is at most 4 u · min(links, 1 /
        // TERM); and the sum rounds as well.
        let roundings = (links as f64).min(1.0 / term);
        let tolerance = f64::from(chains) * 4.0 * (roundings + 4.0) * T::UNIT_ROUNDOFF;
        Chains {
            shape,
            input: [input],
            output_len: shape.m as usize * shape.n as usize,
            rounds,
            expected,
            tolerance,
        }
    }
}

impl<T: Element> Problem<T> for Chains<T> {
    fn shape(&self) -> Shape {
        self.shape
    }

    fn inputs(&self) -> &[Vec<T>] {
        &self.input
    }

    fn output_len(&self) -> usize {
        self.output_len
    }

    fn params(&self) -> Vec<Param> {
        vec![
            Param::Input(0),
            Param::Output,
            Param::U32(self.rounds),
            Param::F32(fma_ilp::FACTOR),
            Param::F32(fma_ilp::TERM),
        ]
    }

    fn check(&self, output: &[T]) -> Verdict {
        check::elementwise(
            (1, output.len()),
            |_, j| output[j].into(),
            |_, j| self.expected[j % BLOCK],
            self.tolerance,
            Method::Reference,
        )
    }
}
