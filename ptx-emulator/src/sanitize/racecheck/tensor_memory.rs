//! Races on tensor memory: words that are moved before an operation on them is complete.

use super::super::finding::Problem;
use super::super::tally::{Actor, Example};
use super::Racecheck;
use crate::ir::{Calls, InstructionId, Space};
use crate::observer::WarpContext;

impl Racecheck {
    /// A thread moves words of tensor memory, or issues an operation on them, that an operation has
    /// not finished with.
    #[cold]
    pub(super) fn tensor_conflict(
        &mut self,
        (warp, lane): (&WarpContext<'_>, u32),
        id: InstructionId,
        (other, block, thread): (InstructionId, [u32; 3], u32),
    ) {
        let example = Example {
            block: self.geometry.block_index(warp.block),
            space: Space::Shared,
            address: 0,
            bytes: 0,
            detail: "words of tensor memory: the operation is not complete".to_string(),
            first: Actor {
                instruction: other,
                block,
                thread,
                calls: Calls::NONE,
            },
            second: Some(Actor::first_lane(warp, id, 1 << lane)),
        };
        self.tally.add(Problem::RaceInBlock, 1, example);
    }

    /// A commit of a lane of a warp arrives at an mbarrier.
    pub(super) fn tensor_commit(&mut self, warp: &WarpContext<'_>, lane: u32, address: u64) {
        let by = (self.geometry.warp(warp), lane);
        let address = self.geometry.in_group(address);
        self.block.clocks.commit(by, address);
    }
}
