//! Comparisons and selections (PTX ISA, "Comparison and Selection Instructions").

use super::arithmetic::is_half;
use super::builder::Builder;
use super::modifiers::{Failure, Modifiers};
use crate::ir::{
    Binary, Comparison, Constant, FloatFormat, FloatProperty, LaneFunction, Op, Predicate,
    PredicateOp, Register,
};
use ptx_syntax::ast::{Operand, Type};

type Outcome = Result<(), Failure>;

impl Builder<'_, '_> {
    /// `testp.property.type p, a`
    pub(super) fn test_property(
        &mut self,
        mut mods: Modifiers<'_>,
        operands: &[Operand],
    ) -> Outcome {
        let [to, from] = operands else {
            return Err("expected two operands".into());
        };
        let ty = mods.ty()?;
        let property = mods
            .take_first(|name| {
                Some(match name {
                    "finite" => FloatProperty::Finite,
                    "infinite" => FloatProperty::Infinite,
                    "number" => FloatProperty::Number,
                    "notanumber" => FloatProperty::NotANumber,
                    "normal" => FloatProperty::Normal,
                    "subnormal" => FloatProperty::Subnormal,
                    _ => return None,
                })
            })
            .ok_or(Failure::Unknown)?;
        mods.finish()?;
        let from = self.source(from, ty)?;
        let to = Register::Predicate(self.predicate_destination(to)?);
        self.emit_lane(LaneFunction::TestProperty(property, ty), to, vec![from]);
        Ok(())
    }

    /// `setp.cmp[.bool][.ftz].type p[|q], a, b[, c]`
    pub(super) fn set_predicate(
        &mut self,
        mut mods: Modifiers<'_>,
        operands: &[Operand],
    ) -> Outcome {
        let ty = mods.ty()?;
        let comparison = CompareName::take(&mut mods, ty)?;
        let combine = take_combine(&mut mods);
        let flush = mods.take("ftz");
        mods.finish()?;
        let (to, a, b, third) = match (operands, combine) {
            ([to, a, b], None) => (to, a, b, None),
            ([to, a, b, c], Some(op)) => (to, a, b, Some((op, self.predicate_source(c)?))),
            _ => return Err("wrong number of operands".into()),
        };
        let (first, second) = match to {
            Operand::Pair(first, second) => {
                (self.predicate(*first)?, Some(self.predicate(*second)?))
            }
            _ => (self.predicate_destination(to)?, None),
        };
        if second.is_some() && matches!(ty, Type::F16 | Type::Bf16) {
            return Err("`setp` of one 16-bit float sets one predicate".into());
        }
        if let Some(half) = half_of(ty) {
            // One predicate for each half, the low one first.
            let halves = self.compare_halves(comparison, flush, half, a, b)?;
            // The predicate that is combined may be a destination.
            for raw in &halves {
                if let Some((op, c)) = third {
                    self.emit(Op::PredicateBinary(op, *raw, *raw, c));
                }
            }
            self.emit(Op::MovePredicate(first, halves[0]));
            if let Some(second) = second {
                self.emit(Op::MovePredicate(second, halves[1]));
            }
            return Ok(());
        }
        if second.is_none() && third.is_none() {
            return self.compare(comparison, flush, ty, first, a, b);
        }
        let raw = self.new_predicate();
        self.compare(comparison, flush, ty, raw, a, b)?;
        if let Some(second) = second {
            let inverse = self.new_predicate();
            self.emit_unguarded(Op::PredicateNot(inverse, raw));
            if let Some((op, c)) = third {
                // The predicate that is combined may be a destination.
                self.emit_unguarded(Op::PredicateBinary(op, inverse, inverse, c));
                self.emit(Op::PredicateBinary(op, first, raw, c));
                self.emit(Op::MovePredicate(second, inverse));
                return Ok(());
            }
            self.emit(Op::MovePredicate(second, inverse));
        }
        match third {
            Some((op, c)) => self.emit(Op::PredicateBinary(op, first, raw, c)),
            None => self.emit(Op::MovePredicate(first, raw)),
        }
        Ok(())
    }

    /// `set.cmp[.bool].dtype.stype d, a, b[, c]`
    pub(super) fn set(&mut self, mut mods: Modifiers<'_>, operands: &[Operand]) -> Outcome {
        let ty = mods.ty()?;
        let result = mods.ty()?;
        let comparison = CompareName::take(&mut mods, ty)?;
        let combine = take_combine(&mut mods);
        let flush = mods.take("ftz");
        mods.finish()?;
        let (to, a, b, third) = match (operands, combine) {
            ([to, a, b], None) => (to, a, b, None),
            ([to, a, b, c], Some(op)) => (to, a, b, Some((op, self.predicate_source(c)?))),
            _ => return Err("wrong number of operands".into()),
        };
        let one = |ty| match ty {
            Type::F16 | Type::F16x2 => 0x3c00,
            _ => 0x3f80,
        };
        let is_half_type = matches!(ty, Type::F16 | Type::Bf16);
        let truth = match (result, half_of(ty)) {
            (_, Some(_)) if result == ty => one(ty),
            (Type::U32 | Type::S32, Some(_)) => 0xffff,
            (_, Some(_)) => return Err(Failure::Unknown),
            (Type::F16 | Type::Bf16, None) => one(result),
            (Type::U16 | Type::S16, None) if is_half_type => 0xffff,
            (Type::F32, None) if !is_half_type => u64::from(1f32.to_bits()),
            (Type::U32 | Type::S32 | Type::B32, None) => u64::from(u32::MAX),
            _ => return Err(Failure::Unknown),
        };
        let outcomes = match half_of(ty) {
            Some(half) => self.compare_halves(comparison, flush, half, a, b)?.to_vec(),
            None => {
                let outcome = self.new_predicate();
                self.compare(comparison, flush, ty, outcome, a, b)?;
                vec![outcome]
            }
        };
        let Register::Reg32(to) = self.destination(to, result)? else {
            return Err(Failure::Unknown);
        };
        let zero = self.reg32_constant(Constant::Bits(0));
        let mut values = Vec::new();
        for (half, mut outcome) in outcomes.into_iter().enumerate() {
            if let Some((op, c)) = third {
                let combined = self.new_predicate();
                self.emit_unguarded(Op::PredicateBinary(op, combined, outcome, c));
                outcome = combined;
            }
            let truth = self.reg32_constant(Constant::Bits(truth << (16 * half)));
            values.push((truth, outcome));
        }
        match *values.as_slice() {
            [(truth, outcome)] => self.emit(Op::Select32(to, truth, zero, outcome)),
            [(low, of_low), (high, of_high)] => {
                let (lower, upper) = (self.new_reg32(), self.new_reg32());
                self.emit_unguarded(Op::Select32(lower, low, zero, of_low));
                self.emit_unguarded(Op::Select32(upper, high, zero, of_high));
                self.emit(Op::Binary32(Binary::Or, to, lower, upper));
            }
            _ => return Err(Failure::Unknown),
        }
        Ok(())
    }

    /// Compares the halves of pairs: the outcome of the low one, and that of the high one.
    fn compare_halves(
        &mut self,
        name: CompareName,
        flush: bool,
        half: Type,
        a: &Operand,
        b: &Operand,
    ) -> Result<[Predicate; 2], Failure> {
        let (mut a, mut b) = (self.source(a, Type::B32)?, self.source(b, Type::B32)?);
        if name.swap {
            std::mem::swap(&mut a, &mut b);
        }
        let format = FloatFormat::new(half).flushing(flush);
        let function = LaneFunction::CompareHalf(format, name.comparison, name.negated);
        let mut outcomes = [Predicate(0); 2];
        for (at, outcome) in outcomes.iter_mut().enumerate() {
            let part = |this: &mut Self, whole: Register| {
                let part = Register::Reg32(this.new_reg32());
                let extract = LaneFunction::ExtractBits {
                    shift: 16 * at as u32,
                    bits: 16,
                    signed: false,
                };
                this.emit_lane(extract, part, vec![whole]);
                part
            };
            let (a, b) = (part(self, a), part(self, b));
            *outcome = self.new_predicate();
            self.emit_lane(function, Register::Predicate(*outcome), vec![a, b]);
        }
        Ok(outcomes)
    }

    fn compare(
        &mut self,
        name: CompareName,
        flush: bool,
        ty: Type,
        to: Predicate,
        a: &Operand,
        b: &Operand,
    ) -> Outcome {
        let (mut a, mut b) = (self.source(a, ty)?, self.source(b, ty)?);
        if name.swap {
            std::mem::swap(&mut a, &mut b);
        }
        if is_half(ty) || (flush && ty == Type::F32) {
            let format = FloatFormat::new(ty).flushing(flush);
            let function = LaneFunction::CompareHalf(format, name.comparison, name.negated);
            self.emit_lane(function, Register::Predicate(to), vec![a, b]);
            return Ok(());
        }
        // Sub-word integers are stored zero-extended; signed comparisons need the sign.
        if ty.bytes() < 4 && ty.is_signed() {
            for side in [&mut a, &mut b] {
                let wide = Register::Reg32(self.new_reg32());
                let extend = LaneFunction::ExtractBits {
                    shift: 0,
                    bits: 8 * ty.bytes(),
                    signed: true,
                };
                self.emit_lane(extend, wide, vec![*side]);
                *side = wide;
            }
        }
        match (a, b) {
            (Register::Reg32(a), Register::Reg32(b)) => {
                self.emit(Op::Compare32(name.comparison, name.negated, to, a, b));
            }
            (Register::Reg64(a), Register::Reg64(b)) => {
                self.emit(Op::Compare64(name.comparison, name.negated, to, a, b));
            }
            _ => return Err("predicates cannot be compared".into()),
        }
        Ok(())
    }

    /// `selp.type d, a, b, p`
    pub(super) fn select(&mut self, mut mods: Modifiers<'_>, operands: &[Operand]) -> Outcome {
        let [to, a, b, p] = operands else {
            return Err("expected four operands".into());
        };
        let ty = mods.ty()?;
        mods.finish()?;
        let (a, b) = (self.source(a, ty)?, self.source(b, ty)?);
        let p = self.predicate_source(p)?;
        match (self.destination(to, ty)?, a, b) {
            (Register::Reg32(to), Register::Reg32(a), Register::Reg32(b)) => {
                self.emit(Op::Select32(to, a, b, p));
            }
            (Register::Reg64(to), Register::Reg64(a), Register::Reg64(b)) => {
                self.emit(Op::Select64(to, a, b, p));
            }
            _ => return Err(Failure::Unknown),
        }
        Ok(())
    }

    /// `slct.dtype.ctype d, a, b, c`: a where c >= 0, else b.
    pub(super) fn select_by_sign(
        &mut self,
        mut mods: Modifiers<'_>,
        operands: &[Operand],
    ) -> Outcome {
        let [to, a, b, c] = operands else {
            return Err("expected four operands".into());
        };
        let selector = mods.ty()?;
        let ty = mods.ty()?;
        let flush = mods.take("ftz");
        mods.finish()?;
        if !matches!(selector, Type::S32 | Type::F32) {
            return Err(Failure::Unknown);
        }
        let chosen = self.new_predicate();
        let at_least = CompareName::parse("ge", selector).ok_or(Failure::Unknown)?;
        self.compare(at_least, flush, selector, chosen, c, &Operand::Integer(0))?;
        let (a, b) = (self.source(a, ty)?, self.source(b, ty)?);
        match (self.destination(to, ty)?, a, b) {
            (Register::Reg32(to), Register::Reg32(a), Register::Reg32(b)) => {
                self.emit(Op::Select32(to, a, b, chosen));
            }
            (Register::Reg64(to), Register::Reg64(a), Register::Reg64(b)) => {
                self.emit(Op::Select64(to, a, b, chosen));
            }
            _ => return Err(Failure::Unknown),
        }
        Ok(())
    }
}

/// The type of each half of a pair.
fn half_of(ty: Type) -> Option<Type> {
    match ty {
        Type::F16x2 => Some(Type::F16),
        Type::Bf16x2 => Some(Type::Bf16),
        _ => None,
    }
}

fn take_combine(mods: &mut Modifiers<'_>) -> Option<PredicateOp> {
    mods.take_first(|name| {
        Some(match name {
            "and" => PredicateOp::And,
            "or" => PredicateOp::Or,
            "xor" => PredicateOp::Xor,
            _ => return None,
        })
    })
}

/// A PTX comparison in terms of the ones that the executor has.
#[derive(Clone, Copy)]
struct CompareName {
    comparison: Comparison,
    negated: bool,
    swap: bool,
}

impl CompareName {
    fn take(mods: &mut Modifiers<'_>, ty: Type) -> Result<Self, Failure> {
        mods.take_first(|name| CompareName::parse(name, ty))
            .ok_or(Failure::Unknown)
    }

    fn parse(name: &str, ty: Type) -> Option<Self> {
        use Comparison::*;
        let (comparison, negated, swap) = if ty.is_float() {
            match name {
                "eq" => (FloatEqual, false, false),
                "ne" => (FloatNotEqual, false, false),
                "lt" => (FloatLess, false, false),
                "le" => (FloatLessEqual, false, false),
                "gt" => (FloatLess, false, true),
                "ge" => (FloatLessEqual, false, true),
                "equ" => (FloatNotEqual, true, false),
                "neu" => (FloatEqual, true, false),
                "ltu" => (FloatLessEqual, true, true),
                "leu" => (FloatLess, true, true),
                "gtu" => (FloatLessEqual, true, false),
                "geu" => (FloatLess, true, false),
                "num" => (FloatUnordered, true, false),
                "nan" => (FloatUnordered, false, false),
                _ => return None,
            }
        } else {
            let signed = ty.is_signed();
            let less = if signed { LessSigned } else { LessUnsigned };
            match name {
                "eq" => (Equal, false, false),
                "ne" => (Equal, true, false),
                "lt" | "lo" => (less, false, false),
                "ge" | "hs" => (less, true, false),
                "gt" | "hi" => (less, false, true),
                "le" | "ls" => (less, true, true),
                _ => return None,
            }
        };
        Some(CompareName {
            comparison,
            negated,
            swap,
        })
    }
}
