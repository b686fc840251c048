//! `tcgen05.ld` and `tcgen05.st` (PTX ISA, "Data Movement Shape").
//!
//! A register of a lane l of the warp holds a word of tensor memory. Registers of a repetition
//! follow each other; j counts those of one. Row and column within the repetition are:
//!
//! - `.32x32b`: l and 0;
//! - `.16x64b`: l / 4 + 8 (l mod 2) and l / 2 mod 2;
//! - `.16x128b`: l / 4 + 8 j and l mod 4;
//! - `.16x256b`: l / 4 + 8 (j / 2) and 2 (l mod 4) + j mod 2;
//! - `.16x32bx2`: l mod 16 and 0, for the upper lanes from the second half on.

use super::columns::{Columns, TensorAddress};
use crate::exec::vector::{LANES, Lanes32};
use crate::exec::warp_ops;
use crate::ir::{TensorMove, TensorShape};

/// Row and column, from the address on, of the word of register `at` of a lane. With packing,
/// columns are pairs of columns, but for the distance of halves.
fn place(shape: TensorShape, at: u32, lane: u32, packs: bool) -> (u32, u32) {
    let times = 1 + u32::from(packs);
    match shape {
        TensorShape::Lanes32 => (lane, times * at),
        TensorShape::Halves(distance) => (lane % 16, times * at + distance * (lane / 16)),
        TensorShape::Lanes16(columns) => {
            let registers = columns / 2;
            let (repetition, j) = (at / registers, at % registers);
            let (row, column) = match columns {
                2 => (lane / 4 + 8 * (lane % 2), lane / 2 % 2),
                4 => (lane / 4 + 8 * j, lane % 4),
                _ => (lane / 4 + 8 * (j / 2), 2 * (lane % 4) + j % 2),
            };
            (row, times * (repetition * columns + column))
        }
    }
}

/// Where a warp moves words from or to. An address in the first quarter of the lanes stands for the
/// same place in the quarter of the warp: the PTX ISA does not say so, but DeepGEMM and FlashMLA
/// have no other addresses, since GPUs ignore the bits of the quarter.
pub(super) fn in_quarter(at: TensorAddress, warp: u32) -> TensorAddress {
    match at.lane < 32 {
        true => TensorAddress {
            lane: 32 * (warp % 4) + at.lane,
            ..at
        },
        false => at,
    }
}

/// Whether a warp may move words from an address on, and what it reaches.
pub(super) fn check(
    memory: &Columns,
    moved: &TensorMove,
    at: TensorAddress,
    warp: u32,
) -> Result<(), String> {
    let first = 32 * (warp % 4);
    let lanes = lanes(moved.shape);
    let allowed: &[u32] = if lanes == 32 { &[0] } else { &[0, 16] };
    if !allowed.iter().any(|lane| first + lane == at.lane) {
        return Err(format!(
            "warp {warp} accesses lane {} of tensor memory: it may access those from {first} on, \
             which begin a move at {:?}",
            at.lane,
            allowed.iter().map(|lane| first + lane).collect::<Vec<_>>()
        ));
    }
    areas(moved, at)
        .into_iter()
        .try_for_each(|(at, columns)| memory.check(at, lanes, columns))
}

/// Lanes that a move reaches from its address on.
pub(super) fn lanes(shape: TensorShape) -> u32 {
    match shape {
        TensorShape::Lanes32 => 32,
        _ => 16,
    }
}

/// Where a move reaches columns, and how many.
pub(super) fn areas(moved: &TensorMove, at: TensorAddress) -> Vec<(TensorAddress, u32)> {
    let count = moved.registers.len() as u32 * (1 + u32::from(moved.packs));
    match moved.shape {
        TensorShape::Lanes32 => vec![(at, count)],
        TensorShape::Lanes16(columns) => vec![(at, count / (columns / 2) * columns)],
        TensorShape::Halves(distance) => {
            let second = TensorAddress {
                column: at.column.saturating_add(distance),
                ..at
            };
            vec![(at, count), (second, count)]
        }
    }
}

/// Registers from tensor memory.
pub(super) fn load(
    memory: &Columns,
    moved: &TensorMove,
    at: TensorAddress,
    registers: &mut [Lanes32],
) {
    let word = |index: usize, lane: usize| {
        let (row, column) = place(moved.shape, index as u32, lane as u32, moved.packs);
        let (row, column) = (at.lane + row, at.column + column);
        let word = memory.word(row, column);
        match moved.packs {
            true => word & 0xffff | memory.word(row, column + 1) << 16,
            false => word,
        }
    };
    for (index, register) in moved.registers.iter().enumerate() {
        registers[register.0 as usize] = std::array::from_fn(|lane| word(index, lane));
    }
    // Registers that nothing else reads may share a slot: their words are read once more.
    if let Some((mode, reduced)) = moved.reduces {
        registers[reduced.0 as usize] = std::array::from_fn(|lane| {
            let words = (0..moved.registers.len()).map(|index| word(index, lane));
            warp_ops::reduced(mode, words).unwrap_or(0)
        });
    }
}

/// The inverse of [`load`]. The upper halves of words that are unpacked become 0.
pub(super) fn store(
    memory: &mut Columns,
    moved: &TensorMove,
    at: TensorAddress,
    registers: &[Lanes32],
) {
    for (index, register) in moved.registers.iter().enumerate() {
        let from = &registers[register.0 as usize];
        for lane in 0..LANES as u32 {
            let (row, column) = place(moved.shape, index as u32, lane, moved.packs);
            let (row, column) = (at.lane + row, at.column + column);
            let word = from[lane as usize];
            match moved.packs {
                true => {
                    memory.set(row, column, word & 0xffff);
                    memory.set(row, column + 1, word >> 16);
                }
                false => memory.set(row, column, word),
            }
        }
    }
}
