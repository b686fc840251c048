//! Streams and events. What is put on a stream runs at once, in the calling thread, unless
//! the stream is being captured: then it becomes part of a graph.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use crate::code::{Code, Result};
use crate::context::{Current, current};
use crate::graph::{Graph, NodeKind, Nodes, Operation, Work};
use crate::state::{Driver, Handle, driver, lock};

#[derive(Debug)]
struct Capture {
    into: Nodes,
    /// Whether the capture began in this stream, and not by waiting for an event of it.
    is_origin: bool,
}

/// A stream.
#[derive(Debug)]
pub(crate) struct Stream {
    pub(crate) context: Handle,
    pub(crate) flags: u32,
    pub(crate) priority: i32,
    capture: Mutex<Option<Capture>>,
    /// Attributes that were set, by `CUstreamAttrID`.
    attributes: Mutex<HashMap<u32, [u64; 8]>>,
    /// The handle of the graph that is captured into, and the nodes behind which the next comes: a
    /// program has a pointer to them.
    captured_graph: Mutex<Handle>,
    last_nodes: Mutex<Box<[Handle]>>,
}

/// An event.
#[derive(Debug)]
pub(crate) struct Event {
    pub(crate) context: Handle,
    pub(crate) flags: u32,
    pub(crate) recorded: Mutex<Option<Instant>>,
    captured: Mutex<Option<Nodes>>,
}

/// `CU_EVENT_DISABLE_TIMING`.
const DISABLE_TIMING: u32 = 2;

impl Event {
    pub(crate) fn new(context: Handle, flags: u32) -> Self {
        Event {
            context,
            flags,
            recorded: Mutex::default(),
            captured: Mutex::default(),
        }
    }

    /// Milliseconds from one event to another.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_HANDLE` where one was not recorded or takes no time.
    pub(crate) fn elapsed_ms(&self, start: &Event) -> Result<f32> {
        let time = |event: &Event| match event.flags & DISABLE_TIMING {
            0 => lock(&event.recorded).ok_or(Code::INVALID_HANDLE),
            _ => Err(Code::INVALID_HANDLE),
        };
        let (start, end) = (time(start)?, time(self)?);
        let later = end.saturating_duration_since(start).as_secs_f64();
        let earlier = start.saturating_duration_since(end).as_secs_f64();
        Ok(((later - earlier) * 1e3) as f32)
    }

    /// Takes the time.
    pub(crate) fn record(&self) {
        *lock(&self.recorded) = Some(Instant::now());
    }

    pub(crate) fn is_captured(&self) -> bool {
        lock(&self.captured).is_some()
    }
}

impl Stream {
    pub(crate) fn new(context: Handle, flags: u32, priority: i32) -> Self {
        Stream {
            context,
            flags,
            priority,
            capture: Mutex::default(),
            attributes: Mutex::default(),
            captured_graph: Mutex::default(),
            last_nodes: Mutex::default(),
        }
    }

    /// An attribute; zeros where it was not set.
    pub(crate) fn attribute(&self, id: u32) -> [u64; 8] {
        lock(&self.attributes).get(&id).copied().unwrap_or_default()
    }

    pub(crate) fn set_attribute(&self, id: u32, value: [u64; 8]) {
        lock(&self.attributes).insert(id, value);
    }

    pub(crate) fn set_captured_graph(&self, graph: Handle) {
        *lock(&self.captured_graph) = graph;
    }

    /// The handle of the graph that is captured into, from the first request on.
    pub(crate) fn captured_graph(&self, driver: &Driver, nodes: &Nodes) -> Handle {
        let mut graph = lock(&self.captured_graph);
        if *graph == 0 {
            *graph = driver.graphs.insert(Graph {
                nodes: nodes.clone(),
                originals: Vec::new(),
            });
        }
        *graph
    }

    /// Where the program finds the nodes until the next call; null for none.
    pub(crate) fn last_nodes(&self, nodes: Vec<Handle>) -> *const Handle {
        let mut kept = lock(&self.last_nodes);
        *kept = nodes.into_boxed_slice();
        match kept.is_empty() {
            true => std::ptr::null(),
            false => kept.as_ptr(),
        }
    }

    pub(crate) fn captured(&self) -> Option<Nodes> {
        lock(&self.capture).as_ref().map(|one| one.into.clone())
    }

    /// # Errors
    /// `CUDA_ERROR_ILLEGAL_STATE` where the stream is being captured already.
    pub(crate) fn begin_capture(&self, into: Nodes) -> Result {
        let mut capture = lock(&self.capture);
        if capture.is_some() {
            return Err(Code::ILLEGAL_STATE);
        }
        *capture = Some(Capture {
            into,
            is_origin: true,
        });
        Ok(())
    }
}

/// The handles of the default stream, the legacy one and that of the thread.
const DEFAULT_STREAMS: [Handle; 3] = [0, 1, 2];

/// The current context, and the stream; none for the default one.
///
/// # Errors
/// Those of [`current`], or `CUDA_ERROR_INVALID_HANDLE`.
pub(crate) fn stream(handle: Handle) -> Result<(Current, Option<Arc<Stream>>)> {
    let current = current()?;
    match DEFAULT_STREAMS.contains(&handle) {
        true => Ok((current, None)),
        false => of_its_context(current.driver, handle),
    }
}

/// The same for what only waits or takes the time: a stream that has a handle knows its context,
/// and the thread needs none.
fn awaited(handle: Handle) -> Result<(Current, Option<Arc<Stream>>)> {
    match DEFAULT_STREAMS.contains(&handle) {
        true => Ok((current()?, None)),
        false => of_its_context(driver()?, handle),
    }
}

/// The graph that a stream is captured into.
///
/// # Errors
/// Those of [`stream`].
pub(crate) fn captured(handle: Handle) -> Result<Option<Nodes>> {
    Ok(awaited(handle)?.1.and_then(|stream| stream.captured()))
}

fn of_its_context(
    driver: &'static Driver,
    handle: Handle,
) -> Result<(Current, Option<Arc<Stream>>)> {
    let stream = driver.streams.get(handle)?;
    let of_stream = Current::of(driver, stream.context)?;
    Ok((of_stream, Some(stream)))
}

/// An event, which knows its context as well.
///
/// # Errors
/// `CUDA_ERROR_INVALID_HANDLE`, and those of [`Current::of`].
pub(crate) fn event(handle: Handle) -> Result<Arc<Event>> {
    let driver = driver()?;
    let event = driver.events.get(handle)?;
    Current::of(driver, event.context)?;
    Ok(event)
}

/// Runs work on a stream, or adds it to the graph that the stream is captured into.
///
/// # Errors
/// Those of [`stream`] and of the work.
pub(crate) fn submit(handle: Handle, kind: NodeKind, work: Work) -> Result {
    let (current, stream) = stream(handle)?;
    match stream.and_then(|stream| stream.captured()) {
        Some(captured) => {
            let operation = Operation::new(kind, work);
            captured.append(current.driver, operation).map(drop)
        }
        None => work(),
    }
}

/// # Errors
/// Those of [`stream`], or `CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED`: what waits cannot be captured.
pub(crate) fn synchronise(handle: Handle) -> Result {
    match awaited(handle)?.1.and_then(|stream| stream.captured()) {
        Some(_) => Err(Code::STREAM_CAPTURE_UNSUPPORTED),
        None => Ok(()),
    }
}

/// # Errors
/// Those of [`stream`], or `CUDA_ERROR_INVALID_HANDLE`.
pub(crate) fn record(event: Handle, on: Handle) -> Result {
    let (current, stream) = awaited(on)?;
    let event = current.driver.events.get(event)?;
    let captured = stream.and_then(|stream| stream.captured());
    if captured.is_none() {
        event.record();
    }
    *lock(&event.captured) = captured;
    Ok(())
}

/// # Errors
/// Those of [`stream`], or `CUDA_ERROR_INVALID_HANDLE`.
pub(crate) fn wait(on: Handle, event: Handle) -> Result {
    let (current, stream) = awaited(on)?;
    let event = current.driver.events.get(event)?;
    let captured = lock(&event.captured).clone();
    let Some(captured) = captured else {
        // What was recorded has run.
        return Ok(());
    };
    let Some(stream) = stream else {
        return Err(Code::STREAM_CAPTURE_UNSUPPORTED);
    };
    let mut capture = lock(&stream.capture);
    match &*capture {
        Some(own) if own.into.is(&captured) => Ok(()),
        Some(_) => Err(Code::STREAM_CAPTURE_UNSUPPORTED),
        None => {
            *capture = Some(Capture {
                into: captured,
                is_origin: false,
            });
            Ok(())
        }
    }
}

/// Ends a capture, and gives the graph's handle.
///
/// # Errors
/// `CUDA_ERROR_ILLEGAL_STATE` where there is none, `CUDA_ERROR_STREAM_CAPTURE_UNMATCHED` where it
/// began in another stream.
pub(crate) fn end_capture(handle: Handle) -> Result<Handle> {
    let (current, stream) = stream(handle)?;
    let stream = stream.ok_or(Code::ILLEGAL_STATE)?;
    let mut capture = lock(&stream.capture);
    match capture.take() {
        None => Err(Code::ILLEGAL_STATE),
        Some(other) if !other.is_origin => {
            *capture = Some(other);
            Err(Code::STREAM_CAPTURE_UNMATCHED)
        }
        Some(ended) => {
            drop(capture);
            let driver = current.driver;
            // Streams that joined the capture are free again.
            driver.streams.retain(|other| {
                let mut capture = lock(&other.capture);
                if capture.as_ref().is_some_and(|one| one.into.is(&ended.into)) {
                    *capture = None;
                }
                true
            });
            let graph = stream.captured_graph(driver, &ended.into);
            stream.set_captured_graph(0);
            Ok(graph)
        }
    }
}
