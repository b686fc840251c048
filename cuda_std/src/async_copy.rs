//! Copies from global to shared memory that run beside the arithmetic (PTX ISA, "cp.async").
//!
//! The bytes go from the cache straight into shared memory: no register holds them, and the thread goes on. They have
//! arrived after [`wait_group`], or when a [barrier](crate::mbarrier::Barrier) that was told of them
//! ([`arrive_after_copies`](crate::mbarrier::Barrier::arrive_after_copies)) says so; until then nobody may read or write the place.
//!
//! ```ignore
//! async_copy::copy_16(tile.at(16 * lane), from);
//! async_copy::commit_group();
//! // … arithmetic …
//! async_copy::wait_group::<0>();
//! thread::sync_threads(); // the copies of the other threads
//! ```
//!
//! Needs compute capability 8.0.

/// A place in shared memory, in bytes from the start of the shared window: what asynchronous instructions take.
///
/// Sums of it are 32-bit arithmetic, and a constant part ends up inside of the instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SharedAddress(u32);

impl SharedAddress {
    /// The place that `pointer`, which points into shared memory, points at (PTX ISA, "cvta").
    #[inline(always)]
    pub fn of<T>(pointer: *const T) -> Self {
        #[cfg(target_arch = "nvptx64")]
        {
            let address: u32;
            // SAFETY: computes a number.
            unsafe {
                core::arch::asm!(
                    "{{ .reg .b64 place; cvta.to.shared.u64 place, {pointer}; cvt.u32.u64 {address}, place; }}",
                    pointer = in(reg64) pointer,
                    address = out(reg32) address,
                    options(pure, nomem, nostack, preserves_flags),
                );
            }
            SharedAddress(address)
        }
        #[cfg(not(target_arch = "nvptx64"))]
        {
            let _ = pointer;
            panic!("cuda_std: SharedAddress::of runs on a GPU or on the PTX emulator only")
        }
    }

    /// The place `bytes` further.
    #[inline(always)]
    pub fn at(self, bytes: u32) -> Self {
        SharedAddress(self.0.wrapping_add(bytes))
    }

    /// The number.
    #[inline(always)]
    pub fn bytes(self) -> u32 {
        self.0
    }
}

macro_rules! copies {
    ($($(#[$doc:meta])* $name:ident, $guarded:ident, $predicated:ident, $bytes:literal, $cache:literal;)*) => {
        $(
            $(#[$doc])*
            ///
            /// # Safety
            #[doc = concat!("Both places are aligned to ", $bytes, " bytes. The source may be read, and nobody writes it")]
            /// before the copy has arrived; the destination belongs to the block, and nobody else touches it before that.
            #[inline(always)]
            pub unsafe fn $name<T>(to: SharedAddress, from: *const T) {
                #[cfg(target_arch = "nvptx64")]
                // SAFETY: the caller ensures it.
                unsafe {
                    core::arch::asm!(
                        concat!("cp.async.", $cache, ".shared.global [{to}], [{from}], ", $bytes, ";"),
                        to = in(reg32) to.0,
                        from = in(reg64) from,
                        options(nostack, preserves_flags),
                    );
                }
                #[cfg(not(target_arch = "nvptx64"))]
                {
                    let _ = (to, from);
                    panic!("cuda_std: asynchronous copies run on a GPU or on the PTX emulator only")
                }
            }

            #[doc = concat!("[`", stringify!($name), "`] where `really`, and otherwise nothing: without a branch, around which the")]
            /// compiler could not move other work.
            ///
            /// # Safety
            #[doc = concat!("As for [`", stringify!($name), "`], where `really`.")]
            #[inline(always)]
            pub unsafe fn $predicated<T>(to: SharedAddress, from: *const T, really: bool) {
                #[cfg(target_arch = "nvptx64")]
                // SAFETY: the caller ensures it.
                unsafe {
                    core::arch::asm!(
                        concat!(
                            "{{ .reg .pred really; setp.ne.b32 really, {really}, 0; @really cp.async.",
                            $cache, ".shared.global [{to}], [{from}], ", $bytes, "; }}"
                        ),
                        to = in(reg32) to.0,
                        from = in(reg64) from,
                        really = in(reg32) really as u32,
                        options(nostack, preserves_flags),
                    );
                }
                #[cfg(not(target_arch = "nvptx64"))]
                {
                    let _ = (to, from, really);
                    panic!("cuda_std: asynchronous copies run on a GPU or on the PTX emulator only")
                }
            }

            #[doc = concat!("[`", stringify!($name), "`] where `really`, and otherwise zeros, without reading the source.")]
            ///
            /// # Safety
            #[doc = concat!("As for [`", stringify!($name), "`]; the source may be anywhere where nothing is read from it.")]
            #[inline(always)]
            pub unsafe fn $guarded<T>(to: SharedAddress, from: *const T, really: bool) {
                #[cfg(target_arch = "nvptx64")]
                // SAFETY: the caller ensures it.
                unsafe {
                    core::arch::asm!(
                        concat!("cp.async.", $cache, ".shared.global [{to}], [{from}], ", $bytes, ", {size};"),
                        to = in(reg32) to.0,
                        from = in(reg64) from,
                        size = in(reg32) if really { $bytes } else { 0 },
                        options(nostack, preserves_flags),
                    );
                }
                #[cfg(not(target_arch = "nvptx64"))]
                {
                    let _ = (to, from, really);
                    panic!("cuda_std: asynchronous copies run on a GPU or on the PTX emulator only")
                }
            }
        )*
    };
}

copies! {
    /// Starts to copy 4 bytes, through L1.
    copy_4, copy_4_or_zero, copy_4_if, 4, "ca";
    /// Starts to copy 8 bytes, through L1.
    copy_8, copy_8_or_zero, copy_8_if, 8, "ca";
    /// Starts to copy 16 bytes, past L1.
    copy_16, copy_16_or_zero, copy_16_if, 16, "cg";
}

/// Makes a group of the copies that this thread started since the last one (PTX ISA, "cp.async.commit_group").
#[inline(always)]
pub fn commit_group() {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: only counts.
    unsafe {
        core::arch::asm!("cp.async.commit_group;", options(nostack, preserves_flags));
    }
    #[cfg(not(target_arch = "nvptx64"))]
    panic!("cuda_std: asynchronous copies run on a GPU or on the PTX emulator only")
}

/// Waits until at most the `PENDING` youngest groups of this thread are still on their way (PTX ISA,
/// "cp.async.wait_group"). Other threads see the copies after a barrier only.
#[inline(always)]
pub fn wait_group<const PENDING: u32>() {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: only waits.
    unsafe {
        core::arch::asm!(
            "cp.async.wait_group {};",
            const PENDING,
            options(nostack, preserves_flags),
        );
    }
    #[cfg(not(target_arch = "nvptx64"))]
    panic!("cuda_std: asynchronous copies run on a GPU or on the PTX emulator only")
}
