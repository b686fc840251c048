//! What orders threads: barriers of blocks, warps and clusters, fences, and phases of mbarriers.

use super::super::clocks::first_barrier;
use super::super::shape::{LANES, lanes};
use super::Racecheck;
use crate::ir::InstructionId;
use crate::observer::{BarrierComplete, WarpContext, WarpSync, WarpSyncKind};

impl Racecheck {
    /// Threads are ordered in another way than by a barrier of the block: records what waits.
    #[inline(always)]
    pub(super) fn before_order(&mut self) {
        self.catch_up();
        self.end_lists();
    }

    pub(super) fn phase_complete(&mut self, address: u64) {
        self.before_order();
        let address = self.geometry.in_group(address);
        self.block.clocks.complete_phase(address);
    }

    /// A group of MMAs is one of the warpgroup (PTX ISA, "wgmma.commit_group"): whichever of its
    /// warps has waited for the group has observed that no warp of it reads any more. So have the
    /// loads that the warps issued before.
    pub(super) fn warpgroup_wait(&mut self, warp: &WarpContext<'_>, is_first: bool) {
        self.before_order();
        let by = self.geometry.warp(warp);
        self.block.clocks.warpgroup_wait(by, warp.warp, is_first);
    }

    pub(super) fn cluster_arrive(
        &mut self,
        warp: &WarpContext<'_>,
        id: InstructionId,
        arriving: u32,
    ) {
        self.before_order();
        let by = self.geometry.warp(warp);
        let all = self.semantics[id.index()].releases;
        self.block.clocks.arrive_at_cluster(by, arriving, all);
    }

    pub(super) fn cluster_complete(&mut self) {
        self.before_order();
        self.block.clocks.complete_cluster();
    }

    pub(super) fn cluster_wait(&mut self, warp: &WarpContext<'_>, passing: u32) {
        self.before_order();
        let by = self.geometry.warp(warp);
        self.block.clocks.wait_for_cluster(by, passing);
    }

    pub(super) fn fence(&mut self, warp: &WarpContext<'_>, id: InstructionId, executing: u32) {
        self.before_order();
        let semantics = self.semantics[id.index()];
        let by = self.geometry.warp(warp);
        if semantics.is_proxy_fence {
            self.block.clocks.publish(by, executing);
        }
        if semantics.is_fence {
            self.block.clocks.fence(by, executing);
            self.block.fenced = true;
        }
        if semantics.is_init_fence && self.relaxes {
            self.block.clocks.fence(by, executing);
        }
    }

    pub(super) fn warp_sync(&mut self, warp: &WarpContext<'_>, sync: &WarpSync<'_>) {
        if sync.kind != WarpSyncKind::Barrier {
            return;
        }
        self.before_order();
        let by = self.geometry.warp(warp);
        if sync.present != sync.mask {
            // Some may have gone on when the others follow.
            if sync.is_first {
                self.block.clocks.synchronise_lanes(by, sync.present);
            }
            return;
        }
        // Lanes with the same members wait for each other.
        let mut rest = sync.mask;
        while rest != 0 {
            let members = sync.members[rest.trailing_zeros() as usize % LANES];
            let group = lanes(rest)
                .filter(|&lane| sync.members[lane] == members)
                .fold(0, |group, lane| group | 1 << lane);
            self.block.clocks.synchronise_lanes(by, group);
            rest &= !group;
        }
    }

    pub(super) fn barrier(&mut self, warp: &WarpContext<'_>, id: InstructionId, barrier: u32) {
        let number = first_barrier(self.geometry.rank(warp.rank)) + barrier;
        let by = self.geometry.warp(warp);
        if self.semantics[id.index()].only_arrives {
            self.before_order();
            self.block.clocks.arrive(by, number);
        } else {
            self.block.clocks.wait_at(by, number);
        }
    }

    pub(super) fn barrier_complete(&mut self, barrier: &BarrierComplete<'_>) {
        match barrier.whole_block && self.geometry.group_blocks() == 1 {
            true => {
                self.deferred.clear();
                self.updates.clear();
                self.block.clocks.synchronise_block();
                if self.block.clocks.stamps_exhausted() {
                    self.renew_stamps();
                }
            }
            false => {
                self.before_order();
                let rank = self.geometry.rank(barrier.rank);
                let id = first_barrier(rank) + barrier.barrier;
                let clocks = &mut self.block.clocks;
                match rank {
                    0 => clocks.synchronise_warps(id, barrier.arrived),
                    rank => {
                        let mut arrived = vec![0; (rank * self.geometry.warps()) as usize];
                        arrived.extend(barrier.arrived);
                        clocks.synchronise_warps(id, &arrived);
                    }
                }
            }
        }
    }
}
