//! `clusterlaunchcontrol`: a cluster asks for the work of one that has not begun.
//!
//! A request may fail, and then the cluster that it might have cancelled is launched (PTX ISA,
//! "clusterlaunchcontrol.try_cancel"). Here every request fails: its response of 16 bytes is 0.

use super::builder::Builder;
use super::modifiers::{Failure, Modifiers};
use crate::ir::{BulkData, BulkDirection, Comparison, Constant, Op, Register, Space};
use ptx_syntax::ast::Operand;

type Outcome = Result<(), Failure>;

impl Builder<'_, '_> {
    pub(super) fn launch_control(
        &mut self,
        mut mods: Modifiers<'_>,
        operands: &[Operand],
    ) -> Outcome {
        if mods.take("try_cancel") {
            return self.try_cancel(mods, operands);
        }
        if !mods.take("query_cancel") {
            return Err(Failure::Unknown);
        }
        let [to, response] = operands else {
            return Err("expected a destination and a response".into());
        };
        let [low, high] = self.halves(response)?;
        if mods.take("is_canceled") {
            let known = mods.rest() == ["pred", "b128"];
            if !known {
                return Err(Failure::Unknown);
            }
            let to = self.predicate_destination(to)?;
            let either = self.new_reg64();
            let zero = self.reg64_constant(Constant::Bits(0));
            self.emit(Op::Binary64(crate::ir::Binary::Or, either, low, high));
            self.emit(Op::Compare64(Comparison::Equal, true, to, either, zero));
            return Ok(());
        }
        self.first_block(mods, to)
    }

    /// `query_cancel.get_first_ctaid.v4.b32.b128` and `get_first_ctaid::x.b32.b128`: of a request
    /// that has failed, nothing says what they give.
    fn first_block(&mut self, mut mods: Modifiers<'_>, to: &Operand) -> Outcome {
        let is_vector = mods.take("get_first_ctaid") && mods.take("v4");
        let is_single = ["x", "y", "z"]
            .iter()
            .any(|axis| mods.take(&format!("get_first_ctaid::{axis}")));
        if is_vector == is_single || mods.rest() != ["b32", "b128"] {
            return Err(Failure::Unknown);
        }
        let parts = self.parts(to);
        if parts.len() != if is_vector { 4 } else { 1 } {
            return Err("wrong number of registers".into());
        }
        let zero = Register::Reg32(self.reg32_constant(Constant::Bits(0)));
        for part in &*parts {
            if !matches!(part, Operand::Sink) {
                let to = Register::Reg32(self.reg32_destination(part)?);
                self.emit_move(to, zero)?;
            }
        }
        Ok(())
    }

    /// `try_cancel.async[.shared::cta].mbarrier::complete_tx::bytes[.multicast::cluster::all].b128
    /// [response], [mbarrier]`
    fn try_cancel(&mut self, mut mods: Modifiers<'_>, operands: &[Operand]) -> Outcome {
        let is_known = mods.take("async") && mods.take("mbarrier::complete_tx::bytes");
        let to_all = mods.take("multicast::cluster::all");
        let space = super::memory::take_space(&mut mods);
        if !is_known || mods.rest() != ["b128"] {
            return Err(Failure::Unknown);
        }
        if !matches!(space, Space::Shared | Space::Generic) {
            return Err(Failure::Unknown);
        }
        let [response, barrier] = operands else {
            return Err("expected the addresses of a response and of an mbarrier".into());
        };
        let zero = Register::Reg64(self.reg64_constant(Constant::Bits(0)));
        let all = Constant::Bits(u32::MAX.into());
        let direction = BulkDirection::Load {
            barrier: self.address(barrier, Space::Cluster)?,
            blocks: to_all.then(|| self.reg32_constant(all)),
        };
        let to = self.address(response, Space::Cluster)?;
        let data = BulkData::Values(vec![zero; 2], 8);
        self.end_in_bulk_copy(direction, data, (to, false), None)
    }
}
