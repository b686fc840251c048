//! `calibrate_latency_…` and `calibrate_rate_…`: chains of dependent instructions of one class.
//!
//! # Idea
//! One warp with one chain issues an instruction per latency. Eight chains in each of 32 warps keep
//! the units of a multiprocessor busy, so what they issue in a cycle is the units' rate. `fma_ilp`
//! shows the way from one to the other.
//!
//! # Thread mapping
//! Each thread has one chain (`latency`) or eight (`rate`).
//!
//! # Preconditions
//! Blocks of whole warps.
//!
//! # Source
//! 000 ("latency × throughput"); Arafa et al., arXiv 1905.08778.

use super::{BLOCK, clock, report};
use cuda_std::prelude::*;

/// Instructions of the class in one round of a thread, all chains together. At this number the
/// loop around them is about 1 % of the instructions.
pub const PER_ROUND: usize = 256;

/// Chains of a thread in the kernels that measure a rate.
const CHAINS: usize = 8;

/// The kernels of each class: its instruction or two, as PTX on {x}, {a} and {b}, in registers of a
/// class and of a type.
macro_rules! classes {
    ($(
        $(#[$doc:meta])* $latency:ident, $rate:ident:
        $ty:ident in $class:ident, $instructions:literal of $ptx:literal;
    )*) => {
        $(
            classes!(@kernel $(#[$doc])* ; " The latency of one after the other.",
                $latency, 1, $ty in $class, $instructions of $ptx);
            classes!(@kernel $(#[$doc])* ; " The rate at which independent ones are issued.",
                $rate, CHAINS, $ty in $class, $instructions of $ptx);
        )*
    };
    (
        @kernel $(#[$doc:meta])* ; $what:literal, $name:ident, $chains:expr,
        $ty:ident in $class:ident, $instructions:literal of $ptx:literal
    ) => {
        $(#[$doc])*
        #[doc = $what]
        ///
        /// # Safety
        /// Blocks of whole warps; `clocks` has two elements for each warp of the grid.
        #[kernel(max_threads = BLOCK as u32, min_blocks = 1)]
        pub unsafe fn $name(clocks: *mut u64, rounds: u32, seed: u32) {
            let (a, b) = ($ty::from(seed), $ty::from(seed + 1));
            let mut chains = [0 as $ty; $chains];
            for c in 0..$chains {
                chains[c] = $ty::from(seed + thread::thread_idx_x() + c as u32);
            }
            let start = clock();
            for _ in 0..rounds {
                for _ in 0..PER_ROUND / ($chains * $instructions) {
                    for c in 0..$chains {
                        #[cfg(target_arch = "nvptx64")]
                        // SAFETY: arithmetic on registers.
                        unsafe {
                            ::core::arch::asm!(
                                $ptx,
                                x = inout($class) chains[c],
                                a = in($class) a,
                                b = in($class) b,
                                options(pure, nomem, nostack, preserves_flags),
                            );
                        }
                        #[cfg(not(target_arch = "nvptx64"))]
                        {
                            chains[c] ^= a & b;
                        }
                    }
                }
            }
            let stop = clock();
            let mut sum: $ty = 0;
            for c in 0..$chains {
                sum ^= chains[c];
            }
            // SAFETY: `clocks` is as the kernel's contract says. `seed` is not odd: the sum is
            // stored never.
            unsafe {
                report(clocks, start, stop);
                if sum == a ^ b && seed % 2 == 1 {
                    *clocks = u64::from(sum);
                }
            }
        }
    };
}

classes! {
    /// f32 multiply-adds.
    calibrate_latency_fp32, calibrate_rate_fp32: u32 in reg32, 1 of
        "{{ .reg .f32 fx, fa, fb; mov.b32 fx, {x}; mov.b32 fa, {a}; mov.b32 fb, {b}; fma.rn.f32 fx, fx, fa, fb; mov.b32 {x}, fx; }}";
    /// f64 multiply-adds.
    calibrate_latency_fp64, calibrate_rate_fp64: u64 in reg64, 1 of
        "{{ .reg .f64 fx, fa, fb; mov.b64 fx, {x}; mov.b64 fa, {a}; mov.b64 fb, {b}; fma.rn.f64 fx, fx, fa, fb; mov.b64 {x}, fx; }}";
    /// Multiply-adds of two f16 each.
    calibrate_latency_half, calibrate_rate_half: u32 in reg32, 1 of "fma.rn.f16x2 {x}, {x}, {a}, {b};";
    /// i32 logic and additions in turn: of two equal ones, the assembler would make one.
    calibrate_latency_integer, calibrate_rate_integer: u32 in reg32, 2 of
        "xor.b32 {x}, {x}, {a}; add.u32 {x}, {x}, {b};";
    /// Powers of two in f32.
    calibrate_latency_special, calibrate_rate_special: u32 in reg32, 1 of
        "{{ .reg .f32 fx; mov.b32 fx, {x}; ex2.approx.ftz.f32 fx, fx; mov.b32 {x}, fx; // {a} {b}\n }}";
    /// Conversions from i32 to f32 and back.
    calibrate_latency_conversion, calibrate_rate_conversion: u32 in reg32, 2 of
        "{{ .reg .f32 fx; cvt.rn.f32.s32 fx, {x}; cvt.rzi.s32.f32 {x}, fx; // {a} {b}\n }}";
}
