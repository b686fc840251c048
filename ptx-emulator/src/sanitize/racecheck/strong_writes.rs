//! The strong writes to each word since the last barrier of the block.

use std::collections::HashSet;

use rustc_hash::FxHashMap;

use super::super::shadow_memory::Origin;
use super::super::shape::{LANES, lanes};
use crate::ir::{InstructionId, Space};
use crate::kernel::Kernel;
use crate::observer::MemoryAccess;

/// Strong writes to one word that are remembered; of more, the first ones.
const REMEMBERED: usize = 4;

/// Addresses of strong writes that wait for their place in the table; more have to go there.
const MAX_WAITING: usize = 1 << 14;

/// A strong write to a word by lanes of one warp.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Past {
    pub stamp: u32,
    pub origin: Origin,
    pub lanes: u32,
    /// The bytes of the word, one bit each.
    pub bytes: u8,
}

/// Strong writes by lanes of one warp in one instruction.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    stamp: u32,
    since: u32,
    /// Of lane 0.
    origin: Origin,
    mask: u32,
    bytes: u32,
    is_global: bool,
}

/// The strong writes to a word since the last barrier of the block.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct StrongWrites {
    count: usize,
    writes: [Past; REMEMBERED],
}

impl StrongWrites {
    pub(super) fn writes(&self) -> &[Past] {
        &self.writes[..self.count.min(REMEMBERED)]
    }

    fn note(&mut self, new: Past, since: u32) {
        let count = self.count.min(REMEMBERED);
        let same = |known: &&mut Past| {
            known.origin.with_lane(0) == new.origin.with_lane(0)
                && (known.stamp, known.bytes) == (new.stamp, new.bytes)
        };
        if let Some(known) = self.writes[..count].iter_mut().find(same) {
            known.lanes |= new.lanes;
            return;
        }
        let dead = self.writes[..count]
            .iter()
            .position(|known| known.stamp < since);
        if let Some(slot) = dead {
            self.writes[slot] = new;
        } else if count < REMEMBERED {
            self.writes[count] = new;
            self.count = count + 1;
        }
    }
}

/// Shared and global memory, by word: the strong writes since the last barrier of the block.
///
/// New ones wait, and get their places in the table when a plain read may meet one. A barrier of
/// the block mostly comes first, and with it they count as none.
#[derive(Clone, Debug, Default)]
pub(super) struct Updates {
    /// Whether the kernel has strong writes to shared, and to global memory.
    pub(super) has: [bool; 2],
    /// Whether there are entries since the last barrier of the block, of shared and of global
    /// memory.
    pub(super) live: [bool; 2],
    /// Whether the block has plain reads of shared, and of global memory.
    pub(super) plain_reads: [bool; 2],
    /// The stamp of the last strong access to global memory.
    pub(super) global_strong: u32,
    /// The lowest and the highest word to which there are entries since the last barrier of the
    /// block, of shared and of global memory.
    pub(super) range: [(u64, u64); 2],
    /// By number of a page of global memory, 16 words: its place in `pages`.
    of_global: FxHashMap<u64, u32>,
    /// Of shared memory the same plus 1; 0 where there is none.
    of_shared: Vec<u32>,
    /// Entries from before the last barrier of the block stay, and count as none.
    pages: Vec<[StrongWrites; PAGE]>,
    /// Strong writes that are not in the table yet, in their order.
    waiting: Vec<Waiting>,
    /// The first address of each lane of theirs; those of lanes outside of the mask mean nothing.
    addresses: Vec<u64>,
    /// Plain loads of a word by threads that then try to replace it by `atom.cas`, as in the CUDA
    /// C++ Programming Guide ("Atomic Functions"): where such a read comes out old, the comparison
    /// fails. They do not race with strong writes.
    pub(super) guesses: HashSet<InstructionId>,
}

/// Words of a page of the table.
const PAGE: usize = 16;

/// A range that holds nothing.
const NOWHERE: (u64, u64) = (u64::MAX, 0);

/// Pages that are kept beyond a barrier of the block.
const MAX_PAGES: usize = 4096;

/// Index in tables by space.
pub(super) fn of_space(space: Space) -> Option<usize> {
    match space {
        Space::Shared | Space::Cluster => Some(0),
        Space::Global => Some(1),
        _ => None,
    }
}

impl Updates {
    /// Those of a kernel.
    pub(super) fn of_kernel(kernel: Option<&Kernel>) -> Self {
        let mut updates = Updates::default();
        let Some(kernel) = kernel else {
            return updates;
        };
        for index in 0..kernel.instruction_count() as u32 {
            let opcode = kernel.instruction(InstructionId(index)).opcode();
            let mut parts = opcode.split('.');
            let is_strong = |part| matches!(part, "volatile" | "relaxed" | "release" | "mmio");
            let writes = match parts.next() {
                Some("atom" | "red") => true,
                Some("st") => parts.any(is_strong),
                _ => false,
            };
            if writes {
                let names = |space: &str| opcode.split('.').any(|part| part.starts_with(space));
                updates.has[0] |= !names("global");
                updates.has[1] |= !names("shared");
            }
        }
        updates
    }

    /// Forgets all: a barrier of the block orders them, or a block begins.
    pub(super) fn clear(&mut self) {
        self.live = [false; 2];
        self.range = [NOWHERE; 2];
        self.waiting.clear();
        self.addresses.clear();
        if self.pages.len() > MAX_PAGES {
            self.forget();
        }
    }

    /// As [`Self::clear`], where a block begins.
    pub(super) fn begin_block(&mut self) {
        self.clear();
        self.plain_reads = [false; 2];
    }

    /// As [`Self::clear`], where stamps begin again.
    pub(super) fn forget(&mut self) {
        self.live = [false; 2];
        self.range = [NOWHERE; 2];
        self.global_strong = 0;
        self.waiting.clear();
        self.addresses.clear();
        self.of_global.clear();
        self.of_shared.clear();
        self.pages.clear();
    }

    /// Strong writes by a warp, whose addresses count from `own` on. `stamp` and `since` are those
    /// of now.
    pub(super) fn note(
        &mut self,
        warp: u32,
        access: &MemoryAccess<'_>,
        own: u64,
        (stamp, since): (u32, u32),
    ) {
        let is_global = access.space == Space::Global;
        let last = u64::from(access.bytes).saturating_sub(1);
        let any = access.addresses[access.mask.trailing_zeros() as usize % LANES];
        let mut firsts = [0; LANES];
        let (mut lowest, mut highest) = (u64::MAX, 0);
        for (lane, first) in firsts.iter_mut().enumerate() {
            let is_here = access.mask >> lane & 1 != 0;
            let address = if is_here { access.addresses[lane] } else { any };
            *first = address.wrapping_add(own);
            lowest = lowest.min(*first);
            highest = highest.max(*first);
        }
        let range = &mut self.range[usize::from(is_global)];
        range.0 = range.0.min(lowest / 4);
        range.1 = range.1.max(highest.saturating_add(last) / 4);
        self.addresses.extend_from_slice(&firsts);
        self.waiting.push(Waiting {
            stamp,
            since,
            origin: Origin::new(access.instruction.index(), false, warp, 0),
            mask: access.mask,
            bytes: access.bytes,
            is_global,
        });
        if self.addresses.len() > MAX_WAITING {
            self.settle();
        }
    }

    /// Gives those that wait their places in the table.
    #[cold]
    fn settle(&mut self) {
        let (mut waiting, mut addresses) = (
            std::mem::take(&mut self.waiting),
            std::mem::take(&mut self.addresses),
        );
        for (writes, firsts) in waiting.iter().zip(addresses.as_chunks::<LANES>().0) {
            for lane in lanes(writes.mask) {
                let first = firsts[lane];
                let mut past = Past {
                    stamp: writes.stamp,
                    origin: writes.origin.with_lane(lane),
                    lanes: 1 << lane,
                    bytes: 0,
                };
                for (word, bytes) in words(first, writes.bytes) {
                    past.bytes = bytes;
                    self.word(writes.is_global, word).note(past, writes.since);
                }
            }
        }
        waiting.clear();
        addresses.clear();
        (self.waiting, self.addresses) = (waiting, addresses);
    }

    /// The strong writes to a word, for a new one.
    #[inline(always)]
    fn word(&mut self, is_global: bool, word: u64) -> &mut StrongWrites {
        let next = self.pages.len() as u32;
        let page = word / PAGE as u64;
        let number = if is_global {
            *self.of_global.entry(page).or_insert(next)
        } else {
            let page = page as usize;
            if page >= self.of_shared.len() {
                self.of_shared.resize(page + 1, 0);
            }
            let number = &mut self.of_shared[page];
            if *number == 0 {
                *number = next + 1;
            }
            *number - 1
        };
        if number == next {
            self.pages.push([StrongWrites::default(); PAGE]);
        }
        &mut self.pages[number as usize][(word % PAGE as u64) as usize]
    }

    /// The strong writes to a word, if there are any.
    pub(super) fn known(&mut self, is_global: bool, word: u64) -> Option<&StrongWrites> {
        if !self.waiting.is_empty() {
            self.settle();
        }
        let page = word / PAGE as u64;
        let number = match is_global {
            true => *self.of_global.get(&page)?,
            false => self.of_shared.get(page as usize)?.checked_sub(1)?,
        };
        self.pages[number as usize].get((word % PAGE as u64) as usize)
    }

    /// Whether strong accesses to a space are recorded apart: the kernel has strong writes to it.
    #[inline(always)]
    pub(super) fn records(&self, space: Space) -> bool {
        of_space(space).is_some_and(|space| self.has[space])
    }
}

/// The words that an access touches, each with its bytes in it.
pub(super) fn words(first: u64, bytes: u32) -> impl Iterator<Item = (u64, u8)> {
    let end = first.saturating_add(u64::from(bytes));
    (first / 4..end.div_ceil(4)).map(move |word| {
        let from = first.max(4 * word) - 4 * word;
        let to = end.min(4 * word + 4) - 4 * word;
        (word, (((1u16 << to) - 1) & !((1u16 << from) - 1)) as u8)
    })
}
