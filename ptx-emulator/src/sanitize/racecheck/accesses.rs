//! Plain loads and stores: which cells they touch, and in which of the fast ways they are recorded.

use super::super::shadow_view::{is_settled, is_settled_slice};
use super::super::shape::{AddressGroup, LANES, Shape};
use super::Racecheck;
use crate::ir::{AccessKind, Space};
use crate::observer::{MemoryAccess, RepeatedAccess, RepeatedLoads, WarpContext};

impl Racecheck {
    /// Whether a load need not be recorded: all that it reads is settled.
    #[inline(always)]
    pub(super) fn is_settled(&mut self, warp: u32, access: &RepeatedAccess<'_>) -> bool {
        let own = self.geometry.shared_start(warp).wrapping_neg();
        let times = (self.block.clocks.since, self.block.clocks.now);
        let last = &mut self.last_allocations[access.instruction.index()];
        for run in self.shapes.runs(access) {
            let address = access.first_address.wrapping_add(run.distance);
            let (base, cells) = match access.space {
                Space::Shared => (own, &self.shared),
                _ => match self.geometry.allocation_index(last, address, run.bytes) {
                    Some(group) => match &self.global[group] {
                        Some(area) => (area.base, &area.cells),
                        None => return false,
                    },
                    None => return false,
                },
            };
            let from = address.wrapping_sub(base);
            let first = (from >> cells.shift) as usize;
            // Bytes need not begin and end where cells do.
            let last = (from.wrapping_add(run.bytes - 1) >> cells.shift) as usize;
            let settled = match last.wrapping_sub(first).wrapping_add(1) {
                1 => is_settled::<1>(cells, first, times),
                32 => is_settled::<32>(cells, first, times),
                count => is_settled_slice(cells, first, count, times),
            };
            if !settled {
                return false;
            }
        }
        true
    }

    /// Handles a load; whether it need not be recorded.
    #[inline(always)]
    pub(super) fn load(&mut self, warp: &WarpContext<'_>, access: &RepeatedAccess<'_>) -> bool {
        let by = self.geometry.warp(warp);
        if self.list_repeated(by, access) || self.defer_repeated(by, access) {
            return false;
        }
        let settled = self.is_settled(by, access);
        if !settled && !self.load_groups(by, access) {
            access.expand(|access| self.memory_access(warp, access));
        }
        settled
    }

    /// Records loads each of which reads one address in all lanes; whether none needed it. `None`,
    /// with nothing done, for any other loads.
    #[inline(never)]
    pub(super) fn broadcasts(&mut self, warp: u32, loads: &RepeatedLoads<'_>) -> Option<bool> {
        if loads
            .distances
            .iter()
            .fold(0, |any, distance| any | distance)
            != 0
        {
            return None;
        }
        let first = loads.each().next()?;
        let allocation = match loads.space {
            Space::Shared => 0,
            _ => {
                self.allocation_index(first.instruction, first.first_address, first.bytes.into())?
            }
        };
        let mut view = self.view(loads.space, allocation, warp);
        if !loads
            .each()
            .all(|load| view.holds(load.first_address, load.bytes))
        {
            return None;
        }
        let mut settled = true;
        for load in loads.each() {
            let origin = view.origin(load.instruction, warp);
            let first = view.first_cell(load.first_address, load.bytes);
            settled &= match load.bytes >> view.cells.shift {
                1 => view.read_unsettled::<1>(first, origin),
                2 => view.read_unsettled::<2>(first, origin),
                4 => view.read_unsettled::<4>(first, origin),
                count => {
                    view.read_same(first..first + count as usize, origin, u32::MAX);
                    false
                }
            };
        }
        Some(settled)
    }

    /// Records a load address by address; false, with nothing done, where each lane reads another.
    #[inline(never)]
    pub(super) fn load_groups(&mut self, warp: u32, access: &RepeatedAccess<'_>) -> bool {
        if self.shapes.groups(access).len() == LANES {
            return false;
        }
        // Others use the shapes meanwhile, but not these.
        let groups = self.shapes.take_groups(access);
        let address = |group: &AddressGroup| access.first_address.wrapping_add(group.distance);
        let mut rest = groups.iter().peekable();
        while let Some(&group) = rest.peek() {
            let area = match access.space {
                Space::Shared => Some(0),
                _ => self.allocation_index(access.instruction, address(group), access.bytes.into()),
            };
            let view = area.map(|area| self.view(access.space, area, warp));
            let Some(mut view) = view.filter(|view| view.holds(address(group), access.bytes))
            else {
                rest.next();
                continue;
            };
            let origin = view.origin(access.instruction, warp);
            while let Some(group) = rest.next_if(|group| view.holds(address(group), access.bytes)) {
                let first = view.first_cell(address(group), access.bytes);
                match access.bytes >> view.cells.shift {
                    1 => view.read_group::<1>(first, origin, group.lanes),
                    2 => view.read_group::<2>(first, origin, group.lanes),
                    4 => view.read_group::<4>(first, origin, group.lanes),
                    count => view.read_same(first..first + count as usize, origin, group.lanes),
                }
            }
        }
        self.shapes.return_groups(access, groups);
        true
    }

    /// Handles accesses of all lanes to one address or to consecutive ones.
    #[inline(always)]
    pub(super) fn regular(&mut self, warp: u32, access: &MemoryAccess<'_>, shape: Shape) -> bool {
        let address = access.addresses[0];
        let lanes = match shape {
            Shape::Uniform => 1,
            _ => LANES as u64,
        };
        let bytes = lanes * u64::from(access.bytes);
        let allocation = match access.space {
            Space::Shared
                if address.saturating_add(bytes) <= u64::from(self.geometry.shared_bytes) =>
            {
                0
            }
            Space::Shared => return false,
            _ => match self.allocation_index(access.instruction, address, bytes) {
                Some(allocation) => allocation,
                None => return false,
            },
        };
        self.regular_slow(warp, access, shape, allocation);
        true
    }

    #[inline(never)]
    pub(super) fn regular_slow(
        &mut self,
        warp: u32,
        access: &MemoryAccess<'_>,
        shape: Shape,
        allocation: usize,
    ) {
        let mut view = self.view(access.space, allocation, warp);
        let origin = view.origin(access.instruction, warp);
        let first = view.first_cell(access.addresses[0], access.bytes);
        let per_lane = (access.bytes >> view.cells.shift) as usize;
        let writes = access.kind == AccessKind::Store;
        if shape == Shape::Uniform && !writes {
            return view.read_same(first..first + per_lane, origin, u32::MAX);
        }
        let stride = if shape == Shape::Uniform { 0 } else { per_lane };
        // Words, and vectors of words; others go lane by lane.
        let done = match (stride, writes) {
            (1, true) => view.write_row::<1>(first, origin),
            (2, true) => view.write_row::<2>(first, origin),
            (4, true) => view.write_row::<4>(first, origin),
            (1, false) => view.read_row::<1>(first, origin),
            (2, false) => view.read_row::<2>(first, origin),
            (4, false) => view.read_row::<4>(first, origin),
            _ => false,
        };
        if !done {
            let cells = std::array::from_fn(|lane| first + lane * stride);
            view.record_cells(access, &cells, origin);
        }
    }

    #[inline(never)]
    pub(super) fn irregular(&mut self, warp: u32, access: &MemoryAccess<'_>) {
        let is_strong = access.strong && self.updates.records(access.space);
        let mut rest = access.mask;
        while rest != 0 {
            let address = access.addresses[rest.trailing_zeros() as usize % LANES];
            let allocation = match access.space {
                Space::Shared | Space::Cluster => Some(0),
                _ => self.allocation_index(access.instruction, address, access.bytes.into()),
            };
            let view = allocation.map(|allocation| self.view(access.space, allocation, warp));
            let Some(mut view) = view.filter(|view| view.holds(address, access.bytes)) else {
                // An access out of bounds is a fault of its own.
                rest &= rest - 1;
                continue;
            };
            view.is_strong = is_strong;
            let origin = view.origin(access.instruction, warp);
            rest &= !view.record_within(access, rest, origin);
        }
    }
}
