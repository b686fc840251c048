//! Matrices on the device.

use super::{DeviceArray, Error, Layout};
use bytemuck::Pod;
use nalgebra::{DMatrix, Scalar};

/// A matrix on the device with memory of its own.
pub struct DeviceMatrix<T> {
    array: DeviceArray<T>,
    layout: Layout,
}

impl<T: Pod> DeviceMatrix<T> {
    /// The matrix of this layout in an array.
    ///
    /// # Errors
    /// [`Error::Layout`] where the layout reaches beyond the array, or has an element twice.
    pub fn new(mut array: DeviceArray<T>, layout: Layout) -> Result<Self, Error> {
        MatrixMut::new(&mut array, layout)?;
        Ok(DeviceMatrix { array, layout })
    }

    /// Where its elements lie.
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// The matrix, to be read.
    pub fn view(&self) -> MatrixRef<'_, T> {
        MatrixRef {
            array: &self.array,
            layout: self.layout,
        }
    }

    /// The transpose, to be read. Nothing is moved.
    pub fn t(&self) -> MatrixRef<'_, T> {
        self.view().t()
    }

    /// The matrix, to be written.
    pub fn view_mut(&mut self) -> MatrixMut<'_, T> {
        MatrixMut {
            array: &self.array,
            layout: self.layout,
        }
    }

    /// Its memory.
    pub fn into_array(self) -> DeviceArray<T> {
        self.array
    }

    /// Waits for what was started, and copies the matrix to the host; of a batch, the first one.
    ///
    /// # Errors
    /// [`Error::Engine`] where a kernel failed before.
    pub fn download(&self) -> Result<DMatrix<T>, Error>
    where
        T: Scalar,
    {
        let values = self.array.download()?;
        let Layout { rows, columns, .. } = self.layout;
        if self.layout == Layout::column_major(rows, columns) {
            return Ok(DMatrix::from_vec(rows, columns, values));
        }
        Ok(DMatrix::from_fn(rows, columns, |i, j| {
            let Layout {
                offset,
                row_stride,
                column_stride,
                ..
            } = self.layout;
            values[offset + i * row_stride + j * column_stride]
        }))
    }
}

/// A matrix on the device, to be read.
pub struct MatrixRef<'a, T> {
    pub(super) array: &'a DeviceArray<T>,
    pub(super) layout: Layout,
}

// Derived, these would ask for a `T` that can be copied, which is not copied here.
impl<T> Clone for MatrixRef<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for MatrixRef<'_, T> {}

impl<'a, T: Pod> MatrixRef<'a, T> {
    pub(super) fn new(array: &'a DeviceArray<T>, layout: Layout) -> Result<Self, Error> {
        match layout.fault(array.len()) {
            Some(why) => Err(Error::Layout {
                layout,
                len: array.len(),
                why,
            }),
            None => Ok(MatrixRef { array, layout }),
        }
    }

    /// The transpose. Nothing is moved.
    pub fn t(self) -> Self {
        MatrixRef {
            layout: self.layout.transposed(),
            ..self
        }
    }

    /// Where its elements lie.
    pub fn layout(&self) -> Layout {
        self.layout
    }
}

/// A matrix on the device, to be written. It is made of an array that is borrowed mutably for as
/// long, alone or with others that have no element in common with it.
pub struct MatrixMut<'a, T> {
    pub(super) array: &'a DeviceArray<T>,
    pub(super) layout: Layout,
}

impl<'a, T: Pod> MatrixMut<'a, T> {
    pub(super) fn new(array: &'a mut DeviceArray<T>, layout: Layout) -> Result<Self, Error> {
        let twice = "it has an element twice, and cannot be written";
        let fault = layout
            .fault(array.len())
            .or(layout.overlaps().then_some(twice));
        match fault {
            Some(why) => Err(Error::Layout {
                layout,
                len: array.len(),
                why,
            }),
            None => Ok(MatrixMut { array, layout }),
        }
    }

    /// Matrices of one array.
    pub(super) fn several(
        array: &'a mut DeviceArray<T>,
        layouts: &[Layout],
    ) -> Result<Vec<Self>, Error> {
        for &layout in layouts {
            MatrixMut::new(array, layout)?;
        }
        if let Some([first, second]) = Layout::overlapping(layouts) {
            return Err(Error::Overlap { first, second });
        }
        let array = &*array;
        Ok(layouts
            .iter()
            .map(|&layout| MatrixMut { array, layout })
            .collect())
    }

    /// Where its elements lie.
    pub fn layout(&self) -> Layout {
        self.layout
    }
}
