//! The output operator of GEMMs of 8-bit elements, which converts to the type of C that a launch
//! asks for.
//!
//! Epilogues hand on `f32`. Here they are the bits of what an accumulator is, a float or an
//! integer, and of what an element of C is, so that one kernel stores all types of C that have as
//! many bytes: of four an `f32` or an `i32`, of two a [`Bits16`](crate::gemm::element::Bits16).

use super::output_op::OutputOp;
use crate::gemm::GemmParams;
use cuda_std::float::GpuFloat;
use cuda_std::float16::{PackX2, Widen, bf16, f16};

/// Types of C.
pub mod c_type {
    /// f32.
    pub const F32: u32 = 0;
    /// i32: the accumulators of integers, to which β · C is added as such. α is 1, β is 0 or 1.
    pub const I32: u32 = 1;
    /// IEEE binary16.
    pub const F16: u32 = 2;
    /// bfloat16.
    pub const BF16: u32 = 3;
}

/// α · accumulator + β · source, rounded to the type of C. `INTEGER` accumulators are of i32: they
/// are rounded to f32 first, unless C is of i32. `BYTES` is the size of an element of C, or 0 where
/// a launch says it.
#[derive(Clone, Copy, Debug)]
pub struct Convert<const INTEGER: bool, const BYTES: usize> {
    alpha: f32,
    beta: f32,
    c_type: u32,
}

impl<const INTEGER: bool, const BYTES: usize> Convert<INTEGER, BYTES> {
    /// The same for a C of `c_type`, a constant of [`c_type`].
    #[inline(always)]
    pub fn into_c(self, c_type: u32) -> Self {
        Convert { c_type, ..self }
    }

    /// The same with `factor` times α.
    #[inline(always)]
    pub fn times(self, factor: f32) -> Self {
        Convert {
            alpha: self.alpha * factor,
            ..self
        }
    }

    /// Whether bits are those of an i32.
    #[inline(always)]
    fn is_i32(&self) -> bool {
        INTEGER && BYTES != 2 && self.c_type == c_type::I32
    }

    /// Whether elements of C have 16 bits.
    #[inline(always)]
    fn is_16bit(&self) -> bool {
        BYTES == 2 || BYTES == 0 && self.c_type >= c_type::F16
    }
}

impl<const INTEGER: bool, const BYTES: usize> OutputOp<f32> for Convert<INTEGER, BYTES> {
    #[inline(always)]
    fn new(params: &GemmParams<f32>) -> Self {
        Convert {
            alpha: params.alpha,
            beta: params.beta,
            c_type: c_type::F32,
        }
    }

    #[inline(always)]
    fn of_partial_sums() -> Self {
        Convert {
            alpha: 1.0,
            beta: 0.0,
            c_type: if INTEGER { c_type::I32 } else { c_type::F32 },
        }
    }

    #[inline(always)]
    fn is_source_needed(&self) -> bool {
        self.beta != 0.0
    }

    #[inline(always)]
    fn scale(&self, accumulator: f32) -> f32 {
        if self.is_i32() {
            accumulator
        } else if INTEGER {
            self.alpha * accumulator.to_bits() as i32 as f32
        } else {
            self.alpha * accumulator
        }
    }

    #[inline(always)]
    fn combine(&self, scaled: f32, source: f32) -> f32 {
        let is_needed = self.is_source_needed();
        if self.is_i32() {
            let source = if is_needed { source.to_bits() } else { 0 };
            return f32::from_bits(scaled.to_bits().wrapping_add(source));
        }
        let bits = source.to_bits() as u16;
        let source = if !self.is_16bit() {
            source
        } else if self.c_type == c_type::F16 {
            f16(bits).widen()
        } else {
            bf16(bits).widen()
        };
        let result = if is_needed {
            GpuFloat::mul_add(self.beta, source, scaled)
        } else {
            scaled
        };
        if !self.is_16bit() {
            result
        } else if self.c_type == c_type::F16 {
            f32::from_bits(f16::pack_x2(result, 0.0))
        } else {
            f32::from_bits(bf16::pack_x2(result, 0.0))
        }
    }
}
