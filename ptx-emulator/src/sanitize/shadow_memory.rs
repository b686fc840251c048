//! Shadow memory of the race checker: the last accesses to each cell.

use std::ops::Range;

use super::bounds::Bounds;
use super::recycled::{self, Columns};

/// The origin of an access in 32 bits: instruction (17), whether the access is asynchronous (1),
/// whether the block had acquired something before (1), warp of the running cluster (8), lane (5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Origin(pub u32);

const INSTRUCTION_BITS: u32 = 17;

/// Whether the block had acquired something before.
const ACQUIRED: u32 = 1 << 13;

impl Origin {
    /// Instructions beyond 131 072 are all taken for the last.
    pub(super) fn new(instruction: usize, acquired: bool, warp: u32, lane: u32) -> Self {
        let most = (1 << INSTRUCTION_BITS) - 1;
        let instruction = instruction.min(most) as u32;
        let acquired = if acquired { ACQUIRED } else { 0 };
        Origin(instruction << 15 | acquired | (warp & 0xff) << 5 | lane & 31)
    }

    pub(super) fn instruction(self) -> u32 {
        self.0 >> 15
    }

    /// The same origin, of an asynchronous operation.
    pub(super) fn asynchronous(self) -> Self {
        Origin(self.0 | 1 << 14)
    }

    pub(super) fn is_async(self) -> bool {
        self.0 >> 14 & 1 != 0
    }

    pub(super) fn acquired(self) -> bool {
        self.0 & ACQUIRED != 0
    }

    /// Whether this is the origin of an operation that began as `begun`: the block may have
    /// acquired something meanwhile.
    pub(super) fn ends(self, begun: Origin) -> bool {
        (self.0 ^ begun.0) & !ACQUIRED == 0
    }

    /// The same origin, of an operation that began as `begun`.
    pub(super) fn acquired_as(self, begun: Origin) -> Self {
        Origin(self.0 & !ACQUIRED | begun.0 & ACQUIRED)
    }

    /// Warp and lane.
    pub(super) fn thread(self) -> (u32, u32) {
        (self.0 >> 5 & 0xff, self.0 & 31)
    }

    /// Linear index of the thread in its cluster, after the warps of the blocks of lower rank.
    pub(super) fn linear(self) -> u32 {
        self.0 & 0x1fff
    }

    /// Another lane of the same warp.
    pub(super) fn with_lane(self, lane: usize) -> Self {
        Origin(self.0 & !31 | lane as u32 & 31)
    }
}

/// The last accesses to each cell of a range of memory.
///
/// A cell has 4 bytes until something smaller is accessed. Stamps are those of
/// [`Clocks`](super::clocks::Clocks); those from before the launch are older than all.
#[derive(Clone, Debug, Default)]
pub(super) struct ShadowMemory {
    bytes: u64,
    /// Whether something may have been recorded.
    pub touched: bool,
    /// Nothing has been recorded of cells outside of it.
    bounds: Bounds,
    /// A cell has `1 << shift` bytes.
    pub shift: u32,
    /// The highest stamps of writes, and of reads.
    pub wrote_at: u32,
    pub read_at: u32,
    /// Stamp and origin of the last weak write.
    pub written: Vec<u32>,
    pub writer: Vec<u32>,
    /// Stamp and origin of a read or a strong access, and its lanes: several of one warp.
    pub read: Vec<u32>,
    pub reader: Vec<u32>,
    pub readers: Vec<u32>,
    /// The same of another warp.
    pub read_elsewhere: Vec<u32>,
    pub other_reader: Vec<u32>,
}

impl ShadowMemory {
    /// Something is recorded of these cells.
    #[inline(always)]
    pub(super) fn touch(&mut self, cells: Range<usize>) {
        self.bounds.include(cells);
    }

    /// The cells of which something may have been recorded since the launch began; others are
    /// older.
    pub(super) fn bounds(&self) -> &Bounds {
        &self.bounds
    }

    /// Of memory that nothing has accessed; `start` is a stamp from the launch or its beginning.
    pub(super) fn new(bytes: u64, start: u32) -> Self {
        let mut cells = ShadowMemory {
            bytes,
            shift: 2,
            bounds: Bounds::default(),
            ..ShadowMemory::default()
        };
        cells.renew(start);
        cells
    }

    /// Takes columns in which nothing is recorded.
    fn renew(&mut self, start: u32) {
        let new = recycled::take_columns(self.count(), start);
        for (column, new) in self.columns().into_iter().zip(new) {
            *column = new;
        }
    }

    /// Leaves the columns to later launches. `above` is higher than all stamps.
    pub(super) fn recycle(mut self, above: u32) {
        let columns: Columns = self.columns().map(std::mem::take);
        recycled::keep_columns(columns, above);
    }

    pub(super) fn count(&self) -> usize {
        (self.bytes as usize).div_ceil(1 << self.shift)
    }

    fn columns(&mut self) -> [&mut Vec<u32>; 7] {
        [
            &mut self.written,
            &mut self.writer,
            &mut self.read,
            &mut self.reader,
            &mut self.readers,
            &mut self.read_elsewhere,
            &mut self.other_reader,
        ]
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Whether all of these cells have been read since a stamp, by threads of one warp alone, and
    /// that not the warp of `origin`.
    #[inline(always)]
    pub(super) fn is_read_by_other_warp(
        &self,
        row: Range<usize>,
        origin: Origin,
        since: u32,
    ) -> bool {
        let own = origin.thread().0;
        let noted = self.read[row.clone()].iter().zip(&self.reader[row.clone()]);
        let noted = noted.zip(&self.read_elsewhere[row]);
        let others = noted.fold(0, |any, ((&stamp, &reader), &elsewhere)| {
            let is_own = Origin(reader).thread().0 == own;
            any | u32::from(stamp < since) | u32::from(is_own) | u32::from(elsewhere >= since)
        });
        others == 0
    }

    /// Forgets all accesses.
    pub(super) fn clear(&mut self) {
        (self.wrote_at, self.read_at) = (0, 0);
        for stamps in [&mut self.written, &mut self.read, &mut self.read_elsewhere] {
            stamps.fill(0);
        }
    }

    /// Splits cells into cells of `1 << shift` bytes; `start` as for [`Self::new`].
    pub(super) fn refine(&mut self, shift: u32, start: u32) {
        let times = 1 << (self.shift - shift);
        self.shift = shift;
        if !self.touched {
            let old = std::mem::take(self);
            (self.bytes, self.shift) = (old.bytes, shift);
            self.renew(start);
            old.recycle(start);
            return;
        }
        let count = self.count();
        let old = std::mem::take(&mut self.bounds).range();
        if !old.is_empty() {
            self.bounds.include(times * old.start..times * old.end);
        }
        for column in self.columns() {
            refine(column, times, count);
        }
    }
}

/// Sets the cells of a row, `CELLS` for each lane, to the value of their lane.
#[inline(always)]
pub(super) fn fill_row<const CELLS: usize>(row: &mut [u32], value: impl Fn(usize) -> u32) {
    for (lane, cells) in row.as_chunks_mut::<CELLS>().0.iter_mut().enumerate() {
        *cells = [value(lane); CELLS];
    }
}

/// Repeats every element.
pub(super) fn refine<T: Copy>(column: &mut Vec<T>, times: usize, count: usize) {
    let repeated = column
        .iter()
        .flat_map(|&cell| std::iter::repeat_n(cell, times));
    *column = repeated.take(count).collect();
}
