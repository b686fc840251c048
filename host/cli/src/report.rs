//! `warpladder report` and `warpladder plot`.

use super::output::{self, Destination, human_output};
use crate::outcome::Outcome;
use anyhow::{Context, bail};
use std::io::Write;
use std::path::{Path, PathBuf};
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

    /// Says what takes time, where anything does.
    fn announce(data: &Data) -> std::io::Result<()> {
        let kernels = Report::to_predict(data).len();
        let model = data.model().filter(|_| kernels > 1);
        match model {
            Some(device) => writeln!(
                output::stderr(),
                "predicting {kernels} kernels for the {}, about a second of a core for each",
                device.name
            ),
            None => Ok(()),
        }
    }
}

pub(super) fn report(args: &ReportArgs) -> anyhow::Result<Outcome> {
    let data = args.results.read()?;
    let out = Destination::open(&args.out)?;
    Results::announce(&data)?;
    let to_stdout = out.is_stdout();
    let html = Report::new(data).html()?;
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
    let data = args.results.read()?;
    let cannot_write =
        |path: &Path| format!("cannot write {}: choose another folder", path.display());
    std::fs::create_dir_all(&args.out).with_context(|| cannot_write(&args.out))?;
    Results::announce(&data)?;
    let is_wanted =
        |plot: &Plot| args.kinds.is_empty() || args.kinds.iter().any(|kind| kind.is_of(plot));
    let all = match args.kinds[..] {
        // Ladders alone need no counting, which takes long.
        [Kind::Ladder] => warpladder_report::ladders(&data),
        _ => Report::new(data).plots(),
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
