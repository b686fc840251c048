//! A matrix whose type of elements a launch tells.

use crate::gemm::element::Output;

/// A matrix of elements of f32, or of 16 bits, which is told at run time.
#[derive(Clone, Copy, Debug)]
pub struct AnyMatrix<N> {
    /// Its first element.
    start: *mut N,
    /// Whether its elements are those of 16 bits.
    is_16bit: bool,
    /// Its leading dimension.
    leading: usize,
}

impl<N: Output<Wide = f32>> AnyMatrix<N> {
    /// The matrix whose first element lies `offset` elements from `start` on.
    #[inline(always)]
    pub fn new(start: *mut u8, offset: usize, leading: usize, is_16bit: bool) -> Self {
        let first = AnyMatrix {
            start: start.cast(),
            is_16bit,
            leading,
        };
        first.shifted(offset)
    }

    /// The matrix that lies `offset` elements further.
    #[inline(always)]
    pub fn shifted(self, offset: usize) -> Self {
        AnyMatrix {
            start: self.start.wrapping_byte_add(offset * self.element_bytes()),
            ..self
        }
    }

    /// Bytes of an element.
    #[inline(always)]
    fn element_bytes(&self) -> usize {
        if self.is_16bit {
            size_of::<N>()
        } else {
            size_of::<f32>()
        }
    }

    /// An element.
    ///
    /// # Safety
    /// The matrix has it, and it is readable.
    #[inline(always)]
    pub unsafe fn load(&self, row: usize, column: usize) -> f32 {
        let index = row * self.leading + column;
        // SAFETY: the contract is that of this function.
        unsafe {
            if self.is_16bit {
                (*self.start.wrapping_add(index)).widen()
            } else {
                *self.start.cast::<f32>().wrapping_add(index)
            }
        }
    }

    /// Whether vectors of four elements of a row are aligned, from multiples of 4 on.
    #[inline(always)]
    fn has_vectors(&self) -> bool {
        let bytes = self.element_bytes();
        (self.start.addr() | (self.leading * bytes)).is_multiple_of(4 * bytes)
    }

    /// The first `count` ≤ 4 elements of a row from `column` on, a multiple of 4, and zeros.
    ///
    /// # Safety
    /// The matrix has them, and they are readable.
    #[inline(always)]
    pub unsafe fn load_4(&self, row: usize, column: usize, count: usize) -> [f32; 4] {
        let from = self.start;
        let index = row * self.leading + column;
        // SAFETY: the contract is that of this function; vectors are aligned by the test.
        unsafe {
            if count >= 4 && self.has_vectors() {
                if self.is_16bit {
                    N::load_4(from.wrapping_add(index))
                } else {
                    f32::load_4(from.cast::<f32>().wrapping_add(index))
                }
            } else {
                let mut four = [0.0; 4];
                for q in 0..4 {
                    if q < count {
                        four[q] = self.load(row, column + q);
                    }
                }
                four
            }
        }
    }

    /// Elements of the row that lie between an aligned vector of four and the one at `column`.
    #[inline(always)]
    pub fn shift(&self, row: usize, column: usize) -> usize {
        let bytes = self.start.addr();
        let start = if self.is_16bit { bytes / 2 } else { bytes / 4 };
        (start + row * self.leading + column) % 4
    }

    /// Stores an element, rounded to the nearest.
    ///
    /// # Safety
    /// The matrix has it, it is writable, and no other thread accesses it.
    #[inline(always)]
    pub unsafe fn store(&self, row: usize, column: usize, element: f32) {
        let index = row * self.leading + column;
        // SAFETY: the contract is that of this function.
        unsafe {
            if self.is_16bit {
                *self.start.wrapping_add(index) = N::from_wide(element);
            } else {
                *self.start.cast::<f32>().wrapping_add(index) = element;
            }
        }
    }

    /// Stores four elements of a row from `column` on as a vector, rounded to the nearest.
    ///
    /// # Safety
    /// As for [`store`](Self::store), of all four. The [shift](Self::shift) of the first one is 0.
    #[inline(always)]
    pub unsafe fn store_vector(&self, row: usize, column: usize, elements: [f32; 4]) {
        let index = row * self.leading + column;
        // SAFETY: the contract is that of this function.
        unsafe {
            if self.is_16bit {
                N::store_4(self.start.wrapping_add(index), elements);
            } else {
                f32::store_4(self.start.cast::<f32>().wrapping_add(index), elements);
            }
        }
    }

    /// Stores the first `count` ≤ 4 of four elements of a row from `column` on, a multiple of 4,
    /// rounded to the nearest.
    ///
    /// # Safety
    /// The matrix has them, they are writable, and no other thread accesses them.
    #[inline(always)]
    pub unsafe fn store_4(&self, row: usize, column: usize, count: usize, elements: [f32; 4]) {
        // SAFETY: the contract is that of this function; vectors are aligned by the test.
        unsafe {
            if count >= 4 && self.has_vectors() {
                self.store_vector(row, column, elements);
            } else {
                for q in 0..4 {
                    if q < count {
                        self.store(row, column + q, elements[q]);
                    }
                }
            }
        }
    }
}
