//! The epilogue of the `wgmma` kernels for a C that TMA cannot store, because its rows begin
//! anywhere: aligned vectors by way of shifted lines in shared memory.
//!
//! # Idea
//! A line holds neighbouring elements of a row of C, and begins anywhere in a chunk of 16 bytes of
//! it. Threads write their results to shared memory shifted by as much, so that chunks of C are
//! chunks of shared memory there: a lane loads one and stores it, without a shift. What a line has
//! of its last chunk becomes the start of the first chunk of the next pass. Only at the two ends of
//! a tile's rows elements are stored one by one.
//!
//! All offsets of a thread's results are constants behind one address: rows that are 8 apart begin
//! at the same offset in a chunk.
//!
//! This way is for rows of results that depend on accumulators alone. A source, an operator with a
//! [last step](OutputOp::finish), and a C that lies column by column, take the one of
//! `lines`.
//!
//! # Source
//! Beyond the sources.

use super::output_elements::EIGHT_REGISTERS;
use super::output_op::OutputOp;
use super::tma_store::{BOX_BYTES, CHUNK_BYTES, TmaEpilogue};
use crate::gemm::element::Output;
use crate::gemm::scheduler::persistent::TileCoord;
use crate::gemm::wgmma::stage::{ROW_BYTES, WM};
use core::ops::Range;
use cuda_std::hint::opaque;
use cuda_std::prelude::*;
use cuda_std::vector::{U32x4, Vector};
use cuda_std::wgmma::Accumulator;

/// Bytes of a line that are stored in one pass: two lines of the L2 cache.
const LINE_BYTES: usize = 256;

/// Distance of two lines in shared memory. A line begins anywhere in its first chunk, so there is
/// one more. Lines are then 4 banks apart.
const PITCH: usize = LINE_BYTES + CHUNK_BYTES;

/// Lanes of a warp.
const LANES: usize = 32;

/// Words of a chunk.
const WORDS: usize = CHUNK_BYTES / 4;

/// Lines of a warp, of the 64 rows of a warpgroup.
const LINES: usize = WM / 4;

/// Bytes of shared memory of a warpgroup.
pub const BYTES: usize = WM * PITCH;

// What follows must be aligned as TMA's boxes are.
const _: () = assert!(BYTES.is_multiple_of(1024) && BYTES >= 2 * BOX_BYTES);

/// Offset of an address in its chunk.
#[inline(always)]
fn shift<C>(address: *mut C) -> i32 {
    (address.addr() % CHUNK_BYTES) as i32
}

/// The lines of a warp in one pass: where they are in shared memory and in C.
#[derive(Clone, Copy)]
struct ShiftedLines<C> {
    lane: usize,
    /// The first line in shared memory.
    in_tile: *mut u8,
    /// The first line in C.
    in_c: *mut C,
    /// Distance of two lines in C, in elements.
    pitch: usize,
    /// Lines of the warp that C has.
    lines: usize,
    /// First byte of a line that is stored. Less than 0: the pass before has left the start of the
    /// first chunk.
    from: i32,
    /// Behind the last stored byte of a line. More than [`LINE_BYTES`]: the next pass stores
    /// the last chunk.
    end: i32,
}

impl<C: Output<Wide = f32>> ShiftedLines<C> {
    /// Most elements of a line in a chunk that C does not have all of.
    const MAX_EDGE: usize = CHUNK_BYTES / size_of::<C>() - 1;

    /// Stores the lines as far as C has them. `CHUNKS` chunks of each and a part of the next one
    /// have been written.
    ///
    /// # Safety
    /// All lanes of the warp execute it, and a barrier lies behind the writes. C is writable, and
    /// no other thread accesses these elements.
    #[inline(always)]
    unsafe fn store<const CHUNKS: usize>(&self) {
        // SAFETY: the contract is that of this function.
        unsafe {
            self.store_chunks::<CHUNKS>();
            if self.from >= 0 || self.end <= LINE_BYTES as i32 {
                self.store_edges();
            }
        }
    }

    /// Stores the chunks that C has all of. Loads of all come before the first store.
    ///
    /// # Safety
    /// As for [`store`](Self::store).
    #[inline(always)]
    unsafe fn store_chunks<const CHUNKS: usize>(&self) {
        const { assert!(LINES.is_multiple_of(LANES / CHUNKS)) };
        let lines_of_store = LANES / CHUNKS;
        let (line, chunk) = (self.lane / CHUNKS, self.lane % CHUNKS);
        let from = (self.in_tile).wrapping_add(line * PITCH + chunk * CHUNK_BYTES);
        let mut chunks = [[0; WORDS]; LINES];
        for store in 0..LINES / lines_of_store {
            let from = from.wrapping_add(store * lines_of_store * PITCH);
            // SAFETY: inside of the lines, at a multiple of 16 bytes.
            chunks[store] = unsafe { U32x4::load(from.cast()) };
        }
        // Opaque: the distances of all lines would else take registers through all passes.
        let pitch = opaque(self.pitch);
        let mut to = self.in_c.wrapping_add(line * pitch);
        for store in 0..LINES / lines_of_store {
            let at = (chunk * CHUNK_BYTES) as i32 - shift(to);
            let is_whole = at >= self.from && at + CHUNK_BYTES as i32 <= self.end;
            if is_whole && store * lines_of_store + line < self.lines {
                let to = to.wrapping_byte_offset(at as isize);
                // SAFETY: the tests say that C has the chunk. Less its shift, an address is a
                // multiple of 16 bytes.
                unsafe { U32x4::store(to.cast(), chunks[store]) };
            }
            to = to.wrapping_add(lines_of_store * pitch);
        }
    }

    /// Stores the elements at both ends of the lines that are in no chunk that C has all of: a lane
    /// has an end of a line.
    ///
    /// # Safety
    /// As for [`store`](Self::store).
    #[inline(always)]
    unsafe fn store_edges(&self) {
        let (line, side) = (self.lane % LINES, self.lane / LINES);
        let to = self.in_c.wrapping_add(line * opaque(self.pitch));
        let shift = shift(to);
        let chunk_of = |byte: i32| (byte + shift) & !(CHUNK_BYTES as i32 - 1);
        let behind_head = chunk_of(self.from + CHUNK_BYTES as i32 - 1) - shift;
        let (from, end) = match side {
            0 if self.from >= 0 => (self.from, behind_head.min(self.end)),
            1 if self.end <= LINE_BYTES as i32 => {
                ((chunk_of(self.end) - shift).max(behind_head), self.end)
            }
            _ => (0, 0),
        };
        let in_tile = (self.in_tile).wrapping_add(line * PITCH + shift as usize);
        for element in 0..Self::MAX_EDGE {
            let byte = from + (element * size_of::<C>()) as i32;
            if byte < end && line < self.lines {
                let from = in_tile.wrapping_offset(byte as isize);
                // SAFETY: the tests say that C has the element, and the line has it there.
                unsafe { *to.wrapping_byte_offset(byte as isize) = *from.cast::<C>() };
            }
        }
    }

    /// Copies the last chunk of each line to the first one, where the next pass begins.
    ///
    /// # Safety
    /// All lanes of the warp execute it, and no lane accesses the lines meanwhile.
    #[inline(always)]
    unsafe fn carry(&self) {
        if self.lane < LINES {
            let line = self.in_tile.wrapping_add(self.lane * PITCH);
            // SAFETY: inside of the line, at multiples of 16 bytes.
            unsafe {
                U32x4::store(
                    line.cast(),
                    U32x4::load(line.wrapping_add(LINE_BYTES).cast()),
                )
            };
        }
    }
}

/// This thread's warp in its warpgroup, and its lane.
#[inline(always)]
fn warp_and_lane() -> [usize; 2] {
    // Opaque: what is computed of it would else take registers in the main loop.
    let thread = opaque(thread::thread_idx_x() as usize);
    [thread / LANES % 4, thread % LANES]
}

impl<C: Output<Wide = f32>, Op: OutputOp<f32>> TmaEpilogue<'_, C, Op> {
    /// Columns of a pass.
    const PASS_COLUMNS: usize = LINE_BYTES / size_of::<C>();

    /// Whether [`store_aligned`](Self::store_aligned) stores the results.
    #[inline(always)]
    pub fn is_aligned(&self) -> bool {
        self.tma_store == 0
            && !self.elements.transposed
            && !self.op.is_source_needed()
            && !self.op.has_finish()
    }

    /// Clears the first and the last chunk of each line, which are loaded as a whole where a line
    /// has a part of them.
    ///
    /// # Safety
    /// All 128 threads of the warpgroup execute it, before the first
    /// [`store_aligned`](Self::store_aligned).
    #[inline(always)]
    pub unsafe fn clear(&self) {
        let [warp, lane] = warp_and_lane();
        let line = (self.boxes).wrapping_add((warp * LINES + lane % LINES) * PITCH);
        let chunk = line.wrapping_add(lane / LINES * LINE_BYTES);
        // SAFETY: inside of the warp's lines, at a multiple of 16 bytes.
        unsafe { U32x4::store(chunk.cast(), [0; WORDS]) };
    }

    /// Stores the results of the output operator for the 64 rows from `coord` on, and for the
    /// epilogue tiles `boxes` of the columns from there on.
    ///
    /// # Safety
    /// [`is_aligned`](Self::is_aligned) is true. All 128 threads of the warpgroup execute it
    /// together, and its MMAs have been waited for. The epilogue has [`BYTES`] bytes of shared
    /// memory, [cleared](Self::clear). No other warpgroup stores these rows and epilogue tiles.
    #[inline(always)]
    pub unsafe fn store_aligned<S: Accumulator>(
        &self,
        accumulators: &S,
        coord: TileCoord,
        boxes: Range<u32>,
    ) {
        let params = self.elements.params;
        let [warp, lane] = warp_and_lane();
        let row = coord.row as usize + warp * LINES;
        let pitch = params.ldc as usize;
        let matrix = coord.matrix as usize * params.stride_c as usize;
        let in_c = (self.elements.c).wrapping_add(matrix + row * pitch + coord.column as usize);
        let columns = params.n.saturating_sub(coord.column).min(self.columns) as usize;
        let end = (columns * size_of::<C>()).min(boxes.end as usize * ROW_BYTES) as i32;
        let in_tile = self.boxes.wrapping_add(warp * LINES * PITCH);
        // Those 8 rows below have the same shift.
        let own_row = lane / 4;
        let first = own_row * PITCH + shift(in_c.wrapping_add(own_row * pitch)) as usize;
        let to = in_tile
            .wrapping_add(first)
            .cast::<C>()
            .wrapping_add(2 * (lane % 4));
        for pass in 0..S::COLUMNS.div_ceil(Self::PASS_COLUMNS) {
            let start = (pass * LINE_BYTES) as i32;
            let from = (boxes.start as usize * ROW_BYTES) as i32 - start;
            if end <= start || from >= LINE_BYTES as i32 {
                continue;
            }
            let is_carried = from < 0;
            let lines = ShiftedLines {
                lane,
                in_tile,
                in_c: in_c.wrapping_byte_add(pass * LINE_BYTES),
                pitch,
                lines: (params.m as usize).saturating_sub(row),
                from: if is_carried {
                    -(CHUNK_BYTES as i32)
                } else {
                    from
                },
                end: end - start,
            };
            let first = pass * Self::PASS_COLUMNS;
            let columns = (S::COLUMNS - first).min(Self::PASS_COLUMNS);
            // SAFETY: the barriers of the warp order what the pass before has read of the lines,
            // what is carried, what is written, and what is read of them. The lines are this
            // warp's. A line has as many elements behind its shift.
            unsafe {
                warp::sync_warp(warp::FULL_MASK);
                if is_carried {
                    lines.carry();
                    warp::sync_warp(warp::FULL_MASK);
                }
                for eight in 0..Self::PASS_COLUMNS / 8 {
                    // A constant bound: else the loop is not unrolled.
                    if 8 * eight >= columns {
                        break;
                    }
                    for half in 0..2 {
                        let register = (first / 8 + eight) * EIGHT_REGISTERS + 2 * half;
                        let both = [
                            self.op.result_of(accumulators.get(register)),
                            self.op.result_of(accumulators.get(register + 1)),
                        ];
                        let to = to.wrapping_byte_add(8 * half * PITCH);
                        C::store_each(to.wrapping_add(8 * eight), both);
                    }
                }
                warp::sync_warp(warp::FULL_MASK);
                if columns == Self::PASS_COLUMNS {
                    lines.store::<{ LINE_BYTES / CHUNK_BYTES }>();
                } else {
                    lines.store::<{ LINE_BYTES / CHUNK_BYTES / 2 }>();
                }
            }
        }
    }
}
