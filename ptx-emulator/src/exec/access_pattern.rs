//! The fast paths of full warps: what earlier executions have shown of an instruction's addresses.
//!
//! The distances of the lanes' addresses from lane 0's are remembered. As long as they stay the
//! same, bounds and alignment of all lanes follow from lane 0's address, and so does the layout of
//! the words.

use super::Launch;
use super::lane_offsets::{Extent, LaneOffsets};
use super::transfer::Transfer;
use super::vector::{LANES, Registers};
use crate::ir::{Address, AddressBase, Program, Register, Space};

/// Number of lanes whose words are transferred at once.
pub(super) const GROUP: usize = 8;

/// How the addresses of a group of lanes are distributed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// All the same.
    Uniform,
    /// Consecutive accesses.
    Consecutive,
    Other,
}

/// A memory instruction and the pattern of its addresses.
///
/// What every access needs is in one cache line.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub(super) struct AccessPattern {
    /// The base of the address.
    base: AddressBase,
    offset: i64,
    pub offsets: u32,
    /// Bytes that each lane accesses.
    pub bytes: u32,
    /// The version of the lane offsets that this was made for.
    version: u64,
    /// The same if the fast paths apply; else 0, which no lane offsets have.
    fast: u64,
    /// From the value of the base register in lane 0 to the lowest address.
    lowest: i64,
    /// How the words of all lanes are distributed.
    pub whole: Shape,
    /// The space in which the observer last saw an access of this pattern; generic for none.
    observed: Space,
    /// How the fast paths do it.
    pub transfer: Transfer,
    /// The register of an access of 4 bytes in each lane; else [`NO_REGISTER`].
    pub register: u32,
    /// The space that the instruction names.
    named: Space,
    /// The space of `extent`.
    space: Space,
    /// Address of lane 0 minus the lowest one.
    below: u32,
    /// The allocation that was accessed last.
    allocation: u32,
    /// Where the space or the allocation starts that was accessed last.
    extent: u64,
    /// Number of bytes in it at which the lowest access of the pattern can start; 0 if that is not
    /// known.
    starts: u64,
    pub groups: [Shape; LANES / GROUP],
    /// Whether the fast paths may do the instruction at all.
    plain: bool,
    /// Offset of the last access in its allocation, in words.
    previous: usize,
    /// The allocation that the slow path accessed last.
    pub near: u32,
    /// The version of the lane offsets at the last access.
    seen: u64,
    /// Bytes from the lowest address to the end of the highest access.
    span: u64,
    /// The registers of a load of 4-byte elements all of which are used.
    pub registers: [u32; 4],
    /// How many there are; 0 for anything else.
    pub count: u32,
    /// Address of each lane minus the lowest one, in words.
    pub word_offsets: [u32; LANES],
}

/// No register.
const NO_REGISTER: u32 = u32::MAX;

const _: () = assert!(std::mem::offset_of!(AccessPattern, named) <= 64);

/// The location of a regular access.
#[derive(Clone, Copy, Debug)]
pub(super) struct AccessLocation {
    pub space: Space,
    pub allocation: u32,
    /// Bytes from the start of the space, or of the allocation, to the lowest address.
    pub offset: usize,
    /// The address of lane 0: the generic one for global and constant memory, else that in the
    /// space.
    pub first: u64,
}

impl AccessPattern {
    fn new(address: &Address, bytes: u32, plain: bool, register: Option<Register>) -> Self {
        AccessPattern {
            base: address.base,
            offset: address.offset,
            offsets: address.offsets,
            bytes,
            version: 0,
            fast: 0,
            lowest: address.offset,
            below: 0,
            allocation: 0,
            extent: 0,
            starts: 0,
            space: address.space,
            whole: Shape::Uniform,
            observed: Space::Generic,
            named: address.space,
            register: match register {
                Some(Register::Reg32(reg)) if bytes == 4 => reg.0,
                _ => NO_REGISTER,
            },
            transfer: Transfer::Slow,
            groups: [Shape::Uniform; LANES / GROUP],
            plain,
            previous: 0,
            span: u64::from(bytes),
            near: 0,
            seen: 0,
            registers: [NO_REGISTER; 4],
            count: 0,
            word_offsets: [0; LANES],
        }
    }

    /// One pattern per load of a program, then one per store.
    pub(super) fn of_program(program: &Program) -> Vec<Self> {
        let loads = program.loads.iter().map(|load| {
            let bytes = load.bytes * load.destinations.len() as u32;
            let mut pattern = AccessPattern::new(&load.address, bytes, load.plain, load.single);
            let count = load.destinations.len();
            let all_reg32 = load.bytes == 4
                && load
                    .destinations
                    .iter()
                    .zip(&mut pattern.registers)
                    .all(|(from, to)| {
                        let register = match from {
                            Some(Register::Reg32(reg)) => Some(reg.0),
                            _ => None,
                        };
                        *to = register.unwrap_or(NO_REGISTER);
                        register.is_some()
                    });
            if all_reg32 && count <= pattern.registers.len() {
                pattern.count = count as u32;
            }
            pattern
        });
        let stores = program.stores.iter().map(|store| {
            let bytes = store.bytes * store.sources.len() as u32;
            let single = match store.sources.as_slice() {
                &[source] => Some(source),
                _ => None,
            };
            AccessPattern::new(&store.address, bytes, store.plain, single)
        });
        loads.chain(stores).collect()
    }

    /// The location of the access of a full warp. `None` where the fast paths do not apply: it is
    /// out of bounds, misaligned, irregular, or in a space that is left to the slow path.
    #[inline(always)]
    pub(super) fn find(
        &mut self,
        launch: &Launch<'_>,
        r: &Registers<'_>,
        lane_offsets: &mut [LaneOffsets],
        visit: u64,
        (local_base, local_top): (u32, u32),
    ) -> Option<AccessLocation> {
        let offsets = &mut lane_offsets[self.offsets as usize];
        if offsets.visit != visit {
            match self.base {
                AddressBase::Reg64(reg) => {
                    let base = &r.regs64[reg.0 as usize];
                    offsets.enter(launch, visit, |lane| base[lane]);
                }
                AddressBase::Reg32(reg) => {
                    let base = &r.regs32[reg.0 as usize];
                    offsets.enter(launch, visit, |lane| u64::from(base[lane]));
                }
                // Their lane offsets never change.
                AddressBase::None | AddressBase::Frame => {}
            }
        }
        if self.version != offsets.version {
            // What is not seen twice is not worth it.
            if std::mem::replace(&mut self.seen, offsets.version) != offsets.version {
                return None;
            }
            self.learn(offsets);
        }
        if let Some(location) = self.known_location(offsets, visit) {
            return Some(location);
        }
        let base = match self.base {
            AddressBase::Reg64(reg) => r.regs64[reg.0 as usize][0],
            AddressBase::Reg32(reg) => u64::from(r.regs32[reg.0 as usize][0]),
            AddressBase::None => 0,
            AddressBase::Frame => u64::from(local_base),
        };
        let first = base.wrapping_add(self.offset as u64);
        let lowest = first.wrapping_sub(u64::from(self.below));
        // Spaces and allocations start at multiples of every access size.
        let mut offset = lowest.wrapping_sub(self.extent);
        if offset >= self.starts || offset & u64::from(self.bytes - 1) != 0 {
            offset = self.find_elsewhere(launch, lowest)?;
        }
        let first = match self.space {
            Space::Global | Space::Const => first,
            Space::Local if offset + u64::from(self.bytes) > u64::from(local_top) => return None,
            _ => offset + u64::from(self.below),
        };
        Some(AccessLocation {
            space: self.space,
            allocation: self.allocation,
            offset: offset as usize,
            first,
        })
    }

    /// As [`Self::find`], if the lane offsets are known to be in bounds in this visit, and are
    /// those that the pattern was made for.
    #[inline(always)]
    pub(super) fn known_location(
        &self,
        offsets: &LaneOffsets,
        visit: u64,
    ) -> Option<AccessLocation> {
        (offsets.safe == visit && self.fast == offsets.version).then(|| AccessLocation {
            space: offsets.space,
            allocation: offsets.allocation,
            offset: offsets.at.wrapping_add_signed(self.lowest) as usize,
            first: offsets.reported.wrapping_add_signed(self.offset),
        })
    }

    #[cold]
    #[inline(never)]
    fn find_elsewhere(&mut self, launch: &Launch<'_>, lowest: u64) -> Option<u64> {
        if self.transfer == Transfer::Slow {
            return None;
        }
        let found = Extent::find(launch, self.named, lowest, self.span)?;
        if found.space == Space::Local && self.whole != Shape::Uniform {
            return None;
        }
        self.space = found.space;
        self.extent = found.start;
        self.allocation = found.allocation;
        self.starts = found.starts(self.span);
        let offset = lowest.wrapping_sub(self.extent);
        (offset < self.starts && offset & u64::from(self.bytes - 1) == 0).then_some(offset)
    }

    #[cold]
    #[inline(never)]
    fn learn(&mut self, offsets: &LaneOffsets) {
        self.version = offsets.version;
        self.starts = 0;
        self.observed = Space::Generic;
        // Deltas are differences of addresses and may be negative.
        let signed = offsets.deltas.map(|delta| delta as i64);
        let lowest = signed.iter().copied().min().unwrap_or(0);
        let highest = signed.iter().copied().max().unwrap_or(0);
        let bytes = u64::from(self.bytes);
        let regular = self.plain
            && highest.abs_diff(lowest) <= u64::from(u32::MAX / 2)
            && signed
                .iter()
                .all(|delta| delta.unsigned_abs().is_multiple_of(bytes));
        self.transfer = Transfer::Slow;
        self.fast = 0;
        if !regular {
            return;
        }
        let above = signed.map(|delta| delta.abs_diff(lowest));
        self.word_offsets = above.map(|distance| distance as u32 / 4);
        self.fast = offsets.version;
        self.below = lowest.unsigned_abs() as u32;
        self.lowest = self.offset.wrapping_sub(i64::from(self.below));
        self.span = highest.abs_diff(lowest) + bytes;
        let shape = |lanes: &[u64]| {
            let strided = |step: u64| {
                let expected = (0..).map(|lane| lanes[0] + lane * step);
                lanes
                    .iter()
                    .zip(expected)
                    .all(|(&location, expected)| location == expected)
            };
            match () {
                () if strided(0) => Shape::Uniform,
                () if strided(bytes) => Shape::Consecutive,
                () => Shape::Other,
            }
        };
        self.whole = shape(&above);
        self.groups = std::array::from_fn(|group| shape(&above[group * GROUP..][..GROUP]));
        self.transfer = match self.whole {
            Shape::Consecutive if self.register != NO_REGISTER => Transfer::Row,
            Shape::Uniform if self.count != 0 => Transfer::Broadcast,
            _ => Transfer::Scattered,
        };
    }

    /// Records that the observer sees a full warp; whether it saw the same pattern in the same
    /// space before.
    #[inline(always)]
    pub(super) fn observe(&mut self, space: Space) -> bool {
        std::mem::replace(&mut self.observed, space) == space
    }

    /// Records that the observer sees an access of another pattern.
    pub(super) fn observe_other(&mut self, lane_offsets: &mut [LaneOffsets]) {
        self.observed = Space::Generic;
        lane_offsets[self.offsets as usize].steady = false;
    }

    /// The offset of the next access, if the distance between accesses stays the same.
    #[inline(always)]
    pub(super) fn ahead(&mut self, at: usize) -> usize {
        let step = at.wrapping_sub(std::mem::replace(&mut self.previous, at));
        at.wrapping_add(step)
    }
}
