//! Memory that graphs allocate: its address is known when the node is made, and its bytes are there
//! from the node's run to that of what frees it.

use ptx_emulator::HostStorage;

use crate::code::{Code, Result};
use crate::memory::{Allocated, Kind, of_memory_error};
use crate::pages::Pages;
use crate::state::{Driver, Handle, lock};
use crate::virtual_memory::GRANULARITY;

/// The pool of what graphs have allocated: the handle of none.
pub(crate) const GRAPH_POOL: Handle = 8;

/// What a node of a graph allocates. Its addresses are free again when no graph has it any more.
#[derive(Debug)]
pub(crate) struct GraphAllocation {
    driver: &'static Driver,
    address: u64,
    bytes: u64,
    device: usize,
    context: Handle,
    kind: Kind,
}

/// Bytes that graphs of a device have, and had at most.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct GraphMemory {
    used_high: u64,
    reserved: u64,
    reserved_high: u64,
}

impl GraphAllocation {
    /// Chooses the addresses.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` for 0 bytes, `CUDA_ERROR_OUT_OF_MEMORY`.
    pub(crate) fn new(
        driver: &'static Driver,
        (device, context): (usize, Handle),
        bytes: u64,
        kind: Kind,
    ) -> Result<Self> {
        if bytes == 0 {
            return Err(Code::INVALID_VALUE);
        }
        if bytes > driver.devices[device].memory_bytes() {
            return Err(Code::OUT_OF_MEMORY);
        }
        let address = driver.reserve(bytes.next_multiple_of(GRANULARITY), GRANULARITY)?;
        Ok(GraphAllocation {
            driver,
            address,
            bytes,
            device,
            context,
            kind,
        })
    }

    pub(crate) fn address(&self) -> u64 {
        self.address
    }

    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` where an earlier launch has allocated it and nothing has freed
    /// it, `CUDA_ERROR_OUT_OF_MEMORY`.
    pub(crate) fn allocate(&self) -> Result {
        let driver = self.driver;
        if driver.allocation_at(self.address).is_some() {
            return Err(Code::INVALID_VALUE);
        }
        let free = driver.devices[self.device].memory_bytes();
        if self.bytes > free.saturating_sub(driver.used_bytes(self.device)) {
            return Err(Code::OUT_OF_MEMORY);
        }
        // Memory that is the host's too has one address.
        let of_host = (self.kind != Kind::EmulatedDevice).then_some(self.address);
        let pages = Pages::map(of_host, self.bytes).ok_or(Code::OUT_OF_MEMORY)?;
        let start = pages.start();
        // SAFETY: the pages are mapped until their owner is dropped, which the storage holds, and
        // nothing else has their address.
        let storage = unsafe { HostStorage::new(start, self.bytes, Box::new(pages)) };
        let storage = storage.ok_or(Code::OUT_OF_MEMORY)?;
        let placed = driver.memory.alloc_at(self.address, self.bytes, storage);
        placed.map_err(|error| of_memory_error(&error))?;
        lock(&driver.allocations).insert(Allocated {
            address: self.address,
            bytes: self.bytes,
            kind: self.kind,
            device: self.device,
            context: self.context,
            pool: GRAPH_POOL,
            id: 0,
        });
        let used = driver.graph_used(self.device);
        let mut memory = lock(&driver.graph_memory);
        let of_device = &mut memory[self.device];
        of_device.used_high = of_device.used_high.max(used);
        of_device.reserved = of_device.reserved.max(used.next_multiple_of(GRANULARITY));
        of_device.reserved_high = of_device.reserved_high.max(of_device.reserved);
        Ok(())
    }

    /// Frees what an earlier launch allocated, where nothing has yet.
    pub(crate) fn free_if_there(&self) -> Result {
        match self.driver.allocation_at(self.address) {
            Some(_) => self.driver.release(self.address, |_| true),
            None => Ok(()),
        }
    }
}

impl Drop for GraphAllocation {
    fn drop(&mut self) {
        // What the program has not freed keeps its addresses.
        if self.driver.allocation_at(self.address).is_none() {
            let bytes = self.bytes.next_multiple_of(GRANULARITY);
            _ = self.driver.unreserve(self.address, bytes);
        }
    }
}

impl Driver {
    /// A `CUgraphMem_attribute`: bytes in use, most bytes in use, bytes kept, most bytes kept.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` for another one.
    pub(crate) fn graph_memory(&self, device: usize, attribute: u32) -> Result<u64> {
        let memory = lock(&self.graph_memory)[device];
        Ok(match attribute {
            0 => self.graph_used(device),
            1 => memory.used_high,
            2 => memory.reserved,
            3 => memory.reserved_high,
            _ => return Err(Code::INVALID_VALUE),
        })
    }

    /// Sets the most bytes in use, or kept, to what they are now.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` for another attribute.
    pub(crate) fn reset_graph_memory(&self, device: usize, attribute: u32) -> Result {
        let used = self.graph_used(device);
        let of_device = &mut lock(&self.graph_memory)[device];
        match attribute {
            1 => of_device.used_high = used,
            3 => of_device.reserved_high = of_device.reserved,
            _ => return Err(Code::INVALID_VALUE),
        }
        Ok(())
    }

    /// Gives back what graphs keep and do not use.
    pub(crate) fn trim_graph_memory(&self, device: usize) {
        let used = self.graph_used(device).next_multiple_of(GRANULARITY);
        lock(&self.graph_memory)[device].reserved = used;
    }

    fn graph_used(&self, device: usize) -> u64 {
        self.bytes_of_pool(device, GRAPH_POOL)
    }
}
