//! What names refer to, by scope.

use rustc_hash::FxHashMap;

use super::builder::BlockId;
use crate::ir::{Reg32, Register, SystemFunction};
use ptx_syntax::ast::{Type, Variable};

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
    /// Index into the module's variables, and bytes behind the start.
    Variable(u32, u64),
    /// Index into the module's functions.
    Function(u32),
    /// A function that the driver provides.
    System(SystemFunction),
    Label(BlockId),
    Targets(Vec<BlockId>),
    Prototype,
}

impl Binding {
    /// What stands `bytes` behind it in memory.
    fn behind(&self, bytes: u64) -> Option<Self> {
        Some(match *self {
            Binding::Local { offset } => Binding::Local {
                offset: offset + bytes as u32,
            },
            Binding::Shared { offset } => Binding::Shared {
                offset: offset + bytes as u32,
            },
            Binding::Variable(index, start) => Binding::Variable(index, start + bytes),
            _ => return None,
        })
    }
}

/// `.local .b32 v<16>;`: variables that lie one behind the other.
#[derive(Clone, Debug)]
pub(crate) struct Numbered<'a> {
    prefix: &'a str,
    count: u32,
    stride: u64,
    /// The first one; of parameters the registers of all.
    all: Binding,
}

impl<'a> Numbered<'a> {
    pub(super) fn new(prefix: &'a str, variable: &Variable, all: Binding) -> Option<Self> {
        Some(Numbered {
            prefix,
            count: variable.count?,
            stride: variable.stride(),
            all,
        })
    }

    /// The variable of a prefix and a number.
    pub(super) fn get(&self, (prefix, index): (&str, u32)) -> Option<Binding> {
        if prefix != self.prefix || index >= self.count {
            return None;
        }
        match &self.all {
            Binding::Registers(words) => {
                let mut each = words.chunks(words.len() / self.count as usize);
                each.nth(index as usize)
                    .map(|words| Binding::Registers(words.to_vec()))
            }
            all => all.behind(u64::from(index) * self.stride),
        }
    }
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
    pub(super) numbered: Vec<Numbered<'a>>,
}

impl<'a> Scope<'a> {
    pub(crate) fn with_names(
        names: FxHashMap<&'a str, Binding>,
        numbered: Vec<Numbered<'a>>,
    ) -> Self {
        let mut all = names
            .keys()
            .copied()
            .chain(numbered.iter().map(|all| all.prefix));
        let any_percent = all.any(|name| name.starts_with('%'));
        Scope {
            names,
            any_percent,
            ranges: Vec::new(),
            vectors: Vec::new(),
            numbered,
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

    pub(super) fn insert_numbered(&mut self, all: Numbered<'a>) {
        self.any_percent |= all.prefix.starts_with('%');
        self.numbered.push(all);
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
