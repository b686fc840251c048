//! Loads and stores: addresses, spaces and checks.

use std::sync::atomic::{Ordering, fence};

use super::convert::{sign_extend, truncate};
use super::pattern::{
    Global, Pattern, Source, Target, read_double, read_word, write_double, write_word,
};
use super::run::{Outcome, Run};
use super::vector::{LANES, Registers};
use super::warp_ops::{lanes, read, write};
use crate::ir::{Address, AddressBase, Load, Register, Space, Store};
use crate::kernel::InstructionId;
use crate::memory::{space_of, window};
use crate::observer::{AccessKind, MemoryAccess, Observer, StoredValues};

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

/// The lanes' addresses before any translation; `local_base` is where the frame's local memory starts.
#[inline(always)]
pub(super) fn lane_addresses(
    r: &Registers<'_>,
    local_base: u32,
    address: &Address,
) -> [u64; LANES] {
    let offset = address.offset as u64;
    match address.base {
        AddressBase::Double(double) => {
            let base = &r.doubles[double.0 as usize];
            std::array::from_fn(|lane| base[lane].wrapping_add(offset))
        }
        AddressBase::Word(word) => {
            let base = &r.words[word.0 as usize];
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
        (space, addresses)
    }

    /// Whether all lanes of a generic access lie in one space.
    pub(super) fn is_mixed(&self, address: &Address, mask: u32) -> bool {
        if address.space != Space::Generic {
            return false;
        }
        let addresses = self.addresses(address);
        let first = space_of(addresses[mask.trailing_zeros() as usize % LANES]);
        lanes(mask).any(|lane| space_of(addresses[lane]) != first)
    }

    /// Reports an access of which no pattern is kept.
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
            self.observer.memory_access(&self.context, &access);
        }
    }

    /// Reports that a copy to shared memory begins.
    pub(super) fn observe_copy(&mut self, bytes: u32, mask: u32, addresses: &[u64; LANES]) {
        if O::ACCESSES {
            let (space, kind) = (Space::Shared, AccessKind::Store);
            let access = self.irregular_access(space, kind, bytes, (mask, false), addresses);
            self.observer.copy_begins(&self.context, &access);
        }
    }

    /// Reports what a tensor core reads of shared memory for the warp.
    pub(super) fn observe_tensor_core(&mut self, bytes: u32, mask: u32, addresses: &[u64; LANES]) {
        let (space, kind) = (Space::Shared, AccessKind::Load);
        let access = self.irregular_access(space, kind, bytes, (mask, false), addresses);
        self.observer.unit_access(&self.context, &access);
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

    /// Lane 0's place in a full warp's access: the space and the address in it. None where the
    /// fast paths do not apply.
    #[inline(always)]
    fn regular(&mut self, address: &Address, site: u32) -> Option<(Space, u64, &mut Pattern)> {
        let spread = &mut self.spreads[address.spread as usize];
        let pattern = &mut self.patterns[site as usize];
        let visit = *self.visit;
        let base = match address.base {
            AddressBase::Double(double) => {
                let base = &self.r.doubles[double.0 as usize];
                spread.refresh(visit, |lane| base[lane]);
                base[0]
            }
            AddressBase::Word(word) => {
                let base = &self.r.words[word.0 as usize];
                spread.refresh(visit, |lane| u64::from(base[lane]));
                u64::from(base[0])
            }
            AddressBase::None => 0,
            AddressBase::Frame => u64::from(self.local_base),
        };
        let (space, first) = locate(address, base.wrapping_add(address.offset as u64));
        let aligned = first & (pattern.bytes - 1) == 0;
        (pattern.follows(spread) && aligned).then_some((space, first, pattern))
    }

    #[inline(always)]
    fn observe_regular(&mut self, space: Space, at: (u32, u32), first: u64, store: Option<&Store>) {
        if !O::ACCESSES {
            return;
        }
        let (spread, pattern) = (
            &self.spreads[at.0 as usize],
            &mut self.patterns[at.1 as usize],
        );
        let addresses = std::array::from_fn(|lane| first.wrapping_add(spread.delta(lane)));
        let access = MemoryAccess {
            instruction: InstructionId(self.info),
            space,
            kind: match store {
                None => AccessKind::Load,
                Some(_) => AccessKind::Store,
            },
            bytes: pattern.bytes as u32,
            mask: u32::MAX,
            addresses: &addresses,
            repeats_pattern: pattern.observe(),
            strong: false,
            values: store.map(|store| stored_values(&self.r, store)),
        };
        self.observer.memory_access(&self.context, &access);
    }

    #[inline(always)]
    pub(super) fn load<const FULL: bool>(&mut self, index: u32, mask: u32) -> Outcome {
        let load = &self.program.loads[index as usize];
        if FULL && mask == u32::MAX && load.plain && self.load_fast(load) {
            return Ok(());
        }
        self.load_slow(load, mask)
    }

    /// All lanes at once; false, with nothing done, where the access is not in bounds, misaligned,
    /// or of a kind that the fast paths leave to the slow one.
    #[inline(always)]
    fn load_fast(&mut self, load: &Load) -> bool {
        let launch = self.launch;
        let Some((space, first, pattern)) = self.regular(&load.address, load.site) else {
            return false;
        };
        let start = first.wrapping_sub(pattern.below);
        // The borrow of the pattern ends before the registers are written.
        let place = match space {
            Space::Shared => in_bounds(start, pattern.span, launch.shared_bytes),
            Space::Global | Space::Const => find_words(launch, pattern, start),
            Space::Local if pattern.is_uniform() => {
                let span = pattern.span;
                in_bounds(start, span, self.local_top)
            }
            Space::Local | Space::Param | Space::Generic => None,
        };
        let Some(at) = place else {
            return false;
        };
        let pattern = &self.patterns[load.site as usize];
        match space {
            Space::Shared => load_all(&&self.shared[at / 4..], load, pattern, &mut self.r),
            Space::Local => self.load_local(load, at / 4),
            _ => {
                let words = launch.allocations[pattern.allocation].words();
                load_all(&Global(&words[at / 4..]), load, pattern, &mut self.r);
            }
        }
        let at = (load.address.spread, load.site);
        self.observe_regular(space, at, first, None);
        true
    }

    /// Local memory is interleaved by lane: the same offset in all lanes is one row.
    #[inline(never)]
    fn load_local(&mut self, load: &Load, row: usize) {
        for (index, destination) in load.destinations.iter().enumerate() {
            let at = row + index * load.bytes as usize / 4;
            let low = self.local[at];
            match destination {
                Some(Register::Word(word)) => self.r.words[word.0 as usize] = low,
                Some(Register::Double(double)) => {
                    let high = if load.bytes == 8 {
                        self.local[at + 1]
                    } else {
                        [0; LANES]
                    };
                    let to = &mut self.r.doubles[double.0 as usize];
                    for lane in 0..LANES {
                        let value = u64::from(low[lane]) | u64::from(high[lane]) << 32;
                        to[lane] = extend(value, load);
                    }
                }
                Some(Register::Predicate(_)) | None => {}
            }
        }
    }

    #[cold]
    #[inline(never)]
    fn load_slow(&mut self, load: &Load, mask: u32) -> Outcome {
        let bytes = load.bytes * load.destinations.len() as u32;
        if self.is_mixed(&load.address, mask) {
            return self.split_by_space(&load.address, mask, |this, group| {
                this.load_slow(load, group)
            });
        }
        let (space, addresses) = self.resolve(&load.address, mask);
        self.patterns[load.site as usize].observe_other();
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
        let store = &self.program.stores[index as usize];
        if FULL && mask == u32::MAX && store.plain && self.store_fast(store) {
            return Ok(());
        }
        self.store_slow(store, mask)
    }

    /// As [`Self::load_fast`].
    #[inline(always)]
    fn store_fast(&mut self, store: &Store) -> bool {
        let launch = self.launch;
        let Some((space, first, pattern)) = self.regular(&store.address, store.site) else {
            return false;
        };
        let start = first.wrapping_sub(pattern.below);
        let place = match space {
            Space::Shared => in_bounds(start, pattern.span, launch.shared_bytes),
            Space::Global => find_words(launch, pattern, start),
            Space::Local if pattern.is_uniform() => {
                let span = pattern.span;
                in_bounds(start, span, self.local_top)
            }
            Space::Local | Space::Const | Space::Param | Space::Generic => None,
        };
        let Some(at) = place else {
            return false;
        };
        let pattern = &self.patterns[store.site as usize];
        match space {
            Space::Shared => {
                store_all(&mut &mut self.shared[at / 4..], store, pattern, &self.r);
            }
            Space::Local => self.store_local(store, at / 4),
            _ => {
                let words = launch.allocations[pattern.allocation].words();
                store_all(&mut Global(&words[at / 4..]), store, pattern, &self.r);
            }
        }
        let at = (store.address.spread, store.site);
        self.observe_regular(space, at, first, Some(store));
        true
    }

    #[inline(never)]
    fn store_local(&mut self, store: &Store, row: usize) {
        for (index, source) in store.sources.iter().enumerate() {
            let at = row + index * store.bytes as usize / 4;
            match source {
                Register::Word(word) => self.local[at] = self.r.words[word.0 as usize],
                Register::Double(double) => {
                    let from = &self.r.doubles[double.0 as usize];
                    self.local[at] = from.map(|value| value as u32);
                    if store.bytes == 8 {
                        self.local[at + 1] = from.map(|value| (value >> 32) as u32);
                    }
                }
                Register::Predicate(_) => {}
            }
        }
    }

    #[cold]
    #[inline(never)]
    fn store_slow(&mut self, store: &Store, mask: u32) -> Outcome {
        let bytes = store.bytes * store.sources.len() as u32;
        if self.is_mixed(&store.address, mask) {
            return self.split_by_space(&store.address, mask, |this, group| {
                this.store_slow(store, group)
            });
        }
        let (space, addresses) = self.resolve(&store.address, mask);
        self.patterns[store.site as usize].observe_other();
        if O::ACCESSES {
            let lanes = (mask, store.strong);
            let access = MemoryAccess {
                values: Some(stored_values(&self.r, store)),
                ..self.irregular_access(space, AccessKind::Store, bytes, lanes, &addresses)
            };
            self.observer.memory_access(&self.context, &access);
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

fn stored_values<'a>(registers: &'a Registers<'_>, store: &'a Store) -> StoredValues<'a> {
    StoredValues {
        words: registers.words,
        doubles: registers.doubles,
        store,
    }
}

/// Where an access starts in a space of `length` bytes that holds all of it.
#[inline(always)]
fn in_bounds(start: u64, span: u64, length: u32) -> Option<usize> {
    let end = start.checked_add(span)?;
    (end <= u64::from(length)).then_some(start as usize)
}

/// The space that an address lies in, and the address within it.
#[inline(always)]
fn locate(address: &Address, at: u64) -> (Space, u64) {
    match address.space {
        Space::Generic | Space::Param => {
            let space = space_of(at);
            match (space, window(space)) {
                (Space::Shared | Space::Local | Space::Param, Some((base, _))) => {
                    (space, at.wrapping_sub(base))
                }
                _ => (space, at),
            }
        }
        space => (space, at),
    }
}

/// Makes `pattern.allocation` the one that holds the whole access, and gives the byte offset of its
/// start.
#[inline(always)]
fn find_words(launch: &super::Launch<'_>, pattern: &mut Pattern, start: u64) -> Option<usize> {
    let known = launch.allocations.get(pattern.allocation);
    let allocation = match known.filter(|known| known.contains(start, pattern.span)) {
        Some(allocation) => allocation,
        None => {
            pattern.allocation = launch.allocation_index(start, pattern.span)?;
            &launch.allocations[pattern.allocation]
        }
    };
    Some((start - allocation.base) as usize)
}

/// Loads every element of a full warp's access, of 4 or 8 bytes each.
#[inline(always)]
fn load_all(source: &impl Source, load: &Load, pattern: &Pattern, r: &mut Registers<'_>) {
    match (load.single, load.bytes) {
        (Some(Register::Word(word)), _) => {
            read_word(source, pattern, 0, &mut r.words[word.0 as usize]);
        }
        (Some(Register::Double(double)), 8) => {
            read_double(source, pattern, 0, &mut r.doubles[double.0 as usize]);
        }
        _ => {
            let step = load.bytes as usize / 4;
            for (index, destination) in load.destinations.iter().enumerate() {
                let element = index * step;
                match *destination {
                    Some(Register::Word(word)) => {
                        read_word(source, pattern, element, &mut r.words[word.0 as usize]);
                    }
                    Some(Register::Double(double)) if step == 2 => {
                        read_double(source, pattern, element, &mut r.doubles[double.0 as usize]);
                    }
                    Some(Register::Double(double)) => {
                        let mut words = [0; LANES];
                        read_word(source, pattern, element, &mut words);
                        r.doubles[double.0 as usize] =
                            words.map(|word| extend(u64::from(word), load));
                    }
                    Some(Register::Predicate(_)) | None => {}
                }
            }
        }
    }
}

/// Stores every element of a full warp's access, of 4 or 8 bytes each.
#[inline(always)]
fn store_all(target: &mut impl Target, store: &Store, pattern: &Pattern, r: &Registers<'_>) {
    let step = store.bytes as usize / 4;
    for (index, source) in store.sources.iter().enumerate() {
        let element = index * step;
        match *source {
            Register::Word(word) => {
                write_word(target, pattern, element, &r.words[word.0 as usize]);
            }
            Register::Double(double) if step == 2 => {
                write_double(target, pattern, element, &r.doubles[double.0 as usize]);
            }
            Register::Double(double) => {
                let words = r.doubles[double.0 as usize].map(|value| value as u32);
                write_word(target, pattern, element, &words);
            }
            Register::Predicate(_) => {}
        }
    }
}
