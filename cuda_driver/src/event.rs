//! Events: marks on streams, with times.

use crate::code::Code;
use crate::error::DriverError;
use crate::handles::{CUevent, CUstream};
use crate::table;

/// An event with a time. cust has events as well, but its `Stream::wait_event` destroys the one
/// that it waits for.
#[derive(Debug)]
pub struct Event {
    raw: CUevent,
}

// SAFETY: the handle is a number to the driver, whose functions any thread may call; nothing is
// read through the pointer here.
unsafe impl Send for Event {}

// SAFETY: as for `Send`: the driver orders calls with the same event.
unsafe impl Sync for Event {}

impl Event {
    /// Makes an event in the current context (`cuEventCreate`).
    ///
    /// # Safety
    /// The context lives for as long as the event.
    pub unsafe fn new() -> Result<Self, DriverError> {
        const DEFAULT: u32 = 0;
        let mut raw = std::ptr::null_mut();
        // SAFETY: the driver writes one handle.
        unsafe { table::cuEventCreate::call(&mut raw, DEFAULT) }.check("cuEventCreate")?;
        Ok(Event { raw })
    }

    /// Puts the event on a stream (`cuEventRecord`).
    ///
    /// # Safety
    /// `stream` is a valid stream of the event's context.
    pub unsafe fn record(&self, stream: CUstream) -> Result<(), DriverError> {
        // SAFETY: the event is valid, and the caller vouches for the stream.
        unsafe { table::cuEventRecord::call(self.raw, stream) }.check("cuEventRecord")
    }

    /// Makes what is put on a stream from now on wait for the event (`cuStreamWaitEvent`).
    ///
    /// # Safety
    /// `stream` is a valid stream.
    pub unsafe fn wait(&self, stream: CUstream) -> Result<(), DriverError> {
        const DEFAULT: u32 = 0;
        // SAFETY: the event is valid, and the caller vouches for the stream.
        unsafe { table::cuStreamWaitEvent::call(stream, self.raw, DEFAULT) }
            .check("cuStreamWaitEvent")
    }

    /// Whether everything before the event has run (`cuEventQuery`).
    ///
    /// # Errors
    /// Those of what ran.
    pub fn is_reached(&self) -> Result<bool, DriverError> {
        // SAFETY: the event is valid.
        match unsafe { table::cuEventQuery::call(self.raw) } {
            Code::NOT_READY => Ok(false),
            code => code.check("cuEventQuery").map(|()| true),
        }
    }

    /// Waits until everything before the event has run (`cuEventSynchronize`).
    ///
    /// # Errors
    /// Those of what ran.
    pub fn synchronize(&self) -> Result<(), DriverError> {
        // SAFETY: the event is valid.
        unsafe { table::cuEventSynchronize::call(self.raw) }.check("cuEventSynchronize")
    }

    /// Milliseconds from another event to this one, to about half a microsecond
    /// (`cuEventElapsedTime`).
    ///
    /// # Errors
    /// Where one of them was not recorded or not reached.
    pub fn elapsed_ms_since(&self, start: &Event) -> Result<f32, DriverError> {
        let mut elapsed = 0.0;
        // SAFETY: both events are valid, and the driver writes one number.
        unsafe { table::cuEventElapsedTime::call(&mut elapsed, start.raw, self.raw) }
            .check("cuEventElapsedTime")?;
        Ok(elapsed)
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        // SAFETY: the event is valid, and is not used again. One that is still on a stream lives
        // until it is reached.
        _ = unsafe { table::cuEventDestroy_v2::call(self.raw) };
    }
}
