//! The checker of addresses.

use std::sync::Arc;

use super::finding::{Finding, Problem, Severity, Tool};
use super::launch_geometry::LaunchGeometry;
use crate::heap::{HeapBlock, HeapSite};
use crate::ir::Calls;
use crate::launch::HeapLaunch;
use crate::memory::Memory;
use crate::observer::{Event, Interest, Observer};

/// Turns the fault that ended a launch into a finding; an [`Observer`].
///
/// The executor itself checks bounds, alignment and lifetime of every access, and ends the launch
/// at the first violation: that of the lowest block, for any number of worker threads. Blocks of
/// the device heap that are left after a launch are leaks, unless a later launch frees them.
#[derive(Clone, Debug, Default)]
pub struct Memcheck {
    finding: Option<Finding>,
    leaks: Vec<Finding>,
}

impl Memcheck {
    /// A checker without findings.
    pub fn new() -> Self {
        Self::default()
    }

    /// What ended the last launch, where that is no matter of synchronisation.
    pub fn finding(&self) -> Option<&Finding> {
        self.finding.as_ref()
    }

    /// What the kernels so far have left on the device heap, one finding for each call of `malloc`;
    /// none after a fault.
    pub fn leaks(&self) -> &[Finding] {
        &self.leaks
    }
}

/// The blocks of the device heap by the call that made them.
fn leaks(memory: &Memory) -> Vec<Finding> {
    let mut calls: Vec<(HeapSite, u64, u64)> = Vec::new();
    for (_, HeapBlock { bytes, site }) in memory.heap().blocks() {
        let same = |(known, ..): &&mut (HeapSite, u64, u64)| {
            Arc::ptr_eq(&known.launch, &site.launch) && known.instruction == site.instruction
        };
        match calls.iter_mut().find(same) {
            None => calls.push((site, 1, bytes)),
            Some((known, count, sum)) => {
                *count += 1;
                *sum += bytes;
                let place = |site: &HeapSite| {
                    let [x, y, z] = site.block;
                    ([z, y, x], site.thread)
                };
                if place(&site) < place(known) {
                    *known = site;
                }
            }
        }
    }
    let finding = |(site, count, bytes): (HeapSite, u64, u64)| -> Option<Finding> {
        let HeapSite {
            launch,
            instruction,
            block,
            thread,
        } = site;
        let launch = launch.downcast_ref::<HeapLaunch>()?;
        let geometry = LaunchGeometry::of_heap(launch);
        let mut first = geometry.site("allocation", (instruction, Calls::NONE), block, None);
        let [x, y, _] = launch.block.map(|extent| extent.max(1));
        first.thread = Some([thread % x, thread / x % y, thread / x / y]);
        Some(Finding {
            problem: Problem::Leak,
            severity: Severity::Error,
            kernel: geometry.kernel_name(),
            region: None,
            detail: format!("{bytes} bytes"),
            first,
            second: None,
            count,
        })
    };
    let mut findings: Vec<Finding> = calls.into_iter().filter_map(finding).collect();
    findings.sort_by_key(|finding| (finding.kernel.clone(), finding.first.ptx_line));
    findings
}

impl Observer for Memcheck {
    const INTEREST: Interest = Interest::LAUNCH;

    fn fork(&self) -> Self {
        Self::default()
    }

    fn join(&mut self, _: Self) {}

    fn event(&mut self, event: Event<'_>) {
        if let Event::LaunchEnd { launch, fault } = event {
            self.finding = fault
                .map(|fault| Finding::of_fault(&LaunchGeometry::new(launch), fault))
                .filter(|finding| finding.tool() == Tool::Memcheck);
            self.leaks = match fault {
                None => leaks(launch.memory),
                Some(_) => Vec::new(),
            };
        }
    }
}
