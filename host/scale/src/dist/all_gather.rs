//! All-gather + GEMM: B goes round in blocks of columns.
//!
//! The all-gather is P − 1 exchanges: in the s-th one, rank r receives the block of rank r + s and
//! sends its own to rank r − s. Each moves a P-th of B through every rank's link in both directions,
//! and each block is a product over all of k, so that C is stored once. The product with the own
//! block needs none of them, and hides the first.

use super::{Job, Work};
use crate::comm::{Communicator, Part, PartMut, Wire};
use crate::error::ScaleError;
use crate::partition::even;
use cuda_std::float::GpuFloat;
use std::ops::Range;
use warpladder::gemm::GemmInto;
use warpladder::gpu::{DeviceArray, Gpu, Layout, MatrixRef};

pub(super) fn multiply<C, T, O>(job: Job<'_, C, T, O>) -> Result<(), ScaleError>
where
    C: Communicator,
    T: GemmInto<O> + Wire,
    O: Wire,
{
    let (rank, size) = (job.comm.rank(), job.comm.size());
    let (k, chunks) = (job.shape.k, job.chunks());
    let columns = even(job.shape.n, size);
    let pieces: Vec<Vec<Range<usize>>> = columns
        .iter()
        .map(|columns| even(columns.len(), chunks))
        .collect();
    // The first pieces of the first block are the longest.
    let longest = pieces[0][0].len() * k;
    let received = if size > 1 { longest } else { 0 };
    let buffers = job.inputs.take(job.gpu, 2, received)?;
    let (exchange, turns) = (job.exchange, &mut *job.turns);
    let mut product = Product {
        gpu: job.gpu,
        a: job.a.matrix(job.blocks.a.layout())?,
        c: job.c,
        n: job.shape.n,
        is_wanted: job.options.work != Work::Exchange,
    };
    let exchanges = job.options.work != Work::Products;
    let mut slot = 0;
    for step in 0..size {
        let (from, to) = ((rank + step) % size, (rank + size - step) % size);
        if step == 0 {
            product.of(job.b, columns[rank].clone())?;
            continue;
        }
        for (piece, own) in pieces[from].iter().zip(&pieces[rank]) {
            let first = columns[from].start;
            let target = first + piece.start..first + piece.end;
            if exchanges {
                turns.fill(slot, exchange)?;
                let send = Part::new(job.b, own.start * k..own.end * k)?;
                let receive = PartMut::new(&mut buffers[slot], 0..piece.len() * k)?;
                job.comm.send_receive(exchange, send, to, receive, from)?;
                turns.hand_over(slot, exchange, job.gpu)?;
            }
            product.of(&buffers[slot], target)?;
            turns.give_back(slot, job.gpu)?;
            slot = 1 - slot;
        }
    }
    job.comm.synchronize(exchange)?;
    Ok(job.comm.synchronize(job.gpu)?)
}

/// What computes columns of C.
struct Product<'a, T, O> {
    gpu: &'a Gpu,
    a: MatrixRef<'a, T>,
    c: &'a mut DeviceArray<O>,
    /// Columns of C.
    n: usize,
    is_wanted: bool,
}

impl<T: GemmInto<O> + Wire, O: Wire> Product<'_, T, O> {
    /// A times columns of B, which lie at the start of an array.
    fn of(&mut self, b: &DeviceArray<T>, columns: Range<usize>) -> Result<(), ScaleError> {
        let Layout {
            rows, columns: k, ..
        } = self.a.layout();
        if !self.is_wanted || rows == 0 || columns.is_empty() {
            return Ok(());
        }
        let b = b.matrix(Layout::column_major(k, columns.len()))?;
        let into = Layout::row_major(rows, columns.len())
            .leading(self.n)
            .at(columns.start);
        let c = self.c.matrix_mut(into)?;
        let (one, zero) = (T::Output::ONE, T::Output::ZERO);
        Ok(self.gpu.gemm(one, self.a, b, zero, c)?)
    }
}
