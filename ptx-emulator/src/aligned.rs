//! Storage that starts at a cache line, so that a row of 32 values spans as few lines as possible.

use std::ops::{Deref, DerefMut};

/// Bytes of a cache line, and of the widest vector.
const LINE: usize = 64;

/// A fixed number of values, the first of them at the start of a cache line.
#[derive(Debug)]
pub(crate) struct Aligned<T> {
    cells: Box<[T]>,
    start: usize,
    length: usize,
}

impl<T> Aligned<T> {
    /// `length` values; none where there is not enough memory.
    pub(crate) fn try_new(length: usize, value: impl Fn() -> T) -> Option<Self> {
        let slack = LINE / size_of::<T>().max(1);
        let mut cells = Vec::new();
        cells.try_reserve_exact(length.checked_add(slack)?).ok()?;
        cells.resize_with(length + slack, value);
        let cells = cells.into_boxed_slice();
        // Where alignment cannot be had, any start will do.
        let start = cells.as_ptr().align_offset(LINE).min(slack);
        Some(Aligned {
            cells,
            start,
            length,
        })
    }
}

impl<T> Deref for Aligned<T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        &self.cells[self.start..][..self.length]
    }
}

impl<T> DerefMut for Aligned<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.cells[self.start..][..self.length]
    }
}

/// Rows of 32 values each.
#[derive(Debug)]
pub(crate) struct Rows<T>(Aligned<T>);

impl<T: Copy + Default> Rows<T> {
    /// `count` rows of zeros.
    ///
    /// # Panics
    /// Where there is not enough memory, as a `Vec` does.
    pub(crate) fn new(count: usize) -> Self {
        let cells = Aligned::try_new(32 * count, T::default);
        Rows(cells.expect("memory for a warp's registers"))
    }

    /// Makes it hold `count` rows at least.
    pub(crate) fn grow(&mut self, count: usize) {
        if self.len() < count {
            // Calls nest: room for more than one of them.
            let mut larger = Rows::new(count.max(2 * self.len()));
            larger[..self.len()].copy_from_slice(self);
            *self = larger;
        }
    }
}

impl<T> Deref for Rows<T> {
    type Target = [[T; 32]];

    #[inline(always)]
    fn deref(&self) -> &[[T; 32]] {
        self.0.as_chunks().0
    }
}

impl<T> DerefMut for Rows<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [[T; 32]] {
        self.0.as_chunks_mut().0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_start_at_a_cache_line_and_keep_their_values() {
        for count in [0, 1, 3, 17] {
            let mut rows: Rows<u32> = Rows::new(count);
            assert_eq!(rows.len(), count);
            for (index, row) in rows.iter_mut().enumerate() {
                assert_eq!(row.as_ptr() as usize % LINE, 0);
                row.fill(index as u32 + 1);
            }
            rows.grow(count + 2);
            assert!(rows.len() >= count + 2);
            assert_eq!(rows.as_ptr() as usize % LINE, 0);
            for (index, row) in rows.iter().enumerate() {
                let expected = if index < count { index as u32 + 1 } else { 0 };
                assert_eq!(*row, [expected; 32]);
            }
        }
    }
}
