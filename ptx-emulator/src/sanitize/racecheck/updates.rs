//! Strong writes (atomics, and volatile, relaxed or releasing stores) against plain reads: which
//! nothing orders, as where a barrier is missing behind a histogram.
//!
//! Strong accesses do not race with each other, and are recorded elsewhere as reads, which race
//! with plain writes. Here the strong writes are compared with plain reads: a strong write with the
//! reads before it that the shadow memory holds, a plain read with the strong writes since the last
//! barrier of the block. Kernels without strong writes pay nothing, and others pay for a plain read
//! only while there are strong writes to the same space.

use std::collections::HashSet;

use rustc_hash::FxHashMap;

use super::super::finding::{Actor, Example, Problem};
use super::super::launch_geometry::flatten;
use super::super::shadow_memory::Origin;
use super::super::shape::{LANES, lanes};
use super::{Area, Racecheck, block_number};
use crate::ir::{AccessKind, Calls, InstructionId, Space};
use crate::kernel::Kernel;
use crate::observer::{Accesses, Form, MemoryAccess, WarpContext};

/// Strong writes to one word that are remembered; of more, the first ones.
const REMEMBERED: usize = 4;

/// A strong write to a word by lanes of one warp.
#[derive(Clone, Copy, Debug, Default)]
struct Past {
    stamp: u32,
    origin: Origin,
    lanes: u32,
    /// The bytes of the word, one bit each.
    bytes: u8,
}

/// The strong writes to a word since the last barrier of the block.
#[derive(Clone, Copy, Debug, Default)]
struct StrongWrites {
    count: usize,
    writes: [Past; REMEMBERED],
}

impl StrongWrites {
    fn writes(&self) -> &[Past] {
        &self.writes[..self.count.min(REMEMBERED)]
    }

    fn note(&mut self, new: Past, since: u32) {
        let count = self.count.min(REMEMBERED);
        let same = |known: &&mut Past| {
            known.origin.with_lane(0) == new.origin.with_lane(0)
                && (known.stamp, known.bytes) == (new.stamp, new.bytes)
        };
        if let Some(known) = self.writes[..count].iter_mut().find(same) {
            known.lanes |= new.lanes;
            return;
        }
        let dead = self.writes[..count]
            .iter()
            .position(|known| known.stamp < since);
        if let Some(slot) = dead {
            self.writes[slot] = new;
        } else if count < REMEMBERED {
            self.writes[count] = new;
            self.count = count + 1;
        }
    }
}

/// Shared and global memory, by word: the strong writes since the last barrier of the block.
#[derive(Clone, Debug, Default)]
pub(super) struct Updates {
    /// Whether the kernel has strong writes to shared, and to global memory.
    has: [bool; 2],
    /// Whether there are entries since the last barrier of the block, of shared and of global
    /// memory.
    live: [bool; 2],
    /// The stamp of the last strong access to global memory.
    global_strong: u32,
    /// The lowest and the highest word to which there are entries since the last barrier of the
    /// block, of shared and of global memory.
    range: [(u64, u64); 2],
    /// By number of a page of global memory, 16 words: its place in `pages`.
    of_global: FxHashMap<u64, u32>,
    /// Of shared memory the same plus 1; 0 where there is none.
    of_shared: Vec<u32>,
    /// Entries from before the last barrier of the block stay, and count as none.
    pages: Vec<[StrongWrites; PAGE]>,
    /// Plain loads of a word by threads that then try to replace it by `atom.cas`, as in the CUDA
    /// C++ Programming Guide ("Atomic Functions"): where such a read comes out old, the comparison
    /// fails. They do not race with strong writes.
    pub(super) guesses: HashSet<InstructionId>,
}

/// Words of a page of the table.
const PAGE: usize = 16;

/// A range that holds nothing.
const NOWHERE: (u64, u64) = (u64::MAX, 0);

/// Pages that are kept beyond a barrier of the block.
const MAX_PAGES: usize = 4096;

/// Index in tables by space.
fn of_space(space: Space) -> Option<usize> {
    match space {
        Space::Shared | Space::Cluster => Some(0),
        Space::Global => Some(1),
        _ => None,
    }
}

impl Updates {
    /// Those of a kernel.
    pub(super) fn of_kernel(kernel: Option<&Kernel>) -> Self {
        let mut updates = Updates::default();
        let Some(kernel) = kernel else {
            return updates;
        };
        for index in 0..kernel.instruction_count() as u32 {
            let opcode = kernel.instruction(InstructionId(index)).opcode();
            let mut parts = opcode.split('.');
            let is_strong = |part| matches!(part, "volatile" | "relaxed" | "release" | "mmio");
            let writes = match parts.next() {
                Some("atom" | "red") => true,
                Some("st") => parts.any(is_strong),
                _ => false,
            };
            if writes {
                let names = |space: &str| opcode.split('.').any(|part| part.starts_with(space));
                updates.has[0] |= !names("global");
                updates.has[1] |= !names("shared");
            }
        }
        updates
    }

    /// Forgets all: a barrier of the block orders them, or a block begins.
    pub(super) fn clear(&mut self) {
        self.live = [false; 2];
        self.range = [NOWHERE; 2];
        if self.pages.len() > MAX_PAGES {
            self.forget();
        }
    }

    /// As [`Self::clear`], where stamps begin again.
    pub(super) fn forget(&mut self) {
        self.live = [false; 2];
        self.range = [NOWHERE; 2];
        self.global_strong = 0;
        self.of_global.clear();
        self.of_shared.clear();
        self.pages.clear();
    }

    /// The strong writes to a word, for a new one.
    #[inline(always)]
    fn word(&mut self, is_global: bool, word: u64) -> &mut StrongWrites {
        let range = &mut self.range[usize::from(is_global)];
        *range = (range.0.min(word), range.1.max(word));
        let next = self.pages.len() as u32;
        let page = word / PAGE as u64;
        let number = if is_global {
            *self.of_global.entry(page).or_insert(next)
        } else {
            let page = page as usize;
            if page >= self.of_shared.len() {
                self.of_shared.resize(page + 1, 0);
            }
            let number = &mut self.of_shared[page];
            if *number == 0 {
                *number = next + 1;
            }
            *number - 1
        };
        if number == next {
            self.pages.push([StrongWrites::default(); PAGE]);
        }
        &mut self.pages[number as usize][(word % PAGE as u64) as usize]
    }

    /// The strong writes to a word, if there are any.
    fn known(&self, is_global: bool, word: u64) -> Option<&StrongWrites> {
        let page = word / PAGE as u64;
        let number = match is_global {
            true => *self.of_global.get(&page)?,
            false => self.of_shared.get(page as usize)?.checked_sub(1)?,
        };
        self.pages[number as usize].get((word % PAGE as u64) as usize)
    }

    /// Whether strong accesses to a space are recorded apart: the kernel has strong writes to it.
    #[inline(always)]
    pub(super) fn records(&self, space: Space) -> bool {
        of_space(space).is_some_and(|space| self.has[space])
    }
}

impl Racecheck {
    /// Compares plain reads with the strong writes before them.
    #[inline(always)]
    pub(super) fn compare_reads(&mut self, warp: &WarpContext<'_>, accesses: Accesses<'_>) {
        if self.updates.has == [false; 2] {
            return;
        }
        let (space, is_plain_read) = match accesses.0 {
            Form::Full(access) => (
                access.space,
                access.kind == AccessKind::Load && !access.strong,
            ),
            Form::Repeated(access) => (access.space, access.kind == AccessKind::Load),
            Form::Loads(loads) => (loads.space, true),
        };
        if is_plain_read && self.updates.records(space) && self.has_strong(space) {
            accesses.for_each(|access| self.compare_read(warp, access));
        }
    }

    /// Whether there are strong accesses with which a read may race.
    fn has_strong(&self, space: Space) -> bool {
        let is_global = space == Space::Global;
        let in_block = is_global && self.updates.global_strong >= self.block.clocks.block_start;
        self.updates.live[usize::from(is_global)] || in_block
    }

    #[cold]
    #[inline(never)]
    fn compare_read(&mut self, warp: &WarpContext<'_>, access: &MemoryAccess<'_>) {
        let semantics = self.semantics[access.instruction.index()];
        if semantics.is_mbarrier || semantics.is_async {
            return;
        }
        let by = self.geometry.warp(warp);
        let mut addresses = [0; LANES];
        let flat = match access.space {
            Space::Cluster => flatten(&self.geometry, access, &mut addresses),
            _ => *access,
        };
        let own = match access.space {
            Space::Shared => self.geometry.shared_start(by),
            _ => 0,
        };
        let is_global = access.space == Space::Global;
        if is_global {
            self.note_plain_read(by, &flat);
        }
        let (from, to) = self.updates.range[usize::from(is_global)];
        let last = u64::from(access.bytes) - 1;
        let may_meet = |address: u64| {
            let first = address.wrapping_add(own);
            first / 4 <= to && first.wrapping_add(last) / 4 >= from
        };
        if !lanes(flat.mask).any(|lane| may_meet(flat.addresses[lane])) {
            return;
        }
        for lane in lanes(flat.mask) {
            let first = flat.addresses[lane].wrapping_add(own);
            let origin = Origin::new(access.instruction.index(), false, by, lane as u32);
            for (word, bytes) in words(first, access.bytes) {
                let Some(known) = self.updates.known(is_global, word) else {
                    continue;
                };
                let clocks = &self.block.clocks;
                let racing = known.writes().iter().find_map(|past| {
                    if past.stamp < clocks.since || past.bytes & bytes == 0 {
                        return None;
                    }
                    let of_lane = |lane: usize| past.origin.with_lane(lane % LANES);
                    let is_open = |other: &Origin| {
                        other.thread() != origin.thread()
                            && !clocks.is_ordered(*other, past.stamp, origin.thread())
                    };
                    lanes(past.lanes).map(of_lane).find(is_open)
                });
                if let Some(write) = racing {
                    self.report_update(is_global, 4 * word, write, origin, bytes);
                }
            }
        }
    }

    /// Records reads for races between blocks. Elsewhere a block's first read of a cell is
    /// recorded, and a strong access counts as a read.
    fn note_plain_read(&mut self, by: u32, access: &MemoryAccess<'_>) {
        let block = block_number(self.block.index);
        let start = self.block.clocks.block_start;
        let has_strong =
            |area: &Option<Box<Area>>| area.as_ref().is_some_and(|area| area.strong >= start);
        let known = self.last_allocations[access.instruction.index()] as usize;
        if let Some(&(base, length)) = self.geometry.allocations.get(known)
            && !has_strong(&self.global[known])
            && lanes(access.mask).all(|lane| access.addresses[lane].wrapping_sub(base) < length)
        {
            return;
        }
        for lane in lanes(access.mask) {
            let address = access.addresses[lane];
            let Some(allocation) =
                self.allocation_index(access.instruction, address, access.bytes.into())
            else {
                continue;
            };
            if !has_strong(&self.global[allocation]) {
                continue;
            }
            let mut view = self.view(Space::Global, allocation, by);
            let origin = view.origin(access.instruction, by).with_lane(lane);
            let first = view.first_cell(address, access.bytes);
            let count = (access.bytes >> view.cells.shift) as usize;
            if let Some(cross_block) = &mut view.cross_block {
                for cell in first..first + count {
                    cross_block.note_read(cell, block, origin);
                }
            }
        }
    }

    /// Compares a strong write with the plain reads before it, and remembers it. `access` is flat:
    /// its addresses in shared memory count from the start of the cluster's.
    #[inline(never)]
    pub(super) fn note_strong(&mut self, by: u32, access: &MemoryAccess<'_>) {
        let Some(space) = of_space(access.space) else {
            return;
        };
        if !self.updates.has[space] {
            return;
        }
        self.catch_up();
        let writes = access.kind != AccessKind::Load;
        let is_global = access.space == Space::Global;
        let own = match access.space {
            Space::Shared => self.geometry.shared_start(by),
            _ => 0,
        };
        let is_cas = self.semantics[access.instruction.index()].is_compare_and_swap;
        let (now, since) = (self.block.clocks.now, self.block.clocks.since);
        self.updates.live[space] |= writes;
        for lane in lanes(self.note_strong_lanes(by, access, writes)) {
            self.compare_write(by, access, lane, (writes, is_cas));
        }
        if !writes {
            return;
        }
        for lane in lanes(access.mask) {
            let origin = Origin::new(access.instruction.index(), false, by, lane as u32);
            let first = access.addresses[lane].wrapping_add(own);
            for (word, bytes) in words(first, access.bytes) {
                let past = Past {
                    stamp: now,
                    origin,
                    lanes: 1 << lane,
                    bytes,
                };
                self.updates.word(is_global, word).note(past, since);
            }
        }
    }

    /// Lets plain accesses to an allocation be recorded at once for races between blocks, as strong
    /// ones are: the shadow memory does not tell them apart.
    fn record_at_once(&mut self, space: Space, allocation: usize, by: u32) {
        if space != Space::Global || !self.view(space, allocation, by).is_lazy {
            return;
        }
        if let Some(area) = &mut self.global[allocation] {
            area.settle(&self.block.blocks);
            area.is_lazy = false;
        }
    }

    /// Records strong accesses of lanes to one allocation, or to shared memory, for races between
    /// blocks; the lanes that are left to [`Self::compare_write`]: those of other allocations, and
    /// those for which the shadow memory holds plain reads of this block.
    fn note_strong_lanes(&mut self, by: u32, access: &MemoryAccess<'_>, writes: bool) -> u32 {
        let is_global = access.space == Space::Global;
        let address = access.addresses[access.mask.trailing_zeros() as usize % LANES];
        let allocation = match access.space {
            Space::Global => {
                self.allocation_index(access.instruction, address, access.bytes.into())
            }
            _ => Some(0),
        };
        let Some(allocation) = allocation else {
            return access.mask;
        };
        self.record_at_once(access.space, allocation, by);
        let semantics = std::mem::take(&mut self.semantics);
        let block = block_number(self.block.index);
        let mut view = self.view(access.space, allocation, by);
        let here = view.lanes_within(access, access.mask);
        let mut left = access.mask & !here;
        let origin = view.origin(access.instruction, by);
        let start = view.block.clocks.block_start;
        for lane in lanes(here) {
            let first = view.first_cell(access.addresses[lane], access.bytes);
            for cell in first..first + (access.bytes >> view.cells.shift) as usize {
                if let Some(cross_block) = &mut view.cross_block {
                    cross_block.note_strong(cell, block, origin.with_lane(lane), writes);
                }
                for (stamp, reader, _) in view.recorded_reads(cell) {
                    let is_plain = stamp >= start
                        && reader.instruction() != origin.instruction()
                        && !reader.is_async()
                        && semantics[reader.instruction() as usize].is_plain_load;
                    left |= u32::from(is_plain) << lane;
                }
            }
        }
        self.semantics = semantics;
        let now = self.block.clocks.now;
        if is_global && let Some(area) = &mut self.global[allocation] {
            area.strong = now;
            self.updates.global_strong = now;
        }
        left
    }

    /// Compares a strong access of a lane with the plain reads that the shadow memory holds, and
    /// records it for races between blocks.
    fn compare_write(
        &mut self,
        by: u32,
        access: &MemoryAccess<'_>,
        lane: usize,
        (writes, is_cas): (bool, bool),
    ) {
        let address = access.addresses[lane];
        let is_global = access.space == Space::Global;
        let allocation = match access.space {
            Space::Global => {
                match self.allocation_index(access.instruction, address, access.bytes.into()) {
                    Some(allocation) => allocation,
                    None => return,
                }
            }
            _ => 0,
        };
        let block = block_number(self.block.index);
        let now = self.block.clocks.now;
        self.record_at_once(access.space, allocation, by);
        let view = self.view(access.space, allocation, by);
        if !view.holds(address, access.bytes) {
            return;
        }
        let mut view = view;
        let origin = view.origin(access.instruction, by).with_lane(lane);
        let first = view.first_cell(address, access.bytes);
        let cells = first..first + (access.bytes >> view.cells.shift) as usize;
        if let Some(cross_block) = &mut view.cross_block {
            for cell in cells.clone() {
                cross_block.note_strong(cell, block, origin, writes);
            }
        }
        let shift = view.cells.shift;
        let base = if is_global { view.base } else { 0 };
        let mut racing = None;
        let mut own_reads = [None; 2];
        for cell in cells {
            let recorded = view.recorded_reads(cell);
            for ((stamp, reader, lanes_of), own) in recorded.into_iter().zip(&mut own_reads) {
                if stamp < view.block.clocks.block_start || reader.is_async() {
                    continue;
                }
                let thread = origin.thread();
                let by_itself = reader.thread().0 == thread.0 && lanes_of >> lane & 1 != 0;
                if by_itself {
                    *own = Some(InstructionId(reader.instruction()));
                }
                let is_open = |other: &Origin| {
                    other.thread() != thread && !view.is_ordered(*other, stamp, origin)
                };
                let open = lanes(lanes_of)
                    .map(|lane| reader.with_lane(lane))
                    .find(is_open);
                if writes && racing.is_none() {
                    racing = open.map(|reader| (reader, base + ((cell as u64) << shift)));
                }
            }
        }
        if is_global && let Some(area) = &mut self.global[allocation] {
            area.strong = now;
            self.updates.global_strong = now;
        }
        let is_plain = |id: InstructionId| self.semantics[id.index()].is_plain_load;
        if is_cas {
            let own = own_reads.into_iter().flatten().filter(|&id| is_plain(id));
            self.updates.guesses.extend(own.collect::<Vec<_>>());
        }
        if let Some((reader, at)) = racing
            && self.semantics[reader.instruction() as usize].is_plain_load
        {
            let bytes = ((1u32 << access.bytes.min(4)) - 1) as u8;
            self.report_update(is_global, at, origin, reader, bytes);
        }
    }

    fn report_update(
        &mut self,
        is_global: bool,
        address: u64,
        write: Origin,
        read: Origin,
        bytes: u8,
    ) {
        let actor = |origin: Origin| Actor {
            instruction: InstructionId(origin.instruction()),
            block: self.block.at,
            thread: origin.linear(),
            calls: Calls::NONE,
        };
        let is_atomic = self.geometry.action(InstructionId(write.instruction())) == "atomic";
        let example = Example {
            block: self.block.index,
            space: match is_global {
                true => Space::Global,
                false => Space::Shared,
            },
            address: address + u64::from(bytes.trailing_zeros() % 8),
            bytes: bytes.count_ones(),
            detail: match is_atomic {
                true => "an atomic and a plain read".to_owned(),
                false => "a strong write and a plain read".to_owned(),
            },
            first: actor(write),
            second: Some(actor(read)),
        };
        self.tally.add(Problem::RaceInBlock, 1, example);
    }
}

/// The words that an access touches, each with its bytes in it.
fn words(first: u64, bytes: u32) -> impl Iterator<Item = (u64, u8)> {
    let end = first.saturating_add(u64::from(bytes));
    (first / 4..end.div_ceil(4)).map(move |word| {
        let from = first.max(4 * word) - 4 * word;
        let to = end.min(4 * word + 4) - 4 * word;
        (word, (((1u16 << to) - 1) & !((1u16 << from) - 1)) as u8)
    })
}
