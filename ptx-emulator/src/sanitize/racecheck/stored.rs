//! Stores that always store one value, such as those of flags: whichever of two such writes comes
//! last, memory holds the same.

use crate::ir::{AccessKind, InstructionId};
use crate::observer::MemoryAccess;

/// What the stores of an instruction have had in common so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stored {
    #[default]
    Nothing,
    /// All elements of all lanes were this value, of this many bytes.
    One(u64, u32),
    Several,
}

impl Stored {
    fn join(self, other: Stored) -> Stored {
        match (self, other) {
            (Stored::Nothing, other) => other,
            (own, Stored::Nothing) => own,
            (own, other) if own == other => own,
            _ => Stored::Several,
        }
    }
}

/// By instruction.
#[derive(Clone, Debug, Default)]
pub(super) struct StoredValuesOf(Vec<Stored>);

impl StoredValuesOf {
    pub(super) fn new(instructions: usize) -> Self {
        StoredValuesOf(vec![Stored::Nothing; instructions])
    }

    #[inline(always)]
    pub(super) fn note(&mut self, access: &MemoryAccess<'_>) {
        let index = access.instruction.index();
        if access.kind == AccessKind::Store && self.0[index] != Stored::Several {
            self.0[index] = compare(self.0[index], access);
        }
    }

    pub(super) fn merge(&mut self, other: StoredValuesOf) {
        for (own, other) in self.0.iter_mut().zip(other.0) {
            *own = own.join(other);
        }
    }

    /// Whether two instructions store one and the same value, always.
    pub(super) fn are_same(&self, first: InstructionId, second: InstructionId) -> bool {
        let of = |id: InstructionId| self.0.get(id.index()).copied().unwrap_or_default();
        matches!(of(first), Stored::One(..)) && of(first) == of(second)
    }
}

#[cold]
#[inline(never)]
fn compare(known: Stored, access: &MemoryAccess<'_>) -> Stored {
    let Some(values) = access.values else {
        return Stored::Several;
    };
    let first = super::super::shape::lanes(access.mask).next();
    let mut elements = first.into_iter().flat_map(|lane| values.of_lane(lane));
    let Some(value) = elements.next() else {
        return known;
    };
    let count = 1 + elements.count() as u32;
    match values.are_all(value, access.mask) {
        true => known.join(Stored::One(value, access.bytes / count)),
        false => Stored::Several,
    }
}
