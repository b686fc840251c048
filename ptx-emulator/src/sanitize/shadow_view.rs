//! Accesses to one range of memory: recorded cell by cell, and compared with earlier ones.

use std::ops::Range;

use super::clocks::IN_FLIGHT;
use super::cross_block_races::CrossBlockRaces;
use super::finding::Problem;
use super::last_accesses::Others;
use super::racecheck::{BlockState, block_number};
use super::shadow_memory::{Origin, ShadowMemory, fill_row};
use super::shape::{LANES, lanes};
use super::tally::{Actor, Example, Tally};
use crate::allocation::Allocation;
use crate::exec::Level;
use crate::ir::{AccessKind, Calls, InstructionId, Space};
use crate::observer::MemoryAccess;

/// Memory that a warp accesses.
pub(super) struct ShadowView<'a> {
    pub space: Space,
    pub base: u64,
    pub cells: &'a mut ShadowMemory,
    pub cross_block: Option<&'a mut CrossBlockRaces>,
    /// What global memory holds.
    pub content: Option<&'a Allocation>,
    pub block: &'a BlockState,
    /// Counts the writes to what several warps have read since the last barrier of the block.
    pub overwrites: &'a mut u64,
    pub tally: &'a mut Tally,
    /// Whether the accesses are strong, and recorded apart for races between blocks.
    pub is_strong: bool,
    /// Whether races between blocks are recorded as late as possible.
    pub is_lazy: bool,
    /// Vector instructions with which any lanes are recorded.
    pub level: Level,
}

impl ShadowView<'_> {
    /// Lane 0 of a warp.
    pub(super) fn origin(&self, instruction: InstructionId, warp: u32) -> Origin {
        Origin::new(instruction.index(), self.block.acquired, warp, 0)
    }

    /// The cells, and what else is recorded of them.
    #[inline(always)]
    pub(super) fn parts(&mut self) -> (&mut ShadowMemory, Option<Others<'_>>) {
        let (block, is_lazy) = (self.block, self.is_lazy);
        let others = self.cross_block.as_deref_mut().map(|races| Others {
            races,
            blocks: &block.blocks,
            is_lazy,
            start: block.clocks.block_start,
            block: block_number(block.index),
        });
        (self.cells, others)
    }

    /// Whether an access lies within this memory.
    #[inline(always)]
    pub(super) fn holds(&self, address: u64, bytes: u32) -> bool {
        let after = self.cells.bytes().checked_sub(u64::from(bytes));
        let at = address.wrapping_sub(self.base);
        after.is_some_and(|last| at <= last)
    }

    /// The first cell of an access. Cells are split if they are larger than it.
    #[inline(always)]
    pub(super) fn first_cell(&mut self, address: u64, bytes: u32) -> usize {
        let shift = bytes.trailing_zeros();
        if shift < self.cells.shift {
            self.refine(shift);
        }
        self.cells.touched = true;
        (address.wrapping_sub(self.base) >> self.cells.shift) as usize
    }

    #[cold]
    #[inline(never)]
    fn refine(&mut self, shift: u32) {
        self.cells.refine(shift, self.block.clocks.launch_start);
        if let Some(cross_block) = &mut self.cross_block {
            cross_block.refine(shift);
        }
    }

    /// Whether a thread's access is ordered before what another does now.
    pub(super) fn is_ordered(&self, earlier: Origin, stamp: u32, now: Origin) -> bool {
        let clocks = &self.block.clocks;
        stamp < clocks.since || clocks.is_ordered(earlier, stamp, now.thread())
    }

    /// Whether the last recorded read, of several lanes, is ordered before what a thread does now.
    fn is_read_ordered(&self, cell: usize, now: Origin) -> bool {
        let (stamp, reader) = (self.cells.read[cell], Origin(self.cells.reader[cell]));
        lanes(self.cells.readers[cell])
            .all(|lane| self.is_ordered(reader.with_lane(lane), stamp, now))
    }

    /// The reads and strong accesses that are recorded of a cell: stamp, origin and lanes.
    pub(super) fn recorded_reads(&self, cell: usize) -> [(u32, Origin, u32); 2] {
        let cells = &*self.cells;
        let other = Origin(cells.other_reader[cell]);
        [
            (
                cells.read[cell],
                Origin(cells.reader[cell]),
                cells.readers[cell],
            ),
            (
                cells.read_elsewhere[cell],
                other,
                1 << (other.thread().1 % 32),
            ),
        ]
    }

    /// A read or a strong access by lanes of one warp; `origin` is the first of them. Races are
    /// counted by [`Tally::end_access`].
    pub(super) fn read(&mut self, cell: usize, origin: Origin, mask: u32) {
        self.check_read(cell, origin, mask);
        self.note_read(cell, origin, mask);
    }

    #[inline(always)]
    fn check_read(&mut self, cell: usize, origin: Origin, mask: u32) {
        if self.cells.written[cell] >= self.block.clocks.since {
            self.check_read_of_new(cell, origin, mask);
        }
    }

    /// As [`Self::check_read`], of a cell that was written since the last barrier of the block.
    #[inline(never)]
    fn check_read_of_new(&mut self, cell: usize, origin: Origin, mask: u32) {
        let (stamp, writer) = (self.cells.written[cell], Origin(self.cells.writer[cell]));
        let racing = lanes(mask)
            .filter(|&lane| !self.is_ordered(writer, stamp, origin.with_lane(lane)))
            .fold(0u32, |racing, lane| racing | 1 << lane);
        if racing != 0 {
            let reader = origin.with_lane(racing.trailing_zeros() as usize);
            // An asynchronous operation of a warp is one access.
            let racing = if origin.is_async() { 1 } else { racing };
            self.report(cell, writer, (reader, racing), "");
        }
    }

    #[inline(always)]
    fn note_read(&mut self, cell: usize, origin: Origin, mask: u32) {
        let (now, since) = (self.block.clocks.now, self.block.clocks.since);
        let is_strong = self.is_strong;
        let stamp = self.cells.read[cell];
        self.cells.read_at = self.cells.read_at.max(now);
        if stamp >= since {
            return self.note_another_read(cell, origin, mask);
        }
        let (cells, others) = self.parts();
        if let Some(mut others) = others.filter(|_| !is_strong) {
            others.read(cell, (stamp, cells.reader[cell]), origin);
        }
        cells.read[cell] = now;
        cells.reader[cell] = origin.0;
        cells.readers[cell] = mask;
    }

    /// Records a read of a cell that was read since the last barrier of the block.
    #[inline(never)]
    fn note_another_read(&mut self, cell: usize, origin: Origin, mask: u32) {
        let now = self.block.clocks.now;
        let cells = &mut *self.cells;
        let (stamp, reader) = (cells.read[cell], Origin(cells.reader[cell]));
        let same_warp = reader.thread().0 == origin.thread().0;
        if stamp == now && same_warp && !reader.is_async() && !origin.is_async() {
            cells.readers[cell] |= mask;
            return;
        }
        // A read that is ordered after the recorded one replaces it: what is ordered after the new
        // one is ordered after both.
        let replaces = stamp != IN_FLIGHT
            && (same_warp && !reader.is_async() && cells.readers[cell] & !mask == 0
                || self.is_read_ordered(cell, origin));
        if replaces {
            let is_strong = self.is_strong;
            let (cells, others) = self.parts();
            if let Some(mut others) = others.filter(|_| !is_strong) {
                others.read(cell, (stamp, reader.0), origin);
            }
            cells.read[cell] = now;
            cells.reader[cell] = origin.0;
            cells.readers[cell] = mask;
            return;
        }
        let (stamp, other) = (
            self.cells.read_elsewhere[cell],
            self.cells.other_reader[cell],
        );
        if self.is_ordered(Origin(other), stamp, origin) {
            self.cells.read_elsewhere[cell] = now;
            self.cells.other_reader[cell] = origin.0;
        }
    }

    /// Reads of the same cells by several lanes; `origin` is of the same warp.
    pub(super) fn read_same(&mut self, cells: Range<usize>, origin: Origin, mask: u32) {
        let since = self.block.clocks.since;
        let is_new = |cell: usize| self.cells.written[cell] >= since;
        if cells.clone().any(is_new) {
            // Lane by lane: the first of them with a race gives the example.
            for lane in lanes(mask) {
                for cell in cells.clone() {
                    self.check_read(cell, origin.with_lane(lane), 1 << lane);
                }
            }
            self.tally.end_access();
        }
        let first = origin.with_lane(mask.trailing_zeros() as usize);
        for cell in cells {
            self.note_read(cell, first, mask);
        }
    }

    /// A read by all lanes of a warp, recorded unless the cells are settled; whether they are.
    #[inline(always)]
    pub(super) fn read_unsettled<const CELLS: usize>(
        &mut self,
        first: usize,
        origin: Origin,
    ) -> bool {
        let clocks = &self.block.clocks;
        let settled = is_settled::<CELLS>(self.cells, first, (clocks.since, clocks.now));
        if !settled {
            self.read_group::<CELLS>(first, origin, u32::MAX);
        }
        settled
    }

    /// As [`Self::read_same`], of `CELLS` cells.
    #[inline(always)]
    pub(super) fn read_group<const CELLS: usize>(
        &mut self,
        first: usize,
        origin: Origin,
        mask: u32,
    ) {
        let origin = origin.with_lane(mask.trailing_zeros() as usize);
        let (now, since) = (self.block.clocks.now, self.block.clocks.since);
        let (cells, others) = self.parts();
        cells.read_at = cells.read_at.max(now);
        let row = first..first + CELLS;
        let all = |stamps: &[u32], limit: u32| stamps[row.clone()].iter().all(|&s| s < limit);
        if !all(&cells.written, since) {
            return self.read_same(row, origin, mask);
        }
        if all(&cells.read, since) {
            if let Some(mut others) = others {
                for at in row.clone() {
                    others.read(at, (cells.read[at], cells.reader[at]), origin);
                }
            }
            cells.read[row.clone()].fill(now);
            cells.reader[row.clone()].fill(origin.0);
            cells.readers[row].fill(mask);
            return;
        }
        if cells.is_read_by_other_warp(row.clone(), origin, since) {
            cells.read_elsewhere[row.clone()].fill(now);
            cells.other_reader[row].fill(origin.0);
            return;
        }
        for cell in row {
            self.note_read(cell, origin, mask);
        }
    }

    /// A weak write by one thread of those that perform `access`; as [`Self::read`].
    #[inline(always)]
    pub(super) fn write(&mut self, cell: usize, origin: Origin, access: &MemoryAccess<'_>) {
        let (now, since) = (self.block.clocks.now, self.block.clocks.since);
        if self.cells.written[cell] >= since || self.cells.read[cell] >= since {
            self.check_write(cell, origin, access);
        }
        let (cells, others) = self.parts();
        if let Some(mut others) = others {
            others.write(cell, (cells.written[cell], cells.writer[cell]), origin);
        }
        cells.wrote_at = cells.wrote_at.max(now);
        cells.written[cell] = now;
        cells.writer[cell] = origin.0;
    }

    #[inline(never)]
    fn check_write(&mut self, cell: usize, origin: Origin, access: &MemoryAccess<'_>) {
        let since = self.block.clocks.since;
        if self.cells.written[cell] >= since {
            let (stamp, writer) = (self.cells.written[cell], Origin(self.cells.writer[cell]));
            if !self.is_ordered(writer, stamp, origin) && !write_the_same(access, writer, origin) {
                let is_same = self.holds_already(cell, origin, access);
                self.report_writes(cell, writer, origin, is_same);
            }
        }
        if self.cells.read_elsewhere[cell] >= since {
            *self.overwrites += 1;
        }
        if self.cells.read[cell] >= since {
            let stamp = self.cells.read[cell];
            let reader = Origin(self.cells.reader[cell]);
            let racing = lanes(self.cells.readers[cell])
                .map(|lane| reader.with_lane(lane))
                .find(|&reader| !self.is_ordered(reader, stamp, origin));
            let elsewhere = self.cells.read_elsewhere[cell];
            let other = Origin(self.cells.other_reader[cell]);
            let racing = racing.or_else(|| {
                let known = elsewhere >= since && !self.is_ordered(other, elsewhere, origin);
                known.then_some(other)
            });
            match racing {
                Some(reader) => {
                    let lanes = 1 << (origin.thread().1 % 32);
                    self.report(cell, origin, (reader, lanes), "");
                }
                // What is ordered after this write is ordered after the reads as well.
                None if self.cross_block.is_none() => {
                    self.cells.read[cell] = 0;
                    self.cells.read_elsewhere[cell] = 0;
                }
                None => {}
            }
        }
    }

    /// Lanes of one warp issue an asynchronous operation; `origin` is the first of them. As
    /// [`Self::read`].
    pub(super) fn begin(
        &mut self,
        cell: usize,
        origin: Origin,
        mask: u32,
        access: &MemoryAccess<'_>,
    ) {
        let origin = origin.asynchronous();
        if access.kind == AccessKind::Store {
            self.check_write(cell, origin, access);
            self.cells.wrote_at = IN_FLIGHT;
            self.cells.written[cell] = IN_FLIGHT;
            self.cells.writer[cell] = origin.0;
            return;
        }
        self.check_read(cell, origin, mask);
        let (stamp, writer) = (self.cells.written[cell], Origin(self.cells.writer[cell]));
        let clocks = &self.block.clocks;
        let in_this_block = stamp >= clocks.block_start && !writer.is_async();
        if in_this_block && !clocks.is_published(writer, stamp) {
            let detail = "no fence.proxy.async lies between the write and the asynchronous read";
            let lanes = 1 << (origin.thread().1 % 32);
            self.report(cell, writer, (origin, lanes), detail);
        }
        self.note_read(cell, origin, 1 << (origin.thread().1 % 32));
        let cells = &mut *self.cells;
        cells.read_at = IN_FLIGHT;
        for (stamp, reader) in [
            (&mut cells.read[cell], cells.reader[cell]),
            (&mut cells.read_elsewhere[cell], cells.other_reader[cell]),
        ] {
            if reader == origin.0 && *stamp >= self.block.clocks.block_start {
                *stamp = IN_FLIGHT;
            }
        }
    }

    /// An asynchronous operation is complete. `origin` is asynchronous unless it is the lane that
    /// has waited for it.
    pub(super) fn end(&mut self, cell: usize, origin: Origin, kind: AccessKind) {
        let now = self.block.clocks.now;
        let cells = &mut *self.cells;
        if kind == AccessKind::Store {
            cells.written[cell] = now;
            cells.writer[cell] = origin.0;
            return;
        }
        let own = origin.asynchronous().0;
        for (stamp, reader) in [
            (&mut cells.read[cell], &mut cells.reader[cell]),
            (
                &mut cells.read_elsewhere[cell],
                &mut cells.other_reader[cell],
            ),
        ] {
            if *stamp == IN_FLIGHT && *reader == own {
                (*stamp, *reader) = (now, origin.0);
            }
        }
    }

    /// Consecutive reads of all lanes, of `CELLS` cells each; false, with nothing done, unless all
    /// cells are in the same simple state.
    pub(super) fn read_row<const CELLS: usize>(&mut self, first: usize, origin: Origin) -> bool {
        let (now, since) = (self.block.clocks.now, self.block.clocks.since);
        let (cells, others) = self.parts();
        let row = first..first + LANES * CELLS;
        if cells.wrote_at >= since && !all_before(&cells.written[row.clone()], since) {
            return false;
        }
        if all_before(&cells.read[row.clone()], since) {
            if let Some(mut others) = others {
                let old = (&cells.read[row.clone()], &cells.reader[row.clone()]);
                others.read_row::<CELLS>(first, old, origin);
            }
            cells.read_at = cells.read_at.max(now);
            cells.read[row.clone()].fill(now);
            fill_row::<CELLS>(&mut cells.reader[row.clone()], |lane| {
                origin.with_lane(lane).0
            });
            fill_row::<CELLS>(&mut cells.readers[row], |lane| 1 << lane);
            return true;
        }
        if !cells.is_read_by_other_warp(row.clone(), origin, since) {
            return false;
        }
        cells.read_elsewhere[row.clone()].fill(now);
        fill_row::<CELLS>(&mut cells.other_reader[row], |lane| {
            origin.with_lane(lane).0
        });
        true
    }

    /// Consecutive weak writes of all lanes; as [`Self::read_row`].
    pub(super) fn write_row<const CELLS: usize>(&mut self, first: usize, origin: Origin) -> bool {
        let (now, since) = (self.block.clocks.now, self.block.clocks.since);
        let (cells, others) = self.parts();
        let row = first..first + LANES * CELLS;
        let is_quiet =
            |at: u32, stamps: &[u32]| at < since || all_before(&stamps[row.clone()], since);
        if !is_quiet(cells.wrote_at, &cells.written) || !is_quiet(cells.read_at, &cells.read) {
            return false;
        }
        if let Some(mut others) = others {
            let old = (&cells.written[row.clone()], &cells.writer[row.clone()]);
            others.write_row::<CELLS>(first, old, origin);
        }
        cells.wrote_at = cells.wrote_at.max(now);
        cells.written[row.clone()].fill(now);
        fill_row::<CELLS>(&mut cells.writer[row], |lane| origin.with_lane(lane).0);
        true
    }

    /// Whether memory holds already what a thread is about to write to a cell: then the write
    /// before was of the same value.
    #[cold]
    fn holds_already(&self, cell: usize, origin: Origin, access: &MemoryAccess<'_>) -> bool {
        let Some(values) = access.values else {
            return false;
        };
        let lane = origin.thread().1 as usize % LANES;
        let first = self.base.wrapping_add((cell as u64) << self.cells.shift);
        let is_same = |address: u64| {
            let held = match (access.space, self.content) {
                (Space::Shared, _) => values.shared_byte(address),
                (Space::Global, Some(content)) => {
                    let at = address.wrapping_sub(content.base);
                    (at < content.bytes).then(|| content.read(at as usize, 1) as u8)
                }
                _ => None,
            };
            let at = address.wrapping_sub(access.addresses[lane]);
            held.is_some() && held == values.byte_of_lane(lane, at)
        };
        (first..first.saturating_add(1 << self.cells.shift)).all(is_same)
    }

    #[cold]
    #[inline(never)]
    fn report_writes(&mut self, cell: usize, write: Origin, other: Origin, is_same: bool) {
        let (problem, example) = self.example(cell, write, other, true, "");
        let lanes = 1 << (other.thread().1 % 32);
        self.tally.add_race(problem, lanes, is_same, example);
    }

    /// Reports a race of a write and another access, by some lanes of the later one.
    #[cold]
    #[inline(never)]
    fn report(&mut self, cell: usize, write: Origin, (other, lanes): (Origin, u32), detail: &str) {
        let (problem, example) = self.example(cell, write, other, false, detail);
        self.tally.add_race(problem, lanes, false, example);
    }

    fn example(
        &self,
        cell: usize,
        write: Origin,
        other: Origin,
        both_write: bool,
        detail: &str,
    ) -> (Problem, Example) {
        let (first, second) = match both_write && other.instruction() < write.instruction() {
            true => (other, write),
            false => (write, other),
        };
        let actor = |origin: Origin| Actor {
            instruction: InstructionId(origin.instruction()),
            block: self.block.at,
            thread: origin.linear(),
            calls: Calls::NONE,
        };
        let example = Example {
            block: self.block.index,
            space: self.space,
            // Of shared memory counted from that of the cluster's first block on.
            address: match self.space {
                Space::Shared => (cell as u64) << self.cells.shift,
                _ => self.base + ((cell as u64) << self.cells.shift),
            },
            bytes: 1 << self.cells.shift,
            detail: detail.to_owned(),
            first: actor(first),
            second: Some(actor(second)),
        };
        (Problem::RaceInBlock, example)
    }
}

/// Whether all stamps are older than a limit.
#[inline(always)]
fn all_before(stamps: &[u32], limit: u32) -> bool {
    let late = |any, &stamp: &u32| any | u32::from(stamp >= limit);
    stamps.iter().fold(0, late) == 0
}

/// Whether reads of these cells need not be recorded: two warps have read them since the last
/// synchronisation, and no thread has written since the last barrier of the block.
#[inline(always)]
pub(super) fn is_settled<const COUNT: usize>(
    cells: &ShadowMemory,
    first: usize,
    (since, now): (u32, u32),
) -> bool {
    let written: Option<&[u32; COUNT]> = cells.written[first..].first_chunk();
    let read: Option<&[u32; COUNT]> = cells.read_elsewhere[first..].first_chunk();
    let (Some(written), Some(read)) = (written, read) else {
        return false;
    };
    let mut open = 0;
    for cell in 0..COUNT {
        open |= u32::from(written[cell] >= since) | u32::from(read[cell] < now);
    }
    open == 0
}

#[inline(always)]
pub(super) fn is_settled_slice(
    cells: &ShadowMemory,
    first: usize,
    count: usize,
    (since, now): (u32, u32),
) -> bool {
    let row = first..first.saturating_add(count);
    let (Some(written), Some(read)) = (
        cells.written.get(row.clone()),
        cells.read_elsewhere.get(row),
    ) else {
        return false;
    };
    let mut open = 0;
    for (&written, &read) in written.iter().zip(read) {
        open |= u32::from(written >= since) | u32::from(read < now);
    }
    open == 0
}

/// Whether two threads are lanes of one warp that write the same values to the same address by this
/// very access.
fn write_the_same(access: &MemoryAccess<'_>, earlier: Origin, now: Origin) -> bool {
    let ((earlier_warp, other), (warp, lane)) = (earlier.thread(), now.thread());
    let (other, lane) = (other as usize, lane as usize);
    let together = earlier_warp == warp
        && earlier.instruction() == now.instruction()
        && access.mask >> other & 1 != 0
        && access.addresses[other] == access.addresses[lane];
    let values = access.values.filter(|_| together);
    values.is_some_and(|values| values.of_lane(other).eq(values.of_lane(lane)))
}
