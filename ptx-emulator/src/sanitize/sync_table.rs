//! How blocks of a grid synchronise with each other.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::ranges::Ranges;

/// A set of blocks, by their indices in the grid.
#[derive(Clone, Debug, Default)]
pub(super) struct BlockSet(Ranges);

impl BlockSet {
    fn insert(&mut self, block: u64) {
        self.0.insert(block, block + 1);
    }

    fn join(&mut self, other: &BlockSet) {
        for (from, to) in other.0.within(0, u64::MAX) {
            self.0.insert(from, to);
        }
    }

    pub(super) fn contains(&self, block: u64) -> bool {
        self.0.within(block, block + 1).next().is_some()
    }
}

/// By address in global memory: the blocks whose writes an acquire of the address observes. All
/// workers share it.
#[derive(Clone, Debug, Default)]
pub(super) struct SyncTable(Arc<Mutex<HashMap<u64, BlockSet>>>);

impl SyncTable {
    /// A block releases to an address: itself, and the blocks in `seen`, whose releases it has
    /// acquired.
    pub(super) fn release(&self, address: u64, block: u64, seen: &BlockSet) {
        let mut table = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let released = table.entry(address).or_default();
        released.join(seen);
        released.insert(block);
    }

    /// Forgets what was released.
    pub(super) fn clear(&self) {
        let mut table = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        table.clear();
    }

    /// A block reads what others have released.
    pub(super) fn acquire(&self, address: u64, seen: &mut BlockSet) {
        let table = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(released) = table.get(&address) {
            seen.join(released);
        }
    }
}
