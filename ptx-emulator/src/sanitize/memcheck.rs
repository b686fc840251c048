//! The checker of addresses.

use super::finding::{Finding, Tool};
use super::launch_geometry::LaunchGeometry;
use crate::observer::{Event, Interest, Observer};

/// Turns the fault that ended a launch into a finding; an [`Observer`].
///
/// The executor itself checks bounds, alignment and lifetime of every access, and ends the launch
/// at the first violation: that of the lowest block, for any number of worker threads.
#[derive(Clone, Debug, Default)]
pub struct Memcheck {
    finding: Option<Finding>,
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
        }
    }
}
