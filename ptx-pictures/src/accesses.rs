//! Which lane touches which sector of global memory, and which bank of shared memory.

use crate::svg::Svg;
use crate::trace::{AccessTrace, Traced};
use ptx_emulator::counters::{self, Wavefronts};
use ptx_emulator::{AccessKind, SourceLocation, Space};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Lanes of a warp.
const LANES: usize = 32;
/// Banks of shared memory, each a word wide (CUDA C++ Programming Guide, "Shared Memory").
const BANKS: u64 = 32;
/// Bytes of a word of shared memory.
const WORD: u64 = 4;
/// Bytes of a sector of global memory.
const SECTOR: u64 = 32;
/// Sectors in a row of a picture.
const SECTORS_IN_A_ROW: usize = 4;
/// Rows of a picture; what is below is said, not drawn.
const MAX_ROWS: usize = 32;

/// Width and height of a word's cell, in pixels.
const CELL: [u32; 2] = [24, 16];
/// Pixels between two sectors.
const GAP: u32 = 6;
/// Pixels at the left and the right.
const MARGIN: u32 = 16;
/// Height of a line of text.
const LINE: u32 = 18;

/// A picture of each memory instruction that the warp executed, one below the other.
///
/// A cell is a word of 4 bytes, with the lanes that touch it; the darker a cell, the higher its
/// lane. Of global memory the sectors that are touched are drawn, in the order of their addresses;
/// of shared memory the banks, with the words of one bank above each other: each of them costs a
/// pass. The colours are those of a light or a dark page, by the reader's preference. What is drawn
/// is also said in words, in the `desc` of the picture.
pub fn accesses(trace: &AccessTrace, title: &str) -> String {
    let mut description = String::new();
    let mut svg = Svg::new();
    let mut top = MARGIN + LINE;
    svg.text("title", MARGIN, top, title);
    let drawn = patterns(trace);
    for pattern in &drawn {
        top += LINE + LINE / 2;
        let heading = pattern.heading();
        let sentence = pattern.access.sentence(pattern.first);
        _ = write!(description, "{heading}: {sentence} ");
        svg.text("head", MARGIN, top, &heading);
        top += LINE;
        svg.text("note", MARGIN, top, &sentence);
        top = pattern.access.draw(&mut svg, top + LINE / 2);
    }
    if drawn.is_empty() {
        top += LINE;
        let none = "This warp accesses neither global nor shared memory by its lanes.";
        svg.text("note", MARGIN, top, none);
        description.push_str(none);
    }
    svg.finish(width(), top + MARGIN, title, description.trim_end())
}

/// Width of a picture: that of a row of banks or of sectors.
fn width() -> u32 {
    let banks = BANKS as u32 * CELL[0];
    let sectors = SECTORS_IN_A_ROW as u32 * ((SECTOR / WORD) as u32 * CELL[0] + GAP);
    2 * MARGIN + banks.max(sectors)
}

fn counted(count: usize, what: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {what}{plural}")
}

/// Instructions of one line whose lanes touch the same words, counted from the first one.
struct Pattern<'t> {
    opcode: String,
    /// File and line.
    place: Option<(String, u32)>,
    first: &'t Traced,
    access: Access,
    /// Instructions of this pattern.
    instructions: usize,
}

/// What the warp accessed. A loop that the compiler unrolled is many instructions of one pattern.
fn patterns(trace: &AccessTrace) -> Vec<Pattern<'_>> {
    let mut patterns: Vec<Pattern<'_>> = Vec::new();
    for traced in trace.accesses() {
        let instruction = trace.instruction(traced);
        let opcode = instruction
            .map_or("?", |instruction| instruction.opcode())
            .to_owned();
        let place = instruction.and_then(|instruction| place(instruction.location()?));
        let access = Access::of(traced);
        let same = |known: &&mut Pattern<'_>| {
            (&known.opcode, &known.place) == (&opcode, &place) && known.access.is_like(&access)
        };
        match patterns.iter_mut().find(same) {
            Some(known) => known.instructions += 1,
            None => patterns.push(Pattern {
                opcode,
                place,
                first: traced,
                access,
                instructions: 1,
            }),
        }
    }
    patterns
}

/// File and line in the kernel: of code that was inlined from a library, where it is called.
fn place(mut location: SourceLocation) -> Option<(String, u32)> {
    const LIBRARIES: [&str; 2] = ["/library/core/", "cuda_std/src/"];
    while LIBRARIES
        .iter()
        .any(|library| location.file.contains(library))
    {
        location = *location.inlined_at?;
    }
    let file = location.file.rsplit('/').next().unwrap_or(&location.file);
    Some((file.to_owned(), location.line))
}

impl Pattern<'_> {
    /// The instruction, its line, and how often it is there.
    fn heading(&self) -> String {
        let mut heading = self.opcode.clone();
        if let Some((file, line)) = &self.place {
            _ = write!(heading, ", {file}:{line}");
        }
        if self.instructions > 1 {
            _ = write!(heading, ", the first of {} like it", self.instructions);
        }
        if self.first.times > 1 {
            _ = write!(heading, ", executed {} times", self.first.times);
        }
        heading
    }
}

/// The words that lanes touch, by their index in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Access {
    space: Space,
    /// The lanes of each word, lowest first.
    words: BTreeMap<u64, Vec<usize>>,
}

impl Access {
    fn of(traced: &Traced) -> Self {
        let mut words: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
        for lane in (0..LANES).filter(|lane| traced.mask >> lane & 1 != 0) {
            let first = traced.addresses[lane];
            let last = first.saturating_add(u64::from(traced.bytes.max(1)) - 1);
            for word in first / WORD..=last / WORD {
                words.entry(word).or_default().push(lane);
            }
        }
        Access {
            space: traced.space,
            words,
        }
    }

    /// Whether the lanes touch the same words, counted from the first one, in as many banks or
    /// sectors.
    fn is_like(&self, other: &Access) -> bool {
        let offsets = |access: &Access| -> Vec<u64> {
            access
                .words
                .keys()
                .map(|&word| access.offset(word))
                .collect()
        };
        self.space == other.space
            && self.words.values().eq(other.words.values())
            && offsets(self) == offsets(other)
            && self.sectors().len() == other.sectors().len()
    }

    /// The sectors that hold the words.
    fn sectors(&self) -> Vec<u64> {
        let mut sectors: Vec<u64> = self.words.keys().map(|word| word * WORD / SECTOR).collect();
        sectors.dedup();
        sectors
    }

    /// The words of each bank.
    fn banks(&self) -> BTreeMap<u64, Vec<u64>> {
        let mut banks: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
        for word in self.words.keys() {
            banks.entry(word % BANKS).or_default().push(*word);
        }
        banks
    }

    fn sentence(&self, traced: &Traced) -> String {
        let verb = match traced.kind {
            AccessKind::Load => "read",
            AccessKind::Store => "write",
            AccessKind::Atomic => "update",
        };
        let lanes = counted(traced.mask.count_ones() as usize, "lane");
        let each = format!("{lanes} {verb} {} bytes each", traced.bytes);
        match self.space {
            Space::Shared => {
                let Traced {
                    kind,
                    bytes,
                    mask,
                    addresses,
                    ..
                } = traced;
                let Wavefronts { taken, ideal, .. } =
                    counters::wavefronts(*kind, *bytes, *mask, addresses);
                format!(
                    "{each}: {} in {}, {}, {ideal} without bank conflicts.",
                    counted(self.words.len(), "word"),
                    counted(self.banks().len(), "bank"),
                    counted(taken as usize, "wavefront"),
                )
            }
            _ => {
                let sectors = self.sectors().len();
                let moved = sectors as u64 * SECTOR;
                format!(
                    "{each}: {}, {moved} bytes moved.",
                    counted(sectors, "sector")
                )
            }
        }
    }

    /// Draws the access below `top`; gives where it ends.
    fn draw(&self, svg: &mut Svg, top: u32) -> u32 {
        match self.space {
            Space::Shared => self.draw_banks(svg, top),
            _ => self.draw_sectors(svg, top),
        }
    }

    fn draw_sectors(&self, svg: &mut Svg, top: u32) -> u32 {
        let sectors = self.sectors();
        let words = SECTOR / WORD;
        let rows: Vec<&[u64]> = sectors.chunks(SECTORS_IN_A_ROW).collect();
        let step = CELL[1] + GAP;
        for (row, sectors) in rows.iter().take(MAX_ROWS).enumerate() {
            let y = top + row as u32 * step;
            for (column, &sector) in sectors.iter().enumerate() {
                let x = MARGIN + column as u32 * (words as u32 * CELL[0] + GAP);
                svg.frame(x, y, words as u32 * CELL[0], CELL[1]);
                for index in 0..words {
                    let word = sector * words + index;
                    self.draw_word(svg, [x + index as u32 * CELL[0], y], word);
                }
            }
        }
        let drawn = rows.len().min(MAX_ROWS) as u32;
        self.end(svg, top + drawn * step, rows.len(), "rows of sectors")
    }

    fn draw_banks(&self, svg: &mut Svg, top: u32) -> u32 {
        let banks = self.banks();
        for bank in 0..BANKS {
            let x = MARGIN + bank as u32 * CELL[0];
            svg.text(
                "bank",
                x + CELL[0] / 2,
                top + CELL[1] - 4,
                &bank.to_string(),
            );
        }
        let top = top + CELL[1];
        let rows = banks.values().map(Vec::len).max().unwrap_or(0);
        let drawn = rows.min(MAX_ROWS) as u32;
        svg.frame(MARGIN, top, BANKS as u32 * CELL[0], drawn * CELL[1]);
        for (bank, words) in &banks {
            let x = MARGIN + *bank as u32 * CELL[0];
            for (row, &word) in words.iter().take(MAX_ROWS).enumerate() {
                self.draw_word(svg, [x, top + row as u32 * CELL[1]], word);
            }
        }
        self.end(svg, top + drawn * CELL[1], rows, "words of a bank")
    }

    /// A line on what is not drawn, if anything.
    fn end(&self, svg: &mut Svg, top: u32, rows: usize, what: &str) -> u32 {
        let Some(more) = rows.checked_sub(MAX_ROWS).filter(|&more| more > 0) else {
            return top;
        };
        svg.text(
            "note",
            MARGIN,
            top + LINE,
            &format!("and {more} more {what}"),
        );
        top + LINE
    }

    /// Bytes from the first word that is touched; addresses themselves say nothing to a reader.
    fn offset(&self, word: u64) -> u64 {
        let first = self.words.keys().next().unwrap_or(&word);
        (word - first) * WORD
    }

    fn draw_word(&self, svg: &mut Svg, at: [u32; 2], word: u64) {
        let Some(lanes) = self.words.get(&word) else {
            return;
        };
        let (first, last) = (lanes[0], lanes[lanes.len() - 1]);
        let label = match lanes.len() {
            1 => first.to_string(),
            _ => format!("{first}+"),
        };
        let says = match lanes.len() {
            1 => format!(
                "lane {first}: byte {} from the first one",
                self.offset(word)
            ),
            more => format!("{more} lanes, {first} to {last}: the same word"),
        };
        svg.cell(at, CELL, first, &label, &says);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(addresses: impl Fn(u64) -> u64, bytes: u32) -> Access {
        let mut access = Access {
            space: Space::Shared,
            words: BTreeMap::new(),
        };
        for lane in 0..LANES {
            let first = addresses(lane as u64);
            for word in first / WORD..=(first + u64::from(bytes) - 1) / WORD {
                access.words.entry(word).or_default().push(lane);
            }
        }
        access
    }

    #[test]
    fn a_column_is_one_bank_and_a_padded_one_all_banks() {
        let column = words(|lane| lane * 128, 4);
        assert_eq!(column.banks().len(), 1);
        assert_eq!(column.banks()[&0].len(), 32);
        let padded = words(|lane| lane * 132, 4);
        assert_eq!(padded.banks().len(), 32);
    }

    #[test]
    fn neighbours_share_sectors() {
        assert_eq!(words(|lane| lane * 4, 4).sectors().len(), 4);
        assert_eq!(words(|lane| lane * 128, 4).sectors().len(), 32);
        assert_eq!(words(|lane| lane * 16, 16).sectors().len(), 16);
        // Not aligned: one more.
        assert_eq!(words(|lane| 16 + lane * 4, 4).sectors().len(), 5);
        assert_eq!(words(|_| 64, 4).words[&16].len(), 32);
    }

    #[test]
    fn a_picture_without_accesses_says_so() {
        let picture = accesses(&AccessTrace::default(), "nothing");
        assert!(picture.contains("neither global nor shared"), "{picture}");
    }
}
