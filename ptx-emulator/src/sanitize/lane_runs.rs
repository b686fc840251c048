//! Accesses of lanes to consecutive cells, recorded run by run: what [`ShadowView`] would record of
//! them lane by lane.
//!
//! Most accesses that are no rows of a warp are a few shorter ones: lines of a tile that is
//! narrower than a warp, pairs at a distance, or a row with one lane elsewhere.

use std::ops::Range;

use super::lane_cells::{ASYNC, THREAD, WARP};
use super::shadow_memory::{Origin, ShadowMemory};
use super::shadow_view::ShadowView;
use super::shape::{BITS, LANES, lanes};

/// Lanes of a run on average; shorter ones are faster lane by lane.
const LEAST: u32 = 8;

/// What the cells of a warp have, `CELLS` for each lane.
struct Table<const N: usize> {
    /// The lane.
    lane: [u32; N],
    /// Its bit in masks.
    bit: [u32; N],
}

impl<const N: usize> Table<N> {
    const fn new(cells: usize) -> Self {
        let (mut lane, mut bit, mut at) = ([0; N], [0; N], 0);
        while at < N {
            lane[at] = (at / cells) as u32;
            bit[at] = 1 << (at / cells);
            at += 1;
        }
        Table { lane, bit }
    }
}

static ONE: Table<LANES> = Table::new(1);
static TWO: Table<{ 2 * LANES }> = Table::new(2);
static FOUR: Table<{ 4 * LANES }> = Table::new(4);

/// Lanes in a row with consecutive cells.
#[derive(Clone, Debug)]
pub(super) struct LaneRun {
    /// All cells.
    pub cells: Range<usize>,
    first: usize,
    count: usize,
    /// Cells of each lane.
    per_lane: usize,
}

impl LaneRun {
    /// The lanes.
    pub(super) fn mask(&self) -> u32 {
        (u32::MAX >> (LANES - self.count)) << self.first
    }

    /// The lane of each cell, and its bit.
    #[inline(always)]
    fn lanes(&self) -> (&'static [u32], &'static [u32]) {
        let (lane, bit): (&[u32], &[u32]) = match self.per_lane {
            1 => (&ONE.lane, &ONE.bit),
            2 => (&TWO.lane, &TWO.bit),
            _ => (&FOUR.lane, &FOUR.bit),
        };
        let from = self.first * self.per_lane;
        let count = self.cells.len();
        (&lane[from..][..count], &bit[from..][..count])
    }
}

/// The runs of a mask's lanes, `per_lane` cells each from the given ones on; `None` where they are
/// short, or overlap.
#[inline(always)]
pub(super) fn runs(
    cells: &[usize; LANES],
    mask: u32,
    per_lane: usize,
) -> Option<impl Iterator<Item = LaneRun> + use<'_>> {
    if !matches!(per_lane, 1 | 2 | 4) {
        return None;
    }
    // No memory has 2^32 cells. Words are compared by vector instructions everywhere.
    let words = cells.map(|cell| cell as u32);
    let mut follows = 0;
    for lane in 1..LANES {
        let is_next = words[lane] == words[lane - 1].wrapping_add(per_lane as u32);
        follows |= if is_next { BITS[lane] } else { 0 };
    }
    follows &= mask & mask << 1;
    let starts = mask & !follows;
    if starts.count_ones() * LEAST > mask.count_ones() {
        return None;
    }
    let each = move || {
        lanes(starts).map(move |first| {
            let after = follows >> first >> 1;
            let count = 1 + after.trailing_ones() as usize;
            LaneRun {
                cells: cells[first]..cells[first] + count * per_lane,
                first,
                count,
                per_lane,
            }
        })
    };
    let overlap = |a: &LaneRun, b: &LaneRun| {
        a.first < b.first && a.cells.start < b.cells.end && b.cells.start < a.cells.end
    };
    let are_apart =
        starts.is_power_of_two() || each().all(|run| !each().any(|other| overlap(&run, &other)));
    are_apart.then(each)
}

impl ShadowView<'_> {
    /// Records weak writes; false, with nothing done, unless all cells are in usual states.
    #[inline(always)]
    pub(super) fn write_run(&mut self, run: &LaneRun, origin: Origin) -> bool {
        let (now, since) = (self.block.clocks.now, self.block.clocks.since);
        let (shadow, others) = self.parts();
        let row = run.cells.clone();
        let (lane, bit) = run.lanes();
        let count = lane.len();
        let written = &mut shadow.written[row.clone()][..count];
        let writer = &mut shadow.writer[row.clone()][..count];
        let read = &mut shadow.read[row.clone()][..count];
        let (mut last_write, mut last_read) = (0, 0);
        for at in 0..count {
            last_write = last_write.max(written[at]);
            last_read = last_read.max(read[at]);
        }
        let base = origin.with_lane(0).0;
        if last_write >= since || last_read >= since {
            let reader = &shadow.reader[row.clone()][..count];
            let readers = &shadow.readers[row.clone()][..count];
            let elsewhere = &mut shadow.read_elsewhere[row.clone()][..count];
            let mut open = 0;
            for at in 0..count {
                // What a thread has done itself is ordered before this.
                let by = base | lane[at];
                let other_writer =
                    u32::from(written[at] >= since) & u32::from((writer[at] ^ by) & THREAD != 0);
                let other_reader =
                    u32::from((reader[at] ^ by) & WARP != 0) | u32::from(readers[at] != bit[at]);
                let was_read = u32::from(read[at] >= since) & other_reader;
                open |= other_writer | was_read | u32::from(elsewhere[at] >= since);
            }
            if open != 0 {
                return false;
            }
            if others.is_none() && last_read >= since {
                // What is ordered after this write is ordered after the read as well.
                for at in 0..count {
                    let is_new = read[at] < since;
                    read[at] = if is_new { read[at] } else { 0 };
                    elsewhere[at] = if is_new { elsewhere[at] } else { 0 };
                }
            }
        }
        if let Some(mut others) = others.filter(|others| others.kept_from() <= last_write) {
            for at in 0..count {
                let by = Origin(base | lane[at]);
                others.write(row.start + at, (written[at], writer[at]), by);
            }
        }
        written.fill(now);
        for (writer, lane) in writer.iter_mut().zip(lane) {
            *writer = base | lane;
        }
        shadow.wrote_at = shadow.wrote_at.max(now);
        shadow.touch(row);
        true
    }

    /// Records reads, or strong accesses; as [`Self::write_run`].
    #[inline(always)]
    pub(super) fn read_run(&mut self, run: &LaneRun, origin: Origin) -> bool {
        let (now, since) = (self.block.clocks.now, self.block.clocks.since);
        let is_strong = self.is_strong;
        let (shadow, others) = self.parts();
        // Strong accesses are recorded as reads, but not as those of other blocks.
        let mut others = others.filter(|_| !is_strong);
        let row = run.cells.clone();
        let base = origin.with_lane(0).0;
        if shadow.wrote_at >= since {
            let written = &shadow.written[row.clone()];
            if written.iter().fold(0, |last, &stamp| stamp.max(last)) >= since {
                return false;
            }
        }
        let mut reads = Reads::of(shadow, run);
        let (mut last, mut last_new) = (0, 0);
        for &stamp in &*reads.read {
            last = stamp.max(last);
            last_new = last_new.max(if stamp < since { stamp } else { 0 });
        }
        if last >= since && !reads.are_usual(base, (now, since)) {
            return false;
        }
        if let Some(others) = others
            .as_mut()
            .filter(|others| others.kept_from() <= last_new)
        {
            for (at, lane) in reads.lane.iter().enumerate() {
                let old = (reads.read[at], reads.reader[at]);
                if old.0 < since {
                    others.read(row.start + at, old, Origin(base | lane));
                }
            }
        }
        match last < since {
            true => reads.begin(base, now),
            false => reads.add(base, (now, since)),
        }
        shadow.read_at = shadow.read_at.max(now);
        shadow.touch(row);
        true
    }
}

/// What is recorded of reads of a run's cells, with their lanes.
struct Reads<'a> {
    lane: &'a [u32],
    bit: &'a [u32],
    read: &'a mut [u32],
    reader: &'a mut [u32],
    readers: &'a mut [u32],
    elsewhere: &'a mut [u32],
    other: &'a mut [u32],
}

impl<'a> Reads<'a> {
    #[inline(always)]
    fn of(shadow: &'a mut ShadowMemory, run: &LaneRun) -> Self {
        let row = run.cells.clone();
        let (lane, bit) = run.lanes();
        Reads {
            lane,
            bit,
            read: &mut shadow.read[row.clone()],
            reader: &mut shadow.reader[row.clone()],
            readers: &mut shadow.readers[row.clone()],
            elsewhere: &mut shadow.read_elsewhere[row.clone()],
            other: &mut shadow.other_reader[row],
        }
    }

    /// The columns, all as long as that of the lanes.
    #[inline(always)]
    fn each(&mut self) -> Reads<'_> {
        let count = self.lane.len();
        Reads {
            lane: self.lane,
            bit: &self.bit[..count],
            read: &mut self.read[..count],
            reader: &mut self.reader[..count],
            readers: &mut self.readers[..count],
            elsewhere: &mut self.elsewhere[..count],
            other: &mut self.other[..count],
        }
    }

    /// Whether all cells are in states for which [`Self::add`] says what becomes of them; as in
    /// `read_any_lanes`.
    #[inline(always)]
    fn are_usual(&mut self, base: u32, (now, since): (u32, u32)) -> bool {
        let all = self.each();
        let mut open = 0;
        for at in 0..all.lane.len() {
            let by = base | all.lane[at];
            let is_current =
                u32::from(all.read[at] == now) & u32::from(all.reader[at] & ASYNC == 0);
            let is_same = u32::from((all.reader[at] ^ by) & WARP == 0);
            let is_known = u32::from(all.elsewhere[at] == now)
                & u32::from(all.other[at] & ASYNC == 0)
                & u32::from((all.other[at] ^ by) & THREAD != 0);
            let is_usual = is_same | u32::from(all.elsewhere[at] < since) | is_known;
            open |= u32::from(all.read[at] >= since) & (1 ^ is_current & is_usual);
        }
        open == 0
    }

    /// Records the first reads since the last barrier of the block.
    #[inline(always)]
    fn begin(&mut self, base: u32, now: u32) {
        let all = self.each();
        all.read.fill(now);
        for at in 0..all.lane.len() {
            all.reader[at] = base | all.lane[at];
            all.readers[at] = all.bit[at];
        }
    }

    /// Records reads, each the first one of its cell, of a warp that has read it, or of another.
    #[inline(always)]
    fn add(&mut self, base: u32, (now, since): (u32, u32)) {
        let all = self.each();
        for at in 0..all.lane.len() {
            let by = base | all.lane[at];
            let is_new = all.read[at] < since;
            let is_same = (all.reader[at] ^ by) & WARP == 0;
            let is_second = !is_new & !is_same & (all.elsewhere[at] < since);
            all.elsewhere[at] = if is_second { now } else { all.elsewhere[at] };
            all.other[at] = if is_second { by } else { all.other[at] };
            let known = if is_new { 0 } else { all.readers[at] };
            let takes = is_new | is_same;
            all.readers[at] = if takes {
                known | all.bit[at]
            } else {
                all.readers[at]
            };
            all.read[at] = if is_new { now } else { all.read[at] };
            all.reader[at] = if is_new { by } else { all.reader[at] };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_hold_all_lanes_once() {
        let mut cells: [usize; LANES] = std::array::from_fn(|lane| 2 * lane);
        let of = |cells: &[usize; LANES], mask| {
            let found: Option<Vec<LaneRun>> = runs(cells, mask, 2).map(Iterator::collect);
            found.map(|runs| runs.iter().map(LaneRun::mask).collect::<Vec<_>>())
        };
        assert_eq!(of(&cells, u32::MAX), Some(vec![u32::MAX]));
        assert_eq!(of(&cells, 0xff00_ff00), Some(vec![0xff00, 0xff00_0000]));
        cells[0] = 100;
        assert_eq!(of(&cells, u32::MAX), Some(vec![1, u32::MAX << 1]));
        cells[0] = 61;
        assert_eq!(of(&cells, u32::MAX), None, "they overlap");
        assert_eq!(of(&cells, u32::MAX << 1), Some(vec![u32::MAX << 1]));
        assert_eq!(of(&cells, 0x5555_5555), None, "they are short");
    }
}
