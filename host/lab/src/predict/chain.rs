//! Interval analysis of the instructions that warps execute (source 002): how long a warp takes
//! alone.
//!
//! Instructions wait for the registers that they read, as
//! [`schedule`](warpladder_models::interval::schedule()) has it. Which registers those are is in
//! the PTX; which instructions follow each other, and which loads find their sectors in the L1
//! cache, is seen on the emulator. Loads and stores of global memory pass through the L1 cache in
//! turn, each in as many cycles as it takes passes. A warp finds what it has loaded itself before;
//! what other warps of its block load at the same time has not arrived yet.
//!
//! PTX is not the order of machine code: the assembler moves loads ahead of what waits for them,
//! but not across branches. So an instruction issues as soon as its operands are there and no other
//! one is issuing, from the start of its basic block on; the next block starts when all of them
//! have issued. A short block that a branch leaves out is no block of its own: its instructions get
//! predicates. A loop whose body is one basic block without stores is unrolled by four, as `ptxas`
//! does: its rounds issue together, four at a time.
//!
//! The first warp of a block stands for all of it.

use ptx_emulator::{
    AccessKind, Event, Instruction, InstructionClass, InstructionId, Interest, Kernel,
    LaunchContext, MemoryAccess, Observer, Space, WarpContext,
};
use rustc_hash::FxHashSet;
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use super::constants::far_share;
use super::operands::{destinations, registers};
use super::traffic::{Passes, SECTOR_BYTES};

/// Cycles of a device: from an instruction to the next one that needs its result, and from one
/// issue to the next.
#[derive(Clone, Copy, Debug)]
pub struct Cycles {
    /// f32 arithmetic, and everything else that is not named.
    pub arithmetic: f64,
    /// f64 arithmetic.
    pub fp64: f64,
    /// A load from shared memory, and from the constant cache.
    pub shared: f64,
    /// A load that hits the L1 cache.
    pub l1: f64,
    /// A load that misses it, at best and at worst.
    pub miss: [f64; 2],
    /// From the issue of a load or store to the next instruction of the warp.
    pub load_store_issue: f64,
    /// What arithmetic issues for longer with an operand from the constant bank, where not all of
    /// them fit into the uniform registers.
    pub constant_operand_issue: f64,
}

impl Cycles {
    /// Their bits, which are the same where all counts are.
    pub fn to_bits(self) -> [u64; 8] {
        let Cycles {
            arithmetic,
            fp64,
            shared,
            l1,
            miss: [best, worst],
            load_store_issue,
            constant_operand_issue,
        } = self;
        [
            arithmetic,
            fp64,
            shared,
            l1,
            best,
            worst,
            load_store_issue,
            constant_operand_issue,
        ]
        .map(f64::to_bits)
    }
}

/// Registers of a warp for what all its lanes share (CUDA Binary Utilities, "Instruction Set
/// Reference": UR0 to UR62).
const UNIFORM_REGISTERS: usize = 63;

/// Sums up how many cycles the warps of all blocks take alone, where loads that miss the L1 cache
/// take the one time and the other.
#[derive(Clone, Debug)]
pub struct Chain {
    cycles: Cycles,
    /// Of all warps that have ended, together.
    pub total: [f64; 2],
    /// Operands of their arithmetic that are parameters at fixed addresses, and so come from the
    /// constant bank.
    operands: f64,
    /// The registers that name these parameters in PTX.
    parameters: FxHashSet<u32>,
    warps_per_block: u32,
    program: Arc<Vec<Static>>,
    blocks: Arc<Vec<Block>>,
    warp: Warp,
}

/// What is known of an instruction beforehand.
#[derive(Clone, Debug, Default)]
struct Static {
    reads: Vec<u32>,
    writes: Vec<u32>,
    latency: f64,
    issue: f64,
    /// Of arithmetic: the register of an operand that is a parameter at a fixed address.
    parameter: Option<u32>,
}

/// What is known of a basic block beforehand.
#[derive(Clone, Copy, Debug)]
struct Block {
    /// Whether it stores or waits: such loops are not unrolled.
    stores: bool,
    /// Whether the assembler gives its instructions predicates instead of branching around it.
    predicated: bool,
}

/// Rounds of a loop that the assembler unrolls.
const UNROLLED: u32 = 4;

/// Most instructions of a block that the assembler gives predicates instead of branching around it.
const MAX_PREDICATED: usize = 8;

/// The first warp of a block, as far as it has run.
#[derive(Clone, Debug, Default)]
struct Warp {
    /// Its basic block, and how often that has followed itself.
    block: (usize, u32),
    /// When its basic block could begin.
    start: [f64; 2],
    /// When the basic block after it can.
    end: [f64; 2],
    /// When this one has issued.
    issues: [Issues; 2],
    /// When the instruction at hand issued.
    issued: [f64; 2],
    /// When each register can be read.
    ready: Vec<[f64; 2]>,
    /// When the L1 cache has taken all that it has asked for.
    taken: [f64; 2],
    /// Sectors that it has loaded.
    loaded: FxHashSet<u64>,
}

/// When a warp has issued since its basic block began: spans of cycles, in order.
#[derive(Clone, Debug, Default)]
struct Issues(Vec<Range<f64>>);

impl Issues {
    fn clear(&mut self) {
        self.0.clear();
    }

    /// Issues for `cycles` cycles as soon as it can, `ready` or later, and says when that begins.
    fn take(&mut self, ready: f64, cycles: f64) -> f64 {
        if cycles == 0.0 {
            return ready;
        }
        let mut begin = ready;
        let mut at = self.0.partition_point(|span| span.end < ready);
        while let Some(span) = self.0.get(at)
            && span.start < begin + cycles
        {
            begin = begin.max(span.end);
            at += 1;
        }
        match self.0[..at].last_mut() {
            Some(before) if before.end == begin => before.end = begin + cycles,
            _ => self.0.insert(at, begin..begin + cycles),
        }
        begin
    }
}

impl Chain {
    /// Nothing yet, on a device with these cycles.
    pub fn new(cycles: Cycles) -> Self {
        Chain {
            cycles,
            total: [0.0; 2],
            operands: 0.0,
            parameters: FxHashSet::default(),
            warps_per_block: 0,
            program: Arc::default(),
            blocks: Arc::default(),
            warp: Warp::default(),
        }
    }
}

impl Block {
    /// Those of a kernel, in order.
    fn all(kernel: &Kernel) -> Vec<Block> {
        use InstructionClass::{Barrier, Control, Store};
        let mut after_branch = false;
        let blocks = kernel.basic_blocks().iter().map(|block| {
            let classes = block
                .instructions()
                .map(|id| kernel.instruction(id).class());
            let classes: Vec<InstructionClass> = classes.collect();
            let stores = classes.iter().any(|class| matches!(class, Store | Barrier));
            let is_short = classes.len() <= MAX_PREDICATED && !classes.contains(&Control);
            let predicated = after_branch && is_short && !stores;
            let last = block.instructions().last();
            let last = last.map_or("", |id| kernel.instruction(id).text());
            after_branch = last.starts_with('@');
            Block { stores, predicated }
        });
        blocks.collect()
    }
}

impl Chain {
    /// Whether a block and one that follows it, at once or around a third, are one for the
    /// assembler.
    fn are_one(&self, before: usize, block: usize) -> bool {
        let between = self.blocks.get(before..=block).unwrap_or_default();
        match *between {
            [first, second] => first.predicated || second.predicated,
            [_, around, _] => around.predicated,
            _ => false,
        }
    }

    /// Instructions that fetch operands from the constant bank, near or far: none where uniform
    /// registers keep them all.
    pub fn operand_instructions(&self) -> f64 {
        self.operands * self.cycles.operand_issue(self.parameters.len())
    }

    /// Operands that the constant bank has to fetch from afar: it holds some bytes next to the
    /// units, and of parameters of more bytes than that the share that exceeds them comes from
    /// farther away.
    pub fn fetched_operands(&self) -> f64 {
        let bytes = self.parameters.len() * size_of::<f32>();
        self.operands * far_share(bytes as f64)
    }
}

impl Chain {
    fn launch_start(&mut self, launch: &LaunchContext<'_>) {
        let mut names = HashMap::new();
        let kernel = launch.kernel;
        let mut program = vec![Static::default(); kernel.instruction_count()];
        let blocks = kernel.basic_blocks().iter();
        for id in blocks.flat_map(|block| block.instructions()) {
            program[id.index()] = self.cycles.of(kernel.instruction(id), &mut names);
        }
        find_parameters(kernel, &mut program, &self.cycles);
        self.program = Arc::new(program);
        self.blocks = Arc::new(Block::all(kernel));
        self.warp.ready = vec![[0.0; 2]; names.len()];
        self.warps_per_block = launch.block.iter().product::<u32>().div_ceil(32);
    }

    fn block_start(&mut self) {
        let warp = &mut self.warp;
        warp.ready.fill([0.0; 2]);
        warp.loaded.clear();
        warp.block = (usize::MAX, 0);
        (warp.start, warp.end, warp.taken) = ([0.0; 2], [0.0; 2], [0.0; 2]);
        warp.issues.iter_mut().for_each(Issues::clear);
    }

    fn block_end(&mut self) {
        for (total, end) in self.total.iter_mut().zip(self.warp.end) {
            *total += end * f64::from(self.warps_per_block);
        }
    }

    fn basic_block(&mut self, context: &WarpContext<'_>, block: usize) {
        if context.warp != 0 {
            return;
        }
        let (before, rounds) = self.warp.block;
        let rounds = if before == block && !self.blocks[block].stores {
            rounds + 1
        } else {
            0
        };
        let goes_on = self.are_one(before, block);
        let warp = &mut self.warp;
        warp.block = (block, rounds);
        if !goes_on && rounds.is_multiple_of(UNROLLED) {
            warp.start = warp.end;
            warp.issues.iter_mut().for_each(Issues::clear);
        }
    }

    fn instruction(&mut self, context: &WarpContext<'_>, id: InstructionId, executing: u32) {
        if context.warp != 0 {
            return;
        }
        let instruction = &self.program[id.index()];
        let warp = &mut self.warp;
        if let Some(parameter) = instruction.parameter.filter(|_| executing != 0) {
            self.operands += f64::from(self.warps_per_block);
            self.parameters.insert(parameter);
        }
        for scenario in 0..2 {
            let operands = instruction.reads.iter();
            let operands = operands.map(|&register| warp.ready[register as usize][scenario]);
            let ready = operands.fold(warp.start[scenario], f64::max);
            let issued = warp.issues[scenario].take(ready, instruction.issue);
            warp.issued[scenario] = issued;
            warp.end[scenario] = warp.end[scenario].max(issued + instruction.issue);
            for &register in &instruction.writes {
                warp.ready[register as usize][scenario] = issued + instruction.latency;
            }
        }
    }

    fn memory_access(&mut self, context: &WarpContext<'_>, access: &MemoryAccess<'_>) {
        if context.warp != 0 || access.space != Space::Global {
            return;
        }
        let Static {
            writes,
            issue,
            latency,
            ..
        } = &self.program[access.instruction.index()];
        let loads = access.kind == AccessKind::Load;
        // What an asynchronous copy loads goes into no register, and nothing waits for its turn.
        if loads && writes.is_empty() {
            return;
        }
        let warp = &mut self.warp;
        let mut misses = false;
        for lane in (0..32).filter(|lane| access.mask >> lane & 1 == 1) {
            let start = access.addresses[lane];
            let end = start + u64::from(access.bytes.max(1)) - 1;
            for sector in start / SECTOR_BYTES..=end / SECTOR_BYTES {
                misses |= loads && warp.loaded.insert(sector);
            }
        }
        let passes = Passes::of(access).data as f64;
        for scenario in 0..2 {
            let begins = warp.issued[scenario].max(warp.taken[scenario]);
            let taken = begins + passes.max(*issue);
            warp.taken[scenario] = taken;
            warp.end[scenario] = warp.end[scenario].max(begins + issue);
            let latency = if misses {
                self.cycles.miss[scenario]
            } else {
                *latency
            };
            for &register in writes {
                warp.ready[register as usize][scenario] = taken - issue + latency;
            }
        }
    }
}

impl Observer for Chain {
    const INTEREST: Interest = Interest::LAUNCH
        .with(Interest::BLOCK)
        .with(Interest::BASIC_BLOCK)
        .with(Interest::INSTRUCTION)
        .with(Interest::ACCESS);

    fn fork(&self) -> Self {
        Chain {
            total: [0.0; 2],
            operands: 0.0,
            parameters: FxHashSet::default(),
            ..self.clone()
        }
    }

    fn join(&mut self, worker: Self) {
        for (total, more) in self.total.iter_mut().zip(worker.total) {
            *total += more;
        }
        self.operands += worker.operands;
        self.parameters.extend(worker.parameters);
    }

    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::LaunchStart(launch) => self.launch_start(launch),
            Event::BlockStart { .. } => self.block_start(),
            Event::BlockEnd { .. } => self.block_end(),
            Event::BasicBlock { warp, block, .. } => self.basic_block(warp, block),
            Event::Instruction {
                warp,
                id,
                executing,
            } => self.instruction(warp, id, executing),
            Event::Access { warp, accesses } => {
                accesses.for_each(|access| self.memory_access(warp, access));
            }
            _ => {}
        }
    }
}

impl Cycles {
    /// What arithmetic issues for longer with an operand that is a parameter, of `parameters` in
    /// all.
    fn operand_issue(&self, parameters: usize) -> f64 {
        if parameters > UNIFORM_REGISTERS {
            self.constant_operand_issue
        } else {
            0.0
        }
    }

    /// What is known of an instruction; `names` numbers the registers.
    fn of(&self, instruction: Instruction<'_>, names: &mut HashMap<String, u32>) -> Static {
        use InstructionClass::{Float64, Fma64, Load, Store};
        let class = instruction.class();
        let opcode = instruction.opcode();
        let [reads, writes] = reads_and_writes(instruction).map(|registers| {
            let number = |name: &str| {
                let next = names.len() as u32;
                *names.entry(name.to_owned()).or_insert(next)
            };
            registers.into_iter().map(number).collect()
        });
        let global = opcode.starts_with("ld.global") || opcode.starts_with("ld.b");
        let (latency, issue) = match class {
            Load if opcode.starts_with("ld.param") => (0.0, 0.0),
            Load if global => (self.l1, self.load_store_issue),
            Load => (self.shared, self.load_store_issue),
            Store => (0.0, self.load_store_issue),
            Float64 | Fma64 => (self.fp64, 1.0),
            // Most moves are renaming.
            InstructionClass::Move => (0.0, 0.0),
            _ => (self.arithmetic, 1.0),
        };
        Static {
            reads,
            writes,
            latency,
            issue,
            parameter: None,
        }
    }
}

/// Finds the arithmetic that takes operands from parameters at fixed addresses, which is how the
/// assembler uses what PTX loads from there.
fn find_parameters(kernel: &Kernel, program: &mut [Static], cycles: &Cycles) {
    let blocks = kernel.basic_blocks().iter();
    let ids: Vec<InstructionId> = blocks.flat_map(|block| block.instructions()).collect();
    let is_parameter = |id: &&InstructionId| {
        let instruction = kernel.instruction(**id);
        // A fixed address reads no register.
        instruction.opcode().starts_with("ld.param") && program[id.index()].reads.is_empty()
    };
    let parameters: HashSet<u32> = ids
        .iter()
        .filter(is_parameter)
        .flat_map(|id| program[id.index()].writes.iter().copied())
        .collect();
    let issue = cycles.operand_issue(parameters.len());
    for id in ids {
        let class = kernel.instruction(id).class();
        if matches!(class, InstructionClass::Fma32 | InstructionClass::Float32) {
            let reads = &program[id.index()].reads;
            let operand = reads.iter().find(|register| parameters.contains(register));
            let operand = operand.copied();
            let arithmetic = &mut program[id.index()];
            arithmetic.parameter = operand;
            arithmetic.issue += operand.map_or(0.0, |_| issue);
        }
    }
}

/// The registers that an instruction reads, and those that it writes.
///
/// A predicate in front is read. The first operand is written, and a vector or a pair of predicates
/// with it, but by those that have no result.
pub(super) fn reads_and_writes(instruction: Instruction<'_>) -> [Vec<&str>; 2] {
    use InstructionClass::{Barrier, Control, Store};
    let text = instruction.text();
    let guards = usize::from(text.starts_with('@'));
    let written = match instruction.class() {
        Store | Control | Barrier => 0,
        _ => destinations(text),
    };
    let mut registers = registers(text);
    let mut reads: Vec<&str> = registers.by_ref().take(guards).collect();
    let writes = registers.by_ref().take(written).collect();
    reads.extend(registers);
    [reads, writes]
}

#[cfg(test)]
mod tests {
    use super::*;
    use ptx_emulator::Module;

    #[test]
    fn a_warp_issues_one_instruction_at_a_time() {
        let mut issues = Issues::default();
        let taken = [
            (10.0, 4.0), // a gap before it
            (0.0, 8.0),
            (0.0, 2.0), // the rest of the gap
            (0.0, 1.0), // behind all
            (20.0, 1.0),
            (5.0, 1.0),
            (12.0, 0.0),
        ];
        let begun = taken.map(|(ready, cycles)| issues.take(ready, cycles));
        assert_eq!(begun, [10.0, 0.0, 8.0, 14.0, 20.0, 15.0, 12.0]);
    }

    #[test]
    fn short_blocks_are_predicated() {
        let predicated = |entry| {
            let module = Module::parse(
                &warpladder::ptx::module(warpladder::device::ComputeCapability::V7_0).only(entry),
            )
            .unwrap();
            let kernel = module.kernel(entry).unwrap();
            let blocks = Block::all(&kernel).into_iter();
            blocks.filter(|block| block.predicated).count()
        };
        // Each column but the first one is left out where the vector is shorter; the last one's
        // block ends with a jump.
        assert_eq!(predicated("matvec_thread_per_element_any"), 30);
    }
}
