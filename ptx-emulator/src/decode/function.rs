//! Functions: their parameters, labels and statements.

use rustc_hash::FxHashSet;

use super::builder::Builder;
use super::modifiers::{Failure, MAX_PARTS, Modifiers};
use super::scope::{Binding, Scope};
use super::{ModuleNames, PlacedShared, class, error, layout, parameter_offsets, symbols};
use crate::error::KernelError;
use crate::ir::{Function, Info, Program, Reg32, Register, Terminator};
use ptx_syntax::ast::{
    self, Body, DeclaredSpace, Instruction, Span, Statement, Tree, Type, Variable,
};

pub(super) struct FunctionDecoder<'t, 'a> {
    pub(super) tree: &'t Tree,
    pub(super) text: &'a str,
    pub(super) kernel: usize,
    pub(super) function: &'t ast::Function,
    /// Names in operands and in lists of labels. Compilers write many labels that only debug
    /// sections name.
    pub(super) named: FxHashSet<&'a str>,
}

/// Words in which a call passes a parameter.
pub(super) fn parameter_words(variable: &Variable) -> u64 {
    match variable.space {
        // Each register has words of its own.
        DeclaredSpace::Register => {
            u64::from(variable.elements) * u64::from(variable.ty.bytes().div_ceil(4))
        }
        _ => {
            let each = variable.stride().div_ceil(4);
            each * u64::from(variable.count.unwrap_or(1))
        }
    }
}

impl<'a> FunctionDecoder<'_, 'a> {
    /// The function's code, the module functions that it calls, and whether it takes or calls
    /// function addresses.
    pub(super) fn decode<'p>(
        &mut self,
        body: &'p Body,
        program: &'p mut Program,
        (names, placed): (&'p ModuleNames, &PlacedShared<'a>),
    ) -> Result<(Function, Vec<u32>, bool), KernelError> {
        let named = body.names().map(|name| name.of(self.text));
        self.named = named.collect();
        let first = program.info.len() as u32;
        let is_instruction =
            |statement: &&Statement| matches!(statement, Statement::Instruction(_));
        let instructions = body.statements.iter().filter(is_instruction).count();
        program.info.reserve(instructions);
        let module = (
            names,
            Scope::with_names(placed.names.clone(), placed.numbered.clone()),
        );
        let mut builder = Builder::new(
            self.text,
            (&self.tree.variables, &self.tree.functions),
            &body.elements,
            program,
            module,
        );
        builder.info = first;
        builder.in_entry = self.function.entry;
        let params = self
            .declare_parameters(&mut builder, body)
            .map_err(|failure| self.failure(failure, self.function.name, ""))?;
        self.scope(&mut builder, body, &body.statements)?;
        // A body may end without `ret`.
        let end = builder.new_block();
        builder.first = false;
        builder.store_results();
        builder.end_block(Terminator::Return, false, end);
        symbols::note_function(&mut builder, self.function.name.of(self.text), first);
        let callees = std::mem::take(&mut builder.callees);
        let indirect = builder.indirect;
        Ok((layout::finish(builder, params), callees, indirect))
    }

    fn declare_parameters(
        &self,
        builder: &mut Builder<'a, '_>,
        body: &Body,
    ) -> Result<Vec<Reg32>, Failure> {
        if self.function.entry {
            let (offsets, bytes) = parameter_offsets(&self.function.params);
            if bytes > crate::MAX_PARAMETER_BYTES {
                return Err(format!(
                    "{bytes} bytes of parameters, more than {}",
                    crate::MAX_PARAMETER_BYTES
                )
                .into());
            }
            if self.function.blocks_are_clusters {
                return Err(Failure::refused(
                    "grids that count clusters (.blocksareclusters) are not supported",
                ));
            }
            for (param, offset) in self.function.params.iter().zip(offsets) {
                let bytes = param.bytes;
                let binding = Binding::KernelParam { offset, bytes };
                builder.bind(param.name.of(self.text), binding);
            }
            return Ok(Vec::new());
        }
        let mut params = Vec::new();
        for param in &self.function.params {
            let words = self.parameter_registers(builder, param)?;
            params.extend(&words);
            if param.space == DeclaredSpace::Register {
                let registers = self.declare_registers(builder, param)?;
                builder.join_words(&words, &registers);
            } else if self.has_address(body, param) {
                let local = builder.store_words(&words, param.align)?;
                builder.bind(param.name.of(self.text), local);
            } else {
                builder.bind(param.name.of(self.text), Binding::Registers(words));
            }
        }
        for result in &self.function.returns {
            let words = self.parameter_registers(builder, result)?;
            builder.results.extend(&words);
            if result.space == DeclaredSpace::Register {
                let registers = self.declare_registers(builder, result)?;
                builder.register_results.push((registers, words));
            } else {
                builder.bind(result.name.of(self.text), Binding::Registers(words));
            }
        }
        Ok(params)
    }

    /// Whether a body takes the address of a parameter, which then lies in local memory (PTX ISA,
    /// "mov").
    fn has_address(&self, body: &Body, param: &Variable) -> bool {
        let wanted = param.name.of(self.text);
        body.operands.iter().any(|operand| match operand {
            ast::Operand::Name(name) | ast::Operand::NameOffset(name, _) => {
                name.of(self.text) == wanted
            }
            _ => false,
        })
    }

    /// The registers of a parameter or result that is passed in registers.
    fn declare_registers(
        &self,
        builder: &mut Builder<'a, '_>,
        variable: &Variable,
    ) -> Result<Vec<Register>, Failure> {
        let name = variable.name.of(self.text);
        let (ty, elements) = match variable.ty {
            Type::B128 => (Type::B64, 2 * variable.elements),
            ty => (ty, variable.elements),
        };
        let registers = (0..elements)
            .map(|_| builder.new_register(ty))
            .collect::<Result<Vec<_>, _>>()?;
        match registers.as_slice() {
            &[register] => builder.bind(name, Binding::Register(register, ty)),
            _ => {
                builder.has_vectors = true;
                builder.bind(name, Binding::Vector(registers.clone(), ty));
            }
        }
        Ok(registers)
    }

    fn parameter_registers(
        &self,
        builder: &mut Builder<'a, '_>,
        variable: &Variable,
    ) -> Result<Vec<Reg32>, Failure> {
        if variable.bytes > u64::from(crate::MAX_PARAMETER_BYTES) {
            return Err(format!(
                "`{}` takes {} bytes, more than {} for a parameter",
                variable.name.of(self.text),
                variable.bytes,
                crate::MAX_PARAMETER_BYTES
            )
            .into());
        }
        let words = parameter_words(variable);
        Ok((0..words).map(|_| builder.new_reg32()).collect())
    }

    fn failure(&self, failure: Failure, span: Span, opcode: &str) -> KernelError {
        let module = (self.tree, self.text, self.kernel);
        error(module, span, failure, opcode)
    }

    fn scope(
        &mut self,
        builder: &mut Builder<'a, '_>,
        body: &Body,
        statements: &[Statement],
    ) -> Result<(), KernelError> {
        builder.scopes.push(Scope::default());
        let first = builder.program.info.len() as u32;
        // The blocks of the labels that control may reach, in the order of the text.
        let mut blocks = Vec::new();
        for statement in statements {
            if let Statement::Label(name) = statement {
                let block = self.is_named(*name).then(|| builder.new_block());
                if let Some(block) = block {
                    builder.bind(name.of(self.text), Binding::Label(block));
                }
                blocks.push(block);
            }
        }
        for statement in statements {
            match statement {
                Statement::BranchTargets(name, labels) => {
                    let labels = body.branch_targets(*labels);
                    let targets = labels
                        .iter()
                        .map(|label| builder.label(*label))
                        .collect::<Result<Vec<_>, _>>()
                        .map_err(|failure| self.failure(failure, *name, ""))?;
                    builder.bind(name.of(self.text), Binding::Targets(targets));
                }
                Statement::CallPrototype(name) => {
                    builder.bind(name.of(self.text), Binding::Prototype);
                }
                _ => {}
            }
        }
        let mut blocks = blocks.into_iter();
        for statement in statements {
            match statement {
                Statement::Label(name) => {
                    symbols::note_label(builder, name.of(self.text));
                    if let Some(block) = blocks.next().flatten() {
                        builder.fall_into(block);
                    }
                }
                _ => self.statement(builder, body, statement)?,
            }
        }
        if let Some(scope) = builder.scopes.pop() {
            symbols::note_registers(builder.program, &scope, first);
        }
        Ok(())
    }

    /// Whether control may reach a label from elsewhere.
    fn is_named(&self, label: Span) -> bool {
        let name = label.of(self.text);
        name.starts_with('%') || self.named.contains(name)
    }

    fn statement(
        &mut self,
        builder: &mut Builder<'a, '_>,
        body: &Body,
        statement: &Statement,
    ) -> Result<(), KernelError> {
        match statement {
            Statement::Registers(all) => {
                for declaration in all {
                    self.registers(builder, declaration)
                        .map_err(|failure| self.failure(failure, declaration.name, ""))?;
                }
            }
            Statement::Variable(variable) => {
                let binding = match variable.space {
                    DeclaredSpace::Shared => builder.place_shared(variable),
                    DeclaredSpace::Local => builder.place_local(variable),
                    DeclaredSpace::Param => self
                        .parameter_registers(builder, variable)
                        .map(Binding::Registers),
                    DeclaredSpace::Global | DeclaredSpace::Const => {
                        // It keeps its value from call to call.
                        let index = self.tree.variables.len() + builder.program.variables.len();
                        builder.program.variables.push(variable.as_ref().clone());
                        Ok(Binding::Variable(index as u32, 0))
                    }
                    DeclaredSpace::Register => Err("registers are declared by `.reg`".into()),
                }
                .map_err(|failure| self.failure(failure, variable.name, ""))?;
                let name = variable.name.of(self.text);
                builder.element_bytes.insert(name, variable.element_bytes());
                builder.bind_variable(variable, binding);
            }
            Statement::Scope(inner) => self.scope(builder, body, inner)?,
            Statement::Instruction(instruction) => {
                let operands = body.operands(instruction);
                self.instruction(builder, instruction, operands)?;
            }
            // The scope has handled them.
            Statement::Label(_) | Statement::BranchTargets(..) | Statement::CallPrototype(..) => {}
        }
        Ok(())
    }

    fn registers(
        &self,
        builder: &mut Builder<'a, '_>,
        declaration: &ast::RegisterDeclaration,
    ) -> Result<(), Failure> {
        let name = declaration.name.of(self.text);
        // 128 bits are held as two halves.
        let (elements, ty) = match (declaration.elements, declaration.ty) {
            (1, Type::B128) => (2, Type::B64),
            (_, Type::B128) => return Err("there are no vectors of 128-bit registers".into()),
            other => other,
        };
        if elements != 1 {
            builder.has_vectors = true;
            if let Some(count) = declaration.count {
                builder.bind_vectors(name, count, elements, ty);
                return Ok(());
            }
            let elements = (0..elements)
                .map(|_| builder.new_register(ty))
                .collect::<Result<Vec<_>, _>>()?;
            builder.bind(name, Binding::Vector(elements, ty));
            return Ok(());
        }
        match declaration.count {
            Some(count) => builder.bind_range(name, count, declaration.ty),
            None => {
                let register = builder.new_register(declaration.ty)?;
                builder.bind(name, Binding::Register(register, declaration.ty));
            }
        }
        Ok(())
    }

    fn instruction(
        &mut self,
        builder: &mut Builder<'a, '_>,
        instruction: &Instruction,
        operands: &[ast::Operand],
    ) -> Result<(), KernelError> {
        let opcode = instruction.opcode.of(self.text);
        let mut parts = [""; MAX_PARTS];
        let (base, modifiers) = Modifiers::split(opcode, &mut parts)
            .map_err(|failure| self.failure(failure, instruction.span, opcode))?;
        builder.info = builder.program.info.len() as u32;
        builder.first = true;
        builder.program.info.push(Info {
            span: instruction.span,
            opcode: instruction.opcode,
            location: instruction.location,
            class: class::classify(base, modifiers.rest()),
        });
        let outcome = match instruction.guard {
            None => Ok(None),
            Some(guard) => builder.predicate(guard.predicate).map(|predicate| {
                Some(crate::ir::Guard {
                    predicate,
                    negated: guard.negated,
                })
            }),
        }
        .and_then(|guard| {
            builder.guard = guard;
            builder.dispatch(base, modifiers, operands)
        });
        builder.guard = None;
        outcome.map_err(|failure| self.failure(failure, instruction.span, opcode))
    }
}
