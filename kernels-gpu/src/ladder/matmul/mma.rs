//! `mma_f16`, `mma_bf16`, `mma_tf32`: tensor cores, fed by asynchronous copies through three
//! stages.
//!
//! # Idea
//! A warp multiplies fragments of 16 × 16 and 16 × 8 elements in one instruction, 4,096 FLOP that
//! cost as many issue slots as 64 of `double_buffered`. Now the tiles have to arrive fast enough.
//! `cp.async` brings them to shared memory while two earlier stages are used, without passing
//! through registers, and `ldmatrix` hands out four 8 × 8 matrices at a time.
//!
//! Both tiles lie in shared memory as they lie in global memory, in vectors of 16 bytes. The number
//! of a vector in its row is XORed with the row number (a *swizzle*), so that neither the copies
//! nor the fragments have bank conflicts.
//!
//! # Thread mapping
//! A block of four warps computes 128 × 128 elements of C. Warp w owns the 64 × 64 of row w / 2 and
//! column w mod 2: 4 × 8 MMAs of 16 × 8, 128 accumulators for each lane. A stage holds 64 bytes
//! along k: 32 elements of 16 bits, or 16 of TF32.
//!
//! # Preconditions
//! Rows start at multiples of 16 bytes: k and n are multiples of 8 elements of 16 bits, or of 4 of
//! TF32. m is any number. What lies outside of the matrices is copied as zeros.
//!
//! # What changed since the rung before
//! Against `double_buffered`: another unit does the arithmetic, the inputs have 10 or 7 bits of
//! fraction, accumulators and C are f32. B keeps its rows along n. For 16-bit elements `ldmatrix`
//! transposes its fragments; TF32 elements are too wide for that, and lanes read them one by one.
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

/// The block tile: 128 × 128 elements of C, 64 bytes along k.
const BM: usize = 128;
const BN: usize = 128;
const BK_BYTES: usize = 64;

/// The warp tile: 64 × 64 elements of C.
const WM: usize = 64;
const WN: usize = 64;

/// Threads of a block: four warps, 128.
const THREADS: usize = 32 * (BM / WM) * (BN / WN);

/// Bytes of a vector, the unit of copies and of fragments.
const VECTOR_BYTES: usize = 16;

/// Stages: one is used, the others are in flight.
const STAGES: usize = 3;

/// Bytes of a tile of A or of B, 8,192, and of both.
const TILE_BYTES: usize = BM * BK_BYTES;
const STAGE_BYTES: usize = 2 * TILE_BYTES;

/// Rows and columns of one MMA, and its k-block in bytes.
const MMA_M: usize = 16;
const MMA_N: usize = 8;
const MMA_K_BYTES: usize = 32;

/// MMAs of a warp tile in each direction: 4 and 8.
const MMAS_M: usize = WM / MMA_M;
const MMAS_N: usize = WN / MMA_N;

/// Vectors of each tile that a thread copies: 4.
const VECTORS: usize = TILE_BYTES / VECTOR_BYTES / THREADS;

// Tiles of A and B have the same size, and each thread copies the same number of vectors of both.
const _: () = assert!(BM == BN && TILE_BYTES.is_multiple_of(VECTOR_BYTES * THREADS));
// The warp tile is whole MMAs, of which B's fragments are loaded for two at a time.
const _: () = assert!(WM.is_multiple_of(MMA_M) && WN.is_multiple_of(2 * MMA_N));
const _: () = assert!(BK_BYTES.is_multiple_of(MMA_K_BYTES));

/// 128 threads for 128 × 128 elements of C; 48 KiB of shared memory.
pub const GEOMETRY: Geometry = Geometry::tiles([THREADS, 1], [BN, BM]);

/// An element type of A and B: how B's fragments come from its tile.
trait Element: Input {
    /// What the arrays in memory hold.
    type Stored: Copy;

    /// Elements of a vector.
    const VECTOR: usize = VECTOR_BYTES / Self::BYTES;

    /// Elements along k of a stage.
    const BK: usize = BK_BYTES / Self::BYTES;

    /// Vectors of a row of B's tile.
    const ROW_VECTORS: usize = BN / Self::VECTOR;

    /// What the number of a vector in a row of B's tile is XORed with.
    fn swizzle(row: usize) -> usize;

    /// The fragments of B for an MMA and the one to its right.
    ///
    /// # Safety
    /// The tile is complete. The whole warp is here.
    unsafe fn load_b(tile: SharedAddress, row: usize, column: usize) -> [[u32; 2]; 2];

    /// The offset of an element in B's tile, in bytes.
    #[inline(always)]
    fn offset_in_b(row: usize, column: usize) -> u32 {
        let vector = (column / Self::VECTOR) ^ Self::swizzle(row);
        let within = column % Self::VECTOR * Self::BYTES;
        (row * BN * Self::BYTES + vector * VECTOR_BYTES + within) as u32
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
                    let offset = Self::offset_in_b(row + lane % 16, column + lane / 16 * MMA_N);
                    // SAFETY: the contract says that the tile is complete and the whole warp loads.
                    let [a, b, c, d] = unsafe { matrix::load_4_transposed(tile.at(offset)) };
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
        // Lanes read 8 elements, two vectors, from each of 4 rows.
        2 * (row % 4)
    }

    #[inline(always)]
    unsafe fn load_b(tile: SharedAddress, row: usize, column: usize) -> [[u32; 2]; 2] {
        let lane = warp::lane_id() as usize;
        let (group, t) = (lane / 4, lane % 4);
        let element = |i: usize, j: usize| {
            let offset = Self::offset_in_b(row + t + 4 * i, column + group + MMA_N * j);
            // SAFETY: the contract says that the tile is complete.
            unsafe { matrix::load_word(tile.at(offset)) }
        };
        [
            [element(0, 0), element(1, 0)],
            [element(0, 1), element(1, 1)],
        ]
    }
}

/// The kernel's parameters, and the block tile.
struct Params<E: Element> {
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

impl<E: Element> Params<E> {
    /// Starts the copies of this thread's vectors of the tiles that begin at `start` along k.
    ///
    /// # Safety
    /// All threads have read the stage.
    #[inline(always)]
    unsafe fn start_copies(&self, stage: SharedAddress, start: usize) {
        let t = thread::thread_idx_x() as usize;
        let row_vectors = BK_BYTES / VECTOR_BYTES;
        for i in 0..VECTORS {
            let (row, vector) = (
                t / row_vectors + i * (THREADS / row_vectors),
                t % row_vectors,
            );
            let (y, x) = (self.top + row, start + vector * E::VECTOR);
            let from = self.a.wrapping_add(y * self.k + x);
            // SAFETY: a vector inside of A's rows is inside of A; others are not read.
            unsafe {
                let to = stage.at(offset_in_a(row, vector));
                async_copy::copy_16_or_zero(to, from, y < self.m && x < self.k);
            }
        }
        for i in 0..VECTORS {
            let (row, vector) = (
                t / E::ROW_VECTORS + i * (THREADS / E::ROW_VECTORS),
                t % E::ROW_VECTORS,
            );
            let (y, x) = (start + row, self.left + vector * E::VECTOR);
            let from = self.b.wrapping_add(y * self.n + x);
            // SAFETY: a vector inside of B's rows is inside of B; others are not read.
            unsafe {
                let to = stage.at(TILE_BYTES as u32 + E::offset_in_b(row, vector * E::VECTOR));
                async_copy::copy_16_or_zero(to, from, y < self.k && x < self.n);
            }
        }
    }
}

// ANCHOR: offset_in_a
/// The offset of a vector in A's tile, in bytes. Two rows fill all banks once, so the row's second
/// bit and up are added.
#[inline(always)]
fn offset_in_a(row: usize, vector: usize) -> u32 {
    (row * BK_BYTES + (vector ^ (row / 2 % 4)) * VECTOR_BYTES) as u32
}
// ANCHOR_END: offset_in_a

/// The accumulators of a lane for the warp tile: 4 × 8 MMAs, 4 each.
type Accumulators = [[[f32; 4]; MMAS_N]; MMAS_M];

// ANCHOR: mma_k_tile
/// Adds the product of a stage's k-tile to a warp's accumulators.
///
/// # Safety
/// The stage is complete. The whole warp is here.
#[inline(always)]
unsafe fn mma_k_tile<E: Element>(
    accumulators: &mut Accumulators,
    stage: SharedAddress,
    top: usize,
    left: usize,
) {
    let lane = warp::lane_id() as usize;
    for k_block in 0..BK_BYTES / MMA_K_BYTES {
        let mut a = [[0; 4]; MMAS_M];
        let mut b = [[0; 2]; MMAS_N];
        // SAFETY: the contract says that the stage is complete and the whole warp is here; offsets
        // are inside of it.
        unsafe {
            for i in 0..MMAS_M {
                let offset = offset_in_a(top + i * MMA_M + lane % 16, 2 * k_block + lane / 16);
                a[i] = matrix::load_4(stage.at(offset));
            }
            let tile = stage.at(TILE_BYTES as u32);
            for j in 0..MMAS_N / 2 {
                let row = k_block * (MMA_K_BYTES / E::BYTES);
                let pair = E::load_b(tile, row, left + 2 * j * MMA_N);
                b[2 * j] = pair[0];
                b[2 * j + 1] = pair[1];
            }
            for i in 0..MMAS_M {
                for j in 0..MMAS_N {
                    E::mma(&mut accumulators[i][j], &a[i], b[j]);
                }
            }
        }
    }
}
// ANCHOR_END: mma_k_tile

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
    let params = Params::<E> {
        a: a.as_ptr(),
        b: b.as_ptr(),
        m,
        n,
        k,
        top: thread::block_idx_y() as usize * BM,
        left: thread::block_idx_x() as usize * BN,
        input: PhantomData,
    };
    let warp_index = thread::thread_idx_x() as usize / 32;
    let (top, left) = (warp_index / 2 * WM, warp_index % 2 * WN);
    let mut accumulators: Accumulators = [[[0.0; 4]; MMAS_N]; MMAS_M];

    let k_tiles = k.div_ceil(E::BK);
    // SAFETY: a stage is filled again only after a barrier that comes after its last use, and used
    // only after its copies were waited for by the threads that made them, and a barrier.
    unsafe {
        for k_tile in 0..STAGES - 1 {
            if k_tile < k_tiles {
                params.start_copies(stages.at((k_tile * STAGE_BYTES) as u32), k_tile * E::BK);
            }
            async_copy::commit_group();
        }
        let (mut write, mut read) = ((STAGES - 1) * STAGE_BYTES, 0);
        for k_tile in 0..k_tiles {
            async_copy::wait_group::<{ STAGES as u32 - 2 }>();
            thread::sync_threads();
            let next = k_tile + STAGES - 1;
            if next < k_tiles {
                params.start_copies(stages.at(write as u32), next * E::BK);
            }
            // Also where nothing was copied: the wait counts groups.
            async_copy::commit_group();
            write = after(write);
            mma_k_tile::<E>(&mut accumulators, stages.at(read as u32), top, left);
            read = after(read);
        }
        store(&accumulators, c, &params, top, left);
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

/// The epilogue: stores a warp's accumulators to C.
///
/// # Safety
/// C has m rows of n elements, n an even number.
#[inline(always)]
unsafe fn store<E: Element>(
    accumulators: &Accumulators,
    c: *mut f32,
    params: &Params<E>,
    top: usize,
    left: usize,
) {
    let lane = warp::lane_id() as usize;
    let (group, t) = (lane / 4, lane % 4);
    for i in 0..MMAS_M {
        for half in 0..2 {
            let y = params.top + top + i * MMA_M + 8 * half + group;
            for j in 0..MMAS_N {
                let x = params.left + left + j * MMA_N + 2 * t;
                if y < params.m && x < params.n {
                    let pair = [
                        accumulators[i][j][2 * half],
                        accumulators[i][j][2 * half + 1],
                    ];
                    // SAFETY: inside of C, and at an even element.
                    unsafe { F32x2::store(c.add(y * params.n + x), pair) };
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
            /// `a`, `b` and `c` are row-major device arrays of m × k, k × n and m × n elements that
            /// start at multiples of 16 bytes, `c` apart from the others; the rows of `a` and `b`
            /// are multiples of 16 bytes; the grid and block are those of `GEOMETRY`.
            #[cuda_std::kernel(max_threads = 128, min_blocks = 2)]
            pub unsafe fn $name(a: &[$stored], b: &[$stored], c: *mut f32, m: u32, n: u32, k: u32) {
                // SAFETY: the body's contract is this kernel's.
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
