//! Blocks of an ordinary launch that wait for others.
//!
//! A GPU runs many blocks at once, and programs rely on it: barriers of the whole grid that are
//! made of atomics, or chains of blocks in which an earlier one waits for a later one. A worker
//! runs its blocks one after the other, so that the first that waits would never end. So one that
//! has run for long, in a kernel that may wait for memory, is put aside, and the worker goes on
//! with the next.
//!
//! Each block that has been put aside keeps an observer of its own, as if it ran on another worker:
//! what observers see of several workers does not depend on their number. That takes memory, so
//! under an observer of accesses a block is put aside where it does nothing but poll.

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

/// The same for a block that polls and writes, under an observer of accesses: it may poll in a loop
/// that writes something.
const LONG_QUANTUM: u64 = 16 * QUANTUM;

/// Most bytes of the blocks that a worker has put aside, the same with those of their observers,
/// and most blocks.
const MAX_BYTES: u64 = 512 << 20;
const MAX_OBSERVED_BYTES: u64 = 1 << 30;
const MAX_BLOCKS: u64 = 1 << 13;

/// Bytes that an observer keeps of each byte of global memory, at most: those of racecheck.
const SHADOW_BYTES: u64 = 8;

/// How a group of blocks has come to a halt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Halt {
    /// It has ended, or the launch was stopped.
    Ended,
    /// It has run for long, and may wait for other blocks.
    PutAside,
}

/// When a block is put aside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Patience {
    /// After a quantum.
    Short,
    /// After a quantum in which it has done nothing but poll, or after a long one in which it has
    /// polled.
    Long,
}

impl Patience {
    pub(super) fn of<O: EventSink>() -> Self {
        match O::ACCESSES {
            true => Patience::Long,
            false => Patience::Short,
        }
    }
}

/// What a block has done since it began or went on.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Activity {
    /// Where it is noted: the instructions issued before.
    since: Option<u64>,
    /// The instructions issued before the quantum that runs.
    quantum: u64,
    /// It has read by a strong load or by an atomic in this quantum, and since it went on.
    polls: bool,
    has_polled: bool,
    /// An atomic or a strong store has written something in this quantum.
    writes: bool,
}

/// A block that has been put aside.
struct Waiting<F> {
    state: Peer,
    observer: F,
    index: u64,
    printed: Vec<u8>,
}

/// The blocks that a worker has put aside.
pub(super) struct Parked<F> {
    waiting: VecDeque<Waiting<F>>,
    /// States of blocks that have ended, and their observers.
    spare: Vec<(Peer, F)>,
    most: usize,
}

/// Whether threads of a kernel may wait for what others write to global memory: it has atomics, or
/// strong loads.
fn may_wait(program: &Program) -> bool {
    let has_atomics = !program.atomics.is_empty() || !program.wide_atomics.is_empty();
    has_atomics || program.loads.iter().any(|load| load.strong)
}

impl<F> Parked<F> {
    /// None where blocks of the launch are not put aside. Those of a cluster and of a cooperative
    /// launch run in turn anyway, and observers of steps see one block at a time.
    pub(super) fn of<O: EventSink<Fork = F>>(
        launch: &Launch<'_>,
        observer: &mut O,
    ) -> Option<Self> {
        let program = &launch.kernel.0.program;
        let is_alone = launch.group_blocks() != 1 || launch.blocks() == 1;
        if observer.steps() || is_alone || !may_wait(program) {
            return None;
        }
        let of_block = resident_bytes(program, launch.threads.into(), launch.shared_bytes);
        let watched = launch.allocations.iter().map(|allocation| allocation.bytes);
        let (most, of_observer) = match O::ACCESSES {
            true => (MAX_OBSERVED_BYTES, SHADOW_BYTES * watched.sum::<u64>()),
            false => (MAX_BYTES, 0),
        };
        Some(Parked {
            waiting: VecDeque::new(),
            spare: Vec::new(),
            most: (most / (of_block + of_observer).max(1)).clamp(1, MAX_BLOCKS) as usize,
        })
    }

    pub(super) fn has_room(&self) -> bool {
        self.waiting.len() < self.most
    }

    /// No block is left: what the observers of the others have seen counts as the worker's.
    pub(super) fn end<O: EventSink<Fork = F>>(self, observer: &mut O) {
        for (_, spare) in self.spare {
            observer.take_in(spare);
        }
    }
}

impl<O: EventSink> Worker<'_, '_, O> {
    /// A block begins or goes on.
    pub(super) fn note_start(&mut self) {
        let issued = self.issued();
        self.activity = Activity {
            since: (self.patience == Some(Patience::Long)).then_some(issued),
            quantum: issued,
            ..Activity::default()
        };
    }

    /// Whether the block has run for so long that another one should.
    #[inline]
    pub(super) fn is_due(&mut self) -> bool {
        self.patience.is_some() && self.issued() - self.activity.quantum >= QUANTUM && self.waits()
    }

    /// Whether a block that has run for a quantum seems to wait for others.
    #[cold]
    fn waits(&mut self) -> bool {
        let issued = self.issued();
        let activity = &mut self.activity;
        let Some(since) = activity.since else {
            return true;
        };
        let waits = activity.polls && !activity.writes
            || activity.has_polled && issued - since >= LONG_QUANTUM;
        activity.quantum = issued;
        (activity.polls, activity.writes) = (false, false);
        waits
    }

    /// Puts the running block aside.
    pub(super) fn park(&mut self, parked: &mut Parked<O::Fork>) {
        let (mut state, mut observer) = parked
            .spare
            .pop()
            .unwrap_or_else(|| (Peer::new(self.launch), self.observer.new_fork()));
        self.trade(&mut state);
        self.observer.trade(&mut observer);
        parked.waiting.push_back(Waiting {
            state,
            observer,
            index: self.group_index,
            printed: std::mem::take(&mut self.printed),
        });
    }

    /// Goes on with the block that was put aside first. None if there is none.
    pub(super) fn run_parked(
        &mut self,
        parked: &mut Parked<O::Fork>,
    ) -> Option<(u64, Result<Halt, Box<Fault>>)> {
        let mut next = parked.waiting.pop_front()?;
        self.trade(&mut next.state);
        self.observer.trade(&mut next.observer);
        parked.spare.push((next.state, next.observer));
        self.group_index = next.index;
        self.printed = next.printed;
        let outcome = match self.launch.is_stopped(next.index) {
            true => Ok(Halt::Ended),
            false => self.run_on(),
        };
        Some((next.index, outcome))
    }
}

impl Activity {
    /// Whether it is of interest what the block does.
    pub(super) fn is_noted(&self) -> bool {
        self.since.is_some()
    }

    /// Lanes have read global memory by a strong load, or accessed it by an atomic; whether they
    /// have changed it.
    pub(super) fn note(&mut self, reads: bool, writes: bool) {
        self.polls |= reads;
        self.has_polled |= reads;
        self.writes |= writes;
    }
}
