//! What kernels compute: inputs, parameters, the right answer, and the work that it takes.
//!
//! A problem is made once for an operation, an element type, a shape and a seed, and serves every
//! rung of that kind. It knows nothing of engines: parameters are symbolic ([`Param`]) until a
//! launch.

mod attention;
mod chains;
#[cfg(test)]
mod checked;
#[cfg(test)]
mod checked_families;
mod integers;
mod matvec;
mod pointwise;
pub mod product;
mod rows;
mod spmv;
mod stencil;
mod sum;
pub(crate) mod tensor;

pub use spmv::MAX_ROWS as MAX_SPARSE_ROWS;

use kernels_gpu::ladder::stream::fma_ilp;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use rayon::prelude::*;
use warpladder::check::{self, Method, Tolerance, Verdict};
use warpladder::element::{Element, TensorInput};
use warpladder::launch::Param;

/// What a kernel computes and, with it, which parameters it takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    /// C = A · B, row-major and dense: `(a: &[T], b: &[T], c: *mut T, m: u32, n: u32, k: u32)`.
    Product,
    /// C = A · B, column-major with leading dimensions: the same, then `lda: u32, ldb: u32, ldc:
    /// u32`.
    ColumnMajorProduct,
    /// C = A · B, row-major and dense, with inputs of 16 bits, two to a word, and accumulators and
    /// C of f32: `(a: &[T], b: &[T], c: *mut f32, m: u32, n: u32, k: u32)`.
    TensorProduct(TensorInput),
    /// The same with 16-bit elements of one type in A, B and C: an f32 accumulator is rounded once,
    /// when it is stored: `(a: &[T], b: &[T], c: *mut T, m: u32, n: u32, k: u32)`.
    #[serde(rename = "narrow_product")]
    TensorProduct16(TensorInput),
    /// The input as it is: `(input: &[T], output: *mut T, width: u32, height: u32)`.
    Copy,
    /// The input's transpose, row-major, with the parameters of `Copy`.
    Transpose,
    /// `output[i] = input[i]`: `(input: &[T], output: *mut T)`.
    StreamCopy,
    /// `output[i] = input[i] + 1`, with the parameters of `StreamCopy`.
    AddOne,
    /// The sum of `chains` chains of multiply-adds: `(input: &[T], output: *mut T, rounds: u32,
    /// factor: T, term: T)`.
    FmaChains {
        /// Chains of each thread.
        chains: u32,
    },
    /// A small matrix times many vectors: `(matrix: [[T; N]; M], input: &[T], output: *mut T)`,
    /// then `m: u32, n: u32` where the kernel takes any size, with a matrix of 32 × 32.
    MatVec {
        /// Rows of the matrix.
        rows: u32,
        /// Columns of the matrix.
        columns: u32,
        /// Whether the kernel is told the size.
        any: bool,
    },
    /// The sum of all elements: `(input: &[T], output: *mut T)`.
    Sum,
    /// The inclusive scan of integers: `(input: &[u32], output: *mut u32)`.
    Scan,
    /// How many integers have each value of their lowest bits: `(input: &[u32], output: *mut u32)`.
    Histogram,
    /// The softmax of each row: `(input: &[T], output: *mut T, columns: u32)`.
    Softmax,
    /// Layer normalisation of each row: `(input: &[T], weight: &[T], bias: &[T], output: *mut T,
    /// columns: u32)`.
    LayerNorm,
    /// Weighted sums of neighbours: of one dimension `(input: &[T], output: *mut T)`, of two the
    /// parameters of `Copy`.
    Stencil {
        /// Dimensions: 1 or 2.
        dimensions: u32,
    },
    /// A sparse matrix times a vector: `(offsets: &[u32], columns: &[u32], values: &[T], x: &[T],
    /// output: *mut T, rows: u32)`.
    #[serde(rename = "spmv")]
    SpMv,
    /// Attention of heads: `(q: &[T], k: &[T], v: &[T], output: *mut T, queries: u32, width: u32,
    /// keys: u32)`.
    Attention {
        /// Columns of a head.
        head: u32,
        /// Whether query i sees keys 0 to i alone.
        causal: bool,
    },
}

/// The size of a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Shape {
    /// Rows of a product; rows of the input of a transpose.
    pub m: u32,
    /// Columns. Where a problem is one-dimensional it has m · n elements.
    pub n: u32,
    /// The dimension that a product sums over; the keys of attention; 1/16 of it are the rounds of
    /// the FMA chains.
    pub k: u32,
}

/// A problem with inputs, for kernels whose elements are `T`.
pub trait Problem<T: Element> {
    /// The size.
    fn shape(&self) -> Shape;

    /// Whether A and B of a product are stored transposed.
    fn transposed(&self) -> [bool; 2] {
        [false; 2]
    }

    /// The inputs, in the order in which [`Param::Input`] numbers them.
    fn inputs(&self) -> &[Vec<T>];

    /// Number of elements of the output, padding included.
    fn output_len(&self) -> usize;

    /// Where there may be padding in the output: elements of a column, and elements from one column
    /// to the next.
    fn padded_columns(&self) -> Option<(usize, usize)> {
        None
    }

    /// The kernel's parameters.
    fn params(&self) -> Vec<Param>;

    /// Compares an output with the right answer. The output held NaN before.
    fn check(&self, output: &[T]) -> Verdict;
}

/// Columns of column-major matrices are padded to a multiple of this number of elements, 128 bytes
/// of `f32`, as a pitched allocation would: a leading dimension is then not the number of rows
/// unless that is such a multiple.
pub const PITCH_MULTIPLE: u32 = 32;

impl Operation {
    /// Makes the problem of this shape, with inputs drawn from [-1, 1) by `seed`.
    pub fn problem<T: Element>(self, shape: Shape, seed: u64) -> Box<dyn Problem<T>> {
        self.stored(shape, [false; 2], seed)
    }

    /// The same with A stored as k × m or B as n × k where the flag of each says so. What is no
    /// dense row-major product has no such operands, and is as it is.
    pub fn stored<T: Element>(
        self,
        shape: Shape,
        transposed: [bool; 2],
        seed: u64,
    ) -> Box<dyn Problem<T>> {
        match self {
            Operation::Product => {
                Box::new(product::Product::row_major(shape, seed).stored(transposed))
            }
            Operation::ColumnMajorProduct => {
                let lds = leading_dimensions(shape);
                Box::new(product::Product::column_major(shape, lds, seed))
            }
            Operation::TensorProduct(input) | Operation::TensorProduct16(input) => {
                Box::new(tensor::TensorProduct::new(shape, input, seed).stored(transposed))
            }
            Operation::Copy => Box::new(pointwise::Matrix::copy(shape, seed)),
            Operation::Transpose => Box::new(pointwise::Matrix::transpose(shape, seed)),
            Operation::StreamCopy => Box::new(pointwise::Stream::new(shape, seed, 0.0)),
            Operation::AddOne => Box::new(pointwise::Stream::new(shape, seed, 1.0)),
            Operation::FmaChains { chains } => Box::new(chains::Chains::new(shape, chains, seed)),
            Operation::MatVec { rows, columns, any } => {
                Box::new(matvec::MatVec::new(shape, [rows, columns], any, seed))
            }
            Operation::Sum => Box::new(sum::Sum::new(shape, seed)),
            Operation::Scan => Box::new(integers::Integers::scan(shape, seed)),
            Operation::Histogram => Box::new(integers::Integers::histogram(shape, seed)),
            Operation::Softmax => Box::new(rows::Rows::softmax(shape, seed)),
            Operation::LayerNorm => Box::new(rows::Rows::layer_norm(shape, seed)),
            Operation::Stencil { dimensions } => {
                Box::new(stencil::Stencil::new(shape, dimensions, seed))
            }
            Operation::SpMv => Box::new(spmv::SpMv::new(shape, seed)),
            Operation::Attention { head, causal } => {
                Box::new(attention::Attention::new(shape, (head, causal), seed))
            }
        }
    }

    /// Whether this is a product of two matrices.
    pub fn is_product(self) -> bool {
        use Operation::{ColumnMajorProduct, Product, TensorProduct, TensorProduct16};
        matches!(
            self,
            Product | ColumnMajorProduct | TensorProduct(_) | TensorProduct16(_)
        )
    }

    /// What tensor cores take, where this is a product that says so.
    pub fn tensor_input(self) -> Option<TensorInput> {
        match self {
            Operation::TensorProduct(input) | Operation::TensorProduct16(input) => Some(input),
            _ => None,
        }
    }

    /// Whether the third dimension of a shape means anything.
    pub fn uses_k(self) -> bool {
        self.is_product()
            || matches!(
                self,
                Operation::FmaChains { .. } | Operation::Attention { .. }
            )
    }

    /// Rows and columns of what the grid covers; one row where that is one-dimensional.
    pub fn extent(self, shape: Shape) -> (u64, u64) {
        let (m, n) = (u64::from(shape.m), u64::from(shape.n));
        match self {
            Operation::Product
            | Operation::ColumnMajorProduct
            | Operation::TensorProduct(_)
            | Operation::TensorProduct16(_)
            | Operation::Copy
            | Operation::Transpose
            | Operation::Attention { .. } => (m, n),
            Operation::Stencil { dimensions } if dimensions > 1 => (m, n),
            Operation::StreamCopy
            | Operation::AddOne
            | Operation::FmaChains { .. }
            | Operation::Sum
            | Operation::Scan
            | Operation::Histogram
            | Operation::Stencil { .. } => (1, m * n),
            // Rows are given to blocks and warps.
            Operation::Softmax | Operation::LayerNorm | Operation::SpMv => (1, m),
            Operation::MatVec { rows, columns, .. } => {
                (1, m * n / u64::from(columns) * u64::from(rows))
            }
        }
    }

    /// Elements of all inputs and of the output, padding included.
    pub fn elements(self, shape: Shape) -> (u128, u128) {
        let wide = |x: u32| u128::from(x);
        let (m, n, k) = (wide(shape.m), wide(shape.n), wide(shape.k));
        match self {
            Operation::Product | Operation::TensorProduct16(_) => (m * k + k * n, m * n),
            Operation::ColumnMajorProduct => {
                let ld = |rows: u32| wide(rows) + wide(padding(rows));
                (ld(shape.m) * k + ld(shape.k) * n, ld(shape.m) * n)
            }
            Operation::TensorProduct(input) => {
                let words = |elements: u128| elements.div_ceil(wide(input.per_word()));
                (words(m * k) + words(k * n), m * n)
            }
            Operation::Copy
            | Operation::Transpose
            | Operation::StreamCopy
            | Operation::AddOne
            | Operation::Scan
            | Operation::Softmax
            | Operation::Stencil { .. } => (m * n, m * n),
            Operation::Sum => (m * n, 1),
            Operation::Histogram => (m * n, kernels_gpu::ladder::histogram::BINS as u128),
            Operation::LayerNorm => (m * n + 2 * n, m * n),
            Operation::SpMv => (m + 1 + 2 * spmv::nonzeros(shape) + n, m),
            Operation::Attention { .. } => (m * n + 2 * k * n, m * n),
            Operation::FmaChains { .. } => (kernels_gpu::ladder::stream::BLOCK as u128, m * n),
            Operation::MatVec { rows, columns, .. } => {
                let vectors = m * n / wide(columns);
                (vectors * wide(columns), vectors * wide(rows))
            }
        }
    }

    /// Floating-point operations, a fused multiply-add counted as two; 0 where there is no
    /// arithmetic, or where functions are most of it, which is not counted in operations.
    pub fn flops(self, shape: Shape) -> f64 {
        let (m, n, k) = (f64::from(shape.m), f64::from(shape.n), f64::from(shape.k));
        match self {
            Operation::Product
            | Operation::ColumnMajorProduct
            | Operation::TensorProduct(_)
            | Operation::TensorProduct16(_) => 2.0 * m * n * k,
            Operation::Copy
            | Operation::Transpose
            | Operation::StreamCopy
            | Operation::Scan
            | Operation::Histogram
            | Operation::Softmax
            | Operation::LayerNorm => 0.0,
            Operation::AddOne | Operation::Sum => m * n,
            Operation::Stencil { dimensions } => 2.0 * m * n * stencil::points(dimensions) as f64,
            Operation::SpMv => 2.0 * spmv::nonzeros(shape) as f64,
            // Two products, of each query with each key that it sees.
            Operation::Attention { causal, .. } => {
                2.0 * (2.0 * n * attention::pairs(shape, causal) as f64)
            }
            Operation::FmaChains { .. } => {
                2.0 * m * n * (f64::from(rounds(shape)) * fma_ilp::FMAS_PER_ROUND as f64)
            }
            Operation::MatVec { rows, columns, .. } => {
                (m * n / f64::from(columns)).floor() * 2.0 * f64::from(rows) * f64::from(columns)
            }
        }
    }

    /// The fewest elements that a kernel must move: every input read once, the output written once,
    /// no padding.
    pub fn elements_moved(self, shape: Shape) -> f64 {
        let dense = match self {
            Operation::ColumnMajorProduct => Operation::Product,
            other => other,
        };
        let (inputs, output) = dense.elements(shape);
        (inputs + output) as f64
    }
}

/// The leading dimensions of A, B and C of a column-major product.
fn leading_dimensions(shape: Shape) -> [usize; 3] {
    [shape.m, shape.k, shape.m].map(|rows| rows as usize + padding(rows) as usize)
}

/// Elements between the last row of a column and the next column.
fn padding(rows: u32) -> u32 {
    (PITCH_MULTIPLE - rows % PITCH_MULTIPLE) % PITCH_MULTIPLE
}

/// Rounds of the FMA chains.
fn rounds(shape: Shape) -> u32 {
    (shape.k / 16).max(1)
}

/// `len` values from [-1, 1), the same ones for the same seed and stream.
fn random<T: Element>(len: usize, seed: u64, stream: u64) -> Vec<T> {
    // Streams keep the inputs of one problem apart, and blocks the parts of one input; the
    // multipliers are odd, so no two of them coincide.
    let of_stream = seed ^ stream.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut values = vec![T::zeroed(); len];
    let blocks = values.par_chunks_mut(RANDOM_BLOCK).enumerate();
    blocks.for_each(|(block, values)| {
        let of_block = (block as u64).wrapping_mul(0xd1b5_4a32_d192_ed03);
        let mut rng = StdRng::seed_from_u64(of_stream ^ of_block);
        values.fill_with(|| T::from_f64(rng.random_range(-1.0..1.0)));
    });
    values
}

/// An element of a matrix by its row and its column.
type ElementAt<'a> = &'a (dyn Fn(usize, usize) -> f64 + Sync);

/// Checks a matrix row by row, by all cores: `tolerance` is that of a row's elements. The functions
/// are called through tables, as each problem has some of its own for each element type.
fn check_rows(
    (rows, columns): (usize, usize),
    output: ElementAt<'_>,
    expected: ElementAt<'_>,
    tolerance: &(dyn Fn(usize) -> Tolerance + Sync),
    method: Method,
) -> Verdict {
    let of_row = |row: usize| {
        check::elementwise_rows(
            (row..row + 1, columns),
            output,
            expected,
            tolerance(row),
            method,
        )
    };
    let all = (0..rows)
        .into_par_iter()
        .map(of_row)
        .reduce_with(Verdict::and);
    // Of no row nothing is wrong.
    all.unwrap_or_else(|| check::elementwise((0, columns), output, expected, 0.0, method))
}

/// Words of 32 bits in memory of elements of `T`, and NaN behind them.
fn stored_words<T: Element>(words: &[u32]) -> Vec<T> {
    let bytes: &[u8] = bytemuck::cast_slice(words);
    let mut stored = vec![T::NAN; bytes.len().div_ceil(size_of::<T>())];
    bytemuck::cast_slice_mut::<T, u8>(&mut stored)[..bytes.len()].copy_from_slice(bytes);
    stored
}

/// Random values that one generator draws: blocks of them are drawn at the same time.
const RANDOM_BLOCK: usize = 1 << 20;
