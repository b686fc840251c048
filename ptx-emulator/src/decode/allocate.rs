//! Register allocation: registers whose lifetimes do not overlap share a slot, so that a warp's
//! register file stays small enough for the caches.
//!
//! Lanes diverge, but a slot is 32 separate lanes and each lane follows the control flow graph, so
//! liveness per thread is what counts.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::builder::BlockDraft;
use super::layout::Edges;
use super::mentions::{Mention, Mentions};
use super::registers::Visitor;
use crate::ir::{Function, Predicate, Program, Reg32, Reg64, Register};

/// Above this many bits (blocks times registers) liveness is skipped and every register has a slot
/// of its own.
const MAX_LIVENESS_BITS: usize = 1 << 30;

/// Numbers of all registers of a function in one sequence.
pub(super) struct Numbering {
    regs32: u32,
    regs64: u32,
    predicates: u32,
}

impl Numbering {
    pub(super) fn new(function: &Function) -> Self {
        Numbering {
            regs32: function.regs32,
            regs64: function.regs64,
            predicates: function.predicates,
        }
    }

    pub(super) fn of(&self, register: Register) -> usize {
        (match register {
            Register::Reg32(Reg32(index)) => index,
            Register::Reg64(Reg64(index)) => self.regs32 + index,
            Register::Predicate(Predicate(index)) => self.regs32 + self.regs64 + index,
        }) as usize
    }

    fn register(&self, number: usize) -> Register {
        let number = number as u32;
        if number < self.regs32 {
            Register::Reg32(Reg32(number))
        } else if number < self.regs32 + self.regs64 {
            Register::Reg64(Reg64(number - self.regs32))
        } else {
            Register::Predicate(Predicate(number - self.regs32 - self.regs64))
        }
    }

    pub(super) fn total(&self) -> usize {
        (self.regs32 + self.regs64 + self.predicates) as usize
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

/// The registers that may live from one block to another. Most others are written and read in one
/// block alone.
struct Crossing {
    /// Their numbers, in rising order; sets of registers are sets of indices into this list.
    numbers: Vec<u32>,
    /// By number: the index in the list.
    places: Vec<Option<u32>>,
}

impl Crossing {
    /// Those of a function, without the ones that keep their slots for good.
    fn of(mentions: &Mentions, fixed: &[bool]) -> Self {
        let mut crosses = vec![false; fixed.len()];
        // By number: the block that writes the register, counted from 1 on, while that is the only
        // one to mention it.
        let mut homes = vec![0; fixed.len()];
        for (block, mentions) in (1u32..).zip(mentions.blocks()) {
            for &(mention, number) in mentions {
                let number = number as usize;
                if homes[number] == 0 && mention == Mention::Define {
                    homes[number] = block;
                }
                crosses[number] |= homes[number] != block;
            }
        }
        let numbers = (0..fixed.len() as u32)
            .filter(|&number| crosses[number as usize] && !fixed[number as usize])
            .collect::<Vec<u32>>();
        let mut places = vec![None; fixed.len()];
        for (place, &number) in (0..).zip(&numbers) {
            places[number as usize] = Some(place);
        }
        Crossing { numbers, places }
    }

    fn place(&self, number: u32) -> Option<usize> {
        self.places[number as usize].map(|place| place as usize)
    }
}

/// Registers live when each block starts, and when it ends.
fn liveness(drafts: &[BlockDraft], mentions: &Mentions, crossing: &Crossing) -> (Sets, Sets) {
    let empty = || Sets::new(drafts.len(), crossing.numbers.len());
    let (mut live_in, mut written, mut live_out) = (empty(), empty(), empty());
    for (index, mentions) in mentions.blocks().enumerate() {
        let (reads, writes) = (live_in.of_block_mut(index), written.of_block_mut(index));
        for &(mention, number) in mentions {
            let Some(place) = crossing.place(number) else {
                continue;
            };
            match mention {
                Mention::Define => set(writes, place),
                Mention::Use | Mention::Keep if !has(writes, place) => set(reads, place),
                Mention::Use | Mention::Keep => {}
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

/// Renames the registers of a function to slots; of one that is decoded for stepping each has its
/// own already.
pub(super) fn allocate(
    function: &mut Function,
    drafts: &mut [BlockDraft],
    program: &mut Program,
    numbering: &Numbering,
    mentions: &Mentions,
) {
    let fixed = fixed_registers(function, numbering);
    let crossing = Crossing::of(mentions, &fixed);
    let is_large = crossing.numbers.len().saturating_mul(drafts.len()) > MAX_LIVENESS_BITS;
    if is_large || program.symbols.is_some() {
        // A constant is there before the code runs.
        function.unset = (0..numbering.total())
            .filter(|&number| !fixed[number])
            .map(|number| numbering.register(number))
            .collect();
        return;
    }
    let (live_in, live_out) = liveness(drafts, mentions, &crossing);
    let entry = live_in.each().next().unwrap_or(&[]);
    function.unset = each(entry)
        .map(|place| numbering.register(crossing.numbers[place] as usize))
        .collect();
    let lifetimes = Lifetimes::of(mentions, &crossing, &live_in, &live_out);
    let (slots, pools) = assign(numbering, lifetimes, &fixed);
    rename(function, drafts, program, |register| {
        let slot = slots[numbering.of(register)];
        match register {
            Register::Reg32(_) => Register::Reg32(Reg32(slot)),
            Register::Reg64(_) => Register::Reg64(Reg64(slot)),
            Register::Predicate(_) => Register::Predicate(Predicate(slot)),
        }
    });
    let [regs32, regs64, predicates] = pools.map(|pool| pool.slots);
    (function.regs32, function.regs64, function.predicates) = (regs32, regs64, predicates);
}

/// By number: whether the register holds a value from before the code runs, and keeps its slot for
/// good.
fn fixed_registers(function: &Function, numbering: &Numbering) -> Vec<bool> {
    let regs32 = function.constants32.iter().map(|(reg, _)| *reg);
    let regs32 = regs32.chain(function.params.iter().copied());
    let regs32 = regs32.chain(function.results.iter().copied());
    let regs64 = function.constants64.iter().map(|(reg, _)| *reg);
    let predicates = function.predicate_constants.iter().map(|(p, _)| *p);
    let registers = regs32.map(Register::Reg32);
    let registers = registers.chain(regs64.map(Register::Reg64));
    let mut fixed = vec![false; numbering.total()];
    for register in registers.chain(predicates.map(Register::Predicate)) {
        fixed[numbering.of(register)] = true;
    }
    fixed
}

/// From where to where registers are live; of those that occur.
struct Lifetimes {
    /// By number: the first position; the largest number of all where the register does not occur.
    starts: Vec<u32>,
    ends: Vec<u32>,
    /// The numbers in the order of their starts.
    order: Vec<u32>,
}

impl Lifetimes {
    fn of(mentions: &Mentions, crossing: &Crossing, live_in: &Sets, live_out: &Sets) -> Self {
        let total = crossing.places.len();
        let mut lifetimes = Lifetimes {
            starts: vec![u32::MAX; total],
            ends: vec![0; total],
            order: Vec::with_capacity(total),
        };
        let mut known = vec![0u64; crossing.numbers.len().div_ceil(64)];
        let mut block_ends = Vec::with_capacity(live_in.each().len());
        let mut position = 0;
        for (live_in, mentions) in live_in.each().zip(mentions.blocks()) {
            for place in each_new(live_in, &mut known) {
                lifetimes.start(crossing.numbers[place], position);
            }
            // Every mention is a position of its own: operands of one operation never share.
            for &(_, number) in mentions {
                position += 1;
                lifetimes.start(number, position);
                lifetimes.ends[number as usize] = position;
            }
            position += 2;
            block_ends.push(position);
            position += 1;
        }
        // What is live at the end of a block was live at its start, or is mentioned in it: only
        // ends follow.
        known.fill(0);
        for (live_out, &end) in live_out.each().zip(&block_ends).rev() {
            for place in each_new(live_out, &mut known) {
                let last = &mut lifetimes.ends[crossing.numbers[place] as usize];
                *last = end.max(*last);
            }
        }
        lifetimes
    }

    fn start(&mut self, number: u32, position: u32) {
        let start = &mut self.starts[number as usize];
        if *start == u32::MAX {
            *start = position;
            self.order.push(number);
        }
    }
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

/// The slots of one register file.
#[derive(Default)]
struct Pool {
    slots: u32,
    free: Vec<u32>,
    /// Where the registers end that have slots now, and their slots.
    active: BinaryHeap<Reverse<(u32, u32)>>,
}

impl Pool {
    fn new_slot(&mut self) -> u32 {
        self.slots += 1;
        self.slots - 1
    }

    /// A slot for a register that is live from one position to another.
    fn slot(&mut self, start: u32, end: u32) -> u32 {
        while let Some(&Reverse((expiry, slot))) = self.active.peek() {
            if expiry >= start {
                break;
            }
            self.active.pop();
            self.free.push(slot);
        }
        let slot = self.free.pop().unwrap_or_else(|| self.new_slot());
        self.active.push(Reverse((end, slot)));
        slot
    }
}

/// By number: the slot of each register that occurs. Linear scan (Poletto and Sarkar 1999) without
/// a limit on the slots.
fn assign(numbering: &Numbering, lifetimes: Lifetimes, fixed: &[bool]) -> (Vec<u32>, [Pool; 3]) {
    let Lifetimes {
        starts,
        ends,
        mut order,
    } = lifetimes;
    let mut slots = vec![0; numbering.total()];
    let mut pools = <[Pool; 3]>::default();
    let file = |number: usize| match numbering.register(number) {
        Register::Reg32(_) => 0,
        Register::Reg64(_) => 1,
        Register::Predicate(_) => 2,
    };
    for number in (0..slots.len()).filter(|&number| fixed[number]) {
        slots[number] = pools[file(number)].new_slot();
    }
    order.retain(|&number| !fixed[number as usize]);
    order.sort_by_key(|&number| (starts[number as usize], ends[number as usize]));
    for number in order.into_iter().map(|number| number as usize) {
        slots[number] = pools[file(number)].slot(starts[number], ends[number]);
    }
    (slots, pools)
}

fn rename(
    function: &mut Function,
    drafts: &mut [BlockDraft],
    program: &mut Program,
    map: impl Fn(Register) -> Register,
) {
    let reg = |reg: Reg32| match map(Register::Reg32(reg)) {
        Register::Reg32(slot) => slot,
        _ => reg,
    };
    for (constant, _) in &mut function.constants32 {
        *constant = reg(*constant);
    }
    for (constant, _) in &mut function.constants64 {
        if let Register::Reg64(slot) = map(Register::Reg64(*constant)) {
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
        *slot = reg(*slot);
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
