//! A sweep as a plot: measured points and the predicted curve.

use crate::plot::{Chart, Ink, Lines, Mark, Plot, Series};
use warpladder_lab::sweep::{Over, Point, Sweep};

/// The plot of a sweep; its caption says where the curves bend.
pub fn plot(sweep: &Sweep) -> Plot {
    let points = |value: fn(&Point) -> Option<f64>| {
        let points = sweep.points.iter();
        points
            .filter_map(|point| Some((f64::from(point.x), value(point)?)))
            .collect::<Vec<_>>()
    };
    let measured = Series {
        name: "measured".to_owned(),
        ink: Ink::Measured,
        mark: Mark::Disc,
        points: points(|point| point.measured),
    };
    let predicted = Series {
        name: "predicted".to_owned(),
        ink: Ink::Predicted,
        mark: Mark::Circle,
        points: points(|point| Some(point.predicted)),
    };
    let (name, x) = match sweep.over {
        Over::Warps => ("warps", "warps of a multiprocessor"),
        Over::Block => ("block", "threads of a block"),
        Over::Size => ("size", "extent of the problem"),
    };
    let knee = |what: &str, knee: Option<f64>| {
        knee.map(|knee| format!(" The {what} curve bends at {knee:.1}."))
            .unwrap_or_default()
    };
    Plot {
        name: format!("sweep-{}-{name}", sweep.kernel),
        title: format!("{} over {x}, {}", sweep.kernel, sweep.device),
        caption: format!(
            "Throughput, by warpladder sweep{}.{}{}",
            match crate::data::is_measured(sweep) {
                true => "",
                false => ": predicted, nothing was measured",
            },
            knee("predicted", sweep.predicted_knee),
            knee("measured", sweep.measured_knee),
        ),
        chart: Chart::Lines(Lines {
            x,
            y: sweep.unit.clone(),
            series: [measured, predicted]
                .into_iter()
                .filter(|series| !series.points.is_empty())
                .collect(),
        }),
    }
}
