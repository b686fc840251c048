//! `wmma`: fragments whose layout is the emulator's own (see the decoder).

use std::sync::atomic::Ordering;

use super::gather::Place;
use super::integer_matrix::{self, widen};
use super::run::{Outcome, Run};
use super::simd;
use super::tensor_sum::{Factor, Line, MAX_DEPTH, TILE_COLUMNS, Tile, dot_product, is_special};
use super::vector::LANES;
use crate::ir::{AccessKind, MatrixInputs, Reg32, Space, Wmma, WmmaMove};
use crate::observer::Observer;

impl<O: Observer> Run<'_, '_, O> {
    pub(super) fn wmma_move(&mut self, moved: &WmmaMove) -> Outcome {
        let WmmaMove {
            stores,
            by_column,
            rows,
            columns,
            bytes,
            packed,
            ..
        } = *moved;
        let (space, bases) = self.resolve(&moved.address, u32::MAX);
        let strides = moved.stride.map(|Reg32(reg)| self.r.regs32[reg as usize]);
        let natural = if by_column { rows } else { columns };
        let in_lane = (rows * columns) as usize / LANES;
        let kind = match stores {
            true => AccessKind::Store,
            false => AccessKind::Load,
        };
        for element in 0..in_lane {
            let addresses = std::array::from_fn(|lane| {
                let number = (lane * in_lane + element) as u32;
                let (row, column) = (number / columns, number % columns);
                let stride = strides.map_or(natural, |strides| strides[lane]);
                let (line, place) = if by_column {
                    (column, row)
                } else {
                    (row, column)
                };
                let at = u64::from(line) * u64::from(stride) + u64::from(place);
                bases[lane].wrapping_add(at * u64::from(bytes))
            });
            self.observe(space, kind, bytes, (u32::MAX, false), &addresses);
            if !stores && self.wmma_load_together(moved, space, &addresses, element) {
                continue;
            }
            let (register, part) = (element / packed as usize, element % packed as usize);
            let shift = 8 * bytes * part as u32;
            let mask = u32::MAX >> (32 - 8 * bytes) << shift;
            for (lane, &address) in addresses.iter().enumerate() {
                self.check(space, address, bytes, kind, lane)?;
                if stores {
                    let word = self.r.regs32[moved.registers[register].0 as usize][lane];
                    let value = u64::from((word & mask) >> shift);
                    self.write_memory(space, address, bytes, lane, value, false);
                    continue;
                }
                let value = self.read_memory(space, address, bytes, lane, false) as u32;
                // Further registers repeat the first ones.
                let period = (in_lane / packed as usize).max(1);
                for copy in moved.registers.iter().skip(register).step_by(period) {
                    let to = &mut self.r.regs32[copy.0 as usize][lane];
                    *to = *to & !mask | value << shift;
                }
            }
        }
        Ok(())
    }

    /// One element of each lane's part; false, with nothing done, where some lane would fault.
    fn wmma_load_together(
        &mut self,
        moved: &WmmaMove,
        space: Space,
        addresses: &[u64; LANES],
        element: usize,
    ) -> bool {
        let (bytes, packed) = (moved.bytes, moved.packed as usize);
        let Some(place) = self.place(space, addresses, u32::MAX, (bytes, false)) else {
            return false;
        };
        let mut words = [0; LANES];
        for (word, address) in words.iter_mut().zip(addresses) {
            let at = address.wrapping_sub(place.base()) as usize;
            *word = match place {
                Place::Shared => self.shared[at / 4],
                Place::Global(words, _) => words[at / 4].load(Ordering::Relaxed),
                Place::Local => return false,
            } >> (8 * (at % 4));
        }
        let in_lane = (moved.rows * moved.columns) as usize / LANES;
        let shift = 8 * bytes * (element % packed) as u32;
        let mask = u32::MAX >> (32 - 8 * bytes) << shift;
        // Further registers repeat the first ones.
        let copies = moved.registers.iter().skip(element / packed);
        for copy in copies.step_by((in_lane / packed).max(1)) {
            let to = &mut self.r.regs32[copy.0 as usize];
            for (to, word) in to.iter_mut().zip(words) {
                *to = *to & !mask | word << shift & mask;
            }
        }
        true
    }

    /// A product of floats without infinities and NaNs; none where there are any.
    fn wmma_by_tile(&self, product: &Wmma, [a, b, c]: [&[u32]; 3]) -> Option<Vec<u32>> {
        let [m, n, k] = product.shape.map(|extent| extent as usize);
        let (level, inputs) = (self.launch.level, product.inputs);
        if k > MAX_DEPTH || n % TILE_COLUMNS != 0 || c.iter().any(|&bits| is_special(bits)) {
            return None;
        }
        let split = |elements: &[u32]| {
            let mut parts = [Vec::new(), Vec::new()];
            let (rows, rest) = elements.as_chunks::<LANES>();
            for row in rows {
                let factors = simd::factors(level, inputs, row, 0);
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
            depth: k,
            columns: n,
            a: a.each_ref().map(Vec::as_slice),
            b: b.each_ref().map(Vec::as_slice),
            c,
        };
        let mut d = vec![0; m * n];
        simd::tile(level, &tile, &mut d);
        Some(d)
    }

    pub(super) fn wmma(&mut self, product: &Wmma) {
        let [m, n, k] = product.shape.map(|extent| extent as usize);
        let a = self.elements(&product.a, product.inputs.packed(), m * k);
        let b = self.elements(&product.b, product.inputs.packed(), k * n);
        let c = self.elements(&product.c, 1, m * n);
        let mut d = vec![0; m * n];
        if let MatrixInputs::Integer { .. } = product.inputs {
            let value = |bits: u32| widen(bits, product.inputs);
            for (at, d) in d.iter_mut().enumerate() {
                let (row, column) = (at / n, at % n);
                let sum = (0..k)
                    .map(|i| value(a[row * k + i]) * value(b[i * n + column]))
                    .sum();
                *d = integer_matrix::accumulate(c[at], sum, product.saturates);
            }
        } else if let Some(sums) = self.wmma_by_tile(product, [&a, &b, &c]) {
            d = sums;
        } else {
            let line = |factors: &mut dyn Iterator<Item = u32>| {
                let mut all = [Factor::ZERO; MAX_DEPTH];
                for (to, bits) in all.iter_mut().zip(factors) {
                    *to = Factor::of(product.inputs, bits);
                }
                Line::new(&all)
            };
            let rows: Vec<Line> = (0..m)
                .map(|row| line(&mut (0..k).map(|i| a[row * k + i])))
                .collect();
            let columns: Vec<Line> = (0..n)
                .map(|column| line(&mut (0..k).map(|i| b[i * n + column])))
                .collect();
            let level = self.launch.level;
            for (at, d) in d.iter_mut().enumerate() {
                let (row, column) = (&rows[at / n], &columns[at % n]);
                *d = dot_product(level, product.inputs, row, column, c[at]);
            }
        }
        let in_lane = m * n / LANES;
        for (element, &Reg32(register)) in product.d.iter().enumerate() {
            let row = std::array::from_fn(|lane| d[lane * in_lane + element]);
            self.r.regs32[register as usize] = row;
        }
    }

    /// The elements of a fragment, row by row.
    fn elements(&self, registers: &[Reg32], packed: u32, count: usize) -> Vec<u32> {
        let in_lane = count / LANES;
        let bits = 32 / packed;
        let mut all = Vec::with_capacity(count);
        for lane in 0..LANES {
            for element in 0..in_lane as u32 {
                let register = registers[(element / packed) as usize];
                let word = self.r.regs32[register.0 as usize][lane];
                all.push(word >> (bits * (element % packed)) & (u32::MAX >> (32 - bits)));
            }
        }
        all
    }
}
