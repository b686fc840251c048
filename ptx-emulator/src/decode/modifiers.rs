//! Opcodes: the base name and its dotted modifiers.

use crate::ir::Rounding;
use ptx_syntax::ast::Type;

/// Why an instruction could not be decoded.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The opcode or one of its modifiers is not known.
    Unknown,
    /// Something is wrong with the operands.
    Message(String),
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
    /// The base name of an opcode, and its modifiers, which are stored in `parts`.
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
        Ok((parts[0], Modifiers(&mut parts[1..count])))
    }

    /// Those that are left, in the order of the text.
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

    /// The first modifier, if `accept` accepts it.
    pub(crate) fn take_first<T>(&mut self, accept: impl Fn(&str) -> Option<T>) -> Option<T> {
        let found = accept(self.rest().first()?)?;
        self.remove(0);
        Some(found)
    }

    /// The last modifier, if `accept` accepts it.
    pub(crate) fn take_last<T>(&mut self, accept: impl Fn(&str) -> Option<T>) -> Option<T> {
        let found = accept(self.rest().last()?)?;
        self.truncate(self.0.len() - 1);
        Some(found)
    }

    /// The type at the end of the opcode.
    pub(crate) fn ty(&mut self) -> Result<Type, Failure> {
        self.take_last(Type::parse).ok_or(Failure::Unknown)
    }

    /// The last type among the modifiers, wherever it stands.
    pub(crate) fn any_ty(&mut self) -> Result<Type, Failure> {
        let found = self.rest().iter().enumerate().rev();
        let mut found = found.filter_map(|(at, name)| Some((at, Type::parse(name)?)));
        let (at, ty) = found.next().ok_or(Failure::Unknown)?;
        self.remove(at);
        Ok(ty)
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
