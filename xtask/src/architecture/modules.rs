//! A crate's modules, read from its files: what each defines, imports and mentions.
//!
//! What is compiled for tests only is left out. Modules are found by their declarations, as the
//! compiler finds them.

use super::mentions::{self, Mention};
use anyhow::{Context, Result, bail};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use syn::{Attribute, Expr, Item, Lit, Meta};

/// Index of a module in [`Modules::all`]; the crate's root is 0.
pub type ModuleId = usize;

/// The modules of a crate.
#[derive(Debug, Default)]
pub struct Modules {
    /// All of them, the root first.
    pub all: Vec<Module>,
}

/// A module of a crate.
#[derive(Debug, Default)]
pub struct Module {
    /// Names from the crate's root to here.
    pub path: Vec<String>,
    /// The module that it is declared in. The root is its own.
    pub parent: ModuleId,
    /// Its file.
    pub file: PathBuf,
    /// The first sentence of its documentation.
    pub summary: String,
    /// Modules declared in it.
    pub children: BTreeMap<String, ModuleId>,
    /// Names of its items, modules apart.
    pub items: BTreeSet<String>,
    /// What it imports by `use`.
    pub imports: Vec<Import>,
    /// Paths in its code.
    pub mentions: Vec<Mention>,
    /// Macros defined in it.
    pub macros: BTreeSet<String>,
}

/// Where a module's text is.
#[derive(Clone, Copy)]
struct Source<'a> {
    file: &'a Path,
    /// Where the files of its modules are.
    folder: &'a Path,
    /// Whether it is the whole file, and not in braces.
    is_whole_file: bool,
}

/// One name brought in by a `use`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Import {
    /// The name here; none for `*` and for `as _`.
    pub name: Option<String>,
    /// The path, without a last `self`.
    pub path: Vec<String>,
    /// Whether all names of `path` are imported.
    pub glob: bool,
    /// Whether others see it: `pub use`, `pub(crate) use`.
    pub exported: bool,
    /// Line in the file.
    pub line: usize,
}

/// What the root is called among its modules.
pub fn name_of_root(library: bool) -> &'static str {
    if library { "lib" } else { "main" }
}

impl Modules {
    /// Reads the crate whose root is `file`.
    ///
    /// # Errors
    ///
    /// Where a file is missing or is not Rust.
    pub fn read(file: &Path) -> Result<Self> {
        let mut modules = Self::default();
        let text = std::fs::read_to_string(file)
            .with_context(|| format!("cannot read {}", file.display()))?;
        let folder = file.parent().unwrap_or(Path::new(".")).to_owned();
        modules.add_file(Vec::new(), 0, file, &text, &folder)?;
        Ok(modules)
    }

    /// The crate in a text, where all modules are in the one file.
    #[cfg(test)]
    pub fn of_text(text: &str) -> Result<Self> {
        let mut modules = Self::default();
        modules.add_file(Vec::new(), 0, Path::new("lib.rs"), text, Path::new("."))?;
        Ok(modules)
    }

    fn add_file(
        &mut self,
        path: Vec<String>,
        parent: ModuleId,
        file: &Path,
        text: &str,
        folder: &Path,
    ) -> Result<ModuleId> {
        let parsed = syn::parse_file(text)
            .map_err(|error| anyhow::anyhow!("{}: {error}", place(file, &error)))?;
        let source = Source {
            file,
            folder,
            is_whole_file: true,
        };
        self.add(path, parent, source, &parsed.attrs, &parsed.items)
    }

    /// Adds a module and those below it.
    fn add(
        &mut self,
        path: Vec<String>,
        parent: ModuleId,
        source: Source<'_>,
        attributes: &[Attribute],
        items: &[Item],
    ) -> Result<ModuleId> {
        let Source { file, folder, .. } = source;
        let id = self.all.len();
        self.all.push(Module {
            path: path.clone(),
            parent,
            file: file.to_owned(),
            summary: summary(attributes),
            ..Module::default()
        });
        let found = mentions::collect(items);
        let module = &mut self.all[id];
        module.items = found.items;
        module.imports = found.imports;
        module.mentions = found.mentions;
        module.macros = found.macros;
        for item in items {
            let Item::Mod(declared) = item else { continue };
            if mentions::is_test_only(&declared.attrs) {
                continue;
            }
            let name = mentions::plain(&declared.ident);
            let mut child_path = path.clone();
            child_path.push(name.clone());
            let child = if let Some((_, items)) = &declared.content {
                let inside = Source {
                    file,
                    folder: &folder.join(&name),
                    is_whole_file: false,
                };
                self.add(child_path, id, inside, &declared.attrs, items)?
            } else {
                // `#[path]` in a file is relative to that file's folder, and in braces to the
                // folder of its modules.
                let base = match file.parent() {
                    Some(parent) if source.is_whole_file => parent,
                    _ => folder,
                };
                let (child_file, child_folder) =
                    file_of(base, folder, &name, path_attribute(&declared.attrs))?;
                let text = std::fs::read_to_string(&child_file)
                    .with_context(|| format!("cannot read {}", child_file.display()))?;
                let child = self.add_file(child_path, id, &child_file, &text, &child_folder)?;
                if self.all[child].summary.is_empty() {
                    self.all[child].summary = summary(&declared.attrs);
                }
                child
            };
            // Two declarations of one name stand for two configurations. Both are read; paths go to
            // the first.
            self.all[id].children.entry(name).or_insert(child);
        }
        Ok(id)
    }
}

/// The file of module `name`, and the folder of its own modules.
fn file_of(
    base: &Path,
    folder: &Path,
    name: &str,
    path: Option<String>,
) -> Result<(PathBuf, PathBuf)> {
    if let Some(path) = path {
        let file = base.join(path);
        let folder = file.parent().unwrap_or(base).to_owned();
        return Ok((file, folder));
    }
    let own_folder = folder.join(name);
    for file in [folder.join(format!("{name}.rs")), own_folder.join("mod.rs")] {
        if file.is_file() {
            return Ok((file, own_folder));
        }
    }
    bail!(
        "module `{name}` has no file in {}: neither {name}.rs nor {name}/mod.rs",
        folder.display()
    )
}

fn path_attribute(attributes: &[Attribute]) -> Option<String> {
    attributes
        .iter()
        .find(|attribute| attribute.path().is_ident("path"))
        .and_then(|attribute| string_value(&attribute.meta))
}

fn string_value(meta: &Meta) -> Option<String> {
    let Meta::NameValue(pair) = meta else {
        return None;
    };
    match &pair.value {
        Expr::Lit(literal) => match &literal.lit {
            Lit::Str(text) => Some(text.value()),
            _ => None,
        },
        _ => None,
    }
}

/// The first sentence of a documentation, on one line and without links' brackets.
fn summary(attributes: &[Attribute]) -> String {
    let mut lines = Vec::new();
    for attribute in attributes {
        if !attribute.path().is_ident("doc") {
            continue;
        }
        let Some(text) = string_value(&attribute.meta) else {
            continue;
        };
        let text = text.trim();
        if text.is_empty() && !lines.is_empty() {
            break;
        }
        if !text.is_empty() {
            lines.push(text.to_owned());
        }
    }
    first_sentence(&lines.join(" "))
}

fn first_sentence(text: &str) -> String {
    let end = text.find(". ").unwrap_or(text.len());
    let sentence = text[..end].trim_end_matches(['.', ':']);
    without_links(sentence).replace('|', "\\|")
}

/// Links in Markdown without brackets and target: the picture stands where these links lead
/// nowhere.
fn without_links(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some(begin) = rest.find('[') {
        let Some(length) = rest[begin..].find(']') else {
            break;
        };
        let (inside, behind) = (
            &rest[begin + 1..begin + length],
            &rest[begin + length + 1..],
        );
        let target = behind.starts_with('(').then(|| behind.find(')')).flatten();
        if target.is_some() || inside.starts_with('`') {
            plain.push_str(&rest[..begin]);
            plain.push_str(inside);
        } else {
            plain.push_str(&rest[..begin + length + 1]);
        }
        rest = target.map_or(behind, |end| &behind[end + 1..]);
    }
    plain + rest
}

fn place(file: &Path, error: &syn::Error) -> String {
    format!("{}:{}", file.display(), error.span().start().line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_is_the_first_sentence_of_the_first_paragraph() {
        let file: syn::File = syn::parse_quote! {
            //! How launches are timed, and
            //! [`Statistics`] of them. More of it.
            //!
            //! Other paragraph.
        };
        assert_eq!(
            summary(&file.attrs),
            "How launches are timed, and `Statistics` of them"
        );
    }

    #[test]
    fn links_are_taken_out_of_a_summary() {
        let text = "The models of [`model`](crate::model), [this page](http://x) and [`Gpu`]: a[0]";
        let expected = "The models of `model`, this page and `Gpu`: a[0]";
        assert_eq!(first_sentence(text), expected);
    }

    #[test]
    fn files_are_found_as_the_compiler_finds_them() {
        let folder = tempfile("files");
        let write = |name: &str, text: &str| {
            let file = folder.join(name);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, text).unwrap();
        };
        write(
            "lib.rs",
            "mod flat; mod nested; #[path = \"elsewhere/other.rs\"] mod named; mod braces { mod inner; }
             #[cfg(test)] mod tests;",
        );
        write("flat.rs", "mod below;");
        write("flat/below.rs", "");
        write("nested/mod.rs", "mod below;");
        write("nested/below.rs", "");
        write("elsewhere/other.rs", "mod beside;");
        write("elsewhere/beside.rs", "");
        write("braces/inner.rs", "");
        let modules = Modules::read(&folder.join("lib.rs")).unwrap();
        let paths: BTreeSet<String> = modules.all.iter().map(|m| m.path.join("::")).collect();
        let expected = [
            "",
            "flat",
            "flat::below",
            "nested",
            "nested::below",
            "named",
            "named::beside",
            "braces",
            "braces::inner",
        ];
        assert_eq!(paths, expected.map(str::to_owned).into());

        write("lib.rs", "mod missing;");
        let error = Modules::read(&folder.join("lib.rs")).unwrap_err();
        assert!(error.to_string().contains("module `missing` has no file"));
        std::fs::remove_dir_all(folder).unwrap();
    }

    fn tempfile(name: &str) -> PathBuf {
        std::env::temp_dir().join(format!("warpladder-xtask-{name}-{}", std::process::id()))
    }
}
