//! Loads and stores of parameters, which are constants or registers.

use super::builder::Builder;
use super::modifiers::Failure;
use super::scope::Binding;
use crate::ir::{Constant, LaneFunction, Op, Reg32, Register};
use ptx_syntax::ast::{Operand, Type};

type Outcome = Result<(), Failure>;

impl Builder<'_, '_> {
    /// A parameter at a constant address is a constant (of a kernel) or a register (of a call).
    pub(super) fn load_parameter(
        &mut self,
        ty: Type,
        to: &[Operand],
        from: &Operand,
    ) -> Result<Option<()>, Failure> {
        let Operand::Address {
            base: Some(name),
            offset,
        } = *from
        else {
            return Ok(None);
        };
        let binding = self.resolve(name)?;
        for (index, operand) in to.iter().enumerate() {
            let at = offset.wrapping_add(i64::from(ty.bytes()) * index as i64);
            match &binding {
                Binding::KernelParam { offset, bytes } => {
                    let at = u32::try_from(at)
                        .ok()
                        .filter(|&at| u64::from(at) + u64::from(ty.bytes()) <= *bytes)
                        .and_then(|at| at.checked_add(*offset))
                        .ok_or("this offset lies outside the parameter")?;
                    let (register, bits) = self.destination_any(operand, ty)?;
                    let constant = Constant::Param {
                        offset: at,
                        bytes: ty.bytes(),
                        signed: ty.is_signed(),
                    };
                    let source = match register {
                        Register::Reg64(_) => Register::Reg64(self.reg64_constant(constant)),
                        _ => Register::Reg32(self.reg32_constant(constant)),
                    };
                    if bits < 8 * ty.bytes() {
                        return Err("the destination is narrower than the parameter".into());
                    }
                    self.emit_move(register, source)?;
                }
                Binding::Registers(registers) => {
                    self.load_call_parameter(ty, operand, registers, at)?
                }
                _ => return Ok(None),
            }
        }
        Ok(Some(()))
    }

    fn load_call_parameter(
        &mut self,
        ty: Type,
        to: &Operand,
        registers: &[Reg32],
        at: i64,
    ) -> Outcome {
        let (to, bits) = self.destination_any(to, ty)?;
        let (reg, next, shift) = locate(registers, ty, at)?;
        match (ty.bytes(), to) {
            (8, Register::Reg64(to)) => self.emit(Op::Pack(to, reg, next)),
            (4, Register::Reg32(to)) => self.emit(Op::Move32(to, reg)),
            (4, Register::Reg64(to)) => self.emit(Op::Widen(ty.is_signed(), to, reg)),
            (8, _) => return Err("the destination is narrower than the parameter".into()),
            _ => {
                let extract = LaneFunction::ExtractBits {
                    shift,
                    bits: 8 * ty.bytes(),
                    signed: ty.is_signed() && bits > 8 * ty.bytes(),
                };
                self.emit_lane(extract, to, vec![Register::Reg32(reg)]);
            }
        }
        Ok(())
    }

    pub(super) fn store_parameter(
        &mut self,
        ty: Type,
        to: &Operand,
        sources: &[Register],
    ) -> Outcome {
        let Operand::Address {
            base: Some(name),
            offset,
        } = *to
        else {
            return Err("expected a parameter's address".into());
        };
        let Binding::Registers(registers) = self.resolve(name)? else {
            return Err("kernel parameters cannot be written".into());
        };
        for (index, &source) in sources.iter().enumerate() {
            let at = offset.wrapping_add(i64::from(ty.bytes()) * index as i64);
            let (reg, next, shift) = locate(&registers, ty, at)?;
            match (ty.bytes(), source) {
                (8, Register::Reg64(source)) => self.emit(Op::Unpack(reg, next, source)),
                (4, Register::Reg32(source)) => self.emit(Op::Move32(reg, source)),
                (4, Register::Reg64(source)) => self.emit(Op::Narrow(reg, source)),
                _ => {
                    let insert = LaneFunction::InsertBits {
                        shift,
                        bits: 8 * ty.bytes(),
                    };
                    let reg = Register::Reg32(reg);
                    self.emit_lane(insert, reg, vec![reg, source]);
                }
            }
        }
        Ok(())
    }
}

/// The register that holds a parameter's bytes, the register after it, and the first bit within it.
fn locate(registers: &[Reg32], ty: Type, at: i64) -> Result<(Reg32, Reg32, u32), Failure> {
    let outside = || Failure::from("this offset lies outside the parameter");
    let bytes = i64::from(ty.bytes());
    // A value of 8 bytes may begin with any word.
    if at < 0 || at % bytes.min(4) != 0 || at > i64::from(crate::MAX_PARAMETER_BYTES) {
        return Err(outside());
    }
    let index = usize::try_from(at / 4).map_err(|_| outside())?;
    let last = usize::try_from((at + bytes - 1) / 4).map_err(|_| outside())?;
    let first = *registers.get(index).ok_or_else(outside)?;
    let next = *registers.get(last).ok_or_else(outside)?;
    Ok((first, next, 8 * (at % 4) as u32))
}
