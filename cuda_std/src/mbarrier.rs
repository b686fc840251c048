//! Barriers in shared memory (PTX ISA, "mbarrier").
//!
//! `bar.sync` makes a whole block wait for all of its threads. A [`Barrier`] separates *arriving*
//! from *waiting*: the producer of a stage of shared memory arrives when the stage is full, and a
//! consumer waits for just that. A full and an empty barrier for each stage make a pipeline, in
//! which fast warps run ahead of slow ones.
//!
//! A barrier counts arrivals. After as many as [`init`](Barrier::init) named, the *phase* is
//! complete and the next one begins. The parity of phases alternates: the first is 0, the next 1,
//! then 0 again.
//!
//! Needs compute capability 8.0.

use crate::async_copy::SharedAddress;

/// A barrier: 8 bytes of shared memory, aligned to 8.
#[derive(Clone, Copy, Debug)]
pub struct Barrier(SharedAddress);

impl Barrier {
    /// Bytes that a barrier takes.
    pub const BYTES: u32 = 8;

    /// The barrier at this address.
    #[inline(always)]
    pub fn new(address: SharedAddress) -> Self {
        Barrier(address)
    }

    /// Starts phase 0, which completes after `arrivals`. One thread does it, and a block barrier
    /// lies between it and the first use (PTX ISA, "mbarrier.init").
    ///
    /// # Safety
    /// The address is that of 8 bytes of shared memory, aligned to 8, that hold no barrier in use;
    /// `arrivals` is 1 to 2²⁰ − 1.
    #[inline(always)]
    pub unsafe fn init(self, arrivals: u32) {
        #[cfg(target_arch = "nvptx64")]
        // SAFETY: the contract says that the barrier is initialised, or for `init` that the address
        // is free.
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

    /// Arrives. This thread's earlier accesses are visible to threads that wait for the phase (PTX
    /// ISA, "mbarrier.arrive").
    ///
    /// # Safety
    /// The barrier is initialised, and its current phase has arrivals left.
    #[inline(always)]
    pub unsafe fn arrive(self) {
        #[cfg(target_arch = "nvptx64")]
        // SAFETY: the contract says that the barrier is initialised, or for `init` that the address
        // is free.
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

    /// [`arrive`](Self::arrive) where `really`: a predicate instead of a branch, which would keep
    /// ptxas from overlapping the MMAs of a warpgroup around it.
    ///
    /// # Safety
    /// As for [`arrive`](Self::arrive), where `really`.
    #[inline(always)]
    pub unsafe fn arrive_if(self, really: bool) {
        #[cfg(target_arch = "nvptx64")]
        // SAFETY: the contract says that the barrier is initialised where the thread arrives.
        unsafe {
            core::arch::asm!(
                "{{ .reg .b64 state; .reg .pred really; setp.ne.b32 really, {}, 0; \
                 @really mbarrier.arrive.shared.b64 state, [{}]; }}",
                in(reg32) u32::from(really),
                in(reg32) self.0.bytes(),
                options(nostack, preserves_flags),
            );
        }
        #[cfg(not(target_arch = "nvptx64"))]
        {
            let _ = really;
            on_the_device_only()
        }
    }

    /// Arrives, and adds `bytes` bytes of bulk copies to those that the phase waits for (PTX ISA,
    /// "mbarrier.arrive.expect_tx").
    ///
    /// Needs compute capability 9.0.
    ///
    /// # Safety
    /// As for [`arrive`](Self::arrive); the phase waits for fewer than 2²⁰ bytes in all.
    #[inline(always)]
    pub unsafe fn arrive_expect_tx(self, bytes: u32) {
        #[cfg(target_arch = "nvptx64")]
        // SAFETY: the contract says that the barrier is initialised, or for `init` that the address
        // is free.
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

    /// Arrives as soon as all asynchronous copies that this thread has started are complete,
    /// without waiting for them (PTX ISA, "cp.async.mbarrier.arrive.noinc": it is one of the
    /// arrivals that `init` counted).
    ///
    /// # Safety
    /// As for [`arrive`](Self::arrive).
    #[inline(always)]
    pub unsafe fn cp_async_arrive_noinc(self) {
        #[cfg(target_arch = "nvptx64")]
        // SAFETY: the contract says that the barrier is initialised, or for `init` that the address
        // is free.
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

    /// Whether the phase of this parity is complete (PTX ISA, "mbarrier.test_wait.parity"). Once it
    /// is, the accesses of other threads before they arrived are visible.
    ///
    /// # Safety
    /// The barrier is initialised. It is at most one phase ahead, or the parity means another
    /// phase.
    #[inline(always)]
    pub unsafe fn test_wait(self, parity: u32) -> bool {
        #[cfg(target_arch = "nvptx64")]
        {
            let over: u32;
            // SAFETY: the contract says that the barrier is initialised, or for `init` that the
            // address is free.
            unsafe {
                core::arch::asm!(
                    "{{ .reg .pred over; mbarrier.test_wait.parity.shared.b64 over, [{}], {}; \
                     selp.u32 {}, 1, 0, over; }}",
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

    /// Waits until the phase of this parity is complete: a loop of [`test_wait`](Self::test_wait).
    ///
    /// # Safety
    /// As for [`test_wait`](Self::test_wait).
    #[inline(always)]
    pub unsafe fn wait(self, parity: u32) {
        // SAFETY: the contracts of both are the same.
        while !unsafe { self.test_wait(parity) } {}
    }

    /// [`wait`](Self::wait) as a loop of `try_wait`, in which the hardware suspends the thread for
    /// a while (PTX ISA, "mbarrier.try_wait.parity").
    ///
    /// Needs compute capability 9.0.
    ///
    /// # Safety
    /// As for [`test_wait`](Self::test_wait).
    #[inline(always)]
    pub unsafe fn try_wait_loop(self, parity: u32) {
        #[cfg(target_arch = "nvptx64")]
        // SAFETY: the contract says that the barrier is initialised. The labels are local to the
        // braces, so copies of the statement do not clash.
        #[allow(named_asm_labels)]
        unsafe {
            core::arch::asm!(
                "{{ .reg .pred over; again: mbarrier.try_wait.parity.shared::cta.b64 over, [{}], {}; \
                 @!over bra again; }}",
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

    /// Its address.
    #[inline(always)]
    pub fn address(self) -> SharedAddress {
        self.0
    }

    /// [`try_wait_loop`](Self::try_wait_loop) with cluster scope: it also makes visible what
    /// threads of other blocks of the [cluster](crate::cluster) did before they
    /// [arrived](crate::cluster::ClusterBarrier::arrive) (PTX ISA, "mbarrier.try_wait",
    /// `.acquire.cluster`).
    ///
    /// Needs compute capability 9.0.
    ///
    /// # Safety
    /// As for [`test_wait`](Self::test_wait).
    #[inline(always)]
    pub unsafe fn try_wait_loop_cluster(self, parity: u32) {
        #[cfg(target_arch = "nvptx64")]
        // SAFETY: the contract says that the barrier is initialised. The labels are local to the
        // braces, so copies of the statement do not clash.
        #[allow(named_asm_labels)]
        unsafe {
            core::arch::asm!(
                "{{ .reg .pred over; again: \
                 mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 over, [{}], {}; \
                 @!over bra again; }}",
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
