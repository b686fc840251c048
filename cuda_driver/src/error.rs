//! Result codes of the driver, and the error that the safe functions return.

use std::ffi::{CStr, c_char};

use crate::code::Code;
use crate::table;

impl Code {
    /// `Ok` for success, else the error of `call`.
    pub(crate) fn check(self, call: &'static str) -> Result<(), DriverError> {
        match self {
            Code::SUCCESS => Ok(()),
            Code(code) => Err(DriverError { call, code }),
        }
    }
}

/// A call of the driver failed.
///
/// The text is the driver's own:
/// `cuInit failed: CUDA_ERROR_NO_DEVICE (100), no CUDA-capable device is detected`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{call} failed: {}", self.message())]
pub struct DriverError {
    /// Name of the driver's function.
    pub call: &'static str,
    /// The `CUresult` that it returned.
    pub code: u32,
}

impl DriverError {
    /// The driver's name of the code, its number and the driver's text.
    pub fn message(&self) -> String {
        let name = lookup(table::cuGetErrorName::call, self.code);
        let text = lookup(table::cuGetErrorString::call, self.code);
        match (name, text) {
            (Some(name), Some(text)) => format!("{name} ({}), {text}", self.code),
            (_, Some(text)) => format!("error {}, {text}", self.code),
            _ => format!("error {}, which this driver does not name", self.code),
        }
    }
}

type Lookup = unsafe fn(u32, *mut *const c_char) -> Code;

fn lookup(function: Lookup, code: u32) -> Option<String> {
    let mut text = std::ptr::null();
    // SAFETY: both functions write one pointer, to a string that lives as long as the program.
    let result = unsafe { function(code, &mut text) };
    if result != Code::SUCCESS || text.is_null() {
        return None;
    }
    // SAFETY: the pointer is not null, and the driver's string lives as long as the program.
    Some(
        unsafe { CStr::from_ptr(text) }
            .to_string_lossy()
            .into_owned(),
    )
}
