//! Float instructions against the host's IEEE arithmetic, to the bit.

use crate::common::{check, evaluate, module, operands};
use ptx_emulator::Module;

fn single(value: u64) -> f32 {
    f32::from_bits(value as u32)
}

fn double(value: u64) -> f64 {
    f64::from_bits(value)
}

/// An f32 result as a GPU gives it: every NaN is the same.
fn bits32(value: f32) -> u64 {
    u64::from(if value.is_nan() {
        0x7fff_ffff
    } else {
        value.to_bits()
    })
}

fn check32(instruction: &str, expected: impl Fn(f32, f32, f32) -> f32) {
    check(instruction, |a, b, c| {
        bits32(expected(single(a), single(b), single(c)))
    });
}

/// Checks an f64 instruction; of NaN results only that they are NaN.
fn check64(instruction: &str, expected: impl Fn(f64, f64, f64) -> f64) {
    let rows = operands();
    for ([a, b, c], result) in rows.iter().zip(evaluate(instruction, &rows)) {
        let wanted = expected(double(*a), double(*b), double(*c));
        let same = result == wanted.to_bits() || (wanted.is_nan() && double(result).is_nan());
        assert!(
            same,
            "{instruction} on {a:#x}, {b:#x}, {c:#x}: {result:#x}, not {:#x}",
            wanted.to_bits()
        );
    }
}

#[test]
fn single_precision() {
    check32("add.rn.f32 %r0, %r1, %r2;", |a, b, _| a + b);
    check32("add.f32 %r0, %r1, %r2;", |a, b, _| a + b);
    check32("sub.rn.f32 %r0, %r1, %r2;", |a, b, _| a - b);
    check32("mul.rn.f32 %r0, %r1, %r2;", |a, b, _| a * b);
    check32("div.rn.f32 %r0, %r1, %r2;", |a, b, _| a / b);
    check32("sqrt.rn.f32 %r0, %r1;", |a, _, _| a.sqrt());
    check32("rcp.rn.f32 %r0, %r1;", |a, _, _| 1.0 / a);
    check32("fma.rn.f32 %r0, %r1, %r2, %r3;", f32::mul_add);
    check32("neg.f32 %r0, %r1;", |a, _, _| -a);
    check32("abs.f32 %r0, %r1;", |a, _, _| a.abs());
    check("copysign.f32 %r0, %r1, %r2;", |a, b, _| {
        a & 0x8000_0000 | b & 0x7fff_ffff
    });
}

#[test]
fn double_precision() {
    check64("add.rn.f64 %x0, %x1, %x2;", |a, b, _| a + b);
    check64("sub.f64 %x0, %x1, %x2;", |a, b, _| a - b);
    check64("mul.rn.f64 %x0, %x1, %x2;", |a, b, _| a * b);
    check64("div.rn.f64 %x0, %x1, %x2;", |a, b, _| a / b);
    check64("sqrt.rn.f64 %x0, %x1;", |a, _, _| a.sqrt());
    check64("fma.rn.f64 %x0, %x1, %x2, %x3;", f64::mul_add);
    check64("abs.f64 %x0, %x1;", |a, _, _| a.abs());
}

/// NaN operands go through f64 operations as on an H200.
#[test]
fn double_nans() {
    let (first, second, third) = (
        0x7ff0_0000_0000_0011,
        0xfff8_0000_0000_0022,
        0x7ff8_0000_0000_0033,
    );
    let one = 1f64.to_bits();
    let infinity = f64::INFINITY.to_bits();
    let cases = [
        ("add.rn.f64 %x0, %x1, %x2;", [first, second, 0], second),
        (
            "sub.rn.f64 %x0, %x1, %x2;",
            [first, one, 0],
            first | 1 << 51,
        ),
        (
            "mul.rn.f64 %x0, %x1, %x2;",
            [0, infinity, 0],
            0xfff8_0000_0000_0000,
        ),
        (
            "fma.rn.f64 %x0, %x1, %x2, %x3;",
            [first, second, third],
            second,
        ),
        ("fma.rn.f64 %x0, %x1, %x2, %x3;", [first, one, third], third),
        ("div.rn.f64 %x0, %x1, %x2;", [third, second, 0], third),
        ("max.f64 %x0, %x1, %x2;", [third, second, 0], second),
        ("neg.f64 %x0, %x1;", [second, 0, 0], second),
        (
            "sqrt.rn.f64 %x0, %x1;",
            [(-1f64).to_bits(), 0, 0],
            0xfff8_0000_0000_0000,
        ),
        (
            "cvt.rn.f32.f64 %r0, %x1;",
            [0xffff_ffff_ffff_ffff, 0, 0],
            0xffff_ffff,
        ),
        (
            "cvt.f64.f32 %x0, %r1;",
            [0x7fc0_0001, 0, 0],
            0x7ff8_0000_2000_0000,
        ),
    ];
    for (instruction, row, wanted) in cases {
        let result = evaluate(instruction, &[row])[0];
        assert_eq!(
            result, wanted,
            "{instruction}: {result:#x}, not {wanted:#x}"
        );
    }
}

/// A product and a sum keep their two roundings; only `fma` has one.
#[test]
fn nothing_is_fused_unasked() {
    let (a, b, c) = (1.0 + f32::EPSILON, 1.0 - f32::EPSILON, -1.0f32);
    let row = [[a, b, c].map(|value| u64::from(value.to_bits()))];
    let twice = evaluate("mul.rn.f32 %r4, %r1, %r2; add.rn.f32 %r0, %r4, %r3;", &row);
    let fused = evaluate("fma.rn.f32 %r0, %r1, %r2, %r3;", &row);
    assert_eq!(twice[0], u64::from((a * b + c).to_bits()));
    assert_eq!(fused[0], u64::from(a.mul_add(b, c).to_bits()));
    assert_ne!(twice, fused);
}

#[test]
fn extremes_prefer_numbers_and_order_zeros() {
    check("min.f32 %r0, %r1, %r2;", |a, b, _| {
        let (x, y) = (single(a), single(b));
        match (x.is_nan(), y.is_nan()) {
            (true, true) => 0x7fff_ffff,
            (true, false) => b & 0xffff_ffff,
            (false, true) => a & 0xffff_ffff,
            _ if x == 0.0 && y == 0.0 => (a | b) & 0xffff_ffff,
            _ => u64::from(x.min(y).to_bits()),
        }
    });
    check64("max.f64 %x0, %x1, %x2;", |x, y, _| {
        match x == 0.0 && y == 0.0 {
            true if x.is_sign_negative() => y,
            true => x,
            false => x.max(y),
        }
    });
    check("max.NaN.f32 %r0, %r1, %r2;", |a, b, _| {
        let (x, y) = (single(a), single(b));
        match x.is_nan() || y.is_nan() {
            true => 0x7fff_ffff,
            false if x == 0.0 && y == 0.0 => a & b & 0xffff_ffff,
            false => u64::from(x.max(y).to_bits()),
        }
    });
}

#[test]
fn flushing_and_saturation() {
    let flush = |x: f32| {
        if x.is_subnormal() {
            0f32.copysign(x)
        } else {
            x
        }
    };
    check32("add.rn.ftz.f32 %r0, %r1, %r2;", |a, b, _| {
        flush(flush(a) + flush(b))
    });
    check32("mul.rn.ftz.f32 %r0, %r1, %r2;", |a, b, _| {
        flush(flush(a) * flush(b))
    });
    check("fma.rn.sat.f32 %r0, %r1, %r2, %r3;", |a, b, c| {
        let value = single(a).mul_add(single(b), single(c));
        u64::from(
            if value.is_nan() || value <= 0.0 {
                0.0
            } else {
                value.min(1.0)
            }
            .to_bits(),
        )
    });
}

/// Directed roundings bracket the exact value: a sum of f32 is exact in f64 where the exponents
/// are close, and the host rounds the f64 to the nearest f32.
#[test]
fn directed_roundings() {
    type Direction = fn(f64, f32) -> f32;
    let directions: [(&str, Direction); 3] = [
        ("rm", |exact, near| {
            if f64::from(near) > exact {
                near.next_down()
            } else {
                near
            }
        }),
        ("rp", |exact, near| {
            if f64::from(near) < exact {
                near.next_up()
            } else {
                near
            }
        }),
        ("rz", |exact, near| {
            match f64::from(near).abs() > exact.abs() {
                true if near > 0.0 => near.next_down(),
                true => near.next_up(),
                false => near,
            }
        }),
    ];
    let rows: Vec<[u64; 3]> = operands().into_iter().rev().take(1024).collect();
    for (name, direct) in directions {
        let sums = evaluate(&format!("add.{name}.f32 %r0, %r1, %r2;"), &rows);
        let products = evaluate(&format!("mul.{name}.f32 %r0, %r1, %r2;"), &rows);
        let mut checked = 0;
        for (row, (sum, product)) in rows.iter().zip(sums.into_iter().zip(products)) {
            let (a, b) = (single(row[0]), single(row[1]));
            let usual = |x: f32| x.is_normal() && (1e-5..1e5).contains(&x.abs());
            if !usual(a) || !usual(b) {
                continue;
            }
            checked += 1;
            let exact = f64::from(a) + f64::from(b);
            if exact != 0.0 {
                assert_eq!(
                    sum,
                    bits32(direct(exact, exact as f32)),
                    "{name}: {a} + {b}"
                );
            }
            let exact = f64::from(a) * f64::from(b);
            assert_eq!(
                product,
                bits32(direct(exact, exact as f32)),
                "{name}: {a} * {b}"
            );
        }
        assert!(checked > 300, "{checked} rows");
    }
}

// The unordered comparisons are the negations of the ordered ones.
#[allow(clippy::neg_cmp_op_on_partial_ord)]
#[test]
fn float_comparisons() {
    let holds = |condition: bool| u64::from(condition);
    check("setp.lt.f32 %p0, %r1, %r2;", |a, b, _| {
        holds(single(a) < single(b))
    });
    check("setp.geu.f32 %p0, %r1, %r2;", |a, b, _| {
        holds(!(single(a) < single(b)))
    });
    check("setp.ltu.f32 %p0, %r1, %r2;", |a, b, _| {
        holds(!(single(a) >= single(b)))
    });
    check("setp.gtu.f64 %p0, %x1, %x2;", |a, b, _| {
        holds(!(double(a) <= double(b)))
    });
    check("setp.leu.f64 %p0, %x1, %x2;", |a, b, _| {
        holds(!(double(a) > double(b)))
    });
    check("setp.ne.f64 %p0, %x1, %x2;", |a, b, _| {
        holds(double(a) < double(b) || double(a) > double(b))
    });
    check("setp.neu.f32 %p0, %r1, %r2;", |a, b, _| {
        holds(single(a) != single(b))
    });
    check("setp.equ.f32 %p0, %r1, %r2;", |a, b, _| {
        holds(!(single(a) < single(b) || single(a) > single(b)))
    });
    check("setp.nan.f64 %p0, %x1, %x2;", |a, b, _| {
        holds(double(a).is_nan() || double(b).is_nan())
    });
    check("setp.num.f32 %p0, %r1, %r2;", |a, b, _| {
        holds(!single(a).is_nan() && !single(b).is_nan())
    });
    check("testp.subnormal.f32 %p0, %r1;", |a, _, _| {
        holds(single(a).is_subnormal())
    });
    check("testp.infinite.f64 %p0, %x1;", |a, _, _| {
        holds(double(a).is_infinite())
    });
}

#[test]
fn conversions_between_float_types() {
    let rows = operands();
    let wide = evaluate("cvt.f64.f32 %x0, %r1;", &rows);
    let narrow = evaluate("cvt.rn.f32.f64 %r0, %x1;", &rows);
    for (row, (wide, narrow)) in rows.iter().zip(wide.into_iter().zip(narrow)) {
        let a = single(row[0]);
        assert!(double(wide) == f64::from(a) || a.is_nan() && double(wide).is_nan());
        let wanted = double(row[0]) as f32;
        assert!(wanted.is_nan() || narrow == bits32(wanted), "{:#x}", row[0]);
    }
    check32("cvt.rni.f32.f32 %r0, %r1;", |a, _, _| a.round_ties_even());
    check32("cvt.rzi.f32.f32 %r0, %r1;", |a, _, _| a.trunc());
    check64("cvt.rmi.f64.f64 %x0, %x1;", |a, _, _| a.floor());
    check64("cvt.rpi.f64.f64 %x0, %x1;", |a, _, _| a.ceil());
}

/// Float to integer clamps; NaN gives 0 or, where 64 bits are involved, the sign bit.
#[test]
fn conversions_to_integers() {
    check("cvt.rzi.s32.f32 %r0, %r1;", |a, _, _| {
        u64::from(single(a) as i32 as u32)
    });
    check("cvt.rni.u32.f32 %r0, %r1;", |a, _, _| {
        u64::from(single(a).round_ties_even() as u32)
    });
    check("cvt.rzi.s64.f64 %x0, %x1;", |a, _, _| {
        match double(a).is_nan() {
            true => 1 << 63,
            false => double(a) as i64 as u64,
        }
    });
    check("cvt.rpi.u64.f32 %x0, %r1;", |a, _, _| {
        match single(a).is_nan() {
            true => 1 << 63,
            false => single(a).ceil() as u64,
        }
    });
    check("cvt.rzi.s16.f32 %h0, %r1;", |a, _, _| {
        u64::from(single(a) as i16 as u16)
    });
}

#[test]
fn conversions_from_integers() {
    check("cvt.rn.f32.s32 %r0, %r1;", |a, _, _| {
        bits32(a as i32 as f32)
    });
    check("cvt.rn.f32.u64 %r0, %x1;", |a, _, _| bits32(a as f32));
    check("cvt.rn.f32.s64 %r0, %x1;", |a, _, _| {
        bits32(a as i64 as f32)
    });
    check("cvt.rn.f64.s64 %x0, %x1;", |a, _, _| {
        (a as i64 as f64).to_bits()
    });
    check("cvt.rn.f64.u64 %x0, %x1;", |a, _, _| (a as f64).to_bits());
    check("cvt.rn.f64.u32 %x0, %r1;", |a, _, _| {
        f64::from(a as u32).to_bits()
    });
}

/// Every f16 value survives the way to f32 and back, and halfway cases round to even.
#[test]
fn half_precision() {
    let rows: Vec<[u64; 3]> = (0..=0xffff).map(|bits| [bits, 0, 0]).collect();
    let back = evaluate("cvt.f32.f16 %r4, %h1; cvt.rn.f16.f32 %h0, %r4;", &rows);
    for (row, back) in rows.iter().zip(back) {
        let nan = row[0] & 0x7c00 == 0x7c00 && row[0] & 0x3ff != 0;
        assert_eq!(back, if nan { 0x7fff } else { row[0] });
    }
    let f32_row = |value: f32| [u64::from(value.to_bits()), 0, 0];
    let cases = [
        (1.0, 0x3c00),
        (-2.0, 0xc000),
        (65504.0, 0x7bff),
        (65519.9, 0x7bff),
        (65520.0, 0x7c00),
        (1.0 + 1.0 / 2048.0, 0x3c00),
        (1.0 + 3.0 / 2048.0, 0x3c02),
        (5.960_464_5e-8, 0x0001),
        (2.980_232_2e-8, 0x0000),
        (6.0e-5, 0x03ef),
    ];
    let rows: Vec<[u64; 3]> = cases.iter().map(|(value, _)| f32_row(*value)).collect();
    let results = evaluate("cvt.rn.f16.f32 %h0, %r1;", &rows);
    for ((value, wanted), result) in cases.into_iter().zip(results) {
        assert_eq!(result, wanted, "{value}");
    }
    let pairs = [[0x3c00_4000, 0x4000_3c00, 0x3c00_3c00]];
    // (1, 2) * (2, 1) + (1, 1) and (1, 2) + (2, 1), packed.
    assert_eq!(
        evaluate("fma.rn.f16x2 %r0, %r1, %r2, %r3;", &pairs),
        [0x4200_4200]
    );
    assert_eq!(
        evaluate("add.rn.f16x2 %r0, %r1, %r2;", &pairs),
        [0x4200_4200]
    );
}

/// bf16 is the upper half of an f32, rounded to even.
#[test]
fn brain_floats() {
    check("cvt.f32.bf16 %r0, %h1;", |a, _, _| (a & 0xffff) << 16);
    check("cvt.rn.bf16.f32 %h0, %r1;", |a, _, _| {
        let bits = a as u32;
        match single(a).is_nan() {
            true => 0x7fff,
            false => u64::from((bits + 0x7fff + (bits >> 16 & 1)) >> 16),
        }
    });
}

/// Integers of 8 and 16 bits, in registers of their width: wider ones are refused, as by ptxas.
#[test]
fn brain_floats_and_short_integers() {
    let rounded = |value: i32| {
        let bits = (value as f32).to_bits();
        u64::from((bits + 0x7fff + (bits >> 16 & 1)) >> 16)
    };
    let wide = |bits: u64| f32::from_bits((bits as u32 & 0xffff) << 16);
    check("cvt.rn.bf16.s16 %h0, %h1;", |a, _, _| {
        rounded(a as i16 as i32)
    });
    check("cvt.rn.bf16.u16 %h0, %h1;", |a, _, _| {
        rounded(a as u16 as i32)
    });
    let byte = "{ .reg .b8 %b; cvt.u8.u32 %b, %r1;";
    check(&format!("{byte} cvt.rz.bf16.s8 %h0, %b; }}"), |a, _, _| {
        rounded(a as i8 as i32)
    });
    // A NaN is zero, and what does not fit is clamped.
    check("cvt.rzi.s16.bf16 %h0, %h1;", |a, _, _| {
        u64::from(wide(a) as i16 as u16)
    });
    check("cvt.rzi.u16.bf16 %h0, %h1;", |a, _, _| {
        u64::from(wide(a) as u16)
    });
    let of_byte = "{ .reg .b8 %b; cvt.rmi.s8.bf16 %b, %h1; cvt.u32.u8 %r0, %b; }";
    check(of_byte, |a, _, _| u64::from(wide(a).floor() as i8 as u8));
    for wrong in ["cvt.rn.bf16.s16 %h0, %r1;", "cvt.rzi.u8.bf16 %r0, %h1;"] {
        let module = Module::parse(&module(wrong)).expect("well formed");
        let error = module.kernel("test").expect_err(wrong).to_string();
        assert!(error.contains("wider than its type"), "{error}");
    }
}

/// The errors that the PTX ISA states for the approximate functions.
#[test]
fn approximate_functions_are_within_their_error() {
    let rows: Vec<[u64; 3]> = (0..2048)
        .map(|index| [u64::from((0.01f32 + index as f32 * 0.003).to_bits()), 0, 0])
        .collect();
    type Function = fn(f64) -> f64;
    let functions: [(&str, Function, f64); 8] = [
        ("sin.approx.f32 %r0, %r1;", f64::sin, 6e-7),
        ("cos.approx.f32 %r0, %r1;", f64::cos, 6e-7),
        ("ex2.approx.f32 %r0, %r1;", f64::exp2, 3e-5),
        ("lg2.approx.f32 %r0, %r1;", f64::log2, 6e-7),
        ("rsqrt.approx.f32 %r0, %r1;", |x| 1.0 / x.sqrt(), 3e-6),
        ("rcp.approx.ftz.f32 %r0, %r1;", |x| 1.0 / x, 1e-5),
        ("sqrt.approx.f32 %r0, %r1;", f64::sqrt, 1e-6),
        ("tanh.approx.f32 %r0, %r1;", f64::tanh, 5e-4),
    ];
    for (instruction, function, bound) in functions {
        for (row, result) in rows.iter().zip(evaluate(instruction, &rows)) {
            let x = f64::from(single(row[0]));
            let error = (f64::from(single(result)) - function(x)).abs();
            assert!(error <= bound, "{instruction} at {x}: error {error}");
        }
    }
}

/// Results that an H200 was seen to give, where the ISA leaves them open or says otherwise.
#[test]
fn results_that_an_h200_was_seen_to_give() {
    let seen: [(&str, [u64; 3], u64); 12] = [
        (
            "{ .reg .b16 %half; cvt.u16.u32 %half, %r1; cvt.f64.f16 %x0, %half; }",
            [0x7fff, 0, 0],
            0x7fff_fc00_0000_0000,
        ),
        (
            "{ .reg .b16 %half; cvt.u16.u32 %half, %r1; cvt.f64.bf16 %x0, %half; }",
            [0x7fff, 0, 0],
            0x7fff_e000_0000_0000,
        ),
        (
            "{ .reg .b16 %half; cvt.rn.f16.f64 %half, %x1; cvt.u32.u16 %r0, %half; }",
            [0x7ff8_0000_0000_1234, 0, 0],
            0x7e00,
        ),
        (
            "{ .reg .b16 %half; cvt.rz.bf16.f64 %half, %x1; cvt.u32.u16 %r0, %half; }",
            [0x7ff8_0000_0000_1234, 0, 0],
            0x7fc0,
        ),
        (
            "cvt.ftz.f64.f32 %x0, %r1;",
            [0x7fc0_1234, 0, 0],
            0x7fff_ffff_e000_0000,
        ),
        (
            "cvt.f64.f32 %x0, %r1;",
            [0x7fc0_1234, 0, 0],
            0x7ff8_0246_8000_0000,
        ),
        (
            "cvt.rna.satfinite.tf32.f32 %r0, %r1;",
            [0x7fff_ffff, 0, 0],
            0x7fff_c000,
        ),
        (
            "div.rp.ftz.f32 %r0, %r1, %r2;",
            [0x0080_0000, 0x3f80_0001, 0],
            0,
        ),
        (
            "fns.b32 %r0, %r1, %r2, %r3;",
            [0x3f80_0000, 0x6e22_6670, 0x8000_0000],
            0,
        ),
        (
            "vadd.u32.u32.u32.sat %r0, %r1, %r2;",
            [0xbdbb_00bf, 0xbf09_de5c, 0],
            0x7cc4_df1b,
        ),
        (
            "vabsdiff.s32.s32.s32.min %r0, %r1, %r2, %r3;",
            [0x78a1_c13b, 0xbc9d_f289, 0xbd7a_c864],
            0xbd7a_c864,
        ),
        (
            "vabsdiff.s32.s32.s32.max %r0, %r1, %r2, %r3;",
            [0x78a1_c13b, 0xbc9d_f289, 0xbd7a_c864],
            0xbc03_ceb2,
        ),
    ];
    for (instruction, row, wanted) in seen {
        let result = evaluate(instruction, &[row])[0];
        assert_eq!(
            result, wanted,
            "{instruction}: {result:#x}, not {wanted:#x}"
        );
    }
}
