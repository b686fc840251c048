//! The order that the barrier of a cluster makes.

use super::Clocks;
use crate::ir::Space;

/// The object of the cluster's barrier.
const CLUSTER_BARRIER: (Space, u64) = (Space::Cluster, 0);

impl Clocks {
    /// Lanes arrive at the barrier of the cluster. They release `all` of what they did, or what
    /// precedes their last fence.
    pub(in super::super) fn arrive_at_cluster(&mut self, warp: u32, mask: u32, all: bool) {
        if all {
            self.arrive_at_object(CLUSTER_BARRIER, warp, mask);
            return;
        }
        let number = self.object(CLUSTER_BARRIER.0, CLUSTER_BARRIER.1);
        let Some(view) = self.warps.get(warp as usize) else {
            return;
        };
        for (lane, seen) in &view.fences {
            if mask >> lane & 1 != 0 {
                self.objects[number].arriving.join(seen);
            }
        }
    }

    /// All threads of the cluster have arrived.
    pub(in super::super) fn complete_cluster(&mut self) {
        self.complete_object(CLUSTER_BARRIER);
    }

    /// Lanes go on after the barrier of the cluster.
    pub(in super::super) fn wait_for_cluster(&mut self, warp: u32, mask: u32) {
        self.acquire(CLUSTER_BARRIER, warp, mask);
    }
}
