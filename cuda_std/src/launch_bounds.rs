//! Launch bounds, from `#[kernel(…)]` to the PTX.
//!
//! Each is a comment in the kernel's body, which `cuda_builder` turns into a directive of the
//! entry's header. rustc has no attribute for them, and inline assembly cannot reach the header.

macro_rules! markers {
    ($($name:ident)*) => {
        $(
            #[inline(always)]
            pub fn $name<const VALUE: u32>() {
                #[cfg(target_arch = "nvptx64")]
                // SAFETY: a comment has no effect.
                unsafe {
                    core::arch::asm!(
                        concat!("// cuda_std launch bound: ", stringify!($name), " {}"),
                        const VALUE,
                        options(nomem, nostack, preserves_flags),
                    );
                }
            }
        )*
    };
}

markers!(maxntid minnctapersm maxnreg);
