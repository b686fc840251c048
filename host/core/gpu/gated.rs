//! Gated linear units: two products of which one is the other's gate.

use super::{Error, GemmOptions, Gpu, MatrixMut, MatrixRef};
use crate::gemm::{Activation, GemmInto, Source};
use bytemuck::Pod;
use cuda_std::float::GpuFloat;

impl Gpu {
    /// C ← f(A · gate) ∘ (A · up), element by element, where f is the activation: SwiGLU with
    /// [`Activation::Silu`], GeGLU with [`Activation::Gelu`] (Shazeer, "GLU Variants Improve
    /// Transformer", 2020).
    ///
    /// ```
    /// # use warpladder::gemm::Activation;
    /// # use warpladder::gpu::Gpu;
    /// # fn main() -> Result<(), warpladder::gpu::Error> {
    /// # let gpu = Gpu::emulated();
    /// use half::f16;
    /// use nalgebra::DMatrix;
    ///
    /// let a = gpu.upload_matrix(&DMatrix::from_element(3, 8, f16::ONE))?;
    /// let gate = gpu.upload_matrix(&DMatrix::from_element(8, 5, f16::from_f32(-0.5)))?;
    /// let up = gpu.upload_matrix(&DMatrix::from_element(8, 5, f16::from_f32(0.25)))?;
    /// let mut c = gpu.zeros::<f32>(3, 5)?;
    /// gpu.gated_gemm(Activation::Silu, a.view(), [gate.view(), up.view()], c.view_mut())?;
    /// let silu = -4.0 / (1.0 + 4.0_f32.exp());
    /// assert!((c.download()?[(2, 4)] - silu * 2.0).abs() < 1e-6);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// There are two launches: C ← A · up, and then the product with the gate, whose epilogue
    /// multiplies by C. So A · up is rounded to the type of C in between. Where gate and up lie in
    /// one matrix, each is a view of it.
    ///
    /// # Errors
    /// Those of [`gemm_with`](Self::gemm_with). C is left as it was where a product cannot be
    /// planned, as where no kernel fuses operators with products of these elements.
    pub fn gated_gemm<T: GemmInto<O>, O: Pod>(
        &self,
        activation: Activation,
        a: MatrixRef<'_, T>,
        gate_and_up: [MatrixRef<'_, T>; 2],
        c: MatrixMut<'_, O>,
    ) -> Result<(), Error> {
        let options = GemmOptions {
            activation,
            ..GemmOptions::default()
        };
        self.gated_gemm_with(&options, a, gate_and_up, c)
    }

    /// [`gated_gemm`](Self::gated_gemm) with [options](GemmOptions), which are those of the product
    /// with the gate: C ← (f(A · gate + bias) + residual) ∘ (A · up). Generation, precision and
    /// accumulation are those of both.
    ///
    /// # Errors
    /// Those of [`gated_gemm`](Self::gated_gemm).
    pub fn gated_gemm_with<T: GemmInto<O>, O: Pod>(
        &self,
        options: &GemmOptions<'_, O>,
        a: MatrixRef<'_, T>,
        [gate, up]: [MatrixRef<'_, T>; 2],
        c: MatrixMut<'_, O>,
    ) -> Result<(), Error> {
        let (zero, one) = (T::Output::ZERO, T::Output::ONE);
        let (products, queue) = (&self.caches.products, &self.queue);
        let of_up = GemmOptions {
            generation: options.generation,
            precision: options.precision,
            fast_accumulation: options.fast_accumulation,
            ..GemmOptions::default()
        };
        let of_gate = GemmOptions {
            source: Source::Factor,
            ..*options
        };
        // Both are planned before the first one is started.
        let up = products.ready(queue, &of_up, [one, zero], (a, up), &c, None)?;
        let gate = products.ready(queue, &of_gate, [one, one], (a, gate), &c, None)?;
        products.start(queue, &[up, gate])
    }
}
