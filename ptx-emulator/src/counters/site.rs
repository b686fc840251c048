//! The accesses of one instruction, sorted by pattern.
//!
//! An instruction's accesses rarely differ in more than their start: the distances between the
//! lanes stay the same. So each such pattern is counted by how often it occurs, and its cost is
//! computed once, when the counts are read.

use super::cost::{self, WarpAccess};
use super::counts::{BulkCounts, ConstantCounts, Counts, PlainCounts, SECTOR_BYTES};
use super::footprint::{Footprint, LastPage};
use crate::ir::{AccessKind, Space};
use crate::observer::MemoryAccess;

const LANES: usize = 32;

/// Patterns remembered for an instruction.
const PATTERNS: usize = 4;

/// Offsets of a pattern's first access in a sector.
const OFFSETS: usize = SECTOR_BYTES as usize;

/// Words of a sector.
pub(super) const WORDS: usize = OFFSETS / 4;

/// Bytes of global memory that were read and that were written.
#[derive(Clone, Debug, Default)]
pub(super) struct Footprints {
    pub read: Footprint,
    pub written: Footprint,
}

impl Footprints {
    /// Adds bytes of an asynchronous operation.
    pub(super) fn add(&mut self, access: &MemoryAccess<'_>) {
        let bytes = u64::from(access.bytes);
        let footprint = match access.kind {
            AccessKind::Load => &mut self.read,
            AccessKind::Store | AccessKind::Atomic => &mut self.written,
        };
        for lane in (0..LANES).filter(|lane| access.mask >> lane & 1 != 0) {
            let (from, last) = (access.addresses[lane], &mut LastPage::none());
            footprint.add(from, bytes, &[(0, bytes)], last);
        }
    }
}

/// What a bulk copy accesses of a row.
pub(super) fn bulk(access: &MemoryAccess<'_>) -> BulkCounts {
    BulkCounts {
        sectors: cost::sectors(&WarpAccess {
            kind: access.kind,
            bytes: access.bytes,
            mask: access.mask,
            addresses: access.addresses,
        }),
        bytes: u64::from(access.bytes) * u64::from(access.mask.count_ones()),
    }
}

/// The memory accesses of one instruction.
#[derive(Clone, Debug, Default)]
pub(super) struct Site {
    patterns: Vec<SitePattern>,
    /// The pattern of the last access.
    current: usize,
    /// The counts of patterns that are no longer remembered.
    forgotten: Counts,
}

/// Accesses of all lanes that were like the last one of the site's current pattern: small, so that
/// those of a kernel's loop stay in the cache.
#[derive(Clone, Debug, Default)]
pub(super) struct Repeats {
    /// By the offset of the first lane's word in its sector.
    times: [u64; WORDS],
    /// Of a load without gaps: the bytes from the lowest address to that of the first lane, and to
    /// the end of the highest access; 0 if there are gaps.
    below: u64,
    span: u64,
    last: LastPage,
}

impl Repeats {
    #[inline(always)]
    pub(super) fn count(&mut self, start: u64) {
        self.times[start as usize / 4 % WORDS] += 1;
    }

    /// Adds the bytes of an access; false where that takes its pattern.
    #[inline(always)]
    pub(super) fn touch(&mut self, start: u64, footprints: &mut Footprints) -> bool {
        self.span != 0 && {
            let lowest = start.wrapping_sub(self.below);
            let read = &mut footprints.read;
            read.add_run(lowest, self.span, &mut self.last)
        }
    }

    /// The times counted, which begin anew.
    pub(super) fn take_times(&mut self) -> [u64; WORDS] {
        std::mem::take(&mut self.times)
    }

    pub(super) fn times(&self) -> &[u64; WORDS] {
        &self.times
    }

    /// Makes it count accesses of another pattern.
    fn restart(&mut self, pattern: &SitePattern) {
        let is_run = pattern.runs.len() == 1 && pattern.kind == AccessKind::Load;
        self.below = pattern.below;
        self.span = if is_run { pattern.span } else { 0 };
        self.last = LastPage::none();
    }
}

impl Site {
    /// Counts an access if it is like the last one; else [`Self::count_other`] must.
    #[inline(always)]
    pub(super) fn count(&mut self, access: &MemoryAccess<'_>, footprints: &mut Footprints) -> bool {
        match self.patterns.get_mut(self.current) {
            Some(pattern) if pattern.matches(access) => {
                pattern.count(access.addresses[pattern.first], footprints);
                true
            }
            _ => false,
        }
    }

    /// Counts an access that is not like the last one. `pending`: accesses like that one which are
    /// not counted yet.
    pub(super) fn count_other(
        &mut self,
        access: &MemoryAccess<'_>,
        pending: &[u64; WORDS],
        repeats: &mut Repeats,
        footprints: &mut Footprints,
    ) {
        if let Some(last) = self.patterns.get_mut(self.current) {
            last.add_repeats(pending);
        }
        let known = self
            .patterns
            .iter()
            .position(|pattern| pattern.matches(access));
        self.current = known.unwrap_or_else(|| self.place_for(SitePattern::of(access)));
        let pattern = &mut self.patterns[self.current];
        pattern.count(access.addresses[pattern.first], footprints);
        repeats.restart(pattern);
    }

    /// Adds the bytes of an access of the current pattern.
    #[inline(always)]
    pub(super) fn touch(&mut self, start: u64, footprints: &mut Footprints) {
        if let Some(pattern) = self.patterns.get_mut(self.current) {
            pattern.touch(start, footprints);
        }
    }

    /// Remembers a pattern, and evicts an older one if there are too many.
    #[inline(never)]
    fn place_for(&mut self, pattern: SitePattern) -> usize {
        if self.patterns.len() < PATTERNS {
            self.patterns.push(pattern);
            return self.patterns.len() - 1;
        }
        let place = (self.current + 1) % PATTERNS;
        let old = std::mem::replace(&mut self.patterns[place], pattern);
        self.forgotten += old.counts();
        place
    }

    /// The counts of all accesses, with the pending ones, which are like the last.
    pub(super) fn counts(&self, pending: &[u64; WORDS]) -> Counts {
        let mut sum = self.forgotten;
        for (place, pattern) in self.patterns.iter().enumerate() {
            if place == self.current {
                let mut current = pattern.clone();
                current.add_repeats(pending);
                sum += current.counts();
            } else {
                sum += pattern.counts();
            }
        }
        sum
    }

    /// Adds what was counted elsewhere.
    pub(super) fn add(&mut self, counts: Counts) {
        self.forgotten += counts;
    }
}

#[derive(Clone, Debug)]
struct SitePattern {
    space: Space,
    kind: AccessKind,
    bytes: u32,
    mask: u32,
    /// The first active lane.
    first: usize,
    /// Address of each lane minus that of the first one; 0 for inactive lanes.
    deltas: [u64; LANES],
    /// All bits for active lanes, none for the others.
    active: [u64; LANES],
    /// Address of the first lane minus the lowest address.
    below: u64,
    /// Bytes from the lowest address to the end of the highest access.
    span: u64,
    /// (distance from the lowest address, bytes) of each stretch without a gap.
    runs: Vec<(u64, u64)>,
    last_read: LastPage,
    last_written: LastPage,
    /// How often it occurred, by the first address's offset in its sector.
    times: [u64; OFFSETS],
}

impl SitePattern {
    fn of(access: &MemoryAccess<'_>) -> Self {
        let first = access.mask.trailing_zeros() as usize % LANES;
        let start = access.addresses[first];
        let active: [u64; LANES] =
            std::array::from_fn(|lane| 0u64.wrapping_sub(u64::from(access.mask >> lane & 1)));
        let deltas =
            std::array::from_fn(|lane| access.addresses[lane].wrapping_sub(start) & active[lane]);
        let lanes = (0..LANES).filter(|lane| access.mask >> lane & 1 != 0);
        let mut starts: Vec<u64> = lanes.map(|lane| access.addresses[lane]).collect();
        starts.sort_unstable();
        let lowest = starts[0];
        let bytes = u64::from(access.bytes);
        let mut runs: Vec<(u64, u64)> = Vec::new();
        for distance in starts.iter().map(|address| address - lowest) {
            match runs.last_mut() {
                // The accesses are not checked yet: lanes may be any distance apart.
                Some((from, length)) if distance - *from <= *length => {
                    *length = distance - *from + bytes;
                }
                _ => runs.push((distance, bytes)),
            }
        }
        SitePattern {
            space: access.space,
            kind: access.kind,
            bytes: access.bytes,
            mask: access.mask,
            first,
            deltas,
            active,
            below: start - lowest,
            span: (starts[starts.len() - 1] - lowest).saturating_add(bytes),
            runs,
            last_read: LastPage::none(),
            last_written: LastPage::none(),
            times: [0; OFFSETS],
        }
    }

    #[inline(always)]
    fn matches(&self, access: &MemoryAccess<'_>) -> bool {
        let start = access.addresses[self.first];
        let mut different = 0;
        for lane in 0..LANES {
            let delta = access.addresses[lane].wrapping_sub(start) & self.active[lane];
            different |= delta ^ self.deltas[lane];
        }
        // A copy reads as many bytes as a register says, and one instruction may access a space in
        // several ways.
        let is_same = (access.bytes == self.bytes) & (access.kind == self.kind);
        different == 0 && is_same && access.mask == self.mask && access.space == self.space
    }

    /// Counts an access whose first active lane has the address `start`.
    #[inline(always)]
    fn count(&mut self, start: u64, footprints: &mut Footprints) {
        self.times[start as usize % OFFSETS] += 1;
        if self.space == Space::Global {
            self.touch(start, footprints);
        }
    }

    fn add_repeats(&mut self, repeats: &[u64; WORDS]) {
        for (times, more) in self.times.iter_mut().step_by(4).zip(repeats) {
            *times += more;
        }
    }

    /// Adds the bytes of such an access in global memory.
    #[inline(always)]
    fn touch(&mut self, start: u64, footprints: &mut Footprints) {
        let lowest = start.wrapping_sub(self.below);
        if self.kind != AccessKind::Store {
            let last = &mut self.last_read;
            footprints.read.add(lowest, self.span, &self.runs, last);
        }
        if self.kind != AccessKind::Load {
            let last = &mut self.last_written;
            footprints.written.add(lowest, self.span, &self.runs, last);
        }
    }

    fn counts(&self) -> Counts {
        let mut sum = Counts::default();
        for (offset, &times) in self.times.iter().enumerate() {
            if times != 0 {
                // Far enough from 0 that no lane's address wraps around, at the same offset in its
                // sector and with the same banks.
                let start = (1u64 << 62) + offset as u64;
                self.add_counts(&mut sum, start, times);
            }
        }
        sum
    }

    /// Adds `times` accesses whose first lane's address is `start`.
    fn add_counts(&self, sum: &mut Counts, start: u64, times: u64) {
        let addresses = self.deltas.map(|delta| start.wrapping_add(delta));
        let access = WarpAccess {
            kind: self.kind,
            bytes: self.bytes,
            mask: self.mask,
            addresses: &addresses,
        };
        let bytes = times * u64::from(self.bytes) * u64::from(self.mask.count_ones());
        let plain = PlainCounts {
            requests: times,
            bytes,
        };
        match self.space {
            Space::Global => {
                let global = match self.kind {
                    AccessKind::Load => &mut sum.global_loads,
                    AccessKind::Store => &mut sum.global_stores,
                    AccessKind::Atomic => &mut sum.global_atomics,
                };
                global.requests += times;
                global.bytes += bytes;
                global.sectors += times * cost::sectors(&access);
            }
            Space::Shared => {
                let shared = match self.kind {
                    AccessKind::Load => &mut sum.shared_loads,
                    AccessKind::Store => &mut sum.shared_stores,
                    AccessKind::Atomic => return sum.shared_atomics += plain,
                };
                let wavefronts = cost::wavefronts(&access);
                shared.requests += times;
                shared.bytes += bytes;
                shared.wavefronts += times * wavefronts.taken;
                shared.ideal_wavefronts += times * wavefronts.ideal;
                shared.worst_conflict = shared.worst_conflict.max(wavefronts.ways);
            }
            Space::Cluster => match self.kind {
                AccessKind::Load => sum.cluster_loads += plain,
                AccessKind::Store => sum.cluster_stores += plain,
                AccessKind::Atomic => sum.cluster_atomics += plain,
            },
            Space::Local => match self.kind {
                AccessKind::Load => sum.local_loads += plain,
                AccessKind::Store | AccessKind::Atomic => sum.local_stores += plain,
            },
            Space::Const | Space::Param | Space::Generic => {
                sum.constant_loads += ConstantCounts {
                    requests: times,
                    addresses: times * cost::addresses(&access),
                    bytes,
                };
            }
        }
    }
}
