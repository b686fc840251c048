//! Thread block clusters: blocks that run at the same time and reach each other's shared memory (PTX ISA, "Cluster of
//! Cooperative Thread Arrays").
//!
//! A launch says how many blocks form a cluster. A block of it is named by its *rank*. [`map`] turns a place in the block's own
//! shared memory into the same place of another block; what is read and written there is ordered by [`sync`], which is to a
//! cluster what [`sync_threads`](crate::thread::sync_threads) is to a block, or by a [barrier](ClusterBarrier) in a block's
//! shared memory at which threads of other blocks arrive.
//!
//! ```ignore
//! let next = (cluster::block_rank() + 1) % cluster::block_count();
//! // … each block writes its `place` …
//! cluster::sync();
//! let value = unsafe { cluster::map(place, next).load() };
//! cluster::sync(); // nobody ends while others still read its shared memory
//! ```
//!
//! A block's shared memory is there from the start of the block, which the others learn of at the first [`sync`], to its end.
//! In a launch without clusters every block is a cluster of one.
//!
//! Needs compute capability 9.0.

use crate::async_copy::SharedAddress;
use crate::intrinsics;
use crate::mbarrier::Barrier;

/// Number of this block in its cluster, x first (`%cluster_ctarank`).
#[inline(always)]
pub fn block_rank() -> u32 {
    // SAFETY: reading a special register has no effect and no precondition.
    unsafe { intrinsics::cluster_ctarank() }
}

/// Blocks of a cluster (`%cluster_nctarank`).
#[inline(always)]
pub fn block_count() -> u32 {
    // SAFETY: reading a special register has no effect and no precondition.
    unsafe { intrinsics::cluster_nctarank() }
}

/// Arrives at the barrier of the cluster: what this thread did before can be seen by those who [`wait`]
/// (`barrier.cluster.arrive`, whose default is `.release`).
///
/// All threads of all blocks of the cluster that have not exited arrive, each warp as a whole, and wait before they arrive again.
#[inline(always)]
pub fn arrive() {
    // SAFETY: the barrier exists in every cluster.
    unsafe { intrinsics::barrier_cluster_arrive() }
}

/// [`arrive`] that makes nothing visible: for those who only say that they are there (`barrier.cluster.arrive.relaxed`).
#[inline(always)]
pub fn arrive_relaxed() {
    // SAFETY: the barrier exists in every cluster.
    unsafe { intrinsics::barrier_cluster_arrive_relaxed() }
}

/// Waits until all threads of the cluster have arrived (`barrier.cluster.wait`, whose default is `.acquire`).
///
/// The warp has [arrived](arrive) before, and waits as a whole.
#[inline(always)]
pub fn wait() {
    // SAFETY: the barrier exists in every cluster.
    unsafe { intrinsics::barrier_cluster_wait() }
}

/// Waits until every thread of the cluster is here; their earlier writes to shared and global memory are then visible to all of
/// them.
#[inline(always)]
pub fn sync() {
    arrive();
    wait();
}

/// Lets the other blocks of the cluster, and bulk copies, see the barriers that this thread has initialised, once they have met it
/// at a [`sync`] (PTX ISA, "fence.mbarrier_init").
///
/// [`tma::publish_barriers`](crate::tma::publish_barriers) has it in it.
#[inline(always)]
pub fn publish_barriers() {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: only orders.
    unsafe {
        core::arch::asm!(
            "fence.mbarrier_init.release.cluster;",
            options(nostack, preserves_flags)
        );
    }
    #[cfg(not(target_arch = "nvptx64"))]
    on_the_device_only()
}

/// A place in the shared memory of a block of the cluster.
///
/// A type of its own, since instructions that take a place in the block's own shared memory must not get it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClusterAddress(u32);

/// The place of the block of this rank that `place` is in this block (PTX ISA, "mapa").
///
/// All blocks of a cluster have the same layout. The rank is below [`block_count`], or what is done with the result is wrong.
#[inline(always)]
pub fn map(place: SharedAddress, rank: u32) -> ClusterAddress {
    #[cfg(target_arch = "nvptx64")]
    {
        let mapped: u32;
        // SAFETY: computes a number.
        unsafe {
            core::arch::asm!(
                "mapa.shared::cluster.u32 {}, {}, {};",
                out(reg32) mapped,
                in(reg32) place.bytes(),
                in(reg32) rank,
                options(pure, nomem, nostack, preserves_flags),
            );
        }
        ClusterAddress(mapped)
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        let _ = (place, rank);
        on_the_device_only()
    }
}

/// A value of 32 bits that [`ClusterAddress`] loads and stores.
pub trait Word: Copy {
    /// Loads one.
    ///
    /// # Safety
    /// As for [`ClusterAddress::load`].
    unsafe fn load(from: ClusterAddress) -> Self;

    /// Stores one.
    ///
    /// # Safety
    /// As for [`ClusterAddress::store`].
    unsafe fn store(self, to: ClusterAddress);
}

macro_rules! words {
    ($($ty:ty: $suffix:literal;)*) => {
        $(
            impl Word for $ty {
                #[inline(always)]
                unsafe fn load(from: ClusterAddress) -> Self {
                    #[cfg(target_arch = "nvptx64")]
                    {
                        let value: $ty;
                        // SAFETY: the caller ensures it.
                        unsafe {
                            core::arch::asm!(
                                concat!("ld.shared::cluster.", $suffix, " {}, [{}];"),
                                out(reg32) value,
                                in(reg32) from.0,
                                options(nostack, preserves_flags),
                            );
                        }
                        value
                    }
                    #[cfg(not(target_arch = "nvptx64"))]
                    {
                        let _ = from;
                        on_the_device_only()
                    }
                }

                #[inline(always)]
                unsafe fn store(self, to: ClusterAddress) {
                    #[cfg(target_arch = "nvptx64")]
                    // SAFETY: the caller ensures it.
                    unsafe {
                        core::arch::asm!(
                            concat!("st.shared::cluster.", $suffix, " [{}], {};"),
                            in(reg32) to.0,
                            in(reg32) self,
                            options(nostack, preserves_flags),
                        );
                    }
                    #[cfg(not(target_arch = "nvptx64"))]
                    {
                        let _ = to;
                        on_the_device_only()
                    }
                }
            }
        )*
    };
}

words! {
    f32: "f32";
    u32: "u32";
}

impl ClusterAddress {
    /// The place `bytes` further in the same block.
    #[inline(always)]
    pub fn at(self, bytes: u32) -> Self {
        ClusterAddress(self.0.wrapping_add(bytes))
    }

    /// The number.
    #[inline(always)]
    pub fn bytes(self) -> u32 {
        self.0
    }

    /// Loads a word (PTX ISA, "ld", `.shared::cluster`).
    ///
    /// # Safety
    /// The place is inside of the shared memory of a block of the cluster that has begun and has not ended, and aligned to 4 bytes;
    /// who wrote it has since [arrived](arrive) at a barrier that this thread has waited for.
    #[inline(always)]
    pub unsafe fn load<T: Word>(self) -> T {
        // SAFETY: the caller ensures it.
        unsafe { T::load(self) }
    }

    /// Stores a word (PTX ISA, "st", `.shared::cluster`).
    ///
    /// # Safety
    /// The place is as for [`load`](Self::load); nobody else touches it before this thread has arrived at a barrier that they wait
    /// for.
    #[inline(always)]
    pub unsafe fn store<T: Word>(self, value: T) {
        // SAFETY: the caller ensures it.
        unsafe { value.store(self) }
    }

    /// Loads four floats by one instruction.
    ///
    /// # Safety
    /// As for [`load`](Self::load), aligned to 16 bytes.
    #[inline(always)]
    pub unsafe fn load_4(self) -> [f32; 4] {
        #[cfg(target_arch = "nvptx64")]
        {
            let (a, b, c, d): (f32, f32, f32, f32);
            // SAFETY: the caller ensures it.
            unsafe {
                core::arch::asm!(
                    "ld.shared::cluster.v4.f32 {{{}, {}, {}, {}}}, [{}];",
                    out(reg32) a,
                    out(reg32) b,
                    out(reg32) c,
                    out(reg32) d,
                    in(reg32) self.0,
                    options(nostack, preserves_flags),
                );
            }
            [a, b, c, d]
        }
        #[cfg(not(target_arch = "nvptx64"))]
        on_the_device_only()
    }

    /// Stores four floats by one instruction.
    ///
    /// # Safety
    /// As for [`store`](Self::store), aligned to 16 bytes.
    #[inline(always)]
    pub unsafe fn store_4(self, values: [f32; 4]) {
        #[cfg(target_arch = "nvptx64")]
        // SAFETY: the caller ensures it.
        unsafe {
            core::arch::asm!(
                "st.shared::cluster.v4.f32 [{}], {{{}, {}, {}, {}}};",
                in(reg32) self.0,
                in(reg32) values[0],
                in(reg32) values[1],
                in(reg32) values[2],
                in(reg32) values[3],
                options(nostack, preserves_flags),
            );
        }
        #[cfg(not(target_arch = "nvptx64"))]
        {
            let _ = values;
            on_the_device_only()
        }
    }
}

/// A barrier in the shared memory of a block of the cluster: threads of other blocks arrive at it, and only those of its own block
/// [wait](Barrier::sleep_for_cluster) for it.
#[derive(Clone, Copy, Debug)]
pub struct ClusterBarrier(ClusterAddress);

impl ClusterBarrier {
    /// The barrier of the block of this rank that `barrier` is in this block.
    #[inline(always)]
    pub fn of(barrier: Barrier, rank: u32) -> Self {
        ClusterBarrier(map(barrier.place(), rank))
    }

    /// The barrier at this place.
    #[inline(always)]
    pub fn new(place: ClusterAddress) -> Self {
        ClusterBarrier(place)
    }

    /// Where it lies.
    #[inline(always)]
    pub fn place(self) -> ClusterAddress {
        self.0
    }

    /// Arrives: what this thread did before is done, in the eyes of the whole cluster (PTX ISA, "mbarrier.arrive",
    /// `.release.cluster`).
    ///
    /// # Safety
    /// The barrier is initialised, which was [published](publish_barriers) and then followed by a [`sync`]; its current phase has
    /// arrivals left; its block has not ended.
    #[inline(always)]
    pub unsafe fn arrive(self) {
        #[cfg(target_arch = "nvptx64")]
        // SAFETY: the caller ensures it.
        unsafe {
            core::arch::asm!(
                "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [{}];",
                in(reg32) self.0.bytes(),
                options(nostack, preserves_flags),
            );
        }
        #[cfg(not(target_arch = "nvptx64"))]
        on_the_device_only()
    }

    /// [`arrive`](Self::arrive) of a thread that has only read: what it wrote before is visible to its own block alone
    /// (`.release.cta`, which is the default).
    ///
    /// To make writes visible to the cluster, a thread waits until all of them have got to the L2 cache: on an H200 that takes
    /// about 1000 clocks.
    ///
    /// # Safety
    /// As for [`arrive`](Self::arrive).
    #[inline(always)]
    pub unsafe fn arrive_having_read(self) {
        #[cfg(target_arch = "nvptx64")]
        // SAFETY: the caller ensures it.
        unsafe {
            core::arch::asm!(
                "mbarrier.arrive.shared::cluster.b64 _, [{}];",
                in(reg32) self.0.bytes(),
                options(nostack, preserves_flags),
            );
        }
        #[cfg(not(target_arch = "nvptx64"))]
        on_the_device_only()
    }

    /// Arrives, and lets the phase wait for `bytes` more bytes of bulk copies as well (PTX ISA, "mbarrier.arrive", `.expect_tx`).
    ///
    /// # Safety
    /// As for [`arrive`](Self::arrive); the phase waits for fewer than 2²⁰ bytes in all.
    #[inline(always)]
    pub unsafe fn arrive_expecting(self, bytes: u32) {
        #[cfg(target_arch = "nvptx64")]
        // SAFETY: the caller ensures it.
        unsafe {
            core::arch::asm!(
                "mbarrier.arrive.expect_tx.release.cluster.shared::cluster.b64 _, [{}], {};",
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
}

#[cfg(not(target_arch = "nvptx64"))]
fn on_the_device_only() -> ! {
    panic!("cuda_std: clusters run on a GPU or on the PTX emulator only")
}
