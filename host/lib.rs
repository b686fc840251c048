//! To be written.
pub mod engine;
