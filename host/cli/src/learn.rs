//! `warpladder learn`.

mod attempt;
mod export;
mod watch;

use super::{output, table};
use crate::outcome::Outcome;
use anyhow::{anyhow, bail};
use comfy_table::{Cell, Color};
use cuda_builder::Toolchain;
use std::io::Write;
use std::path::PathBuf;
use warpladder_learn::{ALL, Exercise, Folder, Progress};

#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true, after_help = AFTER_HELP)]
pub(super) struct Args {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    attempt: Attempt,
}

#[derive(clap::Subcommand)]
enum Command {
    /// List the exercises, and which of them are passed
    #[command(after_help = LIST_EXAMPLE)]
    List(At),
    /// Put the exercises into a folder; files that are there already are left as they are
    #[command(after_help = START_EXAMPLES)]
    Start(At),
    /// Put an exercise back as it was at the start; your file is kept beside it
    #[command(after_help = RESET_EXAMPLE)]
    Reset(Reset),
    /// Print what was passed in folders of exercises as JSON, for grading
    Export(export::Export),
}

#[derive(clap::Args)]
struct At {
    /// The folder of the exercises [default: the current one where it holds them, else
    /// warpladder-exercises]
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

#[derive(clap::Args)]
struct Reset {
    /// The exercise
    name: String,
    #[command(flatten)]
    at: At,
}

#[derive(clap::Args)]
struct Attempt {
    /// The exercise to check [default: the first that is open]
    name: Option<String>,
    /// Show the next hint, or hints 1 to N
    #[arg(
        long,
        value_name = "N",
        num_args = 0..=1,
        requires = "name",
        conflicts_with_all = ["solution", "watch"]
    )]
    hint: Option<Option<usize>>,
    /// Show the solution
    #[arg(long, requires = "name", conflicts_with = "watch")]
    solution: bool,
    /// Check whenever the file is saved, and go on to the next exercise when it passes
    #[arg(long)]
    watch: bool,
    #[command(flatten)]
    at: At,
}

const LIST_EXAMPLE: &str = "\
Example:
  warpladder learn list";

const RESET_EXAMPLE: &str = "\
Example:
  warpladder learn reset add_one";

const START_EXAMPLES: &str = "\
To begin an exercise again: `warpladder learn reset NAME`.

Examples:
  warpladder learn start
  warpladder learn start --dir exercises";

const AFTER_HELP: &str = "\
`learn start` puts the exercises into ./warpladder-exercises, a crate with one file each. Edit a file, \
then check it:
`learn` alone checks the first open exercise, `learn NAME` another one. --watch checks the first open \
exercise whenever
its file is saved, and goes on when it passes.
While it waits, it takes h for a hint, s for the solution, n for the next exercise, l for the list, \
q to end, each with Enter.

Exercises are compiled by a nightly Rust with the component rust-src (`warpladder doctor` says \
whether it is there) and
run on the PTX emulator, without a GPU.

Examples:
  warpladder learn start
  warpladder learn
  warpladder learn add_one --hint
  warpladder learn add_one --solution
  warpladder learn add_one
  warpladder learn --watch
  warpladder learn export warpladder-exercises";

pub(super) fn execute(args: &Args) -> anyhow::Result<Outcome> {
    match &args.command {
        Some(Command::List(at)) => list(&at.folder()),
        Some(Command::Start(at)) => start(&at.folder()),
        Some(Command::Reset(args)) => reset(&args.at.folder(), exercise(&args.name)?),
        Some(Command::Export(args)) => export::export(args),
        None => attempt(&args.attempt),
    }
}

impl At {
    fn folder(&self) -> Folder {
        match &self.dir {
            Some(dir) => Folder::new(dir),
            None => Folder::default_here(),
        }
    }
}

fn attempt(args: &Attempt) -> anyhow::Result<Outcome> {
    let folder = args.at.folder();
    let named = args.name.as_deref().map(exercise).transpose()?;
    let Some(named) = named else {
        return match args.watch {
            true => watch::watch(&folder, None),
            false => go_on(&folder),
        };
    };
    if args.solution {
        write!(output::stdout(), "{}", named.files.solution)?;
        return Ok(Outcome::Done);
    }
    match args.hint {
        Some(upto) => hint(&folder, named, upto),
        None if args.watch => watch::watch(&folder, Some(named)),
        None => attempt::attempt(&folder, named),
    }
}

/// Checks the first exercise that is open; the list where there is none, or no folder yet.
fn go_on(folder: &Folder) -> anyhow::Result<Outcome> {
    let open = match folder.is_started() {
        true => first_open(&folder.progress()?),
        false => None,
    };
    let Some(exercise) = open else {
        return list(folder);
    };
    writeln!(output::stdout(), "{}\n", heading(folder, exercise))?;
    attempt::attempt(folder, exercise)
}

/// Which exercise this is, what it teaches, and where to read.
fn heading(folder: &Folder, exercise: &Exercise) -> String {
    let number = warpladder_learn::number(exercise);
    let Exercise {
        teaches, chapter, ..
    } = exercise;
    let file = folder.file(exercise);
    format!(
        "exercise {number} of {}: {teaches}\n  file     {}\n  chapter  book/src/{chapter}.md",
        ALL.len(),
        file.display()
    )
}

/// The words that may stand in the place of an exercise.
const COMMANDS: [&str; 4] = ["list", "start", "reset", "export"];

/// The exercise of this name.
fn exercise(name: &str) -> anyhow::Result<&'static Exercise> {
    warpladder_learn::find(name).ok_or_else(|| {
        let likeness = |known: &&str| strsim::jaro_winkler(known, name);
        let exercises = ALL.iter().map(|exercise| exercise.name);
        let like = exercises
            .chain(COMMANDS)
            .max_by(|a, b| likeness(a).total_cmp(&likeness(b)))
            // What is further off is no misspelling.
            .filter(|known| likeness(known) >= 0.8);
        let meant = like.map_or(String::new(), |like| format!("did you mean {like}? "));
        anyhow!("there is no exercise {name:?}: {meant}`warpladder learn list` has all")
    })
}

/// The first exercise that is not passed.
fn first_open(progress: &Progress) -> Option<&'static Exercise> {
    ALL.iter()
        .find(|exercise| !progress.passed.contains(exercise.name))
}

fn list(folder: &Folder) -> anyhow::Result<Outcome> {
    let started = folder.is_started();
    let progress = match started {
        true => folder.progress()?,
        false => Progress::default(),
    };
    let mut table = table::new(&["", "exercise", "part", "teaches", "state"]);
    for exercise in ALL {
        let state = match progress.passed.contains(exercise.name) {
            true => Cell::new("passed").fg(Color::Green),
            false => Cell::new("open"),
        };
        table.add_row([
            Cell::new(warpladder_learn::number(exercise)),
            Cell::new(exercise.name),
            Cell::new(exercise.part),
            Cell::new(exercise.teaches),
            state,
        ]);
    }
    let mut out = output::stdout();
    writeln!(out, "{}", table.trim_fmt())?;
    match first_open(&progress) {
        _ if !started => writeln!(
            out,
            "\n`warpladder learn start` puts them into {}",
            folder.path().display()
        )?,
        next => writeln!(out, "\n{}", next_step(folder, &progress, next))?,
    }
    Ok(Outcome::Done)
}

/// How many exercises are passed, and which one comes next.
fn next_step(folder: &Folder, progress: &Progress, next: Option<&Exercise>) -> String {
    let passed = ALL
        .iter()
        .filter(|exercise| progress.passed.contains(exercise.name));
    let state = format!("{} of {} passed", passed.count(), ALL.len());
    match next {
        Some(next) => {
            let file = folder.file(next);
            let (file, name) = (file.display(), next.name);
            format!("{state}; next: edit {file}, then `warpladder learn {name}`")
        }
        None => state,
    }
}

fn start(folder: &Folder) -> anyhow::Result<Outcome> {
    let new = folder.start()?;
    let mut out = output::stdout();
    let (path, kept) = (folder.path().display(), ALL.len() - new);
    match kept {
        0 => writeln!(out, "{new} exercises are in {path}")?,
        _ => writeln!(
            out,
            "{new} exercises put into {path}; {kept} were there and are as they were"
        )?,
    }
    writeln!(out, "`warpladder learn list` lists them")?;
    // Said now, not after the first exercise is solved.
    if let Err(missing) = Toolchain::find(folder.path()) {
        writeln!(
            out,
            "before the first check: {}: {missing}",
            attempt::NIGHTLY
        )?;
    }
    let progress = folder.progress()?;
    let next = first_open(&progress);
    writeln!(out, "{}", next_step(folder, &progress, next))?;
    Ok(Outcome::Done)
}

fn reset(folder: &Folder, exercise: &Exercise) -> anyhow::Result<Outcome> {
    let kept = folder.reset(exercise)?;
    let file = folder.file(exercise);
    let mut out = output::stdout();
    match kept {
        Some(kept) => writeln!(
            out,
            "{} is as at the start; yours is {}",
            file.display(),
            kept.display()
        )?,
        None => writeln!(out, "{} is there again", file.display())?,
    }
    Ok(Outcome::Done)
}

fn hint(
    folder: &Folder,
    exercise: &'static Exercise,
    upto: Option<usize>,
) -> anyhow::Result<Outcome> {
    let hints: Vec<&str> = exercise.files.hints().collect();
    if upto == Some(0) {
        bail!("--hint 0: the first hint is number 1");
    }
    let mut progress = folder.progress()?;
    let shown = progress.hints.entry(exercise.name.to_owned()).or_default();
    let upto = upto.unwrap_or(*shown + 1).min(hints.len());
    *shown = upto.max(*shown);
    folder.save(&progress)?;
    let mut out = output::stdout();
    for (index, hint) in hints[..upto].iter().enumerate() {
        writeln!(out, "{} of {}: {hint}\n", index + 1, hints.len())?;
    }
    match hints.len() - upto {
        0 => writeln!(out, "that was the last; --solution shows the solution")?,
        left => writeln!(out, "{left} more with --hint")?,
    }
    Ok(Outcome::Done)
}
