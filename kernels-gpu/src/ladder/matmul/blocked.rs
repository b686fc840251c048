//! The parts of the register-blocked rungs: who loads what, and an 8 × 8 block of sums.
//!
//! A block of 256 threads computes 128 × 128 elements of C, 8 along k at a time.

use crate::geometry::Geometry;
use cuda_std::prelude::*;
use cuda_std::vector::{F32x4, Vector};

/// Rows and columns of C that a block owns.
pub const BLOCK: usize = 128;

/// Extent of the tiles along k.
pub const DEPTH: usize = 8;

/// Distance of two k-rows of A's tile, which is stored transposed: 132 words, a multiple of 4 for vector loads.
const PITCH_A: usize = BLOCK + 4;

/// Words of A's tile: 8 × 132 = 1,056.
pub const TILE_A: usize = DEPTH * PITCH_A;

/// Words of B's tile: 8 × 128 = 1,024.
pub const TILE_B: usize = DEPTH * BLOCK;

/// Elements that a thread owns in each direction, in two halves.
const OWNED: usize = 8;
const HALF: usize = OWNED / 2;

/// Threads of a block.
pub const THREADS: usize = (BLOCK / OWNED) * (BLOCK / OWNED);

const _: () = assert!(THREADS == 256);
// One vector of each tile per thread.
const _: () = assert!(THREADS * 4 == BLOCK * DEPTH);

/// 256 threads for 128 × 128 elements of C.
pub const GEOMETRY: Geometry = Geometry::tiles([THREADS, 1], [BLOCK, BLOCK]);

/// Where a thread works.
pub struct Position {
    /// First row and column of the block in C.
    top: usize,
    left: usize,
    /// Row of A's tile and first of the 4 elements along k that this thread loads.
    a_row: usize,
    a_k: usize,
    /// k-row of B's tile and first of the 4 columns that this thread loads.
    b_k: usize,
    b_col: usize,
    /// First row and column that this thread owns in each half of the block.
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
            top: thread::block_idx_y() as usize * BLOCK,
            left: thread::block_idx_x() as usize * BLOCK,
            a_row: t / (DEPTH / 4),
            a_k: t % (DEPTH / 4) * 4,
            b_k: t / (BLOCK / 4),
            b_col: t % (BLOCK / 4) * 4,
            row: t / (BLOCK / OWNED) * HALF,
            col: t % (BLOCK / OWNED) * HALF,
        }
    }
    // ANCHOR_END: position
}

/// What one thread carries from global to shared memory: 4 elements of each tile.
pub struct Fragment {
    a: [f32; 4],
    b: [f32; 4],
}

impl Fragment {
    /// Loads this thread's part of the tiles that start at `start` along k.
    ///
    /// # Safety
    /// The tiles lie inside of A and B, whose rows of `k` and `n` elements start at multiples of 16 bytes.
    #[inline(always)]
    pub unsafe fn load(
        a: &[f32],
        b: &[f32],
        at: &Position,
        start: usize,
        n: usize,
        k: usize,
    ) -> Self {
        // SAFETY: the caller ensures bounds and alignment.
        unsafe {
            Fragment {
                a: F32x4::load(a.as_ptr().add((at.top + at.a_row) * k + start + at.a_k)),
                b: F32x4::load(b.as_ptr().add((start + at.b_k) * n + at.left + at.b_col)),
            }
        }
    }

    // ANCHOR: store
    /// Stores the part: A's transposed.
    ///
    /// # Safety
    /// The tiles have `TILE_A` and `TILE_B` words and are 16-byte aligned.
    #[inline(always)]
    pub unsafe fn store(&self, tile_a: *mut f32, tile_b: *mut f32, at: &Position) {
        // SAFETY: the caller ensures the sizes.
        unsafe {
            for i in 0..4 {
                *tile_a.add((at.a_k + i) * PITCH_A + at.a_row) = self.a[i];
            }
            F32x4::store(tile_b.add(at.b_k * BLOCK + at.b_col), self.b);
        }
    }
    // ANCHOR_END: store
}

/// The 8 × 8 sums of a thread.
pub struct Accumulators([[f32; OWNED]; OWNED]);

impl Accumulators {
    /// All 0.
    #[inline(always)]
    pub fn zero() -> Self {
        Accumulators([[0.0; OWNED]; OWNED])
    }

    // ANCHOR: multiply_add
    /// Adds the product of the tiles.
    ///
    /// # Safety
    /// The tiles are complete and 16-byte aligned.
    #[inline(always)]
    pub unsafe fn multiply_add(&mut self, tile_a: *const f32, tile_b: *const f32, at: &Position) {
        for i in 0..DEPTH {
            // SAFETY: the caller ensures the tiles; positions are inside of them.
            let (left, right) = unsafe {
                (
                    halves(tile_a.add(i * PITCH_A + at.row)),
                    halves(tile_b.add(i * BLOCK + at.col)),
                )
            };
            for r in 0..OWNED {
                for s in 0..OWNED {
                    self.0[r][s] = left[r].mul_add(right[s], self.0[r][s]);
                }
            }
        }
    }
    // ANCHOR_END: multiply_add

    /// Stores the sums to C, whose rows have `n` elements.
    ///
    /// # Safety
    /// The block lies inside of C, whose rows start at multiples of 16 bytes.
    #[inline(always)]
    pub unsafe fn store(&self, c: *mut f32, at: &Position, n: usize) {
        for r in 0..OWNED {
            let y = at.top + r / HALF * (BLOCK / 2) + at.row + r % HALF;
            let [s0, s1, s2, s3, s4, s5, s6, s7] = self.0[r];
            // SAFETY: the caller ensures bounds and alignment; no other thread owns these elements.
            unsafe {
                let first = c.add(y * n + at.left + at.col);
                F32x4::store(first, [s0, s1, s2, s3]);
                F32x4::store(first.add(BLOCK / 2), [s4, s5, s6, s7]);
            }
        }
    }
}

// ANCHOR: halves
/// 4 elements from `from` and 4 from half a block further.
///
/// # Safety
/// Both are inside of a tile and 16-byte aligned.
#[inline(always)]
unsafe fn halves(from: *const f32) -> [f32; OWNED] {
    // SAFETY: the caller ensures it.
    let ([a, b, c, d], [e, f, g, h]) =
        unsafe { (F32x4::load(from), F32x4::load(from.add(BLOCK / 2))) };
    [a, b, c, d, e, f, g, h]
}
// ANCHOR_END: halves
