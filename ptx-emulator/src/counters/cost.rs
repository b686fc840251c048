//! What one access of a warp costs: the rules of coalescing and of bank conflicts.

use super::counts::SECTOR_BYTES;
use crate::ir::AccessKind;

const LANES: usize = 32;

/// Banks of shared memory, each one word of 4 bytes wide (CUDA C++ Programming Guide, "Compute
/// Capability 5.x", "Shared Memory"; the same in all later ones).
const BANKS: usize = 32;

const WORD_BYTES: u64 = 4;

/// The access of a warp, as the rules see it.
#[derive(Clone, Copy, Debug)]
pub(super) struct WarpAccess<'a> {
    pub kind: AccessKind,
    /// Bytes that each lane accesses.
    pub bytes: u32,
    /// The active lanes.
    pub mask: u32,
    pub addresses: &'a [u64; LANES],
}

impl WarpAccess<'_> {
    fn is_active(&self, lane: usize) -> bool {
        self.mask >> lane & 1 != 0
    }

    /// First and last unit of `size` bytes of each access by the given lanes.
    fn units(&self, size: u64, lanes: std::ops::Range<usize>) -> impl Iterator<Item = (u64, u64)> {
        let active = lanes.filter(|&lane| self.is_active(lane));
        active.map(move |lane| {
            let address = self.addresses[lane];
            let end = address.saturating_add(u64::from(self.bytes.max(1)) - 1);
            (address / size, end / size)
        })
    }
}

/// Distinct addresses among the lanes.
pub(super) fn addresses(access: &WarpAccess<'_>) -> u64 {
    let active = (0..LANES).filter(|&lane| access.is_active(lane));
    distinct(active.map(|lane| (access.addresses[lane], access.addresses[lane]))).len() as u64
}

/// Distinct 32-byte sectors that hold any byte of the access: what a request to global memory moves
/// (CUDA C++ Best Practices Guide, "Coalesced Access to Global Memory").
pub(super) fn sectors(access: &WarpAccess<'_>) -> u64 {
    distinct(access.units(SECTOR_BYTES, 0..LANES)).len() as u64
}

fn distinct(units: impl Iterator<Item = (u64, u64)>) -> Vec<u64> {
    let mut all: Vec<u64> = units.flat_map(|(first, last)| first..=last).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// What an access to shared memory takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Wavefronts {
    /// Wavefronts with the bank conflicts that there are.
    pub taken: u64,
    /// The same without bank conflicts.
    pub ideal: u64,
    /// Most distinct words of one bank in one pass.
    pub ways: u32,
}

/// Wavefronts of a load or store, by the rule in the documentation of [`super`].
pub(super) fn wavefronts(access: &WarpAccess<'_>) -> Wavefronts {
    let words = u64::from(access.bytes).div_ceil(WORD_BYTES).max(1);
    let mut passes = words.next_power_of_two().min(LANES as u64) as usize;
    if passes > 1
        && access.kind == AccessKind::Load
        && (is_paired(access, 1) || is_paired(access, 2))
    {
        passes /= 2;
    }
    let mut total = Wavefronts {
        taken: 0,
        ideal: passes as u64,
        ways: 1,
    };
    let lanes = LANES / passes;
    for pass in 0..passes {
        let mut per_bank = [0u32; BANKS];
        for word in distinct(access.units(WORD_BYTES, pass * lanes..(pass + 1) * lanes)) {
            per_bank[word as usize % BANKS] += 1;
        }
        let ways = per_bank.into_iter().max().unwrap_or(0).max(1);
        total.taken += u64::from(ways);
        total.ways = total.ways.max(ways);
    }
    total
}

fn is_paired(access: &WarpAccess<'_>, distance: usize) -> bool {
    (0..LANES).all(|lane| {
        let other = lane ^ distance;
        !access.is_active(lane)
            || !access.is_active(other)
            || access.addresses[lane] == access.addresses[other]
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(bytes: u32, address: impl Fn(u64) -> u64) -> (u64, Wavefronts) {
        let addresses = std::array::from_fn(|lane| address(lane as u64));
        let access = WarpAccess {
            kind: AccessKind::Load,
            bytes,
            mask: u32::MAX,
            addresses: &addresses,
        };
        (sectors(&access), wavefronts(&access))
    }

    #[test]
    fn sectors_follow_from_the_bytes_touched() {
        for (bytes, step, offset, expected) in [
            (4, 4, 0, 4),
            (4, 4, 4, 5),
            (4, 0, 0, 1),
            (4, 128, 0, 32),
            (4, 16, 0, 16),
            (8, 8, 0, 8),
            (16, 16, 0, 16),
            (1, 1, 0, 1),
            (16, 32, 24, 33),
        ] {
            let (sectors, _) = load(bytes, |lane| 4096 + offset + lane * step);
            assert_eq!(sectors, expected, "{bytes} bytes, step {step}, at {offset}");
        }
    }

    #[test]
    fn a_stride_of_n_words_is_an_n_way_conflict() {
        for ways in [1, 2, 4, 8, 16, 32] {
            let (_, found) = load(4, |lane| 4 * lane * u64::from(ways));
            let expected = Wavefronts {
                taken: u64::from(ways),
                ideal: 1,
                ways,
            };
            assert_eq!(found, expected);
        }
        let (_, padded) = load(4, |lane| 4 * lane * 33);
        assert_eq!(padded.taken, 1);
    }

    #[test]
    fn bytes_of_one_word_are_a_broadcast() {
        assert_eq!(load(1, |lane| lane).1.taken, 1);
        assert_eq!(load(2, |lane| lane / 2 * 2).1.taken, 1);
        assert_eq!(load(4, |_| 0).1.taken, 1);
    }

    /// Any number of bytes a lane, such as 12 where a copy of 16 reads less, and none.
    #[test]
    fn lanes_of_any_width_are_served_once() {
        for bytes in (0..=160).chain([1 << 16, (1 << 16) + 1]) {
            for mask in [u32::MAX, 0, 1, 1 << 31, 0x5555_5555, 0x8000_0001] {
                for kind in [AccessKind::Load, AccessKind::Store, AccessKind::Atomic] {
                    // Each lane has words of its own, so that no bank delivers one for two lanes.
                    let words = u64::from(bytes).div_ceil(WORD_BYTES).max(1);
                    let addresses = std::array::from_fn(|lane| lane as u64 * words * WORD_BYTES);
                    let access = WarpAccess {
                        kind,
                        bytes,
                        mask,
                        addresses: &addresses,
                    };
                    let of = format!("{kind:?} of {bytes} bytes, mask {mask:#x}");
                    let found = wavefronts(&access);
                    let lanes = u64::from(mask.count_ones());
                    assert!(found.taken >= found.ideal && found.ideal >= 1, "{of}");
                    assert!(found.taken * BANKS as u64 >= lanes * words, "{of}");
                    assert!(found.taken <= (lanes * words).max(found.ideal), "{of}");
                    assert!(
                        sectors(&access) >= (lanes * u64::from(bytes)).div_ceil(32),
                        "{of}"
                    );
                }
            }
        }
    }

    /// Every measured pattern takes as many wavefronts as it took cycles.
    #[test]
    fn wavefronts_are_the_cycles_of_an_h200() {
        let lines = include_str!("shared_cycles.txt").lines();
        let mut checked = 0;
        for line in lines.filter(|line| !line.starts_with('#')) {
            let fields: Vec<&str> = line.split(' ').collect();
            let [kind, bytes, mask, cycles, words @ ..] = fields.as_slice() else {
                panic!("too few fields: {line}");
            };
            let words: Vec<u64> = words.iter().map(|word| word.parse().unwrap()).collect();
            let addresses: [u64; LANES] = std::array::from_fn(|lane| 4 * words[lane]);
            let access = WarpAccess {
                kind: match *kind {
                    "ld" => AccessKind::Load,
                    _ => AccessKind::Store,
                },
                bytes: bytes.parse().unwrap(),
                mask: u32::from_str_radix(mask, 16).unwrap(),
                addresses: &addresses,
            };
            assert_eq!(wavefronts(&access).taken, cycles.parse().unwrap(), "{line}");
            checked += 1;
        }
        assert!(checked > 400, "{checked}");
    }
}
