//! Libraries of others that do the same work, loaded at run time where they are there.
//!
//! Nothing of this project computes with them: they are what its kernels are compared with.

pub mod cublas;
pub mod cublaslt;
pub mod library;
pub mod product;
