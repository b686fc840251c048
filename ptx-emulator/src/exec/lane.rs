//! Operations that are evaluated lane by lane on 64-bit patterns.

use super::bytes;
use super::convert::{self, sign_extend, truncate};
use super::{float, video};
use crate::address_space;
use crate::ir::{IntegerFunction, LaneFunction, PermuteMode};
use ptx_syntax::ast::Type;

/// The result, and the carry where the operation has one.
pub(crate) fn evaluate(function: LaneFunction, x: [u64; 4]) -> (u64, bool) {
    let plain = |value: u64| (value, false);
    match function {
        LaneFunction::Integer(function, ty) => plain(integer(function, ty, x)),
        LaneFunction::Float(function, format) => {
            plain(float::evaluate(function, format, [x[0], x[1], x[2]]))
        }
        LaneFunction::Convert(conversion) => plain(convert::evaluate(conversion, x[0])),
        LaneFunction::FunnelLeft(clamp) => {
            let amount = funnel_amount(x[2], clamp);
            let both = x[1] << 32 | x[0];
            plain((both << amount) >> 32)
        }
        LaneFunction::FunnelRight(clamp) => {
            let both = x[1] << 32 | x[0];
            plain(truncate(both >> funnel_amount(x[2], clamp), 32))
        }
        LaneFunction::MapToBlock => plain(address_space::map_to_block(x[0], x[1], x[2])),
        LaneFunction::RankOfAddress => plain(address_space::rank_of_address(x[0], x[1])),
        LaneFunction::Permute(mode) => plain(permute(mode, x[0], x[1], x[2])),
        LaneFunction::Logic3(table) => plain(logic3(table, x[0], x[1], x[2])),
        LaneFunction::DotProduct4(signed_a, signed_b) => {
            let byte = |value: u64, index: u32, signed: bool| {
                let byte = value >> (8 * index) & 0xff;
                if signed {
                    sign_extend(byte, 8)
                } else {
                    byte as i64
                }
            };
            let sum: i64 = (0..4)
                .map(|index| byte(x[0], index, signed_a) * byte(x[1], index, signed_b))
                .sum();
            plain(truncate(x[2].wrapping_add(sum as u64), 32))
        }
        LaneFunction::Parts(function, ty) => {
            let bits = 8 * ty.bytes();
            let result = |at: u32| {
                let operands = x.map(|value| truncate(value >> (bits * at), bits));
                truncate(integer(function, ty, operands), bits) << (bits * at)
            };
            plain((0..32 / bits).fold(0, |word, at| word | result(at)))
        }
        LaneFunction::DotProduct2 {
            upper,
            signed_a,
            signed_b,
        } => {
            let field = |value: u64, bits: u32, index: u32, signed: bool| {
                let part = truncate(value >> (bits * index), bits);
                match signed {
                    true => sign_extend(part, bits),
                    false => part as i64,
                }
            };
            let first = if upper { 2 } else { 0 };
            let product = |index: u32| {
                field(x[0], 16, index, signed_a) * field(x[1], 8, first + index, signed_b)
            };
            let sum = product(0) + product(1);
            plain(truncate(x[2].wrapping_add(sum as u64), 32))
        }
        LaneFunction::Pack { bits, signed } => {
            let (least, most) = match signed {
                true => (-(1i64 << (bits - 1)), (1i64 << (bits - 1)) - 1),
                false => (0, (1i64 << bits) - 1),
            };
            let field =
                |value: u64| truncate(sign_extend(value, 32).clamp(least, most) as u64, bits);
            let above = x[2] << (2 * bits);
            plain(truncate(above | field(x[0]) << bits | field(x[1]), 32))
        }
        LaneFunction::Video(video) => plain(video::evaluate(video, x)),
        LaneFunction::VideoProduct(product) => plain(video::product(product, x)),
        LaneFunction::VideoParts(parts) => plain(video::parts(parts, x)),
        LaneFunction::FloatPair(function, format) => {
            let half = |shift: u32| {
                let words = [x[0], x[1], x[2]].map(|value| truncate(value >> shift, 32));
                float::evaluate(function, format, words) << shift
            };
            plain(half(0) | half(32))
        }
        LaneFunction::ConvertSmall(conversion) => plain(bytes::convert(conversion, x)),
        LaneFunction::RoundRandomly(rounding) => plain(bytes::round_randomly(rounding, x)),
        LaneFunction::AddCarry(ty) => {
            let bits = 8 * ty.bytes();
            let sum = u128::from(x[0]) + u128::from(x[1]) + u128::from(x[2]);
            (truncate(sum as u64, bits), sum >> bits != 0)
        }
        LaneFunction::SubCarry(ty) => {
            let bits = 8 * ty.bytes();
            let sum = u128::from(x[0]) + u128::from(truncate(!x[1], bits)) + u128::from(x[2]);
            (truncate(sum as u64, bits), sum >> bits != 0)
        }
        LaneFunction::CompareHalf(format, comparison, negated) => {
            let holds = float::compare(format, comparison, x[0], x[1]);
            plain(u64::from(holds != negated))
        }
        LaneFunction::TestProperty(property, ty) => {
            plain(u64::from(float::has_property(property, ty, x[0])))
        }
        LaneFunction::InsertBits { shift, bits } => {
            let mask = truncate(u64::MAX, bits) << shift;
            plain(x[0] & !mask | x[1] << shift & mask)
        }
        LaneFunction::ExtractBits {
            shift,
            bits,
            signed,
        } => {
            let value = truncate(x[0] >> shift, bits);
            plain(match signed {
                true => sign_extend(value, bits) as u64,
                false => value,
            })
        }
    }
}

fn funnel_amount(amount: u64, clamp: bool) -> u64 {
    if clamp { amount.min(32) } else { amount & 31 }
}

fn logic3(table: u8, a: u64, b: u64, c: u64) -> u64 {
    (0..8u32)
        .filter(|index| table >> index & 1 != 0)
        .map(|index| {
            let pick = |value: u64, bit: u32| if index >> bit & 1 != 0 { value } else { !value };
            pick(a, 2) & pick(b, 1) & pick(c, 0) & 0xffff_ffff
        })
        .fold(0, |all, term| all | term)
}

fn permute(mode: PermuteMode, a: u64, b: u64, c: u64) -> u64 {
    let both = b << 32 | a;
    let byte = |index: u64| both >> (8 * (index & 7)) & 0xff;
    let control = c & 3;
    let selected: [u64; 4] = match mode {
        PermuteMode::Default => {
            return (0..4).fold(0, |all, place| {
                let selector = c >> (4 * place) & 0xf;
                let byte = byte(selector);
                // Bit 3 replicates the byte's sign.
                let byte = match selector & 8 {
                    0 => byte,
                    _ => (byte >> 7) * 0xff,
                };
                all | byte << (8 * place)
            });
        }
        PermuteMode::Forward4 => [control, control + 1, control + 2, control + 3],
        PermuteMode::Backward4 => [
            control,
            control.wrapping_sub(1),
            control.wrapping_sub(2),
            control.wrapping_sub(3),
        ],
        PermuteMode::Replicate8 => [control; 4],
        PermuteMode::EdgeLeft => [0, 1, 2, 3].map(|place: u64| place.max(control)),
        PermuteMode::EdgeRight => [0, 1, 2, 3].map(|place: u64| place.min(control)),
        PermuteMode::Replicate16 => {
            let first = 2 * (control & 1);
            [first, first + 1, first, first + 1]
        }
    };
    (0..4).fold(0, |all, place| all | byte(selected[place]) << (8 * place))
}

/// The product of numbers whose bits are coefficients of polynomials: sums have no carry.
fn carryless_product(a: u64, b: u64) -> u128 {
    let places = (0..64).filter(|place| a >> place & 1 != 0);
    places.fold(0, |sum, place| sum ^ u128::from(b) << place)
}

/// An integer instruction of any width.
fn integer(function: IntegerFunction, ty: Type, x: [u64; 4]) -> u64 {
    let bits = 8 * ty.bytes();
    let signed = ty.is_signed();
    let value = |bits_of: u64| -> i128 {
        match signed {
            true => i128::from(sign_extend(bits_of, bits)),
            false => i128::from(truncate(bits_of, bits)),
        }
    };
    let (a, b, c) = (value(x[0]), value(x[1]), value(x[2]));
    let (least, most) = match signed {
        true => (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1),
        false => (0, (1i128 << bits) - 1),
    };
    // The product of two unsigned 64-bit values needs all 128 bits, which wrapping keeps.
    let product = a.wrapping_mul(b);
    let high_half = |product: i128| match signed {
        true => product >> bits,
        false => ((product as u128) >> bits) as i128,
    };
    let low24 = |value: u64| match signed {
        true => i128::from(sign_extend(value, 24)),
        false => i128::from(truncate(value, 24)),
    };
    let result: i128 = match function {
        IntegerFunction::Add => a + b,
        IntegerFunction::AddSaturating => (a + b).clamp(least, most),
        IntegerFunction::Sub => a - b,
        IntegerFunction::SubSaturating => (a - b).clamp(least, most),
        IntegerFunction::MulLow => product,
        IntegerFunction::MulHigh => high_half(product),
        IntegerFunction::MulWide => return truncate(product as u64, 2 * bits),
        IntegerFunction::Mul24Low => low24(x[0]) * low24(x[1]),
        IntegerFunction::Mul24High => (low24(x[0]) * low24(x[1])) >> 16,
        // The ISA leaves division by zero unspecified; an H200 gives all ones.
        IntegerFunction::Div if b == 0 => -1,
        IntegerFunction::Div => a / b,
        IntegerFunction::Rem if b == 0 => -1,
        IntegerFunction::Rem => a % b,
        IntegerFunction::Neg => -a,
        IntegerFunction::Abs => a.abs(),
        IntegerFunction::Min => a.min(b),
        IntegerFunction::Max => a.max(b),
        IntegerFunction::And => a & b,
        IntegerFunction::Or => a | b,
        IntegerFunction::Xor => a ^ b,
        IntegerFunction::Not => !a,
        IntegerFunction::LogicalNot => i128::from(a == 0),
        IntegerFunction::ShiftLeft => match x[1] {
            amount if amount >= u64::from(bits) => 0,
            amount => a << amount,
        },
        IntegerFunction::ShiftRight => a >> x[1].min(u64::from(bits)),
        IntegerFunction::MadLow => product.wrapping_add(c),
        IntegerFunction::MadHigh => high_half(product) + c,
        IntegerFunction::MadHighSaturating => (high_half(product) + c).clamp(least, most),
        IntegerFunction::SumOfAbsoluteDifferences => c + (a - b).abs(),
        IntegerFunction::PopulationCount => i128::from(truncate(x[0], bits).count_ones()),
        IntegerFunction::LeadingZeros => {
            i128::from(truncate(x[0], bits).leading_zeros() - (64 - bits))
        }
        IntegerFunction::ReverseBits => {
            i128::from(truncate(x[0], bits).reverse_bits() >> (64 - bits))
        }
        IntegerFunction::FindHighest { shift_amount } => {
            return find_highest(a, bits, shift_amount);
        }
        IntegerFunction::Mad24Low => low24(x[0]) * low24(x[1]) + c,
        IntegerFunction::Mad24High => ((low24(x[0]) * low24(x[1])) >> 16) + c,
        IntegerFunction::Mad24HighSaturating => {
            (((low24(x[0]) * low24(x[1])) >> 16) + c).clamp(least, most)
        }
        IntegerFunction::BitMask { clamps } => {
            let [first, length] = [x[0], x[1]].map(|value| place(value, clamps));
            return truncate(truncate(u64::MAX, length) << first, 32);
        }
        IntegerFunction::ExtendField { clamps } => match (place(x[1], clamps), signed) {
            (length, true) => i128::from(sign_extend(x[0], length)),
            (length, false) => i128::from(truncate(x[0], length)),
        },
        IntegerFunction::CarrylessMadLow => return carryless_product(x[0], x[1]) as u64 ^ x[2],
        IntegerFunction::CarrylessMadHigh => {
            return (carryless_product(x[0], x[1]) >> 64) as u64 ^ x[2];
        }
        IntegerFunction::FindNth => return find_nth(x[0] as u32, x[1] as u32, x[2] as i32),
        IntegerFunction::ExtractField => return extract_field(x, bits, signed),
        IntegerFunction::InsertField => return insert_field(x, bits),
    };
    truncate(result as u64, bits)
}

/// A position or a number of bits up to 32.
fn place(value: u64, clamps: bool) -> u32 {
    match clamps {
        true => value.min(32) as u32,
        false => value as u32 & 31,
    }
}

/// `fns`: from `base` on, upwards or downwards, the set bit with the number `offset`, from 1; for 0
/// the bit at `base` itself. All ones where there is none. The smallest `offset` has no magnitude,
/// and an H200 gives 0.
fn find_nth(mask: u32, base: u32, offset: i32) -> u64 {
    const NONE: u64 = 0xffff_ffff;
    let is_set = |at: &u32| mask >> at & 1 != 0;
    if offset == i32::MIN {
        return 0;
    }
    if base > 31 {
        return NONE;
    }
    let nth = (offset.unsigned_abs() as usize).saturating_sub(1);
    let found = match offset {
        0 => Some(base).filter(is_set),
        1.. => (base..32).filter(is_set).nth(nth),
        _ => (0..=base).rev().filter(is_set).nth(nth),
    };
    found.map_or(NONE, u64::from)
}

/// `bfind`: the highest bit that differs from the sign, or all ones.
fn find_highest(value: i128, bits: u32, shift_amount: bool) -> u64 {
    let magnitude = if value < 0 { !value } else { value } as u64;
    match magnitude {
        0 => 0xffff_ffff,
        _ => {
            let position = 63 - magnitude.leading_zeros();
            u64::from(if shift_amount {
                bits - 1 - position
            } else {
                position
            })
        }
    }
}

/// A position or length of a bit field. The ISA allows 0 to 255; beyond that, GPUs take the low
/// byte of 32-bit instructions and all of 64-bit ones.
fn field_place(value: u64, bits: u32) -> u32 {
    if bits == 64 {
        value.min(255) as u32
    } else {
        value as u32 & 0xff
    }
}

fn extract_field(x: [u64; 4], bits: u32, signed: bool) -> u64 {
    let (position, length) = (field_place(x[1], bits), field_place(x[2], bits));
    if length == 0 {
        return 0;
    }
    let value = truncate(x[0], bits);
    let field = truncate(value.checked_shr(position).unwrap_or(0), length);
    if !signed {
        return field;
    }
    let sign_at = (position + length - 1).min(bits - 1);
    let negative = value >> sign_at & 1 != 0;
    let known = length.min(bits.saturating_sub(position));
    match negative {
        true => truncate(field | u64::MAX.checked_shl(known).unwrap_or(0), bits),
        false => field,
    }
}

fn insert_field(x: [u64; 4], bits: u32) -> u64 {
    let (position, length) = (field_place(x[2], bits), field_place(x[3], bits));
    let mask = truncate(u64::MAX, length)
        .checked_shl(position)
        .unwrap_or(0);
    let mask = if length == 0 { 0 } else { mask };
    let field = x[0].checked_shl(position).unwrap_or(0);
    truncate(x[1] & !mask | field & mask, bits)
}
