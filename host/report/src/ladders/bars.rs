//! A ladder as bars.

use super::{Ladder, Step};
use crate::numbers;
use crate::plot::{Bar, Bars, Chart, Ink, Level, Plot};

impl Ladder<'_> {
    /// As bars.
    pub fn plot(&self, device: Option<&str>) -> Plot {
        let metric = self.class.metric;
        let levels = self.peers.iter().map(|(_, rate)| *rate);
        let levels = levels.chain(self.peak.iter().map(|peak| peak.value));
        let ranks = self.steps.iter().filter_map(Step::rank);
        let most = ranks.chain(levels).fold(0.0, f64::max);
        let (unit, scale) = match most >= 1e4 {
            true => (metric.large_unit(), 1e-3),
            false => (metric.unit(), 1.0),
        };
        let scaled = |value: Option<f64>| value.map(|value| value * scale);
        let bars = self.steps.iter().map(|step| Bar {
            label: step.rung.name.to_owned(),
            value: scaled(step.value),
            predicted: scaled(step.predicted),
            percent: self.percent(step),
            hover: self.hover(step, unit, scale),
        });
        let level = |name: String, value: f64, ink| Level {
            name: format!("{name}, {} {unit}", numbers::short(value * scale)),
            value: value * scale,
            ink,
        };
        let peers = self.peers.iter();
        let peers = peers.map(|(of, rate)| level(of.peer.clone(), *rate, Ink::Second));
        let peak = self.peak.as_ref();
        let peak = peak.map(|peak| level(peak.name.to_owned(), peak.value, Ink::Muted));
        let bars = Bars {
            unit,
            bars: bars.collect(),
            levels: peers.chain(peak).collect(),
        };
        Plot {
            name: format!("ladder-{}", self.class.name),
            title: self.class.title.clone(),
            caption: self.caption(&bars, device),
            chart: Chart::Bars(bars),
        }
    }

    fn hover(&self, step: &Step<'_>, unit: &str, scale: f64) -> String {
        let mut text = format!("{}: {}", step.rung.name, step.rung.summary);
        for (value, what) in [(step.value, "measured"), (step.predicted, "predicted")] {
            if let Some(value) = value {
                text += &format!("; {} {unit} {what}", numbers::short(value * scale));
            }
        }
        if let (Some(percent), Some(peak)) = (self.percent(step), &self.peak) {
            text += &format!("; {} % of the {}", numbers::percent(percent), peak.name);
        }
        let base = self.base(step);
        let first = self.steps.first().filter(|first| {
            first.rung.name != step.rung.name
                && base.is_none_or(|base| base.rung.name != first.rung.name)
        });
        if let Some(base) = base {
            text += &times(step, base).unwrap_or_default();
            text += ", the rung that it changes";
        }
        text += &first
            .and_then(|first| times(step, first))
            .unwrap_or_default();
        text
    }

    fn caption(&self, bars: &Bars, device: Option<&str>) -> String {
        let mut caption = format!("{} at {}", bars.unit, self.size().unwrap_or_default());
        match (self.is_predicted(), device) {
            (true, Some(device)) => caption += &format!(", predicted for the {device}"),
            (false, Some(device)) if self.class.name != "products-cpu" => {
                caption += &format!(", measured on the {device}");
            }
            _ => {}
        }
        caption += ". Longer is faster.";
        if self.steps.iter().any(|step| self.base(step).is_some()) {
            caption += " Each rung stands after the one that it changes, which the part on the \
                        kernel names.";
        }
        if let Some(peak) = &self.peak {
            caption += &format!(" Percentages are of the {}.", peak.name);
        }
        if bars.is_logarithmic() {
            caption += " The axis is logarithmic.";
        }
        if self.others > 0 {
            caption += &match self.others {
                1 => " Another size stands with the kernels below.".to_owned(),
                more => format!(" {more} more sizes stand with the kernels below."),
            };
        }
        caption
    }
}

/// How many times as fast as another one a rung is, in words.
fn times(step: &Step<'_>, other: &Step<'_>) -> Option<String> {
    let times = numbers::short(step.rank()? / other.rank()?);
    Some(format!("; {times} times {}", other.rung.name))
}
