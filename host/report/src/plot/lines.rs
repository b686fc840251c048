//! Curves over sizes, warps and the like.

use super::canvas::{self, Area, Drawn, Entry, Ink, Mark, X_LABELS, Y_LABELS, text_style};
use super::{Hover, Size};
use crate::numbers;
use plotters::prelude::*;
use plotters::style::text_anchor::HPos;

/// Curves over a logarithmic axis.
#[derive(Clone, Debug)]
pub struct Lines {
    /// What stands along x.
    pub x: &'static str,
    /// Unit of y.
    pub y: String,
    /// The curves.
    pub series: Vec<Series>,
}

/// One curve.
#[derive(Clone, Debug)]
pub struct Series {
    /// Its name.
    pub name: String,
    /// Its colour.
    pub ink: Ink,
    /// How its points are drawn.
    pub mark: Mark,
    /// x and y, by x.
    pub points: Vec<(f64, f64)>,
}

/// Height of the curves.
const HEIGHT: i32 = 260;

impl Lines {
    fn legend(&self) -> Vec<Entry<'_>> {
        let entries = self.series.iter().map(|series| Entry {
            ink: series.ink,
            mark: series.mark,
            name: &series.name,
        });
        entries.collect()
    }

    pub(super) fn height(&self, size: Size) -> u32 {
        canvas::height_with_axes(size.width(), &self.legend(), HEIGHT)
    }

    pub(super) fn draw(&self, area: &Area<'_>, size: Size) -> Drawn<Vec<Hover>> {
        let below = canvas::head(area, &self.legend(), &self.y)?;
        let points = || self.series.iter().flat_map(|series| &series.points);
        let least = points().fold(f64::INFINITY, |least, point| least.min(point.0));
        let most = points().fold(0.0, |most: f64, point| most.max(point.0));
        let highest = points().fold(f64::MIN_POSITIVE, |most, point| most.max(point.1));
        if !(least > 0.0 && most.is_finite() && highest.is_finite()) {
            return Ok(Vec::new());
        }
        let ticks = ticks(points().map(|point| point.0), size);
        let mut chart = ChartBuilder::on(&below)
            .margin_right(16)
            .margin_top(8)
            .x_label_area_size(X_LABELS)
            .y_label_area_size(Y_LABELS)
            .build_cartesian_2d(
                (least * 0.94..most * 1.06)
                    .log_scale()
                    .with_key_points(ticks),
                0.0..highest * 1.08,
            )?;
        chart
            .configure_mesh()
            .disable_x_mesh()
            .light_line_style(TRANSPARENT)
            .bold_line_style(Ink::Grid.colour())
            .axis_style(Ink::Muted.colour())
            .label_style(text_style(Ink::Muted, HPos::Left))
            .x_desc(self.x)
            .axis_desc_style(text_style(Ink::Muted, HPos::Left))
            .y_labels(6)
            .x_label_formatter(&|x| numbers::axis(*x))
            .y_label_formatter(&|y| numbers::axis(*y))
            .draw()?;
        for series in &self.series {
            let colour = series.ink.colour();
            let points = series.points.clone();
            chart.draw_series([PathElement::new(points, colour.stroke_width(2))])?;
            chart.draw_series(series.points.iter().map(|&at| match series.mark {
                Mark::Disc => Circle::new(at, 4, colour.filled()),
                Mark::Circle | Mark::Line => Circle::new(at, 4, colour.stroke_width(2)),
            }))?;
        }
        let hovers = self.series.iter().flat_map(|series| {
            let (name, unit) = (&series.name, &self.y);
            let chart = &chart;
            series.points.iter().map(move |&(x, y)| {
                let (at, value) = (numbers::axis(x), numbers::short(y));
                let text = format!("{name} at {at}: {value} {unit}");
                Hover::around(chart.backend_coord(&(x, y)), text)
            })
        });
        Ok(hovers.collect())
    }
}

/// The x of points that have a number below: so far apart that numbers do not touch.
fn ticks(xs: impl Iterator<Item = f64>, size: Size) -> Vec<f64> {
    let mut xs: Vec<f64> = xs.collect();
    xs.sort_by(f64::total_cmp);
    xs.dedup();
    let (Some(&first), Some(&last)) = (xs.first(), xs.last()) else {
        return xs;
    };
    let pixels = f64::from(size.width() - 80) / (last / first).ln().max(1e-9);
    let mut ticks: Vec<f64> = Vec::new();
    for x in xs {
        let room = |before: &f64| (x / before).ln() * pixels >= 38.0;
        if ticks.last().is_none_or(room) {
            ticks.push(x);
        }
    }
    ticks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_along_x_do_not_touch() {
        let xs = || (1..=64).map(f64::from);
        let wide = ticks(xs(), Size::Wide);
        let narrow = ticks(xs(), Size::Narrow);
        assert!(wide.len() > narrow.len() && narrow.len() >= 4);
        assert_eq!((wide[0], narrow[0]), (1.0, 1.0));
        assert!(ticks([].into_iter(), Size::Wide).is_empty());
    }
}
