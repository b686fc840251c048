//! The CUDA driver, loaded at run time.
//!
//! A program that uses [`cust`](https://docs.rs/cust) normally needs a CUDA installation to link
//! and `libcuda.so.1` to start. A program that also uses this crate needs neither: the crate
//! defines every `cu*` function that cust 0.3.2 calls and forwards it to `libcuda.so.1`, which it
//! opens at the first call. Where there is no driver, every function returns
//! `CUDA_ERROR_STUB_LIBRARY` (34) and [`load()`] says why, so the program can go on without a GPU.
//! Call [`load()`] before anything of cust: it makes sure that this crate is linked, that the
//! driver is new enough, and that `cuInit` has succeeded.
//!
//! ```no_run
//! match cuda_driver::load() {
//!     Ok(driver) => println!("CUDA {}", driver.version()),
//!     Err(reason) => println!("no GPU: {reason}"),
//! }
//! ```
//!
//! # Linking
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
//! # Functions that a driver lacks
//!
//! An old driver may lack a function of the table. The call then returns `CUDA_ERROR_NOT_FOUND`
//! (500), and [`Driver::missing_functions`] lists them all. The versioned names that cust asks for
//! (`cuCtxCreate_v2`, …) are part of the driver's binary interface: newer drivers add versions and
//! keep the old ones.
//!
//! # Beyond cust
//!
//! What cust 0.3.2 lacks is wrapped here, with typed errors: function attributes and occupancy
//! ([`Function`]), events that several streams wait for ([`Event`]), launches with thread block
//! clusters and programmatic dependent launch ([`LaunchConfig`]), just-in-time compilation with its
//! logs ([`Module`], [`JitOptions`]), tensor maps ([`TensorMap`]), and the properties of devices
//! ([`Device`]). Handles are those of `cust_raw`, so they go both ways.
//!
//! # Other systems
//!
//! The crate is made for Linux. Elsewhere it holds [`load()`] alone, which returns
//! [`LoadError::Unsupported`].

mod load;

#[cfg(target_os = "linux")]
use cust_raw as cust_types;

#[cfg(target_os = "linux")]
mod code;
#[cfg(target_os = "linux")]
mod device;
#[cfg(target_os = "linux")]
mod error;
#[cfg(target_os = "linux")]
mod event;
#[cfg(target_os = "linux")]
mod function;
#[cfg(target_os = "linux")]
mod launch;
#[cfg(target_os = "linux")]
mod library;
#[cfg(target_os = "linux")]
mod module;
#[cfg(target_os = "linux")]
mod table;
#[cfg(target_os = "linux")]
mod tensor_map;

pub use load::{Driver, LoadError, Version, load};

#[cfg(target_os = "linux")]
pub use {
    device::{Device, DeviceAttribute},
    error::DriverError,
    event::Event,
    function::{Function, FunctionAttribute},
    launch::LaunchConfig,
    module::{JitError, JitLog, JitOptions, Module},
    tensor_map::{
        TensorDescription, TensorElement, TensorMap, TensorMapError, TensorOutOfBounds,
        TensorPromotion, TensorSwizzle,
    },
};
