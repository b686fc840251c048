//! Bulk copies of tiles between global and shared memory (PTX ISA, "cp.async.bulk.tensor").
//!
//! One thread names a *tensor map*, which describes a tensor in global memory and a box of it, and the coordinates of the
//! box's first element; the hardware computes all addresses. What lies outside of the tensor is filled with zeros. In shared
//! memory the rows of the box lie one behind the other, their 16-byte pieces exchanged as the map says.
//!
//! Needs compute capability 9.0.

use crate::async_copy::SharedAddress;
use crate::mbarrier::Barrier;

/// A tensor map (`CUtensorMap`), made on the host by `cuTensorMapEncodeTiled`.
#[repr(C, align(64))]
#[derive(Clone, Copy, Debug)]
pub struct TensorMap([u64; 16]);

/// Starts to copy the box at column `at[0]`, row `at[1]` and matrix `at[2]` of a tensor of three dimensions. Its bytes, zeros
/// outside of the tensor included, count as transactions of the barrier's current phase.
///
/// # Safety
/// The map is in global memory, was there before the kernel began, and has three dimensions. The box fits at `to`, which is aligned to 128
/// bytes, or to 1024 where the map swizzles by 128; nobody touches it before the phase is over. The barrier is initialised, and
/// its initialisation was [published](publish_barriers).
#[inline(always)]
pub unsafe fn load_3d(to: SharedAddress, map: *const TensorMap, at: [u32; 3], barrier: Barrier) {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the caller ensures it.
    unsafe {
        core::arch::asm!(
            "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [{}], [{}, {{{}, {}, {}}}], [{}];",
            in(reg32) to.bytes(),
            in(reg64) map,
            in(reg32) at[0],
            in(reg32) at[1],
            in(reg32) at[2],
            in(reg32) barrier.place().bytes(),
            options(nostack, preserves_flags),
        );
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        let _ = (to, map, at, barrier);
        on_the_device_only()
    }
}

/// Starts to copy a box from shared memory to column `at[0]`, row `at[1]` and matrix `at[2]` of a tensor of three dimensions, as a
/// group of this thread's. What lies outside of the tensor is left out.
///
/// # Safety
/// The map is as for [`load_3d`]. The box at `from` was written before, each of its writers has called [`publish_shared`]
/// since and then met this thread at a barrier; nobody changes it before this thread has waited for the group.
#[inline(always)]
pub unsafe fn store_3d(map: *const TensorMap, at: [u32; 3], from: SharedAddress) {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the caller ensures it.
    unsafe {
        core::arch::asm!(
            "cp.async.bulk.tensor.3d.global.shared::cta.bulk_group [{}, {{{}, {}, {}}}], [{}]; cp.async.bulk.commit_group;",
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

/// Waits until shared memory has been read by all but the newest `PENDING` of this thread's [stores](store_3d): it may be
/// written again (PTX ISA, "cp.async.bulk.wait_group", `.read`).
#[inline(always)]
pub fn wait_until_read<const PENDING: u32>() {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: only waits.
    unsafe {
        core::arch::asm!("cp.async.bulk.wait_group.read {};", const PENDING, options(nostack, preserves_flags));
    }
    #[cfg(not(target_arch = "nvptx64"))]
    on_the_device_only()
}

/// Waits until all of this thread's [stores](store_3d) are complete (PTX ISA, "cp.async.bulk.wait_group").
#[inline(always)]
pub fn wait_until_stored() {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: only waits.
    unsafe {
        core::arch::asm!(
            "cp.async.bulk.wait_group 0;",
            options(nostack, preserves_flags)
        );
    }
    #[cfg(not(target_arch = "nvptx64"))]
    on_the_device_only()
}

/// Lets bulk copies that come later see what this thread has written to shared memory (PTX ISA, "fence.proxy").
#[inline(always)]
pub fn publish_shared() {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: only orders.
    unsafe {
        core::arch::asm!(
            "fence.proxy.async.shared::cta;",
            options(nostack, preserves_flags)
        );
    }
    #[cfg(not(target_arch = "nvptx64"))]
    on_the_device_only()
}

/// Brings a map into the cache, so that the first copy need not wait for it (PTX ISA, "prefetch.tensormap").
///
/// # Safety
/// As for the map of [`load_3d`].
#[inline(always)]
pub unsafe fn prefetch(map: *const TensorMap) {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the caller ensures it.
    unsafe {
        core::arch::asm!("prefetch.tensormap [{}];", in(reg64) map, options(nostack, preserves_flags));
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        let _ = map;
        on_the_device_only()
    }
}

/// Lets bulk copies see the barriers that this thread has initialised (PTX ISA, "fence.mbarrier_init"). A block barrier
/// comes after it.
#[inline(always)]
pub fn publish_barriers() {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: only orders.
    unsafe {
        core::arch::asm!(
            "fence.mbarrier_init.release.cluster; fence.proxy.async.shared::cta;",
            options(nostack, preserves_flags),
        );
    }
    #[cfg(not(target_arch = "nvptx64"))]
    on_the_device_only()
}

/// Whether this lane is the one that acts for its warp: true in one lane (PTX ISA, "elect.sync").
///
/// # Safety
/// The whole warp is here.
#[inline(always)]
pub unsafe fn elect() -> bool {
    #[cfg(target_arch = "nvptx64")]
    {
        let elected: u32;
        // SAFETY: the caller ensures the warp.
        unsafe {
            core::arch::asm!(
                "{{ .reg .pred elected; elect.sync _|elected, 0xffffffff; selp.u32 {}, 1, 0, elected; }}",
                out(reg32) elected,
                options(nomem, nostack, preserves_flags),
            );
        }
        elected != 0
    }
    #[cfg(not(target_arch = "nvptx64"))]
    on_the_device_only()
}

/// [`load_3d`] for several blocks of the [cluster](crate::cluster) at once: the box is written to the same place `to` of each block
/// whose bit in `blocks` is 1, counted by rank, and its bytes count as transactions of the barrier of each of these blocks that lies
/// where `barrier` lies in this one (`.multicast::cluster`).
///
/// # Safety
/// As for [`load_3d`], in each of the blocks, which are blocks of this cluster, have begun and have not ended: a
/// [`cluster::sync`](crate::cluster::sync) lies between the initialisation of their barriers and this.
#[inline(always)]
pub unsafe fn load_3d_multicast(
    to: SharedAddress,
    map: *const TensorMap,
    at: [u32; 3],
    barrier: Barrier,
    blocks: u16,
) {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the caller ensures it.
    unsafe {
        core::arch::asm!(
            "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster \
             [{}], [{}, {{{}, {}, {}}}], [{}], {};",
            in(reg32) to.bytes(),
            in(reg64) map,
            in(reg32) at[0],
            in(reg32) at[1],
            in(reg32) at[2],
            in(reg32) barrier.place().bytes(),
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
