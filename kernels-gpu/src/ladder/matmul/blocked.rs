//! What the register-blocked rungs share: the copies of a thread, and its 8 × 8 accumulators.
//!
//! A block of 256 threads computes 128 × 128 elements of C, 8 along k at a time.

use crate::geometry::Geometry;
use cuda_std::prelude::*;
use cuda_std::vector::{F32x4, Vector};

/// The block tile: 128 × 128 elements of C, 8 along k.
pub const BM: usize = 128;
/// See [`BM`].
pub const BN: usize = 128;
/// See [`BM`].
pub const BK: usize = 8;

/// Distance of two k-rows of A's tile, which is stored transposed: 132 words, a multiple of 4 for
/// vector loads.
const PITCH_A: usize = BM + 4;

/// Words of A's tile: 8 × 132 = 1,056.
pub const TILE_A: usize = BK * PITCH_A;

/// Words of B's tile: 8 × 128 = 1,024.
pub const TILE_B: usize = BK * BN;

/// The thread tile: 8 × 8 elements of C, in four quarters of 4 × 4 that are half a block tile
/// apart.
const TM: usize = 8;
const TN: usize = 8;
const HALF: usize = 4;

/// Threads of a block: 16 × 16 = 256.
pub const THREADS: usize = (BM / TM) * (BN / TN);

const _: () = assert!(THREADS == 256);
const _: () = assert!(TM == 2 * HALF && TN == 2 * HALF);
// One vector of each tile per thread.
const _: () = assert!(THREADS * 4 == BM * BK && THREADS * 4 == BN * BK);
// Rows of both tiles start at multiples of 16 bytes.
const _: () = assert!(PITCH_A.is_multiple_of(4) && BN.is_multiple_of(4));

/// 256 threads for 128 × 128 elements of C.
pub const GEOMETRY: Geometry = Geometry::tiles([THREADS, 1], [BN, BM]);

/// The offsets of a thread.
pub struct Position {
    /// First row and column of the block tile in C.
    top: usize,
    left: usize,
    /// Row of A's tile and first of the 4 elements along k that this thread loads.
    a_row: usize,
    a_k: usize,
    /// k-row of B's tile and first of the 4 columns that this thread loads.
    b_k: usize,
    b_col: usize,
    /// First row and column of the thread tile in each half of the block tile.
    row: usize,
    col: usize,
}

impl Position {
    // ANCHOR: position
    /// The position of this thread.
    #[inline(always)]
    pub fn of_this_thread() -> Self {
        let t = thread::thread_idx_x() as usize;
        Position {
            top: thread::block_idx_y() as usize * BM,
            left: thread::block_idx_x() as usize * BN,
            a_row: t / (BK / 4),
            a_k: t % (BK / 4) * 4,
            b_k: t / (BN / 4),
            b_col: t % (BN / 4) * 4,
            row: t / (BN / TN) * HALF,
            col: t % (BN / TN) * HALF,
        }
    }
    // ANCHOR_END: position
}

/// What one thread copies from global to shared memory: 4 elements of each tile.
pub struct Fragment {
    a: [f32; 4],
    b: [f32; 4],
}

impl Fragment {
    /// Loads this thread's vectors of the tiles that start at `start` along k.
    ///
    /// # Safety
    /// The tiles lie inside of A and B, whose rows of `k` and `n` elements start at multiples of 16
    /// bytes.
    #[inline(always)]
    pub unsafe fn load(
        a: &[f32],
        b: &[f32],
        at: &Position,
        start: usize,
        n: usize,
        k: usize,
    ) -> Self {
        // SAFETY: the contract says that the tiles are inside of A and B, and rows are aligned.
        unsafe {
            Fragment {
                a: F32x4::load(a.as_ptr().add((at.top + at.a_row) * k + start + at.a_k)),
                b: F32x4::load(b.as_ptr().add((start + at.b_k) * n + at.left + at.b_col)),
            }
        }
    }

    // ANCHOR: store
    /// Stores the vectors, that of A transposed.
    ///
    /// # Safety
    /// The tiles have `TILE_A` and `TILE_B` words and are 16-byte aligned.
    #[inline(always)]
    pub unsafe fn store(&self, tile_a: *mut f32, tile_b: *mut f32, at: &Position) {
        // SAFETY: the positions are below the sizes of the tiles, by the assertions above.
        unsafe {
            for i in 0..4 {
                *tile_a.add((at.a_k + i) * PITCH_A + at.a_row) = self.a[i];
            }
            F32x4::store(tile_b.add(at.b_k * BN + at.b_col), self.b);
        }
    }
    // ANCHOR_END: store
}

/// The 8 × 8 accumulators of a thread.
pub struct Accumulators([[f32; TN]; TM]);

impl Accumulators {
    /// All 0.
    #[inline(always)]
    pub fn zero() -> Self {
        Accumulators([[0.0; TN]; TM])
    }

    // ANCHOR: multiply_add
    /// Adds the product of one k-tile.
    ///
    /// # Safety
    /// The tiles are complete and 16-byte aligned.
    #[inline(always)]
    pub unsafe fn multiply_add(&mut self, tile_a: *const f32, tile_b: *const f32, at: &Position) {
        for i in 0..BK {
            // SAFETY: rows i < BK and the columns of this thread are inside of the tiles.
            let (left, right) = unsafe {
                (
                    halves(tile_a.add(i * PITCH_A + at.row)),
                    halves(tile_b.add(i * BN + at.col)),
                )
            };
            for r in 0..TM {
                for s in 0..TN {
                    self.0[r][s] = left[r].mul_add(right[s], self.0[r][s]);
                }
            }
        }
    }
    // ANCHOR_END: multiply_add

    /// Stores the accumulators to C, whose rows have `n` elements.
    ///
    /// # Safety
    /// The block lies inside of C, whose rows start at multiples of 16 bytes.
    #[inline(always)]
    pub unsafe fn store(&self, c: *mut f32, at: &Position, n: usize) {
        for r in 0..TM {
            let y = at.top + r / HALF * (BM / 2) + at.row + r % HALF;
            let [s0, s1, s2, s3, s4, s5, s6, s7] = self.0[r];
            // SAFETY: the contract says that the block tile is inside of C and rows are aligned. No
            // other thread owns these elements.
            unsafe {
                let first = c.add(y * n + at.left + at.col);
                F32x4::store(first, [s0, s1, s2, s3]);
                F32x4::store(first.add(BN / 2), [s4, s5, s6, s7]);
            }
        }
    }
}

// ANCHOR: halves
/// 4 elements from `from` and 4 from half a block tile further.
///
/// # Safety
/// Both are inside of a tile and 16-byte aligned.
#[inline(always)]
unsafe fn halves(from: *const f32) -> [f32; 2 * HALF] {
    // SAFETY: the contract says that both vectors are inside of a tile and aligned.
    let ([a, b, c, d], [e, f, g, h]) =
        unsafe { (F32x4::load(from), F32x4::load(from.add(BN / 2))) };
    [a, b, c, d, e, f, g, h]
}
// ANCHOR_END: halves
