//! `wgmma.mma_async`: MMAs whose operands lie in shared memory (PTX ISA, "Asynchronous Warpgroup
//! Level Matrix Multiply-Accumulate").
//!
//! Each warp of a warpgroup computes 16 of the 64 rows independently of the others. An MMA is
//! executed when it is issued. Observers see what it reads then, and again when it is waited for,
//! since until then it may be read.

use super::run::{Outcome, RawFault, Run};
use super::tensor_sum::{Factor, Line, dot_product};
use super::vector::LANES;
use super::warp_ops::{read, write};
use crate::error::FaultKind;
use crate::ir::{AccessKind, Space, Wgmma, WgmmaA};
use crate::observer::{Issuer, Observer, Progress, Wants};
use crate::tensor_map::TensorSwizzle;

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
}

impl WgmmaQueue {
    pub(crate) fn clear(&mut self) {
        self.pending.clear();
        self.committed = 0;
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
        let at = self.start
            + line / GROUP * self.stride
            + line % GROUP * span
            + along / span * self.leading
            + along % span;
        self.swizzle.apply(at)
    }
}

impl<O: Observer> Run<'_, '_, O> {
    pub(super) fn wgmma(&mut self, product: &Wgmma) -> Outcome {
        let bytes = 4 / u64::from(product.inputs.packed());
        let depth = DEPTH_BYTES / bytes;
        let mut chunks = Vec::new();
        let warp = u64::from(self.context.warp % 4);
        let a = match &product.a {
            WgmmaA::Registers(registers) => {
                let mut rows = vec![Factor::ZERO; ROWS * depth as usize];
                let packed = product.inputs.packed() as usize;
                for lane in 0..LANES {
                    for (i, register) in registers.iter().enumerate() {
                        let bits = read(&self.r, *register, lane) as u32;
                        for part in 0..packed {
                            let row = lane / 4 + 8 * (i % 2);
                            let k = packed * (lane % 4) + part + 4 * packed * (i / 2);
                            rows[row * depth as usize + k] =
                                Factor::of(product.inputs, bits >> (16 * part));
                        }
                    }
                }
                rows
            }
            WgmmaA::Shared { descriptor, across } => {
                let bits = self.uniform(self.r.regs64[descriptor.0 as usize])?;
                let operand = Descriptor::new(bits, *across);
                let rows = (ROWS as u64 * warp, ROWS as u64);
                self.load_operand(product, operand, rows, &mut chunks)?
            }
        };
        let bits = self.uniform(self.r.regs64[product.b.0 as usize])?;
        let operand = Descriptor::new(bits, product.across_b);
        let b = self.load_operand(product, operand, (0, product.columns.into()), &mut chunks)?;
        let negate = product.negated[0] != product.negated[1];
        let a: Vec<Factor> = a.iter().map(|factor| factor.negated_if(negate)).collect();
        let lines = |factors: &[Factor]| -> Vec<Line> {
            factors.chunks(depth as usize).map(Line::new).collect()
        };
        let (a, b, level) = (lines(&a), lines(&b), self.launch.level);
        let keep = self.r.predicates[product.keep.0 as usize];
        for (i, register) in product.d.iter().enumerate() {
            for lane in 0..LANES {
                let row = lane / 4 + 8 * (i / 2 % 2);
                let column = 8 * (i / 4) + 2 * (lane % 4) + i % 2;
                let addend = match keep >> lane & 1 {
                    0 => 0,
                    _ => read(&self.r, *register, lane) as u32,
                };
                let sum = dot_product(level, product.inputs, &a[row], &b[column], addend);
                write(&mut self.r, *register, lane, u64::from(sum));
            }
        }
        if O::ASYNC_ACCESSES {
            chunks.sort_unstable();
            chunks.dedup();
            self.observe_chunks(&chunks, Progress::Issued);
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

    /// Rows of an operand in order, and the chunks of shared memory that they lie in.
    fn load_operand(
        &self,
        product: &Wgmma,
        operand: Descriptor,
        (first, count): (u64, u64),
        chunks: &mut Vec<u64>,
    ) -> Result<Vec<Factor>, Box<RawFault>> {
        if operand.across && operand.swizzle == TensorSwizzle::None {
            return Err(Box::new(RawFault {
                kind: FaultKind::BadTensor(
                    "an operand stored across k must be swizzled here".to_string(),
                ),
                lane: None,
            }));
        }
        let bytes = 4 / product.inputs.packed();
        let depth = DEPTH_BYTES / u64::from(bytes);
        let mut factors = Vec::with_capacity((count * depth) as usize);
        for row in first..first + count {
            for k in 0..depth {
                let at = operand.place(row, k, bytes.into());
                self.check(Space::Shared, at, bytes, AccessKind::Load, 0)?;
                let bits = self.read_memory(Space::Shared, at, bytes, 0, false);
                factors.push(Factor::of(product.inputs, bits as u32));
                if O::ASYNC_ACCESSES && chunks.last() != Some(&(at / CHUNK * CHUNK)) {
                    chunks.push(at / CHUNK * CHUNK);
                }
            }
        }
        Ok(factors)
    }

    pub(super) fn warpgroup_commit(&mut self) {
        self.wgmmas.committed += 1;
    }

    /// `wgmma.wait_group`: the reads of all groups but the `newest` are complete.
    pub(super) fn warpgroup_wait(&mut self, newest: u32) {
        if !O::ASYNC_ACCESSES {
            return;
        }
        let committed = self.wgmmas.committed;
        let pending = std::mem::take(&mut self.wgmmas.pending);
        for reads in pending {
            if u64::from(reads.group) + u64::from(newest) >= u64::from(committed) {
                self.wgmmas.pending.push(reads);
                continue;
            }
            let own = std::mem::replace(&mut self.info, reads.info);
            self.observe_chunks(&reads.chunks, Progress::Waited);
            self.info = own;
        }
    }
    /// Reports what the tensor core reads of shared memory for the warp.
    fn observe_chunks(&mut self, chunks: &[u64], progress: Progress) {
        for chunks in chunks.chunks(LANES) {
            let addresses =
                std::array::from_fn(|lane| chunks.get(lane).copied().unwrap_or_default());
            let lanes = (u32::MAX >> (LANES - chunks.len()), &addresses);
            let (kind, bytes) = (AccessKind::Load, CHUNK as u32);
            self.observe_async(kind, bytes, lanes, Issuer::Warp, progress);
        }
    }
}
