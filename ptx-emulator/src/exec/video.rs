//! Video instructions on one lane.

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

pub(super) fn evaluate(video: Video, x: [u64; 4]) -> u64 {
    let [signed, signed_a, signed_b] = video.signed;
    let a = extract(x[0], video.parts[0], signed_a);
    let b = extract(x[1], video.parts[1], signed_b);
    let amount = match video.clamps {
        true => b.min(32),
        false => b & 31,
    };
    let mut value = match video.function {
        VideoFunction::Add => a + b,
        VideoFunction::Sub => a - b,
        VideoFunction::AbsoluteDifference => (a - b).abs(),
        VideoFunction::Min => a.min(b),
        VideoFunction::Max => a.max(b),
        // The result has 33 bits at most.
        VideoFunction::ShiftLeft => a << amount,
        VideoFunction::ShiftRight => a >> amount,
        VideoFunction::Set(comparison) => i64::from(holds(comparison, a, b)),
    };
    let width = video.merged.map_or(32, |part| part.bits);
    let is_difference = matches!(video.function, VideoFunction::AbsoluteDifference);
    let is_sum = is_difference || matches!(video.function, VideoFunction::Add | VideoFunction::Sub);
    if video.saturates {
        let (least, most) = match signed {
            true => (-(1i64 << (width - 1)), (1i64 << (width - 1)) - 1),
            // Above the range of u32, an H200 keeps the low bits of a sum or difference, where the
            // ISA asks for the largest number.
            false if width == 32 && is_sum => (0, i64::MAX),
            false => (0, (1i64 << width) - 1),
        };
        value = value.clamp(least, most);
    }
    let whole = |value: u64| match signed {
        true => sign_extend(value, 32),
        false => truncate(value, 32) as i64,
    };
    let c = whole(x[2]);
    let value = match is_difference {
        // A difference beyond s32 stays positive for the second operation.
        true => truncate(value as u64, 32) as i64,
        false => whole(value as u64),
    };
    let value = match video.second {
        None => value,
        Some(SecondOperation::Add) => value + c,
        Some(SecondOperation::Min) => value.min(c),
        Some(SecondOperation::Max) => value.max(c),
    };
    match video.merged {
        None => truncate(value as u64, 32),
        Some(part) => {
            let mask = truncate(u64::MAX, part.bits) << part.shift;
            x[2] & !mask | (value as u64) << part.shift & mask
        }
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

/// The least and the largest number of so many bits.
fn limits(bits: u32, signed: bool) -> (i64, i64) {
    match signed {
        true => (-(1i64 << (bits - 1)), (1i64 << (bits - 1)) - 1),
        false => (0, (1i64 << bits) - 1),
    }
}

/// `vmad`: the sum has 65 bits at most, and is shifted as a whole.
pub(super) fn product(product: VideoProduct, x: [u64; 4]) -> u64 {
    let [of_a, of_b] = product.signed;
    let signed = of_a || of_b;
    let a = i128::from(extract(x[0], product.parts[0], of_a));
    let b = i128::from(extract(x[1], product.parts[1], of_b));
    let c = i128::from(extract(x[2], Part::WHOLE, signed));
    let sum = (a * b + c + i128::from(product.plus_one)) >> product.shift;
    let (least, most) = limits(32, signed);
    let sum = match product.saturates {
        true => sum.clamp(least.into(), most.into()),
        false => sum,
    };
    truncate(sum as u64, 32)
}

/// A video instruction on the halves or the bytes of words (PTX ISA, "SIMD Video Instructions").
pub(super) fn parts(video: VideoParts, x: [u64; 4]) -> u64 {
    let [signed, of_a, of_b] = video.signed;
    let bits = video.bits;
    let both = x[1] << 32 | x[0];
    let (least, most) = limits(bits, signed);
    let value = |at: usize| {
        let part = |selected: &[u8; 4], signed: bool| {
            let part = Part {
                bits,
                shift: bits * u32::from(selected[at]),
            };
            extract(both, part, signed)
        };
        let (a, b) = (part(&video.selected[0], of_a), part(&video.selected[1], of_b));
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
