//! Operations that are too rare for the inner loop.

use super::run::{Outcome, Run};
use super::vector::{LANES, Lanes32, collect, store_lanes32, store_lanes64};
use super::warp_ops::{self, lanes};
use super::{lane, simd};
use crate::ir::{InstructionId, IntegerFunction, LaneFunction, LaneOp, Op, Register, Timer};
use crate::observer::{Event, Observer};

impl<O: Observer> Run<'_, '_, O> {
    /// Operations that are too rare for the loop.
    #[inline(never)]
    pub(super) fn execute_rare(&mut self, op: Op, mask: u32) -> Outcome {
        match op {
            Op::Lane(index) => self.lane_op(index, mask),
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
            Op::WarpgroupWait(newest) => self.warpgroup_wait(newest),
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

    /// All lanes at once; false, with nothing done, where there is no such way.
    #[inline(always)]
    fn lane_op_by_row(&mut self, op: &LaneOp, mask: u32) -> bool {
        const NOTHING: Lanes32 = [0; LANES];
        let mut x = [&NOTHING; 3];
        if let LaneFunction::AddCarry(_) | LaneFunction::SubCarry(_) = op.function {
            return self.carry_by_row(op, mask);
        }
        if op.carry_out.is_some() {
            return false;
        }
        if op.arguments.len() > x.len() {
            return self.insert_field_by_row(op, mask);
        }
        if let Register::Reg64(_) = op.destination {
            return self.lane_op_by_wide_row(op, mask);
        }
        for (row, argument) in x.iter_mut().zip(&op.arguments) {
            match argument {
                Register::Reg32(register) => *row = &self.r.regs32[register.0 as usize],
                _ => return self.lane_op_by_wide_row(op, mask),
            }
        }
        let Some(row) = simd::lane_row(self.launch.level, op.function, x) else {
            return false;
        };
        match op.destination {
            Register::Reg32(to) => {
                store_lanes32::<false>(&mut self.r.regs32[to.0 as usize], mask, |lane| row[lane]);
            }
            Register::Predicate(to) => {
                let bits = collect(|lane| row[lane] & 1 != 0);
                self.r.set_predicate(mask, to.0, bits);
            }
            Register::Reg64(_) => return false,
        }
        true
    }

    /// `add.cc` and similar instructions, of words.
    #[inline(never)]
    fn carry_by_row(&mut self, op: &LaneOp, mask: u32) -> bool {
        let &[Register::Reg32(a), Register::Reg32(b), ref carry @ ..] = op.arguments.as_slice()
        else {
            return false;
        };
        let carries = match carry {
            [] => 0,
            [Register::Predicate(carry)] => self.r.predicates[carry.0 as usize],
            _ => return false,
        };
        let (a, b) = (&self.r.regs32[a.0 as usize], &self.r.regs32[b.0 as usize]);
        let b = match op.function {
            LaneFunction::AddCarry(ty) if ty.bytes() == 4 => *b,
            LaneFunction::SubCarry(ty) if ty.bytes() == 4 => b.map(|word| !word),
            _ => return false,
        };
        let Register::Reg32(to) = op.destination else {
            return false;
        };
        let (row, carries) = simd::add_carry(self.launch.level, a, &b, carries);
        store_lanes32::<false>(&mut self.r.regs32[to.0 as usize], mask, |lane| row[lane]);
        if let Some(carry_out) = op.carry_out {
            self.r.set_predicate(mask, carry_out.0, carries);
        }
        true
    }

    /// `bfi.b32`
    #[inline(never)]
    fn insert_field_by_row(&mut self, op: &LaneOp, mask: u32) -> bool {
        let LaneFunction::Integer(IntegerFunction::InsertField, ty) = op.function else {
            return false;
        };
        let (4, Register::Reg32(to)) = (ty.bytes(), op.destination) else {
            return false;
        };
        let &[
            Register::Reg32(a),
            Register::Reg32(b),
            Register::Reg32(c),
            Register::Reg32(d),
        ] = op.arguments.as_slice()
        else {
            return false;
        };
        let x = [a, b, c, d].map(|register| &self.r.regs32[register.0 as usize]);
        let row = simd::insert_field(self.launch.level, x);
        store_lanes32::<false>(&mut self.r.regs32[to.0 as usize], mask, |lane| row[lane]);
        true
    }

    /// The same with operands or a result of 64 bits.
    #[inline(never)]
    fn lane_op_by_wide_row(&mut self, op: &LaneOp, mask: u32) -> bool {
        let mut x = [[0; LANES]; 3];
        for (row, argument) in x.iter_mut().zip(&op.arguments) {
            match argument {
                Register::Reg32(register) => {
                    *row = self.r.regs32[register.0 as usize].map(u64::from);
                }
                Register::Reg64(register) => *row = self.r.regs64[register.0 as usize],
                Register::Predicate(_) => return false,
            }
        }
        let [a, b, c] = &x;
        let Some(row) = simd::wide_lane_row(self.launch.level, op.function, [a, b, c]) else {
            return false;
        };
        match op.destination {
            Register::Reg32(to) => {
                let to = &mut self.r.regs32[to.0 as usize];
                store_lanes32::<false>(to, mask, |lane| row[lane] as u32);
            }
            Register::Reg64(to) => {
                store_lanes64::<false>(&mut self.r.regs64[to.0 as usize], mask, |lane| row[lane]);
            }
            Register::Predicate(_) => return false,
        }
        true
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

    pub(super) fn lane_op(&mut self, index: u32, mask: u32) {
        let op = &self.program.lane_ops[index as usize];
        if self.lane_op_by_row(op, mask) {
            return;
        }
        for lane in lanes(mask) {
            let mut x = [0; 4];
            for (value, argument) in x.iter_mut().zip(&op.arguments) {
                *value = warp_ops::read(&self.r, *argument, lane);
            }
            let (result, carry) = lane::evaluate(op.function, x);
            warp_ops::write(&mut self.r, op.destination, lane, result);
            if let Some(to) = op.carry_out {
                warp_ops::write(&mut self.r, Register::Predicate(to), lane, u64::from(carry));
            }
        }
    }
}
