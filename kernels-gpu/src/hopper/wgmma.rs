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
//! Narrower tiles of 128 and 64 columns are for problems that have too few of the wide ones to fill the GPU.
//!
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

use super::tiles::{self, DEPTH, Maps, ROWS, WARPGROUP};
use core::marker::PhantomData;
use cuda_std::async_copy::SharedAddress;
use cuda_std::mbarrier::Barrier;
use cuda_std::mma::{Bf16, F16};
use cuda_std::prelude::*;
use cuda_std::tma;
use cuda_std::wgmma::{self, Input, Sums};

/// Warpgroups that multiply.
const CONSUMERS: usize = 2;

/// Warps of them.
const CONSUMER_WARPS: u32 = (CONSUMERS * WARPGROUP / 32) as u32;

/// Threads of a block.
pub const THREADS: usize = (1 + CONSUMERS) * WARPGROUP;

/// Rows of C that a block owns, and of a box of A.
pub const A_ROWS: usize = CONSUMERS * ROWS;

/// Bytes that stages may take: what a block can have, less the barriers.
const MOST_STAGE_BYTES: usize = 226 * 1024;

/// Bytes of a stage for tiles of so many columns.
const fn stage_bytes(columns: usize) -> usize {
    tiles::stage_bytes(CONSUMERS, columns)
}

/// Stages for tiles of so many columns: as many as fit. 4 for 256, 7 for 128, 9 for 64.
const fn stages(columns: usize) -> usize {
    MOST_STAGE_BYTES / stage_bytes(columns)
}

/// Dynamic shared memory for tiles of so many columns: the stages and two barriers for each.
pub const fn shared_bytes(columns: usize) -> usize {
    stages(columns) * (stage_bytes(columns) + 2 * 8)
}

/// Rows of tiles in a group.
const GROUP: u32 = 8;

/// Registers of a thread that fetches and of one that multiplies. The launch gives each 168.
const FETCHING_REGISTERS: u32 = 40;
const MULTIPLYING_REGISTERS: u32 = 232;

/// The tiles of C in the order in which they are computed: groups of eight rows of tiles, column by column.
struct Order {
    /// Columns of a tile.
    columns: u32,
    /// Rows and columns of tiles.
    down: u32,
    across: u32,
}

impl Order {
    #[inline(always)]
    fn new(m: u32, n: u32, columns: u32) -> Self {
        Order {
            columns,
            down: m.div_ceil(A_ROWS as u32),
            across: n.div_ceil(columns),
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
        [row * A_ROWS as u32, column * self.columns]
    }
}

/// The stages in a ring, as one role goes through it.
struct Ring<S: Sums> {
    base: SharedAddress,
    index: u32,
    /// How often the role went around, modulo 2.
    parity: u32,
    sums: PhantomData<S>,
}

impl<S: Sums> Ring<S> {
    const STAGES: usize = stages(S::COLUMNS);
    const STAGE_BYTES: usize = stage_bytes(S::COLUMNS);

    #[inline(always)]
    fn new(base: SharedAddress) -> Self {
        Ring {
            base,
            index: 0,
            parity: 0,
            sums: PhantomData,
        }
    }

    #[inline(always)]
    fn stage(&self) -> SharedAddress {
        self.base.at(self.index * Self::STAGE_BYTES as u32)
    }

    /// The barrier that says that a stage is full.
    #[inline(always)]
    fn full(&self) -> Barrier {
        Barrier::new(self.barriers().at(self.index * Barrier::BYTES))
    }

    /// The barrier that says that a stage is empty.
    #[inline(always)]
    fn empty(&self) -> Barrier {
        let index = Self::STAGES as u32 + self.index;
        Barrier::new(self.barriers().at(index * Barrier::BYTES))
    }

    #[inline(always)]
    fn barriers(&self) -> SharedAddress {
        self.base.at((Self::STAGES * Self::STAGE_BYTES) as u32)
    }

    #[inline(always)]
    fn advance(&mut self) {
        self.index += 1;
        if self.index == Self::STAGES as u32 {
            self.index = 0;
            self.parity ^= 1;
        }
    }

    /// # Safety
    /// Nobody uses the barriers yet.
    #[inline(always)]
    unsafe fn init(base: SharedAddress) {
        let mut ring = Self::new(base);
        for _ in 0..Self::STAGES {
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
    unsafe fn fetch<S: Sums>(&self, mut ring: Ring<S>) {
        let mut tile = thread::block_idx_x();
        while tile < self.order.count() {
            let [top, left] = self.order.place(tile);
            for step in 0..self.steps {
                // SAFETY: the stage is empty once all their warps have said so; at first it is, and the phase before
                // the first counts as over.
                unsafe {
                    ring.empty().sleep(ring.parity ^ 1);
                    let at = [top, left, step * DEPTH as u32];
                    tiles::fetch::<S, CONSUMERS>(ring.stage(), self.maps, at, ring.full());
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
    unsafe fn multiply<E: Input, S: Sums>(&self, mut ring: Ring<S>, warpgroup: usize) {
        // One lane speaks for its warp.
        let leader = warp::lane_id() == 0;
        let mut sums = S::ZERO;
        let mut tile = thread::block_idx_x();
        while tile < self.order.count() {
            let mut used = ring.empty();
            for step in 0..self.steps {
                // SAFETY: the stage is full. The one before is given back when its products are done.
                unsafe {
                    ring.full().sleep(ring.parity);
                    let (stage, keep) = (ring.stage(), step > 0);
                    tiles::multiply_add::<E, S, CONSUMERS>(&mut sums, stage, warpgroup, keep);
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
                sums.wait_all();
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
unsafe fn body<E: Input, S: Sums>(maps: *const Maps, c: *mut f32, m: u32, n: u32, k: u32) {
    let base = tiles::stages();
    let job = Job {
        maps,
        c,
        m,
        n,
        order: Order::new(m, n, S::COLUMNS as u32),
        steps: k.div_ceil(DEPTH as u32),
    };
    // The compiler then knows that a warp is of one role.
    // SAFETY: the whole warp is here, and below the whole warpgroup.
    unsafe {
        let warp = warp::warp_shuffle_idx(warp::FULL_MASK, thread::thread_idx_x() / 32, 0, 32).0;
        if thread::thread_idx_x() == 0 {
            Ring::<S>::init(base);
            tma::publish_barriers();
        }
        thread::sync_threads();
        if warp < 4 {
            wgmma::release_registers::<FETCHING_REGISTERS>();
            if warp == 0 && tma::elect() {
                job.fetch(Ring::<S>::new(base));
            }
        } else {
            wgmma::take_registers::<MULTIPLYING_REGISTERS>();
            job.multiply::<E, S>(Ring::new(base), warp as usize / 4 - 1);
        }
    }
}

macro_rules! kernels {
    ($($(#[$doc:meta])* $name:ident, $element:ty, $registers:literal;)*) => {
        $(
            $(#[$doc])*
            ///
            /// # Safety
            /// The maps are those of row-major matrices A of m × k and B of k × n elements, as [`Maps`] says, with boxes of
            /// [`A_ROWS`] rows; `c` is a row-major array of m × n elements; blocks have [`THREADS`] threads and the dynamic
            /// [shared memory](shared_bytes) for their tiles, in a grid of any number of them.
            #[cuda_std::kernel(max_threads = 384, min_blocks = 1)]
            pub unsafe fn $name(maps: *const Maps, c: *mut f32, m: u32, n: u32, k: u32) {
                // SAFETY: passed on to the caller.
                unsafe { body::<$element, [f32; $registers]>(maps, c, m, n, k) }
            }
        )*
    };
}

kernels! {
    /// Inputs are bfloat16, tiles have 256 columns.
    wgmma_bf16, Bf16, 128;
    /// Inputs are bfloat16, tiles have 128 columns.
    wgmma_bf16_n128, Bf16, 64;
    /// Inputs are bfloat16, tiles have 64 columns.
    wgmma_bf16_n64, Bf16, 32;
    /// Inputs are IEEE binary16, tiles have 256 columns.
    wgmma_f16, F16, 128;
    /// Inputs are IEEE binary16, tiles have 128 columns.
    wgmma_f16_n128, F16, 64;
    /// Inputs are IEEE binary16, tiles have 64 columns.
    wgmma_f16_n64, F16, 32;
}
