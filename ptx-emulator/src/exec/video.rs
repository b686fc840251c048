//! Scalar video instructions on one lane.

use super::convert::{sign_extend, truncate};
use crate::ir::{Part, SecondOperation, Video, VideoComparison, VideoFunction};

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
        VideoFunction::Set(comparison) => i64::from(match comparison {
            VideoComparison::Equal => a == b,
            VideoComparison::NotEqual => a != b,
            VideoComparison::Less => a < b,
            VideoComparison::LessEqual => a <= b,
            VideoComparison::Greater => a > b,
            VideoComparison::GreaterEqual => a >= b,
        }),
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
