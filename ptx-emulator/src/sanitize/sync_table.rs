//! What blocks of a grid hand on to each other.

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

/// The blocks whose writes whoever acquires a place in global memory sees, by address. All workers share it.
#[derive(Clone, Debug, Default)]
pub(super) struct SyncTable(Arc<Mutex<HashMap<u64, BlockSet>>>);

impl SyncTable {
    /// A block that has seen others writes what it and those have released.
    pub(super) fn release(&self, address: u64, block: u64, seen: &BlockSet) {
        let mut places = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let released = places.entry(address).or_default();
        released.join(seen);
        released.insert(block);
    }

    /// A block reads what others have released.
    pub(super) fn acquire(&self, address: u64, seen: &mut BlockSet) {
        let places = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(released) = places.get(&address) {
            seen.join(released);
        }
    }
}
