//! Operations that are too rare for the inner loop.

use super::run::{Outcome, Run};
use super::vector::{LANES, Lanes32, collect, store_lanes32, store_lanes64};
use super::warp_ops::{self, lanes};
use super::{lane, simd};
use crate::ir::{InstructionId, LaneOp, Op, Register, Timer};
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
                warp_ops::shuffle(&mut self.r, &self.program.shuffles[index as usize], mask);
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
        if op.carry_out.is_some() || op.arguments.len() > x.len() {
            return false;
        }
        for (row, argument) in x.iter_mut().zip(&op.arguments) {
            match argument {
                Register::Reg32(register) => *row = &self.r.regs32[register.0 as usize],
                _ => return false,
            }
        }
        if let Register::Reg64(_) = op.destination {
            return false;
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

    pub(super) fn read_timer(&mut self, timer: Timer, to: Register, mask: u32) {
        let value = match timer {
            // Instructions count when their basic block begins: two reads in one block must differ.
            Timer::Clock => {
                *self.clock_reads += 1;
                *self.granted - *self.fuel + *self.clock_reads
            }
            Timer::Nanoseconds => {
                u64::try_from(self.launch.start.elapsed().as_nanos()).unwrap_or(u64::MAX)
            }
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
