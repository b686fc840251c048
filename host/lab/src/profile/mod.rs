//! What a kernel does to the machine: a rung run on the emulator under [`Counters`].

mod listing;
mod record;
mod source;

pub use listing::{LineCounters, SourceFile, SourceLine, listing};
pub use record::{Measurement, ProfileRecord};
pub use source::{Sources, distinct, is_anchor};

use crate::catalogue::Rung;
use crate::dispatch_element;
use crate::problem::Shape;
use crate::run::{self, Admitted, RunError};
use ptx_emulator::Counters;
use warpladder::check::Verdict;
use warpladder::engine::emulator::EmulatorEngine;
use warpladder::engine::observed::{ObservedEngine, PerLaunch};

/// A rung that ran once and was counted.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Profile {
    /// The rung.
    pub rung: &'static Rung,
    /// The rung that ran: another one where the rung dispatches.
    pub ran: &'static Rung,
    /// The size.
    pub shape: Shape,
    /// Whether the output was right.
    pub verdict: Verdict,
    /// What the kernel did; nothing where the problem is empty. Of a plan of several kernels it is
    /// the first.
    pub counters: Counters,
    /// What the kernels after it did.
    pub following: Vec<Counters>,
}

impl Profile {
    /// What all kernels did, in the order of their launches.
    pub fn launches(&self) -> impl Iterator<Item = &Counters> {
        std::iter::once(&self.counters).chain(&self.following)
    }

    /// What the kernel did that does most of the work: of several, the first with the most FLOP,
    /// and where none does any, with the most instructions. Others copy operands, clear outputs and
    /// add up.
    pub fn main(&self) -> &Counters {
        let work = |counters: &Counters| {
            let total = counters.total();
            (total.flops, total.warp_instructions)
        };
        let others = self.following.iter();
        others.fold(&self.counters, |main, other| {
            if work(other) > work(main) {
                other
            } else {
                main
            }
        })
    }
}

/// Runs a rung once on an emulator, checks its output and counts what it does. `seed` draws the
/// inputs.
///
/// # Errors
/// See [`RunError`]; a kernel that fails is an error, a wrong output is not.
pub fn profile(
    emulator: &EmulatorEngine,
    admitted: &Admitted,
    seed: u64,
) -> Result<Profile, RunError> {
    // Before the inputs are made, which may be large.
    admitted.kernel()?;
    let engine = ObservedEngine::new(emulator, PerLaunch::new(Counters::new()));
    let verdict = dispatch_element!(admitted.runs().element, T => {
        let (_, verdict) = run::output::<T>(&engine, admitted, &*admitted.problem(seed))?;
        verdict
    });
    let mut launches = engine.into_observer().seen.into_iter();
    Ok(Profile {
        rung: admitted.rung(),
        ran: admitted.runs(),
        shape: admitted.shape(),
        verdict,
        counters: launches.next().unwrap_or_default(),
        following: launches.collect(),
    })
}
