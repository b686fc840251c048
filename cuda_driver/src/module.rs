//! PTX modules: just-in-time compilation with its options and logs.

use std::ffi::{CString, c_uint, c_void};
use std::sync::Arc;

use crate::code::Code;
use crate::error::DriverError;
use crate::function::Function;
use crate::handles::CUmodule;
use crate::table;

/// Room for each of the compiler's logs, in bytes; the driver cuts what is longer.
const LOG_BYTES: usize = 16 * 1024;

/// Options of the driver's compiler (`CUjit_option`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JitOptions {
    /// Most registers that a thread may use; the rest spills to local memory. `None`: as the PTX
    /// says.
    pub max_registers: Option<u32>,
    /// Optimisation level from 0 to 4. `None`: 4.
    pub optimisation_level: Option<u32>,
    /// Keep the PTX's line table, so that profilers show source lines.
    pub line_info: bool,
    /// Log registers, shared memory and spills of every kernel.
    pub verbose: bool,
}

/// What the compiler said about a module that it accepted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JitLog {
    /// Information, empty unless [`JitOptions::verbose`] is set.
    pub info: String,
}

/// The driver refused a module.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JitError {
    /// The text holds a NUL character, which would end it early.
    #[error("the PTX holds a NUL character at byte {position}")]
    Nul {
        /// Where, in bytes from the start.
        position: usize,
    },
    /// The compiler or the loader refused the text.
    #[error("{error}{}", first_line(log))]
    Driver {
        /// The driver's error.
        error: DriverError,
        /// The compiler's error log; empty where it has nothing to say.
        log: String,
    },
}

/// The first line of a log that says something, to be put behind the driver's error.
fn first_line(log: &str) -> String {
    match log.lines().map(str::trim).find(|line| !line.is_empty()) {
        Some(line) => format!(": {line}"),
        None => String::new(),
    }
}

/// A loaded module; unloads when the last handle of it goes.
#[derive(Debug)]
pub(crate) struct ModuleHandle(CUmodule);

// SAFETY: the handle is a number to the driver, whose functions any thread may call ("The CUDA
// driver API is thread-safe"); nothing is read through the pointer here.
unsafe impl Send for ModuleHandle {}

// SAFETY: as for `Send`: no function of the driver needs exclusive access to a module.
unsafe impl Sync for ModuleHandle {}

impl Drop for ModuleHandle {
    fn drop(&mut self) {
        // SAFETY: `Module::load_ptx` made the handle, no other function unloads it, and its caller
        // has promised that the context is still there. A failure leaves nothing to be done.
        unsafe { table::cuModuleUnload::call(self.0) };
    }
}

/// A module of kernels, compiled for the current context's device.
#[derive(Clone, Debug)]
pub struct Module(Arc<ModuleHandle>);

impl Module {
    /// Compiles PTX for the current context's device and loads it (`cuModuleLoadDataEx`).
    ///
    /// # Errors
    /// [`JitError`], with the compiler's first message where there is one.
    ///
    /// # Safety
    /// The context that is current now outlives the returned module and every [`Function`] from it.
    pub unsafe fn load_ptx(ptx: &str, options: &JitOptions) -> Result<(Self, JitLog), JitError> {
        let ptx = CString::new(ptx).map_err(|error| JitError::Nul {
            position: error.nul_position(),
        })?;
        let mut info = vec![0_u8; LOG_BYTES];
        let mut errors = vec![0_u8; LOG_BYTES];
        let mut list = OptionList::default();
        list.push(JIT_INFO_LOG_BUFFER, info.as_mut_ptr().cast());
        list.push(JIT_INFO_LOG_BUFFER_SIZE_BYTES, number(LOG_BYTES));
        list.push(JIT_ERROR_LOG_BUFFER, errors.as_mut_ptr().cast());
        list.push(JIT_ERROR_LOG_BUFFER_SIZE_BYTES, number(LOG_BYTES));
        if let Some(registers) = options.max_registers {
            list.push(JIT_MAX_REGISTERS, number(registers as usize));
        }
        if let Some(level) = options.optimisation_level {
            list.push(JIT_OPTIMIZATION_LEVEL, number(level as usize));
        }
        if options.line_info {
            list.push(JIT_GENERATE_LINE_INFO, number(1));
        }
        if options.verbose {
            list.push(JIT_LOG_VERBOSE, number(1));
        }
        let mut raw = std::ptr::null_mut();
        // SAFETY: the text ends with a NUL; names and values are lists of the same length; the log
        // buffers have the sizes given and outlive the call.
        let code = unsafe {
            table::cuModuleLoadDataEx::call(
                &mut raw,
                ptx.as_ptr().cast(),
                list.names.len() as c_uint,
                list.names.as_mut_ptr(),
                list.values.as_mut_ptr(),
            )
        };
        match code.check("cuModuleLoadDataEx") {
            Ok(()) => Ok((
                Module(Arc::new(ModuleHandle(raw))),
                JitLog { info: text(&info) },
            )),
            Err(error) => Err(JitError::Driver {
                error,
                log: text(&errors),
            }),
        }
    }

    /// The kernel named `name` (`cuModuleGetFunction`).
    ///
    /// # Errors
    /// `CUDA_ERROR_NOT_FOUND` (500) where the module has no such entry.
    pub fn function(&self, name: &str) -> Result<Function, DriverError> {
        const CALL: &str = "cuModuleGetFunction";
        let Ok(name) = CString::new(name) else {
            return Err(DriverError {
                call: CALL,
                code: Code::NOT_FOUND.0,
            });
        };
        let mut raw = std::ptr::null_mut();
        // SAFETY: the module is loaded, the name ends with a NUL, and the driver writes one
        // pointer.
        unsafe { table::cuModuleGetFunction::call(&mut raw, self.as_raw(), name.as_ptr()) }
            .check(CALL)?;
        Ok(Function::new(raw, self.0.clone()))
    }

    /// The driver's handle, valid as long as a clone of this value lives.
    pub fn as_raw(&self) -> CUmodule {
        self.0.0
    }
}

const JIT_MAX_REGISTERS: c_uint = 0;
const JIT_INFO_LOG_BUFFER: c_uint = 3;
const JIT_INFO_LOG_BUFFER_SIZE_BYTES: c_uint = 4;
const JIT_ERROR_LOG_BUFFER: c_uint = 5;
const JIT_ERROR_LOG_BUFFER_SIZE_BYTES: c_uint = 6;
const JIT_OPTIMIZATION_LEVEL: c_uint = 7;
const JIT_LOG_VERBOSE: c_uint = 12;
const JIT_GENERATE_LINE_INFO: c_uint = 13;

/// Names and values of options, as the driver takes them.
#[derive(Default)]
struct OptionList {
    names: Vec<c_uint>,
    values: Vec<*mut c_void>,
}

impl OptionList {
    fn push(&mut self, name: c_uint, value: *mut c_void) {
        self.names.push(name);
        self.values.push(value);
    }
}

/// A number as an option's value: the driver takes it in place of the pointer.
fn number(value: usize) -> *mut c_void {
    std::ptr::without_provenance_mut(value)
}

/// The text of a log buffer, up to its NUL.
fn text(buffer: &[u8]) -> String {
    let bytes = buffer.split(|&byte| byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_nul_in_the_text_is_an_error_that_says_where() {
        // SAFETY: the call ends before the driver is asked, and makes no module.
        let error =
            unsafe { Module::load_ptx(".version 7.0\0", &JitOptions::default()) }.unwrap_err();
        assert_eq!(
            error.to_string(),
            "the PTX holds a NUL character at byte 12"
        );
    }

    #[test]
    fn an_error_ends_with_the_first_line_of_the_log() {
        let error = DriverError {
            call: "cuModuleLoadDataEx",
            code: 218,
        };
        let log = "\n  ptxas application ptx input, line 9; fatal   : Parsing error\nptxas fatal\n"
            .to_owned();
        let message = JitError::Driver { error, log }.to_string();
        assert!(
            message.starts_with("cuModuleLoadDataEx failed: "),
            "{message}"
        );
        assert!(
            message.ends_with(": ptxas application ptx input, line 9; fatal   : Parsing error"),
            "{message}"
        );
    }

    #[test]
    fn a_log_ends_at_its_nul() {
        assert_eq!(text(b"said\0\0left over"), "said");
        assert_eq!(text(b""), "");
    }
}
