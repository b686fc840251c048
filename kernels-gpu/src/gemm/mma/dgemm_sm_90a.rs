//! `dgemm` for compute capability 9.0: MMAs of 16 × 8 × 4.
//!
//! # Idea
//! Hopper's tensor cores take the 8 × 8 × 4 MMAs of the generation before at half of their rate.
//! MMAs of 16 rows use all of it. Those of k8 and k16 were slower here, because they need more
//! fragments at once. A launch begins while the one in front ends, as in
//! [`sgemm`](crate::gemm::simt::sgemm_sm_90a).
//!
//! # Thread mapping
//! As in [`dgemm`](crate::gemm::mma::dgemm): the two fragments of a vec2 of A are the upper and the
//! lower half of the 16 rows.
//!
//! # Preconditions
//! As for `dgemm`.
//!
//! # What changed since the rung before
//! Against `dgemm`: the shape of the MMA, and launches that overlap.
//!
//! # Source
//! Beyond the sources; PTX ISA, "mma.sync", `.m16n8k4` with `.f64`.

use super::main_loop::{Accumulators, Fragments, body, dgemm_instances};
use crate::gemm::GemmParams;
use crate::gemm::copy::layout;
use crate::gemm::pipeline::cp_async::shared_bytes;
use crate::gemm::scheduler::grid::GridSchedulerParams;
use crate::gemm::tile_config::{Tile, TileConfig};

/// Adds A · B to a warp tile's accumulators, for one k-block, by MMAs of 16 × 8 × 4.
#[inline(always)]
fn warp_mma<const A: usize, const B: usize>(
    accumulators: &mut Accumulators<A, B>,
    fragments: &Fragments<A, B>,
) {
    let Fragments { a, b } = *fragments;
    for i in 0..A {
        for j in 0..B {
            for column in 0..2 {
                let [upper, lower] = &mut accumulators[i][j];
                mma_m16n8k4(&mut upper[column], &mut lower[column], a[i], b[j][column]);
            }
        }
    }
}

/// One MMA, D = A · B + C of 16 × 8 × 4, with the accumulators of the upper and of the lower 8 rows
/// in an array each. All lanes of the warp call it together.
#[inline(always)]
fn mma_m16n8k4(upper: &mut [f64; 2], lower: &mut [f64; 2], a: [f64; 2], b: f64) {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: arithmetic on registers, without access to memory. All lanes execute it: `body` does
    // not branch on the lane before its epilogue.
    unsafe {
        core::arch::asm!(
            "mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {{{0}, {1}, {2}, {3}}}, \
             {{{4}, {5}}}, {{{6}}}, {{{0}, {1}, {2}, {3}}};",
            inout(reg64) upper[0],
            inout(reg64) upper[1],
            inout(reg64) lower[0],
            inout(reg64) lower[1],
            in(reg64) a[0],
            in(reg64) a[1],
            in(reg64) b,
            options(pure, nomem, nostack, preserves_flags),
        );
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        let _ = (upper, lower, a, b);
        panic!("tensor cores are on a GPU or on the PTX emulator only")
    }
}

dgemm_instances! { dgemm_90, warp_mma, 5, true }
