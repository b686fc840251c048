//! Streams and events. What is put on a stream runs at once, in the calling thread, unless
//! the stream is being captured: then it becomes part of a graph.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use crate::capture::{self, Captured, Mode};
use crate::code::{Code, Result};
use crate::context::{Current, current};
use crate::graph::{NodeKind, Nodes, Operation, Work};
use crate::state::{Driver, Handle, driver, lock};

#[derive(Debug)]
struct Capture {
    captured: Captured,
    origin: Origin,
}

/// How a stream came to be captured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The capture began in it, into a new graph.
    NewGraph,
    /// The capture began in it, into a graph of the program.
    OwnGraph,
    /// It has waited for an event of the capture.
    Joined,
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
    /// The nodes behind which the next captured one comes: a program has a pointer to them.
    last_nodes: Mutex<LastNodes>,
}

/// Nodes, and the data of the edges from them: none has any.
#[derive(Debug, Default)]
struct LastNodes {
    nodes: Box<[Handle]>,
    data: Box<[u64]>,
}

/// An event.
#[derive(Debug)]
pub(crate) struct Event {
    pub(crate) context: Handle,
    pub(crate) flags: u32,
    pub(crate) recorded: Mutex<Option<Instant>>,
    captured: Mutex<Option<Captured>>,
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

    /// # Errors
    /// `CUDA_ERROR_CAPTURED_EVENT` where it was recorded in a captured stream: no work that it
    /// could wait for. The capture is invalid then.
    pub(crate) fn check_not_captured(&self) -> Result {
        match &*lock(&self.captured) {
            Some(captured) => captured.refuse(Code::CAPTURED_EVENT),
            None => Ok(()),
        }
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

    /// Where the program finds the nodes, and the data of the edges from them, until the next call;
    /// null for none.
    pub(crate) fn last_nodes(&self, nodes: Vec<Handle>) -> (*const Handle, *const u64) {
        let mut kept = lock(&self.last_nodes);
        *kept = LastNodes {
            data: vec![0; nodes.len()].into_boxed_slice(),
            nodes: nodes.into_boxed_slice(),
        };
        match kept.nodes.is_empty() {
            true => (std::ptr::null(), std::ptr::null()),
            false => (kept.nodes.as_ptr(), kept.data.as_ptr()),
        }
    }

    pub(crate) fn captured(&self) -> Option<Captured> {
        lock(&self.capture).as_ref().map(|one| one.captured.clone())
    }

    /// # Errors
    /// `CUDA_ERROR_ILLEGAL_STATE` where the stream is being captured already.
    pub(crate) fn begin_capture(&self, into: Nodes, mode: Mode, origin: Origin) -> Result {
        let mut capture = lock(&self.capture);
        if capture.is_some() {
            return Err(Code::ILLEGAL_STATE);
        }
        *capture = Some(Capture {
            captured: Captured::begin(into, mode),
            origin,
        });
        Ok(())
    }
}

/// The handles of the default stream, the legacy one and that of the thread.
const DEFAULT_STREAMS: [Handle; 3] = [0, 1, OF_THREAD];
const OF_THREAD: Handle = 2;

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

/// The capture that a stream takes part in.
///
/// # Errors
/// Those of [`stream`].
pub(crate) fn captured(handle: Handle) -> Result<Option<Captured>> {
    Ok(awaited(handle)?.1.and_then(|stream| stream.captured()))
}

/// The current context, and the capture that work on a stream becomes part of.
///
/// # Errors
/// Those of [`stream`], and of [`capture::check_legacy`].
pub(crate) fn target(handle: Handle) -> Result<(Current, Option<Captured>)> {
    let (current, stream) = stream(handle)?;
    if stream.is_none() && handle != OF_THREAD {
        capture::check_legacy(current.driver, current.handle)?;
    }
    Ok((current, stream.and_then(|stream| stream.captured())))
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
    let (current, captured) = target(handle)?;
    match captured {
        Some(captured) => {
            let operation = Operation::new(kind, work);
            captured.append(current.driver, operation).map(drop)
        }
        None => work(),
    }
}

/// # Errors
/// Those of [`stream`], or `CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED`: what waits cannot be captured,
/// and the capture is invalid then. On the legacy stream also as [`capture::check_legacy`].
pub(crate) fn synchronise(handle: Handle) -> Result {
    let (current, stream) = awaited(handle)?;
    match stream {
        None if handle == OF_THREAD => Ok(()),
        None => capture::check_legacy(current.driver, current.handle),
        Some(stream) => match stream.captured() {
            Some(captured) => {
                captured.check()?;
                captured.refuse(Code::STREAM_CAPTURE_UNSUPPORTED)
            }
            None => Ok(()),
        },
    }
}

/// # Errors
/// Those of [`stream`], `CUDA_ERROR_INVALID_HANDLE`, or
/// `CUDA_ERROR_STREAM_CAPTURE_INVALIDATED`.
pub(crate) fn record(event: Handle, on: Handle) -> Result {
    let (current, stream) = awaited(on)?;
    let event = current.driver.events.get(event)?;
    let captured = stream.and_then(|stream| stream.captured());
    match &captured {
        Some(captured) => captured.check()?,
        None => event.record(),
    }
    *lock(&event.captured) = captured.map(|captured| captured.fork());
    Ok(())
}

/// # Errors
/// Those of [`stream`], `CUDA_ERROR_INVALID_HANDLE`, and where the stream or the event is captured:
/// `CUDA_ERROR_STREAM_CAPTURE_MERGE` for two captures, `CUDA_ERROR_STREAM_CAPTURE_ISOLATION` for
/// work that is in none, `CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED` for the default stream,
/// `CUDA_ERROR_STREAM_CAPTURE_INVALIDATED`, `CUDA_ERROR_CAPTURED_EVENT` for an event of a capture
/// that has ended.
pub(crate) fn wait(on: Handle, event: Handle) -> Result {
    let (current, stream) = awaited(on)?;
    let event = current.driver.events.get(event)?;
    let captured = lock(&event.captured).clone();
    let own = stream.as_ref().and_then(|stream| stream.captured());
    if let Some(own) = &own {
        own.check()?;
    }
    let Some(captured) = captured else {
        // What was recorded has run, but is no part of a graph.
        return match own {
            Some(own) if lock(&event.recorded).is_some() => {
                own.refuse(Code::STREAM_CAPTURE_ISOLATION)
            }
            _ => Ok(()),
        };
    };
    if captured.has_ended() {
        return Err(Code::CAPTURED_EVENT);
    }
    captured.check()?;
    match (stream, own) {
        (_, Some(own)) if own.is_of(&captured) => own.await_nodes(&captured.dependencies(), true),
        (_, Some(own)) => own.refuse(Code::STREAM_CAPTURE_MERGE),
        (None, None) => captured.refuse(Code::STREAM_CAPTURE_UNSUPPORTED),
        (Some(stream), None) => {
            *lock(&stream.capture) = Some(Capture {
                captured: captured.fork(),
                origin: Origin::Joined,
            });
            Ok(())
        }
    }
}

/// Ends a capture, and gives the graph's handle.
///
/// # Errors
/// `CUDA_ERROR_ILLEGAL_STATE` where there is none, `CUDA_ERROR_STREAM_CAPTURE_UNMATCHED` where it
/// began in another stream, `CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD` in another thread. Where it is
/// invalid (`CUDA_ERROR_STREAM_CAPTURE_INVALIDATED`), or work of a stream comes behind the last of
/// this one (`CUDA_ERROR_STREAM_CAPTURE_UNJOINED`), it ends, and there is no graph.
pub(crate) fn end_capture(handle: Handle) -> Result<Handle> {
    let (current, stream) = stream(handle)?;
    let stream = stream.ok_or(Code::ILLEGAL_STATE)?;
    let (ended, origin) = {
        let capture = lock(&stream.capture);
        let ended = capture.as_ref().ok_or(Code::ILLEGAL_STATE)?;
        if ended.origin == Origin::Joined {
            return Err(Code::STREAM_CAPTURE_UNMATCHED);
        }
        ended.captured.check_thread()?;
        (ended.captured.clone(), ended.origin)
    };
    let driver = current.driver;
    let mut is_joined = true;
    // Streams that joined the capture are free again.
    for other in driver.streams.all() {
        let mut capture = lock(&other.capture);
        if let Some(one) = capture.take_if(|one| one.captured.is_of(&ended)) {
            is_joined &= ended.comes_behind(&one.captured);
        }
    }
    ended.end();
    let graph = driver.graph_of(ended.nodes());
    let result = match is_joined {
        true => ended.check(),
        false => ended.check().and(Err(Code::STREAM_CAPTURE_UNJOINED)),
    };
    if result.is_err() && origin == Origin::NewGraph {
        driver.destroy_graph(graph)?;
    }
    result.map(|()| graph)
}
