//! A launch of one kernel with buffers of its own.

use std::marker::PhantomData;

use bytemuck::{NoUninit, Pod};
use ptx_emulator::sanitize::{Finding, Tool};
use ptx_emulator::{Args, Kernel, LaunchConfig, Memory, Module, Sanitizer};

pub struct Launch {
    kernel: Kernel,
    memory: Memory,
    args: Args,
    shared: u32,
}

/// Device memory for values of one type.
pub struct Buffer<T> {
    address: u64,
    count: usize,
    element: PhantomData<T>,
}

impl Launch {
    pub fn new(text: &str, name: &str) -> Self {
        let module = Module::parse(text).unwrap_or_else(|error| panic!("{error}"));
        Launch {
            kernel: module
                .kernel(name)
                .unwrap_or_else(|error| panic!("{error}")),
            memory: Memory::with_capacity(1 << 22),
            args: Args::new(),
            shared: 0,
        }
    }

    /// The next argument: the address of these values.
    pub fn input<T: NoUninit>(&mut self, values: &[T]) -> Buffer<T> {
        let buffer = self.output(values.len());
        let bytes = bytemuck::cast_slice(values);
        self.memory.write(buffer.address, bytes).expect("in bounds");
        buffer
    }

    /// The next argument: the address of `count` values that were never written.
    pub fn output<T>(&mut self, count: usize) -> Buffer<T> {
        let bytes = (count * size_of::<T>()) as u64;
        let address = self.memory.alloc(bytes).expect("room");
        self.args.push_u64(address);
        Buffer {
            address,
            count,
            element: PhantomData,
        }
    }

    /// The next argument, by value.
    pub fn value(&mut self, bytes: &[u8]) {
        self.args.push_bytes(bytes);
    }

    /// Bytes of dynamic shared memory.
    pub fn shared(&mut self, bytes: u32) {
        self.shared = bytes;
    }

    /// Runs the kernel, in which the sanitizers must find nothing.
    pub fn run(&self, grid: [u32; 3], block: [u32; 3]) {
        let findings = self.findings(grid, block);
        assert!(
            findings.is_empty(),
            "{}: {}",
            self.kernel.name(),
            findings[0]
        );
    }

    /// Runs the kernel and gives what the sanitizers find.
    pub fn findings(&self, grid: [u32; 3], block: [u32; 3]) -> Vec<Finding> {
        let config = LaunchConfig {
            dynamic_shared_bytes: self.shared,
            instruction_budget: 1 << 24,
            ..LaunchConfig::new(grid, block)
        };
        Sanitizer::new(&Tool::ALL)
            .launch(&self.kernel, &self.memory, &config, &self.args)
            .unwrap_or_else(|error| panic!("{}: {error}", self.kernel.name()))
    }

    /// What the kernel has printed.
    pub fn printed(&self) -> Vec<u8> {
        self.memory.take_printed()
    }

    /// What a buffer holds.
    pub fn read<T: Pod>(&self, buffer: &Buffer<T>) -> Vec<T> {
        let mut values = vec![T::zeroed(); buffer.count];
        let bytes = bytemuck::cast_slice_mut(&mut values);
        self.memory.read(buffer.address, bytes).expect("in bounds");
        values
    }
}

/// Random bits, the same in every run (xorshift of Marsaglia, 2003).
pub fn noise(seed: u64) -> impl Iterator<Item = u64> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    std::iter::repeat_with(move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    })
}
