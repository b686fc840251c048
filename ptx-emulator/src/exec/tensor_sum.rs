//! The arithmetic of tensor cores: dot products with one rounding at the end.
//!
//! PTX leaves the order and the rounding of these sums open. This is what an H200 (compute
//! capability 9.0) does: products are exact; the products of one instruction along k and the addend
//! are aligned to the largest exponent among them, truncated to 25 bits after the binary point, and
//! added as integers; the sum is truncated to f32. Exponents are those of the factors, so a product
//! may reach 4 at exponent 0. Earlier generations keep fewer bits and add in smaller groups.
//!
//! Sums in f16 are the same sum, rounded to the nearest f16, as an H100 gave them. Those of `wgmma`
//! and of GPUs that multiply 8-bit and narrower floats were not measured for this project. They
//! follow what P. Xie and others measured and published ("MMA-Sim: Bit-Accurate Reference Model of
//! Tensor Cores and Matrix Cores", 2025): of `wgmma` of 8-bit floats, 13 bits after the binary
//! point are in the sum and in the result.

mod half_tile;

use super::float::from_f64;
use super::simd::{self, Level};
use super::vector::{LANES, Lanes32};
use crate::ir::{MatrixInputs, Rounding, Sums};
use ptx_syntax::ast::Type;

/// Bits after the binary point of the largest exponent that enter a sum.
const FRACTION_BITS: i32 = 25;

/// The exponent of zero: no other is as low.
const NO_EXPONENT: i32 = -100_000;

/// The NaN that tensor cores give.
const NAN: u32 = 0x7fff_ffff;

/// A float: `significand` · 2^(`exponent` − the format's fraction bits).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Factor {
    significand: i32,
    exponent: i32,
    special: Special,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Special {
    None,
    Infinite,
    Nan,
}

impl Factor {
    pub(super) const ZERO: Factor = Factor {
        significand: 0,
        exponent: NO_EXPONENT,
        special: Special::None,
    };

    /// The number, or its negative.
    pub(super) fn negated_if(self, negate: bool) -> Self {
        let significand = match negate {
            true => -self.significand,
            false => self.significand,
        };
        Factor {
            significand,
            ..self
        }
    }

    /// A number of a format with this many bits of exponent and fraction.
    fn new(bits: u32, exponent_bits: u32, fraction_bits: u32) -> Self {
        let fraction = (bits & ((1 << fraction_bits) - 1)) as i32;
        let top = (1 << exponent_bits) - 1;
        let biased = (bits >> fraction_bits & top) as i32;
        let negative = bits >> (fraction_bits + exponent_bits) & 1 != 0;
        let special = match (biased as u32 == top, fraction) {
            (false, _) => Special::None,
            (true, 0) => Special::Infinite,
            (true, _) => Special::Nan,
        };
        let bias = (1 << (exponent_bits - 1)) - 1;
        let significand = match biased {
            0 => fraction,
            _ => fraction | 1 << fraction_bits,
        };
        let exponent = match significand {
            0 => NO_EXPONENT,
            _ => biased.max(1) - bias,
        };
        Factor {
            significand: if negative { -significand } else { significand },
            exponent,
            special,
        }
    }

    /// A number of a format without infinities and NaNs.
    fn finite(bits: u32, exponent_bits: u32, fraction_bits: u32) -> Self {
        let biased = (bits >> fraction_bits & ((1 << exponent_bits) - 1)) as i32;
        let bias = (1 << (exponent_bits - 1)) - 1;
        let fraction = (bits & ((1 << fraction_bits) - 1)) as i32;
        let significand = match biased {
            0 => fraction,
            _ => fraction | 1 << fraction_bits,
        };
        let negative = bits >> (fraction_bits + exponent_bits) & 1 != 0;
        Factor {
            significand: if negative { -significand } else { significand },
            exponent: match significand {
                0 => NO_EXPONENT,
                _ => biased.max(1) - bias,
            },
            special: Special::None,
        }
    }

    /// The value, which is finite.
    #[cfg(test)]
    fn value(self, inputs: MatrixInputs) -> f64 {
        let exponent = f64::from(self.exponent - fraction_bits(inputs));
        f64::from(self.significand) * exponent.exp2()
    }

    /// An element of A or B from the low bits of a word.
    pub(super) fn of(inputs: MatrixInputs, bits: u32) -> Self {
        match inputs {
            MatrixInputs::F16 => Factor::new(bits & 0xffff, 5, 10),
            MatrixInputs::Bf16 => Factor::new(bits & 0xffff, 8, 7),
            // The low 13 bits of the register are ignored.
            MatrixInputs::Tf32 | MatrixInputs::F64 => Factor::new(bits >> 13, 8, 10),
            MatrixInputs::E5m2 => Factor::new(bits & 0xff, 5, 2),
            MatrixInputs::E4m3 if bits & 0x7f == 0x7f => Factor {
                special: Special::Nan,
                ..Factor::ZERO
            },
            MatrixInputs::E4m3 => Factor::finite(bits & 0xff, 4, 3),
            MatrixInputs::E2m3 => Factor::finite(bits & 0x3f, 2, 3),
            MatrixInputs::E3m2 => Factor::finite(bits & 0x3f, 3, 2),
            MatrixInputs::E2m1 { dense: true } => Factor::finite(bits & 0xf, 2, 1),
            MatrixInputs::E2m1 { dense: false } => Factor::finite(bits >> 2 & 0xf, 2, 1),
            // Their sums are exact, and not of floats.
            MatrixInputs::Integer { .. } => Factor::ZERO,
        }
    }
}

fn fraction_bits(inputs: MatrixInputs) -> i32 {
    match inputs {
        MatrixInputs::Bf16 => 7,
        MatrixInputs::E4m3 | MatrixInputs::E2m3 => 3,
        MatrixInputs::E5m2 | MatrixInputs::E3m2 => 2,
        MatrixInputs::E2m1 { .. } => 1,
        _ => 10,
    }
}

/// What a sum is made of, and becomes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kind {
    pub inputs: [MatrixInputs; 2],
    /// The elements of C and of D.
    pub sums: [Sums; 2],
    /// Whether 13 bits enter the sum and stay of its result.
    pub short: bool,
}

/// The scale of a block of A or B.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Scale(Factor, i32);

impl Scale {
    /// `ue4m3`, or `ue8m0`.
    pub(super) fn of(byte: u32, with_fraction: bool) -> Self {
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
fn cut_sum(terms: &[Term], bits: i32) -> f64 {
    let highest = terms.iter().map(|term| term.exponent).max();
    let highest = highest.unwrap_or(NO_EXPONENT);
    if highest == NO_EXPONENT {
        return 0.0;
    }
    let cut = |term: &Term| {
        let up = bits - term.point - (highest - term.exponent);
        let magnitude = i128::from(term.significand.unsigned_abs());
        let magnitude = match up >= 0 {
            true => magnitude << up,
            false => magnitude >> (-up).min(127),
        };
        if term.significand < 0 {
            -magnitude
        } else {
            magnitude
        }
    };
    let sum: i128 = terms.iter().map(cut).sum();
    // At most 53 bits.
    sum as f64 * f64::from(highest - bits).exp2()
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
pub(super) fn any_dot_product(kind: Kind, row: &[Factor], column: &[Factor], c: u32) -> u32 {
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
    let mut terms: Vec<Term> = pairs().map(term).collect();
    terms.push(Term::new(c.significand.into(), c.exponent, of_c));
    let bits = if kind.short { 13 } else { FRACTION_BITS };
    rounded(cut_sum(&terms, bits), kind)
}

/// The same of lines that are scaled by blocks, with a pair of scales for each.
///
/// The products of 4-bit floats are added exactly in groups of sixteen, which are scaled and then
/// added with 35 bits after the point; those of others are scaled one by one.
pub(super) fn scaled_dot_product(
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
    rounded(cut_sum(&terms, bits), kind)
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

/// Most factors of a line.
pub(super) const MAX_DEPTH: usize = 16;

/// A row of A or a column of B as far as one instruction goes along k; zero past its end.
#[derive(Clone, Debug)]
pub(super) struct Line {
    significands: [i32; MAX_DEPTH],
    exponents: [i32; MAX_DEPTH],
    special: [Special; MAX_DEPTH],
    is_special: bool,
}

impl Line {
    /// Of factors, at most [`MAX_DEPTH`].
    pub(super) fn new(factors: &[Factor]) -> Self {
        let of = |at: usize| factors.get(at).copied().unwrap_or(Factor::ZERO);
        Line {
            significands: std::array::from_fn(|at| of(at).significand),
            exponents: std::array::from_fn(|at| of(at).exponent),
            special: std::array::from_fn(|at| of(at).special),
            is_special: factors.iter().any(|factor| factor.special != Special::None),
        }
    }
}

/// `addend` plus the dot product of `row` and `column`, as f32.
pub(super) fn dot_product(
    level: Level,
    inputs: MatrixInputs,
    row: &Line,
    column: &Line,
    addend: u32,
) -> u32 {
    let c = Factor::new(addend, 8, 23);
    if c.special != Special::None || row.is_special || column.is_special {
        return special_sum(row, column, addend);
    }
    let up = FRACTION_BITS - 2 * fraction_bits(inputs);
    let (sum, highest) = simd::aligned_sum(level, row, column, c.exponent, up as u32);
    let magnitude = i64::from(c.significand.unsigned_abs()) << (FRACTION_BITS - 23);
    let magnitude = magnitude >> (highest - c.exponent).min(63);
    let cut = if c.significand < 0 {
        -magnitude
    } else {
        magnitude
    };
    to_f32(i64::from(sum) + cut, highest)
}

/// The sum of the products, truncated after the last bit of the largest exponent, and that
/// exponent, which is at least `floor`. Products are `up` bits short of the binary point.
///
/// Factors have 11 bits, so that sixteen products with 25 bits after the binary point stay below
/// 2^31.
#[inline(always)]
pub(super) fn aligned_sum(row: &Line, column: &Line, floor: i32, up: u32) -> (i32, i32) {
    let mut highest = floor;
    for (a, b) in row.exponents.iter().zip(&column.exponents) {
        highest = highest.max(a + b);
    }
    let mut sum = 0;
    for at in 0..MAX_DEPTH {
        let product = row.significands[at] * column.significands[at];
        let exponent = row.exponents[at] + column.exponents[at];
        let magnitude = product.unsigned_abs() << up >> (highest - exponent).min(31);
        sum += match product < 0 {
            true => -(magnitude as i32),
            false => magnitude as i32,
        };
    }
    (sum, highest)
}

/// Elements of A or B, none of them an infinity or NaN: `significands` · 2^(`exponents` − the
/// format's fraction bits).
#[derive(Clone, Debug)]
pub(super) struct Factors {
    pub significands: [i32; LANES],
    pub exponents: [i32; LANES],
    /// Whether there are infinities or NaNs among them after all.
    pub has_special: bool,
}

impl Factors {
    pub(super) const ZERO: Factors = Factors {
        significands: [0; LANES],
        exponents: [0; LANES],
        has_special: false,
    };
}

/// Takes the elements that a register holds from bit `shift` on.
#[inline(always)]
pub(super) fn factors(inputs: MatrixInputs, words: &Lanes32, shift: u32, all: &mut Factors) {
    let (exponent_bits, fraction_bits, skipped) = match inputs {
        MatrixInputs::F16 => (5, 10, 0),
        MatrixInputs::Bf16 => (8, 7, 0),
        _ => (8, 10, 13),
    };
    let mut special = 0;
    for (lane, word) in words.iter().enumerate() {
        let bits = word >> shift >> skipped;
        let (significand, exponent, is_special) = split(bits, exponent_bits, fraction_bits);
        all.significands[lane] = significand;
        all.exponents[lane] = exponent;
        special |= u32::from(is_special);
    }
    all.has_special = special != 0;
}

/// Significand and exponent as in [`Factor`], and whether the number is an infinity or NaN.
#[inline(always)]
fn split(bits: u32, exponent_bits: u32, fraction_bits: u32) -> (i32, i32, bool) {
    let top = (1 << exponent_bits) - 1;
    let fraction = bits & ((1 << fraction_bits) - 1);
    let biased = bits >> fraction_bits & top;
    let hidden = u32::from(biased != 0) << fraction_bits;
    let significand = (fraction | hidden) as i32;
    let exponent = biased.max(1) as i32 - (top >> 1) as i32;
    let exponent = if significand == 0 {
        NO_EXPONENT
    } else {
        exponent
    };
    let is_negative = bits >> (fraction_bits + exponent_bits) & 1 != 0;
    let signed = if is_negative {
        -significand
    } else {
        significand
    };
    (signed, exponent, biased == top)
}

/// Columns of D that are computed at once.
pub(super) const TILE_COLUMNS: usize = 8;

/// A product of matrices without infinities and NaNs: D = A · B + C, each by rows.
pub(super) struct Tile<'a> {
    pub inputs: MatrixInputs,
    /// Columns of A and rows of B.
    pub depth: usize,
    /// Columns of B: a multiple of [`TILE_COLUMNS`].
    pub columns: usize,
    /// Significands and exponents.
    pub a: [&'a [i32]; 2],
    pub b: [&'a [i32]; 2],
    pub c: &'a [u32],
}

/// Whether an f32 is an infinity or NaN.
#[inline(always)]
pub(super) fn is_special(bits: u32) -> bool {
    bits & 0x7f80_0000 == 0x7f80_0000
}

/// What [`dot_product`] gives for each element.
#[inline(always)]
pub(super) fn tile(product: &Tile<'_>, d: &mut [u32]) {
    // In place: they are 4 KB, which a result that may be none would copy.
    let mut values = half_tile::Values::ZERO;
    if values.set(product) {
        let values = &values;
        return match product.columns % (2 * TILE_COLUMNS) {
            0 => half_tile::tile_by::<{ 2 * TILE_COLUMNS }>(product, values, d),
            _ => half_tile::tile_by::<TILE_COLUMNS>(product, values, d),
        };
    }
    match product.columns % (2 * TILE_COLUMNS) {
        0 => tile_by::<{ 2 * TILE_COLUMNS }>(product, d),
        _ => tile_by::<TILE_COLUMNS>(product, d),
    }
}

/// As [`tile`], a number of columns at once.
#[inline(always)]
fn tile_by<const COLUMNS: usize>(product: &Tile<'_>, d: &mut [u32]) {
    let (depth, blocks) = (product.depth, product.columns / COLUMNS);
    let up = (FRACTION_BITS - 2 * fraction_bits(product.inputs)) as u32;
    let of_b = product.b.map(|b| b.as_chunks::<COLUMNS>().0);
    let of_c = product.c.as_chunks::<COLUMNS>().0;
    let of_d = d.as_chunks_mut::<COLUMNS>().0;
    for (at, (d, c)) in of_d.iter_mut().zip(of_c).enumerate() {
        let (row, block) = (at / blocks, at % blocks);
        let a = product.a.map(|a| &a[row * depth..][..depth]);
        let b = of_b.map(|b| b[block..].iter().step_by(blocks));
        let (mut significands, mut exponents) = ([0; COLUMNS], [0; COLUMNS]);
        for column in 0..COLUMNS {
            (significands[column], exponents[column], _) = split(c[column], 8, 23);
        }
        let mut highest = exponents;
        for (exponent, others) in a[1].iter().zip(b[1].clone()) {
            for column in 0..COLUMNS {
                highest[column] = highest[column].max(exponent + others[column]);
            }
        }
        let mut sums = [0i32; COLUMNS];
        let of_a = a[0].iter().zip(a[1]);
        let [of_b, with] = b;
        for ((significand, exponent), (others, with)) in of_a.zip(of_b.zip(with)) {
            for column in 0..COLUMNS {
                let factors = significand * others[column];
                let below = (highest[column] - exponent - with[column]).min(31);
                let magnitude = (factors.unsigned_abs() << up >> (below & 31)) as i32;
                let sign = factors >> 31;
                sums[column] += (magnitude ^ sign) - sign;
            }
        }
        let addends = addends(&significands, &exponents, &highest);
        for column in 0..COLUMNS {
            d[column] = truncated(sums[column], addends[column], highest[column]);
        }
    }
}

/// The elements of C, aligned to the largest exponent.
#[inline(always)]
fn addends<const COLUMNS: usize>(
    significands: &[i32; COLUMNS],
    exponents: &[i32; COLUMNS],
    highest: &[i32; COLUMNS],
) -> [i32; COLUMNS] {
    let mut addends = [0i32; COLUMNS];
    for column in 0..COLUMNS {
        let below = (highest[column] - exponents[column]).min(31);
        let bits = significands[column].unsigned_abs() << (FRACTION_BITS - 23);
        let magnitude = (bits >> (below & 31)) as i32;
        let sign = significands[column] >> 31;
        addends[column] = (magnitude ^ sign) - sign;
    }
    addends
}

/// As [`to_f32`], of a sum that is given in two parts.
#[inline(always)]
fn truncated(sum: i32, addend: i32, exponent: i32) -> u32 {
    // All of it is exact in f64: 33 bits, and exponents of products of two f32.
    let scale = (exponent - FRACTION_BITS).clamp(-1000, 1000);
    let scale = f64::from_bits(((scale + 1023) as u64) << 52);
    let value = (f64::from(sum) + f64::from(addend)) * scale;
    let near = value as f32;
    let bits = near.to_bits();
    let is_beyond = f64::from(near).abs() > value.abs();
    let bits = bits - u32::from(is_beyond);
    const OVERFLOW: f64 = 2.0 * (1u128 << 127) as f64;
    let infinity = bits & 1 << 31 | 0x7f80_0000;
    if value.abs() >= OVERFLOW {
        infinity
    } else if bits == 1 << 31 {
        0
    } else {
        bits
    }
}

/// `sum` · 2^(`exponent` − 25), truncated to f32. What is left of nothing has no sign.
fn to_f32(sum: i64, exponent: i32) -> u32 {
    let magnitude = sum.unsigned_abs();
    if magnitude == 0 {
        return 0;
    }
    let sign = u32::from(sum < 0) << 31;
    let top = 63 - magnitude.leading_zeros() as i32;
    let exponent = exponent + top - FRACTION_BITS;
    if exponent > 127 {
        return sign | 0x7f80_0000;
    }
    // The bits that f32 has at this exponent; subnormals have fewer.
    let kept = 23.min(exponent + 126 + 23);
    if kept < 0 {
        return 0;
    }
    let shift = top - kept;
    let significand = match shift >= 0 {
        true => magnitude >> shift,
        false => magnitude << -shift,
    } as u32;
    match exponent >= -126 {
        true => sign | ((exponent + 127) as u32) << 23 | significand & 0x7f_ffff,
        false => sign | significand,
    }
}

/// A sum with infinities or NaNs in it.
fn special_sum(row: &Line, column: &Line, addend: u32) -> u32 {
    let c = f32::from_bits(addend);
    let mut sum = match c.is_finite() {
        true => 0.0,
        false => c,
    };
    for at in 0..MAX_DEPTH {
        let value = |line: &Line| {
            let sign = line.significands[at].signum() as f32;
            match line.special[at] {
                Special::None => sign,
                Special::Infinite => f32::INFINITY * sign,
                Special::Nan => f32::NAN,
            }
        };
        let product = value(row) * value(column);
        if !product.is_finite() {
            sum += product;
        }
    }
    match sum.is_nan() {
        true => NAN,
        false => sum.to_bits(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(pairs: &[(f32, f32)], addend: f32) -> f32 {
        let factor = |x: f32| Factor::of(MatrixInputs::Tf32, x.to_bits());
        let row: Vec<Factor> = pairs.iter().map(|pair| factor(pair.0)).collect();
        let column: Vec<Factor> = pairs.iter().map(|pair| factor(pair.1)).collect();
        let (row, column) = (Line::new(&row), Line::new(&column));
        let sums = Level::available()
            .into_iter()
            .map(|level| dot_product(level, MatrixInputs::Tf32, &row, &column, addend.to_bits()));
        let sums: Vec<u32> = sums.collect();
        assert!(sums.iter().all(|sum| *sum == sums[0]), "{sums:x?}");
        f32::from_bits(sums[0])
    }

    #[test]
    fn small_sums_are_exact() {
        assert_eq!(sum(&[(2.0, 3.0), (-1.5, 4.0)], 0.25), 0.25);
        assert_eq!(sum(&[(0.0, 5.0), (0.0, 0.0)], 0.0), 0.0);
        assert_eq!(sum(&[(1.0, 1.0)], -1.0), 0.0);
        assert_eq!(sum(&[], -1.1e-40), -1.1e-40);
    }

    #[test]
    fn what_lies_too_low_is_cut_off() {
        let tiny = 2f32.powi(-13);
        // 2^-26 next to 1: below the last bit that enters the sum.
        assert_eq!(sum(&[(tiny, tiny), (-1.0, 1.0)], 1.0), 0.0);
        let tiny = 2f32.powi(-12);
        assert_eq!(sum(&[(tiny, tiny), (-1.0, 1.0)], 1.0), 2f32.powi(-24));
        // Results are cut off, not rounded.
        assert_eq!(sum(&[(tiny, 1.5 * tiny)], 1.0), 1.0);
        // Less than the least f32 has no sign.
        let tiny = 2f32.powi(-80);
        assert_eq!(sum(&[(tiny, -tiny)], 0.0).to_bits(), 0);
        let kind = Kind {
            inputs: [MatrixInputs::Tf32; 2],
            sums: [Sums::F32; 2],
            short: false,
        };
        let [row, column] = [tiny, -tiny].map(|x| [Factor::of(MatrixInputs::Tf32, x.to_bits())]);
        assert_eq!(any_dot_product(kind, &row, &column, 0), 0);
    }

    /// Small integers as every float that holds them: sums are exact, whatever the format.
    #[test]
    fn exact_sums_of_all_formats() {
        let formats = [
            MatrixInputs::F16,
            MatrixInputs::Bf16,
            MatrixInputs::Tf32,
            MatrixInputs::E4m3,
            MatrixInputs::E5m2,
            MatrixInputs::E2m3,
            MatrixInputs::E3m2,
            MatrixInputs::E2m1 { dense: false },
            MatrixInputs::E2m1 { dense: true },
        ];
        for of_a in formats {
            for of_b in formats {
                let kind = |sums| Kind {
                    inputs: [of_a, of_b],
                    sums: [Sums::F32, sums],
                    short: false,
                };
                // Patterns from the formats themselves.
                let factors = |inputs: MatrixInputs, step: u32| -> Vec<Factor> {
                    let bits = |at: u32| match inputs {
                        MatrixInputs::Tf32 => f32::to_bits(at as f32 - 7.0),
                        MatrixInputs::F16 => 0x3c00 + 0x40 * at,
                        MatrixInputs::Bf16 => 0x3f80 + 8 * at,
                        _ => step * at % 0x77,
                    };
                    (0..17).map(|at| Factor::of(inputs, bits(at))).collect()
                };
                let (row, column) = (factors(of_a, 3), factors(of_b, 5));
                let value = |factor: &Factor, inputs| factor.value(inputs);
                let products = row.iter().zip(&column);
                let exact: f64 = products.map(|(a, b)| value(a, of_a) * value(b, of_b)).sum();
                let sum = any_dot_product(kind(Sums::F32), &row, &column, 1.5f32.to_bits());
                let error = f64::from(f32::from_bits(sum)) - (exact + 1.5);
                let largest = products_of(&row, &column, [of_a, of_b]);
                assert!(error.abs() <= largest * 2f64.powi(-20), "{of_a:?} {of_b:?}");
                let half = any_dot_product(kind(Sums::F16), &row, &column, 1.5f32.to_bits());
                let nearest = from_f64(exact + 1.5, 0.0, Type::F16, Rounding::NearestEven);
                assert!(nearest.abs_diff(half.into()) <= 1, "{of_a:?} {of_b:?}");
            }
        }
    }

    /// Tiles are their elements, one by one.
    #[test]
    fn tiles_are_their_dot_products() {
        let mut state = 0x1234_5678u32;
        let mut random = || {
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            state
        };
        for (inputs, depth) in [
            (MatrixInputs::F16, 16),
            (MatrixInputs::F16, 8),
            (MatrixInputs::Bf16, 16),
            (MatrixInputs::Tf32, 8),
        ] {
            for round in 0..200 {
                // All exponents, and those near 1, where sums cancel; some zeros.
                let element = |bits: u32| match (inputs, round % 3) {
                    _ if bits.is_multiple_of(11) => 0,
                    (MatrixInputs::F16, 0) => bits & 0xbbff,
                    (MatrixInputs::F16, _) => bits & 0x87ff | 0x3800,
                    (MatrixInputs::Bf16, 0) => bits & 0xbfff,
                    (MatrixInputs::Bf16, _) => bits & 0x81ff | 0x3e00,
                    (_, 0) => bits & 0xbfff_ffff,
                    _ => bits & 0x81ff_ffff | 0x3e00_0000,
                };
                let mut words = || -> Lanes32 { std::array::from_fn(|_| element(random())) };
                // Up to 16 rows and columns of 16 elements; what is not used does not matter.
                let a: Vec<u32> = (0..8).flat_map(|_| words()).collect();
                let b: Vec<u32> = (0..8).flat_map(|_| words()).collect();
                let columns = 16;
                let rows = a.len() / depth;
                let c: Vec<u32> = (0..rows * columns)
                    .map(|at| match at % 5 {
                        0 => 0,
                        _ => random() & 0xbfff_ffff,
                    })
                    .collect();
                for level in Level::available() {
                    let split = |elements: &[u32]| {
                        let mut parts = [Vec::new(), Vec::new()];
                        let mut factors = Factors::ZERO;
                        for row in elements.as_chunks::<LANES>().0 {
                            simd::factors(level, inputs, row, 0, &mut factors);
                            assert!(!factors.has_special);
                            parts[0].extend(factors.significands);
                            parts[1].extend(factors.exponents);
                        }
                        parts
                    };
                    let (of_a, of_b) = (split(&a), split(&b));
                    let tile = Tile {
                        inputs,
                        depth,
                        columns,
                        a: of_a.each_ref().map(Vec::as_slice),
                        b: of_b.each_ref().map(Vec::as_slice),
                        c: &c,
                    };
                    let mut d = vec![0; rows * columns];
                    simd::tile(level, &tile, &mut d);
                    for (at, d) in d.iter().enumerate() {
                        let (row, column) = (at / columns, at % columns);
                        let line = |element: &dyn Fn(usize) -> u32| {
                            let factors = (0..depth).map(|k| Factor::of(inputs, element(k)));
                            Line::new(&factors.collect::<Vec<_>>())
                        };
                        let row = line(&|k| a[row * depth + k]);
                        let column = line(&|k| b[k * columns + column]);
                        let wanted = dot_product(level, inputs, &row, &column, c[at]);
                        assert_eq!(*d, wanted, "{inputs:?} {level:?}: {d:x}, not {wanted:x}");
                    }
                }
            }
        }
    }

    fn products_of(row: &[Factor], column: &[Factor], [a, b]: [MatrixInputs; 2]) -> f64 {
        let magnitude = |(x, y): (&Factor, &Factor)| (x.value(a) * y.value(b)).abs();
        row.iter().zip(column).map(magnitude).sum::<f64>().max(1.0)
    }

    /// Both ways to add f16 give the same sum.
    #[test]
    fn any_sum_is_the_sum_of_f16() {
        let pattern = |at: u32| Factor::of(MatrixInputs::F16, at.wrapping_mul(0x9e37) & 0xffff);
        for start in 0..2000 {
            let row: Vec<Factor> = (0..16).map(|at| pattern(start * 31 + at)).collect();
            let column: Vec<Factor> = (0..16).map(|at| pattern(start * 17 + 7 * at)).collect();
            let c = start.wrapping_mul(0x9e37_79b9);
            let kind = Kind {
                inputs: [MatrixInputs::F16; 2],
                sums: [Sums::F32; 2],
                short: false,
            };
            let (first, second) = (Line::new(&row), Line::new(&column));
            let wanted = dot_product(Level::Portable, MatrixInputs::F16, &first, &second, c);
            assert_eq!(any_dot_product(kind, &row, &column, c), wanted, "{start}");
        }
    }

    #[test]
    fn scales_multiply_blocks() {
        let kind = Kind {
            inputs: [MatrixInputs::E2m1 { dense: true }; 2],
            sums: [Sums::F32; 2],
            short: false,
        };
        // 1.0 everywhere.
        let ones = [Factor::of(kind.inputs[0], 2); 64];
        let scale = |byte| Scale::of(byte, false);
        let scales = [[scale(128), scale(127)], [scale(127), scale(126)]];
        let sum = scaled_dot_product(kind, &ones, &ones, &scales, 0.25f32.to_bits());
        assert_eq!(f32::from_bits(sum), 32.0 * 2.0 + 32.0 * 0.5 + 0.25);
        let with_fraction = [[Scale::of(0x3c, true), Scale::of(0x38, true)]; 4];
        let sum = scaled_dot_product(kind, &ones, &ones, &with_fraction, 0);
        assert_eq!(f32::from_bits(sum), 64.0 * 1.5);
        let bad = [[scale(0xff), scale(127)]; 2];
        assert_eq!(scaled_dot_product(kind, &ones, &ones, &bad, 0), NAN);
    }

    #[test]
    fn infinities_and_nans() {
        assert_eq!(sum(&[(f32::INFINITY, -2.0)], 1.0), f32::NEG_INFINITY);
        assert!(sum(&[(f32::INFINITY, 0.0)], 1.0).is_nan());
        assert!(sum(&[(f32::INFINITY, 1.0)], f32::NEG_INFINITY).is_nan());
        assert_eq!(sum(&[(3e38, 3e38)], 0.0), f32::INFINITY);
    }
}
