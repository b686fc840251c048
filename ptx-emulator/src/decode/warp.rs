//! Shuffles, votes, matches and reductions among the lanes of a warp.

use super::builder::Builder;
use super::modifiers::{Failure, Modifiers};
use crate::ir::{Constant, Op, ReduceMode, Reg32, Register, Shuffle, ShuffleMode, VoteMode};
use ptx_syntax::ast::{Operand, Type};

type Outcome = Result<(), Failure>;

impl Builder<'_, '_> {
    /// Starts the block of an operation that the lanes of `members` execute at once.
    pub(super) fn begin_sync_op(&mut self, members: Reg32) {
        let block = self.new_block();
        self.fall_into(block);
        self.blocks[block as usize].members = Some(members);
    }

    pub(super) fn end_sync_op(&mut self) {
        let next = self.new_block();
        self.fall_into(next);
    }

    fn members(&mut self, operand: &Operand) -> Result<Reg32, Failure> {
        self.reg32(operand, Type::B32)
    }

    /// `shfl.sync.mode.b32 d[|p], a, b, c, membermask`
    pub(super) fn shuffle(&mut self, mut mods: Modifiers<'_>, operands: &[Operand]) -> Outcome {
        let syncs = mods.take("sync");
        let (to, value, lane, clamp, members) = match operands {
            [to, value, lane, clamp, members] if syncs => (to, value, lane, clamp, Some(members)),
            [to, value, lane, clamp] if !syncs => (to, value, lane, clamp, None),
            _ => return Err("expected five operands".into()),
        };
        let mode = mods
            .take_first(|name| {
                Some(match name {
                    "up" => ShuffleMode::Up,
                    "down" => ShuffleMode::Down,
                    "bfly" => ShuffleMode::Butterfly,
                    "idx" => ShuffleMode::Index,
                    _ => return None,
                })
            })
            .ok_or(Failure::Unknown)?;
        if mods.ty()?.bytes() != 4 {
            return Err(Failure::Unknown);
        }
        mods.finish()?;
        let (destination, in_range) = match to {
            Operand::Pair(to, in_range) => (
                self.reg32_destination(&Operand::Name(*to))?,
                Some(self.predicate(*in_range)?),
            ),
            to => (self.reg32_destination(to)?, None),
        };
        let shuffle = Shuffle {
            mode,
            destination,
            in_range,
            value: self.reg32(value, Type::B32)?,
            lane: self.reg32(lane, Type::B32)?,
            clamp: self.reg32(clamp, Type::B32)?,
        };
        // Without `.sync`, of old versions, the lanes take part that happen to be there.
        let members = members.map(|members| self.members(members)).transpose()?;
        if let Some(members) = members {
            self.begin_sync_op(members);
        }
        let index = self.program.shuffles.len() as u32;
        self.program.shuffles.push(shuffle);
        self.emit(Op::Shuffle(index));
        if members.is_some() {
            self.end_sync_op();
        }
        Ok(())
    }

    /// `vote.sync.mode d, p, membermask`
    pub(super) fn vote(&mut self, mut mods: Modifiers<'_>, operands: &[Operand]) -> Outcome {
        let syncs = mods.take("sync");
        let (to, source, members) = match operands {
            [to, source, members] if syncs => (to, source, Some(members)),
            [to, source] if !syncs => (to, source, None),
            _ => return Err("expected three operands".into()),
        };
        let ty = mods.ty()?;
        let mode = mods
            .take_first(|name| {
                Some(match name {
                    "all" => VoteMode::All,
                    "any" => VoteMode::Any,
                    "uni" => VoteMode::Uniform,
                    "ballot" => VoteMode::Ballot,
                    _ => return None,
                })
            })
            .ok_or(Failure::Unknown)?;
        mods.finish()?;
        if (mode == VoteMode::Ballot) != (ty == Type::B32) {
            return Err(Failure::Unknown);
        }
        let source = self.predicate_source(source)?;
        let to = self.destination(to, ty)?;
        // Without `.sync`, of old versions, the lanes vote that happen to be there.
        let members = members.map(|members| self.members(members)).transpose()?;
        if let Some(members) = members {
            self.begin_sync_op(members);
        }
        self.emit(Op::Vote(mode, to, source));
        if members.is_some() {
            self.end_sync_op();
        }
        Ok(())
    }

    /// `match.any.sync` and `match.all.sync`
    pub(super) fn match_values(
        &mut self,
        mut mods: Modifiers<'_>,
        operands: &[Operand],
    ) -> Outcome {
        let [to, value, members] = operands else {
            return Err("expected three operands".into());
        };
        let ty = mods.ty()?;
        let all = mods.take("all");
        if (!all && !mods.take("any")) || !mods.take("sync") {
            return Err(Failure::Unknown);
        }
        mods.finish()?;
        let value = self.source(value, ty)?;
        let (to, agree) = match to {
            Operand::Pair(to, agree) if all => (
                self.reg32_destination(&Operand::Name(*to))?,
                Some(self.predicate(*agree)?),
            ),
            to => (self.reg32_destination(to)?, None),
        };
        let members = self.members(members)?;
        self.begin_sync_op(members);
        self.emit(match all {
            true => Op::MatchAll(to, agree, value),
            false => Op::MatchAny(to, value),
        });
        self.end_sync_op();
        Ok(())
    }

    /// `redux.sync.op.type d, a, membermask`
    pub(super) fn reduce(&mut self, mut mods: Modifiers<'_>, operands: &[Operand]) -> Outcome {
        let [to, value, members] = operands else {
            return Err("expected three operands".into());
        };
        let ty = mods.ty()?;
        let is_number = matches!(ty, Type::U32 | Type::S32);
        if !mods.take("sync") || !is_number && !matches!(ty, Type::B32 | Type::F32) {
            return Err(Failure::Unknown);
        }
        let signed = ty.is_signed();
        let of_floats = ty == Type::F32;
        let magnitudes = of_floats && mods.take("abs");
        let nan_wins = of_floats && mods.take("NaN");
        let float = |greatest| ReduceMode::Float {
            greatest,
            magnitudes,
            nan_wins,
        };
        let mode = mods
            .take_first(|name| {
                Some(match name {
                    "min" | "max" if of_floats => float(name == "max"),
                    "and" if ty == Type::B32 => ReduceMode::And,
                    "or" if ty == Type::B32 => ReduceMode::Or,
                    "xor" if ty == Type::B32 => ReduceMode::Xor,
                    _ if !is_number => return None,
                    "add" => ReduceMode::Add,
                    "min" if signed => ReduceMode::MinSigned,
                    "min" => ReduceMode::MinUnsigned,
                    "max" if signed => ReduceMode::MaxSigned,
                    "max" => ReduceMode::MaxUnsigned,
                    _ => return None,
                })
            })
            .ok_or(Failure::Unknown)?;
        mods.finish()?;
        let value = self.reg32(value, ty)?;
        let to = self.reg32_destination(to)?;
        let members = self.members(members)?;
        self.begin_sync_op(members);
        self.emit(Op::Reduce(mode, to, value));
        self.end_sync_op();
        Ok(())
    }

    /// `elect.sync d|p, membermask`
    pub(super) fn elect(&mut self, mut mods: Modifiers<'_>, operands: &[Operand]) -> Outcome {
        let [Operand::Pair(to, elected), members] = operands else {
            return Err("expected `d|p` and a mask".into());
        };
        if !mods.take("sync") {
            return Err(Failure::Unknown);
        }
        mods.finish()?;
        let to = match to.of(self.text) {
            "_" => None,
            _ => Some(self.reg32_destination(&Operand::Name(*to))?),
        };
        let elected = self.predicate(*elected)?;
        let members = self.members(members)?;
        self.begin_sync_op(members);
        self.emit(Op::Elect(to, elected));
        self.end_sync_op();
        Ok(())
    }

    /// `bar.warp.sync membermask`
    pub(super) fn warp_barrier(&mut self, operands: &[Operand]) -> Outcome {
        let members = match operands {
            [] => self.reg32_constant(Constant::Bits(u64::from(u32::MAX))),
            [members] => self.members(members)?,
            _ => return Err("expected one operand".into()),
        };
        self.begin_sync_op(members);
        self.emit(Op::Nothing);
        self.end_sync_op();
        Ok(())
    }

    pub(super) fn active_mask(&mut self, mut mods: Modifiers<'_>, operands: &[Operand]) -> Outcome {
        let [to] = operands else {
            return Err("expected one operand".into());
        };
        mods.ty()?;
        mods.finish()?;
        match self.destination(to, Type::B32)? {
            Register::Reg32(to) => self.emit(Op::ActiveMask(to)),
            _ => return Err(Failure::Unknown),
        }
        Ok(())
    }
}
