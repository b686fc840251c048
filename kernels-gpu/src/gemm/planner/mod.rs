//! The planner.

mod cost;
pub mod tiles;
pub mod wgmma;
