//! Runs of micro-operations: straight pieces of a basic block that work on registers alone.
//!
//! Most of a kernel's instructions are like this. They cannot fault, observers see nothing of them
//! but that they execute, and all lanes of the warp execute them. So what the inner loop does for
//! each instruction is done once for a run: the choice of the lanes, the events, and the number of
//! the instruction that a fault would name. What is left for each is one choice by its
//! [`Code`] and the vector instructions of that.
//!
//! This loop is compiled once for each set of vector instructions, and not for each observer. The
//! functions below belong to one `match`, which the compiler puts together again: the last arm of
//! each leads to the next.

#[cfg(test)]
mod tests;

use std::hint::black_box;

use super::simd::{self, Instructions};
use super::vector::{LANES, Lanes32, Lanes64, Registers, store_lanes32, store_lanes64};
use super::{arithmetic, rare, rows};
use crate::ir::{Binary, Code, Comparison, MicroOp, Program, Shift, Ternary, Unary, WrittenRows};

/// What executes a run.
#[derive(Clone, Copy)]
pub(super) struct Executor<'p> {
    pub program: &'p Program,
    /// The lanes that execute it.
    pub mask: u32,
}

/// Executes micro-operations one after the other. `FULL`: whole registers may be written. Where
/// they may not, the other lanes get back what they had: that is two instructions, and the
/// operations are the same.
#[inline(always)]
pub(super) fn run<V: Instructions, const FULL: bool>(
    executor: Executor<'_>,
    registers: &mut Registers<'_>,
    ops: &[MicroOp],
) {
    // A copy, whose parts stay in the processor's registers.
    let mut r = Registers {
        regs32: &mut *registers.regs32,
        regs64: &mut *registers.regs64,
        predicates: &mut *registers.predicates,
    };
    let (mut before, mut before_wide) = ([[0; LANES]; 2], [0; LANES]);
    for op in ops {
        if FULL {
            words::<V>(executor, &mut r, op);
            continue;
        }
        let (d, b, mask) = (op.d as usize, op.b as usize, executor.mask);
        match op.written {
            WrittenRows::Reg32 => before[0] = r.regs32[d],
            WrittenRows::TwoReg32 => before = [r.regs32[d], r.regs32[b]],
            WrittenRows::Reg64 => before_wide = r.regs64[d],
            WrittenRows::InMask => {}
        }
        // In one place, as its code is inlined there.
        words::<V>(executor, &mut r, op);
        match op.written {
            WrittenRows::Reg32 => simd::restore(V::LEVEL, &mut r.regs32[d], &before[0], mask),
            WrittenRows::TwoReg32 => {
                simd::restore(V::LEVEL, &mut r.regs32[d], &before[0], mask);
                simd::restore(V::LEVEL, &mut r.regs32[b], &before[1], mask);
            }
            WrittenRows::Reg64 => {
                simd::restore_wide(V::LEVEL, &mut r.regs64[d], &before_wide, mask);
            }
            WrittenRows::InMask => {}
        }
    }
}

#[inline(always)]
fn words<V: Instructions>(executor: Executor<'_>, r: &mut Registers<'_>, op: &MicroOp) {
    let (mask, d, a, ab) = (executor.mask, op.d, op.a, (op.a, op.b));
    let unary = arithmetic::unary32::<true>;
    let binary = arithmetic::binary32::<true>;
    let shift = arithmetic::shift32::<true>;
    match op.code {
        Code::Move32 => r.map_32::<true>(mask, d, a, |x| x),
        Code::Not32 => unary(r, mask, Unary::Not, d, a),
        Code::Neg32 => unary(r, mask, Unary::Neg, d, a),
        Code::FloatNeg32 => unary(r, mask, Unary::FloatNeg, d, a),
        Code::FloatAbs32 => unary(r, mask, Unary::FloatAbs, d, a),
        Code::Add32 => binary(r, mask, Binary::Add, d, ab),
        Code::Sub32 => binary(r, mask, Binary::Sub, d, ab),
        Code::Mul32 => binary(r, mask, Binary::Mul, d, ab),
        Code::MulHighUnsigned32 => binary(r, mask, Binary::MulHighUnsigned, d, ab),
        Code::MulHighSigned32 => binary(r, mask, Binary::MulHighSigned, d, ab),
        Code::And32 => binary(r, mask, Binary::And, d, ab),
        Code::Or32 => binary(r, mask, Binary::Or, d, ab),
        Code::Xor32 => binary(r, mask, Binary::Xor, d, ab),
        Code::MinUnsigned32 => binary(r, mask, Binary::MinUnsigned, d, ab),
        Code::MinSigned32 => binary(r, mask, Binary::MinSigned, d, ab),
        Code::MaxUnsigned32 => binary(r, mask, Binary::MaxUnsigned, d, ab),
        Code::MaxSigned32 => binary(r, mask, Binary::MaxSigned, d, ab),
        Code::FloatAdd32 => binary(r, mask, Binary::FloatAdd, d, ab),
        Code::FloatSub32 => binary(r, mask, Binary::FloatSub, d, ab),
        Code::FloatMul32 => binary(r, mask, Binary::FloatMul, d, ab),
        Code::FloatDiv32 => binary(r, mask, Binary::FloatDiv, d, ab),
        Code::FloatMin32 => binary(r, mask, Binary::FloatMin, d, ab),
        Code::FloatMax32 => binary(r, mask, Binary::FloatMax, d, ab),
        Code::ShiftLeft32 => shift(r, mask, Shift::Left, d, ab),
        Code::ShiftRightUnsigned32 => shift(r, mask, Shift::RightUnsigned, d, ab),
        Code::ShiftRightSigned32 => shift(r, mask, Shift::RightSigned, d, ab),
        Code::MulAdd32 => {
            arithmetic::ternary32::<true>(r, mask, Ternary::MulAdd, d, (op.a, op.b, op.c));
        }
        Code::FloatFma32 => {
            arithmetic::ternary32::<true>(r, mask, Ternary::FloatFma, d, (op.a, op.b, op.c));
        }
        _ => wide::<V>(executor, r, op),
    }
}

/// Of 64 bits.
#[inline(always)]
fn wide<V: Instructions>(executor: Executor<'_>, r: &mut Registers<'_>, op: &MicroOp) {
    let (mask, d, a, ab) = (executor.mask, op.d, op.a, (op.a, op.b));
    let unary = arithmetic::unary64::<true>;
    let binary = arithmetic::binary64::<true>;
    let shift = arithmetic::shift64::<true>;
    match op.code {
        Code::Move64 => r.map_64::<true>(mask, d, a, |x| x),
        Code::Not64 => unary(r, mask, Unary::Not, d, a),
        Code::Neg64 => unary(r, mask, Unary::Neg, d, a),
        Code::FloatNeg64 => unary(r, mask, Unary::FloatNeg, d, a),
        Code::FloatAbs64 => unary(r, mask, Unary::FloatAbs, d, a),
        Code::Add64 => binary(r, mask, Binary::Add, d, ab),
        Code::Sub64 => binary(r, mask, Binary::Sub, d, ab),
        Code::Mul64 => binary(r, mask, Binary::Mul, d, ab),
        Code::MulHighUnsigned64 => binary(r, mask, Binary::MulHighUnsigned, d, ab),
        Code::MulHighSigned64 => binary(r, mask, Binary::MulHighSigned, d, ab),
        Code::And64 => binary(r, mask, Binary::And, d, ab),
        Code::Or64 => binary(r, mask, Binary::Or, d, ab),
        Code::Xor64 => binary(r, mask, Binary::Xor, d, ab),
        Code::MinUnsigned64 => binary(r, mask, Binary::MinUnsigned, d, ab),
        Code::MinSigned64 => binary(r, mask, Binary::MinSigned, d, ab),
        Code::MaxUnsigned64 => binary(r, mask, Binary::MaxUnsigned, d, ab),
        Code::MaxSigned64 => binary(r, mask, Binary::MaxSigned, d, ab),
        Code::FloatAdd64 => binary(r, mask, Binary::FloatAdd, d, ab),
        Code::FloatSub64 => binary(r, mask, Binary::FloatSub, d, ab),
        Code::FloatMul64 => binary(r, mask, Binary::FloatMul, d, ab),
        Code::FloatDiv64 => binary(r, mask, Binary::FloatDiv, d, ab),
        Code::FloatMin64 => binary(r, mask, Binary::FloatMin, d, ab),
        Code::FloatMax64 => binary(r, mask, Binary::FloatMax, d, ab),
        Code::ShiftLeft64 => shift(r, mask, Shift::Left, d, op.a, op.b),
        Code::ShiftRightUnsigned64 => shift(r, mask, Shift::RightUnsigned, d, op.a, op.b),
        Code::ShiftRightSigned64 => shift(r, mask, Shift::RightSigned, d, op.a, op.b),
        Code::MulAdd64 => {
            arithmetic::ternary64::<true>(r, mask, Ternary::MulAdd, d, (op.a, op.b, op.c));
        }
        Code::FloatFma64 => {
            arithmetic::ternary64::<true>(r, mask, Ternary::FloatFma, d, (op.a, op.b, op.c));
        }
        _ => between_widths::<V>(executor, r, op),
    }
}

/// From words to 64 bits and back, and selections.
#[inline(always)]
fn between_widths<V: Instructions>(executor: Executor<'_>, r: &mut Registers<'_>, op: &MicroOp) {
    let (mask, d, a, ab) = (executor.mask, op.d, op.a, (op.a, op.b));
    let signed = |x: u32| i64::from(x as i32);
    match op.code {
        Code::MulWideUnsigned => {
            r.map2_32_to_64::<true>(mask, d, ab, |x, y| u64::from(x) * u64::from(y));
        }
        Code::MulWideSigned => {
            r.map2_32_to_64::<true>(mask, d, ab, |x, y| (signed(x) * signed(y)) as u64);
        }
        Code::MulAddWideUnsigned => mul_add_wide(r, mask, op, |x, y| u64::from(x) * u64::from(y)),
        Code::MulAddWideSigned => {
            mul_add_wide(r, mask, op, |x, y| (signed(x) * signed(y)) as u64);
        }
        Code::WidenUnsigned => r.map2_32_to_64::<true>(mask, d, (a, a), |x, _| u64::from(x)),
        Code::WidenSigned => r.map2_32_to_64::<true>(mask, d, (a, a), |x, _| signed(x) as u64),
        Code::Narrow => r.map_64_to_32::<true>(mask, d, a, |x| x as u32),
        Code::Pack => {
            r.map2_32_to_64::<true>(mask, d, ab, |x, y| u64::from(x) | u64::from(y) << 32);
        }
        Code::Unpack => {
            r.map_64_to_32::<true>(mask, d, a, |x| x as u32);
            r.map_64_to_32::<true>(mask, op.b, a, |x| (x >> 32) as u32);
        }
        Code::Select32 => {
            let bits = r.predicates[op.c as usize];
            let (a, b) = (r.regs32[op.a as usize], r.regs32[op.b as usize]);
            store_lanes32::<true>(&mut r.regs32[d as usize], mask, |lane| {
                if bits >> lane & 1 != 0 {
                    a[lane]
                } else {
                    b[lane]
                }
            });
        }
        Code::Select64 => {
            let bits = r.predicates[op.c as usize];
            let (a, b) = (r.regs64[op.a as usize], r.regs64[op.b as usize]);
            store_lanes64::<true>(&mut r.regs64[d as usize], mask, |lane| {
                if bits >> lane & 1 != 0 {
                    a[lane]
                } else {
                    b[lane]
                }
            });
        }
        _ => predicates::<V>(executor, r, op),
    }
}

#[inline(always)]
fn mul_add_wide(r: &mut Registers<'_>, mask: u32, op: &MicroOp, product: impl Fn(u32, u32) -> u64) {
    let (a, b) = (&r.regs32[op.a as usize], &r.regs32[op.b as usize]);
    let c = r.regs64[op.c as usize];
    store_lanes64::<true>(&mut r.regs64[op.d as usize], mask, |lane| {
        product(a[lane], b[lane]).wrapping_add(c[lane])
    });
}

/// Predicates and comparisons.
#[inline(always)]
fn predicates<V: Instructions>(executor: Executor<'_>, r: &mut Registers<'_>, op: &MicroOp) {
    let (words, wide) = (words_compared::<V>, wide_compared::<V>);
    let flushed = flushed_compared::<V>;
    let (a, b) = (op.a as usize, op.b as usize);
    let bits = match op.code {
        Code::MovePredicate => r.predicates[a],
        Code::PredicateAnd => r.predicates[a] & r.predicates[b],
        Code::PredicateOr => r.predicates[a] | r.predicates[b],
        Code::PredicateXor => r.predicates[a] ^ r.predicates[b],
        Code::PredicateNot => !r.predicates[a],
        Code::Equal32 => words(r, op, Comparison::Equal),
        Code::LessSigned32 => words(r, op, Comparison::LessSigned),
        Code::LessUnsigned32 => words(r, op, Comparison::LessUnsigned),
        Code::FloatEqual32 => words(r, op, Comparison::FloatEqual),
        Code::FloatNotEqual32 => words(r, op, Comparison::FloatNotEqual),
        Code::FloatLess32 => words(r, op, Comparison::FloatLess),
        Code::FloatLessEqual32 => words(r, op, Comparison::FloatLessEqual),
        Code::FloatUnordered32 => words(r, op, Comparison::FloatUnordered),
        Code::Equal64 => wide(r, op, Comparison::Equal),
        Code::LessSigned64 => wide(r, op, Comparison::LessSigned),
        Code::LessUnsigned64 => wide(r, op, Comparison::LessUnsigned),
        Code::FloatEqual64 => wide(r, op, Comparison::FloatEqual),
        Code::FloatNotEqual64 => wide(r, op, Comparison::FloatNotEqual),
        Code::FloatLess64 => wide(r, op, Comparison::FloatLess),
        Code::FloatLessEqual64 => wide(r, op, Comparison::FloatLessEqual),
        Code::FloatUnordered64 => wide(r, op, Comparison::FloatUnordered),
        Code::FlushedEqual32 => flushed(r, op, Comparison::FloatEqual),
        Code::FlushedNotEqual32 => flushed(r, op, Comparison::FloatNotEqual),
        Code::FlushedLess32 => flushed(r, op, Comparison::FloatLess),
        Code::FlushedLessEqual32 => flushed(r, op, Comparison::FloatLessEqual),
        Code::FlushedUnordered32 => flushed(r, op, Comparison::FloatUnordered),
        _ => return functions::<V>(executor, r, op),
    };
    r.set_predicate(executor.mask, op.d, bits);
}

#[inline(always)]
fn words_compared<V: Instructions>(r: &Registers<'_>, op: &MicroOp, comparison: Comparison) -> u32 {
    let rows = [&r.regs32[op.a as usize], &r.regs32[op.b as usize]];
    simd::compare_words::<V>(comparison, rows) ^ op.extra
}

#[inline(always)]
fn flushed_compared<V: Instructions>(
    r: &Registers<'_>,
    op: &MicroOp,
    comparison: Comparison,
) -> u32 {
    let a = rows::frequent::flushed(&r.regs32[op.a as usize]);
    let b = rows::frequent::flushed(&r.regs32[op.b as usize]);
    simd::compare_words::<V>(comparison, [black_box(&a), black_box(&b)]) ^ op.extra
}

#[inline(always)]
fn wide_compared<V: Instructions>(r: &Registers<'_>, op: &MicroOp, comparison: Comparison) -> u32 {
    let rows = [&r.regs64[op.a as usize], &r.regs64[op.b as usize]];
    simd::compare_wide::<V>(comparison, rows) ^ op.extra
}

/// Functions, in a call of their own: their constants would be loaded before each run.
#[inline(always)]
fn functions<V: Instructions>(executor: Executor<'_>, r: &mut Registers<'_>, op: &MicroOp) {
    match op.code {
        Code::Lane => {
            // The call may not see the copy, which would then have to lie in memory.
            let mut registers = Registers {
                regs32: &mut *r.regs32,
                regs64: &mut *r.regs64,
                predicates: &mut *r.predicates,
            };
            if let Some(lane_op) = executor.program.lane_ops.get(op.extra as usize) {
                rare::lane_op(V::LEVEL, &mut registers, lane_op, executor.mask);
            }
        }
        Code::Other => {}
        _ => simd::function(V::LEVEL, r.regs32, r.regs64, op),
    }
}

/// A micro-operation whose result is made of whole rows.
pub(super) struct RowOp<'a> {
    pub regs32: &'a mut [Lanes32],
    pub regs64: &'a mut [Lanes64],
    pub op: &'a MicroOp,
}

impl RowOp<'_> {
    /// The source.
    #[inline(always)]
    pub(super) fn word(&self) -> &Lanes32 {
        &self.regs32[self.op.a as usize]
    }

    /// The sources.
    #[inline(always)]
    pub(super) fn words(&self) -> [&Lanes32; 3] {
        let MicroOp { a, b, c, .. } = *self.op;
        let regs32 = &*self.regs32;
        [
            &regs32[a as usize],
            &regs32[b as usize],
            &regs32[c as usize],
        ]
    }

    #[inline(always)]
    pub(super) fn wide(&self) -> &Lanes64 {
        &self.regs64[self.op.a as usize]
    }

    /// The source, zero-extended.
    #[inline(always)]
    pub(super) fn widened(&self) -> Lanes64 {
        let mut wide = [0; LANES];
        for (to, word) in wide.iter_mut().zip(self.word()) {
            *to = u64::from(*word);
        }
        wide
    }

    /// Writes the destination, if there is a result. The row stays in memory until then: the
    /// compiler would take it apart, together with the loop that made it, and vectorise neither.
    #[inline(always)]
    pub(super) fn put(&mut self, row: Option<Lanes32>) {
        if let Some(row) = row {
            self.regs32[self.op.d as usize] = *black_box(&row);
        }
    }

    #[inline(always)]
    pub(super) fn put_wide(&mut self, row: Option<Lanes64>) {
        if let Some(row) = row {
            self.regs64[self.op.d as usize] = *black_box(&row);
        }
    }

    /// Writes the low halves.
    #[inline(always)]
    pub(super) fn put_narrowed(&mut self, row: Option<Lanes64>) {
        let Some(row) = row else { return };
        let (to, row) = (&mut self.regs32[self.op.d as usize], black_box(&row));
        for (to, value) in to.iter_mut().zip(row) {
            *to = *value as u32;
        }
    }
}
