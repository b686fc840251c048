//! Operands of `mma.sync` in shared memory: how a tile lies there, how it is copied, and how a warp
//! takes its fragments from it.
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
use cuda_std::async_copy::{self, SharedAddress};
use cuda_std::matrix;
use cuda_std::mma::{Bf16, F16, Input, S8, Tf32};
use cuda_std::prelude::*;
use cuda_std::vector::{U32x4, Vector};

/// Bytes of a vector, the unit of copies and of fragments.
pub const VECTOR_BYTES: usize = 16;

/// Bytes along k of a k-tile.
pub const BK_BYTES: usize = 64;

/// Vectors of a row of a K-major tile.
const ROW_VECTORS: usize = BK_BYTES / VECTOR_BYTES;

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

    /// What the index of a vector in row `k` of an MN-major tile is XORed with.
    fn swizzle(k: usize) -> usize;

    /// Loads `count` ≤ [`VECTOR`](Self::VECTOR) elements, `stride` elements apart, as a vector
    /// whose other elements are zeros.
    ///
    /// # Safety
    /// These elements are readable, and no thread writes them.
    unsafe fn gather(from: *const Self::Stored, stride: usize, count: u32) -> [u32; 4];

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
fn k_major_offset(row: usize, vector: usize) -> u32 {
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

                #[inline(always)]
                unsafe fn gather(from: *const u16, stride: usize, count: u32) -> [u32; 4] {
                    let mut elements = [0; 8];
                    for e in 0..8 {
                        if (e as u32) < count {
                            // SAFETY: it is one of the elements of this function's contract.
                            elements[e] = unsafe { *from.wrapping_add(e * stride) };
                        }
                    }
                    let pair = |i: usize| {
                        u32::from(elements[2 * i]) | u32::from(elements[2 * i + 1]) << 16
                    };
                    [pair(0), pair(1), pair(2), pair(3)]
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

    #[inline(always)]
    unsafe fn gather(from: *const i8, stride: usize, count: u32) -> [u32; 4] {
        let mut words = [0; 4];
        for e in 0..16 {
            if (e as u32) < count {
                // SAFETY: it is one of the elements of this function's contract.
                let element = unsafe { *from.wrapping_add(e * stride) };
                words[e / 4] |= u32::from(element as u8) << (e % 4 * 8);
            }
        }
        words
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

    #[inline(always)]
    unsafe fn gather(from: *const f32, stride: usize, count: u32) -> [u32; 4] {
        let mut elements = [0; 4];
        for e in 0..4 {
            if (e as u32) < count {
                // SAFETY: it is one of the elements of this function's contract.
                elements[e] = unsafe { *from.wrapping_add(e * stride) }.to_bits();
            }
        }
        elements
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

/// Whether tiles of this layout are K-major in shared memory. Those of any layout are, however they
/// lie in global memory.
const fn is_k_major(of: u32) -> bool {
    of == layout::K_MAJOR_VECTORS || of == layout::ANY
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
        if is_k_major(LAYOUT) {
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
        if is_k_major(LAYOUT) {
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

/// The operand of a block, in global memory: `BMN` rows of A or columns of B, and some of k.
#[derive(Clone, Copy)]
pub struct Panel<T> {
    /// The matrix's first element.
    pub matrix: *const T,
    /// The leading dimension, in elements.
    pub leading: u32,
    /// Whether its rows, as they are stored, extend along k.
    pub k_major: bool,
    /// Extent of the matrix along m or n.
    pub extent: u32,
    /// First row of A, or column of B.
    pub first: u32,
    /// First element along k.
    pub start: u32,
}

/// Copies the k-tiles of an operand to shared memory, by `THREADS` threads: by asynchronous copies
/// of vectors, or of any layout by loads of single elements, of which a vector is stored at a time.
///
/// Elements outside of the operand become zeros.
pub struct Loader<E: TileElement, const LAYOUT: u32, const BMN: usize, const THREADS: usize> {
    /// This thread's first vector of the next k-tile.
    from: *const E::Stored,
    /// Elements from one k-tile to the next.
    advance: u32,
    /// Elements from one vector of this thread to its next.
    step: u32,
    /// Of a K-major operand: rows from this thread's first on. Of an MN-major one whose copies are
    /// of vectors: bytes of this thread's vectors that the operand has.
    inside: u32,
    /// Of any layout: elements from one to the next in a vector.
    stride: u32,
    /// Of any layout: whether the rows of the operand extend along k.
    is_k_major: bool,
    /// Row and vector of this thread's first one in a tile.
    first: [u32; 2],
}

/// The vectors of a thread that were loaded, and are not stored yet. Asynchronous copies need none.
pub type Held<const VECTORS: usize> = [[u32; 4]; VECTORS];

impl<E: TileElement, const LAYOUT: u32, const BMN: usize, const THREADS: usize>
    Loader<E, LAYOUT, BMN, THREADS>
{
    /// Vectors of a thread in a tile.
    pub const VECTORS: usize = BMN * ROW_VECTORS / THREADS;

    /// Vectors of a row of an MN-major tile.
    const MN_VECTORS: usize = BMN / E::VECTOR;

    /// The loader of this thread.
    #[inline(always)]
    pub fn new(panel: &Panel<E::Stored>) -> Self {
        const {
            assert!(
                LAYOUT == layout::K_MAJOR_VECTORS
                    || LAYOUT == layout::MN_MAJOR_VECTORS
                    || LAYOUT == layout::ANY
            );
            assert!(THREADS.is_multiple_of(ROW_VECTORS) && BMN.is_multiple_of(THREADS / 4));
            assert!(LAYOUT != layout::ANY || THREADS.is_multiple_of(BMN));
            assert!(
                LAYOUT != layout::MN_MAJOR_VECTORS
                    || THREADS.is_multiple_of(Self::MN_VECTORS) && Self::MN_VECTORS >= 8
            );
        }
        let t = thread::thread_idx_x();
        let (leading, first) = (panel.leading as usize, panel.first);
        let at = |i: u32, k: u32| match panel.k_major {
            true => (first + i) as usize * leading + (panel.start + k) as usize,
            false => (panel.start + k) as usize * leading + (first + i) as usize,
        };
        let rows = |i: u32| panel.extent.saturating_sub(first + i);
        let bk = E::BK as u32;
        match LAYOUT {
            layout::K_MAJOR_VECTORS => {
                let [row, vector] = [t / ROW_VECTORS as u32, t % ROW_VECTORS as u32];
                Loader {
                    from: panel
                        .matrix
                        .wrapping_add(at(row, vector * E::VECTOR as u32)),
                    advance: bk,
                    step: (THREADS / ROW_VECTORS) as u32 * panel.leading,
                    inside: rows(row),
                    stride: 1,
                    is_k_major: true,
                    first: [row, vector],
                }
            }
            layout::MN_MAJOR_VECTORS => {
                let [k, vector] = [t / Self::MN_VECTORS as u32, t % Self::MN_VECTORS as u32];
                let column = vector * E::VECTOR as u32;
                Loader {
                    from: panel.matrix.wrapping_add(at(column, k)),
                    advance: bk * panel.leading,
                    step: (THREADS / Self::MN_VECTORS) as u32 * panel.leading,
                    inside: rows(column).min(E::VECTOR as u32) * E::ELEMENT_BYTES as u32,
                    stride: 1,
                    is_k_major: false,
                    first: [k, vector],
                }
            }
            _ => {
                // Neighbours in global memory are loaded by neighbouring threads where rows extend
                // along m or n. Where they extend along k, the L1 cache keeps them for one thread.
                let [row, vector] = match panel.k_major {
                    true => [t / ROW_VECTORS as u32, t % ROW_VECTORS as u32],
                    false => [t % BMN as u32, t / BMN as u32],
                };
                let per_k = if panel.k_major { 1 } else { panel.leading };
                let passes = [
                    (THREADS / ROW_VECTORS) as u32 * panel.leading,
                    (THREADS / BMN * E::VECTOR) as u32 * per_k,
                ];
                Loader {
                    from: panel
                        .matrix
                        .wrapping_add(at(row, vector * E::VECTOR as u32)),
                    advance: bk * per_k,
                    step: passes[usize::from(!panel.k_major)],
                    inside: rows(row),
                    stride: per_k,
                    is_k_major: panel.k_major,
                    first: [row, vector],
                }
            }
        }
    }

    /// Rows and vectors from this thread's first vector to its vector `index`, in a K-major tile.
    #[inline(always)]
    fn distance(&self, index: usize, along_rows: bool) -> [usize; 2] {
        match along_rows {
            true => [index * (THREADS / ROW_VECTORS), 0],
            false => [0, index * (THREADS / BMN)],
        }
    }

    /// Starts to copy the next k-tile, of which the operand has `k_extent` elements along k, to
    /// `stage`; where not `enabled`, does nothing. Vectors that the thread has to store itself are
    /// returned: see [`store`](Self::store).
    ///
    /// # Safety
    /// Where `enabled`, the operand is as [`Panel`] says, and no other access touches the stage
    /// before the copies are complete. Rows start at multiples of 16 bytes where `LAYOUT` is one of
    /// vectors.
    #[inline(always)]
    pub unsafe fn start_copies<const VECTORS: usize>(
        &mut self,
        stage: SharedAddress,
        k_extent: u32,
        enabled: bool,
    ) -> Held<VECTORS> {
        const { assert!(VECTORS == Self::VECTORS) };
        let mut held = [[0; 4]; VECTORS];
        let [first, second] = self.first.map(|index| index as usize);
        for index in 0..VECTORS {
            let from = self.from.wrapping_add(index * self.step as usize);
            // SAFETY: bytes and elements outside of the operand are not read, by the conditions.
            // Vectors lie inside of the stage by the assertions of `new`.
            unsafe {
                match LAYOUT {
                    layout::K_MAJOR_VECTORS => {
                        let [rows, _] = self.distance(index, true);
                        let elements_k = k_extent.saturating_sub((second * E::VECTOR) as u32);
                        let bytes = (elements_k * E::ELEMENT_BYTES as u32).min(VECTOR_BYTES as u32);
                        let bytes = if (rows as u32) < self.inside {
                            bytes
                        } else {
                            0
                        };
                        let to = stage.at(k_major_offset(first + rows, second));
                        async_copy::copy_16_partial_if(to, from, bytes, enabled);
                    }
                    layout::MN_MAJOR_VECTORS => {
                        let k = first + index * (THREADS / Self::MN_VECTORS);
                        let bytes = if (k as u32) < k_extent {
                            self.inside
                        } else {
                            0
                        };
                        let offset = E::mn_major_offset::<BMN>(k, second * E::VECTOR);
                        async_copy::copy_16_partial_if(stage.at(offset), from, bytes, enabled);
                    }
                    _ => {
                        let [rows, vectors] = self.distance(index, self.is_k_major);
                        let k = ((second + vectors) * E::VECTOR) as u32;
                        let elements_k = k_extent.saturating_sub(k).min(E::VECTOR as u32);
                        let exists = enabled && (rows as u32) < self.inside;
                        let count = if exists { elements_k } else { 0 };
                        held[index] = E::gather(from, self.stride as usize, count);
                    }
                }
            }
        }
        self.from = self.from.wrapping_add(self.advance as usize);
        held
    }

    /// Stores the vectors that [`start_copies`](Self::start_copies) returned to their stage; where
    /// not `enabled`, does nothing.
    ///
    /// # Safety
    /// `stage` is that of these copies, and no other access touches it before the next barrier.
    #[inline(always)]
    pub unsafe fn store<const VECTORS: usize>(
        &self,
        stage: *mut u8,
        held: &Held<VECTORS>,
        enabled: bool,
    ) {
        if LAYOUT != layout::ANY || !enabled {
            return;
        }
        let [row, vector] = self.first.map(|index| index as usize);
        for index in 0..VECTORS {
            let [rows, vectors] = self.distance(index, self.is_k_major);
            let offset = k_major_offset(row + rows, vector + vectors);
            // SAFETY: the vector lies inside of the stage by the assertions of `new`, aligned to
            // 16.
            unsafe { U32x4::store(stage.wrapping_add(offset as usize).cast(), held[index]) };
        }
    }
}
