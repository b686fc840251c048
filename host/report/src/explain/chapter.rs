//! The chapter of the book on a rung, and the exercise at its end.

use std::path::Path;

/// A chapter of the book.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Chapter {
    /// Its title.
    pub title: String,
    /// Its file in the source tree.
    pub file: String,
    /// The exercises at its end, by the names that `warpladder learn` takes.
    pub exercises: Vec<String>,
}

/// The folder of the chapters.
const CHAPTERS: &str = "book/src";

/// The chapter that shows a rung's code, else the first in the table of contents that names it.
/// Without the source tree there is none.
pub(super) fn chapter(rung: &str, kernel_file: Option<&str>) -> Option<Chapter> {
    let folder = Path::new(warpladder::SOURCE_ROOT).join(CHAPTERS);
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).ok();
    let contents = read("SUMMARY.md")?;
    let chapters: Vec<(&str, &str, String)> = links(&contents)
        .filter_map(|(title, name)| Some((title, name, read(name)?)))
        .collect();
    let shows = |text: &str| {
        kernel_file.is_some_and(|file| text.contains(&format!("{{{{#include ../../{file}")))
    };
    let named = format!("`{rung}`");
    let names = |text: &str| {
        let mut included = generated(text).filter_map(&read);
        text.contains(&named) || included.any(|text| text.contains(&named))
    };
    let found = chapters
        .iter()
        .find(|(.., text)| shows(text) && names(text));
    let found = found
        .or_else(|| chapters.iter().find(|(.., text)| shows(text)))
        .or_else(|| chapters.iter().find(|(.., text)| names(text)));
    found.map(|(title, name, text)| Chapter {
        title: (*title).to_owned(),
        file: format!("{CHAPTERS}/{name}"),
        exercises: exercises(text),
    })
}

/// The links of a table of contents: titles and files.
fn links(contents: &str) -> impl Iterator<Item = (&str, &str)> {
    contents.split('[').skip(1).filter_map(|link| {
        let (title, rest) = link.split_once("](")?;
        Some((title, rest.split_once(')')?.0))
    })
}

/// The generated texts that a chapter includes, by their names in its folder.
fn generated(text: &str) -> impl Iterator<Item = &str> {
    let includes = text.split("{{#include ").skip(1);
    let files = includes.filter_map(|include| Some(include.split_once("}}")?.0));
    files.filter(|file| file.starts_with("generated/"))
}

/// The exercises that a chapter ends with.
fn exercises(text: &str) -> Vec<String> {
    let Some((_, part)) = text.split_once("\n## Exercise") else {
        return Vec::new();
    };
    let commands = part
        .lines()
        .filter_map(|line| line.strip_prefix("$ warpladder learn "));
    let names = commands.filter_map(|command| command.split_whitespace().next());
    names.map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explain::notes::notes;
    use warpladder_lab::catalogue;

    #[test]
    fn every_kernel_has_a_chapter() {
        for rung in catalogue::rungs() {
            let (file, _) = notes(rung.name, rung.name);
            assert!(
                chapter(rung.name, file.as_deref()).is_some(),
                "{}",
                rung.name
            );
        }
    }

    #[test]
    fn a_chapter_is_the_one_with_the_code_and_names_its_exercises() {
        let of_naive: &[&str] = &["scale_rows", "outer_sum", "stencil", "matmul"];
        let of_tiled: &[&str] = &["block_reverse", "stencil_shared", "matmul_tiled"];
        for (kernel, file, exercises) in [
            ("naive", "book/src/naive.md", Some(of_naive)),
            ("tiled_32", "book/src/tiled.md", Some(of_tiled)),
            (
                "outputs_4",
                "book/src/outputs.md",
                Some(&["matmul_outputs"]),
            ),
            ("matvec_lcs_32", "book/src/matvec-lcs.md", Some(&["matvec"])),
            ("sgemm", "book/src/sgemm.md", None),
        ] {
            let (source, _) = notes(kernel, kernel);
            let found = chapter(kernel, source.as_deref()).unwrap();
            assert_eq!(found.file, file, "{kernel}");
            if let Some(exercises) = exercises {
                assert_eq!(found.exercises, exercises, "{kernel}");
            }
        }
    }
}
