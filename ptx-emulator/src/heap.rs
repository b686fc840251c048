//! The device heap: what `malloc` and `free` of a kernel work on.
//!
//! Its blocks lie in one range of addresses that nothing else has. A block outlives the launch that
//! made it, and any later kernel may free it (CUDA C++ Programming Guide, "Dynamic Global Memory
//! Allocation and Operations"). Between two blocks there is a gap, and addresses are used again
//! only when all of them have been used once, so that an access to a freed block is found.

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use crate::address_space::HEAP_BASE;
use crate::allocation::Allocation;
use crate::ir::InstructionId;

/// Bytes of the heap unless the host sets them: CUDA's default of `cudaLimitMallocHeapSize`.
pub const DEFAULT_HEAP_BYTES: u64 = 8 << 20;

/// Alignment of blocks, and the smallest gap between two of them, in bytes.
const ALIGN: u64 = 16;

/// The call of `malloc` that made a block.
#[derive(Clone, Debug)]
pub(crate) struct HeapSite {
    /// The launch, of which the heap itself knows nothing: a `HeapLaunch`.
    pub launch: Arc<dyn Any + Send + Sync>,
    pub instruction: InstructionId,
    pub block: [u32; 3],
    /// Linear index in the block.
    pub thread: u32,
}

/// A block that has not been freed.
#[derive(Clone, Debug)]
pub(crate) struct HeapBlock {
    pub bytes: u64,
    pub site: HeapSite,
}

#[derive(Debug, Default)]
struct State {
    live: BTreeMap<u64, HeapBlock>,
    /// Bytes of the blocks that were freed and whose addresses have not been used again.
    freed: BTreeMap<u64, u64>,
    /// Where the next block goes, as long as there is room behind it.
    next: u64,
}

/// Why a block cannot be freed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum FreeError {
    /// It has been freed: its bytes.
    Freed(u64),
    /// No block starts there.
    NoBlock(String),
}

#[derive(Debug)]
pub(crate) struct Heap {
    limit: AtomicU64,
    /// The storage, made when a kernel that allocates is launched first.
    arena: OnceLock<Option<Arc<Allocation>>>,
    state: RwLock<State>,
    /// Whether addresses have been used a second time.
    reuses: Arc<AtomicBool>,
}

impl Heap {
    pub(crate) fn new(limit: u64) -> Self {
        Heap {
            limit: AtomicU64::new(limit),
            arena: OnceLock::new(),
            state: RwLock::default(),
            reuses: Arc::default(),
        }
    }

    /// Makes the storage; false where the host has not enough memory.
    pub(crate) fn prepare(&self) -> bool {
        let make = || Allocation::of_heap(HEAP_BASE, self.limit()).map(Arc::new);
        self.arena.get_or_init(make).is_some()
    }

    pub(crate) fn limit(&self) -> u64 {
        self.limit.load(Relaxed)
    }

    /// Another limit, as long as there is no storage; false once there is.
    pub(crate) fn set_limit(&self, bytes: u64) -> bool {
        // The lock keeps two hosts that set it apart, not a launch that makes the storage.
        let _state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        let may = self.arena.get().is_none();
        if may {
            self.limit.store(bytes, Relaxed);
        }
        may
    }

    pub(crate) fn arena(&self) -> Option<&Arc<Allocation>> {
        self.arena.get()?.as_ref()
    }

    /// Whether addresses have been used a second time; none where there is no storage.
    pub(crate) fn arena_reuses(&self) -> Option<Arc<AtomicBool>> {
        self.arena().map(|_| self.reuses.clone())
    }

    fn state(&self) -> std::sync::RwLockReadGuard<'_, State> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// A new block's address; none where there is no room, or nothing is requested.
    pub(crate) fn alloc(&self, bytes: u64, site: HeapSite) -> Option<u64> {
        let limit = self.arena()?.bytes;
        let step = bytes
            .checked_next_multiple_of(ALIGN)?
            .checked_add(ALIGN)
            .filter(|&step| bytes != 0 && step <= limit)?;
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        let end = HEAP_BASE + limit;
        let next = state.next.max(HEAP_BASE);
        let address = match end - next >= step {
            true => {
                state.next = next + step;
                next
            }
            false => {
                self.reuses.store(true, Relaxed);
                gap(&state.live, end, step)?
            }
        };
        let overlapping = state.freed.range(..address + step).rev();
        let overlapping: Vec<u64> = overlapping
            .take_while(|&(&base, &length)| base + length > address)
            .map(|(&base, _)| base)
            .collect();
        for base in overlapping {
            state.freed.remove(&base);
        }
        state.live.insert(address, HeapBlock { bytes, site });
        Some(address)
    }

    /// Frees a block; returns its bytes.
    pub(crate) fn free(&self, address: u64) -> Result<u64, FreeError> {
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(block) = state.live.remove(&address) {
            state.freed.insert(address, block.bytes);
            return Ok(block.bytes);
        }
        match state.freed.get(&address) {
            Some(&bytes) => Err(FreeError::Freed(bytes)),
            None => Err(FreeError::NoBlock(nearest(&state, address))),
        }
    }

    /// Whether one block holds all of the bytes.
    pub(crate) fn holds(&self, address: u64, bytes: u64) -> bool {
        let state = self.state();
        let before = state.live.range(..=address).next_back();
        before.is_some_and(|(&base, block)| {
            address - base <= block.bytes && bytes <= block.bytes - (address - base)
        })
    }

    /// The block that held an address before it was freed: (address, bytes).
    pub(crate) fn freed(&self, address: u64) -> Option<(u64, u64)> {
        let state = self.state();
        let (&base, &bytes) = state.freed.range(..=address).next_back()?;
        (address - base < bytes).then_some((base, bytes))
    }

    /// The block nearest to an address, in words.
    pub(crate) fn nearest(&self, address: u64) -> String {
        nearest(&self.state(), address)
    }

    /// The blocks that have not been freed, by address.
    pub(crate) fn blocks(&self) -> Vec<(u64, HeapBlock)> {
        let state = self.state();
        let live = state.live.iter();
        live.map(|(&base, block)| (base, block.clone())).collect()
    }
}

fn nearest(state: &State, address: u64) -> String {
    let before = state.live.range(..=address).next_back();
    let behind = state.live.range(address..).next();
    let distance = |entry: &(&u64, &HeapBlock)| {
        let (base, bytes) = (*entry.0, entry.1.bytes);
        match address < base {
            true => base - address,
            false => address.saturating_sub(base + bytes),
        }
    };
    let blocks = [before, behind].into_iter().flatten();
    match blocks.min_by_key(distance) {
        None => "the device heap has no block".to_string(),
        Some((&base, block)) => {
            let place = match address < base {
                true => format!("{} bytes before it", base - address),
                false => format!("at byte {} of it", address - base),
            };
            format!(
                "nearest block of the device heap is {base:#x} with {} bytes, the address is \
                 {place}",
                block.bytes
            )
        }
    }
}

/// The first gap of at least `step` bytes between blocks.
fn gap(live: &BTreeMap<u64, HeapBlock>, end: u64, step: u64) -> Option<u64> {
    let mut candidate = HEAP_BASE;
    for (&base, block) in live {
        if base - candidate >= step {
            return Some(candidate);
        }
        candidate = base + block.bytes.next_multiple_of(ALIGN) + ALIGN;
    }
    (end.saturating_sub(candidate) >= step).then_some(candidate)
}
