//! Decoding for stepping: names, one basic block for each PTX instruction, and what each writes.

use super::builder::{BlockDraft, Builder};
use super::layout::redirect;
use super::registers::{Role, Visitor};
use super::scope::{Binding, Scope};
use crate::ir::{FunctionSymbol, Inst, Label, NamedRegister, Program, Register, Terminator};
use ptx_syntax::ast::Type;

/// Keeps the registers of a scope that ends; `first` is the first instruction in it.
pub(super) fn note_registers(program: &mut Program, scope: &Scope<'_>, first: u32) {
    let end = program.info.len() as u32;
    let Some(symbols) = &mut program.symbols else {
        return;
    };
    let mut found: Vec<(String, Register, Type)> = Vec::new();
    for range in &scope.ranges {
        let numbered = (0..).zip(&range.registers);
        found.extend(numbered.filter_map(|(index, register): (u32, _)| {
            Some((format!("{}{index}", range.prefix), (*register)?, range.ty))
        }));
    }
    for (name, binding) in &scope.names {
        match binding {
            Binding::Register(register, ty) => found.push((name.to_string(), *register, *ty)),
            Binding::Vector(registers, ty) => {
                let elements = ["x", "y", "z", "w"].iter().zip(registers);
                found.extend(
                    elements
                        .map(|(element, &register)| (format!("{name}.{element}"), register, *ty)),
                );
            }
            _ => {}
        }
    }
    found.sort_by(|one, other| in_order(&one.0).cmp(&in_order(&other.0)));
    let kept = found.into_iter().map(|(name, register, ty)| NamedRegister {
        name,
        register,
        ty,
        scope: first..end,
    });
    symbols.registers.extend(kept);
}

/// `%r2` comes before `%r10`.
fn in_order(name: &str) -> (&str, usize, &str) {
    let prefix = name.trim_end_matches(|character: char| character.is_ascii_digit());
    (prefix, name.len(), name)
}

/// Keeps a function, and the registers of its own scope; `first` is its first instruction.
pub(super) fn note_function(builder: &mut Builder<'_, '_>, name: &str, first: u32) {
    if builder.program.symbols.is_none() {
        return;
    }
    for scope in &builder.scopes {
        note_registers(builder.program, scope, first);
    }
    let end = builder.program.info.len() as u32;
    if let Some(symbols) = &mut builder.program.symbols {
        symbols.functions.push(FunctionSymbol {
            name: name.to_string(),
            infos: first..end,
        });
    }
}

/// Keeps a label before the next instruction.
pub(super) fn note_label(builder: &mut Builder<'_, '_>, name: &str) {
    let info = builder.program.info.len() as u32;
    if let Some(symbols) = &mut builder.program.symbols {
        symbols.labels.push(Label {
            name: name.to_string(),
            info,
        });
    }
}

/// Splits blocks, which are in their order already, between the PTX instructions. The order of the
/// blocks, and so that of diverged lanes, stays as it is.
pub(super) fn split(drafts: Vec<BlockDraft>) -> Vec<BlockDraft> {
    let mut parts: Vec<BlockDraft> = Vec::new();
    let mut places = Vec::with_capacity(drafts.len());
    // Blocks whose terminator names blocks from before.
    let mut ends = Vec::with_capacity(drafts.len());
    for draft in drafts {
        places.push(parts.len() as u32);
        let mut part = BlockDraft {
            members: draft.members,
            ..BlockDraft::default()
        };
        let close = |part: &mut BlockDraft, parts: &mut Vec<BlockDraft>| {
            part.terminator = Some((Terminator::Jump(parts.len() as u32 + 1), None));
            parts.push(std::mem::take(part));
        };
        for inst in draft.insts {
            let last = part.insts.last();
            if last.is_some_and(|last: &Inst| last.info != inst.info) {
                close(&mut part, &mut parts);
            }
            part.insts.push(inst);
        }
        let of_terminator = draft.terminator.as_ref().and_then(|(_, info)| *info);
        if let (Some(last), Some(info)) = (part.insts.last(), of_terminator)
            && last.info != info
        {
            close(&mut part, &mut parts);
        }
        part.terminator = draft.terminator;
        ends.push(parts.len());
        parts.push(part);
    }
    for end in ends {
        if let Some((terminator, _)) = &mut parts[end].terminator {
            redirect(terminator, |block| places[block as usize]);
        }
    }
    parts
}

/// Keeps which registers the operations of a block write. The block is the next of the program.
pub(super) fn note_writes(program: &mut Program, insts: &[Inst], terminator: &mut Terminator) {
    let Some(mut symbols) = program.symbols.take() else {
        return;
    };
    let mut first = symbols.writes.len() as u32;
    let mut end = |writes: &[Register]| {
        let end = writes.len() as u32;
        std::mem::replace(&mut first, end)..end
    };
    for inst in insts {
        noting(&mut symbols.writes).op(&mut { inst.op }, program);
        symbols.of_code.push(end(&symbols.writes));
    }
    noting(&mut symbols.writes).terminator(terminator);
    symbols.of_terminators.push(end(&symbols.writes));
    program.symbols = Some(symbols);
}

/// Adds the registers that are written to a list.
fn noting(writes: &mut Vec<Register>) -> Visitor<impl FnMut(Role, Register) -> Register + '_> {
    Visitor(|role, register| {
        if role == Role::Define {
            writes.push(register);
        }
        register
    })
}
