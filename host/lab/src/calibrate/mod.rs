//! What a GPU does that neither its driver nor its datasheet tells, measured by the kernels of
//! [`kernels_gpu::calibrate`]: latencies, rates, bandwidths, and what launches and blocks cost.
//!
//! Every figure is measured several times and kept with its spread; [`Measured`] is what the device
//! table reads.

mod bench;
mod launches;
mod memory;
mod on_chip;
mod store;

pub use store::{StoreError, load, path, save};

use bench::Bench;
use warpladder::engine::Engine;
use warpladder::error::EngineError;
use warpladder_models::devices::Measured;

/// How much work goes into a calibration.
#[derive(Clone, Copy, Debug)]
pub struct Extent {
    /// Samples of each figure.
    pub samples: usize,
    /// Rounds of the loops that are timed.
    pub rounds: u32,
    /// Steps of a chain of loads.
    pub steps: u32,
    /// Bytes of an array that the L2 cache holds and the L1 caches do not.
    pub l2_bytes: u64,
    /// Bytes of an array that is much larger than the L2 cache.
    pub memory_bytes: u64,
    /// Sets of resident blocks, one after the other.
    pub sets: u32,
    /// Threads of the blocks that fill a multiprocessor.
    pub block: u32,
}

impl Extent {
    /// For a GPU with so much L2 cache, in bytes.
    pub fn of_gpu(l2_bytes: u32) -> Self {
        let l2_bytes = u64::from(l2_bytes.max(1 << 20));
        Extent {
            samples: 15,
            rounds: 64,
            steps: 1 << 16,
            // A part of it only: some chips keep what another half of the chip asked for twice.
            l2_bytes: l2_bytes / 4,
            memory_bytes: (l2_bytes * 16).min(1 << 29),
            sets: 64,
            block: kernels_gpu::calibrate::BLOCK as u32,
        }
    }

    /// For the emulator, which has no caches: enough to run every kernel.
    pub const fn of_emulator() -> Self {
        Extent {
            samples: 2,
            rounds: 1,
            steps: 256,
            l2_bytes: 1 << 16,
            memory_bytes: 1 << 17,
            sets: 1,
            block: 64,
        }
    }
}

/// Measures everything on a device.
///
/// # Errors
/// Those of the engine: a device with too little memory, or one that the kernels are not for.
pub fn calibrate(engine: &dyn Engine, extent: &Extent) -> Result<Measured, EngineError> {
    let mut bench = Bench::new(engine, *extent);
    on_chip::measure(&mut bench)?;
    memory::measure(&mut bench)?;
    launches::measure(&mut bench)?;
    Ok(bench.into_measured())
}
