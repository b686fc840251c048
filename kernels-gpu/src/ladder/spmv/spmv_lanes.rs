//! `spmv_lanes`: as many lanes for a row as a row has elements, about.
//!
//! # Idea
//! Between a lane and a warp for a row lie 2, 4, 8 and 16 lanes. The best number is the one near
//! the mean length of a row: few lanes are without an element, and what neighbouring lanes load is
//! still next to each other. The matrices that this family is run with have 6.5 elements a row on
//! average, with one row of 64 in 32, so eight lanes it is.
//!
//! # Thread mapping
//! Row 32 b + t / 8 belongs to lanes t to t + 7 of block b.
//!
//! # Preconditions
//! As `spmv_thread`.
//!
//! # What changed since the rung before
//! Against `spmv_warp`: lanes for a row, from 32 to 8.
//!
//! # Source
//! Beyond the sources. Bell and Garland, 2009, and the CSR kernels of Cusp, which choose this
//! number by the mean length.

use super::spmv_warp::{body, geometry};
use crate::geometry::Geometry;

/// Lanes for a row.
const LANES: usize = 8;

/// 256 threads for 32 rows.
pub const GEOMETRY: Geometry = geometry(LANES);

spmv_kernels! {
    /// Eight lanes for a row.
    spmv_lanes => body::<LANES>;
}
