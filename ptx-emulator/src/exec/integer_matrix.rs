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

impl Products<'_, '_> {
    /// The sums of the products for each element of D, by rows. They need less than 32 bits: at
    /// most 64 products of 16 bits each.
    fn sums(&self, product: &Mma, a: &[u32], b: &[u32]) -> Vec<i32> {
        let depth = product.depth as usize;
        let packed = product.inputs.packed();
        let elements = |words: &[u32], inputs: MatrixInputs| -> Vec<i32> {
            let bits = 32 / packed;
            let of_word = |word: &u32| {
                let word = *word;
                (0..packed).map(move |part| widen(word >> (bits * part), inputs) as i32)
            };
            words.iter().flat_map(of_word).collect()
        };
        let (a, b) = (elements(a, product.inputs), elements(b, product.inputs_b));
        let mut rows = vec![[0; COLUMNS]; depth];
        for (column, line) in b.chunks_exact(depth).enumerate().take(COLUMNS) {
            for (row, element) in rows.iter_mut().zip(line) {
                row[column] = *element;
            }
        }
        let mut sums = vec![0; product.rows as usize * COLUMNS];
        let of_rows = sums.as_chunks_mut::<COLUMNS>().0.iter_mut();
        for (sums, line) in of_rows.zip(a.chunks_exact(depth)) {
            simd::add_products(self.level, sums, line, &rows);
        }
        sums
    }

    pub(super) fn mma_integer(&mut self, product: &Mma) {
        // Words along k: each lane has one of four neighbours.
        let words = product.depth as usize / product.inputs.packed() as usize;
        let halves = product.rows as usize / 8;
        let rows = product.rows as usize;
        let mut a = vec![0u32; rows * words];
        let mut b = vec![0u32; 8 * words];
        for lane in 0..LANES {
            let (group, place) = (lane / 4, lane % 4);
            for (i, register) in product.a.iter().enumerate() {
                let row = group + 8 * (i % halves);
                a[row * words + place + 4 * (i / halves)] = read(self.r, *register, lane) as u32;
            }
            for (i, register) in product.b.iter().enumerate() {
                b[group * words + place + 4 * i] = read(self.r, *register, lane) as u32;
            }
        }
        let element = |i: usize, lane: usize| (lane / 4 + 8 * (i / 2), 2 * (lane % 4) + i % 2);
        let c: Vec<[u32; LANES]> = product
            .c
            .iter()
            .map(|register| std::array::from_fn(|lane| read(self.r, *register, lane) as u32))
            .collect();
        let sums = (product.bits.is_none()).then(|| self.sums(product, &a, &b));
        for (i, (&register, c)) in product.d.iter().zip(&c).enumerate() {
            for (lane, &addend) in c.iter().enumerate() {
                let (row, column) = element(i, lane);
                let sum = match &sums {
                    Some(sums) => i64::from(sums[row * COLUMNS + column]),
                    None => {
                        let (a, b) = (&a[row * words..][..words], &b[column * words..][..words]);
                        dot([product.inputs, product.inputs_b], product.bits, a, b)
                    }
                };
                let value = accumulate(addend, sum, product.saturates);
                write(self.r, register, lane, u64::from(value));
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
