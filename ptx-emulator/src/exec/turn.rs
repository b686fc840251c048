//! The turn of a warp: its lanes run until all of them wait or have exited, or until their share is
//! used up.

use super::block::Worker;
use super::cooperative::Polls;
use super::run::{RawFault, Run, Stop};
use super::simd;
use super::vector::{LANES, Registers};
use super::warp::{Split, State, TURNS, are_plain, next_of_plain};
use crate::error::{Fault, FaultKind};
use crate::ir::{InstructionId, Terminator};
use crate::observer::{EventSink, WarpContext};

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
    /// A warp ran and did something else than to spin.
    pub(super) worked: bool,
}

/// How a warp's turn ended.
pub(super) enum Turn {
    /// It ran.
    Progress,
    /// It ran and has used up its share.
    Spent,
    /// It did nothing but spin.
    Spun,
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
        self.worked |= matches!(turn, Turn::Progress | Turn::Spent);
        match turn {
            Turn::Spun => self.progress = true,
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

/// A branch has sent the lanes of a mask to one block, and the rest of the split to another.
fn diverge(splits: &mut Vec<Split>, at: usize, (taken, mask): (u32, u32), next: u32) {
    let split = splits[at];
    splits[at].block = taken;
    splits[at].mask = mask;
    splits.push(Split {
        block: next,
        mask: split.mask & !mask,
        ..split
    });
}

/// Runs the inner loop for a split up to a limit, as [`Worker::run_split`] does. Where lanes
/// diverge or come together and nothing else is of interest, it goes on with those that come next:
/// all that lanes of a frame need is at hand here.
fn run_plain<O: EventSink>(
    run: &mut Run<'_, '_, O>,
    splits: &mut Vec<Split>,
    (mut at, mut limit): (usize, u32),
) -> (usize, bool, Result<Stop, Box<RawFault>>) {
    let mut followed = false;
    loop {
        let split = splits[at];
        let full = split.mask == run.live;
        let level = run.launch.level;
        let outcome = simd::segment(level, full, run, split.block, split.mask, limit);
        let goes_on = matches!(outcome, Ok(Stop::At(_) | Stop::Diverged { .. }))
            && !run.observer.steps()
            && run.met == 0
            && run.polls.is_quiet()
            && are_plain(splits);
        match outcome {
            Ok(Stop::At(block)) if goes_on => {
                splits[at].block = block;
                splits[at].turns = 0;
            }
            Ok(Stop::Diverged { taken, mask, next }) if goes_on => {
                diverge(splits, at, (taken, mask), next);
            }
            outcome => return (at, followed, outcome),
        }
        followed = true;
        (at, limit) = next_of_plain(splits);
    }
}

impl<O: EventSink> Worker<'_, '_, O> {
    /// Runs a warp until all of its lanes wait or have exited, or its share is used up.
    pub(super) fn run_warp(&mut self, index: usize) -> Result<Turn, Box<Fault>> {
        let program = self.program();
        let mut turn = Turn::Idle;
        if self.launch.is_cooperative() {
            self.polls = Polls::default();
            self.warps[index].poll_again();
        }
        self.polls.forget_loads();
        if self.warps[index].wgmmas.waits {
            self.release_by_warpgroup(index);
        }
        while let Some((at, limit)) = self.warps[index].choose(program) {
            if self.observer.steps()
                && let Some(turn) = self.pause(index, at)
            {
                return Ok(turn);
            }
            let (at, followed, stop) = self.run_split(index, at, limit)?;
            if followed {
                turn = Turn::Progress;
            }
            let split = self.warps[index].splits[at];
            let (entered, is_first) = (split.block, matches!(turn, Turn::Idle));
            let spins = self.polls.end_spin();
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
                    // The lanes that hold the lock come first.
                    split.turns = match spins {
                        true => TURNS,
                        false => split.turns + 1,
                    };
                    if self.observer.steps() {
                        self.put_off(index, at);
                    }
                    if self.launch.is_stopped(self.group_index) {
                        return Ok(Turn::Stopped);
                    }
                    return Ok(match (is_first, spins) {
                        (true, true) => Turn::Spun,
                        (true, false) => Turn::Spent,
                        (false, _) => turn,
                    });
                }
                Stop::Diverged { taken, mask, next } => {
                    diverge(&mut self.warps[index].splits, at, (taken, mask), next);
                }
                Stop::NeedsMembers(block) => {
                    let live = self.warps[index].live;
                    let split = &mut self.warps[index].splits[at];
                    split.block = block;
                    split.state = State::Members {
                        mask: split.mask,
                        live,
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

    /// Runs the inner loop for a split, and for those of its frame that come next. Which one ran
    /// last, whether it is another run than the first, and why it stopped.
    fn run_split(
        &mut self,
        index: usize,
        at: usize,
        limit: u32,
    ) -> Result<(usize, bool, Stop), Box<Fault>> {
        let split = self.warps[index].splits[at];
        let program = self.program();
        let launch = self.launch;
        let calls = self.calls(index, split.frame);
        let warp = &mut self.warps[index];
        let frame = warp.frames[split.frame as usize];
        let local_top = warp.local_top(program, &frame);
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
            activity: &mut self.activity,
            grid_phase: &mut self.grid_phase,
            printed: &mut self.printed,
            live,
            met: if has_met { u32::MAX } else { 0 },
            exchanged: warp.exchanged.as_deref_mut(),
            info: u32::MAX,
        };
        let (at, followed, outcome) = run_plain(&mut run, &mut warp.splits, (at, limit));
        let info = run.info;
        if run.met != 0 {
            // The share was used up before the lanes could go on.
            self.warps[index].set_state(split.mask, State::Met);
        }
        self.fuel += self.polls.end_segment();
        let outcome = outcome.map(|stop| (at, followed, stop));
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
            Terminator::Tensor(instruction) => {
                let info = current.terminator_info.unwrap_or(u32::MAX);
                self.tensor_instruction(index, at, instruction, info)
            }
            Terminator::BulkWait { newest, next } => {
                let outcome = self.wait_for_stores(index, split.mask, *newest);
                self.warps[index].splits[at].block = *next;
                outcome
            }
            Terminator::WarpgroupWait { newest, .. } => {
                self.wait_for_warpgroup(index, at, *newest);
                Ok(())
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
