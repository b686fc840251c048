//! The one change that would help a rung most, the rung that makes it, and the fastest rung of all.

use super::chapter::{Chapter, chapter};
use super::measured::measured_ms;
use super::notes::notes;
use super::{Counted, Explainer};
use warpladder_lab::catalogue::{self, Implementation, Rung};
use warpladder_lab::predict::Forecast;
use warpladder_lab::problem::Operation;
use warpladder_lab::run::check_shape;
use warpladder_models::Bound;

/// What would help most.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Change {
    /// The bound without whose work the rung would be fastest.
    pub bound: Bound,
    /// How many times as fast it would be without any of that work: more than the change can bring.
    pub at_most: f64,
    /// What to do about it.
    pub what: &'static str,
    /// The next step of the ladder: the first later rung that does it; null where the catalogue has
    /// none.
    pub rung: Option<OtherRung>,
}

/// A faster rung.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct OtherRung {
    /// Name of the rung.
    pub kernel: &'static str,
    /// One line: what it is.
    pub summary: &'static str,
    /// Predicted time.
    pub predicted_ms: f64,
    /// How many times as fast it should be.
    pub gain: f64,
    /// How many times as fast it is, where measurements of both are kept.
    pub measured_gain: Option<f64>,
    /// The chapter of the book on it; null without the source tree.
    pub chapter: Option<Chapter>,
}

/// A change relieves a bound if at most this share of its time is left.
const RELIEVED: f64 = 0.8;

/// A change has to bring this much.
const MIN_GAIN: f64 = 1.03;

pub(super) fn change(
    explainer: &Explainer,
    rung: &'static Rung,
    forecast: &Forecast,
    counted: &Counted,
) -> Change {
    let longest = &forecast.longest().prediction;
    let without = |bound: Bound| longest.seconds_without(bound);
    let bounds = longest.times.iter().map(|time| time.bound);
    let bound = bounds
        .min_by(|&a, &b| without(a).total_cmp(&without(b)))
        .unwrap_or(longest.bound);
    let rest = forecast.seconds() - longest.seconds;
    Change {
        bound,
        at_most: forecast.seconds() / (rest + without(bound)).max(f64::MIN_POSITIVE),
        what: advice(bound, forecast, counted),
        rung: next(explainer, rung, forecast, bound),
    }
}

/// The first rung after this one that computes the same and relieves the bound, else the first that
/// is faster.
fn next(
    explainer: &Explainer,
    rung: &'static Rung,
    forecast: &Forecast,
    bound: Bound,
) -> Option<OtherRung> {
    let busy = |forecast: &Forecast| -> f64 {
        let launches = forecast.launches.iter();
        launches
            .map(|launch| launch.prediction.seconds_of_resource(bound))
            .sum()
    };
    let place = |name: &str| catalogue::rungs().position(|other| other.name == name);
    let is_later = |other: &&Rung| place(other.name) > place(rung.name);
    let mut faster = None;
    for other in comparable(explainer, rung).into_iter().filter(is_later) {
        // One that cannot be predicted, or cannot run there, is no answer.
        let Ok(theirs) = explainer.forecast(other) else {
            continue;
        };
        if gain(forecast, &theirs) < MIN_GAIN {
            continue;
        }
        if busy(&theirs) <= RELIEVED * busy(forecast) {
            return Some(found(explainer, rung, forecast, other, &theirs));
        }
        faster.get_or_insert((other, theirs));
    }
    faster.map(|(other, theirs)| found(explainer, rung, forecast, other, &theirs))
}

/// The rung that is fastest at this size on this device, of all that compute the same; `None` where
/// that is this one.
pub(super) fn best(
    explainer: &Explainer,
    rung: &'static Rung,
    forecast: &Forecast,
) -> Option<OtherRung> {
    let predicted = comparable(explainer, rung)
        .into_iter()
        .filter_map(|other| Some((other, explainer.forecast(other).ok()?)));
    let seconds = |(_, forecast): &(_, std::rc::Rc<Forecast>)| forecast.seconds();
    let (other, theirs) = predicted.min_by(|a, b| seconds(a).total_cmp(&seconds(b)))?;
    (gain(forecast, &theirs) >= MIN_GAIN).then(|| found(explainer, rung, forecast, other, &theirs))
}

/// How many times as fast the other one should be.
fn gain(forecast: &Forecast, other: &Forecast) -> f64 {
    forecast.seconds() / other.seconds()
}

/// Another rung, beside the one that is explained.
fn found(
    explainer: &Explainer,
    rung: &'static Rung,
    forecast: &Forecast,
    other: &'static Rung,
    theirs: &Forecast,
) -> OtherRung {
    let measured = |rung| measured_ms(&explainer.device, rung, explainer.shape);
    let entry = theirs.longest().entry;
    let (file, _) = notes(entry, other.name);
    OtherRung {
        kernel: other.name,
        summary: other.summary,
        predicted_ms: theirs.seconds() * 1e3,
        gain: gain(forecast, theirs),
        measured_gain: measured(rung).zip(measured(other)).map(|(a, b)| a / b),
        chapter: chapter(other.name, file.as_deref()),
    }
}

/// Those of the rungs that compute the same as this one, and take the size.
pub(super) fn comparable(explainer: &Explainer, rung: &'static Rung) -> Vec<&'static Rung> {
    let others = catalogue::rungs().filter(|other| {
        other.name != rung.name
            && is_comparable(rung, other)
            && check_shape(other, explainer.shape).is_ok()
    });
    others.collect()
}

/// Whether both compute the same, from and to the same element types.
fn is_comparable(rung: &Rung, other: &Rung) -> bool {
    let chains = |rung: &Rung| matches!(rung.operation, Operation::FmaChains { .. });
    let kernel = !matches!(
        other.implementation,
        Implementation::Cpu(_) | Implementation::Dispatch(_)
    );
    kernel
        && rung.family == other.family
        && rung.element == other.element
        && (rung.operation == other.operation || chains(rung) && chains(other))
}

/// What relieves a bound. Counts tell apart the reasons why a path is busy.
fn advice(bound: Bound, forecast: &Forecast, counted: &Counted) -> &'static str {
    /// Wavefronts over ideal ones, and share of the sectors that is used, from which on that is the
    /// reason.
    const CONFLICTS: f64 = 1.5;
    const UNUSED: f64 = 0.55;
    /// Share of multiply-adds among the instructions from which on there is little else.
    const PURE: f64 = 0.7;
    let conflicts = counted.wavefronts_per_ideal.is_some_and(|r| r > CONFLICTS);
    let scattered = counted.sector_use.is_some_and(|used| used < UNUSED);
    let work = &forecast.longest().work;
    let arithmetic = work.instructions.fp32 + work.instructions.fp64;
    let pure = arithmetic as f64 > PURE * work.instructions.issued() as f64;
    let fits = work.dram_bytes == 0;
    match bound {
        Bound::L1 | Bound::Shared | Bound::LoadStore | Bound::Barriers if conflicts => {
            "lanes of a warp access the same bank: pad or swizzle the tile, so that each accesses \
             its own"
        }
        Bound::L1 | Bound::Shared | Bound::LoadStore | Bound::L2 | Bound::Latency if scattered => {
            "lanes of a warp access words far apart: let neighbouring lanes access neighbouring \
             words"
        }
        Bound::L1 | Bound::Shared | Bound::LoadStore => {
            "each value that is loaded is used too seldom: compute more outputs per thread, from \
             registers"
        }
        Bound::L2 => "each value that is fetched is used too seldom: larger tiles in shared memory",
        Bound::Dram => {
            "every byte takes its time: move fewer of them, each of them once, and keep more in flight"
        }
        Bound::Constant => {
            "constants are fetched one address after the other: keep them in registers, or let all \
             lanes use the same one"
        }
        Bound::Barriers => {
            "a block loads, waits and computes in turn: copy the next tile while this one is used, \
             or let each block do more \
             between barriers"
        }
        Bound::Latency if fits => {
            "warps wait for what they loaded: more warps, or more independent loads of each thread"
        }
        Bound::Latency => {
            "warps wait for device memory: more independent loads of each thread, or more warps"
        }
        Bound::Atomics => {
            "atomics to the same words wait for each other: add up in registers or shared memory \
             before"
        }
        Bound::Blocks => "blocks end as soon as they have started: more work for each thread",
        Bound::Tensor => "the tensor cores are busy: only fewer or narrower operations would help",
        Bound::Issue | Bound::Fp32 | Bound::Fp64 | Bound::Dispatch if pure => {
            "the units do multiply-adds and little else: only other units, such as tensor cores, \
             are faster"
        }
        Bound::Issue | Bound::Dispatch | Bound::Fp32 | Bound::Fp64 | Bound::Half => {
            "too many instructions beside the arithmetic: wider loads, and more outputs per thread"
        }
        Bound::Integer | Bound::Special | Bound::Conversion => {
            "too many instructions beside the arithmetic: compute addresses once, outside of the \
             loop"
        }
    }
}
