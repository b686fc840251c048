//! One allocation of device memory.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use crate::aligned::Aligned;

/// An allocation of device memory.
#[derive(Debug)]
pub(crate) struct Allocation {
    pub base: u64,
    pub bytes: u64,
    /// Whether it is the storage of the device heap, of which only the blocks may be accessed.
    pub is_heap: bool,
    words: Aligned<AtomicU32>,
}

impl Allocation {
    pub(crate) fn new(base: u64, bytes: u64) -> Option<Self> {
        let count = usize::try_from(bytes.div_ceil(4)).ok()?;
        Some(Allocation {
            base,
            bytes,
            is_heap: false,
            words: Aligned::try_new(count, || AtomicU32::new(0))?,
        })
    }

    pub(crate) fn of_heap(base: u64, bytes: u64) -> Option<Self> {
        let is_heap = true;
        Some(Allocation {
            is_heap,
            ..Allocation::new(base, bytes)?
        })
    }

    #[inline]
    pub(crate) fn words(&self) -> &[AtomicU32] {
        &self.words
    }

    /// Whether all of `bytes` bytes at `address` belong to the allocation.
    pub(crate) fn contains(&self, address: u64, bytes: u64) -> bool {
        address >= self.base
            && address - self.base <= self.bytes
            && bytes <= self.bytes - (address - self.base)
    }

    /// A value of 1, 2, 4 or 8 bytes at an aligned offset inside the allocation.
    pub(crate) fn read(&self, offset: usize, bytes: u32) -> u64 {
        let low = u64::from(self.words[offset / 4].load(Relaxed));
        match bytes {
            8 => low | u64::from(self.words[offset / 4 + 1].load(Relaxed)) << 32,
            4 => low,
            _ => (low >> (8 * (offset % 4))) & (u64::MAX >> (64 - 8 * bytes)),
        }
    }

    /// Stores a value of 1, 2, 4 or 8 bytes at an aligned offset inside the allocation.
    pub(crate) fn write(&self, offset: usize, bytes: u32, value: u64) {
        let word = &self.words[offset / 4];
        match bytes {
            8 => {
                word.store(value as u32, Relaxed);
                self.words[offset / 4 + 1].store((value >> 32) as u32, Relaxed);
            }
            4 => word.store(value as u32, Relaxed),
            _ => {
                let shift = 8 * (offset % 4);
                let mask = ((1u32 << (8 * bytes)) - 1) << shift;
                let value = ((value as u32) << shift) & mask;
                // The closure never declines, so the update cannot fail.
                let _ = word.fetch_update(Relaxed, Relaxed, |old| Some(old & !mask | value));
            }
        }
    }
}
