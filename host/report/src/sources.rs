//! The tables of the sources, beside what came out here.

use super::content::Content;
use super::html_table::kernel_link;
use crate::numbers;
use maud::{Markup, html};

/// The sources' tables beside ours.
pub fn sources(report: &Content) -> Option<Markup> {
    let rows = &report.data.reproduced[..];
    if rows.is_empty() {
        return None;
    }
    let device = report.data.device_name();
    let step = |step: Option<f64>| step.map_or(String::new(), |step| format!("{step:.2}×"));
    Some(html! {
        p {
            "What the courses and articles say of their machines, and what "
            @match device {
                Some(device) => { "came out on the " (device) }
                None => { "the emulator counted: no GPU was measured" }
            }
            " (" code { "warpladder reproduce" } "). A step is how many times better a rung is than \
             the one before; figures of old \
             hardware do not come out again, \
             their steps should, or a reason for which they do not."
        }
        @for table in rows.chunk_by(|a, b| (&a.source, &a.group) == (&b.source, &b.group)) {
            @let first = &table[0];
            @let title = format!("{}: {}", first.source.number(), first.group);
            h3 { (title) }
            p.muted { (first.hardware) "; " (first.problem) }
            div.scroll tabindex="0" role="region" aria-label={ "Source " (title) } {
                table {
                    thead { tr {
                        th scope="col" { "rung" }
                        th.n scope="col" { "source" }
                        th.n scope="col" { "its step" }
                        th.n scope="col" { (device.unwrap_or("counted")) }
                        th.n scope="col" { "its step" }
                    } }
                    tbody {
                        @for row in table {
                            @let there = row.there.first();
                            @let here = row.here.first();
                            tr {
                                th scope="row" { (kernel_link(report, &row.rung)) }
                                td.n { (there.map_or("", |figure| &figure.words)) }
                                td.n { (step(there.and_then(|figure| figure.step))) }
                                td.n {
                                    @if let Some(here) = here && let Some(value) = here.value {
                                        (numbers::short(value)) " " (here.unit)
                                    }
                                }
                                td.n { (step(here.and_then(|here| here.step))) }
                            }
                        }
                    }
                }
            }
            ul.why {
                @for row in table {
                    @if let Some(over) = &row.over {
                        li { code { (row.rung) } " over " code { (over) } ": " (row.why) "." }
                    }
                }
            }
        }
    })
}
