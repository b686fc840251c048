//! `dgemm` and its instances: f64 products of any size and layout, on tensor cores.
//!
//! # Idea
//! From compute capability 8.0 on, tensor cores multiply f64, with the rounding of fused multiply-adds. The way to them is
//! that of `sgemm`: the same copies, the same pipeline of stages. What differs is who multiplies: a warp as a whole takes an
//! 8 × 4 piece of A and a 4 × 8 piece of B, an element a lane.
//!
//! # Thread mapping
//! A block of 8 warps has a tile of 128 × 128, a warp 64 × 32 of it. A lane loads the elements of two pieces of A, or of B, as
//! one vector: rows 2g and 2g + 1 for lane group g, so the pieces take every other row, and a lane ends up with four
//! neighbouring columns of C.
//!
//! # Preconditions
//! As for `sgemm`; vectors are of 2 elements.
//!
//! # What changed since the rung before
//! Against `sgemm`: f64, and `mma.sync` in place of the loops over a thread's accumulators.
//!
//! # Source
//! Beyond the sources; PTX ISA, "mma.sync", `.m8n8k4` with `.f64`.

use super::main_loop::{Accumulators, Fragments, PAIRS_A, PAIRS_B, body, dgemm_instances};
use crate::gemm::GemmParams;
use crate::gemm::copy::layout;
use crate::gemm::tile_config::TileConfig;

// ANCHOR: multiply
/// Adds the products of fragments by `mma.sync` of 8 × 8 × 4.
#[inline(always)]
fn multiply(accumulators: &mut Accumulators, fragments: &Fragments) {
    let Fragments { a, b } = *fragments;
    for i in 0..PAIRS_A {
        for j in 0..PAIRS_B {
            for half in 0..2 {
                for other in 0..2 {
                    // SAFETY: all lanes of the warp are here.
                    unsafe {
                        cuda_std::mma::mma_f64(
                            &mut accumulators[i][j][half][other],
                            a[i][half],
                            b[j][other],
                        )
                    };
                }
            }
        }
    }
}
// ANCHOR_END: multiply

dgemm_instances! {
    multiply;
    [128, 128], 256, 4, 1 {
        dgemm_128x128_nn: K_MAJOR, MN_MAJOR;
        dgemm_128x128_nt: K_MAJOR, K_MAJOR;
        dgemm_128x128_tn: MN_MAJOR, MN_MAJOR;
        dgemm_128x128_tt: MN_MAJOR, K_MAJOR;
        dgemm_128x128_nn_elements: K_MAJOR, MN_MAJOR_UNALIGNED;
        dgemm_128x128_tn_elements: MN_MAJOR_UNALIGNED, MN_MAJOR_UNALIGNED;
        dgemm_128x128_tt_elements: MN_MAJOR_UNALIGNED, K_MAJOR;
    }
    [64, 64], 64, 3, 4 {
        dgemm_64x64_nn: K_MAJOR, MN_MAJOR_UNALIGNED;
        dgemm_64x64_nt: K_MAJOR, K_MAJOR;
        dgemm_64x64_tn: MN_MAJOR_UNALIGNED, MN_MAJOR_UNALIGNED;
        dgemm_64x64_tt: MN_MAJOR_UNALIGNED, K_MAJOR;
    }
}
