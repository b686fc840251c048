//! The race checker.

use std::collections::HashSet;

use super::between::Between;
use super::cells::{Cells, Who};
use super::clocks::Clocks;
use super::finding::{Actor, Example, Finding, Problem, Tally};
use super::scene::Scene;
use super::shape::{LANES, Shape, Shapes, lanes};
use crate::error::Fault;
use crate::ir::Space;
use crate::kernel::{InstructionId, Kernel};
use crate::observer::{
    AccessKind, BarrierComplete, LaunchContext, MemoryAccess, Observer, RepeatedAccess,
    WarpContext, WarpSync, WarpSyncKind,
};

/// Finds data races on shared and on global memory; an [`Observer`].
///
/// Two accesses race where they are of different threads, touch the same byte, one of them is a write
/// that is neither atomic nor otherwise strong, and nothing orders them, in whatever order they
/// happened (PTX ISA, "Memory Consistency Model"). The threads of a block are ordered by barriers, the
/// lanes of a warp by `bar.warp.sync` as well (shuffles and votes order no memory accesses), and the
/// blocks of a grid by nothing. Lanes of a warp that write the same value to the same place by one
/// instruction do not race: one of the writes is performed, and it does not matter which (CUDA C++
/// Programming Guide, "SIMT Architecture").
///
/// In a kernel with fences, or with acquiring or releasing operations, a strong access or an atomic
/// may carry the news that earlier writes are done; what comes after another thread's strong access is
/// then taken to be ordered behind what came before it; of threads of other blocks, where the access is
/// to global memory. Such patterns are not judged further, and races
/// may hide in them.
///
/// The findings of a launch are the same for any number of worker threads. A launch that ends in a
/// fault has none: how far its other blocks have come is chance.
#[derive(Clone, Debug, Default)]
pub struct Racecheck {
    scene: Scene,
    /// Whether the kernel has fences, releases or acquires.
    synchronises: bool,
    shapes: Shapes,
    /// The allocation that each instruction accessed last.
    places: Vec<u32>,
    shared: Cells,
    /// By allocation; none before the first access.
    global: Vec<Option<Box<Area>>>,
    block: BlockState,
    /// Blocks that performed a strong write.
    releasing: HashSet<u32>,
    tally: Tally,
    findings: Vec<Finding>,
}

/// What is known of the block that runs.
#[derive(Clone, Debug, Default)]
struct BlockState {
    clocks: Clocks,
    /// Index in the grid.
    index: u64,
    at: [u32; 3],
    /// Whether it performed a strong read.
    acquired: bool,
}

/// What is known of an allocation.
#[derive(Clone, Debug)]
struct Area {
    base: u64,
    cells: Cells,
    between: Between,
}

impl Racecheck {
    /// A race checker that has seen nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// What was found in the last launch.
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    fn with_scene(scene: Scene, synchronises: bool) -> Self {
        let instructions = scene.kernel.as_ref().map_or(0, Kernel::instruction_count);
        let threads = scene.block.iter().product();
        Racecheck {
            synchronises,
            shapes: Shapes::new(instructions),
            places: vec![0; instructions],
            shared: Cells::new(u64::from(scene.shared_bytes)),
            global: vec![None; scene.allocations.len()],
            block: BlockState {
                clocks: Clocks::new(threads),
                ..BlockState::default()
            },
            scene,
            ..Racecheck::default()
        }
    }

    /// The stamps of what lies behind are dead: lets them start anew before they run out.
    fn renew_stamps(&mut self) {
        if self.block.clocks.is_worn() {
            self.block.clocks.start_again();
            self.shared.clear();
            for area in self.global.iter_mut().flatten() {
                area.cells.clear();
            }
        }
    }

    /// Index of the allocation that holds `bytes` bytes at an address.
    #[inline(always)]
    fn place(&mut self, instruction: InstructionId, address: u64, bytes: u64) -> Option<usize> {
        self.scene
            .place(&mut self.places[instruction.index()], address, bytes)
    }

    /// The accesses of one place: a block's shared memory or an allocation.
    fn spot(&mut self, space: Space, place: usize) -> Spot<'_> {
        let Racecheck {
            scene,
            shared,
            global,
            block,
            tally,
            ..
        } = self;
        let (base, cells, between) = match space {
            Space::Shared => (0, shared, None),
            _ => {
                let (base, bytes) = scene.allocations[place];
                let area = global[place].get_or_insert_with(|| {
                    let cells = Cells::new(bytes);
                    let between = Between::new(bytes, cells.shift);
                    Box::new(Area {
                        base,
                        cells,
                        between,
                    })
                });
                (base, &mut area.cells, Some(&mut area.between))
            }
        };
        Spot {
            space,
            base,
            cells,
            between,
            block,
            tally,
        }
    }

    /// Whether a load needs no note: all that it reads is settled.
    #[inline(always)]
    fn is_settled(&mut self, access: &RepeatedAccess<'_>) -> bool {
        let since = self.block.clocks.since;
        let last = &mut self.places[access.instruction.index()];
        for run in self.shapes.runs(access) {
            let address = access.first_address.wrapping_add(run.distance);
            let (base, cells) = match access.space {
                Space::Shared => (0, &self.shared),
                _ => match self.scene.place(last, address, run.bytes) {
                    Some(place) => match &self.global[place] {
                        Some(area) => (area.base, &area.cells),
                        None => return false,
                    },
                    None => return false,
                },
            };
            let first = ((address - base) >> cells.shift) as usize;
            let settled = match ((run.bytes >> cells.shift) as usize).max(1) {
                1 => is_settled::<1>(cells, first, since),
                32 => is_settled::<32>(cells, first, since),
                count => is_settled_slice(cells, first, count, since),
            };
            if !settled {
                return false;
            }
        }
        true
    }

    /// Accesses of all lanes at one place or one behind the other.
    #[inline(always)]
    fn regular(&mut self, warp: u32, access: &MemoryAccess<'_>, shape: Shape) -> bool {
        let address = access.addresses[0];
        let lanes = match shape {
            Shape::Uniform => 1,
            _ => LANES as u64,
        };
        let bytes = lanes * u64::from(access.bytes);
        let place = match access.space {
            Space::Shared
                if address.saturating_add(bytes) <= u64::from(self.scene.shared_bytes) =>
            {
                0
            }
            Space::Shared => return false,
            _ => match self.place(access.instruction, address, bytes) {
                Some(place) => place,
                None => return false,
            },
        };
        self.regular_slow(warp, access, shape, place);
        true
    }

    #[inline(never)]
    fn regular_slow(&mut self, warp: u32, access: &MemoryAccess<'_>, shape: Shape, place: usize) {
        let mut spot = self.spot(access.space, place);
        let who = spot.who(access.instruction, warp);
        let first = spot.first_cell(access.addresses[0], access.bytes);
        let per_lane = (access.bytes >> spot.cells.shift) as usize;
        let writes = access.kind == AccessKind::Store;
        if shape == Shape::Uniform && !writes {
            for cell in first..first + per_lane {
                spot.read(cell, who, u32::MAX);
            }
            return;
        }
        let stride = if shape == Shape::Uniform { 0 } else { per_lane };
        let done = stride != 0
            && match writes {
                true => spot.write_row(first, per_lane, who),
                false => spot.read_row(first, per_lane, who),
            };
        if !done {
            for lane in 0..LANES {
                let first = first + lane * stride;
                for cell in first..first + per_lane {
                    match writes {
                        true => spot.write(cell, who.with_lane(lane), access),
                        false => spot.read(cell, who.with_lane(lane), 1 << lane),
                    }
                }
            }
        }
    }

    #[inline(never)]
    fn irregular(&mut self, warp: u32, access: &MemoryAccess<'_>) {
        let writes = access.kind == AccessKind::Store && !access.strong;
        let mut rest = access.mask;
        while rest != 0 {
            let lane = rest.trailing_zeros() as usize % LANES;
            let address = access.addresses[lane];
            // Lanes that read the same make one note.
            let same = match writes {
                true => 1 << lane,
                false => lanes(rest)
                    .filter(|&other| access.addresses[other] == address)
                    .fold(0, |same, other| same | 1 << other),
            };
            rest &= !same;
            let bytes = u64::from(access.bytes);
            let place = match access.space {
                Space::Shared
                    if address.saturating_add(bytes) <= u64::from(self.scene.shared_bytes) =>
                {
                    Some(0)
                }
                Space::Shared => None,
                _ => self.place(access.instruction, address, bytes),
            };
            // An access out of bounds is a fault of its own.
            let Some(place) = place else { continue };
            let mut spot = self.spot(access.space, place);
            let who = spot.who(access.instruction, warp).with_lane(lane);
            let first = spot.first_cell(address, access.bytes);
            let count = (access.bytes >> spot.cells.shift) as usize;
            let cells = first..first + count;
            let since = spot.block.clocks.since;
            if writes {
                for cell in cells {
                    spot.write(cell, who, access);
                }
            } else if cells.clone().all(|cell| spot.cells.written[cell] < since) {
                for cell in cells {
                    spot.read(cell, who, same);
                }
            } else {
                // Each may be a finding of its own.
                for lane in lanes(same) {
                    for cell in cells.clone() {
                        spot.read(cell, who.with_lane(lane), 1 << lane);
                    }
                }
            }
        }
    }

    /// A strong access in a kernel that synchronises by such.
    #[inline(never)]
    fn synchronise(&mut self, warp: u32, access: &MemoryAccess<'_>, after: bool) {
        let block = &mut self.block;
        // Other blocks learn nothing through shared memory.
        let between_blocks = access.space == Space::Global;
        if access.kind != AccessKind::Store && !after {
            block.clocks.acquire(warp);
            block.acquired |= between_blocks;
        }
        if access.kind != AccessKind::Load && after {
            block.clocks.release(warp);
            if between_blocks {
                self.releasing.insert(block_number(block.index));
            }
        }
    }
}

/// How blocks are named in [`Between`].
fn block_number(index: u64) -> u32 {
    u32::try_from(index + 1).unwrap_or(u32::MAX)
}

/// Whether reads of these cells need no note: two warps have read them since the last barrier, and
/// nobody has written.
#[inline(always)]
fn is_settled<const COUNT: usize>(cells: &Cells, first: usize, since: u32) -> bool {
    let written: Option<&[u32; COUNT]> = cells.written[first..].first_chunk();
    let read: Option<&[u32; COUNT]> = cells.read_elsewhere[first..].first_chunk();
    let (Some(written), Some(read)) = (written, read) else {
        return false;
    };
    let mut open = 0;
    for cell in 0..COUNT {
        open |= u32::from(written[cell] >= since) | u32::from(read[cell] < since);
    }
    open == 0
}

#[inline(always)]
fn is_settled_slice(cells: &Cells, first: usize, count: usize, since: u32) -> bool {
    let row = first..first.saturating_add(count);
    let (Some(written), Some(read)) = (
        cells.written.get(row.clone()),
        cells.read_elsewhere.get(row),
    ) else {
        return false;
    };
    let mut open = 0;
    for (&written, &read) in written.iter().zip(read) {
        open |= u32::from(written >= since) | u32::from(read < since);
    }
    open == 0
}

/// Whether two threads are lanes of one warp that write the same values to the same place by this very
/// access.
fn write_the_same(access: &MemoryAccess<'_>, earlier: Who, now: Who) -> bool {
    let ((earlier_warp, other), (warp, lane)) = (earlier.thread(), now.thread());
    let (other, lane) = (other as usize, lane as usize);
    let together = earlier_warp == warp
        && earlier.instruction() == now.instruction()
        && access.mask >> other & 1 != 0
        && access.addresses[other] == access.addresses[lane];
    let values = access.values.filter(|_| together);
    values.is_some_and(|values| values.of_lane(other).eq(values.of_lane(lane)))
}

/// Memory that a warp accesses.
struct Spot<'a> {
    space: Space,
    base: u64,
    cells: &'a mut Cells,
    between: Option<&'a mut Between>,
    block: &'a BlockState,
    tally: &'a mut Tally,
}

impl Spot<'_> {
    /// Lane 0 of a warp.
    fn who(&self, instruction: InstructionId, warp: u32) -> Who {
        Who::new(instruction.index(), self.block.acquired, warp, 0)
    }

    /// The first cell of an access, for which cells are made small enough.
    fn first_cell(&mut self, address: u64, bytes: u32) -> usize {
        let shift = bytes.trailing_zeros();
        if shift < self.cells.shift {
            self.cells.refine(shift);
            if let Some(between) = &mut self.between {
                between.refine(shift);
            }
        }
        ((address - self.base) >> self.cells.shift) as usize
    }

    /// Whether a thread's access is ordered before what another does now.
    fn is_ordered(&self, earlier: Who, stamp: u32, now: Who) -> bool {
        let clocks = &self.block.clocks;
        stamp < clocks.since || clocks.is_ordered(earlier.thread(), stamp, now.thread())
    }

    /// A read or a strong access by lanes of one warp; `who` is the first of them.
    fn read(&mut self, cell: usize, who: Who, mask: u32) {
        let clocks = &self.block.clocks;
        let (now, since, start) = (clocks.now, clocks.since, clocks.block_start);
        if self.cells.written[cell] >= since {
            let (stamp, writer) = (self.cells.written[cell], Who(self.cells.writer[cell]));
            let racing = lanes(mask)
                .map(|lane| who.with_lane(lane))
                .find(|&reader| !self.is_ordered(writer, stamp, reader));
            if let Some(reader) = racing {
                self.report(cell, writer, reader, false);
            }
        }
        let cells = &mut *self.cells;
        if cells.read[cell] < start
            && let Some(between) = &mut self.between
        {
            between.note_read(cell, block_number(self.block.index), who);
        }
        let same_warp = Who(cells.reader[cell]).thread().0 == who.thread().0;
        if cells.read[cell] == now && same_warp {
            cells.readers[cell] |= mask;
        } else if cells.read[cell] < since || same_warp {
            cells.read[cell] = now;
            cells.reader[cell] = who.0;
            cells.readers[cell] = mask;
        } else if cells.read_elsewhere[cell] < since {
            cells.read_elsewhere[cell] = now;
            cells.other_reader[cell] = who.0;
        }
    }

    /// A weak write by one thread, which takes part in `access`.
    fn write(&mut self, cell: usize, who: Who, access: &MemoryAccess<'_>) {
        let clocks = &self.block.clocks;
        let (now, since, start) = (clocks.now, clocks.since, clocks.block_start);
        if self.cells.written[cell] >= since {
            let (stamp, writer) = (self.cells.written[cell], Who(self.cells.writer[cell]));
            if !self.is_ordered(writer, stamp, who) && !write_the_same(access, writer, who) {
                self.report(cell, writer, who, true);
            }
        }
        if self.cells.read[cell] >= since {
            let stamp = self.cells.read[cell];
            let reader = Who(self.cells.reader[cell]);
            let racing = lanes(self.cells.readers[cell])
                .map(|lane| reader.with_lane(lane))
                .find(|&reader| !self.is_ordered(reader, stamp, who));
            let elsewhere = self.cells.read_elsewhere[cell];
            let other = Who(self.cells.other_reader[cell]);
            let racing = racing.or_else(|| {
                let known = elsewhere >= since && !self.is_ordered(other, elsewhere, who);
                known.then_some(other)
            });
            if let Some(reader) = racing {
                self.report(cell, who, reader, false);
            }
        }
        if self.cells.written[cell] < start
            && let Some(between) = &mut self.between
        {
            between.note_write(cell, block_number(self.block.index), who);
        }
        self.cells.written[cell] = now;
        self.cells.writer[cell] = who.0;
    }

    /// Reads of all lanes, one behind the other; false, with nothing done, unless all cells are in the
    /// same simple case.
    fn read_row(&mut self, first: usize, per_lane: usize, who: Who) -> bool {
        let count = LANES * per_lane;
        let clocks = &self.block.clocks;
        let (now, since, start) = (clocks.now, clocks.since, clocks.block_start);
        let cells = &mut *self.cells;
        let row = first..first + count;
        let all_before = |stamps: &[u32], limit: u32| {
            stamps
                .iter()
                .fold(0, |late, &stamp| late | u32::from(stamp >= limit))
                == 0
        };
        if !all_before(&cells.written[row.clone()], since) {
            return false;
        }
        let lane_of = |at: usize| who.with_lane(at / per_lane);
        if all_before(&cells.read[row.clone()], since) {
            let is_first = all_before(&cells.read[row.clone()], start);
            if let Some(between) = &mut self.between {
                let block = block_number(self.block.index);
                for at in 0..count {
                    if is_first || cells.read[first + at] < start {
                        between.note_read(first + at, block, lane_of(at));
                    }
                }
            }
            cells.read[row.clone()].fill(now);
            let marks = cells.reader[row.clone()].iter_mut();
            for (at, (reader, mask)) in marks.zip(&mut cells.readers[row]).enumerate() {
                *reader = lane_of(at).0;
                *mask = 1 << (at / per_lane);
            }
            return true;
        }
        let own = who.thread().0;
        let elsewhere = cells.read[row.clone()]
            .iter()
            .zip(&cells.reader[row.clone()]);
        let mut another_warp = true;
        for (&stamp, &reader) in elsewhere {
            another_warp &= stamp >= since && Who(reader).thread().0 != own;
        }
        if !another_warp || !all_before(&cells.read_elsewhere[row.clone()], since) {
            return false;
        }
        cells.read_elsewhere[row.clone()].fill(now);
        for (at, reader) in cells.other_reader[row].iter_mut().enumerate() {
            *reader = lane_of(at).0;
        }
        true
    }

    /// Weak writes of all lanes, one behind the other; as [`Self::read_row`].
    fn write_row(&mut self, first: usize, per_lane: usize, who: Who) -> bool {
        let count = LANES * per_lane;
        let clocks = &self.block.clocks;
        let (now, since, start) = (clocks.now, clocks.since, clocks.block_start);
        let cells = &mut *self.cells;
        let row = first..first + count;
        let touched = cells.written[row.clone()]
            .iter()
            .zip(&cells.read[row.clone()]);
        let touched = touched.fold(0, |late, (&written, &read)| {
            late | u32::from(written >= since) | u32::from(read >= since)
        });
        if touched != 0 {
            return false;
        }
        let lane_of = |at: usize| who.with_lane(at / per_lane);
        if let Some(between) = &mut self.between {
            let block = block_number(self.block.index);
            for at in 0..count {
                if cells.written[first + at] < start {
                    between.note_write(first + at, block, lane_of(at));
                }
            }
        }
        cells.written[row.clone()].fill(now);
        for (at, writer) in cells.writer[row].iter_mut().enumerate() {
            *writer = lane_of(at).0;
        }
        true
    }

    #[cold]
    #[inline(never)]
    fn report(&mut self, cell: usize, write: Who, other: Who, both_write: bool) {
        let (first, second) = match both_write && other.instruction() < write.instruction() {
            true => (other, write),
            false => (write, other),
        };
        let actor = |who: Who| Actor {
            instruction: InstructionId(who.instruction()),
            block: self.block.at,
            thread: who.linear(),
        };
        let example = Example {
            block: self.block.index,
            space: self.space,
            address: self.base + ((cell as u64) << self.cells.shift),
            bytes: 1 << self.cells.shift,
            detail: String::new(),
            first: actor(first),
            second: Some(actor(second)),
        };
        self.tally.add(Problem::RaceInBlock, 1, example);
    }
}

/// Whether a kernel has fences, mbarriers, or other operations that acquire or release.
fn synchronises(kernel: &Kernel) -> bool {
    (0..kernel.instruction_count() as u32).any(|id| {
        let opcode = kernel.instruction(InstructionId(id)).opcode();
        let mut parts = opcode.split('.');
        match parts.next() {
            Some("membar") => true,
            Some("fence") => parts.next() != Some("proxy"),
            Some("mbarrier") => true,
            _ => parts.any(|part| matches!(part, "acquire" | "release" | "acq_rel" | "sc")),
        }
    })
}

impl Observer for Racecheck {
    fn fork(&self) -> Self {
        Self::with_scene(self.scene.clone(), self.synchronises)
    }

    fn join(&mut self, worker: Self) {
        for (own, other) in self.global.iter_mut().zip(worker.global) {
            match (own, other) {
                (Some(own), Some(other)) => own.between.merge(other.between),
                (own, Some(other)) => *own = Some(other),
                (_, None) => {}
            }
        }
        self.releasing.extend(worker.releasing);
        self.tally.merge(worker.tally);
    }

    fn launch_start(&mut self, launch: &LaunchContext<'_>) {
        let scene = Scene::new(launch);
        *self = Self::with_scene(scene, synchronises(launch.kernel));
    }

    fn launch_end(&mut self, _: &LaunchContext<'_>, fault: Option<&Fault>) {
        if fault.is_some() {
            self.tally.clear();
        } else {
            for area in self.global.iter().flatten() {
                let between = &area.between;
                between.report(&self.scene, area.base, &self.releasing, &mut self.tally);
            }
        }
        self.findings = self.tally.findings(&self.scene);
        // The shadow is large and not needed any more.
        self.global.clear();
        self.shared = Cells::default();
    }

    fn block_start(&mut self, _: &Kernel, block: [u32; 3]) {
        self.renew_stamps();
        self.block.clocks.start_block();
        self.block.at = block;
        self.block.index = self.scene.block_index(block);
        self.block.acquired = false;
    }

    #[inline(always)]
    fn memory_access(&mut self, warp: &WarpContext<'_>, access: &MemoryAccess<'_>) {
        if !matches!(access.space, Space::Shared | Space::Global) {
            return;
        }
        let shape = self.shapes.of(access);
        if access.strong || shape == Shape::Other || !self.regular(warp.warp, access, shape) {
            let synchronises = access.strong && self.synchronises;
            if synchronises {
                self.synchronise(warp.warp, access, false);
            }
            self.irregular(warp.warp, access);
            if synchronises {
                self.synchronise(warp.warp, access, true);
            }
        }
    }

    #[inline(always)]
    fn repeated_access(&mut self, warp: &WarpContext<'_>, access: RepeatedAccess<'_>) {
        if !matches!(access.space, Space::Shared | Space::Global)
            || access.kind == AccessKind::Load && self.is_settled(&access)
        {
            return;
        }
        access.expand(|access| self.memory_access(warp, access));
    }

    fn unit_access(&mut self, warp: &WarpContext<'_>, access: &MemoryAccess<'_>) {
        self.memory_access(warp, access);
    }

    fn copy_begins(&mut self, warp: &WarpContext<'_>, store: &MemoryAccess<'_>) {
        self.memory_access(warp, store);
    }

    fn warp_sync(&mut self, warp: &WarpContext<'_>, sync: &WarpSync<'_>) {
        if sync.kind != WarpSyncKind::Barrier {
            return;
        }
        // Lanes with the same members wait for each other.
        let mut rest = sync.mask;
        while rest != 0 {
            let members = sync.members[rest.trailing_zeros() as usize % LANES];
            let group = lanes(rest)
                .filter(|&lane| sync.members[lane] == members)
                .fold(0, |group, lane| group | 1 << lane);
            self.block.clocks.synchronise_lanes(warp.warp, group);
            rest &= !group;
        }
    }

    fn barrier(&mut self, warp: &WarpContext<'_>, id: InstructionId, barrier: u32, _: u32) {
        let opcode = warp.kernel.instruction(id).opcode();
        if opcode.split('.').any(|part| part == "arrive") {
            self.block.clocks.arrive(warp.warp, barrier);
        }
    }

    fn barrier_complete(&mut self, barrier: &BarrierComplete<'_>) {
        match barrier.whole_block {
            true => {
                self.block.clocks.synchronise_block();
                if self.block.clocks.is_worn() {
                    self.renew_stamps();
                }
            }
            false => {
                let clocks = &mut self.block.clocks;
                clocks.synchronise_warps(barrier.barrier, barrier.arrived);
            }
        }
    }
}
