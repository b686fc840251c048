//! Loads and stores: addresses, spaces and checks.

use std::hash::{Hash, Hasher};
use std::sync::atomic::{Ordering, fence};

use rustc_hash::FxHasher;

use super::convert::{sign_extend, truncate};
use super::cooperative::ReadPlace;
use super::run::{Outcome, Run};
use super::vector::{LANES, Registers};
use super::warp_ops::{lanes, read, write};
use crate::address_space::{RANK_SHIFT, space_of, window};
use crate::ir::{AccessKind, Address, AddressBase, InstructionId, Load, Register, Space, Store};
use crate::observer::{
    Accesses, AsyncAccess, Event, EventSink, Issuer, MemoryAccess, Progress, StoredValues,
};

/// A loaded value as its register holds it.
#[inline(always)]
pub(super) fn extend(value: u64, load: &Load) -> u64 {
    if !load.signed {
        return value;
    }
    truncate(
        sign_extend(value, 8 * load.bytes) as u64,
        load.register_bits,
    )
}

/// The lanes' addresses in the block's own shared memory, which have its rank.
#[cold]
#[inline(never)]
fn without_rank(r: &Registers<'_>, address: &Address) -> [u64; LANES] {
    let plain = Address {
        has_rank: false,
        ..*address
    };
    lane_addresses(r, 0, &plain).map(|address| address & ((1 << RANK_SHIFT) - 1))
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
    if address.has_rank {
        return without_rank(r, address);
    }
    match address.base {
        AddressBase::Reg64(reg) => {
            let base = &r.regs64[reg.0 as usize];
            std::array::from_fn(|lane| base[lane].wrapping_add(offset))
        }
        AddressBase::Reg32(reg) => {
            let base = &r.regs32[reg.0 as usize];
            // Windows smaller than 2³² bytes have addresses of 32 bits, whose sums wrap around:
            // compilers fold a negative index into the register, and add the rest.
            let wraps = !matches!(address.space, Space::Global | Space::Generic);
            let bits = if wraps { u64::from(u32::MAX) } else { u64::MAX };
            std::array::from_fn(|lane| u64::from(base[lane]).wrapping_add(offset) & bits)
        }
        AddressBase::None => [offset; LANES],
        AddressBase::Frame => [offset.wrapping_add(u64::from(local_base)); LANES],
    }
}

impl<O: EventSink> Run<'_, '_, O> {
    /// The lanes' addresses before any translation.
    #[inline(always)]
    fn addresses(&self, address: &Address) -> [u64; LANES] {
        lane_addresses(&self.r, self.local_base, address)
    }

    /// The space accessed, and the addresses within it. Lanes of a generic access that lie in
    /// different spaces are left to the slow path.
    #[inline(always)]
    pub(super) fn resolve(&self, address: &Address, mask: u32) -> (Space, [u64; LANES]) {
        let mut addresses = [0; LANES];
        let space = self.resolve_into(address, mask, &mut addresses);
        (space, addresses)
    }

    /// As [`Self::resolve`].
    #[inline(always)]
    fn resolve_into(&self, address: &Address, mask: u32, to: &mut [u64; LANES]) -> Space {
        let offset = address.offset as u64;
        match (address.space, address.base) {
            (Space::Generic | Space::Param | Space::Cluster, _) => {
                let space;
                (space, *to) = self.resolve_any(address, mask, self.addresses(address));
                return space;
            }
            (_, AddressBase::Reg64(reg)) if !address.has_rank => {
                let base = &self.r.regs64[reg.0 as usize];
                for (to, base) in to.iter_mut().zip(base) {
                    *to = base.wrapping_add(offset);
                }
            }
            _ => *to = self.addresses(address),
        }
        address.space
    }

    /// As [`Self::resolve`], where the space may be another than the instruction names.
    #[inline(never)]
    fn resolve_any(
        &self,
        address: &Address,
        mask: u32,
        mut addresses: [u64; LANES],
    ) -> (Space, [u64; LANES]) {
        if address.space == Space::Cluster {
            return self.resolve_cluster(addresses);
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
        let resolved = addresses.map(|address| self.launch.resolve_cluster(address, rank));
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

    pub(super) fn irregular_access<'a>(
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
        let mut addresses = [0; LANES];
        let space = self.resolve_into(&load.address, mask, &mut addresses);
        let in_order = self.observer.strong_in_order() && load.strong && space == Space::Global;
        let launch = self.launch;
        let _in_order = in_order.then(|| launch.in_order());
        self.patterns[index].observe_other(self.lane_offsets);
        let lanes = (mask, load.strong);
        self.observe(space, AccessKind::Load, bytes, lanes, &addresses);
        if load.strong && launch.is_cooperative() {
            self.note_poll(space, &addresses, mask);
        }
        if O::ACCESSES && load.strong && space == Space::Global {
            self.activity.note(true, false);
        }
        if !self.load_together(index, space, &addresses, mask, bytes) {
            self.load_lanes(load, space, &addresses, mask, bytes)?;
        }
        if load.strong {
            self.note_reading(index, (&addresses, mask), &load.destinations);
        }
        Ok(())
    }

    /// Lanes have read by a strong load, or by an atomic that changed nothing. Where they read the
    /// same again and again, they wait for what others store. Blocks of a cooperative launch run in
    /// turn, and steps are in the observer's order.
    #[inline(never)]
    pub(super) fn note_reading(
        &mut self,
        instruction: usize,
        (addresses, mask): (&[u64; LANES], u32),
        destinations: &[Option<Register>],
    ) {
        if self.launch.is_cooperative() || self.observer.steps() {
            return;
        }
        let place = ReadPlace {
            instruction,
            mask,
            address: addresses[mask.trailing_zeros() as usize % LANES],
        };
        let r = &self.r;
        let digest = || {
            let mut hasher = FxHasher::default();
            for lane in lanes(mask) {
                addresses[lane].hash(&mut hasher);
                for destination in destinations.iter().flatten() {
                    read(r, *destination, lane).hash(&mut hasher);
                }
            }
            hasher.finish()
        };
        if self.polls.reads_again(place, digest, *self.fuel) {
            self.polls.note_spin(self.fuel);
        }
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
            let whole = self.hold(space, address, bytes, load.whole);
            let each = load.whole && whole.is_none();
            for (index, destination) in load.destinations.iter().enumerate() {
                let at = address + u64::from(load.bytes) * index as u64;
                let value = self.read_memory(space, at, load.bytes, lane, each);
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
        let mut addresses = [0; LANES];
        let space = self.resolve_into(&store.address, mask, &mut addresses);
        let in_order = self.observer.strong_in_order() && store.strong && space == Space::Global;
        let launch = self.launch;
        let _in_order = in_order.then(|| launch.in_order());
        self.patterns[self.program.loads.len() + index].observe_other(self.lane_offsets);
        if O::ACCESSES {
            let lanes = (mask, store.strong);
            let access = MemoryAccess {
                values: Some(stored_values(&self.r, store, self.shared)),
                ..self.irregular_access(space, AccessKind::Store, bytes, lanes, &addresses)
            };
            self.observer.notify(Event::Access {
                warp: &self.context,
                accesses: Accesses::full(&access),
            });
        }
        if !self.store_together(index, space, &addresses, mask, bytes) {
            self.store_lanes(store, space, &addresses, mask, bytes)?;
        }
        if store.strong && launch.is_cooperative() {
            self.note_action();
        }
        if O::ACCESSES && store.strong && space == Space::Global {
            self.activity.note(false, true);
        }
        Ok(())
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
        if space == Space::Cluster {
            self.observe_ended(bytes, (mask, store.strong), addresses);
        }
        for lane in lanes(mask) {
            let address = addresses[lane];
            self.check(space, address, bytes, AccessKind::Store, lane)?;
            let whole = self.hold(space, address, bytes, store.whole);
            let each = store.whole && whole.is_none();
            for (index, source) in store.sources.iter().enumerate() {
                let at = address + u64::from(store.bytes) * index as u64;
                let value = read(&self.r, *source, lane);
                self.write_memory(space, at, store.bytes, lane, value, each);
            }
        }
        Ok(())
    }
}

pub(super) fn stored_values<'a>(
    registers: &'a Registers<'_>,
    store: &'a Store,
    shared: &'a [u32],
) -> StoredValues<'a> {
    StoredValues {
        regs32: registers.regs32,
        regs64: registers.regs64,
        store,
        shared,
    }
}
