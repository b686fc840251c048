//! Steps of a ladder: why a rung is faster than the one before it, as far as counters tell.
//!
//! Both rungs run once on the emulator, at a small size, under counters. What is compared does not
//! depend on the size, or hardly: sectors of a request, wavefronts of an access to shared memory,
//! and what the rung needs for each 32 multiply-adds or outputs, which is what a warp does at once.

use crate::catalogue::{Implementation, Rung};
use crate::problem::{Operation, Shape};
use crate::profile::{Profile, profile};
use crate::run::{RunError, preflight};
use ptx_emulator::InstructionClass;
use ptx_emulator::counters::{Counters, Counts};
use warpladder::engine::emulator::EmulatorEngine;

/// What a rung does to the machine, in figures that compare with another rung's.
#[derive(Clone, Debug, PartialEq)]
pub struct Tally {
    /// Sectors of a request of global loads, and all of them for 32 useful operations.
    load_sectors: Option<[f64; 2]>,
    /// The same of global stores.
    store_sectors: Option<[f64; 2]>,
    /// Wavefronts of shared memory for each that the bytes would need, and all of them.
    conflicts: Option<[f64; 2]>,
    /// What 32 useful operations are: "multiply-adds", "outputs" or, where there are few of these,
    /// "inputs".
    useful: &'static str,
    /// Sectors of global memory for 32 of them.
    sectors: f64,
    /// Wavefronts of shared memory for 32 of them.
    wavefronts: f64,
    /// Instructions of warps for 32 of them.
    instructions: f64,
    /// Whether tensor cores do the arithmetic.
    tensor: bool,
}

/// Extents at which a kernel is counted: a plan needs more than one tile.
const COUNTED: u32 = 128;
const COUNTED_PLAN: u32 = 256;

/// A step by less than this factor is none, in either direction.
pub const NO_STEP: f64 = 1.04;

/// A counter explains a step if it changed by this factor.
const EXPLAINS: f64 = 1.25;

/// How lanes access memory explains it before how often they do, from this factor on.
const CAUSES: f64 = 1.5;

/// Counts a rung on the emulator, at the given size or a smaller one.
///
/// # Errors
/// Those of [`preflight`] and [`profile`].
pub fn tally(
    emulator: &EmulatorEngine,
    rung: &'static Rung,
    shape: Shape,
    seed: u64,
) -> Result<Tally, RunError> {
    let most = match rung.implementation {
        Implementation::Planned { .. } => COUNTED_PLAN,
        _ => COUNTED,
    };
    let [m, n, k] = [shape.m, shape.n, shape.k].map(|extent| extent.min(most));
    let small = rung
        .precondition
        .round_up(rung.operation, Shape { m, n, k });
    let profile = profile(emulator, &preflight(emulator, rung, small)?, seed)?;
    Ok(Tally::of(&profile))
}

impl Tally {
    fn of(profile: &Profile) -> Self {
        let launches = || profile.launches();
        let sum = |count: fn(&Counts) -> u64| -> u64 {
            launches().map(|launch| count(&launch.total())).sum()
        };
        let (operation, shape) = (profile.ran.operation, profile.shape);
        let (useful, units) = match operation {
            _ if operation.flops(shape) > 0.0 && operation.uses_k() => {
                ("multiply-adds", operation.flops(shape) / 64.0)
            }
            Operation::MatVec { .. } | Operation::SpMv => {
                ("multiply-adds", operation.flops(shape) / 64.0)
            }
            Operation::Sum | Operation::Histogram => {
                ("inputs", operation.elements(shape).0 as f64 / 32.0)
            }
            _ => ("outputs", operation.elements(shape).1 as f64 / 32.0),
        };
        let per_unit = |count: u64| count as f64 / units.max(1.0);
        let ratio = |one: u64, of: u64| {
            let ratio = (of > 0).then(|| one as f64 / of as f64)?;
            Some([ratio, per_unit(one)])
        };
        let is_tensor = |launch: &Counters| {
            let mut classes = launch.by_class().into_iter();
            classes.any(|class| class.class == InstructionClass::Tensor)
        };
        Tally {
            load_sectors: ratio(
                sum(|counts| counts.global_loads.sectors),
                sum(|counts| counts.global_loads.requests),
            ),
            store_sectors: ratio(
                sum(|counts| counts.global_stores.sectors),
                sum(|counts| counts.global_stores.requests),
            ),
            conflicts: ratio(
                sum(|counts| counts.shared().wavefronts),
                sum(|counts| counts.shared().ideal_wavefronts),
            ),
            useful,
            sectors: per_unit(sum(|counts| {
                counts.global().sectors + counts.bulk_loads.sectors + counts.bulk_stores.sectors
            })),
            wavefronts: per_unit(sum(|counts| counts.shared().wavefronts)),
            instructions: per_unit(sum(|counts| counts.warp_instructions)),
            tensor: launches().any(is_tensor),
        }
    }
}

/// A counter that two rungs have: before, now, and what it is.
struct Change {
    before: f64,
    now: f64,
    what: String,
    /// Of how lanes access memory: how much less or more moves for it. Zero of how often they do.
    moved: f64,
}

impl Change {
    /// By which factor it is better in the direction of the step.
    fn factor(&self, faster: bool) -> f64 {
        match faster {
            true => self.before / self.now,
            false => self.now / self.before,
        }
    }
}

/// Why a rung is `times` as fast as the one before it, in words; `None` where it is no step, or one
/// that the counters do not explain, such as latency that is hidden better.
pub fn why(before: &Tally, now: &Tally, times: f64) -> Option<String> {
    let faster = times > NO_STEP;
    if !faster && times > 1.0 / NO_STEP {
        return None;
    }
    if faster && now.tensor && !before.tensor {
        return Some("tensor cores (MMA) instead of multiply-adds of single threads".to_owned());
    }
    let mut explaining: Vec<Change> = changes(before, now)
        .into_iter()
        .filter(|change| change.factor(faster) >= EXPLAINS)
        .collect();
    let causes = |change: &Change| change.moved > 0.0 && change.factor(faster) >= CAUSES;
    explaining.sort_by(|a, b| {
        let key = |change: &Change| match causes(change) {
            true => (true, change.moved),
            false => (false, change.factor(faster)),
        };
        key(b).partial_cmp(&key(a)).expect("factors are numbers")
    });
    // That more sectors move follows from how lanes access them.
    if explaining.first().is_some_and(causes) {
        explaining.truncate(1);
    }
    explaining.truncate(2);
    let words = explaining.iter().map(|change| {
        let (now, before) = (figure(change.now), figure(change.before));
        format!("{now} instead of {before} {}", change.what)
    });
    let words: Vec<String> = words.collect();
    (!words.is_empty()).then(|| words.join(", "))
}

/// The counters that both have.
fn changes(before: &Tally, now: &Tally) -> Vec<Change> {
    let both = |of: fn(&Tally) -> Option<[f64; 2]>, what: &str| {
        let ([before, all_before], [now, all_now]) = of(before).zip(of(now))?;
        Some(Change {
            before,
            now,
            what: what.to_owned(),
            moved: (all_before - all_now).abs(),
        })
    };
    let patterns = [
        both(|tally| tally.load_sectors, "sectors a load request"),
        both(|tally| tally.store_sectors, "sectors a store request"),
        both(
            |tally| tally.conflicts,
            "times the ideal wavefronts of shared memory (bank conflicts)",
        ),
    ];
    let mut changes: Vec<Change> = patterns.into_iter().flatten().collect();
    if before.useful != now.useful {
        return changes;
    }
    let amounts = [
        ("global sectors", before.sectors, now.sectors),
        (
            "shared-memory wavefronts",
            before.wavefronts,
            now.wavefronts,
        ),
        (
            "instructions of warps",
            before.instructions,
            now.instructions,
        ),
    ];
    let useful = now.useful;
    for (what, before, now) in amounts {
        if before > 0.0 && now > 0.0 {
            changes.push(Change {
                before,
                now,
                what: format!("{what} for 32 {useful}"),
                moved: 0.0,
            });
        }
    }
    changes
}

/// A count with one decimal, and more where it is small.
fn figure(value: f64) -> String {
    match value {
        10.0.. => format!("{value:.0}"),
        0.95.. => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue;

    fn said(before: &str, now: &str, times: f64) -> Option<String> {
        let emulator = EmulatorEngine::new();
        let shape = Shape {
            m: 64,
            n: 64,
            k: 64,
        };
        let [before, now] = [before, now].map(|name| {
            let rung = catalogue::find(name).unwrap();
            tally(&emulator, rung, shape, 1).unwrap()
        });
        why(&before, &now, times)
    }

    #[test]
    fn steps_are_explained_by_how_memory_is_accessed() {
        let coalesced = said("transpose_naive", "transpose_coalesced", 2.0).unwrap();
        assert_eq!(coalesced, "4.0 instead of 32 sectors a store request");
        let padded = said("transpose_coalesced", "transpose_padded", 1.5).unwrap();
        assert_eq!(
            padded,
            "1.0 instead of 16 times the ideal wavefronts of shared memory (bank conflicts)"
        );
        let coalesced = said("naive_uncoalesced", "naive", 13.0).unwrap();
        assert!(
            coalesced.ends_with(" sectors a load request"),
            "{coalesced}"
        );
        let tiled = said("naive", "tiled_32", 1.2).unwrap();
        assert!(
            tiled.contains("global sectors for 32 multiply-adds"),
            "{tiled}"
        );
    }

    #[test]
    fn what_is_slower_is_explained_by_what_got_worse() {
        let back = said("transpose_coalesced", "transpose_naive", 0.5).unwrap();
        assert_eq!(back, "32 instead of 4.0 sectors a store request");
        assert_eq!(said("naive", "naive", 1.0), None);
        // The counters of both are the same, whatever the time.
        assert_eq!(said("naive", "naive", 2.0), None);
    }
}
