//! The picture as Markdown: a graph of the crates in Mermaid, and for each crate a table of its
//! modules.

use super::cycles::{self, Graph};
use super::rules::Rules;
use super::workspace::Crate;
use super::{Described, Target};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// Fewest modules that are worth a table.
const FEWEST_MODULES: usize = 2;

/// The picture.
pub fn picture(crates: &[Described], rules: &Rules) -> String {
    let mut text = String::from(
        "Made from the imports by `cargo xtask architecture`. An arrow points to what a crate depends\n\
         on; arrows that others imply are left out.\n\n",
    );
    let drawn: Vec<&Described> = crates.iter().filter(|each| each.about.published).collect();
    let ordered = order(&drawn);
    graph_of_crates(&mut text, &drawn);
    table_of_crates(&mut text, &ordered);
    let others: Vec<String> = crates
        .iter()
        .filter(|each| !each.about.published)
        .map(|each| format!("`{}`", each.about.folder))
        .collect();
    if !others.is_empty() {
        let others = others.join(", ");
        let line = format!("Not drawn, since nothing depends on them (tests and tools): {others}.");
        text.push_str(&wrapped(&line));
        text.push('\n');
    }
    for each in ordered.iter().rev() {
        for target in &each.targets {
            if target.uses.modules.len() >= FEWEST_MODULES {
                table_of_modules(&mut text, each, target, rules);
            }
        }
    }
    text
}

/// The crates, each after those that it depends on.
fn order<'a>(drawn: &[&'a Described]) -> Vec<&'a Described> {
    let groups = cycles::layered(&dependencies(drawn));
    groups
        .iter()
        .flatten()
        .filter_map(|name| drawn.iter().find(|each| each.about.name == *name).copied())
        .collect()
}

/// What each crate depends on, build scripts included: that is free of cycles, or cargo would
/// refuse it.
fn dependencies(drawn: &[&Described]) -> Graph {
    let names: BTreeSet<&str> = drawn.iter().map(|each| each.about.name.as_str()).collect();
    let used = |about: &Crate| -> BTreeSet<String> {
        let packages = about.dependencies.iter().map(|other| other.package.clone());
        packages
            .filter(|name| names.contains(name.as_str()))
            .collect()
    };
    drawn
        .iter()
        .map(|each| (each.about.name.clone(), used(&each.about)))
        .collect()
}

fn graph_of_crates(text: &mut String, drawn: &[&Described]) {
    let graph = cycles::without_implied(&dependencies(drawn));
    let identifiers: BTreeMap<&String, String> = graph
        .keys()
        .map(|name| (name, name.replace('-', "_")))
        .collect();
    text.push_str("```mermaid\ngraph TD\n");
    for (name, identifier) in &identifiers {
        let _ = writeln!(text, "    {identifier}[\"{name}\"]");
    }
    for (name, uses) in &graph {
        for used in uses {
            let _ = writeln!(text, "    {} --> {}", identifiers[name], identifiers[used]);
        }
    }
    text.push_str("```\n\n");
}

fn table_of_crates(text: &mut String, ordered: &[&Described]) {
    text.push_str("| crate | folder | what it is | depends on |\n|---|---|---|---|\n");
    for each in ordered {
        let about = &each.about;
        let uses: Vec<String> = about
            .dependencies
            .iter()
            .map(|other| {
                let build = if other.build_only { " (build)" } else { "" };
                format!("`{}`{build}", other.package)
            })
            .collect();
        let _ = writeln!(
            text,
            "| `{}` | `{}` | {} | {} |",
            about.name,
            about.folder,
            about.description.replace('|', "\\|"),
            uses.join(", ")
        );
    }
    text.push('\n');
}

fn table_of_modules(text: &mut String, each: &Described, target: &Target, rules: &Rules) {
    let about = &each.about;
    let program = if target.name == "main" {
        ", the program"
    } else {
        ""
    };
    let _ = writeln!(text, "\n### Modules of `{}`{program}\n", about.name);
    text.push_str("| module | what it is | uses |\n|---|---|---|\n");
    let graph = target.graph();
    for module in cycles::layered(&graph).iter().flatten() {
        let uses: Vec<String> = target
            .uses
            .of(module)
            .map(|name| format!("`{name}`"))
            .collect();
        let summary = &target.uses.modules[module];
        let _ = writeln!(text, "| `{module}` | {summary} | {} |", uses.join(", "));
    }
    for cycle in cycles::cycles(&graph) {
        let modules: Vec<String> = cycle.iter().map(|name| format!("`{name}`")).collect();
        let reason = rules
            .reason(&about.folder, &cycle)
            .unwrap_or("no reason is given in `xtask/architecture.toml`");
        let line = format!("Cycle of {}: {reason}.", modules.join(", "));
        let _ = write!(text, "\n{}", wrapped(&line));
    }
}

/// A paragraph in lines of at most 100 columns.
fn wrapped(paragraph: &str) -> String {
    let mut text = String::new();
    let mut column = 0;
    for word in paragraph.split(' ') {
        let width = word.chars().count();
        if column > 0 && column + 1 + width > 100 {
            text.push('\n');
            column = 0;
        } else if column > 0 {
            text.push(' ');
            column += 1;
        }
        text.push_str(word);
        column += width;
    }
    text.push('\n');
    text
}
