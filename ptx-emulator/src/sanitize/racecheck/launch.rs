//! Begin and end of launches and of their blocks.

use std::sync::Arc;

use super::super::cross_block_races::Seen;
use super::super::finding::Finding;
use super::super::launch_geometry::LaunchGeometry;
use super::super::semantics::Semantics;
use super::super::sync_table::{BlockSet, SyncTable};
use super::{Racecheck, block_number};
use crate::error::{Fault, FaultKind};
use crate::ir::InstructionId;
use crate::observer::LaunchContext;

impl Racecheck {
    pub(super) fn launch_start(&mut self, launch: &LaunchContext<'_>) {
        let mut geometry = LaunchGeometry::of_single_blocks(launch);
        geometry.contents = launch.memory.snapshot();
        let semantics = Semantics::of_kernel(launch.kernel);
        let list_limit = self.read_lists.limit();
        *self = Self::with_geometry(geometry, semantics, SyncTable::default(), list_limit);
    }

    /// What the tally comes to.
    pub(super) fn judged(&self) -> Vec<Finding> {
        let mut tally = self.tally.clone();
        let excuse = |_, first: InstructionId, second: Option<InstructionId>| {
            let same = self.stored.are_same(first, second?);
            same.then_some("both store one and the same value, always")
        };
        let is_strong = |id: InstructionId| !self.semantics[id.index()].is_plain_access;
        let guesses = &self.updates.guesses;
        let of = |id: InstructionId| self.semantics[id.index()];
        tally.drop_pairs(|first, second| {
            let is_end = of(first).ends_mbarrier && of(second).is_mbarrier;
            is_end || guesses.contains(&second) && is_strong(first)
        });
        tally.graded_findings(&self.geometry, excuse)
    }

    pub(super) fn launch_end(&mut self, fault: Option<&Fault>) {
        self.keep_seen();
        self.end_part();
        // What was found before the budget was used up stays, of whichever blocks.
        let fault = fault.filter(|fault| !matches!(fault.kind, FaultKind::Budget(_)));
        if let Some(fault) = fault {
            self.tally.keep_before_fault(&self.geometry, fault);
        }
        self.report_between_blocks(fault);
        self.findings = self.judged();
        self.geometry.contents = Arc::default();
        self.recycle();
    }

    /// Brings together what blocks have recorded of each other, and notes their races: after a
    /// fault of a block, those of it and of the blocks before it.
    pub(super) fn report_between_blocks(&mut self, fault: Option<&Fault>) {
        self.settle();
        let fault = fault.filter(|_| !self.geometry.is_cooperative);
        let seen = Seen {
            blocks: &self.seen,
            last: fault.map(|fault| self.geometry.group_index(fault.block)),
        };
        for area in self.global.iter().flatten() {
            let cross_block = &area.cross_block;
            cross_block.report(&self.geometry, area.base, &seen, &mut self.tally);
        }
    }

    pub(super) fn block_start(&mut self, block: [u32; 3]) {
        // The blocks of a cluster are watched as one, and those of a cooperative launch when they
        // run.
        if self.geometry.is_first(block) && !self.geometry.is_cooperative {
            self.begin(block);
        }
    }

    /// In a cooperative launch, a block has run for a while, and another one goes on.
    pub(super) fn block_resume(&mut self, block: [u32; 3]) {
        self.end_part();
        self.begin(block);
        let number = block_number(self.block.index);
        if let Some(seen) = self.seen.remove(&number) {
            self.block.seen = seen;
            self.block.acquired = true;
        }
        self.block.fenced = self.fenced.contains(&number);
    }

    /// Keeps what a block of a cooperative launch has acquired for when it goes on.
    pub(super) fn end_part(&mut self) {
        if self.geometry.is_cooperative {
            let number = block_number(self.block.index);
            if std::mem::take(&mut self.block.acquired) {
                let seen = std::mem::take(&mut self.block.seen);
                self.seen.insert(number, seen);
            }
            if self.block.fenced {
                self.fenced.insert(number);
            }
        }
    }

    /// The barrier of the grid orders everything before it: what follows is as of a new launch.
    pub(super) fn grid_complete(&mut self) {
        self.catch_up();
        self.end_part();
        self.report_between_blocks(None);
        let above = self.block.clocks.now + 1;
        for area in self.global.iter_mut().filter_map(Option::take) {
            area.cells.recycle(above);
            area.cross_block.recycle();
        }
        self.sync_table.clear();
        self.seen.clear();
        self.fenced.clear();
        self.begin(self.block.at);
    }

    /// A block begins, or goes on.
    pub(super) fn begin(&mut self, block: [u32; 3]) {
        self.deferred.clear();
        self.updates.begin_block();
        self.renew_stamps();
        self.block.clocks.start_block();
        self.block.at = block;
        self.block.index = self.geometry.block_index(block);
        let start = self.block.clocks.block_start;
        let number = block_number(self.block.index);
        self.block.blocks.begin(start, number);
        self.block.acquired = false;
        self.block.seen = BlockSet::default();
        self.block.fenced = false;
        if std::mem::take(&mut self.in_flight) != 0 {
            self.shared.clear();
        }
    }

    pub(super) fn block_end(&mut self, block: [u32; 3]) {
        if self.geometry.is_first(block) {
            self.keep_seen();
        }
    }

    /// A block ends, or the launch does before it: what it has acquired is kept. Blocks of a
    /// cooperative launch have this at the end of each part.
    pub(super) fn keep_seen(&mut self) {
        if !self.geometry.is_cooperative && std::mem::take(&mut self.block.acquired) {
            let seen = std::mem::take(&mut self.block.seen);
            self.seen.insert(block_number(self.block.index), seen);
        }
    }
}
