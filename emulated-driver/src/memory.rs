//! Device memory, and memory of the host that kernels use.
//!
//! Addresses are the emulator's. Those of pinned and managed memory are addresses of this process
//! too: pages are mapped there, and the emulator uses them as the allocation's storage.

use std::collections::BTreeMap;
use std::ptr::NonNull;
use std::sync::Mutex;

use ptx_emulator::{HostStorage, MemoryError};

use crate::code::{Code, Result};
use crate::context::any_current;
use crate::pages::{PAGE, Pages, keep_pages};
use crate::pointer::Host;
use crate::state::{Driver, Handle, lock};
use crate::virtual_memory::GRANULARITY;

/// Device memory of this many bytes or more lies in pages of its own.
const LARGE: u64 = 1 << 20;

/// What an allocation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    EmulatedDevice,
    Managed,
    /// Pinned memory of the host, with the flags of its allocation.
    Pinned(u32),
    /// Physical memory that is mapped at reserved addresses.
    Virtual,
    /// Memory that another process has exported.
    Imported,
    /// The program's own memory at this address, registered with flags.
    Registered(u64, u32),
}

/// An allocation of the program.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Allocated {
    pub(crate) address: u64,
    pub(crate) bytes: u64,
    pub(crate) kind: Kind,
    pub(crate) device: usize,
    pub(crate) context: Handle,
    /// The pool that it is from, or 0.
    pub(crate) pool: Handle,
    /// A number that no other allocation has.
    pub(crate) id: u64,
}

/// The allocations by address.
#[derive(Debug, Default)]
pub(crate) struct Allocations {
    of_address: BTreeMap<u64, Allocated>,
    next_id: u64,
}

impl Allocations {
    /// Adds an allocation, which gets a number of its own.
    pub(crate) fn insert(&mut self, allocated: Allocated) {
        self.next_id += 1;
        let id = self.next_id;
        self.of_address
            .insert(allocated.address, Allocated { id, ..allocated });
    }
}

/// What a pool's memory is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PoolKind {
    Device,
    /// Pinned memory of the host.
    Host,
    Managed,
}

/// A memory pool. Memory that is given back to it is free at once.
#[derive(Debug)]
pub(crate) struct Pool {
    pub(crate) device: usize,
    pub(crate) kind: PoolKind,
    /// Whether other processes may have it.
    pub(crate) is_shareable: bool,
    /// Whether it is that of another process.
    pub(crate) is_imported: bool,
    /// `CUmemPool_attribute`s that were set.
    pub(crate) attributes: Mutex<BTreeMap<u32, u64>>,
    /// The most bytes that were reserved, and that were used, each since it was reset.
    pub(crate) most: Mutex<[u64; 2]>,
}

impl Pool {
    pub(crate) fn new(device: usize, kind: PoolKind) -> Self {
        // Reuse is allowed in each of the three ways.
        let attributes = BTreeMap::from([(1, 1), (2, 1), (3, 1), (4, 0)]);
        Pool {
            device,
            kind,
            is_shareable: false,
            is_imported: false,
            attributes: Mutex::new(attributes),
            most: Mutex::default(),
        }
    }
}

impl Pool {
    pub(crate) fn shareable(self) -> Self {
        Pool {
            is_shareable: true,
            ..self
        }
    }

    /// A pool of another process.
    pub(crate) fn imported(device: usize) -> Self {
        Pool {
            is_imported: true,
            ..Pool::new(device, PoolKind::Device)
        }
    }
}

pub(crate) fn of_memory_error(error: &MemoryError) -> Code {
    match error {
        MemoryError::Full { .. } => Code::OUT_OF_MEMORY,
        _ => Code::INVALID_VALUE,
    }
}

impl Driver {
    /// Bytes of a device that are in use.
    pub(crate) fn used_bytes(&self, device: usize) -> u64 {
        let allocations = lock(&self.allocations);
        let of_device = allocations.of_address.values();
        let of_device = of_device.filter(|one| {
            one.device == device && matches!(one.kind, Kind::EmulatedDevice | Kind::Managed)
        });
        let physical = self.physical.all();
        let physical = physical.iter().filter(|one| one.device == device);
        let physical: u64 = physical.map(|one| one.bytes).sum();
        physical + of_device.map(|one| one.bytes).sum::<u64>()
    }

    /// Bytes of a device that are from a pool.
    pub(crate) fn bytes_of_pool(&self, device: usize, pool: Handle) -> u64 {
        let allocations = lock(&self.allocations);
        let of_pool = allocations.of_address.values();
        let of_pool = of_pool.filter(|one| one.device == device && one.pool == pool);
        of_pool.map(|one| one.bytes).sum()
    }

    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` for 0 bytes, `CUDA_ERROR_OUT_OF_MEMORY`.
    pub(crate) fn allocate(
        &self,
        bytes: u64,
        kind: Kind,
        (device, context, pool): (usize, Handle, Handle),
    ) -> Result<u64> {
        if bytes == 0 {
            return Err(Code::INVALID_VALUE);
        }
        let free = self.devices[device].memory_bytes();
        if bytes > free.saturating_sub(self.used_bytes(device)) {
            return Err(Code::OUT_OF_MEMORY);
        }
        let made = match kind {
            // Pages that nothing touches take neither memory of the host nor time: programs
            // allocate much of a GPU's memory, to divide it themselves. They start at the pages of
            // a GPU, as NVIDIA's driver has it: programs divide them into pages of their own.
            Kind::EmulatedDevice if bytes >= LARGE => {
                self.memory.alloc_over(bytes, GRANULARITY, |_| {
                    let pages = Pages::map(None, bytes)?;
                    let start = pages.start();
                    // SAFETY: the pages are mapped until the owner is dropped, and the program does
                    // not have their address.
                    unsafe { HostStorage::new(start, bytes, Box::new(pages)) }
                })
            }
            Kind::EmulatedDevice => self.memory.alloc(bytes),
            Kind::Managed | Kind::Pinned(_) => self.memory.alloc_over(bytes, PAGE, |address| {
                let pages = Pages::map(Some(address), bytes)?;
                let start = pages.start();
                // SAFETY: the pages are mapped until the owner is dropped. The program uses them
                // through pointers alone, and not while a kernel does, as with managed memory.
                unsafe { HostStorage::new(start, bytes, Box::new(pages)) }
            }),
            // Mappings are made by `Driver::set_access`.
            Kind::Virtual | Kind::Imported => return Err(Code::INVALID_VALUE),
            Kind::Registered(host, _) => {
                // The words that hold the memory: those of its first and last byte lie in its
                // pages.
                let head = host % 4;
                let start = Host::at_address(host - head).raw().cast();
                // SAFETY: the program registers memory that it keeps until it unregisters it, and
                // does not use it while a kernel does.
                let storage = || unsafe {
                    HostStorage::new(NonNull::new(start)?, bytes + head, Box::new(()))
                };
                // Kernels know it by the program's own address, unless that is one of theirs.
                let place = |storage| {
                    let placed = self.memory.alloc_at(host - head, bytes + head, storage);
                    placed.is_ok().then_some(host)
                };
                match storage().and_then(place) {
                    Some(address) => Ok(address),
                    None => {
                        let over = self.memory.alloc_over(bytes + head, 0, |_| storage());
                        over.map(|address| address + head)
                    }
                }
            }
        };
        let address = made.map_err(|error| of_memory_error(&error))?;
        lock(&self.allocations).insert(Allocated {
            address,
            bytes,
            kind,
            device,
            context,
            pool,
            id: 0,
        });
        Ok(address)
    }

    /// Gives a module's variable storage that the program uses at the same address, as it does a
    /// managed variable. The pages stay: variables close together lie in one.
    ///
    /// # Errors
    /// `CUDA_ERROR_OUT_OF_MEMORY` where something else of the program lies at the address.
    pub(crate) fn manage_variable(
        &self,
        (address, bytes): (u64, u64),
        (device, context): (usize, Handle),
    ) -> Result {
        let invalid = |error| of_memory_error(&error);
        keep_pages(address, bytes)?;
        let mut value = vec![0; bytes as usize];
        self.memory.read(address, &mut value).map_err(invalid)?;
        self.memory.free(address).map_err(invalid)?;
        let start = Host::at_address(address).raw().cast();
        let start = NonNull::new(start).ok_or(Code::INVALID_VALUE)?;
        // SAFETY: the pages are mapped until the process ends. The program uses them through
        // pointers alone, and not while a kernel does, as with managed memory.
        let storage = unsafe { HostStorage::new(start, bytes, Box::new(())) };
        let storage = storage.ok_or(Code::INVALID_VALUE)?;
        let placed = self.memory.alloc_at(address, bytes, storage);
        placed.map_err(invalid)?;
        self.memory.write(address, &value).map_err(invalid)?;
        lock(&self.allocations).insert(Allocated {
            address,
            bytes,
            kind: Kind::Managed,
            device,
            context,
            pool: 0,
            id: 0,
        });
        Ok(())
    }

    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` where no allocation of the kind starts at the address.
    pub(crate) fn release(&self, address: u64, is_kind: impl Fn(Kind) -> bool) -> Result {
        let mut allocations = lock(&self.allocations);
        let found = allocations.of_address.get(&address).copied();
        let found = found.filter(|one| is_kind(one.kind));
        let found = found.ok_or(Code::INVALID_VALUE)?;
        allocations.of_address.remove(&address);
        self.forget_export(address);
        if found.kind == Kind::Managed {
            let end = (address + found.bytes).next_multiple_of(PAGE);
            lock(&self.advices).forget((address, end));
        }
        self.free_storage(&found)
    }

    fn free_storage(&self, allocated: &Allocated) -> Result {
        let head = match allocated.kind {
            Kind::Registered(host, _) => host % 4,
            _ => 0,
        };
        let freed = self.memory.free(allocated.address - head);
        freed.map_err(|error| of_memory_error(&error))
    }

    /// Frees what belongs to a context. Mappings belong to none: they stay until they are unmapped.
    pub(crate) fn free_all_of(&self, context: Handle) {
        let mut allocations = lock(&self.allocations);
        allocations.of_address.retain(|_, one| {
            let keep = one.context != context || one.kind == Kind::Virtual;
            if !keep {
                // What is not there any more needs no freeing.
                _ = self.free_storage(one);
            }
            keep
        });
    }

    /// The allocation around an address of a kernel.
    pub(crate) fn allocation_at(&self, address: u64) -> Option<Allocated> {
        let allocations = lock(&self.allocations);
        let before = allocations.of_address.range(..=address).next_back()?;
        let found = *before.1;
        (address - found.address < found.bytes).then_some(found)
    }

    /// The registered memory of the program around an address of its own.
    pub(crate) fn registered_at(&self, host: u64) -> Option<Allocated> {
        let allocations = lock(&self.allocations);
        let mut all = allocations.of_address.values();
        let found = all.find(|one| match one.kind {
            Kind::Registered(start, _) => host >= start && host - start < one.bytes,
            _ => false,
        });
        found.copied()
    }

    /// The variable of a module around an address: memory that the program has not allocated.
    pub(crate) fn variable_at(&self, address: u64) -> Option<Allocated> {
        let current = any_current().ok()?;
        if !self.is_device_address(address) {
            return None;
        }
        let mut all = self.memory.allocations().into_iter();
        let (base, bytes) = all.find(|&(base, bytes)| address.wrapping_sub(base) < bytes)?;
        Some(Allocated {
            address: base,
            bytes,
            kind: Kind::EmulatedDevice,
            device: current.context.device,
            context: current.handle,
            pool: 0,
            id: base,
        })
    }

    /// Whether the emulator has memory at an address: an allocation, or a module's variable.
    pub(crate) fn is_device_address(&self, address: u64) -> bool {
        self.memory.read(address, &mut [0]).is_ok()
    }

    /// What the program may have written to memory that it shares with kernels.
    pub(crate) fn mark_shared_written(&self) {
        for one in lock(&self.allocations).of_address.values() {
            if one.kind != Kind::EmulatedDevice {
                self.memory.mark_written(one.address, one.bytes);
            }
        }
    }

    /// Copies between any two addresses, each of device memory or of the host's.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` where device memory ends before the copy does.
    pub(crate) fn copy(&self, to: u64, from: u64, bytes: usize) -> Result {
        const CHUNK: usize = 1 << 20;
        let invalid = |error| of_memory_error(&error);
        if bytes == 0 {
            return Ok(());
        }
        let from_device = self.is_device_address(from);
        let to_device = self.is_device_address(to);
        let size = bytes as u64;
        // Nothing is copied where not all can be.
        let last = |address: u64| address.checked_add(size - 1).ok_or(Code::INVALID_VALUE);
        for (is_device, address) in [(from_device, from), (to_device, to)] {
            let is_missing = match is_device {
                true => !self.is_allocated(address, last(address)?),
                // Reserved addresses are no memory of the program either.
                false => self.is_reserved(address),
            };
            if is_missing {
                return Err(Code::INVALID_VALUE);
            }
        }
        let mut buffer = vec![0; bytes.min(CHUNK)];
        let mut done = 0;
        // Overlapping ranges are copied as memmove does it.
        let backwards = to > from && to - from < size;
        let is_mapping = |address| self.bytes_of_mapping(address) != usize::MAX;
        let has_mapping = backwards && (is_mapping(from) || is_mapping(to));
        while done < bytes {
            let mut length = (bytes - done).min(CHUNK);
            if !backwards {
                for address in [from, to].map(|start| start + done as u64) {
                    length = length.min(self.bytes_of_mapping(address));
                }
            } else if has_mapping {
                // The largest step that stays in one mapping on both sides: one byte at worst.
                length = 1;
            }
            let at = if backwards {
                bytes - done - length
            } else {
                done
            } as u64;
            let part = &mut buffer[..length];
            match from_device {
                true => self.memory.read(from + at, part).map_err(invalid)?,
                false => Host::at_address(from + at).read(part)?,
            }
            match to_device {
                true => self.memory.write(to + at, part).map_err(invalid)?,
                false => Host::at_address(to + at).write(part)?,
            }
            done += length;
        }
        Ok(())
    }

    /// Whether all bytes from one address to another are device memory: of one allocation, or of
    /// mappings side by side.
    fn is_allocated(&self, first: u64, last: u64) -> bool {
        let mut at = first;
        while let Some(found) = self.allocation_at(at) {
            let end = found.address + found.bytes;
            if last < end {
                return true;
            }
            if found.kind != Kind::Virtual {
                return false;
            }
            at = end;
        }
        // A module's variable: the ends must lie in it, and it is as long as the emulator says.
        at == first && self.is_device_address(last)
    }

    /// Bytes from an address to the end of its mapping; no limit for other memory.
    fn bytes_of_mapping(&self, address: u64) -> usize {
        let found = self.allocation_at(address);
        let found = found.filter(|found| found.kind == Kind::Virtual);
        found.map_or(usize::MAX, |found| {
            (found.address + found.bytes - address) as usize
        })
    }

    /// Sets `rows` rows of `width` elements, `pitch` bytes apart, to the bytes of `value`.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` where that is not device memory, or not aligned to the value.
    pub(crate) fn set(
        &self,
        address: u64,
        value: &[u8],
        width: usize,
        (rows, pitch): (usize, usize),
    ) -> Result {
        let invalid = |error| of_memory_error(&error);
        if !address.is_multiple_of(value.len() as u64) {
            return Err(Code::INVALID_VALUE);
        }
        let bytes = width.checked_mul(value.len()).ok_or(Code::INVALID_VALUE)?;
        for row in 0..rows {
            let start = address + (row * pitch) as u64;
            let last = start.checked_add((bytes as u64).max(1) - 1);
            if !self.is_allocated(start, last.ok_or(Code::INVALID_VALUE)?) {
                return Err(Code::INVALID_VALUE);
            }
            let is_same = value.iter().all(|byte| *byte == value[0]);
            let mut done = 0;
            while done < bytes {
                let at = start + done as u64;
                let length = (bytes - done).min(self.bytes_of_mapping(at));
                if is_same {
                    let filled = self.memory.fill(at, length as u64, value[0]);
                    filled.map_err(invalid)?;
                } else {
                    // Mappings begin and end at multiples of a value's bytes.
                    let part = value.repeat(length / value.len());
                    self.memory.write(at, &part).map_err(invalid)?;
                }
                done += length;
            }
        }
        Ok(())
    }
}
