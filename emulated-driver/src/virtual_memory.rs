//! Virtual memory management: addresses that are reserved, physical memory, and what is mapped
//! where. Kernels and copies reach a mapping once its access has been set.

use std::collections::BTreeMap;
use std::fs::File;
use std::sync::Arc;

use ptx_emulator::HostStorage;

use crate::code::{Code, Result};
use crate::ipc::{nameless_file, pages_of};
use crate::memory::{Allocated, Kind, of_memory_error};
use crate::pages::Pages;
use crate::state::{Driver, Handle, lock};

/// Sizes and addresses are multiples of this many bytes.
pub(crate) const GRANULARITY: u64 = 2 << 20;

/// Where the first reservation lies: far behind what the emulator allocates by itself.
const FIRST: u64 = 0x7000_0000_0000;

/// The end of what can be reserved.
const END: u64 = 0x7e00_0000_0000;

/// Physical memory.
#[derive(Debug)]
pub(crate) struct Physical {
    pub(crate) device: usize,
    pub(crate) bytes: u64,
    /// `CUmemAllocationProp`.
    pub(crate) properties: [u64; 4],
    /// The file that it lies in, where other processes may have it.
    pub(crate) file: Option<Arc<File>>,
    pages: Pages,
}

/// `CUmemAllocationProp` of memory of the first device that other processes may have: pinned, by a
/// file; a device.
const SHARED: [u64; 4] = [1 << 32 | 1, 1, 0, 0];

impl Physical {
    /// # Errors
    /// `CUDA_ERROR_OUT_OF_MEMORY`.
    pub(crate) fn new(device: usize, bytes: u64, properties: [u64; 4]) -> Result<Self> {
        let is_shared = properties[0] >> 32 != 0;
        let file = match is_shared {
            true => Some(Arc::new(nameless_file(bytes)?)),
            false => None,
        };
        let pages = match &file {
            Some(file) => pages_of(file, bytes)?,
            None => Pages::map(None, bytes).ok_or(Code::OUT_OF_MEMORY)?,
        };
        Ok(Physical {
            device,
            bytes,
            properties,
            file,
            pages,
        })
    }

    /// Memory of another process, on the first device.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` where the file is none of such memory.
    pub(crate) fn of_file(file: Arc<File>) -> Result<Self> {
        let length = file.metadata().map_err(|_| Code::INVALID_VALUE)?.len();
        if !is_multiple(length) {
            return Err(Code::INVALID_VALUE);
        }
        Ok(Physical {
            device: 0,
            bytes: length,
            properties: SHARED,
            pages: pages_of(&file, length)?,
            file: Some(file),
        })
    }
}

/// A part of physical memory at an address.
#[derive(Clone, Debug)]
struct Mapping {
    bytes: u64,
    offset: u64,
    handle: Handle,
    physical: Arc<Physical>,
    /// `CUmemAccess_flags`: 0 none, 1 read, 3 read and write.
    access: u64,
}

/// Reserved addresses, with their bytes, and mappings in them.
#[derive(Debug, Default)]
pub(crate) struct Reservations {
    reserved: BTreeMap<u64, u64>,
    mappings: BTreeMap<u64, Mapping>,
}

fn is_multiple(bytes: u64) -> bool {
    bytes != 0 && bytes.is_multiple_of(GRANULARITY)
}

impl Driver {
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` for a wrong size or alignment, `CUDA_ERROR_OUT_OF_MEMORY` where
    /// the addresses are used up.
    pub(crate) fn reserve(&self, bytes: u64, alignment: u64) -> Result<u64> {
        let align = alignment.max(GRANULARITY);
        if !is_multiple(bytes) || !align.is_power_of_two() {
            return Err(Code::INVALID_VALUE);
        }
        let mut state = lock(&self.reservations);
        let mut start = FIRST.next_multiple_of(align);
        for (&base, &length) in &state.reserved {
            if base.saturating_sub(start) >= bytes {
                break;
            }
            // One granule between two reservations stays free, so that one's end is found.
            let end = base + length + GRANULARITY;
            start = end
                .checked_next_multiple_of(align)
                .ok_or(Code::OUT_OF_MEMORY)?
                .max(start);
        }
        if start >= END || bytes > END - start {
            return Err(Code::OUT_OF_MEMORY);
        }
        state.reserved.insert(start, bytes);
        Ok(start)
    }

    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` where that was not reserved, or something is mapped there.
    pub(crate) fn unreserve(&self, address: u64, bytes: u64) -> Result {
        let mut state = lock(&self.reservations);
        let end = address.checked_add(bytes).ok_or(Code::INVALID_VALUE)?;
        let is_mapped = state.mappings.range(address..end).next().is_some();
        if state.reserved.get(&address) != Some(&bytes) || is_mapped {
            return Err(Code::INVALID_VALUE);
        }
        state.reserved.remove(&address);
        Ok(())
    }

    /// Whether an address is reserved, mapped or not.
    pub(crate) fn is_reserved(&self, address: u64) -> bool {
        let state = lock(&self.reservations);
        let before = state.reserved.range(..=address).next_back();
        before.is_some_and(|(base, bytes)| address - base < *bytes)
    }

    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` where the addresses are not reserved or not free, or the physical
    /// memory is smaller.
    pub(crate) fn map(&self, address: u64, bytes: u64, offset: u64, handle: Handle) -> Result {
        let physical = self.physical.get(handle)?;
        let mut state = lock(&self.reservations);
        let end = address.checked_add(bytes).ok_or(Code::INVALID_VALUE)?;
        let within = offset.checked_add(bytes).ok_or(Code::INVALID_VALUE)?;
        let mut before = state.reserved.range(..=address).rev();
        let is_reserved = before
            .next()
            .is_some_and(|(start, length)| end <= start + length);
        let last = state.mappings.range(..end).next_back();
        let is_free = last.is_none_or(|(start, mapping)| start + mapping.bytes <= address);
        let fits = is_multiple(bytes) && address.is_multiple_of(GRANULARITY);
        if !fits
            || !offset.is_multiple_of(GRANULARITY)
            || within > physical.bytes
            || !is_reserved
            || !is_free
        {
            return Err(Code::INVALID_VALUE);
        }
        let mapping = Mapping {
            bytes,
            offset,
            handle,
            physical,
            access: 0,
        };
        state.mappings.insert(address, mapping);
        Ok(())
    }

    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` unless whole mappings fill the range.
    pub(crate) fn unmap(&self, address: u64, bytes: u64) -> Result {
        let mut state = lock(&self.reservations);
        let all = whole(&state, address, bytes)?;
        for start in all {
            if let Some(mapping) = state.mappings.remove(&start)
                && mapping.access != 0
            {
                self.hide(start)?;
            }
        }
        Ok(())
    }

    /// # Errors
    /// As [`Driver::unmap`], and what the emulated memory says.
    pub(crate) fn set_access(
        &self,
        (address, bytes): (u64, u64),
        access: u64,
        context: Handle,
    ) -> Result {
        if !matches!(access, 0 | 1 | 3) {
            return Err(Code::INVALID_VALUE);
        }
        let mut state = lock(&self.reservations);
        for start in whole(&state, address, bytes)? {
            let Some(mapping) = state.mappings.get_mut(&start) else {
                continue;
            };
            match (mapping.access != 0, access != 0) {
                (false, true) => self.show(start, mapping, context)?,
                (true, false) => self.hide(start)?,
                _ => {}
            }
            mapping.access = access;
        }
        Ok(())
    }

    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` where nothing is mapped.
    pub(crate) fn access(&self, address: u64) -> Result<u64> {
        Ok(mapping_at(&lock(&self.reservations), address)?.access)
    }

    /// The handle of the physical memory at an address.
    ///
    /// # Errors
    /// As [`Driver::access`].
    pub(crate) fn physical_at(&self, address: u64) -> Result<Handle> {
        Ok(mapping_at(&lock(&self.reservations), address)?.handle)
    }

    fn show(&self, address: u64, mapping: &Mapping, context: Handle) -> Result {
        let Mapping {
            bytes,
            offset,
            physical,
            ..
        } = mapping;
        let start = physical.pages.at(*offset).ok_or(Code::INVALID_VALUE)?;
        // SAFETY: the pages are mapped until the owner is dropped; kernels and copies alone use
        // them.
        let storage = unsafe { HostStorage::new(start, *bytes, Box::new(physical.clone())) };
        let storage = storage.ok_or(Code::INVALID_VALUE)?;
        let made = self.memory.alloc_at(address, *bytes, storage);
        made.map_err(|error| of_memory_error(&error))?;
        // What was written by another address is not known: nothing of it is reported.
        self.memory.mark_written(address, *bytes);
        lock(&self.allocations).insert(Allocated {
            address,
            bytes: *bytes,
            kind: Kind::Virtual,
            device: physical.device,
            context,
            pool: 0,
            id: 0,
        });
        Ok(())
    }

    fn hide(&self, address: u64) -> Result {
        self.release(address, |kind| kind == Kind::Virtual)
    }
}

fn mapping_at(state: &Reservations, address: u64) -> Result<&Mapping> {
    let before = state.mappings.range(..=address).next_back();
    let found = before.filter(|(start, mapping)| address - **start < mapping.bytes);
    found.map(|(_, mapping)| mapping).ok_or(Code::INVALID_VALUE)
}

/// The starts of the mappings that fill a range without gaps.
fn whole(state: &Reservations, address: u64, bytes: u64) -> Result<Vec<u64>> {
    let end = address.checked_add(bytes).ok_or(Code::INVALID_VALUE)?;
    let (mut at, mut all) = (address, Vec::new());
    while at < end {
        let mapping = state.mappings.get(&at).ok_or(Code::INVALID_VALUE)?;
        all.push(at);
        at += mapping.bytes;
    }
    (at == end && bytes != 0)
        .then_some(all)
        .ok_or(Code::INVALID_VALUE)
}
