//! Video instructions (PTX ISA, "Video Instructions"): arithmetic on bytes and halves of words,
//! with a second operation or a merge.

use super::builder::Builder;
use super::modifiers::{Failure, Modifiers};
use crate::ir::{
    LaneFunction, Part, PartsFunction, Register, SecondOperation, Video, VideoComparison,
    VideoFunction, VideoParts, VideoProduct,
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

fn comparison(name: &str) -> Option<VideoComparison> {
    Some(match name {
        "eq" => VideoComparison::Equal,
        "ne" => VideoComparison::NotEqual,
        "lt" => VideoComparison::Less,
        "le" => VideoComparison::LessEqual,
        "gt" => VideoComparison::Greater,
        "ge" => VideoComparison::GreaterEqual,
        _ => return None,
    })
}

/// The digits behind the letter of a selector of halves or bytes, the last one first.
fn digits(name: &str, letter: char) -> Option<Vec<u8>> {
    let digits = name.strip_prefix(letter)?.bytes().rev();
    digits
        .map(|digit| digit.is_ascii_digit().then_some(digit.wrapping_sub(b'0')))
        .collect()
}

/// Which parts of the two sources an operand takes: `h10`, `b7654`.
fn parts_of_sources(name: &str, bits: u32) -> Option<[u8; 4]> {
    let (letter, count) = if bits == 16 { ('h', 2) } else { ('b', 4) };
    let found = digits(name, letter)?;
    let fits = found.len() == count && found.iter().all(|at| usize::from(*at) < 2 * count);
    let at = |place: usize| found.get(place).copied().unwrap_or(0);
    fits.then(|| std::array::from_fn(at))
}

/// The parts of the result that are computed: `h10`, `b320`.
fn mask_of_parts(name: &str, bits: u32) -> Option<u8> {
    let (letter, count) = if bits == 16 { ('h', 2) } else { ('b', 4) };
    let found = digits(name, letter)?;
    let rises = found.windows(2).all(|pair| pair[0] < pair[1]);
    let fits = !found.is_empty() && rises && found.iter().all(|at| *at < count);
    fits.then(|| found.iter().fold(0, |mask, at| mask | 1 << at))
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
            // The second operation has the type of the first operand.
            let of_a = *types.first().ok_or(Failure::Unknown)?;
            types.insert(0, of_a);
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
                let compare = mods.take_first(comparison);
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

    /// `vmad.dtype.atype.btype[.po][.sat][.shr7|.shr15] d, a[.asel], b[.bsel], c`
    pub(super) fn video_product(
        &mut self,
        mut mods: Modifiers<'_>,
        operands: &[Operand],
    ) -> Outcome {
        let [to, a, b, c] = operands else {
            return Err("expected four operands".into());
        };
        let plus_one = mods.take("po");
        let saturates = mods.take("sat");
        let shifts = [("shr7", 7), ("shr15", 15)].into_iter();
        let mut shifts = shifts.filter_map(|(name, shift)| mods.take(name).then_some(shift));
        let shift = shifts.next().unwrap_or(0);
        let known = |ty: Type| matches!(ty, Type::U32 | Type::S32);
        let (of_b, of_a, of_d) = (mods.ty()?, mods.ty()?, mods.ty()?);
        mods.finish()?;
        if ![of_a, of_b, of_d].into_iter().all(known) {
            return Err(Failure::Unknown);
        }
        let ((a, part_a), (b, part_b)) = (self.selected(a)?, self.selected(b)?);
        let c = self.source(c, Type::B32)?;
        let to = self.destination(to, Type::B32)?;
        let product = VideoProduct {
            signed: [of_a, of_b].map(Type::is_signed),
            parts: [part_a, part_b].map(|part| part.unwrap_or(Part::WHOLE)),
            plus_one,
            saturates,
            shift,
        };
        self.emit_lane(LaneFunction::VideoProduct(product), to, vec![a, b, c]);
        Ok(())
    }

    /// `vadd2.dtype.atype.btype[.sat|.add] d[.mask], a[.asel], b[.bsel], c` and its likes.
    pub(super) fn video_parts(
        &mut self,
        base: &str,
        mut mods: Modifiers<'_>,
        operands: &[Operand],
    ) -> Outcome {
        let [to, a, b, c] = operands else {
            return Err("expected four operands".into());
        };
        let (name, bits) = match (base.strip_suffix('2'), base.strip_suffix('4')) {
            (Some(name), _) => (name, 16),
            (_, Some(name)) => (name, 8),
            _ => return Err(Failure::Unknown),
        };
        let mut types = Vec::new();
        while let Some(ty) = mods.take_first(Type::parse) {
            types.push(ty);
        }
        let function = match name {
            "vadd" => PartsFunction::Add,
            "vsub" => PartsFunction::Sub,
            "vavrg" => PartsFunction::Average,
            "vabsdiff" => PartsFunction::AbsoluteDifference,
            "vmin" => PartsFunction::Min,
            "vmax" => PartsFunction::Max,
            "vset" => {
                // Its results are 0 or 1.
                types.insert(0, Type::U32);
                PartsFunction::Set(mods.take_first(comparison).ok_or(Failure::Unknown)?)
            }
            _ => return Err(Failure::Unknown),
        };
        let accumulates = mods.take("add");
        let saturates = !accumulates && name != "vset" && mods.take("sat");
        mods.finish()?;
        let known = |ty: &Type| matches!(ty, Type::U32 | Type::S32);
        let &[of_d, of_a, of_b] = types.as_slice() else {
            return Err(Failure::Unknown);
        };
        if !types.iter().all(known) {
            return Err(Failure::Unknown);
        }
        let sides = if bits == 16 {
            ["h10", "h32"]
        } else {
            ["b3210", "b7654"]
        };
        let wrong = || Failure::from("this selector does not fit the instruction");
        let (a, of_source) = self.suffixed(a)?;
        let first = parts_of_sources(of_source.unwrap_or(sides[0]), bits).ok_or_else(wrong)?;
        let (b, of_source) = self.suffixed(b)?;
        let second = parts_of_sources(of_source.unwrap_or(sides[1]), bits).ok_or_else(wrong)?;
        let (to, of_result) = match self.suffix(to)? {
            Some((to, suffix)) => (to, Some(suffix)),
            None => (self.destination(to, Type::B32)?, None),
        };
        let mask = mask_of_parts(of_result.unwrap_or(sides[0]), bits).ok_or_else(wrong)?;
        let video = VideoParts {
            function,
            bits,
            signed: [of_d, of_a, of_b].map(Type::is_signed),
            selected: [first, second],
            mask,
            saturates,
            accumulates,
        };
        let c = self.source(c, Type::B32)?;
        self.emit_lane(LaneFunction::VideoParts(video), to, vec![a, b, c]);
        Ok(())
    }
}

impl<'a> Builder<'a, '_> {
    /// A register and the selector behind it, if there is one.
    fn suffix(&mut self, operand: &Operand) -> Result<Option<(Register, &'a str)>, Failure> {
        let Operand::Name(name) = operand else {
            return Ok(None);
        };
        let Some((register, suffix)) = name.of(self.text).rsplit_once('.') else {
            return Ok(None);
        };
        Ok(match self.lookup(register)? {
            Some(super::scope::Binding::Register(register, _)) => Some((register, suffix)),
            _ => None,
        })
    }

    fn suffixed(&mut self, operand: &Operand) -> Result<(Register, Option<&'a str>), Failure> {
        match self.suffix(operand)? {
            Some((register, suffix)) => Ok((register, Some(suffix))),
            None => Ok((self.source(operand, Type::B32)?, None)),
        }
    }
}
