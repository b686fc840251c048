//! Loads and stores of fragments.

use std::sync::atomic::Ordering;

use crate::exec::gather::Backing;
use crate::exec::run::{Outcome, Run};
use crate::exec::vector::LANES;
use crate::exec::warp_ops::{read, write};
use crate::ir::{AccessKind, Reg32, Register, Space, WmmaMove};
use crate::observer::EventSink;

impl<'r, O: EventSink> Run<'r, '_, O> {
    pub(in crate::exec) fn wmma_move(&mut self, moved: &WmmaMove) -> Outcome {
        let WmmaMove {
            stores,
            by_column,
            rows,
            columns,
            bytes,
            unit,
            packed,
            ..
        } = *moved;
        let (space, bases) = self.resolve(&moved.address, u32::MAX);
        let strides = match moved.stride {
            Some(Reg32(reg)) => self.r.regs32[reg as usize].map(|stride| stride / unit),
            None => [if by_column { rows } else { columns }; LANES],
        };
        let in_lane = (rows * columns) as usize / LANES;
        let kind = match stores {
            true => AccessKind::Store,
            false => AccessKind::Load,
        };
        // Extents are powers of two.
        let (shift, within) = (columns.trailing_zeros(), columns - 1);
        let address_of = |lane: usize, element: usize| {
            let number = (lane * in_lane + element) as u32;
            let (row, column) = (number >> shift, number & within);
            let (line, place) = if by_column {
                (column, row)
            } else {
                (row, column)
            };
            let at = u64::from(line) * u64::from(strides[lane]) + u64::from(place);
            bases[lane].wrapping_add(at * u64::from(bytes))
        };
        let first: [u64; LANES] = std::array::from_fn(|lane| address_of(lane, 0));
        let is_in_row = in_lane <= columns as usize;
        let steps = strides.map(|stride| match by_column {
            true => u64::from(stride) * u64::from(bytes),
            false => u64::from(bytes),
        });
        let addresses_of = |element: usize| -> [u64; LANES] {
            match is_in_row {
                true => std::array::from_fn(|lane| {
                    first[lane].wrapping_add(steps[lane] * element as u64)
                }),
                false => std::array::from_fn(|lane| address_of(lane, element)),
            }
        };
        // A lane's elements lie in one row: none lies outside if the first and the last do not.
        let ends = [addresses_of(0), addresses_of(in_lane - 1)];
        let place = match is_in_row && bytes <= 4 {
            true => self.wmma_place(space, &ends, (bytes, stores)),
            false => None,
        };
        if !O::ACCESSES
            && !stores
            && let Some(place) = &place
            && self.wmma_load_all(moved, place, addresses_of)
        {
            return Ok(());
        }
        for element in 0..in_lane {
            let addresses = addresses_of(element);
            self.observe(space, kind, bytes, (u32::MAX, false), &addresses);
            if let Some(place) = &place {
                let done = match stores {
                    true => self.wmma_store_together(moved, place, &addresses, element),
                    false => self.wmma_load_together(moved, place, &addresses, element),
                };
                if done {
                    continue;
                }
            }
            let (register, part) = (element / packed as usize, element % packed as usize);
            let shift = 8 * bytes * part as u32;
            let mask = u64::MAX >> (64 - 8 * bytes) << shift;
            for (lane, &address) in addresses.iter().enumerate() {
                self.check(space, address, bytes, kind, lane)?;
                if stores {
                    let word = read(&self.r, moved.registers[register], lane);
                    let value = (word & mask) >> shift;
                    self.write_memory(space, address, bytes, lane, value, false);
                    continue;
                }
                let value = self.read_memory(space, address, bytes, lane, false);
                // Further registers repeat the first ones.
                let period = (in_lane / packed as usize).max(1);
                for &copy in moved.registers.iter().skip(register).step_by(period) {
                    let before = read(&self.r, copy, lane);
                    write(&mut self.r, copy, lane, before & !mask | value << shift);
                }
            }
        }
        Ok(())
    }

    /// The memory that holds what all lanes access, given the addresses of the first and of the
    /// last element of each.
    fn wmma_place(
        &self,
        space: Space,
        [first, last]: &[[u64; LANES]; 2],
        what: (u32, bool),
    ) -> Option<Backing<'r>> {
        let place = self.place(space, first, u32::MAX, what)?;
        let end = self.place(space, last, u32::MAX, what)?;
        (place.base() == end.base()).then_some(place)
    }

    /// All elements of a load; false, with nothing done, where there is no such way.
    fn wmma_load_all(
        &mut self,
        moved: &WmmaMove,
        place: &Backing<'r>,
        addresses_of: impl Fn(usize) -> [u64; LANES],
    ) -> bool {
        let (bytes, packed) = (moved.bytes, moved.packed as usize);
        let is_word = |register: &Register| matches!(register, Register::Reg32(_));
        if !moved.registers.iter().all(is_word) || matches!(place, Backing::Local) {
            return false;
        }
        let in_lane = (moved.rows * moved.columns) as usize / LANES;
        let (period, base) = ((in_lane / packed).max(1), place.base());
        let mask = u32::MAX >> (32 - 8 * bytes);
        let gather = |shared: &[u32], at: &[u64; LANES], words: &mut [u32; LANES], mask, up| {
            let element = |word: u32, at: u64| (word >> (8 * (at % 4)) & mask) << up;
            let all = words.iter_mut().zip(at);
            match place {
                Backing::Global(memory, _) => all.for_each(|(to, &at)| {
                    *to |= element(memory[at as usize / 4].load(Ordering::Relaxed), at);
                }),
                _ => all.for_each(|(to, &at)| *to |= element(shared[at as usize / 4], at)),
            }
        };
        for register in 0..period {
            let first = addresses_of(register * packed).map(|address| address.wrapping_sub(base));
            let mut words = [0; LANES];
            let is_whole = !moved.by_column && first.iter().fold(0, |any, at| any | at) % 4 == 0;
            if is_whole {
                gather(self.shared, &first, &mut words, u32::MAX, 0);
            } else {
                for part in 0..packed {
                    let at = addresses_of(register * packed + part);
                    let at = at.map(|address| address.wrapping_sub(base));
                    gather(self.shared, &at, &mut words, mask, 8 * bytes * part as u32);
                }
            }
            // Further registers repeat the first ones.
            for &copy in moved.registers.iter().skip(register).step_by(period) {
                if let Register::Reg32(copy) = copy {
                    self.r.regs32[copy.0 as usize] = words;
                }
            }
        }
        true
    }

    /// One element of each lane's part; false, with nothing done, where there is no such way.
    fn wmma_store_together(
        &mut self,
        moved: &WmmaMove,
        place: &Backing<'r>,
        addresses: &[u64; LANES],
        element: usize,
    ) -> bool {
        let (4, 1, Some(Register::Reg32(from))) =
            (moved.bytes, moved.packed, moved.registers.get(element))
        else {
            return false;
        };
        let base = place.base();
        let from = &self.r.regs32[from.0 as usize];
        for (value, address) in from.iter().zip(addresses) {
            let at = address.wrapping_sub(base) as usize / 4;
            match place {
                Backing::Shared => self.shared[at] = *value,
                Backing::Global(words, _) => words[at].store(*value, Ordering::Relaxed),
                Backing::Local => return false,
            }
        }
        true
    }

    /// One element of each lane's part; false, with nothing done, where there is no such way.
    fn wmma_load_together(
        &mut self,
        moved: &WmmaMove,
        place: &Backing<'r>,
        addresses: &[u64; LANES],
        element: usize,
    ) -> bool {
        let (bytes, packed) = (moved.bytes, moved.packed as usize);
        let mut words = [0; LANES];
        for (word, address) in words.iter_mut().zip(addresses) {
            let at = address.wrapping_sub(place.base()) as usize;
            *word = match place {
                Backing::Shared => self.shared[at / 4],
                Backing::Global(words, _) => words[at / 4].load(Ordering::Relaxed),
                Backing::Local => return false,
            } >> (8 * (at % 4));
        }
        let in_lane = (moved.rows * moved.columns) as usize / LANES;
        let shift = 8 * bytes * (element % packed) as u32;
        let mask = u32::MAX >> (32 - 8 * bytes) << shift;
        // Further registers repeat the first ones.
        let copies = moved.registers.iter().skip(element / packed);
        for copy in copies.step_by((in_lane / packed).max(1)) {
            let Register::Reg32(copy) = copy else {
                return false;
            };
            let to = &mut self.r.regs32[copy.0 as usize];
            for (to, word) in to.iter_mut().zip(words) {
                *to = *to & !mask | word << shift & mask;
            }
        }
        true
    }
}
