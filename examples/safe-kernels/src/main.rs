//! Times each safe kernel beside the one with `unsafe`, and checks both.
//!
//! ```text
//! safe-kernels [--rounds N] [--json FILE]
//! ```
//!
//! On a GPU it takes sizes that fill a large one, on the emulator small ones. The status is 1 where
//! a result is wrong.

use safe_kernels::compare::{self, Sizes};
use serde_json::json;
use std::error::Error;
use std::process::ExitCode;
use warpladder::gpu::Gpu;

/// Rounds, where the command line does not say how many.
const ROUNDS: usize = 51;

struct Options {
    rounds: usize,
    json: Option<String>,
}

fn main() -> ExitCode {
    match run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("safe-kernels: {error}");
            ExitCode::from(2)
        }
    }
}

fn options() -> Result<Options, String> {
    let mut options = Options {
        rounds: ROUNDS,
        json: None,
    };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or(format!("{word} takes a value"));
        match word.as_str() {
            "--rounds" => {
                let value = value()?;
                let rounds = value.parse().ok().filter(|&rounds| rounds > 0);
                options.rounds = rounds.ok_or(format!("--rounds {value}: give a number from 1"))?;
            }
            "--json" => options.json = Some(value()?),
            _ => {
                return Err(format!(
                    "unknown argument {word}: use --rounds N, --json FILE"
                ));
            }
        }
    }
    Ok(options)
}

/// Whether all results are right.
fn run() -> Result<bool, Box<dyn Error>> {
    let options = options()?;
    let gpu = Gpu::new_or_emulated();
    let sizes = if gpu.is_emulated() {
        Sizes::small()
    } else {
        Sizes::large()
    };
    let found = compare::all(&gpu, &sizes, options.rounds)?;
    println!("{}, {} rounds", gpu.name(), options.rounds);
    for comparison in &found {
        let median = |times: &[f64]| {
            warpladder::timing::Quartiles::of(times).map_or(f64::NAN, |quartiles| quartiles.median)
        };
        let (ratio, interval) = comparison.ratio().unwrap_or((f64::NAN, None));
        let interval = interval.map_or(String::new(), |(low, high)| {
            format!(" (95 %: {low:.4} to {high:.4})")
        });
        println!(
            "{:17} {:17} safe {:.4} ms, unsafe {:.4} ms, ratio {ratio:.4}{interval}, {}",
            comparison.kernel,
            comparison.size,
            median(&comparison.safe_ms),
            median(&comparison.unsafe_ms),
            comparison.complaint.as_deref().unwrap_or("right"),
        );
    }
    if let Some(path) = options.json {
        let comparisons: Vec<_> = found.iter().map(compare::Comparison::to_json).collect();
        let text = json!({
            "device": gpu.name(),
            "emulated": gpu.is_emulated(),
            "rounds": options.rounds,
            "comparisons": comparisons,
        });
        std::fs::write(&path, format!("{text:#}\n")).map_err(|error| format!("{path}: {error}"))?;
    }
    Ok(found
        .iter()
        .all(|comparison| comparison.complaint.is_none()))
}
