//! One allocation of device memory.

use std::any::Any;
use std::fmt;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use crate::aligned::Aligned;
use crate::whole::{load_pair, store_pair};

/// Memory of the host that an allocation uses as its storage: see
/// [`Memory::alloc_over`](crate::Memory::alloc_over).
pub struct HostStorage {
    words: NonNull<AtomicU32>,
    count: usize,
    /// Dropped with the allocation, after the last launch that saw it.
    _owner: Box<dyn Any + Send + Sync>,
}

// SAFETY: the words are atomic, and `HostStorage::new` takes only memory that any thread may access
// until the owner, which is `Send`, is dropped.
unsafe impl Send for HostStorage {}

// SAFETY: as for `Send`.
unsafe impl Sync for HostStorage {}

impl HostStorage {
    /// `bytes` bytes at `start`, which `owner` keeps alive; none where `start` is not a multiple of
    /// 4. The memory holds whole words of 4 bytes: `bytes` is rounded up.
    ///
    /// # Safety
    /// All of the words may be read and written by any thread until `owner` is dropped, and no
    /// reference to them is used while a kernel runs.
    pub unsafe fn new(
        start: NonNull<u8>,
        bytes: u64,
        owner: Box<dyn Any + Send + Sync>,
    ) -> Option<Self> {
        let words = start.cast::<AtomicU32>();
        let count = usize::try_from(bytes.div_ceil(4)).ok()?;
        words.is_aligned().then_some(HostStorage {
            words,
            count,
            _owner: owner,
        })
    }
}

impl fmt::Debug for HostStorage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} words at {:?}", self.count, self.words)
    }
}

#[derive(Debug)]
enum Storage {
    Own(Aligned<AtomicU32>),
    Host(HostStorage),
}

/// An allocation of device memory.
#[derive(Debug)]
pub(crate) struct Allocation {
    pub base: u64,
    pub bytes: u64,
    /// Whether it is the storage of the device heap, of which only the blocks may be accessed.
    pub is_heap: bool,
    storage: Storage,
}

impl Allocation {
    pub(crate) fn new(base: u64, bytes: u64) -> Option<Self> {
        let count = usize::try_from(bytes.div_ceil(4)).ok()?;
        Some(Allocation {
            base,
            bytes,
            is_heap: false,
            storage: Storage::Own(Aligned::try_new(count, || AtomicU32::new(0))?),
        })
    }

    /// An allocation over memory of the host; none where that is smaller.
    pub(crate) fn over(base: u64, bytes: u64, storage: HostStorage) -> Option<Self> {
        let fits = bytes.div_ceil(4) <= storage.count as u64;
        fits.then_some(Allocation {
            base,
            bytes,
            is_heap: false,
            storage: Storage::Host(storage),
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
        match &self.storage {
            Storage::Own(words) => words,
            // SAFETY: the words are valid and may be shared by any threads until the storage's
            // owner is dropped (`HostStorage::new`), which this allocation does.
            Storage::Host(host) => unsafe {
                std::slice::from_raw_parts(host.words.as_ptr(), host.count)
            },
        }
    }

    /// Whether all of `bytes` bytes at `address` belong to the allocation.
    pub(crate) fn contains(&self, address: u64, bytes: u64) -> bool {
        address >= self.base
            && address - self.base <= self.bytes
            && bytes <= self.bytes - (address - self.base)
    }

    /// A value of 1, 2, 4 or 8 bytes at an aligned offset inside the allocation.
    pub(crate) fn read(&self, offset: usize, bytes: u32) -> u64 {
        if bytes == 8 {
            return load_pair(self.words(), offset / 4);
        }
        let low = u64::from(self.words()[offset / 4].load(Relaxed));
        match bytes {
            4 => low,
            _ => (low >> (8 * (offset % 4))) & (u64::MAX >> (64 - 8 * bytes)),
        }
    }

    /// Stores a value of 1, 2, 4 or 8 bytes at an aligned offset inside the allocation.
    pub(crate) fn write(&self, offset: usize, bytes: u32, value: u64) {
        let word = &self.words()[offset / 4];
        match bytes {
            8 => store_pair(self.words(), offset / 4, value),
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
