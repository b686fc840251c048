//! Thread block clusters: blocks that run at the same time and reach each other's shared memory
//! (PTX ISA, "Cluster of Cooperative Thread Arrays").
//!
//! A launch says how many blocks form a cluster. A block of it is named by its *rank*. [`map`]
//! turns an address in the block's own shared memory into the same address of another block:
//! distributed shared memory (DSMEM). [`sync`] orders the accesses there; it is to a cluster what
//! [`sync_threads`](crate::thread::sync_threads) is to a block. So does a [barrier](ClusterBarrier)
//! in a block's shared memory at which threads of other blocks arrive.
//!
//! ```ignore
//! let next = (cluster::block_rank() + 1) % cluster::block_count();
//! // … each block writes at its `address` …
//! cluster::sync();
//! let value = unsafe { cluster::map(address, next).load() };
//! cluster::sync(); // no block ends while others still read its shared memory
//! ```
//!
//! A block's shared memory exists from the start of the block, which the others learn of at the
//! first [`sync`], to its end. In a launch without clusters every block is a cluster of one.
//!
//! Needs compute capability 9.0.

use crate::async_copy::SharedAddress;
use crate::mbarrier::Barrier;
use crate::nvvm;

/// Number of this block in its cluster, x first (`%cluster_ctarank`).
#[inline(always)]
pub fn block_rank() -> u32 {
    // SAFETY: reading a special register has no effect and no precondition.
    unsafe { nvvm::cluster_ctarank() }
}

/// Blocks of a cluster (`%cluster_nctarank`).
#[inline(always)]
pub fn block_count() -> u32 {
    // SAFETY: reading a special register has no effect and no precondition.
    unsafe { nvvm::cluster_nctarank() }
}

/// Arrives at the barrier of the cluster. This thread's earlier accesses are visible to threads
/// after their [`wait`] (`barrier.cluster.arrive`, whose default is `.release`).
///
/// All threads of all blocks of the cluster that have not exited arrive, each warp as a whole, and
/// wait before they arrive again.
#[inline(always)]
pub fn arrive() {
    // SAFETY: the barrier exists in every cluster.
    unsafe { nvvm::barrier_cluster_arrive() }
}

/// [`arrive`] that makes nothing visible (`barrier.cluster.arrive.relaxed`).
#[inline(always)]
pub fn arrive_relaxed() {
    // SAFETY: the barrier exists in every cluster.
    unsafe { nvvm::barrier_cluster_arrive_relaxed() }
}

/// Waits until all threads of the cluster have arrived (`barrier.cluster.wait`, whose default is
/// `.acquire`).
///
/// The warp has [arrived](arrive) before, and waits as a whole.
#[inline(always)]
pub fn wait() {
    // SAFETY: the barrier exists in every cluster.
    unsafe { nvvm::barrier_cluster_wait() }
}

/// Waits for all threads of the cluster. Their earlier writes to shared and global memory are then
/// visible to all of them.
#[inline(always)]
pub fn sync() {
    arrive();
    wait();
}

/// Makes the barriers that this thread has initialised visible to bulk copies and, after a
/// [`sync`], to the other blocks of the cluster (PTX ISA, "fence.mbarrier_init").
///
/// [`tma::fence_barrier_init`](crate::tma::fence_barrier_init) includes it.
#[inline(always)]
pub fn fence_mbarrier_init() {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: it only orders.
    unsafe {
        core::arch::asm!(
            "fence.mbarrier_init.release.cluster;",
            options(nostack, preserves_flags)
        );
    }
    #[cfg(not(target_arch = "nvptx64"))]
    on_the_device_only()
}

/// An address in the shared memory of a block of the cluster.
///
/// It is a type of its own, since instructions for the block's own shared memory must not get it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClusterAddress(u32);

/// The address in the block of this rank that corresponds to `address` in this block (PTX ISA,
/// "mapa").
///
/// All blocks of a cluster have the same layout. The rank is below [`block_count`], or the result
/// must not be used.
#[inline(always)]
pub fn map(address: SharedAddress, rank: u32) -> ClusterAddress {
    #[cfg(target_arch = "nvptx64")]
    {
        let mapped: u32;
        // SAFETY: it only computes a number.
        unsafe {
            core::arch::asm!(
                "mapa.shared::cluster.u32 {}, {}, {};",
                out(reg32) mapped,
                in(reg32) address.bytes(),
                in(reg32) rank,
                options(pure, nomem, nostack, preserves_flags),
            );
        }
        ClusterAddress(mapped)
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        let _ = (address, rank);
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
                        // SAFETY: address, barrier and the order of accesses are as the contract of
                        // this function says.
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
                    // SAFETY: address, barrier and the order of accesses are as the contract of
                    // this function says.
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
    /// The address `bytes` further in the same block.
    #[inline(always)]
    pub fn at(self, bytes: u32) -> Self {
        ClusterAddress(self.0.wrapping_add(bytes))
    }

    /// The address as a number.
    #[inline(always)]
    pub fn bytes(self) -> u32 {
        self.0
    }

    /// Loads a word (PTX ISA, "ld", `.shared::cluster`).
    ///
    /// # Safety
    /// The address is in the shared memory of a block of the cluster that has begun and has not
    /// ended, and is aligned to 4 bytes. The thread that wrote there has since [arrived](arrive) at
    /// a barrier that this thread has waited for.
    #[inline(always)]
    pub unsafe fn load<T: Word>(self) -> T {
        // SAFETY: address, barrier and the order of accesses are as the contract of this function
        // says.
        unsafe { T::load(self) }
    }

    /// Stores a word (PTX ISA, "st", `.shared::cluster`).
    ///
    /// # Safety
    /// The address is as for [`load`](Self::load). Other threads access it only after a barrier at
    /// which this thread has arrived since.
    #[inline(always)]
    pub unsafe fn store<T: Word>(self, value: T) {
        // SAFETY: address, barrier and the order of accesses are as the contract of this function
        // says.
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
            // SAFETY: address, barrier and the order of accesses are as the contract of this
            // function says.
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
        // SAFETY: address, barrier and the order of accesses are as the contract of this function
        // says.
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

/// A barrier in the shared memory of a block of the cluster. Threads of other blocks arrive at it,
/// and only those of its own block [wait](Barrier::try_wait_loop_cluster) for it.
#[derive(Clone, Copy, Debug)]
pub struct ClusterBarrier(ClusterAddress);

impl ClusterBarrier {
    /// The barrier in the block of this rank that corresponds to `barrier` in this block.
    #[inline(always)]
    pub fn of(barrier: Barrier, rank: u32) -> Self {
        ClusterBarrier(map(barrier.address(), rank))
    }

    /// The barrier at this address.
    #[inline(always)]
    pub fn new(address: ClusterAddress) -> Self {
        ClusterBarrier(address)
    }

    /// Its address.
    #[inline(always)]
    pub fn address(self) -> ClusterAddress {
        self.0
    }

    /// Arrives. This thread's earlier accesses are visible to the whole cluster (PTX ISA,
    /// "mbarrier.arrive", `.release.cluster`).
    ///
    /// # Safety
    /// The barrier is initialised; a [`fence_mbarrier_init`] and then a [`sync`] came after that.
    /// Its current phase has arrivals left, and its block has not ended.
    #[inline(always)]
    pub unsafe fn arrive(self) {
        #[cfg(target_arch = "nvptx64")]
        // SAFETY: address, barrier and the order of accesses are as the contract of this function
        // says.
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

    /// [`arrive`](Self::arrive), where `really`, of a thread that has only read: what it wrote
    /// before is visible to its own block alone (`.release.cta`, which is the default). It is a
    /// predicate and no branch: see [`Barrier::arrive_if`].
    ///
    /// To make writes visible to the cluster, a thread waits until all of them are in the L2 cache:
    /// on an H200 that takes about 1000 clocks.
    ///
    /// # Safety
    /// As for [`arrive`](Self::arrive), where `really`.
    #[inline(always)]
    pub unsafe fn arrive_release_cta_if(self, really: bool) {
        #[cfg(target_arch = "nvptx64")]
        // SAFETY: address, barrier and the order of accesses are as the contract of this function
        // says.
        unsafe {
            core::arch::asm!(
                "{{ .reg .pred really; setp.ne.b32 really, {}, 0; \
                 @really mbarrier.arrive.shared::cluster.b64 _, [{}]; }}",
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
    /// # Safety
    /// As for [`arrive`](Self::arrive); the phase waits for fewer than 2²⁰ bytes in all.
    #[inline(always)]
    pub unsafe fn arrive_expect_tx(self, bytes: u32) {
        #[cfg(target_arch = "nvptx64")]
        // SAFETY: address, barrier and the order of accesses are as the contract of this function
        // says.
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
