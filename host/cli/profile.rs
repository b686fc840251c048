//! `warpladder profile`.

use super::output::Destination;
use super::select::{self, Size};
use super::{Outcome, table};
use crate::engine::EngineError;
use crate::engine::emulator::EmulatorEngine;
use crate::profile::{self, Profile, ProfileError, Record};
use crate::run::{RunError, describe};
use comfy_table::{Cell, CellAlignment};
use ptx_emulator::counters::{
    ClassCounts, ConstantCounts, Counts, GlobalCounts, LineCounts, Place, PlainCounts, SharedCounts,
};
use ptx_emulator::{InstructionClass, Space};
use std::collections::HashMap;
use std::io::{self, Write};
use std::path::Path;

#[derive(clap::Args)]
pub(super) struct Args {
    /// The kernel
    kernel: String,
    #[command(flatten)]
    size: Size,
    /// Seed of the random inputs
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Write everything that was counted as JSON; - is standard output
    #[arg(long, value_name = "FILE")]
    json: Option<String>,
    /// Show every source line, and the code inlined into it
    #[arg(long)]
    lines: bool,
}

const DEFAULT_SIZE: u32 = 256;

/// Lines with a smaller share of the instructions are left out unasked, unless they access memory.
const LEAST_SHARE: f64 = 0.005;

pub(super) fn execute(args: &Args) -> anyhow::Result<Outcome> {
    let rung = select::kernel(&args.kernel)?;
    let shape = args.size.shape(DEFAULT_SIZE);
    let json = args.json.as_deref().map(Destination::open).transpose()?;
    let engine = EmulatorEngine::new();
    let profile = match profile::profile(&engine, rung, shape, args.seed) {
        // A kernel that fails is a failed check, as in `run`.
        Err(ProfileError::Run(RunError::Engine(error @ EngineError::Launch { .. }))) => {
            writeln!(io::stdout(), "{error}")?;
            return Ok(Outcome::ChecksFailed);
        }
        outcome => outcome?,
    };
    let record = Record::from(&profile);
    // JSON on standard output must stay parseable: the report then goes to standard error.
    let mut people: Box<dyn Write> = match &json {
        Some(json) if json.is_stdout() => Box::new(io::stderr().lock()),
        _ => Box::new(io::stdout().lock()),
    };
    if let Some(json) = json {
        let mut text = serde_json::to_vec_pretty(&record)?;
        text.push(b'\n');
        json.write(&text)?;
    }
    print_totals(&mut people, &profile, &record)?;
    if record.total.warp_instructions > 0 {
        print_classes(&mut people, &record)?;
        print_lines(&mut people, &record, args.lines)?;
    }
    Ok(match record.ok {
        true => Outcome::Done,
        false => Outcome::ChecksFailed,
    })
}

fn print_totals(to: &mut dyn Write, profile: &Profile, record: &Record) -> io::Result<()> {
    let size = describe(profile.rung.operation, profile.shape);
    let (kernel, element) = (record.kernel, record.element);
    let ran = record
        .ran
        .map_or(String::new(), |ran| format!(", which runs {ran},"));
    writeln!(
        to,
        "{kernel}{ran} at {size} ({element}) on the PTX emulator"
    )?;
    for (name, figures) in totals(record) {
        writeln!(to, "  {name:22}{figures}")?;
    }
    Ok(())
}

/// The lines of the totals: name and figures.
fn totals(record: &Record) -> Vec<(&'static str, String)> {
    let total = &record.total;
    let verdict = if record.ok { "ok" } else { "FAIL: " };
    let complaint = record.complaint.as_deref().unwrap_or_default();
    let mut lines = vec![("check", format!("{verdict}{complaint}"))];
    if total.warp_instructions == 0 {
        lines.push((
            "instructions",
            "none: there is nothing to compute".to_owned(),
        ));
        return lines;
    }
    lines.push(("instructions", instructions(total)));
    if total.branches > 0 {
        let (branches, divergent) = (grouped(total.branches), grouped(total.divergent_branches));
        let figures = format!("{branches} by warps, {divergent} divergent");
        lines.push(("conditional branches", figures));
    }
    if total.barriers > 0 {
        lines.push(("barriers", format!("{} by warps", grouped(total.barriers))));
    }
    lines.push(("floating point", flops(record)));
    let accesses = [
        ("global loads", global_accesses(&total.global_loads)),
        ("global stores", global_accesses(&total.global_stores)),
        ("global atomics", global_accesses(&total.global_atomics)),
        ("distinct bytes", Some(footprint(record))),
        ("shared loads", shared_accesses(&total.shared_loads)),
        ("shared stores", shared_accesses(&total.shared_stores)),
        ("shared atomics", plain_accesses(&total.shared_atomics)),
        ("local loads", plain_accesses(&total.local_loads)),
        ("local stores", plain_accesses(&total.local_stores)),
        ("constant loads", constant_accesses(&total.constant_loads)),
    ];
    let present = accesses
        .into_iter()
        .filter_map(|(name, figures)| Some((name, figures?)));
    lines.extend(present);
    lines
}

fn instructions(total: &Counts) -> String {
    format!(
        "{} by warps, {} by threads; {} of 32 lanes active on average",
        grouped(total.warp_instructions),
        grouped(total.thread_instructions),
        decimal(total.average_active_lanes()),
    )
}

fn flops(record: &Record) -> String {
    match record.total.flops {
        0 => "none".to_owned(),
        flops => format!(
            "{} FLOP: {} per byte moved, {} per distinct byte",
            grouped(flops),
            decimal(record.flops_per_byte_moved),
            decimal(record.flops_per_distinct_byte),
        ),
    }
}

fn footprint(record: &Record) -> String {
    let touched = &record.footprint;
    format!(
        "{} read, {} written; {} in whole sectors",
        grouped(touched.bytes_read),
        grouped(touched.bytes_written),
        grouped(touched.sector_bytes()),
    )
}

fn global_accesses(global: &GlobalCounts) -> Option<String> {
    (global.requests > 0).then(|| {
        format!(
            "{} requests, {} sectors ({} per request); {} bytes asked, {} moved",
            grouped(global.requests),
            grouped(global.sectors),
            decimal(global.sectors_per_request()),
            grouped(global.bytes),
            grouped(global.bytes_moved()),
        )
    })
}

fn shared_accesses(shared: &SharedCounts) -> Option<String> {
    (shared.requests > 0).then(|| {
        let worst = match shared.worst_conflict {
            1 => "no bank conflicts".to_owned(),
            ways => format!("bank conflicts up to {ways}-way"),
        };
        format!(
            "{} requests, {} wavefronts ({} times the ideal), {worst}; {} bytes asked",
            grouped(shared.requests),
            grouped(shared.wavefronts),
            decimal(shared.conflict_ratio()),
            grouped(shared.bytes),
        )
    })
}

fn constant_accesses(constant: &ConstantCounts) -> Option<String> {
    (constant.requests > 0).then(|| {
        format!(
            "{} requests for {} addresses; {} bytes asked",
            grouped(constant.requests),
            grouped(constant.addresses),
            grouped(constant.bytes),
        )
    })
}

fn plain_accesses(plain: &PlainCounts) -> Option<String> {
    (plain.requests > 0).then(|| {
        let (requests, bytes) = (grouped(plain.requests), grouped(plain.bytes));
        format!("{requests} requests; {bytes} bytes asked")
    })
}

fn print_classes(to: &mut dyn Write, record: &Record) -> io::Result<()> {
    let mut classes: Vec<&ClassCounts> = record.classes.iter().collect();
    classes.sort_by_key(|class| std::cmp::Reverse(class.warp_instructions));
    let mut table = table::new(&["instructions", "by warps", "by threads", "share %"]);
    for class in classes {
        table.add_row([
            class_name(class),
            grouped(class.warp_instructions),
            grouped(class.thread_instructions),
            share(class.warp_instructions, record),
        ]);
    }
    table::align_numbers(&mut table, 1);
    writeln!(to, "\n{table}")
}

fn class_name(counts: &ClassCounts) -> String {
    let name = match counts.class {
        InstructionClass::Float32 => "f32 arithmetic",
        InstructionClass::Fma32 => "f32 fused multiply-add",
        InstructionClass::Float64 => "f64 arithmetic",
        InstructionClass::Fma64 => "f64 fused multiply-add",
        InstructionClass::Half => "f16, bf16 arithmetic",
        InstructionClass::Integer => "integer",
        InstructionClass::Compare => "comparison, selection",
        InstructionClass::Move => "move",
        InstructionClass::Conversion => "conversion",
        InstructionClass::Load => "load",
        InstructionClass::Store => "store",
        InstructionClass::Atomic => "atomic",
        InstructionClass::Control => "control",
        InstructionClass::Barrier => "barrier, fence",
        InstructionClass::Warp => "warp exchange",
        InstructionClass::Other => "other",
    };
    let space = match counts.space {
        None => return name.to_owned(),
        Some(Space::Generic) => "generic",
        Some(Space::Global) => "global",
        Some(Space::Shared) => "shared",
        Some(Space::Local) => "local",
        Some(Space::Const) => "constant",
        Some(Space::Param) => "parameter",
    };
    format!("{name}, {space}")
}

fn print_lines(to: &mut dyn Write, record: &Record, all: bool) -> io::Result<()> {
    let is_shown = |line: &&LineCounts| {
        let counts = &line.counts;
        let least = LEAST_SHARE * record.total.warp_instructions as f64;
        all || counts.warp_instructions as f64 >= least
            || counts.global().requests + counts.shared().requests > 0
    };
    let shown: Vec<&LineCounts> = record.lines.iter().filter(is_shown).collect();
    let mut table = table::new(&[
        "line",
        "instructions",
        "share %",
        "sectors/request",
        "wavefronts/ideal",
        "source",
    ]);
    table.set_content_arrangement(comfy_table::ContentArrangement::Disabled);
    let mut sources = Sources::default();
    for line in &shown {
        add_line(
            &mut table,
            "",
            &line.place,
            &line.counts,
            record,
            &mut sources,
        );
        for inlined in line.inlined.iter().filter(|_| all) {
            add_line(
                &mut table,
                "  ",
                &inlined.place,
                &inlined.counts,
                record,
                &mut sources,
            );
        }
    }
    for column in table.column_iter_mut().skip(1).take(4) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    writeln!(to, "\n{table}")?;
    let left_out = record.lines.len() - shown.len();
    if left_out > 0 {
        writeln!(
            to,
            "left out: {left_out} lines with few instructions (--lines shows them)"
        )?;
    }
    Ok(())
}

fn add_line(
    table: &mut comfy_table::Table,
    indent: &str,
    place: &Place,
    counts: &Counts,
    record: &Record,
    sources: &mut Sources,
) {
    let number = match place.line {
        0 => "-".to_owned(),
        line => line.to_string(),
    };
    table.add_row([
        Cell::new(format!("{indent}{}:{number}", place.file)),
        Cell::new(grouped(counts.warp_instructions)),
        Cell::new(share(counts.warp_instructions, record)),
        Cell::new(decimal(counts.global().sectors_per_request())),
        Cell::new(decimal(counts.shared().conflict_ratio())),
        Cell::new(sources.line(place)),
    ]);
}

/// Source files, read once each.
#[derive(Default)]
struct Sources(HashMap<String, Vec<String>>);

/// Longest piece of a source line that is shown, in characters.
const SOURCE_WIDTH: usize = 72;

impl Sources {
    /// The text of a line, where the source tree is there.
    fn line(&mut self, place: &Place) -> String {
        let lines = self.0.entry(place.file.clone()).or_insert_with(|| {
            let here = std::fs::read_to_string(&place.file);
            let built =
                || std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(&place.file));
            let text = here.or_else(|_| built()).unwrap_or_default();
            text.lines().map(|line| line.trim().to_owned()).collect()
        });
        let index = (place.line as usize).wrapping_sub(1);
        let text = lines.get(index).map_or("", String::as_str);
        match text.char_indices().nth(SOURCE_WIDTH) {
            Some((end, _)) => format!("{}…", &text[..end]),
            None => text.to_owned(),
        }
    }
}

fn share(part: u64, record: &Record) -> String {
    format!(
        "{:.1}",
        100.0 * part as f64 / record.total.warp_instructions as f64
    )
}

/// A ratio with two decimals; a dash where there is none.
fn decimal(value: Option<f64>) -> String {
    value.map_or("-".to_owned(), |value| format!("{value:.2}"))
}

/// A whole number with commas between thousands.
fn grouped(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue;
    use crate::problem::Shape;

    fn report(kernel: &str, shape: Shape, all: bool) -> String {
        let rung = catalogue::find(kernel).unwrap();
        let profile = profile::profile(&EmulatorEngine::new(), rung, shape, 1).unwrap();
        let record = Record::from(&profile);
        let mut text = Vec::new();
        print_totals(&mut text, &profile, &record).unwrap();
        print_classes(&mut text, &record).unwrap();
        print_lines(&mut text, &record, all).unwrap();
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
             bank conflicts up to 32-way; 8,192 bytes asked\n",
            "\n  global stores         64 requests, 256 sectors (4.00 per request);",
            "kernels-gpu/src/transpose/mod.rs:",
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
            let refused = profile::profile(&EmulatorEngine::new(), rung, shape, 1).unwrap_err();
            assert!(refused.to_string().contains(message), "{refused}");
        }
    }

    #[test]
    fn thousands_are_set_apart() {
        for (value, text) in [
            (0, "0"),
            (999, "999"),
            (1000, "1,000"),
            (33_554_432, "33,554,432"),
        ] {
            assert_eq!(grouped(value), text);
        }
    }
}
