//! How the lanes of an access lie in memory.

use crate::observer::{MemoryAccess, RepeatedAccess};

pub(super) const LANES: usize = 32;

/// How the accesses of a warp's lanes lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// All 32 lanes at the same place.
    Uniform,
    /// All 32 lanes, each behind the one before.
    Consecutive,
    /// Anything else.
    Other,
}

/// What is known of the last access of an instruction.
#[derive(Clone, Debug)]
struct Known {
    shape: Shape,
    runs: Vec<Run>,
    places: Vec<AddressGroup>,
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
            places: Vec::new(),
        };
        Shapes(vec![unknown; instructions])
    }

    #[inline(always)]
    pub(super) fn of(&mut self, access: &MemoryAccess<'_>) -> Shape {
        let known = &mut self.0[access.instruction.index()];
        if !access.repeats_pattern {
            known.shape = find(access);
            known.runs.clear();
            known.places.clear();
        }
        known.shape
    }

    /// The bytes that the access takes up, which must be like the last one that was asked about.
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
    pub(super) fn places(&mut self, access: &RepeatedAccess<'_>) -> &[AddressGroup] {
        let known = &mut self.0[access.instruction.index()];
        if known.places.is_empty() {
            known.places = find_places(access);
        }
        &known.places
    }

    /// Lends the places out, until [`Self::give_places`].
    pub(super) fn take_places(&mut self, access: &RepeatedAccess<'_>) -> Vec<AddressGroup> {
        std::mem::take(&mut self.0[access.instruction.index()].places)
    }

    pub(super) fn give_places(&mut self, access: &RepeatedAccess<'_>, places: Vec<AddressGroup>) {
        self.0[access.instruction.index()].places = places;
    }
}

#[cold]
#[inline(never)]
fn find_places(access: &RepeatedAccess<'_>) -> Vec<AddressGroup> {
    let mut places: Vec<AddressGroup> = Vec::new();
    for (lane, &distance) in access.distances.iter().enumerate() {
        match places.iter_mut().find(|place| place.distance == distance) {
            Some(place) => place.lanes |= 1 << lane,
            None => places.push(AddressGroup {
                distance,
                lanes: 1 << lane,
            }),
        }
    }
    places
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
    (0..LANES).filter(move |lane| mask >> lane & 1 != 0)
}
