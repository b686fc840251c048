//! Atomics on shared memory against plain reads: which nothing orders, as where a barrier is
//! missing behind a histogram.
//!
//! Atomics do not race with each other, and count as reads elsewhere. Here they are compared with
//! plain reads, in kernels that have atomics on shared memory; other kernels pay nothing.

use rustc_hash::FxHashMap;

use super::super::finding::{Actor, Example, Problem};
use super::super::shadow_memory::Origin;
use super::super::shape::{LANES, lanes};
use super::Racecheck;
use crate::ir::{AccessKind, InstructionClass, InstructionId, Space};
use crate::kernel::Kernel;
use crate::observer::{MemoryAccess, WarpContext};

/// Accesses to one word that are remembered; of more, the first ones.
const MAX_ACCESSES: usize = 64;

/// An access to a word by lanes of one warp.
#[derive(Clone, Copy, Debug)]
struct Past {
    stamp: u32,
    origin: Origin,
    lanes: u32,
    /// The bytes of the word, one bit each.
    bytes: u8,
}

/// The atomics and the plain reads of a word since the last barrier of the block.
#[derive(Clone, Debug, Default)]
struct Accesses {
    atomics: Vec<Past>,
    reads: Vec<Past>,
}

/// Words of shared memory by address.
#[derive(Clone, Debug, Default)]
pub(super) struct Updates {
    /// Whether the kernel has atomics on shared memory.
    pub(super) is_active: bool,
    words: FxHashMap<u64, Accesses>,
}

impl Updates {
    /// Those of a kernel.
    pub(super) fn of_kernel(kernel: Option<&Kernel>) -> Self {
        let is_atomic = |kernel: &Kernel, index: usize| {
            let instruction = kernel.instruction(InstructionId(index as u32));
            let is_global = instruction.opcode().split('.').any(|part| part == "global");
            instruction.class() == InstructionClass::Atomic && !is_global
        };
        let is_active = kernel.is_some_and(|kernel| {
            (0..kernel.instruction_count()).any(|index| is_atomic(kernel, index))
        });
        Updates {
            is_active,
            words: FxHashMap::default(),
        }
    }

    /// Forgets all: a barrier of the block orders them, or a block begins.
    pub(super) fn clear(&mut self) {
        self.words.clear();
    }
}

impl Racecheck {
    /// Compares an access to shared memory with those before it, and remembers it.
    #[cold]
    #[inline(never)]
    pub(super) fn note_update(&mut self, warp: &WarpContext<'_>, access: &MemoryAccess<'_>) {
        let semantics = self.semantics[access.instruction.index()];
        let is_atomic = access.kind == AccessKind::Atomic;
        let is_plain_read = access.kind == AccessKind::Load && !access.strong;
        let is_other = semantics.is_mbarrier || semantics.is_async;
        if access.space != Space::Shared || is_other || !(is_atomic || is_plain_read) {
            return;
        }
        let by = self.geometry.warp(warp);
        let own = self.geometry.shared_start(by);
        let (now, since) = (self.block.clocks.now, self.block.clocks.since);
        for lane in lanes(access.mask) {
            let first = access.addresses[lane].wrapping_add(own);
            let mut at = first;
            while at < first.saturating_add(u64::from(access.bytes)) {
                let bytes = match access.bytes {
                    1 | 2 => ((1u8 << access.bytes) - 1) << (at % 4),
                    _ => 0xf,
                };
                let origin = Origin::new(access.instruction.index(), false, by, lane as u32);
                self.compare_update(at, origin, is_atomic, bytes);
                let word = self.updates.words.entry(at / 4).or_default();
                let past = if is_atomic {
                    &mut word.atomics
                } else {
                    &mut word.reads
                };
                let same = |known: &&mut Past| {
                    known.origin.with_lane(0) == origin.with_lane(0)
                        && (known.stamp, known.bytes) == (now, bytes)
                };
                match past.iter_mut().find(same) {
                    Some(known) => known.lanes |= 1 << lane,
                    None => {
                        past.retain(|known| known.stamp >= since);
                        if past.len() < MAX_ACCESSES {
                            past.push(Past {
                                stamp: now,
                                origin,
                                lanes: 1 << lane,
                                bytes,
                            });
                        }
                    }
                }
                at += 4;
            }
        }
    }

    /// Reports an earlier access of the other kind that nothing orders before this one.
    fn compare_update(&mut self, address: u64, origin: Origin, is_atomic: bool, bytes: u8) {
        let Some(word) = self.updates.words.get(&(address / 4)) else {
            return;
        };
        let clocks = &self.block.clocks;
        let others = if is_atomic {
            &word.reads
        } else {
            &word.atomics
        };
        let racing = others.iter().find_map(|past| {
            if past.stamp < clocks.since || past.bytes & bytes == 0 {
                return None;
            }
            let of_lane = |lane: usize| past.origin.with_lane(lane % LANES);
            let is_open = |other: &Origin| {
                other.thread() != origin.thread()
                    && !clocks.is_ordered(*other, past.stamp, origin.thread())
            };
            lanes(past.lanes).map(of_lane).find(is_open)
        });
        let Some(other) = racing else {
            return;
        };
        let (atomic, read) = if is_atomic {
            (origin, other)
        } else {
            (other, origin)
        };
        let actor = |origin: Origin| Actor {
            instruction: InstructionId(origin.instruction()),
            block: self.block.at,
            thread: origin.linear(),
        };
        let example = Example {
            block: self.block.index,
            space: Space::Shared,
            address,
            bytes: bytes.count_ones(),
            detail: "an atomic and a plain read".to_owned(),
            first: actor(atomic),
            second: Some(actor(read)),
        };
        self.tally.add(Problem::RaceInBlock, 1, example);
    }
}
