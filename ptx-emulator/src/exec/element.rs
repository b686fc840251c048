//! One lane's access: its checks, its value, and the report of what is wrong with it.

use std::sync::MutexGuard;

use super::cluster::Peer;
use super::convert::truncate;
use super::run::{Outcome, RawFault, Run};
use super::vector::{LANES, collect};
use crate::address_space::{CONST_BASE, GLOBAL_BASE, OUTSIDE, of_cluster};
use crate::error::{AccessFault, FaultKind};
use crate::ir::{AccessKind, Space};
use crate::observer::{Event, EventSink};

/// Stores 1, 2, 4 or 8 bytes into words, from byte `first` of the first one.
pub(super) fn set_word_bytes(words: &mut [u32], first: usize, bytes: u32, value: u64) {
    match bytes {
        8 => {
            words[0] = value as u32;
            words[1] = (value >> 32) as u32;
        }
        4 => words[0] = value as u32,
        _ => {
            let mask = ((1u32 << (8 * bytes)) - 1) << (8 * first);
            words[0] = words[0] & !mask | (value as u32) << (8 * first) & mask;
        }
    }
}

/// A value of 1, 2, 4 or 8 bytes at an aligned byte of words.
pub(super) fn read_word_bytes(words: &[u32], at: usize, bytes: u32) -> u64 {
    let low = u64::from(words[at / 4]);
    match bytes {
        8 => low | u64::from(words[at / 4 + 1]) << 32,
        4 => low,
        _ => truncate(low >> (8 * (at % 4)), 8 * bytes),
    }
}

/// Addresses below this come from a null pointer and a small offset.
const NULL_PAGE: u64 = 4096;

/// What is wrong with an access.
enum Wrong {
    Bounds,
    Alignment,
    ReadOnly,
}

/// The locks of what a strong access reads or writes as a whole.
type Whole<'l> = (MutexGuard<'l, ()>, Option<MutexGuard<'l, ()>>);

impl<'l, O: EventSink> Run<'_, 'l, O> {
    /// Keeps other workers from global memory that an access reads or writes as a whole: 8 or 16
    /// bytes. PTX lets the elements of a vector be seen one by one; GPUs do not, and CUB relies
    /// on it for what its blocks tell each other.
    pub(super) fn hold(
        &self,
        space: Space,
        address: u64,
        bytes: u32,
        whole: bool,
    ) -> Option<Whole<'l>> {
        let is_shared = matches!(space, Space::Global | Space::Const | Space::Generic);
        if !whole || !is_shared || !matches!(bytes, 8 | 16) {
            return None;
        }
        let launch = self.launch;
        // The lower lock first, as everywhere: no two workers wait for each other.
        let first = launch.memory.lock(address);
        let second = (bytes == 16).then(|| launch.memory.lock(address + 8));
        Some((first, second))
    }
}

impl<O: EventSink> Run<'_, '_, O> {
    /// Bounds, alignment and writability of one lane's access.
    pub(super) fn check(
        &self,
        space: Space,
        address: u64,
        bytes: u32,
        kind: AccessKind,
        lane: usize,
    ) -> Outcome {
        let inside =
            |length: usize| address <= length as u64 && u64::from(bytes) <= length as u64 - address;
        let wrong = if !address.is_multiple_of(u64::from(bytes)) {
            Some(Wrong::Alignment)
        } else {
            let in_bounds = match space {
                Space::Shared => inside(self.launch.shared_bytes as usize),
                Space::Cluster => self.is_in_cluster(address, bytes, kind),
                Space::Local => inside(self.local_top as usize),
                Space::Param => inside(self.launch.params.len()),
                Space::Global | Space::Const | Space::Generic => {
                    self.launch.allocation(address, u64::from(bytes)).is_some()
                }
            };
            let constant = match space {
                Space::Const | Space::Param => true,
                _ => (CONST_BASE..GLOBAL_BASE).contains(&address),
            };
            match (in_bounds, kind) {
                (false, _) => Some(Wrong::Bounds),
                (true, AccessKind::Store | AccessKind::Atomic) if constant => Some(Wrong::ReadOnly),
                _ => None,
            }
        };
        match wrong {
            None => Ok(()),
            Some(wrong) => Err(self.access_fault(wrong, space, address, bytes, kind, lane)),
        }
    }

    /// Whether an access lies in the shared memory of a block of the cluster that has not ended.
    /// Stores to one that has ended take no effect on an H200, where loads are a fault.
    fn is_in_cluster(&self, address: u64, bytes: u32, kind: AccessKind) -> bool {
        let (rank, at) = of_cluster(address);
        let shared = u64::from(self.launch.shared_bytes);
        let is_there =
            self.is_running(rank) || kind == AccessKind::Store && self.is_of_cluster(rank);
        at <= shared && u64::from(bytes) <= shared - at && is_there
    }

    /// Reports stores of lanes to the shared memory of blocks that have ended.
    #[cold]
    pub(super) fn observe_ended(
        &mut self,
        bytes: u32,
        (mask, strong): (u32, bool),
        addresses: &[u64; LANES],
    ) {
        if !O::ACCESSES {
            return;
        }
        let has_ended = |lane: usize| {
            let (rank, _) = of_cluster(addresses[lane]);
            self.is_of_cluster(rank) && !self.is_running(rank)
        };
        let ended = collect(has_ended) & mask;
        if ended != 0 {
            let (space, kind) = (Space::Cluster, AccessKind::Store);
            let access = self.irregular_access(space, kind, bytes, (ended, strong), addresses);
            self.observer.notify(Event::EndedBlockAccess {
                warp: &self.context,
                access: &access,
            });
        }
    }

    /// Whether the cluster has a block of this rank that has not ended.
    fn is_running(&self, rank: u64) -> bool {
        rank == u64::from(self.context.rank)
            || self.peers.get(rank as usize).is_some_and(Peer::is_running)
    }

    /// Whether a rank is that of a block of the cluster.
    fn is_of_cluster(&self, rank: u64) -> bool {
        match self.launch.is_cooperative() {
            true => rank == u64::from(self.context.rank),
            false => rank < u64::from(self.launch.cluster_blocks()),
        }
    }

    /// The shared memory around an address of the cluster's, which has been checked.
    fn cluster_words(&self, address: u64) -> (&[u32], usize) {
        let (rank, at) = of_cluster(address);
        match self.peers.get(rank as usize) {
            Some(peer) if rank != u64::from(self.context.rank) => (peer.shared(), at as usize),
            _ => (self.shared, at as usize),
        }
    }

    #[cold]
    fn access_fault(
        &self,
        wrong: Wrong,
        space: Space,
        address: u64,
        bytes: u32,
        kind: AccessKind,
        lane: usize,
    ) -> Box<RawFault> {
        let global = matches!(space, Space::Global | Space::Const | Space::Generic);
        let freed = match global {
            true => self.launch.memory.freed(address),
            false => None,
        };
        let has_ended = space == Space::Cluster && {
            let (rank, _) = of_cluster(address);
            self.is_of_cluster(rank) && !self.is_running(rank)
        };
        let nearest = match space {
            Space::Shared => {
                let arrays = &self.program.shared;
                let before = arrays
                    .iter()
                    .rev()
                    .find(|array| u64::from(array.offset) <= address);
                let mut text = format!("the block has {} bytes", self.launch.shared_bytes);
                if let Some(array) = before {
                    text += &format!(
                        ", nearest is `{}` with {} bytes at {:#x}",
                        array.name, array.bytes, array.offset
                    );
                }
                text
            }
            Space::Cluster => {
                let ((rank, _), blocks) = (of_cluster(address), self.launch.cluster_blocks());
                if !self.is_of_cluster(rank) {
                    let rank = rank & !OUTSIDE;
                    format!("there is no block of rank {rank}, the cluster has {blocks}")
                } else if has_ended {
                    format!("the block of rank {rank} has ended")
                } else {
                    format!("each block has {} bytes", self.launch.shared_bytes)
                }
            }
            Space::Local => format!("the thread has {} bytes", self.local_top),
            Space::Param => format!("there are {} bytes", self.launch.params.len()),
            Space::Global | Space::Const | Space::Generic => match freed {
                Some((base, length)) => format!(
                    "the allocation at {base:#x} with {length} bytes has been freed, the address \
                     is at byte {} of it",
                    address - base
                ),
                None => self.launch.nearest(address),
            },
        };
        let access = AccessFault {
            access: kind,
            space,
            address,
            bytes,
            nearest,
        };
        Box::new(RawFault {
            kind: match wrong {
                Wrong::Bounds if global && address < NULL_PAGE => FaultKind::NullPointer(access),
                Wrong::Bounds if freed.is_some() || has_ended => FaultKind::UseAfterFree(access),
                Wrong::Bounds => FaultKind::OutOfBounds(access),
                Wrong::Alignment => FaultKind::Misaligned(access),
                Wrong::ReadOnly => FaultKind::ReadOnly(access),
            },
            lane: Some(lane),
        })
    }

    /// One element; the access has been checked.
    pub(super) fn read_memory(
        &self,
        space: Space,
        address: u64,
        bytes: u32,
        lane: usize,
        strong: bool,
    ) -> u64 {
        let at = address as usize;
        let from_words = |word: &dyn Fn(usize) -> u32| match bytes {
            8 => u64::from(word(at / 4)) | u64::from(word(at / 4 + 1)) << 32,
            4 => u64::from(word(at / 4)),
            _ => truncate(u64::from(word(at / 4)) >> (8 * (at % 4)), 8 * bytes),
        };
        match space {
            Space::Shared => from_words(&|index| self.shared[index]),
            Space::Cluster => {
                let (words, at) = self.cluster_words(address);
                read_word_bytes(words, at, bytes)
            }
            Space::Local => from_words(&|index| self.local[index][lane]),
            Space::Param => {
                let mut value = [0; 8];
                value[..bytes as usize]
                    .copy_from_slice(&self.launch.params[at..][..bytes as usize]);
                u64::from_le_bytes(value)
            }
            Space::Global | Space::Const | Space::Generic => {
                let Some(allocation) = self.launch.allocation(address, u64::from(bytes)) else {
                    return 0;
                };
                let _whole = (strong && bytes == 8).then(|| self.launch.memory.lock(address));
                allocation.read((address - allocation.base) as usize, bytes)
            }
        }
    }

    pub(super) fn write_memory(
        &mut self,
        space: Space,
        address: u64,
        bytes: u32,
        lane: usize,
        value: u64,
        strong: bool,
    ) {
        let at = address as usize;
        match space {
            Space::Param => {}
            Space::Shared => set_word_bytes(&mut self.shared[at / 4..], at % 4, bytes, value),
            Space::Cluster => {
                let (rank, at) = of_cluster(address);
                let words = match self.peers.get_mut(rank as usize) {
                    Some(peer) if rank != u64::from(self.context.rank) => peer.shared_mut(),
                    _ => &mut *self.shared,
                };
                let at = at as usize;
                set_word_bytes(&mut words[at / 4..], at % 4, bytes, value);
            }
            Space::Local => {
                let mut words = [self.local[at / 4][lane], 0];
                set_word_bytes(&mut words, at % 4, bytes, value);
                self.local[at / 4][lane] = words[0];
                if bytes == 8 {
                    self.local[at / 4 + 1][lane] = words[1];
                }
            }
            Space::Global | Space::Const | Space::Generic => {
                if let Some(allocation) = self.launch.allocation(address, u64::from(bytes)) {
                    let _whole = (strong && bytes == 8).then(|| self.launch.memory.lock(address));
                    allocation.write((address - allocation.base) as usize, bytes, value);
                }
            }
        }
    }
}
