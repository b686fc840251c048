//! What an exercise is.

use super::figures::Figure;
use std::fmt;
use warpladder_lab::emulate::Scalar;

/// A kernel to write or to repair.
#[derive(Clone, Copy, Debug)]
pub struct Exercise {
    /// Its name, which is that of its kernel.
    pub name: &'static str,
    /// Where it belongs.
    pub part: Part,
    /// What it teaches, in a few words.
    pub teaches: &'static str,
    /// Its texts.
    pub files: Files,
    /// The page of the book that it belongs to, without `.md`.
    pub chapter: &'static str,
    /// What the kernel has to compute.
    pub problem: Problem,
    /// What the kernel may ask of the machine. Empty where every right answer passes.
    pub demands: &'static [Demand],
}

/// A group of exercises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Threads, indices, guards.
    First,
    /// Global memory: coalescing, vectors.
    Memory,
    /// Shared memory and barriers.
    Shared,
    /// Warps: shuffles, divergence.
    Warps,
    /// Transposes.
    Transpose,
    /// All blocks together: reductions, scans, histograms.
    Blocks,
    /// Rows that are normalised: softmax, layer normalisation.
    Rows,
    /// Matrix-vector products.
    Matvec,
    /// Matrix products.
    Matmul,
    /// Asynchronous copies and barriers that count.
    Async,
    /// Tensor cores.
    TensorCores,
    /// Kernels that are wrong.
    Detective,
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Part::First => "first steps",
            Part::Memory => "global memory",
            Part::Shared => "shared memory",
            Part::Warps => "warps",
            Part::Transpose => "transpose",
            Part::Blocks => "all blocks",
            Part::Rows => "rows",
            Part::Matvec => "matrix-vector product",
            Part::Matmul => "matrix product",
            Part::Async => "asynchronous copies",
            Part::TensorCores => "tensor cores",
            Part::Detective => "detective",
        })
    }
}

/// The texts of an exercise.
#[derive(Clone, Copy, Debug)]
pub struct Files {
    /// What the learner gets: the task, and a kernel with a hole or a fault.
    pub exercise: &'static str,
    /// The same file, solved.
    pub solution: &'static str,
    /// The hints, each in a paragraph of its own.
    pub hints: &'static str,
}

impl Files {
    /// The hints, the faintest first.
    pub fn hints(&self) -> impl Iterator<Item = &'static str> {
        self.hints.trim().split("\n\n")
    }
}

/// What a kernel has to compute.
#[derive(Clone, Copy, Debug)]
pub struct Problem {
    /// The launches that it is checked with.
    pub cases: &'static [Case],
    /// What the result has to hold after a launch.
    pub expected: fn(&Given) -> Vec<f32>,
}

/// A launch.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// Blocks of the grid.
    pub grid: [u32; 3],
    /// Threads of a block.
    pub block: [u32; 3],
    /// The kernel's arguments. One of them holds the result.
    pub arguments: &'static [Argument],
}

/// An argument of a kernel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Argument {
    /// A `usize`.
    Size(usize),
    /// An `f32`.
    Float(f32),
    /// The address of an array of `f32` in global memory.
    Array {
        /// The name of the kernel's parameter.
        name: &'static str,
        /// Rows and columns, row-major; an array of one dimension is one row.
        shape: [usize; 2],
        /// What it holds at first.
        holds: Holds,
    },
}

/// What an array holds before a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holds {
    /// 0, 1, 2, …: an input.
    Count,
    /// Whole numbers from -4 to 4 in no order: an input whose sums and products are exact.
    Digits,
    /// Nothing yet: the result.
    Result,
    /// Zeros that the kernel works with: no input and no result.
    Zeros,
    /// Zeros, to which the result is added.
    ResultFromZeros,
    /// Whole numbers as in [`Digits`](Holds::Digits), which the kernel replaces by the result.
    ResultInPlace,
}

impl Holds {
    /// Whether this array is the result.
    pub fn is_result(self) -> bool {
        matches!(
            self,
            Holds::Result | Holds::ResultFromZeros | Holds::ResultInPlace
        )
    }

    /// The elements of argument `index`, where something is written before the launch.
    pub(super) fn elements(self, index: usize, count: usize) -> Option<Vec<f32>> {
        match self {
            Holds::Count => Some((0..count).map(|i| i as f32).collect()),
            Holds::Digits | Holds::ResultInPlace => Some(digits(index, count)),
            Holds::Result => None,
            Holds::Zeros | Holds::ResultFromZeros => Some(vec![0.0; count]),
        }
    }
}

/// Whole numbers from -4 to 4.
fn digits(index: usize, count: usize) -> Vec<f32> {
    let random = Scalar::F32.random(count, index as u64 + 1);
    let floats = random.as_chunks().0.iter().copied().map(f32::from_le_bytes);
    floats.map(|x| (x * 4.5).trunc()).collect()
}

/// What a kernel was given: the arguments of a launch, by kind and in their order.
#[derive(Clone, Debug, Default)]
pub struct Given {
    /// The arrays as they were before the launch; one that held nothing is empty.
    pub arrays: Vec<Vec<f32>>,
    /// The sizes.
    pub sizes: Vec<usize>,
    /// The numbers.
    pub floats: Vec<f32>,
    /// Threads of the grid.
    pub threads: usize,
}

impl Case {
    /// The arguments as values.
    pub fn given(&self) -> Given {
        let extents = self.grid.iter().chain(&self.block);
        let mut given = Given {
            threads: extents.map(|&extent| extent as usize).product(),
            ..Given::default()
        };
        for (index, argument) in self.arguments.iter().enumerate() {
            match *argument {
                Argument::Size(size) => given.sizes.push(size),
                Argument::Float(float) => given.floats.push(float),
                Argument::Array {
                    shape: [rows, columns],
                    holds,
                    ..
                } => {
                    let elements = holds.elements(index, rows * columns);
                    given.arrays.push(elements.unwrap_or_default());
                }
            }
        }
        given
    }
}

/// A bound on what a kernel asks of the machine.
#[derive(Clone, Copy, Debug)]
pub struct Demand {
    /// What is bounded.
    pub figure: Figure,
    /// How many times the reference's it may be.
    pub at_most: f64,
    /// What a kernel that asks for more has probably not done.
    pub because: &'static str,
}
