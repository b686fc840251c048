//! Where the elements of a matrix lie in an array.

use std::fmt;

/// Where the elements of a matrix lie in an array: element (i, j) at `offset` + i · `row_stride` +
/// j · `column_stride`. Distances are in elements, and one of the two is 1, or its extent is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Layout {
    /// Rows.
    pub rows: usize,
    /// Columns.
    pub columns: usize,
    /// Distance of two rows.
    pub row_stride: usize,
    /// Distance of two columns.
    pub column_stride: usize,
    /// Place of the first element.
    pub offset: usize,
    /// Matrices, one behind the other.
    pub batch: usize,
    /// Distance of two matrices. 0 is one matrix that serves for all of the batch.
    pub batch_stride: usize,
}

impl Layout {
    /// Rows one behind the other, as C has them.
    pub const fn row_major(rows: usize, columns: usize) -> Self {
        Layout {
            rows,
            columns,
            row_stride: columns,
            column_stride: 1,
            offset: 0,
            batch: 1,
            batch_stride: 0,
        }
    }

    /// Columns one behind the other, as nalgebra and BLAS have them.
    pub const fn column_major(rows: usize, columns: usize) -> Self {
        Self::row_major(columns, rows).transposed()
    }

    /// A column: the elements of a vector, one behind the other.
    pub const fn vector(elements: usize) -> Self {
        Self::column_major(elements, 1)
    }

    /// The transpose: the same elements, rows for columns.
    pub const fn transposed(self) -> Self {
        Layout {
            rows: self.columns,
            columns: self.rows,
            row_stride: self.column_stride,
            column_stride: self.row_stride,
            ..self
        }
    }

    /// With this distance between rows (of a row-major matrix) or columns (of a column-major one):
    /// BLAS's leading dimension.
    pub const fn leading(mut self, leading: usize) -> Self {
        if self.column_stride == 1 {
            self.row_stride = leading;
        } else {
            self.column_stride = leading;
        }
        self
    }

    /// Beginning at this element of the array.
    pub const fn at(self, offset: usize) -> Self {
        Layout { offset, ..self }
    }

    /// A batch of such matrices, `batch_stride` elements apart.
    pub const fn batched(self, batch: usize, batch_stride: usize) -> Self {
        Layout {
            batch,
            batch_stride,
            ..self
        }
    }

    /// Whether there are no elements.
    pub const fn is_empty(self) -> bool {
        self.rows == 0 || self.columns == 0 || self.batch == 0
    }

    /// The number of elements that an array needs; the largest there is where they cannot be
    /// counted.
    pub const fn end(self) -> usize {
        if self.is_empty() {
            return 0;
        }
        (self.batch - 1)
            .saturating_mul(self.batch_stride)
            .saturating_add((self.rows - 1).saturating_mul(self.row_stride))
            .saturating_add((self.columns - 1).saturating_mul(self.column_stride))
            .saturating_add(self.offset)
            .saturating_add(1)
    }

    /// The distance of two rows, where columns are neighbours.
    pub(super) const fn leading_of_rows(self) -> Option<usize> {
        if self.column_stride == 1 || self.columns <= 1 {
            Some(self.row_stride)
        } else {
            None
        }
    }

    /// Whether it is one matrix, row behind row without gaps.
    pub(super) fn is_dense_by_rows(self) -> bool {
        let dense = self.leading_of_rows() == Some(self.columns);
        self.batch == 1 && (self.is_empty() || dense || (self.rows == 1 && self.column_stride == 1))
    }

    /// The vectors of a batch as the columns of one matrix, where their elements are neighbours.
    pub(super) const fn side_by_side(self) -> Option<Self> {
        if self.columns != 1 || self.row_stride != 1 {
            return None;
        }
        Some(Layout {
            columns: self.batch,
            column_stride: self.batch_stride,
            batch: 1,
            batch_stride: 0,
            ..self
        })
    }

    /// Why an array of `len` elements cannot have this layout, if it cannot.
    pub(super) fn fault(self, len: usize) -> Option<&'static str> {
        if self.end() > len {
            Some("it reaches beyond them")
        } else if self.leading_of_rows().is_none() && self.transposed().leading_of_rows().is_none()
        {
            Some("neither its rows nor its columns are of neighbouring elements: copy it together")
        } else {
            None
        }
    }

    /// Whether two places of the matrix are the same element of the array.
    pub(super) fn overlaps(self) -> bool {
        if self.is_empty() {
            return false;
        }
        let (within, lines, apart) = match self.leading_of_rows() {
            Some(leading) => (self.columns, self.rows, leading),
            None => (self.rows, self.columns, self.column_stride),
        };
        let matrix = (lines - 1).saturating_mul(apart).saturating_add(within);
        (lines > 1 && apart < within) || (self.batch > 1 && self.batch_stride < matrix)
    }

    /// Two of `layouts` that may have an element of their array in common, if there are any.
    pub(super) fn overlapping(layouts: &[Layout]) -> Option<[Layout; 2]> {
        let mut sorted = layouts.to_vec();
        sorted.retain(|layout| !layout.is_empty());
        sorted.sort_by_key(|layout| layout.offset);
        sorted.iter().enumerate().find_map(|(index, &first)| {
            let behind = sorted[index + 1..].iter();
            let mut near = behind.take_while(|second| second.offset < first.end());
            let second = near.find(|&&second| !first.is_beside(second))?;
            Some([first, *second])
        })
    }

    /// Whether both are rectangles of one matrix, with one leading dimension, that lie apart.
    fn is_beside(self, other: Self) -> bool {
        let rectangle = |layout: Layout| {
            let leading = layout.leading_of_rows().filter(|&leading| leading > 0)?;
            let [top, left] = [layout.offset / leading, layout.offset % leading];
            let fits = layout.batch == 1 && left + layout.columns <= leading;
            let [rows, columns] = [top..top + layout.rows, left..left + layout.columns];
            fits.then_some((leading, [rows, columns]))
        };
        let are_apart = |one: Layout, other: Layout| {
            let (Some((leading, one)), Some((of_other, other))) =
                (rectangle(one), rectangle(other))
            else {
                return false;
            };
            let mut sides = one.iter().zip(&other);
            let apart = sides.any(|(one, other)| one.end <= other.start || other.end <= one.start);
            leading == of_other && apart
        };
        are_apart(self, other) || are_apart(self.transposed(), other.transposed())
    }
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Layout {
            rows,
            columns,
            row_stride,
            column_stride,
            offset,
            batch,
            batch_stride,
        } = self;
        if *batch != 1 {
            write!(f, "{batch} times {batch_stride} elements apart ")?;
        }
        write!(
            f,
            "{rows} x {columns} with distances {row_stride} and {column_stride} from {offset}"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layouts_know_what_they_need() {
        assert_eq!(Layout::row_major(3, 4).end(), 12);
        assert_eq!(Layout::column_major(3, 4).leading(8).end(), 27);
        assert_eq!(Layout::row_major(3, 4).at(5).batched(2, 100).end(), 117);
        assert_eq!(Layout::row_major(0, 4).end(), 0);
        assert_eq!(Layout::row_major(usize::MAX, 4).end(), usize::MAX);
    }

    #[test]
    fn a_leading_dimension_is_that_of_the_order() {
        let rows = Layout::row_major(3, 4).leading(8);
        assert_eq!((rows.row_stride, rows.column_stride), (8, 1));
        let columns = Layout::column_major(3, 4).leading(8);
        assert_eq!((columns.row_stride, columns.column_stride), (1, 8));
        assert_eq!(columns.transposed(), Layout::row_major(4, 3).leading(8));
    }

    #[test]
    fn matrices_of_one_array_that_may_overlap_are_seen() {
        let of = |rows, columns, offset| Layout::row_major(rows, columns).leading(10).at(offset);
        // Behind each other, beside each other in rows of 10 elements, and none at all.
        let apart = [
            of(2, 10, 0),
            of(3, 4, 20),
            of(3, 6, 24),
            of(0, 9, 5),
            of(1, 3, 50),
        ];
        assert_eq!(Layout::overlapping(&apart), None);
        assert_eq!(Layout::overlapping(&apart.map(Layout::transposed)), None);
        for other in [of(1, 1, 19), of(2, 2, 23), of(1, 10, 49)] {
            let mut all = apart.to_vec();
            all.insert(2, other);
            assert!(Layout::overlapping(&all).is_some(), "{other}");
        }
        // What is not known to be apart.
        let rows = [of(4, 4, 0), Layout::row_major(2, 3).leading(20).at(5)];
        assert_eq!(Layout::overlapping(&rows), Some(rows));
        let wrapped = [of(3, 4, 8), of(2, 2, 13)];
        assert_eq!(Layout::overlapping(&wrapped), Some(wrapped));
        let batch = [of(1, 4, 0).batched(3, 10), of(3, 2, 5)];
        assert_eq!(Layout::overlapping(&batch), Some(batch));
    }

    #[test]
    fn overlaps_are_seen() {
        assert!(!Layout::row_major(3, 4).overlaps());
        assert!(Layout::row_major(3, 4).leading(3).overlaps());
        assert!(!Layout::row_major(1, 4).leading(0).overlaps());
        assert!(Layout::row_major(3, 4).batched(2, 11).overlaps());
        assert!(!Layout::column_major(3, 4).batched(2, 12).overlaps());
        let strided = Layout {
            row_stride: 2,
            column_stride: 3,
            ..Layout::row_major(3, 4)
        };
        assert!(strided.fault(100).is_some());
        assert!(Layout::row_major(3, 4).fault(11).is_some());
    }
}
