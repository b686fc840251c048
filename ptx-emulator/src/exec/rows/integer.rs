//! Integers of 32 and of 16 bits.

use super::super::vector::{LANES, Lanes32, collect};
use super::Operands;
use crate::ir::IntegerFunction;

const LOW24: u32 = 0xff_ffff;

/// The low 24 bits of a word as a signed number.
#[inline(always)]
fn extend24(word: u32) -> u32 {
    ((word << 8) as i32 >> 8) as u32
}

/// `bfind`
#[inline(always)]
fn highest_bit(value: u32, shift_amount: bool) -> u32 {
    let above = value.leading_zeros();
    let place = if shift_amount {
        above
    } else {
        31u32.wrapping_sub(above)
    };
    if value == 0 { u32::MAX } else { place }
}

/// `bfi.b32`: field, word, position and length.
#[inline(always)]
pub(in super::super) fn insert_field([a, b, c, d]: [&Lanes32; 4]) -> Lanes32 {
    let mut row = [0; LANES];
    for (i, to) in row.iter_mut().enumerate() {
        let (position, length) = (c[i] & 0xff, d[i] & 0xff);
        let bits = 1u32.checked_shl(length).unwrap_or(0).wrapping_sub(1);
        let mask = bits.checked_shl(position).unwrap_or(0);
        let field = a[i].checked_shl(position).unwrap_or(0);
        *to = b[i] & !mask | field & mask;
    }
    row
}

/// The sum of two words and a carry, and one bit for each lane that has a carry.
#[inline(always)]
pub(in super::super) fn add_carry(a: &Lanes32, b: &Lanes32, carries: u32) -> (Lanes32, u32) {
    let mut row = [0; LANES];
    for (i, to) in row.iter_mut().enumerate() {
        *to = a[i].wrapping_add(b[i]).wrapping_add(carries >> i & 1);
    }
    let carries = collect(|i| {
        let sum = u64::from(a[i]) + u64::from(b[i]) + u64::from(carries >> i & 1);
        sum > u64::from(u32::MAX)
    });
    (row, carries)
}

/// A 16-bit operation on both halves of words.
#[inline(always)]
pub(super) fn pair(
    function: IntegerFunction,
    signed: bool,
    [a, b, c]: Operands<'_>,
) -> Option<Lanes32> {
    let lower = |x: &Lanes32| x.map(|word| word & 0xffff);
    let low = short(function, signed, [&lower(a), &lower(b), &lower(c)])?;
    let upper = |x: &Lanes32| x.map(|word| word >> 16);
    let high = short(function, signed, [&upper(a), &upper(b), &upper(c)])?;
    row!(|i| low[i] & 0xffff | high[i] << 16)
}

#[inline(always)]
pub(super) fn unsigned(function: IntegerFunction, [a, b, c]: Operands<'_>) -> Option<Lanes32> {
    match function {
        IntegerFunction::PopulationCount => row!(|i| a[i].count_ones()),
        IntegerFunction::LeadingZeros => row!(|i| a[i].leading_zeros()),
        IntegerFunction::ReverseBits => row!(|i| a[i].reverse_bits()),
        IntegerFunction::Div => row!(|i| quotient(a[i], b[i])),
        IntegerFunction::Rem => row!(|i| remainder(a[i], b[i])),
        IntegerFunction::ExtractField => row!(|i| {
            let (position, length) = (b[i] & 0xff, c[i] & 0xff);
            let field = a[i].checked_shr(position).unwrap_or(0);
            field & 1u32.checked_shl(length).unwrap_or(0).wrapping_sub(1)
        }),
        IntegerFunction::SumOfAbsoluteDifferences => {
            row!(|i| a[i].abs_diff(b[i]).wrapping_add(c[i]))
        }
        IntegerFunction::MadHigh => row!(|i| {
            let product = u64::from(a[i]) * u64::from(b[i]);
            ((product >> 32) as u32).wrapping_add(c[i])
        }),
        IntegerFunction::Mul24Low => row!(|i| (a[i] & LOW24).wrapping_mul(b[i] & LOW24)),
        IntegerFunction::Mad24Low => {
            row!(|i| (a[i] & LOW24).wrapping_mul(b[i] & LOW24).wrapping_add(c[i]))
        }
        IntegerFunction::FindHighest { shift_amount } => {
            row!(|i| highest_bit(a[i], shift_amount))
        }
        _ => None,
    }
}

#[inline(always)]
pub(super) fn signed(function: IntegerFunction, [a, b, c]: Operands<'_>) -> Option<Lanes32> {
    match function {
        IntegerFunction::Abs => row!(|i| (a[i] as i32).wrapping_abs() as u32),
        IntegerFunction::Div => row!(|i| {
            let quotient = quotient(magnitude(a[i]), magnitude(b[i]));
            let sign = (a[i] ^ b[i]) as i32 >> 31;
            let signed = (quotient as i32 ^ sign).wrapping_sub(sign) as u32;
            if b[i] == 0 { u32::MAX } else { signed }
        }),
        IntegerFunction::Rem => row!(|i| {
            let rest = remainder(magnitude(a[i]), magnitude(b[i]));
            let sign = a[i] as i32 >> 31;
            let signed = (rest as i32 ^ sign).wrapping_sub(sign) as u32;
            if b[i] == 0 { u32::MAX } else { signed }
        }),
        IntegerFunction::AddSaturating => {
            row!(|i| (a[i] as i32).saturating_add(b[i] as i32) as u32)
        }
        IntegerFunction::SubSaturating => {
            row!(|i| (a[i] as i32).saturating_sub(b[i] as i32) as u32)
        }
        IntegerFunction::SumOfAbsoluteDifferences => {
            row!(|i| (a[i] as i32).abs_diff(b[i] as i32).wrapping_add(c[i]))
        }
        IntegerFunction::MadHigh => row!(|i| {
            let product = i64::from(a[i] as i32) * i64::from(b[i] as i32);
            ((product >> 32) as u32).wrapping_add(c[i])
        }),
        IntegerFunction::Mul24Low => row!(|i| extend24(a[i]).wrapping_mul(extend24(b[i]))),
        IntegerFunction::Mad24Low => {
            row!(|i| extend24(a[i])
                .wrapping_mul(extend24(b[i]))
                .wrapping_add(c[i]))
        }
        IntegerFunction::FindHighest { shift_amount } => row!(|i| {
            let value = a[i] ^ (a[i] as i32 >> 31) as u32;
            highest_bit(value, shift_amount)
        }),
        IntegerFunction::ExtractField => row!(|i| {
            let (position, length) = (b[i] & 0xff, c[i] & 0xff);
            let field = a[i].checked_shr(position).unwrap_or(0);
            let mask = 1u32.checked_shl(length).unwrap_or(0).wrapping_sub(1);
            let last = (position + length).saturating_sub(1).min(31);
            let is_negative = (a[i] >> last & 1 != 0) & (length != 0);
            // The sign fills what lies above the field, or above the bits that there are.
            let known = length.min(32 - position.min(32));
            let signs = u32::MAX.checked_shl(known).unwrap_or(0);
            (field & mask) | if is_negative { signs } else { 0 }
        }),
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
        (IntegerFunction::Div, false) => {
            row!(|i| (a[i] & LOW).checked_div(b[i] & LOW).unwrap_or(LOW))
        }
        (IntegerFunction::Rem, false) => {
            row!(|i| (a[i] & LOW).checked_rem(b[i] & LOW).unwrap_or(LOW))
        }
        (IntegerFunction::Div, true) => {
            row!(|i| extend(a[i]).checked_div(extend(b[i])).unwrap_or(-1) as u32 & LOW)
        }
        (IntegerFunction::Rem, true) => {
            row!(|i| extend(a[i]).checked_rem(extend(b[i])).unwrap_or(-1) as u32 & LOW)
        }
        (IntegerFunction::ShiftLeft, _) => row!(|i| a[i] << b[i].min(16) & LOW),
        (IntegerFunction::ShiftRight, false) => row!(|i| (a[i] & LOW) >> b[i].min(16)),
        (IntegerFunction::ShiftRight, true) => {
            row!(|i| (extend(a[i]) >> b[i].min(16)) as u32 & LOW)
        }
        _ => None,
    }
}

/// A quotient of words, all ones for a division by zero. Processors have no division of several
/// words at once, but of several f64. If the quotient of words has a fraction, it lies at least
/// 2^-32 of its value from the next integer, so that rounding to 53 bits does not reach that.
#[inline(always)]
fn quotient(a: u32, b: u32) -> u32 {
    let quotient = (f64::from(a) / f64::from(b)) as u32;
    if b == 0 { u32::MAX } else { quotient }
}

/// What a quotient leaves; all ones for a division by zero.
#[inline(always)]
fn remainder(a: u32, b: u32) -> u32 {
    let rest = a.wrapping_sub(quotient(a, b).wrapping_mul(b));
    if b == 0 { u32::MAX } else { rest }
}

#[inline(always)]
fn magnitude(word: u32) -> u32 {
    (word as i32).unsigned_abs()
}
