//! The checker of uninitialised reads.

mod known;
mod lanes;

use super::finding::{Finding, Problem, Severity, Site};
use super::launch_geometry::{LaunchGeometry, flatten};
use super::settled_reads::SettledReads;
use super::shadow_memory::Origin;
use super::shape::{LANES, Shape, Shapes};
use super::tally::{Actor, Example, Tally};
use super::written::{Area, BEFORE, Marks};
use crate::error::{Fault, FaultKind};
use crate::exec::Level;
use crate::ir::{AccessKind, Calls, InstructionId, Space};
use crate::kernel::Kernel;
use crate::memory::Memory;
use crate::observer::{
    AsyncAccess, Event, Interest, LaunchContext, MemoryAccess, Observer, Progress, WarpContext,
};

/// Finds reads of shared and of global memory that was never written; an [`Observer`].
///
/// What the host writes counts as written, and so do the module's variables and what earlier
/// launches wrote; see [`Memory::mark_written`](crate::Memory::mark_written). A read of global
/// memory that another block of the same launch writes is a race, and not reported here. A value is
/// checked where it is loaded, unless it is never used at all: compilers merge loads over gaps.
/// Reads by the host are checked where the caller of the launches reports them
/// ([`Event::HostRead`]).
///
/// The blocks of a cluster are looked at as if they were one, and so are those of a cooperative
/// launch: but of what is read before a barrier of the grid and written behind it by another block,
/// the read is reported.
///
/// The findings of a launch are the same for any number of worker threads. Of a launch that ends in
/// a fault, those of the block that faulted and of the blocks before it are kept.
#[derive(Clone, Debug, Default)]
pub struct Initcheck {
    geometry: LaunchGeometry,
    level: Level,
    shapes: Shapes,
    last_allocations: Vec<u32>,
    /// Of each instruction, the bytes that matter.
    used: Vec<u32>,
    shared: Marks,
    /// Loads of shared memory of which all was written.
    known_loads: SettledReads,
    /// By allocation; none before the first access.
    global: Vec<Option<Box<Area>>>,
    /// The bytes of each allocation that were written before the launch: (start, end).
    before: Vec<Vec<(u64, u64)>>,
    /// By allocation: whether all of it was written before the launch. Then there is nothing to
    /// find in it, and it has no area.
    complete: Vec<bool>,
    /// Whether that holds for all of them.
    all_complete: bool,
    /// The mark of what the running block has written.
    mark: u32,
    block: u64,
    at: [u32; 3],
    tally: Tally,
    findings: Vec<Finding>,
}

impl Initcheck {
    /// A checker without findings.
    pub fn new() -> Self {
        Self::default()
    }

    /// What was found in the last launch.
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// What has been found so far of a launch that runs; reads of global memory are judged at its
    /// end, when it is known which blocks write it.
    pub(super) fn findings_so_far(&self) -> Vec<Finding> {
        self.tally.findings(&self.geometry)
    }

    /// Different problems so far.
    pub(super) fn noted(&self) -> usize {
        self.tally.len()
    }

    fn with_geometry(geometry: LaunchGeometry, before: Vec<Vec<(u64, u64)>>) -> Self {
        let instructions = geometry
            .kernel
            .as_ref()
            .map_or(0, Kernel::instruction_count);
        let used = geometry.kernel.as_ref().map(Kernel::used_bytes);
        let is_complete = |(&(base, bytes), before): (&(u64, u64), &Vec<(u64, u64)>)| {
            before.as_slice() == [(base, base + bytes)]
        };
        let allocations = geometry.allocations.iter().zip(&before);
        let complete: Vec<bool> = allocations.map(is_complete).collect();
        Initcheck {
            all_complete: complete.iter().all(|complete| *complete),
            complete,
            level: Level::detect(),
            used: used.unwrap_or_default(),
            shapes: Shapes::new(instructions),
            last_allocations: vec![0; instructions],
            shared: shared_marks(&geometry),
            global: vec![None; geometry.allocations.len()],
            before,
            geometry,
            ..Initcheck::default()
        }
    }

    /// Index of the allocation that holds `bytes` bytes at an address.
    #[inline(always)]
    fn allocation_index(
        &mut self,
        instruction: InstructionId,
        address: u64,
        bytes: u64,
    ) -> Option<usize> {
        self.geometry.allocation_index(
            &mut self.last_allocations[instruction.index()],
            address,
            bytes,
        )
    }

    fn area(&mut self, allocation: usize) -> &mut Area {
        let (base, bytes) = self.geometry.allocations[allocation];
        let before = &self.before[allocation];
        self.global[allocation].get_or_insert_with(|| Box::new(Area::new(base, bytes, before)))
    }

    /// Handles accesses of all lanes to one address or to consecutive ones, in the usual case:
    /// reads of written memory, or writes. False, with nothing done, for anything else.
    #[inline(always)]
    fn regular(&mut self, warp: u32, access: &MemoryAccess<'_>, shape: Shape) -> bool {
        let address = access.addresses[0];
        let lanes = match shape {
            Shape::Uniform => 1,
            _ => LANES as u64,
        };
        let bytes = lanes * u64::from(access.bytes);
        let mark = self.mark;
        let (marks, base, allocation) = match access.space {
            Space::Shared
                if address.saturating_add(bytes) <= u64::from(self.geometry.shared_bytes) =>
            {
                let own = self.geometry.shared_start(warp);
                (&mut self.shared, own.wrapping_neg(), None)
            }
            Space::Shared => return false,
            _ => {
                let Some(allocation) = self.allocation_index(access.instruction, address, bytes)
                else {
                    return false;
                };
                let base = self.geometry.allocations[allocation].0;
                let Some(area) = &mut self.global[allocation] else {
                    return false;
                };
                (&mut area.written, base, Some(allocation))
            }
        };
        if access.bytes.trailing_zeros() < marks.shift {
            return false;
        }
        let first = (address.wrapping_sub(base) >> marks.shift) as usize;
        let count = (bytes >> marks.shift) as usize;
        let row = &mut marks.marks[first..][..count];
        // Marks of earlier blocks are lower.
        let open = row
            .iter()
            .fold(0, |open, &known| open | u32::from(known < mark));
        if open == 0 {
            return true;
        }
        if access.kind != AccessKind::Store {
            return false;
        }
        match allocation {
            None => row.fill(mark),
            Some(allocation) => self.write_cells(allocation, first, count),
        }
        true
    }

    #[inline(never)]
    fn write_cells(&mut self, allocation: usize, first: usize, count: usize) {
        let (mark, block) = (self.mark, self.block_number());
        let area = self.area(allocation);
        for cell in first..first + count {
            area.write(cell, mark, block);
        }
    }

    fn block_number(&self) -> u32 {
        u32::try_from(self.block + 1).unwrap_or(u32::MAX)
    }

    #[cold]
    fn report(&mut self, block: (u64, [u32; 3]), space: Space, region: (u64, u32), origin: Origin) {
        self.report_graded(block, (space, false), region, origin);
    }

    #[cold]
    fn report_graded(
        &mut self,
        block: (u64, [u32; 3]),
        (space, is_padding): (Space, bool),
        region: (u64, u32),
        origin: Origin,
    ) {
        let example = Example {
            block: block.0,
            space,
            address: region.0,
            bytes: region.1,
            detail: String::new(),
            first: Actor {
                instruction: InstructionId(origin.instruction()),
                block: block.1,
                thread: origin.linear(),
                calls: Calls::NONE,
            },
            second: None,
        };
        let tally = &mut self.tally;
        tally.add_graded(Problem::Uninitialised, 1, is_padding, example);
    }

    /// Checks the reads that came before any write of their own block: those of cells that another
    /// block writes are races.
    fn judge_early_reads(&mut self) {
        let mut found = Vec::new();
        for area in self.global.iter().flatten() {
            let mut early: Vec<_> = area.early.iter().collect();
            early.sort_by_key(|(cell, _)| **cell);
            for (&cell, range) in early {
                let (first, last) = (area.first[cell], area.last[cell]);
                let alone =
                    |&&(block, _): &&(u32, Origin)| first == 0 || (first == block && last == block);
                if let Some(&(block, origin)) = range.iter().find(alone) {
                    let address = area.base + ((cell as u64) << area.written.shift);
                    let bytes = 1u32 << area.written.shift;
                    found.push((
                        block,
                        origin,
                        (address, bytes),
                        area.is_in_part_written(cell),
                    ));
                }
            }
        }
        for (block, origin, region, is_padding) in found {
            let index = u64::from(block) - 1;
            let at = self.geometry.block_at(index);
            self.report_graded((index, at), (Space::Global, is_padding), region, origin);
        }
    }
}

impl Initcheck {
    fn launch_start(&mut self, launch: &LaunchContext<'_>) {
        let geometry = LaunchGeometry::new(launch);
        let before = geometry
            .allocations
            .iter()
            .map(|&(base, bytes)| launch.memory.written(base, bytes))
            .collect();
        *self = Self::with_geometry(geometry, before);
    }

    fn launch_end(&mut self, launch: &LaunchContext<'_>, fault: Option<&Fault>) {
        for area in self.global.iter().flatten() {
            for (address, bytes) in area.written_ranges() {
                launch.memory.mark_written(address, bytes);
            }
        }
        if let Some(fault) = fault {
            // What was found before the budget was used up stays.
            if !matches!(fault.kind, FaultKind::Budget(_)) {
                self.tally.keep_before_fault(&self.geometry, fault);
            }
        } else {
            self.judge_early_reads();
        }
        self.findings = self.tally.findings(&self.geometry);
        self.global.clear();
        self.shared = Marks::default();
    }

    fn host_read(&mut self, memory: &Memory, address: u64, bytes: u64) {
        let end = address.saturating_add(bytes);
        let mut gap = address;
        for (from, to) in memory.written(address, bytes) {
            if gap < from {
                break;
            }
            gap = to;
        }
        if gap >= end {
            return;
        }
        let first = Site::of_host("read by the host");
        if let Some(known) = self.findings.iter_mut().find(|known| known.first == first) {
            known.count += 1;
            return;
        }
        let next = memory
            .written(gap, end - gap)
            .first()
            .map_or(end, |&(from, _)| from);
        let bytes = u32::try_from(next - gap).unwrap_or(u32::MAX);
        self.findings.push(Finding {
            severity: Severity::Error,
            problem: Problem::Uninitialised,
            kernel: self.geometry.kernel_name(),
            region: Some(self.geometry.region(Space::Global, gap, bytes)),
            detail: String::new(),
            first,
            second: None,
            count: 1,
        });
    }

    fn block_start(&mut self, block: [u32; 3]) {
        if !self.geometry.is_first(block) {
            // The blocks of a group are watched as one.
            return;
        }
        self.mark += 1;
        if self.mark == BEFORE {
            // Marks are used up: forget those of earlier blocks.
            self.mark = 1;
            self.known_loads = SettledReads::default();
            let areas = self.global.iter_mut().flatten();
            let all = areas.map(|area| &mut area.written);
            for marks in all.chain([&mut self.shared]) {
                for mark in marks.marks.iter_mut().filter(|mark| **mark != BEFORE) {
                    *mark = 0;
                }
            }
        }
        self.at = block;
        self.block = self.geometry.block_index(block);
    }

    fn block_resume(&mut self, block: [u32; 3]) {
        self.at = block;
        self.block = self.geometry.block_index(block);
    }

    /// What was read before a barrier of the grid, and not written until then, was not initialised,
    /// whatever is written later.
    fn grid_complete(&mut self) {
        self.judge_early_reads();
        for area in self.global.iter_mut().flatten() {
            area.early.clear();
        }
    }

    /// Handles an access; whether it was a load of what was written.
    #[inline(always)]
    fn memory_access(&mut self, warp: &WarpContext<'_>, access: &MemoryAccess<'_>) -> bool {
        let by = self.geometry.warp(warp);
        if !matches!(access.space, Space::Shared | Space::Global) {
            if access.space == Space::Cluster {
                let mut addresses = [0; LANES];
                let flat = flatten(&self.geometry, access, &mut addresses);
                self.irregular(by, &flat);
            }
            return false;
        }
        // Whatever the memory: the next access may repeat the pattern elsewhere.
        let shape = self.shapes.of(access);
        let is_load = access.kind == AccessKind::Load;
        if access.space == Space::Global && self.is_complete(access) {
            return is_load;
        }
        let atomic = access.kind == AccessKind::Atomic;
        if atomic || shape == Shape::Other || !self.regular(by, access, shape) {
            return self.irregular(by, access) && is_load;
        }
        is_load
    }

    fn async_access(&mut self, warp: &WarpContext<'_>, access: &AsyncAccess<'_>) {
        if access.progress != Progress::Issued {
            self.memory_access(warp, &access.access);
        }
    }
}

/// Marks of shared memory. What the system reserves there is the system's to initialise.
fn shared_marks(geometry: &LaunchGeometry) -> Marks {
    let mut marks = Marks::new(geometry.shared_of_group());
    let program = geometry.kernel.as_ref().map(|kernel| &kernel.0.program);
    if let Some(offset) = program.and_then(|program| program.reserved_shared) {
        for rank in 0..geometry.group_blocks() {
            let start = u64::from(rank) * geometry.shared_stride() + u64::from(offset);
            let cells = marks.marks.iter_mut().skip(start as usize / 4);
            let reserved = usize::from(crate::RESERVED_SHARED_BYTES) / 4;
            cells.take(reserved).for_each(|mark| *mark = BEFORE);
        }
    }
    marks
}

impl Observer for Initcheck {
    const INTEREST: Interest = Interest::LAUNCH
        .with(Interest::BLOCK)
        .with(Interest::ACCESS)
        .with(Interest::ASYNC_ACCESS)
        .with(Interest::GRID_BARRIER)
        .with(Interest::HOST_READ);
    const UNORDERED_LOADS: bool = true;
    const MARKS_WRITTEN: bool = true;

    fn fork(&self) -> Self {
        Self::with_geometry(self.geometry.clone(), self.before.clone())
    }

    fn join(&mut self, worker: Self) {
        for (own, other) in self.global.iter_mut().zip(worker.global) {
            match (own, other) {
                (Some(own), Some(other)) => own.merge(*other),
                (own, Some(other)) => *own = Some(other),
                (_, None) => {}
            }
        }
        self.tally.merge(worker.tally);
    }

    #[inline(always)]
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::LaunchStart(launch) => self.launch_start(launch),
            Event::LaunchEnd { launch, fault } => self.launch_end(launch, fault),
            Event::BlockStart { block, .. } => self.block_start(block),
            Event::BlockResume { block, .. } => self.block_resume(block),
            Event::GridComplete { .. } => self.grid_complete(),
            Event::Access { warp, accesses } if !self.skips(&accesses) => {
                self.accesses(warp, accesses);
            }
            Event::AsyncAccess { warp, access } => self.async_access(warp, access),
            Event::HostRead {
                memory,
                address,
                bytes,
            } => self.host_read(memory, address, bytes),
            _ => {}
        }
    }
}
