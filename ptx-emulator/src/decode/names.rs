//! The names that a module declares: found once for all of its kernels.

use rustc_hash::FxHashMap;
use std::sync::OnceLock;

use super::scope::{Binding, split_number};
use super::taken;
use crate::ir::SystemFunction;
use ptx_syntax::ast::{DeclaredSpace, Span, Tree};

/// What the names of a module refer to.
#[derive(Debug, Default)]
pub(crate) struct ModuleNames {
    /// Functions and variables; of shared variables those of dynamic shared memory alone.
    bindings: FxHashMap<Box<str>, Binding>,
    /// All shared variables, by their index. Static ones are placed when a kernel first names them.
    shared: FxHashMap<Box<str>, u32>,
    /// Variables that one declaration names by number.
    numbered: Vec<NumberedVariables>,
    /// Entries with a body.
    kernels: FxHashMap<Box<str>, usize>,
    /// Functions and shared variables whose names begin as those of registers do, so that bodies
    /// do not note where they use them. Hardly any module has one.
    pub(super) unnoted_functions: Vec<usize>,
    pub(super) unnoted_shared: Vec<u32>,
    /// Whether any name begins as those of registers do.
    pub(super) any_percent: bool,
    /// Whether an instruction is one of a pair of blocks.
    pub(super) names_pairs: bool,
    /// Found when a kernel with indirect calls asks for it: every body has to be read for it.
    taken: OnceLock<Box<[u32]>>,
}

/// `.global .b32 g<16>;`
#[derive(Debug)]
struct NumberedVariables {
    prefix: Box<str>,
    count: u32,
    stride: u64,
    /// Their index, which is one for all.
    index: u32,
    is_shared: bool,
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
            if let Some(count) = variable.count {
                names.numbered.push(NumberedVariables {
                    prefix: name,
                    count,
                    stride: variable.stride(),
                    index: index as u32,
                    is_shared,
                });
                if is_shared && !is_noted(variable.name) {
                    names.unnoted_shared.push(index as u32);
                }
                continue;
            }
            if is_shared {
                names.shared.insert(name.clone(), index as u32);
                if !is_noted(variable.name) {
                    names.unnoted_shared.push(index as u32);
                }
            }
            // One of known size is the kernel's own, also where it is `.extern` and not defined, as
            // Taichi's are.
            let binding = match is_shared {
                true if variable.bytes == 0 => Binding::DynamicShared,
                true => continue,
                false => Binding::Variable(index as u32, 0),
            };
            // A declaration stands for the definition of its name, before or behind it.
            match variable.external && !is_shared {
                true => _ = names.bindings.entry(name).or_insert(binding),
                false => _ = names.bindings.insert(name, binding),
            }
        }
        let numbered = names.numbered.iter().map(|all| &all.prefix);
        let mut all = names
            .bindings
            .keys()
            .chain(names.shared.keys())
            .chain(numbered);
        names.any_percent = all.any(|name| name.starts_with('%'));
        // They came with compute capability 10.0.
        names.names_pairs = tree.target.starts_with("sm_1") && text.contains(".cta_group::2");
        names
    }

    /// The entry of a name, which has a body.
    pub(crate) fn kernel(&self, name: &str) -> Option<usize> {
        self.kernels.get(name).copied()
    }

    /// The variable of a name: its index, and bytes behind the start.
    pub(crate) fn variable(&self, name: &str) -> Option<(usize, u64)> {
        match self.get(name) {
            Some(Binding::Variable(index, start)) => Some((index as usize, start)),
            _ => self.shared(name).map(|index| (index as usize, 0)),
        }
    }

    /// The shared variable of a name, or those that are declared with it.
    pub(super) fn shared(&self, name: &str) -> Option<u32> {
        let single = self.shared.get(name).copied();
        let of_numbered = || Some(self.numbered(name, true)?.0.index);
        single.or_else(of_numbered)
    }

    /// The declaration of a name with a number, and the number.
    fn numbered(&self, name: &str, is_shared: bool) -> Option<(&NumberedVariables, u32)> {
        if self.numbered.is_empty() {
            return None;
        }
        let (prefix, number) = split_number(name)?;
        let mut all = self.numbered.iter();
        let found = all.find(|all| {
            *all.prefix == *prefix && number < all.count && all.is_shared == is_shared
        })?;
        Some((found, number))
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

    pub(super) fn get(&self, name: &str) -> Option<Binding> {
        let of_numbered = || {
            let (all, number) = self.numbered(name, false)?;
            let start = u64::from(number) * all.stride;
            Some(Binding::Variable(all.index, start))
        };
        self.bindings.get(name).cloned().or_else(of_numbered)
    }
}
