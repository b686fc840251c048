//! Sanitizers: what a kernel does wrong, and where.
//!
//! Each is an [`Observer`] of its own; [`Sanitizer`] runs several of them in one launch.

mod block_accesses;
mod bounds;
mod clocks;
mod cross_block_races;
mod ended_blocks;
mod finding;
mod initcheck;
mod lane_cells;
mod lane_runs;
mod last_accesses;
mod launch_geometry;
mod memcheck;
mod racecheck;
mod recycled;
mod semantics;
mod settled_reads;
mod shadow_memory;
mod shadow_view;
mod shape;
mod shared_variables;
mod sync_table;
mod synccheck;
mod tally;
mod vector_clock;
mod written;

pub use finding::{Finding, Problem, Region, Severity, Site, Tool};
pub use initcheck::Initcheck;
pub use memcheck::Memcheck;
pub use racecheck::Racecheck;
pub use synccheck::Synccheck;

use crate::error::{Fault, FaultKind, LaunchError};
use crate::kernel::Kernel;
use crate::launch::{Args, LaunchConfig, Report};
use crate::memory::Memory;
use crate::observer::{Event, Interest, ObservedLaunch, Observer};
use ended_blocks::EndedBlocks;
use launch_geometry::LaunchGeometry;
use shared_variables::SharedVariables;

/// Several sanitizers in one launch.
///
/// The executor's own checks are always on, and end the launch at the first fault. That fault is
/// among the findings whichever sanitizers are enabled.
#[derive(Clone, Debug, Default)]
pub struct Sanitizer {
    memcheck: Memcheck,
    /// Accesses past a shared variable, where memcheck is enabled.
    variables: SharedVariables,
    /// Accesses to blocks that have ended, where memcheck is enabled.
    ended: EndedBlocks,
    checks_bounds: bool,
    racecheck: Option<Racecheck>,
    initcheck: Option<Initcheck>,
    synccheck: Synccheck,
    /// Whether findings of synccheck are reported. Those that end a launch are reported in any
    /// case: they are found without watching.
    reports_sync: bool,
    /// What was found in the launches before the last one.
    earlier: Vec<Finding>,
    /// Whether any of them has to see what the kernel does.
    watches: bool,
}

impl Sanitizer {
    /// The sanitizers that `tools` names.
    pub fn new(tools: &[Tool]) -> Self {
        Sanitizer {
            memcheck: Memcheck::new(),
            variables: SharedVariables::default(),
            ended: EndedBlocks::default(),
            checks_bounds: tools.contains(&Tool::Memcheck),
            racecheck: tools.contains(&Tool::Racecheck).then(Racecheck::new),
            initcheck: tools.contains(&Tool::Initcheck).then(Initcheck::new),
            synccheck: Synccheck::new(),
            reports_sync: tools.contains(&Tool::Synccheck),
            earlier: Vec::new(),
            watches: tools.iter().any(|tool| *tool != Tool::Memcheck),
        }
    }

    /// What was found in all launches.
    pub fn all_findings(&self) -> Vec<Finding> {
        let mut findings = self.earlier.clone();
        findings.extend(self.findings());
        findings
    }

    /// What was found in the last launch, sorted by tool.
    pub fn findings(&self) -> Vec<Finding> {
        let races = self.racecheck.iter().flat_map(Racecheck::findings);
        let reads = self.initcheck.iter().flat_map(Initcheck::findings);
        let ends_launch =
            |finding: &&Finding| matches!(finding.problem, Problem::Deadlock | Problem::BadBarrier);
        let synchronisation = self.synccheck.findings().iter();
        let synchronisation =
            synchronisation.filter(|finding| self.reports_sync || ends_launch(finding));
        let all = self.memcheck.finding().into_iter();
        all.chain(self.memcheck.leaks())
            .chain(&self.variables.findings())
            .chain(&self.ended.findings())
            .chain(races)
            .chain(reads)
            .chain(synchronisation)
            .cloned()
            .collect()
    }

    /// What has been found so far of a launch that runs, for an observer that
    /// [steps](Observer::STEPS). What is judged at a launch's end is not among it: races between
    /// blocks, and reads of global memory to which nothing was written. A finding may still become
    /// a warning, or be dropped, by what follows.
    pub fn findings_so_far(&self) -> Vec<Finding> {
        let races = self.racecheck.iter().flat_map(Racecheck::findings_so_far);
        let reads = self.initcheck.iter().flat_map(Initcheck::findings_so_far);
        let synchronisation = match self.reports_sync {
            true => self.synccheck.findings_so_far(),
            false => Vec::new(),
        };
        let all = self.variables.findings().into_iter();
        all.chain(self.ended.findings())
            .chain(races)
            .chain(reads)
            .chain(synchronisation)
            .collect()
    }

    /// Different problems that have been noted in a launch that runs: where this has not changed,
    /// [`Sanitizer::findings_so_far`] has nothing new.
    pub fn noted(&self) -> usize {
        let races = self.racecheck.as_ref().map_or(0, Racecheck::noted);
        let reads = self.initcheck.as_ref().map_or(0, Initcheck::noted);
        races + reads + self.synccheck.noted() + self.variables.noted() + self.ended.noted()
    }

    /// Runs a kernel and gives what was found. A kernel that faults is a finding, no error.
    ///
    /// # Errors
    /// [`LaunchError`] where the launch is refused.
    pub fn launch(
        &mut self,
        kernel: &Kernel,
        memory: &Memory,
        config: &LaunchConfig,
        args: &Args,
    ) -> Result<Vec<Finding>, LaunchError> {
        match kernel.launch_observed(memory, config, args, self) {
            Ok(_) | Err(LaunchError::Fault(_)) => Ok(self.findings()),
            Err(refused) => Err(refused),
        }
    }
}

impl Sanitizer {
    /// What a launch that begins or ends means for this type itself and for memcheck.
    fn launch_event(&mut self, event: Event<'_>) {
        match event {
            Event::LaunchStart(launch) => {
                // What is left on the device heap may yet be freed.
                let of_last = self.findings().into_iter();
                let of_last = of_last.filter(|finding| finding.problem != Problem::Leak);
                self.earlier.extend(of_last);
                self.memcheck = Memcheck::new();
                self.variables = SharedVariables::default();
                self.ended = EndedBlocks::default();
                if self.checks_bounds {
                    self.variables = SharedVariables::new(LaunchGeometry::new(launch));
                    self.ended = EndedBlocks::new(LaunchGeometry::new(launch));
                }
            }
            Event::LaunchEnd { launch, fault } => {
                let ends_early = |fault: &Fault| !matches!(fault.kind, FaultKind::Budget(_));
                if let Some(fault) = fault.filter(|&fault| ends_early(fault)) {
                    self.variables.keep_before_fault(fault);
                    self.ended.keep_before_fault(fault);
                }
                if self.initcheck.is_none() {
                    launch.memory.assume_written();
                }
            }
            _ => {}
        }
        self.memcheck.notify(event);
    }
}

impl Observer for Sanitizer {
    const INTEREST: Interest = Racecheck::INTEREST
        .with(Initcheck::INTEREST)
        .with(Synccheck::INTEREST);
    const UNORDERED_LOADS: bool = true;
    const MARKS_WRITTEN: bool = true;
    const STRONG_IN_ORDER: bool = true;

    fn fork(&self) -> Self {
        Sanitizer {
            memcheck: self.memcheck.fork(),
            variables: self.variables.fork(),
            ended: self.ended.fork(),
            checks_bounds: self.checks_bounds,
            racecheck: self.racecheck.as_ref().map(Observer::fork),
            initcheck: self.initcheck.as_ref().map(Observer::fork),
            synccheck: self.synccheck.fork(),
            reports_sync: self.reports_sync,
            earlier: Vec::new(),
            watches: self.watches,
        }
    }

    fn join(&mut self, worker: Self) {
        if let (Some(own), Some(other)) = (&mut self.racecheck, worker.racecheck) {
            own.join(other);
        }
        if let (Some(own), Some(other)) = (&mut self.initcheck, worker.initcheck) {
            own.join(other);
        }
        self.synccheck.join(worker.synccheck);
        self.variables.join(worker.variables);
        self.ended.join(worker.ended);
    }

    #[inline(always)]
    fn event(&mut self, event: Event<'_>) {
        let is_launch = Interest::LAUNCH.contains(event.kind());
        if is_launch {
            self.launch_event(event);
        } else {
            if let Event::Access { warp, accesses } = event
                && self.variables.is_active()
            {
                self.variables.access(warp, accesses);
            }
            if let Event::EndedBlockAccess { warp, access } = event {
                self.ended.access(warp, access);
            }
            if !self.watches {
                return;
            }
        }
        if let Some(racecheck) = &mut self.racecheck {
            racecheck.notify(event);
        }
        if let Some(initcheck) = &mut self.initcheck {
            initcheck.notify(event);
        }
        if self.reports_sync || is_launch {
            self.synccheck.notify(event);
        }
    }

    #[inline(never)]
    fn launch(&mut self, launch: ObservedLaunch<'_>) -> Result<Report, LaunchError> {
        launch.run(self)
    }
}
