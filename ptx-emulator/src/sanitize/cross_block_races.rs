//! Conflicts between blocks, which run in no order.
//!
//! Of each cell it suffices to keep the first and the last block that wrote to it, and that read
//! it: there is a conflict over a cell if and only if two of these blocks are in conflict.

use std::collections::HashMap;

use super::finding::Problem;
use super::launch_geometry::LaunchGeometry;
use super::recycled;
use super::shadow_memory::Origin;
use super::shape::LANES;
use super::sync_table::BlockSet;
use super::tally::{Actor, Example, Tally};
use crate::ir::Calls;
use crate::ir::{InstructionId, Space};

/// The first and the last of the blocks that accessed a cell.
///
/// The fields of a cell are adjacent, since the shadow of large allocations does not fit into
/// caches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct FirstLast {
    /// Index in the grid plus 1; 0 for none.
    first: u32,
    first_origin: u32,
    /// The same of the last block; 0 where there was but one.
    last: u32,
    last_origin: u32,
}

impl FirstLast {
    #[inline(always)]
    fn note(&mut self, block: u32, origin: u32) {
        if self.first == 0 {
            (self.first, self.first_origin) = (block, origin);
        } else if block > self.first {
            if block > self.last {
                (self.last, self.last_origin) = (block, origin);
            }
        } else if block < self.first {
            if self.last == 0 {
                (self.last, self.last_origin) = (self.first, self.first_origin);
            }
            (self.first, self.first_origin) = (block, origin);
        }
    }

    /// The blocks.
    fn each(self) -> impl Iterator<Item = (u32, Origin)> + Clone {
        let range = [
            (self.first, Origin(self.first_origin)),
            (self.last, Origin(self.last_origin)),
        ];
        range.into_iter().filter(|(block, _)| *block != 0)
    }
}

/// Records cells of one warp's lanes, `CELLS` of each; `origin` is of that warp. The first of the
/// cells is that with the number `from` of all lanes' cells.
#[inline(always)]
fn note_row<const CELLS: usize>(row: &mut [FirstLast], from: usize, block: u32, origin: Origin) {
    // A worker's blocks come in rising order: mostly all of the row is new, or was recorded by
    // earlier blocks.
    let (mut noted, mut other) = (0, false);
    for range in &*row {
        noted |= range.first;
        other |= (range.first == 0) | (range.first.max(range.last) >= block);
    }
    for (at, range) in row.iter_mut().enumerate() {
        let origin = origin.with_lane((from + at) / CELLS).0;
        if noted == 0 {
            (range.first, range.first_origin) = (block, origin);
        } else if !other {
            (range.last, range.last_origin) = (block, origin);
        } else {
            range.note(block, origin);
        }
    }
}

/// The lowest and the highest block of some accesses.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    lowest: u32,
    highest: u32,
}

impl Span {
    pub(super) const NONE: Span = Span {
        lowest: u32::MAX,
        highest: 0,
    };

    /// Accesses of two blocks, and perhaps of some between them.
    pub(super) fn between(a: u32, b: u32) -> Span {
        Span {
            lowest: a.min(b).wrapping_sub(1),
            highest: a.max(b),
        }
    }

    #[inline(always)]
    fn add(&mut self, range: &FirstLast) {
        // No block has the number 0, which becomes the highest here.
        self.lowest = self.lowest.min(range.first.wrapping_sub(1));
        self.highest = self.highest.max(range.first).max(range.last);
    }

    pub(super) fn is_none(self) -> bool {
        self.highest == 0
    }

    /// Whether the accesses are of one block, or there are none.
    pub(super) fn is_of_one(self) -> bool {
        self.is_none() || self.lowest + 1 == self.highest
    }

    pub(super) fn with(self, other: Span) -> Span {
        Span {
            lowest: self.lowest.min(other.lowest),
            highest: self.highest.max(other.highest),
        }
    }
}

/// What blocks have observed of each other.
pub(super) struct Seen<'a> {
    /// Of each block, by its number: the blocks whose writes it has acquired.
    pub(super) blocks: &'a HashMap<u32, BlockSet>,
    /// The group of blocks whose fault has ended the launch: later ones do not count.
    pub(super) last: Option<u64>,
}

/// The blocks that wrote to the cells of an allocation, or that read them.
#[derive(Clone, Debug, Default)]
pub(super) struct BlockAccesses {
    /// Number of cells.
    count: usize,
    /// By aligned row of 32 cells: the blocks of which a warp accessed the row in one instruction,
    /// a cell by each lane. The origin is lane 0.
    rows: Vec<FirstLast>,
    /// By aligned row of 32 cells: the number in `cells` of those with other accesses, from 1 on; 0
    /// as long as there are none.
    chunks: Vec<u32>,
    /// By cell: the blocks with other accesses.
    cells: Vec<[FirstLast; LANES]>,
}

impl BlockAccesses {
    fn new(count: usize) -> Self {
        let rows = count.div_ceil(LANES);
        let mut new = recycled::take_accesses(rows).unwrap_or_default();
        new.count = count;
        new.rows.clear();
        new.rows.resize(rows, FirstLast::default());
        new.chunks.clear();
        new.chunks.resize(rows, 0);
        new.cells.clear();
        new
    }

    /// Leaves the memory to later launches.
    fn recycle(self) {
        recycled::keep_accesses(self);
    }

    /// The number of rows for which there is room.
    pub(super) fn room(&self) -> usize {
        self.rows.capacity()
    }

    /// Bytes of memory.
    pub(super) fn bytes(&self) -> usize {
        size_of::<FirstLast>() * (self.rows.capacity() + LANES * self.cells.capacity())
            + size_of::<u32>() * self.chunks.capacity()
    }

    /// The cells of a row that are recorded by themselves.
    #[inline(always)]
    fn chunk(&mut self, row: usize) -> &mut [FirstLast; LANES] {
        let number = &mut self.chunks[row];
        if *number == 0 {
            self.cells.push([FirstLast::default(); LANES]);
            *number = self.cells.len() as u32;
        }
        &mut self.cells[*number as usize - 1]
    }

    #[inline(always)]
    fn note(&mut self, cell: usize, block: u32, origin: Origin) {
        self.chunk(cell / LANES)[cell % LANES].note(block, origin.0);
    }

    /// Records the cells of all lanes, `CELLS` for each; `origin` is of the same warp.
    #[inline(always)]
    fn note_row<const CELLS: usize>(&mut self, from: usize, block: u32, origin: Origin) {
        // What is recorded of a whole row came before what is recorded of its cells.
        let is_row = CELLS == 1 && from.is_multiple_of(LANES);
        if is_row && self.chunks[from / LANES] == 0 {
            self.rows[from / LANES].note(block, origin.with_lane(0).0);
        } else {
            self.note_cells::<CELLS>(from, LANES * CELLS, block, origin);
        }
    }

    /// Records `count` cells of the first lanes, `CELLS` for each; `origin` is of the same warp.
    fn note_cells<const CELLS: usize>(
        &mut self,
        from: usize,
        count: usize,
        block: u32,
        origin: Origin,
    ) {
        let mut done = 0;
        while done < count {
            let (row, at) = ((from + done) / LANES, (from + done) % LANES);
            let length = (LANES - at).min(count - done);
            let cells = &mut self.chunk(row)[at..at + length];
            note_row::<CELLS>(cells, done, block, origin);
            done += length;
        }
    }

    /// The first and the last block of all.
    fn of(&self, cell: usize) -> FirstLast {
        let mut range = FirstLast::default();
        for (block, origin) in self.rows[cell / LANES].each() {
            range.note(block, origin.with_lane(cell % LANES).0);
        }
        if let Some(chunk) = self.chunks[cell / LANES].checked_sub(1) {
            for (block, origin) in self.cells[chunk as usize][cell % LANES].each() {
                range.note(block, origin.0);
            }
        }
        range
    }

    /// The blocks that accessed any cell of a row.
    fn span(&self, row: usize) -> Span {
        let mut span = Span::NONE;
        span.add(&self.rows[row]);
        if let Some(chunk) = self.chunks[row].checked_sub(1) {
            for range in &self.cells[chunk as usize] {
                span.add(range);
            }
        }
        span
    }

    /// Whether each cell of a row was accessed by one block, as far as that can be seen at once.
    fn is_single(&self, row: usize) -> bool {
        let cells = self.chunks[row].checked_sub(1);
        let cells = cells.map_or(&[][..], |chunk| &self.cells[chunk as usize]);
        let is_single = cells.iter().fold(0, |any, range| any | range.last) == 0;
        self.rows[row].first == 0 && is_single
    }

    fn refine(&mut self, times: usize, count: usize) {
        let old = std::mem::replace(self, BlockAccesses::new(count));
        let (all, chunks) = (&old.rows, &old.chunks);
        let is_empty = |row: usize| all[row].first == 0 && chunks[row] == 0;
        for row in (0..all.len()).filter(|&row| !is_empty(row)) {
            for cell in row * LANES..((row + 1) * LANES).min(old.count) {
                let range = old.of(cell);
                for part in (cell * times..(cell + 1) * times).take_while(|&part| part < count) {
                    self.chunk(part / LANES)[part % LANES] = range;
                }
            }
        }
        old.recycle();
    }

    /// Adds what another worker has recorded, whose memory is left to later launches.
    fn merge(&mut self, other: BlockAccesses) {
        merge(&mut self.rows, &other.rows);
        for (row, &number) in other.chunks.iter().enumerate() {
            if let Some(chunk) = number.checked_sub(1) {
                merge(self.chunk(row), &other.cells[chunk as usize]);
            }
        }
        other.recycle();
    }
}

fn merge(all: &mut [FirstLast], others: &[FirstLast]) {
    for (range, other) in all.iter_mut().zip(others) {
        for (block, origin) in other.each() {
            range.note(block, origin.0);
        }
    }
}

/// Whether there is no conflict over what these blocks wrote to and read: no block wrote, or a
/// single block did both.
fn is_quiet(writes: FirstLast, reads: FirstLast) -> bool {
    let alone = writes.last == 0 && reads.last == 0;
    writes.first == 0 || alone && (reads.first == 0 || reads.first == writes.first)
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
        self.writes.rows.len()
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
        let rows = (0..self.writes.rows.len()).filter(|&row| !self.is_quiet_row(row));
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

#[cfg(test)]
mod tests {
    use super::*;

    /// What is recorded by rows is found by cells, together with what is recorded by cells, and
    /// after cells are split.
    #[test]
    fn cells_know_what_is_noted_of_rows() {
        let mut accesses = BlockAccesses::new(3 * LANES);
        let mut cells = accesses.clone();
        // Of a block's accesses the first one counts, whichever way it is recorded in.
        let steps = [
            (0, 3),
            (32, 3),
            (32, 5),
            (7, 4),
            (64, 8),
            (64, 2),
            (33, 9),
            (64, 9),
            (0, 9),
        ];
        for (instruction, (from, block)) in steps.into_iter().enumerate() {
            let origin = Origin::new(instruction, false, 1, 0);
            accesses.note_row::<1>(from, block, origin);
            for lane in 0..LANES {
                cells.note(from + lane, block, origin.with_lane(lane));
            }
            let all = |accesses: &BlockAccesses| {
                (0..accesses.count)
                    .map(|at| accesses.of(at))
                    .collect::<Vec<_>>()
            };
            assert_eq!(all(&accesses), all(&cells), "block {block} at {from}");
            let (mut finer, mut expected) = (accesses.clone(), cells.clone());
            finer.refine(4, 12 * LANES);
            expected.refine(4, 12 * LANES);
            assert_eq!(all(&finer), all(&expected), "finer, block {block}");
            let mut merged = BlockAccesses::new(3 * LANES);
            merged.merge(accesses.clone());
            assert_eq!(all(&merged), all(&cells), "merged, block {block}");
        }
    }

    /// A row is recorded as its cells would be one by one, whichever blocks were there before.
    #[test]
    fn rows_are_noted_as_their_cells() {
        const CELLS: usize = 2;
        let mut rows = vec![FirstLast::default(); 3 * LANES * CELLS];
        let mut cells = rows.clone();
        let steps = [
            (0, 3),
            (0, 3),
            (0, 5),
            (7, 5),
            (90, 8),
            (40, 4),
            (0, 9),
            (128, 1),
        ];
        for (instruction, (from, block)) in steps.into_iter().enumerate() {
            let origin = Origin::new(instruction, false, 1, 0);
            note_row::<CELLS>(&mut rows[from..][..LANES * CELLS], 0, block, origin);
            for at in 0..LANES * CELLS {
                cells[from + at].note(block, origin.with_lane(at / CELLS).0);
            }
            assert_eq!(rows, cells, "block {block} at {from}");
        }
    }
}
