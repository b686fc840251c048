//! Operations by the functions that they are compiled in. One function of all of them, for each
//! level of vector instructions, took longer to compile than its parts do: in a function of
//! hundreds of loops the vectoriser takes more time for each of them.

use super::float::{self, FLUSHED, Numbers, PLAIN, single};
use super::half::half;
use super::integer::{pair, short, signed, unsigned};
use super::{Operands, bits, comparison, convert, logic3, small};
use crate::exec::vector::Lanes32;
use crate::ir::{FloatFormat, FloatFunction, LaneFunction, Rounding};
use ptx_syntax::ast::Type;

/// Which function an operation is in.
#[derive(Clone, Copy)]
pub(in crate::exec) enum Group {
    Plain,
    Flushed,
    Saturated,
    Extremes,
    Directed,
    F16,
    Bf16,
    Words,
    Shorts,
    Conversions,
    Small,
    Bits,
    Logic,
    Comparisons,
}

impl Group {
    /// That of an operation on words; none where the operation is in none of them.
    pub(in crate::exec) fn of(function: LaneFunction) -> Option<Self> {
        Some(match function {
            LaneFunction::Float(_, format) => match format.ty {
                Type::F32 => return Group::of_float(format),
                Type::F16 | Type::F16x2 => Group::F16,
                Type::Bf16 | Type::Bf16x2 => Group::Bf16,
                _ => return None,
            },
            LaneFunction::Integer(_, Type::U32 | Type::B32 | Type::S32) => Group::Words,
            LaneFunction::Integer(..) | LaneFunction::Parts(..) => Group::Shorts,
            LaneFunction::Convert(_) => Group::Conversions,
            LaneFunction::ConvertSmall(_) => Group::Small,
            LaneFunction::Logic3(_) => Group::Logic,
            LaneFunction::CompareHalf(..) => Group::Comparisons,
            LaneFunction::FunnelLeft(_)
            | LaneFunction::FunnelRight(_)
            | LaneFunction::Permute(_)
            | LaneFunction::DotProduct4(..)
            | LaneFunction::InsertBits { .. }
            | LaneFunction::ExtractBits { .. } => Group::Bits,
            _ => return None,
        })
    }

    /// That of an operation on f32.
    fn of_float(format: FloatFormat) -> Option<Self> {
        if format.relu || format.xor_sign {
            return None;
        }
        if format.nan_wins {
            return Some(Group::Extremes);
        }
        if format.rounding != Rounding::NearestEven {
            // Results that are nearly normal are flushed by a rule of their own.
            return (!format.flush).then_some(Group::Directed);
        }
        // The most frequent ones without a question in each lane.
        Some(match (format.flush, format.saturate) {
            (true, false) => Group::Flushed,
            (false, false) => Group::Plain,
            _ => Group::Saturated,
        })
    }
}

/// The code of a group.
pub(in crate::exec) trait Rows {
    /// The result of all lanes, those that do not execute it among them; none where the operation
    /// is not one of the group.
    fn evaluate(function: LaneFunction, x: Operands<'_>) -> Option<Lanes32>;
}

macro_rules! rows {
    ($($name:ident: |$function:ident, $x:ident| $evaluate:expr;)*) => {
        $(
            pub(in crate::exec) struct $name;

            impl Rows for $name {
                #[inline(always)]
                fn evaluate($function: LaneFunction, $x: Operands<'_>) -> Option<Lanes32> {
                    $evaluate
                }
            }
        )*
    };
}

#[inline(always)]
fn float(function: LaneFunction) -> Option<(FloatFunction, FloatFormat, Numbers)> {
    match function {
        LaneFunction::Float(function, format) => Some((function, format, Numbers::of(format))),
        _ => None,
    }
}

rows! {
    Plain: |function, x| single(float(function)?.0, PLAIN, x);
    Flushed: |function, x| single(float(function)?.0, FLUSHED, x);
    Saturated: |function, x| {
        let (function, _, numbers) = float(function)?;
        single(function, numbers, x)
    };
    Extremes: |function, x| {
        let (function, _, numbers) = float(function)?;
        float::extremes(function, numbers, x)
    };
    Directed: |function, x| {
        let (function, format, numbers) = float(function)?;
        float::directed(function, format.rounding, numbers, x)
    };
    F16: |function, x| {
        let (function, format, _) = float(function)?;
        half(function, format, true, x)
    };
    Bf16: |function, x| {
        let (function, format, _) = float(function)?;
        half(function, format, false, x)
    };
    Words: |function, x| match function {
        LaneFunction::Integer(function, Type::S32) => signed(function, x),
        LaneFunction::Integer(function, Type::U32 | Type::B32) => unsigned(function, x),
        _ => None,
    };
    Shorts: |function, x| match function {
        LaneFunction::Integer(function, ty @ (Type::U16 | Type::S16 | Type::B16)) => {
            short(function, ty.is_signed(), x)
        }
        LaneFunction::Parts(function, ty) if ty.bytes() == 2 => pair(function, ty.is_signed(), x),
        _ => None,
    };
    Conversions: |function, x| match function {
        LaneFunction::Convert(conversion) => convert::convert(conversion, x[0]),
        _ => None,
    };
    Small: |function, x| match function {
        LaneFunction::ConvertSmall(conversion) => small::convert(conversion, x),
        _ => None,
    };
    Bits: |function, x| bits(function, x);
    Logic: |function, x| match function {
        LaneFunction::Logic3(table) => logic3(table, x),
        _ => None,
    };
    Comparisons: |function, x| comparison(function, x);
}

/// Calls `$f::<G>` with G as the code of the group of `$function`; none where it has no group.
macro_rules! in_group {
    ($function:expr, $module:ident::$f:ident($($argument:expr),*)) => {{
        use $crate::exec::rows::group::{self, Group};
        match Group::of($function)? {
            Group::Plain => $module::$f::<group::Plain>($($argument),*),
            Group::Flushed => $module::$f::<group::Flushed>($($argument),*),
            Group::Saturated => $module::$f::<group::Saturated>($($argument),*),
            Group::Extremes => $module::$f::<group::Extremes>($($argument),*),
            Group::Directed => $module::$f::<group::Directed>($($argument),*),
            Group::F16 => $module::$f::<group::F16>($($argument),*),
            Group::Bf16 => $module::$f::<group::Bf16>($($argument),*),
            Group::Words => $module::$f::<group::Words>($($argument),*),
            Group::Shorts => $module::$f::<group::Shorts>($($argument),*),
            Group::Conversions => $module::$f::<group::Conversions>($($argument),*),
            Group::Small => $module::$f::<group::Small>($($argument),*),
            Group::Bits => $module::$f::<group::Bits>($($argument),*),
            Group::Logic => $module::$f::<group::Logic>($($argument),*),
            Group::Comparisons => $module::$f::<group::Comparisons>($($argument),*),
        }
    }};
}
pub(in crate::exec) use in_group;
