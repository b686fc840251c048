//! The table of all kernels, then each of them.

use super::content::Content;
use super::html_table::{cell, kernel_link};
use super::kernel;
use super::ladders::{Ladder, key, ladders, metric, predicted_shape, shape};
use crate::numbers;
use maud::{Markup, html};
use std::collections::HashSet;
use warpladder_lab::catalogue::{self, Rung};
use warpladder_lab::run::{Record, describe};

/// The table of all kernels that ran, then each of them.
pub fn kernels(report: &Content) -> Option<Markup> {
    let data = &report.data;
    let ran: HashSet<&str> = data.measured.iter().map(|record| &*record.kernel).collect();
    let rungs: Vec<&Rung> = catalogue::rungs()
        .filter(|rung| ran.contains(rung.name))
        .collect();
    if rungs.is_empty() {
        return None;
    }
    let ladders = ladders(data, report.model.as_ref());
    Some(html! {
        p {
            @if data.is_emulated() {
                "What the emulator counted, at the size that the part on each kernel names, and \
                 what is predicted at the size beside it."
            } @else {
                "Medians. A kernel that ran at several sizes stands with that of its ladder; the \
                 part on it has all of them."
            }
            " Each name leads to its kernel."
        }
        // The script fills it.
        div #tools hidden {}
        div.scroll tabindex="0" role="region" aria-label="All kernels" {
            table #all {
                thead { tr {
                    th scope="col" { "kernel" }
                    th scope="col" { "family" }
                    th.n scope="col" { "size" }
                    @if data.is_emulated() {
                        th.n scope="col" { "warp instructions" }
                        th.n scope="col" { "sectors per request" }
                        th.n scope="col" { "wavefronts per ideal one" }
                    } @else {
                        th.n scope="col" { "ms" }
                        th.n scope="col" { "throughput" }
                    }
                    th.n scope="col" { "% of the peak" }
                    th.n scope="col" { "predicted, ms" }
                    @if data.is_emulated() {
                        th scope="col" { "bound by" }
                    } @else {
                        th.n scope="col" { "predicted ÷ measured" }
                    }
                } }
                tbody {
                    @for rung in &rungs {
                        (row(report, &ladders, rung))
                    }
                }
            }
        }
        div #diff {}
        @for rung in &rungs {
            (kernel::article(report, rung))
        }
    })
}

/// The record that stands for a kernel in the table: that of its ladder, else its first.
fn record<'d>(report: &'d Content, ladders: &[Ladder<'d>], rung: &Rung) -> Option<&'d Record> {
    let steps = ladders.iter().flat_map(|ladder| &ladder.steps);
    let mut steps = steps.filter(|step| step.rung.name == rung.name);
    let mut records = report.data.measured.iter();
    let first = records.find(|record| record.kernel == rung.name);
    steps.next().map(|step| step.record).or(first)
}

fn row(report: &Content, ladders: &[Ladder<'_>], rung: &'static Rung) -> Markup {
    let data = &report.data;
    let Some(record) = record(report, ladders, rung) else {
        return html! {};
    };
    let metric = metric(rung);
    let at = predicted_shape(record, rung);
    let predicted = data.prediction_of(rung.name, key(rung, at));
    let predicted_ms = predicted.map(|predicted| predicted.predicted_ms);
    let percent = ladders.iter().find_map(|ladder| {
        let step = ladder
            .steps
            .iter()
            .find(|step| step.rung.name == rung.name)?;
        ladder.percent(step)
    });
    let median = record.median_ms;
    let rate = median.map(|ms| metric.rate(rung, shape(record), ms));
    let counted = report.counted.get(rung.name);
    html! {
        tr {
            th scope="row" { (kernel_link(report, rung.name)) }
            td { (rung.family) }
            td.n { (describe(rung.operation, at)) }
            @if data.is_emulated() {
                (cell(counted.map(|counted| counted.instructions as f64)))
                (cell(counted.and_then(|counted| counted.sectors)))
                (cell(counted.and_then(|counted| counted.conflicts)))
            } @else {
                (cell(median))
                td.n { @if let Some(rate) = rate { (numbers::short(rate)) " " (metric.unit()) } }
            }
            td.n { @if let Some(percent) = percent { (numbers::percent(percent)) } }
            (cell(predicted_ms))
            @if data.is_emulated() {
                td { @if let Some(predicted) = predicted { (predicted.bound.to_string()) } }
            } @else {
                (cell(predicted_ms.zip(median).map(|(predicted, median)| predicted / median)))
            }
        }
    }
}
