//! All-gather + GEMM: B goes round in blocks of columns.
//!
//! The all-gather is P − 1 exchanges: in the s-th one, rank r receives the block of rank r + s and
//! sends its own to rank r − s. Each moves a P-th of B through every rank's link in both directions,
//! and each block is a product over all of k, so that C is stored once. The product with the own
//! block needs none of them, and hides the first.

use super::{Job, Turns, beside, buffer};
use crate::comm::{Communicator, Part, PartMut, Wire};
use crate::error::ScaleError;
use crate::partition::even;
use cuda_std::float::GpuFloat;
use std::ops::Range;
use warpladder::gemm::GemmInto;
use warpladder::gpu::{DeviceArray, Layout};

pub(super) fn multiply<C, T, O>(mut job: Job<'_, C, T, O>) -> Result<(), ScaleError>
where
    C: Communicator,
    T: GemmInto<O> + Wire,
    O: bytemuck::Pod,
{
    let (rank, size) = (job.comm.rank(), job.comm.size());
    let (k, chunks) = (job.shape.k, job.chunks());
    let columns = even(job.shape.n, size);
    let pieces: Vec<Vec<Range<usize>>> = columns
        .iter()
        .map(|columns| even(columns.len(), chunks))
        .collect();
    let exchange = beside(job.gpu)?;
    let mut turns = Turns::new(job.gpu)?;
    // The first pieces of the first block are the longest.
    let longest = pieces[0][0].len() * k;
    let received = if size > 1 { longest } else { 0 };
    let mut buffers = [buffer::<T>(job.gpu, received)?, buffer(job.gpu, received)?];
    let mut slot = 0;
    for step in 0..size {
        let (from, to) = ((rank + step) % size, (rank + size - step) % size);
        if step == 0 {
            product(&mut job, None, columns[rank].clone())?;
            continue;
        }
        for (piece, own) in pieces[from].iter().zip(&pieces[rank]) {
            let first = columns[from].start;
            let target = first + piece.start..first + piece.end;
            if job.exchanges() {
                turns.fill(slot, &exchange)?;
                let send = Part::new(job.b, own.start * k..own.end * k)?;
                let receive = PartMut::new(&mut buffers[slot], 0..piece.len() * k)?;
                job.comm.send_receive(&exchange, send, to, receive, from)?;
                turns.hand_over(slot, &exchange, job.gpu)?;
            }
            product(&mut job, Some(&buffers[slot]), target)?;
            turns.give_back(slot, job.gpu)?;
            slot = 1 - slot;
        }
    }
    job.comm.synchronize(&exchange)?;
    Ok(job.comm.synchronize(job.gpu)?)
}

/// Columns of C: A times what was received, or times the own block.
fn product<C, T, O>(
    job: &mut Job<'_, C, T, O>,
    received: Option<&DeviceArray<T>>,
    columns: Range<usize>,
) -> Result<(), ScaleError>
where
    T: GemmInto<O> + Wire,
    O: bytemuck::Pod,
{
    let (rows, k) = (job.blocks.a.rows.len(), job.shape.k);
    if !job.multiplies() || rows == 0 || columns.is_empty() {
        return Ok(());
    }
    let a = job.a.matrix(job.blocks.a.layout())?;
    let b = received.unwrap_or(job.b);
    let b = b.matrix(Layout::column_major(k, columns.len()))?;
    let into = Layout::row_major(rows, columns.len())
        .leading(job.shape.n)
        .at(columns.start);
    let c = job.c.matrix_mut(into)?;
    Ok(job.gpu.gemm(T::Output::ONE, a, b, T::Output::ZERO, c)?)
}
