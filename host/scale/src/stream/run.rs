//! The product itself: three streams, for what goes up, the products, and what comes down.

use super::matrix::{HostMatrix, HostMatrixMut, tile_layout};
use super::tiling::{Sizes, Slot, Slots, Step, Tiling, least_elements};
use crate::dist::Shape;
use crate::error::ScaleError;
use cuda_std::float::GpuFloat;
use std::ops::{ControlFlow, Range};
use std::time::Instant;
use warpladder::element::Element;
use warpladder::gemm::{GemmInput, GemmInto};
use warpladder::gpu::{DeviceArray, Event, Gpu, Layout, PinnedArray};

/// Page-locked buffers for pieces on their way up: one is filled while another is copied.
const STAGES: usize = 3;

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
    c: HostMatrixMut<'_, O>,
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
    let tiling = Tiling::choose(shape, sizes, limit)?;
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
        c.values.fill(O::zeroed());
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
struct Pieces<T> {
    slots: Slots,
    arrays: Vec<Piece<T>>,
}

/// A piece's memory, and when it was copied and used.
struct Piece<T> {
    array: DeviceArray<T>,
    loaded: Event,
    used: Event,
    is_used: bool,
}

impl<T: Element> Pieces<T> {
    fn new(gpu: &Gpu, count: usize, elements: usize) -> Result<Self, ScaleError> {
        let piece = |_| {
            Ok::<_, ScaleError>(Piece {
                array: gpu.zeros::<T>(elements, 1)?.into_array(),
                loaded: gpu.event()?,
                used: gpu.event()?,
                is_used: false,
            })
        };
        Ok(Pieces {
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

/// A tile of C: on the device, and on its way down.
struct Tile<F> {
    array: DeviceArray<F>,
    memory: PinnedArray<F>,
    finished: Event,
    drained: Event,
    is_used: bool,
    /// The rows and columns that are on their way.
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
    of_a: Pieces<T>,
    of_b: Pieces<T>,
    stages: Vec<Stage<T>>,
    next_stage: usize,
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
        let stage = |_| {
            Ok::<_, ScaleError>(Stage {
                memory: gpu.pinned(rows.max(columns) * depth)?,
                copied: gpu.event()?,
                in_flight: false,
            })
        };
        let tile = || {
            Ok::<_, ScaleError>(Tile {
                array: gpu.zeros(rows * columns, 1)?.into_array(),
                memory: gpu.pinned(rows * columns)?,
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
            of_a: Pieces::new(gpu, slots_a, rows * depth)?,
            of_b: Pieces::new(gpu, slots_b, columns * depth)?,
            stages: (0..STAGES).map(stage).collect::<Result<_, _>>()?,
            next_stage: 0,
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
            stages: &mut self.stages,
            next: &mut self.next_stage,
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
            let elements = rows.len() * columns.len();
            // SAFETY: the buffer is read after `drained` alone (`store`), which `wait` reaches
            // before anything is freed; the next product in this tile waits for it as well.
            unsafe {
                self.down
                    .download_on_stream(&mut of_c.memory, 0, &of_c.array, 0..elements)?;
            }
            self.down.record(&of_c.drained)?;
            of_c.is_used = true;
            of_c.place = Some([rows.clone(), columns.clone()]);
            moved.c_elements += elements as u64;
        }
        Ok(())
    }

    /// Writes a tile that is on its way down to C.
    fn store(&mut self, tile: usize) -> Result<(), ScaleError> {
        let tile = &mut self.tiles[tile];
        if let Some([rows, columns]) = tile.place.take() {
            tile.drained.synchronize()?;
            let elements = rows.len() * columns.len();
            self.c.unpack(&rows, &columns, &tile.memory[..elements]);
        }
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
    stages: &'p mut [Stage<T>],
    next: &'p mut usize,
}

impl<T: Element> Loader<'_, T> {
    /// Packs a piece into a page-locked buffer, and starts its copy.
    fn load(
        &mut self,
        from: &HostMatrix<'_, T>,
        [rows, columns]: [&Range<usize>; 2],
        to: &mut Piece<T>,
    ) -> Result<(), ScaleError> {
        let stage = &mut self.stages[*self.next];
        *self.next = (*self.next + 1) % STAGES;
        if stage.in_flight {
            stage.copied.synchronize()?;
        }
        let elements = rows.len() * columns.len();
        from.pack(rows, columns, &mut stage.memory[..elements]);
        if to.is_used {
            self.up.wait(&to.used)?;
        }
        // SAFETY: the buffer is filled again after `copied` alone, and freed after `wait`; products
        // that use the array wait for `loaded`, and this copy has waited for those before.
        unsafe {
            self.up
                .upload_on_stream(&mut to.array, 0, &stage.memory, 0..elements)?;
        }
        self.up.record(&stage.copied)?;
        self.up.record(&to.loaded)?;
        stage.in_flight = true;
        Ok(())
    }
}
