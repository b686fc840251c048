//! Accesses past one shared variable into the next: within the block's shared memory, so that they
//! are no fault, but not within the variable that the address was made from.
//!
//! Which variable an address was made from follows from the text of the PTX: addresses of variables
//! are moved, converted and added to. Where a register may hold addresses of several variables, or
//! one that was loaded or passed to a function, its accesses are not checked.

use std::collections::HashMap;

use super::finding::Problem;
use super::launch_geometry::LaunchGeometry;
use super::shape::lanes;
use super::tally::{Actor, Example, Tally};
use crate::error::Fault;
use crate::ir::{InstructionId, Space};
use crate::kernel::Kernel;
use crate::observer::{Accesses, Form, MemoryAccess, WarpContext};

/// What is known of a register's value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Value {
    /// Nothing was assigned to it so far.
    #[default]
    Unknown,
    /// It is no address, as far as that can be seen.
    Number,
    /// An address made from that of a variable, by its index.
    Of(usize),
    /// An address of which the variable is not known.
    Several,
}

impl Value {
    /// Of a register to which both are assigned.
    fn meet(self, other: Value) -> Value {
        match (self, other) {
            (Value::Unknown, value) | (value, Value::Unknown) => value,
            (a, b) if a == b => a,
            _ => Value::Several,
        }
    }

    /// Of a sum.
    fn plus(self, other: Value) -> Value {
        match (self, other) {
            (Value::Unknown, value) | (value, Value::Unknown) => value,
            (Value::Number, value) | (value, Value::Number) => value,
            _ => Value::Several,
        }
    }

    /// Of a difference.
    fn minus(self, other: Value) -> Value {
        match (self, other) {
            (value, Value::Number | Value::Unknown) => value,
            (a, b) if a == b && a != Value::Several => Value::Number,
            _ => Value::Several,
        }
    }
}

/// The bytes that an instruction may access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Limit {
    variable: usize,
    first: u64,
    end: u64,
}

/// Finds accesses past the variable that their addresses were made from.
#[derive(Clone, Debug, Default)]
pub(super) struct SharedVariables {
    geometry: LaunchGeometry,
    /// By instruction; empty where no instruction has one.
    limits: Vec<Option<Limit>>,
    tally: Tally,
}

impl SharedVariables {
    /// For a launch.
    pub(super) fn new(geometry: LaunchGeometry) -> Self {
        let mut limits = geometry.kernel.as_ref().map(limits).unwrap_or_default();
        if limits.iter().all(Option::is_none) {
            limits.clear();
        }
        SharedVariables {
            geometry,
            limits,
            tally: Tally::default(),
        }
    }

    /// Whether it has to see accesses.
    #[inline(always)]
    pub(super) fn is_active(&self) -> bool {
        !self.limits.is_empty()
    }

    pub(super) fn fork(&self) -> Self {
        SharedVariables {
            geometry: self.geometry.clone(),
            limits: self.limits.clone(),
            tally: Tally::default(),
        }
    }

    pub(super) fn join(&mut self, worker: Self) {
        self.tally.merge(worker.tally);
    }

    /// What was found; after a fault, in the block that faulted and in those before it.
    pub(super) fn findings(&self) -> Vec<super::Finding> {
        self.tally.findings(&self.geometry)
    }

    pub(super) fn keep_before_fault(&mut self, fault: &Fault) {
        self.tally.keep_before_fault(&self.geometry, fault);
    }

    /// Different problems so far.
    pub(super) fn noted(&self) -> usize {
        self.tally.len()
    }

    #[inline(always)]
    pub(super) fn access(&mut self, warp: &WarpContext<'_>, accesses: Accesses<'_>) {
        let limit_of = |id: InstructionId| self.limits.get(id.index()).copied().flatten();
        let is_inside = match accesses.0 {
            Form::Full(access) => {
                let Some(limit) = limit_of(access.instruction) else {
                    return;
                };
                access.space != Space::Shared || outside(access, limit) == 0
            }
            Form::Repeated(access) => {
                let Some(limit) = limit_of(access.instruction) else {
                    return;
                };
                let (low, high) = extent(access.distances);
                access.space != Space::Shared
                    || limit.holds(access.first_address, (low, high), access.bytes)
            }
            Form::Loads(loads) if loads.space == Space::Shared => {
                let extent = extent(loads.distances);
                loads.each().all(|load| {
                    limit_of(load.instruction)
                        .is_none_or(|limit| limit.holds(load.first_address, extent, load.bytes))
                })
            }
            Form::Loads(_) => true,
        };
        if !is_inside {
            accesses.for_each(|access| self.find(warp, access));
        }
    }

    #[cold]
    fn find(&mut self, warp: &WarpContext<'_>, access: &MemoryAccess<'_>) {
        let Some(limit) = self
            .limits
            .get(access.instruction.index())
            .copied()
            .flatten()
        else {
            return;
        };
        let mask = outside(access, limit);
        if access.space != Space::Shared || mask == 0 {
            return;
        }
        let lane = mask.trailing_zeros();
        let address = access.addresses[lane as usize % 32];
        // What lies outside of all shared memory is a fault of its own.
        if address.saturating_add(access.bytes.into()) > u64::from(self.geometry.shared_bytes) {
            return;
        }
        let name = self.geometry.kernel.as_ref().map(|kernel| {
            let variable = &kernel.0.program.shared[limit.variable];
            (variable.name.clone(), variable.bytes)
        });
        let (name, bytes) = name.unwrap_or_default();
        let example = Example {
            block: self.geometry.block_index(warp.block),
            space: Space::Shared,
            address: address + u64::from(warp.rank) * self.geometry.shared_stride(),
            bytes: access.bytes,
            detail: format!("the address is made from that of `{name}`, which has {bytes} bytes"),
            first: Actor::first_lane(warp, access.instruction, mask),
            second: None,
        };
        let count = u64::from(mask.count_ones());
        self.tally.add(Problem::OutOfBounds, count, example);
    }
}

impl Limit {
    fn holds(self, base: u64, (low, high): (i64, i64), bytes: u32) -> bool {
        let first = base.wrapping_add_signed(low);
        let last = base.wrapping_add_signed(high);
        first >= self.first && last.saturating_add(bytes.into()) <= self.end && first <= last
    }
}

/// The least and the greatest of the distances between lanes.
fn extent(distances: &[u64; 32]) -> (i64, i64) {
    let signed = distances.map(|distance| distance as i64);
    let least = signed.iter().fold(i64::MAX, |least, &at| least.min(at));
    let greatest = signed.iter().fold(i64::MIN, |most, &at| most.max(at));
    (least, greatest)
}

/// The lanes that access something outside. The word that a byte of the variable lies in is not:
/// atomics of 8 and 16 bits are made of those of the word (libcu++).
fn outside(access: &MemoryAccess<'_>, limit: Limit) -> u32 {
    let bytes = u64::from(access.bytes);
    let (first, end) = match bytes {
        4 => (limit.first & !3, limit.end.next_multiple_of(4)),
        _ => (limit.first, limit.end),
    };
    let is_out = |lane: &usize| {
        let address = access.addresses[*lane];
        address < first || address.saturating_add(bytes) > end
    };
    lanes(access.mask)
        .filter(is_out)
        .fold(0, |mask, lane| mask | 1 << lane)
}

/// An instruction's text in parts.
struct Parsed<'a> {
    opcode: &'a str,
    destination: &'a str,
    sources: Vec<&'a str>,
}

fn parse(text: &str) -> Option<Parsed<'_>> {
    let mut text = text.trim();
    if text.starts_with('@') {
        text = text.split_once(char::is_whitespace)?.1.trim_start();
    }
    let (opcode, rest) = text.split_once(char::is_whitespace)?;
    let mut operands = Vec::new();
    let (mut depth, mut from) = (0, 0);
    for (at, character) in rest.char_indices() {
        match character {
            '{' | '[' | '(' => depth += 1,
            '}' | ']' | ')' => depth -= 1,
            ',' if depth == 0 => {
                operands.push(rest[from..at].trim());
                from = at + 1;
            }
            _ => {}
        }
    }
    operands.push(rest[from..].trim());
    let destination = operands.remove(0);
    Some(Parsed {
        opcode,
        destination,
        sources: operands,
    })
}

/// The base of a memory operand: the first one in brackets.
fn base_of(text: &str) -> Option<&str> {
    let inside = text.split_once('[')?.1.split_once(']')?.0;
    let end = inside.find(['+', '-', ',']).unwrap_or(inside.len());
    Some(inside[..end].trim())
}

/// What a function's registers hold.
struct Function<'k> {
    variables: &'k HashMap<&'k str, Option<usize>>,
    registers: HashMap<&'k str, Value>,
    /// What the instruction before has assigned, in the same basic block. Names of registers in
    /// braces stand for another register each time; such a register is used at once.
    last: Option<(&'k str, Value)>,
    is_kernel: bool,
}

impl<'k> Function<'k> {
    fn value(&self, operand: &str) -> Value {
        if let Some(variable) = self.variables.get(operand) {
            return variable.map_or(Value::Several, Value::Of);
        }
        if let Some((_, value)) = self.last.filter(|(name, _)| *name == operand) {
            return value;
        }
        match operand.starts_with('%') {
            true => self.registers.get(operand).copied().unwrap_or_default(),
            false => Value::Number,
        }
    }

    /// What an instruction assigns to its destination.
    fn assigned(&self, parsed: &Parsed<'_>) -> Value {
        let mut parts = parsed.opcode.split('.');
        let base = parts.next().unwrap_or_default();
        let source = |at: usize| {
            parsed
                .sources
                .get(at)
                .map_or(Value::Number, |s| self.value(s))
        };
        match base {
            "mov" | "cvta" | "cvt" => source(0),
            "add" | "or" => source(0).plus(source(1)),
            "sub" => source(0).minus(source(1)),
            "mad" => source(2),
            "selp" => source(0).meet(source(1)),
            "ld" => {
                let is_wide = parsed.opcode.ends_with("64");
                let is_argument = self.is_kernel && parts.any(|part| part == "param");
                match is_wide && !is_argument {
                    true => Value::Several,
                    false => Value::Number,
                }
            }
            // Of generic or of cluster addresses, and what is exchanged between lanes.
            "mapa" | "shfl" | "atom" => Value::Several,
            _ => Value::Number,
        }
    }

    /// Follows an instruction; whether something became known.
    fn follow(&mut self, text: &'k str) -> bool {
        let Some(parsed) = parse(text) else {
            return false;
        };
        let assigned = self.assigned(&parsed);
        let mut changed = false;
        let names = parsed.destination.split(|c: char| "{}|, \t".contains(c));
        let names: Vec<&str> = names.filter(|name| name.starts_with('%')).collect();
        self.last = None;
        for name in &names {
            let assigned = match (names.len(), assigned) {
                (1, assigned) => assigned,
                (_, Value::Number) => Value::Number,
                _ => Value::Several,
            };
            let known = self.registers.entry(name).or_default();
            let met = known.meet(assigned);
            changed |= met != *known;
            *known = met;
            self.last = Some((name, assigned));
        }
        changed
    }
}

/// What each instruction may access, where that is known.
fn limits(kernel: &Kernel) -> Vec<Option<Limit>> {
    let shared = &kernel.0.program.shared;
    let mut variables: HashMap<&str, Option<usize>> = HashMap::new();
    for (index, variable) in shared.iter().enumerate() {
        // A name that stands for two variables says nothing, nor does one of dynamic size.
        let known = (variable.bytes != 0).then_some(index);
        let entry = variables.entry(&variable.name);
        entry.and_modify(|known| *known = None).or_insert(known);
    }
    let mut limits = vec![None; kernel.instruction_count()];
    if variables.is_empty() {
        return limits;
    }
    let mut starts: Vec<usize> = kernel
        .0
        .program
        .functions
        .iter()
        .map(|f| f.entry as usize)
        .collect();
    let kernel_starts = starts.first().copied();
    starts.sort_unstable();
    starts.push(kernel.basic_blocks().len());
    for blocks in starts.windows(2) {
        let is_kernel = kernel_starts == Some(blocks[0]);
        let blocks = &kernel.basic_blocks()[blocks[0]..blocks[1]];
        let mut function = Function {
            variables: &variables,
            registers: HashMap::new(),
            last: None,
            is_kernel,
        };
        // What is assigned only ever gets less definite, three times at most for each register.
        loop {
            let mut changed = false;
            for block in blocks {
                function.last = None;
                for id in block.instructions() {
                    changed |= function.follow(kernel.instruction(id).text());
                }
            }
            if !changed {
                break;
            }
        }
        function.last = None;
        for id in blocks.iter().flat_map(|block| block.instructions()) {
            let instruction = kernel.instruction(id);
            let opcode = instruction.opcode();
            let is_plain = ["ld", "st", "atom", "red", "ldmatrix", "stmatrix"]
                .contains(&opcode.split('.').next().unwrap_or_default());
            let base = base_of(instruction.text()).filter(|_| is_plain);
            if let Some(Value::Of(variable)) = base.map(|base| function.value(base)) {
                let first = u64::from(shared[variable].offset);
                limits[id.index()] = Some(Limit {
                    variable,
                    first,
                    end: first + u64::from(shared[variable].bytes),
                });
            }
        }
    }
    limits
}
