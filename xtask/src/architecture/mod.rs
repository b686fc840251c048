//! `cargo xtask architecture`: the workspace's crates and modules as their imports make them, and
//! the rules for these.
//!
//! The picture stands in `ARCHITECTURE.md` between two markers. Crates and their dependencies come
//! from Cargo's metadata. For the modules at the top of each crate every file is parsed and every
//! path resolved. Rules, and exceptions from them with their reasons, are in
//! `xtask/architecture.toml`.

mod cycles;
mod mentions;
mod modules;
mod picture;
mod rules;
mod uses;
mod workspace;

use crate::output;
use crate::repository::Repository;
use anyhow::{Context, Result};
use cycles::Graph;
use modules::Modules;
use rules::Rules;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use uses::Uses;
use workspace::Crate;

/// The file that holds the picture.
const DOCUMENT: &str = "ARCHITECTURE.md";
const BEGIN: &str = "<!-- architecture: begin -->";
const END: &str = "<!-- architecture: end -->";

/// Draw the crates and modules into ARCHITECTURE.md, from the real imports.
#[derive(clap::Args)]
pub struct Arguments {
    /// Change nothing; fail where the picture is out of date, modules form a cycle that is not
    /// allowed, or a crate depends on one that is not below it.
    #[arg(long)]
    check: bool,
    /// Print every place where module FROM uses module TO (of the crate, where several have such
    /// modules).
    #[arg(long, num_args = 2, value_names = ["FROM", "TO"], conflicts_with = "check")]
    places: Option<Vec<String>>,
    /// With --places: the package to look in.
    #[arg(long, requires = "places")]
    package: Option<String>,
}

/// A crate with what was read from its sources.
struct Described {
    about: Crate,
    targets: Vec<Target>,
    /// First names of paths of its build script that lead out of it.
    outside_of_build_script: BTreeSet<String>,
}

/// A library or a program of a crate.
struct Target {
    name: String,
    uses: Uses,
}

impl Target {
    fn graph(&self) -> Graph {
        let modules = self.uses.modules.keys();
        modules
            .map(|module| {
                let uses = self.uses.of(module).map(str::to_owned).collect();
                (module.clone(), uses)
            })
            .collect()
    }

    fn first_place(&self, from: &str, to: &str, root: &Path) -> String {
        let edge = (from.to_owned(), to.to_owned());
        let places = self.uses.edges.get(&edge).into_iter().flatten();
        places
            .map(|place| shown(place, root))
            .next()
            .unwrap_or_default()
    }
}

/// Draws the picture, or checks it. Returns what was found wrong.
///
/// # Errors
///
/// Where the workspace cannot be read.
pub fn run(repository: &Repository, arguments: &Arguments) -> Result<Vec<String>> {
    let crates = described(repository)?;
    if let Some([from, to]) = arguments.places.as_deref() {
        print_places(&crates, arguments.package.as_deref(), from, to, repository);
        return Ok(Vec::new());
    }
    let rules = Rules::read(repository)?;
    let document = repository.read(DOCUMENT)?;
    let current = with_picture(&document, &picture::picture(&crates, &rules))?;
    if arguments.check {
        let mut findings = rules::findings(&crates, &rules, repository.root());
        if current != document {
            findings.push(format!(
                "{DOCUMENT}: the picture is out of date: run `cargo xtask architecture`"
            ));
        }
        return Ok(findings);
    }
    if current != document {
        repository.write(DOCUMENT, &current)?;
        output::print(&format!("{DOCUMENT} is written\n"));
    }
    for finding in rules::findings(&crates, &rules, repository.root()) {
        output::print(&format!("{finding}\n"));
    }
    Ok(Vec::new())
}

fn described(repository: &Repository) -> Result<Vec<Described>> {
    let mut all = Vec::new();
    for about in workspace::crates(repository)? {
        let mut targets = Vec::new();
        for root in &about.roots {
            targets.push(Target {
                name: root.name.clone(),
                uses: uses::uses(&Modules::read(&root.file)?, &root.name),
            });
        }
        let outside_of_build_script = match &about.build_script {
            Some(file) => uses::uses(&Modules::read(file)?, "build").outside,
            None => BTreeSet::new(),
        };
        all.push(Described {
            about,
            targets,
            outside_of_build_script,
        });
    }
    Ok(all)
}

/// The document with another picture between its markers.
fn with_picture(document: &str, picture: &str) -> Result<String> {
    let begin = document
        .find(BEGIN)
        .with_context(|| format!("{DOCUMENT} has no line `{BEGIN}`"))?
        + BEGIN.len();
    let end = document[begin..]
        .find(END)
        .with_context(|| format!("{DOCUMENT} has no line `{END}` behind `{BEGIN}`"))?
        + begin;
    Ok(format!(
        "{}\n\n{}\n\n{}",
        &document[..begin],
        picture.trim_end(),
        &document[end..]
    ))
}

fn print_places(
    crates: &[Described],
    package: Option<&str>,
    from: &str,
    to: &str,
    repository: &Repository,
) {
    let edge = (from.to_owned(), to.to_owned());
    let mut text = String::new();
    for each in crates {
        if package.is_some_and(|name| name != each.about.name) {
            continue;
        }
        for target in &each.targets {
            for place in target.uses.edges.get(&edge).into_iter().flatten() {
                text += &shown(place, repository.root());
                text.push('\n');
            }
        }
    }
    output::print(&text);
}

fn shown((file, line): &(PathBuf, usize), root: &Path) -> String {
    let file = file.strip_prefix(root).unwrap_or(file);
    format!("{}:{line}", file.display())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::LazyLock;

    /// This repository, which takes a while to read.
    static DESCRIBED: LazyLock<(Repository, Vec<Described>)> = LazyLock::new(|| {
        let repository = Repository::here().unwrap();
        let crates = described(&repository).unwrap();
        (repository, crates)
    });

    #[test]
    fn the_picture_in_architecture_md_is_current() {
        let (repository, crates) = &*DESCRIBED;
        let rules = Rules::read(repository).unwrap();
        let document = repository.read(DOCUMENT).unwrap();
        let current = with_picture(&document, &picture::picture(crates, &rules)).unwrap();
        assert!(
            current == document,
            "{DOCUMENT} is out of date: run `cargo xtask architecture`"
        );
    }

    #[test]
    fn the_rules_hold() {
        let (repository, crates) = &*DESCRIBED;
        let rules = Rules::read(repository).unwrap();
        let findings = rules::findings(crates, &rules, repository.root());
        assert!(findings.is_empty(), "{}", findings.join("\n"));
    }

    #[test]
    fn the_picture_stands_between_the_markers() {
        let document = format!("before\n{BEGIN}\nold\n{END}\nafter\n");
        let expected = format!("before\n{BEGIN}\n\nnew\n\n{END}\nafter\n");
        assert_eq!(with_picture(&document, "new\n").unwrap(), expected);
        assert!(with_picture("no markers", "new").is_err());
        assert!(with_picture(BEGIN, "new").is_err());
    }
}
