//! Atomic operations on floats in device memory.
//!
//! Integers need nothing of this crate: [`core::sync::atomic`]'s `AtomicU32`, `AtomicI32` and
//! `AtomicU64` compile to `atom` instructions. Floats have no atomic type in `core`; here are the
//! additions that the hardware has (PTX ISA, "atom", `.add.f32` and `.add.f64`), and a counter
//! whose order is that of one device.

/// A float that the hardware can add atomically.
pub trait AtomicFloat: Copy {
    /// Adds `value` to `*to` and returns what was there before, relaxed, at device scope.
    ///
    /// The order of additions from different threads is not defined, so neither is the rounding of
    /// a sum.
    ///
    /// # Safety
    /// `to` is aligned, valid, and in global or shared memory; other threads access it atomically
    /// only.
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
                        // SAFETY: the contract says that the pointer is aligned, valid and accessed
                        // atomically.
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

/// Adds 1 to `*counter` and returns what was there before, with acquire and release semantics among
/// the threads of the device: `core`'s atomic types have them among all devices and the host, which
/// takes longer (PTX ISA, "atom", `.acq_rel.gpu`).
///
/// # Safety
/// `counter` is aligned, valid, and in global memory; other threads access it atomically only, or
/// ordered by it.
#[inline(always)]
pub unsafe fn count(counter: *mut u32) -> u32 {
    #[cfg(target_arch = "nvptx64")]
    {
        let before;
        // SAFETY: the contract says that the pointer is aligned, valid and accessed atomically.
        unsafe {
            core::arch::asm!(
                "atom.acq_rel.gpu.global.add.u32 {}, [{}], 1;",
                out(reg32) before,
                in(reg64) counter,
                options(nostack, preserves_flags),
            );
        }
        before
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        let _ = counter;
        panic!("cuda_std: count runs on a GPU or on the PTX emulator only");
    }
}

mod scoped;

pub use scoped::*;
