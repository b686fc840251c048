//! PTX instructions: number, class, and position in the text and in the source.

use std::fmt;

use ptx_syntax::ast::Span;

/// Names a PTX instruction of a kernel; serialised as its number.
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct InstructionId(pub(crate) u32);

impl InstructionId {
    /// A number below [`Kernel::instruction_count`](crate::Kernel::instruction_count).
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The calls that lead to an instruction: those instructions, the innermost first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Calls([u32; Calls::KEPT]);

impl Calls {
    /// Of a longer chain the innermost ones are kept.
    const KEPT: usize = 4;
    /// In the kernel itself, or where the calls are not known.
    pub(crate) const NONE: Calls = Calls([u32::MAX; Calls::KEPT]);

    /// The first calls of a chain.
    pub(crate) fn of(chain: impl Iterator<Item = u32>) -> Self {
        let mut calls = Calls::NONE;
        for (kept, call) in calls.0.iter_mut().zip(chain) {
            *kept = call;
        }
        calls
    }

    pub(crate) fn each(self) -> impl Iterator<Item = InstructionId> {
        let known = self.0.into_iter().filter(|&call| call != u32::MAX);
        known.map(InstructionId)
    }
}

impl Default for Calls {
    fn default() -> Self {
        Calls::NONE
    }
}

/// Kind of work that a PTX instruction does, for counting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum InstructionClass {
    /// f32 arithmetic except fused multiply-add.
    Float32,
    /// f32 fused multiply-add.
    Fma32,
    /// f64 arithmetic except fused multiply-add.
    Float64,
    /// f64 fused multiply-add.
    Fma64,
    /// f16 and bf16 arithmetic.
    Half,
    /// MMAs on tensor cores.
    Tensor,
    /// Integer and bit operations.
    Integer,
    /// Comparisons, selections and predicate logic.
    Compare,
    /// Moves, address conversions and packing.
    Move,
    /// `cvt`.
    Conversion,
    /// Loads.
    Load,
    /// Stores.
    Store,
    /// `atom` and `red`.
    Atomic,
    /// Branches, calls, returns.
    Control,
    /// Barriers and fences.
    Barrier,
    /// Shuffles, votes, matches and reductions within a warp.
    Warp,
    /// Everything else.
    Other,
}

/// The text and the class of one PTX instruction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Info {
    pub span: Span,
    pub opcode: Span,
    pub location: u32,
    pub class: InstructionClass,
}

/// A line in the source of a kernel, and the calls through which it was inlined.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SourceLocation {
    /// File name as the compiler wrote it.
    pub file: String,
    /// Line, from 1; 0 where the compiler knew none.
    pub line: u32,
    /// Column, from 1; 0 where the compiler knew none.
    pub column: u32,
    /// The function that was inlined here, where the compiler named it.
    pub function: Option<String>,
    /// The call that this line was inlined into.
    pub inlined_at: Option<Box<SourceLocation>>,
}

impl fmt::Display for SourceLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)?;
        if let Some(call) = &self.inlined_at {
            write!(f, " (inlined at {call})")?;
        }
        Ok(())
    }
}
