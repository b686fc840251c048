//! Operations of a warp on small matrices: fragments to and from shared memory, and MMAs.

use super::{Address, Predicate, Reg32, Reg64, Register};

#[derive(Clone, Debug)]
pub(crate) enum Matrix {
    Move(MatrixMove),
    /// `movmatrix`: an 8 × 8 matrix of 16-bit elements, transposed: result and operand.
    Transpose(Reg32, Reg32),
    Mma(Mma),
    WmmaMove(WmmaMove),
    Wmma(Wmma),
    Wgmma(Wgmma),
}

/// `ldmatrix` and `stmatrix`: 8 × 8 matrices of 16-bit elements, whose rows lie at the lanes'
/// addresses.
#[derive(Clone, Debug)]
pub(crate) struct MatrixMove {
    pub address: Address,
    pub stores: bool,
    /// Whether fragments hold the transposed matrices.
    pub transposed: bool,
    /// One for each matrix.
    pub registers: Vec<Reg32>,
}

/// `mma.sync`: D = A · B + C.
#[derive(Clone, Debug)]
pub(crate) struct Mma {
    pub inputs: MatrixInputs,
    /// Those of B, where they are integers of the same width: signed or not.
    pub inputs_b: MatrixInputs,
    /// Of single bits: whether they are combined by AND, else by XOR.
    pub bits: Option<bool>,
    /// `.satfinite` of integers.
    pub saturates: bool,
    /// Rows of A, C and D: 8 or 16. B, C and D have 8 columns.
    pub rows: u32,
    /// Columns of A, rows of B.
    pub depth: u32,
    pub d: Vec<Register>,
    pub a: Vec<Register>,
    pub b: Vec<Register>,
    pub c: Vec<Register>,
}

/// `wmma.load` and `wmma.store`.
#[derive(Clone, Debug)]
pub(crate) struct WmmaMove {
    pub address: Address,
    pub stores: bool,
    /// Elements from one row, or column, to the next; none where they follow each other.
    pub stride: Option<Reg32>,
    pub by_column: bool,
    pub rows: u32,
    pub columns: u32,
    /// Bytes of an element.
    pub bytes: u32,
    /// Elements in a register.
    pub packed: u32,
    pub registers: Vec<Reg32>,
}

/// `wmma.mma`: D = A · B + C.
#[derive(Clone, Debug)]
pub(crate) struct Wmma {
    pub inputs: MatrixInputs,
    pub shape: [u32; 3],
    pub saturates: bool,
    pub d: Vec<Reg32>,
    pub a: Vec<Reg32>,
    pub b: Vec<Reg32>,
    pub c: Vec<Reg32>,
}

/// Elements of A and B. Accumulators are f32; those of f64 are f64, and those of integers are s32.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MatrixInputs {
    F16,
    Bf16,
    Tf32,
    F64,
    /// Integers of 8, 4 or 1 bits.
    Integer {
        bits: u32,
        signed: bool,
    },
}

impl MatrixInputs {
    /// Elements in a register.
    pub(crate) fn packed(self) -> u32 {
        match self {
            MatrixInputs::F16 | MatrixInputs::Bf16 => 2,
            MatrixInputs::Tf32 | MatrixInputs::F64 => 1,
            MatrixInputs::Integer { bits, .. } => 32 / bits,
        }
    }
}

/// `wgmma.mma_async`: the rows of one warp of the warpgroup.
#[derive(Clone, Debug)]
pub(crate) struct Wgmma {
    pub inputs: MatrixInputs,
    /// Columns of B and D.
    pub columns: u32,
    pub d: Vec<Register>,
    pub a: WgmmaA,
    /// Matrix descriptor of B.
    pub b: Reg64,
    /// Whether B is stored across k.
    pub across_b: bool,
    /// Whether D is added to.
    pub keep: Predicate,
    /// Whether A and B are negated.
    pub negated: [bool; 2],
}

/// A of `wgmma.mma_async`.
#[derive(Clone, Debug)]
pub(crate) enum WgmmaA {
    Shared { descriptor: Reg64, across: bool },
    Registers(Vec<Register>),
}
