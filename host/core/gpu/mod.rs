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
mod kernel;
mod layout;
mod matrix;
mod notice;
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
use crate::gemm::{DeviceLimits, Float8, GemmInto};
use crate::timing::Sampling;
use bytemuck::Pod;
use cuda_std::float::GpuFloat;
use cuda_std::safe::{Entry, Ptx};
use nalgebra::{DMatrix, Dim, Matrix, RawStorage};
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

    /// A · B of nalgebra matrices or views, which are copied to the device and back. What it is
    /// made of may be chosen as for [`gemm`](Self::gemm).
    ///
    /// # Errors
    /// [`Error::Product`] where A has not as many columns as B has rows; what the device refuses.
    pub fn matmul<T, R1, C1, S1, R2, C2, S2, O>(
        &self,
        a: &Matrix<T, R1, C1, S1>,
        b: &Matrix<T, R2, C2, S2>,
    ) -> Result<DMatrix<O>, Error>
    where
        T: GemmInto<O> + nalgebra::Scalar,
        R1: Dim,
        C1: Dim,
        S1: RawStorage<T, R1, C1>,
        R2: Dim,
        C2: Dim,
        S2: RawStorage<T, R2, C2>,
        O: Pod + nalgebra::Scalar,
    {
        let (a, b) = (self.upload_matrix(a)?, self.upload_matrix(b)?);
        let layout = Layout::column_major(a.layout().rows, b.layout().columns);
        let c = DeviceArray::new(&self.queue.engine, layout.end())?;
        let mut c = DeviceMatrix::new(c, layout)?;
        self.gemm(
            T::Output::ONE,
            a.view(),
            b.view(),
            T::Output::ZERO,
            c.view_mut(),
        )?;
        c.download()
    }

    /// A · B of slices, row-major; each operand lies as its layout says.
    ///
    /// # Errors
    /// As [`matmul`](Self::matmul), and [`Error::Layout`] where a layout reaches beyond its slice.
    pub fn matmul_slices<T: GemmInto<O>, O: Pod>(
        &self,
        (a, layout_a): (&[T], Layout),
        (b, layout_b): (&[T], Layout),
    ) -> Result<Vec<O>, Error> {
        let (a, b) = (self.upload(a)?, self.upload(b)?);
        let (a, b) = (a.matrix(layout_a)?, b.matrix(layout_b)?);
        let layout = Layout::row_major(layout_a.rows, layout_b.columns);
        let mut c = DeviceArray::new(&self.queue.engine, layout.end())?;
        self.gemm(T::Output::ONE, a, b, T::Output::ZERO, c.matrix_mut(layout)?)?;
        c.download()
    }

    /// C ← α · A · B + β · C, on the device. Where β is 0, C is not read. Any matrix may be
    /// transposed, row-major or column-major, with any distance between its rows or columns,
    /// and a batch of them.
    ///
    /// A and B may be of `f32`, `f64`, [`half::f16`] or [`half::bf16`]. With the last two, the
    /// factors and accumulators are of `f32`; C is of `f32` or of the type of A and B, and then
    /// each element is rounded once, when it is stored:
    ///
    /// ```
    /// # use half::bf16;
    /// # use warpladder::gpu::Gpu;
    /// # fn main() -> Result<(), warpladder::gpu::Error> {
    /// # let gpu = Gpu::emulated();
    /// # let a = gpu.zeros::<bf16>(8, 24)?;
    /// # let b = gpu.zeros::<bf16>(24, 8)?;
    /// let mut wide = gpu.zeros::<f32>(8, 8)?;
    /// gpu.gemm(1.0, a.view(), b.view(), 0.0, wide.view_mut())?;
    /// let mut rounded = gpu.zeros::<bf16>(8, 8)?;
    /// gpu.gemm(1.0, a.view(), b.view(), 0.0, rounded.view_mut())?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// From compute capability 8.0 on they may be of `i8`, with sums of `i32`, modulo 2³² and so
    /// exact for up to 131,071 products. C is of `i32`, with an α of 1 and a β of 0 or 1, or of
    /// `f32`, `f16` or `bf16`: sums are then rounded to `f32`, and α scales them.
    ///
    /// ```
    /// # use warpladder::gpu::{Gpu, Layout};
    /// # fn main() -> Result<(), warpladder::gpu::Error> {
    /// # let gpu = Gpu::emulated();
    /// let (a, b) = ([1_i8, -2, 3, 100, 100, 100], [127_i8, -128, 1]);
    /// let sums: Vec<i32> = gpu.matmul_slices(
    ///     (&a, Layout::row_major(2, 3)),
    ///     (&b, Layout::row_major(3, 1)),
    /// )?;
    /// assert_eq!(sums, [386, 0]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// On compute capability 9.0 they may be of [`E4m3`](crate::gemm::E4m3) or
    /// [`E5m2`](crate::gemm::E5m2): see [`gemm_float8`](Self::gemm_float8).
    ///
    /// The product is started and not waited for. The first one of a size chooses and compiles its
    /// kernel; those after it allocate nothing. (Kernels of tensor cores read the places of
    /// their matrices from memory: matrices in new places make one small upload.)
    ///
    /// # Errors
    /// [`Error::Product`] where the sizes do not match, [`Error::Plan`] where the device or the
    /// kernels do not take them, and what the device refuses.
    pub fn gemm<T: GemmInto<O>, O: Pod>(
        &self,
        alpha: T::Output,
        a: MatrixRef<'_, T>,
        b: MatrixRef<'_, T>,
        beta: T::Output,
        c: MatrixMut<'_, O>,
    ) -> Result<(), Error> {
        self.gemm_with(&GemmOptions::default(), alpha, a, b, beta, c)
    }

    /// [`gemm`](Self::gemm) with [options](GemmOptions): C ← f(α · A · B + β · C + bias) +
    /// residual, f32 on tensor cores at the accuracy of f32, or the kernels of an older generation
    /// of GPUs.
    ///
    /// ```
    /// # use warpladder::gemm::{Activation, BiasAxis, Precision};
    /// # use warpladder::gpu::{GemmOptions, Gpu};
    /// # fn main() -> Result<(), warpladder::gpu::Error> {
    /// # let gpu = Gpu::emulated();
    /// # let a = gpu.zeros::<f32>(8, 24)?;
    /// # let b = gpu.zeros::<f32>(24, 16)?;
    /// # let mut c = gpu.zeros::<f32>(8, 16)?;
    /// # let bias = gpu.upload(&[0.5_f32; 16])?;
    /// let options = GemmOptions {
    ///     precision: Precision::F32Split,
    ///     bias: Some((BiasAxis::Column, &bias)),
    ///     activation: Activation::Gelu,
    ///     ..GemmOptions::default()
    /// };
    /// gpu.gemm_with(&options, 1.0, a.view(), b.view(), 0.0, c.view_mut())?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Operators are fused with products of [`half::f16`] and [`half::bf16`] from compute
    /// capability 8.0 on, and by the kernels of `mma.sync` with those of
    /// [`Tf32`](crate::gemm::Tf32), and of `f32` with
    /// [`Precision::F32Split`](crate::gemm::Precision::F32Split).
    ///
    /// # Errors
    /// Those of [`gemm`](Self::gemm); [`Error::Plan`] where no kernel has the precision, fuses
    /// operators with such a product, or is of the generation; [`Error::Bias`] and
    /// [`Error::Residual`] where these do not match C.
    pub fn gemm_with<T: GemmInto<O>, O: Pod>(
        &self,
        options: &GemmOptions<'_, O>,
        alpha: T::Output,
        a: MatrixRef<'_, T>,
        b: MatrixRef<'_, T>,
        beta: T::Output,
        c: MatrixMut<'_, O>,
    ) -> Result<(), Error> {
        let products = &self.caches.products;
        products.start(&self.queue, options, [alpha, beta], (a, b), c, None)
    }

    /// [`gemm_with`](Self::gemm_with) of 8-bit floats, of which A and B may have different formats.
    /// It needs compute capability 9.0.
    ///
    /// ```
    /// # use warpladder::gemm::{E4m3, E5m2};
    /// # use warpladder::gpu::{GemmOptions, Gpu, Scaling};
    /// # fn main() -> Result<(), warpladder::gpu::Error> {
    /// # let gpu = Gpu::emulated();
    /// use nalgebra::DMatrix;
    ///
    /// // A · B, of numbers that were divided by 0.5 and by 4 to fit their formats.
    /// let a = gpu.upload_matrix(&DMatrix::from_element(3, 5, E4m3::from_f32(1.5)))?;
    /// let b = gpu.upload_matrix(&DMatrix::from_element(5, 2, E5m2::from_f32(-2.0)))?;
    /// let (scale_a, scale_b) = (gpu.upload(&[0.5_f32])?, gpu.upload(&[4.0_f32])?);
    /// let mut c = gpu.zeros::<f32>(3, 2)?;
    /// let options = GemmOptions {
    ///     scaling: Scaling::Tensor { a: &scale_a, b: &scale_b },
    ///     ..GemmOptions::default()
    /// };
    /// gpu.gemm_float8(&options, 1.0, a.view(), b.view(), 0.0, c.view_mut())?;
    /// assert_eq!(c.download()?[(2, 1)], -30.0);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Sums are added to f32 after every 128 elements along k, since tensor cores keep about 14
    /// bits of them, unless [`fast_accumulation`](GemmOptions::fast_accumulation) is asked for.
    ///
    /// # Errors
    /// Those of [`gemm_with`](Self::gemm_with); [`Error::Scales`] where scales do not match their
    /// operand, and [`Error::ScalesOfColumns`] with scales of blocks and a column-major C.
    pub fn gemm_float8<A: Float8 + GemmInto<O>, B: Float8, O: Pod>(
        &self,
        options: &GemmOptions<'_, O>,
        alpha: f32,
        a: MatrixRef<'_, A>,
        b: MatrixRef<'_, B>,
        beta: f32,
        c: MatrixMut<'_, O>,
    ) -> Result<(), Error> {
        let products = &self.caches.products;
        let formats = Some([A::FORMAT, B::FORMAT]);
        products.start(&self.queue, options, [alpha, beta], (a, b), c, formats)
    }

    /// y ← α · A · x + β · y, on the device, for one vector or a batch of them, each with its
    /// matrix or all with the same one. x and y have one column: [`Layout::vector`], which may
    /// be [`batched`](Layout::batched).
    ///
    /// One matrix times many vectors is computed as one product of matrices.
    ///
    /// # Errors
    /// [`Error::NotVector`], and those of [`gemm`](Self::gemm).
    pub fn matvec<T: GemmInto<O>, O: Pod>(
        &self,
        alpha: T::Output,
        a: MatrixRef<'_, T>,
        x: MatrixRef<'_, T>,
        beta: T::Output,
        y: MatrixMut<'_, O>,
    ) -> Result<(), Error> {
        for (what, layout) in [("x", x.layout), ("y", y.layout)] {
            if layout.columns != 1 {
                return Err(Error::NotVector { what, layout });
            }
        }
        let one_matrix = a.layout.batch == 1 && x.layout.batch == y.layout.batch;
        match (x.layout.side_by_side(), y.layout.side_by_side()) {
            (Some(columns), Some(results)) if one_matrix => {
                let x = MatrixRef {
                    layout: columns,
                    ..x
                };
                let y = MatrixMut {
                    layout: results,
                    ..y
                };
                self.gemm(alpha, a, x, beta, y)
            }
            _ => self.gemm(alpha, a, x, beta, y),
        }
    }

    /// C ← Aᵀ, on the device, for elements of 2, 4 or 8 bytes of any type. ([`DeviceMatrix::t`]
    /// gives a transpose without moving anything, which is all that products need.) Batches are
    /// transposed matrix by matrix.
    ///
    /// It is started and not waited for, and allocates nothing but for the first one, which
    /// compiles its kernel.
    ///
    /// # Errors
    /// [`Error::Transpose`] where the sizes do not match, [`Error::Gaps`] where there is something
    /// between rows or columns, [`Error::ElementSize`], and what the device refuses.
    pub fn transpose<T: Pod>(&self, a: MatrixRef<'_, T>, c: MatrixMut<'_, T>) -> Result<(), Error> {
        self.caches.transposes.start(&self.queue, a, c)
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
