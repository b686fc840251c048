//! Where work is put: a stream of an engine. Events mark places in streams.

use super::Error;
use crate::engine::Engine;
use crate::engine::streams::{EventId, Lines, StreamId, Streams};
use crate::error::EngineError;
use crate::launch::{DevicePtr, Launch};
use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A stream of an engine: its own, or another one.
#[derive(Clone)]
pub(super) struct Queue {
    pub(super) engine: Arc<dyn Engine>,
    stream: Option<Arc<Stream>>,
}

/// A stream beside the engine's own. It is waited for and closed with the value.
struct Stream {
    engine: Arc<dyn Engine>,
    id: StreamId,
}

impl Queue {
    /// The engine's own stream.
    pub(super) fn own(engine: Arc<dyn Engine>) -> Self {
        Queue {
            engine,
            stream: None,
        }
    }

    /// Another stream of the same engine.
    pub(super) fn another(&self) -> Result<Self, EngineError> {
        let id = streams(&*self.engine)?.open_stream()?;
        let engine = Arc::clone(&self.engine);
        Ok(Queue {
            engine: Arc::clone(&engine),
            stream: Some(Arc::new(Stream { engine, id })),
        })
    }

    pub(super) fn id(&self) -> StreamId {
        self.stream
            .as_ref()
            .map_or(StreamId::OWN, |stream| stream.id)
    }

    /// Starts a launch.
    ///
    /// # Safety
    /// As [`Engine::enqueue`].
    pub(super) unsafe fn enqueue(&self, launch: &Launch<'_>) -> Result<(), EngineError> {
        match &self.stream {
            // SAFETY: the same contract.
            None => unsafe { self.engine.enqueue(launch) },
            // SAFETY: the same contract.
            Some(stream) => unsafe { streams(&*self.engine)?.enqueue_on(stream.id, launch) },
        }
    }

    /// Writes one value into `bytes` bytes, in the order of this stream.
    pub(super) fn fill(&self, to: DevicePtr, bytes: usize, value: u8) -> Result<(), EngineError> {
        match &self.stream {
            None => self.engine.fill(to, bytes, value),
            Some(stream) => streams(&*self.engine)?.fill_on(stream.id, to, bytes, value),
        }
    }

    /// Starts a copy to the device.
    ///
    /// # Safety
    /// As [`Streams::upload_on`].
    pub(super) unsafe fn upload(
        &self,
        to: DevicePtr,
        from: NonNull<u8>,
        bytes: usize,
    ) -> Result<(), EngineError> {
        // SAFETY: the same contract.
        unsafe { streams(&*self.engine)?.upload_on(self.id(), to, from, bytes) }
    }

    /// Starts a copy to the host.
    ///
    /// # Safety
    /// As [`Streams::download_on`].
    pub(super) unsafe fn download(
        &self,
        to: NonNull<u8>,
        from: DevicePtr,
        bytes: usize,
    ) -> Result<(), EngineError> {
        // SAFETY: the same contract.
        unsafe { streams(&*self.engine)?.download_on(self.id(), to, from, bytes) }
    }

    /// Starts a copy of lines to the device.
    ///
    /// # Safety
    /// As [`Streams::upload_lines_on`].
    pub(super) unsafe fn upload_lines(
        &self,
        to: DevicePtr,
        from: NonNull<u8>,
        lines: Lines,
    ) -> Result<(), EngineError> {
        // SAFETY: the same contract.
        unsafe { streams(&*self.engine)?.upload_lines_on(self.id(), to, from, lines) }
    }

    /// Starts a copy of lines to the host.
    ///
    /// # Safety
    /// As [`Streams::download_lines_on`].
    pub(super) unsafe fn download_lines(
        &self,
        to: NonNull<u8>,
        from: DevicePtr,
        lines: Lines,
    ) -> Result<(), EngineError> {
        // SAFETY: the same contract.
        unsafe { streams(&*self.engine)?.download_lines_on(self.id(), to, from, lines) }
    }

    /// The driver's handle of the stream, where it has one.
    pub(super) fn raw(&self) -> Result<Option<NonNull<c_void>>, EngineError> {
        match self.engine.streams() {
            None => Ok(None),
            Some(streams) => streams.raw_stream(self.id()),
        }
    }

    pub(super) fn copy(
        &self,
        to: DevicePtr,
        from: DevicePtr,
        bytes: usize,
    ) -> Result<(), EngineError> {
        streams(&*self.engine)?.copy_on(self.id(), to, from, bytes)
    }

    pub(super) fn synchronize(&self) -> Result<(), EngineError> {
        match self.engine.streams() {
            None => self.engine.synchronize(),
            Some(streams) => streams.synchronize_stream(self.id()),
        }
    }

    pub(super) fn event(&self) -> Result<Event, EngineError> {
        Ok(Event {
            id: streams(&*self.engine)?.open_event()?,
            engine: Arc::clone(&self.engine),
            recorded: AtomicBool::new(false),
        })
    }

    pub(super) fn record(&self, event: &Event) -> Result<(), Error> {
        event.check_engine(&self.engine)?;
        streams(&*self.engine)?.record(event.id, self.id())?;
        event.recorded.store(true, Ordering::Release);
        Ok(())
    }

    pub(super) fn wait(&self, event: &Event) -> Result<(), Error> {
        event.check_engine(&self.engine)?;
        event.check_recorded()?;
        Ok(streams(&*self.engine)?.wait(self.id(), event.id)?)
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        if let Some(streams) = self.engine.streams() {
            streams.close_stream(self.id);
        }
    }
}

/// A mark in a stream of work: see [`Gpu::record`](super::Gpu::record). It is reached when
/// everything that was started on the stream before it has run.
pub struct Event {
    engine: Arc<dyn Engine>,
    id: EventId,
    recorded: AtomicBool,
}

impl Event {
    /// Whether it was reached.
    ///
    /// # Errors
    /// [`Error::NotRecorded`], and what failed on the device.
    pub fn is_reached(&self) -> Result<bool, Error> {
        self.check_recorded()?;
        Ok(streams(&*self.engine)?.is_reached(self.id)?)
    }

    /// Waits until it is reached.
    ///
    /// # Errors
    /// [`Error::NotRecorded`], and what failed on the device.
    pub fn synchronize(&self) -> Result<(), Error> {
        self.check_recorded()?;
        Ok(streams(&*self.engine)?.synchronize_event(self.id)?)
    }

    /// Waits for both events, and returns the milliseconds from `start` to this one: by the
    /// device's clock on a GPU, to about half a microsecond; wall-clock time on the emulator.
    ///
    /// # Errors
    /// [`Error::NotRecorded`], [`Error::WrongDevice`], and what failed on the device.
    pub fn elapsed_ms_since(&self, start: &Event) -> Result<f64, Error> {
        start.check_engine(&self.engine)?;
        start.synchronize()?;
        self.synchronize()?;
        Ok(streams(&*self.engine)?.elapsed_ms(start.id, self.id)?)
    }

    fn check_engine(&self, engine: &Arc<dyn Engine>) -> Result<(), Error> {
        if Arc::ptr_eq(&self.engine, engine) {
            Ok(())
        } else {
            Err(Error::WrongDevice { what: "the event" })
        }
    }

    fn check_recorded(&self) -> Result<(), Error> {
        if self.recorded.load(Ordering::Acquire) {
            Ok(())
        } else {
            Err(Error::NotRecorded)
        }
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        if let Some(streams) = self.engine.streams() {
            streams.close_event(self.id);
        }
    }
}

/// The streams and events of an engine.
fn streams(engine: &dyn Engine) -> Result<&dyn Streams, EngineError> {
    engine.streams().ok_or_else(|| {
        EngineError::Unavailable(
            "this engine has one stream and no events: use the GPU or the emulator".to_owned(),
        )
    })
}
