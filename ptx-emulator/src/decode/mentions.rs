//! The registers that a function's operations mention, as one list: analyses of all of them read
//! this instead of the operations.

use super::allocate::Numbering;
use super::builder::BlockDraft;
use super::registers::{Role, Visitor};
use crate::ir::{Program, Register};

/// What an operation has to do with a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mention {
    Use,
    /// A guarded operation writes the register later: lanes that do not execute it keep the old
    /// value.
    Keep,
    Define,
}

/// All mentions of registers, by number, in execution order within each block.
pub(super) struct Mentions {
    all: Vec<(Mention, u32)>,
    /// Where those of each block end.
    ends: Vec<u32>,
}

impl Mentions {
    pub(super) fn of(
        drafts: &mut [BlockDraft],
        program: &mut Program,
        numbering: &Numbering,
    ) -> Self {
        let operations: usize = drafts.iter().map(|draft| draft.insts.len()).sum();
        // Most operations mention so few registers.
        let mut all = Vec::with_capacity(4 * operations);
        let mut ends = Vec::with_capacity(drafts.len());
        let mut kept = Vec::new();
        for draft in drafts {
            if let Some(members) = &mut draft.members {
                noting(&mut all, numbering).members(members);
            }
            for inst in &mut draft.insts {
                if let Some(guard) = &mut inst.guard {
                    noting(&mut all, numbering).guard(&mut guard.predicate);
                }
                let first = all.len();
                noting(&mut all, numbering).op(&mut inst.op, program);
                if inst.guard.is_some() {
                    let written = all[first..].iter();
                    let written = written.filter(|(mention, _)| *mention == Mention::Define);
                    kept.extend(written.map(|&(_, number)| (Mention::Keep, number)));
                    all.splice(first..first, kept.drain(..));
                }
            }
            if let Some((terminator, _)) = &mut draft.terminator {
                noting(&mut all, numbering).terminator(terminator);
            }
            ends.push(all.len() as u32);
        }
        Mentions { all, ends }
    }

    pub(super) fn all(&self) -> &[(Mention, u32)] {
        &self.all
    }

    /// Those of one block after the other.
    pub(super) fn blocks(&self) -> impl Iterator<Item = &[(Mention, u32)]> {
        let mut start = 0;
        self.ends.iter().map(move |&end| {
            let mentions = &self.all[start..end as usize];
            start = end as usize;
            mentions
        })
    }
}

/// Adds the registers that it sees to a list.
fn noting<'l>(
    all: &'l mut Vec<(Mention, u32)>,
    numbering: &'l Numbering,
) -> Visitor<impl FnMut(Role, Register) -> Register + 'l> {
    Visitor(|role, register| {
        let mention = match role {
            Role::Use => Mention::Use,
            Role::Define => Mention::Define,
        };
        all.push((mention, numbering.of(register) as u32));
        register
    })
}
