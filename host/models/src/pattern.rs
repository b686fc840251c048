//! Strided accesses of a warp.

use thiserror::Error;

/// An access that the closed forms do not cover.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PatternError {
    /// Not a size that one instruction can access.
    #[error("an access of {0} bytes per lane: give 1, 2, 4, 8 or 16")]
    AccessBytes(u32),
    /// Not aligned to its size, which no GPU executes.
    #[error(
        "{what} of {value} bytes is no multiple of the {access_bytes} bytes that each lane accesses"
    )]
    Misaligned {
        /// `stride` or `offset`.
        what: &'static str,
        /// Its value.
        value: i64,
        /// Bytes per lane.
        access_bytes: u32,
    },
    /// No warp has this number of lanes.
    #[error("{0} lanes: give 1 to 32")]
    Lanes(u32),
    /// Segments smaller than an access, or not a power of two.
    #[error("segments of {segment_bytes} bytes: give a power of two of at least {access_bytes}")]
    SegmentBytes {
        /// Bytes of a segment.
        segment_bytes: u32,
        /// Bytes per lane.
        access_bytes: u32,
    },
    /// Several lanes can share a bank's word, for which there is no closed form here.
    #[error("an access of {0} bytes per lane to shared memory: give 4, 8 or 16")]
    NarrowerThanBank(u32),
}

/// Checks what every strided access must satisfy.
pub(super) fn check(lanes: u32, stride_bytes: i64, access_bytes: u32) -> Result<(), PatternError> {
    if !(1..=32).contains(&lanes) {
        return Err(PatternError::Lanes(lanes));
    }
    if !matches!(access_bytes, 1 | 2 | 4 | 8 | 16) {
        return Err(PatternError::AccessBytes(access_bytes));
    }
    check_aligned("stride", stride_bytes, access_bytes)
}

pub(super) fn check_aligned(
    what: &'static str,
    value: i64,
    access_bytes: u32,
) -> Result<(), PatternError> {
    if value % i64::from(access_bytes) == 0 {
        return Ok(());
    }
    Err(PatternError::Misaligned {
        what,
        value,
        access_bytes,
    })
}
