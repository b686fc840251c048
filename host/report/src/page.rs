//! The page as a whole.

use super::counted::Counted;
use super::data::Data;
use super::kernel;
use super::ladders::{self, Metric, metric};
use crate::numbers;
use crate::plot::{Chart, DrawError, Plot, Size, style_sheet};
use crate::sweep;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use std::collections::HashMap;
use warpladder_lab::catalogue::{self, Rung};
use warpladder_lab::reproduce::Row;
use warpladder_lab::run::Record;

const STYLE: &str = include_str!("style.css");

/// The sections with their headings, in order.
const SECTIONS: [(&str, &str); 6] = [
    ("ladders", "Ladders"),
    ("roofline", "Roofline"),
    ("sizes", "Sizes"),
    ("warps", "Warps"),
    ("sources", "Sources"),
    ("kernels", "Kernels"),
];

pub fn html(data: &Data, counted: &HashMap<String, Counted>) -> Result<String, DrawError> {
    let sections = [
        plots(&ladders::ladders(data))?,
        plots(ladders::roofline(data, counted).as_slice())?,
        plots(&ladders::sizes(data))?,
        plots(&data.sweeps.iter().map(sweep::plot).collect::<Vec<_>>())?,
        sources(&data.reproduced),
        kernels(data, counted),
    ];
    let title = match data.device_name() {
        Some(name) => format!("warpladder on {name}"),
        None => "warpladder".to_owned(),
    };
    // A rule of a style sheet needs no escaping: it is ours.
    let dark = format!("@media (prefers-color-scheme:dark){{{}}}", style_sheet());
    let shown = || {
        let sections = SECTIONS.iter().zip(&sections);
        sections.filter(|(_, content)| content.is_some())
    };
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width,initial-scale=1";
                // Without it a browser asks a server for one.
                link rel="icon" href="data:,";
                title { (title) }
                style { (PreEscaped(STYLE)) (PreEscaped(dark)) }
            }
            body {
                a.skip href="#content" { "Skip to the content" }
                header {
                    h1 { (title) }
                    p {
                        "GPU kernels written in Rust, each checked before it is timed; predictions \
                         are made from what an \
                         emulator counts. Results from " (data.origin) "."
                    }
                    (facts(data))
                }
                nav aria-label="Sections" {
                    ul {
                        @for ((id, heading), _) in shown() {
                            li { a href={ "#" (id) } { (heading) } }
                        }
                    }
                }
                main id="content" {
                    @for ((id, heading), content) in shown() {
                        section aria-labelledby=(id) {
                            h2 id=(id) { (heading) }
                            @if let Some(content) = content { (content) }
                        }
                    }
                }
                footer {
                    p.muted { "Made by warpladder " (env!("CARGO_PKG_VERSION")) "." }
                }
            }
        }
    };
    Ok(page.into_string())
}

/// What is known of the device, and of the conditions of the runs.
fn facts(data: &Data) -> Markup {
    let mut facts: Vec<(&str, String)> = Vec::new();
    let mut fact = |name, value: Option<String>| {
        if let Some(value) = value {
            facts.push((name, value));
        }
    };
    fact("device", data.device_name().map(str::to_owned));
    let records = &data.measured;
    let recorded_driver = records.iter().find_map(|record| record.driver.clone());
    let recorded_limit = records.iter().find_map(|record| record.power_limit_w);
    let state = data
        .device
        .as_ref()
        .and_then(|device| device.state.as_ref());
    if let Some(device) = &data.device {
        fact(
            "compute capability",
            Some(device.compute_capability.to_string()),
        );
        fact("multiprocessors", Some(device.multiprocessors.to_string()));
        let clock = format!("up to {} MHz", device.clock_khz / 1000);
        fact("clock", Some(clock));
        let gib = device.memory_bytes as f64 / f64::from(1 << 30);
        let bandwidth = numbers::short(device.peak_bandwidth_gbs);
        fact("memory", Some(format!("{gib:.0} GiB, {bandwidth} GB/s")));
        let mib = device.l2_bytes as f64 / f64::from(1 << 20);
        fact("L2 cache", Some(format!("{mib:.0} MiB")));
        fact("CUDA", Some(device.cuda_version.clone()));
    }
    let driver = recorded_driver.or_else(|| state?.driver_version.clone());
    fact("driver", driver);
    let limit = recorded_limit.or_else(|| state?.power_limit_w);
    fact("power limit", limit.map(|watts| format!("{watts:.0} W")));
    let temperatures = records.iter().filter_map(|record| record.temperature_c);
    let hottest = temperatures.max();
    fact(
        "hottest",
        hottest.map(|temperature| format!("{temperature} °C")),
    );
    let before = state.and_then(|state| state.temperature_c);
    fact(
        "before the runs",
        before.map(|temperature| format!("{temperature} °C")),
    );
    fact("clocks held down", throttled(records));
    fact("checks", Some(checks(records)));
    let samples = records.iter().map(|record| record.samples).max();
    fact(
        "samples",
        samples.map(|most| format!("up to {most} of each, medians shown")),
    );
    html! {
        dl.facts {
            @for (name, value) in &facts {
                div { dt { (name) } dd { (value) } }
            }
        }
    }
}

/// What held clocks down in how many records; `None` where none of them tells.
fn throttled(records: &[Record]) -> Option<String> {
    let told: Vec<&str> = records
        .iter()
        .filter_map(|record| record.throttled.as_deref())
        .collect();
    let held: Vec<&str> = told
        .iter()
        .copied()
        .filter(|told| *told != "none")
        .collect();
    let mut reasons: Vec<&str> = held.iter().flat_map(|told| told.split(' ')).collect();
    reasons.sort_unstable();
    reasons.dedup();
    match (told.is_empty(), held.is_empty()) {
        (true, _) => None,
        (_, true) => Some("never".to_owned()),
        _ => Some(format!(
            "in {} of {} runs: {}",
            held.len(),
            told.len(),
            reasons.join(", ").replace('_', " ")
        )),
    }
}

fn checks(records: &[Record]) -> String {
    let right = records.iter().filter(|record| record.ok).count();
    match records.len() {
        all if all == right => format!("all {all} passed"),
        all => format!("{} of {all} failed", all - right),
    }
}

/// Figures, each for a screen and for a telephone; `None` without any.
fn plots(plots: &[Plot]) -> Result<Option<Markup>, DrawError> {
    let figures = plots
        .iter()
        .map(|plot| {
            let wide = with_class(&plot.chart.svg(Size::Wide)?, "wide");
            let narrow = with_class(&plot.chart.svg(Size::Narrow)?, "narrow");
            Ok(html! {
                figure {
                    h3 id={ "plot-" (plot.name) } { (plot.title) }
                    (PreEscaped(wide))
                    (PreEscaped(narrow))
                    figcaption { (plot.caption) }
                    (as_table(plot))
                }
            })
        })
        .collect::<Result<Vec<Markup>, DrawError>>()?;
    Ok((!figures.is_empty()).then(|| html! { @for figure in &figures { (figure) } }))
}

/// A plot with a class; screen readers are given the table below it.
fn with_class(svg: &str, class: &str) -> String {
    let svg = svg.trim_start_matches("<svg");
    format!("<svg class=\"{class}\" aria-hidden=\"true\"{svg}")
}

/// The numbers of a plot.
fn as_table(plot: &Plot) -> Markup {
    let (header, rows): (Vec<String>, Vec<Vec<String>>) = match &plot.chart {
        Chart::Bars(bars) => {
            let header = ["kernel", bars.unit, "predicted"].map(str::to_owned);
            let rows = bars.bars.iter().map(|bar| {
                let predicted = bar.predicted.map_or(String::new(), numbers::short);
                vec![bar.label.clone(), numbers::short(bar.value), predicted]
            });
            (header.to_vec(), rows.collect())
        }
        Chart::Lines(lines) => {
            let names = lines.series.iter().map(|series| series.name.clone());
            let header = [lines.x.to_owned()].into_iter().chain(names).collect();
            let points = lines.series.iter().flat_map(|series| &series.points);
            let mut xs: Vec<f64> = points.map(|point| point.0).collect();
            xs.sort_by(f64::total_cmp);
            xs.dedup();
            let row = |x: f64| {
                let values = lines.series.iter().map(|series| {
                    let point = series.points.iter().find(|point| point.0 == x);
                    point.map_or(String::new(), |point| numbers::short(point.1))
                });
                [numbers::short(x)].into_iter().chain(values).collect()
            };
            (header, xs.into_iter().map(row).collect())
        }
        Chart::Roofline(roofline) => {
            let header = ["kernel", "FLOP/byte", "GFLOP/s", "predicted"].map(str::to_owned);
            let kernels = roofline.groups.iter().flat_map(|group| &group.kernels);
            let rows = kernels.map(|kernel| {
                vec![
                    kernel.name.clone(),
                    numbers::short(kernel.intensity),
                    numbers::short(kernel.gflops),
                    kernel.predicted.map_or(String::new(), numbers::short),
                ]
            });
            (header.to_vec(), rows.collect())
        }
    };
    html! {
        details {
            summary { "The numbers of " (plot.title) }
            div.scroll tabindex="0" role="region" aria-label={ "Numbers of " (plot.title) } {
                table {
                    thead { tr {
                        @for (index, name) in header.iter().enumerate() {
                            th.n[index > 0] scope="col" { (name) }
                        }
                    } }
                    tbody {
                        @for row in &rows {
                            tr {
                                @for (index, value) in row.iter().enumerate() {
                                    td.n[index > 0] { (value) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// The sources' tables beside ours.
fn sources(rows: &[Row]) -> Option<Markup> {
    if rows.is_empty() {
        return None;
    }
    let step = |step: Option<f64>| step.map_or(String::new(), |step| format!("{step:.2}×"));
    Some(html! {
        p {
            "What the courses and articles say of their machines, and what came out on this one \
             (" code { "warpladder reproduce" }
            "). A step is how many times better a rung is than the one before; figures of old \
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
                        th.n scope="col" { "there" }
                        th.n scope="col" { "step there" }
                        th.n scope="col" { "here" }
                        th.n scope="col" { "step here" }
                    } }
                    tbody {
                        @for row in table {
                            @let there = row.there.first();
                            @let here = row.here.first();
                            tr {
                                th scope="row" { a href={ "#kernel-" (row.rung) } { (row.rung) } }
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

/// The table of all kernels, then each of them.
fn kernels(data: &Data, counted: &HashMap<String, Counted>) -> Option<Markup> {
    let rungs: Vec<&Rung> = catalogue::rungs()
        .filter(|rung| {
            let measured = data.measured.iter();
            // Rows of the sources' tables refer to kernels as well.
            let reproduced = data.reproduced.iter();
            measured
                .map(|measured| &measured.kernel)
                .any(|name| name == rung.name)
                || reproduced
                    .map(|row| &row.rung)
                    .any(|name| name == rung.name)
        })
        .collect();
    let main = data.at_main_size();
    let of_rung = |rung: &Rung| main.iter().copied().find(|one| one.kernel == rung.name);
    let mut rows: Vec<(&Rung, Option<&Record>)> =
        rungs.iter().map(|&rung| (rung, of_rung(rung))).collect();
    // Those that the sources' tables alone refer to come last.
    rows.sort_by_key(|(_, measured)| measured.is_none());
    let size = main
        .first()
        .map(|measured| format!("{} x {}", measured.m, measured.n));
    Some(html! {
        @if let Some(size) = size {
            p {
                "Medians at " (size) ", products with as many steps. Each name leads to its kernel."
            }
        }
        div.scroll tabindex="0" role="region" aria-label="All kernels" {
            table {
                thead { tr {
                    th scope="col" { "kernel" }
                    th.n scope="col" { "ms" }
                    th.n scope="col" { "throughput" }
                    th.n scope="col" { "predicted, ms" }
                    th.n scope="col" { "predicted ÷ measured" }
                } }
                tbody {
                    @for (rung, measured) in &rows {
                        (row(data, rung, *measured))
                    }
                }
            }
        }
        @for rung in &rungs {
            (kernel::article(data, rung, counted.get(rung.name)))
        }
    })
}

fn row(data: &Data, rung: &Rung, measured: Option<&Record>) -> Markup {
    let metric = metric(rung);
    let value = measured.and_then(|measured| match metric {
        Metric::Gflops => measured.gflops,
        Metric::Gbs => measured.gbs,
    });
    let predicted = measured
        .and_then(|measured| data.prediction(measured))
        .map(|predicted| predicted.predicted_ms);
    let median = measured.and_then(|measured| measured.median_ms);
    html! {
        tr {
            th scope="row" { a href={ "#kernel-" (rung.name) } { (rung.name) } }
            (cell(median))
            td.n { @if let Some(value) = value { (numbers::short(value)) " " (metric.unit()) } }
            (cell(predicted))
            (cell(predicted.zip(median).map(|(predicted, median)| predicted / median)))
        }
    }
}

/// A number in a table; nothing where there is none.
pub fn cell(value: Option<f64>) -> Markup {
    html! { td.n { @if let Some(value) = value { (numbers::short(value)) } } }
}
