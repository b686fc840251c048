//! `pack_rows_16`, `pack_rows_32`: a matrix copied so that its rows begin at multiples of 16 bytes.
//!
//! # Idea
//! Kernels on tensor cores copy operands to shared memory in vectors of 16 bytes, which lie at
//! multiples of 16. From rows that begin elsewhere they load single elements, for each tile of C
//! again: on an H100, of elements of 2 bytes, that took 8 to 15 times as long as a copy of the
//! operand and a GEMM of the copy.
//!
//! # Thread mapping
//! Blocks of 256 threads. A thread stores four vectors of 16 bytes, for each of which it loads the
//! one or two aligned vectors of the source that the elements lie in. z counts the matrices of a
//! batch.
//!
//! # Preconditions
//! None.
//!
//! # What changed since the rung before
//! It is the first half of a GEMM whose operands have other rows.
//!
//! # Source
//! Beyond the sources.

use cuda_std::prelude::*;
use cuda_std::vector::{U32x4, Vector};

/// Threads of a block.
pub const THREADS: usize = 256;

/// Bytes of a vector, of which a copy consists.
const VECTOR_BYTES: usize = 16;

/// Vectors that a thread copies.
const VECTORS: usize = 4;

/// Blocks of a copy of `rows` rows that are `to_pitch` elements of `element_bytes` bytes apart.
pub const fn copy_blocks(rows: u32, to_pitch: u32, element_bytes: u32) -> u64 {
    let row_vectors = to_pitch as u64 * element_bytes as u64 / VECTOR_BYTES as u64;
    (rows as u64 * row_vectors).div_ceil((THREADS * VECTORS) as u64)
}

/// The matrices to copy, passed by value. Distances are in elements.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pack {
    /// Rows and columns of a matrix as it is stored.
    pub rows: u32,
    /// See `rows`.
    pub columns: u32,
    /// Distance of two rows of the source.
    pub from_pitch: u32,
    /// Distance of two rows of the copy.
    pub to_pitch: u32,
    /// Distance of two matrices of the source.
    pub from_stride: u64,
    /// Distance of two matrices of the copy.
    pub to_stride: u64,
}

/// Words of a vector.
const WORDS: usize = VECTOR_BYTES / 4;

/// Four of eight words, from byte `shift` < 16 on, a multiple of 2 unless it `MAY_BE_ODD`.
#[inline(always)]
fn shifted<const MAY_BE_ODD: bool>(
    low: [u32; WORDS],
    high: [u32; WORDS],
    shift: usize,
) -> [u32; WORDS] {
    let mut words = [
        low[0], low[1], low[2], low[3], high[0], high[1], high[2], high[3],
    ];
    if MAY_BE_ODD && shift & 1 != 0 {
        for i in 0..2 * WORDS - 1 {
            words[i] = words[i] >> 8 | words[i + 1] << 24;
        }
        words[2 * WORDS - 1] >>= 8;
    }
    // By 8 bytes, by 4, and by 2: selections, since an index would put the words into memory.
    for step in 0..2 {
        let distance = 2 - step;
        if shift & (4 * distance) != 0 {
            for i in 0..2 * WORDS - distance {
                words[i] = words[i + distance];
            }
        }
    }
    if shift & 2 != 0 {
        for i in 0..WORDS {
            words[i] = words[i] >> 16 | words[i + 1] << 16;
        }
    }
    [words[0], words[1], words[2], words[3]]
}

/// A vector of the copy: the elements of a row from `column` on, and zeros behind its end.
///
/// Inside of a row it is made of the one or two aligned vectors of the source that it lies in. At
/// its ends, where these have bytes of other rows, elements are loaded.
///
/// # Safety
/// `from` is the first element of a row of `columns` elements, which are readable. `column` is
/// less.
#[inline(always)]
pub unsafe fn load<T: Copy>(from: *const T, column: usize, columns: usize) -> [u32; WORDS] {
    let per_vector = VECTOR_BYTES / size_of::<T>();
    let first = from.wrapping_add(column);
    let shift = first.addr() % VECTOR_BYTES;
    let aligned = first.wrapping_byte_sub(shift).cast::<u32>();
    let is_inside = shift == 0 || column > 0 && column + 2 * per_vector <= columns;
    // SAFETY: the aligned vectors lie inside of the row: the first one begins less than a vector
    // before `column`, and the second one ends less than a vector behind the copied one. Elements
    // are inside of the row by their condition.
    unsafe {
        if is_inside && column + per_vector <= columns {
            let low = U32x4::load(aligned);
            let high = if shift == 0 {
                low
            } else {
                U32x4::load(aligned.wrapping_add(WORDS))
            };
            return match size_of::<T>() {
                1 => shifted::<true>(low, high, shift),
                _ => shifted::<false>(low, high, shift),
            };
        }
        let mut words = [0; WORDS];
        for i in 0..per_vector {
            if column + i < columns {
                let element: T = *first.wrapping_add(i);
                let bits = bits_of(element);
                let byte = i * size_of::<T>();
                words[byte / 4] |= bits << (byte % 4 * 8);
            }
        }
        words
    }
}

/// The bits of an element of 1, 2 or 4 bytes.
///
/// # Safety
/// `T` is `u8`, `u16` or `u32`.
#[inline(always)]
unsafe fn bits_of<T: Copy>(element: T) -> u32 {
    // SAFETY: the size says which of them it is.
    unsafe {
        if size_of::<T>() == 1 {
            u32::from(core::mem::transmute_copy::<T, u8>(&element))
        } else if size_of::<T>() == 2 {
            u32::from(core::mem::transmute_copy::<T, u16>(&element))
        } else {
            core::mem::transmute_copy::<T, u32>(&element)
        }
    }
}

/// Copies the rows of a matrix, a vector at a time. Before the first access it calls `begin`.
///
/// # Safety
/// `from` and `to` are device arrays that do not overlap, as `pack` describes them, of elements of
/// 1, 2 or 4 bytes. `to` and its rows and matrices begin at multiples of 16 bytes. A matrix of the
/// copy has fewer than 2³² − 1024 vectors. The grid has [`copy_blocks`] blocks, of which this is
/// `block`, and the number of matrices in z. Blocks have [`THREADS`] threads.
#[inline(always)]
pub unsafe fn copy<T: Copy>(
    from: *const T,
    to: *mut T,
    pack: Pack,
    block: u32,
    begin: impl FnOnce(),
) {
    let per_vector = VECTOR_BYTES / size_of::<T>();
    let row_vectors = (pack.to_pitch as usize / per_vector).max(1) as u32;
    let matrix = thread::block_idx_z() as usize;
    let from = from.wrapping_add(matrix * pack.from_stride as usize);
    let to = to.wrapping_add(matrix * pack.to_stride as usize);
    // Neighbouring threads have neighbouring vectors, of one row or of the next.
    let first = block * (THREADS * VECTORS) as u32 + thread::thread_idx_x();
    let total = pack.rows * row_vectors;
    begin();
    let mut vectors = [[0; WORDS]; VECTORS];
    for i in 0..VECTORS {
        let index = first + (i * THREADS) as u32;
        let (row, column) = (
            (index / row_vectors) as usize,
            (index % row_vectors) as usize * per_vector,
        );
        if index < total && column < pack.columns as usize {
            let row = from.wrapping_add(row * pack.from_pitch as usize);
            // SAFETY: the tests say that row and column are inside of the source.
            vectors[i] = unsafe { load(row, column, pack.columns as usize) };
        }
    }
    for i in 0..VECTORS {
        let index = first + (i * THREADS) as u32;
        if index < total {
            let (row, vector) = (index / row_vectors, index % row_vectors);
            let at = row as usize * pack.to_pitch as usize + vector as usize * per_vector;
            // SAFETY: the test says that the vector is inside of the copy, whose rows are of whole
            // ones. Only this thread writes it.
            unsafe { U32x4::store(to.wrapping_add(at).cast(), vectors[i]) };
        }
    }
}

macro_rules! kernels {
    ($($(#[$doc:meta])* $name:ident: $element:ty;)*) => {
        $(
            $(#[$doc])*
            ///
            /// # Safety
            /// As for [`copy`].
            #[cfg(sm_80_up)]
            #[cuda_std::kernel(max_threads = THREADS as u32, min_blocks = 1)]
            pub unsafe fn $name(from: *const $element, to: *mut $element, pack: Pack) {
                // SAFETY: the contract is that of `copy`.
                unsafe { copy(from, to, pack, thread::block_idx_x(), || {}) }
            }
        )*
    };
}

kernels! {
    /// Copies elements of 2 bytes.
    pack_rows_16: u16;
    /// Copies elements of 4 bytes.
    pack_rows_32: u32;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_are_cut_out_of_two_at_every_byte() {
        let bytes: [u8; 32] = core::array::from_fn(|i| i as u8 + 1);
        let word = |at: usize| {
            u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
        };
        let words = |from: usize| core::array::from_fn(|i| word(from + 4 * i));
        for shift in (0..16).step_by(2) {
            let found = shifted::<false>(words(0), words(16), shift);
            assert_eq!(found, words(shift), "{shift}");
        }
        for shift in 0..16 {
            let found = shifted::<true>(words(0), words(16), shift);
            assert_eq!(found, words(shift), "{shift}");
        }
    }

    #[test]
    fn blocks_of_a_copy_have_all_vectors() {
        assert_eq!(copy_blocks(1, 8, 2), 1);
        assert_eq!(copy_blocks(1024, 8, 2), 1);
        assert_eq!(copy_blocks(1025, 8, 2), 2);
        assert_eq!(copy_blocks(3, 4096, 4), 3);
    }
}
