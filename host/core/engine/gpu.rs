//! The GPU engine: kernels through the CUDA driver.
//!
//! `cuda_driver` loads the driver at run time, so a program that depends on this library builds
//! without a CUDA installation. The build script of cust asks for one, and no package can name it
//! for the programs that depend on it.

mod arguments;
mod clusters;
mod geometry;
mod kernels;
mod queue;
mod streams;

use std::any::Any;
use std::collections::BTreeMap;
use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, OnceLock, RwLock};

use cuda_driver::{
    DriverError, Event, LaunchConfig, PrimaryContext, Stream, TensorDescription, TensorElement,
    TensorMap, TensorOutOfBounds, TensorPromotion, TensorSwizzle, memory,
};

use self::arguments::{MAX_ARGUMENTS, argument_pointers};
use self::kernels::{Kernel, LoadedModule};
pub use self::queue::QueuedGraph;
use super::streams::{Slots, StreamId, Streams};
use super::{Engine, EngineKind, LaunchGraph};
use crate::device::{ComputeCapability, DeviceProperties, DeviceState};
use crate::error::{EngineError, LaunchCause};
use crate::launch::{DevicePtr, Dim3, KernelId, L2Promotion, Launch, MatrixMap, TENSOR_MAP_BYTES};
use crate::sync::{lock, read, write};

/// A CUDA device, for any number of threads.
pub struct GpuEngine {
    // Fields are dropped in this order: what lives in the context goes before the context.
    kernels: RwLock<Vec<Arc<Kernel>>>,
    modules: Mutex<Vec<LoadedModule>>,
    /// Events around what is timed: one thread at a time.
    timed: Mutex<[Event; 2]>,
    events: RwLock<Slots<Arc<Event>>>,
    streams: RwLock<Slots<Arc<Stream>>>,
    stream: Stream,
    context: PrimaryContext,
    properties: DeviceProperties,
    /// Live allocations: size in bytes by address.
    allocations: Mutex<BTreeMap<u64, usize>>,
    /// The kernel that broke the context, once one has.
    broken_by: OnceLock<String>,
    active_clusters: OnceLock<Option<[u32; 8]>>,
    /// What keeps the engine's own stream valid where it is another library's.
    _stream_owner: Option<Box<dyn Any + Send + Sync>>,
}

impl GpuEngine {
    /// Opens the device with this number, from 0, in its primary context.
    ///
    /// # Errors
    /// [`EngineError::Unavailable`] where there is no driver, no such device, or the device refuses
    /// a context.
    pub fn new(ordinal: u32) -> Result<Self, EngineError> {
        // SAFETY: the stream stays inside the engine, whose fields are declared so that it is
        // dropped before the context.
        Self::open(ordinal, || unsafe { Stream::new() }, None)
    }

    /// As [`GpuEngine::new`], with a stream of another library (a `CUstream`) for the engine's own
    /// work, which then runs in order with that library's. `owner` is dropped last.
    ///
    /// # Errors
    /// Those of [`GpuEngine::new`].
    ///
    /// # Safety
    /// `stream` is a valid stream of the device's primary context until `owner` is dropped.
    pub unsafe fn with_stream(
        ordinal: u32,
        stream: *mut c_void,
        owner: Box<dyn Any + Send + Sync>,
    ) -> Result<Self, EngineError> {
        // SAFETY: `owner` keeps the stream valid, and is the engine's last field.
        let stream = || Ok(unsafe { Stream::from_raw(stream.cast()) });
        Self::open(ordinal, stream, Some(owner))
    }

    fn open(
        ordinal: u32,
        stream: impl FnOnce() -> Result<Stream, DriverError>,
        owner: Option<Box<dyn Any + Send + Sync>>,
    ) -> Result<Self, EngineError> {
        let unavailable = |reason: String| EngineError::Unavailable(reason);
        let driver = cuda_driver::load().map_err(|reason| unavailable(reason.to_string()))?;
        let count = driver
            .device_count()
            .map_err(|error| unavailable(error.to_string()))?;
        if ordinal >= count {
            return Err(unavailable(format!(
                "there is no GPU {ordinal}: the driver lists {count}, counted from 0"
            )));
        }
        let properties = DeviceProperties::query(driver, ordinal)?;
        let name = properties.name.clone();
        let in_context = || {
            let context = PrimaryContext::retain(driver.device(ordinal)?)?;
            context.set_current()?;
            // SAFETY: the events stay inside the engine, whose fields are declared so that they are
            // dropped before the context.
            let timed = unsafe { [Event::new()?, Event::new()?] };
            Ok(GpuEngine {
                kernels: RwLock::default(),
                modules: Mutex::default(),
                timed: Mutex::new(timed),
                events: RwLock::default(),
                streams: RwLock::default(),
                stream: stream()?,
                context,
                properties,
                allocations: Mutex::default(),
                broken_by: OnceLock::new(),
                active_clusters: OnceLock::new(),
                _stream_owner: owner,
            })
        };
        in_context().map_err(|error: DriverError| {
            unavailable(format!("{name} gives no context: {}", error.message()))
        })
    }

    /// What the driver says about the device.
    pub fn properties(&self) -> &DeviceProperties {
        &self.properties
    }

    /// Makes the context current, since another engine of this thread may have taken its place.
    fn enter(&self) -> Result<(), EngineError> {
        if let Some(entry) = self.broken_by.get() {
            return Err(EngineError::Unavailable(format!(
                "{} cannot be used since {entry} failed on it: start the program again without that kernel",
                self.properties.name
            )));
        }
        self.context.set_current().map_err(|error| refused(&error))
    }

    /// Checks a launch and puts it on a stream.
    ///
    /// # Safety
    /// As [`Engine::enqueue`].
    unsafe fn queue(
        &self,
        stream: &Stream,
        kernel: &Kernel,
        launch: &Launch<'_>,
    ) -> Result<(), EngineError> {
        let refused = |message| EngineError::Launch {
            entry: kernel.entry.clone(),
            cause: LaunchCause::Refused(message),
        };
        geometry::check(launch, &kernel.limits).map_err(refused)?;
        let mut pointers = [std::ptr::null_mut(); MAX_ARGUMENTS];
        let pointers =
            argument_pointers(&mut pointers, launch.args, &kernel.parameters).map_err(refused)?;
        kernel
            .allow_shared(launch.shared_bytes)
            .map_err(|error| refused(error.to_string()))?;
        let extents = |extents: Dim3| [extents.x, extents.y, extents.z];
        let config = LaunchConfig {
            cluster: (launch.cluster != Dim3::ONE).then(|| extents(launch.cluster)),
            programmatic_serialization: kernel.waits_for_previous,
            ..LaunchConfig::new(
                extents(launch.grid),
                extents(launch.block),
                launch.shared_bytes,
            )
        };
        // SAFETY: the stream is of the function's context, which is current. `argument_pointers`
        // has matched number and size of the arguments with the parameters, and they live
        // through the call. What the kernel reads and writes is the caller's contract.
        unsafe { kernel.function.launch(&config, stream.as_raw(), pointers) }
            .map_err(|error| self.work_failed(&kernel.entry, &error))
    }

    /// Waits for the stream; an error of the kernel comes out here.
    fn finish(&self, kernel: &Kernel) -> Result<(), EngineError> {
        let waited = self.stream.synchronize();
        waited.map_err(|error| self.work_failed(&kernel.entry, &error))
    }

    /// The error of work that was queued; remembers it where nothing more can run in this context.
    fn work_failed(&self, what: &str, error: &DriverError) -> EngineError {
        if breaks_context(error.code) {
            // The first one names the cause.
            _ = self.broken_by.set(what.to_owned());
        }
        EngineError::Launch {
            entry: what.to_owned(),
            cause: LaunchCause::Driver {
                code: error.code,
                message: error.message(),
            },
        }
    }

    /// Checks that a copy stays inside one live allocation: the driver would take any address, the
    /// host's included.
    fn check_range(
        &self,
        call: &'static str,
        DevicePtr(address): DevicePtr,
        bytes: usize,
    ) -> Result<(), EngineError> {
        let allocations = lock(&self.allocations);
        let inside = allocations
            .range(..=address)
            .next_back()
            .is_some_and(|(&start, &size)| {
                let offset = address - start;
                offset
                    .checked_add(bytes as u64)
                    .is_some_and(|end| end <= size as u64)
            });
        if !inside {
            let message = format!("{bytes} bytes at {address:#x} are not inside one allocation");
            return Err(EngineError::Driver { call, message });
        }
        Ok(())
    }
}

impl Engine for GpuEngine {
    fn kind(&self) -> EngineKind {
        EngineKind::Gpu
    }

    fn device_name(&self) -> &str {
        &self.properties.name
    }

    fn identity(&self) -> String {
        let state = self.properties.state.as_ref();
        let driver = state.and_then(|state| state.driver_version.as_deref());
        let driver = driver.unwrap_or(&self.properties.cuda_version);
        format!("{}, driver {driver}", self.properties.name)
    }

    fn state(&self) -> Option<DeviceState> {
        self.properties.state_now()
    }

    fn cache_bytes(&self) -> Option<u64> {
        Some(u64::from(self.properties.l2_bytes))
    }

    fn compute_capability(&self) -> ComputeCapability {
        self.properties.compute_capability
    }

    fn multiprocessors(&self) -> u32 {
        self.properties.multiprocessors
    }

    fn active_clusters(&self) -> Option<[u32; 8]> {
        self.active_clusters_of_device()
    }

    fn free_memory(&self) -> Result<u64, EngineError> {
        self.enter()?;
        let (free, _) = memory::info().map_err(|error| refused(&error))?;
        Ok(free as u64)
    }

    fn load(&self, ptx: &str, entry: &str) -> Result<KernelId, EngineError> {
        self.enter()?;
        let module = self.module(ptx, entry)?;
        let loaded = |kernel: &Kernel| kernel.module == module && kernel.entry == entry;
        if let Some(index) = read(&self.kernels).iter().position(|kernel| loaded(kernel)) {
            return Ok(KernelId(index));
        }
        let kernel = self.kernel(module, ptx, entry)?;
        let mut kernels = write(&self.kernels);
        kernels.push(Arc::new(kernel));
        Ok(KernelId(kernels.len() - 1))
    }

    fn alloc(&self, bytes: usize) -> Result<DevicePtr, EngineError> {
        let free = self.free_memory()?;
        let too_little = EngineError::OutOfMemory {
            needed: bytes as u64,
            free,
        };
        if bytes as u64 > free {
            return Err(too_little);
        }
        let address = memory::allocate(bytes).map_err(|error| match error.code {
            // Free memory may be in pieces, or another process may have been faster.
            OUT_OF_MEMORY => too_little,
            _ => refused(&error),
        })?;
        lock(&self.allocations).insert(address, bytes);
        Ok(DevicePtr(address))
    }

    fn free(&self, DevicePtr(address): DevicePtr) {
        let was_live = lock(&self.allocations).remove(&address).is_some();
        if was_live && self.enter().is_ok() {
            // SAFETY: the address came from `alloc` and is freed once. An error can only be that of
            // an earlier launch, which that launch has reported.
            _ = unsafe { memory::free(address) };
        }
    }

    fn alloc_pinned(&self, bytes: usize) -> Result<NonNull<u8>, EngineError> {
        self.enter()?;
        memory::allocate_host(bytes.max(1)).map_err(|error| refused(&error))
    }

    unsafe fn free_pinned(&self, memory: NonNull<u8>, _: usize) {
        if self.enter().is_ok() {
            // SAFETY: the memory is from `allocate_host`, by the caller's contract. An error leaves
            // nothing to be done.
            _ = unsafe { memory::free_host(memory) };
        }
    }

    fn upload(&self, to: DevicePtr, bytes: &[u8]) -> Result<(), EngineError> {
        self.enter()?;
        self.check_range("cuMemcpyHtoD", to, bytes.len())?;
        // SAFETY: the range is device memory that is allocated. What is on the engine's stream runs
        // before the copy.
        unsafe { memory::upload(to.0, bytes) }.map_err(|error| refused(&error))?;
        // The driver returns as soon as it has a copy of the host's bytes; the transfer may still
        // be in flight.
        cuda_driver::synchronize_context().map_err(|error| refused(&error))
    }

    fn fill(&self, to: DevicePtr, bytes: usize, value: u8) -> Result<(), EngineError> {
        self.fill_on(StreamId::OWN, to, bytes, value)
    }

    fn download(&self, bytes: &mut [u8], from: DevicePtr) -> Result<(), EngineError> {
        self.enter()?;
        self.check_range("cuMemcpyDtoH", from, bytes.len())?;
        // SAFETY: the range is device memory that is allocated. What is on the engine's stream runs
        // before the copy.
        unsafe { memory::download(bytes, from.0) }.map_err(|error| refused(&error))
    }

    fn tensor_map(&self, matrix: &MatrixMap) -> Result<[u8; TENSOR_MAP_BYTES], EngineError> {
        let map = TensorMap::tiled(&TensorDescription {
            // The copy does not look at what the bits mean.
            element: match matrix.element_bytes {
                1 => TensorElement::U8,
                2 => TensorElement::U16,
                _ => TensorElement::U32,
            },
            address: matrix.address.0,
            extents: &[matrix.columns, matrix.rows, matrix.matrices].map(u64::from),
            strides: &[matrix.row_bytes, matrix.matrix_bytes],
            box_extents: &[matrix.box_columns, matrix.box_rows, 1],
            swizzle: TensorSwizzle::Bytes128,
            promotion: match matrix.l2_promotion {
                L2Promotion::Bytes128 => TensorPromotion::Bytes128,
                L2Promotion::Bytes256 => TensorPromotion::Bytes256,
            },
            out_of_bounds: TensorOutOfBounds::Zero,
        });
        match map {
            Ok(map) => Ok(*map.as_bytes()),
            Err(error) => Err(EngineError::Driver {
                call: "cuTensorMapEncodeTiled",
                message: error.to_string(),
            }),
        }
    }

    unsafe fn run(&self, launch: &Launch<'_>) -> Result<(), EngineError> {
        self.with_kernel(launch, |kernel| {
            // SAFETY: the same contract.
            unsafe { self.queue(&self.stream, kernel, launch) }?;
            self.finish(kernel)
        })
    }

    unsafe fn enqueue(&self, launch: &Launch<'_>) -> Result<(), EngineError> {
        // SAFETY: the same contract.
        self.with_kernel(launch, |kernel| unsafe {
            self.queue(&self.stream, kernel, launch)
        })
    }

    fn synchronize(&self) -> Result<(), EngineError> {
        self.enter()?;
        let waited = if read(&self.streams).is_empty() {
            self.stream.synchronize()
        } else {
            cuda_driver::synchronize_context()
        };
        waited.map_err(|error| self.work_failed(EARLIER, &error))
    }

    fn streams(&self) -> Option<&dyn Streams> {
        Some(self)
    }

    unsafe fn graph<'e>(
        &'e self,
        work: &mut dyn FnMut() -> Result<(), EngineError>,
    ) -> Result<Option<Box<dyn LaunchGraph + 'e>>, EngineError> {
        // SAFETY: the same contract.
        let graph = unsafe { self.capture(work) }?;
        Ok(Some(Box::new(graph)))
    }

    unsafe fn time(&self, launches: &[Launch<'_>], rounds: u32) -> Result<f64, EngineError> {
        let entry = match launches.first() {
            Some(launch) => self.with_kernel(launch, |kernel| Ok(kernel.entry.clone()))?,
            None => return Ok(0.0),
        };
        self.time_enqueued(&entry, || {
            for _ in 0..rounds {
                for launch in launches {
                    // SAFETY: the same contract.
                    unsafe { self.enqueue(launch) }?;
                }
            }
            Ok(())
        })
    }
}

/// `CUDA_ERROR_OUT_OF_MEMORY`.
const OUT_OF_MEMORY: u32 = 2;

/// What is named where an error of a kernel comes out later than it was started.
const EARLIER: &str = "a kernel that was started before";

/// Whether the driver refuses everything in a context after this error. Source: CUDA driver API,
/// `CUresult`, the codes after which "the process must be terminated and relaunched".
fn breaks_context(code: u32) -> bool {
    matches!(
        code,
        214 | 220 | 226 | 700 | 702 | 710 | 714..=719 | 721 | 999
    )
}

/// What the driver refused.
fn refused(error: &DriverError) -> EngineError {
    EngineError::Driver {
        call: error.call,
        message: error.message(),
    }
}
