//! Accesses of a warp to consecutive cells that are in the same simple state: recorded at once.

use super::ShadowView;
use crate::sanitize::shadow_memory::{Origin, ShadowMemory, fill_row};
use crate::sanitize::shape::LANES;

impl ShadowView<'_> {
    /// A read by all lanes of a warp, recorded unless the cells are settled; whether they are.
    #[inline(always)]
    pub(in crate::sanitize) fn read_unsettled<const CELLS: usize>(
        &mut self,
        first: usize,
        origin: Origin,
    ) -> bool {
        let clocks = &self.block.clocks;
        let settled = is_settled::<CELLS>(self.cells, first, (clocks.since, clocks.now));
        if !settled {
            self.read_group::<CELLS>(first, origin, u32::MAX);
        }
        settled
    }

    /// As [`Self::read_same`], of `CELLS` cells.
    #[inline(always)]
    pub(in crate::sanitize) fn read_group<const CELLS: usize>(
        &mut self,
        first: usize,
        origin: Origin,
        mask: u32,
    ) {
        let origin = origin.with_lane(mask.trailing_zeros() as usize);
        let (now, since) = (self.block.clocks.now, self.block.clocks.since);
        let (cells, others) = self.parts();
        cells.read_at = cells.read_at.max(now);
        let row = first..first + CELLS;
        cells.touch(row.clone());
        let all = |stamps: &[u32], limit: u32| stamps[row.clone()].iter().all(|&s| s < limit);
        if !all(&cells.written, since) {
            return self.read_same(row, origin, mask);
        }
        if all(&cells.read, since) {
            if let Some(mut others) = others {
                for at in row.clone() {
                    others.read(at, (cells.read[at], cells.reader[at]), origin);
                }
            }
            cells.read[row.clone()].fill(now);
            cells.reader[row.clone()].fill(origin.0);
            cells.readers[row].fill(mask);
            return;
        }
        if cells.is_read_by_other_warp(row.clone(), origin, since) {
            cells.read_elsewhere[row.clone()].fill(now);
            cells.other_reader[row].fill(origin.0);
            return;
        }
        for cell in row {
            self.note_read(cell, origin, mask);
        }
    }

    /// Consecutive reads of all lanes, of `CELLS` cells each; false, with nothing done, unless all
    /// cells are in the same simple state.
    pub(in crate::sanitize) fn read_row<const CELLS: usize>(
        &mut self,
        first: usize,
        origin: Origin,
    ) -> bool {
        let (now, since) = (self.block.clocks.now, self.block.clocks.since);
        let (cells, others) = self.parts();
        let row = first..first + LANES * CELLS;
        if cells.wrote_at >= since && !all_before(&cells.written[row.clone()], since) {
            return false;
        }
        if all_before(&cells.read[row.clone()], since) {
            if let Some(mut others) = others {
                let old = (&cells.read[row.clone()], &cells.reader[row.clone()]);
                others.read_row::<CELLS>(first, old, origin);
            }
            cells.touch(row.clone());
            cells.read_at = cells.read_at.max(now);
            cells.read[row.clone()].fill(now);
            fill_row::<CELLS>(&mut cells.reader[row.clone()], |lane| {
                origin.with_lane(lane).0
            });
            fill_row::<CELLS>(&mut cells.readers[row], |lane| 1 << lane);
            return true;
        }
        if !cells.is_read_by_other_warp(row.clone(), origin, since) {
            return false;
        }
        cells.read_elsewhere[row.clone()].fill(now);
        fill_row::<CELLS>(&mut cells.other_reader[row], |lane| {
            origin.with_lane(lane).0
        });
        true
    }

    /// Consecutive weak writes of all lanes; as [`Self::read_row`].
    pub(in crate::sanitize) fn write_row<const CELLS: usize>(
        &mut self,
        first: usize,
        origin: Origin,
    ) -> bool {
        let (now, since) = (self.block.clocks.now, self.block.clocks.since);
        let (cells, others) = self.parts();
        let row = first..first + LANES * CELLS;
        let is_quiet =
            |at: u32, stamps: &[u32]| at < since || all_before(&stamps[row.clone()], since);
        if !is_quiet(cells.wrote_at, &cells.written) || !is_quiet(cells.read_at, &cells.read) {
            return false;
        }
        if let Some(mut others) = others {
            let old = (&cells.written[row.clone()], &cells.writer[row.clone()]);
            others.write_row::<CELLS>(first, old, origin);
        }
        cells.touch(row.clone());
        cells.wrote_at = cells.wrote_at.max(now);
        cells.written[row.clone()].fill(now);
        fill_row::<CELLS>(&mut cells.writer[row], |lane| origin.with_lane(lane).0);
        true
    }
}

/// Whether all stamps are older than a limit.
#[inline(always)]
fn all_before(stamps: &[u32], limit: u32) -> bool {
    let late = |any, &stamp: &u32| any | u32::from(stamp >= limit);
    stamps.iter().fold(0, late) == 0
}

/// Whether reads of these cells need not be recorded: two warps have read them since the last
/// synchronisation, and no thread has written since the last barrier of the block.
#[inline(always)]
pub(in crate::sanitize) fn is_settled<const COUNT: usize>(
    cells: &ShadowMemory,
    first: usize,
    (since, now): (u32, u32),
) -> bool {
    let written: Option<&[u32; COUNT]> = cells.written[first..].first_chunk();
    let read: Option<&[u32; COUNT]> = cells.read_elsewhere[first..].first_chunk();
    let (Some(written), Some(read)) = (written, read) else {
        return false;
    };
    let mut open = 0;
    for cell in 0..COUNT {
        open |= u32::from(written[cell] >= since) | u32::from(read[cell] < now);
    }
    open == 0
}

#[inline(always)]
pub(in crate::sanitize) fn is_settled_slice(
    cells: &ShadowMemory,
    first: usize,
    count: usize,
    (since, now): (u32, u32),
) -> bool {
    let row = first..first.saturating_add(count);
    let (Some(written), Some(read)) = (
        cells.written.get(row.clone()),
        cells.read_elsewhere.get(row),
    ) else {
        return false;
    };
    let mut open = 0;
    for (&written, &read) in written.iter().zip(read) {
        open |= u32::from(written >= since) | u32::from(read < now);
    }
    open == 0
}
