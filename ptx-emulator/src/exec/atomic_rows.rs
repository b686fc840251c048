//! Atomics of 32-bit words by all lanes of a warp, checked together.

use std::sync::atomic::{AtomicU32, Ordering};

use super::atomic::{is_global, updated};
use super::float::{bits32, flush32};
use super::gather::Backing;
use super::run::Run;
use super::vector::{LANES, Lanes32};
use super::warp_ops::lanes;
use crate::ir::{Atomic, AtomicFunction, Register, Space};
use crate::observer::EventSink;
use ptx_syntax::ast::Type;

const ORDER: Ordering = Ordering::SeqCst;

impl<O: EventSink> Run<'_, '_, O> {
    /// An atomic of all lanes of a mask, lane by lane in their order; false, with nothing done,
    /// where some lane would fault, or the operands are no words.
    pub(super) fn atomic_together(
        &mut self,
        atomic: &Atomic,
        space: Space,
        addresses: &[u64; LANES],
        mask: u32,
    ) -> bool {
        let Register::Reg32(operand) = atomic.operand else {
            return false;
        };
        if atomic.ty.bytes() != 4 || matches!(atomic.destination, Some(Register::Predicate(_))) {
            return false;
        }
        let Some(place) = self.place(space, addresses, mask, (4, true)) else {
            return false;
        };
        let operands = self.r.regs32[operand.0 as usize];
        let second = match atomic.second {
            Some(Register::Reg32(second)) => self.r.regs32[second.0 as usize],
            Some(_) => return false,
            None => [0; LANES],
        };
        let word = |lane: usize| (addresses[lane].wrapping_sub(place.base()) / 4) as usize;
        let mut old = [0; LANES];
        match place {
            Backing::Shared => {
                let words = &mut *self.shared;
                if is_sum(atomic) {
                    for lane in lanes(mask) {
                        let to = &mut words[word(lane)];
                        old[lane] = *to;
                        *to = to.wrapping_add(operands[lane]);
                    }
                }
                for lane in lanes(if is_sum(atomic) { 0 } else { mask }) {
                    let to = &mut words[word(lane)];
                    old[lane] = *to;
                    *to = next(atomic, space, *to, operands[lane], second[lane]);
                }
            }
            // They are rare.
            Backing::Local => return false,
            Backing::Global(words, _) => {
                let first = word(mask.trailing_zeros() as usize % LANES);
                let is_uniform = lanes(mask).all(|lane| word(lane) == first);
                if is_uniform && is_sum(atomic) {
                    add_to_one(&words[first], mask, &operands, &mut old);
                } else {
                    for lane in lanes(mask) {
                        let update =
                            |old: u32| next(atomic, space, old, operands[lane], second[lane]);
                        old[lane] = update_word(atomic, &words[word(lane)], operands[lane], update);
                    }
                }
            }
        }
        match atomic.destination {
            Some(Register::Reg32(to)) => {
                let to = &mut self.r.regs32[to.0 as usize];
                for lane in lanes(mask) {
                    to[lane] = old[lane];
                }
            }
            Some(Register::Reg64(to)) => {
                let to = &mut self.r.regs64[to.0 as usize];
                for lane in lanes(mask) {
                    to[lane] = u64::from(old[lane]);
                }
            }
            _ => {}
        }
        true
    }
}

/// Whether an atomic adds integers.
fn is_sum(atomic: &Atomic) -> bool {
    let is_integer = matches!(atomic.ty, Type::U32 | Type::S32 | Type::B32);
    atomic.function == AtomicFunction::Add && is_integer
}

/// Adds the lanes' operands to one word by one atomic addition; `old` gets what each lane finds.
fn add_to_one(word: &AtomicU32, mask: u32, operands: &Lanes32, old: &mut Lanes32) {
    let mut sum = 0u32;
    for lane in lanes(mask) {
        old[lane] = sum;
        sum = sum.wrapping_add(operands[lane]);
    }
    let before = word.fetch_add(sum, ORDER);
    for lane in lanes(mask) {
        old[lane] = old[lane].wrapping_add(before);
    }
}

/// Updates a word of global memory; gives what was there.
#[inline(always)]
fn update_word(
    atomic: &Atomic,
    word: &AtomicU32,
    operand: u32,
    update: impl Fn(u32) -> u32,
) -> u32 {
    match (atomic.function, atomic.ty) {
        (AtomicFunction::Add, Type::U32 | Type::S32 | Type::B32) => word.fetch_add(operand, ORDER),
        (AtomicFunction::And, _) => word.fetch_and(operand, ORDER),
        (AtomicFunction::Or, _) => word.fetch_or(operand, ORDER),
        (AtomicFunction::Xor, _) => word.fetch_xor(operand, ORDER),
        (AtomicFunction::Exchange, _) => word.swap(operand, ORDER),
        _ => {
            let result = word.fetch_update(ORDER, ORDER, |old| Some(update(old)));
            // The closure never declines: both cases hold the old value.
            let (Ok(old) | Err(old)) = result;
            old
        }
    }
}

/// The new value of a word.
#[inline(always)]
fn next(atomic: &Atomic, space: Space, old: u32, operand: u32, second: u32) -> u32 {
    match (atomic.function, atomic.ty) {
        (AtomicFunction::Add, Type::U32 | Type::S32 | Type::B32) => old.wrapping_add(operand),
        (AtomicFunction::Add, Type::F32) if !is_global(space) => {
            bits32(f32::from_bits(old) + f32::from_bits(operand))
        }
        // There, subnormals are zero (PTX ISA, "atom").
        (AtomicFunction::Add, Type::F32) => {
            let sum = f32::from_bits(flush32(old)) + f32::from_bits(flush32(operand));
            flush32(bits32(sum))
        }
        (AtomicFunction::Min, Type::U32) => old.min(operand),
        (AtomicFunction::Max, Type::U32) => old.max(operand),
        (AtomicFunction::Min, Type::S32) => (old as i32).min(operand as i32) as u32,
        (AtomicFunction::Max, Type::S32) => (old as i32).max(operand as i32) as u32,
        (AtomicFunction::CompareExchange, _) => {
            if old == operand {
                second
            } else {
                old
            }
        }
        _ => {
            let what = (atomic.function, atomic.ty);
            updated(what, space, old.into(), operand.into(), second.into()) as u32
        }
    }
}
