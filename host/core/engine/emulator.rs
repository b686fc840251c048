//! The emulator engine: kernels on the CPU, through `ptx-emulator`.

mod streams;

use super::streams::{Slots, Streams};
use super::{Engine, EngineKind};
use crate::device::ComputeCapability;
use crate::error::{EngineError, LaunchCause, LoadCause};
use crate::launch::{Arg, DevicePtr, Dim3, KernelId, Launch, MatrixMap, TENSOR_MAP_BYTES};
use crate::memory;
use crate::sync::{lock, read, write};
use ptx_emulator::sanitize::{Finding, Tool};
use ptx_emulator::{
    Args, DEFAULT_INSTRUCTION_BUDGET, Event, Kernel, LaunchConfig, Memory, MemoryError, Module,
    NoObserver, Observer, Sanitizer, TensorElement, TensorMap, TensorSwizzle,
};
use std::io::Write;
use std::sync::{Arc, Mutex, RwLock};
use std::time::Instant;

/// Device memory where the system does not say how much it has: 4 GiB.
const DEFAULT_CAPACITY: u64 = 4 << 30;

/// The generation that the emulator stands for: compute capability 9.0, whose limits of shared
/// memory it keeps.
const COMPUTE_CAPABILITY: ComputeCapability = ComputeCapability::V9_0;

/// Multiprocessors that grid-stride launches are sized for: few, since blocks beyond the CPU's
/// cores gain nothing.
const MULTIPROCESSORS: u32 = 8;

/// The PTX emulator. Memory is allocated from the host's when it is asked for.
pub struct EmulatorEngine {
    name: String,
    multiprocessors: u32,
    memory: Memory,
    /// Of each launch.
    instruction_budget: u64,
    /// Worker threads; none for as many as the machine runs at once.
    workers: Option<usize>,
    /// Whether kernels are decoded for an observer that steps.
    steps: bool,
    /// Sees every launch, where there is one.
    sanitizer: Option<Mutex<Sanitizer>>,
    modules: Mutex<Vec<Module>>,
    /// Each with the number of its module.
    kernels: RwLock<Vec<(usize, Arc<Kernel>)>>,
    streams: Mutex<Slots<()>>,
    /// When each was recorded, if it was.
    events: Mutex<Slots<Option<Instant>>>,
}

impl Default for EmulatorEngine {
    fn default() -> Self {
        Self::new()
    }
}

impl EmulatorEngine {
    /// An emulated device with as much memory as the host has available.
    pub fn new() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        EmulatorEngine {
            name: format!("{cores} CPU cores"),
            multiprocessors: MULTIPROCESSORS,
            memory: Memory::with_capacity(memory::available().unwrap_or(DEFAULT_CAPACITY)),
            instruction_budget: DEFAULT_INSTRUCTION_BUDGET,
            workers: None,
            steps: false,
            sanitizer: None,
            modules: Mutex::default(),
            kernels: RwLock::default(),
            streams: Mutex::default(),
            events: Mutex::default(),
        }
    }

    /// The same device with another number of multiprocessors: plans that depend on them are then
    /// those of another device.
    pub fn with_multiprocessors(self, multiprocessors: u32) -> Self {
        EmulatorEngine {
            multiprocessors,
            ..self
        }
    }

    /// The same device with `bytes` bytes of memory.
    pub fn with_memory(self, bytes: u64) -> Self {
        EmulatorEngine {
            memory: Memory::with_capacity(bytes),
            ..self
        }
    }

    /// The same device with sanitizers at every launch: [`EmulatorEngine::findings`] says what they
    /// found.
    pub fn with_sanitizers(self, tools: &[Tool]) -> Self {
        EmulatorEngine {
            sanitizer: Some(Mutex::new(Sanitizer::new(tools))),
            ..self
        }
    }

    /// The same device with the blocks of a launch one after the other, in the order of their
    /// indices. How often a block looks whether another one is done, and so its counts, is then the
    /// same each time.
    pub fn with_sequential_blocks(self) -> Self {
        EmulatorEngine {
            workers: Some(1),
            ..self
        }
    }

    /// What the sanitizers found in all launches so far.
    pub fn findings(&self) -> Vec<Finding> {
        let sanitizer = self.sanitizer.as_ref().map(lock);
        sanitizer.map_or(Vec::new(), |sanitizer| sanitizer.all_findings())
    }

    /// An emulated device that ends a launch after `instruction_budget` warp instructions, and runs
    /// on one thread: for tests that run many kernels side by side, some of which may never
    /// end.
    pub fn limited(instruction_budget: u64) -> Self {
        EmulatorEngine {
            instruction_budget,
            workers: Some(1),
            ..Self::new()
        }
    }

    /// An emulated device for an observer that steps ([`Observer::STEPS`]): blocks run one after
    /// the other, and a launch ends after `instruction_budget` warp instructions.
    pub fn for_stepping(instruction_budget: u64) -> Self {
        EmulatorEngine {
            steps: true,
            ..Self::limited(instruction_budget)
        }
    }

    /// Runs one launch to its end under an observer.
    ///
    /// # Errors
    /// As [`Engine::run`]; the observer has then seen everything up to the fault.
    pub fn run_observed<O: Observer>(
        &self,
        launch: &Launch<'_>,
        observer: &mut O,
    ) -> Result<(), EngineError> {
        let kernel = read(&self.kernels)
            .get(launch.kernel.0)
            .map(|(_, kernel)| Arc::clone(kernel));
        let Some(kernel) = kernel else {
            return Err(EngineError::Launch {
                entry: format!("kernel {}", launch.kernel.0),
                cause: LaunchCause::NotLoaded,
            });
        };
        let config = LaunchConfig {
            cluster: (launch.cluster != Dim3::ONE).then(|| extents(launch.cluster)),
            dynamic_shared_bytes: launch.shared_bytes,
            instruction_budget: self.instruction_budget,
            workers: self.workers,
            ..LaunchConfig::new(extents(launch.grid), extents(launch.block))
        };
        let ended =
            kernel.launch_observed(&self.memory, &config, &arguments(launch.args), observer);
        self.show_printed();
        ended.map_err(|error| EngineError::Launch {
            entry: kernel.name().to_owned(),
            cause: LaunchCause::Emulator(Box::new(error)),
        })?;
        Ok(())
    }

    /// Writes what kernels have printed to the standard output, as the driver of a GPU does.
    fn show_printed(&self) {
        let printed = self.memory.take_printed();
        if !printed.is_empty() {
            let mut out = std::io::stdout().lock();
            // Where the output is closed, there is nothing to tell it to.
            _ = out.write_all(&printed).and_then(|()| out.flush());
        }
    }

    /// Static shared memory of a block of this kernel, in bytes; 0 where this engine has not loaded
    /// it.
    pub fn static_shared_bytes(&self, KernelId(index): KernelId) -> u32 {
        read(&self.kernels)
            .get(index)
            .map_or(0, |(_, kernel)| kernel.static_shared_bytes())
    }

    /// The device's memory.
    pub(super) fn memory(&self) -> &Memory {
        &self.memory
    }

    /// Finds a module among those loaded, or loads it; returns its number. Of a module's kernels
    /// those are parsed that are launched: a problem needs one or two of many.
    fn module(&self, ptx: &str, entry: &str) -> Result<usize, EngineError> {
        let mut modules = lock(&self.modules);
        if let Some(index) = modules.iter().position(|module| module.text() == ptx) {
            return Ok(index);
        }
        modules.push(Module::index(ptx).map_err(|error| load_error(entry, error))?);
        Ok(modules.len() - 1)
    }
}

impl Engine for EmulatorEngine {
    fn kind(&self) -> EngineKind {
        EngineKind::Emulator
    }

    fn device_name(&self) -> &str {
        &self.name
    }

    fn compute_capability(&self) -> ComputeCapability {
        COMPUTE_CAPABILITY
    }

    fn multiprocessors(&self) -> u32 {
        self.multiprocessors
    }

    fn free_memory(&self) -> Result<u64, EngineError> {
        Ok(self.memory.capacity() - self.memory.used())
    }

    fn load(&self, ptx: &str, entry: &str) -> Result<KernelId, EngineError> {
        let module = self.module(ptx, entry)?;
        let mut kernels = write(&self.kernels);
        let loaded = |(of, kernel): &(usize, Arc<Kernel>)| *of == module && kernel.name() == entry;
        if let Some(index) = kernels.iter().position(loaded) {
            return Ok(KernelId(index));
        }
        let kernel = match self.steps {
            true => lock(&self.modules)[module].kernel_for_stepping(entry),
            false => lock(&self.modules)[module].kernel(entry),
        };
        let kernel = kernel.map_err(|error| load_error(entry, error))?;
        kernels.push((module, Arc::new(kernel)));
        Ok(KernelId(kernels.len() - 1))
    }

    fn alloc(&self, bytes: usize) -> Result<DevicePtr, EngineError> {
        match self.memory.alloc(bytes as u64) {
            Ok(address) => Ok(DevicePtr(address)),
            Err(MemoryError::Full {
                requested,
                used,
                capacity,
            }) => Err(EngineError::OutOfMemory {
                needed: requested,
                free: capacity - used,
            }),
            Err(error) => Err(memory_error("alloc", &error)),
        }
    }

    fn free(&self, DevicePtr(address): DevicePtr) {
        // Only addresses from `alloc` get here, and each once: there is nothing to report.
        _ = self.memory.free(address);
    }

    fn upload(&self, DevicePtr(to): DevicePtr, bytes: &[u8]) -> Result<(), EngineError> {
        self.memory
            .write(to, bytes)
            .map_err(|error| memory_error("upload", &error))
    }

    fn download(&self, bytes: &mut [u8], DevicePtr(from): DevicePtr) -> Result<(), EngineError> {
        self.memory
            .read(from, bytes)
            .map_err(|error| memory_error("download", &error))?;
        if let Some(sanitizer) = &self.sanitizer {
            lock(sanitizer).notify(Event::HostRead {
                memory: &self.memory,
                address: from,
                bytes: bytes.len() as u64,
            });
        }
        Ok(())
    }

    fn tensor_map(&self, matrix: &MatrixMap) -> Result<[u8; TENSOR_MAP_BYTES], EngineError> {
        let map = TensorMap {
            address: matrix.address.0,
            element_bytes: matrix.element_bytes as u8,
            extents: [matrix.columns, matrix.rows, matrix.matrices]
                .map(u64::from)
                .into(),
            strides: vec![matrix.row_bytes, matrix.matrix_bytes],
            box_extents: vec![matrix.box_columns as u16, matrix.box_rows as u16, 1],
            swizzle: TensorSwizzle::Bytes128,
            element: TensorElement::default(),
        };
        map.to_bytes().ok_or_else(|| EngineError::Driver {
            call: "tensor_map",
            message: format!("{matrix:?} cannot be mapped"),
        })
    }

    unsafe fn run(&self, launch: &Launch<'_>) -> Result<(), EngineError> {
        match &self.sanitizer {
            Some(sanitizer) => self.run_observed(launch, &mut *lock(sanitizer)),
            None => self.run_observed(launch, &mut NoObserver),
        }
    }

    fn streams(&self) -> Option<&dyn Streams> {
        Some(self)
    }

    unsafe fn time(&self, launches: &[Launch<'_>], rounds: u32) -> Result<f64, EngineError> {
        let start = Instant::now();
        for _ in 0..rounds {
            for launch in launches {
                // SAFETY: the same contract.
                unsafe { self.run(launch) }?;
            }
        }
        Ok(start.elapsed().as_secs_f64() * 1e3)
    }
}

fn extents(Dim3 { x, y, z }: Dim3) -> [u32; 3] {
    [x, y, z]
}

fn arguments(args: &[Arg<'_>]) -> Args {
    let mut arguments = Args::new();
    for arg in args {
        match arg {
            Arg::Ptr(DevicePtr(address)) => arguments.push_u64(*address),
            Arg::U32(value) => arguments.push_u32(*value),
            Arg::U64(value) => arguments.push_u64(*value),
            Arg::F32(value) => arguments.push_f32(*value),
            Arg::F64(value) => arguments.push_f64(*value),
            Arg::Bytes(bytes) => arguments.push_bytes(bytes),
        };
    }
    arguments
}

fn load_error(entry: &str, cause: impl Into<LoadCause>) -> EngineError {
    EngineError::Load {
        entry: entry.to_owned(),
        cause: cause.into(),
    }
}

fn memory_error(call: &'static str, error: &MemoryError) -> EngineError {
    EngineError::Driver {
        call,
        message: error.to_string(),
    }
}
