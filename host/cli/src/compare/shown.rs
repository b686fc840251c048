//! Comparisons as text.

use crate::outcome::Outcome;
use crate::{table, units};
use comfy_table::Table;
use std::io::Write;
use warpladder_lab::compare::{PeerComparison, Summary};

/// A size, as [`describe`](warpladder_lab::run::describe) has it.
fn size(m: u32, n: u32, k: Option<u32>) -> String {
    match k {
        Some(k) => format!("{m} x {n} x {k}"),
        None => format!("{m} x {n}"),
    }
}

fn size_of(record: &PeerComparison) -> String {
    size(record.m, record.n, record.k)
}

/// What fits a terminal.
fn compact_table(comparisons: &[PeerComparison]) -> Table {
    let mut table = table::new(&["kernel", "size", "check", "peer", "ms", "peer ms", "ratio"]);
    for record in comparisons {
        table.add_row([
            (&record.kernel).into(),
            size_of(record).into(),
            table::verdict(record.ok),
            record.peer.as_str().into(),
            table::number(Some(record.median_ms)),
            table::number(Some(record.peer_ms)),
            table::number(Some(record.ratio)),
        ]);
    }
    table::align_numbers(&mut table, 4);
    table
}

fn wide_table(comparisons: &[PeerComparison]) -> Table {
    let mut table = table::new(&[
        "kernel", "element", "size", "layout", "check", "peer", "ms", "peer ms", "GFLOP/s", "peer",
        "GB/s", "peer", "ratio", "low", "high", "error", "peer's",
    ]);
    for record in comparisons {
        table.add_row([
            (&record.kernel).into(),
            record.element.into(),
            size_of(record).into(),
            record.layout.to_string().into(),
            table::verdict(record.ok),
            record.peer.as_str().into(),
            table::number(Some(record.median_ms)),
            table::number(Some(record.peer_ms)),
            table::number(record.gflops),
            table::number(record.peer_gflops),
            table::number(Some(record.gbs)),
            table::number(Some(record.peer_gbs)),
            table::number(Some(record.ratio)),
            table::number(Some(record.ratio_low)),
            table::number(Some(record.ratio_high)),
            table::number(record.error),
            table::number(record.peer_error),
        ]);
    }
    table::align_numbers(&mut table, 6);
    table
}

/// Prints the comparisons, and what they say together.
pub(super) fn print(
    to: &mut dyn Write,
    comparisons: &[PeerComparison],
    summaries: &[Summary],
    wide: bool,
) -> anyhow::Result<Outcome> {
    let Some(first) = comparisons.first() else {
        return Ok(Outcome::Done);
    };
    let samples = first.samples / first.rounds.max(1);
    writeln!(to, "{}, {samples} samples of each", first.device)?;
    let table = match wide {
        true => wide_table(comparisons),
        false => compact_table(comparisons),
    };
    writeln!(to, "{table}")?;
    writeln!(
        to,
        "ratio: how many times as fast as the peer, the median of neighbouring samples and its \
         quartiles"
    )?;
    let again = comparisons.iter().filter(|record| record.rounds > 1);
    let again = again.count();
    if again > 0 {
        let sizes = units::count(again, "size");
        writeln!(to, "timed in several rounds, whose median counts: {sizes}")?;
    }
    if comparisons.len() > 1 {
        print_summaries(to, summaries)?;
    }
    let failed: Vec<&PeerComparison> = comparisons.iter().filter(|record| !record.ok).collect();
    for record in &failed {
        let complaint = record.complaint.as_deref().unwrap_or("the output is wrong");
        writeln!(to, "{}: {complaint}", record.kernel)?;
    }
    if failed.is_empty() {
        writeln!(to, "{}", units::all_passed(comparisons.len()))?;
        Ok(Outcome::Done)
    } else {
        let (wrong, all) = (failed.len(), comparisons.len());
        writeln!(to, "{wrong} of {all} checks failed")?;
        Ok(Outcome::ChecksFailed)
    }
}

/// A row for each summary, and the problems on which each kernel does worst.
fn print_summaries(to: &mut dyn Write, summaries: &[Summary]) -> anyhow::Result<()> {
    let mut table = table::new(&[
        "kernel", "layouts", "sizes", "mean", "least", "low", "median", "high", "ahead",
    ]);
    for summary in summaries {
        let layouts: Vec<String> = summary.layouts.iter().map(ToString::to_string).collect();
        table.add_row([
            (&summary.kernel).into(),
            layouts.join(",").into(),
            summary.problems.into(),
            table::number(Some(summary.mean)),
            table::number(Some(summary.least)),
            table::number(Some(summary.low)),
            table::number(Some(summary.median)),
            table::number(Some(summary.high)),
            format!("{:.0} %", 100.0 * summary.ahead).into(),
        ]);
    }
    table::align_numbers(&mut table, 2);
    writeln!(
        to,
        "\nratios of all sizes: geometric mean, least, quartiles, and the share of sizes on which \
         the kernel is ahead"
    )?;
    writeln!(to, "{table}")?;
    let mut named: Option<&str> = None;
    for summary in summaries {
        // The first one of a kernel is over all of its layouts.
        if named.replace(&summary.kernel) == Some(&summary.kernel) {
            continue;
        }
        let worst = summary.worst.iter().map(|worst| {
            let size = size(worst.m, worst.n, worst.k);
            let ratio = table::figure(Some(worst.ratio));
            format!("{size} {}: {ratio}", worst.layout)
        });
        let worst = worst.collect::<Vec<_>>().join(", ");
        let line = format!("least ratios of {}: {worst}", summary.kernel);
        writeln!(to, "{}", table::wrapped(&line, 2))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpladder_lab::compare::summaries;

    /// A comparison, as a file has it.
    fn record(m: u32, layout: &str, ratio: f64, rounds: usize) -> PeerComparison {
        let record = serde_json::json!({
            "kernel": "sgemm", "peer": "cuBLASLt 13.1.0", "element": "f32", "m": m, "n": 8, "k": 9,
            "layout": layout, "device": "H200", "samples": 20 * rounds, "rounds": rounds,
            "launches": 1, "sets": 1, "rest_ms": 0, "median_ms": 1.0, "peer_ms": ratio,
            "gflops": 1.0, "peer_gflops": 1.0, "gbs": 1.0, "peer_gbs": 1.0, "ratio": ratio,
            "ratio_low": ratio, "ratio_high": ratio, "ok": true, "error": 0.0, "peer_error": 0.0,
            "tolerance": 1.0, "complaint": null,
        });
        serde_json::from_value(record).unwrap()
    }

    fn printed(records: &[PeerComparison]) -> String {
        let mut text = Vec::new();
        let outcome = print(&mut text, records, &summaries(records), false).unwrap();
        assert!(matches!(outcome, Outcome::Done));
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn a_summary_follows_several_comparisons() {
        let text = printed(&[record(7, "nn", 0.5, 4), record(8, "tn", 2.0, 1)]);
        assert!(text.starts_with("H200, 20 samples of each\n"), "{text}");
        assert!(text.contains("whose median counts: 1 size\n"), "{text}");
        let row = text.lines().find(|line| line.contains("nn,tn")).unwrap();
        let cells: Vec<&str> = row.split_whitespace().collect();
        let figures = [
            "2", "1.000", "0.5000", "0.8750", "1.250", "1.625", "50", "%",
        ];
        assert_eq!(cells[2..], figures, "{text}");
        let worst = "least ratios of sgemm: 7 x 8 x 9 nn: 0.5000, 8 x 8 x 9 tn: 2.000\n";
        assert!(text.contains(worst), "{text}");
        assert_eq!(text.matches("least ratios").count(), 1);
    }

    #[test]
    fn one_comparison_has_none() {
        let text = printed(&[record(7, "nn", 0.5, 1)]);
        assert!(
            !text.contains("geometric") && !text.contains("several rounds"),
            "{text}"
        );
    }
}
