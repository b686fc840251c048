//! Integer, logic and comparison instructions against the host's arithmetic.

use crate::common::check;

fn low(value: u64) -> u32 {
    value as u32
}

fn signed(value: u64) -> i32 {
    value as i32
}

fn half(value: u64) -> u16 {
    value as u16
}

fn of(value: u32) -> u64 {
    u64::from(value)
}

#[test]
fn words() {
    check("add.s32 %r0, %r1, %r2;", |a, b, _| {
        of(low(a).wrapping_add(low(b)))
    });
    check("sub.u32 %r0, %r1, %r2;", |a, b, _| {
        of(low(a).wrapping_sub(low(b)))
    });
    check("add.sat.s32 %r0, %r1, %r2;", |a, b, _| {
        of(signed(a).saturating_add(signed(b)) as u32)
    });
    check("sub.sat.s32 %r0, %r1, %r2;", |a, b, _| {
        of(signed(a).saturating_sub(signed(b)) as u32)
    });
    check("mul.lo.s32 %r0, %r1, %r2;", |a, b, _| {
        of(low(a).wrapping_mul(low(b)))
    });
    check("mul.hi.u32 %r0, %r1, %r2;", |a, b, _| {
        ((a & 0xffff_ffff) * (b & 0xffff_ffff)) >> 32
    });
    check("mul.hi.s32 %r0, %r1, %r2;", |a, b, _| {
        of(((i64::from(signed(a)) * i64::from(signed(b))) >> 32) as u32)
    });
    check("mul.wide.u32 %x0, %r1, %r2;", |a, b, _| {
        of(low(a)) * of(low(b))
    });
    check("mul.wide.s32 %x0, %r1, %r2;", |a, b, _| {
        (i64::from(signed(a)) * i64::from(signed(b))) as u64
    });
    check("mad.lo.s32 %r0, %r1, %r2, %r3;", |a, b, c| {
        of(low(a).wrapping_mul(low(b)).wrapping_add(low(c)))
    });
    check("mad.hi.u32 %r0, %r1, %r2, %r3;", |a, b, c| {
        of((((of(low(a)) * of(low(b))) >> 32) as u32).wrapping_add(low(c)))
    });
    check("mad.wide.u32 %x0, %r1, %r2, %x3;", |a, b, c| {
        (of(low(a)) * of(low(b))).wrapping_add(c)
    });
    check("mad.wide.s32 %x0, %r1, %r2, %x3;", |a, b, c| {
        ((i64::from(signed(a)) * i64::from(signed(b))) as u64).wrapping_add(c)
    });
    check("min.u32 %r0, %r1, %r2;", |a, b, _| of(low(a).min(low(b))));
    check("max.s32 %r0, %r1, %r2;", |a, b, _| {
        of(signed(a).max(signed(b)) as u32)
    });
    check("min.s32 %r0, %r1, %r2;", |a, b, _| {
        of(signed(a).min(signed(b)) as u32)
    });
    check("abs.s32 %r0, %r1;", |a, _, _| {
        of(signed(a).wrapping_abs() as u32)
    });
    check("neg.s32 %r0, %r1;", |a, _, _| of(low(a).wrapping_neg()));
    check("sad.u32 %r0, %r1, %r2, %r3;", |a, b, c| {
        of(low(a).abs_diff(low(b)).wrapping_add(low(c)))
    });
    check("mul24.lo.u32 %r0, %r1, %r2;", |a, b, _| {
        (a & 0xff_ffff).wrapping_mul(b & 0xff_ffff) & 0xffff_ffff
    });
}

#[test]
fn division() {
    check("div.u32 %r0, %r1, %r2;", |a, b, _| {
        of(low(a).checked_div(low(b)).unwrap_or(u32::MAX))
    });
    check("rem.u32 %r0, %r1, %r2;", |a, b, _| {
        of(low(a).checked_rem(low(b)).unwrap_or(u32::MAX))
    });
    check("div.s32 %r0, %r1, %r2;", |a, b, _| match signed(b) {
        0 => of(u32::MAX),
        b => of(signed(a).wrapping_div(b) as u32),
    });
    check("rem.s64 %x0, %x1, %x2;", |a, b, _| match b as i64 {
        0 => u64::MAX,
        b => (a as i64).wrapping_rem(b) as u64,
    });
    check("div.u64 %x0, %x1, %x2;", |a, b, _| {
        a.checked_div(b).unwrap_or(u64::MAX)
    });
    check("div.s64 %x0, %x1, %x2;", |a, b, _| match b as i64 {
        0 => u64::MAX,
        b => (a as i64).wrapping_div(b) as u64,
    });
}

#[test]
fn doubles() {
    check("add.s64 %x0, %x1, %x2;", |a, b, _| a.wrapping_add(b));
    check("sub.s64 %x0, %x1, %x2;", |a, b, _| a.wrapping_sub(b));
    check("mul.lo.s64 %x0, %x1, %x2;", |a, b, _| a.wrapping_mul(b));
    check("mul.hi.u64 %x0, %x1, %x2;", |a, b, _| {
        ((u128::from(a) * u128::from(b)) >> 64) as u64
    });
    check("mul.hi.s64 %x0, %x1, %x2;", |a, b, _| {
        ((i128::from(a as i64) * i128::from(b as i64)) >> 64) as u64
    });
    check("mad.lo.s64 %x0, %x1, %x2, %x3;", |a, b, c| {
        a.wrapping_mul(b).wrapping_add(c)
    });
    check("min.s64 %x0, %x1, %x2;", |a, b, _| {
        (a as i64).min(b as i64) as u64
    });
    check("max.u64 %x0, %x1, %x2;", |a, b, _| a.max(b));
    check("neg.s64 %x0, %x1;", |a, _, _| a.wrapping_neg());
    check("not.b64 %x0, %x1;", |a, _, _| !a);
    check("xor.b64 %x0, %x1, %x2;", |a, b, _| a ^ b);
}

#[test]
fn halves() {
    check("add.s16 %h0, %h1, %h2;", |a, b, _| {
        u64::from(half(a).wrapping_add(half(b)))
    });
    check("mul.lo.s16 %h0, %h1, %h2;", |a, b, _| {
        u64::from(half(a).wrapping_mul(half(b)))
    });
    check("mul.wide.s16 %r0, %h1, %h2;", |a, b, _| {
        of((i32::from(half(a) as i16) * i32::from(half(b) as i16)) as u32)
    });
    check("mul.hi.u16 %h0, %h1, %h2;", |a, b, _| {
        ((a & 0xffff) * (b & 0xffff)) >> 16
    });
    check("min.s16 %h0, %h1, %h2;", |a, b, _| {
        u64::from((half(a) as i16).min(half(b) as i16) as u16)
    });
    check("shr.s16 %h0, %h1, %r2;", |a, b, _| {
        u64::from((half(a) as i16 >> low(b).min(15)) as u16)
    });
    check("setp.lt.s16 %p0, %h1, %h2;", |a, b, _| {
        u64::from((half(a) as i16) < half(b) as i16)
    });
    check("neg.s16 %h0, %h1;", |a, _, _| {
        u64::from(half(a).wrapping_neg())
    });
}

#[test]
fn shifts_clamp_their_amount() {
    check("shl.b32 %r0, %r1, %r2;", |a, b, _| {
        of(low(a).checked_shl(low(b)).unwrap_or(0))
    });
    check("shr.u32 %r0, %r1, %r2;", |a, b, _| {
        of(low(a).checked_shr(low(b)).unwrap_or(0))
    });
    check("shr.s32 %r0, %r1, %r2;", |a, b, _| {
        of((signed(a) >> low(b).min(31)) as u32)
    });
    check("shl.b64 %x0, %x1, %r2;", |a, b, _| {
        a.checked_shl(low(b)).unwrap_or(0)
    });
    check("shr.u64 %x0, %x1, %r2;", |a, b, _| {
        a.checked_shr(low(b)).unwrap_or(0)
    });
    check("shr.s64 %x0, %x1, %r2;", |a, b, _| {
        (a as i64 >> low(b).min(63)) as u64
    });
    let funnel = |a: u64, b: u64| of(low(b)) << 32 | of(low(a));
    check("shf.l.wrap.b32 %r0, %r1, %r2, %r3;", |a, b, c| {
        funnel(a, b) << (c & 31) >> 32
    });
    check("shf.r.wrap.b32 %r0, %r1, %r2, %r3;", |a, b, c| {
        funnel(a, b) >> (c & 31) & 0xffff_ffff
    });
    check("shf.l.clamp.b32 %r0, %r1, %r2, %r3;", |a, b, c| {
        funnel(a, b) << of(low(c)).min(32) >> 32
    });
    check("shf.r.clamp.b32 %r0, %r1, %r2, %r3;", |a, b, c| {
        funnel(a, b) >> of(low(c)).min(32) & 0xffff_ffff
    });
}

#[test]
fn bits() {
    check("popc.b32 %r0, %r1;", |a, _, _| of(low(a).count_ones()));
    check("popc.b64 %r0, %x1;", |a, _, _| of(a.count_ones()));
    check("clz.b32 %r0, %r1;", |a, _, _| of(low(a).leading_zeros()));
    check("clz.b64 %r0, %x1;", |a, _, _| of(a.leading_zeros()));
    check("brev.b32 %r0, %r1;", |a, _, _| of(low(a).reverse_bits()));
    check("brev.b64 %x0, %x1;", |a, _, _| a.reverse_bits());
    check("bfind.u32 %r0, %r1;", |a, _, _| match low(a) {
        0 => of(u32::MAX),
        a => of(31 - a.leading_zeros()),
    });
    check("bfind.shiftamt.s32 %r0, %r1;", |a, _, _| {
        let a = signed(a);
        let magnitude = (if a < 0 { !a } else { a }) as u32;
        if magnitude == 0 {
            of(u32::MAX)
        } else {
            of(magnitude.leading_zeros())
        }
    });
    check("cnot.b32 %r0, %r1;", |a, _, _| u64::from(low(a) == 0));
    check("lop3.b32 %r0, %r1, %r2, %r3, 0xe8;", |a, b, c| {
        of(low(a) & low(b) | low(a) & low(c) | low(b) & low(c))
    });
    check("lop3.b32 %r0, %r1, %r2, %r3, 0x1b;", |a, b, c| {
        // Table bit i is set where (a, b, c) as bits of i gives one: i in {0, 1, 3, 4}.
        let (a, b, c) = (low(a), low(b), low(c));
        of(!a & !b & !c | !a & !b & c | !a & b & c | a & !b & !c)
    });
    check("bfe.u32 %r0, %r1, 4, 7;", |a, _, _| a >> 4 & 0x7f);
    check("bfe.s32 %r0, %r1, 28, 8;", |a, _, _| {
        of((signed(a) >> 28) as u32)
    });
    check("bfe.s64 %x0, %x1, 3, 5;", |a, _, _| {
        ((a << 56) as i64 >> 59) as u64
    });
    check("bfi.b32 %r0, %r1, %r2, 8, 12;", |a, b, _| {
        of(low(b) & !0xf_ff00 | low(a) << 8 & 0xf_ff00)
    });
    check("prmt.b32 %r0, %r1, %r2, 0x5410;", |a, b, _| {
        a & 0xffff | (b & 0xffff) << 16
    });
    check("prmt.b32 %r0, %r1, %r2, 0x8882;", |a, _, _| {
        let sign = if a & 0x80 != 0 { 0xff } else { 0 };
        a >> 16 & 0xff | sign << 8 | sign << 16 | sign << 24
    });
    check("dp4a.s32.s32 %r0, %r1, %r2, %r3;", |a, b, c| {
        let sum = (0..4).map(|i| i32::from((a >> (8 * i)) as i8) * i32::from((b >> (8 * i)) as i8));
        of((low(c) as i32).wrapping_add(sum.sum()) as u32)
    });
}

#[test]
fn carry_chains() {
    check(
        "add.cc.u32 %r4, %r1, %r2; addc.u32 %r0, %r3, %r3;",
        |a, b, c| {
            let carry = u32::from(low(a).checked_add(low(b)).is_none());
            of(low(c).wrapping_add(low(c)).wrapping_add(carry))
        },
    );
    check(
        "sub.cc.s64 %x4, %x1, %x2; subc.cc.s64 %x0, %x3, %x1;",
        |a, b, c| c.wrapping_sub(a).wrapping_sub(u64::from(a < b)),
    );
}

#[test]
fn comparisons() {
    check("setp.eq.b32 %p0, %r1, %r2;", |a, b, _| {
        u64::from(low(a) == low(b))
    });
    check("setp.ne.s64 %p0, %x1, %x2;", |a, b, _| u64::from(a != b));
    check("setp.lt.s32 %p0, %r1, %r2;", |a, b, _| {
        u64::from(signed(a) < signed(b))
    });
    check("setp.le.u32 %p0, %r1, %r2;", |a, b, _| {
        u64::from(low(a) <= low(b))
    });
    check("setp.gt.s64 %p0, %x1, %x2;", |a, b, _| {
        u64::from(a as i64 > b as i64)
    });
    check("setp.ge.u64 %p0, %x1, %x2;", |a, b, _| u64::from(a >= b));
    check("setp.hi.u32 %p0, %r1, %r2;", |a, b, _| {
        u64::from(low(a) > low(b))
    });
    check(
        "setp.eq.u32 %p1, %r3, 0; setp.lt.and.u32 %p0|%p2, %r1, %r2, !%p1;",
        |a, b, c| u64::from(low(a) < low(b) && low(c) != 0),
    );
    check("setp.lt.u32 %p2|%p0, %r1, %r2;", |a, b, _| {
        u64::from(low(a) >= low(b))
    });
    check("set.lt.u32.s32 %r0, %r1, %r2;", |a, b, _| {
        of(if signed(a) < signed(b) { u32::MAX } else { 0 })
    });
    check(
        "setp.lt.u64 %p1, %x1, %x2; selp.b64 %x0, %x1, %x3, %p1;",
        |a, b, c| if a < b { a } else { c },
    );
    check("slct.b32.s32 %r0, %r1, %r2, %r3;", |a, b, c| {
        of(if signed(c) >= 0 { low(a) } else { low(b) })
    });
    check(
        "setp.lt.u32 %p1, %r1, %r2; setp.lt.u32 %p2, %r2, %r3; xor.pred %p3, %p1, %p2; not.pred %p0, %p3;",
        |a, b, c| u64::from((low(a) < low(b)) == (low(b) < low(c))),
    );
}

#[test]
fn integer_conversions() {
    check("cvt.u64.u32 %x0, %r1;", |a, _, _| of(low(a)));
    check("cvt.s64.s32 %x0, %r1;", |a, _, _| signed(a) as i64 as u64);
    check("cvt.u32.u64 %r0, %x1;", |a, _, _| of(low(a)));
    check("cvt.s32.s8 %r0, %r1;", |a, _, _| of(a as i8 as i32 as u32));
    check("cvt.u16.u32 %h0, %r1;", |a, _, _| u64::from(half(a)));
    check("cvt.s32.s16 %r0, %h1;", |a, _, _| {
        of(half(a) as i16 as i32 as u32)
    });
    check("cvt.u64.s32 %x0, %r1;", |a, _, _| signed(a) as i64 as u64);
    check("cvt.sat.u8.s32 %r0, %r1;", |a, _, _| {
        signed(a).clamp(0, 255) as u64
    });
    check("cvt.sat.s16.s64 %r0, %x1;", |a, _, _| {
        of((a as i64).clamp(-32768, 32767) as i32 as u32)
    });
    check("cvt.sat.u32.s64 %r0, %x1;", |a, _, _| {
        (a as i64).clamp(0, 0xffff_ffff) as u64
    });
}

#[test]
fn packing() {
    check("mov.b64 %x0, {%r1, %r2};", |a, b, _| {
        of(low(a)) | of(low(b)) << 32
    });
    check("mov.b64 {%r4, %r0}, %x1;", |a, _, _| a >> 32);
    check("mov.b32 %r0, {%h1, %h2};", |a, b, _| {
        a & 0xffff | (b & 0xffff) << 16
    });
    check("mov.b32 {%h4, %h0}, %r1;", |a, _, _| a >> 16 & 0xffff);
    check("mov.b64 {%r0, _}, %x1;", |a, _, _| of(low(a)));
}
