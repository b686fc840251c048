//! The CUDA driver, loaded at run time.
//!
//! A program that uses this crate links without a CUDA installation and starts without a driver:
//! `libcuda.so.1` is opened at the first call. Where there is none, [`load()`] says why, so the
//! program can go on without a GPU.
//!
//! ```no_run
//! match cuda_driver::load() {
//!     Ok(driver) => println!("CUDA {}", driver.version()),
//!     Err(reason) => println!("no GPU: {reason}"),
//! }
//! ```
//!
//! Wrapped here, with typed errors, is what an engine for kernels needs: devices ([`Device`]),
//! their primary context ([`PrimaryContext`]), device memory ([`memory`]), streams ([`Stream`]) and
//! events ([`Event`]), just-in-time compilation with its logs ([`Module`], [`JitOptions`]), kernels
//! with their attributes and occupancy ([`Function`]), launches with thread block clusters and
//! programmatic dependent launch ([`LaunchConfig`]), graphs of what a stream captures ([`Graph`]),
//! and tensor maps ([`TensorMap`]). Handles are the driver's: they can be cast from and to those of
//! other bindings.
//!
//! # For programs that use cust
//!
//! With the feature `cust` the crate also defines every `cu*` function that
//! [cust](https://docs.rs/cust) 0.3.2 calls, and forwards it to the driver, so that a program with
//! cust links and starts without a CUDA installation as well. Without a driver every function
//! returns `CUDA_ERROR_STUB_LIBRARY` (34). Call [`load()`] before anything of cust: it makes sure
//! that this crate is linked, that the driver is new enough, and that `cuInit` has succeeded.
//!
//! The build script of `cust_raw` insists on a CUDA installation, by which it means a folder with a
//! folder `lib64`, and asks the linker for `-lcuda`. The linker finds an empty `libcuda.so` in the
//! folder `stub` of this crate, whose build script says so. The other folder is named in
//! `.cargo/config.toml` of the program, and may be empty:
//!
//! ```toml
//! [env]
//! CUDA_LIBRARY_PATH = "/usr"
//! ```
//!
//! That is why cust is a feature: a package cannot name the folder for programs that depend on it.
//!
//! A program that uses cust and not this crate takes the functions by a line in its `Cargo.toml`
//! alone: the repository's package `rust-cuda/find_cuda_helper`, as a `[patch]`, links them.
//!
//! # Functions that a driver lacks
//!
//! An old driver may lack a function of the table. The call then returns `CUDA_ERROR_NOT_FOUND`
//! (500), and [`Driver::missing_functions`] lists them all. The versioned names
//! (`cuCtxCreate_v2`, …) are part of the driver's binary interface: newer drivers add versions and
//! keep the old ones.
//!
//! # Other systems
//!
//! The crate is made for Linux. Elsewhere it holds [`load()`] alone, which returns
//! [`LoadError::Unsupported`].

mod load;

#[cfg(target_os = "linux")]
mod code;
#[cfg(target_os = "linux")]
mod context;
#[cfg(target_os = "linux")]
mod device;
#[cfg(target_os = "linux")]
mod error;
#[cfg(target_os = "linux")]
mod event;
#[cfg(target_os = "linux")]
mod function;
#[cfg(target_os = "linux")]
mod graph;
#[cfg(target_os = "linux")]
mod handles;
#[cfg(target_os = "linux")]
mod launch;
#[cfg(target_os = "linux")]
mod library;
#[cfg(target_os = "linux")]
pub mod memory;
#[cfg(target_os = "linux")]
mod module;
#[cfg(target_os = "linux")]
mod stream;
#[cfg(target_os = "linux")]
mod table;
#[cfg(target_os = "linux")]
mod tensor_map;

pub use load::{Driver, LoadError, Version, load};

#[cfg(target_os = "linux")]
pub use {
    context::{PrimaryContext, synchronize_context},
    device::{Device, DeviceAttribute},
    error::DriverError,
    event::Event,
    function::{Function, FunctionAttribute},
    graph::{Capture, Graph},
    handles::{
        CUcontext, CUdevice, CUdeviceptr, CUevent, CUfunction, CUgraph, CUgraphExec, CUmodule,
        CUstream,
    },
    launch::LaunchConfig,
    module::{JitError, JitLog, JitOptions, Module},
    stream::Stream,
    tensor_map::{
        TensorDescription, TensorElement, TensorMap, TensorMapError, TensorOutOfBounds,
        TensorPromotion, TensorSwizzle,
    },
};
