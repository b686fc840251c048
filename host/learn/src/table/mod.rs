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

/// All exercises, in the order in which they are meant to be done.
pub static ALL: &[Exercise] = &[
    first::ADD_ONE,
    first::SAXPY,
    first::GRID_STRIDE,
    first::REVERSE,
    first::SCALE_ROWS,
    first::OUTER_SUM,
    first::STENCIL,
    detective::WRONG_EDGE,
    detective::LOST_ADDITIONS,
    memory::COALESCED,
    memory::CHUNKS,
    memory::VECTOR_LOADS,
    memory::STRUCTS,
    transpose::TRANSPOSE,
    shared::BLOCK_REVERSE,
    detective::LONELY_BARRIER,
    shared::STENCIL_SHARED,
    shared::BLUR,
    shared::BLOCK_SUM,
    detective::STALE_TILE,
    detective::EARLY_BIRD,
    blocks::BITONIC,
    transpose::TRANSPOSE_TILE,
    transpose::TRANSPOSE_PADDED,
    transpose::TRANSPOSE_SWIZZLED,
    warps::WARP_SUM,
    warps::WARP_SCAN,
    warps::BLOCK_SUM_FAST,
    warps::DIVERGENCE,
    detective::SILENT_LANES,
    shared::OCCUPANCY,
    blocks::GRID_SUM,
    blocks::DOT,
    blocks::LAST_BLOCK,
    blocks::BLOCK_SCAN,
    blocks::COMPACT,
    blocks::HISTOGRAM,
    blocks::HISTOGRAM_SHARED,
    rows::SOFTMAX,
    rows::SOFTMAX_ONLINE,
    rows::LAYERNORM,
    matvec::MATVEC,
    matvec::MATVEC_INTERLEAVED,
    matvec::MATVEC_WARP,
    matmul::MATMUL,
    matmul::MATMUL_TILED,
    matmul::MATMUL_GUARDED,
    matmul::MATMUL_OUTPUTS,
    matmul::MATMUL_REGISTERS,
    matmul::DOUBLE_BUFFER,
    asynchronous::ASYNC_TILE,
    asynchronous::STALE_COPY,
    asynchronous::ASYNC_STAGES,
    asynchronous::PRODUCER,
    asynchronous::MMA_TILE,
    matmul::CAPSTONE,
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
