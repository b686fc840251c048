//! Tensor memory and the MMAs on it: `tcgen05`.

use super::{Address, MatrixInputs, Predicate, ReduceMode, Reg32, Reg64, RowPacking};

/// A `tcgen05` instruction. An address of tensor memory is a number of 32 bits: the lane in the
/// upper half, the column in the lower one.
#[derive(Clone, Debug)]
pub(crate) struct TensorInstruction {
    pub action: TensorAction,
    /// `.cta_group::2`: of a pair of blocks.
    pub pair: bool,
    pub next: u32,
}

#[derive(Clone, Debug)]
pub(crate) enum TensorAction {
    /// `alloc`: writes the address of columns to shared memory.
    Allocate {
        to: Address,
        columns: Reg32,
    },
    /// `dealloc`.
    Free {
        address: Reg32,
        columns: Reg32,
    },
    /// `relinquish_alloc_permit`.
    Relinquish,
    Move(TensorMove),
    /// `wait::ld`, or `wait::st` where it is of stores: the warp's moves are complete.
    Wait {
        stores: bool,
    },
    /// `commit`: arrives at an mbarrier when what the thread has issued is complete.
    Commit {
        barrier: Address,
        /// `.multicast::cluster`: the blocks in which it arrives, one bit each.
        blocks: Option<Reg32>,
    },
    Copy(TensorCopy),
    Mma(Box<TensorMma>),
}

/// `ld` and `st`: registers of a warp from and to its quarter of the lanes.
#[derive(Clone, Debug)]
pub(crate) struct TensorMove {
    pub address: Address,
    pub stores: bool,
    pub shape: TensorShape,
    /// `.pack::16b` and `.unpack::16b`: a register holds the low halves of two columns.
    pub packs: bool,
    pub registers: Vec<Reg32>,
    /// `.red`: what one value of each lane's registers goes to.
    pub reduces: Option<(ReduceMode, Reg32)>,
}

impl TensorMove {
    /// What a load writes.
    fn destinations(&mut self) -> Vec<&mut Reg32> {
        let reduced = self.reduces.iter_mut().map(|(_, reduced)| reduced);
        self.registers.iter_mut().chain(reduced).collect()
    }
}

/// What one repetition of a move has in each of its lanes of tensor memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TensorShape {
    /// `.32x32b`: one column of 32 lanes.
    Lanes32,
    /// `.16x64b`, `.16x128b`, `.16x256b`: 2, 4 or 8 columns of 16 lanes.
    Lanes16(u32),
    /// `.16x32bx2`: one column of 16 lanes twice, this number of columns apart.
    Halves(u32),
}

/// `cp`: rows from shared to tensor memory.
#[derive(Clone, Debug)]
pub(crate) struct TensorCopy {
    pub address: Address,
    pub descriptor: Reg64,
    /// Rows, and bytes of each in tensor memory.
    pub rows: u32,
    pub bytes: u32,
    /// The lanes to which a row goes, as the first one for each block of 32 rows.
    pub lanes: CopyLanes,
    /// How the elements of a row lie in shared memory where they are narrower than a byte.
    pub packing: RowPacking,
}

/// The lanes of `tcgen05.cp`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CopyLanes {
    /// One for each row.
    Each,
    /// `.4x256b`: the first one of each quarter.
    Quarters,
    /// `.warpx2::02_13`: 64 rows twice.
    Halves,
    /// `.warpx2::01_23`: each 32 of 64 rows twice.
    Neighbours,
    /// `.warpx4`: 32 rows four times.
    All,
}

/// `mma`: D = A · B + D, with D in tensor memory.
#[derive(Clone, Debug)]
pub(crate) struct TensorMma {
    pub kind: TensorKind,
    pub d: Address,
    pub a: TensorA,
    /// Matrix descriptor of B.
    pub b: Reg64,
    /// The instruction descriptor.
    pub shape: Reg32,
    /// Whether D is added to.
    pub keep: Predicate,
    /// D is multiplied by 2^-`scale` first.
    pub scale: u32,
    /// Lanes of D that are not written.
    pub disabled: Vec<Reg32>,
    /// `.block_scale`: the addresses of the scales of A and B, and the blocks along k of an MMA.
    pub scales: Option<([Address; 2], u32)>,
    /// `.sp`: the address of the metadata of A.
    pub metadata: Option<Address>,
    /// `.ws`: the weights stay.
    pub stationary: bool,
    /// `.ws`: which columns of B count as zero.
    pub zero_columns: Option<Reg64>,
}

/// A of `tcgen05.mma`.
#[derive(Clone, Debug)]
pub(crate) enum TensorA {
    /// A matrix descriptor.
    Shared(Reg64),
    Tensor(Address),
}

/// `.kind`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TensorKind {
    F16,
    Tf32,
    F8f6f4,
    I8,
    Mxf8f6f4,
    Mxf4,
    Mxf4nvf4,
}

impl TensorKind {
    pub(crate) const ALL: [(&'static str, TensorKind); 7] = [
        ("f16", TensorKind::F16),
        ("tf32", TensorKind::Tf32),
        ("f8f6f4", TensorKind::F8f6f4),
        ("i8", TensorKind::I8),
        ("mxf8f6f4", TensorKind::Mxf8f6f4),
        ("mxf4", TensorKind::Mxf4),
        ("mxf4nvf4", TensorKind::Mxf4nvf4),
    ];

    pub(crate) fn name(self) -> &'static str {
        let found = TensorKind::ALL.iter().find(|(_, kind)| *kind == self);
        found.map_or("", |(name, _)| name)
    }

    /// Whether it has scales.
    pub(crate) fn is_scaled(self) -> bool {
        matches!(
            self,
            TensorKind::Mxf8f6f4 | TensorKind::Mxf4 | TensorKind::Mxf4nvf4
        )
    }

    /// The elements of A or B that a number of the instruction descriptor means (PTX ISA,
    /// "Instruction descriptor").
    pub(crate) fn inputs(self, number: u32) -> Option<MatrixInputs> {
        use MatrixInputs::{Bf16, E2m1, E2m3, E3m2, E4m3, E5m2, F16, Integer, Tf32};
        Some(match (self, number) {
            (TensorKind::F16, 0) => F16,
            (TensorKind::F16, 1) => Bf16,
            (TensorKind::Tf32, 2) => Tf32,
            (TensorKind::F8f6f4 | TensorKind::Mxf8f6f4, number) => match number {
                0 => E4m3,
                1 => E5m2,
                3 => E2m3,
                4 => E3m2,
                5 => E2m1 { dense: false },
                _ => return None,
            },
            (TensorKind::I8, 0 | 1) => Integer {
                bits: 8,
                signed: number == 1,
            },
            (TensorKind::Mxf4 | TensorKind::Mxf4nvf4, 1) => E2m1 { dense: true },
            _ => return None,
        })
    }
}

impl TensorInstruction {
    /// Its registers that are read but for the bases of addresses.
    pub(crate) fn sources(&mut self) -> (Vec<&mut Reg32>, Vec<&mut Reg64>, Vec<&mut Predicate>) {
        let (mut words, mut doubles, mut predicates) = (Vec::new(), Vec::new(), Vec::new());
        match &mut self.action {
            TensorAction::Allocate { columns, .. } => words.push(columns),
            TensorAction::Free { address, columns } => words.extend([address, columns]),
            TensorAction::Move(moved) if moved.stores => words.extend(&mut moved.registers),
            TensorAction::Commit { blocks, .. } => words.extend(blocks),
            TensorAction::Copy(copy) => doubles.push(&mut copy.descriptor),
            TensorAction::Mma(product) => {
                if let TensorA::Shared(descriptor) = &mut product.a {
                    doubles.push(descriptor);
                }
                doubles.push(&mut product.b);
                doubles.extend(&mut product.zero_columns);
                words.push(&mut product.shape);
                words.extend(&mut product.disabled);
                predicates.push(&mut product.keep);
            }
            TensorAction::Move(_) | TensorAction::Wait { .. } | TensorAction::Relinquish => {}
        }
        (words, doubles, predicates)
    }

    /// The registers that are written.
    pub(crate) fn destinations(&mut self) -> Vec<&mut Reg32> {
        match &mut self.action {
            TensorAction::Move(moved) if !moved.stores => moved.destinations(),
            _ => Vec::new(),
        }
    }

    pub(crate) fn addresses(&mut self) -> Vec<&mut Address> {
        match &mut self.action {
            TensorAction::Allocate { to, .. } => vec![to],
            TensorAction::Move(TensorMove { address, .. })
            | TensorAction::Copy(TensorCopy { address, .. }) => vec![address],
            TensorAction::Commit { barrier, .. } => vec![barrier],
            TensorAction::Mma(product) => {
                let TensorMma {
                    d,
                    a,
                    scales,
                    metadata,
                    ..
                } = product.as_mut();
                let mut all = vec![d];
                if let TensorA::Tensor(address) = a {
                    all.push(address);
                }
                all.extend(scales.iter_mut().flat_map(|(addresses, _)| addresses));
                all.extend(metadata);
                all
            }
            TensorAction::Free { .. } | TensorAction::Wait { .. } | TensorAction::Relinquish => {
                Vec::new()
            }
        }
    }
}
