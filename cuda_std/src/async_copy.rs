//! Asynchronous copies from global to shared memory (PTX ISA, "cp.async").
//!
//! The bytes go from the cache straight into shared memory: no register holds them, and the thread
//! goes on. They are there after [`wait_group`], or when the phase of a
//! [barrier](crate::mbarrier::Barrier) is complete at which the copies arrive
//! ([`cp_async_arrive_noinc`](crate::mbarrier::Barrier::cp_async_arrive_noinc)). Until then no
//! thread may access the destination.
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

/// An address in shared memory, in bytes from the start of the shared window: what asynchronous
/// instructions take.
///
/// Additions to it are 32-bit arithmetic, and a constant part ends up inside of the instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SharedAddress(u32);

impl SharedAddress {
    /// The address of `pointer`, which points into shared memory (PTX ISA, "cvta").
    #[inline(always)]
    pub fn of<T>(pointer: *const T) -> Self {
        #[cfg(target_arch = "nvptx64")]
        {
            let address: u32;
            // SAFETY: it only computes a number.
            unsafe {
                core::arch::asm!(
                    "{{ .reg .b64 place; cvta.to.shared.u64 place, {pointer}; \
                     cvt.u32.u64 {address}, place; }}",
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

    /// The address `bytes` further.
    #[inline(always)]
    pub fn at(self, bytes: u32) -> Self {
        SharedAddress(self.0.wrapping_add(bytes))
    }

    /// The address as a number.
    #[inline(always)]
    pub fn bytes(self) -> u32 {
        self.0
    }
}

macro_rules! copies {
    ($(
        $(#[$doc:meta])*
        $name:ident, $guarded:ident, $predicated:ident, $bytes:literal, $cache:literal;
    )*) => {
        $(
            $(#[$doc])*
            ///
            /// # Safety
            #[doc = concat!("Both addresses are aligned to ", $bytes, " bytes. The source is readable, and no thread writes it")]
            /// before the copy is complete. The destination is shared memory of the block, which no
            /// other access touches before that.
            #[inline(always)]
            pub unsafe fn $name<T>(to: SharedAddress, from: *const T) {
                #[cfg(target_arch = "nvptx64")]
                // SAFETY: source and destination are as the contract of this function says.
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

            #[doc = concat!("[`", stringify!($name), "`] where `predicate`, and otherwise nothing. It is one predicated instruction, not a")]
            /// branch, around which the compiler could not move other work.
            ///
            /// # Safety
            #[doc = concat!("As for [`", stringify!($name), "`], where `predicate`.")]
            #[inline(always)]
            pub unsafe fn $predicated<T>(to: SharedAddress, from: *const T, predicate: bool) {
                #[cfg(target_arch = "nvptx64")]
                // SAFETY: source and destination are as the contract of this function says.
                unsafe {
                    core::arch::asm!(
                        concat!(
                            "{{ .reg .pred really; setp.ne.b32 really, {really}, 0; @really cp.async.",
                            $cache, ".shared.global [{to}], [{from}], ", $bytes, "; }}"
                        ),
                        to = in(reg32) to.0,
                        from = in(reg64) from,
                        really = in(reg32) predicate as u32,
                        options(nostack, preserves_flags),
                    );
                }
                #[cfg(not(target_arch = "nvptx64"))]
                {
                    let _ = (to, from, predicate);
                    panic!("cuda_std: asynchronous copies run on a GPU or on the PTX emulator only")
                }
            }

            #[doc = concat!("[`", stringify!($name), "`] where `predicate`, and otherwise zeros, without reading the source.")]
            ///
            /// # Safety
            #[doc = concat!("As for [`", stringify!($name), "`]; where nothing is read, the source may be any address.")]
            #[inline(always)]
            pub unsafe fn $guarded<T>(to: SharedAddress, from: *const T, predicate: bool) {
                #[cfg(target_arch = "nvptx64")]
                // SAFETY: source and destination are as the contract of this function says.
                unsafe {
                    core::arch::asm!(
                        concat!("cp.async.", $cache, ".shared.global [{to}], [{from}], ", $bytes, ", {size};"),
                        to = in(reg32) to.0,
                        from = in(reg64) from,
                        size = in(reg32) if predicate { $bytes } else { 0 },
                        options(nostack, preserves_flags),
                    );
                }
                #[cfg(not(target_arch = "nvptx64"))]
                {
                    let _ = (to, from, predicate);
                    panic!("cuda_std: asynchronous copies run on a GPU or on the PTX emulator only")
                }
            }
        )*
    };
}

copies! {
    /// Starts a copy of 4 bytes, through L1.
    copy_4, copy_4_or_zero, copy_4_if, 4, "ca";
    /// Starts a copy of 8 bytes, through L1.
    copy_8, copy_8_or_zero, copy_8_if, 8, "ca";
    /// Starts a copy of 16 bytes, past L1.
    copy_16, copy_16_or_zero, copy_16_if, 16, "cg";
}

macro_rules! partial_copies {
    ($($(#[$doc:meta])* $name:ident, $prefetch:literal;)*) => {
        $(
            $(#[$doc])*
            ///
            /// # Safety
            /// Where `predicate`: both addresses are aligned to 16 bytes. `bytes` is at most 16,
            /// and `bytes` bytes of the source are readable; none has to be where it is 0. No
            /// thread writes them before the copy is complete. The destination is shared memory of
            /// the block, which no other access touches before that.
            #[inline(always)]
            pub unsafe fn $name<T>(
                to: SharedAddress,
                from: *const T,
                bytes: u32,
                predicate: bool,
            ) {
                #[cfg(target_arch = "nvptx64")]
                // SAFETY: source and destination are as the contract of this function says.
                unsafe {
                    core::arch::asm!(
                        concat!(
                            "{{ .reg .pred really; setp.ne.b32 really, {really}, 0; ",
                            "@really cp.async.cg.shared.global", $prefetch,
                            " [{to}], [{from}], 16, {bytes}; }}",
                        ),
                        to = in(reg32) to.0,
                        from = in(reg64) from,
                        bytes = in(reg32) bytes,
                        really = in(reg32) predicate as u32,
                        options(nostack, preserves_flags),
                    );
                }
                #[cfg(not(target_arch = "nvptx64"))]
                {
                    let _ = (to, from, bytes, predicate);
                    panic!("cuda_std: asynchronous copies run on a GPU or on the PTX emulator only")
                }
            }
        )*
    };
}

partial_copies! {
    /// Starts a copy of 16 bytes, past L1, of which the first `bytes` are read and the others are
    /// zeros; where not `predicate`, nothing. It is one predicated instruction, as [`copy_16_if`]
    /// is.
    copy_16_partial_if, "";
    /// [`copy_16_partial_if`], which also brings the 128 bytes around the source into the L2 cache.
    ///
    /// Needs version 7.4 of the PTX ISA.
    copy_16_partial_of_line_if, ".L2::128B";
}

/// Commits the copies that this thread started since the last call as a group (PTX ISA,
/// "cp.async.commit_group").
#[inline(always)]
pub fn commit_group() {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: it only counts.
    unsafe {
        core::arch::asm!("cp.async.commit_group;", options(nostack, preserves_flags));
    }
    #[cfg(not(target_arch = "nvptx64"))]
    panic!("cuda_std: asynchronous copies run on a GPU or on the PTX emulator only")
}

/// Waits until at most the `PENDING` newest groups of this thread are in flight (PTX ISA,
/// "cp.async.wait_group"). Other threads see the copies after a barrier only.
#[inline(always)]
pub fn wait_group<const PENDING: u32>() {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: it only waits.
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
