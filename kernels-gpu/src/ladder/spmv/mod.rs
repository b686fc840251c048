//! The product of a sparse matrix and a vector, y = A · x, with A in compressed sparse rows (CSR).
//!
//! | file | rungs |
//! |---|---|
//! | [`spmv_thread`](mod@spmv_thread) | `spmv_thread` |
//! | [`spmv_warp`](mod@spmv_warp) | `spmv_warp` |
//! | [`spmv_lanes`](mod@spmv_lanes) | `spmv_lanes` |
//!
//! The elements that are not 0 lie row after row: `values[e]` in column `columns[e]`. Those of row
//! i are `offsets[i]` to `offsets[i + 1] - 1`.
//!
//! It is here, and a sort is not, because rows of different lengths are what no other family has:
//! how threads are given to work of unequal size. What a sort is made of, scans and histograms, has
//! families of its own.

use super::block::WARP;
use cuda_std::GpuFloat;

/// Threads of a block in this family.
pub const BLOCK: usize = 256;

/// Parameters of every kernel here, in the same order.
#[derive(Clone, Copy)]
struct Csr<'a> {
    offsets: &'a [u32],
    columns: &'a [u32],
    values: &'a [f32],
    x: &'a [f32],
}

impl Csr<'_> {
    // ANCHOR: dot
    /// The sum of the products of elements `first`, `first + step`, … of a row.
    ///
    /// # Safety
    /// There is such a row, and the arrays are those of a matrix in CSR with columns inside of `x`.
    #[inline(always)]
    unsafe fn dot(&self, row: usize, first: usize, step: usize) -> f32 {
        // SAFETY: by the contract, there is an offset behind each row's, and elements up to it.
        unsafe {
            let begin = *self.offsets.get_unchecked(row) as usize;
            let end = *self.offsets.get_unchecked(row + 1) as usize;
            let (mut sum, mut e) = (0.0, begin + first);
            while e < end {
                let column = *self.columns.get_unchecked(e) as usize;
                let x = *self.x.get_unchecked(column);
                sum = GpuFloat::mul_add(*self.values.get_unchecked(e), x, sum);
                e += step;
            }
            sum
        }
    }
    // ANCHOR_END: dot
}

/// Kernels that are instances of one body, with the parameters of the family.
macro_rules! spmv_kernels {
    ($($(#[$doc:meta])* $name:ident => $body:expr;)*) => {
        $(
            $(#[$doc])*
            ///
            /// # Safety
            /// The arrays are those of a matrix in CSR (see the [family](super)) of `rows` rows,
            /// with columns inside of `x`; `output` has `rows` elements and overlaps none of them;
            /// the grid and block are those of `GEOMETRY`.
            #[cuda_std::kernel(max_threads = super::BLOCK as u32, min_blocks = 1)]
            pub unsafe fn $name(
                offsets: &[u32],
                columns: &[u32],
                values: &[f32],
                x: &[f32],
                output: *mut f32,
                rows: u32,
            ) {
                let csr = super::Csr {
                    offsets,
                    columns,
                    values,
                    x,
                };
                // SAFETY: the body's contract is this kernel's.
                unsafe { $body(csr, output, rows as usize) }
            }
        )*
    };
}

pub mod spmv_lanes;
pub mod spmv_thread;
pub mod spmv_warp;
