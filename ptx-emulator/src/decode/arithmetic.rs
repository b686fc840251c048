//! Integer, logic, float and comparison instructions (PTX ISA, sections "Integer Arithmetic
//! Instructions" to "Comparison and Selection Instructions").

use super::builder::Builder;
use super::modifiers::{Failure, Modifiers};
use crate::ir::{
    Binary, Constant, Conversion, FloatFormat, FloatFunction, IntegerFunction, LaneFunction,
    LaneOp, Op, PredicateOp, Register, Rounding, Ternary, Unary,
};
use ptx_syntax::ast::{Operand, Type};

type Outcome = Result<(), Failure>;

pub(super) fn is_half(ty: Type) -> bool {
    matches!(ty, Type::F16 | Type::F16x2 | Type::Bf16 | Type::Bf16x2)
}

/// `.f32x2`
fn pair_of_singles(name: &str) -> Option<()> {
    (name == "f32x2").then_some(())
}

/// Whether the type is that of 16-bit operands in front of which stands that of the result.
fn is_mixed(ty: Type, mods: &Modifiers<'_>) -> bool {
    matches!(ty, Type::F16 | Type::Bf16) && mods.rest().last() == Some(&"f32")
}

impl Builder<'_, '_> {
    /// `neg`, `abs`, `not`, … : one operand.
    pub(super) fn unary(
        &mut self,
        base: &str,
        mut mods: Modifiers<'_>,
        operands: &[Operand],
    ) -> Outcome {
        let [to, from] = operands else {
            return Err("expected two operands".into());
        };
        let ty = mods.ty()?;
        if ty == Type::Pred && base == "not" {
            mods.finish()?;
            let from = self.predicate_source(from)?;
            let to = self.predicate_destination(to)?;
            self.emit(Op::PredicateNot(to, from));
            return Ok(());
        }
        let flush = mods.take("ftz");
        mods.finish()?;
        let vector = match (base, ty) {
            ("not", Type::B32 | Type::B64) => Some(Unary::Not),
            ("neg", Type::S32 | Type::S64) => Some(Unary::Neg),
            ("neg", Type::F32 | Type::F64) if !flush => Some(Unary::FloatNeg),
            ("abs", Type::F32 | Type::F64) if !flush => Some(Unary::FloatAbs),
            _ => None,
        };
        let from = self.source(from, ty)?;
        // The results of these count bits and are 32 bits wide, whatever the operand is.
        let result = match base {
            "popc" | "clz" | "bfind" => Type::U32,
            _ => ty,
        };
        let to = self.destination(to, result)?;
        match (vector, to, from) {
            (Some(op), Register::Reg32(to), Register::Reg32(from)) => {
                self.emit(Op::Unary32(op, to, from));
                return Ok(());
            }
            (Some(op), Register::Reg64(to), Register::Reg64(from)) => {
                self.emit(Op::Unary64(op, to, from));
                return Ok(());
            }
            _ => {}
        }
        let function = if ty.is_float() {
            let function = match base {
                "neg" => FloatFunction::Neg,
                "abs" => FloatFunction::Abs,
                _ => return Err(Failure::Unknown),
            };
            LaneFunction::Float(function, FloatFormat::new(ty).flushing(flush))
        } else {
            let function = match base {
                "not" => IntegerFunction::Not,
                "cnot" => IntegerFunction::LogicalNot,
                "neg" => IntegerFunction::Neg,
                "abs" => IntegerFunction::Abs,
                "popc" => IntegerFunction::PopulationCount,
                "clz" => IntegerFunction::LeadingZeros,
                "brev" => IntegerFunction::ReverseBits,
                _ => return Err(Failure::Unknown),
            };
            match ty {
                Type::S8x4 => LaneFunction::Parts(function, Type::S8),
                ty => LaneFunction::Integer(function, ty),
            }
        };
        self.emit_lane(function, to, vec![from]);
        Ok(())
    }

    /// Two-operand arithmetic and logic.
    pub(super) fn binary(
        &mut self,
        base: &str,
        mut mods: Modifiers<'_>,
        operands: &[Operand],
    ) -> Outcome {
        if let ("min" | "max", [to, a, b, c]) = (base, operands) {
            return self.extreme_of_three(base, mods, to, [a, b, c]);
        }
        let [to, a, b] = operands else {
            return Err("expected three operands".into());
        };
        if matches!(base, "add" | "sub") && (mods.take("cc")) {
            return self.carry_chain(base, mods, operands, false, true);
        }
        if mods.take_last(pair_of_singles).is_some() {
            return self.float_pairs(base, mods, to, &[a, b]);
        }
        let ty = mods.ty()?;
        if matches!(base, "add" | "sub") && is_mixed(ty, &mods) {
            return self.mixed(base, ty, mods, to, &[a, b]);
        }
        if ty == Type::Pred {
            mods.finish()?;
            return self.predicate_logic(base, to, a, b);
        }
        if ty.is_float() {
            return self.float_binary(base, ty, mods, to, a, b);
        }
        let is_extreme = matches!(base, "min" | "max");
        let is_packed = matches!(ty, Type::U16x2 | Type::S16x2 | Type::U8x4 | Type::S8x4);
        if is_packed || is_extreme && mods.rest().contains(&"relu") {
            return self.integer_pairs(base, ty, mods, [to, a, b]);
        }
        let low = mods.take("lo");
        let high = mods.take("hi");
        let wide = mods.take("wide");
        let saturating = mods.take("sat");
        mods.finish()?;
        if wide {
            return self.multiply_wide(ty, to, a, b, None);
        }
        let signed = ty.is_signed();
        let vector = match base {
            "add" if !saturating => Some(Binary::Add),
            "sub" if !saturating => Some(Binary::Sub),
            "mul" if low => Some(Binary::Mul),
            "mul" if high && signed => Some(Binary::MulHighSigned),
            "mul" if high => Some(Binary::MulHighUnsigned),
            "and" => Some(Binary::And),
            "or" => Some(Binary::Or),
            "xor" => Some(Binary::Xor),
            "min" if signed => Some(Binary::MinSigned),
            "min" => Some(Binary::MinUnsigned),
            "max" if signed => Some(Binary::MaxSigned),
            "max" => Some(Binary::MaxUnsigned),
            _ => None,
        };
        let a = self.source(a, ty)?;
        let b = self.source(b, ty)?;
        let to = self.destination(to, ty)?;
        match (vector, to, a, b) {
            (Some(op), Register::Reg32(to), Register::Reg32(a), Register::Reg32(b))
                if ty.bytes() == 4 =>
            {
                self.emit(Op::Binary32(op, to, a, b));
                return Ok(());
            }
            (Some(op), Register::Reg64(to), Register::Reg64(a), Register::Reg64(b)) => {
                self.emit(Op::Binary64(op, to, a, b));
                return Ok(());
            }
            _ => {}
        }
        let function = match base {
            "add" if saturating => IntegerFunction::AddSaturating,
            "add" => IntegerFunction::Add,
            "sub" if saturating => IntegerFunction::SubSaturating,
            "sub" => IntegerFunction::Sub,
            "mul" if low => IntegerFunction::MulLow,
            "mul" if high => IntegerFunction::MulHigh,
            "mul24" if low => IntegerFunction::Mul24Low,
            "mul24" if high => IntegerFunction::Mul24High,
            "div" => IntegerFunction::Div,
            "rem" => IntegerFunction::Rem,
            "min" => IntegerFunction::Min,
            "max" => IntegerFunction::Max,
            "and" => IntegerFunction::And,
            "or" => IntegerFunction::Or,
            "xor" => IntegerFunction::Xor,
            _ => return Err(Failure::Unknown),
        };
        self.emit_lane(LaneFunction::Integer(function, ty), to, vec![a, b]);
        Ok(())
    }

    /// `add`, `sub`, `min` and `max` of the halves or the bytes of words, and `.relu` of signed
    /// integers.
    fn integer_pairs(
        &mut self,
        base: &str,
        ty: Type,
        mut mods: Modifiers<'_>,
        [to, a, b]: [&Operand; 3],
    ) -> Outcome {
        let relu = mods.take("relu");
        let saturating = mods.take("sat");
        mods.finish()?;
        let function = match base {
            "add" if saturating => IntegerFunction::AddSaturating,
            "add" => IntegerFunction::Add,
            "sub" if saturating => IntegerFunction::SubSaturating,
            "sub" => IntegerFunction::Sub,
            "min" => IntegerFunction::Min,
            "max" => IntegerFunction::Max,
            _ => return Err(Failure::Unknown),
        };
        let of = |function| match ty {
            Type::U16x2 => Some(LaneFunction::Parts(function, Type::U16)),
            Type::S16x2 => Some(LaneFunction::Parts(function, Type::S16)),
            Type::U8x4 => Some(LaneFunction::Parts(function, Type::U8)),
            Type::S8x4 => Some(LaneFunction::Parts(function, Type::S8)),
            Type::S32 => Some(LaneFunction::Integer(function, ty)),
            _ => None,
        };
        let of = |function| of(function).ok_or(Failure::Unknown);
        let (a, b) = (self.source(a, Type::B32)?, self.source(b, Type::B32)?);
        let to = self.destination(to, Type::B32)?;
        if !relu {
            self.emit_lane(of(function)?, to, vec![a, b]);
            return Ok(());
        }
        if !ty.is_signed() {
            return Err(Failure::Unknown);
        }
        let raw = self.new_register(Type::B32)?;
        let zero = self.constant(Constant::Bits(0), Type::B32)?;
        self.emit_lane(of(function)?, raw, vec![a, b]);
        self.emit_lane(of(IntegerFunction::Max)?, to, vec![raw, zero]);
        Ok(())
    }

    fn predicate_logic(&mut self, base: &str, to: &Operand, a: &Operand, b: &Operand) -> Outcome {
        let op = match base {
            "and" => PredicateOp::And,
            "or" => PredicateOp::Or,
            "xor" => PredicateOp::Xor,
            _ => return Err(Failure::Unknown),
        };
        let a = self.predicate_source(a)?;
        let b = self.predicate_source(b)?;
        let to = self.predicate_destination(to)?;
        self.emit(Op::PredicateBinary(op, to, a, b));
        Ok(())
    }

    /// `mul.wide` and `mad.wide`.
    fn multiply_wide(
        &mut self,
        ty: Type,
        to: &Operand,
        a: &Operand,
        b: &Operand,
        addend: Option<&Operand>,
    ) -> Outcome {
        let wide = match ty {
            Type::U16 => Type::U32,
            Type::S16 => Type::S32,
            Type::U32 => Type::U64,
            Type::S32 => Type::S64,
            _ => return Err(Failure::Unknown),
        };
        let a = self.source(a, ty)?;
        let b = self.source(b, ty)?;
        let addend = addend.map(|c| self.source(c, wide)).transpose()?;
        let to = self.destination(to, wide)?;
        let signed = ty.is_signed();
        match (to, a, b, addend) {
            (Register::Reg64(to), Register::Reg32(a), Register::Reg32(b), None) => {
                self.emit(Op::MulWide(signed, to, a, b));
            }
            (
                Register::Reg64(to),
                Register::Reg32(a),
                Register::Reg32(b),
                Some(Register::Reg64(c)),
            ) => self.emit(Op::MulAddWide(signed, to, a, b, c)),
            _ => {
                let multiply = LaneFunction::Integer(IntegerFunction::MulWide, ty);
                match addend {
                    None => self.emit_lane(multiply, to, vec![a, b]),
                    Some(addend) => {
                        let product = self.new_register(wide)?;
                        self.emit_lane(multiply, product, vec![a, b]);
                        let add = LaneFunction::Integer(IntegerFunction::Add, wide);
                        self.emit_lane(add, to, vec![product, addend]);
                    }
                }
            }
        }
        Ok(())
    }

    fn float_binary(
        &mut self,
        base: &str,
        ty: Type,
        mut mods: Modifiers<'_>,
        to: &Operand,
        a: &Operand,
        b: &Operand,
    ) -> Outcome {
        let approximate = mods.take("approx") || mods.take("full");
        let mut format = float_format(ty, &mut mods);
        format.xor_sign = mods.take("xorsign") && mods.take("abs");
        mods.finish()?;
        let is_extreme = matches!(base, "min" | "max");
        if format.flush && ty == Type::F64 || format.xor_sign && !is_extreme {
            return Err(Failure::Unknown);
        }
        let plain = format.is_plain() && !is_half(ty);
        let (vector, function) = match base {
            "add" => (Some(Binary::FloatAdd), FloatFunction::Add),
            "sub" => (Some(Binary::FloatSub), FloatFunction::Sub),
            "mul" => (Some(Binary::FloatMul), FloatFunction::Mul),
            "div" if approximate => (None, FloatFunction::DivApprox),
            "div" => (Some(Binary::FloatDiv), FloatFunction::Div),
            "min" => (Some(Binary::FloatMin), FloatFunction::Min),
            "max" => (Some(Binary::FloatMax), FloatFunction::Max),
            "copysign" => (None, FloatFunction::CopySign),
            _ => return Err(Failure::Unknown),
        };
        let a = self.source(a, ty)?;
        let b = self.source(b, ty)?;
        let to = self.destination(to, ty)?;
        match (vector.filter(|_| plain), to, a, b) {
            (Some(op), Register::Reg32(to), Register::Reg32(a), Register::Reg32(b)) => {
                self.emit(Op::Binary32(op, to, a, b));
            }
            (Some(op), Register::Reg64(to), Register::Reg64(a), Register::Reg64(b)) => {
                self.emit(Op::Binary64(op, to, a, b));
            }
            _ => self.emit_lane(LaneFunction::Float(function, format), to, vec![a, b]),
        }
        Ok(())
    }

    /// `add.f32x2`, `fma.rn.f32x2` and their likes: the halves of 64-bit registers.
    fn float_pairs(
        &mut self,
        base: &str,
        mut mods: Modifiers<'_>,
        to: &Operand,
        sources: &[&Operand],
    ) -> Outcome {
        let rounds = mods.explicit_rounding();
        let flush = mods.take("ftz");
        mods.finish()?;
        let function = match (base, rounds) {
            ("add", _) => FloatFunction::Add,
            ("sub", _) => FloatFunction::Sub,
            ("mul", _) => FloatFunction::Mul,
            ("fma", Some(_)) => FloatFunction::Fma,
            _ => return Err(Failure::Unknown),
        };
        let mut format = FloatFormat::new(Type::F32).flushing(flush);
        format.rounding = rounds.unwrap_or(Rounding::NearestEven);
        let sources = sources
            .iter()
            .map(|operand| self.source(operand, Type::B64))
            .collect::<Result<Vec<_>, _>>()?;
        let to = self.destination(to, Type::B64)?;
        self.emit_lane(LaneFunction::FloatPair(function, format), to, sources);
        Ok(())
    }

    /// `add.f32.f16 d, a, c`, `fma.rn.f32.bf16 d, a, b, c` and their likes: all operands but the
    /// last have 16 bits, and their values are exact in f32.
    fn mixed(
        &mut self,
        base: &str,
        half: Type,
        mut mods: Modifiers<'_>,
        to: &Operand,
        operands: &[&Operand],
    ) -> Outcome {
        let ty = mods.ty()?;
        let rounds = mods.explicit_rounding();
        let saturate = mods.take("sat");
        mods.finish()?;
        let function = match (base, rounds) {
            ("add", _) => FloatFunction::Add,
            ("sub", _) => FloatFunction::Sub,
            ("fma", Some(_)) => FloatFunction::Fma,
            _ => return Err(Failure::Unknown),
        };
        let Some((last, halves)) = operands.split_last() else {
            return Err("expected operands".into());
        };
        let conversion = Conversion {
            to: ty,
            from: half,
            rounding: Rounding::NearestEven,
            to_integral: false,
            flush: false,
            saturate: false,
            finite: false,
            relu: false,
            register_bits: 32,
        };
        let mut sources = Vec::new();
        for operand in halves {
            let narrow = self.source(operand, half)?;
            let wide = self.new_register(ty)?;
            self.emit_lane(LaneFunction::Convert(conversion), wide, vec![narrow]);
            sources.push(wide);
        }
        sources.push(self.source(last, ty)?);
        let to = self.destination(to, ty)?;
        let format = FloatFormat {
            rounding: rounds.unwrap_or(Rounding::NearestEven),
            saturate,
            ..FloatFormat::new(ty)
        };
        self.emit_lane(LaneFunction::Float(function, format), to, sources);
        Ok(())
    }

    /// `min` and `max` of three f32; `.abs` takes their magnitudes.
    fn extreme_of_three(
        &mut self,
        base: &str,
        mut mods: Modifiers<'_>,
        to: &Operand,
        sources: [&Operand; 3],
    ) -> Outcome {
        let ty = mods.ty()?;
        let format = FloatFormat {
            flush: mods.take("ftz"),
            nan_wins: mods.take("NaN"),
            ..FloatFormat::new(ty)
        };
        let magnitudes = mods.take("abs");
        mods.finish()?;
        if ty != Type::F32 {
            return Err(Failure::Unknown);
        }
        let function = match base {
            "min" => FloatFunction::Min,
            _ => FloatFunction::Max,
        };
        let mut found = Vec::new();
        for operand in sources {
            let mut source = self.source(operand, ty)?;
            if magnitudes {
                let magnitude = self.new_register(ty)?;
                let abs = LaneFunction::Float(FloatFunction::Abs, FloatFormat::new(ty));
                self.emit_lane(abs, magnitude, vec![source]);
                source = magnitude;
            }
            found.push(source);
        }
        let of_two = self.new_register(ty)?;
        let to = self.destination(to, ty)?;
        let function = LaneFunction::Float(function, format);
        self.emit_lane(function, of_two, vec![found[0], found[1]]);
        self.emit_lane(function, to, vec![of_two, found[2]]);
        Ok(())
    }

    /// `mad`, `fma`, `sad`, …: three operands.
    pub(super) fn ternary(
        &mut self,
        base: &str,
        mut mods: Modifiers<'_>,
        operands: &[Operand],
    ) -> Outcome {
        let [to, a, b, c] = operands else {
            return Err("expected four operands".into());
        };
        if base == "mad" && mods.take("cc") {
            return self.carry_chain(base, mods, operands, false, true);
        }
        if base == "fma" && mods.take_last(pair_of_singles).is_some() {
            return self.float_pairs(base, mods, to, &[a, b, c]);
        }
        let ty = mods.ty()?;
        if base == "fma" && is_mixed(ty, &mods) {
            return self.mixed(base, ty, mods, to, &[a, b, c]);
        }
        if mods.take("oob") {
            return Err(Failure::refused(
                "`fma.oob` is refused: the PTX ISA does not state which pattern marks an \
                        element that lies out of bounds",
            ));
        }
        if ty.is_float() {
            let format = float_format(ty, &mut mods);
            mods.finish()?;
            let plain = format.is_plain() && !is_half(ty);
            let (a, b, c) = (
                self.source(a, ty)?,
                self.source(b, ty)?,
                self.source(c, ty)?,
            );
            let to = self.destination(to, ty)?;
            match (to, a, b, c) {
                (
                    Register::Reg32(to),
                    Register::Reg32(a),
                    Register::Reg32(b),
                    Register::Reg32(c),
                ) if plain => self.emit(Op::Ternary32(Ternary::FloatFma, to, a, b, c)),
                (
                    Register::Reg64(to),
                    Register::Reg64(a),
                    Register::Reg64(b),
                    Register::Reg64(c),
                ) if plain => self.emit(Op::Ternary64(Ternary::FloatFma, to, a, b, c)),
                _ => {
                    let function = LaneFunction::Float(FloatFunction::Fma, format);
                    self.emit_lane(function, to, vec![a, b, c]);
                }
            }
            return Ok(());
        }
        let low = mods.take("lo");
        let high = mods.take("hi");
        let wide = mods.take("wide");
        let saturating = mods.take("sat");
        mods.finish()?;
        if wide {
            return self.multiply_wide(ty, to, a, b, Some(c));
        }
        let (a, b, c) = (
            self.source(a, ty)?,
            self.source(b, ty)?,
            self.source(c, ty)?,
        );
        let to = self.destination(to, ty)?;
        if base == "mad" && low {
            match (to, a, b, c) {
                (
                    Register::Reg32(to),
                    Register::Reg32(a),
                    Register::Reg32(b),
                    Register::Reg32(c),
                ) if ty.bytes() == 4 => {
                    self.emit(Op::Ternary32(Ternary::MulAdd, to, a, b, c));
                    return Ok(());
                }
                (
                    Register::Reg64(to),
                    Register::Reg64(a),
                    Register::Reg64(b),
                    Register::Reg64(c),
                ) => {
                    self.emit(Op::Ternary64(Ternary::MulAdd, to, a, b, c));
                    return Ok(());
                }
                _ => {}
            }
        }
        let function = match base {
            "mad" if low => IntegerFunction::MadLow,
            "mad" if high && saturating => IntegerFunction::MadHighSaturating,
            "mad" if high => IntegerFunction::MadHigh,
            "mad24" if low => IntegerFunction::Mad24Low,
            "mad24" if high && saturating => IntegerFunction::Mad24HighSaturating,
            "mad24" if high => IntegerFunction::Mad24High,
            "sad" => IntegerFunction::SumOfAbsoluteDifferences,
            _ => return Err(Failure::Unknown),
        };
        self.emit_lane(LaneFunction::Integer(function, ty), to, vec![a, b, c]);
        Ok(())
    }

    /// `add.cc`, `addc[.cc]`, `sub.cc`, `subc[.cc]`, `mad.cc`, `madc[.cc]`.
    pub(super) fn carry_chain(
        &mut self,
        base: &str,
        mut mods: Modifiers<'_>,
        operands: &[Operand],
        carry_in: bool,
        carry_out: bool,
    ) -> Outcome {
        let ty = mods.ty()?;
        let (low, high) = (mods.take("lo"), mods.take("hi"));
        mods.finish()?;
        if !matches!(ty, Type::U32 | Type::S32 | Type::U64 | Type::S64) {
            return Err(Failure::Unknown);
        }
        let (to, a, b) = match (base, operands) {
            ("mad" | "madc", [to, x, y, c]) => {
                let (x, y) = (self.source(x, ty)?, self.source(y, ty)?);
                let product = self.new_register(ty)?;
                let function = match (low, high) {
                    (true, false) => IntegerFunction::MulLow,
                    (false, true) => IntegerFunction::MulHigh,
                    _ => return Err(Failure::Unknown),
                };
                self.emit_lane(LaneFunction::Integer(function, ty), product, vec![x, y]);
                (to, product, self.source(c, ty)?)
            }
            (_, [to, a, b]) => (to, self.source(a, ty)?, self.source(b, ty)?),
            _ => return Err("wrong number of operands".into()),
        };
        let to = self.destination(to, ty)?;
        let function = match base {
            "sub" | "subc" => LaneFunction::SubCarry(ty),
            _ => LaneFunction::AddCarry(ty),
        };
        let carry = self.carry();
        let mut arguments = vec![a, b];
        match (carry_in, base) {
            (true, _) => arguments.push(Register::Predicate(carry)),
            (false, "sub") => arguments.push(Register::Predicate(self.always())),
            _ => {}
        }
        self.emit_lane_op(LaneOp {
            function,
            destination: to,
            carry_out: carry_out.then_some(carry),
            arguments,
        });
        Ok(())
    }

    /// `sqrt`, `rcp`, `sin`, …: one float operand.
    pub(super) fn float_function(
        &mut self,
        base: &str,
        mut mods: Modifiers<'_>,
        operands: &[Operand],
    ) -> Outcome {
        let [to, from] = operands else {
            return Err("expected two operands".into());
        };
        let ty = mods.ty()?;
        let approximate = mods.take("approx");
        let format = float_format(ty, &mut mods);
        mods.finish()?;
        let function = match (base, approximate) {
            ("sqrt", false) => FloatFunction::Sqrt,
            ("sqrt", true) => FloatFunction::SqrtApprox,
            ("rcp", false) => FloatFunction::Rcp,
            ("rcp", true) => FloatFunction::RcpApprox,
            ("rsqrt", true) => FloatFunction::RsqrtApprox,
            ("sin", true) => FloatFunction::Sin,
            ("cos", true) => FloatFunction::Cos,
            ("ex2", true) => FloatFunction::Exp2,
            ("lg2", true) => FloatFunction::Log2,
            ("tanh", true) => FloatFunction::Tanh,
            _ => return Err(Failure::Unknown),
        };
        // Of f64 there are approximations of these two alone, and flushing only with them.
        let rough = matches!(base, "rcp" | "rsqrt") && approximate;
        let exists = match (ty, approximate) {
            (Type::F64, true) => base == "rsqrt" || rough && format.flush,
            (Type::F64, false) => !format.flush,
            _ => true,
        };
        if !ty.is_float() || !exists {
            return Err(Failure::Unknown);
        }
        let from = self.source(from, ty)?;
        let to = self.destination(to, ty)?;
        self.emit_lane(LaneFunction::Float(function, format), to, vec![from]);
        Ok(())
    }
}

impl FloatFormat {
    pub(crate) fn new(ty: Type) -> Self {
        FloatFormat {
            ty,
            rounding: Rounding::NearestEven,
            flush: false,
            saturate: false,
            relu: false,
            nan_wins: false,
            xor_sign: false,
        }
    }

    pub(crate) fn flushing(self, flush: bool) -> Self {
        FloatFormat { flush, ..self }
    }

    /// Whether the vectorised operations compute it: round to nearest, no modifier.
    fn is_plain(self) -> bool {
        self == FloatFormat::new(self.ty)
    }
}

fn float_format(ty: Type, mods: &mut Modifiers<'_>) -> FloatFormat {
    FloatFormat {
        ty,
        rounding: mods.rounding(),
        flush: mods.take("ftz"),
        saturate: mods.take("sat"),
        relu: mods.take("relu"),
        nan_wins: mods.take("NaN"),
        xor_sign: false,
    }
}
