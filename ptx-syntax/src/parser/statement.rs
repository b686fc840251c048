//! The body of a function: scopes, labels and instructions.

use super::{MAX_NESTING, Parser, Result};
use crate::ast::{Elements, Guard, Instruction, Operand, Span, Statement};
use crate::lexer::Token;

impl Parser<'_> {
    /// `{ … }`
    pub(super) fn scope(&mut self, body: &mut Vec<Statement>) -> Result<()> {
        if self.nesting >= MAX_NESTING {
            return self.expected("fewer than 64 nested scopes");
        }
        self.nesting += 1;
        self.expect(b'{')?;
        while !self.eat(b'}')? {
            if self.token == Token::End {
                return self.expected("`}`");
            }
            self.statement(body)?;
        }
        self.nesting -= 1;
        Ok(())
    }

    fn statement(&mut self, body: &mut Vec<Statement>) -> Result<()> {
        if self.at(b'{') {
            let mut scope = Vec::new();
            self.scope(&mut scope)?;
            body.push(Statement::Scope(scope));
            return Ok(());
        }
        if self.eat(b';')? {
            return Ok(());
        }
        if self.at(b'@') {
            let instruction = self.instruction()?;
            body.push(Statement::Instruction(instruction));
            return Ok(());
        }
        if self.token != Token::Word {
            return self.expected("an instruction, a label or a declaration");
        }
        if !self.at_directive() {
            return self.label_or_instruction(body);
        }
        self.split_directives()?;
        match self.current() {
            ".loc" => return self.location(),
            ".file" => return self.file(),
            ".pragma" => return self.pragma(),
            ".reg" => body.push(self.registers()?),
            ".shared" | ".local" | ".param" | ".global" | ".const" => {
                let variables = self.variables(false)?;
                body.extend(variables.into_iter().map(Box::new).map(Statement::Variable));
            }
            ".extern" => {
                self.advance()?;
                let variables = self.variables(true)?;
                body.extend(variables.into_iter().map(Box::new).map(Statement::Variable));
            }
            _ => return self.expected("an instruction, a label or a declaration"),
        }
        Ok(())
    }

    fn label_or_instruction(&mut self, body: &mut Vec<Statement>) -> Result<()> {
        let word = self.span;
        self.advance()?;
        if !self.eat(b':')? {
            let instruction = self.instruction_after(None, word, word.start)?;
            body.push(Statement::Instruction(instruction));
            return Ok(());
        }
        match self.current() {
            ".branchtargets" => {
                self.advance()?;
                let first = self.branch_targets.len() as u32;
                loop {
                    let label = self.name("a label")?;
                    self.branch_targets.push(label);
                    if !self.eat(b',')? {
                        break;
                    }
                }
                self.expect(b';')?;
                let end = self.branch_targets.len() as u32;
                body.push(Statement::BranchTargets(word, (first, end)));
            }
            ".callprototype" => body.push(self.call_prototype(word)?),
            ".calltargets" => {
                self.advance()?;
                loop {
                    self.symbol("a function's name")?;
                    if !self.eat(b',')? {
                        break;
                    }
                }
                self.expect(b';')?;
                body.push(Statement::CallPrototype(word));
            }
            _ => body.push(Statement::Label(word)),
        }
        Ok(())
    }

    /// An instruction that starts with its guard.
    fn instruction(&mut self) -> Result<Instruction> {
        let start = self.span.start;
        self.expect(b'@')?;
        let negated = self.eat(b'!')?;
        let predicate = self.name("a predicate register")?;
        let opcode = self.name("an instruction")?;
        self.instruction_after(Some(Guard { predicate, negated }), opcode, start)
    }

    fn instruction_after(
        &mut self,
        guard: Option<Guard>,
        opcode: Span,
        start: u32,
    ) -> Result<Instruction> {
        let first = self.operands.len() as u32;
        if !self.at(b';') {
            loop {
                let operand = self.operand(0)?;
                self.operands.push(operand);
                if !self.eat(b',')? {
                    break;
                }
            }
        }
        let span = Span {
            start,
            end: self.previous_end,
        };
        if !self.eat(b';')? {
            return self.expected("`,` or `;`");
        }
        Ok(Instruction {
            guard,
            opcode,
            operands: (first, self.operands.len() as u32),
            span,
            location: self.location,
        })
    }

    fn operand(&mut self, depth: u32) -> Result<Operand> {
        if depth > 2 {
            return self.expected("less deeply nested operands");
        }
        match self.token {
            Token::Integer(_) | Token::Float32(_) | Token::Float64(_) => self.literal(false),
            Token::Punctuation(b'-') => {
                self.advance()?;
                if self.at(b'(') || self.at(b'-') {
                    let value = self.constant("a number")?;
                    return Ok(Operand::Integer(value.wrapping_neg()));
                }
                self.literal(true)
            }
            Token::Punctuation(b'!') => {
                self.advance()?;
                if let Token::Integer(value) = self.token {
                    self.advance()?;
                    let value = u64::from(value == 0);
                    return Ok(Operand::Integer(self.constant_from(value, "a number")?));
                }
                Ok(Operand::Not(self.name("a predicate register")?))
            }
            Token::Punctuation(b'{') => {
                let elements = self.operands_until(b'}', depth)?;
                if self.eat(b'|')? {
                    return Ok(Operand::VectorPair(
                        elements,
                        self.name("a predicate register")?,
                    ));
                }
                Ok(Operand::Vector(elements))
            }
            Token::Punctuation(b'~') => Ok(Operand::Integer(self.constant("a number")?)),
            Token::Punctuation(b'(') => self.list(depth),
            Token::Punctuation(b'[') => self.address(),
            Token::Word => {
                let is_warp_size = self.current() == "WARP_SZ";
                let name = self.symbol("an operand")?;
                if is_warp_size && !matches!(self.token, Token::Punctuation(b',' | b';' | b'}')) {
                    return Ok(Operand::Integer(self.constant_from(32, "a number")?));
                }
                if self.eat(b'|')? {
                    return Ok(Operand::Pair(name, self.name("a register")?));
                }
                if name.end - name.start == 1 && self.begins_with(name, b'_') {
                    return Ok(Operand::Sink);
                }
                if self.at(b'+') || self.at(b'-') {
                    return Ok(Operand::NameOffset(name, self.optional_offset()?));
                }
                if self.eat(b'[')? {
                    return self.element_of(name);
                }
                Ok(Operand::Name(name))
            }
            _ => self.expected("an operand"),
        }
    }

    /// What stands behind `array[`: a constant, a register, or the sum of both.
    fn element_of(&mut self, array: Span) -> Result<Operand> {
        let of_register = self.token == Token::Word && self.current() != "WARP_SZ";
        let operand = match of_register {
            true => Operand::IndexedElement {
                array,
                register: self.name("a register")?,
                index: self.optional_offset()?,
            },
            false => {
                let index = self.constant("the number of an element")? as i64;
                Operand::Element(array, index)
            }
        };
        self.expect(b']')?;
        Ok(operand)
    }

    /// `(a, b)` of a call, or a constant in parentheses.
    fn list(&mut self, depth: u32) -> Result<Operand> {
        let behind = self.text.get(self.span.end as usize..).unwrap_or("");
        if behind.trim_start().starts_with('.') {
            // `(.u64)` in front of a constant.
            return Ok(Operand::Integer(self.constant("a number")?));
        }
        let elements = self.operands_until(b')', depth)?;
        let single = match elements {
            (first, end) if end - first == 1 => self.elements.get(first as usize),
            _ => None,
        };
        match single {
            Some(&Operand::Integer(value)) if !self.at(b',') && !self.at(b';') => {
                Ok(Operand::Integer(self.constant_from(value, "a number")?))
            }
            _ => Ok(Operand::List(elements)),
        }
    }

    /// A name, which is noted if it is no register's.
    fn symbol(&mut self, what: &str) -> Result<Span> {
        let name = self.name(what)?;
        if !self.begins_with(name, b'%') {
            self.symbols.push(name);
        }
        Ok(name)
    }

    fn operands_until(&mut self, close: u8, depth: u32) -> Result<Elements> {
        self.advance()?;
        // Those of operands within these are complete before these are.
        let outer = self.open_elements.len();
        while !self.eat(close)? {
            let operand = self.operand(depth + 1)?;
            self.open_elements.push(operand);
            if !self.at(close) {
                self.expect(b',')?;
            }
        }
        let first = self.elements.len() as u32;
        self.elements.extend(self.open_elements.drain(outer..));
        Ok((first, self.elements.len() as u32))
    }

    fn literal(&mut self, negative: bool) -> Result<Operand> {
        let operand = match self.token {
            Token::Integer(value) => {
                self.advance()?;
                let value = if negative {
                    value.wrapping_neg()
                } else {
                    value
                };
                // Most stand for themselves.
                let ends = matches!(self.token, Token::Punctuation(b',' | b';' | b'}' | b']'));
                return Ok(Operand::Integer(match ends {
                    true => value,
                    false => self.constant_from(value, "a number")?,
                }));
            }
            Token::Float32(bits) => Operand::Float32(bits ^ (u32::from(negative) << 31)),
            Token::Float64(bits) => Operand::Float64(bits ^ (u64::from(negative) << 63)),
            _ => return self.expected("a number"),
        };
        self.advance()?;
        Ok(operand)
    }

    /// What stands behind the comma of `[map, {x, y}]`, `[image, x]`, `[image, sampler, {x, y}]`.
    fn coordinates(&mut self, map: Span, offset: i64) -> Result<Operand> {
        if self.at(b'{') {
            let coordinates = self.operands_until(b'}', 0)?;
            self.expect(b']')?;
            return Ok(Operand::Tensor {
                map,
                offset,
                coordinates,
            });
        }
        let second = self.operand(1)?;
        let Operand::Name(sampler) = second else {
            return self.last_coordinate(map, offset, second);
        };
        if !self.eat(b',')? {
            return self.last_coordinate(map, offset, second);
        }
        let coordinates = if self.at(b'{') {
            self.operands_until(b'}', 0)?
        } else {
            let only = self.operand(1)?;
            self.single(only)
        };
        self.expect(b']')?;
        Ok(Operand::Texture {
            image: map,
            sampler,
            coordinates,
        })
    }

    fn last_coordinate(&mut self, map: Span, offset: i64, only: Operand) -> Result<Operand> {
        let coordinates = self.single(only);
        self.expect(b']')?;
        Ok(Operand::Tensor {
            map,
            offset,
            coordinates,
        })
    }

    fn single(&mut self, element: Operand) -> Elements {
        let first = self.elements.len() as u32;
        self.elements.push(element);
        (first, first + 1)
    }

    /// `[base]`, `[base+offset]`, `[number]`, `[map, {x, y}]`
    fn address(&mut self) -> Result<Operand> {
        self.advance()?;
        let mut base = None;
        let offset;
        if self.token == Token::Word {
            let name = self.symbol("an address")?;
            base = Some(name);
            offset = self.optional_offset()?;
            if self.eat(b',')? {
                return self.coordinates(name, offset);
            }
        } else {
            offset = self.constant("an address")? as i64;
        }
        self.expect(b']')?;
        Ok(Operand::Address { base, offset })
    }
}
