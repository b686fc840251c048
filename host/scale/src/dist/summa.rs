//! SUMMA: panels of A and B along the rows and columns of a grid of ranks.
//!
//! A panel is a part of k that one column of the grid has of A, and one row of B. Its owners send
//! it along their row or column; each rank adds the product to its block of C. While a panel is
//! sent, the product of the one before runs.

use super::Job;
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
    let Some([along_row, along_column]) = job.lines else {
        return Err(ScaleError::Shape("the plan has no grid".to_owned()));
    };
    let (rows, columns) = (job.blocks.c.rows.len(), job.blocks.c.columns.len());
    let panels = panels(job.shape.k, grid, job.chunks());
    let (exchanges, multiplies) = (job.exchanges(), job.multiplies());
    let Job {
        comm,
        gpu,
        blocks,
        exchange,
        turns,
        ..
    } = job;
    let longest = panels.iter().map(|panel| panel.k.len()).max().unwrap_or(0);
    let buffers = job.inputs.take(gpu, 4, longest * rows.max(columns))?;
    let (of_a, of_b) = buffers.split_at_mut(2);
    for (index, panel) in panels.iter().enumerate() {
        let slot = index % 2;
        if exchanges {
            turns.fill(slot, exchange)?;
            let from = (job.a, blocks.a.columns.start);
            let place = (panel.column, rows);
            broadcast(along_row, exchange, from, &mut of_a[slot], place, &panel.k)?;
            let from = (job.b, blocks.b.rows.start);
            let place = (panel.row, columns);
            broadcast(
                along_column,
                exchange,
                from,
                &mut of_b[slot],
                place,
                &panel.k,
            )?;
            turns.hand_over(slot, exchange, gpu)?;
        }
        if multiplies && rows > 0 && columns > 0 {
            let depth = panel.k.len();
            let a = of_a[slot].matrix(Layout::column_major(rows, depth))?;
            let b = of_b[slot].matrix(Layout::row_major(depth, columns))?;
            let beta = if index == 0 {
                T::Output::ZERO
            } else {
                T::Output::ONE
            };
            let c = job.c.matrix_mut(blocks.c.layout())?;
            gpu.gemm(T::Output::ONE, a, b, beta, c)?;
        }
        turns.give_back(slot, gpu)?;
    }
    if panels.is_empty() {
        let zeros = gpu.zeros::<O>(rows * columns, 1)?.into_array();
        gpu.copy(job.c, 0, &zeros, 0..rows * columns)?;
        comm.synchronize(gpu)?;
    }
    along_row.synchronize(exchange)?;
    along_column.synchronize(exchange)?;
    Ok(comm.synchronize(gpu)?)
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
