//! What a program has said of where managed memory should be. Kernels read it wherever it is: the
//! advice is kept for the attributes of ranges.

use std::collections::{BTreeMap, BTreeSet};

use crate::code::{Code, Result};

/// `CUmemLocation`: its type, and a number.
pub(crate) type Location = [i32; 2];

/// `CU_MEM_LOCATION_TYPE_DEVICE` and `CU_MEM_LOCATION_TYPE_HOST`.
pub(crate) const DEVICE: i32 = 1;
pub(crate) const HOST: i32 = 2;

/// The numbers of the host and of no place, where a device's is expected.
const CPU: i32 = -1;
const NOWHERE: i32 = -2;

/// What was said of some bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Advice {
    read_mostly: bool,
    preferred: Option<Location>,
    accessed_by: BTreeSet<i32>,
    prefetched: Option<Location>,
}

impl Advice {
    /// Follows a `CUmem_advise`.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` for another number.
    pub(crate) fn follow(&mut self, advice: u32, at: Location) -> Result {
        match advice {
            1 | 2 => self.read_mostly = advice == 1,
            3 => self.preferred = Some(at),
            4 => self.preferred = None,
            5 => _ = self.accessed_by.insert(number(at)),
            6 => _ = self.accessed_by.remove(&number(at)),
            _ => return Err(Code::INVALID_VALUE),
        }
        Ok(())
    }

    pub(crate) fn prefetch(&mut self, to: Location) {
        self.prefetched = Some(to);
    }
}

/// A place as a number of devices has it.
fn number([kind, number]: Location) -> i32 {
    if kind == DEVICE { number } else { CPU }
}

/// Ranges of bytes of which something was said: the end and the advice by the start.
#[derive(Debug, Default)]
pub(crate) struct Advices(BTreeMap<u64, (u64, Advice)>);

impl Advices {
    /// Makes a range begin at an address that lies in one.
    fn split(&mut self, at: u64) {
        if let Some((_, range)) = self.0.range_mut(..at).next_back()
            && range.0 > at
        {
            let rest = (std::mem::replace(&mut range.0, at), range.1.clone());
            self.0.insert(at, rest);
        }
    }

    /// The starts of the ranges between two addresses, both of which are bounds of ranges.
    fn starts(&self, start: u64, end: u64) -> Vec<u64> {
        self.0.range(start..end).map(|(start, _)| *start).collect()
    }

    /// Changes what was said of the bytes from `start` to `end`.
    ///
    /// # Errors
    /// Those of the change.
    pub(crate) fn change(
        &mut self,
        (start, end): (u64, u64),
        change: impl Fn(&mut Advice) -> Result,
    ) -> Result {
        self.split(start);
        self.split(end);
        let mut at = start;
        for known in self.starts(start, end) {
            if at < known {
                self.0.insert(at, (known, Advice::default()));
            }
            at = self.0.get(&known).map_or(end, |(end, _)| *end);
        }
        if at < end {
            self.0.insert(at, (end, Advice::default()));
        }
        for one in self.starts(start, end) {
            if let Some((_, advice)) = self.0.get_mut(&one) {
                change(advice)?;
            }
        }
        Ok(())
    }

    pub(crate) fn forget(&mut self, (start, end): (u64, u64)) {
        self.split(start);
        self.split(end);
        for one in self.starts(start, end) {
            self.0.remove(&one);
        }
    }

    /// What was said of the parts of a range.
    fn of(&self, (start, end): (u64, u64)) -> Vec<Advice> {
        let mut all = Vec::new();
        let mut at = start;
        let before = self.0.range(..=start).next_back();
        let inside = self.0.range(start + 1..end.max(start + 1));
        for (&from, (to, advice)) in before.into_iter().chain(inside) {
            if *to <= at {
                continue;
            }
            if at < from {
                all.push(Advice::default());
            }
            all.push(advice.clone());
            at = *to;
        }
        if at < end {
            all.push(Advice::default());
        }
        all
    }

    /// A `CUmem_range_attribute`, as numbers of 4 bytes: `count` of them.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` for another attribute, or a count that it has not.
    pub(crate) fn attribute(
        &self,
        range: (u64, u64),
        attribute: u32,
        count: usize,
    ) -> Result<Vec<i32>> {
        let all = self.of(range);
        if count == 0 || count > 1 && attribute != 3 {
            return Err(Code::INVALID_VALUE);
        }
        // A place that the parts do not agree on is none.
        let same = |place: fn(&Advice) -> Option<Location>| {
            let first = place(all.first()?)?;
            all.iter()
                .all(|one| place(one) == Some(first))
                .then_some(first)
        };
        let preferred = same(|one| one.preferred);
        let prefetched = same(|one| one.prefetched);
        let kind = |place: Option<Location>| place.map_or(0, |place| place[0]);
        let value = match attribute {
            1 => i32::from(all.iter().all(|one| one.read_mostly)),
            2 => preferred.map_or(NOWHERE, number),
            3 => {
                let mut common = all.first().map(|one| one.accessed_by.clone());
                for one in &all {
                    common = common.map(|common| &common & &one.accessed_by);
                }
                let mut numbers: Vec<i32> = common.into_iter().flatten().collect();
                numbers.resize(count, NOWHERE);
                return Ok(numbers);
            }
            4 => prefetched.map_or(NOWHERE, number),
            5 => kind(preferred),
            6 => preferred.map_or(NOWHERE, |place| place[1]),
            7 => kind(prefetched),
            8 => prefetched.map_or(NOWHERE, |place| place[1]),
            _ => return Err(Code::INVALID_VALUE),
        };
        Ok(vec![value])
    }
}

#[cfg(test)]
mod tests {
    use super::{Advices, DEVICE, HOST};

    #[test]
    fn ranges_are_divided_and_agree_or_not() {
        let mut all = Advices::default();
        let ask = |all: &Advices, range, attribute| all.attribute(range, attribute, 1);
        let follow =
            |all: &mut Advices, range, advice, at| all.change(range, |one| one.follow(advice, at));
        assert_eq!(ask(&all, (0, 100), 2), Ok(vec![-2]));
        assert_eq!(follow(&mut all, (0, 100), 3, [DEVICE, 1]), Ok(()));
        assert_eq!(follow(&mut all, (20, 40), 3, [HOST, 0]), Ok(()));
        assert_eq!(ask(&all, (0, 20), 2), Ok(vec![1]));
        assert_eq!(ask(&all, (20, 40), 2), Ok(vec![-1]));
        assert_eq!(ask(&all, (10, 40), 2), Ok(vec![-2]));
        assert_eq!(follow(&mut all, (20, 40), 3, [DEVICE, 1]), Ok(()));
        assert_eq!(ask(&all, (5, 95), 2), Ok(vec![1]));
        assert_eq!(ask(&all, (5, 105), 2), Ok(vec![-2]));
        assert_eq!(follow(&mut all, (0, 50), 1, [DEVICE, 0]), Ok(()));
        assert_eq!(ask(&all, (0, 50), 1), Ok(vec![1]));
        assert_eq!(ask(&all, (0, 51), 1), Ok(vec![0]));
        assert_eq!(follow(&mut all, (0, 50), 5, [DEVICE, 0]), Ok(()));
        assert_eq!(all.attribute((0, 50), 3, 2), Ok(vec![0, -2]));
        assert_eq!(all.attribute((0, 60), 3, 2), Ok(vec![-2, -2]));
        all.forget((0, 30));
        assert_eq!(ask(&all, (30, 50), 1), Ok(vec![1]));
        assert_eq!(ask(&all, (29, 50), 1), Ok(vec![0]));
        assert!(follow(&mut all, (0, 8), 9, [DEVICE, 0]).is_err());
        assert!(ask(&all, (0, 8), 9).is_err());
    }
}
