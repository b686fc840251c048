//! Barriers in shared memory (PTX ISA, "mbarrier").
//!
//! `bar.sync` makes a whole block wait for all of itself. A [`Barrier`] separates *arriving* from *waiting*: whoever fills a
//! stage of shared memory arrives when it is full, and whoever reads it waits for just that. A pair of barriers for each
//! stage, "full" and "empty", makes a ring in which fast warps run ahead of slow ones.
//!
//! A barrier counts arrivals. When as many came as [`init`](Barrier::init) named, the *phase* is over and the next one
//! begins. Phases are told apart by their parity: the first is 0, the next 1, then 0 again.
//!
//! Needs compute capability 8.0.

use crate::async_copy::SharedAddress;

/// A barrier: 8 bytes of shared memory, aligned to 8.
#[derive(Clone, Copy, Debug)]
pub struct Barrier(SharedAddress);

impl Barrier {
    /// Bytes that a barrier takes.
    pub const BYTES: u32 = 8;

    /// The barrier at this place.
    #[inline(always)]
    pub fn new(place: SharedAddress) -> Self {
        Barrier(place)
    }

    /// Starts phase 0, which ends after `arrivals`. One thread does it, and a block barrier lies between it and the first
    /// use (PTX ISA, "mbarrier.init").
    ///
    /// # Safety
    /// The place is 8 bytes of shared memory, aligned to 8, that hold no barrier in use; `arrivals` is 1 to 2²⁰ − 1.
    #[inline(always)]
    pub unsafe fn init(self, arrivals: u32) {
        #[cfg(target_arch = "nvptx64")]
        // SAFETY: the caller ensures it.
        unsafe {
            core::arch::asm!(
                "mbarrier.init.shared.b64 [{}], {};",
                in(reg32) self.0.bytes(),
                in(reg32) arrivals,
                options(nostack, preserves_flags),
            );
        }
        #[cfg(not(target_arch = "nvptx64"))]
        {
            let _ = arrivals;
            on_the_device_only()
        }
    }

    /// Arrives: what this thread did before is done (PTX ISA, "mbarrier.arrive").
    ///
    /// # Safety
    /// The barrier is initialised, and its current phase has arrivals left.
    #[inline(always)]
    pub unsafe fn arrive(self) {
        #[cfg(target_arch = "nvptx64")]
        // SAFETY: the caller ensures it.
        unsafe {
            core::arch::asm!(
                "{{ .reg .b64 state; mbarrier.arrive.shared.b64 state, [{}]; }}",
                in(reg32) self.0.bytes(),
                options(nostack, preserves_flags),
            );
        }
        #[cfg(not(target_arch = "nvptx64"))]
        on_the_device_only()
    }

    /// Arrives, and lets the phase wait for `bytes` more bytes of bulk copies as well (PTX ISA, "mbarrier.arrive",
    /// `.expect_tx`).
    ///
    /// Needs compute capability 9.0.
    ///
    /// # Safety
    /// As for [`arrive`](Self::arrive); the phase waits for fewer than 2²⁰ bytes in all.
    #[inline(always)]
    pub unsafe fn arrive_expecting(self, bytes: u32) {
        #[cfg(target_arch = "nvptx64")]
        // SAFETY: the caller ensures it.
        unsafe {
            core::arch::asm!(
                "mbarrier.arrive.expect_tx.shared::cta.b64 _, [{}], {};",
                in(reg32) self.0.bytes(),
                in(reg32) bytes,
                options(nostack, preserves_flags),
            );
        }
        #[cfg(not(target_arch = "nvptx64"))]
        {
            let _ = bytes;
            on_the_device_only()
        }
    }

    /// Arrives as soon as all asynchronous copies that this thread has started are complete, without waiting for them
    /// (PTX ISA, "cp.async.mbarrier.arrive", `.noinc`: it is one of the arrivals that `init` counted).
    ///
    /// # Safety
    /// As for [`arrive`](Self::arrive).
    #[inline(always)]
    pub unsafe fn arrive_after_copies(self) {
        #[cfg(target_arch = "nvptx64")]
        // SAFETY: the caller ensures it.
        unsafe {
            core::arch::asm!(
                "cp.async.mbarrier.arrive.noinc.shared.b64 [{}];",
                in(reg32) self.0.bytes(),
                options(nostack, preserves_flags),
            );
        }
        #[cfg(not(target_arch = "nvptx64"))]
        on_the_device_only()
    }

    /// Whether the phase of this parity is over (PTX ISA, "mbarrier.test_wait", `.parity`). Once it is, what the others did
    /// before they arrived is visible.
    ///
    /// # Safety
    /// The barrier is initialised. It is at most one phase ahead, or the parity means another phase.
    #[inline(always)]
    pub unsafe fn is_over(self, parity: u32) -> bool {
        #[cfg(target_arch = "nvptx64")]
        {
            let over: u32;
            // SAFETY: the caller ensures it.
            unsafe {
                core::arch::asm!(
                    "{{ .reg .pred over; mbarrier.test_wait.parity.shared.b64 over, [{}], {}; selp.u32 {}, 1, 0, over; }}",
                    in(reg32) self.0.bytes(),
                    in(reg32) parity,
                    out(reg32) over,
                    options(nostack, preserves_flags),
                );
            }
            over != 0
        }
        #[cfg(not(target_arch = "nvptx64"))]
        {
            let _ = parity;
            on_the_device_only()
        }
    }

    /// Waits until the phase of this parity is over.
    ///
    /// # Safety
    /// As for [`is_over`](Self::is_over).
    #[inline(always)]
    pub unsafe fn wait(self, parity: u32) {
        // SAFETY: the caller ensures it.
        while !unsafe { self.is_over(parity) } {}
    }

    /// [`wait`](Self::wait) that lets the hardware put the thread to sleep (PTX ISA, "mbarrier.try_wait").
    ///
    /// Needs compute capability 9.0.
    ///
    /// # Safety
    /// As for [`is_over`](Self::is_over).
    #[inline(always)]
    pub unsafe fn sleep(self, parity: u32) {
        #[cfg(target_arch = "nvptx64")]
        // SAFETY: the caller ensures it. The labels are local to the braces, so copies of the statement do not clash.
        #[allow(named_asm_labels)]
        unsafe {
            core::arch::asm!(
                "{{ .reg .pred over; again: mbarrier.try_wait.parity.shared::cta.b64 over, [{}], {}; @!over bra again; }}",
                in(reg32) self.0.bytes(),
                in(reg32) parity,
                options(nostack, preserves_flags),
            );
        }
        #[cfg(not(target_arch = "nvptx64"))]
        {
            let _ = parity;
            on_the_device_only()
        }
    }

    /// Where it lies.
    #[inline(always)]
    pub fn place(self) -> SharedAddress {
        self.0
    }

    /// [`sleep`](Self::sleep) after which what threads of other blocks of the [cluster](crate::cluster) did before they
    /// [arrived](crate::cluster::ClusterBarrier::arrive) is visible as well (PTX ISA, "mbarrier.try_wait", `.acquire.cluster`).
    ///
    /// Needs compute capability 9.0.
    ///
    /// # Safety
    /// As for [`is_over`](Self::is_over).
    #[inline(always)]
    pub unsafe fn sleep_for_cluster(self, parity: u32) {
        #[cfg(target_arch = "nvptx64")]
        // SAFETY: the caller ensures it. The labels are local to the braces, so copies of the statement do not clash.
        #[allow(named_asm_labels)]
        unsafe {
            core::arch::asm!(
                "{{ .reg .pred over; again: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 over, [{}], {}; @!over bra again; }}",
                in(reg32) self.0.bytes(),
                in(reg32) parity,
                options(nostack, preserves_flags),
            );
        }
        #[cfg(not(target_arch = "nvptx64"))]
        {
            let _ = parity;
            on_the_device_only()
        }
    }
}

#[cfg(not(target_arch = "nvptx64"))]
fn on_the_device_only() -> ! {
    panic!("cuda_std: barriers run on a GPU or on the PTX emulator only")
}
