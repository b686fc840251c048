//! Sums of `mma.sync` in place of which compute capability 9.0 runs other instructions.
//!
//! - 8-bit floats are converted to f16, and multiplied in two MMAs of f16: of each register's four
//!   elements, the lower two first. They begin with zero; C is added at the end, rounded to
//!   nearest.
//! - `m8n8k4` of f16, which eight lanes of compute capability 7.0 compute, is arithmetic of f32.
//!
//! This is the machine code that `ptxas` 13.0 makes for `sm_90a`, and what an H100 gave. GPUs that
//! have these products as instructions (8.9 and 10.0 those of 8-bit floats, 7.0 `m8n8k4`) round
//! otherwise.

use super::bytes::widen;
use super::float::{bits32, from_f64, to_f64};
use super::tensor_sum::{Factor, Kind, any_dot_product};
use crate::ir::{MatrixInputs, Rounding, SmallFloat, Sums};
use ptx_syntax::ast::Type;

/// An f64 as f16.
fn to_f16(value: f64) -> u32 {
    from_f64(value, 0.0, Type::F16, Rounding::NearestEven) as u32
}

/// An element of A or B as f16, which holds every 8-bit float.
pub(super) fn converted(inputs: MatrixInputs, bits: u32) -> Factor {
    let small = match inputs {
        MatrixInputs::E5m2 => SmallFloat::E5m2,
        _ => SmallFloat::E4m3,
    };
    let bits = to_f16(widen(bits.into(), small));
    Factor::of(MatrixInputs::F16, bits)
}

/// `addend` plus the dot product of a row and a column of converted elements.
pub(super) fn converted_product(sums: Sums, row: &[Factor], column: &[Factor], addend: u32) -> u32 {
    let kind = Kind {
        inputs: [MatrixInputs::F16; 2],
        sums: [sums; 2],
        short: false,
    };
    // Pairs of elements of both halves of registers.
    let halves = |line: &[Factor]| -> [Vec<Factor>; 2] {
        let half = |at: usize| {
            line.chunks(2)
                .skip(at)
                .step_by(2)
                .flatten()
                .copied()
                .collect()
        };
        [half(0), half(1)]
    };
    let (rows, columns) = (halves(row), halves(column));
    let pairs = rows.iter().zip(&columns);
    let sum = pairs.fold(0, |sum, (row, column)| {
        any_dot_product(kind, row, column, sum)
    });
    match sums {
        Sums::F16 => {
            let value = |bits: u32| to_f64(bits.into(), Type::F16);
            to_f16(value(sum) + value(addend))
        }
        _ => bits32(f32::from_bits(sum) + f32::from_bits(addend)),
    }
}

/// `m8n8k4`: `addend` plus the dot product of four elements each. `sums` are those of C and D.
pub(super) fn product_of_four(sums: [Sums; 2], a: &[u32; 4], b: &[u32; 4], addend: u32) -> u32 {
    let half = |bits: u32| to_f64(bits.into(), Type::F16) as f32;
    let (a, b) = (a.map(half), b.map(half));
    let addend = match sums[0] {
        Sums::F16 => half(addend),
        _ => f32::from_bits(addend),
    };
    match sums[1] {
        Sums::F16 => {
            let pair = |at: usize| a[at + 1].mul_add(b[at + 1], a[at] * b[at]);
            to_f16(f64::from(addend + pair(0) + pair(2)))
        }
        _ => {
            let pairs = a.into_iter().zip(b);
            let sum = pairs.fold(0.0f32, |sum, (a, b)| a.mul_add(b, sum));
            bits32(sum + addend)
        }
    }
}
