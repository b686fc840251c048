//! Finishing the PTX that the compiler writes.
//!
//! `#[kernel(max_threads = 256)]` cannot write a directive into its entry's header: inline assembly stays
//! inside the body. It leaves a comment there, and this module moves it to the header. It also makes names of
//! source files the same on every system, and finds what could not run.

use crate::error::PtxTextError;

/// The comment that a launch bound leaves in a kernel's body, before its directive and number.
const BOUND_COMMENT: &str = "// cuda_std launch bound:";

const ASM_BEGIN: &str = "// begin inline asm";
const ASM_END: &str = "// end inline asm";

/// The directives that a bound may name (PTX ISA, "Performance-Tuning Directives"), in the order in which
/// they are written.
const DIRECTIVES: [&str; 3] = ["maxntid", "minnctapersm", "maxnreg"];

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
    /// Bytes of local memory that each thread's arrays take. Above zero, they were not kept in registers.
    pub local_bytes: u64,
}

/// Turns the compiler's PTX into what ships. Pure: the result depends on `raw` alone.
pub(crate) fn finish(raw: &str) -> Result<PtxOutput, PtxTextError> {
    let mut finisher = Finisher::default();
    for (index, line) in raw.lines().enumerate() {
        finisher.line(index + 1, line)?;
    }
    if !finisher.unresolved.is_empty() {
        return Err(PtxTextError::Unresolved(finisher.unresolved));
    }
    let mut text = finisher.lines.join("\n");
    text.push('\n');
    Ok(PtxOutput {
        text,
        entries: finisher.entries,
        functions: finisher.functions,
    })
}

#[derive(Default)]
struct Finisher {
    lines: Vec<String>,
    entries: Vec<PtxEntry>,
    functions: Vec<String>,
    unresolved: Vec<String>,
    scope: Scope,
    /// Lines of the inline assembly that is being read.
    asm: Option<Vec<String>>,
    /// Whether the external declaration being read still lacks its name.
    naming_extern: bool,
}

/// Where the line being read stands.
#[derive(Default, Clone, Copy, PartialEq)]
enum Scope {
    #[default]
    Module,
    /// In the header of the last entry.
    Header,
    /// In the body of the last entry, whose directives go before the line of this index.
    Body { brace: usize },
}

impl Finisher {
    fn line(&mut self, number: usize, line: &str) -> Result<(), PtxTextError> {
        let trimmed = line.trim();
        if let Some(asm) = &mut self.asm {
            if trimmed == ASM_END {
                self.end_asm(line);
            } else if let Some(bound) = trimmed.strip_prefix(BOUND_COMMENT) {
                self.bound(number, bound.trim())?;
            } else {
                asm.push(line.to_owned());
            }
            return Ok(());
        }
        if trimmed == ASM_BEGIN {
            self.asm = Some(vec![line.to_owned()]);
            return Ok(());
        }
        if is_empty_section(trimmed) {
            return Ok(());
        }
        self.external(trimmed);
        match self.scope {
            Scope::Module => self.definition(trimmed),
            Scope::Header if line == "{" => {
                self.scope = Scope::Body {
                    brace: self.lines.len(),
                };
            }
            Scope::Header => {}
            Scope::Body { brace } if line == "}" => {
                self.write_bounds(brace)?;
                self.scope = Scope::Module;
            }
            Scope::Body { .. } => self.local_array(trimmed),
        }
        self.lines.push(portable_file(line));
        Ok(())
    }

    /// Keeps the inline assembly that ends here, unless nothing is left of it.
    fn end_asm(&mut self, end: &str) {
        let asm = self.asm.take().unwrap_or_default();
        if asm.iter().skip(1).any(|line| !line.trim().is_empty()) {
            self.lines.extend(asm);
            self.lines.push(end.to_owned());
        }
    }

    fn bound(&mut self, line: usize, bound: &str) -> Result<(), PtxTextError> {
        let (Scope::Body { .. }, Some(entry)) = (self.scope, self.entries.last_mut()) else {
            return Err(PtxTextError::StrayBound { line });
        };
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

    /// Writes the last entry's bounds before its opening brace.
    fn write_bounds(&mut self, brace: usize) -> Result<(), PtxTextError> {
        let Some(entry) = self.entries.last() else {
            return Ok(());
        };
        if entry.min_blocks.is_some() && entry.max_threads.is_none() {
            return Err(PtxTextError::MinBlocksAlone {
                kernel: entry.name.clone(),
            });
        }
        let values = [
            entry.max_threads.map(|threads| format!("{threads}, 1, 1")),
            entry.min_blocks.map(|blocks| blocks.to_string()),
            entry.max_registers.map(|registers| registers.to_string()),
        ];
        let directives = DIRECTIVES
            .iter()
            .zip(values)
            .filter_map(|(directive, value)| Some(format!(".{directive} {}", value?)));
        self.lines.splice(brace..brace, directives);
        Ok(())
    }

    /// Notes the kernel or function whose definition starts here.
    fn definition(&mut self, line: &str) {
        if line.starts_with(".extern") {
            return;
        }
        if let Some((_, rest)) = line.split_once(".entry ") {
            self.entries.push(PtxEntry {
                name: leading_name(rest).to_owned(),
                max_threads: None,
                min_blocks: None,
                max_registers: None,
                local_bytes: 0,
            });
            self.scope = Scope::Header;
        } else if let Some((_, rest)) = line.split_once(".func ") {
            let name = leading_name(after_return_value(rest)).to_owned();
            if !name.is_empty() && !self.functions.contains(&name) {
                self.functions.push(name);
            }
        }
    }

    /// Notes the name of a function that is declared but not in the module.
    fn external(&mut self, line: &str) {
        let rest = match line.strip_prefix(".extern .func") {
            Some(rest) => {
                self.naming_extern = true;
                after_return_value(rest)
            }
            None => line,
        };
        let name = leading_name(rest);
        if self.naming_extern && !name.is_empty() {
            self.naming_extern = false;
            self.unresolved.push(name.to_owned());
        }
    }

    /// Counts `.local .align 8 .b8 __local_depot0[64];` towards the last entry.
    fn local_array(&mut self, line: &str) {
        let bytes = line
            .strip_prefix(".local ")
            .and_then(|rest| rest.split_once('[')?.1.split_once(']'))
            .and_then(|(bytes, _)| bytes.parse::<u64>().ok());
        if let (Some(bytes), Some(entry)) = (bytes, self.entries.last_mut()) {
            entry.local_bytes += bytes;
        }
    }
}

/// What follows the return value's declaration `(.param .b32 func_retval0)`, which a function may have.
fn after_return_value(text: &str) -> &str {
    let text = text.trim_start();
    match text.strip_prefix('(') {
        Some(inner) => inner
            .split_once(')')
            .map_or("", |(_, rest)| rest.trim_start()),
        None => text,
    }
}

/// The identifier that `text` starts with (PTX ISA, "Identifiers").
fn leading_name(text: &str) -> &str {
    let end = text.find(|c: char| !(c.is_ascii_alphanumeric() || "_$%".contains(c)));
    &text[..end.unwrap_or(text.len())]
}

/// `.section .debug_macinfo { }`: the back end writes it with line directives, and it holds nothing.
fn is_empty_section(line: &str) -> bool {
    let body = line
        .strip_prefix(".section")
        .and_then(|rest| rest.split_once('{'));
    body.is_some_and(|(_, body)| body.trim() == "}")
}

/// A line as it is, but `.file 1 ".\a/../b.rs"` as `.file 1 "b.rs"`.
fn portable_file(line: &str) -> String {
    let quoted = (line.trim_start().starts_with(".file")).then(|| line.split_once('"'));
    let Some((before, (name, after))) = quoted
        .flatten()
        .and_then(|(before, rest)| Some((before, rest.rsplit_once('"')?)))
    else {
        return line.to_owned();
    };
    // The back end escapes backslashes, so one separator shows as two.
    let name = name.replace("\\\\", "/");
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
    format!("{before}\"{}\"{after}", parts.join("/"))
}

#[cfg(test)]
mod tests;
