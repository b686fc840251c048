#![doc = include_str!("../README.md")]
// Elsewhere no program looks for `libcuda.so.1`, and the crate is empty.
#![cfg(target_os = "linux")]
#![allow(
    non_snake_case,
    clippy::missing_safety_doc,
    reason = "the exported functions are those of cuda.h, whose documentation states what a caller promises"
)]

mod advice;
mod api;
mod arguments;
mod array;
mod capture;
mod code;
mod context;
mod device;
mod device_launch;
mod device_runtime;
mod error_texts;
mod graph;
mod graph_memory;
mod graph_objects;
mod grids;
mod image;
mod ipc;
mod launch;
mod link;
mod memory;
mod nvml;
mod pages;
mod pointer;
mod resource_view;
mod runtime;
mod state;
mod stream;
mod texture_reference;
mod user_object;
mod virtual_memory;

use std::panic::{AssertUnwindSafe, catch_unwind};

use code::{Code, Result};

/// Runs the body of an exported function. A panic must not reach the program's C code: it becomes
/// `CUDA_ERROR_UNKNOWN`, after its own line on standard error.
fn guard(name: &str, body: impl FnOnce() -> Result) -> u32 {
    let before = capture::enter(name);
    let caught = catch_unwind(AssertUnwindSafe(body));
    capture::leave(before);
    match caught {
        Ok(Ok(())) => Code::SUCCESS.0,
        Ok(Err(code)) => code.0,
        Err(_) => {
            eprintln!("warpladder cuda: {name} failed inside the emulated driver");
            Code::UNKNOWN.0
        }
    }
}
