//! `dgemm` for compute capability 9.0: products of 16 × 8 × 4.
//!
//! # Idea
//! Hopper's tensor cores take the 8 × 8 × 4 products of the generation before at half of their rate. Products of 16 rows use
//! all of it; those that are 8 or 16 deep were slower here, because they need more fragments at once.
//!
//! # Thread mapping
//! As in [`dgemm`](crate::ampere::dgemm): the two pieces of a pair of A are the upper and the lower half of the 16 rows.
//!
//! # Preconditions
//! As for `dgemm`.
//!
//! # What changed since the rung before
//! Against `dgemm`: the shape of the product.
//!
//! # Source
//! Beyond the sources; PTX ISA, "mma.sync", `.m16n8k4` with `.f64`.

use super::main_loop::{Accumulators, Fragments, PAIRS_A, PAIRS_B, body, dgemm_instances};
use crate::gemm::GemmParams;
use crate::gemm::copy::layout;
use crate::gemm::tile_config::TileConfig;

/// Adds the products of fragments by `mma.sync` of 16 × 8 × 4.
#[inline(always)]
fn multiply(accumulators: &mut Accumulators, fragments: &Fragments) {
    let Fragments { a, b } = *fragments;
    for i in 0..PAIRS_A {
        for j in 0..PAIRS_B {
            for other in 0..2 {
                let [upper, lower] = &mut accumulators[i][j];
                multiply_add(&mut upper[other], &mut lower[other], a[i], b[j][other]);
            }
        }
    }
}

/// D = A · B + C of 16 × 8 × 4, accumulators of the upper and the lower 8 rows apart. All lanes of the warp call it together.
#[inline(always)]
fn multiply_add(upper: &mut [f64; 2], lower: &mut [f64; 2], a: [f64; 2], b: f64) {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: arithmetic on registers; the kernel calls it without divergence.
    unsafe {
        core::arch::asm!(
            "mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {{{0}, {1}, {2}, {3}}}, {{{4}, {5}}}, {{{6}}}, {{{0}, {1}, {2}, {3}}};",
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

dgemm_instances! {
    multiply;
    [128, 128], 256, 4, 1 {
        dgemm_90_128x128_nn: K_MAJOR, MN_MAJOR;
        dgemm_90_128x128_nt: K_MAJOR, K_MAJOR;
        dgemm_90_128x128_tn: MN_MAJOR, MN_MAJOR;
        dgemm_90_128x128_tt: MN_MAJOR, K_MAJOR;
        dgemm_90_128x128_nn_elements: K_MAJOR, MN_MAJOR_UNALIGNED;
        dgemm_90_128x128_tn_elements: MN_MAJOR_UNALIGNED, MN_MAJOR_UNALIGNED;
        dgemm_90_128x128_tt_elements: MN_MAJOR_UNALIGNED, K_MAJOR;
    }
    [64, 64], 64, 3, 4 {
        dgemm_90_64x64_nn: K_MAJOR, MN_MAJOR_UNALIGNED;
        dgemm_90_64x64_nt: K_MAJOR, K_MAJOR;
        dgemm_90_64x64_tn: MN_MAJOR_UNALIGNED, MN_MAJOR_UNALIGNED;
        dgemm_90_64x64_tt: MN_MAJOR_UNALIGNED, K_MAJOR;
    }
}
