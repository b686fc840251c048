//! Throughput over warps per multiprocessor, over the size of a problem, or over the width of
//! blocks: predicted, and measured where there is a GPU. The curve of source 002, with its knee.

use crate::catalogue::{Implementation, Rung};
use crate::dispatch_element;
use crate::predict::{self, Forecast, ForecastError, Strided};
use crate::problem::Shape;
use crate::run::{Admitted, LoadedRung, Problems, RunError, check_shape, preflight};
use kernels_gpu::geometry::Geometry;
use std::ops::ControlFlow;
use warpladder::element::Element;
use warpladder::engine::Engine;
use warpladder::engine::emulator::EmulatorEngine;
use warpladder::error::EngineError;
use warpladder::launch::Dim3;
use warpladder::timing::Quartiles;
use warpladder_models::Bound;
use warpladder_models::devices::DeviceModel;

/// What is varied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Over {
    /// Resident warps of a multiprocessor.
    Warps,
    /// The extent of the problem in every dimension.
    Size,
    /// Threads of a block, with as many blocks as are resident.
    Block,
}

/// One point of a curve.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Point {
    /// Warps of a multiprocessor, extent, or threads of a block.
    pub x: u32,
    /// Predicted time, in milliseconds.
    pub predicted_ms: f64,
    /// Predicted throughput, in the unit of [`Sweep::unit`].
    pub predicted: f64,
    /// What the prediction is bound by.
    pub bound: Bound,
    /// Measured time: a quarter of the samples, half of them and three quarters are below, in
    /// milliseconds.
    pub measured_ms: Option<[f64; 3]>,
    /// Measured throughput, of the median.
    pub measured: Option<f64>,
}

/// A curve.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Sweep {
    /// Name of the rung.
    pub kernel: String,
    /// The GPU that is predicted, and measured where anything is.
    pub device: String,
    /// What is varied.
    pub over: Over,
    /// The problem; of a sweep over sizes, the last one.
    pub shape: Shape,
    /// `GFLOP/s` or `GB/s`.
    pub unit: String,
    /// The points, by x.
    pub points: Vec<Point>,
    /// Where the rise of the predicted curve's first point reaches its best: 002's P, in the unit
    /// of x; of a sweep over warps.
    pub predicted_knee: Option<f64>,
    /// The same of the measured curve.
    pub measured_knee: Option<f64>,
}

/// Why there is no sweep.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SweepError {
    /// Its blocks are its own.
    #[error(
        "{0} works in blocks of its own, and only grid-stride loops take any: sweep over size, or \
         choose add_one or a matvec kernel"
    )]
    FixedBlocks(&'static str),
    /// It takes none of the sizes.
    #[error("{0} takes none of the sizes of a sweep: `warpladder list` says what it takes")]
    NoSize(&'static str),
    /// An output was wrong.
    #[error("{kernel} at {x}: {complaint}")]
    Wrong {
        /// The rung.
        kernel: &'static str,
        /// The point.
        x: u32,
        /// What the check says.
        complaint: String,
    },
    /// There is no prediction.
    #[error(transparent)]
    Forecast(#[from] ForecastError),
    /// It cannot run.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The GPU refuses.
    #[error(transparent)]
    Engine(#[from] EngineError),
}

/// Warps of a multiprocessor that are sampled, up to what the device can have.
pub const WARPS: [u32; 12] = [1, 2, 3, 4, 6, 8, 16, 24, 32, 40, 48, 64];

/// Threads of a block that are sampled.
pub const BLOCKS: [u32; 6] = [32, 64, 96, 128, 192, 256];

/// Extents that are sampled.
const SIZES: [u32; 8] = [128, 256, 512, 1024, 2048, 3072, 4096, 8192];

/// Timed runs of each point.
pub const SAMPLES: usize = 15;

/// What is swept, and on what.
#[derive(Clone, Copy)]
pub struct SweepRequest<'a> {
    /// The GPU that is predicted.
    pub device: &'a DeviceModel,
    /// The same GPU, where it is there and can be measured.
    pub gpu: Option<&'a dyn Engine>,
    /// The kernel.
    pub rung: &'static Rung,
    /// What is varied.
    pub over: Over,
    /// The problem; a sweep over sizes has its own.
    pub shape: Shape,
    /// Seed of the inputs.
    pub seed: u64,
}

/// What comes of one x of a sweep.
#[derive(Debug)]
pub enum Swept {
    /// A point of the curve.
    Point(Point),
    /// No point: there is no prediction.
    NotPredicted {
        /// Where.
        x: u32,
        /// Why.
        why: ForecastError,
    },
}

/// The sizes of a sweep over sizes: those that the rung takes.
pub fn sizes(rung: &Rung) -> impl Iterator<Item = Shape> {
    let shapes = SIZES.into_iter().map(square);
    shapes.filter(move |&shape| check_shape(rung, shape).is_ok())
}

/// Sweeps a rung.
///
/// # Errors
/// See [`SweepError`].
pub fn sweep(request: &SweepRequest<'_>) -> Result<Sweep, SweepError> {
    let mut points = Vec::new();
    sweep_each(request, &mut |swept| {
        if let Swept::Point(point) = swept {
            points.push(point);
        }
        ControlFlow::Continue(())
    })?;
    let SweepRequest {
        device,
        rung,
        over,
        shape,
        ..
    } = *request;
    Ok(curve(&device.name, rung, over, shape, points))
}

/// The same, with each point as it comes; no more come after `Break`.
///
/// # Errors
/// See [`SweepError`].
pub fn sweep_each(
    request: &SweepRequest<'_>,
    each: &mut dyn FnMut(Swept) -> ControlFlow<()>,
) -> Result<(), SweepError> {
    match request.over {
        Over::Size => each_size(request, each),
        Over::Warps | Over::Block => each_launch(request, each),
    }
}

/// The curve of points, as many as there are.
pub fn curve(device: &str, rung: &Rung, over: Over, shape: Shape, points: Vec<Point>) -> Sweep {
    let knee = |throughput: &dyn Fn(&Point) -> Option<f64>| {
        let first = points.first().filter(|_| over == Over::Warps)?;
        let all: Option<Vec<f64>> = points.iter().map(throughput).collect();
        let best = all?.into_iter().fold(0.0, f64::max);
        Some(f64::from(first.x) * best / throughput(first)?)
    };
    let (predicted_knee, measured_knee) = (
        knee(&|point| Some(point.predicted)),
        knee(&|point| point.measured),
    );
    Sweep {
        kernel: rung.name.to_owned(),
        device: device.to_owned(),
        over,
        shape: match (over, points.last()) {
            (Over::Size, Some(last)) => square(last.x),
            _ => shape,
        },
        unit: unit(rung).to_owned(),
        points,
        predicted_knee,
        measured_knee,
    }
}

const fn square(size: u32) -> Shape {
    Shape {
        m: size,
        n: size,
        k: size,
    }
}

/// Products and chains of arithmetic are told by their arithmetic, everything else by its data.
fn unit(rung: &Rung) -> &'static str {
    match rung.operation.uses_k() {
        true => "GFLOP/s",
        false => "GB/s",
    }
}

fn throughput(rung: &Rung, shape: Shape, ms: f64) -> f64 {
    let work = if rung.operation.uses_k() {
        rung.operation.flops(shape)
    } else {
        rung.operation.elements_moved(shape) * rung.element.bytes() as f64
    };
    work / ms / 1e6
}

fn point(rung: &Rung, x: u32, forecast: &Forecast, measured_ms: Option<[f64; 3]>) -> Point {
    let predicted_ms = forecast.seconds() * 1e3;
    let of = |ms| throughput(rung, forecast.shape, ms);
    Point {
        x,
        predicted_ms,
        predicted: of(predicted_ms),
        bound: forecast.longest().prediction.bound,
        measured_ms,
        measured: measured_ms.map(|[_, median, _]| of(median)),
    }
}

/// One rung at several sizes. Where none can be predicted, that is an error.
fn each_size(
    request: &SweepRequest<'_>,
    each: &mut dyn FnMut(Swept) -> ControlFlow<()>,
) -> Result<(), SweepError> {
    let SweepRequest {
        device,
        gpu,
        rung,
        seed,
        ..
    } = *request;
    let emulator = EmulatorEngine::new();
    let sizes: Vec<Shape> = sizes(rung).collect();
    if sizes.is_empty() {
        return Err(SweepError::NoSize(rung.name));
    }
    let mut is_any_predicted = false;
    for (index, &shape) in sizes.iter().enumerate() {
        let x = shape.m;
        let forecast = match predict::forecast(&emulator, device, rung, shape, seed) {
            Ok(forecast) => forecast,
            Err(why) if index + 1 == sizes.len() && !is_any_predicted => return Err(why.into()),
            Err(why @ ForecastError::ChosenAtNoSmallSize(_)) => {
                if each(Swept::NotPredicted { x, why }).is_break() {
                    return Ok(());
                }
                continue;
            }
            Err(why) => return Err(why.into()),
        };
        is_any_predicted = true;
        let measured = gpu.map(|gpu| {
            let admitted = preflight(gpu, rung, shape)?;
            Problems::new(seed).run(gpu, &admitted, SAMPLES)
        });
        let measured = measured.transpose()?.map(|record| {
            if !record.ok {
                let complaint = record.complaint.unwrap_or_default();
                return Err(wrong(rung, x, complaint));
            }
            let times = [record.min_ms, record.median_ms, record.max_ms];
            Ok(times.map(Option::unwrap_or_default))
        });
        let point = point(rung, x, &forecast, measured.transpose()?);
        if each(Swept::Point(point)).is_break() {
            return Ok(());
        }
    }
    Ok(())
}

fn wrong(rung: &Rung, x: u32, complaint: String) -> SweepError {
    SweepError::Wrong {
        kernel: rung.name,
        x,
        complaint,
    }
}

/// A grid-stride loop with several launches of one size.
fn each_launch(
    request: &SweepRequest<'_>,
    each: &mut dyn FnMut(Swept) -> ControlFlow<()>,
) -> Result<(), SweepError> {
    let SweepRequest {
        device,
        gpu,
        rung,
        over,
        shape,
        seed,
    } = *request;
    let Implementation::Kernel {
        geometry: Geometry::GridStride { block: widest },
        ..
    } = rung.implementation
    else {
        return Err(SweepError::FixedBlocks(rung.name));
    };
    let cycles = predict::cycles(device);
    let Some(strided) = Strided::of(rung, cycles, seed)? else {
        return Err(SweepError::FixedBlocks(rung.name));
    };
    let multiprocessors = device.multiprocessors.value;
    let limits = device.architecture.limits.value;
    let launches: Vec<(u32, [u32; 2])> = match over {
        Over::Block => BLOCKS
            .into_iter()
            .filter(|&threads| threads <= widest)
            .map(|threads| {
                let resident = (limits.threads / threads).min(limits.blocks);
                (threads, [multiprocessors * resident, threads])
            })
            .collect(),
        _ => WARPS
            .into_iter()
            .filter(|&warps| 32 * warps <= limits.threads)
            .map(|warps| {
                let blocks = (32 * warps).div_ceil(widest);
                (warps, [multiprocessors * blocks, 32 * warps / blocks])
            })
            .collect(),
    };
    let times = match gpu {
        Some(gpu) => Some(measure(gpu, rung, shape, seed, &launches)?),
        None => None,
    };
    for (index, &(x, launch)) in launches.iter().enumerate() {
        let forecast = predict::forecast_strided(device, rung, shape, &strided, launch)?;
        // Registers may keep some of these blocks out: then there are fewer warps than the point
        // says.
        if over == Over::Warps && forecast.longest().prediction.rounds > 1 {
            break;
        }
        let measured = times.as_ref().map(|times| times[index]);
        if each(Swept::Point(point(rung, x, &forecast, measured))).is_break() {
            break;
        }
    }
    Ok(())
}

/// Quartiles of the times of each launch, in milliseconds.
fn measure(
    gpu: &dyn Engine,
    rung: &'static Rung,
    shape: Shape,
    seed: u64,
    launches: &[(u32, [u32; 2])],
) -> Result<Vec<[f64; 3]>, SweepError> {
    let admitted = preflight(gpu, rung, shape)?;
    dispatch_element!(admitted.runs().element, T => {
        measure_admitted::<T>(gpu, &admitted, seed, launches)
    })
}

fn measure_admitted<T: Element>(
    gpu: &dyn Engine,
    admitted: &Admitted,
    seed: u64,
    launches: &[(u32, [u32; 2])],
) -> Result<Vec<[f64; 3]>, SweepError> {
    let problem = admitted.problem::<T>(seed);
    let loaded = LoadedRung::new(gpu, admitted, &*problem)?;
    let one = |&(x, [blocks, threads]): &(u32, [u32; 2])| {
        let extents = [Dim3::new(blocks, 1, 1), Dim3::new(threads, 1, 1)];
        let (verdict, times) = loaded.checked_and_timed_as(&*problem, extents, SAMPLES)?;
        if !verdict.ok {
            return Err(wrong(
                admitted.rung(),
                x,
                verdict.complaint.unwrap_or_default(),
            ));
        }
        let quartiles = Quartiles::of(&times);
        Ok(quartiles.map_or([0.0; 3], |q| [q.low, q.median, q.high]))
    };
    launches.iter().map(one).collect()
}
