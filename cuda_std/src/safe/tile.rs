//! Tiles in shared memory, in phases that barriers part.

use super::entry::sealed;
use super::{Below, Block, Element, OfThisLaunch, Slot};
use crate::shared_array;
use core::marker::PhantomData;
use core::ops;
use core::panic::UnwindSafe;

/// A tile of `ROWS` × `COLUMNS` elements in the block's shared memory, to be written. Behind each
/// row are `PADDING` elements that are not used, against bank conflicts.
///
/// A kernel has a tile for each parameter of this type that `#[shared]` marks.
pub struct SharedTile<T, const ROWS: usize, const COLUMNS: usize, const PADDING: usize = 0> {
    elements: *mut T,
    launch: OfThisLaunch,
}

/// A [`SharedTile`] that each thread has written its slots of. [`Block::sync`] makes a
/// [`FilledTile`] of it.
#[must_use = "Block::sync makes a tile of it that can be read"]
pub struct WrittenTile<T, const ROWS: usize, const COLUMNS: usize, const PADDING: usize = 0>(
    SharedTile<T, ROWS, COLUMNS, PADDING>,
);

/// A [`SharedTile`] that is wholly written, to be read by all threads: `tile[(row, column)]`.
/// [`Block::sync`] makes a tile of it that can be written again.
pub struct FilledTile<T, const ROWS: usize, const COLUMNS: usize, const PADDING: usize = 0>(
    SharedTile<T, ROWS, COLUMNS, PADDING>,
);

/// What a barrier makes of a tile, or of each of several in a tuple.
pub trait Phase: sealed::Sealed {
    /// The same tiles behind the barrier.
    type Next;

    /// Behind the barrier that has been passed.
    #[doc(hidden)]
    fn behind(self, barrier: sealed::Passed) -> Self::Next;
}

impl<T: Element, const ROWS: usize, const COLUMNS: usize, const PADDING: usize>
    SharedTile<T, ROWS, COLUMNS, PADDING>
{
    /// A tile of its own for each call in the source. For the code that `#[kernel]` writes.
    ///
    /// # Safety
    /// The call is inlined into a kernel, outside of loops: a call that runs twice would return the
    /// same memory twice.
    #[inline(always)]
    pub unsafe fn of_entry() -> Self {
        SharedTile {
            elements: shared_array![T; ROWS * (COLUMNS + PADDING)],
            launch: PhantomData,
        }
    }

    /// Each thread writes what `value` returns for its slots. The block's threads have all slots,
    /// so the tile is whole behind the next barrier.
    #[inline(always)]
    pub fn write<const X: usize, const Y: usize>(
        self,
        _: &Block<X, Y>,
        value: impl Fn(Slot<ROWS, COLUMNS, X, Y>) -> T + UnwindSafe,
    ) -> WrittenTile<T, ROWS, COLUMNS, PADDING> {
        Slot::for_each(|slot| {
            let value = value(slot);
            // SAFETY: the slot is inside of the tile and this thread's alone; other threads read it
            // behind the next barrier, which takes the `WrittenTile`.
            unsafe { *self.element(slot.row(), slot.column()) = value };
        });
        WrittenTile(self)
    }

    #[inline(always)]
    fn element(&self, row: Below<ROWS>, column: Below<COLUMNS>) -> *mut T {
        let element = row.get() * (COLUMNS + PADDING) + column.get();
        // SAFETY: both are below the tile's extents.
        unsafe { self.elements.add(element) }
    }
}

impl<T: Element, const ROWS: usize, const COLUMNS: usize, const PADDING: usize>
    ops::Index<(Below<ROWS>, Below<COLUMNS>)> for FilledTile<T, ROWS, COLUMNS, PADDING>
{
    type Output = T;

    #[inline(always)]
    fn index(&self, (row, column): (Below<ROWS>, Below<COLUMNS>)) -> &T {
        // SAFETY: every slot was written before the barrier that made this tile, and is written
        // again behind the one that takes it.
        unsafe { &*self.0.element(row, column) }
    }
}

macro_rules! phases {
    ($($from:ident => $to:ident, $next:expr;)*) => {
        $(
            impl<T, const ROWS: usize, const COLUMNS: usize, const PADDING: usize> sealed::Sealed
                for $from<T, ROWS, COLUMNS, PADDING>
            {
            }

            impl<T, const ROWS: usize, const COLUMNS: usize, const PADDING: usize> Phase
                for $from<T, ROWS, COLUMNS, PADDING>
            {
                type Next = $to<T, ROWS, COLUMNS, PADDING>;

                #[inline(always)]
                fn behind(self, _: sealed::Passed) -> Self::Next {
                    $next(self.0)
                }
            }
        )*
    };
}

phases! {
    WrittenTile => FilledTile, FilledTile;
    FilledTile => SharedTile, core::convert::identity;
}

macro_rules! tuples {
    ($($name:ident)*) => {
        impl<$($name: sealed::Sealed),*> sealed::Sealed for ($($name,)*) {}

        impl<$($name: Phase),*> Phase for ($($name,)*) {
            type Next = ($($name::Next,)*);

            #[inline(always)]
            fn behind(self, barrier: sealed::Passed) -> Self::Next {
                #[expect(non_snake_case, reason = "elements go by the names of their types")]
                let ($($name,)*) = self;
                ($($name.behind(barrier),)*)
            }
        }
    };
}

tuples!(A B);
tuples!(A B C);
tuples!(A B C D);
