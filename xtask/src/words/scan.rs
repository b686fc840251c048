//! What of a file is an identifier and what is prose: a scanner for Rust, for Markdown, and for
//! files with `#` comments.
//!
//! Code within prose, between backticks or in fences of Rust, is looked at as code. Rust's own
//! tokenizers drop comments, which are most of the prose.

use super::scanner::Scanner;
use std::path::Path;

/// Longest line, in columns.
pub const MAX_COLUMNS: usize = 100;

/// What a file consists of.
#[derive(Debug, Default)]
pub struct Scan {
    /// Identifiers, each with its line.
    pub identifiers: Vec<Identifier>,
    /// Comments, string literals, paragraphs.
    pub prose: Vec<Prose>,
    /// Lines of more than [`MAX_COLUMNS`] columns that could be shorter.
    pub long_lines: Vec<usize>,
}

/// An identifier.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identifier {
    /// Its name.
    pub name: String,
    /// Its line, from 1.
    pub line: usize,
    /// Whether `struct`, `enum`, `union` or `trait` stands before it.
    pub defines_type: bool,
    /// Whether it is defined or called as a function.
    pub is_function: bool,
}

/// A piece of prose. Code in it is replaced by blanks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prose {
    /// Where it stands.
    pub kind: Kind,
    /// The text, with the line breaks of the file.
    pub text: String,
    /// Line of its beginning, from 1.
    pub line: usize,
}

/// Where prose stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// In a comment, documentation included.
    Comment,
    /// In a string literal.
    String,
    /// In a document.
    Document,
}

/// How a file is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Language {
    /// Rust, and what has its comments and strings: CSS.
    Rust,
    Markdown,
    /// Comments from `#` to the line's end: shell scripts, TOML.
    Hash,
}

/// Reads a file by its name's ending; none where it is no text with words of ours.
pub fn scan(name: &str, text: &str) -> Option<Scan> {
    let extension = Path::new(name).extension().and_then(|e| e.to_str());
    let language = match extension {
        Some("rs" | "css") => Language::Rust,
        Some("md" | "html" | "txt") => Language::Markdown,
        Some("toml" | "sh") => Language::Hash,
        None if text.starts_with("#!") => Language::Hash,
        _ => return None,
    };
    let mut scan = Scan::default();
    match language {
        Language::Rust => {
            let strings = scan.rust(text, 1);
            scan.note_long_lines(text, |start, end| {
                let limit = offset_of_column(&text[start..end], MAX_COLUMNS) + start;
                strings.iter().any(|&(from, to)| from < limit && limit < to)
                    || is_table(text[start..end].trim_start_matches([' ', '/', '!']))
            });
        }
        Language::Markdown => {
            scan.markdown(text, 1, Kind::Document, false);
            let fenced = fenced_lines(text);
            let mut line = 0;
            scan.note_long_lines(text, |start, end| {
                line = text[..start].matches('\n').count();
                fenced[line] || is_table(text[start..end].trim_start())
            });
        }
        Language::Hash => {
            scan.hash(text);
            let is_toml = extension == Some("toml");
            scan.note_long_lines(text, |start, end| {
                is_toml && !text[start..end].trim_start().starts_with('#')
            });
        }
    }
    Some(scan)
}

impl Scan {
    /// Scans Rust. Returns the string literals, as ranges of bytes.
    fn rust(&mut self, text: &str, first_line: usize) -> Vec<(usize, usize)> {
        let mut scanner = Scanner::new(text, first_line);
        let mut strings = Vec::new();
        let mut comment: Option<Prose> = None;
        let mut type_begins = false;
        let mut function_begins = false;
        while let Some(next) = scanner.peek() {
            let (start, line) = (scanner.at, scanner.line);
            let rest = &text[start..];
            if rest.starts_with("//") {
                let body = scanner.line_comment();
                self.add_comment_line(&mut comment, body, line);
                continue;
            }
            if next.is_whitespace() {
                scanner.advance(next.len_utf8());
                continue;
            }
            self.end_comment(&mut comment);
            if rest.starts_with("/*") {
                let body = scanner.block_comment();
                self.markdown(body, line, Kind::Comment, true);
            } else if let Some((inside, is_raw)) = scanner.string() {
                let body = if is_raw {
                    inside.to_owned()
                } else {
                    unescaped(inside)
                };
                self.words(&body, line, Kind::String);
                strings.push((start, scanner.at));
                type_begins = false;
            } else if next == '_' || next.is_alphabetic() {
                let name = scanner.identifier();
                let is_keyword = matches!(name, "struct" | "enum" | "union" | "trait");
                if !is_keyword {
                    self.identifiers.push(Identifier {
                        name: name.to_owned(),
                        line,
                        defines_type: type_begins,
                        is_function: function_begins
                            || text[scanner.at..].starts_with('(')
                            || text[scanner.at..].starts_with("::<"),
                    });
                }
                type_begins = is_keyword;
                function_begins = name == "fn";
            } else if next == '\'' {
                scanner.quote();
                type_begins = false;
            } else if next.is_ascii_digit() {
                scanner.number();
                type_begins = false;
            } else {
                scanner.advance(next.len_utf8());
                type_begins = false;
            }
        }
        self.end_comment(&mut comment);
        strings
    }

    /// Comments on lines one behind the other are one text, so that a phrase may go on in the next
    /// line.
    fn add_comment_line(&mut self, comment: &mut Option<Prose>, body: &str, line: usize) {
        match comment {
            Some(open) if open.line + open.text.matches('\n').count() + 1 == line => {
                open.text.push('\n');
                open.text.push_str(body);
            }
            _ => {
                self.end_comment(comment);
                *comment = Some(Prose {
                    kind: Kind::Comment,
                    text: body.to_owned(),
                    line,
                });
            }
        }
    }

    fn end_comment(&mut self, comment: &mut Option<Prose>) {
        if let Some(comment) = comment.take() {
            self.markdown(&comment.text, comment.line, Kind::Comment, true);
        }
    }

    /// Scans Markdown: fences of Rust are Rust, the rest is prose. `bare_is_rust` tells whether a
    /// fence without a language is Rust, as it is in documentation of code.
    fn markdown(&mut self, text: &str, first_line: usize, kind: Kind, bare_is_rust: bool) {
        let mut prose = String::new();
        let mut prose_line = first_line;
        let mut rust: Option<(String, usize)> = None;
        let mut in_other_fence = false;
        for (index, full) in text.split('\n').enumerate() {
            let line = first_line + index;
            let trimmed = full.trim_start();
            if let Some(language) = trimmed.strip_prefix("```") {
                if let Some((code, code_line)) = rust.take() {
                    self.rust(&code, code_line);
                    (prose, prose_line) = (String::new(), line);
                } else if in_other_fence {
                    in_other_fence = false;
                } else if is_rust(language.trim(), bare_is_rust) {
                    self.words(&prose, prose_line, kind);
                    rust = Some((String::new(), line + 1));
                    continue;
                } else {
                    in_other_fence = true;
                }
                prose.push('\n');
                continue;
            }
            match &mut rust {
                Some((code, _)) => {
                    // Lines that documentation hides begin with `# `.
                    code.push_str(trimmed.strip_prefix("# ").unwrap_or(full));
                    code.push('\n');
                }
                None => {
                    prose.push_str(full);
                    prose.push('\n');
                }
            }
        }
        if let Some((code, code_line)) = rust {
            self.rust(&code, code_line);
        } else {
            self.words(&prose, prose_line, kind);
        }
    }

    /// Scans a file whose comments begin with `#`.
    fn hash(&mut self, text: &str) {
        let mut comment = None;
        for (index, full) in text.split('\n').enumerate() {
            let line = index + 1;
            let mut code = String::new();
            let mut quoted = String::new();
            let mut quote: Option<char> = None;
            let mut found = None;
            for (at, c) in full.char_indices() {
                let begins = code.is_empty() || code.ends_with(char::is_whitespace);
                match quote {
                    Some(open) if c == open => quote = None,
                    Some(_) => quoted.push(c),
                    None if c == '"' || c == '\'' => {
                        quote = Some(c);
                        quoted.push('\n');
                        code.push('"');
                    }
                    None if c == '#' && begins => {
                        found = Some(&full[at + 1..]);
                        break;
                    }
                    None => code.push(c),
                }
            }
            self.add_identifiers(&code, line);
            if !code.trim().is_empty() {
                self.end_comment(&mut comment);
            }
            if !quoted.trim().is_empty() {
                self.words(&quoted.replace('\n', " "), line, Kind::String);
            }
            match found {
                Some(body) => self.add_comment_line(&mut comment, body, line),
                None => self.end_comment(&mut comment),
            }
        }
        self.end_comment(&mut comment);
    }

    /// Adds a text: code between backticks and words that look like code are identifiers, the rest
    /// is prose.
    fn words(&mut self, text: &str, line: usize, kind: Kind) {
        let mut prose = String::with_capacity(text.len());
        for (index, part) in split_code(text).into_iter().enumerate() {
            let part_line = line + prose.matches('\n').count();
            let is_code = index % 2 == 1;
            // A letter or two, such as `C` and `k`, are read as part of the sentence.
            if is_code && part.chars().count() > 2 {
                self.add_identifiers(part, part_line);
                prose.push(' ');
                prose.extend(part.chars().map(blank));
                prose.push(' ');
                continue;
            }
            if is_code {
                prose.push(' ');
            }
            for word in part.split_inclusive(char::is_whitespace) {
                if looks_like_code(word) {
                    let word_line = line + prose.matches('\n').count();
                    self.add_identifiers(word, word_line);
                    prose.extend(word.chars().map(blank));
                } else {
                    prose.push_str(word);
                }
            }
            if is_code {
                prose.push(' ');
            }
        }
        if !prose.trim().is_empty() {
            self.prose.push(Prose {
                kind,
                text: prose,
                line,
            });
        }
    }

    fn add_identifiers(&mut self, code: &str, first_line: usize) {
        for (index, line) in code.split('\n').enumerate() {
            let names = line.split(|c: char| c != '_' && !c.is_alphanumeric());
            for name in names {
                if name.starts_with(|c: char| c == '_' || c.is_alphabetic()) {
                    self.identifiers.push(Identifier {
                        name: name.to_owned(),
                        line: first_line + index,
                        defines_type: false,
                        is_function: false,
                    });
                }
            }
        }
    }

    fn note_long_lines(&mut self, text: &str, mut may_be_long: impl FnMut(usize, usize) -> bool) {
        let mut start = 0;
        for (index, line) in text.split('\n').enumerate() {
            let end = start + line.len();
            if line.chars().count() > MAX_COLUMNS
                && !line.contains("://")
                && !may_be_long(start, end)
            {
                self.long_lines.push(index + 1);
            }
            start = end + 1;
        }
    }
}

/// Escapes as blanks, so that `\n` is no letter; line breaks stay.
fn unescaped(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c == '\\' {
            plain.push(' ');
            if let Some(next) = chars.next() {
                plain.push(if next == '\n' { '\n' } else { ' ' });
            }
        } else {
            plain.push(c);
        }
    }
    plain
}

/// Text and code between backticks, in turn, text first. A backtick without a partner in its
/// paragraph is text.
fn split_code(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut rest = text;
    let mut searched = 0;
    while let Some(open) = rest[searched..].find('`').map(|at| at + searched) {
        let inside = &rest[open + 1..];
        let paragraph = inside.find("\n\n").unwrap_or(inside.len());
        match inside[..paragraph].find('`') {
            Some(close) => {
                parts.push(&rest[..open]);
                parts.push(&inside[..close]);
                rest = &inside[close + 1..];
                searched = 0;
            }
            None => searched = open + 1,
        }
    }
    parts.push(rest);
    parts
}

/// Whether a word of prose is a name or a path: `tests/book`, `lib.rs`, `crate::run`, `block_sum`,
/// `{bytes}`.
fn looks_like_code(word: &str) -> bool {
    let word = word.trim_matches(|c: char| !c.is_alphanumeric() && c != '_' && c != '}');
    let inner_dot = word.split_once('.').is_some_and(|(before, after)| {
        before.ends_with(|c: char| c.is_alphabetic())
            && after.starts_with(|c: char| c.is_alphabetic())
    });
    inner_dot || word.contains(['_', '/', '}']) || word.contains("::")
}

fn blank(c: char) -> char {
    if c.is_whitespace() { c } else { ' ' }
}

fn is_rust(language: &str, bare_is_rust: bool) -> bool {
    match language {
        "" => bare_is_rust,
        language => {
            let first = language.split(',').next().unwrap_or_default();
            ["rust", "ignore", "no_run", "should_panic", "compile_fail"].contains(&first)
        }
    }
}

fn is_table(line: &str) -> bool {
    line.starts_with('|')
}

/// For each line of a document whether it is in a fence of code.
fn fenced_lines(text: &str) -> Vec<bool> {
    let mut inside = false;
    text.split('\n')
        .map(|line| {
            let is_fence = line.trim_start().starts_with("```");
            inside ^= is_fence;
            inside || is_fence
        })
        .collect()
}

fn offset_of_column(line: &str, column: usize) -> usize {
    line.char_indices()
        .nth(column)
        .map_or(line.len(), |(offset, _)| offset)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(scan: &Scan) -> Vec<&str> {
        scan.identifiers.iter().map(|i| i.name.as_str()).collect()
    }

    fn texts(scan: &Scan, kind: Kind) -> Vec<String> {
        let of_kind = scan.prose.iter().filter(|prose| prose.kind == kind);
        of_kind
            .map(|prose| prose.text.split_whitespace().collect::<Vec<_>>().join(" "))
            .collect()
    }

    #[test]
    fn comments_strings_and_identifiers_are_told_apart() {
        let text = "//! A whole\n//! file.\nfn f<'a>(x: &'a str) -> char { // short\n    g(\"a \\\"word\\\"\", r#\"raw \"one\"\"#, '\"', '\\''); /* block /* nested */ end */ r#type }";
        let scan = scan("a.rs", text).unwrap();
        assert_eq!(
            texts(&scan, Kind::Comment),
            ["A whole file.", "short", "block /* nested */ end"]
        );
        assert_eq!(texts(&scan, Kind::String), ["a word", "raw \"one\""]);
        let expected = ["fn", "f", "a", "x", "a", "str", "char", "g", "type"];
        assert_eq!(names(&scan), expected);
    }

    #[test]
    fn code_in_prose_is_code() {
        let text = "/// Uses [`Spot`] of `C`, see host/run.rs and `a_b`.\nstruct S;";
        let scan = scan("a.rs", text).unwrap();
        assert_eq!(texts(&scan, Kind::Comment), ["Uses [ ] of C , see and ."]);
        assert_eq!(names(&scan), ["Spot", "host", "run", "rs", "a_b", "S"]);
        assert!(scan.identifiers[5].defines_type && !scan.identifiers[0].defines_type);
    }

    #[test]
    fn fences_of_rust_are_rust() {
        let text = "Before.\n\n```rust,ignore\nlet ring = 1; // inside\n```\n\nAfter.\n\n```console\n$ run\n```\n";
        let scan = scan("a.md", text).unwrap();
        assert_eq!(names(&scan), ["let", "ring"]);
        assert_eq!(scan.identifiers[1].line, 4);
        assert_eq!(texts(&scan, Kind::Comment), ["inside"]);
        let last = scan.prose.last().unwrap();
        assert!(last.text.contains("After") && last.text.contains("$ run"));
        let before = last.text.find("After").unwrap();
        assert_eq!(last.line + last.text[..before].matches('\n').count(), 7);
    }

    #[test]
    fn hash_comments_join() {
        let text = "# first\n# second\nkey = \"some text\" # third\n";
        let scan = scan("a.toml", text).unwrap();
        assert_eq!(texts(&scan, Kind::Comment), ["first second", "third"]);
        assert_eq!(texts(&scan, Kind::String), ["some text"]);
        assert_eq!(names(&scan), ["key"]);
    }

    #[test]
    fn long_lines_are_noted_where_they_could_be_shorter() {
        let long = "word ".repeat(30);
        let text = format!(
            "// {long}\n// | {long}\n// http://x {long}\nf(\"{long}\");\n// short\nlet x = {long};\n"
        );
        assert_eq!(scan("a.rs", &text).unwrap().long_lines, [1, 6]);
        let text = format!("{long}\n| {long}\n```\n{long}\n```\n{long}\n");
        assert_eq!(scan("a.md", &text).unwrap().long_lines, [1, 6]);
    }
}
