//! Dot products of floats of any format, term by term.

use super::factor::{Factor, NO_EXPONENT, Special, fraction_bits};
use super::{FRACTION_BITS, NAN};
use crate::exec::float::from_f64;
use crate::ir::{MatrixInputs, Rounding, Sums};
use ptx_syntax::ast::Type;

/// What a sum is made of, and becomes.
#[derive(Clone, Copy, Debug)]
pub(in crate::exec) struct Kind {
    pub inputs: [MatrixInputs; 2],
    /// The elements of C and of D.
    pub sums: [Sums; 2],
    /// Whether 13 bits enter the sum and stay of its result.
    pub short: bool,
}

/// The scale of a block of A or B.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::exec) struct Scale(Factor, i32);

impl Scale {
    /// `ue4m3`, or `ue8m0`.
    pub(in crate::exec) fn of(byte: u32, with_fraction: bool) -> Self {
        match (with_fraction, byte) {
            (true, byte) => Scale(Factor::of(MatrixInputs::E4m3, byte & 0x7f), 3),
            (false, 0xff) => Scale(
                Factor {
                    special: Special::Nan,
                    ..Factor::ZERO
                },
                0,
            ),
            (false, byte) => Scale(
                Factor {
                    significand: 1,
                    exponent: byte as i32 - 127,
                    special: Special::None,
                },
                0,
            ),
        }
    }
}

/// `significand` · 2^(`exponent` − `point`)
#[derive(Clone, Copy, Debug)]
struct Term {
    significand: i64,
    exponent: i32,
    point: i32,
}

impl Term {
    fn new(significand: i64, exponent: i32, point: i32) -> Self {
        // A zero aligns nothing.
        let exponent = if significand == 0 {
            NO_EXPONENT
        } else {
            exponent
        };
        Term {
            significand,
            exponent,
            point,
        }
    }
}

/// The terms, cut off `bits` after the point of the largest exponent, and added.
#[inline(always)]
fn cut_sum(terms: impl Iterator<Item = Term> + Clone, bits: i32) -> f64 {
    let highest = terms.clone().map(|term| term.exponent).max();
    let highest = highest.unwrap_or(NO_EXPONENT);
    if highest == NO_EXPONENT {
        return 0.0;
    }
    let up = |term: &Term| bits - term.point - (highest - term.exponent);
    let of_64_bits = terms.clone().map(|term| cut(term, up(&term)));
    let sum = match of_64_bits.sum::<Option<i64>>() {
        Some(sum) => sum as f64,
        None => terms.map(|term| cut_wide(term, up(&term))).sum::<i128>() as f64,
    };
    // At most 53 bits.
    sum * power_of_two(highest - bits)
}

/// A term moved up and cut off; none if a sum of 64 such terms could need more than 64 bits.
#[inline(always)]
fn cut(term: Term, up: i32) -> Option<i64> {
    let magnitude = term.significand.unsigned_abs();
    if magnitude.leading_zeros() as i32 <= up + 7 {
        return None;
    }
    let magnitude = match up >= 0 {
        true => magnitude << up,
        false => magnitude >> (-up).min(63),
    };
    Some(magnitude as i64 * term.significand.signum())
}

/// As [`cut`], of any term.
fn cut_wide(term: Term, up: i32) -> i128 {
    let magnitude = i128::from(term.significand.unsigned_abs());
    let magnitude = match up >= 0 {
        true => magnitude << up,
        false => magnitude >> (-up).min(127),
    };
    magnitude * i128::from(term.significand.signum())
}

fn power_of_two(exponent: i32) -> f64 {
    match exponent {
        -1022..=1023 => f64::from_bits(((exponent + 1023) as u64) << 52),
        _ => f64::from(exponent).exp2(),
    }
}

/// A sum as an element of D. What a negative sum leaves of nothing has no sign.
fn rounded(value: f64, kind: Kind) -> u32 {
    let (bits, minus_zero) = if kind.sums[1] == Sums::F16 {
        let bits = from_f64(value, 0.0, Type::F16, Rounding::NearestEven);
        (bits as u32, 0x8000)
    } else if value.abs() >= 128f64.exp2() {
        ((value as f32).to_bits(), 1 << 31)
    } else {
        let bits = from_f64(value, 0.0, Type::F32, Rounding::Zero) as u32;
        (if kind.short { bits & !0x3ff } else { bits }, 1 << 31)
    };
    if bits == minus_zero { 0 } else { bits }
}

/// An addend: its factor, and the bits of its fraction.
fn addend(bits: u32, kind: Kind) -> (Factor, i32) {
    match kind.sums[0] {
        Sums::F16 => (Factor::of(MatrixInputs::F16, bits), 10),
        _ => (Factor::new(bits, 8, 23), 23),
    }
}

/// `addend` plus the dot product of two lines of the same length, of any floats.
pub(in crate::exec) fn any_dot_product(
    kind: Kind,
    row: &[Factor],
    column: &[Factor],
    c: u32,
) -> u32 {
    let (c, of_c) = addend(c, kind);
    let pairs = || row.iter().zip(column);
    let is_special = |factor: &Factor| factor.special != Special::None;
    if is_special(&c) || row.iter().chain(column).any(is_special) {
        return any_special_sum(kind, pairs(), c);
    }
    let point = fraction_bits(kind.inputs[0]) + fraction_bits(kind.inputs[1]);
    let term = |(a, b): (&Factor, &Factor)| {
        let product = i64::from(a.significand) * i64::from(b.significand);
        Term::new(product, a.exponent + b.exponent, point)
    };
    let of_c = Term::new(c.significand.into(), c.exponent, of_c);
    let terms = pairs().map(term).chain([of_c]);
    let bits = if kind.short { 13 } else { FRACTION_BITS };
    rounded(cut_sum(terms, bits), kind)
}

/// The same of lines that are scaled by blocks, with a pair of scales for each.
///
/// The products of 4-bit floats are added exactly in groups of sixteen, which are scaled and then
/// added with 35 bits after the point; those of others are scaled one by one.
pub(in crate::exec) fn scaled_dot_product(
    kind: Kind,
    row: &[Factor],
    column: &[Factor],
    scales: &[[Scale; 2]],
    c: u32,
) -> u32 {
    const GROUP: usize = 16;
    const GROUP_BITS: i32 = 35;
    let (c, of_c) = addend(c, kind);
    let pairs = || row.iter().zip(column);
    let is_special = |factor: &Factor| factor.special != Special::None;
    let of_scales = scales.iter().flatten().map(|scale| &scale.0);
    if of_scales.clone().any(is_special) {
        return NAN;
    }
    if is_special(&c) || row.iter().chain(column).any(is_special) {
        return any_special_sum(kind, pairs(), c);
    }
    let point = fraction_bits(kind.inputs[0]) + fraction_bits(kind.inputs[1]);
    let is_dense = kind.inputs[0] == MatrixInputs::E2m1 { dense: true };
    let (group, bits) = match is_dense {
        true => (GROUP, GROUP_BITS),
        false => (1, FRACTION_BITS),
    };
    let in_block = row.len() / scales.len().max(1);
    let mut terms = Vec::new();
    for (at, (a, b)) in row.chunks(group).zip(column.chunks(group)).enumerate() {
        let Some([of_a, of_b]) = scales.get(at * group / in_block.max(1)) else {
            continue;
        };
        let scale = i64::from(of_a.0.significand) * i64::from(of_b.0.significand);
        let scaled = of_a.0.exponent + of_b.0.exponent;
        let point = point + of_a.1 + of_b.1;
        let term = match is_dense {
            // The exponents of the factors are those of small numbers: exact with four more bits.
            true => {
                let value = |(a, b): (&Factor, &Factor)| {
                    let product = i64::from(a.significand) * i64::from(b.significand);
                    match product {
                        0 => 0,
                        _ => product << (a.exponent + b.exponent),
                    }
                };
                let sum: i64 = a.iter().zip(b).map(value).sum();
                Term::new(sum * scale, scaled, point)
            }
            false => {
                let product = i64::from(a[0].significand) * i64::from(b[0].significand);
                let exponent = a[0].exponent + b[0].exponent + scaled;
                Term::new(product * scale, exponent, point)
            }
        };
        terms.push(term);
    }
    terms.push(Term::new(c.significand.into(), c.exponent, of_c));
    rounded(cut_sum(terms.into_iter(), bits), kind)
}

/// A sum with infinities or NaNs in it.
fn any_special_sum<'f>(
    kind: Kind,
    pairs: impl Iterator<Item = (&'f Factor, &'f Factor)>,
    c: Factor,
) -> u32 {
    let value = |factor: &Factor| {
        let sign = f32::from(factor.significand.signum() as i8);
        match factor.special {
            Special::None => sign,
            Special::Infinite => f32::INFINITY * sign,
            Special::Nan => f32::NAN,
        }
    };
    let beyond = |value: f32| if value.is_finite() { 0.0 } else { value };
    let products = pairs.map(|(a, b)| beyond(value(a) * value(b)));
    let sum = products.fold(beyond(value(&c)), |sum, product| sum + product);
    match (kind.sums[1], sum.is_nan()) {
        (Sums::F16, true) => 0x7fff,
        (Sums::F16, false) => u32::from(sum < 0.0) << 15 | 0x7c00,
        (_, true) => NAN,
        (_, false) => sum.to_bits(),
    }
}
