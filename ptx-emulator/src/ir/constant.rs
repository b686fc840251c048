//! Values that fill registers before the code runs.

/// A value that fills a register before the code runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Constant {
    Bits(u64),
    /// Bytes of the kernel's parameters.
    Param {
        offset: u32,
        bytes: u32,
        signed: bool,
    },
    Special(Special),
    /// The first byte of dynamic shared memory, plus an offset.
    DynamicShared(i64),
    /// An offset in the block's own shared memory as an address that has the block's rank; from the
    /// start of dynamic shared memory where `true`.
    OwnShared(bool, i64),
    /// A module variable's address (index into the module's variables), plus an offset.
    Variable(u32, i64),
}

impl Constant {
    /// Whether it is the same in all lanes of a warp.
    pub(crate) fn is_uniform(self) -> bool {
        use Special::{Lane, LaneMask, ThreadId};
        !matches!(self, Constant::Special(ThreadId(_) | Lane | LaneMask(_)))
    }

    /// Whether it is the same in all blocks of a launch.
    pub(crate) fn is_of_launch(self) -> bool {
        use Special::{BlockId, ClusterBlockId, ClusterId, ClusterRank};
        !matches!(
            self,
            Constant::Special(BlockId(_) | ClusterId(_) | ClusterBlockId(_) | ClusterRank)
                | Constant::OwnShared(..)
        )
    }
}

/// Special registers that are constant for a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Special {
    ThreadId(u8),
    ThreadCount(u8),
    BlockId(u8),
    BlockCount(u8),
    /// The cluster in the grid, and how many there are.
    ClusterId(u8),
    ClusterCount(u8),
    /// The block in its cluster, and how many there are.
    ClusterBlockId(u8),
    ClusterBlockCount(u8),
    /// The same, x first.
    ClusterRank,
    ClusterBlocks,
    /// Whether the launch named a cluster, even of one block.
    IsExplicitCluster,
    Lane,
    Warp,
    WarpCount,
    LaneMask(LaneMask),
    DynamicSharedBytes,
    TotalSharedBytes,
    /// With what the system reserves.
    AggregateSharedBytes,
    /// An address in the shared memory that the system reserves, counted from its start.
    ReservedShared(u16),
    ReservedSharedBytes,
    /// The lower or the upper half of the address of the grid's workspace; zero outside of
    /// cooperative launches.
    GridWorkspace(Half),
    Zero,
    One,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Half {
    Lower,
    Upper,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum LaneMask {
    Equal,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
}
