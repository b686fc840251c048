//! The stack of a thread: `alloca`, `stacksave`, `stackrestore`.

use super::builder::Builder;
use super::modifiers::{Failure, Modifiers};
use crate::ir::{ALLOCA_BYTES, Alloca, Op, Reg32, Register};
use ptx_syntax::ast::{Operand, Type};

type Outcome = Result<(), Failure>;

impl Builder<'_, '_> {
    /// `alloca.type d, size[, alignment]`
    pub(super) fn allocate_local(
        &mut self,
        mut mods: Modifiers<'_>,
        operands: &[Operand],
    ) -> Outcome {
        let ty = mods.ty()?;
        mods.finish()?;
        let (to, bytes, align) = match operands {
            [to, bytes] => (to, bytes, 8),
            [to, bytes, Operand::Integer(align)] => (to, bytes, *align),
            _ => return Err("expected a destination and a number of bytes".into()),
        };
        let is_valid = align.is_power_of_two() && align <= 1 << 12;
        if !matches!(ty, Type::U32 | Type::U64) || !is_valid {
            return Err("alloca takes .u32 or .u64 and a power of two up to 4096".into());
        }
        let (taken, start) = self.alloca_region()?;
        let alloca = Alloca {
            destination: self.destination(to, ty)?,
            bytes: self.source(bytes, ty)?,
            align: align as u32,
            taken,
            start,
        };
        let index = self.program.allocas.len() as u32;
        self.program.allocas.push(alloca);
        self.emit(Op::Alloca(index));
        Ok(())
    }

    /// The register that counts the bytes that `alloca` has taken, and where they start.
    fn alloca_region(&mut self) -> Result<(Reg32, u32), Failure> {
        if let Some(region) = self.alloca {
            return Ok(region);
        }
        let start = self.place_local_bytes(u64::from(ALLOCA_BYTES), 4096)?;
        let region = (self.new_reg32(), start);
        self.alloca = Some(region);
        Ok(region)
    }

    /// `stacksave.type d` and `stackrestore.type a`
    pub(super) fn stack_pointer(
        &mut self,
        saves: bool,
        mut mods: Modifiers<'_>,
        operands: &[Operand],
    ) -> Outcome {
        let ty = mods.ty()?;
        mods.finish()?;
        let [operand] = operands else {
            return Err("expected one operand".into());
        };
        if !matches!(ty, Type::U32 | Type::U64) {
            return Err(Failure::Unknown);
        }
        let (taken, _) = self.alloca_region()?;
        if saves {
            match self.destination(operand, ty)? {
                Register::Reg64(to) => self.emit(Op::Widen(false, to, taken)),
                Register::Reg32(to) => self.emit(Op::Move32(to, taken)),
                Register::Predicate(_) => return Err(Failure::Unknown),
            }
            return Ok(());
        }
        match self.source(operand, ty)? {
            Register::Reg64(from) => self.emit(Op::Narrow(taken, from)),
            Register::Reg32(from) => self.emit(Op::Move32(taken, from)),
            Register::Predicate(_) => return Err(Failure::Unknown),
        }
        Ok(())
    }
}
