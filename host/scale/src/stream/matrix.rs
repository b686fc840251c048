//! Matrices in the host's memory.

use crate::error::ScaleError;
use rayon::prelude::*;
use std::ops::Range;
use warpladder::check::Strides;
use warpladder::element::Element;
use warpladder::gpu::Layout;

/// Which elements are neighbours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Those of a row.
    RowMajor,
    /// Those of a column.
    ColumnMajor,
}

/// A matrix in the host's memory, without gaps, to be read.
#[derive(Clone, Copy, Debug)]
pub struct HostMatrix<'a, T> {
    pub(super) values: &'a [T],
    pub(super) rows: usize,
    pub(super) columns: usize,
    pub(super) order: Order,
}

/// A matrix in the host's memory, without gaps, to be written.
#[derive(Debug)]
pub struct HostMatrixMut<'a, T> {
    pub(super) values: &'a mut [T],
    pub(super) rows: usize,
    pub(super) columns: usize,
    pub(super) order: Order,
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
            rows,
            columns,
            order,
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
            values,
            rows,
            columns,
            order,
        })
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
        let target = &mut self.values[lines.start * pitch..lines.end * pitch];
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

/// Where the elements of a tile lie that was packed in this order.
pub(super) fn tile_layout(order: Order, rows: usize, columns: usize) -> Layout {
    match order {
        Order::RowMajor => Layout::row_major(rows, columns),
        Order::ColumnMajor => Layout::column_major(rows, columns),
    }
}
