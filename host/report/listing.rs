//! The Rust source of a kernel with what each line did on the emulator.

use crate::catalogue::{Implementation, Precondition, Rung};
use crate::engine::emulator::EmulatorEngine;
use crate::problem::Shape;
use crate::profile::{Measurement, is_anchor, profile};
use crate::run::describe;
use ptx_emulator::counters::Counts;
use rayon::prelude::*;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;

/// Least extent at which kernels are counted: tiles of most kernels fit.
const LEAST: u32 = 64;

/// The extent for rungs whose tiles depend on the size, and how many multiprocessors share the work: a multiprocessor has as
/// many outputs as one of an H200 has of 4096 × 4096, so the tiles are the same.
const PLANNED: (u32, u32) = (512, 2);

/// Seed of the inputs: these kernels' counts do not depend on it.
const SEED: u64 = 1;

/// Lines before and after those that ran.
const CONTEXT: usize = 2;

/// What the emulator counted.
#[derive(Clone, Debug)]
pub struct Counted {
    /// The size, in words.
    pub size: String,
    /// FLOP per byte of the sectors that warps ask of global memory; `None` without arithmetic or requests, and where less
    /// than what must move was counted.
    pub intensity: Option<f64>,
    /// Instructions issued by warps.
    pub instructions: u64,
    /// Lanes per warp instruction.
    pub lanes: Option<f64>,
    /// Sectors per request of global memory.
    pub sectors: Option<f64>,
    /// Wavefronts of shared memory per wavefront without conflicts.
    pub conflicts: Option<f64>,
    /// Its source.
    pub listings: Vec<Listing>,
}

/// Lines of one file.
#[derive(Clone, Debug)]
pub struct Listing {
    /// The file.
    pub file: String,
    /// Its lines; `None` where some are left out.
    pub lines: Vec<Option<Line>>,
}

/// A line of source.
#[derive(Clone, Debug)]
pub struct Line {
    /// Its number, from 1.
    pub number: usize,
    /// Its text.
    pub text: String,
    /// What it did; `None` where it did nothing.
    pub counts: Option<LineCounts>,
}

/// What a line did.
#[derive(Clone, Copy, Debug)]
pub struct LineCounts {
    /// Share of the kernel's warp instructions.
    pub share: f64,
    /// Sectors per request of global memory.
    pub sectors: Option<f64>,
    /// Wavefronts of shared memory per wavefront without conflicts.
    pub conflicts: Option<f64>,
}

/// Counts these rungs, each at a small size; those that are functions of the host, or that fail, are left out.
pub fn count(rungs: &[&'static Rung]) -> HashMap<String, Counted> {
    let counted = rungs.par_iter().filter_map(|rung| {
        let counted = count_one(rung)?;
        Some((rung.name.to_owned(), counted))
    });
    counted.collect()
}

/// The least size that a rung takes from `least` on.
fn size(rung: &Rung, least: u32) -> Shape {
    let [m, n, k] = match rung.precondition {
        Precondition::Multiples { m, n, k } => {
            [m, n, k].map(|of| least.next_multiple_of(of.max(1)))
        }
        Precondition::Any | Precondition::Elements(_) => [least; 3],
    };
    Shape { m, n, k }
}

fn count_one(rung: &'static Rung) -> Option<Counted> {
    let emulator = EmulatorEngine::new();
    let (emulator, least) = match rung.implementation {
        Implementation::Cpu(_) => return None,
        Implementation::Kernel { .. } | Implementation::Dispatch(_) => (emulator, LEAST),
        Implementation::Planned { .. } => {
            let (extent, multiprocessors) = PLANNED;
            (emulator.with_multiprocessors(multiprocessors), extent)
        }
    };
    let shape = size(rung, least);
    let profile = profile(&emulator, rung, shape, SEED).ok()?;
    let measurement = Measurement::from(&profile.counters);
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
        listings: listings(&measurement),
    })
}

fn listings(measurement: &Measurement) -> Vec<Listing> {
    let mut files: BTreeMap<&str, BTreeMap<usize, &Counts>> = BTreeMap::new();
    for line in &measurement.lines {
        if line.place.line > 0 {
            let file = files.entry(&line.place.file).or_default();
            file.insert(line.place.line as usize, &line.counts);
        }
    }
    let all = measurement.total.warp_instructions.max(1) as f64;
    let mut listings: Vec<(u64, Listing)> = files
        .into_iter()
        .filter_map(|(file, counts)| {
            let text = source(file)?;
            let instructions = counts.values().map(|counts| counts.warp_instructions).sum();
            let lines = lines(&text, &counts, all);
            let file = file.to_owned();
            Some((instructions, Listing { file, lines }))
        })
        .collect();
    listings.sort_by_key(|(instructions, _)| std::cmp::Reverse(*instructions));
    listings.into_iter().map(|(_, listing)| listing).collect()
}

/// The lines that ran and those around them.
fn lines(text: &str, counts: &BTreeMap<usize, &Counts>, all: f64) -> Vec<Option<Line>> {
    let mut lines: Vec<Option<Line>> = Vec::new();
    let mut last = None;
    for (index, text) in text.lines().enumerate() {
        let number = index + 1;
        let around = number.saturating_sub(CONTEXT)..=number + CONTEXT;
        if counts.range(around).next().is_none() {
            continue;
        }
        if is_anchor(text) {
            last = last.map(|last| if last + 1 == number { number } else { last });
            continue;
        }
        if last.is_some_and(|last| last + 1 < number) {
            lines.push(None);
        }
        last = Some(number);
        lines.push(Some(Line {
            number,
            text: text.to_owned(),
            counts: counts.get(&number).map(|counts| LineCounts {
                share: counts.warp_instructions as f64 / all,
                sectors: counts.global().sectors_per_request(),
                conflicts: counts.shared().conflict_ratio(),
            }),
        }));
    }
    lines
}

/// The text of a source file, where the source tree is there.
fn source(file: &str) -> Option<String> {
    let built = || std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file));
    std::fs::read_to_string(file).or_else(|_| built()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue;

    #[test]
    fn the_lines_of_a_kernel_carry_all_of_its_instructions() {
        let rung = catalogue::find("tiled_16").unwrap();
        let counted = count_one(rung).unwrap();
        let lines = counted.listings.iter().flat_map(|listing| &listing.lines);
        let counts = lines.flatten().filter_map(|line| line.counts);
        let share: f64 = counts.map(|counts| counts.share).sum();
        // A few instructions have no line.
        assert!(share > 0.9 && share < 1.0 + 1e-9, "{share}");
        assert!(counted.intensity.is_some_and(|intensity| intensity > 1.0));
        assert!(count_one(catalogue::find("cpu_naive").unwrap()).is_none());
    }

    #[test]
    fn gaps_are_marked() {
        let text = (1..=20)
            .map(|line| format!("line {line}\n"))
            .collect::<String>();
        let none = Counts::default();
        let counts = BTreeMap::from([(3, &none), (15, &none)]);
        let numbers: Vec<Option<usize>> = lines(&text, &counts, 1.0)
            .iter()
            .map(|line| line.as_ref().map(|line| line.number))
            .collect();
        let expected = [Some(1), Some(2), Some(3), Some(4), Some(5), None];
        assert_eq!(numbers[..6], expected);
        assert_eq!(numbers[6..], [13, 14, 15, 16, 17].map(Some));
    }

    #[test]
    fn marks_for_the_book_are_not_listed() {
        let text = "one\n// ANCHOR: body\nthree\n// ANCHOR_END: body\nfive\n";
        let none = Counts::default();
        let counts = BTreeMap::from([(1, &none), (4, &none)]);
        let numbers: Vec<Option<usize>> = lines(text, &counts, 1.0)
            .iter()
            .map(|line| line.as_ref().map(|line| line.number))
            .collect();
        assert_eq!(numbers, [1, 3, 5].map(Some));
    }
}
