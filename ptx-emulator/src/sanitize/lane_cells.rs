//! Accesses of a warp's lanes to any cells, recorded together where the cells are in usual states:
//! what [`ShadowView`] would record of them lane by lane.

use super::lane_runs::runs;
use super::last_accesses::Others;
use super::shadow_memory::Origin;
use super::shadow_view::ShadowView;
use super::shape::{LANES, lanes};
use crate::exec::{Vectorised, run_at};
use crate::ir::AccessKind;
use crate::observer::MemoryAccess;

/// The bits of an origin that tell warps and asynchronous operations apart.
pub(super) const WARP: u32 = 0x5fe0;

/// The bits of an origin that tell threads and asynchronous operations apart.
pub(super) const THREAD: u32 = 0x5fff;

/// The bit of asynchronous operations.
pub(super) const ASYNC: u32 = 0x4000;

/// Whether the lanes of a mask access different cells.
#[inline(always)]
fn are_distinct(cells: &[usize; LANES], mask: u32) -> bool {
    let mut highest = None;
    let is_rising = lanes(mask).all(|lane| {
        let rises = highest.is_none_or(|highest| highest < cells[lane]);
        highest = Some(cells[lane]);
        rises
    });
    if is_rising {
        return true;
    }
    // Lanes outside of the mask have cells of their own.
    let keys: [usize; LANES] = std::array::from_fn(|lane| match mask >> lane & 1 {
        0 => usize::MAX - lane,
        _ => cells[lane],
    });
    let mut same = false;
    for distance in 1..=LANES / 2 {
        for lane in 0..LANES {
            same |= keys[lane] == keys[(lane + distance) % LANES];
        }
    }
    !same
}

/// Accesses of lanes that are recorded with the processor's vector instructions.
struct Record<'r, 'v, 'a> {
    view: &'r mut ShadowView<'v>,
    access: &'r MemoryAccess<'a>,
    lanes: Accessed<'r>,
    origin: Origin,
}

/// Which cells lanes access.
enum Accessed<'a> {
    /// Those at the addresses of the lanes of a mask, as far as they are within the memory.
    Lanes(u32),
    /// These of all lanes.
    All(&'a [usize; LANES]),
}

impl Vectorised for Record<'_, '_, '_> {
    type Output = u32;

    #[inline(always)]
    fn run(self) -> u32 {
        let (access, origin) = (self.access, self.origin);
        match self.lanes {
            Accessed::Lanes(mask) => self.view.record_lanes(access, mask, origin),
            Accessed::All(cells) => {
                self.view.record_any_cells(access, cells, u32::MAX, origin);
                u32::MAX
            }
        }
    }
}

impl ShadowView<'_> {
    /// The lanes of a mask whose accesses lie within this memory.
    #[inline(always)]
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

    /// Records a strong access of all lanes, which lie within this memory, for races between
    /// blocks; false, with nothing done, unless each lane has one cell and they are consecutive.
    pub(super) fn notes_strong_row(
        &mut self,
        access: &MemoryAccess<'_>,
        block: u32,
        origin: Origin,
        writes: bool,
    ) -> bool {
        let bytes = u64::from(access.bytes);
        let address = access.addresses[0];
        let mut after = access.addresses.iter().zip((0..).map(|lane| lane * bytes));
        if !after.all(|(at, distance)| *at == address.wrapping_add(distance)) {
            return false;
        }
        let first = self.first_cell(address, access.bytes);
        let is_row = access.bytes >> self.cells.shift == 1;
        if is_row && let Some(cross_block) = &mut self.cross_block {
            cross_block.note_strong_row(first, block, origin.with_lane(0), writes);
        }
        is_row
    }

    /// Records what the lanes of a mask do within this memory; the mask of those.
    pub(super) fn record_within(
        &mut self,
        access: &MemoryAccess<'_>,
        mask: u32,
        origin: Origin,
    ) -> u32 {
        self.record(access, Accessed::Lanes(mask), origin)
    }

    /// Records what lanes do, with the first cell of each, all of them within this memory.
    pub(super) fn record_cells(
        &mut self,
        access: &MemoryAccess<'_>,
        cells: &[usize; LANES],
        origin: Origin,
    ) {
        self.record(access, Accessed::All(cells), origin);
    }

    /// Records what lanes do with the vector instructions of the processor; the mask of those whose
    /// accesses lie within this memory.
    #[inline(always)]
    fn record(&mut self, access: &MemoryAccess<'_>, lanes: Accessed<'_>, origin: Origin) -> u32 {
        let level = self.level;
        let record = Record {
            view: self,
            access,
            lanes,
            origin,
        };
        run_at(level, record)
    }

    #[inline(always)]
    fn record_lanes(&mut self, access: &MemoryAccess<'_>, mask: u32, origin: Origin) -> u32 {
        let mask = self.lanes_within(access, mask);
        if mask == 0 {
            return 0;
        }
        let known = mask.trailing_zeros() as usize % LANES;
        let first = self.first_cell(access.addresses[known], access.bytes);
        let (base, shift) = (self.base, self.cells.shift);
        let cells = std::array::from_fn(|lane| match mask >> lane & 1 {
            0 => first,
            _ => (access.addresses[lane].wrapping_sub(base) >> shift) as usize,
        });
        self.record_any_cells(access, &cells, mask, origin);
        mask
    }

    /// Records what the lanes of a mask do, with the first cell of each; those of the lanes outside
    /// of the mask are any within this memory.
    #[inline(always)]
    fn record_any_cells(
        &mut self,
        access: &MemoryAccess<'_>,
        cells: &[usize; LANES],
        mask: u32,
        origin: Origin,
    ) {
        let count = (access.bytes >> self.cells.shift) as usize;
        let writes = access.kind == AccessKind::Store && !access.strong;
        let mut left = 0;
        let mask = match self.record_runs((cells, count), mask, origin, writes) {
            0 => return,
            rest => rest,
        };
        let are_known = match count {
            _ if writes => false,
            1 => self.are_known::<1>(cells, mask, origin),
            2 => self.are_known::<2>(cells, mask, origin),
            4 => self.are_known::<4>(cells, mask, origin),
            _ => false,
        };
        if are_known {
            return;
        }
        let (lowest, highest) = cells
            .iter()
            .fold((usize::MAX, 0), |(lowest, highest), &cell| {
                (cell.min(lowest), cell.max(highest))
            });
        self.cells.touch(lowest..highest + count);
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

    /// Records what lanes do to consecutive cells in usual states, where most do; the others.
    #[inline(always)]
    fn record_runs(
        &mut self,
        (cells, count): (&[usize; LANES], usize),
        mask: u32,
        origin: Origin,
        writes: bool,
    ) -> u32 {
        let mut rest = mask;
        for run in runs(cells, mask, count).into_iter().flatten() {
            let is_done = match writes {
                true => self.write_run(&run, origin),
                false => self.read_run(&run, origin),
            };
            if is_done {
                rest &= !run.mask();
            }
        }
        rest
    }

    /// Whether reads of `COUNT` cells by each lane change nothing: two other warps have read them
    /// since the last synchronisation.
    #[inline(always)]
    fn are_known<const COUNT: usize>(
        &self,
        cells: &[usize; LANES],
        mask: u32,
        origin: Origin,
    ) -> bool {
        let (now, since) = (self.block.clocks.now, self.block.clocks.since);
        let shadow = &*self.cells;
        let was_written = shadow.wrote_at >= since;
        lanes(mask).all(|lane| {
            let row = cells[lane]..cells[lane] + COUNT;
            let column = |column: &[u32]| -> [u32; COUNT] {
                let cells = column
                    .get(row.clone())
                    .and_then(|cells| cells.first_chunk());
                cells.copied().unwrap_or([0; COUNT])
            };
            let (read, elsewhere) = (column(&shadow.read), column(&shadow.read_elsewhere));
            let (reader, other) = (column(&shadow.reader), column(&shadow.other_reader));
            let by = origin.with_lane(lane).0;
            let mut changes = false;
            for at in 0..COUNT {
                let asynchronous = (reader[at] | other[at]) & ASYNC != 0;
                let own = ((reader[at] ^ by) & WARP == 0) | ((other[at] ^ by) & THREAD == 0);
                let is_current = (read[at] == now) & (elsewhere[at] == now);
                changes |= !is_current | own | asynchronous;
            }
            if was_written {
                let written = column(&shadow.written);
                changes |= written.iter().any(|stamp| *stamp >= since);
            }
            !changes
        })
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
                self.tally.end_access();
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
    #[inline(always)]
    fn read_lanes(&mut self, cells: &[usize; LANES], mask: u32, origin: Origin) -> u32 {
        let (now, since) = (self.block.clocks.now, self.block.clocks.since);
        let is_strong = self.is_strong;
        let (shadow, others) = self.parts();
        // Strong accesses are recorded as reads, but not as those of other blocks.
        let others = others.filter(|_| !is_strong);
        let mut left = 0;
        if shadow.wrote_at >= since {
            let written = shadow.written.as_slice();
            for (lane, &cell) in cells.iter().enumerate() {
                left |= u32::from(written[cell] >= since) << lane;
            }
            left &= mask;
        }
        shadow.read_at = shadow.read_at.max(now);
        let count = shadow.read.len();
        let read = &mut shadow.read[..count];
        let (reader, readers) = (&mut shadow.reader[..count], &mut shadow.readers[..count]);
        let (mut lowest, mut highest) = (u32::MAX, 0);
        for &cell in cells {
            let stamp = read[cell];
            (lowest, highest) = (stamp.min(lowest), stamp.max(highest));
        }
        let kept_from = others.as_ref().map_or(u32::MAX, Others::kept_from);
        if left == 0 && highest < since.min(kept_from) {
            // All are new. Of lanes that read the same, the first counts.
            for lane in lanes(mask) {
                readers[cells[lane]] = 0;
            }
            for lane in (0..LANES).rev().filter(|lane| mask >> lane & 1 != 0) {
                let cell = cells[lane];
                read[cell] = now;
                reader[cell] = origin.with_lane(lane).0;
                readers[cell] |= 1 << lane;
            }
            return 0;
        }
        if left == 0 && lowest == now && highest == now {
            let other = cells
                .iter()
                .fold(0, |any, &cell| any | (reader[cell] ^ origin.0) & WARP);
            if other == 0 {
                for lane in lanes(mask) {
                    readers[cells[lane]] |= 1 << lane;
                }
                return 0;
            }
        }
        self.read_any_lanes(cells, (mask, left), origin)
    }

    /// As [`Self::read_lanes`], of cells in different states. Those of the lanes `late` have been
    /// written since the last barrier of the block.
    #[inline(always)]
    fn read_any_lanes(
        &mut self,
        cells: &[usize; LANES],
        (mask, late): (u32, u32),
        origin: Origin,
    ) -> u32 {
        let (now, since) = (self.block.clocks.now, self.block.clocks.since);
        let is_strong = self.is_strong;
        let (shadow, others) = self.parts();
        let mut others = others.filter(|_| !is_strong);
        let mut left = late;
        for lane in lanes(mask & !late) {
            let (cell, by) = (cells[lane], origin.with_lane(lane));
            let (read, reader) = (shadow.read[cell], Origin(shadow.reader[cell]));
            if read < since {
                if let Some(others) = &mut others {
                    others.read(cell, (read, reader.0), by);
                }
                shadow.read[cell] = now;
                shadow.reader[cell] = by.0;
                shadow.readers[cell] = 1 << lane;
                continue;
            }
            // Nothing that was read since the last synchronisation is ordered before this.
            let is_current = read == now && !reader.is_async();
            if is_current && reader.thread().0 == by.thread().0 {
                shadow.readers[cell] |= 1 << lane;
                continue;
            }
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
    #[inline(always)]
    fn write_lanes(&mut self, cells: &[usize; LANES], mask: u32, origin: Origin) -> u32 {
        let (now, since) = (self.block.clocks.now, self.block.clocks.since);
        let (shadow, others) = self.parts();
        let is_quiet = shadow.wrote_at < since && shadow.read_at < since;
        shadow.wrote_at = shadow.wrote_at.max(now);
        let count = shadow.written.len();
        let (written, writer) = (&mut shadow.written[..count], &mut shadow.writer[..count]);
        let kept_from = others.as_ref().map_or(u32::MAX, Others::kept_from);
        let highest = || {
            cells
                .iter()
                .fold(0, |highest, &cell| written[cell].max(highest))
        };
        if is_quiet && (kept_from == u32::MAX || highest() < kept_from) {
            for lane in lanes(mask) {
                written[cells[lane]] = now;
                writer[cells[lane]] = origin.with_lane(lane).0;
            }
            return 0;
        }
        self.write_any_lanes(cells, mask, origin)
    }

    /// As [`Self::write_lanes`], of cells in different states.
    #[inline(always)]
    fn write_any_lanes(&mut self, cells: &[usize; LANES], mask: u32, origin: Origin) -> u32 {
        let (now, since) = (self.block.clocks.now, self.block.clocks.since);
        let (shadow, mut others) = self.parts();
        let mut left = 0;
        for lane in lanes(mask) {
            let (cell, by) = (cells[lane], origin.with_lane(lane));
            let (stamp, writer) = (shadow.written[cell], shadow.writer[cell]);
            let read = shadow.read[cell];
            // What a thread has done itself is ordered before this.
            let is_reader = || {
                let same_warp = (shadow.reader[cell] ^ by.0) & WARP == 0;
                same_warp && shadow.readers[cell] == 1 << lane
            };
            let is_usual = (stamp < since || (writer ^ by.0) & THREAD == 0)
                && (read < since || is_reader())
                && shadow.read_elsewhere[cell] < since;
            if !is_usual {
                left |= 1 << lane;
                continue;
            }
            match &mut others {
                Some(others) => others.write(cell, (stamp, writer), by),
                // What is ordered after this write is ordered after the read as well.
                None if read >= since => {
                    shadow.read[cell] = 0;
                    shadow.read_elsewhere[cell] = 0;
                }
                None => {}
            }
            shadow.written[cell] = now;
            shadow.writer[cell] = by.0;
        }
        left
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
