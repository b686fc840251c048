//! Variables, registers, functions and prototypes.

use super::{Bodies, Parser, Result};
use crate::ast::{
    DeclaredSpace, Function, Initializer, NO_LOCATION, RegisterDeclaration, Span, Statement, Type,
    Variable,
};
use crate::lexer::Token;

/// Modules that declare more bytes than this in one variable are refused.
const MAX_VARIABLE_BYTES: u64 = 1 << 40;

impl Parser<'_> {
    /// A module-level variable or function, with its linkage.
    pub(super) fn declaration(&mut self) -> Result<()> {
        let mut external = false;
        loop {
            self.split_directives()?;
            match self.current() {
                ".extern" => external = true,
                ".visible" | ".weak" | ".common" => {}
                _ => break,
            }
            self.advance()?;
        }
        match self.current() {
            ".entry" => self.function(true),
            ".func" => self.function(false),
            ".global" | ".const" | ".shared" => {
                let variables = self.variables(external)?;
                self.tree.variables.extend(variables);
                Ok(())
            }
            _ => self.expected("`.entry`, `.func`, `.global`, `.const` or `.shared`"),
        }
    }

    fn declared_space(&mut self) -> Result<DeclaredSpace> {
        self.split_directives()?;
        let space = match self.current() {
            ".global" => DeclaredSpace::Global,
            ".const" => DeclaredSpace::Const,
            ".shared" => DeclaredSpace::Shared,
            ".local" => DeclaredSpace::Local,
            ".param" => DeclaredSpace::Param,
            _ => return self.expected("a state space"),
        };
        self.advance()?;
        if space == DeclaredSpace::Const && self.eat(b'[')? {
            // A bank of constant memory, of old versions.
            self.integer("a bank")?;
            self.expect(b']')?;
        }
        Ok(space)
    }

    /// `.space [.align n] .type name[…] [= …] {, name …};`
    pub(super) fn variables(&mut self, external: bool) -> Result<Vec<Variable>> {
        let space = self.declared_space()?;
        let (ty, elements, align) = self.variable_type()?;
        let mut all = Vec::new();
        loop {
            let at = self.span;
            let variable = self.declarator(space, ty, elements, align, external)?;
            if external && variable.count.is_some() {
                return Err(self.error_at(at, "numbered variables cannot be `.extern`"));
            }
            // `name<0>` declares nothing.
            if variable.count != Some(0) {
                all.push(variable);
            }
            if !self.eat(b',')? {
                break;
            }
        }
        self.expect(b';')?;
        Ok(all)
    }

    fn variable(&mut self, external: bool) -> Result<Variable> {
        let space = self.declared_space()?;
        let (ty, elements, align) = self.variable_type()?;
        self.parameter(space, ty, elements, align, external)
    }

    /// A variable that has no number behind its name.
    fn parameter(
        &mut self,
        space: DeclaredSpace,
        ty: Type,
        elements: u32,
        align: u32,
        external: bool,
    ) -> Result<Variable> {
        let at = self.span;
        let variable = self.declarator(space, ty, elements, align, external)?;
        match variable.count {
            None => Ok(variable),
            Some(_) => Err(self.error_at(at, "parameters of a function are named one by one")),
        }
    }

    /// Type, vector length and alignment, in whatever order the attributes come.
    fn variable_type(&mut self) -> Result<(Type, u32, u32)> {
        let mut align = None;
        let mut elements = 1;
        loop {
            if self.token != Token::Word {
                return self.expected("a type such as `.b32`");
            }
            self.split_directives()?;
            let word = self.current();
            let span = self.span;
            self.advance()?;
            match word {
                ".align" => {
                    let value = self.integer32("an alignment")?;
                    if !value.is_power_of_two() || value > 1 << 20 {
                        return Err(self.error_at(
                            span,
                            format!("alignment {value} is not a power of two up to 2^20"),
                        ));
                    }
                    align = Some(value);
                }
                // `.ptr [.space] [.align n]` describes what a pointer parameter points to.
                ".ptr" | ".global" | ".const" | ".shared" | ".local" | ".managed" => {}
                ".attribute" => self.parentheses()?,
                ".v2" => elements = 2,
                ".v4" => elements = 4,
                ".v8" => elements = 8,
                ".texref" | ".samplerref" | ".surfref" => {
                    return Ok((Type::B64, elements, align.unwrap_or(8)));
                }
                _ => match word.strip_prefix('.').and_then(Type::parse) {
                    Some(ty) => {
                        let align_of_pointee = self.pointer_attributes()?;
                        let natural = ty.bytes() * elements;
                        let align = align.filter(|_| !align_of_pointee).unwrap_or(natural);
                        return Ok((ty, elements, align));
                    }
                    None => {
                        return Err(self.error_at(
                            span,
                            format!("expected a type such as `.b32`, found `{word}`"),
                        ));
                    }
                },
            }
        }
    }

    /// Skips `(…)`, with what it holds.
    fn parentheses(&mut self) -> Result<()> {
        self.expect(b'(')?;
        let mut depth = 1u32;
        while depth != 0 {
            match self.token {
                Token::Punctuation(b'(') => depth += 1,
                Token::Punctuation(b')') => depth -= 1,
                Token::End | Token::Punctuation(b'{' | b';') => return self.expected("`)`"),
                _ => {}
            }
            self.advance()?;
        }
        Ok(())
    }

    /// Skips `.ptr .space .align n` after a parameter's type; true where there was one.
    fn pointer_attributes(&mut self) -> Result<bool> {
        if !self.eat_word(".ptr")? {
            return Ok(false);
        }
        loop {
            match self.current() {
                ".global" | ".const" | ".shared" | ".local" => self.advance()?,
                ".align" => {
                    self.advance()?;
                    self.integer32("an alignment")?;
                }
                _ => return Ok(true),
            }
        }
    }

    fn declarator(
        &mut self,
        space: DeclaredSpace,
        ty: Type,
        elements: u32,
        align: u32,
        external: bool,
    ) -> Result<Variable> {
        let start = self.span;
        let name = self.name("a variable's name")?;
        let element_bytes = u64::from(ty.bytes()) * u64::from(elements);
        let mut bytes = Some(element_bytes);
        let mut unsized_array = false;
        let mut count = None;
        if self.eat(b'<')? {
            // Such variables are no arrays and have no initial values.
            let number = self.integer32("a number of variables")?;
            self.expect(b'>')?;
            if !matches!(self.token, Token::Punctuation(b',' | b';' | b')')) {
                return self.expected("`;` behind numbered variables");
            }
            count = Some(number);
            let stride = element_bytes.next_multiple_of(u64::from(align.max(1)));
            bytes = stride.checked_mul(u64::from(number));
        }
        while self.eat(b'[')? {
            if self.eat(b']')? {
                unsized_array = true;
                continue;
            }
            let length = self.constant("an array length")?;
            bytes = bytes.and_then(|bytes| bytes.checked_mul(length));
            self.expect(b']')?;
        }
        let mut initializer = Vec::new();
        if self.eat(b'=')? {
            self.initializer(&mut initializer, 0)?;
        }
        let bytes = match bytes {
            _ if unsized_array => initializer.len() as u64 * element_bytes,
            Some(bytes) if bytes <= MAX_VARIABLE_BYTES => bytes,
            _ => return Err(self.error_at(start, "this variable is larger than 1 TiB")),
        };
        if initializer.len() as u64 * u64::from(ty.bytes()) > bytes {
            return Err(self.error_at(start, "more initial values than the variable holds"));
        }
        Ok(Variable {
            space,
            name,
            ty,
            elements,
            bytes,
            align,
            external,
            initializer,
            count,
        })
    }

    fn initializer(&mut self, out: &mut Vec<Initializer>, depth: u32) -> Result<()> {
        if !self.at(b'{') {
            let value = self.initial_value()?;
            out.push(value);
            return Ok(());
        }
        if depth >= super::MAX_NESTING {
            return self.expected("less deeply nested braces");
        }
        self.advance()?;
        while !self.eat(b'}')? {
            if self.eat_property()? {
                // How a texture or a sampler is: its host says so, by the object that it binds.
            } else {
                self.initializer(out, depth + 1)?;
            }
            if !self.at(b'}') {
                self.expect(b',')?;
            }
        }
        Ok(())
    }

    /// `name = value` of a `.texref`, a `.samplerref` or a `.surfref`.
    fn eat_property(&mut self) -> Result<bool> {
        let follows = |text: &str| {
            let rest = text.trim_start_matches([' ', '\t', '\r', '\n']);
            rest.starts_with('=')
        };
        let end = self.span.end as usize;
        if self.token != Token::Word || !self.text.get(end..).is_some_and(follows) {
            return Ok(false);
        }
        self.advance()?;
        self.expect(b'=')?;
        match self.token {
            Token::Word => self.advance()?,
            _ => _ = self.constant("a value")?,
        }
        Ok(true)
    }

    fn initial_value(&mut self) -> Result<Initializer> {
        let negative = self.eat(b'-')?;
        let value = match self.token {
            Token::Integer(value) => {
                self.advance()?;
                // `0xFF00(symbol)`: one byte of an address.
                if self.eat(b'(')? {
                    let symbol = self.initial_symbol(Some(value))?;
                    self.expect(b')')?;
                    return Ok(symbol);
                }
                let value = if negative {
                    value.wrapping_neg()
                } else {
                    value
                };
                let value = self.constant_from(value, "a number")?;
                return Ok(Initializer::Integer(value));
            }
            Token::Float32(bits) => Initializer::Float32(bits ^ (u32::from(negative) << 31)),
            Token::Float64(bits) => Initializer::Float64(bits ^ (u64::from(negative) << 63)),
            Token::Punctuation(b'(' | b'~' | b'!') => {
                let value = self.constant("a number")?;
                let value = if negative {
                    value.wrapping_neg()
                } else {
                    value
                };
                return Ok(Initializer::Integer(value));
            }
            Token::Word if self.current() == "WARP_SZ" => {
                return Ok(Initializer::Integer(self.constant("a number")?));
            }
            Token::Word => return self.initial_symbol(None),
            _ => return self.expected("a number or a symbol"),
        };
        self.advance()?;
        Ok(value)
    }

    fn initial_symbol(&mut self, mask: Option<u64>) -> Result<Initializer> {
        let generic = self.eat_word("generic")?;
        if generic {
            self.expect(b'(')?;
        }
        let name = self.name("a symbol")?;
        if generic {
            self.expect(b')')?;
        }
        let addend = self.optional_offset()?;
        Ok(Initializer::Symbol { name, addend, mask })
    }

    /// `.reg .type name {, name}` or `name<count>`.
    pub(super) fn registers(&mut self) -> Result<Statement> {
        self.advance()?;
        let (ty, elements, _) = self.variable_type()?;
        let mut all = Vec::new();
        loop {
            let name = self.name("a register's name")?;
            let mut count = None;
            if self.eat(b'<')? {
                count = Some(self.integer32("a number of registers")?);
                self.expect(b'>')?;
            }
            all.push(RegisterDeclaration {
                ty,
                elements,
                name,
                count,
            });
            if !self.eat(b',')? {
                break;
            }
        }
        self.expect(b';')?;
        Ok(Statement::Registers(all))
    }

    /// `(.param … , …)` of a function; absent where no parenthesis stands.
    pub(super) fn parameters(&mut self) -> Result<Vec<Variable>> {
        let mut all = Vec::new();
        if !self.eat(b'(')? {
            return Ok(all);
        }
        while !self.at(b')') {
            self.split_directives()?;
            all.push(if self.eat_word(".reg")? {
                let (ty, elements, align) = self.variable_type()?;
                self.parameter(DeclaredSpace::Register, ty, elements, align, false)?
            } else {
                self.variable(false)?
            });
            if !self.at(b')') {
                self.expect(b',')?;
            }
        }
        self.expect(b')')?;
        Ok(all)
    }

    fn function(&mut self, entry: bool) -> Result<()> {
        self.advance()?;
        self.location = NO_LOCATION;
        self.function_locations.clear();
        self.unmapped = self.lines.locations.len();
        self.split_directives()?;
        if self.eat_word(".attribute")? {
            self.parentheses()?;
        }
        let returns = if entry {
            Vec::new()
        } else {
            self.parameters()?
        };
        let name = self.name("a function's name")?;
        let params = self.parameters()?;
        let mut function = Function {
            entry,
            name,
            params,
            returns,
            max_threads: None,
            required_threads: None,
            required_cluster: None,
            max_cluster_blocks: None,
            explicit_cluster: false,
            blocks_are_clusters: false,
            body: None,
        };
        loop {
            match self.current() {
                ".maxntid" => function.max_threads = Some(self.extents()?),
                ".reqntid" => function.required_threads = Some(self.extents()?),
                ".reqnctapercluster" => function.required_cluster = Some(self.extents()?),
                ".maxclusterrank" => {
                    self.advance()?;
                    function.max_cluster_blocks = Some(self.integer32("a number")?);
                }
                ".explicitcluster" => {
                    self.advance()?;
                    function.explicit_cluster = true;
                }
                ".blocksareclusters" => {
                    self.advance()?;
                    function.blocks_are_clusters = true;
                }
                ".minnctapersm"
                | ".maxnreg"
                | ".minnreg"
                | ".maxnctapersm"
                | ".abi_preserve"
                | ".abi_preserve_control" => {
                    self.extents()?;
                }
                ".noreturn" => self.advance()?,
                ".pragma" => self.pragma()?,
                ".unique" => self.advance()?,
                _ => break,
            }
        }
        if self.at(b'{') {
            function.body = Some(self.body()?);
        } else {
            self.expect(b';')?;
        }
        self.tree.functions.push(function);
        Ok(())
    }

    /// The body of a function, which is not kept.
    fn body(&mut self) -> Result<Span> {
        let start = self.span.start;
        match self.bodies {
            Bodies::Check => {
                let files = self.lines.files.len();
                self.scope(&mut Vec::new())?;
                // All of it is found again when the body is decoded.
                self.lines.files.truncate(files);
                self.lines.locations.clear();
                self.operands.clear();
                self.elements.clear();
                self.branch_targets.clear();
                self.symbols.clear();
            }
            Bodies::Skip => {
                self.lexer.skip_braces(start as usize)?;
                self.span = Span::new(start as usize, self.lexer.at());
                self.advance()?;
            }
        }
        let end = self.previous_end;
        Ok(Span { start, end })
    }

    /// One to three numbers after a performance directive.
    fn extents(&mut self) -> Result<[u32; 3]> {
        self.advance()?;
        let mut extents = [self.integer32("a number")?, 1, 1];
        for extent in &mut extents[1..] {
            if !self.eat(b',')? {
                break;
            }
            *extent = self.integer32("a number")?;
        }
        Ok(extents)
    }

    /// `.callprototype (returns) _ (params) [.noreturn];` after its label.
    pub(super) fn call_prototype(&mut self, label: Span) -> Result<Statement> {
        self.advance()?;
        self.parameters()?;
        self.name("`_`")?;
        self.parameters()?;
        loop {
            self.split_directives()?;
            match self.current() {
                ".noreturn" => self.advance()?,
                ".abi_preserve" | ".abi_preserve_control" => _ = self.extents()?,
                _ => break,
            }
        }
        self.expect(b';')?;
        Ok(Statement::CallPrototype(label))
    }
}
