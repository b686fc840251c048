//! A block, its threads, and values that differ between them.

use super::entry::sealed::Passed;
use super::{Below, OfThisLaunch, Phase};
use crate::thread;
use core::marker::PhantomData;
use core::panic::UnwindSafe;

/// The block that runs the kernel's body: `X` × `Y` threads, `Y` of them 1 where it is not given.
///
/// Its existence says that the code goes the same way in all threads: see
/// [what makes it safe](super#what-makes-it-safe).
pub struct Block<const X: usize, const Y: usize = 1> {
    launch: OfThisLaunch,
}

/// One thread of a block. Closures get it; a kernel's body has none.
pub struct Thread<const X: usize, const Y: usize = 1> {
    launch: OfThisLaunch,
}

/// A value that each thread of a block has for itself, in registers where they suffice: an
/// accumulator, for one. Arrays may be values: accumulators of several elements.
pub struct PerThread<T, const X: usize, const Y: usize = 1> {
    value: T,
    launch: OfThisLaunch,
}

impl<const X: usize, const Y: usize> Block<X, Y> {
    /// Threads of the block.
    pub const THREADS: u32 = {
        assert!(
            X > 0 && Y > 0 && X * Y <= 1024,
            "a block has 1 to 1024 threads"
        );
        (X * Y) as u32
    };

    /// The block of this launch. For the code that `#[kernel]` writes.
    ///
    /// # Safety
    /// The launch is of blocks of `X` × `Y` × 1 threads, and this is called once in a kernel, where
    /// all threads of the block come by.
    #[inline(always)]
    pub unsafe fn of_entry() -> Self {
        Block {
            launch: PhantomData,
        }
    }

    /// Its index in the grid, in x.
    #[inline(always)]
    pub fn x(&self) -> usize {
        thread::block_idx_x() as usize
    }

    /// Its index in the grid, in y.
    #[inline(always)]
    pub fn y(&self) -> usize {
        thread::block_idx_y() as usize
    }

    /// A value for each thread.
    ///
    /// `value` may read what is around it and change nothing (`Fn`, without cells: `UnwindSafe`).
    #[inline(always)]
    pub fn each<T: Copy>(
        &self,
        value: impl Fn(Thread<X, Y>) -> T + UnwindSafe,
    ) -> PerThread<T, X, Y> {
        PerThread {
            value: value(Thread::this()),
            launch: PhantomData,
        }
    }

    /// The barrier of the block (`bar.sync 0`), which ends a phase of tiles: what was written may
    /// then be read, and what was read may be written again. A tuple of tiles goes through one
    /// barrier together.
    #[inline(always)]
    pub fn sync<P: Phase>(&self, tiles: P) -> P::Next {
        thread::sync_threads();
        tiles.behind(Passed(()))
    }
}

impl<const X: usize, const Y: usize> Thread<X, Y> {
    /// The thread that runs this.
    #[inline(always)]
    pub(super) fn this() -> Self {
        Thread {
            launch: PhantomData,
        }
    }

    /// Its index in the block, in x.
    #[inline(always)]
    pub fn x(self) -> Below<X> {
        // SAFETY: blocks of this launch are X threads wide (`Block::of_entry`).
        unsafe { Below::new_unchecked(thread::thread_idx_x() as usize) }
    }

    /// Its index in the block, in y.
    #[inline(always)]
    pub fn y(self) -> Below<Y> {
        if Y == 1 {
            // SAFETY: 0 is below 1.
            return unsafe { Below::new_unchecked(0) };
        }
        // SAFETY: blocks of this launch are Y threads high (`Block::of_entry`).
        unsafe { Below::new_unchecked(thread::thread_idx_y() as usize) }
    }
}

impl<const X: usize, const Y: usize> Clone for Thread<X, Y> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<const X: usize, const Y: usize> Copy for Thread<X, Y> {}

impl<T: Copy, const X: usize, const Y: usize> PerThread<T, X, Y> {
    /// The value of the thread that asks.
    #[inline(always)]
    pub fn get(&self, _: Thread<X, Y>) -> T {
        self.value
    }

    /// What `next` makes of each thread's value.
    #[inline(always)]
    pub fn map<U: Copy>(
        self,
        next: impl Fn(Thread<X, Y>, T) -> U + UnwindSafe,
    ) -> PerThread<U, X, Y> {
        PerThread {
            value: next(Thread::this(), self.value),
            launch: PhantomData,
        }
    }
}
