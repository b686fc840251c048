//! Memory: the sizes of a block's shared memory, and the allocator of the device.
//!
//! With the feature `alloc` this crate registers [`CUDAAllocator`] as the global allocator of a
//! kernel crate, so `Box`, `Vec`, `String` and `format!` work in kernels. Every allocation is a
//! call of the driver's `malloc` (CUDA Programming Guide, "Dynamic Global Memory Allocation"). Its
//! heap is 8 MiB unless the host sets another limit, and stays after the kernel has ended.

#[cfg(target_arch = "nvptx64")]
use core::alloc::{GlobalAlloc, Layout};
#[cfg(target_arch = "nvptx64")]
use core::ffi::c_void;

#[cfg(target_arch = "nvptx64")]
unsafe extern "C" {
    /// Allocates `size` bytes in the heap of the device, aligned to 16; null where it is full.
    pub fn malloc(size: usize) -> *mut c_void;

    /// Frees what [`malloc`] has returned.
    ///
    /// # Safety
    /// `ptr` is null or comes from [`malloc`], and is not used afterwards.
    pub fn free(ptr: *mut c_void);
}

/// The allocator of the device: `malloc` and `free`.
#[derive(Debug, Clone, Copy, Default)]
pub struct CUDAAllocator;

/// The alignment of what `malloc` returns.
#[cfg(target_arch = "nvptx64")]
const MALLOC_ALIGN: usize = 16;

// SAFETY: a block is `layout.size()` bytes of an allocation of its own, aligned as asked: by
// `malloc`, or by moving its start, whose address then stands before the block.
#[cfg(target_arch = "nvptx64")]
unsafe impl GlobalAlloc for CUDAAllocator {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let (size, align) = (layout.size(), layout.align());
        if align <= MALLOC_ALIGN {
            // SAFETY: any size may be asked for.
            return unsafe { malloc(size) }.cast();
        }
        // `Layout` keeps the size far enough below `usize::MAX`.
        // SAFETY: any size may be asked for.
        let whole: *mut u8 = unsafe { malloc(size + align) }.cast();
        if whole.is_null() {
            return whole;
        }
        // SAFETY: the next multiple of `align` is between `MALLOC_ALIGN` and `align` bytes on, so
        // a pointer fits before the block, and `size` bytes fit in it.
        unsafe {
            let block = whole.add(align - whole.addr() % align);
            block.cast::<*mut u8>().sub(1).write(whole);
            block
        }
    }

    #[inline]
    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        // SAFETY: `ptr` comes from `alloc` with this layout: the allocation starts there, or where
        // the pointer before it says.
        unsafe {
            let whole = match layout.align() <= MALLOC_ALIGN {
                true => ptr,
                false => ptr.cast::<*mut u8>().sub(1).read(),
            };
            free(whole.cast());
        }
    }
}

/// The global allocator of a kernel crate.
#[cfg(all(target_arch = "nvptx64", feature = "alloc"))]
#[global_allocator]
pub static GLOBAL_ALLOCATOR: CUDAAllocator = CUDAAllocator;

macro_rules! sizes {
    ($($(#[$doc:meta])* $name:ident = $register:literal;)*) => {
        $(
            $(#[$doc])*
            #[inline(always)]
            pub fn $name() -> u32 {
                #[cfg(target_arch = "nvptx64")]
                {
                    let bytes;
                    // SAFETY: reads a special register, which does not change.
                    unsafe {
                        core::arch::asm!(
                            concat!("mov.u32 {}, %", $register, ";"),
                            out(reg32) bytes,
                            options(pure, nomem, nostack, preserves_flags),
                        );
                    }
                    bytes
                }
                #[cfg(not(target_arch = "nvptx64"))]
                panic!(concat!(
                    "cuda_std: ", stringify!($name), " runs on a GPU or on the PTX emulator only"
                ))
            }
        )*
    };
}

sizes! {
    /// Bytes of dynamic shared memory that the launch gave each block (`%dynamic_smem_size`).
    dynamic_smem_size = "dynamic_smem_size";
    /// Bytes of shared memory of each block, static and dynamic, as the GPU allots them
    /// (`%total_smem_size`).
    total_smem_size = "total_smem_size";
}

/// Functions that LLVM calls for comparisons of memory, which a kernel crate that is compiled as a
/// whole needs: `compiler_builtins` is left out of link-time optimisation.
#[cfg(target_arch = "nvptx64")]
mod builtins {
    /// The difference of the first bytes that differ, or 0.
    ///
    /// # Safety
    /// Both pointers are valid for reads of `n` bytes.
    #[unsafe(no_mangle)]
    pub unsafe extern "C" fn memcmp(a: *const u8, b: *const u8, n: usize) -> i32 {
        let mut i = 0;
        while i < n {
            // Volatile, as LLVM would make a call of `memcmp` of this loop.
            // SAFETY: `i` is below `n`.
            let (x, y) = unsafe { (a.add(i).read_volatile(), b.add(i).read_volatile()) };
            if x != y {
                return i32::from(x) - i32::from(y);
            }
            i += 1;
        }
        0
    }

    /// 0 where both are equal.
    ///
    /// # Safety
    /// Both pointers are valid for reads of `n` bytes.
    #[unsafe(no_mangle)]
    pub unsafe extern "C" fn bcmp(a: *const u8, b: *const u8, n: usize) -> i32 {
        // SAFETY: the same contract.
        unsafe { memcmp(a, b, n) }
    }
}
