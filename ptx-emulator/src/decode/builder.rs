//! Scopes, registers, constants and blocks of the function being decoded.

mod names;
mod variables;

use rustc_hash::FxHashMap;

use super::ModuleNames;
use super::modifiers::Failure;
use super::scope::Scope;
use crate::ir::{
    Constant, Guard, Inst, LaneFunction, LaneOp, Op, Predicate, Program, Reg32, Reg64, Register,
    Terminator,
};
use ptx_syntax::ast::{self, Operand, Type, Variable};
pub(super) use variables::{place_shared, reserve_shared};

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
    /// Whether the function is a kernel, whose parameters have a space of their own.
    pub in_entry: bool,
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
            in_entry: true,
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
}
