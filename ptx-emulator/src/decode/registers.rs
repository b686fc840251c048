//! Which registers an operation reads and writes: the one list that liveness and renaming share.

use crate::ir::{
    AddressBase, Barrier, BarrierAction, BarrierKind, BarrierObject, BulkData, BulkDirection, Call,
    CallTarget, Level, MapAction, Matrix, Op, Phase, Predicate, Program, Reg32, Reg64, Register,
    TensorInstruction, Terminator, TextureOp, Wgmma, WgmmaA,
};

/// What an operation does with a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Use,
    Define,
}

/// Sees each register (reads before writes) and may replace it by another of the same file.
pub(crate) struct Visitor<F: FnMut(Role, Register) -> Register>(pub F);

impl<F: FnMut(Role, Register) -> Register> Visitor<F> {
    /// The registers of an operation, its guard excluded.
    pub(crate) fn op(&mut self, op: &mut Op, program: &mut Program) {
        Visit(&mut self.0).op(op, program);
    }

    /// The registers of a terminator. What a call or a barrier writes counts as written here.
    pub(crate) fn terminator(&mut self, terminator: &mut Terminator) {
        Visit(&mut self.0).terminator(terminator);
    }

    /// The predicate of a guard.
    pub(crate) fn guard(&mut self, predicate: &mut Predicate) {
        Visit(&mut self.0).predicate(Role::Use, predicate);
    }

    /// A member mask.
    pub(crate) fn members(&mut self, members: &mut Reg32) {
        Visit(&mut self.0).reg32(Role::Use, members);
    }
}

/// A visit by a function of any type: the list of registers is compiled once.
struct Visit<'f>(&'f mut dyn FnMut(Role, Register) -> Register);

impl Visit<'_> {
    fn reg32(&mut self, role: Role, reg: &mut Reg32) {
        if let Register::Reg32(new) = (self.0)(role, Register::Reg32(*reg)) {
            *reg = new;
        }
    }

    fn reg64(&mut self, role: Role, reg: &mut Reg64) {
        if let Register::Reg64(new) = (self.0)(role, Register::Reg64(*reg)) {
            *reg = new;
        }
    }

    fn predicate(&mut self, role: Role, predicate: &mut Predicate) {
        if let Register::Predicate(new) = (self.0)(role, Register::Predicate(*predicate)) {
            *predicate = new;
        }
    }

    fn register(&mut self, role: Role, register: &mut Register) {
        *register = (self.0)(role, *register);
    }

    fn base(&mut self, base: &mut AddressBase) {
        match base {
            AddressBase::Reg32(reg) => self.reg32(Role::Use, reg),
            AddressBase::Reg64(reg) => self.reg64(Role::Use, reg),
            AddressBase::None | AddressBase::Frame => {}
        }
    }

    fn op(&mut self, op: &mut Op, program: &mut Program) {
        use Role::{Define, Use};
        match op {
            Op::Move32(d, a) | Op::Unary32(_, d, a) => {
                self.reg32(Use, a);
                self.reg32(Define, d);
            }
            Op::Move64(d, a) | Op::Unary64(_, d, a) => {
                self.reg64(Use, a);
                self.reg64(Define, d);
            }
            Op::MovePredicate(d, a) | Op::PredicateNot(d, a) => {
                self.predicate(Use, a);
                self.predicate(Define, d);
            }
            Op::Binary32(_, d, a, b) | Op::Shift32(_, d, a, b) => {
                self.reg32(Use, a);
                self.reg32(Use, b);
                self.reg32(Define, d);
            }
            Op::Binary64(_, d, a, b) => {
                self.reg64(Use, a);
                self.reg64(Use, b);
                self.reg64(Define, d);
            }
            Op::Shift64(_, d, a, b) => {
                self.reg64(Use, a);
                self.reg32(Use, b);
                self.reg64(Define, d);
            }
            Op::Ternary32(_, d, a, b, c) => {
                self.reg32(Use, a);
                self.reg32(Use, b);
                self.reg32(Use, c);
                self.reg32(Define, d);
            }
            Op::Ternary64(_, d, a, b, c) => {
                self.reg64(Use, a);
                self.reg64(Use, b);
                self.reg64(Use, c);
                self.reg64(Define, d);
            }
            Op::MulWide(_, d, a, b) | Op::Pack(d, a, b) => {
                self.reg32(Use, a);
                self.reg32(Use, b);
                self.reg64(Define, d);
            }
            Op::MulAddWide(_, d, a, b, c) => {
                self.reg32(Use, a);
                self.reg32(Use, b);
                self.reg64(Use, c);
                self.reg64(Define, d);
            }
            Op::Widen(_, d, a) => {
                self.reg32(Use, a);
                self.reg64(Define, d);
            }
            Op::Narrow(d, a) => {
                self.reg64(Use, a);
                self.reg32(Define, d);
            }
            Op::Unpack(low, high, a) => {
                self.reg64(Use, a);
                self.reg32(Define, low);
                self.reg32(Define, high);
            }
            Op::Compare32(_, _, d, a, b) => {
                self.reg32(Use, a);
                self.reg32(Use, b);
                self.predicate(Define, d);
            }
            Op::Compare64(_, _, d, a, b) => {
                self.reg64(Use, a);
                self.reg64(Use, b);
                self.predicate(Define, d);
            }
            Op::Select32(d, a, b, p) => {
                self.reg32(Use, a);
                self.reg32(Use, b);
                self.predicate(Use, p);
                self.reg32(Define, d);
            }
            Op::Select64(d, a, b, p) => {
                self.reg64(Use, a);
                self.reg64(Use, b);
                self.predicate(Use, p);
                self.reg64(Define, d);
            }
            Op::PredicateBinary(_, d, a, b) => {
                self.predicate(Use, a);
                self.predicate(Use, b);
                self.predicate(Define, d);
            }
            Op::Lane(index) => {
                let op = &mut program.lane_ops[*index as usize];
                for argument in &mut op.arguments {
                    self.register(Use, argument);
                }
                self.register(Define, &mut op.destination);
                if let Some(carry) = &mut op.carry_out {
                    self.predicate(Define, carry);
                }
            }
            Op::LocalAddress(d, _) => self.reg64(Define, d),
            Op::Load(index) => {
                let load = &mut program.loads[*index as usize];
                self.base(&mut load.address.base);
                for destination in load.destinations.iter_mut().flatten() {
                    self.register(Define, destination);
                }
                if let &[single] = load.destinations.as_slice() {
                    load.single = single;
                }
            }
            Op::Store(index) => {
                let store = &mut program.stores[*index as usize];
                self.base(&mut store.address.base);
                for source in &mut store.sources {
                    self.register(Use, source);
                }
            }
            Op::Atomic(index) => {
                let atomic = &mut program.atomics[*index as usize];
                self.base(&mut atomic.address.base);
                self.register(Use, &mut atomic.operand);
                if let Some(second) = &mut atomic.second {
                    self.register(Use, second);
                }
                if let Some(destination) = &mut atomic.destination {
                    self.register(Define, destination);
                }
            }
            Op::WideAtomic(index) => {
                let atomic = &mut program.wide_atomics[*index as usize];
                self.base(&mut atomic.address.base);
                for reg in [&mut atomic.operand, &mut atomic.second]
                    .into_iter()
                    .flatten()
                    .flatten()
                {
                    self.reg64(Use, reg);
                }
                for reg in atomic.destination.iter_mut().flatten() {
                    self.reg64(Define, reg);
                }
            }
            Op::Alloca(index) => {
                let alloca = &mut program.allocas[*index as usize];
                self.register(Use, &mut alloca.bytes);
                let before = alloca.taken;
                self.reg32(Use, &mut alloca.taken);
                alloca.taken = before;
                self.reg32(Define, &mut alloca.taken);
                self.register(Define, &mut alloca.destination);
            }
            Op::MapEdit(index) => {
                let edit = &mut program.map_edits[*index as usize];
                self.base(&mut edit.map.base);
                match &mut edit.action {
                    MapAction::Replace(_, _, value) => self.register(Use, value),
                    MapAction::CopyFrom(from) => self.base(&mut from.base),
                }
            }
            Op::Shuffle(index) => {
                let shuffle = &mut program.shuffles[*index as usize];
                self.reg32(Use, &mut shuffle.value);
                self.reg32(Use, &mut shuffle.lane);
                self.reg32(Use, &mut shuffle.clamp);
                self.reg32(Define, &mut shuffle.destination);
                if let Some(in_range) = &mut shuffle.in_range {
                    self.predicate(Define, in_range);
                }
            }
            Op::Vote(_, d, a) => {
                self.predicate(Use, a);
                self.register(Define, d);
            }
            Op::MatchAny(d, a) => {
                self.register(Use, a);
                self.reg32(Define, d);
            }
            Op::MatchAll(d, agree, a) => {
                self.register(Use, a);
                self.reg32(Define, d);
                if let Some(agree) = agree {
                    self.predicate(Define, agree);
                }
            }
            Op::Reduce(_, d, a) => {
                self.reg32(Use, a);
                self.reg32(Define, d);
            }
            Op::Elect(d, p) => {
                if let Some(d) = d {
                    self.reg32(Define, d);
                }
                self.predicate(Define, p);
            }
            Op::ActiveMask(d) => self.reg32(Define, d),
            Op::ReadTimer(_, d) => self.register(Define, d),
            Op::Matrix(index) => self.matrix(&mut program.matrices[*index as usize]),
            Op::AsyncCopy(index) => {
                let copy = &mut program.async_copies[*index as usize];
                self.base(&mut copy.to.base);
                self.base(&mut copy.from.base);
                if let Some(bytes) = &mut copy.source_bytes {
                    self.reg32(Use, bytes);
                }
                if let Some(ignore) = &mut copy.ignore {
                    self.predicate(Use, ignore);
                }
            }
            Op::Texture(index) => self.texture(&mut program.textures[*index as usize]),
            Op::System(index) => {
                let call = &mut program.system_calls[*index as usize];
                for argument in &mut call.arguments {
                    self.reg32(Use, argument);
                }
                for result in &mut call.results {
                    self.reg32(Define, result);
                }
            }
            Op::Fence | Op::Nothing | Op::AsyncCommit | Op::AsyncWait(_) => {}
            Op::WarpgroupCommit | Op::BulkCommit => {}
        }
    }

    fn texture(&mut self, op: &mut TextureOp) {
        use Role::{Define, Use};
        self.reg64(Use, &mut op.handle);
        if let Some(sampler) = &mut op.sampler {
            self.reg64(Use, sampler);
        }
        for reg in op.coordinates.iter_mut().chain(&mut op.offsets) {
            self.reg32(Use, reg);
        }
        match &mut op.level {
            Level::Base => {}
            Level::Given(reg) | Level::Number(reg) => self.reg32(Use, reg),
            Level::Gradient(directions) => {
                for reg in directions.iter_mut().flatten() {
                    self.reg32(Use, reg);
                }
            }
        }
        for source in &mut op.sources {
            self.register(Use, source);
        }
        for destination in op.destinations.iter_mut().flatten() {
            self.register(Define, destination);
        }
        if let Some(resident) = &mut op.resident {
            self.predicate(Define, resident);
        }
    }

    fn matrix(&mut self, matrix: &mut Matrix) {
        use Role::{Define, Use};
        match matrix {
            Matrix::Move(matrices) => {
                self.base(&mut matrices.address.base);
                let role = if matrices.stores { Use } else { Define };
                for reg in &mut matrices.registers {
                    self.reg32(role, reg);
                }
            }
            Matrix::Transpose(to, from) => {
                self.reg32(Use, from);
                self.reg32(Define, to);
            }
            Matrix::WmmaMove(moved) => {
                self.base(&mut moved.address.base);
                if let Some(stride) = &mut moved.stride {
                    self.reg32(Use, stride);
                }
                let role = if moved.stores { Use } else { Define };
                for register in &mut moved.registers {
                    self.register(role, register);
                }
            }
            Matrix::Wmma(product) => {
                let sources = product.a.iter_mut().chain(&mut product.b);
                for register in sources.chain(&mut product.c) {
                    self.register(Use, register);
                }
                for register in &mut product.d {
                    self.register(Define, register);
                }
            }
            Matrix::Mma(product) => {
                for register in product.sources() {
                    self.register(Use, register);
                }
                for register in &mut product.d {
                    self.register(Define, register);
                }
            }
            Matrix::Wgmma(product) => self.wgmma(product),
        }
    }

    fn wgmma(&mut self, product: &mut Wgmma) {
        use Role::{Define, Use};
        match &mut product.a {
            WgmmaA::Shared { descriptor, .. } => self.reg64(Use, descriptor),
            WgmmaA::Registers(registers) => {
                for register in registers {
                    self.register(Use, register);
                }
            }
        }
        self.reg64(Use, &mut product.b);
        self.predicate(Use, &mut product.keep);
        if let Some(sparsity) = &mut product.sparsity {
            self.register(Use, &mut sparsity.metadata);
        }
        // One register holds an element of the accumulators before and after.
        for register in &mut product.d {
            let before = *register;
            self.register(Use, register);
            *register = before;
            self.register(Define, register);
        }
    }

    fn terminator(&mut self, terminator: &mut Terminator) {
        use Role::{Define, Use};
        match terminator {
            Terminator::Branch { predicate, .. } => self.predicate(Use, predicate),
            Terminator::Switch { index, .. } => self.reg32(Use, index),
            Terminator::Call(call) => {
                let Call {
                    target,
                    arguments,
                    results,
                    ..
                } = call.as_mut();
                if let CallTarget::Indirect(address) = target {
                    self.reg64(Use, address);
                }
                for argument in arguments {
                    self.reg32(Use, argument);
                }
                for result in results {
                    self.reg32(Define, result);
                }
            }
            Terminator::Barrier(barrier) => {
                let Barrier {
                    kind,
                    id,
                    threads,
                    source,
                    ..
                } = barrier.as_mut();
                self.reg32(Use, id);
                if let Some(threads) = threads {
                    self.reg32(Use, threads);
                }
                if let Some(source) = source {
                    self.predicate(Use, source);
                }
                match kind {
                    BarrierKind::Sync | BarrierKind::Arrive => {}
                    BarrierKind::Count(d) => self.reg32(Define, d),
                    BarrierKind::And(d) | BarrierKind::Or(d) => self.predicate(Define, d),
                }
            }
            Terminator::BarrierObject(object) => self.barrier_object(object),
            Terminator::BulkCopy(copy) => {
                match &mut copy.data {
                    BulkData::Box(map, coordinates) => {
                        self.base(&mut map.base);
                        for coordinate in coordinates {
                            self.reg32(Use, coordinate);
                        }
                    }
                    BulkData::Bytes(other, bytes) => {
                        self.base(&mut other.base);
                        self.reg32(Use, bytes);
                    }
                    BulkData::Values(values, _) => {
                        for value in values {
                            self.register(Use, value);
                        }
                    }
                }
                self.base(&mut copy.shared.base);
                if let BulkDirection::Load { barrier, blocks } = &mut copy.direction {
                    self.base(&mut barrier.base);
                    if let Some(blocks) = blocks {
                        self.reg32(Use, blocks);
                    }
                }
            }
            Terminator::Tensor(instruction) => self.tensor(instruction),
            Terminator::BulkWait { .. }
            | Terminator::WarpgroupWait { .. }
            | Terminator::ClusterArrive { .. }
            | Terminator::ClusterWait { .. }
            | Terminator::Jump(_)
            | Terminator::Return
            | Terminator::Exit
            | Terminator::Trap => {}
        }
    }

    fn tensor(&mut self, instruction: &mut TensorInstruction) {
        use Role::{Define, Use};
        for address in instruction.addresses() {
            self.base(&mut address.base);
        }
        let (words, doubles, predicates) = instruction.sources();
        for reg in words {
            self.reg32(Use, reg);
        }
        for reg in doubles {
            self.reg64(Use, reg);
        }
        for predicate in predicates {
            self.predicate(Use, predicate);
        }
        for reg in instruction.destinations() {
            self.reg32(Define, reg);
        }
    }

    fn barrier_object(&mut self, object: &mut BarrierObject) {
        use Role::{Define, Use};
        self.base(&mut object.address.base);
        match &mut object.action {
            BarrierAction::Init(reg)
            | BarrierAction::Expect(reg)
            | BarrierAction::Complete(reg) => self.reg32(Use, reg),
            BarrierAction::Arrive {
                state,
                count,
                expect,
                ..
            } => {
                for reg in [count, expect].into_iter().flatten() {
                    self.reg32(Use, reg);
                }
                if let Some(state) = state {
                    self.reg64(Define, state);
                }
            }
            BarrierAction::Wait { done, phase, .. } => {
                match phase {
                    Phase::State(state) => self.reg64(Use, state),
                    Phase::Parity(parity) => self.reg32(Use, parity),
                }
                self.predicate(Define, done);
            }
            BarrierAction::Invalidate | BarrierAction::ArriveAfterCopies { .. } => {}
        }
    }
}
