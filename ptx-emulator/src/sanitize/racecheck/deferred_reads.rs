//! Reads of shared memory that are recorded only when they can matter.
//!
//! From one barrier of the block to the next, a read matters only if something is written as well.
//! In most kernels nothing is: they fill their tiles, wait, read them, and wait again. So whole
//! groups of loads are queued, and are recorded cell by cell only before a write, or before
//! synchronisation that is finer than a barrier of the block. The next barrier of the block
//! discards them.

use super::Racecheck;
use crate::ir::Space;
use crate::observer::{RepeatedLoads, WarpContext};

/// Length of the queue; a kernel with more reads between barriers gains little by deferring them.
const MAX_DEFERRED: usize = 4096;

/// The reads of a group of loads of shared memory.
#[derive(Clone, Debug)]
pub(super) struct DeferredReads {
    warp: u32,
    group: usize,
    base: u64,
    version: u64,
    distances: [u64; 32],
}

impl Racecheck {
    /// Queues reads; false, with nothing done, where something has been or may be written since the
    /// last barrier.
    #[inline(always)]
    pub(super) fn defer(&mut self, warp: &WarpContext<'_>, loads: &RepeatedLoads<'_>) -> bool {
        let nothing_written = self.shared_written < self.block.clocks.since && self.in_flight == 0;
        let defers =
            loads.space == Space::Shared && nothing_written && self.deferred.len() < MAX_DEFERRED;
        if defers {
            self.deferred.push(DeferredReads {
                warp: self.geometry.warp(warp),
                group: loads.group,
                base: loads.base,
                version: loads.version,
                distances: *loads.distances,
            });
        }
        defers
    }

    /// Records the reads in the queue. To be called before any write to shared memory, and before
    /// any synchronisation but a barrier of the block.
    #[inline(always)]
    pub(super) fn catch_up(&mut self) {
        if !self.deferred.is_empty() {
            self.note_waiting();
        }
    }

    #[cold]
    #[inline(never)]
    fn note_waiting(&mut self) {
        let Some(kernel) = self.geometry.kernel.clone() else {
            return;
        };
        for reads in std::mem::take(&mut self.deferred) {
            let loads = RepeatedLoads {
                group: reads.group,
                loads: &kernel.0.program.groups[reads.group],
                space: Space::Shared,
                base: reads.base,
                distances: &reads.distances,
                version: reads.version,
            };
            for access in loads.each() {
                // The shape that is kept for the instruction may be that of a later access.
                access.in_full(false, |access| self.irregular(reads.warp, access));
            }
        }
    }
}
