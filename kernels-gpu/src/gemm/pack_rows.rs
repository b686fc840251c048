//! `pack_rows_16`, `pack_rows_32`: operands copied so that their rows begin at multiples of 16
//! bytes.
//!
//! # Idea
//! Kernels on tensor cores copy operands to shared memory in vectors of 16 bytes, which lie at
//! multiples of 16. From rows that begin elsewhere they load single elements, for each tile of C
//! again: on an H100, of elements of 2 bytes, that took 8 to 15 times as long as a copy of the
//! operand and a GEMM of the copy. One launch copies one operand or both.
//!
//! # Thread mapping
//! Blocks of 256 threads. A thread stores four vectors of 16 bytes, for each of which it loads the
//! one or two aligned vectors of the source that the elements lie in. All loads are in flight
//! before the first of them is waited for. The blocks of A come before those of B; z counts the
//! matrices of a batch.
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

/// Two matrices to copy, passed by value. Where one of them is not copied it has no blocks.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PackBoth {
    /// Each of them.
    pub packs: [Pack; 2],
    /// Whether each is transposed, 0 or 1: 0 for the kernels here.
    pub transposed: [u32; 2],
    /// The matrices of a batch of each.
    pub matrices: [u32; 2],
    /// Blocks in x of each.
    pub blocks: [u32; 2],
}

/// Words of a vector.
const WORDS: usize = VECTOR_BYTES / 4;

/// Four of eight words, from byte `shift` < 16 on.
///
/// By 8 bytes and by 4 they are selected: an index would put the words into memory, as a loop does
/// that is not unrolled in time, and behind a branch other loads would wait. The rest is a funnel
/// shift.
#[inline(always)]
fn shifted([a, b, c, d, e, f, g, h]: [u32; 2 * WORDS], shift: usize) -> [u32; WORDS] {
    let by_8 = |near: u32, far: u32| if shift & 8 != 0 { far } else { near };
    let (a, b, c, d, e, f) = (
        by_8(a, c),
        by_8(b, d),
        by_8(c, e),
        by_8(d, f),
        by_8(e, g),
        by_8(f, h),
    );
    let by_4 = |near: u32, far: u32| if shift & 4 != 0 { far } else { near };
    let (a, b, c, d, e) = (by_4(a, b), by_4(b, c), by_4(c, d), by_4(d, e), by_4(e, f));
    let bits = 8 * (shift % 4) as u32;
    let funnel = |low: u32, high: u32| ((u64::from(high) << 32 | u64::from(low)) >> bits) as u32;
    [funnel(a, b), funnel(b, c), funnel(c, d), funnel(d, e)]
}

/// The words of a vector of which the first `bytes` bytes are kept, and the others are zeros.
#[inline(always)]
fn kept(mut words: [u32; WORDS], bytes: usize) -> [u32; WORDS] {
    for i in 0..WORDS {
        let of_word = bytes.saturating_sub(4 * i) as u32;
        if of_word < 4 {
            words[i] &= (1 << (8 * of_word)) - 1;
        }
    }
    words
}

/// The addresses that may be read around a row of a matrix: of its first byte, and behind its last
/// one. Where rows lie without gaps they are those of all rows.
///
/// `matrix` is the first element of the matrix, and `row` the first one of the row.
#[inline(always)]
pub fn readable<T>(
    [matrix, row]: [*const T; 2],
    [rows, columns]: [u32; 2],
    pitch: u32,
) -> [usize; 2] {
    let (begin, elements) = if pitch == columns {
        (matrix, rows as usize * columns as usize)
    } else {
        (row, columns as usize)
    };
    [begin.addr(), begin.wrapping_add(elements).addr()]
}

/// A vector of the copy that is being loaded: the elements of a row from a column on, and zeros
/// behind its end.
///
/// It is made of the one or two aligned vectors of the source that it lies in. Where these have
/// bytes that are not readable, elements are loaded. To [start](Self::start) it is apart from what
/// waits for the loads, so that a thread has several in flight.
#[derive(Clone, Copy)]
pub struct Loading<T> {
    first: *const T,
    /// Elements from `first` to the end of the row; 0 where there is nothing to load.
    left: usize,
    is_readable: bool,
    words: [u32; 2 * WORDS],
}

impl<T: Copy> Loading<T> {
    /// Nothing, which becomes zeros.
    #[inline(always)]
    pub fn nothing() -> Self {
        Loading {
            first: core::ptr::null(),
            left: 0,
            is_readable: true,
            words: [0; 2 * WORDS],
        }
    }

    /// Starts to load the vector from `column` on of a row of `columns` elements, of which `from`
    /// is the first. Where `column` is not less there is nothing to load.
    ///
    /// # Safety
    /// The row consists of elements of global memory. What lies from the address `begin` to the
    /// address `end` can be read, and the row is a part of it.
    #[inline(always)]
    pub unsafe fn start(
        from: *const T,
        column: usize,
        columns: usize,
        [begin, end]: [usize; 2],
    ) -> Self {
        let left = columns.saturating_sub(column);
        let first = from.wrapping_add(column);
        let shift = first.addr() % VECTOR_BYTES;
        let aligned = first.wrapping_byte_sub(shift).cast::<u32>();
        let of_two = shift != 0;
        let bytes = if of_two { 2 } else { 1 } * VECTOR_BYTES;
        let is_readable = aligned.addr() >= begin && aligned.addr() + bytes <= end;
        let is_loaded = is_readable && left > 0;
        // SAFETY: the tests say that the aligned vectors can be read.
        let (low, high) = unsafe {
            let second = aligned.wrapping_add(WORDS);
            (
                U32x4::load_global_if(aligned, is_loaded),
                U32x4::load_global_if(second, is_loaded && of_two),
            )
        };
        let [a, b, c, d] = low;
        let [e, f, g, h] = high;
        Loading {
            first,
            left,
            is_readable: is_readable || left == 0,
            words: [a, b, c, d, e, f, g, h],
        }
    }

    /// The vector.
    ///
    /// # Safety
    /// The row can still be read.
    #[inline(always)]
    pub unsafe fn finish(self) -> [u32; WORDS] {
        let per_vector = VECTOR_BYTES / size_of::<T>();
        let bytes = self.left.min(per_vector) * size_of::<T>();
        if self.is_readable {
            let words = shifted(self.words, self.first.addr() % VECTOR_BYTES);
            return match self.left < per_vector {
                true => kept(words, bytes),
                false => words,
            };
        }
        // Not an array, which would be put into memory where the loop is not unrolled.
        let mut all = 0_u128;
        for i in 0..per_vector {
            if i < self.left {
                // SAFETY: the test says that the element is inside of the row.
                let bits = unsafe { bits_of(*self.first.wrapping_add(i)) };
                all |= u128::from(bits) << (8 * i * size_of::<T>());
            }
        }
        let word = |i: u32| (all >> (32 * i)) as u32;
        [word(0), word(1), word(2), word(3)]
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
    let mut loading = [Loading::nothing(); VECTORS];
    for i in 0..VECTORS {
        let index = first + (i * THREADS) as u32;
        if index < total {
            let (row, column) = (
                (index / row_vectors) as usize,
                (index % row_vectors) as usize * per_vector,
            );
            let row = from.wrapping_add(row * pack.from_pitch as usize);
            let around = readable([from, row], [pack.rows, pack.columns], pack.from_pitch);
            // SAFETY: the test says that the row is one of the source, of which `readable` gives a
            // part.
            loading[i] = unsafe { Loading::start(row, column, pack.columns as usize, around) };
        }
    }
    for i in 0..VECTORS {
        let index = first + (i * THREADS) as u32;
        if index < total {
            let (row, vector) = (index / row_vectors, index % row_vectors);
            let at = row as usize * pack.to_pitch as usize + vector as usize * per_vector;
            // SAFETY: the test says that the vector is inside of the copy, whose rows are of whole
            // ones. Only this thread writes it.
            unsafe { U32x4::store(to.wrapping_add(at).cast(), loading[i].finish()) };
        }
    }
}

macro_rules! kernels {
    ($($(#[$doc:meta])* $name:ident: $element:ty;)*) => {
        $(
            $(#[$doc])*
            ///
            /// # Safety
            /// As for [`copy`], of each of the two matrices in `both` that has blocks. The copies
            /// do not overlap. The grid has the sum of their [`copy_blocks`] in x and the larger
            /// number of matrices in z.
            #[cfg(sm_80_up)]
            #[cuda_std::kernel(max_threads = THREADS as u32, min_blocks = 1)]
            pub unsafe fn $name(
                from_a: *const $element,
                to_a: *mut $element,
                from_b: *const $element,
                to_b: *mut $element,
                both: PackBoth,
            ) {
                let block = thread::block_idx_x();
                let is_b = block >= both.blocks[0];
                let (from, to, pack, matrices, block) = match is_b {
                    false => (from_a, to_a, both.packs[0], both.matrices[0], block),
                    true => {
                        let block = block - both.blocks[0];
                        (from_b, to_b, both.packs[1], both.matrices[1], block)
                    }
                };
                if thread::block_idx_z() < matrices {
                    // SAFETY: the contract is that of `copy`.
                    unsafe { copy(from, to, pack, block, || {}) }
                }
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
        for shift in 0..16 {
            let words = core::array::from_fn(|i| word(4 * i));
            let expected: [u32; 4] = core::array::from_fn(|i| word(shift + 4 * i));
            assert_eq!(shifted(words, shift), expected, "{shift}");
        }
    }

    #[test]
    fn bytes_behind_the_end_of_a_row_are_zeros() {
        for bytes in 1..=16 {
            let mut expected = [0; 16];
            expected[..bytes].fill(0xff);
            let words = kept([u32::MAX; WORDS], bytes);
            assert_eq!(words.map(u32::to_le_bytes).concat(), expected, "{bytes}");
        }
    }

    #[test]
    fn neighbours_can_be_read_where_rows_have_no_gaps() {
        let matrix: *const u16 = core::ptr::without_provenance(1000);
        let row = matrix.wrapping_add(2 * 7);
        assert_eq!(readable([matrix, row], [5, 7], 7), [1000, 1000 + 2 * 35]);
        assert_eq!(readable([matrix, row], [5, 6], 7), [1028, 1028 + 2 * 6]);
    }

    #[test]
    fn blocks_of_a_copy_have_all_vectors() {
        assert_eq!(copy_blocks(1, 8, 2), 1);
        assert_eq!(copy_blocks(1024, 8, 2), 1);
        assert_eq!(copy_blocks(1025, 8, 2), 2);
        assert_eq!(copy_blocks(3, 4096, 4), 3);
    }
}
