//! Memory on the device.

use super::{Error, Layout, MatrixMut, MatrixRef};
use crate::check::{self, Verdict};
use crate::engine::Engine;
use crate::error::EngineError;
use crate::launch::DevicePtr;
use bytemuck::Pod;
use std::marker::PhantomData;
use std::sync::Arc;

/// Elements in device memory, which is freed with the value.
pub struct DeviceArray<T> {
    pub(super) engine: Arc<dyn Engine>,
    pointer: DevicePtr,
    len: usize,
    elements: PhantomData<T>,
}

impl<T: Pod> DeviceArray<T> {
    /// `len` elements of any value.
    pub(super) fn new(engine: &Arc<dyn Engine>, len: usize) -> Result<Self, EngineError> {
        // An allocation that cannot be counted is refused as too large.
        let bytes = len.saturating_mul(size_of::<T>());
        // The driver refuses an allocation of 0 bytes.
        let pointer = engine.alloc(bytes.max(1))?;
        Ok(DeviceArray {
            engine: Arc::clone(engine),
            pointer,
            len,
            elements: PhantomData,
        })
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The device address.
    pub fn pointer(&self) -> DevicePtr {
        self.pointer
    }

    /// Waits for what was started, and copies the elements to the host.
    ///
    /// # Errors
    /// [`Error::Engine`] where a kernel failed before.
    pub fn download(&self) -> Result<Vec<T>, Error> {
        self.engine.synchronize()?;
        let mut values = vec![T::zeroed(); self.len];
        self.engine
            .download(bytemuck::cast_slice_mut(&mut values), self.pointer)?;
        Ok(values)
    }

    /// Waits for what was started, and compares the elements with those expected: each may be off
    /// by `tolerance`, and NaN is wrong. The verdict has the largest error, and names the first
    /// element that is wrong.
    ///
    /// An array of NaN before a kernel runs shows what the kernel did not write.
    ///
    /// # Errors
    /// [`Error::Lengths`] where there are not as many, [`Error::Engine`] where a kernel failed
    /// before.
    pub fn check(&self, expected: &[T], tolerance: f64) -> Result<Verdict, Error>
    where
        T: Into<f64>,
    {
        if expected.len() != self.len {
            return Err(Error::Lengths {
                found: self.len,
                expected: expected.len(),
            });
        }
        let found = self.download()?;
        Ok(check::slices(&found, expected, tolerance))
    }

    /// A matrix among the elements.
    ///
    /// # Errors
    /// [`Error::Layout`] where it reaches beyond them.
    pub fn matrix(&self, layout: Layout) -> Result<MatrixRef<'_, T>, Error> {
        MatrixRef::new(self, layout)
    }

    /// A matrix among the elements, to be written.
    ///
    /// # Errors
    /// [`Error::Layout`] where it reaches beyond them, or has an element twice.
    pub fn matrix_mut(&mut self, layout: Layout) -> Result<MatrixMut<'_, T>, Error> {
        MatrixMut::new(self, layout)
    }

    /// Several matrices among the elements, to be written, such as the results of
    /// [`gemm_grouped`](super::Gpu::gemm_grouped).
    ///
    /// # Errors
    /// Those of [`matrix_mut`](Self::matrix_mut); [`Error::Overlap`] where two of them may have an
    /// element in common: neither lies behind the other, and they are not beside each other in rows
    /// or columns of one leading dimension.
    pub fn matrices_mut(&mut self, layouts: &[Layout]) -> Result<Vec<MatrixMut<'_, T>>, Error> {
        MatrixMut::several(self, layouts)
    }

    pub(super) fn is_on(&self, engine: &Arc<dyn Engine>) -> bool {
        Arc::ptr_eq(&self.engine, engine)
    }
}

impl<T> Drop for DeviceArray<T> {
    fn drop(&mut self) {
        self.engine.free(self.pointer);
    }
}
