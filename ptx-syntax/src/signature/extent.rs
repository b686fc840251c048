//! Where entries stand, and modules that are cut down to one of them.

use super::Module;

/// Where an entry stands in its module's text.
///
/// The form that `{:?}` gives is a Rust expression of this type: a build script can write extents
/// down for the program that embeds the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent<'a> {
    /// The entry's name.
    pub name: &'a str,
    /// Its first byte, that of its first directive.
    pub start: usize,
    /// The byte behind its closing brace.
    pub end: usize,
    /// The line of the first byte, from 1.
    pub first_line: usize,
    /// The line of the closing brace.
    pub last_line: usize,
}

impl<'a> Module<'a> {
    /// Where the entries stand, in the order of the text. Entries without a body are left out.
    pub fn extents(&self) -> Vec<Extent<'a>> {
        let (mut line, mut from) = (1, 0);
        let mut line_of = |at: usize| {
            line += newlines(self.text, from, at);
            from = at;
            line
        };
        self.entries()
            .filter(|entry| entry.body.is_some())
            .map(|entry| {
                let (start, end) = (entry.span.start as usize, entry.span.end as usize);
                Extent {
                    name: entry.name,
                    start,
                    end,
                    first_line: line_of(start),
                    last_line: line_of(end),
                }
            })
            .collect()
    }
}

/// A module with one entry alone, so that a driver compiles what is launched and nothing else. The
/// other entries leave their line ends behind: line numbers stay those of `text`.
///
/// `extents` are those of `text`, in its order. Functions and variables all stay.
pub fn alone(text: &str, extents: &[Extent<'_>], entry: &str) -> String {
    let between = |start, end| text.get(start..end).unwrap_or("");
    let (mut kept, mut from) = (String::new(), 0);
    for extent in extents.iter().filter(|extent| extent.name != entry) {
        kept.push_str(between(from, extent.start));
        let line_ends = extent.last_line.saturating_sub(extent.first_line);
        kept.extend(std::iter::repeat_n('\n', line_ends.min(text.len())));
        from = extent.end;
    }
    kept.push_str(between(from, text.len()));
    kept
}

fn newlines(text: &str, start: usize, end: usize) -> usize {
    let bytes = text.as_bytes().get(start..end).unwrap_or_default();
    bytes.iter().filter(|&&byte| byte == b'\n').count()
}
