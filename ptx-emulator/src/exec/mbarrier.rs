//! `mbarrier`: arrivals, transactions, phases, and the threads that wait for them.

use super::access::lane_addresses;
use super::async_copy::PendingCopy;
use super::block::Worker;
use super::mbarrier_object::{COUNT_MASK, MAX_BYTES, Object, state_parity};
use super::run::{Outcome, RawFault};
use super::vector::{LANES, Registers};
use super::warp::{Frame, State, Warp};
use super::warp_ops::lanes;
use crate::address_space::{RANK_SHIFT, cluster_address, of_cluster, space_of, window};
use crate::error::FaultKind;
use crate::ir::{
    AccessKind, BarrierAction, BarrierObject, Calls, InstructionId, Phase, Space, Terminator,
};
use crate::observer::{
    Accesses, AsyncAccess, Event, EventSink, Issuer, MemoryAccess, Progress, WarpContext,
};

/// How often in succession the waits of a group of blocks reach their time limit before they count
/// as a deadlock.
const MAX_EXPIRED: u32 = 16;

/// The lane that operates on an mbarrier, which may belong to another block.
#[derive(Clone, Copy, Debug)]
pub(super) struct LaneId {
    pub rank: u32,
    pub warp: usize,
    pub lane: usize,
}

/// A copy that an mbarrier waits for.
#[derive(Clone, Debug)]
pub(super) struct AwaitedCopy {
    barrier: u64,
    warp: usize,
    copy: PendingCopy,
}

fn bad(message: String, lane: usize) -> Box<RawFault> {
    Box::new(RawFault {
        kind: FaultKind::BadBarrier(message),
        lane: Some(lane),
    })
}

/// The registers of a frame.
pub(super) fn registers<'w>(warp: &'w mut Warp, frame: &Frame) -> Registers<'w> {
    Registers {
        regs32: &mut warp.regs32[frame.regs32..],
        regs64: &mut warp.regs64[frame.regs64..],
        predicates: &mut warp.predicates[frame.predicates..],
    }
}

impl<'l, O: EventSink> Worker<'_, 'l, O> {
    /// Lanes execute an mbarrier instruction, one after the other. Whether others should run next.
    pub(super) fn barrier_object(
        &mut self,
        index: usize,
        at: usize,
        object: &BarrierObject,
        info: u32,
    ) -> Result<bool, Box<RawFault>> {
        let split = self.warps[index].splits[at];
        let frame = self.warps[index].frames[split.frame as usize];
        let r = registers(&mut self.warps[index], &frame);
        let mut addresses = lane_addresses(&r, frame.local_base, &object.address);
        if object.address.space == Space::Generic {
            let base = window(Space::Shared).map_or(0, |(base, _)| base);
            for lane in lanes(split.mask) {
                let space = space_of(addresses[lane]);
                if space != Space::Shared {
                    let message =
                        format!("an mbarrier in {space} memory; it must be in shared memory");
                    return Err(bad(message, lane));
                }
                addresses[lane] -= base;
            }
        }
        let names_cluster = object.address.space != Space::Shared;
        if names_cluster && self.launch.kernel.0.program.has_ranks {
            for address in &mut addresses {
                let (rank, at) = of_cluster(self.launch.resolve_cluster(*address, self.rank));
                if rank == u64::from(self.rank) {
                    *address = at;
                }
            }
        }
        if names_cluster && lanes(split.mask).any(|lane| addresses[lane] >> RANK_SHIFT != 0) {
            self.act_at_others((index, at), &frame, object, info, &addresses)?;
            self.warps[index].splits[at].block = object.next;
            return Ok(false);
        }
        for lane in lanes(split.mask) {
            self.check_place(addresses[lane], lane)?;
        }
        // The initialisation of an mbarrier is a weak write; operations on it are strong.
        let access = match object.action {
            BarrierAction::Init(_) | BarrierAction::Invalidate => (AccessKind::Store, 8, false),
            _ => (AccessKind::Atomic, 8, true),
        };
        if !matches!(
            object.action,
            BarrierAction::Wait { .. } | BarrierAction::Expect(_)
        ) {
            self.observe_shared(index, access, split.mask, &addresses, info);
        }
        // Whether a wait has been satisfied by lane.
        let mut done = 0;
        for lane in lanes(split.mask) {
            let address = addresses[lane];
            if self.act(index, &frame, object, lane, address)? {
                done |= 1 << lane;
            }
        }
        if done != 0 {
            let access = (AccessKind::Load, 8, true);
            self.observe_shared(index, access, done, &addresses, info);
        }
        let BarrierAction::Wait {
            done: to, suspends, ..
        } = object.action
        else {
            self.warps[index].splits[at].block = object.next;
            return Ok(false);
        };
        let waiting = split.mask & !done;
        let mut r = registers(&mut self.warps[index], &frame);
        r.set_predicate(split.mask, to.0, done);
        let splits = &mut self.warps[index].splits;
        if waiting == 0 || !suspends {
            splits[at].block = object.next;
            return Ok(waiting != 0);
        }
        // Satisfied lanes go on; each of the others waits for its barrier.
        let waits = splits[at];
        splits[at].mask = waiting;
        if done != 0 {
            splits.push(super::warp::Split {
                mask: done,
                block: object.next,
                ..waits
            });
        }
        for part in self.warps[index].partition(at, &addresses) {
            let split = &mut self.warps[index].splits[part];
            let lane = split.mask.trailing_zeros() as usize % LANES;
            split.state = State::Phase(addresses[lane]);
        }
        Ok(false)
    }

    /// Lanes operate on mbarriers, some of which belong to other blocks.
    fn act_at_others(
        &mut self,
        (index, at): (usize, usize),
        frame: &Frame,
        object: &BarrierObject,
        info: u32,
        addresses: &[u64; LANES],
    ) -> Outcome {
        let (mask, own) = (self.warps[index].splits[at].mask, self.rank);
        let resolved = addresses.map(|address| self.launch.resolve_cluster(address, own));
        // Arrivals at an mbarrier of a block that has ended take no effect on an H200.
        let mut ended = 0;
        for lane in lanes(mask) {
            let (rank, address) = of_cluster(resolved[lane]);
            self.check_place(address, lane)?;
            if matches!(object.action, BarrierAction::Arrive { .. }) && self.has_left(rank) {
                ended |= 1 << lane;
                continue;
            }
            self.check_rank(rank, (AccessKind::Atomic, resolved[lane], 8), lane)?;
        }
        let (mask, kind) = (mask & !ended, (AccessKind::Atomic, 8, true));
        if O::ACCESSES && ended != 0 {
            let lanes = (ended, &resolved);
            let (context, access) = self.access((index, info), Space::Cluster, kind, lanes);
            self.observer.notify(Event::EndedBlockAccess {
                warp: &context,
                access: &access,
            });
        }
        if O::ACCESSES && mask != 0 {
            let lanes = (mask, &resolved);
            let (context, access) = self.access((index, info), Space::Cluster, kind, lanes);
            self.observer.notify(Event::Access {
                warp: &context,
                accesses: Accesses::full(&access),
            });
        }
        for lane in lanes(mask) {
            let (rank, address) = of_cluster(resolved[lane]);
            let by = self.by(index, lane);
            let r = registers(&mut self.warps[index], frame);
            let value_of = |reg: crate::ir::Reg32| u64::from(r.regs32[reg.0 as usize][lane]);
            let (count, expect, drop) = match object.action {
                BarrierAction::Arrive {
                    state: None,
                    count,
                    expect,
                    drop,
                } => (
                    Some(count.map_or(1, value_of)),
                    expect.map_or(0, value_of),
                    drop,
                ),
                BarrierAction::Expect(bytes) => (None, value_of(bytes), false),
                BarrierAction::Complete(bytes) => {
                    let bytes = value_of(bytes) as i64;
                    self.at_rank(rank as u32, |this| this.complete_bytes(address, bytes, by))?;
                    continue;
                }
                _ => {
                    let message = format!(
                        "the mbarrier at {address:#x} belongs to the block of rank {rank}: remote \
                         operations are arrive, expect_tx and complete_tx"
                    );
                    return Err(bad(message, lane));
                }
            };
            self.at_rank(rank as u32, |this| {
                this.expect(address, expect as i64, lane)?;
                match count {
                    Some(count) => this.count_arrivals(address, count, drop, by),
                    None => Ok(()),
                }
            })?;
        }
        Ok(())
    }

    fn by(&self, warp: usize, lane: usize) -> LaneId {
        LaneId {
            rank: self.rank,
            warp,
            lane,
        }
    }

    /// One lane's operation; whether the phase that it waits for is complete.
    fn act(
        &mut self,
        index: usize,
        frame: &Frame,
        object: &BarrierObject,
        lane: usize,
        address: u64,
    ) -> Result<bool, Box<RawFault>> {
        let by = self.by(index, lane);
        let r = registers(&mut self.warps[index], frame);
        let value_of = |reg: crate::ir::Reg32| u64::from(r.regs32[reg.0 as usize][lane]);
        match object.action {
            BarrierAction::Init(count) => {
                let count = value_of(count);
                if count == 0 || count > COUNT_MASK {
                    let message =
                        format!("an mbarrier of {count} arrivals; 1 to {COUNT_MASK} are valid");
                    return Err(bad(message, lane));
                }
                let fresh = Object {
                    pending: count,
                    expected: count,
                    bytes: 0,
                    parity: 0,
                };
                self.set_object(address, fresh.pack());
            }
            BarrierAction::Invalidate => {
                // Where there is none, a second destructor of one object for instance, a device
                // notices nothing.
                self.set_object(address, 0);
            }
            BarrierAction::Arrive {
                state,
                count,
                expect,
                drop,
            } => {
                let (count, expect) = (count.map_or(1, value_of), expect.map_or(0, value_of));
                let before = self.object(address, lane)?.pack();
                self.expect(address, expect as i64, lane)?;
                self.count_arrivals(address, count, drop, by)?;
                if let Some(state) = state {
                    let r = registers(&mut self.warps[index], frame);
                    r.regs64[state.0 as usize][lane] = before;
                }
            }
            BarrierAction::Expect(bytes) => {
                let bytes = value_of(bytes);
                self.expect(address, bytes as i64, lane)?;
            }
            BarrierAction::Complete(bytes) => {
                let bytes = value_of(bytes);
                self.complete_bytes(address, bytes as i64, by)?;
            }
            BarrierAction::ArriveAfterCopies { increment } => {
                let copies = self.warps[index].copies.take_all(1 << lane);
                self.awaited
                    .extend(copies.into_iter().map(|copy| AwaitedCopy {
                        barrier: address,
                        warp: index,
                        copy,
                    }));
                let mut known = self.object(address, lane)?;
                if increment {
                    known.pending += 1;
                    self.set_object(address, known.pack());
                }
                self.count_arrivals(address, 1, false, by)?;
            }
            BarrierAction::Wait { phase, .. } => {
                let parity = match phase {
                    Phase::Parity(parity) => value_of(parity) & 1,
                    Phase::State(state) => state_parity(r.regs64[state.0 as usize][lane]),
                };
                return Ok(self.object(address, lane)?.parity != parity);
            }
        }
        Ok(false)
    }

    pub(super) fn check_place(&self, address: u64, lane: usize) -> Outcome {
        if !address.is_multiple_of(8) {
            return Err(bad(
                format!("the mbarrier at {address:#x} is not 8-byte aligned"),
                lane,
            ));
        }
        let length = u64::from(self.launch.shared_bytes);
        if length < 8 || address > length - 8 {
            let message =
                format!("the mbarrier at {address:#x} is outside of the block's {length} bytes");
            return Err(bad(message, lane));
        }
        Ok(())
    }

    fn object(&self, address: u64, lane: usize) -> Result<Object, Box<RawFault>> {
        self.check_place(address, lane)?;
        let at = address as usize / 4;
        let bits = u64::from(self.shared[at]) | u64::from(self.shared[at + 1]) << 32;
        Object::unpack(bits).ok_or_else(|| {
            bad(
                format!("there is no mbarrier at {address:#x}: mbarrier.init makes one"),
                lane,
            )
        })
    }

    fn set_object(&mut self, address: u64, bits: u64) {
        let at = address as usize / 4;
        self.shared[at] = bits as u32;
        self.shared[at + 1] = (bits >> 32) as u32;
    }

    fn expect(&mut self, address: u64, bytes: i64, lane: usize) -> Outcome {
        let mut object = self.object(address, lane)?;
        object.bytes += bytes;
        if object.bytes > MAX_BYTES {
            let message = format!(
                "the mbarrier at {address:#x} would wait for {} bytes; {MAX_BYTES} are the most",
                object.bytes
            );
            return Err(bad(message, lane));
        }
        self.set_object(address, object.pack());
        Ok(())
    }

    /// Bytes that a phase expects have arrived.
    pub(super) fn complete_bytes(&mut self, address: u64, bytes: i64, by: LaneId) -> Outcome {
        let lane = by.lane;
        let mut object = self.object(address, lane)?;
        object.bytes -= bytes;
        if object.bytes < -MAX_BYTES {
            let message = format!("too many bytes complete at the mbarrier at {address:#x}");
            return Err(bad(message, lane));
        }
        self.advance(address, object, by);
        Ok(())
    }

    pub(super) fn count_arrivals(
        &mut self,
        address: u64,
        count: u64,
        drop: bool,
        by: LaneId,
    ) -> Outcome {
        let lane = by.lane;
        let mut object = self.object(address, lane)?;
        if count == 0 || count > object.pending {
            let message = format!(
                "{count} arrivals at the mbarrier at {address:#x}, which waits for {} \
                 in this phase",
                object.pending
            );
            return Err(bad(message, lane));
        }
        object.pending -= count;
        if drop {
            object.expected = object.expected.saturating_sub(count);
        }
        self.advance(address, object, by);
        Ok(())
    }

    /// Stores an object. If its phase is complete, the lanes that wait for it go on.
    fn advance(&mut self, address: u64, mut object: Object, by: LaneId) {
        let complete = object.advance();
        self.set_object(address, object.pack());
        if !complete {
            return;
        }
        let awaited = std::mem::take(&mut self.awaited);
        let (done, rest): (Vec<_>, Vec<_>) = awaited
            .into_iter()
            .partition(|awaited| awaited.barrier == address);
        self.awaited = rest;
        for AwaitedCopy { warp, copy, .. } in done {
            let access = (AccessKind::Store, copy.bytes, false);
            self.observe_shared(warp, access, copy.mask, &copy.to, copy.info);
            let (by, lanes) = ((warp, copy.info), (copy.mask, &copy.to));
            let told = Progress::Signalled(cluster_address(self.rank, address));
            self.observe_async(by, Space::Shared, access, lanes, Issuer::EachLane, told);
            copy.write(copy.mask, &mut self.shared);
        }
        let context = WarpContext {
            kernel: self.launch.kernel,
            block: self.block_of(by.rank),
            warp: by.warp as u32,
            rank: by.rank,
            calls: Calls::NONE,
        };
        let place = cluster_address(self.rank, address);
        self.observer.notify(Event::PhaseComplete {
            warp: &context,
            address: place,
        });
        self.wake(address);
    }

    /// Releases the lanes that wait for the completed phase of an mbarrier.
    fn wake(&mut self, address: u64) {
        self.expired = 0;
        for index in 0..self.warps.len() {
            for at in 0..self.warps[index].splits.len() {
                if self.warps[index].splits[at].state != State::Phase(address) {
                    continue;
                }
                let (mask, info) = self.end_wait((index, at), true);
                let access = (AccessKind::Load, 8, true);
                self.observe_shared(index, access, mask, &[address; LANES], info);
            }
        }
    }

    /// Where nothing else goes on: the waits of all lanes for phases reach their time limit, unless
    /// that was in vain several times. Programs do so that look whether a phase is complete before
    /// they do what completes it.
    pub(super) fn expire_waits(&mut self) -> bool {
        self.expired += 1;
        let mut any = false;
        if self.expired <= MAX_EXPIRED {
            self.each_block(|this, _| {
                for index in 0..this.warps.len() {
                    for at in 0..this.warps[index].splits.len() {
                        if let State::Phase(_) = this.warps[index].splits[at].state {
                            this.end_wait((index, at), false);
                            any = true;
                        }
                    }
                }
            });
        }
        any
    }

    /// Lanes that waited for a phase go on, as it is complete, or not. Returns their mask and their
    /// instruction.
    fn end_wait(&mut self, (index, at): (usize, usize), complete: bool) -> (u32, u32) {
        let program = self.program();
        let split = self.warps[index].splits[at];
        let block = &program.blocks[split.block as usize];
        if let Terminator::BarrierObject(object) = &block.terminator {
            if let BarrierAction::Wait { done, .. } = object.action {
                let frame = self.warps[index].frames[split.frame as usize];
                let mut r = registers(&mut self.warps[index], &frame);
                r.set_predicate(split.mask, done.0, if complete { u32::MAX } else { 0 });
            }
            self.warps[index].splits[at].block = object.next;
        }
        self.warps[index].splits[at].state = State::Ready;
        (split.mask, block.terminator_info.unwrap_or(u32::MAX))
    }

    pub(super) fn observe_shared(
        &mut self,
        index: usize,
        (kind, bytes, strong): (AccessKind, u32, bool),
        mask: u32,
        addresses: &[u64; LANES],
        info: u32,
    ) {
        if !O::ACCESSES {
            return;
        }
        let lanes = (mask, addresses);
        let (context, access) =
            self.access((index, info), Space::Shared, (kind, bytes, strong), lanes);
        self.observer.notify(Event::Access {
            warp: &context,
            accesses: Accesses::full(&access),
        });
    }

    pub(super) fn context(&self, index: usize) -> WarpContext<'l> {
        WarpContext {
            kernel: self.launch.kernel,
            block: self.block,
            warp: index as u32,
            rank: self.rank,
            calls: Calls::NONE,
        }
    }

    /// Reports an access of an asynchronous operation.
    pub(super) fn observe_async(
        &mut self,
        by: (usize, u32),
        space: Space,
        access: (AccessKind, u32, bool),
        lanes: (u32, &[u64; LANES]),
        issuer: Issuer,
        progress: Progress,
    ) {
        if O::ASYNC_ACCESSES {
            let (context, access) = self.access(by, space, access, lanes);
            let access = AsyncAccess {
                access,
                issuer,
                progress,
            };
            self.observer.notify(Event::AsyncAccess {
                warp: &context,
                access: &access,
            });
        }
    }

    /// An access of an instruction of a warp that is not compared with earlier ones.
    pub(super) fn access<'a>(
        &self,
        (index, info): (usize, u32),
        space: Space,
        (kind, bytes, strong): (AccessKind, u32, bool),
        (mask, addresses): (u32, &'a [u64; LANES]),
    ) -> (WarpContext<'l>, MemoryAccess<'a>) {
        let access = MemoryAccess {
            instruction: InstructionId(info),
            space,
            kind,
            bytes,
            mask,
            addresses,
            repeats_pattern: false,
            strong,
            values: None,
        };
        (self.context(index), access)
    }
}
