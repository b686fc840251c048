//! `warpladder profile`.

mod lines;
mod totals;

use super::output::{self, Destination, human_output};
use super::shape::{Emulated, Shapes};
use super::{progress, select};
use crate::estimate::{self, EmulatorSpeed};
use crate::outcome::Outcome;
use std::io::{self, Write};
use warpladder::engine::emulator::EmulatorEngine;
use warpladder::error::EngineError;
use warpladder_lab::profile::{self, Measurement, Profile, ProfileRecord};
use warpladder_lab::run::{Admitted, RunError, describe, preflight};

#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  warpladder profile naive_uncoalesced --shape 64
  warpladder profile transpose_padded --shape 64 --json -")]
pub(super) struct Args {
    /// The kernel
    kernel: String,
    #[command(flatten)]
    shapes: Shapes<Emulated>,
    /// Write everything that was counted as JSON; - is standard output
    #[arg(long, value_name = "FILE")]
    json: Option<String>,
    /// Show every source line, and the code inlined into it
    #[arg(long)]
    lines: bool,
}

const DEFAULT_SIZE: u32 = 256;

/// Runs that take as long as one that is checked and counted.
const COUNTED_RUNS: usize = 2;

pub(super) fn execute(args: &Args) -> anyhow::Result<Outcome> {
    let rung = select::kernel(&args.kernel)?;
    let json = args.json.as_deref().map(Destination::open).transpose()?;
    let engine = EmulatorEngine::new();
    let admitted = args
        .shapes
        .each(DEFAULT_SIZE)?
        .into_iter()
        .map(|asked| preflight(&engine, rung, asked.of(rung)?))
        .collect::<Result<Vec<Admitted>, _>>()?;
    let speed = EmulatorSpeed::measure(&engine, args.shapes.seed)?;
    let seconds = admitted
        .iter()
        .map(|admitted| speed.runs(rung, admitted.shape(), COUNTED_RUNS))
        .sum::<Result<f64, _>>()?;
    estimate::announce(seconds, "a smaller --shape takes less")?;
    let progress = progress::of_pieces(admitted.len())?;
    let mut profiles = Vec::new();
    for admitted in &admitted {
        progress.set_message(describe(rung.operation, admitted.shape()));
        let profile = profile::profile(&engine, admitted, args.shapes.seed);
        progress.inc(1);
        match profile {
            // A kernel that fails is a failed check, as in `run`.
            Err(RunError::Engine(error @ EngineError::Launch { .. })) => {
                writeln!(output::stdout(), "{error}")?;
                return Ok(Outcome::ChecksFailed);
            }
            outcome => profiles.push(outcome?),
        }
    }
    progress.finish_and_clear();
    let records: Vec<ProfileRecord> = profiles.iter().map(ProfileRecord::from).collect();
    let mut human = human_output(json.as_ref().is_some_and(Destination::is_stdout));
    if let Some(json) = json {
        json.write_records("profile", true, &records)?;
    }
    for (index, (profile, record)) in profiles.iter().zip(&records).enumerate() {
        if index > 0 {
            writeln!(human)?;
        }
        print(&mut human, profile, record, args.lines)?;
    }
    Ok(match records.iter().all(|record| record.ok) {
        true => Outcome::Done,
        false => Outcome::ChecksFailed,
    })
}

fn print(
    to: &mut dyn Write,
    profile: &Profile,
    record: &ProfileRecord,
    all_lines: bool,
) -> io::Result<()> {
    let size = describe(profile.rung.operation, profile.shape);
    let (kernel, element) = (record.kernel, record.element);
    let ran = record
        .ran
        .map_or(String::new(), |ran| format!(", which runs {ran},"));
    writeln!(
        to,
        "{kernel}{ran} at {size} ({element}) on the PTX emulator"
    )?;
    let verdict = if record.ok { "ok" } else { "FAIL: " };
    let complaint = record.complaint.as_deref().unwrap_or_default();
    totals::print_figure(to, "check", &format!("{verdict}{complaint}"))?;
    print_measurement(to, &record.measurement, all_lines)
}

/// Prints what was counted: totals, then by class, then by source line, every one of them where
/// `all_lines`.
pub(super) fn print_measurement(
    to: &mut dyn Write,
    measurement: &Measurement,
    all_lines: bool,
) -> io::Result<()> {
    totals::print(to, measurement)?;
    if measurement.total.warp_instructions > 0 {
        totals::print_classes(to, measurement)?;
        lines::print(to, measurement, all_lines)?;
    }
    Ok(())
}

fn share(part: u64, record: &Measurement) -> String {
    format!(
        "{:.1}",
        100.0 * part as f64 / record.total.warp_instructions as f64
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpladder_lab::catalogue;
    use warpladder_lab::problem::Shape;

    fn report(kernel: &str, shape: Shape, all: bool) -> String {
        let rung = catalogue::find(kernel).unwrap();
        let engine = EmulatorEngine::new();
        let admitted = preflight(&engine, rung, shape).unwrap();
        let profile = profile::profile(&engine, &admitted, 1).unwrap();
        let record = ProfileRecord::from(&profile);
        let mut text = Vec::new();
        print(&mut text, &profile, &record, all).unwrap();
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn a_report_explains_the_kernel_and_names_its_lines() {
        let shape = Shape { m: 32, n: 64, k: 1 };
        let text = report("transpose_coalesced", shape, false);
        for part in [
            "transpose_coalesced at 32 x 64 (f32) on the PTX emulator\n",
            "\n  check                 ok\n",
            "\n  shared loads          64 requests, 2,048 wavefronts (32.00 times the ideal), \
             bank conflicts up to 32-way; 8,192 bytes requested\n",
            "\n  global stores         64 requests, 256 sectors (4.00 per request);",
            "kernels-gpu/src/ladder/transpose/mod.rs:",
            "*output.add(to) = *tile.add(word(tx, ty));",
        ] {
            assert!(text.contains(part), "{part} in\n{text}");
        }
        assert!(!text.contains("cuda_std/src/thread.rs"), "{text}");
        assert!(report("transpose_coalesced", shape, true).contains("cuda_std/src/thread.rs"));
    }

    #[test]
    fn what_cannot_run_is_refused() {
        let large = Shape {
            m: u32::MAX,
            n: u32::MAX,
            k: u32::MAX,
        };
        for (kernel, shape, message) in [
            (
                "cpu_naive",
                Shape { m: 1, n: 1, k: 1 },
                "cpu_naive runs on the host",
            ),
            (
                "tiled_32",
                Shape {
                    m: 33,
                    n: 32,
                    k: 32,
                },
                "tiled_32 takes multiples of 32",
            ),
            ("naive", large, "use a smaller size"),
        ] {
            let rung = catalogue::find(kernel).unwrap();
            let engine = EmulatorEngine::new();
            let profiled = preflight(&engine, rung, shape)
                .and_then(|admitted| profile::profile(&engine, &admitted, 1));
            let refused = profiled.unwrap_err();
            assert!(refused.to_string().contains(message), "{refused}");
        }
    }
}
