//! Instructions on several values of a register, and on values of different widths: against those
//! on single values of one width, and against the pseudocode of the PTX ISA.

use crate::common::{check, evaluate, operands, run};

/// Both halves of 64-bit registers are computed as f32.
#[test]
fn pairs_of_f32() {
    let rows = operands();
    let upper: Vec<[u64; 3]> = rows.iter().map(|row| row.map(|bits| bits >> 32)).collect();
    for operation in ["add", "sub", "mul", "fma"] {
        for rounding in ["rn", "rz", "rm", "rp"] {
            for flush in ["", ".ftz"] {
                let name = format!("{operation}.{rounding}{flush}");
                let (single, pair) = match operation {
                    "fma" => ("f32 %r0, %r1, %r2, %r3;", "f32x2 %x0, %x1, %x2, %x3;"),
                    _ => ("f32 %r0, %r1, %r2;", "f32x2 %x0, %x1, %x2;"),
                };
                let single = format!("{name}.{single}");
                let (low, high) = (evaluate(&single, &rows), evaluate(&single, &upper));
                let found = evaluate(&format!("{name}.{pair}"), &rows);
                for (at, found) in found.into_iter().enumerate() {
                    assert_eq!(found, low[at] | high[at] << 32, "{name} {:x?}", rows[at]);
                }
            }
        }
    }
}

/// Operands of 16 bits are made wider first.
#[test]
fn sums_of_16_and_32_bits() {
    let rows = operands();
    for half in ["f16", "bf16"] {
        for rounding in ["rn", "rz", "rm", "rp"] {
            for sat in ["", ".sat"] {
                for operation in ["add", "sub", "fma"] {
                    let name = format!("{operation}.{rounding}{sat}.f32");
                    let (mixed, wide) = match operation {
                        "fma" => ("%r0, %h1, %h2, %r3;", "%r0, %r1, %r2, %r3;"),
                        _ => ("%r0, %h1, %r2;", "%r0, %r1, %r2;"),
                    };
                    let second = match operation {
                        "fma" => format!("cvt.f32.{half} %r2, %h2;"),
                        _ => String::new(),
                    };
                    let wide = format!("cvt.f32.{half} %r1, %h1; {second} {name} {wide}");
                    let mixed = format!("{name}.{half} {mixed}");
                    assert_eq!(evaluate(&mixed, &rows), evaluate(&wide, &rows), "{mixed}");
                }
            }
        }
    }
}

#[test]
fn extremes_of_three() {
    let rows = operands();
    for name in ["min", "max"] {
        for modifiers in ["", ".ftz", ".NaN", ".ftz.NaN"] {
            let opcode = format!("{name}{modifiers}");
            let two = format!("{opcode}.f32 %r5, %r1, %r2; {opcode}.f32 %r0, %r5, %r3;");
            let three = format!("{opcode}.f32 %r0, %r1, %r2, %r3;");
            assert_eq!(evaluate(&three, &rows), evaluate(&two, &rows), "{three}");
            let abs = |at: u32| format!("and.b32 %r{at}, %r{at}, 0x7fffffff;");
            let magnitudes = format!("{} {} {} {two}", abs(1), abs(2), abs(3));
            let three = format!("{opcode}.abs.f32 %r0, %r1, %r2, %r3;");
            assert_eq!(
                evaluate(&three, &rows),
                evaluate(&magnitudes, &rows),
                "{three}"
            );
        }
    }
}

#[test]
fn the_extreme_of_a_warp() {
    let store = "mad.wide.u32 %x31, %thread, 4, %base; st.global.b32 [%x31], %r0;";
    let of = |opcode: &str, data: &[u32]| {
        let body = format!(
            "mad.wide.u32 %x1, %thread, 4, %base; ld.global.b32 %r1, [%x1];
             redux.sync.{opcode}.f32 %r0, %r1, -1; {store}"
        );
        let found = run(&body, 32, data);
        assert!(found.iter().all(|value| *value == found[0]), "{opcode}");
        found[0]
    };
    let value = |lane: u32| (lane as f32 - 20.5).to_bits();
    let mut data: Vec<u32> = (0..32).map(value).collect();
    assert_eq!(of("min", &data), value(0));
    assert_eq!(of("max", &data), value(31));
    assert_eq!(of("min.abs", &data), 0.5f32.to_bits());
    assert_eq!(of("max.abs", &data), 20.5f32.to_bits());
    data[7] = 0xffc0_1234;
    assert_eq!(of("max", &data), value(31));
    assert_eq!(of("max.NaN", &data), 0x7fff_ffff);
    assert_eq!(of("max", &[0xff80_0001; 32]), 0x7fff_ffff);
    let mut zeros = [0x8000_0000; 32];
    zeros[3] = 0;
    assert_eq!((of("min", &zeros), of("max", &zeros)), (0x8000_0000, 0));
}

/// A part of a word as a number.
fn part(word: u64, bits: u32, at: u64, signed: bool) -> i64 {
    let up = 64 - bits;
    let field = word >> (u64::from(bits) * at) << up;
    match signed {
        true => field as i64 >> up,
        false => (field >> up) as i64,
    }
}

#[test]
fn video_on_halves_and_bytes() {
    type Function = fn(i64, i64) -> i64;
    let functions: [(&str, Function); 6] = [
        ("vadd", |a, b| a + b),
        ("vsub", |a, b| a - b),
        ("vavrg", |a, b| {
            if a + b >= 0 {
                (a + b + 1) >> 1
            } else {
                (a + b) >> 1
            }
        }),
        ("vabsdiff", |a, b| (a - b).abs()),
        ("vmin", i64::min),
        ("vmax", i64::max),
    ];
    let cases = [
        // Bits, selectors, and the parts that these name, the lowest first.
        (16, ["", "", ""], [[0, 1, 0, 0], [2, 3, 0, 0], [0, 1, 9, 9]]),
        (
            16,
            [".h1", ".h20", ".h13"],
            [[0, 2, 0, 0], [3, 1, 0, 0], [9, 1, 9, 9]],
        ),
        (8, ["", "", ""], [[0, 1, 2, 3], [4, 5, 6, 7], [0, 1, 2, 3]]),
        (
            8,
            [".b320", ".b7061", ".b0246"],
            [[1, 6, 0, 7], [6, 4, 2, 0], [0, 9, 2, 3]],
        ),
    ];
    for (name, function) in functions {
        for (bits, selectors, parts) in cases {
            for [of_d, of_a, of_b] in [["u32", "u32", "u32"], ["s32", "u32", "s32"]] {
                for end in ["", ".sat", ".add"] {
                    let [of_result, first, second] = selectors;
                    let count = if bits == 16 { 2 } else { 4 };
                    let instruction = format!(
                        "mov.b32 %r0, %r3;
                         {name}{count}.{of_d}.{of_a}.{of_b}{end}
                         %r0{of_result}, %r1{first}, %r2{second}, %r3;"
                    );
                    check(&instruction, |a, b, c| {
                        let (a, b, c) = (a & 0xffff_ffff, b & 0xffff_ffff, c & 0xffff_ffff);
                        let both = b << 32 | a;
                        let signed = of_d == "s32";
                        let mut sum = c as i64;
                        let mut merged = 0;
                        for at in 0..count {
                            let value = function(
                                part(both, bits, parts[0][at], of_a == "s32"),
                                part(both, bits, parts[1][at], of_b == "s32"),
                            );
                            let (least, most) = match signed {
                                true => (-(1 << (bits - 1)), (1 << (bits - 1)) - 1),
                                false => (0, (1 << bits) - 1),
                            };
                            let value = if end == ".sat" {
                                value.clamp(least, most)
                            } else {
                                value
                            };
                            let computed = parts[2].contains(&(at as u64));
                            sum += if computed { value } else { 0 };
                            let kept = part(c, bits, at as u64, false);
                            let mask = (1 << bits) - 1;
                            let value = if computed { value & mask } else { kept };
                            merged |= value << (bits as usize * at);
                        }
                        let result = if end == ".add" { sum } else { merged };
                        result as u64 & 0xffff_ffff
                    });
                }
            }
        }
    }
    check("vset2.s32.u32.lt %r0, %r1.h10, %r2.h32, %r3;", |a, b, _| {
        let less = |at| u64::from(part(a, 16, at, true) < part(b, 16, at, false));
        less(0) | less(1) << 16
    });
    check("vset4.u32.u32.ge.add %r0, %r1, %r2, %r3;", |a, b, c| {
        let holds = |at| u64::from(part(a, 8, at, false) >= part(b, 8, at, false));
        ((c & 0xffff_ffff) + (0..4).map(holds).sum::<u64>()) & 0xffff_ffff
    });
}

#[test]
fn video_products() {
    check(
        "vmad.s32.s32.u32.sat.shr7 %r0, %r1.h1, %r2.b3, %r3;",
        |a, b, c| {
            let sum = part(a, 16, 1, true) * part(b, 8, 3, false) + part(c, 32, 0, true);
            let sum = (sum >> 7).clamp(i32::MIN.into(), i32::MAX.into());
            sum as u64 & 0xffff_ffff
        },
    );
    check(
        "vmad.u32.u32.u32.po.sat.shr15 %r0, %r1, %r2, %r3;",
        |a, b, c| {
            // A GPU takes whole words as signed, and the sum's bits as unsigned when it shifts.
            let of = |word: u64| i64::from(word as i32);
            let sum = (of(a) * of(b)).wrapping_add(of(c) + 1) as u64 >> 15;
            sum.min(u32::MAX.into())
        },
    );
    check("vmad.s32.u32.s32 %r0, %r1, %r2, %r3;", |a, b, c| {
        let product = (a as u32).wrapping_mul(b as u32);
        u64::from(product.wrapping_add(c as u32))
    });
}

/// Small integers and halves as floats of every format, back and forth.
#[test]
fn small_floats() {
    for (name, values) in [
        ("e4m3x2", [1.5, -448.0, 0.0, 2f32.powi(-9)]),
        ("e5m2x2", [1.5, -57344.0, 0.0, 2f32.powi(-16)]),
        ("e2m3x2", [1.125, -7.5, 0.0, 0.125]),
        ("e3m2x2", [1.25, -28.0, 0.0, 0.0625]),
        ("e2m1x2", [1.5, -6.0, 0.0, 0.5]),
    ] {
        let register = if name == "e2m1x2" {
            ".reg .b8"
        } else {
            ".reg .b16"
        };
        let instruction = format!(
            "{{ {register} %small; cvt.rn.satfinite.{name}.f32 %small, %r1, %r2;
             cvt.rn.f16x2.{name} %r0, %small; }}"
        );
        for high in values {
            for low in values {
                let row = [u64::from(high.to_bits()), u64::from(low.to_bits()), 0];
                let half = |value: f32| u64::from(half::f16::from_f32(value).to_bits());
                let found = evaluate(&instruction, &[row]);
                assert_eq!(found, [half(high) << 16 | half(low)], "{name} {high} {low}");
            }
        }
    }
    // A pair of 16-bit floats is converted as its values in f32 are.
    for small in ["e4m3x2", "e5m2x2", "e2m3x2", "e3m2x2"] {
        for (pair, half) in [("f16x2", "f16"), ("bf16x2", "bf16")] {
            let of_pair = format!("cvt.rn.satfinite.relu.{small}.{pair} %h0, %r1;");
            let of_values = format!(
                "{{ .reg .b16 %lo, %hi; mov.b32 {{%lo, %hi}}, %r1;
                 cvt.f32.{half} %r2, %hi; cvt.f32.{half} %r3, %lo;
                 cvt.rn.satfinite.relu.{small}.f32 %h0, %r2, %r3; }}"
            );
            assert_eq!(
                evaluate(&of_pair, &operands()),
                evaluate(&of_values, &operands())
            );
        }
    }
    // bf16 has all of their values, and f32 too.
    for small in ["e4m3x2", "e5m2x2", "e2m3x2", "e3m2x2"] {
        for relu in ["", ".relu"] {
            let direct = format!("cvt.rn{relu}.bf16x2.{small} %r0, %h1;");
            let wide = format!(
                "{{ .reg .b16 %lo, %hi; cvt.rn.f16x2.{small} %r2, %h1; mov.b32 {{%lo, %hi}}, %r2;
                 cvt.f32.f16 %r2, %hi; cvt.f32.f16 %r3, %lo;
                 cvt.rn{relu}.bf16x2.f32 %r0, %r2, %r3; }}"
            );
            assert_eq!(evaluate(&direct, &operands()), evaluate(&wide, &operands()));
        }
    }
    // The infinities of `e5m2`, and its NaN.
    let of_five = [[0x7cfc, 0, 0], [0x7f3c, 0, 0]];
    let found = evaluate("cvt.rn.bf16x2.e5m2x2 %r0, %h1;", &of_five);
    assert_eq!(found, [0x7f80_ff80, 0x7fff_3f80]);
    let found = evaluate("cvt.rn.satfinite.bf16x2.e5m2x2 %r0, %h1;", &of_five);
    assert_eq!(found, [0x7f7f_ff7f, 0x7fff_3f80]);
    let powers = "{ cvt.rp.satfinite.ue8m0x2.f32 %h0, %r1, %r2; cvt.rn.bf16x2.ue8m0x2 %r0, %h0; }";
    let row = [
        u64::from(3f32.to_bits()),
        u64::from((-0.25f32).to_bits()),
        0,
    ];
    let found = evaluate(&powers.replace("%h0", "%h4"), &[row]);
    let half = |value: f32| u64::from(half::bf16::from_f32(value).to_bits());
    assert_eq!(found, [half(4.0) << 16 | half(0.25)]);
    let four = "cvt.rs.satfinite.e4m3x4.f32 %r0, {%r1, %r2, %r1, %r2}, %r3;";
    // A tail of a quarter: it is rounded up where the random bits are at least three quarters.
    let tail = |value: f32| u64::from((value + 2f32.powi(-5)).to_bits());
    let found = evaluate(four, &[[tail(1.0), tail(-1.0), 0xbfff_c000]]);
    assert_eq!(found, [0x38b8_39b8]);
}

/// ptxas takes conversions between the 16-bit floats without a rounding, as `.rn`.
#[test]
fn halves_need_no_rounding() {
    for (to, from) in [("bf16", "f16"), ("f16", "bf16")] {
        let plain = format!("cvt.{to}.{from} %h0, %h1;");
        let named = format!("cvt.rn.{to}.{from} %h0, %h1;");
        let rows = operands();
        assert_eq!(evaluate(&plain, &rows), evaluate(&named, &rows), "{plain}");
    }
}

/// ptxas takes bf16 and integers of 16 bits, and none of 8. No integer is rounded twice.
#[test]
fn bf16_and_integers_of_16_bits() {
    let rows = operands();
    for sign in ["s", "u"] {
        let direct = format!("cvt.rn.bf16.{sign}16 %h0, %h1;");
        let wide = format!("cvt.{sign}32.{sign}16 %r1, %h1; cvt.rn.bf16.{sign}32 %h0, %r1;");
        assert_eq!(evaluate(&direct, &rows), evaluate(&wide, &rows), "{direct}");
        for rounding in ["rni", "rzi", "rmi", "rpi"] {
            let direct = format!("cvt.{rounding}.{sign}16.bf16 %h0, %h1;");
            let wide = format!("cvt.f32.bf16 %r1, %h1; cvt.{rounding}.{sign}16.f32 %h0, %r1;");
            assert_eq!(evaluate(&direct, &rows), evaluate(&wide, &rows), "{direct}");
        }
    }
}

/// What the PTX ISA has, and this emulator refuses, is refused with the reason.
#[test]
fn refusals_have_reasons() {
    for (instruction, reason) in [
        ("cvt.sat.s32.s16 %r0, %h1;", "takes no `.sat`"),
        ("cvt.rn.bf16.s16 %h0, %r1;", "wider than its type"),
        ("cvt.rzi.sat.s32.bf16 %r0, %h1;", "saturates by itself"),
        (
            "cvt.rn.bf16.bf16 %h0, %h1;",
            "unknown instruction `cvt.rn.bf16.bf16`",
        ),
        (
            "mul.lo.sat.s32 %r0, %r1, %r2;",
            "unknown instruction `mul.lo.sat.s32`",
        ),
        ("setp.lt.f16 %p0|%p1, %h1, %h2;", "one predicate"),
        ("ld.global.b128 {%x1, %x2}, [%base];", "a `.b128` register"),
        ("st.global.b128 [%base], {%x1, %x2};", "a `.b128` register"),
        ("mov.b128 {%x1, %x2}, {%x2, %x1};", "a `.b128` register"),
        ("fma.rn.oob.f16 %h0, %h1, %h2, %h3;", "`fma.oob` is refused"),
    ] {
        let text = crate::common::module(instruction);
        let module = ptx_emulator::Module::parse(&text).expect("parses");
        let error = module.kernel("test").expect_err(instruction).to_string();
        assert!(error.contains(reason), "{error}");
    }
}
