//! Where a kernel runs: on a GPU through the CUDA driver, or on the CPU through `ptx-emulator`.
//!
//! An [`Engine`] knows device memory, PTX modules and launches, and nothing of catalogues, problems or
//! checks. Both engines get the same PTX text and the same launch; what differs is who executes it.

use crate::device::DeviceState;
use std::fmt;

pub mod emulator;
#[cfg(gpu)]
pub mod gpu;
pub mod observed;
pub mod streams;

/// Which engine: the name on the command line and in every record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
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

/// Which engine to use: the values of `--engine`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Choice {
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
pub fn open(choice: Choice) -> Result<(Box<dyn Engine>, Option<EngineError>), EngineError> {
    let emulator = || -> Box<dyn Engine> { Box::new(emulator::EmulatorEngine::new()) };
    match choice {
        Choice::Gpu => Ok((first_gpu()?, None)),
        Choice::Emulator => Ok((emulator(), None)),
        Choice::Auto => match first_gpu() {
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

/// Extent of a grid or a cluster (in blocks) or of a block (in threads), in x, y and z.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Dim3 {
    /// Extent in x, the fastest-varying index.
    pub x: u32,
    /// Extent in y.
    pub y: u32,
    /// Extent in z.
    pub z: u32,
}

impl Dim3 {
    /// A grid of one block, a block of one thread, or no cluster.
    pub const ONE: Self = Dim3::new(1, 1, 1);

    /// The extents in x, y and z.
    pub const fn new(x: u32, y: u32, z: u32) -> Self {
        Dim3 { x, y, z }
    }

    /// Number of blocks in the grid or cluster, or of threads in the block.
    pub const fn count(self) -> u64 {
        self.x as u64 * self.y as u64 * self.z as u64
    }
}

impl From<u32> for Dim3 {
    fn from(x: u32) -> Self {
        Dim3 { x, y: 1, z: 1 }
    }
}

impl From<[u32; 2]> for Dim3 {
    fn from([x, y]: [u32; 2]) -> Self {
        Dim3 { x, y, z: 1 }
    }
}

impl From<[u32; 3]> for Dim3 {
    fn from([x, y, z]: [u32; 3]) -> Self {
        Dim3 { x, y, z }
    }
}

/// One kernel argument, in the order of the PTX entry's parameters.
#[derive(Clone, Copy, Debug)]
pub enum Arg<'a> {
    /// A device address.
    Ptr(DevicePtr),
    /// A 32-bit integer parameter.
    U32(u32),
    /// A 64-bit integer parameter; the length of a slice.
    U64(u64),
    /// An `f32` parameter.
    F32(f32),
    /// An `f64` parameter.
    F64(f64),
    /// A by-value aggregate, in the kernel's own layout.
    Bytes(&'a [u8]),
}

/// An address in an engine's device memory, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DevicePtr(pub u64);

/// A kernel that an engine has loaded; valid for the engine that returned it, as long as that engine lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelId(pub usize);

/// Most blocks of a cluster that every device with clusters can run (CUDA C++ Programming Guide, "Thread Block Clusters").
pub const MOST_CLUSTER_BLOCKS: u64 = 8;

/// One launch.
#[derive(Clone, Copy, Debug)]
pub struct Launch<'a> {
    /// The kernel, from [`Engine::load`] of the same engine.
    pub kernel: KernelId,
    /// Blocks of the grid.
    pub grid: Dim3,
    /// Threads of a block.
    pub block: Dim3,
    /// Blocks of a thread block cluster: divisors of the grid's extents, [`MOST_CLUSTER_BLOCKS`] together at most.
    /// [`Dim3::ONE`] for a launch without clusters.
    pub cluster: Dim3,
    /// Dynamic shared memory per block, in bytes.
    pub shared_bytes: u32,
    /// Arguments, in the order of the PTX entry's parameters.
    pub args: &'a [Arg<'a>],
}

/// Row-major matrices of one size in device memory, one behind the other, and the box of one of them that a bulk copy moves,
/// swizzled by 128 bytes. Its tensor map has three dimensions: column, row, and number of the matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MatrixMap {
    /// The first element.
    pub address: DevicePtr,
    /// Bytes of an element: 2 or 4.
    pub element_bytes: u32,
    /// Columns of a matrix.
    pub columns: u32,
    /// Rows of a matrix.
    pub rows: u32,
    /// Matrices.
    pub matrices: u32,
    /// Distance of two rows, in bytes: a multiple of 16.
    pub row_bytes: u64,
    /// Distance of two matrices, in bytes: a multiple of 16.
    pub matrix_bytes: u64,
    /// Columns of the box.
    pub box_columns: u32,
    /// Rows of the box.
    pub box_rows: u32,
}

/// Bytes of a tensor map in device memory.
pub const TENSOR_MAP_BYTES: usize = 128;

/// What went wrong in an engine. The message is one line: what, with what value, and what to do.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The engine cannot run here at all.
    #[error("{0}")]
    Unavailable(String),
    /// The device has too little memory.
    #[error("out of device memory: {needed} bytes are needed, {free} are free: use a smaller size")]
    OutOfMemory {
        /// Bytes asked for.
        needed: u64,
        /// Bytes free.
        free: u64,
    },
    /// The PTX was refused.
    #[error("cannot load {entry}: {message}")]
    Load {
        /// PTX entry.
        entry: String,
        /// The driver's or the emulator's message.
        message: String,
    },
    /// A launch was refused or failed.
    #[error("{entry} failed: {message}")]
    Launch {
        /// PTX entry.
        entry: String,
        /// The driver's or the emulator's message.
        message: String,
    },
    /// A call of the driver failed.
    #[error("{call} failed: {message}")]
    Driver {
        /// Name of the driver's function.
        call: &'static str,
        /// The driver's message.
        message: String,
    },
}

/// Where kernels run.
///
/// Methods take `&self`, so that [`Buffer`]s can live beside launches; an engine is used from one thread.
pub trait Engine {
    /// Which engine this is.
    fn kind(&self) -> EngineKind;

    /// The device's name, as reports print it.
    fn device_name(&self) -> &str;

    /// The device and what else its times depend on, such as the driver: what measurements are kept under.
    fn identity(&self) -> String {
        self.device_name().to_owned()
    }

    /// The device's clocks, temperature and power now; `None` where nothing tells.
    fn state(&self) -> Option<DeviceState> {
        None
    }

    /// Bytes of the largest cache, which keeps data from one launch to the next; `None` where there is none.
    fn cache_bytes(&self) -> Option<u64> {
        None
    }

    /// Compute capability times ten, for example 90 for 9.0: which PTX modules the device can take.
    fn compute_capability(&self) -> u32;

    /// Number of multiprocessors: how many blocks a grid-stride launch needs.
    fn multiprocessors(&self) -> u32;

    /// Device memory that can still be allocated, in bytes.
    fn free_memory(&self) -> Result<u64, EngineError>;

    /// Loads one kernel from PTX text. A second call with the same text and entry is cheap.
    ///
    /// # Errors
    /// [`EngineError::Load`] where the text is not valid, the entry is not in it, or the device or the
    /// emulator does not know an instruction.
    fn load(&self, ptx: &str, entry: &str) -> Result<KernelId, EngineError>;

    /// Allocates device memory, at least 256-byte aligned and not initialised. Use [`Buffer::new`], which
    /// frees it again.
    ///
    /// # Errors
    /// [`EngineError::OutOfMemory`] where the device has too little.
    fn alloc(&self, bytes: usize) -> Result<DevicePtr, EngineError>;

    /// Frees what [`Engine::alloc`] returned.
    fn free(&self, ptr: DevicePtr);

    /// Copies from the host to the device; complete when it returns.
    fn upload(&self, to: DevicePtr, bytes: &[u8]) -> Result<(), EngineError>;

    /// Writes one value into so many bytes of device memory, before the launches that follow.
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
    /// [`EngineError::Driver`] where they cannot be mapped: rows are no multiples of 16 bytes apart, or there is nothing.
    fn tensor_map(&self, matrix: &MatrixMap) -> Result<[u8; TENSOR_MAP_BYTES], EngineError>;

    /// Runs one launch to its end.
    ///
    /// # Errors
    /// [`EngineError::Launch`] where the launch is refused (geometry, arguments) or the kernel fails.
    fn run(&self, launch: &Launch<'_>) -> Result<(), EngineError>;

    /// Starts one launch, after those that were started before. A GPU runs it while this thread goes on, and an error of the
    /// kernel comes out where it is waited for; the emulator runs it at once.
    ///
    /// # Errors
    /// [`EngineError::Launch`] where the launch is refused.
    fn enqueue(&self, launch: &Launch<'_>) -> Result<(), EngineError> {
        self.run(launch)
    }

    /// Waits for all launches that were started.
    ///
    /// # Errors
    /// [`EngineError::Launch`] where a kernel failed.
    fn synchronize(&self) -> Result<(), EngineError> {
        Ok(())
    }

    /// Its streams and events beside its own stream; `None` where it has that one alone.
    fn streams(&self) -> Option<&dyn streams::Streams> {
        None
    }

    /// Runs launches one after the other, all of them `rounds` times, and returns how long that took together, in
    /// milliseconds: between two CUDA events around them on a GPU, wall-clock time on the emulator.
    fn time(&self, launches: &[Launch<'_>], rounds: u32) -> Result<f64, EngineError>;
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
