//! The names that a module declares: found once for all of its kernels.

use rustc_hash::FxHashMap;
use std::sync::OnceLock;

use super::scope::Binding;
use super::taken;
use crate::ir::SystemFunction;
use ptx_syntax::ast::{DeclaredSpace, Span, Tree};

/// What the names of a module refer to.
#[derive(Debug, Default)]
pub(crate) struct ModuleNames {
    /// Functions and variables; of shared variables those of dynamic shared memory alone.
    bindings: FxHashMap<Box<str>, Binding>,
    /// All shared variables, by their index. Static ones are placed when a kernel first names them.
    pub(super) shared: FxHashMap<Box<str>, u32>,
    /// Entries with a body.
    kernels: FxHashMap<Box<str>, usize>,
    /// Functions and shared variables whose names begin as those of registers do, so that bodies
    /// do not note where they use them. Hardly any module has one.
    pub(super) unnoted_functions: Vec<usize>,
    pub(super) unnoted_shared: Vec<u32>,
    /// Whether any name begins as those of registers do.
    pub(super) any_percent: bool,
    /// Found when a kernel with indirect calls asks for it: every body has to be read for it.
    taken: OnceLock<Box<[u32]>>,
}

impl ModuleNames {
    pub(crate) fn of(tree: &Tree, text: &str) -> Self {
        let mut names = ModuleNames::default();
        let is_noted = |name: Span| !name.of(text).starts_with('%');
        for (index, function) in tree.functions.iter().enumerate() {
            let name: Box<str> = function.name.of(text).into();
            if function.entry && function.body.is_some() {
                names.kernels.entry(name.clone()).or_insert(index);
            }
            if !function.entry && !is_noted(function.name) {
                names.unnoted_functions.push(index);
            }
            let binding = Binding::Function(index as u32);
            // A function may be declared in addition to its definition.
            match (function.body, SystemFunction::of_name(&name)) {
                (Some(_), _) => _ = names.bindings.insert(name, binding),
                (None, Some(system)) => {
                    _ = names
                        .bindings
                        .entry(name)
                        .or_insert(Binding::System(system));
                }
                (None, None) => _ = names.bindings.entry(name).or_insert(binding),
            }
        }
        for (alias, function) in &tree.aliases {
            if let Some(binding) = names.bindings.get(function.of(text)).cloned() {
                names.bindings.insert(alias.of(text).into(), binding);
            }
        }
        for (index, variable) in tree.variables.iter().enumerate() {
            let name: Box<str> = variable.name.of(text).into();
            let is_shared = variable.space == DeclaredSpace::Shared;
            if is_shared {
                names.shared.insert(name.clone(), index as u32);
                if !is_noted(variable.name) {
                    names.unnoted_shared.push(index as u32);
                }
            }
            let binding = match is_shared {
                true if variable.external || variable.bytes == 0 => Binding::DynamicShared,
                true => continue,
                false => Binding::Variable(index as u32),
            };
            // A declaration stands for the definition of its name, before or behind it.
            match variable.external && !is_shared {
                true => _ = names.bindings.entry(name).or_insert(binding),
                false => _ = names.bindings.insert(name, binding),
            }
        }
        let mut all = names.bindings.keys().chain(names.shared.keys());
        names.any_percent = all.any(|name| name.starts_with('%'));
        names
    }

    /// The entry of a name, which has a body.
    pub(crate) fn kernel(&self, name: &str) -> Option<usize> {
        self.kernels.get(name).copied()
    }

    /// The variable of a name.
    pub(crate) fn variable(&self, name: &str) -> Option<usize> {
        match self.bindings.get(name) {
            Some(Binding::Variable(index)) => Some(*index as usize),
            _ => self.shared.get(name).map(|&index| index as usize),
        }
    }

    /// The function of a name, with its body where there is one.
    pub(crate) fn function(&self, name: &str) -> Option<u32> {
        match self.bindings.get(name) {
            Some(Binding::Function(index)) => Some(*index),
            _ => None,
        }
    }

    /// The functions that an indirect call may reach.
    pub(super) fn taken(&self, tree: &Tree, text: &str) -> &[u32] {
        self.taken.get_or_init(|| taken::taken(tree, text, self))
    }

    pub(super) fn get(&self, name: &str) -> Option<&Binding> {
        self.bindings.get(name)
    }
}
