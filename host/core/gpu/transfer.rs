//! Copies of parts of arrays, at once or in the order of a stream.
//!
//! A GPU copies beside its kernels from and to page-locked memory alone ([`PinnedArray`]): see
//! "Asynchronous Concurrent Execution" in the CUDA programming guide.

use super::{DeviceArray, Error, Gpu};
use crate::engine::Engine;
use crate::engine::streams::Lines;
use crate::error::EngineError;
use crate::launch::DevicePtr;
use bytemuck::Pod;
use std::ffi::c_void;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut, Range};
use std::ptr::NonNull;
use std::sync::Arc;

/// Elements in page-locked memory of the host, which is freed with the value. The emulator has
/// ordinary memory in its place.
pub struct PinnedArray<T> {
    engine: Arc<dyn Engine>,
    memory: NonNull<u8>,
    len: usize,
    elements: PhantomData<T>,
}

// SAFETY: it owns its memory as a `Vec` does, and elements of `Pod` types may go anywhere; the
// engine is `Send` and `Sync`.
unsafe impl<T: Send> Send for PinnedArray<T> {}

// SAFETY: as for `Send`: shared, it is read alone.
unsafe impl<T: Sync> Sync for PinnedArray<T> {}

impl<T: Pod> PinnedArray<T> {
    fn new(engine: &Arc<dyn Engine>, len: usize) -> Result<Self, EngineError> {
        let bytes = len.saturating_mul(size_of::<T>()).max(1);
        let memory = engine.alloc_pinned(bytes)?;
        // SAFETY: `alloc_pinned` gives as many bytes, of which nothing else knows yet.
        unsafe { memory.write_bytes(0, bytes) };
        Ok(PinnedArray {
            engine: Arc::clone(engine),
            memory,
            len,
            elements: PhantomData,
        })
    }
}

impl<T> std::fmt::Debug for PinnedArray<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PinnedArray")
            .field("len", &self.len)
            .finish_non_exhaustive()
    }
}

impl<T: Pod> Deref for PinnedArray<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: the memory holds `len` elements, aligned to 64 bytes and initialised, for as long
        // as this value lives; any bytes are a value of a `Pod`.
        unsafe { std::slice::from_raw_parts(self.memory.cast().as_ptr(), self.len) }
    }
}

impl<T: Pod> DerefMut for PinnedArray<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: the memory holds `len` aligned and initialised elements, and is borrowed
        // exclusively with this value.
        unsafe { std::slice::from_raw_parts_mut(self.memory.cast().as_ptr(), self.len) }
    }
}

impl<T> Drop for PinnedArray<T> {
    fn drop(&mut self) {
        let bytes = self.len.saturating_mul(size_of::<T>()).max(1);
        // SAFETY: the memory is from `alloc_pinned` of this engine with as many bytes, and is not
        // used again: copies on streams have run (the contract of `upload_on_stream` and
        // `download_on_stream`).
        unsafe { self.engine.free_pinned(self.memory, bytes) };
    }
}

impl<T: Pod> DeviceArray<T> {
    /// Waits for what was started, and copies the elements from `start` on to the host.
    ///
    /// # Errors
    /// [`Error::Range`] where there are fewer, [`Error::Engine`] where a kernel failed before.
    pub fn read(&self, start: usize, values: &mut [T]) -> Result<(), Error> {
        let from = self.part(start, values.len())?;
        self.engine.synchronize()?;
        Ok(self
            .engine
            .download(bytemuck::cast_slice_mut(values), from)?)
    }

    /// Waits for what was started, and copies elements to the device, from `start` on.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn write(&mut self, start: usize, values: &[T]) -> Result<(), Error> {
        let to = self.part(start, values.len())?;
        self.engine.synchronize()?;
        Ok(self.engine.upload(to, bytemuck::cast_slice(values))?)
    }

    /// The address of `len` elements from `start` on.
    ///
    /// # Errors
    /// [`Error::Range`] where there are fewer.
    pub fn part(&self, start: usize, len: usize) -> Result<DevicePtr, Error> {
        within(start, len, self.len())?;
        Ok(DevicePtr(
            self.pointer().0 + (start * size_of::<T>()) as u64,
        ))
    }
}

/// A part of a matrix in page-locked memory: lines of `len` elements each, of which the first
/// starts at element `start`, and each other one `pitch` elements behind the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostLines {
    /// The first element.
    pub start: usize,
    /// Elements of a line.
    pub len: usize,
    /// How many lines.
    pub count: usize,
    /// Elements from the start of a line to that of the next one.
    pub pitch: usize,
}

impl HostLines {
    /// The elements of all lines, where they are inside of `of` elements.
    fn elements_within(self, of: usize) -> Result<usize, Error> {
        let HostLines {
            start,
            len,
            count,
            pitch,
        } = self;
        let last = count.saturating_sub(1).checked_mul(pitch);
        let end = last.and_then(|last| last.checked_add(if count == 0 { 0 } else { len }));
        within(start, end.unwrap_or(usize::MAX), of)?;
        // Lines may overlap: then they are more elements than there are.
        len.checked_mul(count).ok_or(Error::Range {
            start,
            len: usize::MAX,
            of,
        })
    }

    fn of_elements_of(self, bytes: usize) -> Lines {
        Lines {
            bytes: self.len * bytes,
            count: self.count,
            pitch: self.pitch * bytes,
        }
    }
}

/// Refuses a range that reaches beyond `of` elements.
fn within(start: usize, len: usize, of: usize) -> Result<(), Error> {
    match start.checked_add(len) {
        Some(end) if end <= of => Ok(()),
        _ => Err(Error::Range { start, len, of }),
    }
}

impl Gpu {
    /// `len` elements in page-locked memory, all bytes 0.
    ///
    /// # Errors
    /// [`Error::Engine`] where the system has too little.
    pub fn pinned<T: Pod>(&self, len: usize) -> Result<PinnedArray<T>, Error> {
        Ok(PinnedArray::new(&self.queue.engine, len)?)
    }

    /// Device memory that can still be allocated, in bytes.
    ///
    /// # Errors
    /// What the device refuses.
    pub fn free_memory(&self) -> Result<u64, Error> {
        Ok(self.queue.engine.free_memory()?)
    }

    /// Starts a copy of elements of `from` to the device, to `start` and behind, in the order of
    /// this stream.
    ///
    /// # Errors
    /// [`Error::Range`], [`Error::WrongDevice`], and what the device refuses.
    ///
    /// # Safety
    /// Until the copy has run, both arrays live, the elements of `from` are not written, and no
    /// other stream uses those of `to`.
    pub unsafe fn upload_on_stream<T: Pod>(
        &self,
        to: &mut DeviceArray<T>,
        start: usize,
        from: &PinnedArray<T>,
        range: Range<usize>,
    ) -> Result<(), Error> {
        let len = range.len();
        within(range.start, len, from.len())?;
        self.owns(to, "the array")?;
        let address = to.part(start, len)?;
        // SAFETY: both ranges were checked; the caller keeps them as they are.
        let started = unsafe {
            let from = from.memory.add(range.start * size_of::<T>());
            self.queue.upload(address, from, len * size_of::<T>())
        };
        Ok(started?)
    }

    /// Starts a copy of elements of a device array to the host, in the order of this stream.
    ///
    /// # Errors
    /// As [`upload_on_stream`](Self::upload_on_stream).
    ///
    /// # Safety
    /// Until the copy has run, both arrays live, the elements of `to` are not used, and no other
    /// stream writes those of `from`.
    pub unsafe fn download_on_stream<T: Pod>(
        &self,
        to: &mut PinnedArray<T>,
        start: usize,
        from: &DeviceArray<T>,
        range: Range<usize>,
    ) -> Result<(), Error> {
        let len = range.len();
        within(start, len, to.len())?;
        self.owns(from, "the array")?;
        let address = from.part(range.start, len)?;
        // SAFETY: both ranges were checked; the caller keeps them as they are.
        let started = unsafe {
            let to = to.memory.add(start * size_of::<T>());
            self.queue.download(to, address, len * size_of::<T>())
        };
        Ok(started?)
    }

    /// Starts a copy of lines of `from` to the device, in the order of this stream: they lie behind
    /// each other there, from element `start` on.
    ///
    /// # Errors
    /// As [`upload_on_stream`](Self::upload_on_stream).
    ///
    /// # Safety
    /// As [`upload_on_stream`](Self::upload_on_stream).
    pub unsafe fn upload_lines_on_stream<T: Pod>(
        &self,
        to: &mut DeviceArray<T>,
        start: usize,
        from: &PinnedArray<T>,
        lines: HostLines,
    ) -> Result<(), Error> {
        let len = lines.elements_within(from.len())?;
        self.owns(to, "the array")?;
        let address = to.part(start, len)?;
        // SAFETY: all lines were checked; the caller keeps them as they are.
        let started = unsafe {
            let from = from.memory.add(lines.start * size_of::<T>());
            let lines = lines.of_elements_of(size_of::<T>());
            self.queue.upload_lines(address, from, lines)
        };
        Ok(started?)
    }

    /// Starts a copy of elements of a device array, which lie behind each other from element
    /// `start` on, to lines of `to`, in the order of this stream.
    ///
    /// # Errors
    /// As [`upload_on_stream`](Self::upload_on_stream).
    ///
    /// # Safety
    /// As [`download_on_stream`](Self::download_on_stream).
    pub unsafe fn download_lines_on_stream<T: Pod>(
        &self,
        to: &mut PinnedArray<T>,
        lines: HostLines,
        from: &DeviceArray<T>,
        start: usize,
    ) -> Result<(), Error> {
        let len = lines.elements_within(to.len())?;
        self.owns(from, "the array")?;
        let address = from.part(start, len)?;
        // SAFETY: all lines were checked; the caller keeps them as they are.
        let started = unsafe {
            let to = to.memory.add(lines.start * size_of::<T>());
            let lines = lines.of_elements_of(size_of::<T>());
            self.queue.download_lines(to, address, lines)
        };
        Ok(started?)
    }

    /// Starts a copy between arrays of this device, in the order of this stream.
    ///
    /// # Errors
    /// [`Error::Range`], [`Error::WrongDevice`], and what the device refuses.
    pub fn copy<T: Pod>(
        &self,
        to: &mut DeviceArray<T>,
        start: usize,
        from: &DeviceArray<T>,
        range: Range<usize>,
    ) -> Result<(), Error> {
        self.owns(to, "the array")?;
        self.owns(from, "the array")?;
        let len = range.len();
        let (to, from) = (to.part(start, len)?, from.part(range.start, len)?);
        Ok(self.queue.copy(to, from, len * size_of::<T>())?)
    }

    /// The driver's handle of this stream (a `CUstream`), with its context current in the calling
    /// thread, for other libraries such as NCCL; `None` on the emulator. It is valid as long as
    /// this value or a clone of it lives.
    ///
    /// # Errors
    /// Where the context cannot be used any more.
    pub fn raw_stream(&self) -> Result<Option<NonNull<c_void>>, Error> {
        Ok(self.queue.raw()?)
    }

    fn owns<T: Pod>(&self, array: &DeviceArray<T>, what: &'static str) -> Result<(), Error> {
        match array.is_on(&self.queue.engine) {
            true => Ok(()),
            false => Err(Error::WrongDevice { what }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_go_both_ways_and_ranges_are_checked() {
        let gpu = Gpu::emulated();
        let mut array = gpu.upload(&[0.0f32; 7]).unwrap();
        array.write(2, &[1.0, 2.0, 3.0]).unwrap();
        let mut seen = [0.0; 2];
        array.read(3, &mut seen).unwrap();
        assert_eq!(seen, [2.0, 3.0]);
        let error = array.write(6, &[1.0, 2.0]).unwrap_err().to_string();
        assert!(error.contains("2 elements from 6 on"), "{error}");
        assert!(array.read(usize::MAX, &mut seen).is_err());

        let mut pinned = gpu.pinned::<f32>(5).unwrap();
        assert_eq!(&pinned[..], [0.0; 5]);
        pinned[1] = 9.0;
        let other = gpu.stream().unwrap();
        // SAFETY: the emulator has copied when the call returns.
        unsafe { other.upload_on_stream(&mut array, 6, &pinned, 1..2) }.unwrap();
        // SAFETY: the same.
        unsafe { other.download_on_stream(&mut pinned, 3, &array, 5..7) }.unwrap();
        assert_eq!(&pinned[..], [0.0, 9.0, 0.0, 0.0, 9.0]);
        // SAFETY: it is refused.
        let refused = unsafe { other.upload_on_stream(&mut array, 0, &pinned, 4..6) };
        assert!(refused.is_err());
        assert!(other.raw_stream().unwrap().is_none());

        // Two lines of two elements, four apart, of a matrix of 2 x 4 from its second column on.
        let mut matrix = gpu.pinned::<f32>(8).unwrap();
        for (at, value) in matrix.iter_mut().enumerate() {
            *value = at as f32;
        }
        let lines = HostLines {
            start: 1,
            len: 2,
            count: 2,
            pitch: 4,
        };
        // SAFETY: the emulator has copied when the call returns.
        unsafe { other.upload_lines_on_stream(&mut array, 1, &matrix, lines) }.unwrap();
        let mut seen = [0.0; 6];
        array.read(0, &mut seen).unwrap();
        assert_eq!(seen[1..5], [1.0, 2.0, 5.0, 6.0]);
        let back = HostLines { start: 2, ..lines };
        // SAFETY: the same.
        unsafe { other.download_lines_on_stream(&mut matrix, back, &array, 1) }.unwrap();
        assert_eq!(&matrix[..], [0.0, 1.0, 1.0, 2.0, 4.0, 5.0, 5.0, 6.0]);
        for lines in [
            HostLines { start: 3, ..lines },
            HostLines { count: 3, ..lines },
            HostLines {
                pitch: usize::MAX,
                ..lines
            },
        ] {
            // SAFETY: it is refused.
            let refused = unsafe { other.upload_lines_on_stream(&mut array, 1, &matrix, lines) };
            assert!(refused.is_err(), "{lines:?}");
        }
    }
}
