//! Bars: the rungs of a ladder.

use super::Size;
use super::canvas::{self, Area, DrawError, Drawn, Entry, Ink, Mark, legend_height, width_of};
use crate::numbers;
use plotters::style::text_anchor::HPos;

/// A chart of horizontal bars, the first at the top.
#[derive(Clone, Debug)]
pub struct Bars {
    /// Unit of the values.
    pub unit: &'static str,
    /// The bars.
    pub bars: Vec<Bar>,
}

/// One bar.
#[derive(Clone, Debug)]
pub struct Bar {
    /// Its name.
    pub label: String,
    /// What was measured.
    pub value: f64,
    /// What was predicted.
    pub predicted: Option<f64>,
}

/// Height of a bar, in pixels.
const BAR: i32 = 12;
/// From one bar to the next where labels stand before them, and where they stand above.
const ROW: [i32; 2] = [22, 36];
/// Room for the value behind the longest bar.
const VALUE: i32 = 64;

impl Bars {
    fn legend(&self) -> Vec<Entry<'static>> {
        let mut entries = vec![Entry {
            ink: Ink::Measured,
            mark: Mark::Disc,
            name: "measured",
        }];
        if self.bars.iter().any(|bar| bar.predicted.is_some()) {
            entries.push(Entry {
                ink: Ink::Predicted,
                mark: Mark::Disc,
                name: "predicted (line)",
            });
        }
        entries
    }

    fn row(size: Size) -> i32 {
        ROW[usize::from(size.is_narrow())]
    }

    pub(super) fn height(&self, size: Size) -> u32 {
        let legend = legend_height(size.width(), &self.legend());
        (legend + Self::row(size) * self.bars.len() as i32 + 8) as u32
    }

    pub(super) fn draw(&self, area: &Area<'_>, size: Size) -> Drawn {
        let top = canvas::legend(area, &self.legend())? + 4;
        let narrow = size.is_narrow();
        let longest = self.bars.iter().map(|bar| width_of(&bar.label)).max();
        let left = if narrow { 0 } else { longest.unwrap_or(0) + 8 };
        let room = f64::from(size.width() as i32 - left - VALUE);
        let values = self
            .bars
            .iter()
            .flat_map(|bar| [Some(bar.value), bar.predicted]);
        let most = values.flatten().fold(f64::MIN_POSITIVE, f64::max);
        let x = |value: f64| left + (room * value / most).round() as i32;
        for (index, bar) in self.bars.iter().enumerate() {
            let row = top + index as i32 * Self::row(size);
            let middle = if narrow { row + 27 } else { row + 11 };
            self.draw_bar(area, bar, (left, middle), x)?;
            if narrow {
                canvas::text(area, Ink::Text, HPos::Left, (0, row + 10), &bar.label)?;
            } else {
                canvas::text(area, Ink::Text, HPos::Right, (left - 8, middle), &bar.label)?;
            }
        }
        Ok(())
    }

    fn draw_bar(
        &self,
        area: &Area<'_>,
        bar: &Bar,
        (left, middle): (i32, i32),
        x: impl Fn(f64) -> i32,
    ) -> Result<(), DrawError> {
        let end = x(bar.value).max(left + 1);
        let half = BAR / 2;
        canvas::rectangle(
            area,
            Ink::Measured,
            (left, middle - half),
            (end, middle + half),
        )?;
        let mut after = end;
        if let Some(predicted) = bar.predicted {
            let x = x(predicted);
            let (above, below) = (middle - half - 3, middle + half + 3);
            canvas::line(area, Ink::Predicted, 3, (x, above), (x, below))?;
            after = after.max(x);
        }
        let value = numbers::short(bar.value);
        canvas::text(area, Ink::Text, HPos::Left, (after + 6, middle), &value)
    }
}
