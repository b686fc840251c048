//! What several tests use.

pub mod drawn;
pub mod gemm;
#[path = "../../../../../tests/library/first_gpu.rs"]
pub mod gpu;
pub mod output;

use warpladder_lab::catalogue::Rung;

/// Whether a rung is to run: all, or those that `WARPLADDER_RUNGS` names by the beginning of their
/// names, with commas between, for the time while you work on them.
pub fn is_named(rung: &Rung) -> bool {
    let names = std::env::var("WARPLADDER_RUNGS").ok();
    names.is_none_or(|names| names.split(',').any(|name| rung.name.starts_with(name)))
}
