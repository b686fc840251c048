//! `warpladder sweep`.

use super::choices::{SWEPT, one_of};
use super::interrupt::{self, Ending, Results};
use super::output::{Destination, human_output};
use super::shape::{Large, Shapes};
use super::{progress, select, table};
use crate::estimate::{self, EmulatorSpeed};
use crate::outcome::Outcome;
use anyhow::bail;
use std::io::Write;
use warpladder::engine::EngineChoice;
use warpladder::engine::emulator::EmulatorEngine;
use warpladder_lab::catalogue::Rung;
use warpladder_lab::engine;
use warpladder_lab::predict::{ForecastError, check_forecast};
use warpladder_lab::problem::Shape;
use warpladder_lab::sweep::{self, Over, Sweep, SweepRequest, Swept};
use warpladder_models::devices::DeviceModel;

#[derive(clap::Args)]
#[command(after_help = "\
The knee is where the rise of the first point would reach the best throughput.

Example:
  warpladder sweep matvec_lcs --device \"GTX 1080\" --svg curve.svg")]
pub(super) struct Args {
    /// The kernel
    kernel: String,
    /// What to vary
    #[arg(long, value_parser = one_of(SWEPT), default_value = "warps")]
    over: Over,
    /// Predict for this GPU, and measure nothing [default: measure on this machine's GPU, else
    /// predict for an H200]
    #[arg(long, value_name = "D")]
    device: Option<String>,
    #[command(flatten)]
    shapes: Shapes<Large>,
    /// Write the curves as JSON; - is standard output
    #[arg(long, value_name = "FILE")]
    json: Option<String>,
    /// Draw the first of them; - is standard output
    #[arg(long, value_name = "FILE")]
    svg: Option<String>,
}

pub(super) fn execute(args: &Args) -> anyhow::Result<Outcome> {
    let rung = select::kernel(&args.kernel)?;
    let [json, svg] = Destination::open_both([args.json.as_deref(), args.svg.as_deref()])?;
    let device = select::device(args.device.as_deref())?;
    let has_gpu = args.device.is_none() && engine::open(EngineChoice::Gpu).is_ok();
    let shapes = match args.over {
        // The sizes of this sweep are its own.
        Over::Size => vec![args.shapes.one(select::PREDICTED_SIZE, rung)?],
        Over::Warps | Over::Block => {
            let shapes = args.shapes.each(select::PREDICTED_SIZE)?.into_iter();
            shapes
                .map(|asked| asked.of(rung))
                .collect::<Result<_, _>>()?
        }
    };
    let mut curves: Vec<Vec<Swept>> = shapes.iter().map(|_| Vec::new()).collect();
    let work = Work {
        device: device.clone(),
        has_gpu,
        rung,
        over: args.over,
        shapes: shapes.clone(),
        seed: args.shapes.seed,
    };
    work.check()?;
    estimate::announce(work.seconds()?, "Ctrl-C keeps what is done")?;
    let progress = progress::of_pieces(work.pieces())?;
    progress.set_message(rung.name);
    let ending = interrupt::attend(
        None,
        move |results| work.run(results),
        |(index, swept)| {
            progress.inc(1);
            curves[index].push(swept);
            Ok(())
        },
    );
    progress.finish_and_clear();
    let ending = ending?;
    let mut not_predicted = Vec::new();
    let mut sweeps: Vec<Sweep> = Vec::new();
    for (shape, curve) in shapes.into_iter().zip(curves) {
        let mut points = Vec::new();
        for swept in curve {
            match swept {
                Swept::Point(point) => points.push(point),
                Swept::NotPredicted { x, why } => not_predicted.push((x, why.to_string())),
            }
        }
        if !points.is_empty() {
            sweeps.push(sweep::curve(&device.name, rung, args.over, shape, points));
        }
    }
    if sweeps.is_empty() && ending == Ending::Complete {
        bail!("not one warp of {} fits: choose another device", rung.name);
    }
    let mut human = human_output(json.iter().chain(&svg).any(Destination::is_stdout));
    if let Some(json) = json {
        json.write_records("sweep", ending == Ending::Complete, &sweeps)?;
    }
    if let (Some(svg), Some(first)) = (svg, sweeps.first()) {
        svg.write(warpladder_report::sweep_plot(first).file()?.as_bytes())?;
    }
    for sweep in &sweeps {
        print(&mut human, sweep)?;
    }
    for (x, why) in not_predicted {
        let line = format!("left out: {x}: {why}");
        writeln!(human, "{}", table::wrapped(&line, 2))?;
    }
    if ending == Ending::Complete {
        return Ok(Outcome::Done);
    }
    writeln!(human, "interrupted: the points above are all that was done")?;
    Ok(Outcome::Interrupted)
}

/// The work of a sweep.
struct Work {
    device: DeviceModel,
    has_gpu: bool,
    rung: &'static Rung,
    over: Over,
    shapes: Vec<Shape>,
    seed: u64,
}

impl Work {
    /// Refuses what this device cannot run, before the estimate of the time is printed.
    fn check(&self) -> Result<(), ForecastError> {
        let mut sizes = self.sizes().into_iter();
        sizes.try_for_each(|shape| check_forecast(&self.device, self.rung, shape, None))
    }

    fn sizes(&self) -> Vec<Shape> {
        match self.over {
            Over::Size => sweep::sizes(self.rung).collect(),
            Over::Warps | Over::Block => self.shapes.clone(),
        }
    }

    /// How long it takes, in seconds, as far as that is known before. To predict launches of one
    /// size, a kernel is counted once, which takes no time to speak of.
    fn seconds(&self) -> anyhow::Result<f64> {
        let sizes = self.sizes();
        let mut seconds = 0.0;
        if self.over == Over::Size {
            let emulator = EmulatorEngine::new();
            let speed = EmulatorSpeed::measure(&emulator, self.seed)?;
            let predictions = sizes.iter();
            seconds += predictions
                .map(|&shape| speed.prediction(self.rung, shape))
                .sum::<f64>();
        }
        if self.has_gpu {
            let launch = |&shape: &Shape| estimate::on_gpu(&self.device, self.rung, shape);
            let points = self.pieces() / sizes.len().max(1);
            let launches = (sweep::SAMPLES * points) as f64;
            seconds += launches * sizes.iter().map(launch).sum::<f64>();
        }
        Ok(seconds)
    }

    /// How many points it has at most.
    fn pieces(&self) -> usize {
        match self.over {
            Over::Size => sweep::sizes(self.rung).count(),
            Over::Warps => self.shapes.len() * sweep::WARPS.len(),
            Over::Block => self.shapes.len() * sweep::BLOCKS.len(),
        }
    }

    /// Hands over each point with the number of its curve.
    fn run(self, results: &Results<(usize, Swept)>) -> anyhow::Result<()> {
        let gpu = match self.has_gpu {
            true => Some(engine::open(EngineChoice::Gpu)?.0),
            false => None,
        };
        for (index, &shape) in self.shapes.iter().enumerate() {
            let request = SweepRequest {
                device: &self.device,
                gpu: gpu.as_deref(),
                rung: self.rung,
                over: self.over,
                shape,
                seed: self.seed,
            };
            sweep::sweep_each(&request, &mut |swept| results.hand((index, swept)))?;
        }
        Ok(())
    }
}

fn print(to: &mut dyn Write, sweep: &Sweep) -> anyhow::Result<()> {
    let x = match sweep.over {
        Over::Warps => "warps",
        Over::Size => "size",
        Over::Block => "threads",
    };
    writeln!(to, "{} on {}", sweep.kernel, sweep.device)?;
    let (predicted, measured) = (
        format!("predicted {}", sweep.unit),
        format!("measured {}", sweep.unit),
    );
    let mut table = table::new(&[
        x,
        &predicted,
        &measured,
        "predicted/measured time",
        "bound by",
    ]);
    for point in &sweep.points {
        let ratio = point.measured.map(|measured| measured / point.predicted);
        table.add_row([
            point.x.into(),
            table::number(Some(point.predicted)),
            table::number(point.measured),
            table::number(ratio),
            point.bound.to_string().into(),
        ]);
    }
    table::fit(&mut table, 4);
    writeln!(to, "{table}")?;
    if let Some(knee) = sweep.predicted_knee {
        write!(to, "predicted knee: {knee:.1} {x}")?;
        match sweep.measured_knee {
            Some(measured) => writeln!(to, "; measured: {measured:.1}")?,
            None => writeln!(to)?,
        }
    }
    Ok(())
}
