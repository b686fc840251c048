//! The way of sums from registers to C.

use super::rows;
use super::schedule::{Corner, Schedule};
use super::tiles::{Maps, ROW_BYTES, ROWS, WARPGROUP};
use crate::gemm::Gemm;
use core::ops::Range;
use cuda_std::async_copy::SharedAddress;
use cuda_std::float16::{FromWide, PackX2, bf16, f16};
use cuda_std::prelude::*;
use cuda_std::tma;
use cuda_std::vector::{F32x2, Vector};
use cuda_std::wgmma::{self, Accumulator};

/// An element of C, to which scaled sums are rounded: once, and to the nearest. Two are stored at a time.
pub trait Paired: FromWide<Wide = f32> {
    /// Stores two neighbours of a row.
    ///
    /// # Safety
    /// They may be written, and the first is aligned to both.
    unsafe fn store_pair(to: *mut Self, left: f32, right: f32);
}

impl Paired for f32 {
    #[inline(always)]
    unsafe fn store_pair(to: *mut f32, left: f32, right: f32) {
        // SAFETY: passed on to the caller.
        unsafe { F32x2::store(to, [left, right]) };
    }
}

impl Paired for f16 {
    #[inline(always)]
    unsafe fn store_pair(to: *mut f16, left: f32, right: f32) {
        // SAFETY: passed on to the caller.
        unsafe { *to.cast() = f16::pack_x2(left, right) };
    }
}

impl Paired for bf16 {
    #[inline(always)]
    unsafe fn store_pair(to: *mut bf16, left: f32, right: f32) {
        // SAFETY: passed on to the caller.
        unsafe { *to.cast() = bf16::pack_x2(left, right) };
    }
}

/// Columns of a box of C, of elements of so many bytes: 32 of 4, 64 of 2.
pub const fn box_columns(element_bytes: usize) -> usize {
    ROW_BYTES / element_bytes
}

/// Rows of a box of C, and of one that is stored column by column, whose elements have 4 bytes.
pub const fn box_rows(turned: bool) -> usize {
    if turned { TURNED_SIDE } else { ROWS }
}

/// Rows and columns of a box that is stored column by column.
const TURNED_SIDE: usize = box_columns(4);

/// Bytes of a box of C: 64 rows.
const BOX_BYTES: usize = ROWS * ROW_BYTES;

/// Bytes of the pieces that the swizzle moves as a whole.
const PIECE_BYTES: usize = 16;

/// Boxes of a warpgroup in shared memory: one is written while the other is on its way.
const BOXES: usize = 2;

/// Bytes of shared memory that a warpgroup stores through.
pub const BYTES: usize = BOXES * BOX_BYTES;

/// Registers of eight columns of a box: two rows of two columns.
const EIGHT_REGISTERS: usize = 4;

/// Registers of a box, of elements of so many bytes.
pub const fn box_registers(element_bytes: usize) -> usize {
    box_columns(element_bytes) / 8 * EIGHT_REGISTERS
}

/// The scaled sums of a box: those of elements of 4 bytes are half as many.
type Values = [f32; box_registers(2)];

/// Row and column of this thread's first sum in the tile of its warpgroup; the others are 8 rows and multiples of 8 columns further,
/// in pairs.
#[inline(always)]
fn first() -> [usize; 2] {
    let lane = warp::lane_id() as usize;
    let warp = thread::thread_idx_x() as usize / 32 % 4;
    [16 * warp + lane / 4, 2 * (lane % 4)]
}

/// Row and column of this thread's sum of a box where its rows are as [`rows::row`] says.
#[inline(always)]
fn turned(register: usize) -> [usize; 2] {
    let column = 2 * (warp::lane_id() as usize % 4);
    let second = register % EIGHT_REGISTERS >= 2;
    [
        rows::row(second) as usize,
        register / EIGHT_REGISTERS * 8 + column + register % 2,
    ]
}

/// Row and column of this thread's sum of a register in the tile of its warpgroup: as above where `is_turned`.
#[inline(always)]
fn place(register: usize, is_turned: bool) -> [usize; 2] {
    if is_turned {
        return turned(register);
    }
    let [row, column] = first();
    let second = register % EIGHT_REGISTERS / 2;
    [
        row + 8 * second,
        register / EIGHT_REGISTERS * 8 + column + register % 2,
    ]
}

/// Stores the sums of a warpgroup to C, from row `top` and column `left` on, each thread its pairs.
///
/// # Safety
/// C has m rows of n elements, n an even number. The products have been waited for.
#[inline(always)]
pub unsafe fn pairs<S: Accumulator>(
    sums: &S,
    c: *mut f32,
    [m, n]: [usize; 2],
    top: usize,
    left: usize,
) {
    let [row, column] = first();
    for half in 0..2 {
        let y = top + row + 8 * half;
        let from = c.wrapping_add(y * n + left + column);
        for j in 0..S::COLUMNS / 8 {
            if y < m && left + column + 8 * j < n {
                let register = EIGHT_REGISTERS * j + 2 * half;
                let pair = [sums.get(register), sums.get(register + 1)];
                // SAFETY: inside of C, and at an even element.
                unsafe { F32x2::store(from.wrapping_add(8 * j), pair) };
            }
        }
    }
}

/// The elements of C that belong to a warpgroup's sums.
#[derive(Clone, Copy)]
pub struct Elements<'a, C> {
    /// C.
    pub c: *mut C,
    /// The parameters.
    pub gemm: &'a Gemm<f32>,
    /// Whether C lies column by column, and the sums' rows as [`rows::row`] says.
    pub turned: bool,
}

impl<C: Paired> Elements<'_, C> {
    /// The place of this thread's sum of a register, of the rows and columns from `corner` on; `None` where that is outside of C.
    #[inline(always)]
    pub fn place(&self, corner: Corner, register: usize) -> Option<*mut C> {
        let gemm = self.gemm;
        let [row, column] = place(register, self.turned);
        let (row, column) = (corner.row as usize + row, corner.column as usize + column);
        let (major, minor) = if self.turned {
            (column, row)
        } else {
            (row, column)
        };
        let matrix = corner.matrix as usize * gemm.stride_c as usize;
        let within = major * gemm.ldc as usize + minor;
        (row < gemm.m as usize && column < gemm.n as usize)
            .then(|| self.c.wrapping_add(matrix + within))
    }

    /// A scaled sum of that register + β · C.
    ///
    /// # Safety
    /// C and its parameters are the kernel's.
    #[inline(always)]
    pub unsafe fn plus_old(&self, corner: Corner, register: usize, scaled: f32) -> f32 {
        match self.place(corner, register) {
            // SAFETY: inside of C.
            Some(place) => self.gemm.beta.mul_add(unsafe { (*place).widen() }, scaled),
            None => scaled,
        }
    }

    /// Stores the result of that register.
    ///
    /// # Safety
    /// As for [`plus_old`](Self::plus_old), and nobody else stores there.
    #[inline(always)]
    pub unsafe fn store(&self, corner: Corner, register: usize, result: f32) {
        if let Some(place) = self.place(corner, register) {
            // SAFETY: inside of C.
            unsafe { *place = C::from_wide(result) };
        }
    }
}

/// C of a general product, as one warpgroup stores to it.
pub struct Target<'a, C> {
    /// Its elements. Those of a C that lies column by column have 4 bytes.
    pub elements: Elements<'a, C>,
    /// How it is stored.
    pub schedule: &'a Schedule,
    /// Its map.
    pub maps: *const Maps,
    /// [`BYTES`] of shared memory.
    pub boxes: *mut u8,
    /// A barrier of the warpgroup's own.
    pub barrier: u32,
}

impl<C: Paired> Target<'_, C> {
    /// Columns and registers of a box.
    const BOX_COLUMNS: usize = box_columns(size_of::<C>());
    const BOX_REGISTERS: usize = box_registers(size_of::<C>());

    /// C ← α · sums + β · C for the 64 rows from `corner` on, and these of the boxes of columns from there on.
    ///
    /// # Safety
    /// The products have been waited for; `elements`, `schedule` and `maps` are as the kernel's; all of the warpgroup is here.
    #[inline(always)]
    pub unsafe fn store<S: Accumulator>(&self, sums: &S, corner: Corner, boxes: Range<u32>) {
        let elements = &self.elements;
        let Elements { gemm, turned, .. } = *elements;
        // The first of the warps that write a box stores it.
        let writers = if turned { 2 } else { WARPGROUP as u32 / 32 };
        // SAFETY: the whole warp is here. The same lane is elected each time, which the groups of its copies need.
        let leader = unsafe {
            let warp =
                warp::warp_shuffle_idx(warp::FULL_MASK, thread::thread_idx_x() / 32, 0, 32).0;
            warp.is_multiple_of(writers) && tma::elect_sync()
        };
        for index in 0..S::COLUMNS / Self::BOX_COLUMNS {
            if !boxes.contains(&(index as u32)) {
                continue;
            }
            let corner = Corner {
                column: corner.column + (index * Self::BOX_COLUMNS) as u32,
                ..corner
            };
            let mut values: Values = [0.0; _];
            for register in 0..Self::BOX_REGISTERS {
                let sum = sums.get(index * Self::BOX_REGISTERS + register);
                values[register] = gemm.alpha * sum;
            }
            // SAFETY: passed on to the caller.
            unsafe {
                if gemm.beta != 0.0 {
                    for register in 0..Self::BOX_REGISTERS {
                        values[register] = elements.plus_old(corner, register, values[register]);
                    }
                }
                if self.schedule.bulk != 0 && turned {
                    self.by_bulk_turned(&values, corner, index % BOXES, leader);
                } else if self.schedule.bulk != 0 {
                    self.by_bulk(&values, corner, index % BOXES, leader);
                } else {
                    for register in 0..Self::BOX_REGISTERS {
                        elements.store(corner, register, values[register]);
                    }
                }
            }
        }
    }

    /// Stores a box through shared memory by a bulk copy, which goes on while the warpgroup computes its next tile.
    ///
    /// # Safety
    /// As for [`store`](Self::store), and C can be stored by bulk copies. `index` is less than [`BOXES`], and another one
    /// than for the box before; the same thread of the warpgroup is the leader each time.
    #[inline(always)]
    unsafe fn by_bulk(&self, values: &Values, corner: Corner, index: usize, leader: bool) {
        let start = self.boxes.wrapping_add(index * BOX_BYTES);
        let [row, column] = first();
        // The swizzle: a piece of 16 bytes lies where the row's last three bits turn it to. Eight neighbouring rows of pairs of 2
        // bytes then lie in all 32 banks. Those of 4 bytes would meet in the same ones, so odd rows take the columns in another
        // order.
        let byte = column * size_of::<C>();
        let swizzle = row % 8;
        let turn = size_of::<C>() == 4 && row % 2 != 0;
        // SAFETY: a box is written again when it has been read, and read when all have written it.
        unsafe {
            if leader {
                tma::wait_group_read::<{ BOXES as u32 - 1 }>();
            }
            wgmma::sync(self.barrier);
            for eight in 0..Self::BOX_COLUMNS / 8 {
                let turned = eight ^ 2;
                let value = |i: usize| {
                    let [here, there] =
                        [eight, turned].map(|eight| values[EIGHT_REGISTERS * eight + i]);
                    if turn { there } else { here }
                };
                let eight = if turn { turned } else { eight };
                let of_eight = 8 * size_of::<C>() / PIECE_BYTES;
                let piece = (of_eight * eight + byte / PIECE_BYTES) ^ swizzle;
                let in_row = piece * PIECE_BYTES + byte % PIECE_BYTES;
                let place = start.wrapping_add(row * ROW_BYTES + in_row);
                C::store_pair(place.cast(), value(0), value(1));
                let place = place.wrapping_add(8 * ROW_BYTES);
                C::store_pair(place.cast(), value(2), value(3));
            }
            tma::fence_proxy_async();
            wgmma::sync(self.barrier);
            if leader {
                let map = &raw const (*self.maps).c;
                let at = [corner.column, corner.row, corner.matrix];
                tma::store_3d(map, at, SharedAddress::of(start));
            }
        }
    }

    /// The same for a C that lies column by column: two boxes of 32 × 32 elements side by side, which two warps write each.
    ///
    /// # Safety
    /// As for [`by_bulk`](Self::by_bulk), where the leaders are those of two warps each.
    #[inline(always)]
    unsafe fn by_bulk_turned(&self, values: &Values, corner: Corner, index: usize, leader: bool) {
        let warp = thread::thread_idx_x() as usize / 32 % 4;
        let first = warp / 2 * TURNED_SIDE;
        let half = BOX_BYTES / 2 * (warp / 2);
        let start = self.boxes.wrapping_add(index * BOX_BYTES + half);
        // SAFETY: as above.
        unsafe {
            if leader {
                tma::wait_group_read::<{ BOXES as u32 - 1 }>();
            }
            wgmma::sync(self.barrier);
            for register in 0..Self::BOX_REGISTERS {
                let [row, column] = turned(register);
                let row = row - first;
                let piece = (row / 4) ^ (column % 8);
                let in_row = piece * PIECE_BYTES + row % 4 * 4;
                let place = start.wrapping_add(column * ROW_BYTES + in_row);
                *place.cast() = C::from_wide(values[register]);
            }
            tma::fence_proxy_async();
            wgmma::sync(self.barrier);
            if leader {
                let map = &raw const (*self.maps).c;
                let at = [corner.row + first as u32, corner.column, corner.matrix];
                tma::store_3d(map, at, SharedAddress::of(start));
            }
        }
    }
}
