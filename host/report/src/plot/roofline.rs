//! The roofline, with kernels under it.

use super::canvas::{
    self, Area, Drawn, Entry, Ink, Mark, TEXT, X_LABELS, Y_LABELS, text_style, width_of,
};
use super::{Hover, Size};
use crate::numbers;
use plotters::prelude::*;
use plotters::style::text_anchor::HPos;

/// Roofs over arithmetic intensity, and kernels.
#[derive(Clone, Debug)]
pub struct Roofline {
    /// What x is the intensity of.
    pub x: &'static str,
    /// Peaks, in GFLOP/s, with their names.
    pub peaks: Vec<(String, f64)>,
    /// Bandwidths, in GB/s, with their names.
    pub slopes: Vec<(String, f64)>,
    /// Kinds of kernels, with their kernels.
    pub groups: Vec<Group>,
}

/// Kernels of one colour.
#[derive(Clone, Debug)]
pub struct Group {
    /// Their name.
    pub name: String,
    /// Their colour.
    pub ink: Ink,
    /// The kernels.
    pub kernels: Vec<Kernel>,
}

/// One kernel.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// Its name.
    pub name: String,
    /// FLOP per byte.
    pub intensity: f64,
    /// GFLOP/s that were measured; `None` where only a prediction is known.
    pub gflops: Option<f64>,
    /// GFLOP/s that were predicted.
    pub predicted: Option<f64>,
}

impl Kernel {
    /// Where its name and its hover stand.
    fn height(&self) -> Option<f64> {
        self.gflops.or(self.predicted)
    }

    fn hover(&self) -> String {
        let rate = |gflops: Option<f64>, what: &str| match gflops {
            Some(gflops) => format!(", {} GFLOP/s {what}", numbers::short(gflops)),
            None => String::new(),
        };
        format!(
            "{}: {} FLOP/byte{}{}",
            self.name,
            numbers::short(self.intensity),
            rate(self.gflops, "measured"),
            rate(self.predicted, "predicted"),
        )
    }
}

/// Height of the plot without its legend.
const HEIGHT: i32 = 440;

impl Roofline {
    fn legend(&self) -> Vec<Entry<'_>> {
        let groups = self.groups.iter().map(|group| Entry {
            ink: group.ink,
            mark: Mark::Disc,
            name: &group.name,
        });
        let predicted = Entry {
            ink: Ink::Muted,
            mark: Mark::Circle,
            name: "predicted",
        };
        groups.chain([predicted]).collect()
    }

    pub(super) fn height(&self, size: Size) -> u32 {
        canvas::height_with_axes(size.width(), &self.legend(), HEIGHT)
    }

    fn kernels(&self) -> impl Iterator<Item = &Kernel> {
        self.groups.iter().flat_map(|group| &group.kernels)
    }

    pub(super) fn draw(&self, area: &Area<'_>, size: Size) -> Drawn<Vec<Hover>> {
        let below = canvas::head(area, &self.legend(), "GFLOP/s")?;
        let intensities = || self.kernels().map(|kernel| kernel.intensity);
        let left = intensities().fold(f64::INFINITY, f64::min);
        let right = intensities().fold(0.0, f64::max);
        let rates = || {
            let kernels = self.kernels();
            let rates = kernels.flat_map(|kernel| [kernel.gflops, kernel.predicted]);
            rates.flatten()
        };
        let bottom = rates().fold(f64::INFINITY, f64::min);
        let peaks = self.peaks.iter().map(|peak| peak.1);
        let top = rates().chain(peaks).fold(0.0, f64::max);
        if !(left > 0.0 && bottom > 0.0 && right.is_finite() && top.is_finite()) {
            return Ok(Vec::new());
        }
        let (xs, ys) = (left / 1.6..right * 2.5, bottom / 1.6..top * 1.8);
        let mut chart = ChartBuilder::on(&below)
            .margin_right(12)
            .margin_top(8)
            .x_label_area_size(X_LABELS)
            .y_label_area_size(Y_LABELS)
            .build_cartesian_2d(
                xs.clone().log_scale().with_key_points(decades(&xs)),
                ys.clone().log_scale().with_key_points(decades(&ys)),
            )?;
        chart
            .configure_mesh()
            .light_line_style(TRANSPARENT)
            .bold_line_style(Ink::Grid.colour())
            .axis_style(Ink::Muted.colour())
            .label_style(text_style(Ink::Muted, HPos::Left))
            .x_desc(self.x)
            .axis_desc_style(text_style(Ink::Muted, HPos::Left))
            .x_label_formatter(&|x| numbers::axis(*x))
            .y_label_formatter(&|y| numbers::axis(*y))
            .draw()?;
        for group in &self.groups {
            let colour = group.ink.colour();
            for kernel in &group.kernels {
                let at = |gflops: f64| (kernel.intensity, gflops);
                if let (Some(measured), Some(predicted)) = (kernel.gflops, kernel.predicted) {
                    let line = vec![at(measured), at(predicted)];
                    chart.draw_series([PathElement::new(line, colour.stroke_width(1))])?;
                }
                if let Some(predicted) = kernel.predicted {
                    chart.draw_series([Circle::new(at(predicted), 4, colour.stroke_width(1))])?;
                }
                if let Some(measured) = kernel.gflops {
                    chart.draw_series([Circle::new(at(measured), 4, colour.filled())])?;
                }
            }
        }
        let highest = self.peaks.iter().map(|peak| peak.1).fold(0.0, f64::max);
        let place = |x: f64, y: f64| {
            let (x, y) = chart.backend_coord(&(x, y));
            let (left, top) = below.get_base_pixel();
            (x - left, y - top)
        };
        let mut names = Names {
            area: &below,
            taken: Vec::new(),
            width: size.width() as i32,
            height: below.dim_in_pixel().1 as i32 - X_LABELS,
        };
        for kernel in self.kernels() {
            for gflops in [kernel.gflops, kernel.predicted].into_iter().flatten() {
                names.keep_free(place(kernel.intensity, gflops));
            }
        }
        let steepest = self.slopes.iter().map(|slope| slope.1).fold(0.0, f64::max);
        let peaks: Vec<_> = self
            .peaks
            .iter()
            .map(|(name, gflops)| {
                let from = (gflops / steepest.max(f64::MIN_POSITIVE)).max(xs.start);
                (name, place(from, *gflops), place(xs.end, *gflops))
            })
            .collect();
        let slopes: Vec<_> = self
            .slopes
            .iter()
            .map(|(name, gbs)| {
                let start = xs.start.max(ys.start / gbs);
                let end = xs.end.min(highest / gbs);
                (name, place(start, start * gbs), place(end, end * gbs))
            })
            .collect();
        for &(_, from, to) in peaks.iter().chain(&slopes) {
            canvas::line(&below, Ink::Muted, 2, from, to)?;
            names.keep_line_free(from, to);
        }
        for (name, from, to) in peaks {
            // At its right end, else further along the line, above or under it.
            let along = |step: i32| {
                let x = to.0 - (to.0 - from.0) * step / 20;
                [(HPos::Right, (x, to.1 - 10)), (HPos::Right, (x, to.1 + 11))]
            };
            let places: Vec<_> = (0..20).flat_map(along).collect();
            names.place(Ink::Muted, &places, name)?;
        }
        for (name, from, to) in slopes {
            let along = |step: i32| {
                let x = from.0 + (to.0 - from.0) * step / 20;
                let y = from.1 + (to.1 - from.1) * step / 20;
                [(HPos::Right, (x - 8, y - 4)), (HPos::Left, (x + 8, y + 6))]
            };
            let places: Vec<_> = (1..20).rev().flat_map(along).collect();
            names.place(Ink::Muted, &places, name)?;
        }
        // The fastest first: where names would touch, theirs stand.
        let placed = self
            .kernels()
            .filter_map(|kernel| Some((kernel, kernel.height()?)));
        let mut by_speed: Vec<(&Kernel, f64)> = placed.collect();
        by_speed.sort_by(|a, b| b.1.total_cmp(&a.1));
        for (kernel, gflops) in &by_speed {
            let (x, y) = place(kernel.intensity, *gflops);
            let places = [
                (HPos::Right, (x - 8, y)),
                (HPos::Left, (x + 8, y)),
                (HPos::Right, (x - 6, y - 10)),
                (HPos::Left, (x + 6, y + 10)),
                (HPos::Center, (x, y - 14)),
                (HPos::Center, (x, y + 14)),
                (HPos::Right, (x - 6, y + 10)),
                (HPos::Left, (x + 6, y - 10)),
            ];
            names.place(Ink::Text, &places, &kernel.name)?;
        }
        let hovers = by_speed.iter().map(|(kernel, gflops)| {
            Hover::around(
                chart.backend_coord(&(kernel.intensity, *gflops)),
                kernel.hover(),
            )
        });
        Ok(hovers.collect())
    }
}

/// Powers of ten in a range.
fn decades(range: &std::ops::Range<f64>) -> Vec<f64> {
    let first = range.start.log10().ceil() as i32;
    let last = range.end.log10().floor() as i32;
    (first..=last).map(|power| 10f64.powi(power)).collect()
}

/// Names in a plot, of which none covers another.
struct Names<'a, 'b> {
    area: &'a Area<'b>,
    /// Left, top, right and bottom of what is there.
    taken: Vec<[i32; 4]>,
    width: i32,
    /// The bottom of what is drawn, above the numbers along x.
    height: i32,
}

impl Names<'_, '_> {
    /// Keeps a mark from being covered.
    fn keep_free(&mut self, (x, y): (i32, i32)) {
        self.taken.push([x - 4, y - 4, x + 4, y + 4]);
    }

    /// Keeps a line from being covered.
    fn keep_line_free(&mut self, from: (i32, i32), to: (i32, i32)) {
        let (dx, dy) = (to.0 - from.0, to.1 - from.1);
        let steps = (dx.abs().max(dy.abs()) / 4).max(1);
        for step in 0..=steps {
            let (x, y) = (from.0 + dx * step / steps, from.1 + dy * step / steps);
            self.taken.push([x - 2, y - 2, x + 2, y + 2]);
        }
    }

    /// Writes a name at the first of these places where it covers nothing; leaves it out where
    /// there is none.
    fn place(&mut self, ink: Ink, places: &[(HPos, (i32, i32))], name: &str) -> Drawn {
        let width = width_of(name);
        for (anchor, (x, y)) in places {
            let left = match anchor {
                HPos::Right => x - width,
                HPos::Center => x - width / 2,
                HPos::Left => *x,
            };
            let half = TEXT as i32 / 2 + 1;
            let wanted = [left, y - half, left + width, y + half];
            let across = left >= Y_LABELS as i32 && left + width <= self.width;
            let inside = across && *y > half && y + half <= self.height;
            let free = |other: &[i32; 4]| {
                wanted[2] <= other[0]
                    || other[2] <= wanted[0]
                    || wanted[3] <= other[1]
                    || other[3] <= wanted[1]
            };
            if inside && self.taken.iter().all(free) {
                self.taken.push(wanted);
                return canvas::text(self.area, ink, *anchor, (*x, *y), name);
            }
        }
        Ok(())
    }
}
