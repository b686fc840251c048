//! The kernels: what runs on the GPU.

#![no_std]
#![cfg_attr(target_arch = "nvptx64", feature(abi_ptx, asm_experimental_arch))]

use cuda_std::prelude::*;

/// y ← a · x + y for vectors of `n` elements, one element a thread.
///
/// # Safety
/// `x` and `y` are `n` elements of device memory each, and nothing else uses those of `y`.
#[kernel]
pub unsafe fn axpy(x: *const f32, y: *mut f32, a: f32, n: u32) {
    let i = thread::index_1d();
    // The last block may have more threads than there are elements left.
    if i < n {
        let (x, y) = unsafe { (x.add(i as usize), y.add(i as usize)) };
        unsafe { *y += a * *x };
    }
}
