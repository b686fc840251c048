//! Performance models: every figure of the sources, and the rules between them.
//!
//! Tolerances are those of the sources' rounding unless a comment says otherwise.

mod devices;
mod intervals;
mod links;
mod littles_law;
mod matvec_intervals;
mod occupancy;
mod patterns;
mod prediction;
mod roofline;
mod targets;

/// Fails unless `actual` is within `tolerance` of `expected`, relative to it.
#[track_caller]
fn assert_close(actual: f64, expected: f64, tolerance: f64) {
    let off = (actual / expected - 1.0).abs();
    assert!(off <= tolerance, "{actual} is not {expected}: off by {off}");
}
