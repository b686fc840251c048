//! `mma.sync`: fragments and MMAs (PTX ISA, "Warp Level Matrix Multiply-Accumulate Instructions").
//!
//! Lane l belongs to group g = l / 4 and has index t = l mod 4 in it. Let a register hold e
//! elements, counted by p. Register i of a fragment holds, where A has 8 r rows:
//!
//! - of A: row g + 8 (i mod r), column e t + p + 4 e (i / r);
//! - of B: row e t + p + 4 e i, column g;
//! - of C and D: row g + 8 (i / 2), column 2 t + i mod 2.
//!
//! This summarises the tables of the ISA for 16-bit, tf32 and f64 elements.

use super::float;
use super::run::{Outcome, RawFault, Run};
use super::simd;
use super::tensor_sum::{Factor, Factors, Line, MAX_DEPTH, Tile, dot_product, is_special};
use super::vector::{LANES, Registers};
use super::warp_ops::{read, write};
use crate::error::FaultKind;
use crate::ir::{Matrix, MatrixInputs, Mma, Register, Sums};
use crate::observer::EventSink;

/// Most rows of A.
const MAX_ROWS: usize = 16;

/// Columns of B.
const COLUMNS: usize = 8;

impl<'r, O: EventSink> Run<'r, '_, O> {
    pub(super) fn matrix(&mut self, index: u32, mask: u32) -> Outcome {
        if mask != u32::MAX {
            return Err(Box::new(RawFault {
                kind: FaultKind::PartialWarp(mask),
                lane: None,
            }));
        }
        match &self.program.matrices[index as usize] {
            Matrix::Move(matrices) => self.move_matrices(matrices),
            Matrix::Transpose(to, from) => {
                let rows = self.r.regs32[from.0 as usize];
                // Row and column of an element: its lane is 4 · row + column / 2.
                let element = |row: usize, column: usize| {
                    rows[4 * row + column / 2] >> (16 * (column % 2)) & 0xffff
                };
                self.r.regs32[to.0 as usize] = std::array::from_fn(|lane| {
                    let (row, column) = (lane / 4, 2 * (lane % 4));
                    element(column, row) | element(column + 1, row) << 16
                });
                Ok(())
            }
            Matrix::Mma(product) => self.products().mma(product),
            Matrix::WmmaMove(moved) => self.wmma_move(moved),
            Matrix::Wmma(product) => {
                self.products().wmma(product);
                Ok(())
            }
            Matrix::Wgmma(product) => self.wgmma(product),
        }
    }

    pub(super) fn products(&mut self) -> Products<'_, 'r> {
        Products {
            r: &mut self.r,
            level: self.launch.level,
        }
    }
}

/// Products of fragments in registers. No observer sees them: they are compiled once, not for each
/// type of observer.
pub(super) struct Products<'a, 'r> {
    pub(super) r: &'a mut Registers<'r>,
    pub(super) level: simd::Level,
}

impl Products<'_, '_> {
    fn mma(&mut self, product: &Mma) -> Outcome {
        use MatrixInputs::{Bf16, F16, F64, Integer, Tf32};
        if let Some(sparsity) = &product.sparsity {
            return self.mma_sparse(product, sparsity);
        }
        let is_frequent = product.sums == [Sums::F32; 2] && product.by_column.is_none();
        match product.inputs {
            F64 => self.mma_f64(product),
            Integer { .. } => self.mma_integer(product),
            F16 | Bf16 | Tf32 if is_frequent => self.mma_f32(product),
            _ => return self.mma_general(product),
        }
        Ok(())
    }

    fn mma_f32(&mut self, product: &Mma) {
        if !self.mma_by_tile(product) {
            self.mma_by_lines(product);
        }
    }

    /// All elements of D at once; false, with nothing done, where there are infinities or NaNs.
    fn mma_by_tile(&mut self, product: &Mma) -> bool {
        let (level, inputs) = (self.level, product.inputs);
        let packed = inputs.packed() as usize;
        let mut a = [[0; MAX_ROWS * MAX_DEPTH]; 2];
        let mut b = [[0; MAX_DEPTH * COLUMNS]; 2];
        let depth = product.depth as usize;
        let (rows, registers) = (MAX_ROWS, [&product.a, &product.b]);
        let mut factors = Factors::ZERO;
        if depth > MAX_DEPTH || product.d.len() * LANES != rows * COLUMNS {
            return false;
        }
        for (is_b, registers) in registers.into_iter().enumerate() {
            for (i, register) in registers.iter().enumerate() {
                let Register::Reg32(register) = register else {
                    return false;
                };
                let words = &self.r.regs32[register.0 as usize];
                for part in 0..packed {
                    simd::factors(level, inputs, words, 16 * part as u32, &mut factors);
                    if factors.has_special {
                        return false;
                    }
                    let Factors {
                        significands,
                        exponents,
                        ..
                    } = &factors;
                    // From one lane of a group to the next, and from one group to the next.
                    let (first, steps) = match is_b {
                        0 => {
                            let first = 8 * (i % 2) * depth + part + 4 * packed * (i / 2);
                            (first, (packed, depth))
                        }
                        _ => ((part + 4 * packed * i) * COLUMNS, (packed * COLUMNS, 1)),
                    };
                    let [to, exponents_to] = match is_b {
                        0 => a.each_mut().map(|a| &mut a[first..]),
                        _ => b.each_mut().map(|b| &mut b[first..]),
                    };
                    for lane in 0..LANES {
                        let at = lane % 4 * steps.0 + lane / 4 * steps.1;
                        to[at] = significands[lane];
                        exponents_to[at] = exponents[lane];
                    }
                }
            }
        }
        let mut c = [0; MAX_ROWS * COLUMNS];
        let place = |i: usize, lane: usize| {
            let (row, column) = element(i, lane);
            row * COLUMNS + column
        };
        let is_word = |register: &Register| matches!(register, Register::Reg32(_));
        if !product.d.iter().all(is_word) {
            return false;
        }
        for (i, register) in product.c.iter().enumerate() {
            let Register::Reg32(register) = register else {
                return false;
            };
            let words = &self.r.regs32[register.0 as usize];
            for lane in 0..LANES {
                c[place(i, lane)] = words[lane];
            }
        }
        if c.iter().fold(false, |any, &bits| any | is_special(bits)) {
            return false;
        }
        let tile = Tile {
            inputs,
            depth,
            columns: COLUMNS,
            a: a.each_ref().map(|a| &a[..rows * depth]),
            b: b.each_ref().map(|b| &b[..depth * COLUMNS]),
            c: &c,
        };
        let mut d = [0; MAX_ROWS * COLUMNS];
        simd::tile(level, &tile, &mut d);
        for (i, register) in product.d.iter().enumerate() {
            if let Register::Reg32(register) = register {
                let words = &mut self.r.regs32[register.0 as usize];
                for lane in 0..LANES {
                    words[lane] = d[place(i, lane)];
                }
            }
        }
        true
    }

    fn mma_by_lines(&mut self, product: &Mma) {
        let packed = product.inputs.packed() as usize;
        let factor =
            |bits: u64, part: usize| Factor::of(product.inputs, (bits >> (16 * part)) as u32);
        let mut a = [[Factor::ZERO; MAX_DEPTH]; MAX_ROWS];
        let mut b = [[Factor::ZERO; MAX_DEPTH]; COLUMNS];
        for lane in 0..LANES {
            let (group, place) = (lane / 4, lane % 4);
            for part in 0..packed {
                for (i, register) in product.a.iter().enumerate() {
                    let bits = read(self.r, *register, lane);
                    let column = packed * place + part + 4 * packed * (i / 2);
                    a[group + 8 * (i % 2)][column] = factor(bits, part);
                }
                for (i, register) in product.b.iter().enumerate() {
                    let bits = read(self.r, *register, lane);
                    b[group][packed * place + part + 4 * packed * i] = factor(bits, part);
                }
            }
        }
        let (a, b) = (
            a.map(|row| Line::new(&row)),
            b.map(|column| Line::new(&column)),
        );
        let level = self.level;
        self.store_d(product, |row, column, addend| {
            let (row, column) = (&a[row], &b[column]);
            u64::from(dot_product(
                level,
                product.inputs,
                row,
                column,
                addend as u32,
            ))
        });
    }

    /// f64: fused multiply-adds in the order of k. Which NaN they pass on is that of [`float`], not
    /// of the processor.
    fn mma_f64(&mut self, product: &Mma) {
        let halves = product.rows as usize / 8;
        let mut a = [[0f64; MAX_DEPTH]; MAX_ROWS];
        // By row.
        let mut b = [[0f64; COLUMNS]; MAX_DEPTH];
        for lane in 0..LANES {
            let (group, place) = (lane / 4, lane % 4);
            for (i, register) in product.a.iter().enumerate() {
                let value = f64::from_bits(read(self.r, *register, lane));
                a[group + 8 * (i % halves)][place + 4 * (i / halves)] = value;
            }
            for (i, register) in product.b.iter().enumerate() {
                b[place + 4 * i][group] = f64::from_bits(read(self.r, *register, lane));
            }
        }
        let depth = product.depth as usize;
        let mut sums = [[0f64; COLUMNS]; MAX_ROWS];
        for (i, register) in product.c.iter().enumerate() {
            for lane in 0..LANES {
                let (row, column) = element(i, lane);
                sums[row][column] = f64::from_bits(read(self.r, *register, lane));
            }
        }
        let level = self.level;
        for (sums, a) in sums.iter_mut().zip(&a).take(product.rows as usize) {
            let c = *sums;
            simd::multiply_row(level, sums, &a[..depth], &b);
            if sums.iter().any(|sum| sum.is_nan()) {
                *sums = std::array::from_fn(|column| {
                    let factors = a[..depth].iter().zip(b.iter().map(|row| row[column]));
                    let step = |c, (a, b): (&f64, f64)| float::fused(*a, b, c);
                    factors.fold(c[column], step)
                });
            }
        }
        for (i, register) in product.d.iter().enumerate() {
            for lane in 0..LANES {
                let (row, column) = element(i, lane);
                write(self.r, *register, lane, sums[row][column].to_bits());
            }
        }
    }

    /// Writes D, each element from its row, its column and the element of C.
    fn store_d(&mut self, product: &Mma, sum: impl Fn(usize, usize, u64) -> u64) {
        // C is read before D is written: they may be the same registers.
        let c: Vec<[u64; LANES]> = product
            .c
            .iter()
            .map(|register| std::array::from_fn(|lane| read(self.r, *register, lane)))
            .collect();
        for (i, (register, c)) in product.d.iter().zip(&c).enumerate() {
            for (lane, &addend) in c.iter().enumerate() {
                let (row, column) = element(i, lane);
                write(self.r, *register, lane, sum(row, column, addend));
            }
        }
    }
}

/// Row and column of the element of C and D that a lane has in register `i`.
fn element(i: usize, lane: usize) -> (usize, usize) {
    (lane / 4 + 8 * (i / 2), 2 * (lane % 4) + i % 2)
}
