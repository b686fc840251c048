//! Measurements on GPUs, as the program's commands wrote them (`docs/results.md` says what the fields are).
//!
//! A crate of its own, so that other crates embed a file without reaching outside of their folders.

/// On an NVIDIA H200.
pub mod h200 {
    /// What `warpladder compare` wrote: `compare-dgemm.json`.
    pub const COMPARE_DGEMM: &str = include_str!("h200/compare-dgemm.json");
    /// What `warpladder compare` wrote: `compare-sgemm.json`.
    pub const COMPARE_SGEMM: &str = include_str!("h200/compare-sgemm.json");
    /// What `warpladder compare` wrote: `compare-transpose.json`.
    pub const COMPARE_TRANSPOSE: &str = include_str!("h200/compare-transpose.json");
    /// What `warpladder compare` wrote: `compare-wgmma-tf32.json`.
    pub const COMPARE_WGMMA_TF32: &str = include_str!("h200/compare-wgmma-tf32.json");
    /// What `warpladder compare` wrote: `compare-wgmma.json`.
    pub const COMPARE_WGMMA: &str = include_str!("h200/compare-wgmma.json");
    /// The device query.
    pub const DEVICES: &str = include_str!("h200/devices.json");
    /// What `warpladder predict` wrote: `predict.json`.
    pub const PREDICT: &str = include_str!("h200/predict.json");
    /// What `warpladder reproduce` wrote: `reproduce.json`.
    pub const REPRODUCE: &str = include_str!("h200/reproduce.json");
    /// Every kernel at 2048.
    pub const RUN_2048: &str = include_str!("h200/run-2048.json");
    /// Every kernel at its usual size.
    pub const RUN: &str = include_str!("h200/run.json");
    /// What `warpladder sweep` wrote: `sweep-add_one.json`.
    pub const SWEEP_ADD_ONE: &str = include_str!("h200/sweep-add_one.json");
    /// What `warpladder sweep` wrote: `sweep-matvec_interleaved.json`.
    pub const SWEEP_MATVEC_INTERLEAVED: &str = include_str!("h200/sweep-matvec_interleaved.json");
    /// What `warpladder sweep` wrote: `sweep-matvec_lcs.json`.
    pub const SWEEP_MATVEC_LCS: &str = include_str!("h200/sweep-matvec_lcs.json");
    /// What `warpladder sweep` wrote: `sweep-matvec_thread_per_element.json`.
    pub const SWEEP_MATVEC_THREAD_PER_ELEMENT: &str =
        include_str!("h200/sweep-matvec_thread_per_element.json");
}
