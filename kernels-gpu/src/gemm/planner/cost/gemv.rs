//! What a GEMV takes.

use super::GRID;

/// Bytes that GEMVs load in a clock, and the blocks on each SM that this takes.
const GEMV_BYTES_PER_CLOCK: f64 = 2200.0;
const GEMV_SATURATING_BLOCKS: f64 = 1.5;

/// Clocks of a GEMV's prologue and epilogue in each wave, and of the fix-up by its last blocks.
const GEMV_WAVE: f64 = 1500.0;
const GEMV_FIX_UP: f64 = 5000.0;

/// The share of the long operand's bytes that costs as much as if it came from memory when they are
/// read again, of GEMV N and GEMV T.
const AGAIN: [f64; 2] = [0.5, 0.6];

/// What GEMV T loses where the short operand has several rows, which it loads for each column.
const SEVERAL_ROWS_T: f64 = 0.3;

/// The same in addition for each byte of a row of the short operand where that is MN-major: the
/// lanes of a warp load elements that are rows apart. From times on an H200 of n from 2 to 8.
const SHORT_ROW_BYTE_T: f64 = 0.05;

/// What GEMV T loses with split-K: its warps have less to do then.
const SPLIT_K_T: f64 = 0.2;

/// What GEMVs lose where rows of the long operand are not of whole vectors.
const NO_VECTORS: f64 = 0.5;

/// A GEMM with a short side, as the GEMV kernels compute it.
pub struct GemvCost {
    /// Bytes of the long operand.
    pub bytes: f64,
    /// Whether the long operand is K-major: GEMV T.
    pub k_major: bool,
    /// Whether its rows are of whole vectors.
    pub vectors: bool,
    /// Whether the short side is longer than 1.
    pub several: bool,
    /// Bytes of a row of the short operand, as it is stored, where it is MN-major; otherwise 0.
    pub short_row_bytes: u32,
    /// Times that the long operand is read.
    pub passes: u32,
    /// Split-K factor.
    pub splits: u32,
    /// Blocks of the grid.
    pub blocks: u64,
    /// Blocks that fit on an SM.
    pub blocks_per_sm: u64,
    /// SMs.
    pub multiprocessors: u32,
}

impl GemvCost {
    /// Clocks from the launch to the end.
    pub fn clocks(&self) -> f64 {
        let is_split = self.splits > 1;
        let again = 1.0
            + AGAIN[usize::from(self.k_major)] * f64::from(self.passes - 1)
            + f64::from(self.k_major && self.several) * SEVERAL_ROWS_T
            + f64::from(self.k_major && self.several)
                * f64::from(self.short_row_bytes)
                * SHORT_ROW_BYTE_T
            + f64::from(self.k_major && is_split) * SPLIT_K_T
            + f64::from(!self.vectors) * NO_VECTORS;
        // The last wave leaves SMs idle; too few blocks have too few loads in flight.
        let multiprocessors = f64::from(self.multiprocessors);
        let wave = self.blocks_per_sm * u64::from(self.multiprocessors);
        let waves = self.blocks.div_ceil(wave);
        let longer = if self.blocks < wave {
            (GEMV_SATURATING_BLOCKS * multiprocessors / self.blocks as f64).max(1.0)
        } else {
            (waves * wave) as f64 / self.blocks as f64
        };
        GRID.start
            + waves as f64 * GEMV_WAVE
            + self.bytes * again * longer / GEMV_BYTES_PER_CLOCK
            + f64::from(is_split) * GEMV_FIX_UP
    }
}
