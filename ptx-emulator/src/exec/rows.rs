//! Operations on words whose lanes are evaluated together: the frequent ones of those that
//! [`super::lane`] evaluates one by one, with the same results.

use super::approximate as series;
use super::float::{bits32, max32, min32};
use super::vector::{LANES, Lanes32};
use crate::ir::{
    Comparison, Conversion, FloatFormat, FloatFunction, IntegerFunction, LaneFunction, PermuteMode,
    Rounding,
};
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

/// The result of all lanes, those that do not execute it among them; none where the operation is
/// not one of these.
#[inline(always)]
pub(super) fn evaluate(function: LaneFunction, x: Operands<'_>) -> Option<Lanes32> {
    let [a, b, c] = x;
    match function {
        LaneFunction::Float(function, format) => match format.ty {
            Type::F32 => float(function, format, x),
            Type::F16 | Type::F16x2 | Type::Bf16 | Type::Bf16x2 => half(function, format, x),
            _ => None,
        },
        LaneFunction::Integer(function, Type::U32 | Type::B32) => unsigned(function, x),
        LaneFunction::Integer(function, Type::S32) => signed(function, x),
        LaneFunction::Integer(function, ty @ (Type::U16 | Type::S16 | Type::B16)) => {
            short(function, ty.is_signed(), x)
        }
        LaneFunction::Convert(conversion) => convert(conversion, a),
        LaneFunction::FunnelLeft(true) => row!(|i| {
            let both = u64::from(b[i]) << 32 | u64::from(a[i]);
            (both << c[i].min(32) >> 32) as u32
        }),
        LaneFunction::FunnelLeft(false) => row!(|i| {
            let both = u64::from(b[i]) << 32 | u64::from(a[i]);
            (both << (c[i] & 31) >> 32) as u32
        }),
        LaneFunction::FunnelRight(true) => row!(|i| {
            let both = u64::from(b[i]) << 32 | u64::from(a[i]);
            (both >> c[i].min(32)) as u32
        }),
        LaneFunction::FunnelRight(false) => row!(|i| {
            let both = u64::from(b[i]) << 32 | u64::from(a[i]);
            (both >> (c[i] & 31)) as u32
        }),
        LaneFunction::Permute(PermuteMode::Default) => row!(|i| {
            let both = u64::from(b[i]) << 32 | u64::from(a[i]);
            let mut word = 0;
            for place in 0..4 {
                let selector = c[i] >> (4 * place) & 0xf;
                let byte = (both >> (8 * (selector & 7))) as u8;
                // Bit 3 replicates the byte's sign.
                let signs = (byte as i8 >> 7) as u8;
                let byte = if selector & 8 == 0 { byte } else { signs };
                word |= u32::from(byte) << (8 * place);
            }
            word
        }),
        LaneFunction::Logic3(table) => {
            let term = |index: u32| 0u32.wrapping_sub(u32::from(table) >> index & 1);
            let terms: [u32; 8] = std::array::from_fn(|index| term(index as u32));
            row!(|i| {
                let (a, b, c) = (a[i], b[i], c[i]);
                (terms[0] & !a & !b & !c)
                    | (terms[1] & !a & !b & c)
                    | (terms[2] & !a & b & !c)
                    | (terms[3] & !a & b & c)
                    | (terms[4] & a & !b & !c)
                    | (terms[5] & a & !b & c)
                    | (terms[6] & a & b & !c)
                    | (terms[7] & a & b & c)
            })
        }
        LaneFunction::DotProduct4(signed_a, signed_b) => {
            let byte = |word: u32, at: usize, signed: bool| {
                let byte = (word >> (8 * at)) as u8;
                match signed {
                    true => i32::from(byte as i8),
                    false => i32::from(byte),
                }
            };
            row!(|i| {
                let mut sum = c[i];
                for at in 0..4 {
                    let product = byte(a[i], at, signed_a) * byte(b[i], at, signed_b);
                    sum = sum.wrapping_add(product as u32);
                }
                sum
            })
        }
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
        LaneFunction::CompareHalf(format, comparison, negated) => match (format.ty, format.flush) {
            (Type::F32, true) => compare(comparison, negated, [a, b], from_flushed),
            (Type::F32, false) => compare(comparison, negated, [a, b], f32::from_bits),
            (Type::F16, false) => compare(comparison, negated, [a, b], from_f16),
            (Type::Bf16, false) => compare(comparison, negated, [a, b], from_bf16),
            _ => None,
        },
        _ => None,
    }
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

#[inline(always)]
fn unsigned(function: IntegerFunction, [a, b, c]: Operands<'_>) -> Option<Lanes32> {
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
fn signed(function: IntegerFunction, [a, b, c]: Operands<'_>) -> Option<Lanes32> {
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
fn short(function: IntegerFunction, signed: bool, [a, b, c]: Operands<'_>) -> Option<Lanes32> {
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

#[inline(always)]
fn flush(bits: u32) -> u32 {
    match bits & 0x7f80_0000 {
        0 => bits & 0x8000_0000,
        _ => bits,
    }
}

#[inline(always)]
fn from_flushed(bits: u32) -> f32 {
    f32::from_bits(flush(bits))
}

/// How an operation reads its operands and finishes its result.
#[derive(Clone, Copy)]
struct Numbers {
    flushes: bool,
    saturates: bool,
}

impl Numbers {
    #[inline(always)]
    fn read(self, bits: u32) -> u32 {
        if self.flushes { flush(bits) } else { bits }
    }

    #[inline(always)]
    fn single(self, bits: u32) -> f32 {
        f32::from_bits(self.read(bits))
    }

    #[inline(always)]
    fn double(self, bits: u32) -> f64 {
        f64::from(self.single(bits))
    }

    #[inline(always)]
    fn finish(self, bits: u32) -> u32 {
        let bits = self.read(bits);
        match self.saturates {
            false => bits,
            true if f32::from_bits(bits) > 0.0 => bits.min(1f32.to_bits()),
            true => 0,
        }
    }

    #[inline(always)]
    fn result(self, value: f32) -> u32 {
        self.finish(bits32(value))
    }

    #[inline(always)]
    fn narrow(self, value: f64) -> u32 {
        self.result(value as f32)
    }
}

/// f32 rounded to nearest.
#[inline(always)]
fn float(function: FloatFunction, format: FloatFormat, x: Operands<'_>) -> Option<Lanes32> {
    let FloatFormat {
        rounding,
        flush: flushes,
        saturate: saturates,
        relu,
        nan_wins,
        xor_sign,
        ..
    } = format;
    if rounding != Rounding::NearestEven || relu || nan_wins || xor_sign {
        return None;
    }
    // The most frequent ones without a question in each lane.
    let of = |flushes| Numbers {
        flushes,
        saturates: false,
    };
    match (flushes, saturates) {
        (true, false) => single(function, of(true), x),
        (false, false) => single(function, of(false), x),
        _ => {
            let numbers = Numbers { flushes, saturates };
            single(function, numbers, x)
        }
    }
}

#[inline(always)]
fn single(function: FloatFunction, f: Numbers, [a, b, c]: Operands<'_>) -> Option<Lanes32> {
    match function {
        FloatFunction::Add => row!(|i| f.result(f.single(a[i]) + f.single(b[i]))),
        FloatFunction::Sub => row!(|i| f.result(f.single(a[i]) - f.single(b[i]))),
        FloatFunction::Mul => row!(|i| f.result(f.single(a[i]) * f.single(b[i]))),
        FloatFunction::Fma => row!(|i| {
            let sum = f.single(a[i]).mul_add(f.single(b[i]), f.single(c[i]));
            f.result(sum)
        }),
        FloatFunction::Min => row!(|i| f.finish(min32(f.read(a[i]), f.read(b[i])))),
        FloatFunction::Max => row!(|i| f.finish(max32(f.read(a[i]), f.read(b[i])))),
        FloatFunction::Div => row!(|i| f.result(f.single(a[i]) / f.single(b[i]))),
        FloatFunction::DivApprox => row!(|i| {
            let (a, b) = (f.single(a[i]), f.single(b[i]));
            // The approximation does not reach divisors beyond 2^126.
            let lost = match a.is_infinite() {
                true => f32::NAN,
                false => (a * 0.0).copysign(a) * b.signum(),
            };
            let is_far = b.is_finite() & (b.abs() > f32::from_bits(0x7e80_0000));
            f.result(if is_far { lost } else { a / b })
        }),
        FloatFunction::Rcp | FloatFunction::RcpApprox => {
            row!(|i| f.result(1.0 / f.single(a[i])))
        }
        FloatFunction::Sqrt | FloatFunction::SqrtApprox => {
            row!(|i| f.result(f.single(a[i]).sqrt()))
        }
        FloatFunction::RsqrtApprox => row!(|i| f.narrow(1.0 / f.double(a[i]).sqrt())),
        FloatFunction::Exp2 => row!(|i| f.narrow(series::exp2(f.double(a[i])))),
        FloatFunction::Log2 => row!(|i| f.narrow(series::log2(f.double(a[i])))),
        FloatFunction::Tanh => row!(|i| f.narrow(series::tanh(f.double(a[i])))),
        FloatFunction::Sin if series::are_small_angles(a) => {
            row!(|i| f.narrow(series::small_sin(f.double(a[i]))))
        }
        FloatFunction::Cos if series::are_small_angles(a) => {
            row!(|i| f.narrow(series::small_cos(f.double(a[i]))))
        }
        _ => None,
    }
}

/// The low half of a word as f16.
#[inline(always)]
fn from_f16(bits: u32) -> f32 {
    let magnitude = (bits & 0x7fff) << 13;
    // 2^112 moves the exponent, of subnormals too.
    let value = f32::from_bits(magnitude) * f32::from_bits(0x7780_0000);
    let special = f32::from_bits(magnitude | 0x7f80_0000);
    let value = if bits & 0x7c00 == 0x7c00 {
        special
    } else {
        value
    };
    f32::from_bits(value.to_bits() | (bits & 0x8000) << 16)
}

#[inline(always)]
fn from_bf16(bits: u32) -> f32 {
    f32::from_bits(bits << 16)
}

/// The nearest f16.
#[inline(always)]
fn to_f16(value: f32) -> u32 {
    let bits = value.to_bits();
    let (sign, magnitude) = (bits >> 16 & 0x8000, bits & 0x7fff_ffff);
    // The sum has the last place of a subnormal f16 as its own.
    let subnormal = (f32::from_bits(magnitude) + 0.5)
        .to_bits()
        .wrapping_sub(0.5f32.to_bits());
    let odd = magnitude >> 13 & 1;
    let normal = (magnitude.wrapping_sub(112 << 23).wrapping_add(0xfff + odd)) >> 13;
    let small = magnitude < 113 << 23;
    let finite = if small { subnormal } else { normal };
    let large = magnitude >= 0x477f_f000;
    let finite = if large { 0x7c00 } else { finite };
    match magnitude > 0x7f80_0000 {
        true => 0x7fff,
        false => sign | finite,
    }
}

/// The nearest bf16.
#[inline(always)]
fn to_bf16(value: f32) -> u32 {
    let bits = value.to_bits();
    let odd = bits >> 16 & 1;
    match value.is_nan() {
        true => 0x7fff,
        false => bits.wrapping_add(0x7fff + odd) >> 16,
    }
}

/// An f64 sum in f32, rounded to odd, so that another rounding gives the nearest value of fewer
/// bits. The sum of a product of two 16-bit floats and a third one.
#[inline(always)]
fn odd_sum(product: f64, addend: f64) -> f32 {
    let sum = product + addend;
    let of_addend = sum - product;
    let rest = (product - (sum - of_addend)) + (addend - of_addend);
    let near = sum as f32;
    // The sign of what is missing from the f32.
    let off = (sum - f64::from(near)) + rest;
    let bits = near.to_bits();
    let is_even = bits & 1 == 0;
    let towards = off != 0.0 && is_even && near.is_finite();
    // Away from zero, or towards it; a zero has a neighbour on the side of the rest.
    let up = (off > 0.0) == (near.to_bits() >> 31 == 0);
    let neighbour = if up {
        bits.wrapping_add(1)
    } else {
        bits.wrapping_sub(1)
    };
    let is_zero = near == 0.0;
    let from_zero = 1 | ((off < 0.0) as u32) << 31;
    let neighbour = if is_zero { from_zero } else { neighbour };
    f32::from_bits(if towards { neighbour } else { bits })
}

/// f16 and bf16, and pairs of them, rounded to nearest.
#[inline(always)]
fn half(function: FloatFunction, format: FloatFormat, x: Operands<'_>) -> Option<Lanes32> {
    let plain = FloatFormat::new(format.ty);
    if format != plain {
        return None;
    }
    match format.ty {
        Type::F16 | Type::F16x2 => halves(function, format.ty == Type::F16x2, x, from_f16, to_f16),
        _ => halves(function, format.ty == Type::Bf16x2, x, from_bf16, to_bf16),
    }
}

#[inline(always)]
fn halves(
    function: FloatFunction,
    is_pair: bool,
    [a, b, c]: Operands<'_>,
    read: impl Fn(u32) -> f32,
    write: impl Fn(f32) -> u32,
) -> Option<Lanes32> {
    macro_rules! on_halves {
        (|$x:ident, $y:ident, $z:ident| $value:expr) => {
            match is_pair {
                true => row!(|i| {
                    let ($x, $y, $z) = (
                        read(a[i] & 0xffff),
                        read(b[i] & 0xffff),
                        read(c[i] & 0xffff),
                    );
                    let low = write($value);
                    let ($x, $y, $z) = (read(a[i] >> 16), read(b[i] >> 16), read(c[i] >> 16));
                    low | write($value) << 16
                }),
                false => row!(|i| {
                    let ($x, $y, $z) = (
                        read(a[i] & 0xffff),
                        read(b[i] & 0xffff),
                        read(c[i] & 0xffff),
                    );
                    write($value)
                }),
            }
        };
    }
    // 24 bits are enough for one operation on 11 bits, rounded twice.
    match function {
        FloatFunction::Add => on_halves!(|x, y, _z| x + y),
        FloatFunction::Sub => on_halves!(|x, y, _z| x - y),
        FloatFunction::Mul => on_halves!(|x, y, _z| x * y),
        FloatFunction::Fma => {
            on_halves!(|x, y, z| odd_sum(f64::from(x) * f64::from(y), f64::from(z)))
        }
        _ => None,
    }
}

/// Conversions between words.
#[inline(always)]
fn convert(conversion: Conversion, a: &Lanes32) -> Option<Lanes32> {
    let Conversion {
        to,
        from,
        rounding,
        to_integral,
        flush,
        saturate,
        finite,
        relu,
        register_bits,
    } = conversion;
    let plain = !(flush || saturate || finite || relu);
    if !plain || register_bits > 32 {
        return None;
    }
    let nearest = rounding == Rounding::NearestEven && !to_integral;
    match (from, to) {
        (Type::S32, Type::F32) if nearest => row!(|i| (a[i] as i32 as f32).to_bits()),
        (Type::U32, Type::F32) if nearest => row!(|i| (a[i] as f32).to_bits()),
        // NaN becomes 0, and what is too large the largest.
        (Type::F32, Type::S32) if rounding == Rounding::Zero => {
            row!(|i| f32::from_bits(a[i]) as i32 as u32)
        }
        (Type::F32, Type::U32) if rounding == Rounding::Zero => {
            row!(|i| f32::from_bits(a[i]) as u32)
        }
        (Type::F16, Type::F32) if nearest => row!(|i| bits32(from_f16(a[i]))),
        (Type::Bf16, Type::F32) if nearest => row!(|i| a[i] << 16),
        (Type::F32, Type::F16) if nearest => row!(|i| to_f16(f32::from_bits(a[i]))),
        (Type::F32, Type::Bf16) if nearest => row!(|i| to_bf16(f32::from_bits(a[i]))),
        (Type::U8 | Type::B8, Type::U16 | Type::S16 | Type::U32 | Type::S32) => {
            row!(|i| a[i] & 0xff)
        }
        (Type::U16 | Type::B16, Type::U32 | Type::S32) => row!(|i| a[i] & 0xffff),
        (Type::S16, Type::S32 | Type::U32) => row!(|i| a[i] as i16 as u32),
        (Type::S8, Type::S32 | Type::U32) => row!(|i| a[i] as i8 as u32),
        (Type::U32 | Type::S32, Type::U16) => row!(|i| a[i] & 0xffff),
        (Type::U32 | Type::S32, Type::U8) => row!(|i| a[i] & 0xff),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::lane;
    use super::super::simd::{self, Level};
    use super::*;

    /// Operands with many corner cases, of 32 and of 16 bits.
    fn words() -> Vec<u32> {
        let mut all = vec![
            0,
            1,
            2,
            31,
            32,
            33,
            0x7f,
            0x80,
            0xff,
            0x7fff,
            0x8000,
            0xffff,
            0x7fff_ffff,
            0x8000_0000,
            u32::MAX,
            0x3f80_0000,
            0xbfc0_0000,
            0x0080_0000,
            0x007f_ffff,
            0x7f7f_ffff,
            0x7f80_0000,
            0xff80_0000,
            0x7fc0_0001,
            0x4b00_0001,
            0x477f_efff,
            0x477f_f000,
            0x3380_0000,
            0x3300_0000,
            0x3300_0001,
            0x387f_ffff,
            0x7e90_0000,
            0x7c00_3c00,
            0xfc00_0001,
            0x7e00_03ff,
            0x0400_7bff,
        ];
        let mut state = 0x9e37_79b9u32;
        for _ in 0..600 {
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            all.push(state);
            // Floats near 1, and halves near 1.
            all.push(state & 0x81ff_ffff | 0x3e00_0000);
            all.push(state & 0x87ff_87ff | 0x3800_3800);
        }
        all
    }

    fn functions() -> Vec<LaneFunction> {
        use FloatFunction::*;
        let mut all = Vec::new();
        for function in [
            Add,
            Sub,
            Mul,
            Fma,
            Div,
            DivApprox,
            Sqrt,
            SqrtApprox,
            Rcp,
            RcpApprox,
            RsqrtApprox,
            Sin,
            Cos,
            Exp2,
            Log2,
            Tanh,
            Min,
            Max,
        ] {
            for flags in 0..4 {
                let format = FloatFormat {
                    saturate: flags & 2 != 0,
                    ..FloatFormat::new(Type::F32).flushing(flags & 1 != 0)
                };
                all.push(LaneFunction::Float(function, format));
            }
        }
        for ty in [Type::F16, Type::F16x2, Type::Bf16, Type::Bf16x2] {
            for function in [Add, Sub, Mul, Fma] {
                all.push(LaneFunction::Float(function, FloatFormat::new(ty)));
            }
        }
        use IntegerFunction as I;
        for function in [
            I::PopulationCount,
            I::LeadingZeros,
            I::ReverseBits,
            I::Div,
            I::Rem,
            I::ExtractField,
            I::SumOfAbsoluteDifferences,
            I::Abs,
            I::AddSaturating,
            I::SubSaturating,
        ] {
            all.push(LaneFunction::Integer(function, Type::U32));
            all.push(LaneFunction::Integer(function, Type::S32));
        }
        for function in [
            I::Add,
            I::Sub,
            I::MulLow,
            I::MadLow,
            I::MulWide,
            I::And,
            I::Or,
            I::Xor,
            I::Not,
            I::Min,
            I::Max,
            I::ShiftLeft,
            I::ShiftRight,
        ] {
            all.push(LaneFunction::Integer(function, Type::U16));
            all.push(LaneFunction::Integer(function, Type::S16));
        }
        for flag in [false, true] {
            all.push(LaneFunction::FunnelLeft(flag));
            all.push(LaneFunction::FunnelRight(flag));
            all.push(LaneFunction::DotProduct4(flag, !flag));
            all.push(LaneFunction::DotProduct4(flag, flag));
            for comparison in [
                Comparison::FloatEqual,
                Comparison::FloatNotEqual,
                Comparison::FloatLess,
                Comparison::FloatLessEqual,
                Comparison::FloatUnordered,
            ] {
                for ty in [Type::F32, Type::F16, Type::Bf16] {
                    let format = FloatFormat::new(ty).flushing(flag && ty == Type::F32);
                    all.push(LaneFunction::CompareHalf(format, comparison, flag));
                }
            }
            let (shift, bits) = (8, 16);
            all.push(LaneFunction::ExtractBits {
                shift,
                bits,
                signed: flag,
            });
            all.push(LaneFunction::InsertBits { shift, bits });
        }
        all.push(LaneFunction::Permute(PermuteMode::Default));
        all.extend([0x00, 0x1e, 0x80, 0x96, 0xe8, 0xff].map(LaneFunction::Logic3));
        let types = [
            Type::U8,
            Type::S8,
            Type::U16,
            Type::S16,
            Type::U32,
            Type::S32,
            Type::F16,
            Type::Bf16,
            Type::F32,
        ];
        for from in types {
            for to in types {
                for rounding in [Rounding::NearestEven, Rounding::Zero] {
                    all.push(LaneFunction::Convert(Conversion {
                        to,
                        from,
                        rounding,
                        to_integral: rounding == Rounding::Zero,
                        flush: false,
                        saturate: false,
                        finite: false,
                        relu: false,
                        register_bits: 32,
                    }));
                }
            }
        }
        all
    }

    /// Every operation gives the bits that its lanes give one by one, with all vector instructions.
    #[test]
    fn rows_are_their_lanes() {
        let words = words();
        let mut known = 0;
        for function in functions() {
            let bits = match function {
                LaneFunction::Integer(_, ty)
                | LaneFunction::CompareHalf(FloatFormat { ty, .. }, ..) => 8 * ty.bytes(),
                LaneFunction::Float(_, format) => 8 * format.ty.bytes(),
                LaneFunction::Convert(conversion) => 8 * conversion.from.bytes(),
                _ => 32,
            };
            let mask = u32::MAX >> (32 - bits);
            for level in Level::available() {
                for (start, stride) in [(0, 1), (7, 31), (100, 77)] {
                    for base in (0..words.len()).step_by(LANES) {
                        let word = |at: usize| words[at % words.len()] & mask;
                        let a = std::array::from_fn(|lane| word(base + lane));
                        let b = std::array::from_fn(|lane| word(start + (base + lane) * stride));
                        let c = std::array::from_fn(|lane| word(base + 5 * lane + start));
                        let Some(row) = simd::lane_row(level, function, [&a, &b, &c]) else {
                            continue;
                        };
                        known += 1;
                        for lane in 0..LANES {
                            let x = [a[lane], b[lane], c[lane], 0].map(u64::from);
                            let wanted = lane::evaluate(function, x).0 as u32;
                            assert_eq!(
                                row[lane], wanted,
                                "{function:?} {level:?} {x:x?}: {:#x}, not {wanted:#x}",
                                row[lane]
                            );
                        }
                    }
                }
            }
        }
        assert!(known > 10_000, "{known}");
    }
}
