//! Recursive descent over PTX text: one token of lookahead, whole modules.

mod constant;
mod declaration;
mod section;
mod statement;

use crate::ast::{Body, LineTable, NO_LOCATION, Operand, Span, Tree, Variable};
use crate::lexer::{Lexer, Token};
use rustc_hash::FxHashMap;

/// PTX text that is not well formed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{line}:{column}: {message}")]
pub struct ParseError {
    /// Line of the text, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
    /// What was expected or wrong.
    pub message: String,
}

/// Boxed, so that what goes well costs little.
pub(crate) type Error = Box<ParseError>;

pub(crate) type Result<T> = std::result::Result<T, Error>;

/// Line and column of a byte position, both from 1. The column counts characters.
pub fn position(text: &str, at: usize) -> (u32, u32) {
    let before = &text.as_bytes()[..at.min(text.len())];
    let line_start = before
        .iter()
        .rposition(|&byte| byte == b'\n')
        .map_or(0, |newline| newline + 1);
    let line = before.iter().filter(|&&byte| byte == b'\n').count() + 1;
    let column = String::from_utf8_lossy(&before[line_start..])
        .chars()
        .count()
        + 1;
    (line as u32, column as u32)
}

/// Scopes nested deeper than this are refused, so that recursion stays bounded.
const MAX_NESTING: u32 = 64;

pub(crate) struct Parser<'a> {
    text: &'a str,
    lexer: Lexer<'a>,
    token: Token,
    span: Span,
    previous_end: u32,
    nesting: u32,
    tree: Tree,
    bodies: Bodies,
    lines: LineTable,
    operands: Vec<Operand>,
    elements: Vec<Operand>,
    /// Elements of operands whose end has not been found yet.
    open_elements: Vec<Operand>,
    branch_targets: Vec<Span>,
    symbols: Vec<Span>,
    location: u32,
    /// Line table entries of the current function, to resolve `inlined_at`: those in front of
    /// `unmapped`.
    function_locations: FxHashMap<[u32; 3], u32>,
    unmapped: usize,
}

/// What to do with the bodies of functions, of which a tree holds only where they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bodies {
    /// They must be well formed.
    Check,
    /// Their ends are looked for, and nothing else.
    Skip,
}

/// Parses a module. With [`Bodies::Skip`] this takes about a fifth of the time: [`parse_body`]
/// reads the body of a function when it is wanted.
///
/// # Errors
/// The first place where the text is not well formed. Boxed, so that what goes well costs little.
pub fn parse(text: &str, bodies: Bodies) -> Result<Tree> {
    check_length(text)?;
    let mut parser = Parser::new(text, 0, bodies, LineTable::default());
    parser.advance()?;
    parser.module()?;
    parser.tree.files = parser.lines.files;
    Ok(parser.tree)
}

/// Refuses texts whose positions do not fit 32 bits.
pub(crate) fn check_length(text: &str) -> Result<()> {
    if u32::try_from(text.len()).is_err() {
        return Err(Error::new(ParseError {
            line: 1,
            column: 1,
            message: "PTX texts of 4 GiB and more are not supported".to_string(),
        }));
    }
    Ok(())
}

/// Parses the parameter list whose parenthesis opens at a byte position.
pub(crate) fn parse_parameters(text: &str, at: usize) -> Result<Vec<Variable>> {
    let mut parser = Parser::new(text, at, Bodies::Skip, LineTable::default());
    parser.advance()?;
    parser.parameters()
}

/// Parses the declaration of variables that begins at a byte position.
pub(crate) fn parse_variables(text: &str, at: usize) -> Result<Vec<Variable>> {
    let mut parser = Parser::new(text, at, Bodies::Skip, LineTable::default());
    parser.advance()?;
    parser.variables(false)
}

/// Parses a function's body, [`Function::body`](crate::ast::Function::body) of a tree of the same
/// text. Its lines are added to a line table, which the bodies of a module may share.
///
/// # Errors
/// The first place where the body is not well formed.
pub fn parse_body(text: &str, body: Span, lines: &mut LineTable) -> Result<Body> {
    let start = body.start as usize;
    let mut parser = Parser::new(text, start, Bodies::Check, std::mem::take(lines));
    parser.advance()?;
    // Most statements have about 32 bytes.
    let expected = body.of(text).len() / 32;
    let mut statements = Vec::with_capacity(expected);
    parser.operands = Vec::with_capacity(2 * expected);
    parser.scope(&mut statements)?;
    *lines = parser.lines;
    Ok(Body {
        statements,
        operands: parser.operands,
        elements: parser.elements,
        branch_targets: parser.branch_targets,
        symbols: parser.symbols,
    })
}

impl<'a> Parser<'a> {
    fn new(text: &'a str, start: usize, bodies: Bodies, lines: LineTable) -> Self {
        Parser {
            text,
            lexer: Lexer::new(text, start),
            token: Token::End,
            span: Span::default(),
            previous_end: 0,
            nesting: 0,
            tree: Tree::default(),
            bodies,
            operands: Vec::new(),
            elements: Vec::new(),
            open_elements: Vec::new(),
            branch_targets: Vec::new(),
            symbols: Vec::new(),
            location: NO_LOCATION,
            unmapped: lines.locations.len(),
            function_locations: FxHashMap::default(),
            lines,
        }
    }

    fn advance(&mut self) -> Result<()> {
        self.previous_end = self.span.end;
        (self.token, self.span) = self.lexer.token()?;
        Ok(())
    }

    /// Of directives that stand together without blanks, as in `.reg.b32`, the first becomes the
    /// current token, and the others follow.
    fn split_directives(&mut self) -> Result<()> {
        if self.token != Token::Word || !self.at_directive() {
            return Ok(());
        }
        if let Some(dot) = self.current().get(1..).and_then(|rest| rest.find('.')) {
            let end = self.span.start as usize + 1 + dot;
            self.span = Span::new(self.span.start as usize, end);
            self.lexer = Lexer::new(self.text, end);
        }
        Ok(())
    }

    fn current(&self) -> &'a str {
        self.span.of(self.text)
    }

    /// Whether the current token, if it is a word, begins with a dot.
    fn at_directive(&self) -> bool {
        self.begins_with(self.span, b'.')
    }

    fn begins_with(&self, span: Span, byte: u8) -> bool {
        self.text.as_bytes().get(span.start as usize) == Some(&byte)
    }

    fn error_at(&self, span: Span, message: impl Into<String>) -> Error {
        let (line, column) = position(self.text, span.start as usize);
        Error::new(ParseError {
            line,
            column,
            message: message.into(),
        })
    }

    /// "expected X, found Y" at the current token.
    fn expected<T>(&self, what: &str) -> Result<T> {
        let found = match self.token {
            Token::End => "the end of the text".to_string(),
            _ => format!("`{}`", self.current()),
        };
        Err(self.error_at(self.span, format!("expected {what}, found {found}")))
    }

    fn at(&self, punctuation: u8) -> bool {
        self.token == Token::Punctuation(punctuation)
    }

    fn at_word(&self, word: &str) -> bool {
        self.token == Token::Word && self.current() == word
    }

    fn eat(&mut self, punctuation: u8) -> Result<bool> {
        let found = self.at(punctuation);
        if found {
            self.advance()?;
        }
        Ok(found)
    }

    fn eat_word(&mut self, word: &str) -> Result<bool> {
        let found = self.at_word(word);
        if found {
            self.advance()?;
        }
        Ok(found)
    }

    fn expect(&mut self, punctuation: u8) -> Result<()> {
        if self.eat(punctuation)? {
            Ok(())
        } else {
            self.expected(&format!("`{}`", punctuation as char))
        }
    }

    /// An identifier, not a directive.
    fn name(&mut self, what: &str) -> Result<Span> {
        if self.token == Token::Word && !self.at_directive() {
            let span = self.span;
            self.advance()?;
            Ok(span)
        } else {
            self.expected(what)
        }
    }

    fn integer(&mut self, what: &str) -> Result<u64> {
        match self.token {
            Token::Integer(value) => {
                self.advance()?;
                Ok(value)
            }
            _ => self.expected(what),
        }
    }

    fn integer32(&mut self, what: &str) -> Result<u32> {
        let span = self.span;
        let value = self.integer(what)?;
        u32::try_from(value)
            .map_err(|_| self.error_at(span, format!("{value} is too large for {what}")))
    }

    fn module(&mut self) -> Result<()> {
        self.header()?;
        while self.token != Token::End {
            if self.token != Token::Word {
                if self.eat(b';')? {
                    continue;
                }
                if self.at(b'@') && self.rest().starts_with("@@DWARF") {
                    // Debug information, as old versions have it.
                    let line = self.rest().find('\n').unwrap_or(self.rest().len());
                    self.lexer = Lexer::new(self.text, self.span.start as usize + line);
                    self.advance()?;
                    continue;
                }
                return self.expected("a directive such as `.visible` or `.entry`");
            }
            match self.current() {
                ".file" => self.file()?,
                ".loc" => self.location()?,
                ".section" => self.section()?,
                ".pragma" => self.pragma()?,
                ".alias" => self.alias()?,
                _ => self.declaration()?,
            }
        }
        Ok(())
    }

    /// The text from the current token on.
    fn rest(&self) -> &'a str {
        self.text.get(self.span.start as usize..).unwrap_or("")
    }

    /// `.alias name, function;`
    fn alias(&mut self) -> Result<()> {
        self.advance()?;
        let name = self.name("a name")?;
        self.expect(b',')?;
        let function = self.name("a function's name")?;
        self.expect(b';')?;
        self.tree.aliases.push((name, function));
        Ok(())
    }

    fn header(&mut self) -> Result<()> {
        if !self.eat_word(".version")? {
            return self.expected("`.version` at the start of the module");
        }
        let version = self.current();
        let parts = version.split_once('.').and_then(|(major, minor)| {
            Some((major.parse::<u32>().ok()?, minor.parse::<u32>().ok()?))
        });
        match parts {
            Some(parts) => self.tree.version = parts,
            None => return self.expected("a version such as `7.0`"),
        }
        self.advance()?;
        if !self.eat_word(".target")? {
            return self.expected("`.target`");
        }
        self.tree.target = self
            .name("a target such as `sm_70`")?
            .of(self.text)
            .to_string();
        while self.eat(b',')? {
            self.name("a target option")?;
        }
        // Old modules do not have the directive, nor do some new ones. ptxas then goes by the
        // registers that hold addresses.
        if self.eat_word(".address_size")? {
            let span = self.span;
            if self.integer("64")? != 64 {
                return Err(self.error_at(span, "only `.address_size 64` is supported"));
            }
        }
        Ok(())
    }

    /// `.pragma "text", …;`
    fn pragma(&mut self) -> Result<()> {
        self.advance()?;
        loop {
            if self.token != Token::Text {
                return self.expected("a string");
            }
            self.advance()?;
            if !self.eat(b',')? {
                return self.expect(b';');
            }
        }
    }
}
