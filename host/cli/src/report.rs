//! `warpladder report` and `warpladder plot`.

use super::interrupt::{self, Ending};
use super::output::{self, Destination, human_output};
use super::{progress, units};
use crate::estimate::{self, EmulatorSpeed};
use crate::outcome::Outcome;
use anyhow::{Context, bail};
use std::io::Write;
use std::path::{Path, PathBuf};
use warpladder::engine::emulator::EmulatorEngine;
use warpladder_lab::catalogue::Rung;
use warpladder_report::plot::Plot;
use warpladder_report::{Data, DataError, Report};

#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  warpladder report --out report.html
  warpladder run --family transpose --json run.json
  warpladder report --from run.json --out report.html

--from takes several files: those of compare, sweep, reproduce, calibrate and devices as well.")]
pub(super) struct ReportArgs {
    /// Where the page goes; - is standard output
    #[arg(long, value_name = "FILE", default_value = "report.html")]
    out: String,
    #[command(flatten)]
    results: Results,
}

#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  warpladder plot --out plots
  warpladder run --family transpose --json run.json
  warpladder plot ladder roofline --from run.json --out plots")]
pub(super) struct PlotArgs {
    /// Which plots [default: all]
    #[arg(value_enum, value_name = "KIND")]
    kinds: Vec<Kind>,
    /// The folder for the plots; it is made where it is missing
    #[arg(long, value_name = "FOLDER")]
    out: PathBuf,
    /// Write PNG files as well
    #[cfg(feature = "png")]
    #[arg(long)]
    png: bool,
    #[command(flatten)]
    results: Results,
}

/// The measurements.
#[derive(clap::Args)]
struct Results {
    /// Files of run, compare, sweep, reproduce, calibrate and devices --json, of one GPU [default:
    /// the results of an H200 that ship with the program]
    #[arg(long, value_name = "FILE", num_args = 1..)]
    from: Vec<PathBuf>,
    /// The GPU to predict where the files are of the emulator [default: H200]
    #[arg(long, value_name = "D", requires = "from")]
    device: Option<String>,
}

/// A kind of plot: the first word of its file's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Kind {
    /// Bars of each family's rungs
    Ladder,
    /// Kernels under the roofs of the device
    Roofline,
    /// Throughput over the size, beside a peer
    Size,
    /// Throughput over warps
    Sweep,
}

impl Kind {
    fn is_of(self, plot: &Plot) -> bool {
        let word = match self {
            Kind::Ladder => "ladder",
            Kind::Roofline => "roofline",
            Kind::Size => "size",
            Kind::Sweep => "sweep",
        };
        plot.name.split('-').next() == Some(word)
    }
}

impl Results {
    fn read(&self) -> Result<Data, DataError> {
        match &self.from[..] {
            [] => Data::shipped(),
            files => Data::from_files(files, self.device.as_deref()),
        }
    }
}

/// Seed of the run that the speed of the emulator is measured by.
const SEED: u64 = 1;

/// What the work on a report hands over.
enum Progress {
    /// A kernel is counted or predicted.
    Done(&'static Rung),
    /// Everything is.
    Made(Box<Report>),
}

/// Counts and predicts what a report needs, with its progress on the terminal. `None` where Ctrl-C
/// ends that: a page of half of it would mislead.
fn made(data: Data) -> anyhow::Result<Option<Report>> {
    let to_predict = Report::to_predict(&data);
    let pieces = Report::pieces(&data);
    if let Some(device) = data.model().filter(|_| !to_predict.is_empty()) {
        let emulator = EmulatorEngine::new();
        let speed = EmulatorSpeed::measure(&emulator, SEED)?;
        let kernels = units::count(to_predict.len(), "kernel");
        estimate::announce(
            speed.predictions_by_all_cores(to_predict.into_iter()),
            &format!(
                "{kernels} are predicted for the {}; files with fewer take less",
                device.name
            ),
        )?;
    }
    let bar = progress::of_pieces(pieces)?;
    let work = move |results: &interrupt::Results<Progress>| {
        let each = |rung| {
            // Kernels that are being counted go on until the program ends.
            _ = results.hand(Progress::Done(rung));
        };
        let report = Report::with_progress(data, &each);
        _ = results.hand(Progress::Made(Box::new(report)));
        Ok(())
    };
    let mut made = None;
    let ending = interrupt::attend(None, work, |progress| {
        match progress {
            Progress::Done(rung) => {
                bar.set_message(rung.name);
                bar.inc(1);
            }
            Progress::Made(report) => made = Some(*report),
        }
        Ok(())
    });
    bar.finish_and_clear();
    Ok(match ending? {
        Ending::Complete => made,
        Ending::Interrupted | Ending::TimeUp => {
            writeln!(output::stderr(), "interrupted: nothing is written")?;
            None
        }
    })
}

pub(super) fn report(args: &ReportArgs) -> anyhow::Result<Outcome> {
    // Also before the work begins, Ctrl-C says that nothing is written.
    interrupt::keep();
    let data = args.results.read()?;
    let out = Destination::open(&args.out)?;
    let to_stdout = out.is_stdout();
    let Some(report) = made(data)? else {
        return Ok(Outcome::Interrupted);
    };
    let html = report.html()?;
    out.write(html.as_bytes())?;
    let mut human = human_output(to_stdout);
    if !to_stdout {
        writeln!(human, "{}: open it in a browser", args.out)?;
    }
    if args.results.from.is_empty() {
        writeln!(
            human,
            "these are the results of an H200; for your own: warpladder run --json run.json, then \
             report --from run.json"
        )?;
    }
    Ok(Outcome::Done)
}

pub(super) fn plot(args: &PlotArgs) -> anyhow::Result<Outcome> {
    interrupt::keep();
    let data = args.results.read()?;
    let cannot_write =
        |path: &Path| format!("cannot write {}: choose another folder", path.display());
    std::fs::create_dir_all(&args.out).with_context(|| cannot_write(&args.out))?;
    let is_wanted =
        |plot: &Plot| args.kinds.is_empty() || args.kinds.iter().any(|kind| kind.is_of(plot));
    let all = match args.kinds[..] {
        // Ladders alone need no counting, which takes long.
        [Kind::Ladder] => warpladder_report::ladders(&data),
        _ => match made(data)? {
            Some(report) => report.plots(),
            None => return Ok(Outcome::Interrupted),
        },
    };
    let plots: Vec<Plot> = all.into_iter().filter(is_wanted).collect();
    if plots.is_empty() {
        bail!("these results have no such plot: leave out the kind, or --from");
    }
    for plot in &plots {
        let path = args.out.join(format!("{}.svg", plot.name));
        std::fs::write(&path, plot.file()?).with_context(|| cannot_write(&path))?;
        writeln!(output::stdout(), "{}", path.display())?;
        #[cfg(feature = "png")]
        if args.png {
            let path = path.with_extension("png");
            let picture = warpladder_report::plot::png(&plot.light_file()?)?;
            std::fs::write(&path, picture).with_context(|| cannot_write(&path))?;
            writeln!(output::stdout(), "{}", path.display())?;
        }
    }
    Ok(Outcome::Done)
}
