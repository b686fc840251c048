//! Kernels that begin before the one in front of them has ended (PTX ISA, "griddepcontrol").
//!
//! Between two kernels on a stream a GPU stands still for a microsecond or two. A launch with programmatic serialisation may
//! begin when all blocks of the kernel in front have ended or called [`let_next_begin`]; what it reads and writes in
//! global memory comes after [`wait_for_previous`]. In other launches both do nothing.
//!
//! Needs compute capability 9.0.

macro_rules! statements {
    ($($(#[$doc:meta])* $name:ident, $text:literal;)*) => {
        $(
            $(#[$doc])*
            #[inline(always)]
            pub fn $name() {
                #[cfg(target_arch = "nvptx64")]
                // SAFETY: only orders.
                unsafe {
                    core::arch::asm!($text, options(nostack, preserves_flags));
                }
                #[cfg(not(target_arch = "nvptx64"))]
                panic!("cuda_std: dependent kernels run on a GPU or on the PTX emulator only")
            }
        )*
    };
}

statements! {
    /// The next kernel may begin, as far as this block is concerned.
    let_next_begin, "griddepcontrol.launch_dependents;";
    /// Waits until the kernel in front has ended and what it wrote is there.
    wait_for_previous, "griddepcontrol.wait;";
}
