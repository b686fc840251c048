//! What operations are made of when they are issued: values of registers, and descriptors.

use super::columns::TensorAddress;
use super::queue::{Issued, Reads, Work};
use super::shape::Shape;
use super::wrong;
use crate::address_space::of_cluster;
use crate::error::{AccessFault, FaultKind};
use crate::exec::access::lane_addresses;
use crate::exec::block::Worker;
use crate::exec::matrix_descriptor::{self, CHUNK, Descriptor, Elements};
use crate::exec::mbarrier::registers;
use crate::exec::run::{Outcome, RawFault};
use crate::exec::tensor::within_shared;
use crate::exec::warp_ops::lanes;
use crate::ir::{
    AccessKind, Address, CopyLanes, MatrixInputs, Predicate, Reg32, Reg64, RowPacking, Space,
    TensorA, TensorAction, TensorCopy, TensorInstruction, TensorMma,
};
use crate::observer::{EventSink, Progress};

/// `tcgen05.mma`.
#[derive(Debug)]
pub(in crate::exec) struct IssuedMma {
    pub(super) shape: Shape,
    pub(super) d: TensorAddress,
    /// A in shared memory, or in tensor memory.
    pub(super) a: Option<Descriptor>,
    pub(super) a_place: Option<TensorAddress>,
    pub(super) b: Descriptor,
    pub(super) keep: bool,
    pub(super) scale: u32,
    pub(super) disabled: [u32; 8],
    pub(super) scales: Option<([TensorAddress; 2], u32)>,
    pub(super) metadata: Option<TensorAddress>,
    pub(super) stationary: bool,
    pair: bool,
}

/// `tcgen05.cp`.
#[derive(Debug)]
pub(in crate::exec) struct IssuedCopy {
    pub(super) place: TensorAddress,
    pub(super) descriptor: Descriptor,
    pub(super) rows: u32,
    pub(super) bytes: u32,
    pub(super) lanes: CopyLanes,
    pub(super) packing: RowPacking,
}

/// An operand in shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operand {
    A,
    B,
}

/// A lane's registers.
struct Values<'v> {
    word: &'v dyn Fn(Reg32) -> u32,
    double: &'v dyn Fn(Reg64) -> u64,
    predicate: &'v dyn Fn(Predicate) -> bool,
    address: &'v dyn Fn(&Address) -> u64,
}

impl Values<'_> {
    fn place(&self, address: &Address) -> TensorAddress {
        TensorAddress::of((self.address)(address) as u32)
    }

    fn mma(&self, product: &TensorMma, pair: bool) -> Result<IssuedMma, String> {
        let zero_columns = product.zero_columns.map_or(0, self.double);
        if zero_columns != 0 {
            return Err(format!(
                "the zero-column mask {zero_columns:#018x} of a tcgen05.mma.ws: masks other than 0 \
                 are not emulated"
            ));
        }
        let shape = Shape::of((self.word)(product.shape), product, pair)?;
        let descriptor = |reg: Reg64, operand: usize| {
            let across = shape.across[operand];
            let found = Descriptor::of_tensor_memory((self.double)(reg), across)?;
            // The transposed layout of 32-bit elements has a swizzle of its own.
            let is_wide = shape.inputs[operand] == MatrixInputs::Tf32;
            match across && is_wide != found.swizzles_by_32() {
                false => Ok(found),
                true => Err(format!(
                    "a matrix descriptor {:#018x} of a transposed operand whose swizzling mode \
                     does not go with .kind::{}",
                    (self.double)(reg),
                    product.kind.name()
                )),
            }
        };
        let (a, a_place) = match &product.a {
            TensorA::Shared(reg) => (Some(descriptor(*reg, 0)?), None),
            TensorA::Tensor(_) if shape.across[0] => {
                return Err("A in tensor memory cannot be transposed".to_string());
            }
            TensorA::Tensor(address) => (None, Some(self.place(address))),
        };
        let mut disabled = [0; 8];
        for (to, reg) in disabled.iter_mut().zip(&product.disabled) {
            *to = (self.word)(*reg);
        }
        Ok(IssuedMma {
            d: self.place(&product.d),
            a,
            a_place,
            b: descriptor(product.b, 1)?,
            keep: (self.predicate)(product.keep),
            scale: product.scale,
            disabled,
            scales: product.scales.as_ref().map(|(addresses, count)| {
                (
                    addresses.each_ref().map(|address| self.place(address)),
                    *count,
                )
            }),
            metadata: product.metadata.as_ref().map(|address| self.place(address)),
            stationary: product.stationary,
            pair,
            shape,
        })
    }

    fn copy(&self, copy: &TensorCopy) -> Result<IssuedCopy, String> {
        Ok(IssuedCopy {
            place: self.place(&copy.address),
            descriptor: Descriptor::of_tensor_memory((self.double)(copy.descriptor), false)?,
            rows: copy.rows,
            bytes: copy.bytes,
            lanes: copy.lanes,
            packing: copy.packing,
        })
    }
}

impl<O: EventSink> Worker<'_, '_, O> {
    /// Lanes issue an MMA, a copy or a commit, each its own.
    pub(super) fn issue(
        &mut self,
        index: usize,
        at: usize,
        instruction: &TensorInstruction,
        info: u32,
    ) -> Outcome {
        let split = self.warps[index].splits[at];
        let frame = self.warps[index].frames[split.frame as usize];
        for lane in lanes(split.mask) {
            let r = registers(&mut self.warps[index], &frame);
            let values = Values {
                word: &|reg| r.regs32[reg.0 as usize][lane],
                double: &|reg| r.regs64[reg.0 as usize][lane],
                predicate: &|reg| r.predicates[reg.0 as usize] >> lane & 1 != 0,
                address: &|address| lane_addresses(&r, frame.local_base, address)[lane],
            };
            let work = match &instruction.action {
                TensorAction::Mma(product) => values
                    .mma(product, instruction.pair)
                    .map(|mma| Work::Mma(Box::new(mma))),
                TensorAction::Copy(copy) => values.copy(copy).map(Work::Copy),
                TensorAction::Commit { barrier, blocks } => {
                    let address = (values.address)(barrier);
                    let blocks = blocks.map(|blocks| (values.word)(blocks) & 0xffff);
                    Ok(Work::Commit(self.barriers(address, blocks, lane)?))
                }
                _ => continue,
            };
            let work = work.map_err(wrong(lane))?;
            self.check_peer(instruction.pair, lane)?;
            let mut issued = Issued {
                work,
                pair: instruction.pair,
                reads: Reads {
                    warp: index,
                    lane,
                    info,
                    chunks: [Vec::new(), Vec::new()],
                },
            };
            if O::ASYNC_ACCESSES {
                self.note_reads(&mut issued)?;
                self.observe_reads(&issued.reads, Progress::Issued);
                self.observe_issue(&issued);
            }
            self.tensor_mut().queue.push_back(issued);
        }
        Ok(())
    }

    /// Whether the block has a peer, where an operation is one of a pair.
    fn check_peer(&self, pair: bool, lane: usize) -> Outcome {
        let blocks = self.launch.cluster_blocks();
        let is_alone = self.launch.is_cooperative() || self.rank | 1 >= blocks;
        if pair && is_alone {
            let message = format!(
                ".cta_group::2 in the block of rank {} of a cluster of {blocks}: it has no peer",
                self.rank
            );
            return Err(wrong(lane)(message));
        }
        Ok(())
    }

    /// The mbarriers at which a commit arrives.
    fn barriers(
        &self,
        address: u64,
        blocks: Option<u32>,
        lane: usize,
    ) -> Result<Vec<(u32, u64)>, Box<RawFault>> {
        let address = self
            .launch
            .resolve_cluster(within_shared(address), self.rank);
        let (rank, at) = of_cluster(address);
        self.check_place(at, lane)?;
        let Some(blocks) = blocks else {
            if !self.has_left(rank) {
                self.check_rank(rank, (AccessKind::Atomic, address, 8), lane)?;
            }
            return Ok(vec![(rank as u32, at)]);
        };
        let count = self.launch.cluster_blocks();
        if blocks == 0 || blocks >> count != 0 {
            let message = format!(
                "a commit to the blocks {blocks:#06x}; the cluster has {count}, and one at least \
                 must be named"
            );
            return Err(wrong(lane)(message));
        }
        Ok(lanes(blocks).map(|rank| (rank as u32, at)).collect())
    }

    /// Finds what an operation reads of shared memory.
    fn note_reads(&mut self, issued: &mut Issued) -> Outcome {
        let own = self.rank;
        for (which, rank) in [own, own ^ 1].into_iter().enumerate() {
            if which == 1 && !issued.pair {
                break;
            }
            let mut chunks = Some(Vec::new());
            match &issued.work {
                Work::Mma(product) => {
                    if product.a.is_some() {
                        self.operand_lines(product, rank, Operand::A, &mut chunks)?;
                    }
                    self.operand_lines(product, rank, Operand::B, &mut chunks)?;
                }
                Work::Copy(copy) => {
                    let (lines, bytes) = ((0, u64::from(copy.rows)), copy.bytes as usize);
                    let elements = Elements::packed(copy.packing);
                    let words = self.shared_of(rank);
                    let descriptor = copy.descriptor;
                    let of_rows = chunks.as_mut();
                    matrix_descriptor::load(words, descriptor, elements, lines, bytes, of_rows)
                        .map_err(|at| self.outside_of_shared(at, issued.reads.lane))?;
                }
                Work::Commit(_) => {}
            }
            let mut chunks = chunks.unwrap_or_default();
            chunks.sort_unstable();
            chunks.dedup();
            issued.reads.chunks[which] = chunks;
        }
        Ok(())
    }

    fn shared_of(&self, rank: u32) -> &[u32] {
        match self.peers.get(rank as usize) {
            Some(peer) if rank != self.rank => peer.shared(),
            _ => &self.shared,
        }
    }

    /// Rows of A or columns of B that lie in the shared memory of a block; of a pair, each has half
    /// of them.
    pub(super) fn operand_lines(
        &self,
        product: &IssuedMma,
        rank: u32,
        operand: Operand,
        chunks: &mut Option<Vec<u64>>,
    ) -> Result<Vec<u32>, Box<RawFault>> {
        let Shape {
            rows,
            columns,
            depth,
            inputs,
            ..
        } = product.shape;
        let stored = if product.metadata.is_some() {
            depth / 2
        } else {
            depth
        };
        let (descriptor, lines, depth, inputs) = match (operand, product.a) {
            (Operand::A, Some(a)) => (a, rows, stored, inputs[0]),
            _ => (product.b, columns, depth, inputs[1]),
        };
        let lines = u64::from(if product.pair { lines / 2 } else { lines });
        let elements = Elements::of(inputs);
        let words = self.shared_of(rank);
        let depth = depth as usize;
        let chunks = chunks.as_mut();
        matrix_descriptor::load(words, descriptor, elements, (0, lines), depth, chunks)
            .map_err(|at| self.outside_of_shared(at, 0))
    }

    /// An operand that is not in shared memory.
    pub(super) fn outside_of_shared(&self, address: u64, lane: usize) -> Box<RawFault> {
        let length = self.launch.shared_bytes;
        Box::new(RawFault {
            kind: FaultKind::OutOfBounds(AccessFault {
                access: AccessKind::Load,
                space: Space::Shared,
                address,
                bytes: CHUNK as u32,
                nearest: format!("the block has {length} bytes"),
            }),
            lane: Some(lane),
        })
    }
}
