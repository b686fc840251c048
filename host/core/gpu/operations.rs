//! Products and transposes on a [`Gpu`].

use super::{DeviceArray, DeviceMatrix, Error, GemmOptions, Gpu, Layout, MatrixMut, MatrixRef};
use crate::gemm::{Float8, GemmInto};
use bytemuck::Pod;
use cuda_std::float::GpuFloat;
use nalgebra::{DMatrix, Dim, Matrix, RawStorage};

impl Gpu {
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
    /// With [`Source::Factor`](crate::gemm::Source::Factor) β · C is a factor: see
    /// [`gated_gemm`](Self::gated_gemm).
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
        let product = products.ready(&self.queue, options, [alpha, beta], (a, b), &c, None)?;
        products.start(&self.queue, &[product])
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
        let product = products.ready(&self.queue, options, [alpha, beta], (a, b), &c, formats)?;
        products.start(&self.queue, &[product])
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
}
