//! The functions that have a code of their own: those of this folder with their modifiers chosen,
//! so that the compiler keeps no question.

use super::super::micro_ops::RowOp;
use super::super::vector::{LANES, Lanes32};
use super::float::{FLUSHED, PLAIN, flush, single};
use super::integer::{short, signed, unsigned};
use super::{Operands, convert, dot_product4, logic3, permute, wide};
use crate::ir::{Code, Conversion, FloatFunction, IntegerFunction, Rounding};
use ptx_syntax::ast::Type;

/// A row without subnormals.
#[inline(always)]
pub(in super::super) fn flushed(row: &Lanes32) -> Lanes32 {
    let mut flushed = [0; LANES];
    for (to, bits) in flushed.iter_mut().zip(row) {
        *to = flush(*bits);
    }
    flushed
}

/// Executes it; nothing where its code is none of these.
#[inline(always)]
pub(in super::super) fn execute(row: &mut RowOp<'_>) {
    use FloatFunction::{
        Add, CopySign, Div, DivApprox, Exp2, Fma, Log2, Max, Min, Mul, Rcp, RsqrtApprox, Sqrt, Sub,
    };
    match row.op.code {
        Code::FlushedAdd => row.put(single(Add, FLUSHED, row.words())),
        Code::FlushedSub => row.put(single(Sub, FLUSHED, row.words())),
        Code::FlushedMul => row.put(single(Mul, FLUSHED, row.words())),
        Code::FlushedFma => row.put(single(Fma, FLUSHED, row.words())),
        Code::FlushedMin => row.put(single(Min, FLUSHED, row.words())),
        Code::FlushedMax => row.put(single(Max, FLUSHED, row.words())),
        Code::FlushedDiv => row.put(single(Div, FLUSHED, row.words())),
        Code::FlushedDivApprox => row.put(single(DivApprox, FLUSHED, row.words())),
        Code::FlushedRcp => row.put(single(Rcp, FLUSHED, row.words())),
        Code::FlushedSqrt => row.put(single(Sqrt, FLUSHED, row.words())),
        Code::FlushedRsqrt => row.put(single(RsqrtApprox, FLUSHED, row.words())),
        Code::FlushedExp2 => row.put(single(Exp2, FLUSHED, row.words())),
        Code::FlushedLog2 => row.put(single(Log2, FLUSHED, row.words())),
        Code::DivApprox => row.put(single(DivApprox, PLAIN, row.words())),
        Code::Rcp => row.put(single(Rcp, PLAIN, row.words())),
        Code::Sqrt => row.put(single(Sqrt, PLAIN, row.words())),
        Code::Rsqrt => row.put(single(RsqrtApprox, PLAIN, row.words())),
        Code::Exp2 => row.put(single(Exp2, PLAIN, row.words())),
        Code::Log2 => row.put(single(Log2, PLAIN, row.words())),
        Code::CopySign => row.put(single(CopySign, PLAIN, row.words())),
        _ => integers(row),
    }
}

#[inline(always)]
fn integers(row: &mut RowOp<'_>) {
    use IntegerFunction::{
        Abs, Add, And, Div, LeadingZeros, Or, PopulationCount, Rem, ReverseBits, Sub, Xor,
    };
    let extra = row.op.extra;
    let (shift, bits) = (extra & 0xff, extra >> 8);
    match row.op.code {
        Code::AbsSigned32 => row.put(signed(Abs, row.words())),
        Code::PopulationCount32 => row.put(unsigned(PopulationCount, row.words())),
        Code::LeadingZeros32 => row.put(unsigned(LeadingZeros, row.words())),
        Code::ReverseBits32 => row.put(unsigned(ReverseBits, row.words())),
        Code::DivUnsigned32 => row.put(unsigned(Div, row.words())),
        Code::RemUnsigned32 => row.put(unsigned(Rem, row.words())),
        Code::DivSigned32 => row.put(signed(Div, row.words())),
        Code::RemSigned32 => row.put(signed(Rem, row.words())),
        Code::And16 => row.put(short(And, false, row.words())),
        Code::Or16 => row.put(short(Or, false, row.words())),
        Code::Xor16 => row.put(short(Xor, false, row.words())),
        Code::Add16 => row.put(short(Add, false, row.words())),
        Code::Sub16 => row.put(short(Sub, false, row.words())),
        Code::FunnelLeftWrap => row.put(funnel_left(row.words())),
        Code::FunnelRightWrap => row.put(funnel_right(row.words())),
        Code::Permute => row.put(permute(row.words())),
        Code::Logic3 => row.put(logic3(extra as u8, row.words())),
        Code::DotProduct4Signed => row.put(dot_product4([true; 2], row.words())),
        Code::DotProduct4Unsigned => row.put(dot_product4([false; 2], row.words())),
        Code::InsertBits => row.put(insert_bits(shift, bits, row.words())),
        Code::ExtractBits => row.put(extract_bits(shift, bits, row.word())),
        Code::MaskBits => row.put(mask_bits(extra, row.word())),
        Code::SignExtend => row.put(sign_extend(extra, row.word())),
        _ => conversions(row),
    }
}

#[inline(always)]
fn conversions(row: &mut RowOp<'_>) {
    use Rounding::{Down, NearestEven, Up, Zero};
    use Type::{Bf16, F16, F32, F64, S32, U8, U32};
    match row.op.code {
        Code::SignedToFloat32 => row.put(convert::from_integer(
            plain(S32, F32, NearestEven),
            row.word(),
        )),
        Code::UnsignedToFloat32 => row.put(convert::from_integer(
            plain(U32, F32, NearestEven),
            row.word(),
        )),
        Code::ByteToFloat32 => row.put(convert::from_integer(
            plain(U8, F32, NearestEven),
            row.word(),
        )),
        Code::FloatToSigned32 => row.put(convert::to_integer(plain(F32, S32, Zero), row.word())),
        Code::FloatToUnsigned32 => row.put(convert::to_integer(plain(F32, U32, Zero), row.word())),
        Code::FloatToNearestSigned32 => row.put(convert::to_integer(
            plain(F32, S32, NearestEven),
            row.word(),
        )),
        Code::RoundNearest32 => row.put(convert::floats(whole(NearestEven), row.word())),
        Code::RoundZero32 => row.put(convert::floats(whole(Zero), row.word())),
        Code::RoundDown32 => row.put(convert::floats(whole(Down), row.word())),
        Code::RoundUp32 => row.put(convert::floats(whole(Up), row.word())),
        Code::HalfToFloat32 => row.put(convert::floats(plain(F16, F32, NearestEven), row.word())),
        Code::FloatToHalf32 => row.put(convert::floats(plain(F32, F16, NearestEven), row.word())),
        Code::BrainToFloat32 => row.put(convert::floats(plain(Bf16, F32, NearestEven), row.word())),
        Code::FloatToBrain32 => row.put(convert::floats(plain(F32, Bf16, NearestEven), row.word())),
        Code::FloatToDouble => {
            row.put_wide(wide::convert(plain(F32, F64, NearestEven), &row.widened()))
        }
        Code::SignedToDouble => {
            row.put_wide(wide::convert(plain(S32, F64, NearestEven), &row.widened()))
        }
        Code::DoubleToFloat => {
            row.put_narrowed(wide::convert(plain(F64, F32, NearestEven), row.wide()))
        }
        Code::DoubleToSigned => row.put_narrowed(wide::convert(plain(F64, S32, Zero), row.wide())),
        _ => {}
    }
}

/// A conversion without modifiers.
#[inline(always)]
fn plain(from: Type, to: Type, rounding: Rounding) -> Conversion {
    Conversion {
        to,
        from,
        rounding,
        to_integral: false,
        flush: false,
        saturate: false,
        finite: false,
        relu: false,
        register_bits: 8 * to.bytes(),
    }
}

/// f32 to integral f32.
#[inline(always)]
fn whole(rounding: Rounding) -> Conversion {
    Conversion {
        to_integral: true,
        ..plain(Type::F32, Type::F32, rounding)
    }
}

#[inline(always)]
fn insert_bits(shift: u32, bits: u32, [a, b, _]: Operands<'_>) -> Option<Lanes32> {
    let mask = u32::MAX >> (32 - bits.clamp(1, 32)) << (shift & 31);
    row!(|i| a[i] & !mask | b[i] << (shift & 31) & mask)
}

#[inline(always)]
fn extract_bits(shift: u32, bits: u32, a: &Lanes32) -> Option<Lanes32> {
    let mask = u32::MAX >> (32 - bits.clamp(1, 32));
    row!(|i| a[i] >> (shift & 31) & mask)
}

#[inline(always)]
fn mask_bits(mask: u32, a: &Lanes32) -> Option<Lanes32> {
    row!(|i| a[i] & mask)
}

#[inline(always)]
fn sign_extend(bits: u32, a: &Lanes32) -> Option<Lanes32> {
    let unused = 32 - bits.clamp(1, 32);
    row!(|i| ((a[i] << unused) as i32 >> unused) as u32)
}

#[inline(always)]
fn funnel_left([a, b, c]: Operands<'_>) -> Option<Lanes32> {
    row!(|i| {
        let amount = c[i] & 31;
        b[i] << amount | a[i] >> 1 >> (31 - amount)
    })
}

#[inline(always)]
fn funnel_right([a, b, c]: Operands<'_>) -> Option<Lanes32> {
    row!(|i| {
        let amount = c[i] & 31;
        a[i] >> amount | b[i] << 1 << (31 - amount)
    })
}
