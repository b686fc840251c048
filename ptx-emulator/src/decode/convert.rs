//! Moves and conversions (PTX ISA, "Data Movement and Conversion Instructions").

use super::builder::Builder;
use super::modifiers::{Failure, Modifiers};
use crate::address_space;
use crate::ir::{
    Constant, Conversion, LaneFunction, Op, RandomRounding, Register, Rounding, SmallConversion,
    SmallFloat, Space, Timer, is_float,
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
            if let (Operand::Vector(_), Operand::Vector(_)) = (to, from) {
                return Err("expected a `.b128` register on one side".into());
            }
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

    /// `cvt` to or from floats of at most 8 bits.
    fn convert_small(&mut self, mut mods: Modifiers<'_>, operands: &[Operand]) -> Outcome {
        let of_source = mods.take_last(packed_type).ok_or(Failure::Unknown)?;
        let of_result = mods.take_last(packed_type).ok_or(Failure::Unknown)?;
        let relu = mods.take("relu");
        let finite = mods.take("satfinite");
        let random = mods.take("rs");
        let rounding = match random {
            true => None,
            false => Some(mods.explicit_rounding().ok_or(Failure::Unknown)?),
        };
        mods.finish()?;
        let nearest = rounding == Some(Rounding::NearestEven);
        let (small, count, other, narrows) = match (of_result, of_source) {
            (Packed::Small(small, count), Packed::Other(other)) => (small, count, other, true),
            (Packed::Other(other), Packed::Small(small, count)) => (small, count, other, false),
            _ => return Err(Failure::Unknown),
        };
        let known = match (narrows, small, other, count) {
            (true, SmallFloat::Ue8m0, Type::F32 | Type::Bf16x2, 2) => {
                !relu && matches!(rounding, Some(Rounding::Zero | Rounding::Up))
            }
            (false, SmallFloat::Ue8m0, Type::Bf16x2, 2) => nearest && !relu && !finite,
            (_, SmallFloat::Ue8m0, ..) => false,
            (true, SmallFloat::E2m1, Type::F32, 4) if random => {
                return Err(Failure::refused(
                    "`cvt.rs` to `.e2m1x4` is refused: which random bits go to which value is \
                            not known",
                ));
            }
            (true, _, Type::F32, 4) => random && finite,
            (true, _, Type::F32, 2) => nearest && finite,
            (true, _, Type::F16x2 | Type::Bf16x2, 2) => nearest && finite,
            (false, _, Type::F16x2, 2) => nearest && !finite,
            (false, _, Type::Bf16x2, 2) => nearest,
            _ => false,
        };
        if !known {
            return Err(Failure::Unknown);
        }
        let conversion = SmallConversion {
            small,
            other,
            narrows,
            relu,
            finite,
            rounding,
        };
        if count == 4 {
            return self.convert_four(conversion, operands);
        }
        let packed = match small {
            SmallFloat::E2m1 => Type::B8,
            _ => Type::B16,
        };
        let (result, source, expected) = match (narrows, other) {
            (true, Type::F32) => (packed, Type::F32, 2),
            (true, _) => (packed, Type::B32, 1),
            (false, _) => (Type::B32, packed, 1),
        };
        let [to, sources @ ..] = operands else {
            return Err("expected operands".into());
        };
        if sources.len() != expected {
            return Err("wrong number of operands".into());
        }
        let sources = sources.iter().map(|operand| self.source(operand, source));
        let sources = sources.collect::<Result<Vec<_>, _>>()?;
        let to = self.destination(to, result)?;
        self.emit_lane(LaneFunction::ConvertSmall(conversion), to, sources);
        Ok(())
    }

    /// `cvt.rs.satfinite.e4m3x4.f32 d, {a, b, e, f}, rbits`: two pairs of values; the upper half of
    /// the random bits is for the first pair.
    fn convert_four(&mut self, conversion: SmallConversion, operands: &[Operand]) -> Outcome {
        let [to, values, random] = operands else {
            return Err("expected a register, four values and random bits".into());
        };
        let values = &*self.parts(values);
        let values = values.iter().map(|value| self.source(value, Type::F32));
        let values = values.collect::<Result<Vec<_>, _>>()?;
        let &[a, b, e, f] = values.as_slice() else {
            return Err("expected four values".into());
        };
        let random = self.source(random, Type::B32)?;
        let to = self.destination(to, Type::B32)?;
        let [of_first, lower, upper] = [(); 3].map(|()| Register::Reg32(self.new_reg32()));
        let extract = LaneFunction::ExtractBits {
            shift: 16,
            bits: 16,
            signed: false,
        };
        self.emit_lane(extract, of_first, vec![random]);
        let convert = LaneFunction::ConvertSmall(conversion);
        self.emit_lane(convert, lower, vec![e, f, random]);
        self.emit_lane(convert, upper, vec![a, b, of_first]);
        let insert = LaneFunction::InsertBits {
            shift: 16,
            bits: 16,
        };
        self.emit_lane(insert, to, vec![lower, upper]);
        Ok(())
    }

    /// `cvt.rs[.relu][.satfinite].f16x2.f32 d, a, b, rbits`
    fn round_randomly(&mut self, mut mods: Modifiers<'_>, operands: &[Operand]) -> Outcome {
        let [to, a, b, random] = operands else {
            return Err("expected four operands".into());
        };
        let half = match (mods.ty()?, mods.ty()?) {
            (Type::F32, Type::F16x2) => Type::F16,
            (Type::F32, Type::Bf16x2) => Type::Bf16,
            _ => return Err(Failure::Unknown),
        };
        let rounding = RandomRounding {
            half,
            relu: mods.take("relu"),
            finite: mods.take("satfinite"),
        };
        mods.finish()?;
        let (a, b) = (self.source(a, Type::F32)?, self.source(b, Type::F32)?);
        let random = self.source(random, Type::B32)?;
        let to = self.destination(to, Type::B32)?;
        self.emit_lane(
            LaneFunction::RoundRandomly(rounding),
            to,
            vec![a, b, random],
        );
        Ok(())
    }

    /// `cvt` in all its forms.
    pub(super) fn convert(&mut self, mut mods: Modifiers<'_>, operands: &[Operand]) -> Outcome {
        if mods.take("pack") {
            return self.pack_integers(mods, operands);
        }
        let is_small = |name: &&str| matches!(packed_type(name), Some(Packed::Small(..)));
        if mods.rest().iter().any(is_small) {
            return self.convert_small(mods, operands);
        }
        if mods.take("rs") {
            return self.round_randomly(mods, operands);
        }
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
            saturate: mods.take("sat"),
            finite: mods.take("satfinite"),
            relu: mods.take("relu"),
            register_bits: 0,
        };
        mods.finish()?;
        refuse_needless(&conversion)?;
        let halves = matches!(to, Type::F16x2 | Type::Bf16x2);
        match operands {
            [to_operand, source] if !halves => {
                let source = self.source_any(source, from)?;
                let (destination, bits) = self.destination_any(to_operand, to)?;
                let narrow = match source {
                    Register::Reg64(_) => is_float(from) && from.bytes() < 8,
                    _ => from.bytes() > 4,
                };
                if narrow || bits < 8 * to.bytes() {
                    return Err("an operand is not as wide as its type".into());
                }
                self.check_brain_width(&conversion, operands)?;
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

    /// Integers of 8 and 16 bits that are converted to or from bf16 stand in registers of their
    /// width: ptxas takes no wider ones, as it does for other types.
    fn check_brain_width(&mut self, conversion: &Conversion, operands: &[Operand]) -> Outcome {
        let types = [conversion.to, conversion.from];
        if !types.contains(&Type::Bf16) {
            return Ok(());
        }
        for (operand, ty) in operands.iter().zip(types) {
            if let Operand::Name(name) = operand
                && !is_float(ty)
                && ty.bytes() < 4
                && self.register(*name)?.1.bytes() != ty.bytes()
            {
                return Err("an operand is wider than its type".into());
            }
        }
        Ok(())
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
            return Err(Failure::refused(
                "32-bit generic addresses are not supported",
            ));
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
        let space = match space {
            Space::Shared if self.program.has_ranks => Space::Cluster,
            space => space,
        };
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

/// Refuses modifiers that `cvt` does not take between two types: those that would change nothing,
/// and those of conversions that do not exist (PTX ISA, "cvt").
fn refuse_needless(conversion: &Conversion) -> Outcome {
    let Conversion {
        to, from, saturate, ..
    } = *conversion;
    let is_brain = |ty| matches!(ty, Type::Bf16 | Type::Bf16x2);
    if saturate && is_brain(from) && !is_float(to) {
        return Err("`cvt` of bf16 to integers takes no `.sat`: it saturates by itself".into());
    }
    if saturate && !is_float(to) && !is_float(from) && holds_all(to, from) {
        return Err("`cvt` takes no `.sat` where the result has all values of the operand".into());
    }
    Ok(())
}

/// Whether an integer type has all values of another.
fn holds_all(to: Type, from: Type) -> bool {
    match (to.is_signed(), from.is_signed()) {
        (false, true) => false,
        (true, false) => to.bytes() > from.bytes(),
        _ => to.bytes() >= from.bytes(),
    }
}

/// What `cvt` of small floats has on either side.
enum Packed {
    /// Two or four of them.
    Small(SmallFloat, u32),
    /// `f32`, or a pair of 16-bit floats.
    Other(Type),
}

fn packed_type(name: &str) -> Option<Packed> {
    let of_pairs = match name {
        "f32" => return Some(Packed::Other(Type::F32)),
        "f16x2" => return Some(Packed::Other(Type::F16x2)),
        "bf16x2" => return Some(Packed::Other(Type::Bf16x2)),
        _ => name,
    };
    let (small, count) = of_pairs.rsplit_once('x')?;
    let small = match small {
        "e4m3" => SmallFloat::E4m3,
        "e5m2" => SmallFloat::E5m2,
        "e2m3" => SmallFloat::E2m3,
        "e3m2" => SmallFloat::E3m2,
        "e2m1" => SmallFloat::E2m1,
        "ue8m0" => SmallFloat::Ue8m0,
        _ => return None,
    };
    match count {
        "2" => Some(Packed::Small(small, 2)),
        "4" => Some(Packed::Small(small, 4)),
        _ => None,
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
