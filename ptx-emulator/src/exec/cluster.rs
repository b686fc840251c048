//! Groups of blocks that run in turn on one worker, and clusters: blocks of a group that access
//! each other's shared memory, and their barrier. A group is a cluster, or the grid of a
//! cooperative launch, each block of which is a cluster of its own.
//!
//! The worker's own fields are those of the running block; the others wait as [`Peer`]s. So a
//! launch of single blocks runs as if there were none.

use std::collections::VecDeque;
use std::ops::Range;

use super::Launch;
use super::barrier::Barriers;
use super::block::Worker;
use super::mbarrier::AwaitedCopy;
use super::run::{Outcome, RawFault};
use super::tensor::PendingBulk;
use super::tensor_memory::TensorMemory;
use super::vector::LANES;
use super::warp::{Split, State, Warp};
use crate::address_space::OUTSIDE;
use crate::aligned::Aligned;
use crate::error::{AccessFault, Fault, FaultKind};
use crate::ir::{AccessKind, InstructionId, Space, Terminator};
use crate::observer::{Event, EventSink};

/// A block of a group while another one runs.
#[derive(Debug)]
pub(crate) struct Peer {
    pub(super) warps: Vec<Warp>,
    pub(super) shared: Aligned<u32>,
    pub(super) barriers: Barriers,
    awaited: Vec<AwaitedCopy>,
    bulk: VecDeque<PendingBulk>,
    pub(super) tensor: Option<Box<TensorMemory>>,
    /// Of a block that is a cluster of its own.
    cluster_barrier: ClusterBarrier,
    pub(super) block: [u32; 3],
}

impl Peer {
    pub(super) fn new(launch: &Launch<'_>) -> Self {
        let count = launch.threads.div_ceil(32);
        Peer {
            warps: (0..count).map(|index| Warp::new(launch, index)).collect(),
            shared: shared_memory(launch),
            barriers: Barriers::new(count),
            awaited: Vec::new(),
            bulk: VecDeque::new(),
            tensor: None,
            cluster_barrier: match launch.blocks_are_clusters() {
                true => ClusterBarrier::new(count as usize),
                false => ClusterBarrier::new(0),
            },
            block: [0; 3],
        }
    }

    /// The empty slot of the running block.
    pub(super) fn vacant() -> Self {
        Peer {
            warps: Vec::new(),
            shared: Aligned::try_new(0, || 0).expect("no memory at all"),
            barriers: Barriers::default(),
            awaited: Vec::new(),
            bulk: VecDeque::new(),
            tensor: None,
            cluster_barrier: ClusterBarrier::new(0),
            block: [0; 3],
        }
    }

    /// Whether a thread of it has not exited.
    pub(super) fn is_running(&self) -> bool {
        has_threads(&self.warps)
    }

    pub(super) fn shared(&self) -> &[u32] {
        &self.shared
    }

    pub(super) fn shared_mut(&mut self) -> &mut [u32] {
        &mut self.shared
    }
}

/// A block's shared memory.
pub(super) fn shared_memory(launch: &Launch<'_>) -> Aligned<u32> {
    Aligned::try_new((launch.shared_bytes as usize).div_ceil(4), || 0)
        .expect("memory for a block's shared memory")
}

fn has_threads(warps: &[Warp]) -> bool {
    warps.iter().any(|warp| warp.live != 0)
}

/// The barrier of a cluster (PTX ISA, "barrier.cluster"): masks of lanes by warp, in the order of
/// the blocks' ranks.
#[derive(Debug)]
pub(super) struct ClusterBarrier {
    /// Those that have arrived in this phase.
    arrived: Vec<u32>,
    /// Lanes that may go on in the previous phase, which is complete, and have not waited for it
    /// yet.
    passing: Vec<u32>,
    /// Whether any lane has arrived in this phase.
    in_use: bool,
}

impl ClusterBarrier {
    pub(super) fn new(warps: usize) -> Self {
        ClusterBarrier {
            arrived: vec![0; warps],
            passing: vec![0; warps],
            in_use: false,
        }
    }

    /// Makes the barrier ready for the next cluster.
    pub(super) fn reset(&mut self) {
        self.arrived.fill(0);
        self.passing.fill(0);
        self.in_use = false;
    }
}

impl<O: EventSink> Worker<'_, '_, O> {
    /// Blocks of the group.
    pub(super) fn block_count(&self) -> u32 {
        self.peers.len().max(1) as u32
    }

    /// The ranks of the blocks of the running block's cluster.
    pub(super) fn cluster_ranks(&self) -> Range<u32> {
        match self.launch.is_cooperative() {
            true => self.rank..self.rank + 1,
            false => 0..self.block_count(),
        }
    }

    /// Whether all threads of the block of a rank have exited.
    pub(super) fn has_ended(&self, rank: u32) -> bool {
        !match self.peers.get(rank as usize) {
            Some(peer) if rank != self.rank => peer.is_running(),
            _ => has_threads(&self.warps),
        }
    }

    /// Makes the block of a rank the running one.
    #[inline]
    pub(super) fn switch_to(&mut self, rank: u32) {
        if rank != self.rank {
            self.exchange(self.rank);
            self.exchange(rank);
            self.rank = rank;
        }
    }

    fn exchange(&mut self, rank: u32) {
        let mut peers = std::mem::take(&mut self.peers);
        if let Some(peer) = peers.get_mut(rank as usize) {
            self.trade(peer);
        }
        self.peers = peers;
    }

    /// Makes another block the running one, and puts this one in its place.
    pub(super) fn trade(&mut self, peer: &mut Peer) {
        std::mem::swap(&mut self.warps, &mut peer.warps);
        std::mem::swap(&mut self.shared, &mut peer.shared);
        std::mem::swap(&mut self.barriers, &mut peer.barriers);
        std::mem::swap(&mut self.awaited, &mut peer.awaited);
        std::mem::swap(&mut self.bulk, &mut peer.bulk);
        std::mem::swap(&mut self.tensor, &mut peer.tensor);
        std::mem::swap(&mut self.block, &mut peer.block);
        if self.launch.blocks_are_clusters() {
            std::mem::swap(&mut self.cluster_barrier, &mut peer.cluster_barrier);
        }
    }

    /// Runs an action with the block of a rank as the running one.
    pub(super) fn at_rank<R>(&mut self, rank: u32, action: impl FnOnce(&mut Self) -> R) -> R {
        let own = self.rank;
        self.switch_to(rank);
        let result = action(self);
        self.switch_to(own);
        result
    }

    /// Does something for each block of the group.
    pub(super) fn each_block(&mut self, mut action: impl FnMut(&mut Self, u32)) {
        for rank in 0..self.block_count() {
            self.at_rank(rank, |this| action(this, rank));
        }
    }

    /// The index in the grid of the block of a rank.
    pub(super) fn block_of(&self, rank: u32) -> [u32; 3] {
        match self.peers.get(rank as usize) {
            Some(peer) if rank != self.rank => peer.block,
            _ => self.block,
        }
    }

    /// The same of any block of the cluster, its own first.
    pub(super) fn advance_any_bulk(&mut self) -> Result<bool, Box<Fault>> {
        if self.advance_own()? {
            return Ok(true);
        }
        for rank in self.cluster_ranks() {
            if rank != self.rank && self.at_rank(rank, Self::advance_own)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Executes a bulk load of the block, or what it has issued on tensor memory; whether there was
    /// anything.
    pub(super) fn advance_own(&mut self) -> Result<bool, Box<Fault>> {
        Ok(self.advance_bulk()? || self.tensor.is_some() && self.advance_tensor()?)
    }

    /// Whether a rank is that of another block of the cluster, all threads of which have exited.
    pub(super) fn has_left(&self, rank: u64) -> bool {
        let is_other = !self.launch.is_cooperative() && rank != u64::from(self.rank);
        let peer = self.peers.get(rank as usize).filter(|_| is_other);
        peer.is_some_and(|peer| !peer.is_running())
    }

    /// Whether the shared memory of the block of a rank may be accessed: the block exists and has
    /// not ended.
    pub(super) fn check_rank(
        &self,
        rank: u64,
        (access, address, bytes): (AccessKind, u64, u32),
        lane: usize,
    ) -> Outcome {
        let blocks = u64::from(self.launch.cluster_blocks());
        let is_there = match self.peers.get(rank as usize) {
            Some(peer) if rank != u64::from(self.rank) => peer.is_running(),
            _ => rank == u64::from(self.rank),
        };
        match is_there {
            true => Ok(()),
            false => Err(not_there(rank, blocks, (access, address, bytes), lane)),
        }
    }

    fn warp_of_cluster(&self, index: usize) -> usize {
        let rank = self.rank - self.cluster_ranks().start;
        rank as usize * self.warps.len() + index
    }

    /// Lanes arrive at the barrier of the cluster.
    pub(super) fn arrive_at_cluster(
        &mut self,
        index: usize,
        at: usize,
        next: u32,
        info: Option<u32>,
    ) -> Outcome {
        let mask = self.warps[index].splits[at].mask;
        let warp = self.warp_of_cluster(index);
        let barrier = &mut self.cluster_barrier;
        let twice = (barrier.arrived[warp] | barrier.passing[warp]) & mask;
        if twice != 0 {
            let message = "it arrives at the cluster's barrier again and has not waited there";
            return Err(bad(message, twice));
        }
        barrier.arrived[warp] |= mask;
        barrier.in_use = true;
        if let Some(info) = info {
            let context = self.context(index);
            self.observer.notify(Event::ClusterArrive {
                warp: &context,
                id: InstructionId(info),
                arriving: mask,
            });
        }
        self.warps[index].splits[at].block = next;
        self.complete_cluster();
        Ok(())
    }

    /// Lanes wait for the barrier of the cluster.
    pub(super) fn wait_for_cluster(
        &mut self,
        index: usize,
        at: usize,
        next: u32,
        info: Option<u32>,
    ) -> Outcome {
        let split = self.warps[index].splits[at];
        let warp = self.warp_of_cluster(index);
        let barrier = &mut self.cluster_barrier;
        let not_arrived = split.mask & !(barrier.arrived[warp] | barrier.passing[warp]);
        if not_arrived != 0 {
            let message = "it waits for the cluster's barrier and has not arrived there";
            return Err(bad(message, not_arrived));
        }
        let (passing, waiting) = (
            split.mask & barrier.passing[warp],
            split.mask & !barrier.passing[warp],
        );
        barrier.passing[warp] &= !passing;
        let splits = &mut self.warps[index].splits;
        match (passing, waiting) {
            (_, 0) => splits[at].block = next,
            _ => {
                splits[at].mask = waiting;
                splits[at].state = State::Cluster;
                if passing != 0 {
                    splits.push(Split {
                        mask: passing,
                        block: next,
                        ..split
                    });
                }
            }
        }
        if passing != 0 {
            self.observe_cluster_wait(index, info, passing);
        }
        Ok(())
    }

    fn observe_cluster_wait(&mut self, index: usize, info: Option<u32>, mask: u32) {
        if let Some(info) = info {
            let context = self.context(index);
            self.observer.notify(Event::ClusterWait {
                warp: &context,
                id: InstructionId(info),
                passing: mask,
            });
        }
    }

    /// Releases the lanes that wait at the cluster's barrier, if all threads that have not exited
    /// have arrived.
    pub(super) fn complete_cluster(&mut self) {
        if !self.cluster_barrier.in_use || !self.all_have_arrived() {
            return;
        }
        let kernel = self.launch.kernel;
        self.observer.notify(Event::ClusterComplete { kernel });
        let barrier = &mut self.cluster_barrier;
        barrier.in_use = false;
        for (passing, arrived) in barrier.passing.iter_mut().zip(&mut barrier.arrived) {
            *passing |= std::mem::take(arrived);
        }
        let own = self.rank;
        for rank in self.cluster_ranks() {
            self.switch_to(rank);
            self.wake_for_cluster();
        }
        self.switch_to(own);
    }

    fn all_have_arrived(&self) -> bool {
        let count = self.launch.threads.div_ceil(32) as usize;
        let arrived = self.cluster_barrier.arrived.chunks(count);
        self.cluster_ranks().zip(arrived).all(|(rank, arrived)| {
            let warps = match self.peers.get(rank as usize) {
                Some(peer) if rank != self.rank => &peer.warps,
                _ => &self.warps,
            };
            let all_here = |(warp, &mask): (&Warp, &u32)| warp.live & !mask == 0;
            warps.iter().zip(arrived).all(all_here)
        })
    }

    fn wake_for_cluster(&mut self) {
        let program = self.program();
        for index in 0..self.warps.len() {
            for at in 0..self.warps[index].splits.len() {
                let split = self.warps[index].splits[at];
                let block = &program.blocks[split.block as usize];
                let (State::Cluster, Terminator::ClusterWait { next }) =
                    (split.state, &block.terminator)
                else {
                    continue;
                };
                let waking = &mut self.warps[index].splits[at];
                waking.state = State::Ready;
                waking.block = *next;
                let warp = self.warp_of_cluster(index);
                self.cluster_barrier.passing[warp] &= !split.mask;
                self.observe_cluster_wait(index, block.terminator_info, split.mask);
            }
        }
    }
}

fn bad(message: &str, mask: u32) -> Box<RawFault> {
    Box::new(RawFault {
        kind: FaultKind::BadBarrier(message.to_string()),
        lane: Some(mask.trailing_zeros() as usize % LANES),
    })
}

/// An access to the shared memory of a block that does not exist or has ended.
#[cold]
pub(super) fn not_there(
    rank: u64,
    blocks: u64,
    (access, address, bytes): (AccessKind, u64, u32),
    lane: usize,
) -> Box<RawFault> {
    let exists = rank < blocks;
    let access = AccessFault {
        access,
        space: Space::Cluster,
        address,
        bytes,
        nearest: match exists {
            true => format!("the block of rank {rank} has ended"),
            false => {
                let rank = rank & !OUTSIDE;
                format!("there is no block of rank {rank}, the cluster has {blocks}")
            }
        },
    };
    Box::new(RawFault {
        kind: match exists {
            true => FaultKind::UseAfterFree(access),
            false => FaultKind::OutOfBounds(access),
        },
        lane: Some(lane),
    })
}
