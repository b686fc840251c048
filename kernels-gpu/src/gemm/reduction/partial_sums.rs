//! Partial sums in the workspace: the accumulators of each split of each stream-K tile.
//!
//! A tile's splits lie one behind the other, and in a split those of its groups of threads. The
//! threads of a group store accumulators as they lie in registers, in vectors of four, those of
//! neighbouring threads side by side, so that accesses coalesce.

use crate::gemm::element::PartialSum;
use crate::gemm::scheduler::Split;
use core::num::Wrapping;
use cuda_std::prelude::*;

/// Partial sums of a vector.
pub const VECTOR: usize = 4;

/// A thread's accumulators, in registers.
pub trait Accumulators {
    /// Their type.
    type Element: PartialSum;

    /// Their number.
    const COUNT: usize;

    /// Accumulator `index`, which is less than [`COUNT`](Self::COUNT) and a constant after
    /// unrolling.
    fn element(&mut self, index: usize) -> &mut Self::Element;
}

impl<const N: usize> Accumulators for [f32; N] {
    type Element = f32;
    const COUNT: usize = N;

    #[inline(always)]
    fn element(&mut self, index: usize) -> &mut f32 {
        &mut self[index]
    }
}

impl<T: PartialSum, const TM: usize, const TN: usize> Accumulators for [[T; TN]; TM] {
    type Element = T;
    const COUNT: usize = TM * TN;

    #[inline(always)]
    fn element(&mut self, index: usize) -> &mut T {
        &mut self[index / TN][index % TN]
    }
}

/// Accumulators of i32 that are handed on as the f32 of the same bits.
#[repr(transparent)]
pub struct IntegerSums<A>(A);

impl<A: Accumulators<Element = f32>> IntegerSums<A> {
    /// These accumulators as integers.
    #[inline(always)]
    pub fn of(accumulators: &mut A) -> &mut Self {
        // SAFETY: the struct has the layout of its only field.
        unsafe { &mut *(&raw mut *accumulators).cast() }
    }
}

impl<A: Accumulators<Element = f32>> Accumulators for IntegerSums<A> {
    type Element = Wrapping<i32>;
    const COUNT: usize = A::COUNT;

    #[inline(always)]
    fn element(&mut self, index: usize) -> &mut Wrapping<i32> {
        // SAFETY: both types have 4 bytes, of which all values are valid.
        unsafe { &mut *(&raw mut *self.0.element(index)).cast() }
    }
}

/// Most 32-bit registers of partial sums that a thread has in flight.
const MAX_LIVE: usize = 64;

/// 32-bit registers of a thread for `A`.
const fn registers<A: Accumulators>() -> usize {
    A::COUNT * size_of::<A::Element>() / 4
}

/// Vectors in flight to a thread. Of few accumulators these are all vectors; of many, those that
/// fit into registers beside the accumulators.
const fn live_vectors<A: Accumulators>() -> usize {
    let registers = match registers::<A>() {
        all @ 0..=MAX_LIVE => all,
        96 => 48,
        _ => 32,
    };
    registers * 4 / (VECTOR * size_of::<A::Element>())
}

/// Whether a thread keeps its own partial sums in registers while it adds those of the other
/// splits. More accumulators leave too few registers for that, and its own partial sums are loaded
/// like the others.
const fn keeps_own<A: Accumulators>() -> bool {
    registers::<A>() < 96
}

/// The partial sums of all splits of a stream-K tile, of one group of `THREADS` threads.
#[derive(Clone, Copy)]
pub struct PartialSums<T, const THREADS: usize> {
    /// Those of the first split.
    start: *mut T,
    /// From one split to the next, in elements.
    distance: usize,
    /// Accumulators of a thread that have partial sums: a tile may be narrower than the kernel's.
    count: usize,
    /// One split of the tile.
    split: Split,
}

impl<T: PartialSum, const THREADS: usize> PartialSums<T, THREADS> {
    /// The partial sums of the tile that `split` belongs to, where `workspace` is the start of
    /// those of all tiles. `group` is the index of a group of threads and the number of those in a
    /// block; each thread has `count` accumulators, a multiple of 4.
    #[inline(always)]
    pub fn new(workspace: *mut T, split: Split, [group, groups]: [usize; 2], count: usize) -> Self {
        let elements = count * THREADS;
        let first = split.in_workspace(0) as usize * groups + group;
        PartialSums {
            start: workspace.wrapping_add(first * elements),
            distance: groups * elements,
            count,
            split,
        }
    }

    /// Splits of the tile.
    #[inline(always)]
    pub fn splits(&self) -> u32 {
        self.split.count
    }

    /// This thread's vector `vector` of split `index`.
    #[inline(always)]
    pub fn vector(&self, index: u32, vector: usize) -> *mut T {
        let thread = thread::thread_idx_x() as usize % THREADS;
        self.start
            .wrapping_add(index as usize * self.distance)
            .wrapping_add((vector * THREADS + thread) * VECTOR)
    }

    /// Stores accumulators times `factor` as the partial sums of this split.
    ///
    /// # Safety
    /// All threads of the group execute it. The workspace is aligned to 16 bytes and has the
    /// elements of all splits. No other group stores these.
    #[inline(always)]
    pub unsafe fn store<A: Accumulators<Element = T>>(&self, accumulators: &mut A, factor: T) {
        for vector in 0..A::COUNT / VECTOR {
            if VECTOR * vector >= self.count {
                break;
            }
            let four =
                core::array::from_fn(|i| *accumulators.element(VECTOR * vector + i) * factor);
            // SAFETY: the contract says that the workspace has this split's elements and is
            // aligned. A vector belongs to this thread alone.
            unsafe { T::store_4(self.vector(self.split.index, vector), four) };
        }
    }

    /// Replaces this split's accumulators by the sums over all splits. They are added in the order
    /// of the splits, so the result does not depend on the block that does it.
    ///
    /// # Safety
    /// [`store`](Self::store) has stored the partial sums of all splits, and they are visible to
    /// this thread.
    #[inline(always)]
    pub unsafe fn reduce<A: Accumulators<Element = T>>(&self, accumulators: &mut A) {
        const { assert!(A::COUNT.is_multiple_of(live_vectors::<A>() * VECTOR)) };
        let vectors = const { live_vectors::<A>() };
        for group in 0..A::COUNT / (vectors * VECTOR) {
            let first = group * vectors;
            let mut reduced = [[T::ZERO; VECTOR]; MAX_LIVE / VECTOR];
            let mut index = 0;
            while index < self.split.count {
                let mut loaded = [[T::ZERO; VECTOR]; MAX_LIVE / VECTOR];
                for vector in 0..vectors {
                    if VECTOR * (first + vector) >= self.count {
                        break;
                    }
                    loaded[vector] = if index == self.split.index && keeps_own::<A>() {
                        core::array::from_fn(|i| {
                            *accumulators.element((first + vector) * VECTOR + i)
                        })
                    } else {
                        // SAFETY: the contract says that split `index` is stored and visible. The
                        // vector is one of those that `store` wrote.
                        unsafe { T::load_4(self.vector(index, first + vector)) }
                    };
                }
                for vector in 0..vectors {
                    for i in 0..VECTOR {
                        reduced[vector][i] += loaded[vector][i];
                    }
                }
                index += 1;
            }
            for vector in 0..vectors {
                for i in 0..VECTOR {
                    *accumulators.element((first + vector) * VECTOR + i) = reduced[vector][i];
                }
            }
        }
    }
}
