//! Bars: the rungs of a ladder.

use super::canvas::{self, Area, Drawn, Entry, Ink, Mark, legend_height, width_of};
use super::{Hover, Size};
use crate::numbers;
use plotters::style::text_anchor::HPos;

/// A chart of horizontal bars, the first at the top. Its axis is logarithmic where a bar would
/// otherwise be too short to see.
#[derive(Clone, Debug)]
pub struct Bars {
    /// Unit of the values.
    pub unit: &'static str,
    /// The bars.
    pub bars: Vec<Bar>,
    /// What they are compared with: a peer, a peak.
    pub levels: Vec<Level>,
}

/// One bar.
#[derive(Clone, Debug)]
pub struct Bar {
    /// Its name.
    pub label: String,
    /// What was measured; `None` where only a prediction is known.
    pub value: Option<f64>,
    /// What was predicted.
    pub predicted: Option<f64>,
    /// Share of the peak, in percent.
    pub percent: Option<f64>,
    /// What is shown while a pointer rests on it.
    pub hover: String,
}

/// A value that all bars are compared with: a line across them.
#[derive(Clone, Debug)]
pub struct Level {
    /// What it is.
    pub name: String,
    /// The value, in the bars' unit.
    pub value: f64,
    /// Its colour.
    pub ink: Ink,
}

/// Height of a bar, in pixels.
const BAR: i32 = 12;
/// From one bar to the next where labels stand before them, and where they stand above.
const ROW: [i32; 2] = [22, 36];
/// Height of the numbers below a logarithmic axis.
const AXIS: i32 = 22;
/// The axis is logarithmic if the shortest bar were less than this share of it.
const VANISHES: f64 = 0.01;

/// Where values are along x.
struct Axis {
    left: i32,
    room: f64,
    /// The value at the left end of a logarithmic axis; `None` where it is linear.
    least: Option<f64>,
    most: f64,
}

impl Axis {
    fn x(&self, value: f64) -> i32 {
        let share = match self.least {
            None => value / self.most,
            Some(least) => (value / least).ln() / (self.most / least).ln(),
        };
        self.left + (self.room * share.clamp(0.0, 1.0)).round() as i32
    }
}

impl Bar {
    /// The value that the bar is as long as.
    fn length(&self) -> Option<f64> {
        self.value.or(self.predicted)
    }

    fn text(&self, unit: &str) -> String {
        let value = self.value_text(unit);
        match self.percent {
            Some(percent) => format!("{value} · {} %", numbers::percent(percent)),
            None => value,
        }
    }

    fn value_text(&self, unit: &str) -> String {
        let value = self.length().map_or("-".to_owned(), numbers::short);
        format!("{value} {unit}")
    }

    /// The text beside the label, in a line of this width: without the share where both do not fit.
    fn text_within(&self, unit: &str, width: i32) -> String {
        let text = self.text(unit);
        match width_of(&self.label) + width_of(&text) <= width {
            true => text,
            false => self.value_text(unit),
        }
    }
}

impl Bars {
    fn legend(&self) -> Vec<Entry<'_>> {
        let mut entries = Vec::new();
        let mut entry = |ink, mark, name| entries.push(Entry { ink, mark, name });
        if self.bars.iter().any(|bar| bar.value.is_some()) {
            entry(Ink::Measured, Mark::Disc, "measured");
        }
        let is_beside = |bar: &Bar| bar.value.is_some() && bar.predicted.is_some();
        if self.bars.iter().any(is_beside) {
            entry(Ink::Predicted, Mark::Line, "predicted");
        }
        if self.bars.iter().any(|bar| bar.value.is_none()) {
            entry(Ink::Predicted, Mark::Circle, "predicted, not measured");
        }
        for level in &self.levels {
            entry(level.ink, Mark::Line, &level.name);
        }
        entries
    }

    fn row(size: Size) -> i32 {
        ROW[usize::from(size.is_narrow())]
    }

    /// All values along x.
    fn values(&self) -> impl Iterator<Item = f64> {
        let bars = self.bars.iter().flat_map(|bar| [bar.value, bar.predicted]);
        let levels = self.levels.iter().map(|level| Some(level.value));
        bars.chain(levels).flatten().filter(|value| *value > 0.0)
    }

    /// Whether the axis is logarithmic.
    pub fn is_logarithmic(&self) -> bool {
        let shortest = self.bars.iter().filter_map(Bar::length);
        let shortest = shortest
            .filter(|value| *value > 0.0)
            .fold(f64::INFINITY, f64::min);
        let most = self.values().fold(0.0, f64::max);
        shortest < VANISHES * most
    }

    /// Values stand in a column of their own at the right, or above the bars where there is no room
    /// for one: so no line of a level crosses them.
    fn axis(&self, size: Size) -> Axis {
        let widest = |widths: &mut dyn Iterator<Item = i32>| widths.max().unwrap_or(0);
        let labels = widest(&mut self.bars.iter().map(|bar| width_of(&bar.label)));
        let texts = widest(&mut self.bars.iter().map(|bar| width_of(&bar.text(self.unit))));
        let (left, right) = match size.is_narrow() {
            true => (0, 2),
            false => (labels + 8, texts + 8),
        };
        let least = self.values().fold(f64::INFINITY, f64::min);
        Axis {
            left,
            room: f64::from((size.width() as i32 - left - right).max(20)),
            least: self
                .is_logarithmic()
                .then(|| 10f64.powf((least * 0.8).log10().floor())),
            most: self.values().fold(f64::MIN_POSITIVE, f64::max),
        }
    }

    pub(super) fn height(&self, size: Size) -> u32 {
        let legend = legend_height(size.width(), &self.legend());
        let axis = if self.is_logarithmic() { AXIS } else { 0 };
        (legend + Self::row(size) * self.bars.len() as i32 + 8 + axis) as u32
    }

    pub(super) fn draw(&self, area: &Area<'_>, size: Size) -> Drawn<Vec<Hover>> {
        let top = canvas::legend(area, &self.legend())? + 4;
        let axis = self.axis(size);
        let narrow = size.is_narrow();
        let bottom = top + self.bars.len() as i32 * Self::row(size);
        self.draw_decades(area, &axis, (top, bottom))?;
        let mut hovers = Vec::new();
        for (index, bar) in self.bars.iter().enumerate() {
            let row = top + index as i32 * Self::row(size);
            let middle = if narrow { row + 27 } else { row + 11 };
            let reach = if narrow {
                BAR / 2 + 3
            } else {
                Self::row(size) / 2
            };
            for level in &self.levels {
                let x = axis.x(level.value);
                let (above, below) = ((x, middle - reach), (x, middle + reach));
                canvas::line(area, level.ink, 2, above, below)?;
            }
            self.draw_bar(area, bar, middle, &axis)?;
            let end = size.width() as i32;
            let (text, label, at) = match narrow {
                true => (
                    bar.text_within(self.unit, end),
                    (HPos::Left, (0, row + 10)),
                    (end, row + 10),
                ),
                false => (
                    bar.text(self.unit),
                    (HPos::Right, (axis.left - 8, middle)),
                    (end, middle),
                ),
            };
            canvas::text(area, Ink::Text, label.0, label.1, &bar.label)?;
            canvas::text(area, Ink::Text, HPos::Right, at, &text)?;
            hovers.push(Hover {
                at: (0, row),
                extent: (size.width() as i32, Self::row(size)),
                text: bar.hover.clone(),
            });
        }
        Ok(hovers)
    }

    /// Powers of ten of a logarithmic axis.
    fn draw_decades(&self, area: &Area<'_>, axis: &Axis, (top, bottom): (i32, i32)) -> Drawn {
        let Some(least) = axis.least else {
            return Ok(());
        };
        let mut decade = least;
        while decade <= axis.most {
            let x = axis.x(decade);
            canvas::line(area, Ink::Grid, 1, (x, top), (x, bottom))?;
            let anchor = if x < 20 { HPos::Left } else { HPos::Center };
            let text = numbers::axis(decade);
            canvas::text(area, Ink::Muted, anchor, (x, bottom + 10), &text)?;
            decade *= 10.0;
        }
        Ok(())
    }

    fn draw_bar(&self, area: &Area<'_>, bar: &Bar, middle: i32, axis: &Axis) -> Drawn {
        let half = BAR / 2;
        let end = axis.x(bar.length().unwrap_or(0.0)).max(axis.left + 1);
        let (from, to) = ((axis.left, middle - half), (end, middle + half));
        match bar.value {
            Some(_) => canvas::rectangle(area, Ink::Measured, from, to)?,
            None => canvas::outline(area, Ink::Predicted, from, to)?,
        }
        if let (Some(_), Some(predicted)) = (bar.value, bar.predicted) {
            let x = axis.x(predicted);
            let (above, below) = (middle - half - 3, middle + half + 3);
            canvas::line(area, Ink::Predicted, 3, (x, above), (x, below))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bars(values: &[f64]) -> Bars {
        let bars = values.iter().map(|&value| Bar {
            label: "kernel".to_owned(),
            value: Some(value),
            predicted: None,
            percent: None,
            hover: String::new(),
        });
        Bars {
            unit: "GB/s",
            bars: bars.collect(),
            levels: Vec::new(),
        }
    }

    #[test]
    fn the_axis_is_logarithmic_only_where_a_bar_would_vanish() {
        assert!(!bars(&[20.0, 1000.0]).is_logarithmic());
        assert!(bars(&[2.0, 1000.0]).is_logarithmic());
        assert!(!bars(&[0.0]).is_logarithmic());
        for values in [&[0.5, 1000.0][..], &[20.0, 1000.0], &[0.0], &[]] {
            let bars = bars(values);
            for size in [Size::Wide, Size::Narrow] {
                let axis = bars.axis(size);
                for &value in values.iter().filter(|value| **value > 0.0) {
                    let length = axis.x(value) - axis.left;
                    assert!(length >= 2, "{value}: {length}");
                    assert!(axis.x(value) <= size.width() as i32);
                }
            }
        }
    }
}
