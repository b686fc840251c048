//! `gemm_f32_split_…`: GEMMs of f32 on tensor cores with the accuracy of f32, from compute
//! capability 8.0 on.
//!
//! # Idea
//! An f32 is the sum of three numbers of bfloat16, x = x₁ + x₂ + x₃, of 8 bits each: exactly,
//! unless x₃ falls below the least bfloat16. Of the nine products of two such sums six are
//! computed, each of which is exact:
//!
//! a b ≈ a₁b₁ + (a₁b₂ + a₂b₁) + (a₂b₂ + a₁b₃ + a₃b₁)
//!
//! The others are at most 2⁻²⁴ times the product. Tensor cores cut sums off instead of rounding
//! them to the nearest, which a long sum would show. So sums of 16 products along k begin at zero:
//! one of a₁b₁, whose products have 16 bits each, and one of the others, the least first. Both are
//! added to the accumulators by instructions that round.
//!
//! Operands lie in shared memory as f32, and a lane splits its fragments.
//!
//! # Range
//! Three terms are exact for zero and for magnitudes from 2⁻¹¹⁰ up to the largest bfloat16. A
//! smaller element makes its block compute its tile, or its split of k, by fused multiply-adds, and
//! so does an accumulator that is infinite or NaN, which all larger elements, infinities and NaN
//! lead to. The host learns nothing of it and waits for nothing.
//!
//! # Thread mapping
//! A block tile of 128 × 128 has eight warps of 32 × 64, one of 64 × 64 has four of 32 × 32. A
//! lane's four elements of a row of A, or of a column of B, in 16 along k are neighbours: the sum
//! does not depend on which k an MMA takes them for.
//!
//! # Preconditions
//! As for [`gemm`](super::gemm).
//!
//! # What changed since the rung before
//! Against `gemm_bf16`: three terms for each operand, six MMAs for one, promoted accumulators.
//!
//! # Source
//! Henry, Tang and Heinecke, "Leveraging the bfloat16 Artificial Intelligence Datatype For
//! Higher-Precision Computations", ARITH 2019. Promotion: Ootomo and Yokota, "Recovering Single
//! Precision Accuracy from Tensor Cores While Surpassing the FP32 Theoretical Peak Performance",
//! IJHPCA 36 (2022).

use super::loader::Panel;
use super::multistage::{Accumulators, WarpTile, for_each_k_tile};
use super::operand::{self, MMA_M, MMA_N, TileElement};
use super::unaligned::{TilePair, TileReader};
use crate::gemm::copy::layout;
use core::sync::atomic::Ordering::Relaxed;
use cuda_std::atomic::{self, AtomicU32};
use cuda_std::float16::{PackX2, bf16};
use cuda_std::hint::{opaque, rolled};
use cuda_std::mma::{Bf16, Input};
use cuda_std::prelude::*;

/// An f32 that is multiplied as three bfloat16.
#[derive(Clone, Copy, Debug)]
pub struct SplitF32;

impl TileElement for SplitF32 {
    type Stored = f32;

    const NEIGHBOURS: usize = 4;

    /// Lanes read 8 elements, two vectors, of each of 4 rows that are 4 apart.
    #[inline(always)]
    fn swizzle(k: usize) -> usize {
        2 * (k / 4 % 4)
    }
}

/// Terms of an element.
pub const TERMS: usize = 3;

/// The terms of A and of B whose products are computed, besides the first of both: the least first.
pub const SMALL_PRODUCTS: [[usize; 2]; 5] = [[2, 0], [0, 2], [1, 1], [1, 0], [0, 1]];

/// The least magnitude whose three terms are exact, 2⁻¹¹⁰, as bits of f32: the last bit of its
/// fraction is that of the least bfloat16, 2⁻¹³³.
const LEAST: u32 = (127 - 110) << 23;

/// Four elements that are neighbours along k, as two registers for each term.
pub type Terms = [[u32; 2]; TERMS];

/// Splits four neighbours. `least` becomes the least of their magnitudes that are not zero, as bits
/// less 1.
#[inline(always)]
pub fn split(elements: [u32; 4], least: &mut u32) -> Terms {
    let mut terms = [[0; 2]; TERMS];
    for e in 0..4 {
        // Zero becomes the largest number.
        *least = (*least).min((elements[e] & 0x7fff_ffff).wrapping_sub(1));
    }
    for pair in 0..2 {
        let mut left = f32::from_bits(elements[2 * pair]);
        let mut right = f32::from_bits(elements[2 * pair + 1]);
        for term in 0..TERMS {
            let packed = bf16::pack_x2(left, right);
            terms[term][pair] = packed;
            // The differences are exact: both have the last bit of the element.
            left -= f32::from_bits(packed << 16);
            right -= f32::from_bits(packed & 0xffff_0000);
        }
    }
    terms
}

/// What the elements of a GEMM's operands are like, in device memory: the kernels that write terms
/// note it, the kernel that multiplies terms computes C where they are inside of the range, and
/// these kernels compute it where they are not. All words are zero before the launches and after.
#[repr(C)]
pub struct Range {
    /// The largest magnitudes of A and of B, as bits of f32.
    largest: [AtomicU32; 2],
    /// Not 0 where an element that is not 0 has no three exact terms.
    is_small: AtomicU32,
    /// Blocks of the last kernel that have read the others.
    arrivals: AtomicU32,
}

/// Bytes of a [`Range`] at the start of the workspace, before all else.
pub const RANGE_BYTES: u64 = 256;

/// The largest bfloat16, as bits of f32.
const LARGEST: u32 = 0x7f7f_0000;

/// The largest sum of magnitudes, 2¹²⁵: with what is rounded, terms and sums stay finite.
const LARGEST_SUM: f32 = f32::from_bits((127 + 125) << 23);

impl Range {
    /// Notes elements of A or B, `side` 0 or 1: the largest magnitude, as bits of f32, and the
    /// least that is not zero, as [`split`] has it.
    ///
    /// # Safety
    /// All lanes of the warp execute it.
    #[inline(always)]
    pub unsafe fn extend(&self, side: usize, largest: u32, least: u32) {
        // Most warps find a larger one there, and do not write.
        let raise = |word: &AtomicU32, value: u32| {
            if word.load(Relaxed) < value {
                word.fetch_max(value, Relaxed);
            }
        };
        // SAFETY: all lanes are here by the contract.
        let largest =
            unsafe { warp::warp_reduce(warp::FULL_MASK, largest, warp::WarpReductionOp::Max) };
        // SAFETY: the same.
        let least =
            unsafe { warp::warp_reduce(warp::FULL_MASK, least, warp::WarpReductionOp::Min) };
        if warp::lane_id() == 0 {
            raise(&self.largest[side], largest);
            if least < LEAST - 1 {
                raise(&self.is_small, 1);
            }
        }
    }

    /// Whether three terms of each element are exact, and sums of `k` products finite.
    #[inline(always)]
    pub fn is_inside(&self, k: u32) -> bool {
        let [a, b] = [self.largest[0].load(Relaxed), self.largest[1].load(Relaxed)];
        let sum = f32::from_bits(a) * f32::from_bits(b) * k as f32;
        a <= LARGEST && b <= LARGEST && sum <= LARGEST_SUM && self.is_small.load(Relaxed) == 0
    }
}

/// Whether this block has nothing to compute: the elements are inside of `range`, which is null
/// where these kernels compute C in any case. The last block to ask sets the range to zero.
///
/// # Safety
/// All threads of all blocks execute it, once. `range` is null, or valid, and no other kernel
/// accesses it meanwhile.
#[inline(always)]
pub unsafe fn is_left_out(range: *const Range, k: u32) -> bool {
    if range.is_null() {
        return false;
    }
    let mut is_inside = false;
    if thread::thread_idx_x() == 0 {
        let blocks = thread::grid_dim_x() * thread::grid_dim_y() * thread::grid_dim_z();
        // SAFETY: the range is valid by the contract.
        let range = unsafe { &*range };
        is_inside = range.is_inside(k);
        // SAFETY: it is a word of device memory that is accessed atomically.
        if unsafe { atomic::count(range.arrivals.as_ptr()) } + 1 == blocks {
            range.largest[0].store(0, Relaxed);
            range.largest[1].store(0, Relaxed);
            range.is_small.store(0, Relaxed);
            range.arrivals.store(0, Relaxed);
        }
    }
    thread::sync_threads_or(u32::from(is_inside)) != 0
}

/// Four neighbours along k of a row or column of a tile of `BMN`: of the one that lies as far
/// behind `first`, a multiple of 8, as this lane's group of four behind the first group, those of
/// the lane's index in its group.
///
/// # Safety
/// The tiles are complete, and `reader` is the one for them.
#[inline(always)]
unsafe fn load<E: TileElement, const LAYOUT: u32, const BMN: usize>(
    tiles: TilePair,
    first: usize,
    reader: &TileReader,
) -> [u32; 4] {
    let lane = warp::lane_id() as usize;
    let (i, t) = (first + lane / 4, lane % 4);
    // SAFETY: the tiles are complete by the contract, and row and vector are inside of one.
    unsafe {
        match LAYOUT {
            layout::ANY => reader.four::<E, BMN>(tiles, first),
            layout::K_MAJOR_VECTORS => operand::load_k_major_vector(tiles.tile, i, t),
            _ => {
                let mut four = [0; 4];
                for e in 0..4 {
                    four[e] = operand::load_mn_major_word::<E, BMN>(tiles.tile, i, 4 * t + e);
                }
                four
            }
        }
    }
}

/// Adds op(A) · op(B) of a work tile to the accumulators, which are zero: by tensor cores, or by
/// fused multiply-adds where an element is out of their range. Tiles lie as `E` says.
///
/// # Safety
/// As for [`main_loop`](super::multistage::main_loop).
#[inline(always)]
pub unsafe fn main_loop<
    E: TileElement<Stored = f32>,
    const BM: usize,
    const BN: usize,
    const MMAS_M: usize,
    const MMAS_N: usize,
    const THREADS: usize,
    const STAGES: usize,
    const LAYOUT_A: u32,
    const LAYOUT_B: u32,
>(
    memory: *mut u8,
    panels: impl Fn() -> [Panel<f32>; 2],
    k_extent: u32,
    wait: impl Fn(),
    accumulators: &mut Accumulators<MMAS_M, MMAS_N>,
) {
    const { assert!(BM * BN / (MMAS_M * MMA_M * MMAS_N * MMA_N) * 32 == THREADS) };
    let warp = WarpTile::of_this_warp(BN, [MMAS_M * MMA_M, MMAS_N * MMA_N]);
    let [panel_a, panel_b] = panels();
    let readers = [
        TileReader::new::<E, BM>(&panel_a),
        TileReader::new::<E, BN>(&panel_b),
    ];
    let mut least = u32::MAX;
    // SAFETY: the conditions are those of this function. Tiles are read after the pipeline has
    // waited for them. No branch around an MMA depends on the lane.
    unsafe {
        for_each_k_tile::<E, BM, BN, THREADS, STAGES, LAYOUT_A, LAYOUT_B>(
            memory,
            [panel_a, panel_b],
            k_extent,
            wait,
            |[tile_a, tile_b]| {
                let mut a = [[[[0; 2]; TERMS]; 2]; MMAS_M];
                for i in 0..MMAS_M {
                    for half in 0..2 {
                        let row = warp.row + i * MMA_M + 8 * half;
                        let four = load::<E, LAYOUT_A, BM>(tile_a, row, &readers[0]);
                        a[i][half] = split(four, &mut least);
                    }
                }
                // Columns in pairs: enough MMAs that do not wait for each other, in few registers.
                for pair in 0..MMAS_N / 2 {
                    let mut b = [[[0; 2]; TERMS]; 2];
                    for j in 0..2 {
                        let column = warp.column + (2 * pair + j) * MMA_N;
                        let four = load::<E, LAYOUT_B, BN>(tile_b, column, &readers[1]);
                        b[j] = split(four, &mut least);
                    }
                    let fragment = |i: usize, term: usize| {
                        let [upper, lower] = [a[i][0][term], a[i][1][term]];
                        [upper[0], lower[0], upper[1], lower[1]]
                    };
                    let mut small = [[[0.0; 4]; 2]; MMAS_M];
                    for product in 0..SMALL_PRODUCTS.len() {
                        let [term_a, term_b] = SMALL_PRODUCTS[product];
                        for i in 0..MMAS_M {
                            for j in 0..2 {
                                Bf16::mma(&mut small[i][j], &fragment(i, term_a), b[j][term_b]);
                            }
                        }
                    }
                    // The largest product has sums of its own, of which few bits are cut off.
                    for i in 0..MMAS_M {
                        let mut large = [[0.0; 4]; 2];
                        for j in 0..2 {
                            Bf16::mma(&mut large[j], &fragment(i, 0), b[j][0]);
                        }
                        for j in 0..2 {
                            for q in 0..4 {
                                accumulators[i][2 * pair + j][q] += small[i][j][q] + large[j][q];
                            }
                        }
                    }
                }
            },
        );
        let mut is_outside = least < LEAST - 1;
        for i in 0..MMAS_M {
            for j in 0..MMAS_N {
                for q in 0..4 {
                    is_outside |= !accumulators[i][j][q].is_finite();
                }
            }
        }
        if thread::sync_threads_or(u32::from(is_outside)) != 0 {
            multiply_by_fma::<MMAS_M, MMAS_N>(panels(), &warp, k_extent, accumulators);
        }
    }
}

/// The elements of a panel at one k, in global memory.
struct Column {
    /// The first one.
    first: *const f32,
    /// Elements from one to the next, and to the same one of the next k.
    strides: [u32; 2],
    /// The index of the last one that the operand has.
    last: u32,
}

impl Column {
    /// Those of the first k.
    #[inline(always)]
    fn new(panel: &Panel<f32>) -> Self {
        let strides = match panel.k_major {
            true => [panel.leading, 1],
            false => [1, panel.leading],
        };
        let [along, per_k] = strides.map(|stride| stride as usize);
        let offset = panel.first as usize * along + panel.start as usize * per_k;
        Column {
            first: panel.matrix.wrapping_add(offset),
            strides,
            last: panel.extent - 1 - panel.first,
        }
    }

    /// The offset of element `i`, or of the last one where the operand has no such element.
    #[inline(always)]
    fn offset(&self, i: usize) -> u32 {
        (i as u32).min(self.last) * self.strides[0]
    }

    /// The element at an offset.
    ///
    /// # Safety
    /// The operand has this k. The offset is one of [`offset`](Self::offset).
    #[inline(always)]
    unsafe fn load(&self, offset: u32) -> f32 {
        // SAFETY: the element is inside of the operand by the contract.
        unsafe { *self.first.wrapping_add(offset as usize) }
    }

    /// Goes on to the next k.
    #[inline(always)]
    fn advance(&mut self) {
        self.first = self.first.wrapping_add(self.strides[1] as usize);
    }
}

/// The same by fused multiply-adds, in the order of k, of operands in global memory.
///
/// # Safety
/// The panels are as [`Panel`] says.
#[inline(always)]
unsafe fn multiply_by_fma<const MMAS_M: usize, const MMAS_N: usize>(
    [panel_a, panel_b]: [Panel<f32>; 2],
    warp: &WarpTile,
    k_extent: u32,
    accumulators: &mut Accumulators<MMAS_M, MMAS_N>,
) {
    let lane = thread::thread_idx_x() as usize % 32;
    let (group, t) = (lane / 4, lane % 4);
    let (mut a, mut b) = (Column::new(&panel_a), Column::new(&panel_b));
    let mut rows = [[0; 2]; MMAS_M];
    let mut columns = [[0; 2]; MMAS_N];
    for i in 0..MMAS_M {
        for half in 0..2 {
            rows[i][half] = a.offset(warp.row + i * MMA_M + group + 8 * half);
        }
    }
    for j in 0..MMAS_N {
        for q in 0..2 {
            columns[j][q] = b.offset(warp.column + j * MMA_N + 2 * t + q);
        }
    }
    *accumulators = [[[0.0; 4]; MMAS_N]; MMAS_M];
    let mut k = opaque(0);
    while k < k_extent as usize {
        // SAFETY: the operands have `k_extent` elements along k.
        unsafe {
            for j in 0..MMAS_N {
                for q in 0..2 {
                    let right = b.load(columns[j][q]);
                    for i in 0..MMAS_M {
                        for half in 0..2 {
                            let accumulator = &mut accumulators[i][j][2 * half + q];
                            *accumulator = a.load(rows[i][half]).mul_add(right, *accumulator);
                        }
                    }
                }
            }
        }
        a.advance();
        b.advance();
        k = rolled(k + 1);
    }
}
