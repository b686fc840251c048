//! Matrices in the host's memory.

use crate::error::ScaleError;
use crate::partition::pieces;
use rayon::prelude::*;
use std::any::Any;
use std::ops::Range;
use warpladder::check::Strides;
use warpladder::element::Element;
use warpladder::gpu::{HostLines, Layout, PinnedArray};

/// Which elements are neighbours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Those of a row.
    RowMajor,
    /// Those of a column.
    ColumnMajor,
}

/// A matrix in the host's memory, without gaps, to be read.
///
/// In page-locked memory ([`pinned`](Self::pinned)) the device reads it where it lies. What is in
/// other memory is first copied, piece by piece, to page-locked buffers.
#[derive(Clone, Copy, Debug)]
pub struct HostMatrix<'a, T> {
    pub(super) values: &'a [T],
    pub(super) pinned: Option<&'a PinnedArray<T>>,
    pub(super) rows: usize,
    pub(super) columns: usize,
    pub(super) order: Order,
}

/// A matrix in the host's memory, without gaps, to be written. In page-locked memory
/// ([`pinned`](Self::pinned)) the device writes it where it lies, if it is of the accumulators'
/// type.
#[derive(Debug)]
pub struct HostMatrixMut<'a, T> {
    pub(super) values: ValuesMut<'a, T>,
    pub(super) rows: usize,
    pub(super) columns: usize,
    pub(super) order: Order,
}

/// The elements of a matrix that is written.
#[derive(Debug)]
pub(super) enum ValuesMut<'a, T> {
    Slice(&'a mut [T]),
    Pinned(&'a mut PinnedArray<T>),
}

impl<T: Element> ValuesMut<'_, T> {
    pub(super) fn as_slice(&mut self) -> &mut [T] {
        match self {
            ValuesMut::Slice(values) => values,
            ValuesMut::Pinned(array) => array,
        }
    }
}

fn matching(len: usize, rows: usize, columns: usize) -> Result<(), ScaleError> {
    match rows.checked_mul(columns) {
        Some(elements) if elements == len => Ok(()),
        _ => Err(ScaleError::Shape(format!(
            "{len} elements are no matrix of {rows} x {columns}: give as many"
        ))),
    }
}

impl<'a, T: Element> HostMatrix<'a, T> {
    /// Rows one behind the other.
    ///
    /// # Errors
    /// [`ScaleError::Shape`] where the elements are not as many.
    pub fn row_major(values: &'a [T], rows: usize, columns: usize) -> Result<Self, ScaleError> {
        Self::new(values, rows, columns, Order::RowMajor)
    }

    /// A matrix of either order.
    ///
    /// # Errors
    /// [`ScaleError::Shape`] where the elements are not as many.
    pub fn new(
        values: &'a [T],
        rows: usize,
        columns: usize,
        order: Order,
    ) -> Result<Self, ScaleError> {
        matching(values.len(), rows, columns)?;
        Ok(HostMatrix {
            values,
            pinned: None,
            rows,
            columns,
            order,
        })
    }

    /// A matrix of either order in page-locked memory.
    ///
    /// # Errors
    /// [`ScaleError::Shape`] where the elements are not as many.
    pub fn pinned(
        array: &'a PinnedArray<T>,
        rows: usize,
        columns: usize,
        order: Order,
    ) -> Result<Self, ScaleError> {
        let matrix = Self::new(array, rows, columns, order)?;
        Ok(HostMatrix {
            pinned: Some(array),
            ..matrix
        })
    }

    /// Rows and columns.
    pub fn extents(&self) -> [usize; 2] {
        [self.rows, self.columns]
    }

    /// Where its elements lie.
    pub(super) fn strides(&self) -> Strides {
        match self.order {
            Order::RowMajor => Strides::row_major(self.columns),
            Order::ColumnMajor => Strides::column_major(self.rows),
        }
    }

    /// The array of page-locked memory and the lines of a tile in it, where it is in one.
    pub(super) fn pinned_lines(
        &self,
        rows: &Range<usize>,
        columns: &Range<usize>,
    ) -> Option<(&'a PinnedArray<T>, HostLines)> {
        let lines = host_lines(self.order, [self.rows, self.columns], rows, columns);
        self.pinned.map(|array| (array, lines))
    }

    /// Copies a tile, in the matrix's own order, without gaps.
    pub(super) fn pack(&self, rows: &Range<usize>, columns: &Range<usize>, to: &mut [T]) {
        let (lines, within, pitch) = lines(self.order, [self.rows, self.columns], rows, columns);
        if within.is_empty() {
            return;
        }
        let line = |(line, to): (usize, &mut [T])| {
            let start = (lines.start + line) * pitch + within.start;
            to.copy_from_slice(&self.values[start..start + within.len()]);
        };
        to.par_chunks_mut(within.len()).enumerate().for_each(line);
    }

    /// The largest absolute value; NaN where there is one.
    pub(super) fn largest(&self) -> f64 {
        let larger = |a: f64, b: f64| if a.is_nan() || a > b { a } else { b };
        let of = |chunk: &[T]| {
            let values = chunk.iter().map(|&value| -> f64 { value.into() });
            values.map(f64::abs).fold(0.0, larger)
        };
        self.values
            .par_chunks(1 << 16)
            .map(of)
            .reduce(|| 0.0, larger)
    }
}

impl<'a, T: Element> HostMatrixMut<'a, T> {
    /// Rows one behind the other.
    ///
    /// # Errors
    /// [`ScaleError::Shape`] where the elements are not as many.
    pub fn row_major(values: &'a mut [T], rows: usize, columns: usize) -> Result<Self, ScaleError> {
        Self::new(values, rows, columns, Order::RowMajor)
    }

    /// A matrix of either order.
    ///
    /// # Errors
    /// [`ScaleError::Shape`] where the elements are not as many.
    pub fn new(
        values: &'a mut [T],
        rows: usize,
        columns: usize,
        order: Order,
    ) -> Result<Self, ScaleError> {
        matching(values.len(), rows, columns)?;
        Ok(HostMatrixMut {
            values: ValuesMut::Slice(values),
            rows,
            columns,
            order,
        })
    }

    /// A matrix of either order in page-locked memory.
    ///
    /// # Errors
    /// [`ScaleError::Shape`] where the elements are not as many.
    pub fn pinned(
        array: &'a mut PinnedArray<T>,
        rows: usize,
        columns: usize,
        order: Order,
    ) -> Result<Self, ScaleError> {
        matching(array.len(), rows, columns)?;
        Ok(HostMatrixMut {
            values: ValuesMut::Pinned(array),
            rows,
            columns,
            order,
        })
    }

    /// The array of page-locked memory and the lines of a tile in it, where it is in one, of
    /// elements of type `F`.
    pub(super) fn pinned_lines<F: Element>(
        &mut self,
        rows: &Range<usize>,
        columns: &Range<usize>,
    ) -> Option<(&mut PinnedArray<F>, HostLines)> {
        let lines = host_lines(self.order, [self.rows, self.columns], rows, columns);
        let ValuesMut::Pinned(array) = &mut self.values else {
            return None;
        };
        let array: &mut dyn Any = *array;
        Some((array.downcast_mut::<PinnedArray<F>>()?, lines))
    }

    /// Rounds a tile, in the matrix's own order without gaps, to this matrix.
    pub(super) fn unpack<F: Element>(
        &mut self,
        rows: &Range<usize>,
        columns: &Range<usize>,
        from: &[F],
    ) {
        let (lines, within, pitch) = lines(self.order, [self.rows, self.columns], rows, columns);
        if within.is_empty() || lines.is_empty() {
            return;
        }
        let target = &mut self.values.as_slice()[lines.start * pitch..lines.end * pitch];
        let targets = target.par_chunks_mut(pitch);
        let line = |(to, from): (&mut [T], &[F])| {
            for (to, &from) in to[within.clone()].iter_mut().zip(from) {
                *to = T::from_f64(from.into());
            }
        };
        targets.zip(from.par_chunks(within.len())).for_each(line);
    }
}

/// The lines of a tile, the elements within each, and the distance of two lines.
fn lines(
    order: Order,
    [all_rows, all_columns]: [usize; 2],
    rows: &Range<usize>,
    columns: &Range<usize>,
) -> (Range<usize>, Range<usize>, usize) {
    match order {
        Order::RowMajor => (rows.clone(), columns.clone(), all_columns),
        Order::ColumnMajor => (columns.clone(), rows.clone(), all_rows),
    }
}

/// The same, for a copy of the whole tile.
fn host_lines(
    order: Order,
    extents: [usize; 2],
    rows: &Range<usize>,
    columns: &Range<usize>,
) -> HostLines {
    let (lines, within, pitch) = lines(order, extents, rows, columns);
    HostLines {
        start: lines.start * pitch + within.start,
        len: within.len(),
        count: lines.len(),
        pitch,
    }
}

/// Ranges of a tile, each of whole lines and of at most `elements` elements, or one line.
pub(super) fn parts(
    order: Order,
    rows: &Range<usize>,
    columns: &Range<usize>,
    elements: usize,
) -> Vec<[Range<usize>; 2]> {
    let (lines, within) = match order {
        Order::RowMajor => (rows, columns),
        Order::ColumnMajor => (columns, rows),
    };
    let each = (elements / within.len().max(1)).max(1);
    let of = |lines: Range<usize>| match order {
        Order::RowMajor => [lines, within.clone()],
        Order::ColumnMajor => [within.clone(), lines],
    };
    pieces(lines.clone(), each).into_iter().map(of).collect()
}

/// Where the elements of a tile lie that was packed in this order.
pub(super) fn tile_layout(order: Order, rows: usize, columns: usize) -> Layout {
    match order {
        Order::RowMajor => Layout::row_major(rows, columns),
        Order::ColumnMajor => Layout::column_major(rows, columns),
    }
}
