//! Groups of loads that need no note.
//!
//! ShadowMemory that two warps have read since the last synchronisation are settled for a third one: that it reads them as well
//! changes nothing. Where the warps of a block read the same, which they do in every product, most reads are of this kind,
//! and it is enough to remember which groups of loads were found to be.

use crate::ir::Space;
use crate::observer::RepeatedLoads;

/// Groups that are remembered. What the warps of a block share in a row of a product of 512 columns fits, and stays in the
/// processor's cache.
const SLOTS: usize = 4096;

/// Reads of a group of loads: equal ones read the same cells, and what they read was not written, nor anything synchronised, between them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Key {
    base: u64,
    /// Of the distances between the lanes.
    version: u64,
    /// The number of writes before to what was settled.
    overwrites: u64,
    /// The stamp of the synchronisation before; stamps begin at 1.
    now: u32,
    group: u32,
    is_shared: bool,
}

impl Key {
    #[inline(always)]
    pub(super) fn new(loads: &RepeatedLoads<'_>, now: u32, overwrites: u64) -> Self {
        Key {
            base: loads.base,
            version: loads.version,
            overwrites,
            now,
            group: loads.group as u32,
            is_shared: loads.space == Space::Shared,
        }
    }

    /// Whether two are equal, in a few comparisons without branches.
    #[inline(always)]
    fn is(&self, other: &Key) -> bool {
        (self.base == other.base)
            & (self.version == other.version)
            & (self.overwrites == other.overwrites)
            & (self.now == other.now)
            & (self.group == other.group)
            & (self.is_shared == other.is_shared)
    }

    /// Rows that are a power of two apart, as in most matrices, get different slots.
    #[inline(always)]
    fn slot(&self) -> usize {
        const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
        let mixed = (self.base ^ u64::from(self.group)).wrapping_mul(ODD);
        (mixed >> (u64::BITS - SLOTS.ilog2())) as usize
    }
}

/// The last settled reads of each slot.
#[derive(Clone, Debug, Default)]
pub(super) struct SettledReads(Vec<Key>);

impl SettledReads {
    pub(super) fn new() -> Self {
        // No key is like the first ones.
        SettledReads(vec![Key::default(); SLOTS])
    }

    #[inline(always)]
    pub(super) fn has(&self, key: &Key) -> bool {
        self.0[key.slot()].is(key)
    }

    pub(super) fn keep(&mut self, key: Key) {
        self.0[key.slot()] = key;
    }
}
