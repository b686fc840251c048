//! The lines of an epilogue tile of the `wgmma` kernels, moved by warps between shared memory and
//! C.
//!
//! A line is what a row of the epilogue tile has in shared memory, 128 bytes with swizzled chunks.
//! It holds neighbouring elements of a row of C, or of a column where C lies column by column.
//!
//! Where TMA cannot store C, lines of it begin anywhere. A store of the 128 bytes of a line would
//! touch two lines of the L2 cache and write parts of sectors, which takes twice as long. So a warp
//! stores 128 bytes as the L2 cache has them: the end of the line before, which lies in the
//! epilogue tile that was stored before, and the start of this one. What is left of the last line
//! is stored behind it.

use crate::gemm::element::Output;
use crate::gemm::epilogue::output_elements::OutputElements;
use crate::gemm::epilogue::tma_store::CHUNK_BYTES;
use crate::gemm::scheduler::persistent::TileCoord;
use crate::gemm::wgmma::stage::ROW_BYTES;
use cuda_std::hint::{opaque, rolled};
use cuda_std::prelude::*;
use cuda_std::vector::{U32x4, Vector};

/// Lines that a warp has in flight: those after which the swizzle pattern repeats.
const IN_FLIGHT: usize = 8;

/// Lanes of a warp.
const LANES: usize = 32;

/// Chunks of a line.
const CHUNKS: usize = ROW_BYTES / CHUNK_BYTES;

/// Words of a chunk.
const WORDS: usize = CHUNK_BYTES / 4;

/// Chunks that a lane stores of the lines in flight.
const STORES: usize = IN_FLIGHT * CHUNKS / LANES;

/// The address of an element of a line of the epilogue tile at `start`. The 128-byte swizzle: the
/// index of a chunk is XORed with the line's last three bits.
#[inline(always)]
pub(super) fn element<C>(start: *mut u8, line: usize, element: usize) -> *mut C {
    let byte = element * size_of::<C>();
    let chunk = (byte / CHUNK_BYTES) ^ (line % IN_FLIGHT);
    let in_line = chunk * CHUNK_BYTES + byte % CHUNK_BYTES;
    start.wrapping_add(line * ROW_BYTES + in_line).cast()
}

/// A tile of lines in shared memory: an epilogue tile, or half of one where C lies column by
/// column.
#[derive(Clone, Copy)]
pub(super) struct LineTile {
    /// Where it begins.
    pub start: *mut u8,
    /// Where that begins whose lines end in C where these begin; `None` where there is none.
    pub before: Option<*mut u8>,
    /// Whether there is none whose lines begin where these end.
    pub is_last: bool,
    /// Its lines, of which each warp of the warpgroup has a quarter.
    pub lines: usize,
    /// Elements of a line that are the tile's.
    pub elements: u32,
}

/// The lines of this warp in an epilogue tile, and in C.
#[derive(Clone, Copy)]
pub(super) struct Lines<C> {
    /// This lane.
    lane: usize,
    /// The first line in the epilogue tile.
    in_tile: *mut u8,
    /// The first line in that before, or in this one where there is none.
    before: *mut u8,
    has_before: bool,
    is_last: bool,
    /// The first line in C.
    in_c: *mut C,
    /// Distance of two lines in C.
    pitch: usize,
    /// Lines of the warp, and those of them that C has.
    of_warp: usize,
    lines: usize,
    /// Elements of the tile that C has from the start of a line on: none or less where it lies
    /// behind C.
    count: i32,
}

impl<C: Output<Wide = f32>> Lines<C> {
    /// Elements of a line, and those of a lane.
    const ELEMENTS: usize = ROW_BYTES / size_of::<C>();
    const OF_LANE: usize = Self::ELEMENTS / LANES;

    /// Those of a tile that is C's from `coord` on.
    #[inline(always)]
    pub fn new(elements: &OutputElements<C>, coord: TileCoord, tile: LineTile) -> Self {
        let params = elements.params;
        let of_warp = tile.lines / 4;
        // Opaque: what is computed of it here would else take registers in the main loop.
        let thread = opaque(thread::thread_idx_x() as usize);
        let first = thread / LANES % 4 * of_warp;
        let ([major, majors], [minor, minors]) = if elements.transposed {
            ([coord.column, params.n], [coord.row, params.m])
        } else {
            ([coord.row, params.m], [coord.column, params.n])
        };
        let major = major as usize + first;
        let pitch = params.ldc as usize;
        let matrix = coord.matrix as usize * params.stride_c as usize;
        let before = tile.before.unwrap_or(tile.start);
        Lines {
            lane: thread % LANES,
            in_tile: tile.start.wrapping_add(first * ROW_BYTES),
            before: before.wrapping_add(first * ROW_BYTES),
            has_before: tile.before.is_some(),
            is_last: tile.is_last,
            in_c: (elements.c).wrapping_add(matrix + major * pitch + minor as usize),
            pitch,
            of_warp,
            lines: (majors as usize).saturating_sub(major).min(of_warp),
            count: (minors as i32 - minor as i32).min(tile.elements as i32),
        }
    }

    /// The lines from `line` on. No closure goes over them: it would be a function of its own, with
    /// the lines in local memory.
    #[inline(always)]
    fn from(&self, line: usize) -> Self {
        // The distances of the lines are computed again each time: kept for all epilogue tiles,
        // they spill.
        let pitch = opaque(self.pitch);
        Lines {
            in_tile: self.in_tile.wrapping_add(line * ROW_BYTES),
            before: self.before.wrapping_add(line * ROW_BYTES),
            in_c: self.in_c.wrapping_add(line * pitch),
            pitch,
            lines: self.lines.saturating_sub(line),
            ..*self
        }
    }

    /// The address of a line in C.
    #[inline(always)]
    fn line(&self, line: usize) -> *mut C {
        self.in_c.wrapping_add(line * self.pitch)
    }

    /// Loads the lines from C to shared memory, and zeros for elements outside of C.
    ///
    /// # Safety
    /// All lanes of the warp execute it, and no other thread uses these lines meanwhile. C is as
    /// the `elements` of [`new`](Self::new) say, and readable.
    #[inline(always)]
    pub unsafe fn load(&self) {
        let lane = self.lane;
        let mut first = opaque(0);
        while first < self.of_warp {
            let lines = self.from(first);
            let mut loaded = [[C::from_wide(0.0); 2]; IN_FLIGHT];
            for line in 0..IN_FLIGHT {
                for j in 0..Self::OF_LANE {
                    let at = lane + j * LANES;
                    if line < lines.lines && (at as i32) < lines.count {
                        // SAFETY: the test says that C has the element.
                        loaded[line][j] = unsafe { *lines.line(line).wrapping_add(at) };
                    }
                }
            }
            for line in 0..IN_FLIGHT {
                for j in 0..Self::OF_LANE {
                    // SAFETY: the element is inside of the line, which is this warp's.
                    unsafe { *element(lines.in_tile, line, lane + j * LANES) = loaded[line][j] };
                }
            }
            first = rolled(first + IN_FLIGHT);
        }
    }

    /// Stores the lines to C, as far as they are inside of it: 128 aligned bytes of each, of which
    /// a lane has a chunk.
    ///
    /// # Safety
    /// As for [`load`](Self::load); C may be written, and no other thread accesses these elements.
    #[inline(always)]
    pub unsafe fn store(&self) {
        let mut first = opaque(0);
        while first < self.lines {
            let lines = self.from(first);
            let is_whole = lines.has_before && lines.count >= Self::ELEMENTS as i32;
            // SAFETY: the contract is that of this function. Where the condition holds, C has the
            // 128 bytes that each of these lines begins in.
            unsafe {
                if is_whole && lines.lines >= IN_FLIGHT {
                    lines.store_chunks::<true>(0);
                } else {
                    lines.store_chunks::<false>(0);
                }
                if lines.is_last {
                    lines.store_chunks::<false>(ROW_BYTES as i32);
                }
            }
            first = rolled(first + IN_FLIGHT);
        }
    }

    /// The word that the epilogue tile has at byte `at` of a line, a multiple of 4: less than 0 in
    /// the line before, from the line's bytes on in the line itself again.
    ///
    /// # Safety
    /// This warp has written the lines, or a barrier lies behind that.
    #[inline(always)]
    unsafe fn word(&self, line: usize, at: i32) -> u32 {
        let tile = if at < 0 { self.before } else { self.in_tile };
        let swizzled = (at as u32 % ROW_BYTES as u32) ^ (line % IN_FLIGHT * CHUNK_BYTES) as u32;
        let from = tile.wrapping_add(line * ROW_BYTES + swizzled as usize);
        // SAFETY: the word is inside of the line.
        unsafe { *from.cast::<u32>() }
    }

    /// The chunk at byte `at` of a line, a multiple of an element's bytes.
    ///
    /// # Safety
    /// As for [`word`](Self::word).
    #[inline(always)]
    unsafe fn chunk(&self, line: usize, at: i32) -> [u32; WORDS] {
        let mut words = [0; WORDS + 1];
        for word in 0..WORDS + 1 {
            if word < WORDS || size_of::<C>() < 4 {
                // SAFETY: the contract is that of this function.
                words[word] = unsafe { self.word(line, (at & !3) + 4 * word as i32) };
            }
        }
        let mut chunk = [0; WORDS];
        for word in 0..WORDS {
            let both = u64::from(words[word + 1]) << 32 | u64::from(words[word]);
            chunk[word] = match size_of::<C>() {
                4 => words[word],
                _ => (both >> (8 * (at & 3))) as u32,
            };
        }
        chunk
    }

    /// Stores 128 aligned bytes of each of [`IN_FLIGHT`] lines: those that the line begins in, or
    /// those `further` bytes behind them, 0 or 128. `WHOLE` are those that C has all of.
    ///
    /// # Safety
    /// As for [`store`](Self::store).
    #[inline(always)]
    unsafe fn store_chunks<const WHOLE: bool>(&self, further: i32) {
        let (line_of_lane, chunk_of_lane) = (self.lane / CHUNKS, self.lane % CHUNKS);
        let of_store = |store: usize| {
            let line = store * (LANES / CHUNKS) + line_of_lane;
            let in_128_bytes = self.line(line).addr() as u32 % ROW_BYTES as u32;
            let at = (chunk_of_lane * CHUNK_BYTES) as i32 - in_128_bytes as i32;
            (line, at)
        };
        let mut chunks = [[0; WORDS]; STORES];
        for store in 0..STORES {
            let (line, at) = of_store(store);
            let at = if further == 0 {
                at
            } else {
                at & (ROW_BYTES as i32 - 1)
            };
            // SAFETY: the contract is that of this function.
            chunks[store] = unsafe { self.chunk(line, at) };
        }
        let least = if self.has_before { i32::MIN } else { 0 };
        let end = (self.count * size_of::<C>() as i32).min(ROW_BYTES as i32);
        for store in 0..STORES {
            let (line, at) = of_store(store);
            let at = at + further;
            let to = self.line(line).wrapping_byte_offset(at as isize);
            let is_stored = |from: i32, bytes: i32| {
                WHOLE || line < self.lines && at + from >= least && at + from + bytes <= end
            };
            // SAFETY: the tests, or the contract, say that C has the elements. The chunk is
            // aligned, as 128 bytes are from which on lanes have one each.
            unsafe {
                if is_stored(0, CHUNK_BYTES as i32) {
                    U32x4::store(to.cast(), chunks[store]);
                } else {
                    for element in 0..CHUNK_BYTES / size_of::<C>() {
                        let byte = element * size_of::<C>();
                        let bits = chunks[store][byte / 4] >> (byte % 4 * 8);
                        if is_stored(byte as i32, size_of::<C>() as i32) {
                            let to = to.wrapping_add(element);
                            match size_of::<C>() {
                                4 => *to.cast() = bits,
                                _ => *to.cast() = bits as u16,
                            }
                        }
                    }
                }
            }
        }
    }
}
