//! A launch on the emulator under all sanitizers.

use anyhow::{Context, Result, bail};
use ptx_emulator::sanitize::Tool;
use ptx_emulator::{Args, LaunchConfig, Memory, Module, Sanitizer};

/// Bytes of device memory: more than any of the launches needs.
const CAPACITY: u64 = 1 << 30;

/// Device memory and the arguments of the next launch.
pub struct Emulated<'a> {
    module: &'a Module,
    memory: Memory,
    args: Args,
    sanitizer: Sanitizer,
}

/// An array in device memory.
#[derive(Clone, Copy)]
pub struct Array {
    pub address: u64,
    bytes: usize,
}

impl<'a> Emulated<'a> {
    pub fn new(module: &'a Module) -> Self {
        Emulated {
            module,
            memory: Memory::with_capacity(CAPACITY),
            args: Args::new(),
            sanitizer: Sanitizer::new(&Tool::ALL),
        }
    }

    /// Puts bytes into memory.
    pub fn place(&self, bytes: &[u8]) -> Result<Array> {
        let array = self.allocate(bytes.len())?;
        self.memory.write(array.address, bytes)?;
        Ok(array)
    }

    /// Memory that nothing was written to.
    pub fn allocate(&self, bytes: usize) -> Result<Array> {
        let address = self.memory.alloc(bytes as u64)?;
        Ok(Array { address, bytes })
    }

    pub fn read(&self, array: Array) -> Result<Vec<u8>> {
        let mut bytes = vec![0; array.bytes];
        self.memory.read(array.address, &mut bytes)?;
        Ok(bytes)
    }

    pub fn pointer(&mut self, array: Array) -> &mut Self {
        self.args.push_u64(array.address);
        self
    }

    /// A pointer and a length, as `&[T]` is passed.
    pub fn slice(&mut self, array: Array, element_bytes: usize) -> &mut Self {
        self.args.push_u64(array.address);
        self.args.push_u64((array.bytes / element_bytes) as u64);
        self
    }

    pub fn u32(&mut self, value: u32) -> &mut Self {
        self.args.push_u32(value);
        self
    }

    pub fn usize(&mut self, value: usize) -> &mut Self {
        self.args.push_u64(value as u64);
        self
    }

    pub fn f32(&mut self, value: f32) -> &mut Self {
        self.args.push_f32(value);
        self
    }

    pub fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.args.push_bytes(bytes);
        self
    }

    /// Launches `entry` with the arguments so far, and begins new ones.
    ///
    /// # Errors
    ///
    /// Where the launch is refused, or a sanitizer found something.
    pub fn launch(&mut self, entry: &str, grid: [u32; 3], block: [u32; 3]) -> Result<()> {
        let kernel = self.module.kernel(entry)?;
        let config = LaunchConfig::new(grid, block);
        let args = std::mem::take(&mut self.args);
        let found = self
            .sanitizer
            .launch(&kernel, &self.memory, &config, &args)
            .context(entry.to_owned())?;
        match found.first() {
            Some(first) => bail!("{entry}: {} findings, the first: {first}", found.len()),
            None => Ok(()),
        }
    }
}
