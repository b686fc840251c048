//! `cudaError_t`: names and texts, and the last error of a thread. The numbers that the driver has
//! as well are the same there.

use std::ffi::c_char;

use super::LAST;
use crate::context::any_current;
use crate::error_texts::texts;
use crate::state::lock;

/// `cudaGetErrorName` of the CUDA runtime API.
#[unsafe(no_mangle)]
pub extern "C" fn cudaGetErrorName(error: u32) -> *const c_char {
    texts(error).0.as_ptr().cast()
}

/// `cudaGetErrorString` of the CUDA runtime API.
#[unsafe(no_mangle)]
pub extern "C" fn cudaGetErrorString(error: u32) -> *const c_char {
    texts(error).1.as_ptr().cast()
}

/// What a kernel of the current context did wrong: it is the last error from then on.
fn sticky() -> Option<u32> {
    let context = any_current().ok()?.context;
    let code = *lock(&context.sticky);
    code.map(|code| code.0)
}

/// `cudaGetLastError` of the CUDA runtime API.
#[unsafe(no_mangle)]
pub extern "C" fn cudaGetLastError() -> u32 {
    let last = LAST.take();
    sticky().unwrap_or(last)
}

/// `cudaPeekAtLastError` of the CUDA runtime API.
#[unsafe(no_mangle)]
pub extern "C" fn cudaPeekAtLastError() -> u32 {
    sticky().unwrap_or(LAST.get())
}
