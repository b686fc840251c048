//! Launches, attributes of functions, and occupancy.

use std::cell::RefCell;
use std::ffi::{c_char, c_int, c_uint};
use std::mem::ManuallyDrop;

use crate::api::launch::{Launch, LaunchAttribute, call};
use crate::api::{module::call as module, occupancy::call as occupancy};
use crate::code::{Code, Result};
use crate::context::current;
use crate::pointer::{Host, In, Out};
use crate::state::Handle;

use super::registry::function;
use super::{INVALID_CONFIGURATION, MISSING_CONFIGURATION, enter, result};

/// `dim3`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Dim3([c_uint; 3]);

/// A configuration between `<<<…>>>` and the function that launches.
type Configuration = (Dim3, Dim3, usize, Handle);

thread_local! {
    /// Never dropped, as the stack of contexts is not.
    static CONFIGURATIONS: RefCell<ManuallyDrop<Vec<Configuration>>> =
        const { RefCell::new(ManuallyDrop::new(Vec::new())) };
}

/// `cudaLaunchConfig_t`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct LaunchConfig {
    grid: Dim3,
    block: Dim3,
    shared: usize,
    stream: Handle,
    attributes: In<LaunchAttribute>,
    count: c_uint,
}

impl LaunchConfig {
    fn launch(self) -> Result<Launch> {
        check_extents(self.grid, self.block)?;
        Ok(Launch {
            grid: self.grid.0,
            block: self.block.0,
            shared: c_uint::try_from(self.shared).map_err(|_| Code::INVALID_VALUE)?,
            stream: self.stream,
            attributes: self.attributes,
            count: self.count,
        })
    }
}

/// # Errors
/// `cudaErrorInvalidConfiguration` for extents that no GPU has.
fn check_extents(grid: Dim3, block: Dim3) -> Result {
    let threads: u64 = block.0.iter().map(|&extent| u64::from(extent)).product();
    let is_wrong = grid.0.contains(&0)
        || !(1..=1024).contains(&threads)
        || block.0[2] > 64
        || grid.0[1].max(grid.0[2]) > 65535
        || grid.0[0] > i32::MAX.cast_unsigned();
    if is_wrong {
        return Err(INVALID_CONFIGURATION);
    }
    Ok(())
}

fn launch(
    host: Host,
    (grid, block): (Dim3, Dim3),
    each: In<Host>,
    (shared, on): (usize, Handle),
    cooperative: bool,
) -> Result {
    enter()?;
    // What a kernel did wrong before is the error of this launch, and not that it is not found.
    current()?;
    check_extents(grid, block)?;
    let handle = function(host)?;
    let shared = c_uint::try_from(shared).map_err(|_| Code::INVALID_VALUE)?;
    let [x, y, z] = grid.0;
    let [threads_x, threads_y, threads_z] = block.0;
    match cooperative {
        false => call::cuLaunchKernel(
            handle,
            x,
            y,
            z,
            threads_x,
            threads_y,
            threads_z,
            shared,
            on,
            each,
            In::NONE,
        ),
        true => call::cuLaunchCooperativeKernel(
            handle, x, y, z, threads_x, threads_y, threads_z, shared, on, each,
        ),
    }
}

/// `__cudaPushCallConfiguration` of the CUDA runtime.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __cudaPushCallConfiguration(
    grid: Dim3,
    block: Dim3,
    shared: usize,
    stream: Handle,
) -> c_uint {
    CONFIGURATIONS.with_borrow_mut(|all| all.push((grid, block, shared, stream)));
    0
}

/// `cudaFuncAttributes`, without what it reserves.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Attributes {
    bytes: [usize; 3],
    numbers: [c_int; 13],
}

fn attributes(handle: Handle) -> Result<Attributes> {
    let one = |attribute| result(|to| module::cuFuncGetAttribute(to, attribute, handle));
    let mut numbers = [0; 13];
    let all = [0, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 15, 14];
    for (number, attribute) in numbers.iter_mut().zip(all) {
        *number = one(attribute)?;
    }
    let mut bytes = [0; 3];
    for (place, attribute) in bytes.iter_mut().zip([1, 2, 3]) {
        *place = one(attribute)? as usize;
    }
    Ok(Attributes { bytes, numbers })
}

runtime! {
    fn __cudaPopCallConfiguration(
        grid: Out<Dim3>, block: Out<Dim3>, shared: Out<usize>, stream: Out<Handle>,
    ) {
        let popped = CONFIGURATIONS.with_borrow_mut(|all| all.pop());
        let popped = popped.ok_or(MISSING_CONFIGURATION)?;
        grid.set(popped.0)?;
        block.set(popped.1)?;
        shared.set(popped.2)?;
        stream.set(popped.3)
    }

    fn cudaLaunchKernel | cudaLaunchKernel_ptsz | __cudaLaunchKernel | __cudaLaunchKernel_ptsz (
        host: Host, grid: Dim3, block: Dim3, each: In<Host>, shared: usize, on: Handle,
    ) {
        launch(host, (grid, block), each, (shared, on), false)
    }

    fn cudaLaunchCooperativeKernel | cudaLaunchCooperativeKernel_ptsz (
        host: Host, grid: Dim3, block: Dim3, each: In<Host>, shared: usize, on: Handle,
    ) {
        launch(host, (grid, block), each, (shared, on), true)
    }

    fn cudaLaunchKernelExC | cudaLaunchKernelExC_ptsz (
        config: In<LaunchConfig>, host: Host, each: In<Host>,
    ) {
        enter()?;
        current()?;
        let launch = config.get()?.launch()?;
        call::cuLaunchKernelEx(In::of(&launch), function(host)?, each, In::NONE)
    }

    fn cudaFuncGetAttributes(to: Out<Attributes>, host: Host) {
        to.set(attributes(function(host)?)?)
    }

    fn cudaFuncSetAttribute(host: Host, attribute: c_uint, value: c_int) {
        module::cuFuncSetAttribute(function(host)?, attribute, value)
    }

    fn cudaFuncSetCacheConfig(host: Host, config: c_uint) {
        module::cuFuncSetCacheConfig(function(host)?, config)
    }

    fn cudaFuncSetSharedMemConfig(host: Host, config: c_uint) {
        module::cuFuncSetSharedMemConfig(function(host)?, config)
    }

    fn cudaFuncGetName(to: Out<*const c_char>, host: Host) {
        module::cuFuncGetName(to, function(host)?)
    }

    fn cudaFuncGetParamInfo(host: Host, index: usize, offset: Out<usize>, bytes: Out<usize>) {
        module::cuFuncGetParamInfo(function(host)?, index, offset, bytes)
    }

    fn cudaOccupancyMaxActiveBlocksPerMultiprocessor(
        to: Out<c_int>, host: Host, threads: c_int, dynamic: usize,
    ) {
        let function = function(host)?;
        occupancy::cuOccupancyMaxActiveBlocksPerMultiprocessor(to, function, threads, dynamic)
    }

    fn cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        to: Out<c_int>, host: Host, threads: c_int, dynamic: usize, _flags: c_uint,
    ) {
        let function = function(host)?;
        occupancy::cuOccupancyMaxActiveBlocksPerMultiprocessor(to, function, threads, dynamic)
    }

    fn cudaOccupancyAvailableDynamicSMemPerBlock(
        to: Out<usize>, host: Host, blocks: c_int, threads: c_int,
    ) {
        occupancy::cuOccupancyAvailableDynamicSMemPerBlock(to, function(host)?, blocks, threads)
    }

    fn cudaOccupancyMaxPotentialClusterSize(
        to: Out<c_int>, host: Host, config: In<LaunchConfig>,
    ) {
        let launch = config.get()?.launch()?;
        occupancy::cuOccupancyMaxPotentialClusterSize(to, function(host)?, In::of(&launch))
    }

    fn cudaOccupancyMaxActiveClusters(to: Out<c_int>, host: Host, config: In<LaunchConfig>) {
        let launch = config.get()?.launch()?;
        occupancy::cuOccupancyMaxActiveClusters(to, function(host)?, In::of(&launch))
    }
}
