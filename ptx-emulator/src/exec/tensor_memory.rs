//! `tcgen05`: tensor memory, and the MMAs on it (PTX ISA, "TensorCore 5th Generation Family
//! Instructions").
//!
//! Loads and stores are executed when they are issued. MMAs and copies from shared memory are
//! executed as late as PTX allows: in the order of their issue, when no thread can go on without
//! the mbarrier at which a `tcgen05.commit` behind them arrives. A kernel that does not wait for
//! them computes a wrong result.

mod columns;
mod issue;
mod moves;
mod product;
mod queue;
mod shape;
mod unfinished;

use std::collections::VecDeque;

use super::access::lane_addresses;
use super::block::Worker;
use super::mbarrier::registers;
use super::run::{Outcome, RawFault};
use super::vector::LANES;
use super::warp::State;
use crate::address_space::{of_cluster, space_of, window};
use crate::error::{AccessFault, Fault, FaultKind};
use crate::ir::{
    AccessKind, Address, Reg32, Space, TensorAction, TensorInstruction, TensorMove, Terminator,
};
use crate::observer::EventSink;
use columns::{Columns, TensorAddress};
use queue::{Issued, Reads};
use unfinished::UnfinishedMove;

/// The tensor memory of a block, and what has been issued on it.
#[derive(Debug, Default)]
pub(super) struct TensorMemory {
    columns: Columns,
    /// Whether a thread has given up the right to take columns.
    relinquished: bool,
    queue: VecDeque<Issued>,
    /// What executed operations have read, and no commit has signalled.
    done: Vec<Reads>,
    /// Loads and stores that no wait has followed; for observers.
    moves: Vec<UnfinishedMove>,
}

/// A fault of a lane.
fn wrong(lane: usize) -> impl Fn(String) -> Box<RawFault> {
    move |message| {
        Box::new(RawFault {
            kind: FaultKind::BadTensor(message),
            lane: Some(lane),
        })
    }
}

impl<O: EventSink> Worker<'_, '_, O> {
    /// Lanes execute an instruction.
    pub(super) fn tensor_instruction(
        &mut self,
        index: usize,
        at: usize,
        instruction: &TensorInstruction,
        info: u32,
    ) -> Outcome {
        let mask = self.warps[index].splits[at].mask;
        match &instruction.action {
            TensorAction::Allocate { to, columns } => {
                self.whole_warp(mask)?;
                if !self.take_columns(index, at, (to, *columns), info)? {
                    self.warps[index].splits[at].state = State::Columns;
                    return Ok(());
                }
            }
            TensorAction::Free { address, columns } => {
                self.whole_warp(mask)?;
                let words = [address, columns].map(|reg| self.uniform_word(index, at, *reg));
                let [address, columns] = words;
                let (address, columns) = (address?, columns?);
                Columns::check_count(columns).map_err(wrong(0))?;
                self.tensor_mut()
                    .columns
                    .free(address, columns)
                    .map_err(wrong(0))?;
                self.warps[index].splits[at].block = instruction.next;
                return self.wake_for_columns();
            }
            TensorAction::Relinquish => {
                self.whole_warp(mask)?;
                self.tensor_mut().relinquished = true;
            }
            TensorAction::Move(moved) => {
                self.whole_warp(mask)?;
                self.move_words(index, at, moved, info)?;
            }
            TensorAction::Wait { stores } => {
                self.whole_warp(mask)?;
                if let Some(tensor) = &mut self.tensor {
                    let moves = &mut tensor.moves;
                    moves.retain(|moved| (moved.warp, moved.stores) != (index, *stores));
                }
            }
            _ => self.issue(index, at, instruction, info)?,
        }
        self.warps[index].splits[at].block = instruction.next;
        Ok(())
    }

    fn tensor_mut(&mut self) -> &mut TensorMemory {
        self.tensor.get_or_insert_default()
    }

    /// Instructions of a warp must be executed by all of its lanes.
    fn whole_warp(&self, mask: u32) -> Outcome {
        match mask {
            u32::MAX => Ok(()),
            _ => Err(Box::new(RawFault {
                kind: FaultKind::PartialWarp(mask),
                lane: None,
            })),
        }
    }

    /// The one value that all lanes have.
    fn uniform(&self, values: &[u64; LANES]) -> Result<u32, Box<RawFault>> {
        match values.iter().position(|value| *value != values[0]) {
            None => Ok(values[0] as u32),
            Some(lane) => {
                let message = format!(
                    "lanes give different operands for tensor memory: {:#x} and {:#x}",
                    values[0], values[lane]
                );
                Err(wrong(lane)(message))
            }
        }
    }

    fn uniform_word(&mut self, index: usize, at: usize, reg: Reg32) -> Result<u32, Box<RawFault>> {
        let split = self.warps[index].splits[at];
        let frame = self.warps[index].frames[split.frame as usize];
        let r = registers(&mut self.warps[index], &frame);
        let values = r.regs32[reg.0 as usize].map(u64::from);
        self.uniform(&values)
    }

    /// The lanes' values of an address.
    fn tensor_addresses(&mut self, index: usize, at: usize, address: &Address) -> [u64; LANES] {
        let split = self.warps[index].splits[at];
        let frame = self.warps[index].frames[split.frame as usize];
        let r = registers(&mut self.warps[index], &frame);
        lane_addresses(&r, frame.local_base, address)
    }

    /// `alloc`, by a whole warp; false, with nothing done, where too few columns are free.
    fn take_columns(
        &mut self,
        index: usize,
        at: usize,
        (to, columns): (&Address, Reg32),
        info: u32,
    ) -> Result<bool, Box<RawFault>> {
        let columns = self.uniform_word(index, at, columns)?;
        Columns::check_count(columns).map_err(wrong(0))?;
        let addresses = self.tensor_addresses(index, at, to);
        let mut address = u64::from(self.uniform(&addresses)?);
        if to.space == Space::Generic {
            let (generic, base) = (
                addresses[0],
                window(Space::Shared).map_or(0, |(base, _)| base),
            );
            if space_of(generic) != Space::Shared {
                let message = format!(
                    "the address of columns goes to {} memory; it must be shared memory",
                    space_of(generic)
                );
                return Err(wrong(0)(message));
            }
            address = of_cluster(generic - base).1;
        }
        self.check_word(address)?;
        let tensor = self.tensor_mut();
        if tensor.relinquished {
            let message = "columns of tensor memory are taken after relinquish_alloc_permit";
            return Err(wrong(0)(message.to_string()));
        }
        let Some(first) = tensor.columns.take(columns, info, index) else {
            return Ok(false);
        };
        let access = (AccessKind::Store, 4, false);
        self.observe_shared(index, access, 1, &[address; LANES], info);
        self.shared[address as usize / 4] = first;
        Ok(true)
    }

    /// Whether a word of shared memory is there.
    fn check_word(&self, address: u64) -> Outcome {
        let length = u64::from(self.launch.shared_bytes);
        let aligned = address.is_multiple_of(4);
        if aligned && address.checked_add(4).is_some_and(|end| end <= length) {
            return Ok(());
        }
        let access = AccessFault {
            access: AccessKind::Store,
            space: Space::Shared,
            address,
            bytes: 4,
            nearest: format!("the block has {length} bytes"),
        };
        Err(Box::new(RawFault {
            kind: match aligned {
                true => FaultKind::OutOfBounds(access),
                false => FaultKind::Misaligned(access),
            },
            lane: Some(0),
        }))
    }

    /// Lets warps go on that wait for columns, as far as there are enough now.
    fn wake_for_columns(&mut self) -> Outcome {
        let program = self.program();
        for index in 0..self.warps.len() {
            for at in 0..self.warps[index].splits.len() {
                let split = self.warps[index].splits[at];
                let block = &program.blocks[split.block as usize];
                let (State::Columns, Terminator::Tensor(instruction)) =
                    (split.state, &block.terminator)
                else {
                    continue;
                };
                let TensorAction::Allocate { to, columns } = &instruction.action else {
                    continue;
                };
                let info = block.terminator_info.unwrap_or(u32::MAX);
                if self.take_columns(index, at, (to, *columns), info)? {
                    let split = &mut self.warps[index].splits[at];
                    split.state = State::Ready;
                    split.block = instruction.next;
                }
            }
        }
        Ok(())
    }

    /// `ld` and `st`.
    fn move_words(&mut self, index: usize, at: usize, moved: &TensorMove, info: u32) -> Outcome {
        let addresses = self.tensor_addresses(index, at, &moved.address);
        let place = TensorAddress::of(self.uniform(&addresses)?);
        let place = moves::in_quarter(place, index as u32);
        if O::ASYNC_ACCESSES {
            self.observe_move(index, moved, place, info);
        }
        let split = self.warps[index].splits[at];
        let frame = self.warps[index].frames[split.frame as usize];
        let tensor = self.tensor.get_or_insert_default();
        moves::check(&tensor.columns, moved, place, index as u32).map_err(wrong(0))?;
        let r = registers(&mut self.warps[index], &frame);
        match moved.stores {
            true => moves::store(&mut tensor.columns, moved, place, r.regs32),
            false => moves::load(&tensor.columns, moved, place, r.regs32),
        }
        Ok(())
    }

    /// What is left when the block ends: operations without a commit, and columns.
    pub(super) fn finish_tensor(&mut self) -> Result<(), Box<Fault>> {
        if self.tensor.is_none() {
            return Ok(());
        }
        while self.advance_tensor()? {}
        let left = self
            .tensor
            .as_ref()
            .and_then(|tensor| tensor.columns.left());
        match left {
            None => Ok(()),
            Some(taken) => {
                let message = format!(
                    "{} columns of tensor memory are not given back when the block ends: \
                     tcgen05.dealloc does",
                    taken.columns
                );
                Err(self.fault(*wrong(0)(message), Some(taken.warp), Some(taken.info)))
            }
        }
    }
}
