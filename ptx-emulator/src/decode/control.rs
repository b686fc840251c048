//! Branches, calls, barriers and the end of threads.

use super::builder::Builder;
use super::modifiers::{Failure, Modifiers};
use super::scope::Binding;
use crate::ir::{
    Barrier, BarrierKind, Call, CallTarget, Comparison, Constant, LaneFunction, Op, Predicate,
    Reg32, Register, Special, SystemCall, SystemFunction, Terminator,
};
use ptx_syntax::ast::{Operand, Type};

type Outcome = Result<(), Failure>;

impl<'a> Builder<'a, '_> {
    /// Puts what `body` emits into blocks of its own that only the guard's lanes enter.
    pub(super) fn under_guard(
        &mut self,
        body: impl FnOnce(&mut Self) -> Result<(), Failure>,
    ) -> Outcome {
        let Some(guard) = self.guard.take() else {
            return body(self);
        };
        let taken = self.new_block();
        let next = self.new_block();
        let branch = Terminator::Branch {
            predicate: guard.predicate,
            negated: guard.negated,
            taken,
            next,
        };
        self.end_block(branch, false, taken);
        body(self)?;
        self.fall_into(next);
        Ok(())
    }

    pub(super) fn branch(&mut self, mut mods: Modifiers<'_>, operands: &[Operand]) -> Outcome {
        mods.take("uni");
        mods.finish()?;
        let [Operand::Name(label)] = operands else {
            return Err("expected a label".into());
        };
        let taken = self.label(*label)?;
        let next = self.new_block();
        let terminator = match self.guard {
            Some(guard) => Terminator::Branch {
                predicate: guard.predicate,
                negated: guard.negated,
                taken,
                next,
            },
            None => Terminator::Jump(taken),
        };
        self.end_block(terminator, true, next);
        Ok(())
    }

    /// `brx.idx index, targets`
    pub(super) fn branch_indexed(
        &mut self,
        mut mods: Modifiers<'_>,
        operands: &[Operand],
    ) -> Outcome {
        if !mods.take("idx") {
            return Err(Failure::Unknown);
        }
        mods.take("uni");
        mods.finish()?;
        let [index, Operand::Name(list)] = operands else {
            return Err("expected an index and a list of labels".into());
        };
        let index = self.reg32(index, Type::U32)?;
        let Binding::Targets(targets) = self.resolve(*list)? else {
            return Err(format!("`{}` is not a list of labels", list.of(self.text)).into());
        };
        self.under_guard(|this| {
            let next = this.new_block();
            this.end_block(Terminator::Switch { index, targets }, true, next);
            Ok(())
        })
    }

    /// `ret`, `exit`, `trap`: nothing follows in this block.
    pub(super) fn leave_with(&mut self, terminator: Terminator) -> Outcome {
        self.under_guard(|this| {
            let next = this.new_block();
            this.end_block(terminator, true, next);
            Ok(())
        })
    }

    /// `call[.uni] [(results),] target [, (arguments)] [, prototype]`
    pub(super) fn call(&mut self, mut mods: Modifiers<'_>, operands: &[Operand]) -> Outcome {
        mods.take("uni");
        mods.finish()?;
        let (results, rest) = match operands {
            [Operand::List(results), rest @ ..] => (self.elements(*results), rest),
            rest => (&[][..], rest),
        };
        let (target, rest) = match rest {
            [Operand::Name(target), rest @ ..] => (*target, rest),
            _ => return Err("expected a function's name".into()),
        };
        let (arguments, rest) = match rest {
            [Operand::List(arguments), rest @ ..] => (self.elements(*arguments), rest),
            rest => (&[][..], rest),
        };
        let target = match (self.resolve(target)?, rest) {
            (Binding::System(function), []) => {
                return self.system_call(function, arguments, results);
            }
            (Binding::Function(index), []) => {
                self.callees.push(index);
                CallTarget::Function(index)
            }
            (Binding::Register(Register::Reg64(address), _), [Operand::Name(list)]) => {
                let Binding::Prototype = self.resolve(*list)? else {
                    return Err(format!("`{}` is not a prototype", list.of(self.text)).into());
                };
                self.indirect = true;
                CallTarget::Indirect(address)
            }
            _ => return Err(format!("`{}` cannot be called", target.of(self.text)).into()),
        };
        let formal = match target {
            CallTarget::Function(index) => self.functions.get(index as usize),
            _ => None,
        };
        let formal = |at: usize| formal.and_then(|function| function.params.get(at));
        let mut words = Vec::new();
        // Registers are copied to words within the block of the call.
        let mut copied = Vec::new();
        for (at, operand) in arguments.iter().enumerate() {
            if let Some(known) = self.parameter_words(operand)? {
                words.extend(known);
                continue;
            }
            let ty = formal(at).map_or(Type::B32, |variable| variable.ty);
            for part in self.parts(operand).iter() {
                let register = match part {
                    Operand::Name(_) | Operand::Component(..) => self.source_any(part, ty)?,
                    _ => self.source(part, ty)?,
                };
                let fresh = self.fresh_words(register);
                words.extend(&fresh);
                copied.push((register, fresh));
            }
        }
        let mut result_words = Vec::new();
        let mut joined = Vec::new();
        for operand in results {
            if let Some(known) = self.parameter_words(operand)? {
                result_words.extend(known);
                continue;
            }
            for part in self.parts(operand).iter() {
                let (register, _) = self.destination_any(part, Type::B32)?;
                let fresh = self.fresh_words(register);
                result_words.extend(&fresh);
                joined.push((register, fresh));
            }
        }
        self.under_guard(|this| {
            for (register, words) in &copied {
                this.split_register(*register, words);
            }
            let next = this.new_block();
            let call = Call {
                target,
                arguments: words,
                results: result_words,
                next,
            };
            this.end_block(Terminator::Call(Box::new(call)), true, next);
            for (register, words) in &joined {
                this.join_words(words, &[*register]);
            }
            Ok(())
        })
    }

    /// The words of a `.param` variable; none where the operand is no such variable.
    fn parameter_words(&mut self, operand: &Operand) -> Result<Option<Vec<Reg32>>, Failure> {
        let Operand::Name(name) = operand else {
            return Ok(None);
        };
        Ok(match self.resolve(*name)? {
            Binding::Registers(registers) => Some(registers),
            _ => None,
        })
    }

    fn fresh_words(&mut self, register: Register) -> Vec<Reg32> {
        let count = if matches!(register, Register::Reg64(_)) {
            2
        } else {
            1
        };
        (0..count).map(|_| self.new_reg32()).collect()
    }

    /// Copies a register to its words.
    fn split_register(&mut self, register: Register, words: &[Reg32]) {
        match (register, words) {
            (Register::Reg32(from), &[to]) => self.emit(Op::Move32(to, from)),
            (Register::Reg64(from), &[low, high]) => self.emit(Op::Unpack(low, high, from)),
            (Register::Predicate(from), &[to]) => {
                let (one, zero) = (Constant::Bits(1), Constant::Bits(0));
                let (one, zero) = (self.reg32_constant(one), self.reg32_constant(zero));
                self.emit(Op::Select32(to, one, zero, from));
            }
            _ => {}
        }
    }

    /// Copies words to the registers that they are of.
    pub(super) fn join_words(&mut self, words: &[Reg32], registers: &[Register]) {
        let mut rest = words;
        for register in registers {
            rest = match (*register, rest) {
                (Register::Reg32(to), &[from, ref rest @ ..]) => {
                    self.emit(Op::Move32(to, from));
                    rest
                }
                (Register::Reg64(to), &[low, high, ref rest @ ..]) => {
                    self.emit(Op::Pack(to, low, high));
                    rest
                }
                (Register::Predicate(to), &[from, ref rest @ ..]) => {
                    let zero = self.reg32_constant(Constant::Bits(0));
                    self.emit(Op::Compare32(Comparison::Equal, true, to, from, zero));
                    rest
                }
                _ => return,
            };
        }
    }

    /// Copies the results that the function holds in registers to their words.
    pub(super) fn store_results(&mut self) {
        for (registers, words) in self.register_results.clone() {
            let mut rest = words.as_slice();
            for register in registers {
                let count = if matches!(register, Register::Reg64(_)) {
                    2
                } else {
                    1
                };
                let (words, behind) = rest.split_at(rest.len().min(count));
                self.split_register(register, words);
                rest = behind;
            }
        }
    }

    /// `ret`
    pub(super) fn ret(&mut self) -> Outcome {
        self.under_guard(|this| {
            this.store_results();
            let next = this.new_block();
            this.end_block(Terminator::Return, true, next);
            Ok(())
        })
    }

    /// A call of a function that the driver provides.
    fn system_call(
        &mut self,
        function: SystemFunction,
        arguments: &[Operand],
        results: &[Operand],
    ) -> Outcome {
        let arguments = self.call_registers(arguments)?;
        let results = self.call_registers(results)?;
        let (taken, given) = function.words();
        // A result may be left: Taichi declares `vprintf` without one.
        if arguments.len() != taken || !(results.is_empty() || results.len() == given) {
            return Err("the arguments of this call do not match those of the driver".into());
        }
        let index = self.program.system_calls.len() as u32;
        self.program.system_calls.push(SystemCall {
            function,
            arguments,
            results,
        });
        self.emit(Op::System(index));
        Ok(())
    }

    /// The words of a call's `.param` variables, one after the other.
    fn call_registers(&mut self, operands: &[Operand]) -> Result<Vec<Reg32>, Failure> {
        let mut all = Vec::new();
        for operand in operands {
            let Operand::Name(name) = operand else {
                return Err("arguments must be `.param` variables".into());
            };
            match self.resolve(*name)? {
                Binding::Registers(registers) => all.extend(registers),
                _ => return Err("arguments must be `.param` variables".into()),
            }
        }
        Ok(all)
    }

    /// `bar` and `barrier`, in all their forms.
    pub(super) fn barrier(&mut self, mut mods: Modifiers<'_>, operands: &[Operand]) -> Outcome {
        if mods.take("warp") {
            if !mods.take("sync") {
                return Err(Failure::Unknown);
            }
            mods.finish()?;
            return self.under_guard(|this| this.warp_barrier(operands));
        }
        if mods.take("cluster") {
            return self.cluster_barrier(mods, operands);
        }
        mods.take("cta");
        mods.take("aligned");
        if mods.take("sync") {
            mods.finish()?;
            let (id, threads) = match operands {
                [id] => (id, None),
                [id, threads] => (id, Some(threads)),
                _ => return Err("expected a barrier and a number of threads".into()),
            };
            return self.emit_barrier(BarrierKind::Sync, id, threads, None);
        }
        if mods.take("arrive") {
            mods.finish()?;
            let [id, threads] = operands else {
                return Err("expected a barrier and a number of threads".into());
            };
            return self.emit_barrier(BarrierKind::Arrive, id, Some(threads), None);
        }
        if !mods.take("red") {
            return Err(Failure::Unknown);
        }
        let (to, id, threads, source) = match operands {
            [to, id, source] => (to, id, None, source),
            [to, id, threads, source] => (to, id, Some(threads), source),
            _ => return Err("expected three or four operands".into()),
        };
        let kind = if mods.take("popc") {
            BarrierKind::Count(self.reg32_destination(to)?)
        } else if mods.take("and") {
            BarrierKind::And(self.predicate_destination(to)?)
        } else if mods.take("or") {
            BarrierKind::Or(self.predicate_destination(to)?)
        } else {
            return Err(Failure::Unknown);
        };
        mods.ty()?;
        mods.finish()?;
        let source = self.predicate_source(source)?;
        self.emit_barrier(kind, id, threads, Some(source))
    }

    /// `barrier.cluster.arrive[.release|.relaxed][.aligned]` and
    /// `barrier.cluster.wait[.acquire][.aligned]`
    fn cluster_barrier(&mut self, mut mods: Modifiers<'_>, operands: &[Operand]) -> Outcome {
        let arrives = mods.take("arrive");
        if !arrives && !mods.take("wait") {
            return Err(Failure::Unknown);
        }
        let _ = match arrives {
            true => mods.take("release") || mods.take("relaxed"),
            false => mods.take("acquire"),
        };
        mods.take("aligned");
        mods.finish()?;
        if !operands.is_empty() {
            return Err("expected no operands".into());
        }
        self.under_guard(|this| {
            let next = this.new_block();
            let terminator = match arrives {
                true => Terminator::ClusterArrive { next },
                false => Terminator::ClusterWait { next },
            };
            this.end_block(terminator, true, next);
            Ok(())
        })
    }

    /// `mapa[.shared::cluster].type d, a, b`, where `a` may be a variable
    pub(super) fn map_to_block(
        &mut self,
        mut mods: Modifiers<'_>,
        operands: &[Operand],
    ) -> Outcome {
        let [to, address, rank] = operands else {
            return Err("expected three operands".into());
        };
        let ty = mods.ty()?;
        let is_generic = !mods.take("shared::cluster");
        mods.finish()?;
        if !matches!(ty, Type::U32 | Type::U64) || is_generic && ty == Type::U32 {
            return Err(Failure::Unknown);
        }
        let address = self.source(address, ty)?;
        let rank = Register::Reg32(self.reg32(rank, Type::U32)?);
        let own = self.own_rank();
        let to = self.destination(to, ty)?;
        self.emit_lane(LaneFunction::MapToBlock, to, vec![address, rank, own]);
        Ok(())
    }

    /// `getctarank[.shared::cluster].type d, a`
    pub(super) fn rank_of_address(
        &mut self,
        mut mods: Modifiers<'_>,
        operands: &[Operand],
    ) -> Outcome {
        let [to, address] = operands else {
            return Err("expected two operands".into());
        };
        let ty = mods.ty()?;
        let is_generic = !mods.take("shared::cluster");
        mods.finish()?;
        if !matches!(ty, Type::U32 | Type::U64) || is_generic && ty == Type::U32 {
            return Err(Failure::Unknown);
        }
        let address = self.source(address, ty)?;
        let own = self.own_rank();
        let to = self.destination(to, Type::U32)?;
        self.emit_lane(LaneFunction::RankOfAddress, to, vec![address, own]);
        Ok(())
    }

    fn own_rank(&mut self) -> Register {
        if self.program.has_ranks {
            let own = Constant::Bits(crate::address_space::WITH_RANKS);
            return Register::Reg64(self.reg64_constant(own));
        }
        Register::Reg32(self.reg32_constant(Constant::Special(Special::ClusterRank)))
    }

    fn emit_barrier(
        &mut self,
        kind: BarrierKind,
        id: &Operand,
        threads: Option<&Operand>,
        source: Option<Predicate>,
    ) -> Outcome {
        let id = self.reg32(id, Type::U32)?;
        let threads = threads
            .map(|threads| self.reg32(threads, Type::U32))
            .transpose()?;
        self.under_guard(|this| {
            let next = this.new_block();
            let barrier = Barrier {
                kind,
                id,
                threads,
                source,
                next,
            };
            this.end_block(Terminator::Barrier(Box::new(barrier)), true, next);
            Ok(())
        })
    }

    /// `nanosleep`, `pmevent`, `setmaxnreg`: no effect on results.
    pub(super) fn nothing(&mut self, operands: &[Operand]) -> Outcome {
        for operand in operands {
            self.source_any(operand, Type::U32)?;
        }
        self.emit(Op::Nothing);
        Ok(())
    }
}
