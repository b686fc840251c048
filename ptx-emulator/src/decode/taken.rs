//! Which functions an indirect call may reach: those whose address the module takes.

use super::names::ModuleNames;
use ptx_syntax::ast::{Body, Initializer, LineTable, Operand, Span, Statement, Tree};
use rustc_hash::FxHashSet;

/// The functions with a body whose address stands in an initialiser of a variable or in an
/// instruction of any body, in the order of the text. One kernel may store an address that another
/// one calls, so all bodies count; one that cannot be parsed takes none, since it never runs.
pub(super) fn taken(tree: &Tree, text: &str, names: &ModuleNames) -> Box<[u32]> {
    let mut taken = FxHashSet::default();
    let mut note = |name: Span| taken.extend(names.function(name.of(text)));
    for variable in &tree.variables {
        of_initializer(&variable.initializer, &mut note);
    }
    for body in tree.functions.iter().filter_map(|function| function.body) {
        let mut lines = LineTable::default();
        if let Ok(body) = ptx_syntax::parse_body(text, body, &mut lines) {
            of_statements(&body, &body.statements, text, &mut note);
            body.elements.iter().filter_map(named).for_each(&mut note);
        }
    }
    let has_body = |index: &u32| {
        let function = &tree.functions[*index as usize];
        !function.entry && function.body.is_some()
    };
    let mut taken: Box<[u32]> = taken.into_iter().filter(has_body).collect();
    taken.sort_unstable();
    taken
}

fn of_initializer(initializer: &[Initializer], note: &mut impl FnMut(Span)) {
    for value in initializer {
        if let Initializer::Symbol { name, .. } = value {
            note(*name);
        }
    }
}

fn of_statements(body: &Body, statements: &[Statement], text: &str, note: &mut impl FnMut(Span)) {
    for statement in statements {
        match statement {
            Statement::Scope(inner) => of_statements(body, inner, text, note),
            Statement::Variable(variable) => of_initializer(&variable.initializer, note),
            Statement::Instruction(instruction) => {
                let is_call = instruction.opcode.of(text).split('.').next() == Some("call");
                let operands = body.operands(instruction).iter().filter_map(named);
                // The first name of a call is what it calls.
                operands.skip(usize::from(is_call)).for_each(&mut *note);
            }
            _ => {}
        }
    }
}

fn named(operand: &Operand) -> Option<Span> {
    match operand {
        Operand::Name(name)
        | Operand::NameOffset(name, _)
        | Operand::Element(name, _)
        | Operand::IndexedElement { array: name, .. } => Some(*name),
        _ => None,
    }
}
