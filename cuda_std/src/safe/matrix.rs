//! Row-major matrices.

use super::entry::sealed;
use super::{Below, Block, Element, Extent, Index, Parameter, Span, Thread};
use core::marker::PhantomData;
use core::ops;
use core::panic::UnwindSafe;
use core::slice;

/// A row-major matrix of `R` rows and `C` columns, to be read through the read-only path
/// (`ld.global.nc`). The launch takes matrices alone whose extents are multiples of `MULTIPLE`.
pub struct Matrix<T, R, C, const MULTIPLE: usize = 1> {
    elements: *const T,
    rows: Extent<R, MULTIPLE>,
    columns: Extent<C, MULTIPLE>,
}

/// A row-major matrix of `R` rows and `C` columns to be written: a tile by each block, as `S` says.
/// The launch has a block for each tile, and takes matrices alone whose extents are multiples of
/// `MULTIPLE`.
pub struct MatrixMut<T, R, C, S, const MULTIPLE: usize = 1> {
    elements: *mut T,
    rows: Extent<R, MULTIPLE>,
    columns: Extent<C, MULTIPLE>,
    tiling: PhantomData<fn() -> S>,
}

/// Tiles of `ROWS` × `COLUMNS`, the grid's x along the columns of the matrix.
pub enum Tiles<const ROWS: usize, const COLUMNS: usize> {}

/// Tiles of `ROWS` × `COLUMNS`, the grid's x along the rows of the matrix: blocks that run one
/// after the other are below each other.
pub enum TilesDown<const ROWS: usize, const COLUMNS: usize> {}

/// How the blocks of a grid share a matrix.
pub trait Tiling: sealed::Sealed {
    /// Rows of a tile.
    const ROWS: usize;
    /// Columns of a tile.
    const COLUMNS: usize;
    /// Whether the grid's x runs along the rows.
    const DOWN: bool;
}

/// An element of a tile of `ROWS` × `COLUMNS`, and the thread that writes it.
///
/// Thread (x, y) has the elements in rows y, y + `Y` … and columns x, x + `X` …: one where the
/// block is of the tile's size.
pub struct Slot<const ROWS: usize, const COLUMNS: usize, const X: usize, const Y: usize> {
    down: usize,
    across: usize,
    thread: Thread<X, Y>,
}

impl<const ROWS: usize, const COLUMNS: usize> sealed::Sealed for Tiles<ROWS, COLUMNS> {}
impl<const ROWS: usize, const COLUMNS: usize> sealed::Sealed for TilesDown<ROWS, COLUMNS> {}

impl<const ROWS: usize, const COLUMNS: usize> Tiling for Tiles<ROWS, COLUMNS> {
    const ROWS: usize = ROWS;
    const COLUMNS: usize = COLUMNS;
    const DOWN: bool = false;
}

impl<const ROWS: usize, const COLUMNS: usize> Tiling for TilesDown<ROWS, COLUMNS> {
    const ROWS: usize = ROWS;
    const COLUMNS: usize = COLUMNS;
    const DOWN: bool = true;
}

impl<const ROWS: usize, const COLUMNS: usize, const X: usize, const Y: usize> Clone
    for Slot<ROWS, COLUMNS, X, Y>
{
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<const ROWS: usize, const COLUMNS: usize, const X: usize, const Y: usize> Copy
    for Slot<ROWS, COLUMNS, X, Y>
{
}

impl<const ROWS: usize, const COLUMNS: usize, const X: usize, const Y: usize>
    Slot<ROWS, COLUMNS, X, Y>
{
    /// Calls `action` with each slot of the thread that runs this.
    #[inline(always)]
    pub(super) fn for_each(mut action: impl FnMut(Self)) {
        const {
            assert!(
                ROWS > 0 && COLUMNS > 0 && ROWS.is_multiple_of(Y) && COLUMNS.is_multiple_of(X),
                "the extents of a tile are multiples of its block's"
            );
        };
        for down in 0..ROWS / Y {
            for across in 0..COLUMNS / X {
                let thread = Thread::this();
                action(Slot {
                    down,
                    across,
                    thread,
                });
            }
        }
    }

    /// Its row in the tile.
    #[inline(always)]
    pub fn row(self) -> Below<ROWS> {
        let row = self.thread.y().get() + self.down * Y;
        // SAFETY: y < Y and down < ROWS / Y.
        unsafe { Below::new_unchecked(row) }
    }

    /// Its column in the tile.
    #[inline(always)]
    pub fn column(self) -> Below<COLUMNS> {
        let column = self.thread.x().get() + self.across * X;
        // SAFETY: x < X and across < COLUMNS / X.
        unsafe { Below::new_unchecked(column) }
    }

    /// Which of its thread's rows this is, from 0 to `ROWS` / `Y`.
    #[inline(always)]
    pub fn down(self) -> usize {
        self.down
    }

    /// Which of its thread's columns this is, from 0 to `COLUMNS` / `X`.
    #[inline(always)]
    pub fn across(self) -> usize {
        self.across
    }

    /// The thread that writes it.
    #[inline(always)]
    pub fn thread(self) -> Thread<X, Y> {
        self.thread
    }
}

impl<T, R, C, const MULTIPLE: usize> Clone for Matrix<T, R, C, MULTIPLE> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<T, R, C, const MULTIPLE: usize> Copy for Matrix<T, R, C, MULTIPLE> {}

impl<T: Element, R, C, const MULTIPLE: usize> Matrix<T, R, C, MULTIPLE> {
    /// Its rows.
    #[inline(always)]
    pub fn rows(&self) -> Extent<R, MULTIPLE> {
        self.rows
    }

    /// Its columns.
    #[inline(always)]
    pub fn columns(&self) -> Extent<C, MULTIPLE> {
        self.columns
    }

    /// The element in this row and column, and zero where there is none.
    #[inline(always)]
    pub fn or_zero(&self, row: Option<Index<R>>, column: Option<Index<C>>) -> T {
        match (row, column) {
            (Some(row), Some(column)) => self[(row, column)],
            _ => T::ZERO,
        }
    }
}

impl<T: Element, R, C, const MULTIPLE: usize> ops::Index<(Index<R>, Index<C>)>
    for Matrix<T, R, C, MULTIPLE>
{
    type Output = T;

    #[inline(always)]
    fn index(&self, (row, column): (Index<R>, Index<C>)) -> &T {
        let element = row.get() * self.columns.get() + column.get();
        // SAFETY: the indices are below the extents of R and C, which are this matrix's; no thread
        // of the launch writes a matrix that is read (`Parameter::from_entry`).
        unsafe {
            // Not `elements.add(element)`: of that, LLVM makes one addition to the address for each
            // term of the sum (a transpose takes 2.5 % longer).
            let len = self.rows.get() * self.columns.get();
            slice::from_raw_parts(self.elements, len).get_unchecked(element)
        }
    }
}

/// What each thread writes of a [`MatrixMut`]: its elements of the block's tile.
pub struct Elements<'m, T, R, C, S, const MULTIPLE: usize, const X: usize, const Y: usize> {
    matrix: &'m mut MatrixMut<T, R, C, S, MULTIPLE>,
    block: &'m Block<X, Y>,
    /// The one in the thread's first slot.
    first: *mut T,
}

impl<T, R, C, S, const MULTIPLE: usize> MatrixMut<T, R, C, S, MULTIPLE> {
    /// Its rows.
    #[inline(always)]
    pub fn rows(&self) -> Extent<R, MULTIPLE> {
        self.rows
    }

    /// Its columns.
    #[inline(always)]
    pub fn columns(&self) -> Extent<C, MULTIPLE> {
        self.columns
    }
}

macro_rules! tiles {
    ($tiling:ident, $row:ident, $column:ident) => {
        impl<T: Element, R, C, const ROWS: usize, const COLUMNS: usize, const MULTIPLE: usize>
            MatrixMut<T, R, C, $tiling<ROWS, COLUMNS>, MULTIPLE>
        {
            /// The rows of the block's tile.
            #[inline(always)]
            pub fn tile_rows<const X: usize, const Y: usize>(
                &self,
                block: &Block<X, Y>,
            ) -> Span<R, ROWS, MULTIPLE> {
                // SAFETY: the launch has a block for each tile of the matrix, and tiles without
                // guards are whole.
                unsafe { self.rows.span(block.$row() * ROWS) }
            }

            /// The columns of the block's tile.
            #[inline(always)]
            pub fn tile_columns<const X: usize, const Y: usize>(
                &self,
                block: &Block<X, Y>,
            ) -> Span<C, COLUMNS, MULTIPLE> {
                // SAFETY: the launch has a block for each tile of the matrix, and tiles without
                // guards are whole.
                unsafe { self.columns.span(block.$column() * COLUMNS) }
            }

            /// The elements of each thread in the block's tile, with their addresses: a kernel that
            /// asks for them in front of a barrier has them when the barrier is passed.
            #[inline(always)]
            pub fn elements<'m, const X: usize, const Y: usize>(
                &'m mut self,
                block: &'m Block<X, Y>,
            ) -> Elements<'m, T, R, C, $tiling<ROWS, COLUMNS>, MULTIPLE, X, Y> {
                let thread = Thread::<X, Y>::this();
                let row = block.$row() * ROWS + thread.y().get();
                let column = block.$column() * COLUMNS + thread.x().get();
                // It may lie beyond the matrix: `own` compares before it is used.
                let first = self
                    .elements
                    .wrapping_add(row * self.columns.get() + column);
                Elements {
                    matrix: self,
                    block,
                    first,
                }
            }

            /// Each thread stores what `value` returns for its elements of the block's tile. For
            /// those beyond the matrix it is not called.
            #[inline(always)]
            pub fn store<const X: usize, const Y: usize>(
                &mut self,
                block: &Block<X, Y>,
                value: impl Fn(Slot<ROWS, COLUMNS, X, Y>) -> T + UnwindSafe,
            ) {
                self.elements(block).store(value);
            }

            /// Each thread replaces its elements of the block's tile by what `value` returns for
            /// them and their old values.
            #[inline(always)]
            pub fn update<const X: usize, const Y: usize>(
                &mut self,
                block: &Block<X, Y>,
                value: impl Fn(Slot<ROWS, COLUMNS, X, Y>, T) -> T + UnwindSafe,
            ) {
                self.elements(block).update(value);
            }
        }

        impl<
            T: Element,
            R,
            C,
            const ROWS: usize,
            const COLUMNS: usize,
            const MULTIPLE: usize,
            const X: usize,
            const Y: usize,
        > Elements<'_, T, R, C, $tiling<ROWS, COLUMNS>, MULTIPLE, X, Y>
        {
            /// Each thread stores what `value` returns for its elements. For those beyond the
            /// matrix it is not called.
            #[inline(always)]
            pub fn store(self, value: impl Fn(Slot<ROWS, COLUMNS, X, Y>) -> T + UnwindSafe) {
                Slot::for_each(|slot| {
                    if let Some(element) = self.own(slot) {
                        let value = value(slot);
                        // SAFETY: the element is inside of the matrix, and this thread's alone.
                        unsafe { *element = value };
                    }
                });
            }

            /// Each thread replaces its elements by what `value` returns for them and their old
            /// values.
            #[inline(always)]
            pub fn update(self, value: impl Fn(Slot<ROWS, COLUMNS, X, Y>, T) -> T + UnwindSafe) {
                Slot::for_each(|slot| {
                    if let Some(element) = self.own(slot) {
                        // SAFETY: the element is inside of the matrix, and this thread's alone.
                        unsafe { *element = value(slot, *element) };
                    }
                });
            }

            /// The element of this thread at `slot`, where it is one of the matrix's.
            #[inline(always)]
            fn own(&self, slot: Slot<ROWS, COLUMNS, X, Y>) -> Option<*mut T> {
                self.matrix.tile_rows(self.block).get(slot.row())?;
                self.matrix.tile_columns(self.block).get(slot.column())?;
                let (rows, columns) = (slot.down() * Y, slot.across() * X);
                Some(
                    self.first
                        .wrapping_add(rows * self.matrix.columns.get() + columns),
                )
            }
        }
    };
}

tiles!(Tiles, y, x);
tiles!(TilesDown, x, y);

impl<T, R, C, const MULTIPLE: usize> sealed::Sealed for Matrix<T, R, C, MULTIPLE> {}
impl<T, R, C, S, const MULTIPLE: usize> sealed::Sealed for MatrixMut<T, R, C, S, MULTIPLE> {}

impl<T: Element, R, C, const MULTIPLE: usize> Parameter for Matrix<T, R, C, MULTIPLE> {
    // A reference, so that LLVM sees `noalias readonly` and may use `ld.global.nc`.
    type First = &'static T;
    type Second = u32;
    type Third = u32;

    #[inline(always)]
    unsafe fn from_entry(elements: &'static T, rows: u32, columns: u32) -> Self {
        // SAFETY: these are the matrix's extents, and multiples of `MULTIPLE` (`Parameter`).
        let (rows, columns) =
            unsafe { (Extent::new(rows as usize), Extent::new(columns as usize)) };
        Matrix {
            elements,
            rows,
            columns,
        }
    }
}

impl<T: Element, R, C, S: Tiling, const MULTIPLE: usize> Parameter
    for MatrixMut<T, R, C, S, MULTIPLE>
{
    // Not a reference: every thread of the grid holds this pointer.
    type First = *mut T;
    type Second = u32;
    type Third = u32;

    #[inline(always)]
    unsafe fn from_entry(elements: *mut T, rows: u32, columns: u32) -> Self {
        // SAFETY: these are the matrix's extents, and multiples of `MULTIPLE` (`Parameter`).
        let (rows, columns) =
            unsafe { (Extent::new(rows as usize), Extent::new(columns as usize)) };
        MatrixMut {
            elements,
            rows,
            columns,
            tiling: PhantomData,
        }
    }
}
