//! Where the examples' kernels run: on the emulator under all sanitizers, and on a GPU.

use super::gpu::{Gpu, Loaded};
use anyhow::{Context, Result, bail};
use ptx_emulator::sanitize::Tool;
use ptx_emulator::{Args, LaunchConfig, Memory, Module, Sanitizer};

/// Bytes of the emulator's device memory: more than any of the launches needs.
const CAPACITY: u64 = 1 << 30;

/// PTX that is loaded.
pub enum Program<'g> {
    /// On the emulator.
    Emulated(Module),
    /// On a GPU.
    Gpu(Loaded<'g>),
}

impl<'g> Program<'g> {
    /// Loads PTX text: on `gpu`, or on the emulator where there is none.
    ///
    /// # Errors
    ///
    /// Where it is refused.
    pub fn load(ptx: &str, gpu: Option<&'g Gpu>) -> Result<Self> {
        Ok(match gpu {
            Some(gpu) => Program::Gpu(gpu.load(ptx)?),
            None => Program::Emulated(Module::parse(ptx)?),
        })
    }
}

/// Launches a program's kernels: device memory, and the arguments of the next launch.
pub struct Launcher<'a> {
    engine: Engine<'a>,
    args: Vec<Vec<u8>>,
}

enum Engine<'a> {
    Emulator {
        module: &'a Module,
        memory: Box<Memory>,
        sanitizer: Box<Sanitizer>,
    },
    Gpu(&'a Loaded<'a>),
}

/// An array in device memory.
#[derive(Clone, Copy)]
pub struct Array {
    pub address: u64,
    bytes: usize,
}

impl<'a> Launcher<'a> {
    pub fn new(program: &'a Program<'a>) -> Self {
        let engine = match program {
            Program::Emulated(module) => Engine::Emulator {
                module,
                memory: Box::new(Memory::with_capacity(CAPACITY)),
                sanitizer: Box::new(Sanitizer::new(&Tool::ALL)),
            },
            Program::Gpu(loaded) => Engine::Gpu(loaded),
        };
        let args = Vec::new();
        Launcher { engine, args }
    }

    /// Puts bytes into memory.
    pub fn place(&self, bytes: &[u8]) -> Result<Array> {
        let array = self.allocate(bytes.len())?;
        match &self.engine {
            Engine::Emulator { memory, .. } => memory.write(array.address, bytes)?,
            Engine::Gpu(loaded) => loaded.write(array.address, bytes)?,
        }
        Ok(array)
    }

    /// Memory that nothing was written to; on a GPU all of its bits are set, which are NaN.
    pub fn allocate(&self, bytes: usize) -> Result<Array> {
        let address = match &self.engine {
            Engine::Emulator { memory, .. } => memory.alloc(bytes as u64)?,
            Engine::Gpu(loaded) => loaded.allocate(bytes)?,
        };
        Ok(Array { address, bytes })
    }

    pub fn read(&self, array: Array) -> Result<Vec<u8>> {
        let mut bytes = vec![0; array.bytes];
        match &self.engine {
            Engine::Emulator { memory, .. } => memory.read(array.address, &mut bytes)?,
            Engine::Gpu(loaded) => loaded.read(array.address, &mut bytes)?,
        }
        Ok(bytes)
    }

    pub fn pointer(&mut self, array: Array) -> &mut Self {
        self.bytes(&array.address.to_le_bytes())
    }

    /// A pointer and a length, as `&[T]` is passed.
    pub fn slice(&mut self, array: Array, element_bytes: usize) -> &mut Self {
        self.pointer(array).usize(array.bytes / element_bytes)
    }

    pub fn u32(&mut self, value: u32) -> &mut Self {
        self.bytes(&value.to_le_bytes())
    }

    pub fn usize(&mut self, value: usize) -> &mut Self {
        self.bytes(&(value as u64).to_le_bytes())
    }

    pub fn f32(&mut self, value: f32) -> &mut Self {
        self.bytes(&value.to_le_bytes())
    }

    pub fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.args.push(bytes.to_vec());
        self
    }

    /// Launches `entry` with the arguments so far, and begins new ones.
    ///
    /// # Errors
    ///
    /// Where the launch is refused, or a sanitizer found something.
    pub fn launch(&mut self, entry: &str, grid: [u32; 3], block: [u32; 3]) -> Result<()> {
        let arguments = std::mem::take(&mut self.args);
        match &mut self.engine {
            Engine::Gpu(loaded) => loaded.launch(entry, grid, block, &arguments),
            Engine::Emulator {
                module,
                memory,
                sanitizer,
            } => {
                let kernel = module.kernel(entry)?;
                let config = LaunchConfig::new(grid, block);
                let mut args = Args::new();
                for argument in &arguments {
                    args.push_bytes(argument);
                }
                let found = sanitizer
                    .launch(&kernel, memory, &config, &args)
                    .context(entry.to_owned())?;
                match found.first() {
                    Some(first) => bail!("{entry}: {} findings, the first: {first}", found.len()),
                    None => Ok(()),
                }
            }
        }
    }
}
