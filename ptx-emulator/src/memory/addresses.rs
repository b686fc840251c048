//! Which addresses allocations get, and when they may be used again.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{ALLOCATION_ALIGN, Memory, State};
use crate::address_space::{CONST_BASE, GLOBAL_BASE, GLOBAL_END, HEAP_BASE, WINDOW, is_global};
use crate::allocation::{Allocation, HostStorage};
use crate::error::MemoryError;

impl Memory {
    /// A new allocation's address, a multiple of [`ALLOCATION_ALIGN`].
    ///
    /// # Errors
    /// [`MemoryError::Full`] where it would exceed the capacity or the host's memory.
    pub fn alloc(&self, bytes: u64) -> Result<u64, MemoryError> {
        self.allocate(&mut self.state_mut(), bytes, false)
    }

    /// A new allocation whose storage is memory of the host, at an address that is a multiple of
    /// `align`, a power of two. `storage` gets the address and gives the memory. Host and kernels
    /// see each other's writes, and where the memory lies at that address they use the same
    /// pointers, as with managed memory. What the host writes counts as initialised only where
    /// [`Memory::mark_written`] says so.
    ///
    /// # Errors
    /// [`MemoryError::Full`] where the allocation would exceed the capacity or `storage` gives
    /// none, or less than `bytes`.
    pub fn alloc_over(
        &self,
        bytes: u64,
        align: u64,
        storage: impl FnOnce(u64) -> Option<HostStorage>,
    ) -> Result<u64, MemoryError> {
        let mut state = self.state_mut();
        let place = |base| Allocation::over(base, bytes, storage(base)?);
        self.allocate_with(&mut state, bytes, align.max(ALLOCATION_ALIGN), false, place)
    }

    /// An allocation at an address of the caller's choice, a multiple of 4, whose storage is memory
    /// of the host; for memory that host and kernels know by the same address. It is given back by
    /// [`Memory::free`], which leaves the storage to its owner.
    ///
    /// # Errors
    /// [`MemoryError::Occupied`] where another allocation, the device heap or a window of the
    /// generic address space lies there, [`MemoryError::Full`] where the allocation would exceed
    /// the capacity or `storage` is smaller.
    pub fn alloc_at(
        &self,
        address: u64,
        bytes: u64,
        storage: HostStorage,
    ) -> Result<(), MemoryError> {
        let mut state = self.state_mut();
        let occupied = MemoryError::Occupied { address, bytes };
        let end = match address.checked_add(bytes) {
            Some(end) if address.is_multiple_of(4) && is_global(address, end) => end,
            _ => return Err(occupied),
        };
        let heap = (HEAP_BASE, HEAP_BASE + self.heap.limit());
        let is_in_heap = address < heap.1 && heap.0 < end;
        if is_in_heap || overlaps(&state.allocations, address, end) {
            return Err(occupied);
        }
        let full = MemoryError::Full {
            requested: bytes,
            used: state.used,
            capacity: self.capacity,
        };
        let rounded = bytes.next_multiple_of(ALLOCATION_ALIGN);
        if rounded > self.capacity.saturating_sub(state.used) {
            return Err(full);
        }
        let allocation = Allocation::over(address, bytes, storage).ok_or(full)?;
        state.used += rounded;
        state.forget_freed(address, end);
        state.add(allocation);
        Ok(())
    }

    pub(super) fn allocate(
        &self,
        state: &mut State,
        bytes: u64,
        constant: bool,
    ) -> Result<u64, MemoryError> {
        self.allocate_with(state, bytes, ALLOCATION_ALIGN, constant, |base| {
            Allocation::new(base, bytes)
        })
    }

    fn allocate_with(
        &self,
        state: &mut State,
        bytes: u64,
        align: u64,
        constant: bool,
        place: impl FnOnce(u64) -> Option<Allocation>,
    ) -> Result<u64, MemoryError> {
        let full = MemoryError::Full {
            requested: bytes,
            used: state.used,
            capacity: self.capacity,
        };
        let Some(rounded) = bytes.checked_next_multiple_of(ALLOCATION_ALIGN) else {
            return Err(full);
        };
        if rounded > self.capacity.saturating_sub(state.used) {
            return Err(full);
        }
        let (start, end, next) = match constant {
            false => (GLOBAL_BASE, GLOBAL_END, state.next),
            true => (CONST_BASE, CONST_BASE + WINDOW, state.next_const),
        };
        let step = rounded.saturating_add(ALLOCATION_ALIGN);
        // A larger alignment may leave a gap in front of the allocation.
        let slack = align - ALLOCATION_ALIGN;
        let with_slack = step.saturating_add(slack);
        let behind = next.next_multiple_of(align);
        let is_free = end - next >= with_slack
            && !overlaps(&state.allocations, behind, behind.saturating_add(step));
        let base = if is_free {
            behind
        } else {
            // All addresses have been used once, or what `alloc_at` made lies there: take the first
            // gap that is large enough.
            match gap(&state.allocations, start, end, with_slack) {
                Some(base) => base.next_multiple_of(align),
                None => return Err(full),
            }
        };
        let Some(allocation) = place(base) else {
            return Err(full);
        };
        let next = next.max(base + step);
        match constant {
            false => state.next = next,
            true => state.next_const = next,
        }
        state.used += rounded;
        state.forget_freed(base, base + step);
        state.add(allocation);
        Ok(base)
    }

    /// Gives an allocation back. Its address is not reused as long as there are others, so that
    /// later use of it is an error.
    ///
    /// # Errors
    /// [`MemoryError::NotAnAllocation`] where no allocation starts at `address`.
    pub fn free(&self, address: u64) -> Result<(), MemoryError> {
        let mut state = self.state_mut();
        match state.take_away(address) {
            Some(allocation) => {
                let rounded = allocation.bytes.next_multiple_of(ALLOCATION_ALIGN);
                state.used = state.used.saturating_sub(rounded);
                state.written.remove(address, address + allocation.bytes);
                state.freed.insert(address, allocation.bytes);
                Ok(())
            }
            None => Err(MemoryError::NotAnAllocation { address }),
        }
    }
}

/// Whether any allocation has bytes between two addresses.
pub(super) fn overlaps(allocations: &BTreeMap<u64, Arc<Allocation>>, start: u64, end: u64) -> bool {
    let before = allocations.range(..end).next_back();
    before.is_some_and(|(&base, one)| base.saturating_add(one.bytes.max(1)) > start)
}

/// The first gap of at least `step` bytes between allocations.
fn gap(
    allocations: &BTreeMap<u64, Arc<Allocation>>,
    start: u64,
    end: u64,
    step: u64,
) -> Option<u64> {
    let mut candidate = start;
    for (&base, allocation) in allocations.range(start..end) {
        if base - candidate >= step {
            return Some(candidate);
        }
        let length = allocation.bytes.next_multiple_of(ALLOCATION_ALIGN);
        candidate = base + length + ALLOCATION_ALIGN;
    }
    (candidate <= end && end - candidate >= step).then_some(candidate)
}
