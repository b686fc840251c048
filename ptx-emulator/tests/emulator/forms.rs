//! Forms of instructions that compilers rarely write, against the PTX ISA's own definitions.
//!
//! Where the ISA leaves something open, ptxas decides: what it folds, and what it writes for a
//! form.

use crate::common::{check, evaluate, kernel, module, operands};
use half::{bf16, f16};
use ptx_emulator::Module;

const LOW: u64 = 0xffff_ffff;

/// The flag of `sub.cc` is a carry: `addc` and `subc` read it alike.
#[test]
fn carries_of_sums_and_of_differences() {
    let (low, high) = (|x: u64| x & LOW, |x: u64| x >> 32);
    check(
        "sub.cc.u32 %r4, %r1, %r2; addc.u32 %r0, 0, 0;",
        |a, b, _| u64::from(low(a) >= low(b)),
    );
    check(
        "add.cc.u32 %r4, %r1, %r2; subc.u32 %r0, %r2, %r3;",
        |a, b, c| {
            let carry = (low(a) + low(b)) >> 32;
            low(low(b) + (low(c) ^ LOW) + carry)
        },
    );
    check(
        "add.cc.u64 %x4, %x1, %x2; addc.u64 %x0, 0, 0;",
        |a, b, _| u64::from(a.checked_add(b).is_none()),
    );
    check(
        "sub.cc.u64 %x4, %x1, %x2; subc.u64 %x0, %x3, 0;",
        |a, b, c| c.wrapping_sub(u64::from(a < b)),
    );
    let parts = "mov.b64 {%r4, %r5}, %x1; mov.b64 {%r6, %r7}, %x2;";
    let difference = "sub.cc.u32 %r8, %r4, %r6; subc.u32 %r9, %r5, %r7; mov.b64 %x0, {%r8, %r9};";
    check(&format!("{parts} {difference}"), |a, b, _| {
        a.wrapping_sub(b)
    });
    let product = "mul.lo.u32 %r8, %r4, %r6; mul.hi.u32 %r9, %r4, %r6;
        mad.lo.cc.u32 %r9, %r4, %r7, %r9; madc.hi.u32 %r10, %r4, %r7, 0;
        mad.lo.cc.u32 %r9, %r5, %r6, %r9; mov.b64 %x0, {%r8, %r9};";
    check(&format!("{parts} {product}"), |a, b, _| {
        let cross = low(a)
            .wrapping_mul(high(b))
            .wrapping_add(high(a).wrapping_mul(low(b)));
        (low(a) * low(b)).wrapping_add(cross << 32)
    });
}

#[test]
fn integers_become_floats_between_0_and_1() {
    let one = |positive: bool, one: u64| if positive { one } else { 0 };
    check("cvt.rn.sat.f32.s32 %r0, %r1;", |a, _, _| {
        one(a as i32 > 0, 0x3f80_0000)
    });
    check("cvt.rz.sat.f32.u64 %r0, %x1;", |a, _, _| {
        one(a > 0, 0x3f80_0000)
    });
    check("cvt.rn.sat.f64.s64 %x0, %x1;", |a, _, _| {
        one(a as i64 > 0, 1f64.to_bits())
    });
    check("cvt.rp.sat.f16.s16 %h0, %h1;", |a, _, _| {
        one(a as i16 > 0, 0x3c00)
    });
    // Halves of 16 bits that hold bf16 are not clamped.
    let text = module("cvt.rn.sat.bf16.s32 %h0, %r1;");
    let module = Module::parse(&text).expect("well formed");
    let error = module.kernel("test").expect_err("no such form");
    assert!(error.to_string().contains("cvt.rn.sat.bf16.s32"), "{error}");
}

#[test]
fn conversions_within_a_type() {
    check("cvt.f32.f32 %r0, %r1;", |a, _, _| a & LOW);
    check("cvt.f64.f64 %x0, %x1;", |a, _, _| a);
    check("cvt.ftz.f32.f32 %r0, %r1;", |a, _, _| {
        let value = f32::from_bits(a as u32);
        match value {
            value if value.is_nan() => 0x7fff_ffff,
            value if value.is_subnormal() => a & 0x8000_0000,
            _ => a & LOW,
        }
    });
    check("cvt.sat.f32.f32 %r0, %r1;", |a, _, _| {
        let value = f32::from_bits(a as u32);
        let clamped = if value > 0.0 { value.min(1.0) } else { 0.0 };
        u64::from(clamped.to_bits())
    });
}

/// `cvt.rna.tf32.f32` adds half of a unit to the bits; a NaN loses its low bits.
#[test]
fn tf32_is_rounded_as_integers_are() {
    check("cvt.rna.tf32.f32 %r0, %r1;", |a, _, _| {
        let bits = a as u32;
        let finite = bits & 0x7fff_ffff < 0x7f80_0000;
        u64::from(if finite { bits + 0x1000 } else { bits } & !0x1fff)
    });
}

#[test]
fn infinities_become_finite() {
    for (instruction, a, wanted) in [
        ("cvt.rn.satfinite.f16.f32 %h0, %r1;", 1e6f32, 0x7bff),
        (
            "cvt.rn.satfinite.f16.f32 %h0, %r1;",
            f32::NEG_INFINITY,
            0xfbff,
        ),
        ("cvt.rn.satfinite.f16.f32 %h0, %r1;", 0.5, 0x3800),
        ("cvt.rn.satfinite.f16.f32 %h0, %r1;", f32::NAN, 0x7fff),
        ("cvt.rn.satfinite.bf16.f32 %h0, %r1;", f32::INFINITY, 0x7f7f),
        ("cvt.rn.relu.f16.f32 %h0, %r1;", -2.0, 0),
    ] {
        let found = evaluate(instruction, &[[u64::from(a.to_bits()), 0, 0]])[0];
        assert_eq!(found, wanted, "{instruction} {a}: {found:#x}");
    }
}

/// With `.ftz` a result is zero where 24 bits without a limit of the exponent lie below 2^-126.
#[test]
fn doubles_are_flushed_before_they_are_rounded_up() {
    let least = f64::from(f32::MIN_POSITIVE);
    let at = |fraction: f64| (least * (1.0 - fraction)).to_bits();
    let unit = (-24f64).exp2();
    let min = u64::from(f32::MIN_POSITIVE.to_bits());
    for (rounding, bits, wanted) in [
        ("rn", at(0.0), min),
        ("rn", at(unit / 2.0), min),
        ("rn", at(unit * 0.75), 0),
        ("rz", at(unit / 4.0), 0),
        ("rp", at(unit / 2.0), min),
        ("rp", at(unit * 1.5), 0),
        ("rm", at(unit / 2.0), 0),
        ("rm", at(unit / 2.0) | 1 << 63, min | 1 << 31),
    ] {
        let instruction = format!("cvt.{rounding}.ftz.f32.f64 %r0, %x1;");
        let found = evaluate(&instruction, &[[bits, 0, 0]])[0];
        assert_eq!(found, wanted, "{instruction} {bits:#x}: {found:#x}");
    }
}

/// Both halves of a register of 16-bit floats.
fn halves(bits: u64) -> [f16; 2] {
    [bits as u16, (bits >> 16) as u16].map(f16::from_bits)
}

#[test]
fn pairs_are_compared_half_by_half() {
    let less = |a: u64, b: u64| -> [bool; 2] {
        let (a, b) = (halves(a), halves(b));
        [a[0] < b[0], a[1] < b[1]]
    };
    let bits = |[low, high]: [bool; 2]| u64::from(low) | u64::from(high) << 1;
    let both = "selp.u32 %r0, 1, 0, %p1; selp.u32 %r4, 2, 0, %p2; or.b32 %r0, %r0, %r4;";
    check(
        &format!("setp.lt.f16x2 %p1|%p2, %r1, %r2; {both}"),
        |a, b, _| bits(less(a, b)),
    );
    // The predicate that is combined may be overwritten.
    let odd = "and.b32 %r5, %r3, 1; setp.ne.u32 %p1, %r5, 0;";
    check(
        &format!("{odd} setp.lt.xor.f16x2 %p1|%p2, %r1, %r2, %p1; {both}"),
        |a, b, c| bits(less(a, b).map(|less| less != (c & 1 != 0))),
    );
    check(
        &format!("{odd} mov.pred %p2, %p1; setp.lt.and.u32 %p1|%p2, %r1, %r2, %p2; {both}"),
        |a, b, c| {
            let less = (a & LOW) < (b & LOW);
            bits([less, !less].map(|holds| holds && c & 1 != 0))
        },
    );
    let masks = |[low, high]: [bool; 2], truth: u64| {
        let of = |holds: bool| if holds { truth } else { 0 };
        of(low) | of(high) << 16
    };
    check("set.lt.u32.f16x2 %r0, %r1, %r2;", |a, b, _| {
        masks(less(a, b), 0xffff)
    });
    check("set.lt.f16x2.f16x2 %r0, %r1, %r2;", |a, b, _| {
        masks(less(a, b), 0x3c00)
    });
    check("set.lt.u16.f16 %h0, %h1, %h2;", |a, b, _| {
        if less(a, b)[0] { 0xffff } else { 0 }
    });
    check("set.lt.f16.u32 %h0, %r1, %r2;", |a, b, _| {
        if a & LOW < b & LOW { 0x3c00 } else { 0 }
    });
    check("set.ge.bf16x2.bf16x2 %r0, %r1, %r2;", |a, b, _| {
        let of = |bits: u64| [bits as u16, (bits >> 16) as u16].map(bf16::from_bits);
        let (a, b) = (of(a), of(b));
        masks([a[0] >= b[0], a[1] >= b[1]], 0x3f80)
    });
    check("setp.eq.ftz.f16 %p0, %h1, 0;", |a, _, _| {
        u64::from(a & 0x7c00 == 0)
    });
}

#[test]
fn packed_integers() {
    let pair = |a: u64, b: u64, f: fn(i16, i16) -> i16| {
        let half = |at: u32| f((a >> at) as i16, (b >> at) as i16) as u16;
        u64::from(half(0)) | u64::from(half(16)) << 16
    };
    check("add.s16x2 %r0, %r1, %r2;", |a, b, _| {
        pair(a, b, i16::wrapping_add)
    });
    check("add.u16x2 %r0, %r1, %r2;", |a, b, _| {
        pair(a, b, i16::wrapping_add)
    });
    check("min.s16x2 %r0, %r1, %r2;", |a, b, _| pair(a, b, i16::min));
    check("max.u16x2 %r0, %r1, %r2;", |a, b, _| {
        pair(a, b, |a, b| (a as u16).max(b as u16) as i16)
    });
    check("max.relu.s16x2 %r0, %r1, %r2;", |a, b, _| {
        pair(a, b, |a, b| a.max(b).max(0))
    });
    check("add.sat.s16x2 %r0, %r1, %r2;", |a, b, _| {
        pair(a, b, i16::saturating_add)
    });
    check("add.sat.u16x2 %r0, %r1, %r2;", |a, b, _| {
        pair(a, b, |a, b| (a as u16).saturating_add(b as u16) as i16)
    });
    check("add.sat.u32 %r0, %r1, %r2;", |a, b, _| {
        u64::from((a as u32).saturating_add(b as u32))
    });
    check("min.relu.s32 %r0, %r1, %r2;", |a, b, _| {
        u64::from((a as i32).min(b as i32).max(0) as u32)
    });
}

#[test]
fn packed_bytes() {
    let bytes = |a: u64, b: u64, f: fn(i8, i8) -> i8| {
        let byte = |at: u32| u64::from(f((a >> at) as i8, (b >> at) as i8) as u8) << at;
        byte(0) | byte(8) | byte(16) | byte(24)
    };
    type Signed = fn(i8, i8) -> i8;
    type Unsigned = fn(u8, u8) -> u8;
    let signed: [(&str, Signed); 9] = [
        ("add.s8x4", i8::wrapping_add),
        ("add.sat.s8x4", i8::saturating_add),
        ("sub.s8x4", i8::wrapping_sub),
        ("sub.sat.s8x4", i8::saturating_sub),
        ("min.s8x4", i8::min),
        ("max.s8x4", i8::max),
        ("min.relu.s8x4", |a, b| a.min(b).max(0)),
        ("max.relu.s8x4", |a, b| a.max(b).max(0)),
        ("neg.s8x4", |a, _| a.wrapping_neg()),
    ];
    for (name, function) in signed {
        let operands = if name == "neg.s8x4" {
            "%r1"
        } else {
            "%r1, %r2"
        };
        check(&format!("{name} %r0, {operands};"), |a, b, _| {
            bytes(a, b, function)
        });
    }
    let unsigned: [(&str, Unsigned); 6] = [
        ("add.u8x4", u8::wrapping_add),
        ("add.sat.u8x4", u8::saturating_add),
        ("sub.u8x4", u8::wrapping_sub),
        ("sub.sat.u8x4", u8::saturating_sub),
        ("min.u8x4", u8::min),
        ("max.u8x4", u8::max),
    ];
    for (name, function) in unsigned {
        check(&format!("{name} %r0, %r1, %r2;"), |a, b, _| {
            (0..32).step_by(8).fold(0, |word, at| {
                word | u64::from(function((a >> at) as u8, (b >> at) as u8)) << at
            })
        });
    }
}

/// Bits are coefficients of polynomials: a product without carries, and a sum without any.
#[test]
fn products_without_carries() {
    let product = |a: u64, b: u64| {
        (0..64).fold(0u128, |sum, at| match b >> at & 1 {
            0 => sum,
            _ => sum ^ u128::from(a) << at,
        })
    };
    check("clmad.lo.u64 %x0, %x1, %x2, %x3;", |a, b, c| {
        product(a, b) as u64 ^ c
    });
    check("clmad.hi.u64 %x0, %x1, %x2, %x3;", |a, b, c| {
        (product(a, b) >> 64) as u64 ^ c
    });
}

#[test]
fn bits_and_fields() {
    let mask = |length: u64| (1u64 << length) - 1;
    check("bmsk.clamp.b32 %r0, %r1, %r2;", |a, b, _| {
        mask((b & LOW).min(32)) << (a & LOW).min(32) & LOW
    });
    check("bmsk.wrap.b32 %r0, %r1, %r2;", |a, b, _| {
        mask(b & 31) << (a & 31) & LOW
    });
    check("szext.clamp.u32 %r0, %r1, %r2;", |a, b, _| {
        a & mask((b & LOW).min(32))
    });
    check("szext.wrap.s32 %r0, %r1, %r2;", |a, b, _| match b & 31 {
        0 => 0,
        length => {
            let up = 32 - length as u32;
            u64::from((((a as u32) << up) as i32 >> up) as u32)
        }
    });
    check("fns.b32 %r0, %r1, %r2, 1;", |a, b, _| {
        let base = b & LOW;
        let from = (base..32).find(|at| a >> at & 1 != 0);
        from.unwrap_or(LOW)
    });
    check("fns.b32 %r0, %r1, 31, -2;", |a, _, _| {
        let set: Vec<u64> = (0..32).rev().filter(|at| a >> at & 1 != 0).collect();
        set.get(1).copied().unwrap_or(LOW)
    });
    check(
        "lop3.or.b32 %r4|%p1, %r1, %r2, %r3, 0x80, 0; selp.u32 %r0, 1, 0, %p1;",
        |a, b, c| u64::from(a & b & c & LOW != 0),
    );
    let low_24 = |x: u64| i64::from((x as i32) << 8 >> 8);
    check("mad24.lo.s32 %r0, %r1, %r2, %r3;", |a, b, c| {
        (low_24(a) * low_24(b)).wrapping_add(c as i64) as u64 & LOW
    });
    check("mad24.hi.sat.s32 %r0, %r1, %r2, %r3;", |a, b, c| {
        let sum = ((low_24(a) * low_24(b)) >> 16) + i64::from(c as i32);
        sum.clamp(i32::MIN.into(), i32::MAX.into()) as u64 & LOW
    });
    check("dp2a.hi.s32.u32 %r0, %r1, %r2, %r3;", |a, b, c| {
        let half = |at: u32| i64::from((a >> (16 * at)) as i16);
        let byte = |at: u32| i64::from((b >> (16 + 8 * at)) as u8);
        (half(0) * byte(0) + half(1) * byte(1)).wrapping_add(c as i64) as u64 & LOW
    });
}

#[test]
fn packed_conversions() {
    let clamp = |x: u64, least: i32, most: i32| (x as i32).clamp(least, most) as u64;
    check("cvt.pack.sat.u8.s32.b32 %r0, %r1, %r2, %r3;", |a, b, c| {
        (c << 16 | clamp(a, 0, 255) << 8 | clamp(b, 0, 255)) & LOW
    });
    check("cvt.pack.sat.s16.s32 %r0, %r1, %r2;", |a, b, _| {
        let half = |x: u64| clamp(x, -32768, 32767) & 0xffff;
        half(a) << 16 | half(b)
    });
    check("cvt.pack.sat.s4.s32.b32 %r0, %r1, %r2, %r3;", |a, b, c| {
        let part = |x: u64| clamp(x, -8, 7) & 0xf;
        (c << 8 | part(a) << 4 | part(b)) & LOW
    });
}

/// Every 8-bit float by its definition (OCP 8-bit Floating Point Specification).
fn byte_float(bits: u64, exponent_bits: u32) -> f64 {
    let fraction_bits = 7 - exponent_bits;
    let bias = (1 << (exponent_bits - 1)) - 1;
    let fraction = (bits & ((1 << fraction_bits) - 1)) as f64;
    let field = (bits >> fraction_bits & ((1 << exponent_bits) - 1)) as i32;
    let one = f64::from(1 << fraction_bits);
    let magnitude = match field {
        0 => fraction / one * f64::from(1 - bias).exp2(),
        _ if exponent_bits == 5 && field == 31 && fraction == 0.0 => f64::INFINITY,
        _ if exponent_bits == 5 && field == 31 => f64::NAN,
        _ if exponent_bits == 4 && bits & 0x7f == 0x7f => f64::NAN,
        _ => (1.0 + fraction / one) * f64::from(field - bias).exp2(),
    };
    if bits & 0x80 == 0 {
        magnitude
    } else {
        -magnitude
    }
}

#[test]
fn bytes_that_are_floats() {
    for (name, exponent_bits, most) in [("e4m3x2", 4, 448.0), ("e5m2x2", 5, 57344.0)] {
        let rows: Vec<[u64; 3]> = (0..256)
            .map(|bits| [bits | (255 - bits) << 8, 0, 0])
            .collect();
        let wide = evaluate(&format!("cvt.rn.f16x2.{name} %r0, %h1;"), &rows);
        for ([bytes, ..], wide) in rows.iter().zip(wide) {
            for at in 0..2 {
                let value = byte_float(bytes >> (8 * at) & 0xff, exponent_bits);
                let found = (wide >> (16 * at)) as u16;
                match value.is_nan() {
                    true => assert_eq!(found, 0x7fff),
                    false => assert_eq!(f16::from_bits(found).to_f64(), value),
                }
            }
        }
        // The nearest of all numbers, the even one of two.
        let rows = operands();
        let narrow = evaluate(
            &format!("cvt.rn.satfinite.{name}.f32 %h0, %r1, %r2;"),
            &rows,
        );
        let nearest = |value: f64| -> u64 {
            if value.is_nan() {
                return 0x7f;
            }
            let sign = u64::from(value.is_sign_negative()) << 7;
            let magnitude = value.abs().min(most);
            let finite = (0..0x80).filter(|&bits| byte_float(bits, exponent_bits) <= most);
            let distance = |bits: &u64| {
                let off = (byte_float(*bits, exponent_bits) - magnitude).abs();
                (off.to_bits(), bits & 1)
            };
            sign | finite.min_by_key(distance).unwrap_or(0)
        };
        for ([a, b, _], found) in rows.iter().zip(narrow) {
            let value = |bits: u64| f64::from(f32::from_bits(bits as u32));
            let wanted = nearest(value(*a)) << 8 | nearest(value(*b));
            assert_eq!(found, wanted, "{name} of {} and {}", value(*a), value(*b));
        }
    }
}

#[test]
fn magnitudes_with_the_product_of_their_signs() {
    check("min.xorsign.abs.f32 %r0, %r1, %r2;", |a, b, _| {
        let (x, y) = (f32::from_bits(a as u32), f32::from_bits(b as u32));
        let least = x.abs().min(y.abs());
        match least.is_nan() {
            true => 0x7fff_ffff,
            false => u64::from(least.to_bits()) | (a ^ b) & 0x8000_0000,
        }
    });
}

#[test]
fn doubles_in_directed_roundings() {
    // Where the nearest result is exact, so is every other one.
    let rows = operands();
    for (form, nearest) in [
        ("mul.{}.f64 %x0, %x1, %x2;", "mul.rn.f64 %x0, %x1, %x2;"),
        ("div.{}.f64 %x0, %x1, %x2;", "div.rn.f64 %x0, %x1, %x2;"),
        (
            "fma.{}.f64 %x0, %x1, %x2, %x3;",
            "fma.rn.f64 %x0, %x1, %x2, %x3;",
        ),
        ("sqrt.{}.f64 %x0, %x1;", "sqrt.rn.f64 %x0, %x1;"),
        ("rcp.{}.f64 %x0, %x1;", "rcp.rn.f64 %x0, %x1;"),
    ] {
        let at = |rounding: &str| evaluate(&form.replace("{}", rounding), &rows);
        let (nearest, down, up, zero) = (evaluate(nearest, &rows), at("rm"), at("rp"), at("rz"));
        for (row, operands) in rows.iter().enumerate() {
            let [nearest, down, up, zero] =
                [&nearest, &down, &up, &zero].map(|results| f64::from_bits(results[row]));
            if nearest.is_nan() {
                assert!(down.is_nan() && up.is_nan() && zero.is_nan());
                continue;
            }
            assert!(down <= nearest && nearest <= up, "{form} {operands:x?}");
            assert!(down.next_up() >= up, "{form} {operands:x?}");
            assert_eq!(
                zero,
                if up > 0.0 { down } else { up },
                "{form} {operands:x?}"
            );
        }
    }
}

#[test]
fn video_instructions() {
    check("vadd.s32.u32.s32.sat %r0, %r1.b3, %r2.h1;", |a, b, _| {
        let sum = i64::from((a >> 24) as u8) + i64::from((b >> 16) as i16);
        sum as u64 & LOW
    });
    check(
        "vabsdiff.u32.u32.u32.add %r0, %r1.b0, %r2.b1, %r3;",
        |a, b, c| {
            let (a, b) = (a as u8, (b >> 8) as u8);
            c.wrapping_add(u64::from(a.abs_diff(b))) & LOW
        },
    );
    check(
        "vmin.s32.s32.s32 %r3.h1, %r1, %r2, %r3; mov.b32 %r0, %r3;",
        |a, b, c| {
            let least = (a as i32).min(b as i32) as u64;
            // A GPU does not shift the result to the upper half: it takes that of the result.
            (least & !0xffff | c & 0xffff) & LOW
        },
    );
    check(
        "vshr.u32.u32.u32.clamp.add %r0, %r1, %r2, %r3;",
        |a, b, c| c.wrapping_add((a & LOW) >> (b & LOW).min(32)) & LOW,
    );
}

#[test]
fn video_comparisons_and_unordered_equality() {
    check(
        "vset.s32.u32.ge.add %r0, %r1.b1, %r2.b2, %r3;",
        |a, b, c| {
            let holds = i64::from((a >> 8) as i8) >= i64::from((b >> 16) as u8);
            c.wrapping_add(u64::from(holds)) & LOW
        },
    );
    check("setp.equ.f32 %p0, %r1, %r2;", |a, b, _| {
        let (a, b) = (f32::from_bits(a as u32), f32::from_bits(b as u32));
        u64::from(a == b || a.is_nan() || b.is_nan())
    });
}

#[test]
fn clocks_have_upper_halves() {
    let text =
        module("mov.u32 %r1, %clock_hi; mov.u32 %r2, %globaltimer_hi; mov.u64 %x1, %clock64;");
    assert_eq!(kernel(&text).name(), "test");
    let found = evaluate("mov.u32 %r0, %clock_hi;", &[[0; 3]]);
    assert_eq!(found, [0]);
}
