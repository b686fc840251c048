//! The tokens of Rust that matter for counting words: comments, strings, identifiers, and what is
//! none of these.

/// A place in a text, with its line.
pub struct Scanner<'a> {
    text: &'a str,
    /// Bytes passed.
    pub at: usize,
    /// The line reached.
    pub line: usize,
}

impl<'a> Scanner<'a> {
    /// At the beginning of a text, which is on line `line`.
    pub fn new(text: &'a str, line: usize) -> Self {
        Self { text, at: 0, line }
    }

    /// The next character.
    pub fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    /// Passes `bytes` bytes and returns them.
    pub fn advance(&mut self, bytes: usize) -> &'a str {
        let end = (self.at + bytes).min(self.text.len());
        let passed = &self.text[self.at..end];
        self.line += passed.matches('\n').count();
        self.at = end;
        passed
    }

    /// The text of a comment to the end of the line, without its marker.
    pub fn line_comment(&mut self) -> &'a str {
        let rest = &self.text[self.at..];
        let length = rest.find('\n').unwrap_or(rest.len());
        let comment = self.advance(length);
        comment.trim_start_matches('/').trim_start_matches('!')
    }

    /// The text of a comment in `/* */`, which may be nested.
    pub fn block_comment(&mut self) -> &'a str {
        let start = self.at;
        let mut depth = 0;
        while self.at < self.text.len() {
            let rest = &self.text[self.at..];
            if rest.starts_with("/*") {
                depth += 1;
                self.advance(2);
            } else if rest.starts_with("*/") {
                depth -= 1;
                self.advance(2);
                if depth == 0 {
                    break;
                }
            } else {
                let next = rest.chars().next().map_or(1, char::len_utf8);
                self.advance(next);
            }
        }
        let comment = &self.text[start..self.at];
        let inside = comment.strip_prefix("/*").unwrap_or(comment);
        inside.strip_suffix("*/").unwrap_or(inside)
    }

    /// The inside of a string literal that begins here, and whether it is raw.
    pub fn string(&mut self) -> Option<(&'a str, bool)> {
        let rest = &self.text[self.at..];
        let prefix = rest
            .find(|c: char| !matches!(c, 'b' | 'c' | 'r'))
            .filter(|&length| length <= 2)?;
        let is_raw = rest[..prefix].ends_with('r');
        let behind = &rest[prefix..];
        let hashes = behind.len() - behind.trim_start_matches('#').len();
        if !behind[hashes..].starts_with('"') || (hashes > 0 && !is_raw) {
            return None;
        }
        let begin = prefix + hashes + 1;
        let length = if is_raw {
            let end = format!("\"{}", "#".repeat(hashes));
            rest[begin..].find(&end).unwrap_or(rest.len() - begin)
        } else {
            end_of_string(&rest[begin..])
        };
        self.advance(begin + length + 1 + hashes);
        Some((&rest[begin..begin + length], is_raw))
    }

    /// An identifier, without `r#`.
    pub fn identifier(&mut self) -> &'a str {
        let rest = &self.text[self.at..];
        let end = |text: &str| {
            text.find(|c: char| c != '_' && !c.is_alphanumeric())
                .unwrap_or(text.len())
        };
        if let Some(raw) = rest.strip_prefix("r#") {
            self.advance(2);
            return self.advance(end(raw));
        }
        self.advance(end(rest))
    }

    /// A character, or a lifetime, of which the name is left to be read.
    pub fn quote(&mut self) {
        let rest = &self.text[self.at + 1..];
        let mut chars = rest.chars();
        match (chars.next(), chars.next()) {
            (Some('\\'), Some(escaped)) => {
                let behind = 1 + escaped.len_utf8();
                let close = rest[behind..]
                    .find('\'')
                    .map_or(rest.len(), |end| behind + end);
                self.advance(close + 2);
            }
            (Some(c), Some('\'')) => {
                self.advance(c.len_utf8() + 2);
            }
            _ => {
                self.advance(1);
            }
        }
    }

    /// Passes a number with its suffix.
    pub fn number(&mut self) {
        let rest = &self.text[self.at..];
        let end = rest.find(|c: char| c != '_' && !c.is_alphanumeric());
        self.advance(end.unwrap_or(rest.len()));
    }
}

fn end_of_string(text: &str) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return at,
            _ => {}
        }
    }
    text.len()
}
