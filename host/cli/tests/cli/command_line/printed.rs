//! What is printed for people to type: the examples of every `--help`, of which the seed draws a
//! sample, and every command of the README, are run as they stand.

use super::{Ended, Folder, end};
use std::path::{Path, PathBuf};
use std::process::Command;
use test_sample::Sample;

/// Why a command is not run here.
#[derive(Clone, Copy, Debug)]
enum Needs {
    /// It is run where there is a GPU; elsewhere it must say that there is none.
    Gpu,
    /// It does more than a test may.
    More(&'static str),
}

/// What makes a page or plots take long.
const ALL_KERNELS: &str =
    "it counts every kernel, for half a minute; tests/report.rs looks at what it makes";

/// What compiles an exercise.
const LEARNS: &str =
    "it compiles an exercise that is not solved; tests/learn solves and checks them";

/// Commands that start like this are not run here. One that ends with its line is the whole
/// command.
const NOT_RUN: &[(&str, Needs)] = &[
    (
        "warpladder cuda ",
        Needs::More("it needs a program for CUDA"),
    ),
    (
        "cargo test --workspace\n",
        Needs::More("this is one of its tests"),
    ),
    ("warpladder compare", Needs::Gpu),
    ("warpladder calibrate", Needs::Gpu),
    ("warpladder tune --shape 4096", Needs::Gpu),
    (
        "warpladder tune --element bf16 --shape 3136x104x2952 --layout nt",
        Needs::Gpu,
    ),
    (
        "warpladder tune --element f64 --shape 333x777x1234",
        Needs::Gpu,
    ),
    ("warpladder report --out", Needs::More(ALL_KERNELS)),
    ("warpladder plot --out", Needs::More(ALL_KERNELS)),
    (
        "cargo run --release\n",
        Needs::More("it runs the whole ladder, for minutes where nothing is optimised"),
    ),
    ("git clone", Needs::More("there is a clone already")),
    ("cargo install", Needs::More("it changes the machine")),
    (
        "cargo xtask web",
        Needs::More("it compiles for minutes; .ci/web does"),
    ),
    (
        "python3 -m http.server",
        Needs::More("it serves until it is stopped"),
    ),
    (
        "warpladder doctor ../vecadd",
        Needs::More("it names a crate of the reader's"),
    ),
    (
        "cargo test --workspace",
        Needs::More("this is one of the tests that it runs"),
    ),
    ("warpladder learn\n", Needs::More(LEARNS)),
    ("warpladder learn add_one\n", Needs::More(LEARNS)),
    ("warpladder learn --watch", Needs::More(LEARNS)),
    (
        "warpladder learn export --check class/",
        Needs::More("it needs a class; tests/learn export what was passed"),
    ),
    (
        "rustup toolchain install",
        Needs::More("it changes the machine"),
    ),
];

/// The commands under "Example" in the help of a command and of those below it.
fn of_help(command: &clap::Command) -> Vec<(String, Vec<String>)> {
    let help = command.get_after_help().map(ToString::to_string);
    let help = help.unwrap_or_default();
    let lines = help.lines().skip_while(|line| !line.starts_with("Example"));
    let mut found = vec![(command.get_name().to_owned(), joined(lines, "  warpladder"))];
    for below in command.get_subcommands() {
        found.extend(of_help(below));
    }
    found
}

/// The commands of the blocks that show a console.
fn of_readme(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for block in text.split("```console\n").skip(1) {
        let block = block.split("```").next().unwrap_or_default();
        let commands = joined(block.lines(), "$ ");
        found.extend(commands.iter().map(|line| line["$ ".len()..].to_owned()));
    }
    found
}

/// The lines that start like this, each with those that continue it.
fn joined<'a>(lines: impl Iterator<Item = &'a str>, start: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut continued = false;
    for line in lines {
        if continued {
            let last = found.last_mut().expect("a line is continued");
            last.push('\n');
            last.push_str(line);
        } else if line.starts_with(start) {
            found.push(line.to_owned());
        } else {
            continue;
        }
        continued = line.ends_with('\\');
    }
    found
}

/// A folder to run commands in: it looks like a clone, and what they write goes away with it.
fn clone_like(name: &str) -> Folder {
    let folder = Folder::new(name);
    let root = Path::new(warpladder::SOURCE_ROOT);
    for part in ["examples", "results"] {
        std::os::unix::fs::symlink(root.join(part), folder.0.join(part)).unwrap();
    }
    folder
}

/// Runs a line in a shell that finds the program; `cargo run --release --` is the program, which is
/// built already.
fn shell(folder: &Folder, line: &str) -> Ended {
    let program = PathBuf::from(env!("CARGO_BIN_EXE_warpladder"));
    let mut path = vec![program.parent().unwrap().to_owned()];
    path.extend(std::env::split_paths(
        &std::env::var_os("PATH").unwrap_or_default(),
    ));
    let line = match line.strip_prefix("cargo run --release") {
        Some(arguments) => format!("warpladder {}", arguments.replacen(" -- ", "", 1)),
        None => line.to_owned(),
    };
    end(Command::new("sh")
        .args(["-c", &line])
        .current_dir(&folder.0)
        .env("PATH", std::env::join_paths(path).unwrap()))
}

/// Runs commands as they stand, one after the other.
fn run_all(folder: &Folder, commands: &[String]) {
    for line in commands.iter().map(|line| line.trim()) {
        let needs = NOT_RUN.iter().find(|(start, _)| is(line, start));
        match needs.map(|(_, needs)| needs) {
            Some(Needs::More(why)) => println!("not run: {line}: {why}"),
            Some(Needs::Gpu) if !has_gpu() => {
                println!("not run: {line}: it needs a GPU");
                let ended = shell(folder, line);
                assert_eq!(ended.status, Some(2), "{line}: {ended:?}");
                // Its arguments are right.
                assert!(!ended.stderr.contains("--help"), "{line}: {ended:?}");
            }
            _ => {
                let start = std::time::Instant::now();
                let ended = shell(folder, line);
                println!("{:6.2} s  {line}", start.elapsed().as_secs_f64());
                assert_eq!(ended.status, Some(0), "{line}: {ended:?}");
            }
        }
    }
}

/// Whether a command is one of those that start so.
fn is(line: &str, start: &str) -> bool {
    format!("{line}\n").starts_with(start)
}

fn has_gpu() -> bool {
    warpladder::engine::open(warpladder::engine::EngineChoice::Gpu).is_ok()
}

#[test]
fn the_examples_of_every_help_work() {
    let folder = clone_like("help");
    let all = of_help(&warpladder_cli::command());
    for (name, examples) in &all {
        assert!(!examples.is_empty(), "{name} --help has no example");
    }
    // Many predict, and so count kernels at eight sizes. What one example writes the next one of
    // the same command may read, as may commands below it, so whole commands are drawn.
    let command = warpladder_cli::command();
    let own = all.into_iter().take(1);
    let below = command.get_subcommands().map(|below| {
        let examples = of_help(below)
            .into_iter()
            .flat_map(|(_, examples)| examples);
        (below.get_name().to_owned(), examples.collect())
    });
    let commands: Vec<(String, Vec<String>)> = own.chain(below).collect();
    let (sample, count) = (Sample::from_env(), commands.len());
    let drawn = sample.draw(commands, count.div_ceil(2), |(name, _)| name.clone());
    sample.report(drawn.len(), count, "commands with their examples");
    for (_, examples) in drawn {
        run_all(&folder, &examples);
    }
}

#[test]
fn the_commands_of_the_readme_work() {
    let folder = clone_like("readme");
    let readme = include_str!("../../../../../README.md");
    let commands = of_readme(readme);
    assert!(commands.len() > 2, "{commands:?}");
    run_all(&folder, &commands);
}

#[test]
fn nothing_is_left_out_that_is_not_there() {
    let mut all: Vec<String> = of_help(&warpladder_cli::command())
        .into_iter()
        .flat_map(|(_, examples)| examples)
        .collect();
    all.extend(of_readme(include_str!("../../../../../README.md")));
    for (start, _) in NOT_RUN {
        let there = all.iter().any(|line| is(line.trim(), start));
        assert!(there, "nothing starts with {start}");
    }
}

#[test]
fn completions_and_manual_pages_know_every_command() {
    let folder = clone_like("generated");
    let command = warpladder_cli::command();
    for shell_name in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let ended = shell(&folder, &format!("warpladder completions {shell_name}"));
        assert_eq!(ended.status, Some(0), "{ended:?}");
        for below in command.get_subcommands() {
            assert!(ended.stdout.contains(below.get_name()), "{shell_name}");
        }
    }
    let ended = shell(&folder, "warpladder man --out pages");
    assert_eq!(ended.status, Some(0), "{ended:?}");
    for below in command.get_subcommands() {
        let page = folder.file(&format!("pages/warpladder-{}.1", below.get_name()));
        let text = std::fs::read_to_string(&page).unwrap();
        assert!(
            text.contains("warpladder") && text.contains("Example"),
            "{page}"
        );
    }
}
