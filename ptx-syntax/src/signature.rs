//! What the text of a module says of its functions without their bodies: their names, what
//! parameters they take, and where they stand.
//!
//! A driver reads as many bytes behind each argument pointer as the parameter is long, so sizes
//! must be known before a launch. Drivers for CUDA 12.4 and newer can be asked; the text tells on
//! any.
//!
//! [`Module::read`] never fails. It skips what it does not know, and reads up to the first place
//! where the text cannot be split into tokens; [`Module::stopped`] names that place.

mod extent;
mod statements;

pub use extent::{Extent, alone};

use crate::ast::{Span, Type, Variable};
use crate::lexer::{Lexer, Token};
use crate::parser::{self, Error, ParseError, Result};
use statements::Statements;

/// The signatures of a module.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Module<'a> {
    /// The PTX.
    pub text: &'a str,
    /// `.version`: (major, minor).
    pub version: Option<(u32, u32)>,
    /// The first word behind `.target`, for example `sm_90a`.
    pub target: Option<&'a str>,
    /// Entries and functions in the order of the text, declarations among them.
    pub functions: Vec<Function<'a>>,
    /// Why nothing was read behind some place: the text ends early there, or is no PTX.
    pub stopped: Option<ParseError>,
}

/// An `.entry` or a `.func`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Function<'a> {
    /// Its name.
    pub name: &'a str,
    /// Whether it is an `.entry`, which is a kernel.
    pub entry: bool,
    /// Whether it is `.extern`.
    pub external: bool,
    /// Its parameters in order; `None` where the text ends within their list, or a type is not
    /// known.
    pub parameters: Option<Vec<Parameter>>,
    /// From its first directive, such as `.visible`, to its closing brace or its semicolon.
    pub span: Span,
    /// From brace to brace; `None` of a declaration.
    pub body: Option<Span>,
}

/// A parameter of an entry or a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Parameter {
    /// Its size.
    pub bytes: usize,
    /// Its alignment in bytes.
    pub align: usize,
    /// What its type says of it.
    pub kind: Kind,
}

/// What the type of a parameter says of its bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An integer, or an address.
    Integer,
    /// A floating-point number.
    Float,
    /// Nothing, as `.b32` does, which compilers write for most parameters; or an aggregate.
    Bits,
}

/// The names of a module's entries, in the order of the text.
pub fn entries(text: &str) -> impl Iterator<Item = &str> {
    let functions = Module::read(text).functions.into_iter();
    functions
        .filter(|function| function.entry)
        .map(|function| function.name)
}

/// The parameters of an entry in order; `None` where the text has no such entry, or their list
/// cannot be read. Grammar: PTX ISA, "Kernel and Function Directives: .entry".
pub fn parameters(text: &str, entry: &str) -> Option<Vec<Parameter>> {
    let module = Module::read(text);
    module.entry(entry)?.parameters.clone()
}

impl<'a> Module<'a> {
    /// Reads the signatures of a module.
    pub fn read(text: &'a str) -> Self {
        let mut module = Module {
            text,
            version: None,
            target: None,
            functions: Vec::new(),
            stopped: None,
        };
        let read = parser::check_length(text)
            .and_then(|()| Reader::new(text))
            .and_then(|mut reader| reader.module(&mut module));
        module.stopped = read.err().map(|error| *error);
        module
    }

    /// The entries, in the order of the text.
    pub fn entries(&self) -> impl Iterator<Item = &Function<'a>> {
        self.functions.iter().filter(|function| function.entry)
    }

    /// The entry of this name; the first one where there are more.
    pub fn entry(&self, name: &str) -> Option<&Function<'a>> {
        self.entries().find(|entry| entry.name == name)
    }

    /// The functions that are declared and that the module does not contain, in the order of the
    /// text. A driver knows a few, such as `vprintf`; a module with any other does not load.
    pub fn undefined(&self) -> Vec<&'a str> {
        let mut names: Vec<&str> = Vec::new();
        for function in self.functions.iter().filter(|function| !function.entry) {
            if self.definition(function.name).is_none() && !names.contains(&function.name) {
                names.push(function.name);
            }
        }
        names
    }

    fn definition(&self, name: &str) -> Option<&Function<'a>> {
        let mut named = self.functions.iter().filter(|one| one.name == name);
        named.find(|function| function.body.is_some())
    }

    /// The names of the functions that a function of this module calls, in the order of the text.
    /// Calls through a register are left out.
    pub fn calls(&self, function: &Function<'_>) -> impl Iterator<Item = &'a str> {
        self.statements(function)
            .filter(|statement| statement.is("call"))
            .filter_map(|statement| statement.callee())
    }

    /// The bytes of local memory that a function of this module declares for each thread.
    pub fn local_bytes(&self, function: &Function<'_>) -> u64 {
        self.statements(function)
            .filter(|statement| statement.word == ".local")
            .filter_map(|statement| parser::parse_variables(self.text, statement.start).ok())
            .flatten()
            .fold(0, |bytes, variable| bytes.saturating_add(variable.bytes))
    }

    /// Whether an instruction such as `griddepcontrol.wait` stands in a function of this module, or
    /// in one that it calls directly or through others. More modifiers may follow those of
    /// `opcode`.
    pub fn uses(&self, function: &Function<'_>, opcode: &str) -> bool {
        let mut reached = vec![function.name];
        let mut next = 0;
        while let Some(&name) = reached.get(next) {
            next += 1;
            let Some(function) = self.definition(name) else {
                continue;
            };
            // Most bodies have no such text at all, which is found out much faster.
            let body = function.body.unwrap_or_default().of(self.text);
            let may_use = body.contains(opcode);
            if may_use && self.statements(function).any(|one| one.is(opcode)) {
                return true;
            }
            if body.contains("call") {
                for callee in self.calls(function) {
                    if !reached.contains(&callee) {
                        reached.push(callee);
                    }
                }
            }
        }
        false
    }

    fn statements(&self, function: &Function<'_>) -> Statements<'a> {
        Statements::new(self.text, function.body.unwrap_or_default())
    }
}

impl Parameter {
    fn new(variable: &Variable) -> Option<Self> {
        let kind = match variable.ty {
            // Not a type of parameters.
            Type::Pred => return None,
            _ if variable.bytes != u64::from(variable.ty.bytes()) => Kind::Bits,
            Type::U8 | Type::U16 | Type::U32 | Type::U64 => Kind::Integer,
            Type::S8 | Type::S16 | Type::S32 | Type::S64 => Kind::Integer,
            Type::F16 | Type::Bf16 | Type::Tf32 | Type::F32 | Type::F64 => Kind::Float,
            _ => Kind::Bits,
        };
        Some(Parameter {
            // An array without a length has no bytes, and is no parameter.
            bytes: usize::try_from(variable.bytes)
                .ok()
                .filter(|&bytes| bytes > 0)?,
            align: usize::try_from(variable.align).ok()?,
            kind,
        })
    }
}

/// Goes through a module, one token ahead.
struct Reader<'a> {
    text: &'a str,
    lexer: Lexer<'a>,
    token: Token,
    span: Span,
}

/// The directives that may stand in front of `.entry` and `.func`.
fn is_linkage(word: &str) -> bool {
    matches!(word, ".extern" | ".visible" | ".weak" | ".common")
}

impl<'a> Reader<'a> {
    fn new(text: &'a str) -> Result<Self> {
        let mut reader = Reader {
            text,
            lexer: Lexer::new(text, 0),
            token: Token::End,
            span: Span::default(),
        };
        reader.advance()?;
        Ok(reader)
    }

    fn advance(&mut self) -> Result<()> {
        (self.token, self.span) = self.lexer.next()?;
        Ok(())
    }

    /// The current token if it is a word, else nothing.
    fn word(&self) -> &'a str {
        match self.token {
            Token::Word => self.span.of(self.text),
            _ => "",
        }
    }

    fn at(&self, punctuation: u8) -> bool {
        self.token == Token::Punctuation(punctuation)
    }

    fn module(&mut self, module: &mut Module<'a>) -> Result<()> {
        let (mut start, mut external) = (None, false);
        while self.token != Token::End {
            match self.word() {
                word if is_linkage(word) => {
                    start.get_or_insert(self.span.start);
                    external |= word == ".extern";
                    self.advance()?;
                    continue;
                }
                word @ (".entry" | ".func") => {
                    let start = start.unwrap_or(self.span.start);
                    let entry = word == ".entry";
                    self.function(
                        Head {
                            start,
                            entry,
                            external,
                        },
                        &mut module.functions,
                    )?;
                }
                ".version" => {
                    self.advance()?;
                    module.version = module.version.or(version(self.span.of(self.text)));
                }
                ".target" => {
                    self.advance()?;
                    let target = Some(self.word()).filter(|word| !word.is_empty());
                    module.target = module.target.or(target);
                }
                _ if self.at(b'{') => {
                    self.skip_braces()?;
                }
                _ => self.advance()?,
            }
            (start, external) = (None, false);
        }
        Ok(())
    }

    /// Goes on behind the braces that open here; where they are.
    fn skip_braces(&mut self) -> Result<Span> {
        let start = self.span.start as usize;
        self.lexer.skip_braces(start)?;
        let span = Span::new(start, self.lexer.at());
        self.advance()?;
        Ok(span)
    }

    /// Goes on behind the parentheses that open here.
    fn skip_parentheses(&mut self) -> Result<()> {
        let mut depth = 0u32;
        loop {
            match self.token {
                Token::Punctuation(b'(') => depth += 1,
                Token::Punctuation(b')') => depth -= 1,
                Token::End => return Err(self.early_end("`)`")),
                _ => {}
            }
            self.advance()?;
            if depth == 0 {
                return Ok(());
            }
        }
    }

    fn early_end(&self, expected: &str) -> Error {
        let (line, column) = parser::position(self.text, self.text.len());
        Error::new(ParseError {
            line,
            column,
            message: format!("expected {expected}, found the end of the text"),
        })
    }

    /// A function from behind its linkage directives on. It is known as soon as its name is.
    fn function(&mut self, head: Head, functions: &mut Vec<Function<'a>>) -> Result<()> {
        self.advance()?;
        if !head.entry && self.at(b'(') {
            self.skip_parentheses()?;
        }
        let name = self.word();
        if name.is_empty() || name.starts_with('.') {
            return Ok(());
        }
        let place = functions.len();
        functions.push(Function {
            name,
            entry: head.entry,
            external: head.external,
            parameters: None,
            span: Span {
                start: head.start,
                end: self.span.end,
            },
            body: None,
        });
        let function = &mut functions[place];
        self.advance()?;
        let mut parameters = Some(Vec::new());
        if self.at(b'(') {
            let list = self.span.start;
            self.skip_parentheses()?;
            let variables = parser::parse_parameters(self.text, list as usize).ok();
            parameters = variables.and_then(|list| list.iter().map(Parameter::new).collect());
        }
        function.parameters = parameters;
        loop {
            match self.word() {
                ".entry" | ".func" => return Ok(()),
                word if is_linkage(word) => return Ok(()),
                // Its semicolon does not end the function.
                ".pragma" => {
                    while !self.at(b';') && self.token != Token::End {
                        self.advance()?;
                    }
                }
                _ if self.token == Token::End => return Err(self.early_end("`{` or `;`")),
                _ if self.at(b'{') => {
                    let body = self.skip_braces()?;
                    function.body = Some(body);
                    function.span.end = body.end;
                    return Ok(());
                }
                _ if self.at(b';') => {
                    function.span.end = self.span.end;
                    return self.advance();
                }
                _ => {}
            }
            self.advance()?;
        }
    }
}

/// What stands in front of a function's name.
struct Head {
    start: u32,
    entry: bool,
    external: bool,
}

/// `7.0`
fn version(text: &str) -> Option<(u32, u32)> {
    let (major, minor) = text.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

#[cfg(test)]
mod tests;
