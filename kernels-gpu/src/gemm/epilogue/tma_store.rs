//! The way of accumulators from registers to C.

use crate::gemm::GemmParams;
use crate::gemm::scheduler::persistent::{TileCoord, TileSchedulerParams};
use crate::gemm::wgmma::rs;
use crate::gemm::wgmma::stage::{ROW_BYTES, TensorMaps, WARPGROUP, WM};
use core::ops::Range;
use cuda_std::async_copy::SharedAddress;
use cuda_std::float16::{FromWide, PackX2, bf16, f16};
use cuda_std::prelude::*;
use cuda_std::tma;
use cuda_std::vector::{F32x2, Vector};
use cuda_std::wgmma::{self, Accumulator};

/// An element of C, to which scaled accumulators are rounded: once, and to the nearest. Two are stored at a time.
pub trait OutputVec2: FromWide<Wide = f32> {
    /// Stores two neighbours of a row.
    ///
    /// # Safety
    /// They may be written, and the first is aligned to both.
    unsafe fn store_vec2(to: *mut Self, left: f32, right: f32);
}

impl OutputVec2 for f32 {
    #[inline(always)]
    unsafe fn store_vec2(to: *mut f32, left: f32, right: f32) {
        // SAFETY: passed on to the caller.
        unsafe { F32x2::store(to, [left, right]) };
    }
}

impl OutputVec2 for f16 {
    #[inline(always)]
    unsafe fn store_vec2(to: *mut f16, left: f32, right: f32) {
        // SAFETY: passed on to the caller.
        unsafe { *to.cast() = f16::pack_x2(left, right) };
    }
}

impl OutputVec2 for bf16 {
    #[inline(always)]
    unsafe fn store_vec2(to: *mut bf16, left: f32, right: f32) {
        // SAFETY: passed on to the caller.
        unsafe { *to.cast() = bf16::pack_x2(left, right) };
    }
}

/// Columns of a box of C, of elements of so many bytes: 32 of 4, 64 of 2.
pub const fn box_columns(element_bytes: usize) -> usize {
    ROW_BYTES / element_bytes
}

/// Rows of a box of C, and of one that is stored column by column, whose elements have 4 bytes.
pub const fn box_rows(transposed: bool) -> usize {
    if transposed { TRANSPOSED_BOX } else { WM }
}

/// Rows and columns of a box that is stored column by column.
const TRANSPOSED_BOX: usize = box_columns(4);

/// Bytes of a box of C: 64 rows.
const BOX_BYTES: usize = WM * ROW_BYTES;

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

/// The scaled accumulators of a box: those of elements of 4 bytes are half as many.
type Values = [f32; box_registers(2)];

/// Row and column of this thread's first sum in the tile of its warpgroup; the others are 8 rows and multiples of 8 columns further,
/// in pairs.
#[inline(always)]
fn first() -> [usize; 2] {
    let lane = warp::lane_id() as usize;
    let warp = thread::thread_idx_x() as usize / 32 % 4;
    [16 * warp + lane / 4, 2 * (lane % 4)]
}

/// Row and column of this thread's sum of a box where its rows are as [`rs::row`] says.
#[inline(always)]
fn transposed(register: usize) -> [usize; 2] {
    let column = 2 * (warp::lane_id() as usize % 4);
    let second = register % EIGHT_REGISTERS >= 2;
    [
        rs::row(second) as usize,
        register / EIGHT_REGISTERS * 8 + column + register % 2,
    ]
}

/// Row and column of this thread's sum of a register in the tile of its warpgroup: as above where `is_transposed`.
#[inline(always)]
fn place(register: usize, is_transposed: bool) -> [usize; 2] {
    if is_transposed {
        return transposed(register);
    }
    let [row, column] = first();
    let second = register % EIGHT_REGISTERS / 2;
    [
        row + 8 * second,
        register / EIGHT_REGISTERS * 8 + column + register % 2,
    ]
}

/// Stores the accumulators of a warpgroup to C, from row `top` and column `left` on, each thread its pairs.
///
/// # Safety
/// C has m rows of n elements, n an even number. The products have been waited for.
#[inline(always)]
pub unsafe fn store_vec2s<S: Accumulator>(
    accumulators: &S,
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
                let pair = [accumulators.get(register), accumulators.get(register + 1)];
                // SAFETY: inside of C, and at an even element.
                unsafe { F32x2::store(from.wrapping_add(8 * j), pair) };
            }
        }
    }
}

/// The elements of C that belong to a warpgroup's accumulators.
#[derive(Clone, Copy)]
pub struct OutputElements<'a, C> {
    /// C.
    pub c: *mut C,
    /// The parameters.
    pub gemm: &'a GemmParams<f32>,
    /// Whether C lies column by column, and the accumulators' rows as [`rs::row`] says.
    pub transposed: bool,
}

impl<C: OutputVec2> OutputElements<'_, C> {
    /// The place of this thread's sum of a register, of the rows and columns from `coord` on; `None` where that is outside of C.
    #[inline(always)]
    pub fn place(&self, coord: TileCoord, register: usize) -> Option<*mut C> {
        let gemm = self.gemm;
        let [row, column] = place(register, self.transposed);
        let (row, column) = (coord.row as usize + row, coord.column as usize + column);
        let (major, minor) = if self.transposed {
            (column, row)
        } else {
            (row, column)
        };
        let matrix = coord.matrix as usize * gemm.stride_c as usize;
        let within = major * gemm.ldc as usize + minor;
        (row < gemm.m as usize && column < gemm.n as usize)
            .then(|| self.c.wrapping_add(matrix + within))
    }

    /// A scaled sum of that register + β · C.
    ///
    /// # Safety
    /// C and its parameters are the kernel's.
    #[inline(always)]
    pub unsafe fn plus_old(&self, coord: TileCoord, register: usize, scaled: f32) -> f32 {
        match self.place(coord, register) {
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
    pub unsafe fn store(&self, coord: TileCoord, register: usize, result: f32) {
        if let Some(place) = self.place(coord, register) {
            // SAFETY: inside of C.
            unsafe { *place = C::from_wide(result) };
        }
    }
}

/// C of a general product, as one warpgroup stores to it.
pub struct TmaEpilogue<'a, C> {
    /// Its elements. Those of a C that lies column by column have 4 bytes.
    pub elements: OutputElements<'a, C>,
    /// How it is stored.
    pub scheduler: &'a TileSchedulerParams,
    /// Its map.
    pub maps: *const TensorMaps,
    /// [`BYTES`] of shared memory.
    pub boxes: *mut u8,
    /// A barrier of the warpgroup's own.
    pub barrier: u32,
}

impl<C: OutputVec2> TmaEpilogue<'_, C> {
    /// Columns and registers of a box.
    const BOX_COLUMNS: usize = box_columns(size_of::<C>());
    const BOX_REGISTERS: usize = box_registers(size_of::<C>());

    /// C ← α · accumulators + β · C for the 64 rows from `coord` on, and these of the boxes of columns from there on.
    ///
    /// # Safety
    /// The products have been waited for; `elements`, `scheduler` and `maps` are as the kernel's; all of the warpgroup is here.
    #[inline(always)]
    pub unsafe fn store<S: Accumulator>(
        &self,
        accumulators: &S,
        coord: TileCoord,
        boxes: Range<u32>,
    ) {
        let elements = &self.elements;
        let OutputElements {
            gemm, transposed, ..
        } = *elements;
        // The first of the warps that write a box stores it.
        let writers = if transposed { 2 } else { WARPGROUP as u32 / 32 };
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
            let coord = TileCoord {
                column: coord.column + (index * Self::BOX_COLUMNS) as u32,
                ..coord
            };
            let mut values: Values = [0.0; _];
            for register in 0..Self::BOX_REGISTERS {
                let sum = accumulators.get(index * Self::BOX_REGISTERS + register);
                values[register] = gemm.alpha * sum;
            }
            // SAFETY: passed on to the caller.
            unsafe {
                if gemm.beta != 0.0 {
                    for register in 0..Self::BOX_REGISTERS {
                        values[register] = elements.plus_old(coord, register, values[register]);
                    }
                }
                if self.scheduler.tma_store != 0 && transposed {
                    self.store_tma_transposed(&values, coord, index % BOXES, leader);
                } else if self.scheduler.tma_store != 0 {
                    self.store_tma(&values, coord, index % BOXES, leader);
                } else {
                    for register in 0..Self::BOX_REGISTERS {
                        elements.store(coord, register, values[register]);
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
    unsafe fn store_tma(&self, values: &Values, coord: TileCoord, index: usize, leader: bool) {
        let start = self.boxes.wrapping_add(index * BOX_BYTES);
        let [row, column] = first();
        // The swizzle: a unit of 16 bytes lies where the row's last three bits turn it to. Eight neighbouring rows of pairs of 2
        // bytes then lie in all 32 banks. Those of 4 bytes would fix_up in the same ones, so odd rows take the columns in another
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
                let transposed = eight ^ 2;
                let value = |i: usize| {
                    let [here, there] =
                        [eight, transposed].map(|eight| values[EIGHT_REGISTERS * eight + i]);
                    if turn { there } else { here }
                };
                let eight = if turn { transposed } else { eight };
                let of_eight = 8 * size_of::<C>() / PIECE_BYTES;
                let unit = (of_eight * eight + byte / PIECE_BYTES) ^ swizzle;
                let in_row = unit * PIECE_BYTES + byte % PIECE_BYTES;
                let place = start.wrapping_add(row * ROW_BYTES + in_row);
                C::store_vec2(place.cast(), value(0), value(1));
                let place = place.wrapping_add(8 * ROW_BYTES);
                C::store_vec2(place.cast(), value(2), value(3));
            }
            tma::fence_proxy_async();
            wgmma::sync(self.barrier);
            if leader {
                let map = &raw const (*self.maps).c;
                let at = [coord.column, coord.row, coord.matrix];
                tma::store_3d(map, at, SharedAddress::of(start));
            }
        }
    }

    /// The same for a C that lies column by column: two boxes of 32 × 32 elements side by side, which two warps write each.
    ///
    /// # Safety
    /// As for [`store_tma`](Self::store_tma), where the leaders are those of two warps each.
    #[inline(always)]
    unsafe fn store_tma_transposed(
        &self,
        values: &Values,
        coord: TileCoord,
        index: usize,
        leader: bool,
    ) {
        let warp = thread::thread_idx_x() as usize / 32 % 4;
        let first = warp / 2 * TRANSPOSED_BOX;
        let half = BOX_BYTES / 2 * (warp / 2);
        let start = self.boxes.wrapping_add(index * BOX_BYTES + half);
        // SAFETY: as above.
        unsafe {
            if leader {
                tma::wait_group_read::<{ BOXES as u32 - 1 }>();
            }
            wgmma::sync(self.barrier);
            for register in 0..Self::BOX_REGISTERS {
                let [row, column] = transposed(register);
                let row = row - first;
                let unit = (row / 4) ^ (column % 8);
                let in_row = unit * PIECE_BYTES + row % 4 * 4;
                let place = start.wrapping_add(column * ROW_BYTES + in_row);
                *place.cast() = C::from_wide(values[register]);
            }
            tma::fence_proxy_async();
            wgmma::sync(self.barrier);
            if leader {
                let map = &raw const (*self.maps).c;
                let at = [coord.row + first as u32, coord.column, coord.matrix];
                tma::store_3d(map, at, SharedAddress::of(start));
            }
        }
    }
}
