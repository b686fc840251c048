//! Contexts: what a device's memory, modules and streams live in.

use crate::device::Device;
use crate::error::DriverError;
use crate::handles::CUcontext;
use crate::table;

/// A device's primary context, which every library of a process shares; released when dropped.
#[derive(Debug)]
pub struct PrimaryContext {
    raw: CUcontext,
    device: Device,
}

// SAFETY: the handle is a number to the driver, whose functions any thread may call; nothing is
// read through the pointer here.
unsafe impl Send for PrimaryContext {}

// SAFETY: as for `Send`: no function of the driver needs exclusive access to a context.
unsafe impl Sync for PrimaryContext {}

impl PrimaryContext {
    /// Retains the primary context of a device (`cuDevicePrimaryCtxRetain`). It is not current yet.
    ///
    /// # Errors
    /// Where the device gives no context, such as one that another process has for itself.
    pub fn retain(device: Device) -> Result<Self, DriverError> {
        let mut raw = std::ptr::null_mut();
        // SAFETY: the driver writes one handle.
        unsafe { table::cuDevicePrimaryCtxRetain::call(&mut raw, device.as_raw()) }
            .check("cuDevicePrimaryCtxRetain")?;
        Ok(PrimaryContext { raw, device })
    }

    /// Makes the context that of the calling thread (`cuCtxSetCurrent`).
    ///
    /// # Errors
    /// Those of the driver, such as a context that a kernel broke.
    pub fn set_current(&self) -> Result<(), DriverError> {
        // SAFETY: the context is retained.
        unsafe { table::cuCtxSetCurrent::call(self.raw) }.check("cuCtxSetCurrent")
    }

    /// Lets kernels and copies of this context access the memory of another one
    /// (`cuCtxEnablePeerAccess`); the calling thread has this context afterwards. Whether
    /// [`Device::can_access_peer`] says that it can is the caller's to ask.
    ///
    /// # Errors
    /// Those of the driver; that it was enabled before is none.
    pub fn enable_peer_access(&self, peer: &PrimaryContext) -> Result<(), DriverError> {
        const CALL: &str = "cuCtxEnablePeerAccess";
        const ALREADY_ENABLED: u32 = 704;
        const NO_FLAGS: u32 = 0;
        self.set_current()?;
        // SAFETY: the context is retained; the driver keeps no pointer to ours.
        match unsafe { table::cuCtxEnablePeerAccess::call(peer.raw, NO_FLAGS) }.check(CALL) {
            Err(error) if error.code == ALREADY_ENABLED => Ok(()),
            enabled => enabled,
        }
    }
}

impl Drop for PrimaryContext {
    fn drop(&mut self) {
        // SAFETY: the context was retained once, and is released once. An error leaves nothing to
        // be done.
        _ = unsafe { table::cuDevicePrimaryCtxRelease_v2::call(self.device.as_raw()) };
    }
}

/// Waits for everything in the calling thread's current context (`cuCtxSynchronize`).
///
/// # Errors
/// Those of what ran.
pub fn synchronize_context() -> Result<(), DriverError> {
    // SAFETY: the function takes nothing; without a context it returns an error.
    unsafe { table::cuCtxSynchronize::call() }.check("cuCtxSynchronize")
}
