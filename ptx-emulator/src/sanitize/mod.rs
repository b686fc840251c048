//! Sanitizers: what a kernel does wrong, and where.
//!
//! Each is an [`Observer`] of its own; [`Sanitizer`] runs several of them in one launch.

mod clocks;
mod cross_block_races;
mod finding;
mod initcheck;
mod launch_geometry;
mod memcheck;
mod racecheck;
mod semantics;
mod shadow_memory;
mod shadow_view;
mod shape;
mod sync_table;
mod synccheck;
mod vector_clock;

pub use finding::{Finding, Problem, Region, Site, Tool};
pub use initcheck::Initcheck;
pub use memcheck::Memcheck;
pub use racecheck::Racecheck;
pub use synccheck::Synccheck;

use crate::error::{Fault, LaunchError};
use crate::kernel::{Args, InstructionId, Kernel, LaunchConfig, Report};
use crate::memory::Memory;
use crate::observer::{
    AsyncAccess, BarrierComplete, LaunchContext, MemoryAccess, ObservedLaunch, Observer,
    RepeatedAccess, RepeatedLoads, WarpContext, WarpSync,
};

/// Several sanitizers in one launch.
///
/// The executor's own checks are always on, and end the launch at the first fault. What it finds is
/// among the findings whichever sanitizers are asked for.
#[derive(Clone, Debug, Default)]
pub struct Sanitizer {
    memcheck: Memcheck,
    racecheck: Option<Racecheck>,
    initcheck: Option<Initcheck>,
    synccheck: Synccheck,
    /// Whether findings of the last one are asked for. What ends a launch is among them in any case,
    /// and known without watching.
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
        all.chain(races)
            .chain(reads)
            .chain(synchronisation)
            .cloned()
            .collect()
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

impl Observer for Sanitizer {
    const LOAD_GROUPS: bool = true;
    const MARKS_WRITTEN: bool = true;
    const STRONG_IN_ORDER: bool = true;

    fn fork(&self) -> Self {
        Sanitizer {
            memcheck: self.memcheck.fork(),
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
    }

    fn launch_start(&mut self, launch: &LaunchContext<'_>) {
        let of_last = self.findings();
        self.earlier.extend(of_last);
        self.memcheck = Memcheck::new();
        if let Some(racecheck) = &mut self.racecheck {
            racecheck.launch_start(launch);
        }
        if let Some(initcheck) = &mut self.initcheck {
            initcheck.launch_start(launch);
        }
        self.synccheck.launch_start(launch);
    }

    fn launch_end(&mut self, launch: &LaunchContext<'_>, fault: Option<&Fault>) {
        self.memcheck.launch_end(launch, fault);
        if let Some(racecheck) = &mut self.racecheck {
            racecheck.launch_end(launch, fault);
        }
        match &mut self.initcheck {
            Some(initcheck) => initcheck.launch_end(launch, fault),
            None => launch.memory.assume_written(),
        }
        self.synccheck.launch_end(launch, fault);
    }

    fn host_read(&mut self, memory: &Memory, address: u64, bytes: u64) {
        if let Some(initcheck) = &mut self.initcheck {
            initcheck.host_read(memory, address, bytes);
        }
    }

    fn block_start(&mut self, kernel: &Kernel, block: [u32; 3]) {
        if let Some(racecheck) = &mut self.racecheck {
            racecheck.block_start(kernel, block);
        }
        if let Some(initcheck) = &mut self.initcheck {
            initcheck.block_start(kernel, block);
        }
        self.synccheck.block_start(kernel, block);
    }

    fn block_end(&mut self, kernel: &Kernel, block: [u32; 3]) {
        if let Some(racecheck) = &mut self.racecheck {
            racecheck.block_end(kernel, block);
        }
    }

    #[inline(always)]
    fn memory_access(&mut self, warp: &WarpContext<'_>, access: &MemoryAccess<'_>) {
        if let Some(racecheck) = &mut self.racecheck {
            racecheck.memory_access(warp, access);
        }
        if let Some(initcheck) = &mut self.initcheck {
            initcheck.memory_access(warp, access);
        }
        if self.reports_sync {
            self.synccheck.memory_access(warp, access);
        }
    }

    #[inline(always)]
    fn repeated_access(&mut self, warp: &WarpContext<'_>, access: RepeatedAccess<'_>) {
        if self.watches {
            if let Some(racecheck) = &mut self.racecheck {
                racecheck.repeated_access(warp, access);
            }
            if let Some(initcheck) = &mut self.initcheck {
                initcheck.repeated_access(warp, access);
            }
            if self.reports_sync {
                self.synccheck.repeated_access(warp, access);
            }
        }
    }

    #[inline(always)]
    fn repeated_loads(&mut self, warp: &WarpContext<'_>, loads: &RepeatedLoads<'_>) {
        if self.watches {
            if let Some(racecheck) = &mut self.racecheck {
                racecheck.repeated_loads(warp, loads);
            }
            if let Some(initcheck) = &mut self.initcheck {
                initcheck.repeated_loads(warp, loads);
            }
            if self.reports_sync {
                self.synccheck.repeated_loads(warp, loads);
            }
        }
    }

    fn async_access(&mut self, warp: &WarpContext<'_>, access: &AsyncAccess<'_>) {
        if let Some(racecheck) = &mut self.racecheck {
            racecheck.async_access(warp, access);
        }
        if let Some(initcheck) = &mut self.initcheck {
            initcheck.async_access(warp, access);
        }
    }

    fn fence(&mut self, warp: &WarpContext<'_>, id: InstructionId, executing: u32) {
        if let Some(racecheck) = &mut self.racecheck {
            racecheck.fence(warp, id, executing);
        }
    }

    fn phase_complete(&mut self, warp: &WarpContext<'_>, address: u64) {
        if let Some(racecheck) = &mut self.racecheck {
            racecheck.phase_complete(warp, address);
        }
    }

    fn warp_sync(&mut self, warp: &WarpContext<'_>, sync: &WarpSync<'_>) {
        if let Some(racecheck) = &mut self.racecheck {
            racecheck.warp_sync(warp, sync);
        }
        if self.reports_sync {
            self.synccheck.warp_sync(warp, sync);
        }
    }

    fn barrier(&mut self, warp: &WarpContext<'_>, id: InstructionId, barrier: u32, arriving: u32) {
        if let Some(racecheck) = &mut self.racecheck {
            racecheck.barrier(warp, id, barrier, arriving);
        }
        if self.reports_sync {
            self.synccheck.barrier(warp, id, barrier, arriving);
        }
    }

    fn cluster_arrive(&mut self, warp: &WarpContext<'_>, id: InstructionId, arriving: u32) {
        if let Some(racecheck) = &mut self.racecheck {
            racecheck.cluster_arrive(warp, id, arriving);
        }
        if self.reports_sync {
            self.synccheck.cluster_arrive(warp, id, arriving);
        }
    }

    fn cluster_complete(&mut self, kernel: &Kernel) {
        if let Some(racecheck) = &mut self.racecheck {
            racecheck.cluster_complete(kernel);
        }
        if self.reports_sync {
            self.synccheck.cluster_complete(kernel);
        }
    }

    fn cluster_wait(&mut self, warp: &WarpContext<'_>, id: InstructionId, passing: u32) {
        if let Some(racecheck) = &mut self.racecheck {
            racecheck.cluster_wait(warp, id, passing);
        }
    }

    #[inline(never)]
    fn launch(&mut self, launch: ObservedLaunch<'_>) -> Result<Report, LaunchError> {
        launch.run(self)
    }

    fn barrier_complete(&mut self, barrier: &BarrierComplete<'_>) {
        if let Some(racecheck) = &mut self.racecheck {
            racecheck.barrier_complete(barrier);
        }
        if self.reports_sync {
            self.synccheck.barrier_complete(barrier);
        }
    }
}
