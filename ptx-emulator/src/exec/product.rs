//! `mma.sync` of the kinds that are not frequent: sums in f16, floats of at most 8 bits, scales by
//! blocks, and the eight-lane products of compute capability 7.0.
//!
//! Of those that compute capability 9.0 has no instruction for, the sums are in
//! [`super::replaced_sum`].
//!
//! Fragments follow the rule of [`super::matrix`]; of C and D in f16, register i holds row
//! g + 8 i, columns 2 t and 2 t + 1. With `.block_scale`, the scales of row g + 8 r are in lane
//! 4 g + 2 s + r, where s is the selector of lanes, and those of column g in lane 4 g + s. PTX ISA,
//! "Warp Level Matrix Multiply-Accumulate Instructions" and "Block Scaling".

use super::matrix::Products;
use super::replaced_sum::{converted, converted_product, product_of_four};
use super::run::{Outcome, RawFault};
use super::tensor_sum::{Factor, Kind, Scale, any_dot_product, scaled_dot_product};
use super::vector::LANES;
use super::warp_ops::{read, write};
use crate::error::FaultKind;
use crate::ir::{MatrixInputs, Mma, Register, Scales, Sums};

/// Columns of B.
const COLUMNS: usize = 8;

/// Lanes of the first half of those that compute a product of their own.
const QUAD: usize = 4;

/// Where the elements of a fragment are: lane, register and part of the register of an element.
type Backing = (usize, usize, usize);

impl Products<'_, '_> {
    /// D = A · B + C in the general way.
    pub(super) fn mma_general(&mut self, product: &Mma) -> Outcome {
        let kind = Kind {
            inputs: [product.inputs, product.inputs_b],
            sums: product.sums,
            short: false,
        };
        if let Some(by_column) = product.by_column {
            for quad in 0..4 {
                self.mma_of_eight(product, quad, by_column);
            }
            return Ok(());
        }
        let rows = product.rows as usize;
        let packed = product.inputs.packed() as usize;
        let halves = rows / 8;
        // Lane, register and part of the element of a line at an index along k.
        let along = |line: usize, k: usize, halves: usize| -> Backing {
            let (chunk, within) = (k / (4 * packed), k % (4 * packed));
            let lane = 4 * (line % 8) + within / packed;
            (lane, halves * chunk + line / 8, within % packed)
        };
        let depth = product.depth as usize;
        let mut lines = Vec::with_capacity((rows + COLUMNS) * depth);
        for row in 0..rows {
            let place = |k| along(row, k, halves);
            lines.extend(self.line(product, &product.a, product.inputs, place));
        }
        for column in 0..COLUMNS {
            let place = |k| along(column, k, 1);
            lines.extend(self.line(product, &product.b, product.inputs_b, place));
        }
        let (a, b) = lines.split_at(rows * depth);
        let scales = match &product.scales {
            Some(scales) => Some(self.scales(scales)?),
            None => None,
        };
        let element = |sums: Sums, row: usize, column: usize| -> Backing {
            let lane = 4 * (row % 8) + column / 2;
            match sums {
                Sums::F16 => (lane, row / 8, column % 2),
                _ => (lane, 2 * (row / 8) + column % 2, 0),
            }
        };
        let mut sums = Vec::with_capacity(rows * COLUMNS);
        for row in 0..rows {
            for column in 0..COLUMNS {
                let c = self.sum(&product.c, kind.sums[0], element(kind.sums[0], row, column));
                let (a, b) = (&a[row * depth..][..depth], &b[column * depth..][..depth]);
                let sum = match &scales {
                    None if product.converts => converted_product(kind.sums[1], a, b, c),
                    None => any_dot_product(kind, a, b, c),
                    Some((of_a, of_b)) => {
                        let pairs = of_a[row].iter().zip(&of_b[column]);
                        let pairs: Vec<[Scale; 2]> = pairs.map(|(a, b)| [*a, *b]).collect();
                        scaled_dot_product(kind, a, b, &pairs, c)
                    }
                };
                sums.push((element(kind.sums[1], row, column), sum));
            }
        }
        // C is read before D is written: they may be the same registers.
        for (place, sum) in sums {
            self.set_sum(&product.d, kind.sums[1], place, sum);
        }
        Ok(())
    }

    /// `m8n8k4`: the product of the lanes 4 q to 4 q + 3 and of those 16 behind them.
    fn mma_of_eight(&mut self, product: &Mma, quad: usize, [a, b]: [bool; 2]) {
        let sums_of = product.sums;
        let lane = |at: usize| QUAD * quad + at % QUAD + 16 * (at / QUAD);
        let half_word = |at: usize| (at / 2, at % 2);
        // By row of A and by column of B, a lane has the elements of one line.
        let by_line = |line: usize, k: usize| {
            let (register, part) = half_word(k);
            (lane(line), register, part)
        };
        // Else it has those of one index along k, of four lines.
        let by_depth = |line: usize, k: usize| {
            let (register, part) = half_word(line % QUAD);
            (lane(k + QUAD * (line / QUAD)), register, part)
        };
        let lines = |registers: &[Register], by_lines: bool| -> [[u32; 4]; 8] {
            let bits = |line: usize, k: usize| {
                let place = match by_lines {
                    true => by_line(line, k),
                    false => by_depth(line, k),
                };
                self.element(registers, MatrixInputs::F16, place)
            };
            std::array::from_fn(|line| std::array::from_fn(|k| bits(line, k)))
        };
        let (rows, columns) = (lines(&product.a, !a), lines(&product.b, b));
        let element = |sums: Sums, row: usize, column: usize| -> Backing {
            if sums == Sums::F16 {
                let (register, part) = half_word(column);
                return (lane(row), register, part);
            }
            // Register i of a lane l has row (l mod 2) + (i & 2) and column (i & 4) + (l & 2) +
            // (i & 1).
            let in_quad = row % 2 + (column & 2);
            let register = (row & 2) + (column & 4) + column % 2;
            (lane(in_quad + QUAD * (row / QUAD)), register, 0)
        };
        let mut sums = Vec::with_capacity(64);
        for (row, a) in rows.iter().enumerate() {
            for (column, b) in columns.iter().enumerate() {
                let c = self.sum(&product.c, sums_of[0], element(sums_of[0], row, column));
                let sum = product_of_four(sums_of, a, b, c);
                sums.push((element(sums_of[1], row, column), sum));
            }
        }
        for (place, sum) in sums {
            self.set_sum(&product.d, sums_of[1], place, sum);
        }
    }

    /// A row of A or a column of B.
    fn line(
        &self,
        product: &Mma,
        registers: &[Register],
        inputs: MatrixInputs,
        place: impl Fn(usize) -> Backing,
    ) -> impl Iterator<Item = Factor> {
        let factor = move |k: usize| {
            let bits = self.element(registers, inputs, place(k));
            match product.converts {
                true => converted(inputs, bits),
                false => Factor::of(inputs, bits),
            }
        };
        (0..product.depth as usize).map(factor)
    }

    /// The bits of an element of A or B.
    fn element(
        &self,
        registers: &[Register],
        inputs: MatrixInputs,
        (lane, register, part): Backing,
    ) -> u32 {
        let width = 32 / inputs.packed();
        let word = read(self.r, registers[register], lane) as u32;
        word >> (width * part as u32) & (u32::MAX >> (32 - width))
    }

    /// An element of C.
    fn sum(&self, registers: &[Register], sums: Sums, (lane, register, part): Backing) -> u32 {
        let word = read(self.r, registers[register], lane) as u32;
        match sums {
            Sums::F16 => word >> (16 * part) & 0xffff,
            _ => word,
        }
    }

    /// Writes an element of D.
    fn set_sum(
        &mut self,
        registers: &[Register],
        sums: Sums,
        (lane, register, part): Backing,
        value: u32,
    ) {
        let register = registers[register];
        let word = match sums {
            Sums::F16 => {
                let before = read(self.r, register, lane) as u32;
                before & !(0xffff << (16 * part)) | value << (16 * part)
            }
            _ => value,
        };
        write(self.r, register, lane, u64::from(word));
    }

    /// The scales of every row of A and of every column of B.
    #[expect(clippy::type_complexity)]
    pub(super) fn scales(
        &self,
        scales: &Scales,
    ) -> Result<(Vec<Vec<Scale>>, Vec<Vec<Scale>>), Box<RawFault>> {
        let selector = |of: usize, which: usize, most: u64, step: u64| {
            let register = scales.selectors[of][which];
            let value = read(self.r, register, 0);
            let is_uniform = (0..LANES).all(|lane| read(self.r, register, lane) == value);
            if is_uniform && value <= most && value.is_multiple_of(step) {
                return Ok(value as usize);
            }
            let name = ["byte", "thread"][which];
            Err(Box::new(RawFault {
                kind: FaultKind::BadTensor(format!(
                    "a {name} selector of the scales is {value}: it must be the same in all lanes, \
                     a multiple of {step} and at most {most}"
                )),
                lane: Some(0),
            }))
        };
        let blocks = u64::from(scales.blocks);
        let byte = |of: usize| selector(of, 0, 4 - blocks, blocks);
        let (byte_a, lane_a) = (byte(0)?, selector(0, 1, 1, 1)?);
        let (byte_b, lane_b) = (byte(1)?, selector(1, 1, 3, 1)?);
        let of = |words: Register, lane: usize, byte: usize| -> Vec<Scale> {
            let word = read(self.r, words, lane) as u32;
            let scale = |block: usize| {
                let bits = word >> (8 * (byte + block)) & 0xff;
                Scale::of(bits, scales.with_fraction)
            };
            (0..scales.blocks as usize).map(scale).collect()
        };
        let row = |row: usize| {
            of(
                scales.words[0],
                4 * (row % 8) + 2 * lane_a + row / 8,
                byte_a,
            )
        };
        let column = |column: usize| of(scales.words[1], 4 * column + lane_b, byte_b);
        Ok((
            (0..16).map(row).collect(),
            (0..COLUMNS).map(column).collect(),
        ))
    }
}
