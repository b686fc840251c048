//! What a list of reads holds: entries for single loads, and for groups of them.

use super::super::cross_block_races::CrossBlockRaces;
use super::super::last_accesses::Blocks;
use super::super::recycled;
use super::super::shadow_memory::Origin;
use super::super::shape::{LANES, Shape, lanes};
use crate::ir::InstructionId;
use crate::kernel::Kernel;

/// Words of an entry before its offsets.
pub(super) const HEADER: usize = 4;

/// What an entry says of one load, beside offsets.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub stamp: u32,
    pub instruction: InstructionId,
    pub mask: u32,
    pub warp: u32,
    pub bytes: u32,
    pub shape: Shape,
}

/// What an entry is of.
#[derive(Clone, Copy, Debug)]
pub(super) enum Listed {
    /// One load.
    Load(Entry),
    /// All loads of a group. The entry has the first of them, and the group's number.
    Group(Entry, usize),
}

impl Entry {
    /// Of the lanes of a mask, at a stamp by a warp.
    #[inline(always)]
    pub(super) fn new(
        (stamp, warp): (u32, u32),
        instruction: InstructionId,
        mask: u32,
        (bytes, shape): (u32, Shape),
    ) -> Self {
        Entry {
            stamp,
            instruction,
            mask,
            warp,
            bytes,
            shape,
        }
    }

    #[inline(always)]
    pub(super) fn words(&self) -> [u32; HEADER] {
        let rest = self.warp << 16 | self.bytes << 3 | number_of(self.shape);
        [self.stamp, self.instruction.0, self.mask, rest]
    }
}

/// The bit of entries of groups.
const GROUP: u32 = 4;

fn number_of(shape: Shape) -> u32 {
    match shape {
        Shape::Uniform => 0,
        Shape::Consecutive => 1,
        Shape::Other => 2,
    }
}

impl Listed {
    /// The header for a group of loads of all lanes, at a stamp by a warp.
    #[inline(always)]
    pub(super) fn group((stamp, warp): (u32, u32), group: usize, shape: Shape) -> [u32; HEADER] {
        let rest = warp << 16 | GROUP | number_of(shape);
        [stamp, group as u32, u32::MAX, rest]
    }

    fn of_words([stamp, number, mask, rest]: [u32; HEADER]) -> Self {
        let shape = match rest & 3 {
            0 => Shape::Uniform,
            1 => Shape::Consecutive,
            _ => Shape::Other,
        };
        let bytes = rest >> 3 & 0x1fff;
        let entry = |id: u32| {
            let instruction = InstructionId(id);
            Entry::new((stamp, rest >> 16), instruction, mask, (bytes, shape))
        };
        match rest & GROUP {
            0 => Listed::Load(entry(number)),
            _ => Listed::Group(entry(0), number as usize),
        }
    }
}

/// Reads of an allocation, in their order.
#[derive(Clone, Debug, Default)]
pub(super) struct ReadList {
    /// Each entry has a header, and one offset, or one for each lane that reads.
    pub words: Vec<u32>,
    /// All reads are of multiples of `4 >> finest` bytes.
    pub finest: u32,
}

impl ReadList {
    pub(super) fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// Cells of `1 << shift` bytes tell all reads apart.
    pub(super) fn shift(&self) -> u32 {
        2 - self.finest
    }

    /// Calls `see` with each load, and the offset of each lane's first address in the allocation.
    /// `kernel` is the one that runs.
    pub(super) fn for_each(
        &self,
        kernel: Option<&Kernel>,
        mut see: impl FnMut(Entry, [u32; LANES]),
    ) {
        let mut rest = self.words.as_slice();
        while let Some((header, after)) = rest.split_first_chunk() {
            let listed = Listed::of_words(*header);
            let (Listed::Load(entry) | Listed::Group(entry, _)) = listed;
            let count = match entry.shape {
                Shape::Other => entry.mask.count_ones() as usize,
                _ => 1,
            };
            let Some((offsets, after)) = after.split_at_checked(count) else {
                return;
            };
            rest = after;
            let mut firsts = [offsets.first().copied().unwrap_or(0); LANES];
            if entry.shape == Shape::Other {
                for (lane, offset) in lanes(entry.mask).zip(offsets) {
                    firsts[lane] = *offset;
                }
            }
            let of_lanes = |entry: &Entry, distance: u32| -> [u32; LANES] {
                let step = match entry.shape {
                    Shape::Consecutive => entry.bytes,
                    _ => 0,
                };
                let first = |lane: usize| firsts[lane].wrapping_add(step * lane as u32);
                std::array::from_fn(|lane| first(lane).wrapping_add(distance))
            };
            match listed {
                Listed::Load(entry) => see(entry, of_lanes(&entry, 0)),
                Listed::Group(entry, group) => {
                    let groups = kernel.map(|kernel| &kernel.0.program.groups);
                    let loads = groups.map_or(&[][..], |groups| &groups[group]);
                    for load in loads {
                        let entry = Entry {
                            instruction: load.instruction,
                            bytes: load.bytes,
                            ..entry
                        };
                        let distance = load.offset.wrapping_sub(loads[0].offset);
                        see(entry, of_lanes(&entry, distance as u32));
                    }
                }
            }
        }
    }

    /// Records the reads for races between blocks alone.
    pub(super) fn settle(
        &self,
        kernel: Option<&Kernel>,
        races: &mut CrossBlockRaces,
        blocks: &Blocks,
    ) {
        self.for_each(kernel, |entry, offsets| {
            let (_, block) = blocks.at(entry.stamp);
            let origin = Origin::new(entry.instruction.index(), false, entry.warp, 0);
            let count = entry.bytes >> races.shift;
            for lane in lanes(entry.mask) {
                let first = offsets[lane] >> races.shift;
                for cell in first..first + count {
                    races.note_read(cell as usize, block, origin.with_lane(lane));
                }
            }
        });
    }

    /// Leaves the memory to later launches.
    pub(super) fn recycle(self) {
        if self.words.capacity() != 0 {
            recycled::keep_list(self.words);
        }
    }
}
