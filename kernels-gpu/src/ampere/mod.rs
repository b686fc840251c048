//! Products for programs that need compute capability 8.0: asynchronous copies and `mma.sync` on f64.
//!
//! The rungs that lead there are in [`ladder::sm_80`](crate::ladder::sm_80).
//!
//! | file | rungs |
//! |---|---|
//! | [`sgemm`] | `sgemm`, chosen among its instances and those of [`gemm`](crate::gemm) |
//! | [`dgemm`] | `dgemm`, likewise |

pub mod dgemm;
pub mod sgemm;
