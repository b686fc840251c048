//! GEMM + reduce-scatter: partial sums of C over each rank's part of k.
//!
//! A chunk is a piece of the rows of every rank. While the partial sums of one are added and
//! divided, the products of the next one run.

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
    let n = job.shape.n;
    let rows = even(job.shape.m, size);
    let chunks = job.chunks();
    let pieces: Vec<Vec<Range<usize>>> = rows.iter().map(|rows| even(rows.len(), chunks)).collect();
    let exchanges = job.exchanges();
    let Job {
        comm,
        gpu,
        c,
        exchange,
        turns,
        outputs,
        ..
    } = job;
    let partial = Partial {
        gpu,
        a: job.a,
        b: job.b.matrix(job.blocks.b.layout())?,
        is_wanted: job.options.work != Work::Exchange,
    };
    let longest: usize = pieces.iter().map(|pieces| pieces[0].len() * n).sum();
    let buffers = outputs.take(gpu, 2, longest)?;
    for chunk in 0..chunks {
        let slot = chunk % 2;
        let counts: Vec<usize> = pieces.iter().map(|of| of[chunk].len() * n).collect();
        // The products fill, and the exchange uses.
        turns.fill(slot, gpu)?;
        let mut start = 0;
        for (rows, pieces) in rows.iter().zip(&pieces) {
            let (first, piece) = (rows.start + pieces[chunk].start, &pieces[chunk]);
            partial.store(&mut buffers[slot], start, first, piece.len())?;
            start += piece.len() * n;
        }
        turns.hand_over(slot, gpu, exchange)?;
        if exchanges {
            let send = Part::new(&buffers[slot], 0..counts.iter().sum())?;
            let own = &pieces[rank][chunk];
            let receive = PartMut::new(&mut *c, own.start * n..own.end * n)?;
            comm.reduce_scatter(exchange, send, receive, &counts)?;
        }
        turns.give_back(slot, exchange)?;
    }
    comm.synchronize(gpu)?;
    Ok(comm.synchronize(exchange)?)
}

/// What computes partial sums of C.
struct Partial<'a, T> {
    gpu: &'a Gpu,
    a: &'a DeviceArray<T>,
    b: MatrixRef<'a, T>,
    is_wanted: bool,
}

impl<T> Partial<'_, T> {
    /// Those of `rows` rows of C from `first` on, into a buffer from `start` on.
    fn store<O: Wire>(
        &self,
        buffer: &mut DeviceArray<O>,
        start: usize,
        first: usize,
        rows: usize,
    ) -> Result<(), ScaleError>
    where
        T: GemmInto<O> + Wire,
    {
        let Layout {
            rows: k,
            columns: n,
            ..
        } = self.b.layout();
        if !self.is_wanted || rows == 0 || n == 0 {
            return Ok(());
        }
        let a = self.a.matrix(Layout::row_major(rows, k).at(first * k))?;
        let c = buffer.matrix_mut(Layout::row_major(rows, n).at(start))?;
        let (one, zero) = (T::Output::ONE, T::Output::ZERO);
        Ok(self.gpu.gemm(one, a, self.b, zero, c)?)
    }
}
