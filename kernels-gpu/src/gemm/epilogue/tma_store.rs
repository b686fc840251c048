//! Epilogue of the `wgmma` kernels: accumulators from registers through shared memory to C, by TMA.
//!
//! A warpgroup's 64 rows of a tile are stored as epilogue tiles, one TMA box each. Where TMA cannot
//! store C, results of accumulators alone take the way of [`aligned`](super::aligned);
//! with others warps store the lines of the epilogue tile, and load those of the source. Where TMA
//! can, it [loads the source](super::tma_source) as well.

use super::lines::{self, LineTile, Lines};
use super::output_elements::{EIGHT_REGISTERS, OutputElements, first, offset};
use super::output_op::OutputOp;
use crate::gemm::element::Output;
use crate::gemm::reduction::partial_sums::Accumulators;
use crate::gemm::scheduler::persistent::TileCoord;
use crate::gemm::wgmma::stage::{ROW_BYTES, TensorMaps, WARPGROUP, WM, WindowMaps};
use core::ops::Range;
use cuda_std::async_copy::SharedAddress;
use cuda_std::hint::{opaque, rolled};
use cuda_std::prelude::*;
use cuda_std::tma::{self, TensorMap};
use cuda_std::wgmma::{self, Accumulator, COLUMN_STEP};

/// Columns of an epilogue tile, for elements of `element_bytes` bytes: 32 of 4 bytes, 64 of 2.
pub const fn box_columns(element_bytes: usize) -> usize {
    ROW_BYTES / element_bytes
}

/// Rows of a TMA box of C. Where C is stored column by column (`transposed`), its elements have 4
/// bytes.
pub const fn box_rows(transposed: bool) -> usize {
    if transposed { TRANSPOSED_BOX } else { WM }
}

/// Rows and columns of a TMA box of a C that is stored column by column.
const TRANSPOSED_BOX: usize = box_columns(4);

/// Bytes of an epilogue tile: 64 rows.
pub(super) const BOX_BYTES: usize = WM * ROW_BYTES;

/// Bytes of a chunk, which the swizzle moves as a whole.
pub(super) const CHUNK_BYTES: usize = 16;

/// Epilogue tiles of a warpgroup in shared memory: one is written while the TMA store of the other
/// is in flight.
pub(super) const BOXES: usize = 2;

/// Bytes of shared memory for the epilogue tiles of a warpgroup.
pub const BYTES: usize = BOXES * BOX_BYTES;

/// Registers of a thread for an epilogue tile, for elements of `element_bytes` bytes.
pub const fn box_registers(element_bytes: usize) -> usize {
    box_columns(element_bytes) / 8 * EIGHT_REGISTERS
}

/// The scaled accumulators of an epilogue tile. With elements of 4 bytes, half of them are used.
type Values = [f32; box_registers(2)];

/// The epilogue of one consumer warpgroup.
pub struct TmaEpilogue<'a, C, Op> {
    /// The output operator.
    pub op: Op,
    /// The elements of C. Those of a C that lies column by column have 4 bytes.
    pub elements: OutputElements<'a, C>,
    /// 1 where TMA can store C.
    pub tma_store: u32,
    /// The tensor maps, of which C's is used: [`WindowMaps`] where tiles end inside of an epilogue
    /// tile.
    pub maps: *const TensorMaps,
    /// [`BYTES`] bytes of shared memory, or those of [`aligned`](super::aligned).
    pub boxes: *mut u8,
    /// Columns of a tile: it may end inside of its last epilogue tile.
    pub columns: u32,
    /// The fewest columns that a tile may have, which is a constant: code for epilogue tiles within
    /// these knows that they are whole.
    pub narrowest: u32,
    /// Number of a named barrier of this warpgroup alone.
    pub barrier: u32,
    /// The barriers of the source for all consumer warpgroups, which follow the producer's, with
    /// [`tma_source::BYTES`](super::tma_source::BYTES) bytes of shared memory each. They are used
    /// where [TMA loads the source](Self::loads_source).
    pub source_barriers: *mut u8,
}

/// The place of epilogue tile `index` of the tile at `coord`.
#[inline(always)]
pub(super) fn at_tile<C>(coord: TileCoord, index: usize) -> TileCoord {
    TileCoord {
        column: coord.column + (index * box_columns(size_of::<C>())) as u32,
        ..coord
    }
}

/// The epilogue tile in shared memory that is written next.
#[derive(Clone, Copy)]
struct Slot {
    /// Its index, less than [`BOXES`].
    index: usize,
    /// Whether all TMA stores must have read shared memory: the last one may read this slot.
    waits_for_all: bool,
    /// Whether the other slot has the epilogue tile to the left of this one.
    has_left: bool,
    /// Whether this is the last epilogue tile of its rows.
    is_last: bool,
    /// Columns of the epilogue tile that are the tile's.
    columns: u32,
}

impl Slot {
    /// That of epilogue tile `index`, one of `boxes`, of a tile of `columns` columns, at least
    /// `narrowest`. They alternate between the two in shared memory. Where a tile has an odd number
    /// of them, the next work unit begins with the one that was stored last.
    #[inline(always)]
    fn of<C>(index: usize, boxes: &Range<u32>, columns: u32, narrowest: u32) -> Self {
        let of_box = box_columns(size_of::<C>()) as u32;
        let is_odd = !columns.div_ceil(of_box).is_multiple_of(BOXES as u32);
        let end = (index as u32 + 1) * of_box;
        Slot {
            index: index % BOXES,
            waits_for_all: index == 0 && is_odd,
            has_left: index as u32 > boxes.start,
            is_last: index as u32 + 1 == boxes.end,
            columns: match end <= narrowest || end <= columns {
                true => of_box,
                false => columns % of_box,
            },
        }
    }

    /// Waits until the TMA stores of this thread have read what the slot holds.
    #[inline(always)]
    fn wait_until_read(self) {
        if self.waits_for_all {
            tma::wait_group_read::<0>();
        } else {
            tma::wait_group_read::<{ BOXES as u32 - 1 }>();
        }
    }
}

impl<C: Output<Wide = f32>, Op: OutputOp<f32>> TmaEpilogue<'_, C, Op> {
    /// Columns of an epilogue tile, and registers of a thread for it.
    pub(super) const BOX_COLUMNS: usize = box_columns(size_of::<C>());
    const BOX_REGISTERS: usize = box_registers(size_of::<C>());

    /// Stores the results of the output operator for the 64 rows from `coord` on, and for the
    /// epilogue tiles `boxes` of the columns from there on, by TMA.
    ///
    /// # Safety
    /// TMA can store C, and the operator has neither a source nor a
    /// [last step](OutputOp::finish). All 128 threads of
    /// the warpgroup execute it together, and its MMAs have been waited for. `elements`
    /// and `maps` are those of the kernel. No other warpgroup stores these rows and epilogue tiles.
    #[inline(always)]
    pub unsafe fn store<S: Accumulator>(
        &self,
        accumulators: &S,
        coord: TileCoord,
        boxes: Range<u32>,
    ) {
        let leader = self.is_leader();
        for index in 0..S::COLUMNS / Self::BOX_COLUMNS {
            if !boxes.contains(&(index as u32)) {
                continue;
            }
            let mut values: Values = [0.0; _];
            for register in 0..Self::BOX_REGISTERS {
                values[register] = accumulators.get(index * Self::BOX_REGISTERS + register);
            }
            let slot = Slot::of::<C>(index, &boxes, self.columns, self.narrowest);
            // SAFETY: the contract says that all threads of the warpgroup are here, and that these
            // elements of C are theirs.
            unsafe {
                self.store_tile::<false>(&mut values, at_tile::<C>(coord, index), slot, leader);
            }
        }
    }

    /// [`store`](Self::store) for any C and any operator. Its code, for which that is more, stands
    /// once: the accumulators of all epilogue tiles pass through the registers of the first one.
    ///
    /// # Safety
    /// As for [`store`](Self::store), but for its first condition. Where
    /// [TMA loads the source](Self::loads_source), [`load_first`](Self::load_first) comes before.
    #[inline(always)]
    pub unsafe fn store_any<S: Accumulator + Accumulators<Element = f32>>(
        &self,
        accumulators: &mut S,
        coord: TileCoord,
        boxes: Range<u32>,
    ) {
        let leader = self.is_leader();
        let mut index = opaque(0);
        while index < S::COLUMNS / Self::BOX_COLUMNS {
            if boxes.contains(&(index as u32)) {
                let mut values: Values = [0.0; _];
                for register in 0..Self::BOX_REGISTERS {
                    values[register] = *accumulators.element(register);
                }
                let slot = Slot::of::<C>(index, &boxes, self.columns, self.narrowest);
                // SAFETY: the contract is that of `store`.
                unsafe {
                    self.store_tile::<true>(&mut values, at_tile::<C>(coord, index), slot, leader);
                    if leader && self.loads_source() {
                        self.load_next(coord, index, &boxes);
                    }
                }
            }
            for register in Self::BOX_REGISTERS..S::COUNT {
                *accumulators.element(register - Self::BOX_REGISTERS) =
                    *accumulators.element(register);
            }
            index = rolled(index + 1);
        }
    }

    /// Whether this thread starts the TMA stores of its warps' boxes: one of the first of the warps
    /// that write one, the same each time, since bulk groups are a thread's.
    ///
    /// All threads of the warpgroup execute it together.
    #[inline(always)]
    pub(super) fn is_leader(&self) -> bool {
        let writers = if self.elements.transposed {
            2
        } else {
            WARPGROUP as u32 / 32
        };
        // SAFETY: all lanes of the warp execute the shuffle and the election.
        unsafe {
            let warp =
                warp::warp_shuffle_idx(warp::FULL_MASK, thread::thread_idx_x() / 32, 0, 32).0;
            warp.is_multiple_of(writers) && tma::elect_sync()
        }
    }

    /// Stores the results of an epilogue tile, of which `values` are the accumulators,
    /// through shared memory. A TMA store stays in flight while the warpgroup computes its next
    /// tile.
    ///
    /// # Safety
    /// As for [`store`](Self::store). The epilogue tile stored before is not in `slot`, unless that
    /// waits for all. The same thread of a TMA box is the leader each time.
    #[inline(always)]
    unsafe fn store_tile<const ANY: bool>(
        &self,
        values: &mut Values,
        coord: TileCoord,
        slot: Slot,
        leader: bool,
    ) {
        let (op, elements) = (self.op, &self.elements);
        for register in 0..Self::BOX_REGISTERS {
            values[register] = op.scale(values[register]);
        }
        let start = self.boxes.wrapping_add(slot.index * BOX_BYTES);
        let is_by_tma = !ANY || self.tma_store != 0;
        let has_source = ANY && op.is_source_needed();
        // SAFETY: `wait_group_read` and the first barrier order the TMA's reads of the last
        // contents before the writes, or those of the lines. Each further one orders what threads
        // write to the epilogue tile before what others read of it; those that write it again are
        // those that have read it. The proxy fence and the last barrier order the writes before the
        // TMA store.
        unsafe {
            if has_source {
                if is_by_tma {
                    self.wait_for_source(slot.index, leader);
                } else {
                    self.sync(false);
                    self.for_each_line_tile(coord, slot, |lines| lines.load());
                    self.sync(false);
                }
                for register in 0..Self::BOX_REGISTERS {
                    let source = *Self::in_tile(start, register, elements.transposed);
                    values[register] = op.combine(values[register], source.widen());
                }
            } else {
                *values = values.map(|scaled| op.combine(scaled, 0.0));
            }
            if ANY && op.has_finish() {
                self.finish(values, coord);
            }
            if ANY && op.has_factor() {
                self.multiply(values, start);
            }
            if !has_source {
                // Behind the operator, so that it overlaps the reads of the last contents.
                self.take(slot, is_by_tma, leader);
            }
            if elements.transposed {
                for register in 0..Self::BOX_REGISTERS {
                    let to = Self::in_tile(start, register, true);
                    *to = C::from_wide(values[register]);
                }
            } else {
                Self::write_vec2s(values, start);
            }
            if is_by_tma {
                tma::fence_proxy_async();
            }
            self.sync(is_by_tma);
            if !is_by_tma {
                self.for_each_line_tile(coord, slot, |lines| lines.store());
            } else if leader {
                self.store_tma(start, coord, slot.columns);
            }
        }
    }

    /// Waits until nothing reads what `slot` held before.
    ///
    /// # Safety
    /// As for [`sync`](Self::sync).
    #[inline(always)]
    unsafe fn take(&self, slot: Slot, is_by_tma: bool, leader: bool) {
        if is_by_tma && leader {
            slot.wait_until_read();
        }
        // SAFETY: the contract is that of this function.
        unsafe { self.sync(is_by_tma) };
    }

    /// The operator's last step for the results of an epilogue tile.
    #[inline(always)]
    fn finish(&self, values: &mut Values, coord: TileCoord) {
        let params = self.elements.params;
        let offset = opaque(coord.matrix as usize) * params.stride_c as usize;
        let op = self.op.of_matrix(offset);
        // Opaque: what is computed of it here would else take registers in the main loop.
        let thread = opaque(thread::thread_idx_x() as usize) as u32;
        let row = coord.row + thread / 32 % 4 * 16 + thread % 32 / 4;
        let column = coord.column + 2 * (thread % 4);
        // Beyond the edges of C, what is stored is left out: any element's place will do.
        let last = [params.m, params.n].map(|extent| opaque(extent as usize) as u32 - 1);
        let at = |register: usize| {
            let y = row + 8 * (register % EIGHT_REGISTERS / 2) as u32;
            let x = column + (register / EIGHT_REGISTERS * 8 + register % 2) as u32;
            [y.min(last[0]), x.min(last[1])].map(|index| index as usize)
        };
        // All results of the epilogue tile at once, so that what is loaded is in flight together.
        match values.first_chunk_mut::<{ box_registers(4) }>() {
            Some(half) if size_of::<C>() == 4 => op.finish(at, half),
            _ => op.finish(at, values),
        }
    }

    /// Multiplies the results of an epilogue tile by the source, which the one at `start` still
    /// holds.
    ///
    /// # Safety
    /// Where the source is needed it has been loaded, and this thread's elements of it have not
    /// been written since.
    #[inline(always)]
    unsafe fn multiply(&self, values: &mut Values, start: *mut u8) {
        let is_needed = self.op.is_source_needed();
        for register in 0..Self::BOX_REGISTERS {
            let source = if is_needed {
                // SAFETY: the element is inside of the epilogue tile, and there by the contract.
                unsafe { *Self::in_tile(start, register, self.elements.transposed) }.widen()
            } else {
                0.0
            };
            values[register] = self.op.multiply(values[register], source);
        }
    }

    /// Calls `each` with this warp's lines of the epilogue tile in `slot`. Where C lies column by
    /// column, its lines are those of two tiles of 32 rows.
    #[inline(always)]
    fn for_each_line_tile(&self, coord: TileCoord, slot: Slot, each: impl Fn(Lines<C>)) {
        let start = self.boxes.wrapping_add(slot.index * BOX_BYTES);
        if !self.elements.transposed {
            let other = (self.boxes).wrapping_add((slot.index + 1) % BOXES * BOX_BYTES);
            let tile = LineTile {
                start,
                before: slot.has_left.then_some(other),
                is_last: slot.is_last,
                lines: WM,
                elements: slot.columns,
            };
            return each(Lines::new(&self.elements, coord, tile));
        }
        let upper = LineTile {
            start,
            before: None,
            is_last: false,
            lines: TRANSPOSED_BOX,
            elements: TRANSPOSED_BOX as u32,
        };
        let lower = LineTile {
            start: start.wrapping_add(BOX_BYTES / 2),
            before: Some(start),
            is_last: true,
            ..upper
        };
        let below = TileCoord {
            row: coord.row + TRANSPOSED_BOX as u32,
            ..coord
        };
        each(Lines::new(&self.elements, coord, upper));
        each(Lines::new(&self.elements, below, lower));
    }

    /// Waits for the threads that use an epilogue tile together: those of a warp have lines of
    /// their own, unless C lies column by column.
    ///
    /// # Safety
    /// All threads of the warpgroup execute it together.
    #[inline(always)]
    pub(super) unsafe fn sync(&self, is_by_tma: bool) {
        // SAFETY: the contract says that all threads of the warpgroup are here. The condition is
        // the same in all of them.
        unsafe {
            if is_by_tma || self.elements.transposed {
                wgmma::sync(self.barrier);
            } else {
                warp::sync_warp(warp::FULL_MASK);
            }
        }
    }

    /// The address of this thread's `register` in the epilogue tile at `start`.
    #[inline(always)]
    fn in_tile(start: *mut u8, register: usize, is_transposed: bool) -> *mut C {
        let [row, column] = offset(register, is_transposed);
        let (line, element) = if is_transposed {
            let [of_box, row] = [row / TRANSPOSED_BOX, row % TRANSPOSED_BOX];
            (of_box * TRANSPOSED_BOX + column, row)
        } else {
            (row, column)
        };
        lines::element(start, line, element)
    }

    /// Writes the results to the epilogue tile at `start`, in vec2s.
    ///
    /// # Safety
    /// No other thread reads or writes this thread's elements of the epilogue tile meanwhile.
    #[inline(always)]
    unsafe fn write_vec2s(values: &Values, start: *mut u8) {
        let [row, column] = first();
        // The 128-byte swizzle: the index of a chunk of 16 bytes is XORed with the row's last three
        // bits. Eight neighbouring rows of vec2s of 2-byte elements then lie in all 32 banks. Those
        // of 4-byte elements would share banks, so odd rows take the columns in another order.
        let exchanges = size_of::<C>() == 4 && row % 2 != 0;
        for eight in 0..Self::BOX_COLUMNS / 8 {
            let exchanged = eight ^ 2;
            let value = |i: usize| {
                let [own, other] =
                    [eight, exchanged].map(|eight| values[EIGHT_REGISTERS * eight + i]);
                if exchanges { other } else { own }
            };
            let eight = if exchanges { exchanged } else { eight };
            let upper: *mut C = lines::element(start, row, 8 * eight + column);
            let lower = upper.wrapping_byte_add(8 * ROW_BYTES);
            // SAFETY: row and column are inside of the epilogue tile. The column is even. The
            // elements are this thread's by the contract.
            unsafe {
                C::store_2(upper, [value(0), value(1)]);
                C::store_2(lower, [value(2), value(3)]);
            }
        }
    }

    /// Where the TMA box of this leader lies in the epilogue tile at `start`, the map of C for it,
    /// and its coordinates there: the whole of it, or the half that its two warps have written
    /// where C lies column by column. `columns` columns of the epilogue tile are the tile's.
    #[inline(always)]
    pub(super) fn leaders_box(
        &self,
        start: *mut u8,
        coord: TileCoord,
        columns: u32,
    ) -> (SharedAddress, *const TensorMap, [u32; 3]) {
        // SAFETY: the address is inside of the maps.
        let map = unsafe { &raw const (*self.maps).c };
        if self.elements.transposed {
            let of_box = thread::thread_idx_x() as usize / 64 % 2;
            let start = start.wrapping_add(of_box * BOX_BYTES / 2);
            let row = coord.row + (of_box * TRANSPOSED_BOX) as u32;
            let at = [row, coord.column, coord.matrix];
            (SharedAddress::of(start), map, at)
        } else if columns < Self::BOX_COLUMNS as u32
            && coord.column + columns <= self.elements.params.n
        {
            // SAFETY: tiles end inside of an epilogue tile, so the address is inside of the maps.
            let windows = unsafe { &raw const (*self.maps.cast::<WindowMaps>()).c_windows };
            let at = [0, coord.row, coord.column / COLUMN_STEP as u32];
            (SharedAddress::of(start), windows, at)
        } else {
            let at = [coord.column, coord.row, coord.matrix];
            (SharedAddress::of(start), map, at)
        }
    }

    /// Bytes of a TMA box of C.
    #[inline(always)]
    pub(super) fn box_bytes(&self) -> u32 {
        let boxes = WM / box_rows(self.elements.transposed);
        (BOX_BYTES / boxes) as u32
    }

    /// Stores the TMA box of this leader, of the epilogue tile at `start`.
    ///
    /// # Safety
    /// TMA can store C. The box has been written, and a barrier lies behind that.
    #[inline(always)]
    unsafe fn store_tma(&self, start: *mut u8, coord: TileCoord, columns: u32) {
        let (from, map, at) = self.leaders_box(start, coord, columns);
        // SAFETY: the map is that of C by the contract of `store`, and the box is this leader's.
        unsafe { tma::store_3d(map, at, from) };
    }
}
