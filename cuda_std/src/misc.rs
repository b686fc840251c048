//! What fits into no other module: the clock, a breakpoint, events for profilers.

/// Stops the kernel where a debugger is attached (`brkpt`).
#[inline(always)]
pub fn breakpoint() {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: suspends the thread, and changes nothing.
    unsafe {
        core::arch::asm!("brkpt;", options(nostack, preserves_flags));
    }
    #[cfg(not(target_arch = "nvptx64"))]
    panic!("cuda_std: breakpoint runs on a GPU or on the PTX emulator only");
}

/// Counts one of the events 0 to 7 that profilers show, once a warp (`pmevent`).
///
/// # Panics
///
/// For a `counter` above 7.
#[inline(always)]
pub fn profiler_counter(counter: u32) {
    assert!(counter <= 7, "there are the profiler counters 0 to 7");
    // The number is part of the instruction, so there is one for each.
    macro_rules! one_of {
        ($($number:literal)*) => {
            match counter {
                $(
                    #[cfg(target_arch = "nvptx64")]
                    $number => {
                        // SAFETY: the event changes nothing that a kernel sees.
                        unsafe {
                            core::arch::asm!(
                                concat!("pmevent ", $number, ";"),
                                options(nomem, nostack, preserves_flags),
                            );
                        }
                    }
                )*
                _ => {}
            }
        };
    }
    one_of!(0 1 2 3 4 5 6 7);
    #[cfg(not(target_arch = "nvptx64"))]
    panic!("cuda_std: profiler_counter runs on a GPU or on the PTX emulator only");
}

/// The cycles that the multiprocessor has counted (`%clock64`).
#[inline(always)]
pub fn clock() -> u64 {
    #[cfg(target_arch = "nvptx64")]
    {
        let cycles;
        // SAFETY: reads a special register. It is not `pure`: two reads differ.
        unsafe {
            core::arch::asm!(
                "mov.u64 {}, %clock64;",
                out(reg64) cycles,
                options(nomem, nostack, preserves_flags),
            );
        }
        cycles
    }
    #[cfg(not(target_arch = "nvptx64"))]
    panic!("cuda_std: clock runs on a GPU or on the PTX emulator only")
}
