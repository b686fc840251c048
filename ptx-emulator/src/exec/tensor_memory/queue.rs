//! Operations that have been issued, in their order, and their execution.

use super::TensorMemory;
use super::columns::TensorAddress;
use super::issue::{IssuedCopy, IssuedMma, Operand};
use super::product::{Lines, Part, Sources, Update};
use super::shape::bands;
use super::wrong;
use crate::address_space::cluster_address;
use crate::error::Fault;
use crate::exec::block::Worker;
use crate::exec::matrix_descriptor::{self, CHUNK, Elements};
use crate::exec::mbarrier::LaneId;
use crate::exec::run::Outcome;
use crate::exec::warpgroup::rows_of;
use crate::ir::{AccessKind, CopyLanes, Space};
use crate::observer::{Event, EventSink, Issuer, Progress};

/// An operation that has been issued.
#[derive(Debug)]
pub(in crate::exec) struct Issued {
    pub(super) work: Work,
    /// Of a pair of blocks.
    pub(super) pair: bool,
    pub(super) reads: Reads,
}

/// What it reads of shared memory, for observers: chunks in the block and in its peer.
#[derive(Clone, Debug)]
pub(in crate::exec) struct Reads {
    pub(super) warp: usize,
    pub(super) lane: usize,
    pub(super) info: u32,
    pub(super) chunks: [Vec<u64>; 2],
}

#[derive(Debug)]
pub(super) enum Work {
    Mma(Box<IssuedMma>),
    Copy(IssuedCopy),
    /// Mbarriers at which it arrives: the rank of the block, and the address.
    Commit(Vec<(u32, u64)>),
}

impl<O: EventSink> Worker<'_, '_, O> {
    /// Executes the oldest operations up to a commit; whether there were any.
    pub(in crate::exec) fn advance_tensor(&mut self) -> Result<bool, Box<Fault>> {
        let mut any = false;
        while let Some(issued) = self
            .tensor
            .as_mut()
            .and_then(|tensor| tensor.queue.pop_front())
        {
            any = true;
            let (warp, info) = (issued.reads.warp, issued.reads.info);
            let outcome = self.execute_tensor(&issued);
            outcome.map_err(|fault| self.fault(*fault, Some(warp), Some(info)))?;
            if let Work::Commit(_) = issued.work {
                break;
            }
            if O::ASYNC_ACCESSES {
                self.tensor_mut().done.push(issued.reads);
            }
        }
        Ok(any)
    }

    fn execute_tensor(&mut self, issued: &Issued) -> Outcome {
        let lane = issued.reads.lane;
        match &issued.work {
            Work::Mma(product) => self.execute_mma(product, issued.pair, lane),
            Work::Copy(copy) => {
                for rank in self.tensor_ranks(issued.pair) {
                    self.at_rank(rank, |this| this.execute_copy(copy, lane))?;
                }
                Ok(())
            }
            Work::Commit(barriers) => self.execute_commit(barriers, &issued.reads),
        }
    }

    /// The block, and its peer where an operation is one of a pair.
    pub(super) fn tensor_ranks(&self, pair: bool) -> Vec<u32> {
        match pair {
            true => vec![self.rank & !1, self.rank | 1],
            false => vec![self.rank],
        }
    }

    /// Arrives at mbarriers; what the thread has issued before is complete.
    fn execute_commit(&mut self, barriers: &[(u32, u64)], by: &Reads) -> Outcome {
        let mut done = Vec::new();
        if let Some(tensor) = &mut self.tensor {
            let of_thread = |reads: &mut Reads| (reads.warp, reads.lane) == (by.warp, by.lane);
            done.extend(tensor.done.extract_if(.., of_thread));
        }
        let thread = LaneId {
            rank: self.rank,
            warp: by.warp,
            lane: by.lane,
        };
        for &(rank, address) in barriers {
            let place = cluster_address(rank, address);
            for reads in std::mem::take(&mut done) {
                self.observe_reads(&reads, Progress::Signalled(place));
            }
            let context = self.context(by.warp);
            self.observer.notify(Event::TensorCommit {
                warp: &context,
                lane: by.lane as u32,
                address: place,
            });
            // What arrives at a block that has ended takes no effect.
            if !self.has_left(rank.into()) {
                self.at_rank(rank, |this| this.count_arrivals(address, 1, false, thread))?;
            }
        }
        Ok(())
    }

    /// Reports what an operation reads of shared memory.
    pub(super) fn observe_reads(&mut self, reads: &Reads, progress: Progress) {
        if !O::ASYNC_ACCESSES {
            return;
        }
        let own = self.rank;
        for (rank, chunks) in [own, own ^ 1].into_iter().zip(&reads.chunks) {
            let (space, chunks) = match rank == own {
                true => (Space::Shared, chunks.clone()),
                false => {
                    let places = chunks.iter().map(|&at| cluster_address(rank, at));
                    (Space::Cluster, places.collect())
                }
            };
            for (mask, addresses) in rows_of(&chunks) {
                let access = (AccessKind::Load, CHUNK as u32, false);
                let (by, lanes) = ((reads.warp, reads.info), (mask, &addresses));
                let issuer = Issuer::Lane(reads.lane as u32);
                self.observe_async(by, space, access, lanes, issuer, progress);
            }
        }
    }

    fn execute_mma(&mut self, product: &IssuedMma, pair: bool, lane: usize) -> Outcome {
        let (shape, wrong) = (&product.shape, wrong(lane));
        let ranks = self.tensor_ranks(pair);
        // Each block of a pair has half of the rows of A and half of the columns of B.
        let mut b = Vec::new();
        for &rank in &ranks {
            b.extend(self.operand_lines(product, rank, Operand::B, &mut None)?);
        }
        for &rank in &ranks {
            let a = match product.a {
                Some(_) => Some(self.operand_lines(product, rank, Operand::A, &mut None)?),
                None => None,
            };
            let half = (rank & 1) as usize * 4;
            let disabled = match pair {
                true => std::array::from_fn(|at| product.disabled[half + at]),
                false => std::array::from_fn(|at| product.disabled[at]),
            };
            let part = Part {
                level: self.launch.level,
                shape,
                sources: Sources {
                    a: product.a_place,
                    scales: product.scales,
                    metadata: product.metadata,
                },
                update: Update {
                    d: product.d,
                    keep: product.keep,
                    scale: product.scale,
                    disabled,
                },
                lines: Lines {
                    a: a.as_deref(),
                    b: &b,
                },
            };
            let form = (pair, product.stationary, product.metadata.is_some());
            let bands = bands(shape, form, product.d.lane).map_err(&wrong)?;
            let run = |tensor: &mut TensorMemory| -> Result<(), String> {
                part.check(&tensor.columns, &bands)?;
                bands
                    .iter()
                    .try_for_each(|band| part.run(&mut tensor.columns, band))
            };
            self.at_rank(rank, |this| run(this.tensor_mut()))
                .map_err(&wrong)?;
        }
        Ok(())
    }

    /// `cp`, of the running block.
    fn execute_copy(&mut self, copy: &IssuedCopy, lane: usize) -> Outcome {
        let elements = Elements::packed(copy.packing);
        let lines = (0, u64::from(copy.rows));
        let bytes = copy.bytes as usize;
        let loaded =
            matrix_descriptor::load(&self.shared, copy.descriptor, elements, lines, bytes, None);
        let rows = loaded.map_err(|at| self.outside_of_shared(at, lane))?;
        let columns = copy.bytes / 4;
        let tensor = self.tensor_mut();
        let at = copy.place;
        let targets = |row: u32| -> Vec<u32> {
            match copy.lanes {
                CopyLanes::Each => vec![row],
                CopyLanes::Quarters => vec![32 * row],
                CopyLanes::Halves => vec![row, row + 64],
                CopyLanes::Neighbours => {
                    let first = row % 32 + 64 * (row / 32);
                    vec![first, first + 32]
                }
                CopyLanes::All => (0..4).map(|quarter| row + 32 * quarter).collect(),
            }
        };
        for (row, elements) in (0..copy.rows).zip(rows.chunks_exact(bytes)) {
            for target in targets(row) {
                let at = TensorAddress {
                    lane: at.lane + target,
                    ..at
                };
                tensor.columns.check(at, 1, columns).map_err(wrong(lane))?;
                for (column, bytes) in (at.column..).zip(elements.as_chunks::<4>().0) {
                    let word = u32::from_le_bytes(bytes.map(|byte| byte as u8));
                    tensor.columns.set(at.lane, column, word);
                }
            }
        }
        Ok(())
    }
}
