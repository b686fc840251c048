//! What the emulator counts of a kernel for the report.

use rayon::prelude::*;
use std::collections::HashMap;
use warpladder::engine::emulator::EmulatorEngine;
use warpladder_lab::catalogue::{Implementation, Precondition, Rung};
use warpladder_lab::problem::Shape;
use warpladder_lab::profile::{Measurement, SourceFile, listing, profile};
use warpladder_lab::run::{describe, preflight};

/// Least extent at which kernels are counted: tiles of most kernels fit.
const MIN_EXTENT: u32 = 64;

/// The extent for rungs whose tiles depend on the size, and how many multiprocessors share the
/// work: a multiprocessor has as many outputs as one of an H200 has of 4096 × 4096, so the tiles
/// are the same.
const PLANNED: (u32, u32) = (512, 2);

/// Seed of the inputs: these kernels' counts do not depend on it.
const SEED: u64 = 1;

/// What the emulator counted.
#[derive(Clone, Debug)]
pub struct Counted {
    /// The size, in words.
    pub size: String,
    /// FLOP per byte of the sectors that warps ask of global memory; `None` without arithmetic or
    /// requests, and where less than what must move was counted.
    pub intensity: Option<f64>,
    /// Instructions issued by warps.
    pub instructions: u64,
    /// Lanes per warp instruction.
    pub lanes: Option<f64>,
    /// Sectors per request of global memory.
    pub sectors: Option<f64>,
    /// Wavefronts of shared memory per wavefront without conflicts.
    pub conflicts: Option<f64>,
    /// Its source, the file with the most instructions first.
    pub listing: Vec<SourceFile>,
}

/// Counts these rungs, each at a small size; those that are functions of the host, or that fail,
/// are left out. `each` is called with every one that is done.
pub fn count(
    rungs: &[&'static Rung],
    each: &(dyn Fn(&'static Rung) + Sync),
) -> HashMap<String, Counted> {
    let counted = rungs.par_iter().filter_map(|rung| {
        let counted = count_one(rung);
        each(rung);
        Some((rung.name.to_owned(), counted?))
    });
    counted.collect()
}

/// The least size that a rung takes from `least` on.
fn size(rung: &Rung, least: u32) -> Shape {
    let [m, n, k] = match rung.precondition {
        Precondition::Multiples { m, n, k } => {
            [m, n, k].map(|of| least.next_multiple_of(of.max(1)))
        }
        Precondition::Any
        | Precondition::Elements(_)
        | Precondition::MostRows(_)
        | Precondition::MostElements(_) => [least; 3],
    };
    Shape { m, n, k }
}

fn count_one(rung: &'static Rung) -> Option<Counted> {
    let emulator = EmulatorEngine::new();
    let (emulator, least) = match rung.implementation {
        Implementation::Cpu(_) => return None,
        Implementation::Kernel { .. } | Implementation::Dispatch(_) => (emulator, MIN_EXTENT),
        Implementation::Planned { .. } => {
            let (extent, multiprocessors) = PLANNED;
            (emulator.with_multiprocessors(multiprocessors), extent)
        }
    };
    let shape = size(rung, least);
    let admitted = preflight(&emulator, rung, shape).ok()?;
    let profile = profile(&emulator, &admitted, SEED).ok()?;
    let measurement = Measurement::from(profile.main());
    let total = &measurement.total;
    // Less than what must move means that what the copy engine moved is not counted.
    let least = rung.operation.elements_moved(shape) * rung.element.bytes() as f64;
    let is_whole = |intensity: &f64| total.flops as f64 > 0.99 * least * intensity;
    let intensity = measurement.flops_per_byte_moved;
    Some(Counted {
        size: describe(rung.operation, shape),
        intensity: intensity
            .filter(|&intensity| intensity > 0.0)
            .filter(is_whole),
        instructions: total.warp_instructions,
        lanes: measurement.average_active_lanes,
        sectors: total.global().sectors_per_request(),
        conflicts: total.shared().conflict_ratio(),
        listing: listing(&measurement, None),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpladder_lab::catalogue;

    #[test]
    fn the_lines_of_a_kernel_carry_all_of_its_instructions() {
        let rung = catalogue::find("tiled_16").unwrap();
        let counted = count_one(rung).unwrap();
        let lines = counted.listing.iter().flat_map(|file| &file.lines);
        let counts = lines.filter_map(|line| line.counters.as_ref());
        let share: f64 = counts.map(|counts| counts.share).sum();
        // A few instructions have no line.
        assert!(share > 0.9 && share < 1.0 + 1e-9, "{share}");
        assert!(counted.intensity.is_some_and(|intensity| intensity > 1.0));
        assert!(count_one(catalogue::find("cpu_naive").unwrap()).is_none());
    }
}
