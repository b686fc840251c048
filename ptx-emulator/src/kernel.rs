//! Modules, kernels, arguments and launches: the crate's interface.

use std::cmp::Reverse;
use std::fmt;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use crate::decode;
use crate::error::{KernelError, LaunchError};
use crate::ir::{Info, InstructionClass, Op, Program};
use crate::memory::Memory;
use crate::observer::{NoObserver, ObservedLaunch, Observer};
use crate::parse::ast::{DeclaredSpace, Function, Initializer, NO_LOCATION, Tree};
use crate::parse::{self, Bodies, ParseError, position};

#[derive(Debug)]
pub(crate) struct ModuleInner {
    /// Distinguishes modules in a memory's table of variables.
    pub id: u64,
    pub text: String,
    pub tree: Tree,
    /// Where the lines after the first one start, in bytes; found when it is first asked for.
    line_starts: OnceLock<Vec<u32>>,
}

/// A PTX module. Clones share it.
#[derive(Clone, Debug)]
pub struct Module(Arc<ModuleInner>);

impl Module {
    /// Parses PTX text.
    ///
    /// # Errors
    /// The first place where the text is not well formed. Instructions are looked at when a kernel
    /// is taken out of the module.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        Self::with_bodies(text, Bodies::Check)
    }

    /// Finds what is in PTX text, and leaves the bodies of its functions for later: for large modules
    /// of which few kernels are run. It takes a small part of the time of [`Module::parse`].
    ///
    /// # Errors
    /// The first place outside of the bodies where the text is not well formed, or a body without an
    /// end. [`Module::kernel`] tells where a body is not well formed.
    pub fn index(text: &str) -> Result<Self, ParseError> {
        Self::with_bodies(text, Bodies::Skip)
    }

    fn with_bodies(text: &str, bodies: Bodies) -> Result<Self, ParseError> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let tree = parse::parse(text, bodies).map_err(|error| *error)?;
        Ok(Module(Arc::new(ModuleInner {
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            text: text.to_string(),
            tree,
            line_starts: OnceLock::new(),
        })))
    }

    /// The PTX text.
    pub fn text(&self) -> &str {
        &self.0.text
    }

    /// Names of the kernels, in the order of the text.
    pub fn kernel_names(&self) -> impl Iterator<Item = &str> {
        let kernels = self.0.tree.functions.iter().filter(|f| is_kernel(f));
        kernels.map(|function| function.name.of(&self.0.text))
    }

    /// `.version`: (major, minor).
    pub fn version(&self) -> (u32, u32) {
        self.0.tree.version
    }

    /// `.target`, for example `sm_70`.
    pub fn target(&self) -> &str {
        &self.0.tree.target
    }

    /// Decodes a kernel and the functions that it calls.
    ///
    /// # Errors
    /// [`KernelError`] names an unknown kernel, or the instruction that is not known, or not well
    /// formed, and its line.
    pub fn kernel(&self, name: &str) -> Result<Kernel, KernelError> {
        let inner = &self.0;
        let found = inner
            .tree
            .functions
            .iter()
            .position(|function| is_kernel(function) && function.name.of(&inner.text) == name);
        let Some(index) = found else {
            let known: Vec<&str> = self.kernel_names().collect();
            return Err(KernelError::Unknown {
                name: name.to_string(),
                known: known.join(", "),
            });
        };
        self.decode(index)
    }

    /// Decodes all kernels, in the order of the text, on as many threads as `workers` says, or else as the machine
    /// has processors.
    ///
    /// # Errors
    /// As [`Module::kernel`], of the first kernel that has any.
    pub fn kernels(&self, workers: Option<usize>) -> Result<Vec<Kernel>, KernelError> {
        let functions = self.0.tree.functions.iter().enumerate();
        let kernels: Vec<usize> = functions
            .filter(|(_, function)| is_kernel(function))
            .map(|(index, _)| index)
            .collect();
        let available = || std::thread::available_parallelism().map_or(1, usize::from);
        let workers = workers.unwrap_or_else(available).min(kernels.len());
        let decoded: Vec<OnceLock<_>> = kernels.iter().map(|_| OnceLock::new()).collect();
        // The largest come first, so that no worker begins one when the others have nothing left.
        let mut order: Vec<usize> = (0..kernels.len()).collect();
        order.sort_by_key(|&place| {
            let body = self.0.tree.functions[kernels[place]].body;
            Reverse(body.map(|body| body.end - body.start))
        });
        let next = AtomicUsize::new(0);
        let work = || {
            while let Some(&place) = order.get(next.fetch_add(1, Ordering::Relaxed)) {
                // Each place is one worker's alone.
                _ = decoded[place].set(self.decode(kernels[place]));
            }
        };
        std::thread::scope(|scope| {
            for _ in 1..workers {
                scope.spawn(work);
            }
            work();
        });
        decoded
            .into_iter()
            .filter_map(OnceLock::into_inner)
            .collect()
    }

    fn decode(&self, function: usize) -> Result<Kernel, KernelError> {
        let inner = &self.0;
        let program = decode::decode(&inner.tree, &inner.text, function)?;
        let kernel = KernelInner::new(inner.clone(), function, program);
        Ok(Kernel(Arc::new(kernel)))
    }

    /// The address in `memory` of a `.global` or `.const` variable of the module, and its bytes;
    /// none where the module has no such variable.
    ///
    /// # Errors
    /// [`LaunchError::Variables`] where the module's variables do not fit into the memory.
    pub fn variable(&self, memory: &Memory, name: &str) -> Result<Option<(u64, u64)>, LaunchError> {
        let variables = &self.0.tree.variables;
        let found = variables.iter().position(|variable| {
            variable.name.of(&self.0.text) == name && variable.space != DeclaredSpace::Shared
        });
        let Some(index) = found else { return Ok(None) };
        let table = self.0.variables(memory)?;
        Ok(Some((table[index], variables[index].bytes)))
    }
}

fn is_kernel(function: &Function) -> bool {
    function.entry && function.body.is_some()
}

impl ModuleInner {
    fn line_starts(&self) -> &[u32] {
        self.line_starts.get_or_init(|| {
            let ends = self.text.match_indices('\n');
            ends.map(|(at, _)| at as u32 + 1).collect()
        })
    }

    /// Addresses of the module's variables in a memory, which are made and filled at first use.
    pub(crate) fn variables(
        &self,
        memory: &Memory,
    ) -> Result<Arc<Vec<u64>>, crate::error::MemoryError> {
        let sizes: Vec<(u64, bool)> = self
            .tree
            .variables
            .iter()
            .map(|variable| match variable.space {
                DeclaredSpace::Shared => (0, false),
                space => (variable.bytes, space == DeclaredSpace::Const),
            })
            .collect();
        memory.variables(self.id, &sizes, |addresses| {
            let with_values = self.tree.variables.iter().zip(addresses);
            with_values
                .filter(|(variable, _)| !variable.initializer.is_empty())
                .map(|(variable, &address)| (address, self.initial_bytes(variable, addresses)))
                .collect()
        })
    }

    fn initial_bytes(&self, variable: &parse::ast::Variable, addresses: &[u64]) -> Vec<u8> {
        let width = variable.ty.bytes() as usize;
        let mut bytes = Vec::new();
        for value in &variable.initializer {
            let bits = match *value {
                Initializer::Integer(bits) => bits,
                Initializer::Float32(bits) => u64::from(bits),
                Initializer::Float64(bits) if width == 4 => {
                    u64::from((f64::from_bits(bits) as f32).to_bits())
                }
                Initializer::Float64(bits) => bits,
                Initializer::Symbol { name, addend, mask } => {
                    let address = self.symbol_address(name.of(&self.text), addresses);
                    let value = address.wrapping_add_signed(addend);
                    match mask {
                        Some(mask) if mask != 0 => (value & mask) >> mask.trailing_zeros(),
                        _ => value,
                    }
                }
            };
            let mut wide = [0u8; 16];
            wide[..8].copy_from_slice(&bits.to_le_bytes());
            bytes.extend_from_slice(&wide[..width.min(16)]);
        }
        bytes
    }

    fn symbol_address(&self, name: &str, addresses: &[u64]) -> u64 {
        let of_name = |span: parse::ast::Span| span.of(&self.text) == name;
        let variable = self.tree.variables.iter().position(|v| of_name(v.name));
        if let Some(index) = variable {
            return addresses[index];
        }
        // A function may be declared beside its definition.
        let functions = self.tree.functions.iter().enumerate();
        let named = functions.filter(|(_, function)| of_name(function.name));
        let function = named.max_by_key(|(_, function)| function.body.is_some());
        let function = function.map(|(index, _)| index);
        function.map_or(0, |index| crate::memory::code_address(index as u32))
    }
}

/// A parameter of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Param {
    /// Its name in the PTX text.
    pub name: String,
    /// Size in bytes.
    pub bytes: u32,
    /// Alignment in bytes.
    pub align: u32,
    /// Place in the parameter block, in bytes.
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
    /// Found when they are first asked for.
    basic_blocks: OnceLock<Vec<BasicBlock>>,
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
            program,
            module,
        }
    }
}

/// A decoded kernel, ready to run. Clones share it; it may be launched from several threads.
#[derive(Clone, Debug)]
pub struct Kernel(pub(crate) Arc<KernelInner>);

/// Names a PTX instruction of a kernel; serialised as its number.
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct InstructionId(pub(crate) u32);

impl InstructionId {
    /// A number below [`Kernel::instruction_count`].
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

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

/// A place in the source of a kernel, and the calls through which it was inlined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceLocation {
    /// File name as the compiler wrote it.
    pub file: String,
    /// Line, from 1; 0 where the compiler knew none.
    pub line: u32,
    /// Column, from 1; 0 where the compiler knew none.
    pub column: u32,
    /// The function that was inlined here, where the compiler named it.
    pub function: Option<String>,
    /// The call that this place was inlined into.
    pub inlined_at: Option<Box<SourceLocation>>,
}

impl fmt::Display for SourceLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)?;
        if let Some(call) = &self.inlined_at {
            write!(f, " (inlined at {call})")?;
        }
        Ok(())
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

    /// The place in the kernel's source, from `.loc`.
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

    /// The parameters in order.
    pub fn params(&self) -> &[Param] {
        &self.0.params
    }

    /// Bytes of shared memory that the kernel declares.
    pub fn static_shared_bytes(&self) -> u32 {
        self.0.program.static_shared
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

    /// Of each instruction, the bytes of a lane's load whose value the kernel uses, one bit each; all
    /// bits for other instructions.
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

    /// The basic blocks that may follow one of the same function; calls go on behind the call.
    pub(crate) fn successors(&self, block: usize) -> impl Iterator<Item = usize> {
        let terminator = &self.0.program.blocks[block].terminator;
        let next = decode::successors(terminator);
        next.map(|block| block as usize)
    }

    /// Runs the kernel and waits for its end.
    ///
    /// # Errors
    /// [`LaunchError`] refuses a bad launch before anything runs, or reports what the kernel did
    /// wrong; device memory then holds whatever was stored until then.
    pub fn launch(
        &self,
        memory: &Memory,
        config: &LaunchConfig,
        args: &Args,
    ) -> Result<Report, LaunchError> {
        self.launch_observed(memory, config, args, &mut NoObserver)
    }

    /// Runs the kernel under an observer, which has seen everything up to a fault.
    ///
    /// # Errors
    /// As [`Kernel::launch`].
    pub fn launch_observed<O: Observer>(
        &self,
        memory: &Memory,
        config: &LaunchConfig,
        args: &Args,
        observer: &mut O,
    ) -> Result<Report, LaunchError> {
        observer.launch(ObservedLaunch {
            kernel: self,
            memory,
            config,
            args,
        })
    }
}

/// The arguments of a launch, in order.
#[derive(Clone, Debug, Default)]
pub struct Args(Vec<Vec<u8>>);

impl Args {
    /// No arguments yet.
    pub fn new() -> Self {
        Args::default()
    }

    /// Adds the bytes of an argument, as they lie in memory.
    pub fn push_bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.0.push(bytes.to_vec());
        self
    }

    /// Adds a 32-bit integer.
    pub fn push_u32(&mut self, value: u32) -> &mut Self {
        self.push_bytes(&value.to_le_bytes())
    }

    /// Adds a 64-bit integer or an address.
    pub fn push_u64(&mut self, value: u64) -> &mut Self {
        self.push_bytes(&value.to_le_bytes())
    }

    /// Adds an f32.
    pub fn push_f32(&mut self, value: f32) -> &mut Self {
        self.push_bytes(&value.to_le_bytes())
    }

    /// Adds an f64.
    pub fn push_f64(&mut self, value: f64) -> &mut Self {
        self.push_bytes(&value.to_le_bytes())
    }

    /// The parameter block of a kernel, where the arguments fit it.
    pub(crate) fn block(&self, kernel: &Kernel) -> Result<Vec<u8>, LaunchError> {
        let params = kernel.params();
        if params.len() != self.0.len() {
            return Err(LaunchError::ArgumentCount {
                kernel: kernel.name().to_string(),
                expected: params.len(),
                given: self.0.len(),
            });
        }
        let mut block = vec![0; kernel.0.param_bytes as usize];
        for (index, (param, bytes)) in params.iter().zip(&self.0).enumerate() {
            if param.bytes as usize != bytes.len() {
                return Err(LaunchError::ArgumentSize {
                    kernel: kernel.name().to_string(),
                    index,
                    expected: param.bytes,
                    given: u32::try_from(bytes.len()).unwrap_or(u32::MAX),
                });
            }
            let start = param.offset as usize;
            block[start..start + bytes.len()].copy_from_slice(bytes);
        }
        Ok(block)
    }
}

/// How to launch a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaunchConfig {
    /// Blocks of the grid.
    pub grid: [u32; 3],
    /// Threads of a block; at most 1024 together.
    pub block: [u32; 3],
    /// Blocks of a thread block cluster: divisors of the grid's extents, at most 8 together. None for a launch without
    /// clusters, in which every block is one of its own.
    pub cluster: Option<[u32; 3]>,
    /// Bytes of dynamic shared memory.
    pub dynamic_shared_bytes: u32,
    /// Warp instructions after which the launch ends in an error. With several workers the launch
    /// may end earlier by some 100 000 instructions per worker.
    pub instruction_budget: u64,
    /// Worker threads; none for as many as the machine runs at once.
    pub workers: Option<usize>,
}

/// The default of [`LaunchConfig::instruction_budget`]: 2^36, some minutes on one core.
pub const DEFAULT_INSTRUCTION_BUDGET: u64 = 1 << 36;

impl LaunchConfig {
    /// A launch without dynamic shared memory, on all cores, with the default budget.
    pub fn new(grid: [u32; 3], block: [u32; 3]) -> Self {
        LaunchConfig {
            grid,
            block,
            cluster: None,
            dynamic_shared_bytes: 0,
            instruction_budget: DEFAULT_INSTRUCTION_BUDGET,
            workers: None,
        }
    }
}

/// What a launch did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// Blocks that ran.
    pub blocks: u64,
    /// PTX instructions issued, counted once per warp.
    pub warp_instructions: u64,
    /// Worker threads that ran them.
    pub workers: usize,
}
