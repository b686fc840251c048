//! Streams: queues of launches, copies and events.

use crate::error::DriverError;
use crate::handles::CUstream;
use crate::table;

/// A stream.
#[derive(Debug)]
pub struct Stream {
    raw: CUstream,
    /// Whether it is another library's, which destroys it.
    borrowed: bool,
}

// SAFETY: the handle is a number to the driver, whose functions any thread may call; nothing is
// read through the pointer here.
unsafe impl Send for Stream {}

// SAFETY: as for `Send`: the driver orders calls with the same stream.
unsafe impl Sync for Stream {}

impl Stream {
    /// Makes a stream in the current context (`cuStreamCreateWithPriority`). Copies between host
    /// and device, which go to the default stream, wait for it and it for them.
    ///
    /// # Errors
    /// Where no context is current, or the driver is out of resources.
    ///
    /// # Safety
    /// The context lives for as long as the stream.
    pub unsafe fn new() -> Result<Self, DriverError> {
        const DEFAULT: u32 = 0;
        const PRIORITY: i32 = 0;
        let mut raw = std::ptr::null_mut();
        // SAFETY: the driver writes one handle.
        unsafe { table::cuStreamCreateWithPriority::call(&mut raw, DEFAULT, PRIORITY) }
            .check("cuStreamCreate")?;
        Ok(Stream {
            raw,
            borrowed: false,
        })
    }

    /// Another library's stream, which that library destroys: cust's `Stream::as_inner`, cast.
    ///
    /// # Safety
    /// `raw` is a valid stream for as long as the returned value lives.
    pub unsafe fn from_raw(raw: CUstream) -> Self {
        Stream {
            raw,
            borrowed: true,
        }
    }

    /// The driver's handle, valid as long as this value lives.
    pub fn as_raw(&self) -> CUstream {
        self.raw
    }

    /// Waits for everything on the stream (`cuStreamSynchronize`).
    ///
    /// # Errors
    /// Those of what ran.
    pub fn synchronize(&self) -> Result<(), DriverError> {
        // SAFETY: the stream is valid.
        unsafe { table::cuStreamSynchronize::call(self.raw) }.check("cuStreamSynchronize")
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        if !self.borrowed {
            // SAFETY: the stream is valid, and is not used again; what is on it still runs.
            _ = unsafe { table::cuStreamDestroy_v2::call(self.raw) };
        }
    }
}
