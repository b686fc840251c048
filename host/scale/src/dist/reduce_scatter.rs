//! GEMM + reduce-scatter: partial sums of C over each rank's part of k.
//!
//! A chunk is a piece of the rows of every rank. While the partial sums of one are added and
//! divided, the products of the next one run.

use super::{Job, Turns, beside, buffer};
use crate::comm::{Communicator, Part, PartMut, Wire};
use crate::error::ScaleError;
use crate::partition::even;
use cuda_std::float::GpuFloat;
use warpladder::gemm::GemmInto;
use warpladder::gpu::Layout;

pub(super) fn multiply<C, T, O>(job: Job<'_, C, T, O>) -> Result<(), ScaleError>
where
    C: Communicator,
    T: GemmInto<O> + Wire,
    O: Wire,
{
    let (rank, size) = (job.comm.rank(), job.comm.size());
    let n = job.shape.n;
    let rows = even(job.shape.m, size);
    let pieces: Vec<_> = rows
        .iter()
        .map(|rows| even(rows.len(), job.chunks()))
        .collect();
    let exchange = beside(job.gpu)?;
    let mut turns = Turns::new(job.gpu)?;
    let longest: usize = pieces.iter().map(|pieces| pieces[0].len() * n).sum();
    let mut buffers = [buffer::<O>(job.gpu, longest)?, buffer(job.gpu, longest)?];
    for chunk in 0..job.chunks() {
        let slot = chunk % 2;
        let counts: Vec<usize> = pieces.iter().map(|of| of[chunk].len() * n).collect();
        // The products fill, and the exchange uses.
        turns.fill(slot, job.gpu)?;
        let mut start = 0;
        for (rows, pieces) in rows.iter().zip(&pieces) {
            let piece = &pieces[chunk];
            product(
                &job,
                &mut buffers[slot],
                start,
                rows.start + piece.start,
                piece.len(),
            )?;
            start += piece.len() * n;
        }
        turns.hand_over(slot, job.gpu, &exchange)?;
        if job.exchanges() {
            let send = Part::new(&buffers[slot], 0..counts.iter().sum())?;
            let own = &pieces[rank][chunk];
            let receive = PartMut::new(&mut *job.c, own.start * n..own.end * n)?;
            job.comm.reduce_scatter(&exchange, send, receive, &counts)?;
        }
        turns.give_back(slot, &exchange)?;
    }
    job.comm.synchronize(job.gpu)?;
    Ok(job.comm.synchronize(&exchange)?)
}

/// The partial sums of `rows` rows of C from `first` on, into a buffer from `start` on.
fn product<C, T, O>(
    job: &Job<'_, C, T, O>,
    buffer: &mut warpladder::gpu::DeviceArray<O>,
    start: usize,
    first: usize,
    rows: usize,
) -> Result<(), ScaleError>
where
    T: GemmInto<O> + Wire,
    O: Wire,
{
    let (n, k) = (job.shape.n, job.blocks.a.columns.len());
    if !job.multiplies() || rows == 0 || n == 0 {
        return Ok(());
    }
    let a = job.a.matrix(Layout::row_major(rows, k).at(first * k))?;
    let b = job.b.matrix(job.blocks.b.layout())?;
    let c = buffer.matrix_mut(Layout::row_major(rows, n).at(start))?;
    Ok(job.gpu.gemm(T::Output::ONE, a, b, T::Output::ZERO, c)?)
}
