//! `warpladder predict`.

use super::choices::generation;
use super::output::{Destination, human_output};
use super::select::{self, Target};
use super::{progress, table};
use crate::estimate::{self, EmulatorSpeed};
use crate::outcome::Outcome;
use std::io::Write;
use warpladder::device::ComputeCapability;
use warpladder::engine::emulator::EmulatorEngine;
use warpladder_lab::predict::{
    Forecast, LaunchForecast, check_forecast, forecast_with, is_older_than_the_ptx,
};
use warpladder_lab::run::describe;
use warpladder_models::Bound;
use warpladder_models::devices::DeviceModel;
use warpladder_models::occupancy::{Launch, Occupancy};
use warpladder_models::predict::{BoundTime, Work};

#[derive(clap::Args)]
#[command(after_help = "\
Example:
  warpladder predict tiled_32 --device V100 --shape 2048")]
pub(super) struct Args {
    /// The kernels, by name or by a pattern such as 'tiled*'
    #[arg(required = true, value_name = "KERNEL", value_delimiter = ',')]
    kernels: Vec<String>,
    #[command(flatten)]
    target: Target,
    /// Predict the kernels of this generation of GPUs, such as sm_80, as if the GPU were of it:
    /// where a kernel is chosen by the size [default: the GPU's own]
    #[arg(long, value_name = "TARGET", value_parser = generation)]
    generation: Option<ComputeCapability>,
    /// Write the predictions as JSON; - is standard output
    #[arg(long, value_name = "FILE")]
    json: Option<String>,
}

/// A prediction as JSON.
#[derive(serde::Serialize)]
struct PredictionRecord<'a> {
    /// Name of the rung.
    kernel: &'static str,
    /// The GPU.
    device: &'a str,
    m: u32,
    n: u32,
    k: Option<u32>,
    /// The generation of GPUs whose kernels are predicted; null where none was asked for.
    generation: Option<ComputeCapability>,
    /// Predicted time of a launch, in milliseconds.
    ms: f64,
    /// 10⁹ floating-point operations per second; null where there are none.
    gflops: Option<f64>,
    /// 10⁹ bytes per second: every input read once, the output written once.
    gbs: f64,
    /// What takes longest, in the launch that does.
    bound: Bound,
    /// The launches, one after the other.
    launches: Vec<LaunchRecord<'a>>,
}

/// A launch of it.
#[derive(serde::Serialize)]
struct LaunchRecord<'a> {
    /// The PTX entry.
    entry: &'static str,
    /// Predicted time, in milliseconds.
    ms: f64,
    /// What each bound alone takes, in seconds, the longest first.
    times: &'a [BoundTime],
    /// Bounds with work whose rate is not known for this device.
    unknown: &'a [Bound],
    launch: &'a Launch,
    occupancy: &'a Occupancy,
    work: &'a Work,
}

impl<'a> PredictionRecord<'a> {
    fn new(
        device: &'a DeviceModel,
        generation: Option<ComputeCapability>,
        forecast: &'a Forecast,
    ) -> Self {
        let (rung, shape) = (forecast.rung, forecast.shape);
        PredictionRecord {
            kernel: rung.name,
            device: &device.name,
            m: shape.m,
            n: shape.n,
            k: rung.operation.uses_k().then_some(shape.k),
            generation,
            ms: forecast.seconds() * 1e3,
            gflops: forecast.gflops(),
            gbs: forecast.gbs(),
            bound: forecast.longest().prediction.bound,
            launches: forecast.launches.iter().map(LaunchRecord::new).collect(),
        }
    }
}

impl<'a> LaunchRecord<'a> {
    fn new(forecast: &'a LaunchForecast) -> Self {
        let prediction = &forecast.prediction;
        LaunchRecord {
            entry: forecast.entry,
            ms: prediction.seconds * 1e3,
            times: &prediction.times,
            unknown: &prediction.unknown,
            launch: &forecast.launch,
            occupancy: &prediction.occupancy,
            work: &forecast.work,
        }
    }
}

pub(super) fn execute(args: &Args) -> anyhow::Result<Outcome> {
    let rungs = select::kernels(&args.kernels)?;
    let device = args.target.device()?;
    let json = args.json.as_deref().map(Destination::open).transpose()?;
    let shapes = &args.target.shapes;
    let emulator = EmulatorEngine::new();
    let mut cases = Vec::new();
    for &rung in &rungs {
        for asked in shapes.each(select::PREDICTED_SIZE)? {
            let shape = asked.of(rung)?;
            check_forecast(&device, rung, shape, args.generation)?;
            cases.push((rung, shape));
        }
    }
    let speed = EmulatorSpeed::measure(&emulator, shapes.seed)?;
    let predictions = cases.iter();
    let seconds = predictions.map(|(rung, shape)| speed.prediction(rung, *shape));
    estimate::announce(
        seconds.sum(),
        "fewer kernels and a smaller --shape take less",
    )?;
    let progress = progress::of_pieces(cases.len())?;
    let mut forecasts = Vec::new();
    for (rung, shape) in cases {
        progress.set_message(rung.name);
        let (generation, seed) = (args.generation, shapes.seed);
        let made = forecast_with(&emulator, &device, rung, shape, generation, seed)?;
        forecasts.push(made);
        progress.inc(1);
    }
    progress.finish_and_clear();
    let records: Vec<PredictionRecord<'_>> = forecasts
        .iter()
        .map(|forecast| PredictionRecord::new(&device, args.generation, forecast))
        .collect();
    let mut human = human_output(json.as_ref().is_some_and(Destination::is_stdout));
    if let Some(json) = json {
        json.write_records("predict", true, &records)?;
    }
    for (index, (forecast, record)) in forecasts.iter().zip(&records).enumerate() {
        if index > 0 {
            writeln!(human)?;
        }
        print(&mut human, forecast, record)?;
        if is_older_than_the_ptx(&device) {
            writeln!(human, "{}", older(&device))?;
        }
    }
    Ok(Outcome::Done)
}

/// What a prediction for a device is of that runs none of the PTX that ships.
fn older(device: &DeviceModel) -> String {
    let capability = ComputeCapability::from(device.architecture.compute_capability);
    format!(
        "the PTX that ships is for compute capability 7.0 and later: this is of the same kernel, \
         compiled for {capability}"
    )
}

fn print(
    to: &mut dyn Write,
    forecast: &Forecast,
    record: &PredictionRecord<'_>,
) -> anyhow::Result<()> {
    // What is not known is left out, and so the time is the least.
    let mut launches = forecast.launches.iter();
    let (least, most) = match launches.any(|launch| !launch.prediction.unknown.is_empty()) {
        true => ("at least ", "at most "),
        false => ("", ""),
    };
    writeln!(
        to,
        "{} at {} on {}: {least}{:.4} ms, {most}{}",
        record.kernel,
        describe(forecast.rung.operation, forecast.shape),
        record.device,
        record.ms,
        match record.gflops {
            Some(gflops) => format!("{gflops:.0} GFLOP/s"),
            None => format!("{:.0} GB/s", record.gbs),
        },
    )?;
    writeln!(to, "bound by {}", record.bound)?;
    for launch in &forecast.launches {
        if forecast.launches.len() > 1 {
            let ms = launch.prediction.seconds * 1e3;
            writeln!(to, "{}: {ms:.4} ms", launch.entry)?;
        }
        print_launch(to, launch)?;
    }
    Ok(())
}

fn print_launch(to: &mut dyn Write, forecast: &LaunchForecast) -> anyhow::Result<()> {
    let LaunchForecast {
        launch, prediction, ..
    } = forecast;
    let occupancy = &prediction.occupancy;
    let line = format!(
        "{} blocks of {} threads, {} registers, {} bytes of shared memory: {} resident, {} warps a \
         multiprocessor",
        launch.blocks,
        launch.threads_per_block,
        launch.registers_per_thread,
        launch.shared_bytes_per_block,
        occupancy.blocks,
        occupancy.warps,
    );
    writeln!(to, "{}", table::wrapped(&line, 2))?;
    let mut table = table::new(&["bound", "ms alone", "share %"]);
    for time in &prediction.times {
        table.add_row([
            time.bound.to_string().into(),
            table::number(Some(time.seconds * 1e3)),
            table::number(Some(100.0 * time.seconds / prediction.seconds)),
        ]);
    }
    table::align_numbers(&mut table, 1);
    writeln!(to, "{table}")?;
    if !prediction.unknown.is_empty() {
        let unknown: Vec<String> = prediction.unknown.iter().map(Bound::to_string).collect();
        let line = format!(
            "not known of this GPU, and left out: {}",
            unknown.join(", ")
        );
        writeln!(to, "{}", table::wrapped(&line, 2))?;
    }
    Ok(())
}
