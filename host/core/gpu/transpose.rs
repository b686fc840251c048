//! Transposes on the device.

use super::product::{number, place};
use super::queue::Queue;
use super::{Error, Layout, MatrixMut, MatrixRef};
use crate::device::ComputeCapability;
use crate::launch::{Arg, DevicePtr, Dim3, KernelId, Launch};
use crate::ptx;
use bytemuck::Pod;
use kernels_gpu::geometry::Geometry;
use kernels_gpu::ladder::transpose::transpose_fast;
use std::sync::OnceLock;

/// The kernels: one for each size of an element, since nothing is done with its bits.
struct Entry {
    name: &'static str,
    element_bytes: usize,
    geometry: Geometry,
}

const ENTRIES: [Entry; 3] = [
    Entry {
        name: "transpose_fast",
        element_bytes: 4,
        geometry: transpose_fast::GEOMETRY,
    },
    Entry {
        name: "transpose_fast_f64",
        element_bytes: 8,
        geometry: transpose_fast::GEOMETRY,
    },
    Entry {
        name: "transpose_fast_f16",
        element_bytes: 2,
        geometry: transpose_fast::GEOMETRY_F16,
    },
];

/// The module that has them, by its compute capability.
const MODULE: ComputeCapability = ComputeCapability::V7_0;

/// The kernels that are loaded so far.
#[derive(Default)]
pub(super) struct Transposes {
    kernels: [OnceLock<KernelId>; ENTRIES.len()],
}

/// A matrix as it lies in memory: lines of neighbouring elements.
struct Stored {
    lines: usize,
    within: usize,
    by_rows: bool,
}

impl Transposes {
    /// Starts C ← Aᵀ.
    pub(super) fn start<T: Pod>(
        &self,
        queue: &Queue,
        a: MatrixRef<'_, T>,
        c: MatrixMut<'_, T>,
    ) -> Result<(), Error> {
        for (array, matrix) in [(a.array, "A"), (c.array, "C")] {
            if !array.is_on(&queue.engine) {
                return Err(Error::WrongDevice { what: matrix });
            }
        }
        if [a.layout.columns, a.layout.rows] != [c.layout.rows, c.layout.columns]
            || (a.layout.batch != c.layout.batch && a.layout.batch != 1)
        {
            return Err(Error::Transpose {
                a: a.layout,
                c: c.layout,
            });
        }
        let (from, to) = (stored("A", a.layout)?, stored("C", c.layout)?);
        if c.layout.is_empty() {
            return Ok(());
        }
        let ((input, _), (output, _)) = (place(a.array, a.layout), place(c.array, c.layout));
        let address = |DevicePtr(start): DevicePtr, layout: Layout, index: usize| {
            DevicePtr(start + (index * layout.batch_stride * size_of::<T>()) as u64)
        };
        let elements = from.lines * from.within;
        for index in 0..c.layout.batch {
            let from_matrix = match a.layout.batch {
                1 => input,
                _ => address(input, a.layout, index),
            };
            let to_matrix = address(output, c.layout, index);
            // Rows that become columns' elements lie as they were.
            if from.by_rows == to.by_rows {
                self.turn::<T>(queue, from_matrix, to_matrix, &from)?;
            } else {
                queue.copy(to_matrix, from_matrix, elements * size_of::<T>())?;
            }
        }
        Ok(())
    }

    /// Starts the kernel for one matrix.
    fn turn<T: Pod>(
        &self,
        queue: &Queue,
        input: DevicePtr,
        output: DevicePtr,
        from: &Stored,
    ) -> Result<(), Error> {
        let bytes = size_of::<T>();
        let entries = ENTRIES.iter().zip(&self.kernels);
        let mut entries = entries.filter(|(entry, _)| entry.element_bytes == bytes);
        let (entry, kernel) = entries.next().ok_or(Error::ElementSize { bytes })?;
        let kernel = match kernel.get() {
            Some(&kernel) => kernel,
            None => {
                let text = ptx::module(MODULE).only(entry.name);
                let loaded = queue.engine.load(&text, entry.name)?;
                *kernel.get_or_init(|| loaded)
            }
        };
        let height = number("the number of rows", from.lines)?;
        let width = number("the number of columns", from.within)?;
        let grid = entry
            .geometry
            .grid(height.into(), width.into(), queue.engine.multiprocessors());
        let mut extents = [0; 3];
        for (extent, blocks) in extents.iter_mut().zip(grid) {
            *extent = number("the number of blocks", blocks as usize)?;
        }
        // SAFETY: both matrices lie in their arrays, without gaps, so that the kernel of this size
        // of elements reads and writes inside of them; arrays are freed by functions that
        // wait for the device.
        let started = unsafe {
            queue.enqueue(&Launch {
                kernel,
                grid: Dim3::from(extents),
                block: entry.geometry.block().into(),
                cluster: Dim3::ONE,
                shared_bytes: 0,
                args: &[
                    Arg::Ptr(input),
                    Arg::U64((from.lines * from.within) as u64),
                    Arg::Ptr(output),
                    Arg::U32(width),
                    Arg::U32(height),
                ],
            })
        };
        Ok(started?)
    }
}

/// How a matrix lies in memory.
///
/// # Errors
/// Where there is something between its rows or columns.
fn stored(matrix: &'static str, layout: Layout) -> Result<Stored, Error> {
    let by_rows = layout.leading_of_rows();
    let (lines, within, leading) = match by_rows {
        Some(leading) => (layout.rows, layout.columns, leading),
        None => (layout.columns, layout.rows, layout.column_stride),
    };
    if lines > 1 && within > 0 && leading != within {
        return Err(Error::Gaps { matrix, layout });
    }
    Ok(Stored {
        lines,
        within,
        by_rows: by_rows.is_some(),
    })
}
