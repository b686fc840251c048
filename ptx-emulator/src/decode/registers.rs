//! Which registers an operation reads and writes: the one list that liveness and renaming share.

use crate::ir::{
    AddressBase, Barrier, BarrierAction, BarrierKind, BarrierObject, BulkDirection, Call,
    CallTarget, Double, Matrix, Op, Phase, Predicate, Program, Register, Terminator,
    WarpgroupProduct, WarpgroupRows, Word,
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
    fn word(&mut self, role: Role, word: &mut Word) {
        if let Register::Word(new) = (self.0)(role, Register::Word(*word)) {
            *word = new;
        }
    }

    fn double(&mut self, role: Role, double: &mut Double) {
        if let Register::Double(new) = (self.0)(role, Register::Double(*double)) {
            *double = new;
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
            AddressBase::Word(word) => self.word(Role::Use, word),
            AddressBase::Double(double) => self.double(Role::Use, double),
            AddressBase::None | AddressBase::Frame => {}
        }
    }

    /// The registers of an operation, its guard excluded.
    pub(crate) fn op(&mut self, op: &mut Op, program: &mut Program) {
        use Role::{Define, Use};
        match op {
            Op::MoveWord(d, a) | Op::UnaryWord(_, d, a) => {
                self.word(Use, a);
                self.word(Define, d);
            }
            Op::MoveDouble(d, a) | Op::UnaryDouble(_, d, a) => {
                self.double(Use, a);
                self.double(Define, d);
            }
            Op::MovePredicate(d, a) | Op::PredicateNot(d, a) => {
                self.predicate(Use, a);
                self.predicate(Define, d);
            }
            Op::BinaryWord(_, d, a, b) | Op::ShiftWord(_, d, a, b) => {
                self.word(Use, a);
                self.word(Use, b);
                self.word(Define, d);
            }
            Op::BinaryDouble(_, d, a, b) => {
                self.double(Use, a);
                self.double(Use, b);
                self.double(Define, d);
            }
            Op::ShiftDouble(_, d, a, b) => {
                self.double(Use, a);
                self.word(Use, b);
                self.double(Define, d);
            }
            Op::TernaryWord(_, d, a, b, c) => {
                self.word(Use, a);
                self.word(Use, b);
                self.word(Use, c);
                self.word(Define, d);
            }
            Op::TernaryDouble(_, d, a, b, c) => {
                self.double(Use, a);
                self.double(Use, b);
                self.double(Use, c);
                self.double(Define, d);
            }
            Op::MulWide(_, d, a, b) | Op::Pack(d, a, b) => {
                self.word(Use, a);
                self.word(Use, b);
                self.double(Define, d);
            }
            Op::MulAddWide(_, d, a, b, c) => {
                self.word(Use, a);
                self.word(Use, b);
                self.double(Use, c);
                self.double(Define, d);
            }
            Op::Widen(_, d, a) => {
                self.word(Use, a);
                self.double(Define, d);
            }
            Op::Narrow(d, a) => {
                self.double(Use, a);
                self.word(Define, d);
            }
            Op::Unpack(low, high, a) => {
                self.double(Use, a);
                self.word(Define, low);
                self.word(Define, high);
            }
            Op::CompareWord(_, _, d, a, b) => {
                self.word(Use, a);
                self.word(Use, b);
                self.predicate(Define, d);
            }
            Op::CompareDouble(_, _, d, a, b) => {
                self.double(Use, a);
                self.double(Use, b);
                self.predicate(Define, d);
            }
            Op::SelectWord(d, a, b, p) => {
                self.word(Use, a);
                self.word(Use, b);
                self.predicate(Use, p);
                self.word(Define, d);
            }
            Op::SelectDouble(d, a, b, p) => {
                self.double(Use, a);
                self.double(Use, b);
                self.predicate(Use, p);
                self.double(Define, d);
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
            Op::LocalAddress(d, _) => self.double(Define, d),
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
            Op::Shuffle(index) => {
                let shuffle = &mut program.shuffles[*index as usize];
                self.word(Use, &mut shuffle.value);
                self.word(Use, &mut shuffle.lane);
                self.word(Use, &mut shuffle.clamp);
                self.word(Define, &mut shuffle.destination);
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
                self.word(Define, d);
            }
            Op::MatchAll(d, agree, a) => {
                self.register(Use, a);
                self.word(Define, d);
                if let Some(agree) = agree {
                    self.predicate(Define, agree);
                }
            }
            Op::Reduce(_, d, a) => {
                self.word(Use, a);
                self.word(Define, d);
            }
            Op::Elect(d, p) => {
                if let Some(d) = d {
                    self.word(Define, d);
                }
                self.predicate(Define, p);
            }
            Op::ActiveMask(d) => self.word(Define, d),
            Op::ReadTimer(_, d) => self.register(Define, d),
            Op::Matrix(index) => self.matrix(&mut program.matrices[*index as usize]),
            Op::AsyncCopy(index) => {
                let copy = &mut program.async_copies[*index as usize];
                self.base(&mut copy.to.base);
                self.base(&mut copy.from.base);
                if let Some(bytes) = &mut copy.source_bytes {
                    self.word(Use, bytes);
                }
                if let Some(ignore) = &mut copy.ignore {
                    self.predicate(Use, ignore);
                }
            }
            Op::Fence | Op::Nothing | Op::AsyncCommit | Op::AsyncWait(_) => {}
            Op::WarpgroupCommit | Op::WarpgroupWait(_) | Op::BulkCommit => {}
        }
    }

    fn matrix(&mut self, matrix: &mut Matrix) {
        use Role::{Define, Use};
        match matrix {
            Matrix::Move(matrices) => {
                self.base(&mut matrices.address.base);
                let role = if matrices.stores { Use } else { Define };
                for word in &mut matrices.registers {
                    self.word(role, word);
                }
            }
            Matrix::Product(product) => {
                let sources = product.a.iter_mut().chain(&mut product.b);
                for register in sources.chain(&mut product.c) {
                    self.register(Use, register);
                }
                for register in &mut product.d {
                    self.register(Define, register);
                }
            }
            Matrix::Warpgroup(product) => self.warpgroup_product(product),
        }
    }

    fn warpgroup_product(&mut self, product: &mut WarpgroupProduct) {
        use Role::{Define, Use};
        match &mut product.a {
            WarpgroupRows::Shared { descriptor, .. } => self.double(Use, descriptor),
            WarpgroupRows::Registers(registers) => {
                for register in registers {
                    self.register(Use, register);
                }
            }
        }
        self.double(Use, &mut product.b);
        self.predicate(Use, &mut product.keep);
        // One register holds an element of the sums before and after.
        for register in &mut product.d {
            let before = *register;
            self.register(Use, register);
            *register = before;
            self.register(Define, register);
        }
    }

    /// The registers of a terminator. What a call or a barrier writes counts as written here.
    pub(crate) fn terminator(&mut self, terminator: &mut Terminator) {
        use Role::{Define, Use};
        match terminator {
            Terminator::Branch { predicate, .. } => self.predicate(Use, predicate),
            Terminator::Switch { index, .. } => self.word(Use, index),
            Terminator::Call(call) => {
                let Call {
                    target,
                    arguments,
                    results,
                    ..
                } = call.as_mut();
                if let CallTarget::Indirect(address) = target {
                    self.double(Use, address);
                }
                for argument in arguments {
                    self.word(Use, argument);
                }
                for result in results {
                    self.word(Define, result);
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
                self.word(Use, id);
                if let Some(threads) = threads {
                    self.word(Use, threads);
                }
                if let Some(source) = source {
                    self.predicate(Use, source);
                }
                match kind {
                    BarrierKind::Sync | BarrierKind::Arrive => {}
                    BarrierKind::Count(d) => self.word(Define, d),
                    BarrierKind::And(d) | BarrierKind::Or(d) => self.predicate(Define, d),
                }
            }
            Terminator::BarrierObject(object) => self.barrier_object(object),
            Terminator::BulkCopy(copy) => {
                self.base(&mut copy.map.base);
                self.base(&mut copy.shared.base);
                for coordinate in &mut copy.coordinates {
                    self.word(Use, coordinate);
                }
                if let BulkDirection::Load { barrier, blocks } = &mut copy.direction {
                    self.base(&mut barrier.base);
                    if let Some(blocks) = blocks {
                        self.word(Use, blocks);
                    }
                }
            }
            Terminator::BulkWait { .. }
            | Terminator::ClusterArrive { .. }
            | Terminator::ClusterWait { .. }
            | Terminator::Jump(_)
            | Terminator::Return
            | Terminator::Exit
            | Terminator::Trap => {}
        }
    }

    fn barrier_object(&mut self, object: &mut BarrierObject) {
        use Role::{Define, Use};
        self.base(&mut object.address.base);
        match &mut object.action {
            BarrierAction::Init(word)
            | BarrierAction::Expect(word)
            | BarrierAction::Complete(word) => self.word(Use, word),
            BarrierAction::Arrive {
                state,
                count,
                expect,
                ..
            } => {
                for word in [count, expect].into_iter().flatten() {
                    self.word(Use, word);
                }
                if let Some(state) = state {
                    self.double(Define, state);
                }
            }
            BarrierAction::Wait { done, phase, .. } => {
                match phase {
                    Phase::State(state) => self.double(Use, state),
                    Phase::Parity(parity) => self.word(Use, parity),
                }
                self.predicate(Define, done);
            }
            BarrierAction::Invalidate | BarrierAction::ArriveAfterCopies { .. } => {}
        }
    }

    pub(crate) fn guard(&mut self, predicate: &mut Predicate) {
        self.predicate(Role::Use, predicate);
    }

    pub(crate) fn members(&mut self, members: &mut Word) {
        self.word(Role::Use, members);
    }
}
