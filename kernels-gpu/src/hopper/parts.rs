//! `add_parts_f32`, `add_parts_f16`, `add_parts_bf16`: the parts of shared tiles, added up by a launch of its own.
//!
//! # Idea
//! Who brings the last part of a tile reads all of them alone, while most multiprocessors stand still: five parts of 128 × 192 take a
//! quarter of the time of 768 × 768 × 16384. Here all multiprocessors read. To launch takes a while too, so that it pays where there is much
//! to read.
//!
//! # Thread mapping
//! Blocks of up to six warpgroups, one for eight parts. A thread adds up one vector of some of the parts: the four sums of a lane that are
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

use super::partials::{Partials, VECTOR, vectors};
use super::schedule::{Corner, Part, Schedule};
use super::store::{Elements, Paired};
use super::tiles::{ROWS, WARPGROUP};
use crate::gemm::Gemm;
use core::ops::Range;
use cuda_std::float16::{bf16, f16};
use cuda_std::griddepcontrol;
use cuda_std::prelude::*;
use cuda_std::shared_array;
use cuda_std::vector::{F32x4, Vector};

/// Parts that are on their way to a thread at a time.
const AT_ONCE: usize = 8;

/// Most warpgroups of a block.
const MOST_WARPGROUPS: usize = 6;

/// Threads of the largest blocks, and how many of those a multiprocessor is to have room for.
const MOST_THREADS: u32 = (MOST_WARPGROUPS * WARPGROUP) as u32;
const RESIDENT: u32 = 2;

/// Warpgroups of a block that adds up so many parts, 1 or more.
const fn warpgroups(parts: u32) -> u32 {
    let all = parts.div_ceil(AT_ONCE as u32);
    if all < MOST_WARPGROUPS as u32 {
        all
    } else {
        MOST_WARPGROUPS as u32
    }
}

/// Threads of a block that adds up so many parts.
pub const fn threads(parts: u32) -> u32 {
    warpgroups(parts) * WARPGROUP as u32
}

/// Blocks that so many shared tiles take, of so many rows and columns.
pub const fn blocks(shared: u32, [rows, columns]: [u32; 2]) -> u32 {
    shared * (rows / ROWS as u32) * vectors(columns as usize) as u32
}

/// Blocks that add up so many parts, and that a multiprocessor has room for: by their threads, of which it takes 1,536 of so many registers.
pub const fn resident(parts: u32) -> u32 {
    MOST_THREADS * RESIDENT / threads(parts)
}

/// How often a thread reads where there are so many parts.
pub const fn rounds(parts: u32) -> u32 {
    parts.div_ceil(warpgroups(parts)).div_ceil(AT_ONCE as u32)
}

/// The sums of this thread's vector in the parts of `range`, in their order.
///
/// # Safety
/// The launch before has stored the parts.
#[inline(always)]
unsafe fn add_up(partials: &Partials, vector: usize, range: Range<u32>) -> [f32; VECTOR] {
    let mut sums = [0.0; VECTOR];
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
                sums[j] += more[i][j];
            }
        }
        first += AT_ONCE as u32;
    }
    sums
}

/// The sums of all warpgroups, in their order, in the first one.
///
/// # Safety
/// The whole block does it, and has as many warpgroups.
#[inline(always)]
unsafe fn gather(mut sums: [f32; VECTOR], warpgroups: usize) -> [f32; VECTOR] {
    let others = shared_array![f32; (MOST_WARPGROUPS - 1) * WARPGROUP * VECTOR];
    let thread = thread::thread_idx_x() as usize;
    let place = |thread: usize| others.wrapping_add((thread - WARPGROUP) * VECTOR);
    // SAFETY: threads of the other warpgroups have a place each, which is read behind the barrier.
    unsafe {
        if thread >= WARPGROUP {
            F32x4::store(place(thread), sums);
        }
        thread::sync_threads();
        if thread < WARPGROUP {
            for warpgroup in 1..warpgroups {
                let more = F32x4::load(place(warpgroup * WARPGROUP + thread));
                for j in 0..VECTOR {
                    sums[j] += more[j];
                }
            }
        }
    }
    sums
}

/// C ← α · sums + β · C for the four registers from `first` on, `by_pairs` where neighbours in a row can be stored together.
///
/// # Safety
/// `elements` are the kernel's. Nobody else stores there.
#[inline(always)]
unsafe fn store<C: Paired>(
    elements: Elements<C>,
    corner: Corner,
    mut sums: [f32; VECTOR],
    first: usize,
    by_pairs: bool,
) {
    // SAFETY: passed on to the caller; pairs are aligned where C can be stored by them.
    unsafe {
        for i in 0..VECTOR {
            sums[i] *= elements.gemm.alpha;
            if elements.gemm.beta != 0.0 {
                sums[i] = elements.plus_old(corner, first + i, sums[i]);
            }
        }
        for pair in 0..VECTOR / 2 {
            let left = 2 * pair;
            let place = |i| elements.place(corner, first + i);
            if by_pairs
                && let Some(to) = place(left)
                && place(left + 1).is_some()
            {
                C::store_pair(to, sums[left], sums[left + 1]);
                continue;
            }
            for i in left..left + 2 {
                elements.store(corner, first + i, sums[i]);
            }
        }
    }
}

/// The body of the kernels.
///
/// # Safety
/// As for the kernels.
#[inline(always)]
unsafe fn body<C: Paired>(
    (c, workspace): (*mut C, *mut f32),
    gemm: &Gemm<f32>,
    schedule: &Schedule,
    [rows, columns]: [u32; 2],
    turned: bool,
) {
    griddepcontrol::launch_dependents();
    let of_tile = rows / ROWS as u32;
    let vectors = vectors(columns as usize) as u32;
    let (vector, number) = (
        (thread::block_idx_x() % vectors) as usize,
        thread::block_idx_x() / vectors,
    );
    let (warpgroup, tile) = (number % of_tile, number / of_tile);
    let corner = schedule
        .tiles([gemm.m, gemm.n], [rows, columns], 1)
        .corner(tile);
    let corner = Corner {
        row: corner.row + warpgroup * ROWS as u32,
        ..corner
    };
    let part = Part {
        tile,
        index: 0,
        count: schedule.parts,
    };
    let of_warpgroup = [warpgroup as usize, of_tile as usize];
    let partials = Partials::new(workspace, schedule, part, of_warpgroup, columns as usize);
    let elements = Elements { c, gemm, turned };
    // What bulk copies can store begins at multiples of 16 bytes.
    let by_pairs = schedule.bulk != 0 && !turned;
    let parts = schedule.parts;
    let (own, all) = (thread::thread_idx_x() / WARPGROUP as u32, warpgroups(parts));
    let each = parts.div_ceil(all);
    let range = own * each..parts.min((own + 1) * each);
    griddepcontrol::wait();
    // SAFETY: the launch before is done; the caller ensures the rest.
    unsafe {
        let mut sums = add_up(&partials, vector, range);
        if all > 1 {
            sums = gather(sums, all as usize);
        }
        if own == 0 {
            store(elements, corner, sums, VECTOR * vector, by_pairs);
        }
    }
}

macro_rules! kernels {
    ($($(#[$doc:meta])* $name:ident: $element:ty;)*) => {
        $(
            $(#[$doc])*
            ///
            /// # Safety
            /// `c`, `workspace`, `gemm` and `schedule` are those of the launch before, whose tiles have so many rows and columns; `turned` is 1
            /// where C lies column by column, and 0 elsewhere. The grid has [`blocks`] in x,
            /// each of [`threads`].
            #[cuda_std::kernel(max_threads = MOST_THREADS, min_blocks = RESIDENT)]
            pub unsafe fn $name(
                c: *mut $element,
                workspace: *mut f32,
                gemm: Gemm<f32>,
                schedule: Schedule,
                rows: u32,
                columns: u32,
                turned: u32,
            ) {
                // SAFETY: passed on to the caller.
                unsafe { body((c, workspace), &gemm, &schedule, [rows, columns], turned != 0) }
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
