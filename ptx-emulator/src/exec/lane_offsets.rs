//! The values of an address register in the lanes of a warp, and the memory that they point to.

use super::Launch;
use super::vector::LANES;
use crate::address_space::{space_of, window};
use crate::ir::{AddressBase, Program, Space};
use crate::memory::MAX_LOCAL_BYTES;

/// The values of an address register relative to lane 0's, and the memory that they point to.
///
/// Accesses of a basic block with the same base register share their lane offsets: once per visit
/// of the block the offsets are compared with the register, and the bounds of all of these accesses
/// are checked.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub(super) struct LaneOffsets {
    /// Counts the different deltas that there have been.
    pub version: u64,
    /// How many visits in a row had other deltas than the one before.
    changes: u32,
    /// The visit at which the deltas were last compared with the register.
    pub visit: u64,
    /// The last visit in which every access was in bounds and aligned.
    pub safe: u64,
    pub space: Space,
    pub allocation: u32,
    /// Lane 0's value, from the start of the allocation or of shared memory on, in bytes.
    pub at: u64,
    /// The same as addresses are reported: global ones as they are.
    pub reported: u64,
    /// How observers are notified of its loads in this visit.
    pub report: Report,
    /// Whether the visit went by the fast paths so far.
    pub steady: bool,
    /// Whether observers may be notified of its loads by one event.
    grouped: bool,
    /// Where the allocation or the space starts.
    extent: u64,
    /// Number of bytes in it at which the lowest of all accesses can start.
    starts: u64,
    bounds: Bounds,
    /// Value of each lane minus that of lane 0.
    pub deltas: [u64; LANES],
}

/// How observers are notified of the loads of one base register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Report {
    /// One by one.
    Each,
    /// All at once, now.
    Now,
    /// Observers have been notified.
    Done,
}

/// What the accesses of one base register cover.
#[derive(Clone, Copy, Debug)]
struct Bounds {
    /// The space that all of them name; none where there are several, or where it is private to a
    /// thread.
    space: Option<Space>,
    /// The lowest offset from the base register, and the end of the highest access.
    from: i64,
    to: i64,
    /// The largest access of a lane in bytes.
    bytes: u32,
    /// Lane 0's value minus the lowest.
    below: u64,
    /// Bytes from the lowest address of the first access to the end of the highest of the last.
    span: u64,
}

impl LaneOffsets {
    fn new() -> Self {
        LaneOffsets {
            version: 1,
            changes: 0,
            visit: 0,
            safe: 0,
            space: Space::Generic,
            allocation: 0,
            at: 0,
            reported: 0,
            report: Report::Each,
            steady: false,
            grouped: false,
            extent: 0,
            starts: 0,
            bounds: Bounds {
                space: None,
                from: i64::MAX,
                to: i64::MIN,
                bytes: 1,
                below: 0,
                span: 0,
            },
            deltas: [0; LANES],
        }
    }

    /// The lane offsets of a program, by number.
    pub(super) fn of_program(program: &Program) -> Vec<Self> {
        let mut all = vec![LaneOffsets::new(); program.lane_offsets as usize + 1];
        let loads = program.loads.iter().map(|load| {
            let bytes = load.bytes * load.destinations.len() as u32;
            (&load.address, bytes)
        });
        let stores = program.stores.iter().map(|store| {
            let bytes = store.bytes * store.sources.len() as u32;
            (&store.address, bytes)
        });
        for (address, bytes) in loads.chain(stores) {
            let bounds = &mut all[address.offsets as usize].bounds;
            let is_first = bounds.from > bounds.to;
            let fits = is_first || bounds.space == Some(address.space);
            let in_register = matches!(address.base, AddressBase::Reg32(_) | AddressBase::Reg64(_));
            let shared = !matches!(address.space, Space::Local | Space::Param | Space::Cluster);
            let aligned = address.offset % i64::from(bytes.max(1)) == 0;
            bounds.space = (fits && in_register && shared && aligned).then_some(address.space);
            bounds.from = bounds.from.min(address.offset);
            bounds.to = bounds
                .to
                .max(address.offset.saturating_add(i64::from(bytes)));
            bounds.bytes = bounds.bytes.max(bytes);
        }
        for (offsets, loads) in all.iter_mut().zip(&program.groups) {
            offsets.grouped = !loads.is_empty();
        }
        all
    }

    /// Sets the deltas to those of the register, and finds the memory that it points to.
    #[inline(always)]
    pub(super) fn enter(&mut self, launch: &Launch<'_>, visit: u64, base: impl Fn(usize) -> u64) {
        const PARTS: usize = 8;
        self.visit = visit;
        let before = (self.version, self.space);
        // Without this the compiler treats lane 0, whose offset is 0, apart, and does not vectorise
        // the others.
        let first = std::hint::black_box(base(0));
        let mut different = [0; PARTS];
        for row in 0..LANES / PARTS {
            for (part, different) in different.iter_mut().enumerate() {
                let lane = PARTS * row + part;
                *different |= first.wrapping_add(self.deltas[lane]) ^ base(lane);
            }
        }
        if different.iter().fold(0, |all, part| all | part) != 0 {
            self.version += 1;
            self.changes = self.changes.wrapping_add(1);
            if self.is_irregular() {
                self.report = Report::Each;
                self.steady = false;
                return;
            }
            for lane in 0..LANES {
                self.deltas[lane] = base(lane).wrapping_sub(first);
            }
            self.learn();
        } else {
            self.changes = 0;
        }
        self.at = first.wrapping_sub(self.extent);
        let low = self.at.wrapping_sub(self.bounds.below);
        let low = low.wrapping_add_signed(self.bounds.from);
        let misaligned = first & u64::from(self.bounds.bytes - 1);
        let safe = low < self.starts && misaligned == 0 || self.find(launch, first);
        if safe {
            self.safe = visit;
        }
        self.reported = match self.space {
            Space::Shared => self.at,
            _ => first,
        };
        // Each load was reported in the last visit, and this one repeats it.
        let repeats = self.steady && safe && before == (self.version, self.space);
        self.report = match repeats && self.grouped {
            true => Report::Now,
            false => Report::Each,
        };
        self.steady = safe;
    }

    /// Whether other deltas need not be learnt, since they will hardly last: those of lanes that
    /// access any places. The version, which no pattern knows, stands for them then.
    fn is_irregular(&self) -> bool {
        const LEARNT: u32 = 8;
        self.changes > LEARNT && !self.changes.is_multiple_of(LEARNT)
    }

    #[cold]
    #[inline(never)]
    fn learn(&mut self) {
        self.starts = 0;
        // Deltas are differences of addresses and may be negative.
        let signed = self.deltas.map(|delta| delta as i64);
        let lowest = signed.iter().copied().min().unwrap_or(0);
        let highest = signed.iter().copied().max().unwrap_or(0);
        self.bounds.below = lowest.unsigned_abs();
        let accesses = self
            .bounds
            .to
            .saturating_sub(self.bounds.from)
            .unsigned_abs();
        self.bounds.span = highest.abs_diff(lowest).saturating_add(accesses);
    }

    /// Finds the space or the allocation that the register points to; whether all accesses lie in
    /// it.
    #[cold]
    #[inline(never)]
    fn find(&mut self, launch: &Launch<'_>, first: u64) -> bool {
        let Some(named) = self.bounds.space else {
            return false;
        };
        if self.bounds.span == 0 {
            self.learn();
        }
        let low = first.wrapping_sub(self.bounds.below);
        let low = low.wrapping_add_signed(self.bounds.from);
        let Some(found) = Extent::find(launch, named, low, self.bounds.span) else {
            return false;
        };
        if !matches!(found.space, Space::Shared | Space::Global) {
            return false;
        }
        self.space = found.space;
        self.allocation = found.allocation;
        self.extent = found.start;
        self.starts = found.starts(self.bounds.span);
        self.at = first.wrapping_sub(self.extent);
        let misaligned = first & u64::from(self.bounds.bytes - 1);
        low.wrapping_sub(self.extent) < self.starts && misaligned == 0
    }
}

/// A space or an allocation.
pub(super) struct Extent {
    pub space: Space,
    pub allocation: u32,
    pub start: u64,
    pub bytes: u64,
}

impl Extent {
    /// The allocation that holds `span` bytes at `address`, or the space of the address.
    pub(super) fn find(launch: &Launch<'_>, named: Space, address: u64, span: u64) -> Option<Self> {
        let by_address = matches!(named, Space::Generic | Space::Param);
        let space = if by_address { space_of(address) } else { named };
        let start = match (by_address, window(space)) {
            (true, Some((start, _))) => start,
            _ => 0,
        };
        let (start, bytes, allocation) = match space {
            Space::Shared => (start, u64::from(launch.shared_bytes), 0),
            Space::Global | Space::Const => {
                let index = launch.allocation_index(address, span)?;
                let allocation = &launch.allocations[index];
                if allocation.is_heap {
                    // Its blocks come and go.
                    return None;
                }
                (
                    allocation.base,
                    allocation.bytes,
                    u32::try_from(index).ok()?,
                )
            }
            Space::Local => (start, MAX_LOCAL_BYTES, 0),
            Space::Param | Space::Generic | Space::Cluster => return None,
        };
        Some(Extent {
            space,
            allocation,
            start,
            bytes,
        })
    }

    /// The number of offsets at which `span` bytes can start.
    pub(super) fn starts(&self, span: u64) -> u64 {
        self.bytes.checked_sub(span).map_or(0, |last| last + 1)
    }
}
