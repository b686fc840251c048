//! Video instructions on one lane.
//!
//! Compute capability 9.0 has no such instructions: the assembler makes sequences of 64-bit
//! arithmetic of them, whose results differ from the text of the PTX ISA where the intermediate
//! result leaves its type. The rules here are those of the sequences that `ptxas` 13.0 makes for
//! `sm_90a`, and what an H100 gave.

use super::convert::{sign_extend, truncate};
use crate::ir::{
    Part, PartsFunction, SecondOperation, Video, VideoComparison, VideoFunction, VideoParts,
    VideoProduct,
};

fn extract(value: u64, part: Part, signed: bool) -> i64 {
    let value = truncate(value >> part.shift, part.bits);
    match signed {
        true => sign_extend(value, part.bits),
        false => value as i64,
    }
}

/// Bits of the result of a shift that saturation sees.
const SHIFTED_BITS: u32 = 34;

/// A scalar video instruction but `vmad`.
pub(super) fn evaluate(video: Video, x: [u64; 4]) -> u64 {
    let [_, signed_a, signed_b] = video.signed;
    let a = extract(x[0], video.parts[0], signed_a);
    let b = extract(x[1], video.parts[1], signed_b);
    let amount = match video.clamps {
        true => b.min(32),
        false => b & 31,
    };
    let value = match video.function {
        VideoFunction::Add => a + b,
        VideoFunction::Sub => a - b,
        VideoFunction::AbsoluteDifference => (a - b).abs(),
        VideoFunction::Min => a.min(b),
        VideoFunction::Max => a.max(b),
        VideoFunction::ShiftLeft => a << amount,
        VideoFunction::ShiftRight => a >> amount,
        VideoFunction::Set(comparison) => i64::from(holds(comparison, a, b)),
    };
    let value = match video.saturates {
        true => saturated(video, value),
        false => value,
    };
    let value = match video.second {
        None => value,
        Some(second) => combined(video, second, value, x[2]),
    } as u64;
    match video.merged {
        None => truncate(value, 32),
        Some(part) => {
            let mask = truncate(u64::MAX, part.bits) << part.shift;
            // The upper half of the result stays where it is.
            let is_upper_half = part.shift == 16 && part.bits == 16;
            let shift = if is_upper_half { 0 } else { part.shift };
            x[2] & !mask | value << shift & mask
        }
    }
}

/// `.sat` of the exact result.
fn saturated(video: Video, value: i64) -> i64 {
    use VideoFunction::{AbsoluteDifference, Add, ShiftLeft, ShiftRight, Sub};
    let signed = video.signed[0];
    let is_shift = matches!(video.function, ShiftLeft | ShiftRight);
    if is_shift {
        let (least, most) = limits(32, signed);
        return sign_extend(value as u64, SHIFTED_BITS).clamp(least, most);
    }
    let width = video.merged.map_or(32, |part| part.bits);
    let (least, most) = limits(width, signed);
    if width < 32 {
        // What is negative counts as too large.
        return if value < 0 { most } else { value.min(most) };
    }
    // A sum above the range of u32 keeps its low bits.
    let is_sum = matches!(video.function, Add | Sub | AbsoluteDifference);
    match is_sum && !signed {
        true => value.max(0),
        false => value.clamp(least, most),
    }
}

/// The second operation, on 64 bits.
fn combined(video: Video, second: SecondOperation, value: i64, c: u64) -> i64 {
    use VideoFunction::{Add, ShiftLeft, ShiftRight, Sub};
    let signed = video.signed[0];
    let c = extract(c, Part::WHOLE, signed);
    let is_cut = match video.function {
        Add | Sub => true,
        ShiftLeft | ShiftRight => video.saturates,
        _ => false,
    };
    // 32 bits of some results are extended by their sign, whatever their type.
    let value = match is_cut {
        true => sign_extend(truncate(value as u64, 32), 32),
        false => value,
    };
    let is_less = match signed {
        true => value < c,
        false => (value as u64) < c as u64,
    };
    match second {
        SecondOperation::Add => value.wrapping_add(c),
        SecondOperation::Min if is_less => value,
        SecondOperation::Max if !is_less => value,
        SecondOperation::Min | SecondOperation::Max => c,
    }
}

fn holds(comparison: VideoComparison, a: i64, b: i64) -> bool {
    match comparison {
        VideoComparison::Equal => a == b,
        VideoComparison::NotEqual => a != b,
        VideoComparison::Less => a < b,
        VideoComparison::LessEqual => a <= b,
        VideoComparison::Greater => a > b,
        VideoComparison::GreaterEqual => a >= b,
    }
}

/// The least and the largest number of `bits` bits.
fn limits(bits: u32, signed: bool) -> (i64, i64) {
    match signed {
        true => (-(1i64 << (bits - 1)), (1i64 << (bits - 1)) - 1),
        false => (0, (1i64 << bits) - 1),
    }
}

/// `vmad`: factors of 32 bits and the addend are signed whatever their types are; the types say
/// how parts of words are extended, and how the sum of 64 bits is shifted and saturates.
pub(super) fn product(product: VideoProduct, x: [u64; 4]) -> u64 {
    let signed = product.signed[0] || product.signed[1];
    let factor = |at: usize| {
        let value = extract(x[at], product.parts[at], product.signed[at]);
        sign_extend(truncate(value as u64, 32), 32)
    };
    let addend = extract(x[2], Part::WHOLE, true) + i64::from(product.plus_one);
    let sum = (factor(0) * factor(1)).wrapping_add(addend);
    let shifted = match signed {
        true => sum >> product.shift,
        false => (sum as u64 >> product.shift) as i64,
    };
    let (least, most) = limits(32, signed);
    let result = match product.saturates {
        true => shifted.clamp(least, most),
        false => shifted,
    };
    truncate(result as u64, 32)
}

/// A video instruction on the halves or the bytes of words (PTX ISA, "SIMD Video Instructions").
pub(super) fn parts(video: VideoParts, x: [u64; 4]) -> u64 {
    let [signed, of_a, of_b] = video.signed;
    let bits = video.bits;
    let both = x[1] << 32 | x[0];
    let (least, most) = limits(bits, signed);
    let value = |at: usize| {
        let operand = |selected: &[u8; 4], signed: bool| {
            let part = Part {
                bits,
                shift: bits * u32::from(selected[at]),
            };
            extract(both, part, signed)
        };
        let (a, b) = (
            operand(&video.selected[0], of_a),
            operand(&video.selected[1], of_b),
        );
        let value = match video.function {
            PartsFunction::Add => a + b,
            PartsFunction::Sub => a - b,
            // Halves are rounded away from zero.
            PartsFunction::Average if a + b >= 0 => (a + b + 1) >> 1,
            PartsFunction::Average => (a + b) >> 1,
            PartsFunction::AbsoluteDifference => (a - b).abs(),
            PartsFunction::Min => a.min(b),
            PartsFunction::Max => a.max(b),
            PartsFunction::Set(comparison) => i64::from(holds(comparison, a, b)),
        };
        match video.saturates {
            true => value.clamp(least, most),
            false => value,
        }
    };
    let computed = (0..(32 / bits) as usize).filter(|at| video.mask >> at & 1 != 0);
    if video.accumulates {
        let sum = computed.fold(x[2], |sum, at| sum.wrapping_add(value(at) as u64));
        return truncate(sum, 32);
    }
    computed.fold(truncate(x[2], 32), |word, at| {
        let shift = bits * at as u32;
        let mask = truncate(u64::MAX, bits) << shift;
        word & !mask | (value(at) as u64) << shift & mask
    })
}
