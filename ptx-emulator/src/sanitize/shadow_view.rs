//! Accesses to one range of memory: recorded cell by cell, and compared with earlier ones.

mod races;
mod rows;

use std::ops::Range;

use super::clocks::IN_FLIGHT;
use super::cross_block_races::CrossBlockRaces;
use super::last_accesses::Others;
use super::racecheck::{BlockState, block_number};
use super::shadow_memory::{Origin, ShadowMemory};
use super::shape::lanes;
use super::tally::Tally;
use crate::allocation::Allocation;
use crate::exec::Level;
use crate::ir::{AccessKind, InstructionId, Space};
use crate::observer::MemoryAccess;
pub(super) use rows::{is_settled, is_settled_slice};

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
    fn note_read(&mut self, cell: usize, origin: Origin, mask: u32) {
        let (now, since) = (self.block.clocks.now, self.block.clocks.since);
        let is_strong = self.is_strong;
        let stamp = self.cells.read[cell];
        self.cells.touch(cell..cell + 1);
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
        cells.touch(cell..cell + 1);
        cells.wrote_at = cells.wrote_at.max(now);
        cells.written[cell] = now;
        cells.writer[cell] = origin.0;
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
            self.cells.touch(cell..cell + 1);
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
        let own = origin.asynchronous();
        for (stamp, reader) in [
            (&mut cells.read[cell], &mut cells.reader[cell]),
            (
                &mut cells.read_elsewhere[cell],
                &mut cells.other_reader[cell],
            ),
        ] {
            let begun = Origin(*reader);
            if *stamp == IN_FLIGHT && own.ends(begun) {
                (*stamp, *reader) = (now, origin.acquired_as(begun).0);
            }
        }
    }
}
