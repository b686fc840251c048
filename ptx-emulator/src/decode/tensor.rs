//! `wgmma`.

use super::async_copy::group_count;
use super::builder::Builder;
use super::matrix::{inputs, parse_shape};
use super::modifiers::{Failure, Modifiers};
use crate::ir::{Constant, Matrix, MatrixInputs, Op, Predicate, Register, Wgmma, WgmmaA};
use ptx_syntax::ast::{Operand, Type};

type Outcome = Result<(), Failure>;

impl Builder<'_, '_> {
    /// Everything that starts with `wgmma`.
    pub(super) fn warpgroup(&mut self, mut mods: Modifiers<'_>, operands: &[Operand]) -> Outcome {
        let product = mods.take("mma_async");
        if product {
            return self.wgmma(mods, operands);
        }
        let known = mods.take("sync") && mods.take("aligned");
        let waits = mods.take("wait_group");
        let commits = mods.take("commit_group");
        if !known || !(waits || commits || mods.take("fence")) {
            return Err(Failure::Unknown);
        }
        mods.finish()?;
        match (waits, commits) {
            (true, _) => {
                let newest = group_count(operands)?;
                self.emit(Op::WarpgroupWait(newest));
            }
            (_, true) => self.emit(Op::WarpgroupCommit),
            // MMAs are executed when they are issued, in order.
            _ => self.emit(Op::Nothing),
        }
        Ok(())
    }

    /// `wgmma.mma_async.sync.aligned.shape.f32.a.b d, a, b, keep, ±1, ±1[, trans a][, trans b]`
    fn wgmma(&mut self, mut mods: Modifiers<'_>, operands: &[Operand]) -> Outcome {
        let [d, a, b, keep, rest @ ..] = operands else {
            return Err("expected d, a, b and a predicate".into());
        };
        let (of_b, of_a, of_d) = (mods.ty()?, mods.ty()?, mods.ty()?);
        let inputs = inputs(of_a).ok_or(Failure::Unknown)?;
        let known = of_a == of_b && of_d == Type::F32 && mods.take("sync") && mods.take("aligned");
        let [rows, columns, depth] = mods.take_first(parse_shape).ok_or(Failure::Unknown)?;
        let has_shape = rows == 64
            && columns.is_multiple_of(8)
            && (8..=256).contains(&columns)
            && inputs != MatrixInputs::F64
            && depth == 8 * inputs.packed();
        if !known || !has_shape {
            return Err(Failure::Unknown);
        }
        mods.finish()?;
        let in_registers = matches!(a, Operand::Vector(_));
        let numbers = rest.iter().map(constant).collect::<Result<Vec<_>, _>>()?;
        let (signs, across_a, across_b) = match (numbers.as_slice(), inputs.packed()) {
            (&[a, b], 1) => ([a, b], 0, 0),
            (&[a, b, across_b], 2) if in_registers => ([a, b], 0, across_b),
            (&[a, b, across_a, across_b], 2) if !in_registers => ([a, b], across_a, across_b),
            _ => return Err("wrong number of operands".into()),
        };
        let a = match in_registers {
            true => WgmmaA::Registers(
                self.parts(a)
                    .iter()
                    .map(|part| self.source(part, Type::B32))
                    .collect::<Result<_, _>>()?,
            ),
            false => WgmmaA::Shared {
                descriptor: self.reg64(a, Type::B64)?,
                across: across_a != 0,
            },
        };
        if let WgmmaA::Registers(registers) = &a
            && registers.len() != 4
        {
            return Err("expected four registers of A".into());
        }
        let product = Wgmma {
            inputs,
            columns,
            a,
            b: self.reg64(b, Type::B64)?,
            across_b: across_b != 0,
            keep: self.keep(keep)?,
            negated: signs.map(|sign| sign < 0),
            d: self.fragment_destination(d, columns / 2, Type::F32)?,
        };
        self.emit_matrix(Matrix::Wgmma(product))
    }

    /// A predicate, or a constant one.
    fn keep(&mut self, operand: &Operand) -> Result<Predicate, Failure> {
        match operand {
            Operand::Integer(bits) => match self.constant(Constant::Bits(*bits), Type::Pred)? {
                Register::Predicate(predicate) => Ok(predicate),
                _ => Err("expected a predicate".into()),
            },
            operand => self.predicate_source(operand),
        }
    }
}

fn constant(operand: &Operand) -> Result<i64, Failure> {
    match operand {
        Operand::Integer(bits) => Ok(*bits as i64),
        _ => Err("expected a constant".into()),
    }
}
