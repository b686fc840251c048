//! The driver's handles and numbers, as its C interface passes them (`cuda.h`).

use core::ffi::c_int;

macro_rules! opaque {
    ($($(#[$doc:meta])* $handle:ident of $target:ident;)*) => {
        $(
            /// What the handle points to, known to the driver alone.
            #[doc(hidden)]
            #[allow(non_camel_case_types, reason = "the C interface's name")]
            #[derive(Debug)]
            #[repr(C)]
            pub struct $target {
                _private: [u8; 0],
            }

            $(#[$doc])*
            #[allow(non_camel_case_types, reason = "the C interface's name")]
            pub type $handle = *mut $target;
        )*
    };
}

opaque! {
    /// A context; cast from and to that of `cust_raw` and of other bindings.
    CUcontext of CUctx_st;
    /// A stream; cast from and to that of `cust_raw` and of other bindings.
    CUstream of CUstream_st;
    /// An event; cast from and to that of `cust_raw` and of other bindings.
    CUevent of CUevent_st;
    /// A module; cast from and to that of `cust_raw` and of other bindings.
    CUmodule of CUmod_st;
    /// A kernel; cast from and to that of `cust_raw` and of other bindings.
    CUfunction of CUfunc_st;
    /// A graph; cast from and to that of other bindings.
    CUgraph of CUgraph_st;
    /// An executable graph; cast from and to that of other bindings.
    CUgraphExec of CUgraphExec_st;
}

/// A device's handle.
pub type CUdevice = c_int;

/// An address in device memory.
pub type CUdeviceptr = u64;
