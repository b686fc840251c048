//! Result codes of the driver, and the error that the safe functions return.

use std::ffi::{CStr, c_char};

use crate::table;

/// A `CUresult` as the driver returns it. A number and not an enumeration, which newer
/// drivers exceed.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Code(pub(crate) u32);

impl Code {
    pub(crate) const SUCCESS: Code = Code(0);
    pub(crate) const INVALID_VALUE: Code = Code(1);
    pub(crate) const STUB_LIBRARY: Code = Code(34);
    pub(crate) const NOT_FOUND: Code = Code(500);
    pub(crate) const NOT_READY: Code = Code(600);
    #[cfg(any(feature = "cust", test))]
    pub(crate) const UNKNOWN: Code = Code(999);

    /// The code itself where `cust_raw`'s `cudaError_enum` (CUDA 11.4) has it, else
    /// [`Code::UNKNOWN`]: cust takes the result as that enumeration, and a value outside it would
    /// be undefined behaviour.
    #[cfg(any(feature = "cust", test))]
    pub(crate) fn known_to_cust(self) -> Code {
        match self.0 {
            0..=8
            | 34
            | 100..=102
            | 200..=202
            | 205..=224
            | 300..=304
            | 400
            | 401
            | 500
            | 600
            | 700..=705
            | 708..=720
            | 800..=809
            | 900..=911 => self,
            _ => Code::UNKNOWN,
        }
    }

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
