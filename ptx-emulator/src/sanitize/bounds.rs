//! Between which places something is recorded.

use std::ops::Range;

/// The bounds of places; of none at first.
#[derive(Clone, Debug)]
pub(super) struct Bounds(Range<usize>);

impl Default for Bounds {
    fn default() -> Self {
        // Any place is below the one and above the other.
        let (start, end) = (usize::MAX, 0);
        Bounds(start..end)
    }
}

impl Bounds {
    /// These places as well, at least one.
    #[inline(always)]
    pub(super) fn include(&mut self, places: Range<usize>) {
        self.0.start = self.0.start.min(places.start);
        self.0.end = self.0.end.max(places.end);
    }

    /// Those of others as well.
    pub(super) fn include_all(&mut self, others: &Bounds) {
        // Where the others are none, this leaves the bounds as they are.
        self.include(others.0.clone());
    }

    /// All of them; empty where there are none.
    #[inline(always)]
    pub(super) fn range(&self) -> Range<usize> {
        self.0.start.min(self.0.end)..self.0.end
    }
}
