//! `calibrate_chase_global`, `calibrate_chase_shared`: loads whose address is what the load before
//! gave.
//!
//! # Idea
//! Nothing overlaps, so the cycles of a step are the latency of a load. Which memory is measured is
//! a matter of where the chain lies and how long it is: in shared memory; in so few lines that the
//! L1 cache holds them; in more than that and less than the L2 cache holds; or over more than that,
//! each line visited once.
//!
//! # Thread mapping
//! One thread.
//!
//! # Preconditions
//! The chain is closed or has more links than there are steps.
//!
//! # Source
//! Wong et al., "Demystifying GPU Microarchitecture through Microbenchmarking", ISPASS 2010.

use super::{clock, report};
use cuda_std::prelude::*;

/// Links of the chain in shared memory.
pub const SHARED_LINKS: usize = 256;

/// The value at the address `link`, with one load of global memory.
#[inline(always)]
unsafe fn next_global(link: u64) -> u64 {
    #[cfg(target_arch = "nvptx64")]
    {
        let next: u64;
        // SAFETY: the caller gives the address of a link.
        unsafe {
            ::core::arch::asm!(
                "ld.global.b64 {}, [{}];",
                out(reg64) next,
                in(reg64) link,
                options(nostack, preserves_flags),
            );
        }
        next
    }
    #[cfg(not(target_arch = "nvptx64"))]
    // SAFETY: the contract says that `link` is the address of a link.
    unsafe {
        *(link as *const u64)
    }
}

/// Follows a chain of device addresses for `steps` steps, beginning with the link at `first`.
///
/// # Safety
/// `first` is the address of a link, and every link holds the address of another one; one thread;
/// `clocks` has two elements.
#[kernel(max_threads = 32, min_blocks = 1)]
pub unsafe fn calibrate_chase_global(first: u64, clocks: *mut u64, steps: u32) {
    let mut link = first;
    let start = clock();
    for _ in 0..steps {
        // SAFETY: the contract says that the chain is closed or longer than `steps`.
        link = unsafe { next_global(link) };
    }
    let stop = clock();
    // SAFETY: `clocks` is as the kernel's contract says; no link is at address 1.
    unsafe {
        report(clocks, start, stop);
        if link == 1 {
            *clocks = link;
        }
    }
}

/// The value at the address `link` of shared memory, with one load.
#[inline(always)]
unsafe fn next_shared(link: u32) -> u32 {
    #[cfg(target_arch = "nvptx64")]
    {
        let next: u32;
        // SAFETY: the caller gives the address of a link.
        unsafe {
            ::core::arch::asm!(
                "ld.shared.b32 {}, [{}];",
                out(reg32) next,
                in(reg32) link,
                options(nostack, preserves_flags),
            );
        }
        next
    }
    #[cfg(not(target_arch = "nvptx64"))]
    panic!("{link} is an address of shared memory")
}

/// The address in shared memory that a pointer to it stands for.
#[inline(always)]
pub(super) fn shared_address<T>(pointer: *mut T) -> u32 {
    #[cfg(target_arch = "nvptx64")]
    {
        let address: u32;
        // SAFETY: computes an address.
        unsafe {
            ::core::arch::asm!(
                "{{ .reg .b64 wide; cvta.to.shared.u64 wide, {}; cvt.u32.u64 {}, wide; }}",
                in(reg64) pointer,
                out(reg32) address,
                options(pure, nomem, nostack, preserves_flags),
            );
        }
        address
    }
    #[cfg(not(target_arch = "nvptx64"))]
    panic!("{pointer:?} is no pointer to shared memory")
}

/// Follows a closed chain through shared memory for `steps` steps.
///
/// # Safety
/// One thread; `clocks` has two elements.
#[kernel(max_threads = 32, min_blocks = 1)]
pub unsafe fn calibrate_chase_shared(clocks: *mut u64, steps: u32) {
    let links = shared_array![u32; SHARED_LINKS];
    let first = shared_address(links);
    for i in 0..SHARED_LINKS {
        // Links are 7 apart, which has no common divisor with their number: the chain visits all of
        // them.
        let next = (i + 7) % SHARED_LINKS;
        // SAFETY: i is inside of the array.
        unsafe {
            links
                .add(i)
                .write_volatile(first + (next * size_of::<u32>()) as u32)
        };
    }
    let mut link = first;
    let start = clock();
    for _ in 0..steps {
        // SAFETY: a link is the address of another one.
        link = unsafe { next_shared(link) };
    }
    let stop = clock();
    // SAFETY: `clocks` is as the kernel's contract says; no link is at that address.
    unsafe {
        report(clocks, start, stop);
        if link == u32::MAX {
            *clocks = u64::from(link);
        }
    }
}
