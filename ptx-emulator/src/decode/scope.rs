//! What names refer to, by scope.

use rustc_hash::FxHashMap;

use super::builder::BlockId;
use crate::ir::{Reg32, Register, SystemFunction};
use ptx_syntax::ast::Type;

/// What a name refers to.
#[derive(Clone, Debug)]
pub(crate) enum Binding {
    Register(Register, Type),
    /// `.reg .v4`: its elements, and the type of each.
    Vector(Vec<Register>, Type),
    /// Offset of a kernel parameter.
    KernelParam {
        offset: u32,
        bytes: u64,
    },
    /// Registers that hold a parameter or result of a `.func` or of a call.
    Registers(Vec<Reg32>),
    Local {
        offset: u32,
    },
    Shared {
        offset: u32,
    },
    DynamicShared,
    /// Index into the module's variables.
    Variable(u32),
    /// Index into the module's functions.
    Function(u32),
    /// A function that the driver provides.
    System(SystemFunction),
    Label(BlockId),
    Targets(Vec<BlockId>),
    Prototype,
}

/// `.reg .b32 %r<16>;`
pub(super) struct Range<'a> {
    pub(super) prefix: &'a str,
    /// Its first bytes.
    pub(super) head: u64,
    pub(super) count: u32,
    pub(super) ty: Type,
    /// The registers with low numbers that have been used; the others are among the scope's names.
    pub(super) registers: Vec<Option<Register>>,
}

/// Registers of a range that are found by their number.
pub(super) const MAX_NUMBERED: u32 = 1 << 16;

#[derive(Default)]
pub(crate) struct Scope<'a> {
    pub(super) names: FxHashMap<&'a str, Binding>,
    /// Whether there are names that begin as those of registers do.
    pub(super) any_percent: bool,
    pub(super) ranges: Vec<Range<'a>>,
    /// `.reg .v4 .b32 %v<16>`: prefix, number, elements and type of each; a vector is among the
    /// names from its first use on.
    pub(super) vectors: Vec<(&'a str, u32, u32, Type)>,
}

impl<'a> Scope<'a> {
    pub(crate) fn with_names(names: FxHashMap<&'a str, Binding>) -> Self {
        let any_percent = names.keys().any(|name| name.starts_with('%'));
        Scope {
            names,
            any_percent,
            ranges: Vec::new(),
            vectors: Vec::new(),
        }
    }

    pub(super) fn get(&self, name: &str) -> Option<&Binding> {
        match name.starts_with('%') && !self.any_percent {
            true => None,
            false => self.names.get(name),
        }
    }

    pub(super) fn insert(&mut self, name: &'a str, binding: Binding) {
        self.any_percent |= name.starts_with('%');
        self.names.insert(name, binding);
    }

    /// Adds a register of a range that is used for the first time.
    pub(super) fn number(&mut self, name: &'a str, range: usize, index: u32, register: Register) {
        let range = &mut self.ranges[range];
        if index >= MAX_NUMBERED {
            let binding = Binding::Register(register, range.ty);
            return self.insert(name, binding);
        }
        let place = index as usize;
        if place >= range.registers.len() {
            range
                .registers
                .resize((place + 1).next_power_of_two(), None);
        }
        range.registers[place] = Some(register);
    }
}

/// A name and the number at its end, where it has one that a range of registers may hold.
pub(super) fn split_number(name: &str) -> Option<(&str, u32)> {
    let digits = name.bytes().rev().take_while(u8::is_ascii_digit).count();
    let (prefix, digits) = name.split_at(name.len() - digits);
    let is_padded = digits.len() > 1 && digits.starts_with('0');
    // No number of 32 bits has more than ten digits.
    if digits.is_empty() || digits.len() > 10 || is_padded {
        return None;
    }
    let number = digits
        .bytes()
        .fold(0, |number, digit| 10 * number + u64::from(digit - b'0'));
    Some((prefix, u32::try_from(number).ok()?))
}

/// The first eight bytes of a name, which distinguish most names; zeros after a shorter one.
pub(super) fn head(name: &str) -> u64 {
    let bytes = name.bytes().take(8);
    bytes.fold(0, |head, byte| head << 8 | u64::from(byte))
}
