//! A sweep as a drawing: measured points, the predicted curve and its knee.

use super::Sweep;
use std::fmt::Write;

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 400.0;
const MARGIN: f64 = 60.0;

/// The drawing, as SVG; x grows by octaves.
pub fn svg(sweep: &Sweep) -> String {
    let points = &sweep.points;
    let highest = points
        .iter()
        .flat_map(|point| [Some(point.predicted), point.measured])
        .flatten()
        .fold(f64::MIN_POSITIVE, f64::max);
    let [first, last] = [points.first(), points.last()].map(|point| {
        let x = point.map_or(1, |point| point.x);
        f64::from(x).log2()
    });
    let across = |x: f64| {
        let share = (x.log2() - first) / (last - first).max(f64::MIN_POSITIVE);
        MARGIN + share * (WIDTH - 2.0 * MARGIN)
    };
    let up = |y: f64| HEIGHT - MARGIN - y / highest * (HEIGHT - 2.0 * MARGIN);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
    );
    let mut text = |x: f64, y: f64, anchor: &str, words: &str| {
        // Names and units hold no character that XML reserves.
        _ = writeln!(
            out,
            "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{words}</text>"
        );
    };
    let title = format!("{} on {}", sweep.kernel, sweep.device);
    text(WIDTH / 2.0, 24.0, "middle", &title);
    let along = match sweep.over {
        super::Over::Warps => "warps of a multiprocessor",
        super::Over::Size => "extent",
        super::Over::Block => "threads of a block",
    };
    text(WIDTH / 2.0, HEIGHT - 14.0, "middle", along);
    text(MARGIN, MARGIN - 14.0, "middle", sweep.unit);
    for share in [0.0, 0.25, 0.5, 0.75, 1.0] {
        let label = format!("{:.0}", share * highest);
        text(MARGIN - 8.0, up(share * highest) + 4.0, "end", &label);
    }
    for point in points {
        let label = point.x.to_string();
        text(
            across(point.x.into()),
            HEIGHT - MARGIN + 18.0,
            "middle",
            &label,
        );
    }
    let curve: Vec<String> = points
        .iter()
        .map(|point| format!("{:.1},{:.1}", across(point.x.into()), up(point.predicted)))
        .collect();
    _ = writeln!(
        out,
        "<polyline points=\"{}\" fill=\"none\" stroke=\"black\"/>",
        curve.join(" ")
    );
    if let Some(knee) = sweep.predicted_knee {
        let x = across(knee.clamp(first.exp2(), last.exp2()));
        let (bottom, top) = (HEIGHT - MARGIN, MARGIN);
        _ = writeln!(
            out,
            "<line x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{bottom}\" y2=\"{top}\" stroke=\"grey\" stroke-dasharray=\"4\"/>"
        );
    }
    for point in points {
        if let Some(measured) = point.measured {
            let (x, y) = (across(point.x.into()), up(measured));
            _ = writeln!(out, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\"/>");
        }
    }
    out.push_str("</svg>\n");
    out
}
