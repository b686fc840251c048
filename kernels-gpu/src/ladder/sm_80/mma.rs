//! `mma_f16`, `mma_bf16`, `mma_tf32`: tensor cores, fed by asynchronous copies through three stages.
//!
//! # Idea
//! A warp multiplies fragments of 16 × 16 and 16 × 8 elements in one instruction, 4,096 FLOP that cost as many issue slots
//! as 64 of `double_buffered`. Now the tiles have to arrive fast enough. `cp.async` brings them to shared memory while two
//! earlier stages are used, without passing through registers, and `ldmatrix` hands out four 8 × 8 matrices at a time.
//!
//! Both tiles lie in shared memory as they lie in global memory, in pieces of 16 bytes. Pieces of a row are exchanged by an
//! exclusive or with the row number (a *swizzle*), so that neither the copies nor the fragments have bank conflicts.
//!
//! # Thread mapping
//! A block of four warps computes 128 × 128 elements of C. Warp w owns the 64 × 64 of row w / 2 and column w mod 2: 4 × 8
//! products of 16 × 8, 128 sums for each lane. A stage holds 64 bytes along k: 32 elements of 16 bits, or 16 of TF32.
//!
//! # Preconditions
//! Rows start at multiples of 16 bytes: k and n are multiples of 8 elements of 16 bits, or of 4 of TF32. m is any number.
//! What lies outside of the matrices is copied as zeros.
//!
//! # What changed since the rung before
//! Against `double_buffered`: another unit does the arithmetic, the inputs have 10 or 7 bits of fraction, sums and C are f32.
//! B keeps its rows along n. For 16-bit elements `ldmatrix` transposes its fragments; TF32 elements are too wide for that, and
//! lanes read them one by one.
//!
//! # Source
//! Beyond the sources. PTX ISA, "mma.sync", "ldmatrix", "cp.async".

use crate::geometry::Geometry;
use core::marker::PhantomData;
use cuda_std::async_copy::{self, SharedAddress};
use cuda_std::matrix;
use cuda_std::mma::{Bf16, F16, Input, Tf32};
use cuda_std::prelude::*;
use cuda_std::vector::{F32x2, Vector};

/// Rows and columns of C that a block owns.
const BLOCK: usize = 128;

/// Rows and columns of C that a warp owns.
const WARP: usize = 64;

/// Threads of a block.
const THREADS: usize = 32 * (BLOCK / WARP) * (BLOCK / WARP);

/// Bytes along k of a stage.
const DEPTH_BYTES: usize = 64;

/// Bytes of a piece, the unit of copies and of fragments.
const PIECE: usize = 16;

/// Stages: one in use, the others on their way.
const STAGES: usize = 3;

/// Bytes of a tile of A or of B, and of both.
const TILE_BYTES: usize = BLOCK * DEPTH_BYTES;
const STAGE_BYTES: usize = 2 * TILE_BYTES;

/// Rows and columns of one product.
const ROWS: usize = 16;
const COLUMNS: usize = 8;

/// Products of a warp in each direction.
const DOWN: usize = WARP / ROWS;
const ACROSS: usize = WARP / COLUMNS;

/// Bytes along k of one product.
const STEP_BYTES: usize = 32;

/// Pieces of each tile that a thread copies.
const PIECES: usize = TILE_BYTES / PIECE / THREADS;

/// 128 threads for 128 × 128 elements of C; 48 KiB of shared memory.
pub const GEOMETRY: Geometry = Geometry::tiles([THREADS, 1], [BLOCK, BLOCK]);

/// An element type of A and B: how B's fragments come from its tile.
trait Element: Input {
    /// What the arrays in memory hold.
    type Stored: Copy;

    /// Elements of a piece.
    const PIECE: usize = PIECE / Self::BYTES;

    /// Elements along k of a stage.
    const DEPTH: usize = DEPTH_BYTES / Self::BYTES;

    /// Pieces of a row of B's tile.
    const ROW_PIECES: usize = BLOCK / Self::PIECE;

    /// What is added, by exclusive or, to the number of a piece in a row of B's tile.
    fn swizzle(row: usize) -> usize;

    /// The fragments of B for a product and the one to its right.
    ///
    /// # Safety
    /// The tile is complete. The whole warp is here.
    unsafe fn load_b(tile: SharedAddress, row: usize, column: usize) -> [[u32; 2]; 2];

    /// The place of an element in B's tile.
    #[inline(always)]
    fn place_in_b(row: usize, column: usize) -> u32 {
        let piece = (column / Self::PIECE) ^ Self::swizzle(row);
        let within = column % Self::PIECE * Self::BYTES;
        (row * BLOCK * Self::BYTES + piece * PIECE + within) as u32
    }
}

macro_rules! elements_of_16_bits {
    ($($ty:ty),*) => {
        $(
            impl Element for $ty {
                type Stored = u16;

                #[inline(always)]
                fn swizzle(row: usize) -> usize {
                    row % 8
                }

                #[inline(always)]
                unsafe fn load_b(tile: SharedAddress, row: usize, column: usize) -> [[u32; 2]; 2] {
                    let lane = warp::lane_id() as usize;
                    // Two matrices one below the other, then two to their right.
                    let place = Self::place_in_b(row + lane % 16, column + lane / 16 * COLUMNS);
                    // SAFETY: the caller ensures the tile and the warp.
                    let [a, b, c, d] = unsafe { matrix::load_4_transposed(tile.at(place)) };
                    [[a, b], [c, d]]
                }
            }
        )*
    };
}

elements_of_16_bits!(F16, Bf16);

impl Element for Tf32 {
    type Stored = f32;

    #[inline(always)]
    fn swizzle(row: usize) -> usize {
        // Lanes read 8 elements, two pieces, from each of 4 rows.
        2 * (row % 4)
    }

    #[inline(always)]
    unsafe fn load_b(tile: SharedAddress, row: usize, column: usize) -> [[u32; 2]; 2] {
        let lane = warp::lane_id() as usize;
        let (group, place) = (lane / 4, lane % 4);
        let element = |i: usize, j: usize| {
            let place = Self::place_in_b(row + place + 4 * i, column + group + COLUMNS * j);
            // SAFETY: the caller ensures the tile.
            unsafe { matrix::load_word(tile.at(place)) }
        };
        [
            [element(0, 0), element(1, 0)],
            [element(0, 1), element(1, 1)],
        ]
    }
}

/// A product of matrices as one block sees it.
struct Job<E: Element> {
    a: *const E::Stored,
    b: *const E::Stored,
    m: usize,
    n: usize,
    k: usize,
    /// First row and column of the block in C.
    top: usize,
    left: usize,
    input: PhantomData<E>,
}

impl<E: Element> Job<E> {
    /// Starts to copy this thread's pieces of the tiles that begin at `start` along k.
    ///
    /// # Safety
    /// Nobody uses the stage any more.
    #[inline(always)]
    unsafe fn fetch(&self, stage: SharedAddress, start: usize) {
        let t = thread::thread_idx_x() as usize;
        let pieces = DEPTH_BYTES / PIECE;
        for i in 0..PIECES {
            let (row, piece) = (t / pieces + i * (THREADS / pieces), t % pieces);
            let (y, x) = (self.top + row, start + piece * E::PIECE);
            let from = self.a.wrapping_add(y * self.k + x);
            // SAFETY: a piece inside of A's rows is inside of A; others are not read.
            unsafe {
                let to = stage.at(place_in_a(row, piece));
                async_copy::copy_16_or_zero(to, from, y < self.m && x < self.k);
            }
        }
        for i in 0..PIECES {
            let (row, piece) = (
                t / E::ROW_PIECES + i * (THREADS / E::ROW_PIECES),
                t % E::ROW_PIECES,
            );
            let (y, x) = (start + row, self.left + piece * E::PIECE);
            let from = self.b.wrapping_add(y * self.n + x);
            // SAFETY: as above.
            unsafe {
                let to = stage.at(TILE_BYTES as u32 + E::place_in_b(row, piece * E::PIECE));
                async_copy::copy_16_or_zero(to, from, y < self.k && x < self.n);
            }
        }
    }
}

// ANCHOR: place_in_a
/// The place of a piece in A's tile. Two rows fill all banks once, so the row's second bit and up are added.
#[inline(always)]
fn place_in_a(row: usize, piece: usize) -> u32 {
    (row * DEPTH_BYTES + (piece ^ (row / 2 % 4)) * PIECE) as u32
}
// ANCHOR_END: place_in_a

/// The sums of a warp: 4 × 8 products.
type Sums = [[[f32; 4]; ACROSS]; DOWN];

// ANCHOR: multiply_add
/// Adds the product of a stage's tiles to a warp's sums.
///
/// # Safety
/// The stage is complete. The whole warp is here.
#[inline(always)]
unsafe fn multiply_add<E: Element>(sums: &mut Sums, stage: SharedAddress, top: usize, left: usize) {
    let lane = warp::lane_id() as usize;
    for step in 0..DEPTH_BYTES / STEP_BYTES {
        let mut a = [[0; 4]; DOWN];
        let mut b = [[0; 2]; ACROSS];
        // SAFETY: the caller ensures the stage and the warp.
        unsafe {
            for i in 0..DOWN {
                let place = place_in_a(top + i * ROWS + lane % 16, 2 * step + lane / 16);
                a[i] = matrix::load_4(stage.at(place));
            }
            let tile = stage.at(TILE_BYTES as u32);
            for j in 0..ACROSS / 2 {
                let row = step * (STEP_BYTES / E::BYTES);
                let pair = E::load_b(tile, row, left + 2 * j * COLUMNS);
                b[2 * j] = pair[0];
                b[2 * j + 1] = pair[1];
            }
            for i in 0..DOWN {
                for j in 0..ACROSS {
                    E::mma(&mut sums[i][j], &a[i], b[j]);
                }
            }
        }
    }
}
// ANCHOR_END: multiply_add

// ANCHOR: body
#[inline(always)]
unsafe fn body<E: Element>(
    a: &[E::Stored],
    b: &[E::Stored],
    c: *mut f32,
    m: usize,
    n: usize,
    k: usize,
) {
    let stages = SharedAddress::of(shared_array![u8; STAGES * STAGE_BYTES]);
    let job = Job::<E> {
        a: a.as_ptr(),
        b: b.as_ptr(),
        m,
        n,
        k,
        top: thread::block_idx_y() as usize * BLOCK,
        left: thread::block_idx_x() as usize * BLOCK,
        input: PhantomData,
    };
    let warp_index = thread::thread_idx_x() as usize / 32;
    let (top, left) = (warp_index / 2 * WARP, warp_index % 2 * WARP);
    let mut sums: Sums = [[[0.0; 4]; ACROSS]; DOWN];

    let steps = k.div_ceil(E::DEPTH);
    // SAFETY: a stage is filled again only after a barrier that comes after its last use, and used only after its copies
    // were waited for by the threads that made them, and a barrier.
    unsafe {
        for step in 0..STAGES - 1 {
            if step < steps {
                job.fetch(stages.at((step * STAGE_BYTES) as u32), step * E::DEPTH);
            }
            async_copy::commit_group();
        }
        let (mut filled, mut used) = ((STAGES - 1) * STAGE_BYTES, 0);
        for step in 0..steps {
            async_copy::wait_group::<{ STAGES as u32 - 2 }>();
            thread::sync_threads();
            let next = step + STAGES - 1;
            if next < steps {
                job.fetch(stages.at(filled as u32), next * E::DEPTH);
            }
            // Also where nothing was fetched: the wait counts groups.
            async_copy::commit_group();
            filled = after(filled);
            multiply_add::<E>(&mut sums, stages.at(used as u32), top, left);
            used = after(used);
        }
        store(&sums, c, &job, top, left);
    }
}
// ANCHOR_END: body

/// The stage after this one, in bytes from the first.
#[inline(always)]
fn after(stage: usize) -> usize {
    match stage + STAGE_BYTES {
        end if end == STAGES * STAGE_BYTES => 0,
        next => next,
    }
}

/// Stores a warp's sums to C.
///
/// # Safety
/// C has m rows of n elements, n an even number.
#[inline(always)]
unsafe fn store<E: Element>(sums: &Sums, c: *mut f32, job: &Job<E>, top: usize, left: usize) {
    let lane = warp::lane_id() as usize;
    let (group, place) = (lane / 4, lane % 4);
    for i in 0..DOWN {
        for half in 0..2 {
            let y = job.top + top + i * ROWS + 8 * half + group;
            for j in 0..ACROSS {
                let x = job.left + left + j * COLUMNS + 2 * place;
                if y < job.m && x < job.n {
                    let pair = [sums[i][j][2 * half], sums[i][j][2 * half + 1]];
                    // SAFETY: inside of C, and at an even element.
                    unsafe { F32x2::store(c.add(y * job.n + x), pair) };
                }
            }
        }
    }
}

macro_rules! kernels {
    ($($(#[$doc:meta])* $name:ident, $stored:ty, $element:ty;)*) => {
        $(
            $(#[$doc])*
            ///
            /// # Safety
            /// `a`, `b` and `c` are row-major device arrays of m × k, k × n and m × n elements that start at multiples of 16
            /// bytes, `c` apart from the others; the rows of `a` and `b` are multiples of 16 bytes; the grid and block are
            /// those of `GEOMETRY`.
            #[cuda_std::kernel(max_threads = 128, min_blocks = 2)]
            pub unsafe fn $name(a: &[$stored], b: &[$stored], c: *mut f32, m: u32, n: u32, k: u32) {
                // SAFETY: passed on to the caller.
                unsafe { body::<$element>(a, b, c, m as usize, n as usize, k as usize) }
            }
        )*
    };
}

kernels! {
    /// Inputs are IEEE binary16, given as their bits.
    mma_f16, u16, F16;
    /// Inputs are bfloat16, given as their bits.
    mma_bf16, u16, Bf16;
    /// Inputs are f32, of which the upper 19 bits are used.
    mma_tf32, f32, Tf32;
}
