//! Device memory and the windows of the generic address space.
//!
//! Allocations hold 32-bit atomic words, so that kernels may race on them without undefined
//! behaviour in Rust: plain accesses are relaxed loads and stores of words, narrower stores replace
//! bytes by compare-and-swap, and 64-bit atomics hold one of a set of locks.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use crate::address_space::{CONST_BASE, GLOBAL_BASE, GLOBAL_END, HEAP_BASE, WINDOW, is_global};
use crate::allocation::{Allocation, HostStorage};
use crate::error::MemoryError;
use crate::heap::{DEFAULT_HEAP_BYTES, FreeError, Heap, HeapSite};
use crate::ranges::Ranges;
use crate::texture::{Image, Object, Objects, Sampler, Texture, TextureError};

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
    /// Size of each allocation that was freed and whose addresses have not been reused.
    freed: BTreeMap<u64, u64>,
}

impl State {
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
            true => Ok(()),
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
        self.state_mut().written.remove(address, address + bytes);
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
        state.allocations.insert(address, Arc::new(allocation));
        Ok(())
    }

    fn allocate(&self, state: &mut State, bytes: u64, constant: bool) -> Result<u64, MemoryError> {
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
        state.allocations.insert(base, Arc::new(allocation));
        Ok(base)
    }

    /// Gives an allocation back. Its address is not reused as long as there are others, so that
    /// later use of it is an error.
    ///
    /// # Errors
    /// [`MemoryError::NotAnAllocation`] where no allocation starts at `address`.
    pub fn free(&self, address: u64) -> Result<(), MemoryError> {
        let mut state = self.state_mut();
        match state.allocations.remove(&address) {
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

    /// The allocation that held an address before it was freed: (address, bytes).
    pub(crate) fn freed(&self, address: u64) -> Option<(u64, u64)> {
        let state = self.state();
        let before = state.freed.range(..=address).next_back();
        let before = before.filter(|&(&base, &bytes)| address - base < bytes);
        let of_host = before.map(|(&base, &bytes)| (base, bytes));
        of_host.or_else(|| self.heap.freed(address))
    }

    /// The allocations as they are now, and the storage of the device heap, by address.
    pub(crate) fn snapshot(&self) -> Vec<Arc<Allocation>> {
        let state = self.state();
        let below = state.allocations.range(..HEAP_BASE);
        let above = state.allocations.range(HEAP_BASE..);
        let all = below.map(|(_, one)| one).chain(self.heap.arena());
        all.chain(above.map(|(_, one)| one)).cloned().collect()
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

/// Whether any allocation has bytes between two addresses.
fn overlaps(allocations: &BTreeMap<u64, Arc<Allocation>>, start: u64, end: u64) -> bool {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::address_space::SHARED_BASE;

    #[test]
    fn allocations_are_aligned_apart_and_counted() {
        let memory = Memory::with_capacity(1024);
        let a = memory.alloc(1).expect("room");
        let b = memory.alloc(512).expect("room");
        assert_eq!(a % ALLOCATION_ALIGN, 0);
        assert!(b >= a + 2 * ALLOCATION_ALIGN);
        assert_eq!(memory.used(), 768);
        assert!(matches!(memory.alloc(257), Err(MemoryError::Full { .. })));
        memory.free(a).expect("allocated");
        assert_eq!(memory.used(), 512);
        assert!(memory.free(a).is_err());
    }

    #[test]
    fn unaligned_reads_and_writes() {
        let memory = Memory::with_capacity(1 << 20);
        let a = memory.alloc(64).expect("room");
        for start in 0..5usize {
            for length in 0..12usize {
                memory.fill(a, 64, 0xee).expect("in bounds");
                let data: Vec<u8> = (0..length as u8).map(|i| i * 3 + 1).collect();
                memory.write(a + start as u64, &data).expect("in bounds");
                let mut all = [0u8; 64];
                memory.read(a, &mut all).expect("in bounds");
                assert_eq!(&all[start..start + length], data.as_slice());
                assert!(all[..start].iter().all(|&byte| byte == 0xee));
                assert!(all[start + length..].iter().all(|&byte| byte == 0xee));
                let mut back = vec![0u8; length];
                memory.read(a + start as u64, &mut back).expect("in bounds");
                assert_eq!(back, data);
            }
        }
    }

    #[test]
    fn bounds_are_checked() {
        let memory = Memory::with_capacity(1 << 20);
        let a = memory.alloc(10).expect("room");
        assert!(memory.write(a + 9, &[1]).is_ok());
        assert!(memory.write(a + 10, &[1]).is_err());
        assert!(memory.read(a - 1, &mut [0]).is_err());
        assert!(memory.fill(a, u64::MAX, 0).is_err());
        assert!(memory.read(0, &mut [0]).is_err());
        memory.free(a).expect("allocated");
        assert!(memory.read(a, &mut [0]).is_err());
    }

    #[test]
    fn what_was_written_and_what_was_freed_is_known() {
        let memory = Memory::with_capacity(1 << 20);
        let a = memory.alloc(64).expect("room");
        assert_eq!(memory.written(a, 64), []);
        memory.write(a + 4, &[0; 8]).expect("in bounds");
        memory.fill(a + 60, 4, 1).expect("in bounds");
        let expected = [(a + 4, a + 12), (a + 60, a + 64)];
        assert_eq!(memory.written(a, 64), expected);
        assert_eq!(memory.freed(a), None);
        memory.free(a).expect("allocated");
        assert_eq!(memory.freed(a + 63), Some((a, 64)));
        assert_eq!(memory.freed(a + 64), None);
        assert_eq!(memory.written(a, 64), []);
        let b = memory.alloc(64).expect("room");
        assert_eq!(memory.freed(b), None);
        memory.assume_written();
        assert_eq!(memory.written(b, 64), [(b, b + 64)]);
    }

    #[test]
    fn memory_of_the_host_can_be_storage() {
        let memory = Memory::with_capacity(1 << 20);
        let mut words = Box::new([7u32; 1024]);
        let start = std::ptr::NonNull::from(&mut words[0]).cast();
        // SAFETY: the box lives until the end of the test, which uses it through `start` alone
        // while the allocation lives.
        let storage = |_| unsafe { HostStorage::new(start, 4096, Box::new(())) };
        let a = memory.alloc_over(4000, 4096, storage).expect("room");
        assert_eq!(a % 4096, 0);
        let mut first = [0; 4];
        memory.read(a, &mut first).expect("in bounds");
        assert_eq!(u32::from_le_bytes(first), 7);
        memory.fill(a + 4, 4, 1).expect("in bounds");
        assert!(memory.write(a + 4000, &[1]).is_err());
        let b = memory.alloc(8).expect("room");
        assert!(b >= a + 4096);
        memory.free(a).expect("allocated");
        assert_eq!(words[..3], [7, 0x0101_0101, 7]);
        assert!(memory.alloc_over(8192, 4096, storage).is_err());
    }

    #[test]
    fn allocations_lie_at_addresses_of_the_callers_choice() {
        let memory = Memory::with_capacity(1 << 20);
        let mut words = vec![7u32; 64];
        let start = std::ptr::NonNull::from(&mut words[0]).cast();
        // SAFETY: the vector lives until the end of the test, which uses it through `start` alone
        // while an allocation lives.
        let storage = || unsafe { HostStorage::new(start, 256, Box::new(())) }.expect("aligned");
        let first = memory.alloc(300).expect("room");
        let next = memory.state().next;
        for wrong in [
            first + 256,
            next - 512 - 4,
            2,
            HEAP_BASE,
            SHARED_BASE,
            u64::MAX - 3,
        ] {
            let made = memory.alloc_at(wrong, 256, storage());
            assert!(
                matches!(made, Err(MemoryError::Occupied { .. })),
                "{wrong:#x}"
            );
        }
        // Beside others, in front of what is allocated next, and behind the device heap.
        for address in [next + 4, 0x5555_0000_0010, HEAP_BASE + (1 << 30)] {
            memory.alloc_at(address, 256, storage()).expect("free");
            let mut word = [0; 4];
            memory.read(address + 252, &mut word).expect("in bounds");
            assert_eq!(u32::from_le_bytes(word), 7);
            assert!(memory.read(address + 253, &mut word).is_err());
        }
        let small = memory.alloc_at(0x6000_0000_0000, 260, storage());
        assert!(matches!(small, Err(MemoryError::Full { .. })));
        let behind = memory.alloc(300).expect("room");
        assert!(behind >= next + 260);
        memory.prepare_heap().expect("room");
        let bases: Vec<u64> = memory.regions().iter().map(|(base, _)| *base).collect();
        assert!(
            bases.is_sorted() && bases.contains(&HEAP_BASE),
            "{bases:x?}"
        );
        memory.free(next + 4).expect("allocated");
        assert!(memory.read(next + 4, &mut [0]).is_err());
    }

    #[test]
    fn gaps_are_found_when_addresses_run_out() {
        let memory = Memory::with_capacity(u64::MAX);
        let a = memory.alloc(256).expect("room");
        let b = memory.alloc(256).expect("room");
        memory.state_mut().next = GLOBAL_END;
        memory.free(a).expect("allocated");
        assert_eq!(memory.alloc(200).expect("the gap"), a);
        assert_eq!(memory.freed(a), None);
        assert!(memory.alloc(512).expect("behind the last") > b);
    }
}
