#![doc = include_str!("../README.md")]
#![allow(
    clippy::missing_safety_doc,
    reason = "ptxemu.h states what a caller of each function promises"
)]

mod error;
mod launch;
mod memory;
mod module;
mod pointer;
mod ptx_run;
mod report;

use std::ffi::c_char;

/// The version of the interface: it grows with every function that is added.
pub const VERSION: u32 = 2;

/// `ptxemu_version`.
#[unsafe(no_mangle)]
pub extern "C" fn ptxemu_version() -> u32 {
    VERSION
}

/// `ptxemu_last_error`.
#[unsafe(no_mangle)]
pub extern "C" fn ptxemu_last_error() -> *const c_char {
    error::last()
}

/// `ptxemu_status_name`.
#[unsafe(no_mangle)]
pub extern "C" fn ptxemu_status_name(status: u32) -> *const c_char {
    error::Status::name(status).as_ptr()
}
