//! Predicted time: every bound at once, from a kernel's counts, its launch and a device.
//!
//! Each resource r needs t_r = work / bandwidth, and the time is at least the longest of them
//! (roofline, extended to every unit). The grid is spread over S multiprocessors, so with G blocks
//! the busiest has n = ⌈G / S⌉ of them, R at a time, and its own units serve the share f = n / G of
//! the work; L2 and DRAM serve all of it:
//!
//! ```text
//! t_r       = f W_r / (rate_r φ)                       units of a multiprocessor
//! t_L2      = read sectors / Θ_2 + whole ones written / Θ_2w + parts written / Θ_2p
//! t_DRAM    = bytes / Θ_M
//! t_latency = ⌈n / R⌉ (L_block + L) / φ
//! t_barrier = ⌈n / R⌉ ((L_block + b/2 · L_M) / φ + max t_r / n)
//! ```
//!
//! R blocks are resident, and one warp takes L cycles from start to end. t_barrier takes the place
//! of t_latency where blocks have b barriers. L_block is what it takes to start a block and to free
//! its slot, and L is at least L_M, the latency of memory. Barriers keep a block's loads and its
//! arithmetic apart. A round of both has two barriers, and in it the block waits for its loads and
//! has the units for itself; what overlaps is the rounds of R resident blocks.
//!
//! The bounds do not overlap perfectly: a warp that waits for one unit does not use another.
//! Between full overlap, which is the maximum, and none, which is the sum, lies the norm
//!
//! ```text
//! t_busy = ( Σ t_i^p )^(1/p),   p = 3
//! t      = t_launch + t_ahead + ( t_busy^q + t_latency^q )^(1/q),   q = 2
//! ```
//!
//! t_ahead is the time of constants that all warps load before they do anything else. The inner
//! norm is over the resources that are separate: issue and the slowest unit of arithmetic,
//! whichever is longer; the data path of L1 and shared memory; the constant cache; L2; DRAM; and
//! over barriers. p is fitted to the cycles that Nsight Compute counted for 33 kernels on an H200.
//!
//! Latency overlaps less with these than they do with each other. It is measured at rest, but
//! requests to a busy resource queue, so that latency is longer the nearer both times are: as the
//! square root of 1 + (t_busy / t_latency)². q is fitted to the times of all rungs at three sizes.
//!
//! A bound whose rate the device table does not know is left out and named in
//! [`Prediction::unknown`], unless it is of the units that do the arithmetic: without their rate
//! what is left is no prediction ([`PredictError::UnknownRate`]). So are atomics, on every device.
//! What the model does not see:
//! instructions that the assembler adds or removes, dependent instructions unless a latency is
//! given, throttled clocks.

mod rates;
mod work;

pub use work::{TensorFlops, WarpInstructions, Work};

use super::Bound;
use super::devices::DeviceModel;
use super::figure::Figure;
use super::occupancy::{Launch, Occupancy, OccupancyError, occupancy};
use thiserror::Error;

/// What a kernel should take.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Prediction {
    /// The time, in seconds.
    pub seconds: f64,
    /// What needs most of it.
    pub bound: Bound,
    /// What each bound alone would need, the longest first; bounds without work are left out.
    pub times: Vec<BoundTime>,
    /// Bounds with work whose rate is not known for this device.
    pub unknown: Vec<Bound>,
    /// Resident blocks of a multiprocessor.
    pub occupancy: Occupancy,
    /// Waves of resident blocks on the busiest multiprocessor.
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
    /// The rate of the units that do the arithmetic is not known.
    #[error(
        "the rate of the {unit} of {device} is not known, so its time is not: predict another \
         device, or measure it with `warpladder run`"
    )]
    UnknownRate {
        /// The device.
        device: String,
        /// The units.
        unit: &'static str,
    },
    /// A grid without blocks has no time.
    #[error("a grid of 0 blocks: give at least 1")]
    NoBlocks,
}

impl Prediction {
    /// The rate of work of `flops` FLOP, in GFLOP/s.
    pub fn gflops(&self, flops: u64) -> f64 {
        flops as f64 / self.seconds / 1e9
    }

    /// The prediction for a launch right behind another one, instead of one that is timed alone.
    #[must_use]
    pub fn behind_another(mut self, device: &DeviceModel) -> Self {
        let calibration = &device.calibration;
        if let (Some(alone), Some(next)) = (calibration.launch_us, calibration.next_launch_us) {
            self.seconds -= (alone.value - next.value) * 1e-6;
        }
        self
    }

    /// What the time would be without the work of the resource that this bound is of, in seconds.
    pub fn seconds_without(&self, bound: Bound) -> f64 {
        let of_others = |time: &&BoundTime| resource(time.bound) != resource(bound);
        let others: Vec<BoundTime> = self.times.iter().filter(of_others).copied().collect();
        self.seconds - combined(&self.times) + combined(&others)
    }

    /// The time of the resource that this bound is of, in seconds: that of the longest of its
    /// bounds.
    pub fn seconds_of_resource(&self, bound: Bound) -> f64 {
        longest(&self.times, |other| resource(other) == resource(bound))
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
pub fn predict(
    device: &DeviceModel,
    launch: &Launch,
    work: &Work,
) -> Result<Prediction, PredictError> {
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
    let busiest = busiest(device, launch);
    let rounds = busiest.div_ceil(u64::from(occupancy.blocks));
    let share = busiest as f64 / launch.blocks as f64;

    let mut times = Vec::new();
    let mut unknown = Vec::new();
    for load in rates::loads(device, launch, work) {
        match load.seconds(share) {
            _ if load.work == 0.0 => {}
            Some(seconds) => times.push(BoundTime {
                bound: load.bound,
                seconds,
            }),
            None => match arithmetic(load.bound, work) {
                Some(unit) => {
                    return Err(PredictError::UnknownRate {
                        device: device.name.to_string(),
                        unit,
                    });
                }
                None => unknown.push(load.bound),
            },
        }
    }
    if work.atomics > 0 {
        unknown.push(Bound::Atomics);
    }
    let cycles = |cycles: f64| cycles / (device.clock_ghz() * 1e9);
    let calibration = &device.calibration;
    let start = value(calibration.block_cycles)
        + value(calibration.warp_cycles) * f64::from(launch.warps_per_block());
    let wait = memory_latency(device, work).unwrap_or(0.0);
    let serial = if work.barriers_per_block > 0 {
        let waits = (work.barriers_per_block as f64 / BARRIERS_PER_ROUND).max(1.0);
        let alone = longest(&times, |bound| !bound.is_memory() && bound != Bound::Blocks);
        BoundTime {
            bound: Bound::Barriers,
            seconds: rounds as f64 * (cycles(start + waits * wait) + alone / busiest as f64),
        }
    } else {
        let chain = work.warp_latency_cycles.unwrap_or(wait);
        BoundTime {
            bound: Bound::Latency,
            seconds: rounds as f64 * cycles(start + chain),
        }
    };
    if *work != Work::default() {
        times.push(serial);
    }
    times.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
    let slowest = times.first().copied().unwrap_or(BoundTime {
        bound: Bound::Latency,
        seconds: 0.0,
    });
    let launch_us = value(calibration.launch_us);
    let ahead = work.constant_addresses_ahead as f64 * value(calibration.constant_cycles);
    Ok(Prediction {
        seconds: launch_us * 1e-6 + cycles(share * ahead) + combined(&times),
        bound: slowest.bound,
        times,
        unknown,
        occupancy,
        rounds,
    })
}

/// The units that a bound stands for, where they do a kernel's arithmetic.
fn arithmetic(bound: Bound, work: &Work) -> Option<&'static str> {
    match bound {
        Bound::Fp32 => Some("f32 units"),
        Bound::Fp64 => Some("f64 units"),
        Bound::Half => Some("f16 units"),
        Bound::Tensor if work.tensor.f64 > 0 => Some("tensor cores in f64"),
        Bound::Tensor => Some("tensor cores in f16"),
        _ => None,
    }
}

/// Blocks of the multiprocessor that has most of them.
fn busiest(device: &DeviceModel, launch: &Launch) -> u64 {
    let multiprocessors = u64::from(device.multiprocessors.value.max(1));
    launch.blocks.div_ceil(multiprocessors)
}

/// Waves of resident blocks on the busiest multiprocessor; at least one.
///
/// # Errors
/// A launch that the device cannot run.
pub fn rounds(device: &DeviceModel, launch: &Launch) -> Result<u64, PredictError> {
    let architecture = &device.architecture;
    let limits = &architecture.limits.value;
    let occupancy = occupancy(limits, &architecture.allocation.value, launch)?;
    let resident = u64::from(occupancy.blocks.max(1));
    Ok(busiest(device, launch).div_ceil(resident).max(1))
}

/// Warps of the busiest multiprocessor that are resident at a time.
///
/// # Errors
/// A launch that the device cannot run.
pub fn resident_warps(device: &DeviceModel, launch: &Launch) -> Result<u32, PredictError> {
    let architecture = &device.architecture;
    let limits = &architecture.limits.value;
    let occupancy = occupancy(limits, &architecture.allocation.value, launch)?;
    let blocks = busiest(device, launch).min(u64::from(occupancy.blocks.max(1)));
    Ok(blocks as u32 * launch.warps_per_block())
}

fn value(figure: Option<Figure<f64>>) -> f64 {
    figure.map_or(0.0, |figure| figure.value)
}

/// A round of loads and of arithmetic has two barriers: one after each.
const BARRIERS_PER_ROUND: f64 = 2.0;

/// p: how far the bounds of what is busy overlap.
const OVERLAP: f64 = 3.0;

/// q: how far latency overlaps with them.
const LATENCY_OVERLAP: f64 = 2.0;

/// L_M: the latency of loads that a block waits for, in cycles.
pub fn memory_latency(device: &DeviceModel, work: &Work) -> Option<f64> {
    let latencies = &device.latencies;
    let figure = if work.dram_bytes > 0 {
        latencies.dram
    } else {
        latencies.l2
    };
    figure.map(|figure| figure.value)
}

/// Resources that are one and the same path count once, with the one that takes longest.
fn combined(times: &[BoundTime]) -> f64 {
    let mut longest: Vec<BoundTime> = Vec::new();
    for time in times {
        let same = |other: &&mut BoundTime| resource(other.bound) == resource(time.bound);
        match longest.iter_mut().find(same) {
            Some(other) => other.seconds = other.seconds.max(time.seconds),
            None => longest.push(*time),
        }
    }
    let (waits, busy): (Vec<_>, Vec<_>) = longest
        .into_iter()
        .partition(|time| time.bound == Bound::Latency);
    let busy = norm(OVERLAP, busy.iter().map(|time| time.seconds));
    let waits = waits.iter().map(|time| time.seconds);
    norm(LATENCY_OVERLAP, waits.chain([busy]))
}

fn norm(power: f64, times: impl Iterator<Item = f64>) -> f64 {
    let powers = times.map(|time| time.powf(power));
    powers.sum::<f64>().powf(1.0 / power)
}

/// The bound that stands for all of one path: issue for the units that it feeds, L1 for the data
/// path.
fn resource(bound: Bound) -> Bound {
    use Bound::{Conversion, Fp32, Fp64, Half, Integer, Issue, L1, LoadStore, Shared, Special};
    match bound {
        Fp32 | Fp64 | Half | Integer | Special | Conversion => Issue,
        Shared | LoadStore => L1,
        other => other,
    }
}

fn longest(times: &[BoundTime], of: impl Fn(Bound) -> bool) -> f64 {
    let of_kind = times.iter().filter(|time| of(time.bound));
    of_kind.map(|time| time.seconds).fold(0.0, f64::max)
}
