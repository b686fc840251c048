//! Sets of addresses.

use std::collections::BTreeMap;

/// A set of addresses, held as ranges that neither overlap nor touch.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ranges {
    /// The end of each range by its start.
    ends: BTreeMap<u64, u64>,
}

impl Ranges {
    /// Adds `start..end`.
    pub(crate) fn insert(&mut self, start: u64, end: u64) {
        if start >= end {
            return;
        }
        let (mut from, mut to) = (start, end);
        while let Some((&known, &known_end)) = self.ends.range(..=to).next_back() {
            if known_end < from {
                break;
            }
            from = from.min(known);
            to = to.max(known_end);
            self.ends.remove(&known);
        }
        self.ends.insert(from, to);
    }

    /// Takes `start..end` away.
    pub(crate) fn remove(&mut self, start: u64, end: u64) {
        while let Some((&known, &known_end)) = self.ends.range(..end).next_back() {
            if known_end <= start {
                break;
            }
            self.ends.remove(&known);
            if known_end > end {
                self.ends.insert(end, known_end);
            }
            if known < start {
                self.ends.insert(known, start);
            }
        }
    }

    /// The intersection of `start..end` with the set.
    pub(crate) fn within(&self, start: u64, end: u64) -> impl Iterator<Item = (u64, u64)> + '_ {
        let before = self.ends.range(..start).next_back();
        let overlapping = before.into_iter().chain(self.ends.range(start..end));
        overlapping
            .map(move |(&from, &to)| (from.max(start), to.min(end)))
            .filter(|(from, to)| from < to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_a_set_of_numbers() {
        let mut ranges = Ranges::default();
        let mut numbers = [false; 64];
        let mut state = 1u64;
        for _ in 0..2000 {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1);
            let (a, b) = (state >> 33 & 63, state >> 43 & 63);
            let (start, end) = (a.min(b), a.max(b));
            let add = state >> 63 == 0;
            if add {
                ranges.insert(start, end);
            } else {
                ranges.remove(start, end);
            }
            numbers[start as usize..end as usize].fill(add);
            for at in 0..64 {
                let known = ranges.within(at, at + 1).count() == 1;
                assert_eq!(known, numbers[at as usize]);
            }
            let inside: u64 = ranges.within(10, 50).map(|(from, to)| to - from).sum();
            let expected = numbers[10..50].iter().filter(|&&set| set).count();
            assert_eq!(inside, expected as u64);
        }
        let starts: Vec<u64> = ranges.ends.keys().copied().collect();
        assert!(
            starts
                .windows(2)
                .all(|pair| ranges.ends[&pair[0]] < pair[1])
        );
    }
}
