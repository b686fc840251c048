//! Products whose matrices are divided among ranks: C = A · B.
//!
//! Each rank holds one block of A, of B and of C, before and after ([`Algorithm::blocks`]):
//!
//! | algorithm | A | B | C | what moves |
//! |---|---|---|---|---|
//! | [all-gather + GEMM](Algorithm::AllGather) | rows | columns | rows | B to all ranks |
//! | [GEMM + reduce-scatter](Algorithm::ReduceScatter) | columns | rows | rows | partial sums of C |
//! | [SUMMA](Algorithm::Summa) on p × q ranks | blocks | blocks | blocks | A along rows of the grid, B along columns |
//!
//! All three work in chunks: while a chunk is exchanged on a stream of its own, the product of the
//! chunk before runs. Blocks may be of uneven sizes, or empty. Source of SUMMA: van de Geijn and
//! Watts, "SUMMA: scalable universal matrix multiplication algorithm", 1997.

mod all_gather;
mod reduce_scatter;
mod summa;

use crate::comm::{Communicator, Wire};
use crate::error::ScaleError;
use crate::partition::even;
use bytemuck::Pod;
use std::fmt;
use std::ops::Range;
use std::str::FromStr;
use warpladder::gemm::GemmInto;
use warpladder::gpu::{DeviceArray, Event, Gpu, Layout};

/// C of m × n, A of m × k, B of k × n.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Shape {
    /// Rows of A and C.
    pub m: usize,
    /// Columns of B and C.
    pub n: usize,
    /// Columns of A and rows of B.
    pub k: usize,
}

impl Shape {
    /// Floating-point operations: 2 m n k.
    pub fn flops(self) -> f64 {
        2.0 * self.m as f64 * self.n as f64 * self.k as f64
    }
}

/// How a product is divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    /// B goes to all ranks, block by block, as in an all-gather: each rank computes its rows of C.
    AllGather,
    /// Each rank computes a partial sum of all of C, over its part of k. They are added and divided.
    ReduceScatter,
    /// On a grid of p × q ranks, row by row: panels of A go along the rows of the grid, panels of B
    /// along its columns.
    Summa([usize; 2]),
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Algorithm::AllGather => f.write_str("all-gather"),
            Algorithm::ReduceScatter => f.write_str("reduce-scatter"),
            Algorithm::Summa([p, q]) => write!(f, "summa:{p}x{q}"),
        }
    }
}

impl FromStr for Algorithm {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let grid = text.strip_prefix("summa:").and_then(|grid| {
            let (p, q) = grid.split_once('x')?;
            let extent = |text: &str| text.parse().ok().filter(|&extent: &usize| extent > 0);
            Some([extent(p)?, extent(q)?])
        });
        match (text, grid) {
            ("all-gather", _) => Ok(Algorithm::AllGather),
            ("reduce-scatter", _) => Ok(Algorithm::ReduceScatter),
            (_, Some(grid)) => Ok(Algorithm::Summa(grid)),
            _ => Err(format!(
                "{text:?} is no algorithm: take all-gather, reduce-scatter or summa:PxQ"
            )),
        }
    }
}

/// A block of a matrix, and how it lies in a rank's array, without gaps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// Its rows of the whole matrix.
    pub rows: Range<usize>,
    /// Its columns.
    pub columns: Range<usize>,
    /// Whether columns lie behind each other, and not rows.
    pub column_major: bool,
}

impl Block {
    /// Where its elements lie.
    pub fn layout(&self) -> Layout {
        let (rows, columns) = (self.rows.len(), self.columns.len());
        match self.column_major {
            true => Layout::column_major(rows, columns),
            false => Layout::row_major(rows, columns),
        }
    }

    /// How many elements it has.
    pub fn elements(&self) -> usize {
        self.rows.len() * self.columns.len()
    }
}

/// What a rank holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blocks {
    /// Of A.
    pub a: Block,
    /// Of B.
    pub b: Block,
    /// Of C.
    pub c: Block,
}

/// The blocks of an extent that is divided.
fn own(extent: usize, parts: usize, index: usize) -> Range<usize> {
    even(extent, parts).swap_remove(index)
}

impl Algorithm {
    /// What a rank of `size` holds.
    ///
    /// # Errors
    /// [`ScaleError::Shape`] where the ranks are not those of the grid.
    pub fn blocks(self, shape: Shape, rank: usize, size: usize) -> Result<Blocks, ScaleError> {
        let Shape { m, n, k } = shape;
        if rank >= size {
            let message = format!("there is no rank {rank} among {size}: they are counted from 0");
            return Err(ScaleError::Shape(message));
        }
        let block = |rows, columns, column_major| Block {
            rows,
            columns,
            column_major,
        };
        Ok(match self {
            Algorithm::AllGather => Blocks {
                a: block(own(m, size, rank), 0..k, false),
                b: block(0..k, own(n, size, rank), true),
                c: block(own(m, size, rank), 0..n, false),
            },
            Algorithm::ReduceScatter => Blocks {
                a: block(0..m, own(k, size, rank), false),
                b: block(own(k, size, rank), 0..n, false),
                c: block(own(m, size, rank), 0..n, false),
            },
            Algorithm::Summa([p, q]) => {
                if p.checked_mul(q) != Some(size) {
                    return Err(ScaleError::Shape(format!(
                        "a grid of {p} x {q} is not one of {size} ranks: give as many"
                    )));
                }
                let (i, j) = (rank / q, rank % q);
                Blocks {
                    a: block(own(m, p, i), own(k, q, j), true),
                    b: block(own(k, p, i), own(n, q, j), false),
                    c: block(own(m, p, i), own(n, q, j), false),
                }
            }
        })
    }

    /// Bytes that a rank receives, by the formula: the elements of B that it has not, or P − 1
    /// partial sums of its block of C, or the elements of its rows of A and its columns of B that
    /// it has not.
    ///
    /// # Errors
    /// As [`blocks`](Self::blocks).
    pub fn received_bytes(
        self,
        shape: Shape,
        rank: usize,
        size: usize,
        [input_bytes, output_bytes]: [u64; 2],
    ) -> Result<u64, ScaleError> {
        let Blocks { a, b, c } = self.blocks(shape, rank, size)?;
        let Shape { n, k, .. } = shape;
        Ok(match self {
            Algorithm::AllGather => (k * n - b.elements()) as u64 * input_bytes,
            Algorithm::ReduceScatter => (size as u64 - 1) * c.elements() as u64 * output_bytes,
            Algorithm::Summa(_) => {
                let of_a = a.rows.len() * (k - a.columns.len());
                let of_b = b.columns.len() * (k - b.rows.len());
                (of_a + of_b) as u64 * input_bytes
            }
        })
    }
}

/// Which part of the work is done: what is hidden shows when each is timed alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Work {
    /// All of it.
    #[default]
    All,
    /// What is exchanged alone; C is not written.
    Exchange,
    /// The products alone; C is wrong.
    Products,
}

/// How a product is done.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// In how many chunks each block is exchanged, at least 1: more hide more, and make smaller
    /// products.
    pub chunks: usize,
    /// Which part of the work.
    pub work: Work,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            chunks: 2,
            work: Work::All,
        }
    }
}

/// The operands of a rank, and where they are.
struct Job<'a, C, T: GemmInto<O>, O: Pod> {
    comm: &'a C,
    gpu: &'a Gpu,
    shape: Shape,
    a: &'a DeviceArray<T>,
    b: &'a DeviceArray<T>,
    c: &'a mut DeviceArray<O>,
    blocks: Blocks,
    options: Options,
    exchange: &'a Gpu,
    turns: &'a mut Turns,
    /// Buffers of A and B.
    inputs: &'a mut Buffers<T>,
    /// Buffers of C.
    outputs: &'a mut Buffers<O>,
    /// The ranks of this one's row and column of the grid.
    lines: Option<&'a [C; 2]>,
}

impl<C, T: GemmInto<O>, O: Pod> Job<'_, C, T, O> {
    fn exchanges(&self) -> bool {
        self.options.work != Work::Products
    }

    fn multiplies(&self) -> bool {
        self.options.work != Work::Exchange
    }

    fn chunks(&self) -> usize {
        self.options.chunks.max(1)
    }
}

/// Buffers that are kept from one product to the next.
struct Buffers<T>(Vec<DeviceArray<T>>);

impl<T: Pod> Buffers<T> {
    /// `count` buffers of `len` elements at least.
    fn take(
        &mut self,
        gpu: &Gpu,
        count: usize,
        len: usize,
    ) -> Result<&mut [DeviceArray<T>], ScaleError> {
        if self.0.len() < count || self.0.iter().any(|array| array.len() < len) {
            // The old ones go first.
            self.0.clear();
            for _ in 0..count {
                self.0.push(gpu.zeros::<T>(len, 1)?.into_array());
            }
        }
        Ok(&mut self.0[..count])
    }
}

/// What products of one algorithm need beside their operands, on a rank: a stream for exchanges,
/// events, buffers, and for SUMMA the communicators of the rows and columns of the grid. It is
/// kept from one product to the next: those after the first allocate nothing.
///
/// C is of `O`. Only [`Algorithm::AllGather`] computes each element by one product over all of k,
/// and takes every `O` that products of `T` are stored to, such as bf16.
pub struct Plan<C, T, O> {
    algorithm: Algorithm,
    gpu: Gpu,
    exchange: Gpu,
    start: Event,
    turns: Turns,
    inputs: Buffers<T>,
    outputs: Buffers<O>,
    lines: Option<[C; 2]>,
}

impl<C, T, O> Plan<C, T, O>
where
    C: Communicator,
    T: GemmInto<O> + Wire,
    O: Pod,
{
    /// All ranks call it, with the same algorithm. Products run on the stream of `gpu`.
    ///
    /// # Errors
    /// [`ScaleError::Shape`] where the ranks are not those of the grid, and those of
    /// [`multiply`](Self::multiply).
    pub fn new(comm: &C, gpu: &Gpu, algorithm: Algorithm) -> Result<Self, ScaleError> {
        let empty = Shape { m: 0, n: 0, k: 0 };
        algorithm.blocks(empty, comm.rank(), comm.size())?;
        let lines = match algorithm {
            Algorithm::Summa([_, q]) => {
                let (i, j) = (comm.rank() / q, comm.rank() % q);
                Some([comm.split(i, j)?, comm.split(j, i)?])
            }
            _ => None,
        };
        Ok(Plan {
            algorithm,
            gpu: gpu.clone(),
            exchange: gpu.stream()?,
            start: gpu.event()?,
            turns: Turns::new(gpu)?,
            inputs: Buffers(Vec::new()),
            outputs: Buffers(Vec::new()),
            lines,
        })
    }

    /// C = A · B of this rank's blocks. All ranks call it with the same shape and options; it
    /// returns when this rank's block of C is done. Another rank may fail after that:
    /// [`Communicator::barrier`] says whether all are done.
    ///
    /// # Errors
    /// [`ScaleError::Shape`] where an array is not of its block's size or C of a type that this
    /// algorithm does not take, [`ScaleError::Comm`] where a rank failed or did not come within the
    /// communicator's limit: the communicator cannot be used then. [`ScaleError::Gpu`] where this
    /// rank's device has too little memory.
    pub fn multiply(
        &mut self,
        comm: &C,
        shape: Shape,
        [a, b]: [&DeviceArray<T>; 2],
        c: &mut DeviceArray<O>,
        options: Options,
    ) -> Result<(), ScaleError>
    where
        O: Wire,
    {
        if self.algorithm != Algorithm::AllGather && size_of::<O>() < size_of::<T::Output>() {
            return Err(ScaleError::Shape(format!(
                "{} adds products of parts of k, and C of {} would be rounded each time: give C of \
                 the accumulators' type, or take all-gather",
                self.algorithm,
                O::TYPE
            )));
        }
        let blocks = self.algorithm.blocks(shape, comm.rank(), comm.size())?;
        check([a.len(), b.len(), c.len()], &blocks)?;
        self.gpu.record(&self.start)?;
        self.exchange.wait(&self.start)?;
        let job = Job {
            comm,
            gpu: &self.gpu,
            shape,
            a,
            b,
            c,
            blocks,
            options,
            exchange: &self.exchange,
            turns: &mut self.turns,
            inputs: &mut self.inputs,
            outputs: &mut self.outputs,
            lines: self.lines.as_ref(),
        };
        match self.algorithm {
            Algorithm::AllGather => all_gather::multiply(job),
            Algorithm::ReduceScatter => reduce_scatter::multiply(job),
            Algorithm::Summa(grid) => summa::multiply(job, grid),
        }
    }
}

/// Refuses arrays that are not of their block's size.
fn check(given: [usize; 3], blocks: &Blocks) -> Result<(), ScaleError> {
    let takes = [&blocks.a, &blocks.b, &blocks.c];
    for (name, (given, block)) in ["A", "B", "C"]
        .into_iter()
        .zip(given.into_iter().zip(takes))
    {
        if given < block.elements() {
            return Err(ScaleError::Shape(format!(
                "{name} of this rank has {given} elements, its block {}: {} x {}",
                block.elements(),
                block.rows.len(),
                block.columns.len()
            )));
        }
    }
    Ok(())
}

/// Two buffers that are filled on one stream and used on another, in turns.
struct Turns {
    ready: [Event; 2],
    free: [Event; 2],
    used: [bool; 2],
}

impl Turns {
    fn new(gpu: &Gpu) -> Result<Self, ScaleError> {
        let pair = || Ok::<_, ScaleError>([gpu.event()?, gpu.event()?]);
        Ok(Turns {
            ready: pair()?,
            free: pair()?,
            used: [false; 2],
        })
    }

    /// Makes the filling stream wait until the buffer was used.
    fn fill(&self, slot: usize, filling: &Gpu) -> Result<(), ScaleError> {
        if self.used[slot] {
            filling.wait(&self.free[slot])?;
        }
        Ok(())
    }

    /// Makes the using stream wait until the buffer is filled.
    fn hand_over(&self, slot: usize, filling: &Gpu, using: &Gpu) -> Result<(), ScaleError> {
        filling.record(&self.ready[slot])?;
        Ok(using.wait(&self.ready[slot])?)
    }

    /// Marks the buffer as used.
    fn give_back(&mut self, slot: usize, using: &Gpu) -> Result<(), ScaleError> {
        using.record(&self.free[slot])?;
        self.used[slot] = true;
        Ok(())
    }
}
