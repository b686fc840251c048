//! Loads and stores: addresses, spaces and checks.

use std::sync::atomic::{Ordering, fence};

use super::access_pattern::AccessPattern;
use super::convert::{sign_extend, truncate};
use super::lane_offsets::{LaneOffsets, Report};
use super::run::{Outcome, Run};
use super::transfer::{
    Global, Source, Target, Transfer, read_row, read32, read64, write_row, write32, write64,
};
use super::vector::{LANES, Lanes32, Registers};
use super::warp_ops::{lanes, read, write};
use super::{Launch, simd};
use crate::ir::{AccessKind, Address, AddressBase, InstructionId, Load, Register, Space, Store};
use crate::memory::{RANK_SHIFT, resolve_cluster, space_of, window};
use crate::observer::{
    Accesses, AsyncAccess, Event, Issuer, MemoryAccess, Observer, Progress, RepeatedAccess,
    RepeatedLoads, StoredValues, Wants, WarpContext,
};

/// A loaded value as its register holds it.
#[inline(always)]
fn extend(value: u64, load: &Load) -> u64 {
    if !load.signed {
        return value;
    }
    truncate(
        sign_extend(value, 8 * load.bytes) as u64,
        load.register_bits,
    )
}

/// The lanes' addresses before any translation; `local_base` is the start of the frame's local
/// memory.
#[inline(always)]
pub(super) fn lane_addresses(
    r: &Registers<'_>,
    local_base: u32,
    address: &Address,
) -> [u64; LANES] {
    let offset = address.offset as u64;
    match address.base {
        AddressBase::Reg64(reg) => {
            let base = &r.regs64[reg.0 as usize];
            std::array::from_fn(|lane| base[lane].wrapping_add(offset))
        }
        AddressBase::Reg32(reg) => {
            let base = &r.regs32[reg.0 as usize];
            std::array::from_fn(|lane| u64::from(base[lane]).wrapping_add(offset))
        }
        AddressBase::None => [offset; LANES],
        AddressBase::Frame => [offset.wrapping_add(u64::from(local_base)); LANES],
    }
}

impl<O: Observer> Run<'_, '_, O> {
    /// The lanes' addresses before any translation.
    #[inline(always)]
    fn addresses(&self, address: &Address) -> [u64; LANES] {
        lane_addresses(&self.r, self.local_base, address)
    }

    /// The space accessed, and the addresses within it. Lanes of a generic access that lie in
    /// different spaces are left to the slow path.
    #[inline(always)]
    pub(super) fn resolve(&self, address: &Address, mask: u32) -> (Space, [u64; LANES]) {
        let mut addresses = self.addresses(address);
        if address.space == Space::Cluster {
            return self.resolve_cluster(addresses);
        }
        if address.space != Space::Generic && address.space != Space::Param {
            return (address.space, addresses);
        }
        let first = addresses[mask.trailing_zeros() as usize % LANES];
        let space = space_of(first);
        if let (Space::Shared | Space::Local | Space::Param, Some((base, _))) =
            (space, window(space))
        {
            for address in &mut addresses {
                *address = address.wrapping_sub(base);
            }
        }
        if space == Space::Shared && lanes(mask).any(|lane| addresses[lane] >> RANK_SHIFT != 0) {
            return self.resolve_cluster(addresses);
        }
        (space, addresses)
    }

    #[cold]
    fn resolve_cluster(&self, addresses: [u64; LANES]) -> (Space, [u64; LANES]) {
        let rank = self.context.rank;
        let resolved = addresses.map(|address| resolve_cluster(address, rank));
        (Space::Cluster, resolved)
    }

    /// Whether lanes of a generic access lie in different spaces.
    pub(super) fn is_mixed(&self, address: &Address, mask: u32) -> bool {
        if address.space != Space::Generic {
            return false;
        }
        let addresses = self.addresses(address);
        let first = space_of(addresses[mask.trailing_zeros() as usize % LANES]);
        lanes(mask).any(|lane| space_of(addresses[lane]) != first)
    }

    /// Reports an access that is not compared with earlier ones.
    pub(super) fn observe(
        &mut self,
        space: Space,
        kind: AccessKind,
        bytes: u32,
        (mask, strong): (u32, bool),
        addresses: &[u64; LANES],
    ) {
        if O::ACCESSES {
            let lanes = (mask, strong);
            let access = self.irregular_access(space, kind, bytes, lanes, addresses);
            self.observer.notify(Event::Access {
                warp: &self.context,
                accesses: Accesses::full(&access),
            });
        }
    }

    /// Reports an asynchronous access to shared memory.
    pub(super) fn observe_async(
        &mut self,
        kind: AccessKind,
        bytes: u32,
        (mask, addresses): (u32, &[u64; LANES]),
        issuer: Issuer,
        progress: Progress,
    ) {
        if O::ASYNC_ACCESSES {
            let lanes = (mask, false);
            let access = self.irregular_access(Space::Shared, kind, bytes, lanes, addresses);
            let access = AsyncAccess {
                access,
                issuer,
                progress,
            };
            self.observer.notify(Event::AsyncAccess {
                warp: &self.context,
                access: &access,
            });
        }
    }

    fn irregular_access<'a>(
        &self,
        space: Space,
        kind: AccessKind,
        bytes: u32,
        (mask, strong): (u32, bool),
        addresses: &'a [u64; LANES],
    ) -> MemoryAccess<'a> {
        MemoryAccess {
            instruction: InstructionId(self.info),
            space,
            kind,
            bytes,
            mask,
            addresses,
            repeats_pattern: false,
            strong,
            values: None,
        }
    }

    /// Runs `one` for groups of lanes that access the same space.
    pub(super) fn split_by_space(
        &mut self,
        address: &Address,
        mask: u32,
        one: impl Fn(&mut Self, u32) -> Outcome,
    ) -> Outcome {
        let addresses = self.addresses(address);
        let mut rest = mask;
        while rest != 0 {
            let space = space_of(addresses[rest.trailing_zeros() as usize % LANES]);
            let group = lanes(rest)
                .filter(|&lane| space_of(addresses[lane]) == space)
                .fold(0, |group, lane| group | 1 << lane);
            one(self, group)?;
            rest &= !group;
        }
        Ok(())
    }

    #[inline(always)]
    pub(super) fn load<const FULL: bool>(&mut self, index: u32, mask: u32) -> Outcome {
        if FULL && mask == u32::MAX && self.load_fast(index as usize) {
            return Ok(());
        }
        self.load_slow(index as usize, mask)
    }

    /// All lanes at once; false, with nothing done, where the access is not in bounds, misaligned,
    /// or of a kind that the fast paths leave to the slow one.
    #[inline(always)]
    fn load_fast(&mut self, index: usize) -> bool {
        let pattern = &mut self.patterns[index];
        let local = (self.local_base, self.local_top);
        let visit = *self.visit;
        let Some(location) = pattern.find(self.launch, &self.r, self.lane_offsets, visit, local)
        else {
            return false;
        };
        let at = location.offset / 4;
        match location.space {
            Space::Shared => {
                let source = &&*self.shared;
                if !read_row(source, at, pattern, self.r.regs32) {
                    let load = &self.program.loads[index];
                    load_all(&&self.shared[at..], load, pattern, &mut self.r);
                }
            }
            Space::Local => load_local(self.local, &self.program.loads[index], at, &mut self.r),
            _ => {
                let allocation = &self.launch.allocations[location.allocation as usize];
                let (words, level) = (allocation.words(), self.launch.level);
                if pattern.transfer == Transfer::Row {
                    simd::prefetch_row(words, pattern.ahead(at));
                }
                if !read_row(&Global { words, level }, at, pattern, self.r.regs32) {
                    let load = &self.program.loads[index];
                    let words = &words[at..];
                    load_all(&Global { words, level }, load, pattern, &mut self.r);
                }
            }
        }
        let offsets = &mut self.lane_offsets[pattern.offsets as usize];
        if O::UNORDERED_LOADS && offsets.report == Report::Now {
            offsets.report = Report::Done;
            let loads = RepeatedLoads {
                group: pattern.offsets as usize,
                loads: &self.program.groups[pattern.offsets as usize],
                space: offsets.space,
                base: offsets.reported,
                distances: &offsets.deltas,
                version: offsets.version,
            };
            self.observer.notify(Event::Access {
                warp: &self.context,
                accesses: Accesses::loads(&loads),
            });
        }
        if O::ACCESSES && !(O::UNORDERED_LOADS && offsets.report == Report::Done) {
            let (bytes, distances) = (pattern.bytes, &offsets.deltas);
            let access = || RepeatedAccess {
                instruction: InstructionId(self.info),
                space: location.space,
                kind: AccessKind::Load,
                bytes,
                first_address: location.first,
                distances,
                values: None,
            };
            observe_regular(
                self.observer,
                &self.context,
                pattern,
                location.space,
                access,
            );
        }
        true
    }

    #[cold]
    #[inline(never)]
    fn load_slow(&mut self, index: usize, mask: u32) -> Outcome {
        let load = &self.program.loads[index];
        let bytes = load.bytes * load.destinations.len() as u32;
        if self.is_mixed(&load.address, mask) {
            return self.split_by_space(&load.address, mask, |this, group| {
                this.load_slow(index, group)
            });
        }
        let (space, addresses) = self.resolve(&load.address, mask);
        let in_order = O::STRONG_IN_ORDER && load.strong && space == Space::Global;
        let launch = self.launch;
        let _in_order = in_order.then(|| launch.in_order());
        self.patterns[index].observe_other(self.lane_offsets);
        let lanes = (mask, load.strong);
        self.observe(space, AccessKind::Load, bytes, lanes, &addresses);
        self.load_lanes(load, space, &addresses, mask, bytes)
    }

    #[inline(never)]
    fn load_lanes(
        &mut self,
        load: &Load,
        space: Space,
        addresses: &[u64; LANES],
        mask: u32,
        bytes: u32,
    ) -> Outcome {
        for lane in lanes(mask) {
            let address = addresses[lane];
            self.check(space, address, bytes, AccessKind::Load, lane)?;
            for (index, destination) in load.destinations.iter().enumerate() {
                let at = address + u64::from(load.bytes) * index as u64;
                let value = self.read_memory(space, at, load.bytes, lane, load.strong);
                if let Some(register) = destination {
                    write(&mut self.r, *register, lane, extend(value, load));
                }
            }
        }
        if load.acquire {
            fence(Ordering::SeqCst);
        }
        Ok(())
    }

    #[inline(always)]
    pub(super) fn store<const FULL: bool>(&mut self, index: u32, mask: u32) -> Outcome {
        if FULL && mask == u32::MAX && self.store_fast(index as usize) {
            return Ok(());
        }
        self.store_slow(index as usize, mask)
    }

    /// As [`Self::load_fast`].
    #[inline(always)]
    fn store_fast(&mut self, index: usize) -> bool {
        let store = &self.program.stores[index];
        let site = self.program.loads.len() + index;
        let pattern = &mut self.patterns[site];
        let local = (self.local_base, self.local_top);
        let visit = *self.visit;
        let Some(location) = pattern.find(self.launch, &self.r, self.lane_offsets, visit, local)
        else {
            return false;
        };
        let at = location.offset / 4;
        match location.space {
            Space::Shared => {
                if !write_row(&mut &mut *self.shared, at, pattern, self.r.regs32) {
                    store_all(&mut &mut self.shared[at..], store, pattern, &self.r);
                }
            }
            Space::Local => store_local(self.local, store, at, &self.r),
            Space::Global => {
                let allocation = &self.launch.allocations[location.allocation as usize];
                let (words, level) = (allocation.words(), self.launch.level);
                if !write_row(&mut Global { words, level }, at, pattern, self.r.regs32) {
                    let words = &words[at..];
                    store_all(&mut Global { words, level }, store, pattern, &self.r);
                }
            }
            Space::Const | Space::Param | Space::Generic | Space::Cluster => return false,
        }
        if O::ACCESSES {
            let offsets = &self.lane_offsets[pattern.offsets as usize];
            let (bytes, distances) = (pattern.bytes, &offsets.deltas);
            let access = || RepeatedAccess {
                instruction: InstructionId(self.info),
                space: location.space,
                kind: AccessKind::Store,
                bytes,
                first_address: location.first,
                distances,
                values: Some(stored_values(&self.r, store)),
            };
            observe_regular(
                self.observer,
                &self.context,
                pattern,
                location.space,
                access,
            );
        }
        true
    }

    #[cold]
    #[inline(never)]
    fn store_slow(&mut self, index: usize, mask: u32) -> Outcome {
        let store = &self.program.stores[index];
        let bytes = store.bytes * store.sources.len() as u32;
        if self.is_mixed(&store.address, mask) {
            return self.split_by_space(&store.address, mask, |this, group| {
                this.store_slow(index, group)
            });
        }
        let (space, addresses) = self.resolve(&store.address, mask);
        let in_order = O::STRONG_IN_ORDER && store.strong && space == Space::Global;
        let launch = self.launch;
        let _in_order = in_order.then(|| launch.in_order());
        self.patterns[self.program.loads.len() + index].observe_other(self.lane_offsets);
        if O::ACCESSES {
            let lanes = (mask, store.strong);
            let access = MemoryAccess {
                values: Some(stored_values(&self.r, store)),
                ..self.irregular_access(space, AccessKind::Store, bytes, lanes, &addresses)
            };
            self.observer.notify(Event::Access {
                warp: &self.context,
                accesses: Accesses::full(&access),
            });
        }
        self.store_lanes(store, space, &addresses, mask, bytes)
    }

    #[inline(never)]
    fn store_lanes(
        &mut self,
        store: &Store,
        space: Space,
        addresses: &[u64; LANES],
        mask: u32,
        bytes: u32,
    ) -> Outcome {
        if store.release {
            fence(Ordering::SeqCst);
        }
        for lane in lanes(mask) {
            let address = addresses[lane];
            self.check(space, address, bytes, AccessKind::Store, lane)?;
            for (index, source) in store.sources.iter().enumerate() {
                let at = address + u64::from(store.bytes) * index as u64;
                let value = read(&self.r, *source, lane);
                self.write_memory(space, at, store.bytes, lane, value, store.strong);
            }
        }
        Ok(())
    }
}

/// What loads of full warps read from.
pub(super) struct Sources<'r, 'l> {
    pub launch: &'r Launch<'l>,
    pub shared: &'r [u32],
    pub lane_offsets: &'r [LaneOffsets],
    pub visit: u64,
}

impl Sources<'_, '_> {
    /// A load of a row or of one address; false, with nothing done, unless its addresses are known
    /// to be in bounds and observers of type `O` have been notified of it.
    #[inline(always)]
    pub(super) fn read_again<O: Observer>(
        &self,
        pattern: &mut AccessPattern,
        registers: &mut [Lanes32],
    ) -> bool {
        let offsets = &self.lane_offsets[pattern.offsets as usize];
        let is_known = !O::ACCESSES || O::UNORDERED_LOADS && offsets.report == Report::Done;
        let Some(location) = pattern
            .known_location(offsets, self.visit)
            .filter(|_| is_known)
        else {
            return false;
        };
        let at = location.offset / 4;
        match location.space {
            Space::Shared => read_row(&self.shared, at, pattern, registers),
            _ => {
                let allocation = &self.launch.allocations[location.allocation as usize];
                let (words, level) = (allocation.words(), self.launch.level);
                if pattern.transfer == Transfer::Row {
                    simd::prefetch_row(words, pattern.ahead(at));
                }
                read_row(&Global { words, level }, at, pattern, registers)
            }
        }
    }
}

/// Reports an access of a full warp.
#[inline(always)]
fn observe_regular<'a, O: Observer>(
    observer: &mut O,
    context: &WarpContext<'_>,
    pattern: &mut AccessPattern,
    space: Space,
    access: impl Fn() -> RepeatedAccess<'a>,
) {
    // The access is made in each of the branches: the frequent one needs only a part of it.
    if pattern.observe(space) {
        observer.notify(Event::Access {
            warp: context,
            accesses: Accesses::repeated(access()),
        });
    } else {
        access().in_full(false, |access| observe_first(observer, context, access));
    }
}

/// Local memory is interleaved by lane: the same offset in all lanes is one row.
#[inline(never)]
fn load_local(local: &[Lanes32], load: &Load, row: usize, r: &mut Registers<'_>) {
    for (index, destination) in load.destinations.iter().enumerate() {
        let at = row + index * load.bytes as usize / 4;
        let low = local[at];
        match destination {
            Some(Register::Reg32(reg)) => r.regs32[reg.0 as usize] = low,
            Some(Register::Reg64(reg)) => {
                let high = if load.bytes == 8 {
                    local[at + 1]
                } else {
                    [0; LANES]
                };
                let to = &mut r.regs64[reg.0 as usize];
                for lane in 0..LANES {
                    let value = u64::from(low[lane]) | u64::from(high[lane]) << 32;
                    to[lane] = extend(value, load);
                }
            }
            Some(Register::Predicate(_)) | None => {}
        }
    }
}

#[inline(never)]
fn store_local(local: &mut [Lanes32], store: &Store, row: usize, r: &Registers<'_>) {
    for (index, source) in store.sources.iter().enumerate() {
        let at = row + index * store.bytes as usize / 4;
        match source {
            Register::Reg32(reg) => local[at] = r.regs32[reg.0 as usize],
            Register::Reg64(reg) => {
                let from = &r.regs64[reg.0 as usize];
                local[at] = from.map(|value| value as u32);
                if store.bytes == 8 {
                    local[at + 1] = from.map(|value| (value >> 32) as u32);
                }
            }
            Register::Predicate(_) => {}
        }
    }
}

/// Reports the first access of a pattern.
#[cold]
#[inline(never)]
fn observe_first<O: Observer>(
    observer: &mut O,
    context: &WarpContext<'_>,
    access: &MemoryAccess<'_>,
) {
    observer.notify(Event::Access {
        warp: context,
        accesses: Accesses::full(access),
    });
}

fn stored_values<'a>(registers: &'a Registers<'_>, store: &'a Store) -> StoredValues<'a> {
    StoredValues {
        regs32: registers.regs32,
        regs64: registers.regs64,
        store,
    }
}

/// Loads every element of a full warp's access, of 4 or 8 bytes each.
#[inline(always)]
fn load_all(source: &impl Source, load: &Load, pattern: &AccessPattern, r: &mut Registers<'_>) {
    match (load.single, load.bytes) {
        (Some(Register::Reg32(reg)), _) => {
            read32(source, pattern, 0, &mut r.regs32[reg.0 as usize]);
        }
        (Some(Register::Reg64(reg)), 8) => {
            read64(source, pattern, 0, &mut r.regs64[reg.0 as usize]);
        }
        _ => {
            let step = load.bytes as usize / 4;
            for (index, destination) in load.destinations.iter().enumerate() {
                let element = index * step;
                match *destination {
                    Some(Register::Reg32(reg)) => {
                        read32(source, pattern, element, &mut r.regs32[reg.0 as usize]);
                    }
                    Some(Register::Reg64(reg)) if step == 2 => {
                        read64(source, pattern, element, &mut r.regs64[reg.0 as usize]);
                    }
                    Some(Register::Reg64(reg)) => {
                        let mut words = [0; LANES];
                        read32(source, pattern, element, &mut words);
                        r.regs64[reg.0 as usize] = words.map(|word| extend(u64::from(word), load));
                    }
                    Some(Register::Predicate(_)) | None => {}
                }
            }
        }
    }
}

/// Stores every element of a full warp's access, of 4 or 8 bytes each.
#[inline(always)]
fn store_all(target: &mut impl Target, store: &Store, pattern: &AccessPattern, r: &Registers<'_>) {
    let step = store.bytes as usize / 4;
    for (index, source) in store.sources.iter().enumerate() {
        let element = index * step;
        match *source {
            Register::Reg32(reg) => {
                write32(target, pattern, element, &r.regs32[reg.0 as usize]);
            }
            Register::Reg64(reg) if step == 2 => {
                write64(target, pattern, element, &r.regs64[reg.0 as usize]);
            }
            Register::Reg64(reg) => {
                let words = r.regs64[reg.0 as usize].map(|value| value as u32);
                write32(target, pattern, element, &words);
            }
            Register::Predicate(_) => {}
        }
    }
}
