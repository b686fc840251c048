//! Which cells of memory were written, and by which blocks.

use std::collections::HashMap;

use super::shadow_memory::{Origin, refine};

/// The mark of what was written before the launch.
pub(super) const BEFORE: u32 = u32::MAX;

/// Which cells of a range of memory were written.
#[derive(Clone, Debug, Default)]
pub(super) struct Marks {
    pub(super) bytes: u64,
    /// A cell has `1 << shift` bytes.
    pub(super) shift: u32,
    /// The mark of the last block that wrote to the cell; 0 for none.
    pub(super) marks: Vec<u32>,
}

impl Marks {
    pub(super) fn new(bytes: u64) -> Self {
        Marks {
            bytes,
            shift: 2,
            marks: vec![0; (bytes as usize).div_ceil(4)],
        }
    }

    pub(super) fn refine(&mut self, shift: u32) {
        let times = 1 << (self.shift - shift);
        self.shift = shift;
        let count = (self.bytes as usize).div_ceil(1 << shift);
        refine(&mut self.marks, times, count);
    }
}

/// What the blocks of a launch did with an allocation.
#[derive(Clone, Debug)]
pub(super) struct Area {
    pub(super) base: u64,
    pub(super) written: Marks,
    /// The first and the last block that wrote to each cell: index in the grid plus 1, or 0.
    pub(super) first: Vec<u32>,
    pub(super) last: Vec<u32>,
    /// Whether anything was written.
    wrote: bool,
    /// By cell without a mark: the first and the last block that read it.
    pub(super) early: HashMap<usize, [(u32, Origin); 2]>,
}

impl Area {
    pub(super) fn new(base: u64, bytes: u64, before: &[(u64, u64)]) -> Self {
        let mut written = Marks::new(bytes);
        let ends_cell = |at: u64| at.is_multiple_of(4) || at == bytes;
        if !before
            .iter()
            .all(|&(from, to)| ends_cell(from - base) && ends_cell(to - base))
        {
            written.refine(0);
        }
        for &(from, to) in before {
            let cells = (from - base) >> written.shift..(to - base).div_ceil(1 << written.shift);
            written.marks[cells.start as usize..cells.end as usize].fill(BEFORE);
        }
        let count = written.marks.len();
        Area {
            base,
            written,
            first: vec![0; count],
            last: vec![0; count],
            wrote: false,
            early: HashMap::new(),
        }
    }

    /// Splits cells into cells of `1 << shift` bytes.
    pub(super) fn refine(&mut self, shift: u32) {
        if shift == self.written.shift {
            return;
        }
        let times = 1usize << (self.written.shift - shift);
        self.written.refine(shift);
        let count = self.written.marks.len();
        refine(&mut self.first, times, count);
        refine(&mut self.last, times, count);
        let early = std::mem::take(&mut self.early);
        let parts = early.into_iter().flat_map(|(cell, range)| {
            (cell * times..(cell + 1) * times).map(move |part| (part, range))
        });
        self.early = parts.collect();
    }

    /// Marks a cell as written by a block.
    #[inline(always)]
    pub(super) fn write(&mut self, cell: usize, mark: u32, block: u32) {
        let known = &mut self.written.marks[cell];
        if *known < mark {
            *known = mark;
            self.note_write(cell, block);
        }
    }

    pub(super) fn note_write(&mut self, cell: usize, block: u32) {
        self.wrote = true;
        let first = self.first[cell];
        self.first[cell] = if first == 0 { block } else { first.min(block) };
        self.last[cell] = self.last[cell].max(block);
    }

    pub(super) fn note_early(&mut self, cell: usize, reader: (u32, Origin)) {
        let [first, last] = self.early.entry(cell).or_insert([reader; 2]);
        if reader.0 < first.0 {
            *first = reader;
        }
        if reader.0 > last.0 {
            *last = reader;
        }
    }

    pub(super) fn merge(&mut self, mut other: Area) {
        let shift = self.written.shift.min(other.written.shift);
        self.refine(shift);
        other.refine(shift);
        let count = if other.wrote { self.first.len() } else { 0 };
        for cell in 0..count {
            for block in [other.first[cell], other.last[cell]] {
                if block != 0 {
                    self.note_write(cell, block);
                }
            }
        }
        for (cell, range) in other.early {
            for reader in range {
                self.note_early(cell, reader);
            }
        }
    }

    /// Whether a cell was never written, and other bytes of its word were: compilers copy
    /// structures with their padding.
    pub(super) fn is_in_part_written(&self, cell: usize) -> bool {
        let times = 4usize >> self.written.shift.min(2);
        let first = cell / times * times;
        let written = |&cell: &usize| {
            self.written.marks.get(cell).is_some_and(|mark| *mark != 0)
                || self.first.get(cell).is_some_and(|block| *block != 0)
        };
        !written(&cell) && (first..first + times).any(|cell| written(&cell))
    }

    /// The ranges that the launch wrote to: (address, bytes).
    pub(super) fn written_ranges(&self) -> Vec<(u64, u64)> {
        let bytes = 1 << self.written.shift;
        let mut ranges: Vec<(u64, u64)> = Vec::new();
        if !self.wrote {
            return ranges;
        }
        for cell in (0..self.first.len()).filter(|&cell| self.first[cell] != 0) {
            let start = self.base + cell as u64 * bytes;
            match ranges.last_mut() {
                Some((from, length)) if *from + *length == start => *length += bytes,
                _ => ranges.push((start, bytes)),
            }
        }
        // The last cell may reach past the end of the allocation.
        let end = self.base + self.written.bytes;
        if let Some((from, length)) = ranges.last_mut() {
            *length = (*length).min(end - *from);
        }
        ranges
    }
}
