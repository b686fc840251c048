//! Register allocation: registers whose lifetimes do not overlap share a slot, so that a warp's
//! register file stays small enough for the caches.
//!
//! Lanes diverge, but a slot is 32 separate lanes and each lane follows the control flow graph, so
//! liveness per thread is what counts.

use super::builder::BlockDraft;
use super::layout::Edges;
use super::registers::{Role, Visitor};
use crate::ir::{Double, Function, Predicate, Program, Register, Terminator, Word};

/// Above this many bits (blocks times registers) liveness is skipped and every register keeps a
/// slot of its own.
const MAX_LIVENESS_BITS: usize = 1 << 30;

/// Numbers of all registers of a function in one sequence.
pub(super) struct Numbering {
    words: u32,
    doubles: u32,
    predicates: u32,
}

impl Numbering {
    pub(super) fn new(function: &Function) -> Self {
        Numbering {
            words: function.words,
            doubles: function.doubles,
            predicates: function.predicates,
        }
    }

    pub(super) fn of(&self, register: Register) -> usize {
        (match register {
            Register::Word(Word(index)) => index,
            Register::Double(Double(index)) => self.words + index,
            Register::Predicate(Predicate(index)) => self.words + self.doubles + index,
        }) as usize
    }

    fn register(&self, number: usize) -> Register {
        let number = number as u32;
        if number < self.words {
            Register::Word(Word(number))
        } else if number < self.words + self.doubles {
            Register::Double(Double(number - self.words))
        } else {
            Register::Predicate(Predicate(number - self.words - self.doubles))
        }
    }

    pub(super) fn total(&self) -> usize {
        (self.words + self.doubles + self.predicates) as usize
    }
}

/// A set of registers for each block, one bit each.
struct Sets {
    bits: Vec<u64>,
    /// Words of a set.
    words: usize,
}

impl Sets {
    fn new(blocks: usize, registers: usize) -> Self {
        let words = registers.div_ceil(64).max(1);
        Sets {
            bits: vec![0; blocks * words],
            words,
        }
    }

    fn of_block(&self, block: usize) -> &[u64] {
        &self.bits[block * self.words..][..self.words]
    }

    fn of_block_mut(&mut self, block: usize) -> &mut [u64] {
        &mut self.bits[block * self.words..][..self.words]
    }

    fn each(&self) -> impl DoubleEndedIterator<Item = &[u64]> + ExactSizeIterator {
        self.bits.chunks_exact(self.words)
    }
}

fn set(bits: &mut [u64], index: usize) {
    bits[index / 64] |= 1 << (index % 64);
}

fn has(bits: &[u64], index: usize) -> bool {
    bits[index / 64] >> (index % 64) & 1 != 0
}

fn each(bits: &[u64]) -> impl Iterator<Item = usize> + '_ {
    let words = bits.iter().enumerate();
    words.flat_map(|(word, &bits)| each_of_word(word, bits))
}

fn each_of_word(word: usize, bits: u64) -> impl Iterator<Item = usize> {
    let mut rest = bits;
    std::iter::from_fn(move || {
        let bit = rest.trailing_zeros() as usize;
        rest &= rest.wrapping_sub(1);
        (bit < 64).then_some(word * 64 + bit)
    })
}

/// Reports the registers of a block in execution order. Writes under a guard are reported as reads
/// first, since lanes that do not execute them keep the old value.
fn scan(draft: &mut BlockDraft, program: &mut Program, mut see: impl FnMut(Role, Register)) {
    let mut visitor = Visitor(|role, register| {
        see(role, register);
        register
    });
    if let Some(members) = &mut draft.members {
        visitor.members(members);
    }
    for inst in &mut draft.insts {
        if let Some(guard) = &mut inst.guard {
            visitor.guard(&mut guard.predicate);
            let mut writes = Vec::new();
            Visitor(|role, register| {
                if role == Role::Define {
                    writes.push(register);
                }
                register
            })
            .op(&mut inst.op, program);
            for register in writes {
                (visitor.0)(Role::Use, register);
            }
        }
        visitor.op(&mut inst.op, program);
    }
    if let Some((terminator, _)) = &mut draft.terminator {
        visitor.terminator(terminator);
    }
}

/// Registers live when each block starts, and when it ends.
fn liveness(
    function: &Function,
    drafts: &mut [BlockDraft],
    program: &mut Program,
    numbering: &Numbering,
) -> (Sets, Sets) {
    let empty = || Sets::new(drafts.len(), numbering.total());
    let (mut live_in, mut written, mut live_out) = (empty(), empty(), empty());
    for (index, draft) in drafts.iter_mut().enumerate() {
        let (reads, writes) = (live_in.of_block_mut(index), written.of_block_mut(index));
        scan(draft, program, |role, register| {
            let number = numbering.of(register);
            match role {
                Role::Use if !has(writes, number) => set(reads, number),
                Role::Use => {}
                Role::Define => set(writes, number),
            }
        });
        if let Some((Terminator::Return, _)) = draft.terminator {
            for &word in &function.results {
                let number = numbering.of(Register::Word(word));
                if !has(writes, number) {
                    set(reads, number);
                }
            }
        }
    }
    let edges = Edges::of(drafts);
    let mut changed = true;
    while changed {
        changed = false;
        for index in (0..drafts.len()).rev() {
            let out = live_out.of_block_mut(index);
            for &successor in edges.of_block(index as u32) {
                for (out, bits) in out.iter_mut().zip(live_in.of_block(successor as usize)) {
                    *out |= bits;
                }
            }
            let mut added = 0;
            let passed = out.iter().zip(written.of_block(index));
            for (live, (out, writes)) in live_in.of_block_mut(index).iter_mut().zip(passed) {
                let bits = out & !writes;
                added |= bits & !*live;
                *live |= bits;
            }
            changed |= added != 0;
        }
    }
    (live_in, live_out)
}

/// Renames the registers of a function to slots.
pub(super) fn allocate(function: &mut Function, drafts: &mut [BlockDraft], program: &mut Program) {
    let numbering = Numbering::new(function);
    let total = numbering.total();
    if total.saturating_mul(drafts.len()) > MAX_LIVENESS_BITS {
        function.unset = (0..total)
            .map(|number| numbering.register(number))
            .collect();
        return;
    }
    let (live_in, live_out) = liveness(function, drafts, program, &numbering);
    let intervals = intervals(drafts, program, &numbering, &live_in, &live_out);
    let fixed = fixed_registers(function, &numbering);
    let entry = live_in.each().next().unwrap_or(&[]);
    function.unset = each(entry)
        .map(|number| numbering.register(number))
        .filter(|&register| !fixed[numbering.of(register)])
        .collect();
    let slots = assign(&numbering, intervals, &fixed);
    let map = |register: Register| slots[numbering.of(register)].unwrap_or(register);
    rename(function, drafts, program, map);
    let count = |wanted: fn(&Register) -> Option<u32>| {
        slots
            .iter()
            .flatten()
            .filter_map(wanted)
            .max()
            .map_or(0, |highest| highest + 1)
    };
    function.words = count(|register| match register {
        Register::Word(Word(index)) => Some(*index),
        _ => None,
    });
    function.doubles = count(|register| match register {
        Register::Double(Double(index)) => Some(*index),
        _ => None,
    });
    function.predicates = count(|register| match register {
        Register::Predicate(Predicate(index)) => Some(*index),
        _ => None,
    });
}

/// By number: whether the register holds a value from before the code runs, and keeps its slot for good.
fn fixed_registers(function: &Function, numbering: &Numbering) -> Vec<bool> {
    let words = function.word_constants.iter().map(|(word, _)| *word);
    let words = words.chain(function.params.iter().copied());
    let words = words.chain(function.results.iter().copied());
    let doubles = function.double_constants.iter().map(|(double, _)| *double);
    let predicates = function.predicate_constants.iter().map(|(p, _)| *p);
    let registers = words.map(Register::Word);
    let registers = registers.chain(doubles.map(Register::Double));
    let mut fixed = vec![false; numbering.total()];
    for register in registers.chain(predicates.map(Register::Predicate)) {
        fixed[numbering.of(register)] = true;
    }
    fixed
}

/// First and last position at which each register is live; none for one that never occurs.
fn intervals(
    drafts: &mut [BlockDraft],
    program: &mut Program,
    numbering: &Numbering,
    live_in: &Sets,
    live_out: &Sets,
) -> Vec<Option<(u32, u32)>> {
    let mut starts = vec![u32::MAX; numbering.total()];
    let mut ends = vec![0; numbering.total()];
    let mut known = vec![0u64; numbering.total().div_ceil(64)];
    let mut block_ends = Vec::with_capacity(drafts.len());
    let mut position = 0;
    for (index, draft) in drafts.iter_mut().enumerate() {
        for number in each_new(live_in.of_block(index), &mut known) {
            starts[number] = starts[number].min(position);
        }
        // Every mention is a position of its own: operands of one operation never share.
        scan(draft, program, |_, register| {
            let number = numbering.of(register);
            position += 1;
            starts[number] = starts[number].min(position);
            ends[number] = position;
        });
        position += 2;
        block_ends.push(position);
        position += 1;
    }
    // What is live when a block ends was live when it began, or is mentioned in it: only ends follow.
    known.fill(0);
    for (live_out, &end) in live_out.each().zip(&block_ends).rev() {
        for number in each_new(live_out, &mut known) {
            ends[number] = ends[number].max(end);
        }
    }
    let both = starts.into_iter().zip(ends);
    both.map(|(start, end)| (start != u32::MAX).then_some((start, end)))
        .collect()
}

/// The bits that are not among those known; they are from now on.
fn each_new<'b>(bits: &'b [u64], known: &'b mut [u64]) -> impl Iterator<Item = usize> + 'b {
    let both = bits.iter().zip(known).enumerate();
    both.flat_map(|(word, (&bits, known))| {
        let new = bits & !*known;
        *known |= new;
        each_of_word(word, new)
    })
}

/// By number: the slot of each register that occurs. Linear scan (Poletto and Sarkar 1999) without a limit on the slots.
fn assign(
    numbering: &Numbering,
    intervals: Vec<Option<(u32, u32)>>,
    fixed: &[bool],
) -> Vec<Option<Register>> {
    let mut slots = vec![None; numbering.total()];
    let kinds: [fn(Register) -> bool; 3] = [
        |register| matches!(register, Register::Word(_)),
        |register| matches!(register, Register::Double(_)),
        |register| matches!(register, Register::Predicate(_)),
    ];
    let slot_of = |kind: usize, slot: u32| match kind {
        0 => Register::Word(Word(slot)),
        1 => Register::Double(Double(slot)),
        _ => Register::Predicate(Predicate(slot)),
    };
    for (kind, is_kind) in kinds.into_iter().enumerate() {
        let mut wanted: Vec<(u32, u32, usize)> = Vec::new();
        let mut next_slot = 0;
        for (number, interval) in intervals.iter().enumerate() {
            let register = numbering.register(number);
            if !is_kind(register) {
                continue;
            }
            if fixed[number] {
                slots[number] = Some(slot_of(kind, next_slot));
                next_slot += 1;
            } else if let Some((start, end)) = *interval {
                wanted.push((start, end, number));
            }
        }
        wanted.sort_by_key(|&(start, end, _)| (start, end));
        let mut free: Vec<u32> = Vec::new();
        let mut active = std::collections::BinaryHeap::new();
        for (start, end, number) in wanted {
            while let Some(&std::cmp::Reverse((expiry, slot))) = active.peek() {
                if expiry >= start {
                    break;
                }
                active.pop();
                free.push(slot);
            }
            let slot = free.pop().unwrap_or_else(|| {
                next_slot += 1;
                next_slot - 1
            });
            active.push(std::cmp::Reverse((end, slot)));
            slots[number] = Some(slot_of(kind, slot));
        }
    }
    slots
}

fn rename(
    function: &mut Function,
    drafts: &mut [BlockDraft],
    program: &mut Program,
    map: impl Fn(Register) -> Register,
) {
    let word = |word: Word| match map(Register::Word(word)) {
        Register::Word(slot) => slot,
        _ => word,
    };
    for (constant, _) in &mut function.word_constants {
        *constant = word(*constant);
    }
    for (constant, _) in &mut function.double_constants {
        if let Register::Double(slot) = map(Register::Double(*constant)) {
            *constant = slot;
        }
    }
    for (constant, _) in &mut function.predicate_constants {
        if let Register::Predicate(slot) = map(Register::Predicate(*constant)) {
            *constant = slot;
        }
    }
    for register in &mut function.unset {
        *register = map(*register);
    }
    for slot in function.params.iter_mut().chain(&mut function.results) {
        *slot = word(*slot);
    }
    let mut visitor = Visitor(|_, register| map(register));
    for draft in drafts {
        if let Some(members) = &mut draft.members {
            visitor.members(members);
        }
        for inst in &mut draft.insts {
            if let Some(guard) = &mut inst.guard {
                visitor.guard(&mut guard.predicate);
            }
            visitor.op(&mut inst.op, program);
        }
        if let Some((terminator, _)) = &mut draft.terminator {
            visitor.terminator(terminator);
        }
    }
}
