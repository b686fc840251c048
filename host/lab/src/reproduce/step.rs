//! Steps: ours beside the source's, and the sentence that fits.

use super::group::{Count, Reason, Shown};

/// How our step compares with the source's.
///
/// A step is how many times better a rung is than the one before; below 1 it is worse.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepVerdict {
    /// There is no rung before.
    First,
    /// The source gives no step.
    NoStepGiven,
    /// We have no step: a rung failed, or the value is 0.
    NotMeasured,
    /// The reason is one of time, and we have counts.
    NotCounted,
    /// About the same.
    Same,
    /// The same direction, further from 1.
    Larger,
    /// The same direction, closer to 1.
    Smaller,
    /// A step there, none here.
    Gone,
    /// Better there and worse here, or the other way round.
    Reversed,
    /// No step there, and none here.
    None,
    /// No step there, one here.
    New,
}

/// A rung as fast as the one before within this factor is no step: 4 %, just under the smallest
/// that a source names (5 %).
pub const NO_STEP_IN_TIME: f64 = 1.04;

/// The same for counts, which have no noise: 1 %.
pub const NO_STEP_IN_COUNTS: f64 = 1.01;

/// Steps within this factor of each other are about the same.
const SAME: f64 = 1.15;

impl StepVerdict {
    /// Compares steps; ours is none within a factor of `no_step`.
    pub fn of(there: Option<f64>, here: Option<f64>, no_step: f64) -> StepVerdict {
        let Some(here) = here else {
            return StepVerdict::NotMeasured;
        };
        let Some(there) = there else {
            return StepVerdict::NoStepGiven;
        };
        // Logarithms: doubling and halving are steps of one size in two directions.
        let (there, here) = (there.ln(), here.ln());
        match (
            there.abs() > NO_STEP_IN_TIME.ln(),
            here.abs() > no_step.ln(),
        ) {
            (false, false) => StepVerdict::None,
            (false, true) => StepVerdict::New,
            (true, false) => StepVerdict::Gone,
            (true, true) if there.signum() != here.signum() => StepVerdict::Reversed,
            (true, true) if (there - here).abs() <= SAME.ln() => StepVerdict::Same,
            (true, true) if here.abs() > there.abs() => StepVerdict::Larger,
            (true, true) => StepVerdict::Smaller,
        }
    }
}

/// How many times better `value` is than `base`.
pub fn step(value: Option<f64>, base: Option<f64>, more_is_better: bool) -> Option<f64> {
    let (value, base) = (value?, base?);
    let step = if more_is_better {
        value / base
    } else {
        base / value
    };
    Some(step).filter(|step| step.is_finite() && *step > 0.0)
}

/// Why a step in time is what it is.
pub fn why_timed(verdict: StepVerdict, reason: &Reason) -> String {
    let change = reason.change;
    // A test sees to it that every step that a source gives has both.
    let less = reason.weight.as_ref().map_or("", |weight| weight.less);
    let more = reason.weight.as_ref().map_or("", |weight| weight.more);
    match verdict {
        StepVerdict::First | StepVerdict::NotMeasured | StepVerdict::NotCounted => {
            change.to_owned()
        }
        StepVerdict::NoStepGiven => format!("no step given there: {change}"),
        StepVerdict::Same => format!("about as there: {change}"),
        StepVerdict::None => format!("no step, as there: {change}"),
        StepVerdict::Larger => format!("larger than there: {change}; and {more}"),
        StepVerdict::Smaller => format!("smaller than there: {change}; but {less}"),
        StepVerdict::Gone => format!("gone here: {change}; but {less}"),
        StepVerdict::Reversed => format!("turned round here: {change}; but {less}"),
        StepVerdict::New => format!("a step here, none there: {change}; and {more}"),
    }
}

/// Why a step in counts is what it is; `step` is that of `shown`.
pub fn why_counted(verdict: StepVerdict, reason: &Reason, step: Option<f64>) -> String {
    let change = reason.change;
    let (Shown::In(count), Some(step)) = (reason.shown, step) else {
        return format!("not in the counts, which see no time: {change}");
    };
    let what = format!("{change}: {}", amount(step, count));
    match verdict {
        StepVerdict::Larger => format!("{what}, a larger step than there"),
        StepVerdict::Smaller => {
            format!("{what}, a smaller step than there, for counts see no time")
        }
        StepVerdict::Gone => {
            format!("{what}; what it changed there is time, which counts do not see")
        }
        StepVerdict::Reversed => {
            format!("{what}; in time it was the other way there, which counts do not see")
        }
        _ => what,
    }
}

/// A step of a count in words: how many fewer, or how many more.
fn amount(step: f64, count: Count) -> String {
    let name = count.name();
    if step >= 2.0 {
        format!("{step:.1} times fewer {name}")
    } else if step > 1.0 && percent(1.0 - 1.0 / step) > 0.0 {
        format!("{} % fewer {name}", percent(1.0 - 1.0 / step))
    } else if step <= 0.5 {
        format!("{:.1} times as many {name}", 1.0 / step)
    } else if percent(1.0 / step - 1.0) > 0.0 {
        format!("{} % more {name}", percent(1.0 / step - 1.0))
    } else {
        format!("as many {name}")
    }
}

/// A share in percent with one decimal.
fn percent(share: f64) -> f64 {
    (share * 1e3).round() / 10.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::Reason;

    #[test]
    fn steps_are_how_many_times_better() {
        assert_eq!(step(Some(6.0), Some(2.0), true), Some(3.0));
        assert_eq!(step(Some(6.0), Some(2.0), false), Some(1.0 / 3.0));
        assert_eq!(step(Some(6.0), None, true), None);
        assert_eq!(step(Some(0.0), Some(0.0), true), None);
        assert_eq!(step(Some(0.0), Some(2.0), false), None);
    }

    #[test]
    fn verdicts_compare_directions_and_sizes() {
        let verdict = |there, here| StepVerdict::of(Some(there), Some(here), NO_STEP_IN_TIME);
        assert_eq!(verdict(2.0, 2.1), StepVerdict::Same);
        assert_eq!(verdict(2.0, 4.0), StepVerdict::Larger);
        assert_eq!(verdict(2.0, 1.3), StepVerdict::Smaller);
        assert_eq!(verdict(2.0, 1.02), StepVerdict::Gone);
        assert_eq!(verdict(2.0, 0.8), StepVerdict::Reversed);
        assert_eq!(verdict(0.97, 1.03), StepVerdict::None);
        assert_eq!(verdict(1.0, 1.5), StepVerdict::New);
        // Costs: a rung that is four times slower is a larger step than one that is three times
        // slower.
        assert_eq!(verdict(1.0 / 3.0, 0.25), StepVerdict::Larger);
        assert_eq!(verdict(1.0 / 3.0, 0.8), StepVerdict::Smaller);
        // The smallest step that a source names.
        assert_eq!(verdict(0.95, 1.0), StepVerdict::Gone);
        let with = |there, here| StepVerdict::of(there, here, NO_STEP_IN_COUNTS);
        assert_eq!(with(Some(0.95), Some(0.97)), StepVerdict::Same);
        assert_eq!(with(None, Some(1.0)), StepVerdict::NoStepGiven);
        assert_eq!(with(Some(1.0), None), StepVerdict::NotMeasured);
    }

    #[test]
    fn the_measured_step_decides_the_sentence() {
        let reason = Reason::new("a change", Shown::In(Count::Sectors))
            .weighing("a reason for less", "one for more");
        let timed = |verdict| why_timed(verdict, &reason);
        assert_eq!(timed(StepVerdict::Same), "about as there: a change");
        assert_eq!(
            timed(StepVerdict::Larger),
            "larger than there: a change; and one for more"
        );
        assert_eq!(
            timed(StepVerdict::Gone),
            "gone here: a change; but a reason for less"
        );
        let counted = |step| why_counted(StepVerdict::Same, &reason, Some(step));
        assert_eq!(counted(4.0), "a change: 4.0 times fewer global sectors");
        assert_eq!(counted(1.25), "a change: 20 % fewer global sectors");
        assert_eq!(counted(1.0), "a change: as many global sectors");
        assert_eq!(counted(0.8), "a change: 25 % more global sectors");
        assert_eq!(counted(0.25), "a change: 4.0 times as many global sectors");
    }
}
