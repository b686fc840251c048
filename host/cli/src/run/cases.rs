//! What a run consists of: kernels at sizes, and how long that will take.

use super::prediction;
use crate::select;
use crate::shape::AskedShape;
use anyhow::bail;
use std::time::{Duration, Instant};
use warpladder::engine::{Engine, EngineKind};
use warpladder_lab::catalogue::{self, Family, Implementation, Rung};
use warpladder_lab::predict;
use warpladder_lab::problem::Shape;
use warpladder_lab::run::{Admitted, Problems, check_shape, preflight};
use warpladder_models::devices::DeviceModel;

/// Products on the host run unasked up to this much work: 512 × 512 × 512, about a second for the
/// slowest.
const CPU_FLOPS: f64 = 2.0 * 512.0 * 512.0 * 512.0;

/// What the model predicts where no size is given: the size at which a GPU runs.
const PREDICTED: Shape = Shape {
    m: select::PREDICTED_SIZE,
    n: select::PREDICTED_SIZE,
    k: select::PREDICTED_SIZE,
};

/// A kernel at a size.
#[derive(Clone)]
pub(super) struct RunCase {
    pub admitted: Admitted,
    /// The size that is predicted.
    pub predicted: Shape,
    /// The number of the size that was asked for.
    pub group: usize,
    /// What stands above the first row of the group, where there are several.
    pub heading: Option<String>,
    /// How long it will take, as far as that is known before.
    pub seconds: f64,
}

impl RunCase {
    pub(super) fn rung(&self) -> &'static Rung {
        self.admitted.rung()
    }
}

/// The cases of a run, and what is left out of it.
#[derive(Default)]
pub(super) struct Selection {
    /// What runs, size by size.
    pub run: Vec<RunCase>,
    /// Those that do not take the size.
    pub unsupported: Vec<&'static Rung>,
    /// Products on the host that would take long.
    pub slow: Vec<&'static Rung>,
    /// Those that would take longer than the limit, with how long.
    pub over_limit: Vec<(&'static Rung, f64)>,
}

/// Which kernels, as the arguments name them.
pub(super) struct Named<'a> {
    pub family: Option<Family>,
    pub kernels: &'a [String],
    pub exclude: &'a [String],
}

impl Named<'_> {
    /// The kernels that the arguments name.
    pub(super) fn rungs(&self) -> anyhow::Result<Vec<&'static Rung>> {
        let excluded = select::kernels(self.exclude)?;
        let is_wanted = |rung: &&Rung| !excluded.iter().any(|other| other.name == rung.name);
        let of_family = |rung: &&Rung| self.family.is_none_or(|family| family == rung.family);
        let mut named = select::kernels(self.kernels)?;
        if self.kernels.is_empty() {
            named = catalogue::rungs().collect();
            named.retain(of_family);
        } else if let Some(family) = self.family {
            // A pattern may name kernels of several families; a name is of one.
            for word in self.kernels {
                let of_word = select::kernels(std::slice::from_ref(word))?;
                if let [one] = of_word[..]
                    && one.family != family
                {
                    let (name, other) = (one.name, one.family);
                    bail!("{name} is of family {other}, not {family}: leave out --family");
                }
            }
            named.retain(of_family);
        }
        named.retain(is_wanted);
        if named.is_empty() {
            bail!("no kernel is left: name others, or leave out --exclude");
        }
        Ok(named)
    }

    /// Whether a kernel is named, and not only matched by a pattern: one that is must run.
    fn is_by_name(&self, rung: &Rung) -> bool {
        self.kernels.iter().any(|word| word == rung.name)
    }
}

/// Splits off the rungs that do not take a size. One that was asked for by name is an error; of the
/// whole catalogue, a family or a pattern, the others run.
pub(super) fn split(
    named: &Named<'_>,
    engine: &dyn Engine,
    shapes: &[AskedShape],
    is_given: bool,
) -> anyhow::Result<Selection> {
    let rungs = named.rungs()?;
    let mut selection = Selection::default();
    for (group, &asked) in shapes.iter().enumerate() {
        let heading = (shapes.len() > 1).then(|| asked.heading());
        for &rung in &rungs {
            let by_name = named.is_by_name(rung);
            let on_cpu = matches!(rung.implementation, Implementation::Cpu(_));
            let shape = match asked.of(rung) {
                Ok(shape) => shape,
                Err(error) if by_name => return Err(error.into()),
                Err(_) => {
                    selection.unsupported.push(rung);
                    continue;
                }
            };
            if on_cpu && !by_name && rung.operation.flops(shape) > CPU_FLOPS {
                selection.slow.push(rung);
                continue;
            }
            let is_predicted_larger = !is_given && check_shape(rung, PREDICTED).is_ok();
            selection.run.push(RunCase {
                admitted: preflight(engine, rung, shape)?,
                predicted: match is_predicted_larger {
                    true => PREDICTED,
                    false => shape,
                },
                group,
                heading: heading.clone(),
                seconds: 0.0,
            });
        }
    }
    if selection.run.is_empty() {
        let sizes = shapes.iter().map(|asked| {
            let Shape { m, n, k } = asked.any();
            format!("{m} x {n} x {k}")
        });
        bail!(
            "no kernel of this selection takes {}: `warpladder list --wide` says what each takes",
            sizes.collect::<Vec<_>>().join(" or ")
        );
    }
    Ok(selection)
}

/// What an estimate depends on.
pub(super) struct Conditions<'a> {
    pub engine: &'a dyn Engine,
    /// The GPU that is predicted.
    pub device: Option<&'a DeviceModel>,
    /// The GPU that is measured.
    pub measured: Option<&'a DeviceModel>,
    pub reps: usize,
    pub seed: u64,
}

/// How many times as long as the simplest kernel others take for a multiply-add, as a rule.
const OTHERS: f64 = 4.0;

/// Times of an emulated run that counting takes for a prediction, and the extents of a problem that
/// is as much work as all that are counted for it.
const COUNTING: f64 = 150.0;
const COUNTED: u32 = 384;

/// Estimates above this, in seconds, are made more precise by a small run of the kernel.
const ROUGH_SECONDS: f64 = 2.0;

/// Extents of such a run: of a product, and of what has no third dimension.
const SAMPLES: [u32; 2] = [128, 1024];

/// Share of its roof that a kernel on a GPU reaches at least, but for the first ones of a ladder.
const GPU_SHARE: f64 = 0.05;

/// Launches on a GPU beside the samples: the check, the warm-up, and those with transfers.
const OTHER_LAUNCHES: usize = 7;

/// Fills in how long each case will take. Small ones together are not looked at closely.
pub(super) fn estimate(cases: &mut [RunCase], on: &Conditions<'_>) -> anyhow::Result<()> {
    if on.engine.kind() == EngineKind::Gpu {
        for case in cases {
            let least = on.measured.and_then(|device| {
                predict::least_seconds(device, case.rung(), case.admitted.shape())
            });
            let launches = (on.reps + OTHER_LAUNCHES) as f64;
            case.seconds = launches * least.unwrap_or_default() / GPU_SHARE;
        }
        return Ok(());
    }
    let Some(rate) = rate(on)? else {
        return Ok(());
    };
    for case in cases {
        let (rung, shape) = (case.rung(), case.admitted.shape());
        let runs = (1 + on.reps) as f64;
        let mut seconds = OTHERS * rate * runs * work(rung, shape);
        if seconds > ROUGH_SECONDS {
            let [product, flat] = SAMPLES;
            let most = if rung.operation.uses_k() {
                product
            } else {
                flat
            };
            let [m, n, k] = [shape.m, shape.n, shape.k].map(|extent| extent.min(most));
            let small = Shape { m, n, k };
            let small = rung.precondition.round_up(rung.operation, small);
            let took = run_once(on, rung, small)?;
            seconds = took * runs * work(rung, shape) / work(rung, small);
        }
        let is_counted = on.device.is_some_and(|device| {
            !case.admitted.is_on_host()
                && prediction::shipped(device, rung, case.predicted).is_none()
        });
        if is_counted {
            let Shape { m, n, k } = case.predicted;
            let [m, n, k] = [m, n, k].map(|extent| extent.min(COUNTED));
            seconds += COUNTING * rate * work(rung, Shape { m, n, k });
        }
        case.seconds = seconds;
    }
    Ok(())
}

/// Multiply-adds of a problem, or elements that it moves.
fn work(rung: &Rung, shape: Shape) -> f64 {
    let flops = rung.operation.flops(shape) / 2.0;
    flops.max(rung.operation.elements_moved(shape)).max(1.0)
}

/// Seconds in which the emulator does a multiply-add of the simplest kernel here, in this build.
fn rate(on: &Conditions<'_>) -> anyhow::Result<Option<f64>> {
    const EXTENT: u32 = 96;
    let Some(simplest) = catalogue::find("naive") else {
        return Ok(None);
    };
    let shape = Shape {
        m: EXTENT,
        n: EXTENT,
        k: EXTENT,
    };
    Ok(Some(run_once(on, simplest, shape)? / work(simplest, shape)))
}

/// Seconds of one run.
fn run_once(on: &Conditions<'_>, rung: &'static Rung, shape: Shape) -> anyhow::Result<f64> {
    let admitted = preflight(on.engine, rung, shape)?;
    let start = Instant::now();
    let record = Problems::new(on.seed).run(on.engine, &admitted, 1)?;
    let checked_and_timed = start.elapsed().as_secs_f64() / 2.0;
    Ok(record
        .own_median_ms()
        .map_or(checked_and_timed, |ms| ms / 1e3))
}

/// A duration in words that are as precise as an estimate: "40 s", "3 min", "5 h".
pub(super) fn about(seconds: f64) -> String {
    match seconds {
        ..90.0 => format!("{:.0} s", seconds.ceil()),
        ..5400.0 => format!("{:.0} min", seconds / 60.0),
        ..172_800.0 => format!("{:.0} h", seconds / 3600.0),
        _ => format!("{:.0} days", seconds / 86_400.0),
    }
}

impl Selection {
    /// How long all cases take, in seconds.
    pub(super) fn seconds(&self) -> f64 {
        self.run.iter().map(|case| case.seconds).sum()
    }

    /// Leaves out what would take longer than the limit by itself.
    pub(super) fn within(&mut self, limit: Duration) -> anyhow::Result<()> {
        let (within, over): (Vec<RunCase>, Vec<RunCase>) = std::mem::take(&mut self.run)
            .into_iter()
            .partition(|case| case.seconds <= limit.as_secs_f64().max(ROUGH_SECONDS));
        self.run = within;
        let over = over.into_iter();
        self.over_limit = over.map(|case| (case.rung(), case.seconds)).collect();
        if let ([], Some((rung, seconds))) = (&self.run[..], self.over_limit.first()) {
            bail!(
                "--time-limit {}: {} would take about {}: give more time, or a smaller --shape",
                limit.as_secs_f64(),
                rung.name,
                about(*seconds)
            );
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_as_precise_as_estimates() {
        for (seconds, words) in [
            (0.2, "1 s"),
            (61.0, "61 s"),
            (120.0, "2 min"),
            (7200.0, "2 h"),
            (864_000.0, "10 days"),
        ] {
            assert_eq!(about(seconds), words);
        }
    }
}
