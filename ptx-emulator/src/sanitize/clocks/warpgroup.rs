//! The order that a wait for MMAs of a warpgroup makes (PTX ISA, "wgmma.wait_group").
//!
//! It orders what the MMAs read. Besides, a warp's own loads from shared memory that precede its
//! MMA have ended when that has: the warp issues both in order, and what it loaded is there long
//! before the MMA is. PTX does not say so, but kernels rely on it: the threads of a warpgroup load
//! scales or metadata of a stage, and once the MMAs are done one of them tells the producer that it
//! may fill the stage again. So the wait orders such loads before later writes, and nothing else.

use std::collections::VecDeque;
use std::ops::Range;

use super::super::shadow_memory::Origin;
use super::{Clocks, IN_FLIGHT};
use crate::ir::Space;

/// The objects of warpgroups are in this space, which holds no others.
const WARPGROUP: Space = Space::Local;

/// Warps of a warpgroup.
const WARPS: u32 = 4;

/// The MMAs that a warp has issued.
#[derive(Clone, Debug, Default)]
pub(super) struct Mmas {
    /// When it issued those that are not complete.
    issued: VecDeque<u32>,
    /// When it issued the last one that is complete.
    complete: u32,
}

impl Clocks {
    /// A warp issues an MMA.
    pub(in super::super) fn issue_mma(&mut self, warp: u32) {
        let stamp = self.stamp();
        if let Some(mmas) = self.mmas.get_mut(warp as usize) {
            mmas.issued.push_back(stamp);
        }
    }

    /// The oldest MMA of a warp is complete.
    pub(in super::super) fn complete_mma(&mut self, warp: u32) {
        if let Some(mmas) = self.mmas.get_mut(warp as usize) {
            mmas.complete = mmas.issued.pop_front().unwrap_or(mmas.complete);
        }
    }

    /// A warp waits for operations of its warpgroup, which are those of the present stamp where it
    /// is the first to do so. `of_block` is its number in its block.
    pub(in super::super) fn warpgroup_wait(&mut self, warp: u32, of_block: u32, is_first: bool) {
        let first = warp - of_block % WARPS;
        let key = (WARPGROUP, u64::from(first));
        if is_first {
            let block_end = warp - of_block + self.extent.0.div_ceil(32);
            self.signal_object(key);
            self.end_reads(key, first..block_end.min(first + WARPS));
            self.complete_object(key);
        }
        self.acquire(key, warp, u32::MAX);
    }

    /// A thread that observes an object observes that the loads of warps before their complete
    /// MMAs have ended.
    fn end_reads(&mut self, (space, address): (Space, u64), warps: Range<u32>) {
        let number = self.object(space, address);
        for warp in warps {
            let warp = warp as usize;
            let key = self.key_of_reads(warp);
            let complete = self.mmas.get(warp).map_or(0, |mmas| mmas.complete);
            self.objects[number].arriving.note_all(key, complete);
        }
    }

    /// Where vector clocks have the reads of a warp that have ended, though the warp's accesses are
    /// not ordered.
    fn key_of_reads(&self, warp: usize) -> usize {
        self.warps.len() + warp
    }

    /// Whether a read of shared memory has ended before what lane `by.1` of warp `by.0` does now.
    pub(in super::super) fn has_ended(&self, read: Origin, stamp: u32, by: (u32, u32)) -> bool {
        let (warp, lane) = read.thread();
        let (key, lane) = (self.key_of_reads(warp as usize), lane as usize);
        let observes =
            |view: &super::View| view.has(by.1 as usize, |seen| seen.has(key, lane, stamp));
        stamp != IN_FLIGHT
            && !read.is_async()
            && self.warps.get(by.0 as usize).is_some_and(observes)
    }
}
