//! Stores in flight to the L2 cache: what merges, and what arrives in parts.
//!
//! A warp that stores to the same line again before the line has left merges both stores. Lines
//! leave when others come: those of the same warp, and those of the warps that store at the same
//! time, which are few even where many are resident. How many other lines push a line out differs
//! from line to line; between [`MIN_LINES`] and [`MAX_LINES`] any number is as likely.
//!
//! The three constants are fitted to what an H200 measured: the sweep of `matvec_lcs` over warps,
//! which is fastest with 4, and `matvec_lcs` with 4 to 16 rows at full occupancy.

use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use std::ops::{Add, Mul, Sub};

use super::traffic::{LINE_BYTES, SECTOR_BYTES};

/// Lines in flight at which the oldest begin to leave, and at which all of them do.
const MIN_LINES: f64 = 32.0;
const MAX_LINES: f64 = 144.0;

/// Warps that store at the same time, for which stores are followed up; with more resident it is
/// the last number.
const STORING: [u32; 6] = [1, 2, 3, 4, 6, 9];

/// Sectors that reach the L2 cache, as a whole and in parts, each part counted.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sectors {
    /// Whole ones.
    pub whole: f64,
    /// Parts.
    pub partial: f64,
}

/// The sectors that a launch stores, by how many warps store at the same time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Stored([Sectors; STORING.len()]);

impl Stored {
    /// With `warps` resident warps on each multiprocessor.
    pub fn by(&self, warps: u32) -> Sectors {
        let above = STORING.iter().position(|&storing| storing >= warps);
        let above = above.unwrap_or(STORING.len() - 1);
        let below = above.saturating_sub(1);
        let [from, to] = [below, above].map(|index| f64::from(STORING[index]));
        let warps = f64::from(warps).clamp(from, to);
        let at = if to > from {
            (warps - from) / (to - from)
        } else {
            1.0
        };
        self.0[below] + (self.0[above] - self.0[below]) * at
    }

    fn zip(self, other: Self, with: impl Fn(Sectors, Sectors) -> Sectors) -> Self {
        Stored(std::array::from_fn(|index| {
            with(self.0[index], other.0[index])
        }))
    }
}

impl Add for Sectors {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Sectors {
            whole: self.whole + other.whole,
            partial: self.partial + other.partial,
        }
    }
}

impl Sub for Sectors {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        self + other * -1.0
    }
}

impl Mul<f64> for Sectors {
    type Output = Self;

    fn mul(self, factor: f64) -> Self {
        Sectors {
            whole: self.whole * factor,
            partial: self.partial * factor,
        }
    }
}

impl Add for Stored {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        self.zip(other, Add::add)
    }
}

impl Sub for Stored {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        self.zip(other, Sub::sub)
    }
}

impl Mul<f64> for Stored {
    type Output = Self;

    fn mul(self, factor: f64) -> Self {
        Stored(self.0.map(|sectors| sectors * factor))
    }
}

/// The lines that the warps of a block have in flight, for each number of warps that store at the
/// same time.
#[derive(Clone, Debug, Default)]
pub(super) struct Stores {
    pub stored: Stored,
    /// Of each warp, the lines, the one that it stored to last at the end, with a bit for each
    /// byte in flight.
    pending: [FxHashMap<u32, VecDeque<(u64, u128)>>; STORING.len()],
}

impl Stores {
    /// A lane of a warp stores `bytes` bytes, at most 16, which are aligned and so in one line.
    pub fn store(&mut self, warp: u32, start: u64, bytes: u64) {
        let line = start / LINE_BYTES;
        let stored = ((1u128 << bytes) - 1) << (start % LINE_BYTES);
        let all = self.pending.iter_mut().zip(STORING);
        for ((pending, storing), sectors) in all.zip(&mut self.stored.0) {
            let pending = pending.entry(warp).or_default();
            let place = pending.iter().rposition(|&(of, _)| of == line);
            let before = place.and_then(|place| {
                // This line and those that the warp has stored to since.
                let lines = (pending.len() - place) as f64;
                let (_, before) = pending.remove(place)?;
                let stays = lines * f64::from(storing) < lines_that_push_out(line);
                if !stays {
                    send(sectors, before);
                }
                stays.then_some(before)
            });
            pending.push_back((line, before.unwrap_or(0) | stored));
            if pending.len() as f64 * f64::from(storing) > MAX_LINES
                && let Some((_, oldest)) = pending.pop_front()
            {
                send(sectors, oldest);
            }
        }
    }

    /// The block ends: all lines arrive.
    pub fn end(&mut self) {
        for (index, pending) in self.pending.iter_mut().enumerate() {
            for (_, stored) in pending.drain().flat_map(|(_, lines)| lines) {
                send(&mut self.stored.0[index], stored);
            }
        }
    }
}

/// How many lines in flight push this one out: any number from the least to the most, as a hash of
/// the line has it.
fn lines_that_push_out(line: u64) -> f64 {
    // Fibonacci hashing: the golden ratio spreads neighbours evenly.
    let hash = line.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
    let share = hash as f64 / f64::from(u32::MAX);
    MIN_LINES + share * (MAX_LINES - MIN_LINES)
}

fn send(sectors: &mut Sectors, stored: u128) {
    for sector in 0..LINE_BYTES / SECTOR_BYTES {
        match (stored >> (sector * SECTOR_BYTES)) as u32 {
            0 => {}
            u32::MAX => sectors.whole += 1.0,
            _ => sectors.partial += 1.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sectors of warps that store rows of 4-byte words to lines of their own, one after the other,
    /// word by word.
    fn of_rows(rows: u64, words: u64) -> Stored {
        let mut stores = Stores::default();
        for warp in 0..64 {
            for word in 0..words {
                for row in 0..rows {
                    let line = u64::from(warp) * rows + row;
                    stores.store(warp, line * LINE_BYTES + 4 * word, 4);
                }
            }
        }
        stores.end();
        stores.stored
    }

    #[test]
    fn few_lines_merge_and_many_do_not() {
        let whole = Sectors {
            whole: 64.0 * 2.0,
            partial: 0.0,
        };
        assert_eq!(of_rows(2, 8).by(64), whole);
        assert_eq!(of_rows(2, 8).by(1), whole);
        let parts = Sectors {
            whole: 0.0,
            partial: 64.0 * 32.0 * 8.0,
        };
        assert_eq!(of_rows(32, 8).by(64), parts);
    }

    #[test]
    fn the_more_warps_store_the_less_merges() {
        let stored = of_rows(16, 8);
        let parts = [1, 2, 4, 5, 6, 8, 64].map(|warps| stored.by(warps).partial);
        assert!(parts.is_sorted(), "{parts:?}");
        assert_eq!(parts[0], 0.0);
        assert!(parts[6] > 0.8 * 64.0 * 16.0 * 8.0, "{parts:?}");
    }
}
