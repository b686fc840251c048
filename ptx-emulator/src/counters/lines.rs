//! Counts by line of the source.

use std::collections::BTreeMap;

use super::counts::Counts;
use crate::ir::Calls;
use crate::ir::{CallTarget, InstructionId, SourceLocation, Terminator};
use crate::kernel::Kernel;

/// File name of lines of the PTX text itself, for code that has no `.loc`.
pub const PTX_FILE: &str = "<ptx>";

/// A line of a source file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct SourceLine {
    /// File name as the compiler wrote it, or [`PTX_FILE`].
    pub file: String,
    /// Line, from 1; 0 for code to which the compiler gave no line, such as what it moved out of a
    /// loop.
    pub line: u32,
}

/// What a line did.
///
/// Code that was inlined counts for the line that called it: for the innermost call from a file in
/// the folder of the kernel's own file. The calls are those of `.loc … inlined_at` (PTX ISA,
/// "Debugging Directives: .loc"). Where a compiler writes none, as rustc does, inlined code counts
/// for the last line of that folder before it in the PTX text. This is mostly but not always the
/// caller: code that the compiler moved away from its line counts for another one.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct LineCounts {
    /// The line.
    #[cfg_attr(feature = "serde", serde(flatten))]
    pub place: SourceLine,
    /// Its counts, with those of the code inlined into it.
    pub counts: Counts,
    /// Its instructions, in the order of the PTX text.
    pub instructions: Vec<InstructionId>,
    /// The code inlined into it, by its own line.
    pub inlined: Vec<SourceLineCounts>,
}

/// The counts of the code of one line.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct SourceLineCounts {
    /// The line.
    #[cfg_attr(feature = "serde", serde(flatten))]
    pub place: SourceLine,
    /// Its counts.
    pub counts: Counts,
}

pub(super) fn by_line(kernel: &Kernel, counts: Vec<(InstructionId, Counts)>) -> Vec<LineCounts> {
    let owners = owners(kernel);
    let mut lines: BTreeMap<SourceLine, Line> = BTreeMap::new();
    for (id, counts) in counts {
        let Some(owner) = &owners[id.index()] else {
            continue;
        };
        let line = lines.entry(owner.line.clone()).or_default();
        line.counts += counts;
        line.instructions.push(id);
        if let Some(place) = &owner.inlined {
            *line.inlined.entry(place.clone()).or_default() += counts;
        }
    }
    lines
        .into_iter()
        .map(|(place, line)| LineCounts {
            place,
            counts: line.counts,
            instructions: line.instructions,
            inlined: line
                .inlined
                .into_iter()
                .map(|(place, counts)| SourceLineCounts { place, counts })
                .collect(),
        })
        .collect()
}

/// A line while its instructions are added up.
#[derive(Default)]
struct Line {
    counts: Counts,
    instructions: Vec<InstructionId>,
    inlined: BTreeMap<SourceLine, Counts>,
}

/// The source line that each instruction counts for, by
/// [`InstructionId::index`]: as in [`LineCounts`]. A line of the PTX text, in
/// [`PTX_FILE`], where there is no `.loc`; none of an instruction that is never reached.
pub fn source_lines(kernel: &Kernel) -> Vec<Option<SourceLine>> {
    let owners = owners(kernel).into_iter();
    owners.map(|owner| owner.map(|owner| owner.line)).collect()
}

/// The line that an instruction counts for, and its own line if that is another one.
#[derive(Clone, Debug)]
pub(crate) struct Owner {
    pub(crate) line: SourceLine,
    pub(crate) inlined: Option<SourceLine>,
}

/// The owner of each instruction; none of one that belongs to no basic block.
pub(crate) fn owners(kernel: &Kernel) -> Vec<Option<Owner>> {
    let mut owners = vec![None; kernel.instruction_count()];
    let functions = &kernel.0.program.functions;
    let mut starts: Vec<usize> = functions.iter().map(|f| f.entry as usize).collect();
    starts.sort_unstable();
    starts.push(kernel.basic_blocks().len());
    let folder = own_folder(kernel);
    for blocks in starts.windows(2) {
        let blocks = &kernel.basic_blocks()[blocks[0]..blocks[1]];
        let mut ids: Vec<InstructionId> = blocks.iter().flat_map(|b| b.instructions()).collect();
        ids.sort_unstable();
        let mut last_own = None;
        for id in ids {
            owners[id.index()] = Some(owner(kernel, id, folder.as_deref(), &mut last_own));
        }
    }
    owners
}

/// The line that an instruction counts for, where it was reached through calls: if it is in a
/// function of another folder than the kernel's, the line of the innermost call that is not.
pub(crate) fn owner_with_calls(
    kernel: &Kernel,
    owners: &[Option<Owner>],
    id: InstructionId,
    calls: Calls,
) -> Option<Owner> {
    let own = owners[id.index()].clone()?;
    let folder = own_folder(kernel);
    let is_own = |line: &SourceLine| folder.as_deref() == Some(folder_of(&line.file));
    if is_own(&own.line) || own.line.file == PTX_FILE {
        return Some(own);
    }
    let known: Vec<InstructionId> = calls.each().collect();
    let calls = match known.is_empty() {
        true => only_calls(kernel, id),
        false => known,
    };
    let lines = calls
        .into_iter()
        .filter_map(|call| Some(&owners.get(call.index())?.as_ref()?.line));
    let caller = lines.into_iter().find(|line| is_own(line)).cloned();
    Some(match caller {
        Some(line) => Owner {
            inlined: Some(own.inlined.unwrap_or(own.line)),
            line,
        },
        None => own,
    })
}

/// The calls that lead to an instruction, the innermost first, as far as each is the only one of
/// its function.
fn only_calls(kernel: &Kernel, id: InstructionId) -> Vec<InstructionId> {
    let program = &kernel.0.program;
    let mut starts: Vec<(u32, u32)> = program.functions.iter().map(|f| f.entry).zip(0..).collect();
    starts.sort_unstable();
    let function_of = |block: usize| {
        let after = starts.partition_point(|&(entry, _)| entry as usize <= block);
        after.checked_sub(1).map(|at| starts[at].1)
    };
    let blocks = kernel.basic_blocks();
    let holds = |id: InstructionId| {
        blocks
            .iter()
            .position(|b| b.instructions().any(|i| i == id))
    };
    let mut calls = Vec::new();
    let mut function = holds(id).and_then(function_of);
    while let Some(current) = function.filter(|&function| function != 0)
        && calls.len() < MAX_CALLS
    {
        let is_call = |block: &&crate::ir::Block| match &block.terminator {
            Terminator::Call(call) => {
                matches!(call.target, CallTarget::Function(f) if f == current)
            }
            _ => false,
        };
        let mut sites = program.blocks.iter().filter(is_call);
        let (Some(site), None) = (sites.next(), sites.next()) else {
            break;
        };
        let Some(info) = site.terminator_info else {
            break;
        };
        calls.push(InstructionId(info));
        function = holds(InstructionId(info)).and_then(function_of);
    }
    calls
}

/// Chains of calls longer than this are cut.
const MAX_CALLS: usize = 16;

fn owner(
    kernel: &Kernel,
    id: InstructionId,
    folder: Option<&str>,
    last_own: &mut Option<SourceLine>,
) -> Owner {
    let instruction = kernel.instruction(id);
    let Some(location) = instruction.location() else {
        let line = SourceLine {
            file: PTX_FILE.to_string(),
            line: instruction.line(),
        };
        return Owner {
            line,
            inlined: None,
        };
    };
    let here = place(&location);
    let mut frame = Some(&location);
    let mut outermost = &location;
    while let Some(current) = frame {
        if folder == Some(folder_of(&current.file)) {
            let line = place(current);
            if line.line != 0 {
                *last_own = Some(line.clone());
            }
            let inlined = (line != here).then_some(here);
            return Owner { line, inlined };
        }
        outermost = current;
        frame = current.inlined_at.as_deref();
    }
    let caller = match location.inlined_at {
        Some(_) => Some(place(outermost)),
        None => last_own.clone(),
    };
    match caller {
        Some(line) => Owner {
            line,
            inlined: Some(here),
        },
        None => Owner {
            line: here,
            inlined: None,
        },
    }
}

/// The folder of the kernel's file: that of its first instruction with a `.loc`.
fn own_folder(kernel: &Kernel) -> Option<String> {
    // Functions are decoded one after the other, the kernel first, each in the order of the text.
    let mut locations = (0..kernel.instruction_count() as u32)
        .filter_map(|index| kernel.instruction(InstructionId(index)).location());
    let mut location = locations.next()?;
    while let Some(caller) = location.inlined_at {
        location = *caller;
    }
    Some(folder_of(&location.file).to_string())
}

fn place(location: &SourceLocation) -> SourceLine {
    SourceLine {
        file: location.file.clone(),
        line: location.line,
    }
}

fn folder_of(file: &str) -> &str {
    file.rfind(['/', '\\']).map_or("", |end| &file[..end])
}
