//! Indices that carry what is known of them.

use super::OfThisLaunch;
use core::marker::PhantomData;

/// The size of the arrays of a launch along the dimension `D`: a multiple of `MULTIPLE`.
pub struct Extent<D, const MULTIPLE: usize = 1> {
    size: usize,
    dimension: PhantomData<fn() -> D>,
    launch: OfThisLaunch,
}

/// An index along the dimension `D`, below its extent in this launch.
pub struct Index<D> {
    value: usize,
    dimension: PhantomData<fn() -> D>,
    launch: OfThisLaunch,
}

/// A number below `N`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Below<const N: usize> {
    value: usize,
}

/// `N` indices along the dimension `D`, one behind the other. Where `MULTIPLE` is no multiple of
/// `N`, those at the end may be outside of the extent.
pub struct Span<D, const N: usize, const MULTIPLE: usize = 1> {
    start: usize,
    extent: Extent<D, MULTIPLE>,
}

// Derived, these would ask for a `D` that can be copied.
macro_rules! copies {
    ($($name:ident<D $(, $constant:ident)*>;)*) => {
        $(
            impl<D $(, const $constant: usize)*> Clone for $name<D $(, $constant)*> {
                #[inline(always)]
                fn clone(&self) -> Self {
                    *self
                }
            }
            impl<D $(, const $constant: usize)*> Copy for $name<D $(, $constant)*> {}
        )*
    };
}

copies! {
    Extent<D, MULTIPLE>;
    Index<D>;
    Span<D, N, MULTIPLE>;
}

impl<D, const MULTIPLE: usize> Extent<D, MULTIPLE> {
    /// # Safety
    /// All arrays of the launch have this size along `D`, and it is a multiple of `MULTIPLE`.
    #[inline(always)]
    pub(super) unsafe fn new(size: usize) -> Self {
        const { assert!(MULTIPLE > 0, "every size is a multiple of 1, none of 0") };
        Extent {
            size,
            dimension: PhantomData,
            launch: PhantomData,
        }
    }

    /// The size, in elements.
    #[inline(always)]
    pub fn get(self) -> usize {
        self.size
    }

    /// `index` as an index along `D`, where it is inside.
    #[inline(always)]
    pub fn index(self, index: usize) -> Option<Index<D>> {
        // SAFETY: it is below the extent.
        (index < self.size).then(|| unsafe { Index::new(index) })
    }

    /// All indices, in order.
    #[inline(always)]
    pub fn indices(self) -> impl Iterator<Item = Index<D>> {
        // SAFETY: each is below the extent.
        (0..self.size).map(|index| unsafe { Index::new(index) })
    }

    /// The dimension in tiles of `N`, in order. The last one may reach beyond the end where
    /// `MULTIPLE` is no multiple of `N`.
    #[inline(always)]
    pub fn tiles<const N: usize>(self) -> impl Iterator<Item = Span<D, N, MULTIPLE>> {
        let count = if Span::<D, N, MULTIPLE>::GUARDED {
            self.size.div_ceil(N)
        } else {
            self.size / N
        };
        // SAFETY: without guards N divides the extent, so the tiles counted are whole.
        (0..count).map(move |tile| unsafe { self.span(tile * N) })
    }

    /// # Safety
    /// Where `Span::GUARDED` is false, `start + N` is at most the extent.
    #[inline(always)]
    pub(super) unsafe fn span<const N: usize>(self, start: usize) -> Span<D, N, MULTIPLE> {
        Span {
            start,
            extent: self,
        }
    }
}

impl<D> Index<D> {
    /// # Safety
    /// `value` is below the extent of `D` in this launch.
    #[inline(always)]
    pub(super) unsafe fn new(value: usize) -> Self {
        Index {
            value,
            dimension: PhantomData,
            launch: PhantomData,
        }
    }

    /// The index as a number.
    #[inline(always)]
    pub fn get(self) -> usize {
        self.value
    }
}

impl<const N: usize> Below<N> {
    /// # Safety
    /// `value` is below `N`.
    #[inline(always)]
    pub(super) unsafe fn new_unchecked(value: usize) -> Self {
        Below { value }
    }

    /// `value`, where it is below `N`.
    #[inline(always)]
    pub fn new(value: usize) -> Option<Self> {
        (value < N).then_some(Below { value })
    }

    /// The number.
    #[inline(always)]
    pub fn get(self) -> usize {
        self.value
    }

    /// All numbers below `N`, in order.
    #[inline(always)]
    pub fn all() -> impl Iterator<Item = Self> {
        (0..N).map(|value| Below { value })
    }
}

impl<D, const N: usize, const MULTIPLE: usize> Span<D, N, MULTIPLE> {
    /// Whether it may reach beyond the extent.
    pub const GUARDED: bool = !MULTIPLE.is_multiple_of(N);

    /// The `i`-th index; `None` beyond the extent, which never is where
    /// [`GUARDED`](Self::GUARDED) is false.
    #[inline(always)]
    pub fn get(self, i: Below<N>) -> Option<Index<D>> {
        let index = self.start + i.value;
        if Self::GUARDED {
            return self.extent.index(index);
        }
        // SAFETY: the whole span is inside, and `i` is below its length.
        Some(unsafe { Index::new(index) })
    }
}
