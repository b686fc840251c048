//! `wmma`: fragments whose layout is the emulator's own (see the decoder).

mod moves;

use super::float;
use super::integer_matrix::{self, dot};
use super::matrix::Products;
use super::simd;
use super::tensor_sum::{
    Factor, Factors, Kind, Line, MAX_DEPTH, TILE_COLUMNS, Tile, any_dot_product, dot_product,
    is_special,
};
use super::vector::LANES;
use super::warp_ops::{read, write};
use crate::ir::{FloatFormat, FloatFunction, MatrixInputs, Register, Rounding, Sums, Wmma};
use ptx_syntax::ast::Type;

/// Most elements of A and of B.
const FACTORS: usize = 512;

/// Elements of C and D, of floats.
const SUMS: usize = 256;

impl Products<'_, '_> {
    /// A product of floats without infinities and NaNs; none where there are any.
    fn wmma_by_tile(
        &self,
        product: &Wmma,
        depth: usize,
        [a, b, c]: [&[u32]; 3],
    ) -> Option<Vec<u32>> {
        let [m, n, _] = product.shape.map(|extent| extent as usize);
        let (level, inputs) = (self.level, product.inputs);
        if depth > MAX_DEPTH || n % TILE_COLUMNS != 0 || c.iter().any(|&bits| is_special(bits)) {
            return None;
        }
        let split = |elements: &[u32]| {
            let mut parts = [Vec::new(), Vec::new()];
            let (rows, rest) = elements.as_chunks::<LANES>();
            let mut factors = Factors::ZERO;
            for row in rows {
                simd::factors(level, inputs, row, 0, &mut factors);
                if factors.has_special {
                    return None;
                }
                parts[0].extend(factors.significands);
                parts[1].extend(factors.exponents);
            }
            rest.is_empty().then_some(parts)
        };
        let (a, b) = (split(a)?, split(b)?);
        let tile = Tile {
            inputs,
            depth,
            columns: n,
            a: a.each_ref().map(Vec::as_slice),
            b: b.each_ref().map(Vec::as_slice),
            c,
        };
        let mut d = vec![0; m * n];
        simd::tile(level, &tile, &mut d);
        Some(d)
    }

    /// A product of f16 or bf16 with sums of f32; false, with nothing done, where there are
    /// infinities or NaNs.
    fn wmma_in_registers(&mut self, product: &Wmma) -> bool {
        let [m, n, k] = product.shape.map(|extent| extent as usize);
        let (level, inputs) = (self.level, product.inputs);
        let packed = inputs.packed() as usize;
        let is_frequent = product.sums == [Sums::F32; 2] && !product.saturates;
        let fits = k <= MAX_DEPTH && n % TILE_COLUMNS == 0 && m * n == SUMS;
        if !is_frequent || !fits || packed > 2 || m.max(n) * k > FACTORS {
            return false;
        }
        let mut parts = [[[0i32; FACTORS]; 2]; 2];
        let mut factors = Factors::ZERO;
        for ((registers, count), parts) in [(&product.a, m * k), (&product.b, k * n)]
            .into_iter()
            .zip(&mut parts)
        {
            let in_lane = count / LANES;
            for (i, register) in registers.iter().take(in_lane / packed).enumerate() {
                let Register::Reg32(register) = register else {
                    return false;
                };
                let words = &self.r.regs32[register.0 as usize];
                for part in 0..packed {
                    simd::factors(level, inputs, words, 16 * part as u32, &mut factors);
                    if factors.has_special {
                        return false;
                    }
                    let [significands, exponents] = &mut *parts;
                    for lane in 0..LANES {
                        let at = lane * in_lane + i * packed + part;
                        significands[at] = factors.significands[lane];
                        exponents[at] = factors.exponents[lane];
                    }
                }
            }
        }
        const IN_LANE: usize = SUMS / LANES;
        let mut c = [0; SUMS];
        for (i, register) in product.c.iter().enumerate().take(IN_LANE) {
            let Register::Reg32(register) = register else {
                return false;
            };
            let words = &self.r.regs32[register.0 as usize];
            for lane in 0..LANES {
                c[lane * IN_LANE + i] = words[lane];
            }
        }
        let is_word = |register: &Register| matches!(register, Register::Reg32(_));
        let has_special = c.iter().fold(false, |any, &bits| any | is_special(bits));
        if has_special || !product.d.iter().all(is_word) {
            return false;
        }
        let [a, b] = &parts;
        let tile = Tile {
            inputs,
            depth: k,
            columns: n,
            a: a.each_ref().map(|a| &a[..m * k]),
            b: b.each_ref().map(|b| &b[..k * n]),
            c: &c,
        };
        let mut d = [0; SUMS];
        simd::tile(level, &tile, &mut d);
        for (i, register) in product.d.iter().enumerate().take(IN_LANE) {
            if let Register::Reg32(register) = register {
                let words = &mut self.r.regs32[register.0 as usize];
                for lane in 0..LANES {
                    words[lane] = d[lane * IN_LANE + i];
                }
            }
        }
        true
    }

    pub(super) fn wmma(&mut self, product: &Wmma) {
        let is_half = matches!(product.inputs, MatrixInputs::F16 | MatrixInputs::Bf16);
        if is_half && self.wmma_in_registers(product) {
            return;
        }
        let d = match product.inputs {
            MatrixInputs::F64 => self.wmma_f64(product),
            MatrixInputs::Integer { .. } => self.wmma_integer(product),
            _ => self.wmma_float(product),
        };
        let packed = product.sums[1].packed() as usize;
        let in_lane = d.len() / LANES;
        for lane in 0..LANES {
            let own = &d[lane * in_lane..][..in_lane];
            for (elements, &register) in own.chunks(packed).zip(&product.d) {
                let value = match *elements {
                    [low, high] => low | high << 16,
                    [value] => value,
                    _ => 0,
                };
                write(self.r, register, lane, value);
            }
        }
    }

    /// Fused multiply-adds in the order of k.
    fn wmma_f64(&self, product: &Wmma) -> Vec<u64> {
        let [m, n, k] = product.shape.map(|extent| extent as usize);
        let a = self.elements(&product.a, 1, m * k);
        let b = self.elements(&product.b, 1, k * n);
        let mut sums = self.elements(&product.c, 1, m * n);
        let mut format = FloatFormat::new(Type::F64);
        format.rounding = product.rounding;
        for (at, sum) in sums.iter_mut().enumerate() {
            let (row, column) = (at / n, at % n);
            for i in 0..k {
                let x = [a[row * k + i], b[i * n + column], *sum];
                *sum = float::evaluate(FloatFunction::Fma, format, x);
            }
        }
        sums
    }

    fn wmma_integer(&self, product: &Wmma) -> Vec<u64> {
        let [m, n, k] = product.shape.map(|extent| extent as usize);
        let packed = product.inputs.packed() as usize;
        let c = self.elements(&product.c, 1, m * n);
        // Words with elements along k. Those of 8 bits are loaded one by one.
        let words = k / packed;
        let (rows, columns) = match packed {
            4 => {
                let a = self.elements(&product.a, 4, m * k);
                let b = self.elements(&product.b, 4, k * n);
                let word = |bytes: [u64; 4]| u32::from_le_bytes(bytes.map(|byte| byte as u8));
                let of_a = |at: usize| {
                    let first = at / words * k + at % words * packed;
                    word(std::array::from_fn(|i| a[first + i]))
                };
                let of_b = |at: usize| {
                    let (column, first) = (at / words, at % words * packed);
                    word(std::array::from_fn(|i| b[(first + i) * n + column]))
                };
                let rows: Vec<u32> = (0..m * words).map(of_a).collect();
                (rows, (0..n * words).map(of_b).collect::<Vec<u32>>())
            }
            _ => {
                let a = self.elements(&product.a, 1, m * words);
                let b = self.elements(&product.b, 1, words * n);
                let of_b = |at: usize| b[at % words * n + at / words] as u32;
                let rows: Vec<u32> = a.iter().map(|word| *word as u32).collect();
                (rows, (0..n * words).map(of_b).collect())
            }
        };
        let line = |lines: &[u32], at: usize| lines[at * words..][..words].to_vec();
        let sum = |(at, c): (usize, &u64)| {
            let (row, column) = (line(&rows, at / n), line(&columns, at % n));
            let sum = dot([product.inputs; 2], product.bits, &row, &column);
            u64::from(integer_matrix::accumulate(
                *c as u32,
                sum,
                product.saturates,
            ))
        };
        c.iter().enumerate().map(sum).collect()
    }

    /// Sums of f32, and of f16 where C and D are both: else C is converted to f32 first, and the
    /// sum to D at the end. Products of tf32 are two, each with k = 4.
    fn wmma_float(&self, product: &Wmma) -> Vec<u64> {
        let [m, n, k] = product.shape.map(|extent| extent as usize);
        let packed = product.inputs.packed();
        let words = |registers: &[Register], packed: u32, count: usize| -> Vec<u32> {
            let elements = self.elements(registers, packed, count).into_iter();
            elements.map(|bits| bits as u32).collect()
        };
        let a = words(&product.a, packed, m * k);
        let b = words(&product.b, packed, k * n);
        let mut sums = words(&product.c, product.sums[0].packed(), m * n);
        let [of_c, of_d] = product.sums;
        let in_f16 = product.sums == [Sums::F16; 2];
        if of_c == Sums::F16 && !in_f16 {
            for c in &mut sums {
                *c = (float::to_f64(u64::from(*c), Type::F16) as f32).to_bits();
            }
        }
        let step = match product.inputs {
            MatrixInputs::Tf32 => 4,
            _ => k,
        };
        for first in (0..k).step_by(step) {
            let rows = a.chunks(k).flat_map(|row| &row[first..first + step]);
            let rows: Vec<u32> = rows.copied().collect();
            let columns = &b[first * n..][..step * n];
            sums = match in_f16 {
                true => wmma_in_f16(product, [&rows, columns, &sums]),
                false => self.wmma_in_f32(product, step, [&rows, columns, &sums]),
            };
        }
        let result = |sum: u32| {
            let sum = match of_d == Sums::F16 && !in_f16 {
                true => {
                    let value = f64::from(f32::from_bits(sum));
                    float::from_f64(value, 0.0, Type::F16, Rounding::NearestEven) as u32
                }
                false => sum,
            };
            u64::from(match product.saturates {
                true => finite(sum, of_d),
                false => sum,
            })
        };
        sums.into_iter().map(result).collect()
    }

    /// A, B and C are by rows; A has as many columns as `depth`.
    fn wmma_in_f32(&self, product: &Wmma, depth: usize, [a, b, c]: [&[u32]; 3]) -> Vec<u32> {
        if let Some(sums) = self.wmma_by_tile(product, depth, [a, b, c]) {
            return sums;
        }
        let n = product.shape[1] as usize;
        let factor = |bits: &u32| Factor::of(product.inputs, *bits);
        let line = |bits: &mut dyn Iterator<Item = &u32>| {
            Line::new(&bits.map(factor).collect::<Vec<Factor>>())
        };
        let rows: Vec<Line> = a.chunks(depth).map(|row| line(&mut row.iter())).collect();
        let columns = (0..n).map(|column| line(&mut b.iter().skip(column).step_by(n)));
        let columns: Vec<Line> = columns.collect();
        let (level, inputs) = (self.level, product.inputs);
        let sum = |(at, c): (usize, &u32)| {
            dot_product(level, inputs, &rows[at / n], &columns[at % n], *c)
        };
        c.iter().enumerate().map(sum).collect()
    }

    /// The elements of a fragment, row by row.
    fn elements(&self, registers: &[Register], packed: u32, count: usize) -> Vec<u64> {
        let in_lane = count / LANES;
        let element = |number: usize| {
            let (lane, element) = (number / in_lane, number % in_lane);
            let word = read(self.r, registers[element / packed as usize], lane);
            if packed == 1 {
                return word;
            }
            let bits = 32 / packed;
            let part = element as u32 % packed;
            word >> (bits * part) & (u64::from(u32::MAX) >> (32 - bits))
        };
        (0..count).map(element).collect()
    }
}

/// Sums of f16 that are rounded to f16; A, B and C are by rows.
fn wmma_in_f16(product: &Wmma, [a, b, c]: [&[u32]; 3]) -> Vec<u32> {
    let [_, n, k] = product.shape.map(|extent| extent as usize);
    let factor = |bits: &u32| Factor::of(product.inputs, *bits);
    let kind = Kind {
        inputs: [product.inputs; 2],
        sums: product.sums,
        short: false,
    };
    let rows = a.chunks(k).map(|row| row.iter().map(factor).collect());
    let rows: Vec<Vec<Factor>> = rows.collect();
    let columns = (0..n).map(|column| b.iter().skip(column).step_by(n).map(factor).collect());
    let columns: Vec<Vec<Factor>> = columns.collect();
    let sum = |(at, c): (usize, &u32)| any_dot_product(kind, &rows[at / n], &columns[at % n], *c);
    c.iter().enumerate().map(sum).collect()
}

/// `.satfinite` of floats: the largest finite number in place of an infinity, and 0 of a NaN.
fn finite(bits: u32, sums: Sums) -> u32 {
    let (sign, infinity) = match sums {
        Sums::F16 => (0x8000, 0x7c00),
        _ => (1 << 31, 0x7f80_0000),
    };
    match bits & !sign {
        magnitude if magnitude > infinity => 0,
        magnitude if magnitude == infinity => bits - 1,
        _ => bits,
    }
}
