//! Conflicts between blocks, which run in no order.
//!
//! Of each cell it is enough to know the first and the last block that wrote to it and that read it:
//! two blocks are in conflict over a cell if and only if two of these are.

use std::collections::HashMap;

use super::cells::{Who, refine};
use super::finding::{Actor, Example, Problem, Tally};
use super::meetings::Blocks;
use super::scene::Scene;
use super::shape::LANES;
use crate::ir::Space;
use crate::kernel::InstructionId;

/// The first and the last block of those that did something with a cell.
///
/// All of a cell is in one place, since the shadow of large allocations is in no cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Ends {
    /// Index in the grid plus 1; 0 for none.
    first: u32,
    first_who: u32,
    /// The same of the last block; 0 where there was but one.
    last: u32,
    last_who: u32,
}

impl Ends {
    #[inline(always)]
    fn note(&mut self, block: u32, who: u32) {
        if self.first == 0 {
            (self.first, self.first_who) = (block, who);
        } else if block > self.first {
            if block > self.last {
                (self.last, self.last_who) = (block, who);
            }
        } else if block < self.first {
            if self.last == 0 {
                (self.last, self.last_who) = (self.first, self.first_who);
            }
            (self.first, self.first_who) = (block, who);
        }
    }

    /// The blocks.
    fn each(self) -> impl Iterator<Item = (u32, Who)> + Clone {
        let ends = [
            (self.first, Who(self.first_who)),
            (self.last, Who(self.last_who)),
        ];
        ends.into_iter().filter(|(block, _)| *block != 0)
    }
}

/// Notes the cells of all lanes, `CELLS` for each; `who` is of the same warp.
fn note_row<const CELLS: usize>(row: &mut [Ends], block: u32, who: Who) {
    // A worker's blocks come in order: mostly all of the row is new, or was noted by earlier blocks.
    let (mut noted, mut other) = (0, false);
    for ends in &*row {
        noted |= ends.first;
        other |= (ends.first == 0) | (ends.first.max(ends.last) >= block);
    }
    let cells = row.as_chunks_mut::<CELLS>().0.iter_mut().enumerate();
    let cells = cells.flat_map(|(lane, cells)| cells.iter_mut().map(move |ends| (lane, ends)));
    for (lane, ends) in cells {
        let who = who.with_lane(lane).0;
        if noted == 0 {
            (ends.first, ends.first_who) = (block, who);
        } else if !other {
            (ends.last, ends.last_who) = (block, who);
        } else {
            ends.note(block, who);
        }
    }
}

/// The blocks that wrote to the cells of an allocation, or that read them.
#[derive(Clone, Debug, Default)]
struct Deeds {
    /// How many cells there are.
    count: usize,
    /// By 32 cells, from a multiple of 32 on: the blocks that accessed all of them at once, a cell by each lane, with lane 0.
    rows: Vec<Ends>,
    /// By cell: the others; empty as long as there are none.
    cells: Vec<Ends>,
}

impl Deeds {
    fn new(count: usize) -> Self {
        Deeds {
            count,
            rows: vec![Ends::default(); count.div_ceil(LANES)],
            cells: Vec::new(),
        }
    }

    fn cells(&mut self) -> &mut [Ends] {
        if self.cells.is_empty() {
            self.cells = vec![Ends::default(); self.count];
        }
        &mut self.cells
    }

    #[inline(always)]
    fn note(&mut self, cell: usize, block: u32, who: Who) {
        self.cells()[cell].note(block, who.0);
    }

    /// Notes the cells of all lanes, `CELLS` for each; `who` is of the same warp.
    fn note_row<const CELLS: usize>(&mut self, from: usize, block: u32, who: Who) {
        if CELLS == 1 && from.is_multiple_of(LANES) {
            self.rows[from / LANES].note(block, who.with_lane(0).0);
        } else {
            note_row::<CELLS>(&mut self.cells()[from..][..LANES * CELLS], block, who);
        }
    }

    /// The first and the last block of all.
    fn of(&self, cell: usize) -> Ends {
        let mut ends = self.cells.get(cell).copied().unwrap_or_default();
        for (block, who) in self.rows[cell / LANES].each() {
            ends.note(block, who.with_lane(cell % LANES).0);
        }
        ends
    }

    fn refine(&mut self, times: usize, count: usize) {
        let mut cells = (0..self.count).map(|cell| self.of(cell)).collect();
        refine(&mut cells, times, count);
        *self = Deeds {
            cells,
            ..Deeds::new(count)
        };
    }

    fn merge(&mut self, other: &Deeds) {
        merge(&mut self.rows, &other.rows);
        if !other.cells.is_empty() {
            merge(self.cells(), &other.cells);
        }
    }
}

fn merge(all: &mut [Ends], others: &[Ends]) {
    for (ends, other) in all.iter_mut().zip(others) {
        for (block, who) in other.each() {
            ends.note(block, who.0);
        }
    }
}

/// Whether there is no conflict over what these blocks wrote to and read: one block alone did both, or nobody wrote.
fn is_quiet(writes: Ends, reads: Ends) -> bool {
    let alone = writes.last == 0 && reads.last == 0;
    writes.first == 0 || alone && (reads.first == 0 || reads.first == writes.first)
}

/// What the blocks of a launch did with an allocation.
#[derive(Clone, Debug)]
pub(super) struct Between {
    bytes: u64,
    shift: u32,
    wrote: bool,
    writes: Deeds,
    reads: Deeds,
}

impl Between {
    pub(super) fn new(bytes: u64, shift: u32) -> Self {
        let count = (bytes as usize).div_ceil(1 << shift);
        Between {
            bytes,
            shift,
            wrote: false,
            writes: Deeds::new(count),
            reads: Deeds::new(count),
        }
    }

    #[inline(always)]
    pub(super) fn note_write(&mut self, cell: usize, block: u32, who: Who) {
        self.wrote = true;
        self.writes.note(cell, block, who);
    }

    /// Notes a read or a strong access.
    #[inline(always)]
    pub(super) fn note_read(&mut self, cell: usize, block: u32, who: Who) {
        self.reads.note(cell, block, who);
    }

    /// As [`Self::note_write`], for all lanes one behind the other, of `CELLS` cells each.
    pub(super) fn note_write_row<const CELLS: usize>(&mut self, from: usize, block: u32, who: Who) {
        self.wrote = true;
        self.writes.note_row::<CELLS>(from, block, who);
    }

    /// As [`Self::note_read`], for all lanes one behind the other, of `CELLS` cells each.
    pub(super) fn note_read_row<const CELLS: usize>(&mut self, from: usize, block: u32, who: Who) {
        self.reads.note_row::<CELLS>(from, block, who);
    }

    /// Makes cells of `1 << shift` bytes.
    pub(super) fn refine(&mut self, shift: u32) {
        let times = 1 << (self.shift - shift);
        self.shift = shift;
        let count = (self.bytes as usize).div_ceil(1 << shift);
        self.writes.refine(times, count);
        self.reads.refine(times, count);
    }

    pub(super) fn merge(&mut self, mut other: Between) {
        if other.shift > self.shift {
            other.refine(self.shift);
        } else if other.shift < self.shift {
            self.refine(other.shift);
        }
        self.wrote |= other.wrote;
        self.writes.merge(&other.writes);
        self.reads.merge(&other.reads);
    }

    /// Adds the conflicts over an allocation at `base`. `seen` are the blocks that a block has learned of, that they are
    /// done with their writes.
    pub(super) fn report(
        &self,
        scene: &Scene,
        base: u64,
        seen: &HashMap<u32, Blocks>,
        tally: &mut Tally,
    ) {
        if !self.wrote {
            return;
        }
        let has_seen = |block: u32, other: u32| {
            let seen = seen.get(&block);
            seen.is_some_and(|seen| seen.contains(u64::from(other) - 1))
        };
        let free = |(a, by_a): (u32, Who), (b, by_b): (u32, Who)| {
            a != b && !(by_a.acquired() && has_seen(a, b)) && !(by_b.acquired() && has_seen(b, a))
        };
        let only_rows = self.writes.cells.is_empty() && self.reads.cells.is_empty();
        let rows = self.writes.rows.iter().zip(&self.reads.rows);
        let rows = rows.enumerate().filter(|(_, (writes, reads))| {
            // What holds for a row holds for its cells, unless there is more about them.
            !(only_rows && is_quiet(**writes, **reads))
        });
        let cells = rows.flat_map(|(row, _)| row * LANES..(row + 1) * LANES);
        for cell in cells.take_while(|&cell| cell < self.writes.count) {
            let (writes, reads) = (self.writes.of(cell), self.reads.of(cell));
            if is_quiet(writes, reads) {
                continue;
            }
            let pairs = |others: Ends| {
                writes
                    .each()
                    .flat_map(move |write| others.each().map(move |other| (write, other)))
                    .find(|&(write, other)| free(write, other))
            };
            let with_writes = pairs(writes);
            let with_writes =
                with_writes.map(|(a, b)| match a.1.instruction() <= b.1.instruction() {
                    true => (a, b),
                    false => (b, a),
                });
            let with_reads = pairs(reads);
            for (write, other) in with_writes.into_iter().chain(with_reads) {
                let actor = |(block, who): (u32, Who)| Actor {
                    instruction: InstructionId(who.instruction()),
                    block: scene.block_at(u64::from(block) - 1),
                    thread: who.linear(),
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
                tally.add(Problem::RaceBetweenBlocks, 1, example);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is noted of rows is known of their cells, whatever else is noted of these and wherever they are made smaller.
    #[test]
    fn cells_know_what_is_noted_of_rows() {
        let mut deeds = Deeds::new(3 * LANES);
        let mut cells = deeds.clone();
        let steps = [(0, 3), (32, 3), (32, 5), (7, 4), (64, 8), (64, 2), (33, 9)];
        for (instruction, (from, block)) in steps.into_iter().enumerate() {
            let who = Who::new(instruction, false, 1, 0);
            deeds.note_row::<1>(from, block, who);
            for lane in 0..LANES {
                cells.note(from + lane, block, who.with_lane(lane));
            }
            let all = |deeds: &Deeds| (0..deeds.count).map(|at| deeds.of(at)).collect::<Vec<_>>();
            assert_eq!(all(&deeds), all(&cells), "block {block} at {from}");
            let (mut finer, mut expected) = (deeds.clone(), cells.clone());
            finer.refine(4, 12 * LANES);
            expected.refine(4, 12 * LANES);
            assert_eq!(all(&finer), all(&expected), "finer, block {block}");
            let mut merged = Deeds::new(3 * LANES);
            merged.merge(&deeds);
            assert_eq!(all(&merged), all(&cells), "merged, block {block}");
        }
    }

    /// A row at once is noted as its cells are one by one, whatever blocks were there before.
    #[test]
    fn rows_are_noted_as_their_cells() {
        const CELLS: usize = 2;
        let mut rows = vec![Ends::default(); 3 * LANES * CELLS];
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
            let who = Who::new(instruction, false, 1, 0);
            note_row::<CELLS>(&mut rows[from..][..LANES * CELLS], block, who);
            for at in 0..LANES * CELLS {
                cells[from + at].note(block, who.with_lane(at / CELLS).0);
            }
            assert_eq!(rows, cells, "block {block} at {from}");
        }
    }
}
