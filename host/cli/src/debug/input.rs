//! Where commands come from.

use crate::output;
use std::io::{self, BufRead, IsTerminal, Read, Write};

/// What stands before a command.
const PROMPT: &str = "(warpladder) ";

/// Most bytes of a line.
const MAX_BYTES: u64 = 4096;

/// Standard input, a command in each line. What is not typed is shown behind the prompt, so that
/// what was printed reads as if it were.
pub(super) struct Input {
    is_terminal: bool,
}

impl Input {
    pub(super) fn new() -> Self {
        Input {
            is_terminal: io::stdin().is_terminal(),
        }
    }

    /// Whether the input is a terminal.
    pub(super) fn is_terminal(&self) -> bool {
        self.is_terminal
    }

    /// The next line; none at the end of the input.
    pub(super) fn line(&self) -> io::Result<Option<String>> {
        if self.is_terminal {
            let mut out = output::stdout();
            write!(out, "{PROMPT}")?;
            out.flush()?;
        }
        let line = read(&mut io::stdin().lock())?;
        match &line {
            Some(line) if !self.is_terminal && !line.trim().is_empty() => {
                writeln!(output::stdout(), "{PROMPT}{}", line.trim())?;
            }
            None if self.is_terminal => writeln!(output::stdout())?,
            _ => {}
        }
        Ok(line)
    }
}

/// A line, cut after [`MAX_BYTES`] bytes; what follows them is read and dropped.
fn read(from: &mut impl BufRead) -> io::Result<Option<String>> {
    let mut bytes = Vec::new();
    if from
        .by_ref()
        .take(MAX_BYTES)
        .read_until(b'\n', &mut bytes)?
        == 0
    {
        return Ok(None);
    }
    let mut last = bytes.last().copied();
    while last != Some(b'\n') {
        let mut more = Vec::new();
        if from.by_ref().take(MAX_BYTES).read_until(b'\n', &mut more)? == 0 {
            break;
        }
        last = more.last().copied();
    }
    Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_end_and_are_cut() {
        let text = [b"run\n\xff\n".as_slice(), &[b'a'; 10_000], b"\nlast"].concat();
        let mut input = io::Cursor::new(text);
        let mut line = || read(&mut input).unwrap();
        assert_eq!(line().as_deref(), Some("run\n"));
        assert_eq!(line().as_deref(), Some("\u{fffd}\n"));
        assert_eq!(line().map(|line| line.len()), Some(4096));
        assert_eq!(line().as_deref(), Some("last"));
        assert_eq!(line(), None);
    }
}
