//! The main loop of 16-bit and TF32 products by `mma.sync`: CUTLASS's `MmaMultistage`.
//!
//! # Idea
//! Asynchronous copies fill the stages of a pipeline ahead of the warps that read them. One barrier
//! of the block separates two k-tiles: what the k-tile before has read is then filled again. While
//! a warp multiplies the fragments of one k-block it loads those of the next one, also across the
//! barrier.
//!
//! # Thread mapping
//! A warp tile is `MMAS_M` × `MMAS_N` MMAs of 16 × 8. The warps of a block lie row by row in its
//! block tile.
//!
//! # Source
//! Beyond the sources; CUTLASS, "Efficient GEMM in CUDA", "Pipelining". PTX ISA, "mma.sync".

use super::operand::{
    self, Held, K_BLOCKS, Loader, MMA_M, MMA_N, Panel, TensorElement, tile_bytes,
};
use crate::gemm::GemmParams;
use crate::gemm::copy::layout;
use crate::gemm::scheduler::grid::WorkTile;
use cuda_std::async_copy::{self, SharedAddress};
use cuda_std::prelude::*;

/// Bytes of shared memory of `stages` stages of a block tile.
pub const fn stages_bytes([bm, bn]: [usize; 2], stages: usize) -> usize {
    stages * (tile_bytes(bm) + tile_bytes(bn))
}

/// A lane's accumulators: four for each MMA of a warp tile. Of each, rows g and g + 8, and of both
/// columns 2t and 2t + 1, where g is lane / 4 and t is lane mod 4.
pub type Accumulators<const MMAS_M: usize, const MMAS_N: usize> = [[[f32; 4]; MMAS_N]; MMAS_M];

/// A lane's fragments for a k-block.
#[derive(Clone, Copy)]
struct Fragments<const MMAS_M: usize, const MMAS_N: usize> {
    a: [[u32; 4]; MMAS_M],
    b: [[u32; 2]; MMAS_N],
}

/// The operands of a GEMM: where they lie, and how.
#[derive(Clone, Copy)]
pub struct Operands<T> {
    /// A.
    pub a: *const T,
    /// B.
    pub b: *const T,
}

/// A warp's place in its block tile.
#[derive(Clone, Copy, Debug)]
pub struct WarpTile {
    /// First row.
    pub row: usize,
    /// First column.
    pub column: usize,
}

impl WarpTile {
    /// That of this thread's warp, for block tiles of `bn` columns and warp tiles of `wm` × `wn`.
    #[inline(always)]
    pub fn of_this_warp(bn: usize, [wm, wn]: [usize; 2]) -> Self {
        let warp = thread::thread_idx_x() as usize / 32;
        let warps_n = bn / wn;
        WarpTile {
            row: warp / warps_n * wm,
            column: warp % warps_n * wn,
        }
    }
}

/// The panels of A and B of a work tile.
#[inline(always)]
pub fn panels<T, U>(
    operands: &Operands<T>,
    params: &GemmParams<U>,
    work: &WorkTile,
) -> [Panel<T>; 2] {
    let batch = work.batch as usize;
    [
        Panel {
            matrix: operands
                .a
                .wrapping_add(batch * params.stride_a as usize),
            leading: params.lda,
            k_major: params.transpose_a == 0,
            extent: params.m,
            first: work.row,
            start: work.k_start,
        },
        Panel {
            matrix: operands
                .b
                .wrapping_add(batch * params.stride_b as usize),
            leading: params.ldb,
            k_major: params.transpose_b != 0,
            extent: params.n,
            first: work.column,
            start: work.k_start,
        },
    ]
}

/// Adds op(A) · op(B) of a work tile to the accumulators. After it no copy is in flight, and all
/// threads have read the stages.
///
/// # Safety
/// All threads of the block, of which there are `THREADS`, execute it. `memory` has
/// [`stages_bytes`] bytes of shared memory, aligned to 128, that nothing else uses. The panels are
/// as [`Panel`] says, in the layouts of the instance.
#[inline(always)]
pub unsafe fn main_loop<
    E: TensorElement,
    const BM: usize,
    const BN: usize,
    const MMAS_M: usize,
    const MMAS_N: usize,
    const THREADS: usize,
    const STAGES: usize,
    const VECTORS_A: usize,
    const VECTORS_B: usize,
    const LAYOUT_A: u32,
    const LAYOUT_B: u32,
>(
    memory: *mut u8,
    [panel_a, panel_b]: [Panel<E::Stored>; 2],
    k_extent: u32,
    accumulators: &mut Accumulators<MMAS_M, MMAS_N>,
) {
    const {
        assert!(BM * BN / (MMAS_M * MMA_M * MMAS_N * MMA_N) * 32 == THREADS);
        assert!(MMAS_N.is_multiple_of(2) && K_BLOCKS.is_multiple_of(2) && STAGES >= 2 && STAGES <= 4);
    }
    // Where lanes load 32-bit elements one by one, a second set of fragments spills.
    let is_prefetched = const {
        let has_words = E::BYTES == 4
            && (LAYOUT_A == layout::MN_MAJOR_VECTORS || LAYOUT_B == layout::MN_MAJOR_VECTORS);
        !has_words
    };
    let stage_bytes = tile_bytes(BM) + tile_bytes(BN);
    let mut loader_a = Loader::<E, LAYOUT_A, BM, THREADS>::new(&panel_a);
    let mut loader_b = Loader::<E, LAYOUT_B, BN, THREADS>::new(&panel_b);
    let shared = SharedAddress::of(memory);
    let tile_b = tile_bytes(BM) as u32;
    let warp = WarpTile::of_this_warp(BN, [MMAS_M * MMA_M, MMAS_N * MMA_N]);
    let k_tiles = k_extent.div_ceil(E::BK as u32);
    if k_tiles == 0 {
        return;
    }
    // SAFETY: a stage is filled after a barrier behind its last use. It is used after its copies
    // were waited for by the threads that started them, or stores were made, and a barrier. The
    // other conditions are those of this function.
    unsafe {
        let load = |fragments: &mut Fragments<MMAS_M, MMAS_N>, stage: u32, k_block: usize| {
            let (a, b) = (shared.at(stage), shared.at(stage + tile_b));
            for i in 0..MMAS_M {
                let row = warp.row + i * MMA_M;
                fragments.a[i] = operand::load_a::<E, LAYOUT_A, BM>(a, row, k_block);
            }
            for j in 0..MMAS_N / 2 {
                let column = warp.column + 2 * j * MMA_N;
                let [left, right] = operand::load_b::<E, LAYOUT_B, BN>(b, column, k_block);
                fragments.b[2 * j] = left;
                fragments.b[2 * j + 1] = right;
            }
        };
        let warp_mma = |accumulators: &mut Accumulators<MMAS_M, MMAS_N>,
                        fragments: &Fragments<MMAS_M, MMAS_N>| {
            let Fragments { a, b } = *fragments;
            for i in 0..MMAS_M {
                for j in 0..MMAS_N {
                    E::mma(&mut accumulators[i][j], &a[i], b[j]);
                }
            }
        };
        // Elements along k of the k-tiles that were not fetched yet.
        let mut to_fetch = k_extent;
        let mut write = 0;
        for _ in 0..STAGES - 1 {
            let enabled = to_fetch > 0;
            let stage = shared.at(write);
            let held_a: Held<VECTORS_A> = loader_a.fetch(stage, to_fetch, enabled);
            let held_b: Held<VECTORS_B> = loader_b.fetch(stage.at(tile_b), to_fetch, enabled);
            loader_a.store(memory.wrapping_add(write as usize), &held_a, enabled);
            loader_b.store(
                memory.wrapping_add((write + tile_b) as usize),
                &held_b,
                enabled,
            );
            async_copy::commit_group();
            to_fetch = to_fetch.saturating_sub(E::BK as u32);
            write += stage_bytes as u32;
        }
        wait_for_next::<STAGES>();
        thread::sync_threads();
        let mut fragments: [Fragments<MMAS_M, MMAS_N>; 2] = core::mem::zeroed();
        let mut read = 0;
        if is_prefetched {
            load(&mut fragments[0], read, 0);
        }
        let mut held_a: Held<VECTORS_A> = [[0; 4]; VECTORS_A];
        let mut held_b: Held<VECTORS_B> = [[0; 4]; VECTORS_B];
        let mut k_tile = 1;
        while k_tile <= k_tiles {
            for k_block in 0..K_BLOCKS {
                if k_block == 0 {
                    // The stage that the k-tile before was read from is filled again.
                    let (stage, enabled) = (shared.at(write), to_fetch > 0);
                    held_a = loader_a.fetch(stage, to_fetch, enabled);
                    held_b = loader_b.fetch(stage.at(tile_b), to_fetch, enabled);
                    async_copy::commit_group();
                }
                if !is_prefetched {
                    load(&mut fragments[0], read, k_block);
                    warp_mma(accumulators, &fragments[0]);
                } else if k_block + 1 < K_BLOCKS {
                    load(&mut fragments[(k_block + 1) % 2], read, k_block + 1);
                }
                if k_block + 1 == K_BLOCKS {
                    let enabled = to_fetch > 0;
                    loader_a.store(memory.wrapping_add(write as usize), &held_a, enabled);
                    loader_b.store(
                        memory.wrapping_add((write + tile_b) as usize),
                        &held_b,
                        enabled,
                    );
                    to_fetch = to_fetch.saturating_sub(E::BK as u32);
                    write = after(write, stage_bytes, STAGES);
                    wait_for_next::<STAGES>();
                    thread::sync_threads();
                    // After the last k-tile the fragments of its first k-block are loaded once
                    // more, and not used.
                    let next = after(read, stage_bytes, STAGES);
                    read = if k_tile < k_tiles { next } else { read };
                    if is_prefetched {
                        load(&mut fragments[0], read, 0);
                    }
                }
                if is_prefetched {
                    warp_mma(accumulators, &fragments[k_block % 2]);
                }
            }
            k_tile += 1;
        }
        async_copy::wait_group::<0>();
        thread::sync_threads();
    }
}

/// The stage after this one, in bytes from the first.
#[inline(always)]
fn after(stage: u32, stage_bytes: usize, stages: usize) -> u32 {
    let next = stage + stage_bytes as u32;
    if next == (stages * stage_bytes) as u32 {
        0
    } else {
        next
    }
}

/// Waits until the copies of the next k-tile have arrived, of `STAGES` − 1 that are in flight.
#[inline(always)]
fn wait_for_next<const STAGES: usize>() {
    match STAGES {
        2 => async_copy::wait_group::<0>(),
        3 => async_copy::wait_group::<1>(),
        _ => async_copy::wait_group::<2>(),
    }
}
