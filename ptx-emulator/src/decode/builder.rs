//! Scopes, registers, constants and blocks of the function being decoded.

use rustc_hash::FxHashMap;

use super::ModuleNames;
use super::modifiers::Failure;
use super::scope::{Binding, Range, Scope, head, split_number};
use crate::ir::{
    Constant, Guard, Inst, LaneFunction, LaneOp, Op, Predicate, Program, Reg32, Reg64, Register,
    Special, Terminator,
};
use ptx_syntax::ast::{self, Operand, Span, Type, Variable};

/// Index of a block that is being built.
pub(crate) type BlockId = u32;

#[derive(Default)]
pub(crate) struct BlockDraft {
    pub insts: Vec<Inst>,
    pub terminator: Option<(Terminator, Option<u32>)>,
    pub members: Option<Reg32>,
}

pub(crate) struct Builder<'a, 'p> {
    pub text: &'a str,
    /// The operands of vectors and calls.
    pub elements: &'p [Operand],
    pub program: &'p mut Program,
    module: &'p ModuleNames,
    pub scopes: Vec<Scope<'a>>,
    pub blocks: Vec<BlockDraft>,
    pub current: BlockId,
    pub regs32: u32,
    pub regs64: u32,
    pub predicates: u32,
    constants: FxHashMap<(Constant, bool), Register>,
    true_predicate: Option<Predicate>,
    pub constants32: Vec<(Reg32, Constant)>,
    pub constants64: Vec<(Reg64, Constant)>,
    pub predicate_constants: Vec<(Predicate, bool)>,
    pub guard: Option<Guard>,
    pub info: u32,
    /// Whether the current PTX instruction has no operation yet.
    pub first: bool,
    pub local_bytes: u32,
    carry: Option<Predicate>,
    /// What `alloca` takes from: the bytes taken, and the frame's first byte for it.
    pub alloca: Option<(Reg32, u32)>,
    pub results: Vec<Reg32>,
    /// Results that the function holds in registers of its own, and their words.
    pub register_results: Vec<(Vec<Register>, Vec<Reg32>)>,
    /// Whether a register of several elements is declared.
    pub has_vectors: bool,
    /// Bytes of an element of the variables that the function declares.
    pub element_bytes: FxHashMap<&'a str, u64>,
    /// The module's variables.
    pub variables: &'p [Variable],
    /// The module's functions.
    pub functions: &'p [ast::Function],
    /// Module functions that calls name, in the order of the text.
    pub callees: Vec<u32>,
    pub indirect: bool,
}

/// Whether values of the type are held in 32-bit registers.
pub(super) fn is_reg32(ty: Type) -> bool {
    ty.bytes() <= 4 && ty != Type::Pred
}

impl<'a, 'p> Builder<'a, 'p> {
    pub(crate) fn new(
        text: &'a str,
        (variables, functions): (&'p [Variable], &'p [ast::Function]),
        elements: &'p [Operand],
        program: &'p mut Program,
        (module, placed): (&'p ModuleNames, Scope<'a>),
    ) -> Self {
        Builder {
            text,
            elements,
            program,
            module,
            scopes: vec![placed, Scope::default()],
            blocks: vec![BlockDraft::default()],
            current: 0,
            regs32: 0,
            regs64: 0,
            predicates: 0,
            constants: FxHashMap::default(),
            true_predicate: None,
            constants32: Vec::new(),
            constants64: Vec::new(),
            predicate_constants: Vec::new(),
            guard: None,
            info: 0,
            first: false,
            local_bytes: 0,
            carry: None,
            alloca: None,
            results: Vec::new(),
            register_results: Vec::new(),
            has_vectors: false,
            element_bytes: FxHashMap::default(),
            variables,
            functions,
            callees: Vec::new(),
            indirect: false,
        }
    }

    // --- registers -----------------------------------------------------------------------------

    pub(crate) fn new_reg32(&mut self) -> Reg32 {
        self.regs32 += 1;
        Reg32(self.regs32 - 1)
    }

    pub(crate) fn new_reg64(&mut self) -> Reg64 {
        self.regs64 += 1;
        Reg64(self.regs64 - 1)
    }

    pub(crate) fn new_predicate(&mut self) -> Predicate {
        self.predicates += 1;
        Predicate(self.predicates - 1)
    }

    pub(crate) fn new_register(&mut self, ty: Type) -> Result<Register, Failure> {
        Ok(match ty {
            Type::Pred => Register::Predicate(self.new_predicate()),
            Type::B128 => return Err("128-bit registers are not supported".into()),
            _ if is_reg32(ty) => Register::Reg32(self.new_reg32()),
            _ => Register::Reg64(self.new_reg64()),
        })
    }

    /// The condition-code register of `add.cc` and similar instructions, one bit per lane.
    pub(crate) fn carry(&mut self) -> Predicate {
        match self.carry {
            Some(carry) => carry,
            None => *self.carry.insert(Predicate({
                self.predicates += 1;
                self.predicates - 1
            })),
        }
    }

    fn scope(&mut self) -> &mut Scope<'a> {
        if self.scopes.is_empty() {
            self.scopes.push(Scope::default());
        }
        let last = self.scopes.len() - 1;
        &mut self.scopes[last]
    }

    pub(crate) fn bind(&mut self, name: &'a str, binding: Binding) {
        self.scope().insert(name, binding);
    }

    pub(crate) fn bind_range(&mut self, prefix: &'a str, count: u32, ty: Type) {
        self.scope().ranges.push(Range {
            prefix,
            head: head(prefix),
            count,
            ty,
            registers: Vec::new(),
        });
    }

    /// Innermost meaning of a name; a register of a range is made at its first use.
    pub(crate) fn lookup(&mut self, name: &'a str) -> Result<Option<Binding>, Failure> {
        let number = split_number(name);
        for depth in (0..self.scopes.len()).rev() {
            if let Some(binding) = self.scopes[depth].get(name) {
                return Ok(Some(binding.clone()));
            }
            if let Some(number) = number
                && let Some((register, ty)) = self.numbered(depth, name, number)?
            {
                return Ok(Some(Binding::Register(register, ty)));
            }
        }
        if let Some(binding) = self.module.get(name) {
            return Ok(Some(binding.clone()));
        }
        match self.lookup_vector(name)? {
            Some(vector) => Ok(Some(vector)),
            None => self.lookup_component(name),
        }
    }

    pub(crate) fn bind_vectors(&mut self, prefix: &'a str, count: u32, elements: u32, ty: Type) {
        self.scope().vectors.push((prefix, count, elements, ty));
    }

    /// A vector of a range, which is made at its first use.
    fn lookup_vector(&mut self, name: &'a str) -> Result<Option<Binding>, Failure> {
        let Some((prefix, index)) = split_number(name).filter(|_| self.has_vectors) else {
            return Ok(None);
        };
        for depth in (0..self.scopes.len()).rev() {
            let mut ranges = self.scopes[depth].vectors.iter();
            let range = ranges.find(|range| range.0 == prefix && index < range.1);
            if let Some(&(_, _, elements, ty)) = range {
                let elements = (0..elements).map(|_| self.new_register(ty));
                let binding = Binding::Vector(elements.collect::<Result<_, _>>()?, ty);
                self.scopes[depth].insert(name, binding.clone());
                return Ok(Some(binding));
            }
        }
        Ok(None)
    }

    /// `v.x`: an element of a register of several.
    fn lookup_component(&mut self, name: &'a str) -> Result<Option<Binding>, Failure> {
        let Some((vector, component)) = name.rsplit_once('.').filter(|_| self.has_vectors) else {
            return Ok(None);
        };
        let at = match component {
            "x" | "r" => 0,
            "y" | "g" => 1,
            "z" | "b" => 2,
            "w" | "a" => 3,
            _ => return Ok(None),
        };
        Ok(match self.lookup(vector)? {
            Some(Binding::Vector(registers, ty)) => {
                let element = registers.get(at).copied();
                element.map(|register| Binding::Register(register, ty))
            }
            _ => None,
        })
    }

    /// The fast case of [`Self::lookup`]: a register of a range that no name shadows.
    pub(crate) fn lookup_numbered(
        &mut self,
        name: &'a str,
    ) -> Result<Option<(Register, Type)>, Failure> {
        let Some(number) = split_number(name).filter(|_| name.starts_with('%')) else {
            return Ok(None);
        };
        if self.module.any_percent {
            return Ok(None);
        }
        for depth in (0..self.scopes.len()).rev() {
            if self.scopes[depth].any_percent {
                return Ok(None);
            }
            let found = self.numbered(depth, name, number)?;
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    /// The register of a scope's ranges that has a name, which is split into prefix and number.
    fn numbered(
        &mut self,
        depth: usize,
        name: &'a str,
        (prefix, index): (&str, u32),
    ) -> Result<Option<(Register, Type)>, Failure> {
        let ranges = &self.scopes[depth].ranges;
        let head = head(prefix);
        let holds = |range: &Range<'_>| {
            let alike = range.head == head && range.prefix.len() == prefix.len();
            let same = alike && (prefix.len() <= 8 || range.prefix == prefix);
            same && index < range.count
        };
        let Some(range) = ranges.iter().rposition(holds) else {
            return Ok(None);
        };
        let (ty, registers) = (ranges[range].ty, &ranges[range].registers);
        if let Some(&Some(register)) = registers.get(index as usize) {
            return Ok(Some((register, ty)));
        }
        let register = self.new_register(ty)?;
        self.scopes[depth].number(name, range, index, register);
        Ok(Some((register, ty)))
    }

    /// Meaning of a name that must be declared.
    pub(crate) fn resolve(&mut self, name: Span) -> Result<Binding, Failure> {
        let name = name.of(self.text);
        self.lookup(name)?
            .ok_or_else(|| format!("`{name}` is not declared").into())
    }

    /// Where an element of an array lies, in bytes behind its start.
    pub(crate) fn element_offset(&self, name: Span, index: i64) -> Result<i64, Failure> {
        let text = name.of(self.text);
        let of_module = || {
            let mut all = self.variables.iter();
            let found = all.find(|variable| variable.name.of(self.text) == text);
            found.map(Variable::element_bytes)
        };
        let bytes = self.element_bytes.get(text).copied().or_else(of_module);
        let offset = bytes.and_then(|bytes| index.checked_mul(bytes as i64));
        offset.ok_or_else(|| format!("`{text}` is no array with an element {index}").into())
    }

    pub(crate) fn register(&mut self, name: Span) -> Result<(Register, Type), Failure> {
        if let Some(found) = self.lookup_numbered(name.of(self.text))? {
            return Ok(found);
        }
        match self.resolve(name)? {
            Binding::Register(register, ty) => Ok((register, ty)),
            _ => Err(format!("`{}` is not a register", name.of(self.text)).into()),
        }
    }

    pub(crate) fn predicate(&mut self, name: Span) -> Result<Predicate, Failure> {
        match self.register(name)?.0 {
            Register::Predicate(predicate) => Ok(predicate),
            _ => Err(format!("`{}` is not a predicate register", name.of(self.text)).into()),
        }
    }

    // --- constants -----------------------------------------------------------------------------

    pub(crate) fn reg32_constant(&mut self, constant: Constant) -> Reg32 {
        if let Some(&Register::Reg32(reg)) = self.constants.get(&(constant, false)) {
            return reg;
        }
        let reg = self.new_reg32();
        self.constants
            .insert((constant, false), Register::Reg32(reg));
        self.constants32.push((reg, constant));
        reg
    }

    pub(crate) fn reg64_constant(&mut self, constant: Constant) -> Reg64 {
        if let Some(&Register::Reg64(reg)) = self.constants.get(&(constant, true)) {
            return reg;
        }
        let reg = self.new_reg64();
        self.constants
            .insert((constant, true), Register::Reg64(reg));
        self.constants64.push((reg, constant));
        reg
    }

    /// A predicate that is true in every lane.
    pub(crate) fn always(&mut self) -> Predicate {
        match self.true_predicate {
            Some(predicate) => predicate,
            None => {
                let predicate = self.new_predicate();
                self.predicate_constants.push((predicate, true));
                self.true_predicate = Some(predicate);
                predicate
            }
        }
    }

    /// A constant in a register of the type's file.
    pub(crate) fn constant(&mut self, constant: Constant, ty: Type) -> Result<Register, Failure> {
        Ok(match ty {
            Type::Pred => match constant {
                Constant::Bits(0) => {
                    let predicate = self.new_predicate();
                    self.predicate_constants.push((predicate, false));
                    Register::Predicate(predicate)
                }
                _ => Register::Predicate(self.always()),
            },
            Type::B128 => return Err("128-bit values are not supported".into()),
            _ if is_reg32(ty) => {
                let constant = match constant {
                    Constant::Bits(bits) => {
                        let mask = u64::MAX >> (64 - 8 * ty.bytes());
                        Constant::Bits(bits & mask)
                    }
                    other => other,
                };
                Register::Reg32(self.reg32_constant(constant))
            }
            _ => Register::Reg64(self.reg64_constant(constant)),
        })
    }

    // --- code ----------------------------------------------------------------------------------

    fn push(&mut self, op: Op, guard: Option<Guard>) {
        let inst = Inst {
            op,
            guard,
            info: self.info,
            first: self.first,
            frequent: false,
        };
        self.first = false;
        self.blocks[self.current as usize].insts.push(inst);
    }

    /// Adds an operation under the instruction's guard.
    pub(crate) fn emit(&mut self, op: Op) {
        self.push(op, self.guard);
    }

    /// Adds an operation on a temporary, which needs no guard.
    pub(crate) fn emit_unguarded(&mut self, op: Op) {
        self.push(op, None);
    }

    pub(crate) fn emit_lane(
        &mut self,
        function: LaneFunction,
        destination: Register,
        arguments: Vec<Register>,
    ) {
        self.emit_lane_op(LaneOp {
            function,
            destination,
            carry_out: None,
            arguments,
        });
    }

    pub(crate) fn emit_lane_op(&mut self, op: LaneOp) {
        let index = self.program.lane_ops.len() as u32;
        self.program.lane_ops.push(op);
        self.emit(Op::Lane(index));
    }

    /// A register move between registers of one file.
    pub(crate) fn emit_move(&mut self, to: Register, from: Register) -> Result<(), Failure> {
        match (to, from) {
            (Register::Reg32(to), Register::Reg32(from)) => self.emit(Op::Move32(to, from)),
            (Register::Reg64(to), Register::Reg64(from)) => self.emit(Op::Move64(to, from)),
            (Register::Predicate(to), Register::Predicate(from)) => {
                self.emit(Op::MovePredicate(to, from));
            }
            _ => return Err("the operands have different widths".into()),
        }
        Ok(())
    }

    pub(crate) fn new_block(&mut self) -> BlockId {
        self.blocks.push(BlockDraft::default());
        self.blocks.len() as u32 - 1
    }

    /// Ends the current block; code that follows goes into `next`.
    pub(crate) fn end_block(&mut self, terminator: Terminator, counted: bool, next: BlockId) {
        let info = counted.then_some(self.info);
        if counted {
            self.first = false;
        }
        let block = &mut self.blocks[self.current as usize];
        if block.terminator.is_none() {
            block.terminator = Some((terminator, info));
        }
        self.current = next;
    }

    /// Ends the current block in a jump without a PTX instruction.
    pub(crate) fn fall_into(&mut self, next: BlockId) {
        self.end_block(Terminator::Jump(next), false, next);
    }

    pub(crate) fn label(&mut self, name: Span) -> Result<BlockId, Failure> {
        match self.resolve(name)? {
            Binding::Label(block) => Ok(block),
            _ => Err(format!("`{}` is not a label", name.of(self.text)).into()),
        }
    }

    /// Allocates a variable in shared memory and returns what its name refers to.
    pub(crate) fn place_shared(&mut self, variable: &Variable) -> Result<Binding, Failure> {
        place_shared(self.program, variable, self.text)
    }

    /// Allocates a variable in the function's local memory.
    pub(crate) fn place_local(&mut self, variable: &Variable) -> Result<Binding, Failure> {
        let offset = self.place_local_bytes(variable.bytes, variable.align.max(1))?;
        Ok(Binding::Local { offset })
    }

    /// Takes bytes of the function's local memory.
    pub(crate) fn place_local_bytes(&mut self, bytes: u64, align: u32) -> Result<u32, Failure> {
        let offset = u64::from(self.local_bytes).next_multiple_of(u64::from(align));
        let end = offset.saturating_add(bytes);
        if end > crate::memory::MAX_LOCAL_BYTES {
            return Err(format!(
                "local variables take {end} bytes, more than the {} of a thread",
                crate::memory::MAX_LOCAL_BYTES
            )
            .into());
        }
        self.local_bytes = end as u32;
        Ok(offset as u32)
    }
}

/// Groups of several warps have words of eight bytes there.
const RESERVED_ALIGN: u32 = 128;

/// Adds the shared memory that the system reserves, if the kernel asks where it is. Devices since
/// compute capability 8.0 have it in each block, and groups of several warps meet there.
pub(crate) fn reserve_shared(program: &mut Program) {
    program.own_shared = program.static_shared;
    let is_wanted =
        |constant: Constant| matches!(constant, Constant::Special(Special::ReservedShared(_)));
    let is_read = program.functions.iter().any(|function| {
        let in_words = function.constants32.iter().any(|of| is_wanted(of.1));
        in_words || function.constants64.iter().any(|of| is_wanted(of.1))
    });
    if !is_read {
        return;
    }
    let bytes = u32::from(crate::RESERVED_SHARED_BYTES);
    let offset = program.static_shared.next_multiple_of(RESERVED_ALIGN);
    program.static_shared = offset + bytes;
    program.reserved_shared = Some(offset);
    program.shared.push(crate::ir::SharedVariable {
        name: "reserved shared memory".to_string(),
        offset,
        bytes,
    });
}

/// Gives a shared variable its offset after the earlier ones.
pub(crate) fn place_shared(
    program: &mut Program,
    variable: &Variable,
    text: &str,
) -> Result<Binding, Failure> {
    if variable.external || variable.bytes == 0 {
        program.dynamic_align = program.dynamic_align.max(variable.align);
        return Ok(Binding::DynamicShared);
    }
    let offset =
        u64::from(program.static_shared).next_multiple_of(u64::from(variable.align.max(1)));
    let end = offset + variable.bytes;
    if end > u64::from(crate::MAX_SHARED_BYTES) {
        return Err(format!(
            "static shared memory takes {end} bytes, more than the {} of a block",
            crate::MAX_SHARED_BYTES
        )
        .into());
    }
    program.static_shared = end as u32;
    program.shared.push(crate::ir::SharedVariable {
        name: variable.name.of(text).to_string(),
        offset: offset as u32,
        bytes: variable.bytes as u32,
    });
    Ok(Binding::Shared {
        offset: offset as u32,
    })
}
