//! Loads, stores and atomics: addresses, checks, and the fast paths for regular addresses.
//!
//! Each memory instruction remembers the distances of its lanes' addresses from lane 0's. As long
//! as they stay the same, bounds and alignment of all lanes follow from lane 0's address, and so
//! does the shape of the access.

use std::sync::atomic::{AtomicU32, Ordering, fence};

use super::lane;
use super::run::{RawFault, Run};
use super::vector::{Doubles, LANES, Words};
use super::warp_ops::{lanes, read, write};
use crate::error::{AccessFault, FaultKind};
use crate::ir::{
    Address, AddressBase, Atomic, AtomicFunction, FloatFormat, FloatFunction, IntegerFunction,
    LaneFunction, Load, Register, Space, Store,
};
use crate::kernel::InstructionId;
use crate::memory::{Allocation, CONST_BASE, GLOBAL_BASE, space_of, window};
use crate::observer::{AccessKind, MemoryAccess, Observer};
use crate::parse::ast::Type;

/// How the addresses of a full warp lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    /// All the same.
    Uniform,
    /// Each element behind the one before.
    Consecutive,
    Other,
}

/// What is known of a memory instruction's addresses.
#[derive(Clone, Debug)]
pub(crate) struct Pattern {
    /// Address of each lane minus that of lane 0.
    deltas: [u64; LANES],
    /// The same in bytes above the lowest address, for indexing.
    offsets: [u32; LANES],
    /// Distance from lane 0 down to the lowest address.
    below: u64,
    /// Bytes from the lowest address to the end of the highest access.
    span: u64,
    /// Whether all deltas are multiples of the access size.
    aligned: bool,
    shape: Shape,
    /// The allocation that was accessed last.
    allocation: usize,
}

impl Pattern {
    pub(crate) fn new() -> Self {
        Pattern {
            deltas: [0; LANES],
            offsets: [0; LANES],
            below: 0,
            span: 0,
            aligned: true,
            shape: Shape::Uniform,
            allocation: 0,
        }
    }

    #[inline(always)]
    fn matches(&self, addresses: &[u64; LANES], bytes: u64) -> bool {
        let mut different = 0;
        for lane in 0..LANES {
            different |= addresses[lane].wrapping_sub(addresses[0]) ^ self.deltas[lane];
        }
        different == 0 && self.span >= bytes
    }

    /// Learns new addresses; false where they lie too far apart for the fast paths.
    #[cold]
    fn learn(&mut self, addresses: &[u64; LANES], bytes: u64) -> bool {
        let lowest = addresses.iter().copied().min().unwrap_or(0);
        let highest = addresses.iter().copied().max().unwrap_or(0);
        if highest - lowest > u64::from(u32::MAX / 2) {
            return false;
        }
        self.deltas = addresses.map(|address| address.wrapping_sub(addresses[0]));
        self.offsets = addresses.map(|address| (address - lowest) as u32);
        self.below = addresses[0] - lowest;
        self.span = highest - lowest + bytes;
        self.aligned = self.deltas.iter().all(|delta| delta.is_multiple_of(bytes));
        let strided = |step: u64| {
            let mut expected = (0..LANES as u64).map(|lane| lane * step);
            self.deltas
                .iter()
                .all(|&delta| Some(delta) == expected.next())
        };
        self.shape = if strided(0) {
            Shape::Uniform
        } else if strided(bytes) {
            Shape::Consecutive
        } else {
            Shape::Other
        };
        true
    }
}

/// Memory that the fast paths read by byte offset. Offsets are in bounds and aligned.
trait Source {
    fn byte(&self, at: usize) -> u8;
    fn half(&self, at: usize) -> u16;
    fn word(&self, at: usize) -> u32;
    fn double(&self, at: usize) -> u64;
}

impl Source for &[u8] {
    #[inline(always)]
    fn byte(&self, at: usize) -> u8 {
        self[at]
    }

    #[inline(always)]
    fn half(&self, at: usize) -> u16 {
        let bytes = &self[at..at + 2];
        u16::from_le_bytes([bytes[0], bytes[1]])
    }

    #[inline(always)]
    fn word(&self, at: usize) -> u32 {
        let bytes = &self[at..at + 4];
        u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
    }

    #[inline(always)]
    fn double(&self, at: usize) -> u64 {
        let bytes = &self[at..at + 8];
        let low = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        let high = u32::from_le_bytes([bytes[4], bytes[5], bytes[6], bytes[7]]);
        u64::from(low) | u64::from(high) << 32
    }
}

/// Words of an allocation, from a word-aligned offset.
struct Global<'a>(&'a [AtomicU32]);

impl Source for Global<'_> {
    #[inline(always)]
    fn byte(&self, at: usize) -> u8 {
        (self.word(at & !3) >> (8 * (at & 3))) as u8
    }

    #[inline(always)]
    fn half(&self, at: usize) -> u16 {
        (self.word(at & !3) >> (8 * (at & 3))) as u16
    }

    #[inline(always)]
    fn word(&self, at: usize) -> u32 {
        self.0[at / 4].load(Ordering::Relaxed)
    }

    #[inline(always)]
    fn double(&self, at: usize) -> u64 {
        let pair = &self.0[at / 4..at / 4 + 2];
        u64::from(pair[0].load(Ordering::Relaxed))
            | u64::from(pair[1].load(Ordering::Relaxed)) << 32
    }
}

/// Fills a word register from 4-byte elements.
#[inline(always)]
fn load_words(source: &impl Source, base: usize, pattern: &Pattern, to: &mut Words) {
    match pattern.shape {
        Shape::Uniform => *to = [source.word(base); LANES],
        Shape::Consecutive => {
            for lane in 0..LANES {
                to[lane] = source.word(base + 4 * lane);
            }
        }
        Shape::Other => {
            for lane in 0..LANES {
                to[lane] = source.word(base + pattern.offsets[lane] as usize);
            }
        }
    }
}

/// Fills a double register from 8-byte elements.
#[inline(always)]
fn load_doubles(source: &impl Source, base: usize, pattern: &Pattern, to: &mut Doubles) {
    match pattern.shape {
        Shape::Uniform => *to = [source.double(base); LANES],
        Shape::Consecutive => {
            for lane in 0..LANES {
                to[lane] = source.double(base + 8 * lane);
            }
        }
        Shape::Other => {
            for lane in 0..LANES {
                to[lane] = source.double(base + pattern.offsets[lane] as usize);
            }
        }
    }
}

/// One lane's element of any size, from any space.
fn load_element(source: &impl Source, at: usize, bytes: u32) -> u64 {
    match bytes {
        1 => u64::from(source.byte(at)),
        2 => u64::from(source.half(at)),
        4 => u64::from(source.word(at)),
        _ => source.double(at),
    }
}

fn store_bytes(to: &mut [u8], at: usize, bytes: u32, value: u64) {
    to[at..at + bytes as usize].copy_from_slice(&value.to_le_bytes()[..bytes as usize]);
}

/// A loaded value as its register holds it.
#[inline(always)]
fn extend(value: u64, load: &Load) -> u64 {
    if !load.signed {
        return value;
    }
    super::convert::truncate(
        super::convert::sign_extend(value, 8 * load.bytes) as u64,
        load.register_bits,
    )
}

/// What is wrong with an access.
enum Wrong {
    Bounds,
    Alignment,
    ReadOnly,
}

impl<O: Observer> Run<'_, '_, O> {
    /// The lanes' addresses before any translation.
    #[inline(always)]
    fn addresses(&self, address: &Address) -> [u64; LANES] {
        let offset = address.offset as u64;
        match address.base {
            AddressBase::Double(double) => {
                let base = &self.r.doubles[double.0 as usize];
                std::array::from_fn(|lane| base[lane].wrapping_add(offset))
            }
            AddressBase::Word(word) => {
                let base = &self.r.words[word.0 as usize];
                std::array::from_fn(|lane| u64::from(base[lane]).wrapping_add(offset))
            }
            AddressBase::None => [offset; LANES],
            AddressBase::Frame => [offset.wrapping_add(u64::from(self.local_base)); LANES],
        }
    }

    /// The space accessed, and the addresses within it. Lanes of a generic access that lie in
    /// different spaces are left to the slow path.
    #[inline(always)]
    fn resolve(&self, address: &Address, mask: u32) -> (Space, [u64; LANES]) {
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
    fn is_mixed(&self, address: &Address, mask: u32) -> bool {
        if address.space != Space::Generic {
            return false;
        }
        let addresses = self.addresses(address);
        let first = space_of(addresses[mask.trailing_zeros() as usize % LANES]);
        lanes(mask).any(|lane| space_of(addresses[lane]) != first)
    }

    #[inline(always)]
    fn observe(
        &mut self,
        space: Space,
        kind: AccessKind,
        bytes: u32,
        mask: u32,
        addresses: &[u64; LANES],
    ) {
        let access = MemoryAccess {
            instruction: InstructionId(self.info),
            space,
            kind,
            bytes,
            mask,
            addresses,
        };
        self.observer.memory_access(&self.context, &access);
    }

    /// Runs `one` for groups of lanes that access the same space.
    fn split_by_space(
        &mut self,
        address: &Address,
        mask: u32,
        one: impl Fn(&mut Self, u32) -> Result<(), RawFault>,
    ) -> Result<(), RawFault> {
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
    pub(super) fn load<const FULL: bool>(&mut self, index: u32, mask: u32) -> Result<(), RawFault> {
        let load = &self.program.loads[index as usize];
        let (space, addresses) = self.resolve(&load.address, mask);
        let bytes = load.bytes * load.destinations.len() as u32;
        if FULL && mask == u32::MAX && !load.strong {
            let known = self.patterns[load.site as usize].matches(&addresses, u64::from(bytes))
                || self.patterns[load.site as usize].learn(&addresses, u64::from(bytes));
            if known {
                self.observe(space, AccessKind::Load, bytes, mask, &addresses);
                if self.load_fast(load, space, addresses[0], bytes) {
                    return Ok(());
                }
                return self.load_lanes(load, space, &addresses, mask, bytes);
            }
        }
        self.load_slow(load, mask, bytes)
    }

    /// All lanes at once; false where the access is not in bounds, misaligned, or of a kind that
    /// the fast paths leave to the slow one.
    #[inline(always)]
    fn load_fast(&mut self, load: &Load, space: Space, first: u64, bytes: u32) -> bool {
        let pattern = &mut self.patterns[load.site as usize];
        let start = first.wrapping_sub(pattern.below);
        if !pattern.aligned || !first.is_multiple_of(u64::from(bytes)) {
            return false;
        }
        match space {
            Space::Shared => {
                let shared: &[u8] = self.shared;
                let Some(part) = in_bounds(start, pattern.span, shared.len()) else {
                    return false;
                };
                load_all(&&shared[part], load, pattern, &mut self.r)
            }
            Space::Global | Space::Const => {
                let Some((words, at)) = find_words(self.launch, pattern, start) else {
                    return false;
                };
                load_all(&Global(&words[at / 4..]), load, pattern, &mut self.r)
            }
            Space::Local => {
                if pattern.shape != Shape::Uniform
                    || in_bounds(start, pattern.span, self.local_top as usize).is_none()
                {
                    return false;
                }
                self.load_local(load, start as usize)
            }
            Space::Param | Space::Generic => false,
        }
    }

    /// Local memory is interleaved by lane: the same offset in all lanes is one row.
    fn load_local(&mut self, load: &Load, start: usize) -> bool {
        for (index, destination) in load.destinations.iter().enumerate() {
            let at = start + index * load.bytes as usize;
            match destination {
                Some(Register::Word(word)) if load.bytes == 4 => {
                    self.r.words[word.0 as usize] = self.local[at / 4];
                }
                Some(Register::Double(double)) if load.bytes == 8 => {
                    let (low, high) = (&self.local[at / 4], &self.local[at / 4 + 1]);
                    let to = &mut self.r.doubles[double.0 as usize];
                    for lane in 0..LANES {
                        to[lane] = u64::from(low[lane]) | u64::from(high[lane]) << 32;
                    }
                }
                None => {}
                Some(_) => return false,
            }
        }
        true
    }

    #[cold]
    #[inline(never)]
    fn load_slow(&mut self, load: &Load, mask: u32, bytes: u32) -> Result<(), RawFault> {
        if self.is_mixed(&load.address, mask) {
            return self.split_by_space(&load.address, mask, |this, group| {
                this.load_slow(load, group, bytes)
            });
        }
        let (space, addresses) = self.resolve(&load.address, mask);
        self.observe(space, AccessKind::Load, bytes, mask, &addresses);
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
    ) -> Result<(), RawFault> {
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
    pub(super) fn store<const FULL: bool>(
        &mut self,
        index: u32,
        mask: u32,
    ) -> Result<(), RawFault> {
        let store = &self.program.stores[index as usize];
        let (space, addresses) = self.resolve(&store.address, mask);
        let bytes = store.bytes * store.sources.len() as u32;
        if FULL && mask == u32::MAX && !store.strong {
            let known = self.patterns[store.site as usize].matches(&addresses, u64::from(bytes))
                || self.patterns[store.site as usize].learn(&addresses, u64::from(bytes));
            if known {
                self.observe(space, AccessKind::Store, bytes, mask, &addresses);
                if self.store_fast(store, space, addresses[0], bytes) {
                    return Ok(());
                }
                return self.store_lanes(store, space, &addresses, mask, bytes);
            }
        }
        self.store_slow(store, mask, bytes)
    }

    #[inline(always)]
    fn store_fast(&mut self, store: &Store, space: Space, first: u64, bytes: u32) -> bool {
        let pattern = &mut self.patterns[store.site as usize];
        let start = first.wrapping_sub(pattern.below);
        if !pattern.aligned || !first.is_multiple_of(u64::from(bytes)) {
            return false;
        }
        match space {
            Space::Shared => {
                let Some(part) = in_bounds(start, pattern.span, self.shared.len()) else {
                    return false;
                };
                let shared = &mut self.shared[part];
                for (index, source) in store.sources.iter().enumerate() {
                    let skip = index * store.bytes as usize;
                    match source {
                        Register::Word(word) if store.bytes == 4 => {
                            let from = &self.r.words[word.0 as usize];
                            for lane in 0..LANES {
                                let at = pattern.offsets[lane] as usize + skip;
                                shared[at..at + 4].copy_from_slice(&from[lane].to_le_bytes());
                            }
                        }
                        Register::Double(double) if store.bytes == 8 => {
                            let from = &self.r.doubles[double.0 as usize];
                            for lane in 0..LANES {
                                let at = pattern.offsets[lane] as usize + skip;
                                shared[at..at + 8].copy_from_slice(&from[lane].to_le_bytes());
                            }
                        }
                        _ => return false,
                    }
                }
                true
            }
            Space::Global => {
                let Some((words, at)) = find_words(self.launch, pattern, start) else {
                    return false;
                };
                let words = &words[at / 4..];
                for (index, source) in store.sources.iter().enumerate() {
                    let skip = index * store.bytes as usize;
                    match source {
                        Register::Word(word) if store.bytes == 4 => {
                            let from = &self.r.words[word.0 as usize];
                            for lane in 0..LANES {
                                let at = pattern.offsets[lane] as usize + skip;
                                words[at / 4].store(from[lane], Ordering::Relaxed);
                            }
                        }
                        Register::Double(double) if store.bytes == 8 => {
                            let from = &self.r.doubles[double.0 as usize];
                            for lane in 0..LANES {
                                let at = (pattern.offsets[lane] as usize + skip) / 4;
                                words[at].store(from[lane] as u32, Ordering::Relaxed);
                                words[at + 1].store((from[lane] >> 32) as u32, Ordering::Relaxed);
                            }
                        }
                        _ => return false,
                    }
                }
                true
            }
            Space::Local => {
                if pattern.shape != Shape::Uniform
                    || in_bounds(start, pattern.span, self.local_top as usize).is_none()
                {
                    return false;
                }
                self.store_local(store, start as usize)
            }
            Space::Const | Space::Param | Space::Generic => false,
        }
    }

    fn store_local(&mut self, store: &Store, start: usize) -> bool {
        for (index, source) in store.sources.iter().enumerate() {
            let at = start + index * store.bytes as usize;
            match source {
                Register::Word(word) if store.bytes == 4 => {
                    self.local[at / 4] = self.r.words[word.0 as usize];
                }
                Register::Double(double) if store.bytes == 8 => {
                    let from = &self.r.doubles[double.0 as usize];
                    for lane in 0..LANES {
                        self.local[at / 4][lane] = from[lane] as u32;
                        self.local[at / 4 + 1][lane] = (from[lane] >> 32) as u32;
                    }
                }
                _ => return false,
            }
        }
        true
    }

    #[cold]
    #[inline(never)]
    fn store_slow(&mut self, store: &Store, mask: u32, bytes: u32) -> Result<(), RawFault> {
        if self.is_mixed(&store.address, mask) {
            return self.split_by_space(&store.address, mask, |this, group| {
                this.store_slow(store, group, bytes)
            });
        }
        let (space, addresses) = self.resolve(&store.address, mask);
        self.observe(space, AccessKind::Store, bytes, mask, &addresses);
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
    ) -> Result<(), RawFault> {
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

    /// Bounds, alignment and writability of one lane's access.
    fn check(
        &self,
        space: Space,
        address: u64,
        bytes: u32,
        kind: AccessKind,
        lane: usize,
    ) -> Result<(), RawFault> {
        let inside =
            |length: usize| address <= length as u64 && u64::from(bytes) <= length as u64 - address;
        let wrong = if !address.is_multiple_of(u64::from(bytes)) {
            Some(Wrong::Alignment)
        } else {
            let in_bounds = match space {
                Space::Shared => inside(self.shared.len()),
                Space::Local => inside(self.local_top as usize),
                Space::Param => inside(self.launch.params.len()),
                Space::Global | Space::Const | Space::Generic => {
                    self.launch.allocation(address, u64::from(bytes)).is_some()
                }
            };
            let constant = match space {
                Space::Const | Space::Param => true,
                _ => (CONST_BASE..GLOBAL_BASE).contains(&address),
            };
            match (in_bounds, kind) {
                (false, _) => Some(Wrong::Bounds),
                (true, AccessKind::Store | AccessKind::Atomic) if constant => Some(Wrong::ReadOnly),
                _ => None,
            }
        };
        match wrong {
            None => Ok(()),
            Some(wrong) => Err(self.access_fault(wrong, space, address, bytes, kind, lane)),
        }
    }

    #[cold]
    fn access_fault(
        &self,
        wrong: Wrong,
        space: Space,
        address: u64,
        bytes: u32,
        kind: AccessKind,
        lane: usize,
    ) -> RawFault {
        let nearest = match space {
            Space::Shared => {
                let arrays = &self.program.shared;
                let before = arrays
                    .iter()
                    .rev()
                    .find(|array| u64::from(array.offset) <= address);
                let mut text = format!("the block has {} bytes", self.shared.len());
                if let Some(array) = before {
                    text += &format!(
                        ", nearest is `{}` with {} bytes at {:#x}",
                        array.name, array.bytes, array.offset
                    );
                }
                text
            }
            Space::Local => format!("the thread has {} bytes", self.local_top),
            Space::Param => format!("there are {} bytes", self.launch.params.len()),
            Space::Global | Space::Const | Space::Generic => self.launch.nearest(address),
        };
        let access = AccessFault {
            access: match kind {
                AccessKind::Load => "load",
                AccessKind::Store => "store",
                AccessKind::Atomic => "atomic",
            },
            space,
            address,
            bytes,
            nearest,
        };
        RawFault {
            kind: match wrong {
                Wrong::Bounds => FaultKind::OutOfBounds(access),
                Wrong::Alignment => FaultKind::Misaligned(access),
                Wrong::ReadOnly => FaultKind::ReadOnly(access),
            },
            lane: Some(lane),
        }
    }

    /// One element; the access has been checked.
    fn read_memory(
        &self,
        space: Space,
        address: u64,
        bytes: u32,
        lane: usize,
        strong: bool,
    ) -> u64 {
        let at = address as usize;
        match space {
            Space::Shared => load_element(&&*self.shared, at, bytes),
            Space::Param => load_element(&self.launch.params.as_slice(), at, bytes),
            Space::Local => {
                let word = |index: usize| u64::from(self.local[index][lane]);
                match bytes {
                    8 => word(at / 4) | word(at / 4 + 1) << 32,
                    4 => word(at / 4),
                    _ => super::convert::truncate(word(at / 4) >> (8 * (at % 4)), 8 * bytes),
                }
            }
            Space::Global | Space::Const | Space::Generic => {
                let Some(allocation) = self.launch.allocation(address, u64::from(bytes)) else {
                    return 0;
                };
                let _whole = (strong && bytes == 8).then(|| self.launch.memory.lock(address));
                allocation.read((address - allocation.base) as usize, bytes)
            }
        }
    }

    fn write_memory(
        &mut self,
        space: Space,
        address: u64,
        bytes: u32,
        lane: usize,
        value: u64,
        strong: bool,
    ) {
        let at = address as usize;
        match space {
            Space::Shared => store_bytes(self.shared, at, bytes, value),
            Space::Param => {}
            Space::Local => match bytes {
                8 => {
                    self.local[at / 4][lane] = value as u32;
                    self.local[at / 4 + 1][lane] = (value >> 32) as u32;
                }
                4 => self.local[at / 4][lane] = value as u32,
                _ => {
                    let shift = 8 * (at % 4);
                    let mask = ((1u32 << (8 * bytes)) - 1) << shift;
                    let word = &mut self.local[at / 4][lane];
                    *word = *word & !mask | (value as u32) << shift & mask;
                }
            },
            Space::Global | Space::Const | Space::Generic => {
                if let Some(allocation) = self.launch.allocation(address, u64::from(bytes)) {
                    let _whole = (strong && bytes == 8).then(|| self.launch.memory.lock(address));
                    allocation.write((address - allocation.base) as usize, bytes, value);
                }
            }
        }
    }

    #[inline(never)]
    pub(super) fn atomic(&mut self, index: u32, mask: u32) -> Result<(), RawFault> {
        let atomic = &self.program.atomics[index as usize];
        if self.is_mixed(&atomic.address, mask) {
            return self.split_by_space(&atomic.address, mask, |this, group| {
                this.atomic(index, group)
            });
        }
        let (space, addresses) = self.resolve(&atomic.address, mask);
        let bytes = atomic.ty.bytes();
        self.observe(space, AccessKind::Atomic, bytes, mask, &addresses);
        for lane in lanes(mask) {
            let address = addresses[lane];
            self.check(space, address, bytes, AccessKind::Atomic, lane)?;
            let operand = read(&self.r, atomic.operand, lane);
            let second = atomic
                .second
                .map_or(0, |second| read(&self.r, second, lane));
            let update = |old: u64| updated(atomic, old, operand, second);
            let old = match space {
                Space::Global | Space::Const | Space::Generic => {
                    match self.launch.allocation(address, u64::from(bytes)) {
                        Some(allocation) => self.update_global(allocation, address, bytes, update),
                        None => 0,
                    }
                }
                _ => {
                    let old = self.read_memory(space, address, bytes, lane, false);
                    self.write_memory(space, address, bytes, lane, update(old), false);
                    old
                }
            };
            if let Some(destination) = atomic.destination {
                write(&mut self.r, destination, lane, old);
            }
        }
        Ok(())
    }

    fn update_global(
        &self,
        allocation: &Allocation,
        address: u64,
        bytes: u32,
        update: impl Fn(u64) -> u64,
    ) -> u64 {
        let offset = (address - allocation.base) as usize;
        if bytes == 8 {
            let _whole = self.launch.memory.lock(address);
            fence(Ordering::SeqCst);
            let old = allocation.read(offset, 8);
            allocation.write(offset, 8, update(old));
            return old;
        }
        let word = &allocation.words()[offset / 4];
        let order = Ordering::SeqCst;
        let result = word.fetch_update(order, order, |old| Some(update(u64::from(old)) as u32));
        // The closure never declines: both cases hold the old value.
        u64::from(match result {
            Ok(old) | Err(old) => old,
        })
    }
}

fn updated(atomic: &Atomic, old: u64, operand: u64, second: u64) -> u64 {
    let integer = |function| {
        let function = LaneFunction::Integer(function, atomic.ty);
        lane::evaluate(function, [old, operand, 0, 0]).0
    };
    match atomic.function {
        AtomicFunction::Add if matches!(atomic.ty, Type::F32 | Type::F64) => {
            let function = LaneFunction::Float(FloatFunction::Add, FloatFormat::new(atomic.ty));
            lane::evaluate(function, [old, operand, 0, 0]).0
        }
        AtomicFunction::Add => integer(IntegerFunction::Add),
        AtomicFunction::Min => integer(IntegerFunction::Min),
        AtomicFunction::Max => integer(IntegerFunction::Max),
        AtomicFunction::And => old & operand,
        AtomicFunction::Or => old | operand,
        AtomicFunction::Xor => old ^ operand,
        AtomicFunction::Exchange => operand,
        AtomicFunction::CompareExchange if old == operand => second,
        AtomicFunction::CompareExchange => old,
        AtomicFunction::Increment if old >= operand => 0,
        AtomicFunction::Increment => old + 1,
        AtomicFunction::Decrement if old == 0 || old > operand => operand,
        AtomicFunction::Decrement => old - 1,
    }
}

/// The part of a space of `length` bytes that an access covers.
#[inline(always)]
fn in_bounds(start: u64, span: u64, length: usize) -> Option<std::ops::Range<usize>> {
    let end = start.checked_add(span)?;
    (end <= length as u64).then_some(start as usize..end as usize)
}

/// The words of the allocation that holds the whole access, and the byte offset of its start.
#[inline(always)]
fn find_words<'a>(
    launch: &'a super::Launch<'_>,
    pattern: &mut Pattern,
    start: u64,
) -> Option<(&'a [AtomicU32], usize)> {
    let known = launch.allocations.get(pattern.allocation);
    let allocation = match known.filter(|known| known.contains(start, pattern.span)) {
        Some(allocation) => allocation,
        None => {
            pattern.allocation = launch.allocation_index(start, pattern.span)?;
            &launch.allocations[pattern.allocation]
        }
    };
    Some((allocation.words(), (start - allocation.base) as usize))
}

/// Loads every element of a full warp's access; false where the slow path has to do it.
#[inline(always)]
fn load_all(
    source: &impl Source,
    load: &Load,
    pattern: &Pattern,
    r: &mut super::vector::Registers<'_>,
) -> bool {
    match load.destinations.as_slice() {
        [Some(Register::Word(word))] if load.bytes == 4 => {
            load_words(source, 0, pattern, &mut r.words[word.0 as usize]);
        }
        [Some(Register::Double(double))] if load.bytes == 8 => {
            load_doubles(source, 0, pattern, &mut r.doubles[double.0 as usize]);
        }
        destinations => {
            for (index, destination) in destinations.iter().enumerate() {
                let skip = index * load.bytes as usize;
                let at = |lane: usize| pattern.offsets[lane] as usize + skip;
                match destination {
                    None => {}
                    Some(Register::Word(word)) if load.bytes == 4 => {
                        let to = &mut r.words[word.0 as usize];
                        for lane in 0..LANES {
                            to[lane] = source.word(at(lane));
                        }
                    }
                    Some(Register::Double(double)) if load.bytes == 8 => {
                        let to = &mut r.doubles[double.0 as usize];
                        for lane in 0..LANES {
                            to[lane] = source.double(at(lane));
                        }
                    }
                    Some(register) => {
                        for lane in 0..LANES {
                            let value = load_element(source, at(lane), load.bytes);
                            write(r, *register, lane, extend(value, load));
                        }
                    }
                }
            }
        }
    }
    true
}
