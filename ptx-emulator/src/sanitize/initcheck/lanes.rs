//! Accesses of any shape, lane by lane.

use super::super::shadow_memory::Origin;
use super::super::shape::{LANES, lanes};
use super::Initcheck;
use super::known::UnwrittenLanes;
use crate::exec::run_at;
use crate::ir::{AccessKind, Space};
use crate::observer::MemoryAccess;

impl Initcheck {
    /// Lanes that read what was written, or write; the mask of the others, which are left.
    #[inline(always)]
    fn usual(&mut self, warp: u32, access: &MemoryAccess<'_>) -> u32 {
        let (mark, block) = (self.mark, self.block_number());
        let first = access.addresses[access.mask.trailing_zeros() as usize % LANES];
        let (base, mut area) = match access.space {
            Space::Shared => (self.geometry.shared_start(warp).wrapping_neg(), None),
            Space::Global => {
                let bytes = u64::from(access.bytes);
                let allocation = self.allocation_index(access.instruction, first, bytes);
                match allocation.and_then(|allocation| self.global[allocation].as_deref_mut()) {
                    Some(area) => (area.base, Some(area)),
                    None => return access.mask,
                }
            }
            _ => return access.mask,
        };
        let marks = match &area {
            Some(area) => &area.written,
            None => &self.shared,
        };
        let shift = marks.shift;
        let Some(last) = marks.bytes.checked_sub(u64::from(access.bytes)) else {
            return access.mask;
        };
        if access.bytes.trailing_zeros() < shift {
            return access.mask;
        }
        let count = (access.bytes >> shift) as usize;
        let unwritten = UnwrittenLanes {
            addresses: access.addresses,
            mask: access.mask,
            base,
            count,
            marks,
            mark,
        };
        let unwritten = run_at(self.level, unwritten);
        if access.kind != AccessKind::Store {
            return unwritten;
        }
        let (mut rest, mut left) = (unwritten, 0);
        while rest != 0 {
            let lane = rest.trailing_zeros() as usize % LANES;
            rest &= rest - 1;
            let at = access.addresses[lane].wrapping_sub(base);
            if at > last {
                left |= 1 << lane;
                continue;
            }
            let cells = (at >> shift) as usize..(at >> shift) as usize + count;
            match &mut area {
                Some(area) => cells.for_each(|cell| area.write(cell, mark, block)),
                None => self.shared.marks[cells].fill(mark),
            }
        }
        left
    }

    /// Handles any access; whether all lanes accessed what was written.
    #[inline(never)]
    pub(super) fn irregular(&mut self, warp: u32, access: &MemoryAccess<'_>) -> bool {
        let left = self.usual(warp, access);
        let own = self.geometry.shared_start(warp);
        for lane in lanes(left) {
            let address = access.addresses[lane];
            let of_block = match self.geometry.is_cooperative {
                true => warp % self.geometry.warps(),
                false => warp,
            };
            let origin = Origin::new(access.instruction.index(), false, of_block, lane as u32);
            match access.space {
                Space::Shared => self.shared_lane(access, address.wrapping_add(own), origin),
                Space::Cluster => self.shared_lane(access, address, origin),
                _ => {
                    let bytes = u64::from(access.bytes);
                    // An access out of bounds is a fault of its own.
                    if let Some(allocation) =
                        self.allocation_index(access.instruction, address, bytes)
                    {
                        self.global_lane(access, allocation, address, origin);
                    }
                }
            }
        }
        left == 0
    }

    fn shared_lane(&mut self, access: &MemoryAccess<'_>, address: u64, origin: Origin) {
        let bytes = u64::from(access.bytes);
        if address.saturating_add(bytes) > self.shared.bytes {
            return;
        }
        let marks = &mut self.shared;
        if access.bytes.trailing_zeros() < marks.shift {
            marks.refine(access.bytes.trailing_zeros());
        }
        let first = (address >> marks.shift) as usize;
        let row = &mut marks.marks[first..][..(bytes >> marks.shift) as usize];
        let used = self.used[access.instruction.index()];
        let shift = marks.shift;
        let matters = |at: usize| (used >> (at << shift)) << (32 - (1 << shift)) != 0;
        let unwritten = (0..row.len()).find(|&at| row[at] < self.mark && matters(at));
        if access.kind != AccessKind::Store
            && let Some(at) = unwritten
        {
            let cell_bytes = 1 << marks.shift;
            let address = ((first + at) as u64) << marks.shift;
            self.report(
                (self.block, self.at),
                Space::Shared,
                (address, cell_bytes),
                origin,
            );
        }
        if access.kind != AccessKind::Load {
            let row = &mut self.shared.marks[first..][..(bytes >> self.shared.shift) as usize];
            row.fill(self.mark);
        }
    }

    fn global_lane(
        &mut self,
        access: &MemoryAccess<'_>,
        allocation: usize,
        address: u64,
        origin: Origin,
    ) {
        let (mark, block) = (self.mark, self.block_number());
        let used = self.used[access.instruction.index()];
        let area = self.area(allocation);
        if access.bytes.trailing_zeros() < area.written.shift {
            area.refine(access.bytes.trailing_zeros());
        }
        let first = ((address - area.base) >> area.written.shift) as usize;
        let count = (access.bytes >> area.written.shift) as usize;
        if access.kind != AccessKind::Store {
            let shift = area.written.shift;
            let matters = |at: &usize| (used >> (at << shift)) << (32 - (1 << shift)) != 0;
            for cell in (0..count).filter(matters).map(|at| first + at) {
                if area.written.marks[cell] < mark {
                    area.note_early(cell, (block, origin));
                }
            }
        }
        if access.kind != AccessKind::Load {
            self.write_cells(allocation, first, count);
        }
    }
}
