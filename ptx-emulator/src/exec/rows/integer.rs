//! Integers of 32 and of 16 bits.

use super::super::vector::{LANES, Lanes32};
use super::Operands;
use crate::ir::IntegerFunction;

#[inline(always)]
pub(super) fn unsigned(function: IntegerFunction, [a, b, c]: Operands<'_>) -> Option<Lanes32> {
    match function {
        IntegerFunction::PopulationCount => row!(|i| a[i].count_ones()),
        IntegerFunction::LeadingZeros => row!(|i| a[i].leading_zeros()),
        IntegerFunction::ReverseBits => row!(|i| a[i].reverse_bits()),
        IntegerFunction::Div => row!(|i| a[i].checked_div(b[i]).unwrap_or(u32::MAX)),
        IntegerFunction::Rem => row!(|i| a[i].checked_rem(b[i]).unwrap_or(u32::MAX)),
        IntegerFunction::ExtractField => row!(|i| {
            let (position, length) = (b[i] & 0xff, c[i] & 0xff);
            let field = a[i].checked_shr(position).unwrap_or(0);
            field & 1u32.checked_shl(length).unwrap_or(0).wrapping_sub(1)
        }),
        IntegerFunction::SumOfAbsoluteDifferences => {
            row!(|i| a[i].abs_diff(b[i]).wrapping_add(c[i]))
        }
        _ => None,
    }
}

#[inline(always)]
pub(super) fn signed(function: IntegerFunction, [a, b, c]: Operands<'_>) -> Option<Lanes32> {
    let divided = |a: u32, b: u32, f: fn(i32, i32) -> i32| match b {
        0 => u32::MAX,
        b => f(a as i32, b as i32) as u32,
    };
    match function {
        IntegerFunction::Abs => row!(|i| (a[i] as i32).wrapping_abs() as u32),
        IntegerFunction::Div => row!(|i| divided(a[i], b[i], i32::wrapping_div)),
        IntegerFunction::Rem => row!(|i| divided(a[i], b[i], i32::wrapping_rem)),
        IntegerFunction::AddSaturating => {
            row!(|i| (a[i] as i32).saturating_add(b[i] as i32) as u32)
        }
        IntegerFunction::SubSaturating => {
            row!(|i| (a[i] as i32).saturating_sub(b[i] as i32) as u32)
        }
        IntegerFunction::SumOfAbsoluteDifferences => {
            row!(|i| (a[i] as i32).abs_diff(b[i] as i32).wrapping_add(c[i]))
        }
        _ => None,
    }
}

/// 16-bit integers, which are held in words.
#[inline(always)]
pub(super) fn short(
    function: IntegerFunction,
    signed: bool,
    [a, b, c]: Operands<'_>,
) -> Option<Lanes32> {
    const LOW: u32 = 0xffff;
    let extend = |x: u32| x as i16 as i32;
    match (function, signed) {
        (IntegerFunction::Add, _) => row!(|i| a[i].wrapping_add(b[i]) & LOW),
        (IntegerFunction::Sub, _) => row!(|i| a[i].wrapping_sub(b[i]) & LOW),
        (IntegerFunction::MulLow, _) => row!(|i| a[i].wrapping_mul(b[i]) & LOW),
        (IntegerFunction::MadLow, _) => row!(|i| a[i].wrapping_mul(b[i]).wrapping_add(c[i]) & LOW),
        (IntegerFunction::MulWide, false) => row!(|i| (a[i] & LOW) * (b[i] & LOW)),
        (IntegerFunction::MulWide, true) => row!(|i| (extend(a[i]) * extend(b[i])) as u32),
        (IntegerFunction::And, _) => row!(|i| a[i] & b[i] & LOW),
        (IntegerFunction::Or, _) => row!(|i| (a[i] | b[i]) & LOW),
        (IntegerFunction::Xor, _) => row!(|i| (a[i] ^ b[i]) & LOW),
        (IntegerFunction::Not, _) => row!(|i| !a[i] & LOW),
        (IntegerFunction::Min, false) => row!(|i| (a[i] & LOW).min(b[i] & LOW)),
        (IntegerFunction::Max, false) => row!(|i| (a[i] & LOW).max(b[i] & LOW)),
        (IntegerFunction::Min, true) => row!(|i| extend(a[i]).min(extend(b[i])) as u32 & LOW),
        (IntegerFunction::Max, true) => row!(|i| extend(a[i]).max(extend(b[i])) as u32 & LOW),
        (IntegerFunction::ShiftLeft, _) => row!(|i| a[i] << b[i].min(16) & LOW),
        (IntegerFunction::ShiftRight, false) => row!(|i| (a[i] & LOW) >> b[i].min(16)),
        (IntegerFunction::ShiftRight, true) => {
            row!(|i| (extend(a[i]) >> b[i].min(16)) as u32 & LOW)
        }
        _ => None,
    }
}
