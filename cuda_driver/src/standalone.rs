//! The driver's functions by themselves: a library that a program links in place of `libcuda`,
//! where it uses `cust` and not this crate.
//!
//! The build script that `rust-cuda/find_cuda_helper` runs compiles this file alone, so it needs
//! neither std nor another crate. The table of functions is the one of this crate, with its
//! feature `cust`; what a function only passes on has no type here.
//!
//! Where there is no driver, every function returns `CUDA_ERROR_STUB_LIBRARY` (34), and the dynamic
//! linker's reason goes to standard error, once: `cust` has no error that could carry it.

#![no_std]
#![allow(
    dead_code,
    reason = "the crate uses more of the two modules than the exported functions"
)]

mod code;
mod handles;
mod table;

mod launch {
    pub(crate) type RawLaunchConfig = core::ffi::c_void;
}

mod tensor_map {
    pub(crate) type RawTensorMap = core::ffi::c_void;
}

mod library {
    use core::ffi::{CStr, c_char, c_int, c_void};
    use core::sync::atomic::{AtomicBool, Ordering};

    use crate::code::Code;

    const RTLD_LAZY: c_int = 1;
    const STANDARD_ERROR: c_int = 2;

    /// As in `library.rs`.
    const CANDIDATES: [&CStr; 3] = [
        c"libcuda.so.1",
        c"/usr/lib/wsl/lib/libcuda.so.1",
        c"/run/opengl-driver/lib/libcuda.so.1",
    ];

    // Functions of the C library, which every program on Linux has.
    unsafe extern "C" {
        fn dlopen(name: *const c_char, flags: c_int) -> *mut c_void;
        fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
        fn dlerror() -> *const c_char;
        fn strlen(text: *const c_char) -> usize;
        fn write(file: c_int, bytes: *const c_void, count: usize) -> isize;
    }

    /// The address of the driver's function `name`; [`Code::STUB_LIBRARY`] where there is no
    /// driver, [`Code::NOT_FOUND`] where the driver lacks the function.
    pub(crate) fn symbol(name: &CStr) -> Result<*mut c_void, Code> {
        let library = open()?;
        // SAFETY: the library stays open, and the name ends in a NUL.
        let address = unsafe { dlsym(library, name.as_ptr()) };
        if address.is_null() {
            return Err(Code::NOT_FOUND);
        }
        Ok(address)
    }

    /// Opens the driver's library. To open it again gives the same one.
    fn open() -> Result<*mut c_void, Code> {
        // SAFETY: the constructors that run are those of NVIDIA's driver library, which any thread
        // may load at any time; the library is never closed.
        let try_open = |name: &CStr| unsafe { dlopen(name.as_ptr(), RTLD_LAZY) };
        for candidate in CANDIDATES {
            let library = try_open(candidate);
            if !library.is_null() {
                return Ok(library);
            }
        }
        static EXPLAINED: AtomicBool = AtomicBool::new(false);
        if !EXPLAINED.swap(true, Ordering::Relaxed) {
            // So that the reason is that of the first.
            try_open(CANDIDATES[0]);
            explain();
        }
        Err(Code::STUB_LIBRARY)
    }

    /// Prints why the library that this thread tried last could not be opened.
    fn explain() {
        // SAFETY: the dynamic linker's text is valid until this thread's next call of it.
        let reason = unsafe {
            let text = dlerror();
            if text.is_null() {
                c""
            } else {
                CStr::from_ptr(text)
            }
        };
        for part in [
            c"no NVIDIA driver (",
            reason,
            c"): install the driver, or add its folder to LD_LIBRARY_PATH\n",
        ] {
            // SAFETY: the bytes are those of the text.
            unsafe { write(STANDARD_ERROR, part.as_ptr().cast(), strlen(part.as_ptr())) };
        }
    }
}
