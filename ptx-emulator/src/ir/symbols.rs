//! What a kernel that is decoded for stepping keeps of its names.

use std::ops::Range;

use super::{Predicate, Reg32, Reg64, Register};
use ptx_syntax::ast::Type;

/// A register that the text declares and uses.
#[derive(Clone, Debug)]
pub(crate) struct NamedRegister {
    pub name: String,
    pub register: Register,
    pub ty: Type,
    /// The instructions between the braces that declare it.
    pub scope: Range<u32>,
}

/// A label.
#[derive(Clone, Debug)]
pub(crate) struct Label {
    pub name: String,
    /// The instruction behind it.
    pub info: u32,
}

/// A function of the program.
#[derive(Clone, Debug)]
pub(crate) struct FunctionSymbol {
    pub name: String,
    /// Its instructions.
    pub infos: Range<u32>,
}

/// Names, and which registers each operation writes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Symbols {
    pub registers: Vec<NamedRegister>,
    pub labels: Vec<Label>,
    pub functions: Vec<FunctionSymbol>,
    /// The registers that operations write, in one list.
    pub writes: Vec<Register>,
    /// By operation of `Program::code`: its part of the list.
    pub of_code: Vec<Range<u32>>,
    /// By basic block: the terminator's part.
    pub of_terminators: Vec<Range<u32>>,
}

impl Symbols {
    fn part(&self, range: Option<&Range<u32>>) -> &[Register] {
        let range = range.map(|range| range.start as usize..range.end as usize);
        range
            .and_then(|range| self.writes.get(range))
            .unwrap_or(&[])
    }

    /// The registers that an operation writes.
    pub(crate) fn written_by(&self, operation: usize) -> &[Register] {
        self.part(self.of_code.get(operation))
    }

    /// The registers that a block's terminator writes.
    pub(crate) fn written_by_terminator(&self, block: usize) -> &[Register] {
        self.part(self.of_terminators.get(block))
    }
}

/// Which lanes have written each register, by register file.
#[derive(Clone, Debug, Default)]
pub(crate) struct Written {
    regs32: Vec<u32>,
    regs64: Vec<u32>,
    predicates: Vec<u32>,
}

impl Written {
    fn slot(&mut self, register: Register, bases: (usize, usize, usize)) -> &mut u32 {
        let (file, at) = match register {
            Register::Reg32(Reg32(index)) => (&mut self.regs32, bases.0 + index as usize),
            Register::Reg64(Reg64(index)) => (&mut self.regs64, bases.1 + index as usize),
            Register::Predicate(Predicate(index)) => {
                (&mut self.predicates, bases.2 + index as usize)
            }
        };
        if at >= file.len() {
            file.resize(at + 1, 0);
        }
        &mut file[at]
    }

    /// Lanes have written a register of the frame with these first registers.
    pub(crate) fn mark(&mut self, register: Register, bases: (usize, usize, usize), lanes: u32) {
        *self.slot(register, bases) |= lanes;
    }

    /// The lanes that have written a register of a frame.
    pub(crate) fn lanes(&self, register: Register, bases: (usize, usize, usize)) -> u32 {
        let (file, at) = match register {
            Register::Reg32(Reg32(index)) => (&self.regs32, bases.0 + index as usize),
            Register::Reg64(Reg64(index)) => (&self.regs64, bases.1 + index as usize),
            Register::Predicate(Predicate(index)) => (&self.predicates, bases.2 + index as usize),
        };
        file.get(at).copied().unwrap_or(0)
    }

    /// Forgets what lies behind the first registers of a new frame.
    pub(crate) fn begin_frame(&mut self, bases: (usize, usize, usize)) {
        self.regs32.truncate(bases.0);
        self.regs64.truncate(bases.1);
        self.predicates.truncate(bases.2);
    }
}
