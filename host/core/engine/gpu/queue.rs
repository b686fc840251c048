//! Work on the engine's stream that is not waited for: launches beside those of another library.

use super::{GpuEngine, driver_error, failed};
use crate::engine::streams::{StreamId, Streams};
use crate::error::EngineError;
use crate::launch::DevicePtr;
use crate::sync::lock;
use std::ffi::c_void;

impl GpuEngine {
    /// The stream (a `CUstream`) that the engine's work is queued on, in its context, which this
    /// makes current.
    ///
    /// # Errors
    /// Where the context cannot be used any more.
    pub fn stream(&self) -> Result<*mut c_void, EngineError> {
        self.enter()?;
        Ok(self.stream.as_inner().cast())
    }

    /// Puts a copy inside of device memory on the stream.
    ///
    /// # Errors
    /// Where the ranges are not inside of allocations, or the driver refuses.
    pub fn enqueue_copy(
        &self,
        to: DevicePtr,
        from: DevicePtr,
        bytes: usize,
    ) -> Result<(), EngineError> {
        self.copy_on(StreamId::OWN, to, from, bytes)
    }

    /// Times what `work` puts on the stream, between two events, in milliseconds, and waits for it.
    /// `what` names it where it fails.
    ///
    /// # Errors
    /// Those of `work`, and of what it queued.
    pub fn time_enqueued<E: From<EngineError>>(
        &self,
        what: &str,
        mut work: impl FnMut() -> Result<(), E>,
    ) -> Result<f64, E> {
        self.enter()?;
        let timed = lock(&self.timed);
        let [start, stop] = &*timed;
        let record = |event: &cust::event::Event| {
            event
                .record(&self.stream)
                .map_err(|error| failed("cuEventRecord", error))
        };
        record(start)?;
        work()?;
        record(stop)?;
        self.stream.synchronize().map_err(|error| {
            let error = driver_error("cuStreamSynchronize", error);
            self.work_failed(what, &error)
        })?;
        let elapsed = stop.elapsed_time_f32(start);
        Ok(elapsed
            .map(f64::from)
            .map_err(|error| failed("cuEventElapsedTime", error))?)
    }
}
