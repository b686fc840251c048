//! `mma.sync` of integers: exact products, sums modulo 2^32 or clamped.
//!
//! Fragments follow the rule of [`super::matrix`], with 4 (8 bits), 8 (4 bits) or 32 (1 bit)
//! elements in a register.

use super::matrix::Products;
use super::simd;
use super::vector::LANES;
use super::warp_ops::{read, write};
use crate::ir::{MatrixInputs, Mma};

/// An element of A or B.
pub(super) fn widen(bits: u32, inputs: MatrixInputs) -> i64 {
    match inputs {
        MatrixInputs::Integer {
            bits: width,
            signed: true,
        } => {
            let up = 32 - width;
            i64::from((bits << up) as i32 >> up)
        }
        MatrixInputs::Integer { bits: width, .. } => i64::from(bits & (u32::MAX >> (32 - width))),
        _ => 0,
    }
}

/// An accumulator after a sum of products.
pub(super) fn accumulate(c: u32, sum: i64, saturates: bool) -> u32 {
    let sum = i64::from(c as i32) + sum;
    match saturates {
        true => sum.clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as u32,
        false => sum as u32,
    }
}

/// Columns of B.
pub(super) const COLUMNS: usize = 8;

/// Most rows of A and D, and most words of A and B along k (m16n8k32 of 8 bits).
const MAX_ROWS: usize = 16;
const MAX_WORDS: usize = 8;

/// Most elements along k but for single bits, which are taken by words.
const MAX_DEPTH: usize = 64;

/// The fragments of A and B, word by word along k.
struct Fragments {
    /// By rows.
    a: [[u32; MAX_WORDS]; MAX_ROWS],
    /// By columns.
    b: [[u32; MAX_WORDS]; COLUMNS],
}

/// Unpacks the elements of words.
#[inline(always)]
fn unpack(words: &[u32], inputs: MatrixInputs, to: &mut [i32]) {
    let packed = inputs.packed() as usize;
    let bits = 32 / packed as u32;
    for (word, to) in words.iter().zip(to.chunks_exact_mut(packed)) {
        for (part, to) in to.iter_mut().enumerate() {
            *to = widen(word >> (bits * part as u32), inputs) as i32;
        }
    }
}

impl Products<'_, '_> {
    /// The sums of the products for each element of D. They need less than 32 bits: at most 64
    /// products of 16 bits each.
    fn sums(&self, product: &Mma, fragments: &Fragments) -> [[i32; COLUMNS]; MAX_ROWS] {
        let depth = (product.depth as usize).min(MAX_DEPTH);
        let mut line = [0; MAX_DEPTH];
        let mut by_depth = [[0; COLUMNS]; MAX_DEPTH];
        for (column, words) in fragments.b.iter().enumerate() {
            unpack(words, product.inputs_b, &mut line[..depth]);
            for (row, element) in by_depth.iter_mut().zip(&line[..depth]) {
                row[column] = *element;
            }
        }
        let mut sums = [[0; COLUMNS]; MAX_ROWS];
        let rows = fragments.a.iter().take(product.rows as usize);
        for (sums, words) in sums.iter_mut().zip(rows) {
            unpack(words, product.inputs, &mut line[..depth]);
            simd::add_products(self.level, sums, &line[..depth], &by_depth[..depth]);
        }
        sums
    }

    /// A and B in order; each lane has one of four neighbours along k.
    fn fragments(&self, product: &Mma) -> Fragments {
        let halves = product.rows as usize / 8;
        let mut fragments = Fragments {
            a: [[0; MAX_WORDS]; MAX_ROWS],
            b: [[0; MAX_WORDS]; COLUMNS],
        };
        for (i, register) in product.a.iter().enumerate() {
            for lane in 0..LANES {
                let (row, word) = (lane / 4 + 8 * (i % halves), lane % 4 + 4 * (i / halves));
                fragments.a[row][word] = read(self.r, *register, lane) as u32;
            }
        }
        for (i, register) in product.b.iter().enumerate() {
            for lane in 0..LANES {
                fragments.b[lane / 4][lane % 4 + 4 * i] = read(self.r, *register, lane) as u32;
            }
        }
        fragments
    }

    pub(super) fn mma_integer(&mut self, product: &Mma) {
        let words = product.depth as usize / product.inputs.packed() as usize;
        let fragments = self.fragments(product);
        let sums = (product.bits.is_none()).then(|| self.sums(product, &fragments));
        // Registers of D may be others of C.
        let mut values = [[0u32; LANES]; MAX_ROWS / 4];
        for (i, (values, &register)) in values.iter_mut().zip(&product.c).enumerate() {
            for (lane, value) in values.iter_mut().enumerate() {
                let (row, column) = (lane / 4 + 8 * (i / 2), 2 * (lane % 4) + i % 2);
                let sum = match &sums {
                    Some(sums) => i64::from(sums[row][column]),
                    None => {
                        let (a, b) = (&fragments.a[row][..words], &fragments.b[column][..words]);
                        dot([product.inputs, product.inputs_b], product.bits, a, b)
                    }
                };
                let addend = read(self.r, register, lane) as u32;
                *value = accumulate(addend, sum, product.saturates);
            }
        }
        for (values, &register) in values.iter().zip(&product.d) {
            for (lane, value) in values.iter().enumerate() {
                write(self.r, register, lane, u64::from(*value));
            }
        }
    }
}

/// The sum of the products of the elements in some words; of single bits, whether they are combined
/// by AND, else by XOR.
pub(super) fn dot(inputs: [MatrixInputs; 2], bits: Option<bool>, a: &[u32], b: &[u32]) -> i64 {
    if let Some(combine) = bits {
        let ones = |(&a, &b): (&u32, &u32)| {
            let both = if combine { a & b } else { a ^ b };
            i64::from(both.count_ones())
        };
        return a.iter().zip(b).map(ones).sum();
    }
    let bits = 32 / inputs[0].packed();
    let mut sum = 0;
    for (&a, &b) in a.iter().zip(b) {
        for part in 0..32 / bits {
            let of_a = widen(a >> (bits * part), inputs[0]);
            let of_b = widen(b >> (bits * part), inputs[1]);
            sum += of_a * of_b;
        }
    }
    sum
}

/// Adds the products of a line of A and the rows of B.
#[inline(always)]
pub(super) fn add_products(sums: &mut [i32; COLUMNS], a: &[i32], b: &[[i32; COLUMNS]]) {
    for (a, row) in a.iter().zip(b) {
        for (sum, b) in sums.iter_mut().zip(row) {
            *sum += a * b;
        }
    }
}
