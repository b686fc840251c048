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

fn merge(all: &mut [Ends], others: &[Ends]) {
    for (ends, other) in all.iter_mut().zip(others) {
        for (block, who) in other.each() {
            ends.note(block, who.0);
        }
    }
}

/// What the blocks of a launch did with an allocation.
#[derive(Clone, Debug)]
pub(super) struct Between {
    bytes: u64,
    shift: u32,
    wrote: bool,
    /// By cell.
    writes: Vec<Ends>,
    reads: Vec<Ends>,
}

impl Between {
    pub(super) fn new(bytes: u64, shift: u32) -> Self {
        let count = (bytes as usize).div_ceil(1 << shift);
        Between {
            bytes,
            shift,
            wrote: false,
            writes: vec![Ends::default(); count],
            reads: vec![Ends::default(); count],
        }
    }

    #[inline(always)]
    pub(super) fn note_write(&mut self, cell: usize, block: u32, who: Who) {
        self.wrote = true;
        self.writes[cell].note(block, who.0);
    }

    /// Notes a read or a strong access.
    #[inline(always)]
    pub(super) fn note_read(&mut self, cell: usize, block: u32, who: Who) {
        self.reads[cell].note(block, who.0);
    }

    /// As [`Self::note_write`], for all lanes one behind the other, of `CELLS` cells each.
    pub(super) fn note_write_row<const CELLS: usize>(&mut self, from: usize, block: u32, who: Who) {
        self.wrote = true;
        note_row::<CELLS>(&mut self.writes[from..][..LANES * CELLS], block, who);
    }

    /// As [`Self::note_read`], for all lanes one behind the other, of `CELLS` cells each.
    pub(super) fn note_read_row<const CELLS: usize>(&mut self, from: usize, block: u32, who: Who) {
        note_row::<CELLS>(&mut self.reads[from..][..LANES * CELLS], block, who);
    }

    /// Makes cells of `1 << shift` bytes.
    pub(super) fn refine(&mut self, shift: u32) {
        let times = 1 << (self.shift - shift);
        self.shift = shift;
        let count = (self.bytes as usize).div_ceil(1 << shift);
        for ends in [&mut self.writes, &mut self.reads] {
            refine(ends, times, count);
        }
    }

    pub(super) fn merge(&mut self, mut other: Between) {
        if other.shift > self.shift {
            other.refine(self.shift);
        } else if other.shift < self.shift {
            self.refine(other.shift);
        }
        self.wrote |= other.wrote;
        merge(&mut self.writes, &other.writes);
        merge(&mut self.reads, &other.reads);
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
        for (cell, (writes, reads)) in self.writes.iter().zip(&self.reads).enumerate() {
            if writes.first == 0 {
                continue;
            }
            let writes = writes.each();
            let pairs = |others: Vec<(u32, Who)>| {
                writes
                    .clone()
                    .flat_map(move |write| {
                        others.clone().into_iter().map(move |other| (write, other))
                    })
                    .find(|&(write, other)| free(write, other))
            };
            let with_writes = pairs(writes.clone().collect());
            let with_writes =
                with_writes.map(|(a, b)| match a.1.instruction() <= b.1.instruction() {
                    true => (a, b),
                    false => (b, a),
                });
            let with_reads = pairs(reads.each().collect());
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
