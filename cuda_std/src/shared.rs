#![allow(missing_docs)]
use core::arch::asm;
#[macro_export]
macro_rules! shared_array {
    [$ty:ty; $len:expr] => {{
        const BYTES: usize = ::core::mem::size_of::<[$ty; $len]>();
        const ALIGN: usize = ::core::mem::align_of::<$ty>();
        let base = $crate::shared::dynamic_shared_mem::<$ty>();
        let offset: u32;
        unsafe { ::core::arch::asm!("{{ .shared .align {align} .b8 cuda_std_shared[{bytes}]; .reg .b64 base64; .reg .b32 base32; cvta.to.shared.u64 base64, {base}; cvt.u32.u64 base32, base64; mov.b32 {offset}, cuda_std_shared; sub.s32 {offset}, {offset}, base32; }}",
            align = const ALIGN, bytes = const BYTES, base = in(reg64) base, offset = out(reg32) offset, options(nomem, nostack, preserves_flags)); }
        base.wrapping_byte_offset(offset as i32 as isize)
    }};
}
#[inline(always)]
pub fn dynamic_shared_mem<T>() -> *mut T { core::intrinsics::gpu::gpu_launch_sized_workgroup_mem::<T>() }
