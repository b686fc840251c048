//! `wgmma_bf16_specialised`, `wgmma_bf16_persistent`: a warp that copies, two warpgroups that multiply, blocks that stay.
//!
//! # Idea
//! In `wgmma_bf16_single` the threads that multiply also fetch, and all wait for each other in every step. Here the roles are
//! parted. One thread fetches, as far ahead as there are stages. Two warpgroups multiply; their warps tell by a second barrier when
//! they are done with a stage, and never wait for each other. This is `wgmma_bf16_specialised`, with a block for each tile.
//!
//! `wgmma_bf16_persistent` is the same kernel with only as many blocks as multiprocessors, each of which computes one tile after another. While
//! the warpgroups store a tile, the stages of the next one are already on their way. Tiles that run at the same time lie in a
//! compact group of C, so that they find each other's rows and columns in the cache.
//!
//! # Thread mapping
//! 384 threads: warpgroup 0 fetches, with one thread of it; warpgroups 1 and 2 own 64 rows each of a tile of 128 × 256. The fetching one
//! gives its registers to the others.
//!
//! # Preconditions
//! As for `wgmma_bf16_single`.
//!
//! # What changed since the rung before
//! Against `wgmma_bf16_single`: roles, persistent blocks, twice the rows to each column of B.
//!
//! # Source
//! Beyond the sources. The scheme is CUTLASS's "warp-specialised persistent cooperative" kernel.

use crate::hopper::ring::{Ring, Stages};
use crate::hopper::schedule::Tiles;
use crate::hopper::store;
use crate::hopper::tiles::{self, Maps, Operands, Place, ROWS, WARPGROUP};
use cuda_std::mma::Bf16;
use cuda_std::prelude::*;
use cuda_std::tma;
use cuda_std::wgmma::{self, Accumulator, Input, K_MAJOR, MN_MAJOR};

/// Warpgroups that multiply.
pub const CONSUMERS: usize = 2;

/// Warps of them.
pub const CONSUMER_WARPS: u32 = (CONSUMERS * WARPGROUP / 32) as u32;

/// Threads of a block.
pub const THREADS: usize = (1 + CONSUMERS) * WARPGROUP;

/// Rows of C that a block owns.
pub const A_ROWS: usize = CONSUMERS * ROWS;

/// Registers of a thread that fetches and of one that multiplies. The launch gives each 168.
pub const FETCHING_REGISTERS: u32 = 40;
/// See [`FETCHING_REGISTERS`].
pub const MULTIPLYING_REGISTERS: u32 = 232;

/// The sums of a thread.
type Accumulators = [f32; 128];

/// Columns of C that a block owns.
pub const COLUMNS: usize = Accumulators::COLUMNS;

/// Elements along k of a stage.
const DEPTH: usize = tiles::depth(Bf16::BYTES);

/// As many stages as fit.
struct Four;

impl Stages for Four {
    const COUNT: usize = 4;
    const BYTES: usize = tiles::stage_bytes(CONSUMERS, COLUMNS);
}

/// Dynamic shared memory.
pub const SHARED_BYTES: usize = Four::TOTAL_BYTES;

/// A product of matrices.
struct Job {
    maps: *const Maps,
    c: *mut f32,
    m: u32,
    n: u32,
    k: u32,
    tiles: Tiles,
    /// Stages of a tile.
    steps: u32,
}

impl Job {
    // ANCHOR: fetch
    /// Fetches the tiles of this block.
    ///
    /// # Safety
    /// One thread does it.
    #[inline(always)]
    unsafe fn fetch(&self, mut ring: Ring<Four>) {
        let fetch = tiles::fetch::<Bf16, CONSUMERS, K_MAJOR, MN_MAJOR>;
        let mut tile = thread::block_idx_x();
        while tile < self.tiles.count() {
            let corner = self.tiles.corner(tile);
            for step in 0..self.steps {
                let place = Place {
                    top: corner.row,
                    left: corner.column,
                    fetched: [CONSUMERS * ROWS, COLUMNS].map(|extent| extent as u32),
                    start: tiles::start(self.k, DEPTH, step),
                    matrices: [0; 2],
                };
                // SAFETY: the stage is empty once all their warps have said so.
                unsafe {
                    ring.wait_until_empty();
                    fetch(ring.stage(), self.maps, place, ring.full());
                }
                ring.advance();
            }
            tile += thread::grid_dim_x();
        }
    }
    // ANCHOR_END: fetch

    // ANCHOR: multiply
    /// Computes the rows of a warpgroup in the tiles of this block.
    ///
    /// # Safety
    /// A whole warpgroup does it.
    #[inline(always)]
    unsafe fn multiply(&self, mut ring: Ring<Four>, warpgroup: usize) {
        let operands = |ring: &Ring<Four>| {
            Operands::<K_MAJOR, MN_MAJOR>::new(ring.stage(), CONSUMERS, warpgroup)
        };
        let mut tile = thread::block_idx_x();
        while tile < self.tiles.count() {
            // SAFETY: a stage is full, and given back when its products are done: one step later, so that there are always
            // products to do.
            unsafe {
                ring.wait_until_full();
                let mut sums: Accumulators = operands(&ring).multiply::<Bf16, _>();
                let mut used = ring.used();
                ring.advance();
                for _ in 1..self.steps {
                    ring.wait_until_full();
                    operands(&ring).multiply_add::<Bf16, _>(&mut sums);
                    wgmma::wait_group::<1>();
                    used.give_back();
                    used = ring.used();
                    ring.advance();
                }
                sums.wait_all();
                used.give_back();
                let corner = self.tiles.corner(tile);
                let size = [self.m as usize, self.n as usize];
                let top = corner.row as usize + warpgroup * ROWS;
                store::pairs(&sums, self.c, size, top, corner.column as usize);
            }
            tile += thread::grid_dim_x();
        }
    }
    // ANCHOR_END: multiply
}

// ANCHOR: kernel
/// Inputs are bfloat16.
///
/// # Safety
/// The maps are those of row-major matrices A of m × k and B of k × n elements, as [`Maps`] says, with boxes of
/// [`A_ROWS`] rows; `c` is a row-major array of m × n elements; blocks have [`THREADS`] threads and
/// [`SHARED_BYTES`] of dynamic shared memory, in a grid of any number of them.
#[cuda_std::kernel(max_threads = 384, min_blocks = 1)]
pub unsafe fn wgmma_bf16_persistent(maps: *const Maps, c: *mut f32, m: u32, n: u32, k: u32) {
    let base = tiles::stages();
    let job = Job {
        maps,
        c,
        m,
        n,
        k,
        tiles: Tiles::new([m, n], [A_ROWS as u32, COLUMNS as u32], 1),
        steps: tiles::steps(k, DEPTH),
    };
    // SAFETY: the whole warp is here, and below the whole warpgroup.
    unsafe {
        // The compiler then knows that a warp is of one role.
        let warp = warp::warp_shuffle_idx(warp::FULL_MASK, thread::thread_idx_x() / 32, 0, 32).0;
        if thread::thread_idx_x() == 0 {
            Ring::<Four>::init(base, CONSUMER_WARPS);
            tma::fence_barrier_init();
        }
        thread::sync_threads();
        if warp < 4 {
            wgmma::setmaxnreg_dec::<FETCHING_REGISTERS>();
            if warp == 0 && tma::elect_sync() {
                job.fetch(Ring::new(base));
            }
        } else {
            wgmma::setmaxnreg_inc::<MULTIPLYING_REGISTERS>();
            job.multiply(Ring::new(base), warp as usize / 4 - 1);
        }
    }
}
// ANCHOR_END: kernel
