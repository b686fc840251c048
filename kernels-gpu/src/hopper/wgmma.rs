//! `wgmma_bf16`, `wgmma_f16`, `wgmma_tf32`, `wgmma_bf16_narrow`, `wgmma_f16_narrow`: the general product,
//! C ← α · op(A) · op(B) + β · C, as [`gemm`](crate::gemm) describes it.
//!
//! # Idea
//! `wgmma_bf16_persistent` stands still while its warpgroups store: the tensor cores wait for C. Here sums go to shared memory and from
//! there by bulk copies, so that a warpgroup begins its next tile as soon as its registers are free.
//!
//! Its tiles rarely come to a multiple of the multiprocessors. Here those of the last rounds are [shared](super::schedule) by all
//! blocks along k. Who finds that it brings the last part of a tile adds all of them up; nobody waits for
//! another block. Where that would have much to read, [a launch of its own](super::parts) adds up the parts of all tiles. Where all
//! tiles are shared, by few blocks each, those are a cluster: they read each other's sums from shared
//! memory, and each [adds up](super::exchange) some columns. Where fewer multiprocessors are left than there are tiles, they take the
//! last steps of one tile after the other.
//!
//! Products that are too small for that come in tiles of 64 rows, whose blocks fetch B [in pairs](super::pair).
//!
//! A launch behind another one begins while that is still at its last tiles (see [`griddepcontrol`]).
//!
//! The tensor cores take TF32 along k only, and a row-major B lies across it. Of a product in which A does, A can go [through
//! registers](super::rows); and Cᵀ = Bᵀ · Aᵀ is one.
//!
//! C has elements of `f32`, or such as A and B have: the names of those kernels end with `_to_` and the element. Sums, α and β are of
//! `f32` all the same, as are parts of sums; a scaled sum is rounded once, when it is stored. A box of 64 rows then has 64
//! columns instead of 32, and C takes half of the time on its way.
//!
//! # Thread mapping
//! As in `wgmma_bf16_persistent`, with tiles of 256, 192, 128 or 64 columns. Kernels of pairs have 256 threads, of which warpgroup 1
//! multiplies, and tiles of 64 rows and of 192 or 64 columns; of 96 as well where B lies along k, whose other boxes come in 64 columns,
//! and C has boxes of 32.
//!
//! # Preconditions
//! The matrices A and B, their rows and the matrices of a batch begin at multiples of 16 bytes; k is fewer than 2³² elements less one
//! stage. TF32 operands are stored along k, but for a row-major B. Other operands are [copied](super::pack) first. C is as it likes.
//!
//! # What changed since the rung before
//! Against `wgmma_bf16_persistent`: layouts, leading dimensions, batches, α and β; stores by bulk copies; shared tiles; pairs of blocks;
//! launches that overlap; a C of 16 bits.
//!
//! # Source
//! Beyond the sources; for the shared tiles see [`schedule`](super::schedule).

use super::exchange;
use super::pair;
use super::partials::Partials;
use super::ring::{Ring, Stages};
use super::rows::ThroughRegisters;
use super::schedule::{Adder, Corner, Part, Schedule, Shares, Tiles};
use super::store::{self, Elements, Paired, Target};
use super::tiles::{
    self, A_BYTES, Maps, Place, ROW_BYTES, ROWS, WARPGROUP, fetched_together as together,
};
use super::ways::{FromShared, Way};
use crate::gemm::Gemm;
use core::marker::PhantomData;
use cuda_std::atomic;
use cuda_std::cluster;
use cuda_std::float16::{bf16, f16};
use cuda_std::griddepcontrol;
use cuda_std::mma::{Bf16, F16, Tf32};
use cuda_std::prelude::*;
use cuda_std::shared;
use cuda_std::tma;
use cuda_std::wgmma::{self, Accumulator, K_MAJOR, MN_MAJOR};

/// Bytes that boxes of C and stages may take: what a block can have, less the barriers and the words.
const MOST_BYTES: usize = 226 * 1024;

/// Registers of a thread of the producer warpgroup and of one of a consumer warpgroup. The launch gives each 168.
const FETCHING_REGISTERS: u32 = 40;
/// See [`FETCHING_REGISTERS`].
const MULTIPLYING_REGISTERS: u32 = 232;

/// Bytes of the boxes of C of so many warpgroups, which come first.
const fn boxes_bytes(warpgroups: usize) -> usize {
    warpgroups * store::BYTES
}

/// As many stages as fit, for so many warpgroups that multiply. Of two: 4 of 256 and of 192 columns, 6 of 128, 8 of 64; of one:
/// 6 of 192, 10 of 96, 13 of 64.
struct AsFit<S, const WARPGROUPS: usize>(PhantomData<S>);

impl<S: Accumulator, const WARPGROUPS: usize> Stages for AsFit<S, WARPGROUPS> {
    const COUNT: usize = (MOST_BYTES - boxes_bytes(WARPGROUPS)) / Self::BYTES;
    const BYTES: usize = tiles::stage_bytes(WARPGROUPS, S::COLUMNS);
    const BLOCKS: u32 = pair::blocks(WARPGROUPS);
}

/// Dynamic shared memory for tiles of so many columns. A word of each warpgroup comes last.
const fn shared_bytes<S: Accumulator, const WARPGROUPS: usize>() -> usize {
    boxes_bytes(WARPGROUPS) + AsFit::<S, WARPGROUPS>::TOTAL_BYTES + WARPGROUPS * 4
}

/// Warpgroups that multiply, in a block of so many threads: all but the one that fetches.
const fn warpgroups(threads: usize) -> usize {
    threads / WARPGROUP - 1
}

/// A product of matrices, computed by `WARPGROUPS` of each block.
struct Job<C, const WARPGROUPS: usize> {
    maps: *const Maps,
    c: *mut C,
    workspace: *mut f32,
    gemm: Gemm<f32>,
    schedule: Schedule,
    tiles: Tiles,
    shares: Shares,
    /// Rows of A and columns of B that are fetched for a tile.
    fetched: [u32; 2],
}

impl<C: Paired, const WARPGROUPS: usize> Job<C, WARPGROUPS> {
    #[inline(always)]
    fn new<W: Way, S: Accumulator>(
        maps: *const Maps,
        (c, workspace): (*mut C, *mut f32),
        gemm: Gemm<f32>,
        schedule: Schedule,
    ) -> Self {
        let size = [(WARPGROUPS * ROWS) as u32, S::COLUMNS as u32];
        let tiles = schedule.tiles([gemm.m, gemm.n], size, pair::blocks(WARPGROUPS));
        let steps = tiles::steps(gemm.k, tiles::depth(W::BYTES));
        let blocks = thread::grid_dim_x();
        Job {
            maps,
            c,
            workspace,
            gemm,
            schedule,
            tiles,
            shares: Shares::new(tiles.count(), &schedule, steps, blocks),
            fetched: [
                tiles::fetched(gemm.m, size[0], together(W::BYTES, W::A_ALONG_K, 1)),
                tiles::fetched(
                    gemm.n,
                    size[1],
                    together(W::BYTES, W::B_ALONG_K, pair::blocks(WARPGROUPS)),
                ),
            ],
        }
    }

    /// Fetches the pieces of this block.
    ///
    /// # Safety
    /// One thread does it.
    #[inline(always)]
    unsafe fn fetch<W: Way, S: Accumulator>(&self, mut ring: Ring<AsFit<S, WARPGROUPS>>) {
        // A matrix that the whole batch has in common is the only one of its map.
        let common = [self.gemm.stride_a == 0, self.gemm.stride_b == 0];
        let mut walk = self.shares.walk(thread::block_idx_x());
        while let Some(piece) = walk.advance() {
            let corner = self.tiles.corner(piece.tile);
            // Of a tile that is there for its pair only, nothing is stored: it may be computed from any rows, which come sooner than
            // zeros for rows that are not there.
            let top = if corner.row < self.gemm.m {
                corner.row
            } else {
                0
            };
            for step in piece.first..piece.first + piece.steps {
                let place = Place {
                    top,
                    left: corner.column,
                    fetched: self.fetched,
                    start: tiles::start(self.gemm.k, tiles::depth(W::BYTES), step),
                    matrices: common.map(|common| if common { 0 } else { corner.matrix }),
                };
                // SAFETY: the stage is empty once all warps that multiply have said so.
                unsafe {
                    ring.wait_until_empty();
                    W::fetch::<S, _, WARPGROUPS>(&ring, self.maps, place);
                }
                ring.advance();
            }
        }
        if AsFit::<S, WARPGROUPS>::BLOCKS > 1 {
            // SAFETY: as above. The other block reaches this one's shared memory until then.
            unsafe { ring.wait_until_all_empty() };
        }
    }

    /// Clears the rows of A that are not fetched for a warpgroup and, by the first one, such columns of B.
    ///
    /// # Safety
    /// All warpgroups that multiply do it, before they multiply. `stages` are those of the ring.
    #[inline(always)]
    unsafe fn clear<S: Accumulator>(&self, stages: *mut u8, warpgroup: usize) {
        let [rows, columns] = self.fetched.map(|fetched| fetched as usize * ROW_BYTES);
        let end = (warpgroup + 1) * A_BYTES;
        let b = WARPGROUPS * A_BYTES;
        let lacks_columns = columns < S::COLUMNS * ROW_BYTES;
        // SAFETY: passed on to the caller. What is written is there for the products behind the barrier.
        unsafe {
            if rows < end {
                tiles::clear::<AsFit<S, WARPGROUPS>>(stages, rows.max(end - A_BYTES)..end);
            }
            if lacks_columns && warpgroup == 0 {
                let end = b + S::COLUMNS * ROW_BYTES;
                tiles::clear::<AsFit<S, WARPGROUPS>>(stages, b + columns..end);
            }
            if rows < b || lacks_columns {
                tma::fence_proxy_async();
                wgmma::sync_several(exchange::ALL_MULTIPLY, (WARPGROUPS * WARPGROUP) as u32);
            }
        }
    }

    /// Computes the rows of a warpgroup in the pieces of this block.
    ///
    /// # Safety
    /// A whole warpgroup does it. `boxes` and `word` are its own, `stages` those of the ring.
    #[inline(always)]
    unsafe fn multiply<W: Way, S: Accumulator>(
        &self,
        mut ring: Ring<AsFit<S, WARPGROUPS>>,
        warpgroup: usize,
        [boxes, stages]: [*mut u8; 2],
        word: *mut u32,
    ) {
        let barrier = 1 + warpgroup as u32;
        let target = Target {
            elements: Elements {
                c: self.c,
                gemm: &self.gemm,
                turned: W::TURNED,
            },
            schedule: &self.schedule,
            maps: self.maps,
            boxes,
            barrier,
        };
        let mut walk = self.shares.walk(thread::block_idx_x());
        while let Some(piece) = walk.advance() {
            // SAFETY: the ring has the stages of this piece, which all of the warpgroup computes.
            unsafe {
                let mut sums: S =
                    W::multiply::<S, _, WARPGROUPS>(&mut ring, piece.steps, warpgroup);
                let mut boxes = 0..exchange::boxes(S::COLUMNS, size_of::<C>());
                // Blocks that fetch together have whole tiles.
                let may_share = AsFit::<S, WARPGROUPS>::BLOCKS == 1;
                let is_clustered = may_share && self.schedule.adder == Adder::Cluster;
                if is_clustered {
                    // The products of the block are done: its stages are free.
                    boxes = exchange::add_up::<S, C, WARPGROUPS>(&mut sums, stages, warpgroup);
                } else if may_share
                    && piece.tile >= self.schedule.whole
                    && let Some(part) = self.shares.part(thread::block_idx_x())
                    && !self.meet(&mut sums, &part, warpgroup, word)
                {
                    continue;
                }
                let corner = self.tiles.corner(piece.tile);
                let row = corner.row + (warpgroup * ROWS) as u32;
                target.store(&sums, Corner { row, ..corner }, boxes);
                if is_clustered {
                    exchange::leave();
                }
            }
        }
        tma::wait_group::<0>();
    }

    /// Leaves a part of a tile's sums to the others or, where it is the last and they are added up here, adds all parts up. Returns
    /// whether it has.
    ///
    /// # Safety
    /// The sums are those of a piece of this block that belongs to `part`. All of the warpgroup is here.
    #[inline(always)]
    unsafe fn meet<S: Accumulator>(
        &self,
        sums: &mut S,
        part: &Part,
        warpgroup: usize,
        word: *mut u32,
    ) -> bool {
        let barrier = 1 + warpgroup as u32;
        let of_warpgroup = [warpgroup, WARPGROUPS];
        let partials = Partials::new(
            self.workspace,
            &self.schedule,
            *part,
            of_warpgroup,
            S::COLUMNS,
        );
        let counter = part.tile as usize * WARPGROUPS + warpgroup;
        // SAFETY: the counter is a word of the workspace that is 0 before the first part and after the last one. A part is
        // complete before it is counted, which all that met at the barrier are ordered by, and counted before it is read.
        unsafe {
            partials.keep(sums);
            if self.schedule.adder == Adder::Launch {
                return false;
            }
            wgmma::sync(barrier);
            if (thread::thread_idx_x() as usize).is_multiple_of(WARPGROUP) {
                let counter = self.workspace.wrapping_add(counter).cast::<u32>();
                let last = atomic::count(counter) + 1 == part.count;
                if last {
                    *counter = 0;
                }
                *word = last as u32;
            }
            wgmma::sync(barrier);
            // All lanes read the same; by a vote the compiler knows it.
            let last = warp::warp_vote_any(warp::FULL_MASK, *word != 0);
            if last {
                partials.add_up(sums);
            }
            last
        }
    }
}

/// The body of the kernels.
///
/// # Safety
/// As for the kernels.
#[inline(always)]
unsafe fn body<W: Way, S: Accumulator, C: Paired, const WARPGROUPS: usize>(
    maps: *const Maps,
    arrays: (*mut C, *mut f32),
    gemm: Gemm<f32>,
    schedule: Schedule,
) {
    let memory = shared::dynamic_shared_mem::<u8>();
    let boxes_bytes = boxes_bytes(WARPGROUPS);
    let base = tiles::stages().at(boxes_bytes as u32);
    let job = Job::<C, WARPGROUPS>::new::<W, S>(maps, arrays, gemm, schedule);
    // SAFETY: the whole warp is here, and below the whole warpgroup.
    unsafe {
        // The compiler then knows that a warp is of one role.
        let warp = warp::warp_shuffle_idx(warp::FULL_MASK, thread::thread_idx_x() / 32, 0, 32).0;
        if thread::thread_idx_x() == 0 {
            Ring::<AsFit<S, WARPGROUPS>>::init(base, (WARPGROUPS * WARPGROUP / 32) as u32);
            tma::fence_barrier_init();
        }
        if AsFit::<S, WARPGROUPS>::BLOCKS > 1 {
            // The barriers are published; there is nothing else to see.
            cluster::arrive_relaxed();
            cluster::wait();
        } else {
            thread::sync_threads();
        }
        griddepcontrol::launch_dependents();
        if warp < 4 {
            if WARPGROUPS > 1 {
                wgmma::setmaxnreg_dec::<FETCHING_REGISTERS>();
            }
            if warp == 0 && tma::elect_sync() {
                tma::prefetch_tensormap(&raw const (*maps).a);
                tma::prefetch_tensormap(&raw const (*maps).b);
                griddepcontrol::wait();
                job.fetch::<W, S>(Ring::new(base));
            }
        } else {
            if WARPGROUPS > 1 {
                wgmma::setmaxnreg_inc::<MULTIPLYING_REGISTERS>();
            }
            let warpgroup = warp as usize / 4 - 1;
            let stages = memory.wrapping_add(boxes_bytes);
            job.clear::<S>(stages, warpgroup);
            griddepcontrol::wait();
            let boxes = memory.wrapping_add(warpgroup * store::BYTES);
            let words = boxes_bytes + AsFit::<S, WARPGROUPS>::TOTAL_BYTES;
            let word = memory.wrapping_add(words + 4 * warpgroup).cast();
            job.multiply::<W, S>(Ring::new(base), warpgroup, [boxes, stages], word);
        }
    }
}

/// Rows of the highest tiles, which two warpgroups multiply.
pub const MOST_ROWS: u32 = 2 * ROWS as u32;

/// One of the kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instance {
    /// The PTX entry.
    pub entry: &'static str,
    /// Rows and columns of a tile.
    pub rows: u32,
    /// See `rows`.
    pub columns: u32,
    /// Blocks that fetch B [together](pair), as a cluster.
    pub blocks: u32,
    /// Threads of a block.
    pub threads: u32,
    /// Dynamic shared memory of a block, in bytes.
    pub shared_bytes: u32,
    /// Whether A and B are stored across k.
    pub across: [bool; 2],
    /// Whether the result is stored as the transpose of C: with the rows and columns, A and B that the kernel knows, C lies column
    /// by column.
    pub turned: bool,
}

impl Instance {
    /// The tiles of a batch of matrices of m × n.
    #[inline(always)]
    pub const fn tiles(&self, extents: [u32; 2], batch: u32) -> Tiles {
        Tiles::new(extents, [self.rows, self.columns], batch).for_clusters(self.blocks)
    }
}

macro_rules! kernels {
    ($($types:literal: $instances:ident, $element:ty => $output:ty {
        $($threads:tt threads { $($name:ident: $way:ident<$a:ident, $b:ident>, $registers:literal;)* })*
    })*) => {
        $(
            $($(
                #[doc = concat!($types, ", A ", stringify!($a), ", B ", stringify!($b), ".")]
                ///
                /// # Safety
                /// `maps` are as [`Maps`] says and `gemm` describes; `c` is C, and `workspace` zeroed counters and room for the parts that
                /// `schedule` has, and nobody else's; blocks have the threads and the dynamic shared memory of their [`Instance`], and
                /// are clusters of its blocks or of the schedule's.
                #[cuda_std::kernel(max_threads = $threads, min_blocks = 1)]
                pub unsafe fn $name(
                    maps: *const Maps,
                    c: *mut $output,
                    workspace: *mut f32,
                    gemm: Gemm<f32>,
                    schedule: Schedule,
                ) {
                    // SAFETY: passed on to the caller.
                    unsafe {
                        body::<$way<$element, $a, $b>, [f32; $registers], $output, { warpgroups($threads) }>(
                            maps, (c, workspace), gemm, schedule,
                        )
                    }
                }
            )*)*

            #[doc = concat!("The kernels. ", $types, ".")]
            pub const $instances: &[Instance] = &[$($(
                Instance {
                    entry: stringify!($name),
                    rows: (warpgroups($threads) * ROWS) as u32,
                    columns: 2 * $registers,
                    blocks: pair::blocks(warpgroups($threads)),
                    threads: $threads,
                    shared_bytes: shared_bytes::<[f32; $registers], { warpgroups($threads) }>() as u32,
                    across: [$a == MN_MAJOR, $b == MN_MAJOR],
                    turned: <$way<$element, $a, $b> as Way>::TURNED,
                },
            )*)*];
        )*
    };
}

kernels! {
    "Inputs are bfloat16": OF_BF16, Bf16 => f32 {
        384 threads {
            wgmma_bf16_nn: FromShared<K_MAJOR, MN_MAJOR>, 128;
            wgmma_bf16_nt: FromShared<K_MAJOR, K_MAJOR>, 128;
            wgmma_bf16_tn: FromShared<MN_MAJOR, MN_MAJOR>, 128;
            wgmma_bf16_tt: FromShared<MN_MAJOR, K_MAJOR>, 128;
            wgmma_bf16_nn_192: FromShared<K_MAJOR, MN_MAJOR>, 96;
            wgmma_bf16_nn_128: FromShared<K_MAJOR, MN_MAJOR>, 64;
            wgmma_bf16_nt_192: FromShared<K_MAJOR, K_MAJOR>, 96;
            wgmma_bf16_nt_128: FromShared<K_MAJOR, K_MAJOR>, 64;
            wgmma_bf16_tn_192: FromShared<MN_MAJOR, MN_MAJOR>, 96;
            wgmma_bf16_tn_128: FromShared<MN_MAJOR, MN_MAJOR>, 64;
            wgmma_bf16_tt_192: FromShared<MN_MAJOR, K_MAJOR>, 96;
            wgmma_bf16_tt_128: FromShared<MN_MAJOR, K_MAJOR>, 64;
            wgmma_bf16_nn_64: FromShared<K_MAJOR, MN_MAJOR>, 32;
            wgmma_bf16_nt_64: FromShared<K_MAJOR, K_MAJOR>, 32;
            wgmma_bf16_tn_64: FromShared<MN_MAJOR, MN_MAJOR>, 32;
            wgmma_bf16_tt_64: FromShared<MN_MAJOR, K_MAJOR>, 32;
        }
        256 threads {
            wgmma_bf16_nn_pair_192: FromShared<K_MAJOR, MN_MAJOR>, 96;
            wgmma_bf16_nn_pair_64: FromShared<K_MAJOR, MN_MAJOR>, 32;
            wgmma_bf16_nt_pair_192: FromShared<K_MAJOR, K_MAJOR>, 96;
            wgmma_bf16_nt_pair_96: FromShared<K_MAJOR, K_MAJOR>, 48;
            wgmma_bf16_nt_pair_64: FromShared<K_MAJOR, K_MAJOR>, 32;
            wgmma_bf16_tn_pair_192: FromShared<MN_MAJOR, MN_MAJOR>, 96;
            wgmma_bf16_tn_pair_64: FromShared<MN_MAJOR, MN_MAJOR>, 32;
            wgmma_bf16_tt_pair_192: FromShared<MN_MAJOR, K_MAJOR>, 96;
            wgmma_bf16_tt_pair_96: FromShared<MN_MAJOR, K_MAJOR>, 48;
            wgmma_bf16_tt_pair_64: FromShared<MN_MAJOR, K_MAJOR>, 32;
        }
    }

    "Inputs are IEEE binary16": OF_F16, F16 => f32 {
        384 threads {
            wgmma_f16_nn: FromShared<K_MAJOR, MN_MAJOR>, 128;
            wgmma_f16_nt: FromShared<K_MAJOR, K_MAJOR>, 128;
            wgmma_f16_tn: FromShared<MN_MAJOR, MN_MAJOR>, 128;
            wgmma_f16_tt: FromShared<MN_MAJOR, K_MAJOR>, 128;
            wgmma_f16_nn_192: FromShared<K_MAJOR, MN_MAJOR>, 96;
            wgmma_f16_nn_128: FromShared<K_MAJOR, MN_MAJOR>, 64;
            wgmma_f16_nt_192: FromShared<K_MAJOR, K_MAJOR>, 96;
            wgmma_f16_nt_128: FromShared<K_MAJOR, K_MAJOR>, 64;
            wgmma_f16_tn_192: FromShared<MN_MAJOR, MN_MAJOR>, 96;
            wgmma_f16_tn_128: FromShared<MN_MAJOR, MN_MAJOR>, 64;
            wgmma_f16_tt_192: FromShared<MN_MAJOR, K_MAJOR>, 96;
            wgmma_f16_tt_128: FromShared<MN_MAJOR, K_MAJOR>, 64;
            wgmma_f16_nn_64: FromShared<K_MAJOR, MN_MAJOR>, 32;
            wgmma_f16_nt_64: FromShared<K_MAJOR, K_MAJOR>, 32;
            wgmma_f16_tn_64: FromShared<MN_MAJOR, MN_MAJOR>, 32;
            wgmma_f16_tt_64: FromShared<MN_MAJOR, K_MAJOR>, 32;
        }
        256 threads {
            wgmma_f16_nn_pair_192: FromShared<K_MAJOR, MN_MAJOR>, 96;
            wgmma_f16_nn_pair_64: FromShared<K_MAJOR, MN_MAJOR>, 32;
            wgmma_f16_nt_pair_192: FromShared<K_MAJOR, K_MAJOR>, 96;
            wgmma_f16_nt_pair_96: FromShared<K_MAJOR, K_MAJOR>, 48;
            wgmma_f16_nt_pair_64: FromShared<K_MAJOR, K_MAJOR>, 32;
            wgmma_f16_tn_pair_192: FromShared<MN_MAJOR, MN_MAJOR>, 96;
            wgmma_f16_tn_pair_64: FromShared<MN_MAJOR, MN_MAJOR>, 32;
            wgmma_f16_tt_pair_192: FromShared<MN_MAJOR, K_MAJOR>, 96;
            wgmma_f16_tt_pair_96: FromShared<MN_MAJOR, K_MAJOR>, 48;
            wgmma_f16_tt_pair_64: FromShared<MN_MAJOR, K_MAJOR>, 32;
        }
    }

    "Inputs and C are bfloat16": OF_BF16_TO_BF16, Bf16 => bf16 {
        384 threads {
            wgmma_bf16_nn_to_bf16: FromShared<K_MAJOR, MN_MAJOR>, 128;
            wgmma_bf16_nt_to_bf16: FromShared<K_MAJOR, K_MAJOR>, 128;
            wgmma_bf16_tn_to_bf16: FromShared<MN_MAJOR, MN_MAJOR>, 128;
            wgmma_bf16_tt_to_bf16: FromShared<MN_MAJOR, K_MAJOR>, 128;
            wgmma_bf16_nn_192_to_bf16: FromShared<K_MAJOR, MN_MAJOR>, 96;
            wgmma_bf16_nn_128_to_bf16: FromShared<K_MAJOR, MN_MAJOR>, 64;
            wgmma_bf16_nt_192_to_bf16: FromShared<K_MAJOR, K_MAJOR>, 96;
            wgmma_bf16_nt_128_to_bf16: FromShared<K_MAJOR, K_MAJOR>, 64;
            wgmma_bf16_tn_192_to_bf16: FromShared<MN_MAJOR, MN_MAJOR>, 96;
            wgmma_bf16_tn_128_to_bf16: FromShared<MN_MAJOR, MN_MAJOR>, 64;
            wgmma_bf16_tt_192_to_bf16: FromShared<MN_MAJOR, K_MAJOR>, 96;
            wgmma_bf16_tt_128_to_bf16: FromShared<MN_MAJOR, K_MAJOR>, 64;
            wgmma_bf16_nn_64_to_bf16: FromShared<K_MAJOR, MN_MAJOR>, 32;
            wgmma_bf16_nt_64_to_bf16: FromShared<K_MAJOR, K_MAJOR>, 32;
            wgmma_bf16_tn_64_to_bf16: FromShared<MN_MAJOR, MN_MAJOR>, 32;
            wgmma_bf16_tt_64_to_bf16: FromShared<MN_MAJOR, K_MAJOR>, 32;
        }
        256 threads {
            wgmma_bf16_nn_pair_192_to_bf16: FromShared<K_MAJOR, MN_MAJOR>, 96;
            wgmma_bf16_nn_pair_64_to_bf16: FromShared<K_MAJOR, MN_MAJOR>, 32;
            wgmma_bf16_nt_pair_192_to_bf16: FromShared<K_MAJOR, K_MAJOR>, 96;
            wgmma_bf16_nt_pair_64_to_bf16: FromShared<K_MAJOR, K_MAJOR>, 32;
            wgmma_bf16_tn_pair_192_to_bf16: FromShared<MN_MAJOR, MN_MAJOR>, 96;
            wgmma_bf16_tn_pair_64_to_bf16: FromShared<MN_MAJOR, MN_MAJOR>, 32;
            wgmma_bf16_tt_pair_192_to_bf16: FromShared<MN_MAJOR, K_MAJOR>, 96;
            wgmma_bf16_tt_pair_64_to_bf16: FromShared<MN_MAJOR, K_MAJOR>, 32;
        }
    }

    "Inputs and C are IEEE binary16": OF_F16_TO_F16, F16 => f16 {
        384 threads {
            wgmma_f16_nn_to_f16: FromShared<K_MAJOR, MN_MAJOR>, 128;
            wgmma_f16_nt_to_f16: FromShared<K_MAJOR, K_MAJOR>, 128;
            wgmma_f16_tn_to_f16: FromShared<MN_MAJOR, MN_MAJOR>, 128;
            wgmma_f16_tt_to_f16: FromShared<MN_MAJOR, K_MAJOR>, 128;
            wgmma_f16_nn_192_to_f16: FromShared<K_MAJOR, MN_MAJOR>, 96;
            wgmma_f16_nn_128_to_f16: FromShared<K_MAJOR, MN_MAJOR>, 64;
            wgmma_f16_nt_192_to_f16: FromShared<K_MAJOR, K_MAJOR>, 96;
            wgmma_f16_nt_128_to_f16: FromShared<K_MAJOR, K_MAJOR>, 64;
            wgmma_f16_tn_192_to_f16: FromShared<MN_MAJOR, MN_MAJOR>, 96;
            wgmma_f16_tn_128_to_f16: FromShared<MN_MAJOR, MN_MAJOR>, 64;
            wgmma_f16_tt_192_to_f16: FromShared<MN_MAJOR, K_MAJOR>, 96;
            wgmma_f16_tt_128_to_f16: FromShared<MN_MAJOR, K_MAJOR>, 64;
            wgmma_f16_nn_64_to_f16: FromShared<K_MAJOR, MN_MAJOR>, 32;
            wgmma_f16_nt_64_to_f16: FromShared<K_MAJOR, K_MAJOR>, 32;
            wgmma_f16_tn_64_to_f16: FromShared<MN_MAJOR, MN_MAJOR>, 32;
            wgmma_f16_tt_64_to_f16: FromShared<MN_MAJOR, K_MAJOR>, 32;
        }
        256 threads {
            wgmma_f16_nn_pair_192_to_f16: FromShared<K_MAJOR, MN_MAJOR>, 96;
            wgmma_f16_nn_pair_64_to_f16: FromShared<K_MAJOR, MN_MAJOR>, 32;
            wgmma_f16_nt_pair_192_to_f16: FromShared<K_MAJOR, K_MAJOR>, 96;
            wgmma_f16_nt_pair_64_to_f16: FromShared<K_MAJOR, K_MAJOR>, 32;
            wgmma_f16_tn_pair_192_to_f16: FromShared<MN_MAJOR, MN_MAJOR>, 96;
            wgmma_f16_tn_pair_64_to_f16: FromShared<MN_MAJOR, MN_MAJOR>, 32;
            wgmma_f16_tt_pair_192_to_f16: FromShared<MN_MAJOR, K_MAJOR>, 96;
            wgmma_f16_tt_pair_64_to_f16: FromShared<MN_MAJOR, K_MAJOR>, 32;
        }
    }

    "Inputs are TF32, the upper 19 bits of `f32`": OF_TF32, Tf32 => f32 {
        384 threads {
            wgmma_tf32_nn: ThroughRegisters<MN_MAJOR, K_MAJOR>, 128;
            wgmma_tf32_nn_192: ThroughRegisters<MN_MAJOR, K_MAJOR>, 96;
            wgmma_tf32_nn_128: ThroughRegisters<MN_MAJOR, K_MAJOR>, 64;
            wgmma_tf32_nn_64: ThroughRegisters<MN_MAJOR, K_MAJOR>, 32;
            wgmma_tf32_nt: FromShared<K_MAJOR, K_MAJOR>, 128;
            wgmma_tf32_nt_192: FromShared<K_MAJOR, K_MAJOR>, 96;
            wgmma_tf32_nt_128: FromShared<K_MAJOR, K_MAJOR>, 64;
            wgmma_tf32_nt_64: FromShared<K_MAJOR, K_MAJOR>, 32;
        }
    }
}
