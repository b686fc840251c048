//! Kernels of other programs, from PTX text.

use super::args::{ArgList, KernelArgs};
use super::{Error, Gpu};
use crate::launch::{Dim3, KernelId, Launch};
use crate::timing::{Quartiles, Sampling, Stop, Summary, median_interval};
use ptx_syntax::signature::{self, Parameter};
use std::sync::Arc;

/// PTX text, of which kernels can be loaded.
#[derive(Clone, Debug)]
pub struct Module {
    gpu: Gpu,
    ptx: Arc<str>,
}

/// A kernel that is loaded, to be started by [`Gpu::launch`].
#[derive(Clone)]
pub struct Kernel {
    gpu: Gpu,
    id: KernelId,
    name: Arc<str>,
    parameters: Arc<[Parameter]>,
}

/// Blocks and threads of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid {
    /// Blocks of the grid.
    pub blocks: Dim3,
    /// Threads of a block.
    pub threads: Dim3,
    /// Blocks of a thread block cluster, [`Dim3::ONE`] for none.
    pub cluster: Dim3,
    /// Dynamic shared memory of a block, in bytes.
    pub shared_bytes: u32,
}

/// How long launches took, each between two events on a GPU, by the wall clock on the emulator.
#[derive(Clone, Debug, PartialEq)]
pub struct Timing {
    /// Each of them in milliseconds, in their order.
    pub times_ms: Vec<f64>,
    /// Median, extremes and noise.
    pub summary: Summary,
    /// The middle half.
    pub quartiles: Quartiles,
    /// Where the median of all launches lies with 95 % confidence; `None` for fewer than six.
    pub median_interval_ms: Option<(f64, f64)>,
    /// Why there are no more.
    pub stop: Stop,
}

impl Module {
    pub(super) fn new(gpu: &Gpu, ptx: &str) -> Result<Self, Error> {
        if signature::entries(ptx).next().is_none() {
            return Err(Error::NoEntry);
        }
        Ok(Module {
            gpu: gpu.clone(),
            ptx: ptx.into(),
        })
    }

    /// The names of its kernels.
    pub fn kernels(&self) -> impl Iterator<Item = &str> {
        signature::entries(&self.ptx)
    }

    /// Loads a kernel. The first one compiles the module.
    ///
    /// # Errors
    /// [`Error::NoKernel`] where it has none of this name, [`Error::Engine`] where the text is not
    /// valid or the device does not know an instruction.
    pub fn kernel(&self, name: &str) -> Result<Kernel, Error> {
        let Some(parameters) = signature::parameters(&self.ptx, name) else {
            let known: Vec<&str> = self.kernels().collect();
            return Err(Error::NoKernel {
                name: name.to_owned(),
                known: known.join(", "),
            });
        };
        Ok(Kernel {
            id: self.gpu.queue.engine.load(&self.ptx, name)?,
            gpu: self.gpu.clone(),
            name: name.into(),
            parameters: parameters.into(),
        })
    }
}

impl Kernel {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Calls `action` with a launch whose arguments fit.
    fn with_launch<R>(
        &self,
        gpu: &Gpu,
        grid: Grid,
        list: &ArgList<'_>,
        action: impl FnOnce(&Launch<'_>) -> Result<R, Error>,
    ) -> Result<R, Error> {
        if !Arc::ptr_eq(&gpu.queue.engine, &self.gpu.queue.engine) {
            return Err(Error::WrongDevice { what: "the kernel" });
        }
        list.check(&self.name, &self.parameters)?;
        action(&Launch {
            kernel: self.id,
            grid: grid.blocks,
            block: grid.threads,
            cluster: grid.cluster,
            shared_bytes: grid.shared_bytes,
            args: list.args(),
        })
    }

    /// Starts the kernel.
    ///
    /// # Safety
    /// As [`Gpu::launch`].
    pub(super) unsafe fn start(
        &self,
        gpu: &Gpu,
        grid: Grid,
        args: &impl KernelArgs,
    ) -> Result<(), Error> {
        let mut list = ArgList::new(&gpu.queue.engine);
        args.push(&mut list)?;
        // SAFETY: the same contract.
        unsafe { self.start_list(gpu, grid, &list) }
    }

    /// Starts the kernel with these arguments.
    ///
    /// # Safety
    /// As [`Gpu::launch`].
    pub(super) unsafe fn start_list(
        &self,
        gpu: &Gpu,
        grid: Grid,
        list: &ArgList<'_>,
    ) -> Result<(), Error> {
        // SAFETY: the same contract; arrays are freed by functions that wait for the device.
        let start = |launch: &Launch<'_>| Ok(unsafe { gpu.queue.enqueue(launch) }?);
        self.with_launch(gpu, grid, list, start)
    }

    /// Times the kernel.
    ///
    /// # Safety
    /// As [`Gpu::time`].
    pub(super) unsafe fn time(
        &self,
        gpu: &Gpu,
        grid: Grid,
        args: &impl KernelArgs,
        sampling: &Sampling,
    ) -> Result<Timing, Error> {
        let mut list = ArgList::new(&gpu.queue.engine);
        args.push(&mut list)?;
        // SAFETY: the same contract.
        unsafe { self.time_list(gpu, grid, &list, sampling) }
    }

    /// Times the kernel with these arguments.
    ///
    /// # Safety
    /// As [`Gpu::time`].
    pub(super) unsafe fn time_list(
        &self,
        gpu: &Gpu,
        grid: Grid,
        list: &ArgList<'_>,
        sampling: &Sampling,
    ) -> Result<Timing, Error> {
        gpu.queue.synchronize()?;
        self.with_launch(gpu, grid, list, |launch| {
            // SAFETY: the same contract.
            let timed = unsafe { sampling.time(&*gpu.queue.engine, &[*launch]) };
            let (times_ms, stop) = timed?;
            let (Some(summary), Some(quartiles)) =
                (Summary::of(&times_ms), Quartiles::of(&times_ms))
            else {
                unreachable!("at least one sample is taken");
            };
            Ok(Timing {
                median_interval_ms: median_interval(&times_ms),
                summary,
                quartiles,
                times_ms,
                stop,
            })
        })
    }
}

impl std::fmt::Debug for Kernel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Kernel").field(&self.name()).finish()
    }
}

impl Grid {
    /// Blocks of a grid and threads of a block, in one to three dimensions:
    /// `Grid::new([16, 16], [32, 8])`.
    pub fn new(blocks: impl Into<Dim3>, threads: impl Into<Dim3>) -> Self {
        Grid {
            blocks: blocks.into(),
            threads: threads.into(),
            cluster: Dim3::ONE,
            shared_bytes: 0,
        }
    }

    /// As many blocks as give each of `elements` a thread, in one dimension.
    pub fn covering(elements: usize, threads: u32) -> Self {
        let blocks = elements.div_ceil(threads.max(1) as usize);
        // What is too large for this is too large for any device, which refuses it.
        Grid::new(u32::try_from(blocks).unwrap_or(u32::MAX), threads)
    }

    /// With clusters of `blocks` blocks, at most 8, whose extents divide those of the grid. Needs
    /// compute capability 9.0.
    pub fn clusters(self, blocks: impl Into<Dim3>) -> Self {
        Grid {
            cluster: blocks.into(),
            ..self
        }
    }

    /// With `shared_bytes` bytes of dynamic shared memory for each block.
    pub fn shared(self, shared_bytes: u32) -> Self {
        Grid {
            shared_bytes,
            ..self
        }
    }
}
