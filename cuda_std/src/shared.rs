//! Shared memory: the on-chip memory of a block (PTX ISA, "Shared State Space").
//!
//! Stock rustc cannot place a static in shared memory. What it has is the address of the *dynamic*
//! shared memory, as a pointer that LLVM knows to be shared. [`shared_array!`](crate::shared_array)
//! declares its array in inline assembly and reaches it as an offset from that pointer, so loads
//! and stores stay `ld.shared` and `st.shared`.

/// A shared array of the block: `shared_array![T; N]` is a `*mut T` to `N` elements.
///
/// Each place in the source that is inlined into a kernel is an array of its own, 16-byte aligned
/// so that 128-bit accesses work. It is not initialised. Threads of the block order their accesses
/// with [`sync_threads`](crate::thread::sync_threads).
///
/// Declare arrays at the top of a kernel, not in a loop: a loop that the compiler unrolls would
/// make one array of each copy.
///
/// ```ignore
/// let tile = shared_array![f32; 16 * 17];
/// unsafe { *tile.add(thread::thread_idx_x() as usize) = 1.0 };
/// ```
#[macro_export]
macro_rules! shared_array {
    [$ty:ty; $len:expr] => {{
        const {
            assert!(($len) > 0, "a shared array has at least one element");
            assert!(align_of::<$ty>() <= 16, "a shared array is 16-byte aligned");
        };
        let base: *mut $ty = $crate::shared::dynamic_shared_mem();
        #[cfg(target_arch = "nvptx64")]
        let base = {
            let offset: i32;
            // SAFETY: declares a variable and computes the distance of two addresses. It must not
            // be `pure`: two equal statements would then be merged into one array.
            unsafe {
                ::core::arch::asm!(
                    "{{ .shared .align 16 .b8 cuda_std_array[{bytes}];",
                    ".reg .b64 base64; .reg .b32 base32;",
                    "cvta.to.shared.u64 base64, {base}; cvt.u32.u64 base32, base64;",
                    "mov.b32 {offset}, cuda_std_array; sub.s32 {offset}, {offset}, base32; }}",
                    bytes = const ($len) * size_of::<$ty>(),
                    base = in(reg64) base,
                    offset = out(reg32) offset,
                    options(nomem, nostack, preserves_flags),
                );
            }
            let array = base.wrapping_byte_offset(offset as isize);
            // SAFETY: the declaration above says so. LLVM then knows it as well, and merges
            // accesses.
            unsafe { ::core::hint::assert_unchecked(array.addr() & 15 == 0) };
            array
        };
        base
    }};
}

/// The start of the dynamic shared memory, whose size is set by the launch.
///
/// All calls return the same address, whatever `T` is.
#[inline(always)]
pub fn dynamic_shared_mem<T>() -> *mut T {
    #[cfg(target_arch = "nvptx64")]
    return core::intrinsics::gpu::gpu_launch_sized_workgroup_mem::<T>();
    #[cfg(not(target_arch = "nvptx64"))]
    panic!("cuda_std: dynamic_shared_mem runs on a GPU or on the PTX emulator only");
}
