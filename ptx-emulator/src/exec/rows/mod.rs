//! Operations on words whose lanes are evaluated together: the frequent ones of those that
//! [`super::lane`] evaluates one by one, with the same results.

use super::vector::{LANES, Lanes32};
use crate::ir::{Comparison, LaneFunction, PermuteMode};
use ptx_syntax::ast::Type;

/// The operands: words of all lanes.
pub(super) type Operands<'a> = [&'a Lanes32; 3];

/// A row from an expression of each lane. A closure might be left as a call, and the loop then has
/// no vector instructions.
macro_rules! row {
    (|$lane:ident| $value:expr) => {{
        let mut row = [0; LANES];
        for ($lane, to) in row.iter_mut().enumerate() {
            *to = $value;
        }
        Some(row)
    }};
}

// After the macro, which they use.
mod convert;
mod float;
pub(super) mod frequent;
pub(super) mod group;
pub(super) mod half;
pub(super) mod integer;
mod small;
#[cfg(test)]
mod tests;
pub(super) mod wide;

use float::from_flushed;
use half::{from_bf16, from_f16};

/// Shifts of pairs of words, permutations of bytes, and fields at known places.
#[inline(always)]
fn bits(function: LaneFunction, x: Operands<'_>) -> Option<Lanes32> {
    let [a, b, c] = x;
    match function {
        LaneFunction::FunnelLeft(true) => row!(|i| {
            let both = u64::from(b[i]) << 32 | u64::from(a[i]);
            (both << c[i].min(32) >> 32) as u32
        }),
        LaneFunction::FunnelLeft(false) => row!(|i| {
            let amount = c[i] & 31;
            b[i] << amount | a[i] >> 1 >> (31 - amount)
        }),
        LaneFunction::FunnelRight(true) => row!(|i| {
            let both = u64::from(b[i]) << 32 | u64::from(a[i]);
            (both >> c[i].min(32)) as u32
        }),
        LaneFunction::FunnelRight(false) => row!(|i| {
            let amount = c[i] & 31;
            a[i] >> amount | b[i] << 1 << (31 - amount)
        }),
        LaneFunction::Permute(PermuteMode::Default) => permute(x),
        LaneFunction::DotProduct4(signed_a, signed_b) => dot_product4([signed_a, signed_b], x),
        LaneFunction::InsertBits { shift, bits } if shift + bits <= 32 => {
            let mask = u32::MAX >> (32 - bits) << shift;
            row!(|i| a[i] & !mask | b[i] << shift & mask)
        }
        LaneFunction::ExtractBits {
            shift,
            bits,
            signed: false,
        } if shift + bits <= 32 => row!(|i| a[i] >> shift & (u32::MAX >> (32 - bits))),
        LaneFunction::ExtractBits { shift, bits, .. } if shift + bits <= 32 => {
            let up = 32 - shift - bits;
            row!(|i| ((a[i] << up) as i32 >> (32 - bits)) as u32)
        }
        _ => None,
    }
}

/// Comparisons of floats.
#[inline(always)]
fn comparison(function: LaneFunction, [a, b, _]: Operands<'_>) -> Option<Lanes32> {
    let LaneFunction::CompareHalf(format, comparison, negated) = function else {
        return None;
    };
    match (format.ty, format.flush) {
        (Type::F32, true) => compare(comparison, negated, [a, b], from_flushed),
        (Type::F32, false) => compare(comparison, negated, [a, b], f32::from_bits),
        (Type::F16, false) => compare(comparison, negated, [a, b], from_f16),
        (Type::Bf16, false) => compare(comparison, negated, [a, b], from_bf16),
        _ => None,
    }
}

/// `prmt` of the default mode. Mostly all lanes give the same selectors: then each byte of the
/// result is a byte of one of the words, moved by as many bits in all lanes.
#[inline(always)]
fn permute([a, b, c]: Operands<'_>) -> Option<Lanes32> {
    let first = c[0];
    if c.iter().fold(0, |any, selectors| any | (selectors ^ first)) == 0 {
        let mut row = [0; LANES];
        for place in 0..4 {
            let selector = first >> (4 * place) & 0xf;
            let from = if selector & 4 == 0 { a } else { b };
            // To the upper end of the word, and from there down.
            let (up, to) = (24 - 8 * (selector & 3), 8 * place);
            // Bit 3 replicates the byte's sign.
            if selector & 8 == 0 {
                for (to_word, word) in row.iter_mut().zip(from) {
                    *to_word |= word << up >> 24 << to;
                }
            } else {
                for (to_word, word) in row.iter_mut().zip(from) {
                    *to_word |= (((word << up) as i32 >> 31) as u32 & 0xff) << to;
                }
            }
        }
        return Some(row);
    }
    row!(|i| {
        let both = u64::from(b[i]) << 32 | u64::from(a[i]);
        let mut word = 0;
        for place in 0..4 {
            let selector = c[i] >> (4 * place) & 0xf;
            let byte = (both >> (8 * (selector & 7))) as u8;
            let signs = (byte as i8 >> 7) as u8;
            let byte = if selector & 8 == 0 { byte } else { signs };
            word |= u32::from(byte) << (8 * place);
        }
        word
    })
}

#[inline(always)]
fn byte_of(word: u32, at: usize, signed: bool) -> i32 {
    let byte = (word >> (8 * at)) as u8;
    match signed {
        true => i32::from(byte as i8),
        false => i32::from(byte),
    }
}

/// `dp4a`, from whether the bytes of a and of b are signed.
#[inline(always)]
fn dot_product4([signed_a, signed_b]: [bool; 2], [a, b, c]: Operands<'_>) -> Option<Lanes32> {
    row!(|i| {
        let mut sum = c[i];
        for at in 0..4 {
            let product = byte_of(a[i], at, signed_a) * byte_of(b[i], at, signed_b);
            sum = sum.wrapping_add(product as u32);
        }
        sum
    })
}

/// 1 in the lanes for which a comparison of floats holds.
#[inline(always)]
fn compare(
    comparison: Comparison,
    negated: bool,
    [a, b]: [&Lanes32; 2],
    read: impl Fn(u32) -> f32,
) -> Option<Lanes32> {
    macro_rules! holds {
        (|$a:ident, $b:ident| $holds:expr) => {
            row!(|i| {
                let ($a, $b) = (read(a[i]), read(b[i]));
                let holds: bool = $holds;
                u32::from(holds != negated)
            })
        };
    }
    match comparison {
        Comparison::FloatEqual => holds!(|x, y| x == y),
        Comparison::FloatNotEqual => holds!(|x, y| (x < y) | (x > y)),
        Comparison::FloatLess => holds!(|x, y| x < y),
        Comparison::FloatLessEqual => holds!(|x, y| x <= y),
        Comparison::FloatUnordered => holds!(|x, y| x.is_nan() | y.is_nan()),
        _ => None,
    }
}

/// `lop3`. The frequent tables have expressions of their own, which take one to three instructions
/// of the processor.
#[inline(always)]
fn logic3(table: u8, [a, b, c]: Operands<'_>) -> Option<Lanes32> {
    match table {
        0x96 => row!(|i| a[i] ^ b[i] ^ c[i]),
        0x3c => row!(|i| a[i] ^ b[i]),
        0x80 => row!(|i| a[i] & b[i] & c[i]),
        0xc0 => row!(|i| a[i] & b[i]),
        0xfe => row!(|i| a[i] | b[i] | c[i]),
        0xfc => row!(|i| a[i] | b[i]),
        0xf8 => row!(|i| a[i] | b[i] & c[i]),
        0xea => row!(|i| a[i] & b[i] | c[i]),
        0xec => row!(|i| a[i] & c[i] | b[i]),
        0xa8 => row!(|i| (a[i] | b[i]) & c[i]),
        0xc8 => row!(|i| (a[i] | c[i]) & b[i]),
        0xe0 => row!(|i| a[i] & (b[i] | c[i])),
        0x78 => row!(|i| a[i] ^ b[i] & c[i]),
        0x6a => row!(|i| a[i] & b[i] ^ c[i]),
        0x6c => row!(|i| a[i] & c[i] ^ b[i]),
        0x28 => row!(|i| (a[i] ^ b[i]) & c[i]),
        0x48 => row!(|i| (a[i] ^ c[i]) & b[i]),
        0x60 => row!(|i| a[i] & (b[i] ^ c[i])),
        0xe8 => row!(|i| a[i] & b[i] | c[i] & (a[i] | b[i])),
        0xca => row!(|i| a[i] & b[i] | !a[i] & c[i]),
        0xac => row!(|i| !a[i] & b[i] | a[i] & c[i]),
        0xb8 => row!(|i| b[i] & c[i] | !b[i] & a[i]),
        0xe2 => row!(|i| b[i] & a[i] | !b[i] & c[i]),
        0xd8 => row!(|i| c[i] & b[i] | !c[i] & a[i]),
        0xe4 => row!(|i| c[i] & a[i] | !c[i] & b[i]),
        _ => {
            let term = |index: u32| 0u32.wrapping_sub(u32::from(table) >> index & 1);
            let terms: [u32; 8] = std::array::from_fn(|index| term(index as u32));
            row!(|i| {
                // For both values of c, and from these for both of b.
                let of_c = |pair: usize| terms[2 * pair] & !c[i] | terms[2 * pair + 1] & c[i];
                let of_b = |pair: usize| of_c(2 * pair) & !b[i] | of_c(2 * pair + 1) & b[i];
                of_b(0) & !a[i] | of_b(1) & a[i]
            })
        }
    }
}
