//! The page as a whole.

use super::content::Content;
use super::curves;
use super::facts::facts;
use super::html_table::cell;
use super::kernels::kernels;
use super::ladders::{Ladder, ladders};
use super::sources::sources;
use crate::numbers;
use crate::plot::{Chart, DrawError, Plot, Size, style_sheet};
use crate::sweep;
use maud::{DOCTYPE, Markup, PreEscaped, html};

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");

/// The sections with their headings, in order, and the command that makes their data.
const SECTIONS: [(&str, &str, &str); 7] = [
    ("ladders", "Ladders", "run"),
    ("roofline", "Roofline", "run"),
    ("sizes", "Sizes", "compare"),
    ("warps", "Warps", "sweep"),
    ("sources", "Sources", "reproduce"),
    ("calibration", "Calibration", "calibrate"),
    ("kernels", "Kernels", "run"),
];

pub fn html(report: &Content) -> Result<String, DrawError> {
    let data = &report.data;
    let ladders = ladders(data, report.model.as_ref());
    let roofline = curves::roofline(data, report.model.as_ref(), &report.counted);
    let sweeps: Vec<Plot> = data.sweeps.iter().map(sweep::plot).collect();
    let sections = [
        climbed(report, &ladders)?,
        plots(roofline.as_slice())?,
        plots(&curves::sizes(data))?,
        plots(&sweeps)?,
        sources(report),
        calibration(report),
        kernels(report),
    ];
    let title = title(report);
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
                    @if let Some(headline) = headline(&ladders) {
                        p.headline { (headline) }
                    }
                    p {
                        "GPU kernels written in Rust, each checked before it is timed; predictions \
                         are made from what an emulator counts. Results from " (data.origin) "."
                    }
                    (notices(report, &ladders))
                    (facts(report))
                }
                nav aria-label="Sections" {
                    ul {
                        @for ((id, heading, _), _) in shown() {
                            li { a href={ "#" (id) } { (heading) } }
                        }
                    }
                }
                main id="content" {
                    @for ((id, heading, _), content) in shown() {
                        section aria-labelledby=(id) {
                            h2 id=(id) { (heading) }
                            @if let Some(content) = content { (content) }
                        }
                    }
                }
                footer {
                    (left_out(&sections))
                    p.muted { "Made by warpladder " (env!("CARGO_PKG_VERSION")) "." }
                }
                script { (PreEscaped(SCRIPT)) }
            }
        }
    };
    Ok(page.into_string())
}

/// What the page is about: whose measurements, or that there are none.
fn title(report: &Content) -> String {
    let data = &report.data;
    match (data.is_emulated(), report.device(), data.is_shipped) {
        (true, Some(device), _) => {
            format!("warpladder on the emulator: counted, and predicted for the {device}")
        }
        (true, None, _) => "warpladder on the emulator: counted".to_owned(),
        (false, Some(device), true) => {
            format!("warpladder on {device}: the results that ship with it")
        }
        (false, Some(device), false) => format!("warpladder on {device}"),
        (false, None, _) => "warpladder".to_owned(),
    }
}

/// The first ladder's: that of matrix multiplication, where there is one.
fn headline(ladders: &[Ladder<'_>]) -> Option<String> {
    let ladder = ladders.iter().max_by_key(|ladder| {
        let is_f32_product = ladder.title().ends_with(", f32");
        (is_f32_product && ladder.steps.len() > 1, ladder.steps.len())
    })?;
    Some(format!(
        "{} at {}. {}.",
        ladder.title(),
        ladder.size()?,
        ladder.headline()?
    ))
}

/// What a reader has to know before the figures.
fn notices(report: &Content, ladders: &[Ladder<'_>]) -> Markup {
    let data = &report.data;
    let above: Vec<&str> = ladders.iter().flat_map(Ladder::above_the_peak).collect();
    let mut refused: Vec<&str> = report
        .refused
        .iter()
        .filter(|(_, reason)| reason.contains("cannot run on"))
        .map(|(name, _)| &**name)
        .collect();
    refused.sort_unstable();
    html! {
        @if data.is_emulated() {
            p.notice {
                "No GPU was measured. The emulator counts what the kernels do, and the models \
                 predict times from that. What the emulator itself takes says nothing of a GPU \
                 and is left out."
            }
        }
        @if data.is_shipped {
            p.notice {
                "These are not measurements of your GPU. For those: "
                code { "warpladder run --json run.json" } ", then "
                code { "warpladder report --from run.json" } "."
            }
        }
        @if !data.incomplete.is_empty() {
            p.notice {
                "Interrupted, and so without all kernels: " (data.incomplete.join(", ")) "."
            }
        }
        @if !refused.is_empty() && !data.is_emulated() {
            p.notice {
                "By its PTX this GPU cannot run " (some(&refused))
                ", which these results say it did: was the device renamed?"
            }
        }
        @if !above.is_empty() {
            p.notice {
                "Faster than the peaks that the table of devices has for "
                (report.device().unwrap_or("this GPU")) ": " (some(&above))
                ". Is it that GPU, and that model of it? The output of "
                code { "warpladder devices --json" } " among the files says."
            }
        }
        @if report.model.is_none() && data.device_name().is_some() {
            p.notice {
                "The table of devices has no such GPU, so nothing is predicted and there are no \
                 peaks: add the output of " code { "warpladder devices --json" } "."
            }
        }
    }
}

/// The names of kernels, the first few of many.
fn some(names: &[&str]) -> String {
    const MAX_NAMES: usize = 6;
    match names.len().saturating_sub(MAX_NAMES) {
        0 | 1 => names.join(", "),
        more => format!("{} and {more} more", names[..MAX_NAMES].join(", ")),
    }
}

/// Which sections are not there, and what makes their data.
fn left_out(sections: &[Option<Markup>]) -> Markup {
    let missing = SECTIONS.iter().zip(sections);
    let missing: Vec<_> = missing.filter(|(_, content)| content.is_none()).collect();
    html! {
        @if !missing.is_empty() {
            p.muted {
                "Not here, since no file has their data: "
                @for (index, ((_, heading, command), _)) in missing.iter().enumerate() {
                    @if index > 0 { ", " }
                    (heading) " (" code { "warpladder " (command) } ")"
                }
                "."
            }
        }
    }
}

/// The ladders, each with its headline.
fn climbed(report: &Content, ladders: &[Ladder<'_>]) -> Result<Option<Markup>, DrawError> {
    let figures = ladders
        .iter()
        .map(|ladder| {
            let headline = ladder.headline();
            figure(&ladder.plot(report.device()), headline.as_deref())
        })
        .collect::<Result<Vec<Markup>, DrawError>>()?;
    Ok((!figures.is_empty()).then(|| html! { @for figure in &figures { (figure) } }))
}

/// What was calibrated.
fn calibration(report: &Content) -> Option<Markup> {
    let measured = report.data.calibrated.as_ref()?;
    Some(html! {
        p {
            "What " code { "warpladder calibrate" } " measured of the " (measured.device)
            ". Predictions on this page are made from it."
        }
        div.scroll tabindex="0" role="region" aria-label="Calibration" {
            table {
                thead { tr {
                    th scope="col" { "figure" }
                    th.n scope="col" { "median" }
                    th.n scope="col" { "lower quartile" }
                    th.n scope="col" { "upper quartile" }
                    th scope="col" { "unit" }
                } }
                tbody {
                    @for figure in &measured.figures {
                        tr {
                            th scope="row" { (figure.name.replace('_', " ")) }
                            (cell(Some(figure.median)))
                            (cell(Some(figure.low)))
                            (cell(Some(figure.high)))
                            td { (figure.unit) }
                        }
                    }
                }
            }
        }
    })
}

/// Figures; `None` without any.
fn plots(plots: &[Plot]) -> Result<Option<Markup>, DrawError> {
    let figures = plots.iter().map(|plot| figure(plot, None));
    let figures = figures.collect::<Result<Vec<Markup>, DrawError>>()?;
    Ok((!figures.is_empty()).then(|| html! { @for figure in &figures { (figure) } }))
}

/// A figure, for a screen and for a telephone.
fn figure(plot: &Plot, headline: Option<&str>) -> Result<Markup, DrawError> {
    let wide = with_class(&plot.chart.svg(Size::Wide)?, "wide");
    let narrow = with_class(&plot.chart.svg(Size::Narrow)?, "narrow");
    Ok(html! {
        figure {
            h3 id={ "plot-" (plot.name) } { (plot.title) }
            @if let Some(headline) = headline { p.headline { (headline) } }
            (PreEscaped(wide))
            (PreEscaped(narrow))
            figcaption { (plot.caption) }
            (as_table(plot))
        }
    })
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
            let optional = |value: Option<f64>| value.map_or(String::new(), numbers::short);
            let measured = format!("measured, {}", bars.unit);
            let predicted = format!("predicted, {}", bars.unit);
            let header = [
                "kernel".to_owned(),
                measured,
                predicted,
                "% of the peak".to_owned(),
            ];
            let rows = bars.bars.iter().map(|bar| {
                let percent = bar.percent.map_or(String::new(), numbers::percent);
                let [measured, predicted] = [bar.value, bar.predicted].map(optional);
                vec![bar.label.clone(), measured, predicted, percent]
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
                    kernel.gflops.map_or(String::new(), numbers::short),
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
