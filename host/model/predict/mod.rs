//! Predicted time: every bound at once, from a kernel's counts, its launch and a device.
//!
//! Each resource r needs t_r = work / bandwidth, and the time is at least the longest of them (roofline, extended to
//! every unit). The grid is spread over S multiprocessors, so with G blocks the busiest has ⌈G / S⌉ of them and its
//! own units serve that share f = ⌈G / S⌉ / G of the work; L2 and DRAM serve all of it:
//!
//! ```text
//! t_r       = f W_r / (rate_r φ)                       units of a multiprocessor
//! t_L2      = 32 B × sectors / Θ_2,  t_DRAM = bytes / Θ_M
//! t_latency = ⌈⌈G / S⌉ / R⌉ L / φ                      R resident blocks, L cycles for one warp from start to end
//! t_barrier = (max t_memory + max t_other) / R′        where blocks have barriers; R′ = min(R, ⌈G / S⌉)
//! t         = max of all
//! ```
//!
//! The last line but one is [`interval::barriers`](super::interval::barriers) with two intervals: barriers keep a
//! block's loads and its arithmetic apart, so they overlap only as far as several blocks are resident.
//!
//! A bound whose rate the device table does not know is left out and named in [`Prediction::unknown`]. What the
//! model does not see: instructions that the assembler adds or removes, dependent instructions unless a latency is
//! given, throttled clocks, the cost of a launch.

mod rates;
mod work;

pub use work::{WarpInstructions, Work};

use super::Bound;
use super::devices::Device;
use super::occupancy::{Launch, Occupancy, OccupancyError, occupancy};
use thiserror::Error;

/// What a kernel should take.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Prediction {
    /// Least time, in seconds.
    pub seconds: f64,
    /// What needs it.
    pub bound: Bound,
    /// What each bound alone would need, the longest first; bounds without work are left out.
    pub times: Vec<BoundTime>,
    /// Bounds with work whose rate is not known for this device.
    pub unknown: Vec<Bound>,
    /// Resident blocks of a multiprocessor.
    pub occupancy: Occupancy,
    /// Rounds of resident blocks on the busiest multiprocessor.
    pub rounds: u64,
}

/// The time that one bound needs.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct BoundTime {
    /// The bound.
    pub bound: Bound,
    /// Its time, in seconds.
    pub seconds: f64,
}

/// Why there is no prediction.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PredictError {
    /// The device cannot run the launch.
    #[error(transparent)]
    Occupancy(#[from] OccupancyError),
    /// Not one block fits on a multiprocessor.
    #[error(
        "no block fits on a multiprocessor of {device}: use fewer registers or less shared memory"
    )]
    NothingFits {
        /// The device.
        device: String,
    },
    /// A grid without blocks has no time.
    #[error("a grid of 0 blocks: give at least 1")]
    NoBlocks,
}

impl Prediction {
    /// FLOP per second of work of so many FLOP, in GFLOP/s.
    pub fn gflops(&self, flops: u64) -> f64 {
        flops as f64 / self.seconds / 1e9
    }

    /// The time of one bound, in seconds; 0 where it has no work or no known rate.
    pub fn seconds_of(&self, bound: Bound) -> f64 {
        let found = self.times.iter().find(|time| time.bound == bound);
        found.map_or(0.0, |time| time.seconds)
    }
}

/// Predicts the time of one launch.
///
/// # Errors
/// A launch that the device cannot run, or without blocks.
pub fn predict(device: &Device, launch: &Launch, work: &Work) -> Result<Prediction, PredictError> {
    if launch.blocks == 0 {
        return Err(PredictError::NoBlocks);
    }
    let architecture = &device.architecture;
    let occupancy = occupancy(
        &architecture.limits.value,
        &architecture.allocation.value,
        launch,
    )?;
    if occupancy.blocks == 0 {
        return Err(PredictError::NothingFits {
            device: device.name.to_string(),
        });
    }
    let busiest = launch
        .blocks
        .div_ceil(u64::from(device.multiprocessors.value.max(1)));
    let rounds = busiest.div_ceil(u64::from(occupancy.blocks));
    let share = busiest as f64 / launch.blocks as f64;

    let mut times = Vec::new();
    let mut unknown = Vec::new();
    for load in rates::loads(device, work) {
        match load.seconds(share) {
            _ if load.work == 0.0 => {}
            Some(seconds) => times.push(BoundTime {
                bound: load.bound,
                seconds,
            }),
            None => unknown.push(load.bound),
        }
    }
    if work.barriers_per_block > 0 {
        let resident = busiest.min(u64::from(occupancy.blocks)) as f64;
        times.push(BoundTime {
            bound: Bound::Barriers,
            seconds: (longest(&times, Bound::is_memory) + longest(&times, |b| !b.is_memory()))
                / resident,
        });
    }
    if let Some(cycles) = work.warp_latency_cycles {
        times.push(BoundTime {
            bound: Bound::Latency,
            seconds: rounds as f64 * cycles / (device.clock_ghz() * 1e9),
        });
    }
    times.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
    let slowest = times.first().copied().unwrap_or(BoundTime {
        bound: Bound::Latency,
        seconds: 0.0,
    });
    Ok(Prediction {
        seconds: slowest.seconds,
        bound: slowest.bound,
        times,
        unknown,
        occupancy,
        rounds,
    })
}

fn longest(times: &[BoundTime], of: impl Fn(Bound) -> bool) -> f64 {
    let of_kind = times.iter().filter(|time| of(time.bound));
    of_kind.map(|time| time.seconds).fold(0.0, f64::max)
}
