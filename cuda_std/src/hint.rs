//! What the optimiser must not know or do.

/// Returns `index`, but the compiler can assume nothing about the value.
///
/// An access at an opaque index inside a loop is done again in every iteration: LLVM cannot know
/// that it is the same one. [`core::hint::black_box`] would go through local memory instead of a
/// register.
#[inline(always)]
pub fn opaque(index: usize) -> usize {
    #[cfg(target_arch = "nvptx64")]
    {
        let mut index = index;
        // SAFETY: an empty statement; the value stays the same.
        unsafe {
            core::arch::asm!(
                "// opaque {0}",
                inout(reg64) index,
                options(nomem, nostack, preserves_flags),
            );
        }
        index
    }
    #[cfg(not(target_arch = "nvptx64"))]
    core::hint::black_box(index)
}

/// Returns `index`, and keeps the loop that it steps from being unrolled:
/// `while i < n { …; i = rolled(i + 1); }`.
///
/// LLVM cannot count the iterations of a loop whose index is [`opaque`], and the pragma keeps
/// `ptxas` from unrolling it (PTX ISA, `.pragma "nounroll"`).
#[inline(always)]
pub fn rolled(index: usize) -> usize {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: a pragma has no effect at run time.
    unsafe {
        core::arch::asm!(
            ".pragma \"nounroll\";",
            options(nomem, nostack, preserves_flags)
        );
    }
    opaque(index)
}
