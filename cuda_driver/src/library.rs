//! The dynamic library of the driver: opened once, at the first call of any function of the table.

use std::error::Error;
use std::ffi::{CStr, c_void};
use std::sync::OnceLock;

use libloading::os::unix::Library;

use crate::code::Code;

/// Where the driver's library is looked for, in this order: the dynamic linker's search path, then
/// the folders of WSL 2 and of NixOS, which are not always part of it.
pub(crate) const CANDIDATES: [&str; 3] = [
    "libcuda.so.1",
    "/usr/lib/wsl/lib/libcuda.so.1",
    "/run/opengl-driver/lib/libcuda.so.1",
];

static LIBRARY: OnceLock<Result<Library, String>> = OnceLock::new();

/// Opens the library; on failure, the dynamic linker's reason for the first candidate.
pub(crate) fn open() -> Result<&'static Library, &'static str> {
    LIBRARY
        .get_or_init(|| {
            let mut reason = None;
            for candidate in CANDIDATES {
                // SAFETY: the constructors that run are those of NVIDIA's driver library, which any
                // thread may load at any time; the library is never closed.
                match unsafe { Library::new(candidate) } {
                    Ok(library) => return Ok(library),
                    Err(error) => reason.get_or_insert(explain(&error)),
                };
            }
            Err(reason.unwrap_or_default())
        })
        .as_ref()
        .map_err(String::as_str)
}

/// The dynamic linker's own message, which libloading keeps as the source of its error.
fn explain(error: &libloading::Error) -> String {
    error
        .source()
        .map_or_else(|| error.to_string(), ToString::to_string)
}

/// The address of the driver's function `name`; [`Code::STUB_LIBRARY`] where there is no driver,
/// [`Code::NOT_FOUND`] where the driver lacks the function.
pub(crate) fn symbol(name: &CStr) -> Result<*mut c_void, Code> {
    let library = open().map_err(|_| Code::STUB_LIBRARY)?;
    // SAFETY: the symbol is only taken as an address here; the table gives it its type.
    let symbol = unsafe { library.get::<*mut c_void>(name.to_bytes_with_nul()) };
    symbol
        .map(|symbol| symbol.as_raw_ptr())
        .map_err(|_| Code::NOT_FOUND)
}
