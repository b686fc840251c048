//! The exported functions. Each is small: it reads its arguments and calls safe code.

/// Exported functions, and a table of them by name.
macro_rules! api {
    ($(fn $name:ident($($argument:ident: $kind:ty),* $(,)?) $body:block)*) => {
        $(
            #[unsafe(no_mangle)]
            #[doc = concat!("`", stringify!($name), "` of the CUDA driver API.")]
            pub unsafe extern "C" fn $name($($argument: $kind),*) -> u32 {
                $crate::guard(stringify!($name), || -> $crate::code::Result { $body })
            }
        )*

        pub(super) static TABLE: &[(&str, super::Symbol)] =
            &[$((stringify!($name), super::Symbol($name as *const ()))),*];
    };
}

mod array;
mod device;
mod graph;
mod memory;
mod module;
mod procedures;
mod stream;
mod unsupported;
mod virtual_memory;

/// The address of an exported function.
#[derive(Clone, Copy)]
struct Symbol(*const ());

// SAFETY: the address of a function is a number, which any thread may have.
unsafe impl Sync for Symbol {}
