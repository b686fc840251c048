//! Moves and conversions (PTX ISA, "Data Movement and Conversion Instructions").

use super::builder::Builder;
use super::modifiers::{Failure, Modifiers};
use crate::address_space;
use crate::ir::{
    ByteConversion, Constant, Conversion, LaneFunction, Op, Register, Rounding, Space, Timer,
};
use ptx_syntax::ast::{Operand, Type};

type Outcome = Result<(), Failure>;

impl Builder<'_, '_> {
    /// `mov`: registers, constants, addresses, special registers, packing and unpacking.
    pub(super) fn mov(&mut self, mut mods: Modifiers<'_>, operands: &[Operand]) -> Outcome {
        let [to, from] = operands else {
            return Err("expected two operands".into());
        };
        let ty = mods.ty()?;
        let is_vector = ["v2", "v4", "v8"].into_iter().any(|name| mods.take(name));
        mods.finish()?;
        if ty == Type::B128 {
            return self.move_vector(Type::B64, to, from);
        }
        if is_vector {
            return self.move_vector(ty, to, from);
        }
        if self.has_vectors {
            // A vector register stands for its elements in braces.
            let (parts, of_source) = (self.parts(to), self.parts(from));
            match (&*parts, &*of_source) {
                ([_], [_]) => {}
                ([_], parts) => return self.pack(ty, to, parts),
                (parts, _) => return self.unpack(ty, parts, from),
            }
        }
        match (to, from) {
            (Operand::Vector(parts), _) => return self.unpack(ty, self.elements(*parts), from),
            (_, Operand::Vector(parts)) => return self.pack(ty, to, self.elements(*parts)),
            _ => {}
        }
        let to = self.destination(to, ty)?;
        if let Operand::Name(name) = from {
            let timer = match name.of(self.text) {
                "%clock" | "%clock64" => Some((Timer::Clock, false)),
                "%clock_hi" => Some((Timer::Clock, true)),
                "%globaltimer" | "%globaltimer_lo" => Some((Timer::Nanoseconds, false)),
                "%globaltimer_hi" => Some((Timer::Nanoseconds, true)),
                _ => None,
            };
            match (timer, to) {
                (Some((timer, true)), Register::Reg32(to)) => {
                    let (whole, low) = (self.new_reg64(), self.new_reg32());
                    self.emit(Op::ReadTimer(timer, Register::Reg64(whole)));
                    self.emit(Op::Unpack(low, to, whole));
                    return Ok(());
                }
                (Some((timer, false)), to) => {
                    self.emit(Op::ReadTimer(timer, to));
                    return Ok(());
                }
                _ => {}
            }
        }
        let from = self.source(from, ty)?;
        self.emit_move(to, from)
    }

    /// `mov.v4.type`: element by element.
    fn move_vector(&mut self, ty: Type, to: &Operand, from: &Operand) -> Outcome {
        let (to, from) = (self.parts(to), self.parts(from));
        if to.len() != from.len() {
            return Err("the vectors have different numbers of elements".into());
        }
        // Elements may be exchanged: all are read before the first is written.
        let mut read = Vec::new();
        for part in from.iter() {
            let (source, kept) = (self.source(part, ty)?, self.new_register(ty)?);
            self.emit_move(kept, source)?;
            read.push(kept);
        }
        for (part, source) in to.iter().zip(read) {
            let destination = self.destination(part, ty)?;
            self.emit_move(destination, source)?;
        }
        Ok(())
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

    /// `cvt.pack.sat.type.s32[.b32] d, a, b[, c]`
    fn pack_integers(&mut self, mut mods: Modifiers<'_>, operands: &[Operand]) -> Outcome {
        let has_third = mods
            .take_last(|name| (name == "b32").then_some(()))
            .is_some();
        if mods.ty()? != Type::S32 || !mods.take("sat") {
            return Err(Failure::Unknown);
        }
        let name = mods.take_last(|name| {
            Some(match name {
                "u16" => (16, false),
                "s16" => (16, true),
                "u8" => (8, false),
                "s8" => (8, true),
                "u4" => (4, false),
                "s4" => (4, true),
                "u2" => (2, false),
                "s2" => (2, true),
                _ => return None,
            })
        });
        let (bits, signed) = name.ok_or(Failure::Unknown)?;
        mods.finish()?;
        let (to, sources) = match operands {
            [to, sources @ ..] if sources.len() == 2 + usize::from(has_third) => (to, sources),
            _ => return Err("wrong number of operands".into()),
        };
        if has_third != (bits != 16) {
            return Err(Failure::Unknown);
        }
        let sources = sources
            .iter()
            .map(|operand| self.source(operand, Type::B32));
        let sources = sources.collect::<Result<Vec<_>, _>>()?;
        let to = self.destination(to, Type::B32)?;
        self.emit_lane(LaneFunction::Pack { bits, signed }, to, sources);
        Ok(())
    }

    /// `cvt` to or from pairs of 8-bit floats.
    fn convert_bytes(
        &mut self,
        (to, from): (Type, Type),
        mut mods: Modifiers<'_>,
        operands: &[Operand],
    ) -> Outcome {
        let is_bytes = |ty| matches!(ty, Type::E4m3x2 | Type::E5m2x2);
        let narrows = is_bytes(to);
        let conversion = ByteConversion {
            bytes: if narrows { to } else { from },
            other: if narrows { from } else { to },
            narrows,
            relu: mods.take("relu"),
        };
        let known = mods.take("rn") && (!narrows || mods.take("satfinite"));
        mods.finish()?;
        let (of_source, count) = match (narrows, from) {
            (true, Type::F32) => (Type::F32, 2),
            (true, Type::F16x2) => (Type::B32, 1),
            (false, _) if to == Type::F16x2 => (Type::B16, 1),
            _ => return Err(Failure::Unknown),
        };
        let [to, sources @ ..] = operands else {
            return Err("expected operands".into());
        };
        if !known || sources.len() != count {
            return Err(Failure::Unknown);
        }
        let sources = sources
            .iter()
            .map(|operand| self.source(operand, of_source));
        let sources = sources.collect::<Result<Vec<_>, _>>()?;
        let to = self.destination(to, if narrows { Type::B16 } else { Type::B32 })?;
        self.emit_lane(LaneFunction::ConvertBytes(conversion), to, sources);
        Ok(())
    }

    /// `cvt` in all its forms.
    pub(super) fn convert(&mut self, mut mods: Modifiers<'_>, operands: &[Operand]) -> Outcome {
        if mods.take("pack") {
            return self.pack_integers(mods, operands);
        }
        let from = mods.ty()?;
        let to = mods.ty()?;
        let is_bytes = |ty| matches!(ty, Type::E4m3x2 | Type::E5m2x2);
        if is_bytes(to) || is_bytes(from) {
            return self.convert_bytes((to, from), mods, operands);
        }
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
            saturate: mods.take("sat"),
            finite: mods.take("satfinite"),
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
        let Conversion {
            flush,
            relu,
            finite,
            to_integral,
            ..
        } = conversion;
        let is_wide = matches!(conversion.to, Type::F32 | Type::F64);
        if is_wide && conversion.to == conversion.from && plain {
            let changes = flush || relu || finite || to_integral;
            if !changes {
                // A move: a NaN keeps all of its bits.
                return self.emit_move(to, from);
            }
        }
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
