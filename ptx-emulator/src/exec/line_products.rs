//! Products of lines, rows of A and columns of B, as `wgmma` and `tcgen05` take them from memory:
//! element by element.

use super::integer_matrix::{accumulate, dot};
use super::simd::{self, Level};
use super::tensor_sum::{
    Factor, Factors, Kind, Line, Scale, Tile, any_dot_product, dot_product, is_special,
    scaled_dot_product,
};
use super::vector::LANES;
use crate::ir::{MatrixInputs, Sums};

/// Rows and columns of D that are computed at once.
const ROWS: usize = 16;
const COLUMNS: usize = 256;

/// What is computed of lines.
#[derive(Clone, Copy, Debug)]
pub(super) struct LineProduct<'s> {
    pub level: Level,
    pub inputs: [MatrixInputs; 2],
    pub sums: Sums,
    /// Elements of a line.
    pub depth: usize,
    /// Whether products are subtracted.
    pub negate: bool,
    /// Of integers.
    pub saturates: bool,
    /// Whether 13 bits of sums of 8-bit floats are kept.
    pub short: bool,
    /// Of each row and of each column, its scales.
    pub scales: Option<[&'s [Vec<Scale>]; 2]>,
}

/// Significands and exponents.
type Parts = [Vec<i32>; 2];

impl LineProduct<'_> {
    /// D of rows of A and columns of B. `c` is what is added; both are by rows.
    pub(super) fn sums(&self, a: &[u32], b: &[u32], c: &[u32]) -> Vec<u32> {
        use MatrixInputs::{Bf16, F16, Integer, Tf32};
        match self.inputs[0] {
            Integer { .. } => self.of_integers(a, b, c),
            F16 | Bf16 | Tf32 if self.sums == Sums::F32 => {
                let parts = self.parts(a).zip(self.parts(b));
                match parts {
                    Some((of_a, of_b)) => self.by_tiles([&of_a, &of_b], [a, b], c),
                    None => self.by_lines(a, b, c),
                }
            }
            _ => self.of_any(a, b, c),
        }
    }

    /// Each element of D from its row, its column and the element of C.
    fn each(&self, b: &[u32], c: &[u32], sum: impl Fn(usize, usize, u32) -> u32) -> Vec<u32> {
        let columns = b.len() / self.depth;
        let of = |(at, &addend): (usize, &u32)| sum(at / columns, at % columns, addend);
        c.iter().enumerate().map(of).collect()
    }

    fn of_integers(&self, a: &[u32], b: &[u32], c: &[u32]) -> Vec<u32> {
        let words = |elements: &[u32]| -> Vec<u32> {
            match self.inputs[0].packed() {
                // Bytes, four of them in a word.
                4 => {
                    let word = |bytes: &[u32; 4]| u32::from_le_bytes(bytes.map(|b| b as u8));
                    elements.as_chunks::<4>().0.iter().map(word).collect()
                }
                _ => elements.to_vec(),
            }
        };
        let bits = (self.inputs[0].packed() == 32).then_some(true);
        let lines = |all: &[u32]| -> Vec<Vec<u32>> { all.chunks(self.depth).map(words).collect() };
        let (of_a, of_b) = (lines(a), lines(b));
        self.each(b, c, |row, column, addend| {
            let sum = dot(self.inputs, bits, &of_a[row], &of_b[column]);
            accumulate(addend, sum, self.saturates)
        })
    }

    fn factors(&self, all: &[u32], inputs: MatrixInputs, negate: bool) -> Vec<Vec<Factor>> {
        let factor = |bits: &u32| Factor::of(inputs, *bits).negated_if(negate);
        let line = |line: &[u32]| line.iter().map(factor).collect();
        all.chunks(self.depth).map(line).collect()
    }

    fn of_any(&self, a: &[u32], b: &[u32], c: &[u32]) -> Vec<u32> {
        let kind = Kind {
            inputs: self.inputs,
            sums: [self.sums; 2],
            short: self.short,
        };
        let of_a = self.factors(a, self.inputs[0], self.negate);
        let of_b = self.factors(b, self.inputs[1], false);
        self.each(b, c, |row, column, addend| match self.scales {
            None => any_dot_product(kind, &of_a[row], &of_b[column], addend),
            Some([rows, columns]) => {
                let pairs = rows[row].iter().zip(&columns[column]);
                let pairs: Vec<[Scale; 2]> = pairs.map(|(a, b)| [*a, *b]).collect();
                scaled_dot_product(kind, &of_a[row], &of_b[column], &pairs, addend)
            }
        })
    }

    fn by_lines(&self, a: &[u32], b: &[u32], c: &[u32]) -> Vec<u32> {
        let whole = |all: Vec<Vec<Factor>>| -> Vec<Line> {
            all.iter().map(|line| Line::new(line)).collect()
        };
        let of_a = whole(self.factors(a, self.inputs[0], self.negate));
        let of_b = whole(self.factors(b, self.inputs[1], false));
        let (level, inputs) = (self.level, self.inputs[0]);
        self.each(b, c, |row, column, addend| {
            dot_product(level, inputs, &of_a[row], &of_b[column], addend)
        })
    }

    /// Elements as numbers; none where there are infinities or NaNs, or where they do not fill rows
    /// of 32.
    fn parts(&self, elements: &[u32]) -> Option<Parts> {
        let (rows, rest) = elements.as_chunks::<LANES>();
        if !rest.is_empty() {
            return None;
        }
        let mut parts = [0; 2].map(|_| Vec::with_capacity(elements.len()));
        let mut factors = Factors::ZERO;
        for row in rows {
            simd::factors(self.level, self.inputs[0], row, 0, &mut factors);
            if factors.has_special {
                return None;
            }
            parts[0].extend(factors.significands);
            parts[1].extend(factors.exponents);
        }
        Some(parts)
    }

    /// Of numbers: tiles of D at once, but for those where C has infinities or NaNs.
    fn by_tiles(&self, [of_a, of_b]: [&Parts; 2], [a, b]: [&[u32]; 2], c: &[u32]) -> Vec<u32> {
        let depth = self.depth;
        let (rows, columns) = (a.len() / depth, b.len() / depth);
        let mut of_a = of_a.clone();
        if self.negate {
            of_a[0].iter_mut().for_each(|part| *part = -*part);
        }
        let mut d = vec![0; rows * columns];
        for first in (0..columns).step_by(COLUMNS) {
            let width = COLUMNS.min(columns - first);
            // Of each column, one element for each k; a tile has them by rows.
            let of_b = of_b.each_ref().map(|parts| {
                let mut by_rows = vec![0; width * depth];
                let lines = parts[first * depth..].chunks_exact(depth).take(width);
                for (column, line) in lines.enumerate() {
                    for (k, element) in line.iter().enumerate() {
                        by_rows[k * width + column] = *element;
                    }
                }
                by_rows
            });
            for top in (0..rows).step_by(ROWS) {
                let height = ROWS.min(rows - top);
                let row =
                    |at: usize| (top + at) * columns + first..(top + at) * columns + first + width;
                let mut addends = Vec::with_capacity(height * width);
                (0..height).for_each(|at| addends.extend_from_slice(&c[row(at)]));
                let has_special = addends
                    .iter()
                    .fold(false, |any, &bits| any | is_special(bits));
                let sums = match has_special {
                    true => {
                        let (a, b) = (&a[top * depth..], &b[first * depth..]);
                        self.by_lines(&a[..height * depth], &b[..width * depth], &addends)
                    }
                    false => {
                        let tile = Tile {
                            inputs: self.inputs[0],
                            depth,
                            columns: width,
                            a: of_a.each_ref().map(|a| &a[top * depth..][..height * depth]),
                            b: of_b.each_ref().map(Vec::as_slice),
                            c: &addends,
                        };
                        let mut sums = vec![0; height * width];
                        simd::tile(self.level, &tile, &mut sums);
                        sums
                    }
                };
                for (at, sums) in sums.chunks_exact(width).enumerate() {
                    d[row(at)].copy_from_slice(sums);
                }
            }
        }
        d
    }
}
