//! Products on a GPU for other programs: nalgebra matrices, slices, and matrices that stay on the
//! device.
//!
//! ```
//! use nalgebra::DMatrix;
//! use warpladder::gpu::Gpu;
//!
//! # fn main() -> Result<(), warpladder::gpu::Error> {
//! let gpu = Gpu::new_or_emulated(); // or Gpu::new()?, where nothing but a GPU will do
//! let a = DMatrix::from_fn(3, 2, |i, j| (i + j) as f32);
//! let b = DMatrix::from_fn(2, 4, |i, j| (i * j) as f32);
//! assert_eq!(gpu.matmul(&a, &b)?, a * b);
//! # Ok(())
//! # }
//! ```
//!
//! Where matrices stay on the device, a product costs a launch and nothing else:
//!
//! ```
//! # use nalgebra::DMatrix;
//! # use warpladder::gpu::Gpu;
//! # fn main() -> Result<(), warpladder::gpu::Error> {
//! # let gpu = Gpu::emulated();
//! # let a = DMatrix::from_fn(3, 2, |i, j| (i + j) as f64);
//! let a = gpu.upload_matrix(&a)?;
//! let mut c = gpu.zeros(3, 3)?;
//! gpu.gemm(1.0, a.view(), a.t(), 0.0, c.view_mut())?; // C ← A · Aᵀ
//! gpu.gemm(0.5, a.view(), a.t(), 2.0, c.view_mut())?; // C ← ½ A · Aᵀ + 2 C
//! let c: DMatrix<f64> = c.download()?;
//! # assert_eq!(c[(2, 1)], 2.5 * 8.0);
//! # Ok(())
//! # }
//! ```
//!
//! Products are started and not waited for, as in every GPU library: [`DeviceMatrix::download`] and
//! [`Gpu::synchronize`] wait. What was started on one [`Gpu`] runs in that order: it is a device
//! and a stream of work on it. [`Gpu::stream`] is the same device with another stream, and an
//! [`Event`] is a mark in one, to measure time or to be waited for:
//!
//! ```
//! # use warpladder::gpu::Gpu;
//! # fn main() -> Result<(), warpladder::gpu::Error> {
//! # let gpu = Gpu::emulated();
//! # let a = gpu.zeros::<f32>(8, 8)?;
//! # let (mut b, mut c) = (gpu.zeros(8, 8)?, gpu.zeros(8, 8)?);
//! let (start, stop) = (gpu.event()?, gpu.event()?);
//! let other = gpu.stream()?;
//! gpu.record(&start)?;
//! gpu.gemm(1.0, a.view(), a.view(), 0.0, b.view_mut())?;
//! other.wait(&start)?;
//! other.gemm(1.0, a.view(), a.t(), 0.0, c.view_mut())?; // beside the first product
//! gpu.record(&stop)?;
//! println!("{} ms", stop.elapsed_ms_since(&start)?);
//! # Ok(())
//! # }
//! ```
//!
//! Kernels of your own come from PTX text. Their arguments are Rust values, compared with the
//! parameters of the entry before the launch; results are compared by [`DeviceArray::check`], and
//! [`Gpu::time`] times as `warpladder run` does:
//!
//! ```
//! # use warpladder::gpu::{Gpu, Grid};
//! # fn main() -> Result<(), warpladder::gpu::Error> {
//! # let gpu = Gpu::emulated();
//! let axpy = gpu.module(include_str!("../../../examples/axpy.ptx"))?.kernel("axpy")?;
//! let x = gpu.upload(&[1.0f32, 2.0, 3.0])?;
//! let mut y = gpu.upload(&[10.0f32; 3])?;
//! // SAFETY: axpy reads n elements of x and writes as many of y, which have three.
//! unsafe { gpu.launch(&axpy, Grid::covering(3, 128), (&x, &mut y, 2.0f32, 3u32)) }?;
//! assert!(y.check(&[12.0, 14.0, 16.0], 0.0)?.ok);
//! // SAFETY: the same.
//! let timing = unsafe { gpu.time(&axpy, Grid::covering(3, 128), (&x, &mut y, 2.0f32, 3u32), 5) }?;
//! println!("{} ms", timing.summary.median);
//! # Ok(())
//! # }
//! ```

mod args;
mod array;
mod error;
mod gated;
mod grouped;
mod kernel;
mod layout;
mod matrix;
mod notice;
mod operations;
mod product;
mod queue;
mod scaling;
mod transfer;
mod transpose;
mod typed;

pub use args::{ArgList, ByValue, KernelArg, KernelArgs, Slice};
pub use array::DeviceArray;
pub use error::{ContractError, Error};
pub use kernel::{Grid, Kernel, Module, Timing};
pub use layout::Layout;
pub use matrix::{DeviceMatrix, MatrixMut, MatrixRef};
pub use product::GemmOptions;
pub use ptx_emulator::sanitize::Finding;
pub use queue::Event;
pub use scaling::Scaling;
pub use transfer::{HostLines, PinnedArray};
pub use typed::{TypedArgument, TypedArguments, TypedKernel, TypedLaunch};

use crate::engine::emulator::EmulatorEngine;
use crate::engine::{self, Engine, EngineKind};
use crate::gemm::DeviceLimits;
use crate::timing::Sampling;
use bytemuck::Pod;
use cuda_std::safe::{Entry, Ptx};
use nalgebra::{Dim, Matrix, RawStorage};
use product::Products;
use ptx_emulator::sanitize::Tool;
use queue::Queue;
use std::sync::Arc;
use transpose::Transposes;

/// A GPU, or the emulator in its place, with one stream of work. Any thread may use it; a clone is
/// the same device and stream.
///
/// What several threads start on one `Gpu` runs one after the other, in the order in which their
/// calls come: a product of several launches is started as a whole. Threads whose work may overlap
/// take a stream each: [`Gpu::stream`].
#[derive(Clone)]
pub struct Gpu {
    queue: Queue,
    caches: Arc<Caches>,
    /// The engine of the queue where it runs everything under sanitizers.
    sanitized: Option<Arc<EmulatorEngine>>,
}

/// What is kept from one call to the next.
struct Caches {
    products: Products,
    transposes: Transposes,
}

impl Gpu {
    /// The first NVIDIA GPU.
    ///
    /// # Errors
    /// [`Error::Engine`] where there is no driver or no GPU; the message says which.
    pub fn new() -> Result<Self, Error> {
        let (engine, _) = engine::open(engine::EngineChoice::Gpu)?;
        Ok(Self::on(engine))
    }

    /// The emulator: everything works, slowly.
    ///
    /// Where the program's build has not optimised it, one line on standard error says once what to
    /// add to `Cargo.toml`.
    pub fn emulated() -> Self {
        notice::unoptimised();
        Self::on(Box::new(EmulatorEngine::new()))
    }

    /// The first NVIDIA GPU, or the emulator where there is none.
    ///
    /// One line on standard error says once that it is the emulator, and why. A program that wants
    /// to say so itself calls [`new`](Self::new) and [`emulated`](Self::emulated).
    pub fn new_or_emulated() -> Self {
        Self::new().unwrap_or_else(|reason| {
            notice::emulated(&reason);
            Self::emulated()
        })
    }

    /// The emulator with all sanitizers at every launch, for tests of own kernels:
    /// [`findings`](Self::findings) says what they found.
    ///
    /// ```
    /// # use warpladder::gpu::{Gpu, Grid};
    /// # fn main() -> Result<(), warpladder::gpu::Error> {
    /// let gpu = Gpu::sanitized();
    /// let axpy = gpu.module(include_str!("../../../examples/axpy.ptx"))?.kernel("axpy")?;
    /// let x = gpu.upload(&[1.0f32; 1000])?;
    /// let mut y = gpu.upload(&[2.0f32; 1000])?;
    /// let grid = Grid::covering(1000, 256);
    /// // SAFETY: axpy reads n elements of x and writes as many of y: both have 1000.
    /// unsafe { gpu.launch(&axpy, grid, (&x, &mut y, 0.5f32, 1000u32)) }?;
    /// assert!(y.check(&[2.5; 1000], 0.0)?.ok);
    /// assert_eq!(gpu.findings(), []);
    /// # Ok(())
    /// # }
    /// ```
    pub fn sanitized() -> Self {
        notice::unoptimised();
        let engine = Arc::new(EmulatorEngine::new().with_sanitizers(&Tool::ALL));
        Gpu {
            sanitized: Some(Arc::clone(&engine)),
            ..Self::with_engine(engine)
        }
    }

    /// What the sanitizers found in all launches so far: races, accesses outside of allocations,
    /// reads of what nothing wrote, and barriers that not all threads reach. A fault is among them,
    /// though the launch also fails. Empty for every device but that of
    /// [`sanitized`](Self::sanitized).
    pub fn findings(&self) -> Vec<Finding> {
        let engine = self.sanitized.as_ref();
        engine.map_or(Vec::new(), |engine| engine.findings())
    }

    /// The device of an engine.
    pub fn on(engine: Box<dyn Engine>) -> Self {
        Self::with_engine(Arc::from(engine))
    }

    fn with_engine(engine: Arc<dyn Engine>) -> Self {
        let caches = Arc::new(Caches {
            products: Products::new(DeviceLimits::of(&*engine)),
            transposes: Transposes::default(),
        });
        Gpu {
            queue: Queue::own(engine),
            caches,
            sanitized: None,
        }
    }

    /// The device's name.
    pub fn name(&self) -> &str {
        self.queue.engine.device_name()
    }

    /// Whether this is the emulator.
    pub fn is_emulated(&self) -> bool {
        self.queue.engine.kind() == EngineKind::Emulator
    }

    /// Copies values to the device.
    ///
    /// # Errors
    /// [`Error::Engine`] where the device has too little memory.
    pub fn upload<T: Pod>(&self, values: &[T]) -> Result<DeviceArray<T>, Error> {
        let array = DeviceArray::new(&self.queue.engine, values.len())?;
        self.queue
            .engine
            .upload(array.pointer(), bytemuck::cast_slice(values))?;
        Ok(array)
    }

    /// Copies a nalgebra matrix or any view of one to the device: column-major, without gaps.
    ///
    /// # Errors
    /// As [`upload`](Self::upload).
    pub fn upload_matrix<T, R, C, S>(
        &self,
        matrix: &Matrix<T, R, C, S>,
    ) -> Result<DeviceMatrix<T>, Error>
    where
        T: Pod + nalgebra::Scalar,
        R: Dim,
        C: Dim,
        S: RawStorage<T, R, C>,
    {
        let (rows, columns) = matrix.shape();
        let array = if matrix.data.is_contiguous() {
            // SAFETY: nalgebra's contract of `is_contiguous`: all elements lie one behind the
            // other, column by column.
            self.upload(unsafe { matrix.data.as_slice_unchecked() })?
        } else {
            self.upload(&matrix.iter().copied().collect::<Vec<T>>())?
        };
        DeviceMatrix::new(array, Layout::column_major(rows, columns))
    }

    /// A column-major matrix of zeros on the device.
    ///
    /// # Errors
    /// As [`upload`](Self::upload).
    pub fn zeros<T: Pod>(&self, rows: usize, columns: usize) -> Result<DeviceMatrix<T>, Error> {
        let layout = Layout::column_major(rows, columns);
        let array = DeviceArray::new(&self.queue.engine, layout.end())?;
        // All bytes of the zero of a `Pod` are 0.
        self.queue
            .fill(array.pointer(), layout.end() * size_of::<T>(), 0)?;
        // Other streams may use the matrix at once.
        self.queue.synchronize()?;
        DeviceMatrix::new(array, layout)
    }

    /// PTX text with kernels to be launched here.
    ///
    /// # Errors
    /// [`Error::NoEntry`] where there is none in it. Whether it is right shows when a kernel is
    /// loaded.
    pub fn module(&self, ptx: &str) -> Result<Module, Error> {
        Module::new(self, ptx)
    }

    /// Starts a kernel, with its arguments in the order of its parameters: see [`KernelArg`]. It is
    /// not waited for, and nothing is allocated.
    ///
    /// # Errors
    /// [`Error::ArgumentCount`] and [`Error::Argument`] where the arguments are not those of the
    /// kernel, [`Error::WrongDevice`], and what the device refuses.
    ///
    /// # Safety
    /// With these arguments and this grid the kernel reads and writes only memory of its arguments,
    /// writes only arrays that are given as `&mut`, and nothing that a launch on another stream
    /// uses at the same time. PTX can write wherever the device reaches; on the emulator an
    /// access outside of allocations is an error, on a GPU one inside of another array is not seen.
    /// `warpladder emulate --sanitize` sees both.
    pub unsafe fn launch(
        &self,
        kernel: &Kernel,
        grid: Grid,
        args: impl KernelArgs,
    ) -> Result<(), Error> {
        // SAFETY: the same contract.
        unsafe { kernel.start(self, grid, &args) }
    }

    /// Loads a kernel of the safe form (`cuda_std::safe`), which `K` names, from its package's PTX.
    /// Its launches are safe: [`TypedKernel::launch`].
    ///
    /// # Errors
    /// [`Error::Contract`] where the PTX is of another package, and those of [`Module::kernel`].
    pub fn typed_kernel<K>(&self, ptx: &Ptx) -> Result<TypedKernel<K>, Error>
    where
        K: Entry<Parameters: TypedArguments>,
    {
        TypedKernel::load(self, ptx)
    }

    /// Times a kernel as `warpladder run` does: after warm-up, each launch between two events on a
    /// GPU, by the wall clock on the emulator. `sampling` says how often; a number alone is
    /// that. It waits for what was started before.
    ///
    /// The kernel runs many times: what it changes in place is changed as often.
    ///
    /// # Errors
    /// As [`launch`](Self::launch), and where the kernel fails.
    ///
    /// # Safety
    /// As [`launch`](Self::launch), for each of many launches in a row.
    pub unsafe fn time(
        &self,
        kernel: &Kernel,
        grid: Grid,
        args: impl KernelArgs,
        sampling: impl Into<Sampling>,
    ) -> Result<Timing, Error> {
        // SAFETY: the same contract.
        unsafe { kernel.time(self, grid, &args, &sampling.into()) }
    }

    /// The same device with another stream of work: what is started on one of them may run beside
    /// what is started on the other, in any order but that of events. Arrays, modules and
    /// kernels are those of both. Copies between host and device wait for all streams. The
    /// emulator runs everything at once.
    ///
    /// # Errors
    /// [`Error::Engine`] where the driver has no more.
    pub fn stream(&self) -> Result<Gpu, Error> {
        Ok(Gpu {
            queue: self.queue.another()?,
            ..self.clone()
        })
    }

    /// An event, to be recorded. It can be used again and again.
    ///
    /// # Errors
    /// [`Error::Engine`] where the driver has no more.
    pub fn event(&self) -> Result<Event, Error> {
        Ok(self.queue.event()?)
    }

    /// Marks this place in the stream by an event. If it was recorded before, it is no longer
    /// there.
    ///
    /// # Errors
    /// [`Error::WrongDevice`], and what the device refuses.
    pub fn record(&self, event: &Event) -> Result<(), Error> {
        self.queue.record(event)
    }

    /// Makes what is started on this stream from now on wait for an event, of this or of another
    /// stream. This thread goes on.
    ///
    /// # Errors
    /// [`Error::WrongDevice`], [`Error::NotRecorded`], and what the device refuses.
    pub fn wait(&self, event: &Event) -> Result<(), Error> {
        self.queue.wait(event)
    }

    /// Waits for everything that was started on this stream.
    ///
    /// # Errors
    /// [`Error::Engine`] where a kernel failed.
    pub fn synchronize(&self) -> Result<(), Error> {
        Ok(self.queue.synchronize()?)
    }
}

impl std::fmt::Debug for Gpu {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Gpu").field(&self.name()).finish()
    }
}
