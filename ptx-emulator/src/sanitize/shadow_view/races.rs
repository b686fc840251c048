//! Whether an access races with the recorded ones, and what is reported of a race.

use super::ShadowView;
use crate::ir::{Calls, InstructionId, Space};
use crate::observer::MemoryAccess;
use crate::sanitize::finding::Problem;
use crate::sanitize::shadow_memory::Origin;
use crate::sanitize::shape::{LANES, lanes};
use crate::sanitize::tally::{Actor, Example};

impl ShadowView<'_> {
    #[inline(always)]
    pub(super) fn check_read(&mut self, cell: usize, origin: Origin, mask: u32) {
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

    #[inline(never)]
    pub(super) fn check_write(&mut self, cell: usize, origin: Origin, access: &MemoryAccess<'_>) {
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
                .find(|&reader| !self.is_read_over(reader, stamp, origin));
            let elsewhere = self.cells.read_elsewhere[cell];
            let other = Origin(self.cells.other_reader[cell]);
            let racing = racing.or_else(|| {
                let known = elsewhere >= since && !self.is_read_over(other, elsewhere, origin);
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

    /// Whether a recorded read is over when a thread writes.
    fn is_read_over(&self, read: Origin, stamp: u32, now: Origin) -> bool {
        let in_shared_memory = self.cross_block.is_none();
        self.is_ordered(read, stamp, now)
            || in_shared_memory && self.block.clocks.has_ended(read, stamp, now.thread())
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
    pub(super) fn report(
        &mut self,
        cell: usize,
        write: Origin,
        (other, lanes): (Origin, u32),
        detail: &str,
    ) {
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
