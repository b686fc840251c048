//! Which top-level module of a crate uses which: every path resolved by the rules of Rust's module
//! tree.

use super::modules::{Import, ModuleId, Modules};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// How deep an import may lead to another one before it is taken for a cycle.
const MAX_IMPORT_DEPTH: usize = 16;

/// A crate's top-level modules, and which of them uses which.
#[derive(Debug, Default)]
pub struct Uses {
    /// Each module with its documentation's first sentence. What stands in the root itself has the
    /// root's name.
    pub modules: BTreeMap<String, String>,
    /// For each pair of a module and one that it uses: where.
    pub edges: BTreeMap<(String, String), BTreeSet<(PathBuf, usize)>>,
    /// First names of paths that lead out of the crate.
    pub outside: BTreeSet<String>,
}

impl Uses {
    /// The modules that `module` uses.
    pub fn of<'a>(&'a self, module: &'a str) -> impl Iterator<Item = &'a str> {
        self.edges
            .keys()
            .filter(move |(from, _)| from == module)
            .map(|(_, to)| to.as_str())
    }
}

/// Resolves the paths of a crate. `root` is what its root is called.
///
/// An exported import in the root is a name for others, and no use by the root: a path that goes
/// through it leads to the module behind it.
pub fn uses(modules: &Modules, root: &str) -> Uses {
    let resolver = Resolver { modules };
    let mut uses = Uses::default();
    for module in &modules.all {
        if let [name] = module.path.as_slice() {
            uses.modules.insert(name.clone(), module.summary.clone());
        }
    }
    let top = |module: ModuleId| {
        let path = &modules.all[module].path;
        path.first().map_or(root, String::as_str).to_owned()
    };
    for (id, module) in modules.all.iter().enumerate() {
        let mut add = |path: &[String], place: Resolved, line: usize| match place {
            Resolved::In(target) => {
                let (from, to) = (top(id), top(target));
                if from != to {
                    let places = uses.edges.entry((from, to)).or_default();
                    places.insert((module.file.clone(), line));
                }
            }
            Resolved::Outside => {
                if let Some(first) = path.first() {
                    uses.outside.insert(first.clone());
                }
            }
            Resolved::Nowhere => {}
        };
        for import in &module.imports {
            let place = resolver.import(id, import, MAX_IMPORT_DEPTH);
            // The root as a whole, by `*` or by another name: what it is imported for counts where
            // it is mentioned.
            let relative = ["crate", "self", "super"];
            let is_root = place == Resolved::In(0)
                && import
                    .path
                    .iter()
                    .all(|name| relative.contains(&name.as_str()));
            let passes_on = id == 0 && import.exported && place != Resolved::Outside;
            if !is_root && !passes_on {
                add(&import.path, place, import.line);
            }
        }
        for mention in &module.mentions {
            let place = if mention.call_of_macro && mention.path.len() == 1 {
                resolver.macro_call(id, &mention.path[0])
            } else {
                resolver.path(id, &mention.path, MAX_IMPORT_DEPTH)
            };
            add(&mention.path, place, mention.line);
        }
    }
    let has_root = |(from, to): &(String, String)| from == root || to == root;
    if uses.edges.keys().any(has_root) {
        let summary = "what stands in the crate's root".to_owned();
        uses.modules.insert(root.to_owned(), summary);
    }
    uses
}

/// Where a path leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Resolved {
    /// To this module, or to an item of it.
    In(ModuleId),
    /// To another crate.
    Outside,
    /// To a local name, a generic parameter, the prelude.
    Nowhere,
}

struct Resolver<'a> {
    modules: &'a Modules,
}

impl Resolver<'_> {
    fn path(&self, module: ModuleId, path: &[String], depth: usize) -> Resolved {
        let Some(first) = path.first() else {
            return Resolved::Nowhere;
        };
        let mut rest = &path[1..];
        let mut at = match first.as_str() {
            "crate" => 0,
            "self" => module,
            "super" => self.modules.all[module].parent,
            name => return self.relative(module, name, rest, depth),
        };
        while rest.first().is_some_and(|name| name == "super") {
            at = self.modules.all[at].parent;
            rest = &rest[1..];
        }
        self.below(at, rest, depth)
    }

    /// A path that begins with a name: of a module, an import or an item here, or else of another
    /// crate.
    fn relative(&self, module: ModuleId, first: &str, rest: &[String], depth: usize) -> Resolved {
        let here = &self.modules.all[module];
        if here.items.contains(first) {
            return Resolved::In(module);
        }
        if let Some(&child) = here.children.get(first)
            && !rest.is_empty()
        {
            return self.below(child, rest, depth);
        }
        let imported = |import: &&Import| import.name.as_deref() == Some(first);
        if let Some(import) = here.imports.iter().find(imported) {
            // `use name;` of another crate leads to itself.
            if depth == 0 || import.path.first().is_some_and(|name| name == first) {
                return Resolved::Outside;
            }
            let path: Vec<String> = import.path.iter().chain(rest).cloned().collect();
            return self.path(module, &path, depth - 1);
        }
        for import in here.imports.iter().filter(|import| import.glob) {
            if depth > 0
                && let Resolved::In(target) = self.import(module, import, depth - 1)
                && target != module
            {
                let place = self.named_in(target, first, rest, depth - 1);
                if place != Resolved::Nowhere {
                    return place;
                }
            }
        }
        let is_local = rest.is_empty() || first.starts_with(|c: char| c.is_uppercase());
        if is_local {
            Resolved::Nowhere
        } else {
            Resolved::Outside
        }
    }

    /// A name that a glob brings in from `module`, if it has that name.
    fn named_in(&self, module: ModuleId, first: &str, rest: &[String], depth: usize) -> Resolved {
        let there = &self.modules.all[module];
        let is_module = there.children.contains_key(first) && !rest.is_empty();
        let has_import = |import: &Import| import.name.as_deref() == Some(first);
        if !is_module && !there.items.contains(first) && !there.imports.iter().any(has_import) {
            return Resolved::Nowhere;
        }
        let path: Vec<String> = std::iter::once(first.to_owned())
            .chain(rest.iter().cloned())
            .collect();
        self.below(module, &path, depth)
    }

    /// A path inside of `module`. A module other than the root answers for what it passes on from
    /// others.
    fn below(&self, module: ModuleId, path: &[String], depth: usize) -> Resolved {
        let Some((first, rest)) = path.split_first() else {
            return Resolved::In(module);
        };
        let here = &self.modules.all[module];
        if let Some(&child) = here.children.get(first) {
            return self.below(child, rest, depth);
        }
        if module == 0 && !here.items.contains(first) {
            let behind = self.relative(0, first, rest, depth);
            if behind != Resolved::Nowhere {
                return behind;
            }
            // A macro with `#[macro_export]` is the root's, wherever it stands.
            if let Resolved::In(defined) = self.macro_call(0, first) {
                return Resolved::In(defined);
            }
        }
        Resolved::In(module)
    }

    fn import(&self, module: ModuleId, import: &Import, depth: usize) -> Resolved {
        match import.path.as_slice() {
            // In this edition a name without `crate` is another crate, unless a module here has
            // that name.
            [first, ..] if !matches!(first.as_str(), "crate" | "self" | "super") => {
                let here = &self.modules.all[module];
                if here.children.contains_key(first) {
                    self.below(module, &import.path, depth)
                } else if here.items.contains(first) {
                    Resolved::In(module)
                } else {
                    let others = here.imports.iter();
                    let mut others = others.filter(|other| other.name.as_ref() == Some(first));
                    match others.find(|other| *other != import && other.path.first() != Some(first))
                    {
                        Some(other) if depth > 0 => {
                            let rest = &import.path[1..];
                            let path: Vec<String> =
                                other.path.iter().chain(rest).cloned().collect();
                            self.path(module, &path, depth - 1)
                        }
                        _ => Resolved::Outside,
                    }
                }
            }
            path => self.path(module, path, depth),
        }
    }

    /// A macro called by its name alone: imported, or in scope since it was defined further up in
    /// the files.
    fn macro_call(&self, module: ModuleId, name: &str) -> Resolved {
        let here = &self.modules.all[module];
        if here.macros.contains(name) {
            return Resolved::In(module);
        }
        let imported = |import: &Import| import.name.as_deref() == Some(name);
        if here.imports.iter().any(imported) {
            return Resolved::Nowhere; // counted where it is imported
        }
        let defines = |module: &super::modules::Module| module.macros.contains(name);
        match self.modules.all.iter().position(defines) {
            Some(defined) => Resolved::In(defined),
            None => Resolved::Nowhere,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The edges of a crate given as one text, as `from -> to`.
    fn edges(text: &str) -> Vec<String> {
        let modules = Modules::of_text(text).unwrap();
        uses(&modules, "lib")
            .edges
            .keys()
            .map(|(from, to)| format!("{from} -> {to}"))
            .collect()
    }

    #[test]
    fn nested_trees_of_a_use_are_followed() {
        let text = "mod a { use crate::{b::{self, Item as Other}, c::{d::*, e}}; }
                    mod b { pub struct Item; } mod c { pub mod d {} pub fn e() {} }";
        assert_eq!(edges(text), ["a -> b", "a -> c"]);
    }

    #[test]
    fn self_and_super_are_relative_to_the_module() {
        let text = "mod a { mod inner { use super::super::b; use super::near; use self::below::X;
                        mod below { pub struct X; fn f() { super::super::super::c::g() } } }
                        fn near() {} }
                    mod b {} mod c { pub fn g() {} }";
        assert_eq!(edges(text), ["a -> b", "a -> c"]);
    }

    #[test]
    fn renamed_imports_are_seen_through() {
        let text = "mod a { use crate as root; use super::b as other; fn f() { root::c::g(); other::g(); } }
                    mod b { pub fn g() {} } mod c { pub fn g() {} }";
        assert_eq!(edges(text), ["a -> b", "a -> c"]);
    }

    #[test]
    fn paths_in_expressions_types_patterns_and_bounds_count() {
        let text = "mod a { struct S(crate::b::T); fn f<X: crate::c::Bound>() {
                        match 0 { crate::d::ZERO => crate::e::g::<crate::h::T>(), _ => {} } } }
                    mod b {} mod c {} mod d {} mod e {} mod h {}";
        let expected = ["a -> b", "a -> c", "a -> d", "a -> e", "a -> h"];
        assert_eq!(edges(text), expected);
    }

    #[test]
    fn macros_are_searched_for_paths() {
        let text = "mod a { macro_rules! m { () => { $crate::b::f(); use crate::{c, d::X}; } }
                        fn f() { println!(\"{}\", crate::e::F); } }
                    mod b {} mod c {} mod d {} mod e {}";
        let expected = ["a -> b", "a -> c", "a -> d", "a -> e"];
        assert_eq!(edges(text), expected);
    }

    #[test]
    fn super_in_the_body_of_a_macro_is_that_of_its_caller() {
        let text = "mod a { macro_rules! m { () => { super::X + $crate::b::Y } }
                        mod below { m!(); } const X: u32 = 1; }
                    mod b {}";
        assert_eq!(edges(text), ["a -> b"]);
    }

    #[test]
    fn a_macro_called_by_name_is_an_edge_to_where_it_is_defined() {
        let text = "#[macro_use] mod a { macro_rules! m { () => {} } } mod b { m!(); }
                    mod c { fn f() { crate::exported!(); } }
                    mod d { #[macro_export] macro_rules! exported { () => {} } }";
        assert_eq!(edges(text), ["b -> a", "c -> d"]);
    }

    #[test]
    fn test_code_is_left_out() {
        let text =
            "mod a { #[cfg(test)] mod tests { use crate::b; } #[cfg(test)] use crate::b as x;
                        #[cfg(all(test, unix))] fn f() { crate::b::f() }
                        #[test] fn g() { crate::b::f() }
                        #[cfg(any(test, unix))] fn h() { crate::c::f() }
                        #[cfg(not(test))] fn i() { crate::d::f() } }
                    mod b {} mod c {} mod d {}";
        assert_eq!(edges(text), ["a -> c", "a -> d"]);
    }

    #[test]
    fn what_the_root_exports_leads_to_the_module_behind_it() {
        let text = "mod a { use crate::{Kernel, Launch}; } mod b { pub struct Kernel; } mod c { pub struct Launch; }
                    pub use b::Kernel; pub use c::*;";
        assert_eq!(edges(text), ["a -> b", "a -> c"]);
    }

    #[test]
    fn items_of_the_root_are_the_root() {
        let text = "pub const MAX: u32 = 1; mod a { fn f() -> u32 { crate::MAX } } mod b {}
                    fn g() { b::h(); }";
        assert_eq!(edges(text), ["a -> lib", "lib -> b"]);
    }

    #[test]
    fn globs_bring_in_names() {
        let text = "mod a { use super::*; fn f(x: Shape) { b::g(); } } mod b {} mod c { pub struct Shape; }
                    use c::Shape; mod d { use super::*; fn f(b: u32) -> u32 { b } }";
        assert_eq!(edges(text), ["a -> b", "a -> c", "lib -> c"]);
    }

    #[test]
    fn attributes_count_and_visibilities_do_not() {
        let text = "mod a { pub(in crate::b) struct S; #[serde(with = \"crate::c\")] struct T;
                        #[derive(crate::d::Derive)] struct U; }
                    mod b {} mod c {} mod d {}";
        assert_eq!(edges(text), ["a -> c", "a -> d"]);
    }

    #[test]
    fn other_crates_are_told_apart() {
        let text =
            "mod a { use ptx_emulator::Kernel; fn f() { half::f16::from_f32(1.0); b::g(); } }
                    mod b {} pub use cuda_std::thread;";
        let uses = uses(&Modules::of_text(text).unwrap(), "lib");
        assert!(uses.edges.is_empty());
        for name in ["ptx_emulator", "half", "cuda_std"] {
            assert!(uses.outside.contains(name), "{name}");
        }
    }
}
