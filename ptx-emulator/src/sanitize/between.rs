//! Conflicts between blocks, which run in no order.
//!
//! Of each cell it is enough to know the first and the last block that wrote to it and that read it:
//! two blocks are in conflict over a cell if and only if two of these are.

use std::collections::HashMap;

use super::cells::{Who, fill_row, refine};
use super::finding::{Actor, Example, Problem, Tally};
use super::meetings::Blocks;
use super::scene::Scene;
use super::shape::LANES;
use crate::ir::Space;
use crate::kernel::InstructionId;

/// The first and the last block of those that did something with a cell.
#[derive(Clone, Debug, Default)]
struct Ends {
    /// Index in the grid plus 1; 0 for none.
    first: Vec<u32>,
    first_who: Vec<u32>,
    /// The same of the last block; 0 where there was but one.
    last: Vec<u32>,
    last_who: Vec<u32>,
}

impl Ends {
    fn new(count: usize) -> Self {
        Ends {
            first: vec![0; count],
            first_who: vec![0; count],
            last: vec![0; count],
            last_who: vec![0; count],
        }
    }

    fn columns(&mut self) -> [&mut Vec<u32>; 4] {
        [
            &mut self.first,
            &mut self.first_who,
            &mut self.last,
            &mut self.last_who,
        ]
    }

    #[inline(always)]
    fn note(&mut self, cell: usize, block: u32, who: u32) {
        let first = self.first[cell];
        if first == 0 {
            self.first[cell] = block;
            self.first_who[cell] = who;
        } else if block > first {
            if block > self.last[cell] {
                self.last[cell] = block;
                self.last_who[cell] = who;
            }
        } else if block < first {
            if self.last[cell] == 0 {
                self.last[cell] = first;
                self.last_who[cell] = self.first_who[cell];
            }
            self.first[cell] = block;
            self.first_who[cell] = who;
        }
    }

    /// Notes the cells of all lanes, `CELLS` for each; `who` is of the same warp.
    fn note_row<const CELLS: usize>(&mut self, from: usize, block: u32, who: Who) {
        let row = from..from + LANES * CELLS;
        let (first, last) = (&mut self.first[row.clone()], &mut self.last[row.clone()]);
        let lane = |lane: usize| who.with_lane(lane).0;
        // A worker's blocks come in order: all of the row is new, or was noted by earlier blocks.
        let fresh = first.iter().fold(0, |any, first| any | first) == 0;
        let other = first.iter().zip(&*last).fold(0, |any, (&first, &last)| {
            any | u32::from(first == 0) | u32::from(first.max(last) >= block)
        });
        if fresh {
            first.fill(block);
            fill_row::<CELLS>(&mut self.first_who[row], lane);
        } else if other == 0 {
            last.fill(block);
            fill_row::<CELLS>(&mut self.last_who[row], lane);
        } else {
            for cell in row {
                self.note(cell, block, lane((cell - from) / CELLS));
            }
        }
    }

    fn merge(&mut self, other: &Ends) {
        for cell in 0..self.first.len().min(other.first.len()) {
            for (block, who) in other.at(cell) {
                self.note(cell, block, who.0);
            }
        }
    }

    /// The blocks of a cell.
    fn at(&self, cell: usize) -> impl Iterator<Item = (u32, Who)> + Clone + use<> {
        let ends = [
            (self.first[cell], Who(self.first_who[cell])),
            (self.last[cell], Who(self.last_who[cell])),
        ];
        ends.into_iter().filter(|(block, _)| *block != 0)
    }
}

/// What the blocks of a launch did with an allocation.
#[derive(Clone, Debug)]
pub(super) struct Between {
    bytes: u64,
    shift: u32,
    wrote: bool,
    writes: Ends,
    reads: Ends,
}

impl Between {
    pub(super) fn new(bytes: u64, shift: u32) -> Self {
        let count = (bytes as usize).div_ceil(1 << shift);
        Between {
            bytes,
            shift,
            wrote: false,
            writes: Ends::new(count),
            reads: Ends::new(count),
        }
    }

    #[inline(always)]
    pub(super) fn note_write(&mut self, cell: usize, block: u32, who: Who) {
        self.wrote = true;
        self.writes.note(cell, block, who.0);
    }

    /// Notes a read or a strong access.
    #[inline(always)]
    pub(super) fn note_read(&mut self, cell: usize, block: u32, who: Who) {
        self.reads.note(cell, block, who.0);
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
        for ends in [&mut self.writes, &mut self.reads] {
            for column in ends.columns() {
                refine(column, times, count);
            }
        }
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
        for cell in 0..self.writes.first.len() {
            if self.writes.first[cell] == 0 {
                continue;
            }
            let writes = self.writes.at(cell);
            let pairs = |others: Vec<(u32, Who)>| {
                writes
                    .clone()
                    .flat_map(move |write| {
                        others.clone().into_iter().map(move |other| (write, other))
                    })
                    .find(|&(write, other)| free(write, other))
            };
            let with_writes = pairs(self.writes.at(cell).collect());
            let with_writes =
                with_writes.map(|(a, b)| match a.1.instruction() <= b.1.instruction() {
                    true => (a, b),
                    false => (b, a),
                });
            let with_reads = pairs(self.reads.at(cell).collect());
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

    /// A row at once is noted as its cells are one by one, whatever blocks were there before.
    #[test]
    fn rows_are_noted_as_their_cells() {
        const CELLS: usize = 2;
        let count = 3 * LANES * CELLS;
        let (mut rows, mut cells) = (Ends::new(count), Ends::new(count));
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
            rows.note_row::<CELLS>(from, block, who);
            for at in 0..LANES * CELLS {
                cells.note(from + at, block, who.with_lane(at / CELLS).0);
            }
            assert_eq!(rows.columns(), cells.columns(), "block {block} at {from}");
        }
    }
}
