//! Loads and stores of any lanes at any addresses, checked together: as long as all of them access
//! one allocation, the block's shared memory, or local memory.

mod params;

use std::sync::atomic::{AtomicU32, Ordering, fence};

use super::run::Run;
use super::simd;
use super::transfer::join;
use super::vector::{LANES, Lanes32, Registers, store_lanes32};
use super::warp_ops::{lanes, read, write};
use crate::address_space::GLOBAL_BASE;
use crate::ir::{Load, Reg32, Register, Space, Store};
use crate::observer::EventSink;
use crate::whole::{load_pair, store_pair};

/// The memory that holds the accesses of all lanes.
pub(super) enum Backing<'a> {
    Shared,
    Local,
    /// The words of an allocation, and its address.
    Global(&'a [AtomicU32], u64),
}

impl Backing<'_> {
    /// The address of the first byte.
    pub(super) fn base(&self) -> u64 {
        match self {
            Backing::Shared | Backing::Local => 0,
            Backing::Global(_, base) => *base,
        }
    }
}

impl<'r, O: EventSink> Run<'r, '_, O> {
    /// Where the accesses of all lanes lie, of `bytes` bytes each. None where they lie in several
    /// allocations or in memory that is not accessed like this, or where any of them would fault.
    #[inline(always)]
    pub(super) fn place(
        &self,
        space: Space,
        addresses: &[u64; LANES],
        mask: u32,
        what: (u32, bool),
    ) -> Option<Backing<'r>> {
        self.place_near(space, addresses, mask, what, &mut 0)
    }

    /// As [`Self::place`]; `near` is the allocation to look at first, and becomes that which was
    /// found.
    #[inline(always)]
    pub(super) fn place_near(
        &self,
        space: Space,
        addresses: &[u64; LANES],
        mask: u32,
        (bytes, writes): (u32, bool),
        near: &mut u32,
    ) -> Option<Backing<'r>> {
        let (place, length) = match space {
            Space::Shared => (Backing::Shared, u64::from(self.launch.shared_bytes)),
            Space::Local => (Backing::Local, u64::from(self.local_top)),
            Space::Global | Space::Const => {
                let first = addresses[mask.trailing_zeros() as usize % LANES];
                let launch = self.launch;
                let allocation = launch.allocation_near(near, first, u64::from(bytes))?;
                let is_writable = space == Space::Global && allocation.base >= GLOBAL_BASE;
                if allocation.is_heap || writes && !is_writable {
                    return None;
                }
                let place = Backing::Global(allocation.words(), allocation.base);
                (place, allocation.bytes)
            }
            Space::Generic | Space::Cluster | Space::Param => return None,
        };
        let last = length.checked_sub(u64::from(bytes))?;
        let wrong = simd::lanes_outside(self.launch.level, addresses, (place.base(), last), bytes);
        (wrong & mask == 0).then_some(place)
    }

    /// A load of all lanes of a mask; false, with nothing done, where that is left to
    /// [`Run::load_lanes`].
    pub(super) fn load_together(
        &mut self,
        index: usize,
        space: Space,
        addresses: &[u64; LANES],
        mask: u32,
        bytes: u32,
    ) -> bool {
        let load = &self.program.loads[index];
        // These must not tear.
        if load.whole && bytes >= 8 {
            return false;
        }
        if space == Space::Param {
            return self.load_params(index, addresses, mask, bytes);
        }
        if let Some(Register::Reg32(to)) = load.single
            && load.bytes <= 4
            && self.gather_words(index, (space, addresses, mask), to)
        {
            return true;
        }
        let mut near = self.patterns[index].near;
        let place = self.place_near(space, addresses, mask, (bytes, false), &mut near);
        self.patterns[index].near = near;
        let Some(place) = place else {
            return false;
        };
        let accesses = LaneAddresses {
            addresses,
            base: place.base(),
            mask,
        };
        let level = self.launch.level;
        let gathered = match place {
            Backing::Shared => accesses.gather(level, load, &mut self.r, (&*self.shared).into()),
            Backing::Global(words, _) => accesses.gather(level, load, &mut self.r, words.into()),
            Backing::Local => false,
        };
        match place {
            _ if gathered => {}
            Backing::Shared => {
                let words = &*self.shared;
                accesses.load(load, &mut self.r, |word, _| words[word]);
            }
            Backing::Local => {
                let rows = &*self.local;
                accesses.load(load, &mut self.r, |row, lane| rows[row][lane]);
            }
            Backing::Global(words, _) if load.bytes == 8 => {
                accesses.load_pairs(load, &mut self.r, words);
            }
            Backing::Global(words, _) => {
                accesses.load(load, &mut self.r, |word, _| {
                    words[word].load(Ordering::Relaxed)
                });
            }
        }
        if load.acquire {
            fence(Ordering::SeqCst);
        }
        true
    }

    /// A load of at most a word in each lane, by the processor's instruction for that; false, with
    /// nothing done, where there is none, or where an access would fault.
    #[inline(always)]
    fn gather_words(
        &mut self,
        index: usize,
        (space, addresses, mask): (Space, &[u64; LANES], u32),
        to: Reg32,
    ) -> bool {
        if !simd::can_gather(self.launch.level) {
            return false;
        }
        let load = &self.program.loads[index];
        let (words, base, length) = match space {
            Space::Shared => {
                let length = u64::from(self.launch.shared_bytes);
                (simd::Words::from(&*self.shared), 0, length)
            }
            Space::Global | Space::Const => {
                let first = addresses[mask.trailing_zeros() as usize % LANES];
                let (launch, near) = (self.launch, &mut self.patterns[index].near);
                match launch.allocation_near(near, first, u64::from(load.bytes)) {
                    Some(allocation) if !allocation.is_heap => {
                        let words = simd::Words::from(allocation.words());
                        (words, allocation.base, allocation.bytes)
                    }
                    _ => return false,
                }
            }
            _ => return false,
        };
        let Some(last) = length.checked_sub(u64::from(load.bytes)) else {
            return false;
        };
        let places = simd::Places {
            addresses,
            base,
            last,
            bytes: load.bytes,
            mask,
        };
        let to = &mut self.r.regs32[to.0 as usize];
        let level = self.launch.level;
        let done = match load.bytes {
            4 => simd::gather(level, words, places, to),
            _ => {
                let mut row = [0; LANES];
                let done = simd::gather(level, words, places, &mut row);
                if done {
                    simd::parts(level, &row, (addresses, Part::of(load)), mask, to);
                }
                done
            }
        };
        if done && load.acquire {
            fence(Ordering::SeqCst);
        }
        done
    }

    /// A store of all lanes of a mask; as [`Self::load_together`].
    pub(super) fn store_together(
        &mut self,
        index: usize,
        space: Space,
        addresses: &[u64; LANES],
        mask: u32,
        bytes: u32,
    ) -> bool {
        let store = &self.program.stores[index];
        let site = self.program.loads.len() + index;
        if store.whole && bytes >= 8 {
            return false;
        }
        let mut near = self.patterns[site].near;
        let place = self.place_near(space, addresses, mask, (bytes, true), &mut near);
        self.patterns[site].near = near;
        let Some(place) = place else {
            return false;
        };
        if store.release {
            fence(Ordering::SeqCst);
        }
        let accesses = LaneAddresses {
            addresses,
            base: place.base(),
            mask,
        };
        match place {
            Backing::Shared => {
                let words = &mut *self.shared;
                accesses.store(store, &self.r, |word, _, bits, value| {
                    words[word] = words[word] & !bits | value;
                });
            }
            Backing::Local => {
                let rows = &mut *self.local;
                accesses.store(store, &self.r, |row, lane, bits, value| {
                    let to = &mut rows[row][lane];
                    *to = *to & !bits | value;
                });
            }
            Backing::Global(words, _) if store.bytes < 4 => {
                if !accesses.store_row_of_parts(store, &self.r, words) {
                    accesses.store_parts(store, &self.r, words);
                }
            }
            Backing::Global(words, _) if store.bytes == 8 => {
                accesses.store_pairs(store, &self.r, words);
            }
            Backing::Global(words, _) => {
                accesses.store(store, &self.r, |word, _, _, value| {
                    words[word].store(value, Ordering::Relaxed);
                });
            }
        }
        true
    }
}

/// The addresses of some lanes, all of them in bounds.
struct LaneAddresses<'a> {
    addresses: &'a [u64; LANES],
    base: u64,
    mask: u32,
}

impl LaneAddresses<'_> {
    /// Bytes from the start of the memory to an element of a lane's vector.
    #[inline(always)]
    fn element(&self, index: usize, bytes: u32) -> impl Fn(usize) -> usize + use<'_> {
        let first = self.base.wrapping_sub(index as u64 * u64::from(bytes));
        move |lane| self.addresses[lane].wrapping_sub(first) as usize
    }

    /// Sets a register in these lanes of the warp.
    #[inline(always)]
    fn fill<T>(&self, to: &mut [T; LANES], value: impl Fn(usize) -> T) {
        if self.mask == u32::MAX {
            for (lane, to) in to.iter_mut().enumerate() {
                *to = value(lane);
            }
        } else {
            for lane in lanes(self.mask) {
                to[lane] = value(lane);
            }
        }
    }

    #[inline(always)]
    fn load(&self, load: &Load, r: &mut Registers<'_>, word: impl Fn(usize, usize) -> u32) {
        for (index, destination) in load.destinations.iter().enumerate() {
            let at = self.element(index, load.bytes);
            match (load.bytes, *destination) {
                (_, None) => {}
                (4, Some(Register::Reg32(reg))) => {
                    self.fill(&mut r.regs32[reg.0 as usize], |lane| {
                        word(at(lane) / 4, lane)
                    });
                }
                (1 | 2, Some(Register::Reg32(reg))) => {
                    let part = Part::of(load);
                    self.fill(&mut r.regs32[reg.0 as usize], |lane| {
                        let at = at(lane);
                        part.of_word(word(at / 4, lane), at)
                    });
                }
                (8, Some(Register::Reg64(reg))) => {
                    self.fill(&mut r.regs64[reg.0 as usize], |lane| {
                        let at = at(lane) / 4;
                        join(word(at, lane), word(at + 1, lane))
                    });
                }
                (bytes, Some(register)) => {
                    for lane in lanes(self.mask) {
                        let at = at(lane);
                        let low = word(at / 4, lane);
                        let value = match bytes {
                            8 => join(low, word(at / 4 + 1, lane)),
                            4 => u64::from(low),
                            _ => u64::from(low >> (8 * (at % 4))) & (u64::MAX >> (64 - 8 * bytes)),
                        };
                        write(r, register, lane, super::access::extend(value, load));
                    }
                }
            }
        }
    }

    /// By the processor's instruction for that; false where there is none, or for elements of other
    /// sizes than those of their registers. Some registers may have been set then.
    fn gather(
        &self,
        level: simd::Level,
        load: &Load,
        r: &mut Registers<'_>,
        words: simd::Words<'_>,
    ) -> bool {
        if !simd::can_gather(level) || load.bytes < 4 {
            return false;
        }
        let elements = load.destinations.iter().enumerate();
        elements.fold(true, |done, (index, destination)| {
            let places = simd::Places {
                addresses: self.addresses,
                base: self.base.wrapping_sub(index as u64 * u64::from(load.bytes)),
                last: words.bytes().saturating_sub(u64::from(load.bytes)),
                bytes: load.bytes,
                mask: self.mask,
            };
            done && match (load.bytes, destination) {
                (_, None) => true,
                (4, Some(Register::Reg32(to))) => {
                    simd::gather(level, words, places, &mut r.regs32[to.0 as usize])
                }
                (8, Some(Register::Reg64(to))) => {
                    simd::gather_longs(level, words, places, &mut r.regs64[to.0 as usize])
                }
                _ => false,
            }
        })
    }

    /// Values of 64 bits of global memory, which are whole where other blocks write them. In a
    /// function of its own, since loads of words, which are more frequent, would be slower with it.
    #[inline(never)]
    fn load_pairs(&self, load: &Load, r: &mut Registers<'_>, words: &[AtomicU32]) {
        for (index, destination) in load.destinations.iter().enumerate() {
            let at = self.element(index, 8);
            match *destination {
                Some(Register::Reg64(reg)) => {
                    self.fill(&mut r.regs64[reg.0 as usize], |lane| {
                        load_pair(words, at(lane) / 4)
                    });
                }
                // Registers of 32 bits are too narrow.
                Some(Register::Reg32(_) | Register::Predicate(_)) | None => {}
            }
        }
    }

    /// As [`Self::load_pairs`]: other blocks see no half of a value.
    #[inline(never)]
    fn store_pairs(&self, store: &Store, r: &Registers<'_>, words: &[AtomicU32]) {
        for (index, source) in store.sources.iter().enumerate() {
            let at = self.element(index, 8);
            for lane in lanes(self.mask) {
                store_pair(words, at(lane) / 4, read(r, *source, lane));
            }
        }
    }

    /// `set` gets the number of a word, the lane, the bits that it stores, and their values.
    #[inline(always)]
    fn store(&self, store: &Store, r: &Registers<'_>, mut set: impl FnMut(usize, usize, u32, u32)) {
        for (index, source) in store.sources.iter().enumerate() {
            let at = self.element(index, store.bytes);
            match (store.bytes, *source) {
                (4, Register::Reg32(reg)) => {
                    let from: &Lanes32 = &r.regs32[reg.0 as usize];
                    for lane in lanes(self.mask) {
                        set(at(lane) / 4, lane, u32::MAX, from[lane]);
                    }
                }
                (bytes, source) => {
                    for lane in lanes(self.mask) {
                        let (at, value) = (at(lane), read(r, source, lane));
                        let (bits, low) = part_of_word(bytes, at, value as u32);
                        set(at / 4, lane, bits, low);
                        if bytes == 8 {
                            set(at / 4 + 1, lane, u32::MAX, (value >> 32) as u32);
                        }
                    }
                }
            }
        }
    }

    /// Consecutive bytes or halves of a full warp, from the start of a word on: whole words. False,
    /// with nothing done, for others.
    fn store_row_of_parts(&self, store: &Store, r: &Registers<'_>, words: &[AtomicU32]) -> bool {
        let (&[Register::Reg32(from)], u32::MAX) = (store.sources.as_slice(), self.mask) else {
            return false;
        };
        let (bytes, first) = (store.bytes, self.addresses[0]);
        let mut different = first.wrapping_sub(self.base) & 3;
        for (lane, address) in self.addresses.iter().enumerate() {
            different |= address ^ first.wrapping_add(lane as u64 * u64::from(bytes));
        }
        if different != 0 || !matches!(bytes, 1 | 2) {
            return false;
        }
        let at = first.wrapping_sub(self.base) as usize / 4;
        let in_word = 4 / bytes as usize;
        let values = r.regs32[from.0 as usize].chunks_exact(in_word);
        for (word, parts) in words[at..].iter().zip(values) {
            let mut value = 0;
            for (place, part) in parts.iter().enumerate() {
                let bits = u32::MAX >> (32 - 8 * bytes);
                value |= (part & bits) << (8 * bytes * place as u32);
            }
            word.store(value, Ordering::Relaxed);
        }
        true
    }

    /// Stores parts of words to global memory: what neighbouring lanes store to one word at once.
    #[inline(always)]
    fn store_parts(&self, store: &Store, r: &Registers<'_>, words: &[AtomicU32]) {
        let flush = |word: usize, bits: u32, value: u32| match bits {
            0 => {}
            u32::MAX => words[word].store(value, Ordering::Relaxed),
            _ => {
                let merge = |old: u32| Some(old & !bits | value);
                // The closure never declines, so the update cannot fail.
                let _ = words[word].fetch_update(Ordering::Relaxed, Ordering::Relaxed, merge);
            }
        };
        let (mut word, mut bits, mut value) = (0, 0, 0);
        for lane in lanes(self.mask) {
            for (index, source) in store.sources.iter().enumerate() {
                let at = self.element(index, store.bytes)(lane);
                if at / 4 != word {
                    flush(word, bits, value);
                    (word, bits, value) = (at / 4, 0, 0);
                }
                let from = read(r, *source, lane) as u32;
                let (of_lane, from) = part_of_word(store.bytes, at, from);
                bits |= of_lane;
                value = value & !of_lane | from;
            }
        }
        flush(word, bits, value);
    }
}

/// The bits of a word that a value of up to 4 bytes takes at an offset, and what they become.
#[inline(always)]
fn part_of_word(bytes: u32, at: usize, value: u32) -> (u32, u32) {
    match bytes {
        1 | 2 => {
            let shift = 8 * (at % 4);
            let bits = (u32::MAX >> (32 - 8 * bytes)) << shift;
            (bits, value << shift & bits)
        }
        _ => (u32::MAX, value),
    }
}

/// What registers hold of the words that were loaded.
#[inline(always)]
pub(super) fn parts(
    words: &Lanes32,
    (addresses, part): (&[u64; LANES], Part),
    mask: u32,
    to: &mut Lanes32,
) {
    store_lanes32::<false>(to, mask, |lane| {
        part.of_word(words[lane], addresses[lane] as usize)
    });
}

/// How a register holds what was loaded of a word.
#[derive(Clone, Copy)]
pub(super) struct Part {
    /// Bits of a word that are not loaded.
    unused: u32,
    signed: bool,
    /// The bits of the register.
    register: u32,
}

impl Part {
    #[inline(always)]
    fn of(load: &Load) -> Self {
        Part {
            unused: 32 - 8 * load.bytes,
            signed: load.signed,
            register: u32::MAX >> (32 - load.register_bits.clamp(1, 32)),
        }
    }

    /// The value at a byte of the word.
    #[inline(always)]
    fn of_word(self, word: u32, at: usize) -> u32 {
        let top = word >> (8 * (at % 4)) << self.unused;
        match self.signed {
            true => (top as i32 >> self.unused) as u32 & self.register,
            false => top >> self.unused,
        }
    }
}
