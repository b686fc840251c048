//! Finds loads of which observers can be notified by one event.

use std::collections::BTreeMap;

use super::builder::BlockDraft;
use crate::ir::{GroupedLoad, InstructionId, Op, Program};

/// Collects the loads of each base register of the block if no other access to memory is between
/// the first and the last of them: then it makes no difference when they are reported.
pub(super) fn note(draft: &BlockDraft, program: &mut Program) {
    let mut stretch = 0;
    let mut found: BTreeMap<u32, (u32, bool, Vec<GroupedLoad>)> = BTreeMap::new();
    for inst in &draft.insts {
        match inst.op {
            Op::Load(index) => {
                let load = &program.loads[index as usize];
                let group = found.entry(load.address.offsets);
                let (first, fits, loads) = group.or_insert((stretch, true, Vec::new()));
                *fits &= load.plain && *first == stretch;
                loads.push(GroupedLoad {
                    instruction: InstructionId(inst.info),
                    offset: load.address.offset,
                    bytes: load.bytes * load.destinations.len() as u32,
                });
            }
            op if is_of_registers(op) => {}
            _ => stretch += 1,
        }
    }
    program
        .groups
        .resize_with(program.lane_offsets as usize + 1, Vec::new);
    for (offsets, (_, fits, loads)) in found {
        if offsets != 0 && fits {
            program.groups[offsets as usize] = loads;
        }
    }
}

/// Whether an operation has to do with nothing but its lanes' registers.
fn is_of_registers(op: Op) -> bool {
    matches!(
        op,
        Op::Move32(..)
            | Op::Move64(..)
            | Op::MovePredicate(..)
            | Op::Unary32(..)
            | Op::Unary64(..)
            | Op::Binary32(..)
            | Op::Binary64(..)
            | Op::Shift32(..)
            | Op::Shift64(..)
            | Op::Ternary32(..)
            | Op::Ternary64(..)
            | Op::MulWide(..)
            | Op::MulAddWide(..)
            | Op::Widen(..)
            | Op::Narrow(..)
            | Op::Pack(..)
            | Op::Unpack(..)
            | Op::Compare32(..)
            | Op::Compare64(..)
            | Op::Select32(..)
            | Op::Select64(..)
            | Op::PredicateBinary(..)
            | Op::PredicateNot(..)
            | Op::Lane(_)
            | Op::Nothing
    )
}
