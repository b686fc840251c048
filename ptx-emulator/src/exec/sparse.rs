//! Sparse A of `mma.sp` and `wgmma.mma_async.sp` (PTX ISA, "Sparse matrix storage").
//!
//! A holds the half of each row that may differ from zero, in the fragments or the layout of a
//! dense matrix of half the columns. Metadata says where it stands: four bits for a chunk of the
//! row, two for each of its two elements (of 4 bits: pairs of elements), the lower ones first. Of
//! tf32, a chunk has two elements, one of them is there, and the four bits count halves of them.
//!
//! Which lane of a group of four has which part of the metadata depends on the number of a row's
//! chunks. Let s be the selector, g the row modulo 8 and h the row divided by 8:
//!
//! - 4 chunks: lane 4 g + s has those of both rows, row h in the half h of the word;
//! - 8 chunks of 16 bits or tf32: lanes 4 g + 2 s and behind it have four chunks of both rows each;
//! - 8 chunks of fewer bits: lane 4 g + 2 s + h has those of row h;
//! - 16 chunks: lane 4 g + h has the first eight of row h, and lane 4 g + 2 + h the others.
//!
//! A sum is that of a dense row with the elements of B that the metadata selects, since tensor
//! cores take as many of them at a time. It was not compared with a GPU.

use super::integer_matrix::{accumulate, widen};
use super::matrix::Products;
use super::replaced_sum::{converted, converted_product};
use super::run::{Outcome, RawFault};
use super::tensor_sum::{
    Factor, Kind, Line, Scale, any_dot_product, dot_product, scaled_dot_product,
};
use super::vector::LANES;
use super::warp_ops::{read, write};
use crate::error::FaultKind;
use crate::ir::{MatrixInputs, Mma, Register, Sparsity, Sums};

/// Columns of B of `mma.sp`.
const COLUMNS: usize = 8;

/// Rows of A of a warp.
const ROWS: usize = 16;

/// For each row of A, the index along k of each element that it holds.
pub(super) type Positions = Vec<Vec<usize>>;

/// How the elements of a row of A are chunked.
#[derive(Clone, Copy)]
pub(super) enum Chunk {
    /// One of two.
    OneOfTwo,
    /// Two of four.
    TwoOfFour,
    /// Two pairs of four.
    PairsOfFour,
}

impl Chunk {
    pub(super) fn of(inputs: MatrixInputs) -> Self {
        match inputs.packed() {
            1 => Chunk::OneOfTwo,
            8 => Chunk::PairsOfFour,
            _ => Chunk::TwoOfFour,
        }
    }

    /// Elements of a chunk, those that are zero among them.
    pub(super) fn elements(self) -> usize {
        match self {
            Chunk::OneOfTwo => 2,
            Chunk::TwoOfFour => 4,
            Chunk::PairsOfFour => 8,
        }
    }

    /// Elements of a chunk that are stored.
    pub(super) fn stored(self) -> usize {
        self.elements() / 2
    }

    /// Where the stored elements of a chunk stand within it, as [`Self::named`]. Of elements that
    /// are all zero it does not matter.
    pub(super) fn positions(
        self,
        bits: u32,
        is_ordered: bool,
        stored: &[u32],
    ) -> Option<Vec<usize>> {
        let are_zero = stored.iter().all(|&element| element == 0);
        let any = are_zero.then(|| (0..self.stored()).collect());
        self.named(bits, is_ordered).or(any)
    }

    /// The elements within the chunk that its metadata names; none where the PTX ISA leaves open
    /// what that means.
    fn named(self, bits: u32, is_ordered: bool) -> Option<Vec<usize>> {
        let (first, second) = ((bits & 3) as usize, (bits >> 2 & 3) as usize);
        let is_valid = first < second || first > second && !is_ordered;
        match self {
            Chunk::OneOfTwo => match bits {
                0b0100 => Some(vec![0]),
                0b1110 => Some(vec![1]),
                _ => None,
            },
            Chunk::TwoOfFour => is_valid.then(|| vec![first, second]),
            Chunk::PairsOfFour => {
                let pairs = [2 * first, 2 * first + 1, 2 * second, 2 * second + 1];
                is_valid.then(|| pairs.to_vec())
            }
        }
    }
}

impl Products<'_, '_> {
    /// Where the elements of A stand in rows of `depth` elements. `a` gives the stored elements of
    /// a row.
    ///
    /// Of elements that are all zero it does not matter where they stand: rows beyond a tensor
    /// are such, whose metadata a tensor copy has filled with zeros too.
    pub(super) fn positions<'a>(
        &self,
        sparsity: &Sparsity,
        inputs: MatrixInputs,
        depth: usize,
        a: impl Fn(usize) -> &'a [u32],
    ) -> Result<Positions, Box<RawFault>> {
        let chunk = Chunk::of(inputs);
        let count = depth / chunk.elements();
        let selector = sparsity.selector as usize;
        // Lane and first bit of a chunk of a row.
        let place = |row: usize, at: usize| {
            let (group, half) = (row % 8, row / 8);
            let (within, shift) = match (count, inputs.packed()) {
                (4, _) => (selector, 16 * half + 4 * at),
                (8, 1 | 2) => (2 * selector + at / 4, 16 * half + 4 * (at % 4)),
                (8, _) => (2 * selector + half, 4 * at),
                _ => (2 * (at / 8) + half, 4 * (at % 8)),
            };
            (4 * group + within, shift)
        };
        let mut rows = Vec::with_capacity(ROWS);
        for row in 0..ROWS {
            let mut positions = Vec::with_capacity(depth / 2);
            for at in 0..count {
                let (lane, shift) = place(row, at);
                let word = read(self.r, sparsity.metadata, lane) as u32;
                let bits = word >> shift & 0xf;
                let stored = &a(row)[at * chunk.stored()..][..chunk.stored()];
                let named = chunk.positions(bits, sparsity.is_ordered, stored).ok_or_else(|| {
                    Box::new(RawFault {
                        kind: FaultKind::BadTensor(format!(
                            "the metadata of row {row} of A, bits {shift} to {} of {word:#010x}, \
                             name no elements of a chunk",
                            shift + 3
                        )),
                        lane: Some(lane),
                    })
                })?;
                positions.extend(named.into_iter().map(|of| at * chunk.elements() + of));
            }
            rows.push(positions);
        }
        Ok(rows)
    }

    /// D = A · B + C by `mma.sp`.
    pub(super) fn mma_sparse(&mut self, product: &Mma, sparsity: &Sparsity) -> Outcome {
        let depth = product.depth as usize;
        let a = self.lines(&product.a, product.inputs, ROWS, depth / 2);
        let positions = self.positions(sparsity, product.inputs, depth, |row| &a[row])?;
        let b = self.lines(&product.b, product.inputs_b, COLUMNS, depth);
        let selected = |row: usize, column: usize| -> Vec<u32> {
            positions[row].iter().map(|&k| b[column][k]).collect()
        };
        let scales = match &product.scales {
            Some(scales) => Some(self.scales(scales)?),
            None => None,
        };
        let mut sums = [[0; COLUMNS]; ROWS];
        for (row, sums) in sums.iter_mut().enumerate() {
            for (column, sum) in sums.iter_mut().enumerate() {
                let addend = self.element_of_sums(product, row, column);
                let lines = (&a[row][..], &selected(row, column)[..]);
                // A block has as many elements of A as others: each chunk is in one block.
                let pairs = scales.as_ref().map(|(of_a, of_b)| {
                    let pairs = of_a[row].iter().zip(&of_b[column]);
                    pairs.map(|(a, b)| [*a, *b]).collect::<Vec<_>>()
                });
                *sum = self.sparse_sum(product, lines, pairs.as_deref(), addend);
            }
        }
        let [_, of_d] = product.sums;
        let packed = of_d.packed() as usize;
        for (i, register) in product.d.iter().enumerate() {
            for lane in 0..LANES {
                let parts = (0..packed).map(|part| {
                    let (row, column) = element(packed * i + part, lane);
                    sums[row][column] << (16 * part)
                });
                let word = parts.fold(0, |word, part| word | part);
                write(self.r, *register, lane, u64::from(word));
            }
        }
        Ok(())
    }

    /// Rows of A or columns of B, element by element.
    fn lines(
        &self,
        registers: &[Register],
        inputs: MatrixInputs,
        lines: usize,
        depth: usize,
    ) -> Vec<Vec<u32>> {
        let packed = inputs.packed() as usize;
        let width = 32 / packed;
        let halves = lines / 8;
        let mut all = vec![vec![0; depth]; lines];
        for (i, register) in registers.iter().enumerate() {
            for lane in 0..LANES {
                let word = read(self.r, *register, lane) as u32;
                let line = &mut all[lane / 4 + 8 * (i % halves)];
                for part in 0..packed {
                    let k = packed * (lane % 4 + 4 * (i / halves)) + part;
                    line[k] = word >> (width * part) & (u32::MAX >> (32 - width));
                }
            }
        }
        all
    }

    /// An element of C.
    fn element_of_sums(&self, product: &Mma, row: usize, column: usize) -> u32 {
        let packed = product.sums[0].packed() as usize;
        let at = 2 * (row / 8) + column % 2;
        let lane = 4 * (row % 8) + column / 2;
        let word = read(self.r, product.c[at / packed], lane) as u32;
        match product.sums[0] {
            Sums::F16 => word >> (16 * (at % packed)) & 0xffff,
            _ => word,
        }
    }

    fn sparse_sum(
        &self,
        product: &Mma,
        (a, b): (&[u32], &[u32]),
        scales: Option<&[[Scale; 2]]>,
        addend: u32,
    ) -> u32 {
        let inputs = [product.inputs, product.inputs_b];
        if let MatrixInputs::Integer { .. } = product.inputs {
            let pairs = a.iter().zip(b);
            let sum = pairs.map(|(a, b)| widen(*a, inputs[0]) * widen(*b, inputs[1]));
            return accumulate(addend, sum.sum(), product.saturates);
        }
        if product.converts {
            let line = |bits: &[u32], inputs| -> Vec<Factor> {
                bits.iter().map(|bits| converted(inputs, *bits)).collect()
            };
            let (a, b) = (line(a, inputs[0]), line(b, inputs[1]));
            return converted_product(product.sums[1], &a, &b, addend);
        }
        let line = |bits: &[u32], inputs| -> Vec<Factor> {
            bits.iter().map(|bits| Factor::of(inputs, *bits)).collect()
        };
        let (a, b) = (line(a, inputs[0]), line(b, inputs[1]));
        use MatrixInputs::{Bf16, F16, Tf32};
        match (product.inputs, product.sums) {
            (F16 | Bf16 | Tf32, [Sums::F32, Sums::F32]) => {
                let (a, b) = (Line::new(&a), Line::new(&b));
                dot_product(self.level, product.inputs, &a, &b, addend)
            }
            (_, sums) => {
                let kind = Kind {
                    inputs,
                    sums,
                    short: false,
                };
                match scales {
                    Some(scales) => scaled_dot_product(kind, &a, &b, scales, addend),
                    None => any_dot_product(kind, &a, &b, addend),
                }
            }
        }
    }
}

/// Row and column of the element of C and D that a lane has at index `i`.
fn element(i: usize, lane: usize) -> (usize, usize) {
    (lane / 4 + 8 * (i / 2), 2 * (lane % 4) + i % 2)
}

#[cfg(test)]
mod tests {
    use super::Chunk;

    #[test]
    fn metadata_name_elements() {
        for (chunk, bits, is_ordered, wanted) in [
            (Chunk::TwoOfFour, 0b1101, true, Some(vec![1, 3])),
            (Chunk::TwoOfFour, 0b0111, true, None),
            (Chunk::TwoOfFour, 0b0111, false, Some(vec![3, 1])),
            (Chunk::TwoOfFour, 0b1010, false, None),
            (Chunk::PairsOfFour, 0b1000, true, Some(vec![0, 1, 4, 5])),
            (Chunk::OneOfTwo, 0b0100, true, Some(vec![0])),
            (Chunk::OneOfTwo, 0b1110, false, Some(vec![1])),
            (Chunk::OneOfTwo, 0b1001, false, None),
        ] {
            assert_eq!(chunk.named(bits, is_ordered), wanted, "{bits:#06b}");
        }
    }
}
