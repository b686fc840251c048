//! Launches of the calibration's kernels, and the figures that come out.

use super::Extent;
use warpladder::device::ComputeCapability;
use warpladder::engine::{Buffer, Engine};
use warpladder::error::EngineError;
use warpladder::launch::{Arg, Dim3, Launch};
use warpladder::ptx;
use warpladder::timing::Quartiles;
use warpladder_models::devices::{Measured, Spread};

/// The generation whose module has the kernels.
pub(super) const COMPUTE_CAPABILITY: ComputeCapability = ComputeCapability::V7_0;

/// A device on which figures are measured.
pub(super) struct Bench<'e> {
    pub engine: &'e dyn Engine,
    pub extent: Extent,
    measured: Measured,
}

/// Blocks and threads of a launch.
#[derive(Clone, Copy)]
pub(super) struct Grid {
    pub blocks: u32,
    pub threads: u32,
    pub shared_bytes: u32,
}

/// A warp's two readings of its multiprocessor's clock.
pub(super) type Clocks = (u64, u64);

impl<'e> Bench<'e> {
    pub fn new(engine: &'e dyn Engine, extent: Extent) -> Self {
        Bench {
            engine,
            extent,
            measured: Measured {
                device: engine.device_name().to_owned(),
                figures: Vec::new(),
            },
        }
    }

    /// The median of a figure that was measured before.
    pub fn median_of(&self, name: &str) -> Option<f64> {
        self.measured.median(name)
    }

    pub fn into_measured(self) -> Measured {
        self.measured
    }

    /// A block that fills a multiprocessor, on each of them.
    pub fn full(&self) -> Grid {
        self.everywhere(1)
    }

    /// `blocks` such blocks for each multiprocessor.
    pub fn everywhere(&self, blocks: u32) -> Grid {
        Grid {
            blocks: self.engine.multiprocessors() * blocks,
            threads: self.extent.block,
            shared_bytes: 0,
        }
    }

    /// Adds a figure: `sample` is called as often as the extent says, after once for nothing.
    pub fn measure(
        &mut self,
        name: &str,
        unit: &str,
        mut sample: impl FnMut(&Self, usize) -> Result<f64, EngineError>,
    ) -> Result<f64, EngineError> {
        sample(self, 0)?;
        let samples = (1..=self.extent.samples).map(|number| sample(self, number));
        let samples = samples.collect::<Result<Vec<_>, _>>()?;
        // There is one sample at least.
        let Some(Quartiles { low, median, high }) = Quartiles::of(&samples) else {
            return Ok(0.0);
        };
        self.measured.figures.push(Spread {
            name: name.to_owned(),
            unit: unit.to_owned(),
            median,
            low,
            high,
            samples: samples.len(),
        });
        Ok(median)
    }

    /// Runs a kernel and returns the readings of each warp, block by block. `args` makes its
    /// arguments of the array for them.
    pub fn clocks(
        &self,
        entry: &str,
        grid: Grid,
        args: impl for<'a> Fn(Arg<'a>) -> Vec<Arg<'a>>,
    ) -> Result<Vec<Vec<Clocks>>, EngineError> {
        let warps = grid.threads.div_ceil(32) as usize;
        let mut readings = vec![0u64; grid.blocks as usize * warps * 2];
        let buffer = Buffer::new(self.engine, size_of_val(&readings[..]))?;
        buffer.upload(&readings)?;
        let args = args(Arg::Ptr(buffer.ptr()));
        let launch = self.launch(entry, grid, &args)?;
        // SAFETY: the kernels of `calibrate` read and write the buffers of this bench, as far as
        // their arguments say.
        unsafe { self.engine.run(&launch) }?;
        buffer.download(&mut readings)?;
        let of_blocks = readings.chunks(2 * warps);
        Ok(of_blocks
            .map(|block| block.chunks(2).map(|pair| (pair[0], pair[1])).collect())
            .collect())
    }

    /// Cycles from the first warp's start to the last one's stop: the median of the blocks.
    pub fn block_cycles(blocks: &[Vec<Clocks>]) -> f64 {
        let cycles = blocks.iter().map(|warps| {
            let start = warps.iter().map(|&(start, _)| start).min().unwrap_or(0);
            let stop = warps.iter().map(|&(_, stop)| stop).max().unwrap_or(0);
            stop.saturating_sub(start).max(1) as f64
        });
        let cycles: Vec<f64> = cycles.collect();
        Quartiles::of(&cycles).map_or(1.0, |quartiles| quartiles.median)
    }

    /// Seconds of `launches` launches in a row, together.
    pub fn seconds(
        &self,
        entry: &str,
        grid: Grid,
        args: &[Arg<'_>],
        launches: u32,
    ) -> Result<f64, EngineError> {
        let launch = self.launch(entry, grid, args)?;
        // SAFETY: the kernels of `calibrate` read and write the buffers of this bench, as far as
        // their arguments say.
        Ok(unsafe { self.engine.time(&[launch], launches) }? / 1e3)
    }

    fn launch<'a>(
        &self,
        entry: &str,
        grid: Grid,
        args: &'a [Arg<'a>],
    ) -> Result<Launch<'a>, EngineError> {
        let text = ptx::module(COMPUTE_CAPABILITY).only(entry);
        Ok(Launch {
            kernel: self.engine.load(&text, entry)?,
            grid: Dim3::new(grid.blocks, 1, 1),
            block: Dim3::new(grid.threads, 1, 1),
            cluster: Dim3::ONE,
            shared_bytes: grid.shared_bytes,
            args,
        })
    }
}
