//! Splits PTX text into tokens.

use crate::ast::Span;
use crate::parser::{Error, ParseError, Result, position};

/// What a token is; its text is found through its span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Token {
    /// An identifier, a directive or a dotted opcode: `%r1`, `.reg`, `ld.global.nc.b32`, `%tid.x`.
    Word,
    /// An integer literal, as its 64-bit pattern.
    Integer(u64),
    /// A 32-bit float literal (`0f3F800000`), as its bits.
    Float32(u32),
    /// A 64-bit float literal (`0d…` or decimal), as its bits.
    Float64(u64),
    /// A quoted string; the span holds the quotes.
    Text,
    /// One character of punctuation.
    Punctuation(u8),
    /// The end of the text.
    End,
}

/// Reads tokens one at a time.
pub struct Lexer<'a> {
    text: &'a str,
    at: usize,
}

/// What a byte may be: bits of the constants below.
const KINDS: [u8; 256] = {
    let mut table = [0; 256];
    let mut byte = 0u8;
    loop {
        let kind = match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'_' | b'$' | b'.' => WORD_START | WORD,
            // Begins a name, and is in none: `add.s32%r1` are two words.
            b'%' => WORD_START,
            b'0'..=b'9' => WORD | DIGIT,
            b'{' | b'}' | b',' | b';' | b'[' | b']' | b':' | b'@' | b'+' | b'-' => PUNCTUATION,
            b' ' | b'\t' | b'\r' | b'\n' => BLANK,
            _ => 0,
        };
        table[byte as usize] = if is_in_body(byte) {
            kind | IN_BODY
        } else {
            kind
        };
        if byte == u8::MAX {
            break table;
        }
        byte += 1;
    }
};

const WORD_START: u8 = 1;
const WORD: u8 = 2;
const DIGIT: u8 = 4;
/// Some of the characters that are tokens, and begin no comment.
const PUNCTUATION: u8 = 16;
const BLANK: u8 = 32;
/// What [`is_in_body`] says.
const IN_BODY: u8 = 8;

/// A brace, or what begins something that may hold braces: by these [`Lexer::skip_braces`] finds
/// the end of a body. Without branches, so that it becomes comparisons of vectors.
const fn is_in_body(byte: u8) -> bool {
    (byte == b'{') | (byte == b'}') | (byte == b'"') | (byte == b'/') | (byte == b'#')
}

fn is(byte: u8, kind: u8) -> bool {
    KINDS[usize::from(byte)] & kind != 0
}

/// Bytes of a body that are looked at together.
const CHUNK: usize = 32;

fn any_in_body(chunk: &[u8; CHUNK]) -> bool {
    chunk.map(|byte| u8::from(is_in_body(byte))) != [0; CHUNK]
}

impl<'a> Lexer<'a> {
    /// Reads from a byte position on, or from the next one where a character begins.
    pub fn new(text: &'a str, at: usize) -> Self {
        let at = (at..text.len()).find(|&at| text.is_char_boundary(at));
        Lexer {
            text,
            at: at.unwrap_or(text.len()),
        }
    }

    /// The byte position behind the last token.
    pub fn at(&self) -> usize {
        self.at
    }

    fn byte(&self, at: usize) -> u8 {
        self.text.as_bytes().get(at).copied().unwrap_or(0)
    }

    fn error(&self, at: usize, message: impl Into<String>) -> Error {
        let (line, column) = position(self.text, at);
        Error::new(ParseError {
            line,
            column,
            message: message.into(),
        })
    }

    fn skip_blanks(&mut self) {
        while is(self.byte(self.at), BLANK) {
            self.at += 1;
        }
    }

    /// Skips comments, and blanks in front of and behind them.
    fn skip_comments(&mut self) -> Result<()> {
        loop {
            self.skip_blanks();
            match self.byte(self.at) {
                b'/' if self.byte(self.at + 1) == b'/' => self.skip_line(),
                // A line marker of the C preprocessor.
                b'#' => self.skip_line(),
                b'/' if self.byte(self.at + 1) == b'*' => {
                    match self.text[self.at + 2..].find("*/") {
                        Some(length) => self.at += length + 4,
                        None => return Err(self.error(self.at, "this comment has no end `*/`")),
                    }
                }
                _ => return Ok(()),
            }
        }
    }

    fn skip_line(&mut self) {
        self.at = self.text[self.at..]
            .find('\n')
            .map_or(self.text.len(), |length| self.at + length);
    }

    /// The next token and where it stands. At the end of the text it is [`Token::End`], again and
    /// again.
    ///
    /// # Errors
    /// A comment or a string without an end, a malformed number, or a character that PTX does not
    /// know. The lexer then stays in front of it.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> Result<(Token, Span)> {
        self.token()
    }

    /// As [`Lexer::next`], for the parser: as a call of its own it makes parsing half as slow
    /// again.
    #[inline(always)]
    pub(crate) fn token(&mut self) -> Result<(Token, Span)> {
        self.skip_blanks();
        if !is(self.byte(self.at), WORD_START | WORD | PUNCTUATION) {
            self.skip_comments()?;
        }
        let start = self.at;
        if start >= self.text.len() {
            return Ok((Token::End, Span::new(start, start)));
        }
        let first = self.byte(start);
        let token = if is(first, DIGIT) {
            self.number()?
        } else if is(first, WORD_START) {
            self.word();
            Token::Word
        } else if first == b'"' {
            self.string()?;
            Token::Text
        } else if first.is_ascii_graphic() {
            self.at += 1;
            Token::Punctuation(first)
        } else {
            let character = self.text[start..].chars().next().unwrap_or('\0');
            return Err(self.error(start, format!("unexpected character {:?}", character)));
        };
        Ok((token, Span::new(start, self.at)))
    }

    fn string(&mut self) -> Result<()> {
        let start = self.at;
        match self.text[start + 1..].find(['"', '\n']) {
            Some(length) if self.byte(start + 1 + length) == b'"' => self.at += length + 2,
            _ => return Err(self.error(start, "this string has no end quote")),
        }
        Ok(())
    }

    /// Goes on behind the brace that closes the one at `open`, which must be one.
    pub(crate) fn skip_braces(&mut self, open: usize) -> Result<()> {
        self.at = open;
        let mut depth = 0u32;
        loop {
            let rest = &self.text.as_bytes()[self.at..];
            // Whole chunks are looked at by vector instructions.
            let (chunks, _) = rest.as_chunks();
            let without = chunks.iter().take_while(|chunk| !any_in_body(chunk));
            let skipped = CHUNK * without.count();
            let found = rest[skipped..].iter().position(|&byte| is(byte, IN_BODY));
            let Some(length) = found.map(|length| skipped + length) else {
                let end = self.text.len();
                return Err(self.error(end, "expected `}`, found the end of the text"));
            };
            self.at += length;
            match self.byte(self.at) {
                b'{' => depth += 1,
                b'}' if depth == 1 => {
                    self.at += 1;
                    return Ok(());
                }
                b'}' => depth -= 1,
                b'"' => {
                    self.string()?;
                    continue;
                }
                _ => {
                    let start = self.at;
                    self.skip_comments()?;
                    if self.at != start {
                        continue;
                    }
                }
            }
            self.at += 1;
        }
    }

    fn word(&mut self) {
        self.at += 1;
        loop {
            let rest = &self.text.as_bytes()[self.at..];
            let end = rest.iter().position(|&byte| !is(byte, WORD));
            self.at += end.unwrap_or(rest.len());
            if self.byte(self.at) == b':'
                && self.byte(self.at + 1) == b':'
                && is(self.byte(self.at + 2), WORD)
            {
                // A qualified modifier such as `L1::no_allocate`.
                self.at += 2;
            } else {
                return;
            }
        }
    }

    /// Decimal numbers with blanks in front of each, if that is what stands here: their values.
    /// Else nothing is read.
    pub(crate) fn small_numbers<const N: usize>(&mut self) -> Option<[u32; N]> {
        let start = self.at;
        let mut values = [0; N];
        for value in &mut values {
            self.skip_blanks();
            let first = self.at;
            while is(self.byte(self.at), DIGIT) && self.at - first < 9 {
                *value = 10 * *value + u32::from(self.byte(self.at) - b'0');
                self.at += 1;
            }
            let is_octal = self.byte(first) == b'0' && self.at - first > 1;
            if self.at == first || is_octal || is(self.byte(self.at), WORD) {
                self.at = start;
                return None;
            }
        }
        Some(values)
    }

    fn number(&mut self) -> Result<Token> {
        let start = self.at;
        // Most numbers have a few decimal digits and nothing else.
        let mut value = 0;
        while is(self.byte(self.at), DIGIT) && self.at - start < 18 {
            value = 10 * value + u64::from(self.byte(self.at) - b'0');
            self.at += 1;
        }
        let is_decimal = self.byte(start) != b'0' || self.at - start == 1;
        if is_decimal && !is(self.byte(self.at), WORD) {
            return Ok(Token::Integer(value));
        }
        while is(self.byte(self.at), WORD) {
            self.at += 1;
        }
        let body = &self.text[start..self.at];
        let lower = body.to_ascii_lowercase();
        let invalid = || self.error(start, format!("`{body}` is not a number"));
        let integer = |digits: &str, radix: u32| {
            let digits = digits.strip_suffix('u').unwrap_or(digits);
            u64::from_str_radix(digits, radix)
                .map(Token::Integer)
                .map_err(|_| invalid())
        };
        if let Some(digits) = lower.strip_prefix("0f") {
            if digits.len() != 8 {
                return Err(invalid());
            }
            return u32::from_str_radix(digits, 16)
                .map(Token::Float32)
                .map_err(|_| invalid());
        }
        if let Some(digits) = lower.strip_prefix("0d") {
            if digits.len() != 16 {
                return Err(invalid());
            }
            return u64::from_str_radix(digits, 16)
                .map(Token::Float64)
                .map_err(|_| invalid());
        }
        if let Some(digits) = lower.strip_prefix("0x") {
            return integer(digits, 16);
        }
        if let Some(digits) = lower.strip_prefix("0b") {
            return integer(digits, 2);
        }
        if lower.contains(['.', 'e']) {
            let signed_exponent = lower.ends_with('e') && matches!(self.byte(self.at), b'+' | b'-');
            if signed_exponent {
                self.at += 1;
                while self.byte(self.at).is_ascii_digit() {
                    self.at += 1;
                }
            }
            let value: f64 = self.text[start..self.at]
                .parse()
                .map_err(|_| self.error(start, format!("`{body}` is not a number")))?;
            return Ok(Token::Float64(value.to_bits()));
        }
        match lower.strip_prefix('0') {
            Some(digits) if !digits.is_empty() && digits != "u" => integer(digits, 8),
            _ => integer(&lower, 10),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(text: &str) -> Vec<(Token, &str)> {
        let mut lexer = Lexer::new(text, 0);
        let mut all = Vec::new();
        loop {
            let (token, span) = lexer.next().expect("valid text");
            if token == Token::End {
                return all;
            }
            all.push((token, span.of(text)));
        }
    }

    #[test]
    fn words_keep_their_dots_and_qualifiers() {
        let all = tokens("ld.global.L1::no_allocate.v4.f32 {%a}, [%tid.x]; L:");
        let words: Vec<&str> = all.iter().map(|(_, text)| *text).collect();
        assert_eq!(
            words,
            [
                "ld.global.L1::no_allocate.v4.f32",
                "{",
                "%a",
                "}",
                ",",
                "[",
                "%tid.x",
                "]",
                ";",
                "L",
                ":"
            ]
        );
    }

    #[test]
    fn a_percent_sign_begins_a_word() {
        let all = tokens("add.s32%r1,%r2;");
        let words: Vec<&str> = all.iter().map(|(_, text)| *text).collect();
        assert_eq!(words, ["add.s32", "%r1", ",", "%r2", ";"]);
    }

    #[test]
    fn numbers_of_every_base() {
        let values: Vec<Token> =
            tokens("10 0x1F 017 0b101 42U 0 0f3F800000 0d3FF0000000000000 1.5e-1")
                .into_iter()
                .map(|(token, _)| token)
                .collect();
        assert_eq!(
            values,
            [
                Token::Integer(10),
                Token::Integer(31),
                Token::Integer(15),
                Token::Integer(5),
                Token::Integer(42),
                Token::Integer(0),
                Token::Float32(0x3f80_0000),
                Token::Float64(0x3ff0_0000_0000_0000),
                Token::Float64(0.15f64.to_bits()),
            ]
        );
    }

    #[test]
    fn comments_are_blanks_and_must_end() {
        assert_eq!(tokens("a // b\n/* c\n d */ e").len(), 2);
        let error = Lexer::new("  /* open", 0).next().expect_err("no end");
        assert_eq!((error.line, error.column), (1, 3));
    }
}
