//! The checker of barriers and of the operations of a warp.

use std::collections::{HashMap, HashSet};

use super::finding::{Finding, Problem, Tool};
use super::launch_geometry::LaunchGeometry;
use super::shape::{LANES, lanes};
use super::tally::{Actor, Example, Tally};
use crate::error::{Fault, FaultKind};
use crate::ir::{Calls, InstructionId, Space};
use crate::kernel::Kernel;
use crate::observer::{
    Accesses, BarrierComplete, Event, Form, Interest, Observer, WarpContext, WarpSync,
};

mod behind;

/// Finds barriers, shuffles and votes that not all of their threads reach together; an
/// [`Observer`].
///
/// - A barrier that some threads of the block never reach although they have not exited ends the
///   launch as a deadlock. If they have exited, that is a warning: older GPUs waited for them.
/// - The lanes of a warp must execute the same aligned barrier instruction (PTX ISA, "bar"). Lanes
///   that reach different ones are reported, and so are lanes that access memory after a barrier at
///   which others of their warp still wait.
/// - A lane that executes a `.sync` operation must be in its member mask, and all lanes of the mask
///   must give the same one; a shuffle must read from one of them (PTX ISA, "shfl.sync").
#[derive(Clone, Debug, Default)]
pub struct Synccheck {
    geometry: LaunchGeometry,
    /// By warp of the group: the lanes that wait at a barrier.
    waiting: Vec<Option<Waiting>>,
    /// By warp of the group: the lanes that have arrived at its barrier.
    at_cluster: Vec<Option<Waiting>>,
    /// The instructions behind a barrier, in one pass of each loop.
    behind: HashMap<InstructionId, HashSet<InstructionId>>,
    tally: Tally,
    findings: Vec<Finding>,
}

/// Lanes of a warp that wait.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    instruction: InstructionId,
    calls: Calls,
    barrier: u32,
    mask: u32,
}

impl Synccheck {
    /// A checker without findings.
    pub fn new() -> Self {
        Self::default()
    }

    /// What was found in the last launch.
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// What has been found so far of a launch that runs.
    pub(super) fn findings_so_far(&self) -> Vec<Finding> {
        let mut tally = self.tally.clone();
        // Lanes that go on without the others of their warp are the graver case of the two.
        let (exited, divergent) = (Problem::ExitedBeforeBarrier, Problem::DivergentBarrier);
        tally.drop_beside(exited, divergent);
        tally.graded_findings(&self.geometry, |problem, _, _| {
            let is_legal = problem == Problem::ExitedBeforeBarrier;
            is_legal.then_some("only GPUs since compute capability 7.0 do not wait for them")
        })
    }

    /// Different problems so far.
    pub(super) fn noted(&self) -> usize {
        self.tally.len()
    }

    fn with_geometry(geometry: LaunchGeometry) -> Self {
        let warps = (geometry.warps() * geometry.group_blocks()) as usize;
        Synccheck {
            waiting: vec![None; warps],
            at_cluster: vec![None; warps],
            geometry,
            ..Synccheck::default()
        }
    }

    /// Index of a warp in tables by warp.
    #[inline(always)]
    fn index(&self, warp: &WarpContext<'_>) -> usize {
        self.geometry.warp(warp) as usize
    }

    #[cold]
    fn report(&mut self, problem: Problem, detail: String, first: Actor, second: Option<Actor>) {
        let example = Example {
            block: self.geometry.block_index(first.block),
            space: Space::Generic,
            address: 0,
            bytes: 0,
            detail,
            first,
            second,
        };
        self.tally.add(problem, 1, example);
    }

    /// Lanes execute an instruction while others of their warp wait at a barrier.
    #[cold]
    fn passed_by(&mut self, warp: &WarpContext<'_>, id: InstructionId, mask: u32) {
        let Some(Some(waiting)) = self.waiting.get(self.index(warp)).copied() else {
            return;
        };
        let others = mask & !waiting.mask;
        if others == 0 {
            return;
        }
        let behind = self
            .behind
            .entry(waiting.instruction)
            .or_insert_with(|| behind::instructions(warp.kernel, waiting.instruction));
        if behind.contains(&id) {
            let detail = format!(
                "{} lanes of the warp wait, {} have gone on without it",
                waiting.mask.count_ones(),
                others.count_ones()
            );
            self.report_divergent(warp, &waiting, (id, others), detail);
        }
    }

    /// Lanes wait at a barrier, and others of their warp are elsewhere.
    fn report_divergent(
        &mut self,
        warp: &WarpContext<'_>,
        waiting: &Waiting,
        (id, others): (InstructionId, u32),
        detail: String,
    ) {
        let first = Actor::first_lane(warp, waiting.instruction, waiting.mask);
        let second = Actor::first_lane(warp, id, others);
        self.report(Problem::DivergentBarrier, detail, first, Some(second));
    }

    /// Lanes reach a barrier at which others of their warp may wait already; the lanes that wait
    /// now.
    fn come(
        &mut self,
        warp: &WarpContext<'_>,
        before: Option<Waiting>,
        (id, barrier, arriving): (InstructionId, u32, u32),
    ) -> Waiting {
        let Some(waiting) = before else {
            return Waiting {
                instruction: id,
                calls: warp.calls,
                barrier,
                mask: arriving,
            };
        };
        // Where some lanes poll or compute for long, the executor lets the others run ahead, up to
        // the barrier at which all would have joined.
        let is_same = (waiting.instruction, waiting.barrier) == (id, barrier);
        if !is_same || waiting.calls != warp.calls {
            let detail = format!(
                "{} lanes of the warp wait already when {} others arrive",
                waiting.mask.count_ones(),
                arriving.count_ones()
            );
            self.report_divergent(warp, &waiting, (id, arriving), detail);
        }
        Waiting {
            mask: waiting.mask | arriving,
            ..waiting
        }
    }

    /// Whether a part of a warp may execute a barrier instruction.
    fn is_unaligned(kernel: &Kernel, id: InstructionId) -> bool {
        let opcode = kernel.instruction(id).opcode();
        opcode.starts_with("barrier.") && !opcode.split('.').any(|part| part == "aligned")
    }
}

/// Whether all lanes give one mask, which has all of them, and read from lanes that are here.
fn is_usual(sync: &WarpSync<'_>) -> bool {
    let mask = sync.mask;
    let members = sync.members[mask.trailing_zeros() as usize % LANES];
    let mut wrong = mask & !members;
    for (lane, of_lane) in sync.members.iter().enumerate() {
        wrong |= u32::from(*of_lane != members) << lane & mask;
    }
    if let Some(sources) = sync.sources {
        for (lane, source) in sources.iter().enumerate() {
            wrong |= (!sync.present >> (source & 31) & 1) << lane & mask;
        }
    }
    wrong == 0
}

impl Synccheck {
    fn launch_end(&mut self, fault: Option<&Fault>) {
        let found = fault
            .map(|fault| Finding::of_fault(&self.geometry, fault))
            .filter(|finding| finding.tool() == Tool::Synccheck);
        if let Some(fault) = fault.filter(|fault| !matches!(fault.kind, FaultKind::Budget(_))) {
            self.tally.keep_before_fault(&self.geometry, fault);
        }
        self.findings = self.findings_so_far();
        self.findings.extend(found);
    }

    fn block_start(&mut self, block: [u32; 3]) {
        if self.geometry.is_first(block) {
            self.waiting.fill(None);
            self.at_cluster.fill(None);
        }
    }

    #[inline(always)]
    fn access(&mut self, warp: &WarpContext<'_>, accesses: Accesses<'_>) {
        if self.waiting[self.index(warp)].is_none() {
            return;
        }
        match accesses.0 {
            Form::Full(access) => self.passed_by(warp, access.instruction, access.mask),
            Form::Repeated(access) => self.passed_by(warp, access.instruction, u32::MAX),
            Form::Loads(loads) => {
                for load in loads.loads {
                    self.passed_by(warp, load.instruction, u32::MAX);
                }
            }
        }
    }

    fn warp_sync(&mut self, warp: &WarpContext<'_>, sync: &WarpSync<'_>) {
        if !is_usual(sync) {
            self.unusual_sync(warp, sync);
        }
    }

    #[cold]
    #[inline(never)]
    fn unusual_sync(&mut self, warp: &WarpContext<'_>, sync: &WarpSync<'_>) {
        for lane in lanes(sync.mask) {
            let members = sync.members[lane];
            let only = |mask: u32| Actor::first_lane(warp, sync.instruction, mask);
            if members >> lane & 1 == 0 {
                let detail = format!("lane {lane} gives the mask {members:#010x}");
                self.report(Problem::NotAMember, detail, only(1 << lane), None);
                continue;
            }
            let with = sync.mask & members;
            if let Some(other) = lanes(with).find(|&other| sync.members[other] != members) {
                let detail = format!(
                    "lane {lane} gives {members:#010x}, lane {other} gives {:#010x}",
                    sync.members[other]
                );
                self.report(Problem::DifferentMasks, detail, only(1 << lane), None);
                continue;
            }
            if let Some(sources) = sync.sources
                && sync.present & members & 1 << (sources[lane] & 31) == 0
            {
                let source = sources[lane];
                let detail = format!(
                    "lane {lane} reads from lane {source}, the mask is {members:#010x} and the lanes \
                     here are {:#010x}",
                    sync.present
                );
                self.report(Problem::InactiveSource, detail, only(1 << lane), None);
            }
        }
    }

    fn barrier(&mut self, warp: &WarpContext<'_>, id: InstructionId, barrier: u32, arriving: u32) {
        let opcode = warp.kernel.instruction(id).opcode();
        if Self::is_unaligned(warp.kernel, id) || opcode.contains("arrive") {
            return;
        }
        let index = self.index(warp);
        let waiting = self.come(warp, self.waiting[index], (id, barrier, arriving));
        self.waiting[index] = Some(waiting);
    }

    fn cluster_arrive(&mut self, warp: &WarpContext<'_>, id: InstructionId, arriving: u32) {
        if !Self::is_unaligned(warp.kernel, id) {
            let index = self.index(warp);
            let here = self.come(warp, self.at_cluster[index], (id, 0, arriving));
            self.at_cluster[index] = Some(here);
        }
    }

    /// Threads may have exited without reaching a barrier of the whole block.
    fn find_exited(&mut self, barrier: &BarrierComplete<'_>) {
        let threads: u32 = self.geometry.block.iter().product();
        let arrived = barrier.arrived.iter().map(|mask| mask.count_ones());
        let missing = threads.saturating_sub(arrived.sum());
        if missing == 0 {
            return;
        }
        let warps = self.geometry.warps() as usize;
        let own = self.waiting.chunks(warps).nth(barrier.rank as usize);
        let mut own = own.into_iter().flatten().enumerate();
        let waiting = own.find_map(|(warp, waiting)| {
            let waiting = waiting.filter(|waiting| waiting.barrier == barrier.barrier)?;
            Some((warp as u32, waiting))
        });
        if let Some((warp, waiting)) = waiting {
            let first = Actor {
                instruction: waiting.instruction,
                block: barrier.block,
                thread: 32 * warp + waiting.mask.trailing_zeros() % 32,
                calls: waiting.calls,
            };
            let detail = format!("{missing} of {threads} threads have exited without it");
            self.report(Problem::ExitedBeforeBarrier, detail, first, None);
        }
    }

    fn barrier_complete(&mut self, barrier: &BarrierComplete<'_>) {
        let warps = self.geometry.warps() as usize;
        if barrier.whole_block {
            self.find_exited(barrier);
        }
        let own = self.waiting.chunks_mut(warps).nth(barrier.rank as usize);
        for waiting in own.into_iter().flatten() {
            if waiting.is_some_and(|waiting| waiting.barrier == barrier.barrier) {
                *waiting = None;
            }
        }
    }
}

impl Observer for Synccheck {
    const INTEREST: Interest = Interest::LAUNCH
        .with(Interest::BLOCK)
        .with(Interest::ACCESS)
        .with(Interest::WARP_SYNC)
        .with(Interest::BARRIER)
        .with(Interest::CLUSTER_BARRIER);
    const UNORDERED_LOADS: bool = true;

    fn fork(&self) -> Self {
        Self::with_geometry(self.geometry.clone())
    }

    fn join(&mut self, worker: Self) {
        self.tally.merge(worker.tally);
    }

    #[inline(always)]
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::LaunchStart(launch) => {
                *self = Self::with_geometry(LaunchGeometry::new(launch));
            }
            Event::LaunchEnd { fault, .. } => self.launch_end(fault),
            Event::BlockStart { block, .. } => self.block_start(block),
            Event::Access { warp, accesses } => self.access(warp, accesses),
            Event::WarpSync { warp, sync } => self.warp_sync(warp, sync),
            Event::BarrierArrive {
                warp,
                id,
                barrier,
                arriving,
            } => self.barrier(warp, id, barrier, arriving),
            Event::BarrierComplete(barrier) => self.barrier_complete(barrier),
            Event::ClusterArrive { warp, id, arriving } => self.cluster_arrive(warp, id, arriving),
            Event::ClusterComplete { .. } => self.at_cluster.fill(None),
            _ => {}
        }
    }
}
