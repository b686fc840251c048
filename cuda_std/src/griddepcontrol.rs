//! Programmatic dependent launch: kernels that begin before the one in front of them has ended (PTX
//! ISA, "griddepcontrol").
//!
//! Between two kernels on a stream a GPU idles for a microsecond or two. A launch with programmatic
//! serialisation may begin when all blocks of the kernel in front have ended or called
//! [`launch_dependents`]. Its accesses to global memory come after [`wait`]. In other launches both
//! do nothing.
//!
//! Needs compute capability 9.0.

macro_rules! statements {
    ($($(#[$doc:meta])* $name:ident, $text:literal;)*) => {
        $(
            $(#[$doc])*
            #[inline(always)]
            pub fn $name() {
                #[cfg(target_arch = "nvptx64")]
                // SAFETY: it only orders.
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
    /// Lets the next kernel begin, once all blocks have called this or ended (PTX ISA,
    /// "griddepcontrol.launch_dependents").
    launch_dependents, "griddepcontrol.launch_dependents;";
    /// Waits until the kernel in front has ended and its writes are visible (PTX ISA,
    /// "griddepcontrol.wait").
    wait, "griddepcontrol.wait;";
}
