//! Crates from crates.io, each in a kernel. None of them was written for GPUs.
//!
//! `tests/library/crates` runs the kernels and compares their results with published ones, or with
//! such as can be computed by hand.

#![no_std]
#![cfg_attr(target_arch = "nvptx64", feature(abi_ptx, asm_experimental_arch))]

extern crate alloc;

mod containers;
mod hashes;
mod numbers;
mod system;

/// Copies `bytes` to `output`.
///
/// # Safety
/// `output` has room for them.
unsafe fn put(output: *mut u8, bytes: &[u8]) {
    for (i, &byte) in bytes.iter().enumerate() {
        // SAFETY: there is room for all bytes.
        unsafe { output.add(i).write(byte) };
    }
}
