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
use super::integer_matrix::{accumulate, dot};
use super::matrix::Products;
use super::run::{Outcome, RawFault, Run};
use super::simd;
use super::tensor_sum::{
    Factor, Factors, Kind, Line, TILE_COLUMNS, Tile, any_dot_product, dot_product, is_special,
};
use super::vector::LANES;
use super::warp::{State, Warp};
use super::warp_ops::{lanes, read, write};
use crate::error::FaultKind;
use crate::ir::{AccessKind, MatrixInputs, Space, Sums, Terminator, Wgmma, WgmmaA};
use crate::observer::{Event, EventSink, Issuer, Progress};
use crate::tensor_map::TensorSwizzle;
use std::ops::Range;

/// Warps of a warpgroup.
const WARPS: usize = 4;

/// Rows of a warp.
const ROWS: usize = 16;

/// Bytes of an MMA's operands along k.
const DEPTH_BYTES: u64 = 32;

/// Rows of a core matrix; the descriptor's stride is the distance between core matrices.
const GROUP: u64 = 8;

/// Bytes of the chunks in which reads are reported to observers.
const CHUNK: u64 = 16;

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

/// An operand in shared memory: PTX ISA, "Matrix Descriptor Format".
#[derive(Clone, Copy, Debug)]
struct Descriptor {
    start: u64,
    /// Distance of spans along the contiguous direction.
    leading: u64,
    /// Distance of groups of eight rows.
    stride: u64,
    swizzle: TensorSwizzle,
    across: bool,
}

impl Descriptor {
    fn new(bits: u64, across: bool) -> Self {
        let field = |shift: u32| (bits >> shift & 0x3fff) << 4;
        Descriptor {
            start: field(0),
            leading: field(16),
            stride: field(32),
            swizzle: match bits >> 62 {
                0 => TensorSwizzle::None,
                1 => TensorSwizzle::Bytes128,
                2 => TensorSwizzle::Bytes64,
                _ => TensorSwizzle::Bytes32,
            },
            across,
        }
    }

    /// The address of the element of a row (of A; a column of B) at an index along k.
    fn place(&self, row: u64, k: u64, bytes: u64) -> u64 {
        let span = self.swizzle.span();
        // Rows of the stored layout are K-major or MN-major.
        let (line, along) = match self.across {
            false => (row, k * bytes),
            true => (k, row * bytes),
        };
        // Without a swizzle, an operand that is MN-major has the two distances exchanged.
        let (of_lines, of_spans) = match (self.across, self.swizzle) {
            (true, TensorSwizzle::None) => (self.leading, self.stride),
            _ => (self.stride, self.leading),
        };
        let at = self.start
            + line / GROUP * of_lines
            + line % GROUP * span
            + along / span * of_spans
            + along % span;
        self.swizzle.apply(at)
    }
}

/// Bytes of an element of A and B in memory; single bits are taken by words.
fn element_bytes(inputs: MatrixInputs) -> u64 {
    match inputs.packed() {
        32 => 4,
        packed => 4 / u64::from(packed),
    }
}

impl<O: EventSink> Run<'_, '_, O> {
    pub(super) fn wgmma(&mut self, product: &Wgmma) -> Outcome {
        let bytes = element_bytes(product.inputs);
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
                let bits = self.uniform(self.r.regs64[descriptor.0 as usize])?;
                let operand = Descriptor::new(bits, *across);
                let rows = (ROWS as u64 * warp, ROWS as u64);
                self.load_operand((bytes, depth), operand, rows, &mut chunks)?
            }
        };
        let bits = self.uniform(self.r.regs64[product.b.0 as usize])?;
        let operand = Descriptor::new(bits, product.across_b);
        let columns = (0, product.columns.into());
        let b = self.load_operand((bytes, depth_of_b), operand, columns, &mut chunks)?;
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

    /// The one value of all lanes.
    fn uniform(&self, values: [u64; LANES]) -> Result<u64, Box<RawFault>> {
        match values.iter().position(|value| *value != values[0]) {
            None => Ok(values[0]),
            Some(lane) => Err(Box::new(RawFault {
                kind: FaultKind::BadTensor("lanes give different matrix descriptors".to_string()),
                lane: Some(lane),
            })),
        }
    }

    /// Rows of an operand in order, element by element, and the chunks of shared memory that they
    /// lie in. Of single bits, an element is a word of them.
    fn load_operand(
        &self,
        (bytes, depth): (u64, usize),
        operand: Descriptor,
        (first, count): (u64, u64),
        chunks: &mut Vec<u64>,
    ) -> Result<Vec<u32>, Box<RawFault>> {
        if let Some(elements) = self.load_chunks((bytes, depth), operand, (first, count), chunks) {
            return Ok(elements);
        }
        let depth = depth as u64;
        let mut elements = Vec::with_capacity((count * depth) as usize);
        for row in first..first + count {
            for k in 0..depth {
                let at = operand.place(row, k, bytes);
                self.check(Space::Shared, at, bytes as u32, AccessKind::Load, 0)?;
                let bits = self.read_memory(Space::Shared, at, bytes as u32, 0, false);
                elements.push(bits as u32);
                if O::ASYNC_ACCESSES && chunks.last() != Some(&(at / CHUNK * CHUNK)) {
                    chunks.push(at / CHUNK * CHUNK);
                }
            }
        }
        Ok(elements)
    }

    /// As [`Self::load_operand`], of whole chunks; none where there are parts of them, or where one
    /// lies outside of shared memory.
    fn load_chunks(
        &self,
        (bytes, depth): (u64, usize),
        operand: Descriptor,
        (first, count): (u64, u64),
        chunks: &mut Vec<u64>,
    ) -> Option<Vec<u32>> {
        let in_chunk = CHUNK / bytes;
        let (rows, ks) = (first..first + count, 0..depth as u64);
        let (lines, along, step) = match operand.across {
            true => (ks, rows, depth),
            false => (rows, ks, 1),
        };
        if along.start % in_chunk != 0 || along.end % in_chunk != 0 {
            return None;
        }
        let bits = u32::MAX >> (32 - 8 * bytes);
        let mut elements = vec![0; count as usize * depth];
        let before = chunks.len();
        for line in lines {
            for start in along.clone().step_by(in_chunk as usize) {
                let (row, k) = match operand.across {
                    true => (start, line),
                    false => (line, start),
                };
                let at = operand.place(row, k, bytes);
                if at + CHUNK > u64::from(self.launch.shared_bytes) {
                    chunks.truncate(before);
                    return None;
                }
                let words = &self.shared[at as usize / 4..][..CHUNK as usize / 4];
                let to = &mut elements[(row - first) as usize * depth + k as usize..];
                for (i, to) in to
                    .iter_mut()
                    .step_by(step)
                    .take(in_chunk as usize)
                    .enumerate()
                {
                    let byte = i * bytes as usize;
                    *to = words[byte / 4] >> (8 * (byte % 4)) & bits;
                }
                if O::ASYNC_ACCESSES {
                    chunks.push(at);
                }
            }
        }
        Some(elements)
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
fn rows_of(chunks: &[u64]) -> impl Iterator<Item = (u32, [u64; LANES])> {
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
        [a, b]: [&[u32]; 2],
        depth: usize,
        rows: (usize, usize),
    ) {
        if let MatrixInputs::Integer { .. } = product.inputs {
            let words = |elements: &[u32]| -> Vec<u32> {
                match depth {
                    // Bytes, four of them in a word.
                    32 => {
                        let word = |bytes: &[u32; 4]| u32::from_le_bytes(bytes.map(|b| b as u8));
                        elements.as_chunks::<4>().0.iter().map(word).collect()
                    }
                    _ => elements.to_vec(),
                }
            };
            let inputs = [product.inputs, product.inputs_b];
            let bits = (product.inputs.packed() == 32).then_some(true);
            let lines = |all: &[u32]| -> Vec<Vec<u32>> { all.chunks(depth).map(words).collect() };
            let (a, b) = (lines(a), lines(b));
            return self.store_sums(product, rows, |row, column, addend| {
                let sum = dot(inputs, bits, &a[row], &b[column]);
                accumulate(addend, sum, product.saturates)
            });
        }
        if rows == (0, ROWS) && self.accumulate_tile(product, [a, b], depth) {
            return;
        }
        let negate = product.negated[0] != product.negated[1];
        let lines = |all: &[u32], inputs, negate| -> Vec<Vec<Factor>> {
            let factor = |bits: &u32| Factor::of(inputs, *bits).negated_if(negate);
            let line = |line: &[u32]| line.iter().map(factor).collect();
            all.chunks(depth).map(line).collect()
        };
        let (a, b) = (
            lines(a, product.inputs, negate),
            lines(b, product.inputs_b, false),
        );
        use MatrixInputs::{E4m3, E5m2};
        let short = matches!(product.inputs, E4m3 | E5m2);
        if short || product.sums == Sums::F16 {
            let kind = Kind {
                inputs: [product.inputs, product.inputs_b],
                sums: [product.sums; 2],
                short,
            };
            return self.store_sums(product, rows, |row, column, addend| {
                any_dot_product(kind, &a[row], &b[column], addend)
            });
        }
        let whole =
            |all: &[Vec<Factor>]| all.iter().map(|line| Line::new(line)).collect::<Vec<_>>();
        let (a, b, level) = (whole(&a), whole(&b), self.level);
        self.store_sums(product, rows, |row, column, addend| {
            dot_product(level, product.inputs, &a[row], &b[column], addend)
        });
    }

    /// All elements of D at once; false, with nothing done, where sums are no f32, and where there
    /// are infinities or NaNs.
    fn accumulate_tile(&mut self, product: &Wgmma, [a, b]: [&[u32]; 2], depth: usize) -> bool {
        let (level, inputs) = (self.level, product.inputs);
        let columns = product.columns as usize;
        let is_frequent = matches!(
            inputs,
            MatrixInputs::F16 | MatrixInputs::Bf16 | MatrixInputs::Tf32
        );
        if !is_frequent || product.sums != Sums::F32 || !columns.is_multiple_of(TILE_COLUMNS) {
            return false;
        }
        let split = |elements: &[u32]| {
            let mut parts = [0; 2].map(|_| Vec::with_capacity(elements.len()));
            let mut factors = Factors::ZERO;
            for row in elements.as_chunks::<LANES>().0 {
                simd::factors(level, inputs, row, 0, &mut factors);
                if factors.has_special {
                    return None;
                }
                parts[0].extend(factors.significands);
                parts[1].extend(factors.exponents);
            }
            (parts[0].len() == elements.len()).then_some(parts)
        };
        let (Some(mut a), Some(b)) = (split(a), split(b)) else {
            return false;
        };
        if product.negated[0] != product.negated[1] {
            a[0].iter_mut()
                .for_each(|significand| *significand = -*significand);
        }
        // Of each column, one element for each k; a tile has them by rows.
        let by_rows = b.map(|columns_of| {
            let mut rows = vec![0; columns_of.len()];
            for (column, elements) in columns_of.chunks_exact(depth).enumerate() {
                for (k, element) in elements.iter().enumerate() {
                    rows[k * columns + column] = *element;
                }
            }
            rows
        });
        let keep = self.r.predicates[product.keep.0 as usize];
        let place = |at: usize, lane: usize| {
            let (row, column) = (
                lane / 4 + 8 * (at / 2 % 2),
                8 * (at / 4) + 2 * (lane % 4) + at % 2,
            );
            row * columns + column
        };
        let mut c = vec![0; ROWS * columns];
        for (at, register) in product.d.iter().enumerate() {
            for lane in lanes(keep) {
                c[place(at, lane)] = read(self.r, *register, lane) as u32;
            }
        }
        if c.iter().fold(false, |any, &bits| any | is_special(bits)) {
            return false;
        }
        let tile = Tile {
            inputs,
            depth,
            columns,
            a: a.each_ref().map(Vec::as_slice),
            b: by_rows.each_ref().map(Vec::as_slice),
            c: &c,
        };
        let mut d = vec![0; ROWS * columns];
        simd::tile(level, &tile, &mut d);
        for (at, register) in product.d.iter().enumerate() {
            for lane in 0..LANES {
                write(self.r, *register, lane, u64::from(d[place(at, lane)]));
            }
        }
        true
    }

    /// Replaces the elements of D of some rows, from the first one and their number, by the sums
    /// for their rows among those, columns and values.
    fn store_sums(
        &mut self,
        product: &Wgmma,
        (first, count): (usize, usize),
        sum: impl Fn(usize, usize, u32) -> u32,
    ) {
        let keep = self.r.predicates[product.keep.0 as usize];
        let packed = product.sums.packed() as usize;
        let width = 32 / packed as u32;
        let mask = u32::MAX >> (32 - width);
        for (at, register) in product.d.iter().enumerate() {
            for lane in 0..LANES {
                let row = lane / 4 + 8 * (packed * at / 2 % 2);
                if !(first..first + count).contains(&row) {
                    continue;
                }
                let before = read(self.r, *register, lane) as u32;
                let mut word = 0;
                for part in 0..packed {
                    let i = packed * at + part;
                    let column = 8 * (i / 4) + 2 * (lane % 4) + i % 2;
                    let shift = width * part as u32;
                    let addend = match keep >> lane & 1 {
                        0 => 0,
                        _ => before >> shift & mask,
                    };
                    word |= sum(row - first, column, addend) << shift;
                }
                write(self.r, *register, lane, u64::from(word));
            }
        }
    }
}
