//! Streams of work, and events in them.

use crate::error::EngineError;
use crate::launch::{DevicePtr, Launch};
use std::ffi::c_void;
use std::ptr::NonNull;

/// A stream of an engine: what is put on it runs in that order. Nothing is said about the order of
/// two streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StreamId(pub usize);

impl StreamId {
    /// The engine's own stream, which is always there: [`Engine::enqueue`](super::Engine::enqueue)
    /// uses it.
    pub const OWN: StreamId = StreamId(0);
}

/// A mark that is put on a stream, and reached when everything before it has run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct EventId(pub usize);

/// Lines of a copy between host and device, all of the same length. In the device's memory they lie
/// behind each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lines {
    /// Bytes of a line.
    pub bytes: usize,
    /// How many.
    pub count: usize,
    /// Bytes from the start of a line to that of the next one, in the host's memory.
    pub pitch: usize,
}

impl Lines {
    /// Where each line starts: in the host's memory, and in the device's.
    pub fn starts(self) -> impl Iterator<Item = [usize; 2]> {
        (0..self.count).map(move |line| [line * self.pitch, line * self.bytes])
    }
}

/// An engine with any number of streams, and events.
///
/// The emulator has them as well: it runs what is put on a stream at once, so every event is
/// reached when it is recorded, and the time between two of them is wall-clock time.
///
/// Copies between host and device, and memory that is freed, wait for all streams.
pub trait Streams {
    /// Opens a stream.
    ///
    /// # Errors
    /// Where the driver has no more.
    fn open_stream(&self) -> Result<StreamId, EngineError>;

    /// Waits for a stream and closes it.
    fn close_stream(&self, stream: StreamId);

    /// Puts a launch on a stream.
    ///
    /// # Errors
    /// As [`Engine::enqueue`](super::Engine::enqueue).
    ///
    /// # Safety
    /// As [`Engine::enqueue`](super::Engine::enqueue).
    unsafe fn enqueue_on(&self, stream: StreamId, launch: &Launch<'_>) -> Result<(), EngineError>;

    /// Puts a copy inside of device memory on a stream.
    ///
    /// # Errors
    /// Where the ranges are not inside of allocations.
    fn copy_on(
        &self,
        stream: StreamId,
        to: DevicePtr,
        from: DevicePtr,
        bytes: usize,
    ) -> Result<(), EngineError>;

    /// Puts a copy from the host to the device on a stream.
    ///
    /// # Errors
    /// Where the device's range is not inside of an allocation.
    ///
    /// # Safety
    /// `from` is the start of `bytes` readable bytes, which stay as they are until the copy has
    /// run. Only from page-locked memory it runs beside other work.
    unsafe fn upload_on(
        &self,
        stream: StreamId,
        to: DevicePtr,
        from: NonNull<u8>,
        bytes: usize,
    ) -> Result<(), EngineError>;

    /// Puts a copy from the device to the host on a stream.
    ///
    /// # Errors
    /// Where the device's range is not inside of an allocation.
    ///
    /// # Safety
    /// `to` is the start of `bytes` writable bytes, which nothing else uses until the copy has run.
    unsafe fn download_on(
        &self,
        stream: StreamId,
        to: NonNull<u8>,
        from: DevicePtr,
        bytes: usize,
    ) -> Result<(), EngineError>;

    /// Puts a copy of lines from the host to the device on a stream.
    ///
    /// # Errors
    /// As [`upload_on`](Self::upload_on).
    ///
    /// # Safety
    /// As [`upload_on`](Self::upload_on), for all lines from `from` on.
    unsafe fn upload_lines_on(
        &self,
        stream: StreamId,
        to: DevicePtr,
        from: NonNull<u8>,
        lines: Lines,
    ) -> Result<(), EngineError> {
        for [there, here] in lines.starts() {
            // SAFETY: the caller vouches for every line.
            unsafe {
                let to = DevicePtr(to.0 + here as u64);
                self.upload_on(stream, to, from.add(there), lines.bytes)?;
            }
        }
        Ok(())
    }

    /// Puts a copy of lines from the device to the host on a stream.
    ///
    /// # Errors
    /// As [`download_on`](Self::download_on).
    ///
    /// # Safety
    /// As [`download_on`](Self::download_on), for all lines from `to` on.
    unsafe fn download_lines_on(
        &self,
        stream: StreamId,
        to: NonNull<u8>,
        from: DevicePtr,
        lines: Lines,
    ) -> Result<(), EngineError> {
        for [there, here] in lines.starts() {
            // SAFETY: the caller vouches for every line.
            unsafe {
                let from = DevicePtr(from.0 + here as u64);
                self.download_on(stream, to.add(there), from, lines.bytes)?;
            }
        }
        Ok(())
    }

    /// The driver's handle of a stream (a `CUstream`), whose context this makes current in the
    /// calling thread; `None` where there is no driver.
    ///
    /// # Errors
    /// Where the context cannot be used any more, or there is no such stream.
    fn raw_stream(&self, stream: StreamId) -> Result<Option<NonNull<c_void>>, EngineError>;

    /// Writes one value into `bytes` bytes of device memory, in the order of a stream.
    ///
    /// # Errors
    /// Where the range is not inside of an allocation.
    fn fill_on(
        &self,
        stream: StreamId,
        to: DevicePtr,
        bytes: usize,
        value: u8,
    ) -> Result<(), EngineError>;

    /// Waits for what was put on a stream.
    ///
    /// # Errors
    /// [`EngineError::Launch`] where a kernel failed.
    fn synchronize_stream(&self, stream: StreamId) -> Result<(), EngineError>;

    /// Makes an event.
    ///
    /// # Errors
    /// Where the driver has no more.
    fn open_event(&self) -> Result<EventId, EngineError>;

    /// Gives an event back.
    fn close_event(&self, event: EventId);

    /// Puts an event on a stream; it is no longer where it was before.
    ///
    /// # Errors
    /// What the driver refuses.
    fn record(&self, event: EventId, stream: StreamId) -> Result<(), EngineError>;

    /// Makes what is put on a stream from now on wait for an event.
    ///
    /// # Errors
    /// What the driver refuses.
    fn wait(&self, stream: StreamId, event: EventId) -> Result<(), EngineError>;

    /// Whether an event was reached.
    ///
    /// # Errors
    /// [`EngineError::Launch`] where a kernel failed.
    fn is_reached(&self, event: EventId) -> Result<bool, EngineError>;

    /// Waits until an event is reached.
    ///
    /// # Errors
    /// [`EngineError::Launch`] where a kernel failed.
    fn synchronize_event(&self, event: EventId) -> Result<(), EngineError>;

    /// Milliseconds between two events that were reached.
    ///
    /// # Errors
    /// Where one of them was not.
    fn elapsed_ms(&self, start: EventId, stop: EventId) -> Result<f64, EngineError>;
}

/// Things by number; a number is used again after its thing is gone.
pub(super) struct Slots<T>(Vec<Option<T>>);

impl<T> Default for Slots<T> {
    fn default() -> Self {
        Slots(Vec::new())
    }
}

impl<T> Slots<T> {
    /// Keeps a thing, and returns its number.
    pub(super) fn insert(&mut self, thing: T) -> usize {
        match self.0.iter().position(Option::is_none) {
            Some(free) => {
                self.0[free] = Some(thing);
                free
            }
            None => {
                self.0.push(Some(thing));
                self.0.len() - 1
            }
        }
    }

    /// The thing of this number.
    ///
    /// # Errors
    /// Where there is none.
    pub(super) fn get(&self, what: &str, number: usize) -> Result<&T, EngineError> {
        self.0.get(number).and_then(Option::as_ref).ok_or_else(|| {
            EngineError::Unavailable(format!("{what} {number} is not one of this engine"))
        })
    }

    /// Puts another thing in the place of the one of this number.
    ///
    /// # Errors
    /// Where there is none.
    pub(super) fn replace(&mut self, number: usize, thing: T) -> Result<(), EngineError> {
        self.get("event", number)?;
        self.0[number] = Some(thing);
        Ok(())
    }

    /// Whether there is nothing.
    #[cfg(gpu)]
    pub(super) fn is_empty(&self) -> bool {
        self.0.iter().all(Option::is_none)
    }

    /// Takes the thing of this number away.
    pub(super) fn remove(&mut self, number: usize) -> Option<T> {
        self.0.get_mut(number)?.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_used_again() {
        let mut slots = Slots::default();
        assert_eq!([slots.insert('a'), slots.insert('b')], [0, 1]);
        assert_eq!(slots.remove(0), Some('a'));
        assert_eq!(slots.remove(0), None);
        assert!(slots.get("event", 0).is_err() && slots.get("event", 7).is_err());
        assert_eq!(slots.insert('c'), 0);
        assert_eq!(slots.get("event", 0).unwrap(), &'c');
        slots.replace(0, 'd').unwrap();
        assert_eq!(slots.remove(0), Some('d'));
        assert!(slots.replace(0, 'e').is_err());
    }
}
