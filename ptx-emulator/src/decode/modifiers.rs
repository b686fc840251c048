//! The dotted parts of an opcode.

use crate::ir::Rounding;
use crate::parse::ast::Type;

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

/// The modifiers of an opcode that no one has asked for yet.
pub(crate) struct Modifiers<'a>(pub Vec<&'a str>);

impl<'a> Modifiers<'a> {
    /// Whether the modifier is there; it is used up.
    pub(crate) fn take(&mut self, name: &str) -> bool {
        match self.0.iter().position(|&modifier| modifier == name) {
            Some(at) => {
                self.0.remove(at);
                true
            }
            None => false,
        }
    }

    /// The first modifier, if `accept` knows it.
    pub(crate) fn take_first<T>(&mut self, accept: impl Fn(&str) -> Option<T>) -> Option<T> {
        let found = accept(self.0.first()?)?;
        self.0.remove(0);
        Some(found)
    }

    /// The last modifier, if `accept` knows it.
    pub(crate) fn take_last<T>(&mut self, accept: impl Fn(&str) -> Option<T>) -> Option<T> {
        let found = accept(self.0.last()?)?;
        self.0.pop();
        Some(found)
    }

    /// The type at the end of the opcode.
    pub(crate) fn ty(&mut self) -> Result<Type, Failure> {
        self.take_last(Type::parse).ok_or(Failure::Unknown)
    }

    /// A rounding modifier of float results; nearest-even where there is none.
    pub(crate) fn rounding(&mut self) -> Rounding {
        const NAMES: [(&str, Rounding); 5] = [
            ("rn", Rounding::NearestEven),
            ("rz", Rounding::Zero),
            ("rm", Rounding::Down),
            ("rp", Rounding::Up),
            ("rna", Rounding::NearestAway),
        ];
        NAMES
            .into_iter()
            .find(|(name, _)| self.take(name))
            .map_or(Rounding::NearestEven, |(_, rounding)| rounding)
    }

    /// Removes every modifier for which `known` holds.
    pub(crate) fn drop_known(&mut self, known: impl Fn(&str) -> bool) {
        self.0.retain(|modifier| !known(modifier));
    }

    /// Fails if a modifier is left: then the instruction is one that we do not know.
    pub(crate) fn finish(self) -> Result<(), Failure> {
        if self.0.is_empty() {
            Ok(())
        } else {
            Err(Failure::Unknown)
        }
    }
}
