//! The part of the page that is about one kernel.

use super::content::Content;
use super::counted::Counted;
use super::html_table::cell;
use super::ladders::{key, predicted_shape, shape};
use crate::numbers;
use maud::{Markup, html};
use warpladder::engine::EngineKind;
use warpladder_lab::catalogue::Rung;
use warpladder_lab::profile::{LineCounters, SourceFile, SourceLine, distinct};
use warpladder_lab::run::{Record, describe};

/// One kernel: what it is, what was measured and predicted, what the emulator counted, and its
/// source.
pub fn article(report: &Content, rung: &'static Rung) -> Markup {
    let counted = report.counted.get(rung.name);
    html! {
        article id={ "kernel-" (rung.name) } {
            h3 { code { (rung.name) } }
            p { (rung.summary) "." }
            p.muted {
                (rung.family) ", " (rung.element)
                @if rung.source != "-" {
                    @let word = if rung.source.contains(',') { "sources" } else { "source" };
                    ", " (word) " " (rung.source)
                }
                ", takes " (rung.precondition.describe(rung.operation))
                @if let Some(base) = rung.improves_on() {
                    ", changes "
                    @if report.data.measured.iter().any(|record| record.kernel == base.name) {
                        a href={ "#kernel-" (base.name) } { code { (base.name) } }
                    } @else {
                        code { (base.name) }
                    }
                }
                "."
            }
            (times(report, rung))
            @if let Some(reason) = report.refused.get(rung.name) {
                p.muted { "No prediction: " (reason) "." }
            }
            @if let Some(counted) = counted {
                (counts(counted))
                @if !counted.listing.is_empty() {
                    details {
                        summary { "Rust source of " (rung.name) ", line by line" }
                        @for file in &counted.listing {
                            (source(file, &counted.size))
                        }
                    }
                }
            }
            p { a href="#kernels" { "All kernels" } }
        }
    }
}

fn times(report: &Content, rung: &'static Rung) -> Markup {
    let data = &report.data;
    let records = data.measured.iter();
    let records: Vec<&Record> = records
        .filter(|record| record.kernel == rung.name)
        .collect();
    let is_timed = !data.is_emulated() || records.iter().any(|record| record.median_ms.is_some());
    html! {
        div.scroll tabindex="0" role="region" aria-label={ "Times of " (rung.name) } {
            table.times {
                thead { tr {
                    th scope="col" { "size" }
                    @if is_timed {
                        th.n scope="col" { "ms" }
                        th.n scope="col" { "noise %" }
                        th.n scope="col" { "GFLOP/s" }
                        th.n scope="col" { "GB/s" }
                        th.n scope="col" { "with transfers, ms" }
                    }
                    th.n scope="col" { "predicted, ms" }
                    th scope="col" { "predicted bound" }
                } }
                tbody {
                    @for record in &records {
                        @let at = predicted_shape(record, rung);
                        @let predicted = (record.engine != EngineKind::Cpu)
                            .then(|| data.prediction_of(rung.name, key(rung, at)))
                            .flatten();
                        tr {
                            td {
                                (describe(rung.operation, shape(record)))
                                @if at != shape(record) {
                                    ", predicted at " (describe(rung.operation, at))
                                }
                            }
                            @if !record.ok {
                                td.bad colspan=(if is_timed { "5" } else { "1" }) {
                                    "the output was wrong"
                                }
                            } @else if is_timed {
                                (cell(record.median_ms))
                                (cell(record.noise_pct))
                                (cell(record.gflops))
                                (cell(record.gbs))
                                (cell(record.host_to_host_ms))
                            }
                            @if record.ok || is_timed {
                                (cell(predicted.map(|predicted| predicted.predicted_ms)))
                            }
                            td {
                                @if let Some(predicted) = predicted {
                                    (predicted.bound.to_string())
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn counts(counted: &Counted) -> Markup {
    let facts = [
        ("warp instructions", Some(counted.instructions as f64)),
        ("lanes per instruction", counted.lanes),
        ("sectors per global request", counted.sectors),
        ("shared wavefronts per ideal one", counted.conflicts),
        ("FLOP per global byte", counted.intensity),
    ];
    html! {
        p.muted { "Counted on the emulator at " (counted.size) ":" }
        dl.facts {
            @for (name, value) in facts {
                @if let Some(value) = value {
                    div { dt { (name) } dd { (numbers::short(value)) } }
                }
            }
        }
    }
}

fn source(file: &SourceFile, size: &str) -> Markup {
    html! {
        div.scroll tabindex="0" role="region" aria-label={ "Source in " (file.file) } {
            table.source {
                caption {
                    code { (file.file) }
                    ": share of the warp instructions at " (size)
                    ", sectors per global request, shared wavefronts per ideal one"
                }
                thead { tr {
                    th.n scope="col" { abbr title="share of the warp instructions" { "%" } }
                    th.n scope="col" {
                        abbr title="sectors per request of global memory" { "sect." }
                    }
                    th.n scope="col" {
                        abbr title="wavefronts of shared memory per ideal one" { "confl." }
                    }
                    th.n scope="col" { "line" }
                    th scope="col" { "source" }
                } }
                tbody {
                    @for (index, line) in file.lines.iter().enumerate() {
                        @if index > 0 && file.lines[index - 1].number + LONGEST_STEP < line.number {
                            tr { td {} td {} td {} td.n { "⋯" } td.code {} }
                        }
                        @let share = line.counters.as_ref().map(|counters| 100.0 * counters.share);
                        @let heat = share.map(|share| format!("--h:{:.0}%", share.min(60.0)));
                        tr {
                            td.n { @if let Some(share) = share { (format!("{share:.1}")) } }
                            td.n { (ratios(line, |counters| &counters.sectors_per_request)) }
                            td.n { (ratios(line, |counters| &counters.wavefronts_per_ideal)) }
                            td.n { (line.number) }
                            td.code style=[heat] { (line.text) }
                        }
                    }
                }
            }
        }
    }
}

/// The ratios of a line's accesses; nothing where there is none.
fn ratios(line: &SourceLine, of: fn(&LineCounters) -> &Vec<f64>) -> String {
    match line.counters.as_ref().map(of) {
        Some(ratios) if !ratios.is_empty() => distinct(ratios.iter().copied().map(Some)),
        _ => String::new(),
    }
}

/// From a line to the next one, where no more than a mark for the book is left out between them.
const LONGEST_STEP: u32 = 2;
