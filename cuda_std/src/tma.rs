//! Bulk copies of tiles between global and shared memory (PTX ISA, "cp.async.bulk.tensor").
//!
//! One thread names a *tensor map*, which describes a tensor in global memory and a box of it, and
//! the coordinates of the box's first element; the hardware computes all addresses. What lies
//! outside of the tensor is filled with zeros. In shared memory the rows of the box lie one behind
//! the other, their 16-byte vectors swizzled as the map says.
//!
//! Needs compute capability 9.0.

use crate::async_copy::SharedAddress;
use crate::mbarrier::Barrier;

/// A tensor map (`CUtensorMap`), made on the host by `cuTensorMapEncodeTiled`.
#[repr(C, align(64))]
#[derive(Clone, Copy, Debug)]
pub struct TensorMap([u64; 16]);

/// Starts a copy of the box at column `at[0]`, row `at[1]` and matrix `at[2]` of a tensor of three
/// dimensions. Its bytes, zeros outside of the tensor included, count as transactions of the
/// current phase of the barrier.
///
/// # Safety
/// The map is in global memory, was there before the kernel began, and has three dimensions. The
/// box fits at `to`, which is aligned to 128 bytes, or to 1024 where the map swizzles by 128. No
/// thread accesses it before the phase is complete. The barrier is initialised, and a
/// [`fence_barrier_init`] came after that.
#[inline(always)]
pub unsafe fn load_3d(to: SharedAddress, map: *const TensorMap, at: [u32; 3], barrier: Barrier) {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: map, box and barrier are as the contract of this function says.
    unsafe {
        core::arch::asm!(
            "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes \
             [{}], [{}, {{{}, {}, {}}}], [{}];",
            in(reg32) to.bytes(),
            in(reg64) map,
            in(reg32) at[0],
            in(reg32) at[1],
            in(reg32) at[2],
            in(reg32) barrier.address().bytes(),
            options(nostack, preserves_flags),
        );
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        let _ = (to, map, at, barrier);
        on_the_device_only()
    }
}

/// Starts a copy of a box from shared memory to column `at[0]`, row `at[1]` and matrix `at[2]` of a
/// tensor of three dimensions, as a bulk group of its own. What lies outside of the tensor is not
/// written.
///
/// # Safety
/// The map is as for [`load_3d`]. Each thread that wrote the box at `from` has then called
/// [`fence_proxy_async`], and after that a barrier that this thread took part in. No thread changes
/// the box before this thread has waited for the group.
#[inline(always)]
pub unsafe fn store_3d(map: *const TensorMap, at: [u32; 3], from: SharedAddress) {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: map, box and barrier are as the contract of this function says.
    unsafe {
        core::arch::asm!(
            "cp.async.bulk.tensor.3d.global.shared::cta.bulk_group [{}, {{{}, {}, {}}}], [{}]; \
             cp.async.bulk.commit_group;",
            in(reg64) map,
            in(reg32) at[0],
            in(reg32) at[1],
            in(reg32) at[2],
            in(reg32) from.bytes(),
            options(nostack, preserves_flags),
        );
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        let _ = (map, at, from);
        on_the_device_only()
    }
}

/// Waits until all but the newest `PENDING` of this thread's [stores](store_3d) have read shared
/// memory, which may then be written again (PTX ISA, "cp.async.bulk.wait_group", `.read`).
#[inline(always)]
pub fn wait_group_read<const PENDING: u32>() {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: it only waits.
    unsafe {
        core::arch::asm!(
            "cp.async.bulk.wait_group.read {};",
            const PENDING,
            options(nostack, preserves_flags),
        );
    }
    #[cfg(not(target_arch = "nvptx64"))]
    on_the_device_only()
}

/// Waits until all but the newest `PENDING` of this thread's [stores](store_3d) are complete (PTX
/// ISA, "cp.async.bulk.wait_group").
#[inline(always)]
pub fn wait_group<const PENDING: u32>() {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: it only waits.
    unsafe {
        core::arch::asm!(
            "cp.async.bulk.wait_group {};",
            const PENDING,
            options(nostack, preserves_flags),
        );
    }
    #[cfg(not(target_arch = "nvptx64"))]
    on_the_device_only()
}

/// Makes this thread's writes to shared memory visible to later bulk copies, which access it
/// through the async proxy (PTX ISA, "fence.proxy.async").
#[inline(always)]
pub fn fence_proxy_async() {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: it only orders.
    unsafe {
        core::arch::asm!(
            "fence.proxy.async.shared::cta;",
            options(nostack, preserves_flags)
        );
    }
    #[cfg(not(target_arch = "nvptx64"))]
    on_the_device_only()
}

/// Prefetches a tensor map into the cache, so that the first copy need not wait for it (PTX ISA,
/// "prefetch.tensormap").
///
/// # Safety
/// As for the map of [`load_3d`].
#[inline(always)]
pub unsafe fn prefetch_tensormap(map: *const TensorMap) {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: map, box and barrier are as the contract of this function says.
    unsafe {
        core::arch::asm!(
            "prefetch.tensormap [{}];",
            in(reg64) map,
            options(nostack, preserves_flags),
        );
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        let _ = map;
        on_the_device_only()
    }
}

/// Makes the barriers that this thread has initialised visible to bulk copies (PTX ISA,
/// "fence.mbarrier_init", then "fence.proxy.async"). A block barrier comes after it.
#[inline(always)]
pub fn fence_barrier_init() {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: it only orders.
    unsafe {
        core::arch::asm!(
            "fence.mbarrier_init.release.cluster; fence.proxy.async.shared::cta;",
            options(nostack, preserves_flags),
        );
    }
    #[cfg(not(target_arch = "nvptx64"))]
    on_the_device_only()
}

/// True in one lane of the warp, the leader (PTX ISA, "elect.sync").
///
/// # Safety
/// All 32 lanes of the warp execute it together.
#[inline(always)]
pub unsafe fn elect_sync() -> bool {
    #[cfg(target_arch = "nvptx64")]
    {
        let elected: u32;
        // SAFETY: the contract says that all lanes of the mask execute it.
        unsafe {
            core::arch::asm!(
                "{{ .reg .pred elected; elect.sync _|elected, 0xffffffff; \
                 selp.u32 {}, 1, 0, elected; }}",
                out(reg32) elected,
                options(nomem, nostack, preserves_flags),
            );
        }
        elected != 0
    }
    #[cfg(not(target_arch = "nvptx64"))]
    on_the_device_only()
}

/// [`load_3d`] for several blocks of the [cluster](crate::cluster) at once: the box is written to
/// the address `to` of each block whose bit in `blocks` is 1, counted by rank, and its bytes
/// count as transactions of the barrier of each of these blocks that lies where `barrier` lies in
/// this one (`.multicast::cluster`).
///
/// # Safety
/// As for [`load_3d`], in each of the blocks, which are blocks of this cluster, have begun and have
/// not ended: a [`cluster::sync`](crate::cluster::sync) lies between the initialisation of their
/// barriers and this.
#[inline(always)]
pub unsafe fn load_3d_multicast(
    to: SharedAddress,
    map: *const TensorMap,
    at: [u32; 3],
    barrier: Barrier,
    blocks: u16,
) {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: map, box and barrier are as the contract of this function says.
    unsafe {
        core::arch::asm!(
            "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster \
             [{}], [{}, {{{}, {}, {}}}], [{}], {};",
            in(reg32) to.bytes(),
            in(reg64) map,
            in(reg32) at[0],
            in(reg32) at[1],
            in(reg32) at[2],
            in(reg32) barrier.address().bytes(),
            in(reg16) blocks,
            options(nostack, preserves_flags),
        );
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        let _ = (to, map, at, barrier, blocks);
        on_the_device_only()
    }
}

#[cfg(not(target_arch = "nvptx64"))]
fn on_the_device_only() -> ! {
    panic!("cuda_std: bulk copies run on a GPU or on the PTX emulator only")
}
