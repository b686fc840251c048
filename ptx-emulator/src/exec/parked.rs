//! Blocks of an ordinary launch that wait for others.
//!
//! A GPU runs many blocks at once, and programs rely on it: barriers of the whole grid that are
//! made of atomics, or chains of blocks in which an earlier one waits for a later one. A worker
//! runs its blocks one after the other, so that the first that waits would never end. So one that
//! has run for long, in a kernel that may wait for memory, is put aside, and the worker goes on
//! with the next.

use std::collections::VecDeque;

use super::Launch;
use super::block::Worker;
use super::cluster::Peer;
use super::cooperative::resident_bytes;
use crate::error::Fault;
use crate::ir::Program;
use crate::observer::EventSink;

/// The instructions of its warps after which a block is put aside: half a millisecond.
const QUANTUM: u64 = 1 << 16;

/// Most bytes of the blocks that a worker has put aside, and most blocks.
const MAX_BYTES: u64 = 512 << 20;
const MAX_BLOCKS: u64 = 1 << 13;

/// How a group of blocks has come to a halt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Halt {
    /// It has ended, or the launch was stopped.
    Ended,
    /// It has run for long, and may wait for other blocks.
    PutAside,
}

/// A block that has been put aside.
struct Waiting {
    state: Peer,
    index: u64,
    printed: Vec<u8>,
}

/// The blocks that a worker has put aside.
pub(super) struct Parked {
    waiting: VecDeque<Waiting>,
    /// States of blocks that have ended.
    spare: Vec<Peer>,
    most: usize,
}

/// Whether threads of a kernel may wait for what others write to global memory: it has atomics, or
/// strong loads.
fn may_wait(program: &Program) -> bool {
    let has_atomics = !program.atomics.is_empty() || !program.wide_atomics.is_empty();
    has_atomics || program.loads.iter().any(|load| load.strong)
}

impl Parked {
    /// None where blocks of the launch are not put aside. Those of a cluster and of a cooperative
    /// launch run in turn anyway, and observers of accesses and steps see one block at a time.
    pub(super) fn of<O: EventSink>(launch: &Launch<'_>, observer: &O) -> Option<Self> {
        let observes = O::ACCESSES || O::ASYNC_ACCESSES || O::WARP_SYNCS || observer.steps();
        let program = &launch.kernel.0.program;
        if observes || launch.group_blocks() != 1 || launch.blocks() == 1 || !may_wait(program) {
            return None;
        }
        let of_block = resident_bytes(program, launch.threads.into(), launch.shared_bytes);
        Some(Parked {
            waiting: VecDeque::new(),
            spare: Vec::new(),
            most: (MAX_BYTES / of_block.max(1)).clamp(1, MAX_BLOCKS) as usize,
        })
    }

    pub(super) fn has_room(&self) -> bool {
        self.waiting.len() < self.most
    }
}

impl<O: EventSink> Worker<'_, '_, O> {
    /// Whether the block has run for so long that another one should.
    #[inline]
    pub(super) fn is_due(&self, since: u64) -> bool {
        self.may_park && self.issued() - since >= QUANTUM
    }

    /// Puts the running block aside.
    pub(super) fn park(&mut self, parked: &mut Parked) {
        let spare = parked.spare.pop();
        let mut state = spare.unwrap_or_else(|| Peer::new(self.launch));
        self.trade(&mut state);
        parked.waiting.push_back(Waiting {
            state,
            index: self.group_index,
            printed: std::mem::take(&mut self.printed),
        });
    }

    /// Goes on with the block that was put aside first. None if there is none.
    pub(super) fn run_parked(
        &mut self,
        parked: &mut Parked,
    ) -> Option<(u64, Result<Halt, Box<Fault>>)> {
        let mut next = parked.waiting.pop_front()?;
        self.trade(&mut next.state);
        parked.spare.push(next.state);
        self.group_index = next.index;
        self.printed = next.printed;
        let outcome = match self.launch.is_stopped(next.index) {
            true => Ok(Halt::Ended),
            false => self.run_on(),
        };
        Some((next.index, outcome))
    }
}
