//! The syntax tree of a PTX module. Names are spans of the module's text.

/// A half-open range of bytes of the module's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) struct Span {
    pub start: u32,
    pub end: u32,
}

impl Span {
    /// The parser refuses texts of 4 GiB and more, so positions fit 32 bits.
    pub(crate) fn new(start: usize, end: usize) -> Self {
        Span {
            start: start as u32,
            end: end as u32,
        }
    }

    /// The text that the span covers.
    pub(crate) fn of(self, text: &str) -> &str {
        text.get(self.start as usize..self.end as usize)
            .unwrap_or("")
    }
}

/// A PTX fundamental type (PTX ISA, "Fundamental Types").
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub(crate) enum Type {
    Pred,
    B8,
    B16,
    B32,
    B64,
    B128,
    U8,
    U16,
    U32,
    U64,
    S8,
    S16,
    S32,
    S64,
    F16,
    F16x2,
    Bf16,
    Bf16x2,
    Tf32,
    F32,
    F64,
}

impl Type {
    pub(crate) fn parse(name: &str) -> Option<Type> {
        Some(match name {
            "pred" => Type::Pred,
            "b8" => Type::B8,
            "b16" => Type::B16,
            "b32" => Type::B32,
            "b64" => Type::B64,
            "b128" => Type::B128,
            "u8" => Type::U8,
            "u16" => Type::U16,
            "u32" => Type::U32,
            "u64" => Type::U64,
            "s8" => Type::S8,
            "s16" => Type::S16,
            "s32" => Type::S32,
            "s64" => Type::S64,
            "f16" => Type::F16,
            "f16x2" => Type::F16x2,
            "bf16" => Type::Bf16,
            "bf16x2" => Type::Bf16x2,
            "tf32" => Type::Tf32,
            "f32" => Type::F32,
            "f64" => Type::F64,
            _ => return None,
        })
    }

    /// Bytes of a value in memory.
    pub(crate) fn bytes(self) -> u32 {
        match self {
            Type::Pred | Type::B8 | Type::U8 | Type::S8 => 1,
            Type::B16 | Type::U16 | Type::S16 | Type::F16 | Type::Bf16 => 2,
            Type::B32 | Type::U32 | Type::S32 | Type::F32 => 4,
            Type::F16x2 | Type::Bf16x2 | Type::Tf32 => 4,
            Type::B64 | Type::U64 | Type::S64 | Type::F64 => 8,
            Type::B128 => 16,
        }
    }

    /// Whether this is a float, or a pair of halves.
    pub(crate) fn is_float(self) -> bool {
        let half = matches!(self, Type::F16 | Type::F16x2 | Type::Bf16 | Type::Bf16x2);
        half || matches!(self, Type::F32 | Type::F64)
    }

    pub(crate) fn is_signed(self) -> bool {
        matches!(self, Type::S8 | Type::S16 | Type::S32 | Type::S64)
    }
}

/// A state space in which variables are declared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DeclaredSpace {
    Global,
    Const,
    Shared,
    Local,
    Param,
}

/// One value of an initialiser.
#[derive(Clone, Debug)]
pub(crate) enum Initializer {
    Integer(u64),
    Float32(u32),
    Float64(u64),
    /// The address of a symbol plus an offset, masked and shifted down where a mask is given.
    Symbol {
        name: Span,
        addend: i64,
        mask: Option<u64>,
    },
}

/// A variable in memory.
#[derive(Clone, Debug)]
pub(crate) struct Variable {
    pub space: DeclaredSpace,
    pub name: Span,
    pub ty: Type,
    /// Bytes; 0 for an unsized array such as dynamic shared memory.
    pub bytes: u64,
    pub align: u32,
    pub external: bool,
    pub initializer: Vec<Initializer>,
}

/// `.reg` declaration of one name, or of `name0 … name(count-1)`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RegisterDeclaration {
    pub ty: Type,
    /// Elements of a vector register (`.v2`, `.v4`), else 1.
    pub elements: u32,
    pub name: Span,
    pub count: Option<u32>,
}

/// Operands within an operand, among [`Body::elements`]: the first, and the one behind the last.
pub(crate) type Elements = (u32, u32);

/// An instruction's operand.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Operand {
    /// A register, a special register, a symbol or a label.
    Name(Span),
    Integer(u64),
    Float32(u32),
    Float64(u64),
    /// `symbol+offset` outside brackets.
    NameOffset(Span, i64),
    /// `[base+offset]`; no base for an absolute address.
    Address {
        base: Option<Span>,
        offset: i64,
    },
    /// `[map+offset, {x, y}]`
    Tensor {
        map: Span,
        offset: i64,
        coordinates: Elements,
    },
    /// `{a, b, c, d}`
    Vector(Elements),
    /// `!p`
    Not(Span),
    /// `p|q`
    Pair(Span, Span),
    /// `(a, b)` of a call.
    List(Elements),
    /// `_`: a result that is thrown away.
    Sink,
}

/// `@p` or `@!p`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Guard {
    pub predicate: Span,
    pub negated: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Instruction {
    pub guard: Option<Guard>,
    /// The dotted opcode, for example `ld.global.nc.v4.b32`.
    pub opcode: Span,
    /// Its operands among those of the body: the first, and the one behind the last.
    pub operands: (u32, u32),
    /// The whole instruction without its semicolon.
    pub span: Span,
    /// Index into the line table, or `NO_LOCATION`.
    pub location: u32,
}

/// Marks an instruction in front of which no `.loc` stands.
pub(crate) const NO_LOCATION: u32 = u32::MAX;

#[derive(Clone, Debug)]
pub(crate) enum Statement {
    Label(Span),
    Registers(Vec<RegisterDeclaration>),
    Variable(Box<Variable>),
    Scope(Vec<Statement>),
    Instruction(Instruction),
    /// A name for some of the body's branch targets, the first and the one behind the last.
    BranchTargets(Span, (u32, u32)),
    /// Calls check their arguments against the function that they reach, not against this.
    CallPrototype(Span),
}

/// What stands between the braces of a function.
#[derive(Clone, Debug, Default)]
pub(crate) struct Body {
    pub statements: Vec<Statement>,
    /// The operands of all instructions.
    pub operands: Vec<Operand>,
    /// What stands within operands, in braces or parentheses.
    pub elements: Vec<Operand>,
    /// The labels of all `.branchtargets`.
    pub branch_targets: Vec<Span>,
    /// The names in operands that do not begin with `%`, as those of registers do.
    pub symbols: Vec<Span>,
}

impl Body {
    pub(crate) fn operands(&self, instruction: &Instruction) -> &[Operand] {
        let (first, end) = instruction.operands;
        &self.operands[first as usize..end as usize]
    }

    pub(crate) fn branch_targets(&self, (first, end): (u32, u32)) -> &[Span] {
        &self.branch_targets[first as usize..end as usize]
    }

    /// The names of variables, functions and labels that the body uses; of those that begin with `%`, none.
    pub(crate) fn names(&self) -> impl Iterator<Item = Span> {
        let symbols = self.symbols.iter().chain(&self.branch_targets);
        symbols.copied()
    }
}

/// A `.entry` or `.func`.
#[derive(Clone, Debug)]
pub(crate) struct Function {
    pub entry: bool,
    pub name: Span,
    pub params: Vec<Variable>,
    pub returns: Vec<Variable>,
    pub max_threads: Option<[u32; 3]>,
    pub required_threads: Option<[u32; 3]>,
    /// From brace to brace; none of a declaration.
    pub body: Option<Span>,
}

/// An entry of the line table, from one `.loc`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Location {
    pub file: u32,
    pub line: u32,
    pub column: u32,
    /// The label in `.debug_str` of the inlined function's name.
    pub function: Option<Span>,
    /// The line table entry of the call that was inlined here.
    pub inlined_at: Option<u32>,
}

/// What the numbers in the `.loc` lines of some functions mean.
#[derive(Clone, Debug, Default)]
pub(crate) struct LineTable {
    /// Those that bodies name; see [`Tree::files`].
    pub files: Vec<(u32, Span)>,
    pub locations: Vec<Location>,
}

/// A module without the bodies of its functions.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    pub version: (u32, u32),
    pub target: String,
    pub files: Vec<(u32, Span)>,
    /// Labels of `.debug_str` and the text that stands there.
    pub debug_strings: Vec<(Span, String)>,
    pub variables: Vec<Variable>,
    pub functions: Vec<Function>,
}
