//! An explanation for people.

use super::{Chapter, Explanation, LaunchPart, LineCounters, OtherRung, SourceFile};
use std::fmt::Write;
use warpladder_models::occupancy::Limiter;

/// The explanation as one page of Markdown, whose tables are aligned for terminals as well.
pub fn page(of: &Explanation) -> String {
    let mut page = String::new();
    // Writing to a string does not fail.
    _ = write(&mut page, of);
    page
}

fn write(page: &mut String, of: &Explanation) -> std::fmt::Result {
    writeln!(page, "# {}: {}\n", of.kernel, of.summary)?;
    write!(page, "Family {}, {}", of.family, of.element)?;
    if of.source != "-" {
        write!(page, ", after source {}", of.source)?;
    }
    if let Some(ran) = of.ran {
        write!(page, "; runs {ran}")?;
    }
    writeln!(page, ".")?;
    for note in &of.notes {
        writeln!(page, "\n## {}\n\n{}", note.title, note.text)?;
    }
    times(page, of)?;
    for launch in &of.launches {
        part(page, of, launch)?;
    }
    memory(page, of)?;
    for file in &of.listing {
        source(page, file)?;
    }
    change(page, of)
}

fn size(m: u32, n: u32, k: Option<u32>) -> String {
    match k {
        Some(k) => format!("{m} x {n} x {k}"),
        None => format!("{m} x {n}"),
    }
}

fn times(page: &mut String, of: &Explanation) -> std::fmt::Result {
    writeln!(page, "\n## {} on {}\n", size(of.m, of.n, of.k), of.device)?;
    let rate = |ms: f64| match of.gflops {
        Some(gflops) => format!("{:.0} GFLOP/s", gflops * of.predicted_ms / ms),
        None => format!("{:.0} GB/s", of.gbs * of.predicted_ms / ms),
    };
    let predicted = of.predicted_ms;
    // What is not known is left out, and so the time is the least.
    let (least, most) = match of.launches.iter().any(|launch| !launch.unknown.is_empty()) {
        true => ("at least ", "at most "),
        false => ("", ""),
    };
    writeln!(
        page,
        "Predicted: {least}{predicted:.4} ms, {most}{}, bound by {}.",
        rate(predicted),
        of.bound
    )?;
    if let Some(capability) = of.compiled_for {
        writeln!(
            page,
            "The PTX that ships is for compute capability 7.0 and later: this is of the same \
             kernel, compiled for {capability}."
        )?;
    }
    match of.measured_ms {
        Some(ms) => writeln!(
            page,
            "Measured: {ms:.4} ms, {}; predicted over measured: {:.2}.",
            rate(ms),
            predicted / ms
        ),
        None => writeln!(page, "No measurement is kept for this GPU and size."),
    }
}

fn part(page: &mut String, of: &Explanation, part: &LaunchPart) -> std::fmt::Result {
    let (launch, occupancy) = (&part.launch, &part.occupancy);
    if of.launches.len() > 1 {
        writeln!(
            page,
            "\n### {}: {:.4} ms, bound by {}",
            part.entry, part.ms, part.bound
        )?;
    }
    let limiter = match occupancy.limiter {
        Limiter::Threads => "threads",
        Limiter::Blocks => "block slots",
        Limiter::Registers => "registers",
        Limiter::SharedMemory => "shared memory",
    };
    writeln!(
        page,
        "\n{} blocks of {} threads, {} registers and {} bytes of shared memory; resident on a \
         multiprocessor: {}, \
         {} warps ({:.0} % occupancy), limited by {limiter}.\n",
        launch.blocks,
        launch.threads_per_block,
        launch.registers_per_thread,
        launch.shared_bytes_per_block,
        match occupancy.blocks {
            1 => "1 block".to_owned(),
            blocks => format!("{blocks} blocks"),
        },
        occupancy.warps,
        100.0 * occupancy.fraction,
    )?;
    let rows = part.times.iter().map(|time| {
        [
            time.bound.to_string(),
            format!("{:.4}", time.seconds * 1e3),
            format!("{:.0}", 1e5 * time.seconds / part.ms),
        ]
    });
    table(page, ["bound", "ms alone", "% of the time"], rows)?;
    if !part.unknown.is_empty() {
        let unknown: Vec<String> = part.unknown.iter().map(ToString::to_string).collect();
        writeln!(
            page,
            "\nNot known of this GPU, and left out: {}.",
            unknown.join(", ")
        )?;
    }
    writeln!(page)?;
    let optional = |value: Option<f64>, digits: usize| {
        value.map_or("-".to_owned(), |value| format!("{value:.digits$}"))
    };
    let rows = part.levels.iter().map(|level| {
        [
            level.level.to_owned(),
            format!("{:.1}", level.bytes / 1e6),
            optional(level.intensity, 2),
            format!("{:.0}", level.roof_gbs),
            optional(level.attainable_gflops, 0),
            format!("{:.4}", level.ms),
        ]
    });
    let header = [
        "level",
        "MB moved",
        "FLOP/byte",
        "roof GB/s",
        "roof GFLOP/s",
        "ms",
    ];
    table(page, header, rows)?;
    if let Some(peak) = part.peak_gflops {
        writeln!(page, "\nThe peak of its units is {peak:.0} GFLOP/s.")?;
    }
    Ok(())
}

fn memory(page: &mut String, of: &Explanation) -> std::fmt::Result {
    let counted = &of.counted;
    let total = &counted.total;
    writeln!(
        page,
        "\n## Counted: {} at {}\n",
        counted.entry,
        size(counted.m, counted.n, counted.k)
    )?;
    writeln!(
        page,
        "- {} instructions of warps, {:.1} of 32 lanes active.",
        total.warp_instructions,
        counted.average_active_lanes.unwrap_or_default()
    )?;
    for (name, global) in [
        ("loads", &total.global_loads),
        ("stores", &total.global_stores),
    ] {
        if let Some(sectors) = global.sectors_per_request() {
            writeln!(
                page,
                "- Global {name}: {} requests, {sectors:.2} sectors each; {:.0} % of their bytes are \
                 asked for.",
                global.requests,
                100.0 * global.bytes as f64 / global.bytes_moved() as f64
            )?;
        }
    }
    for (name, shared) in [
        ("loads", &total.shared_loads),
        ("stores", &total.shared_stores),
    ] {
        if let Some(ratio) = shared.conflict_ratio() {
            let conflicts = match shared.worst_conflict {
                0 | 1 => "no bank conflicts".to_owned(),
                ways => format!("bank conflicts up to {ways}-way"),
            };
            writeln!(
                page,
                "- Shared {name}: {} requests, {ratio:.2} times the ideal number of wavefronts, \
                 {conflicts}.",
                shared.requests
            )?;
        }
    }
    if total.barriers > 0 {
        writeln!(page, "- Barriers: {} by warps.", total.barriers)?;
    }
    if total.divergent_branches > 0 {
        let (divergent, all) = (total.divergent_branches, total.branches);
        writeln!(page, "- Branches: {divergent} of {all} divergent.")?;
    }
    Ok(())
}

fn source(page: &mut String, file: &SourceFile) -> std::fmt::Result {
    writeln!(page, "\n## {}\n\n```text", file.file)?;
    writeln!(page, "instr %  sectors  wavefronts  line")?;
    let mut last = None;
    for line in &file.lines {
        if last.is_some_and(|last| last + 1 != line.number) {
            writeln!(page, "{:31}…", "")?;
        }
        last = Some(line.number);
        let [share, sectors, wavefronts] = match &line.counters {
            Some(counters) => cells(counters),
            None => Default::default(),
        };
        let text = format!(
            "{share:>7}  {sectors:>7}  {wavefronts:>10}  {:>4}  {}",
            line.number, line.text
        );
        writeln!(page, "{}", text.trim_end())?;
    }
    writeln!(page, "```")
}

fn cells(counters: &LineCounters) -> [String; 3] {
    let ratios = |ratios: &[f64]| match ratios {
        [] => String::new(),
        [one] => format!("{one:.1}"),
        [least, .., most] => format!("{least:.0}-{most:.0}"),
    };
    [
        format!("{:.1}", 100.0 * counters.share),
        ratios(&counters.sectors_per_request),
        ratios(&counters.wavefronts_per_ideal),
    ]
}

fn change(page: &mut String, of: &Explanation) -> std::fmt::Result {
    let change = &of.change;
    writeln!(page, "\n## What would help most\n")?;
    writeln!(
        page,
        "Relieve the {}: {}. Without this work it would be {:.2} times as fast.",
        change.bound, change.what, change.at_most
    )?;
    match &of.best {
        Some(best) => {
            let rung = of.ran.unwrap_or(of.kernel);
            write!(
                page,
                "\nThe fastest kernel for {} on {} ",
                size(of.m, of.n, of.k),
                of.device
            )?;
            other(page, best)?;
            writeln!(page, "{}", measured(best))?;
            learn(page, "It", best.chapter.as_ref())?;
            if let Some(step) = change
                .rung
                .as_ref()
                .filter(|step| step.kernel != best.kernel)
            {
                write!(page, "\nThe next step of the ladder, from `{rung}`, ")?;
                other(page, step)?;
                writeln!(page, "{}", measured(step))?;
                learn(page, "It", step.chapter.as_ref())?;
            }
            Ok(())
        }
        None => {
            writeln!(
                page,
                "\nNo kernel that computes the same is predicted to be faster for {} on {}.",
                size(of.m, of.n, of.k),
                of.device
            )?;
            learn(page, "This one", of.chapter.as_ref())
        }
    }
}

/// What another rung is, and how long it should take.
fn other(page: &mut String, rung: &OtherRung) -> std::fmt::Result {
    write!(
        page,
        "is `{}` ({}): {:.4} ms predicted, {:.2} times as fast",
        rung.kernel, rung.summary, rung.predicted_ms, rung.gain
    )
}

fn measured(rung: &OtherRung) -> String {
    match rung.measured_gain {
        Some(measured) => format!(" (measured: {measured:.2})."),
        None => ".".to_owned(),
    }
}

/// Where it is explained, and what to write oneself.
fn learn(page: &mut String, what: &str, chapter: Option<&Chapter>) -> std::fmt::Result {
    let Some(chapter) = chapter else {
        return Ok(());
    };
    write!(
        page,
        "{what} is in the chapter \"{}\" ({})",
        chapter.title, chapter.file
    )?;
    let commands = chapter
        .exercises
        .iter()
        .map(|name| format!("`warpladder learn {name}`"));
    let commands = commands.collect::<Vec<String>>().join(", ");
    match chapter.exercises.len() {
        0 => writeln!(page, "."),
        1 => writeln!(page, "; its exercise: {commands}."),
        _ => writeln!(page, "; its exercises: {commands}."),
    }
}

/// A table with its columns aligned: the first to the left, numbers to the right.
fn table<const N: usize>(
    page: &mut String,
    header: [&str; N],
    rows: impl Iterator<Item = [String; N]>,
) -> std::fmt::Result {
    let rows: Vec<[String; N]> = rows.collect();
    let widths: [usize; N] = std::array::from_fn(|column| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.chain([header[column].len(), 3]).max().unwrap_or(0)
    });
    let line = |cells: [&str; N]| {
        let cells = cells.iter().zip(widths).enumerate();
        let cells = cells.map(|(column, (cell, width))| match column {
            0 => format!(" {cell:<width$} |"),
            _ => format!(" {cell:>width$} |"),
        });
        format!("|{}", cells.collect::<String>())
    };
    writeln!(page, "{}", line(header))?;
    let rule = widths
        .iter()
        .enumerate()
        .map(|(column, width)| match column {
            0 => format!("{}|", "-".repeat(width + 2)),
            _ => format!("{}:|", "-".repeat(width + 1)),
        });
    writeln!(page, "|{}", rule.collect::<String>())?;
    for row in &rows {
        writeln!(
            page,
            "{}",
            line(std::array::from_fn(|column| &*row[column]))
        )?;
    }
    Ok(())
}
