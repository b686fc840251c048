//! What a call failed with: a status, and a line of text that the calling thread can ask for.

use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};

use ptx_emulator::{KernelError, LaunchError, MemoryError, ParseError};

/// `ptxemu_status`.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    InvalidArgument = 1,
    MalformedPtx = 2,
    NotFound = 3,
    Unsupported = 4,
    OutOfMemory = 5,
    OutOfBounds = 6,
    Refused = 7,
    Fault = 8,
    Internal = 9,
}

impl Status {
    /// The constant's name in the header.
    pub(crate) fn name(status: u32) -> &'static CStr {
        match status {
            0 => c"PTXEMU_SUCCESS",
            1 => c"PTXEMU_INVALID_ARGUMENT",
            2 => c"PTXEMU_MALFORMED_PTX",
            3 => c"PTXEMU_NOT_FOUND",
            4 => c"PTXEMU_UNSUPPORTED",
            5 => c"PTXEMU_OUT_OF_MEMORY",
            6 => c"PTXEMU_OUT_OF_BOUNDS",
            7 => c"PTXEMU_REFUSED",
            8 => c"PTXEMU_FAULT",
            9 => c"PTXEMU_INTERNAL",
            _ => c"unknown status",
        }
    }
}

/// Why a call failed.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) status: Status,
    pub(crate) message: String,
}

impl Failure {
    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Failure {
            status: Status::InvalidArgument,
            message: message.into(),
        }
    }
}

impl From<ParseError> for Failure {
    fn from(error: ParseError) -> Self {
        Failure {
            status: Status::MalformedPtx,
            message: error.to_string(),
        }
    }
}

impl From<KernelError> for Failure {
    fn from(error: KernelError) -> Self {
        let status = match error {
            KernelError::Unknown { .. } => Status::NotFound,
            KernelError::Unsupported { .. } | KernelError::Refused { .. } => Status::Unsupported,
            _ => Status::MalformedPtx,
        };
        Failure {
            status,
            message: error.to_string(),
        }
    }
}

impl From<MemoryError> for Failure {
    fn from(error: MemoryError) -> Self {
        let status = match error {
            MemoryError::Full { .. } => Status::OutOfMemory,
            MemoryError::OutOfBounds { .. } => Status::OutOfBounds,
            _ => Status::InvalidArgument,
        };
        Failure {
            status,
            message: error.to_string(),
        }
    }
}

impl From<LaunchError> for Failure {
    fn from(error: LaunchError) -> Self {
        let status = match error {
            LaunchError::Fault(_) => Status::Fault,
            LaunchError::Variables(error) => return error.into(),
            _ => Status::Refused,
        };
        Failure {
            status,
            message: error.to_string(),
        }
    }
}

/// Success, or why not.
pub(crate) type Result<T = ()> = std::result::Result<T, Failure>;

thread_local! {
    static LAST: RefCell<CString> = RefCell::default();
}

/// The text of the thread's last failure; it lives until the thread's next one.
pub(crate) fn last() -> *const c_char {
    LAST.with_borrow(|text| text.as_ptr())
}

/// Writes the thread's last failure to standard error, for a function that returns nothing.
pub(crate) fn print_last(function: &str) {
    LAST.with_borrow(|text| eprintln!("{function}: {}", text.to_string_lossy()));
}

/// A text for C, up to its first null byte.
pub(crate) fn c_text(text: impl Into<Vec<u8>>) -> CString {
    let mut bytes = text.into();
    if let Some(end) = bytes.iter().position(|byte| *byte == 0) {
        bytes.truncate(end);
    }
    CString::new(bytes).unwrap_or_default()
}

/// Runs the body of an exported function, keeps its failure for `ptxemu_last_error`, and gives the
/// status. A panic must not reach C: it becomes `PTXEMU_INTERNAL`.
pub(crate) fn guard(body: impl FnOnce() -> Result) -> u32 {
    let ended = catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|_| {
        Err(Failure {
            status: Status::Internal,
            message: "the emulator failed: please report it with the PTX".to_string(),
        })
    });
    match ended {
        Ok(()) => 0,
        Err(failure) => {
            LAST.set(c_text(failure.message));
            failure.status as u32
        }
    }
}
