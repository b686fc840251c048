//! Work on the engine's stream that is not waited for: launches beside those of another library.

use super::{GpuEngine, refused};
use crate::engine::LaunchGraph;
use crate::engine::streams::{StreamId, Streams};
use crate::error::EngineError;
use crate::launch::DevicePtr;
use crate::sync::lock;
use cuda_driver::{Capture, Event, Graph};
use std::ffi::c_void;

impl GpuEngine {
    /// The stream (a `CUstream`) that the engine's work is queued on, in its context, which this
    /// makes current.
    ///
    /// # Errors
    /// Where the context cannot be used any more.
    pub fn stream(&self) -> Result<*mut c_void, EngineError> {
        self.enter()?;
        Ok(self.stream.as_raw().cast())
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
        let record = |event: &Event| {
            // SAFETY: the events and the stream are of the engine's context.
            unsafe { event.record(self.stream.as_raw()) }.map_err(|error| refused(&error))
        };
        record(start)?;
        work()?;
        record(stop)?;
        let waited = self.stream.synchronize();
        waited.map_err(|error| self.work_failed(what, &error))?;
        let elapsed = stop.elapsed_ms_since(start);
        Ok(elapsed.map(f64::from).map_err(|error| refused(&error))?)
    }

    /// What `work` puts on the stream, none of which runs yet, as a graph that starts it all
    /// without the host in between.
    ///
    /// # Errors
    /// Those of `work`; where it did what a capture forbids.
    ///
    /// # Safety
    /// What `work` launches, and the memory that this reads and writes, lives as long as the graph.
    pub unsafe fn capture<E: From<EngineError>>(
        &self,
        work: impl FnOnce() -> Result<(), E>,
    ) -> Result<QueuedGraph<'_>, E> {
        self.enter()?;
        let capture = Capture::begin(&self.stream).map_err(|error| refused(&error))?;
        work()?;
        // SAFETY: the context lives as long as the engine, and the caller vouches for the rest.
        let graph = unsafe { capture.end() }.map_err(|error| refused(&error))?;
        Ok(QueuedGraph {
            engine: self,
            graph,
        })
    }
}

/// Work that was captured, see [`GpuEngine::capture`].
pub struct QueuedGraph<'e> {
    engine: &'e GpuEngine,
    graph: Graph,
}

impl LaunchGraph for QueuedGraph<'_> {
    fn time(&self, what: &str) -> Result<f64, EngineError> {
        let stream = self.engine.stream.as_raw();
        self.engine.time_enqueued(what, || {
            // SAFETY: the caller of `capture` vouched that all of it lives as long as the graph.
            unsafe { self.graph.launch(stream) }.map_err(|error| refused(&error))
        })
    }
}
