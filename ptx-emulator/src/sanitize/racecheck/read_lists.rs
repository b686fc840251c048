//! Reads of global memory that are recorded only when they can matter.
//!
//! Where nothing is written there are no races, and most of what a kernel is given it only reads.
//! So the reads of an allocation are listed, in their order, as long as there are no other accesses
//! to it than weak reads. Another one records what is listed, cell by cell, before it is recorded
//! itself, and ends the list. A list that is left at the end of the launch matters only if another
//! worker has written there.
//!
//! An entry tells the state of the clocks by one stamp, which is enough while nothing orders
//! threads but barriers of the block. Finer synchronisation ends all lists of the launch, and so
//! does a list that grows too long.

use super::super::cross_block_races::CrossBlockRaces;
use super::super::recycled;
use super::super::settled_reads::Key;
use super::super::shadow_memory::ShadowMemory;
use super::super::shape::{BITS, LANES, Shape, lanes};
use super::list_entries::{Entry, HEADER, Listed, ReadList};
use super::{Area, Racecheck, block_number};
use crate::exec::{Vectorised, run_at};
use crate::ir::{AccessKind, InstructionId, Space};
use crate::observer::{MemoryAccess, RepeatedAccess, RepeatedLoads, WarpContext};

/// The most entries that a worker makes in a launch. To list reads and to record them after all
/// takes longer than to record them at once: of this many it takes few milliseconds.
const MAX_ENTRIES: usize = 1 << 15;

/// Lists of reads by allocation.
#[derive(Clone, Debug)]
pub(super) struct ReadLists {
    lists: Vec<ReadList>,
    /// Entries that were made since the launch began, or since the barrier of its grid.
    entries: usize,
    /// The most entries of a worker in a launch.
    limit: usize,
    /// Whether reads are listed.
    is_open: bool,
}

impl Default for ReadLists {
    fn default() -> Self {
        ReadLists::new(0, false, MAX_ENTRIES)
    }
}

impl ReadLists {
    pub(super) fn new(allocations: usize, is_open: bool, limit: usize) -> Self {
        ReadLists {
            lists: vec![ReadList::default(); allocations],
            entries: 0,
            limit,
            is_open,
        }
    }

    /// The most entries that a worker makes in a launch.
    pub(super) fn limit(&self) -> usize {
        self.limit
    }

    /// Takes all lists out, by allocation.
    pub(super) fn take_all(&mut self) -> Vec<ReadList> {
        let new = ReadLists::new(self.lists.len(), self.is_open, self.limit);
        std::mem::replace(self, new).lists
    }

    fn take(&mut self, allocation: usize) -> ReadList {
        let list = self.lists.get_mut(allocation).map(std::mem::take);
        list.unwrap_or_default()
    }

    #[inline(always)]
    fn push(&mut self, allocation: usize, header: [u32; HEADER], offsets: &[u32], bytes: u32) {
        let list = &mut self.lists[allocation];
        if list.words.capacity() == 0 {
            list.words = recycled::take_list();
        }
        list.words.extend_from_slice(&header);
        list.words.extend_from_slice(offsets);
        list.finest = list.finest.max(2u32.saturating_sub(bytes.trailing_zeros()));
        self.entries += 1;
    }
}

/// The distances of lanes' addresses from a base, 0 for those outside of a mask, and the highest.
struct Offsets<'a> {
    addresses: &'a [u64; LANES],
    base: u64,
    mask: u32,
}

impl Vectorised for Offsets<'_> {
    type Output = ([u32; LANES], u64);

    #[inline(always)]
    fn run(self) -> ([u32; LANES], u64) {
        let (mut offsets, mut highest) = ([0; LANES], 0);
        for (lane, offset) in offsets.iter_mut().enumerate() {
            let is_here = self.mask & BITS[lane] != 0;
            let at = self.addresses[lane].wrapping_sub(self.base);
            let at = if is_here { at } else { 0 };
            // An allocation whose reads are listed has less than 2^32 bytes.
            *offset = at as u32;
            highest = at.max(highest);
        }
        (offsets, highest)
    }
}

impl Racecheck {
    /// Lists a read; false, with nothing done, where it has to be recorded.
    #[inline(always)]
    pub(super) fn list(&mut self, warp: u32, access: &MemoryAccess<'_>, shape: Shape) -> bool {
        let is_read = access.kind == AccessKind::Load && access.space == Space::Global;
        is_read && self.read_lists.is_open && self.list_lanes(warp, access, shape)
    }

    /// As [`Self::list`], of a load that repeats the pattern of an earlier one.
    #[inline(always)]
    pub(super) fn list_repeated(&mut self, warp: u32, access: &RepeatedAccess<'_>) -> bool {
        if access.space != Space::Global || !self.read_lists.is_open {
            return false;
        }
        match self.shapes.repeated(access) {
            Shape::Other => access.expand(|access| self.list_lanes(warp, access, Shape::Other)),
            shape => {
                let by = (self.block.clocks.now, warp);
                let entry = Entry::new(by, access.instruction, u32::MAX, (access.bytes, shape));
                self.list_row(&entry, access.first_address)
            }
        }
    }

    #[inline(never)]
    fn list_lanes(&mut self, warp: u32, access: &MemoryAccess<'_>, shape: Shape) -> bool {
        let by = (self.block.clocks.now, warp);
        let entry = Entry::new(by, access.instruction, access.mask, (access.bytes, shape));
        let first = access.addresses[access.mask.trailing_zeros() as usize % LANES];
        if shape != Shape::Other {
            return self.list_row(&entry, first);
        }
        let Some(allocation) = self.listing(access.instruction, first, access.bytes.into()) else {
            return false;
        };
        let (base, length) = self.geometry.allocations[allocation];
        let (mask, addresses) = (access.mask, access.addresses);
        let offsets = Offsets {
            addresses,
            base,
            mask,
        };
        let (mut offsets, highest) = run_at(self.level, offsets);
        if highest > length - u64::from(access.bytes) || mask == 0 {
            return false;
        }
        let count = access.mask.count_ones() as usize;
        if count < LANES {
            for (place, lane) in lanes(access.mask).enumerate() {
                offsets[place] = offsets[lane];
            }
        }
        let header = entry.words();
        self.read_lists
            .push(allocation, header, &offsets[..count], access.bytes);
        true
    }

    /// Lists a read of all lanes of one address or of consecutive ones.
    #[inline(never)]
    fn list_row(&mut self, entry: &Entry, first: u64) -> bool {
        let lanes = match entry.shape {
            Shape::Uniform => 1,
            _ => LANES as u64,
        };
        let bytes = lanes * u64::from(entry.bytes);
        let Some(allocation) = self.listing(entry.instruction, first, bytes) else {
            return false;
        };
        let offset = (first - self.geometry.allocations[allocation].0) as u32;
        self.read_lists
            .push(allocation, entry.words(), &[offset], entry.bytes);
        true
    }

    /// The allocation that holds some bytes, if its reads are listed.
    #[inline(always)]
    fn listing(&mut self, instruction: InstructionId, address: u64, bytes: u64) -> Option<usize> {
        let allocation = self.allocation_index(instruction, address, bytes)?;
        let is_small = self.geometry.allocations[allocation].1 <= u64::from(u32::MAX);
        if self.global[allocation].is_some() || !is_small {
            return None;
        }
        if self.read_lists.entries >= self.read_lists.limit {
            self.end_lists();
            return None;
        }
        Some(allocation)
    }

    /// Lists a group of loads, as far as they have to be; false, with nothing done, where they have
    /// to be recorded.
    #[inline(never)]
    pub(super) fn list_loads(
        &mut self,
        warp: &WarpContext<'_>,
        loads: &RepeatedLoads<'_>,
        key: Key,
    ) -> bool {
        let is_listed = loads
            .each()
            .next()
            .is_some_and(|first| self.is_listed(&first));
        if !is_listed {
            return false;
        }
        let by = self.geometry.warp(warp);
        let earlier = self.settled.listed_by(&key);
        if earlier == Some(by) {
            return true;
        }
        let mut all = true;
        if !self.list_group(by, loads) {
            for load in loads.each() {
                if !self.list_repeated(by, &load) {
                    all = false;
                    self.load(warp, &load);
                }
            }
        }
        match earlier {
            // What two warps have read is settled.
            Some(_) if all => self.settled.keep(key),
            None if all => self.settled.keep_listed(key, by),
            _ => {}
        }
        true
    }

    /// Lists a group of loads by one entry; false, with nothing done, unless all of them are of one
    /// allocation, and alike.
    fn list_group(&mut self, warp: u32, loads: &RepeatedLoads<'_>) -> bool {
        let Some(first) = loads.each().next() else {
            return false;
        };
        let shape = self.shapes.repeated(&first);
        let is_row = shape != Shape::Other;
        let (mut low, mut high, mut sizes) = (i64::MAX, i64::MIN, 0);
        for load in loads.loads {
            low = low.min(load.offset);
            high = high.max(load.offset + i64::from(load.bytes));
            sizes |= load.bytes;
            let alike = load.bytes == first.bytes || shape == Shape::Uniform;
            if is_row && !alike {
                return false;
            }
        }
        let (before, after) = self.shapes.reach(&first);
        let Some(bytes) = (after - before).checked_add(high - low) else {
            return false;
        };
        let from = loads.base.wrapping_add_signed(low + before);
        let Some(allocation) = self.listing(first.instruction, from, bytes.cast_unsigned()) else {
            return false;
        };
        let offset = first
            .first_address
            .wrapping_sub(self.geometry.allocations[allocation].0);
        let by = (self.block.clocks.now, warp);
        let header = Listed::group(by, loads.group, shape);
        if is_row {
            self.read_lists
                .push(allocation, header, &[offset as u32], sizes);
        } else {
            let offsets = loads.distances.map(|at| offset.wrapping_add(at) as u32);
            self.read_lists.push(allocation, header, &offsets, sizes);
        }
        true
    }

    /// Whether a load that repeats a pattern is of an allocation whose reads are listed.
    fn is_listed(&mut self, access: &RepeatedAccess<'_>) -> bool {
        let of = |checker: &mut Self| {
            let (address, bytes) = (access.first_address, access.bytes.into());
            checker.allocation_index(access.instruction, address, bytes)
        };
        access.space == Space::Global
            && self.read_lists.is_open
            && of(self).is_some_and(|allocation| self.global[allocation].is_none())
    }

    /// Records what is listed, and lists nothing more: what follows orders threads in other ways
    /// than a barrier of the block.
    #[inline(always)]
    pub(super) fn end_lists(&mut self) {
        if self.read_lists.is_open {
            self.close_lists();
        }
    }

    #[cold]
    #[inline(never)]
    fn close_lists(&mut self) {
        self.read_lists.is_open = false;
        self.record_lists();
    }

    /// Records what is listed.
    #[cold]
    pub(super) fn record_lists(&mut self) {
        for allocation in 0..self.read_lists.lists.len() {
            if !self.read_lists.lists[allocation].is_empty() {
                self.begin_area(allocation);
            }
        }
    }

    /// Makes the shadow of an allocation, and records in it what is listed.
    #[cold]
    #[inline(never)]
    pub(super) fn begin_area(&mut self, allocation: usize) {
        let (base, bytes) = self.geometry.allocations[allocation];
        let cells = ShadowMemory::new(bytes, self.block.clocks.launch_start);
        let cross_block = CrossBlockRaces::new(bytes, cells.shift);
        self.global[allocation] = Some(Box::new(Area {
            base,
            cells,
            cross_block,
            strong: 0,
            is_lazy: !self.is_multicast,
        }));
        let list = self.read_lists.take(allocation);
        if !list.is_empty() {
            self.record_list(allocation, &list);
            list.recycle();
        }
    }

    /// Records reads with the clocks of their time.
    fn record_list(&mut self, allocation: usize, list: &ReadList) {
        let clocks = &self.block.clocks;
        let of_now = (clocks.now, clocks.since, clocks.block_start);
        let index = self.block.index;
        let base = self.geometry.allocations[allocation].0;
        let kernel = self.geometry.kernel.clone();
        list.for_each(kernel.as_ref(), |entry, offsets| {
            let (start, number) = self.block.blocks.at(entry.stamp);
            let clocks = &mut self.block.clocks;
            (clocks.now, clocks.since, clocks.block_start) = (entry.stamp, entry.stamp, start);
            self.block.index = u64::from(number) - 1;
            debug_assert_eq!(block_number(self.block.index), number);
            let addresses = offsets.map(|offset| base + u64::from(offset));
            let access = MemoryAccess {
                instruction: entry.instruction,
                space: Space::Global,
                kind: AccessKind::Load,
                bytes: entry.bytes,
                mask: entry.mask,
                addresses: &addresses,
                repeats_pattern: false,
                strong: false,
                values: None,
            };
            if entry.shape == Shape::Other {
                let mut view = self.view(Space::Global, allocation, entry.warp);
                let origin = view.origin(entry.instruction, entry.warp);
                view.record_within(&access, entry.mask, origin);
            } else {
                self.regular_slow(entry.warp, &access, entry.shape, allocation);
            }
        });
        let clocks = &mut self.block.clocks;
        (clocks.now, clocks.since, clocks.block_start) = of_now;
        self.block.index = index;
    }
}
