//! Forms beside those of the list: ptxas takes modifiers in many orders that the PTX ISA does not
//! write, and leaves out some that are mandatory there.

use std::collections::BTreeSet;

use super::table::{self, Form};

/// Whether a modifier goes with an operand, so that its place among others of its kind says which:
/// types and the layouts of matrices.
fn has_place(name: &str) -> bool {
    const LETTERS: [&str; 8] = ["ue", "bf", "tf", "b", "u", "s", "f", "e"];
    let numbers = LETTERS
        .iter()
        .filter_map(|letters| name.strip_prefix(letters));
    let is_type = numbers
        .into_iter()
        .any(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    is_type && !matches!(name, "f4e" | "b4e" | "b1024") || matches!(name, "pred" | "row" | "col")
}

/// What forms have in common whose modifiers are taken in the same orders: types stand for each
/// other, as do numbers within names.
fn kind(form: &Form) -> Vec<String> {
    let of_part = |name: &str| match has_place(name) {
        true => "type".to_string(),
        false => name.chars().filter(|c| !c.is_ascii_digit()).collect(),
    };
    form.opcode.split('.').map(of_part).collect()
}

/// One form of each kind that the decoder takes, with one of its modifiers moved to another place.
pub fn orders() -> Vec<Form> {
    let mut kinds = BTreeSet::new();
    let mut forms = table::forms();
    forms.retain(|form| table::is_decoded(form) && kinds.insert(kind(form)));
    forms.iter().flat_map(moved).collect()
}

fn moved(form: &Form) -> Vec<Form> {
    let parts: Vec<&str> = form.opcode.split('.').collect();
    let in_place = |parts: &[&str]| -> Vec<String> {
        let parts = parts.iter().filter(|name| has_place(name));
        parts.map(ToString::to_string).collect()
    };
    let mut found = BTreeSet::new();
    for from in 1..parts.len() {
        for to in 1..parts.len() {
            let mut moved = parts.clone();
            let part = moved.remove(from);
            moved.insert(to, part);
            if moved != parts && in_place(&moved) == in_place(&parts) {
                found.insert(moved.join("."));
            }
        }
    }
    let form = |opcode| Form {
        opcode,
        ..form.clone()
    };
    found.into_iter().map(form).collect()
}

/// The forms that the decoder takes, with one of their modifiers left out.
pub fn omissions() -> Vec<Form> {
    let mut forms = table::forms();
    forms.retain(table::is_decoded);
    let mut found = BTreeSet::new();
    for form in &forms {
        let parts: Vec<&str> = form.opcode.split('.').collect();
        for at in 1..parts.len() {
            let left = [&parts[..at], &parts[at + 1..]].concat().join(".");
            found.insert((left, form.operands.clone(), form.target));
        }
    }
    for form in forms {
        found.remove(&(form.opcode, form.operands, form.target));
    }
    let form = |(opcode, operands, target)| Form {
        opcode,
        operands,
        target,
    };
    found.into_iter().map(form).collect()
}
