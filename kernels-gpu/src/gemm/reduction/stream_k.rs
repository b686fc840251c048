//! `add_parts_f32`, `add_parts_f16`, `add_parts_bf16`: the parts of shared tiles, added up by a launch of its own.
//!
//! # Idea
//! Who brings the last part of a tile reads all of them alone, while most multiprocessors stand still: five parts of 128 × 192 take a
//! quarter of the time of 768 × 768 × 16384. Here all multiprocessors read. To launch takes a while too, so that it pays where there is much
//! to read.
//!
//! # Thread mapping
//! Blocks of up to six consumers, one for eight parts. A thread adds up one vector of some of the parts: the four accumulators of a lane that are
//! two neighbours in two rows of C. The threads of a warpgroup have the vectors that lie one behind the other, and are the lanes that have
//! summed them. The first warpgroup adds up what the others have, and stores.
//!
//! # Preconditions
//! Those of the product.
//!
//! # What changed since the rung before
//! It is the second half of a product whose tiles are shared.
//!
//! # Source
//! Beyond the sources.

use crate::gemm::GemmParams;
use crate::gemm::epilogue::tma_store::{OutputElements, OutputVec2};
use crate::gemm::reduction::workspace::{Partials, VECTOR, vectors};
use crate::gemm::scheduler::persistent::{Split, TileCoord, TileSchedulerParams};
use crate::gemm::wgmma::stage::{WARPGROUP, WM};
use core::ops::Range;
use cuda_std::float16::{bf16, f16};
use cuda_std::griddepcontrol;
use cuda_std::prelude::*;
use cuda_std::shared_array;
use cuda_std::vector::{F32x4, Vector};

/// Parts that are on their way to a thread at a time.
const AT_ONCE: usize = 8;

/// Most consumers of a block.
const MAX_WARPGROUPS: usize = 6;

/// Threads of the largest blocks, and how many of those a multiprocessor is to have room for.
const MAX_THREADS: u32 = (MAX_WARPGROUPS * WARPGROUP) as u32;
const RESIDENT: u32 = 2;

/// Warpgroups of a block that adds up so many parts, 1 or more.
const fn consumers(parts: u32) -> u32 {
    let all = parts.div_ceil(AT_ONCE as u32);
    if all < MAX_WARPGROUPS as u32 {
        all
    } else {
        MAX_WARPGROUPS as u32
    }
}

/// Threads of a block that adds up so many parts.
pub const fn threads(parts: u32) -> u32 {
    consumers(parts) * WARPGROUP as u32
}

/// Blocks that so many shared tiles take, of so many rows and columns.
pub const fn blocks(shared: u32, [rows, columns]: [u32; 2]) -> u32 {
    shared * (rows / WM as u32) * vectors(columns as usize) as u32
}

/// Blocks that add up so many parts, and that a multiprocessor has room for: by their threads, of which it takes 1,536 of so many registers.
pub const fn resident(parts: u32) -> u32 {
    MAX_THREADS * RESIDENT / threads(parts)
}

/// How often a thread reads where there are so many parts.
pub const fn rounds(parts: u32) -> u32 {
    parts.div_ceil(consumers(parts)).div_ceil(AT_ONCE as u32)
}

/// The accumulators of this thread's vector in the parts of `range`, in their order.
///
/// # Safety
/// The launch before has stored the parts.
#[inline(always)]
unsafe fn reduce(partials: &Partials, vector: usize, range: Range<u32>) -> [f32; VECTOR] {
    let mut accumulators = [0.0; VECTOR];
    let mut first = range.start;
    while first < range.end {
        let mut more = [[0.0; VECTOR]; AT_ONCE];
        for i in 0..AT_ONCE {
            let index = first + i as u32;
            if index < range.end {
                // SAFETY: the caller ensures it.
                more[i] = unsafe { F32x4::load(partials.vector(index, vector)) };
            }
        }
        for i in 0..AT_ONCE {
            for j in 0..VECTOR {
                accumulators[j] += more[i][j];
            }
        }
        first += AT_ONCE as u32;
    }
    accumulators
}

/// The accumulators of all consumers, in their order, in the first one.
///
/// # Safety
/// The whole block does it, and has as many consumers.
#[inline(always)]
unsafe fn gather(mut accumulators: [f32; VECTOR], consumers: usize) -> [f32; VECTOR] {
    let others = shared_array![f32; (MAX_WARPGROUPS - 1) * WARPGROUP * VECTOR];
    let thread = thread::thread_idx_x() as usize;
    let place = |thread: usize| others.wrapping_add((thread - WARPGROUP) * VECTOR);
    // SAFETY: threads of the other consumers have a place each, which is read behind the barrier.
    unsafe {
        if thread >= WARPGROUP {
            F32x4::store(place(thread), accumulators);
        }
        thread::sync_threads();
        if thread < WARPGROUP {
            for warpgroup in 1..consumers {
                let more = F32x4::load(place(warpgroup * WARPGROUP + thread));
                for j in 0..VECTOR {
                    accumulators[j] += more[j];
                }
            }
        }
    }
    accumulators
}

/// C ← α · accumulators + β · C for the four registers from `first` on, `by_pairs` where neighbours in a row can be stored together.
///
/// # Safety
/// `elements` are the kernel's. Nobody else stores there.
#[inline(always)]
unsafe fn store<C: OutputVec2>(
    elements: OutputElements<C>,
    coord: TileCoord,
    mut accumulators: [f32; VECTOR],
    first: usize,
    by_pairs: bool,
) {
    // SAFETY: passed on to the caller; pairs are aligned where C can be stored by them.
    unsafe {
        for i in 0..VECTOR {
            accumulators[i] *= elements.gemm.alpha;
            if elements.gemm.beta != 0.0 {
                accumulators[i] = elements.plus_old(coord, first + i, accumulators[i]);
            }
        }
        for pair in 0..VECTOR / 2 {
            let left = 2 * pair;
            let place = |i| elements.place(coord, first + i);
            if by_pairs
                && let Some(to) = place(left)
                && place(left + 1).is_some()
            {
                C::store_vec2(to, accumulators[left], accumulators[left + 1]);
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
unsafe fn body<C: OutputVec2>(
    (c, workspace): (*mut C, *mut f32),
    gemm: &GemmParams<f32>,
    scheduler: &TileSchedulerParams,
    [rows, columns]: [u32; 2],
    transposed: bool,
) {
    griddepcontrol::launch_dependents();
    let of_tile = rows / WM as u32;
    let vectors = vectors(columns as usize) as u32;
    let (vector, number) = (
        (thread::block_idx_x() % vectors) as usize,
        thread::block_idx_x() / vectors,
    );
    let (warpgroup, tile) = (number % of_tile, number / of_tile);
    let coord = scheduler
        .tiles([gemm.m, gemm.n], [rows, columns], 1)
        .coord(tile);
    let coord = TileCoord {
        row: coord.row + warpgroup * WM as u32,
        ..coord
    };
    let part = Split {
        tile,
        index: 0,
        count: scheduler.splits,
    };
    let of_warpgroup = [warpgroup as usize, of_tile as usize];
    let partials = Partials::new(workspace, scheduler, part, of_warpgroup, columns as usize);
    let elements = OutputElements {
        c,
        gemm,
        transposed,
    };
    // What bulk copies can store begins at multiples of 16 bytes.
    let by_pairs = scheduler.tma_store != 0 && !transposed;
    let parts = scheduler.splits;
    let (own, all) = (thread::thread_idx_x() / WARPGROUP as u32, consumers(parts));
    let each = parts.div_ceil(all);
    let range = own * each..parts.min((own + 1) * each);
    griddepcontrol::wait();
    // SAFETY: the launch before is done; the caller ensures the rest.
    unsafe {
        let mut accumulators = reduce(&partials, vector, range);
        if all > 1 {
            accumulators = gather(accumulators, all as usize);
        }
        if own == 0 {
            store(elements, coord, accumulators, VECTOR * vector, by_pairs);
        }
    }
}

macro_rules! kernels {
    ($($(#[$doc:meta])* $name:ident: $element:ty;)*) => {
        $(
            $(#[$doc])*
            ///
            /// # Safety
            /// `c`, `workspace`, `gemm` and `scheduler` are those of the launch before, whose tiles have so many rows and columns; `transposed` is 1
            /// where C lies column by column, and 0 elsewhere. The grid has [`blocks`] in x,
            /// each of [`threads`].
            #[cuda_std::kernel(max_threads = MAX_THREADS, min_blocks = RESIDENT)]
            pub unsafe fn $name(
                c: *mut $element,
                workspace: *mut f32,
                gemm: GemmParams<f32>,
                scheduler: TileSchedulerParams,
                rows: u32,
                columns: u32,
                transposed: u32,
            ) {
                // SAFETY: passed on to the caller.
                unsafe { body((c, workspace), &gemm, &scheduler, [rows, columns], transposed != 0) }
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
