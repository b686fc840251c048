//! `add_parts_f32`, `add_parts_f16`, `add_parts_bf16`: the reduction kernel of stream-K tiles.
//!
//! # Idea
//! With a fix-up, the last block to arrive at a tile loads the partial sums of all its splits
//! alone, while most multiprocessors idle. Five splits of 128 × 192 take a quarter of the time of
//! 768 × 768 × 16384. Here all multiprocessors load. A launch takes time too, so the reduction
//! kernel pays where there are many partial sums to load.
//!
//! # Thread mapping
//! Blocks of up to six warpgroups, one for eight splits. A thread reduces one vector over some of
//! the splits: the four accumulators of a lane that are a vec2 in each of two rows of C. The
//! threads of a warpgroup have consecutive vectors, and are the lanes that computed them. The first
//! warpgroup adds the sums of the other warpgroups, and stores.
//!
//! # Preconditions
//! Those of the GEMM.
//!
//! # What changed since the rung before
//! It is the second half of a GEMM with stream-K tiles.
//!
//! # Source
//! Beyond the sources.

use crate::gemm::GemmParams;
use crate::gemm::element::Output;
use crate::gemm::epilogue::output_elements::OutputElements;
use crate::gemm::epilogue::output_op::{LinearCombination, OutputOp};
use crate::gemm::reduction::partial_sums::{self, VECTOR};
use crate::gemm::scheduler::Split;
use crate::gemm::scheduler::persistent::{TileCoord, TileSchedulerParams};
use crate::gemm::wgmma::stage::{WARPGROUP, WM};
use core::ops::Range;
use cuda_std::float16::{bf16, f16};
use cuda_std::griddepcontrol;
use cuda_std::prelude::*;
use cuda_std::shared_array;
use cuda_std::vector::{F32x4, Vector};

/// The partial sums of a consumer warpgroup.
type PartialSums = partial_sums::PartialSums<f32, WARPGROUP>;

/// Accumulators of a thread for tiles of `bn` columns.
const fn accumulators(bn: usize) -> usize {
    WM * bn / WARPGROUP
}

/// Elements of one consumer warpgroup's partial sums in the workspace, for tiles of `bn` columns.
pub const fn partial_elements(bn: usize) -> usize {
    WM * bn
}

/// Vectors of one thread among them.
const fn vectors(bn: usize) -> usize {
    accumulators(bn) / VECTOR
}

/// Vectors in flight to a thread: of as many splits.
const IN_FLIGHT: usize = 8;

/// Most warpgroups of a block.
const MAX_WARPGROUPS: usize = 6;

/// Threads of the largest blocks, and the number of those that are resident on a multiprocessor.
const MAX_THREADS: u32 = (MAX_WARPGROUPS * WARPGROUP) as u32;
const RESIDENT: u32 = 2;

/// Warpgroups of a block that reduces `splits` splits, 1 or more.
const fn warpgroups(splits: u32) -> u32 {
    let all = splits.div_ceil(IN_FLIGHT as u32);
    if all < MAX_WARPGROUPS as u32 {
        all
    } else {
        MAX_WARPGROUPS as u32
    }
}

/// Threads of a block that reduces `splits` splits.
pub const fn threads(splits: u32) -> u32 {
    warpgroups(splits) * WARPGROUP as u32
}

/// Blocks for `stream_k_tiles` tiles of `bm` × `bn` elements.
pub const fn blocks(stream_k_tiles: u32, [bm, bn]: [u32; 2]) -> u32 {
    stream_k_tiles * (bm / WM as u32) * vectors(bn as usize) as u32
}

/// Blocks that are resident on a multiprocessor when each reduces `splits` splits. The limit is
/// threads: the kernel's registers allow 1,536.
pub const fn resident(splits: u32) -> u32 {
    MAX_THREADS * RESIDENT / threads(splits)
}

/// Batches of loads of a thread, each of up to 8 splits in flight, for `splits` splits.
pub const fn rounds(splits: u32) -> u32 {
    splits
        .div_ceil(warpgroups(splits))
        .div_ceil(IN_FLIGHT as u32)
}

/// The sums of this thread's vector over the splits of `range`, in their order.
///
/// # Safety
/// The launch before has stored the partial sums of these splits.
#[inline(always)]
unsafe fn reduce(partial_sums: &PartialSums, vector: usize, range: Range<u32>) -> [f32; VECTOR] {
    let mut accumulators = [0.0; VECTOR];
    let mut first = range.start;
    while first < range.end {
        let mut loaded = [[0.0; VECTOR]; IN_FLIGHT];
        for i in 0..IN_FLIGHT {
            let index = first + i as u32;
            if index < range.end {
                // SAFETY: the contract says that split `index`, which is in `range`, is stored.
                loaded[i] = unsafe { F32x4::load(partial_sums.vector(index, vector)) };
            }
        }
        for i in 0..IN_FLIGHT {
            for j in 0..VECTOR {
                accumulators[j] += loaded[i][j];
            }
        }
        first += IN_FLIGHT as u32;
    }
    accumulators
}

/// The sums of all warpgroups, added in their order; complete in the first warpgroup alone.
///
/// # Safety
/// All threads of the block execute it together. The block has `warpgroups` warpgroups, at most
/// [`MAX_WARPGROUPS`].
#[inline(always)]
unsafe fn reduce_block(mut accumulators: [f32; VECTOR], warpgroups: usize) -> [f32; VECTOR] {
    let others = shared_array![f32; (MAX_WARPGROUPS - 1) * WARPGROUP * VECTOR];
    let thread = thread::thread_idx_x() as usize;
    let slot = |thread: usize| others.wrapping_add((thread - WARPGROUP) * VECTOR);
    // SAFETY: each thread of the other warpgroups has a slot of its own, and the array has one for
    // each of them. The first warpgroup loads behind the barrier.
    unsafe {
        if thread >= WARPGROUP {
            F32x4::store(slot(thread), accumulators);
        }
        thread::sync_threads();
        if thread < WARPGROUP {
            for warpgroup in 1..warpgroups {
                let loaded = F32x4::load(slot(warpgroup * WARPGROUP + thread));
                for j in 0..VECTOR {
                    accumulators[j] += loaded[j];
                }
            }
        }
    }
    accumulators
}

/// Stores the results of `op` for the four registers from `first` on, in vec2s where `as_vec2s`.
///
/// # Safety
/// `elements` are the kernel's, and no other thread stores these. With `as_vec2s`, rows of C begin
/// at multiples of 16 bytes, and C is not transposed.
#[inline(always)]
unsafe fn store<C: Output<Wide = f32>, Op: OutputOp<f32>>(
    elements: OutputElements<C>,
    op: Op,
    coord: TileCoord,
    mut accumulators: [f32; VECTOR],
    first: usize,
    as_vec2s: bool,
) {
    // SAFETY: the contract says that `elements` describe C and are this thread's. A vec2 begins at
    // an even column, so it is aligned where rows are.
    unsafe {
        for i in 0..VECTOR {
            accumulators[i] = elements.result(op, coord, first + i, op.scale(accumulators[i]));
        }
        for vec2 in 0..VECTOR / 2 {
            let left = 2 * vec2;
            let element = |i| elements.element(coord, first + i);
            if as_vec2s
                && let Some(to) = element(left)
                && element(left + 1).is_some()
            {
                C::store_2(to, [accumulators[left], accumulators[left + 1]]);
                continue;
            }
            for i in left..left + 2 {
                elements.store(coord, first + i, accumulators[i]);
            }
        }
    }
}

/// The body of the kernels.
///
/// # Safety
/// As for the kernels.
#[inline(always)]
unsafe fn body<C: Output<Wide = f32>, Op: OutputOp<f32>>(
    (c, workspace): (*mut C, *mut f32),
    params: &GemmParams<f32>,
    scheduler: &TileSchedulerParams,
    transposed: bool,
) {
    griddepcontrol::launch_dependents();
    let [bm, bn] = scheduler.tiles.tile();
    let consumers = bm / WM as u32;
    let vectors = vectors(bn as usize) as u32;
    let (vector, rest) = (
        (thread::block_idx_x() % vectors) as usize,
        thread::block_idx_x() / vectors,
    );
    let (consumer, tile) = (rest % consumers, rest / consumers);
    let coord = scheduler.tiles.coord(tile);
    let coord = TileCoord {
        row: coord.row + consumer * WM as u32,
        ..coord
    };
    let split = Split {
        tile,
        index: 0,
        count: scheduler.stream_k.splits,
    };
    let of_consumer = [consumer as usize, consumers as usize];
    let workspace = workspace.wrapping_add(scheduler.partial_sums_offset as usize);
    let partial_sums = PartialSums::new(workspace, split, of_consumer, accumulators(bn as usize));
    let elements = OutputElements {
        c,
        params,
        transposed,
    };
    // Rows of a C that TMA can store begin at multiples of 16 bytes.
    let as_vec2s = scheduler.tma_store != 0 && !transposed;
    let splits = scheduler.stream_k.splits;
    let (warpgroup, all) = (
        thread::thread_idx_x() / WARPGROUP as u32,
        warpgroups(splits),
    );
    let each = splits.div_ceil(all);
    let range = warpgroup * each..splits.min((warpgroup + 1) * each);
    griddepcontrol::wait();
    // SAFETY: `griddepcontrol::wait` returns when the launch before has completed and its partial
    // sums are visible. The kernel's contract says that the block has `threads(splits)` threads.
    // Each thread of the first warpgroup stores elements of its own.
    unsafe {
        let mut accumulators = reduce(&partial_sums, vector, range);
        if all > 1 {
            accumulators = reduce_block(accumulators, all as usize);
        }
        if warpgroup == 0 {
            let (op, first) = (Op::new(params), VECTOR * vector);
            store(elements, op, coord, accumulators, first, as_vec2s);
        }
    }
}

macro_rules! kernels {
    ($($(#[$doc:meta])* $name:ident: $element:ty;)*) => {
        $(
            $(#[$doc])*
            ///
            /// # Safety
            /// The first four are those of the launch before. `transposed` is 1 where C lies column
            /// by column, or 0. The grid has [`blocks`] blocks in x, each of [`threads`] threads.
            #[cuda_std::kernel(max_threads = MAX_THREADS, min_blocks = RESIDENT)]
            pub unsafe fn $name(
                c: *mut $element,
                workspace: *mut f32,
                params: GemmParams<f32>,
                scheduler: TileSchedulerParams,
                transposed: u32,
            ) {
                // SAFETY: this kernel has the contract of `body`.
                unsafe {
                    body::<_, LinearCombination<f32>>(
                        (c, workspace), &params, &scheduler, transposed != 0,
                    )
                }
            }
        )*
    };
}

kernels! {
    /// C has elements of `f32`.
    add_parts_f32: f32;
    /// C has elements of IEEE binary16.
    add_parts_f16: f16;
    /// C has elements of bfloat16.
    add_parts_bf16: bf16;
}
