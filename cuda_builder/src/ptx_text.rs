//! Finishing the PTX that the compiler writes.
//!
//! `#[kernel(max_threads = 256)]` cannot write a directive into its entry's header: inline assembly
//! stays inside the body. It leaves a comment there, and this module moves it to the header. It
//! also makes names of source files the same on every system, leaves out labels that nothing names
//! and the comments around inline assembly, and finds what could not run.

mod labels;

use crate::error::PtxTextError;
use crate::local_atomics::{self, Local};
use ptx_syntax::ast::Span;
use ptx_syntax::lexer::{Lexer, Token};
use ptx_syntax::signature::Module;
use std::borrow::Cow;

/// The comment that a launch bound leaves in a kernel's body, before its directive and number.
const BOUND_COMMENT: &str = "// cuda_std launch bound:";

const ASM_BEGIN: &str = "// begin inline asm";
const ASM_END: &str = "// end inline asm";

/// The directives that a bound may name (PTX ISA, "Performance-Tuning Directives"), in the order in
/// which they are written.
const DIRECTIVES: [&str; 3] = ["maxntid", "minnctapersm", "maxnreg"];

/// Functions that the driver defines (CUDA C++ programming guide, "Dynamic Global Memory
/// Allocation" and "Formatted Output"; PTX Interoperability, "System Calls").
const SYSTEM_CALLS: [&str; 4] = ["vprintf", "malloc", "free", "__assertfail"];

/// PTX that is ready to load, and what it says about its kernels.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PtxOutput {
    /// The PTX.
    pub text: String,
    /// Its kernels, in the order of the text.
    pub entries: Vec<PtxEntry>,
    /// Functions that were not inlined. They run, but a call costs registers and stack.
    pub functions: Vec<String>,
    /// Whether the crate was compiled together with all that it calls
    /// ([`CudaBuilder::whole_program`](crate::CudaBuilder::whole_program)).
    pub whole_program: bool,
    /// What the build was asked for and did not do.
    pub warnings: Vec<String>,
}

/// One kernel of a PTX module.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PtxEntry {
    /// Its name.
    pub name: String,
    /// `.maxntid`: the most threads that a block may have.
    pub max_threads: Option<u32>,
    /// `.minnctapersm`: how many blocks must fit on a multiprocessor.
    pub min_blocks: Option<u32>,
    /// `.maxnreg`: the most registers that a thread may use.
    pub max_registers: Option<u32>,
    /// Bytes of local memory that each thread's arrays take. Above zero, they were not kept in
    /// registers.
    pub local_bytes: u64,
}

/// Turns the compiler's PTX into what ships. Pure: the result depends on `raw` alone.
pub(crate) fn finish(raw: &str) -> Result<PtxOutput, PtxTextError> {
    let mut raw = raw.replace("\r\n", "\n");
    let has_sections = labels::has_sections(&raw);
    if !has_sections {
        raw = labels::local(&raw).into_owned();
    }
    let module = Module::read(&raw);
    let mut finisher = Finisher::new(&module, has_sections);
    let mut start = 0;
    for (index, line) in raw.split_inclusive('\n').enumerate() {
        finisher.line(index + 1, start, line.trim_end_matches('\n'))?;
        start += line.len();
    }
    if let Some(error) = &module.stopped {
        return Err(PtxTextError::Unreadable(error.clone()));
    }
    let mut unresolved = module.undefined();
    unresolved.retain(|name| !SYSTEM_CALLS.contains(name));
    if !unresolved.is_empty() {
        let names = unresolved.into_iter().map(str::to_owned);
        return Err(PtxTextError::Unresolved(names.collect()));
    }
    finisher.output(&module)
}

/// Goes through the compiler's lines and keeps what ships.
struct Finisher {
    kept: String,
    /// Whether labels for debugging information are kept.
    keeps_marks: bool,
    entries: Vec<Entry>,
    /// Entries whose body begins in front of the line being read.
    begun: usize,
    /// Lines of the inline assembly that is being read.
    asm: Option<Vec<String>>,
}

/// An entry with a body, and its bounds as far as they have been read.
struct Entry {
    ptx: PtxEntry,
    /// From brace to brace, in the compiler's PTX.
    body: Span,
    /// Where the opening brace is in what is kept; its bounds go in front of it.
    brace: usize,
}

impl Finisher {
    fn new(module: &Module<'_>, keeps_marks: bool) -> Self {
        let entries = module.entries().filter_map(|entry| {
            let ptx = PtxEntry {
                name: entry.name.to_owned(),
                max_threads: None,
                min_blocks: None,
                max_registers: None,
                local_bytes: module.local_bytes(entry),
            };
            let body = entry.body?;
            Some(Entry {
                ptx,
                body,
                brace: 0,
            })
        });
        Finisher {
            kept: String::with_capacity(module.text.len()),
            keeps_marks,
            entries: entries.collect(),
            begun: 0,
            asm: None,
        }
    }

    /// Reads the line of this number, from 1, which begins at the byte `start`.
    fn line(&mut self, number: usize, start: usize, line: &str) -> Result<(), PtxTextError> {
        let plain = match local_atomics::rewrite(line) {
            Some(Local::Plain(plain)) => Some(plain),
            Some(Local::Unsupported) => {
                return Err(PtxTextError::LocalAtomic {
                    line: number,
                    instruction: line.trim().to_owned(),
                });
            }
            None => None,
        };
        if let Some(plain) = plain {
            let plain = plain.trim_end();
            match &mut self.asm {
                Some(asm) => asm.push(plain.to_owned()),
                None => self.keep(plain),
            }
            return Ok(());
        }
        let trimmed = line.trim();
        if let Some(asm) = &mut self.asm {
            if trimmed == ASM_END {
                self.end_asm();
            } else if let Some(bound) = trimmed.strip_prefix(BOUND_COMMENT) {
                self.bound(number, start, bound.trim())?;
            } else {
                asm.push(line.to_owned());
            }
            return Ok(());
        }
        if trimmed == ASM_BEGIN {
            self.asm = Some(Vec::new());
            return Ok(());
        }
        if is_empty_section(trimmed) || (!self.keeps_marks && labels::is_mark(trimmed)) {
            return Ok(());
        }
        self.keep(&portable_file(line));
        let end = start + line.len();
        while let Some(entry) = self.entries.get_mut(self.begun)
            && (entry.body.start as usize) < end
        {
            // Counted from the end of the line, which is the same in what is kept.
            let behind = end - (entry.body.start as usize).max(start);
            entry.brace = self.kept.len() - 1 - behind;
            self.begun += 1;
        }
        Ok(())
    }

    fn keep(&mut self, line: &str) {
        self.kept.push_str(line);
        self.kept.push('\n');
    }

    /// Keeps the lines of the inline assembly that ends here, without the comments around them.
    fn end_asm(&mut self) {
        for line in self.asm.take().unwrap_or_default() {
            if !line.trim().is_empty() {
                self.keep(&line);
            }
        }
    }

    /// Notes a bound in the line of this number, which begins at the byte `start`.
    fn bound(&mut self, line: usize, start: usize, bound: &str) -> Result<(), PtxTextError> {
        let last = self.entries[..self.begun].last_mut();
        let Some(entry) = last.filter(|entry| start < entry.body.end as usize) else {
            return Err(PtxTextError::StrayBound { line });
        };
        let entry = &mut entry.ptx;
        let parsed = bound
            .split_once(' ')
            .and_then(|(name, value)| Some((name, value.trim().parse::<u32>().ok()?)));
        let (name, value) = match parsed {
            Some((name, value)) if value > 0 && DIRECTIVES.contains(&name) => (name, value),
            _ => {
                return Err(PtxTextError::BadBound {
                    kernel: entry.name.clone(),
                    bound: bound.to_owned(),
                });
            }
        };
        let slot = match name {
            "maxntid" => &mut entry.max_threads,
            "minnctapersm" => &mut entry.min_blocks,
            _ => &mut entry.max_registers,
        };
        // The compiler may have copied the comment with the code around it.
        match slot.replace(value) {
            Some(first) if first != value => Err(PtxTextError::TwoBounds {
                kernel: entry.name.clone(),
                bound: name.to_owned(),
                first,
                second: value,
            }),
            _ => Ok(()),
        }
    }

    /// What is kept, with the bounds in front of the opening braces.
    fn output(self, module: &Module<'_>) -> Result<PtxOutput, PtxTextError> {
        let mut text = String::with_capacity(self.kept.len());
        let mut from = 0;
        for entry in &self.entries[..self.begun] {
            text.push_str(&self.kept[from..entry.brace]);
            text.push_str(&entry.ptx.bounds()?);
            from = entry.brace;
        }
        text.push_str(&self.kept[from..]);
        let mut functions: Vec<String> = Vec::new();
        for function in &module.functions {
            let is_own = !function.entry && !function.external;
            if is_own && !functions.iter().any(|name| name == function.name) {
                functions.push(function.name.to_owned());
            }
        }
        Ok(PtxOutput {
            text,
            entries: self.entries.into_iter().map(|entry| entry.ptx).collect(),
            functions,
            whole_program: false,
            warnings: Vec::new(),
        })
    }
}

impl PtxEntry {
    /// The directives of its bounds, each with its line end.
    fn bounds(&self) -> Result<String, PtxTextError> {
        if self.min_blocks.is_some() && self.max_threads.is_none() {
            return Err(PtxTextError::MinBlocksAlone {
                kernel: self.name.clone(),
            });
        }
        let values = [
            self.max_threads.map(|threads| format!("{threads}, 1, 1")),
            self.min_blocks.map(|blocks| blocks.to_string()),
            self.max_registers.map(|registers| registers.to_string()),
        ];
        let directives = DIRECTIVES.iter().zip(values);
        let lines =
            directives.filter_map(|(directive, value)| Some(format!(".{directive} {}\n", value?)));
        Ok(lines.collect())
    }
}

/// The tokens of a line; none where it cannot be split into any.
fn tokens(line: &str) -> Vec<(Token, Span)> {
    let mut lexer = Lexer::new(line, 0);
    let mut tokens = Vec::new();
    while let Ok((token, span)) = lexer.next() {
        if token == Token::End {
            return tokens;
        }
        tokens.push((token, span));
    }
    Vec::new()
}

/// `.section .debug_macinfo { }`: the back end writes it with line directives, and it holds
/// nothing.
fn is_empty_section(line: &str) -> bool {
    let is_section = line.starts_with(".section");
    is_section
        && matches!(
            tokens(line)[..],
            [
                (Token::Word, _),
                (Token::Word, _),
                (Token::Punctuation(b'{'), _),
                (Token::Punctuation(b'}'), _)
            ]
        )
}

/// A line as it is, but `.file 1 ".\a/../b.rs"` as `.file 1 "b.rs"`.
fn portable_file(line: &str) -> Cow<'_, str> {
    if !line.trim_start().starts_with(".file") {
        return Cow::from(line);
    }
    let tokens = tokens(line);
    let Some((_, quoted)) = tokens.iter().find(|(token, _)| *token == Token::Text) else {
        return Cow::from(line);
    };
    let (start, end) = (quoted.start as usize + 1, quoted.end as usize - 1);
    // The back end escapes backslashes, so one separator shows as two.
    let name = line[start..end].replace("\\\\", "/");
    let mut parts: Vec<&str> = Vec::new();
    for part in name.split('/') {
        match (part, parts.last()) {
            (".", _) => {}
            ("..", Some(last)) if !matches!(*last, "" | "..") => {
                parts.pop();
            }
            _ => parts.push(part),
        }
    }
    let name = parts.join("/");
    Cow::from(format!("{}{name}{}", &line[..start], &line[end..]))
}

#[cfg(test)]
mod tests;
