//! Operations of a warp on small matrices: fragments to and from shared memory, and MMAs.

use super::{Address, Predicate, Reg32, Reg64, Register, Rounding};

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

/// `ldmatrix` and `stmatrix`: matrices whose rows of 16 bytes lie at the lanes' addresses.
#[derive(Clone, Debug)]
pub(crate) struct MatrixMove {
    pub address: Address,
    pub stores: bool,
    pub tile: MatrixTile,
    /// Those of the first matrix first: two for each of 16 × 16 elements, else one.
    pub registers: Vec<Reg32>,
}

/// The matrices of `ldmatrix` and `stmatrix`, as the names of their shapes count rows and columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MatrixTile {
    /// `m8n8`: 16-bit elements; whether fragments hold the transposed matrices.
    Eight { transposed: bool },
    /// `m8n16`: loads of 8-bit elements, which memory holds packed.
    Wide(RowPacking),
    /// `m16n16`: loads of 8-bit elements, transposed.
    Square(RowPacking),
    /// `m16n8`: stores of 8-bit elements, transposed.
    Tall,
}

/// How 16 elements of a row lie in its 16 bytes. Loads make a byte of each, with zeros on top.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RowPacking {
    Bytes,
    /// `b6x16_p32`: six bits each, and four bytes of padding.
    SixBits,
    /// `b4x16_p64`: four bits each, and eight bytes of padding.
    FourBits,
}

impl MatrixTile {
    /// Rows of a matrix in memory.
    pub(crate) fn rows(self) -> usize {
        match self {
            MatrixTile::Square(_) => 16,
            _ => 8,
        }
    }

    /// Registers for a matrix in each lane.
    pub(crate) fn registers(self) -> usize {
        match self {
            MatrixTile::Square(_) => 2,
            _ => 1,
        }
    }
}

/// `mma.sync`: D = A · B + C.
#[derive(Clone, Debug)]
pub(crate) struct Mma {
    pub inputs: MatrixInputs,
    /// Those of B: integers of the same width, signed or not, or other floats of the same width.
    pub inputs_b: MatrixInputs,
    /// The elements of C and of D.
    pub sums: [Sums; 2],
    /// Of single bits: whether they are combined by AND, else by XOR.
    pub bits: Option<bool>,
    /// `.satfinite` of integers.
    pub saturates: bool,
    /// Rows of A, C and D: 8 or 16. B, C and D have 8 columns.
    pub rows: u32,
    /// Columns of A, rows of B.
    pub depth: u32,
    /// Of `m8n8k4` of f16, which eight lanes compute at a time: whether fragments of A and of B are
    /// by column.
    pub by_column: Option<[bool; 2]>,
    /// Of 8-bit floats: whether they are converted to f16 first.
    pub converts: bool,
    /// What scales A and B by blocks.
    pub scales: Option<Box<Scales>>,
    /// Where the elements of a sparse A stand, which then has half as many columns.
    pub sparsity: Option<Sparsity>,
    pub d: Vec<Register>,
    pub a: Vec<Register>,
    pub b: Vec<Register>,
    pub c: Vec<Register>,
}

/// The metadata of a sparse A.
#[derive(Clone, Debug)]
pub(crate) struct Sparsity {
    pub metadata: Register,
    /// Which lanes have it.
    pub selector: u32,
    /// Whether its indices must ascend.
    pub is_ordered: bool,
}

/// The scales of A and B (`.block_scale`).
#[derive(Clone, Debug)]
pub(crate) struct Scales {
    /// Words with four scales each, of A and of B.
    pub words: [Register; 2],
    /// Which byte of a word comes first and which lanes of four have the words, of A and of B.
    pub selectors: [[Register; 2]; 2],
    /// Blocks along k.
    pub blocks: u32,
    /// Whether scales are `ue4m3`, else `ue8m0`.
    pub with_fraction: bool,
}

impl Mma {
    /// All registers that are read.
    pub(crate) fn sources(&mut self) -> impl Iterator<Item = &mut Register> {
        let scales = self.scales.iter_mut().flat_map(|scales| {
            let selectors = scales.selectors.iter_mut().flatten();
            scales.words.iter_mut().chain(selectors)
        });
        let metadata = self.sparsity.iter_mut();
        let metadata = metadata.map(|sparsity| &mut sparsity.metadata);
        let fragments = self.a.iter_mut().chain(&mut self.b).chain(&mut self.c);
        fragments.chain(scales).chain(metadata)
    }
}

/// `wmma.load` and `wmma.store`.
#[derive(Clone, Debug)]
pub(crate) struct WmmaMove {
    pub address: Address,
    pub stores: bool,
    /// Elements from one row, or column, to the next; none where they follow each other.
    pub stride: Option<Reg32>,
    pub by_column: bool,
    /// In units.
    pub rows: u32,
    pub columns: u32,
    /// Bytes of a unit: an element, or a word of elements that are narrower than a byte.
    pub bytes: u32,
    /// Elements of a unit.
    pub unit: u32,
    /// Units in a register.
    pub packed: u32,
    pub registers: Vec<Register>,
}

/// `wmma.mma`: D = A · B + C.
#[derive(Clone, Debug)]
pub(crate) struct Wmma {
    pub inputs: MatrixInputs,
    /// The elements of C and of D.
    pub sums: [Sums; 2],
    /// Of single bits: whether they are combined by AND, else by XOR.
    pub bits: Option<bool>,
    pub shape: [u32; 3],
    /// `.satfinite`.
    pub saturates: bool,
    /// Of f64.
    pub rounding: Rounding,
    pub d: Vec<Register>,
    pub a: Vec<Register>,
    pub b: Vec<Register>,
    pub c: Vec<Register>,
}

/// Elements of C or D.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sums {
    F16,
    F32,
    F64,
    S32,
}

impl Sums {
    /// Elements in a register.
    pub(crate) fn packed(self) -> u32 {
        match self {
            Sums::F16 => 2,
            _ => 1,
        }
    }
}

/// Elements of A and B.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MatrixInputs {
    F16,
    Bf16,
    Tf32,
    F64,
    E4m3,
    E5m2,
    /// In the low six bits of a byte.
    E2m3,
    E3m2,
    /// In the middle of a byte, or two of them in one.
    E2m1 {
        dense: bool,
    },
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
            MatrixInputs::E2m1 { dense: true } => 8,
            MatrixInputs::E4m3
            | MatrixInputs::E5m2
            | MatrixInputs::E2m3
            | MatrixInputs::E3m2
            | MatrixInputs::E2m1 { .. } => 4,
            MatrixInputs::Integer { bits, .. } => 32 / bits,
        }
    }
}

/// `wgmma.mma_async`: the rows of one warp of the warpgroup.
#[derive(Clone, Debug)]
pub(crate) struct Wgmma {
    pub inputs: MatrixInputs,
    pub inputs_b: MatrixInputs,
    /// The elements of D.
    pub sums: Sums,
    /// `.satfinite` of integers.
    pub saturates: bool,
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
    /// Where the elements of a sparse A stand, which then has half as many columns.
    pub sparsity: Option<Sparsity>,
}

/// A of `wgmma.mma_async`.
#[derive(Clone, Debug)]
pub(crate) enum WgmmaA {
    Shared { descriptor: Reg64, across: bool },
    Registers(Vec<Register>),
}
