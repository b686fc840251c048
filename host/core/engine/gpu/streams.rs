//! Streams and events of the driver.

use super::{EARLIER, GpuEngine, refused};
use crate::engine::streams::{EventId, Lines, StreamId, Streams};
use crate::error::EngineError;
use crate::launch::{DevicePtr, Launch};
use crate::sync::{read, write};
use cuda_driver::{Event, Stream, memory};
use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::Arc;

impl GpuEngine {
    /// Calls `action` with a stream, in the engine's context.
    fn on_stream<R>(
        &self,
        StreamId(number): StreamId,
        action: impl FnOnce(&Stream) -> Result<R, EngineError>,
    ) -> Result<R, EngineError> {
        self.enter()?;
        match number.checked_sub(1) {
            None => action(&self.stream),
            Some(index) => {
                let stream = Arc::clone(read(&self.streams).get("stream", index)?);
                action(&stream)
            }
        }
    }

    /// Calls `action` with an event, in the engine's context.
    fn with_event<R>(
        &self,
        EventId(number): EventId,
        action: impl FnOnce(&Event) -> Result<R, EngineError>,
    ) -> Result<R, EngineError> {
        self.enter()?;
        let event = Arc::clone(read(&self.events).get("event", number)?);
        action(&event)
    }
}

/// Copies that the driver takes, with where each starts on both sides: lines that are further apart
/// than it takes go one by one.
fn copies(lines: Lines) -> impl Iterator<Item = (usize, u64, memory::Lines)> {
    /// `CU_DEVICE_ATTRIBUTE_MAX_PITCH`, which is the same on all devices.
    const MAX_PITCH: usize = i32::MAX as usize;
    let Lines { bytes, pitch, .. } = lines;
    let (pitch, at_once) = match pitch <= MAX_PITCH {
        true => (pitch, lines.count.max(1)),
        false => (bytes, 1),
    };
    let starts = lines.starts().step_by(at_once);
    starts.map(move |[there, here]| {
        let count = at_once.min(lines.count);
        let lines = memory::Lines {
            bytes,
            count,
            pitch,
        };
        (there, here as u64, lines)
    })
}

impl Streams for GpuEngine {
    fn open_stream(&self) -> Result<StreamId, EngineError> {
        self.enter()?;
        // SAFETY: the stream stays inside the engine, whose fields are declared so that it is
        // dropped before the context.
        let stream = unsafe { Stream::new() }.map_err(|error| refused(&error))?;
        // Number 0 is the engine's own.
        Ok(StreamId(write(&self.streams).insert(Arc::new(stream)) + 1))
    }

    fn close_stream(&self, stream: StreamId) {
        // An error of what ran there comes out where it is waited for.
        _ = self.synchronize_stream(stream);
        if let Some(index) = stream.0.checked_sub(1) {
            write(&self.streams).remove(index);
        }
    }

    unsafe fn enqueue_on(&self, stream: StreamId, launch: &Launch<'_>) -> Result<(), EngineError> {
        self.on_stream(stream, |stream| {
            // SAFETY: the same contract.
            self.with_kernel(launch, |kernel| unsafe {
                self.queue(stream, kernel, launch)
            })
        })
    }

    fn copy_on(
        &self,
        stream: StreamId,
        to: DevicePtr,
        from: DevicePtr,
        bytes: usize,
    ) -> Result<(), EngineError> {
        const CALL: &str = "cuMemcpyDtoDAsync";
        self.on_stream(stream, |stream| {
            self.check_range(CALL, to, bytes)?;
            self.check_range(CALL, from, bytes)?;
            // SAFETY: both ranges are device memory that is allocated; they stay so while the
            // caller's buffers live, whose release waits for the device.
            unsafe { memory::copy_on(stream, to.0, from.0, bytes) }.map_err(|error| refused(&error))
        })
    }

    unsafe fn upload_on(
        &self,
        stream: StreamId,
        to: DevicePtr,
        from: NonNull<u8>,
        bytes: usize,
    ) -> Result<(), EngineError> {
        self.on_stream(stream, |stream| {
            self.check_range("cuMemcpyHtoDAsync", to, bytes)?;
            // SAFETY: the device's range is allocated, and its release waits for the device; the
            // caller vouches for the host's.
            unsafe { memory::upload_on(stream, to.0, from.as_ptr(), bytes) }
                .map_err(|error| refused(&error))
        })
    }

    unsafe fn upload_lines_on(
        &self,
        stream: StreamId,
        to: DevicePtr,
        from: NonNull<u8>,
        lines: Lines,
    ) -> Result<(), EngineError> {
        self.on_stream(stream, |stream| {
            self.check_range("cuMemcpy2DAsync", to, lines.bytes * lines.count)?;
            for (there, here, lines) in copies(lines) {
                // SAFETY: the device's range is allocated, and its release waits for the device;
                // the caller vouches for the host's.
                unsafe {
                    let from = from.as_ptr().add(there);
                    memory::upload_lines_on(stream, to.0 + here, from, lines)
                }
                .map_err(|error| refused(&error))?;
            }
            Ok(())
        })
    }

    unsafe fn download_lines_on(
        &self,
        stream: StreamId,
        to: NonNull<u8>,
        from: DevicePtr,
        lines: Lines,
    ) -> Result<(), EngineError> {
        self.on_stream(stream, |stream| {
            self.check_range("cuMemcpy2DAsync", from, lines.bytes * lines.count)?;
            for (there, here, lines) in copies(lines) {
                // SAFETY: the device's range is allocated, and its release waits for the device;
                // the caller vouches for the host's.
                unsafe {
                    let to = to.as_ptr().add(there);
                    memory::download_lines_on(stream, to, from.0 + here, lines)
                }
                .map_err(|error| refused(&error))?;
            }
            Ok(())
        })
    }

    unsafe fn download_on(
        &self,
        stream: StreamId,
        to: NonNull<u8>,
        from: DevicePtr,
        bytes: usize,
    ) -> Result<(), EngineError> {
        self.on_stream(stream, |stream| {
            self.check_range("cuMemcpyDtoHAsync", from, bytes)?;
            // SAFETY: the device's range is allocated, and its release waits for the device; the
            // caller vouches for the host's.
            unsafe { memory::download_on(stream, to.as_ptr(), from.0, bytes) }
                .map_err(|error| refused(&error))
        })
    }

    fn raw_stream(&self, stream: StreamId) -> Result<Option<NonNull<c_void>>, EngineError> {
        self.on_stream(stream, |stream| Ok(NonNull::new(stream.as_raw().cast())))
    }

    fn fill_on(
        &self,
        stream: StreamId,
        to: DevicePtr,
        bytes: usize,
        value: u8,
    ) -> Result<(), EngineError> {
        const CALL: &str = "cuMemsetD8Async";
        self.on_stream(stream, |stream| {
            self.check_range(CALL, to, bytes)?;
            // SAFETY: the range is device memory that is allocated; it stays so while the caller's
            // buffer lives, whose release waits for the device.
            unsafe { memory::fill_on(stream, to.0, value, bytes) }.map_err(|error| refused(&error))
        })
    }

    fn synchronize_stream(&self, stream: StreamId) -> Result<(), EngineError> {
        self.on_stream(stream, |stream| {
            let waited = stream.synchronize();
            waited.map_err(|error| self.work_failed(EARLIER, &error))
        })
    }

    fn open_event(&self) -> Result<EventId, EngineError> {
        self.enter()?;
        // SAFETY: the event stays inside the engine, whose fields are declared so that it is
        // dropped before the context.
        let event = unsafe { Event::new() }.map_err(|error| refused(&error))?;
        Ok(EventId(write(&self.events).insert(Arc::new(event))))
    }

    fn close_event(&self, EventId(number): EventId) {
        write(&self.events).remove(number);
    }

    fn record(&self, event: EventId, stream: StreamId) -> Result<(), EngineError> {
        self.on_stream(stream, |stream| {
            self.with_event(event, |event| {
                // SAFETY: the stream is one of this engine's context, as the event is.
                unsafe { event.record(stream.as_raw()) }.map_err(|error| refused(&error))
            })
        })
    }

    fn wait(&self, stream: StreamId, event: EventId) -> Result<(), EngineError> {
        self.on_stream(stream, |stream| {
            self.with_event(event, |event| {
                // SAFETY: the stream is one of this engine.
                unsafe { event.wait(stream.as_raw()) }.map_err(|error| refused(&error))
            })
        })
    }

    fn is_reached(&self, event: EventId) -> Result<bool, EngineError> {
        self.with_event(event, |event| {
            let reached = event.is_reached();
            reached.map_err(|error| self.work_failed(EARLIER, &error))
        })
    }

    fn synchronize_event(&self, event: EventId) -> Result<(), EngineError> {
        self.with_event(event, |event| {
            let waited = event.synchronize();
            waited.map_err(|error| self.work_failed(EARLIER, &error))
        })
    }

    fn elapsed_ms(&self, start: EventId, stop: EventId) -> Result<f64, EngineError> {
        self.with_event(start, |start| {
            self.with_event(stop, |stop| {
                let elapsed = stop.elapsed_ms_since(start);
                elapsed.map(f64::from).map_err(|error| refused(&error))
            })
        })
    }
}
