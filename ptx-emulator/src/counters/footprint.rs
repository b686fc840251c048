//! Which bytes of global memory a launch touched.

use std::collections::HashMap;

use super::counts::SECTOR_BYTES;

/// Large, so that the lanes of a warp that are far apart are mostly on one page.
const PAGE_BYTES: u64 = 1 << 20;
const BITS: usize = u64::BITS as usize;
const WORDS: usize = PAGE_BYTES as usize / BITS;

/// A set of addresses, one bit for each byte of the pages that hold any.
#[derive(Clone, Debug, Default)]
pub(super) struct Footprint {
    /// Index in `pages` by page number.
    index: HashMap<u64, u32>,
    pages: Vec<Box<[u64]>>,
}

/// Where the last page was found: saves looking it up again.
#[derive(Clone, Copy, Debug)]
pub(super) struct LastPage {
    number: u64,
    place: u32,
}

impl Default for LastPage {
    fn default() -> Self {
        LastPage::none()
    }
}

impl LastPage {
    pub(super) fn none() -> Self {
        LastPage {
            number: u64::MAX,
            place: 0,
        }
    }
}

impl Footprint {
    /// Adds `runs` of (distance from `start`, bytes), all of them within `span` bytes.
    #[inline(always)]
    pub(super) fn add(&mut self, start: u64, span: u64, runs: &[(u64, u64)], last: &mut LastPage) {
        let offset = start % PAGE_BYTES;
        // Lanes whose addresses are not checked yet may span all of memory.
        if span > PAGE_BYTES - offset {
            return self.add_over_pages(start, runs);
        }
        let number = start / PAGE_BYTES;
        if number != last.number {
            let place = self.place(number);
            *last = LastPage { number, place };
        }
        let page = &mut self.pages[last.place as usize];
        for &(distance, bytes) in runs {
            set(page, (offset + distance) as usize, bytes as usize);
        }
    }

    /// Adds `bytes` bytes at `start`; false, with nothing done, where they are not on one page.
    #[inline(always)]
    pub(super) fn add_run(&mut self, start: u64, bytes: u64, last: &mut LastPage) -> bool {
        let offset = start % PAGE_BYTES;
        if bytes > PAGE_BYTES - offset {
            return false;
        }
        let number = start / PAGE_BYTES;
        if number != last.number {
            let place = self.place(number);
            *last = LastPage { number, place };
        }
        let page = &mut self.pages[last.place as usize];
        set(page, offset as usize, bytes as usize);
        true
    }

    #[cold]
    #[inline(never)]
    fn add_over_pages(&mut self, start: u64, runs: &[(u64, u64)]) {
        for &(distance, bytes) in runs {
            let mut at = start.wrapping_add(distance);
            let mut rest = bytes;
            while rest > 0 {
                let offset = at % PAGE_BYTES;
                let part = rest.min(PAGE_BYTES - offset);
                let place = self.place(at / PAGE_BYTES);
                set(
                    &mut self.pages[place as usize],
                    offset as usize,
                    part as usize,
                );
                at = at.wrapping_add(part);
                rest -= part;
            }
        }
    }

    #[cold]
    #[inline(never)]
    fn place(&mut self, number: u64) -> u32 {
        *self.index.entry(number).or_insert_with(|| {
            self.pages.push(vec![0; WORDS].into_boxed_slice());
            self.pages.len() as u32 - 1
        })
    }

    /// Adds everything that is in another set.
    pub(super) fn merge(&mut self, other: &Footprint) {
        for (&number, &from) in &other.index {
            let place = self.place(number);
            let to = &mut self.pages[place as usize];
            for (to, from) in to.iter_mut().zip(other.pages[from as usize].iter()) {
                *to |= from;
            }
        }
    }

    /// Number of bytes.
    pub(super) fn bytes(&self) -> u64 {
        let words = self.pages.iter().flat_map(|page| page.iter());
        words.map(|word| u64::from(word.count_ones())).sum()
    }

    /// Number of sectors that hold any of them.
    pub(super) fn sectors(&self) -> u64 {
        const _: () = assert!(SECTOR_BYTES == 32, "a word has two sectors");
        let words = self.pages.iter().flat_map(|page| page.iter());
        words
            .map(|&word| u64::from(word as u32 != 0) + u64::from(word >> 32 != 0))
            .sum()
    }
}

/// Sets `count` bits from bit `start` on.
#[inline(always)]
fn set(words: &mut [u64], start: usize, count: usize) {
    if count == 0 {
        return;
    }
    let end = start + count - 1;
    let head = u64::MAX << (start % BITS);
    let tail = u64::MAX >> (BITS - 1 - end % BITS);
    let (first, last) = (start / BITS, end / BITS);
    if first == last {
        words[first] |= head & tail;
        return;
    }
    words[first] |= head;
    for word in &mut words[first + 1..last] {
        *word = u64::MAX;
    }
    words[last] |= tail;
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn a_footprint_is_the_set_of_bytes() {
        let mut footprint = Footprint::default();
        let mut expected = BTreeSet::new();
        let mut last = LastPage::none();
        let pages = 3 * PAGE_BYTES;
        for (start, runs) in [
            (0, vec![(0, 1)]),
            (5, vec![(0, 64), (100, 4), (4096, 128)]),
            (PAGE_BYTES - 4, vec![(0, 8)]),
            (PAGE_BYTES + 63, vec![(0, 1), (1, 1)]),
            (pages - 8, vec![(0, 8)]),
            (60, vec![(0, 2 * PAGE_BYTES)]),
            (pages, vec![(0, 0), (PAGE_BYTES - 1, 0)]),
            (4, vec![(0, 4), (0u64.wrapping_sub(12), 4)]),
        ] {
            let span = runs.iter().map(|(at, bytes)| at.saturating_add(*bytes));
            let span = span.max().unwrap();
            footprint.add(start, span, &runs, &mut last);
            for (distance, bytes) in runs {
                let first = start.wrapping_add(distance);
                expected.extend(first..first + bytes);
            }
            assert_eq!(footprint.bytes(), expected.len() as u64);
            let sectors: BTreeSet<u64> = expected.iter().map(|at| at / SECTOR_BYTES).collect();
            assert_eq!(footprint.sectors(), sectors.len() as u64);
        }
        let mut other = Footprint::default();
        other.add(9 * PAGE_BYTES, 4, &[(0, 4)], &mut LastPage::none());
        other.add(0, 4, &[(0, 4)], &mut LastPage::none());
        other.merge(&footprint);
        assert_eq!(other.bytes(), footprint.bytes() + 4 + 3);
    }
}
