//! Reads of shared memory that are recorded only when they can matter.
//!
//! From one barrier of the block to the next, a read matters only if something is written as well.
//! In most kernels nothing is: they fill their tiles, wait, read them, and wait again. So all plain
//! loads are queued, in their order, and are recorded cell by cell only before a write, or before
//! synchronisation that is finer than a barrier of the block. The next barrier of the block
//! discards them.
//!
//! The order is kept whatever form loads are reported in: of several reads that a write may race
//! with, it is the first that a finding names.

use super::super::shape::{LANES, Shape, lanes};
use super::Racecheck;
use super::list_entries::{Entry, HEADER, Listed, ReadList};
use crate::ir::{AccessKind, Space};
use crate::observer::{MemoryAccess, RepeatedAccess, RepeatedLoads, WarpContext};

/// Length of the queue; a kernel with more reads between barriers gains little by deferring them.
const MAX_DEFERRED: usize = 4096;

/// Reads of shared memory since the last barrier of the block that are not recorded yet.
#[derive(Clone, Debug, Default)]
pub(super) struct DeferredReads {
    list: ReadList,
    entries: usize,
    /// Whether there were too many since the last barrier of the block.
    is_full: bool,
}

impl DeferredReads {
    /// Discards all: a barrier of the block orders them, or a block begins.
    #[inline(always)]
    pub(super) fn clear(&mut self) {
        self.list.words.clear();
        self.entries = 0;
        self.is_full = false;
    }

    #[inline(always)]
    fn push(&mut self, header: [u32; HEADER], offsets: &[u32]) {
        self.list.words.extend_from_slice(&header);
        self.list.words.extend_from_slice(offsets);
        self.entries += 1;
    }
}

impl Racecheck {
    /// Whether reads are queued: unless something has been or may be written since the last
    /// barrier, or the queue is full.
    #[inline(always)]
    fn defers(&mut self) -> bool {
        let nothing_written = self.shared_written < self.block.clocks.since && self.in_flight == 0;
        nothing_written && !self.deferred.is_full && {
            let is_full = self.deferred.entries >= MAX_DEFERRED;
            if is_full {
                self.catch_up();
                self.deferred.is_full = true;
            }
            !is_full
        }
    }

    /// Queues a read of shared memory; false, with nothing done, where it has to be recorded.
    #[inline(always)]
    pub(super) fn defer(&mut self, warp: u32, access: &MemoryAccess<'_>, shape: Shape) -> bool {
        let is_read = access.space == Space::Shared && access.kind == AccessKind::Load;
        is_read && self.defers() && {
            self.defer_lanes(warp, access, shape);
            true
        }
    }

    #[inline(never)]
    fn defer_lanes(&mut self, warp: u32, access: &MemoryAccess<'_>, shape: Shape) {
        let by = (self.block.clocks.now, warp);
        let of_lanes = (access.bytes, shape);
        if shape != Shape::Other {
            // An access out of bounds is a fault of its own.
            if let Ok(first) = u32::try_from(access.addresses[0]) {
                let entry = Entry::new(by, access.instruction, u32::MAX, of_lanes);
                self.deferred.push(entry.words(), &[first]);
            }
            return;
        }
        let (mut offsets, mut count, mut mask) = ([0; LANES], 0, 0);
        for lane in lanes(access.mask) {
            if let Ok(offset) = u32::try_from(access.addresses[lane]) {
                offsets[count] = offset;
                count += 1;
                mask |= 1 << lane;
            }
        }
        if mask != 0 {
            let entry = Entry::new(by, access.instruction, mask, of_lanes);
            self.deferred.push(entry.words(), &offsets[..count]);
        }
    }

    /// As [`Self::defer`], of a load that repeats the pattern of an earlier one.
    #[inline(always)]
    pub(super) fn defer_repeated(&mut self, warp: u32, access: &RepeatedAccess<'_>) -> bool {
        access.space == Space::Shared && self.defers() && {
            let shape = self.shapes.repeated(access);
            access.expand(|access| self.defer_lanes(warp, access, shape));
            true
        }
    }

    /// As [`Self::defer`], of a group of loads.
    #[inline(always)]
    pub(super) fn defer_loads(
        &mut self,
        warp: &WarpContext<'_>,
        loads: &RepeatedLoads<'_>,
    ) -> bool {
        loads.space == Space::Shared && self.defers() && {
            let by = self.geometry.warp(warp);
            self.defer_group(by, loads);
            true
        }
    }

    #[inline(never)]
    fn defer_group(&mut self, warp: u32, loads: &RepeatedLoads<'_>) {
        let Some(first) = loads.each().next() else {
            return;
        };
        let shape = self.shapes.repeated(&first);
        let alike = loads.loads.iter().all(|load| load.bytes == first.bytes);
        if shape == Shape::Consecutive && !alike {
            for load in loads.each() {
                let shape = self.shapes.repeated(&load);
                load.expand(|access| self.defer_lanes(warp, access, shape));
            }
            return;
        }
        let header = Listed::group((self.block.clocks.now, warp), loads.group, shape);
        // Addresses that wrap around here are out of bounds, which is a fault of its own.
        let offset = first.first_address as u32;
        match shape {
            Shape::Other => {
                let offsets = loads.distances.map(|at| offset.wrapping_add(at as u32));
                self.deferred.push(header, &offsets);
            }
            _ => self.deferred.push(header, &[offset]),
        }
    }

    /// Records the reads in the queue. To be called before any other access to shared memory, and
    /// before any synchronisation but a barrier of the block.
    #[inline(always)]
    pub(super) fn catch_up(&mut self) {
        if self.deferred.entries != 0 {
            self.note_waiting();
        }
    }

    #[cold]
    #[inline(never)]
    fn note_waiting(&mut self) {
        let kernel = self.geometry.kernel.clone();
        let mut list = std::mem::take(&mut self.deferred.list);
        self.deferred.entries = 0;
        list.for_each(kernel.as_ref(), |entry, offsets| {
            let access = MemoryAccess {
                instruction: entry.instruction,
                space: Space::Shared,
                kind: AccessKind::Load,
                bytes: entry.bytes,
                mask: entry.mask,
                addresses: &offsets.map(u64::from),
                repeats_pattern: false,
                strong: false,
                values: None,
            };
            if entry.shape == Shape::Other || !self.regular(entry.warp, &access, entry.shape) {
                self.irregular(entry.warp, &access);
            }
        });
        list.words.clear();
        self.deferred.list = list;
    }
}
