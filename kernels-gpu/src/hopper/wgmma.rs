//! `wgmma_bf16`, `wgmma_f16`: a warp that copies, two warpgroups that multiply, blocks that stay.
//!
//! # Idea
//! In `wgmma_bf16_single` the threads that multiply also fetch, and all wait for each other in every step. Here the roles are
//! parted. One thread fetches, as far ahead as there are stages. Two warpgroups multiply; their warps tell by a second barrier when
//! they are done with a stage, and never wait for each other.
//!
//! There are only as many blocks as multiprocessors, and each computes one tile after another. While the warpgroups store
//! a tile, the stages of the next one are already on their way. Tiles that run at the same time lie in a compact group of C,
//! so that they find each other's rows and columns in the cache.
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

use super::tiles::{self, COLUMNS, DEPTH, Maps, ROWS, WARPGROUP, stage_bytes};
use cuda_std::async_copy::SharedAddress;
use cuda_std::mbarrier::Barrier;
use cuda_std::mma::{Bf16, F16};
use cuda_std::prelude::*;
use cuda_std::tma;
use cuda_std::wgmma::{self, Input};

/// Warpgroups that multiply.
const CONSUMERS: usize = 2;

/// Warps of them.
const CONSUMER_WARPS: u32 = (CONSUMERS * WARPGROUP / 32) as u32;

/// Stages: 4 × 48 KiB.
const STAGES: usize = 4;

/// Threads of a block.
pub const THREADS: usize = (1 + CONSUMERS) * WARPGROUP;

/// Rows of C that a block owns, and of a box of A.
pub const A_ROWS: usize = CONSUMERS * ROWS;

/// Rows and columns of a tile of C.
pub const TILE: [usize; 2] = [A_ROWS, COLUMNS];

/// Rows of tiles in a group.
const GROUP: u32 = 8;

/// Dynamic shared memory: the stages and two barriers for each.
pub const SHARED_BYTES: usize = STAGES * (stage_bytes(CONSUMERS) + 2 * 8);

/// Registers of a thread that fetches and of one that multiplies. The launch gives each 168.
const FETCHING_REGISTERS: u32 = 40;
const MULTIPLYING_REGISTERS: u32 = 232;

/// The tiles of C in the order in which they are computed: groups of eight rows of tiles, column by column.
struct Order {
    /// Rows and columns of tiles.
    down: u32,
    across: u32,
}

impl Order {
    #[inline(always)]
    fn new(m: u32, n: u32) -> Self {
        Order {
            down: m.div_ceil(A_ROWS as u32),
            across: n.div_ceil(COLUMNS as u32),
        }
    }

    #[inline(always)]
    fn count(&self) -> u32 {
        self.down * self.across
    }

    /// First row and column of a tile.
    #[inline(always)]
    fn place(&self, tile: u32) -> [u32; 2] {
        // A last group of fewer rows is as high as it is. Both divisors are positive where there is a tile.
        let group = tile / (GROUP * self.across).max(1);
        let first = group * GROUP;
        let height = GROUP.min(self.down - first).max(1);
        let within = tile - group * GROUP * self.across;
        let (row, column) = (first + within % height, within / height);
        [row * A_ROWS as u32, column * COLUMNS as u32]
    }
}

/// The stages in a ring, as one role goes through it.
struct Ring {
    base: SharedAddress,
    index: u32,
    /// How often the role went around, modulo 2.
    parity: u32,
}

impl Ring {
    #[inline(always)]
    fn new(base: SharedAddress) -> Self {
        Ring {
            base,
            index: 0,
            parity: 0,
        }
    }

    #[inline(always)]
    fn stage(&self) -> SharedAddress {
        self.base.at(self.index * stage_bytes(CONSUMERS) as u32)
    }

    /// The barrier that says that a stage is full.
    #[inline(always)]
    fn full(&self) -> Barrier {
        Barrier::new(self.barriers().at(self.index * Barrier::BYTES))
    }

    /// The barrier that says that a stage is empty.
    #[inline(always)]
    fn empty(&self) -> Barrier {
        let index = STAGES as u32 + self.index;
        Barrier::new(self.barriers().at(index * Barrier::BYTES))
    }

    #[inline(always)]
    fn barriers(&self) -> SharedAddress {
        self.base.at((STAGES * stage_bytes(CONSUMERS)) as u32)
    }

    #[inline(always)]
    fn advance(&mut self) {
        self.index += 1;
        if self.index == STAGES as u32 {
            self.index = 0;
            self.parity ^= 1;
        }
    }

    /// # Safety
    /// Nobody uses the barriers yet.
    #[inline(always)]
    unsafe fn init(base: SharedAddress) {
        let mut ring = Ring::new(base);
        for _ in 0..STAGES {
            // SAFETY: the caller ensures it.
            unsafe {
                ring.full().init(1);
                ring.empty().init(CONSUMER_WARPS);
            }
            ring.advance();
        }
    }
}

/// A product of matrices.
struct Job {
    maps: *const Maps,
    c: *mut f32,
    m: u32,
    n: u32,
    order: Order,
    /// Stages of a tile.
    steps: u32,
}

impl Job {
    /// Fetches the tiles of this block.
    ///
    /// # Safety
    /// One thread does it.
    #[inline(always)]
    unsafe fn fetch(&self, mut ring: Ring) {
        let mut tile = thread::block_idx_x();
        while tile < self.order.count() {
            let [top, left] = self.order.place(tile);
            for step in 0..self.steps {
                // SAFETY: the stage is empty once all their warps have said so; at first it is, and the phase before
                // the first counts as over.
                unsafe {
                    ring.empty().sleep(ring.parity ^ 1);
                    let at = [top, left, step * DEPTH as u32];
                    tiles::fetch::<CONSUMERS>(ring.stage(), self.maps, at, ring.full());
                }
                ring.advance();
            }
            tile += thread::grid_dim_x();
        }
    }

    /// Computes the rows of a warpgroup in the tiles of this block.
    ///
    /// # Safety
    /// A whole warpgroup does it.
    #[inline(always)]
    unsafe fn multiply<E: Input>(&self, mut ring: Ring, warpgroup: usize) {
        // One lane speaks for its warp.
        let leader = warp::lane_id() == 0;
        let mut sums = [0.0; 128];
        let mut tile = thread::block_idx_x();
        while tile < self.order.count() {
            let mut used = ring.empty();
            for step in 0..self.steps {
                // SAFETY: the stage is full. The one before is given back when its products are done.
                unsafe {
                    ring.full().sleep(ring.parity);
                    tiles::multiply_add::<E, CONSUMERS>(
                        &mut sums,
                        ring.stage(),
                        warpgroup,
                        step > 0,
                    );
                    wgmma::wait_all_but_one();
                    if leader && step > 0 {
                        used.arrive();
                    }
                }
                used = ring.empty();
                ring.advance();
            }
            let [top, left] = self.order.place(tile);
            // SAFETY: the tile's sums are complete, and this warpgroup's alone.
            unsafe {
                wgmma::wait_all(&mut sums);
                if leader && self.steps > 0 {
                    used.arrive();
                }
                let size = [self.m as usize, self.n as usize];
                let top = top as usize + warpgroup * ROWS;
                tiles::store(&sums, self.c, size, top, left as usize);
            }
            tile += thread::grid_dim_x();
        }
    }
}

#[inline(always)]
unsafe fn body<E: Input>(maps: *const Maps, c: *mut f32, m: u32, n: u32, k: u32) {
    let base = tiles::stages();
    let job = Job {
        maps,
        c,
        m,
        n,
        order: Order::new(m, n),
        steps: k.div_ceil(DEPTH as u32),
    };
    // The compiler then knows that a warp is of one role.
    // SAFETY: the whole warp is here, and below the whole warpgroup.
    unsafe {
        let warp = warp::warp_shuffle_idx(warp::FULL_MASK, thread::thread_idx_x() / 32, 0, 32).0;
        if thread::thread_idx_x() == 0 {
            Ring::init(base);
            tma::publish_barriers();
        }
        thread::sync_threads();
        if warp < 4 {
            wgmma::release_registers::<FETCHING_REGISTERS>();
            if warp == 0 && tma::elect() {
                job.fetch(Ring::new(base));
            }
        } else {
            wgmma::take_registers::<MULTIPLYING_REGISTERS>();
            job.multiply::<E>(Ring::new(base), warp as usize / 4 - 1);
        }
    }
}

macro_rules! kernels {
    ($($(#[$doc:meta])* $name:ident, $element:ty;)*) => {
        $(
            $(#[$doc])*
            ///
            /// # Safety
            /// The maps are those of row-major matrices A of m × k and B of k × n elements, as [`Maps`] says, with boxes of
            /// [`A_ROWS`] rows; `c` is a row-major array of m × n elements; blocks have [`THREADS`] threads and [`SHARED_BYTES`]
            /// of dynamic shared memory, in a grid of any number of them.
            #[cuda_std::kernel(max_threads = 384, min_blocks = 1)]
            pub unsafe fn $name(maps: *const Maps, c: *mut f32, m: u32, n: u32, k: u32) {
                // SAFETY: passed on to the caller.
                unsafe { body::<$element>(maps, c, m, n, k) }
            }
        )*
    };
}

kernels! {
    /// Inputs are bfloat16.
    wgmma_bf16, Bf16;
    /// Inputs are IEEE binary16.
    wgmma_f16, F16;
}
