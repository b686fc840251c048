//! The bits of an mbarrier object.
//!
//! The object is opaque in PTX. Here its 64 bits hold, from the lowest: the pending arrivals of the
//! phase (20 bits), the expected arrivals of every phase (20), the pending bytes (22, signed), the
//! parity of the phase, and a bit that marks a valid object.

use crate::ir::PENDING_BITS;

pub(super) const COUNT_MASK: u64 = (1 << PENDING_BITS) - 1;
const BYTES_SHIFT: u32 = 2 * PENDING_BITS;
const BYTES_BITS: u32 = 22;
const PARITY_BIT: u32 = BYTES_SHIFT + BYTES_BITS;
const VALID_BIT: u32 = 63;

/// Most bytes that a phase can wait for (PTX ISA, "mbarrier", valid range of tx-count).
pub(super) const MAX_BYTES: i64 = (1 << 20) - 1;

/// An mbarrier object, unpacked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Object {
    pub(super) pending: u64,
    pub(super) expected: u64,
    pub(super) bytes: i64,
    pub(super) parity: u64,
}

impl Object {
    pub(super) fn unpack(bits: u64) -> Option<Self> {
        let bytes = bits << (64 - PARITY_BIT) >> (64 - PARITY_BIT + BYTES_SHIFT);
        // The sign of the bytes is the highest of their bits.
        let bytes = (bytes << (64 - BYTES_BITS)) as i64 >> (64 - BYTES_BITS);
        (bits >> VALID_BIT != 0).then_some(Object {
            pending: bits & COUNT_MASK,
            expected: bits >> PENDING_BITS & COUNT_MASK,
            bytes,
            parity: bits >> PARITY_BIT & 1,
        })
    }

    pub(super) fn pack(self) -> u64 {
        let bytes = self.bytes as u64 & ((1 << BYTES_BITS) - 1);
        self.pending
            | self.expected << PENDING_BITS
            | bytes << BYTES_SHIFT
            | self.parity << PARITY_BIT
            | 1 << VALID_BIT
    }

    /// Starts the next phase if this one is complete.
    pub(super) fn advance(&mut self) -> bool {
        let complete = self.pending == 0 && self.bytes == 0;
        if complete {
            self.pending = self.expected;
            self.parity ^= 1;
        }
        complete
    }
}

/// The parity of a state that `arrive` gave.
pub(super) fn state_parity(state: u64) -> u64 {
    state >> PARITY_BIT & 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_survive_packing() {
        for bytes in [0, 1, -1, MAX_BYTES, -MAX_BYTES] {
            let object = Object {
                pending: 3,
                expected: COUNT_MASK,
                bytes,
                parity: 1,
            };
            assert_eq!(Object::unpack(object.pack()), Some(object));
        }
        assert_eq!(Object::unpack(0), None);
    }

    #[test]
    fn a_phase_waits_for_arrivals_and_bytes() {
        let mut object = Object {
            pending: 0,
            expected: 2,
            bytes: 4,
            parity: 0,
        };
        assert!(!object.advance());
        object.bytes = 0;
        assert!(object.advance());
        assert_eq!((object.pending, object.parity), (2, 1));
    }
}
