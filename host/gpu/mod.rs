//! Products on a GPU for other programs: nalgebra matrices, slices, and matrices that stay on the device.
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
//! Products are started and not waited for, as in every GPU library: [`DeviceMatrix::download`] and [`Gpu::synchronize`]
//! wait. What was started on one [`Gpu`] runs in that order.

mod array;
mod error;
mod layout;
mod matrix;
mod product;

pub use array::DeviceArray;
pub use error::Error;
pub use layout::Layout;
pub use matrix::{DeviceMatrix, MatrixMut, MatrixRef};

use crate::engine::emulator::EmulatorEngine;
use crate::engine::{self, Engine, EngineKind};
use crate::gemm::{Device, GemmInput};
use bytemuck::Pod;
use cuda_std::float::GpuFloat;
use nalgebra::{DMatrix, Dim, IsContiguous, Matrix, RawStorage};
use product::Products;
use std::rc::Rc;

/// A GPU, or the emulator in its place, with one stream of work. Used from the thread that made it; a clone is the same one.
#[derive(Clone)]
pub struct Gpu {
    engine: Rc<dyn Engine>,
    products: Rc<Products>,
}

impl Gpu {
    /// The first NVIDIA GPU.
    ///
    /// # Errors
    /// [`Error::Engine`] where there is no driver or no GPU; the message says which.
    pub fn new() -> Result<Self, Error> {
        let (engine, _) = engine::open(engine::Choice::Gpu)?;
        Ok(Self::on(engine))
    }

    /// The emulator: everything works, slowly.
    pub fn emulated() -> Self {
        Self::on(Box::new(EmulatorEngine::new()))
    }

    /// The first NVIDIA GPU, or the emulator where there is none.
    pub fn new_or_emulated() -> Self {
        Self::new().unwrap_or_else(|_| Self::emulated())
    }

    /// The device of an engine.
    pub fn on(engine: Box<dyn Engine>) -> Self {
        let products = Rc::new(Products::new(Device::of(&*engine)));
        Gpu {
            engine: Rc::from(engine),
            products,
        }
    }

    /// The device's name.
    pub fn name(&self) -> &str {
        self.engine.device_name()
    }

    /// Whether this is the emulator.
    pub fn is_emulated(&self) -> bool {
        self.engine.kind() == EngineKind::Emulator
    }

    /// Copies values to the device.
    ///
    /// # Errors
    /// [`Error::Engine`] where the device has too little memory.
    pub fn upload<T: Pod>(&self, values: &[T]) -> Result<DeviceArray<T>, Error> {
        let array = DeviceArray::new(&self.engine, values.len())?;
        self.engine
            .upload(array.pointer(), bytemuck::cast_slice(values))?;
        Ok(array)
    }

    /// Copies a nalgebra matrix to the device as it is: column-major.
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
        S: RawStorage<T, R, C> + IsContiguous,
    {
        let (rows, columns) = matrix.shape();
        let array = self.upload(matrix.as_slice())?;
        DeviceMatrix::new(array, Layout::column_major(rows, columns))
    }

    /// A column-major matrix of zeros on the device.
    ///
    /// # Errors
    /// As [`upload`](Self::upload).
    pub fn zeros<T: Pod>(&self, rows: usize, columns: usize) -> Result<DeviceMatrix<T>, Error> {
        let layout = Layout::column_major(rows, columns);
        let array = self.upload(&vec![T::zeroed(); layout.end()])?;
        DeviceMatrix::new(array, layout)
    }

    /// A · B of nalgebra matrices, which are copied to the device and back.
    ///
    /// # Errors
    /// [`Error::Product`] where A has not as many columns as B has rows; what the device refuses.
    pub fn matmul<T, R1, C1, S1, R2, C2, S2>(
        &self,
        a: &Matrix<T, R1, C1, S1>,
        b: &Matrix<T, R2, C2, S2>,
    ) -> Result<DMatrix<T::Output>, Error>
    where
        T: GemmInput<Output: nalgebra::Scalar> + nalgebra::Scalar,
        R1: Dim,
        C1: Dim,
        S1: RawStorage<T, R1, C1> + IsContiguous,
        R2: Dim,
        C2: Dim,
        S2: RawStorage<T, R2, C2> + IsContiguous,
    {
        let (a, b) = (self.upload_matrix(a)?, self.upload_matrix(b)?);
        let layout = Layout::column_major(a.layout().rows, b.layout().columns);
        let c = DeviceArray::new(&self.engine, layout.end())?;
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
    pub fn matmul_slices<T: GemmInput>(
        &self,
        (a, layout_a): (&[T], Layout),
        (b, layout_b): (&[T], Layout),
    ) -> Result<Vec<T::Output>, Error> {
        let (a, b) = (self.upload(a)?, self.upload(b)?);
        let (a, b) = (a.matrix(layout_a)?, b.matrix(layout_b)?);
        let layout = Layout::row_major(layout_a.rows, layout_b.columns);
        let mut c = DeviceArray::new(&self.engine, layout.end())?;
        self.gemm(T::Output::ONE, a, b, T::Output::ZERO, c.matrix_mut(layout)?)?;
        c.download()
    }

    /// C ← α · A · B + β · C, on the device. Where β is 0, C is not read. Any matrix may be transposed, row-major or
    /// column-major, with any distance between its rows or columns, and a batch of them.
    ///
    /// A and B may be of `f32`, `f64`, [`half::f16`] or [`half::bf16`]; with the last two, C and the factors are of `f32`.
    ///
    /// The product is started and not waited for. The first one of a size chooses and compiles its kernel; those after it
    /// allocate nothing. (Kernels of tensor cores read the places of their matrices from memory: matrices in new places make
    /// one small upload.)
    ///
    /// # Errors
    /// [`Error::Product`] where the sizes do not match, [`Error::Plan`] where the device or the kernels do not take them, and
    /// what the device refuses.
    pub fn gemm<T: GemmInput>(
        &self,
        alpha: T::Output,
        a: MatrixRef<'_, T>,
        b: MatrixRef<'_, T>,
        beta: T::Output,
        c: MatrixMut<'_, T::Output>,
    ) -> Result<(), Error> {
        self.products.start(&self.engine, [alpha, beta], a, b, c)
    }

    /// Waits for everything that was started.
    ///
    /// # Errors
    /// [`Error::Engine`] where a kernel failed.
    pub fn synchronize(&self) -> Result<(), Error> {
        Ok(self.engine.synchronize()?)
    }
}

impl std::fmt::Debug for Gpu {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Gpu").field(&self.name()).finish()
    }
}
