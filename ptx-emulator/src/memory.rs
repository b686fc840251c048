//! Device memory and the windows of the generic address space.
//!
//! Allocations hold 32-bit atomic words, so that kernels may race on them without undefined
//! behaviour in Rust: plain accesses are relaxed loads and stores of words, narrower stores replace
//! bytes by compare-and-swap, and 64-bit atomics hold one of a set of locks.

mod addresses;
mod contents;

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use crate::address_space::{CONST_BASE, GLOBAL_BASE, HEAP_BASE};
use crate::allocation::Allocation;
use crate::error::MemoryError;
use crate::heap::{DEFAULT_HEAP_BYTES, FreeError, Heap, HeapSite};
use crate::ranges::Ranges;
use crate::texture::{Image, Object, Objects, Sampler, Texture, TextureError};
use addresses::overlaps;

/// Alignment of allocations, and the smallest gap between two of them, in bytes.
pub const ALLOCATION_ALIGN: u64 = 256;

/// Most bytes of local memory that a thread can have (CUDA C++ Programming Guide, "Technical
/// Specifications per Compute Capability").
pub(crate) const MAX_LOCAL_BYTES: u64 = 512 * 1024;

/// Most bytes of the device heap.
const MAX_HEAP_BYTES: u64 = 1 << 38;

/// A module's number, and where the variable of a function stands in its text; none for the
/// variables of the module itself.
pub(crate) type VariableKey = (u64, Option<u32>);

/// Allocations, and the storage of the device heap, by address.
pub(crate) type Snapshot = Arc<[Arc<Allocation>]>;

/// The addresses of a module's variables in one memory.
pub(crate) type VariableTable = Arc<Vec<u64>>;

#[derive(Debug, Default)]
struct State {
    allocations: BTreeMap<u64, Arc<Allocation>>,
    used: u64,
    next: u64,
    next_const: u64,
    variables: HashMap<VariableKey, VariableTable>,
    /// Addresses that the host or a kernel has written to.
    written: Ranges,
    /// Whether they are those of all allocations.
    all_written: bool,
    /// What launches take, if nothing was allocated or freed since the last one.
    snapshot: Option<Snapshot>,
    /// Size of each allocation that was freed and whose addresses have not been reused.
    freed: BTreeMap<u64, u64>,
}

impl State {
    /// Adds an allocation at addresses that no other one has.
    fn add(&mut self, allocation: Allocation) {
        self.all_written = false;
        self.snapshot = None;
        self.allocations
            .insert(allocation.base, Arc::new(allocation));
    }

    fn take_away(&mut self, address: u64) -> Option<Arc<Allocation>> {
        self.snapshot = None;
        self.allocations.remove(&address)
    }

    /// Forgets what was freed between two addresses, which are used again.
    fn forget_freed(&mut self, start: u64, end: u64) {
        let reused = self.freed.range(..end).rev();
        let reused: Vec<u64> = reused
            .take_while(|(freed, bytes)| **freed + **bytes > start)
            .map(|(&freed, _)| freed)
            .collect();
        for freed in reused {
            self.freed.remove(&freed);
        }
    }
}

/// Locks that 64-bit atomics share; a power of two.
const LOCKS: usize = 64;

/// Device memory: allocations with a limit on their total size.
///
/// Shared by reference between launches and threads. Contents start as zero; host memory is taken
/// when an allocation is made.
#[derive(Debug)]
pub struct Memory {
    capacity: u64,
    state: RwLock<State>,
    locks: Vec<Mutex<()>>,
    heap: Heap,
    /// What kernels have printed.
    printed: Mutex<Vec<u8>>,
    objects: RwLock<Objects>,
}

impl Memory {
    /// Memory that grows up to `capacity` bytes of allocations.
    pub fn with_capacity(capacity: u64) -> Self {
        Memory {
            capacity,
            state: RwLock::new(State {
                next: GLOBAL_BASE,
                next_const: CONST_BASE,
                ..State::default()
            }),
            locks: (0..LOCKS).map(|_| Mutex::new(())).collect(),
            heap: Heap::new(DEFAULT_HEAP_BYTES),
            printed: Mutex::default(),
            objects: RwLock::default(),
        }
    }

    /// A texture, whose handle kernels take: its images must lie in allocations of this memory when
    /// a kernel reads them.
    ///
    /// # Errors
    /// [`TextureError`] where an image or its sampler is none that a GPU has.
    pub fn create_texture(&self, texture: Texture) -> Result<u64, TextureError> {
        self.add_object(Object::Texture(Arc::new(texture)))
    }

    /// A sampler, for modules with `.target texmode_independent`.
    ///
    /// # Errors
    /// As [`Memory::create_texture`].
    pub fn create_sampler(&self, sampler: Sampler) -> Result<u64, TextureError> {
        self.add_object(Object::Sampler(sampler))
    }

    /// A surface, whose handle kernels take.
    ///
    /// # Errors
    /// As [`Memory::create_texture`].
    pub fn create_surface(&self, image: Image) -> Result<u64, TextureError> {
        self.add_object(Object::Surface(image))
    }

    /// Forgets a texture, sampler or surface; its images stay. False where the handle has none.
    pub fn destroy_object(&self, handle: u64) -> bool {
        let mut objects = self.objects.write().unwrap_or_else(PoisonError::into_inner);
        objects.remove(handle)
    }

    fn add_object(&self, object: Object) -> Result<u64, TextureError> {
        let mut objects = self.objects.write().unwrap_or_else(PoisonError::into_inner);
        objects.add(object)
    }

    /// What a handle stands for.
    pub(crate) fn object(&self, handle: u64) -> Option<Object> {
        let objects = self.objects.read().unwrap_or_else(PoisonError::into_inner);
        objects.get(handle)
    }

    /// The same memory with another limit of the device heap, on which `malloc` and `free` of a
    /// kernel work; [`DEFAULT_HEAP_BYTES`] where this is not called. The heap lies beside the
    /// allocations: it does not count towards the capacity.
    pub fn with_heap_limit(self, bytes: u64) -> Self {
        let heap = Heap::new(bytes.min(MAX_HEAP_BYTES));
        Memory { heap, ..self }
    }

    /// What kernels have printed by `vprintf` since this was called last: of each launch the blocks
    /// one after the other, of each block the calls in the order in which they ran. Of more than
    /// 16 MiB in one launch the rest is dropped, and a line says so.
    pub fn take_printed(&self) -> Vec<u8> {
        std::mem::take(&mut *self.printed.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Adds what a launch has printed.
    pub(crate) fn print(&self, text: Vec<u8>) {
        let mut printed = self.printed.lock().unwrap_or_else(PoisonError::into_inner);
        match printed.is_empty() {
            true => *printed = text,
            false => printed.extend_from_slice(&text),
        }
    }

    /// Sets the limit of the device heap, as [`Memory::with_heap_limit`] does; false once a kernel
    /// that may call `malloc` has been launched, since the heap is there from then on, and where an
    /// allocation at an address of the host's choice is in the way.
    pub fn set_heap_limit(&self, bytes: u64) -> bool {
        let bytes = bytes.min(MAX_HEAP_BYTES);
        let state = self.state_mut();
        let is_free = !overlaps(&state.allocations, HEAP_BASE, HEAP_BASE + bytes);
        is_free && self.heap.set_limit(bytes)
    }

    pub(crate) fn heap(&self) -> &Heap {
        &self.heap
    }

    /// Makes the storage of the device heap.
    pub(crate) fn prepare_heap(&self) -> Result<(), MemoryError> {
        match self.heap.prepare() {
            true => {
                self.state_mut().snapshot = None;
                Ok(())
            }
            false => Err(MemoryError::Full {
                requested: self.heap.limit(),
                used: self.used(),
                capacity: self.capacity,
            }),
        }
    }

    /// `malloc`: a block of the device heap, whose contents count as never written.
    pub(crate) fn heap_alloc(&self, bytes: u64, site: HeapSite) -> Option<u64> {
        let address = self.heap.alloc(bytes, site)?;
        let mut state = self.state_mut();
        state.written.remove(address, address + bytes);
        state.all_written = false;
        Some(address)
    }

    /// `free`.
    pub(crate) fn heap_free(&self, address: u64) -> Result<(), FreeError> {
        let bytes = self.heap.free(address)?;
        self.state_mut().written.remove(address, address + bytes);
        Ok(())
    }

    /// The limit in bytes.
    pub fn capacity(&self) -> u64 {
        self.capacity
    }

    /// Bytes of all allocations, each rounded up to [`ALLOCATION_ALIGN`].
    pub fn used(&self) -> u64 {
        self.state().used
    }

    fn state(&self) -> std::sync::RwLockReadGuard<'_, State> {
        // No code panics while it holds the lock, and the state is valid at every step.
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn state_mut(&self) -> std::sync::RwLockWriteGuard<'_, State> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// The allocations as they are now, by address: (address, bytes).
    pub fn allocations(&self) -> Vec<(u64, u64)> {
        let state = self.state();
        let all = state.allocations.values();
        all.map(|allocation| (allocation.base, allocation.bytes))
            .collect()
    }

    /// The allocations, and the storage of the device heap behind them.
    pub(crate) fn regions(&self) -> Vec<(u64, u64)> {
        let all = self.snapshot();
        all.iter()
            .map(|region| (region.base, region.bytes))
            .collect()
    }

    /// The allocation that held an address before it was freed: (address, bytes).
    pub(crate) fn freed(&self, address: u64) -> Option<(u64, u64)> {
        let state = self.state();
        let before = state.freed.range(..=address).next_back();
        let before = before.filter(|&(&base, &bytes)| address - base < bytes);
        let of_host = before.map(|(&base, &bytes)| (base, bytes));
        of_host.or_else(|| self.heap.freed(address))
    }

    /// The allocations as they are now, and the storage of the device heap, by address.
    pub(crate) fn snapshot(&self) -> Snapshot {
        if let Some(snapshot) = &self.state().snapshot {
            return snapshot.clone();
        }
        let mut state = self.state_mut();
        let below = state.allocations.range(..HEAP_BASE);
        let above = state.allocations.range(HEAP_BASE..);
        let all = below.map(|(_, one)| one).chain(self.heap.arena());
        let all: Snapshot = all.chain(above.map(|(_, one)| one)).cloned().collect();
        state.snapshot = Some(all.clone());
        all
    }

    /// The lock that 64-bit atomics and strong accesses at an address hold.
    pub(crate) fn lock(&self, address: u64) -> MutexGuard<'_, ()> {
        let index = (address / 8) as usize % LOCKS;
        self.locks[index]
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// The addresses of a module's variables in this memory. At first use `place` makes them: it
    /// gets a function that allocates `bytes` (in constant memory where `true`).
    pub(crate) fn variables(
        &self,
        key: VariableKey,
        sizes: &[(u64, bool)],
        fill: impl FnOnce(&[u64]) -> Vec<(u64, Vec<u8>)>,
    ) -> Result<VariableTable, MemoryError> {
        if let Some(table) = self.state().variables.get(&key) {
            return Ok(table.clone());
        }
        let mut state = self.state_mut();
        if let Some(table) = state.variables.get(&key) {
            return Ok(table.clone());
        }
        let mut addresses = Vec::with_capacity(sizes.len());
        for &(bytes, constant) in sizes {
            // A variable's last bytes are in a word, as in the memory of a device, where others
            // follow. Atomics of 8 and 16 bits are made of those of the word (libcu++).
            let bytes = bytes.next_multiple_of(4);
            let address = self.allocate(&mut state, bytes, constant)?;
            // Variables without an initialiser are zero (PTX ISA, "Initializers").
            state.written.insert(address, address + bytes);
            addresses.push(address);
        }
        let table = Arc::new(addresses);
        state.variables.insert(key, table.clone());
        drop(state);
        for (address, bytes) in fill(&table) {
            self.write(address, &bytes)?;
        }
        Ok(table)
    }
}

#[cfg(test)]
mod tests;
