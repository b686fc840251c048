//! `wgmma`.

use super::async_copy::group_count;
use super::builder::Builder;
use super::matrix::{check_selector, float_inputs, integer_inputs, parse_shape, sums};
use super::modifiers::{Failure, Modifiers};
use crate::ir::{
    Constant, Matrix, MatrixInputs, Op, Predicate, Register, Sums, Terminator, Wgmma, WgmmaA,
};
use ptx_syntax::ast::{Operand, Type};

type Outcome = Result<(), Failure>;

impl Builder<'_, '_> {
    /// Everything that starts with `wgmma`.
    pub(super) fn warpgroup(&mut self, mut mods: Modifiers<'_>, operands: &[Operand]) -> Outcome {
        let product = mods.take("mma_async");
        if product {
            return self.wgmma(mods, operands);
        }
        // ptxas takes `wgmma` without `.aligned` as well.
        let known = mods.take("sync");
        mods.take("aligned");
        let waits = mods.take("wait_group");
        let commits = mods.take("commit_group");
        if !known || !(waits || commits || mods.take("fence")) {
            return Err(Failure::Unknown);
        }
        mods.finish()?;
        match (waits, commits) {
            (true, _) => {
                let newest = group_count(operands)?;
                let next = self.new_block();
                self.end_block(Terminator::WarpgroupWait { newest, next }, true, next);
            }
            (_, true) => self.emit(Op::WarpgroupCommit),
            // MMAs are executed when they are issued, in order.
            _ => self.emit(Op::Nothing),
        }
        Ok(())
    }

    /// `wgmma.mma_async[.sp].sync.aligned.shape[.satfinite].d.a.b[.and.popc] d, a, b[, metadata,
    /// selector], keep[, ±1, ±1[, trans a][, trans b]]`
    fn wgmma(&mut self, mut mods: Modifiers<'_>, operands: &[Operand]) -> Outcome {
        let (d, a, b, behind) = match operands {
            [d, a, b, behind @ ..] => (d, a, b, behind),
            _ => return Err("expected d, a, b and a predicate".into()),
        };
        let (sparsity, keep, rest) = match (mods.take("sp"), behind) {
            (false, [keep, rest @ ..]) => (None, keep, rest),
            (true, [metadata, selector, keep, rest @ ..]) => {
                let sparsity = self.sparsity(false, metadata, selector)?;
                (Some(sparsity), keep, rest)
            }
            _ => return Err("expected a predicate".into()),
        };
        let known = mods.take("sync");
        mods.take("aligned");
        let combines = mods.take("and");
        let counts = mods.take("popc");
        let saturates = mods.take("satfinite");
        let [rows, columns, depth] = mods.take_first(parse_shape).ok_or(Failure::Unknown)?;
        let [of_d, of_a, of_b] = *mods.rest() else {
            return Err(Failure::Unknown);
        };
        let inputs = |name| float_inputs(name).or_else(|| integer_inputs(name));
        let (inputs, inputs_b) = inputs(of_a).zip(inputs(of_b)).ok_or(Failure::Unknown)?;
        let of_d = sums(of_d).ok_or(Failure::Unknown)?;
        use MatrixInputs::{Bf16, E4m3, E5m2, F16, Integer, Tf32};
        let same = inputs == inputs_b;
        let exists = match inputs {
            F16 => same && matches!(of_d, Sums::F16 | Sums::F32),
            Bf16 | Tf32 => same && of_d == Sums::F32,
            E4m3 | E5m2 => matches!(inputs_b, E4m3 | E5m2) && matches!(of_d, Sums::F16 | Sums::F32),
            Integer { bits, .. } if bits != 4 => {
                inputs.packed() == inputs_b.packed() && of_d == Sums::S32
            }
            _ => false,
        };
        let is_whole = matches!(inputs, Integer { .. });
        let of_bits = inputs.packed() == 32;
        // Of integers there are fewer widths.
        let width = match is_whole {
            false => columns.is_multiple_of(8),
            true => columns.is_multiple_of(16) || matches!(columns, 8 | 24),
        };
        let times = if sparsity.is_some() { 2 } else { 1 };
        check_selector(&sparsity, inputs, [rows, columns, depth])?;
        let has_shape = rows == 64
            && width
            && (8..=256).contains(&columns)
            && depth == 8 * times * inputs.packed()
            && (sparsity.is_none() || !of_bits);
        let flags = combines == of_bits && counts == of_bits;
        if !known || !exists || !has_shape || !flags || saturates && (!is_whole || of_bits) {
            return Err(Failure::Unknown);
        }
        let in_registers = matches!(a, Operand::Vector(_));
        let numbers = rest.iter().map(constant).collect::<Result<Vec<_>, _>>()?;
        let (signs, across_a, across_b) = match (numbers.as_slice(), inputs.packed()) {
            (&[], _) if is_whole => ([1, 1], 0, 0),
            (&[a, b], 1 | 4) if !is_whole => ([a, b], 0, 0),
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
            inputs_b,
            sums: of_d,
            saturates,
            columns,
            a,
            b: self.reg64(b, Type::B64)?,
            across_b: across_b != 0,
            keep: self.keep(keep)?,
            negated: signs.map(|sign| sign < 0),
            sparsity,
            d: self.fragment_destination(d, columns / 2 / of_d.packed(), Type::B32)?,
        };
        self.emit_matrix(Matrix::Wgmma(product))
    }

    /// A predicate, or a constant one.
    pub(super) fn keep(&mut self, operand: &Operand) -> Result<Predicate, Failure> {
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
