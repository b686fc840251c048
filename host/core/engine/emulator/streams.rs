//! Streams of the emulator: whatever is put on one has run when the call returns.

use super::EmulatorEngine;
use crate::engine::Engine;
use crate::engine::streams::{EventId, StreamId, Streams};
use crate::error::EngineError;
use crate::launch::{DevicePtr, Launch};
use crate::sync::lock;
use std::ffi::c_void;
use std::ptr::NonNull;
use std::time::Instant;

impl Streams for EmulatorEngine {
    fn open_stream(&self) -> Result<StreamId, EngineError> {
        // Number 0 is the engine's own.
        Ok(StreamId(lock(&self.streams).insert(()) + 1))
    }

    fn close_stream(&self, StreamId(number): StreamId) {
        if let Some(index) = number.checked_sub(1) {
            lock(&self.streams).remove(index);
        }
    }

    unsafe fn enqueue_on(&self, _: StreamId, launch: &Launch<'_>) -> Result<(), EngineError> {
        // SAFETY: the same contract.
        unsafe { self.run(launch) }
    }

    fn fill_on(
        &self,
        _: StreamId,
        to: DevicePtr,
        bytes: usize,
        value: u8,
    ) -> Result<(), EngineError> {
        self.fill(to, bytes, value)
    }

    fn copy_on(
        &self,
        _: StreamId,
        to: DevicePtr,
        from: DevicePtr,
        bytes: usize,
    ) -> Result<(), EngineError> {
        let mut content = vec![0; bytes];
        self.download(&mut content, from)?;
        self.upload(to, &content)
    }

    unsafe fn upload_on(
        &self,
        _: StreamId,
        to: DevicePtr,
        from: NonNull<u8>,
        bytes: usize,
    ) -> Result<(), EngineError> {
        // SAFETY: the caller vouches for the bytes.
        self.upload(to, unsafe {
            std::slice::from_raw_parts(from.as_ptr(), bytes)
        })
    }

    unsafe fn download_on(
        &self,
        _: StreamId,
        to: NonNull<u8>,
        from: DevicePtr,
        bytes: usize,
    ) -> Result<(), EngineError> {
        // SAFETY: the caller vouches for the bytes.
        let to = unsafe { std::slice::from_raw_parts_mut(to.as_ptr(), bytes) };
        self.download(to, from)
    }

    fn raw_stream(&self, _: StreamId) -> Result<Option<NonNull<c_void>>, EngineError> {
        Ok(None)
    }

    fn synchronize_stream(&self, _: StreamId) -> Result<(), EngineError> {
        Ok(())
    }

    fn open_event(&self) -> Result<EventId, EngineError> {
        Ok(EventId(lock(&self.events).insert(None)))
    }

    fn close_event(&self, EventId(number): EventId) {
        lock(&self.events).remove(number);
    }

    fn record(&self, EventId(number): EventId, _: StreamId) -> Result<(), EngineError> {
        lock(&self.events).replace(number, Some(Instant::now()))
    }

    fn wait(&self, _: StreamId, _: EventId) -> Result<(), EngineError> {
        Ok(())
    }

    fn is_reached(&self, event: EventId) -> Result<bool, EngineError> {
        Ok(self.time_of(event)?.is_some())
    }

    fn synchronize_event(&self, _: EventId) -> Result<(), EngineError> {
        Ok(())
    }

    fn elapsed_ms(&self, start: EventId, stop: EventId) -> Result<f64, EngineError> {
        match (self.time_of(start)?, self.time_of(stop)?) {
            (Some(start), Some(stop)) if start <= stop => {
                Ok(stop.duration_since(start).as_secs_f64() * 1e3)
            }
            (Some(start), Some(stop)) => Ok(-start.duration_since(stop).as_secs_f64() * 1e3),
            _ => Err(EngineError::Driver {
                call: "elapsed_ms",
                message: "an event was not recorded".to_owned(),
            }),
        }
    }
}

impl EmulatorEngine {
    /// When an event was recorded.
    fn time_of(&self, EventId(number): EventId) -> Result<Option<Instant>, EngineError> {
        lock(&self.events).get("event", number).copied()
    }
}
