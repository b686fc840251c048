//! Opcodes: the base name and its dotted modifiers.

use super::stem;
use crate::ir::Rounding;
use ptx_syntax::ast::Type;

/// Why an instruction could not be decoded.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The opcode or one of its modifiers is not known.
    Unknown,
    /// Something is wrong with the operands.
    Message(String),
    /// The instruction is well formed and not supported, for this reason.
    Refused(String),
}

impl Failure {
    pub(crate) fn refused(reason: &str) -> Self {
        Failure::Refused(reason.to_string())
    }
}

impl From<String> for Failure {
    fn from(message: String) -> Self {
        Failure::Message(message)
    }
}

impl From<&str> for Failure {
    fn from(message: &str) -> Self {
        Failure::Message(message.to_string())
    }
}

/// Most components of an opcode; no instruction of PTX ISA 9.0 has as many.
pub(crate) const MAX_PARTS: usize = 16;

/// The modifiers of an opcode that have not been taken yet.
pub(crate) struct Modifiers<'a>(&'a mut [&'a str]);

impl<'a> Modifiers<'a> {
    /// The base name of an opcode, and its modifiers, which are stored in `parts`: types behind the
    /// others, and else in the order of the text. Only the order of types among themselves says
    /// something, since each goes with an operand; ptxas takes the other modifiers in any order.
    pub(crate) fn split(
        opcode: &'a str,
        parts: &'a mut [&'a str; MAX_PARTS],
    ) -> Result<(&'a str, Self), Failure> {
        let mut count = 0;
        let mut start = 0;
        let dots = opcode.bytes().enumerate().filter(|(_, byte)| *byte == b'.');
        for end in dots.map(|(at, _)| at).chain([opcode.len()]) {
            *parts.get_mut(count).ok_or(Failure::Unknown)? = &opcode[start..end];
            start = end + 1;
            count += 1;
        }
        let base = parts[0];
        let modifiers = &mut parts[1..count];
        if !stem::leads(base, modifiers) {
            return Err(Failure::Unknown);
        }
        // A stable sort would allocate.
        let mut others = 0;
        for at in 0..modifiers.len() {
            if !is_type(modifiers[at]) {
                modifiers[others..=at].rotate_right(1);
                others += 1;
            }
        }
        Ok((base, Modifiers(modifiers)))
    }

    /// Those that are left: types behind the others, and else in the order of the text.
    pub(crate) fn rest(&self) -> &[&'a str] {
        self.0
    }

    fn remove(&mut self, at: usize) {
        self.0.copy_within(at + 1.., at);
        self.truncate(self.0.len() - 1);
    }

    fn truncate(&mut self, count: usize) {
        self.0 = &mut std::mem::take(&mut self.0)[..count];
    }

    /// Whether the modifier is there; it is used up.
    pub(crate) fn take(&mut self, name: &str) -> bool {
        let found = self.rest().iter().position(|&modifier| modifier == name);
        if let Some(at) = found {
            self.remove(at);
        }
        found.is_some()
    }

    /// Removes the first modifier for which `is_meant` holds, wherever it stands.
    pub(crate) fn take_any(&mut self, is_meant: impl Fn(&str) -> bool) {
        if let Some(at) = self.rest().iter().position(|&modifier| is_meant(modifier)) {
            self.remove(at);
        }
    }

    /// The first modifier that `accept` accepts.
    pub(crate) fn take_first<T>(&mut self, accept: impl Fn(&str) -> Option<T>) -> Option<T> {
        let mut all = self.rest().iter().enumerate();
        let (at, found) = all.find_map(|(at, name)| Some((at, accept(name)?)))?;
        self.remove(at);
        Some(found)
    }

    /// The last type of the opcode, if `accept` accepts it.
    pub(crate) fn take_last<T>(&mut self, accept: impl Fn(&str) -> Option<T>) -> Option<T> {
        let found = accept(self.rest().last()?)?;
        self.truncate(self.0.len() - 1);
        Some(found)
    }

    /// The last type of the opcode.
    pub(crate) fn ty(&mut self) -> Result<Type, Failure> {
        self.take_last(Type::parse).ok_or(Failure::Unknown)
    }

    /// A rounding modifier of float results; nearest-even where there is none.
    pub(crate) fn rounding(&mut self) -> Rounding {
        self.explicit_rounding().unwrap_or(Rounding::NearestEven)
    }

    /// A rounding modifier of float results, if there is one.
    pub(crate) fn explicit_rounding(&mut self) -> Option<Rounding> {
        const NAMES: [(&str, Rounding); 5] = [
            ("rn", Rounding::NearestEven),
            ("rz", Rounding::Zero),
            ("rm", Rounding::Down),
            ("rp", Rounding::Up),
            ("rna", Rounding::NearestAway),
        ];
        let found = NAMES.into_iter().find(|(name, _)| self.take(name));
        found.map(|(_, rounding)| rounding)
    }

    /// Removes every modifier for which `known` holds.
    pub(crate) fn drop_known(&mut self, known: impl Fn(&str) -> bool) {
        let mut kept = 0;
        for at in 0..self.0.len() {
            let modifier = self.0[at];
            self.0[kept] = modifier;
            kept += usize::from(!known(modifier));
        }
        self.truncate(kept);
    }

    /// Fails if a modifier is left: then the instruction is one that we do not know.
    pub(crate) fn finish(self) -> Result<(), Failure> {
        match self.0 {
            [] => Ok(()),
            _ => Err(Failure::Unknown),
        }
    }
}

/// Whether a modifier is a type, of any instruction: a letter or two and a number of bits, with
/// the numbers of a float's bits (`e4m3`) and of packed elements (`f16x2`, `b6x16_p32`) behind.
/// `b1024` says how large tensor maps are, and goes with no operand.
fn is_type(name: &str) -> bool {
    const LETTERS: [&str; 8] = ["ue", "bf", "tf", "b", "u", "s", "f", "e"];
    let mut bits = LETTERS
        .into_iter()
        .filter_map(|letters| name.strip_prefix(letters));
    let is_number = |byte: u8| matches!(byte, b'0'..=b'9' | b'm' | b'f' | b'x' | b'_' | b'p');
    name == "pred"
        || name != "b1024"
            && bits.any(|rest| {
                let ends = [rest.bytes().next(), rest.bytes().last()];
                let has_digits = ends.iter().flatten().all(u8::is_ascii_digit);
                !rest.is_empty() && has_digits && rest.bytes().all(is_number)
            })
}

#[cfg(test)]
mod tests {
    use super::{MAX_PARTS, Modifiers, is_type};

    #[test]
    fn types_stand_behind_in_their_order() {
        let mut parts = [""; MAX_PARTS];
        let (base, modifiers) = Modifiers::split("cvt.f16.rn.u8.sat", &mut parts).expect("short");
        assert_eq!(
            (base, modifiers.rest()),
            ("cvt", &["rn", "sat", "f16", "u8"][..])
        );
    }

    #[test]
    fn types_are_told_from_other_modifiers() {
        let types = "pred b1 b128 u16x2 s4 f32x2 bf16x2 tf32 e4m3x4 ue8m0 ue8m0x2 s2f6x2 b6x16_p32";
        assert!(types.split(' ').all(is_type));
        let others =
            "b b1024 f4e b4e rc8 m8n8 x1 a2d 2d v4 relu sys xor up bfly full uni footprint b_x s_8";
        for name in others.split(' ') {
            assert!(!is_type(name), "{name}");
        }
    }
}
