//! `tcgen05.mma`: what one block's part of D becomes. Compiled once, not for each observer.
//!
//! Products are exact. How sums are rounded is not documented, and was not compared with a GPU.
//! They are those of `wgmma` where D is f32 and A and B have 16 bits or are tf32. Of narrower
//! floats 25 bits after the binary point enter a sum, as Xie and others measured ("MMA-Sim",
//! 2025).

use super::columns::{Columns, TensorAddress};
use super::shape::{Band, Shape};
use crate::exec::float::{from_f64, to_f64};
use crate::exec::line_products::LineProduct;
use crate::exec::simd::Level;
use crate::exec::sparse::Chunk;
use crate::exec::tensor_sum::Scale;
use crate::ir::{MatrixInputs, Rounding, Sums};
use ptx_syntax::ast::Type;

/// What is read of tensor memory besides D.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sources {
    /// A, where it lies there.
    pub a: Option<TensorAddress>,
    /// The scales of A and of B, and how many a row has.
    pub scales: Option<([TensorAddress; 2], u32)>,
    pub metadata: Option<TensorAddress>,
}

/// How D is updated.
#[derive(Clone, Copy, Debug)]
pub(super) struct Update {
    pub d: TensorAddress,
    /// Whether D is added to, divided by 2^`scale`.
    pub keep: bool,
    pub scale: u32,
    /// Lanes that are not written.
    pub disabled: [u32; 4],
}

/// A and B as far as they lie in shared memory, element by element.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lines<'l> {
    pub a: Option<&'l [u32]>,
    pub b: &'l [u32],
}

/// One block's part of a product.
pub(super) struct Part<'p> {
    pub level: Level,
    pub shape: &'p Shape,
    pub sources: Sources,
    pub update: Update,
    pub lines: Lines<'p>,
}

impl Part<'_> {
    /// Elements of a row of A that are stored.
    fn stored(&self) -> usize {
        match self.sources.metadata {
            Some(_) => self.shape.depth as usize / 2,
            None => self.shape.depth as usize,
        }
    }

    /// Checks that all that is accessed is there.
    pub(super) fn check(&self, memory: &Columns, bands: &[Band]) -> Result<(), String> {
        let d = |band: &Band| TensorAddress {
            lane: band.lane,
            column: self.update.d.column,
        };
        for band in bands {
            memory.check(d(band), band.rows, band.columns)?;
            if let Some(a) = self.sources.a {
                let at = TensorAddress {
                    lane: band.lane,
                    column: a.column,
                };
                let words = self.stored() as u32 / self.shape.inputs[0].packed();
                memory.check(at, band.rows, words)?;
            }
            if let Some(metadata) = self.sources.metadata {
                let at = TensorAddress {
                    lane: band.lane,
                    column: metadata.column,
                };
                memory.check(at, band.rows, self.metadata_columns())?;
            }
            if let Some(([of_a, of_b], _)) = self.sources.scales {
                let lines = [(of_a, band.row + band.rows), (of_b, band.columns)];
                for (at, lines) in lines {
                    let at = TensorAddress {
                        lane: 0,
                        column: at.column,
                    };
                    memory.check(at, 128, lines.div_ceil(32))?;
                }
            }
        }
        Ok(())
    }

    /// Updates the rows of a band.
    pub(super) fn run(&self, memory: &mut Columns, band: &Band) -> Result<(), String> {
        let Shape { depth, inputs, .. } = *self.shape;
        let (stored, depth) = (self.stored(), depth as usize);
        let a = self.rows(memory, band, stored);
        let b = &self.lines.b[band.column as usize * depth..][..band.columns as usize * depth];
        let c = self.addends(memory, band);
        let scales = self.scales(memory, band);
        let product = LineProduct {
            level: self.level,
            inputs,
            sums: self.shape.sums,
            depth: stored,
            negate: self.shape.negate,
            saturates: self.shape.saturates,
            short: false,
            scales: scales
                .as_ref()
                .map(|scales| scales.each_ref().map(Vec::as_slice)),
        };
        let columns = band.columns as usize;
        let d = match self.sources.metadata {
            None => product.sums(&a, b, &c),
            Some(metadata) => {
                let mut d = Vec::with_capacity(c.len());
                for (row, a) in a.chunks_exact(stored).enumerate() {
                    let positions = self.positions(memory, metadata, band, (row, a))?;
                    let mut selected = Vec::with_capacity(b.len() / 2);
                    for column in b.chunks_exact(depth) {
                        selected.extend(positions.iter().map(|&k| column[k]));
                    }
                    let of_row = scales
                        .as_ref()
                        .map(|[rows, columns]| [&rows[row..=row], columns.as_slice()]);
                    let product = LineProduct {
                        scales: of_row,
                        ..product
                    };
                    d.extend(product.sums(a, &selected, &c[row * columns..][..columns]));
                }
                d
            }
        };
        for (row, sums) in (band.lane..).zip(d.chunks_exact(columns)) {
            if self.update.disabled[row as usize / 32] >> (row % 32) & 1 != 0 {
                continue;
            }
            for (column, sum) in (self.update.d.column..).zip(sums) {
                memory.set(row, column, *sum);
            }
        }
        Ok(())
    }

    /// Rows of A.
    fn rows(&self, memory: &Columns, band: &Band, stored: usize) -> Vec<u32> {
        let rows = band.rows as usize * stored;
        match (self.lines.a, self.sources.a) {
            (Some(a), _) => a[band.row as usize * stored..][..rows].to_vec(),
            (None, Some(at)) => {
                let packed = self.shape.inputs[0].packed();
                let width = 32 / packed;
                let mut a = Vec::with_capacity(rows);
                for lane in band.lane..band.lane + band.rows {
                    for k in 0..stored as u32 {
                        let word = memory.word(lane, at.column + k / packed);
                        a.push(word >> (width * (k % packed)) & (u32::MAX >> (32 - width)));
                    }
                }
                a
            }
            (None, None) => vec![0; rows],
        }
    }

    /// What is added to the products.
    fn addends(&self, memory: &Columns, band: &Band) -> Vec<u32> {
        let Update { d, keep, scale, .. } = self.update;
        let count = (band.rows * band.columns) as usize;
        if !keep {
            return vec![0; count];
        }
        let mut c = Vec::with_capacity(count);
        for lane in band.lane..band.lane + band.rows {
            for column in 0..band.columns {
                let word = memory.word(lane, d.column + column);
                c.push(match self.shape.sums {
                    Sums::F16 => scaled(word & 0xffff, scale, Type::F16),
                    Sums::F32 => scaled(word, scale, Type::F32),
                    _ => word,
                });
            }
        }
        c
    }

    /// The scales of each row of A and of each column of B: those of 32 lines in the lanes of each
    /// quarter, 32 further ones in the next column.
    fn scales(&self, memory: &Columns, band: &Band) -> Option<[Vec<Vec<Scale>>; 2]> {
        let ([of_a, of_b], count) = self.sources.scales?;
        let with_fraction = self.shape.scales_have_fraction;
        let line = |at: TensorAddress, quarter: u32, line: u32, id: u32| -> Vec<Scale> {
            let word = memory.word(32 * quarter + line % 32, at.column + line / 32);
            let byte = |index: u32| word >> (8 * ((id + index) % 4)) & 0xff;
            (0..count)
                .map(|index| Scale::of(byte(index), with_fraction))
                .collect()
        };
        let [id_a, id_b] = self.shape.scale_ids;
        let rows = band.row..band.row + band.rows;
        let rows = rows.map(|row| line(of_a, (band.lane + row - band.row) / 32, row, id_a));
        let quarter = band.lane / 32;
        let columns = (0..band.columns).map(|column| line(of_b, quarter, column, id_b));
        Some([rows.collect(), columns.collect()])
    }

    /// Columns of the metadata of an MMA.
    fn metadata_columns(&self) -> u32 {
        match self.shape.inputs[0].packed() {
            1 | 2 => 1 + self.shape.selector,
            _ => 2,
        }
    }

    /// Where the stored elements of a row of A stand (PTX ISA, "Sparsity selector").
    ///
    /// Of 8 bits and less, a lane has the metadata of its row. Of 16 bits and tf32, it has those of
    /// two rows eight apart, of one half along k: the upper eight lanes of sixteen the second half.
    fn positions(
        &self,
        memory: &Columns,
        metadata: TensorAddress,
        band: &Band,
        (row, a): (usize, &[u32]),
    ) -> Result<Vec<usize>, String> {
        let inputs = self.shape.inputs[0];
        let chunk = Chunk::of(inputs);
        let count = self.shape.depth as usize / chunk.elements();
        let lane = band.lane + row as u32;
        let mut positions = Vec::with_capacity(a.len());
        for at in 0..count {
            let (from, column, shift) = match inputs {
                MatrixInputs::F16 | MatrixInputs::Bf16 | MatrixInputs::Tf32 => {
                    let half = at / (count / 2);
                    let from = lane / 16 * 16 + lane % 8 + 8 * half as u32;
                    let shift = 16 * (lane / 8 % 2) + 4 * (at % (count / 2)) as u32;
                    (from, self.shape.selector, shift)
                }
                _ => (lane, at as u32 / 8, 4 * (at as u32 % 8)),
            };
            let word = memory.word(from, metadata.column + column);
            let bits = word >> shift & 0xf;
            let stored = &a[at * chunk.stored()..][..chunk.stored()];
            let named = chunk.positions(bits, false, stored).ok_or_else(|| {
                format!(
                    "the metadata of row {row} of A, bits {shift} to {} of {word:#010x}, name no \
                     elements of a chunk",
                    shift + 3
                )
            })?;
            positions.extend(named.into_iter().map(|of| at * chunk.elements() + of));
        }
        Ok(positions)
    }
}

/// An element of D divided by a power of two.
fn scaled(bits: u32, scale: u32, ty: Type) -> u32 {
    if scale == 0 {
        return bits;
    }
    let value = to_f64(bits.into(), ty) * (-f64::from(scale)).exp2();
    from_f64(value, 0.0, ty, Rounding::NearestEven) as u32
}
