//! `mma.sync` of integers: exact products, sums modulo 2^32 or clamped.
//!
//! Fragments follow the rule of [`super::matrix`], with 4 (8 bits), 8 (4 bits) or 32 (1 bit)
//! elements in a register.

use super::run::Run;
use super::vector::LANES;
use super::warp_ops::{read, write};
use crate::ir::{MatrixInputs, Mma};
use crate::observer::Observer;

/// An element of A or B.
fn widen(bits: u32, inputs: MatrixInputs) -> i64 {
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

impl<O: Observer> Run<'_, '_, O> {
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
                a[row * words + place + 4 * (i / halves)] = read(&self.r, *register, lane) as u32;
            }
            for (i, register) in product.b.iter().enumerate() {
                b[group * words + place + 4 * i] = read(&self.r, *register, lane) as u32;
            }
        }
        let element = |i: usize, lane: usize| (lane / 4 + 8 * (i / 2), 2 * (lane % 4) + i % 2);
        let c: Vec<[u32; LANES]> = product
            .c
            .iter()
            .map(|register| std::array::from_fn(|lane| read(&self.r, *register, lane) as u32))
            .collect();
        for (i, (&register, c)) in product.d.iter().zip(&c).enumerate() {
            for (lane, &addend) in c.iter().enumerate() {
                let (row, column) = element(i, lane);
                let (a, b) = (&a[row * words..][..words], &b[column * words..][..words]);
                let sum = dot([product.inputs, product.inputs_b], product.bits, a, b);
                let value = accumulate(addend, sum, product.saturates);
                write(&mut self.r, register, lane, u64::from(value));
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
