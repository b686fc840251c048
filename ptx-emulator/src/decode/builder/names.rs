//! What names refer to in the function being decoded: registers, vectors and labels.

use super::{BlockId, Builder};
use crate::decode::modifiers::Failure;
use crate::decode::scope::{Binding, Numbered, Range, Scope, head, split_number};
use crate::ir::{Constant, Op, Predicate, Reg64, Register};
use ptx_syntax::ast::{Span, Type, Variable};

impl<'a> Builder<'a, '_> {
    fn scope(&mut self) -> &mut Scope<'a> {
        if self.scopes.is_empty() {
            self.scopes.push(Scope::default());
        }
        let last = self.scopes.len() - 1;
        &mut self.scopes[last]
    }

    pub(crate) fn bind(&mut self, name: &'a str, binding: Binding) {
        self.scope().insert(name, binding);
    }

    /// Binds what a declaration declares, one variable or several.
    pub(crate) fn bind_variable(&mut self, variable: &Variable, binding: Binding) {
        let name = variable.name.of(self.text);
        match Numbered::new(name, variable, binding.clone()) {
            Some(all) => self.scope().insert_numbered(all),
            None => self.bind(name, binding),
        }
    }

    pub(crate) fn bind_range(&mut self, prefix: &'a str, count: u32, ty: Type) {
        self.scope().ranges.push(Range {
            prefix,
            head: head(prefix),
            count,
            ty,
            registers: Vec::new(),
        });
    }

    /// Innermost meaning of a name; a register of a range is made at its first use.
    pub(crate) fn lookup(&mut self, name: &'a str) -> Result<Option<Binding>, Failure> {
        let number = split_number(name);
        for depth in (0..self.scopes.len()).rev() {
            if let Some(binding) = self.scopes[depth].get(name) {
                return Ok(Some(binding.clone()));
            }
            if let Some(number) = number
                && let Some((register, ty)) = self.numbered(depth, name, number)?
            {
                return Ok(Some(Binding::Register(register, ty)));
            }
        }
        if let Some(number) = number {
            let mut scopes = self.scopes.iter().rev();
            let found = scopes.find_map(|scope| {
                let mut all = scope.numbered.iter().rev();
                all.find_map(|all| all.get(number))
            });
            if found.is_some() {
                return Ok(found);
            }
        }
        if let Some(binding) = self.module.get(name) {
            return Ok(Some(binding));
        }
        match self.lookup_vector(name)? {
            Some(vector) => Ok(Some(vector)),
            None => self.lookup_component(name),
        }
    }

    pub(crate) fn bind_vectors(&mut self, prefix: &'a str, count: u32, elements: u32, ty: Type) {
        self.scope().vectors.push((prefix, count, elements, ty));
    }

    /// A vector of a range, which is made at its first use.
    fn lookup_vector(&mut self, name: &'a str) -> Result<Option<Binding>, Failure> {
        let Some((prefix, index)) = split_number(name).filter(|_| self.has_vectors) else {
            return Ok(None);
        };
        for depth in (0..self.scopes.len()).rev() {
            let mut ranges = self.scopes[depth].vectors.iter();
            let range = ranges.find(|range| range.0 == prefix && index < range.1);
            if let Some(&(_, _, elements, ty)) = range {
                let elements = (0..elements).map(|_| self.new_register(ty));
                let binding = Binding::Vector(elements.collect::<Result<_, _>>()?, ty);
                self.scopes[depth].insert(name, binding.clone());
                return Ok(Some(binding));
            }
        }
        Ok(None)
    }

    /// `v.x`: an element of a register of several.
    fn lookup_component(&mut self, name: &'a str) -> Result<Option<Binding>, Failure> {
        let Some((vector, component)) = name.rsplit_once('.').filter(|_| self.has_vectors) else {
            return Ok(None);
        };
        let at = match component {
            "x" | "r" => 0,
            "y" | "g" => 1,
            "z" | "b" => 2,
            "w" | "a" => 3,
            _ => return Ok(None),
        };
        Ok(match self.lookup(vector)? {
            Some(Binding::Vector(registers, ty)) => {
                let element = registers.get(at).copied();
                element.map(|register| Binding::Register(register, ty))
            }
            _ => None,
        })
    }

    /// The fast case of [`Self::lookup`]: a register of a range that no name shadows.
    pub(crate) fn lookup_numbered(
        &mut self,
        name: &'a str,
    ) -> Result<Option<(Register, Type)>, Failure> {
        let Some(number) = split_number(name).filter(|_| name.starts_with('%')) else {
            return Ok(None);
        };
        if self.module.any_percent {
            return Ok(None);
        }
        for depth in (0..self.scopes.len()).rev() {
            if self.scopes[depth].any_percent {
                return Ok(None);
            }
            let found = self.numbered(depth, name, number)?;
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    /// The register of a scope's ranges that has a name, which is split into prefix and number.
    fn numbered(
        &mut self,
        depth: usize,
        name: &'a str,
        (prefix, index): (&str, u32),
    ) -> Result<Option<(Register, Type)>, Failure> {
        let ranges = &self.scopes[depth].ranges;
        let head = head(prefix);
        let holds = |range: &Range<'_>| {
            let alike = range.head == head && range.prefix.len() == prefix.len();
            let same = alike && (prefix.len() <= 8 || range.prefix == prefix);
            same && index < range.count
        };
        let Some(range) = ranges.iter().rposition(holds) else {
            return Ok(None);
        };
        let (ty, registers) = (ranges[range].ty, &ranges[range].registers);
        if let Some(&Some(register)) = registers.get(index as usize) {
            return Ok(Some((register, ty)));
        }
        let register = self.new_register(ty)?;
        self.scopes[depth].number(name, range, index, register);
        Ok(Some((register, ty)))
    }

    /// Meaning of a name that must be declared.
    pub(crate) fn resolve(&mut self, name: Span) -> Result<Binding, Failure> {
        let name = name.of(self.text);
        self.lookup(name)?
            .ok_or_else(|| format!("`{name}` is not declared").into())
    }

    /// Where an element of an array lies, in bytes behind its start.
    pub(crate) fn element_offset(&self, name: Span, index: i64) -> Result<i64, Failure> {
        let text = name.of(self.text);
        let of_module = || {
            let mut all = self.variables.iter();
            let found = all.find(|variable| variable.name.of(self.text) == text);
            found.map(Variable::element_bytes)
        };
        let bytes = self.element_bytes.get(text).copied().or_else(of_module);
        let offset = bytes.and_then(|bytes| index.checked_mul(bytes as i64));
        offset.ok_or_else(|| format!("`{text}` is no array with an element {index}").into())
    }

    /// A register of 32 bits with the lower half of a value.
    pub(crate) fn low_half(&mut self, value: Register) -> Register {
        let Register::Reg64(wide) = value else {
            return value;
        };
        let low = self.new_reg32();
        self.emit_unguarded(Op::Narrow(low, wide));
        Register::Reg32(low)
    }

    /// The address of `array[register]`. NVIDIA's assembler takes the register's lower 32 bits as
    /// an unsigned number, whatever its type.
    pub(crate) fn indexed_element(
        &mut self,
        array: Span,
        register: Span,
    ) -> Result<Reg64, Failure> {
        let bytes = self.element_offset(array, 1)?;
        let (index, _) = self.register(register)?;
        let Register::Reg32(index) = self.low_half(index) else {
            return Err("a predicate is no number of an element".into());
        };
        let Register::Reg64(base) = self.symbol(array, 0, Type::U64)? else {
            return Err("expected an array".into());
        };
        let bytes = self.reg32_constant(Constant::Bits(bytes as u64));
        let address = self.new_reg64();
        self.emit_unguarded(Op::MulAddWide(false, address, index, bytes, base));
        Ok(address)
    }

    pub(crate) fn register(&mut self, name: Span) -> Result<(Register, Type), Failure> {
        if let Some(found) = self.lookup_numbered(name.of(self.text))? {
            return Ok(found);
        }
        match self.resolve(name)? {
            Binding::Register(register, ty) => Ok((register, ty)),
            _ => Err(format!("`{}` is not a register", name.of(self.text)).into()),
        }
    }

    pub(crate) fn predicate(&mut self, name: Span) -> Result<Predicate, Failure> {
        match self.register(name)?.0 {
            Register::Predicate(predicate) => Ok(predicate),
            _ => Err(format!("`{}` is not a predicate register", name.of(self.text)).into()),
        }
    }

    pub(crate) fn label(&mut self, name: Span) -> Result<BlockId, Failure> {
        match self.resolve(name)? {
            Binding::Label(block) => Ok(block),
            _ => Err(format!("`{}` is not a label", name.of(self.text)).into()),
        }
    }
}
