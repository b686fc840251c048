//! The chapters: what they include, link to, name and tell readers to type.

use super::fragments::fragments;
use super::terminal::words;
use super::{chapters, read, root};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use warpladder_lab::catalogue;

/// The chapters by their path in `book/src`, with their text; not the table of contents.
fn pages() -> BTreeMap<String, String> {
    let mut pages = BTreeMap::new();
    collect(&chapters(), &mut pages);
    pages.remove("SUMMARY.md").expect("a table of contents");
    pages
}

fn collect(folder: &Path, pages: &mut BTreeMap<String, String>) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path.strip_prefix(chapters()).expect("inside of it");
        let name = name.to_str().expect("text").to_owned();
        if path.is_dir() && name != "generated" {
            collect(&path, pages);
        } else if name.ends_with(".md") {
            pages.insert(name, read(&path));
        }
    }
}

/// What stands between `begin` and `end`, each time.
fn between<'t>(text: &'t str, begin: &'t str, end: &'t str) -> impl Iterator<Item = &'t str> {
    let parts = text.split(begin).skip(1);
    parts.filter_map(move |part| part.split(end).next())
}

/// Text without what stands in blocks of code and in code spans.
fn prose(text: &str) -> String {
    let outside = text.split("```").step_by(2).collect::<String>();
    outside.split('`').step_by(2).collect()
}

/// The file that a chapter names.
fn beside(page: &str, target: &str) -> PathBuf {
    let folder = chapters().join(page);
    folder.parent().expect("a folder").join(target)
}

/// The targets of `{{#include …}}` in a text: file and anchor.
fn includes(text: &str) -> impl Iterator<Item = (&str, Option<&str>)> {
    between(text, "{{#include ", "}}").map(|target| match target.split_once(':') {
        Some((file, anchor)) => (file, Some(anchor)),
        None => (target, None),
    })
}

#[test]
fn every_chapter_is_in_the_table_of_contents_once() {
    let contents = read(&chapters().join("SUMMARY.md"));
    let mut listed: Vec<&str> = between(&contents, "](", ")").collect();
    listed.sort_unstable();
    let pages = pages();
    let present: Vec<&str> = pages.keys().map(String::as_str).collect();
    assert_eq!(listed, present);
}

#[test]
fn everything_that_is_included_exists() {
    for (page, text) in pages() {
        for (file, anchor) in includes(&text) {
            let included = read(&beside(&page, file));
            if let Some(anchor) = anchor {
                let lines = || included.lines().map(str::trim);
                for mark in ["ANCHOR", "ANCHOR_END"] {
                    let mark = format!("// {mark}: {anchor}");
                    let count = lines().filter(|line| *line == mark).count();
                    assert_eq!(count, 1, "{page}: {mark} in {file}");
                }
            }
        }
    }
}

#[test]
fn every_fragment_is_shown() {
    let mut shown = BTreeSet::new();
    for (page, text) in pages() {
        let pictures = between(&text, "](", ")").filter(|target| target.ends_with(".svg"));
        for file in includes(&text).map(|(file, _)| file).chain(pictures) {
            if let Some(name) = file.rsplit_once("generated/").map(|(_, name)| name) {
                let known = fragments().any(|(fragment, _)| *fragment == name);
                assert!(known, "{page} includes {name}, which nothing writes");
                shown.insert(name.to_owned());
            }
        }
    }
    for (name, _) in fragments() {
        assert!(shown.contains(*name), "no chapter includes {name}");
    }
}

#[test]
fn every_kernel_is_named() {
    let mut names = BTreeSet::new();
    for (page, text) in pages() {
        let mut texts = vec![text.clone()];
        let generated = includes(&text).filter(|(file, _)| file.contains("generated/"));
        texts.extend(generated.map(|(file, _)| read(&beside(&page, file))));
        for text in texts {
            names.extend(between(&text, "`", "`").map(str::to_owned));
        }
    }
    for rung in catalogue::rungs() {
        assert!(
            names.contains(rung.name),
            "no chapter names `{}`",
            rung.name
        );
    }
}

#[test]
fn links_lead_somewhere() {
    for (page, text) in pages() {
        for target in between(&prose(&text), "](", ")") {
            if target.starts_with("https://") {
                continue;
            }
            let (file, heading) = match target.split_once('#') {
                Some((file, heading)) => (file, Some(heading)),
                None => (target, None),
            };
            let path = match file {
                "" => chapters().join(&page),
                file => beside(&page, file),
            };
            assert!(path.is_file(), "{page}: {target}");
            if let Some(heading) = heading {
                let there = read(&path);
                let headings = there.lines().filter(|line| line.starts_with('#'));
                let found = headings.map(slug).any(|slug| slug == heading);
                assert!(found, "{page}: {target}");
            }
        }
    }
}

/// The name that a heading gets in a page.
fn slug(heading: &str) -> String {
    let text = heading.trim_start_matches('#').trim().to_lowercase();
    let kept = text
        .chars()
        .filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

#[test]
fn files_that_chapters_name_exist() {
    let folders = [
        "kernels-gpu/",
        "host/",
        "tests/",
        "docs/",
        "results/",
        "ptx/",
        "examples/",
        "cuda_std/",
    ];
    for (page, text) in pages() {
        for name in between(&text.replace("```", ""), "`", "`") {
            let is_path = folders.iter().any(|folder| name.starts_with(folder));
            if is_path && !name.contains([' ', '*']) {
                assert!(root().join(name).exists(), "{page}: {name}");
            }
        }
    }
}

#[test]
fn commands_are_ones_that_the_program_takes() {
    let mut commands = 0;
    for (page, text) in pages() {
        for block in between(&text, "```console\n", "```") {
            for line in block.lines() {
                let command = line.strip_prefix("$ ");
                let command =
                    command.unwrap_or_else(|| panic!("{page}: output that nothing writes: {line}"));
                if command.starts_with("warpladder") {
                    check(&page, command);
                    commands += 1;
                }
            }
        }
    }
    assert!(commands > 0);
}

fn check(page: &str, command: &str) {
    let command = command.split(" > ").next().expect("the first");
    let command = command.split("  #").next().expect("the first").trim_end();
    let parsed = warpladder_cli::command().try_get_matches_from(words(command));
    if let Err(error) = parsed {
        assert!(!error.use_stderr(), "{page}: {command}: {error}");
        return;
    }
    let words = words(command);
    let exercise = words
        .get(2)
        .filter(|word| words[1] == "learn" && !word.starts_with("--"));
    if let Some(name) = exercise {
        let is_known = ["start", "list", "export"].contains(&name.as_str())
            || warpladder_learn::ALL
                .iter()
                .any(|exercise| exercise.name == name);
        assert!(is_known, "{page}: {command}");
    }
    let takes_kernels = [
        "profile", "explain", "predict", "sweep", "sanitize", "compare",
    ];
    if words
        .get(1)
        .is_some_and(|name| takes_kernels.contains(&name.as_str()))
    {
        // Kernels come before the options.
        let names = words[2..].iter().take_while(|word| !word.starts_with("--"));
        for name in names.flat_map(|names| names.split(',')) {
            assert!(catalogue::find(name).is_some(), "{page}: {command}: {name}");
        }
    }
}

#[test]
fn chapters_on_kernels_end_with_an_exercise() {
    for (page, text) in pages() {
        let includes_a_kernel = includes(&text).any(|(file, _)| file.contains("kernels-gpu/src"));
        if includes_a_kernel {
            assert!(text.contains("\n## Exercise"), "{page} has no exercise");
        }
    }
}
