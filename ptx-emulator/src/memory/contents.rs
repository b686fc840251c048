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
        let mut done = 0;
        while done < to.len() {
            let at = offset + done;
            let bytes = allocation.words()[at / 4].load(Relaxed).to_le_bytes();
            let part = &bytes[at % 4..];
            let length = part.len().min(to.len() - done);
            to[done..done + length].copy_from_slice(&part[..length]);
            done += length;
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
        let mut words = rest.chunks_exact(4);
        for (index, word) in words.by_ref().enumerate() {
            let word = u32::from_le_bytes([word[0], word[1], word[2], word[3]]);
            allocation.words()[start / 4 + index].store(word, Relaxed);
        }
        let tail = words.remainder();
        for (index, &byte) in tail.iter().enumerate() {
            let at = start + (rest.len() - tail.len()) + index;
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
        let mut at = offset;
        while at < end {
            if at.is_multiple_of(4) && end - at >= 4 {
                allocation.words()[at / 4].store(u32::from_ne_bytes([value; 4]), Relaxed);
                at += 4;
            } else {
                allocation.write(at, 1, u64::from(value));
                at += 1;
            }
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
        let mut state = self.state_mut();
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
