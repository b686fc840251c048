//! How the addresses of an access are distributed over the lanes.

use crate::observer::{MemoryAccess, RepeatedAccess};

pub(super) const LANES: usize = 32;

/// The bit of each lane. Shifts by several counts at once are no vector instructions of all
/// processors, but a table is.
pub(super) static BITS: [u32; LANES] = {
    let (mut bits, mut lane) = ([0; LANES], 0);
    while lane < LANES {
        bits[lane] = 1 << lane;
        lane += 1;
    }
    bits
};

/// How the addresses of a warp's lanes are distributed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// All 32 lanes access the same address.
    Uniform,
    /// All 32 lanes access consecutive addresses.
    Consecutive,
    /// Anything else.
    Other,
}

/// The last access of an instruction.
#[derive(Clone, Debug)]
struct Known {
    shape: Shape,
    runs: Vec<Run>,
    groups: Vec<AddressGroup>,
}

/// Bytes without a gap that lanes access.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    /// Address of the first byte minus that of lane 0, modulo 2^64.
    pub distance: u64,
    pub bytes: u64,
}

/// Lanes that access the same.
#[derive(Clone, Copy, Debug)]
pub(super) struct AddressGroup {
    /// Their address minus that of lane 0, modulo 2^64.
    pub distance: u64,
    pub lanes: u32,
}

/// The shape that each instruction's last access had.
#[derive(Clone, Debug, Default)]
pub(super) struct Shapes(Vec<Known>);

impl Shapes {
    pub(super) fn new(instructions: usize) -> Self {
        let unknown = Known {
            shape: Shape::Other,
            runs: Vec::new(),
            groups: Vec::new(),
        };
        Shapes(vec![unknown; instructions])
    }

    #[inline(always)]
    pub(super) fn of(&mut self, access: &MemoryAccess<'_>) -> Shape {
        let known = &mut self.0[access.instruction.index()];
        if !access.repeats_pattern {
            known.shape = find(access);
            known.runs.clear();
            known.groups.clear();
        }
        known.shape
    }

    /// The shape of an access that repeats the last one of its instruction.
    #[inline(always)]
    pub(super) fn repeated(&self, access: &RepeatedAccess<'_>) -> Shape {
        self.0[access.instruction.index()].shape
    }

    /// The least and the greatest distance of a lane's address from that of lane 0, as for
    /// [`Self::repeated`].
    #[inline(always)]
    pub(super) fn reach(&self, access: &RepeatedAccess<'_>) -> (i64, i64) {
        match self.repeated(access) {
            Shape::Uniform => (0, 0),
            Shape::Consecutive => (0, access.distances[LANES - 1] as i64),
            Shape::Other => {
                let all = access.distances.iter().map(|&distance| distance as i64);
                all.fold((0, 0), |(least, most), at| (at.min(least), at.max(most)))
            }
        }
    }

    /// The contiguous runs of an access that repeats the last one of its instruction.
    #[inline(always)]
    pub(super) fn runs(&mut self, access: &RepeatedAccess<'_>) -> &[Run] {
        let known = &mut self.0[access.instruction.index()];
        if known.runs.is_empty() {
            known.runs = find_runs(access);
        }
        &known.runs
    }

    /// The different addresses of the access, as for [`Self::runs`], with lane 0's first.
    #[inline(always)]
    pub(super) fn groups(&mut self, access: &RepeatedAccess<'_>) -> &[AddressGroup] {
        let known = &mut self.0[access.instruction.index()];
        if known.groups.is_empty() {
            known.groups = find_groups(access);
        }
        &known.groups
    }

    /// Takes the groups out, until [`Self::return_groups`].
    pub(super) fn take_groups(&mut self, access: &RepeatedAccess<'_>) -> Vec<AddressGroup> {
        std::mem::take(&mut self.0[access.instruction.index()].groups)
    }

    pub(super) fn return_groups(&mut self, access: &RepeatedAccess<'_>, groups: Vec<AddressGroup>) {
        self.0[access.instruction.index()].groups = groups;
    }
}

#[cold]
#[inline(never)]
fn find_groups(access: &RepeatedAccess<'_>) -> Vec<AddressGroup> {
    let mut groups: Vec<AddressGroup> = Vec::new();
    for (lane, &distance) in access.distances.iter().enumerate() {
        match groups.iter_mut().find(|group| group.distance == distance) {
            Some(group) => group.lanes |= 1 << lane,
            None => groups.push(AddressGroup {
                distance,
                lanes: 1 << lane,
            }),
        }
    }
    groups
}

#[cold]
#[inline(never)]
fn find_runs(access: &RepeatedAccess<'_>) -> Vec<Run> {
    let mut starts = access.distances.map(|distance| distance as i64);
    starts.sort_unstable();
    let bytes = i64::from(access.bytes);
    let mut runs: Vec<(i64, i64)> = Vec::new();
    for start in starts {
        match runs.last_mut() {
            Some((_, end)) if start <= *end => *end = start + bytes,
            _ => runs.push((start, start + bytes)),
        }
    }
    let runs = runs.into_iter().map(|(start, end)| Run {
        distance: start as u64,
        bytes: end.abs_diff(start),
    });
    runs.collect()
}

fn find(access: &MemoryAccess<'_>) -> Shape {
    if access.mask != u32::MAX {
        return Shape::Other;
    }
    let strided = |step: u64| {
        let first = access.addresses[0];
        let expected = (0..LANES as u64).map(|lane| first.wrapping_add(lane * step));
        access.addresses.iter().copied().eq(expected)
    };
    match () {
        () if strided(0) => Shape::Uniform,
        () if strided(u64::from(access.bytes)) => Shape::Consecutive,
        () => Shape::Other,
    }
}

/// The lanes of a mask, lowest first.
pub(super) fn lanes(mask: u32) -> impl Iterator<Item = usize> {
    let mut rest = mask;
    std::iter::from_fn(move || {
        let lane = rest.trailing_zeros() as usize;
        rest &= rest.wrapping_sub(1);
        (lane < LANES).then_some(lane)
    })
}
