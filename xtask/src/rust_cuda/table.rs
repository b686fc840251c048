//! The table of what was built and run.

use super::Outcome;
use super::checkout::Expected;
use std::fmt::Write;

/// One line of the command's output.
pub fn line(outcome: &Outcome) -> String {
    let state = if is_fine(outcome) { "ok   " } else { "WRONG" };
    let mut line = format!("{state} {}", outcome.unit.name);
    match &outcome.built {
        Ok(built) => {
            let _ = write!(
                line,
                ": {}, {} bytes of PTX, {:.1} s",
                how(built.description.whole_program),
                built.ptx.len(),
                built.seconds
            );
        }
        Err(_) => line += ": refused",
    }
    if !outcome.problem.is_empty() {
        let _ = write!(line, ": {}", outcome.problem);
    }
    for run in &outcome.runs {
        let (Ok(text) | Err(text)) = &run.result;
        let _ = write!(line, "\n      {}, {}: {text}", run.name, run.on);
    }
    line + "\n"
}

/// The last line.
pub fn summary(outcomes: &[Outcome]) -> String {
    let fine = outcomes.iter().filter(|outcome| is_fine(outcome)).count();
    let built = outcomes
        .iter()
        .filter_map(|outcome| outcome.built.as_ref().ok());
    let seconds: f64 = built.clone().map(|built| built.seconds).sum();
    let bytes: usize = built.map(|built| built.ptx.len()).sum();
    format!(
        "{fine} of {} as expected; {bytes} bytes of PTX in {seconds:.0} s\n",
        outcomes.len()
    )
}

/// What is not as it should be.
pub fn findings(outcome: &Outcome) -> Vec<String> {
    let problem = (!outcome.problem.is_empty()).then_some(&outcome.problem);
    let runs = outcome
        .runs
        .iter()
        .filter_map(|run| run.result.as_ref().err());
    problem
        .into_iter()
        .chain(runs)
        .map(|problem| format!("{}: {problem}", outcome.unit.name))
        .collect()
}

/// The table as a document.
pub fn document(outcomes: &[Outcome], host: &Result<String, String>, commit: &str) -> String {
    let fine = outcomes.iter().filter(|outcome| is_fine(outcome)).count();
    let mut text = format!(
        "# Rust-CUDA's kernels, built here\n\n\
         The kernels of [Rust-CUDA](https://github.com/Rust-GPU/rust-cuda), commit {commit}:\n\
         examples, samples and compile tests, sources and manifests unchanged. {fine} of {} came \
         out as\nexpected. Runs are on the emulator, under all sanitizers,\nand on a GPU that can run the PTX.\n\n\
         ```console\n$ cargo xtask rust-cuda CHECKOUT --write COMMIT\n```\n\n\
         \"Whole program\" says that the crate by itself left functions unresolved, so that it \
         was compiled\ntogether with all that it calls. Compile tests without a generation of \
         their own are for\n`compute_75`, as Rust-CUDA compiles them; crates are for the \
         builder's default.\n\n\
         | kernels of | for | outcome | PTX bytes |\n|---|---|---|--:|\n",
        outcomes.len()
    );
    for outcome in outcomes {
        let bytes = match &outcome.built {
            Ok(built) => built.ptx.len().to_string(),
            Err(_) => "–".to_owned(),
        };
        let unit = &outcome.unit;
        let _ = writeln!(
            text,
            "| `{}` | `{}` | {} | {bytes} |",
            unit.name,
            unit.arch,
            words(outcome)
        );
    }
    text +=
        "\n## Results\n\n| kernels of | run | on | compared with the CPU |\n|---|---|---|---|\n";
    for outcome in outcomes {
        for run in &outcome.runs {
            let (Ok(result) | Err(result)) = &run.result;
            let (unit, name, on) = (&outcome.unit.name, run.name, &run.on);
            let _ = writeln!(text, "| `{unit}` | {name} | {on} | {result} |");
        }
    }
    let (Ok(host) | Err(host)) = host;
    let _ = write!(
        text,
        "\n## Host program\n\n`examples/vecadd`, sources and build script unchanged, with `cust` \
         0.3.2 from crates.io and\n`[patch]` lines in `Cargo.toml`:\n\n```text\n{host}\n```\n"
    );
    text
}

fn words(outcome: &Outcome) -> String {
    if !outcome.problem.is_empty() {
        return format!("**{}**", outcome.problem);
    }
    match (&outcome.unit.expected, &outcome.built) {
        (Expected::Fails { code }, _) => format!("refused with {code}, as it should be"),
        (Expected::BuildsHere { upstream }, Ok(built)) => format!(
            "{}; Rust-CUDA's back end: \"{upstream}\"",
            how(built.description.whole_program)
        ),
        (_, Ok(built)) => how(built.description.whole_program).to_owned(),
        (_, Err(_)) => "refused".to_owned(),
    }
}

fn how(whole_program: bool) -> &'static str {
    if whole_program {
        "builds, whole program"
    } else {
        "builds"
    }
}

fn is_fine(outcome: &Outcome) -> bool {
    findings(outcome).is_empty()
}
