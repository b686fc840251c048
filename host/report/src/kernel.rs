//! The part of the page that is about one kernel.

use super::counted::Counted;
use super::data::Data;
use super::ladders::shape;
use super::page::cell;
use crate::numbers;
use maud::{Markup, html};
use warpladder_lab::catalogue::Rung;
use warpladder_lab::profile::{LineCounters, SourceFile, SourceLine, distinct};
use warpladder_lab::run::{Record, describe};

/// One kernel: what it is, what was measured and predicted, what the emulator counted, and its
/// source.
pub fn article(data: &Data, rung: &Rung, counted: Option<&Counted>) -> Markup {
    let measured = data.measured.iter();
    let measured: Vec<&Record> = measured
        .filter(|measured| measured.kernel == rung.name)
        .collect();
    html! {
        article id={ "kernel-" (rung.name) } {
            h3 { code { (rung.name) } }
            p { (rung.summary) "." }
            p.muted {
                (rung.family) ", " (rung.element)
                @if rung.source != "-" { ", sources " (rung.source) }
                ", takes " (rung.precondition.describe(rung.operation)) "."
            }
            (times(data, rung, &measured))
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

fn times(data: &Data, rung: &Rung, measured: &[&Record]) -> Markup {
    html! {
        div.scroll tabindex="0" role="region" aria-label={ "Times of " (rung.name) } {
            table {
                thead { tr {
                    th scope="col" { "size" }
                    th.n scope="col" { "ms" }
                    th.n scope="col" { "noise %" }
                    th.n scope="col" { "GFLOP/s" }
                    th.n scope="col" { "GB/s" }
                    th.n scope="col" { "with transfers, ms" }
                    th.n scope="col" { "predicted, ms" }
                    th scope="col" { "predicted bound" }
                } }
                tbody {
                    @for measured in measured {
                        @let predicted = data.prediction(measured);
                        tr {
                            td { (describe(rung.operation, shape(measured))) }
                            @if measured.ok {
                                (cell(measured.median_ms))
                                (cell(measured.noise_pct))
                                (cell(measured.gflops))
                                (cell(measured.gbs))
                                (cell(measured.host_to_host_ms))
                            } @else {
                                td.bad colspan="5" { "the output was wrong" }
                            }
                            (cell(predicted.map(|predicted| predicted.predicted_ms)))
                            td { (predicted.map_or("", |predicted| &predicted.bound)) }
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
