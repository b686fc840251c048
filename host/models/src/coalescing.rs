//! Coalescing: how many sectors of memory one access of a warp touches.
//!
//! A load or store of a warp is one *request*. The memory moves whole *sectors* of 32 bytes (four
//! make a cache line of 128), so a request costs as many sectors as its lanes touch (003: "the
//! naive transpose kernel performs 32 different stores per row"). With lane l at byte o + l s, and
//! every access aligned to its size:
//!
//! ```text
//! sectors = 1                                               s = 0 (a broadcast)
//!         = ⌊(o + (n − 1) s) / 32⌋ − ⌊o / 32⌋ + 1           0 < |s| < 32: no sector is left out
//!         = n                                               |s| ≥ 32: each lane has its own
//! ```
//!
//! n is the number of lanes. The same holds for lines of 128 bytes and for the half-warp requests
//! of compute capability 1.x (16 lanes; CUDA C Programming Guide 4.2, "Compute Capability 1.x",
//! global memory).

use super::pattern::{PatternError, check, check_aligned};

/// Bytes of a sector: what moves between L1, L2 and DRAM.
pub const SECTOR_BYTES: u32 = 32;

/// Bytes of a cache line: what has one tag.
pub const LINE_BYTES: u32 = 128;

/// One access of a warp whose lanes are a constant number of bytes apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WarpAccess {
    lanes: u32,
    stride_bytes: i64,
    access_bytes: u32,
    offset_bytes: i64,
}

impl WarpAccess {
    /// Lane l of `lanes` accesses `access_bytes` bytes at `offset_bytes` + l × `stride_bytes`; the
    /// offset counts from any address that is a multiple of 128.
    ///
    /// # Errors
    /// Anything but 1 to 32 lanes, 1 to 16 bytes in a power of two, and an aligned stride and
    /// offset.
    pub fn new(
        lanes: u32,
        stride_bytes: i64,
        access_bytes: u32,
        offset_bytes: i64,
    ) -> Result<Self, PatternError> {
        check(lanes, stride_bytes, access_bytes)?;
        check_aligned("offset", offset_bytes, access_bytes)?;
        Ok(WarpAccess {
            lanes,
            stride_bytes,
            access_bytes,
            offset_bytes,
        })
    }

    /// A full warp whose lanes are next to each other, from a line's start: the ideal.
    ///
    /// # Errors
    /// As [`WarpAccess::new`].
    pub fn contiguous(access_bytes: u32) -> Result<Self, PatternError> {
        Self::new(32, i64::from(access_bytes), access_bytes, 0)
    }

    /// Segments of `segment_bytes` bytes that it touches.
    ///
    /// # Errors
    /// A segment that is no power of two or smaller than an access.
    pub fn segments(&self, segment_bytes: u32) -> Result<u32, PatternError> {
        if !segment_bytes.is_power_of_two() || segment_bytes < self.access_bytes {
            return Err(PatternError::SegmentBytes {
                segment_bytes,
                access_bytes: self.access_bytes,
            });
        }
        Ok(self.count(segment_bytes))
    }

    /// Sectors of 32 bytes that it touches.
    pub fn sectors(&self) -> u32 {
        self.count(SECTOR_BYTES)
    }

    /// Cache lines of 128 bytes that it touches.
    pub fn lines(&self) -> u32 {
        self.count(LINE_BYTES)
    }

    /// Bytes that the lanes ask for over bytes that move: 1 is ideal, a broadcast counts its bytes
    /// once.
    pub fn efficiency(&self) -> f64 {
        let distinct = if self.stride_bytes == 0 {
            1
        } else {
            self.lanes
        };
        f64::from(distinct * self.access_bytes) / f64::from(self.sectors() * SECTOR_BYTES)
    }

    fn count(&self, segment_bytes: u32) -> u32 {
        let segment = i128::from(segment_bytes);
        let stride = i128::from(self.stride_bytes);
        if stride.abs() >= segment {
            return self.lanes;
        }
        let first = i128::from(self.offset_bytes);
        let last = first + stride * i128::from(self.lanes - 1);
        let span = first.div_euclid(segment) - last.div_euclid(segment);
        // Fewer than 32 segments are crossed: every step is shorter than a segment.
        span.unsigned_abs() as u32 + 1
    }
}
