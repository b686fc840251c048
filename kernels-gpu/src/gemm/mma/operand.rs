//! Operands of `mma.sync` in shared memory: how a tile whose rows begin at multiples of 16 bytes
//! lies there, and how a warp takes its fragments from it. Those of other rows are in
//! [`unaligned`](super::unaligned), copies in [`loader`](super::loader).
//!
//! # Layout
//! A tile of either operand has [`BK_BYTES`] bytes along k, and BMN rows of A or columns of B. It
//! lies as in global memory, in vectors of 16 bytes:
//!
//! - K-major: BMN rows of four vectors along k. `ldmatrix` gives the fragments of any element type.
//! - MN-major: rows of BMN elements, one for each k. `ldmatrix` transposes fragments of 16-bit
//!   elements; a lane loads 32-bit elements one by one.
//!
//! The index of a vector in its row is XORed with bits of the row's index, a swizzle, so that
//! neither copies nor fragments have bank conflicts.
//!
//! # Source
//! PTX ISA, "ldmatrix", "mma.sync", "cp.async"; the swizzles are those of the rung
//! [`mma_bf16`](crate::ladder::matmul::mma).

use crate::gemm::copy::layout;
use cuda_std::async_copy::SharedAddress;
use cuda_std::matrix;
use cuda_std::mma::{Bf16, F16, Input, S8, Tf32};
use cuda_std::prelude::*;

/// Bytes of a vector, the unit of copies and of fragments.
pub const VECTOR_BYTES: usize = 16;

/// Bytes along k of a k-tile.
pub const BK_BYTES: usize = 64;

/// Vectors of a row of a K-major tile.
pub(super) const ROW_VECTORS: usize = BK_BYTES / VECTOR_BYTES;

/// Bytes along k of a k-block, which one MMA takes.
const MMA_K_BYTES: usize = 32;

/// k-blocks of a k-tile.
pub const K_BLOCKS: usize = BK_BYTES / MMA_K_BYTES;

/// Rows of A that an MMA takes, and columns of B.
pub const MMA_M: usize = 16;
/// See [`MMA_M`].
pub const MMA_N: usize = 8;

/// Bytes of a tile of `bmn` rows of A or columns of B.
pub const fn tile_bytes(bmn: usize) -> usize {
    bmn * BK_BYTES
}

/// An element type of tiles: how they lie in shared memory.
pub trait TileElement {
    /// What the arrays in memory hold.
    type Stored: Copy;

    /// Bytes of an element.
    const ELEMENT_BYTES: usize = size_of::<Self::Stored>();

    /// Elements of a vector.
    const VECTOR: usize = VECTOR_BYTES / Self::ELEMENT_BYTES;

    /// Elements along k of a k-tile.
    const BK: usize = BK_BYTES / Self::ELEMENT_BYTES;

    /// Elements, neighbours along k, that a lane has in a register of a fragment, or takes at once.
    const NEIGHBOURS: usize = 4 / Self::ELEMENT_BYTES;

    /// What the index of a vector in row `k` of an MN-major tile is XORed with.
    fn swizzle(k: usize) -> usize;

    /// The offset of an element of an MN-major tile of `BMN` columns, in bytes.
    #[inline(always)]
    fn mn_major_offset<const BMN: usize>(k: usize, i: usize) -> u32 {
        let vector = (i / Self::VECTOR) ^ Self::swizzle(k);
        let within = i % Self::VECTOR * Self::ELEMENT_BYTES;
        (k * BMN * Self::ELEMENT_BYTES + vector * VECTOR_BYTES + within) as u32
    }
}

/// An element type that one MMA takes.
pub trait TensorElement: TileElement + Input {
    /// Elements along k of a k-block.
    const MMA_K: usize = MMA_K_BYTES / Self::BYTES;

    /// The fragment of A for the MMA of rows `i` and on, at elements `k` and on along k, of an
    /// MN-major tile of `BMN` columns.
    ///
    /// # Safety
    /// The tile is complete. The whole warp is here.
    unsafe fn load_mn_major_a<const BMN: usize>(
        tile: SharedAddress,
        i: usize,
        k: usize,
    ) -> [u32; 4];

    /// The fragments of B for the MMA of columns `j` and on, and the one to its right, of an
    /// MN-major tile of `BMN` columns.
    ///
    /// # Safety
    /// As for [`load_mn_major_a`](Self::load_mn_major_a).
    unsafe fn load_mn_major_b<const BMN: usize>(
        tile: SharedAddress,
        j: usize,
        k: usize,
    ) -> [[u32; 2]; 2];
}

/// The offset of a vector of a K-major tile, in bytes. Two rows fill all banks once, so the index
/// is XORed with the row's second bit and up.
#[inline(always)]
pub(super) fn k_major_offset(row: usize, vector: usize) -> u32 {
    (row * BK_BYTES + (vector ^ (row / 2 % ROW_VECTORS)) * VECTOR_BYTES) as u32
}

/// Row and vector of an address that this lane gives to `ldmatrix`, of four 8 × 8 matrices: two one
/// below the other, then two to their right.
#[inline(always)]
fn by_columns() -> [usize; 2] {
    let lane = warp::lane_id() as usize;
    [lane % 16, lane / 16]
}

/// The same: two beside each other, then two below them.
#[inline(always)]
fn by_rows() -> [usize; 2] {
    let lane = warp::lane_id() as usize;
    [lane % 8 + lane / 16 * 8, lane / 8 % 2]
}

macro_rules! elements_of_16_bits {
    ($($ty:ty),*) => {
        $(
            impl TileElement for $ty {
                type Stored = u16;

                #[inline(always)]
                fn swizzle(k: usize) -> usize {
                    k % 8
                }
            }

            impl TensorElement for $ty {
                #[inline(always)]
                unsafe fn load_mn_major_a<const BMN: usize>(
                    tile: SharedAddress,
                    i: usize,
                    k: usize,
                ) -> [u32; 4] {
                    let [row, vector] = by_rows();
                    let offset = Self::mn_major_offset::<BMN>(k + row, i + vector * Self::VECTOR);
                    // SAFETY: the contract says that the tile is complete and the warp is here.
                    unsafe { matrix::load_4_transposed(tile.at(offset)) }
                }

                #[inline(always)]
                unsafe fn load_mn_major_b<const BMN: usize>(
                    tile: SharedAddress,
                    j: usize,
                    k: usize,
                ) -> [[u32; 2]; 2] {
                    let [row, vector] = by_columns();
                    let offset = Self::mn_major_offset::<BMN>(k + row, j + vector * Self::VECTOR);
                    // SAFETY: the contract says that the tile is complete and the warp is here.
                    let [a, b, c, d] = unsafe { matrix::load_4_transposed(tile.at(offset)) };
                    [[a, b], [c, d]]
                }

            }
        )*
    };
}

elements_of_16_bits!(F16, Bf16);

/// Tiles are K-major: `ldmatrix` transposes elements of 16 bits alone.
impl TileElement for S8 {
    type Stored = i8;

    #[inline(always)]
    fn swizzle(_: usize) -> usize {
        0
    }
}

impl TensorElement for S8 {
    #[inline(always)]
    unsafe fn load_mn_major_a<const BMN: usize>(_: SharedAddress, _: usize, _: usize) -> [u32; 4] {
        panic!("tiles of 8-bit elements are K-major")
    }

    #[inline(always)]
    unsafe fn load_mn_major_b<const BMN: usize>(
        _: SharedAddress,
        _: usize,
        _: usize,
    ) -> [[u32; 2]; 2] {
        panic!("tiles of 8-bit elements are K-major")
    }
}

impl TileElement for Tf32 {
    type Stored = f32;

    #[inline(always)]
    fn swizzle(k: usize) -> usize {
        // Lanes read 8 elements, two vectors, of each of 4 rows.
        2 * (k % 4)
    }
}

impl TensorElement for Tf32 {
    #[inline(always)]
    unsafe fn load_mn_major_a<const BMN: usize>(
        tile: SharedAddress,
        i: usize,
        k: usize,
    ) -> [u32; 4] {
        let lane = warp::lane_id() as usize;
        let mut fragment = [0; 4];
        for register in 0..4 {
            let (row, k) = (
                lane / 4 + 8 * (register % 2),
                k + lane % 4 + 4 * (register / 2),
            );
            let offset = Self::mn_major_offset::<BMN>(k, i + row);
            // SAFETY: the contract says that the tile is complete.
            fragment[register] = unsafe { matrix::load_word(tile.at(offset)) };
        }
        fragment
    }

    #[inline(always)]
    unsafe fn load_mn_major_b<const BMN: usize>(
        tile: SharedAddress,
        j: usize,
        k: usize,
    ) -> [[u32; 2]; 2] {
        let lane = warp::lane_id() as usize;
        let mut fragments = [[0; 2]; 2];
        for right in 0..2 {
            for register in 0..2 {
                let (column, k) = (lane / 4 + MMA_N * right, k + lane % 4 + 4 * register);
                let offset = Self::mn_major_offset::<BMN>(k, j + column);
                // SAFETY: the contract says that the tile is complete.
                fragments[right][register] = unsafe { matrix::load_word(tile.at(offset)) };
            }
        }
        fragments
    }
}

/// The fragment of A for the MMA of rows `row` and on, in k-block `k_block`.
///
/// # Safety
/// The tile, of `BM` rows in `LAYOUT`, is complete. The whole warp is here.
#[inline(always)]
pub unsafe fn load_a<E: TensorElement, const LAYOUT: u32, const BM: usize>(
    tile: SharedAddress,
    row: usize,
    k_block: usize,
) -> [u32; 4] {
    // SAFETY: the contract is that of this function.
    unsafe {
        if LAYOUT == layout::K_MAJOR_VECTORS {
            let [lane_row, vector] = by_columns();
            matrix::load_4(tile.at(k_major_offset(row + lane_row, 2 * k_block + vector)))
        } else {
            E::load_mn_major_a::<BM>(tile, row, k_block * E::MMA_K)
        }
    }
}

/// The fragments of B for the MMA of columns `column` and on and for the one to its right.
///
/// # Safety
/// As for [`load_a`], for `BN` columns.
#[inline(always)]
pub unsafe fn load_b<E: TensorElement, const LAYOUT: u32, const BN: usize>(
    tile: SharedAddress,
    column: usize,
    k_block: usize,
) -> [[u32; 2]; 2] {
    // SAFETY: the contract is that of this function.
    unsafe {
        if LAYOUT == layout::K_MAJOR_VECTORS {
            let [lane_row, vector] = by_rows();
            let offset = k_major_offset(column + lane_row, 2 * k_block + vector);
            let [a, b, c, d] = matrix::load_4(tile.at(offset));
            [[a, b], [c, d]]
        } else {
            E::load_mn_major_b::<BN>(tile, column, k_block * E::MMA_K)
        }
    }
}

/// A vector of a row of a K-major tile.
///
/// # Safety
/// The tile is complete.
#[inline(always)]
pub unsafe fn load_k_major_vector(tile: SharedAddress, row: usize, vector: usize) -> [u32; 4] {
    // SAFETY: the contract says that the tile is complete; vectors are aligned.
    unsafe { matrix::load_vector(tile.at(k_major_offset(row, vector))) }
}

/// An element of 32 bits of an MN-major tile of `BMN` columns.
///
/// # Safety
/// The tile is complete.
#[inline(always)]
pub unsafe fn load_mn_major_word<E: TileElement, const BMN: usize>(
    tile: SharedAddress,
    i: usize,
    k: usize,
) -> u32 {
    // SAFETY: the contract says that the tile is complete.
    unsafe { matrix::load_word(tile.at(E::mn_major_offset::<BMN>(k, i))) }
}
