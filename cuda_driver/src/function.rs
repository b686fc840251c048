//! Kernels: their attributes, their occupancy, and launches.

use std::ffi::{c_int, c_void};
use std::sync::Arc;

use crate::error::DriverError;
use crate::handles::{CUfunction, CUstream};
use crate::launch::LaunchConfig;
use crate::module::ModuleHandle;
use crate::table;

/// A property of a compiled kernel (`CUfunction_attribute`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum FunctionAttribute {
    /// Most threads of a block, given the kernel's registers and the device.
    MaxThreadsPerBlock = 0,
    /// Static shared memory per block, in bytes.
    SharedBytes = 1,
    /// Constant memory that the kernel uses, in bytes.
    ConstBytes = 2,
    /// Local memory per thread, in bytes; more than 0 may mean spilled registers.
    LocalBytes = 3,
    /// Registers per thread.
    Registers = 4,
    /// Version of the PTX that the kernel was compiled from, as `10 * major + minor`.
    PtxVersion = 5,
    /// Compute capability that the machine code is for, as `10 * major + minor`.
    BinaryVersion = 6,
    /// Most dynamic shared memory that a launch may ask for, in bytes. Can be set: more than 48 KiB
    /// must be allowed here before the launch.
    MaxDynamicSharedBytes = 8,
    /// Share of the L1 cache to be used as shared memory, in percent, -1 for the driver's choice.
    /// Can be set.
    PreferredSharedMemoryCarveout = 9,
    /// Whether cluster sizes above 8 blocks, which not every device can run, are allowed. Can be
    /// set.
    NonPortableClusterSizeAllowed = 14,
}

/// A kernel. A clone is another handle to the same kernel.
#[derive(Clone, Debug)]
pub struct Function {
    raw: CUfunction,
    /// Keeps the module loaded; absent for a handle from elsewhere.
    _module: Option<Arc<ModuleHandle>>,
}

// SAFETY: the handle is a number to the driver, whose functions any thread may call; nothing is
// read through the pointer here. Attributes that one thread sets while another launches take effect
// before or after that launch.
unsafe impl Send for Function {}

// SAFETY: as for `Send`.
unsafe impl Sync for Function {}

impl Function {
    pub(crate) fn new(raw: CUfunction, module: Arc<ModuleHandle>) -> Self {
        Function {
            raw,
            _module: Some(module),
        }
    }

    /// Wraps a kernel that was loaded elsewhere, for example `cust::function::Function::to_raw`.
    ///
    /// # Safety
    /// `raw` is a valid kernel, and its module stays loaded for as long as the returned value
    /// lives.
    pub unsafe fn from_raw(raw: CUfunction) -> Self {
        Function { raw, _module: None }
    }

    /// The driver's handle, valid as long as a clone of this value lives.
    pub fn as_raw(&self) -> CUfunction {
        self.raw
    }

    /// Reads an attribute (`cuFuncGetAttribute`).
    pub fn attribute(&self, attribute: FunctionAttribute) -> Result<i32, DriverError> {
        let mut value = 0;
        // SAFETY: the handle is valid, and the driver writes one int.
        unsafe { table::cuFuncGetAttribute::call(&mut value, attribute as u32, self.raw) }
            .check("cuFuncGetAttribute")?;
        Ok(value)
    }

    /// Sets an attribute (`cuFuncSetAttribute`).
    ///
    /// # Errors
    /// The driver refuses attributes that cannot be set and values beyond the device's limits.
    pub fn set_attribute(
        &self,
        attribute: FunctionAttribute,
        value: i32,
    ) -> Result<(), DriverError> {
        // SAFETY: the handle is valid; the driver checks attribute and value.
        unsafe { table::cuFuncSetAttribute::call(self.raw, attribute as u32, value) }
            .check("cuFuncSetAttribute")
    }

    /// How many blocks of `block_threads` threads and `shared_bytes` bytes of dynamic shared memory
    /// can be resident on one multiprocessor (`cuOccupancyMaxActiveBlocksPerMultiprocessor`).
    pub fn max_active_blocks_per_multiprocessor(
        &self,
        block_threads: u32,
        shared_bytes: u32,
    ) -> Result<u32, DriverError> {
        let mut blocks: c_int = 0;
        let threads = c_int::try_from(block_threads).unwrap_or(c_int::MAX);
        // SAFETY: the handle is valid, and the driver writes one int.
        unsafe {
            table::cuOccupancyMaxActiveBlocksPerMultiprocessor::call(
                &mut blocks,
                self.raw,
                threads,
                shared_bytes as usize,
            )
        }
        .check("cuOccupancyMaxActiveBlocksPerMultiprocessor")?;
        Ok(blocks.unsigned_abs())
    }

    /// How many clusters of a launch can be resident on the device
    /// (`cuOccupancyMaxActiveClusters`); 0 means that the cluster does not fit.
    pub fn max_active_clusters(&self, config: &LaunchConfig) -> Result<u32, DriverError> {
        let mut clusters: c_int = 0;
        config
            .with_raw(std::ptr::null_mut(), |raw| {
                // SAFETY: the handle is valid, `raw` lives through the call, and the driver writes
                // one int.
                unsafe { table::cuOccupancyMaxActiveClusters::call(&mut clusters, self.raw, raw) }
            })
            .check("cuOccupancyMaxActiveClusters")?;
        Ok(clusters.unsigned_abs())
    }

    /// Queues a launch on `stream` (null: the default stream), with one pointer to each argument's
    /// value. The values are copied before the call returns.
    ///
    /// # Errors
    /// The driver refuses geometry beyond its limits. What fails while the kernel runs is reported
    /// by a later call.
    ///
    /// # Safety
    /// `stream` is a valid stream of the function's context. `arguments` has an entry for every
    /// parameter of the kernel, and each points to a readable value of that parameter's size. The
    /// kernel, run with these arguments, touches only memory that it may touch.
    pub unsafe fn launch(
        &self,
        config: &LaunchConfig,
        stream: CUstream,
        arguments: &mut [*mut c_void],
    ) -> Result<(), DriverError> {
        let arguments = arguments.as_mut_ptr();
        let none = std::ptr::null_mut();
        if config.is_extended() {
            return config
                .with_raw(stream, |raw| {
                    // SAFETY: the caller vouches for stream, arguments and kernel; `raw` lives
                    // through the call.
                    unsafe { table::cuLaunchKernelEx::call(raw, self.raw, arguments, none) }
                })
                .check("cuLaunchKernelEx");
        }
        let ([gx, gy, gz], [bx, by, bz], shared) = (config.grid, config.block, config.shared_bytes);
        // SAFETY: the caller vouches for stream, arguments and kernel.
        unsafe {
            table::cuLaunchKernel::call(
                self.raw, gx, gy, gz, bx, by, bz, shared, stream, arguments, none,
            )
        }
        .check("cuLaunchKernel")
    }
}
