//! Counters: what a kernel does to the machine, exactly, per kernel, instruction and source line.
//!
//! # Global memory
//!
//! A warp instruction is one request. It moves the distinct 32-byte sectors that hold any byte of
//! its lanes' accesses (CUDA C++ Best Practices Guide, "Coalesced Access to Global Memory"). Caches
//! are not modelled: [`Footprint`] gives what would move with an infinite cache.
//!
//! Bulk copies are no requests of lanes, and are counted apart.
//!
//! # Shared memory
//!
//! Memory has 32 banks of 4 bytes. Lanes are served in passes: all at once for up to 4 bytes per
//! lane, by half warps for 8 bytes and by quarter warps for 16, in the order of the lanes. Two
//! passes of a load become one if, in all of the warp, lanes `l` and `l xor 1` read the same
//! address, or all `l` and `l xor 2`; inactive lanes agree with any. A pass takes as many
//! wavefronts as the bank with the most distinct words among its lanes has of them, and one at
//! least, even with no active lane; lanes of one word share it.
//!
//! For 4 bytes this is the CUDA C++ Programming Guide's rule ("Compute Capability 5.x", "Shared
//! Memory"). For wider accesses it has none for current GPUs; this one was found by timing 642
//! patterns on an H200 (compute capability 9.0), of which a test replays 507.
//!
//! # Constant memory
//!
//! A request is served address by address (CUDA C++ Programming Guide, "Device Memory Accesses").

mod cost;
mod counts;
mod footprint;
mod groups;
pub(crate) mod lines;
mod opcode;
mod site;

pub use cost::Wavefronts;
pub use counts::{
    BulkCounts, ConstantCounts, Counts, GlobalCounts, PlainCounts, SECTOR_BYTES, SharedCounts,
};
pub use lines::source_lines;
pub use lines::{LineCounts, PTX_FILE, SourceLine, SourceLineCounts};

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::error::LaunchError;
use crate::ir::{AccessKind, InstructionClass, InstructionId, Space};
use crate::kernel::{Instruction, Kernel};
use crate::launch::Report;
use crate::observer::{
    AsyncAccess, Event, Form, Interest, LaunchContext, MemoryAccess, ObservedLaunch, Observer,
    Progress, RepeatedAccess, RepeatedLoads,
};
use counts::ratio;
use groups::Groups;
use site::{Footprints, Repeats, Site, WORDS};

/// Counts what a kernel does; an [`Observer`] for [`Kernel::launch_observed`].
///
/// The counts are exact, and the same for any number of worker threads. They describe the PTX: its
/// instructions are not those that ptxas makes of them, while the accesses to memory are, apart
/// from spilled registers. Launches of one kernel add up; a launch of another kernel resets the
/// counters.
#[derive(Clone, Debug, Default)]
pub struct Counters {
    kernel: Option<Kernel>,
    /// Per basic block: how often a warp entered it, and the sum of the lanes that did.
    entries: Vec<(u64, u64)>,
    instructions: Vec<InstructionState>,
    /// Per instruction: accesses that were like the one before; not yet among those of its site.
    repeats: Vec<Repeats>,
    /// The same of loads that are reported by one event.
    groups: Groups,
    footprints: Footprints,
}

/// The counts of one instruction that do not follow from its basic block.
#[derive(Clone, Debug, Default)]
struct InstructionState {
    /// Lanes in which the instruction was predicated off.
    off: u64,
    divergent: u64,
    site: Site,
    bulk_loads: BulkCounts,
    bulk_stores: BulkCounts,
}

/// Bytes of global memory that a kernel touched, each counted once: the traffic with an infinite
/// cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Footprint {
    /// Distinct bytes that were read.
    pub bytes_read: u64,
    /// Distinct bytes that were written.
    pub bytes_written: u64,
    /// 32-byte sectors that hold any byte read.
    pub sectors_read: u64,
    /// 32-byte sectors that hold any byte written.
    pub sectors_written: u64,
}

impl Footprint {
    /// Bytes read and bytes written: one that is both counts twice, since it moves in and out.
    pub fn bytes(&self) -> u64 {
        self.bytes_read + self.bytes_written
    }

    /// Bytes of the sectors read and of those written.
    pub fn sector_bytes(&self) -> u64 {
        (self.sectors_read + self.sectors_written) * SECTOR_BYTES
    }
}

/// Instructions of one class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct ClassCounts {
    /// The class.
    pub class: InstructionClass,
    /// Of loads, stores and atomics: the space that the instruction names, or
    /// [`Space::Generic`] where it names none.
    pub space: Option<Space>,
    /// Instructions issued, once per warp.
    pub warp_instructions: u64,
    /// Lanes in which they had an effect.
    pub thread_instructions: u64,
}

/// What a load, store or atomic of a warp to shared memory takes, by the rule in the documentation
/// of this module: `bytes` of each lane in `mask`, from the lane's address.
pub fn wavefronts(kind: AccessKind, bytes: u32, mask: u32, addresses: &[u64; 32]) -> Wavefronts {
    cost::wavefronts(&cost::WarpAccess {
        kind,
        bytes,
        mask,
        addresses,
    })
}

impl Counters {
    /// Counters at zero.
    pub fn new() -> Self {
        Self::default()
    }

    fn of(kernel: &Kernel) -> Self {
        Counters {
            kernel: Some(kernel.clone()),
            entries: vec![(0, 0); kernel.basic_blocks().len()],
            instructions: vec![InstructionState::default(); kernel.instruction_count()],
            repeats: vec![Repeats::default(); kernel.instruction_count()],
            groups: Groups::of(kernel),
            footprints: Footprints::default(),
        }
    }

    /// The kernel that was counted; none before the first launch.
    pub fn kernel(&self) -> Option<&Kernel> {
        self.kernel.as_ref()
    }

    /// The counts of the whole kernel.
    pub fn total(&self) -> Counts {
        let mut sum = Counts::default();
        for (_, counts) in self.instructions() {
            sum += counts;
        }
        sum
    }

    /// The counts of each instruction that was issued, in the order of the PTX text.
    pub fn instructions(&self) -> Vec<(InstructionId, Counts)> {
        let Some(kernel) = &self.kernel else {
            return Vec::new();
        };
        let mut all = Vec::new();
        for (block, &(warps, lanes)) in kernel.basic_blocks().iter().zip(&self.entries) {
            if warps != 0 {
                let issued = block.instructions();
                all.extend(issued.map(|id| (id, self.counts(kernel, id, warps, lanes))));
            }
        }
        all.sort_by_key(|(id, _)| *id);
        all
    }

    /// One instruction that was issued by `warps` warps with `lanes` lanes.
    fn counts(&self, kernel: &Kernel, id: InstructionId, warps: u64, lanes: u64) -> Counts {
        let state = &self.instructions[id.index()];
        let instruction = kernel.instruction(id);
        let (class, opcode) = (instruction.class(), instruction.opcode());
        let threads = lanes.saturating_sub(state.off);
        let mut counts = state.site.counts(&self.pending(id.index()));
        counts.warp_instructions = warps;
        counts.active_lanes = lanes;
        counts.thread_instructions = threads;
        counts.flops = threads * opcode::flops(opcode, class);
        counts.divergent_branches = state.divergent;
        counts.bulk_loads = state.bulk_loads;
        counts.bulk_stores = state.bulk_stores;
        match class {
            InstructionClass::Control if is_conditional(&instruction) => counts.branches = warps,
            InstructionClass::Barrier if opcode.starts_with("bar") => counts.barriers = warps,
            _ => {}
        }
        counts
    }

    /// The instructions issued, sorted by class and space.
    pub fn by_class(&self) -> Vec<ClassCounts> {
        let Some(kernel) = &self.kernel else {
            return Vec::new();
        };
        let mut classes = BTreeMap::new();
        for (id, counts) in self.instructions() {
            let instruction = kernel.instruction(id);
            let class = instruction.class();
            let key = (class, opcode::space(instruction.opcode(), class));
            let sum = classes.entry(key).or_insert((0, 0));
            sum.0 += counts.warp_instructions;
            sum.1 += counts.thread_instructions;
        }
        classes
            .into_iter()
            .map(|((class, space), (warps, threads))| ClassCounts {
                class,
                space,
                warp_instructions: warps,
                thread_instructions: threads,
            })
            .collect()
    }

    /// What the kernel touched in global memory.
    pub fn footprint(&self) -> Footprint {
        let Footprints { read, written } = &self.footprints;
        Footprint {
            bytes_read: read.bytes(),
            bytes_written: written.bytes(),
            sectors_read: read.sectors(),
            sectors_written: written.sectors(),
        }
    }

    /// FLOP per distinct byte of global memory: the arithmetic intensity with a cache that never
    /// forgets. None where nothing was touched.
    pub fn flops_per_distinct_byte(&self) -> Option<f64> {
        ratio(self.total().flops, self.footprint().bytes())
    }

    /// The counts by line of the source, sorted by file and line; see [`LineCounts`].
    pub fn lines(&self) -> Vec<LineCounts> {
        match &self.kernel {
            Some(kernel) => lines::by_line(kernel, self.instructions()),
            None => Vec::new(),
        }
    }

    fn counts_kernel(&self, kernel: &Kernel) -> bool {
        self.kernel
            .as_ref()
            .is_some_and(|counted| Arc::ptr_eq(&counted.0, &kernel.0))
    }
}

/// Whether control may go to more than one target.
fn is_conditional(instruction: &Instruction<'_>) -> bool {
    instruction.text().starts_with('@') || instruction.opcode().starts_with("brx")
}

impl Counters {
    /// Accesses of an instruction that its site has not counted, all of them like the last one that
    /// it has.
    fn pending(&self, index: usize) -> [u64; WORDS] {
        let together = self.groups.pending(index);
        let alone = self.repeats[index].times();
        std::array::from_fn(|place| alone[place] + together[place])
    }

    #[cold]
    #[inline(never)]
    fn count_other(&mut self, access: &MemoryAccess<'_>) {
        if access.mask == 0 {
            return;
        }
        let index = access.instruction.index();
        let repeats = &mut self.repeats[index];
        let (alone, together) = (repeats.take_times(), self.groups.take(index));
        let pending = std::array::from_fn(|place| alone[place] + together[place]);
        let site = &mut self.instructions[index].site;
        site.count_other(access, &pending, repeats, &mut self.footprints);
    }

    /// Adds the bytes of global memory of an access that is like the last one of its instruction.
    #[inline(always)]
    fn touch(&mut self, index: usize, start: u64) {
        if !self.repeats[index].touch(start, &mut self.footprints) {
            let site = &mut self.instructions[index].site;
            site.touch(start, &mut self.footprints);
        }
    }
}

impl Counters {
    fn launch_start(&mut self, launch: &LaunchContext<'_>) {
        if !self.counts_kernel(launch.kernel) {
            *self = Counters::of(launch.kernel);
        }
    }

    #[inline(always)]
    fn basic_block(&mut self, block: usize, active: u32) {
        if let Some(entry) = self.entries.get_mut(block) {
            entry.0 += 1;
            entry.1 += u64::from(active.count_ones());
        }
    }

    fn predicated_off(&mut self, id: InstructionId, off: u32) {
        self.instructions[id.index()].off += u64::from(off.count_ones());
    }

    #[inline(always)]
    fn memory_access(&mut self, access: &MemoryAccess<'_>) {
        let index = access.instruction.index();
        let site = &mut self.instructions[index].site;
        if !site.count(access, &mut self.footprints) {
            self.count_other(access);
        }
    }

    fn async_access(&mut self, access: &AsyncAccess<'_>) {
        if access.progress == Progress::Issued || access.access.space != Space::Global {
            return;
        }
        let access = &access.access;
        self.footprints.add(access);
        let state = &mut self.instructions[access.instruction.index()];
        let bulk = match access.kind {
            AccessKind::Load => &mut state.bulk_loads,
            AccessKind::Store | AccessKind::Atomic => &mut state.bulk_stores,
        };
        *bulk += site::bulk(access);
    }

    #[inline(always)]
    fn repeated_access(&mut self, access: RepeatedAccess<'_>) {
        let index = access.instruction.index();
        let start = access.first_address;
        self.repeats[index].count(start);
        if access.space == Space::Global {
            self.touch(index, start);
        }
    }

    #[inline(always)]
    fn repeated_loads(&mut self, loads: &RepeatedLoads<'_>) {
        self.groups.count(loads);
        if loads.space == Space::Global {
            for access in loads.each() {
                self.touch(access.instruction.index(), access.first_address);
            }
        }
    }

    #[inline(always)]
    fn branch(&mut self, id: InstructionId, taken: u32, not_taken: u32) {
        if taken != 0 && not_taken != 0 {
            self.instructions[id.index()].divergent += 1;
        }
    }
}

impl Observer for Counters {
    const INTEREST: Interest = Interest::LAUNCH
        .with(Interest::BASIC_BLOCK)
        .with(Interest::PREDICATED_OFF)
        .with(Interest::ACCESS)
        .with(Interest::ASYNC_ACCESS)
        .with(Interest::BRANCH);
    const UNORDERED_LOADS: bool = true;

    fn fork(&self) -> Self {
        match &self.kernel {
            Some(kernel) => Counters::of(kernel),
            None => Counters::new(),
        }
    }

    fn join(&mut self, worker: Self) {
        for (sum, add) in self.entries.iter_mut().zip(&worker.entries) {
            sum.0 += add.0;
            sum.1 += add.1;
        }
        let added = worker.instructions.iter().enumerate();
        for (sum, (index, add)) in self.instructions.iter_mut().zip(added) {
            sum.off += add.off;
            sum.divergent += add.divergent;
            sum.bulk_loads += add.bulk_loads;
            sum.bulk_stores += add.bulk_stores;
            sum.site.add(add.site.counts(&worker.pending(index)));
        }
        self.footprints.read.merge(&worker.footprints.read);
        self.footprints.written.merge(&worker.footprints.written);
    }

    #[inline(always)]
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::LaunchStart(launch) => self.launch_start(launch),
            Event::BasicBlock { block, active, .. } => self.basic_block(block, active),
            Event::PredicatedOff { id, off, .. } => self.predicated_off(id, off),
            Event::Access { accesses, .. } => match accesses.0 {
                Form::Full(access) => self.memory_access(access),
                Form::Repeated(access) => self.repeated_access(access),
                Form::Loads(loads) => self.repeated_loads(loads),
            },
            Event::AsyncAccess { access, .. } => self.async_access(access),
            Event::Branch {
                id,
                taken,
                not_taken,
                ..
            } => self.branch(id, taken, not_taken),
            _ => {}
        }
    }

    #[inline(never)]
    fn launch(&mut self, launch: ObservedLaunch<'_>) -> Result<Report, LaunchError> {
        launch.run(self)
    }
}
