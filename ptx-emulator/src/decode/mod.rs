//! From syntax tree to [`Program`]: names become registers, instructions become operations.
//!
//! Each family of instructions has its own file; [`Builder::dispatch`] is the one list of opcodes.

mod allocate;
mod arithmetic;
mod async_copy;
mod atomic;
mod bits;
mod builder;
mod bulk;
mod class;
mod compare;
mod control;
mod convert;
mod function;
mod grammar;
mod groups;
mod launch_control;
mod layout;
mod matrix;
mod mbarrier;
mod memory;
mod mentions;
pub(crate) mod micro_ops;
mod modifiers;
mod names;
mod operand;
mod parameters;
mod registers;
mod scope;
mod stack;
mod stem;
mod surface;
mod symbols;
mod taken;
mod tensor;
mod tensor_memory;
mod texture;
mod used;
mod video;
mod warp;
mod wmma;

use std::collections::hash_map::Entry;

use rustc_hash::{FxHashMap, FxHashSet};

use builder::Builder;
use function::FunctionDecoder;
use modifiers::{Failure, Modifiers};
use scope::{Binding, Numbered};

pub(crate) use layout::successors;
pub(crate) use names::ModuleNames;
pub(crate) use operand::special_register;

use crate::error::KernelError;
use crate::ir::{CallTarget, Op, Program, Terminator};
use ptx_syntax::ast::{self, Body, LineTable, Span, Tree, Variable};
use ptx_syntax::{self, position};

/// A kernel parameter's offset in the parameter block: (offset, total bytes).
pub(crate) fn parameter_offsets(params: &[Variable]) -> (Vec<u32>, u32) {
    let mut end = 0u64;
    let mut offsets = Vec::new();
    for param in params {
        let offset = end.next_multiple_of(u64::from(param.align.max(1)));
        offsets.push(u32::try_from(offset).unwrap_or(u32::MAX));
        end = offset + param.bytes;
    }
    (offsets, u32::try_from(end).unwrap_or(u32::MAX))
}

/// Decodes a kernel and every function that it may call. For stepping, each PTX instruction becomes
/// a basic block of its own, every register keeps its value, and names are kept.
pub(crate) fn decode(
    tree: &Tree,
    text: &str,
    module: &ModuleNames,
    kernel: usize,
    for_stepping: bool,
) -> Result<Program, KernelError> {
    let mut program = Program {
        symbols: for_stepping.then(Box::default),
        has_ranks: module.names_pairs,
        ..Program::default()
    };
    let mut bodies = Bodies::new(tree, text, module, kernel);
    let mut shared = UsedShared::new(module);
    shared.place(&mut bodies, &[kernel as u32], &mut program)?;
    let mut order = vec![kernel as u32];
    program.addresses.insert(kernel as u32, 0);
    let mut next = 0;
    let mut has_taken = false;
    while let Some(&index) = order.get(next) {
        let function = &tree.functions[index as usize];
        let mut decoder = FunctionDecoder {
            tree,
            text,
            kernel,
            function,
            named: FxHashSet::default(),
        };
        let body = bodies.get(index as usize)?;
        let names = (module, &shared.placed);
        let (code, callees, takes_addresses) = decoder.decode(body, &mut program, names)?;
        program.functions.push(code);
        let mut wanted = callees;
        if takes_addresses && !has_taken {
            has_taken = true;
            let taken = module.taken(tree, text);
            shared.place(&mut bodies, taken, &mut program)?;
            wanted.extend(taken);
        }
        for callee in wanted {
            if tree.functions[callee as usize].body.is_some() {
                program.addresses.entry(callee).or_insert_with(|| {
                    order.push(callee);
                    order.len() as u32 - 1
                });
            }
        }
        next += 1;
    }
    link(tree, text, kernel, &mut program)?;
    builder::reserve_shared(&mut program);
    program.lines = bodies.lines;
    program.micro_ops = micro_ops::of_program(&program);
    Ok(program)
}

/// The bodies of the functions that a kernel may reach, parsed at first use.
struct Bodies<'t, 'a> {
    tree: &'t Tree,
    text: &'a str,
    module: &'t ModuleNames,
    kernel: usize,
    parsed: FxHashMap<usize, Body>,
    lines: LineTable,
}

impl<'t, 'a> Bodies<'t, 'a> {
    fn new(tree: &'t Tree, text: &'a str, module: &'t ModuleNames, kernel: usize) -> Self {
        Bodies {
            tree,
            text,
            module,
            kernel,
            parsed: FxHashMap::default(),
            lines: LineTable::default(),
        }
    }

    /// The body of a function; nothing where it is but declared.
    fn get(&mut self, function: usize) -> Result<&Body, KernelError> {
        match self.parsed.entry(function) {
            Entry::Occupied(parsed) => Ok(parsed.into_mut()),
            Entry::Vacant(place) => {
                let Some(body) = self.tree.functions[function].body else {
                    return Ok(place.insert(Body::default()));
                };
                let body = ptx_syntax::parse_body(self.text, body, &mut self.lines);
                let body = body.map_err(|error| KernelError::Instruction {
                    kernel: self.tree.functions[self.kernel].name.of(self.text).into(),
                    line: error.line,
                    column: error.column,
                    message: error.message,
                })?;
                Ok(place.insert(body))
            }
        }
    }
}

/// Turns the module's function indices in calls into the program's, and checks the arguments.
fn link(tree: &Tree, text: &str, kernel: usize, program: &mut Program) -> Result<(), KernelError> {
    let mut blocks = std::mem::take(&mut program.blocks);
    for block in &mut blocks {
        let info = block.terminator_info;
        let Terminator::Call(call) = &mut block.terminator else {
            continue;
        };
        let CallTarget::Function(index) = call.target else {
            continue;
        };
        let name = tree.functions[index as usize].name.of(text);
        match program.addresses.get(&index).copied() {
            None => call.target = CallTarget::External(name.to_string()),
            Some(function) => {
                call.target = CallTarget::Function(function);
                let callee = &program.functions[function as usize];
                if callee.params.len() != call.arguments.len()
                    || callee.results.len() != call.results.len()
                {
                    let span =
                        info.map_or(Span::default(), |info| program.info[info as usize].span);
                    let message =
                        format!("the arguments of this call do not match those of `{name}`");
                    return Err(error((tree, text, kernel), span, message.into(), "call"));
                }
            }
        }
    }
    program.blocks = blocks;
    Ok(())
}

fn error(
    (tree, text, kernel): (&Tree, &str, usize),
    span: Span,
    failure: Failure,
    opcode: &str,
) -> KernelError {
    let (line, column) = position(text, span.start as usize);
    let kernel = tree.functions[kernel].name.of(text).to_string();
    match failure {
        Failure::Unknown => KernelError::Unsupported {
            kernel,
            line,
            column,
            opcode: opcode.to_string(),
        },
        Failure::Refused(reason) => KernelError::Refused {
            kernel,
            line,
            column,
            reason,
        },
        Failure::Message(message) => KernelError::Instruction {
            kernel,
            line,
            column,
            message,
        },
    }
}

/// What the names of the module's static shared variables refer to.
#[derive(Default)]
struct PlacedShared<'a> {
    names: FxHashMap<&'a str, Binding>,
    numbered: Vec<Numbered<'a>>,
}

/// The module's static shared variables that a kernel's functions name.
struct UsedShared<'a> {
    placed: PlacedShared<'a>,
    /// The variables that have been placed or need no place.
    done: FxHashSet<u32>,
    /// The functions whose variables are known.
    seen: FxHashSet<u32>,
    /// What bodies do not note, which counts as used.
    unnoted: (Vec<u32>, Vec<u32>),
}

impl<'a> UsedShared<'a> {
    fn new(module: &ModuleNames) -> Self {
        let functions = module.unnoted_functions.iter().map(|&index| index as u32);
        UsedShared {
            placed: PlacedShared::default(),
            done: FxHashSet::default(),
            seen: FxHashSet::default(),
            unnoted: (functions.collect(), module.unnoted_shared.clone()),
        }
    }

    /// Allocates the variables that functions name, and those that they call.
    fn place(
        &mut self,
        bodies: &mut Bodies<'_, 'a>,
        functions: &[u32],
        program: &mut Program,
    ) -> Result<(), KernelError> {
        let (tree, text, kernel) = (bodies.tree, bodies.text, bodies.kernel);
        let module = bodies.module;
        let (mut pending, mut used) = std::mem::take(&mut self.unnoted);
        pending.extend(functions);
        while let Some(index) = pending.pop() {
            if !self.seen.insert(index) {
                continue;
            }
            for name in bodies.get(index as usize)?.names() {
                let name = name.of(text);
                pending.extend(module.function(name));
                used.extend(module.shared(name));
            }
        }
        // In the order of the text, each once.
        used.sort_unstable();
        for index in used {
            if !self.done.insert(index) {
                continue;
            }
            let variable = &tree.variables[index as usize];
            if variable.bytes == 0 {
                program.dynamic_align = program.dynamic_align.max(variable.align);
                continue;
            }
            let place = builder::place_shared(program, variable, text).map_err(|failure| {
                error((tree, text, kernel), variable.name, failure, "variable")
            })?;
            let name = variable.name.of(text);
            match Numbered::new(name, variable, place.clone()) {
                Some(all) => self.placed.numbered.push(all),
                None => _ = self.placed.names.insert(name, place),
            }
        }
        Ok(())
    }
}

impl Builder<'_, '_> {
    /// The list of opcodes: each goes to the family that decodes it.
    fn dispatch(
        &mut self,
        base: &str,
        mut mods: Modifiers<'_>,
        operands: &[ast::Operand],
    ) -> Result<(), Failure> {
        if !grammar::has(base, mods.rest()) {
            return Err(Failure::Unknown);
        }
        match base {
            "add" | "sub" | "mul" | "mul24" | "div" | "rem" | "min" | "max" | "and" | "or"
            | "xor" | "copysign" => self.binary(base, mods, operands),
            "addc" | "subc" | "madc" => {
                let carry_out = mods.take("cc");
                self.carry_chain(base, mods, operands, true, carry_out)
            }
            "mad" | "mad24" | "fma" | "sad" => self.ternary(base, mods, operands),
            "neg" | "abs" | "not" | "cnot" | "popc" | "clz" | "brev" => {
                self.unary(base, mods, operands)
            }
            "bfind" => self.find_highest(mods, operands),
            "shl" | "shr" => self.shift(base, mods, operands),
            "bfe" | "bfi" | "shf" | "prmt" | "dp4a" | "dp2a" | "bmsk" | "szext" | "fns"
            | "clmad" => self.bit_field(base, mods, operands),
            "lop3" => self.logic3(mods, operands),
            "sqrt" | "rcp" | "rsqrt" | "sin" | "cos" | "ex2" | "lg2" | "tanh" => {
                self.float_function(base, mods, operands)
            }
            "vadd" | "vsub" | "vabsdiff" | "vmin" | "vmax" | "vshl" | "vshr" | "vset" => {
                self.video(base, mods, operands)
            }
            "vmad" => self.video_product(mods, operands),
            "vadd2" | "vsub2" | "vavrg2" | "vabsdiff2" | "vmin2" | "vmax2" | "vset2" | "vadd4"
            | "vsub4" | "vavrg4" | "vabsdiff4" | "vmin4" | "vmax4" | "vset4" => {
                self.video_parts(base, mods, operands)
            }
            "testp" => self.test_property(mods, operands),
            "setp" => self.set_predicate(mods, operands),
            "set" => self.set(mods, operands),
            "selp" => self.select(mods, operands),
            "slct" => self.select_by_sign(mods, operands),
            "mov" => self.mov(mods, operands),
            "cvt" => self.convert(mods, operands),
            "cvta" => self.convert_address(mods, operands),
            "isspacep" => self.is_space(mods, operands),
            "ld" | "ldu" => self.load(mods, operands),
            "st" => self.store(mods, operands),
            "atom" => self.atomic(true, mods, operands),
            "red" => self.atomic(false, mods, operands),
            "prefetch" | "prefetchu" | "discard" | "applypriority" => {
                self.cache_hint(&mods, operands)
            }
            "bra" => self.branch(mods, operands),
            "brx" => self.branch_indexed(mods, operands),
            "call" => self.call(mods, operands),
            "ret" => {
                mods.take("uni");
                mods.finish()?;
                self.ret()
            }
            "exit" => self.leave_with(Terminator::Exit),
            "trap" => self.leave_with(Terminator::Trap),
            "bar" | "barrier" => self.barrier(mods, operands),
            "mapa" => self.map_to_block(mods, operands),
            "getctarank" => self.rank_of_address(mods, operands),
            "membar" | "fence" => {
                self.emit(Op::Fence);
                Ok(())
            }
            "cp" => self.async_copy(mods, operands),
            "ldmatrix" => self.under_guard(|this| this.move_matrices(false, mods, operands)),
            "stmatrix" => self.under_guard(|this| this.move_matrices(true, mods, operands)),
            "mma" => self.under_guard(|this| this.mma(mods, operands)),
            "wmma" => self.under_guard(|this| this.wmma(mods, operands)),
            "wgmma" => self.under_guard(|this| this.warpgroup(mods, operands)),
            "mbarrier" => self.barrier_object(mods, operands),
            // Kernels of a stream run one after the other.
            "nanosleep" | "pmevent" | "setmaxnreg" | "griddepcontrol" | "brkpt" => {
                self.nothing(operands)
            }
            "alloca" => self.allocate_local(mods, operands),
            "stacksave" => self.stack_pointer(true, mods, operands),
            "stackrestore" => self.stack_pointer(false, mods, operands),
            "tensormap" => self.edit_tensor_map(mods, operands),
            "multimem" => self.refuse(
                base,
                "multicast objects span several GPUs, and there is one here",
            ),
            "tcgen05" => self.tensor_memory(mods, operands),
            "clusterlaunchcontrol" => self.launch_control(mods, operands),
            "tex" => self.texture_fetch(mods, operands),
            "tld4" => self.texture_gather(mods, operands),
            "txq" | "suq" => self.image_query(mods, operands),
            "suld" => self.surface_load(mods, operands),
            "sust" => self.surface_store(mods, operands),
            "sured" => self.surface_reduce(mods, operands),
            "istypep" => self.is_type(),
            "createpolicy" => self.create_policy(mods, operands),
            "movmatrix" => self.under_guard(|this| this.transpose_matrix(mods, operands)),
            "shfl" => self.under_guard(|this| this.shuffle(mods, operands)),
            "vote" => self.under_guard(|this| this.vote(mods, operands)),
            "match" => self.under_guard(|this| this.match_values(mods, operands)),
            "redux" => self.under_guard(|this| this.reduce(mods, operands)),
            "elect" => self.under_guard(|this| this.elect(mods, operands)),
            "activemask" => self.active_mask(mods, operands),
            _ => Err(Failure::Unknown),
        }
    }
}
