//! Source positions: `.file`, `.loc` and the debug sections.

use super::{Parser, Result};
use crate::ast::{Location, Span};
use crate::lexer::Token;

impl Parser<'_> {
    /// `.file index "name" [, timestamp, size]`
    pub(super) fn file(&mut self) -> Result<()> {
        self.advance()?;
        let index = self.integer32("a file index")?;
        if self.token != Token::Text {
            return self.expected("a file name in quotes");
        }
        let name = Span::new(self.span.start as usize + 1, self.span.end as usize - 1);
        self.lines.files.push((index, name));
        self.advance()?;
        while self.eat(b',')? {
            self.integer("an integer")?;
        }
        Ok(())
    }

    /// `.loc file line column [, function_name label [+offset], inlined_at file line column]`
    pub(super) fn location(&mut self) -> Result<()> {
        let [file, line, column] = self.place()?;
        let mut location = Location {
            file,
            line,
            column,
            function: None,
            inlined_at: None,
        };
        while self.eat(b',')? {
            if self.eat_word("function_name")? {
                location.function = Some(self.name("a label")?);
                if self.eat(b'+')? {
                    self.integer("an offset")?;
                }
            } else if self.at_word("inlined_at") {
                let call = self.place()?;
                location.inlined_at = Some(self.call_site(call));
            } else {
                return self.expected("`function_name` or `inlined_at`");
            }
        }
        self.location = self.lines.locations.len() as u32;
        self.lines.locations.push(location);
        Ok(())
    }

    /// The file, the line and the column behind the current word.
    fn place(&mut self) -> Result<[u32; 3]> {
        let usual = self.lexer.small_numbers();
        self.advance()?;
        match usual {
            Some(place) => Ok(place),
            None => Ok([
                self.integer32("a file index")?,
                self.integer32("a line")?,
                self.integer32("a column")?,
            ]),
        }
    }

    /// The entry of the place that a function was inlined into: compilers emit its own `.loc`
    /// first, with the rest of the chain.
    fn call_site(&mut self, call: [u32; 3]) -> u32 {
        let new = self.lines.locations.iter().enumerate().skip(self.unmapped);
        for (index, location) in new {
            let key = [location.file, location.line, location.column];
            self.function_locations.insert(key, index as u32);
        }
        self.unmapped = self.lines.locations.len();
        if let Some(&known) = self.function_locations.get(&call) {
            return known;
        }
        let index = self.lines.locations.len() as u32;
        self.lines.locations.push(Location {
            file: call[0],
            line: call[1],
            column: call[2],
            function: None,
            inlined_at: None,
        });
        index
    }

    /// `.section name { … }`: only the strings of `.debug_str` are kept.
    pub(super) fn section(&mut self) -> Result<()> {
        self.advance()?;
        let strings = self.at_word(".debug_str");
        if self.token != Token::Word {
            return self.expected("a section name");
        }
        self.advance()?;
        self.expect(b'{')?;
        let mut label = None;
        let mut bytes = Vec::new();
        while !self.at(b'}') {
            match self.token {
                Token::End | Token::Punctuation(b'{') => {
                    return self.expected("`}` at the end of the section");
                }
                Token::Integer(byte) if strings => bytes.push(byte as u8),
                Token::Word if strings && !self.current().starts_with('.') => {
                    self.end_debug_string(label.replace(self.span), &mut bytes);
                }
                _ => {}
            }
            self.advance()?;
        }
        self.end_debug_string(label, &mut bytes);
        self.expect(b'}')
    }

    fn end_debug_string(&mut self, label: Option<Span>, bytes: &mut Vec<u8>) {
        if let Some(label) = label {
            let end = bytes.iter().position(|&byte| byte == 0);
            let text = String::from_utf8_lossy(&bytes[..end.unwrap_or(bytes.len())]);
            self.tree.debug_strings.push((label, text.into_owned()));
        }
        bytes.clear();
    }
}
