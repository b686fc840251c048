//! Groups of loads that need not be recorded.
//!
//! Cells that two warps have read since the last synchronisation are settled: a read by a third
//! warp changes nothing. In a GEMM the warps of a block read the same operands, so most reads are
//! of this kind, and it suffices to remember which groups of loads were found to be. Initcheck
//! remembers in the same way which groups read what their block has written.

use crate::ir::Space;
use crate::observer::RepeatedLoads;

/// Number of groups that are remembered. The loads that the warps of a block share in a row of 512
/// columns fit, and stay in the processor's cache.
const SLOTS: usize = 4096;

/// Identifies the reads of a group of loads. Equal keys mean reads of the same cells, without a
/// write to them and without synchronisation in between.
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

/// The last settled reads of each slot; empty as long as there are none.
#[derive(Clone, Debug, Default)]
pub(super) struct SettledReads {
    settled: Vec<Key>,
    /// The last reads of each slot that are listed, with their warp.
    listed: Vec<(Key, u32)>,
}

impl SettledReads {
    #[inline(always)]
    pub(super) fn has(&self, key: &Key) -> bool {
        let known = self.settled.get(key.slot());
        known.is_some_and(|known| known.is(key))
    }

    pub(super) fn keep(&mut self, key: Key) {
        if self.settled.is_empty() {
            // No key is like the first ones.
            self.settled = vec![Key::default(); SLOTS];
        }
        self.settled[key.slot()] = key;
    }

    /// The warp that has listed these reads, if any.
    #[inline(always)]
    pub(super) fn listed_by(&self, key: &Key) -> Option<u32> {
        let (known, warp) = self.listed.get(key.slot())?;
        known.is(key).then_some(*warp)
    }

    pub(super) fn keep_listed(&mut self, key: Key, warp: u32) {
        if self.listed.is_empty() {
            self.listed = vec![(Key::default(), 0); SLOTS];
        }
        self.listed[key.slot()] = (key, warp);
    }
}
