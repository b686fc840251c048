//! Two words as one value of 64 bits, which is whole for other threads as it is on a GPU.

use std::sync::atomic::AtomicU32;
#[cfg(not(target_arch = "x86_64"))]
use std::sync::atomic::Ordering;

/// Reads two neighbouring words as one value, which no other thread sees half-written where it is
/// aligned to its size. Processors other than x86-64 read the words one by one.
///
/// Rust has no accesses of two sizes to the same atomics: hence the assembly.
#[inline(always)]
pub(crate) fn load_pair(words: &[AtomicU32], at: usize) -> u64 {
    let pair = &words[at..][..2];
    #[cfg(target_arch = "x86_64")]
    {
        let value: u64;
        // SAFETY: `pair` is readable for the 8 bytes that are moved, and the instruction needs no
        // alignment. Other threads may write the words: the processor does not tear aligned words.
        unsafe {
            std::arch::asm!(
                "mov {value}, qword ptr [{from}]",
                value = out(reg) value,
                from = in(reg) pair.as_ptr(),
                options(nostack, preserves_flags, readonly),
            );
        }
        value
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        let [low, high] = [0, 1].map(|half| u64::from(pair[half].load(Ordering::Relaxed)));
        low | high << 32
    }
}

/// Writes two neighbouring words; as [`load_pair`].
#[inline(always)]
pub(crate) fn store_pair(words: &[AtomicU32], at: usize, value: u64) {
    let pair = &words[at..][..2];
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the 8 bytes that are moved are those of `pair`, which may be written through a shared
    // reference, since they are atomic. The instruction needs no alignment, and the processor does
    // not tear aligned words.
    unsafe {
        std::arch::asm!(
            "mov qword ptr [{to}], {value}",
            to = in(reg) pair.as_ptr(),
            value = in(reg) value,
            options(nostack, preserves_flags),
        );
    }
    #[cfg(not(target_arch = "x86_64"))]
    for (half, word) in pair.iter().enumerate() {
        word.store((value >> (32 * half)) as u32, Ordering::Relaxed);
    }
}
