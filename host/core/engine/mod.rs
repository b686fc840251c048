//! Where a kernel runs: on a GPU through the CUDA driver, or on the CPU through `ptx-emulator`.
//!
//! An [`Engine`] knows device memory, PTX modules and launches, and nothing of catalogues, problems
//! or checks. Both engines get the same PTX text and the same launch; what differs is what executes
//! it.

use crate::device::{ComputeCapability, DeviceState};
use crate::error::EngineError;
use crate::launch::{DevicePtr, KernelId, Launch, MatrixMap, TENSOR_MAP_BYTES};
use std::alloc::{self, Layout};
use std::fmt;
use std::ptr::NonNull;

pub mod emulator;
#[cfg(gpu)]
pub mod gpu;
pub mod observed;
pub mod streams;

/// Which engine: the name on the command line and in every record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EngineKind {
    /// The host itself, for the products that are not kernels.
    Cpu,
    /// A CUDA device, through the NVIDIA driver.
    Gpu,
    /// The PTX emulator on the CPU.
    Emulator,
}

impl fmt::Display for EngineKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            EngineKind::Cpu => "cpu",
            EngineKind::Gpu => "gpu",
            EngineKind::Emulator => "emulator",
        })
    }
}

/// Which engine to use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EngineChoice {
    /// The GPU where there is one, else the emulator.
    Auto,
    /// The GPU.
    Gpu,
    /// The emulator.
    Emulator,
}

/// Opens an engine. Where `Auto` had to take the emulator, the second value says why.
///
/// # Errors
/// [`EngineError::Unavailable`] where a GPU is wanted and there is none.
pub fn open(choice: EngineChoice) -> Result<(Box<dyn Engine>, Option<EngineError>), EngineError> {
    open_with(choice, first_gpu)
}

/// As [`open`], with a GPU engine that the caller opens.
///
/// # Errors
/// That of `gpu` where a GPU is wanted.
pub fn open_with(
    choice: EngineChoice,
    gpu: impl FnOnce() -> Result<Box<dyn Engine>, EngineError>,
) -> Result<(Box<dyn Engine>, Option<EngineError>), EngineError> {
    let emulator = || -> Box<dyn Engine> { Box::new(emulator::EmulatorEngine::new()) };
    match choice {
        EngineChoice::Gpu => Ok((gpu()?, None)),
        EngineChoice::Emulator => Ok((emulator(), None)),
        EngineChoice::Auto => match gpu() {
            Ok(gpu) => Ok((gpu, None)),
            Err(reason) => Ok((emulator(), Some(reason))),
        },
    }
}

#[cfg(gpu)]
fn first_gpu() -> Result<Box<dyn Engine>, EngineError> {
    Ok(Box::new(gpu::GpuEngine::new(0)?))
}

#[cfg(not(gpu))]
fn first_gpu() -> Result<Box<dyn Engine>, EngineError> {
    Err(EngineError::Unavailable(
        crate::device::NO_GPU_ENGINE.to_owned(),
    ))
}

/// Alignment of memory of the host that stands for page-locked memory: a cache line.
const PINNED_ALIGN: usize = 64;

/// Where kernels run.
///
/// Methods take `&self`, so that [`Buffer`]s can live beside launches; any thread may call them.
/// Launches of several threads on one stream run in the order in which the calls return.
pub trait Engine: Send + Sync {
    /// Which engine this is.
    fn kind(&self) -> EngineKind;

    /// The device's name, as reports print it.
    fn device_name(&self) -> &str;

    /// The device and what else its times depend on, such as the driver: what measurements are kept
    /// under.
    fn identity(&self) -> String {
        self.device_name().to_owned()
    }

    /// The device's clocks, temperature and power now; `None` where nothing tells.
    fn state(&self) -> Option<DeviceState> {
        None
    }

    /// Bytes of the largest cache, which keeps data from one launch to the next; `None` where there
    /// is none.
    fn cache_bytes(&self) -> Option<u64> {
        None
    }

    /// Compute capability: which PTX modules the device can take.
    fn compute_capability(&self) -> ComputeCapability;

    /// Number of multiprocessors: how many blocks a grid-stride launch needs.
    fn multiprocessors(&self) -> u32;

    /// The most clusters of 1 to 8 blocks with a multiprocessor each that run at the same time;
    /// `None` where nothing tells.
    fn active_clusters(&self) -> Option<[u32; 8]> {
        None
    }

    /// Device memory that can still be allocated, in bytes.
    fn free_memory(&self) -> Result<u64, EngineError>;

    /// Loads one kernel from PTX text. A second call with the same text and entry is cheap.
    ///
    /// # Errors
    /// [`EngineError::Load`] where the text is not valid, the entry is not in it, or the device or
    /// the emulator does not know an instruction.
    fn load(&self, ptx: &str, entry: &str) -> Result<KernelId, EngineError>;

    /// Allocates device memory, at least 256-byte aligned and not initialised. Use [`Buffer::new`],
    /// which frees it again.
    ///
    /// # Errors
    /// [`EngineError::OutOfMemory`] where the device has too little.
    fn alloc(&self, bytes: usize) -> Result<DevicePtr, EngineError>;

    /// Frees what [`Engine::alloc`] returned.
    fn free(&self, ptr: DevicePtr);

    /// Allocates page-locked memory of the host, aligned to 64 bytes at least and not initialised.
    /// An engine without a driver gives ordinary memory.
    ///
    /// # Errors
    /// [`EngineError::Unavailable`] where the system has too little.
    fn alloc_pinned(&self, bytes: usize) -> Result<NonNull<u8>, EngineError> {
        let layout = Layout::from_size_align(bytes.max(1), PINNED_ALIGN).ok();
        // SAFETY: the layout has a size that is not 0.
        let memory = layout.map(|layout| unsafe { alloc::alloc(layout) });
        memory.and_then(NonNull::new).ok_or_else(|| {
            EngineError::Unavailable(format!(
                "the host has no {bytes} bytes of memory: use smaller buffers"
            ))
        })
    }

    /// Frees what [`Engine::alloc_pinned`] returned.
    ///
    /// # Safety
    /// `memory` is from `alloc_pinned` of this engine with as many bytes, and is not used again.
    unsafe fn free_pinned(&self, memory: NonNull<u8>, bytes: usize) {
        if let Ok(layout) = Layout::from_size_align(bytes.max(1), PINNED_ALIGN) {
            // SAFETY: `alloc_pinned` has allocated with this layout, by the caller's contract.
            unsafe { alloc::dealloc(memory.as_ptr(), layout) };
        }
    }

    /// Copies from the host to the device; complete when it returns.
    fn upload(&self, to: DevicePtr, bytes: &[u8]) -> Result<(), EngineError>;

    /// Writes one value into `bytes` bytes of device memory, before the launches that follow.
    ///
    /// # Errors
    /// Where the range is not inside of an allocation.
    fn fill(&self, to: DevicePtr, bytes: usize, value: u8) -> Result<(), EngineError> {
        self.upload(to, &vec![value; bytes])
    }

    /// Copies from the device to the host; complete when it returns.
    fn download(&self, bytes: &mut [u8], from: DevicePtr) -> Result<(), EngineError>;

    /// The tensor map of matrices as kernels of this engine read it.
    ///
    /// # Errors
    /// [`EngineError::Driver`] where they cannot be mapped: rows are no multiples of 16 bytes
    /// apart, or there is nothing.
    fn tensor_map(&self, matrix: &MatrixMap) -> Result<[u8; TENSOR_MAP_BYTES], EngineError>;

    /// Runs one launch to its end.
    ///
    /// # Errors
    /// [`EngineError::Launch`] where the launch is refused (geometry, arguments) or the kernel
    /// fails.
    ///
    /// # Safety
    /// The kernel, launched so, reads and writes only device memory that is allocated, and nothing
    /// that another launch uses at the same time: a GPU checks neither. (The emulator refuses
    /// accesses outside of allocations.)
    unsafe fn run(&self, launch: &Launch<'_>) -> Result<(), EngineError>;

    /// Starts one launch, after those that were started before. A GPU runs it while this thread
    /// goes on, and an error of the kernel comes out where it is waited for; the emulator runs
    /// it at once.
    ///
    /// # Errors
    /// [`EngineError::Launch`] where the launch is refused.
    ///
    /// # Safety
    /// As [`run`](Self::run), and the memory stays allocated until the launch has ended.
    unsafe fn enqueue(&self, launch: &Launch<'_>) -> Result<(), EngineError> {
        // SAFETY: the same contract.
        unsafe { self.run(launch) }
    }

    /// Waits for all launches that were started.
    ///
    /// # Errors
    /// [`EngineError::Launch`] where a kernel failed.
    fn synchronize(&self) -> Result<(), EngineError> {
        Ok(())
    }

    /// What `work` starts, none of which runs yet, as a graph that starts it all without the host
    /// in between; `None`, and `work` is not called, where the engine has no graphs.
    ///
    /// # Errors
    /// Those of `work`; where it did what a capture forbids.
    ///
    /// # Safety
    /// What `work` launches, and the memory that this reads and writes, lives as long as the graph.
    unsafe fn graph<'e>(
        &'e self,
        _work: &mut dyn FnMut() -> Result<(), EngineError>,
    ) -> Result<Option<Box<dyn LaunchGraph + 'e>>, EngineError> {
        Ok(None)
    }

    /// Its streams and events beside its own stream; `None` where it has that one alone.
    fn streams(&self) -> Option<&dyn streams::Streams> {
        None
    }

    /// Runs launches one after the other, all of them `rounds` times, and returns how long that
    /// took together, in milliseconds: between two CUDA events around them on a GPU, wall-clock
    /// time on the emulator.
    ///
    /// # Errors
    /// Those of [`run`](Self::run).
    ///
    /// # Safety
    /// As [`run`](Self::run), for each of the launches.
    unsafe fn time(&self, launches: &[Launch<'_>], rounds: u32) -> Result<f64, EngineError>;
}

/// Launches that start as a whole, see [`Engine::graph`].
pub trait LaunchGraph {
    /// Runs them once, between two events, and waits: milliseconds. `what` names them where they
    /// fail.
    ///
    /// # Errors
    /// Those of the launches.
    fn time(&self, what: &str) -> Result<f64, EngineError>;
}

/// Device memory that is freed when it goes out of scope.
pub struct Buffer<'e> {
    engine: &'e dyn Engine,
    ptr: DevicePtr,
    bytes: usize,
}

impl<'e> Buffer<'e> {
    /// Allocates `bytes` bytes on `engine`. Zero bytes give a valid pointer to nothing.
    pub fn new(engine: &'e dyn Engine, bytes: usize) -> Result<Self, EngineError> {
        // The driver refuses an allocation of 0 bytes.
        let ptr = engine.alloc(bytes.max(1))?;
        Ok(Buffer { engine, ptr, bytes })
    }

    /// The device address.
    pub fn ptr(&self) -> DevicePtr {
        self.ptr
    }

    /// Copies `values` to the start of the buffer.
    pub fn upload<T: bytemuck::NoUninit>(&self, values: &[T]) -> Result<(), EngineError> {
        let bytes: &[u8] = bytemuck::cast_slice(values);
        assert!(bytes.len() <= self.bytes, "upload exceeds the buffer");
        self.engine.upload(self.ptr, bytes)
    }

    /// Copies from the start of the buffer into `values`.
    pub fn download<T: bytemuck::Pod>(&self, values: &mut [T]) -> Result<(), EngineError> {
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(values);
        assert!(bytes.len() <= self.bytes, "download exceeds the buffer");
        self.engine.download(bytes, self.ptr)
    }
}

impl Drop for Buffer<'_> {
    fn drop(&mut self) {
        self.engine.free(self.ptr);
    }
}
