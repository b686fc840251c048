//! Atomic operations on floats in device memory.
//!
//! Integers need nothing of this crate: [`core::sync::atomic`]'s `AtomicU32`, `AtomicI32` and `AtomicU64`
//! compile to `atom` instructions. Floats have no atomic type in `core`; here are the additions that the
//! hardware has (PTX ISA, "atom", `.add.f32` and `.add.f64`).

/// A float that the hardware can add atomically.
pub trait AtomicFloat: Copy {
    /// Adds `value` to `*to` and returns what was there before, relaxed, at device scope.
    ///
    /// The order of additions from different threads is not defined, so neither is the rounding of a sum.
    ///
    /// # Safety
    /// `to` is aligned, valid, and in global or shared memory; other threads access it atomically only.
    unsafe fn atomic_add(to: *mut Self, value: Self) -> Self;
}

macro_rules! atomic_floats {
    ($($ty:ty: $instruction:literal, $class:ident;)*) => {
        $(
            impl AtomicFloat for $ty {
                #[inline(always)]
                unsafe fn atomic_add(to: *mut Self, value: Self) -> Self {
                    #[cfg(target_arch = "nvptx64")]
                    {
                        let before;
                        // SAFETY: the caller ensures the pointer.
                        unsafe {
                            core::arch::asm!(
                                concat!($instruction, " {0}, [{1}], {2};"),
                                out($class) before,
                                in(reg64) to,
                                in($class) value,
                                options(nostack, preserves_flags),
                            );
                        }
                        before
                    }
                    #[cfg(not(target_arch = "nvptx64"))]
                    {
                        _ = (to, value);
                        panic!("cuda_std: atomic_add runs on a GPU or on the PTX emulator only");
                    }
                }
            }
        )*
    };
}

atomic_floats! {
    f32: "atom.add.f32", reg32;
    f64: "atom.add.f64", reg64;
}
