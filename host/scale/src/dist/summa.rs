//! SUMMA: panels of A and B along the rows and columns of a grid of ranks.
//!
//! A panel is a part of k that one column of the grid has of A, and one row of B. Its owners send
//! it along their row or column; each rank adds the product to its block of C. While a panel is
//! sent, the product of the one before runs.

use super::{Job, Turns, beside, buffer};
use crate::comm::{Communicator, PartMut, Wire};
use crate::error::ScaleError;
use crate::partition::{even, pieces};
use cuda_std::float::GpuFloat;
use std::ops::Range;
use warpladder::gemm::GemmInto;
use warpladder::gpu::{DeviceArray, Gpu, Layout};

/// A part of k, with the column of the grid that has it of A and the row that has it of B.
struct Panel {
    k: Range<usize>,
    column: usize,
    row: usize,
}

/// All of k in panels that each have one owner of A and one of B, of which the longest takes a
/// `chunks`-th of the shortest owned part.
fn panels(k: usize, [p, q]: [usize; 2], chunks: usize) -> Vec<Panel> {
    let (of_a, of_b) = (even(k, q), even(k, p));
    let longest = k.div_ceil(p.max(q)).div_ceil(chunks).max(1);
    let mut panels = Vec::new();
    for (column, a) in of_a.iter().enumerate() {
        for (row, b) in of_b.iter().enumerate() {
            let both = a.start.max(b.start)..a.end.min(b.end);
            if both.start < both.end {
                panels.extend(
                    pieces(both, longest)
                        .into_iter()
                        .map(|k| Panel { k, column, row }),
                );
            }
        }
    }
    panels
}

pub(super) fn multiply<C, T, O>(job: Job<'_, C, T, O>, grid: [usize; 2]) -> Result<(), ScaleError>
where
    C: Communicator,
    T: GemmInto<O> + Wire,
    O: Wire,
{
    let [_, q] = grid;
    let (i, j) = (job.comm.rank() / q, job.comm.rank() % q);
    let along_row = job.comm.split(i, j)?;
    let along_column = job.comm.split(j, i)?;
    let (rows, columns) = (job.blocks.c.rows.len(), job.blocks.c.columns.len());
    let panels = panels(job.shape.k, grid, job.chunks());
    let exchange = beside(job.gpu)?;
    let mut turns = Turns::new(job.gpu)?;
    let longest = panels.iter().map(|panel| panel.k.len()).max().unwrap_or(0);
    let mut of_a = [
        buffer::<T>(job.gpu, longest * rows)?,
        buffer(job.gpu, longest * rows)?,
    ];
    let mut of_b = [
        buffer::<T>(job.gpu, longest * columns)?,
        buffer(job.gpu, longest * columns)?,
    ];
    for (index, panel) in panels.iter().enumerate() {
        let slot = index % 2;
        if job.exchanges() {
            turns.fill(slot, &exchange)?;
            let sent = [
                (
                    &along_row,
                    job.a,
                    &mut of_a[slot],
                    panel.column,
                    &job.blocks.a.columns,
                    rows,
                ),
                (
                    &along_column,
                    job.b,
                    &mut of_b[slot],
                    panel.row,
                    &job.blocks.b.rows,
                    columns,
                ),
            ];
            for (comm, from, to, owner, own, width) in sent {
                broadcast(
                    comm,
                    &exchange,
                    (from, own.start),
                    to,
                    (owner, width),
                    &panel.k,
                )?;
            }
            turns.hand_over(slot, &exchange, job.gpu)?;
        }
        if job.multiplies() && rows > 0 && columns > 0 {
            let depth = panel.k.len();
            let a = of_a[slot].matrix(Layout::column_major(rows, depth))?;
            let b = of_b[slot].matrix(Layout::row_major(depth, columns))?;
            let beta = if index == 0 {
                T::Output::ZERO
            } else {
                T::Output::ONE
            };
            let c = job.c.matrix_mut(job.blocks.c.layout())?;
            job.gpu.gemm(T::Output::ONE, a, b, beta, c)?;
        }
        turns.give_back(slot, job.gpu)?;
    }
    if panels.is_empty() {
        let zeros = buffer::<O>(job.gpu, rows * columns)?;
        job.gpu.copy(job.c, 0, &zeros, 0..rows * columns)?;
        job.comm.synchronize(job.gpu)?;
    }
    along_row.synchronize(&exchange)?;
    along_column.synchronize(&exchange)?;
    Ok(job.comm.synchronize(job.gpu)?)
}

/// Puts a panel into every rank's buffer; the owner copies it there from its block, in which
/// `width` elements of each k lie behind each other from `first` on.
fn broadcast<C: Communicator, T: Wire>(
    comm: &C,
    on: &Gpu,
    (block, first): (&DeviceArray<T>, usize),
    buffer: &mut DeviceArray<T>,
    (owner, width): (usize, usize),
    k: &Range<usize>,
) -> Result<(), ScaleError> {
    let len = k.len() * width;
    if len == 0 {
        // All ranks of this communicator have as many rows or columns.
        return Ok(());
    }
    if comm.rank() == owner {
        let start = (k.start - first) * width;
        on.copy(buffer, 0, block, start..start + len)?;
    }
    Ok(comm.broadcast(on, PartMut::new(buffer, 0..len)?, owner)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panels_cover_k_once_and_have_one_owner() {
        for k in [0, 1, 5, 31, 97] {
            for grid in [[1, 1], [2, 3], [4, 4], [1, 5], [3, 2]] {
                for chunks in [1, 2, 5] {
                    let panels = panels(k, grid, chunks);
                    let mut next = 0;
                    for Panel {
                        k: range,
                        column,
                        row,
                    } in &panels
                    {
                        assert_eq!(range.start, next);
                        next = range.end;
                        let a = &even(k, grid[1])[*column];
                        let b = &even(k, grid[0])[*row];
                        for part in [a, b] {
                            assert!(part.start <= range.start && range.end <= part.end);
                        }
                    }
                    assert_eq!(next, k);
                }
            }
        }
    }
}
