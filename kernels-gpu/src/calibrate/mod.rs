//! Micro-benchmarks: what a GPU does that neither its driver nor its datasheet tells.
//!
//! These are no rungs: they compute nothing of use, and each measures one figure of the performance
//! models. `warpladder calibrate` launches them.
//!
//! | file | kernels | figures |
//! |---|---|---|
//! | [`chase`] | `calibrate_chase_global`, `calibrate_chase_shared` | latencies of loads |
//! | [`chains`] | `calibrate_latency_…`, `calibrate_rate_…` | latency and rate of each class of instructions |
//! | [`on_chip`] | `calibrate_shared`, `calibrate_l1`, `calibrate_l1_apart`, `calibrate_constant` | bandwidths of a multiprocessor |
//! | [`code`] | `calibrate_code` | caches of instructions |
//! | [`streams`] | `calibrate_read`, `calibrate_write`, `calibrate_write_parts` | bandwidths of the L2 cache and of device memory |
//! | [`blocks`] | `calibrate_empty`, `calibrate_touch` | cost of a launch, of a block and of a warp |
//!
//! A kernel that measures cycles reads the multiprocessor's clock (PTX ISA, `%clock64`) before and
//! after a loop, and every warp writes both. What it computes is stored only where it equals a
//! value that it never has: the compiler cannot know.

/// Threads of a block at most.
pub const BLOCK: usize = 1024;

/// The clock of the multiprocessor, in cycles (`%clock64`).
#[inline(always)]
fn clock() -> u64 {
    #[cfg(target_arch = "nvptx64")]
    {
        let cycles: u64;
        // SAFETY: reads a register. Not `pure`: each read gives another value, and none may be
        // moved out of its place.
        unsafe {
            ::core::arch::asm!(
                "mov.u64 {}, %clock64;",
                out(reg64) cycles,
                options(nomem, nostack, preserves_flags),
            );
        }
        cycles
    }
    #[cfg(not(target_arch = "nvptx64"))]
    panic!("the clock is a multiprocessor's: it runs on a GPU or on the PTX emulator only")
}

/// Writes the two clock readings of this thread's warp.
///
/// # Safety
/// `clocks` has two elements for each warp of the grid.
#[inline(always)]
unsafe fn report(clocks: *mut u64, start: u64, stop: u64) {
    let thread = cuda_std::thread::index_1d() as usize;
    if thread.is_multiple_of(32) {
        // SAFETY: the contract says that `clocks` has two elements for each warp; warps do not
        // share elements.
        unsafe {
            *clocks.add(thread / 32 * 2) = start;
            *clocks.add(thread / 32 * 2 + 1) = stop;
        }
    }
}

pub mod blocks;
pub mod chains;
pub mod chase;
pub mod code;
pub mod on_chip;
pub mod streams;
