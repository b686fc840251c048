//! `wgmma.mma_async`: MMAs whose operands lie in shared memory (PTX ISA, "Asynchronous Warpgroup
//! Level Matrix Multiply-Accumulate").
//!
//! Each warp of a warpgroup computes 16 of the 64 rows. An MMA is executed when it is issued.
//! Observers see what it reads then, and again when it is waited for, since until then it may be
//! read.
//!
//! Groups of MMAs are those of the warpgroup: `wgmma.wait_group` waits until all four warps have
//! issued theirs. Kernels rely on it where one thread of a warpgroup tells a producer that a stage
//! may be filled again, as CUTLASS's pipelines do.

use super::block::Worker;
use super::line_products::LineProduct;
use super::matrix::Products;
use super::matrix_descriptor::{self, CHUNK, Descriptor, Elements};
use super::run::{Outcome, RawFault, Run};
use super::vector::LANES;
use super::warp::{State, Warp};
use super::warp_ops::{lanes, read, write};
use crate::error::FaultKind;
use crate::ir::{AccessKind, MatrixInputs, Reg64, Space, Terminator, Wgmma, WgmmaA};
use crate::observer::{Event, EventSink, Issuer, Progress};
use std::ops::Range;

/// Warps of a warpgroup.
const WARPS: usize = 4;

/// Rows of a warp.
const ROWS: usize = 16;

/// Bytes of an MMA's operands along k.
const DEPTH_BYTES: u64 = 32;

/// What an MMA reads of shared memory.
#[derive(Clone, Debug)]
pub(super) struct PendingReads {
    info: u32,
    group: u32,
    /// Addresses of chunks.
    chunks: Vec<u64>,
}

/// The MMAs of a warp that have not been waited for.
#[derive(Clone, Debug, Default)]
pub(crate) struct WgmmaQueue {
    pending: Vec<PendingReads>,
    committed: u32,
    /// Whether lanes wait for the warpgroup: [`State::Warpgroup`].
    pub(super) waits: bool,
}

impl WgmmaQueue {
    pub(crate) fn clear(&mut self) {
        self.pending.clear();
        self.committed = 0;
        self.waits = false;
    }
}

impl<O: EventSink> Run<'_, '_, O> {
    pub(super) fn wgmma(&mut self, product: &Wgmma) -> Outcome {
        let bytes = Elements::of(product.inputs).bytes;
        let depth = (DEPTH_BYTES / bytes) as usize;
        let mut chunks = Vec::new();
        let warp = u64::from(self.context.warp % 4);
        // A sparse A has half of the elements of a row.
        let depth_of_b = match product.sparsity {
            Some(_) => 2 * depth,
            None => depth,
        };
        let a = match &product.a {
            WgmmaA::Registers(registers) => {
                let mut rows = vec![0; ROWS * depth];
                let packed = (4 / bytes) as usize;
                for lane in 0..LANES {
                    for (i, register) in registers.iter().enumerate() {
                        let word = read(&self.r, *register, lane) as u32;
                        for part in 0..packed {
                            let row = lane / 4 + 8 * (i % 2);
                            let k = packed * (lane % 4) + part + 4 * packed * (i / 2);
                            let width = 8 * bytes as u32;
                            let bits = word >> (width * part as u32);
                            rows[row * depth + k] = bits & (u32::MAX >> (32 - width));
                        }
                    }
                }
                rows
            }
            WgmmaA::Shared { descriptor, across } => {
                let operand = self.descriptor(*descriptor, *across)?;
                let rows = (ROWS as u64 * warp, ROWS as u64);
                self.load_operand((product.inputs, depth), operand, rows, &mut chunks)?
            }
        };
        let operand = self.descriptor(product.b, product.across_b)?;
        let columns = (0, product.columns.into());
        let elements = (product.inputs_b, depth_of_b);
        let b = self.load_operand(elements, operand, columns, &mut chunks)?;
        match &product.sparsity {
            None => self
                .products()
                .accumulate_rows(product, [&a, &b], depth, (0, ROWS)),
            Some(sparsity) => {
                let row = |row: usize| &a[row * depth..][..depth];
                let positions =
                    self.products()
                        .positions(sparsity, product.inputs, depth_of_b, row)?;
                for (row, positions) in positions.iter().enumerate() {
                    let mut selected = Vec::with_capacity(b.len() / 2);
                    for column in b.chunks(depth_of_b) {
                        selected.extend(positions.iter().map(|&k| column[k]));
                    }
                    let a = &a[row * depth..][..depth];
                    self.products()
                        .accumulate_rows(product, [a, &selected], depth, (row, 1));
                }
            }
        }
        if O::ASYNC_ACCESSES {
            chunks.sort_unstable();
            chunks.dedup();
            self.observe_issue(&chunks);
            let (info, group) = (self.info, self.wgmmas.committed);
            self.wgmmas.pending.push(PendingReads {
                info,
                group,
                chunks,
            });
        }
        Ok(())
    }

    /// The matrix descriptor that all lanes have.
    fn descriptor(&self, reg: Reg64, across: bool) -> Result<Descriptor, Box<RawFault>> {
        let values = self.r.regs64[reg.0 as usize];
        let wrong = |message: String, lane: usize| {
            Box::new(RawFault {
                kind: FaultKind::BadTensor(message),
                lane: Some(lane),
            })
        };
        match values.iter().position(|value| *value != values[0]) {
            None => Descriptor::new(values[0], across).map_err(|message| wrong(message, 0)),
            Some(lane) => {
                let message = "lanes give different matrix descriptors".to_string();
                Err(wrong(message, lane))
            }
        }
    }

    /// Rows of an operand in order, element by element, and the chunks of shared memory that they
    /// lie in. Of single bits, an element is a word of them.
    fn load_operand(
        &self,
        (inputs, depth): (MatrixInputs, usize),
        operand: Descriptor,
        lines: (u64, u64),
        chunks: &mut Vec<u64>,
    ) -> Result<Vec<u32>, Box<RawFault>> {
        let chunks = O::ASYNC_ACCESSES.then_some(chunks);
        let elements = Elements::of(inputs);
        let found = matrix_descriptor::load(self.shared, operand, elements, lines, depth, chunks);
        found.map_err(|at| {
            let checked = self.check(Space::Shared, at, CHUNK as u32, AccessKind::Load, 0);
            checked.err().unwrap_or_else(|| {
                let message = format!("a matrix reaches address {at:#x} of shared memory");
                Box::new(RawFault {
                    kind: FaultKind::BadTensor(message),
                    lane: None,
                })
            })
        })
    }

    pub(super) fn warpgroup_commit(&mut self) {
        self.wgmmas.committed += 1;
    }

    /// Reports what the tensor core reads of shared memory for the warp.
    fn observe_issue(&mut self, chunks: &[u64]) {
        for (mask, addresses) in rows_of(chunks) {
            let (kind, bytes) = (AccessKind::Load, CHUNK as u32);
            let lanes = (mask, &addresses);
            self.observe_async(kind, bytes, lanes, Issuer::Warp, Progress::Issued);
        }
    }
}

/// Chunks as the accesses of warps: masks of lanes, and their addresses.
pub(super) fn rows_of(chunks: &[u64]) -> impl Iterator<Item = (u32, [u64; LANES])> {
    chunks.chunks(LANES).map(|chunks| {
        let address = |lane| chunks.get(lane).copied().unwrap_or_default();
        let mask = u32::MAX >> (LANES - chunks.len());
        (mask, std::array::from_fn(address))
    })
}

impl<O: EventSink> Worker<'_, '_, O> {
    /// `wgmma.wait_group`: waits for all but the `newest` groups of the warpgroup.
    pub(super) fn wait_for_warpgroup(&mut self, index: usize, at: usize, newest: u32) {
        let warp = &mut self.warps[index];
        let groups = warp.wgmmas.committed.saturating_sub(newest);
        warp.splits[at].state = State::Warpgroup(groups);
        warp.wgmmas.waits = true;
        self.release_by_warpgroup(index);
    }

    /// Releases the lanes of a warp whose groups the other warps of the warpgroup have issued too.
    pub(super) fn release_by_warpgroup(&mut self, index: usize) {
        let first = index / WARPS * WARPS;
        let warpgroup = first..self.warps.len().min(first + WARPS);
        let mut waits = false;
        for at in 0..self.warps[index].splits.len() {
            let State::Warpgroup(groups) = self.warps[index].splits[at].state else {
                continue;
            };
            let others = &self.warps[warpgroup.clone()];
            let has_issued = |warp: &Warp| warp.live == 0 || warp.wgmmas.committed >= groups;
            if !others.iter().all(has_issued) {
                waits = true;
                continue;
            }
            self.observe_completion(index, warpgroup.clone(), groups);
            let program = self.program();
            let split = &mut self.warps[index].splits[at];
            split.state = State::Ready;
            let block = &program.blocks[split.block as usize];
            if let Terminator::WarpgroupWait { next, .. } = block.terminator {
                split.block = next;
            }
        }
        self.warps[index].wgmmas.waits = waits;
    }

    /// Reports that the first `groups` groups of a warpgroup are complete, for which the warp
    /// `index` has waited.
    fn observe_completion(&mut self, index: usize, warpgroup: Range<usize>, groups: u32) {
        if !O::ASYNC_ACCESSES {
            return;
        }
        let mut is_first = false;
        for warp in warpgroup {
            let pending = &mut self.warps[warp].wgmmas.pending;
            let complete: Vec<_> = pending
                .extract_if(.., |reads| reads.group < groups)
                .collect();
            is_first |= !complete.is_empty();
            for reads in complete {
                for (mask, addresses) in rows_of(&reads.chunks) {
                    let access = (AccessKind::Load, CHUNK as u32, false);
                    let (by, lanes) = ((warp, reads.info), (mask, &addresses));
                    let (issuer, progress) = (Issuer::Warp, Progress::Waited);
                    self.observe_async(by, Space::Shared, access, lanes, issuer, progress);
                }
            }
        }
        let context = self.context(index);
        self.observer.notify(Event::WarpgroupWait {
            warp: &context,
            is_first,
        });
    }
}

impl Products<'_, '_> {
    /// D of rows of A, from the first one and their number, and columns of B, of `depth` elements
    /// each.
    fn accumulate_rows(
        &mut self,
        product: &Wgmma,
        operands: [&[u32]; 2],
        depth: usize,
        rows: (usize, usize),
    ) {
        match product.sums.packed() {
            1 => self.accumulate_packed::<1>(product, operands, depth, rows),
            _ => self.accumulate_packed::<2>(product, operands, depth, rows),
        }
    }

    /// As [`Self::accumulate_rows`], for registers with this number of elements, which is constant
    /// since all elements are moved by it.
    fn accumulate_packed<const PACKED: usize>(
        &mut self,
        product: &Wgmma,
        [a, b]: [&[u32]; 2],
        depth: usize,
        (first, count): (usize, usize),
    ) {
        use MatrixInputs::{E4m3, E5m2};
        let lines = LineProduct {
            level: self.level,
            inputs: [product.inputs, product.inputs_b],
            sums: product.sums,
            depth,
            negate: product.negated[0] != product.negated[1],
            saturates: product.saturates,
            short: matches!(product.inputs, E4m3 | E5m2),
            scales: None,
        };
        let columns = product.columns as usize;
        let mask = u32::MAX >> (32 - 32 / PACKED);
        let shift = |part: usize| (32 / PACKED * part) as u32;
        // Row and column of a part of a register.
        let place = |at: usize, lane: usize, part: usize| {
            let i = PACKED * at + part;
            let row = lane / 4 + 8 * (PACKED * at / 2 % 2);
            let column = 8 * (i / 4) + 2 * (lane % 4) + i % 2;
            (first..first + count)
                .contains(&row)
                .then(|| (row - first) * columns + column)
        };
        let keep = self.r.predicates[product.keep.0 as usize];
        let mut c = vec![0; count * columns];
        for (at, register) in product.d.iter().enumerate() {
            for lane in lanes(keep) {
                let word = read(self.r, *register, lane) as u32;
                for part in 0..PACKED {
                    if let Some(place) = place(at, lane, part) {
                        c[place] = word >> shift(part) & mask;
                    }
                }
            }
        }
        let d = lines.sums(a, b, &c);
        for (at, register) in product.d.iter().enumerate() {
            for lane in 0..LANES {
                let word = (0..PACKED).try_fold(0, |word, part| {
                    Some(word | d[place(at, lane, part)?] << shift(part))
                });
                if let Some(word) = word {
                    write(self.r, *register, lane, u64::from(word));
                }
            }
        }
    }
}
