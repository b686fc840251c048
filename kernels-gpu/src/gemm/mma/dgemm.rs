//! `dgemm` and its instances: f64 GEMMs of any size and layout, on tensor cores.
//!
//! # Idea
//! From compute capability 8.0 on, tensor cores have an MMA of f64, with the rounding of fused
//! multiply-adds. The kernel has the structure of `sgemm`: the same copies, the same pipeline of
//! stages. The arithmetic differs: a warp as a whole takes an 8 × 4 fragment of A and a 4 × 8
//! fragment of B, an element a lane.
//!
//! # Thread mapping
//! A block of 8 warps has a block tile of 128 × 128, with warp tiles of 64 × 32. Others have warp
//! tiles of 32 × 16: of 64 × 64 and 32 × 64, and, for few columns or rows, of 128 × 32 and 32 ×
//! 128. A lane loads the elements of two fragments of A, or of B, as one vec2: rows 2g and 2g + 1
//! for lane group g. So the fragments take every other row, and a lane ends up with four
//! neighbouring columns of C. They go through shared memory, so that a warp stores whole lines of a
//! row.
//!
//! # Preconditions
//! As for `sgemm`; vectors have 2 elements.
//!
//! # What changed since the rung before
//! Against `sgemm`: f64, and `mma.sync` in place of the outer products of a thread.
//!
//! # Source
//! Beyond the sources; PTX ISA, "mma.sync", `.m8n8k4` with `.f64`.

use super::main_loop::{Accumulators, Fragments, body, dgemm_instances};
use crate::gemm::GemmParams;
use crate::gemm::copy::layout;
use crate::gemm::pipeline::cp_async::shared_bytes;
use crate::gemm::scheduler::grid::GridSchedulerParams;
use crate::gemm::tile_config::{Tile, TileConfig};

// ANCHOR: multiply
/// Adds A · B to a warp tile's accumulators, for one k-block, by MMAs of 8 × 8 × 4.
#[inline(always)]
fn warp_mma<const A: usize, const B: usize>(
    accumulators: &mut Accumulators<A, B>,
    fragments: &Fragments<A, B>,
) {
    let Fragments { a, b } = *fragments;
    for i in 0..A {
        for j in 0..B {
            for row in 0..2 {
                for column in 0..2 {
                    // SAFETY: all lanes of the warp execute it: no branch depends on the lane.
                    unsafe {
                        cuda_std::mma::mma_f64(
                            &mut accumulators[i][j][row][column],
                            a[i][row],
                            b[j][column],
                        )
                    };
                }
            }
        }
    }
}
// ANCHOR_END: multiply

dgemm_instances! { dgemm, warp_mma, 3, false }
