//! `.sync` instructions that the lanes of one member mask execute at different places.
//!
//! Lanes that come to one instruction join each other and execute it at once. PTX lets them execute
//! it at several: each lane waits until all of its mask that have not exited have executed "the
//! same instruction with the same qualifiers and the same membermask" (PTX ISA, "shfl.sync"). As
//! soon as they have, values are exchanged here, and each lane finds its result when it goes on.

use super::run::Run;
use super::vector::{LANES, Lanes32, Registers, collect, store_lanes32};
use super::warp::{Split, State, Warp};
use super::warp_ops::{self, lanes};
use crate::ir::{Inst, Op, Predicate, Program, ReduceMode, Reg32, Reg64, Register};
use crate::ir::{Shuffle, ShuffleMode, VoteMode};
use crate::observer::EventSink;

/// What a `.sync` instruction does, without its operands: lanes meet where it is the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operation {
    Barrier,
    Shuffle(ShuffleMode),
    Vote(VoteMode),
    /// Whether the values have 64 bits.
    MatchAny(bool),
    MatchAll(bool),
    Reduce(ReduceMode),
    Elect,
}

impl Operation {
    /// None of instructions that all lanes must execute at one place: those on matrices.
    fn of(program: &Program, op: Op) -> Option<Self> {
        let is_wide = |value: Register| matches!(value, Register::Reg64(_));
        Some(match op {
            Op::Nothing => Operation::Barrier,
            Op::Shuffle(index) => Operation::Shuffle(program.shuffles[index as usize].mode),
            Op::Vote(mode, ..) => Operation::Vote(mode),
            Op::MatchAny(_, value) => Operation::MatchAny(is_wide(value)),
            Op::MatchAll(_, _, value) => Operation::MatchAll(is_wide(value)),
            Op::Reduce(mode, ..) => Operation::Reduce(mode),
            Op::Elect(..) => Operation::Elect,
            _ => return None,
        })
    }
}

/// What lanes have got by an exchange and not taken yet, by lane.
#[derive(Clone, Debug, Default)]
pub(crate) struct Exchanged {
    values: Lanes32,
    /// One bit for each lane.
    holds: u32,
    /// The lanes that took part.
    present: Lanes32,
    /// The lanes that have met others of which none has gone on, one bit each.
    unreported: u32,
}

/// The operands of the lanes of an exchange, and its results.
#[derive(Default)]
struct Operands {
    /// Value, lane and clamp of a shuffle, and the result.
    regs32: [Lanes32; 4],
    regs64: [[u64; LANES]; 1],
    /// The operand, and the result.
    predicates: [u32; 2],
}

const RESULT: Reg32 = Reg32(3);
const HOLDS: Predicate = Predicate(1);

impl Operands {
    /// Takes the operands of some lanes of a split.
    fn gather(&mut self, warp: &Warp, split: &Split, (program, op): (&Program, Op), mask: u32) {
        let frame = &warp.frames[split.frame as usize];
        let mut take = |to: usize, from: Reg32| {
            let from = &warp.regs32[frame.regs32 + from.0 as usize];
            store_lanes32::<false>(&mut self.regs32[to], mask, |lane| from[lane]);
        };
        match op {
            Op::Shuffle(index) => {
                let op = &program.shuffles[index as usize];
                for (to, from) in [op.value, op.lane, op.clamp].into_iter().enumerate() {
                    take(to, from);
                }
            }
            Op::Vote(_, _, from) => {
                let bits = warp.predicates[frame.predicates + from.0 as usize];
                self.predicates[0] = self.predicates[0] & !mask | bits & mask;
            }
            Op::MatchAny(_, Register::Reg64(from)) | Op::MatchAll(_, _, Register::Reg64(from)) => {
                let from = &warp.regs64[frame.regs64 + from.0 as usize];
                for lane in lanes(mask) {
                    self.regs64[0][lane] = from[lane];
                }
            }
            Op::MatchAny(_, Register::Reg32(from))
            | Op::MatchAll(_, _, Register::Reg32(from))
            | Op::Reduce(_, _, from) => take(0, from),
            _ => {}
        }
    }

    /// Exchanges the values of the lanes of `mask`.
    fn exchange(&mut self, operation: Operation, mask: u32) {
        let r = &mut Registers {
            regs32: &mut self.regs32,
            regs64: &mut self.regs64,
            predicates: &mut self.predicates,
        };
        let value = |is_wide: bool| match is_wide {
            true => Register::Reg64(Reg64(0)),
            false => Register::Reg32(Reg32(0)),
        };
        match operation {
            Operation::Barrier => {}
            Operation::Shuffle(mode) => {
                let op = Shuffle {
                    mode,
                    destination: RESULT,
                    in_range: Some(HOLDS),
                    value: Reg32(0),
                    lane: Reg32(1),
                    clamp: Reg32(2),
                };
                warp_ops::shuffle(r, &op, mask);
            }
            Operation::Vote(mode) => {
                let to = match mode {
                    VoteMode::Ballot => Register::Reg32(RESULT),
                    _ => Register::Predicate(HOLDS),
                };
                warp_ops::vote(r, mode, to, 0, mask);
            }
            Operation::MatchAny(is_wide) => warp_ops::match_any(r, RESULT, value(is_wide), mask),
            Operation::MatchAll(is_wide) => {
                warp_ops::match_all(r, RESULT, Some(HOLDS), value(is_wide), mask);
            }
            Operation::Reduce(mode) => warp_ops::reduce(r, mode, RESULT, Reg32(0), mask),
            Operation::Elect => warp_ops::elect(r, Some(RESULT), HOLDS, mask),
        }
    }
}

/// The lanes whose masks are `wanted`.
fn naming(members: &Lanes32, wanted: u32) -> u32 {
    collect(|lane| members[lane] == wanted)
}

impl Warp {
    /// Lets lanes go on that wait at different places, once all of their mask are at one.
    pub(super) fn meet(&mut self, program: &Program) {
        for at in 0..self.splits.len() {
            let split = self.splits[at];
            let Some((_, operation, members)) = self.awaited(program, &split) else {
                continue;
            };
            let mut rest = split.mask;
            while rest != 0 {
                let wanted = members[rest.trailing_zeros() as usize % LANES];
                let here = self.at_operation(program, operation, wanted);
                if wanted & self.live & !here == 0 {
                    self.release(program, operation, (wanted, here));
                }
                rest &= !naming(&members, wanted);
            }
        }
    }

    /// The instruction at which lanes wait for others of their masks, and these.
    fn awaited(&self, program: &Program, split: &Split) -> Option<(Op, Operation, Lanes32)> {
        if !matches!(split.state, State::Members { .. }) {
            return None;
        }
        let block = &program.blocks[split.block as usize];
        let [inst] = &program.code[block.start as usize..block.end as usize] else {
            return None;
        };
        let frame = &self.frames[split.frame as usize];
        let members = self.regs32[frame.regs32 + block.members?.0 as usize];
        Some((inst.op, Operation::of(program, inst.op)?, members))
    }

    /// The lanes that wait at an operation, at any place, for the lanes that `wanted` names.
    fn at_operation(&self, program: &Program, operation: Operation, wanted: u32) -> u32 {
        let of_split = |split: &Split| match self.awaited(program, split) {
            Some((_, same, members)) if same == operation => naming(&members, wanted) & split.mask,
            _ => 0,
        };
        self.splits
            .iter()
            .fold(0, |here, split| here | of_split(split))
    }

    /// Exchanges the values of lanes that wait for those that `wanted` names, and lets them go on.
    fn release(&mut self, program: &Program, operation: Operation, (wanted, here): (u32, u32)) {
        let mut operands = Operands::default();
        for at in 0..self.splits.len() {
            let split = self.splits[at];
            let Some((op, same, members)) = self.awaited(program, &split) else {
                continue;
            };
            let mask = naming(&members, wanted) & split.mask;
            if same != operation || mask == 0 {
                continue;
            }
            operands.gather(self, &split, (program, op), mask);
            let met = Split {
                mask,
                state: State::Met,
                ..split
            };
            match mask == split.mask {
                true => self.splits[at] = met,
                false => {
                    self.splits[at].mask &= !mask;
                    self.splits.push(met);
                }
            }
        }
        operands.exchange(operation, here);
        let exchanged = self.exchanged.get_or_insert_default();
        for lane in lanes(here) {
            exchanged.values[lane] = operands.regs32[RESULT.0 as usize][lane];
            exchanged.present[lane] = here;
        }
        let holds = operands.predicates[HOLDS.0 as usize];
        exchanged.holds = exchanged.holds & !here | holds & here;
        exchanged.unreported |= here;
    }
}

/// The lanes that take part in an operation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Present {
    pub(super) lanes: u32,
    /// Whether none of them has gone on yet.
    pub(super) is_first: bool,
}

impl<O: EventSink> Run<'_, '_, O> {
    /// Lanes go on that have met others at another place: they take their results.
    #[cold]
    #[inline(never)]
    pub(super) fn take_exchanged(&mut self, code: &[Inst], members: u32, mask: u32) {
        self.met = 0;
        let members = self.r.regs32[members as usize];
        let Some(exchanged) = self.exchanged.take() else {
            return;
        };
        let lanes = exchanged.present[mask.trailing_zeros() as usize % LANES];
        let is_first = exchanged.unreported & mask != 0;
        exchanged.unreported &= !lanes;
        let present = Present { lanes, is_first };
        let (values, holds) = (&exchanged.values, exchanged.holds);
        for inst in code {
            self.observe_exchange(inst, &members, mask, present);
            let (to, agree) = match inst.op {
                Op::Shuffle(index) => {
                    let op = &self.program.shuffles[index as usize];
                    (Some(op.destination), op.in_range)
                }
                Op::Vote(_, Register::Reg32(to), _)
                | Op::MatchAny(to, _)
                | Op::Reduce(_, to, _) => (Some(to), None),
                Op::Vote(_, Register::Predicate(to), _) => (None, Some(to)),
                Op::MatchAll(to, agree, _) => (Some(to), agree),
                Op::Elect(to, elected) => (to, Some(elected)),
                _ => (None, None),
            };
            if let Some(Reg32(to)) = to {
                let to = &mut self.r.regs32[to as usize];
                store_lanes32::<false>(to, mask, |lane| values[lane]);
            }
            if let Some(Predicate(to)) = agree {
                self.r.set_predicate(mask, to, holds);
            }
        }
    }
}
