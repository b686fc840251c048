//! What kernels compute: inputs, parameters, the right answer, and the work that it takes.
//!
//! A problem is made once for an operation, an element type, a shape and a seed, and serves every rung of that
//! kind. It knows nothing of engines: parameters are symbolic ([`Param`]) until a launch.

mod product;
mod transposition;

use crate::check::Verdict;
use crate::element::Element;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

/// What a kernel computes and, with it, which parameters it takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    /// C = A · B, row-major: `(a: &[T], b: &[T], c: *mut T, m: u32, n: u32, k: u32)`.
    Product,
    /// The input as it is: `(input: &[T], output: *mut T, width: u32, height: u32, repetitions: u32)`.
    Copy,
    /// The input's transpose, row-major, with the parameters of `Copy`.
    Transpose,
}

/// The size of a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize)]
pub struct Shape {
    /// Rows of a product; rows of the input of a transpose.
    pub m: u32,
    /// Columns.
    pub n: u32,
    /// The dimension that a product sums over; unused elsewhere.
    pub k: u32,
}

/// One parameter of a kernel, before there is device memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Param {
    /// An input as a slice: its pointer and its length.
    Input(usize),
    /// The pointer to the output.
    Output,
    /// A number.
    U32(u32),
}

/// A problem with inputs, for kernels whose elements are `T`.
pub trait Problem<T: Element> {
    /// The inputs, in the order in which [`Param::Input`] numbers them.
    fn inputs(&self) -> &[Vec<T>];

    /// Number of elements of the output.
    fn output_len(&self) -> usize;

    /// The kernel's parameters.
    fn params(&self) -> Vec<Param>;

    /// Compares an output with the right answer.
    fn check(&self, output: &[T]) -> Verdict;
}

impl Operation {
    /// Makes the problem of this shape, with inputs drawn from [-1, 1) by `seed`.
    pub fn problem<T: Element + nalgebra::RealField>(
        self,
        shape: Shape,
        seed: u64,
    ) -> Box<dyn Problem<T>> {
        match self {
            Operation::Product => Box::new(product::Product::new(shape, seed)),
            Operation::Copy => Box::new(transposition::Transposition::new(shape, seed, false)),
            Operation::Transpose => Box::new(transposition::Transposition::new(shape, seed, true)),
        }
    }

    /// Whether the third dimension of a shape means anything.
    pub fn uses_k(self) -> bool {
        matches!(self, Operation::Product)
    }

    /// Elements of all inputs and of the output.
    pub fn elements(self, Shape { m, n, k }: Shape) -> (u128, u128) {
        let (m, n, k) = (u128::from(m), u128::from(n), u128::from(k));
        match self {
            Operation::Product => (m * k + k * n, m * n),
            Operation::Copy | Operation::Transpose => (m * n, m * n),
        }
    }

    /// Floating-point operations, a fused multiply-add counted as two; 0 where there is no arithmetic.
    pub fn flops(self, Shape { m, n, k }: Shape) -> f64 {
        match self {
            Operation::Product => 2.0 * f64::from(m) * f64::from(n) * f64::from(k),
            Operation::Copy | Operation::Transpose => 0.0,
        }
    }

    /// The fewest elements that a kernel must move: every input read once, the output written once.
    pub fn elements_moved(self, shape: Shape) -> f64 {
        let (inputs, output) = self.elements(shape);
        (inputs + output) as f64
    }
}

/// `len` values from [-1, 1), the same ones for the same seed and stream.
fn random<T: Element>(len: usize, seed: u64, stream: u64) -> Vec<T> {
    // Streams keep the inputs of one problem apart; the multiplier is odd, so no two of them coincide.
    let mut rng = StdRng::seed_from_u64(seed ^ stream.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    (0..len)
        .map(|_| T::from_f64(rng.random_range(-1.0..1.0)))
        .collect()
}
