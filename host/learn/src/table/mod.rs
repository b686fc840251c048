//! The exercises.

mod asynchronous;
mod blocks;
mod detective;
mod first;
mod matmul;
mod matvec;
mod memory;
mod rows;
mod shared;
mod transpose;
mod warps;

use super::exercise::{Argument, Case, Demand, Exercise, Files, Given, Holds, Part, Problem};
use super::figures::Figure;

/// All exercises, in the order in which they are meant to be done: that of their chapters in the
/// book.
pub static ALL: &[Exercise] = &[
    first::ADD_ONE,
    first::SAXPY,
    first::REVERSE,
    first::SCALE_ROWS,
    first::OUTER_SUM,
    first::STENCIL,
    matmul::MATMUL,
    memory::COALESCED,
    memory::CHUNKS,
    memory::STRUCTS,
    shared::BLOCK_REVERSE,
    shared::STENCIL_SHARED,
    matmul::MATMUL_TILED,
    shared::OCCUPANCY,
    shared::BLUR,
    blocks::BITONIC,
    matmul::MATMUL_GUARDED,
    detective::LONELY_BARRIER,
    warps::DIVERGENCE,
    detective::SILENT_LANES,
    detective::WRONG_EDGE,
    detective::LOST_ADDITIONS,
    detective::STALE_TILE,
    detective::EARLY_BIRD,
    first::GRID_STRIDE,
    memory::VECTOR_LOADS,
    matvec::MATVEC,
    matvec::MATVEC_INTERLEAVED,
    matvec::MATVEC_WARP,
    transpose::TRANSPOSE,
    transpose::TRANSPOSE_TILE,
    transpose::TRANSPOSE_PADDED,
    transpose::TRANSPOSE_SWIZZLED,
    shared::BLOCK_SUM,
    warps::WARP_SUM,
    warps::BLOCK_SUM_FAST,
    blocks::GRID_SUM,
    blocks::DOT,
    blocks::LAST_BLOCK,
    warps::WARP_SCAN,
    blocks::BLOCK_SCAN,
    blocks::COMPACT,
    blocks::HISTOGRAM,
    blocks::HISTOGRAM_SHARED,
    rows::SOFTMAX,
    rows::SOFTMAX_ONLINE,
    rows::LAYERNORM,
    matmul::MATMUL_OUTPUTS,
    matmul::MATMUL_REGISTERS,
    matmul::CAPSTONE,
    matmul::DOUBLE_BUFFER,
    asynchronous::ASYNC_TILE,
    asynchronous::STALE_COPY,
    asynchronous::ASYNC_STAGES,
    asynchronous::MMA_TILE,
    asynchronous::PRODUCER,
];

/// The files of the folder of this name.
macro_rules! files {
    ($name:literal) => {
        Files {
            exercise: include_str!(concat!("../../exercises/", $name, "/exercise.rs")),
            solution: include_str!(concat!("../../exercises/", $name, "/solution.rs")),
            hints: include_str!(concat!("../../exercises/", $name, "/hints.txt")),
        }
    };
}
use files;

const fn array(name: &'static str, elements: usize, holds: Holds) -> Argument {
    matrix(name, 1, elements, holds)
}

const fn matrix(name: &'static str, rows: usize, columns: usize, holds: Holds) -> Argument {
    Argument::Array {
        name,
        shape: [rows, columns],
        holds,
    }
}

/// A launch of `blocks` blocks of `threads` threads.
const fn linear(blocks: u32, threads: u32, arguments: &'static [Argument]) -> Case {
    plane([blocks, 1], [threads, 1], arguments)
}

/// A launch in two dimensions.
const fn plane(blocks: [u32; 2], threads: [u32; 2], arguments: &'static [Argument]) -> Case {
    Case {
        grid: [blocks[0], blocks[1], 1],
        block: [threads[0], threads[1], 1],
        arguments,
    }
}

const fn demand(figure: Figure, at_most: f64, because: &'static str) -> Demand {
    Demand {
        figure,
        at_most,
        because,
    }
}
