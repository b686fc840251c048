//! The ends of basic blocks.

use super::{BarrierObject, BulkCopy, Predicate, Reg32, Reg64, TensorInstruction};

/// What happens at the end of a basic block.
#[derive(Clone, Debug)]
pub(crate) enum Terminator {
    Jump(u32),
    Branch {
        predicate: Predicate,
        negated: bool,
        taken: u32,
        next: u32,
    },
    Switch {
        index: Reg32,
        targets: Vec<u32>,
    },
    Return,
    Exit,
    Trap,
    Call(Box<Call>),
    Barrier(Box<Barrier>),
    BarrierObject(Box<BarrierObject>),
    /// `barrier.cluster.arrive`.
    ClusterArrive {
        next: u32,
    },
    /// `barrier.cluster.wait`.
    ClusterWait {
        next: u32,
    },
    BulkCopy(Box<BulkCopy>),
    /// `tcgen05`.
    Tensor(Box<TensorInstruction>),
    /// `cp.async.bulk.wait_group`: waits for all but this number of the newest groups.
    BulkWait {
        newest: u32,
        next: u32,
    },
    /// `wgmma.wait_group`: waits for all but this number of the newest groups of the warpgroup.
    WarpgroupWait {
        newest: u32,
        next: u32,
    },
}

/// A call of a `.func`; arguments and results are copied word by word.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub target: CallTarget,
    pub arguments: Vec<Reg32>,
    pub results: Vec<Reg32>,
    pub next: u32,
}

#[derive(Clone, Debug)]
pub(crate) enum CallTarget {
    /// Index into `Program::functions`.
    Function(u32),
    /// Index into the module's functions, before `Program::functions` is complete, or of an
    /// external function, which cannot run.
    External(String),
    /// A function's address.
    Indirect(Reg64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BarrierKind {
    Sync,
    Arrive,
    Count(Reg32),
    And(Predicate),
    Or(Predicate),
}

#[derive(Clone, Debug)]
pub(crate) struct Barrier {
    pub kind: BarrierKind,
    pub id: Reg32,
    /// Number of participating threads; none for all of the block.
    pub threads: Option<Reg32>,
    /// The predicate that a reduction reads.
    pub source: Option<Predicate>,
    pub next: u32,
}
