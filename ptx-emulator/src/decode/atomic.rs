//! Atomics, and accesses of 128 bits that are whole as those are.

use super::builder::Builder;
use super::memory::{is_hint, take_elements, take_order, take_space};
use super::modifiers::{Failure, Modifiers};
use crate::ir::{
    Address, Atomic, AtomicFunction, Op, Reg64, Register, Space, WideAtomic, WideFunction,
};
use ptx_syntax::ast::{Operand, Type};

type Outcome = Result<(), Failure>;

/// What an atomic or a reduction makes of a value in memory.
pub(super) fn take_atomic_function(mods: &mut Modifiers<'_>) -> Option<AtomicFunction> {
    mods.take_first(|name| {
        Some(match name {
            "add" => AtomicFunction::Add,
            "min" => AtomicFunction::Min,
            "max" => AtomicFunction::Max,
            "and" => AtomicFunction::And,
            "or" => AtomicFunction::Or,
            "xor" => AtomicFunction::Xor,
            "exch" => AtomicFunction::Exchange,
            "cas" => AtomicFunction::CompareExchange,
            "inc" => AtomicFunction::Increment,
            "dec" => AtomicFunction::Decrement,
            _ => return None,
        })
    })
}

/// Whether there is such an operation of at most 64 bits.
fn exists(function: AtomicFunction, ty: Type, keeps_subnormals: bool, elements: usize) -> bool {
    let is_pair = matches!(ty, Type::F16 | Type::F16x2 | Type::Bf16 | Type::Bf16x2);
    match (function, ty) {
        (_, Type::Tf32) => false,
        _ if is_pair && !keeps_subnormals => false,
        (AtomicFunction::Add, ty) if ty.is_float() => true,
        (AtomicFunction::Min | AtomicFunction::Max, _) if is_pair && elements > 1 => true,
        (_, ty) if ty.is_float() => false,
        (AtomicFunction::CompareExchange, Type::B16) => true,
        _ => matches!(ty.bytes(), 4 | 8),
    }
}

/// Refuses halves of 128 bits in braces where one register is asked for.
pub(super) fn require_whole(operand: &Operand) -> Outcome {
    match operand {
        Operand::Vector(_) => {
            Err("expected a `.b128` register: pack its halves with `mov.b128` first".into())
        }
        _ => Ok(()),
    }
}

impl Builder<'_, '_> {
    /// `atom` and `red`.
    pub(super) fn atomic(
        &mut self,
        returns: bool,
        mut mods: Modifiers<'_>,
        operands: &[Operand],
    ) -> Outcome {
        if !returns && mods.take("async") {
            return self.async_store(true, mods, operands);
        }
        let ty = mods.ty()?;
        let elements = take_elements(&mut mods);
        let space = take_space(&mut mods);
        take_order(&mut mods);
        let operands = match operands {
            // A cache policy.
            [rest @ .., _] if mods.take("L2::cache_hint") => rest,
            all => all,
        };
        mods.drop_known(is_hint);
        let keeps_subnormals = mods.take("noftz");
        let function = take_atomic_function(&mut mods).ok_or(Failure::Unknown)?;
        mods.finish()?;
        if ty == Type::B128 {
            return self.wide_atomic(function, space, (returns, elements), operands);
        }
        if !exists(function, ty, keeps_subnormals, elements) {
            return Err(Failure::Unknown);
        }
        let (to, rest) = match (returns, operands) {
            (true, [to, rest @ ..]) => (Some(to), rest),
            (_, rest) => (None, rest),
        };
        let swap = function == AtomicFunction::CompareExchange;
        let (address, operand, second) = match rest {
            [address, operand] if !swap => (address, operand, None),
            [address, operand, second] if swap => (address, operand, Some(second)),
            _ => return Err("wrong number of operands".into()),
        };
        let address = self.address(address, space)?;
        let has_vectors = matches!(space, Space::Global | Space::Generic);
        if elements > 1 && (!has_vectors || swap || !ty.is_float()) {
            return Err(Failure::Unknown);
        }
        let parts = &*self.parts_of(operand, elements)?;
        let sources: Result<Vec<_>, _> = parts.iter().map(|part| self.source(part, ty)).collect();
        let (sources, destinations) = (sources?, self.results(to, elements, ty)?);
        let second = second.map(|second| self.source(second, ty)).transpose()?;
        let atomic = Atomic {
            address,
            function,
            ty,
            operand: *sources.first().ok_or(Failure::Unknown)?,
            second,
            destination: None,
        };
        self.emit_atomics(&atomic, sources, &destinations)
    }

    /// Where the old values go: nowhere for those of a sink, and of `red`.
    fn results(
        &mut self,
        to: Option<&Operand>,
        elements: usize,
        ty: Type,
    ) -> Result<Vec<Option<Register>>, Failure> {
        let Some(to) = to.filter(|to| !matches!(to, Operand::Sink)) else {
            return Ok(Vec::new());
        };
        let mut results = Vec::new();
        for part in &*self.parts_of(to, elements)? {
            results.push(match part {
                Operand::Sink => None,
                part => Some(self.destination(part, ty)?),
            });
        }
        Ok(results)
    }

    /// Each element of a vector is an atomic operation of its own. Their operands are those from
    /// before the first.
    fn emit_atomics(
        &mut self,
        first: &Atomic,
        mut sources: Vec<Register>,
        destinations: &[Option<Register>],
    ) -> Outcome {
        for (at, source) in sources.iter_mut().enumerate() {
            if destinations.iter().take(at).any(|to| *to == Some(*source)) {
                let kept = self.new_register(first.ty)?;
                self.emit_move(kept, *source)?;
                *source = kept;
            }
        }
        for (at, operand) in sources.into_iter().enumerate() {
            let behind = i64::from(first.ty.bytes()) * at as i64;
            let atomic = Atomic {
                address: Address {
                    offset: first.address.offset.wrapping_add(behind),
                    ..first.address
                },
                operand,
                destination: destinations.get(at).copied().flatten(),
                ..*first
            };
            let index = self.program.atomics.len() as u32;
            self.program.atomics.push(atomic);
            self.emit(Op::Atomic(index));
        }
        Ok(())
    }

    /// The registers of a `.b128` register.
    pub(super) fn halves(&mut self, operand: &Operand) -> Result<[Reg64; 2], Failure> {
        require_whole(operand)?;
        let parts = self.parts_of(operand, 2)?;
        Ok([
            self.reg64(&parts[0], Type::B64)?,
            self.reg64(&parts[1], Type::B64)?,
        ])
    }

    pub(super) fn halves_destination(&mut self, operand: &Operand) -> Result<[Reg64; 2], Failure> {
        require_whole(operand)?;
        let parts = self.parts_of(operand, 2)?;
        Ok([
            self.reg64_destination(&parts[0])?,
            self.reg64_destination(&parts[1])?,
        ])
    }

    pub(super) fn emit_wide(
        &mut self,
        (function, address): (WideFunction, Address),
        [operand, second]: [Option<[Reg64; 2]>; 2],
        destination: Option<[Reg64; 2]>,
    ) {
        let index = self.program.wide_atomics.len() as u32;
        self.program.wide_atomics.push(WideAtomic {
            address,
            function,
            operand,
            second,
            destination,
        });
        self.emit(Op::WideAtomic(index));
    }

    /// `atom.exch.b128` and `atom.cas.b128`
    fn wide_atomic(
        &mut self,
        function: AtomicFunction,
        space: Space,
        (returns, elements): (bool, usize),
        operands: &[Operand],
    ) -> Outcome {
        if !returns || elements != 1 {
            return Err(Failure::Unknown);
        }
        let (function, to, address, operand, second) = match (function, operands) {
            (AtomicFunction::Exchange, [to, address, operand]) => {
                (WideFunction::Exchange, to, address, operand, None)
            }
            (AtomicFunction::CompareExchange, [to, address, operand, second]) => (
                WideFunction::CompareExchange,
                to,
                address,
                operand,
                Some(second),
            ),
            _ => return Err(Failure::Unknown),
        };
        let address = self.address(address, space)?;
        let operand = self.halves(operand)?;
        let second = second.map(|second| self.halves(second)).transpose()?;
        let destination = match to {
            Operand::Sink => None,
            to => Some(self.halves_destination(to)?),
        };
        self.emit_wide((function, address), [Some(operand), second], destination);
        Ok(())
    }
}
