//! Output operators: what an epilogue computes of an accumulator and of the element of C that was
//! there before, the source.

use crate::gemm::GemmParams;
use cuda_std::prelude::*;

/// An output operator, for accumulators of `T`. An epilogue rounds its result once, when it is
/// stored.
pub trait OutputOp<T: GpuFloat>: Copy {
    /// The operator of a GEMM.
    fn new(params: &GemmParams<T>) -> Self;

    /// The operator that stores accumulators as they are: partial sums.
    fn of_partial_sums() -> Self;

    /// Whether the result depends on the source. Where it does not, C is not read.
    fn is_source_needed(&self) -> bool;

    /// What depends on the accumulator alone. It goes to a register of its own: see
    /// [`sgemm`](crate::gemm::simt::sgemm).
    fn scale(&self, accumulator: T) -> T;

    /// The result, of a scaled accumulator and the source. The source means nothing where it is not
    /// needed.
    fn combine(&self, scaled: T, source: T) -> T;

    /// The result of an accumulator, for an operator that needs no source.
    #[inline(always)]
    fn result_of(&self, accumulator: T) -> T {
        self.combine(self.scale(accumulator), T::ZERO)
    }

    /// The operator for the matrix of a batch whose C lies `offset` elements behind the first one.
    #[inline(always)]
    fn of_matrix(self, _offset: usize) -> Self {
        self
    }

    /// Whether [`finish`](Self::finish) does anything.
    #[inline(always)]
    fn has_finish(&self) -> bool {
        false
    }

    /// Changes results of [`combine`](Self::combine) by their places in C, row and column, which
    /// `at` gives for each. Only the epilogues [of `mma.sync`](super::staged) and [of
    /// `wgmma`](super::tma_store) ask: the others have no operator that does anything here.
    #[inline(always)]
    fn finish<const N: usize>(&self, _at: impl Fn(usize) -> [usize; 2], _results: &mut [T; N]) {}

    /// Whether the source is a factor of what [`finish`](Self::finish) leaves.
    /// [`combine`](Self::combine) takes no notice of it then. An operator that has a factor
    /// [has a last step](Self::has_finish) as well, so that the same epilogues ask.
    #[inline(always)]
    fn has_factor(&self) -> bool {
        false
    }

    /// The result of what [`finish`](Self::finish) has left and of the source, where that is a
    /// factor. The source is 0 where it is not needed.
    #[inline(always)]
    fn multiply(&self, result: T, _source: T) -> T {
        result
    }
}

/// α · accumulator + β · source.
#[derive(Clone, Copy, Debug)]
pub struct LinearCombination<T> {
    alpha: T,
    beta: T,
}

impl<T: GpuFloat> LinearCombination<T> {
    /// β · source.
    #[inline(always)]
    pub(super) fn scale_source(&self, source: T) -> T {
        self.beta * source
    }
}

impl<T: GpuFloat> OutputOp<T> for LinearCombination<T> {
    #[inline(always)]
    fn new(params: &GemmParams<T>) -> Self {
        LinearCombination {
            alpha: params.alpha,
            beta: params.beta,
        }
    }

    #[inline(always)]
    fn of_partial_sums() -> Self {
        LinearCombination {
            alpha: T::ONE,
            beta: T::ZERO,
        }
    }

    #[inline(always)]
    fn is_source_needed(&self) -> bool {
        self.beta != T::ZERO
    }

    #[inline(always)]
    fn scale(&self, accumulator: T) -> T {
        self.alpha * accumulator
    }

    #[inline(always)]
    fn combine(&self, scaled: T, source: T) -> T {
        if self.is_source_needed() {
            self.beta.mul_add(source, scaled)
        } else {
            scaled
        }
    }
}
