//! Operations that are too rare for the inner loop.

use super::rows::group::{Rows, in_group};
use super::rows::{self, wide};
use super::run::{Outcome, Run};
use super::vector::{LANES, Lanes32, Registers, collect, store_lanes32, store_lanes64};
use super::warp_ops::{self, lanes};
use super::{lane, simd};
use crate::ir::{
    FloatFormat, InstructionId, IntegerFunction, LaneFunction, LaneOp, Op, Register, Timer,
};
use crate::observer::{Event, EventSink};
use ptx_syntax::ast::Type;

impl<O: EventSink> Run<'_, '_, O> {
    /// Operations that are too rare for the loop.
    #[inline(never)]
    pub(super) fn execute_rare(&mut self, op: Op, mask: u32) -> Outcome {
        match op {
            Op::WideAtomic(index) => return self.wide_atomic(index, mask),
            Op::Alloca(index) => return self.alloca(index, mask),
            Op::MapEdit(index) => return self.edit_tensor_map(index, mask),
            Op::Texture(index) => return self.texture(index, mask),
            Op::System(index) => return self.system_call(index, mask),
            Op::LocalAddress(d, offset) => {
                let address = u64::from(self.local_base) + u64::from(offset);
                let to = &mut self.r.regs64[d.0 as usize];
                store_lanes64::<false>(to, mask, |_| address);
            }
            Op::Atomic(index) => return self.atomic(index, mask),
            Op::Shuffle(index) => {
                let op = &self.program.shuffles[index as usize];
                simd::shuffle(self.launch.level, &mut self.r, op, mask);
            }
            Op::Vote(mode, d, a) => warp_ops::vote(&mut self.r, mode, d, a.0, mask),
            Op::MatchAny(d, a) => warp_ops::match_any(&mut self.r, d, a, mask),
            Op::MatchAll(d, agree, a) => warp_ops::match_all(&mut self.r, d, agree, a, mask),
            Op::Reduce(mode, d, a) => warp_ops::reduce(&mut self.r, mode, d, a, mask),
            Op::Elect(d, p) => warp_ops::elect(&mut self.r, d, p, mask),
            Op::ActiveMask(d) => {
                store_lanes32::<false>(&mut self.r.regs32[d.0 as usize], mask, |_| mask);
            }
            Op::ReadTimer(timer, d) => self.read_timer(timer, d, mask),
            Op::Matrix(index) => return self.matrix(index, mask),
            Op::AsyncCopy(index) => return self.async_copy(index, mask),
            Op::WarpgroupCommit => self.warpgroup_commit(),
            Op::BulkCommit => {
                for lane in lanes(mask) {
                    self.bulk_groups[lane] += 1;
                }
            }
            Op::AsyncCommit => self.async_commit(mask),
            Op::AsyncWait(newest) => self.async_wait(newest, mask),
            Op::Fence => {
                std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
                self.observer.notify(Event::Fence {
                    warp: &self.context,
                    id: InstructionId(self.info),
                    executing: mask,
                });
            }
            _ => {}
        }
        Ok(())
    }

    pub(super) fn read_timer(&mut self, timer: Timer, to: Register, mask: u32) {
        let value = match timer {
            // Instructions count when their basic block begins: two reads in one block must differ.
            Timer::Clock => {
                *self.clock_reads += 1;
                *self.granted - *self.fuel + *self.clock_reads
            }
            Timer::Nanoseconds => self.launch.clock.nanoseconds(),
        };
        for lane in lanes(mask) {
            warp_ops::write(&mut self.r, to, lane, value);
        }
    }
}

/// An operation that has no code of its own.
pub(super) fn lane_op(level: simd::Level, r: &mut Registers<'_>, op: &LaneOp, mask: u32) {
    let done = match op.function {
        LaneFunction::AddCarry(_) | LaneFunction::SubCarry(_) => simd::carry_op(level, r, op, mask),
        _ if op.carry_out.is_some() => false,
        LaneFunction::Integer(IntegerFunction::InsertField, _) => {
            simd::insert_field_op(level, r, op, mask)
        }
        LaneFunction::Float(_, format)
            if matches!(format.ty, Type::F16 | Type::F16x2) && halves(level, r, op, mask) =>
        {
            true
        }
        _ => match op.is_narrow() {
            true => on_words(level, r, op, mask).is_some(),
            false => simd::wide_lane_op(level, r, op, mask),
        },
    };
    if done {
        return;
    }
    for lane in lanes(mask) {
        let mut x = [0; 4];
        for (value, argument) in x.iter_mut().zip(&op.arguments) {
            *value = warp_ops::read(r, *argument, lane);
        }
        let (result, carry) = lane::evaluate(op.function, x);
        warp_ops::write(r, op.destination, lane, result);
        if let Some(to) = op.carry_out {
            warp_ops::write(r, Register::Predicate(to), lane, u64::from(carry));
        }
    }
}

const NOTHING: Lanes32 = [0; LANES];

/// An operation on words; none, with nothing done, where it has no code for all lanes at once.
fn on_words(level: simd::Level, r: &mut Registers<'_>, op: &LaneOp, mask: u32) -> Option<()> {
    in_group!(op.function, simd::lane_op(level, r, op, mask))
}

/// An operation on f16 or on pairs of them in all lanes; false, with nothing done, where there is
/// no such way.
fn halves(level: simd::Level, r: &mut Registers<'_>, op: &LaneOp, mask: u32) -> bool {
    let (LaneFunction::Float(function, format), Register::Reg32(to)) =
        (op.function, op.destination)
    else {
        return false;
    };
    if format != FloatFormat::new(format.ty) || op.arguments.len() > 3 {
        return false;
    }
    let mut x = [&NOTHING; 3];
    for (row, argument) in x.iter_mut().zip(&op.arguments) {
        match argument {
            Register::Reg32(register) => *row = &r.regs32[register.0 as usize],
            _ => return false,
        }
    }
    let Some(row) = simd::halves(level, function, x) else {
        return false;
    };
    let kept = match format.ty {
        Type::F16 => 0xffff,
        _ => u32::MAX,
    };
    set32(&mut r.regs32[to.0 as usize], mask, |lane| row[lane] & kept);
    true
}

/// An operation on words in all lanes at once; none, with nothing done, where there is no such way.
#[inline(always)]
pub(super) fn by_row<G: Rows>(r: &mut Registers<'_>, op: &LaneOp, mask: u32) -> Option<()> {
    let mut x = [&NOTHING; 3];
    if op.arguments.len() > x.len() {
        return None;
    }
    for (row, argument) in x.iter_mut().zip(&op.arguments) {
        match argument {
            Register::Reg32(register) => *row = &r.regs32[register.0 as usize],
            _ => return None,
        }
    }
    let row = G::evaluate(op.function, x)?;
    match op.destination {
        Register::Reg32(to) => set32(&mut r.regs32[to.0 as usize], mask, |lane| row[lane]),
        Register::Predicate(to) => {
            let bits = collect(|lane| row[lane] & 1 != 0);
            r.set_predicate(mask, to.0, bits);
        }
        Register::Reg64(_) => return None,
    }
    Some(())
}

/// As [`by_row`], with operands or a result of 64 bits.
#[inline(always)]
pub(super) fn by_wide_row(r: &mut Registers<'_>, op: &LaneOp, mask: u32) -> bool {
    let mut x = [[0; LANES]; 3];
    if op.arguments.len() > x.len() {
        return false;
    }
    for (row, argument) in x.iter_mut().zip(&op.arguments) {
        match argument {
            Register::Reg32(register) => *row = r.regs32[register.0 as usize].map(u64::from),
            Register::Reg64(register) => *row = r.regs64[register.0 as usize],
            Register::Predicate(_) => return false,
        }
    }
    let [a, b, c] = &x;
    let Some(row) = wide::evaluate(op.function, [a, b, c]) else {
        return false;
    };
    match op.destination {
        Register::Reg32(to) => {
            set32(&mut r.regs32[to.0 as usize], mask, |lane| row[lane] as u32);
        }
        Register::Reg64(to) => {
            let to = &mut r.regs64[to.0 as usize];
            match mask {
                u32::MAX => *to = row,
                _ => store_lanes64::<false>(to, mask, |lane| row[lane]),
            }
        }
        Register::Predicate(_) => return false,
    }
    true
}

/// As [`by_row`], of `add.cc` and similar instructions, of words.
#[inline(always)]
pub(super) fn carry_by_row(r: &mut Registers<'_>, op: &LaneOp, mask: u32) -> bool {
    let &[Register::Reg32(a), Register::Reg32(b), ref carry @ ..] = op.arguments.as_slice() else {
        return false;
    };
    let carries = match carry {
        [] => 0,
        [Register::Predicate(carry)] => r.predicates[carry.0 as usize],
        _ => return false,
    };
    let (a, b) = (&r.regs32[a.0 as usize], &r.regs32[b.0 as usize]);
    let b = match op.function {
        LaneFunction::AddCarry(ty) if ty.bytes() == 4 => *b,
        LaneFunction::SubCarry(ty) if ty.bytes() == 4 => b.map(|word| !word),
        _ => return false,
    };
    let Register::Reg32(to) = op.destination else {
        return false;
    };
    let (row, carries) = rows::integer::add_carry(a, &b, carries);
    set32(&mut r.regs32[to.0 as usize], mask, |lane| row[lane]);
    if let Some(carry_out) = op.carry_out {
        r.set_predicate(mask, carry_out.0, carries);
    }
    true
}

/// As [`by_row`], of `bfi.b32`.
#[inline(always)]
pub(super) fn insert_field_by_row(r: &mut Registers<'_>, op: &LaneOp, mask: u32) -> bool {
    let &[
        Register::Reg32(a),
        Register::Reg32(b),
        Register::Reg32(c),
        Register::Reg32(d),
    ] = op.arguments.as_slice()
    else {
        return false;
    };
    let (LaneFunction::Integer(_, ty), Register::Reg32(to)) = (op.function, op.destination) else {
        return false;
    };
    if ty.bytes() != 4 {
        return false;
    }
    let x = [a, b, c, d].map(|register| &r.regs32[register.0 as usize]);
    let row = rows::integer::insert_field(x);
    set32(&mut r.regs32[to.0 as usize], mask, |lane| row[lane]);
    true
}

/// Writes a row in the lanes of a mask.
#[inline(always)]
fn set32(to: &mut Lanes32, mask: u32, value: impl Fn(usize) -> u32) {
    match mask {
        u32::MAX => store_lanes32::<true>(to, mask, value),
        _ => store_lanes32::<false>(to, mask, value),
    }
}
