//! The memory accesses that observers see.

use std::fmt;

use crate::ir::{AccessKind, GroupedLoad, InstructionId, Register, Space, Store};

/// One memory instruction of a warp.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct MemoryAccess<'a> {
    /// The instruction.
    pub instruction: InstructionId,
    /// The space accessed; never generic.
    pub space: Space,
    /// What the access does.
    pub kind: AccessKind,
    /// Bytes that each lane accesses, all vector elements together.
    pub bytes: u32,
    /// The active lanes, one bit each.
    pub mask: u32,
    /// First address of each lane; those of lanes outside the mask mean nothing. Addresses of
    /// global and constant memory are generic, those of other spaces count from the space's start.
    pub addresses: &'a [u64; 32],
    /// Whether the executor knows that the mask and the distances between the addresses are those
    /// of the access that this observer last saw of the same instruction. False may also mean that
    /// the executor does not know.
    pub(crate) repeats_pattern: bool,
    /// Whether this is a strong operation (PTX ISA, "Memory Consistency Model"): an atomic, or a
    /// load or store marked volatile, relaxed, acquire or release.
    pub strong: bool,
    /// Of a store: what the lanes store.
    pub values: Option<StoredValues<'a>>,
}

/// How far an asynchronous operation has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// It has been issued: from now on it may access the memory at any time.
    Issued,
    /// It is complete, and the lanes that issued it have waited for its completion. Of `wgmma` a
    /// warp of the same warpgroup has, which
    /// [`Event::WarpgroupWait`](super::Event::WarpgroupWait) names.
    Waited,
    /// It is complete, and the completion was signalled to the mbarrier at this address of shared
    /// memory. The address counts as in [`Space::Cluster`], which is the same in a launch without
    /// clusters.
    Signalled(u64),
}

/// The lanes of a warp that have issued an asynchronous operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Issuer {
    /// Each lane issued its own access (`cp.async`).
    EachLane,
    /// This lane issued all of it (`cp.async.bulk.tensor`).
    Lane(u32),
    /// All lanes issued it as one (`wgmma`).
    Warp,
}

/// An access of an asynchronous operation: `cp.async`, `cp.async.bulk.tensor`, or `wgmma`.
///
/// Accesses to global memory are reported when they are complete, not when they are issued. A
/// completed operation accesses what it announced when it was issued, or a subset of it; events for
/// the rest follow.
///
/// The lanes of `cp.async` perform its accesses themselves, so they are reported as
/// [`Event::Access`](super::Event::Access) too, when they are complete. The others are those of
/// the copy engine and of the tensor cores.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct AsyncAccess<'a> {
    /// The access. For a copy engine and a tensor core the addresses are those of consecutive
    /// chunks, whichever lane has issued the operation.
    pub access: MemoryAccess<'a>,
    /// The lanes that issued it.
    pub issuer: Issuer,
    /// How far it has come.
    pub progress: Progress,
}

/// The memory accesses that one event reports: mostly one, at times several loads of a basic block.
///
/// The executor reports accesses that resemble earlier ones in a shorter form. An observer sees
/// each of them in full through [`Accesses::for_each`]; the counters and the sanitizers of this
/// crate use the shorter forms.
#[derive(Clone, Copy, Debug)]
pub struct Accesses<'a>(pub(crate) Form<'a>);

/// How accesses are reported.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Form<'a> {
    Full(&'a MemoryAccess<'a>),
    Repeated(RepeatedAccess<'a>),
    Loads(&'a RepeatedLoads<'a>),
}

impl<'a> Accesses<'a> {
    #[inline(always)]
    pub(crate) fn full(access: &'a MemoryAccess<'a>) -> Self {
        Accesses(Form::Full(access))
    }

    #[inline(always)]
    pub(crate) fn repeated(access: RepeatedAccess<'a>) -> Self {
        Accesses(Form::Repeated(access))
    }

    #[inline(always)]
    pub(crate) fn loads(loads: &'a RepeatedLoads<'a>) -> Self {
        Accesses(Form::Loads(loads))
    }

    /// Calls `see` with each access, in the order of the kernel's instructions.
    #[inline(always)]
    pub fn for_each(&self, mut see: impl FnMut(&MemoryAccess<'_>)) {
        match self.0 {
            Form::Full(access) => see(access),
            Form::Repeated(access) => access.expand(see),
            Form::Loads(loads) => {
                for access in loads.each() {
                    access.expand(&mut see);
                }
            }
        }
    }
}

/// A weak load or store of all 32 lanes that is like the access that this observer last saw of the
/// same instruction: in the same space, with the same distances between the addresses.
///
/// Most accesses are like this. What an observer needs of them, such as the sectors that they
/// touch, follows from the last one and the first address.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RepeatedAccess<'a> {
    pub instruction: InstructionId,
    /// The space accessed; never generic.
    pub space: Space,
    /// What the access does; no atomic.
    pub kind: AccessKind,
    /// Bytes that each lane accesses, all vector elements together.
    pub bytes: u32,
    /// The first address of lane 0, counted as in [`MemoryAccess::addresses`].
    pub first_address: u64,
    /// First address of each lane minus that of lane 0, modulo 2^64.
    pub distances: &'a [u64; 32],
    /// Of a store: what the lanes store.
    pub values: Option<StoredValues<'a>>,
}

impl RepeatedAccess<'_> {
    /// Calls `see` with all addresses.
    #[inline(always)]
    pub(crate) fn expand<R>(&self, see: impl FnOnce(&MemoryAccess<'_>) -> R) -> R {
        self.in_full(true, see)
    }

    #[inline(always)]
    pub(crate) fn in_full<R>(
        &self,
        repeats_pattern: bool,
        see: impl FnOnce(&MemoryAccess<'_>) -> R,
    ) -> R {
        let mut addresses = [self.first_address; 32];
        for (address, distance) in addresses.iter_mut().zip(self.distances) {
            *address = address.wrapping_add(*distance);
        }
        see(&MemoryAccess {
            instruction: self.instruction,
            space: self.space,
            kind: self.kind,
            bytes: self.bytes,
            mask: u32::MAX,
            addresses: &addresses,
            repeats_pattern,
            strong: false,
            values: self.values,
        })
    }
}

/// Loads of a basic block, each of which is a [`RepeatedAccess`]. Between the first and the last of
/// them the warp accesses no memory but by other loads.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RepeatedLoads<'a> {
    /// Names the loads: equal numbers mean the same loads.
    pub group: usize,
    /// The loads, in the kernel's order.
    pub loads: &'a [GroupedLoad],
    /// The space accessed; shared or global.
    pub space: Space,
    /// Lane 0's value of the register, counted as in [`MemoryAccess::addresses`].
    pub base: u64,
    /// Each lane's value minus that of lane 0, modulo 2^64.
    pub distances: &'a [u64; 32],
    /// Differs from the last time if `distances` do.
    pub version: u64,
}

impl<'a> RepeatedLoads<'a> {
    /// The loads one by one.
    pub(crate) fn each(&self) -> impl Iterator<Item = RepeatedAccess<'a>> + use<'a> {
        let (space, base, distances) = (self.space, self.base, self.distances);
        self.loads.iter().map(move |load| RepeatedAccess {
            instruction: load.instruction,
            space,
            kind: AccessKind::Load,
            bytes: load.bytes,
            first_address: base.wrapping_add_signed(load.offset),
            distances,
            values: None,
        })
    }
}

/// The values that the lanes of a warp store.
#[derive(Clone, Copy)]
pub struct StoredValues<'a> {
    pub(crate) regs32: &'a [[u32; 32]],
    pub(crate) regs64: &'a [[u64; 32]],
    pub(crate) store: &'a Store,
    /// The block's shared memory, before the store.
    pub(crate) shared: &'a [u32],
}

impl StoredValues<'_> {
    /// The byte that a lane stores at a distance from its first address.
    pub(crate) fn byte_of_lane(&self, lane: usize, at: u64) -> Option<u8> {
        let size = u64::from(self.store.bytes.max(1));
        let element = self.of_lane(lane).nth((at / size) as usize)?;
        Some((element >> (8 * (at % size))) as u8)
    }

    /// A byte of the block's shared memory, before the store.
    pub(crate) fn shared_byte(&self, address: u64) -> Option<u8> {
        let word = self.shared.get(usize::try_from(address / 4).ok()?)?;
        Some((word >> (8 * (address % 4))) as u8)
    }

    /// The bits of a register that an element has.
    fn stored_bits(&self) -> u64 {
        u64::MAX >> (64 - 8 * self.store.bytes.clamp(1, 8))
    }

    /// Whether all elements that lanes store are one value.
    pub(crate) fn are_all(&self, value: u64, mask: u32) -> bool {
        let stored_bits = self.stored_bits();
        let mut other = 0;
        for source in &self.store.sources {
            let differs =
                |lane: usize, word: u64| u32::from((word ^ value) & stored_bits != 0) << lane;
            match source {
                Register::Reg32(reg) => {
                    for (lane, &word) in self.regs32[reg.0 as usize].iter().enumerate() {
                        other |= differs(lane, u64::from(word));
                    }
                }
                Register::Reg64(reg) => {
                    for (lane, &word) in self.regs64[reg.0 as usize].iter().enumerate() {
                        other |= differs(lane, word);
                    }
                }
                // There are no stores of predicates.
                Register::Predicate(_) => other |= if value == 0 { 0 } else { u32::MAX },
            }
        }
        other & mask == 0
    }

    /// The elements of the vector that a lane stores, from the lowest address on.
    pub fn of_lane(&self, lane: usize) -> impl Iterator<Item = u64> + '_ {
        let stored_bits = self.stored_bits();
        self.store.sources.iter().map(move |source| match source {
            Register::Reg32(reg) => u64::from(self.regs32[reg.0 as usize][lane]) & stored_bits,
            Register::Reg64(reg) => self.regs64[reg.0 as usize][lane] & stored_bits,
            // There are no stores of predicates.
            Register::Predicate(_) => 0,
        })
    }
}

impl fmt::Debug for StoredValues<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lanes = (0..32).map(|lane| self.of_lane(lane).collect::<Vec<u64>>());
        f.debug_list().entries(lanes).finish()
    }
}
