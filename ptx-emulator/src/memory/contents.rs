//! The bytes that memory holds: what the host copies in and out, and which of them were written.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use super::{Memory, State};
use crate::allocation::Allocation;
use crate::error::MemoryError;

impl Memory {
    fn find(&self, address: u64, bytes: u64) -> Result<Arc<Allocation>, MemoryError> {
        let state = self.state();
        let before = state.allocations.range(..=address).next_back();
        before
            .map(|(_, allocation)| allocation)
            .filter(|allocation| allocation.contains(address, bytes))
            .cloned()
            .ok_or(MemoryError::OutOfBounds { address, bytes })
    }

    /// Copies device memory at `address` into `to`.
    ///
    /// # Errors
    /// [`MemoryError::OutOfBounds`] unless one allocation holds all of it.
    pub fn read(&self, address: u64, to: &mut [u8]) -> Result<(), MemoryError> {
        let allocation = self.find(address, to.len() as u64)?;
        let offset = (address - allocation.base) as usize;
        let head = to.len().min(offset.wrapping_neg() % 4);
        let (head, rest) = to.split_at_mut(head);
        for (index, byte) in head.iter_mut().enumerate() {
            *byte = allocation.read(offset + index, 1) as u8;
        }
        let start = offset + head.len();
        let (words, tail) = rest.as_chunks_mut::<4>();
        // Without any there may be no word that begins here.
        if !words.is_empty() {
            let from = &allocation.words()[start / 4..][..words.len()];
            for (word, from) in words.iter_mut().zip(from) {
                *word = from.load(Relaxed).to_le_bytes();
            }
        }
        for (index, byte) in tail.iter_mut().enumerate() {
            *byte = allocation.read(start + 4 * words.len() + index, 1) as u8;
        }
        Ok(())
    }

    /// Copies `from` into device memory at `address`.
    ///
    /// # Errors
    /// [`MemoryError::OutOfBounds`] unless one allocation holds all of it.
    pub fn write(&self, address: u64, from: &[u8]) -> Result<(), MemoryError> {
        let allocation = self.find(address, from.len() as u64)?;
        let offset = (address - allocation.base) as usize;
        let head = from.len().min(offset.wrapping_neg() % 4);
        let (head, rest) = from.split_at(head);
        for (index, &byte) in head.iter().enumerate() {
            allocation.write(offset + index, 1, u64::from(byte));
        }
        let start = offset + head.len();
        let (words, tail) = rest.as_chunks::<4>();
        // Without any there may be no word that begins here.
        if !words.is_empty() {
            let to = &allocation.words()[start / 4..][..words.len()];
            for (to, &word) in to.iter().zip(words) {
                to.store(u32::from_le_bytes(word), Relaxed);
            }
        }
        for (index, &byte) in tail.iter().enumerate() {
            let at = start + 4 * words.len() + index;
            allocation.write(at, 1, u64::from(byte));
        }
        self.mark_written(address, from.len() as u64);
        Ok(())
    }

    /// Sets `bytes` bytes at `address` to `value`.
    ///
    /// # Errors
    /// [`MemoryError::OutOfBounds`] unless one allocation holds all of it.
    pub fn fill(&self, address: u64, bytes: u64, value: u8) -> Result<(), MemoryError> {
        let allocation = self.find(address, bytes)?;
        let offset = (address - allocation.base) as usize;
        let end = offset + bytes as usize;
        let words = offset.div_ceil(4)..end / 4;
        // None where no whole word lies in between.
        for word in allocation.words().get(words).unwrap_or_default() {
            word.store(u32::from_ne_bytes([value; 4]), Relaxed);
        }
        let (head, tail) = (offset.next_multiple_of(4).min(end), end / 4 * 4);
        for at in (offset..head).chain(tail.max(head)..end) {
            allocation.write(at, 1, u64::from(value));
        }
        self.mark_written(address, bytes);
        Ok(())
    }

    /// Marks `bytes` bytes at `address` as initialised, as [`Memory::write`] and [`Memory::fill`]
    /// do by themselves and as the launches of most observers do for all memory. An observer that
    /// looks for uninitialised memory then reports no reads of them.
    pub fn mark_written(&self, address: u64, bytes: u64) {
        let end = address.saturating_add(bytes);
        self.state_mut().written.insert(address, end);
    }

    /// Marks all allocations as initialised.
    pub(crate) fn assume_written(&self) {
        if self.state().all_written {
            return;
        }
        let mut state = self.state_mut();
        state.all_written = true;
        let State {
            allocations,
            written,
            ..
        } = &mut *state;
        for allocation in allocations.values() {
            written.insert(allocation.base, allocation.base + allocation.bytes);
        }
        for (base, block) in self.heap.blocks() {
            written.insert(base, base + block.bytes);
        }
    }

    /// The ranges of `bytes` bytes at `address` that were written: (start, end).
    pub(crate) fn written(&self, address: u64, bytes: u64) -> Vec<(u64, u64)> {
        let state = self.state();
        let end = address.saturating_add(bytes);
        state.written.within(address, end).collect()
    }
}
