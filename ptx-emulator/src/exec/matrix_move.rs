//! `ldmatrix` and `stmatrix`: matrices between shared memory and fragments (PTX ISA, "Warp-level
//! matrix load instruction").
//!
//! Lane l belongs to group g = l / 4 and has index t = l mod 4 in it. A lane's address is that of a
//! row of 16 bytes. Of a matrix, a register holds:
//!
//! - `m8n8`: elements 2 t and 2 t + 1 of row g; transposed, element g of rows 2 t and 2 t + 1;
//! - `m8n16`: bytes 4 t to 4 t + 3 of row g, after unpacking;
//! - `m16n16`: byte g of rows 4 t to 4 t + 3; the second register, byte g + 8;
//! - `m16n8`: byte g of rows 2 t and 2 t + 1, then byte g + 8 of both.
//!
//! The last two are figures in the ISA. They are also how CUTLASS describes the instructions, whose
//! layouts are checked on GPUs.

use super::run::{Outcome, RawFault, Run};
use super::vector::LANES;
use super::warp_ops::lanes;
use crate::error::FaultKind;
use crate::ir::{AccessKind, MatrixMove, MatrixTile, Reg32, Register, RowPacking, Space, Store};
use crate::observer::{Accesses, Event, EventSink, MemoryAccess, StoredValues};

/// Bytes of a row, with its padding.
const ROW_BYTES: u32 = 16;

impl<O: EventSink> Run<'_, '_, O> {
    pub(super) fn move_matrices(&mut self, matrices: &MatrixMove) -> Outcome {
        let tile = matrices.tile;
        let count = matrices.registers.len() / tile.registers();
        // As many lanes give rows as the matrices have.
        let mask = u32::MAX >> (LANES - tile.rows() * count);
        let (space, addresses) = self.resolve(&matrices.address, mask);
        let kind = match matrices.stores {
            true => AccessKind::Store,
            false => AccessKind::Load,
        };
        match matrices.stores && O::ACCESSES {
            true => self.observe_stored_rows(matrices, space, (mask, &addresses)),
            false => self.observe_rows(tile, space, kind, (mask, &addresses)),
        }
        if space != Space::Shared {
            let lane = Some(0);
            let kind = FaultKind::NotShared(addresses[0]);
            return Err(Box::new(RawFault { kind, lane }));
        }
        for lane in lanes(mask) {
            self.check(space, addresses[lane], ROW_BYTES, kind, lane)?;
        }
        for matrix in 0..count {
            let rows = &addresses[tile.rows() * matrix..][..tile.rows()];
            let registers = &matrices.registers[tile.registers() * matrix..][..tile.registers()];
            for lane in 0..LANES {
                for (at, register) in registers.iter().enumerate() {
                    let register = register.0 as usize;
                    if matrices.stores {
                        let word = self.r.regs32[register][lane];
                        self.store_fragment(tile, rows, lane, word);
                    } else {
                        let word = self.load_fragment(tile, rows, (lane, at));
                        self.r.regs32[register][lane] = word;
                    }
                }
            }
        }
        Ok(())
    }

    /// Reports the bytes of rows that matter: padding may hold anything.
    fn observe_rows(
        &mut self,
        tile: MatrixTile,
        space: Space,
        kind: AccessKind,
        (mask, addresses): (u32, &[u64; LANES]),
    ) {
        let packing = match tile {
            MatrixTile::Wide(packing) | MatrixTile::Square(packing) => packing,
            _ => RowPacking::Bytes,
        };
        let lanes = (mask, false);
        match packing {
            RowPacking::Bytes => self.observe(space, kind, ROW_BYTES, lanes, addresses),
            RowPacking::FourBits => self.observe(space, kind, 8, lanes, addresses),
            RowPacking::SixBits => {
                self.observe(space, kind, 8, lanes, addresses);
                let behind = addresses.map(|address| address.wrapping_add(8));
                self.observe(space, kind, 4, lanes, &behind);
            }
        }
    }

    /// Reports a store with the values of each row: lanes may store the same to one row.
    fn observe_stored_rows(
        &mut self,
        matrices: &MatrixMove,
        space: Space,
        (mask, addresses): (u32, &[u64; LANES]),
    ) {
        let tile = matrices.tile;
        let mut words = [[0; LANES]; ROW_BYTES as usize / 4];
        for (matrix, register) in matrices.registers.iter().enumerate() {
            for (lane, &word) in self.r.regs32[register.0 as usize].iter().enumerate() {
                for (row, at, bytes, value) in parts(tile, lane, word).into_iter().flatten() {
                    let row = tile.rows() * matrix + row;
                    words[at / 4][row] |= (value & low(bytes)) << (8 * (at % 4));
                }
            }
        }
        let sources = 0..words.len() as u32;
        let store = Store {
            address: matrices.address,
            bytes: 4,
            sources: sources.map(|word| Register::Reg32(Reg32(word))).collect(),
            strong: false,
            whole: false,
            plain: false,
            release: false,
        };
        let values = StoredValues {
            regs32: &words,
            regs64: &[],
            store: &store,
            shared: self.shared,
        };
        let kind = AccessKind::Store;
        let access = MemoryAccess {
            values: Some(values),
            ..self.irregular_access(space, kind, ROW_BYTES, (mask, false), addresses)
        };
        self.observer.notify(Event::Access {
            warp: &self.context,
            accesses: Accesses::full(&access),
        });
    }

    /// What register `at` of a matrix holds in a lane.
    fn load_fragment(&self, tile: MatrixTile, rows: &[u64], (lane, at): (usize, usize)) -> u32 {
        let (group, place) = (lane / 4, lane % 4);
        let element = |row: usize, bytes: u32, index: usize| {
            let address = rows[row] + u64::from(bytes) * index as u64;
            self.read_memory(Space::Shared, address, bytes, lane, false) as u32
        };
        let byte = |packing: RowPacking, row: usize, index: usize| match packing {
            RowPacking::Bytes => element(row, 1, index),
            RowPacking::FourBits => element(row, 1, index / 2) >> (4 * (index % 2)) & 0xf,
            RowPacking::SixBits => {
                let (first, shift) = (6 * index / 8, 6 * index % 8);
                let next = match shift {
                    0 | 2 => 0,
                    _ => element(row, 1, first + 1) << 8,
                };
                (element(row, 1, first) | next) >> shift & 0x3f
            }
        };
        let word = |bytes: [u32; 4]| u32::from_le_bytes(bytes.map(|byte| byte as u8));
        match tile {
            MatrixTile::Eight { transposed: false } => {
                self.shared[rows[group] as usize / 4 + place]
            }
            MatrixTile::Eight { transposed: true } => {
                element(2 * place, 2, group) | element(2 * place + 1, 2, group) << 16
            }
            MatrixTile::Wide(packing) => {
                word(std::array::from_fn(|i| byte(packing, group, 4 * place + i)))
            }
            MatrixTile::Square(packing) => word(std::array::from_fn(|i| {
                byte(packing, 4 * place + i, group + 8 * at)
            })),
            MatrixTile::Tall => word(tall(lane).map(|(row, index)| element(row, 1, index))),
        }
    }

    fn store_fragment(&mut self, tile: MatrixTile, rows: &[u64], lane: usize, word: u32) {
        if tile == (MatrixTile::Eight { transposed: false }) {
            self.shared[rows[lane / 4] as usize / 4 + lane % 4] = word;
            return;
        }
        for (row, at, bytes, value) in parts(tile, lane, word).into_iter().flatten() {
            let (address, value) = (rows[row] + at as u64, value & low(bytes));
            self.write_memory(Space::Shared, address, bytes, lane, value.into(), false);
        }
    }
}

/// The lowest bytes.
fn low(bytes: u32) -> u32 {
    u32::MAX >> (32 - 8 * bytes)
}

/// What a lane stores of its register: the row, the byte in it, the number of bytes, and a value
/// whose lowest bytes they are.
fn parts(tile: MatrixTile, lane: usize, word: u32) -> [Option<(usize, usize, u32, u32)>; 4] {
    let (group, place) = (lane / 4, lane % 4);
    match tile {
        MatrixTile::Eight { transposed: true } => [
            Some((2 * place, 2 * group, 2, word)),
            Some((2 * place + 1, 2 * group, 2, word >> 16)),
            None,
            None,
        ],
        MatrixTile::Tall => {
            let places = tall(lane);
            std::array::from_fn(|i| {
                let (row, index) = places[i];
                Some((row, index, 1, word >> (8 * i)))
            })
        }
        MatrixTile::Eight { .. } | MatrixTile::Wide(_) | MatrixTile::Square(_) => {
            [Some((group, 4 * place, 4, word)), None, None, None]
        }
    }
}

/// Row and byte of each of a lane's four elements of `m16n8`.
fn tall(lane: usize) -> [(usize, usize); 4] {
    let (group, place) = (lane / 4, lane % 4);
    std::array::from_fn(|i| (2 * place + i % 2, group + 8 * (i / 2)))
}
