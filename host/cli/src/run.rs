//! `warpladder run`.

use super::choices::{CACHES, ENGINES, FAMILIES, one_of};
use super::output::{self, Destination, human_output};
use super::select::{self, Size};
use super::{baseline, conditions, table};
use crate::outcome::Outcome;
use anyhow::bail;
use indicatif::{ProgressBar, ProgressStyle};
use std::io::Write;
use std::num::NonZeroUsize;
use std::time::Duration;
use warpladder::engine::{Engine, EngineChoice, EngineKind};
use warpladder_lab::catalogue::{self, Family, Implementation, Rung};
use warpladder_lab::engine;
use warpladder_lab::problem::Shape;
use warpladder_lab::run::{
    Admitted, Cache, Detailed, Problems, Record, Sampling, check_shape, describe, preflight,
};

#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  warpladder run --kernel naive,tiled_32 --size 128
  warpladder run --family transpose --json before.json
  warpladder run --family transpose --baseline before.json --floor 50
  warpladder run --kernel naive --size 64 --precision 10 --time-limit 1")]
pub(super) struct Args {
    /// Where to run: auto takes the GPU where there is one
    #[arg(long, value_parser = one_of(ENGINES), default_value = "auto")]
    engine: EngineChoice,
    /// Only the kernels of this family
    #[arg(long, value_parser = one_of(FAMILIES))]
    family: Option<Family>,
    /// Only these kernels, by name
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    kernel: Vec<String>,
    #[command(flatten)]
    size: Size,
    /// Timed runs of each kernel [default: 3 on the emulator, 20 on a GPU; on either 20 with
    /// --baseline]
    #[arg(long, value_name = "R")]
    reps: Option<NonZeroUsize>,
    /// Take samples until the median is known to within PERCENT percent, with 95 % confidence
    #[arg(long, value_name = "PERCENT", value_parser = positive)]
    precision: Option<f64>,
    /// Begin no timed run of a kernel after SECONDS seconds [default: none, 10 with --precision]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    time_limit: Option<Duration>,
    /// What the caches of a GPU hold when a timed run begins: what the one before left, or other
    /// data
    #[arg(long, value_parser = one_of(CACHES), default_value = "hot")]
    cache: Cache,
    /// Seed of the random inputs
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Write the records as JSON; - is standard output
    #[arg(long, value_name = "FILE")]
    json: Option<String>,
    /// Write the records as CSV; - is standard output
    #[arg(long, value_name = "FILE")]
    csv: Option<String>,
    #[command(flatten)]
    baseline: baseline::BaselineArgs,
}

/// Products on the host run unasked up to this much work: 512 × 512 × 512, about a second for the
/// slowest.
const CPU_FLOPS: f64 = 2.0 * 512.0 * 512.0 * 512.0;

pub(super) fn execute(args: &Args) -> anyhow::Result<Outcome> {
    let selected = select(args)?;
    let saved = args.baseline.read()?;
    let [json, csv] = Destination::open_both([args.json.as_deref(), args.csv.as_deref()])?;
    let engine = &*open_engine(args.engine)?;
    if args.cache == Cache::Cold && engine.cache_bytes().is_none() {
        bail!("the emulator has no caches: leave out --cache cold");
    }
    let default_size = match engine.kind() {
        EngineKind::Gpu => 4096,
        EngineKind::Cpu | EngineKind::Emulator => 256,
    };
    let shape = args.size.shape(default_size);
    let selection = split(args, engine, selected, shape)?;

    let sampling = sampling(args, engine.kind());
    let records = run_all(engine, &selection.run, args.seed, sampling)?;
    let compared = saved.map(|saved| saved.compare(&records));

    let mut human = human_output(json.iter().chain(&csv).any(Destination::is_stdout));
    if let Some(json) = json {
        let detailed: Vec<Detailed<'_, _>> = records
            .iter()
            .enumerate()
            .map(|(index, record)| {
                let compared = compared.as_ref();
                Detailed::new(record, compared.and_then(|of| of.comparison(index)))
            })
            .collect();
        json.write_json(&detailed)?;
    }
    if let Some(csv) = csv {
        csv.write(&to_csv(&records)?)?;
    }
    let outcome = print(&mut human, engine, &selection, &records)?;
    match compared {
        Some(compared) => compared.print(&mut human, &records, outcome),
        None => Ok(outcome),
    }
}

/// How kernels are timed.
fn sampling(args: &Args, engine: EngineKind) -> Sampling {
    const TIME_LIMIT_OF_PRECISION: Duration = Duration::from_secs(10);
    let default_reps = match engine {
        EngineKind::Gpu => 20,
        EngineKind::Cpu | EngineKind::Emulator if args.baseline.is_given() => 20,
        EngineKind::Cpu | EngineKind::Emulator => 3,
    };
    let default_limit = args.precision.map(|_| TIME_LIMIT_OF_PRECISION);
    Sampling {
        reps: args.reps.map_or(default_reps, NonZeroUsize::get),
        precision_pct: args.precision,
        time_limit: args.time_limit.or(default_limit),
        cache: args.cache,
    }
}

/// A number above 0.
pub(super) fn positive(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if number > 0.0 && number.is_finite() => Ok(number),
        _ => Err("give a number above 0".to_owned()),
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
        writeln!(output::stderr(), "no GPU: {reason}; using the emulator")?;
    }
    Ok(engine)
}

/// The kernels that the arguments name.
fn select(args: &Args) -> anyhow::Result<Vec<&'static Rung>> {
    let mut named = Vec::new();
    for name in &args.kernel {
        let rung = select::kernel(name)?;
        if let Some(family) = args.family.filter(|&family| family != rung.family) {
            bail!(
                "{name} is of family {}, not {family}: leave out --family",
                rung.family
            );
        }
        named.push(rung);
    }
    if !named.is_empty() {
        return Ok(named);
    }
    Ok(catalogue::rungs()
        .filter(|rung| args.family.is_none_or(|family| family == rung.family))
        .collect())
}

/// The kernels of a run.
struct Selection {
    /// Those that run.
    run: Vec<Admitted>,
    /// Those that do not take the size.
    unsupported: Vec<&'static Rung>,
    /// Products on the host that would take long.
    slow: Vec<&'static Rung>,
}

/// Splits off the rungs that do not take this size. One that was asked for by name is an error; of
/// the whole catalogue or a family, the others run.
fn split(
    args: &Args,
    engine: &dyn Engine,
    selected: Vec<&'static Rung>,
    shape: Shape,
) -> anyhow::Result<Selection> {
    let by_name = !args.kernel.is_empty();
    let mut selection = Selection {
        run: Vec::new(),
        unsupported: Vec::new(),
        slow: Vec::new(),
    };
    for rung in selected {
        let on_cpu = matches!(rung.implementation, Implementation::Cpu(_));
        match check_shape(rung, shape) {
            Err(error) if by_name => return Err(error.into()),
            Err(_) => selection.unsupported.push(rung),
            Ok(()) if on_cpu && !by_name && rung.operation.flops(shape) > CPU_FLOPS => {
                selection.slow.push(rung);
            }
            Ok(()) => {
                selection.run.push(preflight(engine, rung, shape)?);
            }
        }
    }
    if selection.run.is_empty() {
        let Shape { m, n, k } = shape;
        bail!(
            "no kernel of this selection takes {m} x {n} x {k}: `warpladder list` says what each \
             takes"
        );
    }
    Ok(selection)
}

fn run_all(
    engine: &dyn Engine,
    admitted: &[Admitted],
    seed: u64,
    sampling: Sampling,
) -> anyhow::Result<Vec<Record>> {
    let style = ProgressStyle::with_template("{bar:30} {pos}/{len} {msg}")?;
    // Draws on standard error, and only where that is a terminal.
    let progress = ProgressBar::new(admitted.len() as u64).with_style(style);
    let mut problems = Problems::new(seed);
    let mut records = Vec::new();
    for admitted in admitted {
        progress.set_message(admitted.rung().name);
        records.push(problems.run(engine, admitted, sampling)?);
        progress.inc(1);
    }
    progress.finish_and_clear();
    Ok(records)
}

fn to_csv(records: &[Record]) -> anyhow::Result<Vec<u8>> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    for record in records {
        writer.serialize(record)?;
    }
    Ok(writer.into_inner()?)
}

fn print(
    to: &mut dyn Write,
    engine: &dyn Engine,
    selection: &Selection,
    records: &[Record],
) -> anyhow::Result<Outcome> {
    writeln!(to, "{} on {}", engine.kind(), engine.device_name())?;
    if let Some(conditions) = conditions::conditions(records) {
        writeln!(to, "{conditions}")?;
    }
    let mut table = table::new(&[
        "kernel",
        "element",
        "size",
        "check",
        "error",
        "tolerance",
        "median ms",
        "min ms",
        "max ms",
        "noise %",
        "GFLOP/s",
        "GB/s",
        "host-to-host ms",
    ]);
    for (admitted, record) in selection.run.iter().zip(records) {
        table.add_row([
            (&record.kernel).into(),
            record.element.into(),
            describe(admitted.rung().operation, admitted.shape()).into(),
            table::verdict(record.ok),
            table::number(record.error),
            table::number(record.tolerance),
            table::number(record.median_ms),
            table::number(record.min_ms),
            table::number(record.max_ms),
            table::number(record.noise_pct),
            table::number(record.gflops),
            table::number(record.gbs),
            table::number(record.host_to_host_ms),
        ]);
    }
    table::align_numbers(&mut table, 4);
    writeln!(to, "{table}")?;
    let left_out = [
        (
            &selection.unsupported,
            "take other sizes only, see `warpladder list`",
        ),
        (&selection.slow, "would take long, ask for them by name"),
    ];
    for (rungs, why) in left_out.iter().filter(|(rungs, _)| !rungs.is_empty()) {
        let names: Vec<&str> = rungs.iter().map(|rung| rung.name).collect();
        writeln!(to, "left out ({why}): {}", names.join(", "))?;
    }
    let failed: Vec<&Record> = records.iter().filter(|record| !record.ok).collect();
    for record in &failed {
        let complaint = record.complaint.as_deref().unwrap_or("the output is wrong");
        writeln!(to, "{}: {complaint}", record.kernel)?;
    }
    if failed.is_empty() {
        writeln!(to, "all {} checks passed", records.len())?;
        Ok(Outcome::Done)
    } else {
        writeln!(to, "{} of {} checks failed", failed.len(), records.len())?;
        Ok(Outcome::ChecksFailed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpladder::engine::emulator::EmulatorEngine;

    const SHAPE: Shape = Shape { m: 3, n: 4, k: 5 };

    #[test]
    fn one_wrong_record_makes_the_run_fail_and_is_named() {
        let engine = EmulatorEngine::new();
        let run = ["naive", "tiled_guarded_16"].map(|name| {
            let rung = catalogue::find(name).unwrap();
            preflight(&engine, rung, SHAPE).unwrap()
        });
        let selection = Selection {
            run: run.to_vec(),
            unsupported: Vec::new(),
            slow: Vec::new(),
        };
        let mut problems = Problems::new(1);
        let mut records = run.map(|admitted| problems.run(&engine, &admitted, 1).unwrap());
        let printed = |records: &[Record]| {
            let mut text = Vec::new();
            let outcome = print(&mut text, &engine, &selection, records).unwrap();
            (outcome, String::from_utf8(text).unwrap())
        };
        let (outcome, text) = printed(&records);
        assert!(matches!(outcome, Outcome::Done), "{text}");
        assert!(text.ends_with("\nall 2 checks passed\n"), "{text}");

        records[1].ok = false;
        records[1].complaint = Some("element (0, 1) is NaN, not 3".to_owned());
        let (outcome, text) = printed(&records);
        assert!(matches!(outcome, Outcome::ChecksFailed), "{text}");
        let end = "\ntiled_guarded_16: element (0, 1) is NaN, not 3\n1 of 2 checks failed\n";
        assert!(text.ends_with(end), "{text}");
    }
}
