//! The same module of kernels on the emulator and on a GPU.

use ptx_emulator::{Args, LaunchConfig, Memory, Module};

use crate::kernel::{BLOCK, MEMORY_BYTES, ROWS, WARP_BYTES};

/// Most outputs of a row.
pub const MAX_SLOTS: usize = 24;

/// What outputs hold before a launch.
pub const POISON: u8 = 0xa5;

const GRID: u32 = ROWS as u32 / BLOCK;

/// Bytes of the memory that forms access: a part of each thread, or of each warp.
const MEMORY: usize = {
    let (of_threads, of_warps) = (MEMORY_BYTES * ROWS, WARP_BYTES * ROWS / 32);
    if of_threads > of_warps {
        of_threads
    } else {
        of_warps
    }
};

/// The outputs of one kernel, slot by slot, or why there are none.
pub type Outputs = Result<Vec<u64>, String>;

/// Runs `entry` of a module on the emulator.
pub fn emulate(ptx: &str, entry: &str, slots: usize, operands: &[u64]) -> Outputs {
    let text = |error: &dyn std::fmt::Display| error.to_string();
    let kernel = Module::parse(ptx)
        .map_err(|error| text(&error))?
        .kernel(entry)
        .map_err(|error| text(&error))?;
    let memory = Memory::with_capacity(16 << 20);
    let input: Vec<u8> = operands
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect();
    let mut args = Args::new();
    let sizes = [input.len(), slots * ROWS * 8, MEMORY];
    let mut addresses = [0; 3];
    for (address, bytes) in addresses.iter_mut().zip(sizes) {
        *address = memory
            .alloc(bytes.max(1) as u64)
            .map_err(|error| text(&error))?;
        args.push_u64(*address);
    }
    memory
        .write(addresses[0], &input)
        .map_err(|error| text(&error))?;
    let mut bytes = vec![POISON; slots * ROWS * 8];
    memory
        .write(addresses[1], &bytes)
        .map_err(|error| text(&error))?;
    let config = LaunchConfig {
        workers: Some(1),
        ..LaunchConfig::new([GRID, 1, 1], [BLOCK, 1, 1])
    };
    kernel
        .launch(&memory, &config, &args)
        .map_err(|error| text(&error))?;
    memory
        .read(addresses[1], &mut bytes)
        .map_err(|error| text(&error))?;
    Ok(words(&bytes))
}

fn words(bytes: &[u8]) -> Vec<u64> {
    let (words, _) = bytes.as_chunks::<8>();
    words.iter().map(|word| u64::from_le_bytes(*word)).collect()
}

#[cfg(target_os = "linux")]
pub use linux::Gpu;

#[cfg(target_os = "linux")]
mod linux {
    use std::ffi::c_void;

    use cuda_driver::{JitOptions, LaunchConfig, Module, PrimaryContext, memory};

    use super::{BLOCK, GRID, MAX_SLOTS, MEMORY, Outputs, POISON, ROWS, words};

    /// The first GPU, with its buffers.
    pub struct Gpu {
        /// Its name.
        pub name: String,
        /// The driver's CUDA version.
        pub cuda: String,
        buffers: [u64; 3],
        _context: PrimaryContext,
    }

    impl Gpu {
        /// Opens the first GPU and copies the operands to it.
        pub fn open(operands: &[u64]) -> Result<Self, String> {
            let driver = cuda_driver::load().map_err(|error| error.to_string())?;
            let device = driver.device(0).map_err(|error| error.to_string())?;
            let context = PrimaryContext::retain(device).map_err(|error| error.to_string())?;
            context.set_current().map_err(|error| error.to_string())?;
            let allocate = |bytes| memory::allocate(bytes).map_err(|error| error.to_string());
            let bytes: Vec<u8> = operands
                .iter()
                .flat_map(|value| value.to_le_bytes())
                .collect();
            let buffers = [
                allocate(bytes.len())?,
                allocate(MAX_SLOTS * ROWS * 8)?,
                allocate(MEMORY)?,
            ];
            // SAFETY: the buffer was allocated with as many bytes, and nothing runs yet.
            unsafe { memory::upload(buffers[0], &bytes) }.map_err(|error| error.to_string())?;
            let version = driver.version();
            Ok(Gpu {
                name: device.name().map_err(|error| error.to_string())?,
                cuda: format!("{}.{}", version.major, version.minor),
                buffers,
                _context: context,
            })
        }

        /// Loads a module.
        pub fn load(&self, ptx: &str) -> Result<Module, String> {
            // SAFETY: callers drop the module before this value, which keeps the context.
            let loaded = unsafe { Module::load_ptx(ptx, &JitOptions::default()) };
            loaded
                .map(|(module, _)| module)
                .map_err(|error| error.to_string())
        }

        /// Runs one kernel of a loaded module.
        pub fn run(&self, module: &Module, entry: &str, slots: usize) -> Outputs {
            let function = module.function(entry).map_err(|error| error.to_string())?;
            let mut bytes = vec![POISON; slots * ROWS * 8];
            let mut values = self.buffers;
            let mut arguments = values
                .each_mut()
                .map(|value| (value as *mut u64).cast::<c_void>());
            let config = LaunchConfig::new([GRID, 1, 1], [BLOCK, 1, 1], 0);
            // SAFETY: the buffers have `MAX_SLOTS` outputs and memory for every row, which is all
            // that a form's kernel accesses; its three parameters are addresses; copies wait for
            // the launch on the default stream.
            let ran = unsafe {
                memory::upload(self.buffers[1], &bytes)
                    .and_then(|()| function.launch(&config, std::ptr::null_mut(), &mut arguments))
                    .and_then(|()| memory::download(&mut bytes, self.buffers[1]))
            };
            ran.map_err(|error| error.to_string())?;
            Ok(words(&bytes))
        }
    }
}
