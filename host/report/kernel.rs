//! The part of the page that is about one kernel.

use super::data::{Data, Measured};
use super::ladders::shape;
use super::listing::{Counted, Listing};
use super::page::{cell, figure};
use crate::catalogue::Rung;
use crate::run::describe;
use maud::{Markup, html};

/// One kernel: what it is, what was measured and predicted, what the emulator counted, and its source.
pub fn article(data: &Data, rung: &Rung, counted: Option<&Counted>) -> Markup {
    let measured = data.measured.iter();
    let measured: Vec<&Measured> = measured
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
                @if !counted.listings.is_empty() {
                    details {
                        summary { "Rust source of " (rung.name) ", line by line" }
                        @for listing in &counted.listings {
                            (source(listing, &counted.size))
                        }
                    }
                }
            }
            p { a href="#kernels" { "All kernels" } }
        }
    }
}

fn times(data: &Data, rung: &Rung, measured: &[&Measured]) -> Markup {
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
                    div { dt { (name) } dd { (figure(value)) } }
                }
            }
        }
    }
}

fn source(listing: &Listing, size: &str) -> Markup {
    html! {
        div.scroll tabindex="0" role="region" aria-label={ "Source in " (listing.file) } {
            table.source {
                caption {
                    code { (listing.file) }
                    ": share of the warp instructions at " (size)
                    ", sectors per global request, shared wavefronts per ideal one"
                }
                thead { tr {
                    th.n scope="col" { abbr title="share of the warp instructions" { "%" } }
                    th.n scope="col" { abbr title="sectors per request of global memory" { "sect." } }
                    th.n scope="col" { abbr title="wavefronts of shared memory per ideal one" { "confl." } }
                    th.n scope="col" { "line" }
                    th scope="col" { "source" }
                } }
                tbody {
                    @for line in &listing.lines {
                        @match line {
                            None => tr { td {} td {} td {} td.n { "⋯" } td.code {} },
                            Some(line) => {
                                @let counts = line.counts;
                                @let share = counts.map(|counts| 100.0 * counts.share);
                                @let heat = share.map(|share| format!("--h:{:.0}%", share.min(60.0)));
                                tr {
                                    td.n { @if let Some(share) = share { (format!("{share:.1}")) } }
                                    td.n { (ratio(counts.and_then(|counts| counts.sectors))) }
                                    td.n { (ratio(counts.and_then(|counts| counts.conflicts))) }
                                    td.n { (line.number) }
                                    td.code style=[heat] { (line.text) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// A ratio; nothing where there is none.
fn ratio(value: Option<f64>) -> String {
    value.map_or(String::new(), |value| format!("{value:.1}"))
}
