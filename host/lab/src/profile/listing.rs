//! Source files with what each of their lines did.

use super::{Measurement, Sources, is_anchor};
use ptx_emulator::counters::{Counts, LineCounts};
use std::collections::BTreeMap;

/// The part of a source file that was counted.
#[derive(Clone, Debug, serde::Serialize)]
pub struct SourceFile {
    /// Its name.
    pub file: String,
    /// The lines from the first to the last that did something, without longer stretches that did
    /// nothing.
    pub lines: Vec<SourceLine>,
}

/// A line.
#[derive(Clone, Debug, serde::Serialize)]
pub struct SourceLine {
    /// Its number, from 1.
    pub number: u32,
    /// Its text; empty where the source tree is not there.
    pub text: String,
    /// What it did; null where that was nothing.
    pub counters: Option<LineCounters>,
}

/// What a line did, with the code that is inlined into it.
#[derive(Clone, Debug, serde::Serialize)]
pub struct LineCounters {
    /// Instructions of all warps.
    pub warp_instructions: u64,
    /// Their share of all.
    pub share: f64,
    /// Sectors of 32 bytes per load or store of global memory, of each instruction that is one,
    /// without repetitions.
    pub sectors_per_request: Vec<f64>,
    /// Passes of shared memory over those without bank conflicts, of each instruction that
    /// accesses it, without repetitions.
    pub wavefronts_per_ideal: Vec<f64>,
}

/// Lines with a smaller share of the instructions that access no memory are not listed.
const MIN_SHARE: f64 = 0.002;

/// Longest stretch of lines that did nothing that is listed between lines that did something.
const LONGEST_GAP: u32 = 6;

/// The files that were counted, the rung's own first, then by instructions.
pub fn listing(measurement: &Measurement, own: Option<&str>) -> Vec<SourceFile> {
    let parts = measurement.parts();
    let mut files: BTreeMap<&str, BTreeMap<u32, LineCounters>> = BTreeMap::new();
    for line in measurement.lines.iter().filter(|line| line.place.line > 0) {
        let counters = counters(line, measurement, &parts(line));
        let accesses = counters.sectors_per_request.len() + counters.wavefronts_per_ideal.len();
        if counters.share >= MIN_SHARE || accesses > 0 {
            let lines = files.entry(&line.place.file).or_default();
            lines.insert(line.place.line, counters);
        }
    }
    let mut files: Vec<_> = files.into_iter().collect();
    files.sort_by_key(|(file, lines)| {
        let instructions: u64 = lines.values().map(|line| line.warp_instructions).sum();
        (Some(*file) != own, std::cmp::Reverse(instructions))
    });
    let mut sources = Sources::default();
    files
        .into_iter()
        .map(|(file, lines)| SourceFile {
            file: file.to_owned(),
            lines: lines_of(file, lines, &mut sources),
        })
        .collect()
}

fn lines_of(
    file: &str,
    counted: BTreeMap<u32, LineCounters>,
    sources: &mut Sources,
) -> Vec<SourceLine> {
    let texts = sources.lines(file);
    let mut lines: Vec<SourceLine> = Vec::new();
    for (number, counters) in counted {
        let text = |number: u32| texts.get(number as usize - 1).cloned().unwrap_or_default();
        if let Some(last) = lines.last()
            && number - last.number <= LONGEST_GAP + 1
        {
            let between = last.number + 1..number;
            let between = between.map(|number| SourceLine {
                number,
                text: text(number),
                counters: None,
            });
            lines.extend(between.filter(|line| !is_anchor(&line.text)));
        }
        lines.push(SourceLine {
            number,
            text: text(number),
            counters: Some(counters),
        });
    }
    lines
}

fn counters(line: &LineCounts, measurement: &Measurement, parts: &[&Counts]) -> LineCounters {
    let ratios = |ratio: fn(&Counts) -> Option<f64>| {
        let mut ratios: Vec<f64> = parts.iter().filter_map(|part| ratio(part)).collect();
        ratios.sort_by(f64::total_cmp);
        ratios.dedup();
        ratios
    };
    let all = measurement.total.warp_instructions.max(1);
    LineCounters {
        warp_instructions: line.counts.warp_instructions,
        share: line.counts.warp_instructions as f64 / all as f64,
        sectors_per_request: ratios(|counts| counts.global().sectors_per_request()),
        wavefronts_per_ideal: ratios(|counts| counts.shared().conflict_ratio()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_for_the_book_are_not_listed() {
        let file = "kernels-gpu/src/gemm/pipeline/tma.rs";
        let text: Vec<String> = Sources::default().lines(file).to_vec();
        let mark = text.iter().position(|line| is_anchor(line)).unwrap() as u32 + 1;
        let nothing = LineCounters {
            warp_instructions: 0,
            share: 0.0,
            sectors_per_request: Vec::new(),
            wavefronts_per_ideal: Vec::new(),
        };
        let counted = BTreeMap::from([(mark - 1, nothing.clone()), (mark + 2, nothing)]);
        let lines = lines_of(file, counted, &mut Sources::default());
        let numbers: Vec<u32> = lines.iter().map(|line| line.number).collect();
        assert_eq!(numbers, [mark - 1, mark + 1, mark + 2]);
    }
}
