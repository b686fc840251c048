//! Epilogues: what happens to accumulators between registers and C.
//!
//! | file | kernels | how |
//! |---|---|---|
//! | [`linear`] | SIMT, `mma.sync` and reductions | each thread stores to C or to the workspace |
//! | [`tma_store`] | `wgmma` | through shared memory, by TMA, while the next work unit is computed |
//!
//! Every one computes C ← α · accumulators + β · C, reads C only where β is not 0, and rounds once.

pub mod linear;
#[cfg(sm_90a)]
pub mod tma_store;

use cuda_std::prelude::GpuFloat;

/// β · C + `scaled`, rounded once, where `source` is the element of C and `scaled` the accumulator
/// times α.
#[inline(always)]
pub fn add_source<T: GpuFloat>(beta: T, source: T, scaled: T) -> T {
    beta.mul_add(source, scaled)
}
