//! The main loop of 16-bit and TF32 products by `mma.sync`: CUTLASS's `MmaMultistage`.
//!
//! # Idea
//! Asynchronous copies fill the stages of a pipeline ahead of the warps that read them. One barrier
//! of the block separates two k-tiles: what the k-tile before has read is then filled again. A warp
//! loads the fragments of a k-block, and then multiplies those of the one before. So the MMAs of a
//! k-tile's last k-block come behind the barrier, where their fragments have been in registers for
//! a while: the tensor cores are busy while the first fragments of the next k-tile arrive.
//!
//! # Thread mapping
//! A warp tile is `MMAS_M` × `MMAS_N` MMAs of 16 × 8. The warps of a block lie row by row in its
//! block tile.
//!
//! # Source
//! Beyond the sources; CUTLASS, "Efficient GEMM in CUDA", "Pipelining". PTX ISA, "mma.sync".

use super::loader::{Loader, Panel};
use super::operand::{self, K_BLOCKS, MMA_M, MMA_N, TensorElement, TileElement};
use super::unaligned::{self, TilePair, TileReader};
use crate::gemm::GemmParams;
use crate::gemm::copy::layout;
use crate::gemm::scheduler::grid::WorkTile;
use cuda_std::async_copy::{self, SharedAddress};
use cuda_std::hint::rolled;
use cuda_std::prelude::*;

/// Bytes of shared memory of `stages` stages of a block tile.
pub const fn stages_bytes([bm, bn]: [usize; 2], layouts: [u32; 2], stages: usize) -> usize {
    stages * (tile_bytes(layouts[0], bm) + tile_bytes(layouts[1], bn))
}

/// Bytes of a tile of `bmn` rows of A or columns of B in a layout.
const fn tile_bytes(of: u32, bmn: usize) -> usize {
    match of {
        layout::ANY => unaligned::tile_bytes(bmn),
        _ => operand::tile_bytes(bmn),
    }
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
            matrix: operands.a.wrapping_add(batch * params.stride_a as usize),
            leading: params.lda,
            k_major: params.transpose_a == 0,
            extent: params.m,
            first: work.row,
            start: work.k_start,
        },
        Panel {
            matrix: operands.b.wrapping_add(batch * params.stride_b as usize),
            leading: params.ldb,
            k_major: params.transpose_b != 0,
            extent: params.n,
            first: work.column,
            start: work.k_start,
        },
    ]
}

/// The stages of a block's pipeline, and this thread's copies to them.
struct Pipeline<
    E: TileElement,
    const BM: usize,
    const BN: usize,
    const THREADS: usize,
    const STAGES: usize,
    const LAYOUT_A: u32,
    const LAYOUT_B: u32,
> {
    memory: *mut u8,
    loader_a: Loader<E, LAYOUT_A, BM, THREADS>,
    loader_b: Loader<E, LAYOUT_B, BN, THREADS>,
    /// Elements along k of the k-tiles that were not copied yet.
    k_left: u32,
    /// The stage that is filled next, and the one that is read, in bytes from the first.
    write: u32,
    read: u32,
}

impl<
    E: TileElement,
    const BM: usize,
    const BN: usize,
    const THREADS: usize,
    const STAGES: usize,
    const LAYOUT_A: u32,
    const LAYOUT_B: u32,
> Pipeline<E, BM, BN, THREADS, STAGES, LAYOUT_A, LAYOUT_B>
{
    const TILE_A_BYTES: usize = tile_bytes(LAYOUT_A, BM);
    /// Whether elements of a k-tile lie in the one behind it.
    const READS_NEXT: bool = LAYOUT_A == layout::ANY || LAYOUT_B == layout::ANY;
    const STAGE_BYTES: usize = Self::TILE_A_BYTES + tile_bytes(LAYOUT_B, BN);

    /// Fills all stages but one once `wait` returns, and waits for the first.
    ///
    /// # Safety
    /// As for [`main_loop`].
    #[inline(always)]
    unsafe fn start(
        memory: *mut u8,
        [panel_a, panel_b]: [Panel<E::Stored>; 2],
        k_extent: u32,
        wait: impl Fn(),
    ) -> Self {
        const { assert!(STAGES >= 2 + Self::READS_NEXT as usize && STAGES <= 4) };
        let mut pipeline = Pipeline {
            memory,
            loader_a: Loader::new(&panel_a, k_extent),
            loader_b: Loader::new(&panel_b, k_extent),
            // The k-tile behind the last one is read as well: its elements, or zeros.
            k_left: k_extent + if Self::READS_NEXT { E::BK as u32 } else { 0 },
            write: 0,
            read: 0,
        };
        wait();
        let mut stage = 0;
        while stage < STAGES - 1 {
            // SAFETY: the stages were not used before; the rest is this function's contract.
            unsafe { pipeline.start_copies() };
            // Copies of unaligned rows are long code.
            stage = match Self::READS_NEXT {
                true => rolled(stage + 1),
                false => stage + 1,
            };
        }
        pipeline.wait();
        pipeline
    }

    /// Starts to fill the next stage, if a k-tile is left, and goes on to the one behind it.
    ///
    /// # Safety
    /// All threads have read the stage.
    #[inline(always)]
    unsafe fn start_copies(&mut self) {
        let stage = SharedAddress::of(self.memory).at(self.write);
        let (k_extent, enabled) = (self.k_left, self.k_left > 0);
        // SAFETY: the contract of this function, and the panels are as `main_loop` asks.
        unsafe {
            self.loader_a.start_copies(stage, k_extent, enabled);
            let tile_b = stage.at(Self::TILE_A_BYTES as u32);
            self.loader_b.start_copies(tile_b, k_extent, enabled);
        }
        async_copy::commit_group();
        self.k_left = self.k_left.saturating_sub(E::BK as u32);
        self.write = after(self.write, Self::STAGE_BYTES, STAGES);
    }

    /// Waits for the k-tile behind the one that is read, and goes on to it.
    ///
    /// # Safety
    /// All threads of the block execute it, and have read what they need of the k-tile.
    #[inline(always)]
    unsafe fn advance(&mut self) {
        self.wait();
        self.read = after(self.read, Self::STAGE_BYTES, STAGES);
    }

    /// Waits until what is read next has arrived, of `STAGES` − 1 k-tiles that are in flight.
    #[inline(always)]
    fn wait(&self) {
        match STAGES - usize::from(Self::READS_NEXT) {
            2 => async_copy::wait_group::<0>(),
            3 => async_copy::wait_group::<1>(),
            _ => async_copy::wait_group::<2>(),
        }
        thread::sync_threads();
    }

    /// The tiles of A and B that are read.
    #[inline(always)]
    fn tiles(&self) -> [TilePair; 2] {
        let memory = SharedAddress::of(self.memory);
        let next = after(self.read, Self::STAGE_BYTES, STAGES);
        [0, Self::TILE_A_BYTES as u32].map(|tile| TilePair {
            tile: memory.at(self.read + tile),
            next: memory.at(next + tile),
        })
    }
}

/// Calls `consume` with the tiles of A and B of each k-tile, one after the other, once `wait`
/// returns. After it no copy is in flight, and all threads have read the stages.
///
/// # Safety
/// As for [`main_loop`]. `consume` reads the tiles only.
#[inline(always)]
pub unsafe fn for_each_k_tile<
    E: TileElement,
    const BM: usize,
    const BN: usize,
    const THREADS: usize,
    const STAGES: usize,
    const LAYOUT_A: u32,
    const LAYOUT_B: u32,
>(
    memory: *mut u8,
    panels: [Panel<E::Stored>; 2],
    k_extent: u32,
    wait: impl Fn(),
    mut consume: impl FnMut([TilePair; 2]),
) {
    let k_tiles = k_extent.div_ceil(E::BK as u32);
    if k_tiles == 0 {
        wait();
        return;
    }
    // SAFETY: a stage is filled after a barrier behind its last use. It is used after its copies
    // were waited for by the threads that started them, or stores were made, and a barrier. The
    // other conditions are those of this function.
    unsafe {
        let mut pipeline = Pipeline::<E, BM, BN, THREADS, STAGES, LAYOUT_A, LAYOUT_B>::start(
            memory, panels, k_extent, wait,
        );
        for _ in 0..k_tiles {
            // The stage that the k-tile before was read from is filled again.
            pipeline.start_copies();
            consume(pipeline.tiles());
            pipeline.advance();
        }
        async_copy::wait_group::<0>();
        thread::sync_threads();
    }
}

/// Adds op(A) · op(B) of a work tile to the accumulators. After it no copy is in flight, and all
/// threads have read the stages.
///
/// # Safety
/// All threads of the block, of which there are `THREADS`, execute it. What launches before write
/// of the operands is written when `wait` returns. `memory` has
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
    const LAYOUT_A: u32,
    const LAYOUT_B: u32,
>(
    memory: *mut u8,
    panels: impl Fn() -> [Panel<E::Stored>; 2],
    k_extent: u32,
    wait: impl Fn(),
    accumulators: &mut Accumulators<MMAS_M, MMAS_N>,
) {
    const {
        assert!(BM * BN / (MMAS_M * MMA_M * MMAS_N * MMA_N) * 32 == THREADS);
        assert!(MMAS_N.is_multiple_of(2) && K_BLOCKS.is_multiple_of(2));
    }
    let warp = WarpTile::of_this_warp(BN, [MMAS_M * MMA_M, MMAS_N * MMA_N]);
    let is_any = const { LAYOUT_A == layout::ANY && LAYOUT_B == layout::ANY };
    let panels = panels();
    let readers = [
        TileReader::new::<E, BM>(&panels[0]),
        TileReader::new::<E, BN>(&panels[1]),
    ];
    let load =
        |fragments: &mut Fragments<MMAS_M, MMAS_N>, [a, b]: [TilePair; 2], k_block: usize| {
            // SAFETY: the pipeline has waited for the tiles, and the whole warp is here.
            unsafe {
                if is_any {
                    fragments.a = readers[0].load_a::<E, BM, MMAS_M>(a, warp.row, k_block);
                    fragments.b = readers[1].load_b::<E, BN, MMAS_N>(b, warp.column, k_block);
                    return;
                }
                for i in 0..MMAS_M {
                    let row = warp.row + i * MMA_M;
                    fragments.a[i] = operand::load_a::<E, LAYOUT_A, BM>(a.tile, row, k_block);
                }
                for j in 0..MMAS_N / 2 {
                    let column = warp.column + 2 * j * MMA_N;
                    let [left, right] = operand::load_b::<E, LAYOUT_B, BN>(b.tile, column, k_block);
                    fragments.b[2 * j] = left;
                    fragments.b[2 * j + 1] = right;
                }
            }
        };
    let warp_mma = |accumulators: &mut Accumulators<MMAS_M, MMAS_N>,
                    fragments: &Fragments<MMAS_M, MMAS_N>| {
        let Fragments { a, b } = *fragments;
        for i in 0..MMAS_M {
            for j in 0..MMAS_N {
                // SAFETY: all lanes execute it: no branch depends on the lane.
                unsafe { E::mma(&mut accumulators[i][j], &a[i], b[j]) };
            }
        }
    };
    // SAFETY: integers are zero.
    let mut fragments: [Fragments<MMAS_M, MMAS_N>; 2] = unsafe { core::mem::zeroed() };
    // Where lanes load elements one by one, a second set of fragments spills.
    let is_prefetched = const {
        !(LAYOUT_A == layout::ANY
            || E::BYTES == 4
                && (LAYOUT_A == layout::MN_MAJOR_VECTORS || LAYOUT_B == layout::MN_MAJOR_VECTORS))
    };
    if !is_prefetched {
        // SAFETY: the contract is that of this function.
        unsafe {
            for_each_k_tile::<E, BM, BN, THREADS, STAGES, LAYOUT_A, LAYOUT_B>(
                memory,
                panels,
                k_extent,
                wait,
                |tiles| {
                    for k_block in 0..K_BLOCKS {
                        load(&mut fragments[0], tiles, k_block);
                        warp_mma(accumulators, &fragments[0]);
                    }
                },
            );
        }
        return;
    }
    let k_tiles = k_extent.div_ceil(E::BK as u32);
    if k_tiles == 0 {
        wait();
        return;
    }
    // SAFETY: as for `for_each_k_tile`.
    unsafe {
        let mut pipeline = Pipeline::<E, BM, BN, THREADS, STAGES, LAYOUT_A, LAYOUT_B>::start(
            memory, panels, k_extent, wait,
        );
        for k_tile in 0..k_tiles {
            for k_block in 0..K_BLOCKS {
                load(&mut fragments[k_block % 2], pipeline.tiles(), k_block);
                // Behind the loads, which would not come before copies: the stage that the k-tile
                // before was read from is filled again.
                if k_block == K_BLOCKS - 1 {
                    pipeline.start_copies();
                }
                // The first k-tile has no fragments before its own.
                if k_tile > 0 || k_block > 0 {
                    warp_mma(accumulators, &fragments[(k_block + 1) % 2]);
                }
            }
            pipeline.advance();
        }
        warp_mma(accumulators, &fragments[(K_BLOCKS - 1) % 2]);
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
