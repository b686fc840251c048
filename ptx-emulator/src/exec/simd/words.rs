//! Rows of words that other threads may access at the same time.
//!
//! Aligned values of 64 bits are whole for other threads, as they are on a GPU. Rows are moved by
//! vectors, within which no processor tears 8 aligned bytes; single values by one instruction.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
use std::sync::atomic::AtomicU32;

use super::Level;
use crate::whole::{load_pair, store_pair};

/// Reads 32 words, each as by a relaxed load.
///
/// Rust has no loads of several atomics at once, and the compiler makes none of its own: hence the
/// assembly.
#[inline(always)]
pub(in crate::exec) fn load_row(level: Level, from: &[AtomicU32; 32], to: &mut [u32; 32]) {
    match level {
        Level::Portable => {
            for (to, pair) in to.chunks_exact_mut(2).zip(from.chunks_exact(2)) {
                let value = load_pair(pair, 0);
                (to[0], to[1]) = (value as u32, (value >> 32) as u32);
            }
        }
        #[cfg(target_arch = "x86_64")]
        // SAFETY: `copy_row` needs 128 readable and 128 writable bytes: `from` and `to` are arrays
        // of 32 words, which Rust aligns to words. The processor has the instructions of `level`,
        // since `Level::detect` makes no other value. Other threads may write the words of `from`
        // at the same time: the processor does not tear the aligned words of a vector, so each is
        // read as by a relaxed atomic load.
        _ => unsafe { copy_row(level, from.as_ptr().cast(), to.as_mut_ptr()) },
    }
}

/// Writes 32 words, each as by a relaxed store.
#[inline(always)]
pub(in crate::exec) fn store_row(level: Level, to: &[AtomicU32; 32], from: &[u32; 32]) {
    match level {
        Level::Portable => {
            for (to, pair) in to.chunks_exact(2).zip(from.chunks_exact(2)) {
                store_pair(to, 0, u64::from(pair[0]) | u64::from(pair[1]) << 32);
            }
        }
        #[cfg(target_arch = "x86_64")]
        // SAFETY: `copy_row` needs 128 readable and 128 writable bytes: `from` and `to` are arrays
        // of 32 words, which Rust aligns to words. The processor has the instructions of `level`,
        // since `Level::detect` makes no other value. `AtomicU32` may be written through a shared
        // reference; the processor does not tear the aligned words of a vector, so each is written
        // as by a relaxed atomic store.
        _ => unsafe { copy_row(level, from.as_ptr(), to.as_ptr().cast_mut().cast()) },
    }
}

/// Prefetches 32 words that are likely to be read soon; words that are out of bounds are left out.
#[inline(always)]
pub(in crate::exec) fn prefetch_row(words: &[AtomicU32], at: usize) {
    #[cfg(target_arch = "x86_64")]
    for line in [at, at.wrapping_add(16)] {
        if let Some(word) = words.get(line) {
            // SAFETY: a prefetch accesses no memory that the program can observe, and every x86-64
            // processor has the instruction.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(word.as_ptr().cast()) };
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (words, at);
}

/// Copies 128 bytes.
///
/// # Safety
/// `from` must be readable and `to` writable for 32 words, both of them aligned to words, and the
/// processor must have the instructions of `level`.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn copy_row(level: Level, from: *const u32, to: *mut u32) {
    match level {
        // SAFETY: `from` is readable and `to` writable for the 128 bytes that are moved, and the
        // processor has AVX-512: both are conditions of this function. The two registers that are
        // written are declared as clobbered, the stack and the flags are not touched.
        Level::Avx512 => unsafe {
            std::arch::asm!(
                "vmovdqu64 zmm30, [{from}]",
                "vmovdqu64 zmm31, [{from} + 64]",
                "vmovdqu64 [{to}], zmm30",
                "vmovdqu64 [{to} + 64], zmm31",
                from = in(reg) from,
                to = in(reg) to,
                out("zmm30") _,
                out("zmm31") _,
                options(nostack, preserves_flags),
            );
        },
        // SAFETY: `from` is readable and `to` writable for the 128 bytes that are moved, and the
        // processor has AVX: both are conditions of this function. The four registers that are
        // written are declared as clobbered, the stack and the flags are not touched.
        _ => unsafe {
            std::arch::asm!(
                "vmovdqu ymm12, [{from}]",
                "vmovdqu ymm13, [{from} + 32]",
                "vmovdqu ymm14, [{from} + 64]",
                "vmovdqu ymm15, [{from} + 96]",
                "vmovdqu [{to}], ymm12",
                "vmovdqu [{to} + 32], ymm13",
                "vmovdqu [{to} + 64], ymm14",
                "vmovdqu [{to} + 96], ymm15",
                from = in(reg) from,
                to = in(reg) to,
                out("ymm12") _,
                out("ymm13") _,
                out("ymm14") _,
                out("ymm15") _,
                options(nostack, preserves_flags),
            );
        },
    }
}
