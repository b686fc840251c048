//! Arrays of one dimension.

use super::entry::sealed;
use super::{Block, Element, Extent, Index, Parameter};
use crate::thread;
use core::ops;
use core::panic::UnwindSafe;

/// An array along the dimension `N`, to be read through the read-only path (`ld.global.nc`). The
/// launch takes arrays alone whose length is a multiple of `MULTIPLE`.
pub struct Vector<T, N, const MULTIPLE: usize = 1> {
    elements: *const T,
    extent: Extent<N, MULTIPLE>,
}

/// An array along the dimension `N` to be written: element i by thread i of a grid in one
/// dimension. The launch has as many blocks as give each element a thread, and takes arrays alone
/// whose length is a multiple of `MULTIPLE`. Where that is a multiple of the block's threads, the
/// last block needs no guard.
pub struct VectorMut<T, N, const MULTIPLE: usize = 1> {
    elements: *mut T,
    extent: Extent<N, MULTIPLE>,
}

impl<T, N, const MULTIPLE: usize> Clone for Vector<T, N, MULTIPLE> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<T, N, const MULTIPLE: usize> Copy for Vector<T, N, MULTIPLE> {}

impl<T: Element, N, const MULTIPLE: usize> Vector<T, N, MULTIPLE> {
    /// Its length.
    #[inline(always)]
    pub fn extent(&self) -> Extent<N, MULTIPLE> {
        self.extent
    }

    /// The element at `index`, and zero where there is none.
    #[inline(always)]
    pub fn or_zero(&self, index: Option<Index<N>>) -> T {
        index.map_or(T::ZERO, |index| self[index])
    }
}

impl<T: Element, N, const MULTIPLE: usize> ops::Index<Index<N>> for Vector<T, N, MULTIPLE> {
    type Output = T;

    #[inline(always)]
    fn index(&self, index: Index<N>) -> &T {
        // SAFETY: the index is below the extent of N, which is this array's length; no thread of
        // the launch writes an array that is read (`Parameter::from_entry`).
        unsafe { &*self.elements.add(index.get()) }
    }
}

impl<T: Element, N, const MULTIPLE: usize> VectorMut<T, N, MULTIPLE> {
    /// Its length.
    #[inline(always)]
    pub fn extent(&self) -> Extent<N, MULTIPLE> {
        self.extent
    }

    /// Each thread stores what `value` returns for the index of its element.
    #[inline(always)]
    pub fn store<const X: usize>(
        &mut self,
        block: &Block<X>,
        value: impl Fn(Index<N>) -> T + UnwindSafe,
    ) {
        if let Some(index) = self.own(block) {
            let value = value(index);
            // SAFETY: the element is inside of the array, and this thread's alone.
            unsafe { *self.elements.add(index.get()) = value };
        }
    }

    /// Each thread replaces its element by what `value` returns for its index and the old value.
    #[inline(always)]
    pub fn update<const X: usize>(
        &mut self,
        block: &Block<X>,
        value: impl Fn(Index<N>, T) -> T + UnwindSafe,
    ) {
        if let Some(index) = self.own(block) {
            // SAFETY: the element is inside of the array, and this thread's alone.
            let element = unsafe { &mut *self.elements.add(index.get()) };
            *element = value(index, *element);
        }
    }

    /// The index of this thread's element: another one in each thread of the grid.
    #[inline(always)]
    fn own<const X: usize>(&self, block: &Block<X>) -> Option<Index<N>> {
        // As `thread::index_1d`; the launch is of X threads a block.
        let index = block.x() * X + thread::thread_idx_x() as usize;
        if MULTIPLE.is_multiple_of(X) {
            // SAFETY: the length is a multiple of X, and the grid has length / X blocks.
            return Some(unsafe { Index::new(index) });
        }
        self.extent.index(index)
    }
}

impl<T, N, const MULTIPLE: usize> sealed::Sealed for Vector<T, N, MULTIPLE> {}
impl<T, N, const MULTIPLE: usize> sealed::Sealed for VectorMut<T, N, MULTIPLE> {}

impl<T: Element, N, const MULTIPLE: usize> Parameter for Vector<T, N, MULTIPLE> {
    // A reference, so that LLVM sees `noalias readonly` and may use `ld.global.nc`.
    type First = &'static T;
    type Second = u32;
    type Third = ();

    #[inline(always)]
    unsafe fn from_entry(elements: &'static T, length: u32, (): ()) -> Self {
        Vector {
            elements,
            // SAFETY: this is the array's length, a multiple of `MULTIPLE` (`Parameter`).
            extent: unsafe { Extent::new(length as usize) },
        }
    }
}

impl<T: Element, N, const MULTIPLE: usize> Parameter for VectorMut<T, N, MULTIPLE> {
    // Not a reference: every thread of the grid holds this pointer.
    type First = *mut T;
    type Second = u32;
    type Third = ();

    #[inline(always)]
    unsafe fn from_entry(elements: *mut T, length: u32, (): ()) -> Self {
        VectorMut {
            elements,
            // SAFETY: this is the array's length, a multiple of `MULTIPLE` (`Parameter`).
            extent: unsafe { Extent::new(length as usize) },
        }
    }
}
