//! Rows: an entry of a table with the source's figures, ours, and the sentence about the step.

use super::Source;
use super::bench::{Bench, RungMeasurement, Values};
use super::group::{Count, Entry, Figure, Group, Shown, Timed, Unit, Useful};
use super::step::{NO_STEP_IN_COUNTS, NO_STEP_IN_TIME, StepVerdict, step, why_counted, why_timed};
use crate::catalogue::Rung;
use crate::problem::Shape;
use crate::run::Record;
use ptx_emulator::counters::Counts;
use warpladder::engine::EngineKind;

/// One rung: the record of `reproduce --json`, which the report reads back.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
#[non_exhaustive]
pub struct Row {
    /// The source's number.
    pub source: Source,
    /// Title of the table.
    pub group: String,
    /// Name of the rung.
    pub rung: String,
    /// The rung that steps are from; null for the first.
    pub over: Option<String>,
    /// The machine of the source's figures.
    pub hardware: String,
    /// The source's problem.
    pub problem: String,
    /// The source's figures; the step of the first is what ours is compared with.
    pub there: Vec<There>,
    /// The engine that ran the rung here.
    pub engine: EngineKind,
    /// Its device.
    pub device: String,
    /// Rows of our problem.
    pub m: u32,
    /// Columns of our problem.
    pub n: u32,
    /// The dimension that a product sums over, or 16 times the rounds of the FMA chains; null
    /// elsewhere.
    pub k: Option<u32>,
    /// Our values.
    pub here: Vec<Here>,
    /// How the steps compare.
    pub verdict: StepVerdict,
    /// One line on the step: why it is larger, smaller or gone.
    pub why: String,
    /// Whether the output was right.
    pub ok: bool,
    /// What was wrong, as one line; null where nothing was.
    pub complaint: Option<String>,
}

/// A figure of the source.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct There {
    /// The number.
    pub value: f64,
    /// Its unit.
    pub unit: Unit,
    /// Number and unit as the source words them.
    pub words: String,
    /// What kind of figure it is.
    pub kind: String,
    /// Its machine, where that is not the table's; null elsewhere.
    pub hardware: Option<String>,
    /// How many times better than the rung before, by figures of the same kind; null where that
    /// has none.
    pub step: Option<f64>,
}

/// A value of ours.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct Here {
    /// What it is.
    pub measure: String,
    /// Its unit; for counts, what they are divided by.
    pub unit: String,
    /// The value; null where the check failed.
    pub value: Option<f64>,
    /// How many times better than the rung before; for counts, how many times fewer. Null where
    /// either is 0 or null.
    pub step: Option<f64>,
}

/// One kind of value of ours.
#[derive(Clone, Copy, PartialEq)]
enum Measure {
    Time(Timed),
    Count(Count),
}

impl Measure {
    /// Those of a group here.
    fn of(bench: &Bench<'_>, group: &Group) -> Vec<Measure> {
        if bench.counts(group) {
            group.counted.iter().copied().map(Measure::Count).collect()
        } else {
            group.timed.iter().copied().map(Measure::Time).collect()
        }
    }

    fn name(self) -> &'static str {
        match self {
            Measure::Time(timed) => timed.name(),
            Measure::Count(count) => count.name(),
        }
    }

    fn unit(self, useful: Useful) -> String {
        match self {
            Measure::Time(timed) => timed.unit().to_string(),
            Measure::Count(Count::BytesPerFlop) => "B/FLOP".to_owned(),
            Measure::Count(_) => format!("per {useful}"),
        }
    }

    fn more_is_better(self) -> bool {
        match self {
            Measure::Time(timed) => timed.unit().more_is_better(),
            Measure::Count(_) => false,
        }
    }
}

/// One row for each entry.
pub(super) fn rows(
    bench: &Bench<'_>,
    source: Source,
    group: &'static Group,
    measured: &[RungMeasurement],
    reference: Option<&Record>,
) -> Vec<Row> {
    let measures = Measure::of(bench, group);
    let values: Vec<Vec<Option<f64>>> = group
        .entries
        .iter()
        .zip(measured)
        .map(|(entry, measured)| {
            let value = |&measure| value(measure, group.useful, entry, measured, reference);
            measures.iter().map(value).collect()
        })
        .collect();
    (0..group.entries.len())
        .map(|index| {
            let (entry, measured) = (&group.entries[index], &measured[index]);
            let base = entry
                .step
                .and_then(|(name, _)| group.entries.iter().position(|entry| entry.rung == name));
            let there: Vec<There> = entry
                .figures
                .iter()
                .map(|figure| there(figure, base.map(|base| group.entries[base].figures)))
                .collect();
            let here: Vec<Here> = measures
                .iter()
                .enumerate()
                .map(|(column, measure)| Here {
                    measure: measure.name().to_owned(),
                    unit: measure.unit(group.useful),
                    value: values[index][column],
                    step: step(
                        values[index][column],
                        base.and_then(|base| values[base][column]),
                        measure.more_is_better(),
                    ),
                })
                .collect();
            let (verdict, why) = judge(entry, &there, &measures, &here);
            let shape = measured.shape;
            Row {
                source,
                group: group.title.to_owned(),
                rung: entry.rung.to_owned(),
                over: entry.step.map(|(name, _)| name.to_owned()),
                hardware: group.hardware.to_owned(),
                problem: group.problem.to_owned(),
                there,
                engine: measured.engine,
                device: measured.device.clone(),
                m: shape.m,
                n: shape.n,
                k: measured.rung.operation.uses_k().then_some(shape.k),
                here,
                verdict,
                why,
                ok: measured.ok,
                complaint: measured.complaint.clone(),
            }
        })
        .collect()
}

/// A figure with its step over the figure of the same kind that the rung before has.
fn there(figure: &Figure, before: Option<&[Figure]>) -> There {
    let same_kind = |other: &&Figure| {
        (other.kind, other.unit, other.hardware) == (figure.kind, figure.unit, figure.hardware)
    };
    let step = if figure.unit == Unit::TimesBefore {
        Some(figure.value)
    } else {
        let base = before.and_then(|figures| figures.iter().find(same_kind));
        step(
            Some(figure.value),
            base.map(|base| base.value),
            figure.unit.more_is_better(),
        )
    };
    There {
        value: figure.value,
        unit: figure.unit,
        words: figure.to_string(),
        kind: figure.kind.to_owned(),
        hardware: figure.hardware.map(str::to_owned),
        step,
    }
}

/// How the step compares, and the sentence about it.
fn judge(
    entry: &Entry,
    there: &[There],
    measures: &[Measure],
    here: &[Here],
) -> (StepVerdict, String) {
    let Some((before, reason)) = entry.step else {
        return (StepVerdict::First, "the first of its table".to_owned());
    };
    // Times are compared by the first of them, counts by the one that shows the reason.
    let column = match (measures.first(), reason.shown) {
        (Some(Measure::Time(_)), _) => Some(0),
        (_, Shown::In(count)) => measures
            .iter()
            .position(|&measure| measure == Measure::Count(count)),
        (_, Shown::InTime) => None,
    };
    let Some(column) = column else {
        return (
            StepVerdict::NotCounted,
            why_counted(StepVerdict::NotCounted, reason, None),
        );
    };
    let ours = here[column].step;
    let no_step = match measures[column] {
        Measure::Time(_) => NO_STEP_IN_TIME,
        Measure::Count(_) => NO_STEP_IN_COUNTS,
    };
    let verdict = StepVerdict::of(there.first().and_then(|figure| figure.step), ours, no_step);
    let why = match measures[column] {
        _ if verdict == StepVerdict::NotMeasured => {
            format!(
                "not compared: {} or {before} gave no value here",
                entry.rung
            )
        }
        Measure::Time(_) => why_timed(verdict, reason),
        Measure::Count(_) => why_counted(verdict, reason, ours),
    };
    (verdict, why)
}

/// One value of a rung.
fn value(
    measure: Measure,
    useful: Useful,
    entry: &Entry,
    measured: &RungMeasurement,
    reference: Option<&Record>,
) -> Option<f64> {
    let value = match (measure, measured.values.as_ref()?) {
        (Measure::Time(timed), Values::Times(record)) => {
            from_times(timed, entry, record, reference)?
        }
        (Measure::Count(count), Values::Counts(counts)) => {
            from_counts(count, useful, measured.rung, measured.shape, counts)
        }
        _ => return None,
    };
    Some(value).filter(|value| value.is_finite())
}

fn from_times(
    timed: Timed,
    entry: &Entry,
    record: &Record,
    reference: Option<&Record>,
) -> Option<f64> {
    // A rate at the median becomes that at another time of the same work.
    let at = |rate: Option<f64>, time: Option<f64>| Some(rate? * record.median_ms? / time?);
    match timed {
        Timed::Gflops => record.gflops,
        Timed::HostToHostGflops => at(record.gflops, record.host_to_host_ms),
        Timed::Milliseconds => record.median_ms,
        Timed::Gbs => record.gbs,
        Timed::OuterGbs => at(record.gbs, record.outer_ms),
        Timed::InnerGbs => at(record.gbs, record.inner_ms),
        Timed::PercentOfReference => Some(100.0 * record.gflops? / reference?.gflops?),
        Timed::BandwidthBound { there_gbs } => {
            let bound = entry
                .figures
                .first()
                .filter(|figure| figure.unit == Unit::Gflops)?;
            Some(bound.value * reference?.gbs? / there_gbs)
        }
    }
}

fn from_counts(count: Count, useful: Useful, rung: &Rung, shape: Shape, counts: &Counts) -> f64 {
    let per_useful = |count: u64| {
        let units = match useful {
            Useful::WarpFma => rung.operation.flops(shape) / 64.0,
            Useful::WarpOutput => {
                let (rows, columns) = rung.operation.extent(shape);
                (rows * columns) as f64 / 32.0
            }
        };
        count as f64 / units
    };
    match count {
        Count::Sectors => per_useful(counts.global().sectors),
        Count::Wavefronts => per_useful(counts.shared().wavefronts),
        Count::Instructions => per_useful(counts.warp_instructions),
        Count::BytesPerFlop => counts.global().bytes as f64 / rung.operation.flops(shape),
    }
}
