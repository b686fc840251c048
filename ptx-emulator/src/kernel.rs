//! Kernels, and what is known of them before they run.

mod module;

pub use module::Module;
pub(crate) use module::ModuleInner;

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};

use crate::decode;
use crate::ir::{Info, InstructionClass, InstructionId, Op, Program, SourceLocation};
use ptx_syntax::ast::NO_LOCATION;
use ptx_syntax::position;

/// A parameter of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Param {
    /// Its name in the PTX text.
    pub name: String,
    /// Size in bytes.
    pub bytes: u32,
    /// Alignment in bytes.
    pub align: u32,
    /// Offset in the parameter block, in bytes.
    pub offset: u32,
}

#[derive(Debug)]
pub(crate) struct KernelInner {
    pub module: Arc<ModuleInner>,
    pub function: usize,
    pub program: Program,
    name: String,
    params: Vec<Param>,
    pub param_bytes: u32,
    /// Found at first use.
    basic_blocks: OnceLock<Vec<BasicBlock>>,
    /// Whether its last launch took long enough for several threads.
    pub is_long: AtomicBool,
}

impl KernelInner {
    fn new(module: Arc<ModuleInner>, function: usize, program: Program) -> Self {
        let declared = &module.tree.functions[function].params;
        let (offsets, param_bytes) = decode::parameter_offsets(declared);
        let params = declared
            .iter()
            .zip(offsets)
            .map(|(variable, offset)| Param {
                name: variable.name.of(&module.text).to_string(),
                bytes: variable.bytes as u32,
                align: variable.align,
                offset,
            })
            .collect();
        KernelInner {
            function,
            name: module.tree.functions[function]
                .name
                .of(&module.text)
                .to_string(),
            params,
            param_bytes,
            basic_blocks: OnceLock::new(),
            is_long: AtomicBool::new(false),
            program,
            module,
        }
    }
}

/// A decoded kernel, ready to run. Clones share it; it may be launched from several threads.
#[derive(Clone, Debug)]
pub struct Kernel(pub(crate) Arc<KernelInner>);

/// A straight run of instructions, entered at its first and left after its last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BasicBlock {
    instructions: Vec<InstructionId>,
}

impl BasicBlock {
    /// The block's instructions in order; a branch that the decoder added is not among them.
    pub fn instructions(&self) -> impl Iterator<Item = InstructionId> + '_ {
        self.instructions.iter().copied()
    }
}

/// One PTX instruction of a kernel.
#[derive(Clone, Copy, Debug)]
pub struct Instruction<'a> {
    kernel: &'a KernelInner,
    info: &'a Info,
}

impl<'a> Instruction<'a> {
    /// The instruction as the PTX text has it, without its semicolon.
    pub fn text(&self) -> &'a str {
        self.info.span.of(&self.kernel.module.text)
    }

    /// The dotted opcode, for example `ld.global.nc.b32`.
    pub fn opcode(&self) -> &'a str {
        self.info.opcode.of(&self.kernel.module.text)
    }

    /// The class that counters sort it into.
    pub fn class(&self) -> InstructionClass {
        self.info.class
    }

    /// Line of the PTX text, from 1.
    pub fn line(&self) -> u32 {
        let starts = self.kernel.module.line_starts();
        1 + starts.partition_point(|&start| start <= self.info.span.start) as u32
    }

    /// Column of the PTX text in characters, from 1.
    pub fn column(&self) -> u32 {
        position(&self.kernel.module.text, self.info.span.start as usize).1
    }

    /// The line in the kernel's source, from `.loc`.
    pub fn location(&self) -> Option<SourceLocation> {
        location(self.kernel, self.info.location, 0)
    }
}

/// Chains of inlined calls longer than this are cut.
const MAX_INLINING: u32 = 64;

fn location(kernel: &KernelInner, index: u32, depth: u32) -> Option<SourceLocation> {
    if index == NO_LOCATION || depth > MAX_INLINING {
        return None;
    }
    let (module, lines) = (&kernel.module, &kernel.program.lines);
    let entry = lines.locations.get(index as usize)?;
    let mut files = lines.files.iter().chain(&module.tree.files);
    let file = files.find(|(number, _)| *number == entry.file);
    let function = entry.function.and_then(|label| {
        let label = label.of(&module.text);
        let strings = &module.tree.debug_strings;
        let found = strings
            .iter()
            .find(|(name, _)| name.of(&module.text) == label);
        found.map(|(_, text)| text.clone())
    });
    let inlined_at = entry
        .inlined_at
        .and_then(|call| location(kernel, call, depth + 1));
    Some(SourceLocation {
        file: file
            .map_or("?", |(_, name)| name.of(&module.text))
            .to_string(),
        line: entry.line,
        column: entry.column,
        function,
        inlined_at: inlined_at.map(Box::new),
    })
}

impl Kernel {
    /// The kernel's name.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// The PTX text of the kernel's module.
    pub fn text(&self) -> &str {
        &self.0.module.text
    }

    /// The parameters in order.
    pub fn params(&self) -> &[Param] {
        &self.0.params
    }

    /// Bytes of shared memory that the kernel declares.
    pub fn static_shared_bytes(&self) -> u32 {
        self.0.program.own_shared
    }

    /// Bytes of local memory that a thread of the kernel has, without those of functions that it
    /// calls.
    pub fn local_bytes(&self) -> u32 {
        let functions = self.0.program.functions.first();
        functions.map_or(0, |kernel| kernel.local_bytes)
    }

    /// Registers of 32 bits that a thread of the kernel has in the emulator: as many as hold what
    /// is live at once. NVIDIA's assembler may need more or fewer.
    pub fn registers(&self) -> u32 {
        let functions = self.0.program.functions.first();
        functions.map_or(0, |kernel| kernel.regs32 + 2 * kernel.regs64)
    }

    /// Bytes in whose multiples GPUs of the kernel's target allocate shared memory (PTX ISA,
    /// `%total_smem_size`).
    pub(crate) fn shared_unit(&self) -> u32 {
        let target = self.0.module.tree.target.as_str();
        let digits = target
            .trim_start_matches("sm_")
            .trim_end_matches(|c: char| !c.is_ascii_digit());
        match digits.parse() {
            Ok(30..80) => 256,
            _ => 128,
        }
    }

    /// Bytes of shared memory that the system reserves for the kernel.
    pub(crate) fn reserved_shared_bytes(&self) -> u32 {
        match self.0.program.reserved_shared {
            Some(_) => crate::RESERVED_SHARED_BYTES.into(),
            None => 0,
        }
    }

    /// `.maxntid`, else `.reqntid`: the extents of the largest block.
    pub fn max_threads(&self) -> Option<[u32; 3]> {
        let function = &self.0.module.tree.functions[self.0.function];
        function.max_threads.or(function.required_threads)
    }

    /// `.reqntid`: the extents that every block must have.
    pub fn required_threads(&self) -> Option<[u32; 3]> {
        self.0.module.tree.functions[self.0.function].required_threads
    }

    /// `.reqnctapercluster`: the blocks that every cluster must have. A launch that names no
    /// cluster has clusters of these.
    pub fn required_cluster(&self) -> Option<[u32; 3]> {
        self.0.module.tree.functions[self.0.function].required_cluster
    }

    /// PTX instructions of the kernel and of the functions that it calls.
    pub fn instruction_count(&self) -> usize {
        self.0.program.info.len()
    }

    /// One instruction.
    ///
    /// # Panics
    /// Where the id is another kernel's and larger than any of this one.
    pub fn instruction(&self, id: InstructionId) -> Instruction<'_> {
        Instruction {
            kernel: &self.0,
            info: &self.0.program.info[id.index()],
        }
    }

    /// The basic blocks of the kernel and of the functions that it calls.
    pub fn basic_blocks(&self) -> &[BasicBlock] {
        let program = &self.0.program;
        self.0.basic_blocks.get_or_init(|| {
            let blocks = program.blocks.iter().map(|block| {
                let code = &program.code[block.start as usize..block.end as usize];
                let of_code = code.iter().filter(|inst| inst.first).map(|inst| inst.info);
                let mut instructions = Vec::with_capacity(block.instructions as usize);
                instructions.extend(of_code.chain(block.terminator_info).map(InstructionId));
                BasicBlock { instructions }
            });
            blocks.collect()
        })
    }

    /// The labels of the text, each with the instruction behind it; none unless the kernel is
    /// decoded for stepping.
    pub fn labels(&self) -> impl Iterator<Item = (&str, InstructionId)> {
        let symbols = self.0.program.symbols.iter();
        let labels = symbols.flat_map(|symbols| &symbols.labels);
        let count = self.instruction_count();
        labels
            .filter(move |label| (label.info as usize) < count)
            .map(|label| (label.name.as_str(), InstructionId(label.info)))
    }

    /// The functions of the kernel, itself first, each with its instructions in the order of the
    /// text; none unless the kernel is decoded for stepping.
    pub fn functions(
        &self,
    ) -> impl Iterator<Item = (&str, impl DoubleEndedIterator<Item = InstructionId>)> {
        let symbols = self.0.program.symbols.iter();
        let functions = symbols.flat_map(|symbols| &symbols.functions);
        functions.map(|function| {
            let ids = function.infos.clone().map(InstructionId);
            (function.name.as_str(), ids)
        })
    }

    /// The shared variables of the kernel with a size of their own: name, address in shared memory
    /// and bytes.
    pub fn shared_variables(&self) -> impl Iterator<Item = (&str, u32, u32)> {
        let variables = self.0.program.shared.iter();
        variables.map(|variable| (variable.name.as_str(), variable.offset, variable.bytes))
    }

    /// The number of an instruction, from its index.
    pub fn instruction_id(&self, index: usize) -> Option<InstructionId> {
        (index < self.instruction_count()).then_some(InstructionId(index as u32))
    }

    /// Of each instruction, the bytes of a lane's load whose value the kernel uses, one bit each;
    /// all bits for other instructions.
    pub(crate) fn used_bytes(&self) -> Vec<u32> {
        let program = &self.0.program;
        let mut used = vec![u32::MAX; self.instruction_count()];
        for inst in &program.code {
            if let Op::Load(index) = inst.op {
                used[inst.info as usize] = program.loads[index as usize].used;
            }
        }
        used
    }

    /// The basic blocks that may follow one of the same function; a call is followed by the block
    /// after it.
    pub(crate) fn successors(&self, block: usize) -> impl Iterator<Item = usize> {
        let terminator = &self.0.program.blocks[block].terminator;
        let next = decode::successors(terminator);
        next.map(|block| block as usize)
    }
}
