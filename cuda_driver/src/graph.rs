//! Graphs: launches that are put on a stream as one, without the host in between.

use crate::error::DriverError;
use crate::handles::{CUgraph, CUgraphExec, CUstream};
use crate::stream::Stream;
use crate::table;
use std::ptr;

/// A stream that captures: what is put on it does not run, and becomes a [`Graph`] (CUDA
/// programming guide, "Stream Capture"). Dropped before [`Capture::end`], it gives up what it has.
#[derive(Debug)]
pub struct Capture<'s> {
    stream: &'s Stream,
}

impl<'s> Capture<'s> {
    /// Lets a stream capture (`cuStreamBeginCapture`, relaxed: other libraries may allocate while
    /// they put their work on it).
    ///
    /// # Errors
    /// Where the stream captures already.
    pub fn begin(stream: &'s Stream) -> Result<Self, DriverError> {
        const RELAXED: u32 = 2;
        // SAFETY: the stream is valid.
        unsafe { table::cuStreamBeginCapture_v2::call(stream.as_raw(), RELAXED) }
            .check("cuStreamBeginCapture")?;
        Ok(Capture { stream })
    }

    /// Ends the capture, makes what was captured executable and uploads it (`cuStreamEndCapture`,
    /// `cuGraphInstantiate`, `cuGraphUpload`).
    ///
    /// # Safety
    /// What was captured, and what it reads and writes, lives as long as the graph; so does the
    /// context.
    ///
    /// # Errors
    /// Where something on the stream was what a capture forbids, or the driver is out of
    /// resources.
    pub unsafe fn end(self) -> Result<Graph, DriverError> {
        let stream = self.stream;
        // What drops it would end the capture again.
        std::mem::forget(self);
        let captured = Captured::end(stream)?;
        let mut raw = ptr::null_mut();
        // SAFETY: the graph is valid, and the driver writes one handle.
        unsafe { table::cuGraphInstantiateWithFlags::call(&raw mut raw, captured.0, 0) }
            .check("cuGraphInstantiate")?;
        let graph = Graph { raw };
        // SAFETY: the graph and the stream are valid.
        unsafe { table::cuGraphUpload::call(graph.raw, stream.as_raw()) }.check("cuGraphUpload")?;
        Ok(graph)
    }
}

impl Drop for Capture<'_> {
    fn drop(&mut self) {
        // A stream that captures takes nothing else. What was captured is not wanted.
        _ = Captured::end(self.stream);
    }
}

/// A graph as it was captured; null where an invalid capture left none.
struct Captured(CUgraph);

impl Captured {
    fn end(stream: &Stream) -> Result<Self, DriverError> {
        let mut captured = Captured(ptr::null_mut());
        // SAFETY: the stream is valid, and the driver writes one handle.
        unsafe { table::cuStreamEndCapture::call(stream.as_raw(), &raw mut captured.0) }
            .check("cuStreamEndCapture")?;
        Ok(captured)
    }
}

impl Drop for Captured {
    fn drop(&mut self) {
        if !self.0.is_null() {
            // SAFETY: the graph is valid, and is not used again.
            _ = unsafe { table::cuGraphDestroy::call(self.0) };
        }
    }
}

/// An executable graph of what a stream captured.
#[derive(Debug)]
pub struct Graph {
    raw: CUgraphExec,
}

// SAFETY: the handle is a number to the driver, and nothing is read through the pointer here. It is
// no `Sync`: the driver allows one launch of a graph at a time.
unsafe impl Send for Graph {}

impl Graph {
    /// Puts everything in the graph on a stream (`cuGraphLaunch`).
    ///
    /// # Safety
    /// As for each launch that was captured; `stream` is a valid stream of the graph's context.
    pub unsafe fn launch(&self, stream: CUstream) -> Result<(), DriverError> {
        // SAFETY: the graph is valid, and the caller vouches for the rest.
        unsafe { table::cuGraphLaunch::call(self.raw, stream) }.check("cuGraphLaunch")
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        // SAFETY: the graph is valid, and is not used again. One that is still on a stream lives
        // until it has run.
        _ = unsafe { table::cuGraphExecDestroy::call(self.raw) };
    }
}
