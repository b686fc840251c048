//! Asynchronous copies into shared memory, and the mbarriers that signal their completion.

use super::{Address, AtomicFunction, Predicate, Reg32, Reg64, Register};
use ptx_syntax::ast::Type;

/// Bits of the number of arrivals of an mbarrier; it is at most 2^20 - 1 (PTX ISA, "mbarrier").
pub(crate) const PENDING_BITS: u32 = 20;

/// `cp.async`: each lane copies a few bytes from global to shared memory.
#[derive(Clone, Debug)]
pub(crate) struct AsyncCopy {
    pub to: Address,
    pub from: Address,
    /// Bytes written: 4, 8 or 16.
    pub bytes: u32,
    /// Bytes read, the rest being zero; all of them where there is none.
    pub source_bytes: Option<Reg32>,
    /// Lanes that read nothing and write zeros.
    pub ignore: Option<Predicate>,
}

/// An instruction on an mbarrier, which may complete its phase or wait for that: lanes execute it
/// one after the other.
#[derive(Clone, Debug)]
pub(crate) struct BarrierObject {
    pub address: Address,
    pub action: BarrierAction,
    pub next: u32,
}

/// What an mbarrier instruction does (PTX ISA, "mbarrier").
#[derive(Clone, Copy, Debug)]
pub(crate) enum BarrierAction {
    /// `init`: with the number of arrivals that complete a phase.
    Init(Reg32),
    /// `inval`.
    Invalidate,
    /// `arrive` and `arrive_drop`.
    Arrive {
        /// The state before.
        state: Option<Reg64>,
        /// Arrivals; one where there is none.
        count: Option<Reg32>,
        /// Bytes that the phase waits for in addition.
        expect: Option<Reg32>,
        /// Whether later phases wait for fewer arrivals.
        drop: bool,
    },
    /// `expect_tx`.
    Expect(Reg32),
    /// `complete_tx`.
    Complete(Reg32),
    /// `test_wait` and `try_wait`.
    Wait {
        done: Predicate,
        phase: Phase,
        /// `try_wait`, which may suspend the thread.
        suspends: bool,
    },
    /// `cp.async.mbarrier.arrive`: arrives when the thread's copies so far are done.
    ArriveAfterCopies {
        /// Without `.noinc` the phase waits for one more arrival.
        increment: bool,
    },
}

/// The phase whose completion is waited for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Phase {
    /// That of a state that `arrive` gave.
    State(Reg64),
    /// The current or the preceding one, by its parity.
    Parity(Reg32),
}

/// `cp.async.bulk`, `cp.reduce.async.bulk`, `st.async` and `red.async`: the copy engine moves bytes
/// or a box of a tensor.
#[derive(Clone, Debug)]
pub(crate) struct BulkCopy {
    pub direction: BulkDirection,
    pub data: BulkData,
    /// The data in shared memory; of a load the destination.
    pub shared: Address,
    /// What is done with the elements of the destination, which are of the type, or else of that of
    /// the tensor map.
    pub reduction: Option<(AtomicFunction, Option<Type>)>,
    /// `.cta_group::2`: the mbarrier may be in the other block of a pair.
    pub pair: bool,
    pub next: u32,
}

/// What a bulk copy moves.
#[derive(Clone, Debug)]
pub(crate) enum BulkData {
    /// A box of a tensor: the address of its map, and the coordinates of the first element.
    Box(Address, Vec<Reg32>),
    /// Bytes in global memory, or in the block's shared memory, and their number.
    Bytes(Address, Reg32),
    /// Values of registers, and the bytes of each.
    Values(Vec<Register>, u32),
}

/// An instruction on a tensor map in memory.
#[derive(Clone, Debug)]
pub(crate) struct MapEdit {
    pub map: Address,
    pub action: MapAction,
}

#[derive(Clone, Debug)]
pub(crate) enum MapAction {
    /// `tensormap.replace`: a field, its number where it has several, and the new value.
    Replace(MapField, u32, Register),
    /// `tensormap.cp_fenceproxy`: copies the map that lies at an address.
    CopyFrom(Address),
}

/// A field of a tensor map (PTX ISA, "tensormap.replace").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MapField {
    Address,
    /// The number of dimensions less one.
    Rank,
    BoxExtent,
    Extent,
    Stride,
    ElementStride,
    ElementType,
    Interleave,
    Swizzle,
    SwizzleAtomicity,
    Fill,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum BulkDirection {
    /// To shared memory; the bytes are transactions of an mbarrier. With a mask, to the shared
    /// memory of several blocks of the cluster.
    Load {
        barrier: Address,
        blocks: Option<Reg32>,
    },
    /// To global memory, in the thread's bulk group.
    Store,
}
