//! `cp.async`: copies from global to shared memory by each thread, and their groups.

use super::builder::Builder;
use super::memory::{is_hint, take_space};
use super::modifiers::{Failure, Modifiers};
use crate::ir::{AsyncCopy, BarrierAction, Op, Space};
use ptx_syntax::ast::{Operand, Type};

type Outcome = Result<(), Failure>;

impl Builder<'_, '_> {
    /// Everything that starts with `cp.async`.
    pub(super) fn async_copy(&mut self, mut mods: Modifiers<'_>, operands: &[Operand]) -> Outcome {
        let reduces = mods.take("reduce");
        if !mods.take("async") {
            return Err(Failure::Unknown);
        }
        if mods.take("bulk") {
            return self.bulk_copy(reduces, mods, operands);
        }
        if reduces {
            return Err(Failure::Unknown);
        }
        if mods.take("commit_group") {
            mods.finish()?;
            self.emit(Op::AsyncCommit);
            return Ok(());
        }
        if mods.take("wait_all") {
            mods.finish()?;
            self.emit(Op::AsyncWait(None));
            return Ok(());
        }
        if mods.take("wait_group") {
            mods.finish()?;
            let newest = group_count(operands)?;
            self.emit(Op::AsyncWait(Some(newest)));
            return Ok(());
        }
        if mods.take("mbarrier") {
            return self.arrive_after_copies(mods, operands);
        }
        self.copy_elements(mods, operands)
    }

    /// `cp.async.mbarrier.arrive[.noinc].b64 [address]`
    fn arrive_after_copies(&mut self, mut mods: Modifiers<'_>, operands: &[Operand]) -> Outcome {
        let [address] = operands else {
            return Err("expected an address".into());
        };
        let increment = !mods.take("noinc");
        let space = take_space(&mut mods);
        if !mods.take("arrive") || mods.ty()? != Type::B64 {
            return Err(Failure::Unknown);
        }
        mods.finish()?;
        self.end_in_barrier_object(
            address,
            space,
            BarrierAction::ArriveAfterCopies { increment },
        )
    }

    /// `cp.async.ca|cg.shared.global [dst], [src], bytes[, source bytes | ignore]`
    fn copy_elements(&mut self, mut mods: Modifiers<'_>, operands: &[Operand]) -> Outcome {
        let (to, from, rest) = match operands {
            [to, from, rest @ ..] => (to, from, rest),
            _ => return Err("expected two addresses and a size".into()),
        };
        // A cache policy may come last.
        let rest = match rest {
            [rest @ .., _] if mods.take("L2::cache_hint") => rest,
            rest => rest,
        };
        let through_l2 = mods.take("cg");
        if !through_l2 && !mods.take("ca") {
            return Err(Failure::Unknown);
        }
        if !mods.take("shared") && !mods.take("shared::cta") || !mods.take("global") {
            return Err(Failure::Unknown);
        }
        mods.drop_known(is_hint);
        mods.finish()?;
        let [Operand::Integer(bytes), rest @ ..] = rest else {
            return Err("expected a constant number of bytes".into());
        };
        let bytes = match (*bytes, through_l2) {
            (16, _) => 16,
            (4, false) => 4,
            (8, false) => 8,
            _ => return Err("cp.async copies 4, 8 or 16 bytes, and .cg only 16".into()),
        };
        let (source_bytes, ignore) = match rest {
            [] => (None, None),
            [Operand::Name(name)] if self.predicate(*name).is_ok() => {
                (None, Some(self.predicate(*name)?))
            }
            [size] => (Some(self.reg32(size, Type::U32)?), None),
            _ => return Err("too many operands".into()),
        };
        let copy = AsyncCopy {
            to: self.address(to, Space::Shared)?,
            from: self.address(from, Space::Global)?,
            bytes,
            source_bytes,
            ignore,
        };
        let index = self.program.async_copies.len() as u32;
        self.program.async_copies.push(copy);
        self.emit(Op::AsyncCopy(index));
        Ok(())
    }
}

/// The constant number of groups that a wait leaves in flight.
pub(super) fn group_count(operands: &[Operand]) -> Result<u32, Failure> {
    match operands {
        [Operand::Integer(newest)] => {
            u32::try_from(*newest).map_err(|_| "the number of groups is out of range".into())
        }
        _ => Err("expected a constant number of groups".into()),
    }
}
