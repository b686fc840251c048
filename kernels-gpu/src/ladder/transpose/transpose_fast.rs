//! `transpose_fast`, `transpose_fast_f64`, `transpose_fast_f16`: any size, as fast as memory.
//!
//! # Idea
//! `transpose_padded` has no fault left in its accesses, but too few bytes in flight: a thread has
//! one 4-byte load. Here it loads a micro-tile of 16-byte vectors, transposes it in its
//! registers, and stores 16-byte vectors to the shared tile. From there rows of the output are
//! stored as 16-byte vectors too. The tile needs no padding: the offset of a vector in its row is
//! XORed with the row's number (a swizzle), so that reads and writes are free of bank conflicts.
//!
//! Where rows do not start at multiples of 16 bytes, a block loads element by element, which is
//! coalesced all the same, and shifts what it stores: in each row of the output it begins at the
//! last 32-byte sector that starts in or before its tile. Stores are then vectors that fill whole
//! sectors, and no sector is written by two blocks. For that the tile begins a few rows of the
//! input early.
//!
//! Blocks that run at the same time lie below each other: they write neighbouring segments of the
//! same rows.
//!
//! # Thread mapping
//! 256 threads for a tile of T × T elements, T = 64 (128 for 2-byte elements); with V elements in
//! 16 bytes, thread t owns the V × V micro-tiles t, t + 256, … of the tile. The grid's x runs down
//! the rows.
//!
//! # Preconditions
//! None: tests at the edges of the matrix, and a choice between the two ways by width, height and
//! addresses.
//!
//! # What changed since the rung before
//! Against `transpose_swizzled`: 64 bytes per thread in flight instead of 4 (128 for 8- and 2-byte
//! elements), vectors everywhere, the order of the blocks, and any size.
//!
//! # Source
//! Beyond source 003.

use super::Size;
use crate::geometry::Geometry;
use cuda_std::hint::{opaque, rolled};
use cuda_std::prelude::*;
use cuda_std::vector::{F32x2, F32x4, F64x2, U32x4, Vector};

const THREADS: usize = 256;

/// Width and height of the tile, and the same for elements of 2 bytes.
const TILE: usize = 64;
const TILE_F16: usize = 128;

/// Rows that a tile begins early where stores are shifted: at least the elements of a sector, and
/// such that the rows are a multiple of what the block loads at once.
const EARLY: usize = 8;
const EARLY_F16: usize = 16;

/// Loads of two elements that a thread issues before it stores them: enough in flight, and few
/// registers.
const BATCH: usize = 9;
const BATCH_F16: usize = 12;

/// Most micro-tiles of a thread.
const MAX_MICRO_TILES: usize = 4;

/// 256 threads for 64 × 64 elements of the input.
pub const GEOMETRY: Geometry = Geometry::tiles([THREADS, 1], [TILE, TILE]).along_rows();

/// 256 threads for 128 × 128 elements of the input.
pub const GEOMETRY_F16: Geometry = Geometry::tiles([THREADS, 1], [TILE_F16, TILE_F16]).along_rows();

/// An element type of which `V` make 16 bytes.
trait Element<const V: usize>: Copy + Default {
    /// Loads a vector from a multiple of 16 bytes.
    unsafe fn load(from: *const Self) -> [Self; V];
    /// Stores a vector to a multiple of 16 bytes.
    unsafe fn store(to: *mut Self, vector: [Self; V]);
    /// Stores two elements to a multiple of their size.
    unsafe fn store_pair(to: *mut Self, pair: [Self; 2]);
}

macro_rules! elements {
    ($($element:ty: $count:literal, $vector:ty, $pair:ty;)*) => {
        $(impl Element<$count> for $element {
            #[inline(always)]
            unsafe fn load(from: *const Self) -> [Self; $count] {
                // SAFETY: the contract of the method is the vector's.
                unsafe { <$vector>::load(from) }
            }

            #[inline(always)]
            unsafe fn store(to: *mut Self, vector: [Self; $count]) {
                // SAFETY: the contract of the method is the vector's.
                unsafe { <$vector>::store(to, vector) }
            }

            #[inline(always)]
            unsafe fn store_pair(to: *mut Self, pair: [Self; 2]) {
                // SAFETY: the contract of the method is the vector's.
                unsafe { <$pair>::store(to, pair) }
            }
        })*
    };
}

elements! {
    f32: 4, F32x4, F32x2;
    f64: 2, F64x2, F64x2;
}

impl Element<8> for u16 {
    #[inline(always)]
    unsafe fn load(from: *const u16) -> [u16; 8] {
        // SAFETY: the contract of the method is the vector's: 8 elements are 16 bytes.
        halves(unsafe { U32x4::load(from.cast()) })
    }

    #[inline(always)]
    unsafe fn store(to: *mut u16, vector: [u16; 8]) {
        let words = core::array::from_fn(|i| word(vector[2 * i], vector[2 * i + 1]));
        // SAFETY: the contract of the method is the vector's: 8 elements are 16 bytes.
        unsafe { U32x4::store(to.cast(), words) }
    }

    #[inline(always)]
    unsafe fn store_pair(to: *mut u16, [low, high]: [u16; 2]) {
        // SAFETY: `to` is a multiple of the pair's size, 4 bytes.
        unsafe { *to.cast() = word(low, high) }
    }
}

/// Two elements as a word.
#[inline(always)]
fn word(low: u16, high: u16) -> u32 {
    u32::from(low) | u32::from(high) << 16
}

/// The elements of four words.
#[inline(always)]
fn halves(words: [u32; 4]) -> [u16; 8] {
    core::array::from_fn(|i| (words[i / 2] >> (i % 2 * 16)) as u16)
}

/// A tile that is moved: input rows `top …` and columns `left …` become output columns and rows.
#[derive(Clone, Copy)]
struct Move<T> {
    input: *const T,
    output: *mut T,
    /// The shared tile, output row by output row.
    tile: *mut T,
    left: usize,
    top: usize,
    size: Size,
}

impl<T> Move<T> {
    // ANCHOR: by_vectors
    /// Moves the tile by vectors.
    ///
    /// # Safety
    /// The arrays are those of the kernel. Width and height are multiples of `V`, input and output
    /// of 16 bytes; the tile has `TILE`² elements.
    #[inline(always)]
    unsafe fn by_vectors<const V: usize, const TILE: usize>(self)
    where
        T: Element<V>,
    {
        const { assert!(TILE / V * (TILE / V) <= MAX_MICRO_TILES * THREADS) };
        let Size { width, height, .. } = self.size;
        let t = thread::thread_idx_x() as usize;
        let in_row = TILE / V;
        let micro_tiles = in_row * in_row / THREADS;
        let swizzled = |row: usize, vector: usize| row * TILE + (vector ^ (row / V % in_row)) * V;
        let mut elements = [[[T::default(); V]; V]; MAX_MICRO_TILES];
        for s in 0..micro_tiles {
            let micro_tile = t + s * THREADS;
            let (row, column) = (
                self.top + micro_tile / in_row * V,
                self.left + micro_tile % in_row * V,
            );
            if row < height && column < width {
                for i in 0..V {
                    // SAFETY: the micro-tile is inside, because the sizes are multiples of V.
                    elements[s][i] = unsafe { T::load(self.input.add((row + i) * width + column)) };
                }
            }
        }
        for s in 0..micro_tiles {
            let micro_tile = t + s * THREADS;
            for i in 0..V {
                let offset = swizzled(micro_tile % in_row * V + i, micro_tile / in_row);
                // SAFETY: inside of the tile; read by others after the barrier only.
                unsafe {
                    T::store(
                        self.tile.add(offset),
                        core::array::from_fn(|j| elements[s][j][i]),
                    )
                };
            }
        }
        thread::sync_threads();
        for s in 0..micro_tiles * V {
            let vector = t + s * THREADS;
            let (row, at) = (vector / in_row, vector % in_row);
            if self.left + row < width && self.top + at * V < height {
                // SAFETY: inside of the tile and, by the test, of the output.
                unsafe {
                    let to = (self.left + row) * height + self.top + at * V;
                    T::store(
                        self.output.add(to),
                        T::load(self.tile.add(swizzled(row, at))),
                    );
                }
            }
        }
    }
    // ANCHOR_END: by_vectors

    /// Moves the tile where rows start anywhere.
    ///
    /// # Safety
    /// The arrays are those of the kernel. The tile has `TILE` rows of `PITCH` elements.
    #[inline(always)]
    unsafe fn by_elements<
        const V: usize,
        const TILE: usize,
        const EARLY: usize,
        const BATCH: usize,
        const PITCH: usize,
    >(
        self,
    ) where
        T: Element<V>,
    {
        let Size { width, height, .. } = self.size;
        let (left, top) = (self.left, self.top);
        // Apart, because a test at each load would wait for the load before. SAFETY: the contract
        // is this function's; the first way is taken where no load needs a test.
        unsafe {
            if left + TILE <= width && top >= EARLY && top + TILE <= height {
                self.load_elements::<V, false, TILE, EARLY, BATCH, PITCH>();
            } else {
                self.load_elements::<V, true, TILE, EARLY, BATCH, PITCH>();
            }
        }
        let t = thread::thread_idx_x() as usize;
        thread::sync_threads();
        let sector = 32 / size_of::<T>();
        let (at, row) = (t % (TILE / V) * V, t / (TILE / V));
        let step = THREADS / (TILE / V);
        for i in 0..TILE / step {
            let row = row + i * step;
            // The first element of the tile in this row of the output, and how far it is past the
            // start of a sector.
            let start = (left + row) * height + top;
            let past = (self.output.addr() / size_of::<T>()).wrapping_add(start) % sector;
            let column = (top + at).wrapping_sub(past);
            let from = self
                .tile
                .wrapping_add(row * PITCH + EARLY + at)
                .wrapping_sub(past);
            let to = self.output.wrapping_add(start + at).wrapping_sub(past);
            if left + row >= width {
                continue;
            }
            // SAFETY: `from` is inside of the tile, whose rows begin EARLY elements before `top`.
            // The tests keep what is written inside of the output.
            unsafe {
                if column < height && column + V <= height {
                    T::store(to, core::array::from_fn(|j| *from.add(j)));
                } else {
                    for j in 0..V {
                        if column.wrapping_add(j) < height {
                            *to.wrapping_add(j) = *from.add(j);
                        }
                    }
                }
                // The last tile of the row also stores what the next one would have.
                if top + TILE >= height {
                    for j in at..V + at {
                        if j < past && top + TILE + j - past < height {
                            *self.output.add(start + TILE + j - past) =
                                *self.tile.add(row * PITCH + EARLY + TILE + j - past);
                        }
                    }
                }
            }
        }
    }

    /// Fills the tile, from `EARLY` rows above it on, with pairs of rows: the tile takes two
    /// neighbours at once. What lies outside of the input stays unread where `GUARDED`, and is not
    /// outside elsewhere.
    ///
    /// # Safety
    /// As for `by_elements`.
    #[inline(always)]
    unsafe fn load_elements<
        const V: usize,
        const GUARDED: bool,
        const TILE: usize,
        const EARLY: usize,
        const BATCH: usize,
        const PITCH: usize,
    >(
        self,
    ) where
        T: Element<V>,
    {
        const { assert!((TILE + EARLY).is_multiple_of(THREADS / TILE * 2 * BATCH)) };
        let Size { width, height, .. } = self.size;
        let t = thread::thread_idx_x() as usize;
        let (column, mut row) = (t % TILE, t / TILE * 2);
        let step = THREADS / TILE * 2;
        let present = |y: usize| !GUARDED || (self.left + column < width && y < height);
        let first = (self.top + row).wrapping_sub(EARLY);
        let mut from = self
            .input
            .wrapping_add(first.wrapping_mul(width) + self.left + column);
        while row < TILE + EARLY {
            let mut pairs = [[T::default(); 2]; BATCH];
            for i in 0..BATCH {
                let y = (self.top + row + i * step).wrapping_sub(EARLY);
                for j in 0..2 {
                    if present(y.wrapping_add(j)) {
                        // SAFETY: inside of the input, by the test or by the caller.
                        pairs[i][j] = unsafe { *from.wrapping_add(j * width) };
                    }
                }
                // Opaque, or each of the loads has an address of its own in two registers.
                from = from.wrapping_add(opaque(step * width));
            }
            for i in 0..BATCH {
                // SAFETY: inside of the tile; read by others after the barrier only.
                unsafe { T::store_pair(self.tile.add(column * PITCH + row + i * step), pairs[i]) };
            }
            row = rolled(row + BATCH * step);
        }
    }
}

#[inline(always)]
unsafe fn body<
    T: Element<V>,
    const V: usize,
    const TILE: usize,
    const EARLY: usize,
    const BATCH: usize,
    const PITCH: usize,
>(
    input: &[T],
    output: *mut T,
    size: Size,
) {
    // An even pitch for the pairs, and one that spreads rows over the banks.
    const { assert!(PITCH == TILE + EARLY + 2) };
    let tile = shared_array![T; TILE * PITCH];
    let aligned = size.width.is_multiple_of(V)
        && size.height.is_multiple_of(V)
        && (input.as_ptr().addr() | output.addr()).is_multiple_of(16);
    // Opaque, or what both ways need of it is computed ahead of the branch: 58 registers on sm_90a,
    // not 52.
    let block = opaque(thread::block_idx_x() as usize) as u32 as usize;
    let tile_of_block = Move {
        input: input.as_ptr(),
        output,
        tile,
        left: thread::block_idx_y() as usize * TILE,
        top: block * TILE,
        size,
    };
    // SAFETY: `aligned` is what `by_vectors` asks for; the tile has TILE rows of PITCH elements, at
    // least TILE squared. Arrays and grid are the kernel's.
    unsafe {
        if aligned {
            tile_of_block.by_vectors::<V, TILE>();
        } else {
            tile_of_block.by_elements::<V, TILE, EARLY, BATCH, PITCH>();
        }
    }
}

transpose_kernels! {
    /// Transposes `f32` of any size.
    transpose_fast, f32, max_threads THREADS =>
        body::<f32, 4, TILE, EARLY, BATCH, { TILE + EARLY + 2 }>;
    /// Transposes `f64` of any size.
    transpose_fast_f64, f64, max_threads THREADS =>
        body::<f64, 2, TILE, EARLY, BATCH, { TILE + EARLY + 2 }>;
    /// Transposes elements of 2 bytes of any size; nothing is computed, so their bits pass as
    /// integers.
    transpose_fast_f16, u16, max_threads THREADS =>
        body::<u16, 8, TILE_F16, EARLY_F16, BATCH_F16, { TILE_F16 + EARLY_F16 + 2 }>;
}
