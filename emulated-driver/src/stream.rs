//! Streams, events and graphs. What is put on a stream runs at once, in the calling thread, unless
//! the stream is being captured: then it becomes part of a graph.

use std::sync::{Arc, Mutex};
use std::time::Instant;

use crate::code::{Code, Result};
use crate::context::{Current, current};
use crate::state::{Handle, lock};

/// Work that can run any number of times.
pub(crate) type Work = Arc<dyn Fn() -> Result + Send + Sync>;

/// What a capture has collected, in an order that respects all dependencies: that of the calls.
#[derive(Clone, Default)]
pub(crate) struct Captured(Arc<Mutex<Vec<Work>>>);

impl std::fmt::Debug for Captured {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} operations", lock(&self.0).len())
    }
}

impl Captured {
    fn push(&self, work: Work) {
        lock(&self.0).push(work);
    }

    pub(crate) fn len(&self) -> usize {
        lock(&self.0).len()
    }

    fn is(&self, other: &Captured) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Runs all of it.
    pub(crate) fn run(&self) -> Result {
        let works = lock(&self.0).clone();
        works.iter().try_for_each(|work| work())
    }
}

/// A graph, or one that is ready to be launched.
#[derive(Debug)]
pub(crate) struct Graph {
    pub(crate) captured: Captured,
}

#[derive(Debug)]
struct Capture {
    into: Captured,
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
        }
    }

    pub(crate) fn captured(&self) -> Option<Captured> {
        lock(&self.capture).as_ref().map(|one| one.into.clone())
    }

    /// # Errors
    /// `CUDA_ERROR_ILLEGAL_STATE` where the stream is being captured already.
    pub(crate) fn begin_capture(&self) -> Result {
        let mut capture = lock(&self.capture);
        if capture.is_some() {
            return Err(Code::ILLEGAL_STATE);
        }
        *capture = Some(Capture {
            into: Captured::default(),
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
    if DEFAULT_STREAMS.contains(&handle) {
        return Ok((current, None));
    }
    let stream = current.driver.streams.get(handle)?;
    let context = current.driver.contexts.get(stream.context);
    let context = context.map_err(|_| Code::CONTEXT_IS_DESTROYED)?;
    if let Some(code) = *lock(&context.sticky) {
        return Err(code);
    }
    let (driver, handle) = (current.driver, stream.context);
    let of_stream = Current {
        driver,
        handle,
        context,
    };
    Ok((of_stream, Some(stream)))
}

/// Runs work on a stream, or adds it to the graph that the stream is captured into.
///
/// # Errors
/// Those of [`stream`] and of the work.
pub(crate) fn submit(handle: Handle, work: Work) -> Result {
    let (_, stream) = stream(handle)?;
    match stream.and_then(|stream| stream.captured()) {
        Some(captured) => {
            captured.push(work);
            Ok(())
        }
        None => work(),
    }
}

/// # Errors
/// Those of [`stream`], or `CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED`: what waits cannot be captured.
pub(crate) fn synchronise(handle: Handle) -> Result {
    match stream(handle)?.1.and_then(|stream| stream.captured()) {
        Some(_) => Err(Code::STREAM_CAPTURE_UNSUPPORTED),
        None => Ok(()),
    }
}

/// # Errors
/// Those of [`stream`], or `CUDA_ERROR_INVALID_HANDLE`.
pub(crate) fn record(event: Handle, on: Handle) -> Result {
    let (current, stream) = stream(on)?;
    let event = current.driver.events.get(event)?;
    let captured = stream.and_then(|stream| stream.captured());
    if captured.is_none() {
        *lock(&event.recorded) = Some(Instant::now());
    }
    *lock(&event.captured) = captured;
    Ok(())
}

/// # Errors
/// Those of [`stream`], or `CUDA_ERROR_INVALID_HANDLE`.
pub(crate) fn wait(on: Handle, event: Handle) -> Result {
    let (current, stream) = stream(on)?;
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
            Ok(driver.graphs.insert(Graph {
                captured: ended.into,
            }))
        }
    }
}
