//! State spaces of pointers, sizes of shared memory, the clock, and the attributes.

use super::put;
use core::mem::MaybeUninit;
use cuda_std::prelude::*;
use cuda_std::ptr::AddressSpace::{Constant, Global, Local, Shared};
use cuda_std::{address_space, gpu_only, hint, mem, misc, ptr};

/// A static in global memory.
#[address_space(global)]
pub static TABLE: [u32; 4] = [3, 1, 4, 1];

/// The element of a static that no compiler knows.
#[gpu_only]
#[inline(always)]
pub fn of_table(i: usize) -> u32 {
    TABLE[hint::opaque(i) % TABLE.len()]
}

/// Where pointers point to, 12 columns a thread: four state spaces of a global, a shared and a
/// local one.
///
/// # Safety
/// `output` has 12 elements for each thread of the grid.
#[kernel]
pub unsafe fn state_spaces(output: *mut u32) {
    let shared = shared_array![u32; 4];
    let mut local = [0_u32; 4];
    let index = hint::opaque(thread::thread_idx_x() as usize) % 4;
    // So that it stays in memory.
    local[index] = 5;
    let pointers = [output.cast_const(), shared, local.as_ptr()];
    for (row, pointer) in pointers.into_iter().enumerate() {
        for (column, space) in [Global, Shared, Constant, Local].into_iter().enumerate() {
            // SAFETY: each pointer is that of an object; 12 columns.
            unsafe {
                let inside = ptr::is_in_address_space(pointer, space);
                put(output, 12, (4 * row + column) as u32, u32::from(inside));
            }
        }
    }
}

/// A value through a shared address and back, sizes of shared memory, a static, and whether the
/// clock runs forward. 5 columns a thread.
///
/// # Safety
/// One block of 32 threads; `output` has 5 elements for each thread.
#[kernel]
pub unsafe fn of_the_block(output: *mut u32) {
    #[address_space(shared)]
    static mut NUMBERS: [MaybeUninit<u32>; 32] = [const { MaybeUninit::uninit() }; 32];

    let i = thread::thread_idx_x() as usize;
    let start = misc::clock();
    // SAFETY: each thread writes its own element; that of another was written before the barrier.
    // The address goes to shared memory and back; 5 columns.
    unsafe {
        NUMBERS[i].write(i as u32 * 3);
        thread::sync_threads();
        misc::profiler_counter(1);
        let generic: *const u32 = NUMBERS[31 - i].as_ptr();
        let shared = ptr::convert_generic_to_specific_address_space(generic, Shared);
        let back = ptr::convert_specific_address_space_to_generic(shared, Shared);
        put(output, 5, 0, back.read());
        put(output, 5, 1, mem::dynamic_smem_size());
        put(
            output,
            5,
            2,
            u32::from(mem::total_smem_size() >= 128 + mem::dynamic_smem_size()),
        );
        put(output, 5, 3, of_table(i));
        put(output, 5, 4, u32::from(misc::clock() >= start));
    }
}
