//! Conflicts between blocks, which run in no order.

use std::collections::HashMap;
use std::ops::Range;

use super::block_accesses::{BlockAccesses, FirstLast, Span, is_quiet};
use super::finding::Problem;
use super::launch_geometry::LaunchGeometry;
use super::shadow_memory::Origin;
use super::shape::LANES;
use super::sync_table::BlockSet;
use super::tally::{Actor, Example, Tally};
use crate::ir::Calls;
use crate::ir::{InstructionId, Space};

/// What blocks have observed of each other.
pub(super) struct Seen<'a> {
    /// Of each block, by its number: the blocks whose writes it has acquired.
    pub(super) blocks: &'a HashMap<u32, BlockSet>,
    /// The group of blocks whose fault has ended the launch: later ones do not count.
    pub(super) last: Option<u64>,
}

/// What the blocks of a launch did with an allocation.
#[derive(Clone, Debug)]
pub(super) struct CrossBlockRaces {
    bytes: u64,
    pub(super) shift: u32,
    pub(super) wrote: bool,
    writes: BlockAccesses,
    reads: BlockAccesses,
    /// Strong accesses, where the kernel has strong writes; those count as reads elsewhere.
    strong: Option<Box<Strong>>,
}

/// Strong accesses, which do not race with each other.
#[derive(Clone, Debug)]
struct Strong {
    /// All of them: they race with plain writes.
    all: BlockAccesses,
    /// Those that write: they race with plain reads.
    writes: BlockAccesses,
}

impl Strong {
    fn new(count: usize) -> Self {
        Strong {
            all: BlockAccesses::new(count),
            writes: BlockAccesses::new(count),
        }
    }
}

impl CrossBlockRaces {
    pub(super) fn new(bytes: u64, shift: u32) -> Self {
        let count = (bytes as usize).div_ceil(1 << shift);
        CrossBlockRaces {
            bytes,
            shift,
            wrote: false,
            writes: BlockAccesses::new(count),
            reads: BlockAccesses::new(count),
            strong: None,
        }
    }

    /// Records a strong access of a kernel that has strong writes.
    pub(super) fn note_strong(&mut self, cell: usize, block: u32, origin: Origin, writes: bool) {
        let count = self.writes.count;
        let strong = self
            .strong
            .get_or_insert_with(|| Box::new(Strong::new(count)));
        strong.all.note(cell, block, origin);
        if writes {
            strong.writes.note(cell, block, origin);
        }
    }

    /// As [`Self::note_strong`], of consecutive cells, one for each lane of the warp of `origin`.
    pub(super) fn note_strong_row(
        &mut self,
        first: usize,
        block: u32,
        origin: Origin,
        writes: bool,
    ) {
        let count = self.writes.count;
        let strong = self
            .strong
            .get_or_insert_with(|| Box::new(Strong::new(count)));
        // By cells: of a row and a cell by themselves it is not known which came first.
        strong.all.note_cells::<1>(first, LANES, block, origin);
        if writes {
            strong.writes.note_cells::<1>(first, LANES, block, origin);
        }
    }

    #[inline(always)]
    pub(super) fn note_write(&mut self, cell: usize, block: u32, origin: Origin) {
        self.wrote = true;
        self.writes.note(cell, block, origin);
    }

    /// Records a read, or a strong access of a kernel without strong writes.
    #[inline(always)]
    pub(super) fn note_read(&mut self, cell: usize, block: u32, origin: Origin) {
        self.reads.note(cell, block, origin);
    }

    /// As [`Self::note_write`], for consecutive accesses of all lanes, of `CELLS` cells each.
    pub(super) fn note_write_row<const CELLS: usize>(
        &mut self,
        from: usize,
        block: u32,
        origin: Origin,
    ) {
        self.wrote = true;
        self.writes.note_row::<CELLS>(from, block, origin);
    }

    /// As [`Self::note_read`], for consecutive accesses of all lanes, of `CELLS` cells each.
    pub(super) fn note_read_row<const CELLS: usize>(
        &mut self,
        from: usize,
        block: u32,
        origin: Origin,
    ) {
        self.reads.note_row::<CELLS>(from, block, origin);
    }

    /// Splits cells into cells of `1 << shift` bytes.
    pub(super) fn refine(&mut self, shift: u32) {
        let times = 1 << (self.shift - shift);
        self.shift = shift;
        let count = (self.bytes as usize).div_ceil(1 << shift);
        self.writes.refine(times, count);
        self.reads.refine(times, count);
        if let Some(strong) = &mut self.strong {
            strong.all.refine(times, count);
            strong.writes.refine(times, count);
        }
    }

    pub(super) fn merge(&mut self, mut other: CrossBlockRaces) {
        if other.shift > self.shift {
            other.refine(self.shift);
        } else if other.shift < self.shift {
            self.refine(other.shift);
        }
        self.wrote |= other.wrote;
        self.writes.merge(other.writes);
        self.reads.merge(other.reads);
        if let Some(others) = other.strong {
            let count = self.writes.count;
            let strong = self
                .strong
                .get_or_insert_with(|| Box::new(Strong::new(count)));
            strong.all.merge(others.all);
            strong.writes.merge(others.writes);
        }
    }

    /// Leaves the memory to later launches.
    pub(super) fn recycle(self) {
        let strong = self.strong.map(|strong| [strong.all, strong.writes]);
        let all = [self.writes, self.reads].into_iter();
        all.chain(strong.into_iter().flatten())
            .for_each(BlockAccesses::recycle);
    }

    /// Whether strong accesses are recorded.
    pub(super) fn has_strong(&self) -> bool {
        self.strong.is_some()
    }

    /// What is recorded of a cell: writes and reads, each as (block, origin).
    #[cfg(test)]
    pub(super) fn of(&self, cell: usize) -> [Vec<(u32, Origin)>; 2] {
        [&self.writes, &self.reads].map(|accesses| accesses.of(cell).each().collect())
    }

    /// Number of aligned rows of 32 cells.
    pub(super) fn rows(&self) -> usize {
        self.writes.rows()
    }

    /// The blocks that wrote to a row, and that read it.
    pub(super) fn spans(&self, row: usize) -> [Span; 2] {
        [self.writes.span(row), self.reads.span(row)]
    }

    /// Whether it can be seen at once that there is no conflict over the cells of a row: nothing
    /// was written, or one block did all, or each cell has but one access.
    fn is_quiet_row(&self, row: usize) -> bool {
        let (writes, reads) = (self.writes.span(row), self.reads.span(row));
        let strong = self.strong.as_ref();
        let strong = strong.map(|strong| (strong.all.span(row), strong.writes.span(row)));
        let (all_strong, strong_writes) = strong.unwrap_or((Span::NONE, Span::NONE));
        writes.is_none() && (strong_writes.is_none() || reads.is_none())
            || writes.with(reads).with(all_strong).is_of_one()
            || reads.is_none() && strong.is_none() && self.writes.is_single(row)
    }

    /// The rows with writes, and some without.
    fn written_rows(&self) -> Range<usize> {
        let mut bounds = self.writes.bounds().clone();
        if let Some(strong) = &self.strong {
            bounds.include_all(strong.writes.bounds());
        }
        bounds.range()
    }

    /// Adds the conflicts over an allocation at `base`.
    pub(super) fn report(
        &self,
        geometry: &LaunchGeometry,
        base: u64,
        seen: &Seen<'_>,
        tally: &mut Tally,
    ) {
        if !self.wrote && self.strong.is_none() {
            return;
        }
        let has_seen = |block: u32, other: u32| {
            let seen = seen.blocks.get(&block);
            seen.is_some_and(|seen| seen.contains(u64::from(other) - 1))
        };
        let index_of = |block: u32| geometry.group_index(geometry.block_at(u64::from(block) - 1));
        let counts = |block: u32| seen.last.is_none_or(|last| index_of(block) <= last);
        let free = |(a, by_a): (u32, Origin), (b, by_b): (u32, Origin)| {
            a != b
                && counts(a)
                && counts(b)
                && !(by_a.acquired() && has_seen(a, b))
                && !(by_b.acquired() && has_seen(b, a))
        };
        let rows = self.written_rows().filter(|&row| !self.is_quiet_row(row));
        let cells = rows.flat_map(|row| row * LANES..(row + 1) * LANES);
        for cell in cells.take_while(|&cell| cell < self.writes.count) {
            if ((cell as u64) << self.shift).is_multiple_of(4) {
                tally.end_access();
            }
            let (writes, reads) = (self.writes.of(cell), self.reads.of(cell));
            let strong = self.strong.as_ref();
            let strong = strong.map(|strong| (strong.all.of(cell), strong.writes.of(cell)));
            let (all_strong, strong_writes) = strong.unwrap_or_default();
            if is_quiet(writes, reads)
                && is_quiet(writes, all_strong)
                && is_quiet(strong_writes, reads)
            {
                continue;
            }
            let pairs_of = |writes: FirstLast, others: FirstLast| {
                writes
                    .each()
                    .flat_map(move |write| others.each().map(move |other| (write, other)))
                    .find(|&(write, other)| free(write, other))
            };
            let pairs = |others: FirstLast| pairs_of(writes, others);
            let with_writes = pairs(writes);
            let with_writes =
                with_writes.map(|(a, b)| match a.1.instruction() <= b.1.instruction() {
                    true => (a, b),
                    false => (b, a),
                });
            let with_reads = pairs(reads).into_iter().chain(pairs(all_strong));
            let with_strong = pairs_of(strong_writes, reads);
            for (write, other) in with_writes.into_iter().chain(with_reads).chain(with_strong) {
                let actor = |(block, origin): (u32, Origin)| Actor {
                    instruction: InstructionId(origin.instruction()),
                    block: geometry.block_at(u64::from(block) - 1),
                    thread: origin.linear(),
                    calls: Calls::NONE,
                };
                let example = Example {
                    // The lowest address gives the example, whatever the blocks.
                    block: 0,
                    space: Space::Global,
                    address: base + ((cell as u64) << self.shift),
                    bytes: 1 << self.shift,
                    detail: String::new(),
                    first: actor(write),
                    second: Some(actor(other)),
                };
                tally.add_race(Problem::RaceBetweenBlocks, 1, false, example);
            }
        }
        tally.end_access();
    }
}
