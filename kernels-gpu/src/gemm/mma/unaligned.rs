//! Tiles of operands whose rows begin anywhere, in any layout.
//!
//! # Idea
//! A row is copied in the aligned vectors of 16 bytes in which it lies. The first of them begins
//! before the row's first element, by a shift of less than a vector. In shared memory the row keeps
//! this shift. Fragments are read element by element, from where their elements lie, so rows need
//! not be shifted to a common place, and any layout has the same code. Where memory bounds a
//! product, that is fast enough, and no operand is copied to aligned rows first.
//!
//! # Layout
//! Rows lie as in global memory, in pitches that are an odd multiple of 16 bytes, so that the eight
//! rows of a fragment lie in different banks. Rows that are a multiple of a vector's elements apart
//! have the same shift.
//!
//! - K-major: BMN rows. A tile has the next [`BK_BYTES`] bytes of their vectors, so the last
//!   elements of a k-tile lie in the tile behind it.
//! - MN-major: a row for each k. Each has one vector more, for the shift.
//!
//! # Source
//! Beyond the sources. PTX ISA, "cp.async", "mma.sync".

use super::loader::Panel;
use super::operand::{BK_BYTES, MMA_M, MMA_N, TensorElement, TileElement, VECTOR_BYTES};
use cuda_std::async_copy::SharedAddress;
use cuda_std::matrix;
use cuda_std::prelude::*;

/// Bytes of a tile of `bmn` rows of A or columns of B.
pub const fn tile_bytes(bmn: usize) -> usize {
    bmn * K_MAJOR_PITCH
}

/// Bytes from one row of a K-major tile to the next.
const K_MAJOR_PITCH: usize = BK_BYTES + VECTOR_BYTES;

/// The vector with the first element of a panel's row `row`, as rows are stored, and the bytes
/// before the element in it.
#[inline(always)]
pub(super) fn first_vector<T>(panel: &Panel<T>, row: u32) -> (*const T, u32) {
    let element = match panel.k_major {
        true => panel.element(row, 0),
        false => panel.element(0, row),
    };
    let shift = element.addr() % VECTOR_BYTES;
    (element.wrapping_byte_sub(shift), shift as u32)
}

/// How a lane reads neighbours: of a K-major tile as one word or element by element, or of an
/// MN-major one.
mod access {
    pub const WORDS: u32 = 0;
    pub const ELEMENTS: u32 = 1;
    pub const MN_MAJOR: u32 = 2;
}

/// A tile of an operand that is read, and the one behind it along k.
#[derive(Clone, Copy)]
pub struct TilePair {
    /// The tile.
    pub tile: SharedAddress,
    /// The one behind it.
    pub next: SharedAddress,
}

/// Where a lane finds its elements in tiles of an operand.
///
/// A register of a fragment has [`NEIGHBOURS`](TileElement::NEIGHBOURS) elements along k. Lane l
/// has those of row or column l / 4 from `NEIGHBOURS` · (l mod 4) on.
#[derive(Clone, Copy)]
pub struct TileReader {
    /// A constant of [`access`].
    access: u32,
    /// Of each neighbour, its offset in the tile, in bytes.
    offsets: [u32; 4],
    /// Of each neighbour a bit, whether in the last step of a k-tile it lies in the next tile.
    is_in_next: u32,
    /// The same two for every other eight rows, where a vector has 16 elements.
    other_eight: [u32; 2],
}

impl TileReader {
    /// That of this lane, for tiles of `panel`.
    #[inline(always)]
    pub fn new<E: TileElement, const BMN: usize>(panel: &Panel<E::Stored>) -> Self {
        const {
            assert!(mn_major_pitch::<E, BMN>() * E::BK <= tile_bytes(BMN));
            assert!(BK_BYTES.is_multiple_of(4 * E::NEIGHBOURS * E::ELEMENT_BYTES));
        }
        let lane = warp::lane_id();
        let (i, k) = (lane / 4, lane % 4 * E::NEIGHBOURS as u32);
        let bytes = E::ELEMENT_BYTES as u32;
        let (start, pitch) = (panel.element(0, 0).addr() as u32, panel.leading * bytes);
        let shift = |row: u32| start.wrapping_add(row * pitch) % VECTOR_BYTES as u32;
        // Bytes from a row's first vector to a neighbour, and from there to the next tile.
        let within = |row: u32, e: u32| shift(row) + (k + e) * bytes;
        let last_step = (BK_BYTES - 4 * E::NEIGHBOURS * E::ELEMENT_BYTES) as u32;
        let mut offsets = [0; 4];
        let mut is_in_next = 0;
        let mut other_in_next = 0;
        for e in 0..E::NEIGHBOURS as u32 {
            let k = k + e;
            offsets[e as usize] = match panel.k_major {
                true => i * K_MAJOR_PITCH as u32 + within(i, e),
                false => k * mn_major_pitch::<E, BMN>() as u32 + shift(k) + i * bytes,
            };
            let is_next = |row: u32| u32::from(within(row, e) + last_step >= BK_BYTES as u32) << e;
            is_in_next |= is_next(i);
            other_in_next |= is_next(i + 8);
        }
        let other_shift = match E::VECTOR > 8 {
            true => shift(i + 8).wrapping_sub(shift(i)),
            false => 0,
        };
        let are_words = start.is_multiple_of(4)
            && pitch.is_multiple_of(4)
            && E::NEIGHBOURS * E::ELEMENT_BYTES == 4;
        TileReader {
            access: match (panel.k_major, are_words) {
                (true, true) => access::WORDS,
                (true, false) => access::ELEMENTS,
                (false, _) => access::MN_MAJOR,
            },
            offsets,
            is_in_next,
            other_eight: [other_shift, other_in_next],
        }
    }

    /// The address of a neighbour whose row or column begins `i` behind the tile's first, a
    /// multiple of 8, and whose k `step` times the elements of four lanes.
    #[inline(always)]
    fn address<E: TileElement, const BMN: usize, const ACCESS: u32>(
        &self,
        tiles: TilePair,
        (i, step): (usize, usize),
        e: usize,
    ) -> SharedAddress {
        let k = step * 4 * E::NEIGHBOURS;
        if ACCESS == access::MN_MAJOR {
            let offset = k * mn_major_pitch::<E, BMN>() + i * E::ELEMENT_BYTES;
            return tiles.tile.at(self.offsets[e]).at(offset as u32);
        }
        let [shift, is_in_next] = match E::VECTOR > 8 && !i.is_multiple_of(16) {
            true => self.other_eight,
            false => [0, self.is_in_next],
        };
        let is_last_step = k + 4 * E::NEIGHBOURS == E::BK;
        let tile = match is_last_step && is_in_next >> e & 1 != 0 {
            true => tiles.next.at((BK_BYTES as u32).wrapping_neg()),
            false => tiles.tile,
        };
        let offset = i * K_MAJOR_PITCH + k * E::ELEMENT_BYTES;
        tile.at(self.offsets[e].wrapping_add(shift))
            .at(offset as u32)
    }

    /// The neighbours of a register: see [`address`](Self::address).
    ///
    /// # Safety
    /// The tiles are complete.
    #[inline(always)]
    unsafe fn neighbours<E: TileElement, const BMN: usize, const ACCESS: u32>(
        &self,
        tiles: TilePair,
        at: (usize, usize),
    ) -> [u32; 4] {
        let mut neighbours = [0; 4];
        for e in 0..E::NEIGHBOURS {
            let address = self.address::<E, BMN, ACCESS>(tiles, at, e);
            // SAFETY: the tiles are complete by the contract. Rows and shifts are multiples of an
            // element's bytes.
            neighbours[e] = unsafe {
                match E::ELEMENT_BYTES {
                    1 => matrix::load_byte(address),
                    2 => matrix::load_half(address),
                    _ => matrix::load_word(address),
                }
            };
        }
        neighbours
    }

    /// A register of a fragment: see [`address`](Self::address).
    ///
    /// # Safety
    /// The tiles are complete.
    #[inline(always)]
    unsafe fn register<E: TileElement, const BMN: usize, const ACCESS: u32>(
        &self,
        tiles: TilePair,
        at: (usize, usize),
    ) -> u32 {
        // SAFETY: the contract is that of this function. Where neighbours are words, rows and
        // shifts are multiples of 4 bytes.
        unsafe {
            if ACCESS == access::WORDS {
                return matrix::load_word(self.address::<E, BMN, ACCESS>(tiles, at, 0));
            }
            let neighbours = self.neighbours::<E, BMN, ACCESS>(tiles, at);
            let mut register = 0;
            for e in 0..E::NEIGHBOURS {
                register |= neighbours[e] << (8 * E::ELEMENT_BYTES * e);
            }
            register
        }
    }

    /// Four elements that are neighbours along k, of the row or column that lies as far behind row
    /// or column `i` of the tile, a multiple of 8, as this lane's group of four behind the first.
    ///
    /// # Safety
    /// The tiles are complete.
    #[inline(always)]
    pub unsafe fn four<E: TileElement, const BMN: usize>(
        &self,
        tiles: TilePair,
        i: usize,
    ) -> [u32; 4] {
        const { assert!(E::NEIGHBOURS == 4) };
        // SAFETY: the contract is that of this function.
        unsafe {
            match self.access {
                access::MN_MAJOR => self.neighbours::<E, BMN, { access::MN_MAJOR }>(tiles, (i, 0)),
                _ => self.neighbours::<E, BMN, { access::ELEMENTS }>(tiles, (i, 0)),
            }
        }
    }

    /// The fragments of A of a warp tile for k-block `k_block`, from row `row` of the tile on.
    ///
    /// # Safety
    /// The tiles are complete.
    #[inline(always)]
    pub unsafe fn load_a<E: TensorElement, const BM: usize, const MMAS_M: usize>(
        &self,
        tiles: TilePair,
        row: usize,
        k_block: usize,
    ) -> [[u32; 4]; MMAS_M] {
        let at = (row, k_block);
        // SAFETY: the contract is that of this function.
        unsafe {
            match self.access {
                access::MN_MAJOR => {
                    self.fragments_a::<E, BM, MMAS_M, { access::MN_MAJOR }>(tiles, at)
                }
                access::ELEMENTS if E::NEIGHBOURS > 1 => {
                    self.fragments_a::<E, BM, MMAS_M, { access::ELEMENTS }>(tiles, at)
                }
                _ => self.fragments_a::<E, BM, MMAS_M, { access::WORDS }>(tiles, at),
            }
        }
    }

    /// The fragments of B of a warp tile for k-block `k_block`, from column `column` of the tile
    /// on.
    ///
    /// # Safety
    /// The tiles are complete.
    #[inline(always)]
    pub unsafe fn load_b<E: TensorElement, const BN: usize, const MMAS_N: usize>(
        &self,
        tiles: TilePair,
        column: usize,
        k_block: usize,
    ) -> [[u32; 2]; MMAS_N] {
        let at = (column, k_block);
        // SAFETY: the contract is that of this function.
        unsafe {
            match self.access {
                access::MN_MAJOR => {
                    self.fragments_b::<E, BN, MMAS_N, { access::MN_MAJOR }>(tiles, at)
                }
                access::ELEMENTS if E::NEIGHBOURS > 1 => {
                    self.fragments_b::<E, BN, MMAS_N, { access::ELEMENTS }>(tiles, at)
                }
                _ => self.fragments_b::<E, BN, MMAS_N, { access::WORDS }>(tiles, at),
            }
        }
    }

    /// # Safety
    /// As for [`load_a`](Self::load_a).
    #[inline(always)]
    unsafe fn fragments_a<
        E: TensorElement,
        const BM: usize,
        const MMAS_M: usize,
        const ACCESS: u32,
    >(
        &self,
        tiles: TilePair,
        (row, k_block): (usize, usize),
    ) -> [[u32; 4]; MMAS_M] {
        let mut fragments = [[0; 4]; MMAS_M];
        for i in 0..MMAS_M {
            for register in 0..4 {
                let row = row + i * MMA_M + 8 * (register % 2);
                let at = (row, 2 * k_block + register / 2);
                // SAFETY: the contract is that of this function.
                fragments[i][register] = unsafe { self.register::<E, BM, ACCESS>(tiles, at) };
            }
        }
        fragments
    }

    /// # Safety
    /// As for [`load_b`](Self::load_b).
    #[inline(always)]
    unsafe fn fragments_b<
        E: TensorElement,
        const BN: usize,
        const MMAS_N: usize,
        const ACCESS: u32,
    >(
        &self,
        tiles: TilePair,
        (column, k_block): (usize, usize),
    ) -> [[u32; 2]; MMAS_N] {
        let mut fragments = [[0; 2]; MMAS_N];
        for j in 0..MMAS_N {
            for register in 0..2 {
                let at = (column + j * MMA_N, 2 * k_block + register);
                // SAFETY: the contract is that of this function.
                fragments[j][register] = unsafe { self.register::<E, BN, ACCESS>(tiles, at) };
            }
        }
        fragments
    }
}

/// Bytes from one row of an MN-major tile of `BMN` rows or columns to the next.
const fn mn_major_pitch<E: TileElement, const BMN: usize>() -> usize {
    BMN * E::ELEMENT_BYTES + VECTOR_BYTES
}
