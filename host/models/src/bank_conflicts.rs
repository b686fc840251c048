//! Bank conflicts: in how many wavefronts shared memory serves one access of a warp.
//!
//! Shared memory is spread over banks, one word of 4 bytes after the other. A *wavefront* serves
//! one word of each bank. With lane l at word l s and B banks, each bank that is used at all holds
//! gcd(s, B) of B lanes' words:
//!
//! ```text
//! wavefronts = 1                          s = 0: a load of one word is broadcast
//!            = ⌈n gcd(s, B) / B⌉          n lanes of one word each
//! ```
//!
//! So a column of a 32×32 tile (s = 32) costs 32 wavefronts, of a 32×33 tile (s = 33) one (source
//! 003). Accesses of 8 and 16 bytes are served for half and quarter warps in turn, over B/2 and B/4
//! slots of that size; a broadcast takes half as many turns, one and two (measured on an H200).
//!
//! CUDA C++ Programming Guide, "Compute Capability 5.x", shared memory; for 1.x and 2.x, guide 4.2.

use super::pattern::{PatternError, check};

/// Bytes of a bank's word.
pub const WORD_BYTES: u32 = 4;

const WARP: u32 = 32;

/// The banks of a multiprocessor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Banks {
    count: u32,
    lanes: u32,
    cycles_per_wavefront: u32,
}

impl Banks {
    /// Compute capability 1.x: 16 banks, half a warp at a time, a word every second cycle.
    pub const CC_1: Banks = Banks {
        count: 16,
        lanes: 16,
        cycles_per_wavefront: 2,
    };

    /// Compute capability 2.x: 32 banks, a word every second cycle.
    pub const CC_2: Banks = Banks {
        count: 32,
        lanes: 32,
        cycles_per_wavefront: 2,
    };

    /// Compute capability 3.0 and newer: 32 banks, a word every cycle (3.x in its default mode of
    /// 4-byte banks).
    pub const CC_3: Banks = Banks {
        count: 32,
        lanes: 32,
        cycles_per_wavefront: 1,
    };

    /// Cycles that a wavefront takes.
    pub const fn cycles_per_wavefront(&self) -> u32 {
        self.cycles_per_wavefront
    }

    /// Bytes that a multiprocessor's shared memory moves in a cycle without conflicts.
    pub fn bytes_per_cycle(&self) -> f64 {
        f64::from(self.count * WORD_BYTES) / f64::from(self.cycles_per_wavefront)
    }

    /// Wavefronts of a load of a full warp in which lane l takes `access_bytes` bytes at l ×
    /// `stride_bytes`; of a store too, but for a stride of 0.
    ///
    /// # Errors
    /// Anything but 4, 8 or 16 bytes, and an aligned stride.
    pub fn wavefronts(&self, stride_bytes: i64, access_bytes: u32) -> Result<u32, PatternError> {
        check(WARP, stride_bytes, access_bytes)?;
        if access_bytes < WORD_BYTES {
            return Err(PatternError::NarrowerThanBank(access_bytes));
        }
        let words = access_bytes / WORD_BYTES;
        if stride_bytes == 0 {
            return Ok(words.div_ceil(2) * (WARP / self.lanes));
        }
        let stride = stride_bytes.unsigned_abs() / u64::from(access_bytes);
        let slots = self.count / words;
        let together = self.lanes.min(slots);
        let conflicts = gcd(stride, u64::from(slots)) as u32;
        Ok(WARP / together * (together * conflicts).div_ceil(slots))
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}
