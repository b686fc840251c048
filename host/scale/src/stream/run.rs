//! The product itself: three streams, for what goes up, the products, and what comes down.

use super::matrix::{HostMatrix, HostMatrixMut, parts, tile_layout};
use super::tiling::{Sizes, Slot, Slots, Step, Tiling, least_elements};
use crate::dist::Shape;
use crate::error::ScaleError;
use cuda_std::float::GpuFloat;
use std::collections::VecDeque;
use std::ops::{ControlFlow, Range};
use std::time::Instant;
use warpladder::element::Element;
use warpladder::gemm::{GemmInput, GemmInto};
use warpladder::gpu::{DeviceArray, Event, Gpu, Layout, PinnedArray};

/// Page-locked buffers in each direction: one is filled while another is copied.
const STAGES: usize = 3;

/// Bytes of a buffer, where a line of a tile takes no more: large enough for the whole rate of a
/// link, and small enough to be allocated in a few milliseconds.
const STAGE_BYTES: usize = 16 << 20;

/// How a product is done.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Device memory that tiles may take, in bytes; `None` for 9 tenths of what is free. What
    /// kernels need beside their operands is not part of it.
    pub device_memory: Option<u64>,
}

/// How far it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// Products of pieces that were started.
    pub done: u64,
    /// Products of pieces in all.
    pub steps: u64,
}

/// What was moved, beside what must be.
#[derive(Clone, Copy, Debug, serde::Serialize)]
pub struct Moved {
    /// The tiles.
    pub tiling: Tiling,
    /// How many.
    pub tiles: u64,
    /// Elements of A that went to the device.
    pub a_elements: u64,
    /// Elements of B that did.
    pub b_elements: u64,
    /// Elements of C that came back.
    pub c_elements: u64,
    /// The bound: 2 m n k / √M with M the elements that fit the limit, or each element once.
    pub least_elements: f64,
    /// The limit, in bytes.
    pub limit_bytes: u64,
    /// Device memory of tiles and pieces, in bytes.
    pub tile_bytes: u64,
    /// The most device memory that was taken, what kernels need beside their operands included.
    pub peak_bytes: u64,
    /// Wall-clock time, in seconds.
    pub seconds: f64,
}

impl Moved {
    /// Elements that were moved.
    pub fn elements(&self) -> u64 {
        self.a_elements + self.b_elements + self.c_elements
    }
}

/// C = A · B of matrices in the host's memory, in tiles through the device. C may be of a narrower
/// type than the accumulators: each element is rounded once.
///
/// `progress` is called after each step, and stops the product by `Break`.
///
/// # Errors
/// [`ScaleError::Shape`] where sizes do not match, [`ScaleError::Memory`] where the limit is too
/// low, [`ScaleError::Cancelled`] (C is then partly written), and what the device refuses.
pub fn gemm<T, O>(
    gpu: &Gpu,
    a: HostMatrix<'_, T>,
    b: HostMatrix<'_, T>,
    mut c: HostMatrixMut<'_, O>,
    options: &Options,
    progress: impl FnMut(Progress) -> ControlFlow<()>,
) -> Result<Moved, ScaleError>
where
    T: Element + GemmInto<<T as GemmInput>::Output>,
    O: Element,
{
    let start = Instant::now();
    let shape = shape([a.extents(), b.extents(), [c.rows, c.columns]])?;
    let sizes = Sizes {
        input: size_of::<T>(),
        accumulator: size_of::<T::Output>(),
    };
    let free = gpu.free_memory()?;
    let limit = options.device_memory.unwrap_or(free / 10 * 9);
    let tiling = Tiling::choose(shape, sizes, c.order, limit)?;
    let mut moved = Moved {
        tiling,
        tiles: 0,
        a_elements: 0,
        b_elements: 0,
        c_elements: 0,
        least_elements: least_elements(shape, sizes, limit),
        limit_bytes: limit,
        tile_bytes: tiling.device_bytes(shape, sizes),
        peak_bytes: 0,
        seconds: 0.0,
    };
    if shape.k == 0 {
        c.values.as_slice().fill(O::zeroed());
    } else if shape.m > 0 && shape.n > 0 {
        let mut pipeline = Pipeline::new(gpu, a, b, c, (shape, tiling))?;
        let ended = pipeline.run(progress, &mut moved, free);
        // No copy may be in flight when the buffers are freed, after an error either.
        let waited = pipeline.wait();
        ended?;
        waited?;
    }
    moved.seconds = start.elapsed().as_secs_f64();
    Ok(moved)
}

/// m, n and k of matrices that match.
fn shape([a, b, c]: [[usize; 2]; 3]) -> Result<Shape, ScaleError> {
    match (a, b, c) {
        ([m, k], [k_of_b, n], [m_of_c, n_of_c]) if (k, m, n) == (k_of_b, m_of_c, n_of_c) => {
            Ok(Shape { m, n, k })
        }
        _ => Err(ScaleError::Shape(format!(
            "cannot multiply {} x {} by {} x {} into {} x {}",
            a[0], a[1], b[0], b[1], c[0], c[1]
        ))),
    }
}

/// An operand's pieces on the device.
struct Panels<T> {
    slots: Slots,
    arrays: Vec<Panel<T>>,
}

/// A piece's memory, and when it was copied and used.
struct Panel<T> {
    array: DeviceArray<T>,
    loaded: Event,
    used: Event,
    is_used: bool,
}

impl<T: Element> Panels<T> {
    fn new(gpu: &Gpu, count: usize, elements: usize) -> Result<Self, ScaleError> {
        let piece = |_| {
            Ok::<_, ScaleError>(Panel {
                array: gpu.zeros::<T>(elements, 1)?.into_array(),
                loaded: gpu.event()?,
                used: gpu.event()?,
                is_used: false,
            })
        };
        Ok(Panels {
            slots: Slots::new(count),
            arrays: (0..count).map(piece).collect::<Result<_, _>>()?,
        })
    }
}

/// A page-locked buffer, and when it was copied.
struct Stage<T> {
    memory: PinnedArray<T>,
    copied: Event,
    in_flight: bool,
}

/// Buffers that are used in turns. They are allocated when the first is needed: matrices in
/// page-locked memory need none.
struct Stages<T> {
    buffers: Vec<Stage<T>>,
    next: usize,
    /// Elements of each.
    elements: usize,
}

impl<T: Element> Stages<T> {
    /// Buffers for tiles of at most `tile` elements, and lines of `longest_line`.
    fn new(tile: usize, longest_line: usize) -> Self {
        let elements = (STAGE_BYTES / size_of::<T>()).max(longest_line);
        Stages {
            buffers: Vec::new(),
            next: 0,
            elements: elements.min(tile),
        }
    }

    /// The next buffer in turn.
    fn take(&mut self, gpu: &Gpu) -> Result<&mut Stage<T>, ScaleError> {
        let index = self.next;
        self.next = (index + 1) % STAGES;
        if index == self.buffers.len() {
            self.buffers.push(Stage {
                memory: gpu.pinned(self.elements)?,
                copied: gpu.event()?,
                in_flight: false,
            });
        }
        Ok(&mut self.buffers[index])
    }
}

/// A tile of C on the device.
struct Tile<F> {
    array: DeviceArray<F>,
    finished: Event,
    drained: Event,
    is_used: bool,
    /// The rows and columns that the host has not stored.
    place: Option<[Range<usize>; 2]>,
}

struct Pipeline<'m, T: GemmInput, O> {
    gpu: Gpu,
    up: Gpu,
    down: Gpu,
    a: HostMatrix<'m, T>,
    b: HostMatrix<'m, T>,
    c: HostMatrixMut<'m, O>,
    shape: Shape,
    tiling: Tiling,
    of_a: Panels<T>,
    of_b: Panels<T>,
    stages_up: Stages<T>,
    stages_down: Stages<T::Output>,
    tiles: [Tile<T::Output>; 2],
}

impl<'m, T, O> Pipeline<'m, T, O>
where
    T: Element + GemmInto<<T as GemmInput>::Output>,
    O: Element,
{
    fn new(
        gpu: &Gpu,
        a: HostMatrix<'m, T>,
        b: HostMatrix<'m, T>,
        c: HostMatrixMut<'m, O>,
        (shape, tiling): (Shape, Tiling),
    ) -> Result<Self, ScaleError> {
        let Tiling {
            rows,
            columns,
            depth,
            ..
        } = tiling;
        let [slots_a, slots_b] = tiling.slots(shape);
        let tile = || {
            Ok::<_, ScaleError>(Tile {
                array: gpu.zeros(rows * columns, 1)?.into_array(),
                finished: gpu.event()?,
                drained: gpu.event()?,
                is_used: false,
                place: None,
            })
        };
        Ok(Pipeline {
            gpu: gpu.clone(),
            up: gpu.stream()?,
            down: gpu.stream()?,
            a,
            b,
            c,
            shape,
            tiling,
            of_a: Panels::new(gpu, slots_a, rows * depth)?,
            of_b: Panels::new(gpu, slots_b, columns * depth)?,
            stages_up: Stages::new(rows.max(columns) * depth, rows.max(columns).max(depth)),
            stages_down: Stages::new(rows * columns, rows.max(columns)),
            tiles: [tile()?, tile()?],
        })
    }

    fn run(
        &mut self,
        mut progress: impl FnMut(Progress) -> ControlFlow<()>,
        moved: &mut Moved,
        free: u64,
    ) -> Result<(), ScaleError> {
        let steps = self.tiling.step_count(self.shape);
        for (done, step) in self.tiling.steps(self.shape).enumerate() {
            let slot_of_tile = (moved.tiles % 2) as usize;
            self.step(&step, slot_of_tile, moved)?;
            if step.last {
                let taken = free.saturating_sub(self.gpu.free_memory()?);
                moved.peak_bytes = moved.peak_bytes.max(taken);
                moved.tiles += 1;
                // While the device computes, the tile before is written to C.
                self.store(1 - slot_of_tile)?;
            }
            let done = done as u64 + 1;
            if progress(Progress { done, steps }).is_break() && done < steps {
                return Err(ScaleError::Cancelled { done, steps });
            }
        }
        self.store(0)?;
        self.store(1)
    }

    /// Loads the pieces of a step where they are not on the device, and starts its product.
    fn step(&mut self, step: &Step, tile: usize, moved: &mut Moved) -> Result<(), ScaleError> {
        let [i, j, piece] = step.index;
        let [rows, columns, depth] = &step.ranges;
        let (a, b) = (self.a, self.b);
        let in_a = self.of_a.slots.find([i, piece]);
        let in_b = self.of_b.slots.find([j, piece]);
        let mut load = Loader {
            up: &self.up,
            stages: &mut self.stages_up,
        };
        if let Slot::Empty(slot) = in_a {
            load.load(&a, [rows, depth], &mut self.of_a.arrays[slot])?;
            moved.a_elements += (rows.len() * depth.len()) as u64;
        }
        if let Slot::Empty(slot) = in_b {
            load.load(&b, [depth, columns], &mut self.of_b.arrays[slot])?;
            moved.b_elements += (columns.len() * depth.len()) as u64;
        }
        let [in_a, in_b] = [in_a, in_b].map(|slot| match slot {
            Slot::Filled(slot) | Slot::Empty(slot) => slot,
        });
        let (of_a, of_b) = (&mut self.of_a.arrays[in_a], &mut self.of_b.arrays[in_b]);
        let of_c = &mut self.tiles[tile];
        self.gpu.wait(&of_a.loaded)?;
        self.gpu.wait(&of_b.loaded)?;
        if step.first && of_c.is_used {
            self.gpu.wait(&of_c.drained)?;
        }
        let output = tile_layout(self.c.order, rows.len(), columns.len());
        let beta = match step.first {
            true => T::Output::ZERO,
            false => T::Output::ONE,
        };
        let operand = |order, rows: &Range<usize>, columns: &Range<usize>| -> Layout {
            tile_layout(order, rows.len(), columns.len())
        };
        self.gpu.gemm(
            T::Output::ONE,
            of_a.array.matrix(operand(a.order, rows, depth))?,
            of_b.array.matrix(operand(b.order, depth, columns))?,
            beta,
            of_c.array.matrix_mut(output)?,
        )?;
        for (used, is_used) in [
            (&of_a.used, &mut of_a.is_used),
            (&of_b.used, &mut of_b.is_used),
        ] {
            self.gpu.record(used)?;
            *is_used = true;
        }
        if step.last {
            self.gpu.record(&of_c.finished)?;
            self.down.wait(&of_c.finished)?;
            of_c.is_used = true;
            moved.c_elements += (rows.len() * columns.len()) as u64;
            match self.c.pinned_lines::<T::Output>(rows, columns) {
                Some((to, lines)) => {
                    // SAFETY: C is borrowed until `wait` has run, and no other copy writes these
                    // elements; the next product in this tile waits for `drained`.
                    unsafe {
                        self.down
                            .download_lines_on_stream(to, lines, &of_c.array, 0)?;
                    }
                    self.down.record(&of_c.drained)?;
                }
                None => of_c.place = Some([rows.clone(), columns.clone()]),
            }
        }
        Ok(())
    }

    /// Copies a tile to C, where the device did not write it there itself. The copies of all parts
    /// but the last ones run while the host stores those before.
    fn store(&mut self, tile: usize) -> Result<(), ScaleError> {
        let tile = &mut self.tiles[tile];
        let Some([rows, columns]) = tile.place.take() else {
            return Ok(());
        };
        let order = self.c.order;
        let mut in_flight = VecDeque::new();
        let mut start = 0;
        for [rows, columns] in parts(order, &rows, &columns, self.stages_down.elements) {
            if in_flight.len() == STAGES
                && let Some(part) = in_flight.pop_front()
            {
                Self::unpack(&mut self.c, &self.stages_down, part)?;
            }
            let index = self.stages_down.next;
            let stage = self.stages_down.take(&self.gpu)?;
            let elements = rows.len() * columns.len();
            // SAFETY: the buffer is read after `copied` alone (`unpack`), which `wait` reaches
            // before anything is freed; the next product in this tile waits for `drained`.
            unsafe {
                let from = start..start + elements;
                self.down
                    .download_on_stream(&mut stage.memory, 0, &tile.array, from)?;
            }
            self.down.record(&stage.copied)?;
            in_flight.push_back((index, [rows, columns]));
            start += elements;
        }
        self.down.record(&tile.drained)?;
        while let Some(part) = in_flight.pop_front() {
            Self::unpack(&mut self.c, &self.stages_down, part)?;
        }
        Ok(())
    }

    /// Waits for the copy of a part to a buffer, and stores it to C.
    fn unpack(
        c: &mut HostMatrixMut<'_, O>,
        stages: &Stages<T::Output>,
        (index, [rows, columns]): (usize, [Range<usize>; 2]),
    ) -> Result<(), ScaleError> {
        let stage = &stages.buffers[index];
        stage.copied.synchronize()?;
        let elements = rows.len() * columns.len();
        c.unpack(&rows, &columns, &stage.memory[..elements]);
        Ok(())
    }

    /// Waits for all streams, whatever fails.
    fn wait(&self) -> Result<(), ScaleError> {
        let waited = [&self.up, &self.gpu, &self.down].map(Gpu::synchronize);
        Ok(waited.into_iter().collect::<Result<(), _>>()?)
    }
}

/// What copies pieces to the device.
struct Loader<'p, T> {
    up: &'p Gpu,
    stages: &'p mut Stages<T>,
}

impl<T: Element> Loader<'_, T> {
    /// Starts the copy of a piece: from where it is in page-locked memory, or through buffers.
    fn load(
        &mut self,
        from: &HostMatrix<'_, T>,
        [rows, columns]: [&Range<usize>; 2],
        to: &mut Panel<T>,
    ) -> Result<(), ScaleError> {
        if to.is_used {
            self.up.wait(&to.used)?;
        }
        match from.pinned_lines(rows, columns) {
            // SAFETY: the matrix is borrowed until `wait` has run; products that use the array wait
            // for `loaded`, and this copy has waited for those before.
            Some((from, lines)) => unsafe {
                self.up
                    .upload_lines_on_stream(&mut to.array, 0, from, lines)?;
            },
            None => self.load_through_buffers(from, [rows, columns], to)?,
        }
        Ok(self.up.record(&to.loaded)?)
    }

    fn load_through_buffers(
        &mut self,
        from: &HostMatrix<'_, T>,
        [rows, columns]: [&Range<usize>; 2],
        to: &mut Panel<T>,
    ) -> Result<(), ScaleError> {
        let mut start = 0;
        for [rows, columns] in parts(from.order, rows, columns, self.stages.elements) {
            let stage = self.stages.take(self.up)?;
            if stage.in_flight {
                stage.copied.synchronize()?;
            }
            let elements = rows.len() * columns.len();
            from.pack(&rows, &columns, &mut stage.memory[..elements]);
            // SAFETY: the buffer is filled again after `copied` alone, and freed after `wait`;
            // products that use the array wait for `loaded`, and this copy has waited for those
            // before.
            unsafe {
                self.up
                    .upload_on_stream(&mut to.array, start, &stage.memory, 0..elements)?;
            }
            self.up.record(&stage.copied)?;
            stage.in_flight = true;
            start += elements;
        }
        Ok(())
    }
}
