//! Launches under an observer that steps.

mod view;

use std::sync::atomic::Ordering;

use super::block::Worker;
use super::launch::Launch;
use super::turn::{Round, Turn};
use crate::error::Fault;
use crate::ir::Register;
use crate::observer::EventSink;
use crate::stepping::{Resume, Step};

/// What a worker does for an observer that steps.
#[derive(Debug, Default)]
pub(super) struct Stepping {
    /// The warp that has the next turn.
    next: Option<usize>,
    /// What the operations of the last step write, once they are done.
    writes: Vec<Write>,
    /// Steps that the observer has let run and that have not: rank, warp, basic block and lanes.
    put_off: Vec<(u32, usize, u32, u32)>,
}

/// A register that lanes write.
#[derive(Debug)]
struct Write {
    rank: u32,
    warp: usize,
    register: Register,
    /// The first registers of its frame.
    bases: (usize, usize, usize),
    lanes: u32,
}

impl Launch<'_> {
    /// Whether an observer has ended the launch.
    pub(super) fn is_stepped_out(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }
}

impl<O: EventSink> Worker<'_, '_, O> {
    /// Gives each warp of the block a turn, in the order that the observer wants.
    pub(super) fn step_round(&mut self, round: &mut Round) -> Result<Turn, Box<Fault>> {
        let mut warp = 0;
        while warp < self.warps.len() {
            match self.run_warp(warp)? {
                Turn::Stopped => return Ok(Turn::Stopped),
                turn => round.add(turn, self.polls),
            }
            warp = match self.stepping.next.take() {
                Some(next) => next,
                None => warp + 1,
            };
        }
        self.finish_step();
        round.running |= self.warps.iter().any(|warp| warp.live != 0);
        Ok(Turn::Idle)
    }

    /// Asks the observer before a split runs; how the warp's turn ends, if it does.
    #[cold]
    #[inline(never)]
    pub(super) fn pause(&mut self, index: usize, at: usize) -> Option<Turn> {
        self.finish_step();
        if self.launch.is_stepped_out() {
            return Some(Turn::Stopped);
        }
        let split = self.warps[index].splits[at];
        let key = (self.rank, index, split.block, split.mask);
        let put_off = &mut self.stepping.put_off;
        let is_put_off = put_off.contains(&key);
        put_off.retain(|&(rank, warp, ..)| (rank, warp) != (key.0, key.1));
        if !is_put_off && let Some(instruction) = self.program().first_instruction(split.block) {
            let step = Step {
                block: self.block,
                rank: self.rank,
                warp: index as u32,
                group: at,
                lanes: split.mask,
                instruction,
            };
            let last = self.warps.len() - 1;
            match self.ask(Some(step), None) {
                Resume::Run => {}
                Resume::Warp(warp) if last.min(warp as usize) == index => {}
                Resume::Warp(warp) => {
                    self.stepping.next = Some(last.min(warp as usize));
                    return Some(Turn::Progress);
                }
                Resume::Stop => {
                    self.launch.stopped.store(true, Ordering::Relaxed);
                    self.launch.failed_group.store(0, Ordering::Relaxed);
                    return Some(Turn::Stopped);
                }
            }
        }
        self.begin_step(index, at);
        None
    }

    /// The lanes of a step wait for others of their warp instead of running it.
    pub(super) fn take_back(&mut self) {
        self.stepping.writes.clear();
    }

    /// A step has not run, since the warp's share is used up: its turn comes again, without asking.
    pub(super) fn put_off(&mut self, index: usize, at: usize) {
        self.take_back();
        let split = self.warps[index].splits[at];
        let step = (self.rank, index, split.block, split.mask);
        self.stepping.put_off.push(step);
    }

    /// Shows the observer the state in which a launch has met a fault.
    pub(super) fn pause_at_fault(&mut self, fault: &Fault) {
        self.stepping.writes.clear();
        if let Resume::Stop = self.ask(None, Some(fault)) {
            self.launch.stopped.store(true, Ordering::Relaxed);
        }
    }

    fn ask(&mut self, step: Option<Step>, fault: Option<&Fault>) -> Resume {
        let paused = view::View {
            launch: self.launch,
            running: view::Resident {
                warps: &self.warps,
                shared: &self.shared,
                barriers: &self.barriers,
                block: self.block,
            },
            rank: self.rank,
            peers: &self.peers,
            step,
            fault,
        };
        self.observer.paused(&paused)
    }

    /// Notes what the operations of a split's block will write, and in which lanes.
    fn begin_step(&mut self, index: usize, at: usize) {
        let program = self.program();
        let Some(symbols) = &program.symbols else {
            return;
        };
        let warp = &self.warps[index];
        let split = warp.splits[at];
        let frame = warp.frames[split.frame as usize];
        let bases = (frame.regs32, frame.regs64, frame.predicates);
        let block = &program.blocks[split.block as usize];
        let writes = &mut self.stepping.writes;
        let rank = self.rank;
        let write = |register, lanes| Write {
            rank,
            warp: index,
            register,
            bases,
            lanes,
        };
        for operation in block.start as usize..block.end as usize {
            let executing = match program.code[operation].guard {
                None => split.mask,
                Some(guard) => {
                    let bits = warp.predicates[bases.2 + guard.predicate.0 as usize];
                    split.mask & if guard.negated { !bits } else { bits }
                }
            };
            let written = symbols.written_by(operation).iter();
            writes.extend(written.map(|&register| write(register, executing)));
        }
        let written = symbols.written_by_terminator(split.block as usize).iter();
        writes.extend(written.map(|&register| write(register, split.mask)));
    }

    /// What the last step wrote is written.
    fn finish_step(&mut self) {
        let mut writes = std::mem::take(&mut self.stepping.writes);
        for write in writes.drain(..) {
            let warps = match self.peers.get_mut(write.rank as usize) {
                Some(peer) if write.rank != self.rank => &mut peer.warps,
                _ => &mut self.warps,
            };
            let warp = warps.get_mut(write.warp);
            if let Some(written) = warp.and_then(|warp| warp.written.as_mut()) {
                written.mark(write.register, write.bases, write.lanes);
            }
        }
        self.stepping.writes = writes;
    }
}
