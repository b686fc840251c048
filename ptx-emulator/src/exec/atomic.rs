//! `atom` and `red`.

use std::sync::atomic::{Ordering, fence};

use super::run::{Outcome, Run};
use super::vector::LANES;
use super::warp_ops::{lanes, read, write};
use super::{Launch, lane};
use crate::allocation::Allocation;
use crate::ir::{
    AccessKind, Atomic, AtomicFunction, FloatFormat, FloatFunction, IntegerFunction, LaneFunction,
    Reg64, Space, WideFunction,
};
use crate::observer::EventSink;
use ptx_syntax::ast::Type;

impl<O: EventSink> Run<'_, '_, O> {
    #[inline(never)]
    pub(super) fn atomic(&mut self, index: u32, mask: u32) -> Outcome {
        let atomic = &self.program.atomics[index as usize];
        if self.is_mixed(&atomic.address, mask) {
            return self.split_by_space(&atomic.address, mask, |this, group| {
                this.atomic(index, group)
            });
        }
        let (space, addresses) = self.resolve(&atomic.address, mask);
        let bytes = atomic.ty.bytes();
        let launch = self.launch;
        let in_order = self.observer.strong_in_order() && space == Space::Global;
        let _in_order = in_order.then(|| launch.in_order());
        self.observe(space, AccessKind::Atomic, bytes, (mask, true), &addresses);
        let is_attempt = self.is_attempt(atomic, mask);
        let operands = self.operands_if_noted(atomic, space, is_attempt);
        if !self.atomic_together(atomic, space, &addresses, mask) {
            self.atomic_lanes(atomic, space, &addresses, mask)?;
        }
        if let Some(operands) = operands {
            let writes = lanes(mask).any(|lane| self.has_written(atomic, operands[lane], lane));
            self.activity.note(atomic.destination.is_some(), writes);
            if is_attempt && !writes {
                self.note_attempt(index as usize, &addresses, mask);
            }
        }
        if launch.is_cooperative() {
            self.note_action();
        }
        Ok(())
    }

    /// Whether an atomic may be an attempt to take a lock, or wait for a value, as adding 0 does:
    /// lanes repeat it until it succeeds. Blocks of a cooperative launch run in turn, and steps are
    /// in the observer's order.
    fn is_attempt(&self, atomic: &Atomic, mask: u32) -> bool {
        use AtomicFunction::{Add, CompareExchange, Exchange, Or, Xor};
        let may_fail = match atomic.function {
            Exchange | CompareExchange => true,
            Add | Or | Xor => {
                let first = mask.trailing_zeros() as usize % LANES;
                read(&self.r, atomic.operand, first) == 0
            }
            _ => false,
        };
        may_fail
            && atomic.destination.is_some()
            && !self.launch.is_cooperative()
            && !self.observer.steps()
    }

    /// An attempt has changed nothing.
    fn note_attempt(&mut self, index: usize, addresses: &[u64; LANES], mask: u32) {
        let atomic = &self.program.atomics[index];
        match atomic.function {
            AtomicFunction::Exchange | AtomicFunction::CompareExchange => {
                self.polls.note_spin(self.fuel);
            }
            // It has a number behind those of loads.
            _ => {
                let number = self.program.loads.len() + index;
                self.note_reading(number, (addresses, mask), &[atomic.destination]);
            }
        }
    }

    /// The operands of an atomic, where it is of interest whether it writes: on global memory, or
    /// as it may be an attempt.
    #[inline(always)]
    fn operands_if_noted(
        &self,
        atomic: &Atomic,
        space: Space,
        is_attempt: bool,
    ) -> Option<[u64; LANES]> {
        let is_global = O::ACCESSES && space == Space::Global;
        let is_noted = is_attempt || is_global && self.activity.is_noted();
        let operand = |lane| read(&self.r, atomic.operand, lane);
        is_noted.then(|| std::array::from_fn(operand))
    }

    /// Whether an atomic may have changed memory, which has been executed with an operand.
    fn has_written(&self, atomic: &Atomic, operand: u64, lane: usize) -> bool {
        let old = atomic.destination.map(|old| read(&self.r, old, lane));
        match atomic.function {
            AtomicFunction::Add | AtomicFunction::Or | AtomicFunction::Xor => operand != 0,
            AtomicFunction::Exchange => old != Some(operand),
            AtomicFunction::CompareExchange => old.is_none_or(|old| old == operand),
            _ => true,
        }
    }

    fn atomic_lanes(
        &mut self,
        atomic: &Atomic,
        space: Space,
        addresses: &[u64; LANES],
        mask: u32,
    ) -> Outcome {
        let (bytes, launch) = (atomic.ty.bytes(), self.launch);
        for lane in lanes(mask) {
            let address = addresses[lane];
            self.check(space, address, bytes, AccessKind::Atomic, lane)?;
            let operand = read(&self.r, atomic.operand, lane);
            let second = atomic
                .second
                .map_or(0, |second| read(&self.r, second, lane));
            let what = (atomic.function, atomic.ty);
            let update = |old: u64| updated(what, space, old, operand, second);
            let old = match space {
                Space::Global | Space::Const | Space::Generic => {
                    match self.launch.allocation(address, u64::from(bytes)) {
                        Some(allocation) => {
                            update_global(launch, allocation, address, bytes, update)
                        }
                        None => 0,
                    }
                }
                _ => {
                    let old = self.read_memory(space, address, bytes, lane, false);
                    self.write_memory(space, address, bytes, lane, update(old), false);
                    old
                }
            };
            if let Some(destination) = atomic.destination {
                write(&mut self.r, destination, lane, old);
            }
        }
        Ok(())
    }

    /// `atom.b128`, and strong loads and stores of 128 bits: whole also for other blocks.
    #[inline(never)]
    pub(super) fn wide_atomic(&mut self, index: u32, mask: u32) -> Outcome {
        let atomic = &self.program.wide_atomics[index as usize];
        if self.is_mixed(&atomic.address, mask) {
            return self.split_by_space(&atomic.address, mask, |this, group| {
                this.wide_atomic(index, group)
            });
        }
        let (space, addresses) = self.resolve(&atomic.address, mask);
        let kind = match atomic.function {
            WideFunction::Load => AccessKind::Load,
            WideFunction::Store => AccessKind::Store,
            WideFunction::Exchange | WideFunction::CompareExchange => AccessKind::Atomic,
        };
        let launch = self.launch;
        let in_order = self.observer.strong_in_order() && space == Space::Global;
        let _in_order = in_order.then(|| launch.in_order());
        self.observe(space, kind, 16, (mask, true), &addresses);
        if (space, kind) == (Space::Cluster, AccessKind::Store) {
            self.observe_ended(16, (mask, true), &addresses);
        }
        for lane in lanes(mask) {
            let address = addresses[lane];
            self.check(space, address, 16, kind, lane)?;
            let pair = |pair: Option<[Reg64; 2]>| {
                pair.map(|pair| pair.map(|reg| self.r.regs64[reg.0 as usize][lane]))
            };
            let (operand, second) = (pair(atomic.operand), pair(atomic.second));
            // The lower lock first, as everywhere: no two workers wait for each other.
            let _whole = [launch.memory.lock(address), launch.memory.lock(address + 8)];
            fence(Ordering::SeqCst);
            let half = |at: u64| self.read_memory(space, address + 8 * at, 8, lane, false);
            let old = [half(0), half(1)];
            let new = match atomic.function {
                WideFunction::Load => None,
                WideFunction::Store | WideFunction::Exchange => operand,
                WideFunction::CompareExchange => second.filter(|_| operand == Some(old)),
            };
            if let Some(new) = new {
                for (at, value) in (0u64..).zip(new) {
                    self.write_memory(space, address + 8 * at, 8, lane, value, false);
                }
            }
            if launch.is_cooperative() && kind != AccessKind::Load {
                self.note_action();
            }
            if O::ACCESSES && space == Space::Global {
                self.activity.note(kind != AccessKind::Store, new.is_some());
            }
            if let Some(destination) = atomic.destination {
                for (reg, value) in destination.into_iter().zip(old) {
                    self.r.regs64[reg.0 as usize][lane] = value;
                }
            }
        }
        Ok(())
    }
}

/// Replaces a value of an allocation by what `update` makes of it; gives the old one.
pub(super) fn update_global(
    launch: &Launch<'_>,
    allocation: &Allocation,
    address: u64,
    bytes: u32,
    update: impl Fn(u64) -> u64,
) -> u64 {
    let offset = (address - allocation.base) as usize;
    if bytes == 8 {
        let _whole = launch.memory.lock(address);
        fence(Ordering::SeqCst);
        let old = allocation.read(offset, 8);
        allocation.write(offset, 8, update(old));
        return old;
    }
    let word = &allocation.words()[offset / 4];
    let shift = 8 * (offset % 4);
    let mask = u32::MAX >> (32 - 8 * bytes);
    let order = Ordering::SeqCst;
    let result = word.fetch_update(order, order, |old| {
        let new = update(u64::from(old >> shift & mask)) as u32 & mask;
        Some(old & !(mask << shift) | new << shift)
    });
    // The closure never declines: both cases hold the old value.
    match result {
        Ok(old) | Err(old) => u64::from(old >> shift & mask),
    }
}

/// What an atomic operation makes of a value.
pub(super) fn updated(
    (function, ty): (AtomicFunction, Type),
    space: Space,
    old: u64,
    operand: u64,
    second: u64,
) -> u64 {
    let integer = |function| {
        let function = LaneFunction::Integer(function, ty);
        lane::evaluate(function, [old, operand, 0, 0]).0
    };
    match function {
        AtomicFunction::Add if ty.is_float() => float_sum(ty, space, old, operand),
        AtomicFunction::Min | AtomicFunction::Max if ty.is_float() => {
            let function = match function {
                AtomicFunction::Min => FloatFunction::Min,
                _ => FloatFunction::Max,
            };
            let function = LaneFunction::Float(function, FloatFormat::new(ty));
            lane::evaluate(function, [old, operand, 0, 0]).0
        }
        AtomicFunction::Add => integer(IntegerFunction::Add),
        AtomicFunction::Min => integer(IntegerFunction::Min),
        AtomicFunction::Max => integer(IntegerFunction::Max),
        AtomicFunction::And => old & operand,
        AtomicFunction::Or => old | operand,
        AtomicFunction::Xor => old ^ operand,
        AtomicFunction::Exchange => operand,
        AtomicFunction::CompareExchange if old == operand => second,
        AtomicFunction::CompareExchange => old,
        AtomicFunction::Increment if old >= operand => 0,
        AtomicFunction::Increment => old + 1,
        AtomicFunction::Decrement if old == 0 || old > operand => operand,
        AtomicFunction::Decrement => old - 1,
    }
}

/// Whether an atomic is on global memory.
pub(super) fn is_global(space: Space) -> bool {
    matches!(space, Space::Global | Space::Const | Space::Generic)
}

/// `add` of floats. In global memory, those of f32 flush subnormals to zero (PTX ISA, "atom").
///
/// Of NaNs of f64, an H200 keeps that of memory where shared memory is added to. Where global
/// memory is, it keeps that of the operand, and a signalling NaN as it is.
fn float_sum(ty: Type, space: Space, old: u64, operand: u64) -> u64 {
    let is_global = is_global(space);
    if ty == Type::F64 && is_global {
        let nan = [operand, old]
            .into_iter()
            .find(|bits| f64::from_bits(*bits).is_nan());
        if let Some(nan) = nan {
            return nan;
        }
    }
    let format = FloatFormat {
        flush: ty == Type::F32 && is_global,
        ..FloatFormat::new(ty)
    };
    let function = LaneFunction::Float(FloatFunction::Add, format);
    let terms = match ty {
        // Of two NaNs, `add.f64` keeps the second operand's.
        Type::F64 => [operand, old, 0, 0],
        _ => [old, operand, 0, 0],
    };
    lane::evaluate(function, terms).0
}
