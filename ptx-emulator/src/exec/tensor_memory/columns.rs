//! The tensor memory of a block: its columns, allocated and deallocated (PTX ISA, "Tensor
//! Memory").

/// Lanes, and columns of 32 bits. A multiprocessor has as many; here each block has its own.
pub(super) const LANES: u32 = 128;
pub(super) const COLUMNS: u32 = 512;

/// Columns that are taken at once.
const UNIT: u32 = 32;
const UNITS: usize = (COLUMNS / UNIT) as usize;

/// Columns that `tcgen05.alloc` has given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Taken {
    first: u32,
    pub columns: u32,
    /// The instruction and its warp.
    pub info: u32,
    pub warp: usize,
}

/// The words of tensor memory.
#[derive(Debug)]
pub(super) struct Columns {
    /// Column after column, those of all lanes.
    words: Vec<u32>,
    taken: [Option<Taken>; UNITS],
}

impl Default for Columns {
    fn default() -> Self {
        Columns {
            words: vec![0; (LANES * COLUMNS) as usize],
            taken: [None; UNITS],
        }
    }
}

/// A place in tensor memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TensorAddress {
    pub lane: u32,
    pub column: u32,
}

impl TensorAddress {
    pub(super) fn of(address: u32) -> Self {
        TensorAddress {
            lane: address >> 16,
            column: address & 0xffff,
        }
    }
}

impl Columns {
    /// Whether a number of columns may be allocated or deallocated.
    pub(super) fn check_count(columns: u32) -> Result<(), String> {
        match columns.is_power_of_two() && (UNIT..=COLUMNS).contains(&columns) {
            true => Ok(()),
            false => Err(format!(
                "{columns} columns of tensor memory: powers of two from {UNIT} to {COLUMNS} are \
                 valid"
            )),
        }
    }

    /// The first of columns that are free; none where there are not as many in a row.
    pub(super) fn take(&mut self, columns: u32, info: u32, warp: usize) -> Option<u32> {
        let count = (columns / UNIT) as usize;
        let is_free = |units: &[Option<Taken>]| units.iter().all(Option::is_none);
        let at = self.taken.windows(count).position(is_free)?;
        let first = at as u32 * UNIT;
        self.taken[at..at + count].fill(Some(Taken {
            first,
            columns,
            info,
            warp,
        }));
        Some(first)
    }

    pub(super) fn free(&mut self, address: u32, columns: u32) -> Result<(), String> {
        let at = (address / UNIT) as usize;
        match self.taken.get(at).copied().flatten() {
            Some(taken) if (taken.first, taken.columns) == (address, columns) => {
                self.taken[at..at + (columns / UNIT) as usize].fill(None);
                Ok(())
            }
            Some(taken) => Err(format!(
                "{columns} columns of tensor memory at {address:#x} are given back, of {} that \
                 were taken at {:#x}",
                taken.columns, taken.first
            )),
            None => Err(format!(
                "tensor memory at {address:#x} is given back and was not taken"
            )),
        }
    }

    /// Columns that were not deallocated.
    pub(super) fn left(&self) -> Option<Taken> {
        self.taken.iter().copied().flatten().next()
    }

    /// Whether a number of lanes and columns from a place on are there.
    pub(super) fn check(&self, at: TensorAddress, lanes: u32, columns: u32) -> Result<(), String> {
        let end = u64::from(at.column) + u64::from(columns);
        if u64::from(at.lane) + u64::from(lanes) > u64::from(LANES) || end > u64::from(COLUMNS) {
            return Err(format!(
                "{lanes} lanes and {columns} columns of tensor memory from lane {} and column {} \
                 on: there are {LANES} and {COLUMNS}",
                at.lane, at.column
            ));
        }
        let units = at.column / UNIT..(end as u32).div_ceil(UNIT);
        let missing = units
            .into_iter()
            .find(|&unit| self.taken[unit as usize].is_none());
        match missing {
            None => Ok(()),
            Some(unit) => Err(format!(
                "column {} of tensor memory is accessed and not allocated",
                (unit * UNIT).max(at.column)
            )),
        }
    }

    /// A word that is there.
    pub(super) fn word(&self, lane: u32, column: u32) -> u32 {
        self.words[(column * LANES + lane) as usize]
    }

    pub(super) fn set(&mut self, lane: u32, column: u32, value: u32) {
        self.words[(column * LANES + lane) as usize] = value;
    }
}

#[cfg(test)]
mod tests {
    use super::{Columns, TensorAddress};

    #[test]
    fn columns_are_taken_in_powers_of_two() {
        for (columns, is_valid) in [
            (0, false),
            (16, false),
            (32, true),
            (96, false),
            (512, true),
        ] {
            assert_eq!(Columns::check_count(columns).is_ok(), is_valid, "{columns}");
        }
        let mut memory = Columns::default();
        assert_eq!(memory.take(256, 1, 0), Some(0));
        assert_eq!(memory.take(128, 2, 0), Some(256));
        assert_eq!(memory.take(256, 3, 0), None);
        let at = |column| TensorAddress { lane: 0, column };
        assert_eq!(memory.check(at(0), 128, 384), Ok(()));
        assert!(memory.check(at(380), 1, 8).is_err());
        assert!(memory.check(at(0), 129, 1).is_err());
        assert!(memory.check(at(510), 1, 3).is_err());
        assert!(memory.free(0, 128).is_err());
        assert!(memory.free(384, 32).is_err());
        assert_eq!(memory.free(0, 256), Ok(()));
        assert_eq!(memory.left().map(|taken| taken.info), Some(2));
        assert_eq!(memory.free(256, 128), Ok(()));
        assert_eq!(memory.left(), None);
    }
}
