//! What the optimiser must not know.

/// Returns `index`, but the compiler can assume nothing about the value.
///
/// An access at an opaque index inside a loop is done again in every round: LLVM cannot know that it is the
/// same one. [`core::hint::black_box`] would go through local memory instead of a register.
#[inline(always)]
pub fn opaque(index: usize) -> usize {
    #[cfg(target_arch = "nvptx64")]
    {
        let mut index = index;
        // SAFETY: an empty statement; the value stays the same.
        unsafe {
            core::arch::asm!("// opaque {0}", inout(reg64) index, options(nomem, nostack, preserves_flags));
        }
        index
    }
    #[cfg(not(target_arch = "nvptx64"))]
    core::hint::black_box(index)
}
