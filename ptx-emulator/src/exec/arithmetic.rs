//! The vectorised arithmetic operations.

use super::float::{bits32, bits64, max32, max64, min32, min64};
use super::vector::{Lanes32, Lanes64, Registers, collect, store_lanes32, store_lanes64};
use crate::ir::{Binary, Comparison, Shift, Ternary, Unary};

fn f32_of(bits: u32) -> f32 {
    f32::from_bits(bits)
}

fn f64_of(bits: u64) -> f64 {
    f64::from_bits(bits)
}

#[inline(always)]
pub(crate) fn unary32<const FULL: bool>(
    r: &mut Registers<'_>,
    mask: u32,
    op: Unary,
    d: u32,
    a: u32,
) {
    match op {
        Unary::Not => r.map_32::<FULL>(mask, d, a, |x| !x),
        Unary::Neg => r.map_32::<FULL>(mask, d, a, u32::wrapping_neg),
        Unary::FloatNeg => r.map_32::<FULL>(mask, d, a, |x| bits32(-f32_of(x))),
        Unary::FloatAbs => r.map_32::<FULL>(mask, d, a, |x| bits32(f32_of(x).abs())),
    }
}

#[inline(always)]
pub(crate) fn unary64<const FULL: bool>(
    r: &mut Registers<'_>,
    mask: u32,
    op: Unary,
    d: u32,
    a: u32,
) {
    match op {
        Unary::Not => r.map_64::<FULL>(mask, d, a, |x| !x),
        Unary::Neg => r.map_64::<FULL>(mask, d, a, u64::wrapping_neg),
        Unary::FloatNeg => r.map_64::<FULL>(mask, d, a, |x| bits64(-f64_of(x), [x])),
        Unary::FloatAbs => r.map_64::<FULL>(mask, d, a, |x| bits64(f64_of(x).abs(), [x])),
    }
}

#[inline(always)]
pub(crate) fn binary32<const FULL: bool>(
    r: &mut Registers<'_>,
    mask: u32,
    op: Binary,
    d: u32,
    ab: (u32, u32),
) {
    match op {
        Binary::Add => r.map2_32::<FULL>(mask, d, ab, u32::wrapping_add),
        Binary::Sub => r.map2_32::<FULL>(mask, d, ab, u32::wrapping_sub),
        Binary::Mul => r.map2_32::<FULL>(mask, d, ab, u32::wrapping_mul),
        Binary::MulHighUnsigned => r.map2_32::<FULL>(mask, d, ab, |x, y| {
            ((u64::from(x) * u64::from(y)) >> 32) as u32
        }),
        Binary::MulHighSigned => r.map2_32::<FULL>(mask, d, ab, |x, y| {
            ((i64::from(x as i32) * i64::from(y as i32)) >> 32) as u32
        }),
        Binary::And => r.map2_32::<FULL>(mask, d, ab, |x, y| x & y),
        Binary::Or => r.map2_32::<FULL>(mask, d, ab, |x, y| x | y),
        Binary::Xor => r.map2_32::<FULL>(mask, d, ab, |x, y| x ^ y),
        Binary::MinUnsigned => r.map2_32::<FULL>(mask, d, ab, u32::min),
        Binary::MinSigned => {
            r.map2_32::<FULL>(mask, d, ab, |x, y| (x as i32).min(y as i32) as u32);
        }
        Binary::MaxUnsigned => r.map2_32::<FULL>(mask, d, ab, u32::max),
        Binary::MaxSigned => {
            r.map2_32::<FULL>(mask, d, ab, |x, y| (x as i32).max(y as i32) as u32);
        }
        Binary::FloatAdd => {
            r.map2_32::<FULL>(mask, d, ab, |x, y| bits32(f32_of(x) + f32_of(y)));
        }
        Binary::FloatSub => {
            r.map2_32::<FULL>(mask, d, ab, |x, y| bits32(f32_of(x) - f32_of(y)));
        }
        Binary::FloatMul => {
            r.map2_32::<FULL>(mask, d, ab, |x, y| bits32(f32_of(x) * f32_of(y)));
        }
        Binary::FloatDiv => {
            r.map2_32::<FULL>(mask, d, ab, |x, y| bits32(f32_of(x) / f32_of(y)));
        }
        Binary::FloatMin => r.map2_32::<FULL>(mask, d, ab, min32),
        Binary::FloatMax => r.map2_32::<FULL>(mask, d, ab, max32),
    }
}

#[inline(always)]
pub(crate) fn binary64<const FULL: bool>(
    r: &mut Registers<'_>,
    mask: u32,
    op: Binary,
    d: u32,
    ab: (u32, u32),
) {
    match op {
        Binary::Add => r.map2_64::<FULL>(mask, d, ab, u64::wrapping_add),
        Binary::Sub => r.map2_64::<FULL>(mask, d, ab, u64::wrapping_sub),
        Binary::Mul => r.map2_64::<FULL>(mask, d, ab, u64::wrapping_mul),
        Binary::MulHighUnsigned => r.map2_64::<FULL>(mask, d, ab, |x, y| {
            ((u128::from(x) * u128::from(y)) >> 64) as u64
        }),
        Binary::MulHighSigned => r.map2_64::<FULL>(mask, d, ab, |x, y| {
            ((i128::from(x as i64) * i128::from(y as i64)) >> 64) as u64
        }),
        Binary::And => r.map2_64::<FULL>(mask, d, ab, |x, y| x & y),
        Binary::Or => r.map2_64::<FULL>(mask, d, ab, |x, y| x | y),
        Binary::Xor => r.map2_64::<FULL>(mask, d, ab, |x, y| x ^ y),
        Binary::MinUnsigned => r.map2_64::<FULL>(mask, d, ab, u64::min),
        Binary::MinSigned => {
            r.map2_64::<FULL>(mask, d, ab, |x, y| (x as i64).min(y as i64) as u64);
        }
        Binary::MaxUnsigned => r.map2_64::<FULL>(mask, d, ab, u64::max),
        Binary::MaxSigned => {
            r.map2_64::<FULL>(mask, d, ab, |x, y| (x as i64).max(y as i64) as u64);
        }
        Binary::FloatAdd => {
            r.map2_64::<FULL>(mask, d, ab, |x, y| bits64(f64_of(x) + f64_of(y), [y, x]));
        }
        Binary::FloatSub => {
            r.map2_64::<FULL>(mask, d, ab, |x, y| bits64(f64_of(x) - f64_of(y), [y, x]));
        }
        Binary::FloatMul => {
            r.map2_64::<FULL>(mask, d, ab, |x, y| bits64(f64_of(x) * f64_of(y), [y, x]));
        }
        Binary::FloatDiv => {
            r.map2_64::<FULL>(mask, d, ab, |x, y| bits64(f64_of(x) / f64_of(y), [x, y]));
        }
        Binary::FloatMin => r.map2_64::<FULL>(mask, d, ab, min64),
        Binary::FloatMax => r.map2_64::<FULL>(mask, d, ab, max64),
    }
}

#[inline(always)]
pub(crate) fn ternary32<const FULL: bool>(
    r: &mut Registers<'_>,
    mask: u32,
    op: Ternary,
    d: u32,
    abc: (u32, u32, u32),
) {
    match op {
        Ternary::MulAdd => {
            r.map3_32::<FULL>(mask, d, abc, |x, y, z| x.wrapping_mul(y).wrapping_add(z))
        }
        Ternary::FloatFma => float_fma::<FULL>(r.regs32, mask, d, abc),
    }
}

#[inline(always)]
pub(crate) fn float_fma<const FULL: bool>(
    regs32: &mut [Lanes32],
    mask: u32,
    d: u32,
    (a, b, c): (u32, u32, u32),
) {
    let (a, b, c) = (regs32[a as usize], regs32[b as usize], regs32[c as usize]);
    store_lanes32::<FULL>(&mut regs32[d as usize], mask, |lane| {
        bits32(f32_of(a[lane]).mul_add(f32_of(b[lane]), f32_of(c[lane])))
    });
}

#[inline(always)]
pub(crate) fn ternary64<const FULL: bool>(
    r: &mut Registers<'_>,
    mask: u32,
    op: Ternary,
    d: u32,
    abc: (u32, u32, u32),
) {
    match op {
        Ternary::MulAdd => {
            r.map3_64::<FULL>(mask, d, abc, |x, y, z| x.wrapping_mul(y).wrapping_add(z))
        }
        Ternary::FloatFma => r.map3_64::<FULL>(mask, d, abc, |x, y, z| {
            bits64(f64_of(x).mul_add(f64_of(y), f64_of(z)), [y, z, x])
        }),
    }
}

#[inline(always)]
pub(crate) fn shift32<const FULL: bool>(
    r: &mut Registers<'_>,
    mask: u32,
    op: Shift,
    d: u32,
    ab: (u32, u32),
) {
    match op {
        Shift::Left => {
            r.map2_32::<FULL>(mask, d, ab, |x, n| if n > 31 { 0 } else { x << (n & 31) })
        }
        Shift::RightUnsigned => {
            r.map2_32::<FULL>(mask, d, ab, |x, n| if n > 31 { 0 } else { x >> (n & 31) })
        }
        Shift::RightSigned => {
            r.map2_32::<FULL>(mask, d, ab, |x, n| (x as i32 >> n.min(31)) as u32);
        }
    }
}

#[inline(always)]
pub(crate) fn shift64<const FULL: bool>(
    r: &mut Registers<'_>,
    mask: u32,
    op: Shift,
    d: u32,
    a: u32,
    b: u32,
) {
    let amount = &r.regs32[b as usize];
    let a = r.regs64[a as usize];
    let to = &mut r.regs64[d as usize];
    let n = |lane: usize| u64::from(amount[lane]);
    match op {
        Shift::Left => store_lanes64::<FULL>(to, mask, |lane| {
            if n(lane) > 63 {
                0
            } else {
                a[lane] << (n(lane) & 63)
            }
        }),
        Shift::RightUnsigned => store_lanes64::<FULL>(to, mask, |lane| {
            if n(lane) > 63 {
                0
            } else {
                a[lane] >> (n(lane) & 63)
            }
        }),
        Shift::RightSigned => {
            store_lanes64::<FULL>(to, mask, |lane| (a[lane] as i64 >> n(lane).min(63)) as u64)
        }
    }
}

#[inline(always)]
pub(crate) fn compare32(op: Comparison, a: &Lanes32, b: &Lanes32) -> u32 {
    match op {
        Comparison::Equal => collect(|i| a[i] == b[i]),
        Comparison::LessUnsigned => collect(|i| a[i] < b[i]),
        Comparison::LessSigned => collect(|i| (a[i] as i32) < b[i] as i32),
        Comparison::FloatEqual => collect(|i| f32_of(a[i]) == f32_of(b[i])),
        Comparison::FloatNotEqual => {
            collect(|i| (f32_of(a[i]) < f32_of(b[i])) | (f32_of(a[i]) > f32_of(b[i])))
        }
        Comparison::FloatLess => collect(|i| f32_of(a[i]) < f32_of(b[i])),
        Comparison::FloatLessEqual => collect(|i| f32_of(a[i]) <= f32_of(b[i])),
        Comparison::FloatUnordered => collect(|i| f32_of(a[i]).is_nan() | f32_of(b[i]).is_nan()),
    }
}

#[inline(always)]
pub(crate) fn compare64(op: Comparison, a: &Lanes64, b: &Lanes64) -> u32 {
    match op {
        Comparison::Equal => collect(|i| a[i] == b[i]),
        Comparison::LessUnsigned => collect(|i| a[i] < b[i]),
        Comparison::LessSigned => collect(|i| (a[i] as i64) < b[i] as i64),
        Comparison::FloatEqual => collect(|i| f64_of(a[i]) == f64_of(b[i])),
        Comparison::FloatNotEqual => {
            collect(|i| (f64_of(a[i]) < f64_of(b[i])) | (f64_of(a[i]) > f64_of(b[i])))
        }
        Comparison::FloatLess => collect(|i| f64_of(a[i]) < f64_of(b[i])),
        Comparison::FloatLessEqual => collect(|i| f64_of(a[i]) <= f64_of(b[i])),
        Comparison::FloatUnordered => collect(|i| f64_of(a[i]).is_nan() | f64_of(b[i]).is_nan()),
    }
}
