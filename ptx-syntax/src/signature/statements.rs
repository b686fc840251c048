//! The statements of a body, without the grammar of each.

use crate::ast::Span;
use crate::lexer::{Lexer, Token};

/// An instruction or a directive of a body, of any scope within it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Statement<'a> {
    text: &'a str,
    /// The opcode with its modifiers, or the directive.
    pub word: &'a str,
    /// Where the word begins.
    pub start: usize,
}

/// Goes through a body. It ends at the end of the body, or where the text cannot be split into
/// tokens.
pub(super) struct Statements<'a> {
    text: &'a str,
    lexer: Lexer<'a>,
    end: usize,
    token: Token,
    span: Span,
}

impl<'a> Statement<'a> {
    /// Whether this is the instruction `opcode`, or one with more modifiers.
    pub fn is(&self, opcode: &str) -> bool {
        let rest = self.word.strip_prefix(opcode);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    }

    /// The function that this `call` names: `call (results), callee, (arguments)`. `None` where it
    /// is a register.
    pub fn callee(&self) -> Option<&'a str> {
        let mut lexer = Lexer::new(self.text, self.start + self.word.len());
        let (mut token, mut span) = lexer.next().ok()?;
        if token == Token::Punctuation(b'(') {
            while token != Token::Punctuation(b')') {
                (token, _) = lexer.next().ok()?;
                if matches!(token, Token::End | Token::Punctuation(b';')) {
                    return None;
                }
            }
            // The comma.
            lexer.next().ok()?;
            (token, span) = lexer.next().ok()?;
        }
        let name = span.of(self.text);
        (token == Token::Word && !name.starts_with('%')).then_some(name)
    }
}

impl<'a> Statements<'a> {
    /// Those between the braces of `body`.
    pub fn new(text: &'a str, body: Span) -> Self {
        let mut statements = Statements {
            text,
            lexer: Lexer::new(text, body.start as usize),
            end: body.end as usize,
            token: Token::End,
            span: Span::default(),
        };
        statements.advance();
        statements
    }

    fn advance(&mut self) {
        (self.token, self.span) = match self.lexer.next() {
            Ok((token, span)) if span.end as usize <= self.end => (token, span),
            _ => (Token::End, Span::default()),
        };
    }

    fn at(&self, punctuation: u8) -> bool {
        self.token == Token::Punctuation(punctuation)
    }

    fn eat(&mut self, punctuation: u8) -> bool {
        let found = self.at(punctuation);
        if found {
            self.advance();
        }
        found
    }

    /// `file line column [, function_name label [+offset]] [, inlined_at file line column]` of a
    /// `.loc`, and what follows a `.file`: neither ends with a semicolon.
    fn skip_source_place(&mut self) {
        loop {
            match self.token {
                Token::Integer(_) | Token::Text | Token::Punctuation(b'+') => self.advance(),
                Token::Punctuation(b',') => {
                    self.advance();
                    if self.token == Token::Word {
                        let label_follows = self.span.of(self.text) == "function_name";
                        self.advance();
                        if label_follows && self.token == Token::Word {
                            self.advance();
                        }
                    }
                }
                _ => return,
            }
        }
    }
}

impl<'a> Iterator for Statements<'a> {
    type Item = Statement<'a>;

    fn next(&mut self) -> Option<Statement<'a>> {
        loop {
            if self.token == Token::End {
                return None;
            }
            // The guard `@p` or `@!p`.
            if self.eat(b'@') {
                self.eat(b'!');
                self.advance();
            }
            if self.token != Token::Word {
                self.advance();
                continue;
            }
            let (word, start) = (self.span.of(self.text), self.span.start as usize);
            self.advance();
            if self.eat(b':') {
                continue;
            }
            if matches!(word, ".loc" | ".file") {
                self.skip_source_place();
                continue;
            }
            while !self.at(b';') && self.token != Token::End {
                self.advance();
            }
            let text = self.text;
            return Some(Statement { text, word, start });
        }
    }
}
