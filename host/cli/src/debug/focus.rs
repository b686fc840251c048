//! The lane that commands are about.

use super::debugger::Debugger;
use super::stops::Goal;
use super::value::triple;
use ptx_emulator::stepping::{LaneGroup, Paused, Step};
use std::ops::ControlFlow;

/// The lane that commands are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Focus {
    pub(super) block: [u32; 3],
    pub(super) warp: u32,
    pub(super) lane: u32,
}

impl Debugger {
    /// The rank of the focused block, and the lanes with the focused one.
    pub(super) fn group(&self, paused: &dyn Paused) -> Result<(u32, LaneGroup), String> {
        let Focus { block, warp, lane } = self.focus;
        let rank = self.rank(paused)?;
        let groups = paused.groups(rank, warp).into_iter();
        let found = groups
            .into_iter()
            .find(|group| group.lanes >> lane & 1 != 0);
        found.map(|group| (rank, group)).ok_or_else(|| {
            let block = triple(block);
            format!("lane {lane} of warp {warp} of block {block} has exited, or is no thread")
        })
    }

    /// The rank of the focused block.
    pub(super) fn rank(&self, paused: &dyn Paused) -> Result<u32, String> {
        let block = self.focus.block;
        let blocks = paused.blocks();
        let found = (0..).zip(&blocks).find(|(_, known)| **known == block);
        found
            .map(|(rank, _)| rank)
            .ok_or_else(|| format!("block {} does not run", triple(block)))
    }

    pub(super) fn focus_block(
        &mut self,
        block: [u32; 3],
        paused: &dyn Paused,
    ) -> Result<ControlFlow<()>, String> {
        let grid = paused.grid();
        if block
            .iter()
            .zip(&grid)
            .any(|(index, extent)| index >= extent)
        {
            return Err(format!("the grid has {} blocks", triple(grid)));
        }
        let blocks = paused.blocks();
        if blocks.contains(&block) {
            self.focus.block = block;
            self.focus_live_lane(paused);
            self.show_focus(paused);
            return Ok(ControlFlow::Continue(()));
        }
        // Clusters begin in the order of their indices, x fastest.
        let order = |block: [u32; 3]| {
            let [x, y, z] = [0, 1, 2].map(|axis| block[axis] / self.cluster[axis].max(1));
            (z, y, x)
        };
        match blocks.iter().all(|&known| order(known) < order(block)) && paused.fault().is_none() {
            true => {
                self.goal = Goal::Block(block);
                Ok(ControlFlow::Break(()))
            }
            false => {
                let block = triple(block);
                Err(format!(
                    "block {block} does not run any more: `run` begins again"
                ))
            }
        }
    }

    /// Keeps the focused lane, or takes the first one that has not exited.
    pub(super) fn focus_live_lane(&mut self, paused: &dyn Paused) {
        let rank = self.rank(paused).unwrap_or(0);
        let live = paused.live(rank, self.focus.warp);
        if live >> self.focus.lane & 1 == 0 && live != 0 {
            self.focus.lane = live.trailing_zeros();
        }
    }

    /// Focuses on the lanes of a step.
    pub(super) fn focus_on(&mut self, step: &Step) {
        self.focus.block = step.block;
        self.focus.warp = step.warp;
        if step.lanes >> self.focus.lane & 1 == 0 {
            self.focus.lane = step.lanes.trailing_zeros() % 32;
        }
    }
}
