//! A worker runs blocks one after the other: its warps take turns and synchronise at barriers.

use std::collections::VecDeque;

use super::access_pattern::AccessPattern;
use super::barrier::{BarrierState, POLL};
use super::cluster::{ClusterBarrier, Peer, shared_memory};
use super::cooperative::Polls;
use super::lane_offsets::LaneOffsets;
use super::mbarrier::AwaitedCopy;
use super::parked::Halt;
use super::run::{RawFault, Run, Stop};
use super::stepping::Stepping;
use super::tensor::PendingBulk;
use super::vector::{LANES, Registers};
use super::warp::{Split, State, Warp};
use super::{Launch, simd};
use crate::aligned::Aligned;
use crate::error::{Fault, FaultKind};
use crate::ir::{Calls, InstructionId, Op, Program, Terminator};
use crate::observer::{Event, EventSink, WarpContext};

pub(crate) struct Worker<'w, 'l, O> {
    pub(super) launch: &'w Launch<'l>,
    pub(super) observer: &'w mut O,
    pub(super) warps: Vec<Warp>,
    pub(super) shared: Aligned<u32>,
    patterns: Vec<AccessPattern>,
    lane_offsets: Vec<LaneOffsets>,
    visit: u64,
    pub(super) barriers: Vec<BarrierState>,
    /// Copies that are written when the phase of their mbarrier is complete.
    pub(super) awaited: Vec<AwaitedCopy>,
    /// Bulk copies that have been issued.
    pub(super) bulk: VecDeque<PendingBulk>,
    fuel: u64,
    granted: u64,
    clock_reads: u64,
    /// What the group that runs has printed.
    pub(super) printed: Vec<u8>,
    pub(super) block: [u32; 3],
    /// The block in its group: the cluster, or the grid of a cooperative launch.
    pub(super) rank: u32,
    /// By rank: the blocks of the group that are not running. Empty where a group is one block.
    pub(super) peers: Vec<Peer>,
    pub(super) cluster_barrier: ClusterBarrier,
    /// The group that runs.
    pub(super) group_index: u64,
    /// Whether blocks are put aside that may wait for others.
    pub(super) may_park: bool,
    pub(super) polls: Polls,
    /// Of a cooperative launch: whether other lanes of a warp go on while some poll. They do so
    /// only where nothing else goes on, since lanes that poll are awaited where they join the
    /// others.
    pub(super) runs_ahead: bool,
    /// Of a cooperative launch: the phase of the grid's barrier.
    grid_phase: bool,
    /// What an observer that steps has asked for.
    pub(super) stepping: Stepping,
}

/// The outcome of one turn of every warp.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Round {
    /// A warp ran and did something else than to poll in a cooperative launch.
    pub(super) progress: bool,
    /// All that did so have used up their shares.
    pub(super) spent: bool,
    /// A warp polled; all of them the grid's barrier, or something else.
    pub(super) polled: bool,
    pub(super) polled_other: bool,
    /// A warp has not exited.
    pub(super) running: bool,
}

/// How a warp's turn ended.
pub(super) enum Turn {
    /// It ran.
    Progress,
    /// It ran and has used up its share.
    Spent,
    /// It did nothing but poll, in a cooperative launch.
    Polled,
    /// All of its lanes wait or have exited.
    Idle,
    /// The launch has failed in an earlier block.
    Stopped,
}

impl Round {
    /// A warp's turn has ended, in which it polled as `polls` says.
    #[inline(always)]
    pub(super) fn add(&mut self, turn: Turn, polls: Polls) {
        match turn {
            Turn::Progress => (self.progress, self.spent) = (true, false),
            Turn::Spent => (self.spent, self.progress) = (!self.progress | self.spent, true),
            Turn::Polled => {
                self.polled = true;
                self.polled_other |= polls.other;
            }
            Turn::Idle | Turn::Stopped => {}
        }
    }
}

impl<'w, 'l, O: EventSink> Worker<'w, 'l, O> {
    pub(crate) fn new(launch: &'w Launch<'l>, observer: &'w mut O) -> Self {
        let program = &launch.kernel.0.program;
        let count = launch.threads.div_ceil(32);
        let blocks = launch.group_blocks();
        let peers = match blocks {
            1 => Vec::new(),
            _ => std::iter::once(Peer::vacant())
                .chain((1..blocks).map(|_| Peer::new(launch)))
                .collect(),
        };
        Worker {
            launch,
            observer,
            warps: (0..count).map(|index| Warp::new(launch, index)).collect(),
            shared: shared_memory(launch),
            patterns: AccessPattern::of_program(program),
            lane_offsets: LaneOffsets::of_program(program),
            visit: 0,
            barriers: BarrierState::of_block(count),
            awaited: Vec::new(),
            bulk: VecDeque::new(),
            fuel: 0,
            granted: 0,
            clock_reads: 0,
            printed: Vec::new(),
            block: [0; 3],
            rank: 0,
            peers,
            cluster_barrier: ClusterBarrier::new((count * launch.cluster_blocks()) as usize),
            group_index: 0,
            may_park: false,
            polls: Polls::default(),
            runs_ahead: false,
            grid_phase: false,
            stepping: Stepping::default(),
        }
    }

    pub(super) fn program(&self) -> &'w Program {
        &self.launch.kernel.0.program
    }

    /// Returns the instructions issued.
    pub(crate) fn issued(&self) -> u64 {
        self.granted - self.fuel
    }

    /// Runs a group of blocks from start to end: one block, a cluster, or the grid of a cooperative
    /// launch. `first` is its first block.
    pub(super) fn run_group(&mut self, index: u64, first: [u32; 3]) -> Result<Halt, Box<Fault>> {
        let launch = self.launch;
        self.group_index = index;
        self.cluster_barrier.reset();
        self.each_block(|this, rank| this.begin(launch.block_of_group(first, rank)));
        launch.level_fuel(&mut self.fuel, &mut self.granted);
        self.each_block(|this, _| {
            this.observer.notify(Event::BlockStart {
                kernel: launch.kernel,
                block: this.block,
            })
        });
        self.run_on()
    }

    /// Runs the blocks of the group until they end or are put aside.
    pub(super) fn run_on(&mut self) -> Result<Halt, Box<Fault>> {
        let launch = self.launch;
        let stopped = match launch.is_cooperative() {
            true => self.run_grid()?.then_some(Halt::Ended),
            false => self.run_blocks()?,
        };
        if let Some(halt) = stopped {
            return Ok(halt);
        }
        self.finish_blocks()?;
        self.each_block(|this, _| {
            this.observer.notify(Event::BlockEnd {
                kernel: launch.kernel,
                block: this.block,
            })
        });
        Ok(Halt::Ended)
    }

    /// Runs the blocks of a cluster, or one block, to their end, unless the launch was stopped or
    /// the block should be put aside.
    fn run_blocks(&mut self) -> Result<Option<Halt>, Box<Fault>> {
        let since = self.issued();
        loop {
            let mut round = Round::default();
            for rank in 0..self.block_count() {
                self.switch_to(rank);
                if let Turn::Stopped = self.run_round(&mut round)? {
                    return Ok(Some(Halt::Ended));
                }
            }
            if !round.running {
                return Ok(None);
            }
            if !round.progress && !self.advance_any_bulk()? {
                return Err(self.deadlock(POLL));
            }
            if self.is_due(since) {
                return Ok(Some(Halt::PutAside));
            }
        }
    }

    /// Makes everything ready for a block.
    fn begin(&mut self, block: [u32; 3]) {
        self.block = block;
        self.shared.fill(0);
        self.awaited.clear();
        self.bulk.clear();
        for barrier in &mut self.barriers {
            barrier.reset();
        }
        for warp in &mut self.warps {
            warp.start(self.launch, block);
        }
    }

    /// Gives each warp of the block a turn.
    pub(super) fn run_round(&mut self, round: &mut Round) -> Result<Turn, Box<Fault>> {
        if self.observer.steps() {
            return self.step_round(round);
        }
        for warp in 0..self.warps.len() {
            match self.run_warp(warp)? {
                Turn::Stopped => return Ok(Turn::Stopped),
                turn => round.add(turn, self.polls),
            }
            round.running |= self.warps[warp].live != 0;
        }
        Ok(Turn::Idle)
    }

    /// Runs a warp until all of its lanes wait or have exited, or its share is used up.
    pub(super) fn run_warp(&mut self, index: usize) -> Result<Turn, Box<Fault>> {
        let program = self.program();
        let mut turn = Turn::Idle;
        if self.launch.is_cooperative() {
            self.polls = Polls::default();
            self.warps[index].poll_again();
        }
        while let Some((at, limit)) = self.warps[index].choose(program) {
            if self.observer.steps()
                && let Some(turn) = self.pause(index, at)
            {
                return Ok(turn);
            }
            let split = self.warps[index].splits[at];
            let (entered, is_first) = (split.block, matches!(turn, Turn::Idle));
            let stop = self.run_split(index, split, limit)?;
            if let Stop::Yield(block) = stop
                && self.polls.has_polled()
            {
                self.warps[index].splits[at].block = block;
                if self.observer.steps() {
                    self.put_off(index, at);
                }
                let repeats = block == entered && self.polls.only_polled();
                turn = match turn {
                    Turn::Idle | Turn::Polled if repeats => Turn::Polled,
                    _ => Turn::Progress,
                };
                if !self.runs_ahead {
                    return Ok(turn);
                }
                self.warps[index].splits[at].state = State::Polled;
                continue;
            }
            turn = Turn::Progress;
            match stop {
                Stop::At(block) => {
                    let split = &mut self.warps[index].splits[at];
                    split.block = block;
                    // An observer that steps stops the lanes before they have reached others.
                    if !self.observer.steps() || block >= limit {
                        split.turns = 0;
                    }
                }
                Stop::Yield(block) => {
                    let split = &mut self.warps[index].splits[at];
                    split.block = block;
                    split.turns += 1;
                    if self.observer.steps() {
                        self.put_off(index, at);
                    }
                    if self.launch.is_stopped(self.group_index) {
                        return Ok(Turn::Stopped);
                    }
                    return Ok(match is_first {
                        true => Turn::Spent,
                        false => turn,
                    });
                }
                Stop::Diverged { taken, mask, next } => {
                    let splits = &mut self.warps[index].splits;
                    splits[at].block = taken;
                    splits[at].mask = mask;
                    splits.push(Split {
                        block: next,
                        mask: split.mask & !mask,
                        ..split
                    });
                }
                Stop::NeedsMembers(block) => {
                    let live = self.warps[index].live;
                    let named = self.named_lanes(index, &split, block);
                    let split = &mut self.warps[index].splits[at];
                    split.block = block;
                    split.state = State::Members {
                        mask: split.mask,
                        live,
                        named,
                    };
                    if self.observer.steps() {
                        self.take_back();
                    }
                }
                Stop::Terminator(block) => {
                    self.warps[index].splits[at].block = block;
                    if self.terminate(index, at, block)? {
                        // A warp that polls may wait for the copy engine.
                        self.advance_any_bulk()?;
                        return Ok(turn);
                    }
                }
            }
            if self.polls.goes_on() {
                return Ok(turn);
            }
        }
        Ok(turn)
    }

    /// The lanes that the `bar.warp.sync` of a block names. None where lanes name different ones,
    /// and where the block has another operation.
    fn named_lanes(&self, index: usize, split: &Split, block: u32) -> Option<u32> {
        let block = &self.program().blocks[block as usize];
        let code = &self.program().code[block.start as usize..block.end as usize];
        if !code.iter().all(|inst| matches!(inst.op, Op::Nothing)) {
            return None;
        }
        let frame = &self.warps[index].frames[split.frame as usize];
        let named = &self.warps[index].regs32[frame.regs32 + block.members?.0 as usize];
        let first = named[split.mask.trailing_zeros() as usize % LANES];
        let is_same = |lane: usize| named[lane] == first;
        super::warp_ops::lanes(split.mask)
            .all(is_same)
            .then_some(first)
    }

    /// Runs the inner loop for a split.
    fn run_split(&mut self, index: usize, split: Split, limit: u32) -> Result<Stop, Box<Fault>> {
        let program = self.program();
        let launch = self.launch;
        let calls = self.calls(index, split.frame);
        let warp = &mut self.warps[index];
        let frame = warp.frames[split.frame as usize];
        let local_top = warp.local_top(program, &frame);
        let full = split.mask == warp.live;
        let live = warp.live;
        let has_met = split.state == State::Met;
        if has_met {
            warp.set_state(split.mask, State::Ready);
        }
        let mut run = Run {
            launch,
            program,
            r: Registers {
                regs32: &mut warp.regs32[frame.regs32..],
                regs64: &mut warp.regs64[frame.regs64..],
                predicates: &mut warp.predicates[frame.predicates..],
            },
            local: &mut warp.local,
            local_base: frame.local_base,
            local_top,
            shared: &mut self.shared,
            peers: &mut self.peers,
            copies: &mut warp.copies,
            wgmmas: &mut warp.wgmmas,
            bulk_groups: &mut warp.bulk_groups,
            patterns: &mut self.patterns,
            lane_offsets: &mut self.lane_offsets,
            visit: &mut self.visit,
            observer: self.observer,
            context: WarpContext {
                kernel: launch.kernel,
                block: self.block,
                warp: warp.index,
                rank: self.rank,
                calls,
            },
            fuel: &mut self.fuel,
            granted: &mut self.granted,
            clock_reads: &mut self.clock_reads,
            polls: &mut self.polls,
            grid_phase: &mut self.grid_phase,
            printed: &mut self.printed,
            live,
            met: if has_met { u32::MAX } else { 0 },
            info: u32::MAX,
        };
        let outcome = simd::segment(launch.level, full, &mut run, split.block, split.mask, limit);
        let info = run.info;
        if run.met != 0 {
            // The share was used up before the lanes could go on.
            self.warps[index].set_state(split.mask, State::Met);
        }
        self.fuel += self.polls.end_segment();
        outcome.map_err(|fault| {
            let last = info;
            // The budget is used up between instructions.
            let info = match fault.kind {
                FaultKind::Budget(_) => None,
                _ => Some(info),
            };
            let is_endless = info.is_none();
            let mut fault = self.fault(*fault, Some(index), info);
            fault.calls = calls;
            if is_endless {
                let known = (last as usize) < launch.kernel.instruction_count();
                fault.id = known.then_some(InstructionId(last));
                fault.waiting = Some(self.whereabouts(index, last));
            }
            fault
        })
    }

    pub(super) fn fault(
        &self,
        raw: RawFault,
        warp: Option<usize>,
        info: Option<u32>,
    ) -> Box<Fault> {
        let kernel = self.launch.kernel;
        let known = info.filter(|&info| (info as usize) < kernel.instruction_count());
        let instruction = known.map(|info| kernel.instruction(InstructionId(info)));
        let thread = match (warp, raw.lane) {
            (Some(warp), Some(lane)) => {
                let linear = 32 * warp as u32 + lane as u32;
                let [x, y, _] = self.launch.block;
                Some([linear % x, linear / x % y, linear / x / y])
            }
            _ => None,
        };
        Box::new(Fault {
            kind: raw.kind,
            kernel: kernel.name().to_string(),
            id: known.map(InstructionId),
            instruction: instruction.map(|instruction| {
                // One line, whatever the layout of the text.
                let words: Vec<&str> = instruction.text().split_whitespace().collect();
                words.join(" ")
            }),
            line: instruction.map(|instruction| instruction.line()),
            location: instruction.and_then(|instruction| instruction.location()),
            block: self.block,
            thread,
            waiting: None,
            calls: Calls::NONE,
        })
    }

    /// Executes the terminator of a basic block. Whether other warps should run next.
    fn terminate(&mut self, index: usize, at: usize, block: u32) -> Result<bool, Box<Fault>> {
        let program = self.program();
        let current = &program.blocks[block as usize];
        let split = self.warps[index].splits[at];
        let first = split.mask.trailing_zeros() as usize % LANES;
        let outcome = match &current.terminator {
            Terminator::Exit => {
                self.exit(index, at);
                Ok(())
            }
            Terminator::Return => {
                self.return_from_call(index, at);
                Ok(())
            }
            Terminator::Trap => Err(Box::new(RawFault {
                kind: FaultKind::Trap,
                lane: Some(first),
            })),
            Terminator::Switch {
                index: index_register,
                targets,
            } => self.switch(
                index,
                at,
                index_register.0,
                targets,
                current.terminator_info,
            ),
            Terminator::Call(call) => self.call(index, at, block, call),
            Terminator::Barrier(barrier) => {
                self.arrive(index, at, barrier, current.terminator_info)
            }
            Terminator::BarrierObject(object) => {
                let info = current.terminator_info.unwrap_or(u32::MAX);
                let outcome = self.barrier_object(index, at, object, info);
                return outcome
                    .map_err(|fault| self.fault(*fault, Some(index), current.terminator_info));
            }
            Terminator::ClusterArrive { next } => {
                self.arrive_at_cluster(index, at, *next, current.terminator_info)
            }
            Terminator::ClusterWait { next } => {
                self.wait_for_cluster(index, at, *next, current.terminator_info)
            }
            Terminator::BulkCopy(copy) => {
                let info = current.terminator_info.unwrap_or(u32::MAX);
                self.bulk_copy(index, at, copy, info)
            }
            Terminator::BulkWait { newest, next } => {
                let outcome = self.wait_for_stores(index, split.mask, *newest);
                self.warps[index].splits[at].block = *next;
                outcome
            }
            // The inner loop follows these itself.
            Terminator::Jump(_) | Terminator::Branch { .. } => Ok(()),
        };
        match outcome {
            Ok(()) => Ok(false),
            Err(fault) => Err(self.fault(*fault, Some(index), current.terminator_info)),
        }
    }

    pub(super) fn exit(&mut self, index: usize, at: usize) {
        let warp = &mut self.warps[index];
        let split = warp.splits.swap_remove(at);
        warp.live &= !split.mask;
        warp.pop_frames();
        self.complete_without_exited();
        self.complete_cluster();
    }
}
