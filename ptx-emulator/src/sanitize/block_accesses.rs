//! The blocks that accessed each cell of an allocation, as far as conflicts between them need it.
//!
//! Of each cell it suffices to keep the first and the last block that wrote to it, and that read
//! it: there is a conflict over a cell if and only if two of these blocks are in conflict.

use super::bounds::Bounds;
use super::recycled;
use super::shadow_memory::Origin;
use super::shape::LANES;

/// The first and the last of the blocks that accessed a cell.
///
/// The fields of a cell are adjacent, since the shadow of large allocations does not fit into
/// caches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct FirstLast {
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
    pub(super) fn each(self) -> impl Iterator<Item = (u32, Origin)> + Clone {
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

/// The blocks that wrote to the cells of an allocation, or that read them.
#[derive(Clone, Debug, Default)]
pub(super) struct BlockAccesses {
    /// Number of cells.
    pub count: usize,
    /// By aligned row of 32 cells: the blocks of which a warp accessed the row in one instruction,
    /// a cell by each lane. The origin is lane 0.
    rows: Vec<FirstLast>,
    /// By aligned row of 32 cells: the number in `cells` of those with other accesses, from 1 on; 0
    /// as long as there are none.
    chunks: Vec<u32>,
    /// By cell: the blocks with other accesses.
    cells: Vec<[FirstLast; LANES]>,
    /// Nothing is recorded of rows outside of it.
    bounds: Bounds,
}

impl BlockAccesses {
    pub(super) fn new(count: usize) -> Self {
        let rows = count.div_ceil(LANES);
        let mut new = recycled::take_accesses(rows).unwrap_or_default();
        new.count = count;
        // What is recycled holds nothing.
        new.rows.resize(rows, FirstLast::default());
        new.chunks.resize(rows, 0);
        new
    }

    /// Leaves the memory to later launches, with nothing recorded.
    pub(super) fn recycle(mut self) {
        let bounds = self.bounds.range();
        self.rows[bounds.clone()].fill(FirstLast::default());
        self.chunks[bounds].fill(0);
        self.cells.clear();
        self.bounds = Bounds::default();
        recycled::keep_accesses(self);
    }

    /// The number of rows for which there is room.
    pub(super) fn room(&self) -> usize {
        self.rows.capacity()
    }

    /// The rows of which something may be recorded.
    pub(super) fn bounds(&self) -> &Bounds {
        &self.bounds
    }

    /// Number of aligned rows of 32 cells.
    pub(super) fn rows(&self) -> usize {
        self.rows.len()
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
            self.bounds.include(row..row + 1);
            self.cells.push([FirstLast::default(); LANES]);
            *number = self.cells.len() as u32;
        }
        &mut self.cells[*number as usize - 1]
    }

    #[inline(always)]
    pub(super) fn note(&mut self, cell: usize, block: u32, origin: Origin) {
        self.chunk(cell / LANES)[cell % LANES].note(block, origin.0);
    }

    /// Records the cells of all lanes, `CELLS` for each; `origin` is of the same warp.
    #[inline(always)]
    pub(super) fn note_row<const CELLS: usize>(&mut self, from: usize, block: u32, origin: Origin) {
        // What is recorded of a whole row came before what is recorded of its cells.
        let is_row = CELLS == 1 && from.is_multiple_of(LANES);
        if is_row && self.chunks[from / LANES] == 0 {
            self.bounds.include(from / LANES..from / LANES + 1);
            self.rows[from / LANES].note(block, origin.with_lane(0).0);
        } else {
            self.note_cells::<CELLS>(from, LANES * CELLS, block, origin);
        }
    }

    /// Records `count` cells of the first lanes, `CELLS` for each; `origin` is of the same warp.
    pub(super) fn note_cells<const CELLS: usize>(
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
    pub(super) fn of(&self, cell: usize) -> FirstLast {
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
    pub(super) fn span(&self, row: usize) -> Span {
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
    pub(super) fn is_single(&self, row: usize) -> bool {
        let cells = self.chunks[row].checked_sub(1);
        let cells = cells.map_or(&[][..], |chunk| &self.cells[chunk as usize]);
        let is_single = cells.iter().fold(0, |any, range| any | range.last) == 0;
        self.rows[row].first == 0 && is_single
    }

    pub(super) fn refine(&mut self, times: usize, count: usize) {
        let old = std::mem::replace(self, BlockAccesses::new(count));
        let (all, chunks) = (&old.rows, &old.chunks);
        let is_empty = |row: usize| all[row].first == 0 && chunks[row] == 0;
        for row in old.bounds.range().filter(|&row| !is_empty(row)) {
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
    pub(super) fn merge(&mut self, other: BlockAccesses) {
        self.bounds.include_all(&other.bounds);
        let bounds = other.bounds.range();
        merge(&mut self.rows[bounds.clone()], &other.rows[bounds.clone()]);
        for row in bounds {
            if let Some(chunk) = other.chunks[row].checked_sub(1) {
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
pub(super) fn is_quiet(writes: FirstLast, reads: FirstLast) -> bool {
    let alone = writes.last == 0 && reads.last == 0;
    writes.first == 0 || alone && (reads.first == 0 || reads.first == writes.first)
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
