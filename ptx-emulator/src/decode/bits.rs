//! Shifts, bit fields and byte operations (PTX ISA, "Logic and Shift Instructions" and the bit
//! manipulations of "Integer Arithmetic Instructions").

use super::builder::Builder;
use super::modifiers::{Failure, Modifiers};
use crate::ir::{
    Comparison, Constant, IntegerFunction, LaneFunction, Op, PermuteMode, PredicateOp, Register,
    Shift,
};
use ptx_syntax::ast::{Operand, Type};

type Outcome = Result<(), Failure>;

impl Builder<'_, '_> {
    /// `bfind[.shiftamt].type`
    pub(super) fn find_highest(
        &mut self,
        mut mods: Modifiers<'_>,
        operands: &[Operand],
    ) -> Outcome {
        let [to, from] = operands else {
            return Err("expected two operands".into());
        };
        let ty = mods.ty()?;
        let shift_amount = mods.take("shiftamt");
        mods.finish()?;
        let from = self.source(from, ty)?;
        let to = self.destination(to, Type::U32)?;
        let function = IntegerFunction::FindHighest { shift_amount };
        self.emit_lane(LaneFunction::Integer(function, ty), to, vec![from]);
        Ok(())
    }

    /// `shl`, `shr`: the amount is 32 bits wide.
    pub(super) fn shift(
        &mut self,
        base: &str,
        mut mods: Modifiers<'_>,
        operands: &[Operand],
    ) -> Outcome {
        let [to, value, amount] = operands else {
            return Err("expected three operands".into());
        };
        let ty = mods.ty()?;
        mods.finish()?;
        let value = self.source(value, ty)?;
        let amount = self.reg32(amount, Type::U32)?;
        let to = self.destination(to, ty)?;
        let op = match base {
            "shl" => Shift::Left,
            _ if ty.is_signed() => Shift::RightSigned,
            _ => Shift::RightUnsigned,
        };
        match (to, value) {
            (Register::Reg32(to), Register::Reg32(value)) if ty.bytes() == 4 => {
                self.emit(Op::Shift32(op, to, value, amount));
            }
            (Register::Reg64(to), Register::Reg64(value)) => {
                self.emit(Op::Shift64(op, to, value, amount));
            }
            _ => {
                let function = match base {
                    "shl" => IntegerFunction::ShiftLeft,
                    _ => IntegerFunction::ShiftRight,
                };
                let arguments = vec![value, Register::Reg32(amount)];
                self.emit_lane(LaneFunction::Integer(function, ty), to, arguments);
            }
        }
        Ok(())
    }

    /// Instructions of three word operands that are evaluated lane by lane.
    pub(super) fn bit_field(
        &mut self,
        base: &str,
        mut mods: Modifiers<'_>,
        operands: &[Operand],
    ) -> Outcome {
        let (Some(to), arguments) = (operands.first(), operands.get(1..).unwrap_or(&[])) else {
            return Err("expected operands".into());
        };
        let ((function, types), ty) = match base {
            "bfe" => {
                let ty = mods.ty()?;
                let function = LaneFunction::Integer(IntegerFunction::ExtractField, ty);
                ((function, vec![ty, Type::U32, Type::U32]), ty)
            }
            "bfi" => {
                let ty = mods.ty()?;
                let function = LaneFunction::Integer(IntegerFunction::InsertField, ty);
                ((function, vec![ty, ty, Type::U32, Type::U32]), ty)
            }
            "clmad" => {
                // The grammar has one of both.
                let function = match (mods.take("lo"), mods.take("hi")) {
                    (true, _) => IntegerFunction::CarrylessMadLow,
                    _ => IntegerFunction::CarrylessMadHigh,
                };
                let ty = mods.ty()?;
                let function = LaneFunction::Integer(function, ty);
                ((function, vec![ty; 3]), ty)
            }
            "shf" => {
                let left = mods.take("l");
                if !left && !mods.take("r") {
                    return Err(Failure::Unknown);
                }
                let clamp = mods.take("clamp");
                if !clamp && !mods.take("wrap") {
                    return Err(Failure::Unknown);
                }
                let ty = mods.ty()?;
                let function = match left {
                    true => LaneFunction::FunnelLeft(clamp),
                    false => LaneFunction::FunnelRight(clamp),
                };
                ((function, vec![Type::B32; 3]), ty)
            }
            "prmt" => {
                let mode = mods
                    .take_first(|name| {
                        Some(match name {
                            "f4e" => PermuteMode::Forward4,
                            "b4e" => PermuteMode::Backward4,
                            "rc8" => PermuteMode::Replicate8,
                            "ecl" => PermuteMode::EdgeLeft,
                            "ecr" => PermuteMode::EdgeRight,
                            "rc16" => PermuteMode::Replicate16,
                            _ => return None,
                        })
                    })
                    .unwrap_or(PermuteMode::Default);
                let ty = mods.ty()?;
                if ty != Type::B32 {
                    return Err(Failure::Unknown);
                }
                ((LaneFunction::Permute(mode), vec![Type::B32; 3]), ty)
            }
            "dp4a" => {
                let b = mods.ty()?;
                let a = mods.ty()?;
                let function = LaneFunction::DotProduct4(a.is_signed(), b.is_signed());
                ((function, vec![Type::B32; 3]), Type::B32)
            }
            "dp2a" => {
                let b = mods.ty()?;
                let a = mods.ty()?;
                let upper = mods.take("hi");
                if !upper && !mods.take("lo") {
                    return Err(Failure::Unknown);
                }
                let function = LaneFunction::DotProduct2 {
                    upper,
                    signed_a: a.is_signed(),
                    signed_b: b.is_signed(),
                };
                ((function, vec![Type::B32; 3]), Type::B32)
            }
            "bmsk" | "szext" => {
                let ty = mods.ty()?;
                let clamps = mods.take("clamp");
                if !clamps && !mods.take("wrap") || ty.bytes() != 4 {
                    return Err(Failure::Unknown);
                }
                let function = match base {
                    "bmsk" => IntegerFunction::BitMask { clamps },
                    _ => IntegerFunction::ExtendField { clamps },
                };
                let function = LaneFunction::Integer(function, ty);
                ((function, vec![Type::B32; 2]), Type::B32)
            }
            "fns" => {
                let ty = mods.ty()?;
                let function = LaneFunction::Integer(IntegerFunction::FindNth, ty);
                ((function, vec![Type::B32; 3]), Type::B32)
            }
            _ => return Err(Failure::Unknown),
        };
        mods.finish()?;
        if arguments.len() != types.len() {
            return Err("wrong number of operands".into());
        }
        let sources = arguments
            .iter()
            .zip(types)
            .map(|(operand, ty)| self.source(operand, ty))
            .collect::<Result<Vec<_>, _>>()?;
        let to = self.destination(to, ty)?;
        self.emit_lane(function, to, sources);
        Ok(())
    }

    /// `lop3.b32 d, a, b, c, table` and `lop3.or.b32 d|p, a, b, c, table, q`
    pub(super) fn logic3(&mut self, mut mods: Modifiers<'_>, operands: &[Operand]) -> Outcome {
        let (to, [a, b, c], table, combined) = match operands {
            [to, a, b, c, Operand::Integer(table)] => (to, [a, b, c], table, None),
            [to, a, b, c, Operand::Integer(table), q] => (to, [a, b, c], table, Some(q)),
            _ => return Err("expected four operands and a constant table".into()),
        };
        mods.ty()?;
        let combine = mods.take_first(|name| match name {
            "or" => Some(PredicateOp::Or),
            "and" => Some(PredicateOp::And),
            _ => None,
        });
        mods.finish()?;
        if let (Some(op), Some(q), Operand::Pair(to, outcome)) = (combine, combined, to) {
            let mut sources = Vec::new();
            for operand in [a, b, c] {
                sources.push(self.source(operand, Type::B32)?);
            }
            let q = self.predicate_source(q)?;
            let (result, is_set) = (self.new_reg32(), self.new_predicate());
            let zero = self.reg32_constant(Constant::Bits(0));
            let function = LaneFunction::Logic3(*table as u8);
            self.emit_lane(function, Register::Reg32(result), sources);
            self.emit(Op::Compare32(Comparison::Equal, true, is_set, result, zero));
            let outcome = self.predicate(*outcome)?;
            self.emit(Op::PredicateBinary(op, outcome, is_set, q));
            if to.of(self.text) != "_" {
                let to = self.reg32_destination(&Operand::Name(*to))?;
                self.emit(Op::Move32(to, result));
            }
            return Ok(());
        }
        if combine.is_some() || combined.is_some() {
            return Err(Failure::Unknown);
        }
        let sources = [a, b, c]
            .into_iter()
            .map(|operand| self.source(operand, Type::B32))
            .collect::<Result<Vec<_>, _>>()?;
        let to = self.destination(to, Type::B32)?;
        self.emit_lane(LaneFunction::Logic3(*table as u8), to, sources);
        Ok(())
    }
}
