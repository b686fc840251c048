//! `warpladder run`.

mod below;
mod cases;
mod prediction;
mod rows;
mod several;
mod shown;
mod worker;

use super::choices::{CACHES, ENGINES, FAMILIES, generation, one_of, positive};
use super::estimate::{self, SAID_FROM};
use super::interrupt::{self, Ending};
use super::output::{self, Destination, human_output};
use super::shape::{ByEngine, Shapes};
use super::{baseline, select, units};
use crate::outcome::Outcome;
use anyhow::{Context, bail};
use below::{Finished, print_below};
use cases::{Conditions, Named, Selection};
use shown::{Done, Shown};
use std::io::Write;
use std::num::NonZeroUsize;
use std::time::{Duration, Instant};
use warpladder::device::ComputeCapability;
use warpladder::engine::{Engine, EngineChoice, EngineKind};
use warpladder_lab::catalogue::Family;
use warpladder_lab::engine;
use warpladder_lab::predict;
use warpladder_lab::run::{Cache, Detailed, Record, Sampling};
use warpladder_models::devices::{self, DeviceModel};
use worker::Work;

#[derive(clap::Args)]
#[command(after_help = "\
Without a GPU, kernels are checked on the emulator, and the table has the times that the model
predicts for a GPU (--device) from what the emulator counts. What the emulator itself takes comes
last, and says nothing of a GPU.

Ctrl-C ends the run and keeps what is done; the exit status is 130.

Examples:
  warpladder run --kernel naive,tiled_32 --shape 128
  warpladder run --kernel 'tiled*' --exclude 'tiled_guarded*' --shape 64 --device V100
  warpladder run --family transpose --json before.json
  warpladder run --family transpose --baseline before.json --floor 50
  warpladder run --kernel naive --shape 64 --precision 10 --time-limit 5
  warpladder run --kernel naive,transpose_padded --shape 64 --devices emulated:2")]
pub(super) struct Args {
    /// Where to run: auto takes the GPU where there is one
    #[arg(long, value_parser = one_of(ENGINES), default_value = "auto")]
    engine: EngineChoice,
    /// Only the kernels of this family
    #[arg(long, value_parser = one_of(FAMILIES))]
    family: Option<Family>,
    /// Only these kernels, by name, or by a pattern such as 'tiled*'
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    kernel: Vec<String>,
    /// Not these kernels, by name or pattern
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    exclude: Vec<String>,
    #[command(flatten)]
    shapes: Shapes<ByEngine>,
    /// Run the kernels of this generation of GPUs, such as sm_80, as on a device of it: where a
    /// kernel is chosen by the size, and newer ones are left out [default: the device's own]
    #[arg(long, value_name = "TARGET", value_parser = generation)]
    generation: Option<ComputeCapability>,
    /// Predict for this GPU of the table of devices; none predicts nothing [default: H200 where
    /// there is no GPU, else none]
    #[arg(long, value_name = "D")]
    device: Option<String>,
    /// Timed runs of each kernel [default: 1 on the emulator, 20 on a GPU; on either 20 with
    /// --baseline]
    #[arg(long, value_name = "R")]
    reps: Option<NonZeroUsize>,
    /// Take samples until the median is known to within PERCENT percent, with 95 % confidence, or
    /// for 10 s a kernel
    #[arg(long, value_name = "PERCENT", value_parser = positive)]
    precision: Option<f64>,
    /// End the run after SECONDS seconds with what is done by then; a kernel that runs at that time
    /// gets another second. What would take longer by itself is left out [default: none]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    time_limit: Option<Duration>,
    /// What the caches of a GPU hold when a timed run begins: what the one before left, or other
    /// data
    #[arg(long, value_parser = one_of(CACHES), default_value = "hot")]
    cache: Cache,
    /// Show everything that is known of each kernel, however wide the terminal is
    #[arg(long)]
    wide: bool,
    /// Write the records as JSON; - is standard output
    #[arg(long, value_name = "FILE")]
    json: Option<String>,
    /// Write the records as CSV; - is standard output
    #[arg(long, value_name = "FILE")]
    csv: Option<String>,
    #[command(flatten)]
    baseline: baseline::BaselineArgs,
    /// Run on several devices at once, and name those that are slow or wrong: all, numbers such as
    /// 0,2, or emulated:2
    #[arg(long, value_name = "DEVICES", conflicts_with_all = ["device", "csv", "time_limit"])]
    devices: Option<several::Devices>,
}

/// How much longer than the limit is waited for what is running.
const GRACE: Duration = Duration::from_secs(1);

pub(super) fn execute(args: &Args) -> anyhow::Result<Outcome> {
    let named = Named {
        family: args.family,
        kernels: &args.kernel,
        exclude: &args.exclude,
        generation: args.generation,
    };
    named.rungs()?;
    let saved = args.baseline.read()?;
    let asked_device = asked_device(args)?;
    let [json, csv] = Destination::open_both([args.json.as_deref(), args.csv.as_deref()])?;
    if let Some(devices) = &args.devices {
        return on_devices(args, named, devices, json);
    }
    let engine = open_engine(args.engine)?;
    if args.cache == Cache::Cold && engine.cache_bytes().is_none() {
        bail!("the emulator has no caches: leave out --cache cold");
    }
    let on_gpu = engine.kind() == EngineKind::Gpu;
    let shapes = args.shapes.each(if on_gpu { 4096 } else { 256 })?;
    let mut selection = cases::split(&named, &*engine, &shapes, args.shapes.is_given())?;
    let device = match (asked_device, on_gpu) {
        (Some(asked), _) => asked,
        (None, true) => None,
        (None, false) => Some(devices::find(select::WITHOUT_GPU)?.clone()),
    };
    if let Some(device) = &device {
        predict::limits(device, args.generation)
            .with_context(|| format!("cannot predict {}", device.name))?;
    }
    let measured = match on_gpu {
        true => Some(select::device(None)?),
        false => None,
    };
    let sampling = sampling(args, engine.kind());
    announce(
        args,
        &mut selection,
        &Conditions {
            engine: &*engine,
            device: device.as_ref(),
            generation: args.generation,
            measured: measured.as_ref(),
            reps: sampling.reps,
            seed: args.shapes.seed,
        },
    )?;

    let mut human = human_output(json.iter().chain(&csv).any(Destination::is_stdout));
    let title = format!("{} on {}", engine.kind(), engine.device_name());
    let device_name = device.as_ref().map(|device| device.name.to_string());
    let mut shown = Shown::new(&selection, device_name.as_deref(), on_gpu, args.wide)?;
    writeln!(human, "{title}")?;
    shown.begin(&mut human)?;
    let start = Instant::now();
    let deadline = args.time_limit.map(|limit| start + limit);
    let work = Work {
        engine,
        cases: selection.run.clone(),
        device,
        generation: args.generation,
        measured,
        sampling,
        deadline,
        seed: args.shapes.seed,
    };
    let last = deadline.map(|deadline| deadline + GRACE);
    let ending = interrupt::attend(
        last,
        move |results| work.run(results),
        |progress| shown.show(&mut human, progress),
    );
    shown.end();
    let finished = Finished {
        selection: &selection,
        ending: ending?,
        done: shown.done(),
    };
    finish(args, &mut human, saved, [json, csv], &finished)
}

/// The run on several devices.
fn on_devices(
    args: &Args,
    named: Named<'_>,
    devices: &several::Devices,
    json: Option<Destination>,
) -> anyhow::Result<Outcome> {
    if args.baseline.is_given() {
        bail!("--devices compares devices with each other: leave out --baseline");
    }
    let engine = match devices {
        several::Devices::Emulated(_) => EngineKind::Emulator,
        _ => EngineKind::Gpu,
    };
    let extent = if engine == EngineKind::Gpu { 4096 } else { 256 };
    let plan = several::Plan {
        named,
        shapes: args.shapes.each(extent)?,
        is_given: args.shapes.is_given(),
        sampling: sampling(args, engine),
        seed: args.shapes.seed,
    };
    let mut human = human_output(json.as_ref().is_some_and(Destination::is_stdout));
    several::execute(devices, &plan, &mut human, json)
}

/// The GPU that is to be predicted: `None` where none is given, and none within it where nothing is
/// to be.
fn asked_device(args: &Args) -> anyhow::Result<Option<Option<DeviceModel>>> {
    Ok(match args.device.as_deref() {
        None => None,
        Some("none") => Some(None),
        Some(name) => Some(Some(devices::find(name)?.clone())),
    })
}

/// Estimates how long the run takes, and says so before anything long; leaves out what does not fit
/// the limit.
fn announce(args: &Args, selection: &mut Selection, on: &Conditions<'_>) -> anyhow::Result<()> {
    cases::estimate(&mut selection.run, on)?;
    if let Some(limit) = args.time_limit {
        selection.within(limit)?;
    }
    let is_bounded = |limit: Duration| limit.as_secs_f64() < SAID_FROM;
    if args.time_limit.is_some_and(is_bounded) {
        return Ok(());
    }
    estimate::announce(
        selection.seconds(),
        "--kernel and --shape choose less, --time-limit ends it, and Ctrl-C keeps what is done",
    )
}

/// Writes the records, and what stands below the table.
fn finish(
    args: &Args,
    human: &mut dyn Write,
    saved: Option<baseline::Saved>,
    [json, csv]: [Option<Destination>; 2],
    finished: &Finished<'_>,
) -> anyhow::Result<Outcome> {
    let Done { cases, records, .. } = &finished.done;
    let complete =
        cases.len() == finished.selection.run.len() && finished.selection.over_limit.is_empty();
    if records.is_empty() && finished.ending == Ending::TimeUp {
        let limit = args.time_limit.unwrap_or_default().as_secs_f64();
        bail!("no kernel ended within --time-limit {limit}: give more time");
    }
    let compared = saved.map(|saved| saved.compare(records));
    let steps = finished.done.steps();
    if let Some(json) = json {
        let detailed: Vec<Detailed<'_, _>> = records
            .iter()
            .enumerate()
            .map(|(index, record)| {
                let compared = compared.as_ref();
                let compared = compared.and_then(|of| of.comparison(index));
                Detailed::new(record, compared, steps[index].as_ref())
            })
            .collect();
        json.write_records("run", complete, &detailed)?;
    }
    if let Some(csv) = csv {
        csv.write(&to_csv(records)?)?;
    }
    let mut outcome = print_below(human, finished, &steps)?;
    if let Some(compared) = compared {
        outcome = compared.print(human, records, outcome)?;
    }
    Ok(match finished.ending {
        Ending::Interrupted => Outcome::Interrupted,
        Ending::Complete | Ending::TimeUp => outcome,
    })
}

/// How kernels are timed.
fn sampling(args: &Args, engine: EngineKind) -> Sampling {
    const TIME_LIMIT_OF_PRECISION: Duration = Duration::from_secs(10);
    let default_reps = match engine {
        EngineKind::Gpu => 20,
        EngineKind::Cpu | EngineKind::Emulator if args.baseline.is_given() => 20,
        EngineKind::Cpu | EngineKind::Emulator => 1,
    };
    Sampling {
        reps: args.reps.map_or(default_reps, NonZeroUsize::get),
        precision_pct: args.precision,
        time_limit: args.precision.map(|_| TIME_LIMIT_OF_PRECISION),
        cache: args.cache,
    }
}

/// A time.
fn seconds(text: &str) -> Result<Duration, String> {
    let too_long = |_| "give fewer seconds".to_owned();
    Duration::try_from_secs_f64(positive(text)?).map_err(too_long)
}

/// Opens an engine, and says so where there is no GPU to take.
pub(super) fn open_engine(choice: EngineChoice) -> anyhow::Result<Box<dyn Engine>> {
    let (engine, no_gpu) = engine::open(choice)?;
    if let Some(reason) = no_gpu {
        let reason = reason.to_string();
        writeln!(
            output::stderr(),
            "no GPU: {}, so the emulator runs this; `warpladder doctor` says what to do",
            units::first_cause(&reason)
        )?;
    }
    Ok(engine)
}

fn to_csv(records: &[Record]) -> anyhow::Result<Vec<u8>> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    for record in records {
        writer.serialize(record)?;
    }
    Ok(writer.into_inner()?)
}
