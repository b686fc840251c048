//! Which bytes of a load matter: compilers merge loads over gaps, whose bytes are never used.

use super::allocate::Numbering;
use super::builder::BlockDraft;
use super::mentions::{Mention, Mentions};
use crate::ir::{Function, Op, Program, Register};

/// Finds for each load of a function which of its bytes reach a register that is read anywhere.
pub(super) fn mark(
    function: &Function,
    drafts: &[BlockDraft],
    program: &mut Program,
    numbering: &Numbering,
    mentions: &Mentions,
) {
    let mut read = vec![false; numbering.total()];
    for &reg in &function.results {
        read[numbering.of(Register::Reg32(reg))] = true;
    }
    for &(mention, number) in mentions.all() {
        read[number as usize] |= mention == Mention::Use;
    }
    for inst in drafts.iter().flat_map(|draft| &draft.insts) {
        let Op::Load(index) = inst.op else { continue };
        let load = &mut program.loads[index as usize];
        let element = u32::MAX >> (32 - load.bytes);
        let mut used = 0;
        for (at, destination) in load.destinations.iter().enumerate() {
            if destination.is_some_and(|register| read[numbering.of(register)]) {
                used |= element << (at as u32 * load.bytes);
            }
        }
        load.used = used;
    }
}
