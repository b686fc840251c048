//! From syntax tree to [`Program`]: names become registers, instructions become operations.
//!
//! Each family of instructions has its own file; [`Builder::dispatch`] is the one list of opcodes.

mod allocate;
mod arithmetic;
mod async_copy;
mod bits;
mod builder;
mod class;
mod compare;
mod control;
mod convert;
mod function;
mod grammar;
mod groups;
mod layout;
mod matrix;
mod mbarrier;
mod memory;
mod mentions;
mod modifiers;
mod operand;
mod registers;
mod scope;
mod tensor;
mod used;
mod video;
mod warp;
mod wmma;

use rustc_hash::{FxHashMap, FxHashSet};

use builder::Builder;
use function::FunctionDecoder;
use modifiers::{Failure, Modifiers};
use scope::Binding;

pub(crate) use layout::successors;

use crate::error::KernelError;
use crate::ir::{CallTarget, Op, Program, SystemFunction, Terminator};
use ptx_syntax::ast::{self, Body, DeclaredSpace, LineTable, Span, Tree, Variable};
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

/// Decodes a kernel and every function that it may call.
pub(crate) fn decode(tree: &Tree, text: &str, kernel: usize) -> Result<Program, KernelError> {
    let mut program = Program {
        addresses: vec![None; tree.functions.len()],
        ..Program::default()
    };
    let mut bodies = Bodies::new(tree, text, kernel);
    let names = module_names(&mut bodies, &mut program)?;
    let mut order = vec![kernel as u32];
    program.addresses[kernel] = Some(0);
    let mut next = 0;
    let mut indirect = false;
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
        let (code, callees, takes_addresses) = decoder.decode(body, &mut program, &names)?;
        program.functions.push(code);
        indirect |= takes_addresses;
        let mut wanted = callees;
        if indirect {
            // Any function may be called through an address.
            wanted.extend((0..tree.functions.len() as u32).filter(|&candidate| {
                let candidate = &tree.functions[candidate as usize];
                !candidate.entry && candidate.body.is_some()
            }));
        }
        for callee in wanted {
            let slot = &mut program.addresses[callee as usize];
            if slot.is_none() && tree.functions[callee as usize].body.is_some() {
                *slot = Some(order.len() as u32);
                order.push(callee);
            }
        }
        next += 1;
    }
    link(tree, text, kernel, &mut program)?;
    program.lines = bodies.lines;
    Ok(program)
}

/// The bodies of the functions that a kernel may reach, parsed at first use.
struct Bodies<'t, 'a> {
    tree: &'t Tree,
    text: &'a str,
    kernel: usize,
    parsed: Vec<Option<Body>>,
    lines: LineTable,
}

impl<'t, 'a> Bodies<'t, 'a> {
    fn new(tree: &'t Tree, text: &'a str, kernel: usize) -> Self {
        Bodies {
            tree,
            text,
            kernel,
            parsed: vec![None; tree.functions.len()],
            lines: LineTable::default(),
        }
    }

    /// The body of a function; nothing where it is but declared.
    fn get(&mut self, function: usize) -> Result<&Body, KernelError> {
        let parsed = &mut self.parsed[function];
        if parsed.is_none()
            && let Some(body) = self.tree.functions[function].body
        {
            let body = ptx_syntax::parse_body(self.text, body, &mut self.lines);
            *parsed = Some(body.map_err(|error| KernelError::Instruction {
                kernel: self.tree.functions[self.kernel].name.of(self.text).into(),
                line: error.line,
                column: error.column,
                message: error.message,
            })?);
        }
        Ok(parsed.get_or_insert_default())
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
        match program.addresses[index as usize] {
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
        Failure::Message(message) => KernelError::Instruction {
            kernel,
            line,
            column,
            message,
        },
    }
}

/// The module's variables and functions by name.
fn module_names<'a>(
    bodies: &mut Bodies<'_, 'a>,
    program: &mut Program,
) -> Result<FxHashMap<&'a str, Binding>, KernelError> {
    let (tree, text) = (bodies.tree, bodies.text);
    let mut names = FxHashMap::default();
    for (index, function) in tree.functions.iter().enumerate() {
        let name = function.name.of(text);
        let binding = Binding::Function(index as u32);
        // A function may be declared in addition to its definition.
        match (function.body, SystemFunction::of_name(name)) {
            (Some(_), _) => _ = names.insert(name, binding),
            (None, Some(system)) => _ = names.entry(name).or_insert(Binding::System(system)),
            (None, None) => _ = names.entry(name).or_insert(binding),
        }
    }
    for (alias, function) in &tree.aliases {
        if let Some(binding) = names.get(function.of(text)).cloned() {
            names.insert(alias.of(text), binding);
        }
    }
    for (index, variable) in tree.variables.iter().enumerate() {
        let binding = match variable.space {
            DeclaredSpace::Shared if variable.external || variable.bytes == 0 => {
                Binding::DynamicShared
            }
            // Static shared variables of the module are placed when a kernel first names them.
            DeclaredSpace::Shared => continue,
            _ => Binding::Variable(index as u32),
        };
        names.insert(variable.name.of(text), binding);
    }
    place_used_shared(bodies, program, &mut names)?;
    Ok(names)
}

/// Allocates the module's static shared variables that the kernel's functions name.
fn place_used_shared<'a>(
    bodies: &mut Bodies<'_, 'a>,
    program: &mut Program,
    names: &mut FxHashMap<&'a str, Binding>,
) -> Result<(), KernelError> {
    let (tree, text, kernel) = (bodies.tree, bodies.text, bodies.kernel);
    let mut used = FxHashSet::default();
    // Names that begin as registers' do are not collected. Hardly any variable or function has one:
    // it counts as used.
    let is_noted = |name: Span| !name.of(text).starts_with('%');
    let mut pending = vec![kernel];
    let functions = tree.functions.iter().enumerate();
    let unnoted = functions.filter(|(_, function)| !function.entry && !is_noted(function.name));
    pending.extend(unnoted.map(|(index, _)| index));
    let mut seen = vec![false; tree.functions.len()];
    while let Some(index) = pending.pop() {
        if std::mem::replace(&mut seen[index], true) {
            continue;
        }
        for name in bodies.get(index)?.names() {
            let name = name.of(text);
            if let Some(&Binding::Function(callee)) = names.get(name) {
                pending.push(callee as usize);
            }
            used.insert(name);
        }
    }
    for variable in &tree.variables {
        let dynamic = variable.external || variable.bytes == 0;
        let name = variable.name.of(text);
        let used = used.contains(name) || !is_noted(variable.name);
        if variable.space != DeclaredSpace::Shared || !used {
            continue;
        }
        if dynamic {
            program.dynamic_align = program.dynamic_align.max(variable.align);
            continue;
        }
        let binding = builder::place_shared(program, variable, text)
            .map_err(|failure| error((tree, text, kernel), variable.name, failure, "variable"))?;
        names.insert(name, binding);
    }
    Ok(())
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
            "bfe" | "bfi" | "shf" | "prmt" | "dp4a" | "dp2a" | "bmsk" | "szext" | "fns" => {
                self.bit_field(base, mods, operands)
            }
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
            "prefetch" | "prefetchu" | "discard" | "applypriority" => self.cache_hint(operands),
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
