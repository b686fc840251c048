//! Registers of `tcgen05.ld` that are used without a `tcgen05.wait::ld` (PTX ISA, "tcgen05.wait").
//!
//! Compilers may move arithmetic on such registers in front of the wait, and GPUs wait for them
//! then. What a thread does to memory or decides on is not moved: that counts as a use.

use rustc_hash::FxHashMap;

use super::allocate::Numbering;
use super::builder::BlockDraft;
use super::layout::successors;
use super::registers::{Role, Visitor};
use crate::ir::{
    InstructionId, Matrix, Op, Program, Register, TensorAction, TensorInstruction, Terminator,
};

/// By number of a register: the load from which its value comes.
type Loaded = FxHashMap<u32, u32>;

/// Notes for each load an instruction that uses its registers too early.
pub(super) fn note(drafts: &mut [BlockDraft], program: &mut Program, numbering: &Numbering) {
    if !drafts.iter().any(|draft| loads(draft).is_some()) {
        return;
    }
    let mut entries: Vec<Option<Loaded>> = vec![None; drafts.len()];
    entries[0] = Some(Loaded::default());
    let mut pending = vec![0];
    let mut early = FxHashMap::default();
    while let Some(at) = pending.pop() {
        let mut pass = Pass {
            loaded: entries[at].clone().unwrap_or_default(),
            early: &mut early,
            numbering,
        };
        pass.block(&mut drafts[at], program);
        let leaving = pass.loaded;
        let Some((terminator, _)) = &drafts[at].terminator else {
            continue;
        };
        for next in successors(terminator) {
            if join(&mut entries[next as usize], &leaving) {
                pending.push(next as usize);
            }
        }
    }
    for draft in drafts {
        let info = draft.terminator.as_ref().and_then(|(_, info)| *info);
        let used = info.and_then(|info| early.get(&info).copied());
        if let Some(used_early) = used.map(InstructionId)
            && let Some((Terminator::Tensor(instruction), _)) = &mut draft.terminator
            && let TensorAction::Move(moved) = &mut instruction.action
        {
            moved.used_early = Some(used_early);
        }
    }
}

/// The load that a block ends with.
fn loads(draft: &BlockDraft) -> Option<u32> {
    match &draft.terminator {
        Some((Terminator::Tensor(instruction), info)) => match &instruction.action {
            TensorAction::Move(moved) if !moved.stores => *info,
            _ => None,
        },
        _ => None,
    }
}

/// Adds what a predecessor leaves to what a block begins with; whether it knows more now.
fn join(entry: &mut Option<Loaded>, leaving: &Loaded) -> bool {
    let Some(known) = entry else {
        *entry = Some(leaving.clone());
        return true;
    };
    let before = known.len();
    for (&register, &load) in leaving {
        known.entry(register).or_insert(load);
    }
    known.len() > before
}

/// One pass over a block.
struct Pass<'p> {
    loaded: Loaded,
    /// By load: the first use that was found.
    early: &'p mut FxHashMap<u32, u32>,
    numbering: &'p Numbering,
}

impl Pass<'_> {
    fn block(&mut self, draft: &mut BlockDraft, program: &mut Program) {
        for inst in &mut draft.insts {
            if self.loaded.is_empty() {
                break;
            }
            let (mut used, mut defined) = (Vec::new(), Vec::new());
            let mut visitor = Visitor(|role, register| {
                match role {
                    Role::Use => used.push(register),
                    Role::Define => defined.push(register),
                }
                register
            });
            if let Some(guard) = &mut inst.guard {
                visitor.guard(&mut guard.predicate);
            }
            visitor.op(&mut inst.op, program);
            let from = self.source(&used);
            if let (Some(load), true) = (from, writes_memory(inst.op, program)) {
                self.early.entry(load).or_insert(inst.info);
            }
            // A guarded operation may leave the old value.
            self.define(&defined, from, inst.guard.is_some());
        }
        if let Some((terminator, info)) = &mut draft.terminator {
            self.terminator(terminator, *info);
        }
    }

    fn terminator(&mut self, terminator: &mut Terminator, info: Option<u32>) {
        if let Terminator::Tensor(instruction) = terminator
            && let TensorInstruction {
                action: TensorAction::Wait { stores: false },
                ..
            } = **instruction
        {
            self.loaded.clear();
            return;
        }
        let (mut used, mut defined) = (Vec::new(), Vec::new());
        Visitor(|role, register| {
            match role {
                Role::Use => used.push(register),
                Role::Define => defined.push(register),
            }
            register
        })
        .terminator(terminator);
        match terminator {
            // The function that is called may wait.
            Terminator::Call(_) => self.loaded.clear(),
            _ => {
                if let (Some(load), Some(info)) = (self.source(&used), info) {
                    self.early.entry(load).or_insert(info);
                }
                self.define(&defined, None, false);
            }
        }
        if let (Terminator::Tensor(instruction), Some(info)) = (terminator, info)
            && let TensorAction::Move(moved) = &instruction.action
            && !moved.stores
        {
            let reduced = moved.reduces.iter().map(|(_, reduced)| reduced);
            for &register in moved.registers.iter().chain(reduced) {
                let number = self.numbering.of(Register::Reg32(register)) as u32;
                self.loaded.insert(number, info);
            }
        }
    }

    /// The load that one of the registers depends on.
    fn source(&self, used: &[Register]) -> Option<u32> {
        let numbers = used
            .iter()
            .map(|&register| self.numbering.of(register) as u32);
        numbers
            .into_iter()
            .find_map(|number| self.loaded.get(&number).copied())
    }

    fn define(&mut self, defined: &[Register], from: Option<u32>, keeps: bool) {
        for &register in defined {
            let number = self.numbering.of(register) as u32;
            match from {
                Some(load) => _ = self.loaded.insert(number, load),
                None if !keeps => _ = self.loaded.remove(&number),
                None => {}
            }
        }
    }
}

fn writes_memory(op: Op, program: &Program) -> bool {
    match op {
        Op::Store(_) | Op::Atomic(_) | Op::WideAtomic(_) | Op::System(_) | Op::MapEdit(_) => true,
        Op::Matrix(index) => match &program.matrices[index as usize] {
            Matrix::Move(moved) => moved.stores,
            Matrix::WmmaMove(moved) => moved.stores,
            _ => false,
        },
        _ => false,
    }
}
