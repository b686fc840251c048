//! Reads of shared memory that nobody has asked about.
//!
//! From one barrier of the block to the next, a read matters only where something is written as well. In most kernels
//! nothing is: they fill their tiles, wait, read them, and wait again. So whole groups of loads are kept as they come, and
//! are noted cell by cell only before a write, or before there is finer order than that of barriers; the next barrier of
//! the block forgets them.

use super::Racecheck;
use crate::ir::Space;
use crate::observer::{RepeatedLoads, WarpContext};

/// Groups that are kept; who reads more without a barrier gains little by it.
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
    /// Keeps reads for later; false, with nothing done, where something has been or may be written since the last barrier.
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

    /// Notes the reads that were kept. To be called before anything is written to shared memory, and before the clocks learn
    /// of anything but a barrier of the block.
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
                // What is known of the instruction's last access may be newer.
                access.in_full(false, |access| self.irregular(reads.warp, access));
            }
        }
    }
}
