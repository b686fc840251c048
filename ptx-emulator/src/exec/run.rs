//! The inner loop: runs the lanes of one warp that are at the same instruction, until they diverge,
//! wait or end.

use super::access_pattern::AccessPattern;
use super::async_copy::CopyQueue;
use super::cluster::Peer;
use super::cooperative::Polls;
use super::fast_access::Sources;
use super::lane_offsets::LaneOffsets;
use super::member_mask::{Exchanged, Present};
use super::parked::Activity;
use super::simd::Instructions;
use super::vector::{LANES, Lanes32, Registers, collect};
use super::warpgroup::WgmmaQueue;
use super::{Launch, arithmetic, simd};
use crate::error::FaultKind;
use crate::ir::{Guard, Inst, InstructionId, MicroOp, Op, Program, Terminator, Ternary};
use crate::observer::{Event, EventSink, WarpContext, WarpSync, WarpSyncKind};

/// Nothing, or a fault; boxed since it is rare and large.
pub(crate) type Outcome = Result<(), Box<RawFault>>;

/// What a kernel did wrong, and in which lane.
#[derive(Debug)]
pub(crate) struct RawFault {
    pub kind: FaultKind,
    pub lane: Option<usize>,
}

/// Why the inner loop stopped.
#[derive(Debug)]
pub(crate) enum Stop {
    /// The lanes have reached a block at which others may wait.
    At(u32),
    /// The lanes have used up their fuel, and other warps may run.
    Yield(u32),
    /// A branch sent the lanes of the mask to the first block and the rest to the second.
    Diverged { taken: u32, mask: u32, next: u32 },
    /// The block may only be entered by more lanes at once.
    NeedsMembers(u32),
    /// The block ends in a terminator that the scheduler executes.
    Terminator(u32),
}

/// The state that the lanes of a warp need to run.
pub(crate) struct Run<'r, 'l, O> {
    pub launch: &'r Launch<'l>,
    pub program: &'r Program,
    pub r: Registers<'r>,
    /// Local memory of the warp: rows of one word per lane.
    pub local: &'r mut [Lanes32],
    /// First byte of the current frame's local variables.
    pub local_base: u32,
    /// Bytes of local memory of each thread.
    pub local_top: u32,
    pub shared: &'r mut [u32],
    /// By rank: the other blocks of the group.
    pub peers: &'r mut [Peer],
    /// The warp's `cp.async` copies in flight.
    pub copies: &'r mut CopyQueue,
    /// The warp's `wgmma` operations that have not been waited for.
    pub wgmmas: &'r mut WgmmaQueue,
    /// Groups of bulk copies that each lane has committed.
    pub bulk_groups: &'r mut [u32; LANES],
    pub patterns: &'r mut [AccessPattern],
    pub lane_offsets: &'r mut [LaneOffsets],
    /// Counts the basic blocks that the worker has entered.
    pub visit: &'r mut u64,
    pub observer: &'r mut O,
    pub context: WarpContext<'r>,
    /// Instructions that may be issued before more fuel is requested.
    pub fuel: &'r mut u64,
    /// Instructions granted to the worker; minus the fuel, those that it has issued.
    pub granted: &'r mut u64,
    /// How often a clock was read.
    pub clock_reads: &'r mut u64,
    /// In a cooperative launch: what the warp has done that concerns other blocks.
    pub polls: &'r mut Polls,
    /// What the block has done that shows whether it waits for others.
    pub activity: &'r mut Activity,
    /// The last known phase of the grid's barrier.
    pub grid_phase: &'r mut bool,
    /// What the group of blocks has printed.
    pub printed: &'r mut Vec<u8>,
    /// Lanes of the warp that have not exited.
    pub live: u32,
    /// All lanes, if those of the member mask have come to the same operation at other places.
    pub met: u32,
    /// What lanes have got that did so.
    pub exchanged: Option<&'r mut Exchanged>,
    /// The instruction being executed.
    pub info: u32,
}

impl<O: EventSink> Run<'_, '_, O> {
    /// Runs the lanes of `mask` from `block` on, up to a block of at least `limit`.
    ///
    /// `FULL`: the lanes are all that the warp has left, so whole registers may be written.
    #[inline(always)]
    pub(super) fn segment<V: Instructions, const FULL: bool>(
        &mut self,
        mut block: u32,
        mask: u32,
        limit: u32,
    ) -> Result<Stop, Box<RawFault>> {
        let program = self.program;
        let mut has_run = false;
        loop {
            if block >= limit || self.observer.steps() && has_run {
                return Ok(Stop::At(block));
            }
            has_run = true;
            let current = &program.blocks[block as usize];
            if let Some(members) = current.members
                && !self.has_members(members.0, mask | self.met)
            {
                return Ok(Stop::NeedsMembers(block));
            }
            // A block without instructions costs one, so that every loop ends.
            let cost = u64::from(current.instructions.max(1));
            if *self.fuel < cost {
                return self.refuel(block);
            }
            *self.fuel -= cost;
            *self.visit += 1;
            self.observer.notify(Event::BasicBlock {
                warp: &self.context,
                block: block as usize,
                active: mask,
            });
            let range = current.start as usize..current.end as usize;
            let (code, ops) = (&program.code[range.clone()], &program.micro_ops[range]);
            match current.members {
                None => self.straight::<V, FULL>(code, ops, mask)?,
                Some(members) if self.met != 0 => self.take_exchanged(code, members.0, mask),
                Some(members) => self.exec_sync((code, ops), members.0, mask)?,
            }
            match &current.terminator {
                Terminator::Jump(next) => {
                    self.observe_terminator(current.terminator_info, mask);
                    block = *next;
                }
                Terminator::Branch {
                    predicate,
                    negated,
                    taken,
                    next,
                } => {
                    self.observe_terminator(current.terminator_info, mask);
                    let guard = Guard {
                        predicate: *predicate,
                        negated: *negated,
                    };
                    let takers = self.guarded(guard) & mask;
                    if let Some(info) = current.terminator_info {
                        self.observer.notify(Event::Branch {
                            warp: &self.context,
                            id: InstructionId(info),
                            taken: takers,
                            not_taken: mask & !takers,
                        });
                    }
                    if takers == mask {
                        block = *taken;
                    } else if takers == 0 {
                        block = *next;
                    } else {
                        return Ok(Stop::Diverged {
                            taken: *taken,
                            mask: takers,
                            next: *next,
                        });
                    }
                }
                _ => {
                    self.observe_terminator(current.terminator_info, mask);
                    return Ok(Stop::Terminator(block));
                }
            }
        }
    }

    /// The operations of a basic block.
    #[inline(always)]
    fn straight<V: Instructions, const FULL: bool>(
        &mut self,
        code: &[Inst],
        ops: &[MicroOp],
        mask: u32,
    ) -> Outcome {
        let (mut code, mut ops) = (code, ops);
        while let ([inst, ..], [op, ..]) = (code, ops) {
            let mut done = usize::from(op.run);
            if done != 0 {
                self.run_of::<V, FULL>(code, &ops[..done], mask);
            } else if inst.frequent {
                done = self.frequent::<FULL>(code, mask);
            }
            if done == 0 {
                self.step::<FULL>(inst, op, mask)?;
                done = 1;
            }
            (code, ops) = (&code[done..], &ops[done..]);
        }
        Ok(())
    }

    /// Executes a run of operations on registers.
    #[inline(always)]
    fn run_of<V: Instructions, const FULL: bool>(
        &mut self,
        code: &[Inst],
        ops: &[MicroOp],
        mask: u32,
    ) {
        for inst in &code[..ops.len()] {
            if inst.first {
                self.observe_instruction(inst.info, mask);
            }
        }
        self.info = code[ops.len() - 1].info;
        simd::micro_ops(V::LEVEL, FULL, &mut self.r, self.program, ops, mask);
    }

    #[inline(always)]
    fn observe_instruction(&mut self, info: u32, executing: u32) {
        self.observer.notify(Event::Instruction {
            warp: &self.context,
            id: InstructionId(info),
            executing,
        });
    }

    #[inline(always)]
    fn observe_terminator(&mut self, info: Option<u32>, mask: u32) {
        if let Some(info) = info {
            self.observe_instruction(info, mask);
        }
    }

    /// Whether all lanes of the member masks that have not exited are here.
    #[inline(always)]
    fn has_members(&self, members: u32, mask: u32) -> bool {
        let members = &self.r.regs32[members as usize];
        let mut wanted = 0;
        for (lane, members) in members.iter().enumerate() {
            wanted |= members & 0u32.wrapping_sub(mask >> lane & 1);
        }
        wanted & self.live & !mask == 0
    }

    /// A `.sync` operation: lanes that give the same member mask execute it at once.
    #[inline(never)]
    fn exec_sync(
        &mut self,
        (code, ops): (&[Inst], &[MicroOp]),
        members: u32,
        mask: u32,
    ) -> Outcome {
        let members = self.r.regs32[members as usize];
        let first = members[mask.trailing_zeros() as usize % LANES];
        let different = members
            .iter()
            .fold(0, |any, members| any | (members ^ first));
        for (inst, op) in code.iter().zip(ops) {
            let (lanes, is_first) = (mask, true);
            self.observe_exchange(inst, &members, mask, Present { lanes, is_first });
            let mut group = match different {
                0 => mask,
                _ => collect(|lane| members[lane] == first) & mask,
            };
            let mut rest = mask;
            loop {
                match inst.op {
                    Op::Nothing => {}
                    Op::Shuffle(index) => {
                        let op = &self.program.shuffles[index as usize];
                        simd::shuffle(self.launch.level, &mut self.r, op, group);
                    }
                    _ => self.execute_masked(&inst.op, op, group)?,
                }
                rest &= !group;
                if rest == 0 {
                    break;
                }
                let first = members[rest.trailing_zeros() as usize % LANES];
                group = collect(|lane| members[lane] == first) & rest;
            }
        }
        Ok(())
    }

    /// Lanes execute a `.sync` operation, maybe with others at other places.
    #[inline(always)]
    pub(super) fn observe_exchange(
        &mut self,
        inst: &Inst,
        members: &Lanes32,
        mask: u32,
        present: Present,
    ) {
        self.info = inst.info;
        self.observe_instruction(inst.info, mask);
        if O::WARP_SYNCS {
            self.observe_sync(inst, members, mask, present);
        }
    }

    fn observe_sync(&mut self, inst: &Inst, members: &Lanes32, mask: u32, present: Present) {
        let sources = match inst.op {
            Op::Shuffle(index) => {
                let op = &self.program.shuffles[index as usize];
                Some(simd::shuffle_sources(self.launch.level, &self.r, op, mask).0)
            }
            _ => None,
        };
        let sync = WarpSync {
            instruction: InstructionId(inst.info),
            kind: match inst.op {
                Op::Nothing => WarpSyncKind::Barrier,
                _ => WarpSyncKind::Exchange,
            },
            mask,
            present: present.lanes,
            is_first: present.is_first,
            members,
            sources: sources.as_ref(),
        };
        self.observer.notify(Event::WarpSync {
            warp: &self.context,
            sync: &sync,
        });
    }

    #[cold]
    #[inline(never)]
    fn refuel(&mut self, block: u32) -> Result<Stop, Box<RawFault>> {
        if self.polls.is_held() {
            *self.fuel += self.polls.release();
            return Ok(Stop::Yield(block));
        }
        match self.launch.take_fuel(self.fuel, self.granted) {
            super::Fuel::More => Ok(Stop::Yield(block)),
            super::Fuel::Empty => Err(Box::new(RawFault {
                kind: FaultKind::Budget(self.launch.budget),
                lane: None,
            })),
        }
    }

    #[inline(always)]
    fn guarded(&self, guard: Guard) -> u32 {
        let bits = self.r.predicates[guard.predicate.0 as usize];
        if guard.negated { !bits } else { bits }
    }

    /// Executes the frequent operations at the start of the code, up to a load whose pattern is not
    /// known or not reported yet; returns their number. Few values are live here, so that they stay
    /// in the processor's registers.
    #[inline(always)]
    fn frequent<const FULL: bool>(&mut self, code: &[Inst], mask: u32) -> usize {
        let regs32 = &mut *self.r.regs32;
        let sources = Sources {
            launch: self.launch,
            shared: self.shared,
            lane_offsets: self.lane_offsets,
            visit: *self.visit,
        };
        let mut rest = code;
        while let [inst, behind @ ..] = rest
            && inst.frequent
        {
            let done = match inst.op {
                Op::Ternary32(Ternary::FloatFma, d, a, b, c) => {
                    arithmetic::float_fma::<FULL>(regs32, mask, d.0, (a.0, b.0, c.0));
                    true
                }
                Op::Load(index) if FULL && mask == u32::MAX => {
                    sources.read_again::<O>(&mut self.patterns[index as usize], regs32)
                }
                _ => false,
            };
            if !done {
                break;
            }
            if inst.first {
                self.observer.notify(Event::Instruction {
                    warp: &self.context,
                    id: InstructionId(inst.info),
                    executing: mask,
                });
            }
            rest = behind;
        }
        code.len() - rest.len()
    }

    #[inline(always)]
    fn step<const FULL: bool>(&mut self, inst: &Inst, op: &MicroOp, mask: u32) -> Outcome {
        self.info = inst.info;
        match inst.guard {
            None => {
                if inst.first {
                    self.observe_instruction(inst.info, mask);
                }
                self.execute::<FULL>(&inst.op, op, mask)
            }
            Some(guard) => {
                let executing = self.guarded(guard) & mask;
                if inst.first {
                    self.observe_instruction(inst.info, executing);
                    if executing != mask {
                        self.observer.notify(Event::PredicatedOff {
                            warp: &self.context,
                            id: InstructionId(inst.info),
                            off: mask & !executing,
                        });
                    }
                }
                match executing {
                    0 => Ok(()),
                    _ => self.execute_masked(&inst.op, op, executing),
                }
            }
        }
    }

    /// A predicated operation; outlined, since the loop would double in size.
    #[inline(never)]
    fn execute_masked(&mut self, op: &Op, micro_op: &MicroOp, mask: u32) -> Outcome {
        self.execute::<false>(op, micro_op, mask)
    }

    #[inline(always)]
    fn execute<const FULL: bool>(&mut self, op: &Op, micro_op: &MicroOp, mask: u32) -> Outcome {
        match *op {
            Op::Load(index) => self.load::<FULL>(index, mask),
            Op::Store(index) => self.store::<FULL>(index, mask),
            _ if micro_op.is_on_registers() => {
                let (level, ops) = (self.launch.level, std::slice::from_ref(micro_op));
                simd::micro_ops(level, FULL, &mut self.r, self.program, ops, mask);
                Ok(())
            }
            _ => self.execute_rare(*op, mask),
        }
    }
}
