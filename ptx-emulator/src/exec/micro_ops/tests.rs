//! Functions that have a code of their own against their evaluation lane by lane.

use super::super::simd::{self, Level, Places, Words};
use super::super::transfer::join;
use super::super::vector::{LANES, Registers};
use super::super::{lane, warp_ops};
use crate::decode::micro_ops::of_program;
use crate::ir::{
    Block, Code, Comparison, Conversion, FloatFormat, FloatFunction, Inst, IntegerFunction,
    LaneFunction, LaneOp, Op, PermuteMode, Predicate, Program, Reg32, Reg64, Register, Rounding,
    Terminator,
};
use ptx_syntax::ast::Type;

/// A program of one operation.
fn program_of(op: LaneOp) -> Program {
    let mut program = Program::default();
    program.lane_ops.push(op);
    program.code.push(Inst {
        op: Op::Lane(0),
        guard: None,
        info: 0,
        first: true,
        frequent: false,
    });
    program.blocks.push(Block {
        start: 0,
        end: 1,
        instructions: 1,
        terminator: Terminator::Exit,
        terminator_info: None,
        members: None,
    });
    program.micro_ops = of_program(&program);
    program
}

/// Rows of numbers of all kinds: random bits, zeros, subnormals, infinities, NaNs, and numbers
/// near 1.
fn random_row(state: &mut u64) -> [u64; LANES] {
    std::array::from_fn(|_| {
        *state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        let bits = *state >> 16 ^ *state << 20;
        match *state >> 60 {
            0 => 0,
            1 => bits & 0x8000_0000_8000_ffff,
            2 => 0x7ff0_0000_7f80_0000 | bits & 0x8000_0000_8000_0000,
            3 => 0x7ff8_0000_7fc0_0000 | bits & 0xffff,
            4..=8 => bits & 0x800f_ffff_807f_ffff | 0x3ff0_0000_3f80_0000,
            9 => bits & 0x1f,
            _ => bits,
        }
    })
}

fn convert(from: Type, to: Type, rounding: Rounding, to_integral: bool) -> LaneFunction {
    LaneFunction::Convert(Conversion {
        to,
        from,
        rounding,
        to_integral,
        flush: false,
        saturate: false,
        finite: false,
        relu: false,
        register_bits: 8 * to.bytes(),
    })
}

fn functions_of_words() -> Vec<LaneFunction> {
    use FloatFunction as F;
    use IntegerFunction as I;
    use Rounding::{Down, NearestEven, Up, Zero};
    use Type::{B16, Bf16, F16, F32, S8, S16, S32, U8, U16, U32};
    let plain = FloatFormat::new(F32);
    let flushed = plain.flushing(true);
    let of_flushed = [
        F::Add,
        F::Sub,
        F::Mul,
        F::Fma,
        F::Min,
        F::Max,
        F::Div,
        F::DivApprox,
        F::RcpApprox,
        F::SqrtApprox,
        F::RsqrtApprox,
        F::Exp2,
        F::Log2,
    ];
    let of_plain = [
        F::DivApprox,
        F::Rcp,
        F::Sqrt,
        F::RsqrtApprox,
        F::Exp2,
        F::Log2,
        F::CopySign,
    ];
    let of_words = [
        I::PopulationCount,
        I::LeadingZeros,
        I::ReverseBits,
        I::Div,
        I::Rem,
    ];
    let mut all: Vec<LaneFunction> = Vec::new();
    all.extend(of_flushed.map(|function| LaneFunction::Float(function, flushed)));
    all.extend(of_plain.map(|function| LaneFunction::Float(function, plain)));
    all.extend(of_words.map(|function| LaneFunction::Integer(function, U32)));
    all.extend([I::Abs, I::Div, I::Rem].map(|function| LaneFunction::Integer(function, S32)));
    let of_halves = [I::And, I::Or, I::Xor, I::Add, I::Sub];
    all.extend(of_halves.map(|function| LaneFunction::Integer(function, B16)));
    all.extend([0x96, 0xf8, 0x1b, 0xca].map(LaneFunction::Logic3));
    all.extend([
        LaneFunction::FunnelLeft(false),
        LaneFunction::FunnelRight(false),
        LaneFunction::Permute(PermuteMode::Default),
        LaneFunction::DotProduct4(true, true),
        LaneFunction::DotProduct4(false, false),
        LaneFunction::InsertBits {
            shift: 16,
            bits: 16,
        },
        LaneFunction::ExtractBits {
            shift: 7,
            bits: 25,
            signed: false,
        },
        convert(S32, F32, NearestEven, false),
        convert(U32, F32, NearestEven, false),
        convert(U8, F32, NearestEven, false),
        convert(F32, S32, Zero, true),
        convert(F32, U32, Zero, true),
        convert(F32, S32, NearestEven, true),
        convert(F32, F32, NearestEven, true),
        convert(F32, F32, Zero, true),
        convert(F32, F32, Down, true),
        convert(F32, F32, Up, true),
        convert(F16, F32, NearestEven, false),
        convert(F32, F16, NearestEven, false),
        convert(Bf16, F32, NearestEven, false),
        convert(F32, Bf16, NearestEven, false),
        convert(U16, U32, NearestEven, false),
        convert(U32, U8, NearestEven, false),
        convert(S8, S32, NearestEven, false),
        convert(S16, U32, NearestEven, false),
    ]);
    all
}

/// Executes the operation at each level, for several masks, and compares.
fn check(op: &LaneOp, rows: &[[u64; LANES]; 4]) {
    let program = program_of(op.clone());
    assert_ne!(program.micro_ops[0].code, Code::Lane, "{op:?}");
    for level in Level::available() {
        for mask in [u32::MAX, 0x8000_0001, 0x00ff_5a3c, 0] {
            let mut regs32 = rows.map(|row| row.map(|bits| bits as u32));
            let (mut regs64, mut predicates) = (*rows, [0x1234_5678; 4]);
            let mut r = Registers {
                regs32: &mut regs32,
                regs64: &mut regs64,
                predicates: &mut predicates,
            };
            let mut expected = [0; LANES];
            for (lane, expected) in expected.iter_mut().enumerate() {
                let mut x = [0; 4];
                for (value, argument) in x.iter_mut().zip(&op.arguments) {
                    *value = warp_ops::read(&r, *argument, lane);
                }
                *expected = match mask >> lane & 1 {
                    0 => warp_ops::read(&r, op.destination, lane),
                    _ => lane::evaluate(op.function, x).0,
                };
                if let Register::Reg32(_) = op.destination {
                    *expected &= u64::from(u32::MAX);
                }
            }
            let is_full = mask == u32::MAX;
            simd::micro_ops(level, is_full, &mut r, &program, &program.micro_ops, mask);
            let result: [u64; LANES] =
                std::array::from_fn(|lane| warp_ops::read(&r, op.destination, lane));
            for lane in 0..LANES {
                let found = (result[lane], expected[lane]);
                assert_eq!(found.0, found.1, "{op:?} {level:?} {mask:x} lane {lane}");
            }
        }
    }
}

#[test]
fn codes_are_their_functions() {
    let word = |number| Register::Reg32(Reg32(number));
    let wide = |number| Register::Reg64(Reg64(number));
    let mut state = 7;
    for round in 0..40 {
        let mut rows: [[u64; LANES]; 4] = std::array::from_fn(|_| random_row(&mut state));
        if round % 2 == 0 {
            // As `prmt` and shifts have it mostly: the third operand is the same in all lanes.
            rows[3] = [rows[3][0]; LANES];
        }
        let check = |function, destination, arguments: &[Register]| {
            let op = LaneOp {
                function,
                destination,
                carry_out: None,
                arguments: arguments.to_vec(),
            };
            check(&op, &rows);
        };
        // Halves lie in words whose upper half is zero: these functions mask what they read.
        for function in functions_of_words() {
            check(function, word(0), &[word(1), word(2), word(3)]);
            // The destination is a source as well.
            check(function, word(1), &[word(1), word(2), word(1)]);
        }
        let nearest = Rounding::NearestEven;
        for (from, to, rounding) in [
            (Type::F32, Type::F64, nearest),
            (Type::S32, Type::F64, nearest),
        ] {
            check(convert(from, to, rounding, false), wide(0), &[word(1)]);
        }
        check(
            convert(Type::F64, Type::F32, nearest, false),
            word(0),
            &[wide(1)],
        );
        let zero = Rounding::Zero;
        check(
            convert(Type::F64, Type::S32, zero, true),
            word(0),
            &[wide(1)],
        );
        let flushed = FloatFormat::new(Type::F32).flushing(true);
        for comparison in [
            Comparison::FloatEqual,
            Comparison::FloatNotEqual,
            Comparison::FloatLess,
            Comparison::FloatLessEqual,
            Comparison::FloatUnordered,
        ] {
            for negated in [false, true] {
                let function = LaneFunction::CompareHalf(flushed, comparison, negated);
                let to = Register::Predicate(Predicate(2));
                check(function, to, &[word(1), word(2)]);
            }
        }
    }
}

/// A gather reads the lanes of its mask alone, and nothing where one of them is out of bounds.
#[test]
fn gathers_read_what_is_there() {
    let words: Vec<u32> = (0..77u32).map(|at| at.wrapping_mul(0x9e37_79b9)).collect();
    let base = 0x1000;
    let mut addresses: [u64; LANES] = std::array::from_fn(|lane| base + 4 * (lane as u64 * 5 % 77));
    // No lane of the mask.
    addresses[3] = 0;
    let mask = 0xdfff_fff7;
    for level in Level::available() {
        let mut places = Places {
            addresses: &addresses,
            base,
            last: 4 * 76,
            bytes: 4,
            mask,
        };
        let mut to = [5; LANES];
        let done = simd::gather(level, Words::from(&words[..]), places, &mut to);
        let expected: [u32; LANES] =
            std::array::from_fn(|lane| match done && mask >> lane & 1 != 0 {
                true => words[(addresses[lane] - base) as usize / 4],
                false => 5,
            });
        assert_eq!(to, expected, "{level:?}");
        places.mask = u32::MAX;
        assert!(!simd::gather(
            level,
            Words::from(&words[..]),
            places,
            &mut to
        ));
        assert_eq!(to, expected, "{level:?}");
        let offsets: [u32; LANES] = std::array::from_fn(|lane| lane as u32 * 3 % 70);
        let pair = |at: u32| join(words[at as usize + 6], words[at as usize + 7]);
        if simd::gather_row(level, Words::from(&words[..]), &offsets, 7, &mut to) {
            assert_eq!(to, offsets.map(|at| words[at as usize + 7]));
        }
        // The last offset that is taken is 69.
        let before = to;
        assert!(!simd::gather_row(
            level,
            Words::from(&words[..]),
            &offsets,
            8,
            &mut to
        ));
        assert_eq!(to, before, "{level:?}");
        let all = &words[..];
        let (mut pairs, words) = ([9; LANES], Words::from(all));
        if simd::gather_pairs(level, words, &offsets, 6, &mut pairs) {
            assert_eq!(pairs, offsets.map(pair));
        }
        let before = pairs;
        assert!(!simd::gather_pairs(level, words, &offsets, 7, &mut pairs));
        assert_eq!(pairs, before, "{level:?}");
        // The last value of 64 bits begins at byte 296.
        let addresses: [u64; LANES] = std::array::from_fn(|lane| match lane {
            3 => 0,
            28 => base + 304,
            _ => base + 8 * (lane as u64 * 7 % 38),
        });
        let mut places = Places {
            addresses: &addresses,
            base,
            last: 300,
            bytes: 8,
            mask,
        };
        assert!(!simd::gather_longs(level, words, places, &mut pairs));
        assert_eq!(pairs, before, "{level:?}");
        places.mask &= !(1 << 28);
        if simd::gather_longs(level, words, places, &mut pairs) {
            let expected: [u64; LANES] = std::array::from_fn(|lane| match lane {
                3 | 28 | 29 => before[lane],
                _ => {
                    let at = (addresses[lane] - base) as usize / 4;
                    join(all[at], all[at + 1])
                }
            });
            assert_eq!(pairs, expected);
        }
    }
}
