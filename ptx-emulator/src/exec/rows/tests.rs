//! Rows against their lanes.

use super::super::lane;
use super::super::simd::{self, Level};
use super::super::vector::{Lanes64, Registers};
use super::*;
use crate::ir::{
    Conversion, FloatFormat, FloatFunction, IntegerFunction, LaneOp, Reg32, Reg64, Register,
    Rounding, SmallConversion, SmallFloat, is_float,
};

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
        // Half-way to what the largest e4m3 and e5m2 would be followed by, and around it.
        0x43e7_ffff,
        0x43e8_0000,
        0x43e8_0001,
        0x476f_ffff,
        0x4770_0000,
        0x4770_0001,
        // Subnormals of both, and of powers of two.
        0x3a80_0000,
        0x3a7f_ffff,
        0x3ac0_0000,
        0x3700_0000,
        0x3780_0001,
        0x0040_0000,
        0x0040_0001,
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
        Neg,
        Abs,
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
        for function in [Add, Sub, Mul, Fma, Min, Max, Neg, Abs, Exp2, Tanh] {
            for flags in 0..16 {
                let is_f16 = matches!(ty, Type::F16 | Type::F16x2);
                let is_extreme = matches!(function, Min | Max);
                let format = FloatFormat {
                    flush: flags & 1 != 0 && is_f16,
                    saturate: flags & 2 != 0,
                    relu: flags & 4 != 0,
                    nan_wins: flags & 8 != 0 && is_extreme,
                    ..FloatFormat::new(ty)
                };
                all.push(LaneFunction::Float(function, format));
            }
        }
    }
    for rounding in [Rounding::Zero, Rounding::Down, Rounding::Up] {
        for function in [Add, Sub, Mul, Fma] {
            for saturate in [false, true] {
                let format = FloatFormat {
                    rounding,
                    saturate,
                    ..FloatFormat::new(Type::F32)
                };
                all.push(LaneFunction::Float(function, format));
            }
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
        I::MadHigh,
        I::Mul24Low,
        I::Mad24Low,
        I::FindHighest {
            shift_amount: false,
        },
        I::FindHighest { shift_amount: true },
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
        I::Div,
        I::Rem,
    ] {
        for ty in [Type::U16, Type::S16] {
            all.push(LaneFunction::Integer(function, ty));
            if !matches!(function, I::MulWide) {
                all.push(LaneFunction::Parts(function, ty));
            }
        }
    }
    for function in [Min, Max] {
        for flush in [false, true] {
            let format = FloatFormat {
                nan_wins: true,
                flush,
                ..FloatFormat::new(Type::F32)
            };
            all.push(LaneFunction::Float(function, format));
        }
    }
    all.push(LaneFunction::Float(CopySign, FloatFormat::new(Type::F32)));
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
    all.extend((0..=0xff).map(LaneFunction::Logic3));
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
    let roundings = [
        Rounding::NearestEven,
        Rounding::NearestAway,
        Rounding::Zero,
        Rounding::Down,
        Rounding::Up,
    ];
    for from in types {
        for to in types {
            for (rounding, flags) in roundings.iter().flat_map(|r| (0..8).map(move |f| (*r, f))) {
                let is_short = !is_float(to) && to.bytes() < 4;
                let conversion = Conversion {
                    to,
                    from,
                    rounding,
                    to_integral: flags & 1 != 0 && is_float(from),
                    flush: flags & 2 != 0 && (from == Type::F32 || to == Type::F32),
                    saturate: flags & 4 != 0,
                    finite: false,
                    relu: false,
                    register_bits: if is_short && flags & 1 != 0 { 16 } else { 32 },
                };
                if conversion.is_supported() {
                    all.push(LaneFunction::Convert(conversion));
                }
            }
        }
    }
    all.extend(
        small_conversions()
            .into_iter()
            .map(LaneFunction::ConvertSmall),
    );
    all.push(LaneFunction::Convert(Conversion {
        to: Type::Tf32,
        from: Type::F32,
        rounding: Rounding::NearestAway,
        to_integral: false,
        flush: false,
        saturate: false,
        finite: false,
        relu: false,
        register_bits: 32,
    }));
    all
}

fn small_conversions() -> Vec<SmallConversion> {
    use SmallFloat::{E2m1, E2m3, E3m2, E4m3, E5m2, Ue8m0};
    let mut all = Vec::new();
    for small in [E4m3, E5m2, E2m3, E3m2, E2m1, Ue8m0] {
        for other in [Type::F32, Type::F16x2, Type::Bf16x2] {
            for flags in 0..8 {
                let [narrows, relu, finite] = [1, 2, 4].map(|bit| flags & bit != 0);
                let roundings = match small {
                    Ue8m0 => [Some(Rounding::Zero), Some(Rounding::Up)],
                    _ => [Some(Rounding::NearestEven), Some(Rounding::Zero)],
                };
                all.extend(roundings.map(|rounding| SmallConversion {
                    small,
                    other,
                    narrows,
                    relu,
                    finite,
                    rounding,
                }));
            }
        }
    }
    all
}

/// `bfi.b32` and additions with carries are rows with a form of their own.
#[test]
fn fields_and_carries_are_their_lanes() {
    let words = words();
    for level in Level::available() {
        for base in (0..words.len()).step_by(LANES) {
            let word = |at: usize| words[at % words.len()];
            let [a, b, c, d]: [Lanes32; 4] = [1, 31, 7, 5]
                .map(|step| std::array::from_fn(|lane| word(step * (base + lane) + step)));
            let small = |x: Lanes32| x.map(|word| word % 70);
            for [c, d] in [[c, d], [small(c), small(d)]] {
                let row = simd::insert_field(level, [&a, &b, &c, &d]);
                let function = LaneFunction::Integer(IntegerFunction::InsertField, Type::B32);
                for lane in 0..LANES {
                    let x = [a[lane], b[lane], c[lane], d[lane]].map(u64::from);
                    let wanted = lane::evaluate(function, x).0 as u32;
                    assert_eq!(row[lane], wanted, "{level:?} {x:x?}");
                }
            }
            let carries = word(base);
            let (row, after) = simd::add_carry(level, &a, &b, carries);
            for lane in 0..LANES {
                let x = [a[lane], b[lane], carries >> lane & 1, 0].map(u64::from);
                let (wanted, carry) = lane::evaluate(LaneFunction::AddCarry(Type::U32), x);
                assert_eq!((row[lane], after >> lane & 1 != 0), (wanted as u32, carry));
            }
        }
    }
}

/// What the executor's code for all lanes gives for registers that hold these.
fn row_of(level: Level, function: LaneFunction, [a, b, c]: Operands<'_>) -> Option<Lanes32> {
    let mut regs32 = [*a, *b, *c, [0; LANES]];
    let register = |number| Register::Reg32(Reg32(number));
    let op = LaneOp {
        function,
        destination: register(3),
        carry_out: None,
        arguments: (0..3).map(register).collect(),
    };
    let mut r = Registers {
        regs32: &mut regs32,
        regs64: &mut [],
        predicates: &mut [],
    };
    group::in_group!(function, simd::lane_op(level, &mut r, &op, u32::MAX))?;
    Some(regs32[3])
}

/// As [`row_of`], of 64 bits.
fn wide_row_of(level: Level, function: LaneFunction, a: &Lanes64, b: &Lanes64) -> Option<Lanes64> {
    let mut regs64 = [*a, *b, [0; LANES], [0; LANES]];
    let register = |number| Register::Reg64(Reg64(number));
    let op = LaneOp {
        function,
        destination: register(3),
        carry_out: None,
        arguments: (0..3).map(register).collect(),
    };
    let mut r = Registers {
        regs32: &mut [],
        regs64: &mut regs64,
        predicates: &mut [],
    };
    simd::wide_lane_op(level, &mut r, &op, u32::MAX).then_some(regs64[3])
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
                    let Some(row) = row_of(level, function, [&a, &b, &c]) else {
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

/// Values of 64 bits with many corner cases.
fn wide_words() -> Vec<u64> {
    let narrow = words();
    let single = |word: &u32| u64::from(*word);
    let double = |word: &u32| f64::from(f32::from_bits(*word)).to_bits();
    let mixed = |(at, word): (usize, &u32)| {
        u64::from(*word) << 32 | u64::from(narrow[(at * 31 + 7) % narrow.len()])
    };
    let whole = |word: &u32| f64::from(*word as i32).to_bits();
    let mut all: Vec<u64> = narrow.iter().map(single).collect();
    all.extend(narrow.iter().map(double));
    all.extend(narrow.iter().enumerate().map(mixed));
    all.extend(narrow.iter().map(whole));
    let half = |word: &u32| (f64::from(*word as i32 >> 20) + 0.5).to_bits();
    all.extend(narrow.iter().map(half));
    all.extend([u64::MAX, 1 << 63, (1 << 63) - 1, f64::NAN.to_bits()]);
    all.extend([
        0x7ff0_0000_0000_0001,
        0xfff4_0000_0000_0000,
        0x41ef_ffff_ffff_ffff,
    ]);
    all
}

fn wide_functions() -> Vec<LaneFunction> {
    use IntegerFunction as I;
    let mut all = Vec::new();
    for ty in [Type::U64, Type::S64, Type::B64] {
        for function in [
            I::PopulationCount,
            I::LeadingZeros,
            I::ReverseBits,
            I::Div,
            I::Rem,
            I::Abs,
        ] {
            all.push(LaneFunction::Integer(function, ty));
        }
    }
    for function in [
        FloatFunction::Rcp,
        FloatFunction::Sqrt,
        FloatFunction::RsqrtApprox,
    ] {
        all.push(LaneFunction::Float(function, FloatFormat::new(Type::F64)));
    }
    for function in [FloatFunction::RcpApprox, FloatFunction::RsqrtApprox] {
        let format = FloatFormat::new(Type::F64).flushing(true);
        all.push(LaneFunction::Float(function, format));
    }
    for (shift, bits) in [(0, 64), (0, 1), (31, 33), (63, 1), (17, 21)] {
        all.push(LaneFunction::InsertBits { shift, bits });
        let signed = false;
        all.push(LaneFunction::ExtractBits {
            shift,
            bits,
            signed,
        });
    }
    let types = [
        Type::U8,
        Type::S8,
        Type::U16,
        Type::S16,
        Type::U32,
        Type::S32,
        Type::U64,
        Type::S64,
        Type::B64,
        Type::F32,
        Type::F64,
    ];
    let is_wide = |ty: Type| ty.bytes() == 8;
    for from in types {
        for to in types {
            if !is_wide(from) && !is_wide(to) {
                continue;
            }
            for (rounding, to_integral) in [
                (Rounding::NearestEven, false),
                (Rounding::NearestEven, true),
                (Rounding::Zero, true),
                (Rounding::Down, true),
                (Rounding::Up, true),
                (Rounding::NearestAway, true),
            ] {
                // Only floats have an integral part.
                if to_integral && !is_float(from) {
                    continue;
                }
                all.push(LaneFunction::Convert(Conversion {
                    to,
                    from,
                    rounding,
                    to_integral,
                    flush: false,
                    saturate: false,
                    finite: false,
                    relu: false,
                    register_bits: if is_wide(to) { 64 } else { 32 },
                }));
            }
        }
    }
    all
}

/// The same of operations with operands or results of 64 bits.
#[test]
fn wide_rows_are_their_lanes() {
    let words = wide_words();
    let mut known = 0;
    for function in wide_functions() {
        let (bits, result_bits) = match function {
            LaneFunction::Convert(conversion) => {
                (8 * conversion.from.bytes(), conversion.register_bits)
            }
            LaneFunction::Integer(IntegerFunction::PopulationCount, _)
            | LaneFunction::Integer(IntegerFunction::LeadingZeros, _) => (64, 32),
            _ => (64, 64),
        };
        let mask = u64::MAX >> (64 - bits);
        for level in Level::available() {
            for base in (0..words.len()).step_by(LANES) {
                let word = |at: usize| words[at % words.len()] & mask;
                let a = std::array::from_fn(|lane| word(base + lane));
                let b = std::array::from_fn(|lane| word(7 + (base + lane) * 31));
                let Some(row) = wide_row_of(level, function, &a, &b) else {
                    continue;
                };
                known += 1;
                for lane in 0..LANES {
                    let x = [a[lane], b[lane], 0, 0];
                    let wanted = lane::evaluate(function, x).0;
                    let unused = 64 - result_bits;
                    assert_eq!(
                        row[lane] << unused,
                        wanted << unused,
                        "{function:?} {level:?} {x:x?}: {:#x}, not {wanted:#x}",
                        row[lane]
                    );
                }
            }
        }
    }
    assert!(known > 5_000, "{known}");
}

/// The processor's conversions of f16 give what the portable rows give.
#[test]
fn pairs_of_halves_are_as_without_conversions_of_the_processor() {
    use FloatFunction::{Add, Fma, Max, Min, Mul, Sub};
    let mut state = 0x9e37_79b9u32;
    let mut random = || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state
    };
    let edges = [
        0x0000_8000,
        0x0001_8001,
        0x03ff_0400,
        0x7bff_fbff,
        0x7c00_fc00,
        0x7c01_7e00,
        0x3c00_bc00,
    ];
    for round in 0..4000 {
        let mut row = || -> Lanes32 {
            std::array::from_fn(|lane| match (round + lane) % 5 {
                0 => edges[random() as usize % edges.len()],
                // Exponents near 1, where sums cancel.
                1 | 2 => random() & 0x87ff_87ff | 0x3800_3800,
                _ => random(),
            })
        };
        let (a, b, c) = (row(), row(), row());
        for function in [Add, Sub, Mul, Min, Max, Fma] {
            let format = FloatFormat::new(Type::F16x2);
            let wanted = super::half::half(function, format, true, [&a, &b, &c]);
            for level in simd::Level::available() {
                if let Some(row) = simd::halves(level, function, [&a, &b, &c]) {
                    assert_eq!(
                        Some(row),
                        wanted,
                        "{function:?} {level:?} of {a:x?} {b:x?} {c:x?}"
                    );
                }
            }
        }
    }
}
