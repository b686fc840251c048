//! Moves and conversions (PTX ISA, "Data Movement and Conversion Instructions").

use super::builder::Builder;
use super::modifiers::{Failure, Modifiers};
use crate::address_space;
use crate::ir::{Constant, Conversion, LaneFunction, Op, Register, Rounding, Space, Timer};
use ptx_syntax::ast::{Operand, Type};

type Outcome = Result<(), Failure>;

impl Builder<'_, '_> {
    /// `mov`: registers, constants, addresses, special registers, packing and unpacking.
    pub(super) fn mov(&mut self, mut mods: Modifiers<'_>, operands: &[Operand]) -> Outcome {
        let [to, from] = operands else {
            return Err("expected two operands".into());
        };
        let ty = mods.ty()?;
        mods.finish()?;
        match (to, from) {
            (Operand::Vector(parts), _) => return self.unpack(ty, self.elements(*parts), from),
            (_, Operand::Vector(parts)) => return self.pack(ty, to, self.elements(*parts)),
            _ => {}
        }
        let to = self.destination(to, ty)?;
        if let Operand::Name(name) = from {
            let timer = match name.of(self.text) {
                "%clock" | "%clock_hi" | "%clock64" => Some(Timer::Clock),
                "%globaltimer" | "%globaltimer_lo" => Some(Timer::Nanoseconds),
                _ => None,
            };
            if let Some(timer) = timer {
                self.emit(Op::ReadTimer(timer, to));
                return Ok(());
            }
        }
        let from = self.source(from, ty)?;
        self.emit_move(to, from)
    }

    /// `mov.b64 d, {lo, hi}` and its narrower forms.
    fn pack(&mut self, ty: Type, to: &Operand, parts: &[Operand]) -> Outcome {
        let part = element_type(ty, parts.len())?;
        let sources = parts
            .iter()
            .map(|part_operand| self.source(part_operand, part))
            .collect::<Result<Vec<_>, _>>()?;
        let to = self.destination(to, ty)?;
        match (to, sources.as_slice()) {
            (Register::Reg64(to), &[Register::Reg32(low), Register::Reg32(high)]) => {
                self.emit(Op::Pack(to, low, high));
            }
            _ => {
                // Temporaries keep a destination that is also a source whole until the end.
                let bits = 8 * part.bytes();
                let mut sum = self.constant(Constant::Bits(0), ty)?;
                let last = sources.len().saturating_sub(1);
                for (index, source) in sources.into_iter().enumerate() {
                    let next = if index == last {
                        to
                    } else {
                        self.new_register(ty)?
                    };
                    let shift = bits * index as u32;
                    let insert = LaneFunction::InsertBits { shift, bits };
                    self.emit_lane(insert, next, vec![sum, source]);
                    sum = next;
                }
            }
        }
        Ok(())
    }

    /// `mov.b64 {lo, hi}, a` and its narrower forms.
    fn unpack(&mut self, ty: Type, parts: &[Operand], from: &Operand) -> Outcome {
        let part = element_type(ty, parts.len())?;
        let from = self.source(from, ty)?;
        let destinations = parts
            .iter()
            .map(|operand| self.destination(operand, part))
            .collect::<Result<Vec<_>, _>>()?;
        match (destinations.as_slice(), from) {
            (&[Register::Reg32(low), Register::Reg32(high)], Register::Reg64(from)) => {
                self.emit(Op::Unpack(low, high, from));
            }
            _ => {
                let bits = 8 * part.bytes();
                let whole = self.new_register(ty)?;
                self.emit_move(whole, from)?;
                for (index, destination) in destinations.into_iter().enumerate() {
                    let extract = LaneFunction::ExtractBits {
                        shift: bits * index as u32,
                        bits,
                        signed: false,
                    };
                    self.emit_lane(extract, destination, vec![whole]);
                }
            }
        }
        Ok(())
    }

    /// `cvt` in all its forms.
    pub(super) fn convert(&mut self, mut mods: Modifiers<'_>, operands: &[Operand]) -> Outcome {
        let from = mods.ty()?;
        let to = mods.ty()?;
        let integral = ["rni", "rzi", "rmi", "rpi"]
            .into_iter()
            .find(|name| mods.take(name));
        let rounding = match integral {
            None => mods.rounding(),
            Some("rni") => Rounding::NearestEven,
            Some("rzi") => Rounding::Zero,
            Some("rmi") => Rounding::Down,
            Some(_) => Rounding::Up,
        };
        let mut conversion = Conversion {
            to,
            from,
            rounding,
            to_integral: integral.is_some(),
            flush: mods.take("ftz"),
            saturate: mods.take("sat") || mods.take("satfinite"),
            relu: mods.take("relu"),
            register_bits: 0,
        };
        mods.finish()?;
        let halves = matches!(to, Type::F16x2 | Type::Bf16x2);
        match operands {
            [to_operand, source] if !halves => {
                let source = self.source_any(source, from)?;
                let (destination, bits) = self.destination_any(to_operand, to)?;
                conversion.register_bits = bits;
                self.emit_conversion(conversion, destination, source)
            }
            // The first operand goes into the upper half.
            [to_operand, high, low] if halves => {
                let part = if to == Type::F16x2 {
                    Type::F16
                } else {
                    Type::Bf16
                };
                conversion.to = part;
                conversion.register_bits = 16;
                let (high, low) = (self.source(high, from)?, self.source(low, from)?);
                let destination = self.destination(to_operand, to)?;
                let upper = self.new_register(part)?;
                let lower = self.new_register(Type::B32)?;
                self.emit_conversion(conversion, upper, high)?;
                self.emit_conversion(conversion, lower, low)?;
                let insert = LaneFunction::InsertBits {
                    shift: 16,
                    bits: 16,
                };
                self.emit_lane(insert, destination, vec![lower, upper]);
                Ok(())
            }
            _ => Err("wrong number of operands".into()),
        }
    }

    fn emit_conversion(&mut self, conversion: Conversion, to: Register, from: Register) -> Outcome {
        let plain = !conversion.saturate;
        match (conversion.to, conversion.from, to, from) {
            (Type::U64 | Type::S64, Type::U32, Register::Reg64(to), Register::Reg32(from)) => {
                self.emit(Op::Widen(false, to, from));
            }
            (Type::S64, Type::S32, Register::Reg64(to), Register::Reg32(from)) => {
                self.emit(Op::Widen(true, to, from));
            }
            (Type::U64, Type::S32, Register::Reg64(to), Register::Reg32(from)) if plain => {
                self.emit(Op::Widen(true, to, from));
            }
            (
                Type::U32 | Type::S32,
                Type::U64 | Type::S64,
                Register::Reg32(to),
                Register::Reg64(from),
            ) if plain => self.emit(Op::Narrow(to, from)),
            (_, _, Register::Predicate(_), _) | (_, _, _, Register::Predicate(_)) => {
                return Err("predicates cannot be converted".into());
            }
            _ => {
                if !conversion.is_supported() {
                    return Err(Failure::Unknown);
                }
                self.emit_lane(LaneFunction::Convert(conversion), to, vec![from]);
            }
        }
        Ok(())
    }

    /// `cvta[.to].space.size d, a`: generic addresses are state-space addresses plus the base of
    /// the space's window.
    pub(super) fn convert_address(
        &mut self,
        mut mods: Modifiers<'_>,
        operands: &[Operand],
    ) -> Outcome {
        let [to, from] = operands else {
            return Err("expected two operands".into());
        };
        let ty = mods.ty()?;
        let to_space = mods.take("to");
        let space = super::memory::take_space(&mut mods);
        mods.finish()?;
        if ty.bytes() != 8 {
            return Err("32-bit generic addresses are not supported".into());
        }
        let base = match space {
            Space::Shared | Space::Cluster => address_space::SHARED_BASE,
            Space::Local => address_space::LOCAL_BASE,
            Space::Global | Space::Const | Space::Param => 0,
            Space::Generic => return Err(Failure::Unknown),
        };
        let base = if to_space { base.wrapping_neg() } else { base };
        let from = self.reg64(from, ty)?;
        let to = self.reg64_destination(to)?;
        if base == 0 {
            self.emit(Op::Move64(to, from));
        } else {
            let base = self.reg64_constant(Constant::Bits(base));
            self.emit(Op::Binary64(crate::ir::Binary::Add, to, from, base));
        }
        Ok(())
    }

    /// `isspacep.space p, a`
    pub(super) fn is_space(&mut self, mut mods: Modifiers<'_>, operands: &[Operand]) -> Outcome {
        let [to, from] = operands else {
            return Err("expected two operands".into());
        };
        let space = super::memory::take_space(&mut mods);
        mods.finish()?;
        let (start, end) = address_space::window(space).ok_or(Failure::Unknown)?;
        let from = self.reg64(from, Type::U64)?;
        let to = self.predicate_destination(to)?;
        // start <= a < end, as one unsigned comparison.
        let offset = self.new_reg64();
        let start_constant = self.reg64_constant(Constant::Bits(start.wrapping_neg()));
        let length = self.reg64_constant(Constant::Bits(end - start));
        self.emit(Op::Binary64(
            crate::ir::Binary::Add,
            offset,
            from,
            start_constant,
        ));
        self.emit(Op::Compare64(
            crate::ir::Comparison::LessUnsigned,
            false,
            to,
            offset,
            length,
        ));
        Ok(())
    }
}

/// The type of each element when a value of `ty` is split into `count` elements.
fn element_type(ty: Type, count: usize) -> Result<Type, Failure> {
    match (ty.bytes(), count) {
        (8, 2) => Ok(Type::B32),
        (8, 4) | (4, 2) => Ok(Type::B16),
        (4, 4) | (2, 2) => Ok(Type::B8),
        _ => Err(Failure::Unknown),
    }
}
