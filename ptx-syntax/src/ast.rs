//! The syntax tree of a PTX module. Names are spans of the module's text, so a tree is small and a
//! module's text is kept once.

/// A half-open range of bytes of the module's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Span {
    /// The first byte.
    pub start: u32,
    /// The byte behind the last one.
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

    /// The text that the span covers; empty where `text` is not the one that was parsed and has no
    /// such span.
    #[inline]
    pub fn of(self, text: &str) -> &str {
        text.get(self.start as usize..self.end as usize)
            .unwrap_or("")
    }
}

/// A PTX fundamental type (PTX ISA, "Fundamental Types").
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Type {
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
    U16x2,
    S16x2,
    U8x4,
    S8x4,
    F16,
    F16x2,
    Bf16,
    Bf16x2,
    Tf32,
    E4m3,
    E5m2,
    E4m3x2,
    E5m2x2,
    F32,
    F64,
}

impl Type {
    /// The type of a name without its dot, for example `f32`; `None` for any other word.
    pub fn parse(name: &str) -> Option<Type> {
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
            "u16x2" => Type::U16x2,
            "s16x2" => Type::S16x2,
            "u8x4" => Type::U8x4,
            "s8x4" => Type::S8x4,
            "f16" => Type::F16,
            "f16x2" => Type::F16x2,
            "bf16" => Type::Bf16,
            "bf16x2" => Type::Bf16x2,
            "tf32" => Type::Tf32,
            "e4m3" => Type::E4m3,
            "e5m2" => Type::E5m2,
            "e4m3x2" => Type::E4m3x2,
            "e5m2x2" => Type::E5m2x2,
            "f32" => Type::F32,
            "f64" => Type::F64,
            _ => return None,
        })
    }

    /// Bytes of a value in memory.
    #[inline]
    pub fn bytes(self) -> u32 {
        match self {
            Type::Pred | Type::B8 | Type::U8 | Type::S8 | Type::E4m3 | Type::E5m2 => 1,
            Type::E4m3x2 | Type::E5m2x2 => 2,
            Type::B16 | Type::U16 | Type::S16 | Type::F16 | Type::Bf16 => 2,
            Type::B32 | Type::U32 | Type::S32 | Type::F32 => 4,
            Type::U8x4 | Type::S8x4 => 4,
            Type::U16x2 | Type::S16x2 | Type::F16x2 | Type::Bf16x2 | Type::Tf32 => 4,
            Type::B64 | Type::U64 | Type::S64 | Type::F64 => 8,
            Type::B128 => 16,
        }
    }

    /// Whether this is a float, or a pair of halves.
    #[inline]
    pub fn is_float(self) -> bool {
        let half = matches!(self, Type::F16 | Type::F16x2 | Type::Bf16 | Type::Bf16x2);
        half || matches!(self, Type::F32 | Type::F64)
    }

    /// Whether this is a signed integer, or several of them.
    #[inline]
    pub fn is_signed(self) -> bool {
        matches!(
            self,
            Type::S8 | Type::S8x4 | Type::S16 | Type::S16x2 | Type::S32 | Type::S64
        )
    }
}

/// A state space in which variables are declared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeclaredSpace {
    /// `.global`
    Global,
    /// `.const`
    Const,
    /// `.shared`
    Shared,
    /// `.local`
    Local,
    /// `.param`
    Param,
    /// `.reg`: a parameter of a function that is passed in registers.
    Register,
}

/// One value of an initialiser.
#[derive(Clone, Debug)]
pub enum Initializer {
    /// An integer, as its 64-bit pattern.
    Integer(u64),
    /// The bits of an `f32`.
    Float32(u32),
    /// The bits of an `f64`.
    Float64(u64),
    /// The address of a symbol plus an offset, masked and shifted down where a mask is given.
    Symbol {
        /// The symbol's name.
        name: Span,
        /// The offset in bytes.
        addend: i64,
        /// The bits of the address that are kept, as in `0xFF00(symbol)`.
        mask: Option<u64>,
    },
}

/// A variable in memory.
#[derive(Clone, Debug)]
pub struct Variable {
    /// Where it lies.
    pub space: DeclaredSpace,
    /// Its name.
    pub name: Span,
    /// Its type, or that of its elements.
    pub ty: Type,
    /// Elements of a vector (`.v2`, `.v4`), else 1.
    pub elements: u32,
    /// Bytes; 0 for an unsized array such as dynamic shared memory.
    pub bytes: u64,
    /// Alignment in bytes, a power of two up to 2^20.
    pub align: u32,
    /// Whether it is `.extern`.
    pub external: bool,
    /// Its initial values; none where the text gives none.
    pub initializer: Vec<Initializer>,
    /// The number of variables where `<count>` stands behind the name. They are called `name0`,
    /// `name1` and so on, and lie one behind the other in `bytes`.
    pub count: Option<u32>,
}

impl Variable {
    /// Bytes of an element of an array, or of the variable itself.
    pub fn element_bytes(&self) -> u64 {
        u64::from(self.ty.bytes()) * u64::from(self.elements)
    }

    /// From one of several numbered variables to the next one, in bytes.
    pub fn stride(&self) -> u64 {
        self.bytes / u64::from(self.count.unwrap_or(1)).max(1)
    }
}

/// `.reg` declaration of one name, or of `name0 … name(count-1)`.
#[derive(Clone, Copy, Debug)]
pub struct RegisterDeclaration {
    /// The registers' type.
    pub ty: Type,
    /// Elements of a vector register (`.v2`, `.v4`), else 1.
    pub elements: u32,
    /// The name, or what the names begin with.
    pub name: Span,
    /// The number of registers, where `<count>` stands behind the name.
    pub count: Option<u32>,
}

/// Operands within an operand, among [`Body::elements`]: the first, and the one behind the last.
pub type Elements = (u32, u32);

/// An instruction's operand.
#[derive(Clone, Copy, Debug)]
pub enum Operand {
    /// A register, a special register, a symbol or a label.
    Name(Span),
    /// An integer, as its 64-bit pattern.
    Integer(u64),
    /// The bits of an `f32`.
    Float32(u32),
    /// The bits of an `f64`.
    Float64(u64),
    /// `symbol+offset` outside brackets.
    NameOffset(Span, i64),
    /// `array[index]`: the address of an element, outside brackets (PTX ISA, "Arrays as Operands").
    Element(Span, i64),
    /// `array[register+index]`, with a register's value added to the number.
    IndexedElement {
        /// The array.
        array: Span,
        /// The register.
        register: Span,
        /// What is added to it.
        index: i64,
    },
    /// `[base+offset]`; no base for an absolute address.
    Address {
        /// A register or a symbol.
        base: Option<Span>,
        /// Bytes behind the base.
        offset: i64,
    },
    /// `[map+offset, {x, y}]`, also of a texture or surface; a single coordinate may stand without
    /// braces.
    Tensor {
        /// A register or a symbol.
        map: Span,
        /// Bytes behind it.
        offset: i64,
        /// The coordinates in the tensor.
        coordinates: Elements,
    },
    /// `[image, sampler, {x, y}]`
    Texture {
        /// A register or a variable.
        image: Span,
        /// A register or a variable.
        sampler: Span,
        /// The coordinates in the image.
        coordinates: Elements,
    },
    /// `{a, b, c, d}`
    Vector(Elements),
    /// `{a, b, c, d}|p`
    VectorPair(Elements, Span),
    /// `!p`
    Not(Span),
    /// `p|q`
    Pair(Span, Span),
    /// `(a, b)` of a call.
    List(Elements),
    /// An element of a register of several (`.reg .v4`), which is named as a whole. The parser
    /// makes none: it has `v.x` as a name.
    Component(Span, u32),
    /// `_`: a result that is thrown away.
    Sink,
}

/// `@p` or `@!p`.
#[derive(Clone, Copy, Debug)]
pub struct Guard {
    /// The predicate register.
    pub predicate: Span,
    /// Whether the instruction runs where the predicate is false.
    pub negated: bool,
}

/// An instruction.
#[derive(Clone, Debug)]
pub struct Instruction {
    /// The predicate on which it depends, if any.
    pub guard: Option<Guard>,
    /// The dotted opcode, for example `ld.global.nc.v4.b32`.
    pub opcode: Span,
    /// Its operands among those of the body: the first, and the one behind the last.
    pub operands: (u32, u32),
    /// The whole instruction without its semicolon.
    pub span: Span,
    /// Index into the line table, or [`NO_LOCATION`].
    pub location: u32,
}

/// Marks an instruction in front of which no `.loc` stands.
pub const NO_LOCATION: u32 = u32::MAX;

/// A statement of a function's body.
#[derive(Clone, Debug)]
pub enum Statement {
    /// A label, without its colon.
    Label(Span),
    /// One `.reg` line.
    Registers(Vec<RegisterDeclaration>),
    /// A variable that the body declares.
    Variable(Box<Variable>),
    /// `{ … }`
    Scope(Vec<Statement>),
    /// An instruction.
    Instruction(Instruction),
    /// A name for some of the body's branch targets, the first and the one behind the last.
    BranchTargets(Span, (u32, u32)),
    /// `.callprototype` or `.calltargets`. Calls check their arguments against the function that
    /// they reach, not against this.
    CallPrototype(Span),
}

/// What stands between the braces of a function.
#[derive(Clone, Debug, Default)]
pub struct Body {
    /// The statements, in the order of the text.
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
    /// The operands of an instruction of this body.
    #[inline]
    pub fn operands(&self, instruction: &Instruction) -> &[Operand] {
        let (first, end) = instruction.operands;
        let range = first as usize..end as usize;
        self.operands.get(range).unwrap_or_default()
    }

    /// The labels of a [`Statement::BranchTargets`] of this body.
    pub fn branch_targets(&self, (first, end): (u32, u32)) -> &[Span] {
        let range = first as usize..end as usize;
        self.branch_targets.get(range).unwrap_or_default()
    }

    /// The names of variables, functions and labels that the body uses; of those that begin with
    /// `%`, none.
    pub fn names(&self) -> impl Iterator<Item = Span> {
        let symbols = self.symbols.iter().chain(&self.branch_targets);
        symbols.copied()
    }
}

/// A `.entry` or `.func`.
#[derive(Clone, Debug)]
pub struct Function {
    /// Whether it is a `.entry`.
    pub entry: bool,
    /// Its name.
    pub name: Span,
    /// Its parameters.
    pub params: Vec<Variable>,
    /// What it returns; nothing of an entry.
    pub returns: Vec<Variable>,
    /// `.maxntid`: the extents of the largest block.
    pub max_threads: Option<[u32; 3]>,
    /// `.reqntid`: the extents of every block.
    pub required_threads: Option<[u32; 3]>,
    /// `.reqnctapercluster`: the blocks of every cluster.
    pub required_cluster: Option<[u32; 3]>,
    /// `.maxclusterrank`: the most blocks of a cluster.
    pub max_cluster_blocks: Option<u32>,
    /// `.explicitcluster`: whether every launch names the extents of its clusters.
    pub explicit_cluster: bool,
    /// `.blocksareclusters`: whether a launch counts clusters where others count blocks.
    pub blocks_are_clusters: bool,
    /// From brace to brace; none of a declaration.
    pub body: Option<Span>,
}

/// An entry of the line table, from one `.loc`.
#[derive(Clone, Copy, Debug)]
pub struct Location {
    /// The number that a `.file` gives a source file.
    pub file: u32,
    /// Line of the source file, from 1.
    pub line: u32,
    /// Column of the source file, from 1; 0 where it is not known.
    pub column: u32,
    /// The label in `.debug_str` of the inlined function's name.
    pub function: Option<Span>,
    /// The line table entry of the call that was inlined here.
    pub inlined_at: Option<u32>,
}

/// What the numbers in the `.loc` lines of some functions mean.
#[derive(Clone, Debug, Default)]
pub struct LineTable {
    /// Those that bodies name; see [`Tree::files`].
    pub files: Vec<(u32, Span)>,
    /// One for each `.loc`, and one for each call site that no `.loc` names.
    pub locations: Vec<Location>,
}

/// A module without the bodies of its functions.
#[derive(Debug, Default)]
pub struct Tree {
    /// `.version`: (major, minor).
    pub version: (u32, u32),
    /// `.target`, for example `sm_70`.
    pub target: String,
    /// The number of each `.file` at module level, and its name.
    pub files: Vec<(u32, Span)>,
    /// Labels of `.debug_str` and the text that stands there.
    pub debug_strings: Vec<(Span, String)>,
    /// The variables at module level.
    pub variables: Vec<Variable>,
    /// The functions and entries, declarations among them.
    pub functions: Vec<Function>,
    /// `.alias`: a name, and the function that it names.
    pub aliases: Vec<(Span, Span)>,
}
