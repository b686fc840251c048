//! The code of a kernel: its lines, and where breakpoints are.

use super::command::Location;
use ptx_emulator::counters::{PTX_FILE, SourceLine, source_lines};
use ptx_emulator::{InstructionId, Kernel, SourceLocation};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use warpladder_lab::profile::Sources;

/// What the file of PTX lines is called in `break`.
const PTX: &str = "ptx";

/// A kernel with the source line of each instruction.
pub(super) struct Code {
    kernel: Kernel,
    lines: Vec<Option<SourceLine>>,
    /// Whether an instruction begins its line: the first of it between two labels or branches.
    begins: Vec<bool>,
    /// The kernel's own file.
    pub(super) file: String,
    sources: Sources,
}

impl Code {
    pub(super) fn new(kernel: &Kernel) -> Self {
        let lines = source_lines(kernel);
        let begins = begins(kernel, &lines);
        Code {
            kernel: kernel.clone(),
            file: own_file(&lines),
            lines,
            begins,
            sources: Sources::default(),
        }
    }

    /// The source line of an instruction, if it has one.
    pub(super) fn line(&self, id: InstructionId) -> Option<&SourceLine> {
        let line = self.lines.get(id.index())?.as_ref();
        line.filter(|line| line.line != 0)
    }

    /// Whether an instruction is at a line of the source or of the PTX text.
    pub(super) fn is_at(&self, id: InstructionId, line: u32) -> bool {
        let ptx = self.kernel.instruction(id).line();
        ptx == line || self.line(id).is_some_and(|own| own.line == line)
    }

    /// File and line of an instruction in words.
    pub(super) fn place(&self, id: InstructionId) -> String {
        match self.line(id) {
            Some(line) if line.file != PTX_FILE => format!("{}:{}", line.file, line.line),
            _ => format!("PTX line {}", self.kernel.instruction(id).line()),
        }
    }

    /// An instruction in one line, with its number.
    pub(super) fn instruction(&self, id: InstructionId) -> String {
        let instruction = self.kernel.instruction(id);
        let words: Vec<&str> = instruction.text().split_whitespace().collect();
        format!("*{}  {}", id.index(), words.join(" "))
    }

    /// The text of a source line; empty where it cannot be read.
    pub(super) fn text(&mut self, line: &SourceLine) -> String {
        match line.file == PTX_FILE {
            true => {
                let index = (line.line as usize).wrapping_sub(1);
                self.kernel
                    .text()
                    .lines()
                    .nth(index)
                    .unwrap_or_default()
                    .to_owned()
            }
            false => self.sources.line(line).to_owned(),
        }
    }

    /// Lines of a file around one, each with its number; fewer at its ends.
    pub(super) fn around(&mut self, file: &str, line: u32, count: u32) -> Vec<(u32, String)> {
        let first = line.saturating_sub(count / 2).max(1);
        let lines = first..first.saturating_add(count);
        let skipped = first as usize - 1;
        match file == PTX_FILE {
            true => {
                let text = self.kernel.text().lines().skip(skipped).map(str::to_owned);
                lines.zip(text).collect()
            }
            false => {
                let text = self.sources.lines(file).iter().skip(skipped).cloned();
                lines.zip(text).collect()
            }
        }
    }

    /// The function that holds an instruction.
    pub(super) fn function(&self, id: InstructionId) -> &str {
        let mut functions = self.kernel.functions();
        let found = functions.find_map(|(name, mut ids)| ids.any(|own| own == id).then_some(name));
        found.unwrap_or(self.kernel.name())
    }

    /// Where a function, or several of them, may be inlined: an instruction's own place, the
    /// innermost first.
    pub(super) fn inlined(&self, id: InstructionId) -> Vec<SourceLocation> {
        let mut all = Vec::new();
        let mut next = self.kernel.instruction(id).location();
        while let Some(mut location) = next {
            next = location.inlined_at.take().map(|outer| *outer);
            all.push(location);
        }
        all
    }

    /// The instructions at which a breakpoint stops, and the line, which may be another than the
    /// one that was asked for.
    pub(super) fn find(&self, place: &Location) -> Result<Vec<InstructionId>, String> {
        match place {
            Location::Instruction(number) => {
                let index = usize::try_from(*number).unwrap_or(usize::MAX);
                let found = self.kernel.instruction_id(index).map(|id| vec![id]);
                found.ok_or_else(|| {
                    let count = self.kernel.instruction_count();
                    format!("there is no instruction {number}: the kernel has {count}, from 0 on")
                })
            }
            Location::Name(name) => self.find_name(name),
            Location::Line { file, line } => match file.as_deref() {
                Some(PTX) => self.find_ptx(*line),
                None if self.file == PTX_FILE => self.find_ptx(*line),
                file => self.find_line(file, *line),
            },
        }
    }

    /// The labels that a program may jump to, without those of debug information.
    pub(super) fn labels(&self) -> impl Iterator<Item = (&str, InstructionId)> {
        labels(&self.kernel)
    }

    /// A label, a function's first instruction, or all instructions of an opcode or of its first
    /// parts, such as `bar.sync` and `ld.shared`.
    fn find_name(&self, name: &str) -> Result<Vec<InstructionId>, String> {
        if let Some((_, id)) = self.kernel.labels().find(|(label, _)| *label == name) {
            return Ok(vec![id]);
        }
        let functions: Vec<(&str, Option<InstructionId>)> = self
            .kernel
            .functions()
            .map(|(name, mut ids)| (name, ids.next()))
            .collect();
        if let Some((_, Some(first))) = functions.iter().find(|(known, _)| *known == name) {
            return Ok(vec![*first]);
        }
        let is_named = |id: &InstructionId| {
            let rest = self.kernel.instruction(*id).opcode().strip_prefix(name);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        let found: Vec<InstructionId> = self.instructions().filter(is_named).collect();
        if !found.is_empty() {
            return Ok(found);
        }
        let names = functions.iter().map(|(function, _)| *function);
        let names = names.chain(self.labels().map(|(label, _)| label));
        let names: Vec<&str> = names.take(MAX_NAMES).collect();
        let known = names.join(", ");
        Err(format!(
            "there is no label, function or opcode {name:?}; there are: {known}"
        ))
    }

    fn instructions(&self) -> impl Iterator<Item = InstructionId> {
        (0..self.kernel.instruction_count()).filter_map(|at| self.kernel.instruction_id(at))
    }

    fn find_ptx(&self, line: u32) -> Result<Vec<InstructionId>, String> {
        let ids = self.instructions();
        let lines = ids.map(|id| (self.kernel.instruction(id).line(), id));
        let mut found: Vec<(u32, InstructionId)> = lines.filter(|(at, _)| *at >= line).collect();
        let first = found.iter().map(|(at, _)| *at).min();
        found.retain(|(at, _)| Some(*at) == first);
        match found.is_empty() {
            false => Ok(found.into_iter().map(|(_, id)| id).collect()),
            true => Err(format!(
                "the kernel has no instruction from PTX line {line} on"
            )),
        }
    }

    fn find_line(&self, file: Option<&str>, line: u32) -> Result<Vec<InstructionId>, String> {
        let is_file = |known: &str| match file {
            None => known == self.file,
            Some(file) => {
                let end = known.strip_suffix(file);
                end.is_some_and(|rest| rest.is_empty() || rest.ends_with('/'))
            }
        };
        let all = self.lines.iter().flatten();
        let of_file: BTreeSet<u32> = all
            .filter(|known| is_file(&known.file) && known.line != 0)
            .map(|known| known.line)
            .collect();
        if of_file.is_empty() {
            let files: BTreeSet<&str> = self
                .lines
                .iter()
                .flatten()
                .map(|line| line.file.as_str())
                .collect();
            let files: Vec<&str> = files.into_iter().take(MAX_NAMES).collect();
            let known = files.join(", ");
            let file = file.unwrap_or_default();
            return Err(format!(
                "the kernel has no code of {file:?}; it has some of: {known}"
            ));
        }
        let Some(&nearest) = of_file.range(line..).next() else {
            let file = file.unwrap_or(&self.file);
            return Err(format!("there is no code from line {line} of {file} on"));
        };
        let is_there = |known: &SourceLine| known.line == nearest && is_file(&known.file);
        let ids = self.lines.iter().zip(&self.begins).enumerate();
        let ids =
            ids.filter(|(_, (known, begins))| **begins && known.as_ref().is_some_and(is_there));
        Ok(ids
            .filter_map(|(at, _)| self.kernel.instruction_id(at))
            .collect())
    }
}

/// The file that most instructions are from: the first one may be a macro's.
fn own_file(lines: &[Option<SourceLine>]) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for line in lines.iter().flatten() {
        *counts.entry(&line.file).or_default() += 1;
    }
    let own = counts
        .into_iter()
        .max_by_key(|(file, count)| (*file != PTX_FILE, *count));
    own.map_or(PTX_FILE, |(file, _)| file).to_owned()
}

fn labels(kernel: &Kernel) -> impl Iterator<Item = (&str, InstructionId)> {
    // LLVM marks lines and functions with labels of these names.
    let is_mark = |name: &str| {
        ["$L__tmp", "$L__func"]
            .iter()
            .any(|mark| name.starts_with(mark))
    };
    kernel.labels().filter(move |(name, _)| !is_mark(name))
}

/// By instruction: whether it begins its line.
fn begins(kernel: &Kernel, lines: &[Option<SourceLine>]) -> Vec<bool> {
    let labels: HashSet<usize> = labels(kernel).map(|(_, id)| id.index()).collect();
    let mut seen: BTreeSet<&SourceLine> = BTreeSet::new();
    let mut is_behind_branch = true;
    let each = lines.iter().enumerate().map(|(index, line)| {
        if is_behind_branch || labels.contains(&index) {
            seen.clear();
        }
        let id = kernel.instruction_id(index);
        is_behind_branch = id.is_some_and(|id| is_branch(kernel.instruction(id).opcode()));
        let line = line.as_ref().filter(|line| line.line != 0);
        line.is_some_and(|line| seen.insert(line))
    });
    each.collect()
}

/// Most names in a message.
const MAX_NAMES: usize = 12;

fn is_branch(opcode: &str) -> bool {
    let name = opcode.split('.').next().unwrap_or_default();
    matches!(name, "bra" | "brx" | "ret" | "exit" | "trap" | "call")
}
