//! Occupancy: how many blocks of a function are resident on a multiprocessor.

use std::ffi::{c_int, c_uint};

use super::launch::Launch;
use super::module::function;
use crate::code::{Code, Result};
use crate::context::current;
use crate::launch::MAX_DYNAMIC_SHARED;
use crate::pointer::{In, Out};
use crate::state::Handle;

fn occupancy(to: Out<c_int>, handle: Handle, threads: c_int, dynamic: usize) -> Result {
    let current = current()?;
    if threads <= 0 {
        return Err(Code::INVALID_VALUE);
    }
    to.set(function(handle)?.resident_blocks(current.device(), threads, dynamic))
}

fn potential_block(
    (grid, block): (Out<c_int>, Out<c_int>),
    handle: Handle,
    shared_of: Option<unsafe extern "C" fn(c_int) -> usize>,
    (dynamic, limit): (usize, c_int),
) -> Result {
    let current = current()?;
    let (function, device) = (function(handle)?, current.device());
    let most = if limit > 0 {
        limit.min(function.max_threads())
    } else {
        function.max_threads()
    };
    let mut best = (0, 0, 0);
    for threads in (1..=most / 32).rev().map(|warps| 32 * warps) {
        // SAFETY: the program passes a function of the block's size.
        let shared = shared_of.map_or(dynamic, |shared_of| unsafe { shared_of(threads) });
        let blocks = function.resident_blocks(device, threads, shared);
        if blocks * threads > best.0 {
            best = (blocks * threads, blocks, threads);
        }
    }
    grid.set(best.1 * device.multiprocessors)?;
    block.set(best.2)
}

api! {
    fn cuOccupancyMaxActiveBlocksPerMultiprocessor(
        to: Out<c_int>, handle: Handle, threads: c_int, dynamic: usize,
    ) {
        occupancy(to, handle, threads, dynamic)
    }

    fn cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        to: Out<c_int>, handle: Handle, threads: c_int, dynamic: usize, _flags: c_uint,
    ) {
        occupancy(to, handle, threads, dynamic)
    }

    fn cuOccupancyMaxPotentialBlockSize(
        grid: Out<c_int>, block: Out<c_int>, handle: Handle,
        shared_of: Option<unsafe extern "C" fn(c_int) -> usize>, dynamic: usize, limit: c_int,
    ) {
        potential_block((grid, block), handle, shared_of, (dynamic, limit))
    }

    fn cuOccupancyMaxPotentialBlockSizeWithFlags(
        grid: Out<c_int>, block: Out<c_int>, handle: Handle,
        shared_of: Option<unsafe extern "C" fn(c_int) -> usize>, dynamic: usize, limit: c_int,
        _flags: c_uint,
    ) {
        potential_block((grid, block), handle, shared_of, (dynamic, limit))
    }

    fn cuOccupancyAvailableDynamicSMemPerBlock(
        to: Out<usize>, handle: Handle, blocks: c_int, threads: c_int,
    ) {
        let current = current()?;
        let (function, device) = (function(handle)?, current.device());
        if blocks <= 0 || threads <= 0 || function.resident_blocks(device, threads, 0) < blocks {
            return Err(Code::INVALID_VALUE);
        }
        let each = device.shared_of_multiprocessor() / blocks / 128 * 128;
        let own = device.reserved_shared() + function.kernel.static_shared_bytes() as i32;
        // What the function may have: more only where it has asked for it.
        let most = function.attribute(current.driver, MAX_DYNAMIC_SHARED)?;
        to.set((each - own).clamp(0, most) as usize)
    }

    fn cuOccupancyMaxActiveClusters(to: Out<c_int>, handle: Handle, launch: In<Launch>) {
        let current = current()?;
        let (function, device) = (function(handle)?, current.device());
        let config = launch.get()?.config()?.0;
        let threads = config.block.iter().product::<c_uint>() as c_int;
        let shared = config.dynamic_shared_bytes as usize;
        let blocks = function.resident_blocks(device, threads, shared) * device.multiprocessors;
        let size = config.cluster.map_or(1, |extents| extents.iter().product::<c_uint>());
        to.set(blocks / (size as c_int).max(1))
    }

    fn cuOccupancyMaxPotentialClusterSize(to: Out<c_int>, handle: Handle, _launch: In<Launch>) {
        let function = function(handle)?;
        let most = match (current()?.device().has_clusters(), function.has_larger_clusters()) {
            (false, _) => 1,
            (true, false) => ptx_emulator::MAX_CLUSTER_BLOCKS,
            (true, true) => ptx_emulator::MAX_LARGER_CLUSTER_BLOCKS,
        };
        to.set(most as c_int)
    }
}
