//! The Rust source of a rung, with what each line did.

use crate::profile::{Measurement, Sources, is_anchor};
use ptx_emulator::InstructionId;
use ptx_emulator::counters::{Counts, LineCounts};
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

/// A section of the documentation of a rung's file.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Note {
    /// Its heading.
    pub title: String,
    /// Its text, lines as they are in the file.
    pub text: String,
}

/// The part of a source file that was counted.
#[derive(Clone, Debug, serde::Serialize)]
pub struct SourceFile {
    /// Its name.
    pub file: String,
    /// The lines from the first to the last that did something, without longer stretches that did nothing.
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
    /// Sectors of 32 bytes per load or store of global memory, of each instruction that is one, without repetitions.
    pub sectors_per_request: Vec<f64>,
    /// Passes of shared memory over those without bank conflicts, of each instruction that accesses it, without repetitions.
    pub wavefronts_per_ideal: Vec<f64>,
}

/// Lines with a smaller share of the instructions that access no memory are not listed.
const LEAST_SHARE: f64 = 0.002;

/// Longest stretch of lines that did nothing that is listed between lines that did something.
const LONGEST_GAP: u32 = 6;

/// The files that were counted, the rung's own first, then by instructions.
pub(super) fn listing(measurement: &Measurement, own: Option<&str>) -> Vec<SourceFile> {
    let of_instructions: HashMap<InstructionId, &Counts> = measurement
        .instructions
        .iter()
        .map(|instruction| (instruction.id, &instruction.counts))
        .collect();
    let mut files: BTreeMap<&str, BTreeMap<u32, LineCounters>> = BTreeMap::new();
    for line in measurement.lines.iter().filter(|line| line.place.line > 0) {
        let counters = counters(line, measurement, &of_instructions);
        let accesses = counters.sectors_per_request.len() + counters.wavefronts_per_ideal.len();
        if counters.share >= LEAST_SHARE || accesses > 0 {
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

fn counters(
    line: &LineCounts,
    measurement: &Measurement,
    of_instructions: &HashMap<InstructionId, &Counts>,
) -> LineCounters {
    let instructions = line.instructions.iter();
    let parts: Vec<&Counts> = instructions
        .filter_map(|id| of_instructions.get(id).copied())
        .collect();
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

/// The folder of the kernels.
const KERNELS: &str = "kernels-gpu/src";

/// The file of a kernel, and what its documentation says. Without the source tree there is neither.
pub(super) fn notes(entry: &str, rung: &str) -> (Option<String>, Vec<Note>) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    rust_files(&root.join(KERNELS), &mut files);
    files.sort();
    let Some((path, text)) = file_of(&files, entry, rung) else {
        return (None, Vec::new());
    };
    let name = path.strip_prefix(root).unwrap_or(path);
    (Some(name.to_string_lossy().into_owned()), sections(&text))
}

fn rust_files(folder: &Path, files: &mut Vec<PathBuf>) {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    for path in entries.map(|entry| entry.path()) {
        if path.is_dir() {
            rust_files(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

/// The file of the kernel's name, else the one whose code names it, else that of the longest beginning of its name or of the
/// rung's.
fn file_of<'f>(files: &'f [PathBuf], entry: &str, rung: &str) -> Option<(&'f Path, String)> {
    let stem = |path: &Path| {
        path.file_stem()
            .map(|stem| stem.to_string_lossy().into_owned())
    };
    let read = |path: &'f PathBuf| Some((&**path, std::fs::read_to_string(path).ok()?));
    let named = |name: &str| {
        files
            .iter()
            .find(|path| stem(path).as_deref() == Some(name))
    };
    if let Some(path) = named(entry).or_else(|| named(rung)) {
        return read(path);
    }
    let is_module = |path: &&PathBuf| stem(path).is_some_and(|stem| stem == "mod" || stem == "lib");
    // Files of parts that several kernels share have no idea of their own.
    let mentions = |text: &str| {
        let code = text
            .lines()
            .filter(|line| !line.trim_start().starts_with("//"));
        let mut words =
            code.flat_map(|line| line.split(|c: char| !c.is_alphanumeric() && c != '_'));
        text.contains("\n//! # Idea\n") && words.any(|word| word == entry)
    };
    let mut all = files
        .iter()
        .filter(|path| !is_module(path))
        .filter_map(read);
    if let Some(found) = all.find(|(_, text)| mentions(text)) {
        return Some(found);
    }
    let beginning = |path: &&PathBuf| {
        let stem = stem(path).filter(|stem| entry.starts_with(stem) || rung.starts_with(stem));
        stem.map_or(0, |stem| stem.len())
    };
    let nearest = files.iter().max_by_key(beginning)?;
    (beginning(&nearest) > 0).then(|| read(nearest))?
}

/// The sections of a file's documentation.
fn sections(text: &str) -> Vec<Note> {
    let mut notes: Vec<Note> = Vec::new();
    for line in text.lines().map_while(|line| line.strip_prefix("//!")) {
        let line = line.strip_prefix(' ').unwrap_or(line);
        if let Some(title) = line.strip_prefix("# ") {
            notes.push(Note {
                title: title.to_owned(),
                text: String::new(),
            });
        } else if let Some(note) = notes.last_mut() {
            note.text.push_str(line);
            note.text.push('\n');
        }
    }
    for note in &mut notes {
        note.text = note.text.trim().to_owned();
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::{self, Implementation};

    #[test]
    fn every_kernel_has_a_file_whose_idea_is_written_down() {
        for rung in catalogue::rungs() {
            let Implementation::Kernel { .. } = rung.implementation else {
                continue;
            };
            let (file, notes) = notes(rung.name, rung.name);
            let file = file.unwrap_or_else(|| panic!("{} has no file", rung.name));
            let idea = notes.iter().find(|note| note.title == "Idea");
            assert!(idea.is_some_and(|idea| !idea.text.is_empty()), "{file}");
        }
    }

    #[test]
    fn a_kernel_is_found_by_its_name_or_by_what_names_it() {
        for (entry, file) in [
            ("tiled_32", "kernels-gpu/src/matmul/tiled.rs"),
            (
                "wolfe_k4_guarded",
                "kernels-gpu/src/matmul/wolfe_k4_guarded.rs",
            ),
            ("wolfe_k4_w128_j2", "kernels-gpu/src/matmul/wolfe_k4.rs"),
            ("copy", "kernels-gpu/src/transpose/copy.rs"),
            ("copy_2", "kernels-gpu/src/stream/copy_elements.rs"),
            ("naive_f64", "kernels-gpu/src/matmul/naive.rs"),
            (
                "wgmma_bf16_single",
                "kernels-gpu/src/hopper/wgmma_single.rs",
            ),
        ] {
            assert_eq!(notes(entry, entry).0.as_deref(), Some(file), "{entry}");
        }
    }

    #[test]
    fn marks_for_the_book_are_not_listed() {
        let file = "kernels-gpu/src/hopper/ring.rs";
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

    #[test]
    fn sections_have_headings_and_texts() {
        let text = "//! Title.\n//!\n//! # Idea\n//! One\n//! two.\n//!\n//! # Source\n//! 001\n\nuse x;\n//! # Not";
        let notes = sections(text);
        let note = |title: &str, text: &str| Note {
            title: title.to_owned(),
            text: text.to_owned(),
        };
        assert_eq!(notes, [note("Idea", "One\ntwo."), note("Source", "001")]);
    }
}
