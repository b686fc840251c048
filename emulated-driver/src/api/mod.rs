//! The exported functions. Each is small: it reads its arguments and calls safe code.

/// Exported functions, a table of them by name, and `call`: the same for the runtime API. A name
/// behind `|` is that for the default stream of the thread.
macro_rules! api {
    ($(fn $name:ident $(| $other:ident)? ($($arguments:tt)*) $body:block)*) => {
        /// What the exported functions do.
        #[allow(dead_code, reason = "the runtime API needs some of them")]
        pub(crate) mod call {
            use super::*;
            $(api!(@do $name ($($arguments)*) $body);)*
        }

        $(api!(@all $name [$name $($other)?] ($($arguments)*));)*

        pub(super) static TABLE: &[(&str, super::Symbol)] =
            &[$((stringify!($name), super::Symbol($name as *const ()))),*];
    };
    (@do $name:ident ($($argument:ident: $kind:ty),* $(,)?) $body:block) => {
        #[allow(clippy::too_many_arguments, reason = "the functions are those of cuda.h")]
        pub(crate) fn $name($($argument: $kind),*) -> $crate::code::Result $body
    };
    (@all $name:ident [$($exported:ident)*] $arguments:tt) => {
        $(api!(@export $exported $name $arguments);)*
    };
    (@export $name:ident $of:ident ($($argument:ident: $kind:ty),* $(,)?)) => {
        #[unsafe(no_mangle)]
        #[doc = concat!("`", stringify!($name), "` of the CUDA driver API.")]
        pub unsafe extern "C" fn $name($($argument: $kind),*) -> u32 {
            $crate::guard(stringify!($name), || call::$of($($argument),*))
        }
    };
}

pub(crate) mod any_node;
pub(crate) mod array;
pub(crate) mod batch;
pub(crate) mod copy;
pub(crate) mod device;
pub(crate) mod graph;
pub(crate) mod ipc;
pub(crate) mod kernel_node;
pub(crate) mod launch;
mod legacy;
mod link;
pub(crate) mod memory;
pub(crate) mod module;
pub(crate) mod node;
pub(crate) mod occupancy;
pub(crate) mod pool;
pub(crate) mod procedures;
pub(crate) mod stream;
mod tensor_map;
mod texture_reference;
pub(crate) mod unsupported;
pub(crate) mod user_object;
mod virtual_memory;

/// The address of an exported function.
#[derive(Clone, Copy)]
pub(crate) struct Symbol(*const ());

// SAFETY: the address of a function is a number, which any thread may have.
unsafe impl Sync for Symbol {}
