//! Strong writes (atomics, and volatile, relaxed or releasing stores) against plain reads: which
//! nothing orders, as where a barrier is missing behind a histogram.
//!
//! Strong accesses do not race with each other, and are recorded elsewhere as reads, which race
//! with plain writes. Here the strong writes are compared with plain reads: a strong write with the
//! reads before it that the shadow memory holds, a plain read with the strong writes since the last
//! barrier of the block. Kernels without strong writes pay nothing, and others pay for a plain read
//! only while there are strong writes to the same space.

use super::super::finding::Problem;
use super::super::launch_geometry::flatten;
use super::super::shadow_memory::Origin;
use super::super::shape::{LANES, lanes};
use super::super::tally::{Actor, Example};
use super::strong_writes::{of_space, words};
use super::{Area, Racecheck, block_number};
use crate::ir::{AccessKind, Calls, InstructionId, Space};
use crate::observer::{Accesses, Form, MemoryAccess, WarpContext};

impl Racecheck {
    /// Compares plain reads with the strong writes before them.
    #[inline(always)]
    pub(super) fn compare_reads(&mut self, warp: &WarpContext<'_>, accesses: Accesses<'_>) {
        if self.updates.has == [false; 2] {
            return;
        }
        let (space, is_plain_read) = match accesses.0 {
            Form::Full(access) => (
                access.space,
                access.kind == AccessKind::Load && !access.strong,
            ),
            Form::Repeated(access) => (access.space, access.kind == AccessKind::Load),
            Form::Loads(loads) => (loads.space, true),
        };
        if is_plain_read && self.updates.records(space) {
            if let Some(space) = of_space(space) {
                self.updates.plain_reads[space] = true;
            }
            if self.has_strong(space) && !self.are_apart(&accesses) {
                accesses.for_each(|access| self.compare_read(warp, access));
            }
        }
    }

    /// Whether there are strong accesses with which a read may race.
    fn has_strong(&self, space: Space) -> bool {
        let is_global = space == Space::Global;
        let in_block = is_global && self.updates.global_strong >= self.block.clocks.block_start;
        self.updates.live[usize::from(is_global)] || in_block
    }

    /// Whether repeated reads are of an allocation without strong accesses of this block, as far as
    /// that can be seen at once.
    fn are_apart(&mut self, accesses: &Accesses<'_>) -> bool {
        let (first, low, high) = match accesses.0 {
            Form::Full(_) => return false,
            Form::Repeated(access) => (access, 0, i64::from(access.bytes)),
            Form::Loads(loads) => {
                let Some(first) = loads.each().next() else {
                    return false;
                };
                let (mut low, mut high) = (0, 0);
                for load in loads.loads {
                    let from = load.offset - loads.loads[0].offset;
                    low = from.min(low);
                    high = high.max(from + i64::from(load.bytes));
                }
                (first, low, high)
            }
        };
        if first.space != Space::Global {
            return false;
        }
        let (before, after) = self.shapes.reach(&first);
        let Some(bytes) = (after - before).checked_add(high - low) else {
            return false;
        };
        let from = first.first_address.wrapping_add_signed(low + before);
        let start = self.block.clocks.block_start;
        let found = self.allocation_index(first.instruction, from, bytes.cast_unsigned());
        found.is_some_and(|allocation| {
            let area = self.global[allocation].as_ref();
            area.is_none_or(|area| area.strong < start)
        })
    }

    #[cold]
    #[inline(never)]
    fn compare_read(&mut self, warp: &WarpContext<'_>, access: &MemoryAccess<'_>) {
        let semantics = self.semantics[access.instruction.index()];
        if semantics.is_mbarrier || semantics.is_async {
            return;
        }
        let by = self.geometry.warp(warp);
        let mut addresses = [0; LANES];
        let flat = match access.space {
            Space::Cluster => flatten(&self.geometry, access, &mut addresses),
            _ => *access,
        };
        let own = match access.space {
            Space::Shared => self.geometry.shared_start(by),
            _ => 0,
        };
        let is_global = access.space == Space::Global;
        if is_global {
            self.note_plain_read(by, &flat);
        }
        let (from, to) = self.updates.range[usize::from(is_global)];
        let last = u64::from(access.bytes) - 1;
        let may_meet = |address: u64| {
            let first = address.wrapping_add(own);
            first / 4 <= to && first.wrapping_add(last) / 4 >= from
        };
        if !lanes(flat.mask).any(|lane| may_meet(flat.addresses[lane])) {
            return;
        }
        for lane in lanes(flat.mask) {
            let first = flat.addresses[lane].wrapping_add(own);
            let origin = Origin::new(access.instruction.index(), false, by, lane as u32);
            for (word, bytes) in words(first, access.bytes) {
                let Some(known) = self.updates.known(is_global, word) else {
                    continue;
                };
                let clocks = &self.block.clocks;
                let racing = known.writes().iter().find_map(|past| {
                    if past.stamp < clocks.since || past.bytes & bytes == 0 {
                        return None;
                    }
                    let of_lane = |lane: usize| past.origin.with_lane(lane % LANES);
                    let is_open = |other: &Origin| {
                        other.thread() != origin.thread()
                            && !clocks.is_ordered(*other, past.stamp, origin.thread())
                    };
                    lanes(past.lanes).map(of_lane).find(is_open)
                });
                if let Some(write) = racing {
                    self.report_update(is_global, 4 * word, write, origin, bytes);
                }
            }
        }
    }

    /// Records reads for races between blocks. Elsewhere a block's first read of a cell is
    /// recorded, and a strong access counts as a read.
    fn note_plain_read(&mut self, by: u32, access: &MemoryAccess<'_>) {
        let block = block_number(self.block.index);
        let start = self.block.clocks.block_start;
        let has_strong =
            |area: &Option<Box<Area>>| area.as_ref().is_some_and(|area| area.strong >= start);
        let known = self.last_allocations[access.instruction.index()] as usize;
        if let Some(&(base, length)) = self.geometry.allocations.get(known)
            && !has_strong(&self.global[known])
            && lanes(access.mask).all(|lane| access.addresses[lane].wrapping_sub(base) < length)
        {
            return;
        }
        for lane in lanes(access.mask) {
            let address = access.addresses[lane];
            let Some(allocation) =
                self.allocation_index(access.instruction, address, access.bytes.into())
            else {
                continue;
            };
            if !has_strong(&self.global[allocation]) {
                continue;
            }
            let mut view = self.view(Space::Global, allocation, by);
            let origin = view.origin(access.instruction, by).with_lane(lane);
            let first = view.first_cell(address, access.bytes);
            let count = (access.bytes >> view.cells.shift) as usize;
            if let Some(cross_block) = &mut view.cross_block {
                for cell in first..first + count {
                    cross_block.note_read(cell, block, origin);
                }
            }
        }
    }

    /// Compares a strong write with the plain reads before it, and remembers it. `access` is flat:
    /// its addresses in shared memory count from the start of the cluster's.
    #[inline(never)]
    pub(super) fn note_strong(&mut self, by: u32, access: &MemoryAccess<'_>) {
        let Some(space) = of_space(access.space) else {
            return;
        };
        if !self.updates.has[space] {
            return;
        }
        self.catch_up();
        let writes = access.kind != AccessKind::Load;
        let own = match access.space {
            Space::Shared => self.geometry.shared_start(by),
            _ => 0,
        };
        let is_cas = self.semantics[access.instruction.index()].is_compare_and_swap;
        let (now, since) = (self.block.clocks.now, self.block.clocks.since);
        self.updates.live[space] |= writes;
        for lane in lanes(self.note_strong_lanes(by, access, writes)) {
            self.compare_write(by, access, lane, (writes, is_cas));
        }
        if writes {
            self.updates.note(by, access, own, (now, since));
        }
    }

    /// Lets plain accesses to an allocation be recorded at once for races between blocks, as strong
    /// ones are: the shadow memory does not tell them apart.
    fn record_at_once(&mut self, space: Space, allocation: usize, by: u32) {
        if space != Space::Global || !self.view(space, allocation, by).is_lazy {
            return;
        }
        if let Some(area) = &mut self.global[allocation] {
            area.settle(&self.block.blocks);
            area.is_lazy = false;
        }
    }

    /// Records strong accesses of lanes to one allocation, or to shared memory, for races between
    /// blocks; the lanes that are left to [`Self::compare_write`]: those of other allocations, and
    /// those for which the shadow memory holds plain reads of this block.
    fn note_strong_lanes(&mut self, by: u32, access: &MemoryAccess<'_>, writes: bool) -> u32 {
        let is_global = access.space == Space::Global;
        let address = access.addresses[access.mask.trailing_zeros() as usize % LANES];
        let allocation = match access.space {
            Space::Global => {
                self.allocation_index(access.instruction, address, access.bytes.into())
            }
            _ => Some(0),
        };
        let Some(allocation) = allocation else {
            return access.mask;
        };
        self.record_at_once(access.space, allocation, by);
        let looks_for_reads = self.updates.plain_reads[usize::from(is_global)];
        let semantics = std::mem::take(&mut self.semantics);
        let block = block_number(self.block.index);
        let mut view = self.view(access.space, allocation, by);
        let here = view.lanes_within(access, access.mask);
        let mut left = access.mask & !here;
        let origin = view.origin(access.instruction, by);
        let start = view.block.clocks.block_start;
        let is_noted = view.cross_block.is_none()
            || here == u32::MAX && view.notes_strong_row(access, block, origin, writes);
        for lane in lanes(here) {
            if is_noted && !looks_for_reads {
                break;
            }
            let first = view.first_cell(access.addresses[lane], access.bytes);
            let cells = first..first + (access.bytes >> view.cells.shift) as usize;
            if !is_noted && let Some(cross_block) = &mut view.cross_block {
                for cell in cells.clone() {
                    cross_block.note_strong(cell, block, origin.with_lane(lane), writes);
                }
            }
            if !looks_for_reads {
                continue;
            }
            for (stamp, reader, _) in cells.flat_map(|cell| view.recorded_reads(cell)) {
                let is_plain = stamp >= start
                    && reader.instruction() != origin.instruction()
                    && !reader.is_async()
                    && semantics[reader.instruction() as usize].is_plain_load;
                left |= u32::from(is_plain) << lane;
            }
        }
        self.semantics = semantics;
        let now = self.block.clocks.now;
        if is_global && let Some(area) = &mut self.global[allocation] {
            area.strong = now;
            self.updates.global_strong = now;
        }
        left
    }

    /// Compares a strong access of a lane with the plain reads that the shadow memory holds, and
    /// records it for races between blocks.
    fn compare_write(
        &mut self,
        by: u32,
        access: &MemoryAccess<'_>,
        lane: usize,
        (writes, is_cas): (bool, bool),
    ) {
        let address = access.addresses[lane];
        let is_global = access.space == Space::Global;
        let allocation = match access.space {
            Space::Global => {
                match self.allocation_index(access.instruction, address, access.bytes.into()) {
                    Some(allocation) => allocation,
                    None => return,
                }
            }
            _ => 0,
        };
        let block = block_number(self.block.index);
        let now = self.block.clocks.now;
        self.record_at_once(access.space, allocation, by);
        let view = self.view(access.space, allocation, by);
        if !view.holds(address, access.bytes) {
            return;
        }
        let mut view = view;
        let origin = view.origin(access.instruction, by).with_lane(lane);
        let first = view.first_cell(address, access.bytes);
        let cells = first..first + (access.bytes >> view.cells.shift) as usize;
        if let Some(cross_block) = &mut view.cross_block {
            for cell in cells.clone() {
                cross_block.note_strong(cell, block, origin, writes);
            }
        }
        let shift = view.cells.shift;
        let base = if is_global { view.base } else { 0 };
        let mut racing = None;
        let mut own_reads = [None; 2];
        for cell in cells {
            let recorded = view.recorded_reads(cell);
            for ((stamp, reader, lanes_of), own) in recorded.into_iter().zip(&mut own_reads) {
                if stamp < view.block.clocks.block_start || reader.is_async() {
                    continue;
                }
                let thread = origin.thread();
                let by_itself = reader.thread().0 == thread.0 && lanes_of >> lane & 1 != 0;
                if by_itself {
                    *own = Some(InstructionId(reader.instruction()));
                }
                let is_open = |other: &Origin| {
                    other.thread() != thread && !view.is_ordered(*other, stamp, origin)
                };
                let open = lanes(lanes_of)
                    .map(|lane| reader.with_lane(lane))
                    .find(is_open);
                if writes && racing.is_none() {
                    racing = open.map(|reader| (reader, base + ((cell as u64) << shift)));
                }
            }
        }
        if is_global && let Some(area) = &mut self.global[allocation] {
            area.strong = now;
            self.updates.global_strong = now;
        }
        let is_plain = |id: InstructionId| self.semantics[id.index()].is_plain_load;
        if is_cas {
            let own = own_reads.into_iter().flatten().filter(|&id| is_plain(id));
            self.updates.guesses.extend(own.collect::<Vec<_>>());
        }
        if let Some((reader, at)) = racing
            && self.semantics[reader.instruction() as usize].is_plain_load
        {
            let bytes = ((1u32 << access.bytes.min(4)) - 1) as u8;
            self.report_update(is_global, at, origin, reader, bytes);
        }
    }

    fn report_update(
        &mut self,
        is_global: bool,
        address: u64,
        write: Origin,
        read: Origin,
        bytes: u8,
    ) {
        let actor = |origin: Origin| Actor {
            instruction: InstructionId(origin.instruction()),
            block: self.block.at,
            thread: origin.linear(),
            calls: Calls::NONE,
        };
        let is_atomic = self.geometry.action(InstructionId(write.instruction())) == "atomic";
        let example = Example {
            block: self.block.index,
            space: match is_global {
                true => Space::Global,
                false => Space::Shared,
            },
            address: address + u64::from(bytes.trailing_zeros() % 8),
            bytes: bytes.count_ones(),
            detail: match is_atomic {
                true => "an atomic and a plain read".to_owned(),
                false => "a strong write and a plain read".to_owned(),
            },
            first: actor(write),
            second: Some(actor(read)),
        };
        self.tally.add(Problem::RaceInBlock, 1, example);
    }
}
