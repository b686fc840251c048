//! Scopes, registers, constants and blocks of the function being decoded.

use std::collections::HashMap;

use super::modifiers::Failure;
use crate::ir::{
    Address, AddressBase, Constant, Double, Guard, Inst, LaneFunction, LaneMask, LaneOp, Op,
    Predicate, Program, Register, Special, Terminator, Word,
};
use crate::parse::ast::{Operand, Span, Type, Variable};

/// Index of a block that is being built.
pub(crate) type BlockId = u32;

#[derive(Default)]
pub(crate) struct BlockDraft {
    pub insts: Vec<Inst>,
    pub terminator: Option<(Terminator, Option<u32>)>,
    pub members: Option<Word>,
}

/// What a name stands for.
#[derive(Clone, Debug)]
pub(crate) enum Binding {
    Register(Register, Type),
    /// Offset of a kernel parameter.
    KernelParam {
        offset: u32,
    },
    /// Words that hold a parameter or result of a `.func` or of a call.
    Words(Vec<Word>),
    Local {
        offset: u32,
    },
    Shared {
        offset: u32,
    },
    DynamicShared,
    /// Index into the module's variables.
    Variable(u32),
    /// Index into the module's functions.
    Function(u32),
    Label(BlockId),
    Targets(Vec<BlockId>),
    Prototype,
}

#[derive(Default)]
pub(crate) struct Scope<'a> {
    pub names: HashMap<&'a str, Binding>,
    /// `%r<16>`: prefix, count, type.
    ranges: Vec<(&'a str, u32, Type)>,
}

impl<'a> Scope<'a> {
    pub(crate) fn with_names(names: HashMap<&'a str, Binding>) -> Self {
        Scope {
            names,
            ranges: Vec::new(),
        }
    }
}

pub(crate) struct Builder<'a, 'p> {
    pub text: &'a str,
    pub program: &'p mut Program,
    pub scopes: Vec<Scope<'a>>,
    pub blocks: Vec<BlockDraft>,
    pub current: BlockId,
    pub words: u32,
    pub doubles: u32,
    pub predicates: u32,
    constants: HashMap<(Constant, bool), Register>,
    true_predicate: Option<Predicate>,
    pub word_constants: Vec<(Word, Constant)>,
    pub double_constants: Vec<(Double, Constant)>,
    pub predicate_constants: Vec<(Predicate, bool)>,
    pub guard: Option<Guard>,
    pub info: u32,
    /// Whether the current PTX instruction has no operation yet.
    pub first: bool,
    pub local_bytes: u32,
    carry: Option<Predicate>,
    pub results: Vec<Word>,
    /// Module functions that calls name, in the order in which they were seen.
    pub callees: Vec<u32>,
    pub indirect: bool,
}

fn is_word(ty: Type) -> bool {
    ty.bytes() <= 4 && ty != Type::Pred
}

impl<'a, 'p> Builder<'a, 'p> {
    pub(crate) fn new(text: &'a str, program: &'p mut Program, module: Scope<'a>) -> Self {
        Builder {
            text,
            program,
            scopes: vec![module, Scope::default()],
            blocks: vec![BlockDraft::default()],
            current: 0,
            words: 0,
            doubles: 0,
            predicates: 0,
            constants: HashMap::new(),
            true_predicate: None,
            word_constants: Vec::new(),
            double_constants: Vec::new(),
            predicate_constants: Vec::new(),
            guard: None,
            info: 0,
            first: true,
            local_bytes: 0,
            carry: None,
            results: Vec::new(),
            callees: Vec::new(),
            indirect: false,
        }
    }

    // --- registers -----------------------------------------------------------------------------

    pub(crate) fn new_word(&mut self) -> Word {
        self.words += 1;
        Word(self.words - 1)
    }

    pub(crate) fn new_double(&mut self) -> Double {
        self.doubles += 1;
        Double(self.doubles - 1)
    }

    pub(crate) fn new_predicate(&mut self) -> Predicate {
        self.predicates += 1;
        Predicate(self.predicates - 1)
    }

    pub(crate) fn new_register(&mut self, ty: Type) -> Result<Register, Failure> {
        Ok(match ty {
            Type::Pred => Register::Predicate(self.new_predicate()),
            Type::B128 => return Err("128-bit registers are not supported".into()),
            _ if is_word(ty) => Register::Word(self.new_word()),
            _ => Register::Double(self.new_double()),
        })
    }

    /// The condition-code register of `add.cc` and its kin, one bit per lane.
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
        self.scope().names.insert(name, binding);
    }

    pub(crate) fn bind_range(&mut self, prefix: &'a str, count: u32, ty: Type) {
        self.scope().ranges.push((prefix, count, ty));
    }

    /// Innermost meaning of a name; a register of a range comes into being at its first use.
    pub(crate) fn lookup(&mut self, name: &'a str) -> Result<Option<Binding>, Failure> {
        let prefix = name.trim_end_matches(|c: char| c.is_ascii_digit());
        let index: Option<u32> = name[prefix.len()..].parse().ok();
        for depth in (0..self.scopes.len()).rev() {
            if let Some(binding) = self.scopes[depth].names.get(name) {
                return Ok(Some(binding.clone()));
            }
            let Some(index) = index else { continue };
            let range = self.scopes[depth]
                .ranges
                .iter()
                .rev()
                .find(|(range, count, _)| *range == prefix && index < *count);
            if let Some(&(_, _, ty)) = range {
                let binding = Binding::Register(self.new_register(ty)?, ty);
                self.scopes[depth].names.insert(name, binding.clone());
                return Ok(Some(binding));
            }
        }
        Ok(None)
    }

    /// Meaning of a name that must be declared.
    pub(crate) fn resolve(&mut self, name: Span) -> Result<Binding, Failure> {
        let name = name.of(self.text);
        self.lookup(name)?
            .ok_or_else(|| format!("`{name}` is not declared").into())
    }

    pub(crate) fn register(&mut self, name: Span) -> Result<(Register, Type), Failure> {
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

    pub(crate) fn word_constant(&mut self, constant: Constant) -> Word {
        if let Some(&Register::Word(word)) = self.constants.get(&(constant, false)) {
            return word;
        }
        let word = self.new_word();
        self.constants
            .insert((constant, false), Register::Word(word));
        self.word_constants.push((word, constant));
        word
    }

    pub(crate) fn double_constant(&mut self, constant: Constant) -> Double {
        if let Some(&Register::Double(double)) = self.constants.get(&(constant, true)) {
            return double;
        }
        let double = self.new_double();
        self.constants
            .insert((constant, true), Register::Double(double));
        self.double_constants.push((double, constant));
        double
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
            _ if is_word(ty) => {
                let constant = match constant {
                    Constant::Bits(bits) => {
                        let mask = u64::MAX >> (64 - 8 * ty.bytes());
                        Constant::Bits(bits & mask)
                    }
                    other => other,
                };
                Register::Word(self.word_constant(constant))
            }
            _ => Register::Double(self.double_constant(constant)),
        })
    }

    // --- operands ------------------------------------------------------------------------------

    /// An operand that is read, in a register of the type's width.
    pub(crate) fn source(&mut self, operand: &Operand, ty: Type) -> Result<Register, Failure> {
        let register = self.source_any(operand, ty)?;
        self.check_width(register, operand, ty)?;
        Ok(register)
    }

    fn check_width(&self, register: Register, operand: &Operand, ty: Type) -> Result<(), Failure> {
        let fits = match register {
            Register::Predicate(_) => ty == Type::Pred,
            Register::Word(_) => is_word(ty),
            Register::Double(_) => !is_word(ty) && ty != Type::Pred && ty != Type::B128,
        };
        if fits {
            return Ok(());
        }
        let name = match operand {
            Operand::Name(name) => name.of(self.text),
            _ => "operand",
        };
        let wanted = match ty {
            Type::Pred => "a predicate".to_string(),
            _ => format!("{} bits", 8 * ty.bytes()),
        };
        Err(format!("`{name}` is not as wide as the instruction's type ({wanted})").into())
    }

    /// An operand that is read; a register may have another width than the type.
    pub(crate) fn source_any(&mut self, operand: &Operand, ty: Type) -> Result<Register, Failure> {
        match *operand {
            Operand::Integer(bits) => self.constant(Constant::Bits(bits), ty),
            Operand::Float32(bits) => match ty {
                Type::F64 => {
                    let wide = f64::from(f32::from_bits(bits)).to_bits();
                    self.constant(Constant::Bits(wide), ty)
                }
                _ => self.constant(Constant::Bits(u64::from(bits)), ty),
            },
            Operand::Float64(bits) => match ty {
                Type::F32 => {
                    let narrow = (f64::from_bits(bits) as f32).to_bits();
                    self.constant(Constant::Bits(u64::from(narrow)), ty)
                }
                _ => self.constant(Constant::Bits(bits), ty),
            },
            Operand::Name(name) => self.named_source(name, ty),
            Operand::NameOffset(name, offset) => self.symbol(name, offset, ty),
            Operand::Not(name) => {
                let predicate = self.predicate(name)?;
                let negated = self.new_predicate();
                self.emit_unguarded(Op::PredicateNot(negated, predicate));
                Ok(Register::Predicate(negated))
            }
            _ => Err("this operand cannot be read".into()),
        }
    }

    fn named_source(&mut self, name: Span, ty: Type) -> Result<Register, Failure> {
        let text = name.of(self.text);
        if let Some(Binding::Register(register, _)) = self.lookup(text)? {
            return Ok(register);
        }
        if let Some(special) = special_register(text) {
            let wide = Type::U64 == ty || ty == Type::B64 || ty == Type::S64;
            return self.constant(
                Constant::Special(special),
                if wide { Type::U64 } else { Type::U32 },
            );
        }
        self.symbol(name, 0, ty)
    }

    /// The state-space address of a symbol.
    fn symbol(&mut self, name: Span, addend: i64, ty: Type) -> Result<Register, Failure> {
        match self.resolve(name)? {
            Binding::Shared { offset } => {
                let bits = (i64::from(offset).wrapping_add(addend)) as u64;
                self.constant(Constant::Bits(bits), ty)
            }
            Binding::DynamicShared => self.constant(Constant::DynamicShared(addend), ty),
            Binding::Variable(index) => self.constant(Constant::Variable(index, addend), ty),
            Binding::KernelParam { offset } => {
                let bits = crate::memory::PARAM_BASE
                    .wrapping_add(u64::from(offset))
                    .wrapping_add_signed(addend);
                self.constant(Constant::Bits(bits), ty)
            }
            Binding::Function(index) => {
                self.indirect = true;
                self.constant(Constant::Bits(crate::memory::code_address(index)), ty)
            }
            Binding::Local { offset } => {
                let double = self.new_double();
                let offset = i64::from(offset).wrapping_add(addend) as u32;
                self.emit_unguarded(Op::LocalAddress(double, offset));
                match is_word(ty) {
                    false => Ok(Register::Double(double)),
                    true => {
                        let word = self.new_word();
                        self.emit_unguarded(Op::Narrow(word, double));
                        Ok(Register::Word(word))
                    }
                }
            }
            _ => Err(format!("`{}` has no address", name.of(self.text)).into()),
        }
    }

    pub(crate) fn word(&mut self, operand: &Operand, ty: Type) -> Result<Word, Failure> {
        match self.source(operand, ty)? {
            Register::Word(word) => Ok(word),
            _ => Err("expected a 32-bit operand".into()),
        }
    }

    pub(crate) fn double(&mut self, operand: &Operand, ty: Type) -> Result<Double, Failure> {
        match self.source(operand, ty)? {
            Register::Double(double) => Ok(double),
            _ => Err("expected a 64-bit operand".into()),
        }
    }

    /// A predicate operand, `p` or `!p`.
    pub(crate) fn predicate_source(&mut self, operand: &Operand) -> Result<Predicate, Failure> {
        match self.source(operand, Type::Pred)? {
            Register::Predicate(predicate) => Ok(predicate),
            _ => Err("expected a predicate".into()),
        }
    }

    /// An operand that is written, in a register of the type's width.
    pub(crate) fn destination(&mut self, operand: &Operand, ty: Type) -> Result<Register, Failure> {
        match operand {
            Operand::Sink => self.new_register(ty),
            Operand::Name(name) => {
                let (register, _) = self.register(*name)?;
                self.check_width(register, operand, ty)?;
                Ok(register)
            }
            _ => Err("this operand cannot be written".into()),
        }
    }

    /// An operand that is written, whatever its width: the register and its bits.
    pub(crate) fn destination_any(
        &mut self,
        operand: &Operand,
        ty: Type,
    ) -> Result<(Register, u32), Failure> {
        match operand {
            Operand::Sink => Ok((self.new_register(ty)?, 8 * ty.bytes())),
            Operand::Name(name) => {
                let (register, declared) = self.register(*name)?;
                Ok((register, 8 * declared.bytes()))
            }
            _ => Err("this operand cannot be written".into()),
        }
    }

    pub(crate) fn word_destination(&mut self, operand: &Operand) -> Result<Word, Failure> {
        match self.destination(operand, Type::B32)? {
            Register::Word(word) => Ok(word),
            _ => Err("expected a 32-bit register".into()),
        }
    }

    pub(crate) fn double_destination(&mut self, operand: &Operand) -> Result<Double, Failure> {
        match self.destination(operand, Type::B64)? {
            Register::Double(double) => Ok(double),
            _ => Err("expected a 64-bit register".into()),
        }
    }

    pub(crate) fn predicate_destination(
        &mut self,
        operand: &Operand,
    ) -> Result<Predicate, Failure> {
        match self.destination(operand, Type::Pred)? {
            Register::Predicate(predicate) => Ok(predicate),
            _ => Err("expected a predicate register".into()),
        }
    }

    /// `[base+offset]`
    pub(crate) fn address(
        &mut self,
        operand: &Operand,
        space: crate::ir::Space,
    ) -> Result<Address, Failure> {
        let Operand::Address { base, offset } = *operand else {
            return Err("expected an address in brackets".into());
        };
        let plain = |base, offset| Address {
            space,
            base,
            offset,
            spread: 0,
        };
        let Some(name) = base else {
            return Ok(plain(AddressBase::None, offset));
        };
        Ok(match self.resolve(name)? {
            Binding::Register(Register::Word(word), _) => plain(AddressBase::Word(word), offset),
            Binding::Register(Register::Double(double), _) => {
                plain(AddressBase::Double(double), offset)
            }
            Binding::Local { offset: place } => {
                plain(AddressBase::Frame, offset.wrapping_add(i64::from(place)))
            }
            Binding::Shared { offset: place } => {
                plain(AddressBase::None, offset.wrapping_add(i64::from(place)))
            }
            _ => match self.symbol(name, 0, Type::U64)? {
                Register::Double(double) => plain(AddressBase::Double(double), offset),
                _ => return Err("expected an address".into()),
            },
        })
    }

    // --- code ----------------------------------------------------------------------------------

    fn push(&mut self, op: Op, guard: Option<Guard>) {
        let inst = Inst {
            op,
            guard,
            info: self.info,
            first: self.first,
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
            (Register::Word(to), Register::Word(from)) => self.emit(Op::MoveWord(to, from)),
            (Register::Double(to), Register::Double(from)) => self.emit(Op::MoveDouble(to, from)),
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

    /// Ends the current block in a jump that no PTX instruction stands for.
    pub(crate) fn fall_into(&mut self, next: BlockId) {
        self.end_block(Terminator::Jump(next), false, next);
    }

    pub(crate) fn label(&mut self, name: Span) -> Result<BlockId, Failure> {
        match self.resolve(name)? {
            Binding::Label(block) => Ok(block),
            _ => Err(format!("`{}` is not a label", name.of(self.text)).into()),
        }
    }

    /// Places a variable in shared memory and returns what its name means.
    pub(crate) fn place_shared(&mut self, variable: &Variable) -> Result<Binding, Failure> {
        place_shared(self.program, variable, self.text)
    }

    /// Places a variable in the function's local memory.
    pub(crate) fn place_local(&mut self, variable: &Variable) -> Result<Binding, Failure> {
        let align = variable.align.max(1);
        let offset = u64::from(self.local_bytes).next_multiple_of(u64::from(align));
        let end = offset + variable.bytes;
        if end > crate::memory::MAX_LOCAL_BYTES {
            return Err(format!(
                "local variables take {end} bytes, more than the {} of a thread",
                crate::memory::MAX_LOCAL_BYTES
            )
            .into());
        }
        self.local_bytes = end as u32;
        Ok(Binding::Local {
            offset: offset as u32,
        })
    }
}

/// Gives a shared variable its place behind those already placed.
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

/// Special registers that hold one value for the whole run of a thread.
fn special_register(name: &str) -> Option<Special> {
    let name = name.strip_prefix('%')?;
    if let Some((base, axis)) = name.split_once('.') {
        let axis = match axis {
            "x" => 0,
            "y" => 1,
            "z" => 2,
            _ => return None,
        };
        return Some(match base {
            "tid" => Special::ThreadId(axis),
            "ntid" => Special::ThreadCount(axis),
            "ctaid" => Special::BlockId(axis),
            "nctaid" => Special::BlockCount(axis),
            // Without a cluster launch, every block is a cluster of one.
            "cluster_ctaid" => Special::Zero,
            "cluster_nctaid" => Special::One,
            "clusterid" => Special::BlockId(axis),
            "nclusterid" => Special::BlockCount(axis),
            _ => return None,
        });
    }
    Some(match name {
        "laneid" => Special::Lane,
        "warpid" => Special::Warp,
        "nwarpid" => Special::WarpCount,
        "lanemask_eq" => Special::LaneMask(LaneMask::Equal),
        "lanemask_lt" => Special::LaneMask(LaneMask::Less),
        "lanemask_le" => Special::LaneMask(LaneMask::LessEqual),
        "lanemask_gt" => Special::LaneMask(LaneMask::Greater),
        "lanemask_ge" => Special::LaneMask(LaneMask::GreaterEqual),
        "dynamic_smem_size" => Special::DynamicSharedBytes,
        "total_smem_size" => Special::TotalSharedBytes,
        "smid" | "gridid" | "cluster_ctarank" => Special::Zero,
        "nsmid" | "cluster_nctarank" => Special::One,
        _ => return None,
    })
}
