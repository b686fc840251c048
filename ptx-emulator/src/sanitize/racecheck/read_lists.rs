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
use super::super::last_accesses::Blocks;
use super::super::recycled;
use super::super::shadow_memory::{Origin, ShadowMemory};
use super::super::shape::{LANES, Shape, lanes};
use super::settled_reads::Key;
use super::{Area, Racecheck, block_number};
use crate::ir::{AccessKind, InstructionId, Space};
use crate::observer::{MemoryAccess, RepeatedAccess, RepeatedLoads, WarpContext};

/// The most reads that a worker lists in a launch. To list reads and to record them after all takes
/// longer than to record them at once: of this many it takes few milliseconds.
const MAX_READS: usize = 1 << 14;

/// Lists of reads by allocation.
#[derive(Clone, Debug, Default)]
pub(super) struct ReadLists {
    lists: Vec<ReadList>,
    /// Reads that were listed since the launch began, or since the barrier of its grid.
    reads: usize,
    /// Whether reads are listed.
    is_open: bool,
}

impl ReadLists {
    pub(super) fn new(allocations: usize, is_open: bool) -> Self {
        ReadLists {
            lists: vec![ReadList::default(); allocations],
            reads: 0,
            is_open,
        }
    }

    /// Takes all lists out, by allocation.
    pub(super) fn take_all(&mut self) -> Vec<ReadList> {
        let new = ReadLists::new(self.lists.len(), self.is_open);
        std::mem::replace(self, new).lists
    }

    fn take(&mut self, allocation: usize) -> ReadList {
        let list = self.lists.get_mut(allocation).map(std::mem::take);
        list.unwrap_or_default()
    }

    #[inline(always)]
    fn push(&mut self, allocation: usize, entry: &Entry, offsets: &[u32]) {
        let list = &mut self.lists[allocation];
        if list.words.capacity() == 0 {
            list.words = recycled::take_list();
        }
        list.words.extend_from_slice(&entry.words());
        list.words.extend_from_slice(offsets);
        list.finest = list
            .finest
            .max(2u32.saturating_sub(entry.bytes.trailing_zeros()));
        self.reads += 1;
    }
}

/// Words of an entry before its offsets.
const HEADER: usize = 4;

/// What an entry says beside offsets.
#[derive(Clone, Copy, Debug)]
struct Entry {
    stamp: u32,
    instruction: InstructionId,
    mask: u32,
    warp: u32,
    bytes: u32,
    shape: Shape,
}

impl Entry {
    #[inline(always)]
    fn words(&self) -> [u32; HEADER] {
        let shape = match self.shape {
            Shape::Uniform => 0,
            Shape::Consecutive => 1,
            Shape::Other => 2,
        };
        let rest = self.warp << 16 | self.bytes << 2 | shape;
        [self.stamp, self.instruction.0, self.mask, rest]
    }

    fn of_words([stamp, instruction, mask, rest]: [u32; HEADER]) -> Self {
        Entry {
            stamp,
            instruction: InstructionId(instruction),
            mask,
            warp: rest >> 16,
            bytes: rest >> 2 & 0x3fff,
            shape: match rest & 3 {
                0 => Shape::Uniform,
                1 => Shape::Consecutive,
                _ => Shape::Other,
            },
        }
    }
}

/// Reads of an allocation, in their order.
#[derive(Clone, Debug, Default)]
pub(super) struct ReadList {
    /// Each entry has a header, and one offset, or one for each lane.
    words: Vec<u32>,
    /// All reads are of multiples of `4 >> finest` bytes.
    finest: u32,
}

impl ReadList {
    pub(super) fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// Cells of `1 << shift` bytes tell all reads apart.
    pub(super) fn shift(&self) -> u32 {
        2 - self.finest
    }

    /// The entries, with the offset of each lane's first address in the allocation.
    fn entries(&self) -> impl Iterator<Item = (Entry, [u32; LANES])> {
        let mut rest = self.words.as_slice();
        std::iter::from_fn(move || {
            let (header, after) = rest.split_first_chunk()?;
            let entry = Entry::of_words(*header);
            let (step, count) = match entry.shape {
                Shape::Uniform => (0, 1),
                Shape::Consecutive => (entry.bytes, 1),
                Shape::Other => (0, LANES),
            };
            let (offsets, after) = after.split_at_checked(count)?;
            rest = after;
            let all = std::array::from_fn(|lane| match count {
                1 => offsets[0] + step * lane as u32,
                _ => offsets[lane],
            });
            Some((entry, all))
        })
    }

    /// Records the reads for races between blocks alone.
    pub(super) fn settle(&self, races: &mut CrossBlockRaces, blocks: &Blocks) {
        for (entry, offsets) in self.entries() {
            let (_, block) = blocks.at(entry.stamp);
            let origin = Origin::new(entry.instruction.index(), false, entry.warp, 0);
            let count = entry.bytes >> races.shift;
            for lane in lanes(entry.mask) {
                let first = offsets[lane] >> races.shift;
                for cell in first..first + count {
                    races.note_read(cell as usize, block, origin.with_lane(lane));
                }
            }
        }
    }

    /// Leaves the memory to later launches.
    pub(super) fn recycle(self) {
        if self.words.capacity() != 0 {
            recycled::keep_list(self.words);
        }
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
                let entry = Entry {
                    stamp: self.block.clocks.now,
                    instruction: access.instruction,
                    mask: u32::MAX,
                    warp,
                    bytes: access.bytes,
                    shape,
                };
                self.list_row(&entry, access.first_address)
            }
        }
    }

    #[inline(never)]
    fn list_lanes(&mut self, warp: u32, access: &MemoryAccess<'_>, shape: Shape) -> bool {
        let entry = Entry {
            stamp: self.block.clocks.now,
            instruction: access.instruction,
            mask: access.mask,
            warp,
            bytes: access.bytes,
            shape,
        };
        let first = access.addresses[access.mask.trailing_zeros() as usize % LANES];
        if shape != Shape::Other {
            return self.list_row(&entry, first);
        }
        let Some(allocation) = self.listing(&entry, first, access.bytes.into()) else {
            return false;
        };
        let (base, length) = self.geometry.allocations[allocation];
        let last = length - u64::from(access.bytes);
        let (mut offsets, mut outside) = ([0; LANES], 0);
        for (lane, offset) in offsets.iter_mut().enumerate() {
            let at = access.addresses[lane].wrapping_sub(base);
            *offset = at as u32;
            outside |= u32::from(at > last) << lane;
        }
        if outside & access.mask != 0 || access.mask == 0 {
            return false;
        }
        self.read_lists.push(allocation, &entry, &offsets);
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
        let Some(allocation) = self.listing(entry, first, bytes) else {
            return false;
        };
        let offset = (first - self.geometry.allocations[allocation].0) as u32;
        self.read_lists.push(allocation, entry, &[offset]);
        true
    }

    /// The allocation that holds some bytes, if its reads are listed.
    #[inline(always)]
    fn listing(&mut self, entry: &Entry, address: u64, bytes: u64) -> Option<usize> {
        let allocation = self.allocation_index(entry.instruction, address, bytes)?;
        let is_small = self.geometry.allocations[allocation].1 <= u64::from(u32::MAX);
        if self.global[allocation].is_some() || !is_small {
            return None;
        }
        if self.read_lists.reads >= MAX_READS {
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
        for load in loads.each() {
            if !self.list_repeated(by, &load) {
                all = false;
                self.load(warp, &load);
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
        for (entry, offsets) in list.entries() {
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
                view.record(&access, entry.mask, origin);
            } else {
                self.regular_slow(entry.warp, &access, entry.shape, allocation);
            }
        }
        let clocks = &mut self.block.clocks;
        (clocks.now, clocks.since, clocks.block_start) = of_now;
        self.block.index = index;
    }
}
