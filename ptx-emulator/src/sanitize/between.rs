//! Conflicts between blocks, which run in no order.
//!
//! Of each cell it is enough to know the first and the last block that wrote to it and that read it:
//! two blocks are in conflict over a cell if and only if two of these are.

use std::collections::HashMap;

use super::cells::{Who, refine};
use super::finding::{Actor, Example, Problem, Tally};
use super::meetings::Blocks;
use super::scene::Scene;
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
