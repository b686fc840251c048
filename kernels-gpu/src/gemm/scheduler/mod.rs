//! Tile schedulers: which block computes which tile of C, and which k-tiles of it.

pub mod grid;
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]
pub mod persistent;

/// Rows of tiles in a group.
pub const GROUP: u32 = 8;
