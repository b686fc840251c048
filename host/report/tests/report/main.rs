//! Tests of pages about kernels.

mod explain;
