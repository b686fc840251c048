//! Accesses to the shared memory of a block of the cluster whose threads have all exited.
//!
//! Stores there, and arrivals at mbarriers, take no effect on an H200, so that programs may seem
//! right that do them. PTX asks that the block be there (PTX ISA, "mapa"; CUDA C++ Programming
//! Guide, "Distributed Shared Memory"), so each is a warning. Loads are a fault.

use super::finding::{Finding, Problem};
use super::launch_geometry::LaunchGeometry;
use super::tally::{Actor, Example, Tally};
use crate::address_space::of_cluster;
use crate::error::Fault;
use crate::ir::Space;
use crate::observer::{MemoryAccess, WarpContext};

/// Why such an access is a warning.
const EXCUSE: &str = "it takes no effect; a barrier of the cluster keeps the block until then";

/// Counts accesses to blocks that have ended.
#[derive(Clone, Debug, Default)]
pub(super) struct EndedBlocks {
    /// None where they are not looked for.
    geometry: Option<LaunchGeometry>,
    tally: Tally,
}

impl EndedBlocks {
    /// For a launch.
    pub(super) fn new(geometry: LaunchGeometry) -> Self {
        EndedBlocks {
            geometry: Some(geometry),
            tally: Tally::default(),
        }
    }

    pub(super) fn fork(&self) -> Self {
        EndedBlocks {
            geometry: self.geometry.clone(),
            tally: Tally::default(),
        }
    }

    pub(super) fn join(&mut self, worker: Self) {
        self.tally.merge(worker.tally);
    }

    /// What was found; after a fault, in the block that faulted and in those before it.
    pub(super) fn findings(&self) -> Vec<Finding> {
        let Some(geometry) = &self.geometry else {
            return Vec::new();
        };
        self.tally.graded_findings(geometry, |_, _, _| Some(EXCUSE))
    }

    pub(super) fn keep_before_fault(&mut self, fault: &Fault) {
        if let Some(geometry) = &self.geometry {
            self.tally.keep_before_fault(geometry, fault);
        }
    }

    /// Different problems so far.
    pub(super) fn noted(&self) -> usize {
        self.tally.len()
    }

    #[cold]
    pub(super) fn access(&mut self, warp: &WarpContext<'_>, access: &MemoryAccess<'_>) {
        let Some(geometry) = &self.geometry else {
            return;
        };
        let lane = access.mask.trailing_zeros();
        let address = access.addresses[lane as usize % 32];
        let (rank, _) = of_cluster(address);
        let example = Example {
            block: geometry.block_index(warp.block),
            space: Space::Shared,
            address: geometry.in_group(address),
            bytes: access.bytes,
            detail: format!("the block of rank {rank} has ended"),
            first: Actor::first_lane(warp, access.instruction, access.mask),
            second: None,
        };
        let count = u64::from(access.mask.count_ones());
        self.tally.add(Problem::EndedBlock, count, example);
    }
}
