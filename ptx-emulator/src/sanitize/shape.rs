//! How the lanes of an access lie in memory.

use crate::observer::MemoryAccess;

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

/// The shape that each instruction's last access had.
#[derive(Clone, Debug, Default)]
pub(super) struct Shapes(Vec<Shape>);

impl Shapes {
    pub(super) fn new(instructions: usize) -> Self {
        Shapes(vec![Shape::Other; instructions])
    }

    #[inline(always)]
    pub(super) fn of(&mut self, access: &MemoryAccess<'_>) -> Shape {
        let known = &mut self.0[access.instruction.index()];
        if !access.repeats_pattern {
            *known = find(access);
        }
        *known
    }
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
