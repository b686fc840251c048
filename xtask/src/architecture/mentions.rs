//! What one module's items define, import and mention: the syntax alone, nothing resolved.

use super::modules::Import;
use proc_macro2::{Delimiter, Ident, TokenStream, TokenTree};
use std::collections::BTreeSet;
use syn::visit::{self, Visit};
use syn::{Attribute, ImplItem, Item, ItemMacro, ItemUse, Meta, Stmt, UseTree, Visibility};

/// A path in code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mention {
    /// Its names. `$crate` is `crate`.
    pub path: Vec<String>,
    /// Whether it names a macro that is called.
    pub call_of_macro: bool,
    /// Line in the file.
    pub line: usize,
}

/// What was found in a module, the modules in it apart.
#[derive(Debug, Default)]
pub struct Found {
    /// Names of items.
    pub items: BTreeSet<String>,
    /// Names of macros by `macro_rules!`.
    pub macros: BTreeSet<String>,
    /// Every `use`, also those inside functions.
    pub imports: Vec<Import>,
    /// Paths in expressions, types, patterns, attributes and in what macros are given.
    pub mentions: Vec<Mention>,
}

/// Looks through a module's items. Test code and modules inside are skipped.
pub fn collect(items: &[Item]) -> Found {
    let mut found = Found::default();
    for item in items {
        if !is_test_only(attributes(item)) {
            found.note_name(item);
        }
        found.visit_item(item);
    }
    found
}

/// An identifier without `r#`.
pub fn plain(ident: &Ident) -> String {
    let name = ident.to_string();
    name.strip_prefix("r#").unwrap_or(&name).to_owned()
}

/// Whether attributes leave their item out of all but test builds: `#[test]`, or a `#[cfg]` that
/// implies `test`.
pub fn is_test_only(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        if attribute.path().is_ident("test") {
            return true;
        }
        attribute.path().is_ident("cfg")
            && attribute
                .parse_args::<Meta>()
                .is_ok_and(|predicate| implies_test(&predicate))
    })
}

fn implies_test(predicate: &Meta) -> bool {
    let Meta::List(list) = predicate else {
        return predicate.path().is_ident("test");
    };
    let Ok(parts) =
        list.parse_args_with(syn::punctuated::Punctuated::<Meta, syn::Token![,]>::parse_terminated)
    else {
        return false;
    };
    if list.path.is_ident("all") {
        parts.iter().any(implies_test)
    } else {
        list.path.is_ident("any") && !parts.is_empty() && parts.iter().all(implies_test)
    }
}

impl Found {
    fn note_name(&mut self, item: &Item) {
        let name = match item {
            Item::Const(item) => &item.ident,
            Item::Enum(item) => &item.ident,
            Item::Fn(item) => &item.sig.ident,
            Item::Static(item) => &item.ident,
            Item::Struct(item) => &item.ident,
            Item::Trait(item) => &item.ident,
            Item::TraitAlias(item) => &item.ident,
            Item::Type(item) => &item.ident,
            Item::Union(item) => &item.ident,
            Item::Macro(item) => {
                if let (Some(name), true) = (&item.ident, item.mac.path.is_ident("macro_rules")) {
                    self.macros.insert(plain(name));
                }
                return;
            }
            _ => return,
        };
        self.items.insert(plain(name));
    }

    fn mention(&mut self, path: Vec<String>, call_of_macro: bool, line: usize) {
        self.mentions.push(Mention {
            path,
            call_of_macro,
            line,
        });
    }

    fn add_use(&mut self, item: &ItemUse) {
        let exported = !matches!(item.vis, Visibility::Inherited);
        self.add_tree(&item.tree, &[], exported);
    }

    fn add_tree(&mut self, tree: &UseTree, before: &[String], exported: bool) {
        let mut path = before.to_vec();
        let (name, glob, span) = match tree {
            UseTree::Group(group) => {
                for tree in &group.items {
                    self.add_tree(tree, before, exported);
                }
                return;
            }
            UseTree::Path(tree) => {
                path.push(plain(&tree.ident));
                return self.add_tree(&tree.tree, &path, exported);
            }
            UseTree::Glob(tree) => (None, true, tree.star_token.span),
            UseTree::Name(tree) => {
                if tree.ident != "self" || path.is_empty() {
                    path.push(plain(&tree.ident));
                }
                (path.last().cloned(), false, tree.ident.span())
            }
            UseTree::Rename(tree) => {
                if tree.ident != "self" || path.is_empty() {
                    path.push(plain(&tree.ident));
                }
                let name = plain(&tree.rename);
                ((name != "_").then_some(name), false, tree.ident.span())
            }
        };
        self.imports.push(Import {
            name,
            path,
            glob,
            exported,
            line: span.start().line,
        });
    }

    /// Paths in what a macro is given, which need not be Rust's syntax.
    fn add_tokens(&mut self, tokens: TokenStream) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut at = 0;
        while at < tokens.len() {
            match &tokens[at] {
                TokenTree::Group(group) => {
                    self.add_tokens(group.stream());
                    at += 1;
                }
                TokenTree::Ident(_) => at = self.add_token_path(&tokens, at, &[]),
                TokenTree::Literal(_) | TokenTree::Punct(_) => at += 1,
            }
        }
    }

    /// The path that begins with the identifier at `at`, behind `before`. Returns where it ends.
    fn add_token_path(&mut self, tokens: &[TokenTree], mut at: usize, before: &[String]) -> usize {
        let mut path = before.to_vec();
        let mut line = 0;
        while let Some(TokenTree::Ident(ident)) = tokens.get(at) {
            path.push(plain(ident));
            line = ident.span().start().line;
            at += 1;
            if !is_double_colon(&tokens[at.min(tokens.len())..]) {
                break;
            }
            at += 2;
            // `crate::{a, b::c}`: a `use` that a macro writes.
            if let Some(TokenTree::Group(group)) = tokens.get(at)
                && group.delimiter() == Delimiter::Brace
            {
                self.add_token_group(group.stream(), &path);
                return at + 1;
            }
        }
        if path.len() > 1 {
            // Behind `!` the arguments of a macro come, or the `=` of a comparison.
            let call_of_macro =
                is_punctuation(tokens.get(at), '!') && !is_punctuation(tokens.get(at + 1), '=');
            self.mention(path, call_of_macro, line);
        }
        at
    }

    fn add_token_group(&mut self, tokens: TokenStream, before: &[String]) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut at = 0;
        while at < tokens.len() {
            at = match &tokens[at] {
                TokenTree::Ident(_) => self.add_token_path(&tokens, at, before),
                _ => at + 1,
            };
        }
    }
}

fn is_punctuation(token: Option<&TokenTree>, character: char) -> bool {
    matches!(token, Some(TokenTree::Punct(found)) if found.as_char() == character)
}

fn is_double_colon(tokens: &[TokenTree]) -> bool {
    is_punctuation(tokens.first(), ':') && is_punctuation(tokens.get(1), ':')
}

impl<'ast> Visit<'ast> for Found {
    fn visit_item(&mut self, item: &'ast Item) {
        // A module is looked through by itself.
        if !matches!(item, Item::Mod(_)) && !is_test_only(attributes(item)) {
            visit::visit_item(self, item);
        }
    }

    fn visit_impl_item(&mut self, item: &'ast ImplItem) {
        let attributes = match item {
            ImplItem::Const(item) => &item.attrs,
            ImplItem::Fn(item) => &item.attrs,
            ImplItem::Type(item) => &item.attrs,
            ImplItem::Macro(item) => &item.attrs,
            _ => return,
        };
        if !is_test_only(attributes) {
            visit::visit_impl_item(self, item);
        }
    }

    fn visit_stmt(&mut self, statement: &'ast Stmt) {
        let attributes: &[Attribute] = match statement {
            Stmt::Local(local) => &local.attrs,
            Stmt::Macro(call) => &call.attrs,
            Stmt::Item(_) | Stmt::Expr(..) => &[],
        };
        if !is_test_only(attributes) {
            visit::visit_stmt(self, statement);
        }
    }

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        self.add_use(item);
    }

    /// `pub(in path)` restricts, and uses nothing.
    fn visit_visibility(&mut self, _: &'ast Visibility) {}

    fn visit_attribute(&mut self, attribute: &'ast Attribute) {
        if attribute.path().is_ident("doc") {
            return;
        }
        match &attribute.meta {
            Meta::List(list) => {
                self.add_tokens(list.tokens.clone());
                self.add_quoted_paths(list.tokens.clone());
            }
            meta => visit::visit_meta(self, meta),
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let names: Vec<String> = path.segments.iter().map(|s| plain(&s.ident)).collect();
        let line = path
            .segments
            .first()
            .map_or(0, |first| first.ident.span().start().line);
        self.mention(names, false, line);
        visit::visit_path(self, path);
    }

    fn visit_item_macro(&mut self, item: &'ast ItemMacro) {
        if !item.mac.path.is_ident("macro_rules") {
            return visit::visit_item_macro(self, item);
        }
        // `self` and `super` in a macro's body are those of the module that calls it, which is not
        // known here.
        let before = self.mentions.len();
        self.add_tokens(item.mac.tokens.clone());
        let found = self.mentions.split_off(before);
        let is_relative = |mention: &Mention| matches!(mention.path[0].as_str(), "self" | "super");
        self.mentions
            .extend(found.into_iter().filter(|mention| !is_relative(mention)));
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        let names: Vec<String> = call.path.segments.iter().map(|s| plain(&s.ident)).collect();
        let line = call
            .path
            .segments
            .first()
            .map_or(0, |first| first.ident.span().start().line);
        self.mention(names, true, line);
        self.add_tokens(call.tokens.clone());
    }
}

impl Found {
    /// Paths of this crate in an attribute's strings: `#[serde(with = "crate::element")]`.
    fn add_quoted_paths(&mut self, tokens: TokenStream) {
        for token in tokens {
            match token {
                TokenTree::Group(group) => self.add_quoted_paths(group.stream()),
                TokenTree::Literal(literal) => {
                    let text = literal.to_string();
                    let text = text.trim_matches('"');
                    if text.starts_with("crate::")
                        && let Ok(path) = syn::parse_str::<syn::Path>(text)
                    {
                        let names = path.segments.iter().map(|s| plain(&s.ident)).collect();
                        self.mention(names, false, literal.span().start().line);
                    }
                }
                TokenTree::Ident(_) | TokenTree::Punct(_) => {}
            }
        }
    }
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::ExternCrate(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::ForeignMod(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::TraitAlias(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Union(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}
