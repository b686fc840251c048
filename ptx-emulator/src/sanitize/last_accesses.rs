//! Which block the stamps of the shadow memory belong to. As long as a cell is accessed by one
//! block, the shadow memory alone tells which: what is recorded of a cell becomes an entry of
//! [`CrossBlockRaces`] only when something else takes its place.

use super::block_accesses::Span;
use super::bounds::Bounds;
use super::cross_block_races::CrossBlockRaces;
use super::shadow_memory::{Origin, ShadowMemory};
use super::shape::LANES;

/// When the blocks of a worker began.
#[derive(Clone, Debug, Default)]
pub(super) struct Blocks(Vec<(u32, u32)>);

impl Blocks {
    /// A block begins at a stamp. `number` is as in [`CrossBlockRaces`].
    pub(super) fn begin(&mut self, stamp: u32, number: u32) {
        self.0.push((stamp, number));
    }

    /// Stamps begin again, in a block.
    pub(super) fn restart(&mut self, stamp: u32, number: u32) {
        self.0.clear();
        self.begin(stamp, number);
    }

    /// Lower stamps are from before the launch.
    #[inline(always)]
    fn first(&self) -> u32 {
        self.0.first().map_or(u32::MAX, |first| first.0)
    }

    /// The block of a stamp of the launch.
    fn of(&self, stamp: u32) -> u32 {
        self.at(stamp).1
    }

    /// The block of a stamp of the launch, with the stamp at which it began.
    pub(super) fn at(&self, stamp: u32) -> (u32, u32) {
        let later = match self.0.as_slice() {
            [.., last] if stamp >= last.0 => self.0.len(),
            [.., last, _] if stamp >= last.0 => self.0.len() - 1,
            all => all.partition_point(|block| block.0 <= stamp),
        };
        let block = later.checked_sub(1).map(|at| self.0[at]);
        block.unwrap_or_default()
    }

    /// The blocks of some stamps.
    fn span(&self, stamps: &[u32]) -> Span {
        let first = self.first();
        let (mut lowest, mut highest) = (u32::MAX, 0);
        for &stamp in stamps {
            lowest = lowest.min(if stamp >= first { stamp } else { u32::MAX });
            highest = highest.max(stamp);
        }
        match highest >= first {
            true => {
                let (start, last) = self.at(highest);
                let is_of_one = lowest >= start;
                Span::between(if is_of_one { last } else { self.of(lowest) }, last)
            }
            false => Span::NONE,
        }
    }
}

/// The records of what several blocks do, for the accesses of a warp.
pub(super) struct Others<'a> {
    pub races: &'a mut CrossBlockRaces,
    pub blocks: &'a Blocks,
    /// Whether accesses are recorded when another takes their place, not at once.
    pub is_lazy: bool,
    /// The stamp at which the block began, and its number.
    pub start: u32,
    pub block: u32,
}

impl Others<'_> {
    /// Whether what was recorded of a cell has to be kept when another access takes its place.
    #[inline(always)]
    fn keeps(&self, (stamp, origin): (u32, u32), new: Origin) -> bool {
        // A block's first access counts.
        stamp >= self.blocks.first() && (stamp < self.start || origin != new.0)
    }

    /// Accesses with lower stamps need not be kept.
    #[inline(always)]
    pub(super) fn kept_from(&self) -> u32 {
        match self.is_lazy {
            true => self.blocks.first(),
            false => 0,
        }
    }

    /// A read takes the place of what was recorded of a cell: a stamp and an origin.
    #[inline(always)]
    pub(super) fn read(&mut self, cell: usize, old: (u32, u32), new: Origin) {
        self.access(cell, old, new, CrossBlockRaces::note_read);
    }

    /// As [`Self::read`], of a write.
    #[inline(always)]
    pub(super) fn write(&mut self, cell: usize, old: (u32, u32), new: Origin) {
        self.access(cell, old, new, CrossBlockRaces::note_write);
    }

    /// Consecutive reads of all lanes, of `CELLS` cells each, take the place of older ones, which
    /// were recorded before the last barrier of the block.
    pub(super) fn read_row<const CELLS: usize>(
        &mut self,
        first: usize,
        old: (&[u32], &[u32]),
        new: Origin,
    ) {
        let note_row = CrossBlockRaces::note_read_row::<CELLS>;
        self.access_row::<CELLS>(first, old, new, (CrossBlockRaces::note_read, note_row));
    }

    /// As [`Self::read_row`], of writes.
    pub(super) fn write_row<const CELLS: usize>(
        &mut self,
        first: usize,
        old: (&[u32], &[u32]),
        new: Origin,
    ) {
        let note_row = CrossBlockRaces::note_write_row::<CELLS>;
        self.access_row::<CELLS>(first, old, new, (CrossBlockRaces::note_write, note_row));
    }

    /// `note` records reads, or writes.
    #[inline(always)]
    fn access(
        &mut self,
        cell: usize,
        old: (u32, u32),
        new: Origin,
        note: impl Fn(&mut CrossBlockRaces, usize, u32, Origin),
    ) {
        if self.is_lazy {
            if self.keeps(old, new) {
                note(self.races, cell, self.blocks.of(old.0), Origin(old.1));
            }
        } else if old.0 < self.start {
            note(self.races, cell, self.block, new);
        }
    }

    /// `note` and `note_row` record reads, or writes.
    #[inline(always)]
    fn access_row<const CELLS: usize>(
        &mut self,
        first: usize,
        (stamps, origins): (&[u32], &[u32]),
        new: Origin,
        (note, note_row): (
            impl Fn(&mut CrossBlockRaces, usize, u32, Origin),
            impl Fn(&mut CrossBlockRaces, usize, u32, Origin),
        ),
    ) {
        let limit = self.limit();
        if stamps
            .iter()
            .fold(true, |all, stamp| all & (*stamp < limit))
        {
            if !self.is_lazy {
                note_row(self.races, first, self.block, new);
            }
            return;
        }
        for (at, old) in stamps.iter().zip(origins).enumerate() {
            let origin = new.with_lane(at / CELLS);
            self.access(first + at, (*old.0, *old.1), origin, &note);
        }
    }

    /// If all stamps are lower, a row needs no look at single cells.
    #[inline(always)]
    fn limit(&self) -> u32 {
        match self.is_lazy {
            true => self.blocks.first(),
            false => self.start,
        }
    }
}

/// What a worker's shadow memory holds of an allocation when the launch ends.
#[derive(Clone, Copy)]
pub(super) struct Last<'a> {
    pub cells: &'a ShadowMemory,
    pub blocks: &'a Blocks,
}

impl Last<'_> {
    /// Whether anything was written.
    pub(super) fn wrote(&self) -> bool {
        self.cells.wrote_at >= self.blocks.first()
    }

    /// Whether anything was read.
    fn was_read(&self) -> bool {
        self.cells.read_at >= self.blocks.first()
    }

    fn row<'c>(&self, column: &'c [u32], row: usize) -> &'c [u32] {
        let first = row * LANES;
        &column[first..(first + LANES).min(column.len())]
    }

    /// Whether the launch has accessed no cell of a row.
    fn is_old(&self, row: usize) -> bool {
        let columns = [&self.cells.written, &self.cells.read];
        let mut spans = columns.into_iter().map(|column| self.row(column, row));
        spans.all(|stamps| self.blocks.span(stamps).is_none())
    }

    /// Adds the accesses to a row.
    fn add(&self, row: usize, races: &mut CrossBlockRaces) {
        let (cells, first) = (self.cells, self.blocks.first());
        for cell in row * LANES..((row + 1) * LANES).min(cells.count()) {
            let (written, read) = (cells.written[cell], cells.read[cell]);
            if written >= first {
                races.note_write(cell, self.blocks.of(written), Origin(cells.writer[cell]));
            }
            if read >= first {
                races.note_read(cell, self.blocks.of(read), Origin(cells.reader[cell]));
            }
        }
    }
}

/// Adds what the shadow memories of all workers hold, of rows in which blocks may be in conflict,
/// or of `every` row. All have cells of one size.
pub(super) fn settle(races: &mut CrossBlockRaces, all: &[Last<'_>], every: bool) {
    races.wrote |= all.iter().any(Last::wrote);
    if !races.wrote && !every {
        return;
    }
    let mut bounds = Bounds::default();
    for last in all {
        bounds.include_all(last.cells.bounds());
    }
    let bounds = bounds.range();
    if bounds.is_empty() {
        return;
    }
    let rows = bounds.start / LANES..bounds.end.div_ceil(LANES);
    debug_assert!(
        (0..races.rows())
            .filter(|row| !rows.contains(row))
            .all(|row| all.iter().all(|last| last.is_old(row)))
    );
    // Columns without a stamp of the launch need no look.
    let written: Vec<_> = all.iter().filter(|last| last.wrote()).collect();
    let read: Vec<_> = all.iter().filter(|last| last.was_read()).collect();
    for row in rows.start..rows.end.min(races.rows()) {
        if !every {
            let [mut writes, mut reads] = races.spans(row);
            let mut writers = if writes.is_none() { 0 } else { 2 };
            for last in &written {
                let own = last.blocks.span(last.row(&last.cells.written, row));
                writers += u32::from(!own.is_none());
                writes = writes.with(own);
            }
            if writes.is_none() {
                continue;
            }
            for last in &read {
                reads = reads.with(last.blocks.span(last.row(&last.cells.read, row)));
            }
            // Where nothing is read, each cell of one worker was written once.
            let is_single = reads.is_none() && writers == 1;
            if writes.with(reads).is_of_one() || is_single {
                continue;
            }
        }
        all.iter().for_each(|last| last.add(row, races));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is recorded late is what is recorded at once, with the first instruction of each block.
    #[test]
    fn late_records_are_those_made_at_once() {
        const CELLS: usize = 2 * LANES + 5;
        let mut state = 0x2545_f491u32;
        let mut random = |limit: u32| {
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            state % limit
        };
        for _ in 0..50 {
            let mut all = [true, false].map(|is_lazy| {
                let races = CrossBlockRaces::new(4 * CELLS as u64, 2);
                (is_lazy, races, ShadowMemory::new(4 * CELLS as u64, 7))
            });
            let (mut blocks, mut stamp) = (Blocks::default(), 7);
            for block in [1, 2, 5, 6, 9] {
                stamp += 1;
                let start = stamp;
                blocks.begin(start, block);
                for _ in 0..60 {
                    stamp += random(2);
                    let cell = random(CELLS as u32) as usize;
                    let origin = Origin::new(random(4) as usize, false, 0, random(3));
                    let is_write = random(2) == 0;
                    for (is_lazy, races, cells) in &mut all {
                        let mut others = Others {
                            races,
                            blocks: &blocks,
                            is_lazy: *is_lazy,
                            start,
                            block,
                        };
                        if is_write {
                            let old = (cells.written[cell], cells.writer[cell]);
                            others.write(cell, old, origin);
                            (cells.written[cell], cells.writer[cell]) = (stamp, origin.0);
                            cells.wrote_at = stamp;
                            cells.touch(cell..cell + 1);
                        } else {
                            let old = (cells.read[cell], cells.reader[cell]);
                            others.read(cell, old, origin);
                            (cells.read[cell], cells.reader[cell]) = (stamp, origin.0);
                            cells.read_at = stamp;
                            cells.touch(cell..cell + 1);
                        }
                    }
                }
            }
            let [(_, late, cells), (_, at_once, _)] = &mut all;
            let last = Last {
                cells,
                blocks: &blocks,
            };
            let mut in_part = late.clone();
            settle(&mut in_part, &[last], false);
            settle(late, &[last], true);
            for cell in 0..CELLS {
                assert_eq!(late.of(cell), at_once.of(cell), "{cell}");
                // Rows without conflicts may be left out.
                let [writes, reads] = at_once.spans(cell / LANES);
                if !writes.is_none() && !writes.with(reads).is_of_one() && !reads.is_none() {
                    assert_eq!(in_part.of(cell), at_once.of(cell), "{cell}");
                }
            }
        }
    }

    #[test]
    fn stamps_belong_to_the_block_that_ran() {
        let mut blocks = Blocks::default();
        assert!(blocks.span(&[0, 5]).is_none());
        for (stamp, number) in [(10, 1), (13, 4), (20, 9)] {
            blocks.begin(stamp, number);
        }
        for (stamp, number) in [(10, 1), (12, 1), (13, 4), (19, 4), (20, 9), (999, 9)] {
            assert_eq!(blocks.of(stamp), number, "{stamp}");
        }
        assert!(blocks.span(&[0, 9]).is_none());
        assert!(blocks.span(&[0, 14, 19]).is_of_one());
        assert!(!blocks.span(&[14, 20]).is_of_one());
    }
}
