//! `mbarrier`: barriers that are objects in shared memory.

use super::builder::Builder;
use super::memory::{take_order, take_space};
use super::modifiers::{Failure, Modifiers};
use crate::ir::{BarrierAction, BarrierObject, LaneFunction, Phase, Reg64, Space, Terminator};
use ptx_syntax::ast::{Operand, Type};

type Outcome = Result<(), Failure>;

impl Builder<'_, '_> {
    /// Everything that starts with `mbarrier`.
    pub(super) fn barrier_object(
        &mut self,
        mut mods: Modifiers<'_>,
        operands: &[Operand],
    ) -> Outcome {
        let has_type = mods.take("b64");
        let space = take_space(&mut mods);
        take_order(&mut mods);
        mods.drop_known(|name| matches!(name, "cta" | "cluster"));
        let parity = mods.take("parity");
        let [name] = *mods.rest() else {
            return self.arrive_and_expect(mods, space, operands);
        };
        match (name, operands) {
            ("init", [address, count]) => {
                let count = self.reg32(count, Type::U32)?;
                self.end_in_barrier_object(address, space, BarrierAction::Init(count))
            }
            ("inval", [address]) => {
                self.end_in_barrier_object(address, space, BarrierAction::Invalidate)
            }
            ("expect_tx", [address, bytes]) => {
                let bytes = self.reg32(bytes, Type::U32)?;
                self.end_in_barrier_object(address, space, BarrierAction::Expect(bytes))
            }
            ("complete_tx", [address, bytes]) => {
                let bytes = self.reg32(bytes, Type::U32)?;
                self.end_in_barrier_object(address, space, BarrierAction::Complete(bytes))
            }
            ("arrive" | "arrive_drop", [state, address, rest @ ..]) => {
                let count = match rest {
                    [] => None,
                    [count] => Some(self.reg32(count, Type::U32)?),
                    _ => return Err("too many operands".into()),
                };
                let arrive = BarrierAction::Arrive {
                    state: self.state(state)?,
                    count,
                    expect: None,
                    drop: name == "arrive_drop",
                };
                self.end_in_barrier_object(address, space, arrive)
            }
            // A hint how long to wait may follow.
            ("test_wait" | "try_wait", [done, address, phase, ..]) if has_type => {
                let wait = BarrierAction::Wait {
                    done: self.predicate_destination(done)?,
                    phase: match parity {
                        true => Phase::Parity(self.reg32(phase, Type::U32)?),
                        false => Phase::State(self.reg64(phase, Type::B64)?),
                    },
                    suspends: name == "try_wait",
                };
                self.end_in_barrier_object(address, space, wait)
            }
            ("pending_count", [to, state]) => {
                let state = self.source(state, Type::B64)?;
                let to = self.destination(to, Type::U32)?;
                let count = LaneFunction::ExtractBits {
                    shift: 0,
                    bits: crate::ir::PENDING_BITS,
                    signed: false,
                };
                self.emit_lane(count, to, vec![state]);
                Ok(())
            }
            _ => Err(Failure::Unknown),
        }
    }

    /// `arrive.expect_tx` and `arrive.noComplete`, whose names have a dot.
    fn arrive_and_expect(
        &mut self,
        mut mods: Modifiers<'_>,
        space: Space,
        operands: &[Operand],
    ) -> Outcome {
        let drop = mods.take("arrive_drop");
        let expects = mods.take("expect_tx");
        let keeps_phase = mods.take("noComplete");
        if (!drop && !mods.take("arrive")) || expects == keeps_phase {
            return Err(Failure::Unknown);
        }
        mods.finish()?;
        let [state, address, operand] = operands else {
            return Err("expected a state, an address and a number".into());
        };
        let operand = Some(self.reg32(operand, Type::U32)?);
        let arrive = BarrierAction::Arrive {
            state: self.state(state)?,
            count: operand.filter(|_| keeps_phase),
            expect: operand.filter(|_| expects),
            drop,
        };
        self.end_in_barrier_object(address, space, arrive)
    }

    fn state(&mut self, operand: &Operand) -> Result<Option<Reg64>, Failure> {
        match operand {
            Operand::Sink => Ok(None),
            state => Ok(Some(self.reg64_destination(state)?)),
        }
    }

    /// Ends the block in an operation on the mbarrier at an address.
    pub(super) fn end_in_barrier_object(
        &mut self,
        address: &Operand,
        space: Space,
        action: BarrierAction,
    ) -> Outcome {
        // What others may do at a block's mbarrier gives them no state.
        let reaches_others = match action {
            BarrierAction::Arrive { state, .. } => state.is_none(),
            BarrierAction::Expect(_) | BarrierAction::Complete(_) => true,
            _ => false,
        };
        match space {
            Space::Shared | Space::Generic => {}
            Space::Cluster if reaches_others => {}
            Space::Cluster => {
                return Err("this is done at mbarriers of the block itself alone".into());
            }
            _ => return Err("an mbarrier lies in shared memory".into()),
        }
        let address = self.address(address, space)?;
        self.under_guard(|this| {
            let next = this.new_block();
            let object = BarrierObject {
                address,
                action,
                next,
            };
            this.end_block(Terminator::BarrierObject(Box::new(object)), true, next);
            Ok(())
        })
    }
}
