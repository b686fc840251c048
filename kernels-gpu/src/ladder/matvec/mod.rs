//! Many small matrix-vector products: the same M × N matrix times each of many vectors.
//!
//! | file | rungs |
//! |---|---|
//! | [`matvec_fast`](mod@matvec_fast) | `matvec_fast` |
//!
//! The rungs before it are source 002's series: [`intervals`](crate::history::intervals).
//!
//! Vector h is `input[h N .. (h + 1) N]`, its product `output[h M .. (h + 1) M]`. The matrix is a
//! kernel parameter passed by value, so it lies in the constant bank, and a multiply-add takes an
//! element of it as an operand.

/// Threads of a block.
pub const BLOCK: usize = 256;

/// An M × N matrix, row-major, as a kernel parameter.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Matrix<const M: usize, const N: usize>(pub [[f32; N]; M]);

pub mod matvec_fast;
