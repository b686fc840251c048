//! Accesses of a warp's lanes to any cells, recorded together where the cells are in usual states:
//! what [`ShadowView`] would record of them lane by lane.

use super::shadow_memory::Origin;
use super::shadow_view::ShadowView;
use super::shape::{LANES, lanes};
use crate::ir::AccessKind;
use crate::observer::MemoryAccess;

/// The bits of an origin that tell warps and asynchronous operations apart.
const WARP: u32 = 0x5fe0;

/// The bits of an origin that tell threads and asynchronous operations apart.
const THREAD: u32 = 0x5fff;

/// Whether the lanes of a mask access different cells.
fn are_distinct(cells: &[usize; LANES], mask: u32) -> bool {
    // Lanes outside of the mask have cells of their own.
    let keys: [usize; LANES] = std::array::from_fn(|lane| match mask >> lane & 1 {
        0 => usize::MAX - lane,
        _ => cells[lane],
    });
    let steps = keys.iter().zip(&keys[1..]);
    if mask == u32::MAX && steps.fold(true, |rising, (a, b)| rising & (a < b)) {
        return true;
    }
    let mut same = false;
    for distance in 1..=LANES / 2 {
        for lane in 0..LANES {
            same |= keys[lane] == keys[(lane + distance) % LANES];
        }
    }
    !same
}

impl ShadowView<'_> {
    /// The lanes of a mask whose accesses lie within this memory.
    pub(super) fn lanes_within(&self, access: &MemoryAccess<'_>, mask: u32) -> u32 {
        let Some(last) = self.cells.bytes().checked_sub(u64::from(access.bytes)) else {
            return 0;
        };
        let mut within = 0;
        for (lane, address) in access.addresses.iter().enumerate() {
            within |= u32::from(address.wrapping_sub(self.base) <= last) << lane;
        }
        within & mask
    }

    /// Records what the lanes of a mask do, which are some within this memory.
    pub(super) fn record(&mut self, access: &MemoryAccess<'_>, mask: u32, origin: Origin) {
        let known = mask.trailing_zeros() as usize % LANES;
        let first = self.first_cell(access.addresses[known], access.bytes);
        let (base, shift) = (self.base, self.cells.shift);
        let cells = std::array::from_fn(|lane| match mask >> lane & 1 {
            0 => first,
            _ => (access.addresses[lane].wrapping_sub(base) >> shift) as usize,
        });
        self.record_cells(access, &cells, mask, origin);
    }

    /// As [`Self::record`], with the first cell of each lane; those of the lanes outside of the
    /// mask are any within this memory.
    pub(super) fn record_cells(
        &mut self,
        access: &MemoryAccess<'_>,
        cells: &[usize; LANES],
        mask: u32,
        origin: Origin,
    ) {
        let count = (access.bytes >> self.cells.shift) as usize;
        let writes = access.kind == AccessKind::Store && !access.strong;
        let mut left = 0;
        if writes && !are_distinct(cells, mask) {
            left = mask;
        } else {
            for at in 0..count {
                let cells = cells.map(|cell| cell + at);
                left |= match writes {
                    true => self.write_lanes(&cells, mask, origin),
                    false => self.read_lanes(&cells, mask, origin),
                };
            }
        }
        if left != 0 {
            self.record_each(access, cells, left, origin);
        }
    }

    /// Records accesses lane by lane.
    #[inline(never)]
    fn record_each(
        &mut self,
        access: &MemoryAccess<'_>,
        cells: &[usize; LANES],
        mask: u32,
        origin: Origin,
    ) {
        let count = (access.bytes >> self.cells.shift) as usize;
        let writes = access.kind == AccessKind::Store && !access.strong;
        let mut rest = mask;
        while rest != 0 {
            let lane = rest.trailing_zeros() as usize % LANES;
            let row = cells[lane]..cells[lane] + count;
            if writes {
                row.for_each(|cell| self.write(cell, origin.with_lane(lane), access));
                rest &= rest - 1;
                continue;
            }
            // Lanes that read the same address are recorded at once.
            let same = lanes(rest)
                .filter(|&other| cells[other] == cells[lane])
                .fold(0, |same, other| same | 1 << other);
            rest &= !same;
            self.read_same(row, origin.with_lane(lane), same);
        }
    }

    /// Records reads, or strong accesses, of a cell by each lane; the mask of those that are left,
    /// with nothing done, since their cells are in other states than the usual ones.
    fn read_lanes(&mut self, cells: &[usize; LANES], mask: u32, origin: Origin) -> u32 {
        let (now, since) = (self.block.clocks.now, self.block.clocks.since);
        let is_strong = self.is_strong;
        let (shadow, others) = self.parts();
        // Strong accesses are recorded as reads, but not as those of other blocks.
        let mut others = others.filter(|_| !is_strong);
        let (mut left, mut own) = (0, 0);
        if shadow.wrote_at >= since {
            for (lane, &cell) in cells.iter().enumerate() {
                left |= u32::from(shadow.written[cell] >= since) << lane;
            }
        }
        shadow.read_at = shadow.read_at.max(now);
        for (lane, &cell) in cells.iter().enumerate() {
            let (read, reader) = (shadow.read[cell], shadow.reader[cell]);
            let is_own = (read == now) & ((reader ^ origin.0) & WARP == 0);
            own |= u32::from((read < since) | is_own) << lane;
        }
        left &= mask;
        for lane in lanes(mask & own & !left) {
            let cell = cells[lane];
            let read = shadow.read[cell];
            if read == now {
                shadow.readers[cell] |= 1 << lane;
                continue;
            }
            let origin = origin.with_lane(lane);
            if let Some(others) = &mut others {
                others.read(cell, (read, shadow.reader[cell]), origin);
            }
            shadow.read[cell] = now;
            shadow.reader[cell] = origin.0;
            shadow.readers[cell] = 1 << lane;
        }
        for lane in lanes(mask & !own & !left) {
            // Nothing that was read since the last synchronisation is ordered before this.
            let (cell, by) = (cells[lane], origin.with_lane(lane));
            let is_current = shadow.read[cell] == now && !Origin(shadow.reader[cell]).is_async();
            let elsewhere = shadow.read_elsewhere[cell];
            let other = Origin(shadow.other_reader[cell]);
            if is_current && elsewhere < since {
                shadow.read_elsewhere[cell] = now;
                shadow.other_reader[cell] = by.0;
            } else if !is_current
                || elsewhere != now
                || other.is_async()
                || other.thread() == by.thread()
            {
                left |= 1 << lane;
            }
        }
        left
    }

    /// Records weak writes of a cell by each lane, of different ones; as [`Self::read_lanes`].
    fn write_lanes(&mut self, cells: &[usize; LANES], mask: u32, origin: Origin) -> u32 {
        let (now, since) = (self.block.clocks.now, self.block.clocks.since);
        let (shadow, mut others) = self.parts();
        let mut usual = 0;
        if shadow.wrote_at < since && shadow.read_at < since {
            usual = mask;
        } else {
            for (lane, &cell) in cells.iter().enumerate() {
                let by = origin.with_lane(lane).0;
                let (writer, reader) = (shadow.writer[cell], shadow.reader[cell]);
                // What a thread has done itself is ordered before this.
                let is_writer = (writer ^ by) & THREAD == 0;
                let is_reader = ((reader ^ by) & WARP == 0) & (shadow.readers[cell] == 1 << lane);
                let is_usual = ((shadow.written[cell] < since) | is_writer)
                    & ((shadow.read[cell] < since) | is_reader)
                    & (shadow.read_elsewhere[cell] < since);
                usual |= u32::from(is_usual) << lane;
            }
        }
        shadow.wrote_at = shadow.wrote_at.max(now);
        for lane in lanes(mask & usual) {
            let (cell, origin) = (cells[lane], origin.with_lane(lane));
            match &mut others {
                Some(others) => {
                    let old = (shadow.written[cell], shadow.writer[cell]);
                    others.write(cell, old, origin);
                }
                // What is ordered after this write is ordered after the read as well.
                None if shadow.read[cell] >= since => {
                    shadow.read[cell] = 0;
                    shadow.read_elsewhere[cell] = 0;
                }
                None => {}
            }
            shadow.written[cell] = now;
            shadow.writer[cell] = origin.0;
        }
        mask & !usual
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_outside_of_the_mask_share_no_cells() {
        let mut cells: [usize; LANES] = std::array::from_fn(|lane| 7 * lane % 32);
        assert!(are_distinct(&cells, u32::MAX));
        for distance in 1..LANES {
            cells[distance] = cells[0];
            assert!(!are_distinct(&cells, u32::MAX), "{distance}");
            assert!(are_distinct(&cells, !(1 << distance)), "{distance}");
            assert!(are_distinct(&cells, !1), "{distance}");
            cells[distance] = 7 * distance % 32;
        }
    }
}
