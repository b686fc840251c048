//! Accesses about which there is nothing to find, seen at once.

use super::super::settled_reads::Key;
use super::super::shape::{BITS, LANES, Shape, lanes};
use super::super::written::Marks;
use super::Initcheck;
use crate::exec::Vectorised;
use crate::ir::{AccessKind, Space};
use crate::observer::{Accesses, Form, MemoryAccess, RepeatedAccess, RepeatedLoads, WarpContext};

impl Initcheck {
    /// Whether all lanes access an allocation that was written before the launch.
    pub(super) fn is_complete(&mut self, access: &MemoryAccess<'_>) -> bool {
        let (mask, bytes) = (access.mask, u64::from(access.bytes));
        let first = access.addresses[mask.trailing_zeros() as usize % LANES];
        let Some(allocation) = self.allocation_index(access.instruction, first, bytes) else {
            return false;
        };
        if !self.complete[allocation] {
            return false;
        }
        let (base, length) = self.geometry.allocations[allocation];
        let mut outside = 0;
        for (lane, address) in access.addresses.iter().enumerate() {
            outside |= u32::from(address.wrapping_sub(base) > length - bytes) << lane;
        }
        outside & mask == 0
    }

    #[inline(always)]
    pub(super) fn accesses(&mut self, warp: &WarpContext<'_>, accesses: Accesses<'_>) {
        match accesses.0 {
            Form::Full(access) => _ = self.memory_access(warp, access),
            Form::Repeated(access) => _ = self.repeated_access(warp, &access),
            Form::Loads(loads) => self.loads(warp, loads),
        }
    }

    /// Handles loads. What a block has written stays so: where all of it was, the same loads need
    /// no look until another block begins.
    #[inline(always)]
    fn loads(&mut self, warp: &WarpContext<'_>, loads: &RepeatedLoads<'_>) {
        let is_shared = loads.space == Space::Shared && self.geometry.group_blocks() == 1;
        let key = Key::new(loads, self.mark, 0);
        if is_shared && self.known_loads.has(&key) {
            return;
        }
        let mut all = true;
        for access in loads.each() {
            all &= self.repeated_access(warp, &access);
        }
        if all && is_shared {
            self.known_loads.keep(key);
        }
    }

    /// Handles an access; whether it was a load of what was written.
    #[inline(always)]
    fn repeated_access(&mut self, warp: &WarpContext<'_>, access: &RepeatedAccess<'_>) -> bool {
        self.are_known(warp, access) || access.expand(|access| self.memory_access(warp, access))
    }

    /// Whether an access is a read of a few addresses of shared memory that were all written.
    #[inline(never)]
    fn are_known(&mut self, warp: &WarpContext<'_>, access: &RepeatedAccess<'_>) -> bool {
        let is_read = access.kind == AccessKind::Load && access.space == Space::Shared;
        if !is_read || self.shapes.repeated(access) != Shape::Other {
            return false;
        }
        let own = self.geometry.shared_start(self.geometry.warp(warp));
        let marks = &self.shared;
        let groups = self.shapes.groups(access);
        if groups.len() > LANES / 2 || access.bytes.trailing_zeros() < marks.shift {
            return false;
        }
        let count = (access.bytes >> marks.shift) as usize;
        groups.iter().all(|group| {
            let address = access.first_address.wrapping_add(group.distance);
            let first = (address.wrapping_add(own) >> marks.shift) as usize;
            let cells = marks.marks.get(first..first.saturating_add(count));
            cells.is_some_and(|cells| cells.iter().all(|known| *known >= self.mark))
        })
    }

    /// Whether accesses need not be looked at: all global memory was written before the launch.
    #[inline(always)]
    pub(super) fn skips(&self, accesses: &Accesses<'_>) -> bool {
        let space = match accesses.0 {
            Form::Full(access) => access.space,
            Form::Repeated(access) => access.space,
            Form::Loads(loads) => loads.space,
        };
        self.all_complete && space == Space::Global
    }
}

/// Lanes from which on all are looked at together.
const MANY: u32 = 8;

/// The lanes that access a cell without a mark from `mark` on, of `count` each, or outside of the
/// memory.
pub(super) struct UnwrittenLanes<'a> {
    pub addresses: &'a [u64; LANES],
    pub mask: u32,
    pub base: u64,
    pub count: usize,
    pub marks: &'a Marks,
    pub mark: u32,
}

impl UnwrittenLanes<'_> {
    #[inline(always)]
    fn cell(&self, lane: usize) -> usize {
        (self.addresses[lane].wrapping_sub(self.base) >> self.marks.shift) as usize
    }

    fn one_by_one(&self) -> u32 {
        let mut left = 0;
        for lane in lanes(self.mask) {
            let cell = self.cell(lane);
            let cells = self.marks.marks.get(cell..cell.saturating_add(self.count));
            let is_known = cells.is_some_and(|cells| cells.iter().all(|known| *known >= self.mark));
            left |= u32::from(!is_known) << lane;
        }
        left
    }
}

impl Vectorised for UnwrittenLanes<'_> {
    type Output = u32;

    #[inline(always)]
    fn run(self) -> u32 {
        if self.mask.count_ones() < MANY {
            return self.one_by_one();
        }
        let marks = self.marks.marks.as_slice();
        let cells: [usize; LANES] = std::array::from_fn(|lane| self.cell(lane));
        let mut left = 0;
        for at in 0..self.count {
            for lane in 0..LANES {
                let known = marks.get(cells[lane].wrapping_add(at));
                let is_open = known.is_none_or(|&known| known < self.mark);
                left |= if is_open { BITS[lane] } else { 0 };
            }
        }
        left & self.mask
    }
}
