//! Scalar video instructions (PTX ISA, "Video Instructions"): arithmetic on bytes and halves of
//! words, with a second operation or a merge.

use super::builder::Builder;
use super::modifiers::{Failure, Modifiers};
use crate::ir::{
    LaneFunction, Part, Register, SecondOperation, Video, VideoComparison, VideoFunction,
};
use ptx_syntax::ast::{Operand, Type};

type Outcome = Result<(), Failure>;

/// `.b0` to `.b3`, `.h0` and `.h1` behind an operand.
fn selector(name: &str) -> Option<Part> {
    let (bits, at) = match name {
        "b0" => (8, 0),
        "b1" => (8, 1),
        "b2" => (8, 2),
        "b3" => (8, 3),
        "h0" => (16, 0),
        "h1" => (16, 1),
        _ => return None,
    };
    Some(Part {
        bits,
        shift: bits * at,
    })
}

impl Builder<'_, '_> {
    /// A register, and the part of it that a selector names.
    fn selected(&mut self, operand: &Operand) -> Result<(Register, Option<Part>), Failure> {
        if let Operand::Name(name) = operand {
            let text = name.of(self.text);
            if let Some((register, part)) = text.rsplit_once('.')
                && let Some(part) = selector(part)
                && let Some(super::scope::Binding::Register(register, _)) = self.lookup(register)?
            {
                return Ok((register, Some(part)));
            }
        }
        Ok((self.source(operand, Type::B32)?, None))
    }

    /// `vadd.dtype.atype.btype[.sat][.op2] d[.dsel], a[.asel], b[.bsel][, c]` and its likes.
    pub(super) fn video(
        &mut self,
        base: &str,
        mut mods: Modifiers<'_>,
        operands: &[Operand],
    ) -> Outcome {
        let function = match base {
            "vadd" => VideoFunction::Add,
            "vsub" => VideoFunction::Sub,
            "vabsdiff" => VideoFunction::AbsoluteDifference,
            "vmin" => VideoFunction::Min,
            "vmax" => VideoFunction::Max,
            "vshl" => VideoFunction::ShiftLeft,
            "vshr" => VideoFunction::ShiftRight,
            "vset" => VideoFunction::Set(VideoComparison::Equal),
            _ => return Err(Failure::Unknown),
        };
        let is_shift = matches!(
            function,
            VideoFunction::ShiftLeft | VideoFunction::ShiftRight
        );
        let mut types = Vec::new();
        while let Some(ty) = mods.take_first(Type::parse) {
            types.push(ty);
        }
        if let VideoFunction::Set(_) = function {
            // Its result is 0 or 1.
            types.insert(0, Type::U32);
        }
        let &[of_d, of_a, of_b] = types.as_slice() else {
            return Err(Failure::Unknown);
        };
        let known = |ty| matches!(ty, Type::U32 | Type::S32);
        if !known(of_d) || !known(of_a) || !known(of_b) || is_shift && of_b != Type::U32 {
            return Err(Failure::Unknown);
        }
        let saturates = mods.take("sat");
        let function = match function {
            VideoFunction::Set(_) => {
                let compare = mods.take_first(|name| {
                    Some(match name {
                        "eq" => VideoComparison::Equal,
                        "ne" => VideoComparison::NotEqual,
                        "lt" => VideoComparison::Less,
                        "le" => VideoComparison::LessEqual,
                        "gt" => VideoComparison::Greater,
                        "ge" => VideoComparison::GreaterEqual,
                        _ => return None,
                    })
                });
                if saturates {
                    return Err(Failure::Unknown);
                }
                VideoFunction::Set(compare.ok_or(Failure::Unknown)?)
            }
            function => function,
        };
        let clamps = mods.take("clamp");
        let wraps = mods.take("wrap");
        if is_shift != (clamps || wraps) {
            return Err(Failure::Unknown);
        }
        let second = mods.take_first(|name| {
            Some(match name {
                "add" => SecondOperation::Add,
                "min" => SecondOperation::Min,
                "max" => SecondOperation::Max,
                _ => return None,
            })
        });
        mods.finish()?;
        let (to, a, b, c) = match operands {
            [to, a, b] if second.is_none() => (to, a, b, None),
            [to, a, b, c] => (to, a, b, Some(c)),
            _ => return Err("wrong number of operands".into()),
        };
        let (to, merged) = self.selected(to)?;
        // A third operand without a second operation is merged with the selected part.
        if second.is_none() && c.is_some() != merged.is_some()
            || second.is_some() && merged.is_some()
        {
            return Err("the third operand does not fit the destination".into());
        }
        let ((a, of_part_a), (b, of_part_b)) = (self.selected(a)?, self.selected(b)?);
        let mut arguments = vec![a, b];
        if let Some(c) = c {
            arguments.push(self.source(c, Type::B32)?);
        }
        let video = Video {
            function,
            signed: [of_d, of_a, of_b].map(Type::is_signed),
            parts: [of_part_a, of_part_b].map(|part| part.unwrap_or(Part::WHOLE)),
            merged,
            saturates,
            clamps,
            second,
        };
        self.emit_lane(LaneFunction::Video(video), to, arguments);
        Ok(())
    }
}
