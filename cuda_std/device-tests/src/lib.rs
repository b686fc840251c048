//! One kernel for each part of `cuda_std`, each with an output that is easy to state.
//!
//! `tests/cuda_std` compiles them, runs them on every engine and looks for the instructions that
//! must be in their PTX.

#![no_std]
#![cfg_attr(target_arch = "nvptx64", feature(abi_ptx, asm_experimental_arch))]

#[cfg(not(target_arch = "nvptx64"))]
pub mod accuracy;
#[cfg(any(not(target_arch = "nvptx64"), not(target_feature = "sm_75")))]
pub mod atomics;
#[cfg(any(not(target_arch = "nvptx64"), not(target_feature = "sm_75")))]
pub mod basic;
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]
pub mod clusters;
#[cfg(any(not(target_arch = "nvptx64"), not(target_feature = "sm_75")))]
pub mod floats;
#[cfg(any(not(target_arch = "nvptx64"), not(target_feature = "sm_75")))]
pub mod misc;
pub mod warps;

use cuda_std::thread;

/// Writes to `output[i * columns + column]`, where `i` is the thread's number in the grid.
///
/// # Safety
/// `output` has `columns` elements for each thread of the grid.
#[inline(always)]
unsafe fn put<T>(output: *mut T, columns: u32, column: u32, value: T) {
    // SAFETY: the array has the size that the contract states.
    unsafe {
        output
            .add((thread::index() * columns + column) as usize)
            .write(value)
    }
}
